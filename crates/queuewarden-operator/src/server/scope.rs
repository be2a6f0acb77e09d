//! The part of an answer about access that a caller gets: the same for `QueueAccessReview`s and
//! `SubjectAccessReview`s.

use std::sync::Arc;

use super::caller::Caller;
use super::lookups::Lookups;
use super::permission::{Permission, forbidden, reason_against};
use super::refusal::Refusal;
use queuewarden_api::served::review::DEFAULT_PARTITION;
use queuewarden_api::served::{GROUP, VERSION};
use yunikorn::queue::lowered;
use yunikorn_access::review::{AccessRequest, administers};
use yunikorn_access::tree::Tree;

/// The part of the answer that a caller gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The whole answer.
    Whole,
    /// Only the part that concerns the caller.
    Own,
}

/// The permission to ask about every user.
const ABOUT_OTHERS: Permission = Permission {
    verb: "create",
    group: "authorization.k8s.io",
    version: "v1",
    resource: "subjectaccessreviews",
    name: String::new(),
};

/// Decides how much of the answer a caller gets. Administrators of the queue get all of it. So do callers
/// who may create `subjectaccessreviews`, about every user, and callers whom Kubernetes lets read the
/// queue, about themselves. All other callers get the part about themselves that concerns them, even while
/// Kubernetes cannot be reached. The queue is empty if the request matches none, and the tree `None` if its
/// queues are unknown.
///
/// # Errors
/// 403 for callers who may not ask about others; 503 where Kubernetes, which decides on that, cannot be
/// reached.
pub(super) async fn scope(
    lookups: &Lookups,
    caller: &Arc<Caller>,
    request: &AccessRequest<'_>,
    (tree, queue): (Option<&Tree>, &str),
    own_review: &str,
) -> Result<Scope, Refusal> {
    if administers(tree, &caller.identity, queue) {
        return Ok(Scope::Whole);
    }
    let is_own = request.is_about(&caller.identity);
    if is_own && matches!(against_reading(lookups, caller, request.partition, queue).await, Ok(None)) {
        return Ok(Scope::Whole);
    }
    match reason_against(lookups, caller, &ABOUT_OTHERS).await {
        Ok(None) => Ok(Scope::Whole),
        _ if is_own => Ok(Scope::Own),
        Ok(Some(reason)) => Err(Refusal::forbidden(format!(
            "about other users, and about more groups than your own, only an administrator of the queue may \
             ask, and whoever may create subjectaccessreviews; about yourself ask with a {own_review}: {}",
            forbidden(caller, &ABOUT_OTHERS, &reason)
        ))),
        Err(unknown) => Err(unknown),
    }
}

/// Checks the permission in Kubernetes as the endpoint of `queues` does: for one queue of the partition
/// that it serves by name, for the list of any other.
async fn against_reading(
    lookups: &Lookups,
    caller: &Arc<Caller>,
    partition: &str,
    queue: &str,
) -> Result<Option<String>, Refusal> {
    let queue = lowered(queue);
    let is_named = partition == DEFAULT_PARTITION && !queue.is_empty();
    let (verb, name) = if is_named { ("get", queue) } else { ("list", String::new()) };
    let permission = Permission { verb, group: GROUP, version: VERSION, resource: "queues", name };
    reason_against(lookups, caller, &permission).await
}
