//! Tests failures: servers die, the operator dies, its requests are refused; afterwards output and status
//! agree again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use queuewarden_e2e::conditions::{Expected, is_false, is_true};
use queuewarden_e2e::faults::Fault;
use queuewarden_e2e::test_cluster::BASE;
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{Capability, FaultProxy, Kind, Operator, TestCluster, eventually, operator, yunikorn};
use tokio::sync::Notify;

use super::{
    KEY, acl, apply, config_is, configure, delete, grant, live, live_when, open_base, running, start_behind,
    submits,
};

#[tokio::test]
async fn scheduler_restarts_with_every_written_text() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::SchedulerProcess])? {
            return Ok(());
        }
        let _operator = running(cluster).await?;
        let steps = [
            acl("a", "root.prod", "submit: {users: [alice]}"),
            acl("a", "root.prod", "submit: {acl: ' devs'}, admin: {users: [pat]}"),
            acl("a", "root.prod", "submit: {nobody: true}"),
            acl("a", "root.team", "submit: {everyone: true}"),
            "apiVersion: queuewarden.dev/v1alpha1\nkind: AdmissionPolicy\nmetadata: {name: p}\nspec: {trustControllers: false, externalUsers: ['^ci$']}\n".to_owned(),
        ];
        for step in steps {
            apply(cluster, &step).await?;
            for kind in [Kind::QueueAcl, Kind::AdmissionPolicy] {
                for object in cluster.objects(kind)?.list(&kube::api::ListParams::default()).await? {
                    let name = object.metadata.name.unwrap_or_default();
                    cluster.wait_for(kind, &name, is_true("Ready"), PATIENCE).await?;
                }
            }
            cluster.scheduler()?.kill()?;
            let unknown = Expected { r#type: "Loaded", status: "Unknown", reason: Some("SchedulerUnreachable") };
            config_is(cluster, unknown, PATIENCE).await?;
            cluster.start_scheduler().await?;
            cluster.yunikorn()?.wait_for_text(&live(cluster).await?, PATIENCE).await?;
            config_is(cluster, is_true("Loaded"), PATIENCE).await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn restarted_api_server_loses_no_change() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::ApiServerProcess])? {
            return Ok(());
        }
        let operator = running(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        cluster.apiserver()?.kill()?;
        cluster.start_apiserver().await?;
        grant(cluster, "dev", "root.dev", "submit: {users: [bob]}").await?;
        delete(cluster, "queueacl", "prod").await?;
        live_when(cluster, "the deletion to be seen", |text| !text.contains("alice") && text.contains("bob"))
            .await?;
        ensure!(operator.get("/livez").await.is_ok());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn operator_killed_after_a_write_leaves_no_false_status() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess, Capability::Audit])? {
            return Ok(());
        }
        for round in 0..3 {
            let operator = running(cluster).await?;
            let mark = cluster.audit()?.mark()?;
            apply(cluster, &acl("a", "root.prod", &format!("submit: {{users: [user{round}]}}"))).await?;
            eventually("the write", PATIENCE, || async {
                let written = cluster.audit()?.count(mark, |write| {
                    write.user == operator::USER && write.resource == "configmaps" && write.accepted()
                })?;
                Ok((written > 0).then_some(()))
            })
            .await?;
            operator.kill().await?;
            drop(operator);
            let _operator = running(cluster).await?;
            cluster.wait_for(Kind::QueueAcl, "a", is_true("Ready"), PATIENCE).await?;
            ensure!(live(cluster).await?.contains(&format!("'user{round}'")));
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_stopped_operator_leaves_access_as_it_is_and_catches_up() -> Result<()> {
    TestCluster::with(async |cluster| {
        let operator = running(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        operator.kill().await?;
        drop(operator);
        ensure!(cluster.submit("alice", &["devs"], "root.prod").await?.is_allowed());
        delete(cluster, "queueacl", "prod").await?;
        let _operator = running(cluster).await?;
        submits(cluster, "alice", &["devs"], "root.prod", false).await
    })
    .await
}

#[tokio::test]
async fn second_replica_takes_over() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        cluster.install().await?;
        configure(cluster, "").await?;
        let (first, second) = (Operator::start(cluster).await?, Operator::start(cluster).await?);
        grant(cluster, "one", "root.prod", "submit: {users: [alice]}").await?;
        let leader = eventually("a leader", PATIENCE, || cluster.leader()).await?;
        let (leading, following) = if leader == first.name()? { (first, second) } else { (second, first) };
        ensure!(leader == leading.name()?, "{leader} leads");
        ensure!(following.get("/readyz").await.is_ok(), "a replica that does not lead is ready");
        leading.kill().await?;
        apply(cluster, &acl("two", "root.dev", "submit: {users: [bob]}")).await?;
        cluster.wait_for(Kind::QueueAcl, "two", is_true("Ready"), LONG).await?;
        ensure!(cluster.leader().await?.as_deref() == Some(following.name()?));
        ensure!(live(cluster).await?.contains("'alice'"));
        // An operator that terminates releases the Lease, so that no one waits until it expires.
        let third = Operator::start(cluster).await?;
        following.process()?.terminate()?;
        following.process()?.exited(PATIENCE).await?;
        eventually("the third to lead", Duration::from_secs(5), || async {
            Ok((cluster.leader().await?.as_deref() == Some(third.name()?)).then_some(()))
        })
        .await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_changed_base_is_rendered_again() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = running(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        cluster
            .set_base(&format!("# second edition\n{}", BASE.replace("- name: dev\n", "- name: stage\n")))
            .await?;
        let text = live_when(cluster, "the new base", |text| text.contains("name: stage")).await?;
        ensure!(text.contains("# second edition\n") && text.contains("'alice'"), "{text}");
        cluster.delete_config_map(yunikorn::DEFAULTS).await?;
        let gone = queuewarden_e2e::conditions::is_false("BaseResolved", "BaseNotFound");
        config_is(cluster, gone, PATIENCE).await?;
        ensure!(live(cluster).await? == text, "what is live stays");
        Ok(())
    })
    .await
}

