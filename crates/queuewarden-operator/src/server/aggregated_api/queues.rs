//! `get` and `list` of `queues`.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use kube::Client;
use moka::future::Cache;
use serde::Deserialize;
use serde_json::json;

use super::{AnswerFormat, Memory, OBJECT, accepted, caller, warn};
use crate::controller::published::Published;
use crate::server::ServerState;
use crate::server::api_error::ApiError;
use crate::server::permission::Permission;
use go_compat::diag::quoted;
use queuewarden_api::aggregated_api::fields::Selector;
use queuewarden_api::aggregated_api::queue::{self, CurrentQueue, Queue};
use queuewarden_api::aggregated_api::review::DEFAULT_PARTITION;
use queuewarden_api::aggregated_api::table::{Include, table};
use queuewarden_api::aggregated_api::{GROUP, VERSION};
use queuewarden_client::scheduler::{Connector, beside, queues_path};
use queuewarden_plan::snapshot::SchedulerAddress;
use queuewarden_plan::view::AccessView;
use yunikorn_access::placement::Live;

/// Responses of schedulers, by scheduler and partition.
pub(super) type LiveQueues = Cache<(SchedulerAddress, String), Result<Arc<Live>, String>>;

/// The formats of queues; `Some` is a table of this version.
const FORMATS: [(AnswerFormat<'static>, Option<&str>); 3] = [
    (OBJECT, None),
    (["Table", "meta.k8s.io", "v1"], Some("v1")),
    (["Table", "meta.k8s.io", "v1beta1"], Some("v1beta1")),
];

/// The supported parameters. `limit` is ignored, because a server may return the whole list (`ListOptions`).
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ListParameters {
    field_selector: String,
    label_selector: String,
    include_object: String,
    watch: String,
}

/// `GET …/queues`
pub(super) async fn list(
    State(state): State<Arc<ServerState>>,
    Extension(memory): Extension<Arc<Memory>>,
    Query(parameters): Query<ListParameters>,
    parts: Parts,
) -> Result<Response, ApiError> {
    permitted(&state, &memory, &parts, "list", "").await?;
    let table_version = *accepted(&parts.headers, &FORMATS)?;
    let (selector, include) = parameters.read()?;
    let view = View::load(&state, &memory, selector.partition().unwrap_or(DEFAULT_PARTITION)).await?;
    let warnings = view.warnings();
    // Thousands of queues with hundreds of names each take a while, and other requests need not wait for
    // them.
    let permit = Arc::clone(&memory.lists).acquire_owned().await;
    let made = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let mut queues = view.queues(|queue| selector.name().is_none_or(|name| name == queue.path));
        queues.retain(|queue| selector.selects(queue));
        match table_version {
            Some(version) => table(&queues, version, include),
            None => json!(queue::list(queues)),
        }
    });
    let made = made.await.map_err(|_| {
        ApiError::unavailable(
            "the list was not created because the server is \
             shutting down",
        )
    })?;
    let mut response = Json(made).into_response();
    warn(&mut response, &warnings);
    Ok(response)
}

/// `GET …/queues/NAME`
pub(super) async fn get(
    State(state): State<Arc<ServerState>>,
    Extension(memory): Extension<Arc<Memory>>,
    Path(name): Path<String>,
    Query(parameters): Query<ListParameters>,
    parts: Parts,
) -> Result<Response, ApiError> {
    permitted(&state, &memory, &parts, "get", &name).await?;
    let table_version = *accepted(&parts.headers, &FORMATS)?;
    let (_, include) = parameters.read()?;
    let view = View::load(&state, &memory, DEFAULT_PARTITION).await?;
    let Some(queue) = view.queues(|queue| queue.path == name).pop() else {
        return Err(ApiError::not_found(format!("queues.{GROUP} {name:?} not found{}", view.perhaps(&name))));
    };
    let answer = match table_version {
        Some(version) => table(&[queue], version, include),
        None => json!(queue),
    };
    Ok(Json(answer).into_response())
}

async fn permitted(
    state: &ServerState,
    memory: &Memory,
    parts: &Parts,
    verb: &'static str,
    name: &str,
) -> Result<(), ApiError> {
    let caller = caller(state, memory, parts).await?;
    let name = name.to_owned();
    let permission = Permission { verb, group: GROUP, version: VERSION, resource: "queues", name };
    state.permissions.demand(&caller, &permission).await
}

