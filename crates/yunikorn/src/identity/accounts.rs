//! Groups as operating systems keep them: accounts with a primary group and others, all of them numbers that
//! may have names.

use super::resolver::{GroupResolver, Resolution};

/// A source of accounts.
pub trait Accounts {
    /// The account of this user.
    ///
    /// # Errors
    /// With the message that Go's `os/user` has for it.
    fn account(&self, user: &str) -> Result<Account, String>;

    /// The name of the group with this number; `None` when there is none.
    fn group_name(&self, gid: &str) -> Option<String>;

    /// The numbers of the account's groups, with or without the primary one.
    ///
    /// # Errors
    /// With the message that Go's `os/user` has for it.
    fn group_ids(&self, account: &Account) -> Result<Vec<String>, String>;
}

/// An account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The user's name.
    pub user: String,
    /// The number of the primary group, as text.
    pub gid: String,
}

/// The resolver over accounts (`usergroup.go:255-287`): the primary group first, then the others; a number
/// without a name stays a number.
#[derive(Debug, Clone, Copy, Default)]
pub struct AccountGroups<A>(pub A);

impl<A: Accounts> GroupResolver for AccountGroups<A> {
    fn resolve(&self, user: &str) -> Resolution {
        let resolved = self.0.account(user).and_then(|account| {
            let others = self.0.group_ids(&account)?;
            let others = others.into_iter().filter(|gid| *gid != account.gid);
            Ok(std::iter::once(account.gid.clone()).chain(others).collect::<Vec<_>>())
        });
        match resolved {
            Ok(gids) => Resolution::Groups(
                gids.into_iter().map(|gid| self.0.group_name(&gid).unwrap_or(gid)).collect(),
            ),
            Err(message) => Resolution::Failed(message),
        }
    }
}

/// The accounts of `YuniKorn`'s resolver for tests (`usergroup_test_resolver.go`).
#[derive(Debug, Clone, Copy, Default)]
pub struct TestAccounts;

impl Accounts for TestAccounts {
    fn account(&self, user: &str) -> Result<Account, String> {
        let gid = match user {
            "testuser1" => "1000",
            "testuser2" => "100",
            "testuser3" | "testuser5" => "1001",
            "testuser4" => "901",
            "invalid-gid-user" => "1_001",
            _ => return Err(format!("lookup failed for user: {user}")),
        };
        Ok(Account { user: user.to_owned(), gid: gid.to_owned() })
    }

    fn group_name(&self, gid: &str) -> Option<String> {
        gid.parse::<u32>().ok().filter(|gid| *gid >= 1000).map(|gid| format!("group{gid}"))
    }

    fn group_ids(&self, account: &Account) -> Result<Vec<String>, String> {
        let gids: &[&str] = match account.user.as_str() {
            "testuser1" => &["1001"],
            "testuser2" => &["1001", "1002"],
            "testuser3" => &["1002", "1001", "1003", "1004"],
            "testuser4" => &["901", "902"],
            user => return Err(format!("lookup failed for user: {user}")),
        };
        Ok(gids.iter().map(ToString::to_string).collect())
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
            assert_eq!(AccountGroups(TestAccounts).resolve(user), Resolution::Groups(groups), "{user}");
        }
        for user in ["testuser5", "invalid-gid-user", "sue"] {
            let message = format!("lookup failed for user: {user}");
            assert_eq!(AccountGroups(TestAccounts).resolve(user), Resolution::Failed(message));
        }
    }

    #[test]
    fn accounts_may_have_a_primary_group_and_no_others() {
        for (user, gid) in [("testuser5", "1001"), ("invalid-gid-user", "1_001")] {
            let account = TestAccounts.account(user).unwrap();
            assert_eq!((account.user.as_str(), account.gid.as_str()), (user, gid));
            TestAccounts.group_ids(&account).unwrap_err();
        }
        TestAccounts.account("sue").unwrap_err();
    }
}
