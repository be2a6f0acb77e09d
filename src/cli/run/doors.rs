//! The flags of `run` that open the doors.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use jiff::SignedDuration;
use rustls::pki_types::ServerName;

use crate::operator::applications::Mode;
use crate::server::Endpoint;
use crate::server::certificates::files::Pair;
use crate::server::open::{Https, Source};

/// A certificate that is valid for less is always being renewed.
const SHORTEST: SignedDuration = SignedDuration::from_secs(6);
/// An authority outlives so many certificates, or there is no time to make the next one known.
const OUTLIVES: i32 = 3;
/// No longer than X.509 can say, and calendars hold.
const LONGEST: SignedDuration = SignedDuration::from_hours(100 * 365 * 24);

/// Which questions about applications are answered.
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

/// Flags of the doors.
#[derive(Debug, clap::Args)]
pub(super) struct Doors {
    /// Open the doors for Kubernetes at this address, such as 0.0.0.0:8443: webhooks and served resources
    #[arg(long, value_name = "ADDRESS")]
    https: Option<SocketAddr>,
    /// Show this certificate, in PEM with those that signed it, instead of one of queuewarden's own; read again when it changes
    #[arg(long, value_name = "FILE", requires_all = ["https", "tls_private_key_file"])]
    tls_cert_file: Option<PathBuf>,
    /// Its private key, in PEM
    #[arg(long, value_name = "FILE", requires_all = ["https", "tls_cert_file"])]
    tls_private_key_file: Option<PathBuf>,
    /// The Secret of queuewarden's own certificate and authorities, which all replicas share
    #[arg(long, value_name = "NAME", default_value = "queuewarden-doors", conflicts_with = "tls_cert_file")]
    tls_secret: String,
    /// A name or address that the certificate is for, besides those of the Service; may be repeated
    #[arg(long, value_name = "NAME", requires = "https", conflicts_with = "tls_cert_file", value_parser = name)]
    tls_name: Vec<String>,
    /// How long a certificate of queuewarden's own is valid; it is renewed when a third of that is left
    #[arg(long, value_name = "DURATION", default_value = "168h", conflicts_with = "tls_cert_file")]
    tls_certificate_lifetime: SignedDuration,
    /// How long an authority of queuewarden's own is valid; the next is made known when a third of that is left
    #[arg(long, value_name = "DURATION", default_value = "17520h", conflicts_with = "tls_cert_file")]
    tls_authority_lifetime: SignedDuration,
    /// Take client certificates that these authorities, in PEM, have signed; read again when it changes
    #[arg(long, value_name = "FILE", requires = "https")]
    client_ca_file: Option<PathBuf>,
    /// Let webhooks answer only clients whose certificate has this name; the API server needs one (--admission-control-config-file); may be repeated
    #[arg(long, value_name = "NAME", requires = "client_ca_file")]
    webhook_client: Vec<String>,
    /// Serve these endpoints alone: access, authorize, guard, submission, user-info, validate
    #[arg(long, value_name = "NAME", requires = "https", value_delimiter = ',', value_parser = endpoint, default_values = Endpoint::ALL.map(Endpoint::as_str))]
    endpoints: Vec<Endpoint>,
    /// Answer questions about applications, too, by the pods that YuniKorn schedules; pods: and who may read the logs of those pods, or delete them
    #[arg(long, value_enum, default_value_t, value_name = "MODE", requires = "https")]
    applications: Applications,
    /// Take only tokens that are for this audience, instead of those for the API server; may be repeated
    #[arg(long, value_name = "NAME", requires = "https")]
    token_audience: Vec<String>,
}

impl Doors {
    /// What they say; `None`: the doors stay closed.
    pub(super) fn https(&self, namespace: Option<&str>) -> Result<Option<Https>, String> {
        let Some(listen) = self.https else { return Ok(None) };
        let pair = self.tls_cert_file.clone().zip(self.tls_private_key_file.clone());
        let certificate = match pair {
            Some((certificate, key)) => Source::Mounted(Pair { certificate, key }),
            None => self.own(namespace)?,
        };
        Ok(Some(Https {
            listen,
            certificate,
            client_authorities: self.client_ca_file.clone(),
            webhook_clients: self.webhook_client.clone(),
            endpoints: self.endpoints.clone(),
            applications: self.applications.into(),
            audiences: self.token_audience.clone(),
        }))
    }

    fn own(&self, namespace: Option<&str>) -> Result<Source, String> {
        let (certificate, authority) = (self.tls_certificate_lifetime, self.tls_authority_lifetime);
        if certificate < SHORTEST || certificate > LONGEST {
            return Err(format!(
                "--tls-certificate-lifetime {certificate:#}: at least {SHORTEST:#}, and at most 100 years"
            ));
        }
        if authority > LONGEST || authority / OUTLIVES < certificate {
            return Err(format!(
                "--tls-authority-lifetime {authority:#}: at least {OUTLIVES} times as long as that of certificates, {certificate:#}, \
                 and at most 100 years"
            ));
        }
        Ok(Source::Own {
            namespace: namespace.map(str::to_owned),
            secret: self.tls_secret.clone(),
            authority,
            certificate,
            names: self.tls_name.clone(),
        })
    }
}

fn endpoint(text: &str) -> Result<Endpoint, String> {
    let found = Endpoint::ALL.into_iter().find(|endpoint| endpoint.as_str() == text);
    found.ok_or_else(|| format!("it must be one of {}", Endpoint::ALL.map(Endpoint::as_str).join(", ")))
}

/// A name as it stands in a certificate.
fn name(text: &str) -> Result<String, String> {
    match ServerName::try_from(text) {
        Ok(ServerName::DnsName(name)) => Ok(name.as_ref().to_lowercase()),
        Ok(ServerName::IpAddress(address)) => Ok(IpAddr::from(address).to_string()),
        _ => Err("neither a DNS name nor an IP address".to_owned()),
    }
}
