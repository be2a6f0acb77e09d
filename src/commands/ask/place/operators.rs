//! Custom resources whose operators create pods: the first pod of the application that becomes of one, and
//! the account that creates it. The kinds and paths are those of `docs/operators.md`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize as _;
use serde_json::Value;

use crate::output::Failure;
use go_compat::diag::quoted;
use yunikorn::admission::request::{
    APP_ID, APPLICATION_ID, OLD_QUEUE, Pod, QUEUE, SPARK_APP_SELECTOR, YUNIKORN,
};
use yunikorn_access::user_info::{Settings, Template};

/// The label of an application that Spark names when it starts.
const BY_SPARK: &str = "spark-(made-by-spark-submit)";

/// The files of `examples/operators`, by their names. Each file lists the accounts of an operator, ending
/// with the account that creates the pods, and the paths to the pod templates, starting with the
/// application's first pod.
const FILES: [(&str, &str); 6] = [
    ("spark-operator", include_str!("../../../../examples/operators/spark-operator.yaml")),
    ("apache-spark", include_str!("../../../../examples/operators/apache-spark.yaml")),
    ("kuberay", include_str!("../../../../examples/operators/kuberay.yaml")),
    ("flink", include_str!("../../../../examples/operators/flink.yaml")),
    ("training-operator", include_str!("../../../../examples/operators/training-operator.yaml")),
    ("trainer", include_str!("../../../../examples/operators/trainer.yaml")),
];

/// The settings in these files. Each object of the input is looked up in them, so they are read once.
static EXAMPLES: LazyLock<Vec<(&str, Settings)>> = LazyLock::new(|| {
    let read = |(file, text)| {
        let policy = serde_saphyr::from_multiple::<Value>(text).ok()?;
        Some((file, Settings::deserialize(policy.first()?.pointer("/spec/userInfo")?).ok()?))
    };
    FILES.into_iter().filter_map(read).collect()
});

/// Parts of paths, each with the role of the pods whose template is there. A template without a role, such as
/// Flink's `spec.podTemplate`, describes no pod by itself.
const ROLES: [(&str, &str); 13] = [
    ("driver", "driver"),
    ("executor", "executor"),
    ("server", "server"),
    ("master", "master"),
    ("submitter", "submitter"),
    ("jobManager", "JobManager"),
    ("taskManager", "TaskManager"),
    ("headGroup", "head"),
    ("worker", "worker"),
    ("ReplicaSpecs", "replica"),
    ("runtimePatches", "node"),
    ("podTemplateOverrides", "node"),
    ("replicatedJobs", "job"),
];

const SPARK: &str = "sparkoperator.k8s.io";
const APACHE_SPARK: &str = "spark.apache.org";
const RAY: &str = "ray.io";
const FLINK: &str = "flink.apache.org";
const TRAINER: &str = "trainer.kubeflow.org";

/// A custom resource that an operator makes the first pod of an application of.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Operated {
    /// The kind and name of the resource.
    pub object: String,
    /// The API group and the plural name of its kind.
    pub resource: (String, String),
    /// The role of the pod: `driver`.
    pub role: String,
    /// The path to its template, as in an AdmissionPolicy.
    pub path: String,
    /// The account that usually creates it, as the operator's chart installs it.
    pub account: String,
    /// The file of `examples/operators` that lets the account pass on names.
    pub file: &'static str,
    /// The other pods, and the parts that the resource does not decide, each in a sentence.
    pub notes: Vec<String>,
}

/// A pod with its role.
struct Made<'v> {
    role: String,
    path: &'v str,
    /// The template, or for Kubeflow's spark-operator the description of a driver or executor.
    value: &'v Value,
}

