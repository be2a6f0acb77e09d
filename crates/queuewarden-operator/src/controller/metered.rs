//! Charges the pages of lists and the events of watches to the budget of the process.
//!
//! Others control how large objects are, and kube buffers a whole page, or a whole event, before it decodes
//! it. Each request of a watch therefore goes through [`Metered`], which passes on a page only when its
//! memory is reserved. A page that needs more is requested again with half as many objects. The memory stays
//! reserved until the next request of the watch, because its objects are converted by then. An event is
//! charged as it arrives.
//!
//! Waiting requests cannot block each other: a request that waits for [`PAGE`] holds nothing. While one waits
//! for [`LARGEST`], the others hold an [`EVENT`], or a page, which needs no further memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use axum::body;
use axum::http::uri::PathAndQuery;
use axum::http::{Request, Response, Uri};
use futures::{TryStreamExt as _, stream};
use http_body_util::BodyDataStream;
use hyper::body::Bytes;
use kube::Client;
use kube::client::Body;
use tokio::time::timeout;
use tower::BoxError;

use super::lock;
use crate::memory::{Budget, Full, Held, MIB};
use queuewarden_api::review::part::{VALUE, ValueCounter};

/// Bytes of all lists and watches.
static ALL: LazyLock<Arc<Budget>> = LazyLock::new(|| Budget::of_process().part(64 * MIB));
/// Memory for a page of several objects, in bytes.
const PAGE: usize = 8 * MIB;
/// Memory for a page of one object, or for an event, in bytes. etcd stores up to 1.5 MiB of an object. As
/// JSON a pod may have 9 MB, and a decoded pod with nothing but short labels takes 40 MB.
const LARGEST: usize = 48 * MIB;
/// Memory for an event of common size, in bytes.
const EVENT: usize = MIB / 4;
/// Maximum number of objects in a page, the same as in other clients.
const MOST: usize = 512;

/// Longest wait for memory.
const ROOM: Duration = Duration::from_secs(30);
/// Longest wait for the beginning of a response, and for the rest of a page.
const ANSWER: Duration = Duration::from_secs(30);

/// How much memory the objects of a watch take.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// Bytes in memory of one decoded value.
    value: usize,
    /// The fewest bytes of its JSON.
    shortest: usize,
}

impl Cost {
    /// The cost of objects that are decoded completely.
    pub const WHOLE: Self = Self { value: VALUE, shortest: 1 };
    /// The cost of pods. Only a few of their fields are decoded. Short labels such as `"abc":"",` give the
    /// most values per byte, and each becomes an entry of a `BTreeMap<String, String>`.
    pub const POD: Self = Self { value: 160, shortest: 9 };
}

/// The memory for JSON while it is received.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    length: usize,
    values: ValueCounter,
}

impl Size {
    /// Adds the next part.
    fn add(&mut self, part: &[u8]) {
        self.length = self.length.saturating_add(part.len());
        self.values.read(part);
    }

    /// Returns the bytes in memory: of the parts, of the concatenated whole, of its text, and decoded.
    fn bytes(&self, Cost { value, shortest }: Cost) -> usize {
        let values = self.values.count.min(self.length / shortest);
        self.length.saturating_mul(3).saturating_add(values.saturating_mul(value))
    }
}

/// More memory than any object may take.
#[derive(Debug, thiserror::Error)]
#[error("an object takes more than {} MiB of memory: make it smaller", LARGEST / MIB)]
struct TooLarge;

/// The memory of one watch, around a client.
pub(super) struct Metered {
    client: Client,
    memory: Arc<Budget>,
    cost: Cost,
    /// The number of objects in the next page, if the last page had fewer than the watch requested.
    limit: Mutex<Option<usize>>,
    /// The memory of the last page.
    page: Mutex<Option<Held>>,
    /// Whether the last event was too large.
    is_stuck: AtomicBool,
}

impl Metered {
    /// Returns a client whose responses are charged.
    pub(super) fn new(client: Client, cost: Cost) -> Arc<Self> {
        Self::with_memory(client, cost, Arc::clone(&ALL))
    }

