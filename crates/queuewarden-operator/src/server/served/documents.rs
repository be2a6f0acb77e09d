//! Discovery and `OpenAPI`: documents that are the same for all callers, with a tag, so that clients need
//! not fetch them again.

use std::future::ready;
use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::accept::{Shape, shape};
use crate::controller::published::hexadecimal;
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
    fn new(value: &Value, media: String) -> Self {
        let text = value.to_string();
        let hash = hexadecimal(&Sha256::digest(text.as_bytes())).to_ascii_uppercase();
        Self { text, hash, media }
    }

    fn json(value: &Value) -> Self {
        Self::new(value, "application/json".to_owned())
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
    Document::new(&discovery::aggregated(version), media)
}

pub(super) fn router() -> Router<Arc<ServerState>> {
    let v3 = Document::json(&openapi::v3());
    let documents = [
        (format!("/apis/{GROUP}"), Document::json(&discovery::group())),
        (ROOT.to_owned(), Document::json(&discovery::resources())),
        ("/openapi/v2".to_owned(), Document::json(&openapi::v2())),
        ("/openapi/v3".to_owned(), Document::json(&openapi::root(&v3.hash))),
        (format!("/openapi/v3/{}", openapi::PATH), v3),
    ];
    let groups = Arc::new([
        (Shape::Object, Document::json(&discovery::groups())),
        (Shape::Discovery("v2"), discovery_list("v2")),
        (Shape::Discovery("v2beta1"), discovery_list("v2beta1")),
    ]);
    let apis = get(move |headers: HeaderMap| ready(in_shape(&*groups, &headers)));
    documents.into_iter().fold(Router::new().route("/apis", apis), |router, (path, document)| {
        let document = Arc::new(document);
        router.route(&path, get(move |headers: HeaderMap| ready(document.answer(&headers))))
    })
}

/// Returns the first document in a format of the client.
fn in_shape(documents: &[(Shape, Document)], headers: &HeaderMap) -> Result<Response, Refusal> {
    let offered: Vec<Shape> = documents.iter().map(|(shape, _)| *shape).collect();
    let found = shape(headers, &offered)?;
    let document = documents.iter().find(|(shape, _)| *shape == found);
    Ok(document
        .map_or_else(|| super::nothing_here().into_response(), |(_, document)| document.answer(headers)))
}
