//! Compares `user.info` in a real cluster with the model: the API server's result for requests with
//! `YuniKorn`'s admission controller, and the model's result.
//!
//! All requests except one are dry runs: they still reach the admission controller, and leave no objects.

use std::collections::BTreeMap;

use ::yunikorn::admission::request::{ENABLE_YUNIKORN, GENERATE_APP_ID, USER_INFO};
use ::yunikorn::admission::{self, Conf, Kind, Operation, Outcome, Pod, Request, Surroundings};
use anyhow::{Context as _, Result, bail, ensure};
use k8s_openapi::api::core::v1 as core;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, TestCluster, eventually, yunikorn};
use serde_json::{Value, json};

type Texts = BTreeMap<String, String>;
type Pairs = &'static [(&'static str, &'static str)];

const IGNORED: &str = "queuewarden-e2e-ignored";
const UNLABELLED: &str = "queuewarden-e2e-unlabelled";
const DRY: PostParams = PostParams { dry_run: true, field_manager: None };

/// A request that goes to the API server and to the model.
#[derive(Debug, Clone)]
struct Case {
    operation: Operation,
    kind: &'static str,
    namespace: &'static str,
    user: &'static str,
    groups: &'static [&'static str],
    labels: Texts,
    annotations: Texts,
}

fn create(kind: &'static str, user: &'static str, user_info: Option<&str>) -> Case {
    Case {
        operation: Operation::Create,
        kind,
        namespace: NAMESPACE,
        user,
        groups: &["devs"],
        labels: texts(&[("applicationId", "app-1")]),
        annotations: user_info.map(|text| (USER_INFO.to_owned(), text.to_owned())).into_iter().collect(),
    }
}

impl Case {
    fn within(self, namespace: &'static str) -> Self {
        Self { namespace, ..self }
    }

    fn labels(self, labels: Pairs) -> Self {
        Self { labels: texts(labels), ..self }
    }

    fn groups(self, groups: &'static [&'static str]) -> Self {
        Self { groups, ..self }
    }

    fn annotated(mut self, annotations: Pairs) -> Self {
        self.annotations.extend(texts(annotations));
        self
    }

    fn updating(self) -> Self {
        Self { operation: Operation::Update, ..self }
    }
}

