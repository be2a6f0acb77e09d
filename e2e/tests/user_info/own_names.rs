//! Tests the policy `queuewarden-own-names`: the API server checks names by itself, while queuewarden is not
//! running.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::apps::v1::{ControllerRevision, StatefulSet};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt as _};
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, TestCluster, eventually};
use serde_json::{Value, json};
use yunikorn::admission::request::{DECIDING_ANNOTATIONS, DECIDING_LABELS, USER_INFO, USERNAME};

use super::applications::{SPARK, executor};
use super::sources::{KINDS, make, workload};
use super::{
    FIXTURES, UNLABELLED, claim, controller, create, kubectl, merged, nobody_asked, pod, refused, strict,
};

const REFUSED: &[&str] = &["queuewarden-own-names", "user mallory may not set yunikorn.apache.org/user.info"];

/// A controller, which the policy allows to name others.
pub(super) const CONTROLLER: &str = "system:serviceaccount:kube-system:replicaset-controller";

/// Installs the policy with this `AdmissionPolicy`, without a webhook server; `false` if the cluster cannot
/// do that.
pub(super) async fn policy(cluster: &TestCluster, spec: &Value) -> Result<bool> {
    if !cluster.can_run(&[Capability::OperatorProcess])? {
        return Ok(false);
    }
    cluster.install().await?;
    cluster.apply_text(FIXTURES, "queuewarden-e2e").await?;
    cluster.apply_file("manifests/user-info/policy.yaml").await?;
    set(cluster, spec).await?;
    Ok(true)
}

async fn set(cluster: &TestCluster, spec: &Value) -> Result<()> {
    let policy = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "AdmissionPolicy", "metadata": {"name": "default"}, "spec": spec});
    cluster.apply_text(&policy.to_string(), "e2e").await
}

/// Waits until the API server decides according to the policy, even while it calls the webhooks: revisions
/// are not sent to any of them.
pub(super) async fn enforced_alone(cluster: &TestCluster) -> Result<()> {
    eventually("the API server to decide by the policy", PATIENCE, || async {
        let probe = revision("probe", &claim("boss"));
        let answer = kubectl(cluster, "mallory", &["create", "--dry-run=server"], &probe).await;
        Ok(refused(answer, REFUSED).ok())
    })
    .await
}

/// Waits until the API server refuses mallory the name of the boss.
pub(super) async fn enforced(cluster: &TestCluster) -> Result<()> {
    eventually("the API server to decide by the policy", PATIENCE, || async {
        let answer = kubectl(
            cluster,
            "mallory",
            &["create", "--dry-run=server"],
            &pod("probe", NAMESPACE, &claim("boss")),
        )
        .await;
        Ok(refused(answer, REFUSED).ok())
    })
    .await
}

/// Returns this user's own annotation.
pub(super) fn own(user: &str) -> Value {
    let text = format!(r#"{{"user":"{user}","groups":["people","system:authenticated"]}}"#);
    json!({"yunikorn.apache.org/user.info": text})
}

fn cron_job(name: &str, annotations: &Value) -> Value {
    let job = controller("Job", name, annotations);
    let template = job.pointer("/spec/template").cloned().unwrap_or_default();
    let template = merged(template, &json!({"spec": {"restartPolicy": "Never"}}));
    json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": template}}}})
}

fn revision(name: &str, annotations: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": name, "namespace": NAMESPACE}, "revision": 1,
        "data": {"spec": {"template": {"metadata": {"annotations": annotations}}}}})
}

