//! Custom resources whose operators create pods: the first pod of the application that becomes of one, and
//! the account that creates it. The kinds and paths are those of `docs/operators.md`.

use serde_json::Value;

use super::workload::{strings, text};
use crate::output::Failure;
use yunikorn::admission::request::YUNIKORN;
use yunikorn::admission::request::{APP_ID, APPLICATION_ID, OLD_QUEUE, Pod, QUEUE, SPARK_APP_SELECTOR};

/// The label of an application that Spark names when it starts.
const BY_SPARK: &str = "spark-(made-by-spark-submit)";

/// An operator, and the kinds of custom resources that it makes pods of.
struct Operator {
    /// The API group of the kinds.
    group: &'static str,
    /// Namespace and name of the account that creates the pods, as the operator's chart installs it.
    account: &'static str,
    /// The name of its file in `examples/operators`.
    file: &'static str,
    /// The kinds, each with its pods, the first of the application first.
    kinds: &'static [(&'static str, &'static [Pods])],
}

/// The role of pods, and their path as in the templates of an AdmissionPolicy.
type Pods = (&'static str, &'static str);

const SPARK: &str = "sparkoperator.k8s.io";
const APACHE_SPARK: &str = "spark.apache.org";
const RAY: &str = "ray.io";
const FLINK: &str = "flink.apache.org";
const TRAINER: &str = "trainer.kubeflow.org";

/// Every kind of `examples/operators`.
const OPERATORS: [Operator; 7] = [
    Operator {
        group: SPARK,
        account: "spark-operator:spark-operator-controller",
        file: "spark-operator",
        kinds: &[
            (
                "SparkApplication",
                &[("driver", "spec.driver.annotations"), ("executor", "spec.executor.annotations")],
            ),
            (
                "ScheduledSparkApplication",
                &[
                    ("driver", "spec.template.driver.annotations"),
                    ("executor", "spec.template.executor.annotations"),
                ],
            ),
            ("SparkConnect", &[("server", "spec.server.template"), ("executor", "spec.executor.template")]),
        ],
    },
    Operator {
        group: APACHE_SPARK,
        account: "spark-operator:spark-operator",
        file: "apache-spark",
        kinds: &[
            (
                "SparkApplication",
                &[
                    ("driver", "spec.driverSpec.podTemplateSpec"),
                    ("executor", "spec.executorSpec.podTemplateSpec"),
                ],
            ),
            (
                "SparkCluster",
                &[
                    ("master", "spec.masterSpec.statefulSetSpec.template"),
                    ("worker", "spec.workerSpec.statefulSetSpec.template"),
                ],
            ),
        ],
    },
    Operator {
        group: RAY,
        account: "kuberay:kuberay-operator",
        file: "kuberay",
        kinds: &[
            (
                "RayCluster",
                &[("head", "spec.headGroupSpec.template"), ("worker", "spec.workerGroupSpecs.*.template")],
            ),
            (
                "RayJob",
                &[
                    ("head", "spec.rayClusterSpec.headGroupSpec.template"),
                    ("worker", "spec.rayClusterSpec.workerGroupSpecs.*.template"),
                    ("submitter", "spec.submitterPodTemplate"),
                ],
            ),
            (
                "RayCronJob",
                &[
                    ("head", "spec.jobTemplate.rayClusterSpec.headGroupSpec.template"),
                    ("worker", "spec.jobTemplate.rayClusterSpec.workerGroupSpecs.*.template"),
                    ("submitter", "spec.jobTemplate.submitterPodTemplate"),
                ],
            ),
            (
                "RayService",
                &[
                    ("head", "spec.rayClusterConfig.headGroupSpec.template"),
                    ("worker", "spec.rayClusterConfig.workerGroupSpecs.*.template"),
                ],
            ),
        ],
    },
    Operator {
        group: FLINK,
        account: "flink-operator:flink-operator",
        file: "flink",
        kinds: &[
            (
                "FlinkDeployment",
                &[
                    ("JobManager", "spec.jobManager.podTemplate"),
                    ("TaskManager", "spec.taskManager.podTemplate"),
                ],
            ),
            (
                "FlinkBlueGreenDeployment",
                &[
                    ("JobManager", "spec.template.spec.jobManager.podTemplate"),
                    ("TaskManager", "spec.template.spec.taskManager.podTemplate"),
                ],
            ),
        ],
    },
    Operator {
        group: "kubeflow.org",
        account: "kubeflow:training-operator",
        file: "training-operator",
        kinds: &[
            ("JAXJob", &[("replica", "spec.jaxReplicaSpecs.*.template")]),
            ("MPIJob", &[("replica", "spec.mpiReplicaSpecs.*.template")]),
            ("PaddleJob", &[("replica", "spec.paddleReplicaSpecs.*.template")]),
            ("PyTorchJob", &[("replica", "spec.pytorchReplicaSpecs.*.template")]),
            ("TFJob", &[("replica", "spec.tfReplicaSpecs.*.template")]),
            ("XGBoostJob", &[("replica", "spec.xgbReplicaSpecs.*.template")]),
        ],
    },
    Operator {
        group: TRAINER,
        account: JOB_SET_ACCOUNT,
        file: "trainer",
        kinds: &[(
            "TrainJob",
            &[
                (
                    "node",
                    "spec.runtimePatches.*.trainingRuntimeSpec.template.spec.replicatedJobs.*.template.spec.template",
                ),
                ("node", "spec.podTemplateOverrides.*"),
            ],
        )],
    },
    Operator {
        group: "jobset.x-k8s.io",
        account: JOB_SET_ACCOUNT,
        file: "trainer",
        kinds: &[("JobSet", &[("job", "spec.replicatedJobs.*.template.spec.template")])],
    },
];

