//! The identity of a user in the scheduler: a name and groups.
//!
//! A request may or may not contain groups. A resolver supplies missing ones, and a cache stores them
//! (yunikorn-core v1.8.0 `pkg/common/security/usergroup.go:148-224`). The result is an [`Identity`], which
//! all access questions use.

use std::collections::{BTreeMap, HashMap};

use crate::config::Config;
use crate::config::names::is_user;
use crate::version::Version;
use go_compat::diag::{Code, Diagnostic, quoted};
use go_compat::yaml::decode::{List, Map, decode};
use go_compat::yaml::parse_in;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A user as the scheduler's ACL checks see it (`UserGroup`, yunikorn-core `pkg/common/security/acl.go:135`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The name, compared byte for byte.
    pub user: String,
    /// The groups in the given or resolved order. Like `YuniKorn`, this keeps duplicate and empty groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

// Resolvers for the groups of a user whose request names none (`partitions[].usergroupresolver`,
// yunikorn-core `pkg/common/security/usergroup.go:69-106`).
//
// `YuniKorn` creates its resolver once per process, from the first partition that it loads. A reload with
// another type has no effect, and all partitions share the resolver.

/// The reason why the scheduler refuses the user of a request, or why the groups are unknown. Displays as
/// `YuniKorn`'s message, except for `Undecided`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The user is empty.
    #[error("empty user cannot resolve")]
    EmptyUser,
    /// The name does not match `UserRegExp`. This is checked if groups are given, and always after 1.9.
    #[error("invalid username, it contains invalid characters")]
    InvalidUser,
    /// The resolver failed, now or earlier, with this message.
    #[error("{0}")]
    Unresolved(String),
    /// `YuniKorn`'s answer is unknown, for this reason.
    #[error("{0}")]
    Undecided(String),
}

impl Refusal {
    /// Describes the effect on this user in a sentence.
    pub fn describe(&self, user: &str) -> String {
        format!("YuniKorn refuses every request of user {}: {self}", quoted(user))
    }
}

/// Finds the groups of users. Implementations in this crate only use given data; a resolver that queries the
/// operating system is in another crate.
pub trait GroupResolver {
    /// Returns the groups of a user, the primary group first. `user` must not be empty.
    ///
    /// # Errors
    /// [`Refusal::Unresolved`] with the message of `YuniKorn`'s resolver, or [`Refusal::Undecided`].
    fn resolve(&self, user: &str) -> Result<Vec<String>, Refusal>;
}

/// A kind of resolver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ResolverKind {
    /// No resolver (`usergroup_no_resolver.go`): a user's only group has the user's name.
    #[default]
    None,
    /// The accounts of the scheduler's operating system, which is its container image.
    Os,
    /// A directory service.
    Ldap,
    /// `YuniKorn`'s test users.
    Test,
}

impl ResolverKind {
    /// Returns the kind for a `usergroupresolver.type`. An unknown word means no resolver and is not an
    /// error.
    pub fn parse(text: &str) -> Self {
        match text {
            "os" => Self::Os,
            "ldap" => Self::Ldap,
            "test" => Self::Test,
            _ => Self::None,
        }
    }

    /// Returns the resolver that a scheduler starting with this configuration uses, which is the first
    /// partition's (`usergroup.go:79`).
    pub fn in_force(config: &Config) -> Self {
        let first = config.partitions.first();
        first.map_or(Self::None, |first| Self::parse(first.user_group_resolver.kind.as_str()))
    }
}

/// Resolves only what does not require the systems that `YuniKorn` would query.
impl GroupResolver for ResolverKind {
    fn resolve(&self, user: &str) -> Result<Vec<String>, Refusal> {
        let source = match self {
            Self::None => return Ok(vec![user.to_owned()]),
            Self::Test => return TestAccounts.resolve(user),
            Self::Os => "the accounts of the scheduler's container",
            Self::Ldap => "LDAP",
        };
        let user = quoted(user);
        Err(Refusal::Undecided(format!(
            "YuniKorn gets the groups of {user} from {source}, which queuewarden does not query"
        )))
    }
}