#[tokio::test]
async fn nobody_takes_another_name_while_queuewarden_is_down() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !policy(cluster, &strict()).await? {
            return Ok(());
        }
        enforced(cluster).await?;
        let dry = ["create", "--dry-run=server"];
        let kinds = |annotations: &Value| {
            [
                pod("p", NAMESPACE, annotations),
                pod("p", "kube-public", annotations),
                controller("Deployment", "d", annotations),
                controller("ReplicationController", "rc", annotations),
                controller("StatefulSet", "s", annotations),
                cron_job("c", annotations),
                revision("r", annotations),
            ]
        };
        for object in kinds(&claim("boss")) {
            refused(kubectl(cluster, "mallory", &dry, &object).await, REFUSED)?;
        }
        // Her own name, as the webhook writes it, and no name at all.
        for object in kinds(&own("mallory")).into_iter().chain(kinds(&json!({}))) {
            kubectl(cluster, "mallory", &dry, &object).await?;
        }
        refused(kubectl(cluster, "mallory", &dry, &pod("p", NAMESPACE, &own("alice"))).await, REFUSED)?;

        // Existing names stay when any user changes the rest.
        create(cluster, "alice", &controller("Deployment", "web", &own("alice"))).await?;
        let patch = async |user: &str, patch: &Value| {
            let (who, text) = (format!("--as={user}"), patch.to_string());
            let args = ["patch", "deployment", "web", "-n", NAMESPACE, "--type=merge", "-p", &text, &who];
            cluster
                .kubectl(&[&args[..], &["--as-group=people", "--as-group=system:authenticated"]].concat())
                .await
        };
        let named =
            |annotations: Value| json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
        patch("mallory", &json!({"spec": {"replicas": 2}})).await?;
        for stolen in [claim("boss"), json!({"yunikorn.apache.org/user.info": null})] {
            refused(
                patch("mallory", &named(stolen)).await,
                &["queuewarden-own-names", "which was set before"],
            )?;
        }

        // Controllers set the names that they are given.
        let system = "system:serviceaccount:kube-system:replicaset-controller";
        kubectl(cluster, system, &dry, &pod("p", NAMESPACE, &claim("boss"))).await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn the_label_names_nobody_else_and_an_empty_annotation_nobody_at_all() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !policy(cluster, &strict()).await? {
            return Ok(());
        }
        enforced(cluster).await?;
        let labelled = json!({"labels": {USERNAME: "boss"}});
        let empty = json!({"annotations": {USER_INFO: ""}});
        let own_label = json!({"labels": {USERNAME: "mallory"}});
        let own_text = merged(labelled.clone(), &json!({"annotations": own("mallory")}));
        let by_label = ["queuewarden-own-names", "may not set the label yunikorn.apache.org/username"];
        let by_text = ["queuewarden-own-names", "user.info may not be empty"];
        for of in KINDS {
            let tried = async |user: &str, metadata: &Value| {
                make(cluster, user, of, &workload(of.1, "w", metadata), true).await
            };
            // The label names a user without groups, so it does not even match the user's own name.
            for metadata in [&labelled, &merged(labelled.clone(), &empty), &own_label] {
                refused(tried("mallory", metadata).await, &by_label)?;
            }
            refused(tried("mallory", &empty).await, &by_text)?;
            for (user, metadata) in [("mallory", &own_text), (CONTROLLER, &labelled)] {
                tried(user, metadata).await.with_context(|| format!("{} {metadata}", of.1))?;
            }
        }
        // In a template, a label is also evaluated later.
        create(cluster, "mallory", &controller("Deployment", "web", &json!({}))).await?;
        let patch = json!({"spec": {"template": {"metadata": labelled}}}).to_string();
        let args =
            ["patch", "deployment", "web", "-n", NAMESPACE, "--type=merge", "-p", &patch, "--as=mallory"];
        refused(cluster.kubectl(&[&args[..], &["--as-group=people"]].concat()).await, &by_label)
    })
    .await
}

/// Sends an object to this path of the API server as this user, who is an administrator.
async fn post(cluster: &TestCluster, user: &str, path: &str, object: &Value) -> Result<String> {
    let client = cluster.as_user(user, &["system:masters"])?;
    let request = http::Request::post(path).header("content-type", "application/json");
    Ok(client.request_text(request.body(object.to_string().into_bytes())?).await?)
}

#[tokio::test]
async fn a_binding_carries_nothing_that_yunikorn_derives_anything_from() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !policy(cluster, &strict()).await? {
            return Ok(());
        }
        enforced(cluster).await?;
        create(cluster, "alice", &pod("bound", NAMESPACE, &own("alice"))).await?;
        let core = format!("/api/v1/namespaces/{NAMESPACE}");
        let bind = async |path: &str, metadata: Value| {
            let binding = json!({"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "node"},
                "metadata": merged(metadata, &json!({"name": "bound"}))});
            post(cluster, "alice", &format!("{core}/{path}"), &binding).await
        };
        let words = ["queuewarden-own-names", "Binding"];
        for path in ["pods/bound/binding", "bindings"] {
            for text in [claim("boss"), own("alice")] {
                refused(bind(path, json!({"annotations": text})).await, &words)?;
            }
            for key in DECIDING_LABELS {
                refused(bind(path, json!({"labels": {key: "x"}})).await, &words)
                    .with_context(|| format!("label {key}"))?;
            }
            for key in DECIDING_ANNOTATIONS {
                refused(bind(path, json!({"annotations": {key: "x"}})).await, &words)
                    .with_context(|| format!("annotation {key}"))?;
            }
        }
        bind("bindings", json!({"labels": {"note": "x"}, "annotations": {"note": "x"}})).await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_revision_has_its_authors_name_byte_by_byte() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !policy(cluster, &strict()).await? {
            return Ok(());
        }
        enforced(cluster).await?;
        let dry = ["create", "--dry-run=server"];
        // A name with escapes, which only the webhook could check.
        let eve = "eve+x@example.com";
        let escaped = json!({USER_INFO: r#"{"user":"qw-user:CN#3dThe#20Boss","groups":["people","system:authenticated"]}"#});
        refused(kubectl(cluster, eve, &dry, &revision("r", &escaped)).await, &["queuewarden-own-names", eve])?;
        let data = |data: Value| merged(revision("r", &json!({})), &json!({"data": data}));
        let labelled = data(json!({"spec": {"template": {"metadata": {"labels": {USERNAME: "boss"}}}}}));
        refused(kubectl(cluster, "mallory", &dry, &labelled).await, &["queuewarden-own-names", "label"])?;
        // Controllers ignore case in field names, and treat the Kelvin sign and the long s as letters too.
        for path in [
            "spec.template.metadata.Annotations",
            "spec.template.Metadata.annotations",
            "spec.TEMPLATE.metadata.annotations",
            "Spec.template.metadata.annotations",
            "\u{17f}pec.template.metadata.annotations",
            "spec.template.metadata.annotation\u{17f}",
        ] {
            let hidden = data(path.rsplit('.').fold(claim("boss"), |inner, name| json!({name: inner})));
            refused(
                kubectl(cluster, "mallory", &dry, &hidden).await,
                &["queuewarden-own-names", "in small letters"],
            )
            .with_context(|| path.to_owned())?;
        }
        for allowed in [revision("r", &own("mallory")), data(json!({"queues.yaml": "x", "Other": {"Spec": 1}}))] {
            kubectl(cluster, "mallory", &dry, &allowed).await?;
        }
        // Pods of the controllers have the name of the template.
        let system = "system:serviceaccount:kube-system:statefulset-controller";
        kubectl(cluster, system, &dry, &revision("r", &claim("boss"))).await.map(drop)
    })
    .await
}

