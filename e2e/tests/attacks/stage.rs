//! Prepares the target: a cluster with everything installed, and requests by all attackers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use kube::Client;
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::front_proxy::{self, Authority};
use queuewarden_e2e::own_tls::KEEPER;
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Endpoints, Kind, Operator, TestCluster, eventually, kubeconfig, operator};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{Body, Got, Step, To, Who, review, with};
use crate::operator::{KEY, grant, live};
use crate::server::hostile::connect_by;
use crate::user_info::{FIXTURES, ask, merged, strict};
use crate::validating::send;

/// A tree with tenants and secrets. Callers who query about themselves must not learn any of these names.
const BASE: &str = "\
partitions:
  - name: default
    placementrules: [{name: provided, create: false}]
    queues:
      - name: root
        adminacl: boss
        queues:
          - {name: prod, submitacl: 'ann devs', adminacl: 'sue ops'}
          - {name: test, submitacl: 'tom', adminacl: ' qa'}
";
/// The account of an operator that may set names.
pub(super) const SPARK: &str = "system:serviceaccount:spark:operator";
/// The account that may edit one namespace.
const TENANT: &str = "attacks-tenant";
/// The account that is deleted.
const GONE: &str = "attacks-gone";
/// The audience of tokens, if one is required.
const AUDIENCE: &str = "queuewarden";

/// How long no data must arrive before a response is considered complete.
const SILENCE: Duration = Duration::from_millis(400);

pub(super) struct Stage<'cluster> {
    cluster: &'cluster TestCluster,
    operator: Operator<'cluster>,
    endpoints: Endpoints,
    /// `host:port` of the health endpoints and metrics.
    health: String,
    /// The authority of client certificates that are accepted.
    authority: Authority,
    /// The folder with the operator's own certificate.
    _folder: TempDir,
    tokens: BTreeMap<&'static str, String>,
    /// Credentials for the API server.
    kubeconfigs: BTreeMap<&'static str, PathBuf>,
    /// The running queue tree.
    text: String,
}

