//! Tests applications of others: how the scheduler handles a pod that names one, and the users who are
//! refused; and executors, which a driver's pod creates with its own account.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::Api;
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{TestCluster, eventually};
use serde_json::{Value, json};

use super::aliases::pod_in;
use super::own_names::own;
use super::{
    UNLABELLED, application, ask, claim, controller, create, guard_with, kubectl, merged, nobody_asked, pod,
    refused, said, strict,
};

const WATCHED: [&str; 1] = ["--applications=on"];

/// Returns a pod of this application, which `YuniKorn` schedules.
fn member(name: &str, namespace: &str, application: &str, annotations: &Value) -> Value {
    let labels = json!({"applicationId": application});
    let more = json!({"metadata": {"labels": labels}, "spec": {"schedulerName": "yunikorn"}});
    merged(pod(name, namespace, annotations), &more)
}

/// Returns the number of pods that the scheduler has in an application.
async fn pods_of(cluster: &TestCluster, id: &str) -> Result<usize> {
    let active = cluster.yunikorn()?.get("/ws/v1/partition/default/applications/active").await?;
    let mut all = active.as_array().into_iter().flatten();
    let application = all.find(|application| application["applicationID"] == id);
    let count = |key: &str| application.and_then(|found| found[key].as_array()).map_or(0, Vec::len);
    Ok(count("allocations") + count("requests"))
}

#[tokio::test]
async fn nobody_joins_an_application_of_others() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        create(cluster, "boss", &member("first", NAMESPACE, "bosses", &claim("boss"))).await?;
        ensure!(application(cluster, "bosses").await?.user == "boss");
        // The gap: a pod in another namespace, of another user, is part of it.
        create(cluster, "mallory", &member("joins", UNLABELLED, "bosses", &claim("mallory"))).await?;
        eventually("the scheduler to take in the second pod", PATIENCE, || async {
            Ok((pods_of(cluster, "bosses").await? == 2).then_some(()))
        })
        .await?;
        ensure!(application(cluster, "bosses").await?.user == "boss");

        cluster.apply_kustomization("manifests/applications").await?;
        let (_operator, endpoints) = guard_with(cluster, &strict(), &WATCHED).await?;
        ask(cluster, "user-info", &endpoints).await?;
        let dry = ["create", "--dry-run=server"];
        for (namespace, whose) in
            [(UNLABELLED, "runs in another namespace"), (NAMESPACE, "another user runs")]
        {
            let pod = member("p", namespace, "bosses", &json!({}));
            let words = ["user-info.queuewarden.dev", "it names application `bosses`, which", whose];
            eventually("the pods to be known", PATIENCE, || async {
                Ok(refused(kubectl(cluster, "mallory", &dry, &pod).await, &words).ok())
            })
            .await?;
        }
        let label = json!({"spec": {"template": {"metadata": {"labels": {"applicationId": "bosses"}}}}});
        let template = merged(controller("Deployment", "d", &json!({})), &label);
        refused(
            kubectl(cluster, "mallory", &dry, &template).await,
            &["spec.template", "application `bosses`"],
        )?;
        // A later pod, even one of a ReplicaSet, belongs to its user.
        kubectl(cluster, "boss", &dry, &member("p", NAMESPACE, "bosses", &json!({}))).await?;
        kubectl(cluster, "boss", &dry, &template).await?;
        kubectl(cluster, "mallory", &dry, &member("p", NAMESPACE, "mallorys", &json!({}))).await?;
        // Without pods it is Completing for half a minute, and a new pod would make it run again.
        state_of(cluster, "bosses", "Running").await?;
        for (name, namespace) in [("first", NAMESPACE), ("joins", UNLABELLED)] {
            cluster.kubectl(&["delete", "pod", name, "-n", namespace, "--grace-period=0", "--force"]).await?;
        }
        state_of(cluster, "bosses", "Completing").await?;
        watched(cluster, "marker-1").await?;
        let pod = member("p", NAMESPACE, "bosses", &json!({}));
        refused(
            kubectl(cluster, "mallory", &dry, &pod).await,
            &["it names application `bosses`, which another user ran less than a minute ago"],
        )?;
        kubectl(cluster, "boss", &dry, &pod).await?;
        eventually("the application to be over", LONG, || async {
            Ok(kubectl(cluster, "mallory", &dry, &pod).await.is_ok().then_some(()))
        })
        .await
    })
    .await
}

