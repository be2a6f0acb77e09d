//! Floods the user-info webhook with large requests through the API server. No request gets past it: it
//! refuses requests that it cannot read in time, so that `failurePolicy` does not decide.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use futures::future::join_all;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::Error;
use kube::api::{Api, PostParams};
use queuewarden_e2e::TestCluster;
use queuewarden_e2e::test_cluster::NAMESPACE;
use serde_json::json;

use super::{ask, claim, controller, guard, merged, nobody_asked, pod, strict};

/// Requests at once.
const CROWD: usize = 40;
/// Number of characters that each take six bytes in JSON, as Go writes it.
const LARGE: usize = 450_000;
/// Attempts of one user to run a pod as another.
const ATTEMPTS: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_gets_past_the_webhook_in_a_crowd() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        let (_operator, endpoints) = guard(cluster, &strict()).await?;
        ask(cluster, "user-info", &endpoints).await?;
        let client = cluster.as_user("mallory", &["people"])?;
        let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
        let deployments: Api<Deployment> = Api::namespaced(client, NAMESPACE);
        let args = json!([{"name": "main", "image": "none", "args": ["<".repeat(LARGE)]}]);
        let large = merged(
            controller("Deployment", "crowd", &json!({})),
            &json!({"spec": {"template": {"spec": {"containers": args}}}}),
        );
        let large: Deployment = serde_json::from_value(large)?;
        let forged = merged(
            pod("forged", NAMESPACE, &claim("boss")),
            &json!({"metadata": {"annotations": {"padding": "x".repeat(230_000)}}}),
        );
        let forged: Pod = serde_json::from_value(forged)?;
        let (over, asked, refused) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
        let crowd = (0..CROWD).map(|_| async {
            let dry = PostParams { dry_run: true, ..PostParams::default() };
            while !over.load(Ordering::Relaxed) {
                let answer = deployments.create(&dry, &large).await;
                asked.fetch_add(1, Ordering::Relaxed);
                refused.fetch_add(usize::from(answer.is_err()), Ordering::Relaxed);
            }
        });
        let attempts = async {
            // The crowd is complete by then.
            while asked.load(Ordering::Relaxed) == 0 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            let mut slowest = Duration::ZERO;
            let mut answers = Vec::new();
            for _ in 0..ATTEMPTS {
                let begin = Instant::now();
                answers.push(pods.create(&PostParams::default(), &forged).await);
                slowest = slowest.max(begin.elapsed());
            }
            over.store(true, Ordering::Relaxed);
            (answers, slowest)
        };
        let ((answers, slowest), _) = tokio::join!(attempts, join_all(crowd));
        println!(
            "{} large requests, {} of them refused; {ATTEMPTS} attempts, the slowest {slowest:.1?}",
            asked.load(Ordering::Relaxed),
            refused.load(Ordering::Relaxed)
        );
        let mut by_webhook = 0;
        for answer in answers {
            let Err(Error::Api(status)) = &answer else {
                bail!("{:?}", answer.map(|pod| pod.metadata));
            };
            ensure!(status.code == 403, "{status:?}");
            by_webhook += usize::from(status.message.contains("user-info.queuewarden.dev"));
        }
        println!("{by_webhook} of {ATTEMPTS} refused by the webhook");
        // The refusals come from the webhook itself, not from the policy that stands in for it while it is
        // down. An overloaded API server may be too slow to call it at all.
        ensure!(by_webhook >= ATTEMPTS * 3 / 4, "{by_webhook} of {ATTEMPTS} by the webhook");
        Ok(())
    })
    .await
}
