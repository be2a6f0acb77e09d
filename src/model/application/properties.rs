//! Java's properties, as `spark-defaults.conf` is written (`java.util.Properties.load`): one setting a line, its key ended by a
//! blank, `=` or `:`; comments behind `#` and `!`; a backslash escapes, and joins lines.

/// Reads the settings in their order. Every text is one: what is no escape is what stands behind the backslash.
pub fn parse(text: &str) -> Vec<(String, String)> {
    logical_lines(text).iter().map(|line| setting(line)).collect()
}

/// Lines without comments and empty ones, joined where a backslash says so. Blanks at their beginnings do not count.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut joined: Option<String> = None;
    for line in text.replace("\r\n", "\n").split(['\n', '\r']) {
        let line = line.trim_start_matches(BLANKS);
        if joined.is_none() && (line.is_empty() || line.starts_with(['#', '!'])) {
            continue;
        }
        let escapes = line.bytes().rev().take_while(|byte| *byte == b'\\').count();
        let goes_on = escapes % 2 == 1;
        let mut whole = joined.take().unwrap_or_default();
        whole.push_str(if goes_on { line.strip_suffix('\\').unwrap_or(line) } else { line });
        if goes_on {
            joined = Some(whole);
        } else {
            lines.push(whole);
        }
    }
    lines.extend(joined);
    lines
}

const BLANKS: [char; 3] = [' ', '\t', '\u{c}'];

/// The key up to the first blank, `=` or `:` that is not escaped, and what is behind it.
fn setting(line: &str) -> (String, String) {
    let mut escaped = false;
    let end = line.find(|c| {
        let ends = !escaped && (BLANKS.contains(&c) || matches!(c, '=' | ':'));
        escaped = !escaped && c == '\\';
        ends
    });
    let (key, rest) = end.and_then(|end| line.split_at_checked(end)).unwrap_or((line, ""));
    let rest = rest.trim_start_matches(BLANKS);
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start_matches(BLANKS);
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
    fn settings_are_read_as_java_does() {
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

    proptest! {
        #[test]
        fn any_text_is_read(text in any::<String>()) {
            parse(&text);
        }
    }
}
