//! Measures how many decisions queuewarden makes, and how long each takes; fails only if an answer is wrong.
//! `just load` runs it, with a release build.

use std::fmt;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ::yunikorn::config::verdict;
use ::yunikorn::identity::ResolverKind;
use ::yunikorn::version::Version;
use anyhow::{Context as _, Result, ensure};
use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use k8s_openapi::ByteString;
use queuewarden_api::review::ReviewKind;
use queuewarden_api::review::access::SubjectAccessReview;
use queuewarden_e2e::{Endpoints, Operator, TestCluster, yunikorn};
use serde_json::{Value, json};
use yunikorn_access::Tree;
use yunikorn_access::review::{AccessRequest, Opinion, answer};
use yunikorn_access::tree::Scheduler;

use crate::operator::{configure, grant};
use crate::user_info::guard;

/// Duration of each measurement.
const TIME: Duration = Duration::from_secs(1);
/// Measurements of two handlers that are compared, alternating, so that other load on the machine slows both.
const TURNS: usize = 10;
/// Requests at once.
const AT_ONCE: [usize; 3] = [1, 4, 16];
/// Bytes of an answer.
const ANSWER: usize = 155;
/// Decisions of the evaluator alone.
const ROUNDS: u32 = 100_000;

/// Returns a review as kube-apiserver posts it.
fn review(queue: &str) -> Value {
    json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {},
        "spec": {"resourceAttributes": {"namespace": "default", "verb": "submit", "group": "queuewarden.dev", "version": "*",
        "resource": "queues", "name": queue}, "user": "sue", "groups": ["dev", "system:authenticated"]}, "status": {"allowed": false}})
}

#[derive(Default)]
struct Figures {
    took: Duration,
    latencies: Vec<Duration>,
}

impl Figures {
    /// Adds the figures of another turn.
    fn add(&mut self, turn: Self) {
        self.took += turn.took;
        self.latencies.extend(turn.latencies);
        self.latencies.sort_unstable();
    }

    fn per_second(&self) -> f64 {
        u32::try_from(self.latencies.len()).map_or(f64::INFINITY, f64::from) / self.took.as_secs_f64()
    }

    fn at(&self, percent: usize) -> Duration {
        let place = self.latencies.len().saturating_sub(1) * percent / 100;
        self.latencies.get(place).copied().unwrap_or_default()
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (p50, p99) = (self.at(50), self.at(99));
        write!(f, "{:>8.0}/s   p50 {p50:>9.3?}   p99 {p99:>9.3?}", self.per_second())
    }
}

/// Sends requests without a pause, this many concurrently.
async fn load<F: Future<Output = Result<()>> + Send>(
    at_once: usize,
    ask: impl Fn() -> F + Send + Sync + 'static,
) -> Result<Figures> {
    let ask = Arc::new(ask);
    // Connections are opened, and caches are filled, before the clock starts.
    ask().await?;
    let begin = Instant::now();
    let tasks: Vec<_> = (0..at_once)
        .map(|_| {
            let ask = Arc::clone(&ask);
            async move {
                let mut latencies = Vec::new();
                while begin.elapsed() < TIME {
                    let start = Instant::now();
                    ask().await?;
                    latencies.push(start.elapsed());
                }
                anyhow::Ok(latencies)
            }
        })
        .collect();
    let mut latencies = futures::future::try_join_all(tasks).await?.concat();
    let took = begin.elapsed();
    latencies.sort_unstable();
    Ok(Figures { took, latencies })
}

