//! Records the history of grants, and checks every version of the output `ConfigMap` that ever existed
//! against it.
//!
//! The versions are read afterwards: see [`crate::history`].
//!
//! A state of the grants explains a version if the version, according to the evaluator of `queuewarden diff`,
//! gives exactly what the state grants, and the state is not newer than the version. A version is also
//! explained if it gives exactly the previous version's access minus the withdrawals, because new grants may
//! have to wait. States explain versions in order: a revoked grant must not come back, no matter who the
//! writer is.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ::yunikorn::config::verdict;
use anyhow::{Context as _, Result, bail, ensure};
use kube::Client;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use yunikorn_access::Tree;
use yunikorn_access::diff::{PartitionDiff, between};

use crate::Kind;
use crate::conditions::is_true;
use crate::history::{Version, revision, versions};
use crate::test_cluster::{BASE, TestCluster};
use crate::wait::{PATIENCE, eventually};
use crate::yunikorn;

const KEY: &str = "queues.yaml";

/// One grant: the users who may submit to a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Grant {
    queue: String,
    users: Vec<String>,
}

/// All grants by name.
type Grants = BTreeMap<String, Grant>;

/// The grants from a revision on.
#[derive(Debug)]
struct State {
    since: u64,
    grants: Grants,
    tree: Tree,
}

/// The grants of one test, and the last revision of the output that was checked against them.
#[expect(missing_debug_implementations, reason = "kube's client has none")]
pub struct GrantHistory<'cluster> {
    cluster: &'cluster TestCluster,
    client: Client,
    states: Vec<State>,
    /// The newest state that has explained a version.
    explained: usize,
    /// The grants of that version.
    live: Grants,
    /// The last revision that was compared.
    read_to: u64,
    /// Texts that other writers write.
    foreign: BTreeSet<String>,
}

