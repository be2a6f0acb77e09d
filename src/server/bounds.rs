//! What one request may cost: time, and bytes of its body, alone and together with all others.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Router, http};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;

use super::fault::{Fault, contained};
use super::refusal::Refusal;
use crate::operator::health::Health;

/// Bytes of one body. An `AdmissionReview` of a `ConfigMap` has it twice, of up to 1 MiB each, with quotes escaped.
pub const BODY: usize = 4 * 1024 * 1024;
/// From the headers to the answer. API servers wait for less: 30 s for an authorizer at most, 10 s for a webhook by default.
const TIME: Duration = Duration::from_secs(10);
/// Bytes that count as one.
const UNIT: usize = 64 * 1024;
/// Units of all bodies at once, 32 MiB; the others wait, unread.
const UNITS: usize = 512;

/// What requests share.
#[derive(Debug)]
struct Bounds {
    units: Semaphore,
    health: Arc<Health>,
}

/// Bounds every route.
pub fn bound<S: Clone + Send + Sync + 'static>(router: Router<S>, health: &Arc<Health>) -> Router<S> {
    let bounds = Arc::new(Bounds { units: Semaphore::new(UNITS), health: Arc::clone(health) });
    router.layer(DefaultBodyLimit::max(BODY)).layer(from_fn_with_state(bounds, bounded))
}

async fn bounded(
    State(bounds): State<Arc<Bounds>>,
    door: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let begin = Instant::now();
    let door = door.as_ref().map_or("other", MatchedPath::as_str);
    let span = tracing::info_span!("request", door, status = tracing::field::Empty);
    let answer = bounds.answer(request, next).instrument(span.clone()).await;
    span.record("status", answer.status().as_u16());
    bounds.health.metrics.doors.answered(door, answer.status().as_u16(), begin.elapsed());
    answer
}

impl Bounds {
    async fn answer(&self, request: Request, next: Next) -> Response {
        let length = match length(&request) {
            Some(length) if length > BODY => return too_large(length),
            length => length.unwrap_or(BODY),
        };
        let units = u32::try_from(length.div_ceil(UNIT).max(1)).unwrap_or(u32::MAX);
        let answer = async {
            // Never closed; were it, the request would be answered all the same.
            let _units = self.units.acquire_many(units).await;
            contained(next.run(request)).await
        };
        match timeout(TIME, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(fault @ Fault)) => {
                refusal(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", &fault.to_string())
            }
            Err(_) => {
                let message =
                    format!("the request was not sent, or not answered, within {} s", TIME.as_secs());
                refusal(StatusCode::REQUEST_TIMEOUT, "Timeout", &message)
            }
        }
    }
}

/// How long the body says it is; `None`: it does not.
fn length(request: &http::Request<axum::body::Body>) -> Option<usize> {
    let length = request.headers().get(header::CONTENT_LENGTH);
    if let Some(length) = length {
        return length.to_str().ok()?.parse().ok();
    }
    // Methods without a body, or chunks.
    let chunks = request.headers().contains_key(header::TRANSFER_ENCODING) || !request.method().is_safe();
    (!chunks).then_some(0)
}

fn too_large(length: usize) -> Response {
    let message = format!("the body has {length} bytes; at most {BODY} are read");
    refusal(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", &message)
}

fn refusal(code: StatusCode, reason: &'static str, message: &str) -> Response {
    Refusal { code, reason, message: message.to_owned() }.into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::{Body, Bytes};
    use axum::routing::{get, post};
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    fn doors() -> (Router, Arc<Health>) {
        let health = Arc::new(Health::default());
        let router = Router::new()
            .route("/read", post(async |body: Bytes| body.len().to_string()))
            .route("/never", get(async || std::future::pending::<()>().await))
            .route("/fault", get(async || if true { panic!("a fault") } else { "" }));
        (bound(router, &health), health)
    }

    async fn ask(router: &Router, request: http::Request<Body>) -> (u16, String) {
        let answer = router.clone().oneshot(request).await.unwrap();
        let code = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn bodies_are_read_up_to_the_limit_with_and_without_a_length() {
        let (router, _) = doors();
        for (size, code) in [(0, 200), (BODY, 200), (BODY + 1, 413)] {
            let whole = http::Request::post("/read").body(Body::from(vec![b'x'; size])).unwrap();
            assert_eq!(ask(&router, whole).await.0, code, "{size}");
            let parts = futures::stream::iter(vec![Ok::<_, std::io::Error>(vec![b'x'; size])]);
            let chunked = http::Request::post("/read").header("transfer-encoding", "chunked");
            let chunked = chunked.body(Body::from_stream(parts)).unwrap();
            assert_eq!(ask(&router, chunked).await.0, code, "{size}");
        }
        let lie =
            http::Request::post("/read").header("content-length", "99999999").body(Body::empty()).unwrap();
        let (code, body) = ask(&router, lie).await;
        assert!(code == 413 && body.contains("at most 4194304 are read"), "{body}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_does_not_come_is_not_waited_for() {
        let (router, health) = doors();
        let begin = Instant::now();
        let (code, body) = ask(&router, http::Request::get("/never").body(Body::empty()).unwrap()).await;
        assert!(code == 408 && body.contains("within 10 s"), "{body}");
        assert_eq!(begin.elapsed(), TIME);
        let metrics = health.metrics.text(&[]);
        assert!(
            metrics.contains(r#"https_request_duration_seconds_count{door="/never",code="408"} 1"#),
            "{metrics}"
        );
    }

    #[tokio::test]
    async fn a_fault_is_an_answer() {
        let (router, _) = doors();
        let (code, body) = ask(&router, http::Request::get("/fault").body(Body::empty()).unwrap()).await;
        assert!(code == 500 && body.contains("fault"), "{body}");
        assert_eq!(ask(&router, http::Request::get("/none").body(Body::empty()).unwrap()).await.0, 404);
    }
}
