//! Measures the cost of the user-info webhook for the creator of a pod; fails only when a pod is not named as
//! it should be.
//!
//! ```text
//! cargo build --release && QUEUEWARDEN_E2E_OPERATOR=$PWD/target/release/queuewarden \
//!     cargo test -p queuewarden-e2e --test e2e user_info::time -- --ignored --nocapture
//! ```
//!
//! Two cores with a load of 10, a debug build: `kubectl create` takes 162 ms without a webhook and 165 ms
//! with the user-info webhook; a client that keeps its connection takes 2.5 to 5 ms and 11 ms; with
//! YuniKorn's controller instead 12 ms, with both 24 ms (medians).

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, PostParams};
use queuewarden_e2e::TestCluster;
use queuewarden_e2e::test_cluster::NAMESPACE;
use serde_json::json;

use super::{ask, create, guard, nobody_asked, pod, said, strict};

/// Pods by `kubectl create`.
const BY_KUBECTL: usize = 40;
/// Pods by a client that keeps its connection.
const BY_CLIENT: usize = 400;

/// The latencies of one setup.
struct Row {
    name: &'static str,
    kubectl: Vec<Duration>,
    client: Vec<Duration>,
}

fn at(latencies: &mut [Duration], percent: usize) -> Duration {
    latencies.sort_unstable();
    let place = latencies.len().saturating_sub(1) * percent / 100;
    latencies.get(place).copied().unwrap_or_default()
}

/// Creates pods in both ways; `named` is true if they must name their user.
async fn measure(cluster: &TestCluster, name: &'static str, named: bool) -> Result<Row> {
    let mut row = Row { name, kubectl: Vec::new(), client: Vec::new() };
    for count in 0..BY_KUBECTL {
        let pod = pod(&format!("{name}-kubectl-{count}"), NAMESPACE, &json!({}));
        let begin = Instant::now();
        create(cluster, "alice", &pod).await?;
        row.kubectl.push(begin.elapsed());
    }
    let pods: Api<Pod> = Api::namespaced(cluster.as_user("alice", &["people"])?, NAMESPACE);
    for count in 0..BY_CLIENT {
        let pod = serde_json::from_value(pod(&format!("{name}-client-{count}"), NAMESPACE, &json!({})))?;
        let begin = Instant::now();
        let stored = pods.create(&PostParams::default(), &pod).await?;
        row.client.push(begin.elapsed());
        let annotations = stored.metadata.annotations.unwrap_or_default();
        ensure!(said(&annotations)?.is_some() == named, "{name}: {annotations:?}");
    }
    Ok(row)
}

#[tokio::test]
#[ignore = "a measurement of a minute, for a release build"]
async fn pod_creation_with_and_without_the_webhook() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        let mut rows = vec![measure(cluster, "neither", false).await?];
        let (_operator, endpoints) = guard(cluster, &strict()).await?;
        ask(cluster, "user-info", &endpoints).await?;
        rows.push(measure(cluster, "guard", true).await?);
        cluster.start_admission_controller().await?;
        rows.push(measure(cluster, "both", true).await?);
        cluster.remove_webhooks().await?;
        rows.push(measure(cluster, "yunikorn", true).await?);
        cluster.stop_admission_controller().await?;
        rows.push(measure(cluster, "neither-again", false).await?);
        println!("{:<14} {:>12} {:>12} {:>12} {:>12}", "asked", "kubectl p50", "p90", "client p50", "p99");
        for Row { name, mut kubectl, mut client } in rows {
            let figures =
                [at(&mut kubectl, 50), at(&mut kubectl, 90), at(&mut client, 50), at(&mut client, 99)];
            let figures = figures.map(|figure| format!("{:>9.1} ms", figure.as_secs_f64() * 1000.0));
            println!("{name:<14} {}", figures.join(" "));
        }
        Ok(())
    })
    .await
}
