//! Tests the changes that `QueueAcl`s make to the text, and their statuses.

use super::*;

#[test]
fn grants_of_a_queue_join_and_take_the_place_of_the_bases_own() {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("b", "root.prod", "bob"), submit("a", "ROOT.Prod", "ann ops")];
    let settled = settled(&snapshot);
    assert_eq!(submit_of(&settled.snapshot, "root.prod"), "ann,bob ops");
    let text = text(&settled.snapshot);
    assert!(text.contains("            submitacl: 'ann,bob ops' # the old ones\n"), "{text}");
    assert_eq!(
        settled.plan.queue_acls["a"].rest.submit, "user ann and group ops",
        "what it grants by itself"
    );
    assert_eq!(settled.plan.queue_acls["b"].rest.submit, "user bob");
    for name in ["a", "b"] {
        assert_eq!(acl_condition(&settled.plan, name, "Ready"), "True/NotVerified");
        let message = acl_message(&settled.plan, name, "Accepted");
        assert!(message.contains("takes it from user sue and group dev"), "{message}");
    }
    assert_at_rest(&settled);
}

#[test]
fn everything_else_of_the_base_stays_byte_for_byte() {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("a", "root.prod", "ann")];
    let settled = settled(&snapshot);
    let body: String = text(&settled.snapshot).split_inclusive('\n').skip(2).collect();
    assert_eq!(body, BASE.replace("'sue dev'", "'ann'"));
}

#[test]
fn extend_keeps_the_bases_own_only_if_all_say_so() {
    let extend =
        |name: &str, acl: &str| with(submit(name, "root.prod", acl), |spec| spec.base_acl = BaseAcl::Extend);
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![extend("a", "ann")];
    assert_eq!(submit_of(&settled(&snapshot).snapshot, "root.prod"), "ann,sue dev");
    snapshot.queue_acls = vec![extend("a", "ann"), submit("b", "root.prod", "bob")];
    assert_eq!(submit_of(&settled(&snapshot).snapshot, "root.prod"), "ann,bob");
}

#[test]
fn a_right_that_nobody_sets_keeps_the_bases_text_and_an_empty_grant_admits_nobody() {
    let mut snapshot = cluster(BASE);
    let nobody = Grant::Nobody;
    snapshot.queue_acls = vec![with(submit("a", "root.prod", ""), |spec| spec.submit = Some(nobody))];
    let settled = settled(&snapshot);
    assert_eq!(submit_of(&settled.snapshot, "root.prod"), " ");
    assert_eq!(settled.plan.queue_acls["a"].rest.submit, "nobody");
    assert_eq!(settled.plan.queue_acls["a"].rest.admin, "-");
    assert!(text(&settled.snapshot).contains("adminacl: ' qa'"));
}

/// A `QueueAcl` of `root.prod` that extends the base's own ACL.
fn extending(name: &str, acl: &str, change: impl FnOnce(&mut QueueAclSpec)) -> Arc<QueueAclEntry> {
    let extending = with(submit(name, "root.prod", acl), |spec| spec.base_acl = BaseAcl::Extend);
    with(extending, change)
}

#[test]
fn a_grant_without_names_admits_nobody_and_says_so() {
    let mut snapshot = cluster(BASE);
    let unnamed = Grant::Lists { users: vec![], groups: vec![] };
    snapshot.queue_acls = vec![with(submit("a", "root.prod", ""), |spec| spec.submit = Some(unnamed))];
    let settled = settled(&snapshot);
    assert_eq!(submit_of(&settled.snapshot, "root.prod"), " ");
    assert_eq!(acl_condition(&settled.plan, "a", "Ready"), "True/NotVerified");
    let message = acl_message(&settled.plan, "a", "Accepted");
    assert!(message.ends_with("help: if that is intended, write `nobody: true`"), "{message}");
}

#[test]
fn a_temporary_object_that_replaces_is_invalid() {
    let time: Timestamp = "2026-06-01T13:00:00Z".parse().unwrap();
    let windows: [fn(&mut QueueAclSpec, Timestamp); 2] =
        [|spec, time| spec.not_before = Some(time), |spec, time| spec.expires_at = Some(time)];
    for window in windows {
        let mut snapshot = cluster(BASE);
        snapshot.queue_acls = vec![with(submit("a", "root.prod", "ann"), |spec| window(spec, time))];
        let settled = settled(&snapshot);
        assert_eq!(acl_condition(&settled.plan, "a", "Accepted"), "False/Invalid");
        let message = acl_message(&settled.plan, "a", "Accepted");
        assert!(message.contains(TEMPORARY_ONLY_ADDS), "{message}");
        assert_eq!(submit_of(&settled.snapshot, "root.prod"), "sue dev");
    }
}

