//! One watch: a task that keeps a [`Cache`] equal to what the API server holds, and says when that matters.
//!
//! kube's watcher lists, watches, starts again when the server forgets it or falls silent, and backs off. What it does not show is
//! whether it is alive while nothing changes. Every one of its requests passes through a client of ours that notes the answer: the server
//! ends a watch after [`LENGTH`], so a watch that works has a new answer at least every minute.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::Request;
use futures::StreamExt as _;
use jiff::Timestamp;
use kube::client::Body;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tower::BoxError;

use super::cache::{Cache, Kept};
use super::clock;

/// Longest wait for the beginning of an answer; a list of everything is among them.
const ANSWER: Duration = Duration::from_secs(30);

/// After so many seconds the server is asked to end a watch; one from which nothing comes for five seconds longer is begun anew. A connection
/// that a network lost without a word is not told apart otherwise, and until then nothing that is revoked is seen.
const LENGTH: u32 = 60;
/// How long an answer may say nothing: five seconds more than [`LENGTH`], after which a watch that works is ended.
pub(super) const SILENCE: Duration = Duration::from_secs(65);

/// When a watch last gave a sign of life.
#[derive(Debug)]
pub struct Progress {
    /// The resource, as metrics name it.
    pub resource: &'static str,
    /// Whether all goes on without it where the API server does not know the kind, or keeps it from us.
    optional: bool,
    /// When the API server last answered, with whatever.
    answered: Mutex<Instant>,
    /// When it last answered with success, in seconds since the epoch; 0: never.
    succeeded: AtomicI64,
    /// Why the watch does not work now, and since when.
    problem: Mutex<Option<(Problem, Timestamp)>>,
}

/// Why a watch does not work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The HTTP status, if the API server gave one.
    pub code: Option<u16>,
    /// In words.
    pub message: String,
}

impl Progress {
    /// Of a watch that begins now.
    pub fn new(resource: &'static str) -> Arc<Self> {
        Self::of(resource, false)
    }

    /// The same, where all goes on without the objects as long as the API server does not know the kind, or keeps it from us.
    pub fn optional(resource: &'static str) -> Arc<Self> {
        Self::of(resource, true)
    }

    fn of(resource: &'static str, optional: bool) -> Arc<Self> {
        Arc::new(Self {
            resource,
            optional,
            answered: Mutex::new(Instant::now()),
            succeeded: AtomicI64::new(0),
            problem: Mutex::new(None),
        })
    }

    /// How long ago the API server last answered.
    pub fn silence(&self) -> Duration {
        lock(&self.answered).elapsed()
    }

    /// When the API server last answered with success, in seconds since the epoch; 0: never.
    pub fn succeeded(&self) -> i64 {
        self.succeeded.load(Ordering::Relaxed)
    }

    /// Why the watch does not work now.
    pub fn problem(&self) -> Option<Problem> {
        self.failing().map(|(problem, _)| problem)
    }

    /// Why the watch does not work now, and since when it has not worked, whatever the reason was at first.
    pub fn failing(&self) -> Option<(Problem, Timestamp)> {
        lock(&self.problem).clone()
    }

    /// Whether the API server does not know the kind, or keeps it from us.
    pub fn is_refused(&self) -> bool {
        self.problem().is_some_and(|problem| matches!(problem.code, Some(403 | 404)))
    }

    /// What metrics tell of it: when the API server last answered with success, 0: never. Nothing where all goes on without it and it has never
    /// worked: whoever looks for watches that stand still would find it for ever.
    pub fn told(&self) -> Option<i64> {
        let succeeded = self.succeeded();
        let needless = self.optional && self.is_refused() && succeeded == 0;
        (!needless).then_some(succeeded)
    }

    fn note_answer(&self, success: bool) {
        *lock(&self.answered) = Instant::now();
        if success {
            self.succeeded.store(clock::now().as_second(), Ordering::Relaxed);
        }
    }

    /// Whether this is news. Each problem is logged once, not with each attempt.
    fn note_problem(&self, error: &watcher::Error) -> bool {
        let found = Problem::of(error);
        if matches!(error, watcher::Error::WatchError(status) if status.code == 410) {
            return false;
        }
        let news = {
            let mut problem = lock(&self.problem);
            let before = problem.take();
            let since = before.as_ref().map_or_else(clock::now, |(_, since)| *since);
            *problem = Some((found.clone(), since));
            before.is_none_or(|(before, _)| before != found)
        };
        if news && found.code == Some(404) {
            tracing::warn!(
                resource = self.resource,
                "This kind is not installed; waiting for its CustomResourceDefinition"
            );
        } else if news {
            tracing::warn!(resource = self.resource, problem = found.message, "Cannot watch; trying again");
        }
        news
    }

