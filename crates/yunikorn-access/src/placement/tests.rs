//! Compares with `YuniKorn`'s recorded answers (`tests/vectors/yunikorn-placement.json`), and tests the trace
//! and general properties.

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::decide::{Denial, decide};
use crate::tree::Located;
use yunikorn::config::names::is_user;
use yunikorn::config::verdict;
use yunikorn::right::Right;
use yunikorn::version::Version;

const QUEUES: &str = r#"
        submitacl: "alice devs"
        queues:
          - {name: prod, submitacl: "sue", queues: [{name: etl, submitacl: "bob"}]}
          - {name: leaf}
          - {name: tenants, parent: true}
"#;

fn tree(rules: &[&str], queues: &str) -> Tree {
    let head = if rules.is_empty() { "" } else { "    placementrules:\n" };
    let rules = rules.iter().fold(head.to_owned(), |text, rule| format!("{text}      - {rule}\n"));
    parsed(&format!("partitions:\n  - name: default\n{rules}    queues:\n      - name: root{queues}"))
}

fn parsed(text: &str) -> Tree {
    let verdict = verdict(text, &[], Version::V1_8);
    assert_eq!(verdict.starts, Ok(()), "{text}");
    Tree::new(verdict.config.expect("valid").partition("default").expect("default")).expect("active")
}