#[test]
fn deleting_the_last_object_brings_the_base_back() {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("a", "root.prod", "ann")];
    let mut after = settled(&snapshot).snapshot;
    after.queue_acls.clear();
    let settled = settled(&after);
    assert_eq!(submit_of(&settled.snapshot, "root.prod"), "sue dev");
    assert!(text(&settled.snapshot).contains("# revision: 2\n"));
    assert_at_rest(&settled);
}

#[test]
fn windows_open_and_close_with_the_clock() {
    let mut snapshot = cluster(BASE);
    let (start, end) = ("2026-06-01T13:00:00Z".parse().unwrap(), "2026-06-01T14:00:00Z".parse().unwrap());
    snapshot.queue_acls = vec![with(submit("a", "root.prod", "ann"), |spec| {
        spec.base_acl = BaseAcl::Extend;
        spec.not_before = Some(start);
        spec.expires_at = Some(end);
    })];
    let mut seen = Vec::new();
    for at in [now(), start, end] {
        snapshot.now = at;
        let settled = settled(&snapshot);
        seen.push((
            submit_of(&settled.snapshot, "root.prod"),
            acl_condition(&settled.plan, "a", "Ready"),
            settled.plan.wake_at,
        ));
        snapshot = settled.snapshot;
    }
    assert_eq!(
        seen,
        [
            ("sue dev".to_string(), "True/NotYetValid".to_string(), Some(start)),
            ("ann,sue dev".to_string(), "True/NotVerified".to_string(), Some(end)),
            ("sue dev".to_string(), "True/Expired".to_string(), None),
        ]
    );
}

/// The notes of the events about upcoming ends.
fn near_ends(plan: &Plan) -> Vec<&str> {
    let events = plan.events.iter().filter(|event| event.reason == "Expiring" && !event.warning);
    events.map(|event| event.note.as_str()).collect()
}

#[test]
fn an_end_is_reported_once_an_hour_before() {
    let at = |time: &str| -> Timestamp { format!("2026-06-01T{time}Z").parse().unwrap() };
    let ends = |end: Timestamp| move |spec: &mut QueueAclSpec| spec.expires_at = Some(end);
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![extending("a", "ann,bob,sue", ends(at("14:00:00")))];
    snapshot.queue_acls.push(extending("b", "bob", ends(at("15:00:00"))));
    let before = settled(&snapshot);
    assert_eq!((near_ends(&before.plan), before.plan.wake_at), (vec![], Some(at("13:00:00"))));
    snapshot = before.snapshot;
    snapshot.now = at("13:00:00");
    let reported = plan(&snapshot);
    let note = "ends at 2026-06-01T14:00:00Z: takes submit from user ann on queue `root.prod`";
    assert_eq!(near_ends(&reported), [note], "the base lets sue in, and b lets bob in for longer");
    assert!(acl_message(&reported, "a", "Accepted").ends_with(" until 2026-06-01T14:00:00Z, within an hour"));
    snapshot = settled(&snapshot).snapshot;
    spec_of(&mut snapshot.queue_acls[0]).submit = Some(Grant::Raw("ann".into()));
    assert_eq!(near_ends(&plan(&snapshot)), [""; 0], "it was reported, also by another process");
    ends(at("13:30:00"))(spec_of(&mut snapshot.queue_acls[0]));
    assert_eq!(near_ends(&plan(&snapshot)).len(), 1, "another end");
    spec(&mut snapshot).mode = Mode::Observe;
    assert_eq!(near_ends(&plan(&snapshot)), [""; 0], "nothing ends");
    let mut nobody = settled(&cluster(BASE)).snapshot;
    nobody.queue_acls = vec![extending("a", "sue", ends(at("12:50:00")))];
    assert_eq!(near_ends(&plan(&nobody)), ["ends at 2026-06-01T12:50:00Z: changes no names"]);
}

