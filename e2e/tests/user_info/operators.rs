//! Tests `examples/operators` and `manifests/user-info/settings.yaml`: a custom resource runs pods only as
//! its author, although the account of an operator creates them.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::hadoop::{Hadoop, SubmitAnswer, SubmitQuestion};
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{TestCluster, eventually};
use serde_json::{Value, json};
use yunikorn::admission::request::USER_INFO;
use yunikorn_access::alias;

use super::{
    UNLABELLED, ask, claim, controller, create, guard, info, kubectl, merged, nobody_asked, pod, refused,
    template,
};
use crate::pages::root;

/// A kind whose operator makes pods.
struct Kind {
    group: &'static str,
    version: &'static str,
    name: &'static str,
    plural: &'static str,
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
    Kind { group, version, name, plural, paths }
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

/// Accounts that create pods from programs' input, so that no path can check them. They belong to Argo
/// Workflows 4.1, Airflow's `KubernetesExecutor` and Kyuubi 1.12.
const UNLISTED: [&str; 3] = [
    "system:serviceaccount:argo:argo",
    "system:serviceaccount:airflow:airflow-scheduler",
    "system:serviceaccount:kyuubi:kyuubi",
];

/// Builds the objects along a path from its end: the value of `annotations`, and the objects around it.
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
    /// Returns the part of the definition that the paths cover.
    fn definition(&self) -> Value {
        let schema = self.paths.iter().fold(Value::Null, |all, path| merged(all, &schema(path)));
        let singular = self.name.to_lowercase();
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{}.{}", self.plural, self.group),
                "annotations": {"api-approved.kubernetes.io": "unapproved, a definition for tests"}},
            "spec": {"group": self.group, "scope": "Namespaced",
                "names": {"kind": self.name, "listKind": format!("{}List", self.name), "plural": self.plural, "singular": singular},
                "versions": [{"name": self.version, "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}})
    }

    /// Returns an object with this spec.
    fn object(&self, fields: &Value) -> Value {
        let head = json!({"apiVersion": format!("{}/{}", self.group, self.version), "kind": self.name,
            "metadata": {"name": "job", "namespace": NAMESPACE}});
        merged(head, fields)
    }

    /// Returns an object with these annotations at one path.
    fn annotated(&self, path: &str, annotations: &Value) -> Value {
        self.object(&at(path, annotations))
    }

    /// Returns the account of the operator, and the kind of object that it creates: a workload, or another
    /// kind here.
    fn creates(&self) -> (&'static str, &'static str) {
        let account = match self.group {
            SPARK => "system:serviceaccount:spark-operator:spark-operator-controller",
            APACHE_SPARK => "system:serviceaccount:spark-operator:spark-operator",
            RAY => "system:serviceaccount:kuberay:kuberay-operator",
            KUBEFLOW => "system:serviceaccount:kubeflow:training-operator",
            TRAINER => "system:serviceaccount:kubeflow-system:kubeflow-trainer-controller-manager",
            JOBSET => "system:serviceaccount:kubeflow-system:jobset-controller-manager",
            _ => "system:serviceaccount:flink-operator:flink-operator",
        };
        let created = match self.name {
            "ScheduledSparkApplication" => "SparkApplication",
            "SparkCluster" => "StatefulSet",
            "RayJob" | "RayService" => "RayCluster",
            "RayCronJob" => "RayJob",
            "TrainJob" => "JobSet",
            "JobSet" => "Job",
            "FlinkDeployment" => "Deployment",
            "FlinkBlueGreenDeployment" => "FlinkDeployment",
            _ => "Pod",
        };
        (account, created)
    }

    /// The resource name that kubectl uses for the objects.
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

/// Returns the templates of all examples, after applying each with the command in its first line.
async fn apply_examples(cluster: &TestCluster) -> Result<BTreeSet<String>> {
    let mut templates = BTreeSet::new();
    for entry in std::fs::read_dir(root().join("examples/operators"))? {
        let text = std::fs::read_to_string(entry?.path())?;
        let command = text.lines().next().and_then(|line| line.strip_prefix("# ")).context("no command")?;
        cluster.shell(&root(), command).await?;
        let objects: Vec<Value> = serde_saphyr::from_multiple(&text)?;
        templates.extend(objects.iter().flat_map(written));
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
    let groups: BTreeSet<_> = KINDS.iter().map(|kind| kind.group).collect();
    let (rbac, name) = ("rbac.authorization.k8s.io", "queuewarden-e2e-operators");
    let role = json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": name},
        "rules": [{"apiGroups": groups, "resources": ["*"], "verbs": ["*"]}]});
    let binding = json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "subjects": [{"apiGroup": rbac, "kind": "Group", "name": "people"}],
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name}});
    let mut items = vec![role, binding];
    items.extend(KINDS.iter().map(Kind::definition));
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
        let operators = policy.pointer("/spec/userInfo/operators").and_then(Value::as_array);
        let accounts = KINDS.iter().map(|kind| json!(kind.creates().0)).collect::<Vec<_>>();
        ensure!(operators.is_some_and(|all| all.iter().all(|one| accounts.contains(one))), "{operators:?}");
        ensure!(policy.pointer("/spec/externalUsers").is_none(), "an operator needs no list: {policy}");
        for account in UNLISTED {
            refused(create(cluster, account, &pod("job", NAMESPACE, &claim("boss"))).await, &["boss"])?;
            let made = stored(cluster, account, &pod("job", NAMESPACE, &json!({}))).await?;
            ensure!(made["metadata"]["annotations"][USER_INFO] == own(account), "{made}");
        }
        Ok(())
    })
    .await
}

