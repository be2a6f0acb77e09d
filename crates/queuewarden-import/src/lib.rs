//! Imports access rules from other systems: reads them as the source system does, writes them for `YuniKorn`,
//! and compares the two.
//!
//! * [`xml`]: XML without document types, entities and inclusions, of bounded size.
//! * [`configuration`]: Hadoop's configuration files, as its `Configuration` reads them.
//! * [`export`]: the same settings in JSON and in lines.
//! * [`yarn`]: the queues of YARN's two schedulers, with their ACLs and locations.
//! * [`names`]: the names of users and groups in Kubernetes.
//! * [`translate`](mod@translate): the same queues for `YuniKorn`, and the rules that cannot be imported.
//! * [`proof`]: the users and groups that gain or lose access.
//! * [`spark`]: the same for the lists of Spark's applications.
//!
//! Nothing is widened silently: a rule that gives someone new access is an error until it is acknowledged.

pub mod codes;
pub mod configuration;
pub mod export;
pub mod names;
pub mod proof;
pub mod spark;
pub mod translate;
pub mod xml;
pub mod yarn;

pub use codes::CODES;
pub use names::NameMap;
pub use proof::{Compared, Difference, Direction, Proof, prove};
pub use translate::{Imported, translate};
pub use yarn::{Files, Source};

use go_compat::diag::{Diagnostic, Span};
use yunikorn::queue::nearest;

/// Maximum number of queues.
pub const MAX_QUEUES: usize = 50_000;
/// Maximum depth of a queue, counted from the root.
pub const MAX_DEPTH: usize = 100;

/// A range in one of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// The index of the file, in the given order.
    pub file: usize,
    /// The range in its text, in bytes.
    pub span: Span,
}

/// A finding about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiagnostic {
    /// The index of the file that the diagnostic's span refers to.
    pub file: Option<usize>,
    /// The diagnostic itself.
    pub diagnostic: Diagnostic,
}

impl FileDiagnostic {
    /// Creates a finding about a part of a file, if the location is known.
    pub fn at(location: impl Into<Option<Location>>, diagnostic: Diagnostic) -> Self {
        match location.into() {
            Some(Location { file, span }) => Self { file: Some(file), diagnostic: diagnostic.at(span) },
            None => Self { file: None, diagnostic },
        }
    }
}

/// Returns the remedy for an unknown name: the most similar known name, or else `others`.
fn did_you_mean<'n>(known: impl IntoIterator<Item = &'n str>, name: &str, others: String) -> String {
    nearest(known, name).map_or(others, |near| format!("did you mean `{near}`?"))
}