const JOB_SET_ACCOUNT: &str = "kubeflow-system:jobset-controller-manager";

/// The first pod of the application that an operator makes of a custom resource.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Operated {
    /// The kind and name of the resource.
    pub object: String,
    /// The API group and the plural name of its kind.
    pub resource: (String, String),
    /// The role of the pod: `driver`.
    pub role: String,
    /// The path to its template, as in an AdmissionPolicy.
    pub path: &'static str,
    /// Namespace and name of the account that usually creates it.
    pub account: &'static str,
    /// The file of `examples/operators` that lets the account pass on names.
    pub file: &'static str,
    /// The pod, as far as it is known.
    pub pod: Pod,
    /// The other pods, and the parts that the resource does not decide, each in a sentence.
    pub notes: Vec<String>,
}

/// A pod with its role.
#[derive(Clone)]
struct Made<'v> {
    role: String,
    path: &'static str,
    /// The template, or for Kubeflow's spark-operator the description of a driver or executor.
    value: &'v Value,
}

/// Returns the pods that an operator makes of an object; `None` for an object of another kind.
///
/// # Errors
/// When a label or an annotation is no string.
pub fn operated(object: &Value, location: &str) -> Result<Option<Operated>, Failure> {
    let (group, kind) = (group(object), text(object, "/kind"));
    let operator = OPERATORS.iter().find(|operator| operator.group == group);
    let kinds = operator
        .and_then(|operator| Some((operator, operator.kinds.iter().find(|(name, _)| *name == kind)?)));
    let Some((operator, (_, pods))) = kinds else { return Ok(None) };
    let mut made: Vec<Made<'_>> = Vec::new();
    for (role, path) in *pods {
        let templates = templates(object, path.strip_suffix(".annotations").unwrap_or(path));
        let role = |name: String| if name.is_empty() { (*role).to_owned() } else { format!("{role} {name}") };
        let named = templates.into_iter().map(|(name, value)| Made { role: role(name), path, value });
        made.extend(named);
    }
    let (role, path) = pods.first().copied().unwrap_or(("pod", ""));
    let unwritten = Made { role: role.to_owned(), path, value: &Value::Null };
    // The pod exists, even if nothing is written about it.
    if !path.contains('*') && !made.iter().any(|made| made.path == path) {
        made.insert(0, unwritten.clone());
    }
    made.sort_by_key(|made| !is_first(&made.role));
    let none = Made { path: "", ..unwritten };
    let (first, others) = made.split_first().unwrap_or((&none, &[]));
    let pod = pod(object, first, location)?;
    let mut notes = Vec::new();
    for other in others {
        notes.push(of_other(&other.role, &pod, &self::pod(object, other, location)?));
    }
    notes.extend(unknown(object).iter().map(|note| (*note).to_owned()));
    let plural = format!("{}s", kind.to_ascii_lowercase());
    Ok(Some(Operated {
        object: format!("{kind}/{}", text(object, "/metadata/name")),
        resource: (group.to_owned(), plural),
        role: first.role.clone(),
        path: first.path,
        account: operator.account,
        file: operator.file,
        pod,
        notes,
    }))
}

