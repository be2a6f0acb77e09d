//! Compares profile `yunikorn` with `YuniKorn`'s running admission controller on the same requests: verdict,
//! message and patch are equal, except for the wording of an unreadable `user.info`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ::yunikorn::admission::EXTERNAL_USERS;
use ::yunikorn::admission::request::{ALLOW_PREEMPTION, ENABLE_YUNIKORN, GENERATE_APP_ID, Texts, USER_INFO};
use anyhow::{Context as _, Result, bail, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kube::api::{Api, DeleteParams};
use proptest::strategy::{Strategy, ValueTree as _};
use queuewarden_e2e::oracle::{MutateQuestion, PodFacts, Subject, without_wording};
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Endpoints, TestCluster, eventually, yunikorn};
use serde_json::{Value, json};

use super::{OPEN, guard, nobody_asked};
use crate::admission::texts;
use crate::agreement::{Draw, mutate::questions};

/// Requests under the same keys.
const TOGETHER: usize = 100;
/// Concurrent requests.
const AT_ONCE: usize = 8;
/// Most differences that are printed.
const SHOWN: usize = 5;
/// The name of its webhook, which is also the name in its certificate.
const SERVICE: &str = "yunikorn-admission-controller-service.yunikorn.svc";
const CONFIGURATION: &str = "yunikorn-admission-controller-mutations";
/// Values of the annotations that namespaces may have; `None` for no annotation.
const FLAGS: [Option<&str>; 4] = [None, Some("true"), Some("false"), Some("True")];
const CLASSES: [&str; 3] = ["true", "false", "no"];
/// Namespaces that the webhook always ignores.
const LEFT_ALONE: [&str; 1] = ["kube-system"];

/// The two webhooks to compare.
struct Both {
    client: reqwest::Client,
    theirs: String,
    endpoint: reqwest::Client,
    ours: String,
}

/// The parts of a response that the API server uses.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    allowed: bool,
    message: String,
    patch: Option<String>,
}

impl Both {
    async fn of(cluster: &TestCluster, endpoints: &Endpoints) -> Result<Self> {
        let hooks: Api<MutatingWebhookConfiguration> = Api::all(cluster.client()?);
        let hook = hooks.get(CONFIGURATION).await?.webhooks.unwrap_or_default();
        let bundle = hook.into_iter().next().and_then(|hook| hook.client_config.ca_bundle);
        let authorities = reqwest::Certificate::from_pem_bundle(&bundle.context("no caBundle")?.0)?;
        let client = reqwest::Client::builder()
            .tls_certs_only(authorities)
            .resolve(SERVICE, ([127, 0, 0, 1], 9089).into())
            .timeout(Duration::from_secs(10))
            .no_proxy();
        // From here on only this test calls it: if both are registered, the user-info webhook leaves
        // YuniKorn's part to YuniKorn.
        hooks.delete(CONFIGURATION, &DeleteParams::default()).await?;
        Ok(Self {
            client: client.build()?,
            theirs: format!("https://{SERVICE}:9089/mutate"),
            endpoint: endpoints.client()?,
            ours: endpoints.url("/user-info"),
        })
    }

    /// Returns the answers of `YuniKorn` and of queuewarden.
    async fn ask(&self, review: &Value) -> Result<(Answer, Answer)> {
        let theirs = ask(&self.client, &self.theirs, review);
        let ours = ask(&self.endpoint, &self.ours, review);
        futures::try_join!(theirs, ours)
    }

    /// Waits until both have read keys that let this user's pod name a user, or not.
    async fn read(&self, user: &str, may: bool) -> Result<()> {
        let pod = PodFacts { annotations: texts(&[(USER_INFO, "{}")]), ..PodFacts::default() };
        let question = MutateQuestion {
            operation: "CREATE".to_owned(),
            kind: "Pod".to_owned(),
            namespace: "probe".to_owned(),
            subject: Subject { user: user.to_owned(), groups: Vec::new() },
            pod,
            ..MutateQuestion::default()
        };
        let asked = review(&question);
        eventually(&format!("both to answer {user} with {may}"), PATIENCE, || async {
            let (theirs, ours) = self.ask(&asked).await?;
            ensure!(theirs.allowed == may && ours.allowed == may, "{theirs:?}, {ours:?}");
            Ok(Some(()))
        })
        .await
    }
}

