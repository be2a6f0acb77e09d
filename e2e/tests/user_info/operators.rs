//! Tests `examples/operators` and `manifests/user-info/settings.yaml`: a custom resource, whose operator may
//! write every name, does not run pods in a name that is not its author's.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{TestCluster, eventually};
use serde_json::{Value, json};
use yunikorn::admission::request::USER_INFO;
use yunikorn_access::alias;

use super::{ask, claim, create, guard, info, kubectl, merged, nobody_asked, pod, refused};
use crate::pages::root;

/// A kind whose operator makes pods.
struct Kind {
    group: &'static str,
    version: &'static str,
    name: &'static str,
    plural: &'static str,
    is_namespaced: bool,
    /// Paths to pod templates and annotations: `[]` is a list, `{}` a map.
    paths: &'static [&'static str],
}

const fn kind(
    group: &'static str,
    version: &'static str,
    name: &'static str,
    plural: &'static str,
    paths: &'static [&'static str],
) -> Kind {
    Kind { group, version, name, plural, is_namespaced: true, paths }
}

/// spark-operator 2.5.2: `api/v1beta2`, `api/v1alpha1`; `internal/controller/sparkapplication/submission.go`.
const SPARK: &str = "sparkoperator.k8s.io";
/// spark-kubernetes-operator 1.0.0: `spark-operator-api/src/main/java/…/spec`;
/// `SparkAppSubmissionWorker.java`.
const APACHE_SPARK: &str = "spark.apache.org";
/// `KubeRay` 1.7.0: `ray-operator/apis/ray/v1`.
const RAY: &str = "ray.io";
/// training-operator 1.9.0: `pkg/apis/kubeflow.org/v1`.
const KUBEFLOW: &str = "kubeflow.org";
/// Trainer 2.3.0 and, for `podTemplateOverrides`, 2.1.0: `pkg/apis/trainer/v1alpha1`.
const TRAINER: &str = "trainer.kubeflow.org";
/// `JobSet` 0.12.0: `api/jobset/v1alpha2/jobset_types.go`.
const JOBSET: &str = "jobset.x-k8s.io";
/// flink-kubernetes-operator 1.15.0: `flink-kubernetes-operator-api/src/main/java/…/spec`; and Flink's
/// `InitJobManagerDecorator.java`.
const FLINK: &str = "flink.apache.org";

const JOB_SET: &str = "spec.replicatedJobs[].template.spec.template";
const RUNTIME: &str = "spec.template.spec.replicatedJobs[].template.spec.template";

