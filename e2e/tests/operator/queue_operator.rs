//! Tests queuewarden together with `YuniKorn`'s queue operator, planned for 1.10 (k8shim pull request 1049),
//! which [`QueueOperator`] imitates.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DynamicObject, ListParams, PostParams};
use kube::discovery::ApiResource;
use kube::{Client, ResourceExt as _};
use queuewarden_e2e::conditions::{is_false, is_true};
use queuewarden_e2e::history::{Version, revision, versions};
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{Capability, Kind, Operator, TestCluster, eventually, kubeconfig, yunikorn};
use serde_json::{Value, json};

use super::{KEY, acl, apply, config_is, configure, grant, live, live_when, running, submits};
use crate::cli::ask;
use crate::pages::{blocks, desk};

/// The relevant part of its kind's definition.
const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: queues.yunikorn.apache.org}
spec:
  group: yunikorn.apache.org
  names: {kind: Queue, plural: queues}
  scope: Namespaced
  versions:
    - name: v1alpha1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";
/// A namespace that `YuniKorn` does not read, as docs/install.md names it.
const TREE: &str = "yunikorn-tree";

/// `YuniKorn`'s queue operator: in each round it builds the whole queue tree from all `Queue` objects, sets
/// it in the one key of `yunikorn-configs` and replaces that object, which keeps its other keys. A conflict
/// ends the round.
struct QueueOperator {
    queues: Api<DynamicObject>,
    maps: Api<ConfigMap>,
}

impl QueueOperator {
    /// Installs the kind and two `Queue` objects, and returns the operator that writes to this namespace.
    async fn install(cluster: &TestCluster, target: &str) -> Result<Self> {
        apply(cluster, DEFINITION).await?;
        cluster.crds_established().await?;
        for (name, submit) in [("prod", "carol"), ("dev", "*")] {
            add(cluster, name, submit).await?;
        }
        Self::new(cluster, target).await
    }

    async fn new(cluster: &TestCluster, target: &str) -> Result<Self> {
        let mut config = kubeconfig::load(cluster.kubeconfig()).await?;
        // It sets no field manager, so the API server uses the name of the program.
        let agent = "yunikorn-queue-operator/v1.10.0 (linux/amd64) kubernetes/$Format".parse()?;
        config.headers.push((http::header::USER_AGENT, agent));
        let client = Client::try_from(config)?;
        let kind = ApiResource {
            group: "yunikorn.apache.org".into(),
            version: "v1alpha1".into(),
            api_version: "yunikorn.apache.org/v1alpha1".into(),
            kind: "Queue".into(),
            plural: "queues".into(),
        };
        Ok(Self { queues: Api::all_with(client.clone(), &kind), maps: Api::namespaced(client, target) })
    }

    /// Returns the text that it makes.
    async fn text(&self) -> Result<String> {
        let mut queues = Vec::new();
        for queue in self.queues.list(&ListParams::default()).await? {
            let field = |name: &str| {
                let value = queue.data.pointer(&format!("/spec/queue/{name}")).and_then(Value::as_str);
                value.map(str::to_owned).with_context(|| format!("{} has no {name}", queue.name_any()))
            };
            queues.push(json!({"name": field("name")?, "parent": false, "submitacl": field("submitACL")?}));
        }
        let root = json!({"name": "root", "parent": true, "submitacl": "*", "queues": queues});
        // JSON is YAML.
        Ok(json!({"partitions": [{"name": "default", "queues": [root]}]}).to_string())
    }

    /// Runs one round.
    async fn reconcile(&self) -> Result<()> {
        let text = self.text().await?;
        let Some(mut map) = self.maps.get_opt(yunikorn::CONFIGS).await? else {
            let mut map = ConfigMap { data: Some([(KEY.to_owned(), text)].into()), ..ConfigMap::default() };
            map.metadata.name = Some(yunikorn::CONFIGS.to_owned());
            self.maps.create(&PostParams::default(), &map).await?;
            return Ok(());
        };
        let data = map.data.get_or_insert_default();
        if data.insert(KEY.to_owned(), text.clone()).as_ref() != Some(&text) {
            self.maps.replace(yunikorn::CONFIGS, &PostParams::default(), &map).await?;
        }
        Ok(())
    }

    async fn remove(cluster: &TestCluster) -> Result<()> {
        cluster.kubectl(&["delete", "crd", "queues.yunikorn.apache.org"]).await.map(drop)
    }
}

/// Adds a `Queue` object.
async fn add(cluster: &TestCluster, name: &str, submit: &str) -> Result<()> {
    let queue = json!({"apiVersion": "yunikorn.apache.org/v1alpha1", "kind": "Queue",
        "metadata": {"name": name, "namespace": yunikorn::NAMESPACE},
        "spec": {"queue": {"name": name, "submitACL": submit}}});
    apply(cluster, &queue.to_string()).await
}

