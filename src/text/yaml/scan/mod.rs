//! Text to tokens, exactly as `scannerc.go` of `go.yaml.in/yaml/v3` v3.0.4 does it.
//!
//! This is a translation and keeps the order of its steps, because what Go accepts is defined by nothing else: it is YAML 1.1
//! with libyaml's liberties and Go's own (`\'` in double quotes, `?` ends a plain scalar in brackets, a look-ahead of two
//! tokens). Left out is what Go does with comments, except how far it moves over them. See `LICENSE` beside this file for the
//! terms of the original.

mod block_scalar;
mod cursor;
mod flow_scalar;
mod problem;
mod property;
mod token;

use std::collections::{HashMap, VecDeque};

pub(super) use cursor::Mark;
pub(super) use problem::{error, parser_error};
pub(super) use token::{Token, TokenKind};

use crate::text::diag::Diagnostic;
use cursor::Cursor;
use problem::scanner_error;

/// An implicit key must fit into so many characters before its colon.
const MAX_KEY: usize = 1024;
/// How far Go looks for the next line of a comment.
const MAX_COMMENT_GAP: usize = 512;

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
    tokens: VecDeque<Token>,
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
    /// Token number to index in `simple_keys`.
    simple_keys_by_token: HashMap<usize, usize>,
}

