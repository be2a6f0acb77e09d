//! Reaches every reason that status can give in a real cluster.
//!
//! It is one test, because it must know all reasons that it has seen: at the end it compares them with all
//! reasons of the plan, so a reason that no cluster can show is removed.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::ByteString;
use kube::api::{DeleteParams, ListParams};
use queuewarden_e2e::bed::BASE;
use queuewarden_e2e::conditions::Expected;
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{Bed, Capability, Kind, Operator, operator, yunikorn};
use queuewarden_plan::conditions::Reason;
use serde_json::json;

use super::promise::merge;
use super::refusing::Refusing;
use super::{KEY, acl, apply, configure, delete, gzip, hot_refresh, open_base, refresh_no_more};

/// The reasons seen so far.
struct Seen<'bed> {
    bed: &'bed Bed,
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
        let found = self.bed.wait_for(kind, name, expected, LONG).await?;
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
    Bed::with(async |bed| {
        let needed =
            [Capability::SchedulerProcess, Capability::AdmissionProcess, Capability::OperatorProcess];
        if !bed.can_run(&needed)? {
            return Ok(());
        }
        let mut seen = Seen { bed, reasons: BTreeSet::new() };
        bed.install().await?;
        let operator = Operator::start(bed).await?;
        without_a_configuration(&mut seen).await?;
        objects(&mut seen).await?;
        policies(&mut seen).await?;
        moot_grants(&mut seen).await?;
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
    apply(seen.bed, &acl("good", "root.prod", "submit: {users: [alice]}")).await?;
    seen.queue_acl("good", "Programmed", "Unknown", "ConfigNotReady").await?;
    // Without a base, and with nothing ever in force, the built-in default applies, which nobody has to
    // write.
    seen.bed.write_config_map(yunikorn::DEFAULTS, seen.bed.needed_defaults()).await?;
    configure(seen.bed, "  mode: Observe\n").await?;
    seen.config("BaseResolved", "True", "BuiltInDefault").await?;
    seen.bed.set_base(BASE).await?;
    configure(seen.bed, "").await?;
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
    let bed = seen.bed;
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
        apply(bed, &text).await?;
        // What is outside its time is accepted, and there is nothing to wait for.
        let late = matches!(reason, "NotYetValid" | "Expired");
        let status = if late { "True" } else { "False" };
        let message = seen.queue_acl(name, "Accepted", status, reason).await?;
        seen.queue_acl(name, "Ready", status, reason).await?;
        if name == "queue" {
            ensure!(message.contains("did you mean `root.prod`?"), "{message}");
        }
        delete(bed, "queueacl", name).await?;
    }
    // A mistake in an object that was in force keeps it in force.
    apply(bed, &acl("good", "root.prod", "submit: {acl: 'alice,system:serviceaccount:spark:driver'}"))
        .await?;
    seen.queue_acl("good", "Programmed", "True", "LastValidKept").await?;
    ensure!(bed.submit("alice", &["devs"], "root.prod").await?.is_allowed());
    apply(bed, &acl("good", "root.prod", "submit: {users: [alice]}")).await?;
    seen.queue_acl("good", "Ready", "True", "Ready").await?;
    // The reason names a queue that a placement rule created.
    bed.set_base(&BASE.replace("create: false", "create: true")).await?;
    let open = acl("team", "root.team", "submit: {everyone: true}");
    apply(bed, &open).await?;
    seen.queue_acl("team", "Ready", "True", "Ready").await?;
    Ok(())
}

