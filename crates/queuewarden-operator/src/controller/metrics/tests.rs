//! Tests the counters and figures of plans.

use std::collections::BTreeSet;
use std::thread;

use super::*;
use queuewarden_plan::plan;
use queuewarden_plan::snapshot::{
    BaseAcl, BinaryValue, ConfigMapState, ConfigSpec, Entry, Grant, Meta, QueueAclSpec, YUNIKORN_CONFIGS,
    YUNIKORN_DEFAULTS,
};

const TREE: &str = "partitions: [{name: default, queues: [{name: root, queues: [{name: prod}]}]}]\n";

fn map(name: &str, data: &[(&str, &str)]) -> ConfigMapState {
    let data = data.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    ConfigMapState { name: name.into(), data, ..ConfigMapState::default() }
}

/// A base, a `YuniKornConfig` and this number of `QueueAcl`s.
fn cluster(acls: usize) -> Snapshot {
    let meta = |name: String| Meta { name: name.into(), ..Meta::default() };
    let spec = QueueAclSpec {
        partition: "default".into(),
        queue: "root.prod".into(),
        submit: Some(Grant::Lists { users: vec!["sue".into()], groups: Vec::new() }),
        admin: None,
        base_acl: BaseAcl::Replace,
        not_before: None,
        expires_at: None,
        suspend: false,
        delegated_by: None,
    };
    let acl = |number| Entry { meta: meta(format!("acl-{number}")), spec: Ok(spec.clone()), in_force: None };
    let base = Arc::new(map(YUNIKORN_DEFAULTS, &[("queues.yaml", TREE)]));
    Snapshot {
        config: Some(Entry { meta: meta("default".into()), spec: Ok(ConfigSpec::default()), in_force: None }),
        queue_acls: (0..acls).map(|number| Arc::new(acl(number))).collect(),
        defaults: Some(Arc::clone(&base)),
        base: Some(base),
        ..Snapshot::empty(jiff::Timestamp::UNIX_EPOCH)
    }
}

/// The lines of `/metrics` for objects and conditions.
fn reported(metrics: &Metrics) -> BTreeSet<String> {
    let text = metrics.text(&[]);
    let ours = ["queuewarden_objects{", "queuewarden_config_condition{"];
    let lines = text.lines().filter(|line| ours.iter().any(|name| line.starts_with(name)));
    lines.map(str::to_owned).collect()
}

fn value(metrics: &Metrics, name: &str) -> usize {
    let text = metrics.text(&[]);
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap().parse().unwrap()
}

#[test]
fn a_scrape_while_a_plan_is_counted_sees_all_of_it() {
    let metrics = Metrics::default();
    let snapshot = cluster(50);
    let plan = plan(&snapshot);
    metrics.planned(&snapshot, &plan);
    let whole = reported(&metrics);
    assert!(whole.iter().any(|line| line.contains("Accepted") && line.ends_with(" 50")), "{whole:?}");
    thread::scope(|scope| {
        scope.spawn(|| (0..1000).for_each(|_| metrics.planned(&snapshot, &plan)));
        for _ in 0..1000 {
            assert_eq!(reported(&metrics), whole);
        }
    });
}

#[test]
fn what_is_so_no_more_is_reported_no_more() {
    let metrics = Metrics::default();
    let tell = |snapshot: &Snapshot| {
        metrics.planned(snapshot, &plan(snapshot));
        reported(&metrics)
    };
    let with = tell(&cluster(1));
    let mut open = cluster(0);
    open.base = None;
    open.defaults = None;
    let without = tell(&open);
    assert!(with.iter().any(|line| line.contains("QueueAcl")), "{with:?}");
    assert!(!without.iter().any(|line| line.contains("QueueAcl")), "{without:?}");
    let resolved = |reported: &BTreeSet<String>| -> Vec<String> {
        reported
            .iter()
            .filter(|line| line.contains("config_condition{type=\"BaseResolved\""))
            .cloned()
            .collect()
    };
    let (before, now) = (resolved(&with), resolved(&without));
    assert_eq!((before.len(), now.len()), (1, 1), "{before:?} {now:?}");
    assert_ne!(before, now);
    assert_eq!(tell(&cluster(1)), with);
}

