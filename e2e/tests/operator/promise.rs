//! Tests that statuses stay true and that access ends while something is broken. There is one test for each
//! sequence that once broke this promise.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams};
use queuewarden_e2e::conditions::{Expected, is_false, is_true};
use queuewarden_e2e::faults::Fault;
use queuewarden_e2e::history::{revision, versions};
use queuewarden_e2e::test_cluster::BASE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, FaultProxy, Kind, Operator, TestCluster, eventually, yunikorn};
use serde_json::{Value, json};

use super::story::in_seconds;
use super::{
    KEY, acl, apply, config_is, configure, delete, grant, gzip, live, refresh_no_more, running, start_behind,
};

/// The time within which a withdrawal must reach the scheduler no matter which part is broken.
const WITHDRAWAL: Duration = Duration::from_secs(5);
/// The time within which a status must reflect another client's change.
const NOTICE: Duration = Duration::from_secs(5);

/// Breaks the base so that YuniKorn does not activate it, and waits until the operator reports it.
async fn break_base(cluster: &TestCluster) -> Result<()> {
    cluster.set_base(&BASE.replace("name: dev", "name: dev\n            submitacl: 'a  b'")).await?;
    config_is(cluster, is_false("BaseResolved", "BaseInvalid"), PATIENCE).await.map(drop)
}

/// Changes a `ConfigMap` as another client.
pub(super) async fn merge(cluster: &TestCluster, change: &Value) -> Result<()> {
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client()?, yunikorn::NAMESPACE);
    let params = PatchParams { field_manager: Some("somebody".into()), ..PatchParams::default() };
    maps.patch(yunikorn::CONFIGS, &params, &Patch::Merge(change)).await.map(drop)?;
    Ok(())
}

/// Returns the message of condition `Ready`, if it is true and for the object's current generation; that of
/// `Expired` even if it is not true.
async fn claims(cluster: &TestCluster, kind: Kind, name: &str) -> Result<Option<String>> {
    let Some(object) = cluster.objects(kind)?.get_opt(name).await? else { return Ok(None) };
    let conditions = cluster.conditions(kind, name).await?;
    let ready = conditions.into_iter().find(|it| it.type_ == "Ready");
    let ready = ready.filter(|it| it.observed_generation == object.metadata.generation);
    let ready = ready.filter(|it| it.status == "True" || it.reason == "Expired");
    Ok(ready.map(|it| format!("Ready={} {}: {}", it.status, it.reason, it.message)))
}

/// Returns true if the configuration that the scheduler runs names the user.
async fn runs(cluster: &TestCluster, user: &str) -> Result<bool> {
    Ok(cluster.yunikorn()?.config_json().await?.to_string().contains(user))
}

/// Checks that a user's right ends in time in the scheduler's text, and that no status reports the end
/// earlier.
async fn ends(cluster: &TestCluster, name: &str, user: &str) -> Result<()> {
    let begin = Instant::now();
    loop {
        let claim = claims(cluster, Kind::QueueAcl, name).await?;
        if !runs(cluster, user).await? {
            break;
        }
        if let Some(claim) = claim {
            bail!("QueueAcl {name} says {claim}; the scheduler still lets {user} in");
        }
        ensure!(
            begin.elapsed() < WITHDRAWAL,
            "{user} is still in after {WITHDRAWAL:?}: {}",
            live(cluster).await?
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    ensure!(cluster.submit(user, &["nobody"], "root.prod").await?.is_rejected(), "{user} still submits");
    Ok(())
}

/// Checks that no version of the output after this revision names the user.
async fn never_came_back(cluster: &TestCluster, since: u64, user: &str) -> Result<()> {
    let client = cluster.client()?;
    let now = revision(&client).await?;
    let all = versions(&client, since, now).await?;
    let back = all.iter().find(|version| version.data.get(KEY).is_some_and(|text| text.contains(user)));
    back.map_or(Ok(()), |it| bail!("{user} is back at revision {}: {:?}", it.revision, it.data))
}

#[tokio::test]
async fn grant_narrowed_while_the_base_is_broken_is_narrowed() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = running(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [sue, bob]}").await?;
        break_base(cluster).await?;
        apply(cluster, &acl("prod", "root.prod", "submit: {users: [sue]}")).await?;
        ends(cluster, "prod", "bob").await?;
        ensure!(cluster.submit("sue", &["nobody"], "root.prod").await?.is_allowed());
        cluster.wait_for(Kind::QueueAcl, "prod", is_true("Ready"), PATIENCE).await?;
        cluster.set_base(BASE).await?;
        config_is(cluster, is_true("Ready"), PATIENCE).await.map(drop)
    })
    .await
}