/// Makes a revision with these changes of the data the current one of a `StatefulSet` of mallory's.
async fn forge(cluster: &TestCluster, changes: &Value) -> Result<Client> {
    // Pods below the partition are created from the current revision.
    let kept = json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 1}}}});
    let set = merged(workload("StatefulSet", "set", &json!({"annotations": own("mallory")})), &kept);
    create(cluster, "mallory", &set).await?;
    let client = cluster.as_user("mallory", &["people"])?;
    let sets: Api<StatefulSet> = Api::namespaced(client.clone(), NAMESPACE);
    let current = eventually("the current revision", PATIENCE, || async {
        Ok(sets.get("set").await?.status.and_then(|status| status.current_revision))
    })
    .await?;
    let revisions: Api<ControllerRevision> = Api::namespaced(client.clone(), NAMESPACE);
    eventually("the last forged revision to be collected", PATIENCE, || async {
        Ok(revisions.get_opt("set-forged").await?.is_none().then_some(()))
    })
    .await?;
    let mut forged = revisions.get(&current).await?;
    let data = forged.data.take().context("the revision has no data")?.0;
    forged.data = Some(RawExtension(merged(data, changes)));
    forged.metadata.resource_version = None;
    forged.metadata.name = Some("set-forged".to_owned());
    revisions.create(&PostParams::default(), &forged).await?;
    let forge = json!({"status": {"currentRevision": "set-forged"}});
    sets.patch_status("set", &PatchParams::default(), &Patch::Merge(forge)).await?;
    Ok(client)
}

/// Deletes the pod of the forged `StatefulSet` until the controller has made a pod of the revision.
async fn made_of_it(
    what: &str,
    client: &Client,
    namespace: &str,
    is_it: impl Fn(&Pod) -> bool,
) -> Result<()> {
    let [own, there]: [Api<Pod>; 2] =
        [NAMESPACE, namespace].map(|namespace| Api::namespaced(client.clone(), namespace));
    eventually(what, PATIENCE, || async {
        if there.get_opt("set-0").await?.is_some_and(|pod| is_it(&pod)) {
            return Ok(Some(()));
        }
        if own.get_opt("set-0").await?.is_some() {
            own.delete("set-0", &DeleteParams::default().grace_period(0)).await?;
        }
        Ok(None)
    })
    .await
}

/// The gap: a revision names boss in a field that no check finds, and the controller makes a pod of it.
#[tokio::test]
async fn controllers_ignore_case_in_revision_fields() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        cluster.start_controller_manager().await?;
        let metadata = json!({"annotations": null, "Annotations": claim("boss")});
        let client = forge(cluster, &json!({"spec": {"template": {"metadata": metadata}}})).await?;
        let is_bosses =
            |pod: &Pod| pod.annotations().get(USER_INFO).is_some_and(|text| text.contains("boss"));
        made_of_it("a pod in the name of the boss", &client, NAMESPACE, is_bosses).await
    })
    .await
}

