//! The filter of the search, with a gap for the user's name.
//!
//! `YuniKorn` writes the name into the text with Go's `fmt.Sprintf`, and its LDAP client reads the result.
//! Here the text is read first, and the name is only put where a value is. What this reader takes (RFC 4515),
//! `YuniKorn`'s client reads in the same way.

use super::ber::{OCTETS, SEQUENCE, constructed, element};
use go_compat::diag::{Span, quoted};

/// The deepest nesting of filters.
const MAX_DEPTH: usize = 20;

/// A filter, as the element that is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Filter {
    /// An element with others inside.
    Branch(u8, Vec<Filter>),
    /// An element with a text.
    Leaf(u8, Value),
}

/// A text with gaps for the name.
type Value = Vec<Piece>;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The user's name.
    Name,
}

/// The reason why a text is no filter, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    /// The reason.
    pub(super) message: String,
    /// The remedy.
    pub(super) help: &'static str,
    /// The location in the text.
    pub(super) span: Span,
}

impl Filter {
    /// Reads the text of the setting.
    pub(super) fn parse(text: &str) -> Result<Self, Wrong> {
        let tokens = formatted(text)?;
        if !tokens.iter().any(|token| token.symbol == Symbol::Name) {
            return Err(wrong("the filter has no `%s`", NAME_WANTED, Span::new(0, text.len())));
        }
        let mut reader = Reader { tokens: &tokens, end: text.len() };
        let filter = reader.filter(0)?;
        match reader.tokens.first() {
            None => Ok(filter),
            Some(token) => Err(wrong("the filter has ended before this", FILTER_WANTED, token.span)),
        }
    }

    /// Encodes it for a user.
    pub(super) fn encode(&self, user: &str) -> Vec<u8> {
        match self {
            Self::Branch(tag, inner) => constructed(*tag, inner.iter().map(|inner| inner.encode(user))),
            Self::Leaf(tag, value) => {
                let bytes = value.iter().flat_map(|piece| match piece {
                    Piece::Bytes(bytes) => bytes.as_slice(),
                    Piece::Name => user.as_bytes(),
                });
                element(*tag, &bytes.copied().collect::<Vec<_>>())
            }
        }
    }
}

const NAME_WANTED: &str = "write `%s` where the user's name belongs, as in `(uid=%s)`";
const FILTER_WANTED: &str = "write a filter in parentheses, as in `(&(objectClass=person)(uid=%s))`";

fn wrong(message: impl Into<String>, help: &'static str, span: Span) -> Wrong {
    Wrong { message: message.into(), help, span }
}

/// A character after formatting, or the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Symbol {
    Char(char),
    Name,
}

#[derive(Debug, Clone, Copy)]
struct Token {
    symbol: Symbol,
    span: Span,
}

/// Reads the text as Go's `fmt.Sprintf` does with one argument.
fn formatted(text: &str) -> Result<Vec<Token>, Wrong> {
    let mut tokens = Vec::new();
    let mut named = false;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (symbol, width) = if first != '%' {
            (Symbol::Char(first), first.len_utf8())
        } else if rest.starts_with("%%") {
            (Symbol::Char('%'), 2)
        } else if rest.starts_with("%[1]s") {
            (Symbol::Name, 5)
        } else if rest.starts_with("%s") {
            (Symbol::Name, 2)
        } else {
            let verb: String = rest.chars().take(2).collect();
            let at = text.len().saturating_sub(rest.len());
            return Err(wrong(
                format!("the filter has {}, which Go formats as another text", quoted(&verb)),
                "write `%s` for the user's name, and `%%` for a percent sign",
                Span::new(at, at.saturating_add(verb.len())),
            ));
        };
        let at = text.len().saturating_sub(rest.len());
        let span = Span::new(at, at.saturating_add(width));
        if named && width == 2 && symbol == Symbol::Name {
            return Err(wrong(
                "the filter has a second `%s`, and YuniKorn has one name for it: its search fails",
                "write `%[1]s` for the name from the second time on",
                span,
            ));
        }
        named |= symbol == Symbol::Name;
        tokens.push(Token { symbol, span });
        rest = rest.get(width..).unwrap_or_default();
    }
    Ok(tokens)
}

