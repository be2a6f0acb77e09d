//! Tests each source of `YuniKorn`'s user of a pod, in each kind that creates pods, while the webhook
//! answers, hangs and is down. The real controllers create the pods, and the real scheduler reports their
//! users.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ::yunikorn::admission::request::{Pod, USER_INFO, USERNAME};
use ::yunikorn::admission::user_info::Source as TakenFrom;
use ::yunikorn::admission::{AccessControl, Operation, Submitter};
use ::yunikorn::version::Version;
use anyhow::{Context as _, Result, bail, ensure};
use futures::future::join_all;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::{TestCluster, eventually, yunikorn};
use serde_json::{Value, json};
use yunikorn_access::running::joins::Running;
use yunikorn_access::user_info::{Given, Moment, Outcome, Owners, Request, Site, decide};

use super::own_names::enforced_alone;
use super::{ask, guard, info, merged, nobody_asked, strict};

/// The kinds, with their groups and resources.
pub(super) const KINDS: [(&str, &str, &str); 8] = [
    ("", "Pod", "pods"),
    ("", "ReplicationController", "replicationcontrollers"),
    ("apps", "Deployment", "deployments"),
    ("apps", "ReplicaSet", "replicasets"),
    ("apps", "StatefulSet", "statefulsets"),
    ("apps", "DaemonSet", "daemonsets"),
    ("batch", "Job", "jobs"),
    ("batch", "CronJob", "cronjobs"),
];

/// Time for the pods of all workloads. A `CronJob` waits for the next minute, and each pod for webhooks that
/// hang.
const MADE: Duration = Duration::from_mins(4);

const MALLORY: &str = "mallory";
const GROUPS: [&str; 2] = ["people", "system:authenticated"];

/// Returns a workload of this kind whose pods have these labels and annotations, and belong to the
/// application `name`.
pub(super) fn workload(kind: &str, name: &str, metadata: &Value) -> Value {
    let container = json!({"name": "main", "image": "none",
        "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}}});
    let labels = json!({"applicationId": name, "yunikorn.apache.org/queue": "root.people", "run": name});
    let mut spec =
        json!({"schedulerName": "yunikorn", "terminationGracePeriodSeconds": 0, "containers": [container]});
    let head = |version: &str| json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}});
    if kind.ends_with("Job") {
        spec = merged(spec, &json!({"restartPolicy": "Never"}));
    }
    let template =
        merged(json!({"metadata": {"labels": labels}, "spec": spec}), &json!({"metadata": metadata}));
    let selector = match kind {
        "ReplicationController" => json!({"run": name}),
        _ => json!({"matchLabels": {"run": name}}),
    };
    match kind {
        "Pod" => merged(template, &head("v1")),
        "Job" => merged(head("batch/v1"), &json!({"spec": {"template": template}})),
        "CronJob" => merged(
            head("batch/v1"),
            &json!({"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}}}),
        ),
        "ReplicationController" => {
            merged(head("v1"), &json!({"spec": {"selector": selector, "template": template}}))
        }
        _ => merged(head("apps/v1"), &json!({"spec": {"selector": selector, "template": template}})),
    }
}

/// Creates an object of one of the [`KINDS`] as this user, who is one of the people.
pub(super) async fn make(
    cluster: &TestCluster,
    user: &str,
    (group, kind, resource): (&str, &str, &str),
    object: &Value,
    dry_run: bool,
) -> Result<String> {
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), resource);
    let client = cluster.as_user(user, &["people"])?;
    let api: Api<DynamicObject> = Api::namespaced_with(client, NAMESPACE, &resource);
    let params = PostParams { dry_run, ..PostParams::default() };
    api.create(&params, &serde_json::from_value(object.clone())?).await?;
    Ok(String::new())
}

/// A source of the user of a pod.
struct Source {
    name: &'static str,
    annotation: Option<String>,
    label: Option<&'static str>,
}

