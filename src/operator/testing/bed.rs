//! The operator's loop, running against the API server in memory.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::api_server::ApiServer;
use crate::operator::asking::Asking;
use crate::operator::events::Events;
use crate::operator::health::Health;
use crate::operator::last_base;
use crate::operator::leader::election::Timing;
use crate::operator::leader::{Candidate, Leadership};
use crate::operator::read_back::Scheduler;
use crate::operator::reconcile::{self, Functions, Left, Reconciler};
use crate::operator::world::World;
use crate::plan::machine::State;
use crate::server::knowledge::{Knows, Publisher};

pub(super) const MAPS: &str = "/api/v1/namespaces/yunikorn/configmaps";
pub(super) const OUTPUT: &str = "/api/v1/namespaces/yunikorn/configmaps/yunikorn-configs";
pub(super) const BASE: &str = "/api/v1/namespaces/yunikorn/configmaps/yunikorn-defaults";
pub(super) const CONFIG: &str = "/apis/queuewarden.dev/v1alpha1/yunikornconfigs/default";
const ACLS: &str = "/apis/queuewarden.dev/v1alpha1/queueacls";
const TREE: &str = "partitions:\n  - name: default\n    queues:\n      - name: root\n        queues:\n          - name: prod\n          - name: ml\n";

/// Under a paused clock this is as long as it takes for everything to come to rest.
const PATIENCE: Duration = Duration::from_mins(5);

pub(super) struct Bed {
    pub(super) api: ApiServer,
    pub(super) health: Arc<Health>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
    /// What doors would read: without anybody who does, nothing is made for them.
    _doors: Option<Knows>,
}

/// A cluster with a base, a `YuniKornConfig` and one `QueueAcl`.
pub(super) fn cluster() -> ApiServer {
    let api = ApiServer::new();
    api.put(BASE, &json!({"data": {"queues.yaml": TREE}}), "helm");
    api.put(CONFIG, &json!({"spec": config_spec()}), "kubectl");
    put_acl(&api, "prod", &acl_spec("root.prod", "sue"));
    api
}

fn config_spec() -> Value {
    json!({"namespace": "yunikorn", "base": {"configMap": "yunikorn-defaults"}, "output": {"configMap": "yunikorn-configs"},
           "mode": "Enforce", "adoption": "IfUnowned"})
}

pub(super) fn acl_spec(queue: &str, user: &str) -> Value {
    json!({"partition": "default", "queue": queue, "baseAcl": "Replace", "submit": {"users": [user]}})
}

pub(super) fn acl_path(name: &str) -> String {
    format!("{ACLS}/{name}")
}

pub(super) fn put_acl(api: &ApiServer, name: &str, spec: &Value) {
    let object = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl", "spec": spec});
    api.put(&acl_path(name), &object, "kubectl");
}

impl Bed {
    /// Starts the operator as the leader.
    pub(super) fn start(api: &ApiServer) -> Self {
        Self::start_with(api, Leadership::unconditional(), Functions::default(), Publisher::new(None))
    }

    /// Starts the operator as the leader, with doors and something else that computes.
    pub(super) fn start_computing(api: &ApiServer, functions: Functions) -> Self {
        let publisher = Publisher::new(None);
        let doors = Some(publisher.subscribe());
        Self { _doors: doors, ..Self::start_with(api, Leadership::unconditional(), functions, publisher) }
    }

    /// Starts the operator as one that does not lead.
    pub(super) fn start_follower(api: &ApiServer) -> Self {
        let leases: Api<Lease> = Api::default_namespaced(api.client());
        let (_, leadership) = Candidate::new(leases, "queuewarden", "follower", Timing::default());
        Self::start_as(api, leadership)
    }

    /// Starts the operator as one that leads when `leadership` says so.
    pub(super) fn start_as(api: &ApiServer, leadership: Leadership) -> Self {
        Self::start_with(api, leadership, Functions::default(), Publisher::new(None))
    }

    fn start_with(
        api: &ApiServer,
        leadership: Leadership,
        functions: Functions,
        publisher: Publisher,
    ) -> Self {
        let client = api.client();
        let (events, _) = Events::start(client.clone(), "test".into());
        let changed = Arc::new(Notify::new());
        let health = Arc::new(Health::default());
        let reconciler = Reconciler {
            world: World::start(client.clone(), Arc::clone(&changed)),
            last_base: last_base::Store::new(client.clone(), None),
            client,
            leadership,
            asking: Asking::new(Scheduler::new().unwrap(), Arc::clone(&health)),
            events,
            health: Arc::clone(&health),
            publisher,
            logging: crate::telemetry::Logging::default(),
            changed,
            state: State::new(fastrand::u64(..)),
            functions,
            left: Left::default(),
            known: crate::plan::Readings::default(),
            failure: None,
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(reconcile::run(reconciler, async {
            let _ = stopped.await;
        }));
        Self { api: api.clone(), health, stop: Some(stop), task, _doors: None }
    }

    /// Waits until `found` is so.
    pub(super) async fn until(&self, what: &str, found: impl Fn(&ApiServer) -> bool) {
        let waiting = async {
            while !found(&self.api) {
                sleep(Duration::from_millis(20)).await;
            }
        };
        assert!(
            timeout(PATIENCE, waiting).await.is_ok(),
            "not so: {what}; ConfigMap: {}",
            self.api.get(OUTPUT)
        );
    }

    /// Waits until the output grants to `user`, and its `QueueAcl` is Ready.
    pub(super) async fn until_granted(&self, acl: &str, user: &str) {
        self.until(&format!("{acl} grants to {user}"), |api| text(api).contains(user) && is_ready(api, acl))
            .await;
    }

    /// The writes, events apart, that are made within `span` from now.
    pub(super) async fn writes_within(&self, span: Duration) -> Vec<String> {
        let before = self.api.writes().len();
        sleep(span).await;
        self.api.writes().into_iter().skip(before).filter(|write| !write.contains("events")).collect()
    }

    /// What a series of metrics has now, 0 where there is none.
    pub(super) fn counted(&self, series: &str) -> u64 {
        let text = self.health.text();
        let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        value.map_or(0, |value| value.parse().unwrap())
    }

    /// Ends the operator as a signal does.
    pub(super) async fn stop(mut self) {
        drop(self.stop.take());
        self.task.await.unwrap();
    }
}

/// The queue tree in the output.
pub(super) fn text(api: &ApiServer) -> String {
    api.get(OUTPUT)["data"]["queues.yaml"].as_str().unwrap_or_default().to_owned()
}

/// Status and reason of a condition, `True/Ready`; empty when there is none for the current generation.
pub(super) fn condition(api: &ApiServer, path: &str, type_: &str) -> String {
    let object = api.get(path);
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.iter().find(|condition| {
        condition["type"] == type_ && condition["observedGeneration"] == object["metadata"]["generation"]
    });
    let word = |name: &str| found.and_then(|condition| condition[name].as_str()).unwrap_or_default();
    format!("{}/{}", word("status"), word("reason"))
}

pub(super) fn is_ready(api: &ApiServer, acl: &str) -> bool {
    condition(api, &acl_path(acl), "Ready").starts_with("True/")
}
