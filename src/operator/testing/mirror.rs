//! The RBAC mirror, and what it makes of refusals, races and other people.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::api_server::{ApiServer, Fault, Wrong};
use super::bed::{BASE, Bed, CONFIG, acl_path, acl_spec, cluster, condition, put_acl};

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
const PROD: &str = "queuewarden:mirror:submit:root.prod";

fn fault(method: Method, path: &'static str, watch: bool, what: Wrong) -> Fault {
    Fault { method, path, watch, times: usize::MAX, what }
}

fn turn(api: &ApiServer, mirror: &str) {
    api.put(CONFIG, &json!({"spec": {"rbacMirror": mirror}}), "kubectl");
}

fn path(of: &str, name: &str) -> String {
    format!("{of}/{name}")
}

/// Users that a role is bound to; `None` without a binding or a role.
fn bound(api: &ApiServer, name: &str) -> Option<Vec<String>> {
    let (role, binding) = (api.get(&path(ROLES, name)), api.get(&path(BINDINGS, name)));
    let subjects = binding["subjects"].as_array().filter(|_| !role.is_null())?;
    Some(subjects.iter().filter_map(|subject| Some(subject["name"].as_str()?.to_owned())).collect())
}

fn grants(user: &'static str) -> impl Fn(&ApiServer) -> bool {
    move |api| bound(api, PROD).as_deref() == Some(&[user.to_owned()])
}

fn mirrored(expected: &'static str) -> impl Fn(&ApiServer) -> bool {
    move |api| condition(api, CONFIG, "Mirrored") == expected
}

async fn mirroring() -> Bed {
    let api = cluster();
    turn(&api, "Enabled");
    let bed = Bed::start(&api);
    bed.until("sue is mirrored", grants("sue")).await;
    bed.until("it is told", mirrored("True/Mirrored")).await;
    bed
}

#[tokio::test(start_paused = true)]
async fn it_follows_the_acls_and_goes_when_it_is_switched_off() {
    let bed = mirroring().await;
    let watched = || bed.health.text().contains("resource=\"clusterroles\"");
    assert!(watched());
    put_acl(&bed.api, "prod", &acl_spec("root.prod", "bob"));
    bed.until("bob is mirrored", grants("bob")).await;
    bed.api.delete(&acl_path("prod"));
    bed.until("nobody is mirrored", |api| bound(api, PROD).is_none()).await;
    put_acl(&bed.api, "prod", &acl_spec("root.prod", "eve"));
    bed.until("eve is mirrored", grants("eve")).await;
    let still = bed.writes_within(Duration::from_mins(30)).await;
    assert_eq!(still, Vec::<String>::new());
    turn(&bed.api, "Disabled");
    let gone = |of: &str, api: &ApiServer| api.get(&path(of, PROD)).is_null();
    bed.until("it is gone", |api| gone(ROLES, api) && gone(BINDINGS, api)).await;
    bed.until("nothing is told of it", mirrored("/")).await;
    let still = bed.writes_within(Duration::from_mins(30)).await;
    assert_eq!(still, Vec::<String>::new());
    assert!(!watched(), "a watch that is no more would look stalled");
}