#[tokio::test]
async fn a_grant_that_expires_while_the_base_is_broken_ends() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = running(cluster).await?;
        let begin = Instant::now();
        let spec = format!("submit: {{users: [eve]}}, baseAcl: Extend, expiresAt: '{}'", in_seconds(6)?);
        grant(cluster, "guest", "root.prod", &spec).await?;
        break_base(cluster).await?;
        tokio::time::sleep(Duration::from_secs(6).saturating_sub(begin.elapsed())).await;
        ends(cluster, "guest", "eve").await?;
        let expired = Expected { r#type: "Ready", status: "True", reason: Some("Expired") };
        cluster.wait_for(Kind::QueueAcl, "guest", expired, PATIENCE).await.map(drop)
    })
    .await
}

#[tokio::test]
async fn a_grant_that_is_deleted_while_the_base_is_broken_ends() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let operator = running(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [eve]}").await?;
        grant(cluster, "dev", "root.dev", "submit: {users: [tom]}").await?;
        break_base(cluster).await?;
        // Another process knows the base only from the first one's copy.
        operator.process()?.terminate()?;
        operator.process()?.exited(PATIENCE).await?;
        let next = Operator::start(cluster).await?;
        eventually("it to lead", PATIENCE, || async {
            Ok((cluster.leader().await?.as_deref() == Some(next.name()?)).then_some(()))
        })
        .await?;
        delete(cluster, "queueacl", "prod").await?;
        ends(cluster, "prod", "eve").await?;
        ensure!(cluster.submit("tom", &["nobody"], "root.dev").await?.is_allowed());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn grant_deleted_while_the_text_is_too_large_ends() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = running(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [eve]}").await?;
        let needed: usize = cluster.needed_defaults().values().map(String::len).sum();
        let padding = "x".repeat(1024 * 1024 - needed - BASE.len() - "# \n".len());
        cluster.set_base(&format!("{BASE}# {padding}\n")).await?;
        config_is(cluster, is_false("Applied", "TooLarge"), PATIENCE).await?;
        delete(cluster, "queueacl", "prod").await?;
        ends(cluster, "prod", "eve").await
    })
    .await
}

#[tokio::test]
async fn typo_after_an_unrecorded_narrowing_restores_no_access() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        configure(cluster, "").await?;
        let proxy = FaultProxy::start(cluster).await?;
        let _operator = start_behind(cluster, &proxy).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [sue, bob]}").await?;
        proxy.inject(|call| {
            let status = call.path.ends_with("/queueacls/prod/status");
            (status && call.method == http::Method::PATCH).then_some(Fault::Refuse(500))
        });
        apply(cluster, &acl("prod", "root.prod", "submit: {users: [sue]}")).await?;
        ends(cluster, "prod", "bob").await?;
        let since = revision(&cluster.client()?).await?;
        apply(cluster, &acl("prod", "root.prod", "submit: {acl: 'sue,oidc:ann'}")).await?;
        // The other grant shows that the operator has continued.
        apply(cluster, &acl("dev", "root.dev", "submit: {users: [tom]}")).await?;
        eventually("the other grant", PATIENCE, || async { Ok(runs(cluster, "tom").await?.then_some(())) })
            .await?;
        never_came_back(cluster, since, "bob").await?;
        proxy.heal();
        cluster.wait_for(Kind::QueueAcl, "prod", is_false("Accepted", "Invalid"), PATIENCE).await?;
        apply(cluster, &acl("dev", "root.dev", "submit: {users: [tim]}")).await?;
        eventually("the last grant", PATIENCE, || async { Ok(runs(cluster, "tim").await?.then_some(())) })
            .await?;
        never_came_back(cluster, since, "bob").await?;
        ensure!(cluster.submit("bob", &["nobody"], "root.prod").await?.is_rejected());
        Ok(())
    })
    .await
}

