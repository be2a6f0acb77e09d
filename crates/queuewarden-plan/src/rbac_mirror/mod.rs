//! The RBAC mirror: a copy of the ACLs in force as `ClusterRole`s and their bindings, so that Kubernetes' own
//! authorizer answers `kubectl auth can-i submit queues.queuewarden.dev/root.prod`, even where no one may
//! configure an authorization webhook.
//!
//! Each ACL becomes a role with the queues it reaches as `resourceNames`, and a binding of the same name with
//! the people it names as subjects. If RBAC cannot express an ACL, the mirror is narrower, but it is never
//! wider:
//!
//! * a queue that is not in the configuration because a placement rule will create it has no name to be
//!   listed;
//! * the wildcard is `system:authenticated`, because Kubernetes has no wider group of users;
//! * names are case-sensitive, and only the partition `default` is mirrored, because a resource has no
//!   partition;
//! * while the scheduler is not yet known to run a text, the mirror only grants access that is also in the
//!   text that it was last known to run. A scheduler that does not answer and was never known to run any text
//!   is assumed to follow the ConfigMaps, as [`SchedulerText`](crate::Running) describes.
//!
//! On the path to the [`desired`] objects, the mirror never grants more than it granted before or will grant
//! afterwards. A role and its binding are two objects that cannot be changed together. Subjects are therefore
//! removed from the binding before the role changes, and added afterwards: the pair never grants more than
//! before, or never more than it should.

mod desired;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::conditions::{Finding, Reason, Type, find};
use crate::effective::{EffectiveConfig, ParseCache, ReadState, UNSEEN};
use crate::snapshot::{
    Mirror, MirrorContent, MirrorKind, MirrorObject, MirrorRule, MirrorSubject, Snapshot, WriteFailure,
};
use desired::{Desired, RolePair};
use go_compat::diag::plural;
use yunikorn_access::Tree;
use yunikorn_access::alias::Aliased;

/// Instructions for removing a mirror that queuewarden is not allowed to remove.
const BY_HAND: &str = "apply manifests/rbac-mirror, or remove it by hand: kubectl delete clusterrolebindings,clusterroles -l queuewarden.dev/mirror=rbac";
/// The partition that is mirrored.
const PARTITION: &str = "default";

/// The next changes of the mirror.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MirrorChanges {
    /// `metadata.uid` of the `YuniKornConfig`, which owns all objects of the mirror, so that they are deleted
    /// with it.
    pub owner: String,
    /// The next steps, in this order; more may follow after them.
    pub steps: Vec<MirrorStep>,
}

/// Plans the changes to the mirror and its condition. Does nothing if the mirror was not read.
pub(crate) fn plan(
    read: &ReadState<'_>,
    aliased: &Arc<Aliased>,
    cache: &mut ParseCache,
) -> (MirrorChanges, Option<Finding>) {
    let ReadState { snapshot, config, spec, env, .. } = read;
    let Some(mirror) = &snapshot.mirror else {
        return (MirrorChanges::default(), None);
    };
    let owner = config.meta.uid.to_string();
    let desired =
        if spec.rbac_mirror { desired(snapshot, env, aliased, cache) } else { Ok(Desired::default()) };
    let steps = match &desired {
        Ok(desired) if mirror.is_known() => next(mirror, desired, &owner),
        _ => Vec::new(),
    };
    let reports = spec.rbac_mirror || find(&config.meta.conditions, Type::Mirrored).is_some();
    let failure = snapshot.observed.mirror_failure.as_ref();
    let mirrored = finding(spec.rbac_mirror, mirror, &desired, steps.len(), failure);
    (MirrorChanges { owner, steps }, mirrored.filter(|_| reports))
}

