//! Custom resources whose operators create pods: the first pod of the application that becomes of one, and
//! the account that creates it. The kinds and paths are those of `docs/operators.md`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::workload::{strings, text};
use crate::output::Failure;
use yunikorn::admission::patch::YUNIKORN;
use yunikorn::admission::request::{APP_ID, APPLICATION_ID, OLD_QUEUE, Pod, QUEUE, SPARK_APP_SELECTOR};

/// The label of an application that Spark names when it starts.
const BY_SPARK: &str = "spark-(made-by-spark-submit)";

/// A kind of custom resource.
struct Custom {
    group: &'static str,
    kind: &'static str,
    /// Namespace and name of the account that creates the pods, as the operator's chart installs it.
    account: &'static str,
    /// The pods, the first of the application first.
    pods: &'static [Pods],
}

/// Pods of one role.
struct Pods {
    role: &'static str,
    /// The path as in the templates of an AdmissionPolicy.
    path: &'static str,
}

const fn pods(role: &'static str, path: &'static str) -> Pods {
    Pods { role, path }
}

const SPARK: &str = "sparkoperator.k8s.io";
const APACHE_SPARK: &str = "spark.apache.org";
const RAY: &str = "ray.io";
const FLINK: &str = "flink.apache.org";
const TRAINING: &str = "kubeflow.org";
const SPARK_ACCOUNT: &str = "spark-operator:spark-operator-controller";
const APACHE_ACCOUNT: &str = "spark-operator:spark-operator";
const RAY_ACCOUNT: &str = "kuberay:kuberay-operator";
const FLINK_ACCOUNT: &str = "flink-operator:flink-operator";
const TRAINING_ACCOUNT: &str = "kubeflow:training-operator";
const JOB_SET_ACCOUNT: &str = "kubeflow-system:jobset-controller-manager";

/// Every kind of `examples/operators`.
const KINDS: &[Custom] = &[
    Custom {
        group: SPARK,
        kind: "SparkApplication",
        account: SPARK_ACCOUNT,
        pods: &[pods("driver", "spec.driver.annotations"), pods("executor", "spec.executor.annotations")],
    },
    Custom {
        group: SPARK,
        kind: "ScheduledSparkApplication",
        account: SPARK_ACCOUNT,
        pods: &[
            pods("driver", "spec.template.driver.annotations"),
            pods("executor", "spec.template.executor.annotations"),
        ],
    },
    Custom {
        group: SPARK,
        kind: "SparkConnect",
        account: SPARK_ACCOUNT,
        pods: &[pods("server", "spec.server.template"), pods("executor", "spec.executor.template")],
    },
    Custom {
        group: APACHE_SPARK,
        kind: "SparkApplication",
        account: APACHE_ACCOUNT,
        pods: &[
            pods("driver", "spec.driverSpec.podTemplateSpec"),
            pods("executor", "spec.executorSpec.podTemplateSpec"),
        ],
    },
    Custom {
        group: APACHE_SPARK,
        kind: "SparkCluster",
        account: APACHE_ACCOUNT,
        pods: &[
            pods("master", "spec.masterSpec.statefulSetSpec.template"),
            pods("worker", "spec.workerSpec.statefulSetSpec.template"),
        ],
    },
    Custom {
        group: RAY,
        kind: "RayCluster",
        account: RAY_ACCOUNT,
        pods: &[
            pods("head", "spec.headGroupSpec.template"),
            pods("worker", "spec.workerGroupSpecs.*.template"),
        ],
    },
    Custom {
        group: RAY,
        kind: "RayJob",
        account: RAY_ACCOUNT,
        pods: &[
            pods("head", "spec.rayClusterSpec.headGroupSpec.template"),
            pods("worker", "spec.rayClusterSpec.workerGroupSpecs.*.template"),
            pods("submitter", "spec.submitterPodTemplate"),
        ],
    },
    Custom {
        group: RAY,
        kind: "RayCronJob",
        account: RAY_ACCOUNT,
        pods: &[
            pods("head", "spec.jobTemplate.rayClusterSpec.headGroupSpec.template"),
            pods("worker", "spec.jobTemplate.rayClusterSpec.workerGroupSpecs.*.template"),
            pods("submitter", "spec.jobTemplate.submitterPodTemplate"),
        ],
    },
    Custom {
        group: RAY,
        kind: "RayService",
        account: RAY_ACCOUNT,
        pods: &[
            pods("head", "spec.rayClusterConfig.headGroupSpec.template"),
            pods("worker", "spec.rayClusterConfig.workerGroupSpecs.*.template"),
        ],
    },
    Custom {
        group: FLINK,
        kind: "FlinkDeployment",
        account: FLINK_ACCOUNT,
        pods: &[
            pods("JobManager", "spec.jobManager.podTemplate"),
            pods("TaskManager", "spec.taskManager.podTemplate"),
        ],
    },
    Custom {
        group: FLINK,
        kind: "FlinkBlueGreenDeployment",
        account: FLINK_ACCOUNT,
        pods: &[
            pods("JobManager", "spec.template.spec.jobManager.podTemplate"),
            pods("TaskManager", "spec.template.spec.taskManager.podTemplate"),
        ],
    },
    training("JAXJob", &[pods("replica", "spec.jaxReplicaSpecs.*.template")]),
    training("MPIJob", &[pods("replica", "spec.mpiReplicaSpecs.*.template")]),
    training("PaddleJob", &[pods("replica", "spec.paddleReplicaSpecs.*.template")]),
    training("PyTorchJob", &[pods("replica", "spec.pytorchReplicaSpecs.*.template")]),
    training("TFJob", &[pods("replica", "spec.tfReplicaSpecs.*.template")]),
    training("XGBoostJob", &[pods("replica", "spec.xgbReplicaSpecs.*.template")]),
    Custom {
        group: "trainer.kubeflow.org",
        kind: "TrainJob",
        account: JOB_SET_ACCOUNT,
        pods: &[
            pods(
                "node",
                "spec.runtimePatches.*.trainingRuntimeSpec.template.spec.replicatedJobs.*.template.spec.template",
            ),
            pods("node", "spec.podTemplateOverrides.*"),
        ],
    },
    Custom {
        group: "jobset.x-k8s.io",
        kind: "JobSet",
        account: JOB_SET_ACCOUNT,
        pods: &[pods("job", "spec.replicatedJobs.*.template.spec.template")],
    },
];

