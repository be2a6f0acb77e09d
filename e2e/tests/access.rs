//! Tests the served resources `access.queuewarden.dev` through a real API server, with and without the real
//! kubectl.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::assets::Servers;
use queuewarden_e2e::conditions::{is_false, is_true};
use queuewarden_e2e::endpoints::Endpoints;
use queuewarden_e2e::front_proxy::Authority;
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{Capability, Kind, Operator, TestCluster, eventually};

use tokio::io::AsyncWriteExt as _;

use crate::cli::{Ended, ask};
use crate::operator::{acl, config_is, open_base, refresh_no_more};

/// A namespace that is deleted.
const PASSING: &str = "queuewarden-e2e-passing";
const QUEUES: &str = "/apis/access.queuewarden.dev/v1alpha1/queues";

/// Runs kubectl as administrator, and returns all its output.
async fn kubectl(cluster: &TestCluster, command: &str, input: &str) -> Result<Ended> {
    let kubectl = tokio::task::spawn_blocking(|| Servers::get().map(|servers| servers.kubectl())).await??;
    let cache = tempfile::tempdir()?;
    let mut child = tokio::process::Command::new(kubectl)
        .args(command.split_whitespace())
        .env("KUBECONFIG", cluster.kubeconfig())
        .env("KUBECACHEDIR", cache.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut stdin = child.stdin.take().context("kubectl has no input")?;
    stdin.write_all(input.as_bytes()).await?;
    drop(stdin);
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await??;
    Ended::of(output)
}

/// Returns an operator with these grants in force that serves its endpoints behind the API server.
async fn serving(cluster: &TestCluster) -> Result<(Operator<'_>, Endpoints)> {
    cluster.install().await?;
    let url = cluster.scheduler_url();
    let objects = format!(
        "apiVersion: queuewarden.dev/v1alpha1\nkind: YuniKornConfig\nmetadata: {{name: default}}\nspec: {{schedulerUrl: '{url}'}}\n---\n\
         apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {{name: root}}\nspec: {{queue: root, admin: {{groups: [ops]}}}}\n---\n\
         apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {{name: prod}}\nspec: {{queue: root.prod, submit: {{users: [sue], groups: [devs]}}}}\n---\n\
         apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {{name: team}}\nspec: {{queue: root.team, submit: {{everyone: true}}, admin: {{users: [lead]}}}}\n"
    );
    cluster.kubectl_with_input(&["apply", "-f", "-"], &objects).await?;
    let (operator, endpoints) = Operator::start_serving(cluster, &[]).await?;
    for name in ["root", "prod", "team"] {
        cluster.wait_for(Kind::QueueAcl, name, is_true("Ready"), PATIENCE).await?;
    }
    cluster.serve_access(&endpoints).await?;
    Ok((operator, endpoints))
}

async fn on_a_cluster(
    test: impl AsyncFnOnce(&TestCluster, Operator<'_>, Endpoints) -> Result<()>,
) -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess, Capability::ApiServerProcess])? {
            return Ok(());
        }
        let (operator, endpoints) = serving(cluster).await?;
        test(cluster, operator, endpoints).await
    })
    .await
}

const TABLE: &str = "\
QUEUE             SUBMIT                                            ADMIN                                     LEAF    DYNAMIC
root              group ops (admin)                                 group ops                                 false   false
root.prod         user sue, group devs, group ops (admin of root)   group ops (root)                          true    false
root.dev          group ops (admin of root)                         group ops (root)                          true    false
root.team         everyone                                          user lead, group ops (root)               false   false
root.team.batch   everyone (root.team)                              user lead (root.team), group ops (root)   true    false
root.team.adhoc   everyone (root.team)                              user lead (root.team), group ops (root)   true    false
";