#[test]
fn a_suspended_object_grants_nothing_and_opens_nothing() {
    for (base_acl, granted, without, effective, remembered) in [
        (BaseAcl::Extend, "ann,sue dev", "sue dev", "False/Suspended", None),
        (BaseAcl::Replace, "ann", " ", "True/Effective", Some(" ")),
    ] {
        let mut snapshot = cluster(BASE);
        snapshot.queue_acls = vec![with(submit("a", "root.prod", "ann"), |spec| spec.base_acl = base_acl)];
        let mut before = settled(&snapshot).snapshot;
        spec_of(&mut before.queue_acls[0]).suspend = true;
        let mut observed = before.clone();
        spec(&mut observed).mode = Mode::Observe;
        assert_eq!(acl_condition(&plan(&observed), "a", "Ready"), "False/WithdrawalPending");
        let suspended = settled(&before);
        let conditions = ["Accepted", "Programmed", "Effective", "Ready"]
            .map(|it| acl_condition(&suspended.plan, "a", it));
        assert_eq!(conditions, ["True/Suspended", "True/Programmed", effective, "True/Suspended"]);
        assert_eq!(submit_of(&suspended.snapshot, "root.prod"), without);
        let memory = suspended.plan.queue_acls["a"].rest.in_force.clone();
        assert_eq!(memory.and_then(|memory| memory.submit.clone()).as_deref(), remembered);
        assert_at_rest(&suspended);
        // A mistake, made before or afterwards, lets no one in.
        for mut broken in [before, suspended.snapshot.clone()] {
            spec_of(&mut broken.queue_acls[0]).submit = Some(Grant::Raw("ann  dev".into()));
            assert_eq!(submit_of(&settled(&broken).snapshot, "root.prod"), without);
        }
        let mut unread = suspended.snapshot.clone();
        Arc::make_mut(&mut unread.queue_acls[0]).spec = Err(vec![]);
        assert_eq!(submit_of(&settled(&unread).snapshot, "root.prod"), without);
        let mut resumed = suspended.snapshot;
        spec_of(&mut resumed.queue_acls[0]).suspend = false;
        let resumed = settled(&resumed);
        assert_eq!(submit_of(&resumed.snapshot, "root.prod"), granted);
        assert_eq!(acl_condition(&resumed.plan, "a", "Ready"), "True/NotVerified");
    }
}

#[test]
fn what_yunikorn_would_drop_or_refuse_makes_the_object_invalid() {
    let lists = |users: &[&str], groups: &[&str]| Grant::Lists {
        users: users.iter().map(ToString::to_string).collect(),
        groups: groups.iter().map(ToString::to_string).collect(),
    };
    let grants = [
        Grant::Raw("sue  dev".into()),
        Grant::Raw("system:serviceaccount:spark:driver".into()),
        Grant::Raw("ann,*".into()),
        Grant::Raw("!bob".into()),
        lists(&["sue\n"], &[]),
        lists(&[], &[" team"]),
        lists(&["*"], &[]),
        lists(&[""], &[]),
    ];
    for grant in grants {
        let mut snapshot = cluster(BASE);
        snapshot.queue_acls =
            vec![with(submit("a", "root.prod", ""), |spec| spec.submit = Some(grant.clone()))];
        let settled = settled(&snapshot);
        assert_eq!(acl_condition(&settled.plan, "a", "Accepted"), "False/Invalid", "{grant:?}");
        assert_eq!(acl_condition(&settled.plan, "a", "Ready"), "False/Invalid", "{grant:?}");
        assert!(acl_message(&settled.plan, "a", "Accepted").starts_with("QW1"), "{grant:?}");
        assert_eq!(submit_of(&settled.snapshot, "root.prod"), "sue dev", "{grant:?}");
    }
}

