//! Tests differences of configurations that change by themselves.

use super::*;
use crate::testing::any_acl;

/// The queues of each tree.
const PATHS: [&str; 4] = ["root", "root.a", "root.a.x", "root.@recovery@"];
/// The most steps.
const STEPS: usize = 4;

/// The beginning of a step: a day in December; `None` for now.
fn day(step: usize) -> Option<Timestamp> {
    let day = i8::try_from(step).ok().filter(|day| *day > 0)?;
    Some(jiff::civil::date(2026, 12, day).to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp())
}

/// The trees of each step.
type Steps = Vec<Tree>;

/// Trees that give root.a these submit ACLs, in the order of time.
fn submit(acls: &[&str]) -> Steps {
    acls.iter().map(|acl| tree(&[("root", "", ""), ("root.a", acl, "")])).collect()
}

fn course<'t>(old: &'t Steps, new: &'t Steps) -> Course<'t> {
    let times = (1..old.len()).filter_map(day).collect();
    Course { times, old: old.iter().collect(), new: new.iter().collect() }
}

/// The changes in one line each, with their periods: `+ user sue 2026-12-01 → never`.
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
fn rights_that_begin_later_or_end_at_another_time_are_changes() {
    for (old, new, expected) in [
        // A temporary grant becomes permanent, and the other way round.
        (["zoe", ""], ["zoe", "zoe"], "+ user zoe, from , until 2026-12-01 → never"),
        (["zoe", "zoe"], ["zoe", ""], "- user zoe, from , until never → 2026-12-01"),
        // A grant begins next week, and does not any more.
        (["", ""], ["", "zoe"], "+ user zoe, from 2026-12-01, until "),
        (["", "zoe"], ["", ""], "- user zoe, from 2026-12-01, until "),
        // A temporary grant is new, and is gone.
        (["", ""], ["zoe", ""], "+ user zoe, from , until 2026-12-01"),
        (["zoe", ""], ["", ""], "- user zoe, from , until "),
        // A grant begins earlier, and later.
        (["", "zoe"], ["zoe", "zoe"], "+ user zoe, from 2026-12-01 → now, until "),
        (["zoe", "zoe"], ["", "zoe"], "- user zoe, from now → 2026-12-01, until "),
        (["", ""], ["", "*"], "+ everyone, from 2026-12-01, until "),
        (["*", "zoe"], ["*", "*"], "+ everyone, from , until 2026-12-01 → never"),
    ] {
        assert_eq!(rows(&old, &new), [expected], "{old:?} {new:?}");
    }
}

#[test]
fn what_moves_at_both_ends_is_one_change_if_it_is_of_one_direction() {
    let longer = "+ user zoe, from 2026-12-02 → 2026-12-01, until 2026-12-03 → 2026-12-04";
    assert_eq!(rows(&["", "", "zoe", "", ""], &["", "zoe", "zoe", "zoe", ""]), [longer]);
    let periods = "user zoe, from 2026-12-01 → 2026-12-02, until 2026-12-03 → 2026-12-04";
    assert_eq!(
        rows(&["", "zoe", "zoe", "", ""], &["", "", "zoe", "zoe", ""]),
        [format!("+ {periods}"), format!("- {periods}")]
    );
    // A gap is closed, and a grant moves so far that nothing of it stays.
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
fn who_has_the_right_by_another_entry_at_that_time_gains_nothing() {
    assert_eq!(rows(&["*", "zoe"], &["*", "zoe"]), [""; 0]);
    assert_eq!(rows(&["*", ""], &["zoe", ""]), ["- everyone, from , until "]);
    // A row ends with the entry that it names.
    assert_eq!(
        rows(&["", ""], &["zoe", "*"]),
        ["+ everyone, from 2026-12-01, until ", "+ user zoe, from , until 2026-12-01"]
    );
}

#[test]
fn the_line_says_from_when_and_until_when() {
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

/// Trees with the same queues.
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
    fn at_each_step_the_difference_is_that_of_the_decisions((old, new) in any_steps()) {
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
    fn for_one_user_it_is_that_of_the_decisions_at_each_step((old, new) in any_steps(), who in any_identity()) {
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
