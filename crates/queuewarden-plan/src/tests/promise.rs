//! Tests that access ends no matter what is broken, and does not come back, with the text that is written
//! when the full text cannot be.

use super::*;
use crate::simulate;
use crate::snapshot::{LastBase, ReadBack, RefusedText};
use yunikorn::config::BUILT_IN;
use yunikorn::version::Version;

/// Returns the cluster after everything was written.
fn after(snapshot: &Snapshot) -> Snapshot {
    settled(snapshot).snapshot
}

fn granted(acl: &str) -> Snapshot {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("a", "root.prod", acl)];
    after(&snapshot)
}

fn rebase(snapshot: &mut Snapshot, base: Option<&str>) {
    snapshot.defaults = base.map(|base| map(YUNIKORN_DEFAULTS, &[(KEY, base)]));
    snapshot.base.clone_from(&snapshot.defaults);
}

fn set(snapshot: &mut Snapshot, index: usize, acl: &str) {
    spec_of(&mut snapshot.queue_acls[index]).submit = Some(Grant::Raw(acl.into()));
}

fn output(snapshot: &mut Snapshot) -> &mut ConfigMapState {
    Arc::make_mut(snapshot.output.as_mut().unwrap())
}

/// Restarts the process: only the state stored in the cluster survives.
fn restart(snapshot: &mut Snapshot) {
    snapshot.observed = Observed::default();
}

#[test]
fn a_base_is_kept_once_a_full_text_was_written_from_it() {
    let done = granted("sue");
    let kept = done.last_base.as_ref().unwrap();
    assert_eq!(kept.text, BASE);
    assert_eq!(kept.source, "ConfigMap yunikorn/yunikorn-defaults, key queues.yaml");
    assert_eq!(plan(&done).last_base, None, "it is kept already");
    let mut broken = done.clone();
    rebase(&mut broken, Some("partitions: 1\n"));
    assert_eq!(plan(&broken).last_base, None, "an invalid base is not kept");
}

#[test]
fn a_narrowed_grant_is_written_while_the_base_is_invalid_or_missing() {
    for base in [Some("partitions: 1\n"), None] {
        let mut snapshot = granted("sue,bob");
        rebase(&mut snapshot, base);
        set(&mut snapshot, 0, "sue,ann");
        snapshot.queue_acls.push(submit("b", "root.test", "eve"));
        let done = settled(&snapshot);
        assert_eq!(submit_of(&done.snapshot, "root.prod"), "sue", "bob is out, and ann waits");
        assert_eq!(submit_of(&done.snapshot, "root.test"), "");
        assert_eq!(config_condition(&done.plan, "Applied"), "False/ConfigNotReady");
        assert_at_rest(&done);
        rebase(&mut snapshot, Some(BASE));
        assert_eq!(submit_of(&settled(&snapshot).snapshot, "root.prod"), "ann,sue", "once it is mended");
    }
}

#[test]
fn a_deleted_or_expired_grant_is_taken_away_while_the_base_is_invalid() {
    let end: Timestamp = "2026-06-01T13:00:00Z".parse().unwrap();
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![
        with(submit("a", "root.prod", "eve"), |spec| {
            spec.base_acl = BaseAcl::Extend;
            spec.expires_at = Some(end);
        }),
        submit("b", "root.test", "bob"),
    ];
    let mut snapshot = after(&snapshot);
    assert_eq!(submit_of(&snapshot, "root.prod"), "eve,sue dev");
    rebase(&mut snapshot, Some("partitions: 1\n"));
    restart(&mut snapshot);
    snapshot.queue_acls.pop();
    let deleted = settled(&snapshot);
    assert_eq!(submit_of(&deleted.snapshot, "root.test"), " ");
    assert_eq!(submit_of(&deleted.snapshot, "root.prod"), "eve,sue dev");
    let mut snapshot = deleted.snapshot;
    snapshot.now = end;
    assert_eq!(submit_of(&settled(&snapshot).snapshot, "root.prod"), "sue dev", "the base's own stays");
}

