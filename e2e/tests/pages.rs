//! Runs the commands of the pages as a reader would type them, one page after the other. `chart::installed`
//! runs docs/install.md.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::operator::{NAME, NAMESPACE};
use queuewarden_e2e::{Capability, Operator, TestCluster};

use crate::operator::configure;

/// The blocks, identified by their page and beginning, in the order that a reader follows.
const STORY: [(&str, &str); 19] = [
    ("README.md", "kubectl apply --server-side -k manifests "),
    ("README.md", "kubectl apply -f prod.yaml"),
    ("docs/quick-start.md", "kubectl apply -f prod.yaml"),
    ("docs/access-tests.md", "kubectl apply --server-side -f examples/access-tests"),
    ("docs/operations.md", "kubectl annotate yunikornconfig"),
    ("docs/rbac-mirror.md", "kubectl apply --server-side -k manifests/rbac-mirror"),
    ("docs/rbac-mirror.md", "kubectl apply --server-side -k manifests/submission-policy "),
    ("docs/gitops.md", "kubectl patch configmap argocd-cm"),
    ("docs/report.md", "queuewarden report  "),
    ("docs/webhooks.md", "kubectl apply --server-side -k examples/https"),
    ("docs/submission.md", "kubectl apply --server-side -k manifests/submission"),
    ("docs/submission.md", "kubectl patch admissionpolicy default"),
    ("docs/identity.md", "kubectl apply --server-side -k manifests/user-info "),
    ("docs/identity.md", "kubectl patch admissionpolicy default"),
    ("docs/operators.md", "kubectl apply --server-side --field-manager=kuberay"),
    ("docs/uninstall.md", "kubectl get queueacls -o custom-columns"),
    // From here on the API server calls a Service without endpoints.
    ("docs/delegation.md", "kubectl apply --server-side -k manifests/delegation"),
    ("docs/gitops.md", "queuewarden validate --strict"),
    ("docs/helm-values.md", "queuewarden can-i submit root.speech"),
];

/// Blocks that are not run here, with the reasons.
const ELSEWHERE: [(&str, &str, &str); 16] = [
    ("README.md", "cargo run", "tests/cli/readme.rs runs the first; the others are tests"),
    ("docs/api-versions.md", "", "operator/versions.rs"),
    ("docs/delegation.md", "kubectl patch yunikornconfig default", "as the next, with the webhook in place"),
    (
        "docs/delegation.md",
        "kubectl create clusterrolebinding delegation-probe",
        "it is refused: validating/delegation.rs waits for the same",
    ),
    ("docs/delegation.md", "kubectl delete clusterrolebinding delegation-probe", "as the last one"),
    ("docs/delegation.md", "queuewarden grant", "the endpoints decide it: validating/delegation.rs"),
    ("docs/delegation.md", "kubectl apply -f - <<'END'", "the endpoints decide it: validating/delegation.rs"),
    ("docs/helm-values.md", "queuewarden validate --recursive", "tests/cli/repositories.rs runs it"),
    ("docs/kubectl.md", "kubectl create -o yaml -f -", "the endpoints answer it: access.rs"),
    (
        "docs/authorizer.md",
        "kubectl apply --server-side -k manifests/authorizer",
        "the API server starts with it: authorizer.rs",
    ),
    ("docs/operations.md", "queuewarden status", "installation.rs has the Deployment that they look at"),
    ("docs/install.md", "", "chart/installed.rs"),
    ("docs/service-accounts.md", "", "user_info/spark.rs"),
    ("docs/tasks.md", "", "tasks.rs"),
    ("docs/ask.md", "queuewarden who-can submit root.prod --at", "cli.rs asks about the past"),
    ("docs/leaving.md", "", "cli.rs, for another user"),
];

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the pages in a folder without its subfolders, as paths from the repository's root.
pub(crate) fn pages(folder: &str) -> Result<Vec<String>> {
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(root().join(folder))? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "md") {
            let name = path.file_name().context("no name")?.to_string_lossy().into_owned();
            pages.push(format!("{folder}/{name}"));
        }
    }
    pages.sort();
    Ok(pages)
}

/// Returns the fenced blocks of a page in this language.
pub(crate) fn blocks(page: &str, language: &str) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(root().join(page)).with_context(|| page.to_owned())?;
    let fence = format!("```{language}\n");
    let rest = text.split(&fence).skip(1).filter_map(|rest| rest.split_once("```"));
    Ok(rest.map(|(block, _)| block.to_owned()).collect())
}

fn block(page: &str, language: &str, words: &str) -> Result<String> {
    let found = blocks(page, language)?.into_iter().find(|block| block.contains(words));
    found.with_context(|| format!("{page} has no block with {words}"))
}

