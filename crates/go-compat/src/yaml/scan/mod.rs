//! Text to tokens, exactly as `scannerc.go` of `go.yaml.in/yaml/v3` v3.0.4 does it.
//!
//! This is a translation and keeps the order of its steps, because what Go accepts is defined by nothing else: it is YAML 1.1
//! with libyaml's liberties and Go's own (`\'` in double quotes, `?` ends a plain scalar in brackets, a look-ahead of two
//! tokens). Left out is what Go does with comments, except how far it moves over them. See `LICENSE` beside this file for the
//! terms of the original.

mod between;
mod block_scalar;
mod content;
mod cursor;
mod fetch;
mod flow_scalar;
mod problem;
mod property;
mod token;

use std::collections::VecDeque;

pub(super) use cursor::Mark;
pub use cursor::is_break;
pub(super) use problem::{Problem, error, parser_error};
pub(super) use token::{Token, TokenKind};

use cursor::Cursor;
use problem::scanner_error;

/// An implicit key must fit into so many characters before its colon.
const MAX_KEY: usize = 1024;

/// A place where a key without `?` may have started.
#[derive(Debug, Clone, Copy, Default)]
struct SimpleKey {
    possible: bool,
    /// It stands where only a key can: when no colon follows, that is an error.
    required: bool,
    /// Number of the token it starts with, from the start of the text.
    token: usize,
    mark: Mark,
}

/// Reads tokens from a text.
#[derive(Debug)]
pub(super) struct Scanner<'t> {
    cursor: Cursor<'t>,
    started: bool,
    tokens: VecDeque<Token<'t>>,
    /// How many tokens were taken out of the queue.
    parsed: usize,
    /// Whether the first token of the queue is final.
    available: bool,
    /// The column in which what is nested in the current block must at least start: Go's `indent` plus one, so zero outside.
    inner: usize,
    outer: Vec<usize>,
    flow_level: usize,
    simple_key_allowed: bool,
    simple_keys: Vec<SimpleKey>,
    /// Go's map from the number of a token to the index in `simple_keys` of the key that may start with it. Numbers only grow, so the
    /// keys are in order here.
    simple_keys_by_token: VecDeque<(usize, usize)>,
}

