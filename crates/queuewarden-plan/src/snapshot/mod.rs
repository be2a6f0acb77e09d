//! The input of `plan`: everything it reads, as plain data, gathered at one moment.
//!
//! The operator fills a [`Snapshot`] from its watches, `queuewarden render` from files. It contains no
//! Kubernetes types, and the clock is a field, so that the same snapshot always gives the same plan.
//!
//! * [`release`]: the version of the scheduler.
//! * [`objects`]: our objects.
//! * [`cluster`]: the ConfigMaps and the mirror in the cluster, and the operator's observations and memory.

pub mod release;

mod objects;

mod cluster;

use std::sync::Arc;

use jiff::Timestamp;

use crate::conditions::{self, Reason, Type};
use release::Release;
use yunikorn::Version;
use yunikorn_access::alias::Aliased;

pub use cluster::*;
pub use objects::*;

/// Everything the plan depends on.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The time that the plan is made for.
    pub now: Timestamp,
    /// The `YuniKornConfig` named `default`; `None` if it does not exist.
    pub config: Option<ConfigEntry>,
    /// All `QueueAcl` objects, in any order. They are shared, because there may be thousands, and most are
    /// the same in the next snapshot.
    pub queue_acls: Vec<Arc<QueueAclEntry>>,
    /// All `AdmissionPolicy` objects, in any order.
    pub policies: Vec<PolicyEntry>,
    /// All `QueueAccessTest` objects, in any order.
    pub access_tests: Vec<AccessTestEntry>,
    /// `yunikorn-defaults` in the configured namespace.
    pub defaults: Option<Arc<ConfigMapState>>,
    /// The base ConfigMap (often the same object as `defaults`).
    pub base: Option<Arc<ConfigMapState>>,
    /// The output ConfigMap (`yunikorn-configs`).
    pub output: Option<Arc<ConfigMapState>>,
    /// The base of the last full text, as stored by the operator; `None` if none is stored.
    pub last_base: Option<LastBase>,
    /// The RBAC mirror in the cluster; `None` if it was not read.
    pub mirror: Option<Mirror>,
    /// The operator's observations of the outside world since it started.
    pub observed: Observed,
}

impl Snapshot {
    /// Returns the snapshot of a cluster without any objects.
    pub fn empty(now: Timestamp) -> Self {
        Self { now, ..Self::default() }
    }

    /// Returns the settings of the installation, if they can be read.
    pub fn spec(&self) -> Option<&ConfigSpec> {
        self.config.as_ref()?.spec.as_ref().ok()
    }

    /// Returns the version of the scheduler. If the scheduler does not answer, its version is taken from the
    /// status.
    pub fn release(&self) -> Release {
        let chosen = self.spec().and_then(|spec| spec.version);
        let answer = self.observed.read_back.as_ref().map(|read_back| &read_back.checksum);
        let answers = answer.is_some_and(|answer| {
            answer.as_ref().map_or_else(|error| error.reason == Reason::VersionUnproven, |_| true)
        });
        let before = || self.config_status()?.version.as_ref()?.reported.as_deref();
        let now = self.observed.release.as_deref();
        Release::new(chosen, if answers { now } else { now.or_else(before) })
    }

    /// Returns the line of releases of the scheduler.
    pub fn version(&self) -> Version {
        self.release().version
    }

    /// Returns the names in the specs of all `QueueAcl`s by their aliases.
    pub fn aliased(&self) -> Aliased {
        let mut aliased = Aliased::default();
        let specs = self.queue_acls.iter().filter_map(|entry| entry.spec.as_ref().ok());
        for grant in specs.flat_map(|spec| [&spec.submit, &spec.admin]).flatten() {
            if let Grant::Lists { users, groups } = grant {
                aliased.add(users, groups);
            }
        }
        aliased
    }

    /// Returns the last status of the `YuniKornConfig`.
    pub(crate) fn config_status(&self) -> Option<&ConfigStatus> {
        self.config.as_ref()?.in_force.as_ref()
    }

    /// Returns the checksum of the text that the scheduler was last known to run, from the status. If the
    /// spec has changed, it may be a different scheduler.
    pub(crate) fn loaded_hash(&self) -> Option<&String> {
        let Meta { conditions, generation, .. } = &self.config.as_ref()?.meta;
        let current = conditions::find(conditions, Type::Loaded)?.observed_generation == *generation;
        self.config_status().filter(|_| current)?.loaded_hash.as_ref()
    }

    /// Returns whether an older write may still be accepted, or was accepted but not observed yet, so that
    /// another text may be in force.
    pub(crate) fn is_fenced(&self) -> bool {
        let version = self.output.as_deref().map(|output| &output.resource_version);
        version.is_some() && self.observed.fence.as_ref() == version
    }

    /// Returns the text in `data` of the output under a key.
    pub(crate) fn output_text(&self, key: &str) -> Option<&String> {
        self.output.as_deref()?.data.get(key)
    }
}
