//! Decides who owns a key of the output ConfigMap.
//!
//! `managedFields` alone cannot answer: one `kubectl edit` moves a key to another manager. So the keys that
//! we wrote are recorded in an annotation next to them, and in the status of the `YuniKornConfig` together
//! with the ConfigMap's uid.

use std::collections::BTreeSet;

use crate::snapshot::{
    ConfigMapState, ConfigStatus, FIELD_MANAGER, KeyOwner, MANAGED_KEYS, QUEUE_OPERATOR, Snapshot,
};

/// The owner of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyClaim {
    /// The key does not exist; its first writer owns it.
    Free,
    /// We wrote it, even if someone changed it since.
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

/// Returns the end of a message about these managers of a key: what to do if one of them is `YuniKorn`'s
/// queue operator, which writes the key again whoever owns it; else nothing.
pub(crate) fn queue_operator<'a>(mut managers: impl Iterator<Item = &'a str>) -> String {
    if !managers.any(|manager| manager == QUEUE_OPERATOR) {
        return String::new();
    }
    format!(
        ". \"{QUEUE_OPERATOR}\" is YuniKorn's queue operator, which writes the whole text from its Queue objects: stop it, let it \
         write into another namespace (TARGET_NAMESPACE), or set spec.mode to Observe"
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