async fn policies(seen: &mut Seen<'_>) -> Result<()> {
    let policy = |name: &str, spec: &str| {
        format!(
            "apiVersion: queuewarden.dev/v1alpha1\nkind: AdmissionPolicy\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n"
        )
    };
    apply(seen.bed, &policy("first", "externalUsers: ['^ci$']")).await?;
    seen.wait(Kind::AdmissionPolicy, "first", "Ready", "True", "Ready").await?;
    let key = "admissionController.accessControl.externalUsers";
    ensure!(seen.bed.config_value(yunikorn::CONFIGS, key).await?.as_deref() == Some("^ci$"));
    apply(seen.bed, &policy("second", "bypassAuth: true")).await?;
    let why = seen.wait(Kind::AdmissionPolicy, "second", "Accepted", "False", "Conflicted").await?;
    ensure!(why.contains("AdmissionPolicy `first` is in force"), "{why}");
    // Created anew, the first is the younger one. The second counts only while it is alone, or named.
    configure(seen.bed, "  admissionPolicy: first\n").await?;
    delete(seen.bed, "admissionpolicy", "first").await?;
    seen.config("Applied", "False", "AdmissionPolicyMissing").await?;
    ensure!(seen.bed.config_value(yunikorn::CONFIGS, key).await?.as_deref() == Some("^ci$"));
    apply(seen.bed, &policy("first", "externalUsers: ['^ci$']")).await?;
    seen.config("Applied", "True", "Applied").await?;
    seen.wait(Kind::AdmissionPolicy, "first", "Ready", "True", "Ready").await?;
    configure(seen.bed, "").await?;
    for name in ["first", "second"] {
        delete(seen.bed, "admissionpolicy", name).await?;
    }
    Ok(())
}

async fn moot_grants(seen: &mut Seen<'_>) -> Result<()> {
    seen.bed.set_base(&open_base()).await?;
    seen.queue_acl("good", "Effective", "False", "AncestorAllowsEveryone").await?;
    seen.config("FailOpen", "True", "RootAllowsEveryone").await?;
    seen.bed.set_base(BASE).await?;
    seen.queue_acl("good", "Ready", "True", "Ready").await?;
    Ok(())
}

async fn bases(seen: &mut Seen<'_>) -> Result<()> {
    let bed = seen.bed;
    bed.set_base(&BASE.replace("name: prod", "name: prod\n            submitacl: 'a  b'")).await?;
    let message = seen.config("BaseResolved", "False", "BaseInvalid").await?;
    ensure!(message.contains("QW"), "{message}");
    // As large as a ConfigMap may be, so that there is no room for what is added.
    let needed: usize = bed.needed_defaults().values().map(String::len).sum();
    let padding = "x".repeat(1024 * 1024 - needed - BASE.len() - "# \n".len());
    bed.set_base(&format!("{BASE}# {padding}\n")).await?;
    seen.config("Applied", "False", "TooLarge").await?;
    configure(bed, "  base: {configMap: yunikorn-queues}\n").await?;
    seen.config("BaseResolved", "False", "BaseNotFound").await?;
    configure(bed, "").await?;
    // A partition that is active must stay in the text; the scheduler is restarted before it may go.
    bed.set_base(&format!("{BASE}  - name: gpu\n    queues:\n      - name: root\n")).await?;
    seen.config("Ready", "True", "Ready").await?;
    bed.set_base(BASE).await?;
    let message = seen.config("Applied", "False", "PartitionMissing").await?;
    ensure!(message.contains("`gpu`"), "{message}");
    // This is the solution that the message names.
    bed.scheduler()?.kill()?;
    bed.delete_config_map(yunikorn::CONFIGS).await?;
    seen.config("Applied", "True", "Applied").await?;
    bed.start_scheduler().await?;
    seen.config("Ready", "True", "Ready").await?;
    Ok(())
}

/// Another key is used only once the scheduler, started again, is proven to read it.
async fn another_policy_group(seen: &mut Seen<'_>) -> Result<()> {
    merge(seen.bed, &json!({"data": {"service.policyGroup": "group-a"}})).await?;
    let message = seen.config("Applied", "False", "PolicyGroupPending").await?;
    ensure!(message.contains("`group-a.yaml`"), "{message}");
    merge(seen.bed, &json!({"data": {"service.policyGroup": null}})).await?;
    seen.config("Ready", "True", "Ready").await?;
    Ok(())
}

/// Objects that close a queue are all deleted at once: nobody gains access before somebody confirms it.
async fn most_objects_gone(seen: &mut Seen<'_>) -> Result<()> {
    let bed = seen.bed;
    for name in (0..4).map(|n| format!("closing-{n}")) {
        apply(bed, &acl(&name, "root.dev", &format!("submit: {{users: [{name}]}}"))).await?;
        seen.queue_acl(&name, "Ready", "True", "Ready").await?;
    }
    bed.set_base(&BASE.replace("- name: dev\n", "- name: dev\n            submitacl: '*'\n")).await?;
    seen.config("Ready", "True", "Ready").await?;
    ensure!(bed.submit("tom", &["nobody"], "root.dev").await?.is_rejected());
    let closing = ListParams::default().fields("spec.queue=root.dev");
    let _ = bed.objects(Kind::QueueAcl)?.delete_collection(&DeleteParams::default(), &closing).await?;
    let message = seen.config("Applied", "False", "RemovalUnconfirmed").await?;
    ensure!(bed.submit("tom", &["nobody"], "root.dev").await?.is_rejected());
    // This is the solution that the message names.
    let (_, command) = message.split_once("kubectl ").context("no command")?;
    bed.kubectl(&command.split_whitespace().collect::<Vec<_>>()).await?;
    seen.config("Ready", "True", "Ready").await?;
    ensure!(bed.submit("tom", &["nobody"], "root.dev").await?.is_allowed());
    bed.set_base(BASE).await?;
    seen.config("Ready", "True", "Ready").await?;
    Ok(())
}

