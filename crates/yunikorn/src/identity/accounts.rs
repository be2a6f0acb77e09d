//! Groups as operating systems keep them: accounts with a primary group and others, all of them numbers that
//! may have names.

use super::Refusal;
use super::resolver::GroupResolver;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
