//! Tests finding the entries that name a person, and removing the name from objects.

use std::convert::Infallible;

use proptest::prelude::*;

use super::properties::random_cluster;
use super::*;
use crate::effective::acl::acl_of;
use crate::effective::merged::text_in_force;
use crate::grants::entries::{
    Entry, Names, OPERATORS, Place, State, delegated, deletable, find, grants_nobody,
};
use yunikorn::acl::Acl;
use yunikorn::right::Right;
use yunikorn_access::subject::Subject;
use yunikorn_access::user_info::Settings;

fn names(users: &[&str], groups: &[&str]) -> Names {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Names { users: set(users), groups: set(groups) }
}

fn read(text: &str) -> Config {
    config::verdict(text, &[], Version::V1_8).config.unwrap()
}

fn found(snapshot: &Snapshot, names: &Names) -> Vec<Entry> {
    find(snapshot, Some(&read(BASE)), Some(&read(&text_in_force(snapshot))), names)
}

/// Words an entry in short.
fn short(entry: &Entry) -> String {
    let place = match &entry.place {
        Place::QueueAcl { name, of, .. } => format!("{name} {} {}", of.queue, of.right.verb()),
        Place::Base { of, .. } => format!("base {} {}", of.queue, of.right.verb()),
        Place::Text(of) => format!("text {} {}", of.queue, of.right.verb()),
        Place::Policy { name, field, element, .. } => format!("{name} {field} {element}"),
        Place::ConfigMap { name, key, element } => format!("{name} {key} {element}"),
    };
    let state = match &entry.state {
        State::InForce => "in force".to_owned(),
        State::Planned(begin) => format!("from {begin}"),
        State::Suspended => "suspended".to_owned(),
        State::Expired => "expired".to_owned(),
        State::NotInForce(why) => format!("not: {why}"),
    };
    let editable = if entry.place.is_editable() { "" } else { ", not editable" };
    format!("{} in {place}: {state}{editable}", entry.subject)
}

#[test]
fn an_entry_is_found_wherever_it_is_and_whether_it_is_in_force_or_not() {
    let mut snapshot = cluster(BASE);
    let hour = jiff::SignedDuration::from_hours(1);
    let temporary = |spec: &mut QueueAclSpec| spec.base_acl = BaseAcl::Extend;
    let policy = AdmissionPolicySpec {
        external_users: Some(vec!["^sue$".into(), "^(sue|bob)$".into(), "^ann$".into()]),
        external_groups: Some(vec!["^qa$".into(), "su".into()]),
        user_info: Some(Settings { operators: vec!["sue".into()], ..Settings::default() }),
        ..AdmissionPolicySpec::default()
    };
    snapshot.queue_acls = vec![
        submit("prod", "root.prod", "bob,sue qa"),
        with(submit("planned", "root.test", "sue"), |spec| {
            temporary(spec);
            spec.not_before = Some(now() + hour);
        }),
        with(submit("over", "root.test", "sue"), |spec| {
            temporary(spec);
            spec.expires_at = Some(now() - hour);
        }),
        with(submit("off", "root.test", "sue"), |spec| spec.suspend = true),
        submit("lost", "root.gone", "sue"),
        submit("wrong", "root.test", "sue,1bad"),
        submit("other", "root.test", "Sue sue"),
    ];
    snapshot.policies = vec![entry("default", policy)];
    let snapshot = settle(snapshot).snapshot;
    let found: Vec<String> = found(&snapshot, &names(&["sue"], &["qa"])).iter().map(short).collect();
    let begin = now() + hour;
    let expected = [
        "user sue in prod root.prod submit: in force".to_owned(),
        "group qa in prod root.prod submit: in force".to_owned(),
        format!("user sue in planned root.test submit: from {begin}"),
        "user sue in over root.test submit: expired".to_owned(),
        "user sue in off root.test submit: suspended".to_owned(),
    ];
    assert_eq!(found[..5], expected, "{found:#?}");
    assert!(
        found[5].starts_with("user sue in lost root.gone submit: not: partition `default` has no queue"),
        "{found:#?}"
    );
    assert!(found[6].starts_with("user sue in wrong root.test submit: not: "), "{found:#?}");
    assert!(found[6].ends_with(", not editable"), "{found:#?}");
    let expected = [
        "user sue in base root.prod submit: not: replaced by QueueAcl/prod, not editable",
        "group qa in base root.test administer: in force, not editable",
        "user sue in default externalUsers ^sue$: in force",
        "user sue in default externalUsers ^(sue|bob)$: in force, not editable",
        "group qa in default externalGroups ^qa$: in force",
        &format!("user sue in default {OPERATORS} sue: in force"),
    ];
    assert_eq!(found[7..], expected, "{found:#?}");
}

