//! Tests the conditions while something stays broken: no end is reported before it happened, and nothing is
//! reported as in force that does not run.

use super::*;
use crate::conditions::Reason;
use yunikorn::admission::{BYPASS_AUTH, EXTERNAL_USERS};

const HOT_REFRESH: &str = "service.enableConfigHotRefresh";
const TYPES: [&str; 4] = ["Accepted", "Programmed", "Effective", "Ready"];

/// A change of a cluster or of an object.
type Change<T> = fn(&mut T);

/// A settled cluster with these objects.
fn running(objects: Vec<Arc<QueueAclEntry>>) -> Snapshot {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = objects;
    settled(&snapshot).snapshot
}

/// A settled cluster with a scheduler that was observed to run the text in the output.
fn proven(objects: Vec<Arc<QueueAclEntry>>) -> Snapshot {
    let mut snapshot = cluster(BASE);
    spec(&mut snapshot).scheduler = Some("http://yunikorn-service.yunikorn:9080".into());
    snapshot.queue_acls = objects;
    let mut snapshot = settled(&snapshot).snapshot;
    runs_output(&mut snapshot);
    settled(&snapshot).snapshot
}

/// Lets the scheduler load the text in the output.
fn runs_output(snapshot: &mut Snapshot) {
    let text = text(snapshot).to_owned();
    reports(snapshot, Ok(config::checksum(&text)));
    snapshot.observed.loaded_text = Some(text);
    snapshot.observed.pending_since = None;
}

fn reports(snapshot: &mut Snapshot, checksum: Result<String, String>) {
    snapshot.observed.read_back =
        Some(ReadBack { at: snapshot.now, checksum: checksum.map_err(|why| NoChecksum::unreachable(&why)) });
}

fn rebase(snapshot: &mut Snapshot, base: &str) {
    snapshot.defaults = Some(map(YUNIKORN_DEFAULTS, &[(KEY, base)]));
    snapshot.base.clone_from(&snapshot.defaults);
}

/// Sets a key of the output as another writer.
fn put(snapshot: &mut Snapshot, key: &str, value: &str) {
    Arc::make_mut(snapshot.output.as_mut().unwrap()).data.insert(key.into(), value.into());
}

fn pack(snapshot: &mut Snapshot, key: &str, value: &str) {
    let packed = BinaryValue { len: value.len(), gunzipped: Some(value.into()) };
    Arc::make_mut(snapshot.output.as_mut().unwrap()).binary.insert(key.into(), packed);
}

fn until(name: &str, queue: &str, acl: &str) -> Arc<QueueAclEntry> {
    with(submit(name, queue, acl), |spec| {
        spec.base_acl = BaseAcl::Extend;
        spec.expires_at = Some(end());
    })
}

fn end() -> Timestamp {
    "2026-06-01T13:00:00Z".parse().unwrap()
}

fn narrow(snapshot: &mut Snapshot, acl: &str) {
    let object = Arc::make_mut(&mut snapshot.queue_acls[0]);
    object.meta.generation += 1;
    object.spec.as_mut().unwrap().submit = Some(Grant::Raw(acl.into()));
}

fn remembered(plan: &Plan, name: &str) -> Option<String> {
    plan.queue_acls[name].rest.in_force.as_ref().and_then(|memory| memory.submit.clone())
}

fn conditions(plan: &Plan, name: &str) -> [String; 4] {
    TYPES.map(|type_| acl_condition(plan, name, type_))
}

fn policy_condition(plan: &Plan, type_: &str) -> String {
    shown(find(&plan.policies["p"].conditions, type_))
}

fn event_reasons(plan: &Plan) -> Vec<&str> {
    plan.events.iter().map(|event| event.reason.as_str()).collect()
}

const BROKEN: &str = "partitions: 1\n";

#[test]
fn narrowed_grant_with_broken_base_is_pending() {
    let mut snapshot = running(vec![submit("a", "root.prod", "sue,bob")]);
    rebase(&mut snapshot, BROKEN);
    narrow(&mut snapshot, "sue");
    let plan = plan(&snapshot);
    assert_eq!(acl_condition(&plan, "a", "Programmed"), "False/WithdrawalPending");
    assert_eq!(acl_condition(&plan, "a", "Ready"), "False/WithdrawalPending");
    let message = acl_message(&plan, "a", "Ready");
    assert!(message.contains("user bob") && message.contains("because"), "{message}");
    assert_eq!(remembered(&plan, "a").as_deref(), Some("bob,sue"));
    assert!(!event_reasons(&plan).contains(&"AccessRemoved"), "{:?}", plan.events);
}