#[test]
fn a_deleted_grant_is_taken_away_while_the_full_text_is_too_large() {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("a", "root.prod", "sue"), submit("b", "root.test", "eve")];
    let mut snapshot = after(&snapshot);
    let filler = "x".repeat(crate::MAX_BYTES - text(&snapshot).len() - 16);
    output(&mut snapshot).data.insert("filler".into(), filler);
    snapshot.queue_acls[1] = submit("c", "root.prod", "a_name_that_is_longer_than_the_room_that_is_left");
    let done = settled(&snapshot);
    assert_eq!(config_condition(&done.plan, "Applied"), "False/TooLarge");
    assert_eq!(
        (submit_of(&done.snapshot, "root.prod").as_str(), submit_of(&done.snapshot, "root.test").as_str()),
        ("sue", " ")
    );
    assert_at_rest(&done);
}

#[test]
fn a_deleted_grant_is_taken_away_while_no_text_can_be_made_of_the_others() {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("a", "root.prod", "sue"), submit("b", "root.test", "eve")];
    let mut snapshot = after(&snapshot);
    let user = "u".repeat(go_compat::yaml::MAX_TEXT);
    snapshot.queue_acls[1] = submit("c", "root.prod", &user);
    let plan = plan(&snapshot);
    assert_eq!(config_condition(&plan, "BaseResolved"), "False/BaseInvalid");
    assert_eq!(config_condition(&plan, "Applied"), "False/ConfigNotReady");
    assert_eq!(acl_condition(&plan, "c", "Ready"), "False/ConfigNotReady");
    let written = plan.write.unwrap().data[KEY].clone().unwrap();
    output(&mut snapshot).data.insert(KEY.into(), written);
    assert_eq!(
        (submit_of(&snapshot, "root.prod").as_str(), submit_of(&snapshot, "root.test").as_str()),
        ("sue", " ")
    );
}

#[test]
fn a_deleted_grant_is_taken_away_while_a_partition_is_missing() {
    let gpu = format!("{BASE}  - name: gpu\n    queues:\n      - name: root\n        submitacl: ' ops'\n");
    let mut snapshot = cluster(&gpu);
    snapshot.queue_acls = vec![submit("a", "root.prod", "eve")];
    let mut snapshot = after(&snapshot);
    rebase(&mut snapshot, Some(BASE));
    snapshot.queue_acls.clear();
    let done = settled(&snapshot);
    assert_eq!(config_condition(&done.plan, "Applied"), "False/PartitionMissing");
    assert_eq!(submit_of(&done.snapshot, "root.prod"), " ");
    let tree = tree(&done.snapshot);
    assert_eq!(
        tree.partition("gpu").unwrap().root().submit_acl.value,
        " ops",
        "the partition stays as it is"
    );
}

#[test]
fn a_lost_delegation_ends_while_the_base_is_invalid() {
    let mut snapshot = cluster(BASE);
    spec(&mut snapshot).delegation = true;
    let ann = yunikorn::identity::Identity { user: "ann".into(), groups: Vec::new() };
    let chief = with(submit("chief", "root.prod", "ann"), |spec| spec.admin = spec.submit.take());
    let by_ann = with(submit("by-ann", "root.prod.etl", "eve"), |spec| {
        spec.base_acl = BaseAcl::Extend;
        spec.delegated_by = Some(ann);
    });
    snapshot.queue_acls = vec![by_ann, chief];
    let mut snapshot = after(&snapshot);
    assert_eq!(submit_of(&snapshot, "root.prod.etl"), "eve");
    rebase(&mut snapshot, Some("partitions: 1\n"));
    snapshot.queue_acls.pop();
    assert_eq!(submit_of(&settled(&snapshot).snapshot, "root.prod.etl"), " ");
}

