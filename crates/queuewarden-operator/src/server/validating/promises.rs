//! Space that was promised to delegates.
//!
//! A webhook decides before an object is stored, and the watch shows it later. So an accepted change counts
//! from the moment of its decision, until it is stored and shown at the latest ([`LASTS`]). This makes no
//! difference to an object that is shown: it counts with the larger of both sizes.
//!
//! Each client has promises of its own. Otherwise a client that makes reviews up, but is no API server, could
//! take the space of all delegates.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::memory::{Budget, Full, Held, MIB};
use crate::server::room::Guest;
use queuewarden_plan::admit::Promise;

/// API servers end a write 34 seconds after the request (apiserver `pkg/endpoints/handlers/rest.go`,
/// `requestTimeoutUpperBound`). The rest is for etcd, the watch and the next round of the reconciler.
const LASTS: Duration = Duration::from_secs(45);
/// Bytes in memory of the promises of all clients.
const ALL: usize = 8 * MIB;
/// Bytes in memory of a promise without its texts.
const ONE: usize = 256;

/// The promises of all clients.
#[derive(Debug, Default)]
pub(super) struct Promises {
    /// The oldest comes first.
    made: VecDeque<Made>,
    memory: Option<Arc<Budget>>,
}

#[derive(Debug)]
struct Made {
    to: Guest,
    promise: Promise,
    end: Instant,
    _held: Held,
}

impl Promises {
    /// Returns what was promised to a client and has not ended.
    pub(super) fn of(&mut self, client: Guest) -> Vec<Promise> {
        let now = Instant::now();
        while self.made.pop_front_if(|made| made.end <= now).is_some() {}
        self.made.iter().filter(|made| made.to == client).map(|made| made.promise.clone()).collect()
    }

    /// Adds a promise, with memory of this budget. It replaces another one for the same object.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub(super) fn make(
        &mut self,
        to: Guest,
        mut promise: Promise,
        process: &Arc<Budget>,
    ) -> Result<(), Full> {
        let memory = self.memory.get_or_insert_with(|| process.part(ALL));
        let held =
            memory.hold(ONE.saturating_add(promise.name.len()).saturating_add(promise.writer.len()))?;
        self.made.retain(|made| {
            let same =
                (made.to, &made.promise.name, &made.promise.writer) == (to, &promise.name, &promise.writer);
            if same {
                promise.stored = promise.stored.max(made.promise.stored);
            }
            !same
        });
        self.made.push_back(Made { to, promise, end: Instant::now() + LASTS, _held: held });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn promise(name: &str, stored: usize) -> Promise {
        Promise { name: name.to_owned(), writer: "sue".to_owned(), stored }
    }

    #[tokio::test(start_paused = true)]
    async fn a_promise_counts_for_its_client_until_it_ends() {
        let (process, mut promises) = (Budget::new(MIB), Promises::default());
        let stranger = Guest::Stranger(Ipv4Addr::LOCALHOST.into());
        promises.make(Guest::ApiServer, promise("a", 2), &process).unwrap();
        tokio::time::advance(LASTS / 2).await;
        promises.make(Guest::ApiServer, promise("b", 1), &process).unwrap();
        assert_eq!(promises.of(Guest::ApiServer), [promise("a", 2), promise("b", 1)]);
        assert_eq!(promises.of(stranger), []);
        tokio::time::advance(LASTS / 4).await;
        promises.make(Guest::ApiServer, promise("a", 1), &process).unwrap();
        assert_eq!(promises.of(Guest::ApiServer), [promise("b", 1), promise("a", 2)], "the larger size");
        tokio::time::advance(LASTS / 4 * 3).await;
        assert_eq!(promises.of(Guest::ApiServer), [promise("a", 2)]);
        tokio::time::advance(LASTS / 2).await;
        assert_eq!(promises.of(Guest::ApiServer), []);
        assert_eq!(process.held(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn promises_have_a_bounded_memory() {
        let (process, mut promises) = (Budget::new(2 * ONE), Promises::default());
        assert_eq!(promises.make(Guest::ApiServer, promise("a", 1), &process), Ok(()));
        assert_eq!(promises.make(Guest::ApiServer, promise("b", 1), &process), Err(Full));
        tokio::time::advance(LASTS).await;
        assert_eq!(promises.of(Guest::ApiServer), []);
        assert_eq!(promises.make(Guest::ApiServer, promise("b", 1), &process), Ok(()));
    }
}
