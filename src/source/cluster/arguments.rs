//! Options for the cluster that is read.

use std::path::PathBuf;

use crate::output::Failure;
use crate::source::input::source;
use queuewarden_plan::snapshot::{ConfigSpec, SchedulerAddress};

/// Heading of the options that need a cluster.
const CLUSTER: &str = "Cluster";

/// Options for the API server to connect to.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ServerArgs {
    /// The kubeconfig file, instead of $KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE", help_heading = CLUSTER)]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME", help_heading = CLUSTER)]
    pub context: Option<String>,
}

/// Options for the cluster to read, if no file is given.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ClusterArgs {
    /// The API server.
    #[command(flatten)]
    pub server: ServerArgs,
    /// YuniKorn's namespace, in a cluster or in files, instead of the YuniKornConfig's or the ConfigMaps', or
    /// "yunikorn"
    #[arg(long, value_name = "NAME")]
    pub cluster_namespace: Option<String>,
    /// Read the configuration from the scheduler instead of its ConfigMaps
    #[arg(long, conflicts_with = "filename", help_heading = CLUSTER)]
    pub live: bool,
    /// URL of the scheduler's REST service, instead of the YuniKornConfig's schedulerUrl, or the API server's
    /// proxy
    #[arg(long, value_name = "URL", requires = "live", help_heading = CLUSTER)]
    pub scheduler_url: Option<String>,
    /// The login at that URL.
    #[command(flatten)]
    pub login: SchedulerLogin,
}

/// Options for a scheduler behind TLS.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SchedulerLogin {
    /// PEM file with the authorities trusted for an https --scheduler-url, instead of the YuniKornConfig's
    /// schedulerCaBundle
    #[arg(long, value_name = "FILE", requires = "scheduler_url", help_heading = CLUSTER)]
    scheduler_ca: Option<PathBuf>,
    /// Secret in YuniKorn's namespace with the credentials for an https --scheduler-url, instead of the
    /// YuniKornConfig's schedulerSecret
    #[arg(long, value_name = "NAME", requires = "scheduler_url", help_heading = CLUSTER)]
    scheduler_secret: Option<String>,
}

impl SchedulerLogin {
    /// Returns the address of the scheduler at a URL that was given.
    ///
    /// # Errors
    /// When the file of the authorities cannot be read.
    pub fn address(&self, url: Option<&str>, spec: &ConfigSpec) -> Result<Option<SchedulerAddress>, Failure> {
        let Some(url) = url else { return Ok(None) };
        let of_spec = spec.scheduler.as_ref().filter(|_| url.starts_with("https:"));
        let given = self.scheduler_ca.as_deref().map(source::read_one).transpose()?;
        let secret = self.scheduler_secret.as_ref().map(|name| (spec.namespace.clone(), name.clone()));
        Ok(Some(SchedulerAddress {
            url: url.to_owned(),
            ca_bundle: given.map(|file| file.text.into_bytes()).or_else(|| of_spec?.ca_bundle.clone()),
            secret: secret.or_else(|| of_spec?.secret.clone()),
        }))
    }
}
