//! A queue of a tree, with its ACLs and the origin of each entry.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::NotActive;
use go_compat::diag::Span;
use yunikorn::acl::{self, Acl, Match};
use yunikorn::config::Queue;
use yunikorn::queue::QueuePath;
use yunikorn::right::{ByRight, Right};

/// The number of a queue in its [`Tree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct QueueId(pub(super) u32);

/// A queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The full path.
    pub path: QueuePath,
    /// The parent; `None` for the root.
    pub parent: Option<QueueId>,
    /// True if applications run in the queue.
    pub is_leaf: bool,
    /// True if it is declared a parent.
    pub is_declared_parent: bool,
    /// Maximum number of running applications; 0 means unlimited.
    pub max_applications: u64,
    /// The location of the name in the text, if known.
    pub head: Option<TextLocation>,
    /// The ACLs of this queue only.
    pub(super) grants: ByRight<Grants>,
    /// The number of queues in the subtree, including this one.
    pub(super) size: u32,
}

/// An ACL of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grants {
    /// The ACL as written, or an empty text.
    pub text: String,
    /// The ACL as parsed at activation.
    pub acl: Acl,
    /// The parts of the ACL by origin. Every entry of `acl` is in at least one part and may be in several.
    pub parts: Vec<(Origin, Acl)>,
}

/// The location of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(into = "WrittenIn")]
#[schemars(with = "WrittenIn", rename = "WrittenIn")]
pub enum Origin {
    /// An object of queuewarden, such as `QueueAcl/name`.
    Object {
        /// The kind.
        kind: &'static str,
        /// `metadata.name`
        name: String,
        /// When its grant ends.
        until: Option<Timestamp>,
    },
    /// The text of a queues.yaml that contains this ACL of the queue.
    Text(TextLocation),
}

/// The location of an entry.
#[derive(Serialize, JsonSchema)]
struct WrittenIn {
    /// `QueueAcl`, `AdmissionPolicy` or `ConfigMap` for an object, `Text` for the text of a configuration.
    kind: &'static str,
    /// The name of the object, or of the file or ConfigMap key.
    #[schemars(with = "String")]
    name: Arc<str>,
    /// The line, from 1; null for an object or if unknown.
    line: Option<usize>,
    /// The column in characters, from 1; null like `line`.
    column: Option<usize>,
    /// When its grant ends; null if it has no end.
    until: Option<Timestamp>,
}

impl From<Origin> for WrittenIn {
    fn from(origin: Origin) -> Self {
        match origin {
            Origin::Object { kind, name, until } => {
                Self { kind, name: name.into(), line: None, column: None, until }
            }
            Origin::Text(TextLocation { name, line, column, .. }) => {
                Self { kind: "Text", name, line, column, until: None }
            }
        }
    }
}

/// A location in the text of a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct TextLocation {
    /// The name of the text: a file, or a ConfigMap and its key.
    pub name: Arc<str>,
    /// The line, from 1; `None` if unknown or if the text was generated.
    pub line: Option<usize>,
    /// The column in characters, from 1; `None` like `line`.
    pub column: Option<usize>,
    /// The span in the text, if known.
    pub span: Option<Span>,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object { kind, name, .. } => write!(f, "{kind}/{name}"),
            Self::Text(_) => f.write_str("the queues.yaml"),
        }
    }
}

impl Origin {
    /// Returns the name of the object; `None` for a text.
    pub fn object(&self) -> Option<&str> {
        match self {
            Self::Object { name, .. } => Some(name),
            Self::Text(_) => None,
        }
    }

    /// Returns `QueueAcl/prod` or `queues.yaml:9:20`.
    pub fn words(&self) -> String {
        match self {
            Self::Text(TextLocation { name, line: Some(line), column: Some(column), .. }) => {
                format!("{name}:{line}:{column}")
            }
            Self::Text(location) => location.name.to_string(),
            Self::Object { .. } => self.to_string(),
        }
    }

    /// Joins several origins into one text.
    pub fn list(origins: &[Self]) -> String {
        origins.iter().map(Self::words).collect::<Vec<_>>().join(", ")
    }

    /// Returns the end of an entry that has these origins.
    pub fn last_end(origins: &[Self]) -> Option<Timestamp> {
        latest(origins.iter().map(Self::until))
    }

