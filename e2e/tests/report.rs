//! Tests the report of `queuewarden report --serve`: its readers, its content, and that it follows the
//! cluster.

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::report::Report;
use queuewarden_e2e::test_cluster::BASE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, Operator, TestCluster, eventually};
use serde_json::Value;

use crate::cli::{ask, asker};
use crate::operator::{configure, grant};

/// Returns status and body.
async fn got(request: reqwest::RequestBuilder) -> Result<(u16, String)> {
    let answer = request.send().await?;
    Ok((answer.status().as_u16(), answer.text().await?))
}

fn header<'a>(answer: &'a reqwest::Response, name: &str) -> &'a str {
    answer.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Returns whether a user submits by a start at this queue.
fn starts_at(report: &Value, user: &str, queue: &str) -> Option<bool> {
    let number = |list: &Value, is: &dyn Fn(&Value) -> bool| list.as_array()?.iter().position(is);
    let subject = number(&report["subjects"], &|subject| subject["name"] == user)?;
    let queue = number(&report["queues"], &|of| of["path"] == queue)?;
    let mut rights = report["rights"].as_array()?.iter();
    let right = rights.find(|right| right["subject"] == subject && right["verb"] == "submit")?;
    Some(right["starts"].as_array()?.iter().any(|start| start["queue"] == queue))
}

/// Returns the data, once the condition holds.
async fn shown(report: &Report, what: impl Fn(&Value) -> bool) -> Result<Value> {
    eventually("the report to follow", PATIENCE, || async {
        let data = report.data().await?;
        Ok(what(&data).then_some(data))
    })
    .await
}

#[tokio::test]
async fn request_for_another_host_or_path_is_refused() -> Result<()> {
    TestCluster::with(async |cluster| {
        let report = Report::serve("report-refuses", cluster.kubeconfig()).await?;
        let (root, secret) = report.url().trim_end_matches('/').rsplit_once('/').context("no path")?;
        ensure!(root.starts_with("http://127.0.0.1:") && secret.len() == 32, "{}", report.url());
        for path in ["", "report.json"] {
            let answer = report.get(path).send().await?;
            ensure!(answer.status() == 200 && header(&answer, "cache-control") == "no-store", "{answer:?}");
            ensure!(header(&answer, "access-control-allow-origin").is_empty(), "{answer:?}");
            let another = got(report.get(path).header("host", "rebound.example")).await?;
            ensure!(another.0 == 403 && !another.1.contains("\"queues\""), "{another:?}");
        }
        let page = report.get("").send().await?;
        ensure!(header(&page, "content-security-policy").contains("default-src 'none'"), "{page:?}");
        let page = page.text().await?;
        ensure!(page.contains("<script type=\"application/json\" id=\"report\">{\"version\":1,"), "{page}");
        for path in ["../", "../report.json", "../00000000000000000000000000000000/", "none"] {
            let answer = got(report.get(path)).await?;
            ensure!(answer == (404, String::new()), "{path}: {answer:?}");
        }
        let answer = report.get("").send().await?;
        let ended = report.interrupt().await?;
        ensure!(answer.status() == 200 && ended.code() == Some(0), "{ended}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn what_may_not_be_read_is_shown() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster
            .set_base(&BASE.replace("- name: prod\n", "- name: prod\n            submitacl: alice\n"))
            .await?;
        cluster.install().await?;
        let kubeconfig = asker(cluster, true, false).await?;
        let report = Report::serve("report-lacks", &kubeconfig).await?;
        let data = shown(&report, |data| starts_at(data, "alice", "root.prod") == Some(true)).await?;
        let notes = data["live"]["notes"].to_string();
        ensure!(
            notes
                .contains("origins are places in the ConfigMaps: cannot read the objects of kind QueueAcl: "),
            "{notes}"
        );
        ensure!(data["live"]["stale"].is_null(), "{data:#}");

        // A reader who loses the right keeps what was read, and sees that it is old.
        let kubeconfig = asker(cluster, false, false).await?;
        let data = shown(&report, |data| data["live"]["stale"].is_string()).await?;
        let stale = data["live"]["stale"].to_string();
        ensure!(
            stale.contains("This is from ") && stale.contains("cannot read ConfigMap yunikorn/"),
            "{stale}"
        );
        ensure!(starts_at(&data, "alice", "root.prod") == Some(true), "{data:#}");
        let ended = ask(&kubeconfig, "report --serve").await?;
        ended.expect(3, "")?;
        ensure!(ended.err.contains("cannot read ConfigMap yunikorn/yunikorn-"), "{ended}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn report_follows_the_acls() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        cluster.install().await?;
        configure(cluster, "").await?;
        let _operator = Operator::start(cluster).await?;
        let report = Report::serve("report-follows", cluster.kubeconfig()).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [sue]}").await?;
        let data = shown(&report, |data| starts_at(data, "sue", "root.prod") == Some(true)).await?;

        // The report has its location, and the program that wrote it.
        ensure!(data["origins"].to_string().contains(r#""kind":"QueueAcl""#), "{data:#}");
        let changes = data["changes"].as_array().context("no changes")?;
        let by = |kind: &str, manager: &str| {
            changes.iter().find(|change| change["kind"] == kind && change["manager"] == manager)
        };
        let change = by("QueueAcl", "kubectl-client-side-apply").with_context(|| format!("{changes:?}"))?;
        ensure!(
            change["time"].is_string() && change["fields"].to_string().contains("spec.submit"),
            "{change}"
        );
        let queue = change["queue"].as_u64().context("the change is about no queue")?;
        ensure!(data["queues"][usize::try_from(queue)?]["path"] == "root.prod", "{change}");
        ensure!(by("ConfigMap", "queuewarden").is_some(), "{changes:?}");

        // Without news there is only a status, with news the whole report.
        let first = report.get("report.json").send().await?;
        let tag = header(&first, "etag").to_owned();
        let again = || report.get("report.json").header("if-none-match", &tag);
        let answer = got(again()).await?;
        ensure!(answer == (304, String::new()), "{answer:?}");
        grant(cluster, "prod", "root.prod", "submit: {users: [zoe]}").await?;
        shown(&report, |data| starts_at(data, "zoe", "root.prod") == Some(true)).await?;
        let answer = got(again()).await?;
        ensure!(answer.0 == 200 && !answer.1.contains("\"sue\""), "{answer:?}");
        Ok(())
    })
    .await
}
