//! `queuewarden authorizer-config`: the configuration with which an API server queries queuewarden as an
//! authorizer: an `AuthorizationConfiguration` for its flag `--authorization-config`, and the kubeconfig that
//! the configuration names (`k8s.io/apiserver/pkg/apis/apiserver/v1/types.go`; Kubernetes 1.32 and newer).
//!
//! The conditions pass on only the requests that are answered here, in both spellings of `kubectl auth can-i`
//! ([`yunikorn_access::review::request`]). Without that filter each request of the cluster would wait for
//! queuewarden, and a deny of one of our verbs could be taken for one of `get queues`, which is a matter of
//! RBAC.
//!
//! The order is Node, queuewarden, RBAC. queuewarden comes before RBAC because a role with `verbs: ["*"]`
//! also allows `submit`, and the scheduler does not know that role.

use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;

use crate::output::{Console, Exit, Failure, file};

/// Limit of Kubernetes, and a sensible one: every request waits for an authorizer.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest time that a withdrawn right may last in the API server's cache.
const LONGEST_TTL: Duration = Duration::from_hours(1);

/// Matches our resources as the API server serves them.
const SERVED: &str = "request.resourceAttributes.group in ['queuewarden.dev', 'access.queuewarden.dev'] && \
                      request.resourceAttributes.resource in ['queues', 'applications']";
/// Matches our resources as users type them where the API server does not serve them.
const TYPED: &str = "request.resourceAttributes.group == '' && request.resourceAttributes.resource.matches(\
                     '(?i)^(queues?|applications?)[.](v[0-9][a-z0-9]*[.])?(access[.])?queuewarden[.]dev$')";
/// Matches our verbs.
const VERBS: &str = "request.resourceAttributes.verb in \
                     ['submit', 'use', 'administer', 'view', 'modify', 'kill', 'logs', 'move']";
/// Matches queues that are written as paths.
const PATHS: &str = "has(request.nonResourceAttributes) && \
                     request.nonResourceAttributes.path.startsWith('/yunikorn/queues') && \
                     request.nonResourceAttributes.verb in ['submit', 'use', 'administer']";
/// Matches pods of applications. Components of Kubernetes delete pods all day, and have their rights from
/// RBAC.
const PODS: &str = "request.resourceAttributes.group == '' && \
                    request.resourceAttributes.resource == 'pods' && \
                    request.resourceAttributes.name != '' && !request.user.startsWith('system:') && \
                    (request.resourceAttributes.verb == 'get' && \
                    request.resourceAttributes.subresource == 'log' || \
                    request.resourceAttributes.verb == 'delete' && \
                    request.resourceAttributes.subresource == '')";

/// Print the files an API server needs to use queuewarden as an authorizer: an authorization configuration
/// and its kubeconfig
#[derive(Debug, Clone, clap::Args)]
pub struct AuthorizerConfigArgs {
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

/// Runs the command.
///
/// # Errors
/// When a flag is wrong, or the folder or standard output does not take the texts.
pub fn run(args: &AuthorizerConfigArgs, console: Console) -> Result<Exit, Failure> {
    let kubeconfig = args.kubeconfig()?;
    let files = [("authorization.yaml", args.configuration()?), ("kubeconfig", kubeconfig)];
    match &args.dir {
        None => console.out(&files.map(|(name, text)| format!("# {name}\n{text}")).join("---\n"))?,
        Some(dir) => file::write_all(dir, files)?,
    }
    Ok(Exit::Clean)
}

impl AuthorizerConfigArgs {
    /// Returns the `AuthorizationConfiguration`, as YAML.
    ///
    /// # Errors
    /// When a time is out of its bounds.
    fn configuration(&self) -> Result<String, Failure> {
        let authorized = within("--authorized-ttl", self.authorized_ttl, LONGEST_TTL)?;
        let unauthorized = within("--unauthorized-ttl", self.unauthorized_ttl, LONGEST_TTL)?;
        let timeout = within("--timeout", self.timeout, LONGEST_TIMEOUT)?;
        let resources = if self.pods {
            format!("({VERBS} && ({SERVED} || {TYPED}) || {PODS})")
        } else {
            format!("{VERBS} && ({SERVED} || {TYPED})")
        };
        let condition = format!("has(request.resourceAttributes) ? {resources} : {PATHS}");
        Ok(format!(
            "\
# For kube-apiserver --authorization-config=FILE, instead of --authorization-mode. A change of the file is taken over without a restart.
apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
  - {{type: Node, name: node}}
  # Before RBAC: a role with verbs [\"*\"] would say yes to what the scheduler refuses.
  - type: Webhook
    name: queuewarden
    webhook:
      # A right that was taken away may last so long.
      authorizedTTL: {authorized}
      unauthorizedTTL: {unauthorized}
      timeout: {timeout}
      subjectAccessReviewVersion: v1
      matchConditionSubjectAccessReviewVersion: v1
      # Where queuewarden does not answer, RBAC decides, as it would without queuewarden.
      failurePolicy: NoOpinion
      connectionInfo:
        type: KubeConfigFile
        kubeConfigFile: {kubeconfig}
      matchConditions:
        - expression: {condition}
  - {{type: RBAC, name: rbac}}
",
            kubeconfig = quoted(&self.kubeconfig),
            condition = quoted(&condition),
        ))
    }

