//! The validating webhooks: `/validate` for our own kinds, `/configmaps` for `YuniKorn`'s ConfigMaps.
//!
//! [`queuewarden_plan::admit`] decides the answers. For queuewarden's own kinds, doubt means no
//! (`failurePolicy: Fail`), because no cluster needs writes of them to run. For ConfigMaps, doubt means yes:
//! a webhook that is down or fails never blocks a write. Both refuse requests that cannot be parsed, because
//! a requester could cause that deliberately.
//!
//! The sender of a review is not authenticated; [`super`] explains what answers reveal.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::routing::post;
use axum::{Extension, Json, Router};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::DynamicObject;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{Mutex, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::ServerState;
use super::admission_review::AdmissionReview;
use super::api_error::{ApiError, InternalError, contained};
use super::audit::{Audit, AuditRecord, OTHER};
use super::caller::Caller;
use super::permission::{Permission, Permissions};
use super::room::Guest;
use crate::controller::published::Published;
use crate::memory::{Budget, Full, Held, MIB};
use go_compat::diag::Diagnostic;
use queuewarden_api::review::envelope::{AdmissionRequest, response};
use queuewarden_api::review::{codes, part};
use queuewarden_api::{GROUP, VERSION, config_map, convert, limits};
use queuewarden_plan::admit::{self, Change, Promise, Response, Versions};

/// Number of concurrent plans for changes to queuewarden's objects. Each takes one thread for as long as a
/// round of the reconciler plans.
const PLANS: usize = 2;
/// Number of concurrent evaluations of ConfigMap changes. Each may unpack a text and parse it several times.
const CONFIG_MAPS: usize = 1;
/// Bytes in memory of a plan, without the objects of the review.
const PLAN: usize = 16 * MIB;
/// Bytes in memory for checking a `ConfigMap`: 150,000 nodes of 182 bytes (a review of a million nodes took
/// 182 MB of resident memory), and a text of 8 MiB.
const CONFIG_MAP: usize = 36 * MIB;
/// The clause of a change that could not be evaluated. No rule of `queuewarden_plan::admit` has this name.
const DOUBT: &str = "unknown";

/// The state that an endpoint has between requests; clones share it.
#[derive(Debug, Clone)]
struct Memory {
    permits: Arc<Semaphore>,
    /// Locked while a delegate's change is reviewed, so that each change includes those before it.
    promises: Arc<Mutex<Promises>>,
    audit: Audit,
}

/// Returns the route for queuewarden's own kinds.
pub fn router() -> Router<Arc<ServerState>> {
    Router::new().route("/validate", post(validate).layer(memory("validate", PLANS)))
}

/// Returns the route for ConfigMaps.
pub fn config_map_router() -> Router<Arc<ServerState>> {
    Router::new().route("/configmaps", post(config_map).layer(memory("configmaps", CONFIG_MAPS)))
}

fn memory(endpoint: &'static str, at_once: usize) -> Extension<Memory> {
    let permits = Arc::new(Semaphore::new(at_once));
    Extension(Memory { permits, promises: Arc::default(), audit: Audit::new(endpoint) })
}

async fn validate(
    State(state): State<Arc<ServerState>>,
    Extension(memory): Extension<Memory>,
    AdmissionReview { request, problem, from }: AdmissionReview,
) -> Json<Value> {
    let request = Arc::new(request);
    let answer = match problem {
        Some(why) => unreadable(&why),
        None => contained(own(&state, &memory, &request, from))
            .await
            .unwrap_or_else(|fault| Err(fault.to_string()))
            .unwrap_or_else(|why| refused(DOUBT, &why)),
    };
    answered(&memory, &state, &request, &answer)
}

async fn config_map(
    State(state): State<Arc<ServerState>>,
    Extension(memory): Extension<Memory>,
    AdmissionReview { request, problem, .. }: AdmissionReview,
) -> Json<Value> {
    let request = Arc::new(request);
    let answer = match problem {
        Some(why) if state.published().is_some_and(|known| matters(&known, &request, &why)) => {
            unreadable(&why)
        }
        Some(_) => Response::default(),
        None => contained(guarded(&state, &memory.permits, &request))
            .await
            .unwrap_or_else(|fault| Err(fault.to_string()))
            .unwrap_or_else(|why| Response {
                clause: DOUBT,
                warnings: vec![format!("queuewarden cannot decide this: {why}")],
                ..Response::default()
            }),
    };
    answered(&memory, &state, &request, &answer)
}

/// Returns whether `YuniKorn` or queuewarden reads a `ConfigMap`.
fn counts(known: &Published, request: &AdmissionRequest) -> bool {
    (request.group.as_str(), request.kind.as_str()) == ("", "ConfigMap")
        && admit::config_map::counts(&known.snapshot, &request.namespace, &request.name)
}

/// Returns whether a review that cannot be parsed is refused. A flood of requests must not prevent
/// queuewarden from carrying out its plan.
fn matters(known: &Published, request: &AdmissionRequest, why: &Diagnostic) -> bool {
    let account =
        request.by.user.strip_prefix("system:serviceaccount:").and_then(|name| name.split_once(':'));
    let is_ours = account.is_some_and(|(namespace, _)| Some(namespace) == known.own_namespace.as_deref());
    counts(known, request) && !(why.code == codes::NOT_READ && is_ours)
}

/// Logs the answer and returns the response.
fn answered(
    memory: &Memory,
    state: &ServerState,
    request: &AdmissionRequest,
    answer: &Response,
) -> Json<Value> {
    let word = match answer {
        Response { clause: DOUBT, .. } => "undecided",
        Response { refusal: None, .. } => "accepted",
        _ => "refused",
    };
    let namespace =
        if request.namespace.is_empty() { String::new() } else { format!("{}/", request.namespace) };
    let decision = AuditRecord {
        verb: verb(&request.operation),
        decision: word,
        clause: answer.clause,
        refused: answer.refusal.is_some(),
        by: &request.by.user,
        object: &format!("{} {namespace}{}", request.kind, request.name),
        reason: answer.refusal.as_ref().or(answer.warnings.first()).map_or("", String::as_str),
        ..AuditRecord::default()
    };
    memory.audit.note(&state.health, &decision);
    Json(response(&request.uid, answer.refusal.as_deref(), &answer.warnings))
}

/// Returns the answer to a request that cannot be parsed.
fn unreadable(why: &Diagnostic) -> Response {
    refused("unreadable", &why.to_string())
}

fn refused(clause: &'static str, why: &str) -> Response {
    Response { clause, refusal: Some(why.to_owned()), ..Response::default() }
}

/// Returns the operation under the name that Kubernetes' authorizers use.
fn verb(operation: &str) -> &'static str {
    match operation {
        "CREATE" => "create",
        "UPDATE" => "update",
        "DELETE" => "delete",
        _ => OTHER,
    }
}

