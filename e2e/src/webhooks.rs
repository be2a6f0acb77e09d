//! Installs webhooks as `manifests/` ships them, with an address here instead of their Service.

use std::fmt::Debug;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
};
use kube::api::{Api, DeleteParams, ListParams};
use kube::{Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::endpoints::Endpoints;
use crate::fixtures::gone;
use crate::test_cluster::TestCluster;

/// A part of the names of queuewarden's own webhooks.
const OURS: &str = "queuewarden";

impl TestCluster {
    /// Applies a kustomization of `manifests/`; its webhooks call these endpoints. `change` is applied to
    /// each webhook configuration before.
    ///
    /// # Errors
    /// When the folder is no kustomization, has no webhook, or the API server refuses it.
    pub async fn install_webhooks(
        &self,
        folder: &str,
        endpoints: &Endpoints,
        change: impl Fn(&mut Value),
    ) -> Result<()> {
        let mut webhooks = 0;
        let mut items = self.kustomized(&format!("manifests/{folder}")).await?;
        for object in &mut items {
            if let Some(hooks) = object.get_mut("webhooks").and_then(Value::as_array_mut) {
                for webhook in hooks {
                    redirect(webhook, endpoints)?;
                    webhooks += 1;
                }
                change(object);
            }
        }
        ensure!(webhooks > 0, "there is no webhook in manifests/{folder}");
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        self.apply_text(&list.to_string(), "queuewarden-e2e").await
    }

    /// Makes the API server call these endpoints instead of the Service in an installed webhook
    /// configuration.
    ///
    /// # Errors
    /// When there is no configuration of this kind and name.
    pub async fn redirect_webhooks(&self, kind: &str, name: &str, endpoints: &Endpoints) -> Result<()> {
        let mut object: Value =
            serde_json::from_str(&self.kubectl(&["get", kind, name, "-o", "json"]).await?)?;
        for webhook in object.get_mut("webhooks").and_then(Value::as_array_mut).context("no webhooks")? {
            redirect(webhook, endpoints)?;
        }
        self.kubectl_with_input(&["replace", "-f", "-"], &object.to_string()).await.map(drop)
    }

    /// Removes queuewarden's webhooks, which only tests install.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn remove_webhooks(&self) -> Result<()> {
        remove(&Api::<MutatingWebhookConfiguration>::all(self.client()?)).await?;
        remove(&Api::<ValidatingWebhookConfiguration>::all(self.client()?)).await
    }

    /// Removes queuewarden's admission policies and their bindings, which tests may have changed.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn remove_admission_policies(&self) -> Result<()> {
        remove(&Api::<ValidatingAdmissionPolicyBinding>::all(self.client()?)).await?;
        remove(&Api::<ValidatingAdmissionPolicy>::all(self.client()?)).await
    }
}

async fn remove<K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug>(
    api: &Api<K>,
) -> Result<()> {
    for object in api.list(&ListParams::default()).await? {
        if object.name_any().contains(OURS) {
            gone(api.delete(&object.name_any(), &DeleteParams::default()).await.map(drop))?;
        }
    }
    Ok(())
}

/// Replaces a Service by an address.
fn redirect(webhook: &mut Value, endpoints: &Endpoints) -> Result<()> {
    let client = webhook.get_mut("clientConfig").context("the webhook has no clientConfig")?;
    let path = client.pointer("/service/path").and_then(Value::as_str).context("the webhook has no path")?;
    let authority = ByteString(endpoints.authority.clone().into_bytes());
    *client = json!({"url": endpoints.url(path), "caBundle": authority});
    Ok(())
}