/// Returns the desired mirror, or an error if the ACLs in force are unknown, so that the mirror has to stay
/// as it is.
fn desired(
    snapshot: &Snapshot,
    env: &EffectiveConfig,
    aliased: &Arc<Aliased>,
    cache: &mut ParseCache,
) -> Result<Desired, String> {
    env.runs.as_ref().map_err(String::clone)?;
    let observed = &snapshot.observed;
    // While the scheduler loads the text, the mirror must not grant more than the text that is still running.
    let another = observed.reported().is_some_and(|reported| *reported != env.checksum);
    if another && !observed.reports_loaded_text() {
        return Err(UNSEEN.to_owned());
    }
    let running = observed.loaded_text.as_deref().filter(|running| *running != env.text);
    let running = running.and_then(|text| queues(text, cache).ok());
    let (tree, running) = match (queues(&env.text, cache), running) {
        (Ok(tree), running) => (tree, running),
        // The text in the ConfigMaps does not take effect, and the previous one stays in use.
        (Err(_), Some(running)) => (running, None),
        (Err(why), None) => return Err(why),
    };
    Ok(match (tree, running) {
        // A partition that is missing in one of them is not mirrored.
        (None, _) | (_, Some(None)) => Desired::default(),
        (Some(mut tree), running) => {
            tree.name_aliases(Arc::clone(aliased));
            desired::from_trees(&tree, running.flatten().as_ref())
        }
    })
}

/// Returns the condition, or `None` if the mirror does not exist and is not wanted. `on` is true if it is
/// wanted, `steps` are the remaining steps to the desired mirror, and `failure` is why the last step failed.
fn finding(
    on: bool,
    mirror: &Mirror,
    desired: &Result<Desired, String>,
    steps: usize,
    failure: Option<&WriteFailure>,
) -> Option<Finding> {
    let no = |reason, message: String| Some(Finding::no(Type::Mirrored, reason, message));
    if let Some(problem) = &mirror.problem {
        let hint = if on { "apply manifests/rbac-mirror, or set rbacMirror: Disabled" } else { BY_HAND };
        let message = format!(
            "queuewarden is not allowed to read ClusterRoles and ClusterRoleBindings; {hint}: \
                     {problem}"
        );
        return no(Reason::Forbidden, message);
    }
    if !mirror.synced {
        let message = "the ClusterRoles and ClusterRoleBindings of the mirror are being read";
        return Some(Finding::unknown(Type::Mirrored, Reason::Pending, message));
    }
    match failure {
        Some(WriteFailure::Forbidden(message)) => {
            let hint = if on { "apply manifests/rbac-mirror" } else { BY_HAND };
            return no(
                Reason::Forbidden,
                format!(
                    "queuewarden is not allowed to write the mirror; {hint}: \
                                                  {message}"
                ),
            );
        }
        Some(WriteFailure::Rejected(message)) => return no(Reason::of_rejection(message), message.clone()),
        Some(WriteFailure::Transient(message)) => return no(Reason::Pending, message.clone()),
        None => {}
    }
    match desired {
        Err(why) => {
            let message = format!("the mirror stays as it is: {why}");
            Some(Finding::unknown(Type::Mirrored, Reason::ConfigNotReady, message))
        }
        Ok(_) if steps > 0 => {
            no(Reason::Pending, if on { "the mirror is being written" } else { "it is being removed" }.into())
        }
        Ok(_) if !on => None,
        Ok(Desired { left_out: Some(first), .. }) => {
            let message = format!(
                "the mirror is full: it leaves out {first} and those after it, so Kubernetes denies what \
                 they allow"
            );
            no(Reason::TooLarge, message)
        }
        Ok(Desired { pairs, left_out: None }) => {
            let roles = plural(pairs.len(), "ClusterRole");
            let message = format!("the ACLs of partition `default` are in {roles}");
            Some(Finding::yes(Type::Mirrored, Reason::Mirrored, message))
        }
    }
}

/// The queues of the mirrored partition, if a text has that partition.
///
/// # Errors
/// The message for a text that a scheduler does not take over.
fn queues(text: &str, cache: &mut ParseCache) -> Result<Option<Tree>, String> {
    let config = cache.parse_accepted(text)?;
    let partition = config.partitions.iter().find(|partition| partition.name.eq_ignore_ascii_case(PARTITION));
    partition.map(Tree::new).transpose().map_err(|error| error.to_string())
}

/// Returns whether an object may be changed or removed. This depends on its name, which only the mirror uses;
/// a label can be put on any object.
fn is_ours(object: &MirrorObject) -> bool {
    object.name.starts_with(desired::PREFIX)
}

/// Maximum number of steps before everything is read again, so that a new ACL does not wait for a large
/// mirror.
const MAX_STEPS: usize = 64;

