//! Spells the evaluator's terms, for answers and for people.

use jiff::Timestamp;

use super::{AclKey, Named, NamedKind, WrittenIn};
use yunikorn::acl::Match;
use yunikorn::right::Right;
use yunikorn_access::alias::shown;
use yunikorn_access::decide::in_words;
use yunikorn_access::latest;
use yunikorn_access::subject::Subject;

impl From<Right> for AclKey {
    fn from(right: Right) -> Self {
        match right {
            Right::Submit => Self::SubmitAcl,
            Right::Admin => Self::AdminAcl,
        }
    }
}

impl AclKey {
    /// Returns the key in JSON and in queues.yaml.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SubmitAcl => "submitacl",
            Self::AdminAcl => "adminacl",
        }
    }
}

impl NamedKind {
    /// Returns the word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Everyone => "Everyone",
            Self::User => "User",
            Self::Group => "Group",
        }
    }
}

impl From<Match<'_>> for Named {
    fn from(entry: Match<'_>) -> Self {
        let (kind, name) = match entry {
            Match::Everyone => (NamedKind::Everyone, None),
            Match::User(name) => (NamedKind::User, Some(name)),
            Match::Group(name) => (NamedKind::Group, Some(name)),
        };
        Self { kind, name: name.map(str::to_owned) }
    }
}

impl From<&Subject> for Named {
    fn from(subject: &Subject) -> Self {
        Self::from(subject.entry())
    }
}

impl Named {
    /// `user sue`, `group devs`, `everyone`
    pub fn words(&self) -> String {
        let name = self.name.as_deref().unwrap_or_default();
        match self.kind {
            NamedKind::Everyone => "everyone".to_owned(),
            NamedKind::User => format!("user {}", shown(name)),
            NamedKind::Group => format!("group {}", shown(name)),
        }
    }

    /// `user/sue`, `group/devs`, `everyone`
    pub fn path(&self) -> String {
        match (&self.name, self.kind) {
            (Some(name), NamedKind::User) => format!("user/{name}"),
            (Some(name), NamedKind::Group) => format!("group/{name}"),
            _ => "everyone".to_owned(),
        }
    }
}

/// Returns an end as a cell of a table; empty where there is none.
pub fn until(end: Option<Timestamp>) -> String {
    end.map(in_words).unwrap_or_default()
}

impl WrittenIn {
    /// Returns a location in a text: its line and column, from 1, where they are known.
    pub fn text(name: &str, position: Option<(usize, usize)>) -> Self {
        let (line, column) = position.unzip();
        Self { kind: "Text".to_owned(), name: name.to_owned(), line, column, until: None }
    }

    /// `QueueAcl/prod`, `queues.yaml:9:20`
    pub fn words(&self) -> String {
        match (self.kind.as_str(), self.line, self.column) {
            ("Text", Some(line), Some(column)) => format!("{}:{line}:{column}", self.name),
            ("Text", ..) => self.name.clone(),
            (kind, ..) => format!("{kind}/{}", self.name),
        }
    }

    /// Returns the end of an entry that is written in these locations, as [`until`].
    pub fn until(origins: &[Self]) -> String {
        until(latest(origins.iter().map(|origin| origin.until)))
    }

    /// Joins several of them into one text.
    pub fn list(origins: &[Self]) -> String {
        origins.iter().map(Self::words).collect::<Vec<_>>().join(", ")
    }
}