/// v1 grants bob, v2 does not and is written, and v3 is invalid before the status records v2.
#[test]
fn a_typo_after_a_narrowing_brings_nobody_back() {
    let mut snapshot = granted("sue,bob");
    set(&mut snapshot, 0, "sue");
    let written = plan(&snapshot);
    let status = snapshot.queue_acls[0].in_force.clone();
    simulate::apply(&mut snapshot, &written);
    Arc::make_mut(&mut snapshot.queue_acls[0]).in_force.clone_from(&status);
    set(&mut snapshot, 0, "sue,oidc:ann");
    for lost in [false, true] {
        if lost {
            restart(&mut snapshot);
        }
        let done = settled(&snapshot);
        assert_eq!(submit_of(&done.snapshot, "root.prod"), "sue");
        assert_eq!(acl_condition(&done.plan, "a", "Programmed"), "True/LastValidKept");
    }
    // Another object grants bob for a while: he does not keep access because of the invalid one.
    snapshot.queue_acls.push(submit("b", "root.prod", "bob"));
    let mut snapshot = settled(&snapshot).snapshot;
    assert_eq!(submit_of(&snapshot, "root.prod"), "bob,sue");
    snapshot.queue_acls.pop();
    assert_eq!(submit_of(&settled(&snapshot).snapshot, "root.prod"), "sue");
}

/// An object gives up access that the base grants as well, so the text does not change. The object is invalid
/// when another object closes the queue.
#[test]
fn what_an_object_gave_up_does_not_come_back_when_the_base_gives_way() {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("a", "root.prod", "sue,bob")];
    spec_of(&mut snapshot.queue_acls[0]).base_acl = BaseAcl::Extend;
    rebase(&mut snapshot, Some(&BASE.replace("'sue dev'", "'sue,bob dev'")));
    let written = plan(&snapshot);
    simulate::apply(&mut snapshot, &written);
    let mut snapshot = after(&snapshot);
    set(&mut snapshot, 0, "sue");
    let mut snapshot = after(&snapshot);
    set(&mut snapshot, 0, "sue,oidc:ann");
    snapshot.queue_acls.push(submit("b", "root.prod", "eve"));
    assert_eq!(submit_of(&settled(&snapshot).snapshot, "root.prod"), "eve,sue");
}

#[test]
fn an_invalid_object_keeps_nothing_without_a_text_that_grants_it() {
    let mut snapshot = granted("sue,bob");
    set(&mut snapshot, 0, "sue  dev");
    restart(&mut snapshot);
    snapshot.output = None;
    assert_eq!(submit_of(&settled(&snapshot).snapshot, "root.prod"), " ", "and the base's own stays closed");
}

#[test]
fn an_object_that_is_being_deleted_grants_nothing_and_opens_nothing() {
    let open = BASE.replace("'sue dev'", "'*'");
    let mut snapshot = cluster(&open);
    snapshot.queue_acls = vec![submit("a", "root.prod", "ann")];
    let mut snapshot = after(&snapshot);
    Arc::make_mut(&mut snapshot.queue_acls[0]).meta.deleting = true;
    let mut snapshot = settled(&snapshot).snapshot;
    assert_eq!(submit_of(&snapshot, "root.prod"), " ");
    snapshot.queue_acls.clear();
    assert_eq!(submit_of(&settled(&snapshot).snapshot, "root.prod"), "*");
}

#[test]
fn a_text_comes_back_from_the_last_base_when_both_config_maps_are_deleted() {
    let mut snapshot = granted("sue");
    snapshot.output = None;
    rebase(&mut snapshot, None);
    restart(&mut snapshot);
    let done = settled(&snapshot);
    assert_eq!(submit_of(&done.snapshot, "root.prod"), "sue");
    assert_eq!(config_condition(&done.plan, "BaseResolved"), "False/BaseNotFound");
    assert_eq!(config_condition(&done.plan, "Ready"), "False/BaseNotFound");
    snapshot.last_base = None;
    assert_eq!(plan(&snapshot).write, None, "the open default is not written where there was a base");
}

