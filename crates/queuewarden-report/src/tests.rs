//! Tests the findings about a tree and a snapshot.

use std::sync::Arc;

use super::*;
use queuewarden_plan::conditions::{Condition, Reason, Status, Type};
use queuewarden_plan::snapshot::{
    BaseAcl, ConfigMapState, Entry, Grant, Meta, QueueAclEntry, QueueAclSpec, Snapshot, Touch,
};
use yunikorn::config::verdict;
use yunikorn::version::Version;
use yunikorn_access::testing::text;

/// Returns a report about queues, with the validators' findings.
fn reported(queues: &[yunikorn_access::testing::Queue<'_>]) -> Vec<(String, Option<String>, Option<Right>)> {
    let verdict = verdict(&text(queues), &[], Version::V1_8);
    let config = verdict.config.unwrap();
    let partition = config.partition("default").unwrap();
    let tree = Tree::new(partition).unwrap();
    let diagnostics = verdict.diagnostics.into_iter().map(|diagnostic| (None, diagnostic)).collect();
    let beside = Beside { partition: Some(partition), diagnostics, ..Beside::default() };
    let path = |finding: &Finding| {
        finding.queue.and_then(|queue| tree.node(queue)).map(|node| node.path.to_string())
    };
    let findings = findings(&tree, &beside);
    let shown = findings.iter();
    shown.map(|finding| (finding.diagnostic.code.title.to_owned(), path(finding), finding.right)).collect()
}

#[test]
fn findings_about_admission_settings_are_about_no_queue() {
    let tree = yunikorn_access::testing::tree(&[("root", "", " ops")]);
    let origin = Origin::Object { kind: "AdmissionPolicy", name: "p".to_owned(), until: None };
    let found = yunikorn::admission::pitfalls::bypass_auth();
    let beside = Beside { risks: vec![(origin.clone(), found.clone())], ..Beside::default() };
    let expected = Finding { queue: None, right: None, origin: Some(origin), diagnostic: found };
    assert!(findings(&tree, &beside).contains(&expected));
}

#[test]
fn findings_of_texts_and_of_trees_stand_at_their_queues() {
    let reported = reported(&[
        ("root", "", " ops"),
        ("root.b", "sue", ""),
        ("root.b.c", "sue", ""),
        ("root.d", "zoe", "a:b"),
    ]);
    let granted = reported.iter().find(|(title, ..)| title == "granted-above").unwrap();
    assert_eq!(granted.1.as_deref(), Some("root.b.c"));
    assert_eq!(granted.2, Some(Right::Submit));
    // A finding about a text is attributed to the ACL that contains it: YuniKorn drops this name.
    let (_, queue, right) = reported.iter().find(|(title, ..)| title == "submit-only-name").unwrap();
    assert_eq!((queue.as_deref(), *right), (Some("root.d"), Some(Right::Admin)));
}

#[test]
fn places_are_in_the_acl_they_are_in() {
    let config =
        verdict(&text(&[("root", "sue", " ops"), ("root.a", "zoe", "")]), &[], Version::V1_8).config.unwrap();
    let partition = config.partition("default").unwrap();
    let acls = acl_spans(Some(partition));
    for (span, queue, right) in &acls {
        assert_eq!(holding(&acls, *span), Some((*queue, *right)));
        assert_eq!(holding(&acls, Span::new(span.end, span.end + 1)), None, "behind it");
        let inside = Span::new(span.start, span.start);
        assert_eq!(holding(&acls, inside), Some((*queue, *right)));
    }
    assert_eq!((acls.len(), holding(&acls, Span::new(0, 0))), (3, None));
    assert_eq!(holding(&acl_spans(None), Span::new(0, 0)), None);
}

fn touch(manager: &str, time: Option<&str>) -> Touch {
    Touch {
        time: time.map(|time| time.parse().unwrap()),
        manager: manager.to_owned(),
        operation: "Update".to_owned(),
        fields: Vec::new(),
    }
}

fn snapshot() -> Snapshot {
    Snapshot::empty("2026-06-01T12:00:00Z".parse().unwrap())
}

/// Returns the queues of the partition that most of the objects belong to.
fn prod() -> Tree {
    yunikorn_access::testing::tree(&[("root", "", ""), ("root.prod", "", "")])
}

/// Returns an object without conditions.
fn entry(name: &str, spec: QueueAclSpec) -> Arc<QueueAclEntry> {
    Arc::new(Entry { meta: Meta { name: name.into(), ..Meta::default() }, spec: Ok(spec), in_force: None })
}

fn spec() -> QueueAclSpec {
    QueueAclSpec {
        partition: "default".to_owned(),
        queue: "root.Prod".to_owned(),
        submit: None,
        admin: None,
        base_acl: queuewarden_plan::snapshot::BaseAcl::Replace,
        not_before: None,
        expires_at: None,
        suspend: false,
        delegated_by: None,
    }
}

#[test]
fn objects_that_are_suspended_or_outside_their_time_are_listed() {
    let object = |(name, begin, end): (&str, Option<&str>, Option<&str>)| {
        let at = |time: Option<&str>| time.map(|time| time.parse().unwrap());
        let suspend = name == "suspended";
        entry(name, QueueAclSpec { not_before: at(begin), expires_at: at(end), suspend, ..spec() })
    };
    let (may, june, july) =
        (Some("2026-05-01T00:00:00Z"), Some("2026-06-01T12:00:00Z"), Some("2026-07-01T00:00:00Z"));
    let objects = [
        ("always", None, None),
        ("begun", june, july),
        ("ended", None, june),
        ("earlier", None, may),
        ("planned", july, None),
        ("suspended", None, july),
    ];
    let at = |partition: &str, queue: &str| QueueAclSpec {
        partition: partition.to_owned(),
        queue: queue.to_owned(),
        suspend: true,
        ..spec()
    };
    let others = [entry("of-no-queue", at("Default", "root.x")), entry("elsewhere", at("gpu", "root.prod"))];
    let queue_acls = objects.map(object).into_iter().chain(others).collect();
    let found = outside(&Snapshot { queue_acls, ..snapshot() }, &prod());
    let shown: Vec<_> =
        found.iter().map(|of| (of.name.as_str(), of.expired, of.suspended, of.queue)).collect();
    let expected = [
        ("planned", false, false, Some(1)),
        ("of-no-queue", false, true, None),
        ("suspended", false, true, Some(1)),
        ("earlier", true, false, Some(1)),
        ("ended", true, false, Some(1)),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn objects_without_effect_are_listed_with_their_reason() {
    let condition = |type_: Type, status, reason: Reason, generation| Condition {
        type_: type_.as_str().into(),
        status,
        reason: reason.as_str().into(),
        message: format!("{reason} it is"),
        observed_generation: generation,
        last_transition: snapshot().now,
    };
    let object = |(name, generation, accepted, effective): (&str, i64, Option<Reason>, Option<Reason>)| {
        let of = |type_, wrong: Option<Reason>| {
            condition(
                type_,
                if wrong.is_some() { Status::False } else { Status::True },
                wrong.unwrap_or(Reason::Accepted),
                2,
            )
        };
        let conditions = [of(Type::Accepted, accepted), of(Type::Effective, effective)].into();
        let meta = Meta { name: name.into(), conditions, generation, ..Meta::default() };
        Arc::new(Entry { meta, spec: Ok(spec()), in_force: None })
    };
    let objects = [
        ("in-force", 2, None, None),
        ("lost", 2, Some(Reason::QueueNotFound), Some(Reason::QueueNotFound)),
        ("redundant", 2, None, Some(Reason::AncestorAllowsEveryone)),
        // nobody has checked its current version.
        ("changed", 3, Some(Reason::Invalid), None),
    ];
    let mut queue_acls: Vec<_> = objects.map(object).into();
    let lost = Entry::clone(&queue_acls[1]);
    let elsewhere = QueueAclSpec { partition: "gpu".to_owned(), ..spec() };
    queue_acls.push(Arc::new(Entry { spec: Ok(elsewhere), ..lost.clone() }));
    queue_acls.push(Arc::new(Entry { spec: Err(Vec::new()), ..lost }));
    let found = without_effect(&Snapshot { queue_acls, ..snapshot() }, &prod());
    let shown: Vec<_> = found.iter().map(|of| (of.name.as_str(), of.message.as_str(), of.queue)).collect();
    let expected = [
        ("lost", "QueueNotFound it is", Some(1)),
        ("redundant", "AncestorAllowsEveryone it is", Some(1)),
        ("lost", "QueueNotFound it is", None),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn an_object_for_nobody_has_an_effect_where_it_closes_a_queue() {
    let base = ConfigMapState {
        name: "yunikorn-defaults".to_owned(),
        data: [(
            "queues.yaml".to_owned(),
            text(&[("root", "", ""), ("root.open", "sue", ""), ("root.shut", " ", "")]),
        )]
        .into(),
        ..ConfigMapState::default()
    };
    let object = |(name, queue, submit, base_acl): (&str, &str, Grant, BaseAcl)| {
        entry(name, QueueAclSpec { queue: queue.to_owned(), submit: Some(submit), base_acl, ..spec() })
    };
    let objects = [
        ("closes", "root.open", Grant::Nobody, BaseAcl::Replace),
        ("adds-nobody", "root.open", Grant::Nobody, BaseAcl::Extend),
        ("empty", "root.shut", Grant::Nobody, BaseAcl::Replace),
        ("grants", "root.shut", Grant::Raw("zoe".to_owned()), BaseAcl::Replace),
        ("lost", "root.none", Grant::Nobody, BaseAcl::Replace),
    ];
    let snapshot = Snapshot {
        defaults: Some(Arc::new(base.clone())),
        base: Some(Arc::new(base)),
        queue_acls: objects.map(object).into(),
        ..snapshot()
    };
    let found: Vec<_> =
        without_effect(&snapshot, &prod()).into_iter().map(|object| (object.name, object.reason)).collect();
    assert_eq!(found, ["adds-nobody", "empty"].map(|name| (name.to_owned(), "GrantsNobody".to_owned())));
}

#[test]
fn the_latest_change_comes_first_and_each_once() {
    let map = ConfigMapState {
        name: "yunikorn-defaults".to_owned(),
        touches: vec![touch("helm", Some("2026-01-01T00:00:00Z")), touch("unknown", None)],
        ..ConfigMapState::default()
    };
    let meta = Meta {
        name: "prod".into(),
        touches: vec![touch("old", Some("2025-01-01T00:00:00Z")), touch("new", Some("2026-05-01T00:00:00Z"))],
        ..Meta::default()
    };
    let unreadable = Entry { meta: meta.clone(), spec: Err(Vec::new()), in_force: None };
    let snapshot = Snapshot {
        // By default, the base is the defaults ConfigMap.
        defaults: Some(Arc::new(map.clone())),
        base: Some(Arc::new(map)),
        queue_acls: vec![Arc::new(Entry { meta, spec: Ok(spec()), in_force: None }), Arc::new(unreadable)],
        ..snapshot()
    };
    let reported = changes(&snapshot, &prod());
    let managers: Vec<&str> = reported.iter().map(|change| change.manager.as_str()).collect();
    assert_eq!(managers, ["new", "new", "helm", "old", "old", "unknown"]);
    let queues: Vec<_> = reported.iter().filter_map(|change| change.queue).collect();
    assert_eq!(queues, [1, 1], "the queue of an unreadable object is unknown");
    assert_eq!(reported[2].namespace.as_deref(), Some("yunikorn"));
    let time = serde_json::to_value(reported[0].time).unwrap();
    assert_eq!(time, "2026-05-01T00:00:00Z");
}