/// Reviews a change to one of queuewarden's kinds; an error is a doubt.
async fn own(
    state: &ServerState,
    Memory { permits, promises, .. }: &Memory,
    request: &Arc<AdmissionRequest>,
    from: Guest,
) -> Result<Response, String> {
    let known = state.published();
    // A user who may do everything passes while there is no state, so that a new installation can be set up.
    let depends = known.is_none() || (request.group == GROUP && admit::depends_on_who(&request.kind));
    let may_escalate = !depends
        || is_housekeeping(request)
        || may_escalate(&state.permissions, request).await.map_err(|refusal| refusal.message)?;
    let Some(known) = known else {
        return if may_escalate {
            let warning =
                "queuewarden has not read the cluster yet, so it cannot evaluate this change".to_owned();
            Ok(Response { warnings: vec![warning], ..Response::default() })
        } else {
            Err("queuewarden has not read the cluster yet: try again in a moment".to_owned())
        };
    };
    let memory = (&state.decoded, PLAN.saturating_add(decoded_bytes([&request.object, &request.old])));
    let (request, budget) = (Arc::clone(request), Arc::clone(&state.decoded));
    let mut promises = if may_escalate { None } else { Some(Arc::clone(promises).lock_owned().await) };
    // Changes that were promised before the lock may be visible by now.
    let known = state.published().unwrap_or(known);
    let earlier = promises.as_mut().map(|promises| promises.of(from)).unwrap_or_default();
    planned(permits, memory, known, move |known| {
        let change = match change(&request) {
            Ok(change) => change,
            Err(answer) => return answer,
        };
        let review = admit::Review { by: request.by.clone(), may_escalate, change, promised: earlier };
        let mut answer = admit::admit(&known.snapshot, &review);
        let promise = answer.promise.take().filter(|_| !request.dry_run);
        match promises.as_mut().zip(promise).map(|(promises, promise)| promises.make(from, promise, &budget))
        {
            Some(Err(full)) => refused(admit::CONCURRENT, &format!("{full}: try again in a minute")),
            _ => answer,
        }
    })
    .await
}

