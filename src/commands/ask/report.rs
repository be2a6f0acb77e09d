//! `queuewarden report`: the access report as a page, as data, as a spreadsheet and as a diagram.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::ValueEnum as _;

use crate::output::findings::plural;
use crate::output::format::{self, Table, UNTIL};
use crate::output::text::shown;
use crate::output::{Console, Exit, Failure, file};
use crate::source::cluster::{Cluster, context, objects_of};
use crate::source::configuration::{ClusterContext, Configuration};
use crate::source::session::{Session, SourceArgs};
use crate::source::times::clock;
use go_compat::diag::Diagnostic;
use queuewarden_api::answer::{Answers, until};
use queuewarden_plan::conditions::{Status, Type, find};
use queuewarden_plan::view::Locate as _;
use queuewarden_plan::{ResourceKind, admission_settings, risks};
use queuewarden_report::{
    Beside, Made, Report, ReportCluster, changes, diagram, outside, page, without_effect,
};
use yunikorn::right::Right;
use yunikorn_access::{Origin, Tree, who_can};

/// The file if none is given.
const DEFAULT_FILE: &str = "queue-access.html";

/// Help text on privacy and exit codes.
const HELP: &str = "\
Without -o, the command writes the page to queue-access.html in the current folder, replaces an existing \
file, and prints the name.

The page is a single file that needs no network. It contains the names and rights of users and groups, so \
only share it with people who may know them.

Exit codes: 0 written, 1 not written, 2 the command line is invalid, 3 undecided.";

/// Generate a report of queues, rights, problems and changes, as a page, as data, or as a diagram
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub struct ReportArgs {
    /// File to write, in the format of its ending: .html, .json, .yaml, .csv, .mmd or .dot; or one of html,
    /// json, yaml, csv, mermaid and dot for standard output
    #[arg(short = 'o', long = "output", value_name = "FILE|FORMAT")]
    output: Option<Output>,
    /// Format of the file, if its name does not end in one
    #[arg(long, value_enum, requires = "output")]
    format: Option<Format>,
    #[command(flatten)]
    source: SourceArgs,
}

/// Format of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// The page.
    Html,
    /// The data of the page as JSON; docs/schema describes the fields.
    Json,
    /// The same data as YAML.
    Yaml,
    /// A line for each subject with access to a queue.
    Csv,
    /// The queue tree as a Mermaid diagram.
    Mermaid,
    /// The queue tree as a Graphviz diagram.
    Dot,
}

/// Formats by the ending of a file name.
const ENDINGS: &[(&str, Format)] = &[
    ("html", Format::Html),
    ("htm", Format::Html),
    ("json", Format::Json),
    ("yaml", Format::Yaml),
    ("yml", Format::Yaml),
    ("csv", Format::Csv),
    ("mmd", Format::Mermaid),
    ("mermaid", Format::Mermaid),
    ("dot", Format::Dot),
    ("gv", Format::Dot),
];

/// Destination of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Output {
    /// Standard output, in this format.
    Stdout(Format),
    /// This file.
    File(PathBuf),
}

impl FromStr for Output {
    type Err = String;

    /// Rejects a word without a dot or a slash as a file name, so that a mistyped format does not become a
    /// file.
    fn from_str(text: &str) -> Result<Self, String> {
        match Format::from_str(text, false) {
            Ok(format) => Ok(Self::Stdout(format)),
            Err(_) if text.contains(['.', '/', '\\']) => Ok(Self::File(PathBuf::from(text))),
            Err(_) => {
                Err("write html, json, yaml, csv, mermaid or dot, or the name of a file such as access.html"
                    .to_owned())
            }
        }
    }
}

