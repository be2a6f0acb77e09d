//! End-to-end tests: the operator in a real cluster. One binary, so that all tests share one bed.

mod access;
mod admission;
mod agreement;
mod authorizer;
mod changes;
mod chart;
mod cli;
mod doors;
mod import;
mod installation;
mod load;
mod monitoring;
mod operator;
mod oracle;
mod page;
mod placement;
mod plugin;
mod release;
mod report;
mod scale;
mod server;
mod smoke;
mod submission;
mod upgrade;
mod user_info;
mod validating;
