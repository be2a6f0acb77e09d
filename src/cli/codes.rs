//! `queuewarden codes`: every diagnostic there is, and what one of them means.

use super::console::Console;
use super::{Exit, Failure, assemble, check, input};
use crate::model::queue::nearest;
use crate::text::diag::{Code, quoted};
use crate::{access, api, import, model, operator, plan, text};

/// The meanings, which a test keeps to the comments at the declarations.
const MEANINGS: &str = include_str!("../../docs/codes.md");
/// Explanations are wrapped here, in characters.
const WIDTH: usize = 100;

/// Lists the codes of all diagnostics with their titles, or explains some: what it is, why, and what to write instead.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The codes to explain, such as QW1003, 1003 or too-many-lists
    #[arg(value_name = "CODE", value_parser = code)]
    codes: Vec<Code>,
}

/// Every code, in the order of the numbers.
pub fn all() -> Vec<Code> {
    let lists: &[&[Code]] = &[
        model::acl::codes::CODES,
        text::yaml::CODES,
        model::config::CODES,
        text::go_regex::CODES,
        model::admission::CODES,
        model::queue::CODES,
        model::identity::CODES,
        model::application::CODES,
        access::lint::CODES,
        import::CODES,
        api::access_test::CODES,
        api::convert::CODES,
        api::review::CODES,
        operator::world::CODES,
        plan::CODES,
        input::CODES,
        assemble::CODES,
        check::schema::CODES,
        check::cross::CODES,
    ];
    let mut codes = lists.concat();
    codes.sort();
    codes
}

/// A code by its number or its title, for clap.
pub(super) fn code(text: &str) -> Result<Code, String> {
    let digits = text.strip_prefix("QW").or_else(|| text.strip_prefix("qw")).unwrap_or(text);
    let wanted = digits.parse().ok().filter(|_| digits.len() == 4);
    let named = |code: &Code| Some(code.number) == wanted || code.title.eq_ignore_ascii_case(text);
    all().into_iter().find(named).ok_or_else(|| {
        let near = nearest(all().iter().map(|code| code.title), text);
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        format!("there is no code {}{hint}", quoted(text))
    })
}

/// What a code means, in the words of docs/codes.md.
fn meaning(code: Code) -> String {
    let start = format!("| {code} | {} | ", code.title);
    let row = MEANINGS.lines().find_map(|line| line.strip_prefix(&start)?.strip_suffix(" |"));
    row.unwrap_or_default().replace("\\|", "|").replace("**", "")
}

/// Runs the command.
///
/// # Errors
/// When nobody takes the output.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let line = |code: &Code| format!("{code} {}\n", code.title);
    let shown = if args.codes.is_empty() {
        all().iter().map(line).collect::<Vec<_>>().concat()
    } else {
        let explained = |code: &Code| format!("{}\n{}", line(code), wrapped(&meaning(*code)));
        args.codes.iter().map(explained).collect::<Vec<_>>().join("\n")
    };
    console.out(&shown)?;
    Ok(Exit::Clean)
}

/// Lines of at most [`WIDTH`] characters, as far as words allow.
fn wrapped(text: &str) -> String {
    let mut shown = String::new();
    let mut column = 0_usize;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        let next = column.saturating_add(width).saturating_add(1);
        if column > 0 && next > WIDTH {
            shown.push('\n');
            column = 0;
        } else if column > 0 {
            shown.push(' ');
            column = column.saturating_add(1);
        }
        shown.push_str(word);
        column = column.saturating_add(width);
    }
    shown.push('\n');
    shown
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
        for text in ["", "QW", "QW9999", "QW01003", "+1003"] {
            assert!(code(text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_code_has_a_meaning_in_lines_that_fit() {
        for code in all() {
            let text = wrapped(&meaning(code));
            assert!(text.len() > 20, "{code}: run UPDATE=1 cargo test --test all cli::docs");
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH || !line.contains(' ')), "{code}");
        }
        assert!(meaning(code("QW1004").unwrap()).contains("(`|`, `>`)"));
    }
}
