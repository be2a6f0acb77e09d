//! Tests that a queue administrator can change their subtree and nothing else, by trying each way around that
//! against a real API server.
//!
//! Each attempt is made twice: with everything in place it is refused at once; without the webhook it is
//! refused by the API server's own policy, or stored without granting anything.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, ensure};
use futures::future::join_all;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject};
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{Capability, Kind, TestCluster, eventually, yunikorn};
use serde_json::{Value, json};

use super::{ACLS, Answer, acl, create, decided, send};
use crate::cli::ask;

const BASE: &str = "\
partitions:
  - name: default
    placementrules: [{name: provided, create: false}]
    queues:
      - name: root
        adminacl: boss
        queues:
          - name: prod
            adminacl: sue
            queues: [{name: etl}, {name: bi}]
          - name: test
            adminacl: ' qa'
          - name: production
";
const MERGE: &str = "application/merge-patch+json";
const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";
const GROUP: &str = "/apis/queuewarden.dev/v1alpha1";

/// One attempt to do more.
struct Attempt {
    name: &'static str,
    method: &'static str,
    path: String,
    kind: &'static str,
    body: Value,
    /// Words of the refusal.
    words: &'static str,
    /// True if only the webhook prevents it: others' delegated objects, which the policy cannot check.
    webhook_only: bool,
}

/// Returns an object with `delegatedBy: sue`, and these other fields.
fn own(name: &str, queue: &str, more: &Value) -> Value {
    let mut spec = json!({"queue": queue, "baseAcl": "Extend", "delegatedBy": {"user": "sue"}, "submit": {"users": ["mallory"]}});
    if let (Some(spec), Some(more)) = (spec.as_object_mut(), more.as_object()) {
        spec.extend(more.clone());
        spec.retain(|_, value| !value.is_null());
    }
    acl(name, &spec)
}

fn new(name: &'static str, object: Value, words: &'static str) -> Attempt {
    Attempt { name, method: "POST", path: ACLS.into(), kind: JSON, body: object, words, webhook_only: false }
}

