//! `queuewarden completion`: prints the script by which a shell calls `complete`.

use clap::builder::PossibleValuesParser;
use clap_complete::env::EnvCompleter as _;

use super::complete::{Kubectl, SHELLS, VARIABLE};
use super::{Console, Exit, Failure, PLUGIN};

/// Help text with the installation of the script for each shell.
const HELP: &str = "\
bash        echo 'source <(queuewarden completion bash)' >> ~/.bashrc
zsh         echo 'source <(queuewarden completion zsh)' >> ~/.zshrc
fish        queuewarden completion fish > ~/.config/fish/completions/queuewarden.fish
elvish      queuewarden completion elvish >> ~/.elvish/rc.elv
powershell  queuewarden completion powershell >> $PROFILE
kubectl     queuewarden completion kubectl > kubectl_complete-queuewarden, executable and in a folder of \
$PATH; for `kubectl queuewarden`

Queues are completed, too: from the files that -f names, else from the cluster.";

/// Print the script that completes commands in a shell
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Shell to print the script for
    #[arg(value_parser = PossibleValuesParser::new(SHELLS.names()))]
    shell: String,
}

/// Runs the command.
///
/// # Errors
/// When the output cannot be written.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    let program = if args.shell == Kubectl.name() { PLUGIN } else { "queuewarden" };
    if let Some(completer) = SHELLS.completer(&args.shell) {
        completer.write_registration(VARIABLE, "queuewarden", program, program, &mut script)?;
    }
    console.out(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_has_a_script() {
        for shell in SHELLS.names() {
            assert!(SHELLS.completer(shell).is_some_and(|found| found.name() == shell));
        }
    }
}
