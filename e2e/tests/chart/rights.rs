//! Tests the permissions of the chart's `ServiceAccount`, and their limits.
//!
//! RBAC is additive, so the API server's list for the account is complete. The lists are in `rights/`, so an
//! additional permission is an additional line in a diff. The most harmful actions are tried as well.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::authorization::v1::{ResourceRule, SelfSubjectRulesReview, SelfSubjectRulesReviewSpec};
use kube::api::{Api, PostParams};
use queuewarden_e2e::helm::{CHART, Helm, RELEASE, Version};
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, TestCluster, eventually, kubeconfig, operator, own_tls};

use super::{NAMESPACE, clean, values};

/// The directory of expected permissions, which is written again when `UPDATE` is set.
const RIGHTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/chart/rights");
/// An account without any permissions.
const NOBODY: &str = "nobody";
/// A namespace that no role refers to: permissions here are permissions everywhere.
const ANYWHERE: &str = "queuewarden-e2e";
/// Namespaces where something is granted, or must not be.
const NAMESPACES: [&str; 4] = ["default", "kube-system", NAMESPACE, "yunikorn"];

#[tokio::test]
async fn default_permissions_are_limited() -> Result<()> {
    with_release("default", async |cluster, account| {
        listed(cluster, account, "default").await?;
        for (request, input) in ALLOWED {
            cluster
                .kubectl_as(account, request, input)
                .await
                .with_context(|| format!("refused: {request:?}"))?;
        }
        for (request, input) in REFUSED {
            refused(cluster, account, request, input).await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn permissions_with_all_endpoints_are_limited() -> Result<()> {
    with_release("https", async |cluster, account| {
        listed(cluster, account, "https").await?;
        listed(cluster, &cluster.sa_kubeconfig(NAMESPACE, own_tls::KEEPER).await?, "certificates").await?;
        // API servers apply a policy a moment after it is stored.
        let guarded = ["delete", "clusterrole", "cluster-admin", "--dry-run=server"];
        eventually("the mirror's guard", PATIENCE, || async {
            refused(cluster, account, &guarded, "").await.map(Some)
        })
        .await?;
        for (request, input) in REFUSED.iter().chain(REFUSED_BY_WEBHOOKS) {
            refused(cluster, account, request, input).await?;
        }
        for (request, input) in ALLOWED_BY_WEBHOOKS {
            cluster
                .kubectl_as(account, request, input)
                .await
                .with_context(|| format!("refused: {request:?}"))?;
        }
        Ok(())
    })
    .await
}

/// Runs a test on a release with these values, and a kubeconfig of its account.
async fn with_release(case: &str, test: impl AsyncFnOnce(&TestCluster, &Path) -> Result<()>) -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let helm = Helm::get(Version::Three).await?;
        clean(cluster).await?;
        let file = values(case);
        let install =
            ["install", RELEASE, CHART, "--take-ownership", "--namespace", NAMESPACE, "--values", &file];
        cluster.helm(&helm, &install).await?;
        cluster.remove_webhooks().await?;
        cluster.apply_text(OBJECTS, "somebody").await?;
        let account = cluster.sa_kubeconfig(NAMESPACE, operator::NAME).await?;
        test(cluster, &account).await?;
        clean(cluster).await
    })
    .await
}

/// Checks that the API server's own list matches the one in the file.
async fn listed(cluster: &TestCluster, account: &Path, case: &str) -> Result<()> {
    let account_args = ["create", "serviceaccount", NOBODY, "-n", ANYWHERE, "--dry-run=client", "-o", "json"];
    let nobody = cluster.kubectl(&account_args).await?;
    cluster.apply_text(&nobody, "queuewarden-e2e").await?;
    let nobody = cluster.sa_kubeconfig(ANYWHERE, NOBODY).await?;
    let everybodys = rules(&nobody, ANYWHERE).await?;
    let path = format!("{RIGHTS}/{case}.txt");
    // The authorizer learns of roles through its watches.
    eventually("the rights that the file lists", PATIENCE, || async {
        let anywhere: BTreeSet<String> = &rules(account, ANYWHERE).await? - &everybodys;
        let mut text = section("everywhere", &anywhere);
        for namespace in NAMESPACES {
            let here = &(&rules(account, namespace).await? - &everybodys) - &anywhere;
            text.push_str(&section(namespace, &here));
        }
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &text)?;
        }
        let golden = std::fs::read_to_string(&path)?;
        ensure!(golden == text, "{path}:\n{golden}\nthe API server lists:\n{text}");
        Ok(Some(()))
    })
    .await
}

fn section(name: &str, rules: &BTreeSet<String>) -> String {
    let lines: String = rules.iter().flat_map(|rule| ["  ", rule, "\n"]).collect();
    format!("{name}:\n{}", if lines.is_empty() { "  nothing\n".to_owned() } else { lines })
}

