//! `queuewarden check`: finds problems of an installation, and says how to fix them.
//!
//! Each line has a stable name, a level, a finding, and a remedy. Something that may not be read is a
//! warning, because it is neither in order nor broken.
//!
//! * [`api`]: the API server and the definitions of our kinds.
//! * [`pods`]: the aliases in pods.
//! * [`rights`]: the rights of the operator's `ServiceAccount`.
//! * [`running`]: the Deployment and the Lease.
//! * [`https`]: webhooks, the served API, and the certificates that the API server trusts for them.
//! * [`written`]: the `YuniKornConfig`, the ConfigMaps, their owners, and whether the scheduler runs them.

pub mod api;
pub mod https;
pub mod pods;
pub mod rights;
pub mod running;
pub mod written;

use std::thread::sleep;
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::Serialize;

use super::installed::ReachArgs;
use super::query::cluster::Cluster;
use super::query::output::{AnswerFormat, visible, wrapped};
use super::status::EXIT_CODES;
use super::{Console, Exit, Failure, clock};
use queuewarden_api::answer::VERSION;
use queuewarden_plan::snapshot::ConfigSpec;

/// The time between two checks of `--wait`.
const PAUSE: Duration = Duration::from_secs(2);

/// Maximum number of objects that are named.
const NAMED: usize = 5;

/// Check an installation: the API server, the definitions, rights, replicas, webhooks and their certificates,
/// the ConfigMaps and their owners, and whether the scheduler runs them. Prints a remedy for each problem.
/// Changes nothing
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Args {
    #[command(flatten)]
    reach: ReachArgs,
    /// Treat warnings as failures
    #[arg(long)]
    strict: bool,
    /// Show only problems
    #[arg(short, long)]
    quiet: bool,
    /// Check again until nothing fails, for this long at most, such as 2m
    #[arg(long, value_name = "DURATION")]
    wait: Option<SignedDuration>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: AnswerFormat,
}

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// In order.
    Ok,
    /// Worth a look, or unknown.
    Warn,
    /// Broken.
    Fail,
}

/// A line of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Line {
    /// The check; its name is stable.
    pub check: &'static str,
    /// The result.
    pub level: Level,
    /// The finding.
    pub found: String,
    /// The remedy; absent if nothing is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Line {
    /// Creates a line for a check that is in order.
    pub fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, level: Level::Ok, found: found.into(), remedy: None }
    }

    /// Creates a line for a finding that is worth a look.
    pub fn warn(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, level: Level::Warn, found: found.into(), remedy: Some(remedy.into()) }
    }

    /// Creates a line for something that is broken.
    pub fn fail(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { level: Level::Fail, ..Self::warn(check, found, remedy) }
    }

    /// Creates a line for something unknown, because it may not be read, or there is no answer.
    pub fn unknown(check: &'static str, what: &str, error: &impl std::fmt::Display) -> Self {
        Self::warn(check, format!("{what} is not known: {error}"), "run this as somebody who may read it")
    }
}

/// Output of `check -o json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CheckAnswer {
    /// The version of this format: 1.
    pub version: u32,
    /// The worst level of all lines.
    pub level: Level,
    /// The lines, in the order to read them.
    pub checks: Vec<Line>,
}

/// Runs the command.
///
/// # Errors
/// When the cluster cannot be reached, or the output cannot be written.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let bad = if args.strict { Level::Warn } else { Level::Fail };
    let begin = Instant::now();
    let wait = args.wait.map_or(Ok(Duration::ZERO), Duration::try_from);
    let wait = wait.map_err(|_| Failure::Usage("--wait is a time from now on, such as 2m".to_owned()))?;
    let check =
        |console| args.reach.open(console).map(|(cluster, spec)| diagnose(&cluster, &spec, &args.reach));
    let mut checked = check(console);
    while checked.as_ref().map_or(true, |answer| answer.level >= bad) && begin.elapsed() < wait {
        sleep(PAUSE);
        checked = check(Console::silent());
    }
    let answer = checked?;
    console.out(&args.output.show(|| text(&answer, args.quiet, console.look_out().width), || &answer)?)?;
    Ok(Exit::yes(answer.level < bad))
}

