//! Roles and bindings as plain data. The mirror only ever writes these two kinds, each with these parts and no other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The label of every object of the mirror; only objects that have it are looked at.
pub const MIRROR_LABEL: &str = "queuewarden.dev/mirror";
/// Its value.
pub const MIRROR_VALUE: &str = "rbac";

/// A kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `ClusterRole`
    Role,
    /// `ClusterRoleBinding`
    Binding,
}

/// A rule of a role (`rules[]`, `rbac.authorization.k8s.io/v1`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rule {
    /// `apiGroups`
    pub groups: Vec<String>,
    /// `resources`
    pub resources: Vec<String>,
    /// `resourceNames`. None would mean every name, so the mirror writes no rule without.
    pub names: Vec<String>,
    /// `verbs`
    pub verbs: Vec<String>,
}

/// A subject of a binding.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// A user.
    User(String),
    /// A group.
    Group(String),
}

/// What is in an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A role's rules.
    Role(Vec<Rule>),
    /// Whom a binding gives the role of its own name.
    Binding(BTreeSet<Subject>),
    /// Something that the mirror does not write, such as a service account, or an aggregated role.
    Other,
    /// A binding to another role. That cannot be changed (`roleRef` is immutable), only deleted.
    OtherRole,
}

/// An object as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.resourceVersion`
    pub resource_version: String,
    /// `metadata.uid` of the `YuniKornConfig` that owns it.
    pub owner: Option<String>,
    /// What is in it.
    pub content: Content,
}

/// The objects with the label, as they stand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mirror {
    /// The roles by name.
    pub roles: BTreeMap<String, Arc<Standing>>,
    /// The bindings by name.
    pub bindings: BTreeMap<String, Arc<Standing>>,
    /// Whether all of them were read.
    pub synced: bool,
    /// Why they cannot be read now.
    pub problem: Option<String>,
}

impl Mirror {
    /// Whether one can say what is there, and what is not.
    pub(super) fn is_known(&self) -> bool {
        self.synced && self.problem.is_none()
    }
}

impl Kind {
    /// As in `kind:`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Role => "ClusterRole",
            Self::Binding => "ClusterRoleBinding",
        }
    }
}