impl ListParameters {
    fn read(&self) -> Result<(Selector, Include), ApiError> {
        if ["1", "true"].contains(&self.watch.as_str()) {
            let message = "queues cannot be watched: they are computed on request";
            return Err(ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message));
        }
        if !self.label_selector.is_empty() {
            let message = "queues have no labels to be selected by; --field-selector selects them by \
                           name, partition, parent, leaf and dynamic";
            return Err(ApiError::bad_request(message));
        }
        let include = match self.include_object.as_str() {
            "" | "Metadata" => Include::Metadata,
            "None" => Include::None,
            "Object" => Include::Object,
            other => {
                let message =
                    format!("includeObject must be None, Metadata or Object, not {}", quoted(other));
                return Err(ApiError::bad_request(message));
            }
        };
        let selector = Selector::parse(&self.field_selector).map_err(ApiError::bad_request)?;
        Ok((selector, include))
    }
}

/// One partition at this moment.
struct View {
    known: Arc<AccessView>,
    partition: String,
    /// The queues that are not in the configuration, or why they are unknown.
    live: Result<Arc<Live>, String>,
}

impl View {
    async fn load(state: &ServerState, memory: &Memory, partition: &str) -> Result<Self, ApiError> {
        let Some(published) = state.published() else {
            return Err(ApiError::unavailable("queuewarden has not read everything yet; try again"));
        };
        let known = published.queues.clone().map_err(ApiError::unavailable)?;
        if known.tree(partition).is_none() {
            let message = format!("there is no partition {}", quoted(partition));
            return Err(ApiError::bad_request(message));
        }
        let live = self::live(&memory.live, &state.lookups.client, &published, partition).await;
        Ok(Self { known, partition: partition.to_owned(), live })
    }

    /// Returns the queues that match.
    fn queues(&self, matches: impl Fn(&CurrentQueue<'_>) -> bool) -> Vec<Queue> {
        let Some(tree) = self.known.tree(&self.partition) else { return Vec::new() };
        let no_others = Live::default();
        let mut current = queue::live_queues(tree, self.live.as_deref().unwrap_or(&no_others));
        current.retain(matches);
        queue::queues(tree, &current)
    }

    fn warnings(&self) -> Vec<String> {
        let unknown = self.live.as_ref().err().into_iter();
        unknown.map(|why| format!("queues created by placement rules are not shown: {why}")).collect()
    }

    /// Returns a hint for a caller who did not find a queue.
    fn perhaps(&self, name: &str) -> String {
        let lower = yunikorn::queue::lowered(name);
        match &self.live {
            _ if lower != name => format!(": queue names are in lower case, {lower:?}"),
            Err(why) => format!(", and it is unknown whether a placement rule has created it: {why}"),
            Ok(_) => String::new(),
        }
    }
}

/// How long a response or failure is cached.
const FRESH: Duration = Duration::from_secs(5);
/// Maximum number of cached responses, each of which may be large.
const MOST: u64 = 8;

/// Returns a cache of the queues that a scheduler has in addition to its configuration, by scheduler and
/// partition.
pub(super) fn live_queues() -> LiveQueues {
    Cache::builder().max_capacity(MOST).time_to_live(FRESH).build()
}

/// Returns the queues of a partition that placement rules have created. The address of the scheduler comes
/// from the `YuniKornConfig`.
///
/// # Errors
/// Explains why they are unknown: there is no address, or the scheduler did not answer.
async fn live(
    known: &LiveQueues,
    client: &Client,
    published: &Published,
    partition: &str,
) -> Result<Arc<Live>, String> {
    let spec = published.snapshot.config.as_ref().and_then(|config| config.spec.as_ref().ok());
    let Some(address) = spec.and_then(|spec| spec.scheduler.clone()) else {
        return Err("the YuniKornConfig has no schedulerUrl".to_owned());
    };
    // Requests that arrive while the scheduler answers wait for the same answer.
    let answer = async {
        let details = async {
            Connector::new(client.clone()).connect(&address).await?.get(&queues_path(partition)).await
        };
        details.await.map(|root| Arc::new(beside(&root))).map_err(|error| error.to_string())
    };
    known.get_with((address.clone(), partition.to_owned()), answer).await
}
