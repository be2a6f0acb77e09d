//! `queuewarden completion`: prints a shell script that completes subcommands, options, files, and
//! existing queues, objects and codes.
//!
//! The script starts the program with `QUEUEWARDEN_COMPLETE` set and the words after `--`. So the
//! candidates always match this program, and queues come from the configuration that the words name.

use crate::source::catalog;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Args as _, Command, FromArgMatches as _, value_parser};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate, complete};
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh};

use crate::output::{Console, Exit, Failure};
use crate::source::session::SourceArgs;
use queuewarden_api::v1alpha1::SINGLETON;
use yunikorn::right::Right;
use yunikorn_access::application::Verb;

/// Environment variable that requests completion; its value is the name of a shell.
const VARIABLE: &str = "QUEUEWARDEN_COMPLETE";
/// Longest wait for a cluster.
const PATIENCE: Duration = Duration::from_secs(3);
/// Maximum number of names that are offered.
const MOST: usize = 1000;

/// Supported shells.
const SHELLS: Shells<'static> = Shells(&[&Bash, &Elvish, &Fish, &Powershell, &Zsh, &Kubectl]);

/// Help text with the installation of the script for each shell.
const HELP: &str = "\
bash        echo 'source <(queuewarden completion bash)' >> ~/.bashrc
zsh         echo 'source <(queuewarden completion zsh)' >> ~/.zshrc
fish        queuewarden completion fish > ~/.config/fish/completions/queuewarden.fish
elvish      queuewarden completion elvish >> ~/.elvish/rc.elv
powershell  queuewarden completion powershell >> $PROFILE
kubectl     queuewarden completion kubectl > kubectl_complete-queuewarden, executable and in a folder of \
$PATH; for `kubectl queuewarden`

Queues and objects are completed, too, from the files in -f or from the cluster.";

/// Print a completion script for a shell
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub struct CompletionArgs {
    /// Shell to print the script for
    #[arg(value_parser = PossibleValuesParser::new(SHELLS.names()))]
    shell: String,
}

/// Runs the command.
///
/// # Errors
/// When the output cannot be written.
pub fn run(args: &CompletionArgs, plugin: &str, console: Console) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    let program = if args.shell == Kubectl.name() { plugin } else { "queuewarden" };
    if let Some(completer) = SHELLS.completer(&args.shell) {
        completer.write_registration(VARIABLE, "queuewarden", program, program, &mut script)?;
    }
    console.out(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Clean)
}

/// Answers a shell, if one requests completion; returns whether it did.
///
/// # Errors
/// When it is an unknown shell, or its words make no sense.
pub fn answer(command: fn() -> Command) -> clap::error::Result<bool> {
    let folder = std::env::current_dir().ok();
    CompleteEnv::with_factory(|| offering(command))
        .var(VARIABLE)
        .shells(SHELLS)
        .try_complete(std::env::args_os(), folder.as_deref())
}

/// Adds completers to the arguments of the command.
fn offering(command: fn() -> Command) -> Command {
    command().mut_subcommands(|subcommand| {
        let asks_applications = subcommand.get_arguments().any(|arg| arg.get_id() == "target");
        subcommand.mut_args(|arg| match arg.get_id().as_str() {
            "target" | "queue" | "to" => {
                arg.add(ArgValueCompleter::new(move |current: &OsStr| queues(command, current)))
            }
            "verb" => arg.add(ArgValueCandidates::new(move || verbs(asks_applications))),
            "object" => arg.add(ArgValueCompleter::new(move |current: &OsStr| objects(command, current))),
            "topics" => arg.add(ArgValueCandidates::new(all_codes)),
            _ => arg,
        })
    })
}

fn verbs(of_applications: bool) -> Vec<CompletionCandidate> {
    let rights = Right::ALL.into_iter().map(Right::verb);
    let actions = Verb::ALL.into_iter().map(Verb::as_str).filter(|_| of_applications);
    rights.chain(actions).map(CompletionCandidate::new).collect()
}

fn all_codes() -> Vec<CompletionCandidate> {
    catalog::all()
        .iter()
        .map(|code| CompletionCandidate::new(code.to_string()).help(Some(code.title.into())))
        .collect()
}

/// Returns the queues of the words' configuration that begin with the current word.
fn queues(command: fn() -> Command, current: &OsStr) -> Vec<CompletionCandidate> {
    fitting(command, current, |source| {
        let session = source.open(Console::silent()).ok()?;
        Some(session.tree().ok()?.queues().map(|(_, node)| node.path.to_string()).collect())
    })
}

/// Returns the objects of the words' configuration that begin with the current word.
fn objects(command: fn() -> Command, current: &OsStr) -> Vec<CompletionCandidate> {
    fitting(command, current, |source| {
        let names = source.source(Console::silent()).ok()?.queue_acls().ok()?;
        let config = format!("yunikornconfig/{SINGLETON}");
        Some(names.into_iter().map(|name| format!("queueacl/{name}")).chain([config]).collect())
    })
}

/// Returns the names in the words' configuration that begin with the current word, if they can be read in
/// time.
fn fitting(
    command: fn() -> Command,
    current: &OsStr,
    read: impl FnOnce(&SourceArgs) -> Option<Vec<String>> + Send + 'static,
) -> Vec<CompletionCandidate> {
    let (Some(start), Some(source)) = (current.to_str(), source(command(), std::env::args_os())) else {
        return Vec::new();
    };
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // Nobody may be waiting any more.
        drop(sender.send(read(&source)));
    });
    let names = receiver.recv_timeout(PATIENCE).ok().flatten().unwrap_or_default();
    let start = start.to_ascii_lowercase();
    names
        .into_iter()
        .filter(|name| name.starts_with(&start))
        .take(MOST)
        .map(CompletionCandidate::new)
        .collect()
}