/// Waits until the scheduler has an application in this state.
async fn state_of(cluster: &TestCluster, id: &str, state: &str) -> Result<()> {
    let rest = cluster.yunikorn()?;
    eventually(&format!("application {id} to be {state}"), PATIENCE, || async {
        let application = rest.get(&format!("/ws/v1/partition/default/application/{id}")).await?;
        let found = application.get("applicationState").and_then(Value::as_str);
        Ok((found == Some(state)).then_some(()))
    })
    .await
}

/// Waits until queuewarden has seen all existing pods, which is when it knows a pod that is created now.
async fn watched(cluster: &TestCluster, marker: &str) -> Result<()> {
    create(cluster, "boss", &member(marker, NAMESPACE, marker, &json!({}))).await?;
    let other = member("p", NAMESPACE, marker, &json!({}));
    eventually("queuewarden to see a pod", PATIENCE, || async {
        let answer = kubectl(cluster, "mallory", &["create", "--dry-run=server"], &other).await;
        Ok(refused(answer, &[marker]).ok())
    })
    .await
}

/// Moves a pod to another application. The policy and the webhooks that refuse this must not be in force.
async fn relabel(cluster: &TestCluster, user: &str, pod: &str, application: &str) -> Result<()> {
    let (label, who) = (format!("applicationId={application}"), format!("--as={user}"));
    let args = ["label", "pod", pod, &label, "--overwrite", "-n", NAMESPACE, &who, "--as-group=people"];
    eventually("the label to be written", PATIENCE, || async { cluster.kubectl(&args).await.map(Some) })
        .await
        .map(drop)
}

#[tokio::test]
async fn relabeled_pod_stays_in_its_application() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        cluster.apply_kustomization("manifests/applications").await?;
        let (_operator, endpoints) = guard_with(cluster, &strict(), &WATCHED).await?;
        ask(cluster, "user-info", &endpoints).await?;
        create(cluster, "mallory", &member("older", NAMESPACE, "mallorys", &json!({}))).await?;
        create(cluster, "boss", &member("first", NAMESPACE, "bosses", &json!({}))).await?;
        watched(cluster, "marker-1").await?;
        // The watch's memory is correct even without the rules that refuse such a change.
        let binding = ["delete", "validatingadmissionpolicybinding", "queuewarden-own-names"];
        cluster.kubectl(&binding).await?;
        cluster.remove_webhooks().await?;
        relabel(cluster, "mallory", "older", "bosses").await?;
        ask(cluster, "user-info", &endpoints).await?;
        watched(cluster, "marker-2").await?;
        let dry = ["create", "--dry-run=server"];
        let named = |application: &str| member("p", NAMESPACE, application, &json!({}));
        kubectl(cluster, "boss", &dry, &named("bosses")).await?;
        refused(kubectl(cluster, "mallory", &dry, &named("bosses")).await, &["application `bosses`"])?;
        kubectl(cluster, "mallory", &dry, &named("mallorys")).await?;
        refused(kubectl(cluster, "boss", &dry, &named("mallorys")).await, &["application `mallorys`"])?;
        // The scheduler has the pod in the application of its label.
        cluster.kubectl(&["delete", "pod", "first", "-n", NAMESPACE, "--grace-period=0", "--force"]).await?;
        watched(cluster, "marker-3").await?;
        kubectl(cluster, "boss", &dry, &named("bosses")).await?;
        refused(kubectl(cluster, "mallory", &dry, &named("bosses")).await, &["application `bosses`"])
    })
    .await
}

