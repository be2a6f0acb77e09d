//! Prints information for debugging a failed test before the test cluster is reset.

use std::fmt::Write as _;
use std::time::Duration;

use crate::process::last_lines;
use crate::test_cluster::TestCluster;
use crate::yunikorn;

const LOG_LINES: usize = 40;
const OPERATOR_LINES: usize = 200;

impl TestCluster {
    /// Returns the state of the cluster as text: our objects, `YuniKorn`'s `ConfigMaps` and configuration,
    /// recent events, logs. For a part that cannot be read, it contains the reason.
    pub async fn diagnose(&self) -> String {
        let mut report = String::from("==== state of the cluster after the failure ====\n");
        let kinds = self
            .ask(&["api-resources", "--api-group=queuewarden.dev", "-o", "name"])
            .await
            .unwrap_or_default();
        for kind in kinds.lines() {
            section(&mut report, kind, &self.reported(&["get", kind, "-o", "yaml"]).await);
        }
        let maps = ["get", "configmaps", "-n", yunikorn::NAMESPACE, "-o", "yaml", "--show-managed-fields"];
        section(&mut report, "ConfigMaps", &self.reported(&maps).await);
        section(
            &mut report,
            "Events",
            &self.reported(&["get", "events", "-A", "--sort-by=.metadata.creationTimestamp"]).await,
        );
        let config = match self.yunikorn() {
            Ok(rest) => rest.config_json().await.map(|config| format!("{config:#}")),
            Err(error) => Err(error),
        };
        section(&mut report, "/ws/v1/config", &config.unwrap_or_else(|error| format!("{error:#}")));
        for process in self.processes() {
            let state = if process.running() { "running" } else { "not running" };
            section(
                &mut report,
                &format!("log of {} ({state})", process.name()),
                &process.log_tail(LOG_LINES),
            );
        }
        for path in self.noted_logs() {
            let log = std::fs::read_to_string(&path).unwrap_or_else(|error| error.to_string());
            section(&mut report, &path.display().to_string(), &last_lines(&log, OPERATOR_LINES));
        }
        report
    }

    async fn reported(&self, args: &[&str]) -> String {
        self.ask(args).await.unwrap_or_else(|error| format!("{error:#}"))
    }

    async fn ask(&self, args: &[&str]) -> anyhow::Result<String> {
        tokio::time::timeout(Duration::from_secs(10), self.kubectl(args)).await?
    }
}

fn section(report: &mut String, title: &str, text: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(report, "---- {title}\n{}", text.trim_end());
}