#[test]
fn an_object_that_becomes_invalid_keeps_its_last_valid_version_in_force() {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("a", "root.prod", "ann")];
    let mut broken = settled(&snapshot).snapshot;
    let typos: [fn(&mut QueueAclSpec); 3] = [
        |spec| spec.submit = Some(Grant::Raw("ann  dev".into())),
        |spec| spec.queue = "root.prdo".into(),
        |spec| spec.partition = "gpu".into(),
    ];
    for (typo, reason) in typos.into_iter().zip(["Invalid", "QueueNotFound", "PartitionNotFound"]) {
        typo(spec_of(&mut broken.queue_acls[0]));
        let settled = settled(&broken);
        assert_eq!(submit_of(&settled.snapshot, "root.prod"), "ann");
        assert_eq!(acl_condition(&settled.plan, "a", "Accepted"), format!("False/{reason}"));
        assert_eq!(acl_condition(&settled.plan, "a", "Programmed"), "True/LastValidKept");
        assert_at_rest(&settled);
        Arc::make_mut(&mut broken.queue_acls[0]).spec = submit("a", "root.prod", "ann").spec.clone();
    }
    Arc::make_mut(&mut broken.queue_acls[0]).spec = Err(vec![]);
    assert_eq!(submit_of(&settled(&broken).snapshot, "root.prod"), "ann", "also when it cannot be decoded");
    broken.queue_acls.clear();
    assert_eq!(submit_of(&settled(&broken).snapshot, "root.prod"), "sue dev", "but not when it is deleted");
}

#[test]
fn an_invalid_object_that_never_was_in_force_grants_nothing() {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("a", "root.prod", "ann  dev")];
    let settled = settled(&snapshot);
    assert_eq!(submit_of(&settled.snapshot, "root.prod"), "sue dev");
    assert_eq!(acl_condition(&settled.plan, "a", "Programmed"), "False/Invalid");
}

#[test]
fn a_kept_grant_ends_when_it_would_have_ended() {
    let mut snapshot = cluster(BASE);
    let end: Timestamp = "2026-06-01T13:00:00Z".parse().unwrap();
    snapshot.queue_acls = vec![extending("a", "ann", |spec| spec.expires_at = Some(end))];
    let mut broken = settled(&snapshot).snapshot;
    Arc::make_mut(&mut broken.queue_acls[0]).spec = Err(vec![]);
    assert_eq!(plan(&broken).wake_at, Some(end));
    broken.now = end;
    assert_eq!(submit_of(&settled(&broken).snapshot, "root.prod"), "sue dev");
}

#[test]
fn an_end_comes_although_the_version_that_asks_for_it_is_invalid() {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("a", "root.prod", "ann")];
    let mut broken = settled(&snapshot).snapshot;
    let end: Timestamp = "2026-06-01T13:00:00Z".parse().unwrap();
    let object = spec_of(&mut broken.queue_acls[0]);
    object.submit = Some(Grant::Raw("ann  dev".into()));
    object.expires_at = Some(end);
    let kept = settled(&broken);
    assert_eq!(submit_of(&kept.snapshot, "root.prod"), "ann");
    assert_eq!(kept.plan.wake_at, Some(end));
    broken = kept.snapshot;
    broken.now = end;
    let ended = settled(&broken);
    assert_eq!(submit_of(&ended.snapshot, "root.prod"), "sue dev");
    assert_eq!(acl_condition(&ended.plan, "a", "Accepted"), "False/Invalid");
    assert_at_rest(&ended);
}

#[test]
fn a_grant_that_is_put_off_ends_until_then() {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![extending("a", "ann", |_| ())];
    let mut later = settled(&snapshot).snapshot;
    let start: Timestamp = "2026-06-01T13:00:00Z".parse().unwrap();
    spec_of(&mut later.queue_acls[0]).not_before = Some(start);
    let waiting = settled(&later);
    assert_eq!(acl_condition(&waiting.plan, "a", "Accepted"), "True/NotYetValid");
    assert_eq!(submit_of(&waiting.snapshot, "root.prod"), "sue dev");
    assert_at_rest(&waiting);
}

#[test]
fn an_acl_that_cannot_be_written_where_it_belongs_is_in_nobody_elses_way() {
    let base = "partitions:\n  - name: default\n    queues:\n      - name: root\n        queues:\n          \
                - {name: a, submitacl: &devs sue}\n          - {name: b, submitacl: *devs}\n          - {name: c}\n";
    let mut snapshot = cluster(base);
    snapshot.queue_acls = vec![
        submit("anchored", "root.a", "ann"),
        submit("alias", "root.b", "bob"),
        submit("plain", "root.c", "cid"),
    ];
    let settled = settled(&snapshot);
    assert_eq!(config_condition(&settled.plan, "Ready"), "True/NotVerified");
    assert_eq!(acl_condition(&settled.plan, "anchored", "Accepted"), "False/Invalid");
    assert!(acl_message(&settled.plan, "anchored", "Accepted").contains("has an anchor"));
    for name in ["alias", "plain"] {
        assert_eq!(acl_condition(&settled.plan, name, "Ready"), "True/NotVerified");
    }
    let acls = ["a", "b", "c"].map(|queue| submit_of(&settled.snapshot, &format!("root.{queue}")));
    assert_eq!(acls, ["sue", "bob", "cid"]);
    assert_at_rest(&settled);
}

