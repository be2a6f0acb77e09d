//! Compares the queues where generated pods are actually placed, or their rejections, with the evaluator's
//! prediction.
//!
//! Pods of different users, with different labels, in namespaces with different annotations, are created in
//! sequence. For each pod, the test reads the scheduler's queues, makes the prediction, and then lets the
//! scheduler decide.

use std::collections::BTreeMap;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use queuewarden_e2e::pods::USER_INFO;
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::yunikorn::{Rest, version};
use queuewarden_e2e::{Capability, TestCluster, assets, eventually};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use yunikorn::admission;
use yunikorn::admission::request::{
    APP_ID, APPLICATION_ID, OLD_QUEUE, PARENT_QUEUE, QUEUE, SPARK_APP_SELECTOR,
};
use yunikorn::config::names::is_user;
use yunikorn::config::verdict;
use yunikorn::identity::Identity;
use yunikorn_access::Tree;
use yunikorn_access::placement::{Live, LiveQueue, Naming, Outcome, Placer, Workload};

/// The number of pods.
const PODS: usize = 50;
/// The seed that selects the pods.
const SEED: [u8; 32] = *b"where do generated pods land ...";

/// A configuration with every rule, a chain of parents, each kind of filter, and queues that some of the
/// users may not use.
const QUEUES: &str = r#"
partitions:
  - name: default
    placementrules:
      - name: provided
        create: true
        filter: {type: allow, users: ["^(alice|eve)"], groups: [ops, devs]}
      - name: user
        create: true
        filter: {type: allow, users: [bob, carol.x, "dave@corp"]}
        parent:
          name: tag
          value: namespace
          create: true
          parent: {name: tag, value: namespace.parentqueue}
      - name: tag
        value: namespace
        parent: {name: fixed, value: tenants}
      - name: tag
        value: imagePullSecrets
        create: true
      - name: fixed
        value: shared
        filter: {type: deny, groups: ["^(qa|guests)$"]}
    queues:
      - name: root
        submitacl: "root-user"
        queues:
          - {name: prod, submitacl: "alice ops", queues: [{name: etl}, {name: batch, submitacl: "eve"}]}
          - {name: tenants, parent: true, submitacl: "bob,carol,sam devs", queues: [{name: place-one}]}
          - {name: open, parent: true, submitacl: "*"}
          - {name: shared, submitacl: "frank,lena qa,devs"}
          - {name: single, submitacl: "*"}
          - {name: gone, submitacl: "*"}
          - {name: default, submitacl: "grace,nobody guests"}
"#;

/// The namespaces, each with the annotation about its parent queue.
const NAMESPACES: [(&str, &str); 5] = [
    ("place-none", ""),
    ("place-one", "root.tenants"),
    ("place-two", "root.open"),
    ("place-leaf", "root.single"),
    ("place-absent", "root.not.there"),
];