#[tokio::test(start_paused = true)]
async fn a_follower_writes_none_of_it() {
    let api = cluster();
    turn(&api, "Enabled");
    let bed = Bed::start_follower(&api);
    let writes = bed.writes_within(Duration::from_mins(5)).await;
    assert_eq!(writes, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn without_rights_to_it_the_queues_are_configured_all_the_same() {
    let api = cluster();
    turn(&api, "Enabled");
    for watch in [false, true] {
        let refusal = Wrong::Refuse(403, "clusterroles is forbidden: User \"x\" cannot list");
        api.fault(fault(Method::GET, "clusterroles", watch, refusal));
    }
    let bed = Bed::start(&api);
    bed.until("it is told", mirrored("False/Forbidden")).await;
    assert_eq!(condition(&api, CONFIG, "Applied"), "True/Applied");
    assert_eq!(condition(&api, CONFIG, "Ready"), "False/Forbidden");
    api.heal();
    bed.until("sue is mirrored", grants("sue")).await;
    bed.until("it is told", mirrored("True/Mirrored")).await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_write_is_told_and_made_once_it_is_allowed() {
    let bed = mirroring().await;
    let refusal = Wrong::Refuse(403, "attempting to grant RBAC permissions not currently held");
    bed.api.fault(fault(Method::POST, "clusterroles", false, refusal));
    put_acl(&bed.api, "ml", &acl_spec("root.ml", "bob"));
    bed.until("it is told", mirrored("False/Forbidden")).await;
    let attempts = bed.writes_within(Duration::from_mins(10)).await;
    assert!(attempts.len() < 40, "it backs off: {}", attempts.len());
    assert!(bed.health.metrics.text(&[]).contains("queuewarden_rbac_mirror_write_total{result=\"error\"}"));
    bed.api.heal();
    bed.until("it is told", mirrored("True/Mirrored")).await;
}

#[tokio::test(start_paused = true)]
async fn an_object_of_somebody_else_in_the_way_is_left_alone_and_told() {
    let api = cluster();
    turn(&api, "Enabled");
    let theirs = json!({"rules": [{"verbs": ["get"]}]});
    api.put(&path(ROLES, PROD), &theirs, "kubectl");
    let bed = Bed::start(&api);
    bed.until("it is told", mirrored("False/Pending")).await;
    bed.writes_within(Duration::from_mins(5)).await;
    assert_eq!(api.get(&path(ROLES, PROD))["rules"], theirs["rules"]);
    assert_eq!(bound(&api, PROD), None);
    api.delete(&path(ROLES, PROD));
    bed.until("sue is mirrored", grants("sue")).await;
}

/// There is more to do than fits into one run.
#[tokio::test(start_paused = true)]
async fn what_is_in_the_way_of_one_role_holds_up_no_other() {
    const QUEUES: usize = 200;
    let api = cluster();
    turn(&api, "Enabled");
    let queue = |number: usize| format!("          - name: q{number}\n            submitacl: sue\n");
    let queues: Vec<String> = (0..QUEUES).map(queue).collect();
    let tree = api.get(BASE)["data"]["queues.yaml"].as_str().unwrap().to_owned() + &queues.concat();
    api.put(BASE, &json!({"data": {"queues.yaml": tree}}), "helm");
    api.put(&path(ROLES, PROD), &json!({"rules": []}), "kubectl");
    let (bed, begin) = (Bed::start(&api), Instant::now());
    let all = |api: &ApiServer| {
        (0..QUEUES).all(|number| bound(api, &format!("queuewarden:mirror:submit:root.q{number}")).is_some())
    };
    bed.until("all others are mirrored", all).await;
    assert!(begin.elapsed() < Duration::from_secs(10), "after {:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn who_races_with_it_loses() {
    let bed = mirroring().await;
    let mallory =
        json!({"subjects": [{"kind": "User", "name": "mallory", "apiGroup": "rbac.authorization.k8s.io"}]});
    let mut once =
        fault(Method::PUT, "clusterrolebindings", false, Wrong::Race(BINDING_OF_PROD, mallory.clone()));
    once.times = 1;
    bed.api.fault(once);
    put_acl(&bed.api, "prod", &acl_spec("root.prod", "bob"));
    bed.until("bob is mirrored", grants("bob")).await;
    bed.api.put(BINDING_OF_PROD, &mallory, "rival");
    bed.until("bob is mirrored again", grants("bob")).await;
    let granted: Vec<Value> = bed.api.versions(BINDING_OF_PROD);
    assert!(granted.iter().any(|version| version["subjects"] == mallory["subjects"]), "the race was run");
}

const BINDING_OF_PROD: &str =
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/queuewarden:mirror:submit:root.prod";

#[tokio::test(start_paused = true)]
async fn a_new_leader_takes_it_as_it_stands() {
    let bed = mirroring().await;
    let (api, before) = (bed.api.clone(), bed.api.versions(BINDING_OF_PROD).len());
    bed.stop().await;
    put_acl(&api, "ml", &acl_spec("root.ml", "bob"));
    let bed = Bed::start(&api);
    bed.until("ml is mirrored", |api| bound(api, "queuewarden:mirror:submit:root.ml").is_some()).await;
    assert_eq!(api.versions(BINDING_OF_PROD).len(), before);
}

#[tokio::test(start_paused = true)]
async fn who_always_loses_the_race_pauses() {
    let bed = mirroring().await;
    for number in 0..1000 {
        let change = json!({"metadata": {"annotations": {"counter": number.to_string()}}});
        let mut lost = fault(Method::PUT, "clusterrolebindings", false, Wrong::Race(BINDING_OF_PROD, change));
        lost.times = 1;
        bed.api.fault(lost);
    }
    put_acl(&bed.api, "prod", &acl_spec("root.prod", "bob"));
    let writes = bed.writes_within(Duration::from_mins(1)).await;
    let attempts = writes.iter().filter(|write| write.contains("clusterrolebindings")).count();
    assert!((4..400).contains(&attempts), "{attempts}");
    assert_eq!(condition(&bed.api, CONFIG, "Mirrored"), "False/Pending");
    bed.api.heal();
    bed.until("bob is mirrored", grants("bob")).await;
}
