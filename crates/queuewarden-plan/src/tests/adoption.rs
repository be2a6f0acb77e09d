//! Tests keys that others own, hide, or keep changing.

use std::sync::Arc;

use super::*;
use crate::budget;
use crate::simulate::enforced;
use yunikorn::admission::BYPASS_AUTH;

/// A cluster whose output key was written by `manager`.
fn foreign(manager: &str, live: &str) -> Snapshot {
    let mut snapshot = cluster(BASE);
    snapshot.output = Some(owned_by(map(YUNIKORN_CONFIGS, &[(KEY, live), ("log.level", "INFO")]), manager));
    snapshot
}

#[test]
fn someone_elses_key_is_left_alone_and_named() {
    let snapshot = foreign(
        "argocd-controller",
        "partitions:\n  - name: default\n    queues:\n      - name: root\n        submitacl: '*'\n",
    );
    let settled = settled(&snapshot);
    assert_eq!(settled.snapshot.output, snapshot.output);
    assert!(!settled.written && !settled.applied() && !settled.only_observes());
    assert_eq!(config_condition(&settled.plan, "Applied"), "False/FieldConflict");
    let message = config_message(&settled.plan, "Applied");
    assert!(message.contains("\"argocd-controller\" (Update)") && message.contains("Import"), "{message}");
    assert_eq!(config_condition(&settled.plan, "FailOpen"), "True/RootAllowsEveryone");
}

#[test]
fn other_keys_stay() {
    let mut snapshot = cluster(BASE);
    snapshot.output = Some(map(YUNIKORN_CONFIGS, &[("log.level", "DEBUG")]));
    let settled = settled(&snapshot);
    assert_eq!(settled.snapshot.output.as_deref().unwrap().data["log.level"], "DEBUG");
    assert_eq!(config_condition(&settled.plan, "Ready"), "True/NotVerified");
    assert!(settled.written && settled.applied() && !settled.only_observes());
    assert!(!super::settled(&settled.snapshot).written, "there is nothing left to write");
}

#[test]
fn the_annotation_names_all_keys_of_ours_and_is_written_when_they_change() {
    const BOTH: &str = "admissionController.accessControl.bypassAuth,queues.yaml";
    let objects = || (OBJECTS.to_string(), "1".to_string());
    let annotation = |keys: &str| BTreeMap::from([(MANAGED_KEYS.to_string(), keys.to_string())]);
    let mut snapshot = cluster(BASE);
    snapshot.output = Some(map(YUNIKORN_CONFIGS, &[("log.level", "DEBUG")]));
    snapshot.policies =
        vec![entry("p", AdmissionPolicySpec { bypass_auth: Some(true), ..AdmissionPolicySpec::default() })];
    assert_eq!(plan(&snapshot).write.unwrap().annotations, annotation(BOTH));

    let mut more = settled(&snapshot).snapshot;
    let mut less = more.clone();
    more.queue_acls = vec![submit("a", "root.prod", "ann")];
    let write = plan(&more).write.unwrap();
    assert_eq!(write.data.keys().collect::<Vec<_>>(), [KEY]);
    assert_eq!(write.annotations, [objects()].into(), "the keys are what they were");
    assert!(!write.reassert && !write.repair);
    let mut both = annotation(BOTH);
    both.extend([objects()]);
    assert_eq!(settled(&more).snapshot.output.unwrap().annotations, both);

    less.policies.clear();
    assert_eq!(plan(&less).write.unwrap().annotations, annotation(KEY));
}

#[test]
fn queue_operator_of_yunikorn_is_named_with_what_to_do() {
    let contended = |other_writer: &str| {
        let mut snapshot = settled(&cluster(BASE)).snapshot;
        snapshot.observed.last_written = Some(config::checksum(text(&snapshot)));
        snapshot.observed.other_writer = Some(other_writer.into());
        snapshot.observed.repairs = vec![now(); budget::BURST];
        Arc::make_mut(snapshot.output.as_mut().unwrap()).data.insert(KEY.into(), BASE.into());
        snapshot
    };
    for (snapshot, reason, explained) in [
        (foreign(QUEUE_OPERATOR, "partitions: []"), "FieldConflict", true),
        (foreign("helm", "partitions: []"), "FieldConflict", false),
        (contended(QUEUE_OPERATOR), "Contended", true),
        (contended("helm, yunikorn-queue-operator"), "Contended", true),
        (contended("helm"), "Contended", false),
    ] {
        let plan = plan(&snapshot);
        assert_eq!(config_condition(&plan, "Applied"), format!("False/{reason}"));
        let message = config_message(&plan, "Applied");
        for part in ["is YuniKorn's queue operator", "TARGET_NAMESPACE", "Observe"] {
            assert_eq!(message.contains(part), explained, "{message}");
        }
    }
}

