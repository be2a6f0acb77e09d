//! Negotiation of the format of an answer (`Accept`;
//! `k8s.io/apiserver/pkg/endpoints/handlers/negotiation`).
//!
//! kubectl asks for tables, and for objects where it gets none:
//! `application/json;as=Table;v=v1;g=meta.k8s.io,application/json`.

use axum::http::{HeaderMap, StatusCode, header};

use crate::server::refusal::Refusal;

/// The largest number of media ranges; no real client lists more.
const MAX_RANGES: usize = 16;

/// The format of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Objects as they are.
    Object,
    /// A table of this version of `meta.k8s.io`.
    Table(&'static str),
    /// Aggregated discovery, `apidiscovery.k8s.io` of this version.
    Discovery(&'static str),
}

/// Returns the first format of the client that is offered. Preferences by number (`q`) are ignored, as in
/// API servers.
///
/// # Errors
/// When none of them is offered.
pub(super) fn shape(headers: &HeaderMap, offered: &[Shape]) -> Result<Shape, Refusal> {
    let mut values =
        headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
    if values.peek().is_none() {
        return Ok(Shape::Object);
    }
    let ranges = values.flat_map(|value| value.split(',')).take(MAX_RANGES);
    ranges.filter_map(read).find(|shape| offered.contains(shape)).ok_or_else(|| {
        let message = "only the following media types are accepted: application/json";
        Refusal::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    })
}

fn read(range: &str) -> Option<Shape> {
    let mut parts = range.split(';').map(str::trim);
    let media = parts.next().unwrap_or_default();
    if !["application/json", "application/*", "*/*"].contains(&media) {
        return None;
    }
    let (mut kind, mut group, mut version) = ("", "", "");
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        match name {
            "as" => kind = value,
            "g" => group = value,
            "v" => version = value,
            _ => {}
        }
    }
    let known = |versions: [&'static str; 2]| versions.into_iter().find(|known| *known == version);
    match (kind, group) {
        ("", _) => Some(Shape::Object),
        ("Table", "meta.k8s.io") => known(["v1", "v1beta1"]).map(Shape::Table),
        ("APIGroupDiscoveryList", "apidiscovery.k8s.io") => known(["v2", "v2beta1"]).map(Shape::Discovery),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn the_first_shape_that_there_is_wins() {
        let offered = [Shape::Object, Shape::Table("v1"), Shape::Table("v1beta1")];
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        for (accept, expected) in [
            (None, Some(Shape::Object)),
            (Some(kubectl), Some(Shape::Table("v1"))),
            (Some("application/json;g=meta.k8s.io;v=v1beta1;as=Table"), Some(Shape::Table("v1beta1"))),
            (Some("application/json;as=Table;v=v9;g=meta.k8s.io, */*"), Some(Shape::Object)),
            (Some("application/vnd.kubernetes.protobuf, application/json"), Some(Shape::Object)),
            (Some("application/vnd.kubernetes.protobuf"), None),
            (Some("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"), None),
            (Some("application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io"), None),
            (Some(""), None),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(accept) = accept {
                headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            }
            assert_eq!(shape(&headers, &offered).ok(), expected, "{accept:?}");
        }
    }
}
