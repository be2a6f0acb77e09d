//! The process that runs in a cluster.
//!
//! * [`memory`]: the memory budget for all data whose size others control.
//! * [`controller`]: watches, writes, reads back.
//! * [`server`]: webhooks and served resources, answered from the controller's observations.
//! * [`process`]: both in one process.
//! * [`telemetry`]: its log and traces.

pub mod controller;
pub mod memory;
pub mod process;
pub mod server;
pub mod telemetry;
