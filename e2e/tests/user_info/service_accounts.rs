//! Tests docs/service-accounts.md: a service account gets a grant, its pods are admitted, and so are the pods
//! that they create; and grants of all kinds of names on the real scheduler.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams, PostParams};
use queuewarden_e2e::conditions::{is_false, is_true};
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Kind, Operator, TestCluster, eventually};
use serde_json::{Value, json};

use super::names::Draw;
use super::{ask, guard, nobody_asked, strict};
use crate::agreement::{CASES, SEED, number};
use crate::pages::root;

pub(super) const DRIVER: &str = "system:serviceaccount:spark:driver";

/// A tree where no one may submit.
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

/// Returns whether each of the applications was admitted, by name, once all are decided.
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
async fn granted_account_is_admitted() -> Result<()> {
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

/// Names that YuniKorn drops do not take access from anyone before the webhook is installed, and do not give
/// any back after it is removed.
#[tokio::test]
async fn unwritable_names_lock_no_one_out() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        let (_operator, endpoints) = guard(cluster, &strict()).await?;
        let open = closed(0).replace(r#""name":"prod""#, r#""name":"prod","submitacl":" devs""#);
        ensure!(open.contains("devs"), "{open}");
        cluster.set_base(&open).await?;
        cluster.wait_for(Kind::YuniKornConfig, "default", is_true("Ready"), PATIENCE).await?;
        let grant = json!({
            "apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl", "metadata": {"name": "data"},
            "spec": {"queue": "root.prod", "submit": {"groups": ["data.eng"]}},
        });
        cluster.apply_text(&grant.to_string(), "e2e").await?;
        let refused = is_false("Accepted", "IdentityWebhookMissing");
        let message = cluster.wait_for(Kind::QueueAcl, "data", refused, PATIENCE).await?.message;
        ensure!(message.contains("group data.eng has a dot, which YuniKorn drops"), "{message}");
        ensure!(message.contains("kubectl apply -k manifests/user-info"), "{message}");
        let devs = async || anyhow::Ok(cluster.submit("ann", &["devs"], "root.prod").await?.is_allowed());
        ensure!(devs().await?, "nobody is locked out");
        ask(cluster, "user-info", &endpoints).await?;
        cluster.wait_for(Kind::QueueAcl, "data", is_true("Ready"), PATIENCE).await?;
        ensure!(!devs().await?, "the base gives way to a grant in force");
        let webhook = "zz-queuewarden-user-info";
        cluster.kubectl(&["delete", "mutatingwebhookconfiguration", webhook]).await?;
        let missing = is_false("Effective", "IdentityWebhookMissing");
        cluster.wait_for(Kind::QueueAcl, "data", missing, PATIENCE).await?;
        cluster.wait_for(Kind::QueueAcl, "data", is_true("Accepted"), PATIENCE).await?;
        ensure!(!devs().await?, "nothing comes back");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn only_granted_names_are_placed() -> Result<()> {
    const QUEUES: usize = 120;
    let count = number(CASES)?.map_or(Ok(1_000), usize::try_from)?;
    let seed = number(SEED)?.unwrap_or(1);
    let Draw { identities, grants } = Draw::of(seed, count, QUEUES);
    TestCluster::with(async |cluster| {
        let Some(_operator) = enforced(cluster, QUEUES).await? else { return Ok(()) };
        let granting: Vec<usize> = (0..QUEUES).filter(|queue| grants.acl(*queue).is_some()).collect();
        let acls: Vec<String> =
            granting.iter().filter_map(|queue| grants.acl(*queue)).map(|acl| acl.to_string()).collect();
        cluster.kubectl_with_input(&["apply", "-f", "-"], &acls.join("\n---\n")).await?;
        for queue in granting {
            cluster.wait_for(Kind::QueueAcl, &format!("q{queue}"), is_true("Ready"), PATIENCE).await?;
        }
        let begin = Instant::now();
        let applications = identities.iter().enumerate().map(|(number, who)| Application {
            id: format!("n{number}"),
            user: who.user.clone(),
            groups: who.groups.clone(),
            queue: format!("root.q{}", who.queue),
        });
        let created = stream::iter(applications).map(|it| async move { it.create(cluster).await });
        let created: Vec<Result<()>> = created.buffer_unordered(8).collect().await;
        let refused: Vec<_> = created.into_iter().filter_map(Result::err).collect();
        ensure!(refused.is_empty(), "{SEED}={seed}: {refused:#?}");
        let decided = decisions(cluster, count).await?;
        let granted = identities.iter().filter(|who| grants.has(who)).count();
        println!(
            "{SEED}={seed}: {count} identities in {QUEUES} queues, {granted} granted: {:?}",
            begin.elapsed()
        );
        let mut wrong = Vec::new();
        for (name, bound) in decided {
            let who =
                identities.get(name.trim_start_matches('n').parse::<usize>()?).context("no identity")?;
            if bound != grants.has(who) {
                wrong.push(format!("{who:?}: bound {bound}"));
            }
        }
        ensure!(wrong.is_empty(), "{SEED}={seed}: {} wrong:\n{}", wrong.len(), wrong.join("\n"));
        ensure!((count / 3..count * 2 / 3).contains(&granted), "{granted} of {count} are granted");
        Ok(())
    })
    .await
}
