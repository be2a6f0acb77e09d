//! Names of the texts that answers point to.

use queuewarden_api::answer::{Location, Texts};
use queuewarden_plan::merged;
use queuewarden_plan::snapshot::{Snapshot, YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS};
use yunikorn::config::flatten::Source;
use yunikorn_access::tree::Origin;

/// The text that `YuniKorn` runs with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InForce {
    name: String,
}

impl InForce {
    /// Returns the text with the ConfigMap and key that it comes from: `yunikorn-configs/queues.yaml`.
    pub(super) fn from_snapshot(snapshot: &Snapshot) -> Self {
        let flat = merged(snapshot);
        let queues_key = flat.queues_key();
        let queues = flat.queues(&queues_key);
        let name = match queues.origin.filter(|_| !queues.text.is_empty()) {
            None => "YuniKorn's built-in default".to_owned(),
            Some(origin) => match origin.source {
                Source::Defaults => format!("{YUNIKORN_DEFAULTS}/{}", origin.key),
                Source::Configs => format!("{YUNIKORN_CONFIGS}/{}", origin.key),
            },
        };
        Self { name }
    }
}

impl Texts for InForce {
    fn name(&self) -> &str {
        &self.name
    }

    /// Returns the file of an entry without a position, because positions in a generated text do not help;
    /// `None` for an entry of an object.
    fn locate(&self, origin: &Origin) -> Option<Location> {
        match origin {
            Origin::Object { .. } => None,
            Origin::Text(_) => Some(Location { file: self.name.clone(), position: None }),
        }
    }
}