impl<'cluster> Stage<'cluster> {
    /// Prepares a target that serves all endpoints, with everything installed and in force.
    pub(super) async fn serving(cluster: &'cluster TestCluster) -> Result<Self> {
        installed(cluster).await?;
        let stage = Self::started(cluster, &["--applications=on"]).await?;
        stage.cluster.serve_access(&stage.endpoints).await?;
        for folder in ["validating", "configmaps"] {
            stage.cluster.register(&stage.endpoints, folder).await?;
        }
        ask(cluster, "user-info", &stage.endpoints).await?;
        eventually("the policies to be in force", PATIENCE, || async {
            let unmarked = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl", "metadata": {"name": "x"},
                "spec": {"queue": "root.prod", "submit": {"users": ["mallory"]}}});
            let acls = "/apis/queuewarden.dev/v1alpha1/queueacls?dryRun=All";
            let sue = stage.cluster(Who::Delegate).await?;
            let delegation = send(&sue, "POST", acls, "application/json", &unmarked).await?;
            let role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/view?dryRun=All";
            let own = stage.cluster(Who::Operator).await?;
            let mirror = send(&own, "DELETE", role, "application/json", &Value::Null).await?;
            let stands = delegation.message.contains("queuewarden-delegation")
                && mirror.message.contains("of its RBAC mirror");
            Ok(stands.then_some(()))
        })
        .await?;
        Ok(stage)
    }

    /// Prepares a target whose webhooks accept one client, whose tokens must be for one audience, and which
    /// does not serve two endpoints.
    pub(super) async fn closed(cluster: &'cluster TestCluster) -> Result<Self> {
        installed(cluster).await?;
        cluster.apply_kustomization("manifests/access").await?;
        let audience = format!("--token-audience={AUDIENCE}");
        let flags =
            ["--webhook-client=apiserver", &audience, "--endpoints=access,authorize,configmaps,user-info"];
        Self::started(cluster, &flags).await
    }

    async fn started(cluster: &'cluster TestCluster, flags: &[&str]) -> Result<Self> {
        let (authority, folder) = (Authority::new()?, tempfile::tempdir()?);
        let file = folder.path().join("clients.crt");
        std::fs::write(&file, authority.pem())?;
        let named = ["--client-ca-file", file.to_str().context("a path is not UTF-8")?];
        let (operator, endpoints) = Operator::start_serving(cluster, &[&named, flags].concat()).await?;
        cluster.wait_for(Kind::YuniKornConfig, "default", is_true("Ready"), PATIENCE).await?;
        cluster.wait_for(Kind::AdmissionPolicy, "default", is_true("Accepted"), PATIENCE).await?;
        let token = async |name: &str, namespace: &str, more: &[&str]| {
            let token = cluster
                .kubectl(&[&["create", "token", name, "-n", namespace], more].concat())
                .await?
                .trim()
                .to_owned();
            anyhow::Ok(token)
        };
        let tenant = token(TENANT, NAMESPACE, &[]).await?;
        let gone = token(GONE, NAMESPACE, &[]).await?;
        cluster.kubectl(&["delete", "serviceaccount", GONE, "-n", NAMESPACE]).await?;
        let own = token(operator::NAME, operator::NAMESPACE, &[]).await?;
        let tokens = BTreeMap::from([
            ("forged", forged(&own, &tenant)?),
            ("gone", gone),
            ("other", token(TENANT, NAMESPACE, &["--audience=vault"]).await?),
            ("own", own),
            ("keeper", token(KEEPER, operator::NAMESPACE, &[]).await?),
            ("tenant", tenant),
        ]);
        let kubeconfigs = BTreeMap::from([
            ("tenant", cluster.sa_kubeconfig(NAMESPACE, TENANT).await?),
            ("operator", cluster.sa_kubeconfig(operator::NAMESPACE, operator::NAME).await?),
            ("keeper", cluster.sa_kubeconfig(operator::NAMESPACE, KEEPER).await?),
        ]);
        let (health, text) = (operator.address()?, live(cluster).await?);
        Ok(Self {
            cluster,
            operator,
            endpoints,
            health,
            authority,
            _folder: folder,
            tokens,
            kubeconfigs,
            text,
        })
    }

    pub(super) async fn stop(&mut self) -> Result<()> {
        self.operator.kill().await
    }

    /// Sends a request as this attacker.
    pub(super) async fn send(&self, who: Who, step: &Step) -> Result<Got> {
        match (&step.body, step.to) {
            (Body::Raw(bytes), To::Endpoints) => {
                exchanged(connect_by(&self.endpoints, &[]).await?, bytes).await
            }
            (Body::Raw(bytes), _) => exchanged(TcpStream::connect(&self.health).await?, bytes).await,
            (Body::Bytes(body), To::Cluster) => {
                let kind = step.headers.iter().find(|(name, _)| *name == "content-type");
                let kind = kind.map_or("application/json", |(_, kind)| kind.as_str());
                let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(body)? };
                let answer = send(&self.cluster(who).await?, step.method, &step.path, kind, &body).await?;
                Ok(Got {
                    code: answer.code,
                    text: format!("{} {}", answer.message, answer.warnings.join(" ")),
                })
            }
            (Body::Bytes(body), to) => self.ask(who, to, step, body.clone()).await,
        }
    }

    async fn ask(&self, who: Who, to: To, step: &Step, body: Vec<u8>) -> Result<Got> {
        let (client, token) = match who {
            Who::FrontProxy => (self.endpoints.client_with(&self.cluster.front_proxy()?)?, None),
            Who::Foreign => (self.certified(&Authority::new()?, "front-proxy-client")?, None),
            Who::WebhookClient => (self.certified(&self.authority, "apiserver")?, None),
            Who::Mallory => (self.certified(&self.authority, "mallory")?, None),
            Who::Delegate => (self.certified(&self.authority, "sue")?, None),
            other => (self.endpoints.client()?, self.token(other)?),
        };
        let url = match to {
            To::Health => format!("http://{}{}", self.health, step.path),
            _ => self.endpoints.url(&step.path),
        };
        let mut request = client.request(step.method.parse()?, url);
        for (name, value) in &step.headers {
            request = request.header(*name, value);
        }
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let answer = request.body(body).send().await?;
        let headers = format!("{:?}", answer.headers());
        let code = answer.status().as_u16();
        let text = answer.text().await?;
        Ok(Got { code, text: if text.is_empty() { headers } else { text } })
    }

    fn certified(&self, authority: &Authority, name: &str) -> Result<reqwest::Client> {
        let own: front_proxy::Client = authority.client(name)?;
        self.endpoints.client_with(&own)
    }

    /// Returns the token that this attacker sends to queuewarden.
    fn token(&self, who: Who) -> Result<Option<String>> {
        let name = match who {
            Who::Stranger => return Ok(None),
            Who::Garbage => return Ok(Some("garbage".to_owned())),
            Who::Tenant => "tenant",
            Who::Operator => "own",
            Who::Keeper => "keeper",
            Who::Forged => "forged",
            Who::Gone => "gone",
            Who::OtherAudience => "other",
            other => bail!("{other:?} has no token"),
        };
        self.tokens.get(name).cloned().map(Some).context("no token")
    }

    /// Returns a client of the API server.
    async fn cluster(&self, who: Who) -> Result<Client> {
        let name = match who {
            Who::Mallory => return self.cluster.as_user("mallory", &["people"]),
            Who::Delegate => return self.cluster.as_user("sue", &["queue-admins"]),
            Who::Administrator => return self.cluster.client(),
            Who::Tenant => "tenant",
            Who::Operator => "operator",
            Who::Keeper => "keeper",
            other => bail!("{other:?} is nobody to the API server"),
        };
        Ok(Client::try_from(kubeconfig::load(self.kubeconfigs.get(name).context("no kubeconfig")?).await?)?)
    }

    /// Makes an honest request to the attacked server.
    pub(super) async fn honest(&self, attacked: &Step) -> Result<()> {
        let pod = json!({"metadata": {"name": "p", "namespace": "jobs"}, "spec": {}});
        let (who, step, words) = match (attacked.to, attacked.path.as_str()) {
            (To::Cluster, _) => {
                let path = format!("/api/v1/namespaces/{NAMESPACE}/pods?dryRun=All");
                let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "honest"},
                    "spec": {"containers": [{"name": "c", "image": "i"}]}});
                (Who::Mallory, super::api("POST", &path, &pod), "")
            }
            (To::Endpoints, "/user-info") => (
                Who::WebhookClient,
                super::post("/user-info", review(("", "Pod", "pods"), &pod)),
                "\"patch\":",
            ),
            (To::Endpoints, "/validate") => (
                Who::WebhookClient,
                super::post(
                    "/validate",
                    with(
                        acl("ann"),
                        &json!({"userInfo": {"username": "boss", "groups": ["system:masters"]}}),
                    ),
                ),
                "\"allowed\":true",
            ),
            (To::Endpoints, "/configmaps") => {
                let map = json!({"data": {"log.level": "INFO", KEY: BASE}});
                let review = with(
                    review(("", "ConfigMap", "configmaps"), &map),
                    &json!({"namespace": "yunikorn", "name": "yunikorn-defaults"}),
                );
                (Who::WebhookClient, super::post("/configmaps", review), "\"allowed\":true")
            }
            (To::Endpoints, path) if path.starts_with("/apis/access.queuewarden.dev/v1alpha1/") => {
                let own = json!({"apiVersion": "access.queuewarden.dev/v1alpha1", "kind": "SelfQueueAccessReview",
                    "spec": {"queue": "root.prod", "verb": "submit"}});
                let own = super::post("/apis/access.queuewarden.dev/v1alpha1/selfqueueaccessreviews", own);
                (Who::FrontProxy, own.header("X-Remote-User", "ann"), "\"allowed\":true")
            }
            (To::Endpoints, path)
                if path == "/authorize" || path.starts_with("/apis/authorization.k8s.io") =>
            {
                let own = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
                    "spec": {"resourceAttributes": {"verb": "submit", "group": "queuewarden.dev", "resource": "queues", "name": "root.prod"}}});
                let own = super::post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", own);
                (Who::Delegate, own, "\"allowed\":true")
            }
            (to, _) => (Who::Stranger, Step::new(to, "GET", "/readyz", ""), "ok"),
        };
        let Got { code, text } = self.send(who, &step).await?;
        ensure!((200..300).contains(&code) && text.contains(words), "{code} {text}");
        Ok(())
    }

    /// Checks the log: no name has injected a line, and no request has caused an internal error.
    pub(super) async fn has_logged_nothing_odd(&self) -> Result<()> {
        let log = self.operator.log().await?;
        for line in log.lines().filter(|line| !line.is_empty()) {
            let entry: Value =
                serde_json::from_str(line).with_context(|| format!("no line of ours: {line}"))?;
            ensure!(entry.get("timestamp").is_some_and(Value::is_string), "no line of ours: {line}");
            ensure!(!line.contains(['\u{1b}', '\u{202e}']), "an escape sequence: {line}");
        }
        let faults = self.operator.metric("queuewarden_decisions_total", "clause=\"fault\"").await?;
        ensure!(faults == 0.0 && !log.contains("panicked"), "{faults} faults: {log}");
        Ok(())
    }

    /// Checks that an honest change changes the queues, and that nothing else has.
    pub(super) async fn has_changed_nothing(&self) -> Result<()> {
        grant(self.cluster, "honest", "root.test", "baseAcl: Extend, submit: {users: [honest]}").await?;
        let now = live(self.cluster).await?;
        let rest = |text: &str| {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            lines.map(|line| line.replace("honest,tom", "tom")).collect::<Vec<_>>().join("\n")
        };
        ensure!(now.contains("honest"), "the honest change is not there: {now}");
        ensure!(rest(&now) == rest(&self.text), "the queues are\n{now}\nand were\n{}", self.text);
        Ok(())
    }
}

