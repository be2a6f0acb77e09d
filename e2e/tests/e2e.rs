//! End-to-end tests of the operator in a real cluster. They are a single binary, so that all tests share the
//! test clusters.

mod access;
mod admission;
mod agreement;
mod attacks;
mod authorizer;
mod changes;
mod chaos;
mod chart;
mod cli;
mod endpoints;
mod import;
mod installation;
mod kind;
mod load;
mod monitoring;
mod operator;
mod oracle;
mod page;
mod pages;
mod placement;
mod plugin;
mod random;
mod release;
mod report;
mod runbooks;
mod scale;
mod server;
mod smoke;
mod submission;
mod tasks;
mod upgrade;
mod user_info;
mod validating;

/// The same allocator as in the program, because `load` compares it with servers in this one.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