impl<'cluster> GrantHistory<'cluster> {
    /// Starts without any grant. Everything from here on is compared.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn begin(cluster: &'cluster TestCluster) -> Result<Self> {
        let client = cluster.client()?;
        let now = revision(&client).await?;
        let nothing = State { since: now, grants: Grants::new(), tree: granted(&Grants::new())? };
        let (states, live, foreign) = (vec![nothing], Grants::new(), BTreeSet::new());
        Ok(Self { cluster, client, states, explained: 0, live, read_to: now, foreign })
    }

    /// Applies a `QueueAcl` that lets these users submit to this queue of [`BASE`].
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn grant(&mut self, name: &str, queue: &str, users: &[&str]) -> Result<()> {
        let object = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl", "metadata": {"name": name},
            "spec": {"queue": queue, "submit": {"users": users}}});
        let apply = PatchParams::apply("chaos").force();
        let applied =
            self.cluster.objects(Kind::QueueAcl)?.patch(name, &apply, &Patch::Apply(&object)).await?;
        let since = applied.metadata.resource_version.as_deref().unwrap_or_default().parse()?;
        // The stored object is used, because without a schema, now or earlier, lists are merged differently.
        let stands = applied.data.pointer("/spec/submit/users").cloned().context("no users")?;
        let users = serde_json::from_value(stands)?;
        let mut grants = self.standing()?.clone();
        grants.insert(name.to_owned(), Grant { queue: queue.to_owned(), users });
        self.note(since, grants)
    }

    /// Deletes a `QueueAcl`.
    ///
    /// # Errors
    /// When it does not exist, or the API server refuses.
    pub async fn revoke(&mut self, name: &str) -> Result<()> {
        // The response to a deletion does not contain its revision, which is later than this one.
        let since = revision(&self.client).await?;
        self.cluster.objects(Kind::QueueAcl)?.delete(name, &DeleteParams::default()).await?;
        let mut grants = self.standing()?.clone();
        grants.remove(name);
        self.note(since, grants)
    }

    /// Records that all grants were removed at once, with their definition, after this revision.
    ///
    /// # Errors
    /// When the tree without grants cannot be made.
    pub fn revoked_all(&mut self, since: u64) -> Result<()> {
        self.note(since, Grants::new())
    }

    /// Returns the current revision.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn now(&self) -> Result<u64> {
        revision(&self.client).await
    }

    /// Registers a text written by another client, which needs no grants to explain it.
    pub fn expect_foreign(&mut self, text: &str) {
        self.foreign.insert(text.to_owned());
    }

    /// Waits until all grants are live, the scheduler runs them and every object reports it; then compares
    /// every version since. Returns the number of versions.
    ///
    /// # Errors
    /// When that does not happen, or the grants do not explain a version.
    pub async fn converged(&mut self, timeout: Duration) -> Result<usize> {
        let wanted = self.states.last().context("no state")?;
        let scheduler = self.cluster.yunikorn()?;
        eventually("what is granted to be live, and to run", timeout, || async {
            // The text is read each time, because a text that the scheduler does not load in time is written
            // again with a new revision.
            let text = self.cluster.config_value(yunikorn::CONFIGS, KEY).await?.context("no queue tree")?;
            ensure!(difference(&wanted.tree, &tree(&text)?).is_empty(), "live is: {text}");
            let runs = scheduler.config_checksum().await?;
            ensure!(runs == yunikorn::checksum(&text), "the scheduler runs {runs}; live is: {text}");
            Ok(Some(()))
        })
        .await?;
        for name in wanted.grants.keys() {
            self.cluster.wait_for(Kind::QueueAcl, name, is_true("Ready"), timeout).await?;
        }
        self.cluster.wait_for(Kind::YuniKornConfig, "default", is_true("Ready"), timeout).await?;
        self.check().await
    }

    /// Compares the versions since the last time with the grants. Returns the number of versions.
    ///
    /// # Errors
    /// When the grants do not explain a version.
    pub async fn check(&mut self) -> Result<usize> {
        let now =
            eventually("the API server to answer", PATIENCE, || async { self.now().await.map(Some) }).await?;
        let versions = versions(&self.client, self.read_to, now).await?;
        for version in &versions {
            self.explain(version)?;
        }
        self.read_to = now;
        Ok(versions.len())
    }

    fn standing(&self) -> Result<&Grants> {
        Ok(&self.states.last().context("no state")?.grants)
    }

    fn note(&mut self, since: u64, grants: Grants) -> Result<()> {
        let tree = granted(&grants)?;
        self.states.push(State { since, grants, tree });
        Ok(())
    }

    fn explain(&mut self, version: &Version) -> Result<()> {
        // Without the key the base is in force, which grants nothing.
        let Some(text) = version.data.get(KEY) else { return Ok(()) };
        if self.foreign.contains(text) {
            return Ok(());
        }
        let revision = version.revision;
        let actual = tree(text).with_context(|| format!("the output at revision {revision}"))?;
        let known = self.states.iter().enumerate().skip(self.explained);
        let mut found = None;
        for (index, state) in known.take_while(|(_, state)| state.since <= revision) {
            let left = withdrawn(&self.live, &state.grants);
            let is_left = || Ok::<_, anyhow::Error>(difference(&granted(&left)?, &actual).is_empty());
            if difference(&state.tree, &actual).is_empty() {
                found = Some((index, state.grants.clone()));
                break;
            } else if is_left()? {
                found = Some((index, left));
                break;
            }
        }
        let Some((index, live)) = found else {
            let last = self.states.get(self.explained..).unwrap_or_default();
            let states: Vec<_> = last.iter().map(|state| (state.since, &state.grants)).collect();
            let widens = last
                .first()
                .is_some_and(|state| difference(&state.tree, &actual).iter().any(|part| part.diff.widens()));
            bail!(
                "no grants explain the output at revision {revision} (wider than the last: {widens}); \
                 granted was {states:?}, written was:\n{text}"
            );
        };
        (self.explained, self.live) = (index, live);
        Ok(())
    }
}

