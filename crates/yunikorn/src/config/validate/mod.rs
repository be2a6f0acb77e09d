//! `YuniKorn`'s validator: `/ws/v1/validate-conf` and the admission webhook answer with it, and a reload or a
//! start runs it first.
//!
//! It follows yunikorn-core v1.8.0 `pkg/common/configs/configvalidator.go`, function by function and in its
//! order, because only the first error is reported. Its texts are kept word for word. Where Go walks a map in
//! random order, here it is the order of the names.

mod limits;
mod placement;
mod queues;
mod resources;
mod size;

pub use placement::rules_fit;
pub(super) use placement::{RULE_NAMES, check_rule_name};
pub use queues::NAME_REFUSED;

use std::collections::HashSet;

use super::codes::{NODE_SORT, PARTITION_DUPLICATE};
use super::names::to_lower;
use super::schema::{NodeSortPolicy, PartitionConfig, SchedulerConfig};
use crate::version::Version;
use go_compat::diag::Diagnostic;
use go_compat::yaml::decode::items;

/// The name of the partition that has none.
pub(super) const DEFAULT_PARTITION: &str = "default";
/// The only queue that is allowed at the top.
pub(super) const ROOT: &str = "root";

/// `Validate` (`configvalidator.go:757`). It changes the configuration into the form that the scheduler uses:
/// `default` named, the root queue inserted and marked as parent, the partition's limits moved to it.
///
/// # Errors
/// The first error; some of these changes are made then. Its message is `YuniKorn`'s, unless its code is
/// [`super::codes::TOO_LARGE`].
pub fn validate(config: &mut SchedulerConfig, version: Version) -> Result<(), Diagnostic> {
    size::check(config)?;
    let mut seen = HashSet::new();
    for partition in config.partitions.iter_mut().flatten() {
        if partition.name.is_empty() || to_lower(partition.name.as_str()) == DEFAULT_PARTITION {
            DEFAULT_PARTITION.clone_into(&mut partition.name.value);
        }
        if !seen.insert(to_lower(partition.name.as_str())) {
            let message = format!("duplicate partition name found with name {}", partition.name.value);
            return Err(Diagnostic::error(PARTITION_DUPLICATE, message).at(partition.head()));
        }
        check_partition(partition, version)?;
    }
    Ok(())
}

fn check_partition(partition: &mut PartitionConfig, version: Version) -> Result<(), Diagnostic> {
    queues::insert_root(partition)?;
    limits::move_to_root(partition)?;
    let Some(root) = items(&partition.queues).first() else {
        return Ok(());
    };
    queues::check(root, 1)?;
    resources::check(root, None)?;
    placement::check(partition)?;
    check_node_sort_policy(&partition.node_sort_policy)?;
    resources::check_max_applications(root)?;
    limits::check_hierarchies(root, version.behavior())
}

/// `checkNodeSortingPolicy` (`configvalidator.go:618`).
fn check_node_sort_policy(policy: &NodeSortPolicy) -> Result<(), Diagnostic> {
    let refused = |message: String| {
        Diagnostic::error(NODE_SORT, message)
            .at(policy.kind.span)
            .help("write `fair` or `binpacking`, and no weight below 0")
    };
    if !matches!(policy.kind.as_str(), "" | "fair" | "binpacking") {
        return Err(refused(format!("undefined policy: {}", policy.kind.value)));
    }
    match policy.resource_weights.iter().flatten().find(|(_, weight)| **weight < 0.0) {
        Some((name, _)) => Err(refused(format!("negative resource weight for {name} is not allowed"))),
        None => Ok(()),
    }
}