async fn binary_data(seen: &mut Seen<'_>) -> Result<()> {
    let bed = seen.bed;
    let put =
        async |key: &str, value: Option<ByteString>| merge(bed, &json!({"binaryData": {key: value}})).await;
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
    bed.yunikorn()?.wait_for_text(BASE, PATIENCE).await?;
    ensure!(bed.submit("alice", &["devs"], "root.prod").await?.is_rejected());
    seen.queue_acl("good", "Programmed", "False", "ShadowedByBinaryData").await?;
    seen.queue_acl("good", "Ready", "False", "ShadowedByBinaryData").await?;
    // The same with a tree of somebody else, which the scheduler runs.
    let theirs = BASE.replace("name: prod", "name: prod\n            submitacl: mallory");
    put("queues.yaml.gz", Some(ByteString(gzip(&theirs)?))).await?;
    bed.yunikorn()?.wait_for_text(&theirs, PATIENCE).await?;
    seen.config("Loaded", "True", "Loaded").await?;
    ensure!(bed.submit("mallory", &["x"], "root.prod").await?.is_allowed());
    seen.queue_acl("good", "Ready", "False", "ShadowedByBinaryData").await?;
    put("queues.yaml.gz", None).await?;
    seen.config("Ready", "True", "Ready").await?;
    seen.queue_acl("good", "Ready", "True", "Ready").await?;
    Ok(())
}

/// A packed key overrides the one that a policy sets, and then anyone may be anyone.
async fn a_policy_that_is_hidden(seen: &mut Seen<'_>) -> Result<()> {
    let bed = seen.bed;
    let text = "apiVersion: queuewarden.dev/v1alpha1\nkind: AdmissionPolicy\nmetadata: {name: closed}\nspec: {bypassAuth: false}\n";
    apply(bed, text).await?;
    seen.wait(Kind::AdmissionPolicy, "closed", "Ready", "True", "Ready").await?;
    let key = "admissionController.accessControl.bypassAuth.gz";
    merge(bed, &json!({"binaryData": {key: ByteString(gzip("true")?)}})).await?;
    let hidden = ("False", "ShadowedByBinaryData");
    let message = seen.wait(Kind::AdmissionPolicy, "closed", "Ready", hidden.0, hidden.1).await?;
    ensure!(message.contains(&format!("`{key}`")), "{message}");
    merge(bed, &json!({"binaryData": {key: null}})).await?;
    seen.wait(Kind::AdmissionPolicy, "closed", "Ready", "True", "Ready").await?;
    hot_refresh(bed, "\"false\"").await?;
    seen.wait(Kind::AdmissionPolicy, "closed", "Effective", "Unknown", "HotRefreshDisabled").await?;
    hot_refresh(bed, "null").await?;
    delete(bed, "admissionpolicy", "closed").await?;
    // A scheduler that saw it off stays so until it is started again.
    bed.scheduler()?.kill()?;
    bed.start_scheduler().await?;
    seen.config("Ready", "True", "Ready").await?;
    Ok(())
}

async fn a_mirror(seen: &mut Seen<'_>) -> Result<()> {
    seen.bed.apply_kustomization("manifests/rbac-mirror").await?;
    configure(seen.bed, "  rbacMirror: Enabled\n").await?;
    seen.config("Mirrored", "True", "Mirrored").await?;
    configure(seen.bed, "").await?;
    seen.config("Ready", "True", "Ready").await?;
    Ok(())
}

