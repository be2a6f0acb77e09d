//! queuewarden manages who may submit to and who administers the queues of Apache `YuniKorn`.
//!
//! This package is the command line; [`queuewarden_operator`] is the process in the cluster. All decisions
//! are made in the crates below them, which are synchronous and know no clock, no environment, no network
//! and no Kubernetes client:
//!
//! ```text
//! go_compat <- yunikorn <- yunikorn_access <- queuewarden_plan <- queuewarden_api <- queuewarden_report
//!                                          <- queuewarden_import
//! ```

pub mod output;

pub mod source;

pub mod commands;

pub mod args;
