//! Runs the commands of the runbooks in an installation: of each page, every command that needs no kubelet.

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, Kind, TestCluster};

use crate::installation::installed;
use crate::operator::grant;
use crate::pages::{blocks, desk, pages};

/// Commands that no server here can answer; `tests/cli/blocks.rs` checks their words.
const NEED_KUBELETS: [&str; 2] = ["logs", "top"];

/// Returns the commands of a page, one per line.
fn commands(page: &str) -> Result<Vec<String>> {
    let lines = blocks(page, "sh")?.join("");
    Ok(lines.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

fn needs_kubelet(command: &str) -> bool {
    command.starts_with("kubectl ") && command.split_whitespace().any(|word| NEED_KUBELETS.contains(&word))
}

#[tokio::test]
async fn runbook_commands_succeed() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let (_operator, _endpoints) = installed(cluster).await?;
        // One of the pages lists who has permission; an empty list is an answer, but not a success.
        grant(cluster, "root", "root", "submit: {users: [sue]}").await?;
        cluster.wait_for(Kind::QueueAcl, "root", is_true("Ready"), PATIENCE).await?;
        let folder = desk()?;
        for page in pages("docs/runbooks")? {
            let mut typed = 0;
            for command in commands(&page)?.iter().filter(|command| !needs_kubelet(command)) {
                cluster.shell(folder.path(), command).await.with_context(|| page.clone())?;
                typed += 1;
            }
            ensure!(typed > 0, "{page} has nothing that can be typed here");
        }
        Ok(())
    })
    .await
}