/// Returns the rights of a kubeconfig's account in a namespace, one per line.
async fn rules(account: &Path, namespace: &str) -> Result<BTreeSet<String>> {
    let client = kube::Client::try_from(kubeconfig::load(account).await?)?;
    let review = SelfSubjectRulesReview {
        spec: SelfSubjectRulesReviewSpec { namespace: Some(namespace.to_owned()) },
        ..SelfSubjectRulesReview::default()
    };
    let review = Api::<SelfSubjectRulesReview>::all(client).create(&PostParams::default(), &review).await?;
    let status = review.status.context("no answer")?;
    ensure!(!status.incomplete, "the API server does not know all: {:?}", status.evaluation_error);
    ensure!(status.resource_rules.len() < 200, "it may do too much to list");
    let resources = status.resource_rules.iter().flat_map(lines);
    let paths = status.non_resource_rules.iter().map(|rule| {
        format!("{} {}", rule.verbs.join(","), rule.non_resource_urls.clone().unwrap_or_default().join(","))
    });
    Ok(resources.chain(paths).collect())
}

/// `VERBS RESOURCE.GROUP NAMES`.
fn lines(rule: &ResourceRule) -> Vec<String> {
    let all = |list: &Option<Vec<String>>| list.clone().unwrap_or_default();
    let names = all(&rule.resource_names).join(",");
    let each = |group: &String| {
        all(&rule.resources)
            .into_iter()
            .map(|resource| {
                format!("{} {resource}.{group} {names}", rule.verbs.join(",")).trim_end().to_owned()
            })
            .collect::<Vec<_>>()
    };
    all(&rule.api_groups).iter().flat_map(each).collect()
}

async fn refused(cluster: &TestCluster, account: &Path, request: &[&str], input: &str) -> Result<()> {
    let said = match cluster.kubectl_as(account, request, input).await {
        Ok(said) => anyhow::bail!("it may {request:?}: {said}"),
        Err(error) => format!("{error:#}"),
    };
    // The request must be forbidden by RBAC or by the rule against privilege escalation, not fail because an
    // object is missing.
    ensure!(said.contains("(Forbidden)") || said.contains("forbidden:"), "{request:?}: {said}");
    ensure!(said.contains(operator::USER) || said.contains(GUARD), "{request:?}: {said}");
    Ok(())
}

/// The policy, in addition to the mirror's permissions.
const GUARD: &str = "queuewarden-rbac-mirror-policy";

type Requests = [(&'static [&'static str], &'static str)];

const ALLOWED: &Requests = &[
    (&["get", "configmap", "yunikorn-defaults", "-n", "yunikorn"], ""),
    (&["get", "configmaps", "-n", "yunikorn", "--field-selector=metadata.name=yunikorn-configs"], ""),
    (&["get", "queueacls,admissionpolicies,yunikornconfigs,queueaccesstests"], ""),
    (&["create", "configmap", "yunikorn-configs", "-n", "yunikorn", "--dry-run=server"], ""),
    (&["get", "controllerrevisions", "-n", "yunikorn"], ""),
    (&["create", "--dry-run=server", "-n", NAMESPACE, "-f", "-"], LEASE),
];
const LEASE: &str =
    r#"{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "queuewarden"}}"#;
const ACL: &str = r#"{"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl", "metadata": {"name": "own"},
    "spec": {"queue": "root", "submit": {"users": ["queuewarden"]}}}"#;

/// Objects that must not be changed.
const OBJECTS: &str = "
apiVersion: queuewarden.dev/v1alpha1
kind: QueueAcl
metadata: {name: devs}
spec: {queue: root.prod, submit: {groups: [devs]}}
---
apiVersion: queuewarden.dev/v1alpha1
kind: YuniKornConfig
metadata: {name: default}
spec: {mode: Observe}
";

