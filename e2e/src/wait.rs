//! Waits for a condition.
//!
//! A test that sleeps is slow on a fast machine and wrong on a slow one. [`eventually`] polls and, after the
//! timeout, reports the condition and the last observation.

use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

/// Timeout for operations that take a healthy test cluster well under a second. It is generous, because a
/// slow machine is not a failure; if the condition holds earlier, the wait ends earlier.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Timeout for operations that take a healthy test cluster some seconds, such as a scheduler that fails to
/// start.
pub const LONG: Duration = Duration::from_mins(2);

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// Calls `probe` until it returns `Ok(Some(value))`.
///
/// `Ok(None)` means "not yet". An error means "not yet" too, because API servers often restart here; the last
/// error is reported after `timeout`. A probe that hangs is aborted at the timeout.
///
/// # Errors
/// When the condition did not hold within `timeout`.
pub async fn eventually<T, F, Probe>(what: &str, timeout: Duration, mut probe: F) -> Result<T>
where
    F: FnMut() -> Probe,
    Probe: Future<Output = Result<Option<T>>>,
{
    let start = Instant::now();
    let mut pause = FIRST_PAUSE;
    let mut last: Option<anyhow::Error> = None;
    loop {
        let left = timeout.saturating_sub(start.elapsed());
        match tokio::time::timeout(left, probe()).await {
            Ok(Ok(Some(value))) => return Ok(value),
            Ok(Ok(None)) => last = None,
            Ok(Err(error)) => last = Some(error),
            Err(_) => last = last.or_else(|| Some(anyhow!("the last attempt did not return"))),
        }
        if start.elapsed() + pause > timeout {
            let seen = last.map(|error| format!("; last error: {error:#}")).unwrap_or_default();
            return Err(anyhow!("waited {timeout:?} in vain for {what}{seen}"));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    #[tokio::test]
    async fn eventually_returns_the_first_value() {
        let mut calls = 0;
        let value = eventually("three calls", PATIENCE, || {
            calls += 1;
            let now = calls;
            async move { Ok((now == 3).then_some(now)) }
        })
        .await
        .unwrap();
        assert_eq!(value, 3);
    }

    #[tokio::test]
    async fn timeout_reports_the_condition_and_the_last_observation() {
        let error = eventually::<(), _, _>("rain", Duration::from_millis(30), || async { bail!("sunshine") })
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains("rain") && error.contains("sunshine"), "{error}");
    }

    #[tokio::test]
    async fn hanging_probe_is_aborted() {
        let error = eventually::<(), _, _>("an answer", Duration::from_millis(30), std::future::pending)
            .await
            .unwrap_err();
        assert!(error.to_string().contains("did not return"), "{error}");
    }
}