/// A plan from half of the objects would treat the other half as missing.
#[tokio::test]
async fn unreadable_object_prevents_writes_and_ready() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        cluster.install().await?;
        configure(cluster, "").await?;
        apply(cluster, &acl("prod", "root.prod", "submit: {users: [alice]}")).await?;
        let proxy = FaultProxy::start(cluster).await?;
        proxy.inject(|call| call.is_about("admissionpolicies").then_some(Fault::Refuse(500)));
        let kubeconfig = proxy.kubeconfig(cluster).await?;
        let operator =
            Operator::launch(cluster, &[], &[("KUBECONFIG", &kubeconfig.to_string_lossy())]).await?;
        eventually("the policies to be asked for again", PATIENCE, || async {
            let asked = proxy.calls().iter().filter(|call| call.is_about("admissionpolicies")).count();
            Ok((asked > 3).then_some(()))
        })
        .await?;
        let mut calls = proxy.calls();
        calls.retain(|call| call.method != http::Method::GET && !call.is_about("leases"));
        ensure!(calls.is_empty(), "{calls:?}");
        proxy.heal();
        config_is(cluster, is_true("Ready"), PATIENCE).await?;
        let in_sync = async |wanted: f64| {
            eventually(&format!("in sync to be {wanted}"), PATIENCE, || async {
                let is = operator.metric("queuewarden_config_in_sync", "").await?;
                Ok(((is - wanted).abs() < 0.5).then_some(()))
            })
            .await
        };
        in_sync(1.0).await?;
        proxy.inject(|call| {
            (call.is_about("configmaps") && call.method == http::Method::GET).then_some(Fault::Refuse(500))
        });
        configure(cluster, "  base: {configMap: yunikorn-queues}\n").await?;
        in_sync(0.0).await?;
        proxy.heal();
        // The other base is followed.
        config_is(cluster, is_false("BaseResolved", "BaseNotFound"), PATIENCE).await?;
        let stage = BASE.replace("- name: dev\n", "- name: stage\n");
        cluster.write_config_map("yunikorn-queues", [(KEY.to_owned(), stage)].into()).await?;
        live_when(cluster, "the other base", |text| text.contains("name: stage")).await?;
        in_sync(1.0).await
    })
    .await
}

