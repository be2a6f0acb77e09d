//! Tests of the history: how a write is recorded, and how revisions are found.

use super::*;
use crate::simulate;
use crate::write::{Revision, Write};
use yunikorn::admission::BYPASS_AUTH;

/// Returns the write of the plan, and its revision.
fn written(snapshot: &Snapshot) -> (Write, Revision) {
    let write = plan(snapshot).write.unwrap();
    let mut after = snapshot.output.as_deref().map(|output| output.data.clone()).unwrap_or_default();
    after.extend(write.data.iter().filter_map(|(key, value)| Some((key.clone(), value.clone()?))));
    after.retain(|key, _| write.data.get(key) != Some(&None));
    let revision = Revision::of_write(&write, &after, now(), Some("nobody gains"), &[]).unwrap();
    (write, revision)
}

fn causes(snapshot: &Snapshot) -> Vec<String> {
    written(snapshot).1.causes
}

/// A cluster at rest, with `a` on root.prod and `b` on root.test.
fn granted() -> Snapshot {
    let mut snapshot = cluster(BASE);
    snapshot.output = Some(map(YUNIKORN_CONFIGS, &[]));
    snapshot.queue_acls = vec![submit("a", "root.prod", "ann"), submit("b", "root.test", "bob")];
    settled(&snapshot).snapshot
}

#[test]
fn a_write_is_recorded_with_its_text_and_its_number() {
    let mut snapshot = granted();
    spec_of(&mut snapshot.queue_acls[0]).submit = Some(Grant::Raw("sue".into()));
    let (write, revision) = written(&snapshot);
    assert_eq!(Some(&revision.text), write.data[KEY].as_ref());
    assert_eq!((revision.number, revision.at), (2, now()));
    assert_eq!(revision.access.as_deref(), Some("nobody gains"));
    let done = simulate::settle(snapshot).snapshot;
    assert_eq!(done.config_status().unwrap().revision, Some(revision.number), "the status counts alike");
    assert!(revision.name().starts_with("queuewarden-2-"));
}

#[test]
fn causes_are_the_objects_whose_part_changes() {
    let none = cluster(BASE);
    let base = "ConfigMap yunikorn/yunikorn-defaults, key queues.yaml";
    let with_output = Snapshot { output: Some(map(YUNIKORN_CONFIGS, &[])), ..none };
    assert_eq!(causes(&with_output), [base]);

    let mut changed = granted();
    spec_of(&mut changed.queue_acls[1]).submit = Some(Grant::Raw("eve".into()));
    assert_eq!(causes(&changed), ["QueueAcl/b"]);

    let mut suspended = granted();
    spec_of(&mut suspended.queue_acls[0]).suspend = true;
    suspended.queue_acls.push(submit("c", "root.prod.etl", "cy"));
    assert_eq!(causes(&suspended), ["QueueAcl/a", "QueueAcl/c"]);

    let mut rebased = granted();
    rebased.defaults = Some(map(YUNIKORN_DEFAULTS, &[(KEY, &BASE.replace("etl", "bi"))]));
    rebased.base.clone_from(&rebased.defaults);
    assert_eq!(causes(&rebased), [base]);

    let mut deleted = granted();
    deleted.queue_acls.pop();
    let write = plan(&deleted).write.unwrap();
    assert_eq!(write.causes, [""; 0], "the plan does not know an object that is gone");
    let revision = Revision::of_write(&write, &BTreeMap::new(), now(), None, &["b".into()]).unwrap();
    assert_eq!(revision.causes, ["QueueAcl/b deleted"]);
}

#[test]
fn causes_of_a_partial_text_are_only_what_it_takes() {
    let mut snapshot = granted();
    snapshot.defaults = None;
    snapshot.base = None;
    spec_of(&mut snapshot.queue_acls[0]).submit = Some(Grant::Raw(String::new()));
    snapshot.queue_acls.push(submit("c", "root.prod.etl", "cy"));
    assert!(plan(&snapshot).write.unwrap().partial);
    assert_eq!(causes(&snapshot), ["QueueAcl/a"]);
}

