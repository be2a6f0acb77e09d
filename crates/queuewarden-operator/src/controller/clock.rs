//! The operator's clock.

use jiff::Timestamp;

/// Returns the current time in whole seconds. Kubernetes stores times in this precision, and a plan must not
/// depend on the lost fraction.
pub fn now() -> Timestamp {
    let now = precise();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

/// Returns the current time in full precision.
#[expect(clippy::disallowed_methods, reason = "the one place where the operator reads the clock")]
pub fn precise() -> Timestamp {
    Timestamp::now()
}
