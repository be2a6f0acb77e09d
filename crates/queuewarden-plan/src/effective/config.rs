//! The configuration as `YuniKorn` reads it now: both of its ConfigMaps merged as the shim merges them, and
//! the source of the queue tree in force.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::conditions::{Finding, Reason, Type};
use crate::effective::merged::{merged, queues_key};
use crate::effective::parse_cache::ParseCache;
use crate::effective::scheduler::SchedulerText;
use crate::snapshot::Snapshot;
use yunikorn::config::flatten::{self, Flattened};
use yunikorn::config::{BUILT_IN, Config, checksum};

/// The source of the queue tree in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextSource {
    /// `data` of the output ConfigMap.
    Output,
    /// `binaryData` of the output ConfigMap, which beats its `data`.
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
    /// The key that `service.policyGroup` names by now, where the scheduler is not proven to read it yet.
    pub next_key: Option<String>,
    /// The source of the tree in force.
    pub source: TextSource,
    /// A `binaryData` key of the output that hides or empties `key`.
    pub shadow: Option<String>,
    /// The text in force; the built-in default where there is none.
    pub text: String,
    /// Its checksum.
    pub checksum: String,
    /// Its queues, if it can be read.
    pub tree: Option<Arc<Config>>,
    /// The queues by which the scheduler decides now, or why they are unknown.
    pub runs: Result<Arc<Config>, String>,
    /// The refusal of the text in force, where a scheduler does not take it over.
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

    /// Returns the checksum of a text, which nearly always is the one in force.
    pub(crate) fn checksum_of(&self, text: &str) -> String {
        if text == self.text { self.checksum.clone() } else { checksum(text) }
    }

    /// Returns the partitions that the scheduler has now: a text without one of them hangs it (yunikorn-core
    /// `partition_manager.go:168`). A text that it refuses may lack one that it still has.
    pub(crate) fn active_partitions(&self) -> Vec<String> {
        let trees = self.tree.iter().chain(&self.runs);
        let names: BTreeSet<&str> = trees.flat_map(|tree| &tree.partitions).map(|p| &*p.name).collect();
        if names.is_empty() { vec!["default".into()] } else { names.into_iter().map(Into::into).collect() }
    }
}

/// Returns condition `Applied` if the base lacks an active partition: a text without it hangs the scheduler
/// until it is restarted.
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
        "the base lacks partition {}, which is active: the scheduler would hang on such a text. Bring it back; to remove \
         it for good, stop the scheduler first",
        missing.join(", ")
    );
    Some(Finding::no(Type::Applied, Reason::PartitionMissing, message))
}