#[tokio::test]
async fn kubectl_reads_queues() -> Result<()> {
    on_a_cluster(async |cluster, _operator, _endpoints| {
        let listed = kubectl(cluster, "get queues.access.queuewarden.dev", "").await?;
        ensure!(listed.code == Some(0) && listed.out == TABLE && listed.err.is_empty(), "{listed}");
        for (arguments, part) in [
            ("get queues.access.queuewarden.dev root.prod --no-headers", "root.prod   user sue, group devs"),
            ("get queue.access.queuewarden.dev -o name --field-selector status.leaf=false", "queue.access.queuewarden.dev/root\nqueue.access.queuewarden.dev/root.team\n"),
            ("get queues.access.queuewarden.dev -o wide --field-selector metadata.name=root.prod", "QueueAcl/prod, QueueAcl/root"),
            ("get queues.v1alpha1.access.queuewarden.dev root.team -o jsonpath={.status.submit.subjects[0].grants[0].origins[0].name}", "team"),
            ("explain queues.access.queuewarden.dev.status.submit", "The queue's own ACL as written"),
            ("explain queues.access.queuewarden.dev.status.admin --output plaintext-openapiv2", "Everyone who has the right"),
            ("explain queueaccessreviews.spec", "The user's groups. If none are listed, YuniKorn resolves them."),
            ("api-resources --api-group=access.queuewarden.dev --no-headers -o name", "queueaccessreviews.access.queuewarden.dev\nqueues.access.queuewarden.dev\nselfqueueaccessreviews.access.queuewarden.dev\n"),
        ] {
            let ended = kubectl(cluster, arguments, "").await?;
            ensure!(ended.code == Some(0) && ended.out.contains(part), "{arguments}: {ended}");
        }
        for (arguments, part) in [
            ("get queues.access.queuewarden.dev root.prd", "queues.access.queuewarden.dev \"root.prd\" not found"),
            ("get queues.access.queuewarden.dev -l a=b", "queues have no labels"),
            ("get queues.access.queuewarden.dev --field-selector status.lef=true", "did you mean `status.leaf`?"),
            ("get queues.access.queuewarden.dev -w", "queues cannot be watched"),
            ("delete queues.access.queuewarden.dev root.prod", "does not allow this method"),
            ("get queues.access.queuewarden.dev --as eve", "queues.access.queuewarden.dev is forbidden: User \"eve\" cannot list"),
        ] {
            let ended = kubectl(cluster, arguments, "").await?;
            ensure!(ended.code == Some(1) && ended.err.contains(part), "{arguments}: {ended}");
        }
        Ok(())
    })
    .await
}

/// Users who may read nothing can check their own access with the same command.
#[tokio::test]
async fn user_without_permissions_checks_own_access() -> Result<()> {
    on_a_cluster(async |cluster, _operator, _endpoints| {
        for (user, groups, queue, code) in [
            ("sue", ["people", "staff"], "root.prod", 0),
            ("eve", ["people", "devs"], "root.prod", 0),
            ("kim", ["people", "staff"], "root.prod", 1),
        ] {
            let kubeconfig = cluster.certified(user, groups)?;
            let ended = ask(&kubeconfig, &format!("can-i submit {queue}")).await?;
            ensure!(ended.code == Some(code), "{user}: {ended}");
            ensure!(ended.err.contains("answered by queuewarden in the cluster"), "{user}: {ended}");
            ask(&kubeconfig, &format!("can-i submit {queue} -q")).await?.expect(code, "")?;
            // A question about another user needs the ACLs.
            let ended = ask(&kubeconfig, "can-i submit root.prod --as sue").await?;
            ensure!(ended.code == Some(3) && ended.err.contains("queuewarden-viewer"), "{user}: {ended}");
        }
        Ok(())
    })
    .await
}

/// A queue that a placement rule has created is shown as long as it exists.
#[tokio::test]
async fn dynamic_queues_are_shown() -> Result<()> {
    on_a_cluster(async |cluster, _operator, _endpoints| {
        cluster
            .set_base(&queuewarden_e2e::test_cluster::BASE.replace("create: false", "create: true"))
            .await?;
        let list = "get queues.access.queuewarden.dev --field-selector status.dynamic=true --no-headers";
        eventually("a dynamic queue", PATIENCE, || async {
            ensure!(cluster.submit("sue", &["x"], "root.team.new").await?.is_allowed());
            let listed = kubectl(cluster, list, "").await?;
            ensure!(listed.code == Some(0), "{listed}");
            Ok(listed.out.starts_with("root.team.new   everyone (root.team)   ").then_some(()))
        })
        .await
    })
    .await
}