/// How a pod states its user.
#[derive(Debug, Clone)]
enum Person {
    /// In the annotation, with groups.
    Annotated(&'static str, Vec<&'static str>),
    /// In the label, which holds only a name.
    Labelled(&'static str),
    /// In an annotation that is not JSON.
    Garbled,
    Nobody,
}

#[derive(Debug, Clone)]
struct Drawn {
    person: Person,
    namespace: (&'static str, &'static str),
    queue: (&'static str, &'static str),
    /// The location of the application's ID.
    id: &'static str,
    running: bool,
    secrets: Vec<&'static str>,
}

#[tokio::test]
async fn generated_pods_are_placed_as_predicted() -> Result<()> {
    TestCluster::with(async |cluster| {
        // The scheduler caches users that it has seen earlier.
        if !cluster.can_run(&[Capability::SchedulerProcess])? {
            return Ok(());
        }
        let outcome = submit_all(cluster).await;
        // A bound pod that remains would be an application in the next test too.
        for (namespace, _) in NAMESPACES {
            let pods: Api<Pod> = Api::namespaced(cluster.client()?, namespace);
            pods.delete_collection(&DeleteParams::default().grace_period(0), &ListParams::default()).await?;
        }
        outcome
    })
    .await
}

async fn submit_all(cluster: &TestCluster) -> Result<()> {
    for (name, parent) in NAMESPACES {
        create_namespace(cluster, name, parent).await?;
    }
    configure(cluster, QUEUES).await?;
    let drawn = draw()?;
    let mut ends = BTreeMap::new();
    for (number, drawn) in drawn.iter().enumerate() {
        *ends.entry(submit(cluster, QUEUES, number, drawn).await?).or_insert(0) += 1;
    }
    // A queue that is removed from the configuration while an application runs in it drains.
    let person = || Person::Annotated("eve", vec!["x"]);
    let ask = |queue, namespace| Drawn {
        person: person(),
        namespace,
        queue: (QUEUE, queue),
        id: APP_ID,
        running: false,
        secrets: Vec::new(),
    };
    let first = submit(cluster, QUEUES, PODS, &ask("root.gone", NAMESPACES[0])).await?;
    ensure!(first == "root.gone", "{first}");
    let text = QUEUES.replace("          - {name: gone, submitacl: \"*\"}\n", "");
    configure(cluster, &text).await?;
    let second = submit(cluster, &text, PODS + 1, &ask("root.gone", NAMESPACES[1])).await?;
    ensure!(second == "application rejected: no placement rule matched", "{second}");

    println!("{ends:#?}");
    let placed: usize = ends.iter().filter(|(end, _)| end.starts_with("root.")).map(|(_, count)| count).sum();
    ensure!(ends.len() >= 12 && placed * 4 > PODS && placed * 4 < 3 * PODS, "too much alike: {ends:?}");
    Ok(())
}

/// Predicts, submits and compares. Returns the outcome: the queue, or `YuniKorn`'s message after the
/// application's ID.
async fn submit(cluster: &TestCluster, text: &str, number: usize, drawn: &Drawn) -> Result<String> {
    let rest = cluster.yunikorn()?;
    let pod = drawn.pod(number)?;
    let workload = drawn.workload(&pod);
    let id = workload.application_id(Naming::PerNamespace);
    let predicted = predict(text, &workload, &drawn.person, &rest).await?;
    let reported = reported(cluster, &pod, &drawn.person).await?;
    ensure!(reported == predicted, "{drawn:?}\n  predicted {predicted:?}\n  the command line {reported:?}");
    let pods: Api<Pod> = Api::namespaced(cluster.client()?, drawn.namespace.0);
    pods.create(&PostParams::default(), &pod).await.with_context(|| format!("{drawn:?}"))?;
    let what = format!("a decision about {drawn:?}, predicted {predicted:?}");
    let real = eventually(&what, LONG, || decision(&rest, &id)).await?;
    ensure!(real == predicted, "{drawn:?}\n  predicted {predicted:?}\n  YuniKorn  {real:?}");
    Ok(match real {
        Ok(queue) => queue,
        Err(message) => message.replace(&format!("failed to place application {id}: "), "").replace(&id, "…"),
    })
}

async fn predict(
    text: &str,
    workload: &Workload,
    person: &Person,
    rest: &Rest,
) -> Result<std::result::Result<String, String>> {
    let identity = match person.identity() {
        Ok(identity) => identity,
        Err(message) => return Ok(Err(message)),
    };
    let config = verdict(text, &[], version()?).config.context("an invalid configuration")?;
    let tree = Tree::new(config.partition("default").context("no partition")?)?;
    let mut live = Live::default();
    for queue in rest.queues().await? {
        let draining = queue.status == "Draining";
        if draining || !queue.managed {
            live.insert(&queue.path, LiveQueue { leaf: queue.leaf, draining });
        }
    }
    let submission = workload.submission(identity, Naming::PerNamespace);
    match Placer::with_live(&tree, live).place(&submission).outcome {
        Outcome::Placed(queue) => Ok(Ok(queue)),
        Outcome::Rejected(message) => Ok(Err(message)),
        open => anyhow::bail!("no prediction: {open:?}"),
    }
}

/// Returns the command line's answer about the manifest of the pod, with access to the scheduler.
async fn reported(
    cluster: &TestCluster,
    pod: &Pod,
    person: &Person,
) -> Result<std::result::Result<String, String>> {
    let program = tokio::task::spawn_blocking(assets::operator).await??;
    let url = cluster.scheduler_url();
    let mut command = tokio::process::Command::new(program);
    command.args(["place", "--workload", "-", "--live", "--scheduler-url", url, "-o", "json"]);
    if matches!(person, Person::Nobody) {
        // Otherwise the answer would be about the caller.
        command.args(["--as", "nobody"]);
    }
    let mut child = command
        .env("KUBECONFIG", cluster.kubeconfig())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut stdin = child.stdin.take().context("no input")?;
    stdin.write_all(&serde_json::to_vec(pod)?).await?;
    drop(stdin);
    let output = child.wait_with_output().await?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let answer: Value = serde_json::from_slice(&output.stdout).with_context(|| errors.to_string())?;
    let text = |key: &str| answer.get(key).and_then(Value::as_str).map(str::to_owned);
    match (output.status.code(), text("queue"), text("message")) {
        (Some(0), Some(queue), None) => Ok(Ok(queue)),
        (Some(1), None, Some(message)) => Ok(Err(message)),
        other => anyhow::bail!("{other:?}: {answer}\n{errors}"),
    }
}

/// Returns the queue of the application, or why it was rejected; `None` if it is undecided.
async fn decision(rest: &Rest, id: &str) -> Result<Option<std::result::Result<String, String>>> {
    let active = rest.get("/ws/v1/partition/default/applications/active").await?;
    let of = |application: &Value| application["applicationID"] == id;
    if let Some(application) = active.as_array().into_iter().flatten().find(|application| of(application)) {
        return Ok(application["queueName"].as_str().map(|queue| Ok(queue.to_owned())));
    }
    let rejected = rest.rejected_applications().await?;
    Ok(rejected
        .into_iter()
        .find(|application| application.application_id == id)
        .map(|application| Err(application.rejected_message)))
}

async fn configure(cluster: &TestCluster, text: &str) -> Result<()> {
    cluster.set_configs(text).await?;
    cluster.yunikorn()?.wait_for_text(text, PATIENCE).await
}

async fn create_namespace(cluster: &TestCluster, name: &str, parent: &str) -> Result<()> {
    cluster.create_namespace(name).await?;
    let annotations = json!({"metadata": {"annotations": annotations(parent)}});
    let namespaces: Api<Namespace> = Api::all(cluster.client()?);
    namespaces.patch(name, &PatchParams::default(), &Patch::Merge(annotations)).await?;
    Ok(())
}

fn annotations(parent: &str) -> BTreeMap<String, String> {
    let parent = Some(parent).filter(|parent| !parent.is_empty());
    parent.map(|parent| (PARENT_QUEUE.to_owned(), parent.to_owned())).into_iter().collect()
}

impl Person {
    /// Returns the identity as the shim reads it from the pod (k8shim `pkg/common/utils/utils.go:349`), and
    /// the core resolves it without a resolver (`pkg/common/security/usergroup.go:148`).
    fn identity(&self) -> std::result::Result<Identity, String> {
        let (user, groups) = match self {
            Self::Annotated("", groups) => ("nobody", groups.clone()),
            Self::Annotated(user, groups) => (*user, groups.clone()),
            Self::Labelled(user) => (*user, Vec::new()),
            Self::Garbled | Self::Nobody => ("nobody", Vec::new()),
        };
        if !groups.is_empty() && !is_user(user) {
            return Err("invalid username, it contains invalid characters".to_owned());
        }
        let groups = if groups.is_empty() { vec![user] } else { groups };
        Ok(Identity { user: user.to_owned(), groups: groups.into_iter().map(str::to_owned).collect() })
    }
}

impl Drawn {
    fn pod(&self, number: usize) -> Result<Pod> {
        let [mut labels, mut annotations] = [BTreeMap::new(), BTreeMap::new()];
        let id = format!("place-{number}");
        let (key, queue) = self.queue;
        if !queue.is_empty() {
            // An annotation can contain text that no label may contain.
            let fits = queue.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
            let (map, key) = if fits { (&mut labels, key) } else { (&mut annotations, QUEUE) };
            map.insert(key, queue.to_owned());
        }
        match self.id {
            "annotation" => annotations.insert(APP_ID, id.clone()),
            label => labels.insert(label, id.clone()),
        };
        match &self.person {
            Person::Annotated(user, groups) => {
                annotations.insert(USER_INFO, json!({"user": user, "groups": groups}).to_string());
            }
            Person::Labelled(user) => {
                labels.insert("yunikorn.apache.org/username", (*user).to_owned());
            }
            Person::Garbled => {
                annotations.insert(USER_INFO, "{user: alice}".to_owned());
            }
            Person::Nobody => {}
        }
        let secrets: Vec<Value> = self.secrets.iter().map(|name| json!({"name": name})).collect();
        let node = if self.running { json!("node") } else { Value::Null };
        Ok(serde_json::from_value(json!({
            "metadata": {"name": id, "namespace": self.namespace.0, "labels": labels, "annotations": annotations},
            "spec": {
                "schedulerName": "yunikorn",
                "nodeName": node,
                "imagePullSecrets": secrets,
                "terminationGracePeriodSeconds": 0,
                "containers": [{
                    "name": "pause",
                    "image": "registry.k8s.io/pause:3.10",
                    "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}},
                }],
            },
        }))?)
    }

