//! Records the history of the output in a separate task, so that a write never waits for it or fails because
//! of it.
//!
//! A revision that cannot be recorded waits in memory and is retried at most every 30 s. Only the reason of
//! the last write can be lost with the process: the next process finds a text without a revision, and records
//! it as found.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::ControllerRevision;
use kube::api::{DeleteParams, ListParams, Preconditions};
use kube::runtime::watcher::DefaultBackoff;
use kube::{Api, Client};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::apply;
use super::health::Health;
use queuewarden_api::history;
use queuewarden_client::call::{CallError, WRITE, call, call_within};
use queuewarden_client::objects::post_params;
use queuewarden_plan::Plan;
use queuewarden_plan::history::{HistoryChanges, MAX_REVISIONS, Revision, changes};
use queuewarden_plan::snapshot::{Snapshot, WriteFailure};
use yunikorn::config::checksum;

/// Maximum number of revisions that wait to be recorded, with at most 1 MiB each.
const CAPACITY: usize = 16;
/// Maximum number of revisions that are listed. There are only more if others create them.
const MAX_LISTED: u32 = 500;

/// The queue of revisions to record. When this is dropped, the task tries to record the remaining ones once
/// more, and ends.
#[derive(Debug)]
pub struct History {
    queue: mpsc::Sender<(String, Revision)>,
    /// The checksum of the text that was queued last.
    last: Option<String>,
    health: Arc<Health>,
    /// Ends the task's waits when it is dropped.
    _end: watch::Sender<()>,
}

impl History {
    /// Starts to record.
    pub fn start(client: Client, health: Arc<Health>) -> (Self, JoinHandle<()>) {
        let (queue, mut waiting) = mpsc::channel::<(String, Revision)>(CAPACITY);
        let (end, ended) = watch::channel(());
        let mut task = Task { client, health: Arc::clone(&health), ended, failure: None };
        let recording = tokio::spawn(async move {
            while let Some((namespace, revision)) = waiting.recv().await {
                task.record(&namespace, revision).await;
            }
        });
        (Self { queue, last: None, health, _end: end }, recording)
    }

    /// Queues the revision of a write. If the queue is full the revision is lost, and the newest text will be
    /// found again.
    pub fn record(&mut self, namespace: &str, revision: Revision) {
        let (number, checksum) = (revision.number, checksum(&revision.text));
        let is_queued = self.queue.try_send((namespace.to_owned(), revision)).is_ok();
        self.last = is_queued.then_some(checksum);
        if !is_queued {
            lost(&self.health, number, "too many others wait to be recorded");
        }
    }

    /// Queues the text in the output, unless it was queued last. It was then written by another process, or
    /// by this one before it was stopped.
    pub fn find(&mut self, namespace: &str, snapshot: &Snapshot, plan: &Plan) {
        let checksum = plan.config.as_ref().and_then(|config| config.rest.config_hash.as_ref());
        if checksum.is_none() || self.last.as_ref() == checksum || self.queue.capacity() == 0 {
            return;
        }
        if let Some(revision) = Revision::found(snapshot, plan) {
            self.record(namespace, revision);
        }
    }
}

/// The task that records.
struct Task {
    client: Client,
    health: Arc<Health>,
    ended: watch::Receiver<()>,
    /// The failure that was logged last.
    failure: Option<WriteFailure>,
}

impl Task {
    /// Records a revision, retrying until it succeeds, is permanently refused, or the process ends.
    async fn record(&mut self, namespace: &str, revision: Revision) {
        let number = revision.number;
        let packed = tokio::task::spawn_blocking(move || history::pack(&revision)).await;
        let (object, bytes) = match packed.map_err(|error| error.to_string()).flatten() {
            Ok(packed) => packed,
            Err(why) => return lost(&self.health, number, &why),
        };
        let mut backoff = DefaultBackoff::default();
        loop {
            let failure = match self.store(namespace, &object, bytes).await {
                Ok(()) => break,
                Err(failure) => failure,
            };
            self.health.metrics.recorded("error");
            if let WriteFailure::Rejected(why) = &failure {
                return lost(&self.health, number, why);
            }
            self.log(namespace, number, failure);
            let Some(wait) = backoff.next() else { break };
            tokio::select! {
                () = sleep(wait) => {}
                _ = self.ended.changed() => {
                    return lost(&self.health, number, "the process ends; the next one records the text as found");
                }
            }
        }
        self.failure = None;
        self.health.metrics.recorded("recorded");
        tracing::debug!(namespace, number, "Recorded a revision");
    }

