//! The requests, and the parts of their responses that are used.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt as _, Collected, LengthLimitError, Limited};
use kube::Client;
use kube::client::Body;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::time::timeout;

use super::error::{SchedulerError, failure};
use super::{MAX_BODY, TIMEOUT};
use queuewarden_plan::release::MAX_RELEASE;
use yunikorn_access::placement::{Live, LiveQueue};
use yunikorn_access::submission::PARTITION;

/// The path of the configuration.
const CONFIG: &str = "ws/v1/config";
/// The characters that a path must encode, as RFC 3986 §2.3 defines them.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Maximum number of queues read from one response.
const MAX_QUEUES: usize = 100_000;

/// A client of the scheduler's REST service, created by [`Connector`](super::Connector).
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "kube's client does not implement Debug")]
pub struct SchedulerClient {
    client: Client,
    url: String,
}

impl SchedulerClient {
    pub(super) fn new(client: Client, url: &str) -> Self {
        Self { client, url: url.trim_end_matches('/').to_owned() }
    }

    /// Returns the checksum of the text in force: 64 hexadecimal digits.
    ///
    /// # Errors
    /// When there is no usable response.
    pub async fn checksum(&self) -> Result<String, SchedulerError> {
        let config: Config = self.get(CONFIG).await?;
        let checksum = config.checksum.filter(|sum| !sum.is_empty());
        checksum.ok_or_else(|| SchedulerError::NoConfiguration(format!("{}/{CONFIG}", self.url)))
    }

    /// Returns the release of the scheduler, which is set at build time; `None` if it was not set.
    ///
    /// # Errors
    /// When there is no usable response.
    pub async fn release(&self) -> Result<Option<String>, SchedulerError> {
        self.get("ws/v1/clusters").await.map(|clusters: Value| release(&clusters))
    }

    /// Returns the paths of the current queues of a partition. The value is `true` for queues of the
    /// configuration and `false` for queues created by a placement rule.
    ///
    /// # Errors
    /// When there is no usable response.
    pub async fn queues(&self, partition: &str) -> Result<BTreeMap<String, bool>, SchedulerError> {
        let root: Queue = self.get(&queues_path(partition)).await?;
        Ok(flatten(root))
    }

    /// Returns the response to a path.
    ///
    /// # Errors
    /// When there is no usable response.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, SchedulerError> {
        let url = format!("{}/{path}", self.url);
        let body = timeout(TIMEOUT, self.body(path, &url)).await;
        let body = body.map_err(|_| SchedulerError::Timeout(url.clone()))??;
        serde_json::from_slice(&body).map_err(|_| SchedulerError::Malformed(url))
    }

    async fn body(&self, path: &str, url: &str) -> Result<Bytes, SchedulerError> {
        let request = Request::get(format!("/{path}")).header(header::ACCEPT, "application/json");
        let request = request.body(Body::empty()).map_err(|_| SchedulerError::Unreachable(url.to_owned()))?;
        let response = self.client.send(request).await.map_err(|error| failure(url, &error))?;
        if response.status() != StatusCode::OK {
            return Err(SchedulerError::Status(url.to_owned(), response.status()));
        }
        let body = Limited::new(response.into_body(), MAX_BODY).collect().await;
        body.map(Collected::to_bytes).map_err(|error| match error {
            error if error.is::<LengthLimitError>() => SchedulerError::TooLarge(url.to_owned()),
            error => failure(url, &*error),
        })
    }
}

/// Returns the queues that are not, or no longer, in the configuration (`dao.PartitionQueueDAOInfo`).
pub fn beside(root: &Value) -> Live {
    let mut live = Live::default();
    let mut waiting = vec![root];
    while let Some(queue) = waiting.pop() {
        let flag = |key| queue.get(key).and_then(Value::as_bool).unwrap_or_default();
        let text = |key| queue.get(key).and_then(Value::as_str).unwrap_or_default();
        let draining = text("status") == "Draining";
        if draining || !flag("isManaged") {
            live.insert(text("queuename"), LiveQueue { leaf: flag("isLeaf"), draining });
        }
        waiting.extend(queue.get("children").and_then(Value::as_array).into_iter().flatten());
    }
    live
}

