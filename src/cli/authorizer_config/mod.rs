//! `queuewarden authorizer-config`: the API server's configuration for queuewarden as an authorizer.

mod texts;

use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;

use super::{Console, Exit, Failure, atomic};
use texts::{Authorizer, Credentials};

/// Limit of Kubernetes, and a sensible one: every request waits for an authorizer.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest time that a withdrawn right may last in the API server's cache.
const LONGEST_TTL: Duration = Duration::from_hours(1);

/// Names of the files.
const CONFIGURATION: &str = "authorization.yaml";
const KUBECONFIG: &str = "kubeconfig";

/// Print the files an API server needs to use queuewarden as an authorizer: an authorization configuration
/// and its kubeconfig
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// URL of queuewarden for the API server; use the address of the Service, because the API server has no
    /// cluster DNS
    #[arg(long, value_name = "https://HOST", value_parser = server)]
    server: String,
    /// File with the certificate authorities of queuewarden's certificate; like all files, on the API
    /// server's machine
    #[arg(long, value_name = "FILE", value_parser = absolute)]
    certificate_authority: Option<String>,
    /// Name in queuewarden's certificate, if the URL has an address
    #[arg(long, value_name = "NAME", default_value = "queuewarden.queuewarden-system.svc")]
    tls_server_name: String,
    /// Certificate that the API server authenticates with
    #[arg(long, value_name = "FILE", value_parser = absolute, requires = "client_key")]
    client_certificate: Option<String>,
    /// Private key of that certificate
    #[arg(long, value_name = "FILE", value_parser = absolute, requires = "client_certificate")]
    client_key: Option<String>,
    /// Token that the API server authenticates with, instead of a certificate
    #[arg(long, value_name = "FILE", value_parser = absolute, conflicts_with = "client_certificate")]
    token_file: Option<String>,
    /// Path that the kubeconfig will have
    #[arg(long, value_name = "FILE", value_parser = absolute, default_value = "/etc/kubernetes/queuewarden/kubeconfig")]
    kubeconfig: String,
    /// Time the API server caches an allowed request; a withdrawn right may last that long
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    authorized_ttl: SignedDuration,
    /// Time the API server caches any other answer
    #[arg(long, value_name = "DURATION", default_value = "5s")]
    unauthorized_ttl: SignedDuration,
    /// Time the API server waits for an answer, before RBAC decides alone
    #[arg(long, value_name = "DURATION", default_value = "2s")]
    timeout: SignedDuration,
    /// Also authorize `get pods/log` and `delete pods`; for queuewarden run --applications=pods
    #[arg(long)]
    pods: bool,
    /// Write authorization.yaml and kubeconfig into DIR instead
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Args {
    fn authorizer(&self) -> Result<Authorizer, Failure> {
        let credentials = match (&self.client_certificate, &self.client_key, &self.token_file) {
            (Some(certificate), Some(key), _) => {
                Credentials::Certificate { certificate: certificate.clone(), key: key.clone() }
            }
            (_, _, Some(file)) => Credentials::Token { file: file.clone() },
            _ => {
                let message = "how does the API server show who it is? Write --client-certificate and \
                    --client-key, or --token-file";
                return Err(Failure::Usage(message.to_owned()));
            }
        };
        Ok(Authorizer {
            server: self.server.clone(),
            certificate_authority: self.certificate_authority.clone(),
            tls_server_name: Some(self.tls_server_name.clone()).filter(|name| !name.is_empty()),
            credentials,
            kubeconfig: self.kubeconfig.clone(),
            authorized_ttl: within("--authorized-ttl", self.authorized_ttl, LONGEST_TTL)?,
            unauthorized_ttl: within("--unauthorized-ttl", self.unauthorized_ttl, LONGEST_TTL)?,
            timeout: within("--timeout", self.timeout, LONGEST_TIMEOUT)?,
            pods: self.pods,
        })
    }
}

/// Runs the command.
///
/// # Errors
/// When a flag is wrong, or the folder or standard output does not take the texts.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let authorizer = args.authorizer()?;
    let files = [(CONFIGURATION, authorizer.configuration()), (KUBECONFIG, authorizer.kubeconfig())];
    match &args.dir {
        None => console.out(&files.map(|(name, text)| format!("# {name}\n{text}")).join("---\n"))?,
        Some(dir) => atomic::write_all(dir, files)?,
    }
    Ok(Exit::Clean)
}

/// Checks that a duration is positive and not too long: Kubernetes replaces zero by its defaults, of which
/// one is five minutes.
fn within(flag: &str, duration: SignedDuration, longest: Duration) -> Result<Duration, Failure> {
    let positive =
        Duration::try_from(duration).ok().filter(|duration| !duration.is_zero() && *duration <= longest);
    positive.ok_or_else(|| {
        Failure::Usage(format!("{flag} {duration:#}: more than nothing, and at most {} s", longest.as_secs()))
    })
}

/// Parses the URL of the server; the API server accepts only TLS for an authorizer.
fn server(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").ok_or("write it as https://HOST or https://HOST:PORT")?;
    let host = rest.trim_end_matches('/');
    if host.is_empty() || host.contains(['/', '?', '#', '@', ' ']) {
        return Err("write it as https://HOST or https://HOST:PORT, without a path".to_owned());
    }
    Ok(format!("https://{host}"))
}

/// Parses an absolute path. The API server requires one for the kubeconfig, and paths inside that are
/// relative to its own location.
fn absolute(text: &str) -> Result<String, String> {
    if text.starts_with('/') { Ok(text.to_owned()) } else { Err("write an absolute path".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_have_tls_and_no_path() {
        assert_eq!(server("https://10.96.0.50:443/"), Ok("https://10.96.0.50:443".to_owned()));
        assert_eq!(server("https://[::1]:8443"), Ok("https://[::1]:8443".to_owned()));
        for wrong in ["http://a", "https://", "https://a/authorize", "https://u@a", "a"] {
            assert!(server(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_are_bounded() {
        let checked = |seconds| within("--timeout", SignedDuration::from_secs(seconds), LONGEST_TIMEOUT);
        assert!(checked(1).is_ok() && checked(30).is_ok());
        assert!(checked(0).is_err() && checked(-1).is_err() && checked(31).is_err());
    }
}
