//! Tests `kubectl auth can-i` through an API server that queries queuewarden, and an API server whose
//! authorizer is broken.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, Endpoints, Operator, TestCluster, eventually};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::operator::{configure, grant};

/// Flags that limit how long the API server caches answers.
const TTL: &[&str] = &["--authorized-ttl=2s", "--unauthorized-ttl=1s"];
const PROD: &str = "queues.queuewarden.dev/root.prod";
/// A resource `queues` that the API server serves, so that kubectl sends its group.
const SERVED: &str = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: queues.queuewarden.dev}
spec:
  group: queuewarden.dev
  scope: Cluster
  names: {kind: Queue, plural: queues, singular: queue}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object}}
";

/// Returns an operator that serves its endpoints, with sue in root.prod, which ops administer.
async fn endpoints(cluster: &TestCluster) -> Result<Option<(Operator<'_>, Endpoints)>> {
    if !cluster.can_run(&[Capability::OperatorProcess, Capability::ApiServerProcess])? {
        return Ok(None);
    }
    cluster.install().await?;
    cluster.apply_kustomization("manifests/authorizer").await?;
    cluster.apply_kustomization("manifests/applications").await?;
    configure(cluster, "").await?;
    let (operator, endpoints) = Operator::start_serving(cluster, &["--applications=pods"]).await?;
    grant(cluster, "prod", "root.prod", "submit: {users: [sue]}, admin: {groups: [ops]}").await?;
    Ok(Some((operator, endpoints)))
}

#[tokio::test]
async fn can_i_accepts_every_spelling() -> Result<()> {
    TestCluster::with(async |cluster| {
        let Some((operator, endpoints)) = endpoints(cluster).await? else { return Ok(()) };
        cluster.authorize_by_queuewarden(&endpoints, TTL).await?;
        for name in
            [PROD, "queue.queuewarden.dev/ROOT.Prod", "queues.v1alpha1.access.queuewarden.dev/root.prod"]
        {
            everyone_is_answered(cluster, name).await?;
        }
        written_down(&operator).await?;
        ensure!(cluster.can_i("sue", "x", &["submit", "/yunikorn/queues/root.prod"]).await?.yes);
        ensure!(!cluster.can_i("bob", "x", &["submit", "/yunikorn/queues/root.prod"]).await?.yes);
        // For a query about all queues, only the root's grants matter.
        ensure!(!cluster.can_i("sue", "x", &["submit", "queues.queuewarden.dev"]).await?.yes);
        // A role with every verb does not make the scheduler accept anything.
        cluster
            .kubectl(&[
                "create",
                "clusterrolebinding",
                "e2e-everything",
                "--clusterrole=cluster-admin",
                "--user=bob",
            ])
            .await?;
        let bob = cluster.can_i("bob", "x", &["submit", PROD]).await?;
        let rbac = cluster.can_i("bob", "x", &["get", PROD]).await?;
        cluster.kubectl(&["delete", "clusterrolebinding", "e2e-everything"]).await?;
        ensure!(!bob.yes && rbac.yes, "{bob:?} {rbac:?}");
        // The answers are the same when the API server knows the resource.
        cluster.apply_text(SERVED, "tests").await?;
        cluster.crds_established().await?;
        let served = everyone_is_answered(cluster, PROD).await;
        cluster.kubectl(&["delete", "crd", "queues.queuewarden.dev"]).await?;
        served
    })
    .await
}