/// The pods of a kind of custom resource.
struct Operator {
    /// The name of its file in `examples/operators`.
    file: &'static str,
    account: String,
    /// The roles of the pods with the paths to their templates.
    pods: Vec<(&'static str, String)>,
}

impl Operator {
    /// Returns the operator that makes pods of this resource.
    fn of(group: &str, resource: &str) -> Option<Self> {
        EXAMPLES.iter().find_map(|(file, Settings { templates, operators, .. })| {
            let pods = templates.iter().filter(|template| template.is_of(group, resource));
            let pods: Vec<_> =
                pods.filter_map(|Template { path, .. }| Some((role(path)?, path.clone()))).collect();
            (!pods.is_empty()).then_some(Self { file, account: operators.last()?.clone(), pods })
        })
    }
}

/// Returns the role of the pods whose template is at this path.
fn role(path: &str) -> Option<&'static str> {
    ROLES.iter().find(|(part, _)| path.contains(part)).map(|(_, role)| *role)
}

/// Returns the known parts of the first pod that an operator creates from an object; `None` for other kinds.
///
/// # Errors
/// When a label or an annotation is no string.
pub fn operated(object: &Value, location: &str) -> Result<Option<(Pod, Operated)>, Failure> {
    let (group, kind) = (group(object), text(object, "/kind"));
    let resource = format!("{}s", kind.to_ascii_lowercase());
    let Some(Operator { file, account, pods }) = Operator::of(group, &resource) else { return Ok(None) };
    let mut made: Vec<Made<'_>> = Vec::new();
    for (role, path) in &pods {
        let templates = templates(object, path.strip_suffix(".annotations").unwrap_or(path));
        // The first pod exists, even if nothing is written about it.
        if made.is_empty() && templates.is_empty() && !path.contains('*') {
            made.push(Made { role: (*role).to_owned(), path, value: &Value::Null });
        }
        let role = |name: String| if name.is_empty() { (*role).to_owned() } else { format!("{role} {name}") };
        made.extend(templates.into_iter().map(|(name, value)| Made { role: role(name), path, value }));
    }
    made.sort_by_key(|made| !is_first(&made.role));
    let role = pods.first().map_or("pod", |(role, _)| role).to_owned();
    let none = Made { role, path: "", value: &Value::Null };
    let (first, others) = made.split_first().unwrap_or((&none, &[]));
    let pod = pod(object, first, location)?;
    let mut notes = Vec::new();
    for other in others {
        notes.push(of_other(&other.role, &pod, &self::pod(object, other, location)?));
    }
    notes.extend(unknown(object).iter().map(|note| (*note).to_owned()));
    let operated = Operated {
        object: format!("{kind}/{}", text(object, "/metadata/name")),
        resource: (group.to_owned(), resource),
        role: first.role.clone(),
        path: first.path.to_owned(),
        account,
        file,
        notes,
    };
    Ok(Some((pod, operated)))
}

/// Returns whether replicas of this name are the first of their job.
fn is_first(role: &str) -> bool {
    let (_, name) = role.split_once(' ').unwrap_or(("", role));
    matches!(name, "Master" | "Chief" | "Launcher" | "head" | "driver" | "server" | "master" | "JobManager")
}

/// Returns the values at a path, each with the names that `*` matched.
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

/// Returns the parts of an operator's pod that YuniKorn reads.
fn pod(object: &Value, made: &Made<'_>, location: &str) -> Result<Pod, Failure> {
    let is_described = group(object) == SPARK && made.path.ends_with(".annotations");
    let template = if is_described { "/template" } else { "" };
    let mut pod = Pod {
        labels: texts(made.value, &format!("{template}/metadata/labels"), location)?,
        annotations: texts(made.value, &format!("{template}/metadata/annotations"), location)?,
        scheduler_name: text(made.value, "/spec/schedulerName").to_owned(),
        ..Pod::default()
    };
    match group(object) {
        SPARK if is_described => kubeflow_spark(&mut pod, part(object, spark_spec(object)), made, location)?,
        SPARK | APACHE_SPARK => {
            let role = made.role.split(' ').next().unwrap_or_default();
            spark_conf(&mut pod, part(object, "/spec/sparkConf"), role);
            pod.labels.insert(SPARK_APP_SELECTOR.to_owned(), BY_SPARK.to_owned());
        }
        RAY => {
            // KubeRay copies the labels of a RayJob or RayService to the RayCluster, and these two to pods.
            let labels = texts(object, "/metadata/labels", location)?;
            for (from, to) in [(QUEUE, OLD_QUEUE), (APP_ID, APPLICATION_ID)] {
                pod.labels.extend(labels.get(from).map(|value| (to.to_owned(), value.clone())));
            }
        }
        FLINK => flink(&mut pod, object, made, location)?,
        _ => {}
    }
    Ok(pod)
}

