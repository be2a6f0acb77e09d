//! Runs the commands of docs/tasks.md on a real cluster, at most three for each task, and checks the exit
//! codes and the output on the page, the effect on the real scheduler, and the way back.

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use queuewarden_e2e::conditions::is_false;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, Kind, TestCluster, eventually};

use crate::installation::installed;
use crate::operator::{acl, grant};
use crate::pages::root;

/// A user with a group who is admitted to `root.prod`, or rejected.
type Pod = (&'static str, &'static str, bool);

/// A task: its title on the page, and the outcome for pods after it, and after undoing it.
struct Task {
    title: &'static str,
    pods: &'static [Pod],
    undone: &'static [Pod],
}

impl Task {
    /// Returns a task that changes nothing.
    const fn asking(title: &'static str, pods: &'static [Pod]) -> Self {
        Self { title, pods, undone: &[] }
    }
}

const TASKS: [Task; 10] = [
    Task::asking("Find out who can submit to a queue", &[]),
    Task::asking(
        "Find out why someone cannot submit",
        &[("ann", "interns", false), ("bob", "interns", true)],
    ),
    Task {
        title: "Grant access until Friday",
        pods: &[("ann", "interns", true), ("bob", "interns", true)],
        undone: &[("ann", "interns", false), ("bob", "interns", true)],
    },
    Task {
        title: "Remove someone's access",
        pods: &[("bob", "interns", false), ("x", "devs", true)],
        undone: &[("bob", "interns", true), ("x", "devs", true)],
    },
    Task::asking("Preview a change", &[("eve", "x", false), ("x", "devs", true)]),
    Task::asking("Find overly broad access", &[]),
    Task::asking("Migrate existing ACLs", &[]),
    Task::asking("Check a file that YuniKorn rejects", &[]),
    Task {
        title: "Let a service account submit",
        pods: &[("spark-driver", "spark-jobs", true)],
        undone: &[("spark-driver", "spark-jobs", false)],
    },
    Task::asking("Find out what is wrong", &[]),
];

/// A tree with ACLs, and the same tree with an ACL that has an extra space.
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
async fn ten_tasks_take_at_most_three_commands_each() -> Result<()> {
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
                let reported = is_false("Accepted", "QueueNotFound");
                cluster.wait_for(Kind::QueueAcl, "typo", reported, PATIENCE).await?;
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
    let (commands, shown) = (blocks(text, "sh"), blocks(text, "text"));
    let [first, back @ ..] = commands.as_slice() else { bail!("no commands") };
    let ([shown], true) = (shown.as_slice(), back.len() == usize::from(!task.undone.is_empty())) else {
        bail!("{} outputs and {} ways back", shown.len(), back.len())
    };
    ensure!(title == task.title && first.len() <= 3, "{title}: {first:?}");
    let printed = words(&typed(cluster, folder, first).await?);
    for line in shown {
        let line = words(line.trim_end_matches('…'));
        ensure!(printed.contains(&line), "no {line:?} in:\n{printed}");
    }
    for (user, group, allowed) in task.pods {
        let outcome = cluster.submit(user, &[group], "root.prod").await?;
        ensure!(outcome.is_allowed() == *allowed, "{user} of {group}: {outcome:?}");
    }
    for commands in back {
        typed(cluster, folder, commands).await?;
    }
    for (user, group, allowed) in task.undone {
        eventually("the way back", PATIENCE, || async {
            Ok((cluster.submit(user, &[group], "root.prod").await?.is_allowed() == *allowed).then_some(()))
        })
        .await?;
    }
    Ok(())
}

/// Returns the lines of each block of a language.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<Vec<&'t str>> {
    let start = format!("```{language}\n");
    let inside = text.split(start.as_str()).skip(1).filter_map(|rest| rest.split_once("```"));
    inside.map(|(block, _)| block.lines().collect()).collect()
}

/// Joins the words of a text, because column widths depend on their widest cell.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs commands, and returns their output.
async fn typed(cluster: &TestCluster, folder: &Path, commands: &[&str]) -> Result<String> {
    let mut printed = String::new();
    for command in commands {
        let lines = format!("code=0; {{ {command}\n}} 2>&1 || code=$?; echo \"exit code $code\"");
        let ended = cluster.shell(folder, &lines).await?;
        let code = i32::from(command.contains("# exit code 1"));
        ensure!(ended.ends_with(&format!("exit code {code}\n")), "{command}: {ended}");
        printed.push_str(&ended);
    }
    Ok(printed)
}
