//! Compares access to queues: which queue a path resolves to, and which users may submit to it and administer
//! it.
//!
//! Each input is a queue tree with questions about it. There are no placement rules, so the applications that
//! the oracle submits for some answers create no queues.

use std::cell::Cell;
use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index as Choice, select};
use queuewarden_e2e::oracle::{AccessAnswer, AccessQuery, AccessQuestion, Decision, Subject};
use serde_json::{Value, json};
use yunikorn::config::verdict;
use yunikorn::identity::Identity;
use yunikorn::right::Right;
use yunikorn::version::Version;
use yunikorn_access::Tree;
use yunikorn_access::decide::{Denial, decide, explain};
use yunikorn_access::tree::Located;

use super::fixture::{draw, hold};
use super::{agree, agree_in_each, oracles};

#[test]
fn the_model_decides_about_queues_as_yunikorn_does() -> Result<()> {
    agree_in_each(3_000, &question(), |oracle, version, questions| {
        let answers = oracle.access(questions)?;
        let both = questions.iter().zip(&answers);
        Ok(both.map(|(question, answer)| difference(question, answer, version)).collect())
    })
}

/// Agreement on cases that all have the same answer would prove little.
#[test]
fn generated_questions_cover_every_answer() -> Result<()> {
    const ANSWERS: [&str; 12] = [
        "the submitacl of the queue",
        "the adminacl of the queue",
        "an ACL above",
        "a name the wildcard covers",
        "no ACL",
        "the recovery queue",
        "no queue",
        "a queue that exists",
        "a queue below one that exists",
        "a queue below a leaf",
        "a leaf",
        "no tree",
    ];
    let seen = Cell::new([0_usize; ANSWERS.len()]);
    let count = |questions: &[AccessQuestion]| {
        let mut counts = seen.get();
        for question in questions {
            let Some(tree) = tree(&question.text, Version::V1_8) else {
                counts[11] += 1;
                continue;
            };
            for query in &question.queries {
                let Subject { user, groups } = query.subject.clone();
                let decision = explain(&tree, Right::Submit, &query.queue, &Identity { user, groups });
                let node = decision.located.nearest().and_then(|id| tree.node(id));
                let answer = match (decision.denial, decision.granted_by()) {
                    (Some(Denial::NotGranted), _) => 4,
                    (Some(Denial::Recovery), _) => 5,
                    (Some(Denial::NoQueue), _) => 6,
                    (_, Some(step)) if step.text.contains('*') => 3,
                    (_, Some(step)) if node.is_some_and(|node| node.path != step.queue) => 2,
                    (_, Some(step)) if step.acl == Right::Submit => 0,
                    _ => 1,
                };
                counts[answer] += 1;
                counts[7] += usize::from(matches!(decision.located, Located::Queue(_)));
                counts[8] += usize::from(matches!(decision.located, Located::Below(_)));
                counts[9] += usize::from(matches!(decision.located, Located::BelowLeaf(_)));
                counts[10] += usize::from(node.is_some_and(|node| node.is_leaf));
            }
        }
        seen.set(counts);
        Ok(vec![None; questions.len()])
    };
    agree(1_000, &question(), count)?;
    let rare: Vec<_> = ANSWERS.iter().zip(seen.get()).filter(|(_, count)| *count < 5).collect();
    ensure!(rare.is_empty(), "hardly ever: {rare:?}, of {:?}", seen.get());
    Ok(())
}

/// `tests/vectors/yunikorn-access.jsonl`, used by the unit tests.
#[test]
fn access_to_generated_queues_is_recorded() -> Result<()> {
    let questions = recorded()?;
    let of = |(question, answer): (&AccessQuestion, &AccessAnswer)| {
        let asked = question.queries.iter().zip(&answer.decisions);
        let known = asked.filter(|(_, decision)| decision.user_error.is_empty());
        let rows: Vec<Value> = known.map(|(query, decision)| row(query, decision)).collect();
        (!rows.is_empty()).then(|| json!({"yaml": question.text, "rows": rows}))
    };
    for (_, oracle) in oracles()? {
        let answers = oracle.access(&questions)?;
        hold("yunikorn-access.jsonl", questions.iter().zip(&answers).filter_map(of))?;
    }
    Ok(())
}

pub(super) fn recorded() -> Result<Vec<AccessQuestion>> {
    draw(120, &question())
}

fn row(query: &AccessQuery, decision: &Decision) -> Value {
    let Decision { groups, nearest, exists, leaf, submit, admin, .. } = decision;
    let is = [("exact", exists), ("leaf", leaf), ("submit", submit), ("admin", admin)];
    let is: Vec<&str> = is.iter().filter(|(_, so)| **so).map(|(what, _)| *what).collect();
    json!({"user": query.subject.user, "groups": groups, "queue": query.queue, "nearest": nearest, "is": is})
}

