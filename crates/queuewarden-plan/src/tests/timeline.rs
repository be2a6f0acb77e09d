//! Tests the effect of changes at later times: warnings, events, delegation, and a law for random clusters.

use std::cell::RefCell;

use jiff::SignedDuration;
use proptest::prelude::*;

use super::admit::{quiet, review};
use super::delegation::{by, teams, who};
use super::*;
use crate::admit::admit;
use crate::effective::ParseCache;
use crate::grants::trees;
use crate::plan::plan_again;
use crate::time::{Course, Later, differing};
use yunikorn::identity::Identity;
use yunikorn::right::Right;
use yunikorn_access::decide::decide;
use yunikorn_access::diff::{Direction, PartitionDiff, Timeline, between_for, impact};
use yunikorn_access::subject::Subject;

type Object = Arc<QueueAclEntry>;

fn after(hours: i64) -> Timestamp {
    now() + SignedDuration::from_hours(hours)
}

/// An object that adds zoe to root.prod between these hours.
fn zoe(from: Option<i64>, until: Option<i64>) -> Object {
    with(submit("a", "root.prod", "zoe"), |spec| {
        spec.base_acl = BaseAcl::Extend;
        spec.not_before = from.map(after);
        spec.expires_at = until.map(after);
    })
}

/// The first warning about a change of an object in a cluster with these others.
fn warned(others: &[Object], old: Option<Object>, new: Option<Object>) -> String {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = old.iter().chain(others).cloned().collect();
    quiet(&mut snapshot);
    let answer = admit(&snapshot, &review(&who("root", &[]), true, old, new));
    answer.warnings.into_iter().next().unwrap()
}

#[test]
fn webhook_warns_of_what_a_change_does_later() {
    let on = "on root.prod and 1 queue below";
    let (end, later) = ("2026-06-01T14:00:00Z", "2026-06-01T17:00:00Z");
    for (old, new, expected) in [
        (
            Some(zoe(None, Some(2))),
            Some(zoe(None, None)),
            format!("extends submit {on} of user zoe: until {end} → never; nobody loses access"),
        ),
        (
            Some(zoe(None, Some(2))),
            Some(zoe(None, Some(5))),
            format!("extends submit {on} of user zoe: until {end} → {later}; nobody loses access"),
        ),
        (
            Some(zoe(None, None)),
            Some(zoe(None, Some(2))),
            format!("shortens submit {on} of user zoe: until never → {end}; nobody gains access"),
        ),
        (
            None,
            Some(zoe(Some(2), None)),
            format!("grants submit {on} to user zoe from {end}; nobody loses access"),
        ),
        (
            None,
            Some(zoe(Some(2), Some(5))),
            format!("grants submit {on} to user zoe from {end} until {later}; nobody loses access"),
        ),
        (
            None,
            Some(zoe(None, Some(2))),
            format!("grants submit {on} to user zoe until {end}; nobody loses access"),
        ),
        (
            Some(zoe(Some(2), None)),
            None,
            format!("takes submit {on} from user zoe, from {end}; nobody gains access"),
        ),
        (
            Some(zoe(Some(5), None)),
            Some(zoe(Some(2), None)),
            format!("extends submit {on} of user zoe: from {later} → {end}; nobody loses access"),
        ),
        (Some(zoe(None, Some(-1))), Some(zoe(None, Some(-2))), "nobody gains or loses access".to_owned()),
    ] {
        assert_eq!(warned(&[], old, new), expected);
    }
}

#[test]
fn webhook_knows_that_another_grant_lets_the_user_in_at_that_time() {
    let other = |until| renamed(zoe(None, until), "b");
    let longer = (Some(zoe(None, Some(2))), Some(zoe(None, Some(4))));
    let change = |others: &[Object]| warned(others, longer.0.clone(), longer.1.clone());
    assert_eq!(change(&[other(None)]), "nobody gains or loses access");
    assert_eq!(change(&[other(Some(4))]), "nobody gains or loses access");
    assert_eq!(
        change(&[other(Some(3))]),
        "extends submit on root.prod and 1 queue below of user zoe: until 2026-06-01T15:00:00Z → \
         2026-06-01T16:00:00Z; nobody loses access"
    );
}

fn renamed(mut object: Object, name: &str) -> Object {
    let meta = &mut Arc::make_mut(&mut object).meta;
    (meta.name, meta.uid) = (name.into(), format!("uid-{name}").into());
    object
}

