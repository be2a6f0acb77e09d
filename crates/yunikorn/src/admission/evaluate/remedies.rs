//! The changes that would let a requester set `user.info`, or a way to do without.

use crate::admission::access::AccessControl;
use crate::admission::request::USER_INFO;
use go_compat::diag::quoted;

/// Groups that contain everyone, or every service account. Granting them is not a way to name somebody.
const EVERYONE: [&str; 3] = ["system:authenticated", "system:unauthenticated", "system:serviceaccounts"];

/// The changes that would let this requester set `user.info`, the smallest first. The first one does without,
/// the others are in fields of an `AdmissionPolicy`.
pub fn remedies(user: &str, groups: &[String], access: &AccessControl) -> Vec<String> {
    let mut remedies = vec![format!("leave {USER_INFO} out, so that it becomes the requester's own name")];
    if let Some(pattern) = access.system_users.matching(user) {
        let pattern = quoted(pattern.as_str());
        remedies.push(format!("set trustControllers to true: systemUsers has {pattern}"));
    }
    let add = |name: &str, list: &str| format!("add {} to {list}", quoted(&exactly(name)));
    if !user.is_empty() {
        remedies.push(add(user, "externalUsers"));
    }
    let mut named: Vec<&String> =
        groups.iter().filter(|group| !group.is_empty() && !EVERYONE.contains(&group.as_str())).collect();
    named.dedup();
    remedies.extend(named.into_iter().map(|group| add(group, "externalGroups")));
    remedies
}

/// The expression that matches this name alone. A list is split at its commas, so commas are escaped.
fn exactly(name: &str) -> String {
    format!("^{}$", regex_syntax::escape(name).replace(',', r"\x2C"))
}