const KINDS: [Kind; 19] = [
    kind(
        SPARK,
        "v1beta2",
        "SparkApplication",
        "sparkapplications",
        &["spec.driver.annotations", "spec.executor.annotations"],
    ),
    kind(
        SPARK,
        "v1beta2",
        "ScheduledSparkApplication",
        "scheduledsparkapplications",
        &["spec.template.driver.annotations", "spec.template.executor.annotations"],
    ),
    kind(
        SPARK,
        "v1alpha1",
        "SparkConnect",
        "sparkconnects",
        &["spec.server.template", "spec.executor.template"],
    ),
    kind(
        APACHE_SPARK,
        "v1",
        "SparkApplication",
        "sparkapplications",
        &["spec.driverSpec.podTemplateSpec", "spec.executorSpec.podTemplateSpec"],
    ),
    kind(
        APACHE_SPARK,
        "v1",
        "SparkCluster",
        "sparkclusters",
        &["spec.masterSpec.statefulSetSpec.template", "spec.workerSpec.statefulSetSpec.template"],
    ),
    kind(
        RAY,
        "v1",
        "RayCluster",
        "rayclusters",
        &["spec.headGroupSpec.template", "spec.workerGroupSpecs[].template"],
    ),
    kind(
        RAY,
        "v1",
        "RayJob",
        "rayjobs",
        &[
            "spec.rayClusterSpec.headGroupSpec.template",
            "spec.rayClusterSpec.workerGroupSpecs[].template",
            "spec.submitterPodTemplate",
        ],
    ),
    kind(
        RAY,
        "v1",
        "RayCronJob",
        "raycronjobs",
        &[
            "spec.jobTemplate.rayClusterSpec.headGroupSpec.template",
            "spec.jobTemplate.rayClusterSpec.workerGroupSpecs[].template",
            "spec.jobTemplate.submitterPodTemplate",
        ],
    ),
    kind(
        RAY,
        "v1",
        "RayService",
        "rayservices",
        &[
            "spec.rayClusterConfig.headGroupSpec.template",
            "spec.rayClusterConfig.workerGroupSpecs[].template",
        ],
    ),
    kind(KUBEFLOW, "v1", "JAXJob", "jaxjobs", &["spec.jaxReplicaSpecs{}.template"]),
    kind(KUBEFLOW, "v1", "MPIJob", "mpijobs", &["spec.mpiReplicaSpecs{}.template"]),
    kind(KUBEFLOW, "v1", "PaddleJob", "paddlejobs", &["spec.paddleReplicaSpecs{}.template"]),
    kind(KUBEFLOW, "v1", "PyTorchJob", "pytorchjobs", &["spec.pytorchReplicaSpecs{}.template"]),
    kind(KUBEFLOW, "v1", "TFJob", "tfjobs", &["spec.tfReplicaSpecs{}.template"]),
    kind(KUBEFLOW, "v1", "XGBoostJob", "xgboostjobs", &["spec.xgbReplicaSpecs{}.template"]),
    kind(
        TRAINER,
        "v1alpha1",
        "TrainJob",
        "trainjobs",
        &[
            "spec.podTemplateOverrides[]",
            "spec.runtimePatches[].trainingRuntimeSpec.template.spec.replicatedJobs[].template.spec.template",
        ],
    ),
    kind(JOBSET, "v1alpha2", "JobSet", "jobsets", &[JOB_SET]),
    kind(
        FLINK,
        "v1beta1",
        "FlinkDeployment",
        "flinkdeployments",
        &["spec.podTemplate", "spec.jobManager.podTemplate", "spec.taskManager.podTemplate"],
    ),
    kind(
        FLINK,
        "v1beta1",
        "FlinkBlueGreenDeployment",
        "flinkbluegreendeployments",
        &[
            "spec.template.spec.podTemplate",
            "spec.template.spec.jobManager.podTemplate",
            "spec.template.spec.taskManager.podTemplate",
        ],
    ),
];

/// Kinds in which nobody may be named, because others refer to them.
const SHARED: [Kind; 2] = [
    kind(TRAINER, "v1alpha1", "TrainingRuntime", "trainingruntimes", &[RUNTIME]),
    Kind {
        is_namespaced: false,
        ..kind(TRAINER, "v1alpha1", "ClusterTrainingRuntime", "clustertrainingruntimes", &[RUNTIME])
    },
];

/// Accounts that make pods of what programs say, so that no path can check them: those of Argo Workflows 4.1,
/// Airflow's `KubernetesExecutor` and Kyuubi 1.12.
const UNLISTED: [&str; 3] = [
    "system:serviceaccount:argo:argo",
    "system:serviceaccount:airflow:airflow-scheduler",
    "system:serviceaccount:kyuubi:kyuubi",
];

/// Builds what a path leads through, from its end: the value of `annotations`, and what is around it.
fn built(
    path: &str,
    annotations: Value,
    field: fn(&str, Value) -> Value,
    list: fn(Value) -> Value,
    map: fn(Value) -> Value,
) -> Value {
    let end = field("annotations", annotations);
    let (names, end) = match path.strip_suffix(".annotations") {
        Some(names) => (names, end),
        None => (path, field("metadata", end)),
    };
    names.rsplit('.').fold(end, |inner, name| match (name.strip_suffix("[]"), name.strip_suffix("{}")) {
        (Some(name), _) => field(name, list(inner)),
        (_, Some(name)) => field(name, map(inner)),
        _ => field(name, inner),
    })
}

/// Returns the schema of an object with this path; further fields do not matter.
fn schema(path: &str) -> Value {
    built(
        path,
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        |name, schema| json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {name: schema}}),
        |schema| json!({"type": "array", "items": schema}),
        |schema| json!({"type": "object", "additionalProperties": schema}),
    )
}

