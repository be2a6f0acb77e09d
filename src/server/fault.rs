//! Faults of our own. A panic ends the answer that it happened in, and nothing else.
//!
//! A door that has an answer for what it cannot decide gives that one: an authorizer no opinion, a webhook what its rule says for doubts.
//! To API servers an error of the server is worse than no answer: of an authorizer they ask again, five times.

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;

/// There is a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is a fault in queuewarden, which its log describes")]
pub(super) struct Fault;

/// Does work in which there may be a fault. What it has shared must be usable afterwards: locks that were held are poisoned.
pub(super) fn contained<T>(work: impl Future<Output = T>) -> impl Future<Output = Result<T, Fault>> {
    let work = AssertUnwindSafe(Box::pin(work)).catch_unwind();
    work.map(|done| {
        done.map_err(|_| {
            tracing::error!(
                "A request was not answered: there is a fault in queuewarden, whose message is above"
            );
            Fault
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error() {
        assert_eq!(contained(async { 1 }).await, Ok(1));
        let fault = contained(async { if true { panic!("a fault") } else { 1 } }).await;
        assert!(fault.unwrap_err().to_string().contains("fault in queuewarden"));
    }
}