#[test]
fn grant_with_broken_base_is_ready_while_it_is_the_one_in_force() {
    let mut snapshot = running(vec![submit("a", "root.prod", "sue,bob")]);
    rebase(&mut snapshot, BROKEN);
    assert_eq!(acl_condition(&plan(&snapshot), "a", "Programmed"), "True/Programmed");
    narrow(&mut snapshot, "sue,bob,ann");
    let wider = plan(&snapshot);
    assert_eq!(acl_condition(&wider, "a", "Programmed"), "False/ConfigNotReady");
    assert_eq!(remembered(&wider, "a").as_deref(), Some("bob,sue"));
}

#[test]
fn grant_that_ends_is_pending_while_it_is_written() {
    let broken: [Change<Snapshot>; 4] = [
        |snapshot| rebase(snapshot, BROKEN),
        |snapshot| spec(snapshot).mode = Mode::Observe,
        |snapshot| rebase(snapshot, &format!("{BASE}# {}\n", "x".repeat(1024 * 1024))),
        |snapshot| snapshot.observed.write_failure = Some(WriteFailure::Forbidden("no right".into())),
    ];
    for (index, broken) in broken.into_iter().enumerate() {
        let mut snapshot = running(vec![until("a", "root.prod", "eve")]);
        broken(&mut snapshot);
        snapshot.now = end();
        let plan = plan(&snapshot);
        let expected = [
            "True/Expired",
            "False/WithdrawalPending",
            "Unknown/WithdrawalPending",
            "False/WithdrawalPending",
        ];
        assert_eq!(conditions(&plan, "a"), expected, "{index}");
        let message = acl_message(&plan, "a", "Ready");
        assert!(message.starts_with(&format!("expired at {}; ", end())), "{message}");
        assert!(message.contains("still in ConfigMap yunikorn/yunikorn-configs: submit to user eve on queue `root.prod`, because "), "{message}");
        assert_eq!(remembered(&plan, "a").as_deref(), Some("eve"), "{index}");
    }
}

#[test]
fn object_that_is_refused_or_put_off_is_pending_while_its_grant_is_written() {
    let changes: [(Change<QueueAclSpec>, &str); 3] = [
        (
            |spec| {
                spec.base_acl = BaseAcl::Extend;
                spec.not_before = Some(end());
            },
            "True/NotYetValid",
        ),
        (
            |spec| {
                spec.base_acl = BaseAcl::Extend;
                spec.delegated_by = Some(yunikorn::identity::Identity { user: "sue".into(), groups: vec![] });
            },
            "False/NotDelegated",
        ),
        (|spec| spec.queue = "root.test".into(), "True/Accepted"),
    ];
    for (change, accepted) in changes {
        let mut snapshot = running(vec![submit("a", "root.prod", "eve")]);
        spec(&mut snapshot).mode = Mode::Observe;
        change(spec_of(&mut snapshot.queue_acls[0]));
        let plan = plan(&snapshot);
        assert_eq!(acl_condition(&plan, "a", "Accepted"), accepted);
        assert_eq!(acl_condition(&plan, "a", "Programmed"), "False/WithdrawalPending", "{accepted}");
        assert_eq!(acl_condition(&plan, "a", "Ready"), "False/WithdrawalPending", "{accepted}");
        assert_eq!(remembered(&plan, "a").as_deref(), Some("eve"), "{accepted}");
    }
}

