//! Tests gangs: the placeholders that the scheduler creates for them while users cannot join the applications
//! of others, without and with `YuniKorn`'s own admission controller.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::yunikorn::SCHEDULER;
use queuewarden_e2e::{TestCluster, eventually};
use serde_json::{Value, json};

use super::{ask, claim, create, guard_with, kubectl, merged, nobody_asked, pod, refused, said, strict};

/// The annotation of a placeholder (k8shim 1.8 `constants.go:85`).
const PLACEHOLDER: &str = "internal.yunikorn.apache.org/placeholder";
const WATCHED: [&str; 1] = ["--applications=on"];

/// Returns the policy that lets the scheduler's account write names.
fn with_scheduler() -> Value {
    merged(strict(), &json!({"externalUsers": [format!("^{SCHEDULER}$")]}))
}

/// Returns a pod of a gang of one driver and two workers, with this style.
fn of_gang(name: &str, application: &str, group: &str, style: &str) -> Value {
    let size = json!({"cpu": "10m", "memory": "10Mi"});
    let groups = json!([
        {"name": "driver", "minMember": 1, "minResource": size},
        {"name": "workers", "minMember": 2, "minResource": size},
    ]);
    let annotations = json!({
        "yunikorn.apache.org/task-group-name": group,
        "yunikorn.apache.org/task-groups": groups.to_string(),
        "yunikorn.apache.org/schedulingPolicyParameters":
            format!("placeholderTimeoutInSeconds=120 gangSchedulingStyle={style}"),
    });
    let labels = json!({"metadata": {"labels": {"applicationId": application}}, "spec": {"schedulerName": "yunikorn"}});
    merged(pod(name, NAMESPACE, &annotations), &labels)
}

fn is_placeholder(pod: &Pod) -> bool {
    pod.annotations().get(PLACEHOLDER).is_some_and(|flag| flag == "true")
}

fn is_bound(pod: &Pod) -> bool {
    pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some())
}

/// Runs a gang of alice's from its placeholders to its pods.
async fn runs(cluster: &TestCluster, style: &str) -> Result<()> {
    let application = format!("gang-{}", style.to_lowercase());
    let pods: Api<Pod> = Api::namespaced(cluster.client()?, NAMESPACE);
    let of_it = ListParams::default().labels(&format!("yunikorn.apache.org/app-id={application}"));
    create(cluster, "alice", &of_gang("driver", &application, "driver", style)).await?;
    let workers = eventually("placeholders for the workers", PATIENCE, || async {
        let all = pods.list(&of_it).await?.items;
        let workers: Vec<Pod> = all.into_iter().filter(|pod| is_placeholder(pod) && is_bound(pod)).collect();
        let held = workers
            .iter()
            .filter(|pod| pod.annotations()["yunikorn.apache.org/task-group-name"] == "workers");
        Ok((held.count() == 2).then_some(workers))
    })
    .await?;
    for placeholder in &workers {
        let submitter = said(placeholder.annotations())?.context("nobody is named")?;
        ensure!(
            submitter.user == "alice" && submitter.groups.contains(&"people".to_owned()),
            "{submitter:?}"
        );
    }
    for name in ["worker-1", "worker-2"] {
        create(cluster, "alice", &of_gang(name, &application, "workers", style)).await?;
    }
    eventually("the pods to take the places of the placeholders", LONG, || async {
        for name in ["driver", "worker-1", "worker-2"] {
            ensure!(is_bound(&pods.get(name).await?), "{name} waits");
        }
        let left = pods.list(&of_it).await?.items.iter().filter(|pod| is_placeholder(pod)).count();
        ensure!(left == 0, "{left} placeholders are left");
        Ok(Some(()))
    })
    .await
}

/// Checks which pods are treated as placeholders of alice's running gang.
async fn only_placeholders_of_the_scheduler_join(cluster: &TestCluster, application: &str) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(cluster.client()?, NAMESPACE);
    let driver = pods.get("driver").await?;
    let owner = |uid: &str| json!([{"apiVersion": "v1", "kind": "Pod", "name": "driver", "uid": uid, "controller": false}]);
    let uid = driver.uid().context("the driver has no UID")?;
    let placeholder = |annotations: Value, owners: Value, namespace: &str| {
        let metadata = json!({"namespace": namespace, "labels": {"applicationId": application},
            "annotations": annotations, "ownerReferences": owners});
        let more = json!({"metadata": metadata, "spec": {"schedulerName": "yunikorn"}});
        merged(pod("tg-made-up", namespace, &json!({})), &more)
    };
    let flag = json!({PLACEHOLDER: "true"});
    let own = driver.annotations()["yunikorn.apache.org/user.info"].clone();
    let alices = json!({PLACEHOLDER: "true", "yunikorn.apache.org/user.info": own});
    let bosses = merged(flag.clone(), &claim("boss"));
    let dry = ["create", "--dry-run=server"];
    for annotations in [&flag, &alices] {
        kubectl(cluster, SCHEDULER, &dry, &placeholder(annotations.clone(), owner(&uid), NAMESPACE)).await?;
    }
    let own_pod = merged(
        placeholder(flag.clone(), owner(&uid), NAMESPACE),
        &json!({"metadata": {"annotations": {PLACEHOLDER: null}}}),
    );
    for (user, object) in [
        (SCHEDULER, placeholder(bosses, owner(&uid), NAMESPACE)),
        (SCHEDULER, placeholder(flag.clone(), owner("another"), NAMESPACE)),
        (SCHEDULER, placeholder(flag.clone(), json!([]), NAMESPACE)),
        (SCHEDULER, placeholder(flag.clone(), owner(&uid), "queuewarden-e2e-no-label")),
        (SCHEDULER, own_pod),
        ("mallory", placeholder(flag, owner(&uid), NAMESPACE)),
    ] {
        let answer = kubectl(cluster, user, &dry, &object).await;
        refused(answer, &["user-info.queuewarden.dev"]).with_context(|| format!("{user}: {object}"))?;
    }
    Ok(())
}

#[tokio::test]
async fn soft_gang_gets_its_placeholders_only() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        cluster.apply_kustomization("manifests/applications").await?;
        let (_operator, endpoints) = guard_with(cluster, &with_scheduler(), &WATCHED).await?;
        ask(cluster, "user-info", &endpoints).await?;
        runs(cluster, "Soft").await?;
        only_placeholders_of_the_scheduler_join(cluster, "gang-soft").await
    })
    .await
}

#[tokio::test]
async fn hard_gang_gets_its_placeholders_with_yunikorns_controller() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        cluster.start_admission_controller().await?;
        cluster.apply_kustomization("manifests/applications").await?;
        let policy = merged(with_scheduler(), &json!({"submission": "Deny"}));
        let (_operator, endpoints) = guard_with(cluster, &policy, &WATCHED).await?;
        ask(cluster, "user-info", &endpoints).await?;
        cluster.install_webhooks("submission", &endpoints, |_| ()).await?;
        runs(cluster, "Hard").await
    })
    .await
}
