//! The form into which a token is typed, and what is done with it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form};
use serde::Deserialize;

use super::{Memory, PAGE, guard, session};
use crate::report::page::hash;
use crate::server::Doors;
use crate::server::permission;
use crate::server::refusal::Refusal;

/// Where the form goes.
pub(super) const IN: &str = "/sign-in";
/// Where a session ends.
pub(super) const OUT: &str = "/sign-out";

const PAGE_TEXT: &str = include_str!("sign_in.html");
const STYLE: &str = include_str!("sign_in.css");

/// What is typed.
#[derive(Deserialize)]
pub(super) struct Typed {
    token: String,
}

/// Begins a session for who may see the report.
pub(super) async fn enter(
    State(doors): State<Doors>,
    Extension(memory): Extension<Arc<Memory>>,
    Form(typed): Form<Typed>,
) -> Response {
    match begin(&doors, &memory, typed.token.trim()).await {
        Ok(cookie) => with_cookie(&cookie),
        Err(refusal) => form(&refusal),
    }
}

async fn begin(doors: &Doors, memory: &Memory, token: &str) -> Result<String, Refusal> {
    if token.is_empty() {
        return Err(Refusal::unauthorized("no token was typed"));
    }
    let caller = doors.callers.by(token).await?;
    permission::demand_path(&doors.client, &caller, "get", PAGE).await?;
    let number = memory.sessions.begin(token.to_owned());
    let number = number.ok_or_else(|| Refusal::unavailable("there are no random numbers to be had"))?;
    tracing::info!(user = caller.user, "Signed in to the report");
    Ok(number.cookie())
}

/// Ends a session.
pub(super) async fn leave(Extension(memory): Extension<Arc<Memory>>, headers: HeaderMap) -> Response {
    if let Some(number) = session::shown(&headers) {
        memory.sessions.end(&number);
    }
    with_cookie(&session::no_cookie())
}

/// Back to the page.
fn with_cookie(cookie: &str) -> Response {
    let mut response = Redirect::to(PAGE).into_response();
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// The form, and why it is shown.
pub(super) fn form(refusal: &Refusal) -> Response {
    let first = refusal.code == StatusCode::UNAUTHORIZED && refusal.message.starts_with("show who you are");
    let why =
        if first { String::new() } else { format!("<p role=\"alert\">{}</p>", escaped(&refusal.message)) };
    // Ours first: what is in the message is not looked at again.
    let text = PAGE_TEXT.replacen("{{style}}", STYLE, 1).replacen("{{why}}", &why, 1);
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; img-src data:; form-action 'self'; base-uri 'none'",
        hash(STYLE)
    );
    let mut response = guard::page(refusal.code, text.into(), &policy);
    if refusal.code == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// As text between elements.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
