//! Strings as `json.Marshal` writes them (`encode.go`, `appendString`).

/// Adds a string with its quotes. `<`, `>`, `&`, U+2028 and U+2029 are escaped, as Go does for the sake of HTML.
pub fn push_string(out: &mut String, text: &str) {
    out.push('"');
    text.chars().for_each(|c| push_char(out, c));
    out.push('"');
}

fn push_char(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\0'..' ' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
            out.push_str("\\u");
            let number = u32::from(c);
            let digits = [12, 8, 4, 0].map(|shift| char::from_digit((number >> shift) & 15, 16));
            out.extend(digits.into_iter().flatten());
        }
        _ => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped_as_go_escapes_them() {
        let mut out = String::new();
        push_string(&mut out, "a<b>&\"c\\\u{2028}\u{2029}é\u{1}\u{8}\u{c}\n\r\t\u{7f}😀/'");
        assert_eq!(
            out,
            "\"a\\u003cb\\u003e\\u0026\\\"c\\\\\\u2028\\u2029é\\u0001\\b\\f\\n\\r\\t\u{7f}😀/'\""
        );
    }
}
