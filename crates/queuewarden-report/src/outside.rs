//! Lists the objects that grant nothing now because of their time, or because they are suspended.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{is_here, number};
use queuewarden_plan::snapshot::{Phase, Snapshot};
use yunikorn_access::Tree;

/// A QueueAcl that grants nothing now because of its time, or because it is suspended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OutsideAnswer")]
pub struct ReportOutside {
    /// Its name.
    pub name: String,
    /// The number of its queue; null when there is none.
    pub queue: Option<usize>,
    /// True if its end has passed.
    pub expired: bool,
    /// True if it is suspended. If it is neither, its beginning lies ahead.
    pub suspended: bool,
    /// The time at which it begins; null when it has none.
    pub not_before: Option<Timestamp>,
    /// The time at which it ends; null when it has none.
    pub expires_at: Option<Timestamp>,
}

/// Returns the objects of a snapshot that are about the tree's partition, those that are planned first, each
/// by its time.
pub fn outside(snapshot: &Snapshot, tree: &Tree) -> Vec<ReportOutside> {
    let specs = snapshot.queue_acls.iter().filter_map(|entry| Some((entry, entry.spec.as_ref().ok()?)));
    let all = specs.filter_map(|(entry, spec)| {
        let (phase, target) = (spec.phase(snapshot.now), spec.target()?);
        let object = ReportOutside {
            name: entry.meta.name.to_string(),
            queue: number(tree, &target),
            expired: phase == Phase::Expired,
            suspended: phase == Phase::Suspended,
            not_before: spec.not_before,
            expires_at: spec.expires_at,
        };
        (phase != Phase::Current && is_here(tree, &target)).then_some((phase, object))
    });
    let mut outside: Vec<_> = all.collect();
    outside.sort_by_cached_key(|(phase, of)| (*phase, of.not_before, of.expires_at, of.name.clone()));
    outside.into_iter().map(|(_, object)| object).collect()
}