const fn training(kind: &'static str, pods: &'static [Pods]) -> Custom {
    Custom { group: TRAINING, kind, account: TRAINING_ACCOUNT, pods }
}

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

/// Returns the name of the file of `examples/operators` for a group.
fn file(group: &str) -> &'static str {
    match group {
        SPARK => "spark-operator",
        APACHE_SPARK => "apache-spark",
        RAY => "kuberay",
        FLINK => "flink",
        TRAINING => "training-operator",
        _ => "trainer",
    }
}

/// A pod with its role.
struct Made<'v> {
    role: String,
    path: &'static str,
    /// The template, or for Kubeflow's spark-operator the description of a driver or executor.
    value: Option<&'v Value>,
}

/// Returns the pods that an operator makes of an object; `None` for an object of another kind.
///
/// # Errors
/// When a label or an annotation is no string.
pub fn operated(object: &Value, location: &str) -> Result<Option<Operated>, Failure> {
    let (group, _) = text(object, "/apiVersion").split_once('/').unwrap_or_default();
    let kind = text(object, "/kind");
    let Some(custom) = KINDS.iter().find(|custom| (custom.group, custom.kind) == (group, kind)) else {
        return Ok(None);
    };
    let mut made: Vec<Made<'_>> = Vec::new();
    for Pods { role, path } in custom.pods {
        let path_to_pod = path.strip_suffix(".annotations").unwrap_or(path);
        let found = found(object, path_to_pod);
        let role = |name: String| if name.is_empty() { (*role).to_owned() } else { format!("{role} {name}") };
        made.extend(found.into_iter().map(|(name, value)| Made {
            role: role(name),
            path,
            value: Some(value),
        }));
    }
    // The pod exists, even if nothing is written about it.
    if let Some(Pods { role, path }) = custom.pods.first()
        && !made.iter().any(|made| made.path == *path)
        && !path.contains('*')
    {
        made.insert(0, Made { role: (*role).to_owned(), path, value: None });
    }
    made.sort_by_key(|made| !is_first(&made.role));
    let none =
        Made { role: custom.pods.first().map_or("pod", |pods| pods.role).to_owned(), path: "", value: None };
    let (first, others) = made.split_first().unwrap_or((&none, &[]));
    let mut notes = Vec::new();
    let pod = pod(custom, object, first, location)?;
    for other in others {
        notes.push(of_other(&other.role, &pod, &self::pod(custom, object, other, location)?));
    }
    notes.extend(unknown(custom, object));
    let plural = format!("{}s", kind.to_ascii_lowercase());
    Ok(Some(Operated {
        object: format!("{kind}/{}", text(object, "/metadata/name")),
        resource: (group.to_owned(), plural),
        role: first.role.clone(),
        path: first.path,
        account: custom.account,
        file: file(custom.group),
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
fn found<'v>(object: &'v Value, path: &str) -> Vec<(String, &'v Value)> {
    let mut found = vec![(String::new(), object)];
    for segment in path.split('.') {
        let below = found.into_iter().flat_map(|(name, value)| members(name, value, segment));
        found = below.collect();
    }
    found
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
fn pod(custom: &Custom, object: &Value, made: &Made<'_>, location: &str) -> Result<Pod, Failure> {
    let empty = Value::Null;
    let template = made.value.unwrap_or(&empty);
    let texts =
        |value: &Value, pointer: &str| strings(value.pointer(pointer), &format!("{location}: {pointer}"));
    let mut pod = Pod {
        labels: texts(template, "/metadata/labels")?,
        annotations: texts(template, "/metadata/annotations")?,
        scheduler_name: text(template, "/spec/schedulerName").to_owned(),
        ..Pod::default()
    };
    match custom.group {
        SPARK if made.path.ends_with(".annotations") => {
            let spec = if custom.kind == "SparkApplication" { "/spec" } else { "/spec/template" };
            let spec = object.pointer(spec).unwrap_or(&empty);
            kubeflow_spark(&mut pod, spec, template, made, location)?;
        }
        SPARK | APACHE_SPARK => {
            let conf = object.pointer("/spec/sparkConf").unwrap_or(&empty);
            let role = made.role.split(' ').next().unwrap_or_default();
            spark_conf(&mut pod, conf, role);
            pod.labels.insert(SPARK_APP_SELECTOR.to_owned(), BY_SPARK.to_owned());
        }
        RAY => {
            // KubeRay copies the labels of a RayJob or RayService to the RayCluster, and these two to pods.
            let labels = texts(object, "/metadata/labels")?;
            for (from, to) in [(QUEUE, OLD_QUEUE), (APP_ID, APPLICATION_ID)] {
                if let Some(value) = labels.get(from) {
                    pod.labels.insert(to.to_owned(), value.clone());
                }
            }
        }
        FLINK => flink(&mut pod, object, made, location)?,
        _ => {}
    }
    Ok(pod)
}

/// Adds what Kubeflow's spark-operator makes of a driver or executor: options of `spark-submit`.
fn kubeflow_spark(
    pod: &mut Pod,
    spec: &Value,
    described: &Value,
    made: &Made<'_>,
    location: &str,
) -> Result<(), Failure> {
    let texts = |pointer: &str| strings(described.pointer(pointer), &format!("{location}: {pointer}"));
    pod.labels = texts("/template/metadata/labels")?;
    pod.annotations = texts("/template/metadata/annotations")?;
    spark_conf(pod, spec.pointer("/sparkConf").unwrap_or(&Value::Null), &made.role);
    pod.labels.extend(texts("/labels")?);
    pod.annotations.extend(texts("/annotations")?);
    text(described, "/schedulerName").clone_into(&mut pod.scheduler_name);
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
    let spec = object.pointer(spec).unwrap_or(&Value::Null);
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
    let setting = |name: &str| {
        let value =
            spec.pointer("/flinkConfiguration")?.get(format!("kubernetes.{role}.{name}"))?.as_str()?;
        let pairs = value.split(',').filter_map(|pair| pair.split_once(':'));
        Some(
            pairs
                .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
                .collect::<BTreeMap<_, _>>(),
        )
    };
    pod.labels.extend(setting("labels").unwrap_or_default());
    pod.annotations.extend(setting("annotations").unwrap_or_default());
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
fn unknown(custom: &Custom, object: &Value) -> Vec<String> {
    let has = |pointer: &str| object.pointer(pointer).is_some();
    let mut notes: Vec<&str> = Vec::new();
    match custom.group {
        SPARK if custom.kind != "SparkConnect" => {
            notes.push("not known: the application's ID, which spark-submit makes");
            let spec = if custom.kind == "SparkApplication" { "/spec" } else { "/spec/template" };
            let scheduler = object.pointer(&format!("{spec}/batchScheduler")).and_then(Value::as_str);
            if scheduler != Some(YUNIKORN) && has(&format!("{spec}/batchSchedulerOptions/queue")) {
                notes.push(
                    "not known: whether the operator's default batch scheduler is yunikorn; only then is \
                     batchSchedulerOptions.queue used, unless spec.batchScheduler is yunikorn",
                );
            }
        }
        APACHE_SPARK | SPARK => notes.push("not known: the application's ID, which Spark makes"),
        RAY => notes.push(
            "not known: whether KubeRay runs with the batch scheduler yunikorn; only then does it copy the \
             labels of the resource to the pods",
        ),
        FLINK if text(object, "/spec/mode") != "standalone" => {
            notes.push("in mode native, the account of the JobManager creates the TaskManagers");
        }
        "trainer.kubeflow.org" => {
            notes.push("not known: the labels and annotations in the template of the TrainingRuntime");
        }
        _ => {}
    }
    notes.into_iter().map(str::to_owned).collect()
}
