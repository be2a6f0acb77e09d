//! Limits on requests: time, and bytes of the body, for one request and for all together.
//!
//! Each stage of a response ends at a fraction of the time that the client waits ([`Times`]), so that there
//! is an answer before it gives up. If a review is too large, does not get memory or cannot be read in time,
//! its first bytes decide ([`Cut`]). No requester can avoid a check through the size or number of objects.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, BodyDataStream, Bytes, HttpBody as _};
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri, Version};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use futures::StreamExt as _;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::Instrument as _;

use super::api_error::{ApiError, contained};
use super::audit::{Audit, PEER};
use super::listener::{Peer, Slot, guest};
use super::room::{Requests, Room, Share};
use crate::controller::health::Health;
use crate::memory::Full;

/// Maximum bytes of one body. An `AdmissionReview` contains an object of up to 1.5 MiB twice, with quotes
/// escaped.
pub const BODY: usize = 6 * 1024 * 1024;
/// The maximum time planned for one request. API servers wait less: at most 30 s for an authorizer, and by
/// default 10 s for a webhook.
const TIME: Duration = Duration::from_secs(10);
/// The minimum time planned for one request.
const LEAST: Duration = Duration::from_millis(250);
/// The longest time that a body waits for bytes that others use.
const TURN: Duration = Duration::from_secs(2);
/// The time for a body to arrive once it is its turn. A client can hold a connection without authenticating.
const READ: Duration = Duration::from_secs(2);
/// Bytes kept of a review that is not read completely: everything except the objects, and except the groups
/// of users who are in very many.
const FRONT: usize = 4 * 1024;
/// Bytes in memory of the beginnings of bodies that an HTTP/1.1 connection has sent, which is its buffer.
const UNREAD: usize = 32 * 1024;
/// The same for HTTP/2: its window, and the same amount for frames, because there may be many small ones.
const UNREAD_2: usize = 1600 * 1024;

/// Why only the first bytes of a review were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Cut {
    /// It has more bytes than this.
    #[error("the request and its objects have more than {0} bytes of JSON")]
    TooLarge(usize),
    /// There was no room for it.
    #[error("too many large requests are in progress, so this one was not read")]
    Crowded,
    /// It did not arrive in time, or was not decided in time.
    #[error("the request could not be read and decided in time")]
    Late,
    /// It could not be decided because of an internal error.
    #[error("internal error in queuewarden, so the request was not read; see its log")]
    Fault,
}

/// Limits of a group of endpoints.
#[derive(Debug, Clone, Copy)]
pub struct RequestLimits {
    /// Bytes of one body.
    pub body: usize,
    /// True if a request whose body is too large or does not arrive is answered by its first bytes ([`Cut`]);
    /// otherwise it is refused with 408, 413 or 429.
    pub cuts: bool,
    /// Bytes in memory for all requests of the group.
    pub all: usize,
    /// Bytes in memory for each byte of a body, until the request is answered.
    pub cost: usize,
}

impl RequestLimits {
    /// The limits of endpoints whose requests have no bodies.
    pub const NO_BODIES: Self = Self { body: 0, cuts: false, all: 1024 * 1024, cost: 1 };

    /// Returns the memory of a request with a body of this length, in bytes.
    pub(super) fn bytes(self, length: usize) -> usize {
        length.min(self.body).saturating_mul(self.cost)
    }
}

/// Limits every route of a group of endpoints. Slow endpoints do not block the others.
pub fn bound<S>(
    router: Router<S>,
    limits: RequestLimits,
    requests: &Requests,
    health: &Arc<Health>,
) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    let (room, audit) = (requests.room(limits.all), Audit::new("requests"));
    let bound = Bound { room, limits, health: Arc::clone(health), audit };
    router.layer(from_fn_with_state(bound, bounded))
}

/// The limits of a group of endpoints.
#[derive(Debug, Clone)]
struct Bound {
    room: Arc<Room>,
    limits: RequestLimits,
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
        let answer = bound.answer(request, next).await.unwrap_or_else(ApiError::into_response);
        bound.audit.unread(endpoint, answer.status().as_u16());
        answer
    };
    let answer = PEER.scope(peer, answer).instrument(span.clone()).await;
    let status = answer.status().as_u16();
    span.record("status", status);
    bound.health.metrics.answered(endpoint, status, begin.elapsed());
    answer
}

