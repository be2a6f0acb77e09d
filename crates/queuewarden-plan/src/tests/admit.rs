//! Tests the answers to changes of `QueueAcl`s before they are stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::delegation::{by, teams, who};
use super::*;
use proptest::prelude::*;

use crate::admit::{Change, Promise, Response, Review, Versions, admit, depends_on_who};
use yunikorn::identity::Identity;
use yunikorn::right::Right;

type Object = Arc<QueueAclEntry>;

pub(super) fn review(by: &Identity, may_escalate: bool, old: Option<Object>, new: Option<Object>) -> Review {
    Review {
        by: by.clone(),
        may_escalate,
        change: Change::QueueAcl(Versions { old, new }),
        promised: Vec::new(),
    }
}

/// A cluster administrator creates an object.
pub(super) fn created(snapshot: &Snapshot, object: Object) -> Response {
    admit(snapshot, &review(&who("root", &[]), true, None, Some(object)))
}

pub(super) fn quiet(snapshot: &mut Snapshot) {
    *snapshot = settled(snapshot).snapshot;
}

#[test]
fn every_accepted_change_says_what_it_does_in_one_line() {
    let mut snapshot = cluster(BASE);
    quiet(&mut snapshot);
    for (object, expected) in [
        (
            with(submit("a", "root.prod", " devs"), |spec| spec.base_acl = BaseAcl::Extend),
            "grants submit on root.prod and 1 queue below to group devs; nobody loses access",
        ),
        (
            submit("a", "root.prod", "sue,ann dev"),
            "grants submit on root.prod and 1 queue below to user ann; nobody loses access",
        ),
        (
            submit("a", "root.prod", "bob"),
            "grants submit on root.prod and 1 queue below to user bob; takes submit on root.prod and 1 queue below from user sue, group dev",
        ),
        (
            with(submit("a", "root", "ann"), |spec| spec.admin = spec.submit.take()),
            "grants admin and submit on root and 3 queues below to user ann; nobody loses access",
        ),
        (submit("a", "root.prod.etl", "sue"), "nobody gains or loses access"),
    ] {
        let accepted = Response { warnings: vec![expected.into()], ..Response::default() };
        assert_eq!(created(&snapshot, object), accepted);
    }
}

#[test]
fn a_deletion_says_who_loses() {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("a", "root.test", "bob")];
    quiet(&mut snapshot);
    let gone = snapshot.queue_acls.first().cloned();
    let answer = admit(&snapshot, &review(&who("root", &[]), true, gone, None));
    assert_eq!(answer.warnings, ["takes submit on root.test from user bob; nobody gains access"]);
}

#[test]
fn a_deletion_that_lets_the_base_open_names_who_gains() {
    let open = BASE.replace("'sue dev'", "'*'");
    let mut snapshot = cluster(&open);
    let acls = [submit("a", "root.prod", "bob"), submit("b", "root.prod", "ann")];
    let deleted = |snapshot: &Snapshot, object: &Object| {
        admit(snapshot, &review(&who("root", &[]), true, Some(object.clone()), None)).warnings
    };
    let again = "the base's own submitacl of queue `root.prod` is in force again and gives access to everyone: to keep \
                 the queue closed, change the base first";
    snapshot.queue_acls = acls.to_vec();
    quiet(&mut snapshot);
    let warnings = deleted(&snapshot, &acls[0]);
    assert!(
        !warnings.iter().any(|warning| warning.contains("in force again")),
        "another object keeps it: {warnings:?}"
    );
    snapshot.queue_acls = vec![acls[0].clone()];
    quiet(&mut snapshot);
    assert_eq!(deleted(&snapshot, &acls[0])[1], again);
    let extends = with(acls[0].clone(), |spec| spec.base_acl = BaseAcl::Extend);
    let edit = review(&who("root", &[]), true, Some(acls[0].clone()), Some(extends));
    assert_eq!(admit(&snapshot, &edit).warnings[1], again);
}

