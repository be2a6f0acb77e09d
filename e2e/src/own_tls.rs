//! Runs the operator's endpoints with a certificate that queuewarden issues, and the process that maintains
//! it.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, PostParams};

use crate::endpoints::Endpoints;
use crate::operator::{NAMESPACE, Operator, replica_name};
use crate::process::Process;
use crate::session::Session;
use crate::test_cluster::TestCluster;
use crate::wait::{PATIENCE, eventually};
use crate::{assets, control_plane};

/// Name of the Secret.
pub const SECRET: &str = "queuewarden-tls";
/// Name of a `ValidatingWebhookConfiguration` that the operator may write its certificate to.
pub const WEBHOOK: &str = "queuewarden-configmaps";

/// Name of the `ServiceAccount` and the Deployment that maintain the certificate.
pub const KEEPER: &str = "queuewarden-certificates";
/// Its user name in the API server.
pub const KEEPER_USER: &str = "system:serviceaccount:queuewarden-system:queuewarden-certificates";

/// Name of the webhook configuration in `manifests/validating`.
pub const ASKED: &str = "queuewarden";

impl TestCluster {
    /// Installs the rights of the webhook server, empties its Secret and removes [`WEBHOOK`] and [`ASKED`].
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn install_https(&self) -> Result<()> {
        let secrets: Api<Secret> = Api::namespaced(self.client()?, NAMESPACE);
        if secrets.get_opt(SECRET).await?.is_some() {
            secrets.delete(SECRET, &DeleteParams::default()).await?;
        }
        let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(self.client()?);
        for name in [WEBHOOK, ASKED] {
            if webhooks.get_opt(name).await?.is_some() {
                webhooks.delete(name, &DeleteParams::default()).await?;
            }
        }
        self.apply_kustomization("examples/https").await?;
        let user = crate::operator::USER;
        eventually("the endpoints' rights", PATIENCE, || async {
            let shows = self.may(user, "get", "", "secrets", Some((NAMESPACE, SECRET))).await?;
            let keeps = self.may(KEEPER_USER, "update", "", "secrets", Some((NAMESPACE, SECRET))).await?;
            Ok((shows && keeps).then_some(()))
        })
        .await
    }

    /// Returns the content of the webhook server's Secret, as text; empty if it does not exist.
    ///
    /// # Errors
    /// When the API server does not answer, or the content is not text.
    pub async fn tls_secret(&self) -> Result<BTreeMap<String, String>> {
        let secrets: Api<Secret> = Api::namespaced(self.client()?, NAMESPACE);
        let data = secrets.get_opt(SECRET).await?.and_then(|secret| secret.data).unwrap_or_default();
        data.into_iter().map(|(key, bytes)| Ok((key, String::from_utf8(bytes.0)?))).collect()
    }

    /// Writes the content of the webhook server's Secret.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn set_tls_secret(&self, data: BTreeMap<String, k8s_openapi::ByteString>) -> Result<()> {
        let secrets: Api<Secret> = Api::namespaced(self.client()?, NAMESPACE);
        let found = secrets.get(SECRET).await?;
        secrets.replace(SECRET, &PostParams::default(), &Secret { data: Some(data), ..found }).await?;
        Ok(())
    }

    /// Starts `queuewarden certificates` under its own account, for a certificate of `127.0.0.1`. Dropping it
    /// kills it.
    ///
    /// # Errors
    /// When it does not build or start.
    pub async fn start_keeper(&self, args: &[&str], env: &[(&str, &str)]) -> Result<Process> {
        let program = tokio::task::spawn_blocking(assets::operator).await??;
        let kubeconfig = self.sa_kubeconfig(NAMESPACE, KEEPER).await?;
        let mut process =
            Process::new(&format!("keeper-of-{}", replica_name()), &program, Session::get()?.directory())
                .args(["certificates", "--tls-name", "127.0.0.1"])
                .args(args)
                .env("KUBECONFIG", kubeconfig)
                .env("POD_NAMESPACE", NAMESPACE);
        for (variable, value) in env {
            process = process.env(variable, value);
        }
        self.note_log(process.log_path());
        process.start()?;
        Ok(process)
    }
}

impl<'cluster> Operator<'cluster> {
    /// Starts one replica with a certificate that queuewarden issues, and the process that maintains it, and
    /// waits until it is ready. Call `install_https` first.
    ///
    /// # Errors
    /// As [`Operator::start_with`].
    pub async fn start_self_certified(
        cluster: &'cluster TestCluster,
        args: &[&str],
    ) -> Result<(Self, Endpoints)> {
        Self::start_certified(cluster, args, cluster.start_keeper(&[], &[]).await?).await
    }

    /// Does the same as [`Self::start_self_certified`], with a maintaining process that the test has started.
    ///
    /// # Errors
    /// As [`Operator::start_with`].
    pub async fn start_certified(
        cluster: &'cluster TestCluster,
        args: &[&str],
        keeper: impl Into<Option<Process>>,
    ) -> Result<(Self, Endpoints)> {
        let address = format!("127.0.0.1:{}", control_plane::free_port()?);
        let endpoints = crate::endpoints::served(args);
        let mut all = vec!["--https", &address];
        all.extend(args.iter().copied().chain(endpoints.as_deref()));
        let operator = Self::start_with(cluster, &all, &[]).await?.kept_by(keeper.into());
        let authority = cluster.tls_secret().await?.remove("ca.crt").context("there is no authority")?;
        Ok((operator, Endpoints { address, authority, mounted: None }))
    }
}