/// The ends of the stages of a response.
#[derive(Debug, Clone, Copy)]
struct Times {
    /// Of the wait for room.
    turn: Instant,
    /// Of the body.
    read: Instant,
    /// The end of the decision. The remaining time is for the way back.
    decided: Instant,
    /// From the headers to the decision.
    time: Duration,
}

impl Times {
    /// Returns the times for a request whose headers have just arrived.
    fn new(uri: &Uri) -> Self {
        let (begin, all) = (Instant::now(), patience(uri).unwrap_or(TIME).min(TIME));
        let time = all / 5 * 4;
        Self { turn: begin + TURN.min(all / 2), read: begin + all / 3 * 2, decided: begin + time, time }
    }
}

/// Returns how long an API server waits for a webhook at least. It sends the rest of `timeoutSeconds`,
/// rounded up to a second (apiserver `pkg/admission/plugin/webhook/mutating/dispatcher.go`).
fn patience(uri: &Uri) -> Option<Duration> {
    let mut pairs = uri.query()?.split('&');
    let seconds = pairs.find_map(|pair| pair.strip_prefix("timeout=")?.strip_suffix('s'))?;
    let rest = Duration::from_secs(seconds.parse().ok()?);
    Some(rest.saturating_sub(Duration::from_secs(1)).max(LEAST))
}

/// A request whose body was read, or why it was not.
struct Read {
    parts: Parts,
    /// The body, or its first bytes.
    body: Bytes,
    cut: Option<Cut>,
    /// The bytes that it uses until it is answered.
    _share: Option<Share>,
}

/// The end of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Complete,
    /// There is more.
    Larger,
    Late,
}

impl Bound {
    async fn answer(&self, request: Request, next: Next) -> Result<Response, ApiError> {
        let times = Times::new(request.uri());
        let slot = request.extensions().get::<Arc<Slot>>().cloned();
        let read = self.read(request, times, slot.as_deref()).await?;
        // Until here the connection can be closed to make room for others.
        let _busy = slot.as_ref().map(|slot| slot.begin());
        // The first bytes answer a review if the complete review cannot be used.
        let front = (self.limits.cuts && read.cut.is_none()).then(|| {
            let front = read.body.get(..FRONT).unwrap_or(&read.body);
            // A copy, because the body is freed as soon as the handler has read it.
            (read.parts.clone(), Bytes::copy_from_slice(front), next.clone())
        });
        let whole = contained(next.run(again(read.parts, read.body, read.cut)));
        let (why, refusal) = match timeout_at(times.decided, whole).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(fault)) => {
                let code = StatusCode::INTERNAL_SERVER_ERROR;
                (Cut::Fault, ApiError::new(code, "InternalError", fault.to_string()))
            }
            Err(_) => (Cut::Late, late("the request was not answered", times.time)),
        };
        let Some((parts, body, next)) = front.filter(|(_, body, _)| !body.is_empty()) else {
            return Err(refusal);
        };
        contained(next.run(again(parts, body, Some(why)))).await.map_err(|_| refusal)
    }

    /// Reads the body of a request into memory, once memory is available.
    async fn read(&self, request: Request, times: Times, slot: Option<&Slot>) -> Result<Read, ApiError> {
        let (parts, body) = request.into_parts();
        if body.is_end_stream() {
            return Ok(Read { parts, body: Bytes::new(), cut: None, _share: None });
        }
        let RequestLimits { body: limit, cuts, .. } = self.limits;
        let announced = body.size_hint().upper().map(|length| usize::try_from(length).unwrap_or(usize::MAX));
        if let Some(length) = announced.filter(|length| *length > limit) {
            if !cuts {
                return Err(too_large(&format!("{length} bytes"), limit));
            }
            return front(parts, body, Cut::TooLarge(limit), times).await;
        }
        let length = announced.unwrap_or(limit);
        let share = match self.room(&parts, self.limits.bytes(length), times.turn, slot).await {
            Ok(share) => share,
            Err(_) if cuts => return front(parts, body, Cut::Crowded, times).await,
            Err(crowded) => return Err(crowded.into()),
        };
        self.collect(parts, body, (length, announced.is_some()), share, times).await
    }

    /// Waits for memory. Meanwhile the body stays with the client, except for a beginning that fits into the
    /// buffers of its connection.
    async fn room(
        &self,
        parts: &Parts,
        bytes: usize,
        end: Instant,
        slot: Option<&Slot>,
    ) -> Result<Share, Full> {
        let peer = parts.extensions.get::<Peer>();
        let guest = guest(&parts.extensions);
        if let Ok(share) = self.room.take(guest, bytes) {
            return Ok(share);
        }
        let unread = if parts.version == Version::HTTP_2 { UNREAD_2 } else { UNREAD };
        let _unread =
            peer.and_then(|peer| peer.unread.as_ref()).map(|joint| joint.hold(unread)).transpose()?;
        // It waits for others; others do not wait for it.
        let _busy = slot.map(Slot::begin);
        self.room.wait(guest, bytes, end).await
    }

    /// Reads a body with an expected or announced length.
    async fn collect(
        &self,
        parts: Parts,
        body: Body,
        (length, announced): (usize, bool),
        mut share: Share,
        times: Times,
    ) -> Result<Read, ApiError> {
        let RequestLimits { body: limit, cuts, .. } = self.limits;
        let mut kept = Vec::with_capacity(if announced { length } else { 0 });
        let mut body = body.into_data_stream();
        let until = times.read.min(Instant::now() + READ);
        let end = take(&mut body, &mut kept, limit, until).await?;
        share.shrink(self.limits.bytes(kept.len()));
        let cut = match end {
            End::Complete => None,
            End::Larger if cuts => Some(Cut::TooLarge(limit)),
            End::Larger => return Err(too_large("more", limit)),
            // The part that was read is enough for an answer.
            End::Late if cuts && !kept.is_empty() => Some(Cut::Late),
            End::Late => return Err(late("the body was not sent", READ)),
        };
        if cut.is_some() {
            kept.truncate(FRONT);
            kept.shrink_to_fit();
            leave(&parts, body);
        }
        Ok(Read { parts, body: kept.into(), cut, _share: Some(share) })
    }
}