fn asks(user: &str, groups: &[&str], queue: &str, tags: &[(&str, &str)]) -> Submission {
    Submission {
        application_id: "application-0".to_owned(),
        identity: Identity {
            user: user.to_owned(),
            groups: groups.iter().map(ToString::to_string).collect(),
        },
        queue: queue.to_owned(),
        tags: tags.iter().map(|(tag, value)| ((*tag).to_owned(), (*value).to_owned())).collect(),
    }
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

#[test]
fn recorded_answers_are_reproduced() {
    let vectors: Value =
        serde_json::from_str(include_str!("../../../../tests/vectors/yunikorn-placement.json"))
            .expect("JSON");
    let mut compared = 0;
    for configuration in vectors["configurations"].as_array().expect("configurations") {
        let tree = parsed(text(configuration, "yaml"));
        for row in configuration["rows"].as_array().expect("rows") {
            compared += 1;
            let tags = row["tags"].as_object().expect("tags");
            let tags: Vec<(&str, &str)> =
                tags.iter().map(|(tag, value)| (tag.as_str(), value.as_str().expect("text"))).collect();
            let [user, queue] = [text(row, "user"), text(row, "queue")];
            let answer = &row["answer"];
            if !text(answer, "user_error").is_empty() {
                assert!(user.is_empty() || !is_user(user), "{row}");
                continue;
            }
            let groups = if answer["panic"].is_null() { &answer["resolved"] } else { &row["groups"] };
            let submission = asks(user, &texts(groups), queue, &tags);
            check_access(&tree, &submission, answer);
            let placed = place(&tree, &submission);
            let expected = match (text(answer, "placed"), text(answer, "error")) {
                ("", "") => Outcome::Crashes(placed.steps[0].landing.clone().expect("named").queue),
                ("", message) => Outcome::Rejected(message.to_owned()),
                (queue, _) => Outcome::Placed(queue.to_owned()),
            };
            assert_eq!(placed.outcome, expected, "{}: {row}\n{placed:#?}", configuration["name"]);
        }
    }
    assert!(compared > 200, "{compared} rows");
}

fn check_access(tree: &Tree, submission: &Submission, answer: &Value) {
    if !answer["panic"].is_null() {
        return;
    }
    let located = tree.locate(&submission.queue);
    let nearest = located.nearest().and_then(|id| tree.node(id));
    assert_eq!(nearest.map_or("", |node| node.path.as_str()), text(answer, "nearest"), "{submission:?}");
    // The oracle checks the ACLs of the nearest queue, even if it is a leaf.
    let queue = match (located, nearest) {
        (Located::BelowLeaf(_), Some(leaf)) => leaf.path.as_str(),
        _ => &submission.queue,
    };
    let may = |right| decide(tree, right, queue, &submission.identity).allowed();
    let is = [
        ("exact", matches!(located, Located::Queue(_))),
        ("leaf", nearest.is_some_and(|node| node.is_leaf)),
        ("submit", may(Right::Submit)),
        ("admin", may(Right::Admin)),
    ];
    let is: Vec<&str> = is.into_iter().filter(|(_, so)| *so).map(|(what, _)| what).collect();
    assert_eq!(is, texts(&answer["is"]), "{submission:?}");
}

#[test]
fn trace_has_the_reason_why_each_rule_did_not_place() {
    let rules = [
        "{name: tag, value: team, create: true}",
        "{name: provided, filter: {type: deny, groups: [qa]}}",
        "{name: user, create: false}",
        "{name: fixed, value: tenants}",
        "{name: fixed, value: root.prod.etl}",
        "{name: user, create: true, parent: {name: fixed, value: tenants, filter: {users: [eve]}}}",
        "{name: fixed, value: leaf}",
    ]
    .map(|rule| rule.replace("tenants}", "root.tenants.x, create: true}"));
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let tree = tree(&rules, QUEUES);
    let placement = place(&tree, &asks("ann", &["qa"], "root.leaf", &[]));
    let ends: Vec<&RuleEnd> = placement.steps.iter().map(|step| &step.rule.end).collect();
    let named = |queue: &str| RuleEnd::Named(queue.to_owned());
    let missing = |queue: &str| RuleEnd::Missing(queue.to_owned());
    let expected = [
        RuleEnd::NothingToGoBy,
        RuleEnd::Filtered { why: Why::Group("qa".to_owned()), filter: "deny groups qa".to_owned() },
        missing("root.ann"),
        named("root.tenants.x"),
        named("root.prod.etl"),
        RuleEnd::NoParent,
        named("root.leaf"),
        missing("root.default"),
    ];
    assert_eq!(ends, expected.iter().collect::<Vec<_>>());
    let parent = placement.steps[5].rule.parent.as_deref().expect("a parent rule");
    assert_eq!(parent.end, RuleEnd::Filtered { why: Why::NotListed, filter: "allow users eve".to_owned() });
    let landing = placement.steps[3].landing.as_ref().expect("a queue");
    assert_eq!(landing.target, Target::New { above: "root.tenants".to_owned() });
    assert_eq!(landing.end, LandingEnd::Denied);
    let decision = landing.decision.as_ref().expect("a decision");
    assert_eq!(decision.denial, Some(Denial::NotGranted));
    assert!(matches!(placement.outcome, Outcome::Rejected(_)));
    assert!(placement.steps.iter().take(7).all(|step| step.rule.span.is_some()));
}

#[test]
fn created_queues_are_reported_from_the_top() {
    let tree = tree(&["{name: provided, create: true}"], QUEUES);
    let placement = place(&tree, &asks("alice", &[], "root.tenants.A.b", &[]));
    assert_eq!(placement.queue(), Some("root.tenants.a.b"));
    let created = placement.created().expect("created");
    assert_eq!(created.paths().collect::<Vec<_>>(), ["root.tenants.a", "root.tenants.a.b"]);
    // Queues created before the failure stay but accept no applications.
    let placement = place(&tree, &asks("alice", &[], "root.tenants.a.@recovery@.c", &[]));
    let created = placement.created().expect("created");
    assert_eq!((created.queue.as_str(), created.leaf), ("root.tenants.a", false));
}

#[test]
fn created_queues_are_used_by_the_next_placement() {
    let tree = tree(&["{name: provided, create: true}"], QUEUES);
    let mut placer = Placer::new(&tree);
    for queue in ["root.tenants.A.b", "root.tenants.made.@recovery@.c"] {
        let placement = placer.place(&asks("alice", &[], queue, &[]));
        placer.live_mut().create(placement.created().expect("created"));
    }
    let leads_to = |queue: &str| placer.place(&asks("alice", &[], queue, &[])).queue().map(str::to_owned);
    for queue in ["root.tenants.a.b", "root.tenants.a.c", "root.tenants.made.d"] {
        assert_eq!(leads_to(queue).as_deref(), Some(queue));
    }
    // Parents, including those created for a queue that could not be created, accept no applications; leaves
    // accept no queues.
    for queue in ["root.tenants.a", "root.tenants.made", "root.tenants.a.b.c"] {
        assert_eq!(leads_to(queue), None, "{queue}");
    }
}

#[test]
fn user_name_is_never_a_path() {
    let rules = ["{name: user, create: true}"];
    let placement = place(&tree(&rules, QUEUES), &asks("root.leaf", &["devs"], "", &[]));
    assert_eq!(placement.queue(), Some("root.root_dot_leaf"));
}

#[test]
fn invalid_rules_reject_every_application() {
    let placement =
        place(&tree(&["{name: provided}", "{name: nope}"], QUEUES), &asks("alice", &[], "root.leaf", &[]));
    assert!(placement.inactive.is_some_and(|reason| reason.starts_with("unknown rule name specified nope")));
    assert!(matches!(placement.outcome, Outcome::Rejected(message) if message.ends_with(NO_RULE_MATCHED)));
}

/// A running scheduler has queues that are not in its configuration.
#[test]
fn live_queues_are_used() {
    let rules = ["{name: provided, create: true}"];
    let tree = tree(&rules, QUEUES);
    let mut live = Live::default();
    live.insert("root.tenants.Gone", LiveQueue { leaf: true, draining: true });
    live.insert("root.tenants.old", LiveQueue { leaf: false, draining: true });
    live.insert("root.tenants.old.dyn", LiveQueue { leaf: true, draining: false });
    live.insert("root.made.below", LiveQueue { leaf: true, draining: false });
    live.insert("root.leaf", LiveQueue { leaf: false, draining: true });
    let placer = Placer::with_live(&tree, live);
    let ends = |user: &str, queue: &str| placer.place(&asks(user, &[], queue, &[])).outcome;
    let lands = |queue: &str| Outcome::Placed(queue.to_owned());
    let rejects = |outcome: Outcome, words: &str| matches!(outcome, Outcome::Rejected(message) if message.contains(words));
    let undecided = |outcome: Outcome| matches!(outcome, Outcome::Undecided(_));
    // The configuration decides about its own queues.
    assert_eq!(ends("alice", "root.leaf"), lands("root.leaf"));
    assert_eq!(ends("alice", "root.MADE.below"), lands("root.made.below"));
    assert!(rejects(ends("alice", "root.made"), NO_RULE_MATCHED));
    assert!(rejects(ends("alice", "root.made.below.x"), "parent is already a leaf: root.made.below"));
    // A draining queue accepts nothing new, in it or below it. Its own ACLs are unknown, which matters only
    // if they would decide.
    assert!(rejects(ends("alice", "root.tenants.gone"), NO_RULE_MATCHED));
    assert!(rejects(ends("eve", "root.tenants.gone"), NO_RULE_MATCHED));
    assert!(rejects(ends("alice", "root.tenants.old.new"), "queue is marked for deletion: root.tenants.old"));
    // Its own name is checked before its parent.
    assert!(rejects(ends("alice", "root.tenants.old.@recovery@"), "dynamic queue cannot be root.@recovery@"));
    assert!(undecided(ends("eve", "root.tenants.old.new")));
    assert_eq!(ends("alice", "root.tenants.old.dyn"), lands("root.tenants.old.dyn"));
    assert!(undecided(ends("eve", "root.tenants.old.dyn")));
}

/// `YuniKorn` lets a rule create the recovery queue. Once it exists, nobody may submit to it.
#[test]
fn recovery_queue_accepts_one_requested_application() {
    let tree = tree(&["{name: provided, create: true}"], QUEUES);
    let mut placer = Placer::new(&tree);
    let submission = asks("alice", &[], "root.@Recovery@", &[]);
    let first = placer.place(&submission);
    assert_eq!(first.queue(), Some("root.@recovery@"));
    placer.live_mut().create(first.created().expect("created"));
    let second = placer.place(&submission);
    assert!(matches!(second.outcome, Outcome::Rejected(_)), "{second:?}");
    let forced = placer.place(&asks("nobody", &[], "", &[(FORCE_TAG, "true")]));
    assert_eq!(forced.queue(), Some("root.@recovery@"));
    assert_eq!(forced.created(), None);
}

#[test]
fn undecided_expression_makes_the_answer_undecided() {
    let expression = format!("{}a{}", "(".repeat(40), ")".repeat(40));
    let rule = format!("{{name: fixed, value: leaf, filter: {{users: ['{expression}']}}}}");
    let placement = place(&tree(&[&rule], QUEUES), &asks("alice", &[], "", &[]));
    assert!(matches!(placement.outcome, Outcome::Undecided(_)), "{placement:?}");
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z.@$ ]{0,12}",
        "root(\\.[a-zA-Z@é]{0,5}){0,4}",
        "(root\\.)?(leaf|prod|tenants)(\\.etl|\\.x)?"
    ]
}

