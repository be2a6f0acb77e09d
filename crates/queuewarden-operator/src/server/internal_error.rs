//! Internal errors. A panic ends the answer in which it happens, and nothing else.
//!
//! An endpoint that has an answer for undecided requests gives that one: an authorizer no opinion, a
//! webhook the answer of its rule for doubts. A server error is worse for API servers than no answer: they
//! repeat a request to an authorizer five times.

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;

/// An internal error: a panic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is a fault in queuewarden, which its log describes")]
pub(super) struct InternalError;

/// Runs work that may panic. Shared state must be usable afterwards: locks that it held are poisoned.
pub(super) fn contained<T>(work: impl Future<Output = T>) -> impl Future<Output = Result<T, InternalError>> {
    let work = AssertUnwindSafe(Box::pin(work)).catch_unwind();
    work.map(|done| {
        done.map_err(|_| {
            tracing::error!(
                "A request was not answered: there is a fault in queuewarden, whose message is above"
            );
            InternalError
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
