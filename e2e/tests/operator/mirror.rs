//! Tests the RBAC mirror: Kubernetes itself decides according to the ACLs, and no one gets any other
//! permission through it.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use queuewarden_e2e::conditions::{is_false, is_true};
use queuewarden_e2e::faults::{Call, Fault};
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{Capability, FaultProxy, Kind, Operator, TestCluster, eventually, operator};
use serde_json::{Value, json};

use super::{config_is, configure, delete, grant, start_behind, writes};

/// The objects of the mirror.
const LABEL: &str = "queuewarden.dev/mirror=rbac";

/// A user and their groups.
type Person<'a> = (&'a str, &'a [&'a str]);

/// Starts the operator with the mirror on and the rights for it.
pub(crate) async fn mirroring(cluster: &TestCluster) -> Result<Operator<'_>> {
    allow(cluster).await?;
    let operator = Operator::start(cluster).await?;
    config_is(cluster, is_true("Mirrored"), PATIENCE).await?;
    Ok(operator)
}

/// Turns the mirror on, and gives the rights for it.
async fn allow(cluster: &TestCluster) -> Result<()> {
    cluster.install().await?;
    cluster.apply_kustomization("manifests/rbac-mirror").await?;
    eventually("the rights to the mirror", PATIENCE, || async {
        let may =
            cluster.may(operator::USER, "list", "rbac.authorization.k8s.io", "clusterroles", None).await?;
        Ok(may.then_some(()))
    })
    .await?;
    configure(cluster, "  rbacMirror: Enabled\n").await
}

/// Waits until the mirror is reported as unfinished, with this reason.
async fn unfinished(cluster: &TestCluster, why: &str) -> Result<()> {
    eventually(&format!("`Mirrored` to tell of {why}"), LONG, || async {
        let conditions = cluster.conditions(Kind::YuniKornConfig, "default").await?;
        let reported = conditions.iter().find(|it| it.type_ == "Mirrored" && it.status == "False");
        Ok(reported.is_some_and(|reported| reported.message.contains(why)).then_some(()))
    })
    .await
}