/// Returns the fields that lead to annotations at a path: a list of one, a map with one key.
fn at(path: &str, annotations: &Value) -> Value {
    built(
        path,
        annotations.clone(),
        |name, value| json!({name: value}),
        |value| json!([value]),
        |value| json!({"Worker": value}),
    )
}

impl Kind {
    /// Returns the definition as far as the paths go.
    fn definition(&self) -> Value {
        let schema = self.paths.iter().fold(Value::Null, |all, path| merged(all, &schema(path)));
        let singular = self.name.to_lowercase();
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{}.{}", self.plural, self.group),
                "annotations": {"api-approved.kubernetes.io": "unapproved, a definition for tests"}},
            "spec": {"group": self.group, "scope": if self.is_namespaced { "Namespaced" } else { "Cluster" },
                "names": {"kind": self.name, "listKind": format!("{}List", self.name), "plural": self.plural, "singular": singular},
                "versions": [{"name": self.version, "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}})
    }

    /// Returns an object with this spec.
    fn object(&self, fields: &Value) -> Value {
        let namespace = if self.is_namespaced { NAMESPACE.into() } else { Value::Null };
        let metadata = merged(json!({"name": "job"}), &json!({"namespace": namespace}));
        let head = json!({"apiVersion": format!("{}/{}", self.group, self.version), "kind": self.name, "metadata": metadata});
        merged(head, fields)
    }

    /// Returns an object with these annotations at one path.
    fn annotated(&self, path: &str, annotations: &Value) -> Value {
        self.object(&at(path, annotations))
    }

    /// The name by which kubectl finds the objects.
    fn resource(&self) -> String {
        format!("{}.{}.{}", self.plural, self.version, self.group)
    }
}

/// Returns where a refusal locates a path, and the JSON pointer of the annotation there.
fn located(path: &str) -> (String, String) {
    let names = path.strip_suffix(".annotations");
    let location = names.unwrap_or(path).replace("[]", ".0").replace("{}", ".Worker");
    let metadata = if names.is_some() { "" } else { "/metadata" };
    let key = USER_INFO.replace('/', "~1");
    let pointer = format!("/{}{metadata}/annotations/{key}", location.replace('.', "/"));
    (location, pointer)
}

/// Returns the templates of all examples, after applying each by the command in its first line.
async fn apply_examples(cluster: &TestCluster) -> Result<BTreeSet<String>> {
    let mut templates = BTreeSet::new();
    for entry in std::fs::read_dir(root().join("examples/operators"))? {
        let text = std::fs::read_to_string(entry?.path())?;
        let command = text.lines().next().and_then(|line| line.strip_prefix("# ")).context("no command")?;
        cluster.shell(&root(), command).await?;
        let policy: Value = serde_saphyr::from_str(&text)?;
        templates.extend(written(&policy));
    }
    Ok(templates)
}

/// Returns the templates of a policy, each in one text.
fn written(policy: &Value) -> Vec<String> {
    let templates = policy.pointer("/spec/userInfo/templates").and_then(Value::as_array);
    let text = |template: &Value| {
        let part = |name: &str| template[name].as_str().unwrap_or_default().to_owned();
        format!("{}.{} {}", part("resource"), part("group"), part("path"))
    };
    templates.into_iter().flatten().map(text).collect()
}

async fn people_may(cluster: &TestCluster) -> Result<()> {
    let groups: BTreeSet<_> = KINDS.iter().chain(&SHARED).map(|kind| kind.group).collect();
    let (rbac, name) = ("rbac.authorization.k8s.io", "queuewarden-e2e-operators");
    let role = json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": name},
        "rules": [{"apiGroups": groups, "resources": ["*"], "verbs": ["*"]}]});
    let binding = json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "subjects": [{"apiGroup": rbac, "kind": "Group", "name": "people"}],
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name}});
    let mut items = vec![role, binding];
    items.extend(KINDS.iter().chain(&SHARED).map(Kind::definition));
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    cluster.apply_text(&list.to_string(), "queuewarden-e2e").await?;
    cluster.crds_established().await
}

/// Runs a dry `kubectl create`, and returns the object as it would be stored.
async fn stored(cluster: &TestCluster, user: &str, object: &Value) -> Result<Value> {
    let text = kubectl(cluster, user, &["create", "--dry-run=server", "-o", "json"], object).await?;
    Ok(serde_json::from_str(&text)?)
}

