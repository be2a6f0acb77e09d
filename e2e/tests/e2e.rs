//! End-to-end tests: the operator in a real cluster. One binary, so that all tests share one bed.

mod access;
mod admission;
mod agreement;
mod authorizer;
mod changes;
mod cli;
mod doors;
mod load;
mod operator;
mod oracle;
mod placement;
mod plugin;
mod report;
mod server;
mod smoke;
mod submission;
mod user_info;
mod validating;