#[test]
fn a_deletion_names_the_acl_of_the_base_also_where_nobody_gains() {
    let mut snapshot = cluster(BASE);
    let same = submit("a", "root.prod", "sue dev");
    snapshot.queue_acls = vec![same.clone(), submit("b", "root.test", "bob")];
    quiet(&mut snapshot);
    let warnings = admit(&snapshot, &review(&who("root", &[]), true, Some(same), None)).warnings;
    let again = "the base's own submitacl of queue `root.prod` is in force again and gives access to user sue and \
                 group dev: to keep the queue closed, change the base first";
    assert_eq!(warnings, ["nobody gains or loses access", again]);
}

#[test]
fn a_grant_without_names_is_accepted_with_a_warning() {
    let mut snapshot = cluster(BASE);
    quiet(&mut snapshot);
    let unnamed = Grant::Lists { users: vec![], groups: vec![] };
    let answer = created(&snapshot, with(submit("a", "root.test", ""), |spec| spec.submit = Some(unnamed)));
    assert!(answer.warnings.iter().any(|warning| warning.contains("write `nobody: true`")), "{answer:?}");
}

#[test]
fn what_has_no_effect_is_reported_and_accepted() {
    let mut snapshot = cluster(BASE);
    quiet(&mut snapshot);
    let mut open = snapshot.clone();
    open.queue_acls = vec![submit("open", "root", "*")];
    quiet(&mut open);
    let expired = with(submit("a", "root.prod", "bob"), |spec| {
        spec.base_acl = BaseAcl::Extend;
        spec.expires_at = Some(now());
    });
    for (snapshot, object, words) in [
        (&snapshot, submit("a", "root.prdo", "bob"), "did you mean `root.prod`?"),
        (
            &snapshot,
            with(submit("a", "root.prod", "bob"), |spec| spec.partition = "gpu".into()),
            "no partition `gpu`",
        ),
        (&snapshot, submit("a", "root.prod", "system:serviceaccount:a:b"), "Invalid: "),
        (&snapshot, expired, "Expired: "),
        (&open, submit("a", "root.prod", "bob"), "submit changes nothing, because submitacl of queue `root`"),
    ] {
        let answer = created(snapshot, object);
        assert_eq!(answer.refusal, None);
        assert!(answer.warnings.iter().any(|warning| warning.contains(words)), "{words}: {answer:?}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_unless_it_was_there() {
    let mut snapshot = cluster(BASE);
    quiet(&mut snapshot);
    let bad = submit("a", "root.prod", "a  b");
    let answer = created(&snapshot, bad.clone());
    assert!(answer.refusal.as_ref().is_some_and(|why| why.contains("submit: ")), "{answer:?}");
    let labelled = review(&who("root", &[]), true, Some(bad.clone()), Some(bad));
    assert_eq!(admit(&snapshot, &labelled), Response::default());
}

#[test]
fn nothing_is_written_and_that_is_reported() {
    let mut snapshot = cluster(BASE);
    spec(&mut snapshot).mode = Mode::Observe;
    let answer = created(&snapshot, submit("a", "root.prod", "bob"));
    assert!(answer.warnings.iter().any(|warning| warning.contains("ObserveMode")), "{answer:?}");
    snapshot.config = None;
    let answer = created(&snapshot, submit("a", "root.prod", "bob"));
    assert!(
        answer.warnings.iter().any(|warning| warning.contains("no readable YuniKornConfig")),
        "{answer:?}"
    );
}

#[test]
fn answers_are_short() {
    let mut snapshot = cluster(BASE);
    quiet(&mut snapshot);
    let users: Vec<_> = (0..256).map(|n| format!("{n:a>200}")).collect();
    let answer = created(&snapshot, submit("a", "root.prod", &users.join(",")));
    assert!(answer.warnings.iter().all(|warning| warning.chars().count() <= 480), "{answer:?}");
    let answer = created(&snapshot, submit("a", "root.prod", &format!("a  {}", users.join(" "))));
    assert!(answer.refusal.is_some_and(|why| why.chars().count() <= 480 && !why.contains('\n')));
}

#[test]
fn who_asks_matters_to_queue_acls_alone() {
    assert_eq!((depends_on_who("QueueAcl"), depends_on_who("AdmissionPolicy")), (true, false));
}

#[test]
fn whom_another_object_makes_administrator_may_write() {
    let sue = who("sue", &[]);
    let lift = with(submit("lift", "root.test", "sue"), |spec| spec.admin = spec.submit.take());
    let mut snapshot = teams(true, vec![lift]);
    quiet(&mut snapshot);
    let object = by(&sue, "x", "root.test", Right::Submit, "ann");
    let answer = admit(&snapshot, &review(&sue, false, None, Some(object.clone())));
    assert_eq!(answer.refusal, None);
    snapshot.queue_acls.push(object.clone());
    quiet(&mut snapshot);
    assert_eq!(admit(&snapshot, &review(&sue, false, Some(object), None)).refusal, None);
}

fn finalized(object: &Object, finalizers: &[&str]) -> Object {
    let mut object = object.clone();
    Arc::make_mut(&mut object).meta.finalizers = finalizers.iter().map(|&name| name.to_owned()).collect();
    object
}

#[test]
fn lower_administrator_keeps_what_a_higher_one_granted() {
    let (boss, sue, kim, zed) = (who("boss", &[]), who("sue", &[]), who("kim", &[]), who("zed", &[]));
    let lift = |name: &str, user: &str| {
        with(submit(name, "root.prod.etl", user), |spec| {
            (spec.admin, spec.base_acl) = (spec.submit.take(), BaseAcl::Extend);
        })
    };
    let object = |writer: &Identity| by(writer, "d", "root.prod.etl", Right::Submit, "ann");
    for (writer, caller, allowed) in [
        (&sue, &kim, false),
        (&boss, &kim, false),
        (&boss, &sue, false),
        (&sue, &sue, true),
        (&sue, &boss, true),
        (&kim, &kim, true),
        (&kim, &zed, true),
        (&kim, &sue, true),
        (&who("gone", &[]), &kim, true),
    ] {
        let old = object(writer);
        let mut snapshot = teams(true, vec![lift("kim", "kim"), lift("zed", "zed"), old.clone()]);
        quiet(&mut snapshot);
        for new in [None, Some(object(caller))] {
            let answer = admit(&snapshot, &review(caller, false, Some(old.clone()), new));
            assert_eq!(answer.refusal.is_none(), allowed, "{caller:?} of {writer:?}: {answer:?}");
        }
    }
}

#[test]
fn object_beyond_the_number_of_its_writer_is_refused() {
    let mut snapshot = teams(true, super::delegation::all_of_one());
    for object in &mut snapshot.queue_acls {
        Arc::make_mut(object).meta.created = Some(now());
    }
    quiet(&mut snapshot);
    let sue = who("sue", &[]);
    let new = |name: &str, queue: &str| by(&sue, name, queue, Right::Submit, "tom");
    for object in [new("z", "root.prod"), new("a", "root.prod"), new("z", "root.prod.later")] {
        let answer = admit(&snapshot, &review(&sue, false, None, Some(object)));
        assert!(answer.refusal.is_some_and(|why| why.contains("200 objects")));
    }
    // An administrator of the same queue takes over one of her objects, and she takes over one of theirs.
    let boss = who("boss", &[]);
    let theirs = by(&boss, "a", "root.prod", Right::Submit, "tom");
    let hers = snapshot.queue_acls.iter().find(|object| &*object.meta.name == "m007").unwrap().clone();
    let taken = by(&boss, "m007", "root.prod", Right::Submit, "tom");
    assert_eq!(admit(&snapshot, &review(&boss, false, Some(hers.clone()), Some(taken))).refusal, None);
    let changed = with(hers.clone(), |spec| spec.submit = Some(Grant::Everyone));
    assert_eq!(admit(&snapshot, &review(&sue, false, Some(hers), Some(changed))).refusal, None);
    snapshot.queue_acls.push(theirs.clone());
    let lift = with(submit("lift", "root", "sue"), |spec| {
        (spec.admin, spec.base_acl) = (spec.submit.take(), BaseAcl::Extend);
    });
    snapshot.queue_acls.push(lift);
    quiet(&mut snapshot);
    let answer = admit(&snapshot, &review(&sue, false, Some(theirs), Some(new("a", "root.prod"))));
    assert!(answer.refusal.is_some_and(|why| why.contains("200 objects")));
}

/// The oldest objects come first. If an older object could grow, a newer one would no longer fit, but would
/// stay stored.
#[test]
fn objects_of_one_writer_do_not_grow_past_their_bytes_in_turn() {
    let sue = who("sue", &[]);
    let most = crate::grants::delegation::MAX_STORED_OF_ONE;
    let mut snapshot = teams(true, vec![sized("a", 10), sized("b", most - 10)]);
    quiet(&mut snapshot);
    let change = |name: &str, before: usize, after: usize| {
        admit(&snapshot, &review(&sue, false, Some(sized(name, before)), Some(sized(name, after)))).refusal
    };
    let why = change("a", 10, 11);
    assert!(why.as_ref().is_some_and(|why| why.contains("131072 bytes")), "{why:?}");
    assert_eq!(change("a", 10, 10), None);
    assert_eq!(change("a", 10, 9), None);
    assert_eq!(change("b", most - 10, 5), None);
}

fn sized(name: &str, stored: usize) -> Object {
    let mut object = by(&who("sue", &[]), name, "root.prod", Right::Submit, "tom");
    let meta = &mut Arc::make_mut(&mut object).meta;
    (meta.stored, meta.created) = (stored, Some(now()));
    object
}

#[test]
fn what_was_promised_counts_as_stored() {
    let most = crate::grants::delegation::MAX_STORED_OF_ONE;
    let snapshot = teams(true, vec![sized("a", most / 2)]);
    let promise = |name: &str, stored| Promise { name: name.into(), writer: "sue".into(), stored };
    let clause = |promised: &[Promise], old: Option<Object>, new: Object| {
        let promised = promised.to_vec();
        let answer =
            admit(&snapshot, &Review { promised, ..review(&who("sue", &[]), false, old, Some(new)) });
        assert_eq!(answer.promise.is_some(), answer.refusal.is_none());
        answer.clause
    };
    let b = [promise("b", most / 4)];
    assert_eq!(clause(&b, None, sized("c", most / 4)), "none");
    assert_eq!(clause(&b, None, sized("c", most / 4 + 1)), "concurrent");
    assert_eq!(clause(&b, None, sized("c", most / 2 + 1)), "delegation", "without promises, too");
    assert_eq!(clause(&b, None, sized("b", most / 2)), "none", "the same object");
    let shown = [promise("a", most / 2)];
    assert_eq!(clause(&shown, None, sized("b", most / 2)), "none", "it is shown");
    assert_eq!(clause(&b, Some(sized("a", most / 2)), sized("a", most / 4 * 3)), "none");
    assert_eq!(clause(&b, Some(sized("a", most / 2)), sized("a", most / 4 * 3 + 1)), "concurrent");
    let many: Vec<_> = (0..199).map(|number| promise(&number.to_string(), 1)).collect();
    assert_eq!(clause(&many, None, sized("z", 1)), "concurrent", "the number of objects");
    let of_others = |stored| -> Vec<_> {
        (0..14).map(|number| Promise { writer: number.to_string(), ..promise("x", stored) }).collect()
    };
    assert_eq!(clause(&of_others(most / 2), None, sized("b", most / 2)), "none");
    assert_eq!(clause(&of_others(most / 2 + 1), None, sized("b", most / 2)), "concurrent", "of all");
    // Writes that take no more space, and those of cluster administrators, do not wait.
    assert_eq!(
        admit(&snapshot, &review(&who("sue", &[]), false, Some(sized("a", most / 2)), Some(sized("a", 1))))
            .promise,
        None
    );
    let root = Review { promised: many, ..review(&who("root", &[]), true, None, Some(sized("z", 1))) };
    assert_eq!((admit(&snapshot, &root).refusal, admit(&snapshot, &root).promise), (None, None));
}

/// One step of [`promised_space_is_not_given_twice`].
#[derive(Debug, Clone)]
enum Step {
    /// A write of an object with so many parts of the limit, which the API server stores later.
    Write(usize, usize),
    Delete(usize),
    /// The API server stores a change that was accepted before, or drops it.
    End(usize, bool),
    /// The watch delivers the stored objects. Reservations of finished changes are dropped.
    Show,
}

/// A change that may still be stored: its name, and both versions.
type Open = (usize, Option<Object>, Object);

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..6_usize, 1..=4_usize).prop_map(|(name, parts)| Step::Write(name, parts)),
        1 => (0..6_usize).prop_map(Step::Delete),
        3 => (0..8_usize, prop::bool::weighted(0.8)).prop_map(|(change, stored)| Step::End(change, stored)),
        1 => Just(Step::Show),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// No matter how late accepted changes are stored and observed, everything stored stays within the limit.
    #[test]
    fn promised_space_is_not_given_twice(steps in prop::collection::vec(step(), 1..48)) {
        let most = crate::grants::delegation::MAX_STORED_OF_ONE;
        let mut snapshot = teams(true, Vec::new());
        let others = snapshot.queue_acls.clone();
        let mut stored: BTreeMap<usize, Object> = BTreeMap::new();
        // With the state that each change was reviewed against, as long as it may still be stored.
        let mut changes: Vec<(Promise, Option<Open>)> = Vec::new();
        for step in steps {
            match step {
                Step::Write(name, parts) => {
                    let (old, new) = (stored.get(&name).cloned(), sized(&name.to_string(), most / 4 * parts));
                    let promised = changes.iter().map(|(promise, _)| promise.clone()).collect();
                    let review = review(&who("sue", &[]), false, old.clone(), Some(new.clone()));
                    let answer = admit(&snapshot, &Review { promised, ..review });
                    match answer.promise {
                        Some(promise) => changes.push((promise, Some((name, old, new)))),
                        None if answer.refusal.is_none() => _ = stored.insert(name, new),
                        None => {}
                    }
                }
                Step::Delete(name) => _ = stored.remove(&name),
                Step::End(change, is_stored) => {
                    let mut open = changes.iter_mut().filter(|(_, change)| change.is_some());
                    let Some((name, old, new)) = open.nth(change).and_then(|(_, change)| change.take()) else { continue };
                    // A change based on another version is reviewed again.
                    let same = match (stored.get(&name), &old) {
                        (Some(now), Some(old)) => Arc::ptr_eq(now, old),
                        (now, old) => now.is_none() && old.is_none(),
                    };
                    if is_stored && same {
                        stored.insert(name, new);
                    }
                }
                Step::Show => {
                    snapshot.queue_acls = others.iter().chain(stored.values()).cloned().collect();
                    changes.retain(|(_, change)| change.is_some());
                }
            }
            prop_assert!(stored.values().map(|object| object.meta.stored).sum::<usize>() <= most);
        }
    }
}

