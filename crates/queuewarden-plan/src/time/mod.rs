//! Answers about other times.
//!
//! * [`ahead`]: what the passing of time alone brings; [`past`]: which revision was in force.
//! * [`timeline`]: compares two snapshots over time.

pub mod ahead;
pub mod past;
pub mod timeline;