/// Endpoints and statuses follow the configuration that the scheduler enforces, not the text that was written
/// for it.
#[tokio::test]
async fn text_refused_by_the_scheduler_is_not_reported() -> Result<()> {
    on_a_cluster(async |cluster, _operator, _endpoints| {
        cluster.set_base(&open_base()).await?;
        config_is(cluster, is_true("FailOpen"), PATIENCE).await?;
        let shown = async |part: &str| {
            eventually("the endpoints to say who may submit", PATIENCE, || async {
                let listed =
                    kubectl(cluster, "get queues.access.queuewarden.dev root.dev --no-headers", "").await?;
                ensure!(listed.code == Some(0) && listed.out.contains(part), "{listed}");
                Ok(Some(()))
            })
            .await
        };
        shown("everyone (root)").await?;
        refresh_no_more(cluster).await?;
        let closed = acl("closed", "root", "submit: {groups: [platform]}");
        cluster.kubectl_with_input(&["apply", "-f", "-"], &closed).await?;
        config_is(cluster, is_false("Loaded", "HotRefreshDisabled"), PATIENCE).await?;
        ensure!(cluster.submit("eve", &["x"], "root.dev").await?.is_allowed());
        shown("everyone (root)").await?;
        let open = config_is(cluster, is_true("FailOpen"), PATIENCE).await?;
        ensure!(open.message.contains("the scheduler does not run it"), "{}", open.message);

        cluster.scheduler()?.kill()?;
        cluster.start_scheduler().await?;
        cluster.wait_for(Kind::QueueAcl, "closed", is_true("Ready"), PATIENCE).await?;
        ensure!(cluster.submit("eve", &["x"], "root.dev").await?.is_rejected());
        shown("group platform (root)").await?;
        config_is(cluster, is_false("FailOpen", "Closed"), PATIENCE).await?;
        Ok(())
    })
    .await
}

fn review(kind: &str, spec: &str) -> String {
    format!("apiVersion: access.queuewarden.dev/v1alpha1\nkind: {kind}\nspec: {spec}\n")
}

/// Lets this group read queues.
fn readers(group: &str) -> String {
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{name: e2e-readers}}\n\
         roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: queuewarden-access-viewer}}\n\
         subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: Group, name: {group}}}]\n"
    )
}

