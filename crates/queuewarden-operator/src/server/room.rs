//! Memory for the bodies of requests. Before the first byte is read, a request reserves all bytes that it
//! will use, or waits in a line without holding any: its body stays with the client.
//!
//! Each client has two lines, one of them for small requests. Larger requests leave an eighth of the memory
//! to small ones, so no small request waits for the end of a large one. The first request in a line waits for
//! memory, and the others wait for it.
//!
//! Clients share a budget ([`Shares`]): each may use as many bytes as are left free. A single client can use
//! half of them, and several greedy clients leave as much free as each of them uses. An API server that
//! proves its identity has a separate budget, which no stranger can use up.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use axum::http::StatusCode;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::api_error::ApiError;
use crate::controller::lock;
use crate::memory::{Budget, Full, Held, MIB};

/// Maximum bytes in memory of a small request.
const SMALL: usize = MIB / 4;
/// The share of the memory that only small requests use.
const SPARE: usize = 8;
/// Maximum number of requests of one client that wait at once.
const WAITING: usize = 256;
/// Maximum number of waiting requests of strangers. Each may hold a connection, and there are more
/// connections.
const STRANGERS: usize = 384;

/// The client that bytes are charged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Guest {
    /// An API server, whose certificate has a name of `--webhook-client`.
    ApiServer,
    /// Any other client, by its address.
    Stranger(IpAddr),
}

/// A budget that clients share.
#[derive(Debug)]
pub(super) struct Shares {
    api_servers: Arc<Budget>,
    strangers: Arc<Budget>,
    /// The bytes of each stranger that uses any.
    by: Mutex<HashMap<IpAddr, usize>>,
}

/// The bytes of one request, which are freed when dropped.
#[derive(Debug)]
pub(super) struct Share {
    shares: Arc<Shares>,
    guest: Guest,
    held: Held,
}

/// A share that all requests of one connection hold together if they need it.
#[derive(Debug)]
pub(super) struct Joint {
    shares: Arc<Shares>,
    guest: Guest,
    held: Mutex<Weak<Share>>,
}

impl From<Full> for ApiError {
    /// API servers repeat a request to an authorizer after this status, with growing backoff.
    fn from(_: Full) -> Self {
        let message = "too many requests of this client are in progress: try again";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message)
    }
}

impl Shares {
    /// Returns these budgets as shared ones.
    pub(super) fn new(api_servers: Arc<Budget>, strangers: Arc<Budget>) -> Arc<Self> {
        Arc::new(Self { api_servers, strangers, by: Mutex::default() })
    }

    /// Takes bytes for a client, and leaves `spare` bytes to it.
    ///
    /// # Errors
    /// When the client would then have more than are left free.
    pub(super) fn take(self: &Arc<Self>, guest: Guest, bytes: usize, spare: usize) -> Result<Share, Full> {
        let held = match guest {
            Guest::ApiServer => {
                // Another request may take the spare bytes in between, which it could have done before.
                if bytes > self.api_servers.free().saturating_sub(spare) {
                    return Err(Full);
                }
                self.api_servers.hold(bytes)?
            }
            Guest::Stranger(address) => {
                let mut by = lock(&self.by);
                let of_client = by.get(&address).copied().unwrap_or(0).saturating_add(bytes);
                if of_client > self.strangers.free().saturating_sub(bytes).saturating_sub(spare) {
                    return Err(Full);
                }
                let held = self.strangers.hold(bytes)?;
                by.insert(address, of_client);
                held
            }
        };
        Ok(Share { shares: Arc::clone(self), guest, held })
    }
}

impl Share {
    /// Returns all bytes except this many.
    pub(super) fn shrink(&mut self, bytes: usize) {
        let less = self.held.bytes().saturating_sub(bytes);
        self.leave(less);
        self.held.shrink(bytes);
    }

    /// Records that the client has fewer bytes.
    fn leave(&self, bytes: usize) {
        let Guest::Stranger(address) = self.guest else { return };
        let mut by = lock(&self.shares.by);
        let left = by.get(&address).copied().unwrap_or(0).saturating_sub(bytes);
        if left == 0 {
            by.remove(&address);
        } else {
            by.insert(address, left);
        }
    }
}

