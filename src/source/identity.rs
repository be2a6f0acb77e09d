//! The user in a question, and the groups of a user without given groups.
//!
//! `YuniKorn` uses the resolver that its configuration names. Two of them do not work from here: a directory
//! service, and the accounts of the scheduler's container. Then the question cannot be decided, unless an
//! option names another source.

#[cfg(unix)]
use std::ffi::CString;
use std::path::PathBuf;

#[cfg(unix)]
use nix::unistd::{Gid, Group, User, getgrouplist};

use super::configuration::Configuration;
use crate::output::{Console, Failure, diagnostic};
use crate::source::input::ours::without_values;
use crate::source::input::source;
use crate::source::session::{Session, Source};
use yunikorn::identity::{Accounts, GroupResolver, GroupsFile, Identity, Refusal, ResolverKind};

/// Option for the source of groups.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
pub struct GroupsArgs {
    /// Source of groups for a user who is given without any, instead of YuniKorn's resolver: a file that
    /// lists them for each user, as in sue: [devs, ops]; or os, the accounts of this machine
    #[arg(long, value_name = "FILE|os")]
    pub groups_from: Option<PathBuf>,
}

impl GroupsArgs {
    /// Returns the resolver in place of the scheduler's own, which is used if no option names another.
    /// Findings on a file are printed.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn resolver(
        &self,
        own: ResolverKind,
        console: Console,
    ) -> Result<Box<dyn GroupResolver + Sync>, Failure> {
        let Some(path) = &self.groups_from else { return Ok(Box::new(own)) };
        // A file of that name is `./os`.
        if path.as_os_str() == "os" {
            return Ok(Box::new(OsAccounts));
        }
        let file = source::read_one(path)?;
        let print = |found: &_| console.err(&diagnostic::draw(found, Some(&file), None, console.look_err()));
        let (groups, odd) = GroupsFile::read(&file.text).map_err(|wrong| {
            // What this file is, is not known: it may be another one by mistake.
            let file = file.clone().unquoted();
            for found in &wrong {
                let found = without_values(found.clone());
                console.err(&diagnostic::draw(&found, Some(&file), None, console.look_err()));
            }
            Failure::Usage(format!("--groups-from: {} cannot be read", file.name))
        })?;
        odd.iter().for_each(print);
        Ok(Box::new(groups))
    }
}

/// Options for the user in a question.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
pub struct IdentityArgs {
    /// The user to ask about; with a cluster, you by default
    #[arg(long = "as", value_name = "USER")]
    pub user: Option<String>,
    /// A group the user is in; may be repeated. Without any, groups are resolved as YuniKorn does it
    #[arg(long = "as-group", value_name = "GROUP", requires = "user")]
    pub groups: Vec<String>,
    /// The source of groups that are not given.
    #[command(flatten)]
    pub source: GroupsArgs,
}

impl IdentityArgs {
    /// Returns the user with the groups that `YuniKorn` would see: the given groups, or else the groups of
    /// the resolver.
    ///
    /// # Errors
    /// When no user is given and there is no cluster to ask, the name is invalid, or the groups cannot be
    /// resolved.
    pub fn resolve(&self, session: &Session, console: Console) -> Result<Identity, Failure> {
        let claimed = self.claimed(&session.source)?;
        if self.user.is_none() && claimed.groups.is_empty() {
            return Ok(claimed);
        }
        self.identified(&claimed, &session.configuration, console)
    }

    /// Returns a user as `YuniKorn` would see it with this configuration.
    ///
    /// # Errors
    /// When the name is invalid, or the groups cannot be resolved.
    pub fn identified(
        &self,
        claimed: &Identity,
        configuration: &Configuration,
        console: Console,
    ) -> Result<Identity, Failure> {
        let own = configuration.view.resolver;
        // If groups are given, no resolver is used and no file is read.
        let named = !claimed.groups.is_empty();
        let source = if named { &GroupsArgs::default() } else { &self.source };
        let resolver = source.resolver(own, console)?;
        match configuration.identify(claimed, &*resolver) {
            Ok(identity) => Ok(identity),
            Err(Refusal::Unresolved(why) | Refusal::Undecided(why)) => Err(unresolved(&why)),
            Err(refusal) => Err(Failure::Refused(refusal.describe(&claimed.user))),
        }
    }

    /// Returns the given user and groups, or else the user that the cluster reports.
    ///
    /// # Errors
    /// When no user is given and there is no cluster to ask, or the name is invalid.
    pub fn claimed(&self, source: &Source) -> Result<Identity, Failure> {
        match (self.given()?, source.cluster()) {
            (Some(given), _) => Ok(given),
            (None, Some(cluster)) => cluster.whoami(),
            (None, None) => Err(Failure::Usage(
                "the user is missing: with -f, add --as USER [--as-group GROUP]...".to_owned(),
            )),
        }
    }

    /// Returns the given user and groups, if any are given.
    ///
    /// # Errors
    /// When the name is empty, or only a source of groups is given.
    pub fn given(&self) -> Result<Option<Identity>, Failure> {
        match &self.user {
            Some(user) if user.is_empty() => {
                Err(Failure::Usage("--as is empty, but users must have a name".to_owned()))
            }
            Some(user) => Ok(Some(Identity { user: user.clone(), groups: self.groups.clone() })),
            None if self.source.groups_from.is_some() => {
                Err(Failure::Usage("--groups-from looks up the groups of a user: add --as USER".to_owned()))
            }
            None => Ok(None),
        }
    }
}

/// Creates the failure for groups that cannot be resolved.
pub fn unresolved(why: &str) -> Failure {
    Failure::Undecided(format!("{why}; pass them with --as-group, or list them in a file for --groups-from"))
}

/// The accounts of this machine, as Go's `os/user` looks them up, for a scheduler whose `usergroupresolver`
/// is `os`. That one uses the accounts of its container image, `/etc/passwd` and `/etc/group`, so the groups
/// are the same only if both have the same accounts.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsAccounts;

#[cfg(unix)]
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

/// Windows names its groups by other numbers than the scheduler's container.
#[cfg(not(unix))]
impl Accounts for OsAccounts {
    fn group_ids(&self, user: &str) -> Result<(String, Vec<String>), String> {
        Err(format!("user: lookup username {user}: this system has no accounts like the scheduler's"))
    }

    fn group_name(&self, _: &str) -> Option<String> {
        None
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn root_has_its_group_first_and_the_unknown_fail() {
        let primary = Group::from_gid(User::from_name("root").unwrap().unwrap().gid).unwrap().unwrap().name;
        let groups = OsAccounts.resolve("root").unwrap();
        assert_eq!(groups[0], primary);
        assert_eq!(groups.iter().filter(|group| **group == primary).count(), 1);
        for user in ["no-such-user-here", "a\0b"] {
            assert!(matches!(OsAccounts.resolve(user), Err(Refusal::Unresolved(_))), "{user:?}");
        }
    }

    #[test]
    fn a_number_without_a_group_has_no_name() {
        assert_eq!(OsAccounts.group_name("4294967000"), None);
        assert_eq!(OsAccounts.group_name("no number"), None);
    }
}
