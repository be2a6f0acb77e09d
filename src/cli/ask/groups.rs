//! Where the groups of a user come from who is named without any.
//!
//! `YuniKorn` asks the resolver that its configuration names. Two of them cannot be asked from here, a directory service and the accounts of
//! the scheduler's container: then the answer is that it cannot be decided, unless somebody says where the groups are to be had.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use crate::cli::console::Console;
use crate::cli::input::source;
use crate::cli::{Failure, os_groups, report};
use yunikorn::identity::groups_file::GroupsFile;
use yunikorn::identity::{GroupResolver, Resolution, ResolverKind};

/// Where groups come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
pub struct GroupsArgs {
    /// Where groups come from for a user who is named without any, instead of YuniKorn's resolver: a file that lists them for each user, as in
    /// sue: [devs, ops]; or os, the accounts of this machine
    #[arg(long, value_name = "FILE|os")]
    pub groups_from: Option<GroupsFrom>,
}

/// What `--groups-from` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupsFrom {
    /// The accounts of this machine.
    Os,
    /// A file of [`GroupsFile`].
    File(PathBuf),
}

impl FromStr for GroupsFrom {
    type Err = Infallible;

    /// A file of the name `os` is `./os`.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(if text == "os" { Self::Os } else { Self::File(text.into()) })
    }
}

/// What answers for a scheduler.
#[derive(Debug)]
pub enum Groups {
    /// The scheduler's own resolver, as far as it is known here.
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
    /// What answers for a scheduler with such a resolver. Oddities of a file are told.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn resolver(&self, own: ResolverKind, console: Console) -> Result<Groups, Failure> {
        match &self.groups_from {
            None => Ok(Groups::Own(own)),
            Some(GroupsFrom::Os) => Ok(Groups::Os),
            Some(GroupsFrom::File(path)) => {
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
