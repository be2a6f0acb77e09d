//! Divides a budget among clients. A client may use as many bytes as are left free. A single client can use
//! half of them, and several greedy clients leave as much as each of them uses. An API server that proves its
//! identity has another budget, which no stranger can use up.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use axum::http::{Extensions, StatusCode};

use super::api_error::ApiError;
use super::listener::Peer;
use crate::controller::lock;
use crate::memory::{Budget, Full, Held};

/// The client that bytes are counted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Guest {
    /// An API server: its certificate has a name of `--webhook-client`.
    ApiServer,
    /// Any other client, by its address.
    Stranger(IpAddr),
}

impl Guest {
    /// Returns the client of a request.
    pub(super) fn of(extensions: &Extensions) -> Self {
        let unknown = Self::Stranger(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        extensions.get::<Peer>().map_or(unknown, |peer| peer.guest)
    }
}

/// A budget that clients share.
#[derive(Debug)]
pub(super) struct Shares {
    api_servers: Arc<Budget>,
    strangers: Arc<Budget>,
    /// Bytes of each stranger that uses any.
    by: Mutex<HashMap<IpAddr, usize>>,
}

/// The bytes of one request; free again when dropped.
#[derive(Debug)]
pub(super) struct Share {
    shares: Arc<Shares>,
    guest: Guest,
    held: Held,
}

/// A share that all requests of one connection which need it hold together.
#[derive(Debug)]
pub(super) struct Joint {
    shares: Arc<Shares>,
    guest: Guest,
    held: Mutex<Weak<Share>>,
}

/// There are no bytes left for a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Crowded;

impl From<Full> for Crowded {
    fn from(_: Full) -> Self {
        Self
    }
}

impl From<Crowded> for ApiError {
    /// API servers repeat a request to an authorizer after this status, with growing backoff.
    fn from(_: Crowded) -> Self {
        let message = "too many requests of this client are under way: try again";
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
    pub(super) fn take(self: &Arc<Self>, guest: Guest, bytes: usize, spare: usize) -> Result<Share, Crowded> {
        let held = match guest {
            Guest::ApiServer => {
                // Another request may take the spare bytes in between, which it could have done before.
                if bytes > self.api_servers.free().saturating_sub(spare) {
                    return Err(Crowded);
                }
                self.api_servers.hold(bytes)?
            }
            Guest::Stranger(address) => {
                let mut by = self.lock();
                let of_client = by.get(&address).copied().unwrap_or(0).saturating_add(bytes);
                if of_client > self.strangers.free().saturating_sub(bytes).saturating_sub(spare) {
                    return Err(Crowded);
                }
                let held = self.strangers.hold(bytes)?;
                by.insert(address, of_client);
                held
            }
        };
        Ok(Share { shares: Arc::clone(self), guest, held })
    }

    /// Returns the bytes that API servers and strangers have each.
    pub(super) fn all(&self) -> [usize; 2] {
        [self.api_servers.all(), self.strangers.all()]
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        lock(&self.by)
    }
}

impl Share {
    /// Gives bytes back, all but so many.
    pub(super) fn shrink(&mut self, bytes: usize) {
        let less = self.held.bytes().saturating_sub(bytes);
        self.leave(less);
        self.held.shrink(bytes);
    }

    /// Notes that the client has fewer bytes.
    fn leave(&self, bytes: usize) {
        let Guest::Stranger(address) = self.guest else { return };
        let mut by = self.shares.lock();
        let left = by.get(&address).copied().unwrap_or(0).saturating_sub(bytes);
        if left == 0 {
            by.remove(&address);
        } else {
            by.insert(address, left);
        }
    }
}

impl Joint {
    /// Returns a share that nobody holds yet.
    pub(super) fn new(shares: &Arc<Shares>, guest: Guest) -> Self {
        Self { shares: Arc::clone(shares), guest, held: Mutex::default() }
    }

    /// Holds the share; the first one takes the bytes.
    ///
    /// # Errors
    /// As [`Shares::take`].
    pub(super) fn hold(&self, bytes: usize) -> Result<Arc<Share>, Crowded> {
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

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn stranger(number: u8) -> Guest {
        Guest::Stranger(Ipv4Addr::new(10, 0, 0, number).into())
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
        assert!((whole.held(), shares.lock().len()) == (0, 0), "{shares:?}");
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
}
