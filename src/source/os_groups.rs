//! Groups from the accounts of this machine, for a scheduler whose `usergroupresolver` is `os`.
//!
//! The scheduler uses the accounts of the machine it runs on, which in a cluster is its container image:
//! `/etc/passwd` and `/etc/group` there. Here the accounts of this machine are used, so the result is the
//! scheduler's only if both have the same accounts.

use std::ffi::CString;

use nix::unistd::{Gid, Group, User, getgrouplist};

use yunikorn::identity::{AccountGroups, Accounts};

/// Returns the resolver for the accounts of this machine.
pub fn resolver() -> AccountGroups<OsAccounts> {
    AccountGroups(OsAccounts)
}

/// The accounts of this machine, as Go's `os/user` looks them up.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsAccounts;

impl Accounts for OsAccounts {
    fn group_ids(&self, user: &str) -> Result<(String, Vec<String>), String> {
        let account = match User::from_name(user) {
            Ok(Some(account)) => account,
            Ok(None) => return Err(format!("user: unknown user {user}")),
            Err(error) => return Err(format!("user: lookup username {user}: {}", error.desc())),
        };
        let failed = |why: &dyn std::fmt::Display| format!("user: list groups for {}: {why}", account.name);
        let name = CString::new(account.name.as_str()).map_err(|error| failed(&error))?;
        let gids = getgrouplist(&name, account.gid).map_err(|error| failed(&error.desc()))?;
        Ok((account.gid.to_string(), gids.iter().map(ToString::to_string).collect()))
    }

    fn group_name(&self, gid: &str) -> Option<String> {
        let gid = gid.parse().ok().map(Gid::from_raw)?;
        Group::from_gid(gid).ok().flatten().map(|group| group.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use yunikorn::identity::{GroupResolver as _, Refusal};

    #[test]
    fn root_has_its_group_first_and_the_unknown_fail() {
        let primary = Group::from_gid(User::from_name("root").unwrap().unwrap().gid).unwrap().unwrap().name;
        let groups = resolver().resolve("root").unwrap();
        assert_eq!(groups[0], primary);
        assert_eq!(groups.iter().filter(|group| **group == primary).count(), 1);
        for user in ["no-such-user-here", "a\0b"] {
            assert!(matches!(resolver().resolve(user), Err(Refusal::Unresolved(_))), "{user:?}");
        }
    }

    #[test]
    fn a_number_without_a_group_has_no_name() {
        assert_eq!(OsAccounts.group_name("4294967000"), None);
        assert_eq!(OsAccounts.group_name("no number"), None);
    }
}
