//! Compares the text of the ConfigMaps with the configuration that the scheduler runs.

use kube::Client;
use schemars::JsonSchema;
use serde::Serialize;

use super::ReachArgs;
use crate::cli::query::live;
use queuewarden_plan::release::Release;
use queuewarden_plan::snapshot::{ConfigSpec, Snapshot};
use queuewarden_plan::text_in_force;
use yunikorn::config::{Config, Partition, checksum, verdict};

/// State of the scheduler.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulerState {
    /// The URL or Service that answered; absent if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// The checksum of the text that it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// The release that it reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// The checksum of the text in the ConfigMaps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The reason why some of this is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl SchedulerState {
    /// Returns whether the scheduler runs the written text; `None` if unknown.
    pub fn agrees(&self) -> Option<bool> {
        if self.problem.is_some() {
            return None;
        }
        Some(self.checksum.as_ref()? == self.expected.as_ref()?)
    }

    /// Formats the state in one line.
    pub fn line(&self) -> String {
        let asked = self.asked.as_deref().unwrap_or_default();
        let sum = |checksum: &Option<String>| live::short(checksum.as_deref().unwrap_or_default()).to_owned();
        match self.agrees() {
            Some(true) => format!("runs what is written, {} ({asked})", sum(&self.checksum)),
            Some(false) => format!(
                "runs another configuration, {}, than the ConfigMaps hold, {} ({asked})",
                sum(&self.checksum),
                sum(&self.expected)
            ),
            None => self.problem.clone().unwrap_or_else(|| "nobody knows what it runs".to_owned()),
        }
    }
}

/// Number of queues in the text in force.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueCount {
    /// All queues.
    pub total: usize,
    /// Queues with an ACL of their own, other than one for nobody.
    pub with_acl: usize,
}

/// Reads the scheduler's state, and compares it with the ConfigMaps if they are known.
pub async fn read(
    client: &Client,
    reach: &ReachArgs,
    spec: &ConfigSpec,
    snapshot: Option<&Snapshot>,
) -> SchedulerState {
    let expected = snapshot.map(|snapshot| checksum(&text_in_force(snapshot)));
    let answer = async { live::read(client, reach.scheduler(spec)?, spec).await };
    match answer.await {
        Ok(answer) => SchedulerState {
            problem: Release::unproven(spec.version, answer.release.as_deref()),
            asked: Some(answer.from),
            checksum: Some(answer.checksum),
            release: answer.release,
            expected,
        },
        Err(failure) => {
            SchedulerState { expected, problem: Some(failure.to_string()), ..SchedulerState::default() }
        }
    }
}

/// Counts the queues; `None` if the text cannot be read.
pub fn count(snapshot: &Snapshot) -> Option<QueueCount> {
    let config: Config = verdict(&text_in_force(snapshot), &[], snapshot.version()).config?;
    let mut count = QueueCount::default();
    for queue in config.partitions.iter().flat_map(Partition::queues) {
        count.total = count.total.saturating_add(1);
        let has = [&queue.submit_acl, &queue.admin_acl].into_iter().any(|acl| !acl.value.trim().is_empty());
        count.with_acl = count.with_acl.saturating_add(usize::from(has));
    }
    Some(count)
}
