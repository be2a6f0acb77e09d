//! The configuration as `YuniKorn` reads it now: both of its ConfigMaps merged as the shim merges them, the
//! source of the queue tree in force, and the text that the scheduler decides by.
//!
//! Usually the ConfigMaps hold that text. A scheduler that does not load a new text, or refuses one,
//! continues with the previous text, and reports about access must account for that. The checksum that the
//! scheduler reports decides; nothing is assumed.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::SignedDuration;

use crate::conditions::{Finding, Reason, Type};
use crate::effective::ParseCache;
use crate::effective::merged::{merged, queues_key, queues_text};
use crate::snapshot::Snapshot;
use yunikorn::Config;
use yunikorn::config::flatten::{self, Flattened};
use yunikorn::config::{BUILT_IN, checksum};

/// How long a scheduler that reports another text is considered to be loading the new one. Normally, loading
/// takes a moment.
pub(crate) const LOADING: SignedDuration = SignedDuration::from_secs(5);

/// The message if the scheduler runs an unknown text.
pub(crate) const UNSEEN: &str =
    "YuniKorn runs a different configuration than the ConfigMaps hold, and its text is unknown";

/// The text that the scheduler decides by, if it is known.
#[derive(Debug, Clone, Copy)]
pub struct SchedulerText<'s> {
    /// The text in the ConfigMaps, unless the scheduler reports another. An error if it reports a text that
    /// is unknown.
    pub text: Result<&'s str, &'static str>,
    /// The text that it was last observed to run.
    pub proven: Option<&'s str>,
}

impl<'s> SchedulerText<'s> {
    /// Takes the text from the snapshot; `flat` is [`crate::merged`] of it. A scheduler that is not or cannot
    /// be queried is assumed to follow the ConfigMaps, because it reads them when it starts.
    pub fn new(flat: &'s Flattened, snapshot: &'s Snapshot) -> Self {
        Self { text: text(flat, snapshot), proven: snapshot.observed.loaded_text.as_deref() }
    }

    /// Parses the text. If a running scheduler does not load it, parses the text that it was last observed to
    /// run.
    ///
    /// # Errors
    /// When the text is unknown, or when `read` fails for both.
    pub fn read<T>(&self, mut read: impl FnMut(&str) -> Result<T, String>) -> Result<T, String> {
        let text = self.text?;
        read(text).or_else(|refused| {
            self.proven.and_then(|proven| read(proven).ok()).ok_or_else(|| {
                format!(
                    "YuniKorn refuses the configuration, and the configuration that it runs is unknown: \
                         {refused}"
                )
            })
        })
    }
}

fn text<'s>(flat: &'s Flattened, snapshot: &'s Snapshot) -> Result<&'s str, &'static str> {
    let text = queues_text(snapshot, flat);
    let observed = &snapshot.observed;
    let Some(reported) = observed.reported() else { return Ok(text) };
    if loading(snapshot, flat) || *reported == checksum(text) {
        return Ok(text);
    }
    observed.loaded_text.as_deref().filter(|_| observed.reports_loaded_text()).ok_or(UNSEEN)
}

/// Returns whether a scheduler that reports a different text than the written one may still be loading the
/// written one.
pub(crate) fn loading(snapshot: &Snapshot, flat: &Flattened) -> bool {
    let observed = &snapshot.observed;
    let soon = observed.pending_since.is_none_or(|since| snapshot.now.duration_since(since) < LOADING);
    // The text was written again because it was not loaded the first time.
    flat.hot_refresh() && soon && observed.reasserts == 0
}

/// The source of the queue tree in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextSource {
    /// `data` of the output ConfigMap.
    Output,
    /// `binaryData` of the output ConfigMap, which takes precedence over its `data`.
    OutputBinary,
    /// `yunikorn-defaults`.
    Defaults,
    /// No ConfigMap: the built-in default.
    BuiltIn,
}