#[tokio::test]
async fn kubectl_explains_decisions() -> Result<()> {
    on_a_cluster(async |cluster, _operator, _endpoints| {
        let own = review("SelfQueueAccessReview", "{verb: submit, queue: root.prod}");
        cluster.kubectl_with_input(&["apply", "-f", "-"], &readers("readers")).await?;
        eventually("the role", PATIENCE, || async {
            let listed =
                kubectl(cluster, "get queues.access.queuewarden.dev --as eve --as-group readers", "").await?;
            Ok((listed.code == Some(0)).then_some(()))
        })
        .await?;
        for (who, allowed, parts) in [
            (
                "--as sue --as-group readers",
                true,
                ["reason: user sue may submit to root.prod (QueueAcl/prod)", "name: sue"],
            ),
            (
                "--as bob --as-group devs --as-group readers",
                true,
                ["reason: group devs may submit", "kind: Group"],
            ),
            (
                "--as Sue --as-group readers",
                false,
                ["message: it names the user `sue`; names are case-sensitive", "kind: Grant"],
            ),
            ("--as eve --as-group readers", false, ["text: sue devs", "name: prod"]),
            ("--as eve --as-group ops", true, ["(QueueAcl/root)", "text: sue devs"]),
            ("--as sue", true, ["reason: user sue may submit to `root.prod`", "name: sue"]),
            ("--as eve --as-group qa", false, ["user: eve", "ask an administrator of the cluster"]),
        ] {
            let ended = kubectl(cluster, &format!("create -f - -o yaml {who}"), &own).await?;
            let stands = format!("  allowed: {allowed}\n");
            let all = ended.out.contains(&stands) && parts.iter().all(|part| ended.out.contains(part));
            ensure!(ended.code == Some(0) && ended.err.is_empty() && all, "{who}: {ended}");
        }
        let own_by_name = review("QueueAccessReview", "{user: eve, verb: submit, queue: root.prod}");
        for question in [&own, &own_by_name] {
            let ended = kubectl(cluster, "create -f - -o yaml --as eve --as-group qa", question).await?;
            let named = ["sue", "devs", "ops", "QueueAcl", "name: prod", "trace", "remedies"];
            let reported = named.iter().find(|name| ended.out.contains(**name));
            ensure!(ended.code == Some(0) && reported.is_none(), "{reported:?}: {ended}");
            let absent = question.replace("prod", "none");
            let other = kubectl(cluster, "create -f - -o yaml --as eve --as-group qa", &absent).await?;
            ensure!(other.out == ended.out.replace("prod", "none"), "{other}\n{ended}");
        }
        cluster.kubectl_with_input(&["delete", "-f", "-"], &readers("readers")).await?;
        let about = |user: &str, queue: &str| {
            review(
                "QueueAccessReview",
                &format!("{{user: {user}, groups: [qa], verb: administer, queue: {queue}}}"),
            )
        };
        for (who, user, queue, reported) in [
            ("--as lead", "bob", "root.team.batch", "allowed: false"),
            ("--as lead", "bob", "root.prod", "cannot create resource \"subjectaccessreviews\""),
            (
                "--as ann --as-group ops",
                "lead",
                "root.team",
                "reason: user lead may administer root.team (QueueAcl/team)",
            ),
            ("--as eve --as-group qa", "eve", "root.prod", "allowed: false"),
            ("--as eve", "lead", "root.team", "only administrators of the queue"),
            ("", "lead", "root.team.new", "`root.team.new` is not configured, so root.team decides"),
        ] {
            let ended = kubectl(cluster, &format!("create -f - -o yaml {who}"), &about(user, queue)).await?;
            ensure!(
                format!("{}{}", ended.out, ended.err).contains(reported),
                "{who} {user} {queue}: {ended}"
            );
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn mistakes_in_reviews_are_reported() -> Result<()> {
    on_a_cluster(async |cluster, _operator, _endpoints| {
        let create = |spec: &'static str, flags: &'static str| async move {
            let review = review("SelfQueueAccessReview", spec);
            kubectl(cluster, &format!("create -f - -o yaml {flags}"), &review).await
        };
        for (spec, flags, part) in [
            ("{verb: sumbit, queue: root.prod}", "", "did you mean `submit`?"),
            ("{verb: submit, queue: root.prod, user: admin}", "", "strict decoding error: unknown field \"spec.user\""),
            ("{verb: submit, queue: [root]}", "--validate=false", "spec cannot be read at queue"),
            ("{verb: submit}", "", "spec.queue must be the full path of a queue"),
        ] {
            let ended = create(spec, flags).await?;
            ensure!(ended.code == Some(1) && ended.err.contains(part), "{spec}: {ended}");
        }
        let warned = create("{verb: use, queue: root.prod, quue: x}", "--validate=warn").await?;
        ensure!(warned.code == Some(0) && warned.err.contains("Warning: unknown field \"spec.quue\""), "{warned}");
        let dry = create("{verb: submit, queue: root.prod}", "--dry-run=server").await?;
        ensure!(dry.code == Some(0) && dry.out.contains("allowed: "), "{dry}");
        // A raw body is sent in chunks.
        let body = r#"{"apiVersion":"access.queuewarden.dev/v1alpha1","kind":"SelfQueueAccessReview","spec":{"verb":"submit","queue":"root.team"}}"#;
        let raw = kubectl(cluster, "create --raw /apis/access.queuewarden.dev/v1alpha1/selfqueueaccessreviews -f -", body);
        let raw = raw.await?;
        ensure!(raw.code == Some(0) && raw.out.contains("\"allowed\":true"), "{raw}");
        let strict = "create --raw /apis/access.queuewarden.dev/v1alpha1/selfqueueaccessreviews?fieldValidation=Strict -f -";
        let strict = kubectl(cluster, strict, &body.replace("\"verb\"", "\"user\":\"admin\",\"verb\"")).await?;
        ensure!(
            strict.code == Some(1)
                && strict.err.contains("strict decoding error: unknown field \"spec.user\""),
            "{strict}"
        );
        let long = format!("{}{}", body, " ".repeat(70_000));
        let long = kubectl(cluster, "create --raw /apis/access.queuewarden.dev/v1alpha1/selfqueueaccessreviews -f -", &long);
        let long = long.await?;
        ensure!(long.code == Some(1) && long.err.contains("the limit is 65536 bytes"), "{long}");
        Ok(())
    })
    .await
}

/// The resource is known, so kubectl guesses nothing. The answer comes from elsewhere: here from a role.
#[tokio::test]
async fn can_i_knows_the_resource() -> Result<()> {
    on_a_cluster(async |cluster, _operator, _endpoints| {
        let ask = "auth can-i submit queues.access.queuewarden.dev/root.prod -A --as sue";
        let ended = kubectl(cluster, ask, "").await?;
        ensure!(ended.out.starts_with("no") && ended.err.is_empty(), "{ended}");
        let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: e2e-submit}\n\
                    rules: [{apiGroups: [access.queuewarden.dev], resources: [queues], resourceNames: [root.prod], verbs: [submit]}]\n---\n\
                    apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: e2e-submit}\n\
                    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: e2e-submit}\n\
                    subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: sue}]\n";
        cluster.kubectl_with_input(&["apply", "-f", "-"], role).await?;
        let answer = eventually("the role", PATIENCE, || async {
            let ended = kubectl(cluster, ask, "").await?;
            Ok((ended.out == "yes\n").then_some(ended))
        })
        .await;
        cluster.kubectl_with_input(&["delete", "-f", "-"], role).await?;
        let answer = answer?;
        ensure!(answer.err.is_empty(), "{answer}");
        Ok(())
    })
    .await
}