/// Checks a kind at each of its paths: another user's name is refused, a missing one becomes the author's
/// own, and no one can change it afterwards.
async fn every_path(cluster: &TestCluster, kind: &Kind) -> Result<()> {
    let fields = |annotations: &Value| {
        kind.paths.iter().fold(json!({}), |all, path| merged(all, &at(path, annotations)))
    };
    // The operator may take some time to read the last example.
    eventually("the templates of the examples to be in force", PATIENCE, || async {
        let answer = stored(cluster, "mallory", &kind.object(&fields(&claim("boss")))).await;
        Ok(refused(answer.map(|_| String::new()), &[WEBHOOK]).ok())
    })
    .await?;
    create(cluster, "alice", &kind.object(&fields(&json!({"note": "kept"})))).await?;
    let resource = kind.resource();
    let text = cluster.kubectl(&["get", &resource, "job", "-n", NAMESPACE, "-o", "json"]).await?;
    let made: Value = serde_json::from_str(&text)?;
    passes_on(cluster, kind, &made).await?;
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

/// Returns a reference to an object by its owner.
fn reference(owner: &Value) -> Value {
    let metadata = &owner["metadata"];
    json!({"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"], "uid": metadata["uid"]})
}

/// Returns an object of this kind with these annotations on its pods, as an operator creates it.
fn created(kind: &str, annotations: &Value) -> Result<Value> {
    let job = || {
        let spec = merged(template("made", annotations), &json!({"spec": {"restartPolicy": "Never"}}));
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": NAMESPACE}, "spec": {"template": spec}})
    };
    let custom = || {
        let kind = KINDS.iter().find(|known| known.name == kind && known.group != APACHE_SPARK);
        let kind = kind.context("an unknown kind")?;
        kind.paths.last().map(|path| kind.annotated(path, annotations)).context("no path")
    };
    let object = match kind {
        "Pod" => pod("made", NAMESPACE, annotations),
        "Job" => job(),
        "Deployment" | "StatefulSet" => controller(kind, "made", annotations),
        _ => custom()?,
    };
    Ok(merged(object, &json!({"metadata": {"name": "made"}})))
}

/// Checks that the operator's account passes on the name in this object of alice's, and writes no other.
async fn passes_on(cluster: &TestCluster, kind: &Kind, owner: &Value) -> Result<()> {
    let (account, created_kind) = kind.creates();
    let object = |annotations: &Value, owners: &[&Value]| {
        let owners = json!({"metadata": {"ownerReferences": owners}});
        anyhow::Ok(merged(created(created_kind, annotations)?, &owners))
    };
    let alices = json!({USER_INFO: own("alice")});
    let reference = reference(owner);
    let passed = stored(cluster, account, &object(&alices, &[&reference])?).await?;
    ensure!(passed.to_string().contains(&json!(own("alice")).to_string()), "{passed}");
    let recreated = merged(reference.clone(), &json!({"uid": "00000000-0000-0000-0000-000000000000"}));
    let elsewhere = json!({"metadata": {"namespace": UNLABELLED}});
    let nobodys = format!("no {} `job` with the UID", kind.name);
    for (object, word) in [
        (object(&claim("boss"), &[&reference])?, "names user `alice`, and an account"),
        (object(&alices, &[])?, "no resource of a kind in spec.userInfo.templates owns it"),
        (object(&alices, &[&recreated])?, &nobodys),
        (object(&alices, &[&reference, &recreated])?, &nobodys),
        (merged(object(&alices, &[&reference])?, &elsewhere), &nobodys),
    ] {
        let answer = stored(cluster, account, &object).await.map(|made| made.to_string());
        refused(answer, &[WEBHOOK, word]).with_context(|| object.to_string())?;
    }
    Ok(())
}

