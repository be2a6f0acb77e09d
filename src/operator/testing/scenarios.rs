//! What people do, and what the operator makes of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use super::api_server::ApiServer;
use super::bed::{
    BASE, Bed, CONFIG, OUTPUT, acl_path, acl_spec, cluster, condition, is_ready, put_acl, text,
};
use crate::model::config::checksum;
use crate::plan::snapshot::CONFIRM_REMOVAL;

const MINUTES: Duration = Duration::from_mins(25);

#[tokio::test(start_paused = true)]
async fn what_is_granted_is_written_and_reported() {
    let bed = Bed::start(&cluster());
    bed.until_granted("prod", "sue").await;
    assert_eq!(condition(&bed.api, CONFIG, "Applied"), "True/Applied");
    put_acl(&bed.api, "ml", &acl_spec("root.ml", "bob"));
    bed.until_granted("ml", "bob").await;
    put_acl(&bed.api, "ml", &acl_spec("root.ml", "eve"));
    bed.until_granted("ml", "eve").await;
    assert!(!text(&bed.api).contains("bob"));
}

#[tokio::test(start_paused = true)]
async fn many_changes_at_once_are_few_writes() {
    let bed = Bed::start(&cluster());
    bed.until_granted("prod", "sue").await;
    let before = bed.api.writes().len();
    for number in 0..50 {
        put_acl(&bed.api, &format!("more-{number}"), &acl_spec("root.ml", &format!("user{number}")));
    }
    bed.until("all are ready", |api| (0..50).all(|number| is_ready(api, &format!("more-{number}")))).await;
    let writes =
        bed.api.writes().into_iter().skip(before).filter(|write| write.contains("configmaps")).count();
    assert!(writes <= 2, "{writes}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_while_nothing_changes() {
    let bed = Bed::start(&cluster());
    bed.until_granted("prod", "sue").await;
    bed.writes_within(Duration::from_secs(5)).await;
    assert_eq!(bed.writes_within(MINUTES).await, Vec::<String>::new());
    let metrics = bed.health.metrics.text(&[]);
    let runs = metrics
        .lines()
        .find_map(|line| line.strip_prefix("queuewarden_reconcile_total{result=\"ok\"} "))
        .unwrap();
    assert!(runs.parse::<u32>().unwrap() < 12, "two resyncs at most, and the start: {runs}");
}

#[tokio::test(start_paused = true)]
async fn a_foreign_edit_is_put_back() {
    let bed = Bed::start(&cluster());
    bed.until_granted("prod", "sue").await;
    let good = text(&bed.api);
    bed.api.put(
        OUTPUT,
        &json!({"data": {"queues.yaml": good.replace("sue", "eve"), "log.level": "DEBUG"}}),
        "kubectl-edit",
    );
    bed.until("it was put back", |api| text(api).contains("sue")).await;
    let map = bed.api.get(OUTPUT);
    assert!(!text(&bed.api).contains("eve"));
    assert_eq!(map["data"]["log.level"], "DEBUG", "what is not ours stays");
    assert!(
        bed.health.metrics.text(&[]).contains("queuewarden_config_drift_total{kind=\"external_edit\"} 1")
    );
}

#[tokio::test(start_paused = true)]
async fn a_deleted_output_is_made_again() {
    let bed = Bed::start(&cluster());
    bed.until_granted("prod", "sue").await;
    bed.api.delete(OUTPUT);
    bed.until_granted("prod", "sue").await;
}

#[tokio::test(start_paused = true)]
async fn what_is_deleted_is_not_granted_any_more() {
    let bed = Bed::start(&cluster());
    bed.until_granted("prod", "sue").await;
    bed.api.delete(&acl_path("prod"));
    bed.until("sue is gone", |api| !text(api).is_empty() && !text(api).contains("sue")).await;
}

#[tokio::test(start_paused = true)]
async fn a_namesake_starts_from_nothing() {
    let bed = Bed::start(&cluster());
    bed.until_granted("prod", "sue").await;
    bed.api.delete(&acl_path("prod"));
    put_acl(&bed.api, "prod", &acl_spec("root.prod", "bob"));
    bed.until_granted("prod", "bob").await;
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_object_is_told_and_stops_nothing() {
    let api = cluster();
    put_acl(&api, "broken", &json!({"queue": 5, "surprise": true}));
    let bed = Bed::start(&api);
    bed.until_granted("prod", "sue").await;
    bed.until("it is told", |api| condition(api, &acl_path("broken"), "Accepted") == "False/Invalid").await;
}

#[tokio::test(start_paused = true)]
async fn who_does_not_lead_plans_and_writes_nothing() {
    let bed = Bed::start_follower(&cluster());
    assert_eq!(bed.writes_within(MINUTES).await, Vec::<String>::new());
    let metrics = bed.health.metrics.text(&[]);
    assert!(
        metrics.contains("queuewarden_objects{kind=\"QueueAcl\",condition=\"Accepted\",status=\"True\"} 1"),
        "{metrics}"
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_configuration_nothing_is_written_but_status() {
    let api = cluster();
    api.delete(CONFIG);
    let bed = Bed::start(&api);
    let told = |api: &ApiServer| condition(api, &acl_path("prod"), "Ready").ends_with("/ConfigNotReady");
    bed.until("it is told", told).await;
    assert!(bed.api.writes().iter().all(|write| !write.contains("configmaps")));
}

#[tokio::test(start_paused = true)]
async fn another_namespace_is_followed() {
    let bed = Bed::start(&cluster());
    bed.until_granted("prod", "sue").await;
    let there = |path: &str| path.replace("/yunikorn/", "/elsewhere/");
    bed.api.put(&there(BASE), &json!({"data": bed.api.get(BASE)["data"]}), "helm");
    bed.api.put(CONFIG, &json!({"spec": {"namespace": "elsewhere"}}), "kubectl");
    let output = there(OUTPUT);
    let granted = |api: &ApiServer| {
        api.get(&output)["data"]["queues.yaml"].as_str().is_some_and(|text| text.contains("sue"))
    };
    bed.until("the other output is written", granted).await;
    bed.api.put(&there(BASE), &json!({"data": {"queues.yaml": "partitions: ["}}), "helm");
    let told = |api: &ApiServer| condition(api, CONFIG, "BaseResolved") == "False/BaseInvalid";
    bed.until("the other base is watched", told).await;
}

#[tokio::test(start_paused = true)]
async fn a_signal_ends_it() {
    let bed = Bed::start(&cluster());
    bed.until_granted("prod", "sue").await;
    tokio::time::timeout(Duration::from_secs(5), bed.stop()).await.unwrap();
}

/// A scheduler that runs what the output says, or `other`.
async fn scheduler(api: &ApiServer, other: Arc<Mutex<Option<String>>>) -> String {
    let api = api.clone();
    let answer = move || {
        let sum = other.lock().unwrap().clone().unwrap_or_else(|| checksum(&text(&api)));
        std::future::ready(json!({"Checksum": sum}).to_string())
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = axum::Router::new().route("/ws/v1/config", axum::routing::get(answer));
    tokio::spawn(axum::serve(listener, router).into_future());
    url
}

#[tokio::test]
async fn what_the_scheduler_says_is_believed_and_an_unchanged_answer_is_no_cause() {
    let api = cluster();
    let other = Arc::new(Mutex::new(None));
    let url = scheduler(&api, Arc::clone(&other)).await;
    api.put(CONFIG, &json!({"spec": {"schedulerUrl": url}}), "kubectl");
    let bed = Bed::start(&api);
    bed.until_granted("prod", "sue").await;
    assert_eq!(condition(&bed.api, CONFIG, "Loaded"), "True/Loaded");
    assert_eq!(
        bed.writes_within(Duration::from_secs(11)).await,
        Vec::<String>::new(),
        "it was asked once more"
    );
    *other.lock().unwrap() = Some("F".repeat(64));
    bed.until("the change is told", |api| condition(api, CONFIG, "Loaded") == "False/LoadPending").await;
    *other.lock().unwrap() = None;
    bed.until("it is proven again", |api| condition(api, CONFIG, "Loaded") == "True/Loaded").await;
}

#[tokio::test]
async fn a_withdrawal_does_not_wait_for_the_proof_of_the_last_write() {
    let api = cluster();
    let url = scheduler(&api, Arc::new(Mutex::new(Some("F".repeat(64))))).await;
    api.put(CONFIG, &json!({"spec": {"schedulerUrl": url}}), "kubectl");
    let bed = Bed::start(&api);
    bed.until("it is written", |api| text(api).contains("sue")).await;
    let begin = std::time::Instant::now();
    bed.api.delete(&acl_path("prod"));
    bed.until("the withdrawal is written", |api| !text(api).contains("sue")).await;
    assert!(begin.elapsed() < Duration::from_secs(2), "after {:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_confirmed_removal_is_written() {
    let api = cluster();
    let tree = api.get(BASE)["data"]["queues.yaml"].as_str().unwrap().to_owned();
    let tree = tree.replace("- name: ml", "- name: ml\n            submitacl: '*'");
    api.put(BASE, &json!({"data": {"queues.yaml": tree}}), "helm");
    for name in ["a", "b", "c"] {
        put_acl(&api, name, &acl_spec("root.ml", name));
    }
    let bed = Bed::start(&api);
    bed.until("all are granted", |api| text(api).contains("'a,b,c'")).await;
    for name in ["a", "b", "c"] {
        bed.api.delete(&acl_path(name));
    }
    bed.until("it is asked for", |api| condition(api, CONFIG, "Applied") == "False/RemovalUnconfirmed").await;
    let revision = bed.api.get(CONFIG)["status"]["revision"].as_i64().unwrap();
    let confirmed = json!({"metadata": {"annotations": {CONFIRM_REMOVAL: revision.to_string()}}});
    bed.api.put(CONFIG, &confirmed, "kubectl");
    bed.until("the base is back", |api| text(api).contains("'*'")).await;
}
