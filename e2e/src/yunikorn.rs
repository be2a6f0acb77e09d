//! Runs `YuniKorn`'s processes, and queries its REST interface.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use ::yunikorn::version::Version;
use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::assets::Servers;
use crate::process::Process;
use crate::wait::eventually;

/// The namespace of the scheduler and its `ConfigMaps`.
pub const NAMESPACE: &str = "yunikorn";
/// The `ConfigMap` that Helm owns.
pub const DEFAULTS: &str = "yunikorn-defaults";
/// The `ConfigMap` that queuewarden writes.
pub const CONFIGS: &str = "yunikorn-configs";
/// The line of `YuniKorn` releases that the test cluster has; 1.8 without it.
pub const VERSION: &str = "QUEUEWARDEN_E2E_YUNIKORN";
/// Ports hard-coded in `YuniKorn` (yunikorn-core `webservice.go:69`, k8shim
/// `admissioncontroller/main.go:44`).
pub(crate) const REST: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9080);
pub(crate) const ADMISSION: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9089);
/// The user that the scheduler runs as: the account of `YuniKorn`'s Helm chart.
pub const SCHEDULER: &str = "system:serviceaccount:yunikorn:yunikorn-admin";
/// The name of the Service; it must match the certificate that the admission controller makes for itself.
pub(crate) const ADMISSION_SERVICE: &str = "yunikorn-admission-controller-service";
pub(crate) const ADMISSION_SECRET: &str = "admission-controller-secrets";
pub(crate) const ADMISSION_WEBHOOKS: [(&str, &str); 2] = [
    ("validatingwebhookconfigurations", "yunikorn-admission-controller-validations"),
    ("mutatingwebhookconfigurations", "yunikorn-admission-controller-mutations"),
];

/// Returns the line of `YuniKorn` releases that the test cluster runs.
///
/// # Errors
/// When [`VERSION`] names a release that queuewarden was not compared with.
pub fn version() -> Result<Version> {
    let Some(name) = std::env::var_os(VERSION) else { return Ok(Version::V1_8) };
    let version = Version::PROVEN.into_iter().find(|version| name == version.as_str());
    version.with_context(|| format!("{VERSION}={}: not one of {:?}", name.display(), Version::PROVEN))
}

pub(crate) fn scheduler(servers: &Servers, directory: &Path, kubeconfig: &Path) -> Process {
    Process::new("yunikorn-scheduler", &servers.scheduler(), directory)
        .env("NAMESPACE", NAMESPACE)
        .env("KUBECONFIG", kubeconfig)
}

pub(crate) fn admission_controller(servers: &Servers, directory: &Path, kubeconfig: &Path) -> Process {
    Process::new("yunikorn-admission-controller", &servers.admission_controller(), directory)
        .env("NAMESPACE", NAMESPACE)
        .env("ADMISSION_CONTROLLER_NAMESPACE", NAMESPACE)
        .env("ADMISSION_CONTROLLER_SERVICE", ADMISSION_SERVICE)
        .env("KUBECONFIG", kubeconfig)
}

/// Fails if another process listens on one of `YuniKorn`'s ports.
pub(crate) fn check_ports() -> Result<()> {
    for address in [REST, ADMISSION] {
        TcpListener::bind(address).with_context(|| {
            format!(
                "YuniKorn's port {address} is taken: stop the other YuniKorn, or run the tests in \
                 `unshare -Urn`"
            )
        })?;
    }
    Ok(())
}

/// Returns `YuniKorn`'s checksum of a `queues.yaml` text, as `/ws/v1/config` shows it: SHA-256 in upper-case
/// hex. It is exact unless the text contains `checksum: ` (yunikorn-core `config.go:195-208`).
pub fn checksum(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |mut hex, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02X}");
        hex
    })
}

/// The REST interface. Use it within the Tokio runtime that made it.
#[derive(Debug, Clone)]
pub struct Rest {
    base: String,
    http: reqwest::Client,
}

/// An application that the scheduler refused, as `/ws/v1/partition/default/applications/rejected` lists it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RejectedApplication {
    /// `applicationId` label.
    #[serde(rename = "applicationID")]
    pub application_id: String,
    /// The user as resolved.
    #[serde(default)]
    pub user: String,
    /// The groups as resolved.
    #[serde(default)]
    pub groups: Vec<String>,
    /// The complete reason; the pod's status only contains a part of it.
    #[serde(default)]
    pub rejected_message: String,
}

