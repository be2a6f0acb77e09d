//! Differences of configurations that change over time.

use super::*;
use crate::testing::any_acl;

/// The queues of each tree.
const PATHS: [&str; 4] = ["root", "root.a", "root.a.x", "root.@recovery@"];
/// Maximum number of steps.
const STEPS: usize = 4;

/// Returns the beginning of a step, a day in December; `None` for now.
fn day(step: usize) -> Option<Timestamp> {
    let day = i8::try_from(step).ok().filter(|day| *day > 0)?;
    Some(jiff::civil::date(2026, 12, day).to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp())
}

/// The trees of each step.
type Steps = Vec<Tree>;

/// Returns trees with these submit ACLs of root.a, in the order of time.
fn submit(acls: &[&str]) -> Steps {
    acls.iter().map(|acl| tree(&[("root", "", ""), ("root.a", acl, "")])).collect()
}

fn course<'t>(old: &'t Steps, new: &'t Steps) -> Course<'t> {
    let times = (1..old.len()).filter_map(day).collect();
    Course { times, old: old.iter().collect(), new: new.iter().collect() }
}

/// Formats each change with its periods in one line: `+ user sue 2026-12-01 → never`.
fn rows(old: &[&str], new: &[&str]) -> Vec<String> {
    let (old, new) = (submit(old), submit(new));
    let diff = diff_for(&course(&old, &new), None);
    let short =
        |words: Option<String>| words.map(|words| words.replace("T00:00:00Z", "")).unwrap_or_default();
    let row = |change: &Change| {
        let sign = if change.direction == Direction::Gains { '+' } else { '-' };
        let (from, until) = (short(change.periods.from()), short(change.periods.until()));
        format!("{sign} {}, from {from}, until {until}", change.subject)
    };
    diff.kept.changes.iter().map(row).collect()
}

#[test]
fn right_with_another_beginning_or_end_is_a_change() {
    for (old, new, expected) in [
        // A temporary grant becomes permanent, and the other way round.
        (["zoe", ""], ["zoe", "zoe"], "+ user zoe, from , until 2026-12-01 → never"),
        (["zoe", "zoe"], ["zoe", ""], "- user zoe, from , until never → 2026-12-01"),
        // A grant begins next week, or no longer does.
        (["", ""], ["", "zoe"], "+ user zoe, from 2026-12-01, until "),
        (["", "zoe"], ["", ""], "- user zoe, from 2026-12-01, until "),
        // A temporary grant is new, or removed.
        (["", ""], ["zoe", ""], "+ user zoe, from , until 2026-12-01"),
        (["zoe", ""], ["", ""], "- user zoe, from , until "),
        // A grant begins earlier or later.
        (["", "zoe"], ["zoe", "zoe"], "+ user zoe, from 2026-12-01 → now, until "),
        (["zoe", "zoe"], ["", "zoe"], "- user zoe, from now → 2026-12-01, until "),
        (["", ""], ["", "*"], "+ everyone, from 2026-12-01, until "),
        (["*", "zoe"], ["*", "*"], "+ everyone, from , until 2026-12-01 → never"),
    ] {
        assert_eq!(rows(&old, &new), [expected], "{old:?} {new:?}");
    }
}

#[test]
fn period_moved_at_both_ends_in_one_direction_is_one_change() {
    let longer = "+ user zoe, from 2026-12-02 → 2026-12-01, until 2026-12-03 → 2026-12-04";
    assert_eq!(rows(&["", "", "zoe", "", ""], &["", "zoe", "zoe", "zoe", ""]), [longer]);
    let periods = "user zoe, from 2026-12-01 → 2026-12-02, until 2026-12-03 → 2026-12-04";
    assert_eq!(
        rows(&["", "zoe", "zoe", "", ""], &["", "", "zoe", "zoe", ""]),
        [format!("+ {periods}"), format!("- {periods}")]
    );
    // A gap is closed, and a grant moves so far that the periods do not overlap.
    assert_eq!(
        rows(&["zoe", "", "zoe"], &["zoe", "zoe", "zoe"]),
        ["+ user zoe, from 2026-12-01, until 2026-12-02"]
    );
    assert_eq!(
        rows(&["", "zoe", ""], &["", "", "zoe"]),
        ["+ user zoe, from 2026-12-02, until ", "- user zoe, from 2026-12-01, until 2026-12-02"]
    );
}

#[test]
fn subject_with_another_entry_at_that_time_gains_nothing() {
    assert_eq!(rows(&["*", "zoe"], &["*", "zoe"]), [""; 0]);
    assert_eq!(rows(&["*", ""], &["zoe", ""]), ["- everyone, from , until "]);
    // A row ends with the entry that it names.
    assert_eq!(
        rows(&["", ""], &["zoe", "*"]),
        ["+ everyone, from 2026-12-01, until ", "+ user zoe, from , until 2026-12-01"]
    );
}