#[test]
fn grant_that_ended_is_pending_until_the_scheduler_runs_a_text_without_it() {
    let mut snapshot = proven(vec![until("a", "root.prod", "eve")]);
    assert_eq!(acl_condition(&plan(&snapshot), "a", "Ready"), "True/Ready");
    let before = text(&snapshot).to_owned();
    snapshot.now = end();
    let mut behind = settled(&snapshot).snapshot;
    assert_eq!(submit_of(&behind, "root.prod"), "sue dev");
    behind.observed.pending_since = Some(end());
    let pending = plan(&behind);
    let expected =
        ["True/Expired", "True/Programmed", "Unknown/WithdrawalPending", "False/WithdrawalPending"];
    assert_eq!(conditions(&pending, "a"), expected);
    assert!(acl_message(&pending, "a", "Ready").contains("the scheduler still runs a text that grants it"));
    assert_eq!(remembered(&pending, "a").as_deref(), Some("eve"));

    behind.observed.loaded_text = None;
    behind.observed.pending_since = Some(now());
    let unseen = plan(&behind);
    assert_eq!(acl_condition(&unseen, "a", "Ready"), "Unknown/WithdrawalPending");
    assert!(
        acl_message(&unseen, "a", "Ready").contains("it is not known"),
        "{}",
        acl_message(&unseen, "a", "Ready")
    );
    behind.observed.loaded_text = Some(before);
    reports(&mut behind, Err("no connection".into()));
    let silent = plan(&behind);
    assert_eq!(acl_condition(&silent, "a", "Ready"), "Unknown/WithdrawalPending");
    assert_eq!(remembered(&silent, "a").as_deref(), Some("eve"));

    runs_output(&mut behind);
    let ended = settled(&behind);
    let expected = ["True/Expired", "True/Programmed", "False/Expired", "True/Expired"];
    assert_eq!(conditions(&ended.plan, "a"), expected);
    assert_eq!(remembered(&ended.plan, "a"), None);
    assert_at_rest(&ended);
    reports(&mut behind, Err("no connection".into()));
    let mut later = ended.snapshot;
    reports(&mut later, Err("no connection".into()));
    assert_eq!(
        acl_condition(&plan(&later), "a", "Ready"),
        "True/Expired",
        "what was proven is not asked again"
    );
}

#[test]
fn narrowed_grant_is_pending_until_the_scheduler_runs_it() {
    let mut snapshot = proven(vec![submit("a", "root.prod", "sue,bob"), submit("b", "root.prod", "ann")]);
    narrow(&mut snapshot, "sue");
    let mut behind = settled(&snapshot).snapshot;
    behind.observed.pending_since = Some(now());
    let pending = plan(&behind);
    assert_eq!(acl_condition(&pending, "a", "Programmed"), "True/Programmed");
    assert_eq!(acl_condition(&pending, "a", "Ready"), "False/WithdrawalPending");
    assert!(acl_message(&pending, "a", "Ready").contains("user bob"));
    assert_eq!(acl_condition(&pending, "b", "Ready"), "False/LoadPending");
    runs_output(&mut behind);
    let done = settled(&behind);
    assert_eq!(acl_condition(&done.plan, "a", "Ready"), "True/Ready");
    assert_eq!(remembered(&done.plan, "a").as_deref(), Some("sue"));
}

#[test]
fn grant_that_another_object_makes_as_well_is_not_pending() {
    for other in [submit("b", "root.prod", "eve"), submit("b", "root", "eve")] {
        let mut snapshot = running(vec![until("a", "root.prod", "eve"), other]);
        rebase(&mut snapshot, BROKEN);
        snapshot.now = end();
        assert_eq!(acl_condition(&plan(&snapshot), "a", "Ready"), "True/Expired");
    }
}

#[test]
fn expired_object_without_a_memory_is_pending_while_its_grant_is_written() {
    let mut snapshot = running(vec![until("a", "root.prod", "eve")]);
    spec(&mut snapshot).mode = Mode::Observe;
    Arc::make_mut(&mut snapshot.queue_acls[0]).in_force = None;
    snapshot.now = end();
    assert_eq!(acl_condition(&plan(&snapshot), "a", "Ready"), "False/WithdrawalPending");
}

