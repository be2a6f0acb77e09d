//! The configuration as `YuniKorn` reads it now: both of its ConfigMaps merged as the shim merges them, and
//! the source of the queue tree in force.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::ownership::managed_keys;
use super::parse_cache::ParseCache;
use super::planted::{PlantedFault, is_planted};
use super::running::Running;
use super::snapshot::{
    ConfigMapState, ConfigSpec, QUEUES_KEY, Snapshot, YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS,
};
use yunikorn::config::flatten::{self, ConfigMapData, Flattened, flatten};
use yunikorn::config::{BUILT_IN, Config, checksum};

/// The source of the queue tree in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
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
pub(super) struct Environment {
    /// The key with the queue tree.
    pub key: String,
    /// The key that `service.policyGroup` names by now, where the scheduler is not proven to read it yet.
    pub next_key: Option<String>,
    /// The source of the tree in force.
    pub source: Source,
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

impl Environment {
    /// Merges the ConfigMaps of the snapshot.
    pub(super) fn new(snapshot: &Snapshot, known: &mut ParseCache) -> Self {
        let flat = merged(snapshot);
        let (key, next_key) = queues_key(snapshot, &flat);
        let shadow = flat.shadows(flatten::Source::Configs, &key).map(|origin| origin.key.clone());
        let queues = flat.queues(&key);
        let origin = queues.origin.filter(|_| !queues.text.is_empty());
        let source = match origin.map(|origin| (origin.source, origin.binary)) {
            None => Source::BuiltIn,
            Some((flatten::Source::Configs, false)) => Source::Output,
            Some((flatten::Source::Configs, true)) => Source::OutputBinary,
            Some((flatten::Source::Defaults, _)) => Source::Defaults,
        };
        let text = or_built_in(queues.text).to_owned();
        let reading = known.of_live(&text);
        Self {
            refusal: reading.refusal.clone(),
            source,
            shadow,
            checksum: checksum(&text),
            runs: Running::new(&flat, snapshot).read(|text| known.taken(text)),
            tree: reading.tree.clone(),
            text,
            next_key,
            key,
            flat,
        }
    }

    /// Returns the checksum of a text, which nearly always is the one in force.
    pub(super) fn checksum_of(&self, text: &str) -> String {
        if text == self.text { self.checksum.clone() } else { checksum(text) }
    }

    /// Returns the partitions that the scheduler has now: a text without one of them hangs it (yunikorn-core
    /// `partition_manager.go:168`). A text that it refuses may lack one that it still has.
    pub(super) fn active_partitions(&self) -> Vec<String> {
        let trees = self.tree.iter().chain(&self.runs);
        let names: BTreeSet<&str> = trees.flat_map(|tree| &tree.partitions).map(|p| &*p.name).collect();
        if names.is_empty() { vec!["default".into()] } else { names.into_iter().map(Into::into).collect() }
    }
}

/// Merges both ConfigMaps of `YuniKorn` as it does.
pub fn merged(snapshot: &Snapshot) -> Flattened {
    flatten(&data(snapshot.defaults.as_deref()), &data(snapshot.output.as_deref()))
}

/// One ConfigMap as `YuniKorn` would read it alone, `binaryData` considered.
pub fn merged_alone(map: &ConfigMapState) -> Flattened {
    flatten(&ConfigMapData::default(), &data(Some(map)))
}

/// Returns the name of the ConfigMap that a source of [`merged`] is.
pub fn config_map_of(source: flatten::Source) -> &'static str {
    match source {
        flatten::Source::Defaults => YUNIKORN_DEFAULTS,
        flatten::Source::Configs => YUNIKORN_CONFIGS,
    }
}

/// The queue tree that `YuniKorn` should run now, no matter who wrote it; [`Running`](super::Running) is what
/// it does run.
pub fn text_in_force(snapshot: &Snapshot) -> String {
    queues_text(snapshot, &merged(snapshot)).to_owned()
}

/// The same, in the merged ConfigMaps.
pub(super) fn queues_text<'f>(snapshot: &Snapshot, flat: &'f Flattened) -> &'f str {
    or_built_in(flat.queues(&queues_key(snapshot, flat).0).text)
}

