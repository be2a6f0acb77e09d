//! The changes of ConfigMaps that a plan makes, and the limit on their size.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::effective::is_queues_key;
use crate::grants::Attribution;
use crate::snapshot::{ConfigMapState, FIELD_MANAGER, QueueAclInForce};

/// A ConfigMap to create.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct NewConfigMap {
    /// `metadata.name`, in the configured namespace.
    pub name: String,
    /// `metadata.annotations`
    pub annotations: BTreeMap<String, String>,
    /// `data`
    pub data: BTreeMap<String, String>,
}

/// A change of the output ConfigMap. Keys that are not listed do not change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "the flags are independent")]
pub struct Write {
    /// Name of the ConfigMap.
    pub name: String,
    /// The precondition: `None` creates the ConfigMap and fails if it exists.
    pub resource_version: Option<String>,
    /// `data` keys to set (`Some`) or to remove (`None`).
    pub data: BTreeMap<String, Option<String>>,
    /// `metadata.annotations` to set.
    pub annotations: BTreeMap<String, String>,
    /// The annotation [`IN_FORCE`](crate::snapshot::IN_FORCE) to set; `None` does not change it.
    pub in_force: Option<BTreeMap<String, Option<QueueAclInForce>>>,
    /// True if it reverts a change by someone else. Such writes are rate-limited.
    pub repair: bool,
    /// True if it writes the same text again with a new revision, because the scheduler did not load it.
    pub reassert: bool,
    /// True if it grants someone more than the current text does. Such writes are rate-limited.
    pub widens: bool,
    /// True if its text is the current one with only withdrawals applied, rather than the full text.
    pub partial: bool,
    /// The objects that make the difference, and other reasons for its text, for the history.
    pub causes: Vec<String>,
    /// Which objects decide which ACLs of the full text, with the ends of their grants.
    pub contributions: Arc<[Attribution]>,
}

impl Write {
    /// Returns the queue tree that it sets, with its key.
    pub(crate) fn queue_tree(&self) -> Option<(&String, &String)> {
        let mut set = self.data.iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        set.find(|(key, _)| is_queues_key(key))
    }

    /// Returns the access keys of the admission controller that it sets or removes.
    pub(crate) fn admission(&self) -> impl Iterator<Item = (&String, Option<&String>)> {
        let keys = self.data.iter().filter(|(key, _)| yunikorn::admission::KEYS.contains(&key.as_str()));
        keys.map(|(key, value)| (key, value.as_ref()))
    }

    /// Returns the other managers that own its keys in `map`, without duplicates.
    pub(crate) fn other_writers(&self, map: Option<&ConfigMapState>) -> Vec<String> {
        let owners = map.into_iter().flat_map(|map| self.data.keys().filter_map(|key| map.owners.get(key)));
        let managers = owners.flatten().map(|owner| owner.manager.as_str());
        let others: BTreeSet<_> = managers.filter(|manager| *manager != FIELD_MANAGER).collect();
        others.into_iter().map(str::to_owned).collect()
    }
}

/// Kubernetes' limit on the total size of a ConfigMap's values, in bytes.
pub const MAX_BYTES: usize = 1024 * 1024;

/// The size in bytes above which the condition warns.
pub const WARN_BYTES: usize = 900 * 1024;

/// Returns the total bytes of the output ConfigMap's values after `changes`, which [`MAX_BYTES`] limits.
pub fn size_after(output: Option<&ConfigMapState>, changes: &BTreeMap<String, Option<String>>) -> usize {
    let kept = output
        .into_iter()
        .flat_map(|o| &o.data)
        .filter(|(key, _)| !changes.contains_key(*key))
        .map(|(_, v)| v.len());
    let binary = output.into_iter().flat_map(|o| o.binary.values()).map(|value| value.len);
    let new = changes.values().flatten().map(String::len);
    kept.chain(binary).chain(new).sum()
}

/// Returns the number of bytes available for the queue tree under `key`, given the other values.
pub(crate) fn room(output: Option<&ConfigMapState>, key: &str) -> usize {
    let others = size_after(output, &BTreeMap::from([(key.to_owned(), None)]));
    MAX_BYTES.saturating_sub(others)
}