#[test]
fn packed_text_that_hides_the_output_is_the_one_that_counts() {
    let theirs = BASE.replace("'sue dev'", "mallory");
    let mut snapshot = proven(vec![submit("a", "root.prod", "sue")]);
    pack(&mut snapshot, "queues.yaml.gz", &theirs);
    reports(&mut snapshot, Ok(config::checksum(&theirs)));
    let hidden = plan(&snapshot);
    assert_eq!(config_condition(&hidden, "Loaded"), "True/Loaded");
    assert_eq!(acl_condition(&hidden, "a", "Programmed"), "False/ShadowedByBinaryData");
    assert_eq!(acl_condition(&hidden, "a", "Ready"), "False/ShadowedByBinaryData");

    // The withdrawal is written, but the key that hides it still grants the access.
    let mut snapshot = proven(vec![until("a", "root.prod", "mallory")]);
    pack(&mut snapshot, "queues.yaml.gz", &theirs);
    reports(&mut snapshot, Ok(config::checksum(&theirs)));
    snapshot.now = end();
    let ended = plan(&settled(&snapshot).snapshot);
    assert_eq!(acl_condition(&ended, "a", "Ready"), "False/WithdrawalPending");
}

#[test]
fn end_is_not_reported_while_the_text_that_is_hidden_grants_it() {
    let mut snapshot = proven(vec![until("a", "root.prod", "mallory")]);
    pack(&mut snapshot, "queues.yaml.gz", BASE);
    reports(&mut snapshot, Ok(config::checksum(BASE)));
    snapshot.now = end();
    let hidden = plan(&snapshot);
    assert_eq!(config_condition(&hidden, "Loaded"), "True/Loaded");
    assert_eq!(acl_condition(&hidden, "a", "Ready"), "False/WithdrawalPending");
    let message = acl_message(&hidden, "a", "Ready");
    let at = "; still in ConfigMap yunikorn/yunikorn-configs: submit to user mallory on queue `root.prod`, because ";
    assert!(message.contains(at), "{message}");
    let ended = plan(&settled(&snapshot).snapshot);
    assert_eq!(acl_condition(&ended, "a", "Ready"), "True/Expired");
}

#[test]
fn end_is_not_reported_while_more_is_written_at_its_queue_than_should_be() {
    let mut snapshot = proven(vec![submit("a", "root.prod", "bob")]);
    // Nothing records that it granted bob: the status is lost, and there is no note on the text.
    snapshot.queue_acls = vec![until("a", "root.prod", "eve")];
    Arc::make_mut(snapshot.output.as_mut().unwrap()).in_force.clear();
    snapshot.now = end();
    let behind = plan(&snapshot);
    assert_eq!(config_condition(&behind, "Loaded"), "True/Loaded");
    assert_eq!(acl_condition(&behind, "a", "Ready"), "False/Pending");
    let mut snapshot = settled(&snapshot).snapshot;
    runs_output(&mut snapshot);
    let mut snapshot = settled(&snapshot).snapshot;
    assert_eq!(acl_condition(&plan(&snapshot), "a", "Ready"), "True/Expired");
    let wider = text(&snapshot).replace("'sue dev'", "'mallory,sue dev'");
    put(&mut snapshot, KEY, &wider);
    runs_output(&mut snapshot);
    assert_eq!(acl_condition(&plan(&snapshot), "a", "Ready"), "True/Expired", "it was reported before");
}

#[test]
fn all_conditions_are_there_from_the_first_visit() {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("a", "root.prod", "ann"), submit("bad", "root.prod", "a  b")];
    snapshot.policies = vec![entry("p", AdmissionPolicySpec::default())];
    let mut unreadable = snapshot.clone();
    unreadable.config.as_mut().unwrap().spec = Err(Vec::new());
    let mut none = snapshot.clone();
    none.config = None;
    let mut treeless = snapshot.clone();
    rebase(&mut treeless, BROKEN);
    for snapshot in [snapshot, unreadable, none, treeless] {
        let plan = plan(&snapshot);
        for conditions in [
            &plan.queue_acls["a"].conditions,
            &plan.queue_acls["bad"].conditions,
            &plan.policies["p"].conditions,
        ] {
            let types: Vec<_> = conditions.iter().map(|c| &*c.type_).collect();
            assert_eq!(types, TYPES);
        }
        if let Some(config) = &plan.config {
            let types: Vec<_> = config.conditions.iter().map(|c| &*c.type_).collect();
            assert_eq!(types, ["BaseResolved", "Applied", "Loaded", "FailOpen", "Ready"]);
        }
    }
}