/// One write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorStep {
    /// The kind of the object.
    pub kind: MirrorKind,
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid` and `metadata.resourceVersion` of the observed object, as a precondition; `None` if
    /// there was no object.
    pub last: Option<(String, String)>,
    /// The change to make.
    pub action: MirrorAction,
}

/// The target state of a step, regardless of earlier observations.
pub type TargetState = (MirrorKind, String, MirrorAction);

/// Returns the target states of the steps.
pub fn target_states(changes: &MirrorChanges) -> Vec<TargetState> {
    changes.steps.iter().map(|step| (step.kind, step.name.clone(), step.action.clone())).collect()
}

/// A change of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum MirrorAction {
    /// Creates the object, or replaces its content.
    Rules(Vec<MirrorRule>),
    /// Creates the object, or replaces its content.
    Subjects(BTreeSet<MirrorSubject>),
    /// Removes the object.
    Delete,
}

/// The order of the steps: steps that remove access come before steps that grant it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum When {
    Shrink,
    Change,
    Tidy,
    Grow,
}

/// Returns the next steps.
fn next(mirror: &Mirror, desired: &Desired, owner: &str) -> Vec<MirrorStep> {
    let names: BTreeSet<&String> =
        mirror.roles.keys().chain(mirror.bindings.keys()).chain(desired.pairs.keys()).collect();
    let mut steps: Vec<(When, MirrorStep)> = names
        .into_iter()
        .filter_map(|name| {
            let [role, binding] = [&mirror.roles, &mirror.bindings]
                .map(|of| of.get(name).map(AsRef::as_ref).filter(|current| is_ours(current)));
            step(name, role, binding, desired.pairs.get(name), owner)
        })
        .collect();
    // The sort is stable: steps of one kind stay sorted by name.
    steps.sort_by_key(|(when, _)| *when);
    steps.into_iter().take(MAX_STEPS).map(|(_, step)| step).collect()
}

/// Returns the next step of one pair.
fn step(
    name: &str,
    role: Option<&MirrorObject>,
    binding: Option<&MirrorObject>,
    pair: Option<&RolePair>,
    owner: &str,
) -> Option<(When, MirrorStep)> {
    let step = |when, kind, current: Option<&MirrorObject>, action| {
        let seen = current.map(|current| (current.uid.clone(), current.resource_version.clone()));
        Some((when, MirrorStep { kind, name: name.to_owned(), last: seen, action }))
    };
    let Some(pair) = pair else {
        return match (binding, role) {
            (Some(_), _) => step(When::Shrink, MirrorKind::Binding, binding, MirrorAction::Delete),
            (None, Some(_)) => step(When::Tidy, MirrorKind::Role, role, MirrorAction::Delete),
            (None, None) => None,
        };
    };
    let bound = match binding.map(|binding| &binding.content) {
        Some(MirrorContent::Binding(subjects)) => Some(subjects),
        // The access it grants may be wrong, and a binding to another role cannot be changed.
        Some(_) => return step(When::Shrink, MirrorKind::Binding, binding, MirrorAction::Delete),
        None => None,
    };
    // Subjects beyond the desired ones.
    let surplus = bound.filter(|bound| !bound.is_subset(&pair.subjects));
    let is = |current: Option<&MirrorObject>, content: &MirrorContent| {
        current.is_some_and(|it| it.content == *content && it.owner.as_deref() == Some(owner))
    };
    if is(role, &MirrorContent::Role(pair.rules.clone())) {
        if is(binding, &MirrorContent::Binding(pair.subjects.clone())) {
            return None;
        }
        let when = if surplus.is_some() { When::Shrink } else { When::Grow };
        return step(when, MirrorKind::Binding, binding, MirrorAction::Subjects(pair.subjects.clone()));
    }
    match surplus {
        None => step(When::Change, MirrorKind::Role, role, MirrorAction::Rules(pair.rules.clone())),
        Some(bound) => {
            let stay: BTreeSet<_> = bound.intersection(&pair.subjects).cloned().collect();
            // To write a binding, the API server requires all permissions of its role; deleting one needs no
            // such permissions.
            let held = role.is_some_and(|role| desired::wrote(&role.content));
            let action =
                if stay.is_empty() || !held { MirrorAction::Delete } else { MirrorAction::Subjects(stay) };
            step(When::Shrink, MirrorKind::Binding, binding, action)
        }
    }
}