impl Joint {
    /// Returns a share that no request holds yet.
    pub(super) fn new(shares: &Arc<Shares>, guest: Guest) -> Self {
        Self { shares: Arc::clone(shares), guest, held: Mutex::default() }
    }

    /// Holds the share; the first request takes the bytes.
    ///
    /// # Errors
    /// As [`Shares::take`].
    pub(super) fn hold(&self, bytes: usize) -> Result<Arc<Share>, Full> {
        let mut held = lock(&self.held);
        if let Some(share) = held.upgrade() {
            return Ok(share);
        }
        let share = Arc::new(self.shares.take(self.guest, bytes, 0)?);
        *held = Arc::downgrade(&share);
        Ok(share)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.leave(self.held.bytes());
    }
}

/// The budgets for requests, and the number of waiting requests.
#[derive(Debug, Clone)]
pub struct Requests {
    process: Arc<Budget>,
    api_servers: Arc<Budget>,
    strangers: Arc<Budget>,
    waiting: Arc<Mutex<HashMap<Guest, usize>>>,
}

impl Requests {
    /// Bytes of all bodies of API servers that prove their identity.
    const API_SERVERS: usize = 40 * MIB;
    /// Bytes of all bodies of other clients.
    const OTHERS: usize = 60 * MIB;
    /// Bytes of all decoded objects and plans.
    const DECODED: usize = 60 * MIB;

    /// Returns the memory of requests as parts of the memory of the process.
    pub fn new(process: &Arc<Budget>) -> Self {
        Self {
            process: Arc::clone(process),
            api_servers: process.part(Self::API_SERVERS),
            strangers: process.part(Self::OTHERS),
            waiting: Arc::default(),
        }
    }

    /// Returns the budget of the headers of all requests, and of body bytes that are not read yet.
    pub(super) fn arrivals(&self, bytes: usize) -> Arc<Shares> {
        Shares::new(self.process.part(bytes), self.process.part(bytes))
    }

    /// Returns the budget for decoded objects and plans.
    pub(super) fn decoded(&self) -> Arc<Budget> {
        self.process.part(Self::DECODED)
    }

    /// Returns the memory of a group of endpoints: this many bytes for strangers, and the same for API
    /// servers that prove their identity.
    pub(super) fn room(&self, bytes: usize) -> Arc<Room> {
        Arc::new(Room {
            shares: Shares::new(self.api_servers.part(bytes), self.strangers.part(bytes)),
            spare: bytes / SPARE,
            process: Arc::clone(&self.process),
            waiting: Arc::clone(&self.waiting),
            lines: Mutex::default(),
            moved: Notify::new(),
            tickets: AtomicU64::new(0),
        })
    }
}

/// A client's line; true for the line of its small requests.
type Line = (Guest, bool);

/// The room of a group of endpoints.
#[derive(Debug)]
pub(super) struct Room {
    shares: Arc<Shares>,
    /// Bytes that only small requests use.
    spare: usize,
    /// Bytes that are freed anywhere may be available here.
    process: Arc<Budget>,
    waiting: Arc<Mutex<HashMap<Guest, usize>>>,
    lines: Mutex<HashMap<Line, VecDeque<u64>>>,
    moved: Notify,
    tickets: AtomicU64,
}

/// The place of a request in its line, which it leaves when dropped.
#[derive(Debug)]
struct Place<'r> {
    room: &'r Room,
    line: Line,
    ticket: u64,
}

impl Room {
    /// Takes bytes if they are available and no request waits for them.
    pub(super) fn take(&self, guest: Guest, bytes: usize) -> Result<Share, Full> {
        let line = (guest, bytes <= SMALL);
        if lock(&self.lines).contains_key(&line) {
            return Err(Full);
        }
        self.try_take(line, bytes)
    }