// Groups as operating systems store them: accounts with a primary group and others, identified by numbers
// that may have names.

/// A source of accounts.
pub trait Accounts {
    /// Returns the numbers of the user's primary group and of all groups, which may include the primary one.
    ///
    /// # Errors
    /// The message of Go's `os/user`.
    fn group_ids(&self, user: &str) -> Result<(String, Vec<String>), String>;

    /// Returns the name of the group with this number, if it has one.
    fn group_name(&self, gid: &str) -> Option<String>;
}

/// Resolves from accounts (`usergroup.go:255-287`), with the primary group first. A group without a name
/// keeps its number.
impl<A: Accounts> GroupResolver for A {
    fn resolve(&self, user: &str) -> Result<Vec<String>, Refusal> {
        let (primary, mut gids) = self.group_ids(user).map_err(Refusal::Unresolved)?;
        gids.retain(|gid| *gid != primary);
        gids.insert(0, primary);
        Ok(gids.into_iter().map(|gid| self.group_name(&gid).unwrap_or(gid)).collect())
    }
}

/// The accounts of `YuniKorn`'s test resolver (`usergroup_test_resolver.go`).
#[derive(Debug, Clone, Copy, Default)]
pub struct TestAccounts;

impl Accounts for TestAccounts {
    fn group_ids(&self, user: &str) -> Result<(String, Vec<String>), String> {
        let (primary, gids): (_, &[&str]) = match user {
            "testuser1" => ("1000", &["1001"]),
            "testuser2" => ("100", &["1001", "1002"]),
            "testuser3" => ("1001", &["1002", "1001", "1003", "1004"]),
            "testuser4" => ("901", &["901", "902"]),
            _ => return Err(format!("lookup failed for user: {user}")),
        };
        Ok((primary.to_owned(), gids.iter().map(ToString::to_string).collect()))
    }

    fn group_name(&self, gid: &str) -> Option<String> {
        gid.parse::<u32>().ok().filter(|gid| *gid >= 1000).map(|gid| format!("group{gid}"))
    }
}

// Users and groups from a file, for `YuniKorn` installations that resolve groups from a source we cannot
// query.
//
// The file is YAML with a list of groups for each user, the primary group first:
//
// ```yaml
// sue: [devs, ops]
// bob: [devs]
// eve: []          # known, but in no group
// ```
//
// A user who is missing in the file is unknown, which does not mean that `YuniKorn` would refuse the user.

go_compat::codes! {
    /// A user in a file of groups has an empty name, which no request can have.
    pub const EMPTY_USER: Code = Code::new(7001, "empty-user-name");
    /// A group in a file of groups has an empty name. `YuniKorn` would keep it, but an ACL cannot name it.
    pub const EMPTY_GROUP: Code = Code::new(7002, "empty-group-name");
}

/// The groups of users.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupsFile {
    groups: BTreeMap<String, Vec<String>>,
}

impl GroupsFile {
    /// Parses a file of groups and returns findings about likely mistakes.
    ///
    /// # Errors
    /// All errors with their spans, if the text is not YAML or not lists of groups by user.
    pub fn read(text: &str) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let document = parse_in(text).map_err(|problem| vec![problem])?;
        let help = "write a list of groups for each user, as in `sue: [devs, ops]`";
        let with_help =
            |wrong: Vec<Diagnostic>| wrong.into_iter().map(|found| found.help(help)).collect::<Vec<_>>();
        let users: Map<List<String>> = decode(document.as_ref()).map_err(with_help)?;
        let users = users.into_iter().flatten();
        let groups: BTreeMap<_, _> = users.map(|(user, groups)| (user, groups.unwrap_or_default())).collect();
        let odd = groups.iter().flat_map(|(user, groups)| oddities(user, groups)).collect();
        Ok((Self { groups }, odd))
    }
}

fn oddities(user: &str, groups: &[String]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if user.is_empty() {
        let message = "a user with an empty name has groups, but YuniKorn refuses such a user";
        found.push(
            Diagnostic::warning(EMPTY_USER, message).help("remove the entry, or write the name of the user"),
        );
    }
    if groups.iter().any(String::is_empty) {
        let message =
            format!("{} is in a group with an empty name, which no ACL can grant access to", quoted(user));
        found.push(Diagnostic::warning(EMPTY_GROUP, message).help("remove the empty group"));
    }
    found
}

