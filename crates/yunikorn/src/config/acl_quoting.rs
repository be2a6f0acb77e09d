//! Tests how YAML's quoting affects an ACL in a complete text: the spans of the findings, whether the text
//! starts and reloads, and problems that only the YAML shows. `acl::pitfalls` covers the ACL syntax itself.

use super::{Assessment, verdict};
use crate::acl;
use crate::version::Version;

fn decided(written: &str) -> (String, Assessment) {
    let text = format!(
        "partitions:\n  - name: default\n    queues:\n      - name: root\n        submitacl: \
         {written}\n        adminacl: sue dev\n"
    );
    let verdict = verdict(&text, &["default"], Version::V1_8);
    (text, verdict)
}

/// The text after `submitacl: `; the text that `YuniKorn` gets; the access it grants, in canonical form; the
/// findings as code and text of the span.
type Read = (&'static str, &'static str, &'static str, &'static [(u16, &'static str)]);

#[rustfmt::skip]
const READ: &[Read] = &[
    // The wildcard.
    (r#"" *""#, " *", "*", &[]),
    ("|\n          *", "*\n", "*", &[(1004, "|\n          *")]),
    ("|-\n          *", "*", "*", &[]),
    ("“*”", "“*”", "", &[(1012, "“*”"), (1024, "“*”")]),
    // The same quotes in a wrong encoding, as in copies of the documentation.
    ("โ€œ*โ€", "โ€œ*โ€", "", &[(1012, "โ€œ*โ€"), (1024, "โ€œ*โ€")]),
    (r#"'"*"'"#, "\"*\"", "", &[(1012, "\"*\""), (1024, "\"*\"")]),
    ("sue,*", "sue,*", "sue", &[(1009, "*")]),
    // Nobody.
    ("null", "", "", &[]),
    ("' '", " ", "", &[]),
    ("# nobody", "", "", &[]),
    // Groups alone. Without quotes, YAML drops the leading space without a trace, and the groups become
    // users.
    ("' dev,test'", " dev,test", " dev,test", &[]),
    ("|2-\n           dev,test", " dev,test", " dev,test", &[]),
    (" dev,test", "dev,test", "dev,test", &[]),
    ("    dev,test", "dev,test", "dev,test", &[]),
    // Users and groups.
    ("sue   ", "sue", "sue", &[]),
    ("|-\n          sue dev", "sue dev", "sue dev", &[]),
    // Preserved white space.
    (">\n          sue dev", "sue dev\n", "sue", &[(1004, ">\n          sue dev")]),
    ("|\n          sue", "sue\n", "", &[(1004, "|\n          sue"), (1024, "|\n          sue")]),
    ("|\n          sue\n          bob", "sue\nbob\n", "", &[(1004, "|\n          sue\n          bob"), (1024, "|\n          sue\n          bob")]),
    (r#""sue\tdev""#, "sue\tdev", "", &[(1004, r#""sue\tdev""#), (1024, r#""sue\tdev""#)]),
    ("\u{a0}dev", "\u{a0}dev", "", &[(1004, "\u{a0}dev"), (1024, "\u{a0}dev")]),
    ("sue, bob", "sue, bob", "sue bob", &[(1005, ", ")]),
    ("sue,\n          bob", "sue, bob", "sue bob", &[(1005, "sue,\n          bob")]),
    // Texts that YAML reads as something else.
    (r#""!bob""#, "!bob", "", &[(1013, "!bob"), (1024, "!bob")]),
    ("-bob", "-bob", "", &[(1013, "-bob"), (1024, "-bob")]),
    ("^bob", "^bob", "", &[(1013, "^bob"), (1024, "^bob")]),
    ("1000", "1000", "", &[(1020, "1000"), (1024, "1000")]),
    ("sue #dev", "sue", "sue", &[]),
];

#[test]
fn yaml_scalar_gives_the_expected_acl_text() {
    for (written, value, canonical, found) in READ {
        let (text, verdict) = decided(written);
        let config = verdict.config.as_ref().expect(written);
        let root = config.partition("default").expect("a partition").root();
        assert_eq!(root.submit_acl.as_str(), *value, "{written:?}");
        assert_eq!(root.admin_acl.as_str(), "sue dev", "{written:?}");
        let acl = acl::parse(value).expect(written);
        assert_eq!(acl.canonical(), *canonical, "{written:?}");
        let reported: Vec<(u16, &str)> = verdict
            .diagnostics
            .iter()
            .map(|finding| {
                let at = finding.span.expect("a span");
                (finding.code.number, text.get(at.start..at.end).expect("within the text"))
            })
            .collect();
        assert_eq!(reported, *found, "{written:?}");
        assert!(!verdict.has_errors(), "{written:?}");
    }
}

#[test]
fn surplus_spaces_prevent_a_start_in_any_quoting() {
    let cases = [
        ("sue  dev", 1001, "  "),
        (r#""sue  dev""#, 1001, "  "),
        (r#""sue dev ""#, 1002, " "),
        (r#""  dev""#, 1002, "  "),
        (r#""  ""#, 1002, "  "),
        ("|-\n            sue dev ", 1002, "|-\n            sue dev "),
        (">-\n          sue\n\n          dev", 1004, ">-\n          sue\n\n          dev"),
    ];
    for (written, code, fragment) in cases {
        let (text, verdict) = decided(written);
        assert!(verdict.validates.is_ok(), "{written:?}");
        let refused = code != 1004;
        assert_eq!((verdict.starts.is_err(), verdict.reloads.is_err()), (refused, refused), "{written:?}");
        let first = verdict.diagnostics.first().expect("a finding");
        let at = first.span.expect("a span");
        assert_eq!((first.code.number, text.get(at.start..at.end)), (code, Some(fragment)), "{written:?}");
        assert_eq!(first.is_error(), refused, "{written:?}");
    }
}

#[test]
fn invalid_yaml_is_refused_with_help_to_quote() {
    let cases = [
        ("*", "`*` is not followed by a name", "\"*\""),
        ("* dev", "`*` is not followed by a name", "\"*\""),
        ("@dev", "a value cannot begin with `@`", "quote"),
        ("`*`", "a value cannot begin with", "quote"),
        ("\"*", "this quote is never closed", "close it"),
        ("- bob", "a list cannot begin on the line of its key", "quote"),
        ("sue: dev", "a second `:` is not allowed here", "quote"),
        ("[sue, bob]", "expected a string, found a list", "write a string, such as `\"sue,bob\"`"),
        ("{{ acl }}", "a key that has an anchor or is not plain text", "quote"),
        ("!bob", "a tag is read differently", "quote"),
        // An accidental alias, from the name after the star.
        ("*dev", "the anchor `dev` is not defined above", "quote"),
    ];
    for (written, refusal, help) in cases {
        let (_, verdict) = decided(written);
        let said = verdict.validates.expect_err(written);
        assert!(said.contains(refusal), "{written:?}: {said}");
        let reported = verdict.diagnostics.first().and_then(|finding| finding.help.clone());
        assert!(reported.unwrap_or_default().contains(help), "{written:?}");
        assert_eq!(verdict.starts.err(), Some(said), "{written:?}");
    }
}
