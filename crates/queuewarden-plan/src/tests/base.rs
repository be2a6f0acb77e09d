//! Tests bases that are missing, wrong or dangerous: the live text stays, and the status reports why.

use std::sync::Arc;

use super::*;

/// Replaces the base of a cluster.
fn on(mut snapshot: Snapshot, base: Option<&str>) -> Snapshot {
    snapshot.defaults = base.map(|base| map(YUNIKORN_DEFAULTS, &[(KEY, base)]));
    snapshot.base.clone_from(&snapshot.defaults);
    snapshot
}

/// `BASE` with a second partition.
fn with_partition(name: &str) -> String {
    format!("{BASE}  - name: {name}\n    queues:\n      - name: root\n")
}

/// The cluster after a first plan, with another base.
fn rebased(base: Option<&str>) -> (Snapshot, Settled) {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("a", "root.prod", "ann")];
    let before = settled(&snapshot).snapshot;
    let settled = settled(&on(before.clone(), base));
    (before, settled)
}

#[test]
fn a_changed_base_is_rendered_again_with_the_next_revision() {
    let (_, settled) = rebased(Some(&BASE.replace("name: test", "name: stage")));
    assert!(text(&settled.snapshot).contains("name: stage"));
    assert!(text(&settled.snapshot).contains("# revision: 2\n"));
    assert_eq!(submit_of(&settled.snapshot, "root.prod"), "ann");
    assert_at_rest(&settled);
}

#[test]
fn a_base_that_yunikorn_would_not_activate_changes_nothing() {
    let wrong = [
        BASE.replace("'sue dev'", "'sue  dev'"),
        BASE.replace("submitacl", "submitACL"),
        BASE.replace("name: root", "name: Root"),
        BASE.replace("# The queues", "# checksum: The queues"),
        format!("{BASE}  - name: [\n"),
    ];
    for base in wrong {
        let (before, settled) = rebased(Some(&base));
        assert_eq!(text(&settled.snapshot), text(&before), "{base}");
        assert_eq!(config_condition(&settled.plan, "BaseResolved"), "False/BaseInvalid", "{base}");
        assert_eq!(config_condition(&settled.plan, "Applied"), "False/ConfigNotReady");
        assert_eq!(acl_condition(&settled.plan, "a", "Ready"), "True/NotVerified", "its grant is live");
        assert_at_rest(&settled);
    }
}

#[test]
fn a_text_that_yaml_libraries_read_differently_is_kept_and_said_to_be_one() {
    let odd = BASE.replace("name: test", "name: !!str test");
    let (before, with_base) = rebased(Some(&odd));
    assert_eq!(text(&with_base.snapshot), text(&before));
    assert_eq!(config_condition(&with_base.plan, "BaseResolved"), "False/BaseInvalid");
    let message = config_message(&with_base.plan, "BaseResolved");
    assert!(message.contains("QW2005: a tag is read differently"), "{message}");

    // If somebody wrote it into the output, its grants are not known, and the base decides.
    let mut snapshot = before;
    Arc::make_mut(snapshot.output.as_mut().unwrap()).data.insert(KEY.into(), odd);
    let seen = plan(&snapshot);
    assert!(!acl_condition(&seen, "a", "Ready").starts_with("True"), "{seen:?}");
    assert_eq!(submit_of(&settled(&snapshot).snapshot, "root.prod"), "ann");
}

#[test]
fn new_grants_wait_for_a_base_that_is_in_order() {
    let (_, settled) = rebased(Some("partitions: 1\n"));
    let mut snapshot = settled.snapshot;
    snapshot.queue_acls.push(submit("b", "root.test", "bob"));
    let plan = plan(&snapshot);
    assert_eq!(plan.write, None);
    assert_eq!(acl_condition(&plan, "b", "Ready"), "False/ConfigNotReady");
}

