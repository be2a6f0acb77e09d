//! Moving in: access rules of elsewhere, read as their own system reads them, written for `YuniKorn`, and
//! compared.
//!
//! * [`xml`]: XML without document types, entities and inclusions, of a bounded size.
//! * [`configuration`]: Hadoop's configuration files, as its `Configuration` reads them.
//! * [`yarn`]: the queues of YARN's two schedulers, with their ACLs and where they are written.
//! * [`names`]: what users and groups are called in Kubernetes.
//! * [`translate`](mod@translate): the same queues for `YuniKorn`, and what cannot be carried over.
//! * [`proof`]: who may do more, or less, than before.
//! * [`spark`]: the same for the lists of Spark's applications.
//!
//! Nothing is widened in silence: whatever lets somebody in who was not is an error until it is acknowledged.

pub mod codes;
pub mod configuration;
pub mod names;
pub mod proof;
mod skeleton;
pub mod spark;
pub mod translate;
pub mod xml;
pub mod yarn;

pub use codes::CODES;
pub use names::NameMap;
pub use proof::{Difference, Direction, Proof, prove};
pub use translate::{Imported, translate};
pub use yarn::{Source, Wanted};

use go_compat::diag::{Diagnostic, Span};

/// More queues are not read.
pub const MAX_QUEUES: usize = 50_000;
/// Queues deeper below the root are not read.
pub const MAX_DEPTH: usize = 100;

/// A part of one of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Which of the files, as they were given.
    pub file: usize,
    /// Where in its text, in bytes.
    pub span: Span,
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which of the files it is about; the span of the diagnostic is in its text.
    pub file: Option<usize>,
    /// What.
    pub diagnostic: Diagnostic,
}

impl Finding {
    /// About a part of a file.
    pub fn at(place: Place, diagnostic: Diagnostic) -> Self {
        Self { file: Some(place.file), diagnostic: diagnostic.at(place.span) }
    }

    /// About a part of a file, if it is known which.
    pub fn maybe_at(place: Option<Place>, diagnostic: Diagnostic) -> Self {
        match place {
            Some(place) => Self::at(place, diagnostic),
            None => Self { file: None, diagnostic },
        }
    }
}
