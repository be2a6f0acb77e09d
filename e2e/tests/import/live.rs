//! Imports from a live cluster, and runs every command that the import prints: at no step does anyone have
//! more access than before.

use std::collections::{BTreeMap, BTreeSet};

use ::yunikorn::config::verdict;
use ::yunikorn::version::Version;
use anyhow::{Context as _, Result, ensure};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, WatchEvent, WatchParams};
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Kind, Operator, TestCluster, eventually, operator, yunikorn};
use serde_json::Value;
use tokio::sync::oneshot;
use yunikorn_access::Tree;
use yunikorn_access::diff::{Direction, between};

use crate::cli::{ask, asker};

const KEY: &str = "queues.yaml";

/// The previous queues of the cluster: two that some users may use, written by hand.
const TREE: &str = "\
partitions:
  - name: default
    placementrules:
      - name: provided
    queues:
      - name: root
        adminacl: ' admins'
        queues:
          - name: prod
            submitacl: 'alice etl'
          - name: dev
            submitacl: '*'
            adminacl: 'bob'
          - name: idle
";

/// The users, their queues, and whether they have access, before and after.
const PODS: [(&str, &str, &str, bool); 7] = [
    ("alice", "x", "root.prod", true),
    ("eve", "etl", "root.prod", true),
    ("mallory", "x", "root.prod", false),
    ("mallory", "x", "root.dev", true),
    ("mallory", "x", "root.idle", false),
    ("ann", "admins", "root.idle", true),
    ("bob", "x", "root.idle", false),
];

#[tokio::test]
async fn the_way_that_is_printed_never_opens_the_cluster() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        cluster.set_base(queuewarden_e2e::test_cluster::BASE).await?;
        let data = [
            (KEY, TREE),
            ("admissionController.accessControl.bypassAuth", "false"),
            ("admissionController.accessControl.externalUsers", "^ci-bot$"),
        ];
        let data = data.map(|(key, value)| (key.to_owned(), value.to_owned()));
        cluster.write_config_map(yunikorn::CONFIGS, BTreeMap::from(data)).await?;
        cluster.yunikorn()?.wait_for_text(TREE, PATIENCE).await?;
        let mut defaults = cluster.needed_defaults();
        defaults.insert(KEY.to_owned(), queuewarden_e2e::test_cluster::BASE.to_owned());
        defaults.insert("admissionController.accessControl.systemUsers".to_owned(), "^system:.*$".to_owned());
        cluster.write_config_map(yunikorn::DEFAULTS, defaults).await?;
        pods(cluster, "before").await?;

        let imported = ask(&asker(cluster, true, true).await?, "import yunikorn").await?;
        ensure!(imported.code == Some(0), "{imported}");
        policy(&imported.out)?;
        let directory = tempfile::tempdir()?;
        std::fs::write(directory.path().join("imported.yaml"), &imported.out)?;
        let commands = commands(&imported.err);
        ensure!(commands.len() == 14, "{commands:#?}");
        let _operator = Operator::start(cluster).await?;
        let watched = Watched::start(cluster).await?;
        for command in commands {
            cluster.shell(directory.path(), command).await?;
            if command.contains("kubectl apply -f imported.yaml") {
                // The test cluster's scheduler listens at a different address than the import prints.
                let url = format!("{{\"spec\":{{\"schedulerUrl\":\"{}\"}}}}", cluster.scheduler_url());
                cluster
                    .kubectl(&["patch", "yunikornconfig", "default", "--type", "merge", "-p", &url])
                    .await?;
            }
            if command.contains("create configmap yunikorn-defaults") {
                // Git removes the key, and prunes it in the cluster.
                let gone = r#"[{"op": "remove", "path": "/data/queues.yaml"}]"#;
                let args = [
                    "-n",
                    yunikorn::NAMESPACE,
                    "patch",
                    "configmap",
                    yunikorn::CONFIGS,
                    "--type",
                    "json",
                    "-p",
                    gone,
                ];
                cluster.kubectl(&args).await?;
                cluster.yunikorn()?.wait_for_text(TREE, PATIENCE).await?;
            }
            pods(cluster, command).await?;
        }
        cluster.wait_for(Kind::YuniKornConfig, "default", is_true("Ready"), PATIENCE).await?;
        cluster.wait_for(Kind::AdmissionPolicy, "default", is_true("Ready"), PATIENCE).await?;
        let config =
            cluster.kubectl(&["get", "yunikornconfig", "default", "-o", "jsonpath={.spec.adoption}"]).await?;
        ensure!(config.contains("IfUnowned"), "{config}");
        // Commands that would disable it again are not printed.
        let again = ask(&asker(cluster, true, true).await?, "import yunikorn").await?;
        ensure!(again.code == Some(0) && again.out.is_empty(), "{again}");
        ensure!(again.err.contains("already managed"), "{again}");
        let live = cluster.config_value(yunikorn::CONFIGS, KEY).await?.context("nothing is written")?;
        cluster.yunikorn()?.wait_for_text(&live, PATIENCE).await?;
        pods(cluster, "after").await?;
        ensure!(live != TREE && changes(&live)?.is_empty(), "{live}");
        let base = cluster.config_value("yunikorn-queues", KEY).await?.context("there is no base")?;
        ensure!(base.contains("submitacl: ' '") && !base.contains("alice"), "{base}");
        eventually("the base without ACLs is rendered", PATIENCE, || async {
            let maps: Api<ConfigMap> = Api::namespaced(cluster.client()?, operator::NAMESPACE);
            let last = maps.get_opt("queuewarden-last-base").await?.and_then(|map| map.data);
            Ok(last.is_some_and(|data| data.get(KEY) == Some(&base)).then_some(()))
        })
        .await?;
        let versions = watched.end().await?;
        ensure!(versions.contains(&live), "{versions:?}");
        for version in versions {
            ensure!(changes(&version)?.is_empty(), "somebody gained or lost:\n{version}");
        }
        // The ACL that let everyone in does not come back.
        cluster.objects(Kind::QueueAcl)?.delete("dev", &DeleteParams::default()).await?;
        eventually("dev is closed", PATIENCE, || async {
            let outcome = cluster.submit("mallory", &["x"], "root.dev").await?;
            Ok((!outcome.is_allowed()).then_some(()))
        })
        .await?;
        Ok(())
    })
    .await
}