struct Reader<'a> {
    tokens: &'a [Token],
    /// The end of the text, for a filter that ends too early.
    end: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<Symbol> {
        self.tokens.first().map(|token| token.symbol)
    }

    fn span(&self) -> Span {
        self.tokens.first().map_or(Span::new(self.end, self.end), |token| token.span)
    }

    fn skip(&mut self) {
        self.tokens = self.tokens.get(1..).unwrap_or_default();
    }

    /// Takes this text, if it comes next.
    fn takes(&mut self, text: &str) -> bool {
        let found = text.chars().count() <= self.tokens.len()
            && self.tokens.iter().zip(text.chars()).all(|(token, c)| token.symbol == Symbol::Char(c));
        if found {
            self.tokens = self.tokens.get(text.chars().count()..).unwrap_or_default();
        }
        found
    }

    fn expect(&mut self, text: &'static str) -> Result<(), Wrong> {
        let span = self.span();
        if self.takes(text) {
            return Ok(());
        }
        Err(wrong(format!("a `{text}` is missing in the filter"), FILTER_WANTED, span))
    }

    fn filter(&mut self, depth: usize) -> Result<Filter, Wrong> {
        if depth > MAX_DEPTH {
            let message = format!("the filter is nested more than {MAX_DEPTH} times");
            return Err(wrong(message, "write a simpler filter", self.span()));
        }
        self.expect("(")?;
        let filter = if self.takes("&") {
            Filter::Branch(0xa0, self.list(depth)?)
        } else if self.takes("|") {
            Filter::Branch(0xa1, self.list(depth)?)
        } else if self.takes("!") {
            Filter::Branch(0xa2, vec![self.filter(depth.saturating_add(1))?])
        } else if self.peek() == Some(Symbol::Char('(')) {
            self.filter(depth.saturating_add(1))?
        } else {
            self.item()?
        };
        self.expect(")")?;
        Ok(filter)
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Filter>, Wrong> {
        let mut filters = Vec::new();
        while self.peek() == Some(Symbol::Char('(')) {
            filters.push(self.filter(depth.saturating_add(1))?);
        }
        Ok(filters)
    }

    fn item(&mut self) -> Result<Filter, Wrong> {
        let at = self.span();
        let attribute = self.word();
        if self.peek() == Some(Symbol::Char(':')) {
            return self.matching(&attribute);
        }
        if attribute.is_empty() {
            return Err(wrong("the filter names no attribute here", FILTER_WANTED, at));
        }
        for (operator, tag) in [(">=", 0xa5), ("<=", 0xa6), ("~=", 0xa8)] {
            if self.takes(operator) {
                return Ok(Filter::Branch(
                    tag,
                    vec![leaf(OCTETS, &attribute), Filter::Leaf(OCTETS, self.value()?)],
                ));
            }
        }
        self.expect("=")?;
        let mut parts = vec![self.part()?];
        while self.takes("*") {
            parts.push(self.part()?);
        }
        Ok(equality(&attribute, parts))
    }

    /// An extensible match, behind the attribute, if it names one.
    fn matching(&mut self, attribute: &str) -> Result<Filter, Wrong> {
        let by_name = self.takes(":dn");
        let rule = if self.takes(":=") {
            String::new()
        } else {
            self.expect(":")?;
            let rule = self.word();
            self.expect(":=")?;
            rule
        };
        let named = [(0x81, rule.as_str()), (0x82, attribute)];
        let named = named.into_iter().filter(|(_, text)| !text.is_empty());
        let mut inner: Vec<Filter> = named.map(|(tag, text)| leaf(tag, text)).collect();
        if inner.is_empty() {
            return Err(wrong(
                "the filter names neither attribute nor rule here",
                FILTER_WANTED,
                self.span(),
            ));
        }
        inner.push(Filter::Leaf(0x83, self.value()?));
        if by_name {
            inner.push(Filter::Leaf(0x84, vec![Piece::Bytes(vec![0xff])]));
        }
        Ok(Filter::Branch(0xa9, inner))
    }

    /// The name of an attribute or a rule, with its options.
    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(Symbol::Char(c)) = self.peek()
            && (c.is_ascii_alphanumeric() || "-_.;".contains(c))
        {
            word.push(c);
            self.skip();
        }
        word
    }

    /// The value of a comparison, in which an asterisk is one.
    fn value(&mut self) -> Result<Value, Wrong> {
        let mut value = self.part()?;
        while self.takes("*") {
            value.push(Piece::Bytes(b"*".to_vec()));
            value.extend(self.part()?);
        }
        Ok(value)
    }

    /// A value up to its end or an asterisk.
    fn part(&mut self) -> Result<Value, Wrong> {
        let mut pieces: Value = Vec::new();
        let mut bytes = Vec::new();
        loop {
            let span = self.span();
            match self.peek() {
                None | Some(Symbol::Char(')' | '*')) => break,
                Some(Symbol::Name) => {
                    pieces.push(Piece::Bytes(std::mem::take(&mut bytes)));
                    pieces.push(Piece::Name);
                    self.skip();
                }
                Some(Symbol::Char('\\')) => {
                    self.skip();
                    bytes.push(self.escaped().ok_or_else(|| {
                        let help = "write two hexadecimal digits behind it, as in `\\2a` for an asterisk";
                        wrong("a backslash in the filter is no escape", help, span)
                    })?);
                }
                Some(Symbol::Char(c @ ('(' | char::REPLACEMENT_CHARACTER))) => {
                    let message = format!("a value in the filter has {}", quoted(&c.to_string()));
                    return Err(wrong(message, "write `\\28` for a parenthesis", span));
                }
                Some(Symbol::Char(c)) => {
                    bytes.extend(c.encode_utf8(&mut [0; 4]).bytes());
                    self.skip();
                }
            }
        }
        pieces.push(Piece::Bytes(bytes));
        pieces.retain(|piece| *piece != Piece::Bytes(Vec::new()));
        Ok(pieces)
    }

    /// The byte of two hexadecimal digits.
    fn escaped(&mut self) -> Option<u8> {
        let [high, low, ..] = self.tokens else { return None };
        let digit = |token: &Token| match token.symbol {
            Symbol::Char(c) => c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()),
            Symbol::Name => None,
        };
        let byte = (digit(high)? << 4) | digit(low)?;
        self.skip();
        self.skip();
        Some(byte)
    }
}