#[test]
fn without_a_configuration_it_is_unknown_what_is_in_force() {
    let mut snapshot = running(vec![submit("a", "root.prod", "ann")]);
    snapshot.config.as_mut().unwrap().spec = Err(Vec::new());
    let plan = plan(&snapshot);
    assert_eq!(conditions(&plan, "a"), ["Unknown/ConfigNotReady"; 4]);
    assert_eq!(plan.queue_acls["a"].rest.submit, "user ann");
    assert_eq!(plan.queue_acls["a"].rest.admin, "-");
    for type_ in ["BaseResolved", "Applied", "Loaded"] {
        assert_eq!(config_condition(&plan, type_), "Unknown/Invalid");
    }
}

#[test]
fn without_a_scheduler_url_ready_says_that_it_is_not_verified() {
    let mut snapshot = running(vec![submit("a", "root.prod", "ann")]);
    snapshot.policies =
        vec![entry("p", AdmissionPolicySpec { bypass_auth: Some(false), ..AdmissionPolicySpec::default() })];
    let settled = settled(&snapshot);
    assert_eq!(config_condition(&settled.plan, "Loaded"), "Unknown/NotVerified");
    assert_eq!(config_condition(&settled.plan, "Ready"), "True/NotVerified");
    assert_eq!(acl_condition(&settled.plan, "a", "Ready"), "True/NotVerified");
    assert_eq!(policy_condition(&settled.plan, "Ready"), "True/NotVerified");
    for message in [config_message(&settled.plan, "Ready"), acl_message(&settled.plan, "a", "Ready")] {
        assert!(message.contains("spec.schedulerUrl"), "{message}");
    }
    assert_at_rest(&settled);
}

#[test]
fn what_yunikorn_does_not_read_is_not_ready_without_a_scheduler_url_either() {
    let cases: [(Change<Snapshot>, &str); 4] = [
        (|snapshot| put(snapshot, HOT_REFRESH, "false"), "HotRefreshDisabled"),
        (|snapshot| put(snapshot, "service.schedulingInterval", "soon"), "NotRead"),
        (|snapshot| spec(snapshot).output_config_map = "my-configs".into(), "NotRead"),
        (|snapshot| put(snapshot, "service.policyGroup", "group-a"), "NotRead"),
    ];
    for (index, (change, reason)) in cases.into_iter().enumerate() {
        let mut snapshot = running(vec![submit("a", "root.prod", "ann")]);
        let config = snapshot.config.as_mut().unwrap();
        // In a cluster the output has a uid.
        let output = config.in_force.as_mut().unwrap().output.as_mut().unwrap();
        output.uid = "uid-yunikorn-configs".into();
        Arc::make_mut(snapshot.output.as_mut().unwrap()).uid = "uid-yunikorn-configs".into();
        change(&mut snapshot);
        let plan = plan(&snapshot);
        assert_eq!(config_condition(&plan, "Loaded"), format!("False/{reason}"), "{index}");
        assert!(!config_condition(&plan, "Ready").starts_with("True"), "{index}");
        assert!(!acl_condition(&plan, "a", "Ready").starts_with("True"), "{index}");
    }
}

#[test]
fn what_another_scheduler_reported_proves_nothing() {
    let mut snapshot = proven(vec![submit("a", "root.prod", "ann")]);
    let sum = config::checksum(text(&snapshot));
    let config = snapshot.config.as_mut().unwrap();
    assert_eq!(config.in_force.as_ref().unwrap().loaded_hash.as_ref(), Some(&sum));
    snapshot.observed = Observed::default();
    assert_eq!(acl_condition(&plan(&snapshot), "a", "Ready"), "True/Ready", "a restart of the operator");
    spec(&mut snapshot).scheduler = Some("http://another:9080".into());
    snapshot.config.as_mut().unwrap().meta.generation += 1;
    let other = plan(&snapshot);
    assert_eq!(acl_condition(&other, "a", "Ready"), "Unknown/LoadPending");
    assert_eq!(other.config.as_ref().unwrap().rest.loaded_hash, None);
}