/// Returns the relevant command line options that spark-operator 2.5.2 generates from a `SparkApplication`
/// (`buildSparkSubmitArgs`).
fn command_line(application: &Value) -> Vec<String> {
    let (metadata, spec) = (&application["metadata"], &application["spec"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut line =
        ["--master", "k8s://https://10.0.0.1:443", "--deploy-mode", "cluster"].map(str::to_owned).to_vec();
    line.extend([
        "--class".to_owned(),
        text(&spec["mainClass"]),
        "--name".to_owned(),
        text(&metadata["name"]),
    ]);
    let annotations = spec.pointer("/driver/annotations").and_then(Value::as_object);
    for (key, value) in annotations.into_iter().flatten() {
        line.extend(["--conf".to_owned(), format!("{ANNOTATION}{key}={}", text(value))]);
    }
    line.push(text(&spec["mainApplicationFile"]));
    line.extend(spec["arguments"].as_array().into_iter().flatten().map(text));
    line
}

/// The prefix of settings that become annotations of the driver.
const ANNOTATION: &str = "spark.kubernetes.driver.annotation.";

/// Spark's launcher reads its options from the arguments of a program if `--class` names one of its shells.
#[tokio::test]
async fn what_spark_reads_in_the_arguments_names_nobody_else() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        people_may(cluster).await?;
        let (operator, endpoints) = guard(cluster, &json!({"userInfo": {"mode": "Enforce"}})).await?;
        ask(cluster, "user-info", &endpoints).await?;
        apply_examples(cluster).await?;
        let [kind, ..] = &KINDS;
        let boss = own("boss");
        let option = format!("{ANNOTATION}{USER_INFO}={boss}");
        let class = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2";
        let arguments = ["--class", "org.apache.spark.examples.SparkPi", "--conf", &option];
        let attack = kind
            .object(&json!({"spec": {"mainClass": class, "mainApplicationFile": "local:///a.jar",
            "arguments": arguments, "driver": {"annotations": {}}, "executor": {"annotations": {}}}}));
        // Without this policy, only the resulting pod can be compared.
        eventually("the settings to be refused", PATIENCE, || async {
            let answer = stored(cluster, "mallory", &attack).await.map(|made| made.to_string());
            Ok(refused(answer, &[SETTINGS, "mainClass"]).ok())
        })
        .await?;
        cluster.kubectl(&["delete", "validatingadmissionpolicybinding", SETTINGS]).await?;
        eventually("the template of the example to be in force", PATIENCE, || async {
            let made = stored(cluster, "mallory", &attack).await?;
            let named = made.pointer("/spec/driver/annotations").and_then(|all| all.get(USER_INFO));
            Ok((named == Some(&own("mallory").into())).then_some(()))
        })
        .await?;
        create(cluster, "mallory", &attack).await?;
        let get = ["get", &kind.resource(), "job", "-n", NAMESPACE, "-o", "json"];
        let application: Value = serde_json::from_str(&cluster.kubectl(&get).await?)?;
        let question = SubmitQuestion { arguments: command_line(&application) };
        let answer = Hadoop::get()?.spark_submit(&[question])?;
        let [SubmitAnswer::Submitted { main_class, settings, .. }] = &*answer else {
            anyhow::bail!("{answer:?}")
        };
        ensure!(main_class.as_deref() == Some(arguments[1]), "{main_class:?}");
        let annotations: serde_json::Map<String, Value> = settings
            .iter()
            .filter_map(|(key, value)| Some((key.strip_prefix(ANNOTATION)?.to_owned(), json!(value))))
            .collect();
        ensure!(
            annotations.get(USER_INFO) == Some(&json!(boss)),
            "Spark reads another name: {annotations:?}"
        );
        let labels = json!({"sparkoperator.k8s.io/app-name": "job", "spark-role": "driver"});
        let driver =
            merged(pod("driver", NAMESPACE, &annotations.into()), &json!({"metadata": {"labels": labels}}));
        let owned = |owners: &[&Value]| {
            let owners: Vec<_> = owners.iter().map(|owner| reference(owner)).collect();
            merged(driver.clone(), &json!({"metadata": {"ownerReferences": owners}}))
        };
        let (account, _) = kind.creates();
        let refusal = [
            WEBHOOK,
            "it names user `boss`, and SparkApplication `job`, which owns it, names user `mallory`",
        ];
        refused(create(cluster, account, &owned(&[&application])).await, &refusal)?;

        // A template file may omit the owner, and a user's template may add one.
        let ownerless = [WEBHOOK, "no resource of a kind in spec.userInfo.templates owns it"];
        refused(create(cluster, account, &owned(&[])).await, &ownerless)?;
        let name = json!({"metadata": {"name": "of-boss"}});
        let bosses = merged(kind.annotated("spec.driver.annotations", &json!({})), &name);
        let bosses = kubectl(cluster, "boss", &["create", "-o", "json"], &bosses).await?;
        let bosses: Value = serde_json::from_str(&bosses)?;
        refused(create(cluster, account, &owned(&[&bosses, &application])).await, &refusal)?;
        // Only a user on a list may change the name later.
        let change = json!({"spec": {"driver": {"annotations": {USER_INFO: boss}}}}).to_string();
        let resource = kind.resource();
        let patch = [
            "patch",
            &resource,
            "job",
            "-n",
            NAMESPACE,
            "--type=merge",
            "-p",
            &change,
            "--as=mallory",
            "--as-group=people",
        ];
        refused(cluster.kubectl(&patch).await, &[WEBHOOK, "it was set before and would be changed"])?;

        // The policy leaves the comparison to a webhook that fails closed, and refuses everything without an
        // owner.
        let honest = merged(
            owned(&[&application]),
            &json!({"metadata": {"annotations": {USER_INFO: own("mallory")}}}),
        );
        stored(cluster, account, &honest).await?;
        operator.kill().await?;
        let of_nobody = json!({"metadata": {"ownerReferences": Value::Null}});
        for (object, word) in [
            (honest.clone(), "operator.user-info.queuewarden.dev"),
            (merged(honest, &of_nobody), "queuewarden-own-names"),
        ] {
            let answer = stored(cluster, account, &object).await.map(|made| made.to_string());
            refused(answer, &[word])?;
        }
        let unnamed = merged(owned(&[]), &json!({"metadata": {"annotations": Value::Null}}));
        stored(cluster, account, &unnamed).await?;
        cluster.kubectl(&["delete", &kind.resource(), "--all", "-n", NAMESPACE]).await.map(drop)
    })
    .await
}

