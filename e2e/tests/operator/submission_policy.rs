//! Tests the policy that needs no webhook: workloads that the RBAC mirror denies are reported, or refused,
//! when they are applied.

use anyhow::{Result, ensure};
use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy;
use kube::Api;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, TestCluster, eventually, test_cluster::NAMESPACE};

use super::mirror::{may, mirroring};
use super::{config_is, configure, grant};

/// Returns a workload of a kind that names a queue.
fn workload(kind: &str, name: &str, labels: &str) -> String {
    let pod = "{restartPolicy: Never, schedulerName: yunikorn, containers: [{name: x, image: pause}]}";
    let template = format!("{{metadata: {{labels: {{app: x, {labels}}}}}, spec: {pod}}}");
    let template =
        if kind == "Job" || kind == "CronJob" { template } else { template.replace("Never", "Always") };
    let selector = "selector: {matchLabels: {app: x}}";
    let (version, spec) = match kind {
        "Pod" => {
            let metadata = format!("{{name: {name}, labels: {{{labels}}}}}");
            return format!("apiVersion: v1\nkind: Pod\nmetadata: {metadata}\nspec: {pod}\n");
        }
        "Job" => ("batch/v1", format!("{{template: {template}}}")),
        "CronJob" => (
            "batch/v1",
            format!("{{schedule: '0 0 1 1 *', jobTemplate: {{spec: {{template: {template}}}}}}}"),
        ),
        "StatefulSet" => ("apps/v1", format!("{{serviceName: x, {selector}, template: {template}}}")),
        _ => ("apps/v1", format!("{{{selector}, template: {template}}}")),
    };
    format!("apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {spec}\n")
}

/// Returns the API server's response to this request, which is not stored. A warning is treated as an error.
async fn says(cluster: &TestCluster, who: &[&str], namespace: &str, input: &str) -> Result<(), String> {
    let args = ["create", "--dry-run=server", "--warnings-as-errors", "-n", namespace, "-f", "-"];
    let done = cluster.kubectl_with_input(&[&args, who].concat(), input).await;
    done.map(drop).map_err(|error| format!("{error:#}"))
}

/// Waits until the policy is in force, which is when alice gets the answer `wanted`.
async fn in_force(cluster: &TestCluster, wanted: &str) -> Result<()> {
    let pod = workload("Pod", "probe", "queue: root.dev");
    eventually("the policy to be in force", PATIENCE, || async {
        let said = says(cluster, &["--as=alice"], NAMESPACE, &pod).await;
        Ok(said.is_err_and(|said| said.contains(wanted)).then_some(()))
    })
    .await
}