impl GroupResolver for GroupsFile {
    fn resolve(&self, user: &str) -> Result<Vec<String>, Refusal> {
        let unknown = || Refusal::Undecided(format!("the file of groups does not contain {}", quoted(user)));
        self.groups.get(user).cloned().ok_or_else(unknown)
    }
}

// The scheduler's cache of users (`UserGroupCache`, yunikorn-core `pkg/common/security/usergroup.go:41-224`).
// Earlier requests affect later ones: the groups of one request apply to the user's next request without
// groups.
//
// In 1.8, the clock of the cache never advances, so nothing expires, not even a failure. Since 1.9, groups
// are resolved again after 300 seconds, and the cleaner removes a failure in its first round after 30
// seconds.
//
// `YuniKorn` has one unbounded cache for all partitions. Here each owner has a bounded one. If it is full,
// the entry written first is removed, and its user is resolved again.

/// How long groups are valid, in seconds (`usergroup.go:39`).
pub const POSITIVE_LIFETIME: i64 = 300;
/// How long a failure is valid at least, in seconds (`usergroup.go:38`).
pub const NEGATIVE_LIFETIME: i64 = 30;
/// Interval between rounds of the cleaner, in seconds (`usergroup.go:40`).
pub const CLEANER_INTERVAL: i64 = 60;
/// Maximum number of users in the cache.
pub const MAX_USERS: usize = 100_000;

/// The clock of 1.8, which was never set: Go's zero time, in seconds since 1970.
const ZERO_TIME: i64 = -62_135_596_800;

/// The scheduler's cache of users.
#[derive(Debug, Clone)]
pub struct UserCache {
    version: Version,
    limit: usize,
    entries: HashMap<String, Entry>,
    /// Users in the order of their writes, the oldest first.
    order: BTreeMap<u64, String>,
    writes: u64,
    started: i64,
    /// The time of the cleaner's last round.
    cleaned: i64,
}

#[derive(Debug, Clone)]
struct Entry {
    /// The groups; `None` after a failure.
    groups: Option<Vec<String>>,
    /// When the groups were resolved, in seconds since 1970 on the version's clock.
    resolved: i64,
    write: u64,
}

impl UserCache {
    /// Returns the empty cache of a scheduler that starts now.
    pub fn new(version: Version, started: Timestamp) -> Self {
        let started = started.as_second();
        Self {
            version,
            limit: MAX_USERS,
            entries: HashMap::new(),
            order: BTreeMap::new(),
            writes: 0,
            started,
            cleaned: started,
        }
    }

    /// Identifies the user of a request at this time. Given groups are used and cached; missing ones come
    /// from the cache or the resolver.
    ///
    /// # Errors
    /// `YuniKorn`'s refusal, or that the result is unknown. The latter is not cached.
    pub fn identify(
        &mut self,
        claim: Claim<'_>,
        resolver: &dyn GroupResolver,
        now: Timestamp,
    ) -> Result<Identity, Refusal> {
        let now = self.clock(now);
        self.clean(now);
        let (user, groups) = match claimed(claim, self.version)? {
            Claimed::Given(user, groups) => (user, groups),
            Claimed::ToResolve(user) => match self.groups_of(user, resolver, now) {
                Err(Refusal::Unresolved(_)) if claim.forced => {
                    valid(user)?;
                    (user, vec![ANONYMOUS_GROUP.to_owned()])
                }
                found => return Ok(Identity { user: user.to_owned(), groups: found? }),
            },
        };
        self.write(user, Some(groups.clone()), now);
        Ok(Identity { user: user.to_owned(), groups })
    }

    /// Returns the time on the version's clock.
    fn clock(&self, now: Timestamp) -> i64 {
        if self.version.behavior().user_cache_expires { now.as_second() } else { ZERO_TIME }
    }

