//! Tests aliases, the groups that represent names which ACLs cannot hold: the webhook writes the aliases of
//! the names in an annotation, and no one gets an alias of another user.

use anyhow::{Context as _, Result, bail, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::Api;
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{TestCluster, eventually};
use serde_json::{Value, json};
use yunikorn::admission::UserInfo;
use yunikorn::admission::request::USER_INFO;
use yunikorn_access::alias::{Kind, alias};

use super::{
    application, ask, controller, create, guard, info, kubectl, merged, nobody_asked, pod, refused, strict,
};

/// The account whose alias the attackers try to get.
const BOSS: &str = "system:serviceaccount:spark:boss";
/// A user that the policy lets name others.
const AIRFLOW: &str = "airflow";
const REPLICA_SETS: &str = "system:serviceaccount:kube-system:replicaset-controller";
const JOBS: &str = "system:serviceaccount:kube-system:job-controller";
const STATEFUL_SETS: &str = "system:serviceaccount:kube-system:statefulset-controller";
const DEPLOYMENTS: &str = "system:serviceaccount:kube-system:deployment-controller";
/// The operator of `SparkApplication`s, which the policy lets name others.
const SPARK: &str = "system:serviceaccount:spark:operator";

fn boss() -> String {
    alias(Kind::User, BOSS)
}

/// Returns the annotation that names a user with these groups.
fn names(user: &str, groups: &[&str]) -> Value {
    json!({USER_INFO: info(user, groups)})
}

/// Returns the annotation that names mallory, with the alias of boss.
fn forged() -> Value {
    names("mallory", &["people", "system:authenticated", &boss()])
}

/// Returns an annotation with this text, replacing `ALIAS` with the alias of boss.
fn text(text: &str) -> Value {
    json!({USER_INFO: text.replace("ALIAS", &boss())})
}

/// A request that would give someone the alias of boss.
struct Attempt {
    user: &'static str,
    /// Groups that the requester claims to be authenticated with.
    groups: Vec<String>,
    args: Vec<String>,
    object: Value,
}

fn new(user: &'static str, object: Value) -> Attempt {
    let args = ["create", "--dry-run=server", "-o", "json", "-f", "-"].map(str::to_owned).to_vec();
    Attempt { user, groups: Vec::new(), args, object }
}

/// Changes an object of NAMESPACE, with additional arguments of `kubectl patch`.
fn change(user: &'static str, what: &[&str], patch: &Value) -> Attempt {
    let patch = patch.to_string();
    let fixed = ["patch", "-n", NAMESPACE, "--dry-run=server", "-o", "json", "--type=merge", "-p", &patch];
    let args = fixed.iter().chain(what).map(ToString::to_string).collect();
    Attempt { user, groups: Vec::new(), args, object: Value::Null }
}

impl Attempt {
    /// Makes the request. Fails unless queuewarden or its policy refuses it, or the object that would be
    /// stored does not contain the alias.
    async fn fails(&self, cluster: &TestCluster) -> Result<()> {
        let user = format!("--as={}", self.user);
        let groups: Vec<String> = self.groups.iter().map(|group| format!("--as-group={group}")).collect();
        let mut args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        args.extend([user.as_str(), "--as-group=people", "--as-group=system:authenticated"]);
        args.extend(groups.iter().map(String::as_str));
        let answer = cluster.kubectl_with_input(&args, &self.object.to_string()).await;
        match answer {
            Ok(stored) => {
                let stored: Value = serde_json::from_str(&stored)?;
                let texts = texts(&stored);
                let has_alias =
                    |text: &&str| UserInfo::read(text).is_ok_and(|info| info.groups.contains(&boss()));
                ensure!(!texts.iter().any(has_alias), "{} got the alias: {texts:?}", self.user);
            }
            Err(error) => {
                let error = error.to_string();
                let ours =
                    error.contains("user-info.queuewarden.dev") || error.contains("queuewarden-own-names");
                ensure!(ours, "refused by another: {error}");
            }
        }
        Ok(())
    }
}

/// Returns all annotations `user.info` in an object.
fn texts(object: &Value) -> Vec<&str> {
    match object {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(key, value)| match value.as_str() {
                Some(text) if key == USER_INFO => vec![text],
                _ => texts(value),
            })
            .collect(),
        Value::Array(all) => all.iter().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// Returns a pod that every namespace accepts.
pub(super) fn pod_in(namespace: &str, annotations: &Value) -> Value {
    let spec = json!({
        "securityContext": {"runAsNonRoot": true, "runAsUser": 1, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "main", "image": "none",
            "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}],
    });
    merged(pod("p", namespace, annotations), &json!({"spec": spec}))
}

/// Returns one object of each kind that the webhook knows, with these annotations on its pods.
fn kinds(annotations: &Value) -> Vec<Value> {
    let never = json!({"spec": {"template": {"spec": {"restartPolicy": "Never"}}}});
    let job = merged(controller("Job", "o", annotations), &never);
    let job = merged(job, &json!({"apiVersion": "batch/v1", "spec": {"selector": null, "replicas": null}}));
    let spec = job.get("spec").cloned().unwrap_or_default();
    let cron_job = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "o", "namespace": NAMESPACE},
        "spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": spec}}});
    let revision = json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "o", "namespace": NAMESPACE},
        "revision": 1, "data": {"spec": {"template": {"metadata": {"annotations": annotations}}}}});
    let mut all =
        vec![pod_in(NAMESPACE, annotations), job, cron_job, revision, application_of_spark(annotations)];
    all.extend(
        ["Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"]
            .map(|kind| controller(kind, "o", annotations)),
    );
    all.push(merged(controller("DaemonSet", "o", annotations), &json!({"spec": {"replicas": null}})));
    all
}