async fn ask(client: &reqwest::Client, url: &str, review: &Value) -> Result<Answer> {
    let answer = client.post(url).header("content-type", "application/json").body(review.to_string());
    let answer: Value = answer.send().await?.error_for_status()?.json().await?;
    let response = answer.get("response").context("no response")?;
    ensure!(
        response.get("uid") == review.pointer("/request/uid"),
        "the answer is to another request: {answer}"
    );
    let text = |pointer: &str| response.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    Ok(Answer {
        allowed: response
            .get("allowed")
            .and_then(Value::as_bool)
            .with_context(|| format!("no verdict: {answer}"))?,
        message: without_wording(text("/status/message").unwrap_or_default()),
        patch: text("/patch"),
    })
}

/// Returns the request as an API server posts it.
fn review(question: &MutateQuestion) -> Value {
    let (group, resource) = match question.kind.as_str() {
        "Deployment" => ("apps", "deployments"),
        "DaemonSet" => ("apps", "daemonsets"),
        "StatefulSet" => ("apps", "statefulsets"),
        "ReplicaSet" => ("apps", "replicasets"),
        "Job" => ("batch", "jobs"),
        "CronJob" => ("batch", "cronjobs"),
        "Pod" => ("", "pods"),
        "ReplicationController" => ("", "replicationcontrollers"),
        _ => ("", "others"),
    };
    let old = (question.operation == "UPDATE").then(|| object(question, &question.old_pod));
    let Subject { user, groups } = &question.subject;
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": group, "version": "v1", "kind": question.kind},
        "resource": {"group": group, "version": "v1", "resource": resource},
        "requestKind": {"group": group, "version": "v1", "kind": question.kind},
        "requestResource": {"group": group, "version": "v1", "resource": resource},
        "name": "asked", "namespace": question.namespace, "operation": question.operation,
        "userInfo": {"username": user, "groups": groups},
        "object": object(question, &question.pod), "oldObject": old, "dryRun": false, "options": null,
    }})
}

fn object(question: &MutateQuestion, pod: &PodFacts) -> Value {
    let spec = json!({"priorityClassName": pod.priority_class, "schedulerName": pod.scheduler_name});
    let template = json!({"metadata": {"labels": pod.labels, "annotations": pod.annotations, "uid": pod.uid}, "spec": spec});
    let spec = match question.kind.as_str() {
        "CronJob" => json!({"jobTemplate": {"spec": {"template": template}}}),
        "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet" | "Job" => json!({"template": template}),
        _ => return template,
    };
    json!({"metadata": {"name": "asked", "namespace": question.namespace}, "spec": spec})
}

/// Returns the request with the cluster's namespaces and classes: generated annotations without a counterpart
/// there are removed.
fn live(mut question: MutateQuestion) -> MutateQuestion {
    if let Some(annotations) = &question.namespace_annotations {
        let flag = |key: &str| {
            let value = annotations.get(key).map(String::as_str);
            FLAGS.iter().position(|flag| *flag == value).unwrap_or(0)
        };
        question.namespace = namespace(flag(ENABLE_YUNIKORN), flag(GENERATE_APP_ID));
    }
    let class = question.priority_class_annotations.as_ref().and_then(|all| all.get(ALLOW_PREEMPTION));
    for pod in [&mut question.pod, &mut question.old_pod] {
        if let (Some(class), false) = (class, pod.priority_class.is_empty()) {
            pod.priority_class = format!("preemption-{class}");
        }
    }
    question
}

fn namespace(enable: usize, generate: usize) -> String {
    format!("ns-{enable}-{generate}")
}

