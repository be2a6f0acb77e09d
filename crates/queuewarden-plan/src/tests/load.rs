//! Tests the reports while the scheduler has not, or not yet, loaded the text.

use std::sync::Arc;

use super::*;

/// A settled cluster with one object and a scheduler that is queried.
fn running() -> Snapshot {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("a", "root.prod", "ann")];
    let mut snapshot = settled(&snapshot).snapshot;
    spec(&mut snapshot).scheduler = Some("http://yunikorn-service.yunikorn:9080".into());
    snapshot
}

fn reported(mut snapshot: Snapshot, checksum: Result<String, String>) -> Snapshot {
    snapshot.observed.read_back =
        Some(ReadBack { at: snapshot.now, checksum: checksum.map_err(|why| NoChecksum::unreachable(&why)) });
    snapshot
}

#[test]
fn ready_means_that_the_scheduler_was_seen_to_run_it() {
    let snapshot = running();
    let sum = config::checksum(text(&snapshot));
    let plan = plan(&reported(snapshot, Ok(sum.clone())));
    assert_eq!(config_condition(&plan, "Loaded"), "True/Loaded");
    assert_eq!(acl_condition(&plan, "a", "Ready"), "True/Ready");
    assert_eq!(plan.config.unwrap().rest.loaded_hash, Some(sum));
}

#[test]
fn what_is_written_but_not_loaded_is_not_ready() {
    let mut snapshot = reported(running(), Ok("OLD".into()));
    snapshot.observed.pending_since = Some(now());
    let plan = plan(&snapshot);
    assert_eq!(config_condition(&plan, "Loaded"), "False/LoadPending");
    assert_eq!(acl_condition(&plan, "a", "Programmed"), "True/Programmed");
    assert_eq!(acl_condition(&plan, "a", "Ready"), "False/LoadPending");
    assert_eq!(acl_condition(&plan, "a", "Loaded"), "-");
}

#[test]
fn an_object_that_was_loaded_before_stays_ready_while_another_waits() {
    let mut snapshot = running();
    let before = text(&snapshot).to_string();
    snapshot.queue_acls.push(submit("b", "root.test", "bob"));
    let mut snapshot = settled(&snapshot).snapshot;
    snapshot.observed.loaded_text = Some(before.clone());
    snapshot.observed.pending_since = Some(now());
    let plan = plan(&reported(snapshot, Ok(config::checksum(&before))));
    assert_eq!(acl_condition(&plan, "a", "Ready"), "True/Ready");
    assert_eq!(acl_condition(&plan, "b", "Ready"), "False/LoadPending");
}

#[test]
fn a_scheduler_that_is_down_is_taken_to_run_what_it_was_last_seen_to_run() {
    let mut snapshot = reported(running(), Err("connection refused".into()));
    let unknown = plan(&snapshot);
    assert_eq!(config_condition(&unknown, "Loaded"), "Unknown/SchedulerUnreachable");
    assert_eq!(acl_condition(&unknown, "a", "Ready"), "Unknown/SchedulerUnreachable");
    let sum = config::checksum(text(&snapshot));
    snapshot.config.as_mut().unwrap().in_force.get_or_insert_default().loaded_hash = Some(sum);
    assert_eq!(acl_condition(&plan(&snapshot), "a", "Ready"), "True/Ready");
}

#[test]
fn a_text_that_is_not_taken_is_written_again_and_then_called_refused() {
    let mut snapshot = reported(running(), Ok("OLD".into()));
    snapshot.observed.pending_since = Some(now());
    let due = plan(&snapshot).wake_at.unwrap();
    assert_eq!(due.duration_since(now()).as_secs(), 30);
    snapshot.now = due;
    let again = plan(&snapshot);
    let write = again.write.unwrap();
    assert!(write.reassert && !write.repair);
    assert!(write.data[KEY].as_ref().unwrap().contains("# revision: 2\n"));
    snapshot.observed.reasserts = 2;
    snapshot.observed.pending_since = Some(due);
    let plan = plan(&snapshot);
    assert_eq!(config_condition(&plan, "Loaded"), "False/SchedulerRejected");
    assert_eq!(acl_condition(&plan, "a", "Ready"), "False/SchedulerRejected");
    assert_eq!(plan.write, None);
}

