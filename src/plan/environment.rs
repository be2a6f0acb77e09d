//! What `YuniKorn` sees now: both of its ConfigMaps merged as the shim merges them, and where the queue tree in force comes from.

use super::snapshot::{ConfigMapState, ConfigSpec, Snapshot};
use crate::model::config::flatten::{self, Layer};
use crate::model::config::{DEFAULT_CONFIG, Tree, checksum, verdict};

/// Where the queue tree in force comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// `data` of the output ConfigMap.
    Output,
    /// A `binaryData` key of the output ConfigMap, which beats its `data`.
    OutputBinary(String),
    /// `yunikorn-defaults`.
    Defaults,
    /// Nowhere: the built-in default.
    BuiltIn,
}

/// What `YuniKorn` sees.
#[derive(Debug, Clone)]
pub(super) struct Environment {
    /// The key with the queue tree: `<service.policyGroup>.yaml`.
    pub key: String,
    /// Whether a new text is taken without a restart.
    pub hot_refresh: bool,
    /// Where the tree in force comes from.
    pub source: Source,
    /// A `binaryData` key of the output that hides or blanks `key`.
    pub shadow: Option<String>,
    /// The text in force; the built-in default where there is none.
    pub text: String,
    /// Its checksum.
    pub checksum: String,
    /// Its queues, if it can be read.
    pub tree: Option<Tree>,
}

impl Environment {
    /// Merges the ConfigMaps of the snapshot.
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let defaults = snapshot.defaults.as_ref();
        let output = snapshot.output.as_ref();
        let flat = flatten::flatten(defaults, output);
        let key = flat.queues_key();
        let found = flat.get(&key);
        let shadow = found.and_then(|value| (value.layer == Layer::ConfigsBinary).then(|| value.from.clone()));
        let text = found.map(|value| value.text.clone()).filter(|text| !text.is_empty());
        let source = match (&text, found.map(|value| value.layer)) {
            (None, _) | (_, None) => Source::BuiltIn,
            (_, Some(Layer::Configs)) => Source::Output,
            (_, Some(Layer::ConfigsBinary)) => Source::OutputBinary(shadow.clone().unwrap_or_default()),
            (_, Some(Layer::Defaults | Layer::DefaultsBinary)) => Source::Defaults,
        };
        let text = text.unwrap_or_else(|| DEFAULT_CONFIG.to_string());
        Self {
            hot_refresh: flat.hot_refresh(),
            source,
            shadow,
            checksum: checksum(&text),
            tree: verdict(&text, &[]).tree,
            text,
            key,
        }
    }

    /// The partitions that the scheduler has now: a text without one of them hangs it (yunikorn-core `partition_manager.go:168`).
    pub(super) fn active_partitions(&self) -> Vec<String> {
        let mut names: Vec<String> = self.tree.iter().flat_map(Tree::partitions).map(|p| p.name.clone()).collect();
        if names.is_empty() {
            names.push("default".into());
        }
        names
    }
}

/// The text of `key` in one ConfigMap alone, `binaryData` considered.
pub(super) fn text_in(map: &ConfigMapState, key: &str) -> Option<String> {
    flatten::flatten(None, Some(map)).get(key).map(|value| value.text.clone()).filter(|text| !text.is_empty())
}

/// `namespace/name`, as messages name a ConfigMap.
pub(super) fn config_map(spec: &ConfigSpec, name: &str) -> String {
    format!("ConfigMap {}/{name}", spec.namespace)
}
