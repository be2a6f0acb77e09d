//! Requests of clients during disruptions of queuewarden.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, Patch, PatchParams, PostParams};
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::{Kind, TestCluster};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::{REQUEST, pod};

/// A client that repeatedly writes a QueueAcl, which goes through the validating webhook, and creates a pod
/// as a dry run, which goes through every webhook for pods.
pub(super) struct Load {
    ends: Arc<AtomicBool>,
    client: JoinHandle<(usize, usize, Vec<String>)>,
}

impl Load {
    /// Starts it. The QueueAcl has the name of this queue.
    pub(super) fn start(cluster: &TestCluster, queue: &str) -> Result<Self> {
        let ends = Arc::new(AtomicBool::new(false));
        let acls = cluster.objects(Kind::QueueAcl)?;
        let pods: Api<Pod> = Api::namespaced(cluster.as_user("alice", &[])?, NAMESPACE);
        let (queue, end) = (queue.to_owned(), Arc::clone(&ends));
        let application: Pod = serde_json::from_value(pod(&queue, "load", true))?;
        let dry = PostParams { dry_run: true, field_manager: None };
        let client = tokio::spawn(async move {
            let begin = Instant::now();
            let (mut requests, mut last, mut failures) = (0, 0, Vec::new());
            while !end.load(Ordering::Relaxed) {
                let acl = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl",
                    "metadata": {"name": queue},
                    "spec": {"queue": format!("root.{queue}"), "submit": {"users": [format!("user{requests}")]}}});
                let apply = PatchParams::apply("load").force();
                let written = timeout(REQUEST, acls.patch(&queue, &apply, &Patch::Apply(&acl))).await;
                if note(&mut failures, begin, "QueueAcl", written.map(|written| written.map(drop))) {
                    last = requests;
                }
                let made = timeout(REQUEST, pods.create(&dry, &application)).await;
                note(&mut failures, begin, "pod", made.map(|made| made.map(drop)));
                requests += 2;
                sleep(Duration::from_millis(200)).await;
            }
            (requests, last, failures)
        });
        Ok(Self { ends, client })
    }

    /// Ends it; fails if one of its requests has failed. Returns the user of the last stored grant.
    pub(super) async fn without_failure(self) -> Result<String> {
        self.with_failures(0).await
    }

    /// Ends it; fails if more than this many of its requests have failed. Returns the user of the last stored
    /// grant.
    pub(super) async fn with_failures(self, allowed: usize) -> Result<String> {
        self.ends.store(true, Ordering::Relaxed);
        let (requests, last, failures) = self.client.await.context("the load ended early")?;
        println!("{} of {requests} requests failed: {failures:#?}", failures.len());
        ensure!(failures.len() <= allowed, "{} of {requests} requests failed: {failures:#?}", failures.len());
        ensure!(requests >= 10, "only {requests} requests");
        Ok(format!("user{last}"))
    }
}

/// Returns whether the request has succeeded.
fn note(
    failures: &mut Vec<String>,
    begin: Instant,
    what: &str,
    outcome: std::result::Result<kube::Result<()>, tokio::time::error::Elapsed>,
) -> bool {
    let error = match outcome {
        Ok(Ok(())) => return true,
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {REQUEST:?}"),
    };
    failures.push(format!("{:.1} s: {what}: {error}", begin.elapsed().as_secs_f32()));
    false
}
