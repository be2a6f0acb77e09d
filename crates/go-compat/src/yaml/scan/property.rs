//! Directives, anchors, aliases and tags.

use super::{Mark, Scanned, Scanner, TokenKind};

/// `scannerc.go`, `max_number_length`.
const MAX_VERSION_DIGITS: usize = 2;

impl<'t> Scanner<'t> {
    /// `yaml_parser_scan_directive`: `%YAML 1.1` or `%TAG !yaml! tag:yaml.org,2002:`.
    pub(super) fn scan_directive(&mut self) -> Scanned {
        let start = self.cursor.mark;
        self.cursor.skip();
        let kind = match self.scan_directive_name(start)? {
            "YAML" => {
                self.cursor.skip_blanks()?;
                let major = self.scan_version_number(start)?;
                if !self.cursor.is(b'.') {
                    return Err(self.error(start, "did not find expected digit or '.' character"));
                }
                self.cursor.skip();
                TokenKind::VersionDirective { major, minor: self.scan_version_number(start)? }
            }
            "TAG" => self.scan_tag_directive(start)?,
            _ => return Err(self.error(start, "found unknown directive name")),
        };
        self.push(kind, start);
        self.cursor.skip_blanks()?;
        if self.cursor.is(b'#') {
            self.cursor.skip_to_line_end()?;
        }
        if !self.cursor.is_breakz(0) {
            return Err(self.error(start, "did not find expected comment or line break"));
        }
        self.cursor.cache(2)?;
        self.cursor.skip_line();
        Ok(())
    }