fn change(name: &'static str, object: &str, body: Value, words: &'static str) -> Attempt {
    let path = format!("{ACLS}/{object}");
    Attempt { name, method: "PATCH", path, kind: MERGE, body, words, webhook_only: false }
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn attempts() -> Vec<Attempt> {
    let nothing = json!({});
    let x = |queue: &str, more: Value| own("x", queue, &more);
    let foreign = "does not administer queue";
    let delete = |name: &'static str, object: &str, words| Attempt {
        method: "DELETE",
        ..change(name, object, Value::Null, words)
    };
    let webhook = |attempt: Attempt| Attempt { webhook_only: true, ..attempt };
    let mut nameless = x("root.test", nothing.clone());
    if let Some(metadata) = nameless.get_mut("metadata") {
        *metadata = json!({"generateName": "x-"});
    }
    let mut finalized = x("root.prod", nothing.clone());
    if let Some(metadata) = finalized.get_mut("metadata") {
        *metadata = json!({"name": "x", "finalizers": ["example.com/stay"]});
    }
    let mut annotated = x("root.prod", nothing.clone());
    if let Some(metadata) = annotated.get_mut("metadata") {
        *metadata = json!({"name": "x", "annotations": {"example.com/note": "x".repeat(66_000)}});
    }
    let manager = |number: usize| {
        json!({"manager": format!("{number:0100}"), "operation": "Apply", "apiVersion": "queuewarden.dev/v1alpha1",
            "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:submit": {"f:users": {}}}}})
    };
    let with_fields = json!({"metadata": {"managedFields": (0..600).map(manager).collect::<Vec<_>>()}});
    let names = |list: &str| -> Vec<_> { (0..256).map(|name| format!("{list}{name:0140}")).collect() };
    let grant = |list: &str| json!({"users": names(list), "groups": names(&list.to_uppercase())});
    let later = x(
        "root.prod",
        json!({"submit": grant("s"), "admin": grant("a"), "notBefore": "2099-01-01T00:00:00Z"}),
    );
    let nobody = json!({"submit": {"nobody": true}});
    let higher = "as administrator of `root`";
    let applied = own("trusted", "root.prod", &nothing);
    let at = |name, method, path: &str, body, words| Attempt {
        name,
        method,
        path: path.to_owned(),
        kind: if method == "PATCH" { MERGE } else { JSON },
        body,
        words,
        webhook_only: false,
    };
    let policy = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "AdmissionPolicy", "metadata": {"name": "x"},
                        "spec": {"bypassAuth": true}});
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "x"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "queuewarden-editor"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "sue"}]});
    let map = format!("/api/v1/namespaces/{}/configmaps/{}", yunikorn::NAMESPACE, yunikorn::CONFIGS);
    vec![
        new("no mark", x("root.prod", json!({"delegatedBy": null})), "not a cluster administrator"),
        new("another's name", x("root.test", json!({"delegatedBy": {"user": "boss"}})), "delegatedBy"),
        new(
            "a group of others",
            x("root.test", json!({"delegatedBy": {"user": "sue", "groups": ["qa"]}})),
            "not in",
        ),
        new("a sibling", x("root.test", nothing.clone()), foreign),
        new("a sibling, as its administrator", x("root.test", json!({"admin": {"users": ["sue"]}})), foreign),
        new("a queue whose name begins alike", x("root.production", nothing.clone()), foreign),
        new("root", x("root", nothing.clone()), "cannot be delegated"),
        new("large annotations", annotated, "at most 65536 bytes of annotations"),
        new("bytes that are not in force", later, "more than 131072 bytes"),
        new("root in capitals", x("ROOT", nothing.clone()), "cannot be delegated"),
        new("another partition", x("root.prod", json!({"partition": "gpu"})), foreign),
        new("another partition's root in disguise", x("root.test", json!({"partition": "DEFAULT"})), foreign),
        new("replacing what the base grants", x("root.prod", json!({"baseAcl": "Replace"})), "Extend"),
        new("replacing by default", x("root.prod", json!({"baseAcl": null})), "Extend"),
        new(
            "a window that is yet to come",
            x("root.test", json!({"notBefore": "2100-01-01T00:00:00Z"})),
            foreign,
        ),
        new(
            "a window that has passed",
            x("root.test", json!({"expiresAt": "2020-01-01T00:00:00Z"})),
            foreign,
        ),
        new("a name that the API server makes up", nameless, foreign),
        new("granting nobody", x("root.prod", nobody.clone()), "grants nothing"),
        new("granting nobody on a queue that may come", x("root.prod.later", nobody), "grants nothing"),
        new(
            "making everyone administrator",
            x("root.prod", json!({"admin": {"everyone": true}})),
            "everyone an administrator",
        ),
        new("a finalizer", finalized, "finalizers"),
        // The API server accepts them from a client, and no schema bounds them.
        webhook(change("many managedFields", "mine", with_fields, "more than 131072 bytes")),
        change(
            "a finalizer on one's own object",
            "mine",
            json!({"metadata": {"finalizers": ["example.com/stay"]}}),
            "finalizers",
        ),
        change(
            "a cluster administrator's object",
            "trusted",
            json!({"spec": {"submit": {"users": ["mallory"]}}}),
            "cluster administrator",
        ),
        change(
            "taking it over",
            "trusted",
            json!({"spec": {"delegatedBy": {"user": "sue"}, "baseAcl": "Extend"}}),
            "cluster administrator",
        ),
        change("its labels", "trusted", json!({"metadata": {"labels": {"a": "b"}}}), "cluster administrator"),
        change(
            "an owner whose end is its end",
            "trusted",
            json!({"metadata": {"ownerReferences": [
            {"apiVersion": "v1", "kind": "Namespace", "name": "gone", "uid": "0"}]}}),
            "cluster administrator",
        ),
        Attempt {
            kind: APPLY,
            path: format!("{ACLS}/trusted?fieldManager=sue&force=true"),
            ..change("server-side apply", "trusted", applied, "cluster administrator")
        },
        delete("deleting it", "trusted", "cluster administrator"),
        webhook(change(
            "a stranger's object",
            "foreign",
            json!({"spec": {"delegatedBy": {"user": "sue", "groups": null}}}),
            foreign,
        )),
        webhook(change(
            "pulling it in",
            "foreign",
            json!({"spec": {"queue": "root.prod", "delegatedBy": {"user": "sue", "groups": null}}}),
            foreign,
        )),
        change("speaking for its writer", "foreign", json!({"spec": {"submit": {"users": ["mallory"]}}}), ""),
        webhook(delete("deleting it", "foreign", foreign)),
        webhook(change(
            "what a higher administrator grants",
            "higher",
            json!({"spec": {"delegatedBy": {"user": "sue"}, "submit": {"users": ["mallory"]}}}),
            higher,
        )),
        webhook(delete("deleting it", "higher", higher)),
        change("moving one's own object out", "mine", json!({"spec": {"queue": "root.test"}}), foreign),
        change("moving it up", "mine", json!({"spec": {"queue": "root"}}), "cannot be delegated"),
        change(
            "taking one's name off it",
            "mine",
            json!({"spec": {"delegatedBy": null}}),
            "not a cluster administrator",
        ),
        change(
            "putting another's on it",
            "mine",
            json!({"spec": {"delegatedBy": {"user": "boss"}}}),
            "delegatedBy",
        ),
        at(
            "its status",
            "PATCH",
            &format!("{ACLS}/mine/status"),
            json!({"status": {"submit": "*"}}),
            "forbidden",
        ),
        at("all at once", "DELETE", ACLS, Value::Null, "forbidden"),
        at("who may submit as anyone", "POST", &format!("{GROUP}/admissionpolicies"), policy, "forbidden"),
        at(
            "the switch",
            "PATCH",
            &format!("{GROUP}/yunikornconfigs/default"),
            json!({"spec": {"mode": "Observe"}}),
            "forbidden",
        ),
        at("the ConfigMap itself", "PATCH", &map, json!({"data": {"queues.yaml": "x"}}), "forbidden"),
        at(
            "a role that may more",
            "POST",
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            binding,
            "forbidden",
        ),
    ]
}

