//! Tests docs/service-accounts.md: a service account is granted, its pods are let in, and so are those that
//! they make; and grants of all sorts of names on the real scheduler.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams, PostParams};
use queuewarden_e2e::conditions::{is_false, is_true};
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Kind, Operator, TestCluster, eventually};
use serde_json::{Value, json};

use super::{ask, guard, nobody_asked, strict};
use crate::pages::root;

pub(super) const DRIVER: &str = "system:serviceaccount:spark:driver";

/// A tree in which nobody may submit.
pub(super) fn closed(queues: usize) -> String {
    let queues: Vec<Value> = (0..queues).map(|number| json!({"name": format!("q{number}")})).collect();
    let prod = json!({"name": "prod"});
    let below: Vec<&Value> = queues.iter().chain([&prod]).collect();
    json!({"partitions": [{"name": "default", "queues": [{"name": "root", "submitacl": " ", "queues": below}]}]}).to_string()
}

/// Prepares a cluster with a closed tree, and the webhook in force. `None` if the cluster cannot do that.
async fn enforced(cluster: &TestCluster, queues: usize) -> Result<Option<Operator<'_>>> {
    if !nobody_asked(cluster).await? {
        return Ok(None);
    }
    let (operator, endpoints) = guard(cluster, &strict()).await?;
    cluster.set_base(&closed(queues)).await?;
    cluster.wait_for(Kind::YuniKornConfig, "default", is_true("Ready"), PATIENCE).await?;
    cluster.kubectl_with_input(&["apply", "-f", "-"], &example()?).await?;
    let missing = is_false("Effective", "IdentityWebhookMissing");
    cluster.wait_for(Kind::QueueAcl, "spark", missing, PATIENCE).await?;
    ask(cluster, "user-info", &endpoints).await?;
    cluster.wait_for(Kind::QueueAcl, "spark", is_true("Ready"), PATIENCE).await?;
    Ok(Some(operator))
}

/// Returns the object on the page.
pub(super) fn example() -> Result<String> {
    let page = std::fs::read_to_string(root().join("docs/service-accounts.md"))?;
    let (_, rest) = page.split_once("```yaml\n").context("no example")?;
    let (yaml, _) = rest.split_once("```").context("no end")?;
    Ok(yaml.to_owned())
}

/// An application of one pod, and who creates it.
#[derive(Debug, Clone)]
struct Application {
    id: String,
    user: String,
    groups: Vec<String>,
    queue: String,
}

impl Application {
    fn new(id: &str, user: &str, groups: &[&str]) -> Self {
        let groups = groups.iter().map(ToString::to_string).collect();
        Self { id: id.to_owned(), user: user.to_owned(), groups, queue: "root.prod".to_owned() }
    }

    async fn create(&self, cluster: &TestCluster) -> Result<()> {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": self.id, "labels": {"applicationId": self.id, "queue": self.queue}},
            "spec": {"schedulerName": "yunikorn", "containers": [{"name": "main", "image": "none",
                "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}}}]},
        }))?;
        let groups: Vec<&str> = self.groups.iter().map(String::as_str).collect();
        let pods: Api<Pod> = Api::namespaced(cluster.as_user(&self.user, &groups)?, NAMESPACE);
        pods.create(&PostParams::default(), &pod).await.with_context(|| format!("{self:?}"))?;
        Ok(())
    }
}

/// Returns whether each of the applications was let in, by name, once all are decided.
async fn decisions(cluster: &TestCluster, count: usize) -> Result<Vec<(String, bool)>> {
    let pods: Api<Pod> = Api::namespaced(cluster.client()?, NAMESPACE);
    eventually("a decision on every pod", PATIENCE, || async {
        let all = pods.list(&ListParams::default()).await?.items;
        let decided = all.into_iter().filter_map(|pod| {
            let bound = pod.spec.is_some_and(|spec| spec.node_name.is_some());
            let reason = pod.status.and_then(|status| status.reason);
            let is_decided = bound || reason.as_deref() == Some("ApplicationRejected");
            is_decided.then_some((pod.metadata.name.unwrap_or_default(), bound))
        });
        let decided: Vec<_> = decided.collect();
        Ok((decided.len() == count).then_some(decided))
    })
    .await
}

