//! queuewarden manages who may submit to and who administers the queues of Apache `YuniKorn`.
//!
//! This package is the operator and the command line. All decisions are made in the crates below it, which
//! are synchronous and know no clock, no environment, no network and no Kubernetes client:
//!
//! ```text
//! go_compat <- yunikorn <- yunikorn_access <- queuewarden_plan <- queuewarden_report <- queuewarden_api
//!                                          <- queuewarden_import
//! ```
//!
//! * [`operator`]: watches, writes, reads back.
//! * [`server`]: webhooks and served resources, answered from what the operator saw.
//! * [`process`]: both in one process.
//! * [`cli`]: the same plan without a cluster.

pub mod cli;
pub mod operator;
pub mod process;
pub mod server;
pub mod telemetry;