#[test]
fn import_makes_the_live_text_the_base_and_loses_nothing() {
    let live = "# ours since 2021\npartitions:\n  - name: default\n    queues:\n      - name: root\n        queues: [{name: old, submitacl: sue}]\n";
    let mut snapshot = foreign("kubectl-edit", live);
    snapshot.defaults = None;
    snapshot.base = None;
    spec(&mut snapshot).adoption = Adoption::Import;
    snapshot.queue_acls = vec![submit("a", "root.old", "ann")];
    let first = plan(&snapshot);
    assert_eq!(first.write, None, "the base comes first");
    let base = first.import.unwrap();
    assert_eq!((base.name.as_str(), base.data[KEY].as_str()), (YUNIKORN_DEFAULTS, live));
    assert_eq!(base.annotations[IMPORTED_FROM], "yunikorn/yunikorn-configs");
    let settled = settled(&snapshot);
    assert_eq!(settled.created[0], base);
    let made = settled.snapshot.base.as_deref().unwrap();
    assert_eq!(
        (made.name.as_str(), made.owners[KEY][0].manager.as_str()),
        (YUNIKORN_DEFAULTS, FIELD_MANAGER)
    );
    assert_eq!(settled.snapshot.defaults.as_deref(), Some(made), "YuniKorn reads it too");
    assert_eq!(submit_of(&settled.snapshot, "root.old"), "ann");
    assert!(text(&settled.snapshot).contains("# ours since 2021\n"));
    assert_eq!(config_condition(&settled.plan, "Ready"), "True/NotVerified");
    assert_at_rest(&settled);
}

#[test]
fn import_also_makes_a_base_of_another_name() {
    let mut snapshot = foreign("kubectl-edit", BASE);
    spec(&mut snapshot).adoption = Adoption::Import;
    spec(&mut snapshot).base_config_map = "yunikorn-queues".into();
    snapshot.base = None;
    let settled = settled(&snapshot);
    assert_eq!(settled.snapshot.base.as_deref().unwrap().data[KEY], BASE);
    assert_eq!(settled.snapshot.base.as_deref().unwrap().name, "yunikorn-queues");
    assert_eq!(settled.snapshot.defaults, snapshot.defaults, "YuniKorn does not read it");
    assert_eq!(config_condition(&settled.plan, "Ready"), "True/NotVerified");
    assert_at_rest(&settled);
}

#[test]
fn an_import_that_only_observe_puts_off_is_announced() {
    let mut snapshot = foreign("kubectl-edit", BASE);
    spec(&mut snapshot).adoption = Adoption::Import;
    spec(&mut snapshot).base_config_map = "yunikorn-queues".into();
    spec(&mut snapshot).mode = Mode::Observe;
    snapshot.base = None;
    let announced = settled(&snapshot);
    assert_eq!(config_condition(&announced.plan, "Applied"), "False/ObserveMode");
    assert_eq!(config_condition(&announced.plan, "Ready"), "False/BaseNotFound");
    assert!(announced.only_observes() && announced.created.is_empty());
    assert!(settle(enforced(&snapshot)).applied());
}

#[test]
fn import_does_not_overwrite_a_base() {
    let mut snapshot = foreign("helm", BASE);
    spec(&mut snapshot).adoption = Adoption::Import;
    let plan = plan(&snapshot);
    assert_eq!((plan.import, plan.write), (None, None));
}