    /// Returns the kubeconfig, as YAML.
    ///
    /// # Errors
    /// When the flags name no credentials.
    fn kubeconfig(&self) -> Result<String, Failure> {
        let line = |name: &str, value: &str| format!("      {name}: {}\n", quoted(value));
        let user = match (&self.client_certificate, &self.client_key, &self.token_file) {
            (Some(certificate), Some(key), _) => {
                line("client-certificate", certificate) + &line("client-key", key)
            }
            (_, _, Some(file)) => line("tokenFile", file),
            _ => {
                let message = "the API server's credentials are missing: add --client-certificate and --client-key, or --token-file";
                return Err(Failure::Usage(message.to_owned()));
            }
        };
        let authority = self.certificate_authority.as_ref();
        let authority = authority.map(|file| line("certificate-authority", file)).unwrap_or_default();
        let name = match self.tls_server_name.as_str() {
            "" => String::new(),
            name => line("tls-server-name", name),
        };
        Ok(format!(
            "\
# Where the API server finds queuewarden. Its machine has no cluster DNS: the address is that of the Service.
apiVersion: v1
kind: Config
clusters:
  - name: queuewarden
    cluster:
      server: {server}
{authority}{name}users:
  - name: kube-apiserver
    user:
{user}contexts:
  - name: queuewarden
    context: {{cluster: queuewarden, user: kube-apiserver}}
current-context: queuewarden
",
            server = quoted(&format!("{}/authorize", self.server)),
        ))
    }
}

/// Formats a duration as Go reads it (`time.ParseDuration`).
fn go_duration(duration: Duration) -> String {
    match (duration.as_secs(), duration.subsec_millis()) {
        (seconds, 0) => format!("{seconds}s"),
        (seconds, millis) => format!("{}ms", seconds.saturating_mul(1000).saturating_add(millis.into())),
    }
}

/// Quotes a text as a JSON string, which YAML reads as the same text.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Formats a duration as Go reads it, if it is positive and not too long: Kubernetes replaces zero by its
/// defaults, of which one is five minutes.
fn within(flag: &str, duration: SignedDuration, longest: Duration) -> Result<String, Failure> {
    let positive =
        Duration::try_from(duration).ok().filter(|duration| !duration.is_zero() && *duration <= longest);
    positive.map(go_duration).ok_or_else(|| {
        Failure::Usage(format!("{flag} {duration:#}: must be positive and at most {} s", longest.as_secs()))
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
    use serde_json::Value;

    fn args() -> AuthorizerConfigArgs {
        AuthorizerConfigArgs {
            server: "https://10.96.0.50".to_owned(),
            certificate_authority: Some("/etc/kubernetes/queuewarden/ca.crt".to_owned()),
            tls_server_name: String::new(),
            client_certificate: None,
            client_key: None,
            token_file: Some("/x: y #".to_owned()),
            kubeconfig: "/etc/kubernetes/queuewarden/kubeconfig".to_owned(),
            authorized_ttl: SignedDuration::from_secs(10),
            unauthorized_ttl: SignedDuration::from_millis(1500),
            timeout: SignedDuration::from_secs(2),
            pods: false,
            dir: None,
        }
    }

    fn yaml(text: &str) -> Value {
        serde_saphyr::from_str(text).unwrap()
    }

    #[test]
    fn the_configuration_names_the_kubeconfig_and_falls_back_to_rbac() {
        let configuration = yaml(&args().configuration().unwrap());
        let names: Vec<_> =
            configuration["authorizers"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
        assert_eq!(names, ["node", "queuewarden", "rbac"]);
        let webhook = &configuration["authorizers"][1]["webhook"];
        assert_eq!(webhook["authorizedTTL"], "10s");
        assert_eq!(webhook["unauthorizedTTL"], "1500ms");
        assert_eq!(webhook["failurePolicy"], "NoOpinion");
        assert_eq!(webhook["connectionInfo"]["kubeConfigFile"], "/etc/kubernetes/queuewarden/kubeconfig");
        let condition = webhook["matchConditions"][0]["expression"].as_str().unwrap();
        assert!(!condition.contains("pods"), "{condition}");
        let with_pods = AuthorizerConfigArgs { pods: true, ..args() }.configuration().unwrap();
        assert!(with_pods.contains("== 'pods'"), "{with_pods}");
    }

    #[test]
    fn the_kubeconfig_says_where_and_who() {
        let config = yaml(&args().kubeconfig().unwrap());
        let cluster = &config["clusters"][0]["cluster"];
        assert_eq!(cluster["server"], "https://10.96.0.50/authorize");
        assert_eq!(cluster["certificate-authority"], "/etc/kubernetes/queuewarden/ca.crt");
        assert_eq!(config["users"][0]["user"]["tokenFile"], "/x: y #");
        let config = AuthorizerConfigArgs {
            certificate_authority: None,
            client_certificate: Some("/a.crt".to_owned()),
            client_key: Some("/a.key".to_owned()),
            ..args()
        };
        let config = yaml(&config.kubeconfig().unwrap());
        assert_eq!(config["users"][0]["user"]["client-key"], "/a.key");
        assert!(config["clusters"][0]["cluster"].get("certificate-authority").is_none());
    }

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
