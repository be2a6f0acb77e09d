//! Reads the snapshot: the configuration in force, the base, the texts that were written and run, and
//! condition `Loaded`.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::budget::doubled;
use crate::conditions::{Finding, Reason, Status, Type};
use crate::effective::config::loading;
use crate::effective::{
    Base, EffectiveConfig, ParseCache, ParsedConfig, TextSource, base, missing_partition,
};
use crate::snapshot::{
    ConfigEntry, ConfigSpec, Mode, NoChecksum, Observed, Snapshot, YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS,
};
use yunikorn::Config;

/// The longest time that a reload may take before it is considered failed.
pub(crate) const PATIENCE: SignedDuration = SignedDuration::from_secs(30);
/// Maximum number of unreadable settings in a message.
const SHOWN: usize = 3;
/// The longest time between two attempts to make the scheduler load the text.
const LONGEST: SignedDuration = SignedDuration::from_mins(10);

/// The message if no scheduler is queried.
const NOT_VERIFIED: &str = "it is not verified that the scheduler runs it: with spec.schedulerUrl of \
                            YuniKornConfig `default`, queuewarden can compare";

/// The result of the comparison.
pub(crate) struct LoadedCondition {
    /// Condition `Loaded`.
    pub finding: Finding,
    /// When to write the text again under a new revision, if it is not loaded until then.
    pub reassert_at: Option<Timestamp>,
}

/// Compares the scheduler's report with `expected`, the checksum of the text that it should run. `ignored`
/// explains why a running scheduler loads no text from the ConfigMaps, if that is known.
pub(crate) fn loaded(
    has_url: bool,
    expected: &str,
    ignored: Option<(Reason, String)>,
    observed: &Observed,
    now: Timestamp,
) -> LoadedCondition {
    let checksum = observed.read_back.as_ref().map(|read_back| &read_back.checksum);
    let finding = match (checksum, ignored) {
        (_, Some((reason, why))) if !has_url => {
            Finding::no(Type::Loaded, reason, format!("the scheduler accepts no new configuration: {why}"))
        }
        _ if !has_url => Finding::unknown(Type::Loaded, Reason::NotVerified, NOT_VERIFIED),
        (None, _) => {
            Finding::unknown(Type::Loaded, Reason::LoadPending, "the scheduler has not been queried yet")
        }
        (Some(Err(NoChecksum { reason, message })), _) => {
            Finding::unknown(Type::Loaded, *reason, message.clone())
        }
        (Some(Ok(actual)), _) if actual == expected => {
            let message = "the scheduler runs the configuration in the ConfigMaps";
            Finding::yes(Type::Loaded, Reason::Loaded, message)
        }
        (Some(Ok(_)), Some((reason, why))) => {
            let message =
                format!("the scheduler runs a different configuration and accepts no new one: {why}");
            Finding::no(Type::Loaded, reason, message)
        }
        (Some(Ok(_)), None) => return not_taken(observed, now),
    };
    LoadedCondition { finding, reassert_at: None }
}

/// The text that the scheduler runs.
#[derive(Debug, Clone)]
pub(crate) enum SchedulerQueues {
    /// The text in force, according to everything that is known.
    InForce,
    /// Another text.
    Other {
        /// Its queues.
        tree: Arc<Config>,
        /// True if the scheduler was the last to report it, but may have loaded another one since.
        reported: bool,
    },
    /// It is unknown.
    Unknown,
}