#[test]
fn force_copies_first_and_keeps_live_queues() {
    let mut snapshot = foreign("helm", &BASE.replace("name: test", "name: other"));
    spec(&mut snapshot).adoption = Adoption::Force;
    let refused = plan(&snapshot);
    assert_eq!((&refused.write, &refused.backup), (&None, &None));
    let message = config_message(&refused, "Applied");
    assert!(message.contains("`root.other`"), "{message}");

    let mut snapshot = foreign(
        "helm",
        "# theirs\npartitions: [{name: default, queues: [{name: root, queues: [{name: prod}]}]}]\n",
    );
    spec(&mut snapshot).adoption = Adoption::Force;
    let taken = plan(&snapshot);
    let backup = taken.backup.unwrap();
    assert!(backup.name.starts_with("yunikorn-configs-backup-"));
    assert!(backup.data[KEY].starts_with("# theirs\n"));
    assert_eq!(backup.data.len(), 1, "only what is replaced");
    let settled = settled(&snapshot);
    assert_eq!(config_condition(&settled.plan, "Ready"), "True/NotVerified");
    assert_at_rest(&settled);
}

#[test]
fn force_takes_nothing_over_while_nobody_knows_what_is_live() {
    let mut snapshot = foreign("helm", "partitions: [{name: default, queues: [{name: root, queues: oops}]}]");
    spec(&mut snapshot).adoption = Adoption::Force;
    let unknown = plan(&snapshot);
    assert_eq!(config_condition(&unknown, "Applied"), "False/FieldConflict");
    assert!(config_message(&unknown, "Applied").contains("the live queues are unknown"));
    assert_eq!((unknown.write, unknown.backup), (None, None));

    // The text from before the mistake stays in force, with queues that the base lacks.
    let more = BASE.replace("- name: test\n", "- name: batch\n          - name: test\n");
    snapshot.observed.loaded_text = Some(more);
    let lacking = plan(&snapshot);
    assert!(config_message(&lacking, "Applied").contains("lacks queues that are live: `root.batch`"));
    assert_eq!(lacking.write, None);
    snapshot.observed.loaded_text = Some(BASE.into());
    assert!(plan(&snapshot).write.is_some());
}

#[test]
fn of_many_queues_that_would_go_some_are_named() {
    for (count, end) in [(10, "`root.q9`; add them"), (12, "`root.q9` and 2 more; add them")] {
        let queues: Vec<_> = (0..count).map(|number| format!("{{name: q{number}}}")).collect();
        let root = format!("{{name: root, queues: [{}]}}", queues.join(", "));
        let mut snapshot = foreign("helm", &format!("partitions: [{{name: default, queues: [{root}]}}]"));
        spec(&mut snapshot).adoption = Adoption::Force;
        let plan = plan(&snapshot);
        assert!(config_message(&plan, "Applied").contains(end), "{}", config_message(&plan, "Applied"));
    }
}

#[test]
fn observe_writes_nothing_and_says_what_it_would() {
    let mut snapshot = cluster(BASE);
    spec(&mut snapshot).mode = Mode::Observe;
    snapshot.queue_acls = vec![submit("a", "root.prod", "ann")];
    let settled = settled(&snapshot);
    assert!(settled.snapshot.output.is_none());
    assert!(settled.only_observes() && !settled.applied() && !settled.written);
    assert_eq!(config_condition(&settled.plan, "Applied"), "False/ObserveMode");
    assert_eq!(acl_condition(&settled.plan, "a", "Ready"), "False/ObserveMode");
    assert!(settled.plan.rendered.unwrap().text.contains("'ann'"));
}

#[test]
fn binary_data_that_hides_the_key_is_reported() {
    let mut snapshot = settled(&cluster(BASE)).snapshot;
    snapshot.queue_acls = vec![submit("a", "root.prod", "ann")];
    let other = BinaryValue { len: 3, gunzipped: None };
    Arc::make_mut(snapshot.output.as_mut().unwrap()).binary.insert("queues.yaml.bak".into(), other);
    let hidden = settled(&snapshot);
    assert_eq!(config_condition(&hidden.plan, "Applied"), "False/ShadowedByBinaryData");
    assert_eq!(config_condition(&hidden.plan, "FailOpen"), "True/ShadowedByBinaryData");
    assert_eq!(acl_condition(&hidden.plan, "a", "Effective"), "False/DefaultConfigActive");

    let output = Arc::make_mut(snapshot.output.as_mut().unwrap());
    output.binary.clear();
    let packed = BinaryValue { len: 3, gunzipped: Some(BASE.into()) };
    output.binary.insert("queues.yaml.gz".into(), packed);
    let hidden = settled(&snapshot);
    assert_eq!(config_condition(&hidden.plan, "Applied"), "False/ShadowedByBinaryData");
    assert_eq!(config_condition(&hidden.plan, "FailOpen"), "False/Closed");
    assert!(config_message(&hidden.plan, "Applied").contains("`queues.yaml.gz`"));
}

