//! Tests the main function: a `QueueAcl` decides what the scheduler accepts, as long as it exists and is
//! valid.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use queuewarden_e2e::audit::Write;
use queuewarden_e2e::conditions::{Expected, is_false};
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{Bed, Capability, Kind, eventually, yunikorn};

use super::{acl, apply, config_is, delete, grant, hashes, live, open_base, running, submits, writes};

#[tokio::test]
async fn a_queue_acl_opens_a_queue_and_its_deletion_closes_it() -> Result<()> {
    Bed::with(async |bed| {
        let _operator = running(bed).await?;
        ensure!(bed.submit("alice", &["devs"], "root.prod").await?.is_rejected());
        grant(bed, "prod", "root.prod", "submit: {users: [alice]}").await?;
        // Ready means that the scheduler runs it: no waiting here.
        ensure!(bed.submit("alice", &["devs"], "root.prod").await?.is_allowed());
        ensure!(bed.submit("bob", &["devs"], "root.prod").await?.is_rejected());
        let (written, loaded) = hashes(bed).await?;
        ensure!(written == loaded && loaded == bed.yunikorn()?.config_checksum().await?);
        ensure!(written == yunikorn::checksum(&live(bed).await?));
        delete(bed, "queueacl", "prod").await?;
        submits(bed, "alice", &["devs"], "root.prod", false).await
    })
    .await
}

#[tokio::test]
async fn groups_are_granted_and_grants_of_several_objects_join() -> Result<()> {
    Bed::with(async |bed| {
        let _operator = running(bed).await?;
        grant(bed, "one", "root.team", "submit: {groups: [devs]}").await?;
        grant(bed, "two", "root.team", "submit: {acl: 'carol ops'}").await?;
        for (user, group, allowed) in
            [("alice", "devs", true), ("bob", "ops", true), ("carol", "x", true), ("dave", "x", false)]
        {
            let outcome = bed.submit(user, &[group], "root.team.batch").await?;
            ensure!(outcome.is_allowed() == allowed, "{user} {group}: {outcome:?}");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn an_open_root_is_closed_by_a_queue_acl() -> Result<()> {
    Bed::with(async |bed| {
        let _operator = running(bed).await?;
        bed.set_base(&open_base()).await?;
        submits(bed, "alice", &["devs"], "root.prod", true).await?;
        grant(bed, "root", "root", "submit: {groups: [platform]}").await?;
        ensure!(bed.submit("alice", &["devs"], "root.prod").await?.is_rejected());
        ensure!(bed.submit("pat", &["platform"], "root.prod").await?.is_allowed());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_grant_ends_when_it_expires() -> Result<()> {
    Bed::with(async |bed| {
        let _operator = running(bed).await?;
        let end = in_seconds(12)?;
        let spec = format!("baseAcl: Extend, submit: {{users: [alice]}}, expiresAt: '{end}'");
        grant(bed, "guest", "root.prod", &spec).await?;
        ensure!(bed.submit("alice", &["devs"], "root.prod").await?.is_allowed());
        let ended = Expected { r#type: "Ready", status: "True", reason: Some("Expired") };
        bed.wait_for(Kind::QueueAcl, "guest", ended, LONG).await?;
        // Not earlier: a right that is reported as ended has ended.
        ensure!(bed.submit("alice", &["devs"], "root.prod").await?.is_rejected());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn from_apply_to_ready_takes_less_than_two_seconds() -> Result<()> {
    Bed::with(async |bed| {
        let _operator = running(bed).await?;
        let mut times = Vec::new();
        for round in 0..20 {
            let name = format!("grant-{round}");
            let start = Instant::now();
            grant(bed, &name, "root.prod", &format!("submit: {{users: [user{round}]}}")).await?;
            times.push(start.elapsed());
            ensure!(yunikorn::checksum(&live(bed).await?) == bed.yunikorn()?.config_checksum().await?);
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
async fn an_idle_operator_writes_nothing() -> Result<()> {
    Bed::with(async |bed| {
        if !bed.can_run(&[Capability::Audit])? {
            return Ok(());
        }
        let _operator = running(bed).await?;
        grant(bed, "prod", "root.prod", "submit: {users: [alice]}").await?;
        let before = bed.audit()?.mark()?;
        apply(bed, &acl("bad", "root.gone", "submit: {users: [alice]}")).await?;
        bed.wait_for(Kind::QueueAcl, "bad", is_false("Ready", "QueueNotFound"), PATIENCE).await?;
        // Its event follows its status.
        eventually("the event about `bad`", PATIENCE, || async {
            let told = |write: &Write| write.resource == "events" && write.name.starts_with("bad.");
            Ok((bed.audit()?.count(before, told)? > 0).then_some(()))
        })
        .await?;
        config_is(bed, queuewarden_e2e::conditions::is_true("Loaded"), PATIENCE).await?;
        let mark = bed.audit()?.mark()?;
        // Idleness is a period of time, not a condition to wait for.
        tokio::time::sleep(Duration::from_mins(1)).await;
        for (resource, subresource) in [
            ("configmaps", ""),
            ("queueacls", "status"),
            ("yunikornconfigs", "status"),
            ("admissionpolicies", "status"),
            ("events", ""),
        ] {
            let count = writes(bed, mark, resource, subresource)?;
            ensure!(
                count == 0,
                "{count} writes of {resource}/{subresource}: {:?}",
                bed.audit()?.since(mark)?
            );
        }
        Ok(())
    })
    .await
}

/// Returns the moment so many seconds from now, to the second.
#[expect(clippy::disallowed_methods, reason = "a test against a real clock must ask it")]
pub(super) fn in_seconds(seconds: i64) -> Result<k8s_openapi::jiff::Timestamp> {
    let now = k8s_openapi::jiff::Timestamp::now().as_second();
    Ok(k8s_openapi::jiff::Timestamp::from_second(now + seconds)?)
}