/// Returns the source of the configuration that the words name. The words may be incomplete, and the queue or
/// verb among them need not be valid yet.
fn source(command: Command, args: impl IntoIterator<Item = OsString>) -> Option<SourceArgs> {
    let words = args.into_iter().skip_while(|word| word != "--").skip(1);
    let ours = SourceArgs::augment_args(Command::new(""));
    let is_ours = |arg: &Arg| ours.get_arguments().any(|other| other.get_id() == arg.get_id());
    let command = command.ignore_errors(true).mut_subcommands(|subcommand| {
        subcommand.mut_args(|arg| match arg.get_action() {
            ArgAction::Set | ArgAction::Append if !is_ours(&arg) => arg.value_parser(value_parser!(OsString)),
            _ => arg,
        })
    });
    let matches = command.try_get_matches_from(words).ok()?;
    let (_, matches): (&str, &ArgMatches) = matches.subcommand()?;
    let source = SourceArgs::from_arg_matches(matches).ok()?;
    // Standard input belongs to the shell.
    (!source.filename.iter().any(|path| path.as_os_str() == "-")).then_some(source)
}

/// Completion for `kubectl`, which completes a plugin by a program `kubectl_complete-NAME`. It prints one
/// candidate per line with its help after a tab, and at last a colon with a number: cobra's
/// `ShellCompDirective`.
#[derive(Debug, Clone, Copy)]
struct Kubectl;

/// Directive: offer no files besides the candidates.
const NO_FILES: u8 = 4;
/// Directive: add no space after a single candidate.
const NO_SPACE: u8 = 2;

impl EnvCompleter for Kubectl {
    fn name(&self) -> &'static str {
        "kubectl"
    }

    fn is(&self, name: &str) -> bool {
        name == "kubectl"
    }

    fn write_registration(
        &self,
        var: &str,
        _: &str,
        _: &str,
        completer: &str,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        writeln!(buf, "#!/bin/sh")?;
        writeln!(
            buf,
            "# Completes `kubectl queuewarden`: save this as kubectl_complete-queuewarden in a folder"
        )?;
        writeln!(buf, "# of $PATH, and make it executable.")?;
        writeln!(buf, "{var}=kubectl exec {completer} -- {completer} \"$@\"")
    }

    fn write_complete(
        &self,
        cmd: &mut Command,
        args: Vec<OsString>,
        current_dir: Option<&Path>,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        let last = args.len().saturating_sub(1);
        let candidates = complete(cmd, args, last, current_dir)?;
        for candidate in &candidates {
            let value = candidate.get_value().to_string_lossy();
            let help = candidate.get_help().map(|help| format!("\t{help}")).unwrap_or_default();
            writeln!(buf, "{value}{}", help.lines().next().unwrap_or_default())?;
        }
        let goes_on = |candidate: &CompletionCandidate| {
            candidate.get_value().as_encoded_bytes().last().is_some_and(|last| b"/=".contains(last))
        };
        let directive = if candidates.iter().any(goes_on) { NO_FILES | NO_SPACE } else { NO_FILES };
        writeln!(buf, ":{directive}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::command;

    fn words(line: &str) -> impl Iterator<Item = OsString> {
        ["queuewarden", "--"]
            .into_iter()
            .map(OsString::from)
            .chain(line.split(' ').map(OsString::from))
            .collect::<Vec<_>>()
            .into_iter()
    }

    #[test]
    fn the_source_is_found_among_words_that_are_not_whole() {
        let found = |line: &str| source(command(), words(line)).map(|source| source.filename);
        let files = |names: &[&str]| Some(names.iter().map(Into::into).collect());
        assert_eq!(found("queuewarden can-i submit -f q.yaml ro"), files(&["q.yaml"]));
        assert_eq!(found("queuewarden who-can submit ro --filename=a -f b"), files(&["a", "b"]));
        assert_eq!(found("queuewarden can-i nonsense ro -f q.yaml --bogus"), files(&["q.yaml"]));
        assert_eq!(found("queuewarden can-i move a --queue root.a --to ro -f q.yaml"), files(&["q.yaml"]));
        assert_eq!(found("queuewarden can-i submit ro -f -"), None);
        assert_eq!(found("queuewarden"), None);
    }

    #[test]
    fn kubectl_gets_what_may_follow() {
        let offered = |line: &str| {
            let args = line.split(' ').map(OsString::from).collect();
            let mut out = Vec::new();
            Kubectl.write_complete(&mut offering(command), args, None, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let subcommands = offered("kubectl-queuewarden wh");
        assert!(subcommands.starts_with("who-can\tList everyone"), "{subcommands}");
        assert!(subcommands.ends_with("\n:4\n"), "{subcommands}");
        assert_eq!(offered("kubectl-queuewarden can-i sub"), "submit\n:4\n");
        assert_eq!(offered("kubectl-queuewarden who-can k"), ":4\n");
        assert_eq!(offered("kubectl-queuewarden codes QW1003"), "QW1003\ttoo-many-lists\n:4\n");
    }

    #[test]
    fn every_shell_has_a_script() {
        for shell in SHELLS.names() {
            assert!(SHELLS.completer(shell).is_some_and(|found| found.name() == shell));
        }
    }
}
