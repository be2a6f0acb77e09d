//! The size of the output ConfigMap.

use std::collections::BTreeMap;

use crate::snapshot::ConfigMapState;

/// Kubernetes' limit for the values of a ConfigMap together, in bytes.
pub const MAX_BYTES: usize = 1024 * 1024;

/// The size from which on the condition warns, in bytes.
pub const WARN_BYTES: usize = 900 * 1024;

/// Returns the bytes of all values of the output ConfigMap once `changes` are made: [`MAX_BYTES`] limits
/// them.
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

/// Returns the bytes that are left for the queue tree under `key` beside the other values.
pub(crate) fn room(output: Option<&ConfigMapState>, key: &str) -> usize {
    let others = size_after(output, &BTreeMap::from([(key.to_owned(), None)]));
    MAX_BYTES.saturating_sub(others)
}
