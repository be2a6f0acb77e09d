//! The operator's clock.

use jiff::Timestamp;

/// Now, in whole seconds: that is what Kubernetes keeps of a time, and a plan must not depend on what is lost.
pub fn now() -> Timestamp {
    let now = precise();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

/// Now.
#[cfg(not(test))]
#[expect(clippy::disallowed_methods, reason = "the one place where the operator reads the clock")]
pub fn precise() -> Timestamp {
    Timestamp::now()
}

/// Now, by the clock of the runtime, which tests pause and advance.
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the one place where the operator reads the clock")]
pub fn precise() -> Timestamp {
    use std::sync::LazyLock;

    use jiff::SignedDuration;
    use tokio::time::Instant;

    static START: LazyLock<(Timestamp, Instant)> =
        LazyLock::new(|| (Timestamp::now(), Instant::from_std(std::time::Instant::now())));
    let (time, instant) = *START;
    let now = Instant::now();
    let millis = |span: std::time::Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    let passed = millis(now.saturating_duration_since(instant));
    time + SignedDuration::from_millis(passed.saturating_sub(millis(instant.saturating_duration_since(now))))
}