/// Clients that do not use queues do not notice that the resource is not served.
#[tokio::test]
async fn cluster_works_without_the_endpoints() -> Result<()> {
    on_a_cluster(async |cluster, operator, endpoints| {
        cluster.start_controller_manager().await?;
        cluster.create_namespace(PASSING).await?;
        operator.kill().await?;
        eventually("the API server to notice", LONG, || async {
            Ok((!cluster.access_is_served().await?).then_some(()))
        })
        .await?;
        for command in ["get pods -A", "get queueacls", "get configmaps -n yunikorn", "auth can-i list pods"]
        {
            let ended = kubectl(cluster, command, "").await?;
            ensure!(ended.code == Some(0), "{command}: {ended}");
        }
        ensure!(cluster.submit("sue", &["x"], "root.prod").await?.is_allowed());
        let ended = kubectl(cluster, "get --raw /apis/access.queuewarden.dev/v1alpha1/queues", "").await?;
        ensure!(
            ended.code == Some(1) && ended.err.contains("currently unable to handle the request"),
            "{ended}"
        );
        // A namespace is not removed until the API server can discover everything that may be in it.
        cluster.kubectl(&["delete", "namespace", PASSING, "--wait=false"]).await?;
        let unknown = "--for=condition=NamespaceDeletionDiscoveryFailure=True";
        cluster.kubectl(&["wait", unknown, "namespace", PASSING, "--timeout=60s"]).await?;
        drop((operator, endpoints));
        let (_operator, endpoints) = Operator::start_serving(cluster, &[]).await?;
        cluster.serve_access(&endpoints).await?;
        let listed = kubectl(cluster, "get queues.access.queuewarden.dev", "").await?;
        ensure!(listed.out == TABLE, "{listed}");
        cluster.kubectl(&["wait", "--for=delete", "namespace", PASSING, "--timeout=60s"]).await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn callers_without_trusted_certificate_are_refused() -> Result<()> {
    on_a_cluster(async |cluster, _operator, endpoints| {
        let as_admin = |client: &reqwest::Client| {
            let request = client.get(endpoints.url(QUEUES)).header("X-Remote-User", "admin");
            request.header("X-Remote-Group", "system:masters").send()
        };
        let own = cluster.front_proxy()?;
        let mut strangers = vec![
            endpoints.client()?,
            endpoints.client_with(&Authority::new()?.client("front-proxy-client")?)?,
        ];
        for (number, stranger) in strangers.drain(..).enumerate() {
            let answer = as_admin(&stranger).await?;
            ensure!(answer.status() == 401, "{number}: {answer:?}");
        }
        let api_server = endpoints.client_with(&own)?;
        let answer = as_admin(&api_server).await?;
        ensure!(answer.status() == 200, "{answer:?}");
        // Without a name in the headers, the certificate alone identifies no user.
        let answer = api_server.get(endpoints.url(QUEUES)).send().await?;
        ensure!(answer.status() == 401, "{answer:?}");
        Ok(())
    })
    .await
}
