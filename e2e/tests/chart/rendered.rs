//! Tests the output of the chart, without a cluster.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::helm::{CHART, Helm, Version, kustomized, objects};
use serde_json::{Value, json};

use super::{NAMESPACE, Objects, by_identity, values};

/// The directory of expected output, which is written again when `UPDATE` is set.
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/chart/golden");
/// Labels and annotations about the release, which are not in `manifests/`.
const OF_THE_RELEASE: [&str; 4] = [
    "app.kubernetes.io/instance",
    "app.kubernetes.io/version",
    "app.kubernetes.io/managed-by",
    "helm.sh/chart",
];

/// Returns the names of the files of values.
fn cases() -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(format!("{CHART}/ci"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.insert(name.strip_suffix("-values.yaml").context("not named NAME-values.yaml")?.to_owned());
    }
    Ok(names)
}

/// Returns the output without the CRDs, which are copies of `crds/` and would be most of it.
fn shown(text: &str) -> String {
    let documents = text.split("---\n").filter(|document| !document.contains("templates/crds.yaml\n"));
    let full = documents.filter(|document| !document.trim().is_empty());
    full.flat_map(|document| ["---\n", document]).collect()
}

async fn printed(helm: &Helm, case: &str) -> Result<String> {
    helm.template(&["--namespace", NAMESPACE, "--values", &values(case)]).await
}

#[tokio::test]
async fn rendered_chart_matches_the_golden_files() -> Result<()> {
    let helm = Helm::get(Version::Three).await?;
    let update = std::env::var_os("UPDATE").is_some();
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(GOLDEN)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        found.insert(name.trim_end_matches(".yaml").to_owned());
    }
    let cases = cases()?;
    ensure!(update || found == cases, "golden files {found:?} of values {cases:?}");
    for case in cases {
        let path = format!("{GOLDEN}/{case}.yaml");
        let text = shown(&printed(&helm, &case).await?);
        if update {
            std::fs::write(&path, text)?;
            continue;
        }
        let golden = std::fs::read_to_string(&path)?;
        let differs = golden.lines().zip(text.lines()).position(|(golden, text)| golden != text);
        ensure!(
            golden == text,
            "{path} differs from line {:?}; `UPDATE=1 cargo test` writes it anew",
            differs.map(|line| line + 1)
        );
    }
    Ok(())
}

#[tokio::test]
async fn both_helm_versions_render_the_same() -> Result<()> {
    let [three, four] = [Helm::get(Version::Three).await?, Helm::get(Version::Four).await?];
    for case in cases()? {
        let [three, four] = [
            by_identity(objects(&printed(&three, &case).await?)?)?,
            by_identity(objects(&printed(&four, &case).await?)?)?,
        ];
        same(&case, &three, &four)?;
    }
    Ok(())
}

/// Helm and kubectl install the same permissions, webhooks and pods.
#[tokio::test]
async fn chart_and_manifests_install_the_same() -> Result<()> {
    let helm = Helm::get(Version::Three).await?;
    let endpoints = [
        "examples/https",
        "manifests/validating",
        "manifests/configmaps",
        "manifests/submission",
        "manifests/user-info",
        "manifests/delegation",
        "manifests/access",
        "manifests/authorizer",
        "manifests/applications",
        "manifests/rbac-mirror",
        "manifests/submission-policy",
    ];
    let strict = [
        "examples/https",
        "manifests/user-info-strict",
        "manifests/delegation",
        "manifests/rbac-mirror",
        "manifests/submission-policy-deny",
    ];
    // The chart knows which endpoints are installed; a kustomization has a component for each endpoint.
    let more = ["--endpoints=access,authorize,configmaps,submission,user-info,validate", "--applications=on"];
    let more_strict = ["--endpoints=user-info,validate"];
    for (case, folders, more) in [
        ("default", &["manifests"][..], &[][..]),
        ("https", &endpoints, &more),
        ("strict", &strict, &more_strict),
    ] {
        let mut expected = Objects::new();
        for folder in folders {
            expected.extend(by_identity(kustomized(folder).await?)?);
        }
        // With Helm, --create-namespace creates it, and labels are added by hand.
        expected.remove("Namespace /queuewarden-system").context("manifests/ has no namespace")?;
        // Flags that each of these asks users to add, or adds itself if it is a component.
        let deployment = "Deployment queuewarden-system/queuewarden";
        let deployment = expected.get_mut(deployment).context("no Deployment")?;
        let args =
            deployment.pointer_mut("/spec/template/spec/containers/0/args").and_then(Value::as_array_mut);
        let args = args.context("no arguments")?;
        args.retain(|arg| arg.as_str().is_some_and(|arg| !arg.starts_with("--endpoints=")));
        args.extend(more.iter().map(|flag| json!(flag)));
        let mut chart = by_identity(objects(&printed(&helm, case).await?)?)?;
        for object in chart.values_mut() {
            of_nobodys_release(object)?;
        }
        for object in chart.values_mut().chain(expected.values_mut()) {
            order_ports(object);
            unite_numbers(object);
        }
        same(case, &chart, &expected)?;
    }
    Ok(())
}

