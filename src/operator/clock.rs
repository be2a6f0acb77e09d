//! The operator's clock.

use jiff::Timestamp;

/// Now, in whole seconds: that is what Kubernetes keeps of a time, and a plan must not depend on what is lost.
pub fn now() -> Timestamp {
    let now = precise();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

/// Now.
#[expect(clippy::disallowed_methods, reason = "the one place where the operator reads the clock")]
pub fn precise() -> Timestamp {
    Timestamp::now()
}