/// Waits until `Ready` has the expected value, and checks that it stays so.
async fn ready_is_true_only_where(
    cluster: &TestCluster,
    kind: Kind,
    name: &str,
    holds: impl AsyncFn() -> Result<bool>,
) -> Result<()> {
    let untrue = async || -> Result<Option<String>> {
        let claim = claims(cluster, kind, name).await?;
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
async fn grant_hidden_by_a_foreign_packed_tree_is_not_ready() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = running(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [sue]}").await?;
        let theirs = BASE.replace("- name: prod\n", "- name: prod\n            submitacl: mallory\n");
        merge(cluster, &json!({"binaryData": {"queues.yaml.gz": ByteString(gzip(&theirs)?)}})).await?;
        eventually("the scheduler to run the other tree", PATIENCE, || async {
            Ok(runs(cluster, "mallory").await?.then_some(()))
        })
        .await?;
        ready_is_true_only_where(cluster, Kind::QueueAcl, "prod", async || runs(cluster, "sue").await)
            .await?;
        if runs(cluster, "mallory").await? {
            ensure!(cluster.submit("sue", &["nobody"], "root.prod").await?.is_rejected());
            ensure!(cluster.submit("mallory", &["nobody"], "root.prod").await?.is_allowed());
            merge(cluster, &json!({"binaryData": {"queues.yaml.gz": null}})).await?;
        }
        eventually("the grant to be in force", PATIENCE, || async {
            Ok(runs(cluster, "sue").await?.then_some(()))
        })
        .await?;
        cluster.wait_for(Kind::QueueAcl, "prod", is_true("Ready"), PATIENCE).await?;
        ensure!(cluster.submit("sue", &["nobody"], "root.prod").await?.is_allowed());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn admission_policy_hidden_by_foreign_packed_data_is_not_ready() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = running(cluster).await?;
        let policy = "apiVersion: queuewarden.dev/v1alpha1\nkind: AdmissionPolicy\nmetadata: {name: policy}\n\
                      spec: {bypassAuth: false}\n";
        apply(cluster, policy).await?;
        cluster.wait_for(Kind::AdmissionPolicy, "policy", is_true("Ready"), PATIENCE).await?;
        let key = "admissionController.accessControl.bypassAuth.gz";
        merge(cluster, &json!({"binaryData": {key: ByteString(gzip("true")?)}})).await?;
        let shadowed = async || {
            let map = cluster.config_map(yunikorn::CONFIGS).await?;
            Ok(map.and_then(|map| map.binary_data).is_none_or(|data| !data.contains_key(key)))
        };
        ready_is_true_only_where(cluster, Kind::AdmissionPolicy, "policy", shadowed).await
    })
    .await
}

/// Returns true if everyone may submit to root in the configuration that the scheduler runs.
async fn open(cluster: &TestCluster) -> Result<bool> {
    let config = cluster.yunikorn()?.config_json().await?;
    let root = config.pointer("/Partitions/0/Queues/0").context("no root queue")?;
    // YuniKorn leaves an empty ACL out.
    let open = |key: &str| root.get(key).and_then(Value::as_str).is_some_and(|acl| acl.contains('*'));
    ensure!(root.get("Name").and_then(Value::as_str) == Some("root"), "{root}");
    Ok(open("SubmitACL") || open("AdminACL"))
}

