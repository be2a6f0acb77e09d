//! Runs the commands of docs/tasks.md on a real cluster: three at most for each task, with the exit codes
//! that the page gives, and with the effect on the real scheduler.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::{Capability, TestCluster};

use crate::installation::installed;
use crate::operator::{acl, grant};
use crate::pages::root;

/// A task: its title on the page, words that its commands print, and users with a group who are let into
/// `root.prod` after it, or rejected.
struct Task {
    title: &'static str,
    prints: &'static [&'static str],
    pods: &'static [(&'static str, &'static str, bool)],
}

const TASKS: [Task; 10] = [
    Task { title: "See who may submit to a queue", prints: &["bob", "devs", "QueueAcl/prod"], pods: &[] },
    Task {
        title: "Find out why somebody may not",
        prints: &["no: no ACL on the way", "name user ann"],
        pods: &[("ann", "interns", false), ("bob", "interns", true)],
    },
    Task {
        title: "Let somebody in until Friday",
        prints: &["gains", "created", "condition met"],
        pods: &[("ann", "interns", true), ("bob", "interns", true)],
    },
    Task {
        title: "Take somebody out",
        prints: &["QueueAcl/prod", "loses", "condition met"],
        pods: &[("bob", "interns", false), ("x", "devs", true)],
    },
    Task {
        title: "See what a change does before you apply it",
        prints: &["gains    user eve", "loses    group devs"],
        pods: &[("eve", "x", false), ("x", "devs", true)],
    },
    Task { title: "Find what lets in too many", prints: &["QW4117"], pods: &[] },
    Task {
        title: "Move in with the ACLs you have",
        prints: &["kubectl apply -f imported.yaml", "nobody gains or loses anything"],
        pods: &[],
    },
    Task {
        title: "Check a file that YuniKorn does not take",
        prints: &["QW1001", "broken.yaml:7:28"],
        pods: &[],
    },
    Task {
        title: "Let a service account submit",
        prints: &["gains", "condition met"],
        pods: &[("spark-driver", "spark-jobs", true)],
    },
    Task { title: "Find out what is wrong", prints: &["objects", "QueueAcl/typo"], pods: &[] },
];

/// A tree with ACLs, and the same with an ACL that has one space too many.
const QUEUES: &str = "\
partitions:
  - name: default
    queues:
      - name: root
        queues:
          - name: prod
            submitacl: 'bob devs'
";

#[tokio::test]
async fn ten_tasks_take_three_commands_each_at_most() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let (_operator, _endpoints) = installed(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [bob], groups: [devs]}").await?;
        let policy = "apiVersion: queuewarden.dev/v1alpha1\nkind: AdmissionPolicy\nmetadata: {name: default}\nspec: {bypassAuth: true}\n";
        cluster.kubectl_with_input(&["apply", "-f", "-"], policy).await?;
        let folder = tempfile::tempdir()?;
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
        write("change.yaml", &acl("prod", "root.prod", "submit: {users: [eve]}"))?;
        write("queues.yaml", QUEUES)?;
        write("broken.yaml", &QUEUES.replace("bob devs", "bob  devs"))?;

        let page = std::fs::read_to_string(root().join("docs/tasks.md"))?;
        let sections: Vec<&str> = page.split("\n## ").skip(1).collect();
        ensure!(sections.len() == TASKS.len(), "{} sections", sections.len());
        for (task, section) in TASKS.iter().zip(sections) {
            if task.title == "Find out what is wrong" {
                let typo = acl("typo", "root.prd", "submit: {users: [eve]}");
                cluster.kubectl_with_input(&["apply", "-f", "-"], &typo).await?;
            }
            run(cluster, folder.path(), task, section).await.with_context(|| task.title)?;
        }
        cluster.remove_webhooks().await?;
        cluster.remove_admission_policies().await
    })
    .await
}

/// Runs the commands of a section of the page.
async fn run(cluster: &TestCluster, folder: &Path, task: &Task, section: &str) -> Result<()> {
    let (title, text) = section.split_once('\n').context("no text")?;
    let block = text.split_once("```sh\n").and_then(|(_, rest)| rest.split_once("```"));
    let commands: Vec<&str> = block.context("no commands")?.0.lines().collect();
    ensure!(title == task.title && commands.len() <= 3, "{title}: {commands:?}");
    let mut printed = String::new();
    for command in commands {
        let lines = format!("code=0; {{ {command}\n}} 2>&1 || code=$?; echo \"exit code $code\"");
        let ended = cluster.shell(folder, &lines).await?;
        let code = i32::from(command.contains("# exit code 1"));
        ensure!(ended.ends_with(&format!("exit code {code}\n")), "{command}: {ended}");
        printed.push_str(&ended);
    }
    for words in task.prints {
        ensure!(printed.contains(words), "no {words:?} in:\n{printed}");
    }
    for (user, group, allowed) in task.pods {
        let outcome = cluster.submit(user, &[group], "root.prod").await?;
        ensure!(outcome.is_allowed() == *allowed, "{user} of {group}: {outcome:?}");
    }
    Ok(())
}