/// While queuewarden is down, its webhook blocks all writes by delegates, and all writes except deletions by
/// cluster administrators.
#[tokio::test]
async fn cluster_administrators_delete_while_queuewarden_is_down_and_others_do_not() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let (operator, _) = decided(cluster, BASE, &json!({"delegation": "Enabled"})).await?;
        let (admin, sue) = (cluster.client()?, prepared(cluster).await?);
        let dry = |name: &str| format!("{ACLS}/{name}?dryRun=All");
        let delete =
            async |client: &Client, path: &str| send(client, "DELETE", path, JSON, &Value::Null).await;
        let answer = delete(&admin, &dry("trusted")).await?;
        ensure!(answer.code == 200 && answer.warns("from user pat"), "{answer:?}");
        let answer = delete(&sue, &dry("foreign")).await?;
        ensure!(answer.message.contains("does not administer queue"), "{answer:?}");
        operator.kill().await?;
        for name in ["foreign", "mine"] {
            let answer = delete(&sue, &dry(name)).await?;
            ensure!(answer.code == 500 && answer.message.contains("validate.queuewarden.dev"), "{answer:?}");
        }
        let object = acl("x", &json!({"queue": "root.prod", "submit": {"users": ["pat"]}}));
        let answer = create(&admin, ACLS, &object).await?;
        ensure!(answer.code == 500 && answer.message.contains("validate.queuewarden.dev"), "{answer:?}");
        for path in
            [format!("{ACLS}/trusted"), format!("{ACLS}/foreign"), format!("{GROUP}/yunikornconfigs/default")]
        {
            let answer = delete(&admin, &path).await?;
            ensure!(answer.code == 200 && answer.warnings.is_empty(), "{path}: {answer:?}");
        }
        Ok(())
    })
    .await
}

