//! The operator against an API server in memory: what it makes of changes, races, refusals and silence.

mod api_server;
mod bed;
mod certificates;
mod elections;
mod faults;
mod faults_of_ours;
mod mirror;
mod scenarios;
mod takeover;