#[test]
fn a_change_that_is_put_back_is_a_cause() {
    let mut snapshot = granted();
    let output = Arc::make_mut(snapshot.output.as_mut().unwrap());
    output.data.insert(KEY.into(), BASE.into());
    output
        .owners
        .insert(KEY.into(), vec![KeyOwner { manager: "kubectl-edit".into(), operation: "Update".into() }]);
    assert_eq!(causes(&snapshot), ["a change by `kubectl-edit`, put back"]);
}

#[test]
fn many_causes_are_counted() {
    let mut snapshot = granted();
    snapshot.queue_acls =
        (0..30).map(|n| submit(&format!("n{n:02}"), "root.prod", &format!("u{n}"))).collect();
    let (write, revision) = written(&snapshot);
    assert_eq!(write.causes.len(), 21);
    assert_eq!(revision.causes.last().map(String::as_str), Some("and 10 more"));
}

#[test]
fn a_text_of_ours_is_found_unless_it_is_about_to_change() {
    let snapshot = granted();
    let found = |snapshot: &Snapshot| Revision::found(snapshot, &plan(snapshot));
    let revision = found(&snapshot).unwrap();
    assert_eq!((revision.number, revision.text.as_str(), revision.access), (1, text(&snapshot), None));
    assert_eq!(revision.causes.len(), 1);

    let mut changing = snapshot.clone();
    spec_of(&mut changing.queue_acls[0]).submit = Some(Grant::Raw("sue".into()));
    assert_eq!(found(&changing), None);
    let mut observing = snapshot.clone();
    spec(&mut observing).mode = Mode::Observe;
    assert_eq!(found(&observing), None, "in mode Observe nothing is written");
    let mut others = cluster(BASE);
    others.output = Some(owned_by(map(YUNIKORN_CONFIGS, &[(KEY, BASE)]), "helm"));
    assert_eq!(found(&others), None, "somebody else's text is no revision");
    assert_eq!(found(&Snapshot::empty(now())), None);
}

#[test]
fn a_write_of_access_keys_is_recorded_with_its_policy_and_the_number_of_the_text() {
    let mut snapshot = granted();
    let before = Revision::found(&snapshot, &plan(&snapshot)).unwrap();
    snapshot.policies =
        vec![entry("p", AdmissionPolicySpec { bypass_auth: Some(true), ..Default::default() })];
    let (write, revision) = written(&snapshot);
    assert_eq!(write.data.len(), 1, "the queues stay");
    assert_eq!((revision.number, &revision.text), (before.number, &before.text));
    assert_eq!(revision.admission, [(BYPASS_AUTH.to_owned(), "true".to_owned())].into());
    assert_eq!(revision.causes, ["AdmissionPolicy/p"]);
    assert_ne!(revision.name(), before.name());

    let mut done = simulate::settle(snapshot).snapshot;
    assert_eq!(Revision::found(&done, &plan(&done)).unwrap().admission, revision.admission);
    done.policies.clear();
    let removed = written(&done).1;
    assert_eq!(removed.causes, ["no AdmissionPolicy any more"]);
    assert_eq!(removed.admission, BTreeMap::new());

    let foreign = [(KEY.to_owned(), BASE.to_owned())].into();
    assert_eq!(
        Revision::of_write(&write, &foreign, now(), None, &[]),
        None,
        "the queues are somebody else's"
    );
}

#[test]
fn a_write_without_queues_and_access_keys_is_no_revision() {
    let data = granted().output.unwrap().data.clone();
    let write = Write { data: [("x".to_owned(), Some("y".to_owned()))].into(), ..Write::default() };
    assert_eq!(Revision::of_write(&write, &data, now(), None, &[]), None);
    let foreign = Write { data: [(KEY.to_owned(), Some(BASE.to_owned()))].into(), ..Write::default() };
    assert_eq!(Revision::of_write(&foreign, &data, now(), None, &[]), None, "a text without a number");
}