/// Sorts ports, because patches of kustomize put theirs first.
fn order_ports(object: &mut Value) {
    for pointer in ["/spec/ports", "/spec/template/spec/containers/0/ports"] {
        if let Some(ports) = object.pointer_mut(pointer).and_then(Value::as_array_mut) {
            ports.sort_by_key(|port| port.get("name").map(Value::to_string));
        }
    }
}

/// Unifies numbers, because kustomize writes 0 where the CRDs have 0.0.
fn unite_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => *value = json!(number.as_f64()),
        Value::Array(items) => items.iter_mut().for_each(unite_numbers),
        Value::Object(fields) => fields.values_mut().for_each(unite_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Removes everything that only the chart has, and checks that it is there.
fn of_nobodys_release(object: &mut Value) -> Result<()> {
    let crd = object.get("kind").is_some_and(|kind| kind == "CustomResourceDefinition");
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut).context("no metadata")?;
    let labels = metadata.get_mut("labels").and_then(Value::as_object_mut).context("no labels")?;
    for label in OF_THE_RELEASE {
        labels.remove(label).with_context(|| format!("no label {label}"))?;
    }
    if crd {
        ensure!(metadata.remove("annotations") == Some(json!({"helm.sh/resource-policy": "keep"})));
    }
    Ok(())
}

fn same(what: &str, ours: &Objects, theirs: &Objects) -> Result<()> {
    let names = |objects: &Objects| objects.keys().cloned().collect::<BTreeSet<_>>();
    ensure!(names(ours) == names(theirs), "{what}: {:?}", names(ours).symmetric_difference(&names(theirs)));
    for (name, object) in ours {
        let other = theirs.get(name);
        ensure!(Some(object) == other, "{what}: {name}:\n{object:#}\n{:#}", other.unwrap_or(&Value::Null));
    }
    Ok(())
}

