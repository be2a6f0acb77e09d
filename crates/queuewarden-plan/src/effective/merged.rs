//! Both ConfigMaps of `YuniKorn`, merged as the shim merges them, the key with the queue tree, and the owners
//! of the output's keys.
//!
//! `managedFields` alone does not show who owns a key, because a single `kubectl edit` moves a key to another
//! manager. The keys that we wrote are therefore recorded in an annotation on the same ConfigMap, and in the
//! status of the `YuniKornConfig` together with the ConfigMap's uid.

use std::collections::BTreeSet;

use crate::planted::{PlantedFault, is_planted};
use crate::snapshot::{
    ConfigMapState, ConfigStatus, FIELD_MANAGER, KeyOwner, MANAGED_KEYS, QUEUE_OPERATOR, QUEUES_KEY,
    Snapshot, YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS,
};
use yunikorn::config::flatten::{self, ConfigMapData, Flattened, flatten};
use yunikorn::config::{BUILT_IN, checksum};

/// Merges both ConfigMaps of `YuniKorn` as the shim does.
pub fn merged(snapshot: &Snapshot) -> Flattened {
    flatten(&data(snapshot.defaults.as_deref()), &data(snapshot.output.as_deref()))
}

/// One ConfigMap as `YuniKorn` would read it alone, including `binaryData`.
pub fn merged_alone(map: &ConfigMapState) -> Flattened {
    flatten(&ConfigMapData::default(), &data(Some(map)))
}

/// Returns the name of the ConfigMap for a source of [`merged`].
pub fn config_map_of(source: flatten::Source) -> &'static str {
    match source {
        flatten::Source::Defaults => YUNIKORN_DEFAULTS,
        flatten::Source::Configs => YUNIKORN_CONFIGS,
    }
}

/// The queue tree that `YuniKorn` should run now, regardless of who wrote it;
/// [`SchedulerText`](crate::Running) is the text that it actually runs.
pub fn text_in_force(snapshot: &Snapshot) -> String {
    queues_text(snapshot, &merged(snapshot)).to_owned()
}

/// The same, in the merged ConfigMaps.
pub(crate) fn queues_text<'f>(snapshot: &Snapshot, flat: &'f Flattened) -> &'f str {
    flat.queues(&queues_key(snapshot, flat).0).map_or(BUILT_IN, |queues| &queues.text)
}

/// Returns the key that the scheduler is proven to read its queues from, and, if different, the key that it
/// will read after a restart. The scheduler applies a change of `service.policyGroup` only when it starts
/// (k8shim `schedulerconf.go`), so the change is followed once it reports the checksum of the new key's
/// content.
pub(crate) fn queues_key(snapshot: &Snapshot, flat: &Flattened) -> (String, Option<String>) {
    let named = flat.queues_key();
    let sum = |key: &str| checksum(flat.queues(key).map_or(BUILT_IN, |queues| &queues.text));
    match managed_key(snapshot, &named) {
        Some(key) if key != named && !is_planted(PlantedFault::GroupAtOnce) => {
            let (now, then) = (sum(&key), sum(&named));
            // The scheduler also runs the built-in default if the key that it reads was missing for a moment,
            // until it loads the key again.
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

/// The key of the queue tree that was written last, if any. If there are several such keys, the one that the
/// output names, or else `named`.
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
#[expect(
    clippy::case_sensitive_file_extension_comparisons,
    reason = "YuniKorn distinguishes `.YAML` from \
     `.yaml`"
)]
pub(crate) fn is_queues_key(key: &str) -> bool {
    key.ends_with(".yaml")
}

/// The text of `key` in a single ConfigMap, including `binaryData`.
pub(crate) fn text_in(map: &ConfigMapState, key: &str) -> Option<String> {
    merged_alone(map).get(key).map(|value| value.text.clone()).filter(|text| !text.is_empty())
}

fn data(map: Option<&ConfigMapState>) -> ConfigMapData {
    let Some(map) = map else { return ConfigMapData::default() };
    ConfigMapData {
        data: map.data.clone(),
        binary_data: map.binary.iter().map(|(key, value)| (key.clone(), value.gunzipped.clone())).collect(),
    }
}

/// The owner of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyClaim {
    /// The key does not exist; its first writer owns it.
    Free,
    /// We wrote it, even if someone has changed it since.
    Ours,
    /// Someone else wrote it.
    Foreign(Vec<KeyOwner>),
}

impl Snapshot {
    /// Returns who owns `key` of the output.
    pub(crate) fn claim(&self, key: &str) -> KeyClaim {
        claim(self.output.as_deref(), self.config_status(), key)
    }
}

/// Returns who owns `key`; `status` is the last one of the `YuniKornConfig`.
pub(crate) fn claim(output: Option<&ConfigMapState>, status: Option<&ConfigStatus>, key: &str) -> KeyClaim {
    let Some(output) = output.filter(|output| output.data.contains_key(key)) else {
        return KeyClaim::Free;
    };
    let owners = output.owners.get(key).cloned().unwrap_or_default();
    let remembered = status.and_then(|status| status.output.as_ref());
    if managed_keys(output).contains(key)
        || remembered.is_some_and(|it| {
            !it.uid.is_empty() && it.uid == output.uid && it.keys.iter().any(|ours| ours == key)
        })
        || owners.iter().any(|owner| owner.manager == FIELD_MANAGER)
    {
        return KeyClaim::Ours;
    }
    KeyClaim::Foreign(owners)
}