/// Returns whether replicas of this name are the first of their job.
fn is_first(role: &str) -> bool {
    let (_, name) = role.split_once(' ').unwrap_or(("", role));
    matches!(name, "Master" | "Chief" | "Launcher" | "head" | "driver" | "server" | "master" | "JobManager")
}

/// Returns the values at a path, each with the names of the members that `*` stands for.
fn templates<'v>(object: &'v Value, path: &str) -> Vec<(String, &'v Value)> {
    let mut templates = vec![(String::new(), object)];
    for segment in path.split('.') {
        let below = templates.into_iter().flat_map(|(name, value)| members(name, value, segment));
        templates = below.collect();
    }
    templates
}

fn members<'v>(above: String, value: &'v Value, segment: &str) -> Vec<(String, &'v Value)> {
    let named = |member: &str| if above.is_empty() { member.to_owned() } else { format!("{above} {member}") };
    match (segment, value) {
        ("*", Value::Array(items)) => {
            let name = |item: &Value, number: usize| {
                let name = ["/groupName", "/name"].map(|pointer| text(item, pointer).to_owned());
                name.into_iter().find(|name| !name.is_empty()).unwrap_or_else(|| number.to_string())
            };
            items.iter().zip(1..).map(|(item, number)| (named(&name(item, number)), item)).collect()
        }
        ("*", Value::Object(fields)) => fields.iter().map(|(key, value)| (named(key), value)).collect(),
        (segment, value) => value.get(segment).map(|value| (above, value)).into_iter().collect(),
    }
}

/// Returns a pod as its operator makes it, as far as YuniKorn reads it.
fn pod(object: &Value, made: &Made<'_>, location: &str) -> Result<Pod, Failure> {
    let texts =
        |value: &Value, pointer: &str| strings(value.pointer(pointer), &format!("{location}: {pointer}"));
    let mut pod = Pod {
        labels: texts(made.value, "/metadata/labels")?,
        annotations: texts(made.value, "/metadata/annotations")?,
        scheduler_name: text(made.value, "/spec/schedulerName").to_owned(),
        ..Pod::default()
    };
    match group(object) {
        SPARK if made.path.ends_with(".annotations") => {
            kubeflow_spark(&mut pod, part(object, spark_spec(object)), made, location)?;
        }
        SPARK | APACHE_SPARK => {
            let role = made.role.split(' ').next().unwrap_or_default();
            spark_conf(&mut pod, part(object, "/spec/sparkConf"), role);
            pod.labels.insert(SPARK_APP_SELECTOR.to_owned(), BY_SPARK.to_owned());
        }
        RAY => {
            // KubeRay copies the labels of a RayJob or RayService to the RayCluster, and these two to pods.
            let labels = texts(object, "/metadata/labels")?;
            for (from, to) in [(QUEUE, OLD_QUEUE), (APP_ID, APPLICATION_ID)] {
                pod.labels.extend(labels.get(from).map(|value| (to.to_owned(), value.clone())));
            }
        }
        FLINK => flink(&mut pod, object, made, location)?,
        _ => {}
    }
    Ok(pod)
}

/// Returns the API group of an object.
fn group(object: &Value) -> &str {
    text(object, "/apiVersion").split_once('/').unwrap_or_default().0
}

/// Returns the value at a pointer, or null.
fn part<'v>(value: &'v Value, pointer: &str) -> &'v Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

/// Returns the pointer to the application in a resource of Kubeflow's spark-operator.
fn spark_spec(object: &Value) -> &'static str {
    if text(object, "/kind") == "ScheduledSparkApplication" { "/spec/template" } else { "/spec" }
}

/// Adds what Kubeflow's spark-operator makes of a driver or executor: options of `spark-submit`.
fn kubeflow_spark(pod: &mut Pod, spec: &Value, made: &Made<'_>, location: &str) -> Result<(), Failure> {
    let texts = |pointer: &str| strings(made.value.pointer(pointer), &format!("{location}: {pointer}"));
    pod.labels = texts("/template/metadata/labels")?;
    pod.annotations = texts("/template/metadata/annotations")?;
    spark_conf(pod, part(spec, "/sparkConf"), &made.role);
    pod.labels.extend(texts("/labels")?);
    pod.annotations.extend(texts("/annotations")?);
    text(made.value, "/schedulerName").clone_into(&mut pod.scheduler_name);
    if text(spec, "/batchScheduler") == YUNIKORN {
        YUNIKORN.clone_into(&mut pod.scheduler_name);
        let queue = text(spec, "/batchSchedulerOptions/queue");
        if !queue.is_empty() {
            pod.labels.insert(OLD_QUEUE.to_owned(), queue.to_owned());
        }
    }
    pod.labels.insert(SPARK_APP_SELECTOR.to_owned(), BY_SPARK.to_owned());
    Ok(())
}

