//! Tests that status stays true and that access ends while something is broken: one test for each sequence
//! that once broke that promise.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams};
use queuewarden_e2e::bed::BASE;
use queuewarden_e2e::conditions::{Expected, is_false, is_true};
use queuewarden_e2e::faults::Fault;
use queuewarden_e2e::history::{revision, versions};
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Bed, Capability, FaultProxy, Kind, Operator, eventually, yunikorn};
use serde_json::{Value, json};

use super::story::in_seconds;
use super::{
    KEY, acl, apply, config_is, configure, delete, grant, gzip, live, refresh_no_more, running, start_behind,
};

/// The time within which a withdrawal reaches the scheduler, whatever is broken.
const WITHDRAWAL: Duration = Duration::from_secs(5);
/// The time within which a status has followed a change by somebody else.
const NOTICE: Duration = Duration::from_secs(5);

/// Makes the base one that YuniKorn does not activate, and waits until the operator reports it.
async fn break_base(bed: &Bed) -> Result<()> {
    bed.set_base(&BASE.replace("name: dev", "name: dev\n            submitacl: 'a  b'")).await?;
    config_is(bed, is_false("BaseResolved", "BaseInvalid"), PATIENCE).await.map(drop)
}

/// Changes a `ConfigMap` as somebody else.
pub(super) async fn merge(bed: &Bed, change: &Value) -> Result<()> {
    let maps: Api<ConfigMap> = Api::namespaced(bed.client()?, yunikorn::NAMESPACE);
    let params = PatchParams { field_manager: Some("somebody".into()), ..PatchParams::default() };
    maps.patch(yunikorn::CONFIGS, &params, &Patch::Merge(change)).await.map(drop)?;
    Ok(())
}

/// Returns the text of condition `Ready`, if it is true and about the object's present generation; that of
/// `Expired` even if it is not true.
async fn claims(bed: &Bed, kind: Kind, name: &str) -> Result<Option<String>> {
    let Some(object) = bed.objects(kind)?.get_opt(name).await? else { return Ok(None) };
    let conditions = bed.conditions(kind, name).await?;
    let ready = conditions.into_iter().find(|it| it.type_ == "Ready");
    let ready = ready.filter(|it| it.observed_generation == object.metadata.generation);
    let ready = ready.filter(|it| it.status == "True" || it.reason == "Expired");
    Ok(ready.map(|it| format!("Ready={} {}: {}", it.status, it.reason, it.message)))
}

/// Returns true if the configuration that the scheduler runs names somebody.
async fn runs(bed: &Bed, user: &str) -> Result<bool> {
    Ok(bed.yunikorn()?.config_json().await?.to_string().contains(user))
}

