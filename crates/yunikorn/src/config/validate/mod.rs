//! `YuniKorn`'s validator, which answers `/ws/v1/validate-conf` and the admission webhook, and runs first at
//! every reload and start.
//!
//! The code follows yunikorn-core v1.8.0 `pkg/common/configs/configvalidator.go`, function by function and in
//! its order, because only the first error is reported. Its messages are kept verbatim. Maps that Go iterates
//! in random order are iterated in the order of the names.

mod limits;
mod placement;

pub(super) use placement::{RULE_NAMES, check as check_placement, check_rule_name};

use std::borrow::Cow;
use std::collections::HashSet;

use super::codes::{
    ACL_PARTS, MAX_APPLICATIONS, NODE_SORT, PARTITION_DUPLICATE, QUEUE_DUPLICATE, QUEUE_NAME, QUEUES_MISSING,
    RESOURCES, ROOT_RESOURCES, TOO_LARGE,
};
use super::names::to_lower;
use super::quantity::Amounts;
use super::schema::{NodeSortPolicy, PartitionConfig, Quantities, QueueConfig, SchedulerConfig};
use crate::version::Version;
use crate::{acl, queue};
use go_compat::diag::Diagnostic;
use go_compat::yaml::decode::{Spanned, items};

/// The name of an unnamed partition.
pub(super) const DEFAULT_PARTITION: &str = "default";
/// The only allowed top queue.
pub(super) const ROOT: &str = "root";

