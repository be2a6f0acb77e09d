//! The certificate of the HTTPS endpoints: made and renewed here, or mounted from elsewhere.
//!
//! Without a mounted certificate, queuewarden is its own authority. One Secret, shared by all replicas, has
//! the authorities that callers should trust and the server certificate. A process that does not listen
//! renews them; those that listen load them. Nothing here sleeps until an expiry: every few seconds the
//! wall clock is read anew, so that a clock that was set, or a machine that was suspended, is noticed.
//!
//! * [`schedule`]: the next change that is due, as a pure function of times.
//! * [`material`]: the keys and certificates, and their storage.
//! * [`keeper`]: the loop that renews the certificate of our own, and publishes the authorities to the API
//!   server before it uses a certificate that it could not check; [`loader`]: the loops that show it, or a
//!   mounted one.

pub mod keeper;
pub mod loader;
pub mod material;
pub mod schedule;

use std::fmt::Display;
use std::time::Duration;

use jiff::SignedDuration;

/// The time between two rounds of a loop about the Secret.
const LOOK: Duration = Duration::from_secs(10);
/// The time between two rounds while there is no certificate, or lifetimes are short.
const SOON: Duration = Duration::from_millis(500);

/// Returns the time until the next round, with a certificate of this lifetime or with none.
fn delay(lifetime: Option<SignedDuration>) -> Duration {
    lifetime.map_or(SOON, |lifetime| (lifetime.unsigned_abs() / 50).clamp(SOON, LOOK))
}

/// The error of the last round of a loop.
#[derive(Debug, Default)]
struct Problem(Option<String>);

impl Problem {
    /// Records the result of a round, and logs an error that the round before did not have.
    fn note<E: Display>(&mut self, round: Result<(), E>) {
        let problem = round.err().map(|error| error.to_string());
        if let Some(problem) = problem.as_ref().filter(|&problem| self.0.as_ref() != Some(problem)) {
            tracing::warn!("{problem}");
        }
        self.0 = problem;
    }
}