/// Returns the keys that the output's annotation lists as ours.
pub fn managed_keys(output: &ConfigMapState) -> BTreeSet<&str> {
    let text = output.annotations.get(MANAGED_KEYS).map(String::as_str).unwrap_or_default();
    text.split(',').map(str::trim).filter(|key| !key.is_empty()).collect()
}

/// Formats the owners of a key for a message: `"helm" (Apply), "kubectl-edit" (Update)`, or `another writer`
/// when they are unknown.
pub(crate) fn names(owners: &[KeyOwner]) -> String {
    if owners.is_empty() {
        return "another writer".into();
    }
    let sorted: BTreeSet<_> = owners.iter().collect();
    sorted.iter().map(|o| format!("\"{}\" ({})", o.manager, o.operation)).collect::<Vec<_>>().join(", ")
}

/// Returns the end of a message about these managers of a key. If one of them is `YuniKorn`'s queue operator,
/// which rewrites the key no matter who owns it, this is what to do about it; otherwise it is empty.
pub(crate) fn queue_operator<'a>(mut managers: impl Iterator<Item = &'a str>) -> String {
    if !managers.any(|manager| manager == QUEUE_OPERATOR) {
        return String::new();
    }
    format!(
        ". \"{QUEUE_OPERATOR}\" is YuniKorn's queue operator, which writes the whole text from its Queue \
         objects: stop it, make it write to another namespace (TARGET_NAMESPACE), or set spec.mode to \
         Observe"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::OutputRef;

    const KEY: &str = "queues.yaml";

    fn output(annotation: Option<&str>, managers: &[&str]) -> ConfigMapState {
        let owner = |name: &&str| KeyOwner { manager: (*name).into(), operation: "Update".into() };
        ConfigMapState {
            uid: "u1".into(),
            data: [(KEY.to_string(), "x".to_string())].into(),
            annotations: annotation
                .map(|text| (MANAGED_KEYS.to_string(), text.to_string()))
                .into_iter()
                .collect(),
            owners: [(KEY.to_string(), managers.iter().map(owner).collect())].into(),
            ..ConfigMapState::default()
        }
    }

    fn status(uid: &str) -> ConfigStatus {
        let output = OutputRef { uid: uid.into(), keys: vec![KEY.to_string()], ..OutputRef::default() };
        ConfigStatus { output: Some(output), ..ConfigStatus::default() }
    }

    #[test]
    fn a_missing_object_or_key_is_free() {
        assert_eq!(claim(None, None, KEY), KeyClaim::Free);
        assert_eq!(claim(Some(&output(None, &[])), None, "other"), KeyClaim::Free);
    }

    #[test]
    fn annotation_memory_or_field_manager_make_it_ours() {
        let edited = ["kubectl-edit"];
        assert_eq!(claim(Some(&output(Some("a, queues.yaml"), &edited)), None, KEY), KeyClaim::Ours);
        assert_eq!(claim(Some(&output(None, &edited)), Some(&status("u1")), KEY), KeyClaim::Ours);
        assert_eq!(claim(Some(&output(None, &["helm", FIELD_MANAGER])), None, KEY), KeyClaim::Ours);
    }

    #[test]
    fn a_recreated_object_is_not_ours_by_memory() {
        let state = output(None, &["helm"]);
        let expected = KeyClaim::Foreign(state.owners[KEY].clone());
        assert_eq!(claim(Some(&state), Some(&status("another")), KEY), expected);
        assert_eq!(claim(Some(&output(Some("queues.yaml.old"), &["helm"])), None, KEY), expected);
        let from_file = ConfigMapState { uid: String::new(), ..state };
        assert_eq!(claim(Some(&from_file), Some(&status("")), KEY), expected);
    }

    #[test]
    fn owners_read_sorted() {
        let owner = |manager: &str, operation: &str| KeyOwner {
            manager: manager.into(),
            operation: operation.into(),
        };
        assert_eq!(names(&[owner("z", "Update"), owner("a", "Apply")]), "\"a\" (Apply), \"z\" (Update)");
        assert_eq!(names(&[]), "another writer");
    }

    #[test]
    fn queue_operator_is_explained_wherever_it_is_among_the_managers() {
        for (managers, explained) in [
            (&[][..], false),
            (&["helm"], false),
            (&["my-yunikorn-queue-operator"], false),
            (&["yunikorn-queue-operator"], true),
            (&["helm", "yunikorn-queue-operator"], true),
        ] {
            let text = queue_operator(managers.iter().copied());
            assert_eq!(text.contains("is YuniKorn's queue operator"), explained, "{managers:?}: {text}");
            assert_eq!(text.is_empty(), !explained, "{managers:?}: {text}");
        }
    }
}