/// Reviews a change to a `ConfigMap`; an error is a doubt.
async fn guarded(
    state: &ServerState,
    permits: &Arc<Semaphore>,
    request: &Arc<AdmissionRequest>,
) -> Result<Response, String> {
    let known = state.published().ok_or("it has not read the cluster yet")?;
    if !counts(&known, request) {
        return Ok(Response::default());
    }
    let memory = (&state.decoded, CONFIG_MAP.saturating_add(decoded_bytes([&request.object])));
    let request = Arc::clone(request);
    planned(permits, memory, known, move |known| {
        match request.object.as_deref().map(decoded_map).transpose() {
            Ok(new) => {
                let new = new.as_ref().map(config_map::state);
                admit::config_map::admit(&known.snapshot, &request.namespace, &request.name, new.as_ref())
            }
            Err(why) => unreadable(&why),
        }
    })
    .await
}

fn decoded_map(part: &RawValue) -> Result<ConfigMap, Diagnostic> {
    let map: ConfigMap = part::object(part)?;
    limits::annotations(&map.metadata)?;
    Ok(map)
}

/// Returns an upper bound for the bytes of objects in memory.
fn decoded_bytes<const N: usize>(objects: [&Option<Box<RawValue>>; N]) -> usize {
    let objects = objects.into_iter().flatten();
    objects.map(|object| part::decoded_bytes(object)).fold(0, usize::saturating_add)
}

/// Runs work that takes this much memory on a thread where it does not block other requests.
async fn planned(
    permits: &Arc<Semaphore>,
    (memory, bytes): (&Arc<Budget>, usize),
    known: Arc<Published>,
    work: impl FnOnce(&Published) -> Response + Send + 'static,
) -> Result<Response, String> {
    let permit = Arc::clone(permits).acquire_owned().await.map_err(|error| error.to_string())?;
    let held = memory.wait(bytes).await;
    let decided = spawn_blocking(move || {
        // Held by the work itself, which continues when the request is dropped.
        let (_permit, _held) = (permit, held);
        work(&known)
    });
    decided.await.map_err(|error| {
        tracing::error!(%error, "A change could not be decided");
        InternalError.to_string()
    })
}

/// Returns the change for the plan, or the answer if it cannot be parsed or is not evaluated here.
fn change(request: &AdmissionRequest) -> Result<Change, Response> {
    let AdmissionRequest { group, kind, .. } = request;
    if group != GROUP {
        return Err(refused(DOUBT, &format!("{kind} of group {group:?} is not decided here")));
    }
    let object = |part: &Option<Box<RawValue>>| {
        let object = part.as_deref().map(part::object::<DynamicObject>).transpose();
        let object = object.and_then(|object| {
            object.as_ref().map_or(Ok(()), |object| limits::check(kind, object))?;
            Ok(object)
        });
        object.map_err(|why| unreadable(&why))
    };
    let (old, new) = (object(&request.old)?, object(&request.object)?);
    if old.is_none() && new.is_none() {
        let message = "the request has no object and no oldObject";
        return Err(unreadable(&Diagnostic::error(codes::MALFORMED_REVIEW, message)));
    }
    let (old, new) = (old.as_ref(), new.as_ref());
    Ok(match kind.as_str() {
        "QueueAcl" => Change::QueueAcl(versions(old, new, |object| Arc::new(convert::queue_acl(object)))),
        "AdmissionPolicy" => Change::AdmissionPolicy(Box::new(versions(old, new, convert::admission_policy))),
        "YuniKornConfig" => Change::YuniKornConfig(Box::new(versions(old, new, convert::yunikorn_config))),
        "QueueAccessTest" => Change::QueueAccessTest(Box::new(versions(old, new, convert::access_test))),
        kind => return Err(refused(DOUBT, &format!("kind {kind} is not decided here"))),
    })
}

