//! The report that the operator shows: who may see it, what it says, and that it follows the cluster.

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::report::{READER, Report};
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Bed, Capability, Operator, eventually, operator};
use serde_json::Value;

use crate::operator::{configure, grant};

/// Whether an operator can be started here; what the report needs is then installed.
async fn prepared(bed: &Bed) -> Result<bool> {
    if !bed.can_run(&[Capability::OperatorProcess])? {
        return Ok(false);
    }
    bed.install_report().await?;
    configure(bed, "").await?;
    Ok(true)
}

/// Status and body.
async fn got(request: reqwest::RequestBuilder) -> Result<(u16, String)> {
    let answer = request.send().await?;
    Ok((answer.status().as_u16(), answer.text().await?))
}

fn header<'a>(answer: &'a reqwest::Response, name: &str) -> &'a str {
    answer.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Whether a user submits by a start at this queue.
fn starts_at(report: &Value, user: &str, queue: &str) -> Option<bool> {
    let number = |list: &Value, is: &dyn Fn(&Value) -> bool| list.as_array()?.iter().position(is);
    let subject = number(&report["subjects"], &|subject| subject["name"] == user)?;
    let queue = number(&report["queues"], &|of| of["path"] == queue)?;
    let mut rights = report["rights"].as_array()?.iter();
    let right = rights.find(|right| right["subject"] == subject && right["verb"] == "submit")?;
    Some(right["starts"].as_array()?.iter().any(|start| start["queue"] == queue))
}

/// The report, once it says so.
async fn told(report: &Report, token: &str, what: impl Fn(&Value) -> bool) -> Result<Value> {
    eventually("the report to follow", PATIENCE, || async {
        let data = report.data(token).await?;
        Ok(what(&data).then_some(data))
    })
    .await
}

#[tokio::test]
async fn it_is_for_those_who_may_get_it() -> Result<()> {
    Bed::with(async |bed| {
        if !prepared(bed).await? {
            return Ok(());
        }
        let (_operator, report) = Operator::start_showing(bed).await?;
        let (reader, other) = (bed.token(READER).await?, bed.token(operator::NAME).await?);
        told(&report, &reader, |data| data["queues"][0]["path"] == "root").await?;

        for (request, status, words) in [
            (report.get("/report.json"), 401, "show who you are"),
            (report.get("/report.json").bearer_auth("guess"), 401, "the token does not count here"),
            (report.get("/report.json").bearer_auth(&other), 403, "cannot get path"),
            (report.get("/report").bearer_auth(&other), 403, "cannot get path"),
            (
                report.get("/report.json").bearer_auth(&reader).header("host", "rebound.example"),
                403,
                "localhost",
            ),
        ] {
            let answer = got(request).await?;
            ensure!(answer.0 == status && answer.1.contains(words), "{status} {words}: {answer:?}");
            ensure!(!answer.1.contains("\"queues\""), "{answer:?}");
        }
        let refused = report.sign_in(&other).await?;
        ensure!(refused.status() == 403 && header(&refused, "set-cookie").is_empty(), "{refused:?}");

        // What kubectl's user with no token of their own does, and then their browser.
        let entered = report.sign_in(&reader).await?;
        ensure!(entered.status() == 303 && header(&entered, "location") == "/report", "{entered:?}");
        let cookie = header(&entered, "set-cookie").split(';').next().context("no cookie")?.to_owned();
        let page = report.get("/report").header("cookie", &cookie).send().await?;
        ensure!(header(&page, "content-security-policy").contains("default-src 'none'"), "{page:?}");
        let page = page.text().await?;
        ensure!(page.contains("<script type=\"application/json\" id=\"report\">{\"version\":1,"), "{page}");

        // Who loses the right loses the page, in the middle of a session.
        let bindings = ["delete", "clusterrolebinding", "queuewarden-report-reader"];
        bed.kubectl(&bindings).await?;
        eventually("the session to be refused", PATIENCE, || async {
            let answer = got(report.get("/report.json").header("cookie", &cookie)).await?;
            Ok((answer.0 == 403).then_some(()))
        })
        .await
    })
    .await
}

#[tokio::test]
async fn it_follows_the_acls() -> Result<()> {
    Bed::with(async |bed| {
        if !prepared(bed).await? {
            return Ok(());
        }
        let (_operator, report) = Operator::start_showing(bed).await?;
        let reader = bed.token(READER).await?;
        grant(bed, "prod", "root.prod", "submit: {users: [sue]}").await?;
        let data = told(&report, &reader, |data| starts_at(data, "sue", "root.prod") == Some(true)).await?;

        // Where it is written, and by which program.
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

        // Nothing new is told in no words, something new as a whole.
        let first = report.get("/report.json").bearer_auth(&reader).send().await?;
        let tag = header(&first, "etag").to_owned();
        let again = || report.get("/report.json").bearer_auth(&reader).header("if-none-match", &tag);
        let answer = got(again()).await?;
        ensure!(answer == (304, String::new()), "{answer:?}");
        grant(bed, "prod", "root.prod", "submit: {users: [zoe]}").await?;
        told(&report, &reader, |data| starts_at(data, "zoe", "root.prod") == Some(true)).await?;
        let answer = got(again()).await?;
        ensure!(answer.0 == 200 && !answer.1.contains("\"sue\""), "{answer:?}");
        Ok(())
    })
    .await
}