#[test]
fn event_about_another_end_says_from_when_to_when() {
    let mut snapshot = cluster(BASE);
    snapshot.output = Some(map(YUNIKORN_CONFIGS, &[]));
    snapshot.queue_acls = vec![zoe(None, Some(2))];
    quiet(&mut snapshot);
    let changed = |until| {
        let mut later = snapshot.clone();
        spec_of(&mut later.queue_acls[0]).expires_at = until;
        Arc::make_mut(&mut later.queue_acls[0]).meta.generation = 2;
        let events = plan(&later).events.into_iter().filter(|event| event.reason == "AccessChanged");
        events.map(|event| event.note).collect::<Vec<_>>()
    };
    let submit = "submit of user zoe on queue `root.prod`: until 2026-06-01T14:00:00Z →";
    assert_eq!(changed(None), [format!("extends {submit} never")]);
    assert_eq!(changed(Some(after(1))), [format!("shortens {submit} 2026-06-01T13:00:00Z")]);
    assert_eq!(changed(Some(after(2))), [""; 0]);
}

/// An administrator whose own right ends grants nothing beyond that end, even if the object has a later one.
#[test]
fn delegate_extends_no_grant_beyond_the_end_of_their_own_right() {
    let (end, tim) = (after(3), who("tim", &[]));
    let of_tim = with(submit("tim", "root.test", "tim"), |spec| {
        spec.base_acl = BaseAcl::Extend;
        spec.expires_at = Some(end);
        spec.admin = spec.submit.take();
    });
    let mut snapshot = teams(true, vec![of_tim]);
    quiet(&mut snapshot);
    let grant = |until: Option<Timestamp>| {
        with(by(&tim, "d", "root.test", Right::Submit, "ann"), |spec| spec.expires_at = until)
    };
    let write = |snapshot: &Snapshot, old: Option<Object>, new: Object| {
        let answer = admit(snapshot, &review(&tim, false, old, Some(new)));
        assert_eq!(answer.refusal, None);
        answer.warnings.into_iter().next().unwrap()
    };
    let ends = "2026-06-01T15:00:00Z";
    let granted = format!("grants submit on root.test to user ann until {ends}; nobody loses access");
    assert_eq!(write(&snapshot, None, grant(None)), granted);
    assert_eq!(write(&snapshot, None, grant(Some(after(9)))), granted);
    // An existing object is written again with a later end.
    snapshot.queue_acls.push(grant(Some(after(1))));
    quiet(&mut snapshot);
    let extended = write(&snapshot, Some(grant(Some(after(1)))), grant(None));
    let moved = format!("until 2026-06-01T13:00:00Z → {ends}");
    assert_eq!(extended, format!("extends submit on root.test of user ann: {moved}; nobody loses access"));
    snapshot.queue_acls[1] = grant(None);
    quiet(&mut snapshot);
    assert_eq!(
        write(&snapshot, Some(grant(None)), grant(Some(after(9)))),
        "nobody gains or loses access",
        "it ends with the right of its writer all the same"
    );
    let lasts = |now| {
        let settled = settled(&Snapshot { now, ..snapshot.clone() }).snapshot;
        submit_of(&settled, "root.test").contains("ann")
    };
    assert!(lasts(end - SignedDuration::from_secs(1)) && !lasts(end));
}

/// The bound of the next test: 20 moments with 50 objects on each side.
const WORK: usize = 2000;

/// Objects with ends five minutes apart.
fn many() -> Vec<Object> {
    let object = |number: i64| {
        let end = now() + SignedDuration::from_mins(5 * number);
        let object = with(submit("x", "root.test", "bob"), |spec| {
            spec.base_acl = BaseAcl::Extend;
            spec.expires_at = Some(end);
        });
        renamed(object, &format!("m{number:04}"))
    };
    (1..50).map(object).collect()
}

