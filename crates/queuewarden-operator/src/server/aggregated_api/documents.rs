//! Discovery and `OpenAPI`: documents that are the same for all callers, with an `ETag`, so that clients need
//! not fetch them again.

use std::future::ready;
use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{OBJECT, accepted};
use crate::controller::published::hexadecimal;
use crate::server::ServerState;
use queuewarden_api::aggregated_api::{GROUP, ROOT, discovery, openapi};

/// The media type of documents other than aggregated discovery.
const JSON: &str = "application/json";

/// A document as it is sent.
struct Document {
    text: String,
    /// SHA-256 in hexadecimal digits.
    hash: String,
    media: &'static str,
}

impl Document {
    fn new(value: &Value, media: &'static str) -> Self {
        let text = value.to_string();
        let hash = hexadecimal(&Sha256::digest(text.as_bytes())).to_ascii_uppercase();
        Self { text, hash, media }
    }

    fn answer(&self, headers: &HeaderMap) -> Response {
        let tag = format!("\"{}\"", self.hash);
        let known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known == tag.as_str());
        let cached = [(header::VARY, "Accept"), (header::ETAG, tag.as_str())];
        if known {
            (StatusCode::NOT_MODIFIED, cached).into_response()
        } else {
            (cached, [(header::CONTENT_TYPE, self.media)], self.text.clone()).into_response()
        }
    }
}

pub(super) fn router() -> Router<Arc<ServerState>> {
    let v3 = Document::new(&openapi::v3(), JSON);
    let documents = [
        (format!("/apis/{GROUP}"), Document::new(&discovery::group(), JSON)),
        (ROOT.to_owned(), Document::new(&discovery::resources(), JSON)),
        ("/openapi/v2".to_owned(), Document::new(&openapi::v2(), JSON)),
        ("/openapi/v3".to_owned(), Document::new(&openapi::root(&v3.hash), JSON)),
        (format!("/openapi/v3/{}", openapi::PATH), v3),
    ];
    // The kind of aggregated discovery is in the media type, too.
    let aggregated = |version, media| {
        let format = ["APIGroupDiscoveryList", "apidiscovery.k8s.io", version];
        (format, Document::new(&discovery::aggregated(version), media))
    };
    let groups = Arc::new([
        (OBJECT, Document::new(&discovery::groups(), JSON)),
        aggregated("v2", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
        aggregated("v2beta1", "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"),
    ]);
    let apis = get(move |headers: HeaderMap| {
        ready(accepted(&headers, &*groups).map(|document| document.answer(&headers)))
    });
    documents.into_iter().fold(Router::new().route("/apis", apis), |router, (path, document)| {
        let document = Arc::new(document);
        router.route(&path, get(move |headers: HeaderMap| ready(document.answer(&headers))))
    })
}
