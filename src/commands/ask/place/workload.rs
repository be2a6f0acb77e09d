//! The pod of the question: from a manifest, from flags, or from a manifest that flags add to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::operators::{Operated, operated, strings, text};
use crate::output::text::Source;
use crate::output::{Console, Failure};
use crate::source::input::object::{Document, listed};
use crate::source::input::ours::without_values;
use crate::source::input::source;
use crate::source::input::split::split;
use crate::source::request::{key_value, service_account};
use yunikorn::admission::request::{Kind, Pod, QUEUE, YUNIKORN};
use yunikorn::identity::Identity;
use yunikorn_access::placement::{Naming, Submission, Workload};

/// Locations of the pod inside an object: of a `Pod`, of a `Deployment` and similar, of a `CronJob`, of a
/// `PodTemplate`.
const PODS: [&str; 4] = ["", "/spec/template", "/spec/jobTemplate/spec/template", "/template"];

/// Options that describe the pod.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct WorkloadArgs {
    /// Manifest with the pod, or with the Deployment, Job or custom resource (of Spark, Ray, Flink and
    /// others) that it is created for, and its Namespace; or - for standard input
    #[arg(short = 'w', long, value_name = "FILE")]
    pub(super) workload: Option<PathBuf>,
    /// The pod's namespace, instead of "default"
    #[arg(short = 'n', long, value_name = "NAME")]
    namespace: Option<String>,
    /// Queue that it requests: the label yunikorn.apache.org/queue
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// A label of the pod; may be repeated
    #[arg(short = 'l', long = "label", value_name = "KEY=VALUE", value_parser = key_value)]
    labels: Vec<(String, String)>,
    /// An annotation of the pod; may be repeated
    #[arg(long = "annotation", value_name = "KEY=VALUE", value_parser = key_value)]
    annotations: Vec<(String, String)>,
    /// An annotation of the namespace; may be repeated
    #[arg(long = "namespace-annotation", value_name = "KEY=VALUE", value_parser = key_value)]
    namespace_annotations: Vec<(String, String)>,
    /// Additional tag of the application, besides those YuniKorn derives from the pod and its namespace; may
    /// be repeated
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = key_value)]
    tags: Vec<(String, String)>,
    /// Treat the pod as already running, as after a restart of the scheduler: then the application must be
    /// accepted
    #[arg(long)]
    running: bool,
    /// Service account of the operator that creates the pods of a custom resource, instead of the usual one
    #[arg(long, value_name = "NAMESPACE:NAME", value_parser = service_account, requires = "workload")]
    pub(super) operator: Option<String>,
}

/// The pod of the question, and the object it is created for.
#[derive(Debug)]
pub struct Submitted {
    /// The pod in its namespace.
    pub workload: Workload,
    /// The kind of the object that people create, as the admission controller sees it.
    pub kind: Kind,
    /// The custom resource that an operator makes it of.
    pub operated: Option<Operated>,
    /// Additional tags of the application, which YuniKorn does not derive.
    tags: Vec<(String, String)>,
}

impl Submitted {
    /// Returns the application that a user submits by the pod.
    pub fn submission(&self, identity: Identity) -> Submission {
        let mut submission = self.workload.submission(identity, Naming::default());
        submission.tags.extend(self.tags.iter().cloned());
        submission
    }
}

impl WorkloadArgs {
    /// Returns the pod.
    ///
    /// # Errors
    /// When the manifest cannot be read, or contains no pod or several.
    pub fn read(&self, console: Console) -> Result<Submitted, Failure> {
        let namespace = self.namespace.as_deref();
        let mut submitted = if let Some(path) = &self.workload {
            manifest(path, namespace)?
        } else {
            let namespace = namespace.unwrap_or("default").to_owned();
            let workload = Workload { namespace, ..Workload::default() };
            Submitted { workload, kind: Kind::Pod, operated: None, tags: Vec::new() }
        };
        submitted.tags.clone_from(&self.tags);
        if let (Some(_), None) = (&self.operator, &submitted.operated) {
            let why = "--operator is for custom resources, but the manifest does not contain one with pods";
            return Err(Failure::Usage(why.to_owned()));
        }
        let workload = &mut submitted.workload;
        workload.pod.labels.extend(self.labels.iter().cloned());
        workload.pod.annotations.extend(self.annotations.iter().cloned());
        workload.namespace_annotations.extend(self.namespace_annotations.iter().cloned());
        if let Some(queue) = &self.queue {
            workload.pod.labels.insert(QUEUE.to_owned(), queue.clone());
        }
        if self.running {
            "a-node".clone_into(&mut workload.node_name);
        }
        if workload.is_foreign() {
            console.note(&format!(
                "spec.schedulerName is {}: YuniKorn looks at this pod only where it is {YUNIKORN}, or where \
                its admission controller makes it so",
                workload.pod.scheduler_name
            ));
        }
        // The application of a custom resource is described with it.
        let is_described = self.workload.is_none() || submitted.operated.is_some();
        if let Some(joined) = joined(workload).filter(|_| !is_described) {
            console.note(&joined);
        }
        Ok(submitted)
    }
}

