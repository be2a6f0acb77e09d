//! Tests the gaps of `YuniKorn`'s own admission controller: mallory uses each to submit as boss, or it loses
//! alice's name; and the user-info webhook closes each, beside `YuniKorn`'s controller.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::Api;
use queuewarden_e2e::bed::NAMESPACE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Bed, eventually, yunikorn};
use serde_json::{Value, json};

use super::{
    BYPASSED, Submitter, UNLABELLED, application, ask, claim, controller, create, guard, kubectl, merged,
    nobody_asked, pod, pods_say, refused, said, strict, yunikorn_alone,
};

/// Words of mallory's refusal: the user, and the field that would allow it.
const REFUSED: &[&str] = &["user-info.queuewarden.dev", "mallory", "externalUsers", "AdmissionPolicy"];

/// Runs `kubectl patch` as this user.
async fn patch(bed: &Bed, user: &str, what: &str, name: &str, patch: &Value) -> Result<String> {
    let text = patch.to_string();
    let who = format!("--as={user}");
    let args = ["patch", what, name, "-n", NAMESPACE, "--type=merge", "-p", text.as_str(), who.as_str()];
    bed.kubectl(&[&args[..], &["--as-group=people", "--as-group=system:authenticated"]].concat()).await
}

/// Returns a patch that gives a template the name of boss, and its pods another application.
fn become_boss(id: &str) -> Value {
    let metadata = json!({"labels": {"applicationId": id}, "annotations": claim("boss")});
    json!({"spec": {"template": {"metadata": metadata}}})
}

/// Returns a person as `user.info` names it.
fn person(user: &str) -> Submitter {
    let groups = ["people", "system:authenticated"].map(str::to_owned).to_vec();
    Submitter { user: user.to_owned(), groups }
}

/// Returns the name at a location in an object; `kubectl get RESOURCE NAME`.
async fn says(
    bed: &Bed,
    resource: &str,
    name: &str,
    namespace: &str,
    annotations: &str,
) -> Result<Option<Submitter>> {
    let text = bed.kubectl(&["get", resource, name, "-n", namespace, "-o", "json"]).await?;
    let object: Value = serde_json::from_str(&text)?;
    let annotations = object.pointer(annotations).cloned().unwrap_or_else(|| json!({}));
    said(&serde_json::from_value(annotations)?)
}