#[tokio::test]
async fn newly_started_operator_queries_the_scheduler_for_owners() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        cluster.apply_kustomization("manifests/applications").await?;
        create(cluster, "boss", &member("first", NAMESPACE, "bosses", &claim("boss"))).await?;
        ensure!(application(cluster, "bosses").await?.user == "boss");
        state_of(cluster, "bosses", "Running").await?;
        cluster.kubectl(&["delete", "pod", "first", "-n", NAMESPACE, "--grace-period=0", "--force"]).await?;
        state_of(cluster, "bosses", "Completing").await?;
        let (_operator, endpoints) = guard_with(cluster, &strict(), &WATCHED).await?;
        ask(cluster, "user-info", &endpoints).await?;
        let dry = ["create", "--dry-run=server"];
        let named = |application: &str| member("p", NAMESPACE, application, &json!({}));
        refused(kubectl(cluster, "mallory", &dry, &named("bosses")).await, &["application `bosses`"])?;
        kubectl(cluster, "boss", &dry, &named("bosses")).await?;
        kubectl(cluster, "mallory", &dry, &named("mallorys")).await?;
        // It is unknown whether a new one is free.
        cluster.scheduler()?.kill()?;
        refused(
            kubectl(cluster, "mallory", &dry, &named("unheard-of")).await,
            &["application `unheard-of`, and it is unknown whether another user runs it"],
        )?;
        let unnamed = json!({"metadata": {"labels": {"applicationId": null}}});
        let unnamed = merged(pod("p", NAMESPACE, &json!({})), &unnamed);
        kubectl(cluster, "mallory", &dry, &unnamed).await.map(drop)
    })
    .await
}

/// An account whose pods create pods, as Spark's drivers do.
pub(super) const SPARK: &str = "\
apiVersion: v1
kind: ServiceAccount
metadata: {name: spark, namespace: NAMESPACE}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: spark, namespace: NAMESPACE}
rules: [{apiGroups: [''], resources: [pods], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: spark, namespace: NAMESPACE}
subjects: [{kind: ServiceAccount, name: spark, namespace: NAMESPACE}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: spark}
";

/// Returns an executor of the driver with this UID.
pub(super) fn executor(name: &str, uid: &str, annotations: &Value) -> Value {
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "driver", "uid": uid, "controller": true});
    let metadata = json!({"metadata": {"ownerReferences": [owner]}});
    merged(member(name, NAMESPACE, "spark-1", annotations), &metadata)
}