fn fixtures() -> Value {
    let mut items = Vec::new();
    for (enable, enabled) in FLAGS.iter().enumerate() {
        for (generate, generated) in FLAGS.iter().enumerate() {
            let mut annotations = BTreeMap::new();
            annotations.extend(enabled.map(|flag| (ENABLE_YUNIKORN, flag)));
            annotations.extend(generated.map(|flag| (GENERATE_APP_ID, flag)));
            let metadata = json!({"name": namespace(enable, generate), "annotations": annotations});
            items.push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}));
        }
    }
    for class in CLASSES {
        let metadata =
            json!({"name": format!("preemption-{class}"), "annotations": {ALLOW_PREEMPTION: class}});
        items.push(json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": metadata, "value": 1}));
    }
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

/// Puts these keys in force, with an additional external user if that distinguishes them from others. Keys
/// that let only one user pass come first, which shows when the others are read.
async fn put_in_force(cluster: &TestCluster, both: &Both, keys: &Texts, round: usize) -> Result<()> {
    let (before, after) = (format!("before-{round}"), format!("after-{round}"));
    write(cluster, texts(&[(EXTERNAL_USERS, &format!("^{before}$"))])).await?;
    both.read(&before, true).await?;
    both.read("nobody", false).await?;
    let mut keys = keys.clone();
    let list = keys.get(EXTERNAL_USERS).filter(|list| !list.contains('[')).cloned().unwrap_or_default();
    keys.insert(EXTERNAL_USERS.to_owned(), format!("{list},^{after}$"));
    write(cluster, keys).await?;
    both.read(&after, true).await
}

/// Writes the keys to the `ConfigMap` that queuewarden does not write.
async fn write(cluster: &TestCluster, mut keys: Texts) -> Result<()> {
    keys.extend(cluster.needed_defaults());
    keys.insert("queues.yaml".to_owned(), OPEN.to_owned());
    cluster.write_config_map(yunikorn::DEFAULTS, keys).await
}

#[tokio::test]
async fn endpoint_matches_yunikorns_controller() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        cluster.start_admission_controller().await?;
        cluster.apply_text(&fixtures().to_string(), "queuewarden-e2e").await?;
        let (_operator, endpoints) =
            guard(cluster, &json!({"userInfo": {"mode": "Enforce", "profile": "yunikorn"}})).await?;
        let both = Both::of(cluster, &endpoints).await?;
        let Draw { cases, seed, mut runner } = Draw::of(600)?;
        let drawn = questions();
        let (mut done, mut round) = (0, 0);
        let (mut differences, mut verdicts) = (Vec::new(), BTreeSet::new());
        while done < cases && differences.len() < SHOWN {
            let mut draw = || {
                let tree = drawn.new_tree(&mut runner);
                tree.map(|tree| live(tree.current())).map_err(|why| anyhow::anyhow!("no input: {why}"))
            };
            let count = TOGETHER.min(cases - done);
            let asked = (0..count).map(|_| draw()).collect::<Result<Vec<_>>>()?;
            let keys = asked.iter().find_map(|question| question.maps.configs.clone());
            let keys = keys.map(|map| map.data).unwrap_or_default();
            put_in_force(cluster, &both, &keys, round).await?;
            let answers: Vec<(Answer, Answer)> = stream::iter(&asked)
                .map(|question| ask_both(&both, question))
                .buffered(AT_ONCE)
                .try_collect()
                .await?;
            for (question, (theirs, ours)) in asked.iter().zip(&answers) {
                let left_alone = LEFT_ALONE.contains(&question.namespace.as_str());
                let equal = if left_alone { ours.allowed && ours.patch.is_none() } else { theirs == ours };
                verdicts.insert((theirs.allowed, theirs.patch.is_some()));
                done += usize::from(!left_alone);
                if !equal {
                    differences.push(format!(
                        "{keys:?} {question:?}\n    YuniKorn: {theirs:?}\n    queuewarden: {ours:?}"
                    ));
                }
            }
            round += 1;
        }
        ensure!(verdicts.len() == 3, "not all kinds of answers were seen: {verdicts:?}");
        if differences.is_empty() {
            println!("{done} reviews, seed {seed}: every answer is YuniKorn's");
            return Ok(());
        }
        bail!(
            "seed {seed}, {} differences in {done}:\n{}",
            differences.len(),
            differences[..SHOWN.min(differences.len())].join("\n")
        )
    })
    .await
}

async fn ask_both(both: &Both, question: &MutateQuestion) -> Result<(Answer, Answer)> {
    let answers = both.ask(&review(question)).await;
    answers.with_context(|| format!("{question:?}"))
}
