//! The whole against what Go answers.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::diag::Span;

fn fixture(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}

#[test]
fn decides_as_go_on_the_admission_controllers_vectors() {
    let vectors = fixture(include_str!("../../../../tests/vectors/go-regex.json"));
    let subjects = strings(&vectors["subjects"]);
    let rows = vectors["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 66);
    for row in rows {
        let pattern = row["pattern"].as_str().unwrap();
        if let Some(error) = row["error"].as_str() {
            assert_eq!(GoRegex::new(pattern).unwrap_err().message, error);
            continue;
        }
        let parts: Vec<_> =
            strings(&row["parts"]).into_iter().map(|part| GoRegex::new(part).unwrap()).collect();
        let matches: Vec<_> = subjects
            .iter()
            .copied()
            .filter(|subject| parts.iter().any(|part| part.is_match(subject)))
            .collect();
        assert_eq!(matches, strings(&row["matches"]), "{pattern}");
    }
}

#[test]
fn decides_as_go_on_random_patterns() {
    let vectors = fixture(include_str!("../../../../tests/vectors/go-regex-random.json"));
    let rows = vectors["rows"].as_array().unwrap();
    assert!(rows.len() >= 1000);
    for row in rows {
        let pattern = row["pattern"].as_str().unwrap();
        match (GoRegex::new(pattern), row["error"].as_str()) {
            (Err(ours), Some(error)) => assert_eq!(ours.message, error),
            (Ok(ours), None) => {
                for subject in strings(&row["matches"]) {
                    assert!(ours.is_match(subject), "{pattern:?} on {subject:?}");
                }
                for subject in strings(&row["others"]) {
                    assert!(!ours.is_match(subject), "{pattern:?} on {subject:?}");
                }
            }
            (ours, error) => panic!("{pattern:?}: {ours:?}, Go: {error:?}"),
        }
    }
}

/// The pattern, Go's text behind `error parsing regexp: `, what the span covers, and the code.
const REFUSED_BY_GO: &[(&str, &str, &str, u16)] = &[
    ("ab(cd", "missing closing ): `ab(cd`", "(", 4008),
    ("(a(b)", "missing closing ): `(a(b)`", "(", 4008),
    ("ab)cd", "unexpected ): `ab)cd`", ")", 4011),
    ("x[a-", "missing closing ]: `[a-`", "[", 4007),
    ("x[]a", "missing closing ]: `[]a`", "[", 4007),
    ("a|*b", "missing argument to repetition operator: `*`", "*", 4009),
    ("(+?)", "missing argument to repetition operator: `+?`", "+?", 4009),
    ("(?i)*", "missing argument to repetition operator: `*`", "*", 4009),
    ("{2}", "missing argument to repetition operator: `{2}`", "{2}", 4009),
    ("ab**?c", "invalid nested repetition operator: `**?`", "**?", 4005),
    ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`", "{2}{3}", 4005),
    ("a{1001}", "invalid repeat count: `{1001}`", "{1001}", 4006),
    ("a{3,2}", "invalid repeat count: `{3,2}`", "{3,2}", 4006),
    ("a{99999999999}", "invalid repeat count: `{99999999999}`", "{99999999999}", 4006),
    ("(a{100}){11}", "invalid repeat count: `{11}`", "{11}", 4006),
    ("((a{2,}){100}b){6}?", "invalid repeat count: `{6}?`", "{6}?", 4006),
    (r"x\1", r"invalid escape sequence: `\1`", r"\1", 4002),
    (r"\u0061", r"invalid escape sequence: `\u`", r"\u", 4002),
    (r"\x{110000}", r"invalid escape sequence: `\x{110000`", r"\x{110000", 4002),
    (r"\xg", r"invalid escape sequence: `\xg`", r"\xg", 4002),
    (r"\xé1", r"invalid escape sequence: `\xé1`", r"\xé1", 4002),
    (r"\x{}", r"invalid escape sequence: `\x{}`", r"\x{}", 4002),
    (r"\é", r"invalid escape sequence: `\é`", r"\é", 4002),
    (r"\C", r"invalid escape sequence: `\C`", r"\C", 4002),
    (r"\Z", r"invalid escape sequence: `\Z`", r"\Z", 4002),
    (r"[\Qa]", r"invalid escape sequence: `\Q`", r"\Q", 4002),
    (r"[a-\d]", r"invalid escape sequence: `\d`", r"\d", 4002),
    ("ab\\", "trailing backslash at end of expression: ``", "\\", 4010),
    ("[z-a]", "invalid character class range: `z-a`", "z-a", 4001),
    ("[a--b]", "invalid character class range: `a--`", "a--", 4001),
    ("[[:foo:]]", "invalid character class range: `[:foo:]`", "[:foo:]", 4001),
    (r"\p", r"invalid character class range: `\p`", r"\p", 4001),
    (r"\p{Gr", r"invalid character class range: `\p{Gr`", r"\p{Gr", 4001),
    (r"x\p{Klingon}", r"invalid character class range: `\p{Klingon}`", r"\p{Klingon}", 4001),
    (r"\p{White_Space}", r"invalid character class range: `\p{White_Space}`", r"\p{White_Space}", 4001),
    (r"\p{Old_Italic}", r"invalid character class range: `\p{Old_Italic}`", r"\p{Old_Italic}", 4001),
    ("a(?=b)", "invalid or unsupported Perl syntax: `(?=`", "(?=", 4004),
    ("(?-u)a", "invalid or unsupported Perl syntax: `(?-u`", "(?-u", 4004),
    ("(?i-)a", "invalid or unsupported Perl syntax: `(?i-)`", "(?i-)", 4004),
    ("(?P<", "invalid or unsupported Perl syntax: `(?P`", "(?P", 4004),
    ("(?x)a", "invalid or unsupported Perl syntax: `(?x`", "(?x", 4004),
    ("(?P<n", "invalid named capture: `(?P<n`", "(?P<n", 4003),
    ("(?<a b>c)", "invalid named capture: `(?<a b>`", "(?<a b>", 4003),
    ("(?<=a)b", "invalid named capture: `(?<=a)b`", "(?<=a)b", 4003),
];

#[test]
fn refuses_in_gos_words_and_names_the_place() {
    for (pattern, text, place, code) in REFUSED_BY_GO {
        let refusal = GoRegex::new(pattern).unwrap_err();
        assert_eq!(refusal.message, format!("error parsing regexp: {text}"));
        let span = refusal.span.unwrap();
        assert_eq!(pattern.get(span.start..span.end), Some(*place), "{pattern}");
        assert_eq!(refusal.code.number, *code, "{pattern}");
        assert!(refusal.help.is_some(), "{pattern}");
        assert_eq!(Verdict::of(&refusal), Verdict::RefusedByGo);
    }
}

#[test]
fn every_refusal_of_go_has_a_row() {
    for code in CODES.iter().filter(|code| code.number < 4050) {
        assert!(REFUSED_BY_GO.iter().any(|(.., number)| *number == code.number), "{code}");
    }
}

#[test]
fn codes_are_distinct() {
    let distinct: std::collections::BTreeSet<_> = CODES.iter().map(|code| code.number).collect();
    assert_eq!(distinct.len(), CODES.len());
}

#[test]
fn refuses_what_it_cannot_judge_with_codes_of_its_own() {
    let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    let cases = [
        ("a".repeat(MAX_BYTES), None),
        ("a".repeat(MAX_BYTES + 1), Some(4051)),
        ("é".repeat(MAX_BYTES), Some(4051)),
        (nested(MAX_DEPTH), None),
        (nested(MAX_DEPTH + 1), Some(4052)),
        (r"\w{1000}".to_owned(), None),
        (r"\w{1000}".repeat(40), Some(4053)),
        (r"\pL{1000}".to_owned(), Some(4053)),
        ("(()()()()()()()()()()()()()()){1000}".to_owned(), Some(4053)),
        (r"^\x{D800}".to_owned(), Some(4055)),
        (r"[\x{D800}-\x{DFFF}]".to_owned(), Some(4055)),
    ];
    for (pattern, expected) in cases {
        let refusal = GoRegex::new(&pattern).err();
        assert_eq!(refusal.as_ref().map(|refusal| refusal.code.number), expected, "{pattern}");
        if let Some(refusal) = refusal {
            assert_eq!(Verdict::of(&refusal), Verdict::Unjudged);
            assert!(has_place(&pattern, refusal.span), "{pattern}");
        }
    }
}

#[test]
fn differs_from_the_regex_crate_where_go_does() {
    let cases = [
        (r"^\w$", "é", false),
        (r"^\d$", "٣", false),
        (r"^\s$", "\x0B", false),
        (r"^[[:space:]]$", "\x0B", true),
        (r"\bé\b", "é", false),
        ("^[a&&b]$", "&", true),
        ("^[a~~b]$", "~", true),
        ("^[a[b]$", "[", true),
        ("^a{1$", "a{1", true),
        ("^a{,3}$", "a{,3}", true),
        (r"^\Qa.b\E$", "a.b", true),
        (r"^\Qa.b\E$", "axb", false),
        (r"^\141$", "a", true),
        (r"^\<$", "<", true),
        ("(?i)^k$", "\u{212A}", true),
        (r"(?i)^\w$", "ſ", true),
        (r"(?i)^\W$", "ſ", false),
        ("(?i)^ß$", "ẞ", true),
        ("(?i)^i$", "İ", false),
        ("(?i)^ΐ$", "\u{1FD3}", false),
        ("a$", "a\n", false),
        ("(?m)a$", "a\nb", true),
        ("^.$", "\n", false),
        ("(?s)^.$", "\n", true),
        ("(?P<n>a)(?P<n>b)", "ab", true),
        (r"a*(?i)*", "b", true),
        (r"ſ|\B", "xſb", true),
        (r"[^\x00-\x{10FFFF}]", "a", false),
    ];
    for (pattern, text, expected) in cases {
        assert_eq!(GoRegex::new(pattern).unwrap().is_match(text), expected, "{pattern} on {text:?}");
    }
}

#[test]
fn unicode_classes_and_case_folding_are_gos() {
    let go = fixture(include_str!("../../../../tests/vectors/go-unicode.json"));
    for (name, digests) in go["classes"].as_object().unwrap() {
        for (key, fold_case) in [("exact", false), ("folded", true)] {
            // Whatever Go knows is known here, so that QW4054 is never told.
            let class = unicode::property(name, fold_case).unwrap();
            assert_eq!(digest(&class), digests[key].as_str().unwrap(), "{name} {key}");
        }
    }
    for name in strings(&go["refused"]) {
        assert_eq!(unicode::property(name, false), Err(unicode::Unknown::ToGo), "{name}");
    }
    let mut alone = regex_syntax::hir::ClassUnicode::empty();
    for orbit in go["orbits"].as_str().unwrap().split(' ') {
        let mut members = regex_syntax::hir::ClassUnicode::empty();
        orbit.chars().for_each(|c| members.union(&class::characters(c, c)));
        for c in orbit.chars() {
            assert_eq!(unicode::folded(class::characters(c, c)).unwrap(), members, "{orbit}");
        }
        alone.union(&members);
    }
    alone.negate();
    assert_eq!(digest(&unicode::folded(alone.clone()).unwrap()), digest(&alone));
}

/// As in the fixture: the ranges without surrogates, merged, in hexadecimal.
fn digest(class: &regex_syntax::hir::ClassUnicode) -> String {
    use sha2::{Digest as _, Sha256};
    let mut ranges = Vec::new();
    for range in class.ranges() {
        let (lo, hi) = (u32::from(range.start()), u32::from(range.end()));
        for (lo, hi) in [(lo, hi.min(0xD7FF)), (lo.max(0xE000), hi)] {
            if lo <= hi {
                ranges.push(format!("{lo:X}-{hi:X}"));
            }
        }
    }
    let digest = Sha256::digest(ranges.join(" ").as_bytes());
    digest.iter().take(8).fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

#[test]
fn knows_how_a_pattern_is_anchored() {
    let cases: BTreeMap<&str, (bool, bool, bool)> = [
        ("admin", (false, false, false)),
        ("^admin", (true, false, false)),
        ("^admin$", (true, true, false)),
        (r"\Aadmin\z", (true, true, false)),
        ("(^a$|^b$)", (true, true, false)),
        ("^(a|b)$", (true, true, false)),
        ("^a|b$", (false, false, true)),
        ("^a$|b", (false, false, false)),
        ("(?m)^a$", (false, false, false)),
        ("^*a", (false, false, false)),
    ]
    .into();
    for (pattern, (start, end, split)) in cases {
        assert_eq!(GoRegex::new(pattern).unwrap().anchors(), Anchors { start, end, split }, "{pattern}");
    }
}

fn has_place(pattern: &str, span: Option<Span>) -> bool {
    span.is_some_and(|span| pattern.get(span.start..span.end).is_some())
}

proptest! {
    #[test]
    fn is_total(pattern in r"[\[\]\\(){}|*+?^$.:,<>=!&~#iPQE0-9a-c \p{L}-]{0,24}", text in any::<String>()) {
        match GoRegex::new(&pattern) {
            Ok(regex) => { regex.is_match(&text); }
            Err(refusal) => prop_assert!(has_place(&pattern, refusal.span)),
        }
    }

    #[test]
    fn quoting_matches_the_text_itself(text in r"[^\\]{1,40}") {
        let regex = GoRegex::new(&format!(r"\A\Q{text}\E\z")).unwrap();
        prop_assert!(regex.is_match(&text));
        let longer = format!("{text}x");
        prop_assert!(!regex.is_match(&longer));
    }
}
