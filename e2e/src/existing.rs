//! Uses an existing cluster: `QUEUEWARDEN_E2E=existing`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::config::Kubeconfig;
use kube::{Api, Config};

use crate::kubeconfig::{self, Access};
use crate::operator;
use crate::process::Process;
use crate::session::Session;
use crate::wait::PATIENCE;
use crate::yunikorn::{self, Rest};

/// The scheduler's REST interface, if it can be reached without a port forward.
pub(crate) const URL: &str = "QUEUEWARDEN_E2E_YUNIKORN_URL";

#[derive(Debug)]
pub(crate) struct Existing {
    pub(crate) admin: Config,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) access: Access,
    pub(crate) rest: String,
    pub(crate) admission_controller: bool,
    /// True if the operator runs as the shipped Deployment.
    pub(crate) operator: bool,
    /// The content of `yunikorn-defaults`, without `queues.yaml`, when the tests began.
    pub(crate) defaults: BTreeMap<String, String>,
    _port_forward: Option<Process>,
}

impl Existing {
    pub(crate) async fn connect() -> Result<Self> {
        let kubeconfig =
            PathBuf::from(std::env::var_os("KUBECONFIG").context("existing: KUBECONFIG is not set")?);
        let admin = kubeconfig::load(&kubeconfig).await?;
        let client = kubeconfig::client(&admin)?;
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), yunikorn::NAMESPACE);
        let defaults = maps.get_opt(yunikorn::DEFAULTS).await?.and_then(|map| map.data).unwrap_or_default();
        let deployments: Api<Deployment> = Api::namespaced(client.clone(), operator::NAMESPACE);
        let operator = deployments.get_opt(operator::NAME).await?.is_some();
        let hooks: Api<ValidatingWebhookConfiguration> = Api::all(client);
        let hook = yunikorn::ADMISSION_WEBHOOKS.first().map_or("", |(_, name)| name);
        let admission_controller = hooks.get_opt(hook).await?.is_some();
        let (rest, port_forward) = if let Ok(url) = std::env::var(URL) {
            (url, None)
        } else {
            let (url, process) = port_forward().await?;
            (url, Some(process))
        };
        Ok(Self {
            access: access(&kubeconfig)?,
            admin,
            kubeconfig,
            rest,
            admission_controller,
            operator,
            defaults: defaults.into_iter().filter(|(key, _)| key != "queues.yaml").collect(),
            _port_forward: port_forward,
        })
    }
}

/// Forwards a port to the scheduler, and to a new pod when the old one is gone.
async fn port_forward() -> Result<(String, Process)> {
    let port = crate::control_plane::free_port()?;
    let directory = Session::get()?.directory();
    let forward =
        "while :; do kubectl port-forward -n \"$0\" service/yunikorn-service \"$1:9080\"; sleep 0.2; done";
    let process = Process::new("port-forward", "/bin/sh".as_ref(), directory)
        .args(["-c", forward, yunikorn::NAMESPACE])
        .args([port.to_string()]);
    process.start()?;
    let url = format!("http://127.0.0.1:{port}");
    let rest = Rest::new(&url)?;
    process
        .until("the scheduler behind the port forward", PATIENCE, || async {
            rest.config_checksum().await.map(Some)
        })
        .await?;
    Ok((url, process))
}

/// Returns the cluster of the kubeconfig's current context, for use with another token.
fn access(path: &std::path::Path) -> Result<Access> {
    let config = Kubeconfig::read_from(path)?;
    let current = config.current_context.as_deref().context("the kubeconfig has no current context")?;
    let context = config.contexts.iter().find(|named| named.name == current);
    let context = context.and_then(|named| named.context.as_ref());
    let name = &context.context("the kubeconfig's current context does not exist")?.cluster;
    let cluster = config.clusters.iter().find(|named| &named.name == name);
    let cluster = cluster.and_then(|named| named.cluster.as_ref());
    let cluster = serde_json::to_value(cluster.context("the kubeconfig's current cluster does not exist")?)?;
    Ok(Access { cluster, token: String::new() })
}
