//! Roles and bindings as plain data. The mirror only ever writes these two kinds, each with these parts and
//! no other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The label of every object of the mirror; the mirror ignores all other objects.
pub const MIRROR_LABEL: &str = "queuewarden.dev/mirror";
/// The value of [`MIRROR_LABEL`].
pub const MIRROR_VALUE: &str = "rbac";

/// A kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MirrorKind {
    /// `ClusterRole`
    Role,
    /// `ClusterRoleBinding`
    Binding,
}

/// A rule of a role (`rules[]`, `rbac.authorization.k8s.io/v1`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MirrorRule {
    /// `apiGroups`
    pub groups: Vec<String>,
    /// `resources`
    pub resources: Vec<String>,
    /// `resourceNames`. An empty list would mean every name, so the mirror never writes one.
    pub names: Vec<String>,
    /// `verbs`
    pub verbs: Vec<String>,
}

/// A subject of a binding.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MirrorSubject {
    /// A user.
    User(String),
    /// A group.
    Group(String),
}

/// The content of a role or a binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MirrorContent {
    /// A role's rules.
    Role(Vec<MirrorRule>),
    /// The subjects to which a binding gives the role of the same name.
    Binding(BTreeSet<MirrorSubject>),
    /// Something that the mirror does not write, such as a service account, an aggregated role, or a binding
    /// to another role, which cannot be changed (`roleRef` is immutable), only deleted.
    Other,
}

/// An object of the mirror as it is in the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorObject {
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.resourceVersion`
    pub resource_version: String,
    /// `metadata.uid` of the `YuniKornConfig` that owns it.
    pub owner: Option<String>,
    /// The rules or subjects in it.
    pub content: MirrorContent,
}

/// The objects with the label, as they are in the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mirror {
    /// The roles by name.
    pub roles: BTreeMap<String, Arc<MirrorObject>>,
    /// The bindings by name.
    pub bindings: BTreeMap<String, Arc<MirrorObject>>,
    /// True if all of them were read.
    pub synced: bool,
    /// The reason why they cannot be read now.
    pub problem: Option<String>,
}

impl Mirror {
    /// Returns whether the objects in the cluster are fully known.
    pub(crate) fn is_known(&self) -> bool {
        self.synced && self.problem.is_none()
    }
}

impl MirrorKind {
    /// Returns the name as in `kind:`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Role => "ClusterRole",
            Self::Binding => "ClusterRoleBinding",
        }
    }
}

impl MirrorSubject {
    /// `name`
    pub fn name(&self) -> &str {
        match self {
            Self::User(name) | Self::Group(name) => name,
        }
    }
}
