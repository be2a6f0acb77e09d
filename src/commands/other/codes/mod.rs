//! `queuewarden codes`: lists all diagnostics, and explains single ones, and reasons of conditions.

mod reasons;

use std::sync::LazyLock;

use crate::commands::check::validate::suppressions;
use crate::output::{Console, Exit, Failure, format};
use crate::source::request::suggestion;
use crate::source::validate;
use crate::source::{assemble, input, schema};
use go_compat::diag::{Code, quoted};
use queuewarden_plan::conditions::Reason;

/// Meanings and examples. Tests compare them with the comments at the declarations and with the output of the
/// commands.
const PAGES: [&str; 7] = [
    include_str!("../../../../docs/codes/qw1.md"),
    include_str!("../../../../docs/codes/qw2.md"),
    include_str!("../../../../docs/codes/qw3.md"),
    include_str!("../../../../docs/codes/qw4.md"),
    include_str!("../../../../docs/codes/qw5.md"),
    include_str!("../../../../docs/codes/qw6.md"),
    include_str!("../../../../docs/codes/qw7.md"),
];
/// Maximum width of explanations, in characters.
const WIDTH: usize = 100;

/// List the codes of all diagnostics with their titles, or explain some: the meaning, the reason, the fix,
/// and an example; or explain the reasons of conditions
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
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
    reasons::reason(text).map_or_else(|| code(text).map(Topic::Code), |reason| Ok(Topic::Reason(reason)))
}

/// Returns every code, in the order of the numbers.
pub fn all() -> Vec<Code> {
    let lists: &[&[Code]] = &[
        yunikorn::acl::codes::CODES,
        go_compat::yaml::CODES,
        yunikorn::config::CODES,
        go_compat::go_regex::CODES,
        yunikorn::admission::CODES,
        yunikorn::queue::CODES,
        yunikorn::identity::CODES,
        yunikorn::application::CODES,
        yunikorn_access::alias::CODES,
        yunikorn_access::lint::CODES,
        #[cfg(feature = "import")]
        queuewarden_import::CODES,
        queuewarden_api::access_test::CODES,
        queuewarden_api::convert::CODES,
        queuewarden_api::review::CODES,
        queuewarden_api::config_map::CODES,
        queuewarden_plan::CODES,
        input::CODES,
        assemble::CODES,
        suppressions::CODES,
        schema::CODES,
        validate::cross::CODES,
    ];
    let mut codes = lists.concat();
    codes.sort();
    codes
}

/// All codes, in their order.
static SORTED: LazyLock<Vec<Code>> = LazyLock::new(all);

/// Parses a code by its number or its title, for clap.
pub(crate) fn code(text: &str) -> Result<Code, String> {
    let digits = text.strip_prefix("QW").or_else(|| text.strip_prefix("qw")).unwrap_or(text);
    let wanted = digits.parse().ok().filter(|_| digits.len() == 4);
    let named = |code: &&Code| Some(code.number) == wanted || code.title.eq_ignore_ascii_case(text);
    SORTED.iter().find(named).copied().ok_or_else(|| {
        if let Some(reason) = reasons::reason(text) {
            return format!(
                "{reason} is the reason of a condition: `queuewarden codes {reason}` explains it"
            );
        }
        let hint = suggestion(SORTED.iter().map(|code| code.title), text);
        format!("there is no code {}{hint}", quoted(text))
    })
}

/// Returns the meaning of a code, in the words of docs/codes, and its example there.
fn section(code: Code) -> (String, &'static str) {
    let title = format!("\n## {code} {}\n\n", code.title);
    let found = PAGES.iter().find_map(|page| page.split_once(&title));
    let section = found.map_or("", |(_, rest)| rest.split_once("\n## ").map_or(rest, |(section, _)| section));
    let (meaning, example) = section.split_once("\n\n").unwrap_or((section, ""));
    (meaning.replace("**", ""), example)
}

/// Returns the meaning of a code.
pub(crate) fn meaning(code: Code) -> String {
    section(code).0
}

/// Returns the section about a code, from docs/.
pub(crate) fn page(code: Code) -> String {
    let anchor = format!("{code}-{}", code.title).to_lowercase();
    format!("codes/qw{}.md#{anchor}", code.number / 1000)
}

/// Formats a code's title, meaning and example for people; fenced blocks are indented.
pub(crate) fn explained(code: Code) -> String {
    let (meaning, example) = section(code);
    let mut shown = format!("{code} {}\n\n{}\n", code.title, wrapped(&meaning));
    let mut within = false;
    for line in example.trim_end().lines() {
        if line.starts_with("```") {
            within = !within;
        } else if within && !line.is_empty() {
            shown.extend(["    ", line, "\n"]);
        } else {
            shown.extend([line, "\n"]);
        }
    }
    shown
}

/// Runs the command.
///
/// # Errors
/// When the output cannot be written.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let line = |code: &Code| format!("{code} {}\n", code.title);
    let explained = |topic: &Topic| match topic {
        Topic::Code(code) => explained(*code),
        Topic::Reason(reason) => reasons::explained(*reason),
    };
    let shown = if args.topics.is_empty() {
        all().iter().map(line).collect::<Vec<_>>().concat()
    } else {
        args.topics.iter().map(explained).collect::<Vec<_>>().join("\n")
    };
    console.out(&shown)?;
    Ok(Exit::Clean)
}

/// Wraps text into lines of at most [`WIDTH`] characters, except for longer words.
pub(crate) fn wrapped(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    format::wrapped(&words.join(" "), 0, Some(WIDTH)) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_titles_are_used_once() {
        let codes = all();
        for pair in codes.windows(2) {
            assert_ne!(pair[0].number, pair[1].number, "{} and {}", pair[0].title, pair[1].title);
        }
        let titles: std::collections::BTreeSet<_> = codes.iter().map(|code| code.title).collect();
        assert_eq!(titles.len(), codes.len());
    }

    #[test]
    fn codes_have_several_names() {
        for text in ["QW1003", "qw1003", "1003", "too-many-lists", "Too-Many-Lists"] {
            assert_eq!(code(text).map(|code| code.number), Ok(1003), "{text}");
        }
        assert!(code("to-many-lists").unwrap_err().ends_with("did you mean `too-many-lists`?"));
        let reason = code("forbidden").unwrap_err();
        assert!(reason.contains("`queuewarden codes Forbidden` explains it"), "{reason}");
        assert!(matches!(topic("forbidden"), Ok(Topic::Reason(Reason::Forbidden))));
        assert!(matches!(topic("1003"), Ok(Topic::Code(_))));
        for text in ["", "QW", "QW9999", "QW01003", "+1003"] {
            assert!(code(text).is_err(), "{text}");
        }
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
