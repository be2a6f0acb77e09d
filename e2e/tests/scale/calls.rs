//! Counts the operator's requests to the API server.

use anyhow::Result;
use queuewarden_e2e::audit::Mark;
use queuewarden_e2e::{TestCluster, operator, yunikorn};

/// Requests since a mark, including refused ones.
#[derive(Debug)]
pub(super) struct Calls {
    /// Writes of ConfigMaps.
    pub(super) maps: usize,
    /// Writes of the scheduler's ConfigMap.
    pub(super) live: usize,
    /// Patches of statuses.
    pub(super) statuses: usize,
    /// Events.
    pub(super) events: usize,
    /// Other writes. The Lease is excluded, because it is renewed regardless of the amount of work.
    pub(super) others: usize,
    /// All requests other than writes; a watch is counted when it ends.
    pub(super) reads: usize,
}

impl Calls {
    pub(super) fn since(cluster: &TestCluster, mark: Mark) -> Result<Self> {
        let audit = cluster.audit()?;
        let reads = audit.reads(mark)?;
        let reads = reads.iter().filter(|path| !path.contains("/leases/")).count();
        let mut calls = Self { maps: 0, live: 0, statuses: 0, events: 0, others: 0, reads };
        for write in audit.since(mark)?.iter().filter(|write| write.user == operator::USER) {
            match (write.resource.as_str(), write.subresource.as_str()) {
                ("configmaps", "") => {
                    calls.maps += 1;
                    calls.live += usize::from(write.name == yunikorn::CONFIGS);
                }
                (_, "status") => calls.statuses += 1,
                ("events", _) => calls.events += 1,
                ("leases", _) => {}
                _ => calls.others += 1,
            }
        }
        Ok(calls)
    }

    /// Returns whether only the Lease was written.
    pub(super) fn nothing_written(&self) -> bool {
        self.maps + self.statuses + self.events + self.others == 0
    }
}