fn leaf(tag: u8, text: &str) -> Filter {
    Filter::Leaf(tag, vec![Piece::Bytes(text.as_bytes().to_vec())])
}

/// An equality, a test of presence, or a match of the parts between asterisks.
fn equality(attribute: &str, parts: Vec<Value>) -> Filter {
    let last = parts.len().saturating_sub(1);
    if last == 0 {
        let value = parts.into_iter().next().unwrap_or_default();
        return Filter::Branch(0xa3, vec![leaf(OCTETS, attribute), Filter::Leaf(OCTETS, value)]);
    }
    if last == 1 && parts.iter().all(Vec::is_empty) {
        return leaf(0x87, attribute);
    }
    let parts = parts.into_iter().enumerate().filter(|(_, part)| !part.is_empty());
    let parts = parts.map(|(at, part)| {
        let tag = if at == 0 {
            0x80
        } else if at == last {
            0x82
        } else {
            0x81
        };
        Filter::Leaf(tag, part)
    });
    Filter::Branch(0xa4, vec![leaf(OCTETS, attribute), Filter::Branch(SEQUENCE, parts.collect())])
}

#[cfg(test)]
mod tests {
    use super::super::ber::Elements;
    use super::*;
    use proptest::prelude::*;

    /// Writes what is sent as text: the tag in hexadecimal digits, and what is inside.
    fn shown(filter: &Filter, user: &str) -> String {
        match filter {
            Filter::Branch(tag, inner) => {
                let inner: Vec<String> = inner.iter().map(|inner| shown(inner, user)).collect();
                format!("{tag:x}[{}]", inner.join(" "))
            }
            Filter::Leaf(tag, value) => {
                let bytes = value.iter().flat_map(|piece| match piece {
                    Piece::Bytes(bytes) => bytes.clone(),
                    Piece::Name => user.as_bytes().to_vec(),
                });
                format!("{tag:x}:{}", bytes.collect::<Vec<_>>().escape_ascii())
            }
        }
    }