/// The configuration as `YuniKorn` reads it.
#[derive(Debug, Clone)]
pub(crate) struct EffectiveConfig {
    /// The key with the queue tree.
    pub key: String,
    /// The key that `service.policyGroup` names now, if the scheduler is not proven to read it yet.
    pub next_key: Option<String>,
    /// The source of the tree in force.
    pub source: TextSource,
    /// A `binaryData` key of the output that hides or empties `key`.
    pub shadow: Option<String>,
    /// The text in force, which is the built-in default if no text exists.
    pub text: String,
    /// Its checksum.
    pub checksum: String,
    /// Its queues, if it can be parsed.
    pub tree: Option<Arc<Config>>,
    /// The queues that the scheduler decides by now, or why they are unknown.
    pub runs: Result<Arc<Config>, String>,
    /// Why the scheduler refuses the text in force, if it does.
    pub refusal: Option<String>,
    /// Both ConfigMaps, merged.
    pub flat: Flattened,
}

impl EffectiveConfig {
    /// Merges the ConfigMaps of the snapshot.
    pub(crate) fn new(snapshot: &Snapshot, cache: &mut ParseCache) -> Self {
        let flat = merged(snapshot);
        let (key, next_key) = queues_key(snapshot, &flat);
        let shadow = flat.shadows(flatten::Source::Configs, &key).map(|origin| origin.key.clone());
        let queues = flat.queues(&key);
        let source = match queues.map(|queues| (queues.origin.source, queues.origin.binary)) {
            None => TextSource::BuiltIn,
            Some((flatten::Source::Configs, false)) => TextSource::Output,
            Some((flatten::Source::Configs, true)) => TextSource::OutputBinary,
            Some((flatten::Source::Defaults, _)) => TextSource::Defaults,
        };
        let text = queues.map_or(BUILT_IN, |queues| &queues.text).to_owned();
        let reading = cache.parse_live(&text);
        Self {
            refusal: reading.refusal.clone(),
            source,
            shadow,
            checksum: checksum(&text),
            runs: SchedulerText::new(&flat, snapshot).read(|text| cache.parse_accepted(text)),
            tree: reading.tree.clone(),
            text,
            next_key,
            key,
            flat,
        }
    }

    /// Returns the checksum of a text, which is nearly always the one in force.
    pub(crate) fn checksum_of(&self, text: &str) -> String {
        if text == self.text { self.checksum.clone() } else { checksum(text) }
    }

    /// Returns the partitions that the scheduler has now. A text without one of them makes it hang
    /// (yunikorn-core `partition_manager.go:168`). If it refuses a text, that text may lack a partition that
    /// it still has.
    pub(crate) fn active_partitions(&self) -> Vec<String> {
        let trees = self.tree.iter().chain(&self.runs);
        let names: BTreeSet<&str> = trees.flat_map(|tree| &tree.partitions).map(|p| &*p.name).collect();
        if names.is_empty() { vec!["default".into()] } else { names.into_iter().map(Into::into).collect() }
    }
}