/// Returns the tree that a scheduler runs after it was started with the text; `None` if it does not start.
pub(super) fn tree(text: &str, version: Version) -> Option<Tree> {
    let verdict = verdict(text, &[], version);
    if verdict.starts.is_err() {
        return None;
    }
    verdict.config?.partition("default").and_then(|partition| Tree::new(partition).ok())
}

fn difference(question: &AccessQuestion, answer: &AccessAnswer, version: Version) -> Option<String> {
    let tell = |what: String| Some(format!("{}\n    {what}", question.text));
    if !answer.panic.is_empty() {
        return tell(format!("YuniKorn panicked: {}", answer.panic));
    }
    let Some(tree) = tree(&question.text, version) else {
        return answer.start_error.is_empty().then(|| format!("{}\n    only YuniKorn starts", question.text));
    };
    if !answer.start_error.is_empty() {
        return tell(format!("only the model starts; YuniKorn: {}", answer.start_error));
    }
    let asked = question.queries.iter().zip(&answer.decisions);
    asked.filter(|(_, decision)| decision.user_error.is_empty()).find_map(|(query, decision)| {
        let (ours, yunikorn) = (Reported::ours(&tree, query, &decision.groups), Reported::by(decision));
        (ours != yunikorn).then(|| {
            format!("{}\n    {query:?}\n    we say {ours:?}\n    YuniKorn says {yunikorn:?}", question.text)
        })
    })
}

/// The values that are compared.
#[derive(Debug, PartialEq, Eq)]
struct Reported {
    nearest: String,
    exists: bool,
    leaf: bool,
    /// The rights to submit, and to administer.
    rights: [bool; 2],
}

impl Reported {
    fn by(decision: &Decision) -> Self {
        let Decision { nearest, exists, leaf, submit, admin, .. } = decision.clone();
        Self { nearest, exists, leaf, rights: [submit, admin] }
    }

    fn ours(tree: &Tree, query: &AccessQuery, groups: &[String]) -> Self {
        let identity = Identity { user: query.subject.user.clone(), groups: groups.to_vec() };
        let located = tree.locate(&query.queue);
        let node = located.nearest().and_then(|id| tree.node(id));
        // The oracle checks the ACLs of the nearest queue, even if it is a leaf.
        let queue = match (located, node) {
            (Located::BelowLeaf(_), Some(leaf)) => leaf.path.as_str(),
            _ => &query.queue,
        };
        let may = |right| decide(tree, right, queue, &identity).allowed();
        Self {
            nearest: node.map(|node| node.path.to_string()).unwrap_or_default(),
            exists: matches!(located, Located::Queue(_)),
            leaf: node.is_some_and(|node| node.is_leaf),
            rights: Right::ALL.map(may),
        }
    }
}

pub(super) fn question() -> impl Strategy<Value = AccessQuestion> {
    (root(), vec((path(), subject()), 1..12)).prop_map(|(root, asked)| {
        let mut paths = Vec::new();
        collect(&root, "", &mut paths);
        let queries = asked.into_iter().map(|(path, subject)| AccessQuery {
            subject,
            queue: path.of(&paths),
            tags: BTreeMap::new(),
        });
        let queries = queries.collect();
        AccessQuestion {
            text: json!({"partitions": [{"name": "default", "queues": [root]}]}).to_string(),
            queries,
        }
    })
}

/// Collects the paths of a queue and all below it, as written.
fn collect(queue: &Value, above: &str, paths: &mut Vec<String>) {
    let name = queue["name"].as_str().unwrap_or_default();
    let path = if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") };
    for child in queue["queues"].as_array().into_iter().flatten() {
        collect(child, &path, paths);
    }
    paths.push(path);
}

fn root() -> impl Strategy<Value = Value> {
    let acl = || prop_oneof![5 => Just(""), 3 => acl()];
    (acl(), acl(), children(4)).prop_map(|(submit, admin, below)| queue("root", submit, admin, None, &below))
}

fn children(depth: u32) -> BoxedStrategy<Vec<Value>> {
    if depth == 0 {
        return Just(Vec::new()).boxed();
    }
    let name = prop_oneof![
        12 => select(vec!["a", "B", "kit", "Prod", "ROOT", "x:y#z@w/v", "-_", "7"]),
        1 => select(vec!["@recovery@", "@Recovery@", "default"]),
    ];
    let parent = prop_oneof![4 => Just(None), 1 => any::<bool>().prop_map(Some)];
    let below = prop_oneof![2 => Just(Vec::new()).boxed(), 3 => children(depth - 1)];
    // Names that differ only in case are the same queue twice, which no text may contain.
    btree_map(name, (acl(), acl(), parent, below), 0..4)
        .prop_map(|children| {
            let mut children: Vec<_> = children.into_iter().collect();
            children.dedup_by_key(|(name, _)| name.to_ascii_lowercase());
            let made = children.into_iter();
            made.map(|(name, (submit, admin, parent, below))| queue(name, submit, admin, parent, &below))
                .collect()
        })
        .boxed()
}