#[test]
fn without_any_queue_tree_objects_wait_and_forget_nothing() {
    let mut snapshot = cluster("partitions: 1\n");
    snapshot.queue_acls = vec![submit("a", "root.prod", "ann"), submit("bad", "root.prod", "a  b")];
    let before = settled(&cluster(BASE)).snapshot;
    let remembered = QueueAclInForce {
        partition: "default".into(),
        queue: "root.prod".into(),
        submit: Some("ann".into()),
        admin: None,
        base_acl: BaseAcl::Replace,
        expires_at: None,
        delegated_by: None,
    };
    for object in &mut snapshot.queue_acls {
        Arc::make_mut(object).in_force = Some(remembered.clone().into());
    }
    let reported = settled(&snapshot);
    assert_eq!(acl_condition(&reported.plan, "a", "Ready"), "Unknown/ConfigNotReady");
    assert_eq!(acl_condition(&reported.plan, "bad", "Ready"), "False/Invalid");
    assert_at_rest(&reported);
    let mut mended = reported.snapshot;
    mended.base.clone_from(&before.base);
    mended.defaults.clone_from(&before.defaults);
    assert_eq!(acl_condition(&settled(&mended).plan, "bad", "Programmed"), "True/LastValidKept");
}

#[test]
fn a_base_that_has_gone_is_not_replaced_by_the_open_default() {
    let (before, settled) = rebased(None);
    assert_eq!(text(&settled.snapshot), text(&before));
    assert_eq!(config_condition(&settled.plan, "BaseResolved"), "False/BaseNotFound");
}

#[test]
fn without_any_base_the_built_in_default_stands_in_and_can_be_closed() {
    let mut snapshot = cluster(BASE);
    snapshot.defaults = None;
    snapshot.base = None;
    let open = settled(&snapshot);
    assert_eq!(config_condition(&open.plan, "BaseResolved"), "True/BuiltInDefault");
    assert_eq!(config_condition(&open.plan, "FailOpen"), "True/RootAllowsEveryone");
    snapshot.queue_acls = vec![submit("root", "root", " platform")];
    let closed = settled(&snapshot);
    assert_eq!(submit_of(&closed.snapshot, "root"), " platform");
    assert_eq!(config_condition(&closed.plan, "FailOpen"), "False/Closed");
    assert_eq!(acl_condition(&closed.plan, "root", "Ready"), "True/NotVerified");
    assert_at_rest(&closed);
}

#[test]
fn another_base_must_exist() {
    let mut snapshot = cluster(BASE);
    spec(&mut snapshot).base_config_map = "tree".into();
    snapshot.base = None;
    let settled = settled(&snapshot);
    assert_eq!(config_condition(&settled.plan, "BaseResolved"), "False/BaseNotFound");
    assert!(settled.snapshot.output.is_none());
}

#[test]
fn a_base_without_an_active_partition_would_hang_the_scheduler() {
    let mut snapshot = cluster(&with_partition("gpu"));
    let before = settled(&snapshot).snapshot;
    snapshot.output.clone_from(&before.output);
    let settled = settled(&on(snapshot, Some(BASE)));
    assert_eq!(config_condition(&settled.plan, "Applied"), "False/PartitionMissing");
    assert!(config_message(&settled.plan, "Applied").contains("`gpu`"));
    assert_eq!(text(&settled.snapshot), text(&before));
}

#[test]
fn partitions_whose_names_differ_in_case_are_two_to_the_scheduler() {
    let then = |live: &str, base: &str| plan(&on(settled(&cluster(live)).snapshot, Some(base)));
    let renamed = then(&with_partition("gpu"), &with_partition("GPU"));
    assert_eq!(config_condition(&renamed, "Applied"), "False/PartitionMissing");
    assert_eq!(renamed.write, None);
    let same = then(&with_partition("gpu"), &with_partition("gpu"));
    assert_eq!(config_condition(&same, "Applied"), "True/Applied");
    let default = then(BASE, &BASE.replace("name: default", "name: DEFAULT"));
    assert_ne!(config_condition(&default, "Applied"), "False/PartitionMissing");
}

#[test]
fn partitions_that_run_are_active_although_the_live_text_has_lost_them() {
    for refused in
        ["no: queues: at: all", "partitions: [{name: default, queues: [{name: root, submitacl: 'a  b'}]}]"]
    {
        let mut snapshot = settled(&cluster(BASE)).snapshot;
        Arc::make_mut(snapshot.output.as_mut().unwrap()).data.insert(KEY.into(), refused.into());
        assert!(plan(&snapshot).write.is_some(), "{refused}");
        snapshot.observed.loaded_text = Some(with_partition("gpu"));
        let plan = plan(&snapshot);
        assert_eq!(config_condition(&plan, "Applied"), "False/PartitionMissing", "{refused}");
        assert_eq!(plan.write, None);
    }
}

