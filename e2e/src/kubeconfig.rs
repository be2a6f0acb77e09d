//! Provides identities: kubeconfig files for processes and kube clients for tests.

use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use k8s_openapi::ByteString;
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::api::{Api, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt as _};
use serde_json::{Value, json};

use crate::test_cluster::TestCluster;

/// The address of the API server, and the credentials for it.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    /// The `cluster` entry of a kubeconfig file: address and certificate.
    pub(crate) cluster: Value,
    pub(crate) token: String,
}

impl Access {
    /// Writes a kubeconfig file that only its owner may read.
    pub(crate) fn write(&self, path: &Path) -> Result<PathBuf> {
        self.write_for(path, &json!({"token": self.token}))
    }

    /// Writes the same for the administrator under another name.
    pub(crate) fn write_as(&self, path: &Path, user: &str, groups: &[&str]) -> Result<PathBuf> {
        self.write_for(path, &json!({"token": self.token, "as": user, "as-groups": groups}))
    }

    /// Writes the same for a user with other credentials: the `user` entry of a kubeconfig.
    fn write_for(&self, path: &Path, user: &Value) -> Result<PathBuf> {
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "cluster", "cluster": self.cluster}],
            "users": [{"name": "user", "user": user}],
            "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": "user"}}],
            "current-context": "cluster",
        });
        // JSON is YAML.
        let mut file = fs::File::options().create(true).truncate(true).write(true).mode(0o600).open(path)?;
        serde_json::to_writer_pretty(&mut file, &config)?;
        Ok(path.to_owned())
    }
}

/// Loads the client configuration that a kubeconfig file describes.
///
/// # Errors
/// When the file is not readable as a kubeconfig.
pub async fn load(path: &Path) -> Result<Config> {
    let kubeconfig =
        Kubeconfig::read_from(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.connect_timeout = Some(Duration::from_secs(5));
    Ok(config)
}

/// Returns a client for `config`. It must be called in, and used by, a single Tokio runtime: a client's
/// connections end with the runtime that created it, and every `#[tokio::test]` has its own runtime.
pub(crate) fn client(config: &Config) -> Result<Client> {
    Ok(Client::try_from(config.clone())?)
}

/// Returns `config` with a different user to impersonate.
pub(crate) fn impersonating(config: &Config, user: &str, groups: &[&str]) -> Config {
    let mut config = config.clone();
    config.auth_info.impersonate = Some(user.to_owned());
    config.auth_info.impersonate_groups = Some(groups.iter().map(|&group| group.to_owned()).collect());
    config
}

impl TestCluster {
    /// Returns a client as cluster administrator. Create one per test: a client belongs to the Tokio runtime
    /// that created it.
    ///
    /// # Errors
    /// When the kubeconfig is unusable.
    pub fn client(&self) -> Result<Client> {
        client(&self.admin)
    }

    /// Returns a client that acts as `user` in `groups` (and `system:authenticated`).
    ///
    /// # Errors
    /// When the kubeconfig is unusable.
    pub fn as_user(&self, user: &str, groups: &[&str]) -> Result<Client> {
        let mut groups = groups.to_vec();
        groups.push("system:authenticated");
        client(&impersonating(&self.admin, user, &groups))
    }

    /// Returns the administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Writes a kubeconfig with a client certificate for a user in two organisations: `/CN=…/O=…/O=…`.
    ///
    /// # Errors
    /// When the API server is not ours.
    pub fn certified(&self, user: &str, organisations: [&str; 2]) -> Result<PathBuf> {
        let own = self.local()?.plane.people.member(user, organisations)?;
        let path = self.directory.join(format!("certified-{user}.kubeconfig"));
        let [certificate, key] = [own.certificate, own.key].map(|pem| ByteString(pem.into_bytes()));
        self.access.write_for(&path, &json!({"client-certificate-data": certificate, "client-key-data": key}))
    }

    /// Writes a kubeconfig with a fresh token of a `ServiceAccount`, valid for an hour. The account must
    /// exist.
    ///
    /// # Errors
    /// When the API server gives no token.
    pub async fn sa_kubeconfig(&self, namespace: &str, name: &str) -> Result<PathBuf> {
        let token = self.sa_token(namespace, name, None).await?;
        let path = self.directory.join(format!("{namespace}-{name}.kubeconfig"));
        Access { token, ..self.access.clone() }.write(&path)
    }

    /// Writes a kubeconfig with the token of a pod that runs as this `ServiceAccount`, as a kubelet mounts
    /// it.
    ///
    /// # Errors
    /// When the API server gives no token.
    pub async fn pod_kubeconfig(&self, namespace: &str, account: &str, pod: &Pod) -> Result<PathBuf> {
        let bound = BoundObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            name: pod.metadata.name.clone(),
            uid: pod.metadata.uid.clone(),
        };
        let token = self.sa_token(namespace, account, Some(bound)).await?;
        let path = self.directory.join(format!("{namespace}-{}.kubeconfig", pod.name_any()));
        Access { token, ..self.access.clone() }.write(&path)
    }

    /// Writes the same kubeconfig with another address of the API server, such as a proxy's:
    /// `http://127.0.0.1:PORT`.
    ///
    /// # Errors
    /// When the API server issues no token.
    pub(crate) async fn sa_kubeconfig_at(
        &self,
        server: &str,
        namespace: &str,
        name: &str,
    ) -> Result<PathBuf> {
        let token = self.sa_token(namespace, name, None).await?;
        let file =
            format!("{namespace}-{name}-at-{}.kubeconfig", server.rsplit(':').next().unwrap_or_default());
        Access { token, cluster: json!({"server": server}) }.write(&self.directory.join(file))
    }

    async fn sa_token(
        &self,
        namespace: &str,
        name: &str,
        bound: Option<BoundObjectReference>,
    ) -> Result<String> {
        // Kubelets request the tokens of pods, and the policy `queuewarden-own-names` allows no one else to
        // do so.
        let client = match bound {
            Some(_) => self.as_user("kubelet", &["system:nodes", "system:masters"])?,
            None => self.client()?,
        };
        let accounts: Api<ServiceAccount> = Api::namespaced(client, namespace);
        let request = TokenRequest {
            spec: TokenRequestSpec {
                bound_object_ref: bound,
                expiration_seconds: Some(3600),
                ..TokenRequestSpec::default()
            },
            ..TokenRequest::default()
        };
        let answer = accounts.create_token_request(name, &PostParams::default(), &request).await?;
        Ok(answer.status.context("the API server gave no token")?.token)
    }
}