/// Returns whether the API server allows a user to do this with a queue.
async fn can_i(
    cluster: &TestCluster,
    (user, groups): Person<'_>,
    verb: &str,
    (group, resource): (&str, &str),
    queue: &str,
) -> Result<bool> {
    let mut groups: Vec<String> = groups.iter().map(|&group| group.to_owned()).collect();
    groups.push("system:authenticated".to_owned());
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(user.to_owned()),
            groups: Some(groups),
            resource_attributes: Some(ResourceAttributes {
                verb: Some(verb.to_owned()),
                group: Some(group.to_owned()),
                resource: Some(resource.to_owned()),
                name: Some(queue.to_owned()),
                namespace: Some("default".to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let reviews: Api<SubjectAccessReview> = Api::all(cluster.client()?);
    let review = reviews.create(&PostParams::default(), &review).await?;
    Ok(review.status.is_some_and(|status| status.allowed))
}

const QUEUES: (&str, &str) = ("queuewarden.dev", "queues");

/// Waits until the API server decides as the mirror does.
pub(crate) async fn may(
    cluster: &TestCluster,
    who: Person<'_>,
    verb: &str,
    queue: &str,
    expected: bool,
) -> Result<()> {
    eventually(&format!("{who:?} {verb} {queue}: {expected}"), PATIENCE, || async {
        Ok((can_i(cluster, who, verb, QUEUES, queue).await? == expected).then_some(()))
    })
    .await
}

async fn mirrored(cluster: &TestCluster) -> Result<(Vec<ClusterRole>, Vec<ClusterRoleBinding>)> {
    let labelled = ListParams::default().labels(LABEL);
    let roles = Api::<ClusterRole>::all(cluster.client()?).list(&labelled).await?;
    let bindings = Api::<ClusterRoleBinding>::all(cluster.client()?).list(&labelled).await?;
    Ok((roles.items, bindings.items))
}

#[tokio::test]
async fn kubectl_auth_can_i_follows_the_acls() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = mirroring(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        grant(cluster, "team", "root.team", "admin: {groups: [devs]}").await?;
        may(cluster, ("alice", &[]), "submit", "root.prod", true).await?;
        may(cluster, ("bob", &["devs"]), "administer", "root.team.batch", true).await?;
        let (alice, bob): (Person<'_>, Person<'_>) = (("alice", &[]), ("bob", &["devs"]));
        for (who, verb, queue, expected) in [
            (alice, "use", "root.prod", true),
            (alice, "administer", "root.prod", false),
            (alice, "submit", "root", false),
            (alice, "submit", "root.team", false),
            (alice, "get", "root.prod", false),
            (alice, "submit", "", false),
            (bob, "submit", "root.team.adhoc", true),
            (bob, "submit", "root.prod", false),
            (bob, "delete", "root.team", false),
        ] {
            for spelling in [
                QUEUES,
                ("access.queuewarden.dev", "queues"),
                ("", "queues.queuewarden.dev"),
                ("", "queues.access.queuewarden.dev"),
            ] {
                let said = can_i(cluster, who, verb, spelling, queue).await?;
                ensure!(said == expected, "{who:?} {verb} {spelling:?} {queue}: {said}");
            }
        }
        let said = cluster
            .kubectl(&["auth", "can-i", "submit", "queues.queuewarden.dev/root.prod", "--as=alice"])
            .await?;
        ensure!(said.trim() == "yes", "{said}");
        let list = cluster.kubectl(&["auth", "can-i", "--list", "--as=bob", "--as-group=devs"]).await?;
        for queue in ["[root.team]", "[root.team.adhoc]", "[root.team.batch]"] {
            let line =
                list.lines().find(|line| line.contains("queues.queuewarden.dev") && line.contains(queue));
            ensure!(line.is_some_and(|line| line.contains("[administer submit use]")), "{list}");
        }
        ensure!(!list.contains("root.prod"), "{list}");
        // Taken away, and given to everyone.
        delete(cluster, "queueacl", "prod").await?;
        may(cluster, alice, "submit", "root.prod", false).await?;
        grant(cluster, "dev", "root.dev", "submit: {everyone: true}").await?;
        may(cluster, alice, "submit", "root.dev", true).await
    })
    .await
}

#[tokio::test]
async fn disabled_mirror_is_removed_and_missing_permissions_are_reported() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        let roles: Api<ClusterRole> = Api::all(cluster.client()?);
        let bindings: Api<ClusterRoleBinding> = Api::all(cluster.client()?);
        // Other tests may have left the permissions.
        let rights = ListParams::default().fields("metadata.name=queuewarden-rbac-mirror");
        bindings.delete_collection(&DeleteParams::default(), &rights).await?;
        roles.delete_collection(&DeleteParams::default(), &rights).await?;
        configure(cluster, "  rbacMirror: Enabled\n").await?;
        let operator = Operator::start(cluster).await?;
        config_is(cluster, is_false("Mirrored", "Forbidden"), PATIENCE).await?;
        // The queues are configured nevertheless.
        config_is(cluster, is_true("Loaded"), PATIENCE).await?;
        cluster.apply_kustomization("manifests/rbac-mirror").await?;
        config_is(cluster, is_true("Mirrored"), LONG).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        may(cluster, ("alice", &[]), "submit", "root.prod", true).await?;
        configure(cluster, "  rbacMirror: Disabled\n").await?;
        may(cluster, ("alice", &[]), "submit", "root.prod", false).await?;
        eventually("the mirror to be gone", PATIENCE, || async {
            let (roles, bindings) = mirrored(cluster).await?;
            let reported = cluster.conditions(Kind::YuniKornConfig, "default").await?;
            let reported = reported.iter().any(|condition| condition.type_ == "Mirrored");
            // A watch that has ended would look stalled.
            let watched = operator.get("/metrics").await?.contains("resource=\"clusterroles\"");
            Ok((roles.is_empty() && bindings.is_empty() && !reported && !watched).then_some(()))
        })
        .await?;
        ensure!(cluster.submit("alice", &[], "root.prod").await?.is_allowed());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn foreign_changes_of_the_mirror_are_reverted() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = mirroring(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        may(cluster, ("alice", &[]), "submit", "root.prod", true).await?;
        let name = "queuewarden:mirror:submit:root.prod";
        let bindings: Api<ClusterRoleBinding> = Api::all(cluster.client()?);
        let roles: Api<ClusterRole> = Api::all(cluster.client()?);
        let subject =
            |name: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name});
        let more = json!({"subjects": [subject("alice"), subject("mallory")]});
        bindings.patch(name, &PatchParams::default(), &Patch::Merge(more)).await?;
        let rule = json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]});
        roles.patch(name, &PatchParams::default(), &Patch::Merge(json!({"rules": [rule]}))).await?;
        may(cluster, ("mallory", &[]), "submit", "root.prod", false).await?;
        may(cluster, ("alice", &[]), "submit", "root.prod", true).await?;
        eventually("what was added to be gone", PATIENCE, || async {
            let secrets = can_i(cluster, ("alice", &[]), "get", ("", "secrets"), "x").await?;
            let subjects = bindings.get(name).await?.subjects.unwrap_or_default();
            Ok((!secrets && subjects.len() == 1).then_some(()))
        })
        .await?;
        bindings.delete(name, &DeleteParams::default()).await?;
        roles.delete(name, &DeleteParams::default()).await?;
        eventually("both to be made again", PATIENCE, || async {
            Ok((bindings.get_opt(name).await?.is_some() && roles.get_opt(name).await?.is_some())
                .then_some(()))
        })
        .await?;
        may(cluster, ("alice", &[]), "submit", "root.prod", true).await?;
        if cluster.has(Capability::Audit) {
            let mark = cluster.audit()?.mark()?;
            // Idleness is a period of time, not a condition to wait for.
            tokio::time::sleep(Duration::from_secs(10)).await;
            for resource in ["clusterroles", "clusterrolebindings"] {
                ensure!(writes(cluster, mark, resource, "")? == 0, "{:?}", cluster.audit()?.since(mark)?);
            }
        }
        Ok(())
    })
    .await
}

