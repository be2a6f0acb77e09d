//! `queuewarden validate`: reports every error, and everything that does not do what it seems to say, at its
//! location.

use super::assemble::assemble;
use super::check::{self, cross};
use super::console::Console;
use super::findings::{self, Count, plural};
use super::input::object::Kind;
use super::{Exit, Failure, InputArgs, clock};
use queuewarden_plan::simulate::settle;

/// Output format of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// For people, with the lines in question.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// Check manifests and queues.yaml files as YuniKorn and queuewarden would, without a cluster
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,
    /// Output format
    #[arg(short = 'o', long, value_enum, default_value_t)]
    format: Format,
    /// Exit with 1 on warnings too
    #[arg(long)]
    strict: bool,
}

/// Runs the command.
///
/// # Errors
/// When an input cannot be read, or the output cannot be written.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let (inputs, base) = args.input.read(None)?;
    let assembled = assemble(&inputs, base, args.input.now.unwrap_or_else(clock));
    let mut found: Vec<_> = inputs.findings.iter().chain(&assembled.findings).cloned().collect();
    found.extend(check::each(&inputs));
    let ours = Kind::OURS.into_iter().any(|kind| inputs.of_kind(kind).next().is_some());
    if ours && !assembled.has_tree {
        console.note(
            "no queues were given, so it is not checked whether they exist: add the ConfigMap with \
            queues.yaml, or --base FILE",
        );
    }
    if ours {
        let settled = settle(assembled.snapshot);
        found.extend(cross::check(&inputs, &settled, assembled.has_tree, &found));
    }
    check::sort(&mut found);
    let count = Count::of(&found);
    match args.format {
        Format::Text => {
            console.out(&findings::text(&inputs, &found, console.color_out()))?;
            let read = [plural(inputs.objects.len(), "object"), plural(inputs.sources.len(), "file")];
            console.err(&format!("{}; {} in {} checked", count.text(), read[0], read[1]));
            let ignored = if inputs.ignored > 0 {
                format!(", {} of other kinds ignored", inputs.ignored)
            } else {
                String::new()
            };
            console.err(&format!("{ignored}\n"));
        }
        Format::Json => console.out(&format!("{:#}\n", findings::to_json(&inputs, &found)))?,
    }
    if inputs.objects.is_empty()
        && inputs.bare.is_empty()
        && !assembled.has_tree
        && inputs.ignored == 0
        && found.is_empty()
    {
        // As in kubectl, a wrong path must not look like a passed check.
        console.note("nothing was checked: there is no object and no queue tree in the input");
        return Ok(Exit::Findings);
    }
    Ok(Exit::of(count, args.strict))
}
