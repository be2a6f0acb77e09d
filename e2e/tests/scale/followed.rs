//! Follows all `QueueAcl`s with a watch, because repeated requests for thousands of objects would be the
//! greatest load of all.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use futures::StreamExt as _;
use kube::api::DynamicObject;
use kube::runtime::{WatchStreamExt as _, watcher};
use queuewarden_e2e::{Kind, TestCluster};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// One object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    /// True when its last version is `Ready`.
    pub(super) ready: bool,
    /// Its submit grant in force.
    pub(super) submit: String,
    /// True if the last version has a status, no matter which.
    pub(super) decided: bool,
}

/// All objects.
#[derive(Debug, Default)]
pub(super) struct Objects {
    by_name: BTreeMap<String, Seen>,
    ready: usize,
}

impl Objects {
    /// Returns the number of ready objects.
    pub(super) fn ready(&self) -> usize {
        self.ready
    }

    /// Returns one of them.
    pub(super) fn get(&self, name: &str) -> Option<&Seen> {
        self.by_name.get(name)
    }

    /// Returns all of them.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &Seen)> {
        self.by_name.iter().map(|(name, seen)| (name.as_str(), seen))
    }

    fn put(&mut self, name: String, seen: Option<Seen>) {
        self.ready += usize::from(seen.as_ref().is_some_and(|seen| seen.ready));
        let before = match seen {
            Some(seen) => self.by_name.insert(name, seen),
            None => self.by_name.remove(&name),
        };
        self.ready -= usize::from(before.is_some_and(|seen| seen.ready));
    }
}

/// A watch of all `QueueAcl`s.
#[derive(Debug)]
pub(super) struct Followed {
    objects: Arc<Mutex<Objects>>,
    changed: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Followed {
    /// Starts the watch.
    pub(super) fn start(cluster: &TestCluster) -> Result<Self> {
        let api = cluster.objects(Kind::QueueAcl)?;
        let (objects, changed) = (Arc::new(Mutex::new(Objects::default())), Arc::new(Notify::new()));
        let (state, reported) = (Arc::clone(&objects), Arc::clone(&changed));
        let task = tokio::spawn(async move {
            let mut events = std::pin::pin!(watcher(api, watcher::Config::default()).default_backoff());
            while let Some(event) = events.next().await {
                match event {
                    Ok(watcher::Event::Apply(object) | watcher::Event::InitApply(object)) => {
                        lock(&state).put(name(&object), Some(seen(&object)));
                    }
                    Ok(watcher::Event::Delete(object)) => lock(&state).put(name(&object), None),
                    Ok(watcher::Event::Init) => *lock(&state) = Objects::default(),
                    Ok(watcher::Event::InitDone) => {}
                    Err(error) => eprintln!("the watch of QueueAcls: {error}"),
                }
                reported.notify_one();
            }
        });
        Ok(Self { objects, changed, task })
    }

    /// Returns the observations so far.
    pub(super) fn now(&self) -> MutexGuard<'_, Objects> {
        lock(&self.objects)
    }

    /// Returns once `wanted` holds.
    pub(super) async fn until(
        &self,
        what: &str,
        longest: Duration,
        wanted: impl Fn(&Objects) -> bool,
    ) -> Result<()> {
        let holds = async {
            while !wanted(&self.now()) {
                self.changed.notified().await;
            }
        };
        timeout(longest, holds).await.ok().with_context(|| {
            let now = self.now();
            format!("waited {longest:?} in vain for {what}: {} of {} are ready", now.ready, now.by_name.len())
        })
    }
}

fn lock(objects: &Mutex<Objects>) -> MutexGuard<'_, Objects> {
    objects.lock().unwrap_or_else(PoisonError::into_inner)
}

fn name(object: &DynamicObject) -> String {
    object.metadata.name.clone().unwrap_or_default()
}

fn seen(object: &DynamicObject) -> Seen {
    let list = object.data.pointer("/status/conditions").and_then(Value::as_array);
    let ready = list
        .into_iter()
        .flatten()
        .find(|condition| condition.get("type").is_some_and(|word| word == "Ready"));
    let of_now = |condition: &&Value| {
        condition.get("observedGeneration").and_then(Value::as_i64) == object.metadata.generation
    };
    let ready = ready.filter(of_now);
    let submit = object.data.pointer("/status/inForce/submit").and_then(Value::as_str);
    Seen {
        ready: ready.is_some_and(|condition| condition.get("status").is_some_and(|word| word == "True")),
        decided: ready.is_some(),
        submit: submit.unwrap_or_default().to_owned(),
    }
}
