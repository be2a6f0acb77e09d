//! Tests the gaps of `YuniKorn`'s own admission controller: mallory uses each gap to submit as boss, or to
//! make it lose alice's name. The user-info webhook closes each gap, running together with `YuniKorn`'s
//! controller.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::Api;
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{TestCluster, eventually, yunikorn};
use serde_json::{Value, json};

use super::{
    BYPASSED, Submitter, UNLABELLED, application, ask, claim, controller, create, guard, kubectl, merged,
    nobody_asked, pod, pods_say, refused, said, strict, yunikorn_alone,
};

/// The words of mallory's refusal: the user, and the field that would allow it.
const REFUSED: &[&str] = &["user-info.queuewarden.dev", "mallory", "externalUsers", "AdmissionPolicy"];

/// Runs `kubectl patch` as this user.
async fn patch(cluster: &TestCluster, user: &str, what: &str, name: &str, patch: &Value) -> Result<String> {
    let text = patch.to_string();
    let who = format!("--as={user}");
    let args = ["patch", what, name, "-n", NAMESPACE, "--type=merge", "-p", text.as_str(), who.as_str()];
    cluster.kubectl(&[&args[..], &["--as-group=people", "--as-group=system:authenticated"]].concat()).await
}

/// Returns a patch that gives a template the name of boss, and its pods another application.
fn become_boss(id: &str) -> Value {
    let metadata = json!({"labels": {"applicationId": id}, "annotations": claim("boss")});
    json!({"spec": {"template": {"metadata": metadata}}})
}

/// Returns a person as named in `user.info`.
fn person(user: &str) -> Submitter {
    let groups = ["people", "system:authenticated"].map(str::to_owned).to_vec();
    Submitter { user: user.to_owned(), groups }
}

/// Returns the name at a location in an object; `kubectl get RESOURCE NAME`.
async fn says(
    cluster: &TestCluster,
    resource: &str,
    name: &str,
    namespace: &str,
    annotations: &str,
) -> Result<Option<Submitter>> {
    let text = cluster.kubectl(&["get", resource, name, "-n", namespace, "-o", "json"]).await?;
    let object: Value = serde_json::from_str(&text)?;
    let annotations = object.pointer(annotations).cloned().unwrap_or_else(|| json!({}));
    said(&serde_json::from_value(annotations)?)
}

#[tokio::test]
async fn an_update_of_a_deployment() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !yunikorn_alone(cluster).await? {
            return Ok(());
        }
        create(cluster, "mallory", &controller("Deployment", "web", &json!({}))).await?;
        ensure!(pods_say(cluster, "web", NAMESPACE, "mallory").await? == person("mallory"));
        patch(cluster, "mallory", "deployment", "web", &become_boss("bosses-web")).await?;
        ensure!(pods_say(cluster, "web", NAMESPACE, "boss").await?.groups == ["bosses"]);
        ensure!(application(cluster, "bosses-web").await?.user == "boss");

        let (_operator, endpoints) = guard(cluster, &strict()).await?;
        ask(cluster, "user-info", &endpoints).await?;
        create(cluster, "mallory", &controller("Deployment", "shop", &json!({}))).await?;
        refused(patch(cluster, "mallory", "deployment", "shop", &become_boss("bosses-shop")).await, REFUSED)?;
        ensure!(pods_say(cluster, "shop", NAMESPACE, "mallory").await? == person("mallory"));
        // A change that does not affect the name is allowed, even if the name was stolen before.
        for (user, name) in [("mallory", "shop"), ("carol", "shop"), ("carol", "web")] {
            patch(cluster, user, "deployment", name, &json!({"spec": {"replicas": 2}})).await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_replication_controller() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !yunikorn_alone(cluster).await? {
            return Ok(());
        }
        create(cluster, "mallory", &controller("ReplicationController", "rc", &claim("boss"))).await?;
        ensure!(pods_say(cluster, "rc", NAMESPACE, "boss").await?.groups == ["bosses"]);
        ensure!(application(cluster, "rc").await?.user == "boss");
        // And an honest person's pods are created by Kubernetes.
        create(cluster, "alice", &controller("ReplicationController", "honest", &json!({}))).await?;
        let kubernetes = "system:serviceaccount:kube-system:replication-controller";
        pods_say(cluster, "honest", NAMESPACE, kubernetes).await?;

        let (_operator, endpoints) = guard(cluster, &strict()).await?;
        ask(cluster, "user-info", &endpoints).await?;
        let stolen = controller("ReplicationController", "stolen", &claim("boss"));
        refused(create(cluster, "mallory", &stolen).await, REFUSED)?;
        create(cluster, "alice", &controller("ReplicationController", "hers", &json!({}))).await?;
        ensure!(pods_say(cluster, "hers", NAMESPACE, "alice").await? == person("alice"));
        ensure!(application(cluster, "hers").await? == person("alice"));
        Ok(())
    })
    .await
}

