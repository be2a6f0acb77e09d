//! Tests which objects by queue administrators are in effect.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use yunikorn::identity::Identity;
use yunikorn::right::Right;

type Object = Arc<QueueAclEntry>;

/// sue administers root.prod, group qa root.test.
pub(super) const TEAMS: &str = "\
partitions:
  - name: default
    queues:
      - name: root
        adminacl: 'boss'
        queues:
          - name: prod
            adminacl: 'sue'
            submitacl: 'pat'
            queues:
              - name: etl
                queues:
                  - name: nightly
              - name: bi
          - name: test
            adminacl: ' qa'
";

pub(super) fn teams(delegation: bool, objects: Vec<Object>) -> Snapshot {
    let mut snapshot = cluster(TEAMS);
    spec(&mut snapshot).delegation = delegation;
    snapshot.queue_acls = objects;
    snapshot
}

pub(super) fn who(user: &str, groups: &[&str]) -> Identity {
    Identity { user: user.into(), groups: groups.iter().map(|group| (*group).to_owned()).collect() }
}

/// An object that `by` writes to give rights to `acl`.
pub(super) fn by(by: &Identity, name: &str, queue: &str, right: Right, acl: &str) -> Object {
    with(submit(name, queue, acl), |spec| {
        spec.base_acl = BaseAcl::Extend;
        spec.delegated_by = Some(by.clone());
        if right == Right::Admin {
            spec.admin = spec.submit.take();
        }
    })
}

fn accepted(snapshot: &Snapshot, name: &str) -> String {
    acl_condition(&plan(snapshot), name, "Accepted")
}

const YES: &str = "True/Accepted";
const NO: &str = "False/NotDelegated";

#[test]
fn an_administrator_grants_on_their_queue_and_below() {
    for (writer, queue, expected) in [
        (who("sue", &[]), "root.prod", YES),
        (who("sue", &[]), "root.prod.etl.nightly", YES),
        (who("sue", &[]), "root.test", NO),
        (who("sue", &[]), "root", NO),
        (who("boss", &[]), "root", NO),
        (who("boss", &[]), "root.test", YES),
        (who("bob", &["qa"]), "root.test", YES),
        (who("bob", &["QA"]), "root.test", NO),
        (who("bob", &[]), "root.test", NO),
        (who("qa", &[]), "root.test", NO),
        // A user who may only submit administers nothing.
        (who("pat", &[]), "root.prod", NO),
    ] {
        let object = by(&writer, "d", queue, Right::Submit, "ann");
        let snapshot = teams(true, vec![object]);
        assert_eq!(accepted(&snapshot, "d"), expected, "{writer:?} {queue}");
        let settled = settled(&snapshot);
        let has = text(&settled.snapshot).contains("ann");
        assert_eq!(has, expected == YES, "{writer:?} {queue}");
        assert_at_rest(&settled);
    }
}

#[test]
fn who_administers_nothing_is_named_with_the_queue() {
    let message = |writer: &Identity| {
        let object = by(writer, "d", "root.test", Right::Submit, "ann");
        acl_message(&plan(&teams(true, vec![object])), "d", "Accepted").to_owned()
    };
    let rest = "does not administer queue `root.test` or a queue above it through any other object's ACLs";
    assert_eq!(message(&who("sue", &[])), format!("user `sue` {rest}"));
    assert_eq!(message(&who("bob", &["ops", "dev"])), format!("user `bob` (groups `ops`, `dev`) {rest}"));
}

#[test]
fn nothing_delegated_counts_while_delegation_is_off() {
    let object = by(&who("sue", &[]), "d", "root.prod", Right::Submit, "ann");
    let snapshot = teams(false, vec![object]);
    assert_eq!(accepted(&snapshot, "d"), NO);
    assert!(acl_message(&plan(&snapshot), "d", "Accepted").contains("is Disabled"));
    assert!(!text(&settled(&snapshot).snapshot).contains("ann"));
}

