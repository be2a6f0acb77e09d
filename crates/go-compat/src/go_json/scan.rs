//! Whether a text is JSON to Go, byte by byte (`encoding/json/scanner.go`): the first byte that cannot follow is named in the message.

use super::{Error, MAX_DEPTH};

/// What the next byte may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A value.
    Value,
    /// A value, or the end of an array that has just begun.
    ValueOrEnd,
    /// A key.
    Key,
    /// A key, or the end of an object that has just begun.
    KeyOrEnd,
    /// What follows a value.
    AfterValue,
    /// Nothing but blanks.
    AfterTop,
    /// Within a string.
    Text,
    /// Behind a backslash.
    Escape,
    /// A digit of `\u`, with so many behind it.
    Hex(u8),
    /// Behind the minus of a number.
    Minus,
    /// Within the digits before the point.
    Digits,
    /// Behind a leading zero.
    Zero,
    /// Behind the point.
    Point,
    /// Within the digits behind the point.
    Fraction,
    /// Behind the `e`.
    Exponent,
    /// Behind the sign of the exponent.
    ExponentSign,
    /// Within the digits of the exponent.
    ExponentDigits,
    /// Within a word, at this letter.
    Word(&'static str, usize),
}

/// Where a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// It is the key of an object.
    Key,
    /// It is the value of an object's key.
    Object,
    /// It is an element of an array.
    Array,
}

/// Go's verdict about a whole text.
pub(super) fn check(text: &str) -> Result<(), Error> {
    let mut scan = Scan { state: State::Value, within: Vec::new() };
    for byte in text.bytes() {
        scan.step(byte)?;
    }
    // At the end Go asks what a blank would do: it ends a number, and is wrong within a word.
    if scan.state != State::AfterTop {
        scan.step(b' ')?;
    }
    if scan.state == State::AfterTop { Ok(()) } else { Err(Error("unexpected end of JSON input".to_owned())) }
}

struct Scan {
    state: State,
    within: Vec<Within>,
}

impl Scan {
    fn step(&mut self, byte: u8) -> Result<(), Error> {
        if is_blank(byte) && self.skips_blanks() {
            return Ok(());
        }
        match self.state {
            State::ValueOrEnd if byte == b']' => self.after_value(byte),
            State::Value | State::ValueOrEnd => self.value(byte),
            State::KeyOrEnd if byte == b'}' => {
                self.set_within(Within::Object);
                self.after_value(byte)
            }
            State::Key | State::KeyOrEnd => self.key(byte),
            State::AfterValue => self.after_value(byte),
            State::AfterTop => Err(unexpected(byte, "after top-level value")),
            State::Text | State::Escape | State::Hex(_) => self.text(byte),
            State::Word(word, at) => self.word(byte, word, at),
            _ => self.number(byte),
        }
    }

    fn skips_blanks(&self) -> bool {
        matches!(
            self.state,
            State::Value
                | State::ValueOrEnd
                | State::Key
                | State::KeyOrEnd
                | State::AfterValue
                | State::AfterTop
        )
    }

    fn value(&mut self, byte: u8) -> Result<(), Error> {
        self.state = match byte {
            b'{' => self.enter(byte, Within::Key, State::KeyOrEnd)?,
            b'[' => self.enter(byte, Within::Array, State::ValueOrEnd)?,
            b'"' => State::Text,
            b'-' => State::Minus,
            b'0' => State::Zero,
            b'1'..=b'9' => State::Digits,
            b't' => State::Word("true", 1),
            b'f' => State::Word("false", 1),
            b'n' => State::Word("null", 1),
            _ => return Err(unexpected(byte, "looking for beginning of value")),
        };
        Ok(())
    }

    fn enter(&mut self, byte: u8, within: Within, inside: State) -> Result<State, Error> {
        self.within.push(within);
        if self.within.len() > MAX_DEPTH { Err(unexpected(byte, "exceeded max depth")) } else { Ok(inside) }
    }

    fn key(&mut self, byte: u8) -> Result<(), Error> {
        if byte != b'"' {
            return Err(unexpected(byte, "looking for beginning of object key string"));
        }
        self.state = State::Text;
        Ok(())
    }

    fn set_within(&mut self, within: Within) {
        if let Some(last) = self.within.last_mut() {
            *last = within;
        }
    }

    /// A byte behind a value, or the one that ends a number.
    fn after_value(&mut self, byte: u8) -> Result<(), Error> {
        let Some(within) = self.within.last().copied() else {
            self.state = State::AfterTop;
            return if is_blank(byte) { Ok(()) } else { Err(unexpected(byte, "after top-level value")) };
        };
        self.state = match (within, byte) {
            (_, b' ' | b'\t' | b'\r' | b'\n') => State::AfterValue,
            (Within::Key, b':') => {
                self.set_within(Within::Object);
                State::Value
            }
            (Within::Object, b',') => {
                self.set_within(Within::Key);
                State::Key
            }
            (Within::Array, b',') => State::Value,
            (Within::Object, b'}') | (Within::Array, b']') => {
                self.within.pop();
                self.behind_value()
            }
            (Within::Key, _) => return Err(unexpected(byte, "after object key")),
            (Within::Object, _) => return Err(unexpected(byte, "after object key:value pair")),
            (Within::Array, _) => return Err(unexpected(byte, "after array element")),
        };
        Ok(())
    }

    fn behind_value(&self) -> State {
        if self.within.is_empty() { State::AfterTop } else { State::AfterValue }
    }

