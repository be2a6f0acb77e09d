//! Errors of a request: a response in the form of the API server's `Status`, whose message kubectl and client
//! libraries print, and the internal error of a panic, which affects only one response.
//!
//! An endpoint that has an answer for undecided requests gives it after an internal error: an authorizer
//! gives no opinion, and a webhook gives its answer for doubts. For API servers, a server error is worse than
//! no opinion, because they repeat a request to an authorizer five times.

use std::panic::AssertUnwindSafe;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::FutureExt as _;
use serde_json::json;

/// The error that a client gets instead of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// HTTP status.
    pub code: StatusCode,
    /// `reason` of the Status, as defined in `k8s.io/apimachinery/pkg/apis/meta/v1/types.go`.
    pub reason: &'static str,
    /// The location, the reason, and what to do instead.
    pub message: String,
}

impl ApiError {
    /// Returns the error with this status, reason and message.
    pub fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into() }
    }

    /// 401: the caller is unknown.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", message)
    }

    /// 403: the caller lacks the permission.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message)
    }

    /// 404: the object does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", message)
    }

    /// 400: the request cannot be read.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// 503: no answer is available at the moment.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code.as_u16(),
        });
        let mut response = (self.code, Json(status)).into_response();
        if self.code == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
        }
        response
    }
}

/// An internal error: a panic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("internal error in queuewarden; see its log")]
pub(super) struct InternalError;

/// Runs work that may panic. Shared state must remain usable: locks that the work held are poisoned.
pub(super) fn contained<T>(work: impl Future<Output = T>) -> impl Future<Output = Result<T, InternalError>> {
    let work = AssertUnwindSafe(Box::pin(work)).catch_unwind();
    work.map(|done| {
        done.map_err(|_| {
            tracing::error!(
                "A request was not answered because of an internal error, whose message is above"
            );
            InternalError
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error() {
        assert_eq!(contained(async { 1 }).await, Ok(1));
        let fault = contained(async { if true { panic!("a fault") } else { 1 } }).await;
        assert!(fault.unwrap_err().to_string().contains("internal error in queuewarden"));
    }
}
