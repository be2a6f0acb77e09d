//! One watch: a task that keeps a [`Cache`] equal to the objects in the API server, and signals changes that
//! matter.
//!
//! kube's watcher lists, watches, restarts when the server has forgotten it or becomes silent, and backs off.
//! It does not show whether it is alive while nothing changes, so each of its requests goes through a client
//! that records the response. The server ends a watch after [`LENGTH`], so a working watch gets a new
//! response at least every minute.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::http::Request;
use futures::StreamExt as _;
use jiff::{SignedDuration, Timestamp};
use kube::client::Body;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tower::BoxError;

use super::cache::{Cache, Cached};
use super::metered::{Cost, Metered};
use super::{clock, lock};

/// The number of seconds after which the server is asked to end a watch. A watch that is silent for five
/// seconds longer is restarted. Otherwise, a connection that the network dropped silently would go unnoticed,
/// and revocations would not be seen.
const LENGTH: u32 = 60;
/// How long the API server must refuse a watch that has never worked before this is reported.
pub(super) const FORBIDDEN_FOR: SignedDuration = SignedDuration::from_secs(5);
/// Longest silence within a response: five seconds more than [`LENGTH`], after which the server ends a
/// working watch.
pub(crate) const SILENCE: Duration = Duration::from_secs(65);

/// The state of a watch: when it last got a response, and why it fails.
#[derive(Debug)]
pub struct Progress {
    /// The resource, as in metrics.
    pub resource: &'static str,
    /// When the API server last responded, with any status.
    answered: Mutex<Instant>,
    /// When it last responded with success, in seconds since the epoch; 0 means never.
    succeeded: AtomicI64,
    /// Why the watch does not work now, if it does not.
    problem: Mutex<Option<Problem>>,
}

/// Why a watch does not work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The HTTP status, if the API server gave one.
    pub code: Option<u16>,
    /// The reason in words.
    pub message: String,
    /// Since when the watch has not worked, even if the reason was a different one at first.
    pub since: Timestamp,
}

impl Problem {
    /// Returns whether the API server has refused the watch for so long that this is not temporary.
    pub(super) fn is_denied(&self, now: Timestamp) -> bool {
        self.code == Some(403) && now.duration_since(self.since) >= FORBIDDEN_FOR
    }
}

impl Progress {
    /// Creates the state of a watch that starts now.
    pub fn new(resource: &'static str) -> Arc<Self> {
        Arc::new(Self {
            resource,
            answered: Mutex::new(Instant::now()),
            succeeded: AtomicI64::new(0),
            problem: Mutex::new(None),
        })
    }

    /// Returns the time since the API server last responded.
    pub fn silence(&self) -> Duration {
        lock(&self.answered).elapsed()
    }

    /// Returns when the API server last responded with success, in seconds since the epoch; 0 means never.
    pub fn succeeded(&self) -> i64 {
        self.succeeded.load(Ordering::Relaxed)
    }

    /// Returns why the watch does not work now.
    pub fn problem(&self) -> Option<Problem> {
        lock(&self.problem).clone()
    }

    /// Returns whether the API server does not know the kind, or forbids the watch.
    pub fn is_refused(&self) -> bool {
        self.problem().is_some_and(|problem| matches!(problem.code, Some(403 | 404)))
    }

    fn note_answer(&self, success: bool) {
        *lock(&self.answered) = Instant::now();
        if success {
            self.succeeded.store(clock::now().as_second(), Ordering::Relaxed);
        }
    }

    /// Records a problem; returns whether it is a new one. Each problem is logged once rather than for each
    /// attempt.
    fn note_problem(&self, error: &watcher::Error) -> bool {
        use watcher::Error as E;
        let (code, message) = match error {
            // The server no longer knows the position of the watch, so the watcher lists again.
            E::WatchError(status) if status.code == 410 => return false,
            E::InitialListFailed(kube::Error::Api(status))
            | E::WatchStartFailed(kube::Error::Api(status))
            | E::WatchFailed(kube::Error::Api(status))
            | E::WatchError(status) => (Some(status.code), status.message.clone()),
            _ => (None, error.to_string()),
        };
        let mut current = lock(&self.problem);
        let before = current.take();
        let since = before.as_ref().map_or_else(clock::now, |before| before.since);
        let problem = current.insert(Problem { code, message, since }).clone();
        drop(current);
        let is_new = before.as_ref() != Some(&problem);
        if is_new && code == Some(404) {
            tracing::warn!(
                resource = self.resource,
                "This kind is not installed; waiting for its CustomResourceDefinition"
            );
        } else if is_new {
            tracing::warn!(resource = self.resource, problem = problem.message, "Cannot watch; trying again");
        }
        is_new
    }

