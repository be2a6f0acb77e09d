//! Answers that are no answers: a `Status` as the API server writes it, so that kubectl and client libraries print what it says.

use axum::Json;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Why a request is not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status.
    pub code: StatusCode,
    /// `reason` of the Status, one of those in `k8s.io/apimachinery/pkg/apis/meta/v1/types.go`.
    pub reason: &'static str,
    /// Where, why, and what to do instead.
    pub message: String,
}

impl Refusal {
    /// 401: nobody knows who asks.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self { code: StatusCode::UNAUTHORIZED, reason: "Unauthorized", message: message.into() }
    }

    /// 403: who asks may not.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self { code: StatusCode::FORBIDDEN, reason: "Forbidden", message: message.into() }
    }

    /// 404: there is no such thing.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self { code: StatusCode::NOT_FOUND, reason: "NotFound", message: message.into() }
    }

    /// 400: what was sent cannot be understood.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self { code: StatusCode::BAD_REQUEST, reason: "BadRequest", message: message.into() }
    }

    /// 503: not now.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self { code: StatusCode::SERVICE_UNAVAILABLE, reason: "ServiceUnavailable", message: message.into() }
    }
}

impl From<BytesRejection> for Refusal {
    /// A body that was not read.
    fn from(error: BytesRejection) -> Self {
        let reason = match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => "RequestEntityTooLarge",
            _ => "BadRequest",
        };
        Self { code: error.status(), reason, message: error.body_text() }
    }
}

impl IntoResponse for Refusal {
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