async fn access_tests(seen: &mut Seen<'_>) -> Result<()> {
    let bed = seen.bed;
    let test = |submit: &str| {
        format!(
            "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAccessTest\nmetadata: {{name: test}}\n\
             spec: {{cases: [{{subjects: [{{user: alice}}], {submit}: {{submit: [root.prod]}}}}]}}\n"
        )
    };
    apply(bed, &test("allow")).await?;
    seen.wait(Kind::QueueAccessTest, "test", "Passing", "True", "Passing").await?;
    apply(bed, &test("deny")).await?;
    seen.wait(Kind::QueueAccessTest, "test", "Passing", "False", "Failing").await?;
    // The groups on the scheduler's machine are not read.
    bed.set_base(&BASE.replace("- name: default\n", "- name: default\n    usergroupresolver: {type: os}\n"))
        .await?;
    apply(bed, &acl("good", "root.prod", "submit: {users: [bob]}")).await?;
    seen.wait(Kind::QueueAccessTest, "test", "Passing", "Unknown", "Undecided").await?;
    delete(bed, "queueaccesstest", "test").await?;
    bed.set_base(BASE).await?;
    apply(bed, &acl("good", "root.prod", "submit: {users: [alice]}")).await?;
    seen.config("Ready", "True", "Ready").await?;
    seen.queue_acl("good", "Ready", "True", "Ready").await?;
    Ok(())
}

async fn refused_writes(seen: &mut Seen<'_>) -> Result<()> {
    let bed = seen.bed;
    // RBAC.
    bed.kubectl(&["delete", "rolebinding", operator::NAME, "-n", yunikorn::NAMESPACE, "--ignore-not-found"])
        .await?;
    apply(bed, &acl("good", "root.prod", "submit: {users: [alice, ann]}")).await?;
    seen.config("Applied", "False", "Forbidden").await?;
    bed.apply_kustomization("manifests").await?;
    seen.config("Applied", "True", "Applied").await?;

    // By a rule of the API server, an immutable object cannot be changed, only deleted.
    merge(bed, &json!({"immutable": true})).await?;
    apply(bed, &acl("good", "root.prod", "submit: {users: [alice]}")).await?;
    let message = seen.config("Applied", "False", "Rejected").await?;
    ensure!(message.contains("immutable"), "{message}");
    // `ann` still has access, and no status denies it.
    let message = seen.queue_acl("good", "Ready", "False", "WithdrawalPending").await?;
    ensure!(message.contains("ann"), "{message}");
    ensure!(bed.submit("ann", &["devs"], "root.prod").await?.is_allowed());
    bed.delete_config_map(yunikorn::CONFIGS).await?;
    seen.config("Ready", "True", "Ready").await?;
    seen.queue_acl("good", "Ready", "True", "Ready").await?;

    // YuniKorn's own webhook, when its scheduler says no. A scheduler of this version never refuses our text;
    // one of another version might.
    let refusing = Refusing::start().await?;
    let mut defaults = bed.needed_defaults();
    defaults.insert(KEY.to_owned(), BASE.to_owned());
    defaults.insert(
        "admissionController.webHook.schedulerServiceAddress".to_owned(),
        refusing.address().to_owned(),
    );
    bed.write_config_map(yunikorn::DEFAULTS, defaults).await?;
    bed.start_admission_controller().await?;
    apply(bed, &acl("good", "root.prod", "submit: {users: [alice, bob]}")).await?;
    let message = seen.config("Applied", "False", "RejectedByAdmission").await?;
    ensure!(message.contains("a scheduler from the future says no"), "{message}");

    // A required webhook that does not answer decides nothing, so the write is tried again.
    bed.stop_admission_controller().await?;
    let hook = r#"{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "dead"},
        "webhooks": [{"name": "dead.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": 1,
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}]}]}"#;
    bed.kubectl_with_input(&["create", "-f", "-"], hook).await?;
    let outcome = async {
        apply(bed, &acl("good", "root.prod", "submit: {users: [alice, carol]}")).await?;
        seen.config("Applied", "False", "Pending").await?;
        seen.queue_acl("good", "Programmed", "False", "Pending").await
    }
    .await;
    bed.kubectl(&["delete", "validatingwebhookconfiguration", "dead"]).await?;
    outcome?;
    bed.set_base(BASE).await?;
    seen.config("Ready", "True", "Ready").await?;
    Ok(())
}