    /// Returns the end of the grant. A text has no end.
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Object { until, .. } => *until,
            Self::Text(_) => None,
        }
    }
}

/// Returns the latest of several ends; `None` means no end.
pub fn latest(ends: impl IntoIterator<Item = Option<Timestamp>>) -> Option<Timestamp> {
    ends.into_iter().reduce(|left, right| Some(left?.max(right?))).flatten()
}

impl QueueId {
    /// The root queue.
    pub const ROOT: Self = Self(0);

    /// Returns the queue with this number, without checking that it exists.
    pub fn new(number: u32) -> Self {
        Self(number)
    }

    /// Returns the number; the root's is 0.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Returns the number as an index into data in the order of [`Tree::queues`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Node {
    /// Returns whether the check of a right ends at this queue with a denial.
    pub(crate) fn stops(&self, right: Right) -> bool {
        right == Right::Submit && self.path.is_recovery()
    }

    /// Creates the node of a queue, without its descendants.
    pub(super) fn new(queue: &Queue) -> Result<Self, NotActive> {
        Ok(Self {
            path: queue.path.clone(),
            parent: queue.above.map(QueueId),
            is_leaf: queue.is_leaf,
            is_declared_parent: queue.is_declared_parent,
            max_applications: queue.max_applications,
            head: queue.head.map(|head| TextLocation { span: Some(head), ..TextLocation::default() }),
            grants: ByRight {
                submit: Grants::written(queue, Right::Submit)?,
                admin: Grants::written(queue, Right::Admin)?,
            },
            size: 1,
        })
    }

    /// Creates a node without ACLs.
    pub(super) fn bare(path: QueuePath, parent: Option<QueueId>, max_applications: u64) -> Self {
        Self {
            path,
            parent,
            is_leaf: false,
            is_declared_parent: false,
            max_applications,
            head: None,
            grants: ByRight::default(),
            size: 1,
        }
    }

    /// Returns the ACL for a right.
    pub fn grants(&self, right: Right) -> &Grants {
        self.grants.get(right)
    }
}

impl Grants {
    /// Returns the origins of all entries.
    pub fn all_origins(&self) -> Vec<Origin> {
        self.parts.iter().map(|(origin, _)| origin.clone()).collect()
    }

    /// Returns the origins of an entry.
    pub fn origins(&self, entry: Match<'_>) -> Vec<Origin> {
        self.parts.iter().filter(|(_, part)| part.has(entry)).map(|(origin, _)| origin.clone()).collect()
    }

    fn written(queue: &Queue, right: Right) -> Result<Self, NotActive> {
        let written = queue.acl(right);
        if written.is_empty() {
            return Ok(Self::default());
        }
        let acl = acl::parse(&written.value).map_err(|error| NotActive {
            queue: queue.path.clone(),
            right,
            error,
        })?;
        let location = TextLocation { span: written.span, ..TextLocation::default() };
        let parts = vec![(Origin::Text(location), acl.clone())];
        Ok(Self { text: written.value.clone(), acl, parts })
    }

    /// Moves the entries that `object` grants from the text to the object. Entries that the current ACL does
    /// not grant are ignored.
    pub(super) fn attribute(&mut self, object: Origin, granted: &Acl) {
        // Nearly all ACLs come from the base.
        if let ([(origin @ Origin::Text(_), part)], Origin::Text(_)) = (self.parts.as_mut_slice(), &object)
            && part == granted
            && !granted.is_nobody()
        {
            *origin = object;
            return;
        }
        let lost = granted.lost(&self.acl);
        let kept = if granted.is_everyone() && !self.acl.is_everyone() {
            Acl::nobody()
        } else {
            granted.lost(&lost)
        };
        for (origin, part) in &mut self.parts {
            if matches!(origin, Origin::Text(_)) {
                *part = part.lost(&kept);
            }
        }
        self.parts.retain(|(_, part)| !part.is_nobody());
        if !kept.is_nobody() {
            self.parts.push((object, kept));
        }
        // Texts come last, in the order of their attribution.
        self.parts.sort_by(|(left, _), (right, _)| match (left, right) {
            (Origin::Text(_), Origin::Text(_)) => Ordering::Equal,
            (left, right) => left.cmp(right),
        });
    }
}
