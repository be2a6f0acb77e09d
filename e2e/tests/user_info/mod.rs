//! Tests how the submitter of a workload is identified: by `YuniKorn`'s admission controller with its gaps,
//! by the user-info webhook that closes them, and by the real scheduler.

mod aliases;
mod alice;
mod applications;
mod beside;
mod crowd;
mod gangs;
mod harmless;
mod holes;
mod kept;
mod names;
mod operators;
mod own_names;
mod parity;
mod refresh;
mod service_accounts;
mod sources;
mod spark;
mod time;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, Endpoints, Kind, Operator, TestCluster, eventually};
use serde_json::{Value, json};
use yunikorn::admission::UserInfo;
use yunikorn::admission::request::USER_INFO;

/// A configuration where everyone may submit to every queue, with the queue from the label or from the
/// namespace.
const OPEN: &str = "partitions: [{name: default, placementrules: [{name: provided, create: true}, {name: tag, value: namespace, create: true}], \
     queues: [{name: root, submitacl: '*'}]}]\n";
/// A namespace whose pods get no application ID.
const UNLABELLED: &str = "queuewarden-e2e-no-label";

/// A namespace that `YuniKorn` ignores.
const BYPASSED: &str = "queuewarden-e2e-bypassed";

/// Additional permissions of users, and the namespaces where they have them.
pub(crate) const FIXTURES: &str = include_str!("fixtures.yaml");

/// Installs `YuniKorn` as its Helm chart does, with Kubernetes' controllers; everyone may submit. Returns
/// `false` if the cluster cannot do that.
async fn yunikorn_alone(cluster: &TestCluster) -> Result<bool> {
    if !nobody_asked(cluster).await? {
        return Ok(false);
    }
    cluster.start_admission_controller().await?;
    cluster.start_controller_manager().await?;
    Ok(true)
}

/// Prepares the scheduler, and an API server without webhooks; everyone may submit. Returns `false` if the
/// cluster cannot do that.
async fn nobody_asked(cluster: &TestCluster) -> Result<bool> {
    let needed = [Capability::OperatorProcess, Capability::AdmissionProcess, Capability::ControllerManager];
    if !cluster.can_run(&needed)? {
        return Ok(false);
    }
    cluster.apply_text(FIXTURES, "queuewarden-e2e").await?;
    cluster.set_base(OPEN).await?;
    cluster.yunikorn()?.wait_for_text(OPEN, PATIENCE).await?;
    Ok(true)
}

/// Third-party kinds whose templates the user-info webhook is configured for.
const TEMPLATES: [(&str, &str, &str); 5] = [
    ("sparkoperator.k8s.io", "sparkapplications", "spec.driver.annotations"),
    ("sparkoperator.k8s.io", "sparkapplications", "spec.executor.annotations"),
    ("kubeflow.org", "pytorchjobs", "spec.pytorchReplicaSpecs.*.template"),
    ("ray.io", "rayclusters", "spec.headGroupSpec.template"),
    ("ray.io", "rayclusters", "spec.workerGroupSpecs.*.template"),
];

/// Returns the `spec` of an `AdmissionPolicy` that closes the gaps.
pub(crate) fn strict() -> Value {
    let template = |(group, resource, path)| json!({"group": group, "resource": resource, "path": path});
    let templates: Vec<Value> = TEMPLATES.into_iter().map(template).collect();
    json!({"userInfo": {"mode": "Enforce", "profile": "strict", "templates": templates}})
}

/// Starts queuewarden with this policy and the scheduler; no webhook calls it yet.
pub(crate) async fn guard<'cluster>(
    cluster: &'cluster TestCluster,
    policy: &Value,
) -> Result<(Operator<'cluster>, Endpoints)> {
    guard_with(cluster, policy, &[]).await
}

/// Starts queuewarden the same way with more flags.
async fn guard_with<'cluster>(
    cluster: &'cluster TestCluster,
    policy: &Value,
    flags: &[&str],
) -> Result<(Operator<'cluster>, Endpoints)> {
    cluster.install().await?;
    cluster.apply_file("manifests/user-info/rbac.yaml").await?;
    let object = |kind: &str, spec: &Value| {
        json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": kind, "metadata": {"name": "default"}, "spec": spec})
            .to_string()
    };
    let config = json!({"schedulerUrl": cluster.scheduler_url(), "acceptOpenRoot": true});
    cluster.apply_text(&object("YuniKornConfig", &config), "e2e").await?;
    cluster.apply_text(&object("AdmissionPolicy", policy), "e2e").await?;
    let (operator, endpoints) = Operator::start_serving(cluster, flags).await?;
    cluster.wait_for(Kind::YuniKornConfig, "default", is_true("Ready"), PATIENCE).await?;
    cluster.wait_for(Kind::AdmissionPolicy, "default", is_true("Accepted"), PATIENCE).await?;
    Ok((operator, endpoints))
}

