//! The configuration as `YuniKorn` reads it, the base, and what the scheduler runs.
//!
//! * [`acl`]: the ACLs of queues.
//! * [`header`]: the comment on top of each text that is written.
//! * [`parse_cache`]: the texts that were read before.
//! * [`claim`]: who owns a key of the output; [`merged`]: both ConfigMaps, merged.
//! * [`scheduler`] and [`config`]: the text by which the scheduler decides, and the configuration in force.
//! * [`base`]: the text into which ACLs are rendered.
//! * [`loaded`]: whether the scheduler runs the written text.
//! * [`read`]: reads all of it.

pub(crate) mod acl;
pub(crate) mod claim;
pub(crate) mod header;

pub(crate) mod merged;
pub(crate) mod parse_cache;

pub(crate) mod scheduler;

pub(crate) mod config;

pub(crate) mod base;
pub(crate) mod loaded;

pub(crate) mod read;

pub(crate) use acl::{AclDecision, AclDecisions, AclLocation, acl_of, text_of};
pub(crate) use base::Base;
pub(crate) use claim::{KeyClaim, managed_keys, queue_operator};
pub(crate) use config::{EffectiveConfig, TextSource, missing_partition};
pub(crate) use loaded::SchedulerQueues;
pub(crate) use merged::{config_map_of, is_queues_key, text_in, text_in_force};
pub(crate) use parse_cache::{ParseCache, ParsedConfig};
pub(crate) use read::ReadState;
pub(crate) use scheduler::UNSEEN;
