//! The input of the user-info policy: the requester, the operation on an object, and each site in it that
//! names the user of pods.

use std::collections::BTreeSet;

use super::names::Names;
use crate::running::joins::{OwnerPod, Running};
use go_compat::diag::quoted;
use yunikorn::admission::{AccessControl, Operation};

/// The most sites of one object.
pub const MAX_SITES: usize = 256;

/// The moment of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// While mutating webhooks run: a missing annotation, and missing aliases, can be added.
    Mutating,
    /// After all mutating webhooks: the object will be stored as it is.
    Final,
}

/// A request on an object.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The operation.
    pub operation: Operation,
    /// The object's kind, for people.
    pub kind: &'a str,
    /// True if it is a `ReplicaSet`: if the one that a Deployment's controller has made were changed, the
    /// Deployment would make another one, again and again.
    pub is_replica_set: bool,
    /// The user who makes the request, as authenticated by the API server.
    pub user: &'a str,
    /// The user's groups.
    pub groups: &'a [String],
    /// True if it is known where objects of its kind contain pod templates.
    pub has_templates: bool,
    /// The sites of the object.
    pub sites: &'a [Site],
    /// The object's namespace.
    pub namespace: &'a str,
    /// The applications that run, as far as the sites name them, and the pod that makes the request.
    pub running: &'a Running,
    /// The resources that own the object.
    pub owners: &'a Owners,
    /// The aliases that ACLs in force name.
    pub granted: &'a BTreeSet<String>,
    /// The moment of the request.
    pub moment: Moment,
}

impl Request<'_> {
    /// Returns whether the requester is one of the users that controllers run as. It does not matter here
    /// whether they are trusted.
    pub(super) fn is_of_controller(&self, access: &AccessControl) -> bool {
        access.system_users.matching(self.user).is_some()
    }

    /// Returns whether the requester is an operator's account.
    pub(super) fn is_of_operator(&self) -> bool {
        *self.owners != Owners::Irrelevant
    }
}

/// One site: a pod, a pod template, or an object whose annotations become those of pods.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Site {
    /// The path of the site, such as `spec.template`; empty for a pod.
    pub location: String,
    /// The annotation's value.
    pub given: Given,
    /// The annotation's value before the request; [`Given::Absent`] where there was none.
    pub old: Given,
    /// True if any part of it is changed.
    pub changed: bool,
    /// The first key of its annotations that no pod can have; empty for none.
    pub odd_key: String,
    /// The label `yunikorn.apache.org/username`; empty where it is absent.
    pub username: String,
    /// The application that it names; empty for none, and for one that nobody else can have.
    pub application: String,
    /// The pods that own it, if it is a pod with the annotation of a placeholder.
    pub placeholder: Option<Vec<OwnerPod>>,
    /// `spec.nodeName`, with which the pods bypass the scheduler.
    pub node_name: String,
    /// True for a pod that `YuniKorn` schedules.
    pub is_scheduled: bool,
    /// The first changed label or annotation, apart from the name, that can move the pods to another user,
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
    /// A value that is not text, as JSON.
    Odd(String),
}

impl Site {
    /// Returns whether the request writes a name here.
    pub fn is_named_anew(&self) -> bool {
        matches!(self.given, Given::Text(_)) && self.given != self.old
    }
}

impl Given {
    /// Returns whether it may have an alias: its text has the beginning of all aliases, or an escape of JSON
    /// that can stand for it. The manifests in `manifests/user-info` send such texts to the webhook.
    pub fn may_have_aliases(&self) -> bool {
        matches!(self, Self::Text(text) if text.contains("qw-") || text.contains("\\u"))
    }
}

/// The resources that own the object of a request: an operator's account may pass on the names in them.
// An operator has its own code to turn a resource into pods, and its parsers may find a name that no path of
// `templates` leads to. So the pods are compared with the resource, and not only the resource is checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Owners {
    /// The requester is no operator's account, so owners do not matter.
    #[default]
    Irrelevant,
    /// All owners of a kind in `templates`.
    Read(Vec<Owner>),
    /// The reason why an owner is unknown, as the end of a sentence.
    Unread(String),
}

/// A resource that owns the object of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its kind and name, for people.
    pub object: String,
    /// The annotation's values at the paths of its kind.
    pub texts: Vec<String>,
}

impl Owners {
    /// Returns why an operator's account may not write these names, or none, as the end of a sentence; `None`
    /// if it may. If there are several owners, each has to have the names: a user may have added one of them.
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
