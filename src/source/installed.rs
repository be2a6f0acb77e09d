//! Reads the state of an installation for `status` and `check`: the scheduler, compared with the ConfigMaps;
//! the Deployment, and the Lease that names the leader; the custom resources with their conditions. It writes
//! nothing, and every request has a timeout.
//!
//! A condition of an older generation is ignored, because it does not describe the current object.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Container;
use kube::api::DynamicObject;
use kube::{Api, Client};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::output::{Console, Failure};
use crate::source::cluster::{Cluster, SchedulerLogin, ServerArgs, objects_of};
use crate::source::live;
use crate::source::times::clock;
use queuewarden_api::convert;
use queuewarden_client::call::{CallError, call};
use queuewarden_plan::conditions::{Condition, Status, Type, find};
use queuewarden_plan::release::Release;
use queuewarden_plan::snapshot::{ConfigSpec, Meta, Snapshot};
use queuewarden_plan::{ResourceKind, text_in_force};
use yunikorn::config::{Config, Partition, checksum, verdict};

/// Default namespace of queuewarden.
pub const NAMESPACE: &str = "queuewarden-system";
/// The name of its Deployment, `ServiceAccount` and Lease.
pub const NAME: &str = "queuewarden";

/// Options for the installation to read.
#[derive(Debug, Clone, clap::Args)]
pub struct ReachArgs {
    /// The API server.
    #[command(flatten)]
    server: ServerArgs,
    /// Namespace that queuewarden runs in
    #[arg(
        short, long = "operator-namespace", alias = "namespace", value_name = "NAME",
        default_value = NAMESPACE
    )]
    pub namespace: String,
    /// YuniKorn's namespace, instead of the one in the YuniKornConfig, or "yunikorn"
    #[arg(long, value_name = "NAME")]
    cluster_namespace: Option<String>,
    /// URL of the scheduler's REST service, instead of the YuniKornConfig's schedulerUrl, or the API server's
    /// proxy
    #[arg(long, value_name = "URL")]
    scheduler_url: Option<String>,
    /// The login at that URL.
    #[command(flatten)]
    login: SchedulerLogin,
}

/// The state of an installation. Unreadable parts contain the cause.
#[derive(Debug)]
pub struct InstalledState {
    /// The ConfigMaps and the `QueueAcl`s.
    pub snapshot: Result<Snapshot, Failure>,
    /// The scheduler, compared with the ConfigMaps.
    pub scheduler: SchedulerState,
    /// The operator.
    pub operator: OperatorState,
    /// All objects, by kind.
    pub objects: Vec<(ResourceKind, Result<Vec<ObservedObject>, CallError>)>,
}

impl ReachArgs {
    /// Connects to the cluster, reads its `YuniKornConfig`, and prints notes about it. Returns the defaults
    /// if there is none.
    ///
    /// # Errors
    /// When the cluster cannot be reached, or does not answer.
    pub fn open(&self, console: Console) -> Result<(Cluster, ConfigSpec), Failure> {
        Cluster::open(&self.server, self.cluster_namespace.as_deref(), console)
    }

    /// Reads the state.
    pub async fn read(&self, cluster: &Cluster, client: &Client, spec: &ConfigSpec) -> InstalledState {
        let snapshot = cluster.readable(spec, &mut Vec::new()).await;
        let (scheduler, operator, objects) = tokio::join!(
            self.scheduler(client, spec, snapshot.as_ref().ok()),
            operator(client, &self.namespace, clock()),
            objects(client),
        );
        InstalledState { snapshot, scheduler, operator, objects }
    }

    /// Reads the scheduler's state, and compares it with the ConfigMaps if they are known.
    async fn scheduler(
        &self,
        client: &Client,
        spec: &ConfigSpec,
        snapshot: Option<&Snapshot>,
    ) -> SchedulerState {
        let expected = snapshot.map(|snapshot| checksum(&text_in_force(snapshot)));
        let answer = async {
            let named = self.login.address(self.scheduler_url.as_deref(), spec)?;
            live::read(client, named, spec).await
        };
        match answer.await {
            Ok(answer) => SchedulerState {
                problem: Release::unproven(spec.version, answer.release.as_deref()),
                source: Some(answer.from),
                checksum: Some(answer.checksum),
                release: answer.release,
                expected,
            },
            Err(failure) => {
                SchedulerState { expected, problem: Some(failure.to_string()), ..SchedulerState::default() }
            }
        }
    }
}

