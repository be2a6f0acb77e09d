//! End-to-end tests: the operator in a real cluster. One binary, so that all tests share one bed.

mod access;
mod admission;
mod agreement;
mod authorizer;
mod changes;
mod cli;
mod doors;
mod installation;
mod load;
mod monitoring;
mod operator;
mod oracle;
mod placement;
mod plugin;
mod server;
mod smoke;
mod submission;
mod user_info;
mod validating;
