//! What one request may cost: time, and bytes of its body, alone and together with all others.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::{DefaultBodyLimit, FromRequest as _, MatchedPath, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;

use super::fault::contained;
use super::refusal::Refusal;
use crate::operator::health::Health;

/// Bytes of one body. An `AdmissionReview` of a `ConfigMap` has it twice, of up to 1 MiB each, with quotes escaped.
pub const BODY: usize = 4 * 1024 * 1024;
/// From the headers to the answer. API servers wait for less: 30 s for an authorizer at most, 10 s for a webhook by default.
const TIME: Duration = Duration::from_secs(10);
/// From when a body has its units until it is there: who asks need not be known to hold them.
const READ: Duration = Duration::from_secs(2);
/// Bytes that count as one.
const UNIT: usize = 64 * 1024;
/// Units of all bodies at once that say they need only one, 8 MiB for each group of doors: those that take long to answer keep nobody out
/// of the others. More of them wait, unread.
const SHORT: usize = 128;
/// Units of all longer bodies at once and of those that do not say how long they are, 16 MiB.
const LONG: usize = 256;
/// As long these wait unread. What their connection has taken in of them until then is room that others on it need, which have [`READ`].
const TURN: Duration = Duration::from_secs(1);

/// What requests share.
#[derive(Debug)]
pub struct Bounds {
    long: Semaphore,
    health: Arc<Health>,
}

impl Bounds {
    /// Where nothing is under way.
    pub fn new(health: &Arc<Health>) -> Arc<Self> {
        Arc::new(Self { long: Semaphore::new(LONG), health: Arc::clone(health) })
    }

    /// Bounds every route of a group of doors; a body may have `limit` bytes, [`BODY`] at most.
    pub fn bound<S>(self: &Arc<Self>, router: Router<S>, limit: usize) -> Router<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        let limit = limit.min(BODY);
        let bound = Bound { bounds: Arc::clone(self), short: Arc::new(Semaphore::new(SHORT)), limit };
        router.layer(DefaultBodyLimit::max(limit)).layer(from_fn_with_state(bound, bounded))
    }
}

/// What holds for a group of doors.
#[derive(Debug, Clone)]
struct Bound {
    bounds: Arc<Bounds>,
    short: Arc<Semaphore>,
    /// Bytes of one body.
    limit: usize,
}

async fn bounded(
    State(bound): State<Bound>,
    door: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let begin = Instant::now();
    let door = door.as_ref().map_or("other", MatchedPath::as_str);
    let span = tracing::info_span!("request", door, status = tracing::field::Empty);
    let answer = bound.answer(request, next).instrument(span.clone()).await;
    span.record("status", answer.status().as_u16());
    bound.bounds.health.metrics.doors.answered(door, answer.status().as_u16(), begin.elapsed());
    answer
}

impl Bound {
    async fn answer(&self, request: Request, next: Next) -> Response {
        let answer = async {
            let (request, _units) = self.read(request).await?;
            contained(next.run(request)).await.map_err(|fault| Refusal {
                code: StatusCode::INTERNAL_SERVER_ERROR,
                reason: "InternalError",
                message: fault.to_string(),
            })
        };
        let answer = timeout(TIME, answer).await;
        answer
            .unwrap_or_else(|_| Err(late("the request was not answered", TIME)))
            .unwrap_or_else(Refusal::into_response)
    }

    /// The request with its body, and the units that it has until it is answered; without a body it needs none.
    async fn read(&self, request: Request) -> Result<(Request, Option<SemaphorePermit<'_>>), Refusal> {
        let (parts, body) = request.into_parts();
        if body.is_end_stream() {
            return Ok((Request::from_parts(parts, body), None));
        }
        let said = body.size_hint().upper().map(|length| usize::try_from(length).unwrap_or(usize::MAX));
        if let Some(length) = said.filter(|length| *length > self.limit) {
            return Err(too_large(length, self.limit));
        }
        let most = said.unwrap_or(self.limit);
        // Never closed; were they, the request would be answered all the same.
        let units = if said.is_some_and(|length| length <= UNIT) {
            self.short.acquire().await.ok()
        } else {
            let number = u32::try_from(most.div_ceil(UNIT).max(1)).unwrap_or(u32::MAX);
            timeout(TURN, self.bounds.long.acquire_many(number)).await.map_err(|_| crowded())?.ok()
        };
        let mut unread = Request::new(body);
        DefaultBodyLimit::max(most).apply(&mut unread);
        let body = timeout(READ, Bytes::from_request(unread, &())).await;
        let body = body.map_err(|_| late("the body was not sent", READ))??;
        Ok((Request::from_parts(parts, Body::from(body)), units))
    }
}

fn late(what: &str, time: Duration) -> Refusal {
    let message = format!("{what} within {} s", time.as_secs());
    Refusal { code: StatusCode::REQUEST_TIMEOUT, reason: "Timeout", message }
}

/// API servers ask an authorizer again after it, in growing pauses.
fn crowded() -> Refusal {
    let message = "other long bodies are being read: try again".to_owned();
    Refusal { code: StatusCode::TOO_MANY_REQUESTS, reason: "TooManyRequests", message }
}

