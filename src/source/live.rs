//! Reads the configuration that the scheduler runs: `GET /ws/v1/config`, directly or through the API server.
//!
//! The response is the parsed configuration as JSON, with Go's names of the fields (yunikorn-core
//! `pkg/webservice/handlers.go:634`, `pkg/common/configs/config.go:33-170`). In lower case these are the keys
//! of a queues.yaml, and JSON is YAML, so the reader of every other configuration reads it. Maps of free
//! names keep their case.

use std::fmt;

use futures::AsyncReadExt as _;
use http::{Request, header};
use kube::Client;
use serde_json::{Value, json};

use super::configuration::Text;
use crate::output::Failure;
use queuewarden_client::call::call;
use queuewarden_client::scheduler::{self, Connector, MAX_BODY, queues_path};
use queuewarden_plan::snapshot::{ConfigSpec, SchedulerAddress};
use yunikorn::config::{BUILT_IN, checksum};
use yunikorn_access::placement::Live;

/// The Service that the Helm chart creates, and the port of its REST service.
const SERVICE: &str = "yunikorn-service:9080";
/// Fields whose values are maps of free names.
const FREE: &[&str] = &["properties", "guaranteed", "max", "maxresources", "resourceweights"];

/// A response of the scheduler.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The URL or Service it came from.
    pub from: String,
    /// The checksum of the text that the scheduler loaded: 64 hexadecimal digits.
    pub checksum: String,
    /// The release of the scheduler; `None`: it reports none.
    pub release: Option<String>,
    /// The configuration as JSON that is a valid queues.yaml.
    text: String,
}

/// Gets the scheduler's configuration and release: from the given URL, or from the URL in the
/// `YuniKornConfig`, or else through the API server.
///
/// # Errors
/// When there is no response, or it is not a response of `YuniKorn`.
pub async fn read(
    client: &Client,
    named: Option<SchedulerAddress>,
    spec: &ConfigSpec,
) -> Result<Answer, Failure> {
    let (route, answer) = first("ws/v1/config", client, named, spec).await?;
    let answer = parse(&route.to_string(), answer)?;
    let clusters = route.get("ws/v1/clusters", client).await.map_err(|why| no_answer(&why))?;
    Ok(Answer { release: scheduler::release(&clusters), ..answer })
}

/// Gets the queues that the scheduler has in addition to its configuration, in the same ways.
///
/// # Errors
/// When there is no response.
pub async fn queues(
    client: &Client,
    named: Option<SchedulerAddress>,
    spec: &ConfigSpec,
    partition: &str,
) -> Result<Live, Failure> {
    let (_, root) = first(&queues_path(partition), client, named, spec).await?;
    Ok(scheduler::beside(&root))
}

/// A route to the scheduler.
enum Route {
    /// Its address.
    Direct(SchedulerAddress),
    /// The API server's proxy for services, with the namespace of the scheduler.
    Service(String),
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct(address) => f.write_str(&address.url),
            Self::Service(namespace) => write!(f, "service {namespace}/{SERVICE}"),
        }
    }
}

impl Route {
    async fn get(&self, path: &str, client: &Client) -> Result<Value, String> {
        match self {
            Self::Direct(address) => {
                let connector = Connector::new(client.clone());
                let answer = async { connector.connect(address).await?.get(path).await };
                answer.await.map_err(|error| error.to_string())
            }
            Self::Service(namespace) => {
                let path = format!("/api/v1/namespaces/{namespace}/services/{SERVICE}/proxy/{path}");
                through(client, &path).await
            }
        }
    }
}

/// Returns the first response and its route.
async fn first(
    path: &str,
    client: &Client,
    named: Option<SchedulerAddress>,
    spec: &ConfigSpec,
) -> Result<(Route, Value), Failure> {
    // The URL of the YuniKornConfig is meant for the operator: from outside the cluster it may reach nothing,
    // or something else.
    let proxied = named.is_none().then(|| Route::Service(spec.namespace.clone()));
    let direct = named.or_else(|| spec.scheduler.clone()).map(Route::Direct);
    let mut tried = Vec::new();
    for route in direct.into_iter().chain(proxied) {
        match route.get(path, client).await {
            Ok(answer) => return Ok((route, answer)),
            Err(why) => tried.push(why),
        }
    }
    Err(no_answer(&tried.join("; ")))
}

