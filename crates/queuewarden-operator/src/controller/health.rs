//! The state of the process, as reported by `/livez`, `/readyz` and `/metrics`.
//!
//! Alive: within 15 minutes the API server answered every watch, and the loop ran. Ready: everything was read
//! once and a first plan was made; this includes replicas that do not lead. Neither depends on the scheduler,
//! or on whether it accepts the configuration.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use super::lock;
use super::metrics::Metrics;
use super::watch::Progress;

/// Longest silence of a watch or the loop before it is considered dead. Watches receive a response every
/// minute; the loop runs every 10 minutes.
const PATIENCE: Duration = Duration::from_mins(15);

/// The data for `/livez`, `/readyz` and `/metrics`.
#[derive(Debug)]
pub struct Health {
    /// The metrics.
    pub metrics: Metrics,
    planned: AtomicBool,
    stopping: AtomicBool,
    rounds: Mutex<Rounds>,
}

#[derive(Debug)]
struct Rounds {
    last: Instant,
    watches: Vec<Arc<Progress>>,
    /// The watches that belong to the HTTPS endpoints.
    endpoints: Vec<Arc<Progress>>,
}

impl Rounds {
    fn watches(&self) -> impl Iterator<Item = &Arc<Progress>> {
        self.watches.iter().chain(&self.endpoints)
    }
}

impl Default for Health {
    fn default() -> Self {
        Self {
            metrics: Metrics::default(),
            planned: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            rounds: Mutex::new(Rounds { last: Instant::now(), watches: Vec::new(), endpoints: Vec::new() }),
        }
    }
}

impl Health {
    /// Records that the loop ran, and that these watches are running.
    pub fn round(&self, watches: Vec<Arc<Progress>>) {
        let mut rounds = lock(&self.rounds);
        rounds.last = Instant::now();
        rounds.watches = watches;
    }

    /// Adds a watch that the loop does not manage.
    pub fn watches(&self, watch: Arc<Progress>) {
        lock(&self.rounds).endpoints.push(watch);
    }

    /// Notes that a plan was made.
    pub fn planned(&self) {
        if !self.planned.swap(true, Ordering::Relaxed) {
            tracing::info!("Everything was read");
        }
    }

    /// Records that the process is about to end.
    pub fn stopping(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Returns why the process should be restarted, or `None` if it is alive.
    pub fn dead(&self) -> Option<String> {
        let rounds = lock(&self.rounds);
        if rounds.last.elapsed() > PATIENCE {
            return Some("the loop stands still".into());
        }
        let silent = rounds.watches().find(|watch| watch.silence() > PATIENCE)?;
        Some(format!("the API server has not answered the watch of {}", silent.resource))
    }

    /// Returns whether the process ends soon.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Returns why the process is not ready, or `None` if it is.
    pub fn unready(&self) -> Option<&'static str> {
        if self.is_stopping() {
            Some("stopping")
        } else if !self.planned.load(Ordering::Relaxed) {
            Some("not everything was read yet")
        } else {
            None
        }
    }

    /// Returns the text of `/metrics`.
    pub fn text(&self) -> String {
        let watches: Vec<_> = lock(&self.rounds).watches().cloned().collect();
        self.metrics.text(&watches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn ready_from_the_first_plan_until_the_signal() {
        let health = Health::default();
        assert!(health.unready().is_some());
        health.planned();
        assert_eq!(health.unready(), None);
        health.stopping();
        assert!(health.unready().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn dead_when_the_loop_or_a_watch_stands_still() {
        let health = Health::default();
        tokio::time::advance(PATIENCE).await;
        assert_eq!(health.dead(), None);
        let watch = Progress::new("queueacls");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(health.dead().as_deref(), Some("the loop stands still"));
        health.round(vec![Arc::clone(&watch)]);
        assert_eq!(health.dead(), None);
        tokio::time::advance(PATIENCE).await;
        health.round(vec![watch]);
        assert_eq!(health.dead().as_deref(), Some("the API server has not answered the watch of queueacls"));
    }

    #[tokio::test(start_paused = true)]
    async fn the_watches_of_endpoints_are_watches() {
        let health = Health::default();
        health.watches(Progress::new("pods"));
        health.round(vec![Progress::new("queueacls")]);
        let text = health.text();
        for resource in ["pods", "queueacls"] {
            let series =
                format!(r#"queuewarden_watch_last_progress_timestamp_seconds{{resource="{resource}"}} 0"#);
            assert!(text.contains(&series), "{text}");
        }
        tokio::time::advance(PATIENCE + Duration::from_secs(1)).await;
        health.round(Vec::new());
        assert_eq!(health.dead().as_deref(), Some("the API server has not answered the watch of pods"));
    }

    #[tokio::test(start_paused = true)]
    async fn of_watches_that_are_no_more_nothing_is_reported() {
        let health = Health::default();
        let reported = |resource: &str| health.text().contains(&format!(r#"{{resource="{resource}"}}"#));
        health.watches(Progress::new("pods"));
        health.round(vec![Progress::new("queueacls"), Progress::new("clusterroles")]);
        assert!(reported("pods") && reported("queueacls") && reported("clusterroles"));
        health.round(vec![Progress::new("queueacls")]);
        assert!(reported("pods") && reported("queueacls"));
        assert!(!reported("clusterroles"), "it would look stalled until the next start");
    }

    #[tokio::test]
    async fn the_metrics_are_well_formed() {
        let text = Health::default().text();
        assert!(text.contains("queuewarden_build_info{version="), "{text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
    }
}
