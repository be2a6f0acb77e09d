//! The command line, with one file for each command: makes the same plan as in the cluster from files.
//!
//! Exit codes: 0 no errors (warnings allowed, unless `--strict`), 1 errors or refused, 2 the command line is
//! wrong or an input cannot be read, 3 it cannot be decided. Results go to standard output, messages about
//! them to standard error.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands::ask::can_i::{self, Show};
use crate::commands::ask::{matrix, place, report, what_can, who_can, whoami};
use crate::commands::change::{grant, revoke, suspend};
use crate::commands::check::{acl, diff, render, review, test, validate};
use crate::commands::operate::{
    authorizer_config, check, configure, crds, describe, history, run, status, user_info,
};
use crate::commands::other::{codes, completion, man, version};
use crate::output::console::Color;
use crate::output::format::visible;
use crate::output::{Console, Exit, Failure};
use crate::source::request;
use crate::source::session::EXIT_CODES;
use go_compat::diag::is_obeyed;
use queuewarden_operator::process::{CertificatesOptions, RunOptions};

/// Manage who may submit to, and who administers, the queues of Apache YuniKorn
#[derive(Debug, Parser)]
#[command(name = "queuewarden", version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Use of colours
    #[arg(long, value_enum, default_value_t, global = true, value_name = "WHEN")]
    color: Color,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check whether a user may do something on a queue, or with an application
    CanI(can_i::CanIArgs),
    /// Explain why a user may, or may not, do something
    #[command(after_help = EXIT_CODES)]
    Explain(can_i::RequestArgs),
    /// List everyone who may submit to a queue, or administer it
    WhoCan(who_can::WhoCanArgs),
    /// List the queues that a user may submit to, or administer
    WhatCan(what_can::WhatCanArgs),
    /// Show the names that YuniKorn knows you by, and which of them ACLs can have
    Whoami(whoami::WhoamiArgs),
    /// Show who may do what on each queue
    Matrix(matrix::MatrixArgs),
    /// Show in which queue an application would run, and why
    Place(place::PlaceArgs),
    /// Write a page about queues, access, problems and changes
    Report(report::ReportArgs),
    /// Explain an ACL as YuniKorn reads it
    Acl(acl::AclArgs),
    /// Find what is wrong with files or a cluster, or does not do what it seems to
    #[command(visible_alias = "lint")]
    Validate(validate::ValidateArgs),
    /// Show who gains and who loses access between two configurations
    Diff(diff::DiffArgs),
    /// Print the ConfigMap and the conditions that the operator would write
    Render(render::RenderArgs),
    /// Test a configuration against the access it is meant to give
    Test(test::TestArgs),
    /// Answer SubjectAccessReviews and AdmissionReviews as the cluster would
    Review(review::ReviewArgs),
    /// Give users and groups a right, by a QueueAcl
    Grant(grant::GrantArgs),
    /// Take users and groups out of QueueAcls
    Revoke(revoke::RevokeArgs),
    /// Suspend a QueueAcl, or the writing of the ConfigMap
    Suspend(suspend::SuspendArgs),
    /// Resume what was suspended
    Resume(suspend::SuspendArgs),
    /// Convert the access rules of YARN, Spark or a queues.yaml to QueueAcls
    #[cfg(feature = "import")]
    Import(crate::commands::change::import::ImportArgs),
    /// Show what is in force, who writes, and which objects need attention
    Status(status::StatusArgs),
    /// Show a QueueAcl, who gains and who loses by it, and its events
    Describe(describe::DescribeArgs),
    /// List the texts that the operator wrote, show one, or compare two
    History(history::HistoryArgs),
    /// Check an installation, and print a remedy for each problem
    Check(check::CheckArgs),
    /// Apply the YuniKornConfig of a Helm release
    Configure(configure::ConfigureArgs),
    /// Print the custom resource definitions
    Crds(crds::CrdsArgs),
    /// Work with the names of users that pods carry
    UserInfo(user_info::UserInfoArgs),
    /// Print the files by which an API server uses queuewarden as an authorizer
    AuthorizerConfig(authorizer_config::AuthorizerConfigArgs),
    /// Run the operator
    Run(RunOptions),
    /// Issue and renew the certificate of the operator's HTTPS endpoints
    Certificates(CertificatesOptions),
    /// List the codes of all diagnostics, or explain one
    Codes(codes::CodesArgs),
    /// Print the script that completes commands in a shell
    Completion(completion::CompletionArgs),
    /// Print the manual page, or write those of all subcommands
    Man(man::ManArgs),
    /// Print the version, and the versions it was tested with
    Version(version::VersionArgs),
}

/// The groups in which help lists the commands, each with its first one.
const GROUPS: [(&str, &str); 5] =
    [("Ask", "can-i"), ("Check", "acl"), ("Change", "grant"), ("Operate", "status"), ("Other", "codes")];