/// This is why queuewarden's own account may not write any revisions: they would give access to every
/// namespace.
#[tokio::test]
async fn controllers_make_pods_of_a_revision_in_the_namespace_that_it_names() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        cluster.start_controller_manager().await?;
        // The garbage collector does not find an owner there.
        let stays = json!({"spec": {"template": {"metadata": {"finalizers": ["example.com/stay"]}}}});
        let elsewhere = merged(stays, &json!({"metadata": {"namespace": UNLABELLED}}));
        let client = forge(cluster, &elsewhere).await?;
        let made = made_of_it("a pod in another namespace", &client, UNLABELLED, |_| true).await;
        let pods: Api<Pod> = Api::namespaced(client, UNLABELLED);
        let free = json!({"metadata": {"finalizers": null}});
        cluster.kubectl(&["delete", "statefulset", "set", "-n", NAMESPACE]).await?;
        pods.patch("set-0", &PatchParams::default(), &Patch::Merge(free)).await?;
        made
    })
    .await
}

#[tokio::test]
async fn only_kubelets_request_the_token_of_a_pod_and_it_names_nobody_in_other_namespaces() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !policy(cluster, &strict()).await? {
            return Ok(());
        }
        enforced(cluster).await?;
        cluster.apply_text(&SPARK.replace("NAMESPACE", NAMESPACE), "e2e").await?;
        let elsewhere = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": "spark", "namespace": UNLABELLED},
            "subjects": [{"kind": "ServiceAccount", "name": "spark", "namespace": NAMESPACE}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "queuewarden-e2e-people"}});
        cluster.apply_text(&elsewhere.to_string(), "e2e").await?;
        let account = json!({"spec": {"serviceAccountName": "spark"}});
        create(cluster, "alice", &merged(pod("driver", NAMESPACE, &own("alice")), &account)).await?;
        let pods: Api<Pod> = Api::namespaced(cluster.client()?, NAMESPACE);
        let driver = pods.get("driver").await?;
        let uid = driver.uid().context("the driver has no UID")?;

        let path = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/spark/token");
        let request = |bound: Value| {
            json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                "spec": {"audiences": ["https://kubernetes.default.svc"], "boundObjectRef": bound}})
        };
        let of_driver = json!({"kind": "Pod", "apiVersion": "v1", "name": "driver", "uid": uid});
        let answer = post(cluster, "mallory", &path, &request(of_driver)).await;
        refused(answer, &["queuewarden-own-names", "only kubelets request tokens that are bound to a pod"])?;
        post(cluster, "mallory", &path, &request(Value::Null)).await?;

        let token = cluster.pod_kubeconfig(NAMESPACE, "spark", &driver).await?;
        let dry = ["create", "--dry-run=server", "-f", "-"];
        let of = |namespace: &str| {
            let place = json!({"metadata": {"namespace": namespace}});
            merged(executor("e", &uid, &own("alice")), &place).to_string()
        };
        cluster.kubectl_as(&token, &dry, &of(NAMESPACE)).await?;
        refused(cluster.kubectl_as(&token, &dry, &of(UNLABELLED)).await, &["queuewarden-own-names", "user.info"])?;
        // Only the annotation is left to the webhook.
        let label = json!({"metadata": {"labels": {USERNAME: "boss"}}});
        let labelled = merged(executor("e", &uid, &json!({})), &label).to_string();
        refused(
            cluster.kubectl_as(&token, &dry, &labelled).await,
            &["queuewarden-own-names", "may not set the label yunikorn.apache.org/username"],
        )
    })
    .await
}

#[tokio::test]
async fn lists_and_modes_match_the_webhook() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !policy(cluster, &strict()).await? {
            return Ok(());
        }
        enforced(cluster).await?;
        let pod = pod("p", NAMESPACE, &claim("boss"));
        let passes =
            async || kubectl(cluster, "mallory", &["create", "--dry-run=server"], &pod).await.is_ok();
        for (more, expected) in [
            (json!({"externalUsers": ["^mallory$"]}), true),
            (json!({"externalUsers": ["^mal$"]}), false),
            (json!({"externalGroups": ["^people$"]}), true),
            (json!({"systemUsers": ["^mallory$"]}), true),
            (json!({"systemUsers": ["^mallory$"], "trustControllers": false}), false),
            (json!({"bypassAuth": true}), true),
            (json!({"userInfo": {"mode": "Audit"}}), true),
            (json!({"userInfo": {"mode": "Enforce", "profile": "yunikorn"}}), true),
            (json!({}), false),
        ] {
            set(cluster, &merged(strict(), &more)).await?;
            eventually(&format!("{more} to hold"), PATIENCE, || async {
                Ok((passes().await == expected).then_some(()))
            })
            .await?;
        }
        cluster.kubectl(&["delete", "admissionpolicy", "default"]).await?;
        eventually("nothing to be enforced", PATIENCE, || async { Ok(passes().await.then_some(())) }).await?;
        ensure!(passes().await);
        Ok(())
    })
    .await
}