/// Runs all checks. Something that cannot be read makes a line, not an error.
fn diagnose(cluster: &Cluster, spec: &ConfigSpec, reach: &ReachArgs) -> CheckAnswer {
    let checks: Vec<Line> = cluster.run(async |client| {
        let (state, api, (endpoints, https, access)) = tokio::join!(
            Box::pin(reach.read(cluster, client, spec)),
            api::check(client, &cluster.server),
            https::check(client, clock()),
        );
        let setting = rights::Setting {
            namespace: &reach.namespace,
            spec,
            https,
            access,
            output: state.snapshot.as_ref().ok().and_then(|snapshot| written::output(spec, snapshot)),
            mounted: state.operator.mounted_certificate,
        };
        let rights = rights::check(client, &setting).await;
        let pods = pods::check(cluster, client, state.snapshot.as_ref().ok()).await;
        let mut lines = [api, vec![rights], running::check(&state.operator), endpoints].concat();
        lines.extend(written::check(spec, state));
        lines.extend(pods);
        lines
    });
    CheckAnswer {
        version: VERSION,
        level: checks.iter().map(|line| line.level).max().unwrap_or(Level::Ok),
        checks,
    }
}

/// Lists the first `most` texts, and counts the others.
fn list(texts: &[String], separator: &str, most: usize) -> String {
    let more = texts.len().saturating_sub(most);
    let more = if more > 0 { format!("{separator}and {more} more") } else { String::new() };
    let shown: Vec<&str> = texts.iter().take(most).map(String::as_str).collect();
    format!("{}{more}", shown.join(separator))
}

/// Formats the answer for people: a line for each check, with its remedy below.
fn text(answer: &CheckAnswer, quiet: bool, terminal: Option<usize>) -> String {
    let shown: Vec<&Line> = answer.checks.iter().filter(|line| !quiet || line.level > Level::Ok).collect();
    let width = shown.iter().map(|line| line.check.len()).max().unwrap_or_default();
    let lines = shown.into_iter().map(|line| {
        let level = match line.level {
            Level::Ok => "ok  ",
            Level::Warn => "warn",
            Level::Fail => "FAIL",
        };
        // The level has four columns, and each gap two.
        let indent = width.saturating_add(8);
        let found = wrapped(&visible(&line.found), indent, terminal);
        let remedy = line.remedy.as_ref().map(|remedy| {
            let remedy = wrapped(&visible(remedy), indent.saturating_add(3), terminal);
            format!("{:indent$}-> {remedy}\n", "")
        });
        format!("{level}  {:width$}  {found}\n{}", line.check, remedy.unwrap_or_default())
    });
    let count = |level| answer.checks.iter().filter(|line| line.level == level).count();
    let sum = format!(
        "{} in order, {} worth a look, {} broken\n",
        count(Level::Ok),
        count(Level::Warn),
        count(Level::Fail)
    );
    lines.chain([sum]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(checks: Vec<Line>) -> CheckAnswer {
        CheckAnswer { version: VERSION, level: checks.iter().map(|line| line.level).max().unwrap(), checks }
    }

    #[test]
    fn what_to_do_stands_below_what_was_found() {
        let all = answer(vec![
            Line::ok("api-server", "v1.34.2"),
            Line::fail("lease", "nobody\nholds it", "start it"),
        ]);
        let expected = "ok    api-server  v1.34.2\nFAIL  lease       nobody\\nholds it\n                  -> start it\n1 in order, 0 worth a look, 1 broken\n";
        assert_eq!(text(&all, false, None), expected);
        assert!(text(&all, true, None).starts_with("FAIL  lease  nobody"));
        let long =
            answer(vec![Line::fail("lease", "no replica holds the Lease", "look at the logs of the Pods")]);
        let expected = "FAIL  lease  no replica holds the\n             Lease\n             -> look at the logs\n                of the Pods\n";
        assert!(text(&long, false, Some(34)).starts_with(expected));
        assert_eq!(all.level, Level::Fail);
    }

    #[test]
    fn levels_are_in_order() {
        assert!(Level::Ok < Level::Warn && Level::Warn < Level::Fail);
    }
}