fn acl() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        6 => Just(""),
        8 => select(vec!["alice", " devs", "bob,carol", "bob ops,devs", "Alice Devs", "alice,bob devs,ops", "devs alice"]),
        3 => select(vec![
            " ", ",", "x:y,alice g.h,devs", "system:serviceaccount:a:b system:authenticated", "1bob", "bob$ ops$",
            "*,alice", "alice,* devs", "**", "bob\tdevs", "alice\n", "\"alice\" devs", "!alice", "été", "_x a.b@c,_x",
        ]),
        1 => select(vec!["*", "alice *", "* devs", " *", "*\n"]),
    ]
    .prop_flat_map(|usual| prop_oneof![400 => Just(usual), 1 => select(vec!["alice  devs", " * ", "a b c", "alice\tdevs ops"])])
}

fn queue(name: &str, submit: &str, admin: &str, parent: Option<bool>, below: &[Value]) -> Value {
    let fields = [
        ("name", Some(json!(name))),
        ("submitacl", (!submit.is_empty()).then(|| json!(submit))),
        ("adminacl", (!admin.is_empty()).then(|| json!(admin))),
        ("parent", parent.map(Value::Bool)),
        ("queues", (!below.is_empty()).then(|| json!(below))),
    ];
    let fields = fields.into_iter().filter_map(|(key, value)| value.map(|value| (key.to_owned(), value)));
    Value::Object(fields.collect())
}

/// A path that a tree contains or nearly contains.
#[derive(Debug, Clone)]
struct Path {
    queue: Choice,
    case: Case,
    behind: &'static str,
    odd: Option<&'static str>,
}

#[derive(Debug, Clone, Copy)]
enum Case {
    AsWritten,
    Upper,
    Lower,
    /// Includes the non-ASCII letters that Go lower-cases to `k` and `i`.
    Unicode,
}

impl Path {
    fn of(self, paths: &[String]) -> String {
        let path = self.queue.get(paths);
        let path = match self.case {
            Case::AsWritten => path.clone(),
            Case::Upper => path.to_ascii_uppercase(),
            Case::Lower => path.to_ascii_lowercase(),
            Case::Unicode => path.replace('k', "\u{212a}").replace('i', "\u{130}"),
        };
        self.odd.map_or_else(|| path + self.behind, str::to_owned)
    }
}

fn path() -> impl Strategy<Value = Path> {
    let case = prop_oneof![
        6 => Just(Case::AsWritten),
        2 => Just(Case::Upper),
        2 => Just(Case::Lower),
        1 => Just(Case::Unicode),
    ];
    let behind = prop_oneof![
        8 => Just(""),
        4 => select(vec![".a", ".b", ".KIT", ".new", ".new.newer", ".@recovery@", ".@Recovery@.x"]),
        3 => select(vec![".", "..", "..a", ".a.", " ", "x", ".é", ".\u{212a}it", ".a b", ".*", "\0", ".\u{17f}"]),
    ];
    let odd = select(vec![
        "",
        ".",
        "..",
        "root",
        "ROOT",
        "root.",
        ".root",
        "rootx",
        " root",
        "a",
        "a.b",
        "root..",
        "rOOt.@reCOVery@",
        "r\u{d6}\u{d6}t",
    ]);
    let odd = prop_oneof![8 => Just(None), 1 => odd.prop_map(Some)];
    (any::<Choice>(), case, behind, odd).prop_map(|(queue, case, behind, odd)| Path {
        queue,
        case,
        behind,
        odd,
    })
}

fn subject() -> impl Strategy<Value = Subject> {
    let user = prop_oneof![
        12 => select(vec!["alice", "bob", "carol", "dave", "Alice", "devs"]),
        2 => select(vec!["bob$", "x:y", "_x", "a.b@c", "system:serviceaccount:a:b", "*", "1bob", "été", ""]),
    ];
    let group = prop_oneof![
        6 => select(vec!["devs", "ops", "qa", "Devs", "alice"]),
        1 => select(vec!["", "*", "g.h", "_x", "system:authenticated", "ops$", "a,b"]),
    ];
    (user, vec(group, 0..4)).prop_map(|(user, groups)| Subject {
        user: user.to_owned(),
        groups: groups.into_iter().map(str::to_owned).collect(),
    })
}