    /// Whether there was a problem.
    fn note_recovery(&self) -> bool {
        let recovered = lock(&self.problem).take().is_some();
        if recovered {
            tracing::info!(resource = self.resource, "Watching again");
        }
        recovered
    }
}

impl Problem {
    fn of(error: &watcher::Error) -> Self {
        use watcher::Error as E;
        let status = match error {
            E::InitialListFailed(kube::Error::Api(status))
            | E::WatchStartFailed(kube::Error::Api(status))
            | E::WatchFailed(kube::Error::Api(status))
            | E::WatchError(status) => Some(status),
            _ => None,
        };
        match status {
            Some(status) => Self { code: Some(status.code), message: status.message.clone() },
            None => Self { code: None, message: error.to_string() },
        }
    }
}

/// A running watch; dropping it ends it.
#[derive(Debug)]
pub struct Watch<T> {
    cache: Arc<Mutex<Cache<T>>>,
    progress: Arc<Progress>,
    task: JoinHandle<()>,
}

impl<T> Drop for Watch<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<T: Send + Sync + 'static> Watch<T> {
    /// Begins to watch what `api` makes of a client and `config` selects. `changed` is told of every change that matters.
    pub fn start<K>(
        client: &Client,
        api: impl FnOnce(Client) -> Api<K>,
        config: watcher::Config,
        keep: fn(K) -> Kept<T>,
        progress: Arc<Progress>,
        changed: Arc<Notify>,
    ) -> Self
    where
        K: kube::Resource + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
    {
        let cache = Arc::new(Mutex::new(Cache::default()));
        let api = api(noting(client, Arc::clone(&progress), Arc::clone(&changed)));
        let task =
            tokio::spawn(follow(api, config, keep, Arc::clone(&cache), Arc::clone(&progress), changed));
        Self { cache, progress, task }
    }

    /// What is known now.
    pub fn cache(&self) -> MutexGuard<'_, Cache<T>> {
        lock(&self.cache)
    }

    /// Whether it lives.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }
}

async fn follow<K, T>(
    api: Api<K>,
    config: watcher::Config,
    keep: fn(K) -> Kept<T>,
    cache: Arc<Mutex<Cache<T>>>,
    progress: Arc<Progress>,
    changed: Arc<Notify>,
) where
    K: kube::Resource + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let mut events = std::pin::pin!(watcher(api, config.timeout(LENGTH)).default_backoff());
    while let Some(event) = events.next().await {
        let matters = match event {
            Ok(event) => lock(&cache).observe(convert(event, keep)),
            Err(error) => progress.note_problem(&error),
        };
        if matters {
            changed.notify_one();
        }
    }
}

fn convert<K, T>(event: watcher::Event<K>, keep: fn(K) -> Kept<T>) -> watcher::Event<Kept<T>> {
    match event {
        watcher::Event::Apply(object) => watcher::Event::Apply(keep(object)),
        watcher::Event::Delete(object) => watcher::Event::Delete(keep(object)),
        watcher::Event::Init => watcher::Event::Init,
        watcher::Event::InitApply(object) => watcher::Event::InitApply(keep(object)),
        watcher::Event::InitDone => watcher::Event::InitDone,
    }
}

/// `client`, with each answer noted and the wait for it bounded. A problem is over when a watch begins: a list may succeed where a watch
/// is refused.
fn noting(client: &Client, progress: Arc<Progress>, changed: Arc<Notify>) -> Client {
    let namespace = client.default_namespace().to_owned();
    let client = client.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, progress, changed) = (client.clone(), Arc::clone(&progress), Arc::clone(&changed));
        async move {
            let watches =
                request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair == "watch=true"));
            let response = timeout(ANSWER, client.send(request)).await??;
            let success = response.status().is_success();
            progress.note_answer(success);
            if success && watches && progress.note_recovery() {
                changed.notify_one();
            }
            Ok::<_, BoxError>(response)
        }
    });
    Client::new(service, namespace)
}

/// A lock whose holder panicked protects plain data that is replaced as a whole; it is still good.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