#[test]
fn nobody_takes_away_what_cluster_administrators_grant() {
    let mut object = by(&who("sue", &[]), "d", "root.prod", Right::Submit, "ann");
    let snapshot = teams(true, vec![object.clone()]);
    assert_eq!(submit_of(&settled(&snapshot).snapshot, "root.prod"), "ann,pat");
    spec_of(&mut object).base_acl = BaseAcl::Replace;
    assert_eq!(accepted(&teams(true, vec![object]), "d"), NO);
}

#[test]
fn a_chain_of_administrators_holds_by_its_first_link() {
    let sue = by(&who("sue", &[]), "a", "root.prod.etl", Right::Admin, "bob");
    let bob = by(&who("bob", &[]), "b", "root.prod.etl.nightly", Right::Admin, "carol");
    let carol = by(&who("carol", &[]), "c", "root.prod.etl.nightly", Right::Submit, "dave");
    let mut snapshot = teams(true, vec![carol, bob, sue]);
    for name in ["a", "b", "c"] {
        assert_eq!(accepted(&snapshot, name), YES, "{name}");
    }
    // The first object of the chain belongs to another writer, so the whole chain is no longer in effect.
    snapshot.queue_acls[2] = by(&who("eve", &[]), "a", "root.prod.etl", Right::Admin, "bob");
    for name in ["a", "b", "c"] {
        assert_eq!(accepted(&snapshot, name), NO, "{name}");
    }
}

#[test]
fn nobody_lifts_themselves() {
    let own = by(&who("eve", &[]), "a", "root.prod", Right::Admin, "eve");
    assert_eq!(accepted(&teams(true, vec![own]), "a"), NO);
    let circle = vec![
        by(&who("eve", &[]), "a", "root.prod", Right::Admin, "mal"),
        by(&who("mal", &[]), "b", "root.prod", Right::Admin, "eve"),
    ];
    let snapshot = teams(true, circle);
    assert_eq!((accepted(&snapshot, "a"), accepted(&snapshot, "b")), (NO.into(), NO.into()));
}

#[test]
fn what_was_in_force_ends_with_the_right_it_rests_on() {
    let mut first = submit("first", "root.test", "x");
    spec_of(&mut first).admin = Some(Grant::Raw("tmp".into()));
    let second = by(&who("tmp", &[]), "second", "root.test", Right::Submit, "ann");
    let before = settled(&teams(true, vec![first, second]));
    assert!(text(&before.snapshot).contains("ann"));
    let mut after = before.snapshot.clone();
    after.queue_acls.remove(0);
    assert_eq!(accepted(&after, "second"), NO);
    assert!(!text(&settled(&after).snapshot).contains("ann"));
    // A typo does not keep it in force either, because the last valid version is evaluated too.
    spec_of(&mut after.queue_acls[0]).queue = "root.tset".into();
    let kept = settled(&after);
    assert_eq!(acl_condition(&kept.plan, "second", "Accepted"), "False/QueueNotFound");
    assert!(!text(&kept.snapshot).contains("ann"));
    // An object that cannot be parsed at all is evaluated by the record in its status.
    Arc::make_mut(&mut after.queue_acls[0]).spec = Err(Vec::new());
    assert!(!text(&settled(&after).snapshot).contains("ann"));
}

#[test]
fn one_writer_cannot_fill_the_config_map() {
    let long = |name: &str| {
        let users: Vec<_> = (0..200).map(|n| format!("{name}{n:0100}")).collect();
        by(&who("sue", &[]), name, "root.prod", Right::Submit, &users.join(","))
    };
    let snapshot = teams(true, vec![long("a"), long("b")]);
    assert_eq!((accepted(&snapshot, "a"), accepted(&snapshot, "b")), (YES.into(), "False/TooLarge".into()));
}

