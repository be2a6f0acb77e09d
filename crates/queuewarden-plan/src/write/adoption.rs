//! Adopts keys of the output ConfigMap: a key that someone else wrote is left to its owner, imported into the
//! base, or taken over after a backup.

use std::collections::BTreeMap;

use crate::conditions::{Finding, Reason, Type};
use crate::effective::merged::names;
use crate::effective::{KeyClaim, queue_operator};
use crate::snapshot::{Adoption, IMPORTED_FROM, KeyOwner, Mode};
use crate::write::applied::{live_text, not_written};
use crate::write::{NewConfigMap, WriteContext};
use go_compat::diag::listed;
use yunikorn::config::verdict;

/// The keys that may be written, and the conflicts about the others.
#[derive(Default)]
pub(crate) struct Adopted {
    /// The desired keys that are free, ours, or may be taken over.
    pub wants: BTreeMap<String, String>,
    /// Other people's values that will be replaced, to be backed up first.
    pub replaced: BTreeMap<String, String>,
    /// Condition `Applied`, when the queue tree's key is left to its owner.
    pub tree_conflict: Option<Finding>,
    /// Condition `Applied`, when another key is left to its owner.
    pub conflict: Option<Finding>,
    /// The base to create first.
    pub import: Option<NewConfigMap>,
}

/// Condition `Applied` of a foreign key that is left to its owner, at least until the base is created.
type Left = (Finding, Option<NewConfigMap>);

/// Sorts the desired keys by whether they may be written.
pub(crate) fn adopt(context: &WriteContext<'_>, wants: BTreeMap<String, String>) -> Adopted {
    let mut adopted = Adopted::default();
    for (key, value) in wants {
        let current = context.read.snapshot.output_text(&key);
        let KeyClaim::Foreign(owners) = context.read.snapshot.claim(&key) else {
            adopted.wants.insert(key, value);
            continue;
        };
        if current == Some(&value) {
            continue;
        }
        match replace(context, &key, &owners) {
            Ok(()) => {
                adopted.replaced.insert(key.clone(), current.cloned().unwrap_or_default());
                adopted.wants.insert(key, value);
            }
            Err((finding, import)) if key == context.read.env.key => {
                adopted.tree_conflict = Some(finding);
                adopted.import = import;
            }
            Err((finding, _)) => drop(adopted.conflict.get_or_insert(finding)),
        }
    }
    adopted
}

/// Returns whether a foreign key may be replaced; the error is the alternative.
fn replace(context: &WriteContext<'_>, key: &str, owners: &[KeyOwner]) -> Result<(), Left> {
    let left = |why: String| (conflict(context, key, owners, &why), None);
    let leave = |why| Err(left(why));
    match context.read.spec.adoption {
        Adoption::IfUnowned => leave(
            "remove the key there, or set spec.adoption to Import (their text becomes the base) or Force (the base replaces it)".into(),
        ),
        Adoption::Import if key != context.read.env.key => leave("Import transfers only the queue tree; \
             remove the key there".into()),
        Adoption::Import if imported(context) => Ok(()),
        Adoption::Import => Err(import(context).unwrap_or_else(left)),
        Adoption::Force if key != context.read.env.key => Ok(()),
        Adoption::Force => match lacking(context) {
            Ok(Some(queues)) => leave(format!(
                "it is not replaced, because the base lacks queues that are live: {queues}; add them to the base"
            )),
            Ok(None) => Ok(()),
            Err(why) => leave(format!(
                "it is not replaced, because the live queues are unknown: {why}. Correct that, or remove the \
                 key there"
            )),
        },
    }
}

fn conflict(context: &WriteContext<'_>, key: &str, owners: &[KeyOwner], why: &str) -> Finding {
    let map = context.read.spec.output_name();
    let operator = queue_operator(owners.iter().map(|owner| owner.manager.as_str()));
    let message = format!("key `{key}` of {map} belongs to {}; {why}{operator}", names(owners));
    Finding::no(Type::Applied, Reason::FieldConflict, message)
}

/// Returns whether the base was made from this output by an earlier import.
fn imported(context: &WriteContext<'_>) -> bool {
    context.read.snapshot.base.as_deref().and_then(|base| base.annotations.get(IMPORTED_FROM))
        == Some(&origin(context))
}

fn origin(context: &WriteContext<'_>) -> String {
    format!("{}/{}", context.read.spec.namespace, context.read.spec.output_config_map)
}

/// Returns the import that is due while there is no base to render: the live text of someone else becomes the
/// base.
pub(crate) fn first_import(context: &WriteContext<'_>) -> Option<Left> {
    let key = &context.read.env.key;
    let due = context.read.spec.adoption == Adoption::Import && context.read.snapshot.base.is_none();
    let KeyClaim::Foreign(owners) = context.read.snapshot.claim(key) else { return None };
    replace(context, key, &owners).err().filter(|_| due)
}

/// Makes the live text the base if there is no base yet; the error explains why that cannot be.
fn import(context: &WriteContext<'_>) -> Result<Left, String> {
    let spec = context.read.spec;
    let map = spec.base_name();
    let text = live_text(context).ok_or("there is no text to import")?;
    if context.read.snapshot.base.is_some() {
        return Err(format!(
            "Import would have to overwrite {map}; set spec.base.configMap to a name that does not exist yet"
        ));
    }
    let verdict = verdict(text, &[], context.read.snapshot.version());
    if let Some(refusal) = verdict.refusal() {
        let why = if verdict.unsure { "" } else { ", because YuniKorn would refuse it" };
        return Err(format!("it cannot be imported{why}: {refusal}"));
    }
    if spec.mode == Mode::Observe {
        let message = format!("in mode Enforce the live queue tree would be copied to {map}");
        return Ok((Finding::no(Type::Applied, Reason::ObserveMode, message), None));
    }
    let base = NewConfigMap {
        name: spec.base_config_map.clone(),
        annotations: [(IMPORTED_FROM.to_string(), origin(context))].into(),
        data: [(spec.base_key.clone().unwrap_or_else(|| context.read.env.key.clone()), text.to_string())]
            .into(),
    };
    let copying = || {
        let message = format!("the live queue tree is being copied to {map}");
        Finding::no(Type::Applied, Reason::Pending, message)
    };
    Ok((not_written(context, &map).unwrap_or_else(copying), Some(base)))
}

/// Returns the configured queues that the scheduler runs and the base lacks, as a list for a message.
///
/// # Errors
/// Explains why the running configuration is unknown.
fn lacking<'q>(context: &'q WriteContext<'_>) -> Result<Option<String>, &'q str> {
    const SHOWN: usize = 10;
    let live = context.read.env.runs.as_deref().map_err(String::as_str)?;
    let base = context.base().ok().map(|base| &base.tree);
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
