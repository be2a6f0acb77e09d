//! Lists the objects that grant nothing now because of their time, or because they are suspended.

use jiff::Timestamp;

use queuewarden_plan::snapshot::{Phase, Snapshot};
use yunikorn::queue::QueuePath;

/// A `QueueAcl` that is suspended, or whose time has not begun or has passed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outside {
    /// The phase: planned, suspended or expired.
    pub phase: Phase,
    /// The time at which it begins, if it has one.
    pub not_before: Option<Timestamp>,
    /// The time at which it ends, if it has one.
    pub expires_at: Option<Timestamp>,
    /// Its name.
    pub name: String,
    /// The partition and the queue.
    pub queue: (String, QueuePath),
}

/// Returns these objects of a snapshot, those that are planned first, each by its time.
pub fn outside(snapshot: &Snapshot) -> Vec<Outside> {
    let specs = snapshot.queue_acls.iter().filter_map(|entry| Some((entry, entry.spec.as_ref().ok()?)));
    let all = specs.filter_map(|(entry, spec)| {
        Some(Outside {
            phase: spec.phase(snapshot.now),
            not_before: spec.not_before,
            expires_at: spec.expires_at,
            name: entry.meta.name.to_string(),
            queue: spec.target()?,
        })
    });
    let mut outside: Vec<_> = all.filter(|object| object.phase != Phase::Current).collect();
    outside.sort();
    outside
}
