//! Compares compiled patterns with recorded answers of Go.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn fixture(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}

#[test]
fn recorded_lists_match_as_in_go_or_are_undecided() {
    let vectors = fixture(include_str!("../../../../tests/vectors/go-regex.json"));
    let subjects = strings(&vectors["subjects"]);
    let mut undecided = BTreeSet::new();
    for row in vectors["rows"].as_array().unwrap() {
        let pattern = row["pattern"].as_str().unwrap();
        if row["error"].is_string() {
            GoRegex::new(pattern).unwrap_err();
            continue;
        }
        let parts: Result<Vec<_>, _> = strings(&row["parts"]).into_iter().map(GoRegex::new).collect();
        let Ok(parts) = parts else {
            undecided.insert(pattern);
            continue;
        };
        let matches: Vec<_> = subjects
            .iter()
            .copied()
            .filter(|subject| parts.iter().any(|part| part.is_match(subject)))
            .collect();
        assert_eq!(matches, strings(&row["matches"]), "{pattern}");
    }
    let expected = [r"\Qa.b\E", r"\pL", r"\p{Greek}", r"\p{L}a", "[a[b]", "[a~~b]", "[[.a.]]"];
    assert_eq!(undecided, expected.into());
}

#[test]
fn recorded_random_patterns_match_as_in_go_or_are_undecided() {
    let vectors = fixture(include_str!("../../../../tests/vectors/go-regex-random.json"));
    let rows = vectors["rows"].as_array().unwrap();
    let mut decided = 0;
    for row in rows {
        let pattern = row["pattern"].as_str().unwrap();
        match (GoRegex::new(pattern), row["error"].as_str()) {
            (Err(_), Some(_)) => decided += 1,
            (Ok(ours), None) => {
                decided += 1;
                for subject in strings(&row["matches"]) {
                    assert!(ours.is_match(subject), "{pattern:?} on {subject:?}");
                }
                for subject in strings(&row["others"]) {
                    assert!(!ours.is_match(subject), "{pattern:?} on {subject:?}");
                }
            }
            (Err(ours), None) => assert!(is_undecided(&ours), "{pattern:?}"),
            (Ok(_), Some(error)) => panic!("{pattern:?}: {error}"),
        }
    }
    assert!(decided * 2 > rows.len(), "{decided} of {}", rows.len());
}

