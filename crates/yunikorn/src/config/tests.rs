//! Compares with `YuniKorn`'s recorded answers (`tests/vectors/yunikorn-{config,verdicts,checksum}.json`),
//! and tests properties of all texts.

use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;

use super::verdict::assess;
use super::*;
use crate::version::Version;
use go_compat::diag::{Diagnostic, Severity, Span};
use go_compat::yaml::EDIT;
use go_compat::yaml::decode::items;
use go_compat::yaml::edit::{self, Edit};

const ACTIVE: &[&str] = &["default"];

fn vectors(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Returns the three answers in the form of the vectors.
fn answers(verdict: &Assessment) -> [String; 3] {
    let text = |result: &Result<(), String>| result.clone().err().unwrap_or_default();
    let reload = match &verdict.reloads {
        Ok(()) => String::new(),
        Err(ReloadError::Refused(reason)) => reason.clone(),
        Err(ReloadError::Hangs { .. }) => "HANG".to_owned(),
    };
    [text(&verdict.validates), text(&verdict.starts), reload].map(worded)
}

/// Removes the details of a YAML error, whose wording may differ.
fn worded(refusal: String) -> String {
    if refusal.starts_with("yaml: ") { "yaml".to_owned() } else { refusal }
}

fn expected(row: &Value, names: [&str; 3]) -> [String; 3] {
    names.map(|name| match row[name].as_str().unwrap() {
        "deadlock" | "!!! DEADLOCK (no return in 2s)" => "HANG".to_owned(),
        answer => worded(answer.to_owned()),
    })
}

#[test]
fn verdicts_equal_yunikorns() {
    let config = vectors(include_str!("../../../../tests/vectors/yunikorn-config.json"));
    let verdicts = vectors(include_str!("../../../../tests/vectors/yunikorn-verdicts.json"));
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
    let mut unsure = 0;
    for (row, expected) in rows {
        let text = row["yaml"].as_str().unwrap();
        // The vectors were recorded at a level below the one that replaces an empty text by the built-in one.
        let verdict = assess(text, ACTIVE, Version::V1_8);
        if verdict.unsure {
            unsure += 1;
            continue;
        }
        assert_eq!(answers(&verdict), expected, "{text}");
        if let Some(checksum) = row["checksum"].as_str() {
            assert_eq!(super::checksum(text), checksum, "{text}");
        }
        if let Some(acl) = row["root_submitacl"].as_str() {
            let config = verdict.config.unwrap();
            assert_eq!(config.partition("default").unwrap().root().submit_acl.value, acl, "{text}");
        }
    }
    assert!(unsure < 10, "{unsure}");
}

#[test]
fn errors_are_reported_exactly_for_bad_texts() {
    let verdicts = vectors(include_str!("../../../../tests/vectors/yunikorn-verdicts.json"));
    for row in verdicts["rows"].as_array().unwrap() {
        let text = row["yaml"].as_str().unwrap();
        let verdict = assess(text, ACTIVE, Version::V1_8);
        let refused = answers(&verdict).iter().any(|answer| !answer.is_empty());
        // For a partition that does not run yet, only the start shows that the rules are wrong.
        let hurts = read(text).is_ok_and(|config| {
            let mut rules = items(&config.partitions).iter().flat_map(|found| items(&found.placement_rules));
            rules.any(|rule| activate::check_rule(rule).is_err())
        });
        assert_eq!(verdict.has_errors(), refused || hurts, "{text}\n{verdict:#?}");
        for diagnostic in &verdict.diagnostics {
            if let Some(span) = diagnostic.span {
                assert!(text.get(span.start..span.end).is_some(), "{diagnostic:?} in {text}");
            }
        }
    }
}

#[test]
fn checksums_equal_the_schedulers() {
    let vectors = vectors(include_str!("../../../../tests/vectors/yunikorn-checksum.json"));
    for row in vectors["rows"].as_array().unwrap() {
        let text = row["text"].as_str().unwrap();
        assert_eq!(checksum(text), row["checksum"].as_str().unwrap(), "{text}");
        assert_eq!(contains_checksum_marker(text), text.contains("checksum: "));
    }
}

/// Returns the samples with `YuniKorn`'s answers.
fn samples() -> Vec<(String, String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/samples");
    include_str!("../../../../tests/vectors/yunikorn-samples.jsonl")
        .lines()
        .map(|line| {
            let row = vectors(line);
            let name = row["file"].as_str().unwrap().to_owned();
            let text = std::fs::read_to_string(folder.join(&name)).expect(&name);
            (name, text, row)
        })
        .collect()
}

#[test]
fn verdicts_on_samples_equal_yunikorns() {
    for (name, text, row) in samples() {
        let (verdict, expected) =
            (assess(&text, ACTIVE, Version::V1_8), expected(&row, ["validate", "start", "reload"]));
        if verdict.unsure {
            assert_eq!(expected[0], "yaml", "{name}: YuniKorn takes it");
        } else {
            assert_eq!(answers(&verdict), expected, "{name}");
        }
        assert_eq!(checksum(&text), row["checksum"].as_str().unwrap(), "{name}");
    }
}

#[test]
fn location_of_a_queue_allows_editing_its_acl() {
    let mut edited = 0;
    for (name, text, _) in samples() {
        let Some(config) = verdict(&text, ACTIVE, Version::V1_8).config else {
            continue;
        };
        for (index, partition) in config.partitions.iter().enumerate() {
            for queue in partition.queues() {
                let Some(fragment) = queue.location.clone().filter(|fragment| !fragment.shared) else {
                    continue;
                };
                let edit = Edit {
                    path: fragment.path.steps(),
                    key: "submitacl".to_owned(),
                    value: "sue devs".to_owned(),
                };
                let changed = match edit::apply(&text, &[edit]) {
                    Ok(changed) => changed,
                    // The value has an anchor that other queues use.
                    Err(error) if error.code == EDIT && text.contains("submitacl: &") => continue,
                    Err(error) => panic!("{name} {}: {error}", queue.path),
                };
                let changed = verdict(&changed, ACTIVE, Version::V1_8).config.expect(&name);
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
fn empty_text_is_the_built_in_configuration() {
    let verdict = verdict("", ACTIVE, Version::V1_8);
    let root = verdict.config.as_ref().unwrap().partition("default").unwrap().root();
    assert_eq!(root.submit_acl.value, "*");
    assert_eq!(codes_of(""), [(codes::DEFAULT_CONFIG.number, Severity::Warning)]);
    assert_eq!((verdict.validates, verdict.starts, verdict.reloads), (Ok(()), Ok(()), Ok(())));
}

#[test]
fn reload_is_refused_for_a_later_partition() {
    let text =
        "partitions: [{name: default, queues: []}, {name: gpu, queues: [{name: root, submitacl: 'a  b'}]}]\n";
    let reason = "configured queue creation failed: \nmultiple spaces found in ACL: 'a  b'".to_owned();
    let verdict = verdict(text, &["default", "gpu"], Version::V1_8);
    assert_eq!(verdict.reloads, Err(ReloadError::Refused(reason)));
}

#[test]
fn reload_without_an_active_partition_hangs() {
    let text = "partitions: [{name: default, queues: []}]\n";
    let verdict = verdict(text, &["default", "gpu"], Version::V1_8);
    assert_eq!(verdict.reloads, Err(ReloadError::Hangs { missing: vec!["gpu".to_owned()] }));
    assert_eq!(verdict.diagnostics[0].code, codes::PARTITION_MISSING);
}

/// An error of YuniKorn about an ACL is reported as the ACL's own finding, which has a span and help.
#[test]
fn error_about_an_acl_is_reported_as_the_acls_finding() {
    let own = [codes::ACL_PARTS, codes::ACL_STRICT];
    for acl in ["a  b", " a b", "a b ", "a b c", "a b\tc", "a,\u{b}b  c", "* a *", "\t\u{a0} a b c"] {
        let quoted = serde_json::to_string(acl).unwrap();
        let text = format!(
            "partitions: [{{queues: [{{name: root, queues: [{{name: a, submitacl: {quoted}}}]}}]}}]\n"
        );
        let verdict = assess(&text, ACTIVE, Version::V1_8);
        assert!(verdict.validates.is_err() || verdict.starts.is_err(), "{acl:?}");
        let errors: Vec<_> =
            verdict.diagnostics.iter().filter(|found| found.is_error()).map(|found| found.code).collect();
        assert!(!errors.is_empty() && errors.iter().all(|code| !own.contains(code)), "{acl:?}: {errors:?}");
    }
}

#[test]
fn unknown_active_partitions_are_taken_from_the_text() {
    assert_eq!(verdict("partitions: [{name: gpu, queues: []}]\n", &[], Version::V1_8).reloads, Ok(()));
    let text = "partitions: [{name: gpu, queues: [], placementrules: [{name: tag}]}]\n";
    assert!(verdict(text, &[], Version::V1_8).reloads.is_err());
    assert_eq!(
        verdict(text, &["default"], Version::V1_8).reloads,
        Err(ReloadError::Hangs { missing: vec!["default".to_owned()] })
    );
}

/// Returns the codes and severities of the findings about a text.
fn codes_of(text: &str) -> Vec<(u16, Severity)> {
    verdict(text, ACTIVE, Version::V1_8)
        .diagnostics
        .iter()
        .map(|diagnostic| (diagnostic.code.number, diagnostic.severity))
        .collect()
}

#[test]
fn accepted_text_with_an_unexpected_effect_has_a_warning() {
    use Severity::{Error, Warning};
    let with = |partition: &str| format!("partitions: [{{name: default, queues: [], {partition}}}]\n");
    let rule = |rule: &str| with(&format!("placementrules: [{{{rule}}}]"));
    for (text, expected) in [
        (rule("name: user, filter: {type: Deny}"), (3030, Warning)),
        (rule("name: user, parent: {name: user, filter: {users: [a, 'b.*']}}"), (3031, Warning)),
        (rule("name: user, filter: {users: ['svc$']}"), (3037, Warning)),
        // Nested deeper than is checked here; Go compiles it.
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
    for (acl, fragment) in [
        ("a,sue:x", "sue:x"),
        ("'a,sue:x'", "sue:x"),
        ("\"a,sue:x\"", "sue:x"),
        // If an escape hides which character is which, the span is the whole value.
        ("\"a,sue\\x3ax\"", "\"a,sue\\x3ax\""),
        ("&anchor 'a,sue:x'", "&anchor 'a,sue:x'"),
    ] {
        let text = format!("partitions: [{{queues: [{{name: root, submitacl: {acl}}}]}}]\n");
        let findings = verdict(&text, ACTIVE, Version::V1_8).diagnostics;
        let [finding] = findings.as_slice() else { panic!("{findings:?}") };
        let span = finding.span.unwrap();
        assert_eq!(text.get(span.start..span.end), Some(fragment), "{text}");
    }
}

#[test]
fn good_text_has_no_finding() {
    for text in [
        BUILT_IN,
        "partitions: [{queues: []}]\n---\n# only a comment\n",
        "partitions: [{queues: []}]\n...\n",
        "# ---\npartitions:\n  - name: default\n    queues:\n      - name: root\n        \
         properties:\n          a: |-\n            --- x\n",
        "partitions: [{queues: [{name: root, queues: [{name: rootfoo}]}], placementrules: [{name: fixed, \
         value: root.rootfoo, create: true}]}]\n",
    ] {
        assert_eq!(codes_of(text), [], "{text}");
    }
}

/// Returns the messages of the findings.
fn reported(text: &str) -> Vec<String> {
    verdict(text, ACTIVE, Version::V1_8).diagnostics.into_iter().map(|finding| finding.message).collect()
}

#[test]
fn child_template_is_checked_only_for_parents() {
    let bad = "childtemplate: {resources: {max: {a: x}}}";
    let with = |queues: &str| format!("partitions: [{{queues: [{{name: root, queues: [{queues}]}}]}}]\n");
    let invalid = || "configured queue creation failed: \ninvalid quantity".to_owned();
    for (queues, starts, found) in [
        // A leaf's template is never used.
        (format!("{{name: a, {bad}}}"), Ok(()), 0),
        (format!("{{name: a, parent: true, {bad}}}"), Err(invalid()), 1),
        (format!("{{name: a, queues: [{{name: b}}], {bad}}}"), Err(invalid()), 1),
        // The scheduler names only the first of them.
        (
            format!("{{name: a, parent: true, {bad}}}, {{name: c, queues: [{{name: b}}], {bad}}}"),
            Err(invalid()),
            2,
        ),
    ] {
        let verdict = verdict(&with(&queues), ACTIVE, Version::V1_8);
        assert_eq!((verdict.validates, verdict.starts), (Ok(()), starts), "{queues}");
        assert_eq!(reported(&with(&queues)), vec!["invalid quantity"; found], "{queues}");
    }
}

#[test]
fn quantities_of_a_child_template_are_checked_unless_it_is_empty() {
    for (template, found) in [
        ("resources: {max: {a: ''}}", 0),
        ("resources: {guaranteed: {a: ''}, max: {'': x}}", 0),
        ("properties: {a: '', '': b}, resources: {max: {a: ''}}", 0),
        ("properties: {a: b}", 0),
        ("maxapplications: 1", 0),
        ("maxapplications: 1, resources: {max: {a: ''}}", 1),
        ("properties: {a: b}, resources: {max: {a: ''}}", 1),
        ("resources: {guaranteed: {a: '1'}, max: {a: ''}}", 1),
        ("resources: {guaranteed: {a: ''}, max: {a: '1'}}", 1),
    ] {
        let text = format!("partitions: [{{queues: [{{name: root, childtemplate: {{{template}}}}}]}}]\n");
        assert_eq!(verdict(&text, ACTIVE, Version::V1_8).starts.is_err(), found == 1, "{text}");
        assert_eq!(reported(&text), vec!["invalid quantity"; found], "{text}");
    }
}

#[test]
fn full_path_below_another_rule_is_reported_as_go_prints_it() {
    let rule = "{name: Fixed, value: Root.x, create: true, filter: {type: deny, users: [a, b], groups: [g, \
        h]}, parent: {name: user}}";
    let text = format!("partitions: [{{name: default, queues: [], placementrules: [{rule}]}}]\n");
    let reason = "cannot have a fixed queue rule with qualified queue getName and a parent rule: {Fixed true \
        {deny [a b] [g h]} … Root.x}";
    assert_eq!(reported(&text), [reason]);
    assert_eq!(verdict(&text, ACTIVE, Version::V1_8).refusal().as_deref(), Some(reason));
}

#[test]
fn rule_without_create_does_not_crash() {
    let with =
        |rule: &str| format!("partitions: [{{name: default, queues: [], placementrules: [{{{rule}}}]}}]\n");
    assert_eq!(codes_of(&with("name: fixed, value: rootfoo")), [(3011, Severity::Error)]);
    // In another case, the validator assumes that the queue of the rule is not known yet.
    assert_eq!(codes_of(&with("name: Fixed, value: rootfoo")), []);
    assert_eq!(codes_of(&with("name: fixed, value: rootfoo, create: true")), [(3025, Severity::Warning)]);
}

#[test]
fn rule_that_activation_refuses_is_reported_with_its_effect_on_a_start() {
    let names = "write `provided`, `user`, `fixed` or `tag`";
    for (rule, fragment, mend) in [
        ("name: fixed", "fixed", "write the queue as `value`"),
        ("name: fixed, value: 'a b'", "'a b'", "write a path of such names as `value`"),
        (
            "name: fixed, value: root.x, parent: {name: user}",
            "fixed",
            "write a queue below the parent rule's queue, or remove `parent`",
        ),
        ("name: tag", "tag", "write the tag as `value`, for example `namespace`"),
        ("name: recovery", "recovery", names),
        ("name: usr", "usr", names),
    ] {
        let text = format!("partitions: [{{queues: [], placementrules: [{{{rule}}}]}}]\n");
        let findings = verdict(&text, ACTIVE, Version::V1_8).diagnostics;
        let finding = findings.iter().find(|finding| finding.code == codes::RULE_INACTIVE).expect(rule);
        let at = finding.span.unwrap();
        assert_eq!(text.get(at.start..at.end), Some(fragment), "{text}");
        let start = "until then a scheduler starts without any placement rule and rejects every application";
        assert_eq!(finding.help, Some(format!("{mend}; {start}")), "{text}");
    }
}

#[test]
fn invalid_rule_name_is_reported_once() {
    let rules = |rules: &str| format!("partitions: [{{queues: [], placementrules: [{rules}]}}]\n");
    for (text, found) in [
        (rules("{name: 1x}"), 1),
        (rules("{name: user, parent: {name: 1x}}"), 1),
        (rules("{name: 1x, parent: {name: 2x}}"), 1),
        (rules("{name: 1x}, {name: user}, {name: 2x}"), 2),
    ] {
        assert_eq!(codes_of(&text), vec![(3011, Severity::Error); found], "{text}");
    }
}

#[test]
fn error_with_a_finding_inside_it_is_not_reported_again() {
    let (before, whole, part, behind) =
        (Span::new(0, 12), Span::new(10, 20), Span::new(12, 20), Span::new(15, 25));
    let found = |code, message: &str, at| Diagnostic::error(code, message).at(at);
    let acl = || found(codes::ACL_STRICT, "multiple spaces", whole);
    let template = || found(codes::TEMPLATE, "creation failed: \ninvalid suffix", whole);
    let warning = Diagnostic::warning(codes::FILTER_NAME, "a tag").at(part);
    for (finding, error, added) in [
        // An error in an ACL is a separate finding.
        (found(codes::FILTER_NAME, "a space too many", part), acl(), false),
        (found(codes::FILTER_NAME, "a space too many", whole), acl(), false),
        (found(codes::FILTER_NAME, "a space too many", before), acl(), true),
        (found(codes::FILTER_NAME, "a space too many", behind), acl(), true),
        (Diagnostic::error(codes::FILTER_NAME, "a space too many"), acl(), true),
        (warning, acl(), true),
        // Of other errors, the one with the narrower span is kept.
        (found(codes::TEMPLATE, "invalid suffix", whole), template(), false),
        (found(codes::TEMPLATE, "invalid suffix", behind), template(), true),
        (found(codes::TEMPLATE, "invalid quantity", whole), template(), true),
        (found(codes::QUANTITY, "invalid suffix", whole), template(), true),
    ] {
        let mut findings = vec![finding.clone()];
        lint::add(&mut findings, error.clone());
        let expected = if added { vec![finding, error] } else { vec![finding] };
        assert_eq!(findings, expected);
    }
}

#[test]
fn every_ignored_name_of_a_filter_is_reported() {
    let text = "partitions: [{queues: [], placementrules: [{name: user, filter: {users: [a, 'b.*', c/d, 'e \
        f'], groups: [g, c/d, h]}}]}]\n";
    let verdict = verdict(text, ACTIVE, Version::V1_8);
    let expression = Some("a regular expression works only as the single entry of a list");
    let found: Vec<_> = verdict
        .diagnostics
        .iter()
        .map(|finding| {
            let at = finding.span.unwrap();
            (finding.message.as_str(), text.get(at.start..at.end).unwrap(), finding.help.as_deref())
        })
        .collect();
    assert_eq!(
        found,
        [
            ("the filter ignores `b.*`, which is not a valid user name", "'b.*'", expression),
            ("the filter ignores `e f`, which is not a valid user name", "'e f'", None),
            ("the filter ignores `c/d`, which is not a valid group name", "c/d", None),
        ]
    );
}

#[test]
fn resources_of_a_nested_root_are_reported_as_ignored() {
    let nested = |queue: &str| {
        format!("partitions: [{{queues: [{{name: root, queues: [{{name: a, queues: [{queue}]}}]}}]}}]\n")
    };
    for (text, expected) in [
        (nested("{name: root}"), vec![]),
        (nested("{name: b, resources: {max: {a: 1}}}"), vec![]),
        (nested("{name: root, resources: {guaranteed: {a: 1}}}"), vec![(3036, Severity::Warning)]),
        // In the top queue, they are an error.
        (
            "partitions: [{queues: [{name: root, resources: {max: {a: 1}}}]}]\n".to_owned(),
            vec![(3003, Severity::Error)],
        ),
    ] {
        assert_eq!(codes_of(&text), expected, "{text}");
    }
}

#[test]
fn findings_point_at_the_name_or_the_whole_mapping() {
    let queues = |queues: &str| format!("partitions: [{{queues: [{{name: root, queues: [{queues}]}}]}}]\n");
    let rule = |rule: &str| format!("partitions: [{{queues: [], placementrules: [{rule}]}}]\n");
    let limit = |limit: &str| format!("partitions: [{{queues: [{{name: root, limits: [{limit}]}}]}}]\n");
    for (text, code, fragment) in [
        (queues("{name: a}, {name: A}"), codes::QUEUE_DUPLICATE, "A"),
        (queues("{name: a}, {maxapplications: 1}"), codes::QUEUE_NAME, "{maxapplications: 1}"),
        ("partitions: [{queues: []}, {name: gpu}]\n".to_owned(), codes::QUEUES_MISSING, "gpu"),
        ("partitions: [{limits: []}]\n".to_owned(), codes::QUEUES_MISSING, "{limits: []}"),
        (rule("{name: user}, {name: 'un known'}"), codes::RULE, "'un known'"),
        (rule("{name: user}, {create: true}"), codes::RULE, "{create: true}"),
        (rule("{name: test, value: abc}"), codes::RULE_PANICS, "test"),
        (rule("{name: fixed, value: rootfoo, create: true}"), codes::RULE_PANICS, "rootfoo"),
        (limit("{limit: most, users: [a]}"), codes::LIMIT, "most"),
        (limit("{users: [a]}"), codes::LIMIT, "{users: [a]}"),
    ] {
        let findings = assess(&text, &[], Version::V1_8).diagnostics;
        let finding = findings.iter().find(|finding| finding.code == code).expect(&text);
        let at = finding.span.unwrap();
        assert_eq!(text.get(at.start..at.end), Some(fragment), "{text}");
    }
}

#[test]
fn limits_below_queues_named_root_depend_on_the_version() {
    let queue = |name: &str, most: u32, below: &str| {
        let limit = format!("{{limit: l, users: [sue], maxapplications: {most}}}");
        format!("{{name: {name}, limits: [{limit}], queues: [{below}]}}")
    };
    let beside = |inner: u32, beside: u32| {
        let above = format!("{{name: a, queues: [{}]}}", queue("root", inner, ""));
        queue("root", 20, &format!("{above}, {}", queue("b", beside, "")))
    };
    for (root, old, new) in [
        // 1.8 uses the limit of root.a.root for root.
        (beside(5, 10), false, true),
        (beside(10, 5), true, true),
        (beside(30, 5), false, false),
        // It treats root.root as root, with nothing above it.
        (queue("root", 10, &queue("root", 20, "")), true, false),
    ] {
        let text = format!("partitions: [{{name: default, queues: [{root}]}}]\n");
        for (version, accepted) in [
            (Version::V1_8, old),
            (Version::V1_9, new),
            (Version::V1_10, new),
            (Version::Unknown, old && new),
        ] {
            assert_eq!(verdict(&text, ACTIVE, version).validates.is_ok(), accepted, "{version}: {text}");
        }
    }
}

#[test]
fn property_name_of_another_version_is_reported() {
    let text = |name: &str| {
        format!("partitions: [{{queues: [{{name: root, childtemplate: {{properties: {{{name}: 1s}}}}}}]}}]\n")
    };
    let [old, new] = ["preemption.quota.delay", "quota.preemption.delay"].map(text);
    for (text, version, reported) in [
        (&old, Version::V1_8, false),
        (&new, Version::V1_8, true),
        (&old, Version::V1_9, true),
        (&new, Version::V1_9, false),
        (&old, Version::Unknown, true),
    ] {
        let findings = verdict(text, ACTIVE, version).diagnostics;
        let found = findings.iter().any(|finding| finding.code == codes::PROPERTY_RENAMED);
        assert_eq!(found, reported, "{version}: {text} {findings:?}");
    }
}

/// As Go's `reflect.DeepEqual` compares the two lists.
#[test]
fn different_limits_of_partition_and_root_are_refused() {
    let verdict_on = |partition: &str, root: &str| {
        let text =
            format!("partitions: [{{limits: [{partition}], queues: [{{name: root, limits: [{root}]}}]}}]\n");
        verdict(&text, ACTIVE, Version::V1_8).validates
    };
    let refused = Err("partition limits and root queue limits are not equivalent".to_owned());
    let base =
        "{limit: l, users: [a], groups: [g], maxresources: {memory: 10, vcore: 2}, maxapplications: 3}";
    let of_groups = "{groups: [g], maxapplications: 3}";
    for (left, right) in [
        (base, base),
        (
            base,
            "{maxapplications: 0x3, maxresources: {vcore: '2', memory: \"10\"}, groups: [g], users:   [a], \
             limit: l}",
        ),
        (of_groups, of_groups),
        ("", base),
        (base, ""),
    ] {
        assert_eq!(verdict_on(left, right), Ok(()), "{left} {right}");
    }
    for (from, to) in [
        ("limit: l", "limit: m"),
        ("users: [a]", "users: [b]"),
        ("users: [a]", "users: [a, b]"),
        ("groups: [g]", "groups: [h]"),
        ("groups: [g], ", ""),
        ("memory: 10", "memory: 11"),
        ("memory: 10", "gpu: 10"),
        (", vcore: 2", ""),
        ("maxapplications: 3", "maxapplications: 4"),
    ] {
        let changed = base.replace(from, to);
        assert_ne!(changed, base);
        assert_eq!(verdict_on(base, &changed), refused, "{changed}");
        assert_eq!(verdict_on(&changed, base), refused, "{changed}");
    }
    // A missing field is nil, but an empty one is not.
    for empty in ["users: []", "maxresources: {}"] {
        let written = format!("{{groups: [g], maxapplications: 3, {empty}}}");
        assert_eq!(verdict_on(&written, &written), Ok(()), "{written}");
        assert_eq!(verdict_on(of_groups, &written), refused, "{written}");
    }
    assert_eq!(verdict_on(&format!("{base}, {{users: [b], maxapplications: 1}}"), base), refused);
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
fn deepest_text_fits_the_stack() {
    let nest =
        |open: &str, close: &str, levels: usize| format!("{}{}", open.repeat(levels), close.repeat(levels));
    let queues = nest("{name: q, queues: [", "]}", 123);
    let rules = nest("{name: user, parent: ", "}", 248).replace(": }", ": {name: user}}");
    let text = format!("partitions: [{{queues: [{queues}], placementrules: [{rules}]}}]\n");
    let verdict = verdict(&text, ACTIVE, Version::V1_8);
    assert_eq!(verdict.validates, Ok(()), "{text}");
    let config = verdict.config.unwrap();
    assert_eq!(config.partitions[0].queues().map(|queue| queue.path.parts().count()).max(), Some(124));
}

#[test]
fn work_is_bounded() {
    let names = |count: usize| (0..count).map(|n| format!("r{n}: 1")).collect::<Vec<_>>().join(", ");
    let queues = (0..8000).map(|n| format!("{{name: q{n}}}")).collect::<Vec<_>>().join(", ");
    let text = format!(
        "partitions: [{{queues: [{queues}, {{name: x, resources: {{max: {{{}}}}}}}]}}]\n",
        names(8000)
    );
    let verdict = verdict(&text, ACTIVE, Version::V1_8);
    assert_eq!(verdict.diagnostics[0].code, codes::TOO_LARGE);
    assert_eq!(verdict.config, None);
}

/// Returns the refusal of one partition, or an empty text if it validates.
fn refusal_of(partition: &str) -> String {
    assess(&format!("partitions: [{{{partition}}}]\n"), ACTIVE, Version::V1_8)
        .validates
        .err()
        .unwrap_or_default()
}

#[test]
fn limit_wider_than_one_above_is_refused() {
    let sue = |bound: &str| format!("{{limit: l, users: [sue], {bound}}}");
    let memory = |amount: u32| sue(&format!("maxresources: {{memory: {amount}}}"));
    let applications = |most: u32| sue(&format!("maxapplications: {most}"));
    let everyone = |amount: u32| format!("{{limit: l, users: ['*'], maxresources: {{memory: {amount}}}}}");
    let groups = |names: &str, most: u32| format!("{{limit: l, groups: [{names}], maxapplications: {most}}}");
    let nobody = String::new;
    for ([root, a, b], expected) in [
        ([memory(10), memory(10), memory(10)], ""),
        (
            [memory(10), memory(5), memory(7)],
            "user sue max resource map[memory:7] of queue b is greater than immediate or ancestor parent \
             maximum resource map[memory:5]",
        ),
        // A resource that a queue does not mention is still limited by the queue above.
        (
            [memory(10), sue("maxresources: {vcore: 1}"), memory(20)],
            "user sue max resource map[memory:20] of queue b is greater than immediate or ancestor parent \
             maximum resource map[memory:10 vcore:1000]",
        ),
        (
            [memory(10), nobody(), memory(20)],
            "user sue max resource map[memory:20] of queue b is greater than immediate or ancestor parent \
             maximum resource map[memory:10]",
        ),
        ([applications(5), applications(5), applications(4)], ""),
        (
            [applications(5), applications(3), applications(4)],
            "user sue max applications 4 of queue b is greater than immediate or ancestor parent max \
             applications 3",
        ),
        (
            [applications(5), memory(10), nobody()],
            "user sue max applications 0 of queue a is greater than immediate or ancestor parent max \
             applications 5",
        ),
        // A missing limit means unlimited.
        ([memory(10), sue("maxresources: {memory: 10}, maxapplications: 7"), nobody()], ""),
        // A name without a limit above is subject to the limit of everyone there.
        ([everyone(10), memory(10), memory(10)], ""),
        (
            [everyone(10), memory(11), nobody()],
            "user sue max resource map[memory:11] of queue a is greater than wildcard maximum resource \
             map[memory:10] of immediate or ancestor parent queue",
        ),
        (
            [everyone(10), nobody(), memory(11)],
            "user sue max resource map[memory:11] of queue b is greater than wildcard maximum resource \
             map[memory:10] of immediate or ancestor parent queue",
        ),
        ([groups("devs, '*'", 2), groups("ops", 2), groups("ops", 1)], ""),
        (
            [groups("devs, '*'", 2), groups("ops", 3), nobody()],
            "group ops max applications 3 of queue a is greater than wildcard max applications 2 of \
             immediate or ancestor parent queue",
        ),
        ([format!("{}, {}", memory(20), everyone(10)), memory(15), nobody()], ""),
        ([memory(10), everyone(20), nobody()], ""),
        (
            [everyone(10), everyone(11), nobody()],
            "user * max resource map[memory:11] of queue a is greater than immediate or ancestor parent \
             maximum resource map[memory:10]",
        ),
    ] {
        let partition = format!(
            "queues: [{{name: root, limits: [{root}], queues: [{{name: a, limits: [{a}], queues: [{{name: b, \
             limits: [{b}]}}]}}]}}]"
        );
        assert_eq!(refusal_of(&partition), expected, "{partition}");
    }
}

#[test]
fn limits_of_the_partition_become_limits_of_its_root() {
    const DIFFER: &str = "partition limits and root queue limits are not equivalent";
    let sue = "{limit: l, users: [sue], maxapplications: 1}";
    let bob = "{limit: l, users: [bob], maxapplications: 1}";
    let both = format!("{sue}, {bob}");
    for (of_partition, of_root, expected) in [
        (sue, sue, ""),
        (&both, &both, ""),
        (sue, "", ""),
        ("", sue, ""),
        (sue, bob, DIFFER),
        (sue, &both, DIFFER),
        (&both, sue, DIFFER),
    ] {
        let partition = format!("queues: [{{name: root, limits: [{of_root}]}}], limits: [{of_partition}]");
        assert_eq!(refusal_of(&partition), expected, "{partition}");
    }
}

#[test]
fn value_equal_to_its_bound_is_accepted() {
    let limited = |most: u32| {
        format!(
            "queues: [{{name: a, maxapplications: 3, limits: [{{limit: l, users: [sue], maxapplications: \
             {most}}}]}}]"
        )
    };
    let nested = |most: u32| {
        format!("queues: [{{name: a, maxapplications: 3, queues: [{{name: b, maxapplications: {most}}}]}}]")
    };
    let weighed =
        |weight: &str| format!("queues: [], nodesortpolicy: {{resourceweights: {{gpu: {weight}}}}}");
    for (partition, expected) in [
        (limited(3), ""),
        (limited(4), "invalid MaxApplications settings for limit l exceed current the queue MaxApplications"),
        (nested(3), ""),
        (nested(4), "parent maxApplications must be larger than child maxApplications"),
        (weighed("0"), ""),
        (weighed("-0.5"), "negative resource weight for gpu is not allowed"),
    ] {
        assert_eq!(refusal_of(&partition), expected, "{partition}");
    }
}

#[test]
fn duplicate_queue_is_reported_with_its_level() {
    let twins = "{name: x}, {name: X}".to_owned();
    let below = |queues: &String| Some(format!("{{name: a, queues: [{queues}]}}"));
    for (level, queues) in (1..=3).zip(std::iter::successors(Some(twins), below)) {
        assert_eq!(
            refusal_of(&format!("queues: [{{name: root, queues: [{queues}]}}]")),
            format!("duplicate child name found with name 'X', level {level}")
        );
    }
}

#[test]
fn checksum_marker_is_reported_with_a_span() {
    let text = "partitions: [{queues: []}] # checksum: x\n";
    let findings = verdict(text, ACTIVE, Version::V1_8).diagnostics;
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    let span = finding.span.unwrap();
    assert_eq!((finding.code, text.get(span.start..span.end)), (codes::CHECKSUM, Some("checksum: ")));
}

/// A text with pieces of others inserted, cut anywhere.
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
        let verdict = verdict(&text, ACTIVE, Version::V1_8);
        checksum(&text);
        prop_assert_eq!(verdict.config.is_some(), verdict.validates.is_ok());
        for span in verdict.diagnostics.iter().filter_map(|diagnostic| diagnostic.span) {
            prop_assert!(text.get(span.start..span.end).is_some(), "{:?}", span);
        }
    }

    #[test]
    fn every_queue_is_found_by_its_path(text in mutated()) {
        let Some(config) = verdict(&text, ACTIVE, Version::V1_8).config else { return Ok(()) };
        for partition in &config.partitions {
            for queue in partition.queues() {
                prop_assert_eq!(partition.queue(&queue.path), Some(queue));
                prop_assert_eq!(partition.nearest(&queue.path.child("no-such-queue").unwrap()), queue);
                let above = partition.parent(queue).map(|above| above.path.clone());
                prop_assert_eq!(above, queue.path.parent());
            }
        }
    }
}