    /// Waits for bytes, after the earlier requests of the client.
    ///
    /// # Errors
    /// When too many requests are waiting already, or it takes until `end`.
    pub(super) async fn wait(&self, guest: Guest, bytes: usize, end: Instant) -> Result<Share, Full> {
        let place = self.line_up((guest, bytes <= SMALL))?;
        loop {
            let (freed, moved) = (self.process.freed(), self.moved.notified());
            tokio::pin!(freed, moved);
            // Changes from here on are noticed.
            freed.as_mut().enable();
            moved.as_mut().enable();
            if place.is_first()
                && let Ok(share) = self.try_take(place.line, bytes)
            {
                return Ok(share);
            }
            let change = async {
                tokio::select! {
                    () = freed => {}
                    () = moved => {}
                }
            };
            timeout_at(end, change).await.map_err(|_| Full)?;
        }
    }

    fn try_take(&self, (guest, small): Line, bytes: usize) -> Result<Share, Full> {
        self.shares.take(guest, bytes, if small { 0 } else { self.spare })
    }

    /// Takes the last place in a line.
    fn line_up(&self, line: Line) -> Result<Place<'_>, Full> {
        let mut waiting = lock(&self.waiting);
        let strangers = waiting.iter().filter(|(guest, _)| **guest != Guest::ApiServer);
        let strangers: usize = strangers.map(|(_, count)| *count).sum();
        let of_client = waiting.entry(line.0).or_default();
        if *of_client >= WAITING || (line.0 != Guest::ApiServer && strangers >= STRANGERS) {
            return Err(Full);
        }
        *of_client = of_client.saturating_add(1);
        drop(waiting);
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed);
        lock(&self.lines).entry(line).or_default().push_back(ticket);
        Ok(Place { room: self, line, ticket })
    }
}

