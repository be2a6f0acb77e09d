//! Benchmarks a reconcile of the operator with ten thousand grants on ten thousand queues: without a change,
//! with one changed grant, and with nothing written before.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion};
use jiff::Timestamp;
use queuewarden_plan::simulate::settle;
use queuewarden_plan::snapshot::{
    BaseAcl, ConfigMapState, ConfigSpec, Entry, Grant, Meta, QueueAclEntry, QueueAclSpec, Snapshot,
    YUNIKORN_DEFAULTS,
};
use queuewarden_plan::{ParseCache, plan, plan_again};
use yunikorn::version::Version;

#[path = "inputs/closed.rs"]
mod closed;

/// Teams, and queues of each.
const SIDE: usize = 100;

pub(crate) fn plans(criterion: &mut Criterion) {
    let new = snapshot();
    let settled = settle(new.clone()).snapshot;
    assert!(plan(&settled).write.is_none(), "nothing is left to do");
    let mut changed = settled.clone();
    let entry = changed.queue_acls.get_mut(SIDE * SIDE / 2).expect("a grant");
    let entry = Arc::make_mut(entry);
    entry.meta.generation += 1;
    entry.spec.as_mut().expect("a spec").submit = Some(lists("somebody"));
    assert!(plan(&changed).write.is_some(), "a change is to be written");

    let mut group = criterion.benchmark_group("plan");
    group.sample_size(20);
    let mut known = ParseCache::new(Version::V1_8);
    let last = plan_again(&settled, &mut known);
    assert!(last == plan(&settled) && last == plan_again(&settled, &mut known.clone()), "the same plan");
    for (name, snapshot, known) in [
        ("nothing has changed", &settled, &known),
        ("one grant has changed", &changed, &known),
        ("all is new", &new, &ParseCache::new(Version::V1_8)),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter_batched_ref(
                || known.clone(),
                |known| plan_again(black_box(snapshot), known),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

fn lists(user: &str) -> Grant {
    Grant::Lists { users: vec![user.to_owned()], groups: vec!["group".to_owned()] }
}

fn snapshot() -> Snapshot {
    let map = Arc::new(ConfigMapState {
        name: YUNIKORN_DEFAULTS.to_owned(),
        uid: "uid".to_owned(),
        resource_version: "1".to_owned(),
        data: BTreeMap::from([("queues.yaml".to_owned(), closed::text(SIDE, SIDE))]),
        ..ConfigMapState::default()
    });
    // In the order of their names, as the operator's cache has them.
    let grants = (0..SIDE * SIDE)
        .map(|number| entry(&format!("grant-{number:05}"), grant(closed::path(SIDE, number), number)));
    let config = Entry { meta: meta("default"), spec: Ok(ConfigSpec::default()), in_force: None };
    Snapshot {
        config: Some(config),
        queue_acls: grants.collect(),
        defaults: Some(Arc::clone(&map)),
        base: Some(map),
        ..Snapshot::empty(Timestamp::UNIX_EPOCH)
    }
}

fn meta(name: &str) -> Meta {
    Meta { name: name.into(), uid: format!("uid-{name}").into(), generation: 1, ..Meta::default() }
}

fn entry(name: &str, spec: QueueAclSpec) -> Arc<QueueAclEntry> {
    Arc::new(Entry { meta: meta(name), spec: Ok(spec), in_force: None })
}

fn grant(queue: String, number: usize) -> QueueAclSpec {
    QueueAclSpec {
        partition: "default".to_owned(),
        queue,
        submit: Some(lists(&format!("user{number}"))),
        admin: None,
        base_acl: BaseAcl::Replace,
        not_before: None,
        expires_at: None,
        suspend: false,
        delegated_by: None,
    }
}
