//! Flags of `run` for the HTTPS endpoints.

use std::net::SocketAddr;
use std::path::PathBuf;

use queuewarden_operator::controller::applications::Mode;
use queuewarden_operator::server::Endpoint;
use queuewarden_operator::server::certificates::files::Pair;
use queuewarden_operator::server::open::{Https, Source};

/// The use of the pods that YuniKorn schedules.
#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum Applications {
    #[default]
    Off,
    On,
    Pods,
}

impl From<Applications> for Mode {
    fn from(applications: Applications) -> Self {
        match applications {
            Applications::Off => Self::Off,
            Applications::On => Self::On,
            Applications::Pods => Self::Pods,
        }
    }
}

/// Flags for the HTTPS endpoints.
#[derive(Debug, clap::Args)]
pub(super) struct HttpsArgs {
    /// Serve the webhooks and the aggregated API at this address, such as 0.0.0.0:8443
    #[arg(long, value_name = "ADDRESS")]
    https: Option<SocketAddr>,
    /// Serve this certificate, in PEM with its issuers, instead of queuewarden's own; read again when it
    /// changes
    #[arg(long, value_name = "FILE", requires_all = ["https", "tls_private_key_file"])]
    tls_cert_file: Option<PathBuf>,
    /// Private key of that certificate, in PEM
    #[arg(long, value_name = "FILE", requires_all = ["https", "tls_cert_file"])]
    tls_private_key_file: Option<PathBuf>,
    /// Secret of queuewarden's own certificate, which queuewarden certificates renews
    #[arg(long, value_name = "NAME", default_value = "queuewarden-tls", conflicts_with = "tls_cert_file")]
    tls_secret: String,
    /// Accept client certificates signed by these authorities, in PEM; read again when the file changes
    #[arg(long, value_name = "FILE", requires = "https")]
    client_ca_file: Option<PathBuf>,
    /// Let webhooks answer only clients whose certificate has this name; the API server needs one
    /// (--admission-control-config-file); may be repeated
    #[arg(long, value_name = "NAME", requires = "client_ca_file")]
    webhook_client: Vec<String>,
    /// Serve only these endpoints: access, authorize, configmaps, submission, user-info, validate
    #[arg(long, value_name = "NAME", requires = "https", value_delimiter = ',', value_parser = endpoint, default_values = names())]
    endpoints: Vec<Endpoint>,
    /// Watch the pods that YuniKorn schedules, to answer questions about applications and to decide which of
    /// them a new pod may name; with pods, also to decide who may read the logs of those pods, or delete them
    #[arg(long, value_enum, default_value_t, value_name = "MODE", requires = "https")]
    applications: Applications,
    /// Accept only tokens for this audience, instead of those for the API server; may be repeated
    #[arg(long, value_name = "NAME", requires = "https")]
    token_audience: Vec<String>,
}

impl HttpsArgs {
    /// Returns the settings; `None` if there are no HTTPS endpoints.
    pub(super) fn https(&self, namespace: Option<&str>) -> Option<Https> {
        let listen = self.https?;
        let pair = self.tls_cert_file.clone().zip(self.tls_private_key_file.clone());
        let certificate = match pair {
            Some((certificate, key)) => Source::Mounted(Pair { certificate, key }),
            None => Source::Own { namespace: namespace.map(str::to_owned), secret: self.tls_secret.clone() },
        };
        Some(Https {
            listen,
            certificate,
            client_authorities: self.client_ca_file.clone(),
            webhook_clients: self.webhook_client.clone(),
            endpoints: self.endpoints.clone(),
            applications: self.applications.into(),
            audiences: self.token_audience.clone(),
        })
    }
}

/// Returns the names of all endpoints.
fn names() -> Vec<&'static str> {
    Endpoint::ALL.iter().map(|endpoint| endpoint.name).collect()
}

fn endpoint(text: &str) -> Result<Endpoint, String> {
    let endpoint = Endpoint::ALL.iter().find(|endpoint| endpoint.name == text).copied();
    endpoint.ok_or_else(|| format!("it must be one of {}", names().join(", ")))
}