/// Checks that each decision is counted, and logged with the caller and the subject.
async fn written_down(operator: &Operator<'_>) -> Result<()> {
    for (verb, decision, clause) in [
        ("submit", "allowed", "submitacl"),
        ("submit", "allowed", "adminacl"),
        ("submit", "denied", "acl"),
        ("administer", "denied", "acl"),
    ] {
        let labels = format!(r#"verb="{verb}",decision="{decision}",clause="{clause}""#);
        ensure!(operator.metric("queuewarden_decisions_total", &labels).await? >= 1.0, "{labels}");
    }
    let log = operator.log().await?;
    let parts = ["queuewarden::audit", r#""endpoint":"authorize""#, r#""user":"bob""#, r#""clause":"acl""#];
    let line = log.lines().find(|line| parts.iter().all(|part| line.contains(part)));
    ensure!(line.is_some_and(|line| line.contains(r#""queue":"root.prod""#)), "{line:?} {log}");
    Ok(())
}

async fn everyone_is_answered(cluster: &TestCluster, name: &str) -> Result<()> {
    let cases = [
        ("sue", "x", "submit", true),
        ("sue", "x", "use", true),
        ("sue", "x", "administer", false),
        ("bob", "x", "submit", false),
        ("bob", "ops", "submit", true),
        ("bob", "ops", "administer", true),
    ];
    for (user, group, verb, expected) in cases {
        let said = cluster.can_i(user, group, &[verb, name]).await?;
        ensure!(said.yes == expected, "{user} in {group} {verb} {name}: {said:?}");
        if !expected {
            ensure!(said.out.contains("root.prod") && said.out.contains(user), "no reason: {said:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn revoked_access_ends_within_the_ttl() -> Result<()> {
    TestCluster::with(async |cluster| {
        let Some((_operator, endpoints)) = endpoints(cluster).await? else { return Ok(()) };
        cluster.authorize_by_queuewarden(&endpoints, TTL).await?;
        ensure!(cluster.can_i("sue", "x", &["submit", PROD]).await?.yes);
        cluster.kubectl(&["delete", "queueacl", "prod"]).await?;
        let begin = Instant::now();
        eventually("sue's right to be gone", PATIENCE, || async {
            let said = cluster.can_i("sue", "x", &["submit", PROD]).await?;
            Ok((!said.yes).then_some(()))
        })
        .await?;
        println!("a right was gone {:?} after its QueueAcl, with a TTL of 2 s", begin.elapsed());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn in_cluster_callers_create_reviews_directly() -> Result<()> {
    TestCluster::with(async |cluster| {
        let Some((_operator, endpoints)) = endpoints(cluster).await? else { return Ok(()) };
        let authorizer = cluster.authorize_by_queuewarden(&endpoints, TTL).await?;
        cluster.apply_text(
            "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: job, namespace: queuewarden-e2e}\n",
            "tests",
        )
        .await?;
        let job = cluster.kubectl(&["create", "token", "job", "--namespace", NAMESPACE]).await?;
        let review = |kind: &str, user: &str| {
            serde_json::json!({"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": {"user": user, "groups": [],
                "resourceAttributes": {"verb": "submit", "group": "queuewarden.dev", "resource": "queues", "name": "root.prod"}}})
        };
        let client = endpoints.client()?;
        let cases = [
            (authorizer.token.as_str(), "subjectaccessreviews", review("SubjectAccessReview", "sue"), 201),
            (job.trim(), "subjectaccessreviews", review("SubjectAccessReview", "sue"), 403),
            (job.trim(), "selfsubjectaccessreviews", review("SelfSubjectAccessReview", ""), 201),
            ("nonsense", "subjectaccessreviews", review("SubjectAccessReview", "sue"), 401),
        ];
        for (token, path, body, expected) in cases {
            let url = endpoints.url(&format!("/apis/authorization.k8s.io/v1/{path}"));
            let answer = client.post(url).bearer_auth(token).body(body.to_string()).send().await?;
            let (code, text) = (answer.status().as_u16(), answer.text().await?);
            ensure!(code == expected, "{path}: {code} {text}");
            if expected == 201 {
                let answer: serde_json::Value = serde_json::from_str(&text)?;
                ensure!(answer["status"]["allowed"] == (body["spec"]["user"] == "sue"), "{text}");
            }
        }
        Ok(())
    })
    .await
}

/// A namespace where only administrators have permissions by RBAC.
const ELSEWHERE: &str = "default";

/// Returns a pod of sue's in root.prod that looks like a Spark driver.
fn driver() -> String {
    serde_json::json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "e2e-driver", "namespace": ELSEWHERE,
            "labels": {"spark-app-selector": "spark-1", "queue": "root.prod"},
            "annotations": {"yunikorn.apache.org/user.info": r#"{"user":"sue","groups":["x"]}"#, "queuewarden.dev/view-acl": "vic"}},
        "spec": {"schedulerName": "yunikorn", "containers": [{"name": "c", "image": "x"}]},
    })
    .to_string()
}

#[tokio::test]
async fn queue_administrators_may_kill_running_applications() -> Result<()> {
    TestCluster::with(async |cluster| {
        let Some((operator, endpoints)) = endpoints(cluster).await? else { return Ok(()) };
        cluster.authorize_by_queuewarden(&endpoints, &[TTL, &["--pods"]].concat()).await?;
        cluster.kubectl_with_input(&["apply", "-f", "-"], &driver()).await?;
        let ended = async {
            let application = "applications.queuewarden.dev/spark-1";
            eventually("the application to be known", PATIENCE, || async {
                Ok(cluster
                    .can_i("sue", "x", &["kill", application, "-n", ELSEWHERE])
                    .await?
                    .yes
                    .then_some(()))
            })
            .await?;
            for (user, group, question, expected) in [
                ("bob", "ops", ["kill", application], true),
                ("bob", "x", ["kill", application], false),
                ("vic", "x", ["logs", application], true),
                ("vic", "x", ["kill", application], false),
                ("sue", "x", ["kill", "applications.queuewarden.dev/spark-2"], false),
                ("bob", "ops", ["delete", "pods/e2e-driver"], true),
                ("bob", "ops", ["get", "pods/e2e-driver"], false),
                ("vic", "x", ["delete", "pods/e2e-driver"], false),
                ("bob", "ops", ["delete", "pods"], false),
            ] {
                let said = cluster.can_i(user, group, &[&question[..], &["-n", ELSEWHERE]].concat()).await?;
                ensure!(said.yes == expected, "{user} in {group} {question:?}: {said:?}");
            }
            moved(cluster, application).await?;
            let watched = r#"resource="pods""#;
            let heard = operator.metric("queuewarden_watch_last_progress_timestamp_seconds", watched).await?;
            ensure!(heard > 1_700_000_000.0, "the watch of the pods was last heard from at {heard}");
            let log = ["get", "pods/e2e-driver", "--subresource=log", "-n", ELSEWHERE];
            ensure!(
                cluster.can_i("vic", "x", &log).await?.yes && !cluster.can_i("bob", "x", &log).await?.yes
            );
            let delete = ["delete", "pod", "e2e-driver", "-n", ELSEWHERE, "--wait=false", "--as"];
            let refused = cluster.kubectl(&[&delete[..], &["vic"]].concat()).await;
            ensure!(refused.is_err_and(|error| error.to_string().contains("forbidden")));
            cluster.kubectl(&[&delete[..], &["bob", "--as-group", "ops"]].concat()).await?;
            Ok(())
        };
        let ended = ended.await;
        cluster
            .kubectl(&["delete", "pod", "e2e-driver", "-n", ELSEWHERE, "--ignore-not-found", "--force"])
            .await?;
        ended
    })
    .await
}

/// Writes lists that admit everyone to the annotations of a pod: the API server refuses it, and without its
/// rule it has no effect.
async fn open_to_everyone(cluster: &TestCluster, pod: &str) -> Result<()> {
    let lists = ["queuewarden.dev/view-acl=*", "queuewarden.dev/modify-acl=*", "--overwrite"];
    let annotate = [&["annotate", "pod", pod, "-n", ELSEWHERE][..], &lists].concat();
    let dry = [&annotate[..], &["--dry-run=server"]].concat();
    eventually("the API server to refuse it", PATIENCE, || async {
        let refused = cluster.kubectl(&dry).await.is_err_and(|error| {
            let error = error.to_string();
            error.contains("queuewarden-application-acls") && error.contains("cannot be changed later")
        });
        Ok(refused.then_some(()))
    })
    .await?;
    cluster.kubectl(&["delete", "validatingadmissionpolicybinding", "queuewarden-application-acls"]).await?;
    eventually("the annotations to be written", PATIENCE, || async {
        cluster.kubectl(&annotate).await.map(|_| Some(()))
    })
    .await
}

#[tokio::test]
async fn application_keeps_its_initial_owner_and_lists() -> Result<()> {
    TestCluster::with(async |cluster| {
        let Some((_operator, endpoints)) = endpoints(cluster).await? else { return Ok(()) };
        cluster.authorize_by_queuewarden(&endpoints, &[TTL, &["--pods"]].concat()).await?;
        let of = |name: &str, application: &str, user: &str| {
            driver().replace("e2e-driver", name).replace("spark-1", application).replace("sue", user)
        };
        let pods = ["e2e-older", "e2e-driver", "e2e-marker"];
        let ended = async {
            for (pod, application, user) in
                [(pods[0], "spark-0", "mallory"), (pods[1], "spark-1", "sue"), (pods[2], "spark-2", "sue")]
            {
                cluster.kubectl_with_input(&["apply", "-f", "-"], &of(pod, application, user)).await?;
                let name = format!("applications.queuewarden.dev/{application}");
                eventually("the application to be known", PATIENCE, || async {
                    let said = cluster.can_i(user, "x", &["kill", &name, "-n", ELSEWHERE]).await?;
                    Ok(said.yes.then_some(()))
                })
                .await?;
                if pod == pods[1] {
                    let label = ["label", "pod", pods[0], "spark-app-selector=spark-1", "--overwrite", "-n"];
                    cluster.kubectl(&[&label[..], &[ELSEWHERE]].concat()).await?;
                    open_to_everyone(cluster, pods[1]).await?;
                }
            }
            let application = "applications.queuewarden.dev/spark-1";
            for (user, question, expected) in [
                ("sue", ["kill", application], true),
                ("mallory", ["kill", application], false),
                ("vic", ["logs", application], true),
                ("eve", ["logs", application], false),
                ("eve", ["kill", application], false),
                ("eve", ["delete", "pods/e2e-driver"], false),
                ("mallory", ["kill", "applications.queuewarden.dev/spark-0"], true),
            ] {
                let said = cluster.can_i(user, "x", &[&question[..], &["-n", ELSEWHERE]].concat()).await?;
                ensure!(said.yes == expected, "{user} {question:?}: {said:?}");
            }
            Ok(())
        };
        let ended = ended.await;
        for pod in pods {
            let delete = ["delete", "pod", pod, "-n", ELSEWHERE, "--ignore-not-found", "--force"];
            cluster.kubectl(&delete).await?;
        }
        ended
    })
    .await
}

/// Checks a move with both queues: the right to take the application out of root.prod, and the right to put
/// it into another one.
async fn moved(cluster: &TestCluster, application: &str) -> Result<()> {
    grant(cluster, "dev", "root.dev", "submit: {users: [sue, eve]}").await?;
    for (user, group, queue, expected) in [
        ("sue", "x", "root.dev", true),
        ("bob", "ops", "root.dev", false),
        ("eve", "x", "root.dev", false),
        ("bob", "ops", "root.prod", true),
        ("sue", "x", "root.nowhere", false),
    ] {
        let target = format!("--subresource={queue}");
        let said = cluster.can_i(user, group, &["move", application, &target, "-n", ELSEWHERE]).await?;
        ensure!(said.yes == expected, "{user} in {group} moves it to {queue}: {said:?}");
        // A denial names the queue that causes it: for eve, who has no rights there, the current queue,
        // otherwise the other one.
        let part = if user == "eve" { "root.prod" } else { queue };
        ensure!(expected || said.out.contains(part), "no reason: {said:?}");
    }
    ensure!(
        !cluster.can_i("sue", "x", &["move", application, "-n", ELSEWHERE]).await?.yes,
        "to nowhere at all"
    );
    Ok(())
}

/// An authorizer that is broken in a chosen way.
struct Broken {
    address: String,
    how: Arc<AtomicU8>,
    task: JoinHandle<()>,
}

const HANGS: u8 = 0;
const GARBAGE: u8 = 1;
const FAILS: u8 = 2;
const CLOSES: u8 = 3;

impl Broken {
    async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let how = Arc::new(AtomicU8::new(HANGS));
        let shared = Arc::clone(&how);
        let task = tokio::spawn(async move {
            let mut hanging = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let answer = match shared.load(Ordering::Relaxed) {
                    GARBAGE => "HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\n<garbage>",
                    FAILS => "HTTP/1.1 500 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
                    CLOSES => continue,
                    _ => {
                        hanging.push(stream);
                        continue;
                    }
                };
                tokio::spawn(async move {
                    // The request arrives in one piece, or enough of it does, because the answer does not
                    // depend on it.
                    let mut request = [0; 4096];
                    let _ = stream.read(&mut request).await;
                    let _ = stream.write_all(answer.as_bytes()).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        Ok(Self { address, how, task })
    }
}

impl Drop for Broken {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test]
async fn broken_authorizer_does_not_break_the_cluster() -> Result<()> {
    TestCluster::with(async |cluster| {
        let Some((operator, endpoints)) = endpoints(cluster).await? else { return Ok(()) };
        let authorizer = cluster.authorize_by_queuewarden(&endpoints, TTL).await?;
        ensure!(cluster.can_i("sue", "x", &["submit", PROD]).await?.yes);
        drop(operator);
        eventually("the last yes to be forgotten", PATIENCE, || async {
            Ok((!cluster.can_i("sue", "x", &["submit", PROD]).await?.yes).then_some(()))
        })
        .await?;
        cluster_works(cluster, "down").await?;

        // The same configuration with another address.
        let broken = Broken::start().await?;
        let kubeconfig = std::fs::read_to_string(&authorizer.kubeconfig)?;
        let other = authorizer.kubeconfig.with_extension("broken");
        let plain = kubeconfig
            .replace(&format!("https://{}", endpoints.address), &format!("http://{}", broken.address));
        let unwanted = ["certificate-authority", "tls-server-name"];
        let lines = plain.lines().filter(|line| !unwanted.iter().any(|word| line.contains(word)));
        let plain = lines.collect::<Vec<_>>().join("\n");
        std::fs::write(&other, plain)?;
        let old = authorizer.kubeconfig.to_string_lossy().into_owned();
        cluster.authorize_by(&authorizer.configuration.replace(&old, &other.to_string_lossy())).await?;
        for (how, name) in [(HANGS, "slow"), (GARBAGE, "garbage"), (FAILS, "500"), (CLOSES, "closed")] {
            broken.how.store(how, Ordering::Relaxed);
            let begin = Instant::now();
            // A different name each time, so that no cached answer is used.
            let said = cluster
                .can_i("sue", "x", &["submit", &format!("queues.queuewarden.dev/root.{name}")])
                .await?;
            ensure!(!said.yes, "{name}: {said:?}");
            println!("{name}: no after {:?}: {}", begin.elapsed(), said.out.trim());
            ensure!(begin.elapsed() < Duration::from_secs(20), "{name}: {:?}", begin.elapsed());
            cluster_works(cluster, name).await?;
        }
        Ok(())
    })
    .await
}

/// Checks that requests which do not concern queuewarden do not wait for it.
async fn cluster_works(cluster: &TestCluster, how: &str) -> Result<()> {
    let begin = Instant::now();
    ensure!(cluster.can_i("sue", "x", &["list", "pods", "--namespace", NAMESPACE]).await?.yes, "{how}");
    ensure!(!cluster.can_i("sue", "x", &["list", "secrets", "--namespace", NAMESPACE]).await?.yes, "{how}");
    cluster
        .kubectl(&[
            "get",
            "pods",
            "--namespace",
            NAMESPACE,
            "--as",
            "sue",
            "--as-group",
            "system:authenticated",
        ])
        .await?;
    cluster.kubectl(&["create", "configmap", "e2e-broken", "--namespace", NAMESPACE]).await?;
    cluster.kubectl(&["delete", "configmap", "e2e-broken", "--namespace", NAMESPACE]).await?;
    println!("{how}: five commands took {:?}", begin.elapsed());
    Ok(())
}