#[test]
fn who_administers_by_an_acl_that_cannot_be_written_delegates_nothing() {
    let base = "partitions:\n  - name: default\n    queues:\n      - name: root\n        queues:\n          \
                - {name: a, adminacl: &ops joe}\n          - {name: b, adminacl: *ops}\n";
    let mut snapshot = cluster(base);
    spec(&mut snapshot).delegation = true;
    let administer = with(submit("boss", "root.a", ""), |spec| {
        spec.submit = None;
        spec.admin = Some(Grant::Raw("sue".into()));
    });
    let delegated = with(submit("team", "root.a", "ann"), |spec| {
        spec.base_acl = BaseAcl::Extend;
        spec.delegated_by = Some(yunikorn::identity::Identity { user: "sue".into(), groups: vec![] });
    });
    snapshot.queue_acls = vec![administer, delegated];
    let settled = settled(&snapshot);
    assert_eq!(acl_condition(&settled.plan, "boss", "Accepted"), "False/Invalid");
    assert_eq!(acl_condition(&settled.plan, "team", "Accepted"), "False/NotDelegated");
    assert_eq!(submit_of(&settled.snapshot, "root.a"), "");
}

#[test]
fn a_queue_that_is_not_there_is_explained() {
    let not_found = |queue: &str, live: &[(&str, bool)]| {
        let mut snapshot = cluster(BASE);
        let queues = live.iter().map(|(path, managed)| ((*path).to_string(), *managed)).collect();
        snapshot.observed.live_queues.insert("default".into(), queues);
        snapshot.queue_acls = vec![submit("a", queue, "ann")];
        let plan = plan(&snapshot);
        assert_eq!(acl_condition(&plan, "a", "Accepted"), "False/QueueNotFound");
        acl_message(&plan, "a", "Accepted").to_string()
    };
    assert!(not_found("root.prdo", &[]).contains("did you mean `root.prod`?"));
    let dynamic = not_found("root.prod.ns1", &[("root.prod.ns1", false)]);
    assert!(
        dynamic.contains("only at run time") && dynamic.contains("the ACL of `root.prod` applies"),
        "{dynamic}"
    );
    assert!(!not_found("root.zzz", &[]).contains("did you mean"));
    let mut snapshot = cluster("partitions:\n  - name: default\n    queues:\n      - name: dev\n");
    snapshot.queue_acls = vec![submit("a", "root", "ann")];
    let message = acl_message(&plan(&snapshot), "a", "Accepted").to_string();
    assert!(message.contains("write `- name: root` in the base"), "{message}");
}

#[test]
fn a_queue_behind_an_anchor_is_not_changed() {
    let base = "partitions:\n  - name: default\n    queues:\n      - name: root\n        queues:\n          - &q {name: a}\n          - {<<: *q, name: b}\n";
    let mut snapshot = cluster(base);
    snapshot.queue_acls = vec![submit("a", "root.a", "ann")];
    let plan = plan(&snapshot);
    assert_eq!(acl_condition(&plan, "a", "Accepted"), "False/Invalid");
    assert!(acl_message(&plan, "a", "Accepted").contains("QW5303"));
}