#[test]
fn a_header_of_ours_in_the_base_is_not_repeated() {
    let (before, _) = rebased(Some(BASE));
    let copied = cluster(text(&before));
    let settled = settled(&copied);
    assert_eq!(text(&settled.snapshot).matches("# Generated by queuewarden").count(), 1);
}

#[test]
fn too_large_is_refused_and_nearly_too_large_is_reported() {
    let padded = |bytes: usize| format!("{BASE}# {}\n", "x".repeat(bytes));
    let near = settled(&cluster(&padded(910 * 1024)));
    assert_eq!(config_condition(&near.plan, "Applied"), "True/Applied");
    assert!(config_message(&near.plan, "Applied").contains("close to the 1 MiB"));
    let room = 1024 * 1024 - text(&near.snapshot).len();
    let full = settled(&cluster(&padded(910 * 1024 + room)));
    assert_eq!(config_condition(&full.plan, "Applied"), "True/Applied");
    assert_eq!(text(&full.snapshot).len(), 1024 * 1024);
    let over = settled(&cluster(&padded(910 * 1024 + room + 1)));
    assert_eq!(config_condition(&over.plan, "Applied"), "False/TooLarge");
    assert!(over.snapshot.output.is_none());
}

#[test]
fn the_key_follows_the_policy_group() {
    let mut snapshot = cluster(BASE);
    let defaults = map(YUNIKORN_DEFAULTS, &[("service.policyGroup", "group-01"), ("group-01.yaml", BASE)]);
    snapshot.defaults = Some(defaults.clone());
    snapshot.base = Some(defaults);
    let settled = settled(&snapshot);
    let keys: Vec<_> = settled.snapshot.output.as_deref().unwrap().data.keys().cloned().collect();
    assert_eq!(keys, ["group-01.yaml"]);
    assert_at_rest(&settled);
}

#[test]
fn a_base_says_where_it_comes_from_and_what_is_odd_about_it() {
    let said = |snapshot: &Snapshot| config_message(&settled(snapshot).plan, "BaseResolved").to_owned();
    let start = "the queue tree comes from ConfigMap yunikorn/yunikorn-defaults, key queues.yaml";
    assert_eq!(said(&cluster(BASE)), start);
    let odd = said(&cluster(&BASE.replace("'sue dev'", "'sue,* dev'")));
    assert!(odd.starts_with(&format!("{start}; QW1")), "{odd}");
    let stands_in = "the queue tree comes from YuniKorn's built-in default, because ConfigMap";
    let none = said(&on(cluster(BASE), None));
    assert_eq!(none, format!("{stands_in} yunikorn/yunikorn-defaults does not exist"));
    let mut keyless = cluster(BASE);
    keyless.base = Some(map(YUNIKORN_DEFAULTS, &[("service.policyGroup", "queues")]));
    keyless.defaults.clone_from(&keyless.base);
    let none = said(&keyless);
    assert_eq!(none, format!("{stands_in} yunikorn/yunikorn-defaults has no key `{KEY}`"));
}

#[test]
fn of_what_is_wrong_with_a_base_the_first_few_are_reported() {
    for (count, more) in [(1, None), (2, None), (3, None), (4, Some(1)), (5, Some(2))] {
        let queues: Vec<_> = (0..count).map(|n| format!("{{name: q{n}, submitacl: 'a  b'}}")).collect();
        // An oddity is not the reason of a refusal.
        let root = format!("{{name: root, adminacl: 'sue,*', queues: [{}]}}", queues.join(", "));
        let plan = plan(&cluster(&format!("partitions: [{{name: default, queues: [{root}]}}]")));
        assert_eq!(config_condition(&plan, "BaseResolved"), "False/BaseInvalid");
        let message = config_message(&plan, "BaseResolved");
        let start = "ConfigMap yunikorn/yunikorn-defaults, key queues.yaml: QW";
        assert!(message.starts_with(start), "{message}");
        assert_eq!(
            message.matches(": QW").count() + message.matches("; QW").count(),
            count.min(3),
            "{message}"
        );
        let end = more.map(|more| format!("; and {more} more (`queuewarden validate` shows all)"));
        assert_eq!(message.contains("more (`queuewarden"), end.is_some(), "{message}");
        assert!(message.ends_with(&end.unwrap_or_default()), "{message}");
    }
}