#[test]
fn times_that_are_not_compared_are_named_and_only_times_that_matter_are_compared() {
    let snapshot = Snapshot { queue_acls: many(), ..cluster(BASE) };
    let with_zoe = |object: Object| {
        let mut new = snapshot.clone();
        new.queue_acls.push(object);
        new
    };
    let unknown = |old: &Snapshot, new: &Snapshot| Course::within(WORK, Some(old), Some(new)).unknown_from;
    let permanent = with_zoe(zoe(None, None));
    assert!(
        unknown(&snapshot, &permanent).is_some_and(|from| from == after(1) + SignedDuration::from_mins(45))
    );
    assert!(unknown(&permanent, &snapshot).is_some(), "it is not known whether something else widens");
    // Only the hour between the two ends matters.
    let (short, long) = (with_zoe(zoe(None, Some(2))), with_zoe(zoe(None, Some(3))));
    let course = Course::within(WORK, Some(&short), Some(&long));
    assert_eq!((course.unknown_from, course.old.len()), (None, 13));
    assert_eq!(
        impact(&compared(&short, &long), Direction::Gains),
        "extends submit on root.prod and 1 queue below of user zoe: until 2026-06-01T14:00:00Z → \
         2026-06-01T15:00:00Z; nobody loses access"
    );
    let mut delegated = long.clone();
    spec_of(delegated.queue_acls.last_mut().unwrap()).delegated_by = Some(who("sue", &[]));
    assert!(unknown(&short, &delegated).is_some(), "the space that it takes matters at all times");
    let base = BASE.replace("'sue dev'", "'sue'");
    let mut moved = long.clone();
    moved.base = Some(map(YUNIKORN_DEFAULTS, &[(KEY, &base)]));
    assert!(unknown(&short, &moved).is_some(), "so does another base");
}

/// Compares two snapshots at all times.
fn compared(old: &Snapshot, new: &Snapshot) -> Vec<PartitionDiff> {
    let now = |snapshot: &Snapshot| {
        let decided = crate::plan::evaluate(snapshot, &mut ParseCache::default()).unwrap();
        trees(decided.queues(), &decided.context.resolved.aliased)
    };
    let course = Course::new(Some(old), Some(new));
    let [later_old, later_new] =
        [course.old, course.new].map(|later| later.into_iter().map(Later::into_step).collect::<Vec<_>>());
    let (old, new) = (now(old), now(new));
    let old = Timeline { now: &old, later: &later_old };
    between_for(old, Timeline { now: &new, later: &later_new }, None)
}

const QUEUES: [&str; 5] = ["root", "root.prod", "root.prod.etl", "root.test", "root.gone"];

fn any_grant() -> impl Strategy<Value = Grant> {
    let acls = vec!["ann", "bob", "tim", "ann,tim", " dev", " qa", "*", " ", "a  b"];
    prop::sample::select(acls).prop_map(|acl| Grant::Raw(acl.into()))
}

/// Draws an object without a window.
fn any_spec() -> impl Strategy<Value = QueueAclSpec> {
    let rights = (prop::option::weighted(0.8, any_grant()), prop::option::weighted(0.4, any_grant()));
    let writer = prop::option::weighted(0.3, prop::sample::select(vec!["sue", "ann", "tim"]));
    let flags = (prop::bool::weighted(0.8), prop::bool::weighted(0.1));
    let parts = (prop::sample::select(QUEUES.to_vec()), rights, flags, writer);
    parts.prop_map(|(queue, (submit, admin), (extend, suspend), writer)| QueueAclSpec {
        partition: "default".into(),
        queue: queue.into(),
        submit,
        admin,
        base_acl: if extend { BaseAcl::Extend } else { BaseAcl::Replace },
        not_before: None,
        expires_at: None,
        suspend,
        delegated_by: writer.map(|writer| who(writer, &[])),
    })
}

/// Generates the specs of one object before and after a change.
fn any_change() -> impl Strategy<Value = [Option<QueueAclSpec>; 2]> {
    let window = || (prop::option::weighted(0.3, -1_i64..4), prop::option::weighted(0.6, -1_i64..5));
    // Few objects change in content; most changes only affect the times.
    let kind = prop_oneof![4 => Just(0), 4 => Just(1), 1 => Just(2), 1 => Just(3), 1 => Just(4)];
    (any_spec(), any_spec(), window(), window(), kind).prop_map(move |(old, new, before, after_, kind)| {
        let at = |mut object: QueueAclSpec, (from, until): (Option<i64>, Option<i64>)| {
            // A temporary object that replaces the base is refused.
            let timed = object.base_acl == BaseAcl::Extend;
            object.not_before = from.filter(|_| timed).map(after);
            object.expires_at = until.filter(|_| timed).map(after);
            object
        };
        match kind {
            0 => [Some(at(old.clone(), before)), Some(at(old, before))],
            1 => [Some(at(old.clone(), before)), Some(at(old, after_))],
            2 => [Some(at(old, before)), Some(at(new, after_))],
            3 => [None, Some(at(new, after_))],
            _ => [Some(at(old, before)), None],
        }
    })
}