#[tokio::test]
async fn alerts_and_dashboard_match_the_manifests() -> Result<()> {
    let helm = Helm::get(Version::Three).await?;
    let set = "metrics.prometheusRule.enabled=true,metrics.dashboard.enabled=true,metrics.prometheusRule.labels.release=p";
    let printed = by_identity(objects(&helm.template(&["--namespace", NAMESPACE, "--set", set]).await?)?)?;
    let read = |name: &str| {
        let path = format!("{}/../manifests/monitoring/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path)
    };
    let rule = printed.get("PrometheusRule queuewarden-system/queuewarden").context("no PrometheusRule")?;
    let rules: Value = serde_saphyr::from_str(&read("rules.yaml")?)?;
    ensure!(rule.get("spec") == Some(&rules), "{rule:#}");
    ensure!(rule.pointer("/metadata/labels/release").is_some_and(|label| label == "p"));
    let dashboard =
        printed.get("ConfigMap queuewarden-system/queuewarden-dashboard").context("no dashboard")?;
    let text = dashboard.pointer("/data/queuewarden.json").and_then(Value::as_str).context("no text")?;
    let [shown, written]: [Value; 2] =
        [serde_json::from_str(text)?, serde_json::from_str(&read("dashboard.json")?)?];
    ensure!(shown == written);
    ensure!(dashboard.pointer("/metadata/labels/grafana_dashboard").is_some_and(|label| label == "1"));
    Ok(())
}

/// If other namespaces are used, nothing refers to those of `manifests/`.
#[tokio::test]
async fn custom_namespaces_replace_all_defaults() -> Result<()> {
    let helm = Helm::get(Version::Three).await?;
    let text = helm.template(&["--namespace", "warden", "--values", &values("elsewhere")]).await?;
    for object in objects(&text)? {
        let text = object.to_string();
        ensure!(
            !text.contains("queuewarden-system") && !text.contains("\"yunikorn\"") || is_crd(&object),
            "{text}"
        );
        let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
        ensure!(
            [None, Some("warden"), Some("batch"), Some("default"), Some("kube-system")].contains(&namespace),
            "{text}"
        );
    }
    Ok(())
}

/// Returns whether an object is a CRD.
fn is_crd(object: &Value) -> bool {
    object.get("kind").is_some_and(|kind| kind == "CustomResourceDefinition")
}

/// A user who names another output need not name it twice.
#[tokio::test]
async fn written_output_can_be_read() -> Result<()> {
    let helm = Helm::get(Version::Three).await?;
    let text = helm.template(&["--namespace", NAMESPACE, "--set", "yunikorn.writes=queues"]).await?;
    let printed = by_identity(objects(&text)?)?;
    let role = printed.get("Role yunikorn/queuewarden").context("no Role")?;
    for (rule, names) in [
        ("/rules/0", json!(["yunikorn-defaults", "yunikorn-configs", "yunikorn-queues", "queues"])),
        ("/rules/1", json!(["queues"])),
    ] {
        ensure!(role.pointer(&format!("{rule}/resourceNames")) == Some(&names), "{role:#}");
    }
    Ok(())
}

/// An invalid value, or a choice that requires another one, is refused before anything is installed, and the
/// error names it.
#[tokio::test]
async fn invalid_values_are_refused() -> Result<()> {
    let helm = Helm::get(Version::Three).await?;
    for (set, named) in [
        ("replica=2", "replica"),
        ("replicas=0", "replicas"),
        ("replicas=two", "replicas"),
        ("image.digest=latest", "digest"),
        ("yunikorn.namespace=Yunikorn", "namespace"),
        ("yunikorn.reads=null", "reads"),
        ("log.format=xml", "format"),
        ("webhooks.userInfo=maybe", "userInfo"),
        ("webhooks.certificate=letsencrypt", "certificate"),
        ("webhooks.certManager.issuerRef.kind=ClusterIssuer", "issuerRef"),
        ("env[0].value=name", "env"),
        ("env[0].name=POD_NAME", "env"),
        ("volumes[0].name=tls", "volumes"),
        ("volumeMounts[0].name=files", "volumeMounts"),
        ("networkPolicy.schedulerPort=0", "schedulerPort"),
        ("networkPolicy.egress[0].port=4318", "egress"),
        ("submissionPolicy=deny", "needs rbacMirror: true"),
        ("webhooks.configMaps=true", "webhooks.configMaps needs webhooks.enabled: true"),
        ("webhooks.userInfo=strict", "webhooks.userInfo needs webhooks.enabled: true"),
    ] {
        let said = match helm.template(&["--set", set]).await {
            Ok(_) => anyhow::bail!("--set {set} was taken"),
            Err(error) => format!("{error:#}"),
        };
        ensure!(said.contains(named), "--set {set}: {said}");
    }
    ensure!(Path::new(CHART).join("values.schema.json").exists());
    Ok(())
}

#[tokio::test]
async fn helm_lint_reports_nothing() -> Result<()> {
    for version in Version::ALL {
        let helm = Helm::get(version).await?;
        for case in cases()? {
            let args = [
                "lint",
                CHART,
                "--strict",
                "--quiet",
                "--kube-version",
                "1.35.0",
                "--values",
                &values(&case),
            ];
            helm.run(&args, Path::new("/dev/null")).await.with_context(|| case.clone())?;
        }
    }
    Ok(())
}