/// Returns the key that the scheduler reads its queues from, as far as that is proven, and the key that it
/// will read after a restart, if that is another one. It takes over a change of `service.policyGroup` only
/// when it starts (k8shim `schedulerconf.go`), so a change is followed once the scheduler reports the
/// checksum of what the new key holds.
pub(super) fn queues_key(snapshot: &Snapshot, flat: &Flattened) -> (String, Option<String>) {
    let named = flat.queues_key();
    let sum = |key: &str| checksum(or_built_in(flat.queues(key).text));
    match managed_key(snapshot, &named) {
        Some(key) if key != named && !is_planted(PlantedFault::GroupAtOnce) => {
            let (now, then) = (sum(&key), sum(&named));
            // It runs the built-in default also where the key that it reads was missing for a moment, until
            // it loads what is there again.
            let restarted =
                then != checksum(BUILT_IN) || has_run(snapshot, &now) || snapshot.observed.reasserts > 0;
            if now != then && snapshot.observed.reported() == Some(&then) && restarted {
                (named, None)
            } else {
                (key, Some(named))
            }
        }
        _ => (named, None),
    }
}

/// Returns whether the scheduler is known to have run the text with this checksum.
fn has_run(snapshot: &Snapshot, sum: &str) -> bool {
    snapshot.loaded_hash().is_some_and(|seen| seen == sum)
        || snapshot.observed.loaded_text.as_ref().is_some_and(|text| checksum(text) == sum)
}

/// The key with the queue tree that was written last, if one was; of several, the one that the output names,
/// or else `named`.
fn managed_key(snapshot: &Snapshot, named: &str) -> Option<String> {
    let output = snapshot.output.as_deref();
    let status = snapshot.config_status().and_then(|status| status.output.as_ref());
    let noted = output.and_then(|output| output.annotations.get(QUEUES_KEY)).map(String::as_str);
    let written = output.into_iter().flat_map(managed_keys);
    let remembered = status.into_iter().flat_map(|output| &output.keys).map(String::as_str);
    let keys: BTreeSet<&str> = written.chain(remembered).filter(|key| is_queues_key(key)).collect();
    let key = [noted, Some(named)].into_iter().flatten().find(|key| keys.contains(key));
    key.or(keys.first().copied()).map(str::to_owned)
}

/// Returns whether a key of the output holds a queue tree.
#[expect(clippy::case_sensitive_file_extension_comparisons, reason = "YuniKorn tells `.YAML` from `.yaml`")]
pub(super) fn is_queues_key(key: &str) -> bool {
    key.ends_with(".yaml")
}

/// Returns the text, or the built-in default for an empty one.
fn or_built_in(text: &str) -> &str {
    if text.is_empty() { BUILT_IN } else { text }
}

/// The text of `key` in one ConfigMap alone, `binaryData` considered.
pub(super) fn text_in(map: &ConfigMapState, key: &str) -> Option<String> {
    merged_alone(map).get(key).map(|value| value.text.clone()).filter(|text| !text.is_empty())
}

fn data(map: Option<&ConfigMapState>) -> ConfigMapData {
    let Some(map) = map else { return ConfigMapData::default() };
    ConfigMapData {
        data: map.data.clone(),
        binary_data: map.binary.iter().map(|(key, value)| (key.clone(), value.gunzipped.clone())).collect(),
    }
}

impl ConfigSpec {
    /// Returns the name of the ConfigMap that is written, as messages show it.
    pub(super) fn output_name(&self) -> String {
        config_map(self, &self.output_config_map)
    }

    /// Returns the name of the ConfigMap with the queue tree that people maintain, as messages show it.
    pub(super) fn base_name(&self) -> String {
        config_map(self, &self.base_config_map)
    }
}

/// `namespace/name`, as messages name a ConfigMap.
pub(super) fn config_map(spec: &ConfigSpec, name: &str) -> String {
    format!("ConfigMap {}/{name}", spec.namespace)
}
