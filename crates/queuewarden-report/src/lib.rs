//! Collects what a report shows in addition to queues and rights: the findings, the last changes, the
//! admission settings, and the objects without effect.
//!
//! The report decides nothing itself: rights come from [`yunikorn_access`], and findings from its linter and
//! the validators.
//!
//! * [`objects`]: the last changes and their authors, the objects outside their time, and the objects that
//!   change nothing.
//! * [`data`]: the report as JSON.
//! * [`page`](mod@page): the page.
//! * [`diagram`]: the tree as a drawing.

pub mod data;
pub mod diagram;
pub mod objects;
pub mod page;
#[cfg(test)]
mod tests;

pub use data::{Made, Report, ReportCluster};
pub use objects::{ReportChange, ReportOutside, ReportWithoutEffect, changes, outside, without_effect};

use go_compat::diag::{Diagnostic, Span};
use go_compat::go_bool::go_bool;
use queuewarden_plan::field_of;
use yunikorn::admission::BYPASS_AUTH;
use yunikorn::config::Partition;
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;
use yunikorn_access::lint::{Finding, Known, lint, trusted_names};
use yunikorn_access::tree::{Origin, QueueId, Tree};

/// Information in addition to the queues.
#[derive(Debug, Clone, Default)]
pub struct Beside<'p> {
    /// The parsed partition; `None` if its text is not available.
    pub partition: Option<&'p Partition>,
    /// The validators' findings about that text, with their locations.
    pub diagnostics: Vec<(Option<Origin>, Diagnostic)>,
    /// The findings about the admission settings, with the places where the settings are written.
    pub risks: Vec<(Origin, Diagnostic)>,
    /// The admission settings: keys and values, with the places where they are written.
    pub admission: Vec<(&'static str, String, Origin)>,
    /// The last changes and their authors.
    pub changes: Vec<ReportChange>,
    /// The objects outside their time window.
    pub outside: Vec<ReportOutside>,
    /// The objects that change nothing.
    pub without_effect: Vec<ReportWithoutEffect>,
}

/// Returns whether a queue is in the partition of the tree.
fn is_here(tree: &Tree, (partition, _): &(String, QueuePath)) -> bool {
    partition.eq_ignore_ascii_case(tree.partition())
}

/// Returns the number of a queue, or `None` if it is not in the tree.
fn number(tree: &Tree, target: &(String, QueuePath)) -> Option<usize> {
    tree.find(&target.1).filter(|_| is_here(tree, target)).map(QueueId::index)
}

/// Returns the findings, errors first, then by queue: from the validators, from the linter, about the
/// admission settings, and about names in the tree that these settings trust.
pub fn findings(tree: &Tree, text: &Beside<'_>) -> Vec<Finding> {
    let acl_spans = acl_spans(text.partition);
    let of_text = text.diagnostics.iter().map(|(origin, diagnostic)| {
        let about = diagnostic.span.and_then(|span| holding(&acl_spans, span));
        Finding {
            queue: about.and_then(|(queue, _)| tree.find(queue)),
            right: about.map(|(_, right)| right),
            origin: origin.clone(),
            diagnostic: diagnostic.clone(),
        }
    });
    let about_settings =
        |(origin, diagnostic)| Finding { queue: None, right: None, origin: Some(origin), diagnostic };
    let of_settings = text.risks.iter().cloned().chain(trusted(tree, &text.admission)).map(about_settings);
    let of_tree = lint(tree, &Known::default());
    let mut all: Vec<Finding> = of_text.chain(of_tree).chain(of_settings).collect();
    // The sort is stable, so the findings about one queue stay in order.
    all.sort_by_key(|finding| (!finding.diagnostic.is_error(), finding.queue));
    all
}

/// Returns the findings about names in the tree that the admission settings trust.
pub fn trusted(tree: &Tree, admission: &[(&'static str, String, Origin)]) -> Vec<(Origin, Diagnostic)> {
    let is_true =
        |(key, text, _): &(&str, String, Origin)| *key == BYPASS_AUTH && go_bool(text) == Some(true);
    if admission.iter().any(is_true) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (key, text, origin) in admission {
        let of_key = trusted_names(tree, key, text).into_iter();
        found.extend(of_key.map(|of_name| (origin.clone(), of_name.of_field(field_of(key)))));
    }
    found
}

/// Returns the locations of the ACLs in the text, in text order.
fn acl_spans(partition: Option<&Partition>) -> Vec<(Span, &QueuePath, Right)> {
    let queues = partition.into_iter().flat_map(Partition::queues);
    let acls = queues.flat_map(|queue| {
        Right::ALL.into_iter().filter_map(|right| Some((queue.acl(right).span?, &queue.path, right)))
    });
    let mut acl_spans: Vec<_> = acls.collect();
    acl_spans.sort_unstable_by_key(|(span, ..)| span.start);
    acl_spans
}

/// Returns the ACL at a location.
fn holding<'p>(acl_spans: &[(Span, &'p QueuePath, Right)], found: Span) -> Option<(&'p QueuePath, Right)> {
    let behind = acl_spans.partition_point(|(span, ..)| span.start <= found.start);
    let (span, queue, right) = *acl_spans.get(behind.checked_sub(1)?)?;
    (found.end <= span.end).then_some((queue, right))
}
