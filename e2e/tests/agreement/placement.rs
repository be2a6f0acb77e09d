//! Compares placement: the queue of an application, or the message of its rejection.
//!
//! Each input is a configuration and a few applications that are submitted in sequence, so later ones find
//! the queues that earlier ones created.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use queuewarden_e2e::oracle::{AccessAnswer, AccessQuery, AccessQuestion, Decision, Subject};
use serde_json::{Value, json};
use yunikorn::config::names::is_user;
use yunikorn::identity::Identity;
use yunikorn::version::Version;
use yunikorn_access::placement::{Outcome, Placement, Placer, Submission};

use super::access::tree;
use super::{agree_in_each, fixture};

#[test]
fn generated_applications_are_placed_as_in_yunikorn() -> Result<()> {
    agree_in_each(3_000, &question(), |oracle, version, questions| {
        let answers = oracle.access(questions)?;
        let both = questions.iter().zip(&answers);
        Ok(both.map(|(question, answer)| difference(question, answer, version)).collect())
    })
}

/// Agreement on applications that all end in the same way would prove little.
#[test]
fn generated_applications_cover_every_outcome() -> Result<()> {
    const WAYS: [&str; 10] = [
        "placed in a queue that exists",
        "placed in a new queue",
        "no placement rule matched",
        "parent rule returned a leaf queue",
        "invalid queue name",
        "parent is already a leaf",
        "cannot be root.@recovery@",
        "placed in the recovery queue",
        "the scheduler crashes",
        "there are no rules",
    ];
    let mut counts = [0_usize; WAYS.len()];
    for question in fixture::draw(3_000, &question())? {
        let Some(tree) = tree(&question.text, Version::V1_8) else { continue };
        let placer = Placer::new(&tree);
        for (number, query) in question.queries.iter().enumerate() {
            let placement = placer.place(&submission(number, query, &query.subject.groups));
            let way = WAYS.iter().position(|way| *way == way_of(&placement));
            if let Some(count) = way.and_then(|way| counts.get_mut(way)) {
                *count += 1;
            }
        }
    }
    let rare: Vec<_> = WAYS.iter().zip(counts).filter(|(_, count)| *count < 5).collect();
    ensure!(rare.is_empty(), "hardly ever: {rare:?}, of {}", counts.iter().sum::<usize>());
    Ok(())
}

fn way_of(placement: &Placement) -> &'static str {
    const TEXTS: [&str; 5] = [
        "no placement rule matched",
        "parent rule returned a leaf queue",
        "invalid queue name",
        "parent is already a leaf",
        "cannot be root.@recovery@",
    ];
    match &placement.outcome {
        _ if placement.inactive.is_some() => "there are no rules",
        Outcome::Placed(queue) if queue == "root.@recovery@" => "placed in the recovery queue",
        Outcome::Placed(_) if placement.created().is_some() => "placed in a new queue",
        Outcome::Placed(_) => "placed in a queue that exists",
        Outcome::Crashes(_) => "the scheduler crashes",
        Outcome::Rejected(message) => TEXTS.iter().find(|text| message.contains(**text)).unwrap_or(&"other"),
        Outcome::Undecided(_) => "undecided",
    }
}

fn submission(number: usize, query: &AccessQuery, groups: &[String]) -> Submission {
    Submission {
        application_id: format!("application-{number}"),
        identity: Identity { user: query.subject.user.clone(), groups: groups.to_vec() },
        queue: query.queue.clone(),
        tags: query.tags.clone(),
    }
}