/// `Validate` (`configvalidator.go:757`). It also normalizes the configuration for the scheduler: it names
/// the `default` partition, inserts the root queue and marks it as parent, and moves the partition's limits
/// to it.
///
/// # Errors
/// The first error. Some of the changes are made even then. The message is `YuniKorn`'s unless the code is
/// [`super::codes::TOO_LARGE`].
pub fn validate(config: &mut SchedulerConfig, version: Version) -> Result<(), Diagnostic> {
    check_size(config)?;
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
    insert_root(partition)?;
    limits::move_to_root(partition)?;
    let Some(root) = items(&partition.queues).first() else {
        return Ok(());
    };
    check_queues(root, 1)?;
    check_resources(root, None)?;
    check_placement(partition)?;
    check_node_sort_policy(&partition.node_sort_policy)?;
    check_max_applications(root)?;
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

// The structure of the queue tree, and its names and ACLs.

/// The message about an invalid queue name (yunikorn-core `common/errors.go:25`).
pub const NAME_REFUSED: &str = "invalid queue name, max 64 characters consisting of alphanumeric characters \
    and '-', '_', '#', '@', '/', ':' allowed";

/// `checkQueuesStructure` (`configvalidator.go:694`). There must be one root queue; a missing one is
/// inserted.
fn insert_root(partition: &mut PartitionConfig) -> Result<(), Diagnostic> {
    let head = partition.head();
    let Some(queues) = partition.queues.as_mut() else {
        return Err(Diagnostic::error(QUEUES_MISSING, "queue config is not set")
            .at(head)
            .help("write `queues: [{name: root}]`, or list the queues"));
    };
    match queues.as_mut_slice() {
        [root] if to_lower(root.name.as_str()) == ROOT => root.parent = true,
        _ => {
            let queues = std::mem::take(queues);
            let root = QueueConfig {
                name: ROOT.into(),
                parent: true,
                queues: Some(queues),
                ..QueueConfig::default()
            };
            partition.queues = Some(vec![root]);
        }
    }
    match items(&partition.queues).first() {
        Some(root) if root.resources.guaranteed.is_some() || root.resources.max.is_some() => {
            Err(Diagnostic::error(ROOT_RESOURCES, "root queue must not have resource limits set")
                .at(root.head())
                .help("remove `resources` from the root queue; its resources are the sum of all nodes"))
        }
        _ => Ok(()),
    }
}

/// `checkQueues` (`configvalidator.go:645`). Checks the ACLs and limits of a queue and the names of its
/// children, then each child.
fn check_queues(queue: &QueueConfig, level: usize) -> Result<(), Diagnostic> {
    check_acl(&queue.admin_acl)?;
    check_acl(&queue.submit_acl)?;
    limits::check(queue)?;
    let mut seen = HashSet::with_capacity(queue.children().len());
    for child in queue.children() {
        let name = child.name.as_str();
        if !queue::name_ok(name) {
            return Err(Diagnostic::error(QUEUE_NAME, NAME_REFUSED).at(child.head()));
        }
        if !seen.insert(lowered(name)) {
            let message = format!("duplicate child name found with name '{name}', level {level}");
            return Err(Diagnostic::error(QUEUE_DUPLICATE, message)
                .at(child.head())
                .help("rename one of them; queue names are not case-sensitive"));
        }
    }
    queue.children().iter().try_for_each(|child| check_queues(child, level + 1))
}

/// Returns a valid queue name, which is ASCII, in lower case.
fn lowered(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

/// `checkACL` (`configvalidator.go:109`).
fn check_acl(acl: &Spanned) -> Result<(), Diagnostic> {
    acl::validates(acl.as_str()).map_err(|error| {
        Diagnostic::error(ACL_PARTS, error.to_string())
            .at(acl.span)
            .help("write users separated by commas, then one space, then groups separated by commas")
    })
}

// Maximum and guaranteed resources and numbers of applications, compared with the queues above and below.

/// `checkQueueResource` (`configvalidator.go:125`). Returns the guarantee that this queue needs from its
/// parent.
fn check_resources(queue: &QueueConfig, parent_max: Option<&Amounts>) -> Result<Amounts, Diagnostic> {
    let name = &queue.name.value;
    let refused = |message: String| Err(Diagnostic::error(RESOURCES, message).at(queue.head()));
    let (guaranteed, max) = bounds(queue)?;
    let max = match parent_max {
        Some(parent) if !parent.fits(&max) => {
            return refused(format!(
                "max resource of parent {parent} is smaller than maximum resource {max} for queue {name}"
            ));
        }
        Some(parent) => max.least(parent),
        None => max,
    };
    let mut sum = Amounts::default();
    for child in queue.children() {
        sum.add(&check_resources(child, Some(&max))?);
    }
    if !guaranteed.fits(&sum) {
        return refused(format!(
            "guaranteed resource of parent {guaranteed} is smaller than sum of guaranteed resources {sum} of \
             the children for queue {name}"
        ));
    }
    if !max.fits(&sum) {
        return refused(format!(
            "max resource {max} is smaller than sum of guaranteed resources {sum} of the children for queue \
             {name}"
        ));
    }
    Ok(if guaranteed.is_zero() { sum } else { guaranteed })
}

/// `checkResourceConfig` (`configvalidator.go:297`). Returns the guarantee and maximum of a queue.
fn bounds(queue: &QueueConfig) -> Result<(Amounts, Amounts), Diagnostic> {
    let guaranteed = Amounts::read(&queue.resources.guaranteed)?;
    let max = Amounts::read(&queue.resources.max)?;
    if max.fits(&guaranteed) {
        return Ok((guaranteed, max));
    }
    let message = format!(
        "guaranteed resource {guaranteed} is larger than maximum resource {max} for queue {}",
        queue.name.value
    );
    Err(Diagnostic::error(RESOURCES, message).at(queue.head()))
}

/// `checkQueueMaxApplications` (`configvalidator.go:211`).
fn check_max_applications(queue: &QueueConfig) -> Result<(), Diagnostic> {
    for child in queue.children() {
        let refused = |message: &str| Err(Diagnostic::error(MAX_APPLICATIONS, message).at(child.head()));
        if queue.max_applications != 0 && queue.max_applications < child.max_applications {
            return refused("parent maxApplications must be larger than child maxApplications");
        }
        if queue.max_applications != 0 && child.max_applications == 0 {
            return refused(
                "maxApplications is either undefined or zero, which is not allowed when parent queue's \
                 maxApplications is defined",
            );
        }
        check_max_applications(child)?;
    }
    Ok(())
}

// Bounds on the work of validation, which grows with products: queues and names in limits times kinds of
// resources, and placement rules times queues.

/// Maximum number of comparisons, about a second of work.
const MAX_WORK: usize = 50_000_000;

/// The numbers that determine the work.
#[derive(Default)]
struct Counts<'a> {
    queues: usize,
    rules: usize,
    limited: usize,
    resources: HashSet<&'a str>,
}

fn check_size(config: &SchedulerConfig) -> Result<(), Diagnostic> {
    let mut counts = Counts::default();
    for partition in items(&config.partitions) {
        counts.partition(partition);
    }
    let amounts = counts.queues.saturating_add(counts.limited).saturating_mul(counts.resources.len());
    let placements = counts.rules.saturating_mul(counts.queues);
    if amounts.saturating_add(placements) <= MAX_WORK {
        return Ok(());
    }
    let message = format!(
        "too large to validate here: {} queues, {} placement rules, {} limits, users and groups in limits, \
         {} kinds of resources",
        counts.queues,
        counts.rules,
        counts.limited,
        counts.resources.len()
    );
    Err(Diagnostic::error(TOO_LARGE, message))
}

impl<'a> Counts<'a> {
    fn partition(&mut self, partition: &'a PartitionConfig) {
        self.rules += items(&partition.placement_rules).len();
        for queue in items(&partition.queues) {
            self.queue(queue);
        }
    }

    fn queue(&mut self, queue: &'a QueueConfig) {
        self.queues += 1;
        self.quantities(&queue.resources.guaranteed);
        self.quantities(&queue.resources.max);
        for limit in items(&queue.limits) {
            self.limited += 1 + items(&limit.users).len() + items(&limit.groups).len();
            self.quantities(&limit.max_resources);
        }
        for child in queue.children() {
            self.queue(child);
        }
    }

    fn quantities(&mut self, quantities: &'a Quantities) {
        self.resources.extend(quantities.iter().flatten().map(|(name, _)| name.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema::{Limit, PlacementRule, Resources};
    use super::*;
    use go_compat::yaml::decode::Spanned;

    /// Returns a partition with a root queue and `below` more.
    fn partition(below: usize) -> PartitionConfig {
        let children = vec![QueueConfig::default(); below];
        let root = QueueConfig { name: "root".into(), queues: Some(children), ..QueueConfig::default() };
        PartitionConfig { queues: Some(vec![root]), ..PartitionConfig::default() }
    }

    fn checked(partitions: Vec<PartitionConfig>) -> Option<String> {
        let config = SchedulerConfig { partitions: Some(partitions), ..SchedulerConfig::default() };
        check_size(&config).err().map(|error| {
            assert_eq!(error.code, TOO_LARGE);
            error.message
        })
    }

    fn kinds(count: usize) -> std::collections::BTreeMap<String, Spanned> {
        (0..count).map(|number| (format!("r{number}"), Spanned::from("1"))).collect()
    }

    #[test]
    fn work_includes_rules_times_queues_of_all_partitions() {
        let with = |rules: usize| {
            let rules = Some(vec![PlacementRule::default(); rules]);
            vec![
                PartitionConfig { placement_rules: rules, ..partition(1999) },
                PartitionConfig { placement_rules: Some(vec![PlacementRule::default()]), ..partition(2999) },
            ]
        };
        assert_eq!(checked(with(9_999)), None);
        assert_eq!(
            checked(with(10_000)).as_deref(),
            Some(
                "too large to validate here: 5000 queues, 10001 placement rules, 0 limits, users and groups \
                 in limits, 0 kinds of resources"
            )
        );
    }

    #[test]
    fn work_includes_limits_and_queues_times_resources() {
        let with = |users: usize, groups: usize, queues: usize| {
            let names = |count: usize| Some(vec![Spanned::from("a"); count]);
            let limit = Limit {
                users: names(users),
                groups: names(groups),
                max_resources: Some(kinds(4_000)),
                ..Limit::default()
            };
            let mut partition = partition(queues - 1);
            let root = &mut partition.queues.as_mut().unwrap()[0];
            root.limits = Some(vec![limit]);
            // 4000 of these kinds come from the limit.
            root.resources = Resources { guaranteed: Some(kinds(4_500)), max: Some(kinds(5_000)) };
            checked(vec![partition]).is_some()
        };
        for (users, groups, queues, is_refused) in [
            (4_990, 4_990, 19, false),
            (4_990, 4_990, 20, true),
            (9_980, 0, 19, false),
            (9_980, 0, 20, true),
            (0, 9_981, 19, true),
            (0, 0, 9_999, false),
            (0, 0, 10_000, true),
        ] {
            assert_eq!(with(users, groups, queues), is_refused, "{users} {groups} {queues}");
        }
    }
}