    fn scan_alpha(&mut self) -> Scanned<&'t str> {
        let start = self.cursor.mark.index;
        self.cursor.cache(1)?;
        while self.cursor.is_alpha() {
            self.cursor.skip();
            self.cursor.cache(1)?;
        }
        Ok(self.cursor.between(start, self.cursor.mark.index))
    }

    fn scan_directive_name(&mut self, start: Mark) -> Scanned<&'t str> {
        let name = self.scan_alpha()?;
        if name.is_empty() {
            return Err(self.error(start, "could not find expected directive name"));
        }
        if !self.cursor.is_blankz(0) {
            return Err(self.error(start, "found unexpected non-alphabetical character"));
        }
        Ok(name)
    }

    fn scan_version_number(&mut self, start: Mark) -> Scanned<u8> {
        self.cursor.cache(1)?;
        let (mut value, mut length) = (0_u8, 0);
        while self.cursor.at(0).is_ascii_digit() {
            length += 1;
            if length > MAX_VERSION_DIGITS {
                return Err(self.error(start, "found extremely long version number"));
            }
            value = value * 10 + (self.cursor.at(0) - b'0');
            self.cursor.skip();
            self.cursor.cache(1)?;
        }
        if length == 0 {
            return Err(self.error(start, "did not find expected version number"));
        }
        Ok(value)
    }

    fn scan_tag_directive(&mut self, start: Mark) -> Scanned<TokenKind<'t>> {
        self.cursor.skip_blanks()?;
        let handle = self.scan_tag_handle(true, start)?;
        self.cursor.cache(1)?;
        if !self.cursor.is_blank(0) {
            return Err(self.error(start, "did not find expected whitespace"));
        }
        self.cursor.skip_blanks()?;
        let prefix = self.scan_tag_uri("", start)?;
        self.cursor.cache(1)?;
        if !self.cursor.is_blankz(0) {
            return Err(self.error(start, "did not find expected whitespace or line break"));
        }
        Ok(TokenKind::TagDirective { handle, prefix })
    }

    /// `yaml_parser_scan_anchor`: `&name` or `*name`.
    pub(super) fn scan_anchor(&mut self) -> Scanned {
        let start = self.cursor.mark;
        let alias = self.cursor.is(b'*');
        self.cursor.skip();
        let name = self.scan_alpha()?.to_owned();
        let ends = matches!(self.cursor.at(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if name.is_empty() || !(ends || self.cursor.is_blankz(0)) {
            let problem = self.error(start, "did not find expected alphabetic or numeric character");
            let help = if alias {
                "a bare `*` begins an alias: for a value that begins with it, quote it: `\"*\"`"
            } else {
                "a bare `&` begins an anchor: for a value that begins with it, quote it"
            };
            return Err(problem.help(help));
        }
        self.push(if alias { TokenKind::Alias(name) } else { TokenKind::Anchor(name) }, start);
        Ok(())
    }

    /// `yaml_parser_scan_tag`: `!<uri>`, `!handle!suffix`, `!suffix` or `!`.
    pub(super) fn scan_tag(&mut self) -> Scanned {
        let start = self.cursor.mark;
        self.cursor.cache(2)?;
        let (handle, suffix) = if self.cursor.at(1) == b'<' {
            self.scan_verbatim_tag(start)?
        } else {
            self.scan_shorthand_tag(start)?
        };
        self.cursor.cache(1)?;
        if !self.cursor.is_blankz(0) {
            return Err(self.error(start, "did not find expected whitespace or line break"));
        }
        self.push(TokenKind::Tag { handle, suffix }, start);
        Ok(())
    }

    fn scan_verbatim_tag(&mut self, start: Mark) -> Scanned<(String, String)> {
        self.cursor.skip();
        self.cursor.skip();
        let suffix = self.scan_tag_uri("", start)?;
        if !self.cursor.is(b'>') {
            return Err(self.error(start, "did not find the expected '>'"));
        }
        self.cursor.skip();
        Ok((String::new(), suffix))
    }

    fn scan_shorthand_tag(&mut self, start: Mark) -> Scanned<(String, String)> {
        let handle = self.scan_tag_handle(false, start)?;
        if handle.len() > 1 && handle.ends_with('!') {
            let suffix = self.scan_tag_uri("", start)?;
            return Ok((handle, suffix));
        }
        let suffix = self.scan_tag_uri(&handle, start)?;
        // The tag `!` alone has no handle.
        Ok(if suffix.is_empty() { (String::new(), "!".to_owned()) } else { ("!".to_owned(), suffix) })
    }

    fn scan_tag_handle(&mut self, directive: bool, start: Mark) -> Scanned<String> {
        self.cursor.cache(1)?;
        if !self.cursor.is(b'!') {
            return Err(self.error(start, "did not find expected '!'"));
        }
        let from = self.cursor.mark.index;
        self.cursor.skip();
        let name = self.scan_alpha()?;
        if self.cursor.is(b'!') {
            self.cursor.skip();
        } else if directive && !name.is_empty() {
            return Err(self.error(start, "did not find expected '!'"));
        }
        Ok(self.cursor.between(from, self.cursor.mark.index).to_owned())
    }

    /// `yaml_parser_scan_tag_uri`. What was taken for a handle is the head of the URI, without its `!`.
    fn scan_tag_uri(&mut self, head: &str, start: Mark) -> Scanned<String> {
        let mut uri = head.strip_prefix('!').unwrap_or(head).as_bytes().to_vec();
        let mut found = !head.is_empty();
        self.cursor.cache(1)?;
        while self.cursor.is_alpha() || b";/?:@&=+$,.!~*'()[]%".contains(&self.cursor.at(0)) {
            if self.cursor.is(b'%') {
                self.scan_uri_escape(&mut uri, start)?;
            } else {
                uri.push(self.cursor.at(0));
                self.cursor.skip();
            }
            self.cursor.cache(1)?;
            found = true;
        }
        if !found {
            return Err(self.error(start, "did not find expected tag URI"));
        }
        Ok(String::from_utf8_lossy(&uri).into_owned())
    }

    /// `yaml_parser_scan_uri_escapes`: one character of UTF-8 as `%C3%A9`.
    fn scan_uri_escape(&mut self, uri: &mut Vec<u8>, start: Mark) -> Scanned {
        let mut left = self.scan_uri_octet(uri, start, |octet| match octet {
            0x00..=0x7F => Ok(0),
            0xC0..=0xDF => Ok(1),
            0xE0..=0xEF => Ok(2),
            0xF0..=0xF7 => Ok(3),
            _ => Err("found an incorrect leading UTF-8 octet"),
        })?;
        while left > 0 {
            left -= self.scan_uri_octet(uri, start, |octet| match octet {
                0x80..=0xBF => Ok(1),
                _ => Err("found an incorrect trailing UTF-8 octet"),
            })?;
        }
        Ok(())
    }

    fn scan_uri_octet(
        &mut self,
        uri: &mut Vec<u8>,
        start: Mark,
        check: impl Fn(u8) -> Result<usize, &'static str>,
    ) -> Scanned<usize> {
        self.cursor.cache(3)?;
        let digits = [self.cursor.at(1), self.cursor.at(2)].map(|digit| char::from(digit).to_digit(16));
        let (b'%', [Some(high), Some(low)]) = (self.cursor.at(0), digits) else {
            return Err(self.error(start, "did not find URI escaped octet"));
        };
        let octet = u8::try_from(high * 16 + low).unwrap_or(u8::MAX);
        let checked = check(octet).map_err(|problem| self.error(start, problem))?;
        uri.push(octet);
        for _ in 0..3 {
            self.cursor.skip();
        }
        Ok(checked)
    }
}
