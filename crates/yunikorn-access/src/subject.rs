//! The subjects that ACLs name.

use std::fmt;

use super::alias::{Kind, shown};
use yunikorn::acl::Match;
use yunikorn::identity::Identity;

/// The subject that an entry of an ACL names.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// `*`
    Everyone,
    /// A user.
    User(String),
    /// The members of a group.
    Group(String),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everyone => f.write_str("everyone"),
            Self::User(name) => write!(f, "user {}", shown(name)),
            Self::Group(name) => write!(f, "group {}", shown(name)),
        }
    }
}

impl From<Match<'_>> for Subject {
    fn from(entry: Match<'_>) -> Self {
        match entry {
            Match::Everyone => Self::Everyone,
            Match::User(user) => Self::User(user.to_owned()),
            Match::Group(group) => Self::Group(group.to_owned()),
        }
    }
}

impl Subject {
    /// Returns the subject as an entry of an ACL.
    pub fn entry(&self) -> Match<'_> {
        match self {
            Self::Everyone => Match::Everyone,
            Self::User(user) => Match::User(user),
            Self::Group(group) => Match::Group(group),
        }
    }

    /// Returns whether an ACL can hold it as it is, without an alias.
    pub fn is_plain(&self) -> bool {
        match self {
            Self::Everyone => true,
            Self::User(name) => Kind::User.is_plain(name),
            Self::Group(name) => Kind::Group.is_plain(name),
        }
    }

    /// Returns an identity about which only the subject is known: a user in no group, an unnamed member of a
    /// group, or anybody. Such an identity has access only by this name or by the wildcard, because no ACL
    /// can name an empty user.
    pub fn identity(&self) -> Identity {
        match self {
            Self::Everyone => Identity::default(),
            Self::User(user) => Identity { user: user.clone(), groups: Vec::new() },
            Self::Group(group) => Identity { user: String::new(), groups: vec![group.clone()] },
        }
    }
}