/// Returns condition `Applied` if the base lacks an active partition: a text without it makes the scheduler
/// hang until it is restarted.
pub(crate) fn missing_partition(tree: &Config, env: &EffectiveConfig) -> Option<Finding> {
    // The scheduler distinguishes names by case (`GetNormalizedPartitionName`, yunikorn-core
    // `common/utils.go`); the validator does not.
    let has = |name: &&String| tree.partitions.iter().any(|partition| *partition.name == **name);
    let active = env.active_partitions();
    let missing: Vec<_> = active.iter().filter(|name| !has(name)).map(|n| format!("`{n}`")).collect();
    if missing.is_empty() {
        return None;
    }
    let message = format!(
        "the base lacks partition {}, which is active: the scheduler would hang on such a text. Restore it; \
         to remove it for good, stop the scheduler first",
        missing.join(", ")
    );
    Some(Finding::no(Type::Applied, Reason::PartitionMissing, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effective::merged::merged;
    use crate::snapshot::{ConfigMapState, NoChecksum, ReadBack};
    use std::sync::Arc;

    const OLD: &str = "partitions: [{name: default, queues: [{name: root, submitacl: '*'}]}]";
    const NEW: &str = "partitions: [{name: default, queues: [{name: root, submitacl: sue}]}]";

    /// Returns a cluster whose ConfigMaps hold `NEW` while the scheduler has been reporting another checksum
    /// for this many seconds.
    fn behind(seconds: i64, reported: Result<&str, &str>) -> Snapshot {
        let now = "2026-06-01T00:00:00Z".parse().unwrap();
        let mut snapshot = Snapshot::empty(now);
        let output =
            ConfigMapState { data: [("queues.yaml".into(), NEW.into())].into(), ..ConfigMapState::default() };
        snapshot.output = Some(Arc::new(output));
        let checksum = reported.map(checksum).map_err(NoChecksum::unreachable);
        snapshot.observed.read_back = Some(ReadBack { at: now, checksum });
        snapshot.observed.pending_since = now.checked_sub(SignedDuration::from_secs(seconds)).ok();
        snapshot.observed.loaded_text = Some(OLD.into());
        snapshot
    }

    fn refreshing(mut snapshot: Snapshot, on: bool) -> Snapshot {
        let output = Arc::make_mut(snapshot.output.as_mut().unwrap());
        output.data.insert("service.enableConfigHotRefresh".into(), on.to_string());
        snapshot
    }

    fn runs(snapshot: &Snapshot) -> Result<String, &'static str> {
        text(&merged(snapshot), snapshot).map(str::to_owned)
    }

    #[test]
    fn a_scheduler_that_reports_another_text_is_believed_once_it_had_time_to_load() {
        assert_eq!(runs(&behind(4, Ok(OLD))).as_deref(), Ok(NEW));
        assert_eq!(runs(&behind(5, Ok(OLD))).as_deref(), Ok(OLD));
        assert_eq!(runs(&behind(5, Ok(NEW))).as_deref(), Ok(NEW));
        assert_eq!(runs(&refreshing(behind(0, Ok(OLD)), false)).as_deref(), Ok(OLD));
        assert_eq!(runs(&refreshing(behind(0, Ok(OLD)), true)).as_deref(), Ok(NEW));
        let mut again = behind(0, Ok(OLD));
        again.observed.reasserts = 1;
        assert_eq!(runs(&again).as_deref(), Ok(OLD));
    }

    #[test]
    fn a_text_that_nobody_has_seen_is_not_guessed() {
        assert!(runs(&behind(5, Ok("something else"))).unwrap_err().contains("its text is unknown"));
        let mut unseen = behind(5, Ok(OLD));
        unseen.observed.loaded_text = None;
        assert!(runs(&unseen).is_err());
        assert!(SchedulerText::new(&merged(&unseen), &unseen).read(|text| Ok(text.to_owned())).is_err());
    }

    #[test]
    fn a_scheduler_that_is_not_asked_or_does_not_answer_follows_the_config_maps() {
        assert_eq!(runs(&behind(60, Err("connection refused"))).as_deref(), Ok(NEW));
        let mut unasked = behind(60, Ok(OLD));
        unasked.observed.read_back = None;
        assert_eq!(runs(&unasked).as_deref(), Ok(NEW));
    }

    #[test]
    fn what_was_seen_to_run_counts_where_the_text_is_refused() {
        let read = |text: &str, proven: Option<&str>| {
            let running = SchedulerText { text: Ok(text), proven };
            running.read(|text| if text.contains("  ") { Err(text.to_owned()) } else { Ok(text.to_owned()) })
        };
        assert_eq!(read("sue", None).as_deref(), Ok("sue"));
        assert_eq!(read("a  b", Some("bob")).as_deref(), Ok("bob"));
        for proven in [None, Some("c  d")] {
            assert!(read("a  b", proven).unwrap_err().ends_with("is unknown: a  b"));
        }
    }
}
