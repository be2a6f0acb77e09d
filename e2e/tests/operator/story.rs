//! Tests the main function: a `QueueAcl` decides which applications the scheduler accepts, as long as it
//! exists and is valid.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use queuewarden_e2e::audit::Write;
use queuewarden_e2e::conditions::{Expected, is_false};
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{Capability, Kind, TestCluster, eventually, yunikorn};

use super::{acl, apply, config_is, delete, grant, hashes, live, open_base, running, submits, writes};

#[tokio::test]
async fn queue_acl_opens_a_queue_and_its_deletion_closes_it() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = running(cluster).await?;
        ensure!(cluster.submit("alice", &["devs"], "root.prod").await?.is_rejected());
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        // Ready means that the scheduler runs it, so there is nothing to wait for.
        ensure!(cluster.submit("alice", &["devs"], "root.prod").await?.is_allowed());
        ensure!(cluster.submit("bob", &["devs"], "root.prod").await?.is_rejected());
        let (written, loaded) = hashes(cluster).await?;
        ensure!(written == loaded && loaded == cluster.yunikorn()?.config_checksum().await?);
        ensure!(written == yunikorn::checksum(&live(cluster).await?));
        delete(cluster, "queueacl", "prod").await?;
        submits(cluster, "alice", &["devs"], "root.prod", false).await
    })
    .await
}

