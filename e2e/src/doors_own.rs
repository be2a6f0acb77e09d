//! The operator's doors with a certificate of its own.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, PostParams};

use crate::bed::Bed;
use crate::control_plane;
use crate::doors::Doors;
use crate::operator::{NAMESPACE, Operator};
use crate::wait::{PATIENCE, eventually};

/// Name of the Secret.
pub const SECRET: &str = "queuewarden-doors";
/// Name of a `ValidatingWebhookConfiguration` that the operator may tell of its certificate.
pub const WEBHOOK: &str = "queuewarden-guard";

/// Name of the one of `manifests/validating`.
pub const ASKED: &str = "queuewarden";

impl Bed {
    /// Installs the doors' rights, empties their Secret and removes [`WEBHOOK`] and [`ASKED`].
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn install_doors(&self) -> Result<()> {
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
        self.apply_kustomization("examples/doors").await?;
        let user = crate::operator::USER;
        eventually("the doors' rights", PATIENCE, || async {
            let secret = self.may(user, "update", "", "secrets", Some((NAMESPACE, SECRET))).await?;
            let reviews = self.may(user, "create", "authentication.k8s.io", "tokenreviews", None).await?;
            Ok((secret && reviews).then_some(()))
        })
        .await
    }

    /// What is in the doors' Secret, as text; nothing where there is none.
    ///
    /// # Errors
    /// When the API server does not answer, or there is no text in it.
    pub async fn doors_secret(&self) -> Result<BTreeMap<String, String>> {
        let secrets: Api<Secret> = Api::namespaced(self.client()?, NAMESPACE);
        let data = secrets.get_opt(SECRET).await?.and_then(|secret| secret.data).unwrap_or_default();
        data.into_iter().map(|(key, bytes)| Ok((key, String::from_utf8(bytes.0)?))).collect()
    }

    /// Writes it.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn set_doors_secret(&self, data: BTreeMap<String, k8s_openapi::ByteString>) -> Result<()> {
        let secrets: Api<Secret> = Api::namespaced(self.client()?, NAMESPACE);
        let found = secrets.get(SECRET).await?;
        secrets.replace(SECRET, &PostParams::default(), &Secret { data: Some(data), ..found }).await?;
        Ok(())
    }
}

impl<'bed> Operator<'bed> {
    /// Starts one replica whose doors are open with a certificate of its own, and waits until it is ready. `install_doors` comes first.
    ///
    /// # Errors
    /// As [`Operator::start_with`].
    pub async fn start_self_certified(bed: &'bed Bed, args: &[&str]) -> Result<(Self, Doors)> {
        let address = format!("127.0.0.1:{}", control_plane::free_port()?);
        let mut all = vec!["--https", &address, "--tls-name", "127.0.0.1"];
        all.extend(args);
        let operator = Self::start_with(bed, &all, &[]).await?;
        let authority = bed.doors_secret().await?.remove("ca.crt").context("there is no authority")?;
        Ok((operator, Doors { address, authority, mounted: None }))
    }
}
