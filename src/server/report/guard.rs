//! What is asked of every request, and said of every answer, because a browser is at the other end.
//!
//! * Only for this machine's own names: a site that makes its name lead here (DNS rebinding) is not answered.
//! * What changes something comes from our own page: browsers say where a form comes from.
//! * Answers are not kept, not framed, not guessed at, and run nothing that their policy does not name.

use axum::body::Bytes;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, uri::Authority};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::server::refusal::Refusal;

/// By what names a machine calls itself.
const OWN: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Said of every answer.
const SAID: [(HeaderName, &str); 6] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // With `no-referrer` browsers send `Origin: null` with our own form, and it would be refused as another site's.
    (header::REFERRER_POLICY, "same-origin"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Turns away what a browser should not have sent, and answers the rest.
pub(super) async fn guarded(request: Request, next: Next) -> Response {
    let mut response = match refusal(&request) {
        Some(refusal) => refusal.into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in SAID {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn refusal(request: &Request) -> Option<Refusal> {
    let headers = request.headers();
    let Some(host) = host(request) else {
        return Some(Refusal::forbidden(
            "the report is served to this machine alone: ask for it at localhost",
        ));
    };
    let foreign = !request.method().is_safe() && !is_ours(headers, &host);
    foreign.then(|| Refusal::forbidden("the request comes from another site"))
}

/// The host and port that are asked for, if they are this machine's own.
fn host(request: &Request) -> Option<Authority> {
    let named = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()?.parse().ok());
    // HTTP/2 has it in the URI.
    let host: Authority = named.or_else(|| request.uri().authority().cloned())?;
    OWN.iter().any(|own| host.host().eq_ignore_ascii_case(own)).then_some(host)
}

/// Whether a request that changes something comes from our own page, or from no page.
fn is_ours(headers: &HeaderMap, host: &Authority) -> bool {
    let origin = headers.get(header::ORIGIN).is_none_or(|origin| {
        origin.to_str().is_ok_and(|origin| origin.eq_ignore_ascii_case(&format!("http://{host}")))
    });
    let site = headers.get("sec-fetch-site");
    origin && site.is_none_or(|site| site == "same-origin" || site == "none")
}

/// A page with its policy. Frames are refused by the policy alone in newer browsers, and cannot be in the page's own copy of it.
pub(super) fn page(code: StatusCode, text: Bytes, policy: &str) -> Response {
    let mut response = (code, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response();
    if let Ok(policy) = HeaderValue::from_str(&format!("{policy}; frame-ancestors 'none'")) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn refused(method: &str, headers: &[(&str, &str)]) -> bool {
        let request = Request::builder().method(method).uri("/report");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        refusal(&request.body(Body::empty()).unwrap()).is_some()
    }

    #[test]
    fn only_this_machine_is_answered() {
        for host in ["localhost:8081", "LOCALHOST", "127.0.0.1:1", "[::1]:8081"] {
            assert!(!refused("GET", &[("host", host)]), "{host}");
        }
        for host in ["rebound.example:8081", "localhost.example", "127.0.0.1.example", "10.0.0.1", ""] {
            assert!(refused("GET", &[("host", host)]), "{host}");
        }
        assert!(refused("GET", &[]));
    }

    #[test]
    fn other_sites_change_nothing() {
        let own = ("host", "localhost:8081");
        for (more, refused_is) in [
            (vec![], false),
            (vec![("origin", "http://localhost:8081"), ("sec-fetch-site", "same-origin")], false),
            (vec![("origin", "http://localhost:8082")], true),
            (vec![("origin", "https://evil.example")], true),
            (vec![("origin", "null")], true),
            (vec![("sec-fetch-site", "cross-site")], true),
            (vec![("sec-fetch-site", "same-site")], true),
        ] {
            assert_eq!(refused("POST", &[vec![own], more.clone()].concat()), refused_is, "{more:?}");
            assert!(!refused("GET", &[vec![own], more].concat()), "reading is guarded by the cookie");
        }
    }
}
