//! Measures the same operations of queuewarden, under the same names.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use queuewarden_api::review::ReviewKind;
use queuewarden_api::review::access::{SubjectAccessReview, only_status};
use serde_json::json;
use yunikorn::acl;
use yunikorn::config::verdict;
use yunikorn::identity::{Identity, ResolverKind};
use yunikorn::right::Right;
use yunikorn::version::Version;
use yunikorn_access::decide::decide;
use yunikorn_access::review::{AccessRequest, answer};
use yunikorn_access::tree::Scheduler;
use yunikorn_access::{GrantingEntry, Tree, who_can};

use super::{Figures, inputs};

/// Shortest duration of a round of one measurement; the fastest of several rounds is used.
const ROUND: Duration = Duration::from_millis(100);
const ROUNDS: usize = 5;

pub(super) fn figures() -> Result<Figures> {
    let mut figures = Figures::new();
    let text = inputs::acl();
    measure(&mut figures, "Parse", || acl::parse(black_box(&text)).is_ok())?;
    let text = inputs::queues();
    measure(&mut figures, "Load", || load(black_box(&text)).is_ok())?;
    let tree = load(&text)?;
    let results = who_can_everywhere(&tree);
    ensure!(results > 0, "nobody can do anything");
    measure(&mut figures, "WhoCan", || who_can_everywhere(black_box(&tree)) == results)?;
    // The figure is for a thousand results.
    figures.entry("WhoCan".to_owned()).and_modify(|time| *time *= 1000.0 / as_float(results));
    measure(&mut figures, "Review", review_of(&tree)?)?;
    decisions(&mut figures)?;
    Ok(figures)
}

/// Returns the authorizer's work on a request without the network, from the bytes of a `SubjectAccessReview`
/// to the bytes of its answer.
fn review_of(tree: &Tree) -> Result<impl Fn() -> bool> {
    let (_, queue) = tree.queues().last().context("no queue")?;
    let attributes = json!({"verb": "submit", "group": "queuewarden.dev", "resource": "queues", "name": queue.path.as_str()});
    let body = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": "somebody", "groups": ["operators", "system:authenticated"], "resourceAttributes": attributes}});
    let body = body.to_string();
    let scheduler = Scheduler { tree, resolver: &ResolverKind::None, version: Version::V1_8 };
    Ok(move || {
        let Some(review) = SubjectAccessReview::read_json(black_box(body.as_bytes())) else { return false };
        let Ok(user) = review.user(ReviewKind::Subject, None) else { return false };
        let answer = match review.action(false) {
            Ok(action) => answer(&AccessRequest { partition: "default", user, action }, None, scheduler),
            Err(elsewhere) => elsewhere,
        };
        let sent = only_status("authorization.k8s.io/v1", ReviewKind::Subject, &answer);
        answer.allowed() && serde_json::to_vec(black_box(&sent)).is_ok()
    })
}

/// Loads the text as all commands do, ready for queries.
fn load(text: &str) -> Result<Tree> {
    let config = verdict(text, &[], Version::V1_8).config.context("the configuration is refused")?;
    let tree = Tree::new(config.partition("default").context("no partition")?)?;
    tree.make_ready();
    Ok(tree)
}

fn who_can_everywhere(tree: &Tree) -> usize {
    tree.queues().map(|(_, node)| who_can(tree, Right::Submit, node.path.as_str()).grantees.len()).sum()
}

fn decisions(figures: &mut Figures) -> Result<()> {
    for decision in inputs::decisions() {
        let tree = load(&decision.config)?;
        let inputs::Decision { name, lists, user, groups, allowed, .. } = &decision;
        let path = &lists.first().context("no queue")?.path;
        let queue = tree.locate(path).decides().context("no queue")?;
        let who = Identity { user: user.clone(), groups: groups.clone() };
        measure(figures, &format!("Decision/{name}"), || {
            decide(&tree, Right::Submit, black_box(path), black_box(&who)).allowed() == *allowed
        })?;
        measure(figures, &format!("OnQueue/{name}"), || {
            GrantingEntry::find(&tree, Right::Submit, black_box(queue), black_box(&who)).is_some() == *allowed
        })?;
    }
    Ok(())
}

/// Measures the nanoseconds of one call of `work`, which returns whether it succeeded.
fn measure(figures: &mut Figures, name: &str, work: impl Fn() -> bool) -> Result<()> {
    ensure!(work(), "{name}: another answer");
    let mut calls = 1_u32;
    while repeat(calls, &work)? < ROUND / 10 {
        calls = calls.saturating_mul(4);
    }
    let mut fastest = Duration::MAX;
    for _ in 0..ROUNDS {
        fastest = fastest.min(repeat(calls, &work)?);
    }
    figures.insert(name.to_owned(), fastest.as_secs_f64() * 1e9 / f64::from(calls));
    Ok(())
}

fn repeat(calls: u32, work: impl Fn() -> bool) -> Result<Duration> {
    let begin = Instant::now();
    let mut all = true;
    for _ in 0..calls {
        all &= black_box(work());
    }
    ensure!(all, "another answer than before");
    Ok(begin.elapsed())
}

fn as_float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
