//! The process that runs in a cluster.
//!
//! * [`memory`]: the budget of bytes that everything of a size that others choose is reserved from.
//! * [`controller`]: watches, writes, reads back.
//! * [`server`]: webhooks and served resources, answered from what the controller observed.
//! * [`process`]: both in one process.
//! * [`telemetry`]: its log and traces.

pub mod controller;
pub mod memory;
pub mod process;
pub mod server;
pub mod telemetry;
