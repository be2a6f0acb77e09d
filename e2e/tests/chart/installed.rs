//! Tests the chart in a real API server: with Helm, and with Pod Security enforced.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::ByteString;
use queuewarden_e2e::assets;
use queuewarden_e2e::helm::{CHART, Helm, RELEASE, Version, objects};
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, TestCluster, eventually, own_tls};
use serde_json::{Value, json};
use tokio::process::Command;

use super::{NAMESPACE, clean, identity, values};

/// The test checks itself: the chart's pods pass, and others do not.
#[tokio::test]
async fn pods_are_accepted_under_restricted_pod_security() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        let helm = Helm::get(Version::Three).await?;
        for case in ["default", "https", "cert-manager", "collector", "elsewhere"] {
            let set = "yunikornConfig.enabled=true";
            let args = ["--namespace", NAMESPACE, "--values", &values(case), "--set", set];
            let text = helm.template(&args).await?;
            for pod in pods(&text)? {
                try_out(cluster, &pod).await.with_context(|| case.to_owned())?;
                for (pointer, hole) in [
                    ("/spec/containers/0/securityContext/capabilities", json!({"drop": []})),
                    ("/spec/containers/0/securityContext/allowPrivilegeEscalation", json!(true)),
                    ("/spec/securityContext/runAsNonRoot", json!(false)),
                    ("/spec/securityContext/seccompProfile", json!({"type": "Unconfined"})),
                ] {
                    let mut open = pod.clone();
                    *open.pointer_mut(pointer).with_context(|| format!("{case}: nothing at {pointer}"))? =
                        hole;
                    let refused = try_out(cluster, &open)
                        .await
                        .err()
                        .map(|error| format!("{error:#}"))
                        .unwrap_or_default();
                    ensure!(
                        refused.contains("violates PodSecurity \"restricted"),
                        "{case}: {pointer}: {refused}"
                    );
                }
            }
        }
        Ok(())
    })
    .await
}

/// Returns a pod of each Deployment and Job in a chart's text.
fn pods(text: &str) -> Result<Vec<Value>> {
    let all = objects(text)?;
    let deployments = all.iter().filter(|object| object.pointer("/spec/template").is_some());
    let pods: Vec<Value> = deployments
        .map(|deployment| {
            let template = deployment.pointer("/spec/template").context("no template")?;
            Ok(json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {
                    "name": "queuewarden-0", "namespace": NAMESPACE,
                    "labels": template.pointer("/metadata/labels").context("no labels")?,
                },
                "spec": template.get("spec").context("no pod")?,
            }))
        })
        .collect::<Result<_>>()?;
    ensure!(!pods.is_empty(), "no Deployment");
    Ok(pods)
}

/// Sends a pod to the API server, which does not store it.
async fn try_out(cluster: &TestCluster, pod: &Value) -> Result<()> {
    cluster.kubectl_with_input(&["create", "--dry-run=server", "-f", "-"], &pod.to_string()).await.map(drop)
}

/// Every object of the kinds that the API server has is valid, including policies with their expressions.
#[tokio::test]
async fn api_server_accepts_every_object() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        let helm = Helm::get(Version::Three).await?;
        for case in ["default", "https", "collector", "strict"] {
            let text = helm.template(&["--namespace", NAMESPACE, "--values", &values(case)]).await?;
            let names = objects(&text)?.iter().map(identity).collect::<Result<Vec<_>>>()?;
            let args = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-"];
            let said = cluster.kubectl_with_input(&args, &text).await.with_context(|| case.to_owned())?;
            ensure!(said.lines().count() == names.len(), "{case}: {names:?}\n{said}");
            ensure!(said.lines().all(|line| line.ends_with("(server dry run)")), "{case}: {said}");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn helm_3_takes_over_what_kubectl_installed_upgrades_and_leaves_the_grants() -> Result<()> {
    life_of_a_release(Version::Three).await
}

#[tokio::test]
async fn helm_4_takes_over_what_kubectl_installed_upgrades_and_leaves_the_grants() -> Result<()> {
    life_of_a_release(Version::Four).await
}

/// `YuniKorn`'s admission controller makes `YuniKorn` the scheduler of pods, except these, in any namespace.
#[tokio::test]
async fn yunikorn_leaves_the_pods_to_the_default_scheduler() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::AdmissionProcess])? {
            return Ok(());
        }
        cluster.start_admission_controller().await?;
        let helm = Helm::get(Version::Three).await?;
        let set = "yunikornConfig.enabled=true";
        let args = ["--namespace", NAMESPACE, "--values", &values("https"), "--set", set];
        let namespace = "not-prepared";
        cluster.kubectl(&["create", "namespace", namespace]).await?;
        for mut pod in pods(&helm.template(&args).await?)? {
            let account = pod.pointer("/spec/serviceAccountName").and_then(Value::as_str);
            let account = account.context("no account")?.to_owned();
            cluster.kubectl(&["create", "serviceaccount", &account, "-n", namespace]).await?;
            *pod.pointer_mut("/metadata/namespace").context("no namespace")? = json!(namespace);
            ensure!(scheduler(cluster, &pod).await? == "default-scheduler", "{pod:#}");
            let labels = pod.pointer_mut("/metadata/labels").and_then(Value::as_object_mut);
            labels.context("no labels")?.remove("app");
            ensure!(scheduler(cluster, &pod).await? == "yunikorn", "{pod:#}");
        }
        cluster.kubectl(&["delete", "namespace", namespace, "--wait=false"]).await.map(drop)
    })
    .await
}

