//! Negotiation of the format of an answer (`Accept`;
//! `k8s.io/apiserver/pkg/endpoints/handlers/negotiation`).
//!
//! kubectl asks for tables, and for objects where it gets none:
//! `application/json;as=Table;v=v1;g=meta.k8s.io,application/json`.

use axum::http::{HeaderMap, StatusCode, header};

use crate::server::api_error::ApiError;

/// The largest number of media ranges; no real client lists more.
const MAX_RANGES: usize = 16;

/// The format of an answer: a kind of an API group, or objects as they are, where all is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnswerFormat<'a> {
    kind: &'a str,
    group: &'a str,
    version: &'a str,
}

impl<'a> AnswerFormat<'a> {
    /// Objects as they are.
    pub(super) const OBJECT: Self = Self { kind: "", group: "", version: "" };

    /// A table of this version of `meta.k8s.io`.
    pub(super) const fn table(version: &'a str) -> Self {
        Self { kind: "Table", group: "meta.k8s.io", version }
    }

    /// Aggregated discovery of this version.
    pub(super) const fn discovery(version: &'a str) -> Self {
        Self { kind: "APIGroupDiscoveryList", group: "apidiscovery.k8s.io", version }
    }

    /// Reads a media range; `None` for one that is not JSON.
    fn read(range: &'a str) -> Option<Self> {
        let mut parts = range.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        if !["application/json", "application/*", "*/*"].contains(&media) {
            return None;
        }
        let mut shape = Self::OBJECT;
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            match name {
                "as" => shape.kind = value,
                "g" => shape.group = value,
                "v" => shape.version = value,
                _ => {}
            }
        }
        Some(if shape.kind.is_empty() { Self::OBJECT } else { shape })
    }
}

/// Returns what is offered in the first format of the client that there is. Preferences by number (`q`) are
/// ignored, as in API servers.
///
/// # Errors
/// When none of them is offered.
pub(super) fn accepted<'o, T>(
    headers: &HeaderMap,
    offered: &'o [(AnswerFormat<'_>, T)],
) -> Result<&'o T, ApiError> {
    let mut values =
        headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
    let all = values.peek().is_none().then_some("*/*");
    let ranges = all.into_iter().chain(values).flat_map(|value| value.split(',')).take(MAX_RANGES);
    let offer = |shape| offered.iter().find(|(offer, _)| *offer == shape).map(|(_, what)| what);
    ranges.filter_map(AnswerFormat::read).find_map(offer).ok_or_else(|| {
        let message = "only the following media types are accepted: application/json";
        ApiError::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn the_first_shape_that_there_is_wins() {
        let offered = [AnswerFormat::OBJECT, AnswerFormat::table("v1"), AnswerFormat::table("v1beta1")]
            .map(|shape| (shape, shape));
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        for (accept, expected) in [
            (None, Some(AnswerFormat::OBJECT)),
            (Some(kubectl), Some(AnswerFormat::table("v1"))),
            (Some("application/json;g=meta.k8s.io;v=v1beta1;as=Table"), Some(AnswerFormat::table("v1beta1"))),
            (Some("application/json;as=Table;v=v9;g=meta.k8s.io, */*"), Some(AnswerFormat::OBJECT)),
            (Some("application/vnd.kubernetes.protobuf, application/json"), Some(AnswerFormat::OBJECT)),
            (Some("application/vnd.kubernetes.protobuf"), None),
            (Some("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"), None),
            (Some("application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io"), None),
            (Some(""), None),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(accept) = accept {
                headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            }
            assert_eq!(accepted(&headers, &offered).ok().copied(), expected, "{accept:?}");
        }
    }
}