/// Finds the text that the scheduler runs; `loaded` is condition `Loaded`.
pub(crate) fn runs(
    snapshot: &Snapshot,
    env: &EffectiveConfig,
    loaded: &Finding,
    cache: &mut ParseCache,
) -> SchedulerQueues {
    if loaded.status == Status::True || loaded.reason == Reason::NotVerified {
        return SchedulerQueues::InForce;
    }
    let observed = &snapshot.observed;
    // A scheduler that cannot be queried is assumed to run the text that it was last observed to run.
    let assumed = loaded.status == Status::Unknown && snapshot.loaded_hash() == Some(&env.checksum);
    let (text, reported) = if assumed {
        (Some(&env.text), true)
    } else {
        (observed.loaded_text.as_ref(), observed.reports_loaded_text())
    };
    let text = text.filter(|_| reported || observed.reported().is_none() || loading(snapshot, &env.flat));
    let tree = text.and_then(|text| cache.parse_live(text).tree.clone());
    tree.map_or(SchedulerQueues::Unknown, |tree| SchedulerQueues::Other { tree, reported })
}

/// Explains why a running scheduler loads no text of the output, regardless of its content. A scheduler that
/// is queried is observed to read a particular key, even if `service.policyGroup` names another.
pub(crate) fn ignored(snapshot: &Snapshot, env: &EffectiveConfig) -> Option<(Reason, String)> {
    let spec = snapshot.spec()?;
    if !env.flat.hot_refresh() {
        let why = "`service.enableConfigHotRefresh` is off; set it to \"true\" and restart the scheduler";
        return Some((Reason::HotRefreshDisabled, why.into()));
    }
    let unreadable = env.flat.unreadable(snapshot.version()).take(SHOWN);
    let unreadable: Vec<_> = unreadable.map(|(key, _)| format!("`{key}`")).collect();
    let why = if spec.output_config_map != YUNIKORN_CONFIGS {
        format!(
            "YuniKorn reads ConfigMaps {YUNIKORN_DEFAULTS} and {YUNIKORN_CONFIGS}, but spec.output names `{}`",
            spec.output_config_map
        )
    } else if !unreadable.is_empty() {
        let keys = unreadable.join(", ");
        format!("it cannot read the value of {keys} and ignores every change until that is corrected")
    } else if let Some(next) = env.next_key.as_ref().filter(|_| spec.scheduler.is_none()) {
        format!(
            "`service.policyGroup` names key `{next}`, which YuniKorn reads only after a restart; key `{}` \
             is kept up to date",
            env.key
        )
    } else {
        format!("YuniKorn refuses the text: {}", env.refusal.as_ref()?)
    };
    Some((Reason::NotRead, why))
}

/// Returns the result for a scheduler that runs another text although it should have loaded the new one.
fn not_taken(observed: &Observed, now: Timestamp) -> LoadedCondition {
    let since = observed.pending_since.unwrap_or(now);
    let reassert_at = since.checked_add(doubled(PATIENCE, observed.reasserts, LONGEST)).ok();
    let patient =
        observed.reasserts == 0 || (observed.reasserts == 1 && now.duration_since(since) < PATIENCE);
    let finding = if patient {
        Finding::no(Type::Loaded, Reason::LoadPending, "written, but not yet loaded by the scheduler")
    } else {
        Finding::no(
            Type::Loaded,
            Reason::SchedulerRejected,
            "the scheduler still runs a different configuration: it refused this one (look for \"reload \
             configuration failed\" in its log), hot refresh was off when it started, or the URL leads to a \
             different scheduler",
        )
    };
    LoadedCondition { finding, reassert_at }
}

/// The data read from a snapshot, before any object is resolved.
pub(crate) struct ReadState<'a> {
    pub snapshot: &'a Snapshot,
    pub config: &'a ConfigEntry,
    pub spec: &'a ConfigSpec,
    pub env: EffectiveConfig,
    /// The base, or condition `BaseResolved` if no base is available.
    pub base: Result<Base, Finding>,
    /// The base to render from, which is the last good one if the current base is invalid.
    pub from: Option<Base>,
    /// The text under the key in the output; `None` if the key does not exist.
    pub current: Option<Arc<ParsedConfig>>,
    /// The text that this process wrote last under the key.
    pub written: Option<Arc<ParsedConfig>>,
    /// The text that the scheduler was last proven to run.
    pub proven: Option<Arc<ParsedConfig>>,
    pub loaded: LoadedCondition,
    /// Condition `Loaded` as objects see it, if it differs.
    pub uncertain: Option<Finding>,
    /// The text that the scheduler runs.
    pub runs: SchedulerQueues,
    /// When to write the text again because the scheduler does not load it, if that is up to us.
    pub reassert_at: Option<Timestamp>,
}