/// Returns a review of a `QueueAcl` that lets `user` submit to root.prod.
pub(super) fn acl(user: &str) -> Value {
    let object = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl", "metadata": {"name": "x"},
        "spec": {"queue": "root.prod", "baseAcl": "Extend", "submit": {"users": [user]}}});
    let version = json!({"version": "v1alpha1"});
    let review = review(("queuewarden.dev", "QueueAcl", "queueacls"), &object);
    with(review, &json!({"namespace": null, "kind": version, "resource": version}))
}

/// Installs permissions, policies and objects; no operator runs yet.
async fn installed(cluster: &TestCluster) -> Result<()> {
    cluster.install().await?;
    cluster.install_https().await?;
    cluster.apply_text(FIXTURES, "queuewarden-e2e").await?;
    for folder in ["authorizer", "applications", "rbac-mirror"] {
        cluster.apply_kustomization(&format!("manifests/{folder}")).await?;
    }
    for file in [
        "validating/rbac.yaml",
        "user-info/rbac.yaml",
        "submission/rbac.yaml",
        "delegation/role.yaml",
        "delegation/policy.yaml",
    ] {
        cluster.apply_file(&format!("manifests/{file}")).await?;
    }
    cluster.set_base(BASE).await?;
    let rbac = "rbac.authorization.k8s.io";
    let account = |name: &str| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAMESPACE}});
    let jobs = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "jobs"}});
    let delegates = json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": "queuewarden-e2e-delegates"},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "queuewarden-delegate"},
        "subjects": [{"apiGroup": rbac, "kind": "Group", "name": "queue-admins"}]});
    let edit = json!({"apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding", "metadata": {"name": TENANT, "namespace": NAMESPACE},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "queuewarden-e2e-people"},
        "subjects": [{"kind": "ServiceAccount", "name": TENANT, "namespace": NAMESPACE}]});
    let own = |kind: &str, spec: &Value| json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": kind, "metadata": {"name": "default"}, "spec": spec});
    let config =
        json!({"schedulerUrl": cluster.scheduler_url(), "delegation": "Enabled", "rbacMirror": "Enabled"});
    let mut policy =
        merged(strict(), &json!({"submission": "Deny", "externalUsers": [format!("^{SPARK}$")]}));
    if let Some(templates) = policy.pointer_mut("/userInfo/templates").and_then(Value::as_array_mut) {
        templates.push(
            json!({"group": "example.com", "version": "v1", "resource": "things", "path": "spec.template"}),
        );
    }
    for object in [
        account(TENANT),
        account(GONE),
        jobs,
        delegates,
        edit,
        own("YuniKornConfig", &config),
        own("AdmissionPolicy", &policy),
    ] {
        cluster.apply_text(&object.to_string(), "e2e").await?;
    }
    Ok(())
}

