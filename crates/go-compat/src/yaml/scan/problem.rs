//! Errors in Go's words: `decode.go`, `parser.fail`.

use super::cursor::Mark;
use crate::diag::{Diagnostic, Span};
use crate::yaml::SYNTAX;

/// A diagnostic on its way up. Boxed, because the functions it passes through call each other once for each level of nesting,
/// and each keeps room for it on the stack.
#[derive(Debug)]
pub(in crate::yaml) struct Problem(Box<Diagnostic>);

impl From<Diagnostic> for Problem {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(Box::new(diagnostic))
    }
}

impl From<Problem> for Diagnostic {
    fn from(problem: Problem) -> Self {
        *problem.0
    }
}

impl Problem {
    /// The same with what to write instead.
    pub(super) fn help(self, help: &str) -> Self {
        Self(Box::new(self.0.help(help)))
    }
}

/// An error as Go prints it, without a line.
pub(in crate::yaml) fn error(problem: &str) -> Diagnostic {
    Diagnostic::error(SYNTAX, format!("yaml: {problem}"))
}

/// A character the reader does not let through. Go names no line for it.
pub(super) fn reader_error(text: &str, at: usize, problem: &str) -> Problem {
    let char = text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or_default();
    let span = Span::new(at, at + char.len_utf8());
    error(problem).at(span).help(format!("remove the character U+{:04X}", u32::from(char))).into()
}

/// An error in the characters, found at `at` while reading what starts at `context`. Its line counts from one.
pub(super) fn scanner_error(context: Mark, at: Mark, problem: &str) -> Problem {
    in_line(context, at, 1, problem)
}

/// An error in the order of tokens. Go counts its line from zero and names none for the first.
pub(in crate::yaml) fn parser_error(context: Mark, at: Mark, problem: &str) -> Problem {
    in_line(context, at, 0, problem)
}

/// The line of the context, else of the place, else none.
fn in_line(context: Mark, at: Mark, first: u32, problem: &str) -> Problem {
    let line = [context, at].into_iter().map(|mark| mark.line).find(|line| *line != 0);
    let worded =
        line.map_or_else(|| error(problem), |line| error(&format!("line {}: {problem}", line + first)));
    worded.at(Span::new(at.index, at.index)).into()
}
