//! Converts a request into an identity (`ConvertUGI`, yunikorn-core
//! `pkg/common/security/usergroup.go:148-181`).

use super::Identity;
use super::resolver::GroupResolver;
use crate::config::names::is_user;
use crate::version::Version;
use go_compat::diag::quoted;

/// The user of applications that nobody submits (`common.AnonymousUser`).
pub const ANONYMOUS_USER: &str = "nobody";
/// Its group (`common.AnonymousGroup`).
pub const ANONYMOUS_GROUP: &str = "nogroup";

/// The user and groups that a request claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim<'a> {
    /// The user; may be empty.
    pub user: &'a str,
    /// The groups. An empty list means that they are to be resolved.
    pub groups: &'a [String],
    /// True if the application must be accepted because its pods run already: a missing user or group is then
    /// made up.
    pub forced: bool,
}

impl<'a> Claim<'a> {
    /// The claim of an ordinary submission.
    pub fn new(user: &'a str, groups: &'a [String]) -> Self {
        Self { user, groups, forced: false }
    }
}

impl<'a> From<&'a Identity> for Claim<'a> {
    fn from(Identity { user, groups }: &'a Identity) -> Self {
        Self::new(user, groups)
    }
}

/// The reason why the scheduler refuses a request's user, or its groups are not known. Displays as
/// `YuniKorn`'s message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no user.
    #[error("empty user cannot resolve")]
    EmptyUser,
    /// The name does not match `UserRegExp`, which is checked where groups are given (and after 1.9 always).
    #[error("invalid username, it contains invalid characters")]
    InvalidUser,
    /// The resolver failed: its message.
    #[error("{0}")]
    Unresolved(String),
    /// `YuniKorn`'s answer cannot be known here, with the reason. Not a refusal of `YuniKorn`'s.
    #[error("{0}")]
    Undecided(String),
}

impl Refusal {
    /// Describes the effect on this user in a sentence.
    pub fn describe(&self, user: &str) -> String {
        format!("YuniKorn takes nothing from user {}: {self}", quoted(user))
    }
}

/// The identity for a scheduler that has not seen the user before. Groups that are given are used; missing
/// ones come from the resolver.
///
/// `YuniKorn` itself remembers users (`UserGroupCache`): groups that came with one request are those of the
/// next one without. Nothing here knows the earlier requests.
///
/// # Errors
/// `YuniKorn`'s refusal, or that it cannot be known.
pub fn identify(
    Claim { user, groups, forced }: Claim<'_>,
    resolver: &dyn GroupResolver,
    version: Version,
) -> Result<Identity, Refusal> {
    let identity = |user: &str, groups| Ok(Identity { user: user.to_owned(), groups });
    let anonymous = || vec![ANONYMOUS_GROUP.to_owned()];
    if user.is_empty() {
        return if forced { identity(ANONYMOUS_USER, anonymous()) } else { Err(Refusal::EmptyUser) };
    }
    let valid = || if is_user(user) { Ok(()) } else { Err(Refusal::InvalidUser) };
    if !groups.is_empty() || version.behavior().checks_all_names {
        valid()?;
    }
    if !groups.is_empty() {
        return identity(user, groups.to_vec());
    }
    match resolver.resolve(user) {
        Err(Refusal::Unresolved(_)) if forced => valid().and_then(|()| identity(user, anonymous())),
        answer => identity(user, answer?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::accounts::{AccountGroups, TestAccounts};
    use crate::identity::resolver::{Elsewhere, NoResolver};
    use std::collections::HashSet;

    #[test]
    fn new_users_are_identified_as_in_yunikorn() {
        let mut compared = 0;
        for line in include_str!("../../../../tests/vectors/yunikorn-user-cache.jsonl").lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let test = row["asked"]["resolver"] == "test";
            let resolver: &dyn GroupResolver = if test { &AccountGroups(TestAccounts) } else { &NoResolver };
            let claims = row["asked"]["claims"].as_array().unwrap();
            // YuniKorn remembers the users of a history.
            let mut seen = HashSet::new();
            for (claim, answer) in claims.iter().zip(row["answers"].as_array().unwrap()) {
                let given: Vec<String> = serde_json::from_value(claim["groups"].clone()).unwrap();
                let user = claim["user"].as_str().unwrap();
                if !seen.insert(if user.is_empty() { ANONYMOUS_USER } else { user }) {
                    continue;
                }
                let claim = Claim { user, groups: &given, forced: claim["force"] == true };
                match identify(claim, resolver, Version::V1_8) {
                    Ok(identity) => {
                        let expected: Vec<String> = serde_json::from_value(answer["groups"].clone()).unwrap();
                        assert_eq!(
                            (identity.user.as_str(), identity.groups),
                            (answer["user"].as_str().unwrap(), expected)
                        );
                        assert_eq!(answer["error"], "", "{row}");
                    }
                    Err(refusal) => assert_eq!(answer["error"], refusal.to_string(), "{row}"),
                }
                compared += 1;
            }
        }
        assert!(compared > 200, "{compared}");
    }

    #[test]
    fn what_must_be_taken_gets_groups_where_there_are_none() {
        struct Fails;

        impl GroupResolver for Fails {
            fn resolve(&self, user: &str) -> Result<Vec<String>, Refusal> {
                Err(Refusal::Unresolved(format!("lookup failed for user: {user}")))
            }
        }

        let claim = |user, forced| identify(Claim { user, groups: &[], forced }, &Fails, Version::V1_9);
        let message = "lookup failed for user: sue".to_owned();
        assert_eq!(claim("sue", false), Err(Refusal::Unresolved(message)));
        assert_eq!(claim("sue", true).unwrap().groups, ["nogroup"]);
        let nobody = claim("", true).unwrap();
        assert_eq!((nobody.user.as_str(), nobody.groups), ("nobody", vec!["nogroup".to_owned()]));
        assert_eq!(claim("", false), Err(Refusal::EmptyUser));
        assert_eq!(claim("bad user", true), Err(Refusal::InvalidUser));
    }

    #[test]
    fn names_are_checked_without_groups_only_after_1_9() {
        let identify = |version| identify(Claim::new("bad user", &[]), &NoResolver, version);
        assert_eq!(identify(Version::V1_9).unwrap().groups, ["bad user"]);
        assert_eq!(identify(Version::V1_10), Err(Refusal::InvalidUser));
    }

    #[test]
    fn what_cannot_be_known_is_undecided() {
        let ldap = Elsewhere { name: "LDAP" };
        for forced in [false, true] {
            let claim = Claim { user: "sue", groups: &[], forced };
            assert!(matches!(identify(claim, &ldap, Version::V1_8), Err(Refusal::Undecided(_))));
        }
        let given = ["devs".to_owned()];
        assert_eq!(identify(Claim::new("sue", &given), &ldap, Version::V1_8).unwrap().groups, ["devs"]);
    }
}
