//! `queuewarden check`: what is wrong with an installation, and what to do about it. (The modules that `validate` is made of are
//! called [`super::check`].)
//!
//! Each line has a name of its own that stays the same, a level, what was found, and what to do. What may not be looked at is a warning: it is
//! neither in order nor broken.
//!
//! * [`api`]: the API server and the definitions of our kinds.
//! * [`rights`]: what the operator's `ServiceAccount` may do.
//! * [`running`]: the Deployment and the Lease.
//! * [`doors`]: webhooks, the served API, and the certificates that the API server trusts there.
//! * [`written`]: the `YuniKornConfig`, the ConfigMaps, who owns them, and whether the scheduler runs them.

pub mod api;
pub mod doors;
pub mod rights;
pub mod running;
pub mod written;

use schemars::JsonSchema;
use serde::Serialize;

use super::ask::Notes;
use super::ask::output::{AnswerFormat, visible};
use super::console::Console;
use super::installed::{Installed, ReachArgs, operator};
use super::status::EXIT_CODES;
use super::{Exit, Failure, clock};
use queuewarden_api::answer::VERSION;

/// Checks an installation: the API server, the definitions, rights, replicas, webhooks and their certificates, what is written, who owns
/// it, and whether the scheduler runs it. Says what to do about each thing that is not in order. Nothing is changed.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Args {
    #[command(flatten)]
    reach: ReachArgs,
    /// Let warnings count as failures
    #[arg(long)]
    strict: bool,
    /// Show only what is not in order
    #[arg(short, long)]
    quiet: bool,
    /// How to show it
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: AnswerFormat,
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// In order.
    Ok,
    /// Worth a look, or not known.
    Warn,
    /// Broken.
    Fail,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Line {
    /// What was checked: a name that stays the same.
    pub check: &'static str,
    /// How it ended.
    pub level: Level,
    /// What was found.
    pub found: String,
    /// What to do; absent where nothing is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Line {
    /// In order.
    pub fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, level: Level::Ok, found: found.into(), remedy: None }
    }

    /// Worth a look.
    pub fn warn(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, level: Level::Warn, found: found.into(), remedy: Some(remedy.into()) }
    }

    /// Broken.
    pub fn fail(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { level: Level::Fail, ..Self::warn(check, found, remedy) }
    }

    /// Nobody knows, because it may not be looked at, or there is no answer.
    pub fn unknown(check: &'static str, what: &str, error: &impl std::fmt::Display) -> Self {
        Self::warn(check, format!("{what} is not known: {error}"), "run this as somebody who may read it")
    }
}

/// What `check -o json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CheckAnswer {
    /// The version of this format: 1.
    pub version: u32,
    /// The worst level of all lines.
    pub level: Level,
    /// The lines, in the order in which to read them.
    pub checks: Vec<Line>,
}

/// Runs the command.
///
/// # Errors
/// When there is no way to a cluster, or nobody takes the output.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let installed = args.reach.open()?;
    installed.notes.tell(console);
    let answer = diagnose(&installed, &args.reach);
    console.out(&args.output.show(|| text(&answer, args.quiet), || &answer)?)?;
    let bad = if args.strict { Level::Warn } else { Level::Fail };
    Ok(Exit::yes(answer.level < bad))
}

/// Checks everything. What cannot be read is a line, not an error.
pub fn diagnose(installed: &Installed, reach: &ReachArgs) -> CheckAnswer {
    let mut notes = Notes::default();
    let checks: Vec<Line> = installed.cluster.run(async |client| {
        let snapshot = installed.cluster.snapshot(installed.spec.clone(), &mut notes).await;
        let output = snapshot.as_ref().ok().and_then(|snapshot| written::output(&installed.spec, snapshot));
        let url = reach.scheduler_url.as_deref();
        let (api, state, (doors, open), written) = tokio::join!(
            api::check(client, installed.cluster.server()),
            operator::look(client, &reach.namespace, clock()),
            doors::check(client, clock()),
            written::check(client, url, &installed.spec, snapshot),
        );
        let setting = rights::Setting {
            namespace: &reach.namespace,
            spec: &installed.spec,
            doors: open,
            output,
            mounted: state.mounted_certificate,
        };
        let rights = rights::check(client, &setting).await;
        [api, rights, running::judge(&state), doors, written].concat()
    });
    CheckAnswer {
        version: VERSION,
        level: checks.iter().map(|line| line.level).max().unwrap_or(Level::Ok),
        checks,
    }
}

/// For people: a line for each check, and below it what to do.
fn text(answer: &CheckAnswer, quiet: bool) -> String {
    let shown: Vec<&Line> = answer.checks.iter().filter(|line| !quiet || line.level > Level::Ok).collect();
    let width = shown.iter().map(|line| line.check.len()).max().unwrap_or_default();
    let lines = shown.into_iter().map(|line| {
        let level = match line.level {
            Level::Ok => "ok  ",
            Level::Warn => "warn",
            Level::Fail => "FAIL",
        };
        let remedy =
            line.remedy.as_ref().map(|remedy| format!("      {:width$}  -> {}\n", "", visible(remedy)));
        let remedy = remedy.unwrap_or_default();
        format!("{level}  {:width$}  {}\n{remedy}", line.check, visible(&line.found))
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
        assert_eq!(text(&all, false), expected);
        assert!(text(&all, true).starts_with("FAIL  lease  nobody"));
        assert_eq!(all.level, Level::Fail);
    }

    #[test]
    fn levels_are_in_order() {
        assert!(Level::Ok < Level::Warn && Level::Warn < Level::Fail);
    }
}
