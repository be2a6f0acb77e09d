//! Permissions: Kubernetes decides, by `SubjectAccessReview`, whether a caller may do something. This
//! covers requests that its API server has let through already, because they may have come another way.
//!
//! Answers are cached for seconds ([`super::lookups`]).

use std::sync::Arc;

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::Api;
use kube::api::PostParams;

use crate::server::caller::Caller;
use crate::server::lookups::Lookups;
use crate::server::refusal::Refusal;
use queuewarden_client::call::call;

/// The group that every authorizer lets do everything
/// (`k8s.io/apiserver/pkg/server/options/authorization.go`, `WithAlwaysAllowGroups`).
const MASTERS: &str = "system:masters";

/// An access that a caller needs. No such access is in a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Permission {
    pub(super) verb: &'static str,
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) resource: &'static str,
    /// The name of the object; empty for all of them.
    pub(super) name: String,
}

/// Requires that a caller has this access.
///
/// # Errors
/// When they have not, or the permission cannot be determined.
#[cfg(feature = "access-api")]
pub(super) async fn demand(
    lookups: &Lookups,
    caller: &Arc<Caller>,
    permission: &Permission,
) -> Result<(), Refusal> {
    match reason_against(lookups, caller, permission).await? {
        None => Ok(()),
        Some(reason) => Err(Refusal::forbidden(forbidden(caller, permission, &reason))),
    }
}

/// Returns why a caller has not this access; `None` when they have.
///
/// # Errors
/// When the permission cannot be determined; never with 403, by which callers tell that it is denied.
pub(super) async fn reason_against(
    lookups: &Lookups,
    caller: &Arc<Caller>,
    permission: &Permission,
) -> Result<Option<String>, Refusal> {
    if caller.identity.groups.iter().any(|group| group == MASTERS) {
        return Ok(None);
    }
    let key = (Arc::clone(caller), permission.clone());
    if let Some(known) = lookups.permissions.get(&key).await {
        return Ok(known);
    }
    let ask = async {
        let reviews: Api<SubjectAccessReview> = Api::all(lookups.client.clone());
        let review = SubjectAccessReview { spec: spec(caller, permission), ..SubjectAccessReview::default() };
        let answer = call(reviews.create(&PostParams::default(), &review)).await;
        let answer = answer.map_err(|error| error.to_string())?;
        let status = answer.status.unwrap_or_default();
        let allowed = status.allowed && status.denied != Some(true);
        Ok((!allowed).then(|| status.reason.unwrap_or_default()))
    };
    Box::pin(lookups.permissions.try_get_with(key, ask)).await.map_err(|error: Arc<String>| {
        tracing::warn!(%error, "Cannot ask Kubernetes who may do what");
        Refusal::unavailable(format!("cannot ask Kubernetes whether you may: {error}"))
    })
}

fn spec(caller: &Caller, permission: &Permission) -> SubjectAccessReviewSpec {
    SubjectAccessReviewSpec {
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
    }
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the message that API servers print
/// (`k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go`, `ForbiddenStatusError`).
pub(super) fn forbidden(caller: &Caller, permission: &Permission, reason: &str) -> String {
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
