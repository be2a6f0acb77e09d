//! Explains the reasons of conditions, in the words of the documentation.

use super::codes::wrapped;
use queuewarden_plan::conditions::Reason;

/// The tables of all conditions. Tests compare them with the code.
const PAGES: [&str; 2] =
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
pub(crate) fn explained(reason: Reason) -> String {
    let rows: Vec<Row> = PAGES.iter().flat_map(|page| rows(page)).collect();
    let own: Vec<&Row> = rows.iter().filter(|row| row.reason == reason.as_str()).collect();
    // Some rows name other reasons in their text.
    let named = format!("`{reason}`");
    let mentions = rows.iter().filter(|row| own.is_empty() && row.means.contains(&named));
    let explained = own.iter().copied().chain(mentions).map(|row| {
        let means = wrapped(&format!("{}, {}: {}", row.kind, row.condition, row.means));
        let remedy = Some(&row.remedy).filter(|remedy| !remedy.is_empty());
        let remedy = remedy.map(|remedy| wrapped(&format!("To do: {remedy}")));
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

/// Returns the text of a cell, without comments, and with the words of links alone.
fn plain(cell: &str) -> String {
    let mut text = String::new();
    let mut rest = cell;
    while let Some((before, comment)) = rest.split_once("<!--") {
        text.push_str(before);
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    let mut words = String::new();
    let mut rest = text.as_str();
    while let Some((before, target)) = rest.split_once("](") {
        words.push_str(&without_last(before, '['));
        rest = target.split_once(')').map_or("", |(_, after)| after);
    }
    words.push_str(rest);
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a text without the last one of these characters.
fn without_last(text: &str, c: char) -> String {
    text.rsplit_once(c).map_or_else(|| text.to_owned(), |(before, after)| format!("{before}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_explained_in_plain_words() {
        for reason in Reason::ALL {
            let text = explained(*reason);
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
        let text = explained(Reason::NotVerified);
        assert!(text.starts_with("NotVerified\n\nYuniKornConfig, Loaded: There is no"), "{text}");
        assert!(text.ends_with("To do: Set `spec.schedulerUrl`.\n"), "{text}");
    }

    #[test]
    fn links_and_comments_are_left_out() {
        assert_eq!(plain(" a [b](c.md) d <!-- e --> f[0] "), "a b d f[0]");
    }
}
