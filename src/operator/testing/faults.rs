//! What goes wrong, and what the operator makes of it.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use kube::api::DynamicObject;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::api_server::{ApiServer, Fault, Wrong};
use super::bed::{Bed, CONFIG, MAPS, OUTPUT, acl_path, acl_spec, cluster, condition, put_acl, text};
use crate::operator::clock;
use crate::operator::world::{Kind, World};

/// Path of the first object of every bed.
const PROD: &str = "/apis/queuewarden.dev/v1alpha1/queueacls/prod";

fn fault(method: Method, path: &'static str, times: usize, what: Wrong) -> Fault {
    Fault { method, path, watch: false, times, what }
}

fn applied(reason: &'static str) -> impl Fn(&ApiServer) -> bool {
    move |api| condition(api, CONFIG, "Applied") == reason
}

async fn running() -> Bed {
    let bed = Bed::start(&cluster());
    bed.until_granted("prod", "sue").await;
    bed
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_planned_anew_and_keeps_what_the_other_wrote() {
    let bed = running().await;
    let race = Wrong::Race(OUTPUT, json!({"data": {"log.level": "DEBUG"}}));
    bed.api.fault(fault(Method::PATCH, OUTPUT, 1, race));
    put_acl(&bed.api, "ml", &acl_spec("root.ml", "bob"));
    bed.until_granted("ml", "bob").await;
    assert_eq!(bed.api.get(OUTPUT)["data"]["log.level"], "DEBUG");
    assert!(bed.health.metrics.text(&[]).contains("queuewarden_config_apply_total{result=\"conflict\"} 1"));
}

#[tokio::test(start_paused = true)]
async fn who_always_loses_the_race_pauses() {
    let bed = running().await;
    let rivals = (0..1000).map(|number| json!({"data": {"counter": number.to_string()}}));
    for change in rivals {
        bed.api.fault(fault(Method::PATCH, OUTPUT, 1, Wrong::Race(OUTPUT, change)));
    }
    put_acl(&bed.api, "ml", &acl_spec("root.ml", "bob"));
    let writes = bed.writes_within(Duration::from_mins(1)).await;
    let attempts = writes.iter().filter(|write| write.contains("configmaps")).count();
    assert!((3..400).contains(&attempts), "{attempts}");
    bed.api.heal();
    bed.until_granted("ml", "bob").await;
}

#[tokio::test(start_paused = true)]
async fn who_changes_grants_during_each_write_is_no_rival() {
    let bed = running().await;
    for number in 0..10 {
        let spec = acl_spec("root.prod", &format!("user{number}"));
        bed.api.fault(fault(Method::PATCH, OUTPUT, 1, Wrong::Race(PROD, json!({"spec": spec}))));
    }
    let begin = tokio::time::Instant::now();
    put_acl(&bed.api, "ml", &acl_spec("root.ml", "bob"));
    bed.until_granted("prod", "user9").await;
    assert!(begin.elapsed() < Duration::from_secs(5), "no pause between them: {:?}", begin.elapsed());
    bed.until("it is reported", applied("True/Applied")).await;
    let metrics = bed.health.metrics.text(&[]);
    assert!(!metrics.contains("result=\"error\""), "no run failed: {metrics}");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_rbac_forbids_is_reported_and_made_once_it_is_allowed() {
    let api = cluster();
    api.fault(fault(
        Method::POST,
        MAPS,
        usize::MAX,
        Wrong::Refuse(403, "configmaps is forbidden: User \"x\" cannot create"),
    ));
    let bed = Bed::start(&api);
    bed.until("it is reported", applied("False/Forbidden")).await;
    let attempts = bed.writes_within(Duration::from_mins(10)).await;
    assert!(attempts.len() < 25, "it backs off: {}", attempts.len());
    api.heal();
    bed.until_granted("prod", "sue").await;
    assert_eq!(condition(&api, CONFIG, "Applied"), "True/Applied");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_by_a_webhook_is_reported() {
    let bed = running().await;
    let message = "admission webhook \"validate.example.com\" denied the request: not on Fridays";
    bed.api.fault(fault(Method::PATCH, OUTPUT, usize::MAX, Wrong::Refuse(403, message)));
    put_acl(&bed.api, "ml", &acl_spec("root.ml", "bob"));
    bed.until("it is reported", applied("False/RejectedByAdmission")).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_or_is_silent_is_asked_again() {
    for what in [Wrong::Refuse(500, "etcd is unwell"), Wrong::Hang] {
        let bed = running().await;
        bed.api.fault(fault(Method::PATCH, OUTPUT, 2, what));
        put_acl(&bed.api, "ml", &acl_spec("root.ml", "bob"));
        bed.until("it is reported", applied("False/Pending")).await;
        bed.until_granted("ml", "bob").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_that_cannot_be_written_is_written_later() {
    let api = cluster();
    api.fault(fault(Method::PATCH, "/queueacls/prod/status", 2, Wrong::Hang));
    let bed = Bed::start(&api);
    bed.until_granted("prod", "sue").await;
}

#[tokio::test(start_paused = true)]
async fn a_status_that_can_never_be_written_holds_up_no_write() {
    let bed = running().await;
    let refused = Wrong::Refuse(500, "down");
    bed.api.fault(fault(Method::PATCH, "/queueacls/prod/status", usize::MAX, refused.clone()));
    put_acl(&bed.api, "prod", &acl_spec("root.prod", "bob"));
    bed.until("it is written", |api| text(api).contains("bob")).await;
    let attempts = bed.writes_within(Duration::from_mins(10)).await;
    assert!(attempts.len() < 25, "it backs off: {}", attempts.len());
    bed.api.fault(fault(Method::PATCH, OUTPUT, 1, refused));
    put_acl(&bed.api, "ml", &acl_spec("root.ml", "eve"));
    let begin = Instant::now();
    bed.until_granted("ml", "eve").await;
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

/// A label is no cause for a plan, so nothing but the refusal itself brings the status about.
#[tokio::test(start_paused = true)]
async fn a_status_is_written_for_the_version_it_was_made_for_or_once_more() {
    let api = cluster();
    let labelled = json!({"metadata": {"labels": {"team": "a"}}});
    api.fault(fault(Method::PATCH, "/queueacls/prod/status", 1, Wrong::Race(PROD, labelled)));
    let bed = Bed::start(&api);
    bed.until_granted("prod", "sue").await;
    let patches = |result: &str| {
        let line = format!("queuewarden_status_patch_total{{kind=\"QueueAcl\",result=\"{result}\"}} 1");
        assert!(bed.health.metrics.text(&[]).contains(&line), "{line}");
    };
    patches("stale");
    patches("patched");
    assert_eq!(api.get(PROD)["metadata"]["labels"]["team"], "a");
}

#[tokio::test(start_paused = true)]
async fn events_that_hang_delay_nothing() {
    let api = cluster();
    api.fault(fault(Method::POST, "/events", usize::MAX, Wrong::Hang));
    let bed = Bed::start(&api);
    bed.until_granted("prod", "sue").await;
    put_acl(&api, "ml", &acl_spec("root.ml", "bob"));
    bed.until_granted("ml", "bob").await;
}

#[tokio::test(start_paused = true)]
async fn what_happens_while_the_watches_are_down_is_seen_afterwards() {
    let bed = running().await;
    let down = |path| Fault { watch: true, ..fault(Method::GET, path, 3, Wrong::Refuse(500, "down")) };
    bed.api.fault(down("/queueacls"));
    bed.api.fault(down("/configmaps"));
    bed.api.cut();
    bed.api.delete(&acl_path("prod"));
    put_acl(&bed.api, "ml", &acl_spec("root.ml", "bob"));
    bed.until_granted("ml", "bob").await;
    assert!(!text(&bed.api).contains("sue"));
}

#[tokio::test(start_paused = true)]
async fn a_watch_whose_version_is_too_old_begins_with_a_list() {
    let bed = running().await;
    let gone = Fault {
        watch: true,
        ..fault(Method::GET, "/queueacls", 1, Wrong::Refuse(410, "too old resource version"))
    };
    bed.api.fault(gone);
    bed.api.cut();
    bed.api.delete(&acl_path("prod"));
    bed.until("sue is gone", |api| !text(api).contains("sue")).await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_watch_that_is_cut_writes_nothing() {
    let bed = running().await;
    bed.writes_within(Duration::from_secs(5)).await;
    let watches = bed.api.watches();
    bed.api.cut();
    assert_eq!(bed.writes_within(Duration::from_mins(1)).await, Vec::<String>::new());
    assert!(bed.api.watches() >= watches + 6, "all six began again");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_planned_before_everything_was_read() {
    let api = cluster();
    api.fault(fault(Method::GET, "/admissionpolicies", 5, Wrong::Refuse(500, "down")));
    let bed = Bed::start(&api);
    assert_eq!(bed.writes_within(Duration::from_millis(500)).await, Vec::<String>::new());
    bed.until_granted("prod", "sue").await;
}

#[tokio::test(start_paused = true)]
async fn while_nothing_can_be_planned_access_is_not_said_to_be_as_meant() {
    let bed = running().await;
    let in_sync = || bed.counted("queuewarden_config_in_sync");
    bed.until("it is in sync", |_| in_sync() == 1).await;
    bed.api.fault(fault(Method::GET, "/elsewhere/configmaps", usize::MAX, Wrong::Refuse(500, "down")));
    bed.api.put(CONFIG, &json!({"spec": {"namespace": "elsewhere"}}), "kubectl");
    bed.until("nobody knows", |_| in_sync() == 0).await;
    bed.api.heal();
    bed.api.put(CONFIG, &json!({"spec": {"namespace": "yunikorn"}}), "kubectl");
    bed.until("it is in sync again", |_| in_sync() == 1).await;
}

/// The answer to a status that was written while somebody deleted the object.
#[tokio::test(start_paused = true)]
async fn what_is_gone_does_not_come_back_with_an_answer() {
    let api = cluster();
    let mut object: DynamicObject = serde_json::from_value(api.get(PROD)).unwrap();
    // Newer than what the watch has shown: the deletion was in a list, which has the version of what it has read.
    object.metadata.resource_version = Some("1000000".to_owned());
    let mut world = World::start(api.client(), Arc::default());
    has_queue_acls(&mut world, 1).await;
    api.delete(PROD);
    has_queue_acls(&mut world, 0).await;
    world.learn(Kind::QueueAcl, object);
    assert!(world.snapshot(clock::now()).unwrap().queue_acls.is_empty());
}

/// Waits until so many are known.
async fn has_queue_acls(world: &mut World, count: usize) {
    while world.snapshot(clock::now()).is_none_or(|snapshot| snapshot.queue_acls.len() != count) {
        sleep(Duration::from_millis(20)).await;
    }
}

/// An upgrade may bring the program before its definitions: access is managed without tests, and with them once they can be read.
#[tokio::test(start_paused = true)]
async fn tests_that_cannot_be_read_are_not_waited_for() {
    const TEST: &str = "/apis/queuewarden.dev/v1alpha1/queueaccesstests/closed";
    let api = cluster();
    for (code, why) in [(404, "not installed"), (403, "forbidden")] {
        api.fault(fault(Method::GET, "/queueaccesstests", usize::MAX, Wrong::Refuse(code, why)));
        let bed = Bed::start(&api);
        bed.until_granted("prod", "sue").await;
        let told = |resource: &str| bed.health.text().contains(&format!("resource=\"{resource}\""));
        bed.until("nobody is alarmed", |_| told("queueacls") && !told("queueaccesstests")).await;
        api.heal();
        bed.until("the tests are watched", |_| told("queueaccesstests")).await;
    }
    let subjects = json!([{"user": "sue"}]);
    let case =
        json!({"subjects": subjects, "allow": {"submit": ["root.prod"]}, "deny": {"submit": ["root.ml"]}});
    api.put(TEST, &json!({"spec": {"cases": [case]}}), "kubectl");
    let bed = Bed::start(&api);
    bed.until("the test passes", |api| condition(api, TEST, "Passing") == "True/Passing").await;
    put_acl(&api, "ml", &acl_spec("root.ml", "sue"));
    bed.until("the test fails", |api| condition(api, TEST, "Passing") == "False/Failing").await;
}

#[tokio::test(start_paused = true)]
async fn a_config_map_that_may_not_be_read_is_not_taken_for_missing() {
    let api = cluster();
    api.fault(fault(Method::GET, "/configmaps", usize::MAX, Wrong::Refuse(403, "configmaps is forbidden")));
    let bed = Bed::start(&api);
    bed.until("it is reported", |api| condition(api, CONFIG, "Ready") == "False/Invalid").await;
    let told = bed.api.get(CONFIG)["status"]["conditions"].to_string();
    assert!(told.contains("QW5201") && told.contains("may not read ConfigMap"), "{told}");
    assert!(bed.api.writes().iter().all(|write| !write.contains("configmaps")));
    api.heal();
    bed.until_granted("prod", "sue").await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_watch_of_a_config_map_changes_no_status_and_holds_up_no_write() {
    let bed = running().await;
    bed.api.fault(Fault {
        watch: true,
        ..fault(Method::GET, "/configmaps", usize::MAX, Wrong::Refuse(403, "forbidden"))
    });
    bed.api.cut();
    let writes = bed.writes_within(Duration::from_mins(1)).await;
    assert_eq!(writes, Vec::<String>::new(), "one answer, or some, is no reason");
    assert_eq!(condition(&bed.api, CONFIG, "Ready"), "True/NotVerified");
    bed.api.delete(PROD);
    bed.until("the deletion counts", |api| !text(api).contains("sue")).await;
    put_acl(&bed.api, "ml", &acl_spec("root.ml", "bob"));
    bed.until_granted("ml", "bob").await;
    bed.api.heal();
    put_acl(&bed.api, "ml", &acl_spec("root.ml", "eve"));
    bed.until_granted("ml", "eve").await;
}

#[tokio::test(start_paused = true)]
async fn watches_that_fall_silent_are_begun_anew_soon() {
    let bed = running().await;
    bed.api.silence();
    put_acl(&bed.api, "ml", &acl_spec("root.ml", "bob"));
    let begin = Instant::now();
    bed.until_granted("ml", "bob").await;
    assert!(begin.elapsed() < Duration::from_secs(70), "{:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn no_revision_is_used_twice_although_the_status_cannot_remember_it() {
    let bed = running().await;
    bed.api.fault(fault(
        Method::PATCH,
        "/yunikornconfigs/default/status",
        usize::MAX,
        Wrong::Refuse(500, "down"),
    ));
    for number in 0..2 {
        bed.api.put(OUTPUT, &json!({"data": {"queues.yaml": format!("# {number}")}}), "rival");
        bed.until("it is put back", |api| text(api).contains("sue")).await;
    }
    let ours: Vec<_> =
        bed.api.versions(OUTPUT).iter().map(|map| map["data"]["queues.yaml"].to_string()).collect();
    let ours: Vec<_> = ours.iter().filter(|text| text.contains("sue")).collect();
    let distinct: std::collections::BTreeSet<_> = ours.iter().collect();
    assert_eq!((ours.len(), distinct.len()), (3, 3), "{ours:?}");
}

#[tokio::test(start_paused = true)]
async fn objects_that_go_with_their_definition_stay_in_force() {
    let bed = running().await;
    bed.api.withdraw(Some("queueacls"));
    bed.api.delete(PROD);
    bed.until("it is reported", applied("False/Pending")).await;
    let writes = bed.writes_within(Duration::from_mins(30)).await;
    assert!(writes.iter().all(|write| !write.contains("configmaps")), "{writes:?}");
    assert!(text(&bed.api).contains("sue"));
    bed.api.withdraw(None);
    bed.until("the deletion counts", |api| !text(api).contains("sue")).await;
}
