//! An installation as it stands: what `status`, `check` and `collect` look at. It is only read, and every request is limited in time.
//!
//! * [`objects`]: the objects of ours, by what their conditions say.
//! * [`operator`]: the Deployment, and the Lease that says which replica writes.
//! * [`scheduler`]: what the ConfigMaps hold, and what the scheduler says that it runs.

pub mod objects;
pub mod operator;
pub mod scheduler;

use std::path::PathBuf;

use super::Failure;
use super::ask::cluster::Cluster;
use super::ask::{ClusterArgs, Notes};
use queuewarden_plan::snapshot::ConfigSpec;

/// Where queuewarden is installed, unless said otherwise.
pub const NAMESPACE: &str = "queuewarden-system";
/// The name of its Deployment, `ServiceAccount` and Lease.
pub const NAME: &str = "queuewarden";

/// Which installation is looked at.
#[derive(Debug, Clone, clap::Args)]
pub struct ReachArgs {
    /// The kubeconfig file, instead of $KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The namespace that queuewarden runs in
    #[arg(short, long, value_name = "NAME", default_value = NAMESPACE)]
    pub namespace: String,
    /// YuniKorn's namespace, instead of the one in the YuniKornConfig, or "yunikorn"
    #[arg(long, value_name = "NAME")]
    cluster_namespace: Option<String>,
    /// The scheduler's REST service, instead of the YuniKornConfig's schedulerUrl, or the API server's way to it
    #[arg(long, value_name = "URL")]
    pub scheduler_url: Option<String>,
}

/// A way to an installation.
#[derive(Debug)]
pub struct Installed {
    /// The cluster.
    pub cluster: Cluster,
    /// The settings of its `YuniKornConfig`, or the defaults where there is none.
    pub spec: ConfigSpec,
    /// What should be known about them.
    pub notes: Notes,
}

impl ReachArgs {
    /// Finds the cluster, and what its `YuniKornConfig` says.
    ///
    /// # Errors
    /// When there is no way to a cluster, or it does not answer.
    pub fn open(&self) -> Result<Installed, Failure> {
        let args = self.cluster();
        let cluster = Cluster::connect(&args)?;
        let mut notes = Notes::default();
        let spec = cluster.run(async |_| cluster.spec(&args, &mut notes).await)?;
        Ok(Installed { cluster, spec, notes })
    }

    fn cluster(&self) -> ClusterArgs {
        ClusterArgs {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            cluster_namespace: self.cluster_namespace.clone(),
            live: false,
            scheduler_url: None,
        }
    }
}
