//! Tests that a pod keeps its user, application and queue: the API server decides alone, while queuewarden is
//! not running, and the webhook decides the same.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams};
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{TestCluster, eventually};
use serde_json::{Value, json};
use yunikorn::admission::request::{DECIDING_ANNOTATIONS, DECIDING_LABELS, USER_INFO};

use super::own_names::{CONTROLLER, enforced, own, policy};
use super::sources::workload;
use super::{application, ask, claim, create, guard, merged, nobody_asked, refused, strict};

/// Patches this pod as this user, who is an administrator, without storing the change.
async fn patch(cluster: &TestCluster, user: &str, of: (&str, &str), patch: &Value) -> Result<String> {
    let (name, subresource) = of;
    let pods: Api<Pod> = Api::namespaced(cluster.as_user(user, &["system:masters"])?, NAMESPACE);
    let (params, patch) = (PatchParams { dry_run: true, ..PatchParams::default() }, Patch::Merge(patch));
    let patched = match subresource {
        "" => pods.patch(name, &params, &patch).await?,
        _ => pods.patch_subresource(subresource, name, &params, &patch).await?,
    };
    Ok(serde_json::to_string(&patched)?)
}

fn labels(key: &str, value: &Value) -> Value {
    json!({"metadata": {"labels": {key: value}}})
}

fn annotations(key: &str, value: &Value) -> Value {
    json!({"metadata": {"annotations": {key: value}}})
}

/// Creates pods of alice: `bare` has only its name to decide by, `full` has all relevant fields, `gated` is
/// not scheduled yet, and `foreign` is not scheduled by `YuniKorn`.
async fn pods_of_alice(cluster: &TestCluster) -> Result<()> {
    let all = |keys: &[&str]| keys.iter().map(|key| ((*key).to_owned(), json!("before"))).collect::<Value>();
    let full = json!({"labels": all(&DECIDING_LABELS),
        "annotations": merged(all(&DECIDING_ANNOTATIONS), &own("alice"))});
    let bare = json!({"labels": {"applicationId": null, "yunikorn.apache.org/queue": null}, "annotations": own("alice")});
    let gates = json!({"spec": {"schedulingGates": [{"name": "example.com/wait"}]}});
    let elsewhere = json!({"spec": {"schedulerName": "default-scheduler"}});
    for object in [
        workload("Pod", "bare", &bare),
        workload("Pod", "unnamed", &json!({})),
        workload("Pod", "full", &full),
        merged(workload("Pod", "gated", &full), &gates),
        merged(workload("Pod", "foreign", &full), &elsewhere),
    ] {
        create(cluster, "alice", &object).await?;
    }
    Ok(())
}

/// Returns changes of one label or annotation to this value, for all that affect decisions except the name.
fn changes(value: &Value) -> Vec<(&'static str, Value)> {
    let annotated = DECIDING_ANNOTATIONS.into_iter().filter(|key| *key != USER_INFO);
    let labelled = DECIDING_LABELS.into_iter().map(|key| (key, labels(key, value)));
    labelled.chain(annotated.map(|key| (key, annotations(key, value)))).collect()
}

#[tokio::test]
async fn a_pod_keeps_all_that_yunikorn_derives_from_it() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !policy(cluster, &strict()).await? {
            return Ok(());
        }
        enforced(cluster).await?;
        pods_of_alice(cluster).await?;
        let kept = ["queuewarden-own-names", "keeps its user, application and queue"];
        for (names, value) in [(&["bare", "full", "gated"][..], json!("after")), (&["full"], Value::Null)] {
            for (key, change) in changes(&value) {
                for (user, name) in ["alice", "mallory", CONTROLLER]
                    .into_iter()
                    .flat_map(|user| names.iter().map(move |name| (user, name)))
                {
                    for subresource in ["", "status"] {
                        let answer = patch(cluster, user, (name, subresource), &change).await;
                        refused(answer, &[&kept[..], &[key]].concat())
                            .with_context(|| format!("{key} of {name} {subresource:?} by {user}"))?;
                    }
                }
                patch(cluster, "mallory", ("foreign", ""), &change).await?;
            }
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_pod_keeps_its_name_and_gets_none_later() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !policy(cluster, &strict()).await? {
            return Ok(());
        }
        enforced(cluster).await?;
        pods_of_alice(cluster).await?;
        let named = |value: Value| json!({"metadata": {"annotations": value}});
        let kept = ["queuewarden-own-names", USER_INFO, "keeps its user, application and queue"];
        // The group of administrators is part of their names.
        let of_masters = |user: &str| {
            let text = format!(r#"{{"user":"{user}","groups":["system:masters","system:authenticated"]}}"#);
            named(json!({USER_INFO: text}))
        };
        for name in ["bare", "full", "gated", "unnamed"] {
            for subresource in ["", "status"] {
                for (user, change) in [
                    ("mallory", named(claim("boss"))),
                    ("mallory", of_masters("mallory")),
                    ("alice", of_masters("alice")),
                    (CONTROLLER, named(claim("boss"))),
                ] {
                    refused(patch(cluster, user, (name, subresource), &change).await, &kept)?;
                }
                if name != "unnamed" {
                    let removed = annotations(USER_INFO, &Value::Null);
                    refused(patch(cluster, CONTROLLER, (name, subresource), &removed).await, &kept)?;
                }
            }
        }
        // Aliases are not part of a name.
        let alias = r#"{"user":"alice","groups":["people","system:authenticated","qw-u-x-00112233445566778899aabbccddeeff"]}"#;
        patch(cluster, "mallory", ("bare", ""), &annotations(USER_INFO, &json!(alias))).await.map(drop)
    })
    .await
}

