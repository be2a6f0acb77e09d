//! The sources of a user's groups when a request names none (`partitions[].usergroupresolver`, yunikorn-core
//! `pkg/common/security/usergroup.go:69-106`).
//!
//! `YuniKorn` makes its resolver once in a process, from the first partition it loads, and never again: a
//! reload with another type changes nothing, and further partitions share the first one's.

use std::collections::BTreeMap;

use crate::config::Config;
use go_compat::diag::{Code, Diagnostic, quoted};
use go_compat::yaml::decode::{List, Map, decode};
use go_compat::yaml::parse_in;

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

/// Finds the groups of users. Pure where its data is given; a resolver that queries the operating system
/// lives outside of this crate.
pub trait GroupResolver {
    /// The groups of this user, who is not empty; the primary one first.
    ///
    /// # Errors
    /// [`Refusal::Unresolved`] with the message of `YuniKorn`'s resolver, or [`Refusal::Undecided`].
    fn resolve(&self, user: &str) -> Result<Vec<String>, Refusal>;
}

impl<R: GroupResolver + ?Sized> GroupResolver for &R {
    fn resolve(&self, user: &str) -> Result<Vec<String>, Refusal> {
        (**self).resolve(user)
    }
}

/// A kind of resolver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ResolverKind {
    /// No resolver: a user is in the group of their own name.
    #[default]
    None,
    /// The accounts of the operating system that the scheduler runs on: those of its container image.
    Os,
    /// A directory service.
    Ldap,
    /// `YuniKorn`'s users for tests.
    Test,
}

impl ResolverKind {
    /// The kind for a `usergroupresolver.type`. Any word that `YuniKorn` does not know means no resolver,
    /// without an error.
    pub fn parse(text: &str) -> Self {
        match text {
            "os" => Self::Os,
            "ldap" => Self::Ldap,
            "test" => Self::Test,
            _ => Self::None,
        }
    }

    /// The kind used by a scheduler that starts with this configuration: that of the first partition
    /// (`usergroup.go:79`).
    pub fn in_force(config: &Config) -> Self {
        let first = config.partitions.first();
        first.map_or(Self::None, |first| Self::parse(first.user_group_resolver.kind.as_str()))
    }

    /// The resolver as far as it can work here, without the machines it would query.
    pub fn here(self) -> &'static (dyn GroupResolver + Sync) {
        match self {
            Self::None => &NoResolver,
            Self::Os => &Elsewhere { name: "the accounts of the scheduler's container" },
            Self::Ldap => &Elsewhere { name: "LDAP" },
            Self::Test => &AccountGroups(TestAccounts),
        }
    }
}

/// No resolver (`usergroup_no_resolver.go`): a user is in the group of their own name, and in no other.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoResolver;

impl GroupResolver for NoResolver {
    fn resolve(&self, user: &str) -> Result<Vec<String>, Refusal> {
        Ok(vec![user.to_owned()])
    }
}

/// A resolver that cannot be used here, such as a directory service.
#[derive(Debug, Clone)]
pub struct Elsewhere {
    /// The resolver's name, for the message.
    pub name: &'static str,
}

impl GroupResolver for Elsewhere {
    fn resolve(&self, user: &str) -> Result<Vec<String>, Refusal> {
        let user = go_compat::diag::quoted(user);
        let name = self.name;
        Err(Refusal::Undecided(format!(
            "YuniKorn takes the groups of {user} from {name}, which queuewarden does not query"
        )))
    }
}

// Groups as operating systems keep them: accounts with a primary group and others, all of them numbers that
// may have names.

/// A source of accounts.
pub trait Accounts {
    /// The numbers of the user's primary group and of all its groups, with or without the primary one.
    ///
    /// # Errors
    /// With the message that Go's `os/user` has for it.
    fn group_ids(&self, user: &str) -> Result<(String, Vec<String>), String>;

    /// The name of the group with this number; `None` when there is none.
    fn group_name(&self, gid: &str) -> Option<String>;
}

/// The resolver over accounts (`usergroup.go:255-287`): the primary group first, then the others; a number
/// without a name stays a number.
#[derive(Debug, Clone, Copy, Default)]
pub struct AccountGroups<A>(pub A);

impl<A: Accounts> GroupResolver for AccountGroups<A> {
    fn resolve(&self, user: &str) -> Result<Vec<String>, Refusal> {
        let (primary, mut gids) = self.0.group_ids(user).map_err(Refusal::Unresolved)?;
        gids.retain(|gid| *gid != primary);
        gids.insert(0, primary);
        Ok(gids.into_iter().map(|gid| self.0.group_name(&gid).unwrap_or(gid)).collect())
    }
}