/// Adds the labels and annotations in Spark's settings.
fn spark_conf(pod: &mut Pod, conf: &Value, role: &str) {
    let settings = conf.as_object().into_iter().flatten();
    for (key, value) in settings.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?))) {
        if let Some(label) = key.strip_prefix(&format!("spark.kubernetes.{role}.label.")) {
            pod.labels.insert(label.to_owned(), value.to_owned());
        } else if let Some(annotation) = key.strip_prefix(&format!("spark.kubernetes.{role}.annotation.")) {
            pod.annotations.insert(annotation.to_owned(), value.to_owned());
        } else if key == "spark.kubernetes.scheduler.name" {
            value.clone_into(&mut pod.scheduler_name);
        }
    }
}

/// Adds the template for all pods of a Flink cluster, which that of the role overrides, and the labels and
/// annotations in Flink's settings.
fn flink(pod: &mut Pod, object: &Value, made: &Made<'_>, location: &str) -> Result<(), Failure> {
    let spec = if made.path.starts_with("spec.template.") { "/spec/template/spec" } else { "/spec" };
    let spec = part(object, spec);
    let texts = |pointer: &str| strings(spec.pointer(pointer), &format!("{location}: {pointer}"));
    let mut common = [texts("/podTemplate/metadata/labels")?, texts("/podTemplate/metadata/annotations")?];
    for (common, own) in common.iter_mut().zip([&mut pod.labels, &mut pod.annotations]) {
        common.append(own);
        *own = std::mem::take(common);
    }
    if pod.scheduler_name.is_empty() {
        text(spec, "/podTemplate/spec/schedulerName").clone_into(&mut pod.scheduler_name);
    }
    let role = made.role.to_ascii_lowercase();
    let configuration = part(spec, "/flinkConfiguration");
    for (name, texts) in [("labels", &mut pod.labels), ("annotations", &mut pod.annotations)] {
        let setting = configuration.get(format!("kubernetes.{role}.{name}")).and_then(Value::as_str);
        let pairs = setting.unwrap_or_default().split(',').filter_map(|pair| pair.split_once(':'));
        texts.extend(pairs.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())));
    }
    Ok(())
}

/// Describes a pod besides the first.
fn of_other(role: &str, first: &Pod, other: &Pod) -> String {
    let queue = |pod: &Pod| [QUEUE, OLD_QUEUE].map(|key| pod.label(key).to_owned()).concat();
    let application = |pod: &Pod| {
        [APP_ID, APPLICATION_ID, SPARK_APP_SELECTOR].map(|key| pod.label(key).to_owned()).concat()
    };
    if application(first) == application(other) {
        return format!(
            "the {role} joins the same application, so it runs in its queue without a check of the ACLs"
        );
    }
    let queue = match queue(other) {
        queue if queue.is_empty() => "no queue".to_owned(),
        queue => queue,
    };
    format!("the {role} is another application, which asks for {queue}: ask about it as a Pod")
}

/// Names what the resource does not decide.
fn unknown(object: &Value) -> &'static [&'static str] {
    const SUBMITTED: &str = "not known: the application's ID, which spark-submit makes";
    let spec = part(object, spark_spec(object));
    match group(object) {
        SPARK if text(object, "/kind") != "SparkConnect" => {
            if text(spec, "/batchScheduler") == YUNIKORN
                || spec.pointer("/batchSchedulerOptions/queue").is_none()
            {
                return &[SUBMITTED];
            }
            &[
                SUBMITTED,
                "not known: whether the operator's default batch scheduler is yunikorn; only then is \
                 batchSchedulerOptions.queue used, unless spec.batchScheduler is yunikorn",
            ]
        }
        APACHE_SPARK | SPARK => &["not known: the application's ID, which Spark makes"],
        RAY => &[
            "not known: whether KubeRay runs with the batch scheduler yunikorn; only then does it copy the \
                  labels of the resource to the pods",
        ],
        FLINK if text(object, "/spec/mode") != "standalone" => {
            &["in mode native, the account of the JobManager creates the TaskManagers"]
        }
        TRAINER => &["not known: the labels and annotations in the template of the TrainingRuntime"],
        _ => &[],
    }
}