#[test]
fn an_ancestor_that_allows_everyone_makes_a_grant_redundant() {
    let mut snapshot = cluster(&BASE.replace("- name: root\n", "- name: root\n        submitacl: '*'\n"));
    let both = with(submit("both", "root.test", "bob"), |spec| spec.admin = Some(Grant::Raw(" ops".into())));
    snapshot.queue_acls = vec![submit("redundant", "root.prod.etl", "ann"), both];
    let open = settled(&snapshot);
    assert_eq!(acl_condition(&open.plan, "redundant", "Effective"), "False/AncestorAllowsEveryone");
    assert_eq!(acl_condition(&open.plan, "redundant", "Ready"), "False/AncestorAllowsEveryone");
    assert_eq!(acl_condition(&open.plan, "both", "Ready"), "True/NotVerified");
    assert!(acl_message(&open.plan, "both", "Effective").contains("submit changes nothing"));
    assert_eq!(config_condition(&open.plan, "FailOpen"), "True/RootAllowsEveryone");
    assert_eq!(config_condition(&open.plan, "Ready"), "False/RootAllowsEveryone");

    let mut closing = open.snapshot.clone();
    closing.queue_acls.push(submit("root", "root", " platform"));
    let closed = settled(&closing);
    assert_eq!(submit_of(&closed.snapshot, "root"), " platform");
    assert_eq!(config_condition(&closed.plan, "FailOpen"), "False/Closed");
    assert_eq!(acl_condition(&closed.plan, "redundant", "Ready"), "True/NotVerified");
    assert_at_rest(&closed);
    let first = plan(&Snapshot { output: closed.snapshot.output.clone(), ..closing });
    assert!(
        first.events.iter().any(|event| event.reason == "FailOpenEnded" && !event.warning),
        "{:?}",
        first.events
    );
}

#[test]
fn an_object_that_opens_root_is_named_with_what_to_do() {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("all", "root", "*"), submit("some", "root", "ann")];
    let open = settled(&snapshot);
    let message = config_message(&open.plan, "Ready");
    let cause = "every queue of partition `default`: QueueAcl `all` lets everyone in at `root`";
    assert!(
        message.ends_with(&format!("{cause}; grant less there; if it is meant, set spec.acceptOpenRoot"))
    );
    spec(&mut snapshot).accept_open_root = true;
    let accepted = settled(&snapshot);
    let message = config_message(&accepted.plan, "FailOpen");
    assert!(message.ends_with(&format!("{cause}, which spec.acceptOpenRoot accepts")), "{message}");
}

/// `YuniKorn` drops a `*` among names (yunikorn-core `acl.go`): that ACL admits `sue` alone.
#[test]
fn an_asterisk_among_names_is_no_wildcard() {
    let mut snapshot = cluster(&BASE.replace("- name: root\n", "- name: root\n        submitacl: 'sue,*'\n"));
    snapshot.queue_acls = vec![submit("a", "root.prod.etl", "ann")];
    let settled = settled(&snapshot);
    assert_eq!(acl_condition(&settled.plan, "a", "Effective"), "True/Effective");
    assert_eq!(config_condition(&settled.plan, "FailOpen"), "False/Closed");
}

#[test]
fn a_wildcard_beside_a_name_on_the_same_queue_makes_the_name_redundant_but_not_itself() {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![
        with(submit("all", "root.test", ""), |spec| spec.submit = Some(Grant::Everyone)),
        submit("ann", "root.test", "ann"),
    ];
    let settled = settled(&snapshot);
    assert_eq!(acl_condition(&settled.plan, "all", "Ready"), "True/NotVerified");
    assert_eq!(acl_condition(&settled.plan, "ann", "Ready"), "False/AncestorAllowsEveryone");
}

#[test]
fn events_tell_transitions_and_who_lost_access() {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("a", "root.prod", "ann")];
    let first = plan(&snapshot);
    assert!(first.events.iter().any(|event| event.reason == "Pending" && !event.warning));
    assert_eq!(acl_condition(&first, "a", "Programmed"), "False/Pending");
    let writing = "ConfigMap yunikorn/yunikorn-configs is being written";
    assert_eq!(acl_message(&first, "a", "Programmed"), writing);
    snapshot.output = settled(&snapshot).snapshot.output;
    let events: Vec<_> = plan(&snapshot).events;
    let reasons: Vec<_> = events.iter().map(|event| (event.reason.as_str(), event.warning)).collect();
    assert!(
        reasons.contains(&("NotVerified", false)) && reasons.contains(&("AccessRemoved", true)),
        "{reasons:?}"
    );
}

#[test]
fn messages_are_bounded() {
    let mut snapshot = cluster(BASE);
    let users = (0..2000).map(|i| format!("user{i}")).collect();
    snapshot.queue_acls = vec![with(submit("a", "root.prod", ""), |spec| {
        spec.submit = Some(Grant::Lists { users, groups: vec![] });
    })];
    let plan = settled(&snapshot).plan;
    assert!(acl_message(&plan, "a", "Accepted").contains("and 1990 more"));
}

