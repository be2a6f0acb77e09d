//! Runs attacks, each with an attacker, a request, circumstances and an expected outcome.
//!
//! A row ([`Attack`]) is one attack, and each module has the rows of one endpoint. After each attack, an
//! honest request must be answered. After all rows, the running queues must be unchanged, and the log must
//! contain only lines by queuewarden. `delegation` has a separate table: `validating::delegation`.
//!
//! To add an attack, add a row. Use the words of the expected refusal, so that the row fails if the request
//! is refused for another reason. A row that needs different circumstances needs another [`Given`], which
//! starts an operator for all of its rows.

mod access;
mod authorize;
mod closed;
mod cluster;
mod guard;
mod health;
mod http;
mod stage;
mod stopped;
mod submission;
mod user_info;
mod validate;

use anyhow::{Result, ensure};
use queuewarden_e2e::{Capability, TestCluster};
use serde_json::{Value, json};

use crate::user_info::merged;
use stage::Stage;

/// One attack.
#[derive(Debug, Clone)]
pub(super) struct Attack {
    name: &'static str,
    who: Who,
    given: Given,
    /// Requests sent in sequence; the response to the last one is checked.
    steps: Vec<Step>,
    expected: Expected,
}

impl Attack {
    /// Returns an attack with a single request while everything is served.
    fn one(name: &'static str, who: Who, step: Step, expected: Expected) -> Self {
        Self { name, who, given: Given::Serving, steps: vec![step], expected }
    }

    /// Returns an attack with a single request without credentials while everything is served.
    fn by_stranger(name: &'static str, step: Step, expected: Expected) -> Self {
        Self::one(name, Who::Stranger, step, expected)
    }
}

/// The attacker, by the credentials in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// No credentials: any pod that can reach the port. For the API server: an unauthenticated caller.
    Stranger,
    /// The token of a `ServiceAccount` that may edit one namespace.
    Tenant,
    /// A certificate of mallory, who may edit one namespace.
    Mallory,
    /// A certificate of sue, who administers root.prod and may write `QueueAcl`s by delegation.
    Delegate,
    /// The token of queuewarden's pods.
    Operator,
    /// The token of the process that maintains the certificate.
    Keeper,
    /// The API server's certificate for acting on behalf of others.
    FrontProxy,
    /// The same name in a certificate by another authority.
    Foreign,
    /// A certificate of the API server as a client of webhooks.
    WebhookClient,
    /// An invalid token.
    Garbage,
    /// The tenant's token with queuewarden's name in it.
    Forged,
    /// The token of an account that is deleted.
    Gone,
    /// The tenant's token for another audience.
    OtherAudience,
    /// A cluster administrator who writes an attacker's file.
    Administrator,
}

/// The circumstances. Rows with the same circumstances share an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    /// All endpoints are served and used by the API server, all policies are installed, names are enforced,
    /// delegation is on.
    Serving,
    /// The same, after queuewarden has stopped.
    Stopped,
    /// Webhooks accept one client, tokens must be for one audience, and two endpoints are not served.
    Closed,
}

/// The server that a request goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    /// queuewarden's HTTPS port.
    Endpoints,
    /// Its port 8080.
    Health,
    /// The API server.
    Cluster,
}

/// One request.
#[derive(Debug, Clone)]
pub(super) struct Step {
    to: To,
    method: &'static str,
    /// The path; empty for a request in bytes.
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Body,
}

#[derive(Debug, Clone)]
enum Body {
    /// The body as it is sent.
    Bytes(Vec<u8>),
    /// The whole request, with method and headers.
    Raw(Vec<u8>),
}

/// The outcome.
#[derive(Debug, Clone, Copy)]
pub(super) enum Expected {
    /// A refusal with this HTTP status, and all of these words.
    Refused(u16, &'static [&'static str]),
    /// A denial in answer to an `AdmissionReview`, in these words.
    Denied(&'static [&'static str]),
    /// A response with this status that contains the first words, and none of the second.
    Without(u16, &'static [&'static str], &'static [&'static str]),
    /// The end of the connection, without a response.
    Cut,
}

impl Step {
    fn new(to: To, method: &'static str, path: &str, body: impl Into<Vec<u8>>) -> Self {
        let body = Body::Bytes(body.into());
        Self { to, method, path: path.to_owned(), headers: Vec::new(), body }
    }

    /// Returns the same step with one more header.
    fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

/// Returns a POST of JSON to an endpoint.
#[expect(clippy::needless_pass_by_value, reason = "a row is as short as it can be")]
fn post(path: &str, body: impl ToString) -> Step {
    Step::new(To::Endpoints, "POST", path, body.to_string()).header("content-type", "application/json")
}

fn get(path: &str) -> Step {
    Step::new(To::Endpoints, "GET", path, "")
}

/// Returns a request in its wire format.
fn raw(to: To, request: impl Into<Vec<u8>>) -> Step {
    Step { to, method: "", path: String::new(), headers: Vec::new(), body: Body::Raw(request.into()) }
}

/// Returns a request to the API server. A patch is a merge.
fn api(method: &'static str, path: &str, body: &Value) -> Step {
    let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let body = if body.is_null() { String::new() } else { body.to_string() };
    Step::new(To::Cluster, method, path, body).header("content-type", kind)
}

/// Returns an `AdmissionReview` of mallory's creation of an object in namespace jobs.
fn review((group, kind, resource): (&str, &str, &str), object: &Value) -> Value {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u1", "kind": {"group": group, "version": "v1", "kind": kind},
        "resource": {"group": group, "version": "v1", "resource": resource},
        "operation": "CREATE", "namespace": "jobs", "name": "x",
        "userInfo": {"username": "mallory", "groups": ["people", "system:authenticated"]}, "object": object,
    }})
}

