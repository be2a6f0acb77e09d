//! The configuration of the scheduler (`queues.yaml`) as yunikorn-core v1.8.0 reads, validates and activates it.
//!
//! [`verdict()`] is the front door. Behind it, one room for each step the text takes in the scheduler: [`read()`] decodes it
//! strictly, [`validate()`] is `YuniKorn`'s validator, [`activate`] what comes after it. [`Config`] is what is then in force.

pub mod activate;
mod checksum;
pub mod codes;
pub mod flatten;
mod lint;
pub mod names;
mod quantity;
mod read;
pub mod schema;
pub mod settings;
mod tree;
mod validate;
mod verdict;

pub use activate::ReloadError;
pub use checksum::{checksum, contains_checksum_marker};
pub use codes::CODES;
pub use flatten::{ConfigMapData, Flattened, flatten};
pub use read::read;
pub use tree::{Config, Partition, Queue};
pub(crate) use validate::NAME_REFUSED;
pub use validate::validate;
pub use verdict::{BUILT_IN, Verdict, verdict, verdict_of};

use crate::text::diag::Diagnostic;

/// Why a text cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ConfigError {
    /// `YuniKorn`'s own text.
    pub text: String,
    /// The single findings with their places.
    pub diagnostics: Vec<Diagnostic>,
}

#[cfg(test)]
mod acl_quoting;
#[cfg(test)]
mod tests;
