//! The steps of a decision as data, and the changes that would lead to another one.

use std::fmt;

use crate::admission::access::{AccessControl, Allowed};
use crate::admission::filtering::Choice;
use crate::admission::request::USER_INFO;
use crate::admission::user_info::UserInfo;
use go_compat::diag::quoted;
use go_compat::go_json::Error;

/// Something that decided, or changed the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The webhook is registered for creations and updates only.
    OperationNotSeen,
    /// The webhook is not registered for this kind, so nothing in its pod template is checked.
    KindNotSeen(String),
    /// Updates of workloads are not looked at: who may update one may set any `user.info` in its template.
    UpdateNotSeen,
    /// A `ReplicaSet` of a system user is left as it is.
    ControllersReplicaSet {
        /// The expression of `systemUsers` that matches.
        pattern: String,
    },
    /// `bypassAuth` is on: `user.info` is neither checked nor set.
    BypassAuth {
        /// True if the object has a `user.info`.
        given: bool,
    },
    /// A list lets the requester set `user.info`.
    MaySetUserInfo(Allowed),
    /// No list lets the requester set `user.info`.
    MayNotSetUserInfo,
    /// The `user.info` that was given is valid.
    UserInfoTaken(UserInfo),
    /// The `user.info` that was given cannot be read.
    UserInfoUnreadable(Error),
    /// No `user.info` was given: it becomes the requester's own name. The change is lost where the pod is
    /// left alone in a later step.
    UserInfoSet(UserInfo),
    /// The pod has the label `app: yunikorn`: it is admitted as it is.
    OwnPod,
    /// The pods of the namespace go to `YuniKorn`, or not.
    Processed(Choice),
    /// The pods of the namespace get an application ID, or not.
    Labelled(Choice),
    /// This label gives the pod an application ID.
    ApplicationLabel(&'static str),
    /// The object is admitted as it is.
    LeftAlone,
    /// The pods of this namespace get no application ID; marking them so drops the `user.info` that was set
    /// (fixed after 1.9).
    UserInfoLost,
    /// An update changes `user.info`, which nobody may.
    UserInfoChanged,
    /// An update leaves `user.info` as it was.
    UserInfoUnchanged,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OperationNotSeen => f.write_str("only creations and updates are looked at"),
            Self::KindNotSeen(kind) => write!(f, "objects of kind {} are not looked at", quoted(kind)),
            Self::UpdateNotSeen => {
                write!(f, "updates of workloads are not looked at, also where they change {USER_INFO}")
            }
            Self::ControllersReplicaSet { pattern } => {
                write!(
                    f,
                    "a ReplicaSet of a system user, which {} matches, is left as it is",
                    quoted(pattern)
                )
            }
            Self::BypassAuth { given: true } => write!(f, "bypassAuth is on, so {USER_INFO} is not judged"),
            Self::BypassAuth { given: false } => write!(f, "bypassAuth is on, so {USER_INFO} is not set"),
            Self::MaySetUserInfo(allowed) => write!(f, "the requester may set {USER_INFO}: {allowed}"),
            Self::MayNotSetUserInfo => write!(f, "no list lets the requester set {USER_INFO}"),
            Self::UserInfoTaken(info) => write!(f, "{USER_INFO} names {}", named(info)),
            Self::UserInfoUnreadable(error) => write!(f, "{USER_INFO} cannot be read: {error}"),
            Self::UserInfoSet(info) => write!(f, "{USER_INFO} is set to the requester: {}", named(info)),
            Self::OwnPod => f.write_str("a pod with the label `app: yunikorn` is admitted as it is"),
            Self::Processed(choice) => {
                let verb = if choice.yes { "go" } else { "do not go" };
                write!(f, "pods of the namespace {verb} to YuniKorn: {}", choice.because)
            }
            Self::Labelled(choice) => {
                let verb = if choice.yes { "get" } else { "do not get" };
                write!(f, "pods of the namespace {verb} an application ID: {}", choice.because)
            }
            Self::ApplicationLabel(label) => write!(f, "the label {label} gives it an application ID"),
            Self::LeftAlone => f.write_str("it is admitted as it is"),
            Self::UserInfoLost => {
                write!(f, "{USER_INFO} is lost, as the annotations are written a second time without it")
            }
            Self::UserInfoChanged => write!(f, "nobody may change {USER_INFO} of a pod"),
            Self::UserInfoUnchanged => write!(f, "{USER_INFO} stays as it was"),
        }
    }
}

/// A user and groups for people to read.
fn named(UserInfo { user, groups }: &UserInfo) -> String {
    let user = if user.is_empty() { "no user".to_owned() } else { format!("user {}", quoted(user)) };
    if groups.is_empty() {
        return format!("{user} without groups");
    }
    let groups: Vec<_> = groups.iter().map(|group| quoted(group)).collect();
    format!("{user} in {}", groups.join(", "))
}

/// A change that would let a requester set `user.info`, or a way to do without: most are a field of an
/// `AdmissionPolicy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// Leave the annotation out: it becomes the requester's own name.
    LeaveOut,
    /// `trustControllers: true`, as `systemUsers` has an expression that matches already.
    TrustControllers {
        /// The expression.
        pattern: String,
    },
    /// Another expression in `externalUsers`.
    ExternalUsers(String),
    /// Another expression in `externalGroups`.
    ExternalGroups(String),
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeaveOut => write!(f, "leave {USER_INFO} out, so that it becomes the requester's own name"),
            Self::TrustControllers { pattern } => {
                write!(f, "set trustControllers to true: systemUsers has {}", quoted(pattern))
            }
            Self::ExternalUsers(pattern) => write!(f, "add {} to externalUsers", quoted(pattern)),
            Self::ExternalGroups(pattern) => write!(f, "add {} to externalGroups", quoted(pattern)),
        }
    }
}

/// Groups that contain everyone, or every service account. Granting them is not a way to name somebody.
const EVERYONE: [&str; 3] = ["system:authenticated", "system:unauthenticated", "system:serviceaccounts"];

/// The changes that would let this requester set `user.info`, the smallest first.
pub fn remedies(user: &str, groups: &[String], access: &AccessControl) -> Vec<Remedy> {
    let mut remedies = vec![Remedy::LeaveOut];
    if let Some(pattern) = access.system_users.matching(user) {
        remedies.push(Remedy::TrustControllers { pattern: pattern.as_str().to_owned() });
    }
    if !user.is_empty() {
        remedies.push(Remedy::ExternalUsers(exactly(user)));
    }
    let mut named: Vec<&String> =
        groups.iter().filter(|group| !group.is_empty() && !EVERYONE.contains(&group.as_str())).collect();
    named.dedup();
    remedies.extend(named.into_iter().map(|group| Remedy::ExternalGroups(exactly(group))));
    remedies
}

/// The expression that matches this name alone. A list is split at its commas, so commas are escaped.
fn exactly(name: &str) -> String {
    format!("^{}$", regex_syntax::escape(name).replace(',', r"\x2C"))
}
