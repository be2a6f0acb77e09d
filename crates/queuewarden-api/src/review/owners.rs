//! Reads `metadata.ownerReferences` of an object under review.

use serde_json::value::RawValue;

use super::part::{entries, member, text_at};
use go_compat::diag::Diagnostic;
use yunikorn::admission::request::Kind;
use yunikorn_access::running::joins::OwnerPod;

/// The most pods that are read of the owners of one object; a placeholder has one.
const MAX_PODS: usize = 16;

/// Returns the first pods among the owners.
pub(super) fn pods(owners: Option<&RawValue>) -> Result<Vec<OwnerPod>, Diagnostic> {
    let mut pods = Vec::new();
    for (_, owner) in entries(owners, "a list")? {
        if text_at(owner, &["kind"])? == "Pod" && pods.len() < MAX_PODS {
            pods.push(OwnerPod { name: text_at(owner, &["name"])?, uid: text_at(owner, &["uid"])? });
        }
    }
    Ok(pods)
}

/// Returns whether the object's controller is of a kind that is checked itself, so that the objects it
/// creates are not. `SparkApplication` is not such a kind: its driver is the first object that is checked.
pub(super) fn has_checked_controller(owners: Option<&RawValue>) -> Result<bool, Diagnostic> {
    for (_, owner) in entries(owners, "a list")? {
        let controls = member(owner, "controller")?.is_some_and(|controls| controls.get() == "true");
        let version = text_at(owner, &["apiVersion"])?;
        let group = version.rsplit_once('/').map_or("", |(group, _)| group);
        if controls && !matches!(Kind::parse(group, &text_at(owner, &["kind"])?), Kind::Other(_)) {
            return Ok(true);
        }
    }
    Ok(false)
}
