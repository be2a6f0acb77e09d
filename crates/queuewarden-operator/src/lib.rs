//! The process that runs in a cluster.
//!
//! * [`controller`]: watches, writes, reads back.
//! * [`server`]: webhooks and served resources, answered from what the controller observed.
//! * [`process`]: both in one process.
//! * [`telemetry`]: its log and traces.

pub mod controller;
pub mod process;
pub mod server;
pub mod telemetry;
