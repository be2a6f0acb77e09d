//! Compares the text that the scheduler runs with the ConfigMaps, by the checksum that the scheduler reports;
//! it is never assumed.

use jiff::{SignedDuration, Timestamp};

use super::budget::doubled;
use super::conditions::{Finding, Reason, Type};
use super::environment::Environment;
use super::snapshot::{ConfigSpec, Observed, ReadBack, YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS};

/// The longest time that a reload may take before it counts as failed.
pub(super) const PATIENCE: SignedDuration = SignedDuration::from_secs(30);
/// Most unreadable settings that a message names.
const SHOWN: usize = 3;
/// The longest time between two attempts to make the scheduler take the text.
const LONGEST: SignedDuration = SignedDuration::from_mins(10);

/// The message where no scheduler is queried.
const NOT_VERIFIED: &str = "whether the scheduler runs it is not verified: spec.schedulerUrl of YuniKornConfig `default` lets \
                            queuewarden compare";

/// The result of the comparison.
pub(super) struct Answer {
    /// Condition `Loaded`.
    pub finding: Finding,
    /// The time to write the text again under a new revision, if it is not loaded until then.
    pub reassert_at: Option<Timestamp>,
}

/// Compares what the scheduler reports with `expected`, the checksum of the text that it should run. `ignored` is
/// why a running scheduler loads no text from the ConfigMaps, where that is known.
pub(super) fn answer(
    has_url: bool,
    expected: &str,
    ignored: Option<(Reason, String)>,
    observed: &Observed,
    now: Timestamp,
) -> Answer {
    let told = |finding| Answer { finding, reassert_at: None };
    if !has_url {
        return told(match ignored {
            Some((reason, why)) => {
                Finding::no(Type::Loaded, reason, format!("the scheduler takes no new configuration: {why}"))
            }
            None => Finding::unknown(Type::Loaded, Reason::NotVerified, NOT_VERIFIED),
        });
    }
    match (&observed.read_back, ignored) {
        (None, _) => {
            told(Finding::unknown(Type::Loaded, Reason::LoadPending, "the scheduler has not been asked yet"))
        }
        (Some(ReadBack { checksum: Err(error), .. }), _) => {
            let message = format!("the scheduler does not answer: {error}");
            told(Finding::unknown(Type::Loaded, Reason::SchedulerUnreachable, message))
        }
        (Some(ReadBack { checksum: Ok(actual), .. }), _) if actual == expected => told(Finding::yes(
            Type::Loaded,
            Reason::Loaded,
            "the scheduler runs the configuration of the ConfigMaps",
        )),
        (Some(_), Some((reason, why))) => told(Finding::no(
            Type::Loaded,
            reason,
            format!("the scheduler runs another configuration and takes no new one: {why}"),
        )),
        (Some(_), None) => not_taken(observed, now),
    }
}

/// Returns why a running scheduler loads no text of the output, whatever is written there. A scheduler that
/// is queried reads the key that it is observed to read, whichever `service.policyGroup` names.
pub(super) fn ignored(env: &Environment, spec: &ConfigSpec) -> Option<(Reason, String)> {
    if !env.hot_refresh {
        let why = "`service.enableConfigHotRefresh` is off; set it to \"true\" and restart the scheduler";
        return Some((Reason::HotRefreshDisabled, why.into()));
    }
    let unreadable = env.flat.unreadable().into_iter().take(SHOWN);
    let unreadable: Vec<_> = unreadable.map(|(key, _)| format!("`{key}`")).collect();
    let why = if spec.output_config_map != YUNIKORN_CONFIGS {
        format!(
            "YuniKorn reads ConfigMaps {YUNIKORN_DEFAULTS} and {YUNIKORN_CONFIGS}, and spec.output names `{}`",
            spec.output_config_map
        )
    } else if !unreadable.is_empty() {
        let keys = unreadable.join(", ");
        format!("it cannot read the value of {keys}, and ignores every change until that is corrected")
    } else if let Some(next) = env.next_key.as_ref().filter(|_| spec.scheduler_url.is_none()) {
        format!(
            "`service.policyGroup` names key `{next}`, which YuniKorn reads once it is restarted, and key `{}` is kept up",
            env.key
        )
    } else {
        format!("YuniKorn refuses the text: {}", env.refusal.as_ref()?)
    };
    Some((Reason::NotRead, why))
}

/// Returns the result for a scheduler that runs another text although it should have loaded the new one.
fn not_taken(observed: &Observed, now: Timestamp) -> Answer {
    let since = observed.pending_since.unwrap_or(now);
    let times = usize::try_from(observed.reasserts).unwrap_or(usize::MAX);
    let reassert_at = since.checked_add(doubled(PATIENCE, times, LONGEST)).ok();
    let patient =
        observed.reasserts == 0 || (observed.reasserts == 1 && now.duration_since(since) < PATIENCE);
    let finding = if patient {
        Finding::no(Type::Loaded, Reason::LoadPending, "written, and not yet loaded by the scheduler")
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
    use crate::conditions::Status;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    fn ask(observed: &Observed, hot_refresh: bool, second: i64) -> (Status, Reason, Option<i64>) {
        let ignored = (!hot_refresh).then(|| (Reason::HotRefreshDisabled, "it is off".to_owned()));
        let found = answer(true, "AA", ignored, observed, at(second));
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
        assert_eq!(ask(&Observed::default(), true, 0), (Status::Unknown, Reason::LoadPending, None));
        assert_eq!(
            ask(&seen(Err("connection refused")), true, 0),
            (Status::Unknown, Reason::SchedulerUnreachable, None)
        );
        assert_eq!(ask(&seen(Ok("AA")), true, 0), (Status::True, Reason::Loaded, None));
        assert_eq!(ask(&seen(Ok("AA")), false, 0), (Status::True, Reason::Loaded, None));
        assert_eq!(ask(&seen(Ok("BB")), false, 0), (Status::False, Reason::HotRefreshDisabled, None));
        assert_eq!(ask(&seen(Ok("BB")), true, 5), (Status::False, Reason::LoadPending, Some(30)));
    }

    #[test]
    fn one_reassertion_is_waited_for_and_then_it_is_a_refusal() {
        let mut observed = seen(Ok("BB"));
        observed.reasserts = 1;
        assert_eq!(ask(&observed, true, 29), (Status::False, Reason::LoadPending, Some(60)));
        assert_eq!(ask(&observed, true, 30), (Status::False, Reason::SchedulerRejected, Some(60)));
        observed.reasserts = 40;
        assert_eq!(ask(&observed, true, 0), (Status::False, Reason::SchedulerRejected, Some(600)));
    }
}