/// The user of the operator of `SparkApplication`s to the API server.
const SPARK: &str = "system:serviceaccount:spark:operator";

fn spark_application(name: &str, annotations: &Value) -> Value {
    json!({"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"driver": {"cores": 1, "annotations": annotations}, "executor": {"instances": 1}}})
}

/// Acts like the operator of `SparkApplication`s: creates a driver with the annotations of `spec.driver`.
async fn drive(cluster: &TestCluster, name: &str) -> Result<()> {
    let text = cluster.kubectl(&["get", "sparkapplication", name, "-n", NAMESPACE, "-o", "json"]).await?;
    let found: Value = serde_json::from_str(&text)?;
    let annotations = found.pointer("/spec/driver/annotations").cloned().unwrap_or_else(|| json!({}));
    create(cluster, SPARK, &pod(name, NAMESPACE, &annotations)).await.map(drop)
}

/// Lets the operator name the users of its pods, and waits until `YuniKorn` has read that.
async fn trust_spark(cluster: &TestCluster) -> Result<()> {
    let key = "admissionController.accessControl.externalUsers".to_owned();
    cluster.write_config_map(yunikorn::CONFIGS, [(key, format!("^{SPARK}$"))].into()).await?;
    spark_is_trusted(cluster).await
}

async fn spark_is_trusted(cluster: &TestCluster) -> Result<()> {
    eventually("the operator to be trusted", PATIENCE, || async {
        let probe = pod("probe", NAMESPACE, &claim("boss"));
        kubectl(cluster, SPARK, &["create", "--dry-run=server"], &probe).await.map(Some)
    })
    .await
    .map(drop)
}

#[tokio::test]
async fn a_custom_workload() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        cluster.start_admission_controller().await?;
        trust_spark(cluster).await?;
        create(cluster, "mallory", &spark_application("pi", &claim("boss"))).await?;
        drive(cluster, "pi").await?;
        ensure!(pods_say(cluster, "pi", NAMESPACE, "boss").await?.groups == ["bosses"]);
        ensure!(application(cluster, "pi").await?.user == "boss");
        // And an honest person's driver is created by the operator.
        create(cluster, "alice", &spark_application("honest", &json!({}))).await?;
        drive(cluster, "honest").await?;
        ensure!(application(cluster, "honest").await?.user == SPARK);

        cluster.delete_config_map(yunikorn::CONFIGS).await?;
        let policy = merged(strict(), &json!({"externalUsers": [format!("^{SPARK}$")]}));
        let (_operator, endpoints) = guard(cluster, &policy).await?;
        ask(cluster, "user-info", &endpoints).await?;
        spark_is_trusted(cluster).await?;
        refused(create(cluster, "mallory", &spark_application("stolen", &claim("boss"))).await, REFUSED)?;
        create(cluster, "alice", &spark_application("hers", &json!({"note": "kept"}))).await?;
        drive(cluster, "hers").await?;
        ensure!(application(cluster, "hers").await? == person("alice"));
        cluster.kubectl(&["delete", "sparkapplications", "--all", "-n", NAMESPACE]).await?;
        Ok(())
    })
    .await
}

