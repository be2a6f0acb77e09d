//! How keys and values are written.

use std::fmt::Write as _;

use crate::yaml::Style;

/// The quotes of a written scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quote {
    Single,
    Double,
}

impl Quote {
    /// The wished quotes, or double ones where single ones cannot carry the text on one line.
    pub(super) fn carrying(self, text: &str) -> Self {
        if text.chars().all(is_printable) { self } else { Self::Double }
    }

    pub(super) fn style(self) -> Style {
        match self {
            Self::Single => Style::SingleQuoted,
            Self::Double => Style::DoubleQuoted,
        }
    }

    pub(super) fn write(self, text: &str) -> String {
        match self {
            Self::Single => format!("'{}'", text.replace('\'', "''")),
            Self::Double => double(text),
        }
    }
}

/// What may stand in quotes as it is, and stays one line: no control character, no break of YAML 1.1, no byte order mark.
fn is_printable(char: char) -> bool {
    !char.is_control() && !matches!(char, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// The escapes that JSON and YAML share, so that a JSON text stays one.
fn double(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + 2);
    written.push('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => written.extend(['\\', char]),
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\t' => written.push_str("\\t"),
            // What is not printable is below U+10000, and four digits are what JSON has.
            char if !is_printable(char) => _ = write!(written, "\\u{:04x}", u32::from(char)),
            char => written.push(char),
        }
    }
    written.push('"');
    written
}

/// A key as it is written by hand: plain where that is certainly a string, else in single quotes.
pub(super) fn key(key: &str, quote: Quote) -> (String, Style) {
    let plain = key.starts_with(|char: char| char.is_ascii_alphabetic())
        && key.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '.' | '_' | '-' | '/'));
    let word = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"]
        .iter()
        .any(|word| key.eq_ignore_ascii_case(word));
    if plain && !word && quote == Quote::Single {
        return (key.to_owned(), Style::Plain);
    }
    let quote = quote.carrying(key);
    (quote.write(key), quote.style())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        for (text, written) in [
            ("", "''"),
            ("alice dev", "'alice dev'"),
            ("it's", "'it''s'"),
            ("*", "'*'"),
            (" a ", "' a '"),
            ("ü 漢 😀", "'ü 漢 😀'"),
            ("a\nb\t\"\\", r#""a\nb\t\"\\""#),
            ("\0\u{85}\u{2028}\u{feff}", r#""\u0000\u0085\u2028\ufeff""#),
        ] {
            assert_eq!(Quote::Single.carrying(text).write(text), written);
        }
    }

    #[test]
    fn keys() {
        for (text, quote, written) in [
            ("submitacl", Quote::Single, "submitacl"),
            ("application.sort.policy", Quote::Single, "application.sort.policy"),
            ("true", Quote::Single, "'true'"),
            ("1", Quote::Single, "'1'"),
            ("a b", Quote::Single, "'a b'"),
            ("a\nb", Quote::Single, r#""a\nb""#),
            ("submitacl", Quote::Double, r#""submitacl""#),
        ] {
            assert_eq!(key(text, quote).0, written);
        }
    }
}