/// Name of the program as a plugin of kubectl: then it is started as `kubectl queuewarden`.
const PLUGIN: &str = "kubectl-queuewarden";

/// Returns the command line, under the name by which the program was started.
pub fn command() -> clap::Command {
    let command = with_examples("queuewarden", Cli::command());
    let commands = grouped(&command);
    let command = command.before_help(commands).help_template(
        "{about-with-newline}\n{usage-heading} {usage}\n{before-help}\nOptions:\n{options}{after-help}",
    );
    let plugin = std::env::args_os().next().is_some_and(|program| {
        Path::new(&program).file_stem().is_some_and(|name| name.eq_ignore_ascii_case(PLUGIN))
    });
    if plugin { command.bin_name("kubectl queuewarden") } else { command }
}

/// The examples: a comment that says what the command does, and the command.
const TEXT: &str = include_str!("examples.txt");

/// Returns the examples, each with what it does. A command's help has those that begin with the command.
pub fn examples() -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_known =
        |(_, line): &(_, &str)| cfg!(feature = "import") || !line.starts_with("queuewarden import ");
    TEXT.split("\n\n")
        .filter_map(|example| example.strip_prefix("# ")?.trim_end().split_once('\n'))
        .filter(is_known)
}

/// Adds the examples to the help of each command below this one.
fn with_examples(path: &str, command: clap::Command) -> clap::Command {
    command.mut_subcommands(|command| {
        let path = format!("{path} {}", command.get_name());
        let help = command.get_after_help().map(|help| format!("{help}\n\n")).unwrap_or_default();
        with_examples(&path, command.after_help(help + &examples_of(&path)))
    })
}

/// Formats the examples of a command as kubectl does.
fn examples_of(path: &str) -> String {
    let has = |line: &str| {
        line.split(path).nth(1).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ')']))
    };
    let shown = examples().filter(|(_, line)| has(line));
    let shown: Vec<_> = shown.map(|(does, line)| format!("  # {does}\n  {line}")).collect();
    format!("Examples:\n{}", shown.join("\n\n"))
}

/// Letters that people know from other tools, each with the options that may be meant.
const LETTERS: [(&str, &[&str]); 5] = [
    ("-u", &["user", "as"]),
    ("-g", &["group", "as-group"]),
    ("-n", &["cluster-namespace", "namespace"]),
    ("-q", &["queue"]),
    ("-r", &["recursive"]),
];

/// Adds to an error the option that is likely meant.
fn with_guess(mut error: clap::Error, mut command: &clap::Command) -> clap::Error {
    for arg in std::env::args().skip(1) {
        command = command.find_subcommand(arg).unwrap_or(command);
    }
    let Some(guess) = guess(&error, command) else { return error };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![guess.into()]));
    error
}

/// Returns advice on an argument that a command does not take, or lacks.
fn guess(error: &clap::Error, command: &clap::Command) -> Option<String> {
    let has = |long: &str| command.get_arguments().any(|arg| arg.get_long() == Some(long));
    let word = match error.get(ContextKind::InvalidArg)? {
        ContextValue::String(word) => word,
        ContextValue::Strings(lacking) => {
            let files = lacking.iter().any(|arg| arg.starts_with("--filename"));
            return files.then(|| "name files or folders with `-f`, such as `-f queues.yaml`".to_owned());
        }
        _ => return None,
    };
    let means = |option: &str| Some(format!("did you mean `{option}`?"));
    if let Some((_, longs)) = LETTERS.iter().find(|(letter, _)| word == letter) {
        return means(&format!("--{}", longs.iter().find(|long| has(long))?));
    }
    let with = |option: &str| means(&format!("{option} {word}"));
    if word.starts_with('-') || error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let positionals = command.get_positionals().count();
    if positionals == 0 && has("queue") && request::queue(word).is_ok() {
        return with("--queue");
    }
    if has("filename") && Path::new(word).exists() {
        return with("-f");
    }
    // The verb and the queue come first, and a user is next.
    let who = ["user", "as"].iter().find(|long| has(long)).filter(|_| positionals > 0)?;
    with(&format!("--{who}"))
}

/// Lists the commands in groups.
fn grouped(command: &clap::Command) -> String {
    let line = |command: &clap::Command| {
        let name = command.get_name();
        let title = GROUPS.iter().find(|(_, first)| *first == name);
        let title = title.map(|(title, _)| format!("\n{title}:\n")).unwrap_or_default();
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        format!("{title}  {name:<18} {about}\n")
    };
    command.get_subcommands().map(line).collect()
}

