//! The sources of a user's groups when a request names none (`partitions[].usergroupresolver`, yunikorn-core
//! `pkg/common/security/usergroup.go:69-106`).
//!
//! `YuniKorn` makes its resolver once in a process, from the first partition it loads, and never again: a
//! reload with another type changes nothing, and further partitions share the first one's.

use super::Refusal;
use super::accounts::{AccountGroups, TestAccounts};
use crate::config::Config;

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
}
