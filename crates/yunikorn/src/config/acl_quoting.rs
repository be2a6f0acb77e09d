//! Tests the effect of YAML's quoting on an ACL, in the whole text: the spans of the findings, whether it
//! starts and reloads, and what only the YAML shows. The ACL's own side is in `acl::pitfalls`.

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

/// The text after `submitacl: `; the text that `YuniKorn` gets; the access it grants, in the canonical form;
/// the findings as code and text of the span.
type Read = (&'static str, &'static str, &'static str, &'static [(u16, &'static str)]);

#[rustfmt::skip]
const READ: &[Read] = &[
    // The wildcard.
    (r#"" *""#, " *", "*", &[]),
    ("|\n          *", "*\n", "*", &[(1004, "|\n          *")]),
    ("|-\n          *", "*", "*", &[]),
    ("“*”", "“*”", "", &[(1012, "“*”"), (1024, "“*”")]),
    // The same quotes as in copies of the documentation, read in a wrong encoding.
    ("โ€œ*โ€", "โ€œ*โ€", "", &[(1012, "โ€œ*โ€"), (1024, "โ€œ*โ€")]),
    (r#"'"*"'"#, "\"*\"", "", &[(1012, "\"*\""), (1024, "\"*\"")]),
    ("sue,*", "sue,*", "sue", &[(1009, "*")]),
    // Nobody.
    ("null", "", "", &[]),
    ("' '", " ", "", &[]),
    ("# nobody", "", "", &[]),
    // Groups alone: without quotes the leading space is lost, and the groups are users. YAML leaves no trace
    // of it.
    ("' dev,test'", " dev,test", " dev,test", &[]),
    ("|2-\n           dev,test", " dev,test", " dev,test", &[]),
    (" dev,test", "dev,test", "dev,test", &[]),
    ("    dev,test", "dev,test", "dev,test", &[]),
    // Users and groups.
    ("sue   ", "sue", "sue", &[]),
    ("|-\n          sue dev", "sue dev", "sue dev", &[]),
    // White space that is kept.
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
fn what_is_written_in_yaml_is_what_the_acl_gets_to_read() {
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
fn spaces_too_many_start_no_scheduler_however_they_are_quoted() {
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
fn what_is_no_yaml_text_is_refused_with_the_quotes_to_add() {
    let cases = [
        ("*", "`*` has no name behind it", "\"*\""),
        ("* dev", "`*` has no name behind it", "\"*\""),
        ("@dev", "a value cannot begin with `@`", "quotes"),
        ("`*`", "a value cannot begin with", "quotes"),
        ("\"*", "this quote is never closed", "close it"),
        ("- bob", "a list cannot begin on the line of its key", "quotes"),
        ("sue: dev", "a second `:` makes no key here", "quotes"),
        ("[sue, bob]", "a text is expected here, and this is a list", "write a text, such as `\"sue,bob\"`"),
        ("{{ acl }}", "a key that has an anchor or is no plain text", "quotes"),
        ("!bob", "a tag is read differently", "quotes"),
        // An alias by accident: the name after the star.
        ("*dev", "nothing above has the anchor `dev`", "quotes"),
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
