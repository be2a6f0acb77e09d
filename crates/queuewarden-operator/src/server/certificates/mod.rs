//! The certificate of the HTTPS endpoints, which is either issued and renewed here or mounted.
//!
//! Without a mounted certificate, queuewarden is its own authority. One Secret, shared by all replicas,
//! contains the authorities that callers should trust and the server certificate. A process that does not
//! listen renews them; the listening processes load them. Nothing here sleeps until an expiry. Instead, the
//! wall clock is read every few seconds, so that a clock change or a suspended machine is noticed.
//!
//! * [`schedule`]: the next change that is due, as a pure function of times.
//! * [`material`]: the keys and certificates, and how they are stored.
//! * [`keeper`]: the loop that renews our own certificate, and publishes the authorities to the API server
//!   before it uses a certificate signed by them; [`loader`]: the loops that serve it, or a mounted one.

pub mod keeper;
pub mod loader;
pub mod material;
pub mod schedule;

use std::fmt::Display;
use std::time::Duration;

use jiff::SignedDuration;

/// The interval between two rounds of a loop over the Secret.
const LOOK: Duration = Duration::from_secs(10);
/// The interval between two rounds while there is no certificate, or if lifetimes are short.
const SOON: Duration = Duration::from_millis(500);

/// Returns the time until the next round, depending on the lifetime of the certificate, if any.
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