#[test]
fn a_built_in_base_that_objects_closed_comes_back_closed() {
    let mut snapshot = cluster(BASE);
    rebase(&mut snapshot, None);
    snapshot.queue_acls = vec![submit("root", "root", " platform")];
    let mut snapshot = after(&snapshot);
    assert_eq!(snapshot.last_base.as_ref().map(|last| last.text.as_str()), Some(BUILT_IN));
    snapshot.output = None;
    restart(&mut snapshot);
    assert_eq!(submit_of(&settled(&snapshot).snapshot, "root"), " platform");
}

#[test]
fn a_changed_policy_group_is_followed_when_the_scheduler_is_proven_to_run_it() {
    let mut snapshot = granted("sue,bob");
    output(&mut snapshot).data.insert("service.policyGroup".into(), "group-a".into());
    set(&mut snapshot, 0, "sue");
    let done = settled(&snapshot);
    assert_eq!(submit_of(&done.snapshot, "root.prod"), "sue", "the key that the scheduler reads is kept up");
    assert!(!done.snapshot.output.as_deref().unwrap().data.contains_key("group-a.yaml"));
    assert_eq!(config_condition(&done.plan, "Applied"), "False/PolicyGroupPending");
    assert_at_rest(&done);
    // The scheduler restarts: group-a.yaml does not exist, so it runs the built-in default.
    let mut snapshot = done.snapshot;
    snapshot.observed.loaded_text = Some(text(&snapshot).to_owned());
    let checksum = Ok(config::checksum(BUILT_IN));
    snapshot.observed.read_back = Some(ReadBack { at: now(), checksum });
    let done = settled(&snapshot);
    let text = done.snapshot.output.as_deref().unwrap().data["group-a.yaml"].clone();
    let tree = config::verdict(&text, &[], Version::V1_8).config.unwrap();
    let queue = tree.partition("default").unwrap().queue(&QueuePath::parse("root.prod").unwrap()).unwrap();
    assert_eq!(queue.submit_acl.value, "sue");
    // By now, the scheduler reports that text.
    let mut snapshot = done.snapshot;
    let checksum = Ok(config::checksum(&text));
    snapshot.observed.read_back = Some(ReadBack { at: now(), checksum });
    assert_eq!(plan(&snapshot).write, None);
}

#[test]
fn the_built_in_default_proves_no_other_policy_group() {
    let mut snapshot = granted("sue");
    output(&mut snapshot).data.insert("service.policyGroup".into(), "other".into());
    snapshot.observed.read_back = Some(ReadBack { at: now(), checksum: Ok(config::checksum(BUILT_IN)) });
    let written =
        |snapshot: &Snapshot| plan(snapshot).write.is_some_and(|it| it.data.contains_key("other.yaml"));
    assert!(!written(&snapshot), "the key that it reads may have been missing for a moment");
    snapshot.observed.reasserts = 1;
    assert!(written(&snapshot), "it does not take what is there");
    snapshot.observed.reasserts = 0;
    snapshot.observed.loaded_text = Some(text(&snapshot).to_owned());
    assert!(written(&snapshot), "it has left a text that is still there");
    // An earlier process observed that the scheduler runs that text.
    snapshot.observed.loaded_text = None;
    let sum = config::checksum(text(&snapshot));
    let config = snapshot.config.as_mut().unwrap();
    config.in_force.as_mut().unwrap().loaded_hash = Some(sum);
    assert!(written(&snapshot), "by the status");
    snapshot.config.as_mut().unwrap().meta.generation += 1;
    assert!(!written(&snapshot), "that may have been another scheduler");
}

#[test]
fn a_late_write_is_fenced_off_by_a_write_that_changes_nothing_else() {
    let mut snapshot = granted("sue");
    assert_eq!(plan(&snapshot).write, None);
    let version = snapshot.output.as_deref().unwrap().resource_version.clone();
    snapshot.observed.fence = Some(version.clone());
    let write = plan(&snapshot).write.unwrap();
    assert_eq!((write.data.len(), write.resource_version.as_ref()), (0, Some(&version)));
    assert_eq!(write.annotations, [(EPOCH.to_string(), "1".to_string())].into());
    output(&mut snapshot).annotations.extend(write.annotations);
    assert_eq!(plan(&snapshot).write.unwrap().annotations[EPOCH], "2");
    output(&mut snapshot).resource_version = "8".into();
    assert_eq!(plan(&snapshot).write, None);
}

