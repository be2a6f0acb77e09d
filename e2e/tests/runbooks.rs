//! What the runbooks have people type, typed in an installation: of each page every command that needs no
//! kubelet.

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Bed, Capability, Kind};

use crate::installation::installed;
use crate::operator::grant;
use crate::pages::{blocks, desk, pages};

/// Commands that nobody here can answer: the words are checked by `tests/cli/blocks.rs`.
const NEED_KUBELETS: [&str; 2] = ["logs", "top"];

/// The commands of a page; a line is one.
fn commands(page: &str) -> Result<Vec<String>> {
    let lines = blocks(page, "sh")?.join("");
    Ok(lines.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

fn needs_kubelet(command: &str) -> bool {
    command.starts_with("kubectl ") && command.split_whitespace().any(|word| NEED_KUBELETS.contains(&word))
}

#[tokio::test]
async fn their_commands_are_answered() -> Result<()> {
    Bed::with(async |bed| {
        if !bed.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let (_operator, _doors) = installed(bed).await?;
        // One of the pages asks who may; that nobody may is an answer, and no success.
        grant(bed, "root", "root", "submit: {users: [sue]}").await?;
        bed.wait_for(Kind::QueueAcl, "root", is_true("Ready"), PATIENCE).await?;
        let folder = desk()?;
        for page in pages("docs/runbooks")? {
            let mut typed = 0;
            for command in commands(&page)?.iter().filter(|command| !needs_kubelet(command)) {
                bed.shell(folder.path(), command).await.with_context(|| page.clone())?;
                typed += 1;
            }
            ensure!(typed > 0, "{page} has nothing that can be typed here");
        }
        Ok(())
    })
    .await
}
