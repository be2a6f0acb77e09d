//! Tests a scheduler behind a proxy with TLS and a login.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DeleteParams, PostParams};
use queuewarden_e2e::conditions::{Expected, is_true};
use queuewarden_e2e::front_proxy::{Authority, Client};
use queuewarden_e2e::tls_proxy::TlsProxy;
use queuewarden_e2e::wait::{PATIENCE, eventually};
use queuewarden_e2e::{Capability, Operator, TestCluster, operator};
use serde_json::Value;

use super::{apply, config_is};
use crate::cli::ask;

/// The namespace of the scheduler, and the Secret that `manifests/scheduler-secret` lets queuewarden read.
const NAMESPACE: &str = "yunikorn";
const SECRET: &str = "queuewarden-scheduler";
/// A year when certificates are valid, and a year when they have expired.
const VALID: i32 = 2099;
const OVER: i32 = 2019;

/// Returns the status of `Loaded` that goes with a reason.
pub(super) fn status(reason: &str) -> &'static str {
    if reason == "Loaded" { "True" } else { "Unknown" }
}

/// A scheduler behind TLS, as configured in the `YuniKornConfig`.
pub(super) struct BehindTls<'cluster> {
    cluster: &'cluster TestCluster,
    authority: Authority,
    identity: Client,
    proxy: TlsProxy,
    secrets: Api<Secret>,
}

impl<'cluster> BehindTls<'cluster> {
    /// Starts the proxy, and configures it with its authority and a Secret that does not exist yet.
    pub(super) async fn start(cluster: &'cluster TestCluster) -> Result<Self> {
        let authority = Authority::new()?;
        let identity = authority.server(VALID)?;
        let proxy = TlsProxy::start(cluster, &identity).await?;
        cluster.apply_kustomization("manifests/scheduler-secret").await?;
        eventually("the right to read the Secret", PATIENCE, || async {
            let may = cluster.may(operator::USER, "get", "", "secrets", Some((NAMESPACE, SECRET))).await?;
            Ok(may.then_some(()))
        })
        .await?;
        let secrets = Api::namespaced(cluster.client()?, NAMESPACE);
        let behind = Self { cluster, authority, identity, proxy, secrets };
        behind.no_secret().await?;
        behind.configure(true).await?;
        Ok(behind)
    }

    async fn configure(&self, bundle: bool) -> Result<()> {
        let bundle = serde_json::to_string(&bundle.then(|| ByteString(self.authority.pem().into_bytes())))?;
        apply(
            self.cluster,
            &format!(
                "apiVersion: queuewarden.dev/v1alpha1\nkind: YuniKornConfig\nmetadata: {{name: default}}\nspec:\n  schedulerUrl: {}\n  schedulerSecret: {SECRET}\n  schedulerCaBundle: {bundle}\n",
                self.proxy.url()
            ),
        )
        .await
    }

    async fn secret(&self, values: &[(&str, &str)]) -> Result<()> {
        let data =
            values.iter().map(|(key, value)| ((*key).to_owned(), ByteString(value.as_bytes().to_vec())));
        let name = Some(SECRET.to_owned());
        let metadata = ObjectMeta { name, ..ObjectMeta::default() };
        let secret = Secret { data: Some(data.collect::<BTreeMap<_, _>>()), metadata, ..Secret::default() };
        self.no_secret().await?;
        self.secrets.create(&PostParams::default(), &secret).await?;
        Ok(())
    }

    async fn no_secret(&self) -> Result<()> {
        if self.secrets.get_opt(SECRET).await?.is_some() {
            self.secrets.delete(SECRET, &DeleteParams::default()).await?;
        }
        Ok(())
    }

    /// Causes each fault and rotates the token, and returns to a scheduler that is loaded. `sees` waits for a
    /// reason of `Loaded`.
    pub(super) async fn each_fault(&self, mut sees: impl AsyncFnMut(&str) -> Result<()>) -> Result<()> {
        sees("SchedulerSecretInvalid").await?;
        self.secret(&[("token", "first\n")]).await?;
        self.proxy.let_through(Some("Bearer first"));
        sees("Loaded").await?;
        self.proxy.let_through(Some("Bearer second"));
        sees("SchedulerUnauthorized").await?;
        self.secret(&[("token", "second")]).await?;
        sees("Loaded").await?;
        self.proxy.forbid(true);
        sees("SchedulerForbidden").await?;
        self.proxy.forbid(false);
        self.proxy.show(&self.authority.server(OVER)?, None)?;
        sees("SchedulerCertificateExpired").await?;
        self.proxy.show(&Authority::new()?.server(VALID)?, None)?;
        sees("SchedulerCertificateInvalid").await?;
        self.proxy.show(&self.identity, None)?;
        sees("Loaded").await
    }
}

#[tokio::test]
async fn a_scheduler_behind_tls_is_read_with_each_kind_of_credentials() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        cluster.install().await?;
        let behind = BehindTls::start(cluster).await?;
        let _operator = Operator::start(cluster).await?;
        let loaded = async |reason: &str| {
            let expected = Expected { r#type: "Loaded", status: status(reason), reason: Some(reason) };
            config_is(cluster, expected, PATIENCE).await.map(drop)
        };

        // dXNlcjpwYXNz is user:pass.
        behind.proxy.let_through(Some("Basic dXNlcjpwYXNz"));
        behind.secret(&[("username", "user")]).await?;
        loaded("SchedulerSecretInvalid").await?;
        behind.secret(&[("username", "user"), ("password", "pass")]).await?;
        loaded("Loaded").await?;

        behind.proxy.let_through(Some("Bearer token"));
        loaded("SchedulerUnauthorized").await?;
        behind.secret(&[("token", "token\n")]).await?;
        loaded("Loaded").await?;

        behind.proxy.let_through(None);
        let clients = Authority::new()?;
        behind.proxy.show(&behind.identity, Some(&clients))?;
        loaded("SchedulerUnauthorized").await?;
        // cert-manager stores the authority in the same Secret as a client certificate.
        let client = clients.client("queuewarden")?;
        let authority = behind.authority.pem();
        let values = [
            ("tls.crt", client.certificate.as_str()),
            ("tls.key", client.key.as_str()),
            ("ca.crt", authority.as_str()),
        ];
        behind.secret(&values).await?;
        loaded("Loaded").await?;
        behind.configure(false).await?;
        config_is(cluster, is_true("Ready"), PATIENCE).await?;

        // The commands log in with the same Secret.
        let kubeconfig = cluster.kubeconfig();
        let url = behind.proxy.url();
        for options in [String::new(), format!(" --scheduler-url {url} --scheduler-secret {SECRET}")] {
            let state = ask(kubeconfig, &format!("status -o json{options}")).await?;
            let state: Value = serde_json::from_str(&state.out).with_context(|| state.to_string())?;
            ensure!(state["scheduler"]["source"] == url, "{state}");
        }
        Ok(())
    })
    .await
}