    fn with_memory(client: Client, cost: Cost, memory: Arc<Budget>) -> Arc<Self> {
        let (limit, page, is_stuck) = (Mutex::default(), Mutex::default(), AtomicBool::default());
        Arc::new(Self { client, memory, cost, limit, page, is_stuck })
    }

    /// Returns whether the watch ended because an event was too large.
    pub(super) fn is_stuck(&self) -> bool {
        self.is_stuck.load(Ordering::Relaxed)
    }

    /// Sends a request to watch.
    ///
    /// # Errors
    /// When there is no response in time.
    pub(super) async fn watch(
        self: Arc<Self>,
        request: Request<Body>,
    ) -> Result<Response<body::Body>, BoxError> {
        *lock(&self.page) = None;
        let response = timeout(ANSWER, self.client.send(request)).await??;
        Ok(response.map(|body| self.events(body)))
    }

    /// Sends a request to list.
    ///
    /// # Errors
    /// When there is no response in time, there is no memory for a page of one object, or it is too large.
    pub(super) async fn list(&self, request: Request<Body>) -> Result<Response<body::Body>, BoxError> {
        *lock(&self.page) = None;
        let (mut parts, _) = request.into_parts();
        let mut limit = lock(&self.limit).or_else(|| limit(&parts.uri)).unwrap_or(1);
        loop {
            parts.uri = with_limit(&parts.uri, limit)?;
            let most = if limit == 1 { LARGEST } else { PAGE };
            let mut held = self.reserve(most).await?;
            let request = Request::from_parts(parts.clone(), Body::empty());
            let response = timeout(ANSWER, self.client.send(request)).await??;
            if !response.status().is_success() {
                return Ok(response.map(body::Body::new));
            }
            let (front, body) = response.into_parts();
            let Some((parts_of_page, bytes)) = timeout(ANSWER, self.read(body, most)).await?? else {
                if limit == 1 {
                    return Err(TooLarge.into());
                }
                limit /= 2;
                continue;
            };
            held.shrink(bytes);
            let next = if bytes <= PAGE / 3 { limit.saturating_mul(2).min(MOST) } else { limit };
            (*lock(&self.limit), *lock(&self.page)) = (Some(next), Some(held));
            let parts = stream::iter(parts_of_page.into_iter().map(Ok::<_, BoxError>));
            return Ok(Response::from_parts(front, body::Body::from_stream(parts)));
        }
    }

    async fn reserve(&self, bytes: usize) -> Result<Held, BoxError> {
        Ok(timeout(ROOM, self.memory.wait(bytes)).await.map_err(|_| Full)?)
    }

    /// Reads a page, and returns its parts and their memory; `None` when it needs more than `most`.
    async fn read(&self, body: Body, most: usize) -> Result<Option<(Vec<Bytes>, usize)>, BoxError> {
        let (mut parts, mut size) = (Vec::new(), Size::default());
        let mut body = BodyDataStream::new(body);
        while let Some(part) = body.try_next().await? {
            size.add(&part);
            if size.bytes(self.cost) > most {
                return Ok(None);
            }
            parts.push(part);
        }
        Ok(Some((parts, size.bytes(self.cost))))
    }

    /// Returns the body of a watch with its events charged.
    fn events(self: Arc<Self>, body: Body) -> body::Body {
        let line = Line { watch: self, size: Size::default(), event: None, large: None };
        let events =
            stream::try_unfold((BodyDataStream::new(body), line), |(mut body, mut line)| async move {
                // Earlier events have been converted; otherwise nothing would be read.
                line.release();
                let Some(part) = body.try_next().await? else { return Ok::<_, BoxError>(None) };
                line.charge(&part).await?;
                Ok(Some((part, (body, line))))
            });
        body::Body::from_stream(events)
    }
}

/// The event of a watch that is being received.
struct Line {
    watch: Arc<Metered>,
    /// The part after the last line ending.
    size: Size,
    event: Option<Held>,
    large: Option<Held>,
}