fn application_of_spark(annotations: &Value) -> Value {
    json!({"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "metadata": {"name": "o", "namespace": NAMESPACE},
        "spec": {"driver": {"cores": 1, "annotations": annotations}, "executor": {"instances": 1}}})
}

/// Returns the attempts to create something with the alias.
fn created() -> Vec<Attempt> {
    let mut all: Vec<Attempt> = kinds(&forged()).into_iter().map(|object| new("mallory", object)).collect();
    // Spellings of the same.
    for spelled in [
        r#"{"user":"mallory","groups":["people","system:authenticated","\u0071ALIAS"]}"#
            .replace("\\u0071ALIAS", &boss().replacen('q', "\\u0071", 1)),
        r#"{"user":"mallory","groups":["people","system:authenticated","ESCAPED"]}"#
            .replace("ESCAPED", &boss().replacen("w-", "\\u0077\\u002d", 1)),
        r#"{"groups":["ALIAS","people","system:authenticated"],"user":"mallory"}"#.to_owned(),
        r#"{"user":"mallory","groups":["people","system:authenticated"],"groups":["ALIAS"]}"#.to_owned(),
        r#"{"user":"mallory","groups":["people","system:authenticated"],"Groups":["ALIAS"]}"#.to_owned(),
        r#"{"user":"mallory","groups":["ALIAS"]}"#.to_owned(),
        r#"{"user":"qw-user:mallory","groups":["people","system:authenticated","ALIAS"]}"#.to_owned(),
        format!(r#"{{"user":"{BOSS}","groups":["ALIAS"]}}"#),
        r#"{"groups":["ALIAS"]}"#.to_owned(),
    ] {
        all.push(new("mallory", pod_in(NAMESPACE, &text(&spelled))));
        all.push(new("mallory", controller("Deployment", "o", &text(&spelled))));
    }
    // The requester actually is in a group of that name.
    for annotations in [json!({}), forged()] {
        for object in kinds(&annotations) {
            all.push(Attempt { groups: vec![boss()], ..new("mallory", object) });
        }
    }
    // Namespaces that are left alone otherwise.
    for namespace in ["default", "yunikorn", "queuewarden-system"] {
        all.push(new("mallory", pod_in(namespace, &forged())));
        all.push(new(AIRFLOW, pod_in(namespace, &names("alice", &["people", &boss()]))));
        all.push(new(REPLICA_SETS, pod_in(namespace, &forged())));
        all.push(Attempt { groups: vec![boss()], ..new("mallory", pod_in(namespace, &forged())) });
    }
    // Users who may name others, and controllers that copy older templates.
    for annotations in [
        forged(),
        names("alice", &[&boss()]),
        text(&format!(r#"{{"user":"alice","groups":["{}"]}}"#, boss().replacen('q', "\\u0071", 1))),
    ] {
        for user in [AIRFLOW, SPARK, REPLICA_SETS, JOBS, STATEFUL_SETS] {
            all.push(new(user, pod_in(NAMESPACE, &annotations)));
        }
        all.push(new(DEPLOYMENTS, controller("ReplicaSet", "o", &annotations)));
        all.push(new(AIRFLOW, controller("Deployment", "o", &annotations)));
    }
    all
}

/// Returns the attempts to change what exists: the Deployment `hers` and the pod `hers` of mallory without
/// the alias, and the Deployment `old` with it.
fn changed() -> Vec<Attempt> {
    let template =
        |annotations: &Value| json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
    let metadata = |annotations: &Value| json!({"metadata": {"annotations": annotations}});
    let hidden = text(&format!(
        r#"{{"user":"mallory","groups":["people","system:authenticated","{}"]}}"#,
        boss().replacen('q', "\\u0071", 1)
    ));
    let mut all = Vec::new();
    for annotations in [forged(), hidden.clone(), names(BOSS, &[&boss()])] {
        all.push(change("mallory", &["deployment", "hers"], &template(&annotations)));
        all.push(change("mallory", &["pod", "hers"], &metadata(&annotations)));
        all.push(change("mallory", &["pod", "hers", "--subresource=status"], &metadata(&annotations)));
    }
    for annotations in [forged(), hidden, names("alice", &[&boss()])] {
        all.push(change(AIRFLOW, &["deployment", "hers"], &template(&annotations)));
    }
    // Left out, it comes back without.
    all.push(change("mallory", &["deployment", "old"], &template(&json!({USER_INFO: null}))));
    all
}

/// Binds the pod `hers` with these annotations, as any user.
async fn binds(cluster: &TestCluster, annotations: &Value) -> Result<()> {
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "node"},
        "metadata": {"name": "hers", "annotations": annotations}});
    let path = format!("/api/v1/namespaces/{NAMESPACE}/pods/hers/binding");
    let answer =
        cluster.kubectl_with_input(&["create", "--raw", &path, "-f", "-"], &binding.to_string()).await;
    refused(answer, &["queuewarden-own-names"])
}