/// Returns the claims of one token with the signature of another.
fn forged(claims: &str, signature: &str) -> Result<String> {
    let (claims, _) = claims.rsplit_once('.').context("the token has no signature")?;
    let (_, signature) = signature.rsplit_once('.').context("the token has no signature")?;
    Ok(format!("{claims}.{signature}"))
}

/// Sends bytes, and reads until the other side has closed or has been silent for a while. More than one
/// response is treated as no response.
async fn exchanged(mut stream: impl AsyncRead + AsyncWrite + Unpin, bytes: &[u8]) -> Result<Got> {
    // A write error is ignored, because the other side may have closed before.
    let _ = stream.write_all(bytes).await;
    let mut text = Vec::new();
    loop {
        let mut buffer = vec![0; 16 * 1024];
        match timeout(SILENCE, stream.read(&mut buffer)).await {
            Ok(Ok(0) | Err(_)) | Err(_) => break,
            Ok(Ok(read)) => text.extend_from_slice(buffer.get(..read).unwrap_or_default()),
        }
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    let answers = text.matches("HTTP/1.1 ").count();
    ensure!(answers <= 1, "{answers} answers: {text}");
    let code =
        text.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).and_then(|code| code.parse().ok());
    Ok(Got { code: code.unwrap_or_default(), text })
}
