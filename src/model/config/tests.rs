//! What `YuniKorn` itself answered (`tests/vectors/yunikorn-{config,verdicts,checksum}.json`), and what holds for every text.

use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;

use super::verdict::judge;
use super::*;
use crate::text::diag::Severity;
use crate::text::yaml::edit::{self, Edit};

const ACTIVE: &[&str] = &["default"];

fn vectors(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The three answers, as the vectors write them.
fn answers(verdict: &Verdict) -> [String; 3] {
    let text = |result: &Result<(), String>| result.clone().err().unwrap_or_default();
    let reload = match &verdict.reloads {
        Ok(()) => String::new(),
        Err(ReloadError::Refused { reason, .. }) => reason.clone(),
        Err(ReloadError::Hangs { .. }) => "HANG".to_owned(),
    };
    [text(&verdict.validates), text(&verdict.starts), reload]
}

fn expected(row: &Value, names: [&str; 3]) -> [String; 3] {
    names.map(|name| row[name].as_str().unwrap().replace("!!! DEADLOCK (no return in 2s)", "HANG"))
}

#[test]
fn judges_as_yunikorn_does() {
    let config = vectors(include_str!("../../../tests/vectors/yunikorn-config.json"));
    let verdicts = vectors(include_str!("../../../tests/vectors/yunikorn-verdicts.json"));
    let first = config.as_array().unwrap().iter().map(|row| {
        (row, expected(row, ["validate_error", "initial_activation_error", "update_activation_error"]))
    });
    let second = verdicts["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row, expected(row, ["validate", "start", "reload"])));
    let rows: Vec<_> = first.chain(second).collect();
    assert!(rows.len() > 350, "{} rows", rows.len());
    for (row, expected) in rows {
        let text = row["yaml"].as_str().unwrap();
        // The vectors ask below the level where an empty text becomes the built-in one.
        let verdict = judge(text, ACTIVE);
        assert_eq!(answers(&verdict), expected, "{text}");
        if let Some(checksum) = row["checksum"].as_str() {
            assert_eq!(super::checksum(text), checksum, "{text}");
        }
        if let Some(acl) = row["root_submitacl"].as_str() {
            let config = verdict.config.unwrap();
            assert_eq!(config.partition("default").unwrap().root().submit_acl.value, acl, "{text}");
        }
    }
}

#[test]
fn errors_are_diagnosed_if_and_only_if_something_is_wrong() {
    let verdicts = vectors(include_str!("../../../tests/vectors/yunikorn-verdicts.json"));
    for row in verdicts["rows"].as_array().unwrap() {
        let text = row["yaml"].as_str().unwrap();
        let verdict = judge(text, ACTIVE);
        let refused = answers(&verdict).iter().any(|answer| !answer.is_empty());
        let hurts = verdict.hazards.iter().any(|hazard| matches!(hazard, Hazard::StartsWithoutRules { .. }));
        assert_eq!(verdict.has_errors(), refused || hurts, "{text}\n{verdict:#?}");
        for diagnostic in &verdict.diagnostics {
            if let Some(span) = diagnostic.span {
                assert!(text.get(span.start..span.end).is_some(), "{diagnostic:?} in {text}");
            }
        }
    }
}

#[test]
fn checksums_are_those_of_the_scheduler() {
    let vectors = vectors(include_str!("../../../tests/vectors/yunikorn-checksum.json"));
    for row in vectors["rows"].as_array().unwrap() {
        let text = row["text"].as_str().unwrap();
        assert_eq!(checksum(text), row["checksum"].as_str().unwrap(), "{text}");
        assert_eq!(contains_checksum_marker(text), text.contains("checksum: "));
    }
}

/// The samples with what `YuniKorn` says of them.
fn samples() -> Vec<(String, String, Value)> {
    let verdicts = vectors(include_str!("../../../tests/vectors/yunikorn-verdicts.json"));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let samples = verdicts["samples"].as_array().unwrap();
    samples
        .iter()
        .map(|row| {
            let name = row["file"].as_str().unwrap();
            (name.to_owned(), std::fs::read_to_string(folder.join(name)).expect(name), row.clone())
        })
        .collect()
}

#[test]
fn judges_the_samples_as_yunikorn_does() {
    for (name, text, row) in samples() {
        assert_eq!(answers(&judge(&text, ACTIVE)), expected(&row, ["validate", "start", "reload"]), "{name}");
        assert_eq!(checksum(&text), row["checksum"].as_str().unwrap(), "{name}");
    }
}

#[test]
fn the_place_of_a_queue_is_where_its_acl_can_be_edited() {
    let mut edited = 0;
    for (name, text, _) in samples() {
        let Some(config) = verdict(&text, ACTIVE).config else {
            continue;
        };
        for (index, partition) in config.partitions.iter().enumerate() {
            for queue in partition.queues() {
                let Some(place) = queue.place.clone().filter(|place| !place.shared) else {
                    continue;
                };
                let edit = Edit {
                    path: place.path.steps(),
                    key: "submitacl".to_owned(),
                    value: Some("sue devs".to_owned()),
                };
                let changed = edit::apply(&text, &[edit])
                    .unwrap_or_else(|error| panic!("{name} {}: {error}", queue.path));
                let changed = verdict(&changed, ACTIVE).config.expect(&name);
                for (before, after) in partition.queues().zip(changed.partitions[index].queues()) {
                    let expected =
                        if before.path == queue.path { "sue devs" } else { before.submit_acl.as_str() };
                    assert_eq!((&before.path, expected), (&after.path, after.submit_acl.as_str()), "{name}");
                }
                edited += 1;
            }
        }
    }
    assert!(edited > 50, "{edited}");
}

#[test]
fn an_empty_text_is_the_built_in_configuration() {
    let verdict = verdict("", ACTIVE);
    let root = verdict.config.as_ref().unwrap().partition("default").unwrap().root();
    assert_eq!(root.submit_acl.value, "*");
    assert_eq!(verdict.hazards, [Hazard::DefaultConfig]);
    assert_eq!((verdict.validates, verdict.starts, verdict.reloads), (Ok(()), Ok(()), Ok(())));
}

#[test]
fn a_reload_keeps_what_came_before_the_wrong_partition() {
    let text =
        "partitions: [{name: default, queues: []}, {name: gpu, queues: [{name: root, submitacl: 'a  b'}]}]\n";
    let Err(ReloadError::Refused { reason, applied }) = verdict(text, &["default", "gpu"]).reloads else {
        panic!()
    };
    assert_eq!(reason, "configured queue creation failed: \nmultiple spaces found in ACL: 'a  b'");
    assert_eq!(applied, ["default"]);
}

#[test]
fn a_reload_without_an_active_partition_hangs() {
    let text = "partitions: [{name: default, queues: []}]\n";
    let verdict = verdict(text, &["default", "gpu"]);
    assert_eq!(verdict.reloads, Err(ReloadError::Hangs { missing: vec!["gpu".to_owned()] }));
    assert_eq!(verdict.diagnostics[0].code, codes::PARTITION_MISSING);
}

/// What YuniKorn says about an ACL is told in the words of the ACL's own findings, which name the place and the remedy.
#[test]
fn errors_about_acls_are_told_by_what_is_wrong_with_the_acl() {
    let own = [codes::ACL_PARTS, codes::ACL_STRICT];
    for acl in ["a  b", " a b", "a b ", "a b c", "a b\tc", "a,\u{b}b  c", "* a *", "\t\u{a0} a b c"] {
        let quoted = serde_json::to_string(acl).unwrap();
        let text = format!(
            "partitions: [{{queues: [{{name: root, queues: [{{name: a, submitacl: {quoted}}}]}}]}}]\n"
        );
        let verdict = judge(&text, ACTIVE);
        assert!(verdict.validates.is_err() || verdict.starts.is_err(), "{acl:?}");
        let errors: Vec<_> =
            verdict.diagnostics.iter().filter(|found| found.is_error()).map(|found| found.code).collect();
        assert!(!errors.is_empty() && errors.iter().all(|code| !own.contains(code)), "{acl:?}: {errors:?}");
    }
}

#[test]
fn partitions_that_are_not_known_are_those_of_the_text() {
    assert_eq!(verdict("partitions: [{name: gpu, queues: []}]\n", &[]).reloads, Ok(()));
    let text = "partitions: [{name: gpu, queues: [], placementrules: [{name: tag}]}]\n";
    assert!(verdict(text, &[]).reloads.is_err());
    assert_eq!(
        verdict(text, &["default"]).reloads,
        Err(ReloadError::Hangs { missing: vec!["default".to_owned()] })
    );
}

/// The codes and severities that a text is diagnosed with.
fn codes_of(text: &str) -> Vec<(u16, Severity)> {
    verdict(text, ACTIVE)
        .diagnostics
        .iter()
        .map(|diagnostic| (diagnostic.code.number, diagnostic.severity))
        .collect()
}

#[test]
fn warns_of_what_is_accepted_but_does_not_do_what_it_says() {
    use Severity::{Error, Warning};
    let with = |partition: &str| format!("partitions: [{{name: default, queues: [], {partition}}}]\n");
    let rule = |rule: &str| with(&format!("placementrules: [{{{rule}}}]"));
    for (text, expected) in [
        (rule("name: user, filter: {type: Deny}"), (3030, Warning)),
        (rule("name: user, parent: {name: user, filter: {users: [a, 'b.*']}}"), (3031, Warning)),
        (rule("name: user, filter: {users: ['svc$']}"), (3037, Warning)),
        // Nested deeper than what is judged here; Go compiles it.
        (
            rule(&format!("name: user, filter: {{users: ['{}a{}']}}", "(".repeat(30), ")".repeat(30))),
            (4052, Warning),
        ),
        (rule("name: user, filter: {users: ['[']}"), (3012, Error)),
        (rule("name: user, filter: {groups: ['g h']}"), (3012, Error)),
        (rule("name: user, filter: {groups: [a, a b]}"), (3031, Warning)),
        (with("usergroupresolver: {type: LDAP}"), (3034, Warning)),
        ("partitions: [{queues: []}]\n---\nfoo: bar\n".to_owned(), (3032, Warning)),
        ("partitions: [{queues: []}] # checksum: x\n".to_owned(), (3033, Warning)),
        (
            "partitions: [{queues: [{name: root, queues: [{name: ROOT, resources: {max: {a: 1}}}]}]}]\n"
                .to_owned(),
            (3036, Warning),
        ),
        (rule("name: fixed, value: rootfoo, create: true"), (3025, Warning)),
        (rule("name: Fixed, value: ROOT_a.b, create: true"), (3025, Warning)),
        (rule("name: test"), (3025, Warning)),
        (rule("name: nonsense"), (3023, Error)),
        (rule("name: tag"), (3023, Error)),
        (rule("name: recovery"), (3023, Error)),
        ("partitions: [{queues: [{name: Root}]}]\n".to_owned(), (3020, Error)),
        (
            "partitions: [{queues: [{name: root, childtemplate: {resources: {max: {a: x}}}}]}]\n".to_owned(),
            (3022, Error),
        ),
    ] {
        assert_eq!(codes_of(&text), [expected], "{text}");
    }
}

#[test]
fn findings_about_an_acl_point_into_its_text() {
    for (acl, place) in [
        ("a,sue:x", "sue:x"),
        ("'a,sue:x'", "sue:x"),
        ("\"a,sue:x\"", "sue:x"),
        // Where an escape hides which character is which, the whole value.
        ("\"a,sue\\x3ax\"", "\"a,sue\\x3ax\""),
        ("&anchor 'a,sue:x'", "&anchor 'a,sue:x'"),
    ] {
        let text = format!("partitions: [{{queues: [{{name: root, submitacl: {acl}}}]}}]\n");
        let findings = verdict(&text, ACTIVE).diagnostics;
        let [finding] = findings.as_slice() else { panic!("{findings:?}") };
        let span = finding.span.unwrap();
        assert_eq!(text.get(span.start..span.end), Some(place), "{text}");
    }
}

#[test]
fn what_is_fine_has_no_finding() {
    for text in [
        BUILT_IN,
        "partitions: [{queues: []}]\n---\n# only a comment\n",
        "partitions: [{queues: []}]\n...\n",
        "# ---\npartitions:\n  - name: default\n    queues:\n      - name: root\n        properties:\n          a: |-\n            --- x\n",
        "partitions: [{queues: [{name: root, queues: [{name: rootfoo}]}], placementrules: [{name: fixed, value: root.rootfoo, create: true}]}]\n",
    ] {
        assert_eq!(codes_of(text), [], "{text}");
    }
}

#[test]
fn codes_are_unique() {
    let mut numbers: Vec<_> = CODES.iter().map(|code| code.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), CODES.len());
    assert!(numbers.iter().all(|number| (3000..4000).contains(number)));
}

#[test]
fn the_deepest_text_fits_the_stack() {
    let nest =
        |open: &str, close: &str, levels: usize| format!("{}{}", open.repeat(levels), close.repeat(levels));
    let queues = nest("{name: q, queues: [", "]}", 123);
    let rules = nest("{name: user, parent: ", "}", 248).replace(": }", ": {name: user}}");
    let text = format!("partitions: [{{queues: [{queues}], placementrules: [{rules}]}}]\n");
    let verdict = verdict(&text, ACTIVE);
    assert_eq!(verdict.validates, Ok(()), "{text}");
    let config = verdict.config.unwrap();
    assert_eq!(config.partitions[0].queues().map(|queue| queue.path.depth()).max(), Some(123));
}

#[test]
fn work_is_bounded() {
    let names = |count: usize| (0..count).map(|n| format!("r{n}: 1")).collect::<Vec<_>>().join(", ");
    let queues = (0..8000).map(|n| format!("{{name: q{n}}}")).collect::<Vec<_>>().join(", ");
    let text = format!(
        "partitions: [{{queues: [{queues}, {{name: x, resources: {{max: {{{}}}}}}}]}}]\n",
        names(8000)
    );
    let verdict = verdict(&text, ACTIVE);
    assert_eq!(verdict.diagnostics[0].code, codes::TOO_LARGE);
    assert_eq!(verdict.config, None);
}

/// A text with pieces of others in it, cut anywhere.
fn mutated() -> impl Strategy<Value = String> {
    let texts: Vec<String> =
        samples().into_iter().map(|(_, text, _)| text).filter(|text| !text.is_empty()).collect();
    let pieces = prop::sample::select(vec![
        "*",
        "&a ",
        "*a",
        "<<: *a\n",
        "---\n",
        "...\n",
        "'",
        "\"",
        "|\n",
        "[",
        "]",
        "{",
        "}",
        ": ",
        "- ",
        "\t",
        "\r\n",
        "\0",
        "é",
        "\u{2028}",
        "!!binary /w==",
        "~",
        "010",
        "queues:",
        "limits:",
        "checksum: ",
        "\u{feff}",
        "#",
    ]);
    let change = (any::<prop::sample::Index>(), 0..20_usize, pieces);
    (prop::sample::select(texts), prop::collection::vec(change, 0..6)).prop_map(|(text, changes)| {
        let mut chars: Vec<char> = text.chars().collect();
        for (at, removed, piece) in changes {
            let at = at.index(chars.len() + 1);
            let end = (at + removed).min(chars.len());
            chars.splice(at..end, piece.chars());
        }
        chars.into_iter().collect()
    })
}

proptest! {
    #[test]
    fn never_panics_and_points_into_the_text(text in mutated()) {
        let verdict = verdict(&text, ACTIVE);
        checksum(&text);
        prop_assert_eq!(verdict.config.is_some(), verdict.validates.is_ok());
        for span in verdict.diagnostics.iter().filter_map(|diagnostic| diagnostic.span) {
            prop_assert!(text.get(span.start..span.end).is_some(), "{:?}", span);
        }
    }

    #[test]
    fn every_queue_is_found_by_its_path(text in mutated()) {
        let Some(config) = verdict(&text, ACTIVE).config else { return Ok(()) };
        for partition in &config.partitions {
            let paths: Vec<_> = partition.queues().map(|queue| &queue.path).collect();
            for queue in partition.queues() {
                prop_assert_eq!(partition.queue(&queue.path), Some(queue));
                prop_assert_eq!(partition.nearest(&queue.path.child("no-such-queue").unwrap()), queue);
                for child in partition.children(queue) {
                    prop_assert_eq!(partition.parent(child), Some(queue));
                    prop_assert!(paths.contains(&&child.path));
                }
            }
        }
    }
}
