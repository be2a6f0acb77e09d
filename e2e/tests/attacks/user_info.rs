//! Attacks on `/user-info` and `/user-info/check`: another user's name on a workload, in every kind and form.

use serde_json::{Value, json};

use super::Expected::{Denied, Refused};
use super::stage::SPARK;
use super::{Attack, NOTHING, Step, as_sent, get, nest, post, review, with};
use crate::user_info::{claim, merged};

const ADD: &str = "/user-info";
const CHECK: &str = "/user-info/check";
const INFO: &str = "yunikorn.apache.org/user.info";
const POD: (&str, &str, &str) = ("", "Pod", "pods");
const DEPLOYMENT: (&str, &str, &str) = ("apps", "Deployment", "deployments");
const RAY: (&str, &str, &str) = ("ray.io", "RayCluster", "rayclusters");
/// The path of the annotations of a workload's pods.
const TEMPLATE: &str = "spec.template.metadata.annotations";
const BOSS: &str = "it names user `boss`";

fn added(name: &'static str, review: &Value, words: &'static [&'static str]) -> Attack {
    Attack::by_stranger(name, post(ADD, review), Denied(words))
}

fn checked(name: &'static str, review: &Value, words: &'static [&'static str]) -> Attack {
    Attack::by_stranger(name, post(CHECK, review), Denied(words))
}

/// Returns a pod with this value of the annotation.
fn pod(said: &Value) -> Value {
    review(POD, &json!({"metadata": {"annotations": {INFO: said}}}))
}

pub(super) fn attacks() -> Vec<Attack> {
    [kinds(), forms(), lookalikes(), duplicates(), changes(), unreadable(), requests()].concat()
}

/// Returns attacks with the boss's name at every location that a pod can get its name from.
fn kinds() -> Vec<Attack> {
    let boss = || claim("boss");
    let of = |kind, place| review(kind, &nest(place, boss()));
    let worker = json!({"metadata": {"annotations": boss()}});
    let workers = json!([{"template": {}}, {"template": worker}]);
    let replicas = json!({"Master": {"template": {}}, "a/b~c": {"template": worker}});
    vec![
        added("a pod", &of(POD, "metadata.annotations"), &[BOSS, "this Pod with"]),
        added(
            "a ReplicationController",
            &of(("", "ReplicationController", "replicationcontrollers"), TEMPLATE),
            &[BOSS, "(spec.template)"],
        ),
        added("a Deployment", &of(DEPLOYMENT, TEMPLATE), &[BOSS, "this Deployment (spec.template)"]),
        added(
            "a DaemonSet",
            &of(("apps", "DaemonSet", "daemonsets"), TEMPLATE),
            &[BOSS, "this DaemonSet (spec.template)"],
        ),
        added(
            "a StatefulSet",
            &of(("apps", "StatefulSet", "statefulsets"), TEMPLATE),
            &[BOSS, "this StatefulSet (spec.template)"],
        ),
        added(
            "a ReplicaSet",
            &of(("apps", "ReplicaSet", "replicasets"), TEMPLATE),
            &[BOSS, "this ReplicaSet (spec.template)"],
        ),
        added("a Job", &of(("batch", "Job", "jobs"), TEMPLATE), &[BOSS, "this Job (spec.template)"]),
        added(
            "a CronJob",
            &of(("batch", "CronJob", "cronjobs"), &format!("spec.jobTemplate.{TEMPLATE}")),
            &[BOSS, "(spec.jobTemplate.spec.template)"],
        ),
        added(
            "the driver of a SparkApplication",
            &of(("sparkoperator.k8s.io", "SparkApplication", "sparkapplications"), "spec.driver.annotations"),
            &[BOSS, "(spec.driver)"],
        ),
        added(
            "the executors of a SparkApplication",
            &of(
                ("sparkoperator.k8s.io", "SparkApplication", "sparkapplications"),
                "spec.executor.annotations",
            ),
            &[BOSS, "(spec.executor)"],
        ),
        added(
            "a key of annotations that spark-submit splits into the key and another name",
            &review(
                ("sparkoperator.k8s.io", "SparkApplication", "sparkapplications"),
                &nest(
                    "spec.driver.annotations",
                    json!({(format!(r#"{INFO}={{"user":"boss","groups":["a"#)): r#"b"]}"#}),
                ),
            ),
            &["(spec.driver)", "is not a valid annotation key"],
        ),
        added(
            "a replica of a PyTorchJob whose name is part of a pointer",
            &review(
                ("kubeflow.org", "PyTorchJob", "pytorchjobs"),
                &nest("spec.pytorchReplicaSpecs", replicas),
            ),
            &[BOSS, "(spec.pytorchReplicaSpecs.a~1b~0c.template)"],
        ),
        added(
            "the head of a RayCluster",
            &of(RAY, "spec.headGroupSpec.template.metadata.annotations"),
            &[BOSS, "(spec.headGroupSpec.template)"],
        ),
        added(
            "the second group of a RayCluster",
            &review(RAY, &nest("spec.workerGroupSpecs", workers)),
            &[BOSS, "(spec.workerGroupSpecs.1.template)"],
        ),
    ]
}

/// Returns attacks with texts that YuniKorn reads as a different name than people do, passed on by an
/// operator that may set names.
fn forms() -> Vec<Attack> {
    let handed_on = |name, text: &str, words| {
        let by = json!({"userInfo": {"username": SPARK, "groups": ["system:serviceaccounts"]}});
        added(name, &with(pod(&json!(text)), &by), words)
    };
    vec![
        handed_on("a key in another case", r#"{"User":"boss"}"#, &["unknown field `User`"]),
        handed_on(
            "two users in one annotation",
            r#"{"user":"mallory","user":"boss"}"#,
            &["duplicate field `user`"],
        ),
        handed_on(
            "two lists of groups in one annotation",
            r#"{"user":"mallory","groups":[],"groups":["bosses"]}"#,
            &["duplicate field `groups`"],
        ),
        handed_on(
            "a second object behind the first",
            r#"{"user":"mallory"}{"user":"boss"}"#,
            &["trailing characters"],
        ),
        handed_on("a list instead of an object", r#"["boss",["bosses"]]"#, &["it is not a JSON object"]),
        handed_on("a user who is null", r#"{"user":null}"#, &["null, expected a string"]),
        handed_on("groups in one text", r#"{"user":"mallory","groups":"bosses"}"#, &["expected a sequence"]),
        handed_on("no user but groups", r#"{"groups":["bosses"]}"#, &["it names no user"]),
        handed_on("a further key", r#"{"user":"mallory","uid":"0"}"#, &["unknown field `uid`"]),
        handed_on("half a surrogate", r#"{"user":"boss\ud800"}"#, &["hex escape"]),
        handed_on("YAML that is no JSON", "user: boss", &["it is not a JSON object"]),
    ]
}

/// Returns attacks with names that look like the requester's own, and annotations that are not strings.
fn lookalikes() -> Vec<Attack> {
    let text = |user: &str, groups: &[&str]| json!(json!({"user": user, "groups": groups}).to_string());
    let own = ["people", "system:authenticated"];
    let one = |name, said: Value, words| added(name, &pod(&said), words);
    vec![
        one("a Cyrillic letter", text("mаllory", &own), &["it names user", "externalGroups do not allow it"]),
        one(
            "a space behind the name",
            text("mallory ", &own),
            &["it names user", "externalGroups do not allow it"],
        ),
        one(
            "a letter without width",
            text("mal\u{200b}lory", &own),
            &["it names user", "externalGroups do not allow it"],
        ),
        one(
            "a capital",
            text("Mallory", &own),
            &["it names user `Mallory`", "externalGroups do not allow it"],
        ),
        one(
            "a name that turns the line round",
            text("\u{202e}ssob", &own),
            &["it names user", "externalGroups do not allow it"],
        ),
        one(
            "a line break and a line of a log",
            text("boss\n{\"level\":\"INFO\"}", &own),
            &["it names user `boss\\n"],
        ),
        one(
            "one's own name with another's group",
            text("mallory", &["people", "bosses"]),
            &["it names user `mallory`"],
        ),
        one("one's own name without one's groups", text("mallory", &[]), &["it names user `mallory`"]),
        one("a number", json!(0), &["it is not a string but"]),
        one("a list", json!(["boss"]), &["it is not a string but"]),
        one("an object", json!({"user": "boss"}), &["it is not a string but"]),
        one("a truth", json!(true), &["it is not a string but"]),
    ]
}

/// Returns attacks with JSON that has a key twice: API servers use the last one.
fn duplicates() -> Vec<Attack> {
    let own = r#"{\"user\":\"mallory\",\"groups\":[\"people\",\"system:authenticated\"]}"#;
    let boss = r#"{\"user\":\"boss\"}"#;
    let raw = |name, object: String| {
        let text = review(POD, &json!("OBJECT")).to_string().replace("\"OBJECT\"", &object);
        Attack::by_stranger(name, post(ADD, text), Denied(&[BOSS]))
    };
    let metadata = |text: &str| format!(r#""metadata":{{"annotations":{{"{INFO}":"{text}"}}}}"#);
    vec![
        raw(
            "the annotation twice",
            format!(r#"{{"metadata":{{"annotations":{{"{INFO}":"{own}","{INFO}":"{boss}"}}}}}}"#),
        ),
        raw("the metadata twice", format!("{{{},{}}}", metadata(own), metadata(boss))),
        raw(
            "the annotations twice",
            format!(
                r#"{{"metadata":{{"annotations":{{"{INFO}":"{own}"}},"annotations":{{"{INFO}":"{boss}"}}}}}}"#
            ),
        ),
        raw(
            "an escaped letter in the name of the annotation",
            format!(r#"{{"metadata":{{"annotations":{{"yunikorn.apache.org\/user\u002einfo":"{boss}"}}}}}}"#),
        ),
    ]
}

/// Returns attacks that change existing names, or names after all webhooks have run.
fn changes() -> Vec<Attack> {
    let say = |annotations: Value| nest(TEMPLATE, annotations);
    let own =
        json!({INFO: json!({"user": "mallory", "groups": ["people", "system:authenticated"]}).to_string()});
    let update = |old: &Value, new: &Value| {
        with(review(DEPLOYMENT, new), &json!({"operation": "UPDATE", "oldObject": old}))
    };
    let (none, alice, boss) = (say(json!({})), say(claim("alice")), say(claim("boss")));
    let finally = |name, object: &Value, words| checked(name, &review(DEPLOYMENT, object), words);
    let scheduled = |labels: Value, annotations: Value| json!({"metadata": {"labels": labels, "annotations": annotations}, "spec": {"schedulerName": "yunikorn"}});
    let moved = |name, labels: Value, annotations: Value, words| {
        let old = scheduled(json!({"applicationId": "own"}), own.clone());
        let new = scheduled(labels, annotations);
        added(name, &with(review(POD, &new), &json!({"operation": "UPDATE", "oldObject": old})), words)
    };
    let workers = |names: [&str; 2]| {
        let group = |name: &&str| json!({"template": {"metadata": {"annotations": claim(name)}}});
        nest("spec.workerGroupSpecs", names.iter().map(group).collect())
    };
    let swapped = with(
        review(RAY, &workers(["alice", "boss"])),
        &json!({"operation": "UPDATE", "oldObject": workers(["alice", "alice"])}),
    );
    vec![
        moved(
            "a pod that moves to the boss' application",
            json!({"applicationId": "bosses"}),
            own.clone(),
            &["`applicationId` would change", "a pod that YuniKorn schedules keeps its user"],
        ),
        moved(
            "a pod that moves by an annotation of the same meaning",
            json!({"applicationId": "own"}),
            merged(own.clone(), &json!({"yunikorn.apache.org/app-id": "bosses"})),
            &["`yunikorn.apache.org/app-id` would change"],
        ),
        moved(
            "a pod that becomes the boss'",
            json!({"applicationId": "own"}),
            claim("boss"),
            &["`yunikorn.apache.org/user.info` would change"],
        ),
        added("a name where none was", &update(&none, &boss), &[BOSS]),
        added("another name", &update(&alice, &boss), &["it was set before and would be changed"]),
        added(
            "one's own name over another's",
            &update(&alice, &say(own.clone())),
            &["it was set before and would be changed"],
        ),
        added("no name any more", &update(&alice, &none), &["it was set before and would be removed"]),
        added("a name that no other group had", &swapped, &["it was set before and would be changed"]),
        finally("no name at the end", &none, &["it is still missing"]),
        finally("another's name at the end", &boss, &[BOSS]),
        finally("a number at the end", &say(json!({INFO: 1})), &["it is not a string but"]),
        checked(
            "another name at the end of a change",
            &update(&say(own.clone()), &boss),
            &["it was set before and would be changed"],
        ),
        checked(
            "no name at the end of a change",
            &update(&say(own), &none),
            &["it was set before and would be removed"],
        ),
    ]
}

/// Returns attacks with objects that are made unreadable to avoid a check.
fn unreadable() -> Vec<Attack> {
    let groups = |number: usize| {
        let group = json!({"template": {"metadata": {"annotations": claim("boss")}}});
        nest("spec.workerGroupSpecs", Value::Array(vec![group; number]))
    };
    let thing = review(("example.com", "Thing", "things"), &nest(TEMPLATE, claim("boss")));
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep = review(POD, &json!({"metadata": {"annotations": claim("boss")}, "spec": "DEEP"}))
        .to_string()
        .replace("\"DEEP\"", &deep);
    let large =
        as_sent(&review(POD, &json!({"metadata": {"annotations": {"a": "<".repeat(7 * 1024 * 1024)}}})));
    let many: Vec<String> = (0..10_001).map(|number| format!("g{number}")).collect();
    vec![
        added(
            "more templates than are counted",
            &review(RAY, &groups(257)),
            &["more than 256 pod templates"],
        ),
        added(
            "a version of which nothing is known",
            &with(thing, &json!({"resource": {"version": "v1alpha1"}})),
            &["no template describes the pods of version `v1alpha1` of things.example.com"],
        ),
        Attack::by_stranger("an object as deep as it likes", post(ADD, deep), Denied(&[BOSS])),
        Attack::by_stranger(
            "an object of 7 MiB",
            post(ADD, &large),
            Denied(&["more than 6291456 bytes of JSON"]),
        ),
        Attack::by_stranger(
            "an object of 7 MiB at the end",
            post(CHECK, &large),
            Denied(&["more than 6291456 bytes of JSON"]),
        ),
        added(
            "labels that are numbers",
            &review(
                POD,
                &json!({"metadata": {"labels": {"yunikorn.apache.org/username": 7}, "annotations": claim("boss")}}),
            ),
            &[BOSS],
        ),
        added(
            "a member of too many groups",
            &with(pod(&json!("x")), &json!({"userInfo": {"groups": many}})),
            &["more than 10000 entries"],
        ),
        added(
            "a requester whose groups are one text",
            &with(pod(&json!("x")), &json!({"userInfo": {"groups": "people"}})),
            &["a string in place of a list"],
        ),
        added(
            "a requester without a name",
            &with(review(POD, &json!({})), &json!({"userInfo": null})),
            &["the requester has no name that could be added"],
        ),
    ]
}

/// Returns attacks with requests that are no reviews.
fn requests() -> Vec<Attack> {
    let boss = || review(POD, &nest("metadata.annotations", claim("boss")));
    let gzip = || crate::operator::gzip(boss().to_string()).unwrap_or_default();
    let bytes = |path, body: Vec<u8>| {
        Step::new(super::To::Endpoints, "POST", path, body).header("content-type", "application/json")
    };
    vec![
        Attack::by_stranger(
            "a packed review",
            bytes(ADD, gzip()).header("content-encoding", "gzip"),
            Refused(400, &["the review cannot be read"]),
        ),
        Attack::by_stranger(
            "a review without an end",
            post(ADD, r#"{"request":{"#),
            Refused(400, &["the review cannot be read"]),
        ),
        Attack::by_stranger(
            "a review in a list",
            post(CHECK, json!([boss()])),
            Refused(400, &["the review cannot be read"]),
        ),
        Attack::by_stranger(
            "a review whose uid is a number",
            post(ADD, with(boss(), &json!({"uid": 7}))),
            Refused(400, &["the review cannot be read"]),
        ),
        Attack::by_stranger(
            "a review without a request",
            post(CHECK, json!({"kind": "AdmissionReview"})),
            Refused(400, &["the review has no request"]),
        ),
        Attack::by_stranger(
            "a review of nothing at all",
            post(ADD, ""),
            Refused(400, &["the review cannot be read"]),
        ),
        Attack::by_stranger(
            "a review in bytes that are no text",
            bytes(CHECK, vec![0xff; 64]),
            Refused(400, &["the review cannot be read"]),
        ),
        Attack::by_stranger("a review that is read", get(ADD), Refused(405, &["\"allow\": \"POST\""])),
        Attack::by_stranger(
            "a review at a path below",
            post("/user-info/check/x", boss()),
            Refused(404, NOTHING),
        ),
    ]
}
