//! Computes, in one function, everything that is written and everything that statuses report:
//! `plan(&Snapshot) -> Plan`.
//!
//! The function is total and deterministic: the same snapshot always gives the same plan. A plan made after
//! its predecessor was applied writes nothing.

mod planted;

mod budget;
pub mod conditions;

pub mod snapshot;

mod effective;

mod grants;

pub mod view;

pub mod rbac_mirror;

mod write;

mod status;

pub mod access_tests;
mod plan;

pub mod time;

pub mod admit;
pub mod simulate;

pub mod machine;

#[cfg(test)]
mod checker;
#[cfg(test)]
mod tests;

use go_compat::diag::Code;

pub use effective::base::base_tree;
pub use effective::config::SchedulerText;
pub use effective::merged::{config_map_of, managed_keys, merged, merged_alone, text_in_force};
pub use effective::parse_cache::{ParseCache, ParsedConfig};
pub use grants::policy::{
    FieldFinding, admission_keys, admission_settings, field_of, risks, settings, shared_application,
    submission, trusts, user_info,
};
pub use grants::resolve::{grant_acl, grants, no_names};
pub use grants::{attribution, entries};
pub use plan::{Plan, plan, plan_again};
pub use snapshot::{ConfigStatus, ObjectRef, OutputRef, ResourceKind, release};
pub use status::replacement::OutputReplacement;
pub use status::{AccessTestStatus, AdmissionPolicyStatus, Event, ObjectStatus, QueueAclStatus};
pub use write::change::{MAX_BYTES, WARN_BYTES, size_after};
pub use write::{NewConfigMap, Write, history};

/// All codes of this module.
pub const CODES: &[Code] = &[
    grants::resolve::EMPTY_WINDOW,
    grants::resolve::NO_RIGHT,
    grants::resolve::SHARED_QUEUE,
    grants::resolve::REPLACES_FOR_A_TIME,
    grants::resolve::NO_NAMES,
    grants::objects::NOT_AS_MEANT,
];