/// State of the scheduler.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SchedulerState {
    /// The URL or Service that answered; absent if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The checksum of the text that it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// The release that it reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// The checksum of the text in the ConfigMaps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The reason why some of this is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl SchedulerState {
    /// Returns whether the scheduler runs the written text; `None` if unknown.
    pub fn agrees(&self) -> Option<bool> {
        if self.problem.is_some() {
            return None;
        }
        Some(self.checksum.as_ref()? == self.expected.as_ref()?)
    }

    /// Formats the state in one line.
    pub fn line(&self) -> String {
        let source = self.source.as_deref().unwrap_or_default();
        let sum = |checksum: &Option<String>| live::short(checksum.as_deref().unwrap_or_default()).to_owned();
        match self.agrees() {
            Some(true) => format!("runs the written configuration, {} ({source})", sum(&self.checksum)),
            Some(false) => format!(
                "runs another configuration, {}, than the ConfigMaps contain, {} ({source})",
                sum(&self.checksum),
                sum(&self.expected)
            ),
            None => self.problem.clone().unwrap_or_else(|| match &self.checksum {
                Some(_) => format!("runs {} ({source}); the ConfigMaps are not known", sum(&self.checksum)),
                None => "its configuration is not known".to_owned(),
            }),
        }
    }
}

/// Number of queues in the text in force.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueCount {
    /// All queues.
    pub total: usize,
    /// Queues that have an ACL, other than an ACL for nobody.
    pub with_acl: usize,
}

/// Counts the queues; `None` if the text cannot be read.
pub fn queues(snapshot: &Snapshot) -> Option<QueueCount> {
    let config: Config = verdict(&text_in_force(snapshot), &[], snapshot.version()).config?;
    let mut count = QueueCount::default();
    for queue in config.partitions.iter().flat_map(Partition::queues) {
        count.total = count.total.saturating_add(1);
        let has = [&queue.submit_acl, &queue.admin_acl].into_iter().any(|acl| !acl.value.trim().is_empty());
        count.with_acl = count.with_acl.saturating_add(usize::from(has));
    }
    Some(count)
}

/// Seconds after its duration during which a Lease is still considered held, because clocks differ a little.
const SLACK: i64 = 5;

/// Flag of `run` that names a mounted certificate.
const MOUNTED: &str = "--tls-cert-file";

/// State of the operator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorState {
    /// The namespace it runs in.
    pub namespace: String,
    /// The number of desired replicas; absent if there is no Deployment, or it may not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The number of ready replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// The image it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The replica that writes, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
    /// Reasons why some of this is unknown.
    pub problems: Vec<String>,
    /// True if it is unknown whether a replica writes, because the Lease may not be read.
    #[serde(skip)]
    pub unknown: bool,
    /// True if its endpoints use a mounted certificate that another program manages; `None` if unknown.
    #[serde(skip)]
    pub mounted_certificate: Option<bool>,
    /// The `ServiceAccount` of its pods; `None` if unknown.
    #[serde(skip)]
    pub account: Option<String>,
    /// True if the Deployment cannot be read.
    #[serde(skip)]
    pub unread: bool,
    /// True if a right is missing to read some of this.
    #[serde(skip)]
    pub forbidden: bool,
    /// True if it answers questions about applications; `None` if unknown.
    #[serde(skip)]
    pub applications: Option<bool>,
}

impl OperatorState {
    /// Formats the state in one line.
    pub fn line(&self) -> String {
        let replicas = self.replicas.map(|wanted| {
            format!(
                "{} of {wanted} replicas ready in {}",
                self.ready_replicas.unwrap_or_default(),
                self.namespace
            )
        });
        let leader = self.leader.as_ref().map(|leader| format!("{leader} writes"));
        let known: Vec<String> = replicas.into_iter().chain(leader).chain(self.problems.clone()).collect();
        known.join("; ")
    }
}

/// Reads the state at `now`; a part that may not be read is a problem, not an error.
async fn operator(client: &Client, namespace: &str, now: Timestamp) -> OperatorState {
    let mut state = OperatorState { namespace: namespace.to_owned(), ..OperatorState::default() };
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
    match call(deployments.get_opt(NAME)).await {
        Ok(Some(deployment)) => {
            let container = container(&deployment);
            state.image = container.and_then(|container| container.image.clone());
            state.mounted_certificate = container.map(mounts_certificate);
            state.applications = container.map(knows_applications);
            let pods = deployment.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
            state.account = pods.and_then(|pods| pods.service_account_name.clone());
            // The default is one.
            state.replicas = Some(deployment.spec.and_then(|spec| spec.replicas).unwrap_or(1));
            state.ready_replicas =
                Some(deployment.status.and_then(|status| status.ready_replicas).unwrap_or(0));
        }
        Ok(None) => state.problems.push(format!("there is no Deployment {namespace}/{NAME}")),
        Err(error) => {
            state.unread = true;
            state.forbidden |= error.is_forbidden();
            state.problems.push(format!("Deployment {namespace}/{NAME} is not known: {error}"));
        }
    }
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    match call(leases.get_opt(NAME)).await {
        Ok(lease) => match lease.as_ref().and_then(|lease| holder(lease, now)) {
            Some(leader) => state.leader = Some(leader),
            None => state.problems.push(format!("no replica holds Lease {namespace}/{NAME}")),
        },
        Err(error) => {
            state.unknown = true;
            state.forbidden |= error.is_forbidden();
            state.problems.push(format!("Lease {namespace}/{NAME} is not known: {error}"));
        }
    }
    state
}