    fn workload(&self, pod: &Pod) -> Workload {
        Workload {
            namespace: self.namespace.0.to_owned(),
            namespace_annotations: annotations(self.namespace.1),
            pod: admission::Pod {
                labels: pod.metadata.labels.clone().unwrap_or_default(),
                annotations: pod.metadata.annotations.clone().unwrap_or_default(),
                scheduler_name: "yunikorn".to_owned(),
                ..admission::Pod::default()
            },
            node_name: if self.running { "node".to_owned() } else { String::new() },
            image_pull_secrets: self.secrets.iter().map(ToString::to_string).collect(),
        }
    }
}

/// Generates the pods, the same ones each time.
fn draw() -> Result<Vec<Drawn>> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &SEED);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let tree = vec(drawn(), PODS).new_tree(&mut runner);
    Ok(tree.map_err(|reason| anyhow::anyhow!("{reason}"))?.current())
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let queue = select(vec![
        "",
        "",
        "root.prod.etl",
        "root.prod.batch",
        "root.PROD.etl",
        "root.prod",
        "etl",
        "team.a",
        "root.open.new.er",
        "root.single.below",
        "root.a b",
        "root.@recovery@",
        "ROOT.prod.etl",
        "root.shared",
        "root.tenants.place-one",
    ]);
    let key = select(vec![QUEUE, OLD_QUEUE]);
    let id = select(vec![APP_ID, APPLICATION_ID, SPARK_APP_SELECTOR, "annotation", APP_ID]);
    let running = prop::bool::weighted(0.12);
    let secrets = select(vec![vec![], vec![], vec![], vec!["registry"], vec!["one", "two"]]);
    (person(), select(NAMESPACES.to_vec()), key, queue, id, running, secrets).prop_map(
        |(person, namespace, key, queue, id, running, secrets)| Drawn {
            person,
            namespace,
            queue: (key, queue),
            id,
            running,
            secrets,
        },
    )
}