/// Returns the lines of the printed instructions that are commands.
fn commands(printed: &str) -> Vec<&str> {
    printed
        .lines()
        .filter_map(|line| line.strip_prefix("   "))
        .filter(|line| !line.starts_with(' '))
        .collect()
}

/// Checks that the keys of both ConfigMaps are in it.
fn policy(manifests: &str) -> Result<()> {
    let all: Vec<Value> = serde_saphyr::from_multiple(manifests)?;
    let kind = |object: &&Value| object.get("kind").and_then(Value::as_str) == Some("AdmissionPolicy");
    let spec = all.iter().find(kind).and_then(|policy| policy.get("spec")).context("no AdmissionPolicy")?;
    let expected = serde_json::json!({
        "bypassAuth": false,
        "externalUsers": ["^ci-bot$"],
        "systemUsers": ["^system:.*$"],
    });
    ensure!(*spec == expected, "{spec}");
    Ok(())
}

async fn pods(cluster: &TestCluster, when: &str) -> Result<()> {
    for (user, group, queue, allowed) in PODS {
        let outcome = cluster.submit(user, &[group], queue).await?;
        ensure!(outcome.is_allowed() == allowed, "{when}: {user} of {group} into {queue}: {outcome:?}");
    }
    Ok(())
}

/// Returns who gains or loses which rights by a text, compared with the tree before.
fn changes(text: &str) -> Result<Vec<(String, Direction)>> {
    let trees = |text: &str| -> Result<Vec<Tree>> {
        let config = verdict(text, &[], Version::V1_8).config.with_context(|| text.to_owned())?;
        config.partitions.iter().map(|partition| Ok(Tree::new(partition)?)).collect()
    };
    let partitions = between(&trees(TREE)?, &trees(text)?);
    let changes = partitions.iter().flat_map(|partition| &partition.diff.kept.changes);
    Ok(changes.map(|change| (change.subject.to_string(), change.direction)).collect())
}

/// Records every version of the tree in `yunikorn-configs` from now on.
struct Watched {
    ends: oneshot::Sender<()>,
    versions: tokio::task::JoinHandle<Result<BTreeSet<String>>>,
}

impl Watched {
    async fn start(cluster: &TestCluster) -> Result<Self> {
        let maps: Api<ConfigMap> = Api::namespaced(cluster.client()?, yunikorn::NAMESPACE);
        let version = maps.get(yunikorn::CONFIGS).await?.metadata.resource_version.unwrap_or_default();
        let (ends, ended) = oneshot::channel();
        let versions = tokio::spawn(async move {
            let named = WatchParams::default().fields(&format!("metadata.name={}", yunikorn::CONFIGS));
            let mut events = std::pin::pin!(maps.watch(&named, &version).await?.take_until(ended));
            let mut versions = BTreeSet::new();
            while let Some(event) = events.next().await {
                match event? {
                    WatchEvent::Added(map) | WatchEvent::Modified(map) => {
                        versions.extend(map.data.and_then(|mut data| data.remove(KEY)));
                    }
                    // One comes each minute.
                    WatchEvent::Bookmark(_) => {}
                    other => anyhow::bail!("{other:?}"),
                }
            }
            Ok(versions)
        });
        Ok(Self { ends, versions })
    }

    async fn end(self) -> Result<BTreeSet<String>> {
        let _ = self.ends.send(());
        self.versions.await?
    }
}
