//! The process of `queuewarden certificates`, which issues and renews the certificate of the HTTPS endpoints.

use std::net::IpAddr;

use jiff::SignedDuration;
use rustls::pki_types::ServerName;

use super::{ProcessError, config, connect, terminated};
use crate::server::certificates::keeper::Keeper;
use crate::server::certificates::material::Terms;
use crate::telemetry::LogFormat;

/// The Service of `manifests/`.
const SERVICE: &str = "queuewarden";
/// Shortest lifetime of a certificate; a shorter one would be renewed all the time.
const SHORTEST: SignedDuration = SignedDuration::from_secs(6);
/// Number of certificate lifetimes that an authority must outlive, so that there is time to publish the next
/// one.
const OUTLIVES: i32 = 3;
/// Longest lifetime, within the limits of X.509 and of calendars.
const LONGEST: SignedDuration = SignedDuration::from_hours(100 * 365 * 24);

/// The options of the process: the flags of `queuewarden certificates`.
#[derive(Debug, clap::Args)]
pub struct CertificatesOptions {
    /// Namespace of the Secret and the Service, instead of the kubeconfig's or the pod's
    #[arg(long, value_name = "NAMESPACE", env = "POD_NAMESPACE")]
    namespace: Option<String>,
    /// The Secret of the certificate and its authorities
    #[arg(long, value_name = "NAME", default_value = "queuewarden-tls")]
    tls_secret: String,
    /// Additional name or address for the certificate, besides those of the Service; may be repeated
    #[arg(long, value_name = "NAME", value_parser = name)]
    tls_name: Vec<String>,
    /// Lifetime of a certificate; it is renewed when a third of that is left
    #[arg(long, value_name = "DURATION", default_value = "168h")]
    tls_certificate_lifetime: SignedDuration,
    /// Lifetime of an authority; the next one is published when a third of that is left
    #[arg(long, value_name = "DURATION", default_value = "17520h")]
    tls_authority_lifetime: SignedDuration,
    /// Format of log lines
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(super) log_format: LogFormat,
    /// Log filter: error, warn, info, debug or trace, also by module, as in info,queuewarden=debug
    #[arg(long, value_name = "FILTER", env = "RUST_LOG", default_value = "info")]
    pub(super) log_level: String,
}

/// Issues and renews the certificate until the process receives a signal to end.
pub(super) async fn keep(options: &CertificatesOptions) -> Result<(), ProcessError> {
    let client = connect(config().await?)?;
    let stop = terminated().map_err(ProcessError::Signal)?;
    let namespace = options.namespace.as_deref().unwrap_or(client.default_namespace());
    let names = service_names(namespace).into_iter().chain(options.tls_name.iter().cloned()).collect();
    let terms = Terms {
        authority: options.tls_authority_lifetime,
        certificate: options.tls_certificate_lifetime,
        names,
    };
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(version, namespace, secret = options.tls_secret, "Starting");
    let keeper = Keeper::new(&client, (namespace, &options.tls_secret), terms);
    tokio::select! {
        () = keeper.run() => {}
        () = stop => {}
    }
    tracing::info!("Stopped");
    Ok(())
}

/// Returns the names of the Service of `manifests/` inside a cluster; the API server requires the first.
fn service_names(namespace: &str) -> [String; 2] {
    let name = format!("{SERVICE}.{namespace}.svc");
    [name.clone(), format!("{name}.cluster.local")]
}

impl CertificatesOptions {
    pub(super) fn check(&self) -> Result<(), ProcessError> {
        let (certificate, authority) = (self.tls_certificate_lifetime, self.tls_authority_lifetime);
        if certificate < SHORTEST || certificate > LONGEST {
            return Err(ProcessError::Usage(format!(
                "--tls-certificate-lifetime {certificate:#}: at least {SHORTEST:#}, and at most 100 years"
            )));
        }
        if authority > LONGEST || authority / OUTLIVES < certificate {
            return Err(ProcessError::Usage(format!(
                "--tls-authority-lifetime {authority:#}: at least {OUTLIVES} times as long as that of \
                certificates, {certificate:#}, \
                 and at most 100 years"
            )));
        }
        Ok(())
    }
}

/// Parses a name in the form it has in a certificate.
fn name(text: &str) -> Result<String, String> {
    match ServerName::try_from(text) {
        Ok(ServerName::DnsName(name)) => Ok(name.as_ref().to_lowercase()),
        Ok(ServerName::IpAddress(address)) => Ok(IpAddr::from(address).to_string()),
        _ => Err("neither a DNS name nor an IP address".to_owned()),
    }
}
