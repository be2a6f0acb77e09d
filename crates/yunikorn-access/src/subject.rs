//! Subjects in ACLs.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::alias::{Kind, shown};
use yunikorn::acl::Match;
use yunikorn::identity::Identity;

/// The subject of an ACL entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(into = "Named")]
#[schemars(with = "Named", rename = "Named")]
pub enum Subject {
    /// `*`
    Everyone,
    /// A user.
    User(String),
    /// The members of a group.
    Group(String),
}

/// The kind of subject of an ACL entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, strum::IntoStaticStr)]
#[schemars(rename = "NamedKind")]
pub enum SubjectKind {
    /// `*`
    Everyone,
    /// A user.
    User,
    /// The members of a group.
    Group,
}

/// The subject of an ACL entry.
#[derive(Serialize, JsonSchema)]
struct Named {
    /// The kind of subject.
    kind: SubjectKind,
    /// The name; null for everyone.
    name: Option<String>,
}

impl From<Subject> for Named {
    fn from(subject: Subject) -> Self {
        Self { kind: subject.kind(), name: subject.name().map(str::to_owned) }
    }
}

impl SubjectKind {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
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
    /// Returns the kind of subject.
    pub fn kind(&self) -> SubjectKind {
        match self {
            Self::Everyone => SubjectKind::Everyone,
            Self::User(_) => SubjectKind::User,
            Self::Group(_) => SubjectKind::Group,
        }
    }

    /// Returns the name; `None` for everyone.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Everyone => None,
            Self::User(name) | Self::Group(name) => Some(name),
        }
    }

    /// Returns `user/sue`, `group/devs` or `everyone`.
    pub fn path(&self) -> String {
        match self {
            Self::Everyone => "everyone".to_owned(),
            Self::User(name) => format!("user/{name}"),
            Self::Group(name) => format!("group/{name}"),
        }
    }

    /// Returns the subject as an entry of an ACL.
    pub fn entry(&self) -> Match<'_> {
        match self {
            Self::Everyone => Match::Everyone,
            Self::User(user) => Match::User(user),
            Self::Group(group) => Match::Group(group),
        }
    }

    /// Returns whether an ACL can contain the subject without an alias.
    pub fn is_plain(&self) -> bool {
        match self {
            Self::Everyone => true,
            Self::User(name) => Kind::User.is_plain(name),
            Self::Group(name) => Kind::Group.is_plain(name),
        }
    }

    /// Returns an identity that consists of only this subject: a user in no group, an unnamed member of a
    /// group, or an unknown user. It has access only through this name or the wildcard, because no ACL can
    /// name an empty user.
    pub fn identity(&self) -> Identity {
        match self {
            Self::Everyone => Identity::default(),
            Self::User(user) => Identity { user: user.clone(), groups: Vec::new() },
            Self::Group(group) => Identity { user: String::new(), groups: vec![group.clone()] },
        }
    }
}