#[test]
fn line_has_the_beginning_and_the_end() {
    let line = |old: &[&str], new: &[&str]| {
        let (old, new) = (submit(old), submit(new));
        let later = |steps: &Steps| -> Vec<(Timestamp, Vec<Tree>)> {
            let later = steps.iter().enumerate().skip(1);
            later.map(|(step, tree)| (day(step).unwrap(), vec![tree.clone()])).collect()
        };
        let (later_old, later_new) = (later(&old), later(&new));
        let old = Timeline { now: &old[..1], later: &later_old };
        let new = Timeline { now: &new[..1], later: &later_new };
        impact(&between_for(old, new, None), Direction::Gains)
    };
    for (old, new, expected) in [
        (
            ["", ""],
            ["", "zoe"],
            "grants submit on root.a to user zoe from 2026-12-01T00:00:00Z; nobody loses access",
        ),
        (
            ["", ""],
            ["zoe", ""],
            "grants submit on root.a to user zoe until 2026-12-01T00:00:00Z; nobody loses access",
        ),
        (
            ["zoe", ""],
            ["zoe", "zoe"],
            "extends submit on root.a of user zoe: until 2026-12-01T00:00:00Z → never; nobody loses access",
        ),
        (
            ["zoe", "zoe"],
            ["zoe", ""],
            "shortens submit on root.a of user zoe: until never → 2026-12-01T00:00:00Z; nobody gains access",
        ),
        (
            ["", "zoe"],
            ["", ""],
            "takes submit on root.a from user zoe, from 2026-12-01T00:00:00Z; nobody gains access",
        ),
        (["zoe", "bob"], ["zoe", "bob"], "nobody gains or loses access"),
    ] {
        assert_eq!(line(&old, &new), expected);
    }
}

/// Generates trees with the same queues.
fn any_steps() -> impl Strategy<Value = (Steps, Steps)> {
    let acls = || prop::collection::vec((any_acl(), any_acl()), PATHS.len());
    let step = || (acls(), acls(), prop::bool::weighted(0.3));
    prop::collection::vec(step(), 1..=STEPS).prop_map(|steps| {
        let of = |acls: &[(&str, &str)]| {
            let queues = PATHS.iter().zip(acls).map(|(path, (submit, admin))| (*path, *submit, *admin));
            tree(&queues.collect::<Vec<_>>())
        };
        // Most of the time both are the same.
        steps.iter().map(|(old, new, same)| (of(old), of(if *same { old } else { new }))).unzip()
    })
}

/// Returns whether the right changes at a step by this change.
fn is_changed(change: &Change, step: usize) -> bool {
    let now = day(step);
    let holds = |period: Option<Period>| {
        period.is_some_and(|period| period.from <= now && period.until.is_none_or(|until| now < Some(until)))
    };
    let Periods { before, after } = change.periods;
    match change.direction {
        Direction::Gains => holds(after) && !holds(before),
        Direction::Loses => holds(before) && !holds(after),
    }
}

proptest! {
    #[test]
    fn difference_equals_that_of_the_decisions_at_each_step((old, new) in any_steps()) {
        let diff = diff_for(&course(&old, &new), None);
        let decided: Vec<_> = old.iter().zip(&new).map(|(old, new)| (decisions(old), decisions(new))).collect();
        let mut widens = false;
        for (step, (before, after)) in decided.iter().enumerate() {
            for (query @ (path, right, subject), had) in before {
                let has = after[query];
                widens |= has && !had;
                let queue = find(&diff.kept.queues, path).unwrap();
                for (direction, expected) in [(Direction::Gains, has && !had), (Direction::Loses, *had && !has)] {
                    let here = |change: &&Change| {
                        change.direction == direction
                            && change.right == *right
                            && change.queues.contains(queue)
                            && is_changed(change, step)
                            && !change.unchanged.iter().any(|same| same.subject == *subject && same.queues.contains(queue))
                    };
                    let mut found = diff.kept.changes.iter().filter(here);
                    if expected {
                        let about = |change: &Change| [subject, &Subject::Everyone].contains(&&change.subject);
                        prop_assert!(found.any(about), "{step} {query:?} {direction:?}\n{diff:?}");
                    } else {
                        prop_assert!(!found.any(|change| change.subject == *subject), "{step} {query:?}\n{diff:?}");
                    }
                }
            }
        }
        prop_assert_eq!(diff.widens(), widens);
        prop_assert_eq!(mirrored(&diff), diff_for(&course(&new, &old), None));
    }

    #[test]
    fn difference_for_one_user_equals_that_of_the_decisions_at_each_step((old, new) in any_steps(), who in any_identity()) {
        let diff = diff_for(&course(&old, &new), Some(&who));
        for (step, (old, new)) in old.iter().zip(&new).enumerate() {
            for (path, right) in PATHS.iter().flat_map(|path| Right::ALL.map(|right| (path, right))) {
                let may = |tree: &Tree| decide(tree, right, path, &who).allowed();
                let queue = find(&diff.kept.queues, &QueuePath::parse(path).unwrap()).unwrap();
                for (direction, expected) in [(Direction::Gains, !may(old) && may(new)), (Direction::Loses, may(old) && !may(new))] {
                    let here = |change: &&Change| {
                        change.direction == direction
                            && change.right == right
                            && change.queues.contains(queue)
                            && is_changed(change, step)
                    };
                    prop_assert_eq!(diff.kept.changes.iter().any(|change| here(&change)), expected, "{} {} {:?}", step, path, diff);
                }
            }
        }
    }
}