/// It backs off, reports the failure, and continues when it can: if a write is refused, and if another writer
/// is always faster.
#[tokio::test]
async fn refused_and_stale_writes_are_reported_and_made_later() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        allow(cluster).await?;
        let proxy = FaultProxy::start(cluster).await?;
        let _operator = start_behind(cluster, &proxy).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        may(cluster, ("alice", &[]), "submit", "root.prod", true).await?;
        for (name, method, resource, code, why) in [
            ("dev", http::Method::POST, "clusterroles", 403, "is not allowed to write the mirror"),
            ("prod", http::Method::PUT, "clusterrolebindings", 409, "other writers were faster"),
        ] {
            let fails = move |call: &Call| call.method == method && call.is_about(resource);
            let counted = fails.clone();
            proxy.forget();
            proxy.inject(move |call| fails(call).then_some(Fault::Refuse(code)));
            let queue = format!("root.{name}");
            grant(cluster, name, &queue, "submit: {users: [bob]}").await?;
            unfinished(cluster, why).await?;
            let tried = proxy.calls().iter().filter(|call| counted(call)).count();
            ensure!((1..=20).contains(&tried), "{tried} attempts");
            proxy.heal();
            may(cluster, ("bob", &[]), "submit", &queue, true).await?;
            config_is(cluster, is_true("Mirrored"), PATIENCE).await?;
        }
        may(cluster, ("alice", &[]), "submit", "root.prod", false).await
    })
    .await
}

/// Returns a `ClusterRole` with these rules and these other fields.
pub(crate) fn role(name: &str, rules: &Value, beside: &Value) -> Value {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules,
    });
    with(role, beside)
}

/// Returns an object with these additional or changed fields.
fn with(mut object: Value, fields: &Value) -> Value {
    if let (Some(object), Some(fields)) = (object.as_object_mut(), fields.as_object()) {
        object.extend(fields.clone());
    }
    object
}

/// Returns a binding of a `ClusterRole` to these subjects.
pub(crate) fn binding(name: &str, role: &str, subjects: &Value) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}, "subjects": subjects,
    })
}

/// Returns a rule without names.
fn rule(group: &str, resource: &str, verb: &str) -> Value {
    json!({"apiGroups": [group], "resources": [resource], "verbs": [verb]})
}

/// Returns a rule as the mirror writes them.
fn submit() -> Value {
    json!({"apiGroups": ["queuewarden.dev"], "resources": ["queues"], "resourceNames": ["root.prod"], "verbs": ["submit"]})
}

fn user(name: &str) -> Value {
    json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}])
}

/// Installs the policy and the objects that it checks, and waits until it is in force.
async fn guarded(cluster: &TestCluster) -> Result<()> {
    cluster.install().await?;
    cluster.apply_kustomization("manifests/authorizer").await?;
    cluster.apply_kustomization("manifests/rbac-mirror").await?;
    let us = format!("--as={}", operator::USER);
    eventually("the guard to stand", PATIENCE, || async {
        let refused = cluster.kubectl(&["delete", "clusterrole", "view", "--dry-run=server", &us]).await;
        Ok(refused.is_err_and(|error| error.to_string().contains("RBAC mirror")).then_some(()))
    })
    .await
}

