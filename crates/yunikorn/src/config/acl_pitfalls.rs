//! Follows an ACL from queues.yaml to the scheduler: first YAML's quoting, then the ACL's own syntax.
//!
//! The expectations come from yunikorn-core 1.8.0 (`ParseAndValidateConfig`, then `NewACL`) and from the
//! rules in its documentation: quote the wildcard, quote a leading space.

use super::verdict;
use crate::acl::{Acl, codes, lint, parse, validates};
use crate::version::Version;
use go_compat::diag::Code;

/// Returns the ACL text that the scheduler gets for this YAML after `submitacl:`, or the error.
fn through_yaml(scalar: &str) -> Result<String, String> {
    let text = format!(
        "partitions:\n  - name: default\n    queues:\n      - name: root\n        submitacl: {scalar}\n"
    );
    let verdict = verdict(&text, &[], Version::V1_8);
    verdict.validates?;
    let config = verdict.config.expect("a configuration");
    Ok(config.partition("default").expect("a partition").root().submit_acl.value.clone())
}

#[test]
fn well_quoted_text_survives_yaml() {
    let cases = [
        ("\"*\"", "*"),
        ("'*'", "*"),
        ("\"*\" # all", "*"),
        ("sue", "sue"),
        ("sue dev,test", "sue dev,test"),
        ("\"sue dev,test\"", "sue dev,test"),
        ("sue dev # those", "sue dev"),
        ("\" product\"", " product"),
        ("' dev'", " dev"),
        (">-\n          sue\n          dev", "sue dev"),
        ("sue\n          dev", "sue dev"),
        ("\"\"", ""),
        ("\" \"", ""),
        ("", ""),
        ("~", ""),
    ];
    for (scalar, canonical) in cases {
        let text = through_yaml(scalar).expect(scalar);
        assert_eq!(parse(&text).expect("activates").canonical(), canonical, "{scalar}");
        assert_eq!(lint(&text).diagnostics, [], "{scalar}");
    }
}

#[test]
fn text_that_needs_quotes_is_refused_by_yaml() {
    let cases = [
        ("*", "yaml: line 5: `*` is not followed by a name"),
        ("*,sue", "yaml: line 5: `*` is not followed by a name"),
        ("\"sue", "yaml: line 5: this quote is never closed"),
        ("@dev", "yaml: line 5: a value cannot begin with `@`"),
        ("sue: dev", "yaml: line 5: a second `:` is not allowed here"),
        ("[sue, bob]", "yaml: line 5: expected a string, found a list"),
    ];
    for (scalar, error) in cases {
        assert_eq!(through_yaml(scalar), Err(error.to_owned()), "{scalar}");
    }
}

#[test]
fn text_changed_by_yaml_is_reported() {
    let cases: [(&str, &str, &str, &[Code]); 9] = [
        // A block scalar keeps its line break, which invalidates the last name.
        ("|\n          sue dev", "sue dev\n", "sue", &[codes::ODD_SPACE]),
        (">\n          sue", "sue\n", "", &[codes::ODD_SPACE, codes::NOBODY]),
        ("\"sue\\tdev\"", "sue\tdev", "", &[codes::ODD_SPACE, codes::NOBODY]),
        // Quoted twice.
        ("'\"*\"'", "\"*\"", "", &[codes::QUOTES, codes::NOBODY]),
        ("\"'sue'\"", "'sue'", "", &[codes::QUOTES, codes::NOBODY]),
        // A number in YAML, but a string in Go.
        ("123", "123", "", &[codes::FIRST_CHARACTER, codes::NOBODY]),
        ("yes", "yes", "yes", &[codes::KEYWORD]),
        ("true", "true", "true", &[codes::KEYWORD]),
        ("-bob", "-bob", "", &[codes::DENY, codes::NOBODY]),
    ];
    for (scalar, arrives, canonical, found) in cases {
        let text = through_yaml(scalar).expect(scalar);
        assert_eq!(text, arrives, "{scalar}");
        let analysis = lint(&text);
        assert_eq!(analysis.acl.map(|acl| acl.canonical()).as_deref(), Some(canonical), "{scalar}");
        let codes: Vec<Code> = analysis.diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
        assert_eq!(codes, found, "{scalar}");
    }
}

/// YAML removes a leading space, which is invisible in the resulting ACL text.
#[test]
fn text_that_yaml_drops_is_not_reported() {
    let product = through_yaml(" product").expect("plain");
    assert_eq!(
        Acl::named::<_, &str>(&["product"], &[]),
        Ok(parse(&product).expect("activates")),
        "a user, no group"
    );
    assert_eq!(lint(&product).diagnostics, []);
    assert!(through_yaml("!bob").is_err_and(|error| error.contains("a tag is read differently")));
}

#[test]
fn two_spaces_pass_yaml_and_fail_activation() {
    let text = through_yaml("sue  dev").expect("plain");
    assert!(parse(&text).is_err() && validates(&text).is_ok());
}

#[test]
fn yaml_text_survives_yaml() {
    for text in ["", "*", "sue", " dev", "sue,bob.c@d$ dev,ops", "_ _"] {
        let acl = parse(text).expect(text);
        let arrived = through_yaml(&acl.yaml()).expect("quoted");
        assert_eq!(parse(&arrived), Ok(acl), "{text:?}");
    }
}
