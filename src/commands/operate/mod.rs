//! Commands for the operator and the cluster.

pub mod authorizer_config;
pub mod check;
pub mod configure;
pub mod crds;
pub mod describe;
pub mod history;
pub mod run;
pub mod status;
pub mod user_info;