    /// Removes old revisions, and creates the object unless it exists.
    async fn store(
        &self,
        namespace: &str,
        object: &ControllerRevision,
        bytes: usize,
    ) -> Result<(), WriteFailure> {
        let api: Api<ControllerRevision> = Api::namespaced(self.client.clone(), namespace);
        let params = ListParams::default().labels(history::LABEL).limit(MAX_LISTED);
        let failed = |error: &CallError| apply::failure(error);
        let list = call(api.list_metadata(&params)).await.map_err(|error| failed(&error))?;
        if list.metadata.continue_.is_some_and(|token| !token.is_empty()) {
            return Err(WriteFailure::Transient(format!(
                "there are more than {MAX_LISTED} ControllerRevisions with the label {}, and queuewarden makes \
                 no more than {MAX_REVISIONS}: remove those of others",
                history::LABEL
            )));
        }
        let stored = list.items.iter().map(|object| history::stored(&object.metadata)).collect();
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let HistoryChanges { remove, create } = changes(stored, name, bytes);
        for old in remove {
            let uid = Some(old.uid).filter(|uid| !uid.is_empty());
            let preconditions = Some(Preconditions { uid, resource_version: None });
            let params = DeleteParams { preconditions, ..DeleteParams::default() };
            match call(api.delete(&old.name, &params)).await {
                Ok(_) => {}
                // It was deleted, or replaced by another object of the same name.
                Err(error) if error.is_not_found() || error.is_conflict() => {}
                Err(error) => return Err(failed(&error)),
            }
        }
        if !create {
            return Ok(());
        }
        match call_within(WRITE, api.create(&post_params(), object)).await {
            Ok(_) => Ok(()),
            // Another replica was faster, or a response was lost.
            Err(error) if error.is_conflict() => Ok(()),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Logs a failure once rather than for each attempt.
    fn log(&mut self, namespace: &str, number: u64, failure: WriteFailure) {
        if self.failure.as_ref() == Some(&failure) {
            return;
        }
        match &failure {
            WriteFailure::Forbidden(message) => tracing::warn!(
                namespace,
                number,
                message,
                "The history cannot be recorded: allow list, create and delete of controllerrevisions in the Role \
                 of this namespace, as manifests/rbac.yaml does. Trying again"
            ),
            WriteFailure::Transient(message) | WriteFailure::Rejected(message) => {
                tracing::warn!(namespace, number, message, "Could not record a revision; trying again");
            }
        }
        self.failure = Some(failure);
    }
}

/// Logs and counts a revision that will not be recorded.
fn lost(health: &Health, number: u64, why: &str) {
    health.metrics.recorded("lost");
    tracing::warn!(number, why, "A revision is not in the history");
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use axum::body::Body;
    use axum::http::{Method, Request, Response};
    use jiff::Timestamp;
    use serde_json::{Value, json};

    use super::*;
    use crate::controller::lock;
    use crate::controller::testing::{client, not_found, reply};

    fn revision(number: u64) -> Revision {
        Revision {
            number,
            at: Timestamp::UNIX_EPOCH,
            causes: Vec::new(),
            access: None,
            admission: std::collections::BTreeMap::new(),
            text: format!("# Generated by queuewarden x\n# revision: {number}\n"),
        }
    }

    /// The objects of a fake API server, by name, and its answer to the next requests if they fail.
    #[derive(Default)]
    struct Server {
        names: Vec<String>,
        refuses: Option<u16>,
    }

    async fn answer(server: Arc<Mutex<Server>>, request: Request<kube::client::Body>) -> Response<Body> {
        let (method, last) = (request.method().clone(), request.uri().path().to_owned());
        let body = request.into_body().collect_bytes().await.unwrap();
        let mut server = lock(&server);
        if let Some(code) = server.refuses {
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": "no"});
            return reply(code, &status);
        }
        let object = |name: &str, number: usize| {
            let created = Timestamp::from_second(i64::try_from(number).unwrap()).unwrap().to_string();
            json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
                   "metadata": {"name": name, "uid": name, "creationTimestamp": created}})
        };
        match method {
            Method::GET => {
                let items: Vec<Value> =
                    server.names.iter().enumerate().map(|(number, name)| object(name, number)).collect();
                reply(
                    200,
                    &json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList",
                                   "metadata": {"resourceVersion": "1"}, "items": items}),
                )
            }
            Method::POST => {
                let made: Value = serde_json::from_slice(&body).unwrap();
                server.names.push(made["metadata"]["name"].as_str().unwrap().to_owned());
                reply(201, &made)
            }
            Method::DELETE => {
                let name = last.rsplit('/').next().unwrap().to_owned();
                server.names.retain(|other| *other != name);
                reply(200, &json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}))
            }
            _ => not_found(),
        }
    }

    fn start() -> (Arc<Mutex<Server>>, History, JoinHandle<()>, Arc<Health>) {
        let server = Arc::new(Mutex::new(Server::default()));
        let (behind, health) = (Arc::clone(&server), Arc::new(Health::default()));
        let client = client(move |request| answer(Arc::clone(&behind), request));
        let (history, task) = History::start(client, Arc::clone(&health));
        (server, history, task, health)
    }

    fn count(health: &Health, result: &str) -> u32 {
        let name = format!("queuewarden_history_record_total{{result=\"{result}\"}} ");
        let text = health.text();
        text.lines().find_map(|line| line.strip_prefix(&name)).map_or(0, |value| value.parse().unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn revisions_are_recorded_within_the_bound_and_each_once() {
        let (server, mut history, task, health) = start();
        for number in 0..=u64::try_from(MAX_REVISIONS).unwrap() {
            while history.queue.capacity() == 0 {
                tokio::task::yield_now().await;
            }
            history.record("yunikorn", revision(number));
        }
        drop(history);
        task.await.unwrap();
        let names = lock(&server).names.clone();
        assert_eq!((names.len(), names.first()), (MAX_REVISIONS, Some(&revision(1).name())));
        assert_eq!((count(&health, "recorded"), count(&health, "error")), (101, 0));
    }

    async fn until_counted(health: &Health, result: &str, times: u32) {
        while count(health, result) < times {
            tokio::task::yield_now().await;
            tokio::time::advance(std::time::Duration::from_millis(100)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_revision_waits_longer_and_longer_until_it_is_allowed() {
        let (server, mut history, _task, health) = start();
        lock(&server).refuses = Some(403);
        history.record("yunikorn", revision(1));
        let begin = tokio::time::Instant::now();
        until_counted(&health, "error", 10).await;
        assert!(begin.elapsed().as_secs() > 60, "{:?}", begin.elapsed());
        lock(&server).refuses = None;
        until_counted(&health, "recorded", 1).await;
        assert_eq!(lock(&server).names, [revision(1).name()]);
    }

    #[tokio::test(start_paused = true)]
    async fn revisions_that_wait_do_not_delay_the_end() {
        let (server, mut history, task, health) = start();
        lock(&server).refuses = Some(403);
        (1..=3).for_each(|number| history.record("yunikorn", revision(number)));
        until_counted(&health, "error", 5).await;
        let begin = tokio::time::Instant::now();
        drop(history);
        task.await.unwrap();
        assert!(begin.elapsed().as_millis() < 100, "{:?}", begin.elapsed());
        assert_eq!((count(&health, "recorded"), count(&health, "lost")), (0, 3));
    }

    #[tokio::test(start_paused = true)]
    async fn a_revision_that_is_refused_for_good_does_not_delay_the_next() {
        let (server, mut history, task, health) = start();
        lock(&server).refuses = Some(422);
        history.record("yunikorn", revision(1));
        until_counted(&health, "lost", 1).await;
        lock(&server).refuses = None;
        history.record("yunikorn", revision(2));
        drop(history);
        task.await.unwrap();
        assert_eq!(lock(&server).names, [revision(2).name()]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_finds_no_room_is_counted_and_the_newest_is_found_later() {
        let (server, mut history, _task, health) = start();
        lock(&server).refuses = Some(500);
        for number in 0..=u64::try_from(CAPACITY).unwrap() {
            history.record("yunikorn", revision(number));
        }
        assert_eq!(count(&health, "lost"), 1);
        let newest = checksum(&revision(u64::try_from(CAPACITY).unwrap()).text);
        assert_ne!(history.last, Some(newest), "it is not taken for recorded");
    }
}