#[test]
fn an_open_text_is_put_right_however_often_it_was() {
    let mut snapshot = granted("sue");
    let second = jiff::SignedDuration::from_secs(1);
    snapshot.observed.repairs = (1..30).map(|n| now() - second * n).collect();
    let closed = snapshot.clone();
    snapshot.output = None;
    assert!(plan(&snapshot).write.is_some(), "missing");
    let mut snapshot = closed.clone();
    let open = text(&snapshot).replace("'sue'", "'*'").replace("submitacl: sue", "submitacl: '*'");
    output(&mut snapshot).data.insert(KEY.into(), open);
    assert!(plan(&snapshot).write.is_some(), "open");
    let mut snapshot = closed;
    output(&mut snapshot).data.insert(KEY.into(), BASE.replace("'sue dev'", "' '"));
    assert!(plan(&snapshot).write.is_none(), "narrower than desired");
}

#[test]
fn a_text_that_the_scheduler_refuses_does_not_hold_up_withdrawals() {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("a", "root.prod", "sue"), submit("b", "root.test", "eve")];
    let mut snapshot = after(&snapshot);
    let proven = text(&snapshot).to_owned();
    set(&mut snapshot, 0, "sue,ann");
    let mut snapshot = after(&snapshot);
    snapshot.observed.loaded_text = Some(proven.clone());
    let refused = crate::effective::header::strip(text(&snapshot));
    snapshot.observed.refused =
        Some(RefusedText { body: config::checksum(refused), at: now(), times: 1, by_scheduler: true });
    assert_eq!(plan(&snapshot).write, None, "nothing is withdrawn");
    snapshot.queue_acls.pop();
    let done = settled(&snapshot);
    assert_eq!(
        (submit_of(&done.snapshot, "root.prod").as_str(), submit_of(&done.snapshot, "root.test").as_str()),
        ("sue", " ")
    );
    assert_eq!(config_condition(&done.plan, "Applied"), "False/Rejected");
}

#[test]
fn most_objects_gone_at_once_withdraw_and_open_nothing_until_confirmed() {
    let open = BASE.replace("'sue dev'", "'*'");
    let mut snapshot = cluster(&open);
    snapshot.queue_acls = (0..4).map(|n| submit(&format!("o{n}"), "root.prod", &format!("u{n}"))).collect();
    let mut snapshot = after(&snapshot);
    snapshot.queue_acls.clear();
    restart(&mut snapshot);
    let done = settled(&snapshot);
    assert_eq!(
        submit_of(&done.snapshot, "root.prod"),
        "u0,u1,u2,u3",
        "the base lets everyone in: nothing is withdrawn"
    );
    assert_eq!(config_condition(&done.plan, "Applied"), "False/RemovalUnconfirmed");
    let revision = crate::effective::header::split(text(&done.snapshot)).unwrap().revision;
    let message = config_message(&done.plan, "Applied");
    assert!(message.contains(&format!("confirm-removal={revision}")), "{message}");
    let mut confirmed = done.snapshot;
    spec(&mut confirmed).confirmed_removal = Some(revision);
    let done = settled(&confirmed);
    assert_eq!(submit_of(&done.snapshot, "root.prod"), "*");
    assert_at_rest(&done);
}

#[test]
fn few_objects_that_go_ask_for_no_confirmation() {
    let mut snapshot = granted("ann");
    snapshot.queue_acls.clear();
    assert_eq!(submit_of(&settled(&snapshot).snapshot, "root.prod"), "sue dev");
}

