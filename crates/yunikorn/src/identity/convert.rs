//! Converts a request into an identity (`ConvertUGI`, yunikorn-core
//! `pkg/common/security/usergroup.go:148-181`).

use super::Identity;
use super::resolver::{GroupResolver, Resolution};
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

/// The reason why the scheduler refuses a request's user. Displays as `YuniKorn`'s message.
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
    pub fn of(&self, user: &str) -> String {
        format!("YuniKorn takes nothing from user {}: {self}", quoted(user))
    }
}

/// The identity for a scheduler that has not seen the user before.
///
/// # Errors
/// `YuniKorn`'s refusal, or that it cannot be known.
pub fn identify(
    claim: Claim<'_>,
    resolver: &dyn GroupResolver,
    version: Version,
) -> Result<Identity, Refusal> {
    let Claim { user, groups, forced } = claim;
    let identity = |user: &str, groups| Ok(Identity { user: user.to_owned(), groups });
    let anonymous = || vec![ANONYMOUS_GROUP.to_owned()];
    if user.is_empty() {
        return if forced { identity(ANONYMOUS_USER, anonymous()) } else { Err(Refusal::EmptyUser) };
    }
    let is_valid = is_user(user);
    if !groups.is_empty() || (version >= Version::Next && !is_valid) {
        return if is_valid { identity(user, groups.to_vec()) } else { Err(Refusal::InvalidUser) };
    }
    match resolver.resolve(user) {
        Resolution::Groups(groups) => identity(user, groups),
        Resolution::Failed(_) if forced && is_valid => identity(user, anonymous()),
        Resolution::Failed(_) if forced => Err(Refusal::InvalidUser),
        Resolution::Failed(message) => Err(Refusal::Unresolved(message)),
        Resolution::Undecided(why) => Err(Refusal::Undecided(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::accounts::{AccountGroups, TestAccounts};
    use super::super::resolver::{Elsewhere, NoResolver};
    use super::*;

    /// A resolver that fails.
    struct Fails;

    impl GroupResolver for Fails {
        fn resolve(&self, user: &str) -> Resolution {
            Resolution::Failed(format!("lookup failed for user: {user}"))
        }
    }

    /// The recorded histories of requests: claims with groups, and the first one of each user.
    #[test]
    fn claims_come_out_as_in_yunikorn() {
        let mut compared = 0;
        for line in include_str!("../../../../tests/vectors/yunikorn-user-cache.jsonl").lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let test = row["asked"]["resolver"] == "test";
            let resolver: &dyn GroupResolver = if test { &AccountGroups(TestAccounts) } else { &NoResolver };
            let claims = row["asked"]["claims"].as_array().unwrap();
            for (index, (claim, answer)) in
                claims.iter().zip(row["answers"].as_array().unwrap()).enumerate()
            {
                let given: Vec<String> = serde_json::from_value(claim["groups"].clone()).unwrap();
                let user = claim["user"].as_str().unwrap();
                if given.is_empty() && claims[..index].iter().any(|before| before["user"] == user) {
                    // YuniKorn answers from its cache.
                    continue;
                }
                let asked = Claim { user, groups: &given, forced: claim["force"] == true };
                match identify(asked, resolver, Version::V1_8) {
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
        let forced = Claim { user: "sue", groups: &[], forced: true };
        assert_eq!(identify(forced, &Fails, Version::V1_9).unwrap().groups, ["nogroup"]);
        let nobody = identify(Claim { user: "", ..forced }, &Fails, Version::V1_9).unwrap();
        assert_eq!((nobody.user.as_str(), nobody.groups), ("nobody", vec!["nogroup".to_owned()]));
        let bad = Claim { user: "bad user", ..forced };
        assert_eq!(identify(bad, &Fails, Version::V1_9), Err(Refusal::InvalidUser));
    }

    #[test]
    fn names_are_checked_without_groups_only_after_1_9() {
        let identify = |version| identify(Claim::new("bad user", &[]), &NoResolver, version);
        assert_eq!(identify(Version::V1_9).unwrap().groups, ["bad user"]);
        assert_eq!(identify(Version::Next), Err(Refusal::InvalidUser));
    }

    #[test]
    fn what_cannot_be_known_is_told() {
        let ldap = Elsewhere { name: "LDAP" };
        for forced in [false, true] {
            let claim = Claim { user: "sue", groups: &[], forced };
            assert!(matches!(identify(claim, &ldap, Version::V1_8), Err(Refusal::Undecided(_))));
        }
        let failed = identify(Claim::new("sue", &[]), &Fails, Version::V1_8);
        assert_eq!(failed, Err(Refusal::Unresolved("lookup failed for user: sue".to_owned())));
    }
}