#[test]
fn hot_refresh_that_is_off_is_reported_and_nothing_is_written_again() {
    let mut snapshot = reported(running(), Ok("OLD".into()));
    Arc::make_mut(snapshot.output.as_mut().unwrap())
        .data
        .insert("service.enableConfigHotRefresh".into(), "false".into());
    snapshot.observed.pending_since = Some(now());
    snapshot.now = "2026-06-02T00:00:00Z".parse().unwrap();
    let plan = plan(&snapshot);
    assert_eq!(config_condition(&plan, "Loaded"), "False/HotRefreshDisabled");
    assert_eq!(plan.write, None);
}

/// A cluster whose text is closed now, while its status still reports that it was open.
fn closed() -> Snapshot {
    let open = settled(&cluster(OPEN));
    assert_eq!(config_condition(&open.plan, "FailOpen"), "True/RootAllowsEveryone");
    let mut snapshot = running();
    let config = snapshot.config.as_mut().unwrap();
    config.meta.conditions = open.snapshot.config.unwrap().meta.conditions;
    snapshot.observed.pending_since = Some(now());
    snapshot
}

const OPEN: &str =
    "partitions: [{name: default, queues: [{name: root, submitacl: '*', queues: [{name: prod}]}]}]";

#[test]
fn a_root_is_open_until_the_scheduler_runs_the_text_that_closes_it() {
    let ended = |plan: &Plan| plan.events.iter().any(|event| event.reason == "FailOpenEnded");
    let mut behind = reported(closed(), Ok(config::checksum(OPEN)));
    behind.observed.loaded_text = Some(OPEN.into());
    let still = plan(&behind);
    assert_eq!(config_condition(&still, "FailOpen"), "True/RootAllowsEveryone");
    assert!(
        config_message(&still, "FailOpen")
            .contains("the scheduler does not run it: written, but not yet loaded")
    );
    assert!(!ended(&still));

    for unseen in [Ok("OTHER".to_owned()), Err("connection refused".to_owned())] {
        let unknown = plan(&reported(closed(), unseen));
        assert_eq!(config_condition(&unknown, "FailOpen"), "True/RootAllowsEveryone");
        assert!(
            config_message(&unknown, "FailOpen").contains("it is not known whether the scheduler runs it")
        );
    }

    let mut elsewhere = reported(running(), Ok("OTHER".into()));
    elsewhere.observed.pending_since = Some(now());
    assert_eq!(
        config_condition(&plan(&elsewhere), "FailOpen"),
        "Unknown/LoadPending",
        "it was not open before"
    );

    let snapshot = closed();
    let sum = config::checksum(text(&snapshot));
    let done = plan(&reported(snapshot, Ok(sum)));
    assert_eq!(config_condition(&done, "FailOpen"), "False/Closed");
    assert!(ended(&done));
}

#[test]
fn an_open_root_is_not_forgotten_while_the_configuration_cannot_be_read() {
    let mut snapshot = closed();
    let config = snapshot.config.as_mut().unwrap();
    config.spec = Err(Vec::new());
    assert_eq!(config_condition(&plan(&snapshot), "FailOpen"), "True/RootAllowsEveryone");
}

#[test]
fn the_text_that_should_run_is_that_of_the_config_maps_or_the_built_in_one() {
    let snapshot = running();
    assert_eq!(crate::text_in_force(&snapshot), text(&snapshot));
    assert_eq!(crate::text_in_force(&Snapshot::empty(now())), config::BUILT_IN);
}

#[test]
fn one_wakes_to_write_again_only_where_the_text_is_ours_to_write_and_read() {
    let mut snapshot = reported(running(), Ok("OLD".into()));
    snapshot.observed.pending_since = Some(now());
    snapshot.observed.reasserts = 1;
    let after = |seconds| now().checked_add(jiff::SignedDuration::from_secs(seconds)).unwrap();
    snapshot.now = after(30);
    assert_eq!(plan(&snapshot).wake_at, Some(after(60)));
    let mut observing = snapshot.clone();
    spec(&mut observing).mode = Mode::Observe;
    assert_eq!(plan(&observing).wake_at, None);
    observing.now = after(60);
    let due = plan(&observing);
    assert_eq!(config_condition(&due, "Applied"), "True/Applied", "what nobody may write does not change");
    assert_eq!(config_condition(&due, "Loaded"), "False/SchedulerRejected");
    let packed = BinaryValue { len: 3, gunzipped: Some(BASE.into()) };
    Arc::make_mut(snapshot.output.as_mut().unwrap()).binary.insert("queues.yaml.gz".into(), packed);
    assert_eq!(config_condition(&plan(&snapshot), "Loaded"), "False/SchedulerRejected");
    assert_eq!(plan(&snapshot).wake_at, None);
}