/// Generates people. A user without groups never also occurs with groups, because the scheduler remembers
/// groups (1.8.0).
fn person() -> impl Strategy<Value = Person> {
    let groups = select(vec![
        vec!["devs"],
        vec!["ops", "system:authenticated"],
        vec!["qa"],
        vec!["guests", "x"],
        vec!["system:authenticated"],
    ]);
    let user = select(vec![
        "alice",
        "eve",
        "bob",
        "bob",
        "carol.x",
        "dave@corp",
        "frank",
        "grace",
        "alice2",
        "root-user",
        "sam$",
    ]);
    let invalid = select(vec!["auth0|123", "1up", "CN=x,O=y", "été", "with space"]);
    prop_oneof![
        12 => (user, groups.clone()).prop_map(|(user, groups)| Person::Annotated(user, groups)),
        2 => (invalid, groups).prop_map(|(user, groups)| Person::Annotated(user, groups)),
        1 => Just(Person::Annotated("system:serviceaccount:ns:sa", vec!["system:serviceaccounts"])),
        2 => select(vec!["lena", "carol"]).prop_map(Person::Labelled),
        1 => Just(Person::Annotated("", vec!["nobody"])),
        1 => Just(Person::Annotated("alone", vec![])),
        1 => Just(Person::Garbled),
        1 => Just(Person::Nobody),
    ]
}