impl Source {
    /// Returns the labels and annotations of the pod.
    fn metadata(&self) -> Value {
        let mut metadata = json!({});
        if let Some(text) = &self.annotation {
            metadata = merged(metadata, &json!({"annotations": {USER_INFO: text}}));
        }
        if let Some(user) = self.label {
            metadata = merged(metadata, &json!({"labels": {USERNAME: user}}));
        }
        metadata
    }

    /// Returns the same pod to the model, with this annotation.
    fn pod(&self, annotation: Option<&str>) -> Pod {
        let one = |key: &str, value: Option<&str>| {
            value.map(|value| (key.to_owned(), value.to_owned())).into_iter().collect()
        };
        Pod { labels: one(USERNAME, self.label), annotations: one(USER_INFO, annotation), ..Pod::default() }
    }

    /// Returns the user of the pod, or `None` if it is refused: by the webhook while it answers, and
    /// otherwise by the API server alone.
    fn expected(&self, webhook: Webhook, version: Version) -> Option<String> {
        let annotation = match webhook {
            Webhook::Answers => Some(self.decided()?),
            Webhook::Hangs | Webhook::IsDown => self.annotation.clone(),
        };
        let submitter = Submitter::from_pod(&self.pod(annotation.as_deref()), version);
        let is_right = match submitter.source {
            TakenFrom::Nothing => annotation.as_deref() != Some(""),
            // It has no groups, so it does not even match her own name.
            TakenFrom::Label => false,
            _ => annotation == Some(info(MALLORY, &GROUPS)),
        };
        is_right.then_some(submitter.user)
    }

    /// Returns the annotation after the webhook, or `None` if the webhook refuses it.
    fn decided(&self) -> Option<String> {
        let site = Site {
            given: self.annotation.clone().map_or(Given::Absent, Given::Text),
            username: self.label.unwrap_or_default().to_owned(),
            changed: true,
            ..Site::default()
        };
        let groups = GROUPS.map(str::to_owned);
        let request = Request {
            operation: Operation::Create,
            kind: "Pod",
            is_replica_set: false,
            user: MALLORY,
            groups: &groups,
            has_templates: true,
            sites: &[site],
            namespace: NAMESPACE,
            running: &Running::default(),
            owners: &Owners::Irrelevant,
            granted: &BTreeSet::new(),
            moment: Moment::Mutating,
        };
        let decision = decide(&request, &AccessControl::from_keys(&BTreeMap::new()).0);
        let written = decision.additions.into_iter().next().map(|addition| addition.text);
        (decision.outcome != Outcome::Refused).then(|| written.or_else(|| self.annotation.clone()))?
    }
}

