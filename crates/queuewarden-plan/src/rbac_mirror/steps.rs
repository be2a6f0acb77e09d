//! The next steps towards the desired mirror, which never grants more on the way than it did before or will
//! afterwards.
//!
//! A role and its binding are two objects, and nothing changes both at once. So subjects are removed from the
//! binding before the role changes, and added afterwards: at each moment the pair grants at most what it
//! granted before, or at most what it should grant.

use std::collections::BTreeSet;

use super::desired::{self, Desired, RolePair};
use super::{MirrorChanges, is_ours};
use crate::snapshot::{Mirror, MirrorContent, MirrorKind, MirrorObject, MirrorRule, MirrorSubject};

/// The maximal number of steps before everything is read again, so that a new ACL does not wait for a large
/// mirror.
pub(super) const MAX_STEPS: usize = 64;

/// One write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorStep {
    /// The kind of the object.
    pub kind: MirrorKind,
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid` and `metadata.resourceVersion` of the observed object: the precondition. `None`: there
    /// was no object.
    pub last: Option<(String, String)>,
    /// The change to make.
    pub action: MirrorAction,
}

/// The state that a step is to lead to, whatever was observed before.
pub type TargetState = (MirrorKind, String, MirrorAction);

/// Returns the states that the steps are to lead to.
pub fn target_states(changes: &MirrorChanges) -> Vec<TargetState> {
    changes.steps.iter().map(|step| (step.kind, step.name.clone(), step.action.clone())).collect()
}

/// A change of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum MirrorAction {
    /// Creates the object, or replaces its content by this.
    Rules(Vec<MirrorRule>),
    /// Creates the object, or replaces its content by this.
    Subjects(BTreeSet<MirrorSubject>),
    /// Removes the object.
    Delete,
}

/// The order of the steps: those that take access away come before those that grant it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum When {
    Shrink,
    Change,
    Tidy,
    Grow,
}

/// Returns the next steps.
pub(super) fn next(mirror: &Mirror, desired: &Desired, owner: &str) -> Vec<MirrorStep> {
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
    // Stable: by name among those of one kind.
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
        // The access it grants is not known to be right, and a binding to another role cannot be changed.
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
            // The API server lets only those write a binding who hold all that its role allows; deleting one
            // needs no such rights.
            let held = role.is_some_and(|role| desired::wrote(&role.content));
            let action =
                if stay.is_empty() || !held { MirrorAction::Delete } else { MirrorAction::Subjects(stay) };
            step(When::Shrink, MirrorKind::Binding, binding, action)
        }
    }
}