#[test]
fn delegated_object_that_grants_nobody_or_makes_everyone_administrator_is_refused() {
    let sue = who("sue", &[]);
    let object = |right, acl| by(&sue, "d", "root.prod", right, acl);
    let grant = |grant: Grant| with(object(Right::Submit, "ann"), |spec| spec.submit = Some(grant));
    let nobody = "it grants nothing";
    for (object, expected, words) in [
        (grant(Grant::Nobody), NO, nobody),
        (grant(Grant::Lists { users: vec![], groups: vec![] }), NO, nobody),
        (object(Right::Submit, " "), NO, nobody),
        (object(Right::Admin, " "), NO, nobody),
        (object(Right::Admin, "*"), NO, "makes everyone an administrator"),
        (
            with(grant(Grant::Everyone), |spec| spec.admin = Some(Grant::Everyone)),
            NO,
            "everyone an administrator",
        ),
        (grant(Grant::Everyone), YES, ""),
        (with(object(Right::Admin, "ann"), |spec| spec.submit = Some(Grant::Nobody)), YES, ""),
    ] {
        let snapshot = teams(true, vec![object]);
        assert_eq!(accepted(&snapshot, "d"), expected, "{:?}", snapshot.queue_acls);
        let plan = plan(&snapshot);
        let message = acl_message(&plan, "d", "Accepted");
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn delegated_object_that_is_being_deleted_grants_nothing() {
    let ann = by(&who("sue", &[]), "d", "root.prod", Right::Submit, "ann");
    let mut snapshot = settled(&teams(true, vec![ann])).snapshot;
    assert_eq!(submit_of(&snapshot, "root.prod"), "ann,pat");
    Arc::make_mut(&mut snapshot.queue_acls[0]).meta.deleting = true;
    assert_eq!(accepted(&snapshot, "d"), YES, "the deletion is no mistake of its writer");
    assert_eq!(submit_of(&settled(&snapshot).snapshot, "root.prod"), "pat");
}

/// Returns the maximum number of objects for sue; one has expired and one waits for its queue.
pub(super) fn all_of_one() -> Vec<Object> {
    let sue = who("sue", &[]);
    let mut objects: Vec<_> = (0..crate::grants::delegation::MAX_OBJECTS_OF_ONE)
        .map(|n| by(&sue, &format!("m{n:03}"), "root.prod", Right::Submit, "ann"))
        .collect();
    spec_of(&mut objects[0]).expires_at = Some(now());
    spec_of(&mut objects[1]).queue = "root.prod.later".into();
    objects
}

#[test]
fn writer_with_200_objects_gets_no_other_and_the_oldest_count() {
    const TOO_MANY: &str = "False/TooLarge";
    let sue = who("sue", &[]);
    let mut snapshot = teams(true, all_of_one());
    assert_eq!(accepted(&snapshot, "m199"), YES);
    snapshot.queue_acls.push(by(&sue, "z", "root.prod.etl", Right::Submit, "tom"));
    snapshot.queue_acls.push(by(&sue, "zz", "root.prod.later", Right::Submit, "tom"));
    snapshot.queue_acls.push(by(&who("boss", &[]), "zzz", "root.prod", Right::Submit, "tom"));
    for (name, expected) in
        [("m000", "True/Expired"), ("m199", YES), ("z", TOO_MANY), ("zz", TOO_MANY), ("zzz", YES)]
    {
        assert_eq!(accepted(&snapshot, name), expected, "{name}");
    }
    let again = plan(&snapshot);
    assert!(acl_message(&again, "z", "Accepted").contains("200 objects"));
    snapshot.queue_acls.reverse();
    assert_eq!(accepted(&snapshot, "z"), TOO_MANY, "the order of the list decides nothing");
    let objects = &mut snapshot.queue_acls;
    let z = objects.iter_mut().find(|object| &*object.meta.name == "z").unwrap();
    Arc::make_mut(z).meta.created = Some(now());
    assert_eq!((accepted(&snapshot, "z"), accepted(&snapshot, "m199")), (YES.into(), TOO_MANY.into()));
    snapshot.queue_acls.retain(|object| &*object.meta.name != "m000");
    assert_eq!(accepted(&snapshot, "m199"), YES, "what has ended is deleted");
}

#[test]
fn stored_bytes_count_in_force_or_not() {
    let sue = who("sue", &[]);
    let sized = |name: &str, stored: usize| {
        let mut object = by(&sue, name, "root.prod", Right::Submit, "ann");
        Arc::make_mut(&mut object).meta.stored = stored;
        object
    };
    let most = crate::grants::delegation::MAX_STORED_OF_ONE;
    for (edit, state) in [
        (None, YES),
        (Some((|spec| spec.not_before = Some(Timestamp::MAX)) as fn(&mut QueueAclSpec)), "True/NotYetValid"),
        (Some(|spec| spec.expires_at = Some(now())), "True/Expired"),
        (Some(|spec| spec.suspend = true), "True/Suspended"),
        (Some(|spec| spec.queue = "root.prod.later".into()), "False/QueueNotFound"),
    ] {
        let first = edit.iter().fold(sized("a", most), |object, edit| with(object, edit));
        let snapshot = teams(true, vec![first, sized("b", 1)]);
        assert_eq!(
            (accepted(&snapshot, "a"), accepted(&snapshot, "b")),
            (state.into(), "False/TooLarge".into())
        );
        let message = acl_message(&plan(&snapshot), "b", "Accepted").to_owned();
        assert!(message.contains("more than 131072 bytes"), "{message}");
    }
}

#[test]
fn objects_of_others_who_administer_nothing_take_no_room() {
    let mut objects = all_of_one();
    for object in &mut objects {
        spec_of(object).delegated_by = Some(who("eve", &[]));
    }
    objects.push(by(&who("eve", &[]), "z", "root.test", Right::Submit, "tom"));
    let lift = with(submit("lift", "root.test", "eve"), |spec| spec.admin = spec.submit.take());
    objects.push(lift);
    assert_eq!(accepted(&teams(true, objects), "z"), YES);
}

fn anyone() -> impl Strategy<Value = Identity> {
    let groups = prop::collection::vec(prop::sample::select(vec!["qa", "ops"]), 0..2);
    (prop::sample::select(vec!["sue", "bob", "eve", "boss"]), groups)
        .prop_map(|(user, groups)| who(user, &groups))
}

fn anything() -> impl Strategy<Value = (Identity, &'static str, bool, &'static str)> {
    let queues =
        vec!["root", "root.prod", "root.prod.etl", "root.prod.etl.nightly", "root.prod.bi", "root.test"];
    let acls = vec!["sue", "bob", "eve", "*", " qa", " ops"];
    (anyone(), prop::sample::select(queues), any::<bool>(), prop::sample::select(acls))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Checks that objects by any writer remove no access and change nothing on root, and that an outsider's
    /// object changes nothing.
    #[test]
    fn delegates_stay_in_their_subtree(written in prop::collection::vec(anything(), 0..7)) {
        let objects: Vec<Object> = written.iter().enumerate().map(|(n, (writer, queue, admin, acl))| {
            let right = if *admin { Right::Admin } else { Right::Submit };
            by(writer, &format!("o{n}"), queue, right, acl)
        }).collect();
        let without = settled(&teams(true, Vec::new()));
        let with_all = settled(&teams(true, objects));
        let (old, new) = (access(&without.snapshot), access(&with_all.snapshot));
        let diff = yunikorn_access::diff(&old, &new);
        for change in &diff.kept.changes {
            prop_assert_eq!(change.direction, yunikorn_access::diff::Direction::Gains);
            for path in diff.kept.queues.paths(&change.queues) {
                prop_assert!(!path.is_root());
            }
        }
        // At first, no ACL includes eve: her objects change nothing until someone else names her or one of
        // her groups.
        let alone = |writer: &Identity| writer.user == "eve" && writer.groups.is_empty();
        let named = written
            .iter()
            .any(|(writer, _, admin, acl)| *admin && ["eve", "*"].contains(acl) && !alone(writer));
        if !named {
            for (n, (writer, ..)) in written.iter().enumerate() {
                if alone(writer) {
                    prop_assert_eq!(acl_condition(&with_all.plan, &format!("o{n}"), "Accepted"), NO);
                }
            }
        }
    }
}

fn access(snapshot: &Snapshot) -> yunikorn_access::Tree {
    yunikorn_access::Tree::new(tree(snapshot).partition("default").unwrap()).unwrap()
}