/// Returns the queues of partition `default` of a text that `YuniKorn` would accept.
fn tree(text: &str) -> Result<Tree> {
    let verdict = verdict(text, &["default"], yunikorn::version()?);
    if let Some(refusal) = verdict.refusal() {
        bail!("YuniKorn would refuse it: {refusal}");
    }
    let config = verdict.config.context("no configuration")?;
    Ok(Tree::new(config.partition("default").context("no partition")?)?)
}

/// Returns who gains and who loses which rights, and all other differences.
fn difference(old: &Tree, new: &Tree) -> Vec<PartitionDiff> {
    between(std::slice::from_ref(old), std::slice::from_ref(new))
}

/// Returns the grants without the users that the wanted grants do not let in, at the queue or above it.
fn withdrawn(from: &Grants, wanted: &Grants) -> Grants {
    let stays = |queue: &str, user: &String| {
        let mut others = wanted.values().filter(|other| other.users.contains(user));
        others.any(|other| format!("{queue}.").starts_with(&format!("{}.", other.queue)))
    };
    let left = from.iter().map(|(name, Grant { queue, users })| {
        let users = users.iter().filter(|user| stays(queue, user)).cloned().collect();
        (name.clone(), Grant { queue: queue.clone(), users })
    });
    left.collect()
}

/// Returns [`BASE`] with these grants, created without any of queuewarden's code.
fn granted(grants: &Grants) -> Result<Tree> {
    let mut config: Value = serde_saphyr::from_str(BASE)?;
    let mut users: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for grant in grants.values() {
        users.entry(&grant.queue).or_default().extend(grant.users.iter().map(String::as_str));
    }
    for (path, users) in users {
        let mut place = config.pointer_mut("/partitions/0/queues").context("no queues in the base")?;
        let mut names = path.split('.').peekable();
        while let Some(name) = names.next() {
            let queues = place.as_array_mut().context("no list of queues")?;
            let queue = queues.iter_mut().find(|queue| queue.get("name").is_some_and(|own| own == name));
            let queue = queue.with_context(|| format!("no queue {path} in the base"))?;
            let queue = queue.as_object_mut().context("no queue")?;
            if names.peek().is_none() {
                let acl = users.iter().copied().collect::<Vec<_>>().join(",");
                queue.insert("submitacl".into(), acl.into());
                break;
            }
            place = queue.get_mut("queues").with_context(|| format!("nothing below {name} in the base"))?;
        }
    }
    // JSON is YAML.
    tree(&config.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(all: &[(&str, &str, &[&str])]) -> Grants {
        let grant = |(name, queue, users): &(&str, &str, &[&str])| {
            let users = users.iter().map(|&user| user.to_owned()).collect();
            ((*name).to_owned(), Grant { queue: (*queue).to_owned(), users })
        };
        all.iter().map(grant).collect()
    }

    #[test]
    fn withdrawal_keeps_grants_at_the_queue_or_above() {
        let from = grants(&[("a", "root.team.batch", &["sue", "bob", "eve"]), ("b", "root.prod", &["sue"])]);
        let wanted = grants(&[("c", "root.team", &["sue"]), ("d", "root.team.batch", &["bob", "ann"])]);
        let left = grants(&[("a", "root.team.batch", &["sue", "bob"]), ("b", "root.prod", &[])]);
        assert_eq!(withdrawn(&from, &wanted), left);
    }

    #[test]
    fn grants_are_compared_by_resulting_access() -> Result<()> {
        let none = granted(&Grants::new())?;
        let one = granted(&grants(&[("a", "root.prod", &["sue"])]))?;
        let same = granted(&grants(&[("b", "root.prod", &["sue"]), ("c", "root.prod", &["sue"])]))?;
        let below = granted(&grants(&[("a", "root.team.batch", &["sue", "bob"])]))?;
        assert!(difference(&one, &same).is_empty());
        for (narrow, wide) in [(&none, &one), (&none, &below)] {
            let found = difference(narrow, wide);
            assert!(found.iter().any(|part| part.diff.widens()));
            let found = difference(wide, narrow);
            assert!(!found.is_empty() && !found.iter().any(|part| part.diff.widens()));
        }
        Ok(())
    }
}