/// Sends this request with queuewarden's account, and returns the reason of the refusal.
async fn refusal(cluster: &TestCluster, verb: &str, object: &Value) -> Result<String> {
    let us = format!("--as={}", operator::USER);
    match cluster.kubectl_with_input(&[verb, &us, "-f", "-"], &object.to_string()).await {
        Ok(_) => anyhow::bail!("{verb} was allowed: {object}"),
        Err(error) => Ok(format!("{error:#}")),
    }
}

#[tokio::test]
async fn mirror_permissions_allow_nothing_else() -> Result<()> {
    TestCluster::with(async |cluster| {
        guarded(cluster).await?;
        let us = format!("--as={}", operator::USER);
        let (ours, none) = ("queuewarden:mirror:test", json!({}));
        let (policy, rbac) = ("of its RBAC mirror", "not currently held");
        let held = rule("rbac.authorization.k8s.io", "clusterrolebindings", "create");
        let account = json!([{"kind": "ServiceAccount", "name": "default", "namespace": "default"}]);
        let selector = json!({"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"x": "y"}}]}});
        let of_another = binding(ours, "queuewarden:mirror:other", &user("mallory"));
        let other = role("queuewarden:mirror:other", &json!([submit()]), &none);
        cluster.kubectl_with_input(&["apply", "-f", "-"], &other.to_string()).await?;
        for (object, why) in [
            (role(ours, &json!([rule("", "secrets", "get")]), &none), rbac),
            (role(ours, &json!([rule("queuewarden.dev", "queues", "*")]), &none), rbac),
            (role(ours, &json!([rule("*", "queues", "submit")]), &none), rbac),
            (binding(ours, "cluster-admin", &user("mallory")), rbac),
            (role("mine", &json!([submit()]), &none), policy),
            (binding("mine", "queuewarden-rbac-mirror", &user("mallory")), policy),
            // queuewarden has all of these rights.
            (role(ours, &json!([held]), &none), policy),
            (role(ours, &json!([submit(), held]), &none), policy),
            (role(ours, &json!([rule("authentication.k8s.io", "tokenreviews", "create")]), &none), policy),
            (role(ours, &json!([rule("queuewarden.dev", "queues", "submit")]), &none), policy),
            (role(ours, &json!([rule("queuewarden.dev", "queueacls", "get")]), &none), policy),
            (
                role(ours, &json!([with(submit(), &json!({"resources": ["queues", "queueacls"]}))]), &none),
                rbac,
            ),
            (role(ours, &json!([with(submit(), &json!({"apiGroups": [""]}))]), &none), rbac),
            (role(ours, &json!([submit()]), &selector), "aggregation"),
            (of_another, policy),
            (binding(ours, "queuewarden:mirror:other", &account), policy),
        ] {
            let error = refusal(cluster, "create", &object).await?;
            ensure!(error.contains(why), "{object}: {error}");
        }
        cluster.kubectl(&["delete", "clusterrole", "queuewarden:mirror:other"]).await?;
        let (mine, given) = (role(ours, &json!([submit()]), &none), binding(ours, ours, &user("sue")));
        for object in [&mine, &given] {
            cluster.kubectl_with_input(&["create", &us, "-f", "-"], &object.to_string()).await?;
        }
        // Created correctly, then changed.
        for changed in [
            role(ours, &json!([submit(), held]), &none),
            role(ours, &json!([rule("queuewarden.dev", "queues", "submit")]), &none),
            binding(ours, ours, &account),
        ] {
            let error = refusal(cluster, "replace", &changed).await?;
            ensure!(error.contains(policy), "{changed}: {error}");
        }
        for object in [mine, binding(ours, ours, &json!([]))] {
            cluster.kubectl_with_input(&["replace", &us, "-f", "-"], &object.to_string()).await?;
        }
        for kind in ["clusterrolebinding", "clusterrole"] {
            cluster.kubectl(&["delete", kind, ours, &us]).await?;
            ensure!(cluster.kubectl(&["delete", kind, "cluster-admin", &us]).await.is_err(), "{kind}");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn mirror_permissions_cannot_be_granted_to_others() -> Result<()> {
    TestCluster::with(async |cluster| {
        guarded(cluster).await?;
        let roles = ListParams::default().labels("app.kubernetes.io/part-of=queuewarden");
        let roles = Api::<ClusterRole>::all(cluster.client()?).list(&roles).await?.items;
        let everyone =
            json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}]);
        let mut by_policy = Vec::new();
        for role in roles.iter().filter_map(|role| role.metadata.name.as_deref()) {
            for subjects in [&everyone, &user("mallory")] {
                let error = refusal(cluster, "create", &binding("queuewarden:mirror:x", role, subjects)).await?;
                // RBAC already refuses rights that it does not have itself.
                let policy = error.contains("of its RBAC mirror");
                ensure!(policy || error.contains("not currently held"), "{role}: {error}");
                by_policy.extend(policy.then_some(role));
            }
        }
        for held in ["queuewarden", "queuewarden-authorizer-tokens", "queuewarden-rbac-mirror"] {
            ensure!(by_policy.iter().filter(|role| **role == held).count() == 2, "{held}: {by_policy:?}");
        }
        Ok(())
    })
    .await
}

/// Its objects belong to the YuniKornConfig. When that is deleted, no one else could remove them.
#[tokio::test]
async fn mirror_is_deleted_with_the_configuration() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::ControllerManager, Capability::OperatorProcess])? {
            return Ok(());
        }
        let operator = mirroring(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        may(cluster, ("alice", &[]), "submit", "root.prod", true).await?;
        operator.kill().await?;
        cluster.start_controller_manager().await?;
        delete(cluster, "yunikornconfig", "default").await?;
        eventually("the mirror to be collected", LONG, || async {
            let (roles, bindings) = mirrored(cluster).await?;
            Ok((roles.is_empty() && bindings.is_empty()).then_some(()))
        })
        .await
    })
    .await
}