#[tokio::test]
async fn a_config_map_that_may_not_be_read_is_not_taken_for_missing() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = running(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        let text = live(cluster).await?;
        configure(cluster, "  base: {configMap: nobodys}\n").await?;
        let reported = config_is(cluster, is_false("Ready", "Invalid"), PATIENCE).await?.message;
        ensure!(reported.contains("QW5201") && reported.contains("may not read ConfigMap"), "{reported}");
        ensure!(live(cluster).await? == text);
        configure(cluster, "").await?;
        config_is(cluster, is_true("Ready"), PATIENCE).await.map(drop)
    })
    .await
}

/// An upgrade may install the program before its definitions.
#[tokio::test]
async fn access_is_managed_without_the_definition_of_tests() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        configure(cluster, "").await?;
        cluster.kubectl(&["delete", "crd", "queueaccesstests.queuewarden.dev"]).await?;
        let operator = Operator::start(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        let reported = async |resource: &str| {
            let metrics = operator.get("/metrics").await?;
            Ok(metrics.contains(&format!("_progress_timestamp_seconds{{resource=\"{resource}\"}}")))
        };
        let alarmed: Result<bool> = reported("queueaccesstests").await;
        ensure!(reported("queueacls").await? && !alarmed?, "a watch that never worked would look stalled");
        cluster.apply_kustomization("manifests").await?;
        cluster.crds_established().await?;
        eventually("the tests to be watched", LONG, || async {
            Ok(reported("queueaccesstests").await?.then_some(()))
        })
        .await
    })
    .await
}

/// Checks events that hang, a last base that cannot be stored, and statuses that another client overwrites or
/// that cannot be written.
#[tokio::test]
async fn what_is_written_beside_the_output_may_fail() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        cluster.install().await?;
        configure(cluster, "").await?;
        let (proxy, sent) = (FaultProxy::start(cluster).await?, Arc::new(Notify::new()));
        let (tell, mut first) = (Arc::clone(&sent), true);
        proxy.inject(move |call| match call.path.rsplit('/').next() {
            Some("events") => Some(Fault::Hang),
            Some("queuewarden-last-base") => Some(Fault::Refuse(403)),
            Some("status") if call.is_about("queueacls") && std::mem::take(&mut first) => {
                tell.notify_one();
                Some(Fault::Delay(Duration::from_secs(5)))
            }
            _ => None,
        });
        let operator = start_behind(cluster, &proxy).await?;
        config_is(cluster, is_true("Ready"), PATIENCE).await?;
        // It causes no write, and a label does not trigger a plan, so only the refusal itself leads to the
        // status.
        let spec = "submit: {users: [bob]}, baseAcl: Extend, notBefore: '2100-01-01T00:00:00Z'";
        apply(cluster, &acl("later", "root.prod", spec)).await?;
        tokio::time::timeout(PATIENCE, sent.notified()).await?;
        cluster.kubectl(&["label", "queueacl", "later", "team=a"]).await?;
        cluster.wait_for(Kind::QueueAcl, "later", is_true("Ready"), PATIENCE).await?;
        let stale = "kind=\"QueueAcl\",result=\"stale\"";
        ensure!(operator.metric("queuewarden_status_patch_total", stale).await? > 0.0);
        ensure!(operator.log().await?.contains("The last good base cannot be kept"));

        // The scheduler skips a text that it knows, so no revision may be used twice, although the status
        // cannot store it.
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        config_is(cluster, is_true("Ready"), PATIENCE).await?;
        proxy.inject(|call| {
            call.path.ends_with("/yunikornconfigs/default/status").then_some(Fault::Refuse(500))
        });
        let mut texts = BTreeSet::from([live(cluster).await?]);
        for _ in 0..2 {
            cluster.set_configs(&open_base()).await?;
            texts.insert(live_when(cluster, "our text to be back", |text| text.contains("'alice'")).await?);
        }
        ensure!(texts.len() == 3, "{texts:?}");
        Ok(())
    })
    .await
}
