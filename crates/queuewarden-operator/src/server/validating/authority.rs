//! The permission to write a `QueueAcl` without administering its queue: Kubernetes' verb `escalate`.
//!
//! The verb is Kubernetes' own for writing more than one has (RBAC's on roles). Cluster administrators have
//! it by `*`; it is in
//! the shipped role `queuewarden-editor`, and not in `queuewarden-delegate`.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::server::api_error::ApiError;
use crate::server::caller::Caller;
use crate::server::permission::{Permission, Permissions};
use queuewarden_api::review::envelope::AdmissionRequest;
use queuewarden_api::review::part;
use queuewarden_api::{GROUP, VERSION};

/// The permission for all objects, whatever their name.
const ESCALATE: Permission = Permission {
    verb: "escalate",
    group: GROUP,
    version: VERSION,
    resource: "queueacls",
    name: String::new(),
};

/// Returns whether Kubernetes' own controllers clean up: a garbage collector deletes the dependents of an
/// owner, a migrator writes back what it read. They may not change a spec. A user who runs pods in
/// kube-system controls the cluster anyway.
pub(super) fn is_housekeeping(request: &AdmissionRequest) -> bool {
    let user = request.by.user.as_str();
    let theirs =
        user.starts_with("system:serviceaccount:kube-system:") || user == "system:kube-controller-manager";
    let tidies = match request.operation.as_str() {
        "DELETE" => true,
        // As the API server writes them, equal specs have the same bytes.
        "UPDATE" => spec(request.object.as_deref()) == spec(request.old.as_deref()),
        _ => false,
    };
    theirs && tidies
}

fn spec(object: Option<&RawValue>) -> Option<&str> {
    part::member(object?, "spec").ok().flatten().map(RawValue::get)
}

/// Checks the permission in Kubernetes.
///
/// # Errors
/// When it cannot be determined.
pub(super) async fn may_escalate(
    permissions: &Permissions,
    request: &AdmissionRequest,
) -> Result<bool, ApiError> {
    let caller = Arc::new(Caller {
        identity: request.by.clone(),
        uid: request.by_uid.clone(),
        extra: request.extra.clone(),
    });
    Ok(permissions.reason_against(&caller, &ESCALATE).await?.is_none())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn request(user: &str, operation: &str, old: &Value, new: &Value) -> AdmissionRequest {
        let request =
            json!({"userInfo": {"username": user}, "operation": operation, "object": new, "oldObject": old});
        AdmissionRequest::read(json!({"request": request}).to_string().as_bytes()).unwrap()
    }

    #[test]
    fn kubernetes_tidies_up_and_writes_no_spec() {
        let collector = "system:serviceaccount:kube-system:generic-garbage-collector";
        let (one, same, other) = (
            json!({"spec": {"queue": "root.a"}}),
            json!({"metadata": {"finalizers": []}, "spec": {"queue": "root.a"}}),
            json!({"spec": {"queue": "root.b"}}),
        );
        for (user, operation, new, expected) in [
            (collector, "DELETE", &Value::Null, true),
            (collector, "UPDATE", &same, true),
            (collector, "UPDATE", &other, false),
            (collector, "CREATE", &one, false),
            ("system:kube-controller-manager", "DELETE", &Value::Null, true),
            ("system:serviceaccount:default:generic-garbage-collector", "DELETE", &Value::Null, false),
            ("system:serviceaccount:kube-systems:x", "DELETE", &Value::Null, false),
            ("sue", "UPDATE", &same, false),
        ] {
            assert_eq!(is_housekeeping(&request(user, operation, &one, new)), expected, "{user} {operation}");
        }
    }
}