    fn text(&mut self, byte: u8) -> Result<(), Error> {
        self.state = match (self.state, byte) {
            (State::Text, b'"') => self.behind_value(),
            (State::Text, b'\\') => State::Escape,
            (State::Text, 0x20..)
            | (State::Escape, b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => State::Text,
            (State::Text, _) => return Err(unexpected(byte, "in string literal")),
            (State::Escape, b'u') => State::Hex(3),
            (State::Hex(0), _) if byte.is_ascii_hexdigit() => State::Text,
            (State::Hex(more), _) if byte.is_ascii_hexdigit() => State::Hex(more - 1),
            (State::Hex(_), _) => return Err(unexpected(byte, "in \\u hexadecimal character escape")),
            _ => return Err(unexpected(byte, "in string escape code")),
        };
        Ok(())
    }

    fn number(&mut self, byte: u8) -> Result<(), Error> {
        self.state = match (self.state, byte) {
            (State::Minus, b'0') => State::Zero,
            (State::Minus, b'1'..=b'9') | (State::Digits, b'0'..=b'9') => State::Digits,
            (State::Minus, _) => return Err(unexpected(byte, "in numeric literal")),
            (State::Digits | State::Zero, b'.') => State::Point,
            (State::Digits | State::Zero | State::Fraction, b'e' | b'E') => State::Exponent,
            (State::Point | State::Fraction, b'0'..=b'9') => State::Fraction,
            (State::Point, _) => return Err(unexpected(byte, "after decimal point in numeric literal")),
            (State::Exponent, b'+' | b'-') => State::ExponentSign,
            (State::Exponent | State::ExponentSign | State::ExponentDigits, b'0'..=b'9') => {
                State::ExponentDigits
            }
            (State::Exponent | State::ExponentSign, _) => {
                return Err(unexpected(byte, "in exponent of numeric literal"));
            }
            _ => return self.after_value(byte),
        };
        Ok(())
    }

    fn word(&mut self, byte: u8, word: &'static str, at: usize) -> Result<(), Error> {
        let Some(&wanted) = word.as_bytes().get(at) else { return self.after_value(byte) };
        if byte != wanted {
            let context = format!("in literal {word} (expecting '{}')", char::from(wanted));
            return Err(unexpected(byte, &context));
        }
        self.state = if at + 1 == word.len() { self.behind_value() } else { State::Word(word, at + 1) };
        Ok(())
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn unexpected(byte: u8, context: &str) -> Error {
    Error(format!("invalid character '{}' {context}", shown(byte)))
}

/// The byte as Go quotes the character of the same number.
fn shown(byte: u8) -> String {
    match byte {
        b'\'' => "\\'".to_owned(),
        b'\\' => "\\\\".to_owned(),
        7 => "\\a".to_owned(),
        8 => "\\b".to_owned(),
        9 => "\\t".to_owned(),
        10 => "\\n".to_owned(),
        11 => "\\v".to_owned(),
        12 => "\\f".to_owned(),
        13 => "\\r".to_owned(),
        0..0x20 | 0x7f => format!("\\x{byte:02x}"),
        // Not printable to Go: controls, the blank that does not break, the soft hyphen.
        0x80..=0xa0 | 0xad => format!("\\u{byte:04x}"),
        _ => char::from(byte).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_messages_are_gos() {
        for (text, message) in [
            ("", "unexpected end of JSON input"),
            (" ", "unexpected end of JSON input"),
            ("{", "unexpected end of JSON input"),
            ("\"abc", "unexpected end of JSON input"),
            ("x", "invalid character 'x' looking for beginning of value"),
            ("\u{feff}{}", "invalid character 'ï' looking for beginning of value"),
            ("'", "invalid character '\\'' looking for beginning of value"),
            ("\u{0}", "invalid character '\\x00' looking for beginning of value"),
            ("\u{85}", "invalid character 'Â' looking for beginning of value"),
            ("\"\\\u{85}", "invalid character 'Â' in string escape code"),
            ("\u{e0000}", "invalid character 'ó' looking for beginning of value"),
            ("tru", "invalid character ' ' in literal true (expecting 'e')"),
            ("nuLl", "invalid character 'L' in literal null (expecting 'l')"),
            ("-", "invalid character ' ' in numeric literal"),
            ("1e", "invalid character ' ' in exponent of numeric literal"),
            ("1.", "invalid character ' ' after decimal point in numeric literal"),
            ("01", "invalid character '1' after top-level value"),
            ("{}{}", "invalid character '{' after top-level value"),
            ("{} x y", "invalid character 'x' after top-level value"),
            ("{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\":1 \"b\"}", "invalid character '\"' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
            ("[}", "invalid character '}' looking for beginning of value"),
            ("\"\n\"", "invalid character '\\n' in string literal"),
            ("\"\\x\"", "invalid character 'x' in string escape code"),
            ("\"\\u12g4\"", "invalid character 'g' in \\u hexadecimal character escape"),
        ] {
            assert_eq!(check(text), Err(Error(message.to_owned())), "{text:?}");
        }
    }

    #[test]
    fn what_go_reads_is_read() {
        for text in [
            "{}",
            " { } ",
            "[]",
            "[ ]",
            "1",
            "-0.5e+10",
            "0",
            "10",
            "null",
            "\"\\u00e9\\\"\\/\"",
            "[1,2,{\"a\":[true,false]}]\n",
            "{\"a\":{},\"a\":[]}",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn nesting_has_gos_bound() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(check(&nested(MAX_DEPTH)), Ok(()));
        let error = Error("invalid character '[' exceeded max depth".to_owned());
        assert_eq!(check(&nested(MAX_DEPTH + 1)), Err(error));
    }
}
