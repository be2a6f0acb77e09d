//! The operator.
pub mod cache;
pub mod leader;
pub mod read_back;