async fn observing(seen: &mut Seen<'_>) -> Result<()> {
    let bed = seen.bed;
    configure(bed, "  mode: Observe\n").await?;
    apply(bed, &acl("good", "root.prod", "submit: {users: [alice]}")).await?;
    seen.config("Applied", "False", "ObserveMode").await?;
    seen.queue_acl("good", "Ready", "False", "WithdrawalPending").await?;
    apply(bed, &acl("new", "root.prod", "submit: {users: [bob]}")).await?;
    seen.queue_acl("new", "Ready", "False", "ObserveMode").await?;
    delete(bed, "queueacl", "new").await?;
    bed.delete_config_map(yunikorn::CONFIGS).await?;
    bed.set_base(&open_base()).await?;
    seen.config("FailOpen", "True", "OutputMissing").await?;
    bed.set_base(BASE).await?;
    configure(bed, "").await?;
    seen.config("Ready", "True", "Ready").await?;
    Ok(())
}

async fn a_scheduler_that_does_not_load(seen: &mut Seen<'_>) -> Result<()> {
    let bed = seen.bed;
    bed.scheduler()?.kill()?;
    seen.config("Loaded", "Unknown", "SchedulerUnreachable").await?;
    bed.start_scheduler().await?;
    seen.config("Loaded", "True", "Loaded").await?;
    refresh_no_more(bed).await?;
    apply(bed, &acl("good", "root.prod", "submit: {users: [alice, dora]}")).await?;
    seen.config("Loaded", "False", "HotRefreshDisabled").await?;
    // Switched on again, it stays off in a running scheduler: the text is written again, and then the real
    // reason is reported.
    hot_refresh(bed, "null").await?;
    seen.config("Loaded", "False", "LoadPending").await?;
    seen.config("Loaded", "False", "SchedulerRejected").await?;
    bed.scheduler()?.kill()?;
    bed.start_scheduler().await?;
    seen.config("Loaded", "True", "Loaded").await?;
    Ok(())
}

/// Without a URL nothing is proven, and everything that is still known is reported.
async fn nobody_asks_the_scheduler(seen: &mut Seen<'_>) -> Result<()> {
    let bed = seen.bed;
    let unasked =
        "apiVersion: queuewarden.dev/v1alpha1\nkind: YuniKornConfig\nmetadata: {name: default}\nspec: {}\n";
    apply(bed, unasked).await?;
    seen.config("Loaded", "Unknown", "NotVerified").await?;
    seen.config("Ready", "True", "NotVerified").await?;
    seen.queue_acl("good", "Ready", "True", "NotVerified").await?;
    merge(bed, &json!({"data": {"service.schedulingInterval": "soon"}})).await?;
    let message = seen.config("Loaded", "False", "NotRead").await?;
    ensure!(message.contains("`service.schedulingInterval`"), "{message}");
    seen.queue_acl("good", "Ready", "False", "NotRead").await?;
    merge(bed, &json!({"data": {"service.schedulingInterval": null}})).await?;
    configure(bed, "").await?;
    seen.config("Ready", "True", "Ready").await?;
    Ok(())
}

async fn other_owners(seen: &mut Seen<'_>) -> Result<()> {
    let bed = seen.bed;
    let theirs = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {}, namespace: {}}}\ndata: {{{KEY}: \"partitions: [{{name: default, queues: [{{name: root}}]}}]\"}}\n",
        yunikorn::CONFIGS,
        yunikorn::NAMESPACE
    );
    let contend = async || -> Result<()> {
        let args = ["apply", "--server-side", "--force-conflicts", "--field-manager", "rival", "-f", "-"];
        let rival = tokio::time::timeout(Duration::from_mins(1), async {
            loop {
                bed.kubectl_with_input(&args, &theirs).await?;
                let conditions = bed.conditions(Kind::YuniKornConfig, "default").await?;
                if conditions.iter().any(|c| c.type_ == "Applied" && c.reason == "Contended") {
                    return anyhow::Ok(());
                }
            }
        });
        rival.await?
    };
    contend().await?;
    seen.config("Applied", "False", "Contended").await?;
    // Someone else's from the beginning.
    configure(bed, "  mode: Observe\n").await?;
    bed.delete_config_map(yunikorn::CONFIGS).await?;
    bed.kubectl_with_input(&["create", "-f", "-"], &theirs).await?;
    configure(bed, "").await?;
    seen.config("Applied", "False", "FieldConflict").await?;
    Ok(())
}
