//! `queuewarden render`: prints the ConfigMap that the operator would write, and the conditions it would
//! report.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::output::findings::{self, Count, plural};
use crate::output::format::escaped_json;
use crate::output::text::{SourceDiagnostic, shown};
use crate::output::{Console, Exit, Failure, file, manifest, statuses};
use crate::source::files::FileSource;
use crate::source::session::InputArgs;
use queuewarden_plan::simulate::{Settled, enforced, loaded, settle};

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum RenderFormat {
    /// The ConfigMap as YAML.
    #[default]
    Yaml,
    /// The ConfigMap as JSON.
    Json,
    /// The text of its queues.yaml alone.
    Queues,
}

/// Help text on exit codes.
const HELP: &str = "\
Exit codes: 0 printed, 1 errors were found, or warnings with --strict, or nothing is rendered, 2 the command line is \
invalid.";

/// Print the ConfigMap that the operator would write, and its conditions on standard error
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub struct RenderArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Output format
    #[arg(short = 'o', long = "output", value_enum, default_value_t, value_name = "FORMAT")]
    format: RenderFormat,
    /// Format of the conditions on standard error
    #[arg(long, value_enum, default_value_t)]
    status: statuses::Format,
    /// Write to FILE instead of standard output, replacing it as a whole
    #[arg(long, value_name = "FILE")]
    output_file: Option<PathBuf>,
    /// Exit with 1 on warnings too
    #[arg(long)]
    strict: bool,
}

/// Runs the command.
///
/// # Errors
/// When an input cannot be read, or the output cannot be written.
pub fn run(args: &RenderArgs, console: Console) -> Result<Exit, Failure> {
    let given = args.input.read(args.output_file.as_deref(), console)?;
    let (inputs, found) = (&given.inputs, given.unreadable());
    console.err(&findings::text(&inputs.sources, &found, console.look_err()));
    notes(&given, console);
    if inputs.objects.is_empty() && inputs.base.is_none() {
        // YuniKorn's built-in default, which lets everyone in, must not result from a wrong path.
        console.note("nothing is rendered: there is no object and no base in the input");
        return Ok(Exit::Findings);
    }
    let settled = loaded(settle(given.snapshot.clone()));
    console.err(&statuses::show(&settled.plan, args.status, console.look_err().width));
    let lost = given.findings.iter().chain(&inputs.alternatives);
    match rendered(&settled, lost) {
        Ok(rendered) => {
            if settled.only_observes() {
                console.note("mode Observe: the operator would not write this");
            }
            emit(args, console, &content(args.format, &given, &rendered))?;
            Ok(Exit::from_count(count(&found, &settled), args.strict))
        }
        Err(why) => {
            console.note(&format!("nothing is rendered: {why}"));
            Ok(Exit::Findings)
        }
    }
}

/// Returns the state to print, or the reason for its absence.
fn rendered<'f>(
    settled: &Settled,
    mut lost: impl Iterator<Item = &'f SourceDiagnostic>,
) -> Result<Settled, &'static str> {
    // An object that cannot be read could grant anything, or be the base.
    if lost.any(|finding| finding.diagnostic.is_error()) {
        return Err("part of the input cannot be read");
    }
    let settled = if settled.only_observes() { settle(enforced(&settled.snapshot)) } else { settled.clone() };
    if settled.applied() {
        Ok(settled)
    } else {
        Err("the operator would not write the ConfigMap, see the conditions")
    }
}

/// Counts the findings in the files, and the problems of the objects.
fn count(found: &[SourceDiagnostic], settled: &Settled) -> Count {
    let mut count = Count::from_findings(found);
    for object in statuses::objects(&settled.plan) {
        count = object.problems().fold(count, |count, (_, severity)| count.with(severity));
    }
    count
}

fn notes(FileSource { inputs, unused, .. }: &FileSource, console: Console) {
    for name in inputs.unused_bare() {
        console.note(&format!(
            "{name} is a bare queues.yaml and is ignored: to use it as the base, pass it with --base"
        ));
    }
    if inputs.ignored > 0 {
        console.note(&format!("{} of other kinds ignored", plural(inputs.ignored, "object")));
    }
    if !unused.is_empty() {
        let verb = if unused.len() == 1 { "is" } else { "are" };
        console.note(&format!("ConfigMap {} {verb} not read by YuniKorn here", unused.join(", ")));
    }
}

/// Returns the text to print.
fn content(format: RenderFormat, given: &FileSource, settled: &Settled) -> String {
    if format == RenderFormat::Queues {
        return settled.plan.rendered.as_ref().map(|rendered| rendered.text.clone()).unwrap_or_default();
    }
    let manifests = manifests(given, settled);
    match (format, manifests.as_slice()) {
        (RenderFormat::Json, [one]) => escaped_json(&format!("{one:#}\n")),
        (RenderFormat::Json, _) => {
            let list = json!({"apiVersion": "v1", "kind": "List", "items": manifests});
            escaped_json(&format!("{list:#}\n"))
        }
        _ => manifest::to_yaml(&manifests),
    }
}

/// Returns the ConfigMaps that would be created, and the output.
fn manifests(given: &FileSource, settled: &Settled) -> Vec<Value> {
    let namespace = given.spec.namespace.as_str();
    let created = settled.created.iter().map(|map| (None, &map.name, &map.annotations, &map.data));
    let output = settled.snapshot.output.iter();
    let output = output.map(|map| (given.output.as_ref(), &map.name, &map.annotations, &map.data));
    let manifest = |(written, name, annotations, data): (_, &String, _, _)| {
        manifest::config_map(written, (namespace, name), annotations, data)
    };
    created.chain(output).map(manifest).collect()
}

fn emit(args: &RenderArgs, console: Console, content: &str) -> Result<(), Failure> {
    match &args.output_file {
        Some(path) => file::write(path, content.as_bytes())
            .map_err(|error| Failure::Output(format!("cannot write `{}`: {error}", shown(path)))),
        None => Ok(console.file(content)?),
    }
}
