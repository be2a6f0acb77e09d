//! Explains the codes of diagnostics and the reasons of conditions, in the words of the documentation.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::console::wrapped as wrap;
use go_compat::diag::Code;
use queuewarden_plan::conditions::Reason;

/// Meanings and examples. Tests compare them with the comments at the declarations and with the output of the
/// commands.
const PAGES: [&str; 7] = [
    include_str!("../../docs/codes/qw1.md"),
    include_str!("../../docs/codes/qw2.md"),
    include_str!("../../docs/codes/qw3.md"),
    include_str!("../../docs/codes/qw4.md"),
    include_str!("../../docs/codes/qw5.md"),
    include_str!("../../docs/codes/qw6.md"),
    include_str!("../../docs/codes/qw7.md"),
];
/// Maximum width of explanations, in characters.
pub(crate) const WIDTH: usize = 100;

/// Returns the meaning of a code, in the words of docs/codes, and its example there.
pub(crate) fn section(code: Code) -> (String, &'static str) {
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

/// Wraps text into lines of at most [`WIDTH`] characters, except for longer words.
pub(crate) fn wrapped(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    wrap(&words.join(" "), 0, Some(WIDTH)) + "\n"
}

/// The tables of all conditions. Tests compare them with the code.
const CONDITIONS: [&str; 2] =
    [include_str!("../../docs/conditions.md"), include_str!("../../docs/object-conditions.md")];

/// A row of a table: a condition with a reason.
struct Row {
    kind: String,
    condition: String,
    reason: String,
    means: String,
    remedy: String,
}

/// Returns the reason with a name, in any case.
pub(crate) fn reason(name: &str) -> Option<Reason> {
    Reason::ALL.iter().copied().find(|reason| reason.as_str().eq_ignore_ascii_case(name))
}

/// Explains a reason: lists each condition that has it, with the meaning and the remedy.
pub(crate) fn explained_reason(reason: Reason) -> String {
    let rows: Vec<Row> = CONDITIONS.iter().flat_map(|page| rows(page)).collect();
    let own: Vec<&Row> = rows.iter().filter(|row| row.reason == reason.as_str()).collect();
    // Some rows name other reasons in their text.
    let named = format!("`{reason}`");
    let mentions = rows.iter().filter(|row| own.is_empty() && row.means.contains(&named));
    let explained = own.iter().copied().chain(mentions).map(|row| {
        let means = wrapped(&format!("{}, {}: {}", row.kind, row.condition, row.means));
        let remedy = Some(&row.remedy).filter(|remedy| !remedy.is_empty());
        let remedy = remedy.map(|remedy| wrapped(&format!("Fix: {remedy}")));
        format!("\n{means}{}", remedy.unwrap_or_default())
    });
    format!("{reason}\n{}", explained.collect::<String>())
}

/// Reads the rows of a table; a row without a kind has the one above.
fn rows(page: &str) -> Vec<Row> {
    let mut above = String::new();
    let table = page.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let row = |line: &str| {
        let mut cells = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(plain);
        let kind = cells.next().filter(|kind| !kind.is_empty()).unwrap_or_else(|| above.clone());
        above.clone_from(&kind);
        let mut next = || cells.next();
        Some(Row { kind, condition: next()?, reason: next()?, means: next()?, remedy: next()? })
    };
    table.map_while(row).collect()
}

/// Comments in a cell, and links, which are replaced by their words.
static MARKUP: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?s)<!--.*?(-->|$)|\[([^\[\]]*)\]\([^)]*\)").ok());

/// Returns the text of a cell, without comments, and with the words of links alone.
fn plain(cell: &str) -> String {
    let text = MARKUP.as_ref().map_or(Cow::Borrowed(cell), |markup| markup.replace_all(cell, "$2"));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_explained_in_plain_words() {
        for reason in Reason::ALL {
            let text = explained_reason(*reason);
            assert!(text.lines().count() > 2, "{reason} is in no table");
            assert!(!text.contains("<!--") && !text.contains("]("), "{text}");
        }
    }

    #[test]
    fn a_reason_is_found_in_any_case() {
        assert_eq!(reason("forbidden"), Some(Reason::Forbidden));
        assert_eq!(reason("forbiden"), None);
    }

    #[test]
    fn kinds_conditions_and_remedies_are_named() {
        let text = explained_reason(Reason::NotVerified);
        assert!(
            text.starts_with("NotVerified\n\nYuniKornConfig, Loaded: `spec.schedulerUrl` is not set"),
            "{text}"
        );
        assert!(text.ends_with("Fix: Set `spec.schedulerUrl`.\n"), "{text}");
    }

    #[test]
    fn links_and_comments_are_left_out() {
        assert_eq!(plain(" a [b](c.md) d <!-- e --> f[0] "), "a b d f[0]");
    }
}