#[test]
fn a_hand_edit_is_put_back_under_a_new_revision() {
    let mut snapshot = settled(&cluster(BASE)).snapshot;
    let ours = text(&snapshot).to_string();
    snapshot.observed.last_written = Some(config::checksum(&ours));
    let output = snapshot.output.as_mut().unwrap();
    *output = owned_by(Arc::clone(output), "kubectl-edit");
    Arc::make_mut(output).data.insert(KEY.into(), ours.replace("sue dev", "*"));
    let write = plan(&snapshot).write.unwrap();
    assert!(write.repair);
    let text = write.data[KEY].as_ref().unwrap();
    assert_eq!(text, &ours.replace("# revision: 1\n", "# revision: 2\n"));
}

#[test]
fn a_writer_that_does_not_give_up_is_reported_and_rationed() {
    let mut snapshot = settled(&cluster(BASE)).snapshot;
    snapshot.observed.last_written = Some(config::checksum(text(&snapshot)));
    snapshot.observed.other_writer = Some("stubborn".into());
    let clean = snapshot.clone();
    Arc::make_mut(snapshot.output.as_mut().unwrap()).data.insert(KEY.into(), BASE.into());
    snapshot.observed.repairs = vec![now(); budget::BURST];
    let rationed = plan(&snapshot);
    assert_eq!(rationed.write, None);
    assert_eq!(config_condition(&rationed, "Applied"), "False/Contended");
    assert!(config_message(&rationed, "Applied").contains("\"stubborn\""));
    let due = rationed.wake_at.unwrap();
    snapshot.now = due;
    assert!(plan(&snapshot).write.unwrap().repair);
    let mut quiet = clean;
    quiet.observed.repairs = vec![now(); budget::BURST];
    assert_eq!(
        config_condition(&plan(&quiet), "Applied"),
        "False/Contended",
        "until it has been quiet for a while"
    );
    quiet.now = plan(&quiet).wake_at.unwrap();
    assert_eq!(config_condition(&plan(&quiet), "Applied"), "True/Applied");
}

#[test]
fn a_revocation_is_no_repair() {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("a", "root.prod", "ann")];
    let mut after = settled(&snapshot).snapshot;
    after.observed.last_written = Some(config::checksum(text(&after)));
    after.observed.repairs = vec![now(); 20];
    after.queue_acls.clear();
    assert!(!plan(&after).write.unwrap().repair);
}

#[test]
fn a_write_that_fails_is_reported_and_tried_again() {
    let reasons = [
        (WriteFailure::Forbidden("no".into()), "False/Forbidden"),
        (
            WriteFailure::Rejected("admission webhook \"x\" denied the request: no".into()),
            "False/RejectedByAdmission",
        ),
        (WriteFailure::Rejected("no".into()), "False/Rejected"),
        (WriteFailure::Transient("no".into()), "False/Pending"),
    ];
    for (failure, expected) in reasons {
        let mut snapshot = cluster(BASE);
        snapshot.observed.write_failure = Some(failure);
        let plan = plan(&snapshot);
        assert_eq!(config_condition(&plan, "Applied"), expected);
        assert!(plan.write.is_some());
    }
}

