//! The next steps towards the desired mirror, which never grants more on the way than it did before or will
//! afterwards.
//!
//! A role and its binding are two objects, and nothing changes both at once. So subjects are removed from the
//! binding before the role changes, and added afterwards: at each moment the pair grants at most what it
//! granted before, or at most what it should grant.

use std::collections::BTreeSet;

use super::desired::{self, Desired, Pair};
use super::{Changes, is_ours};
use crate::snapshot::{Content, Kind, Mirror, MirrorObject, Rule, Subject};

/// The maximal number of steps before everything is read again, so that a new ACL does not wait for a large
/// mirror.
pub(super) const MAX_STEPS: usize = 64;

/// One write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The kind of the object.
    pub kind: Kind,
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid` and `metadata.resourceVersion` of the observed object: the precondition. `None`: there
    /// was no object.
    pub last: Option<(String, String)>,
    /// The change to make.
    pub action: Action,
}

/// The state that a step is to lead to, whatever was observed before.
pub type TargetState = (Kind, String, Action);

/// Returns the states that the steps are to lead to.
pub fn target_states(changes: &Changes) -> Vec<TargetState> {
    changes.steps.iter().map(|step| (step.kind, step.name.clone(), step.action.clone())).collect()
}

/// A change of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Action {
    /// Creates the object, or replaces its content by this.
    Rules(Vec<Rule>),
    /// Creates the object, or replaces its content by this.
    Subjects(BTreeSet<Subject>),
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
pub(super) fn next(mirror: &Mirror, desired: &Desired, owner: &str) -> Vec<Step> {
    let names: BTreeSet<&String> =
        mirror.roles.keys().chain(mirror.bindings.keys()).chain(desired.pairs.keys()).collect();
    let mut steps: Vec<(When, Step)> = names
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
    pair: Option<&Pair>,
    owner: &str,
) -> Option<(When, Step)> {
    let step = |when, kind, current: Option<&MirrorObject>, action| {
        let seen = current.map(|current| (current.uid.clone(), current.resource_version.clone()));
        Some((when, Step { kind, name: name.to_owned(), last: seen, action }))
    };
    let Some(pair) = pair else {
        return match (binding, role) {
            (Some(_), _) => step(When::Shrink, Kind::Binding, binding, Action::Delete),
            (None, Some(_)) => step(When::Tidy, Kind::Role, role, Action::Delete),
            (None, None) => None,
        };
    };
    let bound = match binding.map(|binding| &binding.content) {
        Some(Content::Binding(subjects)) => Some(subjects),
        // The access it grants is not known to be right, and a binding to another role cannot be changed.
        Some(_) => return step(When::Shrink, Kind::Binding, binding, Action::Delete),
        None => None,
    };
    // Subjects beyond the desired ones.
    let surplus = bound.filter(|bound| !bound.is_subset(&pair.subjects));
    let is = |current: Option<&MirrorObject>, content: &Content| {
        current.is_some_and(|it| it.content == *content && it.owner.as_deref() == Some(owner))
    };
    if is(role, &Content::Role(pair.rules.clone())) {
        if is(binding, &Content::Binding(pair.subjects.clone())) {
            return None;
        }
        let when = if surplus.is_some() { When::Shrink } else { When::Grow };
        return step(when, Kind::Binding, binding, Action::Subjects(pair.subjects.clone()));
    }
    match surplus {
        None => step(When::Change, Kind::Role, role, Action::Rules(pair.rules.clone())),
        Some(bound) => {
            let stay: BTreeSet<_> = bound.intersection(&pair.subjects).cloned().collect();
            // The API server lets only those write a binding who hold all that its role allows; deleting one
            // needs no such rights.
            let held = role.is_some_and(|role| desired::wrote(&role.content));
            let action = if stay.is_empty() || !held { Action::Delete } else { Action::Subjects(stay) };
            step(When::Shrink, Kind::Binding, binding, action)
        }
    }
}
