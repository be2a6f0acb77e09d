//! Tests failures: servers die, the operator dies, its requests are refused; afterwards output and status
//! agree again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use queuewarden_e2e::bed::BASE;
use queuewarden_e2e::conditions::{Expected, is_false, is_true};
use queuewarden_e2e::faults::Fault;
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{Bed, Capability, FaultProxy, Kind, Operator, eventually, operator, yunikorn};
use tokio::sync::Notify;

use super::{
    KEY, acl, apply, config_is, configure, delete, grant, live, live_when, open_base, running, start_behind,
    submits,
};

#[tokio::test]
async fn the_scheduler_restarts_with_everything_we_write() -> Result<()> {
    Bed::with(async |bed| {
        if !bed.can_run(&[Capability::SchedulerProcess])? {
            return Ok(());
        }
        let _operator = running(bed).await?;
        let steps = [
            acl("a", "root.prod", "submit: {users: [alice]}"),
            acl("a", "root.prod", "submit: {acl: ' devs'}, admin: {users: [pat]}"),
            acl("a", "root.prod", "submit: {nobody: true}"),
            acl("a", "root.team", "submit: {everyone: true}"),
            "apiVersion: queuewarden.dev/v1alpha1\nkind: AdmissionPolicy\nmetadata: {name: p}\nspec: {trustControllers: false, externalUsers: ['^ci$']}\n".to_owned(),
        ];
        for step in steps {
            apply(bed, &step).await?;
            for kind in [Kind::QueueAcl, Kind::AdmissionPolicy] {
                for object in bed.objects(kind)?.list(&kube::api::ListParams::default()).await? {
                    let name = object.metadata.name.unwrap_or_default();
                    bed.wait_for(kind, &name, is_true("Ready"), PATIENCE).await?;
                }
            }
            bed.scheduler()?.kill()?;
            let unknown = Expected { r#type: "Loaded", status: "Unknown", reason: Some("SchedulerUnreachable") };
            config_is(bed, unknown, PATIENCE).await?;
            bed.start_scheduler().await?;
            bed.yunikorn()?.wait_for_text(&live(bed).await?, PATIENCE).await?;
            config_is(bed, is_true("Loaded"), PATIENCE).await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn the_api_server_comes_back_and_nothing_was_missed() -> Result<()> {
    Bed::with(async |bed| {
        if !bed.can_run(&[Capability::ApiServerProcess])? {
            return Ok(());
        }
        let operator = running(bed).await?;
        grant(bed, "prod", "root.prod", "submit: {users: [alice]}").await?;
        bed.apiserver()?.kill()?;
        bed.start_apiserver().await?;
        grant(bed, "dev", "root.dev", "submit: {users: [bob]}").await?;
        delete(bed, "queueacl", "prod").await?;
        live_when(bed, "the deletion to be seen", |text| !text.contains("alice") && text.contains("bob"))
            .await?;
        ensure!(operator.get("/livez").await.is_ok());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn an_operator_that_dies_after_its_write_leaves_no_untrue_status() -> Result<()> {
    Bed::with(async |bed| {
        if !bed.can_run(&[Capability::OperatorProcess, Capability::Audit])? {
            return Ok(());
        }
        for round in 0..3 {
            let operator = running(bed).await?;
            let mark = bed.audit()?.mark()?;
            apply(bed, &acl("a", "root.prod", &format!("submit: {{users: [user{round}]}}"))).await?;
            eventually("the write", PATIENCE, || async {
                let written = bed.audit()?.count(mark, |write| {
                    write.user == operator::USER && write.resource == "configmaps" && write.accepted()
                })?;
                Ok((written > 0).then_some(()))
            })
            .await?;
            operator.kill().await?;
            drop(operator);
            let _operator = running(bed).await?;
            bed.wait_for(Kind::QueueAcl, "a", is_true("Ready"), PATIENCE).await?;
            ensure!(live(bed).await?.contains(&format!("'user{round}'")));
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_stopped_operator_leaves_access_as_it_is_and_catches_up() -> Result<()> {
    Bed::with(async |bed| {
        let operator = running(bed).await?;
        grant(bed, "prod", "root.prod", "submit: {users: [alice]}").await?;
        operator.kill().await?;
        drop(operator);
        ensure!(bed.submit("alice", &["devs"], "root.prod").await?.is_allowed());
        delete(bed, "queueacl", "prod").await?;
        let _operator = running(bed).await?;
        submits(bed, "alice", &["devs"], "root.prod", false).await
    })
    .await
}

#[tokio::test]
async fn of_two_replicas_one_writes_and_the_other_takes_over() -> Result<()> {
    Bed::with(async |bed| {
        if !bed.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        bed.install().await?;
        configure(bed, "").await?;
        let (first, second) = (Operator::start(bed).await?, Operator::start(bed).await?);
        grant(bed, "one", "root.prod", "submit: {users: [alice]}").await?;
        let leader = eventually("a leader", PATIENCE, || bed.leader()).await?;
        let (leading, following) = if leader == first.name()? { (first, second) } else { (second, first) };
        ensure!(leader == leading.name()?, "{leader} leads");
        ensure!(following.get("/readyz").await.is_ok(), "a replica that does not lead is ready");
        leading.kill().await?;
        apply(bed, &acl("two", "root.dev", "submit: {users: [bob]}")).await?;
        bed.wait_for(Kind::QueueAcl, "two", is_true("Ready"), LONG).await?;
        ensure!(bed.leader().await?.as_deref() == Some(following.name()?));
        ensure!(live(bed).await?.contains("'alice'"));
        // An operator that ends releases the Lease: nobody waits until it expires.
        let third = Operator::start(bed).await?;
        following.process()?.terminate()?;
        following.process()?.exited(PATIENCE).await?;
        eventually("the third to lead", Duration::from_secs(5), || async {
            Ok((bed.leader().await?.as_deref() == Some(third.name()?)).then_some(()))
        })
        .await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_changed_base_is_rendered_again() -> Result<()> {
    Bed::with(async |bed| {
        let _operator = running(bed).await?;
        grant(bed, "prod", "root.prod", "submit: {users: [alice]}").await?;
        bed.set_base(&format!("# second edition\n{}", BASE.replace("- name: dev\n", "- name: stage\n")))
            .await?;
        let text = live_when(bed, "the new base", |text| text.contains("name: stage")).await?;
        ensure!(text.contains("# second edition\n") && text.contains("'alice'"), "{text}");
        bed.delete_config_map(yunikorn::DEFAULTS).await?;
        let gone = queuewarden_e2e::conditions::is_false("BaseResolved", "BaseNotFound");
        config_is(bed, gone, PATIENCE).await?;
        ensure!(live(bed).await? == text, "what is live stays");
        Ok(())
    })
    .await
}

/// A plan from half of the objects would take the other half for missing.
#[tokio::test]
async fn nothing_is_written_or_said_to_be_well_while_something_cannot_be_read() -> Result<()> {
    Bed::with(async |bed| {
        if !bed.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        bed.install().await?;
        configure(bed, "").await?;
        apply(bed, &acl("prod", "root.prod", "submit: {users: [alice]}")).await?;
        let proxy = FaultProxy::start(bed).await?;
        proxy.judge(|call| call.is_about("admissionpolicies").then_some(Fault::Refuse(500)));
        let kubeconfig = proxy.kubeconfig(bed).await?;
        let operator = Operator::launch(bed, &[], &[("KUBECONFIG", &kubeconfig.to_string_lossy())]).await?;
        eventually("the policies to be asked for again", PATIENCE, || async {
            let asked = proxy.calls().iter().filter(|call| call.is_about("admissionpolicies")).count();
            Ok((asked > 3).then_some(()))
        })
        .await?;
        let mut calls = proxy.calls();
        calls.retain(|call| call.method != http::Method::GET && !call.is_about("leases"));
        ensure!(calls.is_empty(), "{calls:?}");
        proxy.heal();
        config_is(bed, is_true("Ready"), PATIENCE).await?;
        let in_sync = async |wanted: f64| {
            eventually(&format!("in sync to be {wanted}"), PATIENCE, || async {
                let is = operator.metric("queuewarden_config_in_sync", "").await?;
                Ok(((is - wanted).abs() < 0.5).then_some(()))
            })
            .await
        };
        in_sync(1.0).await?;
        proxy.judge(|call| {
            (call.is_about("configmaps") && call.method == http::Method::GET).then_some(Fault::Refuse(500))
        });
        configure(bed, "  base: {configMap: yunikorn-queues}\n").await?;
        in_sync(0.0).await?;
        proxy.heal();
        // The other base is followed.
        config_is(bed, is_false("BaseResolved", "BaseNotFound"), PATIENCE).await?;
        let stage = BASE.replace("- name: dev\n", "- name: stage\n");
        bed.write_config_map("yunikorn-queues", [(KEY.to_owned(), stage)].into()).await?;
        live_when(bed, "the other base", |text| text.contains("name: stage")).await?;
        in_sync(1.0).await
    })
    .await
}

#[tokio::test]
async fn a_config_map_that_may_not_be_read_is_not_taken_for_missing() -> Result<()> {
    Bed::with(async |bed| {
        let _operator = running(bed).await?;
        grant(bed, "prod", "root.prod", "submit: {users: [alice]}").await?;
        let text = live(bed).await?;
        configure(bed, "  base: {configMap: nobodys}\n").await?;
        let told = config_is(bed, is_false("Ready", "Invalid"), PATIENCE).await?.message;
        ensure!(told.contains("QW5201") && told.contains("may not read ConfigMap"), "{told}");
        ensure!(live(bed).await? == text);
        configure(bed, "").await?;
        config_is(bed, is_true("Ready"), PATIENCE).await.map(drop)
    })
    .await
}

/// An upgrade may bring the program before its definitions.
#[tokio::test]
async fn access_is_managed_without_the_definition_of_tests() -> Result<()> {
    Bed::with(async |bed| {
        bed.install().await?;
        configure(bed, "").await?;
        bed.kubectl(&["delete", "crd", "queueaccesstests.queuewarden.dev"]).await?;
        let operator = Operator::start(bed).await?;
        grant(bed, "prod", "root.prod", "submit: {users: [alice]}").await?;
        let told = async |resource: &str| {
            let metrics = operator.get("/metrics").await?;
            Ok(metrics.contains(&format!("_progress_timestamp_seconds{{resource=\"{resource}\"}}")))
        };
        let alarmed: Result<bool> = told("queueaccesstests").await;
        ensure!(told("queueacls").await? && !alarmed?, "a watch that never worked would look stalled");
        bed.apply_kustomization("manifests").await?;
        bed.crds_established().await?;
        eventually("the tests to be watched", LONG, || async {
            Ok(told("queueaccesstests").await?.then_some(()))
        })
        .await
    })
    .await
}

/// Checks events that hang, a last base that may not be stored, and statuses that somebody else overwrites or
/// that cannot be written.
#[tokio::test]
async fn what_is_written_beside_the_output_may_fail() -> Result<()> {
    Bed::with(async |bed| {
        if !bed.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        bed.install().await?;
        configure(bed, "").await?;
        let (proxy, sent) = (FaultProxy::start(bed).await?, Arc::new(Notify::new()));
        let (tell, mut first) = (Arc::clone(&sent), true);
        proxy.judge(move |call| match call.path.rsplit('/').next() {
            Some("events") => Some(Fault::Hang),
            Some("queuewarden-last-base") => Some(Fault::Refuse(403)),
            Some("status") if call.is_about("queueacls") && std::mem::take(&mut first) => {
                tell.notify_one();
                Some(Fault::Delay(Duration::from_secs(5)))
            }
            _ => None,
        });
        let operator = start_behind(bed, &proxy).await?;
        config_is(bed, is_true("Ready"), PATIENCE).await?;
        // Nothing is written for it, and a label is no cause for a plan: only the refusal itself brings the
        // status about.
        let spec = "submit: {users: [bob]}, baseAcl: Extend, notBefore: '2100-01-01T00:00:00Z'";
        apply(bed, &acl("later", "root.prod", spec)).await?;
        tokio::time::timeout(PATIENCE, sent.notified()).await?;
        bed.kubectl(&["label", "queueacl", "later", "team=a"]).await?;
        bed.wait_for(Kind::QueueAcl, "later", is_true("Ready"), PATIENCE).await?;
        let stale = "kind=\"QueueAcl\",result=\"stale\"";
        ensure!(operator.metric("queuewarden_status_patch_total", stale).await? > 0.0);
        ensure!(operator.log().await?.contains("The last good base cannot be kept"));

        // The scheduler skips a text that it knows: no revision is used twice, although the status cannot
        // remember it.
        grant(bed, "prod", "root.prod", "submit: {users: [alice]}").await?;
        config_is(bed, is_true("Ready"), PATIENCE).await?;
        proxy.judge(|call| {
            call.path.ends_with("/yunikornconfigs/default/status").then_some(Fault::Refuse(500))
        });
        let mut texts = BTreeSet::from([live(bed).await?]);
        for _ in 0..2 {
            bed.set_configs(&open_base()).await?;
            texts.insert(live_when(bed, "our text to be back", |text| text.contains("'alice'")).await?);
        }
        ensure!(texts.len() == 3, "{texts:?}");
        Ok(())
    })
    .await
}