/// More than twenty attempts to bypass delegation, as the webhook receives them. `None` in `new` deletes.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn an_administrator_changes_their_subtree_and_nothing_else() {
    let sue = who("sue", &["system:authenticated"]);
    let claim = who("sue", &[]);
    let own = |name: &str, queue: &str| by(&claim, name, queue, Right::Submit, "ann");
    let trusted = submit("trusted", "root.prod", "pat");
    let foreign = by(&who("bob", &["qa"]), "foreign", "root.test", Right::Submit, "tom");
    let above = by(&who("boss", &[]), "above", "root.prod", Right::Admin, "zoe");
    let former = by(&who("zed", &[]), "former", "root.prod", Right::Admin, "zoe");
    let lifted = by(&who("boss", &[]), "lifted", "root.test", Right::Admin, "sue");
    let mine = own("mine", "root.prod.etl");
    let objects = vec![trusted.clone(), foreign.clone(), above.clone(), former.clone(), mine.clone()];
    let mut snapshot = teams(true, objects);
    quiet(&mut snapshot);
    let change = |object: &Object, edit: fn(&mut QueueAclSpec)| Some(with(object.clone(), edit));
    let no = |name: &str, old: Option<Object>, new: Option<Object>, words: &str| {
        let answer = admit(&snapshot, &review(&sue, false, old, new));
        let why = answer.refusal.unwrap_or_else(|| panic!("{name} is accepted: {:?}", answer.warnings));
        assert!(why.contains(words), "{name}: {why}");
    };
    let none = None::<Object>;
    no(
        "no mark",
        none.clone(),
        Some(submit("x", "root.prod", "ann")),
        "write `delegatedBy: {user: \"sue\"}`",
    );
    no(
        "another's name",
        none.clone(),
        Some(by(&who("boss", &[]), "x", "root.prod", Right::Submit, "ann")),
        "your own name",
    );
    no(
        "a group of others",
        none.clone(),
        Some(by(&who("sue", &["qa"]), "x", "root.test", Right::Submit, "ann")),
        "not in it",
    );
    no("a sibling", none.clone(), Some(own("x", "root.test")), "does not administer queue `root.test`");
    no("root", none.clone(), Some(own("x", "root")), "cannot be delegated");
    no("root in capitals", none.clone(), Some(own("x", "ROOT")), "cannot be delegated");
    no("a prefix of the name", none.clone(), Some(own("x", "root.production")), "does not administer");
    no(
        "another partition",
        none.clone(),
        change(&own("x", "root.prod"), |s| s.partition = "gpu".into()),
        "does not administer",
    );
    no(
        "replacing",
        none.clone(),
        change(&own("x", "root.prod"), |s| s.base_acl = BaseAcl::Replace),
        "baseAcl: Extend",
    );
    no(
        "lifting oneself",
        none.clone(),
        Some(by(&claim, "x", "root.test", Right::Admin, "sue")),
        "does not administer",
    );
    no(
        "a cluster administrator's object",
        Some(trusted.clone()),
        change(&trusted, |s| s.submit = Some(Grant::Everyone)),
        "belongs to a cluster administrator",
    );
    no(
        "taking it over",
        Some(trusted.clone()),
        Some(own("trusted", "root.prod")),
        "belongs to a cluster administrator",
    );
    no("deleting it", Some(trusted), None, "belongs to a cluster administrator");
    no(
        "a stranger's object",
        Some(foreign.clone()),
        change(&foreign, |s| s.submit = Some(Grant::Everyone)),
        "does not administer",
    );
    no(
        "pulling a stranger's object in",
        Some(foreign.clone()),
        Some(own("foreign", "root.prod")),
        "does not administer",
    );
    no("deleting a stranger's object", Some(foreign.clone()), None, "does not administer");
    no("its labels", Some(foreign.clone()), Some(foreign), "does not administer");
    no(
        "moving one's object out",
        Some(mine.clone()),
        change(&mine, |s| s.queue = "root.test".into()),
        "does not administer",
    );
    no("moving it up", Some(mine.clone()), change(&mine, |s| s.queue = "root".into()), "cannot be delegated");
    no(
        "dropping the mark",
        Some(mine.clone()),
        change(&mine, |s| s.delegated_by = None),
        "write `delegatedBy",
    );
    no(
        "changing the mark",
        Some(mine.clone()),
        change(&mine, |s| s.delegated_by.as_mut().unwrap().user = "boss".into()),
        "your own name",
    );
    no(
        "a later window",
        none.clone(),
        change(&own("x", "root.test"), |s| s.not_before = Some("2030-01-01T00:00:00Z".parse().unwrap())),
        "does not administer",
    );
    no(
        "an unreadable object",
        Some(Arc::new(QueueAclEntry { spec: Err(Vec::new()), ..(*mine).clone() })),
        None,
        "cannot be read",
    );
    no("what a higher administrator grants", Some(above.clone()), None, "administrator of `root`");
    no("pulling it in", Some(above.clone()), Some(own("above", "root.prod")), "administrator of `root`");
    no("its labels", Some(above.clone()), Some(above), "administrator of `root`");
    no(
        "a finalizer",
        none.clone(),
        Some(finalized(&own("x", "root.prod"), &["a/b"])),
        "`metadata.finalizers` adds `a/b`",
    );
    no("adding a finalizer", Some(mine.clone()), Some(finalized(&mine, &["a/b"])), "adds `a/b`");
    no(
        "another finalizer",
        Some(finalized(&mine, &["a/b"])),
        Some(finalized(&mine, &["a/b", "c/d"])),
        "adds `c/d`",
    );
    let everyone: fn(&mut QueueAclSpec) = |spec| spec.admin = Some(Grant::Everyone);
    let nobody: fn(&mut QueueAclSpec) = |spec| spec.submit = Some(Grant::Nobody);
    let past: fn(&mut QueueAclSpec) = |spec| spec.expires_at = Some(now());
    for queue in ["root.prod", "root.prod.later"] {
        let object = own("x", queue);
        let late = with(object.clone(), past);
        for object in [&object, &late] {
            no(
                "making everyone administrator",
                none.clone(),
                change(object, everyone),
                "everyone an administrator",
            );
            no("granting nobody", none.clone(), change(object, nobody), "grants nothing");
        }
    }
    // Users cannot change the object that their own right depends on.
    let mut with_lift = snapshot.clone();
    with_lift.queue_acls.push(lifted.clone());
    quiet(&mut with_lift);
    let answer = admit(
        &with_lift,
        &review(&sue, false, Some(lifted), Some(by(&claim, "lifted", "root.test", Right::Admin, "sue"))),
    );
    assert!(answer.refusal.is_some_and(|why| why.contains("through any other object's ACLs")));
    // These are the changes that they may make.
    let yes = |name: &str, old: Option<Object>, new: Option<Object>| {
        let answer = admit(&snapshot, &review(&sue, false, old, new));
        assert_eq!(answer.refusal, None, "{name}");
    };
    yes("their queue", none.clone(), Some(own("x", "root.prod")));
    yes("below it", none, Some(own("x", "root.prod.etl.nightly")));
    let taken = by(&claim, "former", "root.prod", Right::Admin, "kim");
    yes("what a former administrator granted", Some(former.clone()), Some(taken));
    yes("deleting it", Some(former), None);
    let kept = finalized(&mine, &["a/b"]);
    yes("a finalizer that is there", Some(kept.clone()), change(&kept, |s| s.queue = "root.prod.bi".into()));
    yes("removing a finalizer", Some(kept), Some(mine.clone()));
    yes("moving within it", Some(mine.clone()), change(&mine, |s| s.queue = "root.prod.bi".into()));
    yes("deleting their own", Some(mine), None);
}

