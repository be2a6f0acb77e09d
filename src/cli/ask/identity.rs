//! Options for the user that a question is about.

use super::Asked;
use super::groups::{Groups, GroupsArgs};
use crate::cli::Failure;
use crate::cli::console::Console;
use yunikorn::identity::{Claim, Identity, Refusal, ResolverKind, identify};
use yunikorn::version::Version;

/// Options for the user that a question is about.
#[derive(Debug, Clone, Default, clap::Args)]
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
    /// Returns the user with the groups that `YuniKorn` would see: those that are given, or else those of the
    /// resolver.
    ///
    /// # Errors
    /// When no user is given and there is no cluster to ask, the name is invalid, or the groups cannot be
    /// resolved.
    pub fn resolve(&self, asked: &Asked, console: Console) -> Result<Identity, Failure> {
        let claimed = self.claimed(asked)?;
        if self.user.is_none() && claimed.groups.is_empty() {
            return Ok(claimed);
        }
        let own = ResolverKind::in_force(&asked.configuration.config);
        // If groups are given, no resolver is used and no file is read.
        let named = !claimed.groups.is_empty();
        let resolver = if named { Groups::Own(own) } else { self.source.resolver(own, console)? };
        match identify(Claim::new(&claimed.user, &claimed.groups), &resolver, Version::default()) {
            Ok(identity) => Ok(identity),
            Err(Refusal::Unresolved(why) | Refusal::Undecided(why)) => Err(unresolved(&why)),
            Err(refusal) => Err(Failure::Refused(refusal.of(&claimed.user))),
        }
    }

    /// Returns the given user and groups, or else the user that the cluster reports.
    ///
    /// # Errors
    /// When no user is given and there is no cluster to ask, or the name is invalid.
    pub fn claimed(&self, asked: &Asked) -> Result<Identity, Failure> {
        match (&self.user, asked.cluster()) {
            (Some(user), _) if user.is_empty() => {
                Err(Failure::Usage("--as is empty: YuniKorn knows no user without a name".to_owned()))
            }
            (Some(user), _) => Ok(Identity { user: user.clone(), groups: self.groups.clone() }),
            (None, _) if self.source.groups_from.is_some() => Err(Failure::Usage(
                "--groups-from says which groups a user is in: name the user, --as USER".to_owned(),
            )),
            (None, Some(cluster)) => cluster.whoami(),
            (None, None) => Err(Failure::Usage(
                "who is it about? With -f name the user: --as USER [--as-group GROUP]...".to_owned(),
            )),
        }
    }
}

/// Creates the failure for groups that cannot be resolved.
pub fn unresolved(why: &str) -> Failure {
    Failure::Undecided(format!("{why}; --as-group names them, or --groups-from says where they are"))
}
