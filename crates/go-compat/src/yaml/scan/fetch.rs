//! One function for each kind of token: whether it may stand here, and what it means for keys and blocks.

use super::{Scanned, Scanner, SimpleKey, TokenKind};

impl<'t> Scanner<'t> {
    pub(super) fn fetch_stream_start(&mut self) {
        self.simple_keys.push(SimpleKey::default());
        self.simple_key_allowed = true;
        self.started = true;
        self.push(TokenKind::StreamStart, self.cursor.mark);
    }

    pub(super) fn fetch_stream_end(&mut self) -> Scanned {
        if self.cursor.mark.column != 0 {
            self.cursor.mark.column = 0;
            self.cursor.mark.line += 1;
        }
        self.unroll_indent(0, self.cursor.mark);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        self.push(TokenKind::StreamEnd, self.cursor.mark);
        Ok(())
    }

    pub(super) fn fetch_directive(&mut self) -> Scanned {
        self.unroll_indent(0, self.cursor.mark);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        self.scan_directive()
    }

    pub(super) fn fetch_document_indicator(&mut self, kind: TokenKind<'t>) -> Scanned {
        self.unroll_indent(0, self.cursor.mark);
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
    fn take(&mut self, kind: TokenKind<'t>) {
        let start = self.cursor.mark;
        self.cursor.skip();
        self.push(kind, start);
    }

    pub(super) fn fetch_flow_collection_start(&mut self, kind: TokenKind<'t>) -> Scanned {
        self.save_simple_key()?;
        let (token, mark) = (self.next_number(), self.cursor.mark);
        self.simple_keys.push(SimpleKey { token, mark, ..SimpleKey::default() });
        self.flow_level += 1;
        self.simple_key_allowed = true;
        self.take(kind);
        Ok(())
    }

    pub(super) fn fetch_flow_collection_end(&mut self, kind: TokenKind<'t>) -> Scanned {
        self.remove_simple_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            if let Some(key) = self.simple_keys.pop() {
                self.forget_key_of(key.token);
            }
        }
        self.simple_key_allowed = false;
        self.take(kind);
        Ok(())
    }

    pub(super) fn fetch_flow_entry(&mut self) -> Scanned {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.take(TokenKind::FlowEntry);
        Ok(())
    }

    /// In a block, starts one at the cursor unless it runs already. `problem` is the error where none may start.
    fn roll_indent_here(&mut self, kind: TokenKind<'t>, problem: &str) -> Scanned {
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return Err(self.error(self.cursor.mark, problem));
            }
            let mark = self.cursor.mark;
            self.roll_indent(mark.column, self.next_number(), kind, mark);
        }
        Ok(())
    }

    pub(super) fn fetch_block_entry(&mut self) -> Scanned {
        let problem = "block sequence entries are not allowed in this context";
        self.roll_indent_here(TokenKind::BlockSequenceStart, problem)?;
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.take(TokenKind::BlockEntry);
        Ok(())
    }

    pub(super) fn fetch_key(&mut self) -> Scanned {
        self.roll_indent_here(TokenKind::BlockMappingStart, "mapping keys are not allowed in this context")?;
        self.remove_simple_key()?;
        self.simple_key_allowed = self.flow_level == 0;
        self.take(TokenKind::Key);
        Ok(())
    }

    /// `yaml_parser_fetch_value`: a colon makes a key of what was started before it in this line.
    pub(super) fn fetch_value(&mut self) -> Scanned {
        let index = self.simple_keys.len().saturating_sub(1);
        if self.simple_key_is_valid(index)? {
            let key = self.simple_keys.get(index).copied().unwrap_or_default();
            self.insert(key.token, TokenKind::Key, key.mark);
            self.roll_indent(key.mark.column, key.token, TokenKind::BlockMappingStart, key.mark);
            self.simple_keys.last_mut().into_iter().for_each(|key| key.possible = false);
            self.forget_key_of(key.token);
            self.simple_key_allowed = false;
        } else {
            let problem = "mapping values are not allowed in this context";
            self.roll_indent_here(TokenKind::BlockMappingStart, problem)?;
            self.simple_key_allowed = self.flow_level == 0;
        }
        self.take(TokenKind::Value);
        Ok(())
    }

    pub(super) fn fetch_anchor(&mut self) -> Scanned {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        self.scan_anchor()
    }

    pub(super) fn fetch_tag(&mut self) -> Scanned {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        self.scan_tag()
    }

    pub(super) fn fetch_block_scalar(&mut self, literal: bool) -> Scanned {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.scan_block_scalar(literal)
    }

    pub(super) fn fetch_flow_scalar(&mut self, single: bool) -> Scanned {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        self.scan_flow_scalar(single)
    }

    pub(super) fn fetch_plain_scalar(&mut self) -> Scanned {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        self.scan_plain_scalar()
    }
}
