//! Who may write a `QueueAcl` although they do not administer its queue: whom Kubernetes lets `escalate` them.
//!
//! The verb is Kubernetes' own for writing more than one holds (RBAC's on roles). Cluster administrators have it by `*`; it is in
//! the shipped role `queuewarden-editor`, and not in `queuewarden-delegate`.

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};

use crate::api::GROUP;
use crate::api::review::change::Asked;
use crate::operator::call::{Error, call};

/// The verb.
pub(super) const ESCALATE: &str = "escalate";

/// Whether it is Kubernetes itself that tidies up: a garbage collector deletes what an owner takes with it, a migrator writes back what it
/// read. They may not write a spec. Whoever runs pods in kube-system has the cluster anyway.
pub(super) fn is_housekeeping(asked: &Asked) -> bool {
    let spec = |object: &Option<serde_json::Value>| object.as_ref().and_then(|object| object.get("spec")).cloned();
    let user = asked.by.user.as_str();
    let theirs = user.starts_with("system:serviceaccount:kube-system:") || user == "system:kube-controller-manager";
    let tidies = match asked.operation.as_str() {
        "DELETE" => true,
        "UPDATE" => spec(&asked.object) == spec(&asked.old),
        _ => false,
    };
    theirs && tidies
}

/// Asks Kubernetes.
pub(super) async fn may_escalate(client: &Client, asked: &Asked) -> Result<bool, Error> {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(asked.by.user.clone()),
            groups: Some(asked.by.groups.clone()),
            uid: some(&asked.by_uid),
            extra: (!asked.extra.is_empty()).then(|| asked.extra.clone()),
            resource_attributes: Some(ResourceAttributes {
                verb: some(ESCALATE),
                group: some(GROUP),
                resource: some("queueacls"),
                name: some(&asked.name),
                ..ResourceAttributes::default()
            }),
            non_resource_attributes: None,
        },
        ..SubjectAccessReview::default()
    };
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    let status = call(reviews.create(&PostParams::default(), &review)).await?.status.unwrap_or_default();
    Ok(status.allowed && status.denied != Some(true))
}
