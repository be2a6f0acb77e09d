//! The way that keys and values are written.

use crate::diag::Span;
use crate::go_json;
use crate::yaml::{NodeIn, Style};

/// Returns a scalar in these quotes, or in double ones where single ones cannot carry the text on one line.
pub(super) fn scalar(text: &str, quotes: Style) -> NodeIn<'static> {
    let quotes = if text.chars().all(is_printable) { quotes } else { Style::DoubleQuoted };
    NodeIn::scalar(text.to_owned(), quotes, Span::default())
}

/// Returns a key as it is written by hand: plain where that is certainly a string, else in single quotes.
pub(super) fn key(key: &str, quotes: Style) -> NodeIn<'static> {
    let plain = key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/'));
    let word = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"]
        .iter()
        .any(|word| key.eq_ignore_ascii_case(word));
    let is_plain = plain && !word && quotes == Style::SingleQuoted;
    scalar(key, if is_plain { Style::Plain } else { quotes })
}

/// Returns the text of a scalar. In double quotes it has the escapes that JSON and YAML share, so that a JSON
/// text stays one.
pub(super) fn written(scalar: &NodeIn<'_>) -> String {
    let text = scalar.as_scalar().unwrap_or_default();
    match scalar.style() {
        Some(Style::Plain) => text.to_owned(),
        Some(Style::DoubleQuoted) => go_json::escaped(&text, |c| !is_printable(c)),
        _ => format!("'{}'", text.replace('\'', "''")),
    }
}

/// Returns whether a character may stand in quotes as it is: it is no control character, no break of YAML
/// 1.1, no byte order mark.
fn is_printable(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
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
            assert_eq!(super::written(&scalar(text, Style::SingleQuoted)), written);
        }
    }

    #[test]
    fn keys() {
        for (text, quotes, written) in [
            ("submitacl", Style::SingleQuoted, "submitacl"),
            ("application.sort.policy", Style::SingleQuoted, "application.sort.policy"),
            ("true", Style::SingleQuoted, "'true'"),
            ("1", Style::SingleQuoted, "'1'"),
            ("a b", Style::SingleQuoted, "'a b'"),
            ("a\nb", Style::SingleQuoted, r#""a\nb""#),
            ("submitacl", Style::DoubleQuoted, r#""submitacl""#),
        ] {
            assert_eq!(super::written(&key(text, quotes)), written);
        }
    }
}