#[test]
fn text_that_nobody_has_seen_proves_no_grant() {
    let mut snapshot = proven(vec![submit("a", "root.prod", "ann")]);
    reports(&mut snapshot, Ok("OTHER".into()));
    snapshot.observed.pending_since = Some(now());
    assert_eq!(acl_condition(&plan(&snapshot), "a", "Ready"), "True/Ready", "it may be loading");
    snapshot.now = now().checked_add(jiff::SignedDuration::from_secs(5)).unwrap();
    assert_eq!(acl_condition(&plan(&snapshot), "a", "Ready"), "False/LoadPending");
}

#[test]
fn text_that_the_scheduler_has_left_makes_no_object_ready() {
    let mut snapshot = proven(vec![submit("a", "root.prod", "ann")]);
    let ready = std::mem::take(&mut Arc::make_mut(&mut snapshot.queue_acls[0]).meta.conditions);
    assert_eq!(acl_condition(&plan(&snapshot), "a", "Ready"), "True/Ready", "it runs what is in force");
    reports(&mut snapshot, Ok("OTHER".into()));
    snapshot.observed.pending_since = Some(now());
    assert_eq!(acl_condition(&plan(&snapshot), "a", "Ready"), "False/LoadPending");
    Arc::make_mut(&mut snapshot.queue_acls[0]).meta.conditions = ready;
    assert_eq!(acl_condition(&plan(&snapshot), "a", "Ready"), "True/Ready", "it was ready before");
    Arc::make_mut(&mut snapshot.queue_acls[0]).meta.generation += 1;
    assert_eq!(acl_condition(&plan(&snapshot), "a", "Ready"), "False/LoadPending", "another generation");
}

#[test]
fn right_of_an_earlier_version_that_the_scheduler_runs_keeps_an_object_from_being_ready() {
    let mut snapshot = proven(vec![with(submit("a", "root.prod", "sue"), |spec| {
        spec.admin = Some(Grant::Raw("ann".into()));
    })]);
    // No status was written for that version.
    snapshot.queue_acls = vec![submit("a", "root.prod", "sue")];
    Arc::make_mut(snapshot.output.as_mut().unwrap()).in_force.clear();
    let mut snapshot = settled(&snapshot).snapshot;
    let plan = plan(&snapshot);
    assert_eq!(config_condition(&plan, "Loaded"), "False/LoadPending");
    assert_eq!(acl_condition(&plan, "a", "Ready"), "False/LoadPending");
    runs_output(&mut snapshot);
    assert_eq!(acl_condition(&super::plan(&snapshot), "a", "Ready"), "True/Ready");
}

#[test]
fn refused_text_is_noticed_while_another_policy_group_is_named() {
    let mut snapshot = proven(vec![submit("a", "root.prod", "sue")]);
    put(&mut snapshot, "service.policyGroup", "other");
    reports(&mut snapshot, Ok("ANOTHER".into()));
    snapshot.observed.pending_since = Some(now());
    snapshot.observed.reasserts = 2;
    assert_eq!(config_condition(&plan(&snapshot), "Loaded"), "False/SchedulerRejected");
}

#[test]
fn nothing_becomes_ready_and_no_end_is_reported_while_an_older_write_may_be_accepted() {
    let mut snapshot = proven(vec![until("a", "root.prod", "eve")]);
    let ready = std::mem::take(&mut Arc::make_mut(&mut snapshot.queue_acls[0]).meta.conditions);
    let version = snapshot.output.as_deref().unwrap().resource_version.clone();
    snapshot.observed.fence = Some(version);
    assert!(!acl_condition(&plan(&snapshot), "a", "Ready").starts_with("True"));
    Arc::make_mut(&mut snapshot.queue_acls[0]).meta.conditions = ready;
    assert_eq!(acl_condition(&plan(&snapshot), "a", "Ready"), "True/Ready", "it was ready before");
    let mut ended = proven(Vec::new());
    ended.queue_acls = vec![until("a", "root.prod", "eve")];
    ended.now = end();
    assert_eq!(acl_condition(&plan(&ended), "a", "Ready"), "True/Expired");
    ended.observed.fence = Some(ended.output.as_deref().unwrap().resource_version.clone());
    assert!(!acl_condition(&plan(&ended), "a", "Ready").starts_with("True"));
}

