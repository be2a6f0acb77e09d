//! Whom a question is asked about.

use super::Asked;
use crate::cli::Failure;
use crate::model::identity::Identity;

/// Whom a question is asked about.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct IdentityArgs {
    /// The user to ask about; against a cluster it is you where this is not given
    #[arg(long = "as", value_name = "USER")]
    pub user: Option<String>,
    /// A group that the user is in; may be repeated. Without any, groups are resolved as YuniKorn does it
    #[arg(long = "as-group", value_name = "GROUP", requires = "user")]
    pub groups: Vec<String>,
}

impl IdentityArgs {
    /// The user with the groups that `YuniKorn` would see.
    ///
    /// # Errors
    /// When nobody is named and there is no cluster that would say who asks, or no such user can be.
    pub fn resolve(&self, asked: &Asked) -> Result<Identity, Failure> {
        match (&self.user, &asked.cluster) {
            (Some(user), _) if user.is_empty() => {
                Err(Failure::Usage("--as is empty: YuniKorn knows no user without a name".to_owned()))
            }
            (Some(user), _) => Ok(self.named(user)),
            (None, Some(cluster)) => cluster.whoami(),
            (None, None) => Err(Failure::Usage(
                "who is it about? With -f name the user: --as USER [--as-group GROUP]...".to_owned(),
            )),
        }
    }

    /// Groups that are given count as they are; without any, `YuniKorn` without a resolver puts a user into the group of its
    /// own name (yunikorn-core `usergroup_no_resolver.go`).
    fn named(&self, user: &str) -> Identity {
        let groups = if self.groups.is_empty() { vec![user.to_owned()] } else { self.groups.clone() };
        Identity { user: user.to_owned(), groups }
    }
}
