//! Discovery and `OpenAPI`: documents that are the same for all callers, with a tag, so that clients need
//! not fetch them again.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::accept::{Shape, shape};
use crate::server::ServerState;
use crate::server::refusal::Refusal;
use queuewarden_api::served::{GROUP, ROOT, discovery, openapi};

/// A document as it is sent.
struct Document {
    text: String,
    /// SHA-256 in hexadecimal digits.
    hash: String,
    media: String,
}

impl Document {
    fn of(value: &Value, media: String) -> Self {
        let text = value.to_string();
        let hash = Sha256::digest(text.as_bytes()).iter().fold(String::with_capacity(64), |mut hex, byte| {
            // Writing into a String does not fail.
            _ = write!(hex, "{byte:02X}");
            hex
        });
        Self { text, hash, media }
    }

    fn json(value: &Value) -> Self {
        Self::of(value, "application/json".to_owned())
    }

    fn answer(&self, headers: &HeaderMap) -> Response {
        let tag = format!("\"{}\"", self.hash);
        let known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known == tag.as_str());
        let mut response = if known {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let media = HeaderValue::from_str(&self.media);
            let media = media.unwrap_or(HeaderValue::from_static("application/json"));
            ([(header::CONTENT_TYPE, media)], self.text.clone()).into_response()
        };
        let headers = response.headers_mut();
        headers.insert(header::VARY, HeaderValue::from_static("Accept"));
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            headers.insert(header::ETAG, tag);
        }
        response
    }
}

/// Returns aggregated discovery, whose kind is in the media type, too.
fn discovery_list(version: &str) -> Document {
    let media = format!("application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList");
    Document::of(&discovery::aggregated(version), media)
}

static GROUPS: LazyLock<Document> = LazyLock::new(|| Document::json(&discovery::groups()));
static NEW_GROUPS: LazyLock<[Document; 2]> = LazyLock::new(|| ["v2", "v2beta1"].map(discovery_list));
static ONE_GROUP: LazyLock<Document> = LazyLock::new(|| Document::json(&discovery::group()));
static RESOURCES: LazyLock<Document> = LazyLock::new(|| Document::json(&discovery::resources()));
static OPENAPI_V2: LazyLock<Document> = LazyLock::new(|| Document::json(&openapi::v2()));
static OPENAPI_V3: LazyLock<Document> = LazyLock::new(|| Document::json(&openapi::v3()));
static OPENAPI_ROOT: LazyLock<Document> = LazyLock::new(|| Document::json(&openapi::root(&OPENAPI_V3.hash)));

pub(super) fn router() -> Router<Arc<ServerState>> {
    let at = |path: &str, document: &'static LazyLock<Document>| {
        Router::new().route(path, get(async move |headers: HeaderMap| document.answer(&headers)))
    };
    Router::new()
        .route("/apis", get(apis))
        .merge(at(&format!("/apis/{GROUP}"), &ONE_GROUP))
        .merge(at(ROOT, &RESOURCES))
        .merge(at("/openapi/v2", &OPENAPI_V2))
        .merge(at("/openapi/v3", &OPENAPI_ROOT))
        .merge(at(&format!("/openapi/v3/{}", openapi::PATH), &OPENAPI_V3))
}

async fn apis(headers: HeaderMap) -> Result<Response, Refusal> {
    let [v2, v2beta1] = &*NEW_GROUPS;
    let offered = [Shape::Object, Shape::Discovery("v2"), Shape::Discovery("v2beta1")];
    let document = match shape(&headers, &offered)? {
        Shape::Discovery("v2") => v2,
        Shape::Discovery(_) => v2beta1,
        Shape::Object | Shape::Table(_) => &*GROUPS,
    };
    Ok(document.answer(&headers))
}
