//! Limits of one request: time, and bytes of its body, alone and together with all others.
//!
//! Bytes count when they are there: a body that is announced and not sent takes nothing.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, BodyDataStream, HttpBody as _};
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use futures::StreamExt as _;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::Instrument as _;

use super::audit::{Audit, from_peer};
use super::budget::{Budget, Share};
use super::internal_error::contained;
use super::listener::Peer;
use super::refusal::Refusal;
use super::slots::Slot;
use crate::controller::health::Health;

/// Bytes of one body. An `AdmissionReview` has an object of up to 1.5 MiB twice, with quotes escaped.
pub const BODY: usize = 6 * 1024 * 1024;
/// From the headers to the answer. API servers wait for less: 30 s for an authorizer at most, 10 s for a
/// webhook by default.
const TIME: Duration = Duration::from_secs(10);
/// From the headers until the body has arrived: a client can hold a connection without authenticating.
const READ: Duration = Duration::from_secs(2);
/// The longest wait of a body for bytes that others use. The part that its connection has already sent
/// takes up space that others on it need.
const TURN: Duration = Duration::from_secs(1);
/// Marks a request whose body was larger than the limit: only its first bytes are there.
#[derive(Debug, Clone, Copy)]
pub struct Cut {
    /// Bytes of the body that are in memory.
    pub kept: usize,
}

/// The treatment of a body that is larger than it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Larger {
    /// The request is refused with 413.
    Refused,
    /// The request is answered by the first bytes ([`Cut`]): no requester decides by the size of an object
    /// whether it is looked at.
    Cut,
}

/// Limits of a group of endpoints.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of one body.
    pub body: usize,
    /// The treatment of a larger body.
    pub larger: Larger,
    /// Bytes of all requests of the group at once.
    pub all: usize,
}

impl Limits {
    /// The limits of endpoints whose requests have no bodies.
    pub const NO_BODIES: Self = Self { body: 0, larger: Larger::Refused, all: 1024 * 1024 };
}

/// Limits every route of a group of endpoints. Slow endpoints do not block the others.
pub fn bound<S>(router: Router<S>, limits: Limits, health: &Arc<Health>) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    let (budget, audit) = (Budget::new(limits.all), Audit::new("requests"));
    let bound = Bound { budget, limits, health: Arc::clone(health), audit };
    router.layer(from_fn_with_state(bound, bounded))
}

/// The limits of a group of endpoints.
#[derive(Debug, Clone)]
struct Bound {
    budget: Arc<Budget>,
    limits: Limits,
    health: Arc<Health>,
    audit: Audit,
}

async fn bounded(
    State(bound): State<Bound>,
    endpoint: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let begin = Instant::now();
    let endpoint = endpoint.as_ref().map_or("other", MatchedPath::as_str);
    let span = tracing::info_span!("request", endpoint, status = tracing::field::Empty);
    let peer = request.extensions().get::<Peer>().map(|peer| peer.address);
    let answer = async {
        let answer = bound.answer(request, next).await;
        bound.audit.unread(endpoint, answer.status().as_u16());
        answer
    };
    let answer = from_peer(peer, answer).instrument(span.clone()).await;
    let status = answer.status().as_u16();
    span.record("status", status);
    bound.health.metrics.endpoints.answered(endpoint, status, begin.elapsed());
    answer
}

impl Bound {
    async fn answer(&self, request: Request, next: Next) -> Response {
        let answer = async {
            let slot = request.extensions().get::<Arc<Slot>>().cloned();
            let (mut request, _share) = self.read(request).await?;
            // The body is in memory when it is extracted.
            DefaultBodyLimit::disable().apply(&mut request);
            // Until here the connection makes room for others.
            let _busy = slot.as_ref().map(|slot| slot.begin());
            contained(next.run(request)).await.map_err(|fault| {
                Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", fault.to_string())
            })
        };
        let answer = timeout(TIME, answer).await;
        answer
            .unwrap_or_else(|_| Err(late("the request was not answered", TIME)))
            .unwrap_or_else(Refusal::into_response)
    }

