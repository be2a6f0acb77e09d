//! What there is to see: the queues of one partition with their ACLs, who may do what in them and where that
//! begins, what is found to be wrong, and who changed it last.
//!
//! The report decides nothing: rights come from [`yunikorn_access`], findings from its linter and from the
//! validators. It is the one source of all ways to show them, the page, its JSON, CSV and diagrams, so that
//! they cannot differ.
//!
//! * [`changes`](mod@changes): who changed what.
//! * [`page`](mod@page): the page.
//! * [`diagram`]: the tree as a drawing.

pub mod changes;
pub mod diagram;
pub mod page;
#[cfg(test)]
mod tests;

pub use changes::{Change, changes};

use go_compat::diag::{Diagnostic, Span};
use yunikorn::config::Partition;
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;
use yunikorn_access::check::Subject;
use yunikorn_access::lint::{self, Known};
use yunikorn_access::matrix::all_named;
use yunikorn_access::starts::{Starts, starts};
use yunikorn_access::tree::{Origin, QueueId, Tree};

/// The report about one partition.
#[derive(Debug, Clone, PartialEq)]
pub struct Report<'t> {
    /// The queues with their ACLs.
    pub tree: &'t Tree,
    /// All that are named anywhere: users, groups, each by name, and everyone at the end.
    pub subjects: Vec<Subject>,
    /// For each right where it begins.
    pub rights: [Starts<'t>; 2],
    /// What is found to be wrong, or to do nothing.
    pub findings: Vec<Finding>,
    /// Who changed what of it last, the latest first.
    pub changes: Vec<Change>,
}

/// Something that is wrong, or that does not do what it seems to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The queue it is about; `None` when it is about the whole text.
    pub queue: Option<QueueId>,
    /// The ACL it is about, if it is about one.
    pub right: Option<Right>,
    /// Where that is written, if it is known.
    pub origin: Option<Origin>,
    /// What it is.
    pub diagnostic: Diagnostic,
}

/// What is known beside the queues.
#[derive(Debug, Clone, Default)]
pub struct Beside<'p> {
    /// The partition as its text has it; `None` when that is not at hand.
    pub partition: Option<&'p Partition>,
    /// What the validators say about that text.
    pub diagnostics: Vec<Diagnostic>,
    /// Who changed what.
    pub changes: Vec<Change>,
}

impl<'t> Report<'t> {
    /// The report about a tree.
    pub fn of(tree: &'t Tree, known: &Known, beside: Beside<'_>) -> Self {
        let findings = findings(tree, known, &beside);
        Self {
            tree,
            subjects: all_named(tree),
            rights: Right::ALL.map(|right| starts(tree, right)),
            findings,
            changes: beside.changes,
        }
    }

    /// Where a right begins.
    pub fn right(&self, right: Right) -> Option<&Starts<'t>> {
        self.rights.iter().find(|starts| starts.right == right)
    }
}

/// Errors first, then by the queues.
fn findings(tree: &Tree, known: &Known, text: &Beside<'_>) -> Vec<Finding> {
    let places = Places::of(text.partition);
    let of_text = text.diagnostics.iter().map(|diagnostic| {
        let about = diagnostic.span.and_then(|span| places.holding(span));
        Finding {
            queue: about.and_then(|(queue, _)| tree.find(queue)),
            right: about.map(|(_, right)| right),
            origin: diagnostic.span.map(|span| Origin::Text(Some(span))),
            diagnostic: diagnostic.clone(),
        }
    });
    let of_tree = lint::lint(tree, known).into_iter().map(|finding| Finding {
        queue: tree.find(&finding.queue),
        right: finding.right,
        origin: finding.origin,
        diagnostic: finding.diagnostic,
    });
    let mut all: Vec<Finding> = of_text.chain(of_tree).collect();
    // Stable: what is told about one queue stays in its order.
    all.sort_by_key(|finding| (!finding.diagnostic.is_error(), finding.queue));
    all
}

/// Where the ACLs stand in the text, in its order.
struct Places<'p>(Vec<(Span, &'p QueuePath, Right)>);

impl<'p> Places<'p> {
    fn of(partition: Option<&'p Partition>) -> Self {
        let queues = partition.into_iter().flat_map(Partition::queues);
        let acls = queues.flat_map(|queue| {
            [(queue.submit_acl.span, Right::Submit), (queue.admin_acl.span, Right::Admin)]
                .map(|(span, right)| span.map(|span| (span, &queue.path, right)))
        });
        let mut places: Vec<_> = acls.flatten().collect();
        places.sort_unstable_by_key(|(span, ..)| span.start);
        Self(places)
    }

    /// The ACL that a place is in.
    fn holding(&self, place: Span) -> Option<(&'p QueuePath, Right)> {
        let behind = self.0.partition_point(|(span, ..)| span.start <= place.start);
        let (span, queue, right) = *self.0.get(behind.checked_sub(1)?)?;
        (place.end <= span.end).then_some((queue, right))
    }
}