#[test]
fn policy_says_what_yunikorn_reads_of_it() {
    let mut snapshot = cluster(BASE);
    spec(&mut snapshot).scheduler = Some("http://yunikorn-service.yunikorn:9080".into());
    snapshot.policies =
        vec![entry("p", AdmissionPolicySpec { bypass_auth: Some(false), ..AdmissionPolicySpec::default() })];
    let snapshot = settled(&snapshot).snapshot;
    assert_eq!(policy_condition(&plan(&snapshot), "Ready"), "True/Ready");

    let mut packed = snapshot.clone();
    pack(&mut packed, &format!("{BYPASS_AUTH}.gz"), "true");
    let hidden = plan(&packed);
    assert_eq!(policy_condition(&hidden, "Programmed"), "False/ShadowedByBinaryData");
    assert_eq!(policy_condition(&hidden, "Ready"), "False/ShadowedByBinaryData");
    let message = &find(&hidden.policies["p"].conditions, "Ready").unwrap().message;
    assert!(message.contains(&format!("`{BYPASS_AUTH}.gz`")), "{message}");

    let mut cold = snapshot;
    put(&mut cold, HOT_REFRESH, "false");
    let cold = plan(&cold);
    assert_eq!(policy_condition(&cold, "Effective"), "Unknown/HotRefreshDisabled");
    assert_eq!(policy_condition(&cold, "Ready"), "Unknown/HotRefreshDisabled");
}

#[test]
fn key_that_a_policy_gave_up_is_pending_while_it_is_written() {
    let users = |users: &[&str]| Some(users.iter().map(ToString::to_string).collect());
    let mut snapshot = cluster(BASE);
    let both = AdmissionPolicySpec {
        bypass_auth: Some(false),
        external_users: users(&["^ci$"]),
        ..AdmissionPolicySpec::default()
    };
    snapshot.policies = vec![entry("p", both)];
    let mut snapshot = settled(&snapshot).snapshot;
    spec(&mut snapshot).mode = Mode::Observe;
    snapshot.policies[0].spec.as_mut().unwrap().external_users = None;
    let pending = plan(&snapshot);
    assert_eq!(policy_condition(&pending, "Ready"), "False/WithdrawalPending");
    let message = &find(&pending.policies["p"].conditions, "Ready").unwrap().message;
    assert!(message.contains(EXTERNAL_USERS), "{message}");
    assert!(pending.policies["p"].rest.in_force.as_ref().unwrap().external_users.is_some());
    spec(&mut snapshot).mode = Mode::Enforce;
    let done = settled(&snapshot);
    assert_eq!(policy_condition(&done.plan, "Ready"), "True/NotVerified");
    assert_at_rest(&done);
}

const OPEN: &str =
    "partitions: [{name: default, queues: [{name: root, submitacl: '*', queues: [{name: prod}]}]}]";

#[test]
fn open_root_is_ready_only_where_it_is_accepted() {
    let mut snapshot = cluster(OPEN);
    let open = settled(&snapshot);
    assert_eq!(config_condition(&open.plan, "FailOpen"), "True/RootAllowsEveryone");
    assert_eq!(config_condition(&open.plan, "Ready"), "False/RootAllowsEveryone");
    let message = config_message(&open.plan, "Ready");
    let base = "close it in the base, ConfigMap yunikorn/yunikorn-defaults, or with a QueueAcl for `root`;";
    assert!(message.contains(base) && message.contains("spec.acceptOpenRoot"), "{message}");
    spec(&mut snapshot).accept_open_root = true;
    let accepted = settled(&snapshot);
    assert_eq!(config_condition(&accepted.plan, "FailOpen"), "True/RootAllowsEveryone");
    assert!(config_message(&accepted.plan, "FailOpen").contains("spec.acceptOpenRoot accepts"));
    assert_eq!(config_condition(&accepted.plan, "Ready"), "True/NotVerified");

    // Nobody chose the built-in default.
    let mut baseless = accepted.snapshot.clone();
    baseless.output = None;
    baseless.last_base = None;
    baseless.config.as_mut().unwrap().in_force = None;
    baseless.defaults = None;
    baseless.base = None;
    let baseless = settled(&baseless).plan;
    assert_eq!(config_condition(&baseless, "Ready"), "False/RootAllowsEveryone");
    assert!(config_message(&baseless, "Ready").contains("write the queues into ConfigMap yunikorn/"));

    // The same applies to the key that hides the text.
    let mut hidden = settled(&cluster(BASE)).snapshot;
    spec(&mut hidden).accept_open_root = true;
    pack(&mut hidden, "queues.yaml.gz", OPEN);
    assert!(config_condition(&plan(&hidden), "Ready").starts_with("False"));
}

