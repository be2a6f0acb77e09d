//! Objects read from a cluster, as the current configuration or as the one the operator would make of a
//! change.

use std::sync::Arc;

use jiff::Timestamp;

use crate::cli::Failure;
use crate::cli::query::configuration::Written;
use crate::cli::query::rendered;
use crate::cli::query::texts::Text;
use crate::cli::query::{Notes, files};
use queuewarden_api::v1alpha1::SINGLETON;
use queuewarden_plan::attribution;
use queuewarden_plan::snapshot::{
    ConfigSpec, Entry, MANAGED_KEYS, Meta, QueueAclEntry, Snapshot, YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS,
};
use queuewarden_report::changes;
use yunikorn::config::Flattened;
use yunikorn::config::flatten::Source;

/// Settings and objects of a cluster.
pub(super) struct Objects {
    pub(super) spec: ConfigSpec,
    pub(super) snapshot: Snapshot,
}

impl Objects {
    /// Returns the current text of the ConfigMaps, which merge to `flat`, and who wrote which part of it.
    ///
    /// # Errors
    /// When the text is ambiguous.
    pub(super) fn written(&self, flat: &Flattened, notes: &mut Notes) -> Result<Written, Failure> {
        let (key, version) = (flat.queues_key(), self.snapshot.version());
        if flat.is_ambiguous(&key) {
            return Err(Failure::Undecided(format!(
                "several keys of one binaryData give {key} different values, of which YuniKorn takes one at \
                random"
            )));
        }
        let queues = flat.queues(&key);
        let Some(origin) = queues.origin.filter(|_| !queues.text.is_empty()) else {
            let text = files::built_in(&key, notes);
            return Ok(Written::text_alone(text, version));
        };
        let changes = changes(&self.snapshot);
        let map = match origin.source {
            Source::Defaults => YUNIKORN_DEFAULTS,
            Source::Configs => YUNIKORN_CONFIGS,
        };
        let text = located(map, &origin.key, queues.text.to_owned());
        if !self.is_ours(map, &origin.key) {
            return Ok(Written { changes, ..Written::text_alone(text, version) });
        }
        let attributions = attribution::in_force(&self.snapshot.queue_acls);
        let base = rendered::base(&self.snapshot, &self.spec, &key, located);
        Ok(Written { text, base, attributions, changes, version })
    }

    /// Returns what the operator would write after a change of the objects: now, or at another time.
    ///
    /// # Errors
    /// When it would write nothing.
    pub(super) fn changed(
        &self,
        change: &[Arc<QueueAclEntry>],
        now: Option<Timestamp>,
        notes: &mut Notes,
    ) -> Result<Written, Failure> {
        let mut snapshot = self.snapshot.clone();
        snapshot.now = now.unwrap_or(snapshot.now);
        snapshot.observed.release = snapshot.release().reported;
        rendered::apply(&mut snapshot.queue_acls, change);
        snapshot.config = Some(Entry {
            meta: Meta { name: SINGLETON.into(), ..Meta::default() },
            spec: Ok(ConfigSpec { scheduler: None, ..self.spec.clone() }),
            in_force: None,
        });
        rendered::written(&snapshot, &self.spec, located, notes)
    }

    /// Returns whether the operator wrote a key.
    fn is_ours(&self, map: &str, key: &str) -> bool {
        let annotations = self.snapshot.output.iter().filter(|output| output.name == map);
        annotations
            .filter_map(|output| output.annotations.get(MANAGED_KEYS))
            .any(|keys| keys.split(',').any(|managed| managed == key))
    }
}

fn located(map: &str, key: &str, text: String) -> Text {
    Text::whole(format!("{map}/{key}"), text)
}