/// Returns the scheduler that a pod would have.
async fn scheduler(cluster: &TestCluster, pod: &Value) -> Result<String> {
    let args = ["create", "--dry-run=server", "-f", "-", "-o", "jsonpath={.spec.schedulerName}"];
    cluster.kubectl_with_input(&args, &pod.to_string()).await
}

/// One command installs everything: the hook applies the YuniKornConfig when a replica answers its webhook.
#[tokio::test]
async fn one_command_is_enough() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        for version in Version::ALL {
            let helm = Helm::get(version).await?;
            clean(cluster).await?;
            cluster
                .kubectl(&[
                    "delete",
                    "clusterrole,clusterrolebinding",
                    "queuewarden-config",
                    "--ignore-not-found",
                ])
                .await?;
            let set = "yunikornConfig.enabled=true,yunikornConfig.spec.mode=Observe";
            for (verb, mode) in [("install", "Observe"), ("upgrade", "Enforce")] {
                let set = set.replace("Observe", mode);
                let args = [verb, RELEASE, CHART, "--namespace", NAMESPACE, "--set", &set];
                let (helm, job) = tokio::join!(cluster.helm(&helm, &args), runs_the_hook(cluster));
                job.with_context(|| format!("{version:?}: {verb}"))?;
                helm?;
                let stored = ["get", "yunikornconfig", "default", "-o", "jsonpath={.spec.mode}"];
                ensure!(cluster.kubectl(&stored).await? == mode, "{version:?}: {verb}");
                let rights =
                    ["get", "clusterroles", "queuewarden-config", "--ignore-not-found", "-o", "name"];
                ensure!(
                    cluster.kubectl(&rights).await?.is_empty(),
                    "{version:?}: the rights of the hook stay"
                );
            }
        }
        clean(cluster).await
    })
    .await
}

/// Runs the Job of the hook as a kubelet would.
async fn runs_the_hook(cluster: &TestCluster) -> Result<()> {
    let get = ["get", "job", HOOK, "-n", NAMESPACE, "-o", "json"];
    let job = eventually("the Job of the hook", PATIENCE, || async {
        Ok(Some(serde_json::from_str::<Value>(&cluster.kubectl(&get).await?)?))
    })
    .await?;
    let args = job.pointer("/spec/template/spec/containers/0/args").context("no arguments")?;
    let args: Vec<String> = serde_json::from_value(args.clone())?;
    let account = cluster.sa_kubeconfig(NAMESPACE, HOOK).await?;
    let program = tokio::task::spawn_blocking(assets::operator).await??;
    let output = Command::new(program).args(args).env("KUBECONFIG", account).output().await?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let now = "2026-01-01T00:00:00Z";
    let condition =
        |kind: &str| json!({"type": kind, "status": "True", "lastProbeTime": now, "lastTransitionTime": now});
    let status = json!({"status": {
        "startTime": now, "completionTime": now, "succeeded": 1,
        "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
    }});
    let patch = ["patch", "job", HOOK, "-n", NAMESPACE, "--subresource=status", "--type=merge", "-p"];
    cluster.kubectl(&[&patch[..], &[&status.to_string()]].concat()).await.map(drop)
}

/// The name of the hook's objects.
const HOOK: &str = "queuewarden-config";

async fn life_of_a_release(version: Version) -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let helm = Helm::get(version).await?;
        clean(cluster).await?;
        cluster.install().await?;
        takes_over_upgrades_and_leaves(cluster, version, &helm).await?;
        clean(cluster).await
    })
    .await
}

