//! What commands read: files and the cluster, as objects, texts and trees.
//!
//! * [`session`]: the source that the arguments choose, and its configuration.
//! * [`files`], [`cluster`], [`live`]: the three sources of a configuration.
//! * [`configuration`]: the text in the ConfigMaps, or that the operator would write, as trees with origins.
//! * [`identity`], [`request`]: the user, and the right and queue.
//! * [`input`]: files as objects.

pub mod aliases;
pub mod apply;
pub mod catalog;
pub mod checks;
pub mod cluster;
pub mod comparison;
pub mod configuration;
pub mod entries;
pub mod files;
pub mod history;
pub mod identity;
pub mod input;
pub mod installed;
pub mod live;
pub mod request;
pub mod schema;
pub mod session;
pub mod suppressions;
pub mod times;
pub mod validate;
