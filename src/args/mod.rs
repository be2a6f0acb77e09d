//! The command line, with one file for each command: makes the same plan as in the cluster from files.
//!
//! Exit codes: 0 no errors (warnings allowed, unless `--strict`), 1 errors or refused, 2 the command line is
//! invalid or an input cannot be read, 3 undecided. Results go to standard output, messages about them to
//! standard error.

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

/// Manage who can submit to and administer the queues of Apache YuniKorn
#[derive(Debug, Parser)]
#[command(name = "queuewarden", version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Use of colors
    #[arg(long, value_enum, default_value_t, global = true, value_name = "WHEN")]
    color: Color,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check whether a user may use a queue or an application
    CanI(can_i::CanIArgs),
    /// Explain why a user has access or not
    #[command(after_help = EXIT_CODES)]
    Explain(can_i::RequestArgs),
    /// List everyone who may submit to or administer a queue
    WhoCan(who_can::WhoCanArgs),
    /// List the queues that a user may submit to or administer
    WhatCan(what_can::WhatCanArgs),
    /// Show your names in YuniKorn, and which of them fit into ACLs
    Whoami(whoami::WhoamiArgs),
    /// Show the rights of all users and groups on all queues
    Matrix(matrix::MatrixArgs),
    /// Show the queue of an application, and the rules that choose it
    Place(place::PlaceArgs),
    /// Generate a page about queues, access, problems and changes
    Report(report::ReportArgs),
    /// Explain how YuniKorn interprets an ACL
    Acl(acl::AclArgs),
    /// Find errors and ineffective settings in files or a cluster
    #[command(visible_alias = "lint")]
    Validate(validate::ValidateArgs),
    /// Show who gains and who loses access between two configurations
    Diff(diff::DiffArgs),
    /// Print the ConfigMap and the conditions that the operator would write
    Render(render::RenderArgs),
    /// Run access tests against a configuration
    Test(test::TestArgs),
    /// Answer SubjectAccessReviews and AdmissionReviews as the cluster would
    Review(review::ReviewArgs),
    /// Grant a right to users and groups with a QueueAcl
    Grant(grant::GrantArgs),
    /// Remove users and groups from QueueAcls
    Revoke(revoke::RevokeArgs),
    /// Suspend a QueueAcl, or all writes of the operator
    Suspend(suspend::SuspendArgs),
    /// Resume a QueueAcl, or the writes of the operator
    Resume(suspend::SuspendArgs),
    /// Convert the access rules of YARN, Spark or a queues.yaml to QueueAcls
    #[cfg(feature = "import")]
    Import(crate::commands::change::import::ImportArgs),
    /// Show the state of a cluster and the objects that need attention
    Status(status::StatusArgs),
    /// Show a QueueAcl with its effect and its events
    Describe(describe::DescribeArgs),
    /// List, show or compare the configurations that the operator wrote
    History(history::HistoryArgs),
    /// Check an installation, and print a fix for each problem
    Check(check::CheckArgs),
    /// Apply the YuniKornConfig of a Helm release
    Configure(configure::ConfigureArgs),
    /// Print the custom resource definitions
    Crds(crds::CrdsArgs),
    /// Manage the user names in pods
    UserInfo(user_info::UserInfoArgs),
    /// Print the files to configure queuewarden as an authorizer of an API server
    AuthorizerConfig(authorizer_config::AuthorizerConfigArgs),
    /// Run the operator
    Run(RunOptions),
    /// Issue and renew the certificate of the operator's HTTPS endpoints
    Certificates(CertificatesOptions),
    /// List the codes of all diagnostics, or explain one
    Codes(codes::CodesArgs),
    /// Print a completion script for a shell
    Completion(completion::CompletionArgs),
    /// Print the manual page, or write the manual pages of all subcommands
    Man(man::ManArgs),
    /// Print the version, and the tested versions of YuniKorn
    Version(version::VersionArgs),
}

/// The groups of commands in the help, each with its first command.
const GROUPS: [(&str, &str); 5] =
    [("Ask", "can-i"), ("Check", "acl"), ("Change", "grant"), ("Operate", "status"), ("Other", "codes")];

/// Name of the program as a kubectl plugin, which is started as `kubectl queuewarden`.
const PLUGIN: &str = "kubectl-queuewarden";

/// Returns the command line, with the name under which the program was started.
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

/// The examples: a comment with a description, and the command.
const TEXT: &str = include_str!("examples.txt");

/// Returns the examples with their descriptions. The help of a command shows the examples that start with it.
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

/// Short options that users know from other tools, with the options that they may mean.
const LETTERS: [(&str, &[&str]); 5] = [
    ("-u", &["user", "as"]),
    ("-g", &["group", "as-group"]),
    ("-n", &["cluster-namespace", "namespace"]),
    ("-q", &["queue"]),
    ("-r", &["recursive"]),
];

/// Adds a suggestion for the intended option to an error.
fn with_guess(mut error: clap::Error, mut command: &clap::Command) -> clap::Error {
    for arg in std::env::args().skip(1) {
        command = command.find_subcommand(arg).unwrap_or(command);
    }
    let Some(guess) = guess(&error, command) else { return error };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![guess.into()]));
    error
}

/// Returns advice about an unknown or missing argument.
fn guess(error: &clap::Error, command: &clap::Command) -> Option<String> {
    let has = |long: &str| command.get_arguments().any(|arg| arg.get_long() == Some(long));
    let word = match error.get(ContextKind::InvalidArg)? {
        ContextValue::String(word) => word,
        ContextValue::Strings(lacking) => {
            let files = lacking.iter().any(|arg| arg.starts_with("--filename"));
            return files.then(|| "pass files or folders with `-f`, such as `-f queues.yaml`".to_owned());
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
    // The verb and the queue come first, followed by a user.
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

/// Returns the error for the same arguments with invisible characters escaped. They may be untrusted file
/// names, which clap prints unchanged.
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