/// Returns the time of one decision without everything around it.
async fn evaluator(cluster: &TestCluster) -> Result<Duration> {
    let text = cluster.config_value(yunikorn::CONFIGS, "queues.yaml").await?.context("no queues")?;
    let config = verdict(&text, &[], Version::V1_8).config.context("no configuration")?;
    let tree = Tree::new(config.partition("default").context("no partition")?)?;
    let asked = SubjectAccessReview::read(&review("root.prod"));
    let asked = asked.map_err(|wrong| anyhow::anyhow!(wrong.message))?;
    let user = asked.user(ReviewKind::Subject, None).map_err(|wrong| anyhow::anyhow!(wrong.message))?;
    let scheduler = Scheduler { tree: &tree, resolver: &ResolverKind::None, version: Version::V1_8 };
    let answer = |asked: &SubjectAccessReview| match asked.action(false) {
        Ok(action) => answer(&AccessRequest { partition: "default", user, action }, None, scheduler),
        Err(elsewhere) => elsewhere,
    };
    ensure!(answer(&asked).opinion == Opinion::Allow);
    let begin = Instant::now();
    for _ in 0..ROUNDS {
        black_box(answer(black_box(&asked)));
    }
    Ok(begin.elapsed() / ROUNDS)
}

/// The same request, sent repeatedly.
#[derive(Debug, Clone, Copy)]
struct Load<'a> {
    endpoints: &'a Endpoints,
    path: &'a str,
    token: &'a str,
    body: &'a str,
}

impl Load<'_> {
    fn request(self) -> Result<reqwest::RequestBuilder> {
        let request = self.endpoints.client()?.post(self.endpoints.url(self.path));
        Ok(request
            .bearer_auth(self.token)
            .header("content-type", "application/json")
            .body(self.body.to_owned()))
    }

    async fn answer(self) -> Result<Bytes> {
        let answer = self.request()?.send().await?.error_for_status()?;
        Ok(answer.bytes().await?)
    }

    async fn figures(self, at_once: usize) -> Result<Figures> {
        let (request, expected) = (self.request()?, self.answer().await?);
        // The code that reads the response is a debug build, and would dominate the measurement.
        load(at_once, move || {
            let (request, expected) = (request.try_clone(), expected.clone());
            async move {
                let answer = request.context("a body that is sent once")?.send().await?;
                ensure!(answer.bytes().await? == expected, "another answer than the first");
                Ok(())
            }
        })
        .await
    }
}

/// Serves a handler that reads and returns as much as `/authorize`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the server of `decisions_per_second`"]
async fn empty_handler() -> Result<()> {
    let answer = Bytes::from_static(&[b' '; ANSWER]);
    Endpoints::serve(Router::new().route("/empty", post(async move |_: Bytes| answer.clone()))).await
}

#[tokio::test]
#[ignore = "a measurement of half a minute, for a release build"]
async fn decisions_per_second() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        configure(cluster, "").await?;
        let (operator, endpoints) = Operator::start_serving(cluster, &["--log-level=warn"]).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [sue]}").await?;
        grant(cluster, "team", "root.team", "submit: {users: [sue]}").await?;
        let authorizer = cluster.authorize_by_queuewarden(&endpoints, &[]).await?;
        println!(
            "the evaluator alone (in the build of this test): {:?} a decision",
            evaluator(cluster).await?
        );
        let body = review("root.prod").to_string();
        let authorizer =
            Load { endpoints: &endpoints, path: "/authorize", token: &authorizer.token, body: &body };
        let answer = authorizer.answer().await?;
        ensure!(serde_json::from_slice::<Value>(&answer)?["status"]["allowed"] == true);
        ensure!(answer.len() == ANSWER, "the empty handler has to return {} bytes", answer.len());
        let (_process, endpoints) = Endpoints::serve_by("load::empty_handler").await?;
        let empty = Load { endpoints: &endpoints, path: "/empty", ..authorizer };
        for at_once in AT_ONCE {
            let (mut least, mut figures) = (Figures::default(), Figures::default());
            let before = operator.usage()?.cpu;
            for _ in 0..TURNS {
                least.add(empty.figures(at_once).await?);
                figures.add(authorizer.figures(at_once).await?);
            }
            // The clients share the processors with the server, so this is the server's own time.
            let each = operator.usage()?.cpu.saturating_sub(before) / u32::try_from(figures.latencies.len())?;
            let share = 100.0 * figures.per_second() / least.per_second();
            println!("an empty handler,    {at_once:>2} at once: {least}");
            println!(
                "/authorize,          {at_once:>2} at once: {figures}   {share:.0} % of it, {each:>6.0?} of \
                 processor time each"
            );
            let (kube, next) = (cluster.client()?, Arc::new(AtomicU64::new(0)));
            let figures = load(at_once, move || {
                // A different name each time, because the API server caches answers.
                let name = format!("root.team.n{}-{at_once}", next.fetch_add(1, Ordering::Relaxed));
                let kube = kube.clone();
                async move {
                    let request = http::Request::post("/apis/authorization.k8s.io/v1/subjectaccessreviews")
                        .body(review(&name).to_string().into_bytes())?;
                    let answer: Value = kube.request(request).await?;
                    ensure!(answer["status"]["allowed"] == true, "{answer}");
                    Ok(())
                }
            });
            println!("through the API server, uncached, {at_once:>2} at once: {}", figures.await?);
        }
        Ok(())
    })
    .await
}

