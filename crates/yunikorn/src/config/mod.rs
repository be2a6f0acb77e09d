//! The configuration of the scheduler (`queues.yaml`) as yunikorn-core v1.8.0 reads, validates and activates
//! it.
//!
//! [`verdict()`] runs all steps that the text takes in the scheduler, each in a module of its own: [`read()`]
//! decodes it strictly, [`validate()`] is `YuniKorn`'s validator, [`activate`] what comes after it.
//! [`Config`] is what is then in force.

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
pub use tree::{ByPath, Config, Partition, Queue};
pub use validate::NAME_REFUSED;
pub use validate::validate;
pub use verdict::{Assessment, BUILT_IN, verdict, verdict_of};

use go_compat::diag::Diagnostic;
use go_compat::yaml;

/// The reason why a text cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ConfigError {
    /// The first finding with its line.
    pub text: String,
    /// The single findings with their spans.
    pub diagnostics: Vec<Diagnostic>,
}

impl ConfigError {
    /// The error of these findings in `text`.
    fn new(text: &str, diagnostics: Vec<Diagnostic>) -> Self {
        let unsure = diagnostics.iter().find(|found| is_unsure(found));
        let first = unsure.or(diagnostics.first());
        let line = first.and_then(|first| first.span?.line_in(text)).unwrap_or(1);
        let message = first.map(|first| first.message.as_str()).unwrap_or_default();
        let text = match unsure {
            Some(_) => format!("whether YuniKorn takes it is not known: line {line}: {message}"),
            None => format!("yaml: line {line}: {message}"),
        };
        Self { text, diagnostics }
    }
}

/// Returns whether `YuniKorn` may accept a text with this finding.
fn is_unsure(found: &Diagnostic) -> bool {
    found.code == yaml::UNSURE || found.code == yaml::TOO_LARGE
}

#[cfg(test)]
mod acl_quoting;
#[cfg(test)]
mod tests;