/// Returns the text of a review with its fields in the order that API servers use: the objects, which may be
/// large, are at the end.
fn as_sent(review: &Value) -> String {
    let request = review.get("request").and_then(Value::as_object).cloned().unwrap_or_default();
    let (objects, fields): (Vec<_>, Vec<_>) =
        request.into_iter().partition(|(name, _)| ["object", "oldObject"].contains(&name.as_str()));
    let fields = fields.into_iter().chain(objects).map(|(name, value)| format!("{}:{value}", json!(name)));
    format!(r#"{{"request":{{{}}}}}"#, fields.collect::<Vec<_>>().join(","))
}

/// Returns the same review with other fields of its request.
fn with(review: Value, fields: &Value) -> Value {
    merged(review, &json!({"request": fields}))
}

/// Returns an object with a value at a path of names.
fn nest(path: &str, value: Value) -> Value {
    path.rsplit('.').fold(value, |inner, name| json!({name: inner}))
}

/// Words of a response without a body.
const NOTHING: &[&str] = &["\"date\": "];

fn attacks() -> Vec<Attack> {
    [
        access::attacks(),
        authorize::attacks(),
        closed::attacks(),
        cluster::attacks(),
        guard::attacks(),
        health::attacks(),
        http::attacks(),
        stopped::attacks(),
        submission::attacks(),
        user_info::attacks(),
        validate::attacks(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// An answer of any server.
#[derive(Debug)]
struct Got {
    /// The status; 0 if the connection ended without one.
    code: u16,
    text: String,
}

impl Expected {
    /// Returns whether an answer is the expected one.
    fn met_by(self, got: &Got) -> bool {
        let says = |words: &[&str]| words.iter().all(|words| got.text.contains(words));
        match self {
            Self::Refused(code, words) => got.code == code && says(words),
            Self::Denied(words) => {
                let answer: Value = serde_json::from_str(&got.text).unwrap_or_default();
                let is = |pointer: &str, value: &Value| answer.pointer(pointer) == Some(value);
                let message = answer.pointer("/response/status/message").and_then(Value::as_str);
                got.code == 200
                    && is("/response/uid", &json!("u1"))
                    && is("/response/allowed", &json!(false))
                    && words.iter().all(|words| message.is_some_and(|message| message.contains(words)))
            }
            Self::Without(code, words, secrets) => {
                got.code == code && says(words) && !secrets.iter().any(|secret| got.text.contains(secret))
            }
            Self::Cut => got.code == 0,
        }
    }
}

/// Runs the rows of these circumstances, and returns their failures.
async fn tried(stage: &Stage<'_>, given: Given) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let rows: Vec<Attack> = attacks().into_iter().filter(|attack| attack.given == given).collect();
    ensure!(!rows.is_empty(), "there is no row for {given:?}");
    for Attack { name, who, steps, expected, .. } in &rows {
        let mut got = Got { code: 0, text: String::new() };
        for step in steps {
            got = stage
                .send(*who, step)
                .await
                .unwrap_or_else(|error| Got { code: 0, text: format!("{error:#}") });
        }
        if !expected.met_by(&got) {
            let shown: String = got.text.chars().take(1500).collect();
            wrong.push(format!("{name}, by {who:?}: expected {expected:?}, got {} {shown}", got.code));
        }
        let Some(last) = steps.last() else {
            wrong.push(format!("{name} has no steps"));
            continue;
        };
        // A server without endpoints answers at another path.
        let elsewhere = Step::new(last.to, "GET", "/readyz", "");
        let attacked = if got.code == 404 { &elsewhere } else { last };
        if let Err(error) = stage.honest(attacked).await {
            wrong.push(format!("{name}, by {who:?}: the honest request after it: {error:#}"));
        }
    }
    Ok(wrong)
}

async fn on_stage(attack: impl AsyncFnOnce(&TestCluster) -> Result<Vec<String>>) -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess, Capability::ApiServerProcess])? {
            return Ok(());
        }
        let wrong = attack(cluster).await?;
        ensure!(wrong.is_empty(), "{} rows\n{}", wrong.len(), wrong.join("\n"));
        Ok(())
    })
    .await
}

/// Runs all attacks, while everything is served and after it has stopped.
#[tokio::test]
async fn no_attack_succeeds() -> Result<()> {
    on_stage(async |cluster| {
        let mut stage = Stage::serving(cluster).await?;
        let mut wrong = tried(&stage, Given::Serving).await?;
        for after in [stage.has_changed_nothing().await, stage.has_logged_nothing_odd().await] {
            wrong.extend(after.err().map(|error| format!("{error:#}")));
        }
        stage.stop().await?;
        wrong.extend(tried(&stage, Given::Stopped).await?);
        Ok(wrong)
    })
    .await
}

#[tokio::test]
async fn no_attack_succeeds_with_named_callers() -> Result<()> {
    on_stage(async |cluster| tried(&Stage::closed(cluster).await?, Given::Closed).await).await
}

#[test]
fn attacks_have_unique_names() -> Result<()> {
    let mut names: Vec<_> = attacks().iter().map(|attack| attack.name).collect();
    let rows = names.len();
    println!("{rows} rows");
    ensure!(rows >= 120, "{rows}");
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair.first() == pair.last());
    ensure!(twice.is_none(), "{twice:?}");
    Ok(())
}
