//! Writes the configuration with which an API server queries queuewarden: an `AuthorizationConfiguration` for
//! its flag `--authorization-config`, and the kubeconfig that the configuration names
//! (`k8s.io/apiserver/pkg/apis/apiserver/v1/types.go`; Kubernetes 1.32 and newer).
//!
//! The conditions pass on only the requests that are answered here, in both spellings of `kubectl auth can-i`
//! ([`yunikorn_access::review::request`]). Without that filter each request of the cluster would wait for
//! queuewarden, and a deny of one of our verbs could be taken for one of `get queues`, which is a matter of
//! RBAC.
//!
//! The order is Node, queuewarden, RBAC. queuewarden comes before RBAC because a role with `verbs: ["*"]`
//! also allows `submit`, and the scheduler does not know that role.

use std::time::Duration;

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

/// The settings with which the API server queries queuewarden.
#[derive(Debug, Clone)]
pub struct Authorizer {
    /// `https://HOST[:PORT]`, without a path.
    pub server: String,
    /// File of the authorities of queuewarden's certificate, on the API server's machine; `None`: those that
    /// the machine trusts.
    pub certificate_authority: Option<String>,
    /// The name in queuewarden's certificate, where the URL has another.
    pub tls_server_name: Option<String>,
    /// The credentials of the API server.
    pub credentials: Credentials,
    /// The kubeconfig's absolute path on the API server's machine.
    pub kubeconfig: String,
    /// The time for which the API server caches a yes. A right that was withdrawn may last that long.
    pub authorized_ttl: Duration,
    /// The time for which the API server caches any other answer.
    pub unauthorized_ttl: Duration,
    /// The time to wait for an answer. After that it counts as no opinion.
    pub timeout: Duration,
    /// True to query about the pods of applications, too.
    pub pods: bool,
}

/// The credentials of the API server; files are on its machine.
#[derive(Debug, Clone)]
pub enum Credentials {
    /// A client certificate and its key.
    Certificate {
        /// The certificate file, in PEM.
        certificate: String,
        /// The key file, in PEM.
        key: String,
    },
    /// A bearer token, which is read again every minute.
    Token {
        /// The token file.
        file: String,
    },
}

impl Authorizer {
    /// Returns the `AuthorizationConfiguration`, as YAML.
    pub fn configuration(&self) -> String {
        let resources = if self.pods {
            format!("({VERBS} && ({SERVED} || {TYPED}) || {PODS})")
        } else {
            format!("{VERBS} && ({SERVED} || {TYPED})")
        };
        let condition = format!("has(request.resourceAttributes) ? {resources} : {PATHS}");
        format!(
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
            authorized = go_duration(self.authorized_ttl),
            unauthorized = go_duration(self.unauthorized_ttl),
            timeout = go_duration(self.timeout),
            kubeconfig = quoted(&self.kubeconfig),
            condition = quoted(&condition),
        )
    }

    /// Returns the kubeconfig, as YAML.
    pub fn kubeconfig(&self) -> String {
        let line = |name: &str, value: &Option<String>| {
            value.as_ref().map(|value| format!("      {name}: {}\n", quoted(value))).unwrap_or_default()
        };
        let user = match &self.credentials {
            Credentials::Certificate { certificate, key } => {
                format!(
                    "      client-certificate: {}\n      client-key: {}\n",
                    quoted(certificate),
                    quoted(key)
                )
            }
            Credentials::Token { file } => format!("      tokenFile: {}\n", quoted(file)),
        };
        format!(
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
            server = quoted(&format!("{}/authorize", self.server.trim_end_matches('/'))),
            authority = line("certificate-authority", &self.certificate_authority),
            name = line("tls-server-name", &self.tls_server_name),
        )
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn authorizer() -> Authorizer {
        Authorizer {
            server: "https://10.96.0.50".to_owned(),
            certificate_authority: Some("/etc/kubernetes/queuewarden/ca.crt".to_owned()),
            tls_server_name: None,
            credentials: Credentials::Token { file: "/x: y #".to_owned() },
            kubeconfig: "/etc/kubernetes/queuewarden/kubeconfig".to_owned(),
            authorized_ttl: Duration::from_secs(10),
            unauthorized_ttl: Duration::from_millis(1500),
            timeout: Duration::from_secs(2),
            pods: false,
        }
    }

    fn yaml(text: &str) -> Value {
        serde_saphyr::from_str(text).unwrap()
    }

    #[test]
    fn the_configuration_names_the_kubeconfig_and_falls_back_to_rbac() {
        let configuration = yaml(&authorizer().configuration());
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
        let with_pods = Authorizer { pods: true, ..authorizer() }.configuration();
        assert!(with_pods.contains("== 'pods'"), "{with_pods}");
    }

    #[test]
    fn the_kubeconfig_says_where_and_who() {
        let config = yaml(&authorizer().kubeconfig());
        let cluster = &config["clusters"][0]["cluster"];
        assert_eq!(cluster["server"], "https://10.96.0.50/authorize");
        assert_eq!(cluster["certificate-authority"], "/etc/kubernetes/queuewarden/ca.crt");
        assert_eq!(config["users"][0]["user"]["tokenFile"], "/x: y #");
        let credentials =
            Credentials::Certificate { certificate: "/a.crt".to_owned(), key: "/a.key".to_owned() };
        let config =
            yaml(&Authorizer { credentials, certificate_authority: None, ..authorizer() }.kubeconfig());
        assert_eq!(config["users"][0]["user"]["client-key"], "/a.key");
        assert!(config["clusters"][0]["cluster"].get("certificate-authority").is_none());
    }
}
