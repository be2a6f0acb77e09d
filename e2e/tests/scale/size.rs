//! Creates many queues, and a grant for each.

#[path = "../../../benches/inputs/closed.rs"]
mod closed;

use anyhow::Result;
use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use queuewarden_e2e::{Kind, TestCluster, yunikorn};
use serde_json::{Value, json};

use super::followed::Objects;
use crate::operator::configure;

/// Number of concurrent requests, as from this many people, or from one pipeline.
const AT_ONCE: usize = 16;
/// The field manager that applies.
const MANAGER: &str = "pipeline";

/// Queues: teams, and this many queues for each. The queues of the teams, not the teams, have grants.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    /// Queues below the root.
    pub(super) teams: usize,
    /// Queues of each team.
    pub(super) queues: usize,
}

impl Size {
    /// Returns the number of queues with a grant.
    pub(super) fn grants(self) -> usize {
        self.teams * self.queues
    }

    /// Returns the base, where no one may submit.
    pub(super) fn base(self) -> String {
        closed::text(self.teams, self.queues)
    }

    /// Returns the name of a grant.
    pub(super) fn name(number: usize) -> String {
        format!("grant-{number}")
    }

    /// Returns the number of the grant with this name.
    pub(super) fn number(name: &str) -> Option<usize> {
        name.strip_prefix("grant-")?.parse().ok()
    }

    /// Returns the queue of a grant.
    pub(super) fn queue(self, number: usize) -> String {
        closed::path(self.queues, number)
    }

    /// Returns the ACL that a grant to this user makes.
    pub(super) fn acl(number: usize, user: &str) -> String {
        format!("{user} {}", group(number))
    }

    /// Returns a grant to this user, and to a group.
    pub(super) fn grant(self, number: usize, user: &str) -> Value {
        json!({
            "apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl",
            "metadata": {"name": Self::name(number)},
            "spec": {"queue": self.queue(number), "submit": {"users": [user], "groups": [group(number)]}},
        })
    }

    /// Writes the queues to the base, and configures the operator, which does not run yet.
    pub(super) async fn prepare(self, cluster: &TestCluster) -> Result<()> {
        cluster.install().await?;
        cluster.set_base(&self.base()).await?;
        configure(cluster, "").await
    }

    /// Creates all grants, each to its own user.
    pub(super) async fn create(self, cluster: &TestCluster) -> Result<()> {
        self.apply(cluster, 0..self.grants(), "user").await
    }

    /// Applies these grants, each to a different user.
    pub(super) async fn apply(
        self,
        cluster: &TestCluster,
        numbers: impl Iterator<Item = usize>,
        user: &str,
    ) -> Result<()> {
        let objects = cluster.objects(Kind::QueueAcl)?;
        let requests = numbers.map(|number| self.apply_one(&objects, number, user));
        futures::stream::iter(requests).buffer_unordered(AT_ONCE).try_collect::<()>().await
    }

    /// Returns whether these grants are in force as [`Self::apply`] wrote them.
    pub(super) fn holds(objects: &Objects, mut numbers: impl Iterator<Item = usize>, user: &str) -> bool {
        numbers.all(|number| {
            let wanted = Self::acl(number, &format!("{user}{number}"));
            objects.get(&Self::name(number)).is_some_and(|seen| seen.ready && seen.submit == wanted)
        })
    }

    /// Applies one grant, to this user with the number after its name.
    pub(super) async fn apply_one(
        self,
        objects: &Api<DynamicObject>,
        number: usize,
        user: &str,
    ) -> Result<()> {
        Self::write(objects, number, self.grant(number, &format!("{user}{number}"))).await
    }

    /// Applies this object instead of a grant.
    pub(super) async fn write(objects: &Api<DynamicObject>, number: usize, object: Value) -> Result<()> {
        let params = PatchParams::apply(MANAGER).force();
        objects.patch(&Self::name(number), &params, &Patch::Apply(object)).await?;
        Ok(())
    }
}

fn group(number: usize) -> String {
    format!("group{}", number % 100)
}

/// Returns the number of bytes of all values of the output.
pub(super) async fn bytes(cluster: &TestCluster) -> Result<usize> {
    let map = cluster.config_map(yunikorn::CONFIGS).await?;
    Ok(map.and_then(|map| map.data).iter().flatten().map(|(_, value)| value.len()).sum())
}