#[tokio::test]
async fn another_policy_group_opens_nothing_and_the_old_key_goes_on() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = running(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [sue, bob]}").await?;
        let client = cluster.client()?;
        let since = revision(&client).await?;
        merge(cluster, &json!({"data": {"service.policyGroup": "group-a"}})).await?;
        apply(cluster, &acl("prod", "root.prod", "submit: {users: [sue]}")).await?;
        ends(cluster, "prod", "bob").await?;
        delete(cluster, "queueacl", "prod").await?;
        ends(cluster, "prod", "sue").await?;
        let until = revision(&client).await?;
        for version in versions(&client, since, until).await? {
            let opens = version.trees().find(|(_, text)| text.contains("'*'"));
            ensure!(opens.is_none(), "revision {} opens root: {opens:?}", version.revision);
        }
        ensure!(!open(cluster).await?, "the scheduler lets everyone in");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn closed_queues_come_back_when_both_config_maps_are_deleted() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = running(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [sue, bob]}").await?;
        cluster.delete_config_map(yunikorn::DEFAULTS).await?;
        cluster.delete_config_map(yunikorn::CONFIGS).await?;
        let back = eventually("the closed text to come back", WITHDRAWAL, || async {
            let text = live(cluster).await?;
            ensure!(!text.contains("'*'"), "{text}");
            Ok((text.contains("sue") && !open(cluster).await?).then_some(()))
        })
        .await;
        if let Err(error) = back {
            let claim = claims(cluster, Kind::YuniKornConfig, "default").await?;
            bail!("{error:#}; everyone may submit: {}; YuniKornConfig says {claim:?}", open(cluster).await?);
        }
        let closed = async || Ok(!open(cluster).await?);
        ready_is_true_only_where(cluster, Kind::YuniKornConfig, "default", closed).await?;
        ensure!(cluster.submit("tom", &["nobody"], "root.dev").await?.is_rejected());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_withdrawal_does_not_wait_for_the_proof_of_the_last_write() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = running(cluster).await?;
        refresh_no_more(cluster).await?;
        let named = async |user| Ok(live(cluster).await?.contains(user));
        apply(cluster, &acl("prod", "root.prod", "submit: {users: [eve]}")).await?;
        eventually("the grant", PATIENCE, || async { named("eve").await.map(|is| is.then_some(())) }).await?;
        delete(cluster, "queueacl", "prod").await?;
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
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::SchedulerProcess, Capability::AdmissionProcess])? {
            return Ok(());
        }
        let _operator = running(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [sue, bob]}").await?;
        cluster.start_admission_controller().await?;
        cluster.scheduler()?.pause()?;
        let begin = Instant::now();
        apply(cluster, &acl("prod", "root.prod", "submit: {users: [sue]}")).await?;
        eventually("bob to be out of the output", WEBHOOK + WITHDRAWAL, || async {
            Ok((!live(cluster).await?.contains("bob")).then_some(()))
        })
        .await?;
        ensure!(begin.elapsed() >= WEBHOOK, "the webhook answered for a scheduler that hangs");
        cluster.scheduler()?.kill()?;
        cluster.start_scheduler().await?;
        ensure!(cluster.submit("bob", &["nobody"], "root.prod").await?.is_rejected());
        ensure!(cluster.submit("sue", &["nobody"], "root.prod").await?.is_allowed());
        cluster.wait_for(Kind::QueueAcl, "prod", is_true("Ready"), PATIENCE).await.map(drop)
    })
    .await
}

/// The number of edits of the output.
const EDITS: usize = 8;

#[tokio::test]
async fn withdrawals_are_written_despite_foreign_edits() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = running(cluster).await?;
        for round in 0..EDITS {
            let spec = format!("submit: {{users: [user{round}, keeper]}}");
            apply(cluster, &acl(&format!("grant-{round}"), "root.prod", &spec)).await?;
        }
        let all = |text: &str| (0..EDITS).all(|round| text.contains(&format!("user{round}")));
        eventually("all grants", PATIENCE, || async { Ok(all(&live(cluster).await?).then_some(())) }).await?;
        for round in 0..EDITS {
            cluster.wait_for(Kind::QueueAcl, &format!("grant-{round}"), is_true("Ready"), PATIENCE).await?;
        }
        for round in 0..EDITS {
            let (name, user) = (format!("grant-{round}"), format!("user{round}"));
            let edited = format!("{}# edit {round}\n", live(cluster).await?);
            merge(cluster, &json!({"data": {KEY: edited}})).await?;
            if round % 2 == 0 {
                apply(cluster, &acl(&name, "root.prod", "submit: {users: [keeper]}")).await?;
            } else {
                delete(cluster, "queueacl", &name).await?;
            }
            eventually(&format!("{user} to be out of the output"), Duration::from_secs(2), || async {
                Ok((!live(cluster).await?.contains(&user)).then_some(()))
            })
            .await?;
        }
        ends(cluster, "grant-0", "user").await?;
        ensure!(cluster.submit("keeper", &["nobody"], "root.prod").await?.is_allowed());
        Ok(())
    })
    .await
}
