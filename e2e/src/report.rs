//! The report that the operator shows, as a browser comes to it through `kubectl port-forward`: at an address of this machine.

use std::time::Duration;

use anyhow::{Context as _, Result};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response};
use serde_json::Value;

use crate::bed::Bed;
use crate::control_plane;
use crate::operator::{NAMESPACE, Operator, USER};
use crate::wait::{PATIENCE, eventually};

/// The service account that may see the report and nothing else.
pub const READER: &str = "queuewarden-report";

/// Where the report of one operator is.
#[derive(Debug, Clone)]
pub struct Report {
    address: String,
    client: Client,
}

impl Report {
    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A GET, not sent yet. Redirects are not followed.
    pub fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(self.url(path))
    }

    /// Types a token into the form.
    ///
    /// # Errors
    /// When nobody answers.
    pub async fn sign_in(&self, token: &str) -> Result<Response> {
        let request = self.client.post(self.url("/sign-in")).header("origin", self.url(""));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        Ok(request.body(format!("token={token}")).send().await?)
    }

    /// The data, for who shows a token.
    ///
    /// # Errors
    /// When there is no JSON.
    pub async fn data(&self, token: &str) -> Result<Value> {
        Ok(self.get("/report.json").bearer_auth(token).send().await?.error_for_status()?.json().await?)
    }
}

impl Bed {
    /// Installs what the report needs, as it is shipped.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn install_report(&self) -> Result<()> {
        self.apply_kustomization("examples/report").await?;
        eventually("the report's rights", PATIENCE, || async {
            let tokens = self.may(USER, "create", "authentication.k8s.io", "tokenreviews", None).await?;
            let access =
                self.may(USER, "create", "authorization.k8s.io", "subjectaccessreviews", None).await?;
            Ok((tokens && access).then_some(()))
        })
        .await
    }

    /// A new token of a service account of queuewarden's namespace.
    ///
    /// # Errors
    /// When there is no such account.
    pub async fn token(&self, account: &str) -> Result<String> {
        let token = self.kubectl(&["create", "token", account, "-n", NAMESPACE]).await?;
        Ok(token.trim().to_owned())
    }
}

impl<'bed> Operator<'bed> {
    /// Starts one replica that shows the report, and waits until it is ready.
    ///
    /// # Errors
    /// As [`Operator::start_with`].
    pub async fn start_showing(bed: &'bed Bed) -> Result<(Self, Report)> {
        let address = format!("127.0.0.1:{}", control_plane::free_port()?);
        let operator = Self::start_with(bed, &["--report", &address], &[]).await?;
        let client = Client::builder().no_proxy().redirect(Policy::none()).timeout(Duration::from_secs(10));
        let client = client.build().context("no HTTP client")?;
        Ok((operator, Report { address, client }))
    }
}