/// Requests that are always refused. They may name objects that do not exist, because RBAC refuses them
/// before that is checked.
const REFUSED: &Requests = &[
    // YuniKorn's configuration, except for the output, and no other ConfigMap.
    (&["patch", "configmap", "yunikorn-defaults", "-n", "yunikorn", "-p", "{}"], ""),
    (&["delete", "configmap", "yunikorn-configs", "-n", "yunikorn"], ""),
    (&["delete", "configmaps", "--all", "-n", "yunikorn"], ""),
    (&["get", "configmaps", "-n", "yunikorn"], ""),
    (&["get", "configmap", "kube-root-ca.crt", "-n", "yunikorn"], ""),
    (&["get", "configmaps", "-A"], ""),
    // It may create ConfigMaps of any name there, for the last good base, because RBAC cannot restrict the
    // names of created objects.
    (&["patch", "configmap", "kube-root-ca.crt", "-n", NAMESPACE, "-p", "{}"], ""),
    (&["get", "configmaps", "-n", NAMESPACE], ""),
    (&["create", "configmap", "own", "-n", "default"], ""),
    // It grants nothing by itself.
    (&["create", "-f", "-"], ACL),
    (&["patch", "queueacl", "devs", "--type=merge", "-p", r#"{"spec":{"queue":"root"}}"#], ""),
    (&["delete", "queueacls", "--all"], ""),
    (&["patch", "yunikornconfig", "default", "--type=merge", "-p", r#"{"spec":{"mode":"Enforce"}}"#], ""),
    (&["delete", "yunikornconfig", "default"], ""),
    // The history of others.
    (&["get", "controllerrevisions", "-A"], ""),
    (&["delete", "controllerrevisions", "--all", "-n", NAMESPACE], ""),
    // Secrets, and its own identity.
    (&["get", "secrets", "-A"], ""),
    (&["get", "secrets", "-n", NAMESPACE], ""),
    (&["get", "secret", "admission-controller-secrets", "-n", "yunikorn"], ""),
    (&["create", "token", "queuewarden", "-n", NAMESPACE], ""),
    (&["create", "token", "default", "-n", "kube-system"], ""),
    (&["get", "queueacls", "--as=system:kube-controller-manager"], ""),
    // Rights.
    (&["create", "role", "own", "--verb=get", "--resource=secrets", "-n", NAMESPACE], ""),
    (&["patch", "role", "queuewarden", "-n", "yunikorn", "-p", "{}"], ""),
    (&["create", "rolebinding", "own", "--clusterrole=admin", "--user=queuewarden", "-n", NAMESPACE], ""),
    (&["create", "clusterrole", "own", "--verb=get", "--resource=secrets"], ""),
    (&["create", "clusterrolebinding", "own", "--clusterrole=cluster-admin", "--user=queuewarden"], ""),
    // The cluster.
    (&["get", "nodes"], ""),
    (&["delete", "pod", "own", "-n", "yunikorn"], ""),
    (&["create", "deployment", "own", "--image=own", "-n", NAMESPACE], ""),
    (&["patch", "deployment", "queuewarden", "-n", NAMESPACE, "-p", "{}"], ""),
    (&["delete", "namespace", "yunikorn"], ""),
    (&["delete", "crd", "queueacls.queuewarden.dev"], ""),
    (&["delete", "validatingwebhookconfiguration", "queuewarden"], ""),
    (
        &["patch", "validatingwebhookconfiguration", "yunikorn-admission-controller-validations", "-p", "{}"],
        "",
    ),
    (&["delete", "lease", "queuewarden", "-n", NAMESPACE], ""),
    (&["get", "lease", "kube-scheduler", "-n", "kube-system"], ""),
];

const USER_INFO: &str =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/zz-queuewarden-user-info";

const ALLOWED_BY_WEBHOOKS: &Requests = &[
    (&["get", "secret", "queuewarden-tls", "-n", NAMESPACE], ""),
    (&["get", "pods", "-A"], ""),
    (&["get", "namespace", "yunikorn"], ""),
];

const REFUSED_BY_WEBHOOKS: &Requests = &[
    (&["delete", "secret", "queuewarden-tls", "-n", NAMESPACE], ""),
    (&["patch", "secret", "queuewarden-tls", "-n", NAMESPACE, "-p", "{}"], ""),
    (&["create", "secret", "generic", "own", "-n", NAMESPACE], ""),
    (&["create", "token", "queuewarden-certificates", "-n", NAMESPACE], ""),
    (&["get", "secret", "sh.helm.release.v1.queuewarden.v1", "-n", NAMESPACE], ""),
    (&["delete", "apiservice", "v1alpha1.access.queuewarden.dev"], ""),
    (&["patch", "apiservice", "v1.apps", "-p", "{}"], ""),
    (&["patch", "apiservice", "v1alpha1.access.queuewarden.dev", "-p", "{}"], ""),
    // The account may read this object, so `kubectl patch` would get as far as reporting that it does not
    // exist.
    (&["replace", "--raw", USER_INFO, "-f", "-"], "{}"),
    (&["patch", "validatingwebhookconfiguration", "queuewarden", "-p", "{}"], ""),
    (&["delete", "mutatingwebhookconfiguration", "yunikorn-admission-controller-mutations"], ""),
    (&["delete", "mutatingwebhookconfiguration", "zz-queuewarden-user-info"], ""),
    // The mirror's permissions do not include the policy that limits it, or roles of others.
    (&["delete", "validatingadmissionpolicybinding", "queuewarden-rbac-mirror-policy"], ""),
    (&["delete", "clusterrolebinding", "cluster-admin", "--dry-run=server"], ""),
    (&["logs", "own", "-n", "yunikorn"], ""),
    (&["get", "namespaces"], ""),
];