/// Returns the operator's own container, because others may be added as sidecars.
fn container(deployment: &Deployment) -> Option<&Container> {
    let containers = &deployment.spec.as_ref()?.template.spec.as_ref()?.containers;
    containers.iter().find(|container| container.name == NAME).or_else(|| containers.first())
}

/// Returns the words of the command that a container runs.
fn words(container: &Container) -> impl Iterator<Item = &String> {
    container.command.iter().chain(&container.args).flatten()
}

/// Returns whether a container answers questions about applications.
fn knows_applications(container: &Container) -> bool {
    words(container).any(|word| matches!(word.strip_prefix("--applications="), Some("on" | "pods")))
}

/// Returns whether a container gets the path of a mounted certificate.
fn mounts_certificate(container: &Container) -> bool {
    words(container)
        .map(|word| word.split_once('=').map_or(word.as_str(), |(flag, _)| flag))
        .any(|flag| flag == MOUNTED)
}

/// Returns the holder of the Lease at `now`.
fn holder(lease: &Lease, now: Timestamp) -> Option<String> {
    let spec = lease.spec.as_ref()?;
    let holder = spec.holder_identity.clone().filter(|holder| !holder.is_empty())?;
    let renewed = spec.renew_time.as_ref()?.0;
    let lasts = i64::from(spec.lease_duration_seconds?).saturating_add(SLACK);
    (now.duration_since(renewed).as_secs() <= lasts).then_some(holder)
}

/// Reason for an object that the operator has not seen since it was changed.
const NOT_SEEN: &str = "NotSeen";
/// Reason for an object with invalid conditions.
const UNREADABLE: &str = "Unreadable";

/// An object as the cluster has it.
#[derive(Debug, Clone)]
pub struct ObservedObject {
    /// Its kind.
    pub kind: ResourceKind,
    meta: Meta,
    /// The problem with its conditions, if they cannot be read.
    pub unreadable: Option<String>,
    object: DynamicObject,
}

/// An object that needs attention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Attention {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The reason why it is not Ready.
    pub reason: String,
    /// The same in a sentence, with a remedy.
    pub message: String,
}

impl ObservedObject {
    pub(crate) fn new(kind: ResourceKind, object: DynamicObject) -> Self {
        let unreadable = convert::unreadable_conditions(&object);
        Self { kind, meta: convert::meta(&object), unreadable, object }
    }

    /// Returns the condition of a type for the current generation, if any.
    pub fn condition(&self, type_: Type) -> Option<&Condition> {
        let condition = find(&self.meta.conditions, type_)?;
        (condition.observed_generation == self.meta.generation).then_some(condition)
    }

    /// Returns whether a condition is true.
    pub fn holds(&self, type_: Type) -> bool {
        self.condition(type_).is_some_and(|condition| condition.status == Status::True)
    }

    /// Returns the cause if it is not Ready; `None` if it is.
    pub fn attention(&self) -> Option<Attention> {
        let (reason, message) = match (&self.unreadable, self.condition(Type::Ready)) {
            // The unreadable part may be the condition with the cause.
            (Some(why), _) => (UNREADABLE, why.as_str()),
            (None, Some(ready)) if ready.status == Status::True => return None,
            (None, Some(ready)) => (&*ready.reason, ready.message.as_str()),
            (None, None) => {
                (NOT_SEEN, "queuewarden has not processed its last change; check that it is running")
            }
        };
        Some(Attention {
            kind: self.kind.name().to_owned(),
            name: self.meta.name.to_string(),
            reason: reason.to_owned(),
            message: message.to_owned(),
        })
    }

    /// Returns a field of the object by its JSON pointer.
    pub fn field(&self, pointer: &str) -> Option<&Value> {
        self.object.data.pointer(pointer)
    }

    /// Returns an annotation.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.object.metadata.annotations.as_ref()?.get(name).map(String::as_str)
    }
}