#[test]
fn closed_root_is_said_to_be_closed_once_that_is_known() {
    let closed = settled(&cluster(BASE));
    assert_eq!(config_condition(&closed.plan, "FailOpen"), "False/Closed");
    let mut unseen = proven(vec![]);
    reports(&mut unseen, Ok("OTHER".into()));
    unseen.observed.loaded_text = None;
    unseen.observed.pending_since = Some(now());
    assert_eq!(config_condition(&plan(&unseen), "FailOpen"), "Unknown/LoadPending");
    let events = |plan: &Plan| plan.events.iter().filter(|event| event.reason == "Closed").count();
    assert_eq!(events(&plan(&cluster(BASE))), 0, "what is as it should be is no news");
}

#[test]
fn watch_that_fails_makes_ready_unknown() {
    let mut snapshot = proven(vec![submit("a", "root.prod", "ann")]);
    snapshot.observed.watch_failure = Some("queueacls: 403 for 2 minutes".into());
    let plan = plan(&snapshot);
    assert_eq!(config_condition(&plan, "Ready"), "Unknown/WatchFailing");
    assert!(config_message(&plan, "Ready").contains("queueacls: 403 for 2 minutes"));
}

#[test]
fn refusal_that_lasts_is_a_warning() {
    let mut snapshot = running(vec![submit("a", "root.prod", "ann")]);
    narrow(&mut snapshot, "ann,bob");
    snapshot.observed.write_failure = Some(WriteFailure::Rejected("ConfigMap is immutable".into()));
    let plan = plan(&snapshot);
    assert_eq!(config_condition(&plan, "Applied"), "False/Rejected");
    assert!(config_message(&plan, "Applied").contains("ConfigMap is immutable"));
    assert!(plan.events.iter().any(|event| event.reason == "Rejected" && event.warning));
    assert_eq!(acl_condition(&plan, "a", "Programmed"), "False/ConfigNotReady");
}

#[test]
fn who_loses_access_is_an_event_once_it_is_lost() {
    let after = |mut done: Snapshot| {
        runs_output(&mut done);
        let first = plan(&done);
        assert!(event_reasons(&first).contains(&"AccessRemoved"), "{:?}", first.events);
        done
    };
    let mut snapshot = cluster(BASE);
    spec(&mut snapshot).scheduler = Some("http://yunikorn-service.yunikorn:9080".into());
    snapshot.queue_acls = vec![submit("a", "root.prod", "ann")];
    let base = settled(&snapshot);
    let mut behind = base.snapshot;
    behind.observed.loaded_text = Some(BASE.into());
    behind.observed.pending_since = Some(now());
    reports(&mut behind, Ok(config::checksum(BASE)));
    let behind = settled(&behind);
    assert!(!event_reasons(&behind.plan).contains(&"AccessRemoved"), "{:?}", behind.plan.events);
    let done = after(behind.snapshot.clone());
    for reason in [
        Reason::VersionUnproven,
        Reason::SchedulerCertificateInvalid,
        Reason::SchedulerCertificateExpired,
        Reason::SchedulerUnauthorized,
        Reason::SchedulerForbidden,
        Reason::SchedulerSecretInvalid,
    ] {
        let mut unknown = behind.snapshot.clone();
        let checksum = Err(NoChecksum { reason, message: "why".to_owned() });
        unknown.observed.read_back = Some(ReadBack { at: unknown.now, checksum });
        after(settled(&unknown).snapshot);
    }
    assert_eq!(settled(&done).plan.queue_acls, plan(&settled(&done).snapshot).queue_acls);
    assert!(!event_reasons(&plan(&settled(&done).snapshot)).contains(&"AccessRemoved"));
}