    /// Returns the request with its body in memory, and the bytes that it uses until it is answered.
    async fn read(&self, request: Request) -> Result<(Request, Share), Refusal> {
        let (mut parts, body) = request.into_parts();
        let peer = parts
            .extensions
            .get::<Peer>()
            .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.address.ip());
        let mut share = Share::new(&self.budget, peer);
        if body.is_end_stream() {
            return Ok((Request::from_parts(parts, body), share));
        }
        let announced = body.size_hint().upper().map(|length| usize::try_from(length).unwrap_or(usize::MAX));
        if let Some(length) = announced.filter(|length| *length > self.limits.body)
            && self.limits.larger == Larger::Refused
        {
            return Err(too_large(&format!("{length} bytes"), self.limits.body));
        }
        let (bytes, cut) = self.collect(body.into_data_stream(), &mut share).await?;
        if cut {
            parts.extensions.insert(Cut { kept: self.limits.body });
        }
        Ok((Request::from_parts(parts, Body::from(bytes)), share))
    }

    /// Returns the kept part of a body, and whether there was more.
    async fn collect(&self, mut body: BodyDataStream, share: &mut Share) -> Result<(Vec<u8>, bool), Refusal> {
        let (end, most) = (Instant::now() + READ, self.limits.body);
        let (mut kept, mut cut) = (Vec::new(), false);
        loop {
            let chunk = match timeout_at(end, body.next()).await {
                Ok(None) => return Ok((kept, cut)),
                Ok(Some(Ok(chunk))) => chunk,
                Ok(Some(Err(error))) => {
                    return Err(Refusal::bad_request(format!("the body cannot be read: {error}")));
                }
                // The part that was read is enough for an answer.
                Err(_) if cut => return Ok((kept, cut)),
                Err(_) => return Err(late("the body was not sent", READ)),
            };
            let room = most.saturating_sub(kept.len());
            if chunk.len() > room {
                if self.limits.larger == Larger::Refused {
                    return Err(too_large("more", most));
                }
                // The rest is read and dropped: a client that is still sending may not see an answer.
                cut = true;
            }
            let chunk = chunk.get(..chunk.len().min(room)).unwrap_or_default();
            share.wait_for(chunk.len(), TURN).await?;
            kept.extend_from_slice(chunk);
        }
    }
}

fn late(what: &str, time: Duration) -> Refusal {
    let message = format!("{what} within {} s", time.as_secs());
    Refusal::new(StatusCode::REQUEST_TIMEOUT, "Timeout", message)
}

