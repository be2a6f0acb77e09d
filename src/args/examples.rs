//! Examples of the commands, for their help and for docs/command-line.md.

use clap::Command;

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
pub(crate) fn add(path: &str, command: Command) -> Command {
    command.mut_subcommands(|command| {
        let path = format!("{path} {}", command.get_name());
        let help = command.get_after_help().map(|help| format!("{help}\n\n")).unwrap_or_default();
        add(&path, command.after_help(help + &of(&path)))
    })
}

/// Formats the examples of a command as kubectl does.
fn of(path: &str) -> String {
    let has = |line: &str| {
        line.split(path).nth(1).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ')']))
    };
    let shown = examples().filter(|(_, line)| has(line));
    let shown: Vec<_> = shown.map(|(does, line)| format!("  # {does}\n  {line}")).collect();
    format!("Examples:\n{}", shown.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::command;

    /// Returns the command of an example, without the shell around it.
    fn words(line: &str) -> Vec<String> {
        let own = line.trim_start_matches("source <(").split([')', '|', '>']).next().unwrap();
        shlex::split(own).expect("words")
    }

    fn commands(of: &Command) -> Vec<&Command> {
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
