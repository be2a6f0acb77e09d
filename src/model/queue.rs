//! Queue paths: `root.prod.etl`, matched without case (yunikorn-core `partition.go:488-504`).
use std::fmt;

/// The characters and length of one queue name (yunikorn-core `configvalidator.go:81`).
pub const QUEUE_NAME: &str = "^[a-zA-Z0-9_:#/@-]{1,64}$";

/// A full path from `root`, lower-cased as the scheduler does. Ordered as text, so that a parent sorts before its children.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueuePath(String);

impl fmt::Display for QueuePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
