//! Command line.
pub mod input;