/// Returns the error about the same arguments with invisible characters escaped. They may be names of files
/// that others chose, and clap prints them as they are.
fn printable(error: clap::Error) -> clap::Error {
    let args: Vec<String> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    if !args.iter().any(|arg| arg.contains(is_obeyed)) {
        return error;
    }
    let escaped = command().try_get_matches_from(args.iter().map(|arg| visible(arg)));
    escaped.err().unwrap_or_else(|| clap::Error::new(error.kind()).with_cmd(&command()))
}

/// Runs the process: reads the arguments, runs the command, returns the exit code.
pub fn main() -> ExitCode {
    let parsed = || {
        let matches = command().try_get_matches();
        Cli::from_arg_matches(&matches.map_err(|error| with_guess(error, &command()))?)
    };
    let cli =
        match completion::answer(command).and_then(|done| if done { Ok(None) } else { parsed().map(Some) }) {
            Ok(Some(cli)) => cli,
            Ok(None) => return ExitCode::SUCCESS,
            Err(error) => {
                // Help and version are answers, not errors; clap knows where each goes. A closed output is no
                // reason to fail.
                let error = printable(error);
                drop(error.print());
                return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
            }
        };
    let console = Console::new(cli.color);
    let ended = match &cli.command {
        Command::Render(args) => render::run(args, console),
        Command::Validate(args) => validate::run(args, console),
        Command::Acl(args) => acl::run(args, console),
        Command::CanI(args) => can_i::run(args, console),
        Command::Explain(args) => can_i::answer(args, Show::Everything, console),
        Command::WhoCan(args) => who_can::run(args, console),
        Command::WhatCan(args) => what_can::run(args, console),
        Command::Whoami(args) => whoami::run(args, console),
        Command::Matrix(args) => matrix::run(args, console),
        Command::Diff(args) => diff::run(args, console),
        Command::Grant(args) => grant::run(args, console),
        Command::Revoke(args) => revoke::run(args, console),
        Command::Suspend(args) => suspend::run(args, true, console),
        Command::Resume(args) => suspend::run(args, false, console),
        Command::Report(args) => report::run(args, console),
        Command::Place(args) => place::run(args, console),
        Command::Test(args) => test::run(args, console),
        Command::Review(args) => review::run(args, console),
        #[cfg(feature = "import")]
        Command::Import(args) => crate::commands::change::import::run(args, console),
        Command::Status(args) => status::run(args, console),
        Command::Describe(args) => describe::run(args, console),
        Command::History(args) => history::run(args, console),
        Command::Check(args) => check::run(args, console),
        Command::AuthorizerConfig(args) => authorizer_config::run(args, console),
        Command::Configure(args) => configure::run(args, console),
        Command::Crds(args) => crds::run(args, console),
        Command::UserInfo(args) => user_info::run(args, console),
        Command::Codes(args) => codes::run(args, console),
        Command::Completion(args) => completion::run(args, PLUGIN, console),
        Command::Man(args) => man::run(args, command(), console),
        Command::Run(args) => run::run(args),
        Command::Certificates(args) => run::certificates(args),
        Command::Version(args) => version::run(args, console),
    };
    match ended {
        Ok(Exit::Clean) => ExitCode::SUCCESS,
        Ok(Exit::Findings) => ExitCode::from(1),
        Ok(Exit::Undecided) => ExitCode::from(3),
        // A reader that closed the output has seen enough.
        Err(Failure::Stream(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            console.err(&format!("error: {failure}\n"));
            ExitCode::from(match failure {
                Failure::Usage(_) => 2,
                Failure::Undecided(_) | Failure::Forbidden(_) | Failure::NoConfigMaps(_) => 3,
                Failure::Refused(_) | Failure::Output(_) | Failure::Stream(_) => 1,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_fit_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_has_every_command_in_a_group() {
        let help = grouped(&Cli::command());
        assert!(GROUPS.iter().all(|(title, _)| help.contains(&format!("\n{title}:\n"))), "{help}");
        assert!(help.starts_with("\nAsk:\n") && help.lines().all(|line| line.len() <= 96), "{help}");
    }

    /// Returns the command of an example, without the shell around it.
    fn words(line: &str) -> Vec<String> {
        let own = line.trim_start_matches("source <(").split([')', '|', '>']).next().unwrap();
        shlex::split(own).expect("words")
    }

    fn commands(of: &clap::Command) -> Vec<&clap::Command> {
        of.get_subcommands().flat_map(|command| std::iter::once(command).chain(commands(command))).collect()
    }

    #[test]
    fn every_example_is_a_command_and_every_command_has_one() {
        for (_, line) in examples() {
            let parsed = command().try_get_matches_from(words(line));
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            assert!(line.len() <= 96, "{line} is wider than help");
        }
        let command = command();
        for command in commands(&command) {
            let help = command.get_after_help().unwrap().to_string();
            assert!(help.contains("Examples:\n  # "), "{}", command.get_name());
        }
    }
}
