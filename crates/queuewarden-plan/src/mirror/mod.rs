//! The RBAC mirror: the ACLs in force once more, as `ClusterRole`s and their bindings, so that Kubernetes' own authorizer answers
//! `kubectl auth can-i submit queues.queuewarden.dev/root.prod`, also where nobody may configure an authorization webhook.
//!
//! Each ACL becomes a role with the queues it reaches as `resourceNames`, and a binding of the same name with whom it names as subjects.
//! The mirror is narrower than the ACLs where RBAC cannot say what they say, and never wider:
//! * a queue that the configuration does not name (one that a placement rule will make) has no name to be listed;
//! * the wildcard is `system:authenticated`, for a cluster does not know more than those;
//! * names are compared with their case, and only the partition `default` is mirrored: a resource has no partition;
//! * a text that the scheduler was not yet seen to run grants only what the text that it was last seen to run grants too. One that does not
//!   answer, and was never seen to run any, is taken to follow the ConfigMaps, as [`Running`](super::Running) says.
//!
//! * [`object`]: roles and bindings as plain data, as they stand and as they should be.
//! * [`desired`]: what should be there.
//! * [`steps`]: what to do next, so that at no moment more is granted than before or after.
//! * [`report`]: condition `Mirrored`.

mod desired;
pub mod object;
mod report;
mod steps;
#[cfg(test)]
mod tests;

use super::conditions::{Finding, Type};
use super::environment::Environment;
use super::parse_cache::ParseCache;
use super::running::UNSEEN;
use super::snapshot::{ConfigMemory, ConfigSpec, Entry, ReadBack, Snapshot};
use desired::Desired;
use yunikorn::config::checksum;
use yunikorn_access::Tree;

pub use object::{Content, Kind, MIRROR_LABEL, MIRROR_VALUE, Mirror, Rule, Standing, Subject};
pub use steps::{Action, Step, Wish, wishes};

/// The partition that is mirrored.
const PARTITION: &str = "default";

/// What becomes of the mirror.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// `metadata.uid` of the `YuniKornConfig`, which owns all objects of the mirror: they go with it.
    pub owner: String,
    /// What to do next, in this order; when it is done there may be more.
    pub steps: Vec<Step>,
}

/// What is to be done about the mirror, and what is to be said about it; nothing where nobody has looked at it.
pub(super) fn plan(
    snapshot: &Snapshot,
    config: &Entry<ConfigSpec, ConfigMemory>,
    spec: &ConfigSpec,
    env: &Environment,
    known: &mut ParseCache,
) -> (Changes, Option<Finding>) {
    let Some(mirror) = &snapshot.mirror else {
        return (Changes::default(), None);
    };
    let owner = config.meta.uid.clone();
    let desired = if spec.rbac_mirror { desired(snapshot, env, known) } else { Ok(Desired::default()) };
    let steps = match &desired {
        Ok(desired) if mirror.is_known() => steps::next(mirror, desired, &owner),
        _ => Vec::new(),
    };
    let was = config.meta.conditions.iter().any(|condition| condition.type_ == Type::Mirrored.as_str());
    let question = report::Question {
        on: spec.rbac_mirror,
        was,
        mirror,
        desired: &desired,
        steps: steps.len(),
        failure: snapshot.observed.mirror_failure.as_ref(),
    };
    (Changes { owner, steps }, report::finding(&question))
}

/// What should be there; an error when nobody knows which ACLs are in force, so that what is there has to stay.
fn desired(snapshot: &Snapshot, env: &Environment, known: &mut ParseCache) -> Result<Desired, String> {
    if let Err(why) = &env.runs {
        return Err(why.clone());
    }
    let running = snapshot.observed.loaded_text.as_deref();
    // Also while the text is being loaded it must not grant more than what runs meanwhile.
    if let Some(ReadBack { checksum: Ok(reported), .. }) = &snapshot.observed.read_back
        && *reported != env.checksum
        && running.is_none_or(|running| checksum(running) != *reported)
    {
        return Err(UNSEEN.to_owned());
    }
    let running = running.filter(|running| *running != env.text);
    let running = running.and_then(|text| queues(text, known).ok());
    let trees = match (queues(&env.text, known), running) {
        (Ok(tree), running) => (tree, running),
        // What the ConfigMaps say does not come into force; what ran before goes on.
        (Err(_), Some(running)) => (running, None),
        (Err(why), None) => return Err(why),
    };
    Ok(match trees {
        (Some(tree), None) => desired::of(&tree, None),
        (Some(tree), Some(Some(running))) => desired::of(&tree, Some(&running)),
        // A partition that is not in both is not mirrored.
        (None, _) | (Some(_), Some(None)) => Desired::default(),
    })
}

/// The queues of the mirrored partition, if a text has that partition.
///
/// # Errors
/// When a scheduler does not take the text over.
fn queues(text: &str, known: &mut ParseCache) -> Result<Option<Tree>, String> {
    let config = known.taken(text)?;
    let partition = config.partitions.iter().find(|partition| partition.name.eq_ignore_ascii_case(PARTITION));
    partition.map(Tree::of).transpose().map_err(|error| error.to_string())
}

/// Whether an object may be changed or removed: its name is one that only the mirror gives. A label can be put on anything.
fn is_ours(standing: &Standing) -> bool {
    standing.name.starts_with(desired::PREFIX)
}