#[test]
fn every_block_is_run_or_excluded() -> Result<()> {
    let mut pages = pages("docs")?;
    pages.push("README.md".to_owned());
    let mut typed = 0;
    for page in pages {
        for block in blocks(&page, "sh")? {
            let is = |known: &str, start: &str| known == page && block.starts_with(start);
            let here = STORY.iter().filter(|(page, start)| is(page, start)).count();
            let elsewhere = ELSEWHERE.iter().filter(|(page, start, _)| is(page, start)).count();
            ensure!(here + elsewhere == 1, "{page}: {here} times here, {elsewhere} elsewhere:\n{block}");
            typed += here;
        }
    }
    ensure!(typed == STORY.len(), "{typed} blocks are typed, of {}", STORY.len());
    Ok(())
}

#[tokio::test]
async fn commands_of_the_pages_succeed() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        cluster.remove_installation().await?;
        cluster.remove_admission_policies().await?;
        let folder = desk()?;
        let mut operator = None;
        for (page, start) in STORY {
            let text = blocks(page, "sh")?.into_iter().find(|block| block.starts_with(start));
            let text = text.with_context(|| format!("{page}: {start}"))?;
            // The cluster does not start Deployments, so the test starts the operator before the command that
            // waits for it.
            if let Some((before, wait)) =
                text.split_once("kubectl wait yunikornconfig/default --for=condition=Ready")
            {
                cluster.shell(folder.path(), before).await.with_context(|| page.to_owned())?;
                configure(cluster, "").await?;
                operator = Some(Operator::start(cluster).await?);
                // The test cluster has applied it too. In a reader's cluster only the reader has applied it,
                // and may change it.
                cluster
                    .kubectl(&[
                        "delete",
                        "deployments,services,networkpolicies",
                        NAME,
                        "--namespace",
                        NAMESPACE,
                    ])
                    .await?;
                cluster
                    .shell(
                        folder.path(),
                        &format!("kubectl wait yunikornconfig/default --for=condition=Ready{wait}"),
                    )
                    .await?;
                // The state that later pages change.
                for words in ["kind: AdmissionPolicy", "name: prod-audit"] {
                    let object = block("docs/quick-start.md", "yaml", words)?;
                    cluster.kubectl_with_input(&["apply", "-f", "-"], &object).await?;
                }
                cluster.kubectl(&["create", "namespace", "argocd"]).await?;
                cluster.kubectl(&["create", "configmap", "argocd-cm", "--namespace", "argocd"]).await?;
            } else {
                cluster.shell(folder.path(), &text).await.with_context(|| page.to_owned())?;
            }
        }
        ensure!(operator.is_some(), "nobody started the operator");
        let left = cluster.kubectl(&["get", "queueacls", "-o", "name"]).await?;
        ensure!(left.contains("/prod\n") && !left.contains("prod-audit"), "{left}");
        let checks = cluster
            .kubectl(&["get", "configmap", "argocd-cm", "--namespace", "argocd", "-o", "json"])
            .await?;
        ensure!(checks.matches("resource.customizations.health.queuewarden.dev_").count() >= 4, "{checks}");
        let page = std::fs::read_to_string(folder.path().join("queue-access.html"))?;
        ensure!(page.contains("root.prod"), "{page}");
        cluster.kubectl(&["delete", "namespace", "argocd", "--wait=false"]).await?;
        drop(operator);
        cluster.remove_webhooks().await?;
        cluster.remove_admission_policies().await?;
        cluster.remove_installation().await
    })
    .await
}

/// Returns a directory as a reader has it: the repository's directories, and the files that the pages show or
/// name.
pub(crate) fn desk() -> Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    for name in ["manifests", "examples", "crds", "charts"] {
        std::os::unix::fs::symlink(root().join(name).canonicalize()?, folder.path().join(name))?;
    }
    std::fs::write(
        folder.path().join("prod.yaml"),
        block("README.md", "yaml", "kind: QueueAcl\nmetadata: {name: prod}\n")?,
    )?;
    let base = block("docs/quick-start.md", "yaml", "kind: ConfigMap")?;
    let base: serde_json::Value = serde_saphyr::from_str(&base)?;
    let queues =
        base.pointer("/data/queues.yaml").and_then(serde_json::Value::as_str).context("no queues")?;
    std::fs::write(folder.path().join("queues.yaml"), queues)?;
    for part in ["acls", "main"] {
        std::fs::create_dir(folder.path().join(part))?;
        std::fs::copy(folder.path().join("prod.yaml"), folder.path().join(part).join("prod.yaml"))?;
    }
    std::fs::copy(folder.path().join("queues.yaml"), folder.path().join("main/queues.yaml"))?;
    Ok(folder)
}
