//! Does the scheduler run what the ConfigMaps say? Told by the checksum it reports, never assumed.

use jiff::{SignedDuration, Timestamp};

use super::budget::doubled;
use super::conditions::{Finding, Reason, Type};
use super::snapshot::{Observed, ReadBack};

/// How long a reload may take before something is wrong.
pub(super) const PATIENCE: SignedDuration = SignedDuration::from_secs(30);
/// The longest time between two attempts to make the scheduler take the text.
const LONGEST: SignedDuration = SignedDuration::from_mins(10);

/// What to compare.
pub(super) struct Question<'a> {
    /// Checksum of the text the scheduler should run.
    pub expected: &'a str,
    /// Whether `service.enableConfigHotRefresh` is on.
    pub hot_refresh: bool,
    /// What was seen.
    pub observed: &'a Observed,
    /// Now.
    pub now: Timestamp,
}

/// The answer.
pub(super) struct Answer {
    /// Condition `Loaded`.
    pub finding: Finding,
    /// When to write the text again under a new revision, if it is not taken until then.
    pub reassert_at: Option<Timestamp>,
}

/// Compares what the scheduler reports with what it should run.
pub(super) fn answer(question: &Question<'_>) -> Answer {
    let Question {
        expected,
        hot_refresh,
        observed,
        now,
    } = *question;
    let told = |finding| Answer {
        finding,
        reassert_at: None,
    };
    match &observed.read_back {
        None => told(Finding::unknown(
            Type::Loaded,
            Reason::LoadPending,
            "the scheduler has not been asked yet",
        )),
        Some(ReadBack {
            checksum: Err(error), ..
        }) => {
            let message = format!("the scheduler does not answer: {error}");
            told(Finding::unknown(
                Type::Loaded,
                Reason::SchedulerUnreachable,
                message,
            ))
        }
        Some(ReadBack {
            checksum: Ok(actual), ..
        }) if actual == expected => told(Finding::yes(
            Type::Loaded,
            Reason::Loaded,
            "the scheduler runs the configuration of the ConfigMaps",
        )),
        Some(_) if !hot_refresh => told(Finding::no(
            Type::Loaded,
            Reason::HotRefreshDisabled,
            "the scheduler runs another configuration and takes no new one: `service.enableConfigHotRefresh` is off; \
             set it to \"true\" and restart the scheduler",
        )),
        Some(_) => not_taken(observed, now),
    }
}

/// The scheduler runs something else although it should have loaded the text.
fn not_taken(observed: &Observed, now: Timestamp) -> Answer {
    let since = observed.pending_since.unwrap_or(now);
    let times = usize::try_from(observed.reasserts).unwrap_or(usize::MAX);
    let reassert_at = since.checked_add(doubled(PATIENCE, times, LONGEST)).ok();
    let patient =
        observed.reasserts == 0 || (observed.reasserts == 1 && now.duration_since(since) < PATIENCE);
    let finding = if patient {
        Finding::no(
            Type::Loaded,
            Reason::LoadPending,
            "written, and not yet loaded by the scheduler",
        )
    } else {
        Finding::no(
            Type::Loaded,
            Reason::SchedulerRejected,
            "the scheduler keeps running another configuration: it refused this one (its log says why, \
             \"reload configuration failed\"), or hot refresh was off when it started, or the URL leads to another scheduler",
        )
    };
    Answer { finding, reassert_at }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::conditions::Status;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    fn ask(observed: &Observed, hot_refresh: bool, second: i64) -> (Status, Reason, Option<i64>) {
        let found = answer(&Question {
            expected: "AA",
            hot_refresh,
            observed,
            now: at(second),
        });
        let due = found.reassert_at.map(|due| due.duration_since(at(0)).as_secs());
        (found.finding.status, found.finding.reason, due)
    }

    fn seen(checksum: Result<&str, &str>) -> Observed {
        let checksum = checksum.map(Into::into).map_err(Into::into);
        Observed {
            read_back: Some(ReadBack { at: at(0), checksum }),
            pending_since: Some(at(0)),
            ..Observed::default()
        }
    }

    #[test]
    fn only_the_same_checksum_is_loaded() {
        assert_eq!(
            ask(&Observed::default(), true, 0),
            (Status::Unknown, Reason::LoadPending, None)
        );
        assert_eq!(
            ask(&seen(Err("connection refused")), true, 0),
            (Status::Unknown, Reason::SchedulerUnreachable, None)
        );
        assert_eq!(
            ask(&seen(Ok("AA")), true, 0),
            (Status::True, Reason::Loaded, None)
        );
        assert_eq!(
            ask(&seen(Ok("AA")), false, 0),
            (Status::True, Reason::Loaded, None)
        );
        assert_eq!(
            ask(&seen(Ok("BB")), false, 0),
            (Status::False, Reason::HotRefreshDisabled, None)
        );
        assert_eq!(
            ask(&seen(Ok("BB")), true, 5),
            (Status::False, Reason::LoadPending, Some(30))
        );
    }

    #[test]
    fn one_reassertion_is_waited_for_and_then_it_is_a_refusal() {
        let mut observed = seen(Ok("BB"));
        observed.reasserts = 1;
        assert_eq!(
            ask(&observed, true, 29),
            (Status::False, Reason::LoadPending, Some(60))
        );
        assert_eq!(
            ask(&observed, true, 30),
            (Status::False, Reason::SchedulerRejected, Some(60))
        );
        observed.reasserts = 40;
        assert_eq!(
            ask(&observed, true, 0),
            (Status::False, Reason::SchedulerRejected, Some(600))
        );
    }
}