/// Pattern, text of the span, and code.
const REFUSED_BY_GO: &[(&str, &str, u16)] = &[
    ("[z-a]", "z-a", 4001),
    ("[[:name:]]", "[:name:]", 4001),
    (r"team\y", r"\y", 4002),
    (r"(a)\1", r"\1", 4002),
    (r"\u0061", r"\u0061", 4002),
    (r"[\b]", r"\b", 4002),
    (r"a\Z", r"\Z", 4002),
    (r"\x{}", "{}", 4002),
    (r"\xzz", "z", 4002),
    ("(?P<a.b>c)", "a.b", 4003),
    ("(?<>c)", ">", 4003),
    ("(?<name", "e", 4003),
    ("(?P<air-flow>a)", "-", 4003),
    ("a(?=b)", "(?=", 4004),
    ("(?<!a)b", "(?<!", 4004),
    ("(?x)a", "x", 4004),
    (r"(?-u:\w)", "u", 4004),
    ("(?i-)a", "-", 4004),
    ("(?z)a", "z", 4004),
    ("a**", "**", 4005),
    ("a{2}{3}", "{2}{3}", 4005),
    ("a{2}+?", "{2}+?", 4005),
    ("a{1001}", "{1001}", 4006),
    ("a{3,2}", "{3,2}", 4006),
    ("(a{0}){1001}", "{1001}", 4006),
    ("((a{10}b){0,}c{2}){101}", "{101}", 4006),
    ("x[a-", "[", 4007),
    ("x[]", "[]", 4007),
    ("ab(cd", "(", 4008),
    ("*", "*", 4009),
    ("a|?", "?", 4009),
    ("(+)", "+", 4009),
    ("{2}", "{", 4009),
    (r"ab\", r"\", 4010),
    ("ab)cd", ")", 4011),
];

#[test]
fn refusal_of_go_has_a_span_a_code_and_help() {
    for (pattern, fragment, code) in REFUSED_BY_GO {
        let refusal = GoRegex::new(pattern).unwrap_err();
        assert_eq!(refusal.code.number, *code, "{pattern}");
        let span = refusal.span.unwrap();
        assert_eq!(pattern.get(span.start..span.end), Some(*fragment), "{pattern}");
        assert!(refusal.message.starts_with(&format!("`{fragment}` ")), "{pattern}: {}", refusal.message);
        assert!(refusal.help.is_some(), "{pattern}");
        assert!(!is_undecided(&refusal), "{pattern}");
    }
    let tried: BTreeSet<_> = REFUSED_BY_GO.iter().map(|(.., number)| *number).collect();
    let codes: BTreeSet<_> = CODES.iter().map(|code| code.number).collect();
    assert_eq!(codes.len(), CODES.len());
    assert!(codes.range(..4050).all(|number| tried.contains(number)));
}

/// Pattern and text of the span. Go accepts all but the last three.
const READ_DIFFERENTLY: &[(&str, &str)] = &[
    ("[a[b]", "[b"),
    ("[[.a.]]", "[."),
    ("[!-[:alpha:]]", "[:"),
    ("[a&&b]", "&&"),
    ("[a~~b]", "~~"),
    ("[--a]", "--"),
    ("[]-a]", "[]"),
    ("[^]-a]", "[^"),
    (r"[\d-a]", r"\d"),
    (r"\Qa.b\E", r"\Q"),
    (r"\141", r"\1"),
    (r"\0", r"\0"),
    (r"\<a\>", r"\<"),
    (r"[\<]", r"\<"),
    (r"\x{D800}", "D800"),
    ("a(?i)*", "*"),
    ("(?)a", "?"),
    ("(?ii)a", "i"),
    ("(?P<n>a)(?P<n>b)", "n"),
    ("(?P<1>a)", "1"),
    ("(?i)Σ", "Σ"),
    ("[a-Σ](?i:b)", "Σ"),
    ("[a--b]", "--"),
    ("[]-Z]", "[]"),
    (r"\x{110000}", "110000"),
];

#[test]
fn construct_that_go_may_read_differently_is_undecided() {
    for (pattern, fragment) in READ_DIFFERENTLY {
        let refusal = GoRegex::new(pattern).unwrap_err();
        assert_eq!(refusal.code.number, 4056, "{pattern}: {refusal}");
        let span = refusal.span.unwrap();
        assert_eq!(pattern.get(span.start..span.end), Some(*fragment), "{pattern}");
        assert!(is_undecided(&refusal));
    }
}

#[test]
fn pattern_beyond_a_limit_is_undecided() {
    let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    let cases = [
        ("a".repeat(MAX_BYTES), None),
        ("a".repeat(MAX_BYTES + 1), Some(4051)),
        ("é".repeat(MAX_BYTES), Some(4051)),
        (nested(MAX_DEPTH), None),
        (nested(MAX_DEPTH + 1), Some(4052)),
        (nested(MAX_BYTES / 3), Some(4052)),
        (r"^\w{1000}$".to_owned(), None),
        (".{1000}".to_owned(), None),
        (r"\w{1000}".repeat(200), Some(4053)),
        (format!("({}){{1000}}", "(|)".repeat(340)), Some(4053)),
        ("(....){1000}".to_owned(), Some(4053)),
        (r"\pL".to_owned(), Some(4054)),
        (r"[\p{Greek}a]".to_owned(), Some(4054)),
    ];
    for (pattern, expected) in cases {
        let refusal = GoRegex::new(&pattern).err();
        assert_eq!(refusal.as_ref().map(|refusal| refusal.code.number), expected, "{pattern}");
        if let Some(refusal) = refusal {
            assert!(is_undecided(&refusal));
            assert!(has_place(&pattern, refusal.span), "{pattern}");
        }
    }
}

#[test]
fn match_equals_go() {
    let cases = [
        (r"^\w$", "é", false),
        (r"^\W$", "é", true),
        (r"^[\w-]$", "-", true),
        (r"^[^\W]$", "é", false),
        (r"^\d$", "٣", false),
        (r"^[\D]$", "٣", true),
        (r"^\s$", "\x0B", false),
        (r"^[^\s]$", "\x0B", true),
        (r"^[[:space:]]$", "\x0B", true),
        (r"\bé\b", "é", false),
        (r"\Bé\B", "é", true),
        (r"ſ|\B", "xſb", true),
        ("(?i)^k$", "\u{212A}", true),
        (r"(?i)^\w$", "ſ", true),
        (r"(?i)^\W$", "ſ", false),
        ("(?i)^ß$", "ẞ", true),
        ("(?i)^i$", "İ", false),
        ("(?i)^[^é]$", "É", false),
        ("a|(?i)b|c", "C", true),
        ("a$", "a\n", false),
        ("(?m)a$", "a\nb", true),
        ("(?m)^$", "a\n", true),
        ("^.$", "\n", false),
        ("(?s)^.$", "\n", true),
        ("(?U)^a+$", "aa", true),
        ("(?<n>a)", "a", true),
        ("^[]a]$", "]", true),
        ("^[^]a]$", "]", false),
        ("^[a-b-c]$", "-", true),
        (r"^[\]a]$", "]", true),
        (r"^\x61\x{62}$", "ab", true),
        (r"^\_\/\@$", "_/@", true),
        ("^(?:a{0})*$", "", true),
        ("^*a", "ba", true),
        ("^a{1$", "a{1", true),
        ("^{a,3}$", "{a,3}", true),
        ("^a{,3}$", "a{,3}", true),
        ("^a{ 2 }+$", "a{ 2 }}", true),
        ("^a*{02}$", "aa{02}", true),
        (r"^a\b{start}$", "a{start}", true),
        ("(?i)^{k$", "{\u{212A}", true),
        (r"[^\x00-\x{10FFFF}]", "a", false),
    ];
    for (pattern, text, expected) in cases {
        assert_eq!(GoRegex::new(pattern).unwrap().is_match(text), expected, "{pattern} on {text:?}");
    }
}

#[test]
fn anchors_apply_to_the_whole_pattern() {
    // Pattern, whether it is closed, whether its anchors are split.
    for (pattern, closed, split) in [
        ("admin", false, false),
        ("^admin", false, false),
        ("^admin$", true, false),
        ("(?i)^admin$", true, false),
        (r"\Aadmin\z", true, false),
        ("(^a$|^b$)", true, false),
        ("^(a|b)$", true, false),
        ("^a|b$", false, true),
        ("^a|c|b$", false, true),
        ("^a|^c|b$", false, false),
        ("^a$|b", false, false),
        ("(?m)^a$", false, false),
        ("^*a", false, false),
    ] {
        let regex = GoRegex::new(pattern).unwrap();
        assert_eq!((regex.is_closed(), regex.has_split_anchors()), (closed, split), "{pattern}");
    }
}

fn has_place(pattern: &str, span: Option<Span>) -> bool {
    span.is_some_and(|span| pattern.get(span.start..span.end).is_some_and(|part| !part.is_empty()))
}

proptest! {
    #[test]
    fn any_pattern_passes_or_is_refused_with_a_span(
        pattern in r"[\[\]\\(){}|*+?^$.:,<>=!&~#iPQE0-9a-c \p{L}-]{1,24}",
        text in any::<String>(),
    ) {
        match GoRegex::new(&pattern) {
            Ok(regex) => { regex.is_match(&text); }
            Err(refusal) => prop_assert!(has_place(&pattern, refusal.span)),
        }
    }

    #[test]
    fn escaped_text_matches_itself(text in any::<String>()) {
        let Ok(regex) = GoRegex::new(&format!("^{}$", regex::escape(&text))) else { return Ok(()) };
        prop_assert!(regex.is_match(&text));
        let longer = format!("{text}x");
        prop_assert!(!regex.is_match(&longer));
    }
}

#[test]
fn match_begins_with_one_of_the_prefixes() {
    for (pattern, expected) in [
        ("^a(b|c)d", &["abd", "acd"][..]),
        ("^ab.*c", &["ab"]),
        (r"^a\.b$", &["a.b"]),
        (".*a", &[]),
        ("[^a]b", &[]),
    ] {
        assert_eq!(GoRegex::new(pattern).unwrap().prefixes(), expected, "{pattern}");
    }
}
