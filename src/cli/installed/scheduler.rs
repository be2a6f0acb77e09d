//! What the ConfigMaps hold, and what the scheduler says that it runs.

use kube::Client;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::ask::live;
use queuewarden_plan::snapshot::{ConfigSpec, Snapshot};
use queuewarden_plan::text_in_force;
use yunikorn::config::{Config, Partition, checksum, verdict};

/// What the scheduler says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulerState {
    /// Who was asked; absent where nobody answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// The checksum of the text that it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// The checksum of the text in the ConfigMaps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// Why something of this is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl SchedulerState {
    /// Whether it runs what is written; `None`: nobody knows.
    pub fn agrees(&self) -> Option<bool> {
        Some(self.checksum.as_ref()? == self.expected.as_ref()?)
    }

    /// In one line.
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

/// Queues of the text in force.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueCount {
    /// All of them.
    pub total: usize,
    /// Those that have an ACL of their own, other than one for nobody.
    pub with_acl: usize,
}

/// Asks the scheduler, and compares it with the ConfigMaps where they are known.
pub async fn ask(
    client: &Client,
    url: Option<&str>,
    spec: &ConfigSpec,
    snapshot: Option<&Snapshot>,
) -> SchedulerState {
    let expected = snapshot.map(|snapshot| checksum(&text_in_force(snapshot)));
    match live::ask(client, url, spec).await {
        Ok(answer) => SchedulerState {
            asked: Some(answer.from().to_owned()),
            checksum: Some(answer.checksum().to_owned()),
            expected,
            problem: None,
        },
        Err(failure) => {
            SchedulerState { expected, problem: Some(failure.to_string()), ..SchedulerState::default() }
        }
    }
}

/// Counts the queues; `None` where the text is none that can be read.
pub fn count(snapshot: &Snapshot) -> Option<QueueCount> {
    let config: Config = verdict(&text_in_force(snapshot), &[]).config?;
    let mut count = QueueCount::default();
    for queue in config.partitions.iter().flat_map(Partition::queues) {
        count.total = count.total.saturating_add(1);
        let has = [&queue.submit_acl, &queue.admin_acl].into_iter().any(|acl| !acl.value.trim().is_empty());
        count.with_acl = count.with_acl.saturating_add(usize::from(has));
    }
    Some(count)
}
