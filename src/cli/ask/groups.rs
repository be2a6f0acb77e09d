//! Resolves the groups of a user who is given without any.
//!
//! `YuniKorn` uses the resolver that its configuration names. Two of them do not work from here: a directory
//! service, and the accounts of the scheduler's container. Then the question cannot be decided, unless an
//! option names another source.

use std::path::PathBuf;

use crate::cli::console::Console;
use crate::cli::input::source;
use crate::cli::{Failure, os_groups, report};
use yunikorn::identity::groups_file::GroupsFile;
use yunikorn::identity::{GroupResolver, Resolution, ResolverKind};

/// Option for the source of groups.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
pub struct GroupsArgs {
    /// Source of groups for a user who is given without any, instead of YuniKorn's resolver: a file that
    /// lists them for each user, as in sue: [devs, ops]; or os, the accounts of this machine
    #[arg(long, value_name = "FILE|os")]
    pub groups_from: Option<PathBuf>,
}

/// Resolver of groups in place of the scheduler's.
#[derive(Debug)]
pub enum Groups {
    /// The scheduler's own resolver, as far as it works here.
    Own(ResolverKind),
    /// The accounts of this machine.
    Os,
    /// A file.
    File(GroupsFile),
}

impl GroupResolver for Groups {
    fn resolve(&self, user: &str) -> Resolution {
        match self {
            Self::Own(kind) => kind.here().resolve(user),
            Self::Os => os_groups::resolver().resolve(user),
            Self::File(file) => file.resolve(user),
        }
    }
}

impl GroupsArgs {
    /// Returns the resolver for a scheduler with resolver `own`. Findings on a file are printed.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn resolver(&self, own: ResolverKind, console: Console) -> Result<Groups, Failure> {
        match &self.groups_from {
            None => Ok(Groups::Own(own)),
            // A file of that name is `./os`.
            Some(path) if path.as_os_str() == "os" => Ok(Groups::Os),
            Some(path) => {
                let file = source::read_one(path)?;
                let tell =
                    |found: &_| console.err(&report::draw(found, Some(&file), None, console.color_err()));
                let (groups, odd) = GroupsFile::read(&file.text).map_err(|wrong| {
                    wrong.iter().for_each(tell);
                    Failure::Usage(format!("--groups-from: {} cannot be read", file.name))
                })?;
                odd.iter().for_each(tell);
                Ok(Groups::File(groups))
            }
        }
    }
}