impl Output {
    fn format(&self, format: Option<Format>) -> Result<Format, Failure> {
        match (self, format) {
            (Self::Stdout(format), None) => Ok(*format),
            (Self::Stdout(_), Some(_)) => {
                Err(Failure::Usage("--format conflicts with -o, which already selects the format".to_owned()))
            }
            (Self::File(_), Some(format)) => Ok(format),
            (Self::File(path), None) => by_ending(path).ok_or_else(|| {
                let endings: Vec<String> = ENDINGS.iter().map(|(ending, _)| format!(".{ending}")).collect();
                Failure::Usage(format!(
                    "-o {}: the name does not end in one of {}; select the format with --format",
                    shown(path),
                    endings.join(", ")
                ))
            }),
        }
    }
}

fn by_ending(path: &Path) -> Option<Format> {
    let ending = path.extension()?.to_str()?;
    ENDINGS.iter().find(|(known, _)| known.eq_ignore_ascii_case(ending)).map(|(_, format)| *format)
}

/// Runs the command.
///
/// # Errors
/// When there is nothing to report on, or the output cannot be written.
pub fn run(args: &ReportArgs, console: Console) -> Result<Exit, Failure> {
    let default = Output::File(PathBuf::from(DEFAULT_FILE));
    let output = args.output.as_ref().unwrap_or(&default);
    let format = output.format(args.format)?;
    let session = args.source.open(console)?;
    let tree = session.tree()?;
    let made = || made(args, &session, tree);
    let written = written(&session.configuration, tree, format, made)?;
    match output {
        Output::Stdout(_) => console.out(&written)?,
        Output::File(path) => file::write(path, written.as_bytes())
            .map_err(|error| Failure::Output(format!("cannot write {}: {error}", shown(path))))?,
    }
    if args.output.is_none() {
        console.out(&format!("{DEFAULT_FILE}\n"))?;
    }
    others(&session.configuration, tree).for_each(|note| console.note(&note));
    Ok(Exit::Clean)
}

/// Names the partitions that the report leaves out.
fn others<'c>(configuration: &'c Configuration, tree: &'c Tree) -> impl Iterator<Item = String> + 'c {
    let others = configuration.view.trees.iter().filter(|other| other.partition() != tree.partition());
    others.map(|other| {
        let queues = plural(other.queues().len(), "queue");
        format!("partition {0} with {queues} is not in it: --partition {0}", other.partition())
    })
}

/// Returns the origin of the report, with notes about its gaps.
fn made(args: &ReportArgs, session: &Session, tree: &Tree) -> Made {
    let mut notes = session.configuration.notes.clone();
    notes.extend(others(&session.configuration, tree));
    let now = args.source.files.now;
    let about = Made {
        made: now.unwrap_or_else(clock).to_string(),
        program: concat!("queuewarden ", env!("CARGO_PKG_VERSION")).to_owned(),
        ..Made::default()
    };
    let Some(cluster) = session.cluster() else {
        return Made { scheduler: "these are files, and no scheduler was asked".to_owned(), notes, ..about };
    };
    let (context, name) = context(&args.source.cluster.server).unzip();
    let (runs, scheduler) = verified(cluster, &mut notes);
    let (scheduler_runs, scheduler) = if args.source.cluster.live {
        (Some(true), "the scheduler itself sent this configuration".to_owned())
    } else if now.is_some() {
        (None, "this is the configuration at another time".to_owned())
    } else {
        (runs, scheduler)
    };
    let unread = cluster.run(async |client| objects_of(client, ResourceKind::AdmissionPolicy).await.err());
    notes.extend(unread.map(|error| {
        format!("objects of kind AdmissionPolicy are missing here, because they cannot be read: {error}")
    }));
    let cluster = ReportCluster { context, name: name.flatten(), server: cluster.server.clone() };
    Made { cluster: Some(cluster), scheduler_runs, scheduler, notes, ..about }
}