#[test]
fn who_may_not_escalate_deletes_their_own_at_most_while_nobody_knows_who_administers_what() {
    let (sue, pat) = (who("sue", &[]), who("pat", &[]));
    let (own, object) = (by(&sue, "d", "root.prod", Right::Submit, "ann"), submit("x", "root.test", "ann"));
    let mut enabled = teams(true, vec![own.clone()]);
    quiet(&mut enabled);
    let with = |change: &dyn Fn(&mut Snapshot)| {
        let mut snapshot = enabled.clone();
        change(&mut snapshot);
        snapshot
    };
    for (snapshot, words) in [
        (with(&|it| spec(it).delegation = false), "is Disabled"),
        (with(&|it| it.config = None), "no readable YuniKornConfig"),
        (with(&|it| it.config.as_mut().unwrap().spec = Err(Vec::new())), "no readable YuniKornConfig"),
        (with(&|it| base_text(it, "a: [")), "no queue tree"),
    ] {
        let mut changed = own.clone();
        spec_of(&mut changed).submit = Some(Grant::Everyone);
        for (name, by, old, new) in [
            ("create", &pat, None, Some(object.clone())),
            ("create in one's own name", &sue, None, Some(own.clone())),
            ("change", &sue, Some(own.clone()), Some(changed)),
            ("change labels", &sue, Some(own.clone()), Some(own.clone())),
            ("change another's", &pat, Some(own.clone()), Some(own.clone())),
            ("delete another's", &pat, Some(own.clone()), None),
            ("delete a cluster administrator's", &sue, Some(object.clone()), None),
        ] {
            let answer = admit(&snapshot, &review(by, false, old.clone(), new.clone()));
            let why = answer.refusal.unwrap_or_else(|| panic!("{name} is accepted: {:?}", answer.warnings));
            assert!(
                why.contains(words) || why.contains("belongs to a cluster administrator"),
                "{name}: {why}"
            );
            assert_eq!(answer.clause, "delegation", "{name}");
            assert_eq!(admit(&snapshot, &review(by, true, old, new)).refusal, None, "{name}");
        }
        assert_eq!(admit(&snapshot, &review(&sue, false, Some(own.clone()), None)).refusal, None, "{words}");
    }
}

