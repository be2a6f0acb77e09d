//! Scalars in lines of their own, behind `|` or `>`.

use super::content::Content;
use super::{Mark, Scanned, Scanner, TokenKind};
use crate::yaml::Style;

/// What happens to the line breaks at the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    /// One stays.
    Clip,
    /// `-`: none stays.
    Strip,
    /// `+`: all stay.
    Keep,
}

impl Scanner<'_> {
    /// `yaml_parser_scan_block_scalar`. The token ends with its last line's text: the line breaks behind it count for the
    /// value, but are not what an error or an edit is about.
    pub(super) fn scan_block_scalar(&mut self, literal: bool) -> Scanned {
        let start = self.cursor.mark;
        let (chomping, increment) = self.scan_block_scalar_header(start)?;
        let mut end = self.cursor.mark;
        self.cursor.cache(2)?;
        self.cursor.skip_line();

        let mut indent = increment.map_or(0, |increment| self.inner.saturating_sub(1) + increment);
        let mut value = Content::default();
        let mut leading_break = String::new();
        let mut trailing_breaks = String::new();
        self.scan_block_scalar_breaks(&mut indent, &mut trailing_breaks, start)?;
        self.cursor.cache(1)?;
        let mut leading_blank = false;
        while self.cursor.mark.column == indent && !self.cursor.is_end() {
            let blank = self.cursor.is_blank(0);
            if !literal && !leading_blank && !blank && leading_break.starts_with('\n') {
                if trailing_breaks.is_empty() {
                    self.cursor.add(" ", &mut value);
                }
            } else {
                self.cursor.add(&leading_break, &mut value);
            }
            leading_break.clear();
            self.cursor.add(&trailing_breaks, &mut value);
            trailing_breaks.clear();
            leading_blank = blank;
            while !self.cursor.is_breakz(0) {
                self.cursor.read(&mut value);
                self.cursor.read_run(&mut value, |byte| byte.is_ascii_graphic());
                self.cursor.cache(1)?;
            }
            end = self.cursor.mark;
            self.cursor.cache(2)?;
            self.cursor.read_line(&mut leading_break);
            self.scan_block_scalar_breaks(&mut indent, &mut trailing_breaks, start)?;
        }
        if chomping != Chomping::Strip {
            self.cursor.add(&leading_break, &mut value);
        }
        if chomping == Chomping::Keep {
            self.cursor.add(&trailing_breaks, &mut value);
        }
        let style = if literal { Style::Literal } else { Style::Folded };
        let value = self.cursor.content(value);
        self.push(TokenKind::Scalar { value, style }, start);
        self.tokens.back_mut().into_iter().for_each(|token| token.end = end);
        Ok(())
    }

    /// The rest of the first line: chomping and indentation in either order, and a comment.
    fn scan_block_scalar_header(&mut self, start: Mark) -> Scanned<(Chomping, Option<usize>)> {
        self.cursor.skip();
        self.cursor.cache(1)?;
        let mut chomping = self.scan_chomping();
        self.cursor.cache(1)?;
        let increment = self.scan_increment(start)?;
        if chomping.is_none() && increment.is_some() {
            self.cursor.cache(1)?;
            chomping = self.scan_chomping();
        }
        self.cursor.skip_blanks()?;
        if self.cursor.is(b'#') {
            self.cursor.skip_to_line_end()?;
        }
        if !self.cursor.is_breakz(0) {
            return Err(self.error(start, "did not find expected comment or line break"));
        }
        Ok((chomping.unwrap_or(Chomping::Clip), increment))
    }

    fn scan_chomping(&mut self) -> Option<Chomping> {
        let chomping = match self.cursor.at(0) {
            b'+' => Chomping::Keep,
            b'-' => Chomping::Strip,
            _ => return None,
        };
        self.cursor.skip();
        Some(chomping)
    }

    fn scan_increment(&mut self, start: Mark) -> Scanned<Option<usize>> {
        let digit = self.cursor.at(0);
        if !digit.is_ascii_digit() {
            return Ok(None);
        }
        if digit == b'0' {
            return Err(self.error(start, "found an indentation indicator equal to 0"));
        }
        self.cursor.skip();
        Ok(Some(usize::from(digit - b'0')))
    }

    /// `yaml_parser_scan_block_scalar_breaks`: over indentation and empty lines. An `indent` of zero is still to be found out.
    fn scan_block_scalar_breaks(&mut self, indent: &mut usize, breaks: &mut String, start: Mark) -> Scanned {
        let mut widest = 0;
        loop {
            self.cursor.cache(1)?;
            while (*indent == 0 || self.cursor.mark.column < *indent) && self.cursor.is(b' ') {
                self.cursor.skip();
                self.cursor.cache(1)?;
            }
            widest = widest.max(self.cursor.mark.column);
            if (*indent == 0 || self.cursor.mark.column < *indent) && self.cursor.is(b'\t') {
                let problem = "found a tab character where an indentation space is expected";
                return Err(self.error(start, problem));
            }
            if !self.cursor.is_break(0) {
                break;
            }
            self.cursor.cache(2)?;
            self.cursor.read_line(breaks);
        }
        if *indent == 0 {
            *indent = widest.max(self.inner).max(1);
        }
        Ok(())
    }
}