/// The annotation that the webhook gives this user.
fn own(user: &str) -> String {
    let kind = alias::Kind::User;
    let alias = (!kind.is_plain(user)).then(|| alias::alias(kind, user));
    let groups = ["people", "system:authenticated"].map(str::to_owned).into_iter().chain(alias);
    info(user, &groups.collect::<Vec<_>>())
}

const WEBHOOK: &str = "user-info.queuewarden.dev";
const SETTINGS: &str = "queuewarden-operator-settings";

#[tokio::test]
async fn an_operator_gives_nobody_another_name() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        people_may(cluster).await?;
        let old = json!({"metadata": {"name": "old"}, "spec": {"mode": "client"}});
        create(cluster, "alice", &KINDS[0].object(&old)).await?;
        let (_operator, endpoints) = guard(cluster, &json!({"userInfo": {"mode": "Enforce"}})).await?;
        ask(cluster, "user-info", &endpoints).await?;
        let examples = apply_examples(cluster).await?;
        let policy = cluster.kubectl(&["get", "admissionpolicy", "default", "-o", "json"]).await?;
        let policy: Value = serde_json::from_str(&policy)?;
        let joined: BTreeSet<_> = written(&policy).into_iter().collect();
        ensure!(joined == examples, "server-side apply joins all examples: {joined:?}");
        let here = |kind: &Kind, path: &str| {
            let path = path.replace("[]", ".*").replace("{}", ".*");
            format!("{}.{} {path}", kind.plural, kind.group)
        };
        let known: BTreeSet<_> =
            KINDS.iter().flat_map(|kind| kind.paths.iter().map(|path| here(kind, path))).collect();
        ensure!(known == examples, "{:?}", known.symmetric_difference(&examples).collect::<Vec<_>>());

        for kind in &KINDS {
            every_path(cluster, kind).await.with_context(|| kind.resource())?;
        }
        settings(cluster).await?;
        for pattern in policy.pointer("/spec/externalUsers").and_then(Value::as_array).context("no list")? {
            let account = pattern.as_str().unwrap_or_default().trim_matches(['^', '$']);
            stored(cluster, account, &pod("job", NAMESPACE, &claim("alice"))).await?;
        }
        for account in UNLISTED {
            refused(create(cluster, account, &pod("job", NAMESPACE, &claim("boss"))).await, &["boss"])?;
            let made = stored(cluster, account, &pod("job", NAMESPACE, &json!({}))).await?;
            ensure!(made["metadata"]["annotations"][USER_INFO] == own(account), "{made}");
        }
        Ok(())
    })
    .await
}

/// Checks a kind at each of its paths: another's name is refused, a missing one becomes the author's own, and
/// nobody changes it afterwards.
async fn every_path(cluster: &TestCluster, kind: &Kind) -> Result<()> {
    let fields = |annotations: &Value| {
        kind.paths.iter().fold(json!({}), |all, path| merged(all, &at(path, annotations)))
    };
    // The operator may take some time to know the last example.
    eventually("the templates of the examples to be in force", PATIENCE, || async {
        let answer = stored(cluster, "mallory", &kind.object(&fields(&claim("boss")))).await;
        Ok(refused(answer.map(|_| String::new()), &[WEBHOOK]).ok())
    })
    .await?;
    create(cluster, "alice", &kind.object(&fields(&json!({"note": "kept"})))).await?;
    let resource = kind.resource();
    let text = cluster.kubectl(&["get", &resource, "job", "-n", NAMESPACE, "-o", "json"]).await?;
    let made: Value = serde_json::from_str(&text)?;
    for path in kind.paths {
        let (location, pointer) = located(path);
        let words = [WEBHOOK, "it names user `boss`", &format!("({location})")];
        let answer = stored(cluster, "mallory", &kind.annotated(path, &claim("boss"))).await;
        refused(answer.map(|_| String::new()), &words).with_context(|| location.clone())?;
        ensure!(made.pointer(&pointer) == Some(&own("alice").into()), "{pointer}: {made}");
        let change = json!([{"op": "replace", "path": pointer, "value": own("mallory")}]).to_string();
        let answer = cluster
            .kubectl(&[
                "patch",
                &resource,
                "job",
                "-n",
                NAMESPACE,
                "--type=json",
                "-p",
                &change,
                "--as=mallory",
                "--as-group=people",
            ])
            .await;
        let words = [WEBHOOK, "it was set before and would be changed", &format!("({location})")];
        refused(answer, &words).with_context(|| location.clone())?;
    }
    cluster.kubectl(&["delete", &resource, "job", "-n", NAMESPACE, "--wait=false"]).await?;
    Ok(())
}