/// A live queue, flattened from `/ws/v1/partition/default/queues`. `YuniKorn` shows no ACLs there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveQueue {
    /// Full path in lower case.
    pub path: String,
    /// `Active`, `Draining`, …
    pub status: String,
    /// True for a queue in the configuration, false for a queue that a placement rule created.
    pub managed: bool,
    /// True when it takes applications.
    pub leaf: bool,
}

impl Rest {
    pub(crate) fn new(base: &str) -> Result<Self> {
        let http = reqwest::Client::builder().timeout(Duration::from_secs(5)).no_proxy().build()?;
        Ok(Self { base: base.to_owned(), http })
    }

    /// Sends a GET of a path below the base and returns the JSON.
    ///
    /// # Errors
    /// When the scheduler does not answer with JSON and a status of success.
    pub async fn get(&self, path: &str) -> Result<Value> {
        let url = format!("{}{path}", self.base);
        // /ws/v1/config answers YAML unless the header is exactly this.
        let response = self.http.get(&url).header("Accept", "application/json").send().await?;
        Ok(response.error_for_status()?.json().await?)
    }

    /// Returns the active configuration as parsed: capitalised keys (`Partitions[].Queues[].SubmitACL`,
    /// `Checksum`, `Extra`).
    ///
    /// # Errors
    /// When the scheduler does not answer.
    pub async fn config_json(&self) -> Result<Value> {
        self.get("/ws/v1/config").await
    }

    /// Returns the checksum of the active `queues.yaml`; compare with [`checksum`].
    ///
    /// # Errors
    /// When the scheduler does not answer.
    pub async fn config_checksum(&self) -> Result<String> {
        let config = self.config_json().await?;
        Ok(config.get("Checksum").and_then(Value::as_str).context("no Checksum in /ws/v1/config")?.to_owned())
    }

    /// Waits until the scheduler runs exactly `text`.
    ///
    /// # Errors
    /// When it does not within `timeout`.
    pub async fn wait_for_text(&self, text: &str, timeout: Duration) -> Result<()> {
        self.wait_for_checksum(&checksum(text), timeout).await
    }

    /// Waits until the scheduler runs the text with this checksum.
    ///
    /// # Errors
    /// When it does not within `timeout`.
    pub async fn wait_for_checksum(&self, wanted: &str, timeout: Duration) -> Result<()> {
        eventually(&format!("the scheduler to run the configuration {wanted}"), timeout, || async {
            let active = self.config_checksum().await?;
            anyhow::ensure!(active == wanted, "it runs {active}");
            Ok(Some(()))
        })
        .await
    }

    /// Returns all live queues of partition `default`, parents first.
    ///
    /// # Errors
    /// When the scheduler does not answer.
    pub async fn queues(&self) -> Result<Vec<LiveQueue>> {
        let root = self.get("/ws/v1/partition/default/queues").await?;
        let mut queues = Vec::new();
        let mut waiting = vec![&root];
        while let Some(queue) = waiting.pop() {
            let text = |key| queue.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let flag = |key| queue.get(key).and_then(Value::as_bool).unwrap_or_default();
            queues.push(LiveQueue {
                path: text("queuename"),
                status: text("status"),
                managed: flag("isManaged"),
                leaf: flag("isLeaf"),
            });
            waiting.extend(queue.get("children").and_then(Value::as_array).into_iter().flatten());
        }
        Ok(queues)
    }

    /// Returns the applications refused so far, since the scheduler started.
    ///
    /// # Errors
    /// When the scheduler does not answer.
    pub async fn rejected_applications(&self) -> Result<Vec<RejectedApplication>> {
        Ok(serde_json::from_value(self.get("/ws/v1/partition/default/applications/rejected").await?)?)
    }

    /// Runs the validator that `YuniKorn`'s admission webhook uses: `Err` is its reason.
    ///
    /// # Errors
    /// The outer one when the scheduler does not answer.
    pub async fn validate_conf(&self, text: &str) -> Result<std::result::Result<(), String>> {
        #[derive(Deserialize)]
        struct Verdict {
            allowed: bool,
            #[serde(default)]
            reason: String,
        }
        let url = format!("{}/ws/v1/validate-conf", self.base);
        let response = self.http.post(&url).body(text.to_owned()).send().await?;
        let verdict: Verdict = response.error_for_status()?.json().await?;
        Ok(if verdict.allowed { Ok(()) } else { Err(verdict.reason) })
    }
}