/// Returns the request with a body in memory, or with its first bytes.
fn again(mut parts: Parts, body: Bytes, cut: Option<Cut>) -> Request {
    if let Some(cut) = cut {
        parts.extensions.insert(cut);
    }
    let mut request = Request::from_parts(parts, Body::from(body));
    // By the time it is extracted, the body is in memory.
    DefaultBodyLimit::disable().apply(&mut request);
    request
}

/// Reads the first bytes of a body, and leaves the rest.
async fn front(parts: Parts, body: Body, cut: Cut, times: Times) -> Result<Read, ApiError> {
    let (mut kept, mut body) = (Vec::new(), body.into_data_stream());
    let until = times.decided.min(Instant::now() + READ / 4);
    take(&mut body, &mut kept, FRONT, until).await?;
    if kept.is_empty() {
        return Err(late("the body was not sent", READ / 4));
    }
    leave(&parts, body);
    Ok(Read { parts, body: kept.into(), cut: Some(cut), _share: None })
}

/// Reads a body up to a limit.
async fn take(
    body: &mut BodyDataStream,
    kept: &mut Vec<u8>,
    most: usize,
    until: Instant,
) -> Result<End, ApiError> {
    loop {
        let chunk = match timeout_at(until, body.next()).await {
            Ok(None) => return Ok(End::Complete),
            Ok(Some(Ok(chunk))) => chunk,
            Ok(Some(Err(error))) => {
                return Err(ApiError::bad_request(format!("the body cannot be read: {error}")));
            }
            Err(_) => return Ok(End::Late),
        };
        let room = most.saturating_sub(kept.len());
        kept.extend_from_slice(chunk.get(..chunk.len().min(room)).unwrap_or_default());
        if chunk.len() > room {
            return Ok(End::Larger);
        }
    }
}

/// Reads the rest of a body and discards it, because an HTTP/1.1 client that is still sending may otherwise
/// not see the response. An HTTP/2 client sees that its stream is closed.
fn leave(parts: &Parts, mut body: BodyDataStream) {
    if parts.version < Version::HTTP_2 {
        let rest = async move { while let Some(Ok(_)) = body.next().await {} };
        tokio::spawn(timeout(READ, rest));
    }
}

