//! The name of the text that answers point to.

use queuewarden_plan::snapshot::Snapshot;
use queuewarden_plan::{config_map_of, merged};

/// Returns the ConfigMap and key of the text that `YuniKorn` runs with: `yunikorn-configs/queues.yaml`.
/// Positions in it, as it is a generated text, would not help.
pub(super) fn in_force(snapshot: &Snapshot) -> String {
    let flat = merged(snapshot);
    let queues_key = flat.queues_key();
    let queues = flat.queues(&queues_key);
    match queues.origin.filter(|_| !queues.text.is_empty()) {
        None => "YuniKorn's built-in default".to_owned(),
        Some(origin) => format!("{}/{}", config_map_of(origin.source), origin.key),
    }
}