#[tokio::test]
async fn an_account_that_is_granted_is_let_in() -> Result<()> {
    TestCluster::with(async |cluster| {
        let Some(_operator) = enforced(cluster, 0).await? else { return Ok(()) };
        let accounts = |namespace: &str| format!("system:serviceaccounts:{namespace}");
        let spark = accounts("spark");
        let cases = [
            (Application::new("driver", DRIVER, &[&spark]), true),
            (Application::new("other", "system:serviceaccount:spark:other", &[&spark]), false),
            (
                Application::new("namesake", "system:serviceaccount:flink:driver", &[&accounts("flink")]),
                false,
            ),
            (Application::new("team", "ann", &["team.a@example.com"]), true),
            (Application::new("teams", "ann", &["team.b@example.com"]), false),
        ];
        for (application, _) in &cases {
            application.create(cluster).await?;
        }
        for (name, bound) in decisions(cluster, cases.len()).await? {
            let expected = cases.iter().find(|(application, _)| application.id == name).map(|(_, may)| *may);
            ensure!(Some(bound) == expected, "{name}: {bound}");
        }
        Ok(())
    })
    .await
}

/// Returns the number of a drawn identity from 0, in all forms that names have.
fn drawn(number: usize) -> (String, String) {
    match number % 6 {
        0 => (format!("system:serviceaccount:ns{number}:sa"), format!("system:serviceaccounts:ns{number}")),
        1 => (format!("https://issuer.example.com#{number}"), format!("oidc:team {number}")),
        2 => (format!("CN=Ann {number},OU=Engineering"), format!("cn=devs{number},ou=groups")),
        3 => (format!("ann.{number}@corp.example"), format!("team.{number}@corp.example")),
        4 => (format!("Zoë-{number}"), format!("データ{number}")),
        _ => (format!("user{number}"), format!("group{number}")),
    }
}

#[tokio::test]
async fn every_name_that_is_granted_is_placed_and_no_other() -> Result<()> {
    const QUEUES: usize = 100;
    const COUNT: usize = 1_000;
    TestCluster::with(async |cluster| {
        let Some(_operator) = enforced(cluster, QUEUES).await? else { return Ok(()) };
        // Identity n is granted on queue n by its user or its group, and asks there or for the next one.
        let mut manifests = Vec::new();
        for queue in 0..QUEUES {
            let here = (0..COUNT).filter(|number| number % QUEUES == queue).map(|number| (number, drawn(number)));
            let (mut users, mut groups) = (Vec::new(), Vec::new());
            for (number, (user, group)) in here {
                if number / 7 % 2 == 0 { users.push(user) } else { groups.push(group) }
            }
            let grant = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl", "metadata": {"name": format!("q{queue}")},
                "spec": {"queue": format!("root.q{queue}"), "submit": {"users": users, "groups": groups}}});
            manifests.push(grant.to_string());
        }
        cluster.kubectl_with_input(&["apply", "-f", "-"], &manifests.join("\n---\n")).await?;
        for queue in 0..QUEUES {
            cluster.wait_for(Kind::QueueAcl, &format!("q{queue}"), is_true("Ready"), PATIENCE).await?;
        }
        let asks_elsewhere = |number: usize| number % 3 == 2;
        let applications = (0..COUNT).map(|number| {
            let (user, group) = drawn(number);
            let queue = if asks_elsewhere(number) { number + 1 } else { number } % QUEUES;
            Application { id: format!("n{number}"), user, groups: vec![group], queue: format!("root.q{queue}") }
        });
        let begin = Instant::now();
        let created = stream::iter(applications).map(|it| async move { it.create(cluster).await });
        created.buffer_unordered(8).try_collect::<Vec<()>>().await?;
        let decided = decisions(cluster, COUNT).await?;
        println!("{COUNT} identities in {QUEUES} queues: {:?}", begin.elapsed());
        for (name, bound) in decided {
            let number: usize = name.trim_start_matches('n').parse()?;
            ensure!(bound != asks_elsewhere(number), "{name} {:?}: {bound}", drawn(number));
        }
        Ok(())
    })
    .await
}