    /// Returns the cached groups, or resolves them (`usergroup.go:186-238`).
    fn groups_of(
        &mut self,
        user: &str,
        resolver: &dyn GroupResolver,
        now: i64,
    ) -> Result<Vec<String>, Refusal> {
        match self.entries.get(user) {
            Some(Entry { groups: Some(groups), resolved, .. })
                if now.saturating_sub(*resolved) < POSITIVE_LIFETIME =>
            {
                return Ok(groups.clone());
            }
            Some(Entry { groups: None, resolved, .. }) => {
                let message = format!("user resolution failed, cached data returned: {}", go_time(*resolved));
                return Err(Refusal::Unresolved(message));
            }
            _ => {}
        }
        let answer = resolver.resolve(user);
        match &answer {
            Ok(groups) => self.write(user, Some(groups.clone()), now),
            Err(Refusal::Unresolved(_)) => self.write(user, None, now),
            Err(_) => {}
        }
        answer
    }

    fn write(&mut self, user: &str, groups: Option<Vec<String>>, resolved: i64) {
        self.writes += 1;
        let entry = Entry { groups, resolved, write: self.writes };
        if let Some(before) = self.entries.insert(user.to_owned(), entry) {
            self.order.remove(&before.write);
        }
        self.order.insert(self.writes, user.to_owned());
        while self.entries.len() > self.limit {
            let Some((_, oldest)) = self.order.pop_first() else { return };
            self.entries.remove(&oldest);
        }
    }

    /// Catches up with the cleaner (`usergroup.go:126-139`). If nothing is written between two rounds, the
    /// later round includes the earlier one, so only the last round matters.
    fn clean(&mut self, now: i64) {
        let since_round = now.saturating_sub(self.started).rem_euclid(CLEANER_INTERVAL);
        let round = now.saturating_sub(since_round);
        if round <= self.cleaned {
            return;
        }
        self.cleaned = round;
        let is_old = |entry: &Entry| {
            let lifetime = if entry.groups.is_some() { POSITIVE_LIFETIME } else { NEGATIVE_LIFETIME };
            entry.resolved < round.saturating_sub(lifetime)
        };
        let order = &mut self.order;
        self.entries.retain(|_, entry| {
            let keep = !is_old(entry);
            if !keep {
                order.remove(&entry.write);
            }
            keep
        });
    }
}

/// Formats a time like Go, in UTC.
fn go_time(seconds: i64) -> String {
    let time = Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%d %H:%M:%S +0000 UTC").to_string()
}

// The conversion of a request into an identity (`ConvertUGI`, yunikorn-core
// `pkg/common/security/usergroup.go:148-181`).

/// The user of applications without a submitter (`common.AnonymousUser`).
pub const ANONYMOUS_USER: &str = "nobody";
/// The group of [`ANONYMOUS_USER`] (`common.AnonymousGroup`).
pub const ANONYMOUS_GROUP: &str = "nogroup";

/// The user and groups that a request claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim<'a> {
    /// The user; may be empty.
    pub user: &'a str,
    /// The groups. If empty, they must be resolved.
    pub groups: &'a [String],
    /// True if the application must be accepted because its pods already run. A missing user or group is then
    /// made up.
    pub forced: bool,
}

impl<'a> Claim<'a> {
    /// Returns the claim of an ordinary submission.
    pub fn new(user: &'a str, groups: &'a [String]) -> Self {
        Self { user, groups, forced: false }
    }
}

impl<'a> From<&'a Identity> for Claim<'a> {
    fn from(Identity { user, groups }: &'a Identity) -> Self {
        Self::new(user, groups)
    }
}

/// Returns the identity in a scheduler that has not seen the user before. Otherwise, use a [`UserCache`].
///
/// # Errors
/// `YuniKorn`'s refusal, or that the result is unknown.
pub fn identify(
    claim: Claim<'_>,
    resolver: &dyn GroupResolver,
    version: Version,
) -> Result<Identity, Refusal> {
    // The cache does not affect given groups.
    if let Claimed::Given(user, groups) = claimed(claim, version)? {
        return Ok(Identity { user: user.to_owned(), groups });
    }
    let start = jiff::Timestamp::UNIX_EPOCH;
    UserCache::new(version, start).identify(claim, resolver, start)
}