async fn all_fail(cluster: &TestCluster, attempts: &[Attempt], when: &str) -> Result<()> {
    let mut got = Vec::new();
    for (number, attempt) in attempts.iter().enumerate() {
        if let Err(error) = attempt.fails(cluster).await {
            got.push(format!(
                "{number} by {} {:?} {}: {error:#}",
                attempt.user, attempt.args, attempt.object
            ));
        }
    }
    if got.is_empty() { Ok(()) } else { bail!("{when}:\n{}", got.join("\n")) }
}

#[tokio::test]
async fn nobody_forges_or_carries_an_alias() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        create(cluster, "mallory", &controller("Deployment", "old", &forged())).await?;
        let unchecked = new("mallory", pod_in(NAMESPACE, &forged()));
        ensure!(unchecked.fails(cluster).await.is_err(), "without the webhook everybody has what they write");
        let policy =
            merged(strict(), &json!({"externalUsers": [format!("^{AIRFLOW}$"), format!("^{SPARK}$")]}));
        let (operator, endpoints) = guard(cluster, &policy).await?;
        ask(cluster, "user-info", &endpoints).await?;
        for object in [controller("Deployment", "hers", &json!({})), pod("hers", NAMESPACE, &json!({}))] {
            create(cluster, "mallory", &object).await?;
        }
        let (created, changed) = (created(), changed());
        ensure!(created.len() + changed.len() >= 50);
        all_fail(cluster, &created, "created").await?;
        all_fail(cluster, &changed, "changed").await?;
        binds(cluster, &forged()).await?;

        // The pods of an older Deployment get only aliases of their own user.
        let copied = pod_in(NAMESPACE, &forged());
        let dry = ["create", "--dry-run=server", "-o", "json"];
        let stored: Value = serde_json::from_str(&kubectl(cluster, REPLICA_SETS, &dry, &copied).await?)?;
        let mine = r#"{"user":"mallory","groups":["people","system:authenticated"]}"#;
        ensure!(texts(&stored) == [mine], "{:?}", texts(&stored));

        operator.kill().await?;
        // Custom resources are checked only by the webhook, which has failurePolicy: Ignore; their pods are
        // not.
        let of_kubernetes =
            |attempt: &Attempt| attempt.object.get("kind") != Some(&json!("SparkApplication"));
        let created: Vec<Attempt> = created.into_iter().filter(of_kubernetes).collect();
        all_fail(cluster, &created, "created while queuewarden is down").await?;
        all_fail(cluster, &changed, "changed while queuewarden is down").await?;
        binds(cluster, &forged()).await?;
        // Others do not wait.
        create(cluster, "alice", &pod("alices", NAMESPACE, &json!({}))).await?;
        create(cluster, REPLICA_SETS, &pod("copied", NAMESPACE, &names("alice", &["people"]))).await.map(drop)
    })
    .await
}