/// Returns the request about a new pod of this user, as kube-apiserver posts it.
fn pod_review(user: &str, groups: &[String]) -> Value {
    let container = json!({"name": "main", "image": "none"});
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "labels": {"applicationId": "p", "queue": "root.prod"}},
        "spec": {"schedulerName": "yunikorn", "containers": [container]}});
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1", "dryRun": false,
        "kind": {"group": "", "version": "v1", "kind": "Pod"}, "resource": {"group": "", "version": "v1", "resource": "pods"},
        "name": "p", "namespace": "default", "operation": "CREATE", "userInfo": {"username": user, "groups": groups},
        "object": pod, "oldObject": null, "options": null}})
}

/// Measures the same pod for users with names that need no alias, some aliases, and the maximum number. The
/// first row, and the third for the same number of groups, is what a pod cost before aliases existed.
#[tokio::test]
#[ignore = "a measurement of half a minute, for a release build"]
async fn user_info_by_names() -> Result<()> {
    TestCluster::with(async |cluster| {
        let (operator, endpoints) = guard(cluster, &json!({"userInfo": {"mode": "Enforce"}})).await?;
        let texts = |groups: &[&str]| groups.iter().map(ToString::to_string).collect::<Vec<_>>();
        let plain: Vec<String> = (0..32).map(|number| format!("cn-team-{number}-ou-groups")).collect();
        let teams: Vec<String> = (0..32).map(|number| format!("cn=team {number},ou=groups")).collect();
        let accounts = ["system:serviceaccounts", "system:serviceaccounts:spark", "system:authenticated"];
        let cases = [
            ("a plain name, 2 groups", "sue", texts(&["devs", "system:authenticated"]), 0),
            ("a service account", "system:serviceaccount:spark:driver", texts(&accounts), 3),
            ("32 groups", "ann", plain, 0),
            ("32 groups with aliases", "ann", teams, 32),
        ];
        let bodies: Vec<String> =
            cases.iter().map(|(_, user, groups, _)| pod_review(user, groups).to_string()).collect();
        let mut figures: Vec<Figures> = cases.iter().map(|_| Figures::default()).collect();
        let mut spent = cases.each_ref().map(|_| Duration::ZERO);
        for _ in 0..TURNS {
            for ((case, body), (figures, spent)) in
                cases.iter().zip(&bodies).zip(figures.iter_mut().zip(&mut spent))
            {
                let load = Load { endpoints: &endpoints, path: "/user-info", token: "", body };
                let answer: Value = serde_json::from_slice(&load.answer().await?)?;
                let patch: ByteString = serde_json::from_value(answer["response"]["patch"].clone())?;
                let aliases = String::from_utf8(patch.0)?.matches("qw-").count();
                ensure!(aliases == case.3, "{}: {aliases} aliases: {answer}", case.0);
                let before = operator.usage()?.cpu;
                figures.add(load.figures(1).await?);
                *spent += operator.usage()?.cpu.saturating_sub(before);
            }
        }
        for ((case, figures), spent) in cases.iter().zip(&figures).zip(spent) {
            let each = spent / u32::try_from(figures.latencies.len())?;
            println!("{:<24} {:>2} aliases: {figures}   {each:>9.3?} of processor time each", case.0, case.3);
        }
        Ok(())
    })
    .await
}
