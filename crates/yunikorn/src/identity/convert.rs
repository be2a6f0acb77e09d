//! Converts a request into an identity (`ConvertUGI`, yunikorn-core
//! `pkg/common/security/usergroup.go:148-181`).

use super::Identity;
use super::cache::UserCache;
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

/// The reason why the scheduler refuses the user of a request, or why the user's groups are not known.
/// Displays as `YuniKorn`'s message, but for `Undecided`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no user.
    #[error("empty user cannot resolve")]
    EmptyUser,
    /// The name does not match `UserRegExp`, which is checked where groups are given (and after 1.9 always).
    #[error("invalid username, it contains invalid characters")]
    InvalidUser,
    /// The resolver failed, now or before: its message.
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

/// The identity for a scheduler that has not seen the user before. With a history, use a [`UserCache`].
///
/// # Errors
/// `YuniKorn`'s refusal, or that it cannot be known.
pub fn identify(
    claim: Claim<'_>,
    resolver: &dyn GroupResolver,
    version: Version,
) -> Result<Identity, Refusal> {
    // Nothing that was cached changes groups that are given.
    if let Claimed::Given(user, groups) = claimed(claim, version)? {
        return Ok(Identity { user: user.to_owned(), groups });
    }
    let start = jiff::Timestamp::UNIX_EPOCH;
    UserCache::new(version, start).identify(claim, resolver, start)
}

/// The result of a claim before any lookup.
pub(super) enum Claimed<'a> {
    /// These groups are given, or made up.
    Given(&'a str, Vec<String>),
    /// The groups of this user are to be resolved.
    ToResolve(&'a str),
}

/// Applies the rules that need no resolver.
pub(super) fn claimed(claim: Claim<'_>, version: Version) -> Result<Claimed<'_>, Refusal> {
    match (claim.user, claim.forced) {
        ("", false) => return Err(Refusal::EmptyUser),
        ("", true) => return Ok(Claimed::Given(ANONYMOUS_USER, vec![ANONYMOUS_GROUP.to_owned()])),
        _ => {}
    }
    if claim.groups.is_empty() && (!version.behavior().checks_all_names || is_user(claim.user)) {
        return Ok(Claimed::ToResolve(claim.user));
    }
    valid(claim.user)?;
    Ok(Claimed::Given(claim.user, claim.groups.to_vec()))
}

/// Refuses a name that may not be given together with groups.
pub(super) fn valid(user: &str) -> Result<(), Refusal> {
    if is_user(user) { Ok(()) } else { Err(Refusal::InvalidUser) }
}