/// Describes the existing application that the pod may join: `YuniKorn` checks access once, for the first pod
/// of an application, and accepts every later pod with its id, of any user and namespace (k8shim
/// `pkg/cache/context.go:917-952`).
fn joined(workload: &Workload) -> Option<String> {
    let id = workload.application_id(Naming::PerNamespace);
    match workload.given_id() {
        "" => Some(format!(
            "the pod names no application, so it joins {id} with all such pods of the namespace: the first of them determines the user and the queue, unless admissionController.filtering.generateUniqueAppId is \"true\""
        )),
        given if given == id => Some(format!(
            "if application {id} is running, the pod joins it regardless of its owner: it then runs in its queue, and no ACL is checked"
        )),
        _ => None,
    }
}

/// Returns the pod of a manifest, in its namespace.
fn manifest(path: &Path, namespace: Option<&str>) -> Result<Submitted, Failure> {
    let source = source::read_one(path)?;
    let objects = objects(&source)?;
    let mut pods = Vec::new();
    for object in &objects {
        let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
        match operated(object, &format!("{}: {kind}/{name}", source.name))? {
            Some(operated) => pods.push((object, &Value::Null, Some(operated))),
            None => pods.extend(pod(object).map(|pod| (object, pod, None))),
        }
    }
    let refused = |why: &str| Failure::Usage(format!("{} holds {why}", source.name));
    if pods.len() > 1 {
        return Err(refused(&format!("{} workloads: place looks at one at a time", pods.len())));
    }
    let (object, pod, operated) = pods.pop().ok_or_else(|| {
        refused(
            "no Pod, nor anything that pods are created for, such as a Deployment, a Job or a SparkApplication",
        )
    })?;
    let location = |field: &str| {
        let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
        format!("{}: {field} of {kind}/{name}", source.name)
    };
    let texts = |value: &Value, pointer: &str| strings(value.pointer(pointer), &location(pointer));
    let own = text(object, "/metadata/namespace");
    let namespace = namespace.or(Some(own).filter(|own| !own.is_empty())).unwrap_or("default").to_owned();
    let is_namespace =
        |other: &&Value| text(other, "/kind") == "Namespace" && text(other, "/metadata/name") == namespace;
    let namespace_annotations = match objects.iter().find(is_namespace) {
        Some(object) => texts(object, "/metadata/annotations")?,
        None => BTreeMap::new(),
    };
    let secrets = pod.pointer("/spec/imagePullSecrets").and_then(Value::as_array);
    let (of_operator, operated) = operated.unzip();
    let written = match of_operator {
        Some(pod) => pod,
        None => Pod {
            labels: texts(pod, "/metadata/labels")?,
            annotations: texts(pod, "/metadata/annotations")?,
            uid: text(pod, "/metadata/uid").to_owned(),
            scheduler_name: text(pod, "/spec/schedulerName").to_owned(),
            ..Pod::default()
        },
    };
    let (group, _) = text(object, "/apiVersion").split_once('/').unwrap_or_default();
    let workload = Workload {
        namespace,
        namespace_annotations,
        pod: written,
        node_name: text(pod, "/spec/nodeName").to_owned(),
        image_pull_secrets: secrets.into_iter().flatten().map(|one| text(one, "/name").to_owned()).collect(),
    };
    Ok(Submitted { workload, kind: Kind::parse(group, text(object, "/kind")), operated, tags: Vec::new() })
}

/// Returns the objects of a text and of the lists in it.
fn objects(source: &Source) -> Result<Vec<Value>, Failure> {
    let (syntax, ranges) = split(&source.text);
    let mut objects = Vec::new();
    for range in ranges {
        let document = Document::read(&source.text, 0, syntax, range)
            .and_then(|document| document.map(Document::decoded).transpose());
        let document = document.map_err(|wrong| {
            let at = wrong.span.map_or(range.start, |span| span.start);
            Failure::Usage(format!("{}: {}", source.at(at), without_values(wrong).message))
        })?;
        let Some(Document { value, .. }) = document else { continue };
        match listed(&value) {
            Some(items) => objects.extend_from_slice(items),
            None => objects.push(value),
        }
    }
    Ok(objects)
}

fn pod(object: &Value) -> Option<&Value> {
    let mut pods = PODS.iter().filter_map(|pointer| object.pointer(pointer));
    pods.find(|pod| pod.pointer("/spec/containers").is_some_and(Value::is_array))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_of_others_is_said_and_one_of_its_own_is_not() {
        let pod = |id: Option<&str>| {
            let id = id.map(|id| (yunikorn::admission::request::APP_ID.to_owned(), id.to_owned()));
            let pod = Pod { labels: id.into_iter().collect(), ..Pod::default() };
            Workload { namespace: "etl".to_owned(), pod, ..Workload::default() }
        };
        assert!(joined(&pod(None)).unwrap().contains("yunikorn-etl-autogen"));
        assert!(joined(&pod(Some("spark-1"))).unwrap().contains("if application spark-1 is running"));
        assert_eq!(joined(&pod(Some("etl-uniqueautogen"))), None);
    }
}