async fn takes_over_upgrades_and_leaves(cluster: &TestCluster, version: Version, helm: &Helm) -> Result<()> {
    cluster.apply_text(GRANT, "somebody").await?;
    let into = ["--namespace", NAMESPACE];

    // Migrates from kubectl to Helm, following docs/install.md.
    cluster.helm(helm, &[&["install", RELEASE, CHART, "--take-ownership"], &into[..]].concat()).await?;
    let deployment =
        ["get", "deployment", "queuewarden", "-n", NAMESPACE, "-o", "jsonpath={.metadata.labels}"];
    ensure!(cluster.kubectl(&deployment).await?.contains("\"app.kubernetes.io/managed-by\":\"Helm\""));

    // The endpoints are enabled; queuewarden then writes its Secret and caBundle.
    let endpoints = values("https");
    let upgrade =
        [&["upgrade", RELEASE, CHART, "--take-ownership", "--values", &endpoints], &into[..]].concat();
    // kubectl still owns the fields that it wrote, together with Helm, so server-side apply has to force
    // conflicts on fields that change.
    let insist: &[&str] = if version == Version::Four { &["--force-conflicts"] } else { &[] };
    cluster.helm(helm, &[&upgrade, insist].concat()).await?;
    let authority = rcgen::generate_simple_self_signed(["authority".to_owned()])?.cert.pem();
    let pem = ByteString(authority.clone().into_bytes());
    cluster.set_tls_secret([("ca.crt".to_owned(), pem.clone())].into()).await?;
    let bundle =
        json!([{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": pem}]).to_string();
    let guard = ["validatingwebhookconfiguration", own_tls::WEBHOOK];
    cluster.kubectl(&[&["patch"], &guard[..], &["--type=json", "-p", &bundle]].concat()).await?;
    let written = cluster.kubectl(&[&["get"], &guard[..], &["-o", CA_BUNDLE]].concat()).await?;

    ensure!(!written.is_empty());

    // An upgrade keeps what queuewarden has written to objects of the release.
    cluster.helm(helm, &upgrade).await?;
    ensure!(cluster.tls_secret().await?.get("ca.crt").is_some_and(|text| *text == authority));
    ensure!(cluster.kubectl(&[&["get"], &guard[..], &["-o", CA_BUNDLE]].concat()).await? == written);

    // The endpoints are disabled again, and are no longer called.
    cluster.helm(helm, &[&["upgrade", RELEASE, CHART, "--reset-values"], &into[..]].concat()).await?;
    let hooks = cluster
        .kubectl(&["get", "validatingwebhookconfigurations,mutatingwebhookconfigurations", "-o", "name"])
        .await?;
    ensure!(!hooks.contains("queuewarden"), "{hooks}");

    cluster.helm(helm, &[&["uninstall", RELEASE], &into[..]].concat()).await?;
    let gone = ["get", "deployments,services,roles,poddisruptionbudgets", "-n", NAMESPACE, "-o", "name"];
    let left = cluster.kubectl(&gone).await?;
    ensure!(!left.contains("queuewarden"), "{left}");
    ensure!(
        cluster.kubectl(&["get", "queueacl", "kept", "-o", "name"]).await?.trim()
            == "queueacl.queuewarden.dev/kept"
    );

    // And comes back to them.
    cluster.helm(helm, &[&["install", RELEASE, CHART], &into[..]].concat()).await?;
    cluster.helm(helm, &[&["uninstall", RELEASE], &into[..]].concat()).await.map(drop)
}

const CA_BUNDLE: &str = "jsonpath={.webhooks[0].clientConfig.caBundle}";
const GRANT: &str = "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {name: kept}\n\
                     spec: {queue: root.prod, submit: {users: [alice]}}\n";

/// The page whose commands are run, section by section.
const PAGE: &str = include_str!("../../../docs/install.md");
/// The sections in the order of a reader who installs with Helm and uninstalls, then installs with kubectl
/// and migrates to Helm.
const SECTIONS: [&str; 9] = [
    "By Helm",
    "Switching on",
    "Versions of YuniKorn",
    "Webhooks and other HTTPS endpoints",
    "Upgrading",
    "Uninstalling",
    "By kubectl",
    "Switching on",
    "From kubectl to Helm",
];

/// The section whose commands `operator::queue_operator` runs.
const ELSEWHERE: &str = "Beside YuniKorn's queue operator";

/// Returns the commands of a section of [`PAGE`].
fn commands(section: &str) -> Result<String> {
    let text = PAGE.split("\n## ").find(|part| part.lines().next() == Some(section));
    let text = text.with_context(|| format!("no section {section}"))?;
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split_once("```"));
    Ok(blocks.map(|(block, _)| block).collect())
}

#[tokio::test]
async fn commands_of_the_install_page_work() -> Result<()> {
    for section in PAGE.split("\n## ").skip(1).filter_map(|part| part.lines().next()) {
        let is_run = SECTIONS.contains(&section) || section == ELSEWHERE;
        ensure!(commands(section)?.is_empty() != is_run, "{section} is not run");
    }
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        for version in Version::ALL {
            let helm = Helm::get(version).await?;
            clean(cluster).await?;
            for section in SECTIONS.into_iter().chain(["Uninstalling"]) {
                // Nothing runs pods here.
                let commands = commands(section)?.replace(" --wait", "");
                cluster
                    .shell_with_helm(&helm, &commands)
                    .await
                    .with_context(|| format!("{version:?}: {section}"))?;
            }
            let left = cluster.kubectl(&["get", "deployments", "-n", NAMESPACE, "-o", "name"]).await?;
            ensure!(left.is_empty(), "{version:?}: {left}");
        }
        clean(cluster).await
    })
    .await
}
