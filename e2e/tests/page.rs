//! Tests the report's page in a real browser, with files that the built binary writes.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::{assets, browser};

/// The commands that are run on each set of files.
const ANSWERS: [(&str, &[&str]); 3] = [
    ("html", &["report", "-o", "html"]),
    ("report.json", &["report", "-o", "json"]),
    ("matrix.json", &["matrix", "-o", "json"]),
];

/// Departments, their teams, and their jobs: 5,000 queues, including root and without the last job.
const TREE: [usize; 3] = [50, 9, 10];

/// Returns a configuration of 5,000 queues; some grant something to users, groups or everyone.
fn large() -> Result<String> {
    let [departments, teams, jobs] = TREE;
    let mut text = String::from(
        "partitions:\n- name: default\n  queues:\n  - name: root\n    adminacl: ' platform'\n    queues:\n",
    );
    for department in 0..departments {
        writeln!(
            text,
            "    - name: dept-{department:02}\n      adminacl: 'head{department} dept{department}-leads'\n      queues:"
        )?;
        for team in 0..teams {
            writeln!(
                text,
                "      - name: team-{team}\n        submitacl: 'robot{department} team{team}'\n        queues:"
            )?;
            let last = (department, team) == (departments - 1, teams - 1);
            for job in 0..jobs - usize::from(last) {
                writeln!(text, "        - name: job-{job}")?;
                match (department + team * 3 + job * 7) % 11 {
                    0 => writeln!(
                        text,
                        "          submitacl: 'user{} guests{}'",
                        job * 13 + team,
                        department % 7
                    )?,
                    1 => writeln!(text, "          adminacl: 'user{}'", job * 13 + team)?,
                    2 if job == 4 => writeln!(text, "          submitacl: '*'")?,
                    _ => {}
                }
            }
        }
    }
    Ok(text)
}

/// Writes a configuration and objects with malicious texts to a file with a malicious name.
fn hostile(folder: &Path) -> Result<()> {
    let script = "</script><script>globalThis.harmed=true</script>";
    let queues = format!(
        "partitions:\n- name: default\n  queues:\n  - name: root\n    submitacl: \"a {script}\"\n    queues:\n    - name: x\n      submitacl: '\"><img/src=x/onerror=globalThis.harmed=true>,b\u{202e}c'\n"
    );
    let base = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "yunikorn-defaults", "namespace": "yunikorn"}, "data": {"queues.yaml": queues}});
    let acl = serde_json::json!({
        "apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl", "spec": {"queue": "root.x", "admin": {"users": ["ops"]}},
        "metadata": {"name": "x", "managedFields": [{
            "manager": script, "operation": "Update", "apiVersion": "queuewarden.dev/v1alpha1", "time": "2026-11-20T09:12:33Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:admin": {}, format!("f:{script}"): {}}},
        }]},
    });
    std::fs::create_dir_all(folder)?;
    std::fs::write(
        folder.join("<img src=x onerror=globalThis.harmed=true>.yaml"),
        format!("{base}\n---\n{acl}\n"),
    )?;
    Ok(())
}

/// Returns the binary's output for some files.
async fn answer(program: &Path, files: &Path, args: &[&str]) -> Result<Vec<u8>> {
    let mut command = tokio::process::Command::new(program);
    // The file is given by its name only, as from within that directory, because the page shows this name.
    let (folder, name) = (files.parent().context("no directory")?, files.file_name().context("no name")?);
    let output =
        command.args(args).arg("-f").arg(name).current_dir(folder).env("NO_COLOR", "1").output().await?;
    let code = output.status.code();
    ensure!(
        code == Some(0),
        "{args:?} of {}: {code:?}\n{}",
        files.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output.stdout)
}

#[tokio::test]
async fn report_page_matches_the_evaluator() -> Result<()> {
    let program = tokio::task::spawn_blocking(assets::operator).await??;
    let reports = tempfile::tempdir()?;
    let inputs = tempfile::tempdir()?;
    let large_file = inputs.path().join("queues.yaml");
    std::fs::write(&large_file, large()?)?;
    let hostile_files = inputs.path().join("hostile");
    hostile(&hostile_files)?;
    let small_files = assets::browser_tests()?.join("inputs/small");
    for (name, files) in [("small", &small_files), ("large", &large_file), ("hostile", &hostile_files)] {
        for (ending, args) in ANSWERS {
            let answer = answer(&program, files, args).await?;
            std::fs::write(reports.path().join(format!("{name}.{ending}")), answer)?;
        }
    }
    browser::run(reports.path()).await
}