#[tokio::test]
async fn an_update_of_a_deployment() -> Result<()> {
    Bed::with(async |bed| {
        if !yunikorn_alone(bed).await? {
            return Ok(());
        }
        create(bed, "mallory", &controller("Deployment", "web", &json!({}))).await?;
        ensure!(pods_say(bed, "web", NAMESPACE, "mallory").await? == person("mallory"));
        patch(bed, "mallory", "deployment", "web", &become_boss("bosses-web")).await?;
        ensure!(pods_say(bed, "web", NAMESPACE, "boss").await?.groups == ["bosses"]);
        ensure!(application(bed, "bosses-web").await?.user == "boss");

        let (_operator, doors) = guard(bed, &strict()).await?;
        ask(bed, "user-info", &doors).await?;
        create(bed, "mallory", &controller("Deployment", "shop", &json!({}))).await?;
        refused(patch(bed, "mallory", "deployment", "shop", &become_boss("bosses-shop")).await, REFUSED)?;
        ensure!(pods_say(bed, "shop", NAMESPACE, "mallory").await? == person("mallory"));
        // A change that leaves the name alone is allowed, even if the name was stolen before.
        for (user, name) in [("mallory", "shop"), ("carol", "shop"), ("carol", "web")] {
            patch(bed, user, "deployment", name, &json!({"spec": {"replicas": 2}})).await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_replication_controller() -> Result<()> {
    Bed::with(async |bed| {
        if !yunikorn_alone(bed).await? {
            return Ok(());
        }
        create(bed, "mallory", &controller("ReplicationController", "rc", &claim("boss"))).await?;
        ensure!(pods_say(bed, "rc", NAMESPACE, "boss").await?.groups == ["bosses"]);
        ensure!(application(bed, "rc").await?.user == "boss");
        // And an honest person's pods are created by Kubernetes.
        create(bed, "alice", &controller("ReplicationController", "honest", &json!({}))).await?;
        let kubernetes = "system:serviceaccount:kube-system:replication-controller";
        pods_say(bed, "honest", NAMESPACE, kubernetes).await?;

        let (_operator, doors) = guard(bed, &strict()).await?;
        ask(bed, "user-info", &doors).await?;
        let stolen = controller("ReplicationController", "stolen", &claim("boss"));
        refused(create(bed, "mallory", &stolen).await, REFUSED)?;
        create(bed, "alice", &controller("ReplicationController", "hers", &json!({}))).await?;
        ensure!(pods_say(bed, "hers", NAMESPACE, "alice").await? == person("alice"));
        ensure!(application(bed, "hers").await? == person("alice"));
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

/// Does what the operator of `SparkApplication`s does with one: creates a driver with the annotations of
/// `spec.driver`.
async fn drive(bed: &Bed, name: &str) -> Result<()> {
    let text = bed.kubectl(&["get", "sparkapplication", name, "-n", NAMESPACE, "-o", "json"]).await?;
    let found: Value = serde_json::from_str(&text)?;
    let annotations = found.pointer("/spec/driver/annotations").cloned().unwrap_or_else(|| json!({}));
    create(bed, SPARK, &pod(name, NAMESPACE, &annotations)).await.map(drop)
}

/// Lets the operator name the users of its pods, and waits until `YuniKorn` has read that.
async fn trust_spark(bed: &Bed) -> Result<()> {
    let key = "admissionController.accessControl.externalUsers".to_owned();
    bed.write_config_map(yunikorn::CONFIGS, [(key, format!("^{SPARK}$"))].into()).await?;
    spark_is_trusted(bed).await
}

async fn spark_is_trusted(bed: &Bed) -> Result<()> {
    eventually("the operator to be trusted", PATIENCE, || async {
        let probe = pod("probe", NAMESPACE, &claim("boss"));
        kubectl(bed, SPARK, &["create", "--dry-run=server"], &probe).await.map(Some)
    })
    .await
    .map(drop)
}

#[tokio::test]
async fn a_custom_workload() -> Result<()> {
    Bed::with(async |bed| {
        if !nobody_asked(bed).await? {
            return Ok(());
        }
        bed.start_admission_controller().await?;
        trust_spark(bed).await?;
        create(bed, "mallory", &spark_application("pi", &claim("boss"))).await?;
        drive(bed, "pi").await?;
        ensure!(pods_say(bed, "pi", NAMESPACE, "boss").await?.groups == ["bosses"]);
        ensure!(application(bed, "pi").await?.user == "boss");
        // And an honest person's driver is created by the operator.
        create(bed, "alice", &spark_application("honest", &json!({}))).await?;
        drive(bed, "honest").await?;
        ensure!(application(bed, "honest").await?.user == SPARK);

        bed.delete_config_map(yunikorn::CONFIGS).await?;
        let policy = merged(strict(), &json!({"externalUsers": [format!("^{SPARK}$")]}));
        let (_operator, doors) = guard(bed, &policy).await?;
        ask(bed, "user-info", &doors).await?;
        spark_is_trusted(bed).await?;
        refused(create(bed, "mallory", &spark_application("stolen", &claim("boss"))).await, REFUSED)?;
        create(bed, "alice", &spark_application("hers", &json!({"note": "kept"}))).await?;
        drive(bed, "hers").await?;
        ensure!(application(bed, "hers").await? == person("alice"));
        bed.kubectl(&["delete", "sparkapplications", "--all", "-n", NAMESPACE]).await?;
        Ok(())
    })
    .await
}

/// Tests kinds whose templates are in a map, and in a list.
#[tokio::test]
async fn templates_of_other_kinds() -> Result<()> {
    Bed::with(async |bed| {
        if !nobody_asked(bed).await? {
            return Ok(());
        }
        let (_operator, doors) = guard(bed, &strict()).await?;
        ask(bed, "user-info", &doors).await?;
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
        refused(create(bed, "mallory", &torch("stolen", &claim("boss"))).await, REFUSED)?;
        refused(create(bed, "mallory", &ray("stolen", &claim("boss"))).await, REFUSED)?;
        create(bed, "alice", &torch("hers", &json!({"note": "kept"}))).await?;
        create(bed, "alice", &ray("hers", &json!({"note": "kept"}))).await?;
        for (resource, place) in [
            ("pytorchjob", "/spec/pytorchReplicaSpecs/Master/template/metadata/annotations"),
            ("pytorchjob", "/spec/pytorchReplicaSpecs/Worker/template/metadata/annotations"),
            ("raycluster", "/spec/headGroupSpec/template/metadata/annotations"),
            ("raycluster", "/spec/workerGroupSpecs/0/template/metadata/annotations"),
            ("raycluster", "/spec/workerGroupSpecs/1/template/metadata/annotations"),
        ] {
            let found = says(bed, resource, "hers", NAMESPACE, place).await?;
            ensure!(found == Some(person("alice")), "{resource} {place}: {found:?}");
        }
        bed.kubectl(&["delete", "pytorchjobs,rayclusters", "--all", "-n", NAMESPACE]).await?;
        Ok(())
    })
    .await
}

/// Returns the stored pod's annotation.
async fn stored(bed: &Bed, name: &str, namespace: &str) -> Result<Option<Submitter>> {
    let pods: Api<Pod> = Api::namespaced(bed.client()?, namespace);
    said(pods.get(name).await?.annotations())
}

#[tokio::test]
async fn a_namespace_without_labels() -> Result<()> {
    Bed::with(async |bed| {
        if !nobody_asked(bed).await? {
            return Ok(());
        }
        bed.start_admission_controller().await?;
        create(bed, "alice", &pod("lost", UNLABELLED, &json!({}))).await?;
        ensure!(stored(bed, "lost", UNLABELLED).await?.is_none());

        let (_operator, doors) = guard(bed, &strict()).await?;
        ask(bed, "user-info", &doors).await?;
        create(bed, "alice", &pod("kept", UNLABELLED, &json!({"note": "kept"}))).await?;
        ensure!(stored(bed, "kept", UNLABELLED).await? == Some(person("alice")));
        let pods: Api<Pod> = Api::namespaced(bed.client()?, UNLABELLED);
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
async fn a_workload_where_yunikorn_does_not_look() -> Result<()> {
    Bed::with(async |bed| {
        if !yunikorn_alone(bed).await? {
            return Ok(());
        }
        let unseen = |name: &str, namespace: &str, annotations: &Value| {
            let unlabelled = json!({"applicationId": null, "yunikorn.apache.org/queue": null});
            let fields = json!({"metadata": {"namespace": namespace},
                "spec": {"template": {"metadata": {"labels": unlabelled}}}});
            merged(controller("Deployment", name, annotations), &fields)
        };
        for namespace in [UNLABELLED, BYPASSED] {
            create(bed, "mallory", &unseen("web", namespace, &claim("boss"))).await?;
            ensure!(pods_say(bed, "web", namespace, "boss").await?.groups == ["bosses"]);
        }

        let (_operator, doors) = guard(bed, &strict()).await?;
        ask(bed, "user-info", &doors).await?;
        for namespace in [UNLABELLED, BYPASSED] {
            refused(create(bed, "mallory", &unseen("stolen", namespace, &claim("boss"))).await, REFUSED)?;
            create(bed, "alice", &unseen("hers", namespace, &json!({}))).await?;
            ensure!(pods_say(bed, "hers", namespace, "alice").await? == person("alice"));
        }
        Ok(())
    })
    .await
}