/// The columns of `kubectl get`, and the category of all kinds.
#[tokio::test]
async fn columns_show_what_is_asked_for_and_what_is_in_force() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = running(cluster).await?;
        grant(cluster, "now", "root.prod", "submit: {users: [alice]}").await?;
        apply(cluster, &acl("idle", "root.prod", "submit: {groups: [devs]}, suspend: true")).await?;
        apply(cluster, &acl("lost", "root.nowhere", "admin: {users: [bob]}")).await?;
        eventually("the columns of all objects", PATIENCE, || async {
            let text = cluster.kubectl(&["get", "queueacls"]).await?;
            let words = |name: &str| -> Vec<String> {
                let row = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
                row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
            };
            ensure!(text.lines().next().is_some_and(|head| head.contains("IN FORCE")), "{text}");
            for (name, expected) in [
                ("now", ["now", "root.prod", "user alice", "-", "True", "True", "Ready"]),
                ("idle", ["idle", "root.prod", "group devs", "-", "False", "True", "Suspended"]),
                ("lost", ["lost", "root.nowhere", "-", "user bob", "False", "False", "QueueNotFound"]),
            ] {
                ensure!(words(name).starts_with(&expected.map(str::to_owned)), "{name}: {text}");
            }
            Ok(Some(()))
        })
        .await?;
        let all = cluster.kubectl(&["get", "queuewarden", "-o", "name"]).await?;
        for object in ["queueacl.queuewarden.dev/now", "yunikornconfig.queuewarden.dev/default"] {
            ensure!(all.contains(object), "{all}");
        }
        // The worst fact is the reason, with its message.
        cluster.set_base("partitions:\n  - name: default\n    queues:\n      - name: root\n        submitacl: 'a  b'\n").await?;
        let wide = eventually("the line of the mistake", PATIENCE, || async {
            let text = cluster.kubectl(&["get", "yunikornconfig", "-o", "wide"]).await?;
            Ok(text.contains("BaseInvalid").then_some(text))
        })
        .await?;
        ensure!(wide.contains("line 5: QW1"), "{wide}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn groups_are_granted_and_grants_of_several_objects_join() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = running(cluster).await?;
        grant(cluster, "one", "root.team", "submit: {groups: [devs]}").await?;
        grant(cluster, "two", "root.team", "submit: {acl: 'carol ops'}").await?;
        for (user, group, allowed) in
            [("alice", "devs", true), ("bob", "ops", true), ("carol", "x", true), ("dave", "x", false)]
        {
            let outcome = cluster.submit(user, &[group], "root.team.batch").await?;
            ensure!(outcome.is_allowed() == allowed, "{user} {group}: {outcome:?}");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn queue_acl_closes_an_open_root() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = running(cluster).await?;
        cluster.set_base(&open_base()).await?;
        submits(cluster, "alice", &["devs"], "root.prod", true).await?;
        grant(cluster, "root", "root", "submit: {groups: [platform]}").await?;
        ensure!(cluster.submit("alice", &["devs"], "root.prod").await?.is_rejected());
        ensure!(cluster.submit("pat", &["platform"], "root.prod").await?.is_allowed());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn expired_grant_ends() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = running(cluster).await?;
        let end = in_seconds(12)?;
        let spec = format!("baseAcl: Extend, submit: {{users: [alice]}}, expiresAt: '{end}'");
        grant(cluster, "guest", "root.prod", &spec).await?;
        ensure!(cluster.submit("alice", &["devs"], "root.prod").await?.is_allowed());
        let ended = Expected { r#type: "Ready", status: "True", reason: Some("Expired") };
        cluster.wait_for(Kind::QueueAcl, "guest", ended, LONG).await?;
        // Not earlier: a right that is reported as ended has ended.
        ensure!(cluster.submit("alice", &["devs"], "root.prod").await?.is_rejected());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn from_apply_to_ready_takes_less_than_two_seconds() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = running(cluster).await?;
        let mut times = Vec::new();
        for round in 0..20 {
            let name = format!("grant-{round}");
            let start = Instant::now();
            grant(cluster, &name, "root.prod", &format!("submit: {{users: [user{round}]}}")).await?;
            times.push(start.elapsed());
            ensure!(
                yunikorn::checksum(&live(cluster).await?) == cluster.yunikorn()?.config_checksum().await?
            );
        }
        times.sort_unstable();
        let median = times[times.len() / 2];
        eprintln!(
            "apply to Ready: median {median:?}, fastest {:?}, slowest {:?}",
            times[0],
            times[times.len() - 1]
        );
        ensure!(median < Duration::from_secs(2), "{times:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn idle_operator_writes_nothing() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::Audit])? {
            return Ok(());
        }
        let _operator = running(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        let before = cluster.audit()?.mark()?;
        apply(cluster, &acl("bad", "root.gone", "submit: {users: [alice]}")).await?;
        cluster.wait_for(Kind::QueueAcl, "bad", is_false("Ready", "QueueNotFound"), PATIENCE).await?;
        // Its event follows its status.
        eventually("the event about `bad`", PATIENCE, || async {
            let reported = |write: &Write| write.resource == "events" && write.name.starts_with("bad.");
            Ok((cluster.audit()?.count(before, reported)? > 0).then_some(()))
        })
        .await?;
        config_is(cluster, queuewarden_e2e::conditions::is_true("Loaded"), PATIENCE).await?;
        let mark = cluster.audit()?.mark()?;
        // Idleness is a period of time, not a condition to wait for.
        tokio::time::sleep(Duration::from_mins(1)).await;
        for (resource, subresource) in [
            ("configmaps", ""),
            ("queueacls", "status"),
            ("yunikornconfigs", "status"),
            ("admissionpolicies", "status"),
            ("events", ""),
        ] {
            let count = writes(cluster, mark, resource, subresource)?;
            ensure!(
                count == 0,
                "{count} writes of {resource}/{subresource}: {:?}",
                cluster.audit()?.since(mark)?
            );
        }
        Ok(())
    })
    .await
}

/// Returns the time this many seconds from now, to the second.
#[expect(clippy::disallowed_methods, reason = "a test against a real clock must ask it")]
pub(super) fn in_seconds(seconds: i64) -> Result<k8s_openapi::jiff::Timestamp> {
    let now = k8s_openapi::jiff::Timestamp::now().as_second();
    Ok(k8s_openapi::jiff::Timestamp::from_second(now + seconds)?)
}