/// Lists all objects of all installed kinds, by kind and name.
async fn objects(client: &Client) -> Vec<(ResourceKind, Result<Vec<ObservedObject>, CallError>)> {
    let mut all = Vec::new();
    for kind in ResourceKind::ALL {
        let observed = |object| ObservedObject::new(kind, object);
        let objects = objects_of(client, kind).await;
        all.push((kind, objects.map(|objects| objects.into_iter().map(observed).collect())));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn standing(generation: i64, conditions: &Value) -> ObservedObject {
        let object = json!({
            "apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl",
            "metadata": {"name": "prod", "generation": generation}, "status": {"conditions": conditions},
        });
        ObservedObject::new(ResourceKind::QueueAcl, serde_json::from_value(object).unwrap())
    }

    #[test]
    fn only_what_was_said_about_this_generation_counts() {
        let condition = |type_: &str, status: &str, reason: &str| {
            json!({
                "type": type_, "status": status, "reason": reason, "message": "m", "observedGeneration": 2,
                "lastTransitionTime": "2026-12-24T00:00:00Z",
            })
        };
        let conditions =
            json!([condition("Ready", "False", "Expired"), condition("Programmed", "True", "Programmed")]);
        let now = standing(2, &conditions);
        assert_eq!(now.attention().unwrap().reason, "Expired");
        assert!(now.holds(Type::Programmed) && !now.holds(Type::Ready));
        let later = standing(3, &conditions);
        assert_eq!(later.attention().unwrap().reason, NOT_SEEN);
        assert!(!later.holds(Type::Programmed));
        assert_eq!(standing(1, &json!(null)).attention().unwrap().reason, NOT_SEEN);
    }

    #[test]
    fn what_is_ready_needs_no_attention() {
        let conditions = json!([{
            "type": "Ready", "status": "True", "reason": "Ready", "message": "in force", "observedGeneration": 1,
            "lastTransitionTime": "2026-12-24T00:00:00Z",
        }]);
        assert_eq!(standing(1, &conditions).attention(), None);
    }

    #[test]
    fn conditions_that_cannot_be_read_need_attention() {
        let mut ready = json!({
            "type": "Ready", "status": "True", "reason": "Ready", "message": "in force", "observedGeneration": 1,
            "lastTransitionTime": "2026-12-24T00:00:00Z",
        });
        let mut open = ready.clone();
        open["type"] = "FailOpen".into();
        open.as_object_mut().unwrap().remove("lastTransitionTime");
        let attention = standing(1, &json!([ready, open])).attention().unwrap();
        assert_eq!(attention.reason, UNREADABLE);
        assert_eq!(
            attention.message,
            "status.conditions cannot be read: [1]: missing field `lastTransitionTime`"
        );
        ready["status"] = json!(true);
        for unreadable in [json!({}), json!(["Ready"]), json!([ready])] {
            assert_eq!(standing(1, &unreadable).attention().unwrap().reason, UNREADABLE, "{unreadable}");
        }
    }

    #[test]
    fn a_mounted_certificate_is_known_by_the_flag() {
        let mounted = |containers: serde_json::Value| {
            let template = json!({"spec": {"containers": containers}});
            let spec = json!({"selector": {}, "template": template});
            let deployment: Deployment = serde_json::from_value(json!({"spec": spec})).unwrap();
            container(&deployment).map(mounts_certificate)
        };
        let run = |args: &[&str]| json!([{"name": "queuewarden", "args": args}]);
        assert_eq!(mounted(run(&["run", "--https=:8443", "--tls-cert-file=/tls/tls.crt"])), Some(true));
        assert_eq!(mounted(run(&["run", "--tls-cert-file", "/tls/tls.crt"])), Some(true));
        assert_eq!(mounted(run(&["run", "--https=:8443", "--tls-secret=own"])), Some(false));
        assert_eq!(mounted(json!([{"name": "queuewarden"}])), Some(false));
        let ours = json!({"name": "queuewarden", "command": ["queuewarden", "run", "--tls-cert-file=x"]});
        assert_eq!(mounted(json!([{"name": "mesh"}, ours])), Some(true));
        assert_eq!(mounted(json!([])), None);
    }

    #[test]
    fn who_did_not_renew_the_lease_does_not_hold_it() {
        let lease = |holder: &str| -> Lease {
            let spec = json!({"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": "2026-12-24T00:00:00.000000Z"});
            serde_json::from_value(json!({"spec": spec})).unwrap()
        };
        let at = |time: &str| time.parse().unwrap();
        assert_eq!(holder(&lease("a"), at("2026-12-24T00:00:20Z")).as_deref(), Some("a"));
        assert_eq!(holder(&lease("a"), at("2026-12-24T00:00:21Z")), None);
        assert_eq!(holder(&lease(""), at("2026-12-24T00:00:00Z")), None, "it was given up");
        assert_eq!(holder(&Lease::default(), at("2026-12-24T00:00:00Z")), None);
    }
}