/// Returns the release in the answer of `ws/v1/clusters` (`dao.ClusterDAOInfo`): the version in the build
/// information of the shim (k8shim `pkg/conf/schedulerconf.go`, `GetBuildInfoMap`).
pub fn release(clusters: &Value) -> Option<String> {
    let clusters = clusters.as_array().into_iter().flatten();
    let builds = clusters.filter_map(|cluster| cluster.get("rmBuildInformation")?.as_array()).flatten();
    let mut releases = builds.filter_map(|build| build.get("buildVersion")?.as_str());
    releases.find(|release| !release.is_empty() && release.len() <= MAX_RELEASE).map(str::to_owned)
}

/// Returns the path of the endpoint that lists the queues of a partition.
pub fn queues_path(partition: &str) -> String {
    format!("ws/v1/partition/{}/queues", utf8_percent_encode(partition, RESERVED))
}

/// Returns the path of an application in the partition that the shim uses.
pub fn application_path(id: &str) -> String {
    format!("ws/v1/partition/{PARTITION}/application/{}", utf8_percent_encode(id, RESERVED))
}

/// The part of `dao.ConfigDAOInfo` that is used.
#[derive(Deserialize)]
struct Config {
    #[serde(rename = "Checksum")]
    checksum: Option<String>,
}

/// The part of `dao.PartitionQueueDAOInfo` that is used.
#[derive(Deserialize)]
struct Queue {
    queuename: String,
    #[serde(rename = "isManaged", default)]
    managed: bool,
    #[serde(default)]
    children: Option<Vec<Queue>>,
}

fn flatten(root: Queue) -> BTreeMap<String, bool> {
    let mut queues = BTreeMap::new();
    let mut waiting = vec![root];
    while let Some(queue) = waiting.pop()
        && queues.len() < MAX_QUEUES
    {
        queues.insert(queue.queuename, queue.managed);
        waiting.extend(queue.children.unwrap_or_default());
    }
    queues
}

#[cfg(test)]
mod tests {
    use axum::{Router, http::HeaderMap, response::IntoResponse, routing::get};
    use serde_json::json;

    use super::*;

    /// Returns a client for an address that requires no credentials.
    fn plain(url: &str) -> SchedulerClient {
        // rustls has two crypto providers in this build, so one must be chosen.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let config = kube::Config::new(url.parse().unwrap());
        SchedulerClient::new(Client::try_from(config).unwrap(), url)
    }

