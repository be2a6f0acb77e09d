//! Text as the systems around us read it: the lowest layer, which knows nothing of queues or ACLs.

pub mod diag;
pub mod go_bool;
pub mod go_json;
pub mod go_regex;
pub mod lines;
pub mod yaml;
