//! Reaches every reason that a status can have in a real cluster.
//!
//! It is a single test, because it must know all reasons that it has seen: at the end it compares them with
//! all reasons of the plan, so that a reason that no cluster can produce is removed.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::ByteString;
use kube::api::{DeleteParams, ListParams};
use queuewarden_e2e::conditions::Expected;
use queuewarden_e2e::test_cluster::BASE;
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{Capability, Kind, Operator, TestCluster, operator, yunikorn};
use queuewarden_plan::conditions::Reason;
use serde_json::json;

use super::behind_tls::{self, BehindTls};
use super::promise::merge;
use super::refusing::Refusing;
use super::{
    KEY, acl, apply, configure, delete, gzip, hot_refresh, open_base, other_version, refresh_no_more,
};

/// The reasons seen so far.
struct Seen<'cluster> {
    cluster: &'cluster TestCluster,
    reasons: BTreeSet<String>,
}

impl Seen<'_> {
    /// Waits for a condition of an object.
    async fn wait(
        &mut self,
        kind: Kind,
        name: &str,
        r#type: &str,
        status: &str,
        reason: &str,
    ) -> Result<String> {
        let expected = Expected { r#type, status, reason: Some(reason) };
        let found = self.cluster.wait_for(kind, name, expected, LONG).await?;
        self.reasons.insert(found.reason);
        Ok(found.message)
    }

    async fn config(&mut self, r#type: &str, status: &str, reason: &str) -> Result<String> {
        self.wait(Kind::YuniKornConfig, "default", r#type, status, reason).await
    }

    async fn queue_acl(&mut self, name: &str, r#type: &str, status: &str, reason: &str) -> Result<String> {
        self.wait(Kind::QueueAcl, name, r#type, status, reason).await
    }
}

#[tokio::test]
async fn every_reason_is_reached() -> Result<()> {
    TestCluster::with(async |cluster| {
        let needed =
            [Capability::SchedulerProcess, Capability::AdmissionProcess, Capability::OperatorProcess];
        if !cluster.can_run(&needed)? {
            return Ok(());
        }
        let mut seen = Seen { cluster, reasons: BTreeSet::new() };
        cluster.install().await?;
        let operator = Operator::start(cluster).await?;
        without_a_configuration(&mut seen).await?;
        objects(&mut seen).await?;
        policies(&mut seen).await?;
        redundant_grants(&mut seen).await?;
        bases(&mut seen).await?;
        another_policy_group(&mut seen).await?;
        most_objects_gone(&mut seen).await?;
        binary_data(&mut seen).await?;
        a_policy_that_is_hidden(&mut seen).await?;
        a_mirror(&mut seen).await?;
        access_tests(&mut seen).await?;
        refused_writes(&mut seen).await?;
        observing(&mut seen).await?;
        a_scheduler_that_does_not_load(&mut seen).await?;
        a_scheduler_behind_tls(&mut seen).await?;
        nobody_asks_the_scheduler(&mut seen).await?;
        other_owners(&mut seen).await?;
        drop(operator);
        let all: BTreeSet<String> = Reason::ALL.iter().map(ToString::to_string).collect();
        // Reported after two minutes of failing, which is too long here: the unit tests of `plan::machine`
        // and of status cover it (`a_failing_watch_is_reported_after_two_minutes_and_not_before`,
        // `watch_that_fails_makes_ready_unknown`).
        seen.reasons.insert(Reason::WatchFailing.to_string());
        let missing: Vec<_> = all.difference(&seen.reasons).collect();
        ensure!(missing.is_empty(), "no cluster state shows {missing:?}");
        Ok(())
    })
    .await
}

async fn without_a_configuration(seen: &mut Seen<'_>) -> Result<()> {
    apply(seen.cluster, &acl("good", "root.prod", "submit: {users: [alice]}")).await?;
    seen.queue_acl("good", "Programmed", "Unknown", "ConfigNotReady").await?;
    // Without a base, and with nothing ever in force, the built-in default applies, which is not written
    // anywhere.
    seen.cluster.write_config_map(yunikorn::DEFAULTS, seen.cluster.needed_defaults()).await?;
    configure(seen.cluster, "  mode: Observe\n").await?;
    seen.config("BaseResolved", "True", "BuiltInDefault").await?;
    seen.cluster.set_base(BASE).await?;
    configure(seen.cluster, "").await?;
    for (r#type, status) in
        [("Accepted", "True"), ("Programmed", "True"), ("Effective", "True"), ("Ready", "True")]
    {
        seen.queue_acl("good", r#type, status, r#type).await?;
    }
    for r#type in ["BaseResolved", "Applied", "Loaded", "Ready"] {
        seen.config(r#type, "True", r#type).await?;
    }
    seen.config("FailOpen", "False", "Closed").await?;
    Ok(())
}

async fn objects(seen: &mut Seen<'_>) -> Result<()> {
    let cluster = seen.cluster;
    let cases = [
        ("queue", acl("queue", "root.prdo", "submit: {users: [alice]}"), "QueueNotFound"),
        (
            "partition",
            acl("partition", "root.prod", "partition: gpu, submit: {users: [alice]}"),
            "PartitionNotFound",
        ),
        (
            "later",
            acl(
                "later",
                "root.prod",
                "submit: {users: [bob]}, baseAcl: Extend, notBefore: '2100-01-01T00:00:00Z'",
            ),
            "NotYetValid",
        ),
        (
            "over",
            acl(
                "over",
                "root.prod",
                "submit: {users: [bob]}, baseAcl: Extend, expiresAt: '2020-01-01T00:00:00Z'",
            ),
            "Expired",
        ),
        ("idle", acl("idle", "root.prod", "submit: {users: [bob]}, suspend: true"), "Suspended"),
        (
            "invalid",
            acl("invalid", "root.prod", "submit: {acl: 'system:serviceaccount:spark:driver'}"),
            "Invalid",
        ),
        (
            "delegated",
            acl(
                "delegated",
                "root.prod",
                "submit: {users: [bob]}, baseAcl: Extend, delegatedBy: {user: bob}",
            ),
            "NotDelegated",
        ),
    ];
    for (name, text, reason) in cases {
        apply(cluster, &text).await?;
        // An object outside its time is accepted, and there is nothing to wait for.
        let late = matches!(reason, "NotYetValid" | "Expired" | "Suspended");
        let status = if late { "True" } else { "False" };
        let message = seen.queue_acl(name, "Accepted", status, reason).await?;
        seen.queue_acl(name, "Ready", status, reason).await?;
        if name == "queue" {
            ensure!(message.contains("did you mean `root.prod`?"), "{message}");
        }
        delete(cluster, "queueacl", name).await?;
    }
    let account = "submit: {serviceAccounts: [{namespace: spark, name: driver}]}";
    apply(cluster, &acl("account", "root.prod", account)).await?;
    for r#type in ["Accepted", "Effective", "Ready"] {
        seen.queue_acl("account", r#type, "False", "IdentityWebhookMissing").await?;
    }
    delete(cluster, "queueacl", "account").await?;
    // An object that was in force stays in force after a mistake.
    apply(cluster, &acl("good", "root.prod", "submit: {acl: 'alice,system:serviceaccount:spark:driver'}"))
        .await?;
    seen.queue_acl("good", "Programmed", "True", "LastValidKept").await?;
    ensure!(cluster.submit("alice", &["devs"], "root.prod").await?.is_allowed());
    apply(cluster, &acl("good", "root.prod", "submit: {users: [alice]}")).await?;
    seen.queue_acl("good", "Ready", "True", "Ready").await?;
    // The reason names a queue that a placement rule created.
    cluster.set_base(&BASE.replace("create: false", "create: true")).await?;
    let open = acl("team", "root.team", "submit: {everyone: true}");
    apply(cluster, &open).await?;
    seen.queue_acl("team", "Ready", "True", "Ready").await?;
    Ok(())
}

async fn policies(seen: &mut Seen<'_>) -> Result<()> {
    let policy = |name: &str, spec: &str| {
        format!(
            "apiVersion: queuewarden.dev/v1alpha1\nkind: AdmissionPolicy\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n"
        )
    };
    apply(seen.cluster, &policy("first", "externalUsers: ['^ci$']")).await?;
    seen.wait(Kind::AdmissionPolicy, "first", "Ready", "True", "Ready").await?;
    let key = "admissionController.accessControl.externalUsers";
    ensure!(seen.cluster.config_value(yunikorn::CONFIGS, key).await?.as_deref() == Some("^ci$"));
    apply(seen.cluster, &policy("second", "bypassAuth: true")).await?;
    let why = seen.wait(Kind::AdmissionPolicy, "second", "Accepted", "False", "Conflicted").await?;
    ensure!(why.contains("AdmissionPolicy `first` is in force"), "{why}");
    // After it was recreated, the first is the newer one. The second is in effect only while it is the only
    // one, or named.
    configure(seen.cluster, "  admissionPolicy: first\n").await?;
    delete(seen.cluster, "admissionpolicy", "first").await?;
    seen.config("Applied", "False", "AdmissionPolicyMissing").await?;
    ensure!(seen.cluster.config_value(yunikorn::CONFIGS, key).await?.as_deref() == Some("^ci$"));
    apply(seen.cluster, &policy("first", "externalUsers: ['^ci$']")).await?;
    seen.config("Applied", "True", "Applied").await?;
    seen.wait(Kind::AdmissionPolicy, "first", "Ready", "True", "Ready").await?;
    configure(seen.cluster, "").await?;
    for name in ["first", "second"] {
        delete(seen.cluster, "admissionpolicy", name).await?;
    }
    Ok(())
}

async fn redundant_grants(seen: &mut Seen<'_>) -> Result<()> {
    seen.cluster.set_base(&open_base()).await?;
    seen.queue_acl("good", "Effective", "False", "AncestorAllowsEveryone").await?;
    seen.config("FailOpen", "True", "RootAllowsEveryone").await?;
    seen.cluster.set_base(BASE).await?;
    seen.queue_acl("good", "Ready", "True", "Ready").await?;
    Ok(())
}

async fn bases(seen: &mut Seen<'_>) -> Result<()> {
    let cluster = seen.cluster;
    cluster.set_base(&BASE.replace("name: prod", "name: prod\n            submitacl: 'a  b'")).await?;
    let message = seen.config("BaseResolved", "False", "BaseInvalid").await?;
    ensure!(message.contains("QW"), "{message}");
    // The ConfigMap has its maximum size, so nothing can be added.
    let needed: usize = cluster.needed_defaults().values().map(String::len).sum();
    let padding = "x".repeat(1024 * 1024 - needed - BASE.len() - "# \n".len());
    cluster.set_base(&format!("{BASE}# {padding}\n")).await?;
    seen.config("Applied", "False", "TooLarge").await?;
    configure(cluster, "  base: {configMap: yunikorn-queues}\n").await?;
    seen.config("BaseResolved", "False", "BaseNotFound").await?;
    configure(cluster, "").await?;
    // An active partition must stay in the text; the scheduler is restarted before it may be removed.
    cluster.set_base(&format!("{BASE}  - name: gpu\n    queues:\n      - name: root\n")).await?;
    seen.config("Ready", "True", "Ready").await?;
    cluster.set_base(BASE).await?;
    let message = seen.config("Applied", "False", "PartitionMissing").await?;
    ensure!(message.contains("`gpu`"), "{message}");
    // This is the solution in the message.
    cluster.scheduler()?.kill()?;
    cluster.delete_config_map(yunikorn::CONFIGS).await?;
    seen.config("Applied", "True", "Applied").await?;
    cluster.start_scheduler().await?;
    seen.config("Ready", "True", "Ready").await?;
    Ok(())
}

/// Another key is used only once the scheduler, after a restart, is proven to read it.
async fn another_policy_group(seen: &mut Seen<'_>) -> Result<()> {
    merge(seen.cluster, &json!({"data": {"service.policyGroup": "group-a"}})).await?;
    let message = seen.config("Applied", "False", "PolicyGroupPending").await?;
    ensure!(message.contains("`group-a.yaml`"), "{message}");
    merge(seen.cluster, &json!({"data": {"service.policyGroup": null}})).await?;
    seen.config("Ready", "True", "Ready").await?;
    Ok(())
}

/// All objects that close a queue are deleted at once: no one gains access before the removal is confirmed.
async fn most_objects_gone(seen: &mut Seen<'_>) -> Result<()> {
    let cluster = seen.cluster;
    for name in (0..4).map(|n| format!("closing-{n}")) {
        apply(cluster, &acl(&name, "root.dev", &format!("submit: {{users: [{name}]}}"))).await?;
        seen.queue_acl(&name, "Ready", "True", "Ready").await?;
    }
    cluster.set_base(&BASE.replace("- name: dev\n", "- name: dev\n            submitacl: '*'\n")).await?;
    seen.config("Ready", "True", "Ready").await?;
    ensure!(cluster.submit("tom", &["nobody"], "root.dev").await?.is_rejected());
    let closing = ListParams::default().fields("spec.queue=root.dev");
    let _ = cluster.objects(Kind::QueueAcl)?.delete_collection(&DeleteParams::default(), &closing).await?;
    let message = seen.config("Applied", "False", "RemovalUnconfirmed").await?;
    ensure!(cluster.submit("tom", &["nobody"], "root.dev").await?.is_rejected());
    // This is the solution in the message.
    let (_, command) = message.split_once("kubectl ").context("no command")?;
    cluster.kubectl(&command.split_whitespace().collect::<Vec<_>>()).await?;
    seen.config("Ready", "True", "Ready").await?;
    ensure!(cluster.submit("tom", &["nobody"], "root.dev").await?.is_allowed());
    cluster.set_base(BASE).await?;
    seen.config("Ready", "True", "Ready").await?;
    Ok(())
}

async fn binary_data(seen: &mut Seen<'_>) -> Result<()> {
    let cluster = seen.cluster;
    let put = async |key: &str, value: Option<ByteString>| {
        merge(cluster, &json!({"binaryData": {key: value}})).await
    };
    put("queues.yaml.bak", Some(ByteString(b"x".to_vec()))).await?;
    seen.config("Applied", "False", "ShadowedByBinaryData").await?;
    seen.config("FailOpen", "True", "ShadowedByBinaryData").await?;
    seen.queue_acl("good", "Effective", "False", "DefaultConfigActive").await?;
    put("queues.yaml.bak", None).await?;
    seen.config("Ready", "True", "Ready").await?;
    // A packed tree hides ours; the scheduler runs it, and the users of our grants have no access.
    put("queues.yaml.gz", Some(ByteString(gzip(BASE)?))).await?;
    let message = seen.config("Applied", "False", "ShadowedByBinaryData").await?;
    ensure!(message.contains("`queues.yaml.gz`"), "{message}");
    cluster.yunikorn()?.wait_for_text(BASE, PATIENCE).await?;
    ensure!(cluster.submit("alice", &["devs"], "root.prod").await?.is_rejected());
    seen.queue_acl("good", "Programmed", "False", "ShadowedByBinaryData").await?;
    seen.queue_acl("good", "Ready", "False", "ShadowedByBinaryData").await?;
    // The same with another client's tree, which the scheduler runs.
    let theirs = BASE.replace("name: prod", "name: prod\n            submitacl: mallory");
    put("queues.yaml.gz", Some(ByteString(gzip(&theirs)?))).await?;
    cluster.yunikorn()?.wait_for_text(&theirs, PATIENCE).await?;
    seen.config("Loaded", "True", "Loaded").await?;
    ensure!(cluster.submit("mallory", &["x"], "root.prod").await?.is_allowed());
    seen.queue_acl("good", "Ready", "False", "ShadowedByBinaryData").await?;
    put("queues.yaml.gz", None).await?;
    seen.config("Ready", "True", "Ready").await?;
    seen.queue_acl("good", "Ready", "True", "Ready").await?;
    Ok(())
}

/// A packed key overrides the one that a policy sets, so that anyone could act as any user.
async fn a_policy_that_is_hidden(seen: &mut Seen<'_>) -> Result<()> {
    let cluster = seen.cluster;
    let text = "apiVersion: queuewarden.dev/v1alpha1\nkind: AdmissionPolicy\nmetadata: {name: closed}\nspec: {bypassAuth: false}\n";
    apply(cluster, text).await?;
    seen.wait(Kind::AdmissionPolicy, "closed", "Ready", "True", "Ready").await?;
    let key = "admissionController.accessControl.bypassAuth.gz";
    merge(cluster, &json!({"binaryData": {key: ByteString(gzip("true")?)}})).await?;
    let hidden = ("False", "ShadowedByBinaryData");
    let message = seen.wait(Kind::AdmissionPolicy, "closed", "Ready", hidden.0, hidden.1).await?;
    ensure!(message.contains(&format!("`{key}`")), "{message}");
    merge(cluster, &json!({"binaryData": {key: null}})).await?;
    seen.wait(Kind::AdmissionPolicy, "closed", "Ready", "True", "Ready").await?;
    hot_refresh(cluster, "\"false\"").await?;
    seen.wait(Kind::AdmissionPolicy, "closed", "Effective", "Unknown", "HotRefreshDisabled").await?;
    hot_refresh(cluster, "null").await?;
    delete(cluster, "admissionpolicy", "closed").await?;
    // A scheduler that has seen it off stays that way until it is restarted.
    cluster.scheduler()?.kill()?;
    cluster.start_scheduler().await?;
    seen.config("Ready", "True", "Ready").await?;
    Ok(())
}

async fn a_mirror(seen: &mut Seen<'_>) -> Result<()> {
    seen.cluster.apply_kustomization("manifests/rbac-mirror").await?;
    configure(seen.cluster, "  rbacMirror: Enabled\n").await?;
    seen.config("Mirrored", "True", "Mirrored").await?;
    configure(seen.cluster, "").await?;
    seen.config("Ready", "True", "Ready").await?;
    Ok(())
}

async fn access_tests(seen: &mut Seen<'_>) -> Result<()> {
    let cluster = seen.cluster;
    let test = |submit: &str| {
        format!(
            "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAccessTest\nmetadata: {{name: test}}\n\
             spec: {{cases: [{{subjects: [{{user: alice}}], {submit}: {{submit: [root.prod]}}}}]}}\n"
        )
    };
    apply(cluster, &test("allow")).await?;
    seen.wait(Kind::QueueAccessTest, "test", "Passing", "True", "Passing").await?;
    apply(cluster, &test("deny")).await?;
    seen.wait(Kind::QueueAccessTest, "test", "Passing", "False", "Failing").await?;
    // The groups on the scheduler's machine are not read.
    cluster
        .set_base(&BASE.replace("- name: default\n", "- name: default\n    usergroupresolver: {type: os}\n"))
        .await?;
    apply(cluster, &acl("good", "root.prod", "submit: {users: [bob]}")).await?;
    seen.wait(Kind::QueueAccessTest, "test", "Passing", "Unknown", "Undecided").await?;
    delete(cluster, "queueaccesstest", "test").await?;
    cluster.set_base(BASE).await?;
    apply(cluster, &acl("good", "root.prod", "submit: {users: [alice]}")).await?;
    seen.config("Ready", "True", "Ready").await?;
    seen.queue_acl("good", "Ready", "True", "Ready").await?;
    Ok(())
}

async fn refused_writes(seen: &mut Seen<'_>) -> Result<()> {
    let cluster = seen.cluster;
    // RBAC.
    cluster
        .kubectl(&["delete", "rolebinding", operator::NAME, "-n", yunikorn::NAMESPACE, "--ignore-not-found"])
        .await?;
    apply(cluster, &acl("good", "root.prod", "submit: {users: [alice, ann]}")).await?;
    seen.config("Applied", "False", "Forbidden").await?;
    cluster.apply_kustomization("manifests").await?;
    seen.config("Applied", "True", "Applied").await?;

    // By a rule of the API server, an immutable object cannot be changed, only deleted.
    merge(cluster, &json!({"immutable": true})).await?;
    apply(cluster, &acl("good", "root.prod", "submit: {users: [alice]}")).await?;
    let message = seen.config("Applied", "False", "Rejected").await?;
    ensure!(message.contains("immutable"), "{message}");
    // `ann` still has access, and no status denies it.
    let message = seen.queue_acl("good", "Ready", "False", "WithdrawalPending").await?;
    ensure!(message.contains("ann"), "{message}");
    ensure!(cluster.submit("ann", &["devs"], "root.prod").await?.is_allowed());
    cluster.delete_config_map(yunikorn::CONFIGS).await?;
    seen.config("Ready", "True", "Ready").await?;
    seen.queue_acl("good", "Ready", "True", "Ready").await?;

    // YuniKorn's own webhook, when its scheduler refuses. A scheduler of this version never refuses our text;
    // one of another version might.
    let refusing = Refusing::start().await?;
    let mut defaults = cluster.needed_defaults();
    defaults.insert(KEY.to_owned(), BASE.to_owned());
    defaults.insert(
        "admissionController.webHook.schedulerServiceAddress".to_owned(),
        refusing.address().to_owned(),
    );
    cluster.write_config_map(yunikorn::DEFAULTS, defaults).await?;
    cluster.start_admission_controller().await?;
    apply(cluster, &acl("good", "root.prod", "submit: {users: [alice, bob]}")).await?;
    let message = seen.config("Applied", "False", "RejectedByAdmission").await?;
    ensure!(message.contains("a scheduler from the future says no"), "{message}");

    // A required webhook that does not answer decides nothing, so the write is tried again.
    cluster.stop_admission_controller().await?;
    let hook = r#"{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "dead"},
        "webhooks": [{"name": "dead.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": 1,
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}]}]}"#;
    cluster.kubectl_with_input(&["create", "-f", "-"], hook).await?;
    let outcome = async {
        apply(cluster, &acl("good", "root.prod", "submit: {users: [alice, carol]}")).await?;
        seen.config("Applied", "False", "Pending").await?;
        seen.queue_acl("good", "Programmed", "False", "Pending").await
    }
    .await;
    cluster.kubectl(&["delete", "validatingwebhookconfiguration", "dead"]).await?;
    outcome?;
    cluster.set_base(BASE).await?;
    seen.config("Ready", "True", "Ready").await?;
    Ok(())
}

async fn observing(seen: &mut Seen<'_>) -> Result<()> {
    let cluster = seen.cluster;
    configure(cluster, "  mode: Observe\n").await?;
    apply(cluster, &acl("good", "root.prod", "submit: {users: [alice]}")).await?;
    seen.config("Applied", "False", "ObserveMode").await?;
    seen.queue_acl("good", "Ready", "False", "WithdrawalPending").await?;
    apply(cluster, &acl("new", "root.prod", "submit: {users: [bob]}")).await?;
    seen.queue_acl("new", "Ready", "False", "ObserveMode").await?;
    delete(cluster, "queueacl", "new").await?;
    cluster.delete_config_map(yunikorn::CONFIGS).await?;
    cluster.set_base(&open_base()).await?;
    seen.config("FailOpen", "True", "OutputMissing").await?;
    cluster.set_base(BASE).await?;
    configure(cluster, "").await?;
    seen.config("Ready", "True", "Ready").await?;
    Ok(())
}

async fn a_scheduler_that_does_not_load(seen: &mut Seen<'_>) -> Result<()> {
    let cluster = seen.cluster;
    cluster.scheduler()?.kill()?;
    seen.config("Loaded", "Unknown", "SchedulerUnreachable").await?;
    cluster.start_scheduler().await?;
    seen.config("Loaded", "True", "Loaded").await?;
    configure(cluster, &format!("  version: \"{}\"\n", other_version()?)).await?;
    seen.config("Loaded", "Unknown", "VersionUnproven").await?;
    configure(cluster, "").await?;
    seen.config("Loaded", "True", "Loaded").await?;
    refresh_no_more(cluster).await?;
    apply(cluster, &acl("good", "root.prod", "submit: {users: [alice, dora]}")).await?;
    seen.config("Loaded", "False", "HotRefreshDisabled").await?;
    // Switched on again, it stays off in a running scheduler: the text is written again, and then the real
    // reason is reported.
    hot_refresh(cluster, "null").await?;
    seen.config("Loaded", "False", "LoadPending").await?;
    seen.config("Loaded", "False", "SchedulerRejected").await?;
    cluster.scheduler()?.kill()?;
    cluster.start_scheduler().await?;
    seen.config("Loaded", "True", "Loaded").await?;
    Ok(())
}

async fn a_scheduler_behind_tls(seen: &mut Seen<'_>) -> Result<()> {
    let behind = BehindTls::start(seen.cluster).await?;
    behind
        .each_fault(async |reason| seen.config("Loaded", behind_tls::status(reason), reason).await.map(drop))
        .await?;
    configure(seen.cluster, "").await?;
    seen.config("Loaded", "True", "Loaded").await.map(drop)
}

/// Without a URL nothing is proven, and everything that is still known is reported.
async fn nobody_asks_the_scheduler(seen: &mut Seen<'_>) -> Result<()> {
    let cluster = seen.cluster;
    let unasked =
        "apiVersion: queuewarden.dev/v1alpha1\nkind: YuniKornConfig\nmetadata: {name: default}\nspec: {}\n";
    apply(cluster, unasked).await?;
    seen.config("Loaded", "Unknown", "NotVerified").await?;
    seen.config("Ready", "True", "NotVerified").await?;
    seen.queue_acl("good", "Ready", "True", "NotVerified").await?;
    merge(cluster, &json!({"data": {"service.schedulingInterval": "soon"}})).await?;
    let message = seen.config("Loaded", "False", "NotRead").await?;
    ensure!(message.contains("`service.schedulingInterval`"), "{message}");
    seen.queue_acl("good", "Ready", "False", "NotRead").await?;
    merge(cluster, &json!({"data": {"service.schedulingInterval": null}})).await?;
    configure(cluster, "").await?;
    seen.config("Ready", "True", "Ready").await?;
    Ok(())
}

async fn other_owners(seen: &mut Seen<'_>) -> Result<()> {
    let cluster = seen.cluster;
    let theirs = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {}, namespace: {}}}\ndata: {{{KEY}: \"partitions: [{{name: default, queues: [{{name: root}}]}}]\"}}\n",
        yunikorn::CONFIGS,
        yunikorn::NAMESPACE
    );
    let contend = async || -> Result<()> {
        let args =
            ["apply", "--server-side", "--force-conflicts", "--field-manager", "other-writer", "-f", "-"];
        let other_writer = tokio::time::timeout(Duration::from_mins(1), async {
            loop {
                cluster.kubectl_with_input(&args, &theirs).await?;
                let conditions = cluster.conditions(Kind::YuniKornConfig, "default").await?;
                if conditions.iter().any(|c| c.type_ == "Applied" && c.reason == "Contended") {
                    return anyhow::Ok(());
                }
            }
        });
        other_writer.await?
    };
    contend().await?;
    seen.config("Applied", "False", "Contended").await?;
    // Someone else's from the beginning.
    configure(cluster, "  mode: Observe\n").await?;
    cluster.delete_config_map(yunikorn::CONFIGS).await?;
    cluster.kubectl_with_input(&["create", "-f", "-"], &theirs).await?;
    configure(cluster, "").await?;
    seen.config("Applied", "False", "FieldConflict").await?;
    Ok(())
}