/// Text that comes from an anchor cannot be changed, and neither can a root that is not in the text.
#[test]
fn a_last_valid_version_is_not_kept_where_it_could_not_be_written() {
    let shared = "partitions:\n  - name: default\n    queues:\n      - name: root\n        queues:\n          - &q {name: prod}\n          - {<<: *q, name: b}\n";
    let rootless = "partitions:\n  - name: default\n    queues:\n      - name: prod\n";
    for (queue, base, reason, why) in [
        ("root.prod", shared, "Invalid", "QW5303"),
        ("root", rootless, "QueueNotFound", "the base does not contain queue `root`"),
    ] {
        let mut snapshot = cluster(BASE);
        snapshot.queue_acls = vec![submit("a", queue, "ann")];
        let mut snapshot = settled(&snapshot).snapshot;
        snapshot.defaults = Some(map(YUNIKORN_DEFAULTS, &[(KEY, base)]));
        snapshot.base.clone_from(&snapshot.defaults);
        let settled = settled(&snapshot);
        assert_eq!(acl_condition(&settled.plan, "a", "Accepted"), format!("False/{reason}"));
        let message = acl_message(&settled.plan, "a", "Accepted");
        assert!(message.contains(why), "{message}");
        assert_eq!(acl_condition(&settled.plan, "a", "Programmed"), format!("False/{reason}"), "{queue}");
        assert_eq!(submit_of(&settled.snapshot, queue), "", "{queue}");
        assert_at_rest(&settled);
    }
}

#[test]
fn columns_show_what_an_object_asks_for_and_whether_it_is_in_force() {
    let later = "2026-07-01T00:00:00Z".parse().unwrap();
    let team = || submit("a", "root.prod", "ann devs");
    let both = "user ann and group devs";
    let cases = [
        (team(), both, "True"),
        (
            with(team(), |spec| (spec.base_acl, spec.not_before) = (BaseAcl::Extend, Some(later))),
            both,
            "False",
        ),
        (with(team(), |spec| spec.suspend = true), both, "False"),
        (with(team(), |spec| spec.queue = "root.gone".into()), both, "False"),
        (submit("a", "root.prod", "ann  devs"), "invalid", "False"),
        // The right is valid, but the object is not.
        (with(team(), |spec| spec.not_before = Some(later)), both, "False"),
        (
            with(team(), |spec| {
                let groups = vec!["data.eng".to_owned()];
                spec.submit = Some(Grant::Lists { users: Vec::new(), groups });
            }),
            "group data.eng",
            "False",
        ),
    ];
    for (object, shown, active) in cases {
        let mut snapshot = cluster(BASE);
        snapshot.queue_acls = vec![object];
        let columns = |plan: &Plan| {
            let rest = &plan.queue_acls["a"].rest;
            (rest.submit.clone(), rest.admin.clone(), rest.active.to_string())
        };
        let expected = |active: &str| (shown.to_owned(), "-".to_owned(), active.to_owned());
        assert_eq!(columns(&settled(&snapshot).plan), expected(active), "{:?}", snapshot.queue_acls);
        // While there are no queues, it is not known.
        snapshot.config = None;
        assert_eq!(columns(&plan(&snapshot)), expected("False"), "{:?}", snapshot.queue_acls);
    }
}

#[test]
fn columns_of_a_version_that_stays_or_is_left_show_that_it_is_in_force() {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("a", "root.prod", "ann")];
    let good = settled(&snapshot).snapshot;
    let of = |plan: &Plan| {
        let rest = &plan.queue_acls["a"].rest;
        (rest.submit.clone(), rest.active.to_string())
    };
    let mut typo = good.clone();
    spec_of(&mut typo.queue_acls[0]).submit = Some(Grant::Raw("bob  x".into()));
    assert_eq!(of(&settled(&typo).plan), ("user ann".to_owned(), "True".to_owned()));
    let mut suspended = good.clone();
    spec_of(&mut suspended.queue_acls[0]).suspend = true;
    assert_eq!(of(&plan(&suspended)), ("user ann".to_owned(), "True".to_owned()), "not written yet");
    assert_eq!(of(&settled(&suspended).plan), ("user ann".to_owned(), "False".to_owned()));
    let mut unread = good;
    unread.config = None;
    assert_eq!(of(&plan(&unread)), ("user ann".to_owned(), "Unknown".to_owned()));
}
