//! An API server in memory, as far as the operator needs one: objects with versions and generations, lists and watches with field
//! selectors, merge patches with preconditions, the status subresource, owners of ConfigMap keys, and faults on demand.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::body::Bytes;
use futures::{StreamExt as _, stream};
use http::{Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::broadcast;

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// The server; clones are the same one.
#[derive(Clone)]
pub(super) struct ApiServer {
    state: Arc<Mutex<State>>,
    live: broadcast::Sender<Option<Change>>,
}

#[derive(Default)]
struct State {
    version: u64,
    objects: BTreeMap<String, Value>,
    history: Vec<Change>,
    owners: BTreeMap<(String, String), String>,
    writes: Vec<String>,
    watches: usize,
    faults: Vec<Fault>,
    /// How often all watches fell silent: those that began before the last time show nothing.
    silences: usize,
    /// Plural of a kind whose definition is being deleted.
    withdrawn: Option<&'static str>,
}

#[derive(Clone)]
struct Change {
    version: u64,
    path: String,
    kind: &'static str,
    object: Value,
}

/// What goes wrong, and with which requests.
#[derive(Clone)]
pub(super) struct Fault {
    pub(super) method: Method,
    /// A piece of the path.
    pub(super) path: &'static str,
    /// Whether it is about watches, as opposed to everything else.
    pub(super) watch: bool,
    /// How many more times.
    pub(super) times: usize,
    pub(super) what: Wrong,
}

#[derive(Clone)]
pub(super) enum Wrong {
    Refuse(u16, &'static str),
    /// Someone else changes this object just before.
    Race(&'static str, Value),
    Hang,
}

/// A field of the plain object at `path`, null when there is none.
fn field<'a>(object: &'a Value, names: &[&str]) -> &'a Value {
    names.iter().fold(object, |object, name| object.get(name).unwrap_or(&Value::Null))
}

impl ApiServer {
    pub(super) fn new() -> Self {
        Self { state: Arc::default(), live: broadcast::channel(4096).0 }
    }

    pub(super) fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        });
        Client::new(service, "queuewarden-system")
    }

    pub(super) fn get(&self, path: &str) -> Value {
        self.lock().objects.get(path).cloned().unwrap_or_default()
    }

    /// Writes as someone else: makes the object, or merges `change` into it.
    pub(super) fn put(&self, path: &str, change: &Value, manager: &str) {
        let mut state = self.lock();
        let object = state.objects.get(path).cloned().unwrap_or_else(|| json!({"metadata": {}}));
        self.store(&mut state, path, merged(&object, change), manager);
    }

    pub(super) fn delete(&self, path: &str) {
        let mut state = self.lock();
        let object = state.objects.remove(path).unwrap();
        state.owners.retain(|(of, _), _| of != path);
        self.record(&mut state, path, "DELETED", object);
    }

    pub(super) fn fault(&self, fault: Fault) {
        self.lock().faults.push(fault);
    }

    /// Begins, or with `None` takes back, the deletion of a kind's definition.
    pub(super) fn withdraw(&self, plural: Option<&'static str>) {
        self.lock().withdrawn = plural;
    }

    pub(super) fn heal(&self) {
        self.lock().faults.clear();
    }

    /// Ends all watches that are running.
    pub(super) fn cut(&self) {
        let _ = self.live.send(None);
    }

    /// Nothing comes any more by the watches that are running, which stay open.
    pub(super) fn silence(&self) {
        self.lock().silences += 1;
    }

    /// `METHOD path` of every write so far.
    pub(super) fn writes(&self) -> Vec<String> {
        self.lock().writes.clone()
    }

    /// Every version of an object so far.
    pub(super) fn versions(&self, path: &str) -> Vec<Value> {
        let state = self.lock();
        state
            .history
            .iter()
            .filter(|change| change.path == path)
            .map(|change| change.object.clone())
            .collect()
    }

    /// Watches begun so far.
    pub(super) fn watches(&self) -> usize {
        self.lock().watches
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Stores a new version; the same content makes none, as in a real one.
    fn store(&self, state: &mut State, path: &str, mut object: Value, manager: &str) -> Value {
        let before = state.objects.get(path).cloned();
        if before.as_ref() == Some(&object) {
            return object;
        }
        let old = before.clone().unwrap_or_default();
        let keys = object.get("data").and_then(Value::as_object).cloned().unwrap_or_default();
        for (key, value) in &keys {
            if field(&old, &["data", key]) != value {
                state.owners.insert((path.into(), key.clone()), manager.into());
            }
        }
        let mut managers: BTreeMap<&str, Value> = BTreeMap::new();
        for ((of, key), manager) in &state.owners {
            if of == path && keys.contains_key(key) {
                managers.entry(manager).or_insert_with(|| json!({}))[format!("f:{key}")] = json!({});
            }
        }
        let generation = field(&old, &["metadata", "generation"]).as_i64().unwrap_or(0);
        let changed = before.is_none() || old.get("spec") != object.get("spec");
        let metadata = &mut object["metadata"];
        metadata["name"] = json!(path.rsplit('/').next());
        metadata["generation"] = json!(generation + i64::from(changed));
        metadata["managedFields"] = managers
            .iter()
            .map(|(manager, keys)| json!({"manager": manager, "operation": "Update", "fieldsV1": {"f:data": keys}}))
            .collect();
        if before.is_some() {
            // A PUT need not carry them.
            for name in ["uid", "creationTimestamp"] {
                metadata[name] = field(&old, &["metadata", name]).clone();
            }
        } else {
            metadata["uid"] = json!(format!("uid-{}", state.version + 1));
            metadata["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        let kind = if before.is_none() { "ADDED" } else { "MODIFIED" };
        self.record(state, path, kind, object)
    }

    fn record(&self, state: &mut State, path: &str, kind: &'static str, mut object: Value) -> Value {
        state.version += 1;
        object["metadata"]["resourceVersion"] = json!(state.version.to_string());
        if kind != "DELETED" {
            state.objects.insert(path.into(), object.clone());
        }
        let change = Change { version: state.version, path: path.into(), kind, object: object.clone() };
        state.history.push(change.clone());
        let _ = self.live.send(Some(change));
        object
    }

    async fn answer(&self, request: Request<Body>) -> Answer {
        let (parts, body) = request.into_parts();
        let query: HashMap<String, String> = parts
            .uri
            .query()
            .unwrap_or("")
            .split('&')
            .filter_map(|p| p.split_once('='))
            .map(|(k, v)| (k.into(), v.into()))
            .collect();
        let path = parts.uri.path().to_owned();
        let watch = query.contains_key("watch");
        let body = serde_json::from_slice(&body.collect_bytes().await.unwrap()).unwrap_or_default();
        if parts.method != Method::GET {
            self.lock().writes.push(format!("{} {path}", parts.method));
        }
        match self.due_fault(&parts.method, &path, watch) {
            Some(Wrong::Hang) => std::future::pending().await,
            Some(Wrong::Refuse(code, message)) => return refusal(code, message),
            Some(Wrong::Race(path, change)) => self.put(path, &change, "rival"),
            None => {}
        }
        let manager = query.get("fieldManager").map_or("unknown", String::as_str);
        match parts.method {
            Method::GET if watch => self.watch(&path, &query),
            Method::GET => self.read(&path, &query),
            Method::POST => self.create(&path, body, manager),
            Method::PATCH => self.merge(&path, &body, manager),
            Method::PUT => self.replace(&path, body, manager),
            Method::DELETE => self.remove(&path, &body),
            _ => refusal(405, "no such method"),
        }
    }

    fn due_fault(&self, method: &Method, path: &str, watch: bool) -> Option<Wrong> {
        let mut state = self.lock();
        let fault = state
            .faults
            .iter_mut()
            .find(|f| f.method == method && path.contains(f.path) && f.watch == watch && f.times > 0)?;
        fault.times -= 1;
        Some(fault.what.clone())
    }

    fn read(&self, path: &str, query: &HashMap<String, String>) -> Answer {
        let state = self.lock();
        if path == "/apis/queuewarden.dev/v1alpha1" {
            return success(&discovery(state.withdrawn));
        }
        if let Some(object) = state.objects.get(path) {
            return success(object);
        }
        if !is_collection(path) {
            return refusal(404, "not found");
        }
        let items: Vec<_> = state
            .objects
            .iter()
            .filter(|(of, object)| selected(of, path, query) && labelled(object, query))
            .map(|(_, object)| object)
            .collect();
        let version = state.version.to_string();
        success(
            &json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": version}, "items": items}),
        )
    }

    /// What happened since the version that the query names, then what happens.
    fn watch(&self, path: &str, query: &HashMap<String, String>) -> Answer {
        let mut state = self.lock();
        state.watches += 1;
        let since: u64 = query.get("resourceVersion").and_then(|version| version.parse().ok()).unwrap_or(0);
        let missed: Vec<_> =
            state.history.iter().filter(|change| change.version > since).cloned().map(Some).collect();
        let live =
            stream::unfold(self.live.subscribe(), async |mut live| Some((live.recv().await.ok()?, live)));
        let (path, query) = (path.to_owned(), query.clone());
        let (server, silences) = (self.clone(), state.silences);
        let frames = stream::iter(missed)
            .chain(live)
            .take_while(|change| std::future::ready(change.is_some()))
            .filter_map(move |change| {
                let change = change.filter(|change| {
                    server.lock().silences == silences
                        && selected(&change.path, &path, &query)
                        && labelled(&change.object, &query)
                });
                std::future::ready(change.map(|change| {
                    let written = json!({"type": change.kind, "object": change.object}).to_string() + "\n";
                    Ok::<_, Infallible>(Frame::data(Bytes::from(written)))
                }))
            });
        Response::new(StreamBody::new(frames).boxed_unsync())
    }

    fn create(&self, collection: &str, object: Value, manager: &str) -> Answer {
        let mut state = self.lock();
        let path =
            format!("{collection}/{}", field(&object, &["metadata", "name"]).as_str().unwrap_or("generated"));
        if state.objects.contains_key(&path) {
            return refusal(409, "already exists");
        }
        success(&self.store(&mut state, &path, object, manager))
    }

    fn merge(&self, path: &str, body: &Value, manager: &str) -> Answer {
        let (path, status) = path.strip_suffix("/status").map_or((path, false), |path| (path, true));
        let mut state = self.lock();
        let Some(object) = state.objects.get(path).cloned() else { return refusal(404, "not found") };
        let wanted = |field_name| field(body, &["metadata", field_name]);
        let current = |field_name| field(&object, &["metadata", field_name]);
        let differs = |field_name| !wanted(field_name).is_null() && wanted(field_name) != current(field_name);
        if differs("resourceVersion") {
            return refusal(409, "the object has been modified");
        }
        // A patch of a status cannot name the uid: all of `metadata` but the version is taken from the object as it stands.
        if !status && differs("uid") {
            return refusal(422, "metadata.uid: Invalid value: field is immutable");
        }
        let change = if status { json!({"status": body.get("status")}) } else { body.clone() };
        success(&self.store(&mut state, path, merged(&object, &change), manager))
    }

    fn remove(&self, path: &str, options: &Value) -> Answer {
        let mut state = self.lock();
        let Some(object) = state.objects.get(path).cloned() else { return refusal(404, "not found") };
        let wanted = |name| field(options, &["preconditions", name]);
        if ["uid", "resourceVersion"]
            .iter()
            .any(|name| !wanted(name).is_null() && wanted(name) != field(&object, &["metadata", name]))
        {
            return refusal(409, "the precondition does not hold");
        }
        state.objects.remove(path);
        success(&self.record(&mut state, path, "DELETED", object))
    }

    fn replace(&self, path: &str, object: Value, manager: &str) -> Answer {
        let mut state = self.lock();
        let version = |object: &Value| field(object, &["metadata", "resourceVersion"]).clone();
        match state.objects.get(path).map(version) {
            None => refusal(404, "not found"),
            Some(current) if current != version(&object) => refusal(409, "the object has been modified"),
            Some(_) => success(&self.store(&mut state, path, object, manager)),
        }
    }
}

fn discovery(withdrawn: Option<&str>) -> Value {
    let resources = ["queueacls", "admissionpolicies", "queueaccesstests", "yunikornconfigs"].map(|plural| {
        let verbs: &[&str] = if withdrawn == Some(plural) {
            &["get", "list", "watch"]
        } else {
            &["create", "get", "list", "watch"]
        };
        json!({"name": plural, "singularName": "", "namespaced": false, "kind": plural, "verbs": verbs})
    });
    json!({"groupVersion": "queuewarden.dev/v1alpha1", "resources": resources})
}

fn is_collection(path: &str) -> bool {
    [
        "configmaps",
        "queueacls",
        "admissionpolicies",
        "queueaccesstests",
        "yunikornconfigs",
        "clusterroles",
        "clusterrolebindings",
    ]
    .iter()
    .any(|plural| path.ends_with(plural))
}

fn selected(object: &str, collection: &str, query: &HashMap<String, String>) -> bool {
    let name = object.strip_prefix(collection).and_then(|rest| rest.strip_prefix('/'));
    let wanted =
        query.get("fieldSelector").map(|selector| selector.replace("%3D", "=").replace("metadata.name=", ""));
    name.is_some_and(|name| wanted.is_none_or(|wanted| wanted == name))
}

/// Whether an object has the one label that a selector asks for.
fn labelled(object: &Value, query: &HashMap<String, String>) -> bool {
    let Some(selector) = query.get("labelSelector") else { return true };
    let selector = selector.replace("%3D", "=").replace("%2F", "/");
    selector
        .split_once('=')
        .is_some_and(|(name, value)| field(object, &["metadata", "labels", name]).as_str() == Some(value))
}

/// RFC 7396.
fn merged(target: &Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut result = target.as_object().cloned().unwrap_or_default();
    for (key, value) in patch {
        if value.is_null() {
            result.remove(key);
        } else {
            let value = merged(result.get(key).unwrap_or(&Value::Null), value);
            result.insert(key.clone(), value);
        }
    }
    Value::Object(result)
}

fn success(body: &Value) -> Answer {
    Response::new(Full::new(Bytes::from(body.to_string())).boxed_unsync())
}

fn refusal(code: u16, message: &str) -> Answer {
    let reason = match code {
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        410 => "Expired",
        _ => "InternalError",
    };
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": reason,
                        "message": message, "code": code});
    let mut answer = success(&status);
    *answer.status_mut() = StatusCode::from_u16(code).unwrap();
    answer
}
