//! The scheduler's configuration (`queues.yaml`) as yunikorn-core v1.8.0 reads, validates and activates it.
//!
//! [`verdict()`] runs all steps that a text goes through in the scheduler, one module each: [`read()`]
//! decodes it strictly, [`validate()`] is `YuniKorn`'s validator, and [`activate`] puts it into force. The
//! result is a [`Config`].

pub mod activate;
mod checksum;
pub mod codes;
pub mod flatten;
pub mod keys;
mod lint;
pub mod names;
mod quantity;
pub mod schema;
pub mod settings;
mod tree;
mod validate;
mod verdict;

pub use activate::{ReloadError, rules_fit};
pub use checksum::{checksum, contains_checksum_marker};
pub use codes::CODES;
pub use flatten::{ConfigMapData, Flattened, flatten};
pub use tree::{ByPath, Config, Partition, Queue};
pub use validate::{NAME_REFUSED, validate};
pub use verdict::{Assessment, BUILT_IN, read, verdict, verdict_of};

#[cfg(test)]
mod acl_pitfalls;
#[cfg(test)]
mod acl_quoting;
#[cfg(test)]
mod tests;
