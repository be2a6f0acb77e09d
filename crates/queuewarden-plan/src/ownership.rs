//! Decides who owns a key of the output ConfigMap. A key that someone else wrote is left to its owner,
//! imported into the base, or taken over after a copy.
//!
//! `managedFields` alone cannot answer: one `kubectl edit` moves a key to another manager. So the keys that
//! we wrote are recorded in an annotation next to them, and in the status of the `YuniKornConfig` together
//! with the ConfigMap's uid.

use std::collections::{BTreeMap, BTreeSet};

use super::applied::not_written;
use super::conditions::{Finding, Reason, Type};
use super::output::{Inputs, live_text};
use super::snapshot::{
    Adoption, ConfigMapState, FIELD_MANAGER, IMPORTED_FROM, MANAGED_KEYS, Mode, Owner, QUEUE_OPERATOR,
    Snapshot,
};
use super::{ConfigStatus, NewConfigMap};
use go_compat::diag::listed;
use yunikorn::config::verdict;

/// The owner of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Claim {
    /// The key does not exist; its first writer owns it.
    Free,
    /// We wrote it, even if someone changed it since.
    Ours,
    /// Someone else wrote it.
    Foreign(Vec<Owner>),
}

impl Snapshot {
    /// Returns who owns `key` of the output.
    pub(super) fn claim(&self, key: &str) -> Claim {
        claim(self.output.as_deref(), self.config_status(), key)
    }
}

/// Returns who owns `key`; `status` is the last one of the `YuniKornConfig`.
pub(super) fn claim(output: Option<&ConfigMapState>, status: Option<&ConfigStatus>, key: &str) -> Claim {
    let Some(output) = output.filter(|output| output.data.contains_key(key)) else {
        return Claim::Free;
    };
    let owners = output.owners.get(key).cloned().unwrap_or_default();
    let remembered = status.and_then(|status| status.output.as_ref());
    if managed_keys(output).contains(key)
        || remembered.is_some_and(|it| {
            !it.uid.is_empty() && it.uid == output.uid && it.keys.iter().any(|ours| ours == key)
        })
        || owners.iter().any(|owner| owner.manager == FIELD_MANAGER)
    {
        return Claim::Ours;
    }
    Claim::Foreign(owners)
}

/// Returns the keys that the output's annotation lists as ours.
pub fn managed_keys(output: &ConfigMapState) -> BTreeSet<&str> {
    let text = output.annotations.get(MANAGED_KEYS).map(String::as_str).unwrap_or_default();
    text.split(',').map(str::trim).filter(|key| !key.is_empty()).collect()
}

/// Formats the owners of a key for a message: `"helm" (Apply), "kubectl-edit" (Update)`, or `another writer`
/// when they are unknown.
pub(super) fn names(owners: &[Owner]) -> String {
    if owners.is_empty() {
        return "another writer".into();
    }
    let sorted: BTreeSet<_> = owners.iter().collect();
    sorted.iter().map(|o| format!("\"{}\" ({})", o.manager, o.operation)).collect::<Vec<_>>().join(", ")
}

/// Returns the end of a message about these managers of a key: what to do if one of them is `YuniKorn`'s
/// queue operator, which writes the key again whoever owns it; else nothing.
pub(super) fn queue_operator<'a>(mut managers: impl Iterator<Item = &'a str>) -> String {
    if !managers.any(|manager| manager == QUEUE_OPERATOR) {
        return String::new();
    }
    format!(
        ". \"{QUEUE_OPERATOR}\" is YuniKorn's queue operator, which writes the whole text from its Queue objects: stop it, let it \
         write into another namespace (TARGET_NAMESPACE), or set spec.mode to Observe"
    )
}