#[test]
fn a_missing_output_key_with_an_open_default_is_fail_open() {
    let mut snapshot = cluster(&BASE.replace("- name: root\n", "- name: root\n        submitacl: '*'\n"));
    spec(&mut snapshot).mode = Mode::Observe;
    let plan = plan(&snapshot);
    assert_eq!(config_condition(&plan, "FailOpen"), "True/OutputMissing");
    assert_eq!(
        config_message(&plan, "FailOpen"),
        "everyone may submit to every queue of partition `default`: the output has no key `queues.yaml`, and in \
         yunikorn-defaults the root queue's ACL is `*`; close it there"
    );
}

#[test]
fn an_open_text_says_how_to_close_it_and_an_empty_one_is_not_missing() {
    let open = foreign("helm", "partitions: [{name: default, queues: [{name: root, submitacl: '*'}]}]");
    let (open, empty) = (plan(&open), plan(&foreign("helm", "")));
    for plan in [&open, &empty] {
        assert_eq!(config_condition(plan, "FailOpen"), "True/RootAllowsEveryone");
    }
    let what = "everyone may submit to every queue of partition `default`:";
    let how = "the root queue's ACL is `*`; close it in ConfigMap yunikorn/yunikorn-configs, whose text is \
               not queuewarden's";
    assert_eq!(config_message(&open, "FailOpen"), format!("{what} {how}"));
    let why = "key `queues.yaml` is empty, so YuniKorn runs its built-in default";
    assert_eq!(config_message(&empty, "FailOpen"), format!("{what} {why}"));

    let mut nowhere = cluster(BASE);
    nowhere.base = nowhere.defaults.take();
    spec(&mut nowhere).mode = Mode::Observe;
    let nowhere = plan(&nowhere);
    assert_eq!(config_condition(&nowhere, "FailOpen"), "True/OutputMissing");
    let why = "no ConfigMap has a text in key `queues.yaml`, so YuniKorn runs its built-in default";
    assert_eq!(config_message(&nowhere, "FailOpen"), format!("{what} {why}"));
}

#[test]
fn only_a_base_that_was_made_of_this_output_takes_its_key_over() {
    for (origin, taken) in
        [("yunikorn/yunikorn-configs", true), ("yunikorn/other", false), ("other/yunikorn-configs", false)]
    {
        let mut snapshot =
            foreign("helm", "# theirs\npartitions: [{name: default, queues: [{name: root}]}]\n");
        spec(&mut snapshot).adoption = Adoption::Import;
        let base = Arc::make_mut(snapshot.base.as_mut().unwrap());
        base.annotations.insert(IMPORTED_FROM.into(), origin.into());
        let plan = plan(&snapshot);
        assert_eq!(plan.write.is_some_and(|write| write.data.contains_key(KEY)), taken, "{origin}");
        let copied = plan.backup.is_some_and(|backup| backup.data[KEY].starts_with("# theirs\n"));
        assert_eq!(copied, taken, "{origin}");
    }
}

#[test]
fn a_key_of_a_policy_is_not_imported_and_is_forced_whatever_the_queues() {
    let live = BASE.replace("name: test", "name: other");
    let mut snapshot = foreign("helm", &live);
    let output = [(KEY, live.as_str()), (BYPASS_AUTH, "true")];
    snapshot.output = Some(owned_by(map(YUNIKORN_CONFIGS, &output), "helm"));
    let policy = AdmissionPolicySpec { bypass_auth: Some(false), ..AdmissionPolicySpec::default() };
    snapshot.policies = vec![entry("p", policy)];
    spec(&mut snapshot).adoption = Adoption::Import;
    let left = plan(&snapshot);
    assert_eq!((&left.write, &left.import), (&None, &None));
    let tree =
        "key `queues.yaml` of ConfigMap yunikorn/yunikorn-configs belongs to \"helm\" (Update); Import would";
    let message = config_message(&left, "Applied");
    assert!(message.starts_with(tree), "the queue tree is reported first: {message}");

    spec(&mut snapshot).adoption = Adoption::Force;
    let taken = plan(&snapshot);
    assert_eq!(taken.write.as_ref().unwrap().data, [(BYPASS_AUTH.into(), Some("false".into()))].into());
    assert_eq!(taken.backup.as_ref().unwrap().data, [(BYPASS_AUTH.into(), "true".into())].into());
    assert!(config_message(&taken, "Applied").contains("lacks queues that are live: `root.other`"));
}