/// The last valid version stays in force, and nothing is edited, because others could gain access if the
/// object became valid.
#[test]
fn invalid_objects_are_not_edited() {
    let mut snapshot = cluster(BASE);
    let policy = |users: &[&str]| AdmissionPolicySpec {
        external_users: Some(users.iter().map(|user| (*user).to_owned()).collect()),
        ..AdmissionPolicySpec::default()
    };
    snapshot.queue_acls = vec![submit("prod", "root.prod", "bob")];
    snapshot.policies = vec![entry("default", policy(&["^bob$"]))];
    let mut snapshot = settle(snapshot).snapshot;
    spec_of(&mut snapshot.queue_acls[0]).submit = Some(Grant::Raw("eve,1bad".into()));
    snapshot.policies[0].spec = Ok(policy(&["^eve$", "("]));
    let found = |user: &str| -> Vec<String> {
        found(&settle(snapshot.clone()).snapshot, &names(&[user], &[])).iter().map(short).collect()
    };
    let expected = [
        "user bob in prod root.prod submit: in force, not editable",
        "user bob in default externalUsers ^bob$: in force, not editable",
    ];
    assert_eq!(found("bob"), expected);
    let eve = found("eve");
    assert!(
        eve.len() == 2 && eve.iter().all(|it| it.contains(": not: QW") && it.ends_with(", not editable")),
        "{eve:#?}"
    );
}

