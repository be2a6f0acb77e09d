//! Provides the test cluster, a real cluster of local processes, and the oracle, the real `YuniKorn` as a
//! library that answers questions.
//!
//! Unit tests check the code in isolation; this crate checks it against a real cluster. [`TestCluster`] runs
//! etcd, kube-apiserver and `YuniKorn`'s scheduler (on request also its admission controller and
//! kube-controller-manager) as child processes on loopback and answers in a user's terms: whether a pod of
//! *this* user in *that* queue is allowed or rejected. With `QUEUEWARDEN_E2E=existing` the same calls go to
//! the cluster that `KUBECONFIG` names. [`oracle::Oracle`] is a Go program around yunikorn-core that gives
//! `YuniKorn`'s answer to an input; [`hadoop::Hadoop`] is a Java program around Hadoop's and Spark's classes
//! that gives their answers.
//!
//! Nothing here panics: calls return [`anyhow::Result`], so that a test is a sequence of `?`. Tests wait for
//! conditions instead of sleeping: see [`wait::eventually`].

pub mod assets;
pub mod audit;
pub mod authorization;
pub mod browser;
pub mod conditions;
mod control_plane;
mod diagnostics;
pub mod endpoints;
mod existing;
pub mod faults;
mod fixtures;
mod forward;
pub mod front_proxy;
pub mod grant_history;
pub mod hadoop;
pub mod helm;
pub mod history;
pub mod kubeconfig;
mod line_program;
mod network;
mod objects;
pub mod operator;
pub mod oracle;
pub mod own_tls;
pub mod pods;
pub mod process;
pub mod served;
mod servers;
mod session;
pub mod test_cluster;
pub mod tls_proxy;
pub mod usage;
pub mod wait;
mod webhooks;
pub mod yunikorn;

pub use authorization::Authorizer;
pub use endpoints::Endpoints;
pub use faults::FaultProxy;
pub use grant_history::GrantHistory;
pub use hadoop::Hadoop;
pub use operator::Operator;
pub use oracle::Oracle;
pub use pods::Outcome;
pub use queuewarden_plan::ResourceKind as Kind;
pub use test_cluster::{Capability, TestCluster, TestClusterGuard};
pub use wait::eventually;
