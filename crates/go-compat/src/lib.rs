//! Text formats as the surrounding systems read them. This is the lowest layer; it does not depend on queues
//! or ACLs.

pub mod diag;
pub mod go_bool;
pub mod go_json;
pub mod go_regex;
pub mod lines;
pub mod yaml;