#[test]
fn widenings_beyond_the_burst_wait_and_withdrawals_do_not() {
    let mut snapshot = granted("sue,bob");
    snapshot.observed.widened = vec![now(); 60];
    set(&mut snapshot, 0, "sue,ann");
    let done = settled(&snapshot);
    assert_eq!(submit_of(&done.snapshot, "root.prod"), "sue");
    assert_eq!(config_condition(&done.plan, "Applied"), "False/Pending");
    let due = done.plan.wake_at.unwrap();
    let mut later = done.snapshot;
    later.now = due;
    assert_eq!(submit_of(&settled(&later).snapshot, "root.prod"), "ann,sue");
}

#[test]
fn a_kept_base_is_read_like_any_other() {
    let mut snapshot = granted("sue");
    rebase(&mut snapshot, None);
    snapshot.last_base = Some(LastBase { source: "x".into(), text: "partitions: [".into(), loaded: None });
    snapshot.queue_acls.clear();
    assert_eq!(plan(&snapshot).write, None, "a damaged one is none");
}

#[test]
fn an_identity_setting_that_somebody_else_keeps_changing_is_put_back_counted_and_reported() {
    let key = yunikorn::admission::BYPASS_AUTH;
    let mut snapshot = cluster(BASE);
    snapshot.policies =
        vec![entry("p", AdmissionPolicySpec { bypass_auth: Some(false), ..AdmissionPolicySpec::default() })];
    let mut snapshot = after(&snapshot);
    let second = jiff::SignedDuration::from_secs(1);
    snapshot.observed.repairs = (1..30).map(|n| now() - second * n).collect();
    output(&mut snapshot).data.insert(key.into(), "true".into());
    let write = plan(&snapshot).write.unwrap();
    assert!(write.repair, "it is counted");
    assert_eq!(write.data[key].as_deref(), Some("false"));
    snapshot.observed.repairs.push(now());
    assert_eq!(plan(&snapshot).write, None, "within a second");
    assert_eq!(config_condition(&plan(&snapshot), "Applied"), "False/Contended");
}

#[test]
fn delegated_objects_share_what_the_base_and_the_administrators_leave() {
    let mut snapshot = cluster(&format!("{BASE}# {}\n", "x".repeat(1000 * 1024)));
    spec(&mut snapshot).delegation = true;
    let ann = yunikorn::identity::Identity { user: "ann".into(), groups: Vec::new() };
    let many = |count: usize| (0..count).map(|n| format!("user{n:04}")).collect::<Vec<_>>().join(",");
    let chief = with(submit("chief", "root.prod", "ann"), |spec| spec.admin = spec.submit.take());
    let by_ann = |name: &str, count: usize| {
        with(submit(name, "root.prod.etl", &many(count)), |spec| {
            spec.base_acl = BaseAcl::Extend;
            spec.delegated_by = Some(ann.clone());
        })
    };
    snapshot.queue_acls = vec![chief, by_ann("few", 500), by_ann("many", 3000)];
    let settled = settled(&snapshot);
    assert_eq!(
        config_condition(&settled.plan, "Applied"),
        "True/Applied",
        "nobody's withdrawal has to wait for them"
    );
    assert_eq!(acl_condition(&settled.plan, "few", "Accepted"), "True/Accepted");
    assert_eq!(acl_condition(&settled.plan, "many", "Accepted"), "False/TooLarge");
}

#[test]
fn the_number_of_objects_is_noted_also_where_the_text_stays() {
    let open = BASE.replace("'sue dev'", "'*'");
    let mut snapshot = cluster(&open);
    snapshot.queue_acls = vec![submit("o0", "root.prod", "dan")];
    let mut snapshot = after(&snapshot);
    snapshot.queue_acls.extend((1..4).map(|n| submit(&format!("o{n}"), "root.prod", "dan")));
    let write = plan(&snapshot).write.unwrap();
    assert_eq!((write.data.len(), write.annotations), (0, [(OBJECTS.to_string(), "4".to_string())].into()));
    let mut snapshot = after(&snapshot);
    assert_eq!(plan(&snapshot).write, None);
    snapshot.queue_acls.clear();
    assert_eq!(config_condition(&settled(&snapshot).plan, "Applied"), "False/RemovalUnconfirmed");
}
