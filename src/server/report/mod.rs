//! The report as a page that follows the cluster, for people with a browser and `kubectl port-forward`.
//!
//! # Where it is
//! At an address of its own, which must be one of the machine's own loopback: in a pod that is where `kubectl port-forward` ends, and
//! where nobody else comes. So it speaks plain HTTP: the way there is kubectl's, encrypted and authorised by the API server, and a
//! certificate for `localhost` would only teach people to click warnings away.
//!
//! # Who may see it
//! Whom Kubernetes lets `get` the path `/report`, as with the metrics of its own components: a bearer token says who asks
//! ([`super::caller`]), and a `SubjectAccessReview` whether they may. A browser cannot send a token by itself: it is typed into a form once,
//! and kept here for a [`session`], whose number a cookie holds that no script can read and no other site can send. The token is
//! checked with each request, so that a session ends with the token, and with the right.
//!
//! * [`made`]: the report and its page, made once for all who look.
//! * [`sign_in`]: the form.
//! * [`guard`]: what is asked of every request, and said of every answer, because a browser is at the other end.

mod guard;
mod made;
mod session;
mod sign_in;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Extension, Router, middleware};
use serde::Deserialize;

use super::Doors;
use super::permission;
use super::refusal::Refusal;
use made::{Made, Reports};
use session::Sessions;

/// The path of the page, and the one that people need to be allowed to `get`.
const PAGE: &str = "/report";
/// The path of its data.
const DATA: &str = "/report.json";
/// Largest form that is read, in bytes: a token with many groups.
pub(super) const MAX_BODY: usize = 32 * 1024;
/// The partition that is there when none is named.
const DEFAULT_PARTITION: &str = "default";

/// What this door remembers between requests.
#[derive(Debug, Default)]
struct Memory {
    sessions: Arc<Sessions>,
    reports: Reports,
}

/// The routes. To be called within a runtime: sessions also end while nobody asks.
pub fn router() -> Router<Doors> {
    let memory = Memory::default();
    tokio::spawn(session::sweep(Arc::downgrade(&memory.sessions)));
    Router::new()
        .route("/", get(async || Redirect::to(PAGE)))
        .route(PAGE, get(page))
        .route(DATA, get(data))
        .route(sign_in::IN, post(sign_in::enter))
        .route(sign_in::OUT, post(sign_in::leave))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(Extension(Arc::new(memory)))
        .layer(middleware::from_fn(guard::guarded))
}

/// Which report.
#[derive(Debug, Deserialize)]
struct Asked {
    partition: Option<String>,
}

/// The page, or the form.
async fn page(
    State(doors): State<Doors>,
    Extension(memory): Extension<Arc<Memory>>,
    Query(asked): Query<Asked>,
    parts: Parts,
) -> Response {
    match report(&doors, &memory, &asked, &parts).await {
        Ok(made) => guard::page(StatusCode::OK, made.page.clone(), &crate::report::page::policy()),
        Err(refusal) => sign_in::form(&refusal),
    }
}

/// Its data, if the page has not got them already.
async fn data(
    State(doors): State<Doors>,
    Extension(memory): Extension<Arc<Memory>>,
    Query(asked): Query<Asked>,
    parts: Parts,
) -> Response {
    match report(&doors, &memory, &asked, &parts).await {
        Ok(made) => answer(&made, &parts.headers),
        Err(refusal) => refusal.into_response(),
    }
}

fn answer(made: &Made, asked: &HeaderMap) -> Response {
    let known = asked.get(header::IF_NONE_MATCH).is_some_and(|known| known == made.tag.as_str());
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(header::CONTENT_TYPE, "application/json")], made.data.clone()).into_response()
    };
    if let Ok(tag) = HeaderValue::from_str(&made.tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// The report, for those who may see it.
async fn report(doors: &Doors, memory: &Memory, asked: &Asked, parts: &Parts) -> Result<Arc<Made>, Refusal> {
    admit(doors, memory, parts).await?;
    let knowledge = doors.knowledge().ok_or_else(|| Refusal::unavailable("not everything was read yet"))?;
    memory.reports.of(knowledge, asked.partition.as_deref().unwrap_or(DEFAULT_PARTITION)).await
}

/// Whether who asks may: by a token in a header, as programs do, or by a session, which ends with its token and with the right.
async fn admit(doors: &Doors, memory: &Memory, parts: &Parts) -> Result<(), Refusal> {
    let session = session::shown(&parts.headers);
    let session = session.filter(|_| !parts.headers.contains_key(header::AUTHORIZATION));
    let session = session.and_then(|number| Some((memory.sessions.token(&number)?, number)));
    let known = match &session {
        Some((token, _)) => doors.callers.by(token).await,
        None => doors.callers.know(parts).await,
    };
    let may = match known {
        Ok(caller) => permission::demand_path(&doors.client, &caller, "get", PAGE).await,
        Err(unknown) => Err(unknown.into()),
    };
    if let (Err(refusal), Some((_, number))) = (&may, &session)
        && matches!(refusal.code, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
    {
        memory.sessions.end(number);
    }
    may
}