#[test]
fn what_no_object_accounts_for_is_found_in_the_text() {
    let mut snapshot = cluster(BASE);
    let text = BASE.replace("- name: etl\n", "- name: etl\n                submitacl: 'bob'\n");
    snapshot.output = Some(map(
        YUNIKORN_CONFIGS,
        &[(KEY, &text), ("admissionController.accessControl.externalUsers", "^bob$,x")],
    ));
    let found: Vec<String> = found(&snapshot, &names(&["bob"], &[])).iter().map(short).collect();
    let expected = [
        "user bob in text root.prod.etl submit: in force, not editable",
        "user bob in yunikorn-configs admissionController.accessControl.externalUsers ^bob$: in force, not editable",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_name_that_needs_an_alias_is_found() {
    let account = "system:serviceaccount:spark:driver";
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![with(submit("spark", "root.test", ""), |spec| {
        spec.submit = Some(Grant::Lists { users: vec![account.to_owned()], groups: Vec::new() });
    })];
    let alias = yunikorn_access::alias::alias(yunikorn_access::alias::Kind::User, account);
    let text = BASE.replace("- name: test\n", &format!("- name: test\n            submitacl: ' {alias}'\n"));
    snapshot.output = Some(map(YUNIKORN_CONFIGS, &[(KEY, &text)]));
    let found = found(&snapshot, &names(&[account], &[]));
    let places: Vec<String> = found.iter().map(short).collect();
    assert_eq!(places.len(), 2, "{places:#?}");
    assert!(found.iter().all(|entry| entry.subject == Subject::User(account.to_owned())));
    assert!(places[1].contains(" in text root.test submit: in force"), "{places:#?}");
}

#[test]
fn objects_in_the_name_of_a_person_are_named() {
    let mut snapshot = cluster(BASE);
    let by = |user: &str| yunikorn::identity::Identity { user: user.to_owned(), groups: Vec::new() };
    snapshot.queue_acls = vec![
        with(submit("theirs", "root.test", "ann"), |spec| spec.delegated_by = Some(by("bob"))),
        with(submit("others", "root.test", "bob"), |spec| spec.delegated_by = Some(by("ann"))),
    ];
    assert_eq!(delegated(&snapshot, &names(&["bob"], &[])), ["theirs"]);
}

#[test]
fn as_many_objects_are_deleted_as_nobody_gains_by() {
    let tried = |objects: &[u8], widens: fn(&[u8]) -> bool| -> Vec<u8> {
        let Ok(deleted) = deletable(objects.to_vec(), |some| Ok::<_, Infallible>(widens(some)));
        deleted
    };
    assert_eq!(tried(&[1, 2, 3], |_| false), [1, 2, 3]);
    assert_eq!(tried(&[1, 2, 3], |some| some.contains(&2)), [1, 3]);
    // Either of the two keeps the base replaced.
    assert_eq!(tried(&[1, 2], |some| some.len() == 2), [1]);
    assert_eq!(tried(&[1], |_| true), [0_u8; 0]);
    assert_eq!(tried(&[], |_| true), [0_u8; 0]);
}

/// Takes the names out of the rights whose entries can be edited.
fn edited(snapshot: &Snapshot, names: &Names) -> Snapshot {
    let mut edited = snapshot.clone();
    for entry in found(snapshot, names).iter().filter(|entry| entry.place.is_editable()) {
        let Place::QueueAcl { name, of, .. } = &entry.place else { continue };
        let object = edited.queue_acls.iter_mut().find(|object| *object.meta.name == **name).unwrap();
        let spec = spec_of(object);
        let grant = if of.right == Right::Submit { &mut spec.submit } else { &mut spec.admin };
        let lists = |users: Vec<String>, groups: Vec<String>| match (users.as_slice(), groups.as_slice()) {
            ([], []) => Grant::Nobody,
            _ => Grant::Lists { users, groups },
        };
        *grant = grant.take().map(|grant| match grant {
            Grant::Raw(text) => {
                let left = names.taken_from(&yunikorn::acl::parse(&text).unwrap());
                let all = |names: &yunikorn::acl::Names| names.iter().map(str::to_owned).collect();
                if left.is_everyone() {
                    Grant::Everyone
                } else {
                    lists(all(left.users()), all(left.groups()))
                }
            }
            Grant::Lists { users, groups } => lists(
                users.into_iter().filter(|name| !names.users.contains(name)).collect(),
                groups.into_iter().filter(|name| !names.groups.contains(name)).collect(),
            ),
            other => other,
        });
    }
    edited
}

/// Returns the holders of each right on each queue, including inherited ones, or `None` if nothing is
/// written, as when most objects are removed at once.
fn holders(snapshot: &Snapshot) -> Option<Vec<Acl>> {
    let tree = read(&settle(snapshot.clone()).plan.rendered?.text);
    let partition = tree.partition("default").unwrap();
    let of = |queue: &config::Queue, right: Right| {
        queue.path.lineage().filter_map(|path| partition.queue(&path)).fold(Acl::nobody(), |all, above| {
            let submit = if right == Right::Submit { acl_of(above, Right::Submit) } else { Acl::nobody() };
            all.union(&submit).union(&acl_of(above, Right::Admin))
        })
    };
    Some(partition.queues().flat_map(|queue| Right::ALL.map(|right| of(queue, right))).collect())
}

fn widens(before: &[Acl], after: Option<&Vec<Acl>>) -> bool {
    after.is_none_or(|after| {
        before.len() != after.len() || before.iter().zip(after).any(|(before, after)| !before.contains(after))
    })
}

proptest! {
    /// Removing the names leaves no editable entry and gives no one new access. Neither does deleting the
    /// objects that then name no one.
    #[test]
    fn nobody_gains_when_a_person_leaves(
        cluster in random_cluster(),
        users in prop::collection::btree_set(prop::sample::select(vec!["ann", "bob", "sue", "a:b"]), 1..3),
        groups in prop::collection::btree_set(prop::sample::select(vec!["dev", "ops"]), 0..2),
    ) {
        let names = names(&users.into_iter().collect::<Vec<_>>(), &groups.into_iter().collect::<Vec<_>>());
        let before = settle(cluster).snapshot;
        let edited = edited(&before, &names);
        let left = found(&edited, &names);
        let editable = left.iter().filter(|entry| entry.place.is_editable()).map(short).collect::<Vec<_>>();
        prop_assert!(editable.is_empty(), "{editable:#?}");
        let kept = holders(&edited).unwrap();
        prop_assert!(!widens(&holders(&before).unwrap(), Some(&kept)));
        let empty = |object: &&Arc<QueueAclEntry>| object.spec.as_ref().is_ok_and(grants_nobody);
        let empty: Vec<Arc<str>> = edited.queue_acls.iter().filter(empty).map(|it| it.meta.name.clone()).collect();
        let without = |deleted: &[Arc<str>]| {
            let mut snapshot = edited.clone();
            snapshot.queue_acls.retain(|object| !deleted.contains(&object.meta.name));
            holders(&snapshot)
        };
        let widens = |deleted: &[Arc<str>]| widens(&kept, without(deleted).as_ref());
        let Ok(deleted) = deletable(empty.clone(), |some| Ok::<_, Infallible>(widens(some)));
        prop_assert!(!widens(&deleted));
        // None of the remaining objects could be deleted as well.
        for object in empty.iter().filter(|object| !deleted.contains(object)) {
            let more = [deleted.as_slice(), std::slice::from_ref(object)].concat();
            prop_assert!(widens(&more), "{object}");
        }
    }
}