/// The accounts of `YuniKorn`'s resolver for tests (`usergroup_test_resolver.go`).
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

// Users and their groups written in a file, for questions about people whose groups `YuniKorn` resolves from
// a source that we cannot read.
//
// The file is YAML, a list of groups for each user, the primary group first:
//
// ```yaml
// sue: [devs, ops]
// bob: [devs]
// eve: []          # known, and in no group
// ```
//
// A user who is missing in the file is unknown: it does not follow that `YuniKorn` would refuse them.

go_compat::codes! {
    /// A user in a file of groups has no name, which no request can have either.
    pub const EMPTY_USER: Code = Code::new(7001, "empty-user-name");
    /// A group in a file of groups has no name: `YuniKorn` would keep it, and no ACL can name it.
    pub const EMPTY_GROUP: Code = Code::new(7002, "empty-group-name");
}

/// The groups of users.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupsFile {
    groups: BTreeMap<String, Vec<String>>,
}

impl GroupsFile {
    /// Reads the text of such a file, with findings about what is odd in it.
    ///
    /// # Errors
    /// All errors with their spans, when the text is not YAML, or not lists of groups by user.
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
        let message = "a user without a name has groups, and YuniKorn refuses such a user";
        found.push(Diagnostic::warning(EMPTY_USER, message).help("remove the entry, or name the user"));
    }
    if groups.iter().any(String::is_empty) {
        let message = format!("{} is in a group without a name, which no ACL can name", quoted(user));
        found.push(Diagnostic::warning(EMPTY_GROUP, message).help("remove the empty group"));
    }
    found
}

impl GroupResolver for GroupsFile {
    fn resolve(&self, user: &str) -> Result<Vec<String>, Refusal> {
        let unknown = || Refusal::Undecided(format!("the file of groups does not have {}", quoted(user)));
        self.groups.get(user).cloned().ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_is_not_known_means_none() {
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
    fn the_first_partitions_type_is_that_of_all() {
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
    fn what_cannot_be_asked_is_not_decided() {
        let Err(Refusal::Undecided(why)) = (Elsewhere { name: "LDAP" }).resolve("sue") else { panic!() };
        assert_eq!(why, "YuniKorn takes the groups of `sue` from LDAP, which queuewarden does not query");
    }

    #[test]
    fn the_primary_group_comes_first_and_numbers_without_a_name_stay() {
        for (user, groups) in [
            ("testuser1", &["group1000", "group1001"][..]),
            ("testuser2", &["100", "group1001", "group1002"]),
            ("testuser3", &["group1001", "group1002", "group1003", "group1004"]),
            ("testuser4", &["901", "902"]),
        ] {
            let groups = groups.iter().map(ToString::to_string).collect();
            assert_eq!(AccountGroups(TestAccounts).resolve(user), Ok(groups), "{user}");
        }
        for user in ["testuser5", "invalid-gid-user", "sue"] {
            let message = format!("lookup failed for user: {user}");
            assert_eq!(AccountGroups(TestAccounts).resolve(user), Err(Refusal::Unresolved(message)));
        }
    }

    fn groups(text: &str, user: &str) -> Result<Vec<String>, Refusal> {
        GroupsFile::read(text).unwrap().0.resolve(user)
    }

    #[test]
    fn users_have_the_groups_that_are_listed() {
        let text = "sue: [devs, ops]\nbob:\n- devs\neve: []\nnil:\n1: [2]\n";
        let list = |groups: &[&str]| Ok(groups.iter().map(ToString::to_string).collect());
        assert_eq!(groups(text, "sue"), list(&["devs", "ops"]));
        assert_eq!(groups(text, "bob"), list(&["devs"]));
        assert_eq!(groups(text, "eve"), list(&[]));
        assert_eq!(groups(text, "nil"), list(&[]));
        assert_eq!(groups(text, "1"), list(&["2"]));
        let undecided = |why: &str| Err(Refusal::Undecided(why.to_owned()));
        assert_eq!(groups(text, "Sue"), undecided("the file of groups does not have `Sue`"));
        assert_eq!(groups("", "sue"), undecided("the file of groups does not have `sue`"));
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_place() {
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
    fn names_that_are_empty_are_reported() {
        let (_, found) = GroupsFile::read("\"\": [a]\nsue: [a, '']").unwrap();
        assert_eq!(found.iter().map(|finding| finding.code).collect::<Vec<_>>(), [EMPTY_USER, EMPTY_GROUP]);
    }
}
