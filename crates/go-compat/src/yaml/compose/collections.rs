//! Lists and mappings, in lines and in brackets.

use super::{Children, Composed, Composer, Context, Id, Properties, RawKind};
use crate::yaml::scan::{Mark, TokenKind, parser_error};

impl<'t> Composer<'t> {
    /// `yaml_parser_parse_block_sequence_entry`.
    pub(super) fn block_sequence(&mut self, start: Mark) -> Composed<Children<'t>> {
        self.scanner.skip();
        let mut items = Vec::new();
        loop {
            if let Some(end) = self.accept(&TokenKind::BlockEntry)? {
                let is_next =
                    |next: &TokenKind<'_>| matches!(next, TokenKind::BlockEntry | TokenKind::BlockEnd);
                items.push(self.node_or_empty(end, Context::Block, is_next)?);
            } else if self.accept(&TokenKind::BlockEnd)?.is_some() {
                return Ok((RawKind::Sequence(items), None));
            } else {
                let (at, _) = self.place()?;
                return Err(parser_error(start, at, "did not find expected '-' indicator"));
            }
        }
    }

    /// `yaml_parser_parse_indentless_sequence_entry`.
    pub(super) fn indentless_sequence(&mut self, _start: Mark) -> Composed<Children<'t>> {
        let mut items = Vec::new();
        while let Some(end) = self.accept(&TokenKind::BlockEntry)? {
            let is_next = |next: &TokenKind<'_>| *next == TokenKind::BlockEntry || ends_block_node(next);
            items.push(self.node_or_empty(end, Context::Block, is_next)?);
        }
        Ok((RawKind::Sequence(items), None))
    }

    /// `yaml_parser_parse_block_mapping_key` and `yaml_parser_parse_block_mapping_value`.
    pub(super) fn block_mapping(&mut self, start: Mark) -> Composed<Children<'t>> {
        self.scanner.skip();
        let mut pairs = Vec::new();
        loop {
            if let Some(end) = self.accept(&TokenKind::Key)? {
                let key = self.node_or_empty(end, Context::BlockOrIndentless, ends_block_node)?;
                let value = match self.accept(&TokenKind::Value)? {
                    Some(end) => self.node_or_empty(end, Context::BlockOrIndentless, ends_block_node)?,
                    None => self.empty_scalar_here()?,
                };
                pairs.push((key, value));
            } else if self.accept(&TokenKind::BlockEnd)?.is_some() {
                return Ok((RawKind::Mapping(pairs), None));
            } else {
                let (at, _) = self.place()?;
                return Err(parser_error(start, at, "did not find expected key"));
            }
        }
    }

    fn empty_scalar_here(&mut self) -> Composed<Id> {
        let (start, _) = self.place()?;
        self.empty_scalar(start)
    }

    /// `yaml_parser_parse_flow_sequence_entry`.
    pub(super) fn flow_sequence(&mut self, start: Mark) -> Composed<Children<'t>> {
        self.scanner.skip();
        let mut items = Vec::new();
        loop {
            if let Some(end) = self.accept(&TokenKind::FlowSequenceEnd)? {
                return Ok((RawKind::Sequence(items), Some(end)));
            }
            if !items.is_empty() {
                if self.accept(&TokenKind::FlowEntry)?.is_none() {
                    let (at, _) = self.place()?;
                    return Err(parser_error(start, at, "did not find expected ',' or ']'"));
                }
                if let Some(end) = self.accept(&TokenKind::FlowSequenceEnd)? {
                    return Ok((RawKind::Sequence(items), Some(end)));
                }
            }
            let (start, _) = self.place()?;
            items.push(if *self.peek()? == TokenKind::Key {
                let properties = Properties { anchor: None, tag: None, start, end: start };
                let id = self.add(properties, RawKind::Mapping(Vec::new()), start)?;
                self.children(id, start, Self::single_pair)?
            } else {
                self.node(Context::Flow)?
            });
        }
    }

    /// `yaml_parser_parse_flow_sequence_entry_mapping_key` and the two behind it: `[key: value]`. Where there is no key, Go takes
    /// the next token out, whatever it is.
    fn single_pair(&mut self, _start: Mark) -> Composed<Children<'t>> {
        self.scanner.skip();
        let is_next = |next: &TokenKind<'_>| {
            matches!(next, TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowSequenceEnd)
        };
        let key = if is_next(self.peek()?) {
            let (_, end) = self.place()?;
            self.scanner.skip();
            self.empty_scalar(end)?
        } else {
            self.node(Context::Flow)?
        };
        let is_next =
            |next: &TokenKind<'_>| matches!(next, TokenKind::FlowEntry | TokenKind::FlowSequenceEnd);
        let value = match self.accept(&TokenKind::Value)? {
            Some(end) => self.node_or_empty(end, Context::Flow, is_next)?,
            None => self.empty_scalar_here()?,
        };
        Ok((RawKind::Mapping(vec![(key, value)]), None))
    }

    /// `yaml_parser_parse_flow_mapping_key` and `yaml_parser_parse_flow_mapping_value`.
    pub(super) fn flow_mapping(&mut self, start: Mark) -> Composed<Children<'t>> {
        self.scanner.skip();
        let mut pairs = Vec::new();
        loop {
            if let Some(end) = self.accept(&TokenKind::FlowMappingEnd)? {
                return Ok((RawKind::Mapping(pairs), Some(end)));
            }
            if !pairs.is_empty() {
                if self.accept(&TokenKind::FlowEntry)?.is_none() {
                    let (at, _) = self.place()?;
                    return Err(parser_error(start, at, "did not find expected ',' or '}'"));
                }
                if let Some(end) = self.accept(&TokenKind::FlowMappingEnd)? {
                    return Ok((RawKind::Mapping(pairs), Some(end)));
                }
            }
            pairs.push(self.flow_pair()?);
        }
    }

    fn flow_pair(&mut self) -> Composed<(Id, Id)> {
        let ends = |next: &TokenKind<'_>| matches!(next, TokenKind::FlowEntry | TokenKind::FlowMappingEnd);
        if self.accept(&TokenKind::Key)?.is_none() {
            let key = self.node(Context::Flow)?;
            return Ok((key, self.empty_scalar_here()?));
        }
        let key = self.peek()?;
        let no_key = *key == TokenKind::Value || ends(key);
        let key = if no_key { self.empty_scalar_here()? } else { self.node(Context::Flow)? };
        let no_value = self.accept(&TokenKind::Value)?.is_none() || ends(self.peek()?);
        let value = if no_value { self.empty_scalar_here()? } else { self.node(Context::Flow)? };
        Ok((key, value))
    }
}

/// Where a key or value of a block mapping, or an item of a list without indentation, is left out.
fn ends_block_node(next: &TokenKind<'_>) -> bool {
    matches!(next, TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd)
}