/// Concurrent writes are counted together, although the watch has not delivered any of them yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_a_delegate_is_stored_within_the_limits() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let (_operator, _) = decided(cluster, BASE, &json!({"delegation": "Enabled"})).await?;
        let (admin, sue) = (cluster.client()?, prepared(cluster).await?);
        let users: Vec<_> = (0..100).map(|name| format!("u{name:0127}")).collect();
        let large = |name: &str| own(name, "root.prod", &json!({"submit": {"users": users}}));
        let writes =
            (0..400).map(async |number| create(&sue, ACLS, &large(&format!("burst-{number}"))).await);
        let others = (0..10).map(async |number| {
            let spec = json!({"queue": "root.prod", "submit": {"users": ["pat"]}});
            create(&admin, ACLS, &acl(&format!("other-{number}"), &spec)).await
        });
        let (answers, others) = tokio::join!(join_all(writes), join_all(others));
        for answer in others {
            let answer = answer?;
            ensure!(answer.code == 201, "an administrator waits for a delegate: {answer:?}");
        }
        let answers = answers.into_iter().collect::<Result<Vec<_>>>()?;
        let accepted = answers.iter().filter(|answer| answer.code == 201).count();
        // A slow machine refuses some because they were not decided in time. Annotations use up the limit for
        // stored objects without using up the separate limit for ACLs.
        let padded = |name: &str| {
            let mut object = own(name, "root.prod", &json!({"submit": {"users": ["pat"]}}));
            object["metadata"]["annotations"] = json!({"padding": "x".repeat(16 * 1024)});
            object
        };
        let next = AtomicUsize::new(0);
        eventually("the next one to be refused by the limit", LONG, || async {
            let name = format!("next-{}", next.fetch_add(1, Ordering::Relaxed));
            let answer = create(&sue, ACLS, &padded(&name)).await?;
            let counted = ["131072 bytes", "too many writes at once"];
            ensure!(counted.iter().any(|words| answer.message.contains(words)), "{answer:?}");
            Ok(Some(()))
        })
        .await?;
        let objects = stored(cluster).await?;
        let own: Vec<_> = objects.iter().filter(|(_, spec)| spec["delegatedBy"]["user"] == "sue").collect();
        let bytes: usize = own.iter().map(|(name, spec)| name.len() + spec.to_string().len()).sum();
        println!("{accepted} of {} accepted, {bytes} bytes stored", answers.len());
        ensure!(accepted > 0 && bytes <= 128 * 1024, "{accepted} accepted, {bytes} bytes stored");
        for (name, _) in own {
            let answer = super::delete(&sue, name).await?;
            ensure!(answer.code == 200, "{answer:?}");
        }
        eventually("the space to be free again", LONG, || async {
            Ok((create(&sue, ACLS, &large("later")).await?.code == 201).then_some(()))
        })
        .await
    })
    .await
}

async fn make_attempt(client: &Client, attempt: &Attempt) -> Result<Answer> {
    send(client, attempt.method, &attempt.path, attempt.kind, &attempt.body).await
}

/// Returns `spec` and labels of all `QueueAcl`s.
async fn stored(cluster: &TestCluster) -> Result<Vec<(String, Value)>> {
    let objects = cluster.objects(Kind::QueueAcl)?.list(&kube::api::ListParams::default()).await?;
    let spec = |object: &DynamicObject| object.data.get("spec").cloned().unwrap_or_default();
    Ok(objects
        .iter()
        .map(|object| (object.metadata.name.clone().unwrap_or_default(), spec(object)))
        .collect())
}

async fn live(cluster: &TestCluster) -> Result<String> {
    cluster.config_value(yunikorn::CONFIGS, "queues.yaml").await?.context("no queue tree in the output")
}