/// Returns a queue tree where every queue below the root has an ACL.
fn many(queues: usize) -> String {
    let queue = |number| format!("          - {{name: q{number:04}, submitacl: 'user{number:04} devs'}}\n");
    let queues: String = (0..queues).map(queue).collect();
    format!("partitions:\n  - name: default\n    queues:\n      - name: root\n        queues:\n{queues}")
}

/// Returns the time that the API server takes for a review about another resource: fastest, median.
async fn reviews(cluster: &TestCluster) -> Result<(Duration, Duration)> {
    let mut times = Vec::new();
    for number in 0..300 {
        let start = Instant::now();
        cluster.may(&format!("stranger{number}"), "get", "", "configmaps", Some(("default", "x"))).await?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let middle = times.get(times.len() / 2);
    Ok((*times.first().context("nothing was asked")?, *middle.context("nothing was asked")?))
}

#[tokio::test]
async fn mirror_holds_a_thousand_acls_and_reports_the_rest() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = mirroring(cluster).await?;
        let before = reviews(cluster).await?;
        // Another client's object conflicts with one of them, and with no other.
        let theirs = "queuewarden:mirror:submit:root.q0500";
        cluster.kubectl(&["create", "clusterrole", theirs, "--verb=get", "--resource=pods"]).await?;
        let start = Instant::now();
        cluster.set_base(&many(1000)).await?;
        let last = ("user0999", [].as_slice());
        eventually("the last one to be mirrored", LONG, || async {
            Ok(can_i(cluster, last, "submit", QUEUES, "root.q0999").await?.then_some(()))
        })
        .await?;
        unfinished(cluster, theirs).await?;
        let role = Api::<ClusterRole>::all(cluster.client()?).get(theirs).await?;
        ensure!(role.metadata.labels.is_none() && role.rules.is_some_and(|rules| rules.len() == 1));
        eprintln!("1000 ACLs were mirrored in {:?}", start.elapsed());
        cluster.kubectl(&["delete", "clusterrole", theirs]).await?;
        config_is(cluster, is_true("Mirrored"), LONG).await?;
        eprintln!(
            "a review takes (fastest, median) {before:?} without and {:?} with them",
            reviews(cluster).await?
        );
        let start = Instant::now();
        cluster.set_base(&many(1001)).await?;
        let full = config_is(cluster, is_false("Mirrored", "TooLarge"), LONG).await?;
        ensure!(full.message.contains("the submitacl of queue `root.q1000`"), "{}", full.message);
        let (roles, bindings) = mirrored(cluster).await?;
        ensure!((roles.len(), bindings.len()) == (1000, 1000));
        eprintln!("one ACL more was reported after {:?}", start.elapsed());
        let start = Instant::now();
        cluster.set_base(queuewarden_e2e::test_cluster::BASE).await?;
        may(cluster, last, "submit", "root.q0999", false).await?;
        config_is(cluster, is_true("Mirrored"), LONG).await?;
        eprintln!("1000 were removed in {:?}", start.elapsed());
        Ok(())
    })
    .await
}