fn late(what: &str, time: Duration) -> ApiError {
    let message = format!("{what} within {} s", time.as_secs_f32());
    ApiError::new(StatusCode::REQUEST_TIMEOUT, "Timeout", message)
}

fn too_large(length: &str, limit: usize) -> ApiError {
    let message = format!("the body has {length}; the limit is {limit} bytes");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use axum::Extension;
    use axum::routing::{get, post};
    use futures::future::join_all;
    use http_body::{Frame, SizeHint};
    use http_body_util::BodyExt as _;
    use proptest::prelude::*;
    use tower::ServiceExt as _;

    use crate::memory::{Budget, MIB};
    use crate::server::room::Guest;

    /// Bytes of all requests at once.
    const ALL: usize = 2 * BODY + BODY / 2;
    /// What a handler here waits for.
    const DECIDES: Duration = Duration::from_millis(45);

    /// Returns endpoints with this much memory for all requests, and the budget of the process.
    fn of(all: usize, cost: usize) -> (Router, Arc<Health>, Arc<Budget>) {
        let health = Arc::new(Health::default());
        let process = Budget::new(1024 * MIB);
        let cut = async |cut: Option<Extension<Cut>>, body: Bytes| {
            let cut = cut.map(|Extension(cut)| cut);
            if cut.is_none() {
                tokio::time::sleep(DECIDES).await;
            }
            format!("{} {cut:?}", body.len())
        };
        let slow = async |cut: Option<Extension<Cut>>, _: Bytes| {
            let Some(Extension(cut)) = cut else { return std::future::pending().await };
            format!("{cut:?}")
        };
        let fault = async |cut: Option<Extension<Cut>>, _: Bytes| {
            let Some(Extension(cut)) = cut else { panic!("a fault") };
            format!("{cut:?}")
        };
        let little: Router = Router::new().route("/little", post(async |body: Bytes| body.len().to_string()));
        let short: Router = Router::new().route("/short", post(cut));
        let webhooks: Router =
            Router::new().route("/cut", post(cut)).route("/slow", post(slow)).route("/broken", post(fault));
        let router: Router = Router::new()
            .route("/read", post(async |body: Bytes| body.len().to_string()))
            .route("/wait", post(async |_: Bytes| std::future::pending::<()>().await))
            .route("/never", get(async || std::future::pending::<()>().await))
            .route("/fault", get(async || if true { panic!("a fault") } else { "" }));
        let limits = |body, cuts| RequestLimits { body, cuts, all, cost };
        let requests = Requests::new(&process);
        let router = bound(little, limits(LITTLE, false), &requests, &health)
            .merge(bound(short, limits(LITTLE, true), &requests, &health))
            .merge(bound(webhooks, limits(BODY, true), &requests, &health))
            .merge(bound(router, limits(BODY, false), &requests, &health));
        (router, health, process)
    }

    fn state() -> (Router, Arc<Health>) {
        let (router, health, _) = of(ALL, 1);
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
        Request::post(path).extension(Peer::new(address, Arc::default())).body(body).unwrap()
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
            let why = format!("the body has 99999999 bytes; the limit is {most} bytes");
            assert!(code == 413 && body.contains(&why), "{body}");
        }
    }

    /// Returns a body that arrives in chunks of 16 KiB, one per millisecond, and optionally announces its
    /// length.
    fn chunked(size: usize, announced: bool) -> Body {
        let chunk = Bytes::from(vec![b'x'; 16 * 1024]);
        let chunks = (0..size.div_ceil(chunk.len()))
            .map(move |number| chunk.slice(..chunk.len().min(size - number * chunk.len())));
        let chunks = futures::stream::iter(chunks).then(|chunk| async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            Ok::<_, Infallible>(Frame::data(chunk))
        });
        let length = announced.then(|| u64::try_from(size).unwrap());
        Body::new(Announced(Box::pin(http_body_util::StreamBody::new(chunks)), length))
    }

    /// A body with the length that it announces.
    struct Announced<B>(Pin<Box<B>>, Option<u64>);

    impl<B: http_body::Body> http_body::Body for Announced<B> {
        type Data = B::Data;
        type Error = B::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
            self.0.as_mut().poll_frame(context)
        }

        fn size_hint(&self) -> SizeHint {
            self.1.map_or_else(SizeHint::default, SizeHint::with_exact)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn of_a_larger_body_the_beginning_is_read() {
        let (router, _) = state();
        let large = format!("{FRONT} Some(TooLarge({LITTLE}))");
        for (size, expected) in
            [(LITTLE, format!("{LITTLE} None")), (LITTLE + 1, large.clone()), (100 * LITTLE, large.clone())]
        {
            for announced in [true, false] {
                let answer = ask(&router, sent("/short", chunked(size, announced))).await;
                assert_eq!(answer, (200, expected.clone()), "{size} {announced}");
            }
        }
        // One that goes on for ever.
        let chunks = futures::stream::repeat_with(|| Ok::<_, Infallible>(vec![b'x'; LITTLE]));
        assert_eq!(ask(&router, sent("/short", Body::from_stream(chunks))).await, (200, large));
    }

    #[tokio::test(start_paused = true)]
    async fn a_review_that_does_not_come_to_its_end_is_answered_by_its_beginning() {
        let (router, _) = state();
        let begin = Instant::now();
        let first = futures::stream::iter([Ok::<_, Infallible>(Frame::data(Bytes::from("a beginning")))]);
        let body = http_body_util::StreamBody::new(first.chain(futures::stream::pending()));
        let body = Body::new(Announced(Box::pin(body), Some(1000)));
        let answer = ask(&router, sent("/cut?timeout=3s", body)).await;
        assert_eq!(answer, (200, "11 Some(Late)".to_owned()));
        // The clock has milliseconds.
        assert_eq!(begin.elapsed().as_millis(), 1334);
        let silent = ask(&router, sent("/cut?timeout=3s", Body::new(Silent(Some(1000))))).await;
        assert_eq!(silent.0, 408);
    }

    #[tokio::test(start_paused = true)]
    async fn a_review_that_is_not_decided_in_time_or_fails_is_answered_by_its_beginning() {
        let (router, _) = state();
        let begin = Instant::now();
        let answer = ask(&router, sent("/slow?timeout=3s", chunked(LITTLE, true))).await;
        assert_eq!(answer, (200, "Late".to_owned()));
        assert_eq!(begin.elapsed(), Duration::from_millis(1600));
        let answer = ask(&router, sent("/broken?timeout=3s", chunked(LITTLE, true))).await;
        assert_eq!(answer, (200, "Fault".to_owned()));
    }

    #[test]
    fn the_time_that_an_api_server_waits_is_read() {
        for (query, expected) in [
            ("/user-info?timeout=3s", Some(2000)),
            ("/user-info?timeout=1s", Some(250)),
            ("/user-info?a=b&timeout=30s", Some(29_000)),
            ("/user-info", None),
            ("/user-info?timeout=", None),
            ("/user-info?timeout=1m0s", None),
            ("/user-info?timeout=-1s", None),
        ] {
            let expected = expected.map(Duration::from_millis);
            assert_eq!(patience(&Uri::from_static(query)), expected, "{query}");
        }
    }

    /// Every request is answered in time, and as many are read as time allows.
    #[tokio::test(start_paused = true)]
    async fn two_hundred_of_the_largest_at_once_each_have_an_answer() {
        for size in [2_700_000, BODY] {
            let (router, _, process) = of(28 * MIB, 2);
            let begin = Instant::now();
            let all = (0..200).map(|_| async {
                let answer = ask(&router, sent("/cut?timeout=3s", chunked(size, true))).await;
                (answer, begin.elapsed())
            });
            let answers = join_all(all).await;
            let whole = answers.iter().filter(|((_, text), _)| text.ends_with("None")).count();
            assert!(answers.iter().all(|((code, _), _)| *code == 200), "{answers:?}");
            let slowest = answers.iter().map(|(_, time)| *time).max().unwrap();
            assert!(slowest <= Duration::from_millis(1600), "{slowest:?}");
            assert!(whole >= 2, "{whole} of 200 of {size} bytes");
            assert_eq!(process.held(), 0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_too_many_is_answered_at_once() {
        let (router, _, _) = of(28 * MIB, 2);
        let ask = || ask(&router, sent("/cut?timeout=3s", chunked(BODY, true)));
        let mut first = Box::pin(join_all((0..257).map(|_| ask())));
        assert!(futures::poll!(&mut first).is_pending());
        let begin = Instant::now();
        let (answer, ()) = tokio::join!(ask(), async {
            let _ = futures::poll!(&mut first);
        });
        assert_eq!(answer, (200, format!("{FRONT} Some(Crowded)")));
        assert!(begin.elapsed() < Duration::from_millis(10), "{:?}", begin.elapsed());
        drop(first);
    }

    #[tokio::test(start_paused = true)]
    async fn small_requests_pass_large_ones() {
        let (router, _, _) = of(28 * MIB, 2);
        let large = (0..200).map(|_| ask(&router, sent("/cut?timeout=3s", chunked(BODY, true))));
        let small = async {
            let mut slowest = Duration::ZERO;
            for _ in 0..100 {
                let begin = Instant::now();
                let answer = ask(&router, sent("/cut?timeout=3s", chunked(2000, true))).await;
                assert_eq!(answer, (200, "2000 None".to_owned()));
                slowest = slowest.max(begin.elapsed());
            }
            slowest
        };
        let (_, slowest) = tokio::join!(join_all(large), small);
        assert!(slowest < DECIDES * 2, "{slowest:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn strangers_do_not_keep_an_api_server_that_is_known_waiting() {
        let (router, _, _) = of(28 * MIB, 2);
        let strangers =
            (0..200).map(|i| ask(&router, sent_by(i % 8, "/wait?timeout=3s", chunked(BODY, true))));
        let mut strangers = Box::pin(join_all(strangers));
        assert!(futures::poll!(&mut strangers).is_pending());
        let begin = Instant::now();
        let mut request = sent("/cut?timeout=3s", Body::from(vec![b'x'; BODY]));
        request.extensions_mut().get_mut::<Peer>().unwrap().guest = Guest::ApiServer;
        assert_eq!(ask(&router, request).await, (200, format!("{BODY} None")));
        assert!(begin.elapsed() <= DECIDES + Duration::from_millis(1));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        /// Requests of any number and size arrive from several clients at any time. Each is answered before
        /// the API server gives up, and never are more bytes reserved than the limit.
        #[test]
        fn every_review_has_an_answer_in_time(
            all in prop::collection::vec((0..=BODY, 0..1500_u64, 0..4_u8, any::<bool>()), 1..=200),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().start_paused(true).build().unwrap();
            runtime.block_on(async {
                const ROOM: usize = 28 * MIB;
                let (router, _, process) = of(ROOM, 2);
                let begin = Instant::now();
                let asked = all.iter().map(|(size, after, peer, announced)| {
                    let (router, process) = (&router, &process);
                    async move {
                        tokio::time::sleep_until(begin + Duration::from_millis(*after)).await;
                        let begin = Instant::now();
                        let body = chunked(*size, *announced);
                        let (code, text) = ask(router, sent_by(*peer, "/cut?timeout=3s", body)).await;
                        assert_eq!(code, 200, "{text}");
                        assert!(begin.elapsed() <= Duration::from_millis(1600), "{:?}", begin.elapsed());
                        assert!(process.held() <= ROOM, "{}", process.held());
                    }
                });
                join_all(asked).await;
                assert_eq!(process.held(), 0);
            });
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silent_bodies_keep_no_small_ones_waiting_and_are_not_waited_for() {
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
            let late = |body: &str| body.contains("not sent within 2 s") || body.contains("try again");
            assert!(answers.iter().all(|(code, body)| matches!(code, 408 | 429) && late(body)));
            assert!(begin.elapsed() <= READ + TURN, "{:?}", begin.elapsed());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_has_as_many_bytes_as_are_left_for_others() {
        let (router, _) = state();
        let waiting = |peer| ask(&router, sent_by(peer, "/wait", Body::from(vec![b'x'; BODY])));
        // Space for two and a half bodies: one for the first peer, whose second body waits for a while.
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
        assert!(code == 408 && body.contains("within 8 s"), "{body}");
        assert_eq!(begin.elapsed(), TIME / 5 * 4);
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
        assert!(code == 500 && body.contains("internal error"), "{body}");
        assert_eq!(ask(&router, Request::get("/none").body(Body::empty()).unwrap()).await.0, 404);
    }
}
