//! A bound on the work of validation, which grows with products: each queue and each name of a limit with the kinds of resources
//! there are, each placement rule with the queues.

use std::collections::HashSet;

use super::super::codes::TOO_LARGE;
use super::super::schema::{PartitionConfig, Quantities, QueueConfig, SchedulerConfig};
use crate::text::diag::Diagnostic;
use crate::text::yaml::decode::items;

/// The most comparisons, about a second's work.
const MAX_WORK: usize = 50_000_000;

/// What the work grows with.
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
        "too large to validate here: {} queues, {} placement rules, {} users and groups in limits, {} kinds of resources",
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