/// Checks that a user's right ends in time in the scheduler's text, and that no status reports the end
/// earlier.
async fn ends(bed: &Bed, name: &str, user: &str) -> Result<()> {
    let begin = Instant::now();
    loop {
        let claim = claims(bed, Kind::QueueAcl, name).await?;
        if !runs(bed, user).await? {
            break;
        }
        if let Some(claim) = claim {
            bail!("QueueAcl {name} says {claim}; the scheduler still lets {user} in");
        }
        ensure!(
            begin.elapsed() < WITHDRAWAL,
            "{user} is still in after {WITHDRAWAL:?}: {}",
            live(bed).await?
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    ensure!(bed.submit(user, &["nobody"], "root.prod").await?.is_rejected(), "{user} still submits");
    Ok(())
}

/// Checks that no version of the output after this revision names the user.
async fn never_came_back(bed: &Bed, since: u64, user: &str) -> Result<()> {
    let client = bed.client()?;
    let now = revision(&client).await?;
    let all = versions(&client, since, now).await?;
    let back = all.iter().find(|version| version.data.get(KEY).is_some_and(|text| text.contains(user)));
    back.map_or(Ok(()), |it| bail!("{user} is back at revision {}: {:?}", it.revision, it.data))
}

#[tokio::test]
async fn a_grant_that_is_narrowed_while_the_base_is_broken_is_narrowed() -> Result<()> {
    Bed::with(async |bed| {
        let _operator = running(bed).await?;
        grant(bed, "prod", "root.prod", "submit: {users: [sue, bob]}").await?;
        break_base(bed).await?;
        apply(bed, &acl("prod", "root.prod", "submit: {users: [sue]}")).await?;
        ends(bed, "prod", "bob").await?;
        ensure!(bed.submit("sue", &["nobody"], "root.prod").await?.is_allowed());
        bed.wait_for(Kind::QueueAcl, "prod", is_true("Ready"), PATIENCE).await?;
        bed.set_base(BASE).await?;
        config_is(bed, is_true("Ready"), PATIENCE).await.map(drop)
    })
    .await
}

#[tokio::test]
async fn a_grant_that_expires_while_the_base_is_broken_ends() -> Result<()> {
    Bed::with(async |bed| {
        let _operator = running(bed).await?;
        let begin = Instant::now();
        let spec = format!("submit: {{users: [eve]}}, baseAcl: Extend, expiresAt: '{}'", in_seconds(6)?);
        grant(bed, "guest", "root.prod", &spec).await?;
        break_base(bed).await?;
        tokio::time::sleep(Duration::from_secs(6).saturating_sub(begin.elapsed())).await;
        ends(bed, "guest", "eve").await?;
        let expired = Expected { r#type: "Ready", status: "True", reason: Some("Expired") };
        bed.wait_for(Kind::QueueAcl, "guest", expired, PATIENCE).await.map(drop)
    })
    .await
}

#[tokio::test]
async fn a_grant_that_is_deleted_while_the_base_is_broken_ends() -> Result<()> {
    Bed::with(async |bed| {
        if !bed.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let operator = running(bed).await?;
        grant(bed, "prod", "root.prod", "submit: {users: [eve]}").await?;
        grant(bed, "dev", "root.dev", "submit: {users: [tom]}").await?;
        break_base(bed).await?;
        // Another process knows the base only from the first one's copy.
        operator.process()?.terminate()?;
        operator.process()?.exited(PATIENCE).await?;
        let next = Operator::start(bed).await?;
        eventually("it to lead", PATIENCE, || async {
            Ok((bed.leader().await?.as_deref() == Some(next.name()?)).then_some(()))
        })
        .await?;
        delete(bed, "queueacl", "prod").await?;
        ends(bed, "prod", "eve").await?;
        ensure!(bed.submit("tom", &["nobody"], "root.dev").await?.is_allowed());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_grant_that_is_deleted_while_the_text_is_too_large_ends() -> Result<()> {
    Bed::with(async |bed| {
        let _operator = running(bed).await?;
        grant(bed, "prod", "root.prod", "submit: {users: [eve]}").await?;
        let needed: usize = bed.needed_defaults().values().map(String::len).sum();
        let padding = "x".repeat(1024 * 1024 - needed - BASE.len() - "# \n".len());
        bed.set_base(&format!("{BASE}# {padding}\n")).await?;
        config_is(bed, is_false("Applied", "TooLarge"), PATIENCE).await?;
        delete(bed, "queueacl", "prod").await?;
        ends(bed, "prod", "eve").await
    })
    .await
}

#[tokio::test]
async fn a_typo_after_a_narrowing_that_no_status_remembers_brings_nobody_back() -> Result<()> {
    Bed::with(async |bed| {
        bed.install().await?;
        configure(bed, "").await?;
        let proxy = FaultProxy::start(bed).await?;
        let _operator = start_behind(bed, &proxy).await?;
        grant(bed, "prod", "root.prod", "submit: {users: [sue, bob]}").await?;
        proxy.judge(|call| {
            let status = call.path.ends_with("/queueacls/prod/status");
            (status && call.method == http::Method::PATCH).then_some(Fault::Refuse(500))
        });
        apply(bed, &acl("prod", "root.prod", "submit: {users: [sue]}")).await?;
        ends(bed, "prod", "bob").await?;
        let since = revision(&bed.client()?).await?;
        apply(bed, &acl("prod", "root.prod", "submit: {acl: 'sue,oidc:ann'}")).await?;
        // The other grant shows that the operator has gone on.
        apply(bed, &acl("dev", "root.dev", "submit: {users: [tom]}")).await?;
        eventually("the other grant", PATIENCE, || async { Ok(runs(bed, "tom").await?.then_some(())) })
            .await?;
        never_came_back(bed, since, "bob").await?;
        proxy.heal();
        bed.wait_for(Kind::QueueAcl, "prod", is_false("Accepted", "Invalid"), PATIENCE).await?;
        apply(bed, &acl("dev", "root.dev", "submit: {users: [tim]}")).await?;
        eventually("the last grant", PATIENCE, || async { Ok(runs(bed, "tim").await?.then_some(())) })
            .await?;
        never_came_back(bed, since, "bob").await?;
        ensure!(bed.submit("bob", &["nobody"], "root.prod").await?.is_rejected());
        Ok(())
    })
    .await
}

/// Waits until `Ready` has the expected value; then it stays so.
async fn ready_is_true_only_where(
    bed: &Bed,
    kind: Kind,
    name: &str,
    holds: impl AsyncFn() -> Result<bool>,
) -> Result<()> {
    let untrue = async || -> Result<Option<String>> {
        let claim = claims(bed, kind, name).await?;
        Ok(if holds().await? { None } else { claim })
    };
    eventually("the status to be true", NOTICE, || async {
        untrue().await?.map_or(Ok(Some(())), |claim| bail!("{kind:?} {name} says {claim}"))
    })
    .await?;
    for _ in 0..20 {
        ensure!(untrue().await?.is_none(), "{kind:?} {name} says {:?} again", untrue().await?);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

#[tokio::test]
async fn a_grant_behind_a_packed_tree_of_somebody_else_is_not_ready() -> Result<()> {
    Bed::with(async |bed| {
        let _operator = running(bed).await?;
        grant(bed, "prod", "root.prod", "submit: {users: [sue]}").await?;
        let theirs = BASE.replace("- name: prod\n", "- name: prod\n            submitacl: mallory\n");
        merge(bed, &json!({"binaryData": {"queues.yaml.gz": ByteString(gzip(&theirs)?)}})).await?;
        eventually("the scheduler to run the other tree", PATIENCE, || async {
            Ok(runs(bed, "mallory").await?.then_some(()))
        })
        .await?;
        ready_is_true_only_where(bed, Kind::QueueAcl, "prod", async || runs(bed, "sue").await).await?;
        if runs(bed, "mallory").await? {
            ensure!(bed.submit("sue", &["nobody"], "root.prod").await?.is_rejected());
            ensure!(bed.submit("mallory", &["nobody"], "root.prod").await?.is_allowed());
            merge(bed, &json!({"binaryData": {"queues.yaml.gz": null}})).await?;
        }
        eventually("the grant to be in force", PATIENCE, || async {
            Ok(runs(bed, "sue").await?.then_some(()))
        })
        .await?;
        bed.wait_for(Kind::QueueAcl, "prod", is_true("Ready"), PATIENCE).await?;
        ensure!(bed.submit("sue", &["nobody"], "root.prod").await?.is_allowed());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn an_admission_policy_behind_packed_data_of_somebody_else_is_not_ready() -> Result<()> {
    Bed::with(async |bed| {
        let _operator = running(bed).await?;
        let policy = "apiVersion: queuewarden.dev/v1alpha1\nkind: AdmissionPolicy\nmetadata: {name: policy}\n\
                      spec: {bypassAuth: false}\n";
        apply(bed, policy).await?;
        bed.wait_for(Kind::AdmissionPolicy, "policy", is_true("Ready"), PATIENCE).await?;
        let key = "admissionController.accessControl.bypassAuth.gz";
        merge(bed, &json!({"binaryData": {key: ByteString(gzip("true")?)}})).await?;
        let shadowed = async || {
            let map = bed.config_map(yunikorn::CONFIGS).await?;
            Ok(map.and_then(|map| map.binary_data).is_none_or(|data| !data.contains_key(key)))
        };
        ready_is_true_only_where(bed, Kind::AdmissionPolicy, "policy", shadowed).await
    })
    .await
}

/// Returns true if everyone may submit to root by what the scheduler runs.
async fn open(bed: &Bed) -> Result<bool> {
    let config = bed.yunikorn()?.config_json().await?;
    let root = config.pointer("/Partitions/0/Queues/0").context("no root queue")?;
    // YuniKorn leaves an empty ACL out.
    let open = |key: &str| root.get(key).and_then(Value::as_str).is_some_and(|acl| acl.contains('*'));
    ensure!(root.get("Name").and_then(Value::as_str) == Some("root"), "{root}");
    Ok(open("SubmitACL") || open("AdminACL"))
}

#[tokio::test]
async fn another_policy_group_opens_nothing_and_the_old_key_goes_on() -> Result<()> {
    Bed::with(async |bed| {
        let _operator = running(bed).await?;
        grant(bed, "prod", "root.prod", "submit: {users: [sue, bob]}").await?;
        let client = bed.client()?;
        let since = revision(&client).await?;
        merge(bed, &json!({"data": {"service.policyGroup": "group-a"}})).await?;
        apply(bed, &acl("prod", "root.prod", "submit: {users: [sue]}")).await?;
        ends(bed, "prod", "bob").await?;
        delete(bed, "queueacl", "prod").await?;
        ends(bed, "prod", "sue").await?;
        let until = revision(&client).await?;
        for version in versions(&client, since, until).await? {
            let opens = version.trees().find(|(_, text)| text.contains("'*'"));
            ensure!(opens.is_none(), "revision {} opens root: {opens:?}", version.revision);
        }
        ensure!(!open(bed).await?, "the scheduler lets everyone in");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn closed_queues_come_back_when_both_config_maps_are_deleted() -> Result<()> {
    Bed::with(async |bed| {
        let _operator = running(bed).await?;
        grant(bed, "prod", "root.prod", "submit: {users: [sue, bob]}").await?;
        bed.delete_config_map(yunikorn::DEFAULTS).await?;
        bed.delete_config_map(yunikorn::CONFIGS).await?;
        let back = eventually("the closed text to come back", WITHDRAWAL, || async {
            let text = live(bed).await?;
            ensure!(!text.contains("'*'"), "{text}");
            Ok((text.contains("sue") && !open(bed).await?).then_some(()))
        })
        .await;
        if let Err(error) = back {
            let claim = claims(bed, Kind::YuniKornConfig, "default").await?;
            bail!("{error:#}; everyone may submit: {}; YuniKornConfig says {claim:?}", open(bed).await?);
        }
        let closed = async || Ok(!open(bed).await?);
        ready_is_true_only_where(bed, Kind::YuniKornConfig, "default", closed).await?;
        ensure!(bed.submit("tom", &["nobody"], "root.dev").await?.is_rejected());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_withdrawal_does_not_wait_for_the_proof_of_the_last_write() -> Result<()> {
    Bed::with(async |bed| {
        let _operator = running(bed).await?;
        refresh_no_more(bed).await?;
        let named = async |user| Ok(live(bed).await?.contains(user));
        apply(bed, &acl("prod", "root.prod", "submit: {users: [eve]}")).await?;
        eventually("the grant", PATIENCE, || async { named("eve").await.map(|is| is.then_some(())) }).await?;
        delete(bed, "queueacl", "prod").await?;
        let gone = || async { named("eve").await.map(|is| (!is).then_some(())) };
        eventually("eve to be out of the output", Duration::from_secs(2), gone).await
    })
    .await
}

/// YuniKorn's webhook queries the scheduler about each text, and the API server waits ten seconds for the
/// webhook before it ignores it.
const WEBHOOK: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_withdrawal_is_written_while_the_scheduler_hangs_behind_its_webhook() -> Result<()> {
    Bed::with(async |bed| {
        if !bed.can_run(&[Capability::SchedulerProcess, Capability::AdmissionProcess])? {
            return Ok(());
        }
        let _operator = running(bed).await?;
        grant(bed, "prod", "root.prod", "submit: {users: [sue, bob]}").await?;
        bed.start_admission_controller().await?;
        bed.scheduler()?.pause()?;
        let begin = Instant::now();
        apply(bed, &acl("prod", "root.prod", "submit: {users: [sue]}")).await?;
        eventually("bob to be out of the output", WEBHOOK + WITHDRAWAL, || async {
            Ok((!live(bed).await?.contains("bob")).then_some(()))
        })
        .await?;
        ensure!(begin.elapsed() >= WEBHOOK, "the webhook answered for a scheduler that hangs");
        bed.scheduler()?.kill()?;
        bed.start_scheduler().await?;
        ensure!(bed.submit("bob", &["nobody"], "root.prod").await?.is_rejected());
        ensure!(bed.submit("sue", &["nobody"], "root.prod").await?.is_allowed());
        bed.wait_for(Kind::QueueAcl, "prod", is_true("Ready"), PATIENCE).await.map(drop)
    })
    .await
}

/// The number of edits of the output.
const EDITS: usize = 8;

#[tokio::test]
async fn withdrawals_get_through_while_somebody_edits_the_output() -> Result<()> {
    Bed::with(async |bed| {
        let _operator = running(bed).await?;
        for round in 0..EDITS {
            let spec = format!("submit: {{users: [user{round}, keeper]}}");
            apply(bed, &acl(&format!("grant-{round}"), "root.prod", &spec)).await?;
        }
        let all = |text: &str| (0..EDITS).all(|round| text.contains(&format!("user{round}")));
        eventually("all grants", PATIENCE, || async { Ok(all(&live(bed).await?).then_some(())) }).await?;
        for round in 0..EDITS {
            bed.wait_for(Kind::QueueAcl, &format!("grant-{round}"), is_true("Ready"), PATIENCE).await?;
        }
        for round in 0..EDITS {
            let (name, user) = (format!("grant-{round}"), format!("user{round}"));
            let edited = format!("{}# edit {round}\n", live(bed).await?);
            merge(bed, &json!({"data": {KEY: edited}})).await?;
            if round % 2 == 0 {
                apply(bed, &acl(&name, "root.prod", "submit: {users: [keeper]}")).await?;
            } else {
                delete(bed, "queueacl", &name).await?;
            }
            eventually(&format!("{user} to be out of the output"), Duration::from_secs(2), || async {
                Ok((!live(bed).await?.contains(&user)).then_some(()))
            })
            .await?;
        }
        ends(bed, "grant-0", "user").await?;
        ensure!(bed.submit("keeper", &["nobody"], "root.prod").await?.is_allowed());
        Ok(())
    })
    .await
}