pub(crate) fn texts(pairs: &[(&str, &str)]) -> Texts {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

const BOB: Option<&str> = Some(r#"{"user":"bob","groups":["ops"]}"#);
const CONTROLLER: &str = "system:serviceaccount:kube-system:job-controller";

/// Returns cases with the default keys, except `ext`.
fn usual() -> Vec<Case> {
    vec![
        create("Pod", "alice", None),
        create("Pod", "alice", None).labels(&[]),
        create("Pod", "alice", None)
            .labels(&[("yunikorn.apache.org/app-id", "a"), ("yunikorn.apache.org/queue", "root.q")]),
        create("Pod", "alice", None)
            .annotated(&[("note", "<é>"), ("yunikorn.apache.org/allow-preemption", "false")]),
        create("Pod", "alice", None).groups(&[]),
        create("Pod", "a&b<c>@example.com", None).groups(&["g&h", "oidc:devs"]),
        create("Pod", "alice", BOB),
        create("Pod", "alice", Some("")),
        create("Pod", "ext", BOB),
        create("Pod", "ext", Some(r#"{"USER":"x","groups":[null,"a"]}"#)),
        create("Pod", "ext", Some("")),
        create("Pod", "ext", Some("xyz")),
        create("Pod", "ext", Some(r#"{"user":1}"#)),
        create("Pod", "ext", Some(r#"{"user":"a"} x"#)),
        create("Pod", "ext", Some("tru")),
        create("Pod", "ext", Some(r#"{"user":"a","groups":"g"}"#)),
        create("Pod", "carol", BOB).groups(&["x", "extgrp"]),
        create("Pod", CONTROLLER, BOB),
        create("Pod", "alice", BOB).labels(&[("app", "yunikorn")]),
        create("Pod", "alice", None).labels(&[("app", "yunikorn")]),
        create("Pod", "alice", None).within(IGNORED),
        create("Pod", "alice", BOB).within(IGNORED),
        create("Pod", "alice", None).within(UNLABELLED),
        create("Pod", "ext", BOB).within(UNLABELLED),
        create("Pod", "alice", None).within("kube-system"),
        create("Pod", "alice", None).updating(),
        create("Pod", "ext", BOB).updating(),
        create("Deployment", "alice", None),
        create("Deployment", "alice", BOB),
        create("Deployment", "ext", BOB),
        create("Deployment", "alice", BOB).within(UNLABELLED).labels(&[]),
        create("Deployment", "alice", BOB).within(IGNORED),
        create("StatefulSet", "alice", None).labels(&[]),
        create("DaemonSet", "alice", BOB),
        create("ReplicaSet", "alice", None),
        create("ReplicaSet", CONTROLLER, None),
        create("Job", "alice", None),
        create("Job", "ext", Some("{")),
        create("CronJob", "alice", None),
        create("CronJob", "alice", BOB),
    ]
}

fn of_everyone() -> Vec<Case> {
    vec![
        create("Pod", "alice", None),
        create("Pod", "alice", BOB),
        create("Pod", "alice", Some("xyz")),
        create("Deployment", "alice", None),
    ]
}

fn of_nobody() -> Vec<Case> {
    vec![
        create("Pod", CONTROLLER, BOB),
        create("Pod", CONTROLLER, None),
        create("ReplicaSet", CONTROLLER, BOB),
    ]
}

#[tokio::test]
async fn api_server_answers_match_the_model() -> Result<()> {
    TestCluster::with(async |cluster| {
        // One pod is older than the admission controller, which existing clusters cannot start later.
        if !cluster.can_run(&[Capability::AdmissionProcess, Capability::SchedulerProcess])? {
            return Ok(());
        }
        cluster.apply_text(FIXTURES, "queuewarden-e2e").await?;
        cluster.kubectl_with_input(&["apply", "-f", "-"], OLD_POD).await?;
        cluster.start_admission_controller().await?;
        let key = |name: &str| format!("admissionController.accessControl.{name}");
        let configurations = [
            (
                texts(&[(&key("externalUsers"), "^ext$,^probe-1$"), (&key("externalGroups"), "^extgrp$")]),
                usual(),
            ),
            (texts(&[(&key("bypassAuth"), "true")]), of_everyone()),
            (
                texts(&[(&key("trustControllers"), "false"), (&key("externalUsers"), "^probe-3$")]),
                of_nobody(),
            ),
        ];
        let mut differences = Vec::new();
        for ((keys, cases), probe) in configurations.into_iter().zip(["probe-1", "probe-2", "probe-3"]) {
            cluster.write_config_map(yunikorn::CONFIGS, keys.clone()).await?;
            wait_until_read(cluster, probe).await?;
            let conf = Conf::from_keys(&keys, yunikorn::version()?).0;
            for case in cases {
                if let Err(difference) = compare(cluster, &case, &conf).await {
                    differences.push(format!("{case:?}\n    {difference:#}"));
                }
            }
        }
        ensure!(differences.is_empty(), "{}", differences.join("\n"));
        Ok(())
    })
    .await
}

/// Waits until the admission controller has read its new keys and namespaces. Only under the new keys may
/// this user set `user.info`.
async fn wait_until_read(cluster: &TestCluster, probe: &'static str) -> Result<()> {
    eventually(&format!("the admission controller to let {probe} through"), PATIENCE, || async {
        let mut read = true;
        for (namespace, expected) in [(IGNORED, "default-scheduler"), (UNLABELLED, "yunikorn")] {
            let case = create("Pod", probe, Some("{}")).within(namespace);
            let Ok(pod) = ask(cluster, &case).await? else { return Ok(None) };
            let pod: core::Pod = serde_json::from_value(pod)?;
            let marked = pod.annotations().contains_key("yunikorn.apache.org/ignore-application");
            let scheduler = pod.spec.and_then(|spec| spec.scheduler_name);
            read &= scheduler.as_deref() == Some(expected) && marked == (namespace == UNLABELLED);
        }
        Ok(read.then_some(()))
    })
    .await
}

/// Returns the object as the API server would store it, or its refusal.
async fn ask(cluster: &TestCluster, case: &Case) -> Result<Result<Value, String>> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group(case.kind), "v1", case.kind));
    let client = cluster.as_user(case.user, case.groups)?;
    let api: Api<DynamicObject> = Api::namespaced_with(client, case.namespace, &resource);
    let answer = match case.operation {
        Operation::Update => {
            let admin: Api<DynamicObject> =
                Api::namespaced_with(cluster.client()?, case.namespace, &resource);
            let mut object = admin.get("old").await?;
            object.metadata.annotations = Some(case.annotations.clone());
            api.replace("old", &DRY, &object).await
        }
        _ => api.create(&DRY, &serde_json::from_value(object(case))?).await,
    };
    match answer {
        Ok(object) => Ok(Ok(serde_json::to_value(object)?)),
        Err(kube::Error::Api(status)) if status.message.contains("denied the request") => {
            Ok(Err(status.message.clone()))
        }
        Err(error) => Err(error.into()),
    }
}

async fn compare(cluster: &TestCluster, case: &Case, conf: &Conf) -> Result<()> {
    let evaluation = admission::evaluate(&request(case), &surroundings(case.namespace), conf);
    match (&evaluation.outcome, ask(cluster, case).await?) {
        (Outcome::Denied(message), Err(theirs)) => {
            // Invalid JSON is reported in our own words; the refusal and its cause are the same.
            let unreadable = message.contains(" cannot be read: ")
                && ["json: ", "invalid character", "unexpected end of JSON"]
                    .iter()
                    .any(|it| theirs.contains(it));
            ensure!(
                unreadable || theirs.ends_with(&format!("denied the request: {message}")),
                "{message:?}, but {theirs:?}"
            );
        }
        (Outcome::Allowed, Ok(object)) => {
            let template = object.pointer(template(case.kind)).context("no template")?;
            let annotations = stored(template.pointer("/metadata/annotations"))?;
            ensure!(
                annotations == evaluation.pod.annotations,
                "{:?}, but {annotations:?}",
                evaluation.pod.annotations
            );
            if case.kind == "Pod" {
                let labels = stored(template.pointer("/metadata/labels"))?;
                ensure!(labels == evaluation.pod.labels, "{:?}, but {labels:?}", evaluation.pod.labels);
                let scheduler = template.pointer("/spec/schedulerName").and_then(Value::as_str);
                ensure!(scheduler == Some(evaluation.pod.scheduler_name.as_str()), "scheduler {scheduler:?}");
            }
        }
        (ours, theirs) => bail!("{ours:?}, but {theirs:?}"),
    }
    Ok(())
}

fn stored(texts: Option<&Value>) -> Result<Texts> {
    texts.map_or_else(|| Ok(Texts::new()), |texts| serde_json::from_value(texts.clone()).context("no texts"))
}

/// Returns the request as the admission controller receives it: the user is authenticated, and the scheduler
/// name has its default.
fn request(case: &Case) -> Request {
    let mut groups: Vec<String> = case.groups.iter().map(ToString::to_string).collect();
    groups.push("system:authenticated".to_owned());
    let pod = |annotations: Texts| Pod {
        labels: case.labels.clone(),
        annotations,
        scheduler_name: "default-scheduler".to_owned(),
        ..Pod::default()
    };
    Request {
        operation: case.operation,
        kind: Kind::parse(group(case.kind), case.kind),
        namespace: case.namespace.to_owned(),
        user: case.user.to_owned(),
        groups,
        pod: pod(case.annotations.clone()),
        old_pod: pod(Texts::new()),
    }
}

fn surroundings(namespace: &str) -> Surroundings {
    let annotations: Pairs = match namespace {
        IGNORED => &[(ENABLE_YUNIKORN, "false")],
        UNLABELLED => &[(GENERATE_APP_ID, "false")],
        _ => &[],
    };
    Surroundings { namespace_annotations: texts(annotations), ..Surroundings::default() }
}

fn group(kind: &str) -> &'static str {
    match kind {
        "Pod" => "",
        "Job" | "CronJob" => "batch",
        _ => "apps",
    }
}

/// Returns the path of the pod template.
fn template(kind: &str) -> &'static str {
    match kind {
        "Pod" => "",
        "CronJob" => "/spec/jobTemplate/spec/template",
        _ => "/spec/template",
    }
}

fn object(case: &Case) -> Value {
    let group = group(case.kind);
    let restart = if group == "batch" { "Never" } else { "Always" };
    let spec = json!({"restartPolicy": restart, "containers": [{"name": "c", "image": "i"}]});
    let mut labels = case.labels.clone();
    if group == "apps" {
        labels.insert("selected".to_owned(), "yes".to_owned());
    }
    let template = json!({"metadata": {"labels": labels, "annotations": case.annotations}, "spec": spec});
    let selector = json!({"matchLabels": {"selected": "yes"}});
    let spec = match case.kind {
        "Pod" => spec,
        "CronJob" => json!({"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": template}}}),
        "Job" => json!({"template": template}),
        "StatefulSet" => json!({"template": template, "selector": selector, "serviceName": "s"}),
        _ => json!({"template": template, "selector": selector}),
    };
    let (version, annotations) = match case.kind {
        "Pod" => ("v1".to_owned(), case.annotations.clone()),
        _ => (format!("{group}/v1"), Texts::new()),
    };
    let metadata =
        json!({"name": "asked", "namespace": case.namespace, "labels": labels, "annotations": annotations});
    json!({"apiVersion": version, "kind": case.kind, "metadata": metadata, "spec": spec})
}

/// A pod that existed before the admission controller, and therefore has no `user.info`.
const OLD_POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: old, namespace: queuewarden-e2e, labels: {applicationId: app-1}},
    spec: {containers: [{name: c, image: i}]}}";

/// Additional namespaces, where everyone has the same permissions as in the usual one.
const FIXTURES: &str = r#"
{apiVersion: v1, kind: Namespace, metadata: {name: queuewarden-e2e-ignored, annotations: {yunikorn.apache.org/namespace.enableYuniKorn: "false"}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: queuewarden-e2e-unlabelled, annotations: {yunikorn.apache.org/namespace.generateAppId: "false"}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: queuewarden-e2e-workloads}
rules: [{apiGroups: ["", apps, batch], resources: [pods, deployments, replicasets, statefulsets, daemonsets, jobs, cronjobs], verbs: [create, update]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: queuewarden-e2e-workloads, namespace: queuewarden-e2e-ignored}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:authenticated"}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: queuewarden-e2e-workloads}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: queuewarden-e2e-workloads, namespace: queuewarden-e2e-unlabelled}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:authenticated"}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: queuewarden-e2e-workloads}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: queuewarden-e2e-workloads, namespace: kube-system}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:authenticated"}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: queuewarden-e2e-workloads}
"#;