fn too_large(length: &str, limit: usize) -> Refusal {
    let message = format!("the body has {length}; at most {limit} bytes are read");
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use axum::Extension;
    use axum::body::Bytes;
    use axum::routing::{get, post};
    use futures::future::join_all;
    use http_body::{Frame, SizeHint};
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    /// Bytes of all requests at once.
    const ALL: usize = 2 * BODY + BODY / 2;

    fn state() -> (Router, Arc<Health>) {
        let health = Arc::new(Health::default());
        let little: Router = Router::new().route("/little", post(async |body: Bytes| body.len().to_string()));
        let cut: Router = Router::new().route(
            "/cut",
            post(async |cut: Option<Extension<Cut>>, body: Bytes| {
                format!("{} {}", body.len(), cut.is_some())
            }),
        );
        let router: Router = Router::new()
            .route("/read", post(async |body: Bytes| body.len().to_string()))
            .route("/wait", post(async |_: Bytes| std::future::pending::<()>().await))
            .route("/never", get(async || std::future::pending::<()>().await))
            .route("/fault", get(async || if true { panic!("a fault") } else { "" }));
        let limits = |body, larger| Limits { body, larger, all: ALL };
        let router = bound(little, limits(LITTLE, Larger::Refused), &health)
            .merge(bound(cut, limits(LITTLE, Larger::Cut), &health))
            .merge(bound(router, limits(BODY, Larger::Refused), &health));
        (router, health)
    }

    const LITTLE: usize = 64 * 1024;

    /// A body that never arrives, and the length that it announces.
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
        sent_by(1, path, body)
    }

    fn sent_by(peer: u8, path: &str, body: Body) -> Request {
        let address = ([10, 0, 0, peer], 1).into();
        Request::post(path).extension(Peer { address, certificates: Arc::default() }).body(body).unwrap()
    }

    async fn ask(router: &Router, request: Request) -> (u16, String) {
        let answer = router.clone().oneshot(request).await.unwrap();
        let code = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn bodies_are_read_up_to_the_limit_with_and_without_a_length() {
        let (router, _) = state();
        for (path, size, code) in [
            ("/read", 0, 200),
            ("/read", BODY, 200),
            ("/read", BODY + 1, 413),
            ("/little", LITTLE, 200),
            ("/little", LITTLE + 1, 413),
        ] {
            let whole = sent(path, Body::from(vec![b'x'; size]));
            assert_eq!(ask(&router, whole).await.0, code, "{path} {size}");
            let parts = futures::stream::iter(vec![Ok::<_, std::io::Error>(vec![b'x'; size])]);
            let chunked = sent(path, Body::from_stream(parts));
            assert_eq!(ask(&router, chunked).await.0, code, "{path} {size}");
        }
        for (path, most) in [("/read", BODY), ("/little", LITTLE)] {
            let (code, body) = ask(&router, sent(path, Body::new(Silent(Some(99_999_999))))).await;
            let why = format!("the body has 99999999 bytes; at most {most} bytes are read");
            assert!(code == 413 && body.contains(&why), "{body}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn of_a_larger_body_the_beginning_is_read_and_the_rest_taken_in() {
        let (router, _) = state();
        for (size, expected) in [
            (LITTLE, format!("{LITTLE} false")),
            (LITTLE + 1, format!("{LITTLE} true")),
            (100 * LITTLE, format!("{LITTLE} true")),
        ] {
            assert_eq!(
                ask(&router, sent("/cut", Body::from(vec![b'x'; size]))).await,
                (200, expected),
                "{size}"
            );
        }
        // One that goes on for ever.
        let begin = Instant::now();
        let chunks = futures::stream::repeat_with(|| Ok::<_, Infallible>(vec![b'x'; LITTLE]));
        let chunks = chunks.then(|chunk| async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            chunk
        });
        let (code, body) = ask(&router, sent("/cut", Body::from_stream(chunks))).await;
        assert_eq!((code, body, begin.elapsed()), (200, format!("{LITTLE} true"), READ));
    }

    #[tokio::test(start_paused = true)]
    async fn silent_bodies_take_nothing_and_are_not_waited_for() {
        for length in [None, Some(u64::try_from(BODY).unwrap())] {
            let (router, _) = state();
            let begin = Instant::now();
            let silent = (0..1000).map(|_| ask(&router, sent("/read", Body::new(Silent(length)))));
            let mut silent = Box::pin(join_all(silent));
            assert!(futures::poll!(&mut silent).is_pending());
            let read = ask(&router, sent("/read", Body::from(vec![b'x'; LITTLE]))).await;
            assert_eq!(read, (200, LITTLE.to_string()), "from the same peer");
            assert_eq!(begin.elapsed(), Duration::ZERO);
            let answers = silent.await;
            assert!(answers.iter().all(|(code, body)| *code == 408 && body.contains("not sent within 2 s")));
            assert_eq!(begin.elapsed(), READ);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_has_as_many_bytes_as_are_left_for_others() {
        let (router, _) = state();
        let waiting = |peer| ask(&router, sent_by(peer, "/wait", Body::from(vec![b'x'; BODY])));
        // Two and a half bodies: one for the first peer, whose second one waits for a while.
        let mut first = Box::pin(waiting(1));
        assert!(futures::poll!(&mut first).is_pending());
        let begin = Instant::now();
        let (code, body) = waiting(1).await;
        assert!(code == 429 && body.contains("try again"), "{code} {body}");
        assert_eq!(begin.elapsed(), TURN);
        let third = BODY / 2;
        let others = ask(&router, sent_by(2, "/read", Body::from(vec![b'x'; third]))).await;
        assert_eq!(others, (200, third.to_string()), "another peer has its own");
        drop(first);
        assert_eq!(
            ask(&router, sent("/read", Body::from(vec![b'x'; BODY]))).await.0,
            200,
            "it is free again"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_does_not_come_is_not_waited_for() {
        let (router, health) = state();
        let begin = Instant::now();
        let (code, body) = ask(&router, Request::get("/never").body(Body::empty()).unwrap()).await;
        assert!(code == 408 && body.contains("within 10 s"), "{body}");
        assert_eq!(begin.elapsed(), TIME);
        let metrics = health.metrics.text(&[]);
        assert!(
            metrics.contains(r#"https_request_duration_seconds_count{endpoint="/never",code="408"} 1"#),
            "{metrics}"
        );
    }

    #[tokio::test]
    async fn a_fault_is_an_answer() {
        let (router, _) = state();
        let (code, body) = ask(&router, Request::get("/fault").body(Body::empty()).unwrap()).await;
        assert!(code == 500 && body.contains("fault"), "{body}");
        assert_eq!(ask(&router, Request::get("/none").body(Body::empty()).unwrap()).await.0, 404);
    }
}
