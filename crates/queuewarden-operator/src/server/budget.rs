//! A budget of bytes that requests share. A peer may use as many bytes as are left free: one peer alone
//! half of them, and several greedy ones leave as much as each of them uses.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::refusal::Refusal;
use crate::controller::lock;

/// The budget of bytes for all peers.
#[derive(Debug)]
pub(super) struct Budget {
    all: usize,
    taken: Mutex<Taken>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    /// Bytes of each peer that uses any.
    by: HashMap<IpAddr, usize>,
}

impl Budget {
    /// Returns a budget of `all` bytes.
    pub(super) fn new(all: usize) -> Arc<Self> {
        Arc::new(Self { all, taken: Mutex::default(), freed: Notify::new() })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        lock(&self.taken)
    }
}

/// The bytes of one request; free again when dropped.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<Budget>,
    peer: IpAddr,
    bytes: usize,
}

/// There are no bytes left for a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Crowded;

impl From<Crowded> for Refusal {
    /// API servers repeat a request to an authorizer after this status, with growing backoff.
    fn from(_: Crowded) -> Self {
        let message = "too many requests of this client are under way: try again";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message)
    }
}

impl Share {
    /// Returns a share of no bytes yet.
    pub(super) fn new(budget: &Arc<Budget>, peer: IpAddr) -> Self {
        Self { budget: Arc::clone(budget), peer, bytes: 0 }
    }

    /// Takes more bytes.
    ///
    /// # Errors
    /// When the peer would then have more than are left free.
    pub(super) fn add(&mut self, bytes: usize) -> Result<(), Crowded> {
        let mut taken = self.budget.lock();
        let of_peer = taken.by.get(&self.peer).copied().unwrap_or(0).saturating_add(bytes);
        let all = taken.all.saturating_add(bytes);
        if of_peer > self.budget.all.saturating_sub(all) {
            return Err(Crowded);
        }
        taken.all = all;
        taken.by.insert(self.peer, of_peer);
        drop(taken);
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }

    /// Takes more bytes, waiting for others to end.
    ///
    /// # Errors
    /// When that takes longer than `patience`.
    pub(super) async fn wait_for(&mut self, bytes: usize, patience: Duration) -> Result<(), Crowded> {
        let end = Instant::now() + patience;
        loop {
            let budget = Arc::clone(&self.budget);
            let freed = budget.freed.notified();
            tokio::pin!(freed);
            // Bytes that are freed from here on are noticed.
            freed.as_mut().enable();
            if self.add(bytes).is_ok() {
                return Ok(());
            }
            timeout_at(end, freed).await.map_err(|_| Crowded)?;
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.budget.lock();
        taken.all = taken.all.saturating_sub(self.bytes);
        let left = taken.by.get(&self.peer).copied().unwrap_or(0).saturating_sub(self.bytes);
        if left == 0 {
            taken.by.remove(&self.peer);
        } else {
            taken.by.insert(self.peer, left);
        }
        drop(taken);
        self.budget.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn peer(number: u8) -> IpAddr {
        Ipv4Addr::new(10, 0, 0, number).into()
    }

    #[test]
    fn a_greedy_peer_has_half_and_leaves_the_other_to_others() {
        let budget = Budget::new(100);
        let mut greedy = Share::new(&budget, peer(1));
        assert_eq!(greedy.add(50), Ok(()));
        assert_eq!(greedy.add(1), Err(Crowded));
        assert_eq!(Share::new(&budget, peer(1)).add(1), Err(Crowded), "also by another request");
        let mut second = Share::new(&budget, peer(2));
        assert_eq!((second.add(25), second.add(1)), (Ok(()), Err(Crowded)));
        let mut third = Share::new(&budget, peer(3));
        assert_eq!((third.add(12), third.add(1)), (Ok(()), Err(Crowded)));
        drop((greedy, second));
        assert_eq!(third.add(38), Ok(()), "free again");
        drop(third);
        let taken = budget.lock();
        assert!((taken.all, taken.by.len()) == (0, 0), "{taken:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_are_waited_for() {
        let budget = Budget::new(100);
        let mut first = Share::new(&budget, peer(1));
        assert_eq!(first.add(50), Ok(()));
        let mut second = Share::new(&budget, peer(1));
        let begin = Instant::now();
        assert_eq!(second.wait_for(10, Duration::from_secs(1)).await, Err(Crowded));
        assert_eq!(begin.elapsed(), Duration::from_secs(1));
        let end = async {
            tokio::task::yield_now().await;
            drop(first);
        };
        assert_eq!(tokio::join!(second.wait_for(10, Duration::from_secs(1)), end).0, Ok(()));
        assert_eq!(begin.elapsed(), Duration::from_secs(1), "at once");
    }
}
