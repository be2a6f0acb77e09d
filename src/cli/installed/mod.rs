//! Reads the state of an installation for `status` and `check`. It writes nothing, and every
//! request has a timeout.
//!
//! * [`objects`]: the objects of ours with their conditions.
//! * [`operator`]: the Deployment, and the Lease that names the leader.
//! * [`scheduler`]: the text of the ConfigMaps, and the configuration that the scheduler runs.

pub mod objects;
pub mod operator;
pub mod scheduler;

use super::Failure;
use super::query::cluster::Cluster;
use super::query::{Notes, SchedulerLogin, ServerArgs};
use queuewarden_plan::snapshot::{ConfigSpec, SchedulerAddress};

/// Default namespace of queuewarden.
pub const NAMESPACE: &str = "queuewarden-system";
/// The name of its Deployment, `ServiceAccount` and Lease.
pub const NAME: &str = "queuewarden";

/// Options for the installation to read.
#[derive(Debug, Clone, clap::Args)]
pub struct ReachArgs {
    /// The API server.
    #[command(flatten)]
    server: ServerArgs,
    /// Namespace that queuewarden runs in
    #[arg(short, long, value_name = "NAME", default_value = NAMESPACE)]
    pub namespace: String,
    /// YuniKorn's namespace, instead of the one in the YuniKornConfig, or "yunikorn"
    #[arg(long, value_name = "NAME")]
    cluster_namespace: Option<String>,
    /// URL of the scheduler's REST service, instead of the YuniKornConfig's schedulerUrl, or the API server's
    /// proxy
    #[arg(long, value_name = "URL")]
    scheduler_url: Option<String>,
    /// The login at that URL.
    #[command(flatten)]
    login: SchedulerLogin,
}

/// A connection to an installation.
#[derive(Debug)]
pub struct Installed {
    /// The cluster.
    pub cluster: Cluster,
    /// The settings of its `YuniKornConfig`, or the defaults if there is none.
    pub spec: ConfigSpec,
    /// Notes about the settings.
    pub notes: Notes,
}

impl ReachArgs {
    /// Connects to the cluster, and reads its `YuniKornConfig`.
    ///
    /// # Errors
    /// When the cluster cannot be reached, or does not answer.
    pub fn open(&self) -> Result<Installed, Failure> {
        let cluster = Cluster::connect(&self.server)?;
        let mut notes = Notes::default();
        let namespace = self.cluster_namespace.as_deref();
        let spec = cluster.run(async |_| cluster.spec(namespace, &mut notes).await)?;
        Ok(Installed { cluster, spec, notes })
    }

    /// Returns the address of the scheduler that the options name.
    ///
    /// # Errors
    /// When a file of it cannot be read.
    pub fn scheduler(&self, spec: &ConfigSpec) -> Result<Option<SchedulerAddress>, Failure> {
        self.login.address(self.scheduler_url.as_deref(), spec)
    }
}