#[test]
fn why_an_import_is_not_made_is_reported() {
    let mut snapshot = foreign("helm", BASE);
    (snapshot.base, snapshot.defaults) = (None, None);
    spec(&mut snapshot).base_config_map = "tree".into();
    spec(&mut snapshot).adoption = Adoption::Import;
    assert_eq!(config_condition(&plan(&snapshot), "Applied"), "False/Pending");
    snapshot.observed.write_failure = Some(WriteFailure::Forbidden("no right to create".into()));
    let refused = plan(&snapshot);
    assert!(refused.import.is_some(), "it is tried again");
    assert_eq!(config_condition(&refused, "Applied"), "False/Forbidden");
    let why = "the API server does not let queuewarden write ConfigMap yunikorn/tree: no right to create";
    assert_eq!(config_message(&refused, "Applied"), why);
}

#[test]
fn a_key_of_a_policy_is_not_taken_over_once_the_queue_tree_was_imported() {
    let mut snapshot = foreign("helm", BASE);
    snapshot.output = Some(owned_by(map(YUNIKORN_CONFIGS, &[(KEY, BASE), (BYPASS_AUTH, "true")]), "helm"));
    (snapshot.base, snapshot.defaults) = (None, None);
    spec(&mut snapshot).base_config_map = "tree".into();
    spec(&mut snapshot).adoption = Adoption::Import;
    let policy = AdmissionPolicySpec { bypass_auth: Some(false), ..AdmissionPolicySpec::default() };
    snapshot.policies = vec![entry("p", policy)];
    let settled = settled(&snapshot);
    assert!(settled.written);
    assert_eq!(settled.snapshot.output.as_deref().unwrap().data[BYPASS_AUTH], "true");
    let message = config_message(&settled.plan, "Applied");
    let why = "belongs to \"helm\" (Update); Import transfers only the queue tree; remove the key there";
    assert_eq!(message, format!("key `{BYPASS_AUTH}` of ConfigMap yunikorn/yunikorn-configs {why}"));
}

#[test]
fn that_a_key_of_a_policy_is_anothers_hides_nothing_worse() {
    let mut snapshot = cluster(BASE);
    snapshot.output = Some(owned_by(map(YUNIKORN_CONFIGS, &[(BYPASS_AUTH, "true")]), "helm"));
    let policy = AdmissionPolicySpec { bypass_auth: Some(false), ..AdmissionPolicySpec::default() };
    snapshot.policies = vec![entry("p", policy)];
    let enforced = settled(&snapshot);
    assert!(enforced.written);
    assert_eq!(config_condition(&enforced.plan, "Applied"), "False/FieldConflict");
    spec(&mut snapshot).mode = Mode::Observe;
    let observed = settled(&snapshot);
    assert_eq!(config_condition(&observed.plan, "Applied"), "False/ObserveMode");
    assert!(observed.only_observes());
}

#[test]
fn while_nothing_can_be_rendered_the_base_is_what_is_reported() {
    let mut broken = foreign("helm", BASE);
    spec(&mut broken).adoption = Adoption::Import;
    broken.defaults = Some(map(YUNIKORN_DEFAULTS, &[(KEY, "partitions: 1\n")]));
    broken.base.clone_from(&broken.defaults);
    let mut missing = foreign("helm", BASE);
    spec(&mut missing).base_config_map = "tree".into();
    missing.base = None;
    let mut forced = missing.clone();
    spec(&mut forced).adoption = Adoption::Force;
    for (snapshot, why) in [
        (broken, "ConfigMap yunikorn/yunikorn-defaults, key queues.yaml: line 1: QW"),
        (missing, "ConfigMap yunikorn/tree does not exist; create it"),
        (forced, "ConfigMap yunikorn/tree does not exist; create it"),
    ] {
        let plan = plan(&snapshot);
        assert_eq!(config_condition(&plan, "Applied"), "False/ConfigNotReady", "{why}");
        let start = format!("nothing is written, and the live configuration stays: {why}");
        let message = config_message(&plan, "Applied");
        assert!(message.starts_with(&start), "{message}");
        assert_eq!((&plan.write, &plan.import, &plan.backup), (&None, &None, &None));
    }
}