impl Line {
    /// Reserves memory for the next part of the body and for the events that end in it.
    async fn charge(&mut self, part: &[u8]) -> Result<(), BoxError> {
        let watch = &self.watch;
        self.size.add(part);
        let bytes = self.size.bytes(watch.cost);
        if bytes > LARGEST {
            watch.is_stuck.store(true, Ordering::Relaxed);
            return Err(TooLarge.into());
        }
        if self.event.is_none() {
            self.event = Some(watch.reserve(EVENT).await?);
        }
        if bytes > EVENT && self.large.is_none() {
            self.large = Some(watch.reserve(LARGEST).await?);
        }
        if let Some(end) = part.iter().rposition(|byte| *byte == b'\n') {
            watch.is_stuck.store(false, Ordering::Relaxed);
            self.size = Size::default();
            self.size.add(part.get(end.saturating_add(1)..).unwrap_or_default());
        }
        Ok(())
    }

    /// Frees the memory of the events that have ended.
    fn release(&mut self) {
        let bytes = self.size.bytes(self.watch.cost);
        if bytes <= EVENT {
            self.large = None;
        }
        if bytes == 0 {
            self.event = None;
        }
    }
}

/// Returns the maximum number of objects that a list requests.
fn limit(uri: &Uri) -> Option<usize> {
    uri.query()?.split('&').find_map(|pair| pair.strip_prefix("limit=")?.parse().ok())
}

