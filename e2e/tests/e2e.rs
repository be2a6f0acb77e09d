//! End-to-end tests: the operator in a real cluster. One binary, so that all tests share one bed.

mod admission;
mod agreement;
mod changes;
mod cli;
mod doors;
mod operator;
mod oracle;
mod placement;
mod plugin;
mod smoke;
mod validating;
