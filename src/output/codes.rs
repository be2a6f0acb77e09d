//! Explains the codes of diagnostics, in the words of the documentation.

use super::console::wrapped as wrap;
use go_compat::diag::Code;

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