const KINDS: [&str; 7] = ["Pod", "Job", "CronJob", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"];
const NO: &str = "user alice may not submit to queue root.dev";

#[tokio::test]
async fn workload_for_a_forbidden_queue_is_refused_on_apply() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = mirroring(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        grant(cluster, "team", "root.team", "submit: {groups: [devs]}").await?;
        may(cluster, ("alice", &[]), "submit", "root.prod", true).await?;
        may(cluster, ("bob", &["devs"]), "submit", "root.team", true).await?;
        cluster.apply_kustomization("manifests/submission-policy-deny").await?;
        in_force(cluster, NO).await?;
        let (alice, bob): (&[&str], &[&str]) = (&["--as=alice"], &["--as=bob", "--as-group=devs"]);
        for kind in KINDS {
            for (who, labels, refused) in [
                (alice, "queue: root.prod", false),
                (alice, "queue: root.dev", true),
                (alice, "queue: Root.Dev", false), // Not in full: YuniKorn looks for `root.` as it stands here.
                (alice, "queue: root.PROD", false),
                (alice, "yunikorn.apache.org/queue: root.dev, queue: root.prod", true),
                (alice, "yunikorn.apache.org/queue: root.prod, queue: root.dev", false),
                (alice, "queue: dev", false),
                (alice, "app: x", false),
                (bob, "queue: root.team", false),
                (bob, "queue: root.team.batch", false),
                (bob, "queue: root.team.batch.new.and.deeper", false),
                (bob, "queue: root.team.b.c.d.e.f.g.h.i", false),
                (bob, "queue: root.dev.b.c.d.e.f.g.h.i", true),
                (bob, "queue: root.dev.b.c.d.e.f.g.h.i.j", false), // Too deep to be decided here.
                (bob, "queue: root.teams", true),
                (bob, "queue: root.prod", true),
                (&["--as=1bob", "--as-group=devs"], "queue: root.team", true),
                (&["--as=system:serviceaccount:default:spark"], "queue: root.dev", false),
                (&[], "queue: root.dev", false),
            ] {
                let labels = if kind == "Pod" { labels.to_owned() } else { labels.replace("app: x", "b: x") };
                let said = says(cluster, who, NAMESPACE, &workload(kind, "x", &labels)).await;
                ensure!(said.is_err() == refused, "{kind} {who:?} {labels}: {said:?}");
            }
        }
        let annotated = |value: &str| {
            workload("Pod", "x", "queue: root.dev").replace(
                "labels:",
                &format!("annotations: {{yunikorn.apache.org/user.info: '{value}'}}, labels:"),
            )
        };
        let own = annotated(r#"{"user":"alice","groups":["system:authenticated"]}"#);
        ensure!(says(cluster, alice, NAMESPACE, &own).await.is_err_and(|said| said.contains(NO)));
        let other = annotated(r#"{"user":"carol","groups":[]}"#);
        ensure!(
            says(cluster, alice, NAMESPACE, &other).await == Ok(()),
            "who submits for others is not decided here"
        );
        let by_annotation = workload("Pod", "x", "queue: root.prod")
            .replace("labels:", "annotations: {yunikorn.apache.org/queue: root.dev}, labels:");
        ensure!(says(cluster, alice, NAMESPACE, &by_annotation).await.is_err_and(|said| said.contains(NO)));
        let pod = workload("Pod", "x", "queue: root.dev");
        for namespace in ["kube-system", "yunikorn", "queuewarden-system"] {
            let said = says(cluster, alice, namespace, &pod).await;
            ensure!(!said.as_ref().is_err_and(|said| said.contains(NO)), "{namespace}: {said:?}");
        }
        updates(cluster).await
    })
    .await
}

/// Checks that only changes of the queue are checked.
async fn updates(cluster: &TestCluster) -> Result<()> {
    cluster
        .kubectl_with_input(
            &["create", "-n", NAMESPACE, "-f", "-"],
            &workload("Deployment", "old", "queue: root.dev"),
        )
        .await?;
    let patch = |patch: &str| {
        let patch = format!("--patch={patch}");
        async move {
            let args = ["patch", "deployment", "old", "-n", NAMESPACE, "--as=alice", "--type=merge", &patch];
            cluster.kubectl(&args).await
        }
    };
    patch(r#"{"spec":{"replicas":0}}"#).await?;
    patch(r#"{"spec":{"template":{"metadata":{"labels":{"queue":"root.prod"}}}}}"#).await?;
    let refused = patch(r#"{"spec":{"template":{"metadata":{"labels":{"queue":"root.dev"}}}}}"#).await;
    ensure!(refused.as_ref().is_err_and(|error| format!("{error:#}").contains(NO)), "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn submission_policy_warns_and_is_silent_without_the_mirror() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = mirroring(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        may(cluster, ("alice", &[]), "submit", "root.prod", true).await?;
        cluster.apply_kustomization("manifests/submission-policy").await?;
        in_force(cluster, NO).await?;
        for kind in KINDS {
            let workload = workload(kind, "x", "queue: root.dev");
            let said = says(cluster, &["--as=alice"], NAMESPACE, &workload).await;
            ensure!(said.as_ref().is_err_and(|said| said.contains(NO)), "{kind}: {said:?}");
            let args = ["create", "--dry-run=server", "-n", NAMESPACE, "--as=alice", "-f", "-"];
            cluster.kubectl_with_input(&args, &workload).await?;
        }
        configure(cluster, "  rbacMirror: Disabled\n").await?;
        config_is(cluster, queuewarden_e2e::conditions::is_true("Ready"), PATIENCE).await?;
        let pod = workload("Pod", "x", "queue: root.dev");
        eventually("it to fall silent", PATIENCE, || async {
            Ok(says(cluster, &["--as=alice"], NAMESPACE, &pod).await.is_ok().then_some(()))
        })
        .await
    })
    .await
}

/// kube-controller-manager type-checks the expressions for each kind, and records invalid ones.
#[tokio::test]
async fn policy_expressions_pass_the_type_check() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::ControllerManager])? {
            return Ok(());
        }
        cluster.install().await?;
        for path in ["manifests/rbac-mirror", "manifests/submission-policy"] {
            cluster.apply_kustomization(path).await?;
        }
        cluster.start_controller_manager().await?;
        let policies: Api<ValidatingAdmissionPolicy> = Api::all(cluster.client()?);
        for name in ["queuewarden-submission", "queuewarden-rbac-mirror-policy"] {
            let checked = eventually("the expressions to be checked", PATIENCE, || async {
                let policy = policies.get(name).await?;
                let status = policy.status.unwrap_or_default();
                let done = status.observed_generation == policy.metadata.generation;
                Ok(status.type_checking.filter(|_| done))
            })
            .await?;
            let warnings = checked.expression_warnings.unwrap_or_default();
            ensure!(warnings.is_empty(), "{name}: {warnings:?}");
        }
        Ok(())
    })
    .await
}
