//! Tests the validating webhooks as the API server's users see them: the answers to their changes, and the
//! changes that are refused.

mod access_tests;
mod delegation;
mod guard;
mod words;

use anyhow::{Result, ensure};
use kube::Client;

use kube::client::Body;
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Endpoints, Kind, Operator, TestCluster, eventually};
use serde_json::{Value, json};

/// The path of our own kinds.
const ACLS: &str = "/apis/queuewarden.dev/v1alpha1/queueacls";

/// The API server's answer to one request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) message: String,
    pub(crate) warnings: Vec<String>,
}

impl Answer {
    fn warns(&self, words: &str) -> bool {
        self.warnings.iter().any(|warning| warning.contains(words))
    }
}

/// Sends a request and returns the response with its headers, which kube's client does not return.
pub(crate) async fn send(
    client: &Client,
    method: &str,
    path: &str,
    kind: &str,
    body: &Value,
) -> Result<Answer> {
    let body = if body.is_null() { Vec::new() } else { serde_json::to_vec(body)? };
    let request = http::Request::builder().method(method).uri(path).header("content-type", kind);
    let response = client.send(request.body(Body::from(body))?).await?;
    let code = response.status().as_u16();
    let warnings = response.headers().get_all("warning").iter();
    let warnings = warnings
        .map(|value| {
            // `299 - "text"`, with HTTP quoting.
            let text = String::from_utf8_lossy(value.as_bytes());
            let quoted = text.split_once('"').map_or("", |(_, rest)| rest);
            quoted.strip_suffix('"').unwrap_or(quoted).replace("\\\"", "\"")
        })
        .collect();
    let body = response.into_body().collect_bytes().await?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let message = body.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Answer { code, message, warnings })
}

async fn create(client: &Client, path: &str, object: &Value) -> Result<Answer> {
    send(client, "POST", path, "application/json", object).await
}

async fn merge(client: &Client, name: &str, patch: &Value) -> Result<Answer> {
    send(client, "PATCH", &format!("{ACLS}/{name}"), "application/merge-patch+json", patch).await
}

async fn delete(client: &Client, name: &str) -> Result<Answer> {
    send(client, "DELETE", &format!("{ACLS}/{name}"), "application/json", &Value::Null).await
}

fn acl(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl", "metadata": {"name": name}, "spec": spec})
}

fn config(more: &Value) -> Value {
    json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "YuniKornConfig", "metadata": {"name": "default"}, "spec": more})
}

/// Starts the operator with its endpoints, this base and this configuration; the API server calls it for our
/// own kinds.
async fn decided<'cluster>(
    cluster: &'cluster TestCluster,
    base: &str,
    spec: &Value,
) -> Result<(Operator<'cluster>, Endpoints)> {
    cluster.install().await?;
    cluster.set_base(base).await?;
    cluster.apply_file("manifests/validating/rbac.yaml").await?;
    let admin = cluster.client()?;
    let made = create(&admin, "/apis/queuewarden.dev/v1alpha1/yunikornconfigs", &config(spec)).await?;
    ensure!(made.code == 201, "{made:?}");
    let (operator, endpoints) = Operator::start_serving(cluster, &[]).await?;
    cluster.wait_for(Kind::YuniKornConfig, "default", is_true("Ready"), PATIENCE).await?;
    cluster.register(&endpoints, "validating").await?;
    let probe = acl("probe", &json!({"queue": "root.nowhere", "submit": {"users": ["x"]}}));
    eventually("the API server to ask", PATIENCE, || async {
        let answer = create(&admin, &format!("{ACLS}?dryRun=All"), &probe).await?;
        Ok(answer.warns("QueueNotFound").then_some(()))
    })
    .await?;
    Ok((operator, endpoints))
}
