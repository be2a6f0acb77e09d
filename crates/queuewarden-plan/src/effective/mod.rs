//! The configuration as `YuniKorn` reads it, the base, and the configuration that the scheduler runs.
//!
//! * [`acl`]: the ACLs of queues.
//! * [`header`]: the comment at the top of each written text.
//! * [`parse_cache`]: the texts that were parsed before.
//! * [`merged`]: both ConfigMaps, merged, and who owns a key of the output.
//! * [`config`]: the configuration in force, and the text that the scheduler decides by.
//! * [`base`]: the text that ACLs are rendered into.
//! * [`read`]: reads all of these, and whether the scheduler runs the written text.

pub(crate) mod acl;
pub(crate) mod header;
pub(crate) mod parse_cache;

pub(crate) mod merged;

pub(crate) mod config;

pub(crate) mod base;
pub(crate) mod read;

pub(crate) use acl::{AclDecision, AclDecisions, AclLocation, acl_of, text_of};
pub(crate) use base::Base;
pub(crate) use config::{EffectiveConfig, TextSource, UNSEEN, missing_partition};
pub(crate) use merged::{
    KeyClaim, config_map_of, is_queues_key, managed_keys, merged, queue_operator, text_in, text_in_force,
};
pub(crate) use parse_cache::{ParseCache, ParsedConfig};
pub(crate) use read::{ReadState, SchedulerQueues};
