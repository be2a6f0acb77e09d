//! queuewarden manages who may submit to and who administers the queues of Apache `YuniKorn`.
//!
//! It is layered; imports go downwards only:
//!
//! ```text
//! text  ←  model  ←  access  ←  import, plan  ←  report  ←  api  ←  operator, server  ←  cli
//! ```
//!
//! * [`text`]: diagnostics, YAML as `YuniKorn` reads it, regular expressions as Go reads them.
//! * [`model`]: ACLs, queues, the scheduler's configuration and the admission controller's access keys.
//! * [`access`]: the evaluator: who may do what on which queue, and why.
//! * [`import`]: access rules of YARN and Spark, read as they read them, and written for `YuniKorn`.
//! * [`plan`]: `plan(&Snapshot) -> Plan`, the one place where it is decided what is written and what status says.
//! * [`report`]: all there is to see about access, and the page that shows it.
//! * `api` (feature `operator`): the custom resources and their conversion into the plan's plain input.
//! * `operator` (feature `operator`): watches, writes, reads back.
//! * `server` (feature `operator`): webhooks and served resources, answered from what the operator saw.
//! * `cli` (feature `cli`): the same plan without a cluster.
//!
//! `text`, `model`, `access`, `import`, `plan` and `report` know no clock, no environment, no network and no Kubernetes client: they are total functions
//! over plain data, and build with `--no-default-features`.

pub mod access;
pub mod import;
pub mod model;
pub mod plan;
pub mod report;

pub use go_compat as text;

#[cfg(feature = "operator")]
pub mod api;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "operator")]
pub mod operator;
#[cfg(feature = "operator")]
pub mod server;
#[cfg(feature = "operator")]
pub mod telemetry;