fn versions<T>(
    old: Option<&DynamicObject>,
    new: Option<&DynamicObject>,
    convert: impl Fn(&DynamicObject) -> T,
) -> Versions<T> {
    Versions { old: old.map(&convert), new: new.map(convert) }
}

/// The permission for all objects of any name.
const ESCALATE: Permission = Permission {
    verb: "escalate",
    group: GROUP,
    version: VERSION,
    resource: "queueacls",
    name: String::new(),
};

/// Returns whether Kubernetes' own controllers clean up: a garbage collector deletes the dependents of an
/// owner, and a migrator writes objects back as it read them. They may not change a spec. A user who runs
/// pods in kube-system controls the cluster anyway.
fn is_housekeeping(request: &AdmissionRequest) -> bool {
    let user = request.by.user.as_str();
    let theirs =
        user.starts_with("system:serviceaccount:kube-system:") || user == "system:kube-controller-manager";
    let tidies = match request.operation.as_str() {
        "DELETE" => true,
        // The API server serializes equal specs to the same bytes.
        "UPDATE" => spec(request.object.as_deref()) == spec(request.old.as_deref()),
        _ => false,
    };
    theirs && tidies
}

fn spec(object: Option<&RawValue>) -> Option<&str> {
    part::member(object?, "spec").ok().flatten().map(RawValue::get)
}

/// Checks the permission in Kubernetes.
///
/// # Errors
/// When it cannot be determined.
async fn may_escalate(permissions: &Permissions, request: &AdmissionRequest) -> Result<bool, ApiError> {
    let caller = Arc::new(Caller {
        identity: request.by.clone(),
        uid: request.by_uid.clone(),
        extra: request.extra.clone(),
    });
    Ok(permissions.reason_against(&caller, &ESCALATE).await?.is_none())
}

/// API servers end a write 34 seconds after the request (apiserver `pkg/endpoints/handlers/rest.go`,
/// `requestTimeoutUpperBound`). The rest is for etcd, the watch and the next round of the reconciler.
const LASTS: Duration = Duration::from_secs(45);
/// Bytes in memory of the promises of all clients.
const ALL: usize = 8 * MIB;
/// Bytes in memory of a promise without its texts.
const ONE: usize = 256;

/// The promises of all clients.
#[derive(Debug, Default)]
struct Promises {
    /// The oldest comes first.
    made: VecDeque<Made>,
    memory: Option<Arc<Budget>>,
}

#[derive(Debug)]
struct Made {
    to: Guest,
    promise: Promise,
    end: Instant,
    _held: Held,
}

impl Promises {
    /// Returns the promises to a client that have not expired.
    fn of(&mut self, client: Guest) -> Vec<Promise> {
        let now = Instant::now();
        while self.made.pop_front_if(|made| made.end <= now).is_some() {}
        self.made.iter().filter(|made| made.to == client).map(|made| made.promise.clone()).collect()
    }

    /// Adds a promise, with memory from this budget. It replaces an earlier one for the same object.
    ///
    /// # Errors
    /// When there is not enough memory for it.
    fn make(&mut self, to: Guest, mut promise: Promise, process: &Arc<Budget>) -> Result<(), Full> {
        let memory = self.memory.get_or_insert_with(|| process.part(ALL));
        let held =
            memory.hold(ONE.saturating_add(promise.name.len()).saturating_add(promise.writer.len()))?;
        self.made.retain(|made| {
            let same =
                (made.to, &made.promise.name, &made.promise.writer) == (to, &promise.name, &promise.writer);
            if same {
                promise.stored = promise.stored.max(made.promise.stored);
            }
            !same
        });
        self.made.push_back(Made { to, promise, end: Instant::now() + LASTS, _held: held });
        Ok(())
    }
}