/// Returns the URL of a list with a different limit.
fn with_limit(uri: &Uri, limit: usize) -> Result<Uri, BoxError> {
    let pairs = uri.query().unwrap_or_default().split('&');
    let pairs =
        pairs.map(|pair| if pair.starts_with("limit=") { format!("limit={limit}") } else { pair.to_owned() });
    let pairs: Vec<_> = pairs.collect();
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(format!("{}?{}", uri.path(), pairs.join("&")))?);
    Ok(Uri::from_parts(parts)?)
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use http_body_util::BodyExt as _;
    use tokio::time::Instant;

    use super::*;
    use crate::controller::testing::client;

    /// A name of this many bytes takes three times as many in memory.
    fn named(bytes: usize) -> String {
        format!(r#"{{"name":"{}"}}"#, "x".repeat(bytes))
    }

    /// Returns an API server whose pages have objects of this many bytes, and the budget of the watch.
    fn listing(bytes: usize) -> (Arc<Metered>, Arc<Budget>, Arc<Mutex<Vec<usize>>>) {
        let (memory, limits) = (Budget::new(2 * LARGEST), Arc::<Mutex<Vec<_>>>::default());
        let asked = Arc::clone(&limits);
        let api = client(move |request: Request<Body>| {
            let limit = limit(request.uri()).unwrap();
            assert!(request.uri().query().unwrap().ends_with("&continue=next"));
            lock(&asked).push(limit);
            async move { Response::new(named(bytes * limit).into()) }
        });
        (Metered::with_memory(api, Cost::WHOLE, Arc::clone(&memory)), memory, limits)
    }

    fn request(limit: usize) -> Request<Body> {
        Request::get(format!("/api/v1/pods?limit={limit}&continue=next")).body(Body::empty()).unwrap()
    }

    async fn length(response: Response<body::Body>) -> usize {
        response.into_body().collect().await.unwrap().to_bytes().len()
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_that_takes_too_much_is_requested_in_halves() {
        let (watch, memory, limits) = listing(MIB);
        let page = watch.list(request(32)).await.unwrap();
        assert_eq!(*lock(&limits), [32, 16, 8, 4, 2]);
        assert_eq!(length(page).await, named(2 * MIB).len());
        assert!((6 * MIB..7 * MIB).contains(&memory.held()), "until the next request");
        watch.list(request(32)).await.unwrap();
        assert_eq!(lock(&limits).last(), Some(&2));
        Arc::clone(&watch).watch(request(1)).await.unwrap();
        assert_eq!(memory.held(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn pages_of_small_objects_become_larger() {
        let (watch, _, limits) = listing(1000);
        for _ in 0..8 {
            watch.list(request(32)).await.unwrap();
        }
        assert_eq!(*lock(&limits), [32, 64, 128, 256, 512, 512, 512, 512]);
    }

    #[tokio::test(start_paused = true)]
    async fn one_object_may_take_more_than_a_page_and_has_an_end() {
        let (watch, memory, _) = listing(PAGE);
        assert_eq!(length(watch.list(request(2)).await.unwrap()).await, named(PAGE).len());
        drop(watch);
        assert_eq!(memory.held(), 0);
        let (watch, memory, limits) = listing(LARGEST / 3);
        let error = watch.list(request(2)).await.unwrap_err();
        assert_eq!(error.to_string(), "an object takes more than 48 MiB of memory: make it smaller");
        assert_eq!((lock(&limits).as_slice(), memory.held()), ([2, 1].as_slice(), 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_waits_for_memory_for_a_while() {
        let (watch, memory, limits) = listing(1);
        let held = memory.hold(memory.free() - 1).unwrap();
        let begin = Instant::now();
        let error = watch.list(request(32)).await.unwrap_err();
        assert_eq!((error.to_string(), begin.elapsed()), (Full.to_string(), ROOM));
        assert!(lock(&limits).is_empty(), "nothing is requested");
        let mut page = Box::pin(watch.list(request(32)));
        assert!(futures::poll!(&mut page).is_pending());
        drop(held);
        assert!(page.await.is_ok());
    }

    #[tokio::test]
    async fn a_refusal_is_passed_on_and_takes_nothing() {
        let api =
            client(async |_| Response::builder().status(StatusCode::FORBIDDEN).body("no".into()).unwrap());
        let memory = Budget::new(LARGEST);
        let watch = Metered::with_memory(api, Cost::WHOLE, Arc::clone(&memory));
        let response = watch.list(request(32)).await.unwrap();
        assert_eq!((response.status(), memory.held()), (StatusCode::FORBIDDEN, 0));
    }

    /// Returns the body of a watch that receives these parts.
    async fn watching(parts: Vec<String>) -> (Arc<Metered>, Arc<Budget>, body::Body) {
        let api = client(move |_| {
            let parts = parts.clone().into_iter().map(Ok::<_, BoxError>);
            async move { Response::new(body::Body::from_stream(stream::iter(parts))) }
        });
        let memory = Budget::new(2 * LARGEST);
        let watch = Metered::with_memory(api, Cost::WHOLE, Arc::clone(&memory));
        let response = Arc::clone(&watch).watch(request(1)).await.unwrap();
        (watch, memory, response.into_body())
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_is_charged_until_it_is_converted() {
        let large = "x".repeat(EVENT);
        let parts = ["{\"a\":".to_owned(), "1}\n".to_owned(), large, "\n{".to_owned(), "}\n".to_owned()];
        let (_, memory, mut body) = watching(parts.to_vec()).await;
        assert_eq!(memory.held(), 0);
        for held in [EVENT, EVENT, EVENT + LARGEST, EVENT + LARGEST, EVENT] {
            body.frame().await.unwrap().unwrap();
            assert_eq!(memory.held(), held);
        }
        assert!(body.frame().await.is_none());
        assert_eq!(memory.held(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_that_is_too_large_ends_the_watch() {
        let parts = (0..=LARGEST / 3 / MIB).map(|_| "x".repeat(MIB)).collect();
        let (watch, memory, body) = watching(parts).await;
        let error = body.collect().await.unwrap_err();
        assert!(format!("{error:?}").contains("TooLarge"), "{error:?}");
        assert!(watch.is_stuck());
        assert_eq!(memory.held(), 0);
        let mut size = Size::default();
        size.add(br#"{"a":["b","c"]}"#);
        assert_eq!([Cost::WHOLE, Cost::POD].map(|cost| size.bytes(cost)), [45 + 3 * VALUE, 45 + 160]);
    }
}
