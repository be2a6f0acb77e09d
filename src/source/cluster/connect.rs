//! The cluster to read: its options, the kubeconfig, and its errors.

use std::path::PathBuf;
use std::{io, iter};

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};

use crate::output::{Failure, text};
use crate::source::input::source;
use go_compat::diag::quoted;
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

/// Returns the context of the kubeconfig that is used, and the name of its cluster; `None` without one, as in
/// a pod.
pub(crate) fn context(args: &ServerArgs) -> Option<(String, Option<String>)> {
    let kubeconfig = match &args.kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let kubeconfig = kubeconfig.ok()?;
    let context = args.context.clone().or(kubeconfig.current_context)?;
    let named = kubeconfig.contexts.into_iter().find(|named| named.name == context)?;
    Some((context, named.context.map(|context| context.cluster)))
}

pub(super) async fn config(args: &ServerArgs) -> Result<Config, Box<dyn std::error::Error>> {
    let options = KubeConfigOptions { context: args.context.clone(), ..KubeConfigOptions::default() };
    Ok(match (&args.kubeconfig, &args.context) {
        (Some(path), _) => Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &options).await?,
        (None, Some(_)) => Config::from_kubeconfig(&options).await?,
        (None, None) => Config::infer().await?,
    })
}

pub(super) fn no_cluster(error: &(dyn std::error::Error + 'static), args: &ServerArgs) -> Failure {
    let mut causes = iter::successors(Some(error), |error| error.source());
    let why = causes.find_map(|error| error.downcast_ref()).map(|error| wrong(error, args));
    let why = why.unwrap_or_else(|| cause(error));
    Failure::Undecided(format!("cannot connect to a cluster: {why}; use -f to read files"))
}

/// Describes the fault of a kubeconfig, without its content except names.
fn wrong(error: &KubeconfigError, args: &ServerArgs) -> String {
    let unread = |what: &str| format!("the kubeconfig's {what} cannot be read");
    match error {
        KubeconfigError::ReadConfig(error, path)
            if args.kubeconfig.is_some() || error.kind() != io::ErrorKind::NotFound =>
        {
            format!("cannot read {}: {}", text::shown(path), cause(error))
        }
        KubeconfigError::ReadConfig(..) | KubeconfigError::FindPath if args.context.is_some() => {
            "no kubeconfig: looked at $KUBECONFIG and ~/.kube/config".to_owned()
        }
        KubeconfigError::ReadConfig(..) | KubeconfigError::FindPath => {
            "no kubeconfig: looked at $KUBECONFIG, ~/.kube/config and the pod's account".to_owned()
        }
        KubeconfigError::Parse(_) => "the kubeconfig is not the YAML that kubectl writes".to_owned(),
        KubeconfigError::CurrentContextNotSet => {
            "the kubeconfig has no current context: use --context, or kubectl config use-context".to_owned()
        }
        KubeconfigError::LoadContext(name) => {
            format!("the kubeconfig has no context {}: kubectl config get-contexts lists them", quoted(name))
        }
        KubeconfigError::LoadClusterOfContext(name) => {
            format!("the kubeconfig has no cluster {}, which its context names", quoted(name))
        }
        KubeconfigError::MissingClusterUrl => "the kubeconfig's cluster has no server".to_owned(),
        KubeconfigError::ParseClusterUrl(_) => "the kubeconfig's server is not a URL".to_owned(),
        KubeconfigError::ParseProxyUrl(_) => "the kubeconfig's proxy-url is not a URL".to_owned(),
        KubeconfigError::LoadCertificateAuthority(_) | KubeconfigError::ParseCertificates(_) => {
            unread("certificate-authority")
        }
        KubeconfigError::LoadClientCertificate(_) => unread("client-certificate"),
        KubeconfigError::LoadClientKey(_) => unread("client-key"),
        _ => "the kubeconfig cannot be used".to_owned(),
    }
}

/// Returns the first cause of an error, which is the most precise, without the number of the operating
/// system.
pub(crate) fn cause(error: &dyn std::error::Error) -> String {
    let shown = iter::successors(error.source(), |error| error.source()).last();
    let shown = shown.map_or_else(|| error.to_string(), ToString::to_string);
    let words = shown.split_once(" (os error").map_or(shown.as_str(), |(words, _)| words);
    for (name, meaning) in [
        ("UnknownIssuer", "no trusted authority signed its certificate"),
        ("NotValidForName", "its certificate is for another name"),
        ("certificate expired", "its certificate has expired"),
    ] {
        if words.contains(name) {
            return meaning.to_owned();
        }
    }
    words.to_owned()
}