fn no_answer(why: &str) -> Failure {
    Failure::Undecided(format!(
        "the scheduler does not say what it runs: {why}; --scheduler-url names another route to it"
    ))
}

/// Sends the request through the API server's proxy for services.
async fn through(client: &Client, path: &str) -> Result<Value, String> {
    // YuniKorn answers with JSON only to exactly this header.
    let request = Request::get(path).header(header::ACCEPT, "application/json").body(Vec::new());
    let request = request.map_err(|error| error.to_string())?;
    let answer = call(text(client, request)).await;
    let text = answer.map_err(|error| format!("through the API server: {error}"))?;
    serde_json::from_str(&text)
        .map_err(|_| format!("through the API server: {path} is not JSON from YuniKorn"))
}

/// Returns the body of a response, up to a limit.
async fn text(client: &Client, request: Request<Vec<u8>>) -> Result<String, kube::Error> {
    let mut body = String::new();
    let limit = u64::try_from(MAX_BODY).unwrap_or(u64::MAX);
    let stream = client.request_stream(request).await?;
    std::pin::pin!(stream).take(limit).read_to_string(&mut body).await.map_err(kube::Error::ReadEvents)?;
    Ok(body)
}

fn parse(from: &str, answer: Value) -> Result<Answer, Failure> {
    let Value::Object(fields) = answer else {
        return Err(no_answer(&format!("the answer of {from} is not JSON from YuniKorn")));
    };
    let checksum = fields.get("Checksum").and_then(Value::as_str).unwrap_or_default().to_owned();
    let partitions = fields.get("Partitions").filter(|partitions| !partitions.is_null());
    let Some(partitions) = partitions.filter(|_| !checksum.is_empty()) else {
        return Err(no_answer(&format!("{from} runs no configuration yet")));
    };
    Ok(Answer {
        from: from.to_owned(),
        checksum,
        release: None,
        text: format!("{:#}\n", json!({"partitions": lower(partitions)})),
    })
}

/// Converts field names to lower case at every depth, except in maps of free names.
fn lower(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(lower).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| {
                let name = name.to_ascii_lowercase();
                let value = if FREE.contains(&name.as_str()) { value.clone() } else { lower(value) };
                (name, value)
            })
            .collect(),
        other => other.clone(),
    }
}

impl Answer {
    /// Returns the configuration as a text.
    pub fn text(&self) -> Text {
        Text::made(format!("the scheduler at {}", self.from), self.text.clone())
    }

    /// Adds a note if the scheduler runs another configuration than the ConfigMaps hold.
    pub fn compare(&self, text: &str, key: &str, notes: &mut Vec<String>) {
        let expected = checksum(if text.is_empty() { BUILT_IN } else { text });
        if self.checksum != expected {
            notes.push(format!(
                "the scheduler runs another configuration than the ConfigMaps contain: its checksum is {}, but {key} has {}; the answer is for the running configuration",
                short(&self.checksum),
                short(&expected)
            ));
        }
    }
}