#[tokio::test]
async fn a_queue_administrator_changes_their_subtree_and_nothing_else() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let (_operator, _) = decided(cluster, BASE, &json!({"delegation": "Enabled"})).await?;
        let sue = prepared(cluster).await?;
        let before = (stored(cluster).await?, live(cluster).await?);
        let attempts = attempts();
        ensure!(attempts.len() >= 20, "{}", attempts.len());
        let mut accepted = Vec::new();
        for attempt in &attempts {
            let answer = make_attempt(&sue, attempt).await?;
            if !((400..500).contains(&answer.code) && answer.message.contains(attempt.words)) {
                accepted.push(format!("{}: {answer:?}", attempt.name));
            }
        }
        ensure!(accepted.is_empty(), "{}", accepted.join("\n"));
        ensure!(before == (stored(cluster).await?, live(cluster).await?));
        what_they_may(cluster, &sue).await?;
        while_it_is_off(cluster, &sue).await?;
        without_the_webhook(cluster, &sue, &attempts).await
    })
    .await
}

/// A delegate who may read the ACLs grants through the command line, under their own name.
#[tokio::test]
async fn delegate_grants_through_the_command_line() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let (_operator, _) = decided(cluster, BASE, &json!({"delegation": "Enabled"})).await?;
        prepared(cluster).await?;
        let sue = cluster.certified("sue", ["queue-admins", "people"])?;
        let command = "grant submit root.prod.etl --group night-shift --delegated";
        let ended = ask(&sue, command).await?;
        let roles = ["the ClusterRole view", "queuewarden-viewer"];
        ensure!(ended.code == Some(3) && roles.iter().all(|role| ended.err.contains(role)), "{ended}");
        let reads = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "queuewarden-e2e-reads"}, "rules": [
                {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]},
                {"apiGroups": ["queuewarden.dev"], "resources": ["*"], "verbs": ["get", "list"]},
            ]});
        cluster.apply_text(&reads.to_string(), "e2e").await?;
        let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "queuewarden-e2e-reads"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "queuewarden-e2e-reads"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "queue-admins"}]});
        cluster.apply_text(&binding.to_string(), "e2e").await?;
        let printed = eventually("sue to read the ACLs", PATIENCE, || async {
            let ended = ask(&sue, command).await?;
            Ok((ended.code == Some(0)).then_some(ended))
        })
        .await?;
        ensure!(printed.out.contains("delegatedBy:\n    user: sue\n"), "{printed}");
        let applied = ask(&sue, &format!("{command} --apply")).await?;
        ensure!(applied.code == Some(0), "{applied}");
        cluster.wait_for(Kind::QueueAcl, "prod-etl-submit-night-shift", is_true("Ready"), PATIENCE).await?;
        let elsewhere = ask(&sue, "grant submit root.test --group night-shift --delegated").await?;
        let refused = "sue does not administer root.test";
        ensure!(elsewhere.code == Some(1) && elsewhere.err.contains(refused), "{elsewhere}");
        cluster.kubectl(&["delete", "clusterrole,clusterrolebinding", "queuewarden-e2e-reads"]).await?;
        Ok(())
    })
    .await
}

/// Prepares roles, the policy, and objects of others. Returns sue's client.
async fn prepared(cluster: &TestCluster) -> Result<Client> {
    for file in ["role", "policy"] {
        cluster.apply_file(&format!("manifests/delegation/{file}.yaml")).await?;
    }
    let binding = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: queuewarden-e2e-delegates}, \
        roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: queuewarden-delegate}, \
        subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: queue-admins}]}";
    cluster.apply_text(binding, "e2e").await?;
    let (admin, sue) = (cluster.client()?, cluster.as_user("sue", &["queue-admins"])?);
    let bob = cluster.as_user("bob", &["queue-admins", "qa"])?;
    let unmarked = acl("x", &json!({"queue": "root.prod", "submit": {"users": ["mallory"]}}));
    eventually("the policy to be in force", PATIENCE, || async {
        let answer = create(&sue, &format!("{ACLS}?dryRun=All"), &unmarked).await?;
        Ok(answer.message.contains("queuewarden-delegation").then_some(()))
    })
    .await?;
    let trusted = acl("trusted", &json!({"queue": "root.prod", "submit": {"users": ["pat"]}}));
    let foreign = acl(
        "foreign",
        &json!({"queue": "root.test", "baseAcl": "Extend", "submit": {"users": ["tom"]},
                                         "delegatedBy": {"user": "bob", "groups": ["qa"]}}),
    );
    let boss = cluster.as_user("boss", &["queue-admins"])?;
    let higher = own(
        "higher",
        "root.prod.etl",
        &json!({"delegatedBy": {"user": "boss"}, "submit": {"users": ["hal"]}}),
    );
    let mine = own("mine", "root.prod.etl", &json!({"submit": {"users": ["ann"]}}));
    for (client, object) in [(&admin, trusted), (&bob, foreign), (&boss, higher), (&sue, mine)] {
        let answer = create(client, ACLS, &object).await?;
        ensure!(answer.code == 201, "{answer:?}");
    }
    for name in ["trusted", "foreign", "higher", "mine"] {
        cluster.wait_for(Kind::QueueAcl, name, is_true("Ready"), PATIENCE).await?;
    }
    Ok(sue)
}