/// Returns the text at a pointer, or an empty text.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Reads labels or annotations, whose values must be strings in Kubernetes.
pub(super) fn strings(value: Option<&Value>, location: &str) -> Result<BTreeMap<String, String>, Failure> {
    let entries = value.and_then(Value::as_object).into_iter().flatten();
    entries
        .map(|(key, value)| match value {
            Value::String(text) => Ok((key.clone(), text.clone())),
            Value::Null => Ok((key.clone(), String::new())),
            _ => Err(Failure::Usage(format!(
                "{location}: the value of {} is not a string: put it in quotes",
                quoted(key)
            ))),
        })
        .collect()
}

/// Reads the labels or annotations at a pointer.
fn texts(value: &Value, pointer: &str, location: &str) -> Result<BTreeMap<String, String>, Failure> {
    strings(value.pointer(pointer), &format!("{location}: {pointer}"))
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
    spark_conf(pod, part(spec, "/sparkConf"), &made.role);
    pod.labels.extend(texts(made.value, "/labels", location)?);
    pod.annotations.extend(texts(made.value, "/annotations", location)?);
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

/// Adds the template for all pods of a Flink cluster, which the role's template overrides, and the labels and
/// annotations in Flink's settings.
fn flink(pod: &mut Pod, object: &Value, made: &Made<'_>, location: &str) -> Result<(), Failure> {
    let spec = if made.path.starts_with("spec.template.") { "/spec/template/spec" } else { "/spec" };
    let spec = part(object, spec);
    for (common, own) in [("labels", &mut pod.labels), ("annotations", &mut pod.annotations)] {
        let mut common = texts(spec, &format!("/podTemplate/metadata/{common}"), location)?;
        common.append(own);
        *own = common;
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
            "the {role} joins the same application and runs in its queue without a check of the ACLs"
        );
    }
    let queue = match queue(other) {
        queue if queue.is_empty() => "no queue".to_owned(),
        queue => queue,
    };
    format!("the {role} is another application, which asks for {queue}: ask about it as a Pod")
}

/// Lists the properties that the resource does not determine.
fn unknown(object: &Value) -> &'static [&'static str] {
    const SUBMITTED: &str = "unknown: the application's ID, which spark-submit generates";
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
        APACHE_SPARK | SPARK => &["unknown: the application's ID, which Spark generates"],
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A new example is of no use to `place` before it is listed, and a new path before it has a role.
    #[test]
    fn every_example_of_an_operator_is_known() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/operators");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut names: Vec<_> =
            files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
        names.sort();
        let mut known = FILES.map(|(file, _)| file);
        known.sort_unstable();
        assert_eq!(names, known);
        assert_eq!(EXAMPLES.len(), FILES.len());
        for (file, settings) in EXAMPLES.iter() {
            for Template { group, resource, path, .. } in &settings.templates {
                assert_eq!(role(path).is_none(), path.ends_with("spec.podTemplate"), "{path}");
                let operator = Operator::of(group, resource).unwrap();
                assert_eq!(operator.file, *file, "{resource}");
                assert!(operator.account.starts_with("system:serviceaccount:"), "{file}");
            }
        }
    }
}
