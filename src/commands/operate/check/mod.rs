//! `queuewarden check`: finds problems of an installation and prints fixes.
//!
//! Each line has a stable name, a level, a finding, and a remedy.
//!
//! * [`api`]: the API server and the definitions of our kinds.
//! * [`features`]: whether all parts of a feature are installed.
//! * [`rights`]: the rights of the operator's `ServiceAccount`.
//! * [`running`]: the Deployment, the Lease, and the aliases in pods.
//! * [`https`]: webhooks, the served API, and the certificates that the API server trusts for them.
//! * [`written`]: the `YuniKornConfig`, the ConfigMaps, their owners, and whether the scheduler runs them.

pub mod api;
pub mod features;
pub mod https;
pub mod rights;
pub mod running;
pub mod written;

use std::thread::sleep;
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::console::wrapped;
use crate::output::format::{AnswerFormat, visible};
use crate::output::{Console, Exit, Failure};
use crate::source::checks::{Level, Line};
use crate::source::cluster::Cluster;
use crate::source::installed::{NAME, ReachArgs};
use crate::source::times::clock;
use queuewarden_api::answer::VERSION;
use queuewarden_plan::snapshot::ConfigSpec;

/// The time between two checks of `--wait`.
const PAUSE: Duration = Duration::from_secs(2);

/// Exit codes of the command.
const CODES: &str = "\
Exit codes: 0 no problems, 1 problems were found, 2 the command line is invalid, 3 an important check could not \
run, or the cluster does not respond.";

/// Check an installation: the API server, the CRDs, permissions, replicas, webhooks and their certificates,
/// the ConfigMaps and their owners, and whether the scheduler runs them. Prints a fix for each problem.
/// Changes nothing
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = CODES)]
pub struct CheckArgs {
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
pub fn run(args: &CheckArgs, console: Console) -> Result<Exit, Failure> {
    let begin = Instant::now();
    let wait = args.wait.map_or(Ok(Duration::ZERO), Duration::try_from);
    let wait = wait.map_err(|_| Failure::Usage("--wait must be a duration, such as 2m".to_owned()))?;
    let check =
        |console| args.reach.open(console).map(|(cluster, spec)| diagnose(&cluster, &spec, &args.reach));
    let mut checked = check(console);
    let is_well = |answer: &CheckAnswer| answer.exit(args.strict) == Exit::Clean;
    while !checked.as_ref().is_ok_and(is_well) && begin.elapsed() < wait {
        sleep(PAUSE);
        checked = check(Console::silent());
    }
    let answer = checked?;
    console.out(&args.output.show(|| text(&answer, args.quiet, console.look_out().width), || &answer)?)?;
    Ok(answer.exit(args.strict))
}

impl CheckAnswer {
    /// Returns the exit code. Something broken takes precedence over something unknown.
    fn exit(&self, strict: bool) -> Exit {
        let is = |level| self.checks.iter().any(|line| line.level == level);
        if is(Level::Fail) || strict && is(Level::Warn) {
            Exit::Findings
        } else if is(Level::Unknown) {
            Exit::Undecided
        } else {
            Exit::Clean
        }
    }
}

/// Runs all checks. Something that cannot be read makes a line, not an error.
fn diagnose(cluster: &Cluster, spec: &ConfigSpec, reach: &ReachArgs) -> CheckAnswer {
    let checks: Vec<Line> = cluster.run(async |client| {
        let (state, api, endpoints) = tokio::join!(
            Box::pin(reach.read(cluster, client, spec)),
            api::check(client, &cluster.server),
            https::check(client, clock()),
        );
        let setting = rights::RightSetting {
            namespace: &reach.namespace,
            account: state.operator.account.as_deref().unwrap_or(NAME),
            spec,
            https: endpoints.https,
            access: endpoints.access,
            output: state.snapshot.as_ref().ok().and_then(|snapshot| written::output(spec, snapshot)),
            mounted: state.operator.mounted_certificate,
            owners: state.snapshot.as_ref().map(rights::owners).unwrap_or_default(),
        };
        let rights = rights::check(client, &setting).await;
        let certificate = match state.operator.mounted_certificate {
            Some(false) if endpoints.https => {
                Some(https::certificate(client, &reach.namespace, clock()).await)
            }
            _ => None,
        };
        let pods = running::pods(cluster, client, state.snapshot.as_ref().ok()).await;
        let features = features::check(client, spec, &state, endpoints.webhooks.as_deref()).await;
        let mut lines =
            [api, vec![rights], running::check(&state.operator), endpoints.lines, features].concat();
        lines.extend(certificate);
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

/// Formats the answer for people: a line for each check, with its remedy below.
fn text(answer: &CheckAnswer, quiet: bool, terminal: Option<usize>) -> String {
    let shown: Vec<&Line> = answer.checks.iter().filter(|line| !quiet || line.level > Level::Ok).collect();
    let width = shown.iter().map(|line| line.check.len()).max().unwrap_or_default();
    let lines = shown.into_iter().map(|line| {
        let level = match line.level {
            Level::Ok => "ok  ",
            Level::Warn => "warn",
            Level::Unknown => "?   ",
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
        "{} in order, {} worth a look, {} unknown, {} broken\n",
        count(Level::Ok),
        count(Level::Warn),
        count(Level::Unknown),
        count(Level::Fail)
    );
    lines.chain([sum]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewarden_client::call::CallError;

    fn answer(checks: Vec<Line>) -> CheckAnswer {
        CheckAnswer { version: VERSION, level: checks.iter().map(|line| line.level).max().unwrap(), checks }
    }

    #[test]
    fn what_to_do_stands_below_what_was_found() {
        let all = answer(vec![
            Line::ok("api-server", "v1.34.2"),
            Line::fail("lease", "nobody\nholds it", "start it"),
        ]);
        let expected = "ok    api-server  v1.34.2\nFAIL  lease       nobody\\nholds it\n                  -> start it\n1 in order, 0 worth a look, 0 unknown, 1 broken\n";
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
        let levels = [Level::Ok, Level::Warn, Level::Unknown, Level::Fail];
        assert!(levels.is_sorted());
    }

    #[test]
    fn what_is_broken_takes_precedence_over_what_is_unknown() {
        let forbidden = CallError::Refused { code: 403, message: "is forbidden".to_owned() };
        let unknown = || Line::unknown("rights", "it", &forbidden);
        let (ok, warn, fail) = (Line::ok("a", ""), Line::warn("b", "", ""), Line::fail("c", "", ""));
        for (lines, exits) in [
            (vec![ok.clone()], [Exit::Clean, Exit::Clean]),
            (vec![ok, warn.clone()], [Exit::Clean, Exit::Findings]),
            (vec![unknown()], [Exit::Undecided, Exit::Undecided]),
            (vec![warn, unknown()], [Exit::Undecided, Exit::Findings]),
            (vec![unknown(), fail], [Exit::Findings, Exit::Findings]),
        ] {
            let answer = answer(lines);
            assert_eq!([false, true].map(|strict| answer.exit(strict)), exits, "{answer:?}");
        }
        assert!(unknown().remedy.unwrap().contains("--clusterrole queuewarden-checker"));
        let late = CallError::Refused { code: 503, message: "later".to_owned() };
        assert!(!Line::unknown("rights", "it", &late).remedy.unwrap().contains("clusterrole"));
    }
}