/// Checks what delegation allows.
async fn what_they_may(cluster: &TestCluster, sue: &Client) -> Result<()> {
    let grant =
        own("theirs", "root.prod", &json!({"submit": {"groups": ["devs"]}, "admin": {"users": ["kim"]}}));
    let answer = create(sue, ACLS, &grant).await?;
    ensure!(answer.code == 201 && answer.warns("to group devs"), "{answer:?}");
    cluster.wait_for(Kind::QueueAcl, "theirs", is_true("Ready"), PATIENCE).await?;
    // kim administers root.prod now, and deletes an object in its subtree.
    let kim = cluster.as_user("kim", &["queue-admins"])?;
    let below = own("below", "root.prod.bi", &json!({"delegatedBy": {"user": "kim"}}));
    let answer = eventually("kim to be known as administrator", PATIENCE, || async {
        let answer = create(&kim, ACLS, &below).await?;
        Ok((answer.code == 201).then_some(answer))
    })
    .await?;
    ensure!(answer.warns("root.prod.bi to user mallory"), "{answer:?}");
    cluster.wait_for(Kind::QueueAcl, "below", is_true("Ready"), PATIENCE).await?;
    // When sue withdraws kim's right, everything that depends on it ends, even if a cluster administrator has
    // set a finalizer.
    let finalizers = json!({"metadata": {"finalizers": ["example.com/stay"]}});
    let answer = super::merge(&cluster.client()?, "theirs", &finalizers).await?;
    ensure!(answer.code == 200, "{answer:?}");
    let answer = super::delete(sue, "theirs").await?;
    ensure!(answer.code == 200, "{answer:?}");
    eventually("kim's grant to end", PATIENCE, || async {
        Ok((!live(cluster).await?.contains("mallory")).then_some(()))
    })
    .await?;
    let objects = cluster.objects(Kind::QueueAcl)?;
    let there = async |name: &str| anyhow::Ok(objects.get_opt(name).await?.is_some());
    ensure!(there("theirs").await?, "the finalizer holds it");
    let none = json!({"metadata": {"finalizers": null}});
    let answer = super::merge(sue, "theirs", &none).await?;
    ensure!(answer.code == 200 && !there("theirs").await?, "{answer:?}");
    // The API server sets a finalizer on a deletion in the foreground, and the garbage collector removes it.
    let foreground = format!("{ACLS}/below?propagationPolicy=Foreground");
    let answer = send(sue, "DELETE", &foreground, JSON, &Value::Null).await?;
    ensure!(answer.code == 200 && there("below").await?, "{answer:?}");
    let collector = cluster.as_user("system:serviceaccount:kube-system:generic-garbage-collector", &[])?;
    let answer = super::merge(&collector, "below", &none).await?;
    ensure!(answer.code == 200 && !there("below").await?, "{answer:?}");
    Ok(())
}

