//! Looks ahead: finds what the passing of time alone brings, at the moments at which grants begin or end.

use std::collections::BTreeMap;
use std::iter;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::snapshot::{QueueAclEntry, Snapshot};

/// The most moments that are looked at.
pub const MAX_MOMENTS: usize = 100;

/// The findings of later moments that are not found now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Ahead")]
pub struct Ahead<T> {
    /// The moments at which grants begin or end, in order.
    pub moments: Vec<Moment<T>>,
    /// The number of later moments, which are not looked at because there are too many.
    pub more: usize,
}

/// A moment at which grants begin or end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Moment")]
pub struct Moment<T> {
    /// The moment.
    pub at: Timestamp,
    /// The `QueueAcl`s that begin, by name.
    pub begin: Vec<String>,
    /// The `QueueAcl`s that end, by name.
    pub end: Vec<String>,
    /// Everything that is found from then on, and was not before.
    pub findings: Vec<T>,
}

impl<T> Default for Ahead<T> {
    fn default() -> Self {
        Self { moments: Vec::new(), more: 0 }
    }
}

impl<T> Ahead<T> {
    /// Returns the findings of all moments.
    pub fn findings(&self) -> impl Iterator<Item = &T> {
        self.moments.iter().flat_map(|moment| &moment.findings)
    }

    /// Returns the findings of `now` and of each moment, to change them.
    pub fn lists<'l>(&'l mut self, now: &'l mut Vec<T>) -> impl Iterator<Item = &'l mut Vec<T>> {
        iter::once(now).chain(self.moments.iter_mut().map(|moment| &mut moment.findings))
    }

    /// Converts the findings.
    pub fn map<U>(&self, convert: impl Fn(&T) -> U) -> Ahead<U> {
        let moments = self.moments.iter().map(|Moment { at, begin, end, findings }| Moment {
            at: *at,
            begin: begin.clone(),
            end: end.clone(),
            findings: findings.iter().map(&convert).collect(),
        });
        Ahead { moments: moments.collect(), more: self.more }
    }
}

/// Returns the moments at which an object begins and ends.
pub(crate) fn window(entry: &QueueAclEntry) -> (Option<Timestamp>, Option<Timestamp>) {
    // Of what cannot be read, the last version stays in force to its end.
    let kept = || entry.in_force.as_ref().and_then(|kept| kept.expires_at);
    entry.spec.as_ref().map_or_else(|_| (None, kept()), |spec| (spec.not_before, spec.expires_at))
}

/// Looks at each moment after the snapshot's own, up to and with `until`. `find` finds what is to be reported
/// at one time; it is called for the snapshot's own, too.
///
/// # Errors
/// When `find` fails.
pub fn ahead<T: PartialEq + Clone, E>(
    snapshot: &Snapshot,
    until: Timestamp,
    mut find: impl FnMut(Timestamp) -> Result<Vec<T>, E>,
) -> Result<Ahead<T>, E> {
    let mut times: BTreeMap<Timestamp, (Vec<String>, Vec<String>)> = BTreeMap::new();
    let is_ahead = |at: &Timestamp| snapshot.now < *at && *at <= until;
    for entry in &snapshot.queue_acls {
        let (begin, end) = window(entry);
        let name = || entry.meta.name.to_string();
        begin.filter(is_ahead).into_iter().for_each(|at| times.entry(at).or_default().0.push(name()));
        end.filter(is_ahead).into_iter().for_each(|at| times.entry(at).or_default().1.push(name()));
    }
    let more = times.len().saturating_sub(MAX_MOMENTS);
    let mut before = if times.is_empty() { Vec::new() } else { find(snapshot.now)? };
    let mut moments = Vec::new();
    for (at, (begin, end)) in times.into_iter().take(MAX_MOMENTS) {
        let found = find(at)?;
        let findings = found.iter().filter(|finding| !before.contains(finding)).cloned().collect();
        moments.push(Moment { at, begin, end, findings });
        before = found;
    }
    Ok(Ahead { moments, more })
}