/// Returns whether the operator has verified that the scheduler runs the written text, and the reason.
fn verified(cluster: &Cluster, notes: &mut Vec<String>) -> (Option<bool>, String) {
    let meta = match cluster.config() {
        Ok(Some(config)) => config.meta,
        Ok(None) => {
            let why = "there is no YuniKornConfig, so this is not compared with the scheduler";
            return (None, why.to_owned());
        }
        Err(error) => {
            let why = format!("the YuniKornConfig cannot be read: {error}");
            notes.push(format!("unknown whether the scheduler runs this: {why}"));
            return (None, why);
        }
    };
    let Some(loaded) = find(&meta.conditions, Type::Loaded) else {
        return (None, "the YuniKornConfig has no status".to_owned());
    };
    let runs = match loaded.status {
        _ if loaded.observed_generation != meta.generation => None,
        Status::True => Some(true),
        Status::False => Some(false),
        Status::Unknown => None,
    };
    (runs, format!("{}: {}", loaded.reason, loaded.message))
}

fn answer(configuration: &Configuration, tree: &Tree, made: Made) -> Report {
    let ClusterContext { read, settled } = &configuration.rendered.context;
    let located = |diagnostic: &Diagnostic| {
        let origin = diagnostic.span.map(|span| Origin::Text(configuration.rendered.in_text(Some(span))));
        (origin, diagnostic.clone())
    };
    let beside = Beside {
        partition: configuration.config.partition(tree.partition()),
        diagnostics: configuration.diagnostics.iter().map(located).collect(),
        risks: risks(settled),
        changes: changes(read, tree),
        outside: outside(read, tree),
        without_effect: without_effect(settled, tree),
        admission: admission_settings(settled),
    };
    Report::new(Answers { source: configuration.name(), tree }.about(), made, tree, beside)
}

fn written(
    configuration: &Configuration,
    tree: &Tree,
    format: Format,
    made: impl Fn() -> Made,
) -> Result<String, Failure> {
    let answer = || answer(configuration, tree, made());
    match format {
        // Nobody reads the JSON inside the page: without spaces it is half as long.
        Format::Html => {
            let json =
                serde_json::to_string(&answer()).map_err(|error| Failure::Output(error.to_string()))?;
            Ok(page::page(&format::escaped_json(&json)))
        }
        Format::Json => format::json(&answer()),
        Format::Yaml => format::yaml(&answer()),
        Format::Csv => Ok(table(tree).csv(true)),
        Format::Mermaid => Ok(diagram::mermaid(tree)),
        Format::Dot => Ok(diagram::dot(tree)),
    }
}

/// Builds a row for each subject with access to a queue, with the grant nearest to that queue.
fn table(tree: &Tree) -> Table {
    let header =
        ["QUEUE", "VERB", "KIND", "NAME", "INHERITED", "FROM QUEUE", "FROM ACL", "WRITTEN IN", UNTIL];
    let mut table = Table::new(header);
    for (_, node) in tree.queues() {
        for right in Right::ALL {
            for grantee in &who_can(tree, right, node.path.as_str()).grantees {
                let Some(nearest) = grantee.grants.first() else { continue };
                let subject = &grantee.subject;
                table.row([
                    node.path.as_str(),
                    right.verb(),
                    subject.kind().as_str(),
                    subject.name().unwrap_or_default(),
                    if nearest.queue == node.path { "false" } else { "true" },
                    nearest.queue.as_str(),
                    nearest.acl.key(),
                    &Origin::list(&nearest.origins),
                    &until(grantee.until),
                ]);
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_format_and_a_name_is_a_file() {
        assert_eq!("csv".parse(), Ok(Output::Stdout(Format::Csv)));
        assert_eq!("./csv".parse(), Ok(Output::File("./csv".into())));
        assert_eq!("a.html".parse(), Ok(Output::File("a.html".into())));
        assert!("htlm".parse::<Output>().unwrap_err().contains("mermaid"));
    }

    #[test]
    fn a_name_says_what_is_written() {
        for (name, format) in
            [("a.HTML", Some(Format::Html)), ("a.b.gv", Some(Format::Dot)), ("a.txt", None), (".csv", None)]
        {
            assert_eq!(by_ending(Path::new(name)), format, "{name}");
        }
    }
}
