//! Decides whether a pod may join a running application.
//!
//! `YuniKorn` checks no ACL for such pods: application, queue and quota are those of the first pod's user
//! (k8shim v1.8.0 `pkg/cache/context.go:917-952`), and an ID is not bound to a namespace. So a pod may only
//! name the ID of a running application of its own user in its own namespace, or be made by a pod of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Pod, owner};
use go_compat::diag::quoted;
use yunikorn::admission::request::USER_INFO;
use yunikorn::admission::user_info::Submitter;
use yunikorn::version::Version;

/// The pods that matter to one request. By default there are none, as where pods are not watched.
#[derive(Debug, Clone, Default)]
pub struct Running {
    /// The pod that makes the request, by its own token.
    creator: Option<Arc<Pod>>,
    /// The applications that the request names.
    named: BTreeMap<String, Named>,
}

/// A running application, by its oldest pod.
#[derive(Debug, Clone)]
struct Named {
    namespace: String,
    /// Empty: nobody's.
    owner: String,
}

/// A pod as named by the token that is bound to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundPod<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its UID: a later pod of the same name is another one.
    pub uid: &'a str,
}

impl Running {
    /// Finds the applications with these IDs among all pods. `creator` is the pod that makes the request.
    pub fn new<'p>(
        pods: impl Iterator<Item = &'p Arc<Pod>>,
        ids: &BTreeSet<&str>,
        creator: Option<Arc<Pod>>,
        version: Version,
    ) -> Self {
        let mut first: BTreeMap<&str, &Arc<Pod>> = BTreeMap::new();
        for pod in pods.filter(|pod| !pod.ended && ids.contains(&*pod.application)) {
            if first.get(&*pod.application).is_none_or(|known| age(pod) < age(known)) {
                first.insert(&pod.application, pod);
            }
        }
        let named = first.into_iter().map(|(id, pod)| {
            let owner = owner(&Submitter::from_pod(&pod.workload.pod, version));
            (id.to_owned(), Named { namespace: pod.workload.namespace.clone(), owner })
        });
        Self { creator, named: named.collect() }
    }

    /// The annotation `yunikorn.apache.org/user.info` of the pod that makes the request.
    pub fn creators_user_info(&self) -> Option<&str> {
        self.creator.as_ref()?.workload.pod.annotations.get(USER_INFO).map(String::as_str)
    }

    /// Names the application, and its owner, that a new pod of this user and namespace may not join; `None`
    /// where it may.
    pub fn objection(&self, id: &str, namespace: &str, user: &str) -> Option<String> {
        let Named { namespace: other, owner } = self.named.get(id)?;
        if self.creator.as_ref().is_some_and(|creator| creator.application == id) {
            return None;
        }
        let whose = if other == namespace {
            (!owner.is_empty() && owner != user).then_some("another user runs")?
        } else {
            "runs in another namespace"
        };
        Some(format!("application {}, which {whose}", quoted(id)))
    }
}

/// Sorts the oldest first. Pods of the same second also have an order, so that every evaluation takes the
/// same one.
fn age(pod: &Pod) -> (jiff::Timestamp, &str, &str) {
    (pod.created, &pod.workload.namespace, &pod.name)
}
