//! The input of the user-info policy: the requester, the operation on an object, and each site in the object
//! that names the user of pods.

use std::collections::BTreeSet;

use super::names::Names;
use crate::running::joins::{OwnerPod, Running};
use go_compat::diag::quoted;
use yunikorn::admission::{AccessControl, Operation};

/// Maximum number of sites per object.
pub const MAX_SITES: usize = 256;

/// The phase of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// While mutating webhooks run: missing annotations and aliases can be added.
    Mutating,
    /// After all mutating webhooks: the object will be stored without further changes.
    Final,
}

/// A request on an object.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The operation.
    pub operation: Operation,
    /// The kind of the object, for messages.
    pub kind: &'a str,
    /// True if it is a `ReplicaSet`. If a `ReplicaSet` of a Deployment's controller were changed, the
    /// Deployment would endlessly create new ones.
    pub is_replica_set: bool,
    /// The authenticated user of the request.
    pub user: &'a str,
    /// The user's groups.
    pub groups: &'a [String],
    /// True if the positions of pod templates in this kind of object are known.
    pub has_templates: bool,
    /// The sites of the object.
    pub sites: &'a [Site],
    /// The object's namespace.
    pub namespace: &'a str,
    /// The running applications that the sites name, and the pod that makes the request.
    pub running: &'a Running,
    /// The resources that own the object.
    pub owners: &'a Owners,
    /// The aliases in effective ACLs.
    pub granted: &'a BTreeSet<String>,
    /// The phase of the request.
    pub moment: Moment,
}

impl Request<'_> {
    /// Returns whether the requester is a user of controllers, trusted or not.
    pub(super) fn is_of_controller(&self, access: &AccessControl) -> bool {
        access.system_users.matching(self.user).is_some()
    }

    /// Returns whether the requester is an operator's account.
    pub(super) fn is_of_operator(&self) -> bool {
        *self.owners != Owners::Irrelevant
    }
}

/// A site: a pod, a pod template, or an object whose annotations are copied to pods.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Site {
    /// The path of the site, such as `spec.template`; empty for a pod.
    pub location: String,
    /// The value of the annotation.
    pub given: Given,
    /// The value of the annotation before the request; [`Given::Absent`] if it was missing.
    pub old: Given,
    /// True if any part of the site changed.
    pub changed: bool,
    /// The first annotation key that is not valid for a pod, or an empty text.
    pub odd_key: String,
    /// The label `yunikorn.apache.org/username`; empty if missing.
    pub username: String,
    /// The application that it names, or an empty text if there is none or nobody else can have it.
    pub application: String,
    /// The pods that own it, if it is a pod with the annotation of a placeholder.
    pub placeholder: Option<Vec<OwnerPod>>,
    /// `spec.nodeName`, which makes the pods bypass the scheduler.
    pub node_name: String,
    /// True for a pod that `YuniKorn` schedules.
    pub is_scheduled: bool,
    /// The first changed label or annotation, except for the name, that can move the pods to another user,
    /// application or queue.
    pub moved_by: Option<&'static str>,
}

/// The value of the annotation `yunikorn.apache.org/user.info` at a site.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Given {
    /// No annotation.
    #[default]
    Absent,
    /// This text.
    Text(String),
    /// A value that is not a string, as JSON.
    Odd(String),
}

impl Site {
    /// Returns whether the request sets a new name here.
    pub fn is_named_anew(&self) -> bool {
        matches!(self.given, Given::Text(_)) && self.given != self.old
    }
}

impl Given {
    /// Returns whether the text may contain an alias: it contains the prefix of all aliases, or an escape of
    /// JSON that may represent it. The manifests in `manifests/user-info` send such texts to the webhook.
    pub fn may_have_aliases(&self) -> bool {
        matches!(self, Self::Text(text) if text.contains("qw-") || text.contains("\\u"))
    }
}

/// The resources that own the object of a request. An operator's account may pass on the names in them.
// An operator converts a resource to pods with its own code, which may find a name that no path of
// `templates` reaches. Therefore the pods are compared with the resource, in addition to the check of the
// resource.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Owners {
    /// The requester is not an operator's account, so owners are irrelevant.
    #[default]
    Irrelevant,
    /// All owners whose kind is in `templates`.
    Read(Vec<Owner>),
    /// The reason why an owner is unknown, as the end of a sentence.
    Unread(String),
}

/// A resource that owns the object of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The kind and name, for messages.
    pub object: String,
    /// The values of the annotation at the paths of its kind.
    pub texts: Vec<String>,
}

impl Owners {
    /// Returns why an operator's account may not write these names (or none), as the end of a sentence, or
    /// `None` if it may. If there are several owners, all must contain the names, because a user may have
    /// added one of them.
    pub(super) fn objection(&self, names: Option<&Names>) -> Option<String> {
        let why = match (self, names) {
            (Self::Irrelevant, _) => return None,
            (Self::Unread(why), _) => return Some(why.clone()),
            (Self::Read(_), None) => String::new(),
            (Self::Read(owners), Some(_)) if owners.is_empty() => {
                "no resource of a kind in spec.userInfo.templates owns it, and ".to_owned()
            }
            (Self::Read(owners), Some(names)) => {
                owners.iter().find_map(|owner| owner.objection(names))? + ", and "
            }
        };
        Some(format!("{why}an account in userInfo.operators only passes on the name in the owner"))
    }
}

impl Owner {
    fn objection(&self, names: &Names) -> Option<String> {
        let own: Vec<_> = self.texts.iter().filter_map(|text| Names::read(text).ok()).collect();
        if own.iter().any(|own| own.are_the_same_as(names)) {
            return None;
        }
        let who = match own.first() {
            _ if own.iter().any(|own| own.user() == names.user()) => "that user with other groups".to_owned(),
            Some(first) => format!("user {}", quoted(first.user())),
            None => "nobody".to_owned(),
        };
        Some(format!("{}, which owns it, names {who}", self.object))
    }
}