#[test]
fn with_delegation_off_nothing_is_granted_in_the_name_of_an_administrator() {
    let mut snapshot = teams(false, Vec::new());
    quiet(&mut snapshot);
    let answer = created(&snapshot, by(&who("sue", &[]), "x", "root.prod", Right::Submit, "ann"));
    assert!(answer.warnings[1].starts_with("NotDelegated: "), "{answer:?}");
}

#[test]
fn administrator_of_nothing_any_more_deletes_what_is_in_their_name() {
    let gone = who("gone", &[]);
    let own = by(&gone, "d", "root.prod", Right::Submit, "ann");
    let mut snapshot = teams(true, vec![own.clone()]);
    quiet(&mut snapshot);
    assert_eq!(admit(&snapshot, &review(&gone, false, Some(own), None)).refusal, None);
}

#[test]
fn whoever_administers_by_a_group_is_advised_to_name_it() {
    let mut snapshot = teams(true, Vec::new());
    quiet(&mut snapshot);
    let bob = who("bob", &["qa", "system:authenticated"]);
    let object = |groups: &[&str]| by(&who("bob", groups), "x", "root.test", Right::Submit, "ann");
    let answer = admit(&snapshot, &review(&bob, false, None, Some(object(&[]))));
    assert!(answer.refusal.is_some_and(|why| why.contains("groups: [\"qa\"]")));
    let answer = admit(&snapshot, &review(&bob, false, None, Some(object(&["qa"]))));
    assert_eq!(answer.warnings, ["grants submit on root.test to user ann; nobody loses access"]);
}

fn base_text(snapshot: &mut Snapshot, text: &str) {
    Arc::make_mut(snapshot.base.as_mut().unwrap()).data.insert(KEY.into(), text.into());
}

#[test]
fn while_nobody_knows_who_administers_what_delegates_wait() {
    let mut snapshot = teams(true, Vec::new());
    base_text(&mut snapshot, "a: [");
    let sue = who("sue", &[]);
    let object = by(&sue, "x", "root.prod", Right::Submit, "ann");
    let answer = admit(&snapshot, &review(&sue, false, None, Some(object)));
    assert!(answer.refusal.is_some_and(|why| why.contains("no queue tree")));
}
