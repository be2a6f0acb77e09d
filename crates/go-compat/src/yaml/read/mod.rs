//! The parser: one pass over the text, with one function per production and no token or event stream.
//!
//! Written from the YAML 1.1 specification and from recorded answers of Go's parser. A position is a byte
//! offset. A column is a number of bytes, because only spaces, `-` and `:` come before the columns that
//! matter.
//!
//! * `block` parses nodes structured by indentation, `flow` nodes in brackets.
//! * `scalar` parses plain, quoted and block scalars.
//! * `anchor` parses anchors and copies nodes for aliases.

#![allow(clippy::unnecessary_box_returns, reason = "an unboxed error would enlarge every result")]

mod anchor;
mod block;
mod flow;
mod scalar;

use std::collections::HashMap;

use super::{MAX_DEPTH, MAX_NODES, NodeIn, SYNTAX, TOO_LARGE, UNSURE};
use crate::diag::{Diagnostic, Span};
use block::Behind;

/// A position in a text, with the state of the parser.
pub(super) struct Reader<'t> {
    text: &'t str,
    /// The next byte.
    at: usize,
    /// The first byte of the current line.
    line: usize,
    /// True if the document has ended, at the end of the text or at `---` or `...`.
    ended: bool,
    /// The number of open collections.
    depth: usize,
    /// The number of nodes so far, including copies.
    nodes: usize,
    /// The maximum number of nodes.
    most: usize,
    /// The number of copied nodes.
    copied: usize,
    /// The line of the last anchor that something follows.
    anchor_line: Option<usize>,
    /// Nodes by anchor; `None` while the node is being parsed.
    anchors: HashMap<&'t str, Option<NodeIn<'t>>>,
    /// The items of all open lists.
    items: Vec<NodeIn<'t>>,
    /// The pairs of all open mappings.
    pairs: Vec<(NodeIn<'t>, NodeIn<'t>)>,
}

/// The space before the next content.
struct Gap {
    /// The number of line breaks.
    breaks: usize,
    comment: bool,
}

/// The number of tokens that Go's parser reads after a document. A key has as many.
const TOKENS: usize = 3;

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Returns whether a line ends here. 0 marks the end of the text, which cannot contain it.
fn ends_line(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r' | 0)
}

/// Returns whether this byte may follow an indicator.
fn is_gap(byte: u8) -> bool {
    is_space(byte) || ends_line(byte)
}

impl<'t> Reader<'t> {
    /// Limits the number of nodes.
    pub(super) fn new(text: &'t str, nodes: usize) -> Self {
        let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Self {
            text,
            at: start,
            line: start,
            ended: false,
            depth: 0,
            nodes: 0,
            most: nodes.min(MAX_NODES),
            copied: 0,
            anchor_line: None,
            anchors: HashMap::new(),
            items: Vec::new(),
            pairs: Vec::new(),
        }
    }

