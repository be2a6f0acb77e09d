//! Commands that answer questions about access.

pub mod can_i;
pub mod matrix;
pub mod place;
pub mod report;
pub mod what_can;
pub mod who_can;
pub mod whoami;