fn difference(question: &AccessQuestion, answer: &AccessAnswer, version: Version) -> Option<String> {
    let Some(tree) = tree(&question.text, version) else {
        let refused = !answer.start_error.is_empty();
        return (!refused).then(|| format!("{}\n    the model does not start, YuniKorn does", question.text));
    };
    let mut placer = Placer::new(&tree);
    let mut crashed = false;
    for (number, query) in question.queries.iter().enumerate() {
        let unknown = unanswered(&query.subject);
        let decision = answer.decisions.get(number).unwrap_or(&unknown);
        if !decision.user_error.is_empty() {
            continue;
        }
        let placement = placer.place(&submission(number, query, &decision.groups));
        if let Some(created) = placement.created() {
            placer.live_mut().create(created);
        }
        let model = match &placement.outcome {
            Outcome::Placed(queue) => (queue.clone(), String::new()),
            Outcome::Rejected(message) => (String::new(), message.clone()),
            Outcome::Crashes(_) => {
                crashed = true;
                break;
            }
            Outcome::Undecided(reason) => (String::new(), format!("undecided: {reason}")),
        };
        let yunikorn = (decision.placed.clone(), decision.placed_error.clone());
        if answer.panic.is_empty() && model != yunikorn {
            return Some(format!(
                "{}\n    application {number}\n    the model says {model:?}\n    YuniKorn says  {yunikorn:?}\n    {placement:?}",
                question.text
            ));
        }
    }
    let panicked = !answer.panic.is_empty();
    (crashed != panicked)
        .then(|| format!("{}\n    crashes: {crashed}, YuniKorn: {:?}", question.text, answer.panic))
}

/// Returns the decision about a user if the scheduler crashed and there are no answers: without a resolver,
/// the user's only group is their own name.
fn unanswered(subject: &Subject) -> Decision {
    let known = !subject.user.is_empty() && (subject.groups.is_empty() || is_user(&subject.user));
    let groups = if subject.groups.is_empty() { vec![subject.user.clone()] } else { subject.groups.clone() };
    let user_error = if known { String::new() } else { "refused".to_owned() };
    Decision { groups, user_error, ..Decision::default() }
}

pub(super) fn question() -> impl Strategy<Value = AccessQuestion> {
    (partition(), vec(query(), 1..5)).prop_map(|(partition, queries)| {
        let text = json!({ "partitions": [partition] }).to_string();
        AccessQuestion { text, queries }
    })
}

fn partition() -> impl Strategy<Value = Value> {
    (option::weighted(0.9, vec(rule(), 0..4)), root()).prop_map(|(rules, root)| match rules {
        Some(rules) => json!({"name": "default", "placementrules": rules, "queues": [root]}),
        None => json!({"name": "default", "queues": [root]}),
    })
}

fn root() -> impl Strategy<Value = Value> {
    let acl = acl(&["", "alice", " devs", "bob ops", "*"]);
    (acl, children(3)).prop_map(|(acl, children)| queue("root", &acl, "admin", false, &children))
}

fn children(depth: u32) -> BoxedStrategy<Vec<Value>> {
    if depth == 0 {
        return Just(Vec::new()).boxed();
    }
    let name = prop_oneof![
        20 => select(vec!["a", "b", "default", "alice", "devs", "prod", "a_dot_b", "Mixed"]),
        1 => select(vec!["@recovery@", "root", "test", "x:y#z"]),
    ];
    let flag = proptest::bool::weighted(0.3);
    let acl = acl(&["", "alice", " devs", "bob ops", "carol@x", " ", "*"]);
    let admin = prop_oneof![9 => Just(String::new()), 1 => Just("bob".to_owned())];
    let below = prop_oneof![2 => Just(Vec::new()).boxed(), 1 => children(depth - 1)];
    btree_map(name, (acl, admin, flag, below), 0..5)
        .prop_map(|children| {
            let made = children.into_iter();
            made.map(|(name, (acl, admin, parent, below))| queue(name, &acl, &admin, parent, &below))
                .collect()
        })
        .boxed()
}

fn acl(usual: &[&'static str]) -> impl Strategy<Value = String> + use<> {
    select(usual.to_vec()).prop_map(str::to_owned)
}

fn queue(name: &str, submit: &str, admin: &str, parent: bool, below: &[Value]) -> Value {
    let acl = |acl: &str| (!acl.is_empty()).then(|| json!(acl));
    object([
        ("name", Some(json!(name))),
        ("queues", Some(json!(below))),
        ("submitacl", acl(submit)),
        ("adminacl", acl(admin)),
        ("parent", parent.then_some(Value::Bool(true))),
    ])
}

fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let fields = fields.into_iter().filter_map(|(key, value)| value.map(|value| (key.to_owned(), value)));
    Value::Object(fields.collect())
}

fn rule() -> BoxedStrategy<Value> {
    let alone = one_rule(Just(None).boxed());
    let below = one_rule(option::weighted(0.3, one_rule(Just(None).boxed())).boxed());
    prop_oneof![3 => alone, 2 => one_rule(below.prop_map(Some).boxed())].boxed()
}

