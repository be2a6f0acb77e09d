//! Java properties, the format of `spark-defaults.conf` (`java.util.Properties.load`). Each line has one
//! setting, whose key ends at white space, `=` or `:`. `#` and `!` begin comments. A backslash escapes a
//! character or continues the line.

use go_compat::diag::Span;

/// A setting, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Property {
    /// The key, unescaped.
    pub key: String,
    /// The value, unescaped.
    pub value: String,
    /// The lines of the setting, in bytes of the text, without leading white space.
    pub span: Span,
}

/// Parses the settings in order. Every text is valid; a backslash before a character without a special
/// meaning is dropped.
pub fn parse(text: &str) -> Vec<(String, String)> {
    read(text).into_iter().map(|property| (property.key, property.value)).collect()
}

/// Parses the settings with their spans.
pub fn read(text: &str) -> Vec<Property> {
    let lines = logical_lines(text).into_iter();
    lines
        .map(|(line, span)| {
            let (key, value) = setting(&line);
            Property { key, value, span }
        })
        .collect()
}

/// Escapes a key or value into one line that parses as the same text.
pub fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            '\t' => written.push_str("\\t"),
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\u{c}' => written.push_str("\\f"),
            '\\' => written.push_str("\\\\"),
            // At the beginning, these would end the key or begin a comment.
            ' ' | '=' | ':' | '#' | '!' if at == 0 => written.extend(['\\', c]),
            c => written.push(c),
        }
    }
    written
}

/// Returns the lines with their spans, without comments and empty lines and with continued lines joined.
/// Leading white space is removed.
fn logical_lines(text: &str) -> Vec<(String, Span)> {
    let mut lines = Vec::new();
    let mut joined: Option<(String, usize)> = None;
    let mut at = 0_usize;
    let mut carriage = false;
    for piece in text.split_inclusive(['\n', '\r']) {
        let begin = at;
        at = at.saturating_add(piece.len());
        // A carriage return followed by a line feed is a single line end.
        let second_half = carriage && piece == "\n";
        carriage = piece.ends_with('\r');
        if second_half {
            continue;
        }
        let line = piece.trim_end_matches(['\n', '\r']);
        let end = begin.saturating_add(line.len());
        let line = line.trim_start_matches(SPACES);
        if joined.is_none() && (line.is_empty() || line.starts_with(['#', '!'])) {
            continue;
        }
        let escapes = line.bytes().rev().take_while(|byte| *byte == b'\\').count();
        let goes_on = escapes % 2 == 1;
        let (mut whole, start) = joined.take().unwrap_or((String::new(), end.saturating_sub(line.len())));
        whole.push_str(if goes_on { line.strip_suffix('\\').unwrap_or(line) } else { line });
        if goes_on {
            joined = Some((whole, start));
        } else {
            lines.push((whole, Span::new(start, end)));
        }
    }
    lines.extend(joined.map(|(whole, start)| (whole, Span::new(start, text.len()))));
    lines
}

const SPACES: [char; 3] = [' ', '\t', '\u{c}'];

/// Splits a line into the key, up to the first unescaped white space, `=` or `:`, and the value.
fn setting(line: &str) -> (String, String) {
    let mut escaped = false;
    let end = line.find(|c| {
        let ends = !escaped && (SPACES.contains(&c) || matches!(c, '=' | ':'));
        escaped = !escaped && c == '\\';
        ends
    });
    let (key, rest) = end.and_then(|end| line.split_at_checked(end)).unwrap_or((line, ""));
    let rest = rest.trim_start_matches(SPACES);
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start_matches(SPACES);
    (unescaped(key), unescaped(value))
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match rest.next() {
            Some('t') => plain.push('\t'),
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('f') => plain.push('\u{c}'),
            Some('u') => {
                let digits: String = rest.by_ref().take(4).collect();
                let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                plain.push(code.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            Some(other) => plain.push(other),
            None => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn settings_parse_like_javas() {
        let cases: [(&str, &[(&str, &str)]); 12] = [
            ("", &[]),
            ("# a=b\n! c\n\n", &[]),
            ("spark.acls.enable true", &[("spark.acls.enable", "true")]),
            ("a=b\r\nc : d\te f", &[("a", "b"), ("c", "d\te f")]),
            ("  a\t=  b ", &[("a", "b ")]),
            ("a", &[("a", "")]),
            ("a=", &[("a", "")]),
            ("a = \\ dev", &[("a", " dev")]),
            ("a=b,\\\n   c", &[("a", "b,c")]),
            ("a=b\\\\\nc=d", &[("a", "b\\"), ("c", "d")]),
            ("a\\=b\\:c=d", &[("a=b:c", "d")]),
            ("a=\\u0041\\n\\q\\u12", &[("a", "A\nq\u{12}")]),
        ];
        for (text, expected) in cases {
            let read = parse(text);
            let read: Vec<(&str, &str)> =
                read.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            assert_eq!(read, expected, "{text:?}");
        }
    }

    #[test]
    fn settings_have_spans() {
        let text = "# x\r\n  a=b\r\nc=d,\\\r\n e\r\n\nf";
        let read: Vec<(String, &str)> = read(text)
            .into_iter()
            .map(|property| {
                (property.value, text.get(property.span.start..property.span.end).expect("a span"))
            })
            .collect();
        let expected = [("b", "a=b"), ("d,e", "c=d,\\\r\n e"), ("", "f")];
        assert_eq!(read, expected.map(|(value, place)| (value.to_owned(), place)));
    }

    proptest! {
        #[test]
        fn any_text_parses(text in any::<String>(), lines in "[a=: \\\\#\r\n\u{e9}]{0,24}") {
            for text in [text, lines] {
                for property in read(&text) {
                    prop_assert!(text.get(property.span.start..property.span.end).is_some());
                }
            }
        }

        #[test]
        fn written_setting_parses_as_itself(value in any::<String>(), line in "[a=: \\\\#!\t\r\n\u{e9}\u{c}]{0,12}") {
            for value in [value, line] {
                prop_assert_eq!(parse(&format!("key {}\n", escaped(&value))), [("key".to_owned(), value)]);
            }
        }
    }
}
