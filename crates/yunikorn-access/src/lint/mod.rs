//! Finds problems of a whole tree that no single ACL shows: grants without an effect, grants that nobody can
//! use, and names that nobody has.
//!
//! Everything here is a warning, because `YuniKorn` accepts it. [`yunikorn::acl::lint()`] reports errors in a
//! single ACL, and [`yunikorn::config::verdict()`] reports errors in the rest of the text; they are not
//! repeated here.
//!
//! * `covered`: entries whose access is granted elsewhere.
//! * `unused`: queues that nobody can submit to, or that the placement rules never reach.
//! * `names`: names that are probably wrong, or that the admission controller lets submit as others.

pub mod codes;
mod covered;
mod names;
#[cfg(test)]
mod tests;
mod unused;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use std::fmt;

pub use codes::CODES;
pub use names::{Known, Population, trusted_names};

use super::tree::{Grants, Node, Origin, QueueId, TextLocation, Tree};
use go_compat::diag::{Code, Diagnostic, listed, quoted, unlisted};
use yunikorn::acl::{Acl, Match};
use yunikorn::queue::QueuePath;
use yunikorn::right::{AclKey, Right};

/// Maximum number of listed findings; the others are only counted.
pub const MAX_FINDINGS: usize = 1000;

/// Maximum number of listed names in a message; the others are only counted.
const MAX_NAMES: usize = 6;

/// An error, or an entry with an unexpected effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ReportFinding")]
pub struct Finding {
    /// The finding.
    // The span refers to the queues.yaml, if the entry is written there.
    #[serde(flatten)]
    pub diagnostic: Diagnostic,
    /// The number of the queue; null if the finding concerns the whole text, or the settings of the admission
    /// controller.
    #[schemars(with = "Option<usize>")]
    pub queue: Option<QueueId>,
    /// The ACL; null if the finding concerns the queue.
    #[serde(rename = "acl", serialize_with = "acl_key")]
    #[schemars(with = "Option<AclKey>")]
    pub right: Option<Right>,
    /// The location of the finding; null if it is unknown.
    #[serde(rename = "writtenIn")]
    pub origin: Option<Origin>,
}

#[expect(clippy::trivially_copy_pass_by_ref, clippy::ref_option, reason = "serde hands a reference over")]
fn acl_key<S: Serializer>(right: &Option<Right>, serializer: S) -> Result<S::Ok, S::Error> {
    right.map(AclKey::from).serialize(serializer)
}

/// Returns all findings about a tree, in the order of its queues. `known` contains the existing names, if
/// they are known.
pub fn lint(tree: &Tree, known: &Known) -> Vec<Finding> {
    let mut findings = Findings::default();
    covered::find(tree, &mut findings);
    unused::find(tree, &mut findings);
    names::find(tree, known, &mut findings);
    findings.sorted()
}

/// Collects the findings.
#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    /// Adds a finding about a queue. `head` is the location of the queue's name.
    fn about_queue(
        &mut self,
        queue: QueueId,
        head: Option<&TextLocation>,
        code: Code,
        message: String,
        help: &str,
    ) {
        let span = head.and_then(|head| head.span);
        let diagnostic = Diagnostic { span, ..Diagnostic::warning(code, message).help(help) };
        let origin = head.cloned().map(Origin::Text);
        self.0.push(Finding { queue: Some(queue), right: None, origin, diagnostic });
    }

    /// Adds a finding about each object's or text's part of an ACL.
    fn about_parts(&mut self, acl: LocatedAcl<'_>, code: Code, message: &str, help: &str) {
        for (origin, _) in acl.parts() {
            self.about_part(acl, origin, code, message, help);
        }
    }

    /// Adds a finding about the part of an ACL that one object or text wrote.
    fn about_part(
        &mut self,
        acl: LocatedAcl<'_>,
        origin: &Origin,
        code: Code,
        message: impl Into<String>,
        help: &str,
    ) {
        let mut diagnostic = Diagnostic::warning(code, message).help(help);
        if let Origin::Text(location) = origin {
            diagnostic.span = location.span;
        }
        let (queue, right, origin) = (Some(acl.id), Some(acl.right), Some(origin.clone()));
        self.0.push(Finding { diagnostic, queue, right, origin });
    }

    fn sorted(mut self) -> Vec<Finding> {
        // A stable sort keeps findings about the same ACL in their order.
        self.0.sort_by_key(|finding| (finding.queue, finding.right));
        let hidden = self.0.len().saturating_sub(MAX_FINDINGS);
        self.0.truncate(MAX_FINDINGS);
        if hidden > 0 {
            self.about_queue(
                QueueId::ROOT,
                None,
                codes::MORE,
                unlisted(hidden),
                "fix the findings above first",
            );
        }
        self.0
    }
}

/// An ACL of a queue.
#[derive(Clone, Copy)]
struct LocatedAcl<'t> {
    id: QueueId,
    node: &'t Node,
    right: Right,
}

impl<'t> LocatedAcl<'t> {
    /// Iterates over both ACLs of every queue.
    fn each(tree: &'t Tree) -> impl Iterator<Item = Self> {
        tree.queues().flat_map(|(id, node)| Right::ALL.map(|right| Self { id, node, right }))
    }

    fn is(self, other: Self) -> bool {
        (self.id, self.right) == (other.id, other.right)
    }

    fn grants(self) -> &'t Grants {
        self.node.grants(self.right)
    }

    /// Returns the parts that objects and texts wrote, if they grant anything.
    fn parts(self) -> impl Iterator<Item = (&'t Origin, &'t Acl)> {
        let grants = self.grants();
        let in_force = |part: &Acl| part.is_everyone() || (!grants.acl.is_everyone() && !part.is_nobody());
        grants.parts.iter().filter(move |(_, part)| in_force(part)).map(|(origin, part)| (origin, part))
    }
}

impl fmt::Display for LocatedAcl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&acl_of(self.right, &self.node.path))
    }
}

/// Returns `submitacl` of `root.prod`.
fn acl_of(right: Right, queue: &QueuePath) -> String {
    format!("`{}` of {}", right.key(), quoted(queue.as_str()))
}

/// Returns ``user `sue` ``, ``users `bob`, `sue` and group `devs` ``, or `everyone`.
fn list(entries: &[Match<'_>]) -> String {
    let (mut users, mut groups) = (Vec::new(), Vec::new());
    for entry in entries {
        match entry {
            Match::Everyone => return "everyone".to_owned(),
            Match::User(name) => users.push(*name),
            Match::Group(name) => groups.push(*name),
        }
    }
    let lists = [("user", users), ("group", groups)].into_iter().filter(|(_, names)| !names.is_empty());
    let shown = lists.map(|(kind, names)| {
        let plural = if names.len() == 1 { "" } else { "s" };
        let shown: Vec<String> = names.iter().take(MAX_NAMES).map(|name| quoted(name)).collect();
        format!("{kind}{plural} {}", listed(&shown, MAX_NAMES, names.len()))
    });
    shown.collect::<Vec<_>>().join(" and ")
}
