//! Decides whether a pod may join an application.
//!
//! `YuniKorn` checks no ACL for such pods: they use the application, queue and quota of the first pod's user
//! (k8shim v1.8.0 `pkg/cache/context.go:917-952`), and an ID is not bound to a namespace. A pod may therefore
//! join only if the application has the same user and namespace, if a pod of the application creates it, or
//! if it is a placeholder that `YuniKorn` creates for such a pod.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Pod, id_of, starter};
use crate::alias::unescaped;
use go_compat::diag::quoted;
use yunikorn::admission::request::USER_INFO;

/// The pods and applications that matter to one request. The default is empty, as if pods were not watched.
#[derive(Debug, Clone, Default)]
pub struct Running {
    /// The pod that makes the request with its own token.
    pub(super) creator: Option<Arc<Pod>>,
    /// The pods that own the placeholder, if the request creates one.
    pub(super) owners: Vec<Arc<Pod>>,
    /// The applications that the request names.
    pub(super) named: BTreeMap<String, Standing>,
}

/// The pods and applications that a request names.
#[derive(Debug, Clone, Default)]
pub struct Wanted<'a> {
    /// The IDs of applications.
    pub applications: BTreeSet<&'a str>,
    /// The pod that makes the request.
    pub creator: Option<BoundPod<'a>>,
    /// The pods that own a placeholder.
    pub owners: Vec<BoundPod<'a>>,
}

impl Wanted<'_> {
    /// Returns whether the request names nothing.
    pub fn is_empty(&self) -> bool {
        self.applications.is_empty() && self.creator.is_none()
    }
}

/// The state of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It belongs to a user and a namespace.
    Taken {
        /// The user of its first pod; empty if it belongs to nobody.
        owner: String,
        /// The namespace of its first pod, if known.
        namespace: Option<String>,
        /// True if its last pod has ended.
        ended: bool,
    },
    /// It is unknown whether the application is free, for this reason.
    Unknown(String),
    /// No pod has this ID.
    Free,
}

/// A pod in a bound token or an owner reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundPod<'a> {
    /// The namespace.
    pub namespace: &'a str,
    /// The name.
    pub name: &'a str,
    /// The UID, which distinguishes it from a later pod of the same name.
    pub uid: &'a str,
}

/// A pod in `metadata.ownerReferences`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerPod {
    /// The name.
    pub name: String,
    /// The UID.
    pub uid: String,
}

impl OwnerPod {
    /// Returns the pod in this namespace. An owner is in the namespace of the object it owns.
    pub fn within<'a>(&'a self, namespace: &'a str) -> BoundPod<'a> {
        BoundPod { namespace, name: &self.name, uid: &self.uid }
    }
}

/// The reason why a pod may not join an application, as the object of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    /// The application and the reason.
    pub application: String,
    /// True if it belongs to another user or namespace, false if its owner is unknown.
    pub is_certain: bool,
}

impl Running {
    /// Returns the annotation `yunikorn.apache.org/user.info` of the pod that makes the request, if that pod
    /// is in this namespace.
    pub fn creators_user_info(&self, namespace: &str) -> Option<&str> {
        self.creator.as_deref().filter(|creator| creator.workload.namespace == namespace).and_then(user_info)
    }

    /// Returns the annotation `yunikorn.apache.org/user.info` of the pod that owns the placeholder, or `None`
    /// if that pod is not a member of this application in this namespace.
    pub fn originators_user_info(&self, id: &str, namespace: &str) -> Option<&str> {
        let standing = self.named.get(&*id_of(id))?;
        let originator = self
            .owners
            .iter()
            .find(|owner| owner.workload.namespace == namespace && is_member(owner, &id_of(id), standing));
        originator.map(Arc::as_ref).and_then(user_info)
    }

    /// Returns whether a pod that owns a placeholder is known.
    pub fn knows_owner(&self) -> bool {
        !self.owners.is_empty()
    }

    /// Returns the IDs that no known pod has. The scheduler may nevertheless have such an application.
    pub fn unsettled(&self) -> Vec<String> {
        let unsettled = |(_, standing): &(&String, &Standing)| !matches!(standing, Standing::Taken { .. });
        self.named.iter().filter(unsettled).map(|(id, _)| id.clone()).collect()
    }

    /// Stores the scheduler's answer about such an ID: the user of the application, `None` if there is no
    /// such application, or an error if there is no answer.
    pub fn learn(&mut self, id: &str, user: Result<Option<&str>, &str>) {
        let Some(standing) = self.named.get_mut(id) else { return };
        match user {
            Ok(None) => *standing = Standing::Free,
            Ok(Some(user)) => {
                let owner = unescaped(user).into_owned();
                *standing = Standing::Taken { owner, namespace: None, ended: false };
            }
            Err(why) => {
                if let Standing::Unknown(reason) = standing {
                    *reason = format!("{reason}, and {why}");
                }
            }
        }
    }

    /// Returns why a new pod of this user and namespace may not join an application, or `None` if it may.
    pub fn objection(&self, id: &str, namespace: &str, user: &str) -> Option<Objection> {
        let standing = self.named.get(&*id_of(id))?;
        if self.creator.as_ref().is_some_and(|creator| is_member(creator, &id_of(id), standing)) {
            return None;
        }
        let id = quoted(id);
        let (owner, elsewhere, ended) = match standing {
            Standing::Free => return None,
            Standing::Unknown(why) => {
                let application =
                    format!("application {id}, and it is unknown whether another user runs it: {why}");
                return Some(Objection { application, is_certain: false });
            }
            Standing::Taken { owner, namespace: other, ended } => {
                (owner, other.as_ref().is_some_and(|other| other != namespace), *ended)
            }
        };
        let whose = match (elsewhere, ended) {
            (false, _) if owner.is_empty() || owner == user => return None,
            (false, false) => "another user runs",
            (false, true) => "another user ran less than a minute ago",
            (true, false) => "runs in another namespace",
            (true, true) => "ran in another namespace less than a minute ago",
        };
        Some(Objection { application: format!("application {id}, which {whose}"), is_certain: true })
    }
}

/// Returns whether a pod belongs to an application. Its label alone is not sufficient.
fn is_member(pod: &Pod, id: &str, standing: &Standing) -> bool {
    let Standing::Taken { owner, namespace: Some(namespace), .. } = standing else { return false };
    pod.application == id && pod.workload.namespace == *namespace && starter(pod) == *owner
}

fn user_info(pod: &Pod) -> Option<&str> {
    pod.workload.pod.annotations.get(USER_INFO).map(String::as_str)
}