fn too_large(length: usize, limit: usize) -> Refusal {
    let message = format!("the body has {length} bytes; at most {limit} are read");
    Refusal { code: StatusCode::PAYLOAD_TOO_LARGE, reason: "RequestEntityTooLarge", message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use axum::routing::{get, post};
    use futures::future::join_all;
    use http_body::{Frame, SizeHint};
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    fn doors() -> (Router, Arc<Health>) {
        let health = Arc::new(Health::default());
        let bounds = Bounds::new(&health);
        let little: Router = Router::new().route("/little", post(async |body: Bytes| body.len().to_string()));
        let router: Router = Router::new()
            .route("/read", post(async |body: Bytes| body.len().to_string()))
            .route("/never", get(async || std::future::pending::<()>().await))
            .route("/fault", get(async || if true { panic!("a fault") } else { "" }));
        (bounds.bound(little, UNIT).merge(bounds.bound(router, BODY)), health)
    }

    /// A body that does not come, and how long it says it is.
    struct Silent(Option<u64>);

    impl http_body::Body for Silent {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Pending
        }

        fn size_hint(&self) -> SizeHint {
            self.0.map_or_else(SizeHint::default, SizeHint::with_exact)
        }
    }

    fn sent(path: &str, body: Body) -> Request {
        Request::post(path).body(body).unwrap()
    }

    async fn ask(router: &Router, request: Request) -> (u16, String) {
        let answer = router.clone().oneshot(request).await.unwrap();
        let code = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn bodies_are_read_up_to_the_limit_with_and_without_a_length() {
        let (router, _) = doors();
        for (path, size, code) in [
            ("/read", 0, 200),
            ("/read", BODY, 200),
            ("/read", BODY + 1, 413),
            ("/little", UNIT, 200),
            ("/little", UNIT + 1, 413),
        ] {
            let whole = sent(path, Body::from(vec![b'x'; size]));
            assert_eq!(ask(&router, whole).await.0, code, "{path} {size}");
            let parts = futures::stream::iter(vec![Ok::<_, std::io::Error>(vec![b'x'; size])]);
            let chunked = sent(path, Body::from_stream(parts));
            assert_eq!(ask(&router, chunked).await.0, code, "{path} {size}");
        }
        for (path, most) in [("/read", BODY), ("/little", UNIT)] {
            let (code, body) = ask(&router, sent(path, Body::new(Silent(Some(99_999_999))))).await;
            let why = format!("the body has 99999999 bytes; at most {most} are read");
            assert!(code == 413 && body.contains(&why), "{body}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silent_bodies_keep_nobody_out_and_are_not_waited_for() {
        for length in [None, Some(u64::try_from(BODY).unwrap())] {
            let (router, _) = doors();
            let begin = Instant::now();
            let silent = (0..8).map(|_| ask(&router, sent("/read", Body::new(Silent(length)))));
            let mut silent = Box::pin(join_all(silent));
            assert!(futures::poll!(&mut silent).is_pending());
            for body in ["", "short"] {
                let read = ask(&router, sent("/read", Body::from(body))).await;
                assert_eq!(read, (200, body.len().to_string()));
            }
            assert_eq!(begin.elapsed(), Duration::ZERO);
            let answers = silent.await;
            let of = |code| answers.iter().filter(move |answer| answer.0 == code);
            assert!(
                of(408).all(|(_, body)| body.contains("the body was not sent within 2 s")),
                "{answers:?}"
            );
            assert!(of(429).all(|(_, body)| body.contains("try again")), "{answers:?}");
            assert_eq!((of(408).count(), of(429).count()), (4, 4), "there are units for half of them");
            assert_eq!(begin.elapsed(), READ);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_crowd_at_some_doors_keeps_nobody_out_of_the_others() {
        let (router, _) = doors();
        let begin = Instant::now();
        let silent = (0..=SHORT).map(|_| ask(&router, sent("/read", Body::new(Silent(Some(1))))));
        let mut silent = Box::pin(join_all(silent));
        assert!(futures::poll!(&mut silent).is_pending());
        assert_eq!(ask(&router, sent("/little", Body::from("short"))).await, (200, "5".to_owned()));
        assert_eq!(begin.elapsed(), Duration::ZERO);
        assert!(silent.await.iter().all(|answer| answer.0 == 408));
        assert_eq!(begin.elapsed(), READ * 2, "one had to wait for the unit of another");
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_take_no_more_units_than_their_door_reads() {
        let (router, _) = doors();
        let begin = Instant::now();
        let silent = (0..8).map(|_| ask(&router, sent("/little", Body::new(Silent(None)))));
        let mut silent = Box::pin(join_all(silent));
        assert!(futures::poll!(&mut silent).is_pending());
        let read = ask(&router, sent("/read", Body::from(vec![b'x'; BODY]))).await;
        assert_eq!(read, (200, BODY.to_string()));
        assert_eq!(begin.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_does_not_come_is_not_waited_for() {
        let (router, health) = doors();
        let begin = Instant::now();
        let (code, body) = ask(&router, Request::get("/never").body(Body::empty()).unwrap()).await;
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
        let (code, body) = ask(&router, Request::get("/fault").body(Body::empty()).unwrap()).await;
        assert!(code == 500 && body.contains("fault"), "{body}");
        assert_eq!(ask(&router, Request::get("/none").body(Body::empty()).unwrap()).await.0, 404);
    }
}