fn one_rule(parent: BoxedStrategy<Option<Value>>) -> BoxedStrategy<Value> {
    let name = prop_oneof![
        30 => select(vec!["provided", "user", "tag", "fixed", "Provided", "TAG"]),
        1 => select(vec!["test", "unknown", "recovery"]),
    ];
    let value = prop_oneof![
        6 => select(vec!["namespace", "Namespace", "kind", "namespace.parentqueue"]),
        6 => select(vec!["a", "root.a", "root.prod", "prod.new", "Mixed", "root.Mixed", "default", "root"]),
        1 => select(vec!["rootfoo", "root_x.y", "root.@recovery@", ""]),
    ];
    (name, value, proptest::bool::weighted(0.7), option::weighted(0.4, filter()), parent)
        .prop_map(|(name, value, create, filter, parent)| {
            let has_value = ["tag", "fixed"].contains(&name.to_lowercase().as_str());
            object([
                ("name", Some(json!(name))),
                ("create", Some(json!(create))),
                ("value", has_value.then(|| json!(value))),
                ("filter", filter),
                ("parent", parent),
            ])
        })
        .boxed()
}

fn filter() -> impl Strategy<Value = Value> {
    let kind = select(vec!["", "allow", "deny", "Deny", "ALLOW"]);
    let users = select(vec![
        vec![],
        vec!["alice"],
        vec!["alice", "bob"],
        vec!["alice", "no name", "b.*"],
        vec!["^a"],
        vec!["b$"],
        vec![".*"],
    ]);
    let groups =
        select(vec![vec![], vec!["devs"], vec!["devs", "ops", "devs"], vec!["^(dev|op)s$"], vec!["o?"]]);
    (kind, users, groups)
        .prop_map(|(kind, users, groups)| json!({"type": kind, "users": users, "groups": groups}))
}

fn query() -> impl Strategy<Value = AccessQuery> {
    let user = prop_oneof![
        20 => select(vec!["alice", "bob", "carol@x", "a.b", "admin", "devs"]),
        1 => select(vec!["x$", "bad user", "", "@recovery@", "root.a", "été"]),
    ];
    let groups = select(vec![vec![], vec!["devs"], vec!["ops"], vec!["devs", "ops"], vec!["qa", "", "a:b"]]);
    let tags = btree_map(tag_name(), tag_value(), 0..4);
    (user, groups, queue_name(), tags).prop_map(|(user, groups, queue, tags)| AccessQuery {
        subject: Subject { user: user.to_owned(), groups: groups.into_iter().map(str::to_owned).collect() },
        queue: queue.to_owned(),
        tags: unambiguous(tags),
    })
}

/// Removes tags whose names differ in case only, because Go picks any one of them.
fn unambiguous(tags: BTreeMap<&str, &str>) -> BTreeMap<String, String> {
    let lower: BTreeMap<String, (&str, &str)> =
        tags.into_iter().map(|(name, value)| (name.to_lowercase(), (name, value))).collect();
    lower.into_values().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn tag_name() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        8 => select(vec!["namespace", "kind", "NameSpace", "namespace.parentqueue"]),
        1 => select(vec!["application.create.force", "Application.Create.Force"]),
    ]
}

fn tag_value() -> impl Strategy<Value = &'static str> {
    select(vec![
        "true",
        "T",
        "yes",
        "a",
        "prod",
        "root.prod",
        "root.a.b",
        "team.one",
        "ROOT.a",
        "no good",
        "",
        "root.new.x",
        "default",
    ])
}

fn queue_name() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        3 => Just(""),
        10 => select(vec![
            "a", "b", "prod", "root.a", "root.b", "root.prod", "root.prod.a", "root.a.b", "root.A.B", "root.mixed",
            "root.new", "root.new.deeper.still", "prod.a", "root", "root.default", "default", "root.alice",
        ]),
        2 => select(vec![
            "ROOT.a", "root.", "root..a", "root.a b", "no good", "é", "root.@recovery@", "root.@Recovery@",
            "root.@recovery@.x", "root.@RECOVERY@.x", "root.a.@recovery@", "root.new.@recovery@.x",
            "root.a.@Recovery@.x", "rootfoo", "rootfoo.a",
            "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff12345",
        ]),
    ]
}
