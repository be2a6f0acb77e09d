//! Finds the revision that was in force at a time in the past.

use jiff::Timestamp;

/// The times of a stored revision, which order it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// The time of its creation, by the API server's clock.
    pub created: Option<Timestamp>,
    /// The time of the write; `None` if the revision is unreadable.
    pub at: Option<Timestamp>,
}

/// A revision in a list, and the time during which it was in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InForce {
    /// Its index in the list.
    pub index: usize,
    /// The time of its write.
    pub from: Timestamp,
    /// The index and the time of the next one; `None` if it is the newest.
    pub next: Option<(usize, Timestamp)>,
}

/// A reason for not knowing the revision in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// There is no revision.
    Empty,
    /// The history begins later, with this revision, at this time.
    Before(usize, Timestamp),
    /// The revision in force is unreadable.
    Unreadable(usize),
}

/// Finds the revision that was in force at a time: the last revision written until then. An unreadable
/// revision has the time of its creation.
///
/// # Errors
/// When none is known to have been.
pub fn in_force(revisions: &[Recorded], at: Timestamp) -> Result<InForce, Unknown> {
    let times = revisions.iter().enumerate();
    let mut times: Vec<(Timestamp, usize)> = times
        .map(|(index, revision)| (revision.at.or(revision.created).unwrap_or(Timestamp::MIN), index))
        .collect();
    times.sort_unstable();
    let before = times.partition_point(|(time, _)| *time <= at);
    let next = times.get(before).map(|(time, index)| (*index, *time));
    match before.checked_sub(1).and_then(|last| times.get(last)) {
        Some((from, index)) => {
            let readable = revisions.get(*index).is_some_and(|revision| revision.at.is_some());
            let found = InForce { index: *index, from: *from, next };
            if readable { Ok(found) } else { Err(Unknown::Unreadable(*index)) }
        }
        None => Err(next.map_or(Unknown::Empty, |(index, time)| Unknown::Before(index, time))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn written(second: i64) -> Recorded {
        Recorded { created: Some(time(second + 1)), at: Some(time(second)) }
    }

    fn unreadable(second: i64) -> Recorded {
        Recorded { created: Some(time(second)), at: None }
    }

    #[test]
    fn revision_is_in_force_from_its_write_to_the_next_one() {
        let all = [written(10), written(20), written(20), written(30)];
        let found = |at| in_force(&all, time(at)).map(|it| (it.index, it.from, it.next));
        assert_eq!(found(9), Err(Unknown::Before(0, time(10))));
        assert_eq!(found(10), Ok((0, time(10), Some((1, time(20))))));
        assert_eq!(found(19), Ok((0, time(10), Some((1, time(20))))));
        assert_eq!(found(20), Ok((2, time(20), Some((3, time(30))))), "the last of the same time");
        assert_eq!(found(99), Ok((3, time(30), None)));
        assert_eq!(in_force(&[], time(1)), Err(Unknown::Empty));
    }

    #[test]
    fn what_is_unreadable_is_not_skipped() {
        let all = [written(10), unreadable(20), written(30)];
        assert_eq!(in_force(&all, time(19)).map(|it| it.index), Ok(0));
        assert_eq!(in_force(&all, time(20)), Err(Unknown::Unreadable(1)));
        assert_eq!(in_force(&all, time(30)).map(|it| it.index), Ok(2));
        let undated = [Recorded { created: None, at: None }, written(10)];
        assert_eq!(in_force(&undated, time(5)), Err(Unknown::Unreadable(0)));
    }

    proptest! {
        /// The revision that is found was written before the time, and no other one was in between.
        #[test]
        fn no_other_revision_is_nearer(seconds in prop::collection::vec(0_i64..50, 0..8), at in 0_i64..60) {
            let all: Vec<Recorded> = seconds.iter().map(|second| written(*second)).collect();
            match in_force(&all, time(at)) {
                Ok(found) => {
                    let from = seconds[found.index];
                    prop_assert!(from <= at && seconds.iter().all(|other| *other <= from || *other > at));
                    let next = seconds.iter().filter(|other| **other > at).min().map(|next| time(*next));
                    prop_assert_eq!(found.next.map(|(_, next)| next), next);
                }
                Err(_) => prop_assert!(seconds.iter().all(|second| *second > at)),
            }
        }
    }
}