/// The keys that may be written, and the conflicts about the others.
#[derive(Default)]
pub(super) struct Adopted {
    /// The desired keys that are free, ours, or may be taken over.
    pub wants: BTreeMap<String, String>,
    /// Other people's values that are replaced, to be copied to a backup first.
    pub replaced: BTreeMap<String, String>,
    /// Condition `Applied`, when the queue tree's key is left to its owner.
    pub tree_conflict: Option<Finding>,
    /// The same for the first of the other keys.
    pub conflict: Option<Finding>,
    /// The base to create first.
    pub import: Option<NewConfigMap>,
}

/// Condition `Applied` of a foreign key that is left to its owner: for now, if the base is created first.
type Left = (Finding, Option<NewConfigMap>);

/// Sorts the desired keys by whether they may be written.
pub(super) fn adopt(inputs: &Inputs<'_>, wants: BTreeMap<String, String>) -> Adopted {
    let mut adopted = Adopted::default();
    for (key, value) in wants {
        let current = inputs.snapshot.output_text(&key);
        let Claim::Foreign(owners) = inputs.snapshot.claim(&key) else {
            adopted.wants.insert(key, value);
            continue;
        };
        if current == Some(&value) {
            continue;
        }
        match replace(inputs, &key, &owners) {
            Ok(()) => {
                adopted.replaced.insert(key.clone(), current.cloned().unwrap_or_default());
                adopted.wants.insert(key, value);
            }
            Err((finding, import)) if key == inputs.env.key => {
                adopted.tree_conflict = Some(finding);
                adopted.import = import;
            }
            Err((finding, _)) => drop(adopted.conflict.get_or_insert(finding)),
        }
    }
    adopted
}

/// Returns whether a foreign key may be replaced; the error is what happens in its stead.
fn replace(inputs: &Inputs<'_>, key: &str, owners: &[Owner]) -> Result<(), Left> {
    let left = |why: String| (conflict(inputs, key, owners, &why), None);
    let leave = |why| Err(left(why));
    match inputs.spec.adoption {
        Adoption::IfUnowned => leave(
            "remove the key there, or set spec.adoption to Import (their text becomes the base) or Force (the base replaces it)".into(),
        ),
        Adoption::Import if key != inputs.env.key => leave("Import hands over the queue tree only; remove the key there".into()),
        Adoption::Import if imported(inputs) => Ok(()),
        Adoption::Import => Err(import(inputs).unwrap_or_else(left)),
        Adoption::Force if key != inputs.env.key => Ok(()),
        Adoption::Force => match lacking(inputs) {
            Ok(Some(queues)) => leave(format!(
                "it is not replaced, because the base lacks queues that are live: {queues}; add them to the base"
            )),
            Ok(None) => Ok(()),
            Err(why) => leave(format!(
                "it is not replaced, because nobody knows which queues are live: {why}. Correct it, or remove the key there"
            )),
        },
    }
}

fn conflict(inputs: &Inputs<'_>, key: &str, owners: &[Owner], why: &str) -> Finding {
    let map = inputs.spec.output_name();
    let operator = queue_operator(owners.iter().map(|owner| owner.manager.as_str()));
    let message = format!("key `{key}` of {map} belongs to {}; {why}{operator}", names(owners));
    Finding::no(Type::Applied, Reason::FieldConflict, message)
}

/// Returns whether the base was made from this output by an earlier import.
fn imported(inputs: &Inputs<'_>) -> bool {
    inputs.snapshot.base.as_deref().and_then(|base| base.annotations.get(IMPORTED_FROM))
        == Some(&origin(inputs))
}

fn origin(inputs: &Inputs<'_>) -> String {
    format!("{}/{}", inputs.spec.namespace, inputs.spec.output_config_map)
}

/// Returns the import that is due while there is no base to render: someone else's live text becomes the
/// base.
pub(super) fn first_import(inputs: &Inputs<'_>) -> Option<Left> {
    let key = &inputs.env.key;
    let due = inputs.spec.adoption == Adoption::Import && inputs.snapshot.base.is_none();
    let Claim::Foreign(owners) = inputs.snapshot.claim(key) else { return None };
    replace(inputs, key, &owners).err().filter(|_| due)
}