    /// Records that the watch works; returns whether there was a problem.
    fn note_recovery(&self) -> bool {
        let recovered = lock(&self.problem).take().is_some();
        if recovered {
            tracing::info!(resource = self.resource, "Watching again");
        }
        recovered
    }
}

/// A store for the objects of a watch.
pub trait Store: Default + Send + 'static {
    /// The memory that objects take until they are converted.
    const COST: Cost = Cost::WHOLE;
    /// One object, converted.
    type Item: Send;

    /// Applies an event of the watch; returns whether it matters.
    fn observe(&mut self, event: watcher::Event<Self::Item>) -> bool;
}

impl<T: Send + Sync + 'static> Store for Cache<T> {
    type Item = Cached<T>;

    fn observe(&mut self, event: watcher::Event<Cached<T>>) -> bool {
        Self::observe(self, event)
    }
}

/// A running watch with a cache.
pub type Watch<T> = WatchInto<Cache<T>>;

/// A running watch; dropping it ends it.
#[derive(Debug)]
pub struct WatchInto<S> {
    store: Arc<Mutex<S>>,
    progress: Arc<Progress>,
    task: JoinHandle<()>,
}

impl<S> Drop for WatchInto<S> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<S: Store> WatchInto<S> {
    /// Starts to watch the objects of `api` that `config` selects. `resource` is their name in metrics;
    /// `changed` is notified of every change that matters.
    pub fn start<K>(
        client: &Client,
        api: impl FnOnce(Client) -> Api<K>,
        config: watcher::Config,
        keep: fn(K) -> S::Item,
        resource: &'static str,
        changed: &Arc<Notify>,
    ) -> Self
    where
        K: kube::Resource + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
    {
        let (store, progress) = (Arc::new(Mutex::new(S::default())), Progress::new(resource));
        let api = api(noting(client, S::COST, Arc::clone(&progress), Arc::clone(changed)));
        let mut events = Box::pin(watcher(api, config.timeout(LENGTH)).default_backoff());
        let (observing, noting, changed) = (Arc::clone(&store), Arc::clone(&progress), Arc::clone(changed));
        let task = tokio::spawn(async move {
            while let Some(event) = events.next().await {
                let matters = match event {
                    Ok(event) => lock(&observing).observe(convert(event, keep)),
                    Err(error) => noting.note_problem(&error),
                };
                if matters {
                    changed.notify_one();
                }
            }
        });
        Self { store, progress, task }
    }

    /// Locks and returns the store.
    pub fn store(&self) -> MutexGuard<'_, S> {
        lock(&self.store)
    }

    /// Returns the progress of the watch.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }
}

impl<T: Send + Sync + 'static> Watch<T> {
    /// Returns one cached object.
    pub fn get(&self, name: &str) -> Option<Arc<T>> {
        self.store().get(name).map(|cached| Arc::clone(&cached.value))
    }
}

fn convert<K, T>(event: watcher::Event<K>, keep: fn(K) -> T) -> watcher::Event<T> {
    match event {
        watcher::Event::Apply(object) => watcher::Event::Apply(keep(object)),
        watcher::Event::Delete(object) => watcher::Event::Delete(keep(object)),
        watcher::Event::Init => watcher::Event::Init,
        watcher::Event::InitApply(object) => watcher::Event::InitApply(keep(object)),
        watcher::Event::InitDone => watcher::Event::InitDone,
    }
}

/// Returns `client` with each response recorded and charged, and a limited wait for it. A problem is over
/// when a watch starts, unless it ended at its next event: a list may succeed even if a watch is refused.
fn noting(client: &Client, cost: Cost, progress: Arc<Progress>, changed: Arc<Notify>) -> Client {
    let namespace = client.default_namespace().to_owned();
    let metered = Metered::new(client.clone(), cost);
    let service = tower::service_fn(move |request: Request<Body>| {
        let (metered, progress, changed) =
            (Arc::clone(&metered), Arc::clone(&progress), Arc::clone(&changed));
        async move {
            let watches =
                request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair == "watch=true"));
            let is_stuck = metered.is_stuck();
            let response =
                if watches { metered.watch(request).await? } else { metered.list(request).await? };
            let success = response.status().is_success();
            progress.note_answer(success);
            if success && watches && !is_stuck && progress.note_recovery() {
                changed.notify_one();
            }
            Ok::<_, BoxError>(response)
        }
    });
    Client::new(service, namespace)
}