/// Makes the API server call the webhooks of the manifests in this directory, and waits until it does, which
/// is when requests that they must refuse are refused.
pub(crate) async fn ask(cluster: &TestCluster, folder: &str, endpoints: &Endpoints) -> Result<()> {
    cluster.install_webhooks(folder, endpoints, |_| ()).await?;
    eventually("the API server to ask queuewarden", PATIENCE, || async {
        let probe = controller("ReplicationController", "probe", &claim("boss"));
        let answer = kubectl(cluster, "mallory", &["create", "--dry-run=server"], &probe).await;
        refused(answer, &["user-info.queuewarden.dev"])?;
        Ok(Some(()))
    })
    .await
}

/// Runs `kubectl ARGS -f -` as this user, who is one of the people.
async fn kubectl(cluster: &TestCluster, user: &str, args: &[&str], object: &Value) -> Result<String> {
    let who = format!("--as={user}");
    let who = [who.as_str(), "--as-group=people", "--as-group=system:authenticated"];
    cluster.kubectl_with_input(&[args, &["-f", "-"], &who].concat(), &object.to_string()).await
}

/// Runs `kubectl create` of an object as this user.
async fn create(cluster: &TestCluster, user: &str, object: &Value) -> Result<String> {
    kubectl(cluster, user, &["create"], object).await
}

/// Returns the annotation that claims this user for a workload.
pub(crate) fn claim(user: &str) -> Value {
    json!({USER_INFO: json!({"user": user, "groups": ["bosses"]}).to_string()})
}

/// Returns the text of an annotation that names a user with these groups.
fn info<G: ToString>(user: &str, groups: &[G]) -> String {
    UserInfo { user: user.to_owned(), groups: groups.iter().map(ToString::to_string).collect() }.write()
}

/// Returns a pod template whose pods belong to the application `name`.
fn template(name: &str, annotations: &Value) -> Value {
    let container = json!({
        "name": "main", "image": "none", "resources": {"requests": {"cpu": "10m", "memory": "10Mi"}},
    });
    let labels = json!({"applicationId": name, "yunikorn.apache.org/queue": "root.people", "run": name});
    json!({"metadata": {"labels": labels, "annotations": annotations}, "spec": {"containers": [container]}})
}

/// Returns an object of `apps/v1` or `v1` that maintains one pod of this template.
pub(crate) fn controller(kind: &str, name: &str, annotations: &Value) -> Value {
    let (version, selector) = match kind {
        "ReplicationController" => ("v1", json!({"run": name})),
        _ => ("apps/v1", json!({"matchLabels": {"run": name}})),
    };
    json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"replicas": 1, "selector": selector, "template": template(name, annotations)}})
}

/// Returns a pod by itself.
fn pod(name: &str, namespace: &str, annotations: &Value) -> Value {
    let template = template(name, annotations);
    let head = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}});
    merged(template, &head)
}

/// Merges these fields into an object; `null` removes a field.
pub(crate) fn merged(mut object: Value, fields: &Value) -> Value {
    match (&mut object, fields) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                let own = into.remove(name).unwrap_or_default();
                if !value.is_null() {
                    into.insert(name.clone(), merged(own, value));
                }
            }
            object
        }
        _ => fields.clone(),
    }
}

/// The submitter, as `user.info` names it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Submitter {
    user: String,
    groups: Vec<String>,
}

fn submitter(value: &Value) -> Submitter {
    let groups = value["groups"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Submitter { user: text(&value["user"]), groups: groups.map(text).collect() }
}

/// Returns the submitter in the annotation of an object.
fn said(annotations: &std::collections::BTreeMap<String, String>) -> Result<Option<Submitter>> {
    let info = annotations.get(USER_INFO).map(|text| serde_json::from_str(text)).transpose()?;
    Ok(info.as_ref().map(submitter))
}

/// Returns the submitter of the pods of the workload of this name, once one of them belongs to this user.
async fn pods_say(
    cluster: &TestCluster,
    application: &str,
    namespace: &str,
    user: &str,
) -> Result<Submitter> {
    let pods: Api<Pod> = Api::namespaced(cluster.client()?, namespace);
    let of_it = ListParams::default().labels(&format!("run={application}"));
    eventually(&format!("a pod of {application} by {user}"), PATIENCE, || async {
        let pods = pods.list(&of_it).await?;
        let mut seen = Vec::new();
        for pod in pods {
            match said(pod.annotations())? {
                Some(found) if found.user == user => return Ok(Some(found)),
                other => seen.push(other),
            }
        }
        anyhow::bail!("there are pods of {seen:?}")
    })
    .await
}

/// Returns the user of this application in the scheduler.
async fn application(cluster: &TestCluster, id: &str) -> Result<Submitter> {
    let rest = cluster.yunikorn()?;
    eventually(&format!("the scheduler to have {id}"), PATIENCE, || async {
        let active = rest.get("/ws/v1/partition/default/applications/active").await?;
        let mut all = active.as_array().into_iter().flatten();
        Ok(all.find(|application| application["applicationID"] == id).map(submitter))
    })
    .await
}

/// Checks that the request was refused with a reason that contains all of these words.
fn refused(answer: Result<String>, words: &[&str]) -> Result<()> {
    let error = answer.err().context("it was let through")?.to_string();
    for word in words {
        ensure!(error.contains(word), "no {word:?} in {error}");
    }
    Ok(())
}