#[tokio::test]
async fn account_gets_its_aliases_with_yunikorns_controller() -> Result<()> {
    const DRIVER: &str = "system:serviceaccount:spark:driver";
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        cluster.start_admission_controller().await?;
        cluster.start_controller_manager().await?;
        let (_operator, endpoints) = guard(cluster, &strict()).await?;
        ask(cluster, "user-info", &endpoints).await?;
        let groups = ["people", "system:serviceaccounts:spark", "system:authenticated"];
        let expected: Vec<String> = groups
            .map(str::to_owned)
            .into_iter()
            .chain([alias(Kind::User, DRIVER), alias(Kind::Group, "system:serviceaccounts:spark")])
            .collect();
        let submit = async |object: Value| {
            let user = format!("--as={DRIVER}");
            let groups = groups.map(|group| format!("--as-group={group}"));
            let args = ["create", "-f", "-", &user, &groups[0], &groups[1], &groups[2]];
            cluster.kubectl_with_input(&args, &object.to_string()).await
        };
        submit(pod("direct", NAMESPACE, &json!({}))).await?;
        let scheduled = application(cluster, "direct").await?;
        ensure!((scheduled.user.as_str(), &scheduled.groups) == (DRIVER, &expected), "{scheduled:?}");

        // The same applies to pods that a controller creates from a template without the annotation.
        submit(controller("Deployment", "of-template", &json!({}))).await?;
        let pods: Api<Pod> = Api::namespaced(cluster.client()?, NAMESPACE);
        let made = eventually("a pod of the Deployment", PATIENCE, || async {
            let found = pods.list(&kube::api::ListParams::default().labels("run=of-template")).await?;
            Ok(found.items.into_iter().next())
        })
        .await?;
        let text = made.annotations().get(USER_INFO).context("nobody is named")?;
        ensure!(*text == info(DRIVER, &expected), "{text}");
        ensure!(application(cluster, "of-template").await?.groups == expected);
        Ok(())
    })
    .await
}