    /// Serves `router` on a free port; returns its base URL.
    async fn serve(router: Router) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        format!("http://{address}")
    }

    async fn config(answer: &'static str) -> Result<String, SchedulerError> {
        let handler = move |headers: HeaderMap| async move {
            assert_eq!(headers.get_all("accept").iter().collect::<Vec<_>>(), ["application/json"]);
            answer
        };
        let base = serve(Router::new().route("/ws/v1/config", get(handler))).await;
        plain(&base).checksum().await
    }

    #[tokio::test]
    async fn reads_the_checksum() {
        let answer =
            r#"{"Partitions":[],"Checksum":"7A4F","Extra":{"a":"b"},"DeadlockDetectionEnabled":false}"#;
        assert_eq!(config(answer).await, Ok("7A4F".into()));
    }

    #[tokio::test]
    async fn reads_the_release() {
        for (answer, release) in [
            (
                r#"[{"clusterName":"kubernetes","rmBuildInformation":[{"arch":"amd64","buildVersion":"1.9.0"}]}]"#,
                Some("1.9.0"),
            ),
            (r#"[{"rmBuildInformation":[{"buildVersion":""},{"buildVersion":"1.8.0"}]}]"#, Some("1.8.0")),
            (r#"[{"rmBuildInformation":[{"arch":"amd64"}]}]"#, None),
            (r#"[{"clusterName":"kubernetes"}]"#, None),
            ("[]", None),
        ] {
            let base = serve(Router::new().route("/ws/v1/clusters", get(async move || answer))).await;
            let found = plain(&base).release().await;
            assert_eq!(found.unwrap().as_deref(), release, "{answer}");
        }
    }

    #[tokio::test]
    async fn other_answers_are_distinguished() {
        assert!(matches!(config("{}").await, Err(SchedulerError::NoConfiguration(_))));
        assert!(matches!(config("partitions: []").await, Err(SchedulerError::Malformed(_))));
        let base = serve(Router::new()).await;
        let error = plain(&base).checksum().await.unwrap_err();
        assert_eq!(error.code(), "404");
    }

    #[tokio::test]
    async fn a_closed_port_is_unreachable_in_the_same_words_each_time() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/", listener.local_addr().unwrap());
        drop(listener);
        let scheduler = plain(&base);
        let first = scheduler.checksum().await.unwrap_err();
        assert_eq!(first, SchedulerError::Unreachable(format!("{base}ws/v1/config")));
        assert_eq!(scheduler.checksum().await.unwrap_err().to_string(), first.to_string());
    }

    #[tokio::test]
    async fn an_endless_answer_is_cut_off() {
        let endless = || async {
            let chunk = axum::body::Bytes::from(vec![b' '; 1 << 20]);
            let chunks = futures::stream::repeat_with(move || Ok::<_, std::io::Error>(chunk.clone()));
            axum::body::Body::from_stream(chunks).into_response()
        };
        let base = serve(Router::new().route("/ws/v1/config", get(endless))).await;
        let error = plain(&base).checksum().await.unwrap_err();
        assert!(matches!(error, SchedulerError::TooLarge(_)), "{error}");
    }

    #[tokio::test]
    async fn a_silent_scheduler_times_out() {
        let silent = || async { std::future::pending::<&'static str>().await };
        let base = serve(Router::new().route("/ws/v1/config", get(silent))).await;
        let error = plain(&base).checksum().await.unwrap_err();
        assert!(matches!(error, SchedulerError::Timeout(_)), "{error}");
    }

    #[tokio::test]
    async fn reads_the_tree_of_queues() {
        let answer = r#"{"queuename":"root","isManaged":true,"children":[
            {"queuename":"root.a","isManaged":true,"children":[{"queuename":"root.a.dyn","isManaged":false,"children":[]}]},
            {"queuename":"root.b","isManaged":true,"children":null}]}"#;
        let base =
            serve(Router::new().route("/ws/v1/partition/gpu%2Fa/queues", get(move || async move { answer })))
                .await;
        let queues = plain(&base).queues("gpu/a").await.unwrap();
        let expected = [("root", true), ("root.a", true), ("root.a.dyn", false), ("root.b", true)];
        assert_eq!(queues, expected.map(|(path, managed)| (path.to_owned(), managed)).into());
    }

    /// Uses the relevant part of `YuniKorn` 1.8.0's output.
    #[test]
    fn queues_beside_the_configuration_are_found() {
        let queue = |name: &str, status: &str, managed: bool, leaf: bool, children: Vec<Value>| json!({"queuename": name, "status": status, "isManaged": managed, "isLeaf": leaf, "children": children});
        let made = queue("root.team.sue", "Active", false, true, vec![]);
        let team = queue("root.team", "Active", true, false, vec![made]);
        let old = queue("root.old", "Draining", true, true, vec![]);
        let mut leaf = queue("root.leaf", "Active", true, true, vec![]);
        leaf["children"] = Value::Null;
        let live = beside(&queue("root", "Active", true, false, vec![team, old, leaf]));
        let found = |path| live.get(path);
        assert_eq!(found("root.team.sue"), Some(LiveQueue { leaf: true, draining: false }));
        assert_eq!(found("root.old"), Some(LiveQueue { leaf: true, draining: true }));
        assert_eq!(found("root.leaf"), None);
    }
}
