//! Negotiation of the format of an answer (`Accept`;
//! `k8s.io/apiserver/pkg/endpoints/handlers/negotiation`).
//!
//! kubectl asks for tables, and for objects where it gets none:
//! `application/json;as=Table;v=v1;g=meta.k8s.io,application/json`.

use std::collections::HashMap;

use axum::http::{HeaderMap, StatusCode, header};

use crate::server::api_error::ApiError;

/// The largest number of media ranges; no real client lists more.
const MAX_RANGES: usize = 16;

/// The format of an answer: the kind, the API group and the version in a media range. All are empty for
/// objects as they are.
pub(super) type AnswerFormat<'a> = [&'a str; 3];

/// Objects as they are.
pub(super) const OBJECT: AnswerFormat<'_> = [""; 3];

/// Reads a media range; `None` for one that is not JSON.
fn read(range: &str) -> Option<AnswerFormat<'_>> {
    let mut parts = range.split(';').map(str::trim);
    let media = parts.next().unwrap_or_default();
    if !["application/json", "application/*", "*/*"].contains(&media) {
        return None;
    }
    let parameters: HashMap<_, _> = parts.filter_map(|part| part.split_once('=')).collect();
    let format = ["as", "g", "v"].map(|name| parameters.get(name).copied().unwrap_or_default());
    Some(if format.first() == Some(&"") { OBJECT } else { format })
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
    ranges.filter_map(read).find_map(offer).ok_or_else(|| {
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
        let [table, beta] = ["v1", "v1beta1"].map(|version| ["Table", "meta.k8s.io", version]);
        let offered = [OBJECT, table, beta].map(|format| (format, format));
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        for (accept, expected) in [
            (None, Some(OBJECT)),
            (Some(kubectl), Some(table)),
            (Some("application/json;g=meta.k8s.io;v=v1beta1;as=Table"), Some(beta)),
            (Some("application/json;as=Table;v=v9;g=meta.k8s.io, */*"), Some(OBJECT)),
            (Some("application/vnd.kubernetes.protobuf, application/json"), Some(OBJECT)),
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
