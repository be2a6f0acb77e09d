//! What stands between tokens: blanks, line breaks and comments.

use super::{Scanned, Scanner};

/// How far Go looks for the next line of a comment.
const MAX_COMMENT_GAP: usize = 512;

impl Scanner<'_> {
    /// `yaml_parser_scan_to_next_token`: over blanks, comments and line breaks. A tab may not indent a block.
    pub(super) fn scan_to_next_token(&mut self) -> Scanned {
        loop {
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
    pub(super) fn scan_line_comment(&mut self) -> Scanned {
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
    pub(super) fn scan_comments(&mut self) -> Scanned {
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