/// Tests a period with delegation off: RBAC lets sue write, and the webhook lets her delete objects under her
/// name.
async fn while_it_is_off(cluster: &TestCluster, sue: &Client) -> Result<()> {
    let admin = cluster.client()?;
    let config = format!("{GROUP}/yunikornconfigs/default");
    let switch = async |delegation: &str| -> Result<()> {
        let answer =
            send(&admin, "PATCH", &config, MERGE, &json!({"spec": {"delegation": delegation}})).await?;
        ensure!(answer.code == 200, "{answer:?}");
        Ok(())
    };
    let dry = |name: &str| format!("{ACLS}{name}?dryRun=All");
    let object = own("x", "root.prod", &json!({}));
    switch("Disabled").await?;
    eventually("the webhook to know that delegation is off", PATIENCE, || async {
        let answer = create(sue, &dry(""), &object).await?;
        Ok(answer.message.contains("is Disabled").then_some(()))
    })
    .await?;
    let answer = send(sue, "DELETE", &dry("/foreign"), JSON, &Value::Null).await?;
    ensure!(answer.message.contains("is Disabled"), "{answer:?}");
    let answer = send(sue, "DELETE", &dry("/mine"), JSON, &Value::Null).await?;
    ensure!(answer.code == 200, "{answer:?}");
    switch("Enabled").await?;
    eventually("the webhook to know that delegation is on", PATIENCE, || async {
        Ok((create(sue, &dry(""), &object).await?.code == 201).then_some(()))
    })
    .await
}

/// Checks a cluster without the webhook: the API server's policy refuses most attempts, and the others grant
/// nothing.
async fn without_the_webhook(cluster: &TestCluster, sue: &Client, attempts: &[Attempt]) -> Result<()> {
    let hooks: Api<ValidatingWebhookConfiguration> = Api::all(cluster.client()?);
    hooks.delete("queuewarden", &DeleteParams::default()).await?;
    let admin = cluster.client()?;
    let probe = acl("probe", &json!({"queue": "root.nowhere", "submit": {"users": ["x"]}}));
    eventually("the API server to ask no more", PATIENCE, || async {
        let answer = create(&admin, &format!("{ACLS}?dryRun=All"), &probe).await?;
        Ok((answer.code == 201 && answer.warnings.is_empty()).then_some(()))
    })
    .await?;
    let mut stored = 0;
    for attempt in attempts.iter().filter(|attempt| !attempt.webhook_only) {
        let answer = make_attempt(sue, attempt).await?;
        if (400..500).contains(&answer.code) {
            continue;
        }
        stored += 1;
        grants_nothing(cluster, attempt).await?;
    }
    ensure!(stored > 0, "the policy stood against all of them, so that nothing was decided again");
    Ok(())
}

/// Checks that the stored object is not in force, and removes it.
async fn grants_nothing(cluster: &TestCluster, attempt: &Attempt) -> Result<()> {
    let objects = cluster.objects(Kind::QueueAcl)?;
    let all = objects.list(&kube::api::ListParams::default()).await?;
    let touched = all.iter().filter_map(|object| object.metadata.name.as_deref());
    let name = touched
        .filter(|name| name.starts_with('x') || attempt.path.ends_with(&format!("/{name}")))
        .last()
        .with_context(|| format!("{}: nothing is stored", attempt.name))?
        .to_owned();
    eventually(&format!("{} ({name}) to be decided", attempt.name), PATIENCE, || async {
        let object = objects.get(&name).await?;
        let status = object.data.get("status");
        let seen = status.and_then(|status| status.get("observedGeneration")).and_then(Value::as_i64);
        let conditions = status.and_then(|status| status.get("conditions")).and_then(Value::as_array);
        // An object outside its time is accepted, and grants nothing either.
        let late = |c: &Value| ["NotYetValid", "Expired"].iter().any(|reason| c["reason"] == *reason);
        let refused = conditions
            .into_iter()
            .flatten()
            .any(|c| c["type"] == "Accepted" && (c["status"] == "False" || late(c)));
        Ok((seen == object.metadata.generation && refused).then_some(()))
    })
    .await?;
    ensure!(!live(cluster).await?.contains("mallory"), "{}: it grants", attempt.name);
    if name.starts_with('x') {
        objects.delete(&name, &DeleteParams::default()).await?;
    }
    Ok(())
}