/// Fails unless every version has the complete text of one writer, and the other client's key.
fn whole(versions: &[Version], theirs: &str) -> Result<()> {
    let (mut by_them, mut by_us) = (0, 0);
    for Version { revision, data } in versions {
        let text = data.get(KEY).with_context(|| format!("no text at revision {revision}"))?;
        let other = data.get("log.level").map(String::as_str);
        ensure!(other == Some("DEBUG"), "revision {revision} lost another key: {other:?}");
        if text == theirs {
            by_them += 1;
            continue;
        }
        by_us += 1;
        let verdict = ::yunikorn::config::verdict(text, &["default"], yunikorn::version()?);
        let refusal = verdict.refusal();
        ensure!(
            text.contains("'alice'") && !text.contains('*') && refusal.is_none(),
            "revision {revision} is nobody's text ({refusal:?}): {text}"
        );
    }
    ensure!(by_them >= 3 && by_us >= 3, "{by_them} versions of theirs, {by_us} of ours");
    Ok(())
}

#[tokio::test]
async fn queue_operator_that_keeps_writing_is_named_with_what_to_do() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let _operator = running(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        let level = json!({"data": {"log.level": "DEBUG"}}).to_string();
        let patch =
            ["patch", "configmap", yunikorn::CONFIGS, "-n", yunikorn::NAMESPACE, "--type=merge", "-p"];
        cluster.kubectl(&[&patch[..], &[&level]].concat()).await?;

        let other = QueueOperator::install(cluster, yunikorn::NAMESPACE).await?;
        let (client, theirs) = (cluster.client()?, other.text().await?);
        let begin = revision(&client).await?;
        // Later versions of the pull request watch the ConfigMap, so each of our repairs is overwritten.
        let message = eventually("Contended", LONG, || async {
            other.reconcile().await?;
            let conditions = cluster.conditions(Kind::YuniKornConfig, "default").await?;
            let found = conditions.into_iter().find(|c| c.type_ == "Applied" && c.reason == "Contended");
            Ok(found.map(|condition| condition.message))
        })
        .await?;
        for part in
            ["\"yunikorn-queue-operator\" keeps changing", "YuniKorn's queue operator", "TARGET_NAMESPACE"]
        {
            ensure!(message.contains(part), "{message}");
        }
        let checks = ask(cluster.kubeconfig(), "check").await?;
        ensure!(checks.out.contains("queues.yunikorn.apache.org is installed"), "{checks}");

        // It is stopped, and leaves nothing.
        live_when(cluster, "our text to be back", |text| text.contains("'alice'")).await?;
        config_is(cluster, is_true("Applied"), LONG).await?;
        ensure!(cluster.submit("bob", &["ops"], "root.dev").await?.is_rejected());
        whole(&versions(&client, begin, revision(&client).await?).await?, &theirs)?;
        QueueOperator::remove(cluster).await
    })
    .await
}

#[tokio::test]
async fn queue_operator_in_another_namespace_makes_the_base_and_its_acls_count() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        // It was there first.
        QueueOperator::install(cluster, yunikorn::NAMESPACE).await?.reconcile().await?;
        cluster.install().await?;
        configure(cluster, "").await?;
        let _operator = Operator::start(cluster).await?;
        let conflict = config_is(cluster, is_false("Applied", "FieldConflict"), PATIENCE).await?;
        for part in ["\"yunikorn-queue-operator\" (Update)", "TARGET_NAMESPACE"] {
            ensure!(conflict.message.contains(part), "{}", conflict.message);
        }
        submits(cluster, "bob", &["ops"], "root.prod", true).await?;

        // The steps of the page.
        cluster.create_namespace(TREE).await?;
        let other = QueueOperator::new(cluster, TREE).await?;
        other.reconcile().await?;
        let copies = blocks("docs/install.md", "sh")?.into_iter().find(|block| block.contains(TREE));
        let (copies, folder) = (copies.context("no block")?, desk()?);
        cluster.shell(folder.path(), &copies).await?;
        apply(cluster, &acl("root", "root", "submit: {nobody: true}")).await?;
        configure(cluster, "  base: {configMap: yunikorn-queues}\n  adoption: Force\n").await?;
        config_is(cluster, is_true("Ready"), PATIENCE).await?;
        configure(cluster, "  base: {configMap: yunikorn-queues}\n").await?;
        submits(cluster, "carol", &["ops"], "root.prod", true).await?;
        submits(cluster, "bob", &["ops"], "root.prod", false).await?;
        submits(cluster, "bob", &["ops"], "root.dev", true).await?;

        // A Queue is added. Its operator does not touch queuewarden's output.
        add(cluster, "batch", "carol").await?;
        other.reconcile().await?;
        cluster.shell(folder.path(), &copies).await?;
        grant(cluster, "batch", "root.batch", "submit: {users: [bob]}, baseAcl: Extend").await?;
        submits(cluster, "bob", &["ops"], "root.batch", true).await?;
        submits(cluster, "carol", &["ops"], "root.batch", true).await?;
        config_is(cluster, is_true("Ready"), PATIENCE).await?;
        ensure!(!live(cluster).await?.contains("\"submitacl\":\"*\",\"queues\""), "{}", live(cluster).await?);
        cluster.kubectl(&["delete", "namespace", TREE, "--wait=false"]).await?;
        QueueOperator::remove(cluster).await
    })
    .await
}