/// Makes the live text the base if there is no base yet; the error explains why that cannot be.
fn import(inputs: &Inputs<'_>) -> Result<Left, String> {
    let spec = inputs.spec;
    let map = spec.base_name();
    let text = live_text(inputs).ok_or("there is no text to import")?;
    if inputs.snapshot.base.is_some() {
        return Err(format!(
            "Import would have to overwrite {map}; set spec.base.configMap to a name that does not exist yet"
        ));
    }
    let verdict = verdict(text, &[], inputs.snapshot.version());
    if let Some(refusal) = verdict.refusal() {
        let why = if verdict.unsure { "" } else { ", because YuniKorn would not take it" };
        return Err(format!("it cannot be imported{why}: {refusal}"));
    }
    if spec.mode == Mode::Observe {
        let message = format!("in mode Enforce the live queue tree would be copied to {map}");
        return Ok((Finding::no(Type::Applied, Reason::ObserveMode, message), None));
    }
    let base = NewConfigMap {
        name: spec.base_config_map.clone(),
        annotations: [(IMPORTED_FROM.to_string(), origin(inputs))].into(),
        data: [(spec.base_key.clone().unwrap_or_else(|| inputs.env.key.clone()), text.to_string())].into(),
    };
    let copying = || {
        let message = format!("the live queue tree is being copied to {map}");
        Finding::no(Type::Applied, Reason::Pending, message)
    };
    Ok((not_written(inputs, &map).unwrap_or_else(copying), Some(base)))
}

/// Returns the configured queues that the scheduler runs and the base does not have, as a list for a message.
///
/// # Errors
/// Returns why it is not known what the scheduler runs.
fn lacking<'q>(inputs: &'q Inputs<'_>) -> Result<Option<String>, &'q str> {
    const SHOWN: usize = 10;
    let live = inputs.env.runs.as_deref().map_err(String::as_str)?;
    let base = inputs.base.as_ref().ok().map(|base| &base.tree);
    let mut lost = Vec::new();
    for partition in &live.partitions {
        let kept = base.and_then(|base| base.partition(&partition.name));
        for queue in partition.queues() {
            if !queue.inserted() && kept.and_then(|p| p.queue(&queue.path)).is_none() {
                lost.push(format!("`{}`", queue.path));
            }
        }
    }
    Ok((!lost.is_empty()).then(|| listed(&lost, SHOWN, lost.len())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OutputRef;

    const KEY: &str = "queues.yaml";

    fn output(annotation: Option<&str>, managers: &[&str]) -> ConfigMapState {
        let owner = |name: &&str| Owner { manager: (*name).into(), operation: "Update".into() };
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
        assert_eq!(claim(None, None, KEY), Claim::Free);
        assert_eq!(claim(Some(&output(None, &[])), None, "other"), Claim::Free);
    }

    #[test]
    fn annotation_memory_or_field_manager_make_it_ours() {
        let edited = ["kubectl-edit"];
        assert_eq!(claim(Some(&output(Some("a, queues.yaml"), &edited)), None, KEY), Claim::Ours);
        assert_eq!(claim(Some(&output(None, &edited)), Some(&status("u1")), KEY), Claim::Ours);
        assert_eq!(claim(Some(&output(None, &["helm", FIELD_MANAGER])), None, KEY), Claim::Ours);
    }

    #[test]
    fn a_recreated_object_is_not_ours_by_memory() {
        let state = output(None, &["helm"]);
        let expected = Claim::Foreign(state.owners[KEY].clone());
        assert_eq!(claim(Some(&state), Some(&status("another")), KEY), expected);
        assert_eq!(claim(Some(&output(Some("queues.yaml.old"), &["helm"])), None, KEY), expected);
        let from_file = ConfigMapState { uid: String::new(), ..state };
        assert_eq!(claim(Some(&from_file), Some(&status("")), KEY), expected);
    }

    #[test]
    fn owners_read_sorted() {
        let owner =
            |manager: &str, operation: &str| Owner { manager: manager.into(), operation: operation.into() };
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
