//! Tests the output of `kubectl events`, which reports each change once, as a warning if someone has to act,
//! and is not repeated after a restart.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, ListParams};
use queuewarden_e2e::conditions::is_false;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, Kind, Operator, TestCluster, eventually};

use super::story::in_seconds;
use super::{acl, apply, grant, running};

/// Returns type, reason and note of the current object's events, and how often each was repeated, oldest
/// first.
async fn events(cluster: &TestCluster, kind: Kind, name: &str) -> Result<Vec<(String, String, String, i32)>> {
    let uid = cluster.objects(kind)?.get(name).await?.metadata.uid;
    let events = Api::<Event>::all(cluster.client()?).list(&ListParams::default()).await?;
    let of_it = |event: &Event| event.regarding.as_ref().is_some_and(|about| about.uid == uid);
    let mut events: Vec<Event> = events.into_iter().filter(of_it).collect();
    events.sort_by_key(|event| event.event_time.clone());
    let reported = events.into_iter().map(|event| {
        let again = event.series.map_or(0, |series| series.count);
        Ok((
            event.type_.context("no type")?,
            event.reason.context("no reason")?,
            event.note.context("no note")?,
            again,
        ))
    });
    reported.collect()
}

/// Waits for an event of this type and reason, and returns all events.
async fn reported(
    cluster: &TestCluster,
    kind: Kind,
    name: &str,
    type_: &str,
    reason: &str,
) -> Result<Vec<(String, String, String, i32)>> {
    eventually(&format!("an event {type_} {reason} of {name}"), PATIENCE, || async {
        let events = events(cluster, kind, name).await?;
        let found = events.iter().any(|event| (event.0.as_str(), event.1.as_str()) == (type_, reason));
        Ok(found.then_some(events))
    })
    .await
}

#[tokio::test]
async fn each_change_is_reported_once() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let operator = running(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        let good = reported(cluster, Kind::QueueAcl, "prod", "Normal", "Ready").await?;
        ensure!(good.iter().all(|event| event.0 == "Normal"), "to wait is no warning: {good:?}");
        let (.., note, _) = good.last().context("no event")?;
        ensure!(note == "in force: grants submit to user alice on queue `root.prod`", "{note}");
        apply(cluster, &acl("prod", "root.nowhere", "submit: {users: [alice]}")).await?;
        cluster.wait_for(Kind::QueueAcl, "prod", is_false("Ready", "QueueNotFound"), PATIENCE).await?;
        let bad = reported(cluster, Kind::QueueAcl, "prod", "Warning", "QueueNotFound").await?;
        let mut notes = bad.iter().map(|event| event.2.as_str());
        ensure!(notes.clone().all(|note| note.len() <= 1000 && !note.contains('\n')), "{bad:?}");
        ensure!(notes.next_back().is_some_and(|note| note.contains("`root.nowhere`")), "{bad:?}");
        // The next operator finds it unchanged: its first reconcile is over when a later change is reported.
        operator.kill().await?;
        let _next = Operator::start(cluster).await?;
        grant(cluster, "later", "root.prod", "submit: {users: [bob]}").await?;
        reported(cluster, Kind::QueueAcl, "later", "Normal", "Ready").await?;
        let after = events(cluster, Kind::QueueAcl, "prod").await?;
        ensure!(after == bad, "{after:?}, before {bad:?}");
        ensure!(after.iter().all(|event| event.3 == 0), "{after:?}");
        Ok(())
    })
    .await
}

/// A restart does not repeat it, because the status records that it was reported.
#[tokio::test]
async fn end_is_reported_an_hour_before() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let operator = running(cluster).await?;
        let end = in_seconds(50 * 60)?;
        let spec = format!("submit: {{users: [alice]}}, baseAcl: Extend, expiresAt: '{end}'");
        grant(cluster, "guest", "root.prod", &spec).await?;
        let before = reported(cluster, Kind::QueueAcl, "guest", "Normal", "Expiring").await?;
        let note = format!("ends at {end}: takes submit from user alice on queue `root.prod`");
        ensure!(before.iter().filter(|event| event.2 == note).count() == 1, "{before:?}");
        operator.kill().await?;
        let _next = Operator::start(cluster).await?;
        grant(cluster, "later", "root.prod", "submit: {users: [bob]}").await?;
        reported(cluster, Kind::QueueAcl, "later", "Normal", "Ready").await?;
        let after = events(cluster, Kind::QueueAcl, "guest").await?;
        let reported = after.iter().filter(|event| event.1 == "Expiring").map(|event| event.3);
        ensure!(reported.eq([0]), "{after:?}");
        Ok(())
    })
    .await
}

/// One event reports who gains and who loses from Ready to Ready, and another one an edit of the output by
/// others.
#[tokio::test]
async fn who_gains_and_who_loses_is_reported() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let operator = running(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        apply(cluster, &acl("prod", "root.prod", "submit: {users: [bob]}")).await?;
        let changed = reported(cluster, Kind::QueueAcl, "prod", "Normal", "AccessChanged").await?;
        let note = "grants submit to user bob on queue `root.prod`; takes submit from user alice on queue `root.prod`";
        ensure!(changed.iter().any(|event| event.2 == note), "{changed:?}");
        let access = "takes submit on root.prod from user alice; grants submit on root.prod to user bob";
        ensure!(operator.log().await?.contains(access), "{}", operator.log().await?);
        let open = "partitions: [{name: default, queues: [{name: root, submitacl: '*'}]}]";
        cluster.set_configs(open).await?;
        let edited = reported(cluster, Kind::YuniKornConfig, "default", "Warning", "OutputEdited").await?;
        let note = edited.iter().find(|event| event.1 == "OutputEdited").context("no event")?.2.as_str();
        ensure!(note.contains("changed `queues.yaml` in yunikorn-configs, which grants submit on root"), "{note}");
        ensure!(note.contains("everyone") && note.ends_with("it is put back"), "{note}");
        // The log contains the access that was open, and for how long.
        let log = operator.log().await?;
        let repaired = log.lines().find(|line| line.contains("the change that is put back had been there for"));
        ensure!(repaired.is_some_and(|line| line.contains("takes submit on root")), "{log}");
        Ok(())
    })
    .await
}