/// Everything else of a pod can be changed as before, and there is no other way to change its labels.
#[tokio::test]
async fn everything_else_of_a_pod_changes() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !policy(cluster, &strict()).await? {
            return Ok(());
        }
        enforced(cluster).await?;
        pods_of_alice(cluster).await?;
        for subresource in ["", "status"] {
            patch(cluster, "mallory", ("full", subresource), &labels("note", &json!("x"))).await?;
            patch(cluster, "mallory", ("full", subresource), &annotations("note", &json!("x"))).await?;
        }
        patch(cluster, "mallory", ("full", "status"), &json!({"status": {"reason": "x"}})).await?;
        // Without the gate the pod is still the same.
        patch(cluster, "mallory", ("gated", ""), &json!({"spec": {"schedulingGates": null}})).await?;
        let moved = merged(labels("applicationId", &json!("x")), &json!({"spec": {"schedulingGates": null}}));
        let kept = ["queuewarden-own-names", "applicationId", "keeps its user"];
        refused(patch(cluster, "mallory", ("gated", ""), &moved).await, &kept)?;
        // The API server allows no one to change the scheduler, and nothing else through these subresources.
        let scheduler =
            patch(cluster, "mallory", ("foreign", ""), &json!({"spec": {"schedulerName": "yunikorn"}})).await;
        refused(scheduler, &["pod updates may not change fields"])?;
        for subresource in ["resize", "ephemeralcontainers"] {
            let moved = labels("applicationId", &json!("x"));
            let stored = patch(cluster, "mallory", ("full", subresource), &moved).await?;
            let stored: Pod = serde_json::from_str(&stored)?;
            let id = stored.labels().get("applicationId").context("the label is gone")?;
            ensure!(id == "before", "{subresource} writes labels: {id}");
        }
        Ok(())
    })
    .await
}

/// The webhook receives the same changes, and refuses them if the policy is not bound.
#[tokio::test]
async fn webhook_keeps_a_pod_in_its_application() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        create(cluster, "boss", &workload("Pod", "bosses", &json!({"annotations": claim("boss")}))).await?;
        create(cluster, "mallory", &workload("Pod", "hers", &json!({"annotations": claim("mallory")})))
            .await?;
        let id = |id: &str| labels("applicationId", &json!(id));
        let rest = cluster.yunikorn()?;
        let has_two = async || {
            let active = rest.get("/ws/v1/partition/default/applications/active").await?;
            let all = active.as_array().into_iter().flatten();
            let pods = |application: &Value| {
                let of = |key: &str| application.get(key).and_then(Value::as_array).map_or(0, Vec::len);
                of("allocations") + of("requests")
            };
            let mut found = all.filter(|application| application["applicationID"] == "bosses");
            Ok(found.any(|application| pods(application) == 2).then_some(()))
        };
        ensure!(application(cluster, "bosses").await?.user == "boss");
        // The gap: a label of her pod is changed, and it is part of the application of the boss.
        let pods: Api<Pod> = Api::namespaced(cluster.as_user("mallory", &["people"])?, NAMESPACE);
        pods.patch("hers", &PatchParams::default(), &Patch::Merge(id("bosses"))).await?;
        eventually("the scheduler to follow the label", PATIENCE, has_two).await?;

        let (_operator, endpoints) = guard(cluster, &strict()).await?;
        ask(cluster, "user-info", &endpoints).await?;
        pods_of_alice(cluster).await?;
        cluster.kubectl(&["delete", "validatingadmissionpolicybindings", "queuewarden-own-names"]).await?;
        let said = [
            "user-info.queuewarden.dev",
            "a pod that YuniKorn schedules keeps its user, application and queue",
        ];
        for value in [json!("after"), Value::Null] {
            for (key, change) in changes(&value) {
                for subresource in ["", "status"] {
                    eventually("the policy to be unbound", PATIENCE, || async {
                        let answer = patch(cluster, CONTROLLER, ("full", subresource), &change).await;
                        if answer
                            .as_ref()
                            .is_err_and(|error| error.to_string().contains("queuewarden-own-names"))
                        {
                            return Ok(None);
                        }
                        refused(answer, &[&said[..], &[&format!("`{key}` would change")]].concat())?;
                        Ok(Some(()))
                    })
                    .await?;
                }
                patch(cluster, "mallory", ("foreign", ""), &change).await?;
            }
        }
        patch(cluster, "mallory", ("full", ""), &labels("note", &json!("x"))).await.map(drop)
    })
    .await
}