proptest! {
    /// An application runs in a queue to which its user may submit if queues are created as requested, unless
    /// that is a parent queue.
    #[test]
    fn user_who_may_submit_is_placed(
        user in "sue|bob|alice|eve", path in "root(\\.(prod|etl|leaf|tenants|x)){1,4}",
    ) {
        let tree = tree(&["{name: provided, create: true}"], QUEUES);
        let submission = asks(&user, &[], &path, &[]);
        let placed = matches!(place(&tree, &submission).outcome, Outcome::Placed(_));
        let verdict = decide(&tree, Right::Submit, &path, &submission.identity);
        let parent = matches!(verdict.located, Located::Queue(id) if !tree.node(id).expect("queue").is_leaf);
        prop_assert_eq!(placed, verdict.allowed() && !parent);
    }

    #[test]
    fn trace_of_any_placement_ends_with_the_outcome(
        user in name(), group in name(), queue in name(), tag in name(), forced in any::<bool>(),
    ) {
        let rules = [
            "{name: tag, value: namespace, create: true, parent: {name: user, create: true}}",
            "{name: provided, create: true, filter: {groups: ['a']}}",
            "{name: fixed, value: rootfoo, create: true, filter: {users: ['^b']}}",
        ];
        let forced = if forced { "true" } else { "false" };
        let submission = asks(&user, &[&group], &queue, &[("namespace", &tag), (FORCE_TAG, forced)]);
        let placement = place(&tree(&rules, QUEUES), &submission);
        let ways: Vec<_> = placement.steps.iter().map(|step| step.landing.as_ref().map(|landing| &landing.end)).collect();
        let (last, before) = ways.split_last().expect("a rule");
        for way in before {
            prop_assert!(matches!(way, None | Some(LandingEnd::NotALeaf | LandingEnd::Denied | LandingEnd::Draining)));
        }
        match &placement.outcome {
            Outcome::Placed(queue) => {
                let placed = matches!(last, Some(LandingEnd::Placed(_)));
                prop_assert!(placed);
                prop_assert!(queue.starts_with("root.") && *queue == queue.to_ascii_lowercase());
                prop_assert!(placement.created().is_none_or(|created| created.queue == *queue));
            }
            Outcome::Rejected(message) => prop_assert!(message.contains("application-0")),
            Outcome::Crashes(queue) => prop_assert_eq!(queue, "rootfoo"),
            Outcome::Undecided(reason) => prop_assert!(false, "{}", reason),
        }
    }
}