type Scanned<T = ()> = Result<T, Diagnostic>;

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
            simple_keys_by_token: HashMap::new(),
        }
    }

    /// The next token.
    pub(super) fn peek(&mut self) -> Scanned<&mut Token> {
        if !self.available {
            self.fetch_more_tokens()?;
        }
        let end = self.cursor.mark;
        // The queue is never empty here; behind the end of the stream there is more of the same.
        if self.tokens.is_empty() {
            self.tokens.push_back(Token {
                kind: TokenKind::StreamEnd,
                start: end,
                end,
            });
        }
        self.tokens
            .front_mut()
            .ok_or_else(|| error("unknown problem parsing YAML content"))
    }

    /// Takes the next token out.
    pub(super) fn skip(&mut self) {
        self.available = false;
        self.parsed += 1;
        self.tokens.pop_front();
    }

    /// An error at the cursor while reading what starts at `context`.
    fn error(&self, context: Mark, problem: &str) -> Diagnostic {
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
            if self.tokens.len() > 2 {
                let key = self.simple_keys_by_token.get(&self.parsed).copied();
                let undecided = match key {
                    Some(key) if key < self.simple_keys.len() => self.simple_key_is_valid(key)?,
                    _ => false,
                };
                if !undecided {
                    break;
                }
            }
            if self
                .tokens
                .back()
                .is_some_and(|token| token.kind == TokenKind::StreamEnd)
            {
                break;
            }
            self.fetch_next_token()?;
        }
        self.available = true;
        Ok(())
    }

    /// `yaml_parser_fetch_next_token`.
    fn fetch_next_token(&mut self) -> Scanned {
        self.cursor.cache(1)?;
        if !self.started {
            self.fetch_stream_start();
            return Ok(());
        }
        self.scan_to_next_token()?;
        self.unroll_indent(self.cursor.mark.column + 1);
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
        if self
            .tokens
            .back()
            .is_some_and(|token| token.kind != TokenKind::BlockEntry)
        {
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
                Err(self.error(self.cursor.mark, "found character that cannot start any token"))
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
            *last = SimpleKey {
                possible: true,
                required,
                token,
                mark,
            };
            self.simple_keys_by_token.insert(token, index);
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
        self.simple_keys_by_token.remove(&token);
        Ok(())
    }

    fn push(&mut self, kind: TokenKind, start: Mark) {
        self.tokens.push_back(Token {
            kind,
            start,
            end: self.cursor.mark,
        });
    }

    /// Puts a token of no length in front of the token with this number.
    fn insert(&mut self, number: usize, kind: TokenKind, mark: Mark) {
        let index = number.saturating_sub(self.parsed).min(self.tokens.len());
        self.tokens.insert(
            index,
            Token {
                kind,
                start: mark,
                end: mark,
            },
        );
    }

    /// `yaml_parser_roll_indent`: a block starts where something stands further right than its parent.
    fn roll_indent(&mut self, column: usize, number: usize, kind: TokenKind, mark: Mark) {
        if self.flow_level == 0 && self.inner <= column {
            self.outer.push(self.inner);
            self.inner = column + 1;
            self.insert(number, kind, mark);
        }
    }

    /// `yaml_parser_unroll_indent`: blocks whose content starts behind `inner` have ended.
    fn unroll_indent(&mut self, inner: usize) {
        if self.flow_level > 0 {
            return;
        }
        while self.inner > inner {
            self.push(TokenKind::BlockEnd, self.cursor.mark);
            self.inner = self.outer.pop().unwrap_or(0);
        }
    }

    fn fetch_stream_start(&mut self) {
        self.simple_keys.push(SimpleKey::default());
        self.simple_key_allowed = true;
        self.started = true;
        self.push(TokenKind::StreamStart, self.cursor.mark);
    }

    fn fetch_stream_end(&mut self) -> Scanned {
        if self.cursor.mark.column != 0 {
            self.cursor.mark.column = 0;
            self.cursor.mark.line += 1;
        }
        self.unroll_indent(0);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        self.push(TokenKind::StreamEnd, self.cursor.mark);
        Ok(())
    }

    fn fetch_directive(&mut self) -> Scanned {
        self.unroll_indent(0);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        self.scan_directive()
    }

    fn fetch_document_indicator(&mut self, kind: TokenKind) -> Scanned {
        self.unroll_indent(0);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.cursor.mark;
        for _ in 0..3 {
            self.cursor.skip();
        }
        self.push(kind, start);
        Ok(())
    }

    /// Takes one character as a token.
    fn take(&mut self, kind: TokenKind) {
        let start = self.cursor.mark;
        self.cursor.skip();
        self.push(kind, start);
    }

    fn fetch_flow_collection_start(&mut self, kind: TokenKind) -> Scanned {
        self.save_simple_key()?;
        let (token, mark) = (self.next_number(), self.cursor.mark);
        self.simple_keys.push(SimpleKey {
            token,
            mark,
            ..SimpleKey::default()
        });
        self.flow_level += 1;
        self.simple_key_allowed = true;
        self.take(kind);
        Ok(())
    }

    fn fetch_flow_collection_end(&mut self, kind: TokenKind) -> Scanned {
        self.remove_simple_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            if let Some(key) = self.simple_keys.pop() {
                self.simple_keys_by_token.remove(&key.token);
            }
        }
        self.simple_key_allowed = false;
        self.take(kind);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Scanned {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.take(TokenKind::FlowEntry);
        Ok(())
    }

    /// In a block, starts one at the cursor unless it runs already. `problem` is the error where none may start.
    fn roll_indent_here(&mut self, kind: TokenKind, problem: &str) -> Scanned {
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return Err(self.error(self.cursor.mark, problem));
            }
            let mark = self.cursor.mark;
            self.roll_indent(mark.column, self.next_number(), kind, mark);
        }
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Scanned {
        let problem = "block sequence entries are not allowed in this context";
        self.roll_indent_here(TokenKind::BlockSequenceStart, problem)?;
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.take(TokenKind::BlockEntry);
        Ok(())
    }

    fn fetch_key(&mut self) -> Scanned {
        self.roll_indent_here(
            TokenKind::BlockMappingStart,
            "mapping keys are not allowed in this context",
        )?;
        self.remove_simple_key()?;
        self.simple_key_allowed = self.flow_level == 0;
        self.take(TokenKind::Key);
        Ok(())
    }

    /// `yaml_parser_fetch_value`: a colon makes a key of what was started before it in this line.
    fn fetch_value(&mut self) -> Scanned {
        let index = self.simple_keys.len().saturating_sub(1);
        if self.simple_key_is_valid(index)? {
            let key = self.simple_keys.get(index).copied().unwrap_or_default();
            self.insert(key.token, TokenKind::Key, key.mark);
            self.roll_indent(key.mark.column, key.token, TokenKind::BlockMappingStart, key.mark);
            self.simple_keys
                .last_mut()
                .into_iter()
                .for_each(|key| key.possible = false);
            self.simple_keys_by_token.remove(&key.token);
            self.simple_key_allowed = false;
        } else {
            let problem = "mapping values are not allowed in this context";
            self.roll_indent_here(TokenKind::BlockMappingStart, problem)?;
            self.simple_key_allowed = self.flow_level == 0;
        }
        self.take(TokenKind::Value);
        Ok(())
    }

    fn fetch_anchor(&mut self) -> Scanned {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        self.scan_anchor()
    }

    fn fetch_tag(&mut self) -> Scanned {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        self.scan_tag()
    }

    fn fetch_block_scalar(&mut self, literal: bool) -> Scanned {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.scan_block_scalar(literal)
    }

    fn fetch_flow_scalar(&mut self, single: bool) -> Scanned {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        self.scan_flow_scalar(single)
    }

    fn fetch_plain_scalar(&mut self) -> Scanned {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        self.scan_plain_scalar()
    }

    /// `yaml_parser_scan_to_next_token`: over blanks, comments and line breaks. A tab may not indent a block.
    fn scan_to_next_token(&mut self) -> Scanned {
        loop {
            self.cursor.cache(1)?;
            if self.cursor.is_second_bom() {
                self.cursor.skip();
            }
            self.cursor.cache(1)?;
            let tab_allowed = self.flow_level > 0 || !self.simple_key_allowed;
            while self.cursor.is(b' ') || tab_allowed && self.cursor.is(b'\t') {
                self.cursor.skip();
                self.cursor.cache(1)?;
            }
            if self.cursor.is(b'#') {
                self.scan_comments()?;
            }
            if !self.cursor.is_break(0) {
                return Ok(());
            }
            self.cursor.cache(2)?;
            self.cursor.skip_line();
            if self.flow_level == 0 {
                self.simple_key_allowed = true;
            }
        }
    }

    /// `yaml_parser_scan_line_comment`: over the comment behind a token, if there is one in its line.
    fn scan_line_comment(&mut self) -> Scanned {
        if self.cursor.newlines > 0 {
            return Ok(());
        }
        for ahead in 0..MAX_COMMENT_GAP {
            self.cursor.cache(ahead + 1)?;
            if self.cursor.is_blank(ahead) {
                continue;
            }
            if self.cursor.at(ahead) == b'#' {
                self.cursor.skip_comment(ahead)?;
            }
            return Ok(());
        }
        Ok(())
    }

    /// `yaml_parser_scan_comments`: over a comment and those in the lines below it, which tabs may indent.
    fn scan_comments(&mut self) -> Scanned {
        let mut ahead = 0;
        while ahead < MAX_COMMENT_GAP {
            self.cursor.cache(ahead + 1)?;
            if self.cursor.at(ahead) == b'#' {
                self.cursor.skip_comment(ahead)?;
                ahead = 0;
            } else if !self.cursor.is_blank(ahead) && !self.cursor.is_break(ahead) {
                break;
            }
            ahead += 1;
        }
        Ok(())
    }
}
