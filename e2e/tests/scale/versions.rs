//! Records every version of the output ConfigMap, and finds unnecessary writes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::Api;
use kube::runtime::{WatchStreamExt as _, watcher};
use queuewarden_e2e::{TestCluster, yunikorn};
use tokio::task::JoinHandle;

/// A watch of the output.
#[derive(Debug)]
pub(super) struct Versions {
    seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Seen {
    body: String,
    stray: Vec<String>,
}

impl Drop for Versions {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Versions {
    /// Starts the watch.
    pub(super) fn start(cluster: &TestCluster) -> Result<Self> {
        let api: Api<ConfigMap> = Api::namespaced(cluster.client()?, yunikorn::NAMESPACE);
        let config = watcher::Config::default().fields(&format!("metadata.name={}", yunikorn::CONFIGS));
        let seen = Arc::new(Mutex::new(Seen::default()));
        let state = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            let mut events = std::pin::pin!(watcher(api, config).default_backoff());
            while let Some(event) = events.next().await {
                match event {
                    Ok(watcher::Event::Apply(map)) => lock(&state).note(&map, true),
                    // A restarted watch repeats earlier reports.
                    Ok(watcher::Event::InitApply(map)) => lock(&state).note(&map, false),
                    Ok(_) => {}
                    Err(error) => eprintln!("the watch of the output: {error}"),
                }
            }
        });
        Ok(Self { seen, task })
    }

    /// Returns the versions with the same queue tree as the version before.
    pub(super) fn stray(&self) -> Vec<String> {
        lock(&self.seen).stray.clone()
    }
}

impl Seen {
    fn note(&mut self, map: &ConfigMap, new: bool) {
        let text = map.data.as_ref().and_then(|data| data.get("queues.yaml")).map_or("", String::as_str);
        let body: String =
            text.lines().filter(|line| !line.starts_with('#')).flat_map(|line| [line, "\n"]).collect();
        if new && body == self.body {
            self.stray.push(map.metadata.resource_version.clone().unwrap_or_default());
        }
        self.body = body;
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}