/// Checks what no path leads to: the API server refuses settings and shared templates that name somebody, and
/// no others.
async fn settings(cluster: &TestCluster) -> Result<()> {
    let of = |group: &str, name: &str| {
        let found = KINDS.iter().find(|kind| (kind.group, kind.name) == (group, name));
        found.with_context(|| format!("no {name}"))
    };
    let spark = of(SPARK, "SparkApplication")?;
    let scheduled = of(SPARK, "ScheduledSparkApplication")?;
    let apache = of(APACHE_SPARK, "SparkApplication")?;
    let flink = of(FLINK, "FlinkDeployment")?;
    let driver = format!("spark.kubernetes.driver.annotation.{USER_INFO}");
    let spec = |fields: Value| json!({"spec": fields});
    let template = |fields: Value| json!({"spec": {"template": fields}});
    let spark_conf = |key: &str| spec(json!({"sparkConf": {key: "x"}}));
    let flink_conf = |key: &str, value: Value| spec(json!({"flinkConfiguration": {key: value}}));
    let option = "begins with a dash";
    for (kind, fields, words) in [
        (spark, spec(json!({"mainApplicationFile": format!("--conf={driver}=x")})), option),
        (scheduled, template(json!({"mainApplicationFile": "--conf"})), option),
        (spark, spec(json!({"mode": "client"})), "with the operator's account"),
        (scheduled, template(json!({"mode": "client"})), "with the operator's account"),
        (apache, spark_conf(&driver), "sparkConf sets"),
        (apache, spark_conf("spark.kubernetes.driver.podTemplateFile"), "sparkConf sets"),
        (flink, flink_conf("kubernetes.jobmanager.annotations", json!("a:b")), "flinkConfiguration sets"),
        (flink, flink_conf("kubernetes.taskmanager.annotations.a", json!("b")), "flinkConfiguration sets"),
        (flink, flink_conf("kubernetes.pod-template-file.default", json!("/f")), "flinkConfiguration sets"),
        (
            flink,
            flink_conf("kubernetes", json!({"jobmanager": {"annotations": "a:b"}})),
            "flinkConfiguration",
        ),
    ] {
        let answer = stored(cluster, "mallory", &kind.object(&fields)).await;
        refused(answer.map(|_| String::new()), &[SETTINGS, words]).with_context(|| fields.to_string())?;
    }
    for (kind, fields) in [
        (spark, spec(json!({"mainApplicationFile": "local:///a.jar", "mode": "cluster"}))),
        (scheduled, template(json!({"mainApplicationFile": "local:///a.jar"}))),
        (apache, spark_conf("spark.kubernetes.driver.annotation.note")),
        (flink, flink_conf("kubernetes.jobmanager.cpu.amount", json!(1))),
    ] {
        stored(cluster, "alice", &kind.object(&fields)).await.with_context(|| fields.to_string())?;
    }
    for kind in &SHARED {
        for user in ["boss", "mallory"] {
            let answer = stored(cluster, user, &kind.annotated(RUNTIME, &claim(user))).await;
            refused(answer.map(|_| String::new()), &[SETTINGS, "a runtime that sets"])?;
        }
        let made = stored(cluster, "alice", &kind.annotated(RUNTIME, &json!({"note": "kept"}))).await?;
        let (_, pointer) = located(RUNTIME);
        ensure!(made.pointer(&pointer).is_none(), "{made}");
    }
    // What was there before the policy may stay while somebody changes something else.
    let resource = spark.resource();
    let label = ["label", &resource, "old", "-n", NAMESPACE, "a=b", "--as=alice", "--as-group=people"];
    cluster.kubectl(&label).await?;
    cluster.kubectl(&["delete", &resource, "old", "-n", NAMESPACE, "--wait=false"]).await?;
    Ok(())
}
