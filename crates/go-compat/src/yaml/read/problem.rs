//! The refusals of the reader.

use crate::diag::{Diagnostic, Span};
use crate::yaml::{SYNTAX, TOO_LARGE, UNSURE};

/// A refusal; boxed, because every function of the reader returns one or a node.
pub(crate) type Problem = Box<Diagnostic>;

/// The answer of every function of the reader.
pub(crate) type Read<T> = Result<T, Problem>;

/// A text that Go refuses, too.
pub(super) fn syntax(span: Span, message: impl Into<String>, help: &str) -> Problem {
    Box::new(Diagnostic::error(SYNTAX, message).at(span).help(help))
}

/// A construct that is not read alike everywhere: `what` it is, and the `plain` form to write.
pub(crate) fn unsure(span: Span, what: &str, plain: &str) -> Problem {
    let message = format!("{what} is read differently by different YAML libraries");
    Box::new(Diagnostic::error(UNSURE, message).at(span).help(plain))
}

/// A text beyond one of the bounds.
pub(super) fn too_large(span: Span, message: impl Into<String>) -> Problem {
    Box::new(Diagnostic::error(TOO_LARGE, message).at(span).help("split or shorten the configuration"))
}

/// The refusal of the first character that not every library takes, wherever it stands.
pub(crate) fn first_odd_character(text: &str) -> Option<Problem> {
    // Nearly all chunks are plain ASCII. `all` stops at a byte; this checks many at once.
    let plain = |byte: &u8| matches!(byte, b'\n' | b' '..=b'~');
    let all_plain = |chunk: &[u8]| chunk.iter().fold(true, |all, byte| all & plain(byte));
    let chunks = text.as_bytes().chunks(64).enumerate().filter(|(_, chunk)| !all_plain(chunk));
    let mut odd = chunks.filter_map(|(index, chunk)| {
        let bytes = chunk.iter().enumerate().filter(|(_, byte)| !plain(byte));
        bytes.map(|(at, _)| index * 64 + at).find_map(|at| odd_character(text, at))
    });
    odd.next()
}

fn odd_character(text: &str, at: usize) -> Option<Problem> {
    let rest = text.get(at..)?;
    let character = rest.chars().next()?;
    let what = match character {
        '\t' => return None,
        '\r' if rest.starts_with("\r\n") => return None,
        '\r' => "a line break CR without LF",
        '\u{85}' | '\u{2028}' | '\u{2029}' => "a line break other than LF and CR LF",
        '\u{feff}' if at == 0 => return None,
        '\u{feff}' => "a byte order mark behind the start",
        '\u{fffe}' | '\u{ffff}' => "a character that is none",
        character if character.is_control() => "a control character",
        _ => return None,
    };
    let span = Span::new(at, at + character.len_utf8());
    Some(unsure(span, what, "remove it, or write it as an escape in double quotes"))
}
