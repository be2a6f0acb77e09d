//! Servers die, the operator dies, and what is live and what status says come together again.

use anyhow::{Result, ensure};
use queuewarden_e2e::bed::BASE;
use queuewarden_e2e::conditions::{Expected, is_true};
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{Bed, Capability, Kind, Operator, eventually, operator, yunikorn};

use super::{acl, apply, config_is, configure, delete, grant, live, live_when, running, submits};

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
