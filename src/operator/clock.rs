//! The operator's clock.

use jiff::Timestamp;

/// Now, in whole seconds: that is what Kubernetes keeps of a time, and a plan must not depend on what is lost.
#[expect(clippy::disallowed_methods, reason = "the one place where the operator reads the clock")]
pub fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}