type Scanned<T = ()> = Result<T, Problem>;

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            cursor: Cursor::new(text),
            started: false,
            tokens: VecDeque::new(),
            parsed: 0,
            available: false,
            inner: 0,
            outer: Vec::new(),
            flow_level: 0,
            simple_key_allowed: false,
            simple_keys: Vec::new(),
            simple_keys_by_token: VecDeque::new(),
        }
    }

    /// The next token.
    #[inline]
    pub(super) fn peek(&mut self) -> Scanned<&mut Token<'t>> {
        if !self.available {
            self.fetch_more_tokens()?;
        }
        // The queue is never empty here; behind the end of the stream there is more of the same.
        if self.tokens.is_empty() {
            self.push(TokenKind::StreamEnd, self.cursor.mark);
        }
        self.tokens.front_mut().ok_or_else(|| error("unknown problem parsing YAML content").into())
    }

    /// Takes the next token out.
    pub(super) fn skip(&mut self) {
        self.available = false;
        self.parsed += 1;
        self.tokens.pop_front();
    }

    /// An error at the cursor while reading what starts at `context`.
    fn error(&self, context: Mark, problem: &str) -> Problem {
        scanner_error(context, self.cursor.mark, problem)
    }

    /// The number that the next token in the queue will have.
    fn next_number(&self) -> usize {
        self.parsed + self.tokens.len()
    }

    /// `yaml_parser_fetch_more_tokens`: Go always reads two tokens ahead, for its comments, and further while the first token
    /// may turn out to be a key.
    fn fetch_more_tokens(&mut self) -> Scanned {
        loop {
            let ended = self.tokens.back().is_some_and(|token| token.kind == TokenKind::StreamEnd);
            if ended || self.tokens.len() > 2 {
                let key = self.key_of_first_token();
                let undecided = key.map_or(Ok(false), |key| self.simple_key_is_valid(key))?;
                if ended || !undecided {
                    break;
                }
            }
            self.fetch_next_token()?;
        }
        self.available = true;
        Ok(())
    }

    /// The key that may start with the first token in the queue. Those of tokens that were taken out are not asked for again.
    fn key_of_first_token(&mut self) -> Option<usize> {
        while self.simple_keys_by_token.front().is_some_and(|(token, _)| *token < self.parsed) {
            self.simple_keys_by_token.pop_front();
        }
        let (_, key) = self.simple_keys_by_token.front().filter(|(token, _)| *token == self.parsed)?;
        Some(*key)
    }

    /// No key starts with this token any more.
    fn forget_key_of(&mut self, token: usize) {
        if let Some(at) = self.simple_keys_by_token.iter().rposition(|(known, _)| *known == token) {
            self.simple_keys_by_token.remove(at);
        }
    }

    /// `yaml_parser_fetch_next_token`.
    fn fetch_next_token(&mut self) -> Scanned {
        self.cursor.cache(1)?;
        if !self.started {
            self.fetch_stream_start();
            return Ok(());
        }
        let before = self.cursor.mark;
        self.scan_to_next_token()?;
        self.unroll_indent(self.cursor.mark.column + 1, before);
        self.cursor.cache(4)?;
        if self.cursor.is_end() {
            return self.fetch_stream_end();
        }
        if self.cursor.mark.column == 0 && self.cursor.is(b'%') {
            return self.fetch_directive();
        }
        if self.cursor.is_document_indicator(b'-') {
            return self.fetch_document_indicator(TokenKind::DocumentStart);
        }
        if self.cursor.is_document_indicator(b'.') {
            return self.fetch_document_indicator(TokenKind::DocumentEnd);
        }
        self.fetch_content()?;
        if self.tokens.back().is_some_and(|token| token.kind != TokenKind::BlockEntry) {
            self.scan_line_comment()?;
        }
        Ok(())
    }

    /// The second half of `yaml_parser_fetch_next_token`: what may have a comment behind it.
    fn fetch_content(&mut self) -> Scanned {
        let in_flow = self.flow_level > 0;
        let spaced = self.cursor.is_blankz(1);
        match self.cursor.at(0) {
            b'[' => self.fetch_flow_collection_start(TokenKind::FlowSequenceStart),
            b'{' => self.fetch_flow_collection_start(TokenKind::FlowMappingStart),
            b']' => self.fetch_flow_collection_end(TokenKind::FlowSequenceEnd),
            b'}' => self.fetch_flow_collection_end(TokenKind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if spaced => self.fetch_block_entry(),
            b'?' if in_flow || spaced => self.fetch_key(),
            b':' if in_flow || spaced => self.fetch_value(),
            b'*' | b'&' => self.fetch_anchor(),
            b'!' => self.fetch_tag(),
            b'|' if !in_flow => self.fetch_block_scalar(true),
            b'>' if !in_flow => self.fetch_block_scalar(false),
            b'\'' => self.fetch_flow_scalar(true),
            b'"' => self.fetch_flow_scalar(false),
            b'|' | b'>' | b'#' | b'%' | b'@' | b'`' | b' ' | b'\t' => {
                let problem = self.error(self.cursor.mark, "found character that cannot start any token");
                Err(problem.help("a value that begins with this character must be quoted"))
            }
            _ => self.fetch_plain_scalar(),
        }
    }

    /// `yaml_simple_key_is_valid`: a key ends in its line and is not too long.
    fn simple_key_is_valid(&mut self, index: usize) -> Scanned<bool> {
        let now = self.cursor.mark;
        let Some(key) = self.simple_keys.get_mut(index).filter(|key| key.possible) else {
            return Ok(false);
        };
        if key.mark.line < now.line || key.mark.chars + MAX_KEY < now.chars {
            if key.required {
                return Err(scanner_error(key.mark, now, "could not find expected ':'"));
            }
            key.possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    /// `yaml_parser_save_simple_key`: what comes next may be a key.
    fn save_simple_key(&mut self) -> Scanned {
        if !self.simple_key_allowed {
            return Ok(());
        }
        let mark = self.cursor.mark;
        let required = self.flow_level == 0 && self.inner == mark.column + 1;
        let token = self.next_number();
        self.remove_simple_key()?;
        let index = self.simple_keys.len().saturating_sub(1);
        if let Some(last) = self.simple_keys.last_mut() {
            *last = SimpleKey { possible: true, required, token, mark };
            self.simple_keys_by_token.push_back((token, index));
        }
        Ok(())
    }

    /// `yaml_parser_remove_simple_key`: what was started at this level is no key.
    fn remove_simple_key(&mut self) -> Scanned {
        let now = self.cursor.mark;
        let Some(key) = self.simple_keys.last_mut().filter(|key| key.possible) else {
            return Ok(());
        };
        if key.required {
            return Err(scanner_error(key.mark, now, "could not find expected ':'"));
        }
        key.possible = false;
        let token = key.token;
        self.forget_key_of(token);
        Ok(())
    }

    fn push(&mut self, kind: TokenKind<'t>, start: Mark) {
        self.tokens.push_back(Token { kind, start, end: self.cursor.mark });
    }

    /// Puts a token of no length in front of the token with this number, or last when that one was taken out already.
    fn insert(&mut self, number: usize, kind: TokenKind<'t>, mark: Mark) {
        let last = self.tokens.len();
        let index = number.checked_sub(self.parsed).map_or(last, |index| index.min(last));
        self.tokens.insert(index, Token { kind, start: mark, end: mark });
    }

    /// `yaml_parser_roll_indent`: a block starts where something stands further right than its parent.
    fn roll_indent(&mut self, column: usize, number: usize, kind: TokenKind<'t>, mark: Mark) {
        if self.flow_level == 0 && self.inner <= column {
            self.outer.push(self.inner);
            self.inner = column + 1;
            self.insert(number, kind, mark);
        }
    }

    /// `yaml_parser_unroll_indent`: blocks whose content starts behind `inner` have ended at `mark`.
    fn unroll_indent(&mut self, inner: usize, mark: Mark) {
        if self.flow_level > 0 {
            return;
        }
        while self.inner > inner {
            self.tokens.push_back(Token { kind: TokenKind::BlockEnd, start: mark, end: mark });
            self.inner = self.outer.pop().unwrap_or(0);
        }
    }
}