/// The result of a claim before any lookup.
enum Claimed<'a> {
    /// The groups are given or made up.
    Given(&'a str, Vec<String>),
    /// The groups of this user must be resolved.
    ToResolve(&'a str),
}

/// Applies the rules that need no resolver.
fn claimed(claim: Claim<'_>, version: Version) -> Result<Claimed<'_>, Refusal> {
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

/// Refuses a name that must not be given together with groups.
fn valid(user: &str) -> Result<(), Refusal> {
    if is_user(user) { Ok(()) } else { Err(Refusal::InvalidUser) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn unknown_type_means_no_resolver() {
        for (text, kind) in [
            ("", ResolverKind::None),
            ("os", ResolverKind::Os),
            ("ldap", ResolverKind::Ldap),
            ("test", ResolverKind::Test),
            ("OS", ResolverKind::None),
            ("none", ResolverKind::None),
        ] {
            assert_eq!(ResolverKind::parse(text), kind, "{text}");
        }
    }

    #[test]
    fn resolver_of_the_first_partition_applies_to_all() {
        let partition = |name: &str, kind: &str| {
            format!("{{name: {name}, usergroupresolver: {{type: {kind}}}, queues: [{{name: root}}]}}")
        };
        for (first, second, kind) in [
            ("ldap", "os", ResolverKind::Ldap),
            ("os", "test", ResolverKind::Os),
            ("", "os", ResolverKind::None),
        ] {
            let text = format!("partitions: [{}, {}]", partition("default", first), partition("gpu", second));
            let config =
                crate::config::verdict(&text, &[], crate::version::Version::V1_8).config.expect("activates");
            assert_eq!(ResolverKind::in_force(&config), kind, "{text}");
        }
    }

    #[test]
    fn unavailable_resolver_is_undecided() {
        let Err(Refusal::Undecided(why)) = ResolverKind::Ldap.resolve("sue") else { panic!() };
        assert_eq!(why, "YuniKorn gets the groups of `sue` from LDAP, which queuewarden does not query");
    }

    #[test]
    fn primary_group_is_first_and_unnamed_groups_stay_numbers() {
        for (user, groups) in [
            ("testuser1", &["group1000", "group1001"][..]),
            ("testuser2", &["100", "group1001", "group1002"]),
            ("testuser3", &["group1001", "group1002", "group1003", "group1004"]),
            ("testuser4", &["901", "902"]),
        ] {
            let groups = groups.iter().map(ToString::to_string).collect();
            assert_eq!(TestAccounts.resolve(user), Ok(groups), "{user}");
        }
        for user in ["testuser5", "invalid-gid-user", "sue"] {
            let message = format!("lookup failed for user: {user}");
            assert_eq!(TestAccounts.resolve(user), Err(Refusal::Unresolved(message)));
        }
    }

    fn groups_in_file(text: &str, user: &str) -> Result<Vec<String>, Refusal> {
        GroupsFile::read(text).unwrap().0.resolve(user)
    }

    #[test]
    fn users_have_the_listed_groups() {
        let text = "sue: [devs, ops]\nbob:\n- devs\neve: []\nnil:\n1: [2]\n";
        let list = |groups: &[&str]| Ok(groups.iter().map(ToString::to_string).collect());
        assert_eq!(groups_in_file(text, "sue"), list(&["devs", "ops"]));
        assert_eq!(groups_in_file(text, "bob"), list(&["devs"]));
        assert_eq!(groups_in_file(text, "eve"), list(&[]));
        assert_eq!(groups_in_file(text, "nil"), list(&[]));
        assert_eq!(groups_in_file(text, "1"), list(&["2"]));
        let undecided = |why: &str| Err(Refusal::Undecided(why.to_owned()));
        assert_eq!(groups_in_file(text, "Sue"), undecided("the file of groups does not contain `Sue`"));
        assert_eq!(groups_in_file("", "sue"), undecided("the file of groups does not contain `sue`"));
    }

    #[test]
    fn errors_have_spans() {
        for (text, place) in
            [("sue: devs", "devs"), ("- sue", "- sue"), ("sue: [a]\nsue: [b]", "sue"), ("sue: [", "")]
        {
            let found = GroupsFile::read(text).unwrap_err();
            let span = found[0].span.unwrap();
            assert!(
                found[0].is_error() && text.get(span.start..).unwrap().starts_with(place),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn empty_names_are_reported() {
        let (_, found) = GroupsFile::read("\"\": [a]\nsue: [a, '']").unwrap();
        assert_eq!(found.iter().map(|finding| finding.code).collect::<Vec<_>>(), [EMPTY_USER, EMPTY_GROUP]);
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000_000 + seconds).unwrap()
    }

    fn cache(version: Version) -> UserCache {
        UserCache::new(version, at(0))
    }

    /// A resolver whose answers change, like a directory's.
    struct Says(&'static str);

    impl GroupResolver for Says {
        fn resolve(&self, user: &str) -> Result<Vec<String>, Refusal> {
            match self.0 {
                "" => Err(Refusal::Unresolved(format!("lookup failed for user: {user}"))),
                group => Ok(vec![group.to_owned()]),
            }
        }
    }

    fn groups(cache: &mut UserCache, says: &'static str, seconds: i64) -> Result<String, String> {
        let identity = cache.identify(Claim::new("sue", &[]), &Says(says), at(seconds));
        identity.map(|identity| identity.groups.join(",")).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn histories_end_as_in_yunikorn() {
        let mut compared = 0;
        for line in include_str!("../../../tests/vectors/yunikorn-user-cache.jsonl").lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let test = row["asked"]["resolver"] == "test";
            let resolver: &dyn GroupResolver = if test { &TestAccounts } else { &ResolverKind::None };
            let mut cache = cache(Version::V1_8);
            let claims = row["asked"]["claims"].as_array().unwrap();
            for (claim, answer) in claims.iter().zip(row["answers"].as_array().unwrap()) {
                let given: Vec<String> = serde_json::from_value(claim["groups"].clone()).unwrap();
                let user = claim["user"].as_str().unwrap();
                let asked = Claim { user, groups: &given, forced: claim["force"] == true };
                match cache.identify(asked, resolver, at(0)) {
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
    fn given_groups_apply_to_the_next_request_without_groups() {
        for version in [Version::V1_8, Version::V1_9, Version::V1_10] {
            let mut cache = cache(version);
            assert_eq!(groups(&mut cache, "first", 0), Ok("first".into()));
            let given = ["devs".to_owned(), "devs".to_owned()];
            cache.identify(Claim::new("sue", &given), &ResolverKind::None, at(1)).unwrap();
            assert_eq!(groups(&mut cache, "second", 2), Ok("devs,devs".into()));
        }
    }

    #[test]
    fn groups_are_cached_for_300_seconds_since_1_9_and_forever_before() {
        for (version, age, expected) in [
            (Version::V1_8, 299, "old"),
            (Version::V1_8, 1_000_000, "old"),
            (Version::V1_9, 299, "old"),
            (Version::V1_9, 300, "new"),
            (Version::V1_10, 301, "new"),
        ] {
            let mut cache = cache(version);
            assert_eq!(groups(&mut cache, "old", 10), Ok("old".into()));
            assert_eq!(groups(&mut cache, "new", 10 + age), Ok(expected.into()), "{version:?} {age}");
        }
    }

    #[test]
    fn failure_is_cached_until_the_cleaner_runs_after_30_seconds() {
        let mut old = cache(Version::V1_8);
        assert_eq!(groups(&mut old, "", 0), Err("lookup failed for user: sue".into()));
        let cached = "user resolution failed, cached data returned: 0001-01-01 00:00:00 +0000 UTC";
        assert_eq!(groups(&mut old, "new", 1_000_000), Err(cached.into()));

        // The cleaner runs at 60, 120 and so on.
        for (failed, asked, forgotten) in [
            (0, 59, false),
            (0, 60, true),
            (29, 60, true),
            (30, 60, false),
            (30, 119, false),
            (31, 120, true),
        ] {
            let mut cache = cache(Version::V1_9);
            groups(&mut cache, "", failed).unwrap_err();
            assert_eq!(groups(&mut cache, "new", asked).is_ok(), forgotten, "{failed} {asked}");
        }
        let mut cache = cache(Version::V1_9);
        groups(&mut cache, "", 5).unwrap_err();
        let cached = "user resolution failed, cached data returned: 2001-09-09 01:46:45 +0000 UTC";
        assert_eq!(groups(&mut cache, "new", 6), Err(cached.into()));
    }

    #[test]
    fn forced_claim_gets_groups_if_it_has_none() {
        let mut cache = cache(Version::V1_9);
        let forced = Claim { user: "sue", groups: &[], forced: true };
        assert_eq!(cache.identify(forced, &Says(""), at(0)).unwrap().groups, ["nogroup"]);
        assert_eq!(groups(&mut cache, "devs", 1), Ok("nogroup".into()));
        let nobody = cache.identify(Claim { user: "", ..forced }, &Says(""), at(2)).unwrap();
        assert_eq!((nobody.user.as_str(), nobody.groups), ("nobody", vec!["nogroup".to_owned()]));
        let bad = Claim { user: "bad user", ..forced };
        assert_eq!(cache.identify(bad, &Says(""), at(3)), Err(Refusal::InvalidUser));
    }

    #[test]
    fn names_are_checked_without_groups_only_after_1_9() {
        let identify = |version| super::identify(Claim::new("bad user", &[]), &ResolverKind::None, version);
        assert_eq!(identify(Version::V1_9).unwrap().groups, ["bad user"]);
        assert_eq!(identify(Version::V1_10), Err(Refusal::InvalidUser));
    }

    #[test]
    fn undecided_result_is_returned_and_not_cached() {
        let mut cache = cache(Version::V1_8);
        let ldap = ResolverKind::Ldap;
        for forced in [false, true] {
            let claim = Claim { user: "sue", groups: &[], forced };
            assert!(matches!(cache.identify(claim, &ldap, at(0)), Err(Refusal::Undecided(_))));
        }
        assert!(cache.entries.is_empty());
        let given = ["devs".to_owned()];
        cache.identify(Claim::new("sue", &given), &ldap, at(0)).unwrap();
        assert!(!cache.entries.is_empty());
        assert_eq!(cache.identify(Claim::new("sue", &[]), &ldap, at(1)).unwrap().groups, ["devs"]);
    }

    #[test]
    fn oldest_entry_is_evicted_first() {
        let mut cache = UserCache { limit: 2, ..cache(Version::V1_8) };
        let given = |group: &str| [group.to_owned()];
        for (user, group) in [("a", "1"), ("b", "2"), ("a", "3"), ("c", "4")] {
            cache.identify(Claim::new(user, &given(group)), &ResolverKind::None, at(0)).unwrap();
        }
        assert_eq!(cache.entries.len(), 2);
        let mut seen =
            |user| cache.identify(Claim::new(user, &[]), &ResolverKind::None, at(0)).unwrap().groups;
        assert_eq!((seen("a"), seen("c")), (vec!["3".to_owned()], vec!["4".to_owned()]));
        assert_eq!(seen("b"), ["b"]);
    }

    proptest! {
        #[test]
        fn cache_is_bounded_and_its_order_matches_its_entries(
            steps in prop::collection::vec((0_usize..8, 0_i64..1000, any::<bool>()), 0..60)
        ) {
            let mut cache = UserCache { limit: 3, ..cache(Version::V1_9) };
            for (user, seconds, given) in steps {
                let user = format!("user{user}");
                let groups = if given { vec!["g".to_owned()] } else { Vec::new() };
                let says = if seconds % 2 == 0 { "" } else { "g" };
                let _ = cache.identify(Claim::new(&user, &groups), &Says(says), at(seconds));
                prop_assert!(cache.entries.len() <= 3);
                prop_assert_eq!(cache.order.len(), cache.entries.len());
                for (write, user) in &cache.order {
                    prop_assert_eq!(cache.entries[user].write, *write);
                }
            }
        }
    }
}
