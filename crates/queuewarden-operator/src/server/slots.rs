//! A fixed number of slots for connections. When all are taken, the peer with the most connections closes
//! the one that has been idle longest.
//!
//! The number bounds memory. Idle connections, handshakes that never end and requests whose bodies do not
//! arrive keep nobody out: a new connection is accepted at once. A connection whose request is being
//! answered is never closed.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Duration, Instant, sleep_until};

use crate::controller::lock;

/// All slots.
#[derive(Debug)]
pub struct Slots {
    free: Arc<Semaphore>,
    taken: Mutex<Vec<Arc<Connection>>>,
}

/// The state of one connection.
#[derive(Debug)]
struct Connection {
    peer: IpAddr,
    usage: Mutex<Usage>,
    called: watch::Sender<bool>,
    evicted: Notify,
}

/// The use of a connection. It is read when something is due: a request wakes nothing.
#[derive(Debug)]
struct Usage {
    /// Requests that are being answered.
    answered: usize,
    /// The time since which none is being answered, if none is.
    idle: Instant,
}

impl Connection {
    /// Returns the time since which no request of it is being answered; `None`: one is.
    fn idle_since(&self) -> Option<Instant> {
        let usage = self.lock();
        (usage.answered == 0).then_some(usage.idle)
    }

    fn lock(&self) -> MutexGuard<'_, Usage> {
        lock(&self.usage)
    }
}

/// One slot; free again when dropped.
#[derive(Debug)]
pub struct Slot {
    all: Arc<Slots>,
    connection: Arc<Connection>,
    _permit: OwnedSemaphorePermit,
}

/// A request that is being answered.
#[derive(Debug)]
pub struct Busy(Arc<Connection>);

impl Slots {
    /// Returns `number` free slots.
    pub fn new(number: usize) -> Arc<Self> {
        Arc::new(Self { free: Arc::new(Semaphore::new(number)), taken: Mutex::default() })
    }

    /// Takes a slot and frees one if necessary; `None` comes only from a semaphore that is closed.
    pub async fn take(self: &Arc<Self>, peer: IpAddr) -> Option<Slot> {
        if self.free.available_permits() == 0 {
            self.make_room();
        }
        let permit = Arc::clone(&self.free).acquire_owned().await.ok()?;
        let called = watch::Sender::new(false);
        let usage = Mutex::new(Usage { answered: 0, idle: Instant::now() });
        let connection = Arc::new(Connection { peer, usage, called, evicted: Notify::new() });
        self.lock().push(Arc::clone(&connection));
        Some(Slot { all: Arc::clone(self), connection, _permit: permit })
    }

    /// Makes the connection close that has been idle longest, of the peer with the most slots. Where none
    /// is idle, the new connection waits for the first one that ends.
    fn make_room(&self) {
        let taken = self.lock();
        let mut slots_of: HashMap<IpAddr, usize> = HashMap::new();
        for connection in taken.iter() {
            *slots_of.entry(connection.peer).or_default() += 1;
        }
        let idle = taken.iter().filter_map(|connection| Some((connection.idle_since()?, connection)));
        let first = idle.max_by_key(|(since, one)| (slots_of.get(&one.peer).copied(), Reverse(*since)));
        if let Some((_, connection)) = first {
            connection.evicted.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        lock(&self.taken)
    }
}

impl Slot {
    /// Marks that a request has come.
    pub fn ask(&self) {
        self.connection.called.send_if_modified(|called| !std::mem::replace(called, true));
    }

    /// Marks a request as being answered until the returned value is dropped.
    pub fn begin(&self) -> Busy {
        let mut usage = self.connection.lock();
        usage.answered = usage.answered.saturating_add(1);
        Busy(Arc::clone(&self.connection))
    }

    /// Waits until the first request has come; returns at once if it has.
    pub async fn called(&self) {
        let mut called = self.connection.called.subscribe();
        // The sender is in the same value, so it is not dropped.
        let _ = called.wait_for(|called| *called).await;
    }

    /// Waits until no request was answered for `patience` (`idle`), or another connection needs the slot
    /// (`evicted`).
    pub async fn unused(&self, patience: Duration) -> &'static str {
        loop {
            let since = self.connection.idle_since();
            let end = since.unwrap_or_else(Instant::now) + patience;
            if since.is_some() && end <= Instant::now() {
                return "idle";
            }
            tokio::select! {
                () = sleep_until(end) => {}
                () = self.connection.evicted.notified() => return "evicted",
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.all.lock().retain(|other| !Arc::ptr_eq(other, &self.connection));
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut usage = self.0.lock();
        usage.answered = usage.answered.saturating_sub(1);
        usage.idle = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use tokio::time::{advance, timeout};

    const LONG: Duration = Duration::from_mins(1);
    const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[tokio::test(start_paused = true)]
    async fn the_one_that_has_been_idle_longest_makes_room() {
        let slots = Slots::new(3);
        let first = slots.take(PEER).await.unwrap();
        advance(Duration::from_secs(1)).await;
        let second = slots.take(PEER).await.unwrap();
        advance(Duration::from_secs(1)).await;
        let third = slots.take(PEER).await.unwrap();
        advance(Duration::from_secs(1)).await;
        let busy = first.begin();
        let newcomer = tokio::spawn({
            let slots = Arc::clone(&slots);
            async move { slots.take(PEER).await }
        });
        assert_eq!(second.unused(LONG).await, "evicted");
        assert!(!newcomer.is_finished());
        drop(second);
        let fourth = newcomer.await.unwrap().unwrap();
        // The connection that was idle longest before its request is not any more.
        advance(Duration::from_secs(1)).await;
        drop(busy);
        slots.make_room();
        assert_eq!(third.unused(LONG).await, "evicted");
        drop((first, fourth));
        assert_eq!(slots.lock().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_peer_with_most_places_makes_room() {
        let slots = Slots::new(3);
        let lone = slots.take(PEER).await.unwrap();
        advance(Duration::from_secs(1)).await;
        let other = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let first = slots.take(other).await.unwrap();
        advance(Duration::from_secs(1)).await;
        let second = slots.take(other).await.unwrap();
        slots.make_room();
        assert_eq!(first.unused(LONG).await, "evicted");
        drop((lone, second));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_requests_ends_and_one_with_requests_does_not() {
        let slots = Slots::new(1);
        let slot = slots.take(PEER).await.unwrap();
        let (one, other) = (slot.begin(), slot.begin());
        drop(one);
        assert!(timeout(LONG * 2, slot.unused(LONG)).await.is_err());
        slots.make_room();
        assert!(timeout(LONG * 2, slot.unused(LONG)).await.is_err(), "it has a request under way");
        drop(other);
        let begin = Instant::now();
        assert_eq!(slot.unused(LONG).await, "idle");
        assert_eq!(begin.elapsed(), LONG);
    }
}