/// Checks that the API server refuses settings that make spark-submit read options of a user, and no others.
async fn settings(cluster: &TestCluster) -> Result<()> {
    let of = |group: &str, name: &str| {
        let found = KINDS.iter().find(|kind| (kind.group, kind.name) == (group, name));
        found.with_context(|| format!("no {name}"))
    };
    let spark = of(SPARK, "SparkApplication")?;
    let scheduled = of(SPARK, "ScheduledSparkApplication")?;
    let spec = |fields: Value| json!({"spec": fields});
    let template = |fields: Value| json!({"spec": {"template": fields}});
    let option = "begins with a dash";
    for (kind, fields, words) in [
        (spark, spec(json!({"mainApplicationFile": format!("--conf={ANNOTATION}{USER_INFO}=x")})), option),
        (scheduled, template(json!({"mainApplicationFile": "--conf"})), option),
        (spark, spec(json!({"mode": "client"})), "with the operator's account"),
        (scheduled, template(json!({"mode": "client"})), "with the operator's account"),
        (spark, spec(json!({"mainClass": "org.apache.spark.repl.Main"})), "mainClass"),
        (
            scheduled,
            template(json!({"mainClass": "org.apache.spark.sql.connect.service.SparkConnectServer"})),
            "mainClass",
        ),
    ] {
        let answer = stored(cluster, "mallory", &kind.object(&fields)).await;
        refused(answer.map(|_| String::new()), &[SETTINGS, words]).with_context(|| fields.to_string())?;
    }
    for (kind, fields) in [
        (spark, spec(json!({"mainApplicationFile": "local:///a.jar", "mode": "cluster"}))),
        (scheduled, template(json!({"mainApplicationFile": "local:///a.jar"}))),
        (spark, spec(json!({"mainClass": "org.apache.spark.examples.SparkPi", "arguments": ["--verbose"]}))),
    ] {
        stored(cluster, "alice", &kind.object(&fields)).await.with_context(|| fields.to_string())?;
    }
    // Annotations from before the policy may stay while a user changes something else.
    let resource = spark.resource();
    let label = ["label", &resource, "old", "-n", NAMESPACE, "a=b", "--as=alice", "--as-group=people"];
    cluster.kubectl(&label).await?;
    cluster.kubectl(&["delete", &resource, "old", "-n", NAMESPACE, "--wait=false"]).await?;
    Ok(())
}