/// Tests kinds whose templates are in a map, and in a list.
#[tokio::test]
async fn templates_of_other_kinds() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        let (_operator, endpoints) = guard(cluster, &strict()).await?;
        ask(cluster, "user-info", &endpoints).await?;
        let torch = |name: &str, worker: &Value| {
            let bare = json!({"spec": {"containers": []}});
            json!({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name, "namespace": NAMESPACE},
                "spec": {"pytorchReplicaSpecs": {"Master": {"template": bare}, "Worker": {"template": {"metadata": {"annotations": worker}}}}}})
        };
        let ray = |name: &str, worker: &Value| {
            let first = json!({"template": {"metadata": {"labels": {}}}});
            let second = json!({"template": {"metadata": {"annotations": worker}}});
            json!({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": name, "namespace": NAMESPACE},
                "spec": {"headGroupSpec": {"template": {}}, "workerGroupSpecs": [first, second]}})
        };
        refused(create(cluster, "mallory", &torch("stolen", &claim("boss"))).await, REFUSED)?;
        refused(create(cluster, "mallory", &ray("stolen", &claim("boss"))).await, REFUSED)?;
        create(cluster, "alice", &torch("hers", &json!({"note": "kept"}))).await?;
        create(cluster, "alice", &ray("hers", &json!({"note": "kept"}))).await?;
        for (resource, place) in [
            ("pytorchjob", "/spec/pytorchReplicaSpecs/Master/template/metadata/annotations"),
            ("pytorchjob", "/spec/pytorchReplicaSpecs/Worker/template/metadata/annotations"),
            ("raycluster", "/spec/headGroupSpec/template/metadata/annotations"),
            ("raycluster", "/spec/workerGroupSpecs/0/template/metadata/annotations"),
            ("raycluster", "/spec/workerGroupSpecs/1/template/metadata/annotations"),
        ] {
            let found = says(cluster, resource, "hers", NAMESPACE, place).await?;
            ensure!(found == Some(person("alice")), "{resource} {place}: {found:?}");
        }
        cluster.kubectl(&["delete", "pytorchjobs,rayclusters", "--all", "-n", NAMESPACE]).await?;
        Ok(())
    })
    .await
}

/// Returns the stored pod's annotation.
async fn stored(cluster: &TestCluster, name: &str, namespace: &str) -> Result<Option<Submitter>> {
    let pods: Api<Pod> = Api::namespaced(cluster.client()?, namespace);
    said(pods.get(name).await?.annotations())
}

#[tokio::test]
async fn a_namespace_without_labels() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        cluster.start_admission_controller().await?;
        create(cluster, "alice", &pod("lost", UNLABELLED, &json!({}))).await?;
        ensure!(stored(cluster, "lost", UNLABELLED).await?.is_none());

        let (_operator, endpoints) = guard(cluster, &strict()).await?;
        ask(cluster, "user-info", &endpoints).await?;
        create(cluster, "alice", &pod("kept", UNLABELLED, &json!({"note": "kept"}))).await?;
        ensure!(stored(cluster, "kept", UNLABELLED).await? == Some(person("alice")));
        let pods: Api<Pod> = Api::namespaced(cluster.client()?, UNLABELLED);
        let kept = pods.get("kept").await?;
        // The changes of YuniKorn's controller are there as well.
        for (key, value) in [("note", "kept"), ("yunikorn.apache.org/ignore-application", "true")] {
            let found = kept.annotations().get(key).with_context(|| format!("no {key}"))?;
            ensure!(found == value, "{key}: {found}");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn workload_in_a_namespace_that_yunikorn_ignores() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !yunikorn_alone(cluster).await? {
            return Ok(());
        }
        let unseen = |name: &str, namespace: &str, annotations: &Value| {
            let unlabelled = json!({"applicationId": null, "yunikorn.apache.org/queue": null});
            let fields = json!({"metadata": {"namespace": namespace},
                "spec": {"template": {"metadata": {"labels": unlabelled}}}});
            merged(controller("Deployment", name, annotations), &fields)
        };
        for namespace in [UNLABELLED, BYPASSED] {
            create(cluster, "mallory", &unseen("web", namespace, &claim("boss"))).await?;
            ensure!(pods_say(cluster, "web", namespace, "boss").await?.groups == ["bosses"]);
        }

        let (_operator, endpoints) = guard(cluster, &strict()).await?;
        ask(cluster, "user-info", &endpoints).await?;
        for namespace in [UNLABELLED, BYPASSED] {
            refused(create(cluster, "mallory", &unseen("stolen", namespace, &claim("boss"))).await, REFUSED)?;
            create(cluster, "alice", &unseen("hers", namespace, &json!({}))).await?;
            ensure!(pods_say(cluster, "hers", namespace, "alice").await? == person("alice"));
        }
        Ok(())
    })
    .await
}
