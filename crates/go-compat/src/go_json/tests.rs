//! Texts that are valid JSON, invalid JSON, and texts that Go reads differently from most parsers.

use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn text(json: &str) -> String {
    read::<GoString>(json).unwrap().0
}

fn is_json(text: &str) -> bool {
    read::<IgnoredAny>(text).is_ok()
}

#[test]
fn escapes_in_strings_are_decoded() {
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
        (r#""\ufffd퟿\ud7ff""#, "\u{fffd}\u{d7ff}\u{d7ff}"),
        (r#""\u0000""#, "\0"),
    ] {
        assert_eq!(text(json), expected, "{json}");
    }
}

#[test]
fn invalid_json_is_refused() {
    for text in [
        "",
        " ",
        "{",
        "tru",
        "01",
        "1.",
        "{}{}",
        "{\"a\":1,}",
        "[}",
        "\"\n\"",
        "\"\\x\"",
        "\u{feff}{}",
        "'a'",
    ] {
        assert!(!is_json(text), "{text:?}");
    }
    assert!(read::<GoString>("\"\n\"").is_err());
    assert!(read::<GoString>("[1]").is_err());
}

#[test]
fn text_accepted_by_go_is_accepted() {
    for text in
        [" { } ", "[ ]", "-0.5e+10", "1e999", "{\"a\":{},\"a\":[\"\\ud800\"]}", "\"\u{7f}\"", "null\n"]
    {
        assert!(is_json(text), "{text}");
    }
}

#[test]
fn nesting_limit_matches_go() {
    let nested = |depth| format!("{}1{}", r#"["[\"","#.repeat(depth), "]".repeat(depth));
    assert!(is_json(&nested(MAX_DEPTH)));
    let error = read::<IgnoredAny>(&nested(MAX_DEPTH + 1)).map(|_| ()).unwrap_err();
    assert_eq!(error, "nested more than 10000 deep");
}

#[test]
fn keys_match_fields_without_case() {
    for key in ["user", "User", "USER", "u\u{17f}er", "U\u{17f}eR"] {
        assert!(is_field(key, "user"), "{key}");
    }
    for key in ["", "use", "users", "user ", "u\u{df}er", "\u{fc}ser"] {
        assert!(!is_field(key, "user"), "{key}");
    }
    assert!(is_field("\u{212a}ind", "kind"));
}

proptest! {
    #[test]
    fn strings_equal_those_of_serde_json(text in r"\PC{0,8}|[\x00-\x7fé😀\u{2028}]{0,8}") {
        let written = write(&text);
        prop_assert_eq!(&serde_json::from_str::<String>(&written).unwrap(), &text);
        prop_assert_eq!(read::<GoString>(&written), Ok(GoString(text)));
    }

    #[test]
    fn values_accepted_by_serde_json_are_accepted(text in r#"[\[\]{}",:a\\u0-9efnrt.+ \n-]{0,20}|\PC{0,12}"#) {
        if serde_json::from_str::<Value>(&text).is_ok() {
            prop_assert!(is_json(&text));
        }
    }
}

#[test]
fn written_strings_are_escaped_as_in_go() {
    let out = write(&"a<b>&\"c\\\u{2028}\u{2029}é\u{1}\u{8}\u{c}\n\r\t\u{7f}😀/'");
    assert_eq!(out, "\"a\\u003cb\\u003e\\u0026\\\"c\\\\\\u2028\\u2029é\\u0001\\b\\f\\n\\r\\t\u{7f}😀/'\"");
}
