//! The certificate of the doors: made and renewed here, or mounted by somebody else.
//!
//! On its own, queuewarden is its own authority. One Secret, shared by all replicas, holds the authorities that callers should trust
//! and the certificate that is shown. A process that does not listen renews; those that do show what they find. Nothing here sleeps until
//! an expiry: every few seconds the wall clock is looked at anew, so that a clock that was set, or a machine that was suspended, is noticed.
//!
//! * [`schedule`]: what is due, as a pure function of times.
//! * [`material`]: the keys and certificates; [`secret`]: how they are kept.
//! * [`inject`]: tells the API server whom to trust, before anything is shown that it could not check.
//! * [`keeper`]: the loop that renews the certificate of our own; [`follower`]: the one that shows it; [`files`]: the loop of mounted ones.

pub mod files;
pub mod follower;
pub mod inject;
pub mod keeper;
pub mod material;
pub mod schedule;
pub mod secret;

use std::fmt::Display;

/// The error of the last round of a loop.
#[derive(Debug, Default)]
struct Problem(Option<String>);

impl Problem {
    /// Takes in how a round ended, and logs an error that the one before it did not have.
    fn note<E: Display>(&mut self, round: Result<(), E>) {
        let problem = round.err().map(|error| error.to_string());
        if let Some(problem) = problem.as_ref().filter(|&problem| self.0.as_ref() != Some(problem)) {
            tracing::warn!("{problem}");
        }
        self.0 = problem;
    }
}
