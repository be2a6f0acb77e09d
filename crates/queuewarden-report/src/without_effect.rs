//! Lists the objects that change nothing: refused, planned, expired or redundant ones.

use queuewarden_plan::conditions::{Status, Type, find};
use queuewarden_plan::snapshot::{Meta, QueueAclSpec, Snapshot};
use yunikorn::queue::QueuePath;

/// An object whose current version changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithoutEffect {
    /// Its kind.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// The partition and the queue; `None` for an object about none, and if its spec cannot be read.
    pub queue: Option<(String, QueuePath)>,
    /// The reason, as its condition has it.
    pub reason: String,
    /// The message of that condition.
    pub message: String,
}

/// Returns these objects of a snapshot, by their conditions.
pub fn without_effect(snapshot: &Snapshot) -> Vec<WithoutEffect> {
    let acls = snapshot.queue_acls.iter().filter_map(|entry| {
        object("QueueAcl", &entry.meta, entry.spec.as_ref().ok().and_then(QueueAclSpec::target))
    });
    let policies = snapshot.policies.iter();
    acls.chain(policies.filter_map(|entry| object("AdmissionPolicy", &entry.meta, None))).collect()
}

fn object(kind: &'static str, meta: &Meta, queue: Option<(String, QueuePath)>) -> Option<WithoutEffect> {
    let found =
        [Type::Accepted, Type::Effective].into_iter().filter_map(|type_| find(&meta.conditions, type_));
    let mut current = found.filter(|condition| condition.observed_generation == meta.generation);
    let condition = current.find(|condition| condition.status == Status::False)?;
    Some(WithoutEffect {
        kind,
        name: meta.name.to_string(),
        queue,
        reason: condition.reason.to_string(),
        message: condition.message.clone(),
    })
}
