//! Permissions: Kubernetes decides, through `SubjectAccessReview`, whether a caller may do something, and
//! therefore how much of an answer about access they get. This includes requests that the API server has
//! already let through, because they may have come another way.

use std::sync::Arc;

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};
use moka::future::Cache;

use super::api_error::ApiError;
use super::caller::Caller;
use super::lookups::cache;
use queuewarden_api::aggregated_api::review::DEFAULT_PARTITION;
use queuewarden_api::aggregated_api::{GROUP, VERSION};
use queuewarden_client::call::call;
use yunikorn::queue::lowered;
use yunikorn_access::review::{AccessRequest, administers};
use yunikorn_access::tree::Tree;

/// The group that may do everything with every authorizer
/// (`k8s.io/apiserver/pkg/server/options/authorization.go`, `WithAlwaysAllowGroups`).
const MASTERS: &str = "system:masters";

/// Cluster-scoped access that a caller needs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Permission {
    pub(super) verb: &'static str,
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) resource: &'static str,
    /// The name of the object; empty for all objects.
    pub(super) name: String,
}

/// The permission to ask about every user.
const ABOUT_OTHERS: Permission = Permission {
    verb: "create",
    group: "authorization.k8s.io",
    version: "v1",
    resource: "subjectaccessreviews",
    name: String::new(),
};

/// The part of the answer that a caller gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The whole answer.
    Whole,
    /// Only the part that concerns the caller.
    Own,
}

/// Queries permissions in Kubernetes.
#[expect(missing_debug_implementations, reason = "kube's client does not implement Debug")]
pub struct Permissions {
    reviews: Api<SubjectAccessReview>,
    /// Why a caller may not do something, or `None` if they may. Denials are cached too, so repeated denied
    /// requests cause no more lookups than allowed ones. Kubernetes' own delegated authorizers cache both for
    /// ten seconds (`k8s.io/apiserver/pkg/server/options/authorization.go`, `allowCacheTTL`, `denyCacheTTL`).
    pub(super) reasons: Cache<(Arc<Caller>, Permission), Option<String>>,
}

impl Permissions {
    /// Returns the permissions without anything cached.
    pub fn new(client: Client) -> Self {
        let reasons = cache(|(caller, permission): &(Arc<Caller>, Permission), reason: &Option<String>| {
            caller.bytes() + permission.name.len() + reason.as_ref().map_or(0, String::len)
        });
        Self { reviews: Api::all(client), reasons }
    }

    /// Requires that a caller has this access.
    ///
    /// # Errors
    /// When they do not have it, or the permission cannot be determined.
    #[cfg(feature = "access-api")]
    pub(super) async fn demand(&self, caller: &Arc<Caller>, permission: &Permission) -> Result<(), ApiError> {
        match self.reason_against(caller, permission).await? {
            None => Ok(()),
            Some(reason) => Err(ApiError::forbidden(forbidden(caller, permission, &reason))),
        }
    }

    /// Returns why a caller does not have this access, or `None` if they do.
    ///
    /// # Errors
    /// When the permission cannot be determined. The status is never 403, which callers would take for a
    /// denial.
    pub(super) async fn reason_against(
        &self,
        caller: &Arc<Caller>,
        permission: &Permission,
    ) -> Result<Option<String>, ApiError> {
        if caller.identity.groups.iter().any(|group| group == MASTERS) {
            return Ok(None);
        }
        let key = (Arc::clone(caller), permission.clone());
        if let Some(reason) = self.reasons.get(&key).await {
            return Ok(reason);
        }
        let ask = async {
            let spec = SubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    verb: some(permission.verb),
                    group: some(permission.group),
                    version: some(permission.version),
                    resource: some(permission.resource),
                    name: some(&permission.name),
                    ..ResourceAttributes::default()
                }),
                user: Some(caller.identity.user.clone()),
                groups: Some(caller.identity.groups.clone()),
                uid: some(&caller.uid),
                extra: (!caller.extra.is_empty()).then(|| caller.extra.clone()),
                ..SubjectAccessReviewSpec::default()
            };
            let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
            let answer = call(self.reviews.create(&PostParams::default(), &review)).await;
            let answer = answer.map_err(|error| error.to_string())?;
            let status = answer.status.unwrap_or_default();
            let allowed = status.allowed && status.denied != Some(true);
            Ok((!allowed).then(|| status.reason.unwrap_or_default()))
        };
        Box::pin(self.reasons.try_get_with(key, ask)).await.map_err(|error: Arc<String>| {
            tracing::warn!(%error, "Cannot check permissions with Kubernetes");
            ApiError::unavailable(format!("cannot check your permissions with Kubernetes: {error}"))
        })
    }

    /// Decides how much of the answer a caller gets. Administrators of the queue get all of it. So do callers
    /// who may create `subjectaccessreviews`, for every user, and callers with Kubernetes' permission to read
    /// the queue, for themselves. All other callers get the part about themselves that concerns them, even
    /// while Kubernetes cannot be reached. The queue is empty if the request matches none, and the tree
    /// `None` if its queues are unknown.
    ///
    /// # Errors
    /// 403 for callers who may not ask about others; 503 if Kubernetes, which decides on that, cannot be
    /// reached.
    pub(super) async fn scope(
        &self,
        caller: &Arc<Caller>,
        request: &AccessRequest<'_>,
        (tree, queue): (Option<&Tree>, &str),
        own_review: &str,
    ) -> Result<Scope, ApiError> {
        if administers(tree, &caller.identity, queue) {
            return Ok(Scope::Whole);
        }
        let is_own = request.is_about(&caller.identity);
        if is_own && matches!(self.reason_against(caller, &reading(request.partition, queue)).await, Ok(None))
        {
            return Ok(Scope::Whole);
        }
        match self.reason_against(caller, &ABOUT_OTHERS).await {
            Ok(None) => Ok(Scope::Whole),
            _ if is_own => Ok(Scope::Own),
            Ok(Some(reason)) => Err(ApiError::forbidden(format!(
                "only administrators of the queue, and users who may create subjectaccessreviews, may ask \
                 about other users or about groups that you are not in; to check your own access, create a \
                 {own_review}: {}",
                forbidden(caller, &ABOUT_OTHERS, &reason)
            ))),
            Err(unknown) => Err(unknown),
        }
    }
}

/// Returns the permission that the endpoint of `queues` requires: for one queue, by name, in the partition
/// that the endpoint serves; for any other, permission for the list.
fn reading(partition: &str, queue: &str) -> Permission {
    let queue = lowered(queue);
    let is_named = partition == DEFAULT_PARTITION && !queue.is_empty();
    let (verb, name) = if is_named { ("get", queue) } else { ("list", String::new()) };
    Permission { verb, group: GROUP, version: VERSION, resource: "queues", name }
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the message that API servers print
/// (`k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go`, `ForbiddenStatusError`).
fn forbidden(caller: &Caller, permission: &Permission, reason: &str) -> String {
    let name = if permission.name.is_empty() { String::new() } else { format!(" {:?}", permission.name) };
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    format!(
        "{}.{}{name} is forbidden: User {:?} cannot {} resource {:?} in API group {:?} at the cluster scope{reason}",
        permission.resource,
        permission.group,
        caller.identity.user,
        permission.verb,
        permission.resource,
        permission.group
    )
}
