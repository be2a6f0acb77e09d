//! `queuewarden codes`: lists all diagnostics, and explains single ones, and reasons of conditions.

use crate::output::codes::{explained, explained_reason, reason};
use crate::output::{Console, Exit, Failure};
use crate::source::catalog::{all, code};
use go_compat::diag::Code;
use queuewarden_plan::conditions::Reason;

/// List the codes of all diagnostics with their titles, or explain some: the meaning, the reason, the fix,
/// and an example; or explain the reasons of conditions
#[derive(Debug, Clone, clap::Args)]
pub struct CodesArgs {
    /// Codes to explain, such as QW1003, 1003 or too-many-lists; or reasons of conditions, such as
    /// Forbidden
    #[arg(value_name = "CODE|REASON", value_parser = topic)]
    topics: Vec<Topic>,
}

/// Something to explain.
#[derive(Debug, Clone, Copy)]
enum Topic {
    Code(Code),
    Reason(Reason),
}

/// Parses a code or a reason, for clap.
fn topic(text: &str) -> Result<Topic, String> {
    reason(text).map_or_else(|| code(text).map(Topic::Code), |reason| Ok(Topic::Reason(reason)))
}

/// Runs the command.
///
/// # Errors
/// When the output cannot be written.
pub fn run(args: &CodesArgs, console: Console) -> Result<Exit, Failure> {
    let line = |code: &Code| format!("{code} {}\n", code.title);
    let text = |topic: &Topic| match topic {
        Topic::Code(code) => explained(*code),
        Topic::Reason(reason) => explained_reason(*reason),
    };
    let shown = if args.topics.is_empty() {
        all().iter().map(line).collect::<Vec<_>>().concat()
    } else {
        args.topics.iter().map(text).collect::<Vec<_>>().join("\n")
    };
    console.out(&shown)?;
    Ok(Exit::Clean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::codes::{WIDTH, section, wrapped};

    #[test]
    fn topics_are_codes_and_reasons() {
        assert!(matches!(topic("forbidden"), Ok(Topic::Reason(Reason::Forbidden))));
        assert!(matches!(topic("1003"), Ok(Topic::Code(_))));
    }

    #[test]
    fn every_code_has_a_meaning_in_lines_that_fit_and_an_example() {
        for code in all() {
            let (meaning, example) = section(code);
            assert!(!example.is_empty() && !explained(code).contains("```"), "{code}");
            let text = wrapped(&meaning);
            assert!(text.len() > 20, "{code}: run UPDATE=1 cargo test --test all cli::docs");
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH || !line.contains(' ')), "{code}");
        }
        assert!(section(code("QW1004").unwrap()).0.contains("(`|`, `>`)"));
    }
}