/// Returns all sources, with the name of another user and with mallory's own.
fn sources() -> Vec<Source> {
    let new = |name, annotation: Option<&str>, label| Source {
        name,
        annotation: annotation.map(str::to_owned),
        label,
    };
    let own = info(MALLORY, &GROUPS);
    vec![
        new("nothing", None, None),
        new("empty", Some(""), None),
        new("label", None, Some("boss")),
        new("empty-label", Some(""), Some("boss")),
        new("own-label", None, Some(MALLORY)),
        new("annotation", Some(r#"{"user":"boss"}"#), None),
        new("own-annotation", Some(&own), None),
        new("own-and-label", Some(&own), Some("boss")),
        new("own-in-groups", Some(r#"{"user":"mallory","groups":["bosses"]}"#), None),
        new("without-user", Some(r#"{"groups":["bosses"]}"#), Some("boss")),
        new("unreadable", Some("boss"), Some("boss")),
        new("odd-case", Some(r#"{"User":"boss"}"#), None),
        new(
            "twice",
            Some(r#"{"user":"mallory","groups":["people","system:authenticated"],"user":"boss"}"#),
            None,
        ),
    ]
}

/// The state of the webhook while a workload is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Webhook {
    Answers,
    Hangs,
    IsDown,
}

impl Webhook {
    fn as_str(self) -> &'static str {
        match self {
            Self::Answers => "up",
            Self::Hangs => "slow",
            Self::IsDown => "down",
        }
    }
}

/// Creates a workload of each source and kind as mallory, and returns the scheduler's user of each, or `None`
/// for each that is refused.
async fn observed(
    cluster: &TestCluster,
    sources: &[Source],
    webhook: Webhook,
) -> Result<BTreeMap<String, Option<String>>> {
    let cells = sources.iter().flat_map(|source| KINDS.map(|kind| (source, kind)));
    let created = join_all(cells.map(async |(source, of)| {
        let name = cell(source, webhook, of.1);
        let object = workload(of.1, &name, &source.metadata());
        (name, make(cluster, MALLORY, of, &object, false).await)
    }));
    let mut users = BTreeMap::new();
    let mut stored = BTreeSet::new();
    for (name, answer) in created.await {
        match answer {
            Ok(_) => {
                stored.insert(name);
            }
            Err(error) => {
                let error = error.to_string();
                let ours = ["queuewarden-own-names", "user-info.queuewarden.dev"];
                ensure!(ours.iter().any(|name| error.contains(name)), "{name}: refused by another: {error}");
                users.insert(name, None);
            }
        }
    }
    let rest = cluster.yunikorn()?;
    let run = eventually("the scheduler to have a pod of each workload", MADE, || async {
        let active = rest.get("/ws/v1/partition/default/applications/active").await?;
        let mut found = BTreeMap::new();
        for application in active.as_array().into_iter().flatten() {
            let text = |key: &str| application.get(key).and_then(Value::as_str).map(str::to_owned);
            let id = text("applicationID").context("an application without an ID")?;
            found.insert(id, text("user"));
        }
        let missing: Vec<_> = stored.iter().filter(|name| !found.contains_key(*name)).collect();
        ensure!(missing.is_empty(), "there are no applications {missing:?}");
        found.retain(|id, _| stored.contains(id));
        Ok(Some(found))
    });
    users.extend(run.await?);
    Ok(users)
}

fn cell(source: &Source, webhook: Webhook, kind: &str) -> String {
    format!("{}-{}-{}", webhook.as_str(), source.name, kind.to_lowercase())
}

#[tokio::test]
async fn no_source_gives_a_pod_a_name_that_its_creator_does_not_have() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        cluster.start_controller_manager().await?;
        let version = yunikorn::version()?;
        let (operator, endpoints) = guard(cluster, &strict()).await?;
        ask(cluster, "user-info", &endpoints).await?;
        enforced_alone(cluster).await?;
        let sources = sources();
        let mut wrong = Vec::new();
        println!("YuniKorn {}; the user of the pods by source, kind and webhook", version.as_str());
        for webhook in [Webhook::Answers, Webhook::Hangs, Webhook::IsDown] {
            match webhook {
                Webhook::Answers => {}
                Webhook::Hangs => operator.process()?.pause()?,
                Webhook::IsDown => operator.kill().await?,
            }
            let users = observed(cluster, &sources, webhook).await?;
            for source in &sources {
                let expected = source.expected(webhook, version);
                let mut shown = Vec::new();
                for (_, kind, _) in KINDS {
                    let name = cell(source, webhook, kind);
                    let user = users.get(&name).with_context(|| format!("nobody looked at {name}"))?;
                    shown.push(user.clone().unwrap_or_else(|| "refused".to_owned()));
                    let is_anothers =
                        user.as_ref().is_some_and(|user| ![MALLORY, "nobody"].contains(&&**user));
                    if is_anothers || *user != expected {
                        wrong.push(format!("{name}: {user:?} instead of {expected:?}"));
                    }
                }
                shown.dedup();
                println!("{:5} {:15} {}", webhook.as_str(), source.name, shown.join(", "));
            }
        }
        if !wrong.is_empty() {
            bail!("{} cells of {}:\n{}", wrong.len(), 3 * sources.len() * KINDS.len(), wrong.join("\n"));
        }
        Ok(())
    })
    .await
}
