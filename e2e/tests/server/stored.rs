//! Attacks with objects that are stored before the operator starts: anyone who may create pods, or who
//! administers a queue, controls how large they are.

use std::net::TcpListener;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, PostParams};
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::LONG;
use queuewarden_e2e::{Kind, Operator, TestCluster, eventually};
use serde_json::{Value, json};

use super::attacks::{Confined, peak, review};
use super::{client, prepared};
use crate::operator::configure;

/// Maximum memory of the process until it has read everything, in KiB.
const MEMORY: u64 = 180 * 1024;
/// Number of concurrent requests of the attacker.
const AT_ONCE: usize = 8;
/// Writers of delegated objects, each with the maximum number and size of objects.
const WRITERS: usize = 10;
const OF_ONE: usize = 200;
const BYTES_OF_ONE: usize = 128 * 1024;

/// Creates pods that wait for a gate, so that they need no resources. Each has 1.3 MB in one way or another.
async fn create_pods(cluster: &TestCluster, count: usize) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(cluster.client()?, NAMESPACE);
    let create = |number: usize| {
        let pods = pods.clone();
        async move {
            let mut pod = json!({
                "metadata": {"name": format!("large-{number:03}"), "labels": {"applicationId": format!("large-{number:03}")},
                    "annotations": {"yunikorn.apache.org/user.info": r#"{"user":"mallory"}"#}},
                "spec": {"schedulerName": "yunikorn", "schedulingGates": [{"name": "example.com/wait"}],
                    "containers": [{"name": "main", "image": "none"}]},
            });
            let container = pod.pointer_mut("/spec/containers/0").context("no container")?;
            container["args"] = match number % 4 {
                // One text, one text that is six times as long in JSON, and many texts.
                0 | 1 => json!(["x".repeat(1_300_000)]),
                2 => json!(["<".repeat(480_000)]),
                _ => json!(vec![""; 600_000]),
            };
            pods.create(&PostParams::default(), &serde_json::from_value(pod)?).await?;
            anyhow::Ok(())
        }
    };
    futures::stream::iter((0..count).map(create)).buffer_unordered(AT_ONCE).try_collect().await
}

/// Creates the objects of delegates at their limits, and some with annotations of the maximum size that an
/// API server accepts.
async fn create_delegated(cluster: &TestCluster, writers: usize) -> Result<()> {
    let objects = cluster.objects(Kind::QueueAcl)?;
    let create = |number: usize| {
        let objects = objects.clone();
        async move {
            let object = delegated(number);
            objects.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
            anyhow::Ok(())
        }
    };
    futures::stream::iter((0..writers * OF_ONE).map(create)).buffer_unordered(AT_ONCE).try_collect().await
}

/// Returns an object of its share of the bytes, with names as short as possible, in force or not.
fn delegated(number: usize) -> Value {
    let writer = format!("w{}", number / OF_ONE);
    let from = if number.is_multiple_of(2) { json!("2099-01-01T00:00:00Z") } else { Value::Null };
    let annotations = if number.is_multiple_of(10) {
        json!({"queuewarden.dev/log-level": "x".repeat(250_000)})
    } else {
        json!({})
    };
    // Each takes five bytes.
    let names: Vec<_> = (0..(BYTES_OF_ONE / OF_ONE - 180) / 5).map(|name| format!("{name:02x}")).collect();
    json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl",
        "metadata": {"name": format!("delegated-{number:04}"), "annotations": annotations},
        "spec": {"queue": "root.test", "baseAcl": "Extend", "delegatedBy": {"user": writer}, "submit": {"users": names},
            "notBefore": from}})
}

/// Starts the operator with the stored objects, and returns its peak memory when it has read the pods, in
/// KiB.
async fn started(cluster: &TestCluster, last_pod: Option<usize>) -> Result<u64> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    let _keeper = cluster.start_keeper(&[], &[]).await?;
    let args = ["--https", &address, "--endpoints=user-info", "--log-level=error", "--applications=on"];
    let operator =
        Operator::launch(cluster, if last_pod.is_some() { &args } else { &args[..4] }, &[]).await?;
    let _confined = Confined::new(&operator)?;
    let since = Instant::now();
    eventually("the operator to be ready", LONG, || async {
        peak(&operator)?;
        Ok(operator.get("/readyz").await.ok())
    })
    .await?;
    println!("ready after {:.1?}", since.elapsed());
    if let Some(last) = last_pod {
        let authority = cluster.tls_secret().await?.remove("ca.crt").context("there is no authority")?;
        let client = client(&authority)?;
        let labels = json!({"applicationId": format!("large-{last:03}")});
        let pod = json!({"metadata": {"name": "p", "labels": labels}, "spec": {"schedulerName": "yunikorn"}});
        let url = format!("https://{address}/user-info");
        eventually("the pods to be known", LONG, || async {
            peak(&operator)?;
            let body = review(("", "Pod"), "jobs", &pod);
            let answer =
                client.post(&url).header("content-type", "application/json").body(body).send().await?;
            let text = answer.text().await?;
            Ok(text.contains("another namespace").then_some(()))
        })
        .await?;
    }
    let most = peak(&operator)?;
    operator.kill().await?;
    Ok(most)
}

async fn beside(pods: usize, writers: usize) -> Result<()> {
    TestCluster::with(async |cluster| {
        if !prepared(cluster).await? {
            return Ok(());
        }
        cluster.install().await?;
        let administrators: Vec<_> = (0..WRITERS).map(|writer| format!("w{writer}")).collect();
        let base = format!(
            "partitions: [{{name: default, queues: [{{name: root, queues: [{{name: test, adminacl: '{}'}}]}}]}}]\n",
            administrators.join(",")
        );
        cluster.set_base(&base).await?;
        configure(cluster, "  delegation: Enabled\n").await?;
        cluster.apply_kustomization("manifests/applications").await?;
        let policy = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "AdmissionPolicy", "metadata": {"name": "default"},
            "spec": {"userInfo": {"mode": "Enforce", "profile": "strict"}}});
        cluster.apply_text(&policy.to_string(), "e2e").await?;
        let mut wrong = Vec::new();
        create_delegated(cluster, writers).await?;
        let mut note = |name: &str, most: Result<u64>| match most {
            Ok(most) => {
                println!("beside {name}: memory {} MiB of 256", most / 1024);
                if most > MEMORY {
                    wrong.push(format!("{name}: {} MiB", most / 1024));
                }
            }
            Err(error) => wrong.push(format!("{name}: {error:#}")),
        };
        note(&format!("{} delegated objects", writers * OF_ONE), started(cluster, None).await);
        create_pods(cluster, pods).await?;
        note(&format!("those and {pods} pods of 1.3 MB"), started(cluster, Some(pods - 1)).await);
        ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_short() -> Result<()> {
    beside(100, 1).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "gigabytes in etcd; `just attacks`"]
async fn all_of_them() -> Result<()> {
    beside(300, WRITERS).await
}