/// Shortens a checksum to a prefix that still distinguishes two of them.
pub(crate) fn short(checksum: &str) -> &str {
    checksum.get(..12).unwrap_or(checksum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use yunikorn::config::verdict;
    use yunikorn::version::Version;

    /// Returns a response as YuniKorn 1.8.0 prints it.
    fn answer() -> Value {
        json!({
            "Partitions": [{
                "Name": "default",
                "Queues": [{
                    "Name": "root", "Parent": true, "Resources": {}, "SubmitACL": "*", "ChildTemplate": {"Resources": {}},
                    "Queues": [{
                        "Name": "Prod", "AdminACL": " ops", "ChildTemplate": {"Resources": {}},
                        "Resources": {"Guaranteed": {"memory": "1G", "nvidia.com/GPU": "1"}},
                        "Properties": {"application.sort.Policy": "fifo"},
                    }],
                }],
                "PlacementRules": [{"Name": "provided", "Create": true, "Filter": {"Type": ""}}],
                "Preemption": {}, "NodeSortPolicy": {"Type": ""}, "UserGroupResolver": {"type": "os"},
            }],
            "Checksum": "AB", "Extra": {"service.policyGroup": "queues"},
            "DeadlockDetectionEnabled": false, "DeadlockTimeoutSeconds": 60,
        })
    }

    #[test]
    fn the_answer_is_a_queues_yaml() {
        let answer = parse("here", answer()).unwrap();
        let verdict = verdict(&answer.text, &[], Version::V1_8);
        assert_eq!(verdict.refusal(), None, "{}", answer.text);
        let config = verdict.config.unwrap();
        let queues: Vec<_> = config.partitions[0].queues().map(|queue| queue.path.as_str()).collect();
        assert_eq!(queues, ["root", "root.prod"]);
        assert_eq!(config.partitions[0].user_group_resolver.kind.as_str(), "os");
        assert!(answer.text.contains("nvidia.com/GPU") && answer.text.contains("application.sort.Policy"));
    }

    /// Creates an API server that knows paths that begin so, and only if the headers are those that YuniKorn
    /// expects.
    fn proxy(known: &'static str) -> Client {
        let service = tower::service_fn(move |request: Request<kube::client::Body>| async move {
            let known_path = request.uri().path().starts_with(known)
                && request.headers().get(header::ACCEPT).is_some_and(|accept| accept == "application/json");
            let (status, body) = if known_path {
                (200, answer())
            } else {
                let message = format!("{} is not found", request.uri().path());
                (
                    404,
                    json!({"kind": "Status", "status": "Failure", "message": message, "reason": "NotFound", "code": 404}),
                )
            };
            let body = kube::client::Body::from(body.to_string().into_bytes());
            Ok::<_, std::convert::Infallible>(http::Response::builder().status(status).body(body).unwrap())
        });
        Client::new(service, "default")
    }

    /// The URL in the YuniKornConfig is for use inside the cluster: if it fails, the API server's proxy is
    /// used.
    #[tokio::test]
    async fn the_api_server_leads_to_the_scheduler() {
        let known = "/api/v1/namespaces/yk/services/yunikorn-service:9080/proxy/ws/v1/";
        let nowhere = SchedulerAddress::from("http://127.0.0.1:1");
        for scheduler in [None, Some(nowhere.clone())] {
            let spec = ConfigSpec { namespace: "yk".to_owned(), scheduler, ..ConfigSpec::default() };
            let answer = read(&proxy(known), None, &spec).await.unwrap();
            assert_eq!(
                (answer.from.as_str(), answer.checksum.as_str()),
                ("service yk/yunikorn-service:9080", "AB")
            );
            let failure = read(&proxy("/other"), None, &spec).await.unwrap_err().to_string();
            assert!(failure.contains("is not found"), "{failure}");
            // An explicit URL is used alone.
            let failure = read(&proxy(known), Some(nowhere.clone()), &spec).await.unwrap_err().to_string();
            assert!(failure.contains("cannot connect to http://127.0.0.1:1/ws/v1/config"), "{failure}");
        }
    }

    #[test]
    fn another_checksum_is_reported_and_the_same_is_not() {
        let answer =
            Answer { from: "here".into(), checksum: checksum("a: 1\n"), release: None, text: String::new() };
        for (text, reported) in [("a: 1\n", 0), ("a: 2\n", 1), ("", 1)] {
            let mut notes = Vec::new();
            answer.compare(text, "queues.yaml", &mut notes);
            assert_eq!(notes.len(), reported, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_answer_is_reported() {
        for (answer, why) in [
            (json!([]), "is not the JSON"),
            (json!({}), "no configuration yet"),
            (json!({"Partitions": null, "Checksum": "AB"}), "no configuration yet"),
        ] {
            let failure = parse("here", answer).unwrap_err().to_string();
            assert!(failure.contains(why), "{failure}");
        }
    }
}
