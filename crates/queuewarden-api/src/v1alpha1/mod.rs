//! Version `v1alpha1` of the API: cluster-scoped kinds of group `queuewarden.dev`, category `yunikorn`.
//!
//! The doc comments of fields become their descriptions in the CRD, so write them for readers of `kubectl
//! explain`: the meaning of the field, its default, an example, and the effect of leaving it out. Every list
//! and string has a bound, which keeps the API server's cost estimate of the CEL rules finite and the largest
//! object below etcd's limit.
//!
//! Specs are only parsed, never written, so an `Option` needs no serde attribute. There are three exceptions:
//! fields with a custom schema, fields of a struct whose default appears in the schema, and the fields of
//! `Grant`, which commands write.

#![expect(
    clippy::doc_markdown,
    clippy::doc_link_with_quotes,
    reason = "doc comments are the CRD's descriptions: kubectl explain shows them as plain text, where \
              backticks are noise"
)]
#![expect(unreachable_pub, reason = "kube's derive repeats each struct inside a function body")]

mod admission_policy;
mod queue_access_test;
mod queue_acl;
mod schema;
mod yunikorn_config;

pub use admission_policy::{AdmissionPolicy, AdmissionPolicySpec, AdmissionPolicyStatus};
pub use queue_access_test::{
    AccessCase, AccessSubject, ExpectedPlacement, QueueAccessTest, QueueAccessTestSpec, QueueAccessTestStatus,
};
pub use queue_acl::{Grant, QueueAcl, QueueAclSpec, QueueAclStatus, ServiceAccount};
pub use schema::MAX_NAMES;
pub use yunikorn_config::{
    BaseConfigMap, OutputConfigMap, Switch, YuniKornConfig, YuniKornConfigSpec, YuniKornConfigStatus,
    YuniKornVersion,
};

/// The only name a [`YuniKornConfig`] may have.
pub const SINGLETON: &str = "default";
