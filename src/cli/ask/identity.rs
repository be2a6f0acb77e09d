//! Whom a question is asked about.

use super::Asked;
use super::groups::{Groups, GroupsArgs};
use crate::cli::Failure;
use crate::cli::console::Console;
use yunikorn::identity::{Claim, Identity, Refusal, ResolverKind, identify};
use yunikorn::version::Version;

/// Whom a question is asked about.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct IdentityArgs {
    /// The user to ask about; against a cluster it is you where this is not given
    #[arg(long = "as", value_name = "USER")]
    pub user: Option<String>,
    /// A group that the user is in; may be repeated. Without any, groups are resolved as YuniKorn does it
    #[arg(long = "as-group", value_name = "GROUP", requires = "user")]
    pub groups: Vec<String>,
    /// Where groups come from that are not named
    #[command(flatten)]
    pub source: GroupsArgs,
}

impl IdentityArgs {
    /// The user with the groups that `YuniKorn` would see: those that are given, or else what the resolver answers.
    ///
    /// # Errors
    /// When nobody is named and there is no cluster that would say who asks, no such user can be, or the groups cannot be known.
    pub fn resolve(&self, asked: &Asked, console: Console) -> Result<Identity, Failure> {
        let claimed = self.claimed(asked)?;
        if self.user.is_none() && claimed.groups.is_empty() {
            return Ok(claimed);
        }
        let own = ResolverKind::in_force(&asked.configuration.config);
        // For a user who is named with groups nothing else is asked, or read.
        let named = !claimed.groups.is_empty();
        let resolver = if named { Groups::Own(own) } else { self.source.resolver(own, console)? };
        match identify(Claim::new(&claimed.user, &claimed.groups), &resolver, Version::default()) {
            Ok(identity) => Ok(identity),
            Err(Refusal::Unresolved(why) | Refusal::Undecided(why)) => Err(unresolved(&why)),
            Err(refusal) => Err(Failure::Refused(refusal.of(&claimed.user))),
        }
    }

    /// Who is named, with the groups as they are given; or who asks the cluster.
    ///
    /// # Errors
    /// When nobody is named and there is no cluster that would say who asks, or no such user can be.
    pub fn claimed(&self, asked: &Asked) -> Result<Identity, Failure> {
        match (&self.user, &asked.cluster) {
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

/// The groups of a user are not known, and why.
pub fn unresolved(why: &str) -> Failure {
    Failure::Undecided(format!("{why}; --as-group names them, or --groups-from says where they are"))
}