/// Generates two snapshots. The old one may have been in force before.
fn any_clusters() -> impl Strategy<Value = [Snapshot; 2]> {
    (prop::collection::vec(any_change(), 1..4), prop::bool::weighted(0.2)).prop_map(|(changes, settles)| {
        let objects = |side: usize| -> Vec<Object> {
            let specs = changes
                .iter()
                .enumerate()
                .filter_map(|(number, change)| Some((number, change[side].clone()?)));
            specs.map(|(number, spec)| Arc::new(entry(&format!("o{number}"), spec))).collect()
        };
        let mut old = teams(true, objects(0));
        if settles {
            quiet(&mut old);
            // This property does not cover the accidental removal of most objects.
            if let Some(output) = &mut old.output {
                Arc::make_mut(output).annotations.remove(OBJECTS);
            }
        }
        let mut new = old.clone();
        new.queue_acls = objects(1);
        for object in &mut new.queue_acls {
            let known = old.queue_acls.iter().find(|known| known.meta.name == object.meta.name);
            let Some(known) = known.filter(|_| settles) else { continue };
            let object = Arc::make_mut(object);
            object.in_force.clone_from(&known.in_force);
            object.meta.conditions.clone_from(&known.meta.conditions);
        }
        [old, new]
    })
}

fn subjects() -> impl Iterator<Item = Identity> {
    let names = ["ann", "bob", "tim", "sue", "boss", "pat", "dev", "qa"].map(str::to_owned);
    let both = names.into_iter().flat_map(|name| [Subject::User(name.clone()), Subject::Group(name)]);
    both.chain([Subject::Everyone]).map(|subject| subject.identity())
}

/// The decisions by the text that the operator would write at a given time.
fn decisions(snapshot: &Snapshot, now: Timestamp) -> Vec<bool> {
    thread_local! {
        static KNOWN: RefCell<ParseCache> = RefCell::default();
    }
    let planned = KNOWN.with_borrow_mut(|known| plan_again(&Snapshot { now, ..snapshot.clone() }, known));
    let text = planned.rendered.unwrap().text;
    let config = config::verdict(&text, &[], Version::V1_8).config.unwrap();
    let tree = yunikorn_access::Tree::new(config.partition("default").unwrap()).unwrap();
    let queries = QUEUES.iter().flat_map(|queue| Right::ALL.map(|right| (queue, right)));
    let all = queries.flat_map(|query| subjects().map(move |who| (query, who)));
    all.map(|((queue, right), who)| decide(&tree, right, queue, &who).allowed()).collect()
}

/// Checks that a difference is reported as widening if and only if the evaluator admits someone at a later
/// time who was not admitted at that time before, and as narrowing if and only if it refuses someone.
fn widens_as_the_evaluator_does([old, new]: &[Snapshot; 2]) -> Result<(), TestCaseError> {
    let found = compared(old, new);
    let directions = found.iter().flat_map(|of| &of.diff.kept.changes).map(|change| change.direction);
    let narrows = directions.into_iter().any(|direction| direction == Direction::Loses);
    let (mut gained, mut lost) = (false, false);
    let differ = differing(old, new);
    // Windows open and close at whole hours.
    let times = (0..5).map(after).chain([after(2) + SignedDuration::from_mins(30)]);
    for at in times {
        let (before, after) = (decisions(old, at), decisions(new, at));
        if differ.as_ref().is_some_and(|times| times.iter().all(|time| !time.contains(&at))) {
            prop_assert_eq!(&before, &after, "{} is left out where moments are many", at);
        }
        gained |= before.iter().zip(&after).any(|(before, after)| !before && *after);
        lost |= before.iter().zip(&after).any(|(before, after)| *before && !after);
    }
    prop_assert_eq!(found.iter().any(|of| of.diff.widens()), gained, "{:?}", found);
    prop_assert_eq!(narrows, lost, "{:?}", found);
    Ok(())
}

proptest! {
    #[test]
    fn difference_widens_exactly_if_the_evaluator_admits_someone_later(clusters in any_clusters()) {
        widens_as_the_evaluator_does(&clusters)?;
    }
}
