//! Condition `Mirrored` of the `YuniKornConfig`.

use super::desired::Desired;
use super::object::Mirror;
use crate::conditions::{Finding, Reason, Type};
use crate::output::rejection;
use crate::snapshot::WriteFailure;
use go_compat::diag::plural;

/// Instructions for removing a mirror that queuewarden may not remove.
const BY_HAND: &str = "apply manifests/rbac-mirror, or remove it by hand: kubectl delete clusterrolebindings,clusterroles -l queuewarden.dev/mirror=rbac";

/// Returns the condition; none once there is neither a mirror nor to be one. `on` is true if there is to be one,
/// `steps` are left to the desired one, and `failure` is why the last one failed.
pub(super) fn finding(
    on: bool,
    mirror: &Mirror,
    desired: &Result<Desired, String>,
    steps: usize,
    failure: Option<&WriteFailure>,
) -> Option<Finding> {
    let no = |reason, message: String| Some(Finding::no(Type::Mirrored, reason, message));
    if let Some(problem) = &mirror.problem {
        let hint = if on { "apply manifests/rbac-mirror, or set rbacMirror: Disabled" } else { BY_HAND };
        let message =
            format!("queuewarden may not read ClusterRoles and ClusterRoleBindings; {hint}: {problem}");
        return no(Reason::Forbidden, message);
    }
    if !mirror.synced {
        let message = "the ClusterRoles and ClusterRoleBindings of the mirror are being read";
        return Some(Finding::unknown(Type::Mirrored, Reason::Pending, message));
    }
    match failure {
        Some(WriteFailure::Forbidden(message)) => {
            let hint = if on { "apply manifests/rbac-mirror" } else { BY_HAND };
            return no(Reason::Forbidden, format!("the mirror may not be written; {hint}: {message}"));
        }
        Some(WriteFailure::Rejected(message)) => return no(rejection(message), message.clone()),
        Some(WriteFailure::Transient(message)) => return no(Reason::Pending, message.clone()),
        None => {}
    }
    match desired {
        Err(why) => {
            let message = format!("the mirror stays as it is: {why}");
            Some(Finding::unknown(Type::Mirrored, Reason::ConfigNotReady, message))
        }
        Ok(_) if steps > 0 => {
            no(Reason::Pending, if on { "the mirror is being written" } else { "it is being removed" }.into())
        }
        Ok(_) if !on => None,
        Ok(Desired { left_out: Some(first), .. }) => {
            let message = format!(
                "the mirror is full: {first} and those after it are not in it, so Kubernetes says no where they say yes"
            );
            no(Reason::TooLarge, message)
        }
        Ok(Desired { pairs, left_out: None }) => {
            let roles = plural(pairs.len(), "ClusterRole");
            let message = format!("the ACLs of partition `default` stand in {roles}");
            Some(Finding::yes(Type::Mirrored, Reason::Mirrored, message))
        }
    }
}
