//! Limits the work of validation, which grows with products: each queue and each name of a limit with the
//! number of resource kinds, each placement rule with the queues.

use std::collections::HashSet;

use super::super::codes::TOO_LARGE;
use super::super::schema::{PartitionConfig, Quantities, QueueConfig, SchedulerConfig};
use go_compat::diag::Diagnostic;
use go_compat::yaml::decode::items;

/// The most comparisons, about a second's work.
const MAX_WORK: usize = 50_000_000;

/// The numbers that the work grows with.
#[derive(Default)]
struct Counts<'a> {
    queues: usize,
    rules: usize,
    limited: usize,
    resources: HashSet<&'a str>,
}

pub(super) fn check(config: &SchedulerConfig) -> Result<(), Diagnostic> {
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
    use super::super::super::schema::{Limit, PlacementRule, Resources};
    use super::*;
    use go_compat::yaml::decode::Spanned;

    /// One partition with a root queue and `below` more.
    fn partition(below: usize) -> PartitionConfig {
        let children = vec![QueueConfig::default(); below];
        let root = QueueConfig { name: "root".into(), queues: Some(children), ..QueueConfig::default() };
        PartitionConfig { queues: Some(vec![root]), ..PartitionConfig::default() }
    }

    fn checked(partitions: Vec<PartitionConfig>) -> Option<String> {
        let config = SchedulerConfig { partitions: Some(partitions), ..SchedulerConfig::default() };
        check(&config).err().map(|error| {
            assert_eq!(error.code, TOO_LARGE);
            error.message
        })
    }

    fn kinds(count: usize) -> std::collections::BTreeMap<String, Spanned> {
        (0..count).map(|number| (format!("r{number}"), Spanned::from("1"))).collect()
    }

    #[test]
    fn rules_count_with_the_queues_of_all_partitions() {
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
    fn limits_and_queues_count_with_the_kinds_of_resources() {
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
            // Of these kinds, 4000 are those of the limit.
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
