//! Reads the snapshot: the configuration in force, the base, and the texts that were written and run.

use std::sync::Arc;

use jiff::Timestamp;

use super::base::{self, Base};
use super::config::{EffectiveConfig, TextSource, missing_partition};
use super::loaded::{self, LoadedCondition, SchedulerQueues};
use super::parse_cache::{ParseCache, ParsedConfig};
use crate::conditions::{Finding, Reason, Type};
use crate::snapshot::{ConfigEntry, ConfigSpec, Mode, Snapshot};
use yunikorn::config::Config;

/// What was read of a snapshot, before any object is resolved.
pub(crate) struct ReadState<'a> {
    pub snapshot: &'a Snapshot,
    pub config: &'a ConfigEntry,
    pub spec: &'a ConfigSpec,
    pub env: EffectiveConfig,
    /// The base, or condition `BaseResolved` when there is none.
    pub base: Result<Base, Finding>,
    /// The base to render from: the last good one where the current base is invalid.
    pub from: Option<Base>,
    /// The text in the output under the key; `None` when there is none.
    pub current: Option<Arc<ParsedConfig>>,
    /// The text that this process wrote last under the key.
    pub written: Option<Arc<ParsedConfig>>,
    /// The text that the scheduler was last proven to run.
    pub proven: Option<Arc<ParsedConfig>>,
    pub loaded: LoadedCondition,
    /// Condition `Loaded` as objects see it, where it differs.
    pub uncertain: Option<Finding>,
    /// The text that the scheduler runs.
    pub runs: SchedulerQueues,
    /// The time to write the text again because the scheduler does not load it, where that is our task.
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
    let (has_url, ignored) = (spec.scheduler.is_some(), loaded::ignored(snapshot, &env));
    let loaded = loaded::loaded(has_url, &env.checksum, ignored, &snapshot.observed, snapshot.now);
    let mut runs = loaded::runs(snapshot, &env, &loaded.finding, cache);
    let mut uncertain = None;
    if spec.mode == Mode::Enforce && snapshot.is_fenced() && matches!(runs, SchedulerQueues::InForce) {
        let message =
            "another write of the output may still be accepted, so it is not certain which text is in force";
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
    /// Returns the queues that objects are resolved against: the base's, or the live ones if no base is
    /// known. `YuniKorn`'s built-in default is neither.
    ///
    /// # Errors
    /// The message of the missing base if there are none.
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