impl Place<'_> {
    fn is_first(&self) -> bool {
        lock(&self.room.lines).get(&self.line).and_then(VecDeque::front) == Some(&self.ticket)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut lines = lock(&self.room.lines);
        if let Some(line) = lines.get_mut(&self.line) {
            line.retain(|ticket| *ticket != self.ticket);
            if line.is_empty() {
                lines.remove(&self.line);
            }
        }
        drop(lines);
        let mut waiting = lock(&self.room.waiting);
        if let Some(count) = waiting.get_mut(&self.line.0) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                waiting.remove(&self.line.0);
            }
        }
        drop(waiting);
        self.room.moved.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;

    const LARGE: usize = 4 * MIB;
    const PATIENCE: Duration = Duration::from_secs(1);

    fn stranger(number: u8) -> Guest {
        Guest::Stranger(Ipv4Addr::new(10, 0, 0, number).into())
    }

    fn room() -> (Arc<Room>, Arc<Budget>) {
        let process = Budget::new(100 * MIB);
        (Requests::new(&process).room(16 * MIB), process)
    }

    #[test]
    fn a_greedy_client_has_half_and_leaves_the_other_to_others() {
        let whole = Budget::new(200);
        let shares = Shares::new(whole.part(100), whole.part(100));
        let take = |guest, bytes| shares.take(guest, bytes, 0);
        let greedy = take(stranger(1), 50).unwrap();
        assert!(take(stranger(1), 1).is_err(), "also by another request");
        let second = take(stranger(2), 25).unwrap();
        assert!(take(stranger(2), 1).is_err());
        let mut third = take(stranger(3), 12).unwrap();
        assert!(take(stranger(3), 1).is_err());
        drop((greedy, second));
        let more = take(stranger(3), 38).unwrap();
        third.shrink(2);
        assert_eq!(shares.strangers.held(), 40);
        drop((third, more));
        assert!((whole.held(), lock(&shares.by).len()) == (0, 0), "{shares:?}");
    }

    #[test]
    fn strangers_take_nothing_of_an_api_server_that_is_known() {
        let whole = Budget::new(200);
        let shares = Shares::new(whole.part(100), whole.part(100));
        let all: Vec<_> = (0..9).filter_map(|i| shares.take(stranger(i), 100 >> (i + 1), 0).ok()).collect();
        assert!(!all.is_empty());
        let known = shares.take(Guest::ApiServer, 100, 0).unwrap();
        assert!(shares.take(Guest::ApiServer, 1, 0).is_err());
        drop(known);
        assert!(shares.take(Guest::ApiServer, 96, 5).is_err(), "five are spare");
        assert!(shares.take(Guest::ApiServer, 95, 5).is_ok());
        assert!(shares.take(stranger(10), 1, 100).is_err());
    }

    #[test]
    fn requests_of_a_connection_hold_a_share_together() {
        let whole = Budget::new(200);
        let shares = Shares::new(whole.part(100), whole.part(100));
        let [one, other] = [1, 1].map(|number| Joint::new(&shares, stranger(number)));
        let held = [one.hold(30), one.hold(30)].map(Result::unwrap);
        assert_eq!(whole.held(), 30);
        assert!(other.hold(30).is_err(), "of another connection");
        drop(held);
        assert_eq!(whole.held(), 0);
        assert!(other.hold(30).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_in_line_is_served_first() {
        let (room, process) = room();
        let held = room.take(stranger(1), LARGE).unwrap();
        let end = Instant::now() + PATIENCE;
        let mut first = Box::pin(room.wait(stranger(1), LARGE, end));
        let mut second = Box::pin(room.wait(stranger(1), MIB, end));
        assert!(futures::poll!(&mut first).is_pending() && futures::poll!(&mut second).is_pending());
        assert!(room.take(stranger(1), MIB).is_err(), "two wait already");
        assert!(room.take(stranger(1), SMALL).is_ok(), "a small one does not wait for them");
        assert!(room.take(stranger(2), SMALL).is_ok(), "other clients do not, either");
        drop(held);
        assert!(futures::poll!(&mut second).is_pending());
        let first = first.await.unwrap();
        let second = second.await.unwrap();
        drop((first, second));
        assert_eq!(process.held(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_is_not_waited_for() {
        let (room, _) = room();
        let held = room.take(stranger(1), 6 * MIB).unwrap();
        let end = Instant::now() + PATIENCE;
        let mut first = Box::pin(room.wait(stranger(1), 6 * MIB, end));
        assert!(futures::poll!(&mut first).is_pending());
        let mut second = Box::pin(room.wait(stranger(1), SMALL + 1, end));
        assert!(futures::poll!(&mut second).is_pending());
        drop(first);
        assert!(second.await.is_ok(), "there is room for it");
        let begin = Instant::now();
        assert!(room.wait(stranger(1), 6 * MIB, end).await.is_err());
        assert_eq!(begin.elapsed(), PATIENCE);
        drop(held);
        assert!(lock(&room.lines).is_empty() && lock(&room.waiting).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn lines_have_an_end() {
        let (room, _) = room();
        let end = Instant::now() + PATIENCE;
        let too_large = 16 * MIB;
        let mut all: Vec<_> =
            (0..WAITING).map(|_| Box::pin(room.wait(stranger(1), too_large, end))).collect();
        for one in &mut all {
            assert!(futures::poll!(one).is_pending());
        }
        let begin = Instant::now();
        assert!(room.wait(stranger(1), too_large, end).await.is_err());
        for number in 2..=9 {
            let waiting = (0..WAITING / 8).map(|_| Box::pin(room.wait(stranger(number), too_large, end)));
            for mut one in waiting {
                if futures::poll!(&mut one).is_pending() {
                    all.push(one);
                }
            }
        }
        assert_eq!(all.len(), STRANGERS);
        assert!(room.wait(stranger(10), too_large, end).await.is_err(), "of all strangers");
        assert_eq!(begin.elapsed(), Duration::ZERO, "at once");
        let mut known = Box::pin(room.wait(Guest::ApiServer, too_large, end));
        assert!(futures::poll!(&mut known).is_pending(), "an API server that is known may wait");
    }

    #[test]
    fn the_largest_request_has_room_when_there_are_no_others() {
        use crate::server::Endpoint;

        let requests = Requests::new(&Budget::new(176 * MIB));
        for endpoint in Endpoint::ALL {
            let room = requests.room(endpoint.limits.all);
            let largest = endpoint.limits.bytes(endpoint.limits.body);
            assert!(room.take(stranger(1), largest).is_ok(), "{}", endpoint.name);
            assert!(room.take(Guest::ApiServer, largest).is_ok(), "{}", endpoint.name);
        }
    }
}