#[tokio::test]
async fn a_driver_makes_executors_in_the_name_that_it_runs_in_and_in_no_other() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        cluster.apply_text(&SPARK.replace("NAMESPACE", NAMESPACE), "e2e").await?;
        cluster.apply_kustomization("manifests/applications").await?;
        let (operator, endpoints) = guard_with(cluster, &strict(), &WATCHED).await?;
        ask(cluster, "user-info", &endpoints).await?;
        let account = json!({"spec": {"serviceAccountName": "spark"}});
        create(cluster, "alice", &merged(member("driver", NAMESPACE, "spark-1", &json!({})), &account))
            .await?;
        let pods: Api<Pod> = Api::namespaced(cluster.client()?, NAMESPACE);
        let driver = pods.get("driver").await?;
        let uid = driver.uid().context("the driver has no UID")?;
        let named = json!(driver.annotations());
        let token = cluster.pod_kubeconfig(NAMESPACE, "spark", &driver).await?;
        let make = async |object: &Value| {
            cluster.kubectl_as(&token, &["create", "-f", "-"], &object.to_string()).await
        };

        eventually("the driver to be known", PATIENCE, || async {
            make(&executor("exec-1", &uid, &named)).await?;
            Ok(Some(()))
        })
        .await?;
        let submitter = said(pods.get("exec-1").await?.annotations())?.context("nobody is named")?;
        ensure!(submitter.user == "alice", "{submitter:?}");
        let whose = ["user-info.queuewarden.dev", "it names user `boss`"];
        refused(make(&executor("exec-2", &uid, &claim("boss"))).await, &whose)?;
        // An executor without a name runs as the account, and belongs to the driver nevertheless.
        make(&executor("exec-3", &uid, &json!({}))).await?;
        // The API server itself decides about pods that the driver does not own; the account alone identifies
        // no user.
        let not_owned = member("exec-4", NAMESPACE, "spark-1", &named).to_string();
        let dry = ["create", "--dry-run=server", "-f", "-"];
        eventually("the API server to decide by the policy", PATIENCE, || async {
            let answer = cluster.kubectl_as(&token, &dry, &not_owned).await;
            Ok(refused(answer, &["queuewarden-own-names"]).ok())
        })
        .await?;
        let account = cluster.sa_kubeconfig(NAMESPACE, "spark").await?;
        let stolen = executor("exec-5", &uid, &named).to_string();
        refused(
            cluster.kubectl_as(&account, &["create", "-f", "-"], &stolen).await,
            &["it names user `alice`"],
        )?;

        // While the driver's user cannot be determined, it creates no pods as any user; people create pods as
        // before.
        operator.kill().await?;
        for annotations in [&named, &claim("boss")] {
            let answer = make(&executor("exec-6", &uid, annotations)).await;
            refused(answer, &["own-pod.user-info.queuewarden.dev"])?;
        }
        create(cluster, "alice", &member("late", NAMESPACE, "late", &json!({}))).await.map(drop)
    })
    .await
}

/// The namespaces that the webhooks otherwise ignore.
#[tokio::test]
async fn a_driver_takes_no_other_name_in_the_namespaces_of_the_system() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        cluster.apply_kustomization("manifests/applications").await?;
        let (operator, endpoints) = guard_with(cluster, &strict(), &WATCHED).await?;
        ask(cluster, "user-info", &endpoints).await?;
        for namespace in ["yunikorn", "queuewarden-system"] {
            cluster.apply_text(&SPARK.replace("NAMESPACE", namespace), "e2e").await?;
            let account = json!({"spec": {"serviceAccountName": "spark"}});
            let labels = json!({"applicationId": namespace});
            let scheduled = json!({"metadata": {"name": "driver", "labels": labels}, "spec": {"schedulerName": "yunikorn"}});
            let text = merged(pod_in(namespace, &own("alice")), &scheduled);
            create(cluster, "alice", &merged(text, &account)).await?;
            let pods: Api<Pod> = Api::namespaced(cluster.client()?, namespace);
            let driver = pods.get("driver").await?;
            let uid = driver.uid().context("the driver has no UID")?;
            let token = cluster.pod_kubeconfig(namespace, "spark", &driver).await?;
            let dry = ["create", "--dry-run=server", "-f", "-"];
            let owner = json!([{"apiVersion": "v1", "kind": "Pod", "name": "driver", "uid": uid, "controller": true}]);
            let executor = |annotations: &Value| {
                let metadata = json!({"metadata": {"name": "e", "labels": labels, "ownerReferences": owner}});
                merged(pod_in(namespace, annotations), &metadata).to_string()
            };
            eventually("the driver to be known", PATIENCE, || async {
                cluster.kubectl_as(&token, &dry, &executor(&own("alice"))).await.map(Some)
            })
            .await?;
            refused(
                cluster.kubectl_as(&token, &dry, &executor(&claim("boss"))).await,
                &["own-pod.user-info.queuewarden.dev", "it names user `boss`"],
            )?;
            pods.delete("driver", &kube::api::DeleteParams::default().grace_period(0)).await?;
        }
        operator.kill().await
    })
    .await
}
