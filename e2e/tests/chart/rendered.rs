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
        // With Helm, --create-namespace creates it.
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
        let label = object.pointer("/spec/template/metadata/labels/app");
        ensure!(
            object.pointer("/spec/template").is_none() || label == Some(&json!("yunikorn")),
            "{object:#}"
        );
        let text = object.to_string().replace("\"app\":\"yunikorn\"", "");
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

/// The ConfigMaps and the Secret that the YuniKornConfig names need not be named twice, also when the release
/// does not apply it.
#[tokio::test]
async fn rights_follow_from_the_configuration() -> Result<()> {
    let helm = Helm::get(Version::Three).await?;
    let spec =
        r#"{"base": {"configMap": "tree"}, "output": {"configMap": "queues"}, "schedulerSecret": "login"}"#;
    let set = format!("yunikornConfig.spec={spec}");
    let text = helm.template(&["--namespace", NAMESPACE, "--set-json", &set]).await?;
    let printed = by_identity(objects(&text)?)?;
    let role = printed.get("Role yunikorn/queuewarden").context("no Role")?;
    let reads = json!(["yunikorn-defaults", "yunikorn-configs", "yunikorn-queues", "tree", "queues"]);
    for (rule, names) in [(0, &reads), (1, &json!(["queues"])), (3, &json!(["login"]))] {
        ensure!(role.pointer(&format!("/rules/{rule}/resourceNames")) == Some(names), "{role:#}");
    }
    let role = printed.get("ClusterRole /queuewarden-checker").context("no ClusterRole")?;
    ensure!(role.pointer("/rules/1/resourceNames") == Some(&reads), "{role:#}");
    Ok(())
}

/// The hook applies what `manifests/config` has.
#[tokio::test]
async fn the_hook_applies_the_configuration_of_the_manifests() -> Result<()> {
    let helm = Helm::get(Version::Three).await?;
    let text = helm.template(&["--namespace", NAMESPACE, "--set", "yunikornConfig.enabled=true"]).await?;
    let printed = by_identity(objects(&text)?)?;
    let job = printed.get("Job queuewarden-system/queuewarden-config").context("no Job")?;
    let applied = job.pointer("/spec/template/spec/containers/0/args/1").and_then(Value::as_str);
    let applied: Value = serde_json::from_str(applied.context("no object")?)?;
    ensure!(kustomized("manifests/config").await? == [applied.clone()], "{applied:#}");
    Ok(())
}

/// With `YuniKorn` in another namespace, one value and one kustomize replacement have the same effect.
#[tokio::test]
async fn chart_and_manifests_name_another_namespace_of_yunikorn() -> Result<()> {
    let helm = Helm::get(Version::Three).await?;
    let set = "yunikorn.namespace=scheduling,yunikornConfig.spec.schedulerSecret=queuewarden-scheduler";
    let args = ["--namespace", NAMESPACE, "--values", &values("https"), "--set", set];
    let chart = by_identity(objects(&helm.template(&args).await?)?)?;
    let kustomized = by_identity(kustomized("e2e/tests/chart/elsewhere").await?)?;
    let config = kustomized.get("YuniKornConfig /default").context("no YuniKornConfig")?;
    ensure!(
        config.pointer("/spec/schedulerUrl") == Some(&json!("http://yunikorn-service.scheduling.svc:9080"))
    );
    let mut compared = 0;
    for (name, object) in &kustomized {
        let text = object.to_string();
        ensure!(is_crd(object) || !text.contains("yunikorn\",\"queuewarden-system"), "{text}");
        ensure!(!name.contains(" yunikorn/"), "{name}");
        // The Role that reads the Secret is a rule of another Role in the chart.
        let Some(theirs) = chart.get(name) else { continue };
        for pointer in ["/webhooks", "/spec/matchConstraints", "/spec/egress"] {
            let [ours, theirs] = [object, theirs].map(|object| object.pointer(pointer));
            ensure!(ours == theirs, "{name}: {pointer}");
            compared += usize::from(ours.is_some_and(|part| part.to_string().contains("\"scheduling\"")));
        }
    }
    ensure!(compared == 6, "{compared}");
    Ok(())
}

/// `OpenShift`'s `restricted-v2` sets user, groups and `SELinux` labels, and refuses pods that set others. It
/// lets a pod mount what these volumes are made of.
#[tokio::test]
async fn openshift_takes_the_pods() -> Result<()> {
    let helm = Helm::get(Version::Three).await?;
    for case in ["default", "https", "cert-manager", "collector"] {
        let set = "yunikornConfig.enabled=true";
        let args = ["--namespace", NAMESPACE, "--values", &values(case), "--set", set];
        let mut pods = 0;
        for object in objects(&helm.template(&args).await?)? {
            let Some(pod) = object.pointer("/spec/template/spec") else { continue };
            let context = pod.get("securityContext");
            ensure!(
                context == Some(&json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}})),
                "{case}: {context:?}"
            );
            let container = pod.pointer("/containers/0/securityContext").context("no security context")?;
            ensure!(container.get("runAsUser").is_none() && container.get("runAsGroup").is_none());
            ensure!(
                pod.get("hostNetwork").is_none() && pod.get("initContainers").is_none(),
                "{case}: {pod:#}"
            );
            for volume in pod.get("volumes").and_then(Value::as_array).into_iter().flatten() {
                ensure!(
                    volume.get("secret").or_else(|| volume.get("configMap")).is_some(),
                    "{case}: {volume}"
                );
            }
            pods += 1;
        }
        ensure!(pods >= 2, "{case}: {pods}");
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
        ("replicaCount=0", "replicaCount"),
        ("replicaCount=two", "replicaCount"),
        ("imagePullSecrets[0]=registry", "imagePullSecrets"),
        ("image.digest=latest", "digest"),
        ("yunikorn.namespace=Yunikorn", "namespace"),
        ("yunikornConfig.spec.base=null", "base"),
        ("yunikornConfig.spec.namespace=batch", "yunikornConfig.spec.namespace is batch"),
        ("livenessProbe.httpGet.path=/", "livenessProbe"),
        ("log.format=xml", "format"),
        ("webhooks.userInfo=maybe", "userInfo"),
        ("webhooks.certificate=letsencrypt", "certificate"),
        ("webhooks.certManager.issuerRef.kind=ClusterIssuer", "issuerRef"),
        ("webhooks.userInfo=on", "userInfo"),
        ("extraEnv[0].value=name", "extraEnv"),
        ("extraEnv[0].name=POD_NAME", "extraEnv"),
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