#[test]
fn grants_that_end_within_a_day_are_counted() {
    let metrics = Metrics::default();
    let mut snapshot = cluster(5);
    // No end, just now, in an hour, in a day, and later.
    let ends = [None, Some(0), Some(3_600), Some(86_400), Some(86_401)];
    for (entry, end) in snapshot.queue_acls.iter_mut().zip(ends) {
        let spec = Arc::make_mut(entry).spec.as_mut().unwrap();
        spec.base_acl = BaseAcl::Extend;
        spec.expires_at = end.map(|second| jiff::Timestamp::from_second(second).unwrap());
    }
    let counted = |snapshot: &Snapshot| {
        metrics.planned(snapshot, &plan(snapshot));
        value(&metrics, "queuewarden_grants_expiring")
    };
    let settled = queuewarden_plan::simulate::settle(snapshot).snapshot;
    assert_eq!(counted(&settled), 2);
    let mut refused = settled;
    Arc::make_mut(&mut refused.queue_acls[2]).spec.as_mut().unwrap().queue = "root.missing".into();
    assert_eq!(counted(&refused), 1, "an object that is not ready does not count");
}

#[test]
fn findings_about_admission_settings_are_counted() {
    let metrics = Metrics::default();
    let mut snapshot = cluster(0);
    for (text, expected) in [("false", 0), ("true", 1)] {
        let defaults = Arc::make_mut(snapshot.defaults.as_mut().unwrap());
        defaults.data.insert(yunikorn::admission::BYPASS_AUTH.to_owned(), text.to_owned());
        metrics.planned(&snapshot, &plan(&snapshot));
        assert_eq!(value(&metrics, "queuewarden_admission_risks"), expected);
    }
}

#[test]
fn without_a_plan_nobody_is_in_sync() {
    let metrics = Metrics::default();
    metrics.in_sync.set(1);
    metrics.unplanned();
    assert_eq!(value(&metrics, "queuewarden_config_in_sync"), 0);
}

#[test]
fn the_size_of_the_output_is_that_of_all_its_values() {
    let metrics = Metrics::default();
    let sizes = |snapshot: &Snapshot| {
        metrics.planned(snapshot, &plan(snapshot));
        (value(&metrics, "queuewarden_render_bytes"), value(&metrics, "queuewarden_output_bytes"))
    };
    let mut snapshot = cluster(1);
    let (rendered, output) = sizes(&snapshot);
    assert!(rendered > TREE.len());
    assert_eq!(output, rendered, "there is nothing else in it yet");
    let mut live = map(YUNIKORN_CONFIGS, &[("log.level", "DEBUG"), ("other", "seven b")]);
    live.binary.insert("archive.gz".into(), BinaryValue { len: 1000, gunzipped: None });
    snapshot.output = Some(Arc::new(live.clone()));
    assert_eq!(sizes(&snapshot), (rendered, rendered + 5 + 7 + 1000));
    let text = plan(&snapshot).rendered.unwrap().text;
    live.data.insert("queues.yaml".into(), text);
    snapshot.output = Some(Arc::new(live));
    assert_eq!(sizes(&snapshot), (rendered, rendered + 5 + 7 + 1000), "it is not counted twice");
}

#[test]
fn what_is_too_large_to_be_written_is_measured_all_the_same() {
    let metrics = Metrics::default();
    let mut snapshot = cluster(1);
    let mut live = map(YUNIKORN_CONFIGS, &[]);
    live.binary
        .insert("archive.gz".into(), BinaryValue { len: queuewarden_plan::MAX_BYTES, gunzipped: None });
    snapshot.output = Some(Arc::new(live));
    let plan = plan(&snapshot);
    assert!(plan.write.is_none(), "{:?}", plan.write);
    metrics.planned(&snapshot, &plan);
    let rendered = value(&metrics, "queuewarden_render_bytes");
    assert_eq!(value(&metrics, "queuewarden_output_bytes"), queuewarden_plan::MAX_BYTES + rendered);
}