    #[test]
    fn filters_are_read_with_the_name_as_a_value() {
        for (text, expected) in [
            ("(uid=%s)", "a3[4:uid 4:sue]"),
            ("(&(sAMAccountName=%s))", "a0[a3[4:sAMAccountName 4:sue]]"),
            (
                "(&(objectClass=person)(|(uid=%s)(mail=%[1]s@example.org)))",
                "a0[a3[4:objectClass 4:person] a1[a3[4:uid 4:sue] a3[4:mail 4:sue@example.org]]]",
            ),
            ("(&(uid=%s)(!(memberOf=*)))", "a0[a3[4:uid 4:sue] a2[87:memberOf]]"),
            ("(((uid=%s)))", "a3[4:uid 4:sue]"),
            ("(uid=a*%s*b*)", "a4[4:uid 30[80:a 81:sue 81:b]]"),
            ("(uid=*%s)", "a4[4:uid 30[82:sue]]"),
            ("(&(n>=1)(n<=9)(n~=x)(uid=%s))", "a0[a5[4:n 4:1] a6[4:n 4:9] a8[4:n 4:x] a3[4:uid 4:sue]]"),
            ("(|(n>=*%s*)(uid:=a*%[1]s))", "a1[a5[4:n 4:*sue*] a9[82:uid 83:a*sue]]"),
            ("(uid:=%s)", "a9[82:uid 83:sue]"),
            ("(uid:dn:=%s)", "a9[82:uid 83:sue 84:\\xff]"),
            ("(uid:dn:2.4.6:=%s)", "a9[81:2.4.6 82:uid 83:sue 84:\\xff]"),
            ("(:caseExactMatch:=%s)", "a9[81:caseExactMatch 83:sue]"),
            ("(cn;lang-en=\\28%s\\29 100%%)", "a3[4:cn;lang-en 4:(sue) 100%]"),
            ("(&(uid=%s)(x=)(&))", "a0[a3[4:uid 4:sue] a3[4:x 4:] a0[]]"),
        ] {
            let filter = Filter::parse(text).unwrap();
            assert_eq!(shown(&filter, "sue"), expected, "{text}");
        }
    }

    #[test]
    fn texts_that_are_no_filter_are_refused_where_they_are_wrong() {
        for (text, at, reason) in [
            ("(uid=sue)", 0, "no `%s`"),
            ("(uid=%%s)", 0, "no `%s`"),
            ("uid=%s", 0, "a `(` is missing"),
            ("(uid=%s", 7, "a `)` is missing"),
            ("(uid=%s))", 8, "has ended before this"),
            ("(|(uid=%s)(mail=%s))", 16, "second `%s`"),
            ("(&(uid=%[1]s)(mail=%s))", 19, "second `%s`"),
            ("(uid=%v%s)", 5, "`%v`"),
            ("(uid=%s%)", 7, "`%)`"),
            ("(%s=x)", 1, "names no attribute"),
            ("(=%s)", 1, "names no attribute"),
            ("(&(uid=%s) (x=y))", 10, "a `)` is missing"),
            ("(uid%s=x)", 4, "a `=` is missing"),
            ("(uid=%s\\)", 7, "no escape"),
            ("(uid=\\2%s)", 5, "no escape"),
            ("(uid=a(b%s)", 6, "has `(`"),
            ("(::=%s)", 4, "neither attribute nor rule"),
            ("(uid:x=%s)", 6, "a `:=` is missing"),
            ("(:=%s)", 3, "neither attribute nor rule"),
        ] {
            let wrong = Filter::parse(text).unwrap_err();
            assert!(wrong.message.contains(reason), "{text}: {}", wrong.message);
            assert_eq!(wrong.span.start, at, "{text}: {}", wrong.message);
        }
        let deep = format!("{}(uid=%s){}", "(!".repeat(30), ")".repeat(30));
        assert!(Filter::parse(&deep).unwrap_err().message.contains("nested"));
    }

    /// Replaces the name by a mark of the same kind, so that only the structure is compared.
    fn structure(bytes: &[u8], depth: usize) -> String {
        let mut elements = Elements(bytes);
        let tags = std::iter::from_fn(|| elements.any()).map(|(tag, content)| {
            let inner =
                if tag & 0x20 != 0 && depth < 40 { structure(content, depth + 1) } else { String::new() };
            format!("{tag:x}[{inner}]")
        });
        tags.collect()
    }

    proptest! {
        #[test]
        fn no_name_changes_the_structure(name in r"\PC{0,12}|[()*\\&|!=a]{0,12}") {
            for text in ["(uid=%s)", "(&(uid=%s)(!(x=*a%[1]s*)))", "(|(uid:dn:1.2:=%s)(n>=%[1]s))"] {
                let filter = Filter::parse(text).unwrap();
                prop_assert_eq!(structure(&filter.encode(&name), 0), structure(&filter.encode("sue"), 0));
            }
        }

        #[test]
        fn every_text_is_a_filter_or_refused(text in r"[()&|!*\\:=<>~%s\[\]1a2 ]{0,24}") {
            match Filter::parse(&text) {
                Ok(filter) => prop_assert!(!filter.encode("sue").is_empty()),
                Err(wrong) => prop_assert!(wrong.span.end <= text.len()),
            }
        }
    }
}
