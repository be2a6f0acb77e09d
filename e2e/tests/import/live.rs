//! Imports from a live cluster, and runs every command that the import prints: nobody has more access at any
//! step than before.

use std::collections::{BTreeMap, BTreeSet};

use ::yunikorn::config::verdict;
use anyhow::{Context as _, Result, ensure};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{WatchEvent, WatchParams};
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Bed, Kind, Operator, yunikorn};
use serde_json::Value;
use tokio::sync::oneshot;
use yunikorn_access::Tree;
use yunikorn_access::diff::{Direction, between};

use crate::cli::{ask, asker};

const KEY: &str = "queues.yaml";

/// The queues of the cluster before: two that some users may use, written by hand.
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
    Bed::with(async |bed| {
        bed.install().await?;
        bed.set_base(queuewarden_e2e::bed::BASE).await?;
        let data = [
            (KEY, TREE),
            ("admissionController.accessControl.bypassAuth", "false"),
            ("admissionController.accessControl.externalUsers", "^ci-bot$"),
        ];
        let data = data.map(|(key, value)| (key.to_owned(), value.to_owned()));
        bed.write_config_map(yunikorn::CONFIGS, BTreeMap::from(data)).await?;
        bed.yunikorn()?.wait_for_text(TREE, PATIENCE).await?;
        let mut defaults = bed.needed_defaults();
        defaults.insert(KEY.to_owned(), queuewarden_e2e::bed::BASE.to_owned());
        defaults.insert("admissionController.accessControl.systemUsers".to_owned(), "^system:.*$".to_owned());
        bed.write_config_map(yunikorn::DEFAULTS, defaults).await?;
        pods(bed, "before").await?;

        let imported = ask(&asker(bed, true, true).await?, "import yunikorn").await?;
        ensure!(imported.code == Some(0), "{imported}");
        policy(&imported.out)?;
        let directory = tempfile::tempdir()?;
        std::fs::write(directory.path().join("imported.yaml"), &imported.out)?;
        let commands = commands(&imported.err);
        ensure!(commands.len() == 7, "{commands:#?}");
        let _operator = Operator::start(bed).await?;
        let watched = Watched::start(bed).await?;
        for command in commands {
            bed.shell(directory.path(), command).await?;
            if command.contains("kubectl apply -f imported.yaml") {
                // The test cluster's scheduler listens at another address than the one that is imported from.
                let url = format!("{{\"spec\":{{\"schedulerUrl\":\"{}\"}}}}", bed.scheduler_url());
                bed.kubectl(&["patch", "yunikornconfig", "default", "--type", "merge", "-p", &url]).await?;
            }
            if command.contains("--field-manager=queuewarden-import") {
                // Git takes the key out, and prunes it in the cluster.
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
                bed.kubectl(&args).await?;
                bed.yunikorn()?.wait_for_text(TREE, PATIENCE).await?;
            }
            pods(bed, command).await?;
        }
        bed.wait_for(Kind::YuniKornConfig, "default", is_true("Ready"), PATIENCE).await?;
        bed.wait_for(Kind::AdmissionPolicy, "default", is_true("Ready"), PATIENCE).await?;
        let live = bed.config_value(yunikorn::CONFIGS, KEY).await?.context("nothing is written")?;
        bed.yunikorn()?.wait_for_text(&live, PATIENCE).await?;
        pods(bed, "after").await?;
        ensure!(live != TREE && changes(&live)?.is_empty(), "{live}");
        let versions = watched.end().await?;
        ensure!(versions.contains(&live), "{versions:?}");
        for version in versions {
            ensure!(changes(&version)?.is_empty(), "somebody gained or lost:\n{version}");
        }
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

async fn pods(bed: &Bed, when: &str) -> Result<()> {
    for (user, group, queue, allowed) in PODS {
        let outcome = bed.submit(user, &[group], queue).await?;
        ensure!(outcome.is_allowed() == allowed, "{when}: {user} of {group} into {queue}: {outcome:?}");
    }
    Ok(())
}

/// Returns who gains or loses which rights by a text, compared with the tree before.
fn changes(text: &str) -> Result<Vec<(String, Direction)>> {
    let trees = |text: &str| -> Result<Vec<Tree>> {
        let config = verdict(text, &[]).config.with_context(|| text.to_owned())?;
        config.partitions.iter().map(|partition| Ok(Tree::of(partition)?)).collect()
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
    async fn start(bed: &Bed) -> Result<Self> {
        let maps: Api<ConfigMap> = Api::namespaced(bed.client()?, yunikorn::NAMESPACE);
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
