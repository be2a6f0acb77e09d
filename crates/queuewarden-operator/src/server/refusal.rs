//! Error responses: a `Status` as the API server writes it, so that kubectl and client libraries print its
//! message.

use axum::Json;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// The reason why a request is not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status.
    pub code: StatusCode,
    /// `reason` of the Status, one of those in `k8s.io/apimachinery/pkg/apis/meta/v1/types.go`.
    pub reason: &'static str,
    /// The location, the reason, and what to do instead.
    pub message: String,
}

impl Refusal {
    /// 401: the caller is unknown.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self { code: StatusCode::UNAUTHORIZED, reason: "Unauthorized", message: message.into() }
    }

    /// 403: the caller lacks the permission.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self { code: StatusCode::FORBIDDEN, reason: "Forbidden", message: message.into() }
    }

    /// 404: the object does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self { code: StatusCode::NOT_FOUND, reason: "NotFound", message: message.into() }
    }

    /// 400: the request cannot be read.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self { code: StatusCode::BAD_REQUEST, reason: "BadRequest", message: message.into() }
    }

    /// 503: there is no answer at the moment.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self { code: StatusCode::SERVICE_UNAVAILABLE, reason: "ServiceUnavailable", message: message.into() }
    }
}

impl From<BytesRejection> for Refusal {
    /// Reports a body that could not be read.
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