    /// Parses the first document, if there is one.
    pub(super) fn document(mut self) -> Read<Option<NodeIn<'t>>> {
        self.find_content(0, false)?;
        if self.ended && self.peek() == b'.' {
            return Err(unsure(self.here(3), "a document that begins with `...`", "remove the line"));
        }
        if self.peek() == 0 {
            return Ok(None);
        }
        let root = if self.ended {
            self.ended = false;
            self.at += 3;
            self.block(0, Behind::Marker)?
        } else {
            self.content(0, true)?
        };
        // Go has a similar limit on texts that consist mainly of aliases.
        if self.nodes > 1_000 && self.copied > self.nodes / 10 * 8 {
            return Err(too_large(root.span, "aliases create more than 8 of 10 nodes"));
        }
        while self.peek() != 0 {
            self.other().map_err(|problem| {
                let what = "invalid YAML after the first document";
                unsure(problem.span.unwrap_or_default(), what, "remove everything after the first document")
            })?;
        }
        Ok(Some(root))
    }

    /// Parses whatever follows a document and has no effect: another document, lines indented less than the
    /// root, or brackets and commas. Go reads the first [`TOKENS`] tokens there and refuses invalid YAML.
    fn other(&mut self) -> Read<()> {
        self.anchors.clear();
        if self.ended {
            self.at += 3;
            self.skip_whitespace();
            if !ends_line(self.peek()) && self.peek() != b'#' {
                self.ended = false;
                return self.content(0, false).map(drop);
            }
            self.next_content(0, false)?;
        }
        let mut fresh = true;
        let mut tokens = 0;
        while !self.ended && self.at_separator() {
            self.at += 1;
            tokens += 1;
            self.skip_whitespace();
            fresh = ends_line(self.peek()) || self.peek() == b'#';
            if fresh {
                self.next_content(0, false)?;
            }
        }
        if self.ended {
            return Ok(());
        }
        if tokens >= TOKENS || (fresh && self.at_key()) {
            self.at = self.text.len();
            return Ok(());
        }
        self.content(0, fresh).map(drop)
    }

    fn at_separator(&self) -> bool {
        matches!(self.peek(), b',' | b']' | b'}')
    }

    /// Returns whether a key and its colon come next, possibly after dashes.
    fn at_key(&mut self) -> bool {
        let (start, line) = (self.at, self.line);
        while self.at_dash() {
            self.at += 1;
            self.skip_spaces();
        }
        let found = self.key().is_ok();
        (self.at, self.line) = (start, line);
        found
    }

    fn behind_root(&self) -> Problem {
        let help = "remove it, or write `---` on the line before it";
        unsure(self.rest_of_line(), "text after the end of the document", help)
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn peek(&self) -> u8 {
        self.byte(self.at)
    }

    fn next(&self) -> u8 {
        self.byte(self.at + 1)
    }

    fn rest(&self) -> &'t str {
        self.slice(self.at, self.text.len())
    }

    fn slice(&self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).unwrap_or_default()
    }

    fn column(&self) -> usize {
        self.at - self.line
    }

    /// Returns the span of the next `length` bytes.
    fn here(&self, length: usize) -> Span {
        Span::new(self.at, (self.at + length).min(self.text.len()))
    }

    /// Returns the span of the next character.
    fn character(&self) -> Span {
        self.here(self.rest().chars().next().map_or(0, char::len_utf8))
    }

    /// Returns the span from here to the end of the line, without trailing spaces.
    fn rest_of_line(&self) -> Span {
        let line = self.rest().split(['\n', '\r']).next().unwrap_or_default();
        self.here(line.trim_end_matches([' ', '\t']).len())
    }

    fn skip_whitespace(&mut self) {
        while is_space(self.peek()) {
            self.at += 1;
        }
    }

    fn skip_spaces(&mut self) {
        while self.peek() == b' ' {
            self.at += 1;
        }
    }

    fn skip_break(&mut self) {
        self.at += if self.peek() == b'\r' { 2 } else { 1 };
        self.line = self.at;
    }

    fn skip_line(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    }

    /// Returns whether `---` or `...` is next. At the start of a line, it ends the document.
    fn at_marker(&self) -> bool {
        let next = self.peek();
        matches!(next, b'-' | b'.')
            && self.column() == 0
            && self.next() == next
            && self.byte(self.at + 2) == next
            && is_gap(self.byte(self.at + 3))
    }

    /// Moves from the end of a line or a comment to the next content. `min` is the lowest column that still
    /// belongs to the current node; with `plain`, that node is a plain scalar, which can continue.
    fn next_content(&mut self, min: usize, plain: bool) -> Read<Gap> {
        let comment = self.peek() == b'#';
        if comment {
            self.skip_line();
        }
        if self.peek() == 0 {
            self.ended = true;
            return Ok(Gap { breaks: 0, comment });
        }
        self.skip_break();
        let gap = self.find_content(min, plain && !comment)?;
        Ok(Gap { breaks: gap.breaks + 1, comment: gap.comment || comment })
    }

    /// Moves from the start of a line to the next content.
    fn find_content(&mut self, min: usize, plain: bool) -> Read<Gap> {
        let mut gap = Gap { breaks: 0, comment: false };
        loop {
            self.skip_spaces();
            match self.peek() {
                b'\n' | b'\r' => {
                    self.skip_break();
                    gap.breaks += 1;
                }
                b'#' => {
                    gap.comment = true;
                    self.skip_line();
                }
                b'\t' => return Err(self.tab(min, plain && !gap.comment)),
                0 => {
                    self.ended = true;
                    return Ok(gap);
                }
                _ => {
                    self.ended = self.at_marker();
                    return Ok(gap);
                }
            }
        }
    }

    fn tab(&self, min: usize, plain: bool) -> Problem {
        let help = "indent with spaces";
        let content = self.rest().trim_start_matches([' ', '\t']);
        let empty = content.is_empty() || content.starts_with(['\n', '\r', '#']);
        if empty || (plain && self.column() >= min) {
            return unsure(self.here(1), "a tab at the start of a line", help);
        }
        syntax(self.here(1), "this line is indented with a tab, but YAML allows only spaces", help)
    }

    /// Counts nodes against the limit.
    fn count(&mut self, nodes: usize, span: Span) -> Read<()> {
        self.nodes += nodes;
        if self.nodes > self.most {
            return Err(too_large(span, format!("the text has more than {} nodes", self.most)));
        }
        Ok(())
    }

    /// Reads a collection with `read`, one level deeper.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth == MAX_DEPTH {
            return Err(too_large(
                self.character(),
                format!("the text nests deeper than {MAX_DEPTH} levels"),
            ));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }
}

// The errors of the parser.

/// An error, boxed because every function of the parser returns one or a node.
type Problem = Box<Diagnostic>;

/// The result of every function of the parser.
type Read<T> = Result<T, Problem>;

/// Reports a text that Go refuses, too.
fn syntax(span: Span, message: impl Into<String>, help: &str) -> Problem {
    Box::new(Diagnostic::error(SYNTAX, message).at(span).help(help))
}

/// Reports a construct (`what`) that YAML libraries read differently, and the `plain` form to write instead.
pub(super) fn unsure(span: Span, what: &str, plain: &str) -> Problem {
    let message = format!("{what} is read differently by different YAML libraries");
    Box::new(Diagnostic::error(UNSURE, message).at(span).help(plain))
}

/// Reports a text that exceeds a limit.
fn too_large(span: Span, message: impl Into<String>) -> Problem {
    Box::new(Diagnostic::error(TOO_LARGE, message).at(span).help("split or shorten the configuration"))
}

/// Returns the error for the first character that some YAML libraries refuse.
pub(super) fn first_odd_character(text: &str) -> Option<Problem> {
    // Nearly all chunks are plain ASCII. `fold` checks all bytes of a chunk at once; `all` would check one at
    // a time.
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
        '\r' => "a CR without LF",
        '\u{85}' | '\u{2028}' | '\u{2029}' => "a line break other than LF and CR LF",
        '\u{feff}' if at == 0 => return None,
        '\u{feff}' => "a byte order mark after the start of the text",
        '\u{fffe}' | '\u{ffff}' => "a Unicode noncharacter",
        character if character.is_control() => "a control character",
        _ => return None,
    };
    let span = Span::new(at, at + character.len_utf8());
    Some(unsure(span, what, "remove it, or escape it in double quotes"))
}