/// Reads the snapshot; `None` without a `YuniKornConfig` that can be read.
pub(crate) fn read<'a>(snapshot: &'a Snapshot, cache: &mut ParseCache) -> Option<ReadState<'a>> {
    let config = snapshot.config.as_ref()?;
    let spec = config.spec.as_ref().ok()?;
    let env = EffectiveConfig::new(snapshot, cache);
    let base = base::resolve(snapshot, spec, &env, cache);
    let usable = base.as_ref().is_ok_and(|base| missing_partition(&base.tree, &env).is_none());
    let last = if usable { None } else { base::last(snapshot, cache) };
    let from = last.or_else(|| base.as_ref().ok().cloned());
    let mut parse = |text: Option<&String>| text.map(|text| cache.parse_live(text));
    let current = parse(snapshot.output_text(&env.key));
    let written = snapshot.observed.written.as_ref().filter(|written| written.key == env.key);
    let written = parse(written.map(|written| &written.text));
    let proven = parse(snapshot.observed.loaded_text.as_ref());
    let (has_url, ignored) = (spec.scheduler.is_some(), ignored(snapshot, &env));
    let loaded = loaded(has_url, &env.checksum, ignored, &snapshot.observed, snapshot.now);
    let mut runs = runs(snapshot, &env, &loaded.finding, cache);
    let mut uncertain = None;
    if spec.mode == Mode::Enforce && snapshot.is_fenced() && matches!(runs, SchedulerQueues::InForce) {
        let message = "a different write of the output may still be accepted, so it is uncertain which text is in force";
        uncertain = Some(Finding::unknown(Type::Loaded, Reason::LoadPending, message));
        let other = |tree| SchedulerQueues::Other { tree, reported: false };
        runs = env.tree.clone().map_or(SchedulerQueues::Unknown, other);
    }
    let ours = spec.mode == Mode::Enforce && env.source == TextSource::Output;
    let reassert_at = loaded.reassert_at.filter(|_| ours);
    Some(ReadState {
        snapshot,
        config,
        spec,
        env,
        base,
        from,
        current,
        written,
        proven,
        loaded,
        uncertain,
        runs,
        reassert_at,
    })
}

impl ReadState<'_> {
    /// Returns the queues that objects are resolved against: the base's or, if no base is known, the live
    /// ones. `YuniKorn`'s built-in default is not used.
    ///
    /// # Errors
    /// The message about the missing base if there are no queues.
    pub(crate) fn queues(&self) -> Result<&Config, &str> {
        let live = self.env.tree.as_deref().filter(|_| self.env.source != TextSource::BuiltIn);
        let tree = self.from.as_ref().map(|base| &*base.tree).or(live);
        tree.ok_or_else(|| self.base.as_ref().err().map_or("", |finding| &*finding.message))
    }

    /// Returns the queues of the text in the output.
    pub(crate) fn current_tree(&self) -> Option<&Config> {
        self.current.as_ref()?.tree.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::ReadBack;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    fn ask(observed: &Observed, hot_refresh: bool, second: i64) -> (Status, Reason, Option<i64>) {
        let ignored = (!hot_refresh).then(|| (Reason::HotRefreshDisabled, "it is off".to_owned()));
        let found = loaded(true, "AA", ignored, observed, at(second));
        let due = found.reassert_at.map(|due| due.duration_since(at(0)).as_secs());
        (found.finding.status, found.finding.reason, due)
    }

    fn seen(checksum: Result<&str, &str>) -> Observed {
        let checksum = checksum.map(Into::into).map_err(NoChecksum::unreachable);
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
