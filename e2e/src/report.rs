//! Runs `queuewarden report --serve`, as a user starts it for a browser.

use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Context as _, Result};
use reqwest::{Client, RequestBuilder};
use serde_json::Value;

use crate::assets;
use crate::process::Process;
use crate::session::Session;
use crate::wait::PATIENCE;

/// The line with the address of the report.
const SERVING: &str = "Serving the report at ";

/// A report that is served.
#[derive(Debug)]
pub struct Report {
    process: Process,
    url: String,
    client: Client,
}

impl Report {
    /// Starts a process of this name, and waits until it serves.
    ///
    /// # Errors
    /// When it ends before that.
    pub async fn serve(name: &str, kubeconfig: &Path) -> Result<Self> {
        let program = tokio::task::spawn_blocking(assets::operator).await??;
        let process = Process::new(name, &program, Session::get()?.directory())
            .args(["report", "--serve"])
            .env("KUBECONFIG", kubeconfig);
        process.start()?;
        let url = process.until("the report to be served", PATIENCE, || async {
            let log = process.log();
            let line = log.lines().find_map(|line| line.strip_prefix(SERVING));
            Ok(line.map(str::to_owned))
        });
        let url = url.await?;
        let client = Client::builder().no_proxy().timeout(Duration::from_secs(20));
        Ok(Self { process, url, client: client.build().context("no HTTP client")? })
    }

    /// Returns the URL of the page; it ends in a slash.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns a GET of a path below the page's, not sent yet.
    pub fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.url))
    }

    /// Returns the report's data.
    ///
    /// # Errors
    /// When there is no JSON.
    pub async fn data(&self) -> Result<Value> {
        Ok(self.get("report.json").send().await?.error_for_status()?.json().await?)
    }

    /// Ends it as Ctrl-C does.
    ///
    /// # Errors
    /// When it continues to run.
    pub async fn interrupt(&self) -> Result<ExitStatus> {
        self.process.interrupt()?;
        self.process.exited(PATIENCE).await
    }
}
