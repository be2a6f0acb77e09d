//! What a valid text consists of, in order.

use super::Error;
use super::scan::check;

/// A piece of JSON. A key is the [`Token::Text`] before its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// `{`
    BeginObject,
    /// `}`
    EndObject,
    /// `[`
    BeginArray,
    /// `]`
    EndArray,
    /// A string or a key, without its quotes and escapes; lone surrogates are U+FFFD, as in Go.
    Text(String),
    /// A number.
    Number,
    /// `true` or `false`.
    Bool,
    /// `null`
    Null,
}

impl Token {
    /// What Go's messages call the value that begins so.
    pub fn name(&self) -> &'static str {
        match self {
            Self::BeginObject | Self::EndObject => "object",
            Self::BeginArray | Self::EndArray => "array",
            Self::Text(_) => "string",
            Self::Number => "number",
            Self::Bool => "bool",
            Self::Null => "null",
        }
    }
}

/// The tokens of a valid text.
#[derive(Debug, Clone)]
pub struct Tokens<'t> {
    rest: &'t str,
}

impl<'t> Tokens<'t> {
    /// The tokens of a text.
    ///
    /// # Errors
    /// When the text as a whole is not JSON, with Go's message.
    pub fn of(text: &'t str) -> Result<Self, Error> {
        check(text)?;
        Ok(Self { rest: text })
    }

    /// Goes behind the value that `first`, which has been taken, is or begins.
    pub fn skip_value(&mut self, first: &Token) {
        let mut depth = depth_of(first);
        while depth > 0 {
            let Some(token) = self.next() else { return };
            depth += depth_of(&token);
        }
    }

    /// Takes what stands before the next byte that `ends` likes.
    fn take(&mut self, ends: impl Fn(char) -> bool) -> &'t str {
        let at = self.rest.find(ends).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at_checked(at).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// The string whose first quote has been taken.
    fn string(&mut self) -> String {
        let mut text = String::new();
        loop {
            text.push_str(self.take(|c| c == '"' || c == '\\'));
            let mut chars = self.rest.chars();
            let is_escape = chars.next() == Some('\\');
            self.rest = chars.as_str();
            if !is_escape {
                return text;
            }
            text.push(self.escaped());
        }
    }

    /// The character whose backslash has been taken.
    fn escaped(&mut self) -> char {
        let mut chars = self.rest.chars();
        let letter = chars.next().unwrap_or('\\');
        self.rest = chars.as_str();
        match letter {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => self.unit_or_pair(),
            other => other,
        }
    }

    /// The character of `\u` and four digits, or of two of these that are a pair.
    fn unit_or_pair(&mut self) -> char {
        let (first, rest) = unit(self.rest);
        self.rest = rest;
        let second = self.rest.strip_prefix("\\u").map(unit);
        let units = [Some(first), second.map(|(second, _)| second)];
        match char::decode_utf16(units.into_iter().flatten()).next() {
            Some(Ok(c)) => {
                if let (true, Some((_, rest))) = (c.len_utf16() == 2, second) {
                    self.rest = rest;
                }
                c
            }
            _ => char::REPLACEMENT_CHARACTER,
        }
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        self.take(|c| !matches!(c, ' ' | '\t' | '\r' | '\n' | ',' | ':'));
        let mut chars = self.rest.chars();
        let first = chars.next()?;
        self.rest = chars.as_str();
        Some(match first {
            '{' => Token::BeginObject,
            '}' => Token::EndObject,
            '[' => Token::BeginArray,
            ']' => Token::EndArray,
            '"' => Token::Text(self.string()),
            letter => {
                self.take(|c| matches!(c, ' ' | '\t' | '\r' | '\n' | ',' | '}' | ']'));
                match letter {
                    't' | 'f' => Token::Bool,
                    'n' => Token::Null,
                    _ => Token::Number,
                }
            }
        })
    }
}

fn depth_of(token: &Token) -> isize {
    match token {
        Token::BeginObject | Token::BeginArray => 1,
        Token::EndObject | Token::EndArray => -1,
        _ => 0,
    }
}

/// Four hexadecimal digits, and what stands behind them.
fn unit(text: &str) -> (u16, &str) {
    let (digits, rest) = text.split_at_checked(4).unwrap_or((text, ""));
    (u16::from_str_radix(digits, 16).unwrap_or(0xd800), rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(json: &str) -> String {
        let tokens: Vec<Token> = Tokens::of(json).unwrap().collect();
        let [Token::Text(text)] = tokens.as_slice() else { panic!("{tokens:?}") };
        text.clone()
    }

    #[test]
    fn strings_lose_their_escapes() {
        for (json, expected) in [
            (r#""""#, ""),
            (r#""a\"\\\/\b\f\n\r\tz""#, "a\"\\/\u{8}\u{c}\n\r\tz"),
            (r#""\u0061é\u00E9""#, "aéé"),
            (r#""\ud83d\ude00x""#, "😀x"),
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83d\u0061""#, "\u{fffd}a"),
            (r#""\ud83d\n""#, "\u{fffd}\n"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\u0000""#, "\0"),
        ] {
            assert_eq!(text(json), expected, "{json}");
        }
    }

    #[test]
    fn tokens_come_in_order_and_values_are_skipped_whole() {
        let mut tokens = Tokens::of(r#" {"a": [1, {"b": -1e3}, "]"], "c":true,"d" : null}"#).unwrap();
        assert_eq!(tokens.next(), Some(Token::BeginObject));
        assert_eq!(tokens.next(), Some(Token::Text("a".into())));
        assert_eq!(tokens.next(), Some(Token::BeginArray));
        tokens.skip_value(&Token::BeginArray);
        assert_eq!(
            tokens.collect::<Vec<_>>(),
            [Token::Text("c".into()), Token::Bool, Token::Text("d".into()), Token::Null, Token::EndObject]
        );
    }

    /// Another reader's opinion, but for what it cannot represent.
    fn other_reader(text: &str) -> Result<(), String> {
        let message = serde_json::from_str::<serde_json::Value>(text).err().map(|error| error.to_string());
        let unrepresentable = ["number out of range", "surrogate", "unexpected end of hex escape"];
        match message {
            Some(message) if !unrepresentable.iter().any(|known| message.contains(known)) => Err(message),
            _ => Ok(()),
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in r#"[\[\]{}",:a\\u0-9efnrt.+ \n-]{0,20}|\PC{0,12}"#) {
            if let Ok(tokens) = Tokens::of(&text) {
                prop_assert_eq!(tokens.map(|token| depth_of(&token)).sum::<isize>(), 0);
                prop_assert!(other_reader(&text).is_ok());
            } else {
                prop_assert!(other_reader(&text).is_err());
            }
        }

        #[test]
        fn strings_are_those_of_any_reader(text in r"\PC{0,8}|[\x00-\x7fé😀\u{2028}]{0,8}") {
            let mut written = String::new();
            super::super::push_string(&mut written, &text);
            let back: String = serde_json::from_str(&written).unwrap();
            prop_assert_eq!(&back, &text);
            let tokens: Vec<Token> = Tokens::of(&written).unwrap().collect();
            prop_assert_eq!(tokens, [Token::Text(text)]);
        }
    }
}
