//! Tests of single cases of profile strict, and properties of all cases.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::alias::{Kind, MAX_ALIASES, alias, is_alias};
use crate::running::Pod;
use crate::running::joins::{BoundPod, OwnerPod, Running, Wanted};
use crate::testing::{known, later};
use yunikorn::admission::request::{USER_INFO, USERNAME};
use yunikorn::admission::{
    AccessControl, BYPASS_AUTH, EXTERNAL_GROUPS, EXTERNAL_USERS, Operation, TRUST_CONTROLLERS, UserInfo,
};

const CONTROLLER: &str = "system:serviceaccount:kube-system:job-controller";
const ALICE: &str = r#"{"user":"alice","groups":["devs","system:authenticated"]}"#;
const BOB: &str = r#"{"user":"bob","groups":["ops"]}"#;
/// An alias of a user who is in no test.
const OF_BOSS: &str = "qw-u-boss-00112233445566778899aabbccddeeff";
/// No aliases in ACLs.
static NO_ALIAS: BTreeSet<String> = BTreeSet::new();

fn access(keys: &[(&str, &str)]) -> AccessControl {
    let keys = keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    AccessControl::from_keys(&keys).0
}

/// A request of a user, and the keys that decide it.
struct Case {
    operation: Operation,
    user: &'static str,
    groups: Vec<String>,
    site: Site,
    is_replica_set: bool,
    moment: Moment,
    running: Running,
    owners: Owners,
}

fn text(text: &str) -> Given {
    Given::Text(text.to_owned())
}

fn template(given: Given, old: Given) -> Site {
    Site { location: "spec.template".to_owned(), changed: given != old, given, old, ..Site::default() }
}

fn created(user: &'static str, given: Given) -> Case {
    let groups = ["devs", "system:authenticated"].map(str::to_owned).to_vec();
    let site = Site { changed: true, ..template(given, Given::Absent) };
    Case {
        operation: Operation::Create,
        user,
        groups,
        site,
        is_replica_set: false,
        moment: Moment::Mutating,
        running: Running::default(),
        owners: Owners::Irrelevant,
    }
}

fn updated(user: &'static str, old: Given, given: Given) -> Case {
    Case { operation: Operation::Update, site: template(given, old), ..created(user, Given::Absent) }
}

impl Case {
    fn decision(&self, keys: &[(&str, &str)]) -> Decision {
        let request = Request {
            operation: self.operation,
            kind: "Deployment",
            is_replica_set: self.is_replica_set,
            user: self.user,
            groups: &self.groups,
            has_templates: true,
            sites: std::slice::from_ref(&self.site),
            namespace: "jobs",
            running: &self.running,
            owners: &self.owners,
            granted: &NO_ALIAS,
            moment: self.moment,
        };
        decide(&request, &access(keys))
    }

    fn at_the_end(mut self) -> Self {
        self.moment = Moment::Final;
        self
    }

    fn decided(&self, keys: &[(&str, &str)]) -> (Outcome, &'static str) {
        let decision = self.decision(keys);
        (decision.outcome, decision.clause)
    }
}

#[test]
fn missing_annotation_becomes_the_requesters_own_name() {
    let decision = created("alice", Given::Absent).decision(&[]);
    assert_eq!(decision.additions, [Addition { site: 0, text: ALICE.to_owned() }]);
    assert_eq!((decision.outcome, decision.user.as_str()), (Outcome::Added, "alice"));
    let end = created("alice", Given::Absent).at_the_end();
    assert_eq!(end.decided(&[]), (Outcome::Refused, "missing"));
}

#[test]
fn foreign_name_at_creation_is_refused_unless_a_list_allows_it() {
    use Outcome::{Kept, Refused};
    let users = (EXTERNAL_USERS, "^alice$");
    let groups = (EXTERNAL_GROUPS, "^devs$");
    for (user, given, keys, expected) in [
        ("alice", ALICE, &[][..], (Kept, "own")),
        ("alice", r#"{"groups":["system:authenticated","devs","devs"],"user":"alice"}"#, &[], (Kept, "own")),
        ("alice", r#"{"user":"alice"}"#, &[], (Refused, "not_allowed")),
        (
            "alice",
            r#"{"user":"alice","groups":["devs","system:authenticated","ops"]}"#,
            &[],
            (Refused, "not_allowed"),
        ),
        ("alice", BOB, &[], (Refused, "not_allowed")),
        ("alice", "", &[], (Refused, "not_allowed")),
        ("alice", BOB, &[users], (Kept, "external_users")),
        ("alice", BOB, &[groups], (Kept, "external_groups")),
        ("alice", BOB, &[(BYPASS_AUTH, "true")], (Kept, "bypass_auth")),
        ("alice", r#"{"User":"bob"}"#, &[users], (Refused, "form")),
        ("alice", r#"{"user":"bob","user":"carol"}"#, &[(BYPASS_AUTH, "true")], (Refused, "form")),
        ("alice", "", &[users], (Refused, "form")),
        (CONTROLLER, BOB, &[], (Kept, "system_users")),
        (CONTROLLER, BOB, &[(TRUST_CONTROLLERS, "false")], (Refused, "not_allowed")),
    ] {
        let case = created(user, text(given));
        assert_eq!(case.decided(keys), expected, "{user} {given} {keys:?}");
        assert_eq!(case.at_the_end().decided(keys), expected, "{user} {given} {keys:?}, at the end");
    }
    let odd = created("alice", Given::Odd("a number".into()));
    assert_eq!(odd.decided(&[users]), (Refused, "form"));
}

/// The key is later converted to another one, so its author could name any user.
#[test]
fn invalid_annotation_key_is_refused_where_it_is_written() {
    let odd = |case: Case| {
        let odd_key = format!("{USER_INFO}={{}}");
        Case { site: Site { odd_key, ..case.site.clone() }, ..case }
    };
    let refused = (Outcome::Refused, "form");
    for keys in [&[][..], &[(EXTERNAL_USERS, "^alice$")]] {
        assert_eq!(odd(created("alice", Given::Absent)).decided(keys), refused);
        assert_eq!(odd(created("alice", text(ALICE))).decided(keys), refused);
        assert_eq!(odd(updated("alice", text(ALICE), text(BOB))).decided(keys), refused);
        assert_eq!(
            odd(updated("bob", text(BOB), text(BOB))).decided(keys),
            (Outcome::Unchanged, "unchanged")
        );
    }
    let reason = odd(created("alice", Given::Absent)).decision(&[]).reason;
    assert!(
        reason
            .contains("the key `yunikorn.apache.org/user.info={}` next to it is not a valid annotation key"),
        "{reason}"
    );
}

#[test]
fn annotation_is_immutable_unless_a_list_allows_a_change() {
    use Outcome::{Kept, Refused, Unchanged};
    let lists = &[(EXTERNAL_USERS, "^alice$")][..];
    for (old, given, keys, expected) in [
        (text(BOB), text(BOB), &[][..], (Unchanged, "unchanged")),
        (text("x"), text("x"), &[], (Unchanged, "unchanged")),
        (Given::Odd("a list".into()), Given::Odd("a list".into()), &[], (Unchanged, "unchanged")),
        (text(BOB), text(ALICE), &[], (Refused, "immutable")),
        (text(ALICE), text(BOB), &[], (Refused, "immutable")),
        (text(BOB), Given::Absent, &[], (Refused, "immutable")),
        (text(BOB), text(ALICE), lists, (Kept, "external_users")),
        (text(BOB), Given::Absent, lists, (Kept, "external_users")),
        (text(BOB), text("{}"), lists, (Refused, "form")),
        (text(BOB), Given::Odd("null".into()), lists, (Refused, "form")),
        (Given::Absent, text(BOB), &[], (Refused, "not_allowed")),
        (Given::Absent, text(ALICE), &[], (Kept, "own")),
        (text(BOB), text(ALICE), &[(BYPASS_AUTH, "true")], (Kept, "bypass_auth")),
    ] {
        let case = updated("alice", old.clone(), given.clone());
        assert_eq!(case.decided(keys), expected, "{old:?} {given:?} {keys:?}");
        assert_eq!(case.at_the_end().decided(keys), expected, "{old:?} {given:?} {keys:?}, at the end");
    }
}

#[test]
fn removed_own_name_is_added_again() {
    let spelled = r#"{"user": "alice", "groups": ["system:authenticated", "devs"]}"#;
    let decision = updated("alice", text(spelled), Given::Absent).decision(&[]);
    assert_eq!(decision.additions, [Addition { site: 0, text: spelled.to_owned() }]);
}

#[test]
fn update_adds_a_name_only_if_the_template_changes() {
    let mut case = updated("alice", Given::Absent, Given::Absent);
    assert_eq!(case.decided(&[]), (Outcome::Unchanged, "unchanged"));
    case.site.changed = true;
    assert_eq!(case.decision(&[]).additions.len(), 1);
    case.user = CONTROLLER;
    assert_eq!(case.decided(&[]), (Outcome::Unchanged, "unchanged"));
    case.user = "alice";
    assert_eq!(case.at_the_end().decided(&[]), (Outcome::Unchanged, "unchanged"));
}

#[test]
fn replica_set_of_a_deployment_is_checked_but_not_changed() {
    let mut case = created(CONTROLLER, Given::Absent);
    case.is_replica_set = true;
    assert_eq!(case.decided(&[]), (Outcome::Unchanged, "replica_set"));
    assert_eq!(case.decided(&[(TRUST_CONTROLLERS, "false")]), (Outcome::Unchanged, "replica_set"));
    case.site.given = text(BOB);
    assert_eq!(case.decided(&[]), (Outcome::Kept, "system_users"));
    assert_eq!(case.decided(&[(TRUST_CONTROLLERS, "false")]), (Outcome::Refused, "not_allowed"));
    case.site.given = Given::Absent;
    case.user = "alice";
    assert_eq!(case.decided(&[]), (Outcome::Added, "missing"));
}

/// Returns a change of a pod that `YuniKorn` schedules.
fn pod_updated(user: &'static str, old: Given, given: Given) -> Case {
    let case = updated(user, old, given);
    let site = Site { location: String::new(), is_scheduled: true, ..case.site };
    Case { site, ..case }
}

#[test]
fn scheduled_pod_keeps_its_name() {
    use Outcome::{Added, Kept, Refused, Unchanged};
    let lists = &[(EXTERNAL_USERS, "^alice$")][..];
    let kept = (Refused, "kept");
    for (old, given, keys, expected) in [
        (text(BOB), text(ALICE), &[][..], kept),
        (text(BOB), text(ALICE), lists, kept),
        (text(BOB), Given::Absent, lists, kept),
        (text(BOB), text(ALICE), &[(BYPASS_AUTH, "true")], (Kept, "bypass_auth")),
        (text(BOB), text(BOB), &[], (Unchanged, "unchanged")),
        (Given::Absent, text(ALICE), &[], kept),
        (Given::Absent, text(BOB), lists, kept),
        (Given::Absent, Given::Absent, &[], (Unchanged, "unchanged")),
        // Other aliases.
        (text(&of_account(&[])), text(&info(ACCOUNT, &[OF_ACCOUNT])), &[], (Added, "aliases")),
    ] {
        let case = pod_updated("alice", old.clone(), given.clone());
        assert_eq!(case.decided(keys), expected, "{old:?} {given:?} {keys:?}");
    }
    let mut elsewhere = pod_updated("alice", text(BOB), text(ALICE));
    elsewhere.site.is_scheduled = false;
    assert_eq!(elsewhere.decided(lists), (Kept, "external_users"));
}

#[test]
fn scheduled_pod_keeps_its_application_and_queue() {
    let mut moved = pod_updated(CONTROLLER, text(ALICE), text(ALICE));
    moved.site.moved_by = Some("applicationId");
    assert_eq!(moved.decided(&[]), (Outcome::Refused, "kept"));
    assert_eq!(
        moved.decision(&[]).reason,
        "user `system:serviceaccount:kube-system:job-controller` in groups [devs, system:authenticated] may not \
         create or change this Deployment: `applicationId` would change, and a pod that YuniKorn schedules keeps \
         its user, application and queue; create another pod"
    );
    assert_eq!(moved.decided(&[(BYPASS_AUTH, "true")]), (Outcome::Unchanged, "unchanged"));
    moved.site.is_scheduled = false;
    assert_eq!(moved.decided(&[]), (Outcome::Unchanged, "unchanged"));
    moved.site.is_scheduled = true;
    moved.operation = Operation::Create;
    assert_eq!(moved.decided(&[]), (Outcome::Unchanged, "unchanged"));
}

/// With bypassAuth, nothing is added if the label is set.
#[test]
fn username_label_is_reported_and_used_only_with_bypass_auth() {
    let mut case = created("alice", Given::Absent);
    case.site.username = "carol".to_owned();
    for (keys, expected, reported) in [
        (&[][..], Outcome::Added, "is ignored because of the annotation"),
        (&[(BYPASS_AUTH, "true")], Outcome::Kept, "only up to YuniKorn 1.9"),
    ] {
        let decision = case.decision(keys);
        assert_eq!(decision.outcome, expected);
        let warning = decision.warnings.join("\n");
        assert!(
            warning.contains(reported) && warning.contains(USERNAME) && warning.contains("`carol`"),
            "{warning}"
        );
    }
    case.site.username.clear();
    assert_eq!(case.decided(&[(BYPASS_AUTH, "true")]), (Outcome::Added, "missing"));
}

#[test]
fn username_label_that_determines_the_user_is_checked_at_the_end() {
    use Outcome::{Refused, Unchanged};
    let lists = &[(EXTERNAL_USERS, "^alice$")][..];
    for (given, username, keys, expected) in [
        (Given::Absent, "carol", &[][..], (Refused, "not_allowed")),
        (text(""), "carol", &[], (Refused, "not_allowed")),
        (Given::Absent, "carol", lists, (Unchanged, "unchanged")),
        (Given::Absent, "alice", &[], (Refused, "not_allowed")),
        (Given::Absent, "", &[], (Unchanged, "unchanged")),
        (text(BOB), "carol", &[], (Unchanged, "unchanged")),
    ] {
        let mut case = updated("alice", given.clone(), given).at_the_end();
        (case.site.changed, case.site.moved_by) = (true, Some(USERNAME));
        username.clone_into(&mut case.site.username);
        assert_eq!(case.decided(keys), expected, "{:?}", case.site);
    }
}

#[test]
fn update_reports_the_label_only_if_the_template_changes() {
    let mut case = updated("alice", text(ALICE), text(ALICE));
    case.site.username = "carol".to_owned();
    assert!(case.decision(&[]).warnings.is_empty());
    case.site.changed = true;
    let warnings = case.decision(&[]).warnings;
    assert!(warnings[0].contains("is ignored because of the annotation"), "{warnings:?}");
}

#[test]
fn decision_has_the_user_of_the_pods() {
    let lists = &[(EXTERNAL_USERS, "^alice$")][..];
    for (given, user) in [(text(BOB), "bob"), (text(ALICE), "alice"), (Given::Absent, "alice")] {
        let decision = created("alice", given.clone()).decision(lists);
        assert_eq!((decision.user.as_str(), decision.refusal(Mode::Enforce)), (user, None), "{given:?}");
    }
    let untouched = updated("alice", text(BOB), text(BOB)).decision(&[]);
    assert_eq!((untouched.outcome, untouched.user.as_str()), (Outcome::Unchanged, "bob"));
}

#[test]
fn first_of_equal_sites_gives_the_reason() {
    let place = |given: &str| Site { changed: true, ..template(text(given), Given::Absent) };
    let groups = ["devs", "system:authenticated"].map(str::to_owned);
    let rule = |sites: &[Site]| {
        let request = job(Operation::Create, false, ("alice", &groups), sites, Moment::Mutating);
        let decision = decide(&request, &access(&[(EXTERNAL_USERS, "^alice$")]));
        (decision.outcome, decision.clause)
    };
    assert_eq!(rule(&[place(ALICE), place(BOB)]), (Outcome::Kept, "own"));
    assert_eq!(rule(&[place(BOB), place(ALICE)]), (Outcome::Kept, "external_users"));
    let absent = Site { changed: true, ..template(Given::Absent, Given::Absent) };
    assert_eq!(rule(&[place(ALICE), absent]), (Outcome::Added, "missing"));
}

#[test]
fn decision_of_yunikorns_admission_controller_has_the_user() {
    let refused = Decision::of_yunikorn(Some("user alice may not"), false, "alice");
    assert_eq!((refused.outcome, refused.clause), (Outcome::Refused, "yunikorn"));
    assert_eq!(
        (refused.user.as_str(), refused.refusal(Mode::Enforce)),
        ("alice", Some("user alice may not"))
    );
    for (patched, outcome) in [(true, Outcome::Added), (false, Outcome::Unchanged)] {
        let passed = Decision::of_yunikorn(None, patched, "al\u{1b}ice");
        assert_eq!((passed.outcome, passed.clause), (outcome, "yunikorn"));
        assert_eq!(passed.refusal(Mode::Enforce), None);
        assert!(passed.user.starts_with("al") && !passed.user.contains('\u{1b}'), "{passed:?}");
    }
}

#[test]
fn manually_set_node_is_reported() {
    let mut case = created("alice", Given::Absent);
    case.site.node_name = "node-1".to_owned();
    let warnings = case.decision(&[]).warnings;
    assert!(
        warnings[0].starts_with("spec.template: spec.nodeName (`node-1`) bypasses the scheduler"),
        "{warnings:?}"
    );
    case.site.location.clear();
    let warnings = case.decision(&[]).warnings;
    assert!(warnings[0].starts_with("this pod: spec.nodeName"), "{warnings:?}");
    case.user = CONTROLLER;
    assert!(case.decision(&[]).warnings.is_empty());
}

#[test]
fn refusal_has_the_user_the_change_and_remedies() {
    let decision = created("alice", text(BOB)).decision(&[]);
    assert_eq!(decision.refusal(Mode::Audit), None);
    assert_eq!(decision.user, "alice");
    let reason = decision.refusal(Mode::Enforce).unwrap();
    assert_eq!(
        reason,
        "user `alice` in groups [devs, system:authenticated] may not create or change this Deployment (spec.template) with this \
         yunikorn.apache.org/user.info: it names user `bob`, and trustControllers with systemUsers, \
         externalUsers and externalGroups do not allow it (what would help: omit \
         yunikorn.apache.org/user.info, so that it is set to the requester's own name; or in the \
         AdmissionPolicy: add `^alice$` to externalUsers, or add `^devs$` to externalGroups)"
    );
    let distrusted = created(CONTROLLER, text(BOB)).decision(&[(TRUST_CONTROLLERS, "false")]);
    assert!(distrusted.reason.contains("set trustControllers to true"), "{}", distrusted.reason);
    let changed = updated("alice", text(ALICE), text(BOB)).decision(&[]);
    assert!(changed.reason.contains("would be changed") && changed.reason.contains("leave it unchanged"));
    let mut many = created("alice", text(BOB));
    many.groups = (0..300).map(|number| format!("group-{number}")).collect();
    let reason = many.decision(&[]).reason;
    assert!(
        reason.contains("group-7, and 292 more]") && reason.contains("`^alice$` to externalUsers"),
        "{reason}"
    );
    let odd = created("alice", text(&"é".repeat(9000))).decision(&[(EXTERNAL_USERS, "^alice$")]);
    assert!(odd.reason.chars().count() <= 2000, "{}", odd.reason.len());
}

/// Returns a pod of this user's application, in the namespace `jobs` unless given otherwise.
fn member(application: &str, user_info: &str) -> Pod {
    let mut pod = Pod { application: application.to_owned(), ..Pod::default() };
    pod.workload.namespace = "jobs".to_owned();
    pod.workload.pod.annotations.insert(USER_INFO.to_owned(), user_info.to_owned());
    pod
}

/// Returns the state for a request about these pods' applications.
fn running(pods: Vec<Pod>, creator: Option<Pod>) -> Running {
    let ids: Vec<String> = pods.iter().map(|pod| pod.application.clone()).collect();
    let mut pods = pods;
    for (index, pod) in pods.iter_mut().enumerate() {
        pod.name = format!("p{index}");
    }
    let creators = creator.map(|mut pod| {
        "creator".clone_into(&mut pod.name);
        "creators-uid".clone_into(&mut pod.workload.pod.uid);
        pod
    });
    let wanted = Wanted {
        applications: ids.iter().map(String::as_str).collect(),
        creator: creators.as_ref().map(|_| BoundPod {
            namespace: "jobs",
            name: "creator",
            uid: "creators-uid",
        }),
        owners: vec![BoundPod { namespace: "jobs", name: "p0", uid: "" }],
    };
    known(pods.into_iter().chain(creators)).running(&wanted, later())
}

#[test]
fn joining_an_application_of_others_is_refused() {
    use Outcome::{Added, Kept, Refused, Unchanged};
    let elsewhere = {
        let mut pod = member("a", ALICE);
        "prod".clone_into(&mut pod.workload.namespace);
        pod
    };
    let refused = (Refused, "application");
    let named = |case: Case, first: Pod| {
        let site = Site { application: "a".to_owned(), ..case.site };
        Case { site, running: running(vec![first], None), ..case }
    };
    let replaced = updated("alice", text(ALICE), text(ALICE));
    let changed = || Case {
        site: Site { changed: true, ..template(text(ALICE), text(ALICE)) },
        ..updated("alice", Given::Absent, Given::Absent)
    };
    for (case, first, expected) in [
        (created("alice", Given::Absent), member("a", ALICE), (Added, "missing")),
        (created("alice", Given::Absent), member("a", BOB), refused),
        (created("alice", text(ALICE)), member("a", BOB), refused),
        (created("alice", text(ALICE)), member("a", ALICE), (Kept, "own")),
        (created("alice", text(ALICE)), elsewhere.clone(), refused),
        (created(CONTROLLER, text(BOB)), member("a", BOB), (Kept, "system_users")),
        (created(CONTROLLER, text(BOB)), member("a", ALICE), refused),
        (created("alice", text(ALICE)), member("a", ""), (Kept, "own")),
        (replaced, member("a", BOB), (Unchanged, "unchanged")),
        (changed(), member("a", BOB), refused),
        (changed(), member("a", ALICE), (Unchanged, "unchanged")),
    ] {
        let case = named(case, first.clone());
        assert_eq!(case.decided(&[]), expected, "{:?} {first:?}", case.site);
        let reason = case.decision(&[]).reason;
        assert!(expected != refused || reason.contains("names application `a`, which "), "{reason}");
    }
    // A pod stays in its application.
    let mut pod = changed();
    pod.site.location.clear();
    assert_eq!(named(pod, member("a", BOB)).decided(&[]), (Unchanged, "unchanged"));
}

#[test]
fn pod_creates_pods_with_its_own_name() {
    use Outcome::{Added, Kept, Refused};
    let own_pod = |given: Given, creator: Option<Pod>| {
        let case = created("system:serviceaccount:jobs:spark", given);
        let site = Site { location: String::new(), application: "spark-1".to_owned(), ..case.site };
        Case { site, running: running(vec![member("spark-1", ALICE)], creator), ..case }
    };
    let driver = || Some(member("spark-1", ALICE));
    let elsewhere = || {
        let mut pod = member("spark-1", ALICE);
        "prod".clone_into(&mut pod.workload.namespace);
        Some(pod)
    };
    let other = r#"{"groups":["system:authenticated","devs"],"user":"alice"}"#;
    for (case, expected) in [
        (own_pod(text(ALICE), driver()), (Kept, "own_pod")),
        (own_pod(text(other), driver()), (Kept, "own_pod")),
        (own_pod(text(BOB), driver()), (Refused, "not_allowed")),
        (own_pod(text(r#"{"user":"alice"}"#), driver()), (Refused, "not_allowed")),
        (own_pod(text(ALICE), None), (Refused, "not_allowed")),
        (own_pod(text(ALICE), elsewhere()), (Refused, "not_allowed")),
        (own_pod(text(ALICE), Some(member("spark-2", BOB))), (Refused, "not_allowed")),
        // Executors without an annotation run as the account, but still in the driver's application.
        (own_pod(Given::Absent, driver()), (Added, "missing")),
        (own_pod(Given::Absent, Some(member("spark-2", ALICE))), (Refused, "application")),
    ] {
        assert_eq!(case.decided(&[]), expected, "{:?} {:?}", case.site, case.running);
    }
    // Only pods. Otherwise a later change of a template would run with that name.
    let mut job = own_pod(text(ALICE), driver());
    "spec.template".clone_into(&mut job.site.location);
    assert_eq!(job.decided(&[]), (Refused, "not_allowed"));
}

/// Returns a resource with these texts.
fn owner(texts: &[&str]) -> Owner {
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    Owner { object: "RayCluster `a`".to_owned(), texts }
}

#[test]
fn operator_may_only_pass_on_the_owners_name() {
    use Outcome::{Added, Kept, Refused, Unchanged};
    const OPERATOR: &str = "system:serviceaccount:kuberay:kuberay-operator";
    let own =
        UserInfo { user: OPERATOR.to_owned(), groups: vec!["devs".into(), "system:authenticated".into()] };
    let other_groups = r#"{"user":"alice","groups":["admins"]}"#;
    let with_alias = ALICE.replace("]}", &format!(r#","{OF_BOSS}"]}}"#));
    let alices = || Owners::Read(vec![owner(&[ALICE])]);
    let read = |owners: &[&[&str]]| Owners::Read(owners.iter().map(|texts| owner(texts)).collect());
    let is_refused = (Refused, "owning_resource");
    for (given, owners, expected, reason) in [
        (ALICE, alices(), (Kept, "owning_resource"), ""),
        (BOB, alices(), is_refused, "RayCluster `a`, which owns it, names user `alice`"),
        (other_groups, alices(), is_refused, "names that user with other groups"),
        (ALICE, read(&[&[BOB, ALICE]]), (Kept, "owning_resource"), ""),
        // A user may add references; the operator's own is among them.
        (BOB, read(&[&[ALICE], &[BOB]]), is_refused, "names user `alice`"),
        (ALICE, read(&[&[]]), is_refused, "names nobody"),
        (ALICE, read(&[&["x"]]), is_refused, "names nobody"),
        (ALICE, read(&[]), is_refused, "no resource of a kind in spec.userInfo.templates owns it"),
        (ALICE, Owners::Unread("it may not be read".into()), is_refused, "and it may not be read"),
        ("x", alices(), is_refused, "only passes on the name in the owner"),
        // Aliases are not part of the name and are checked as in all texts.
        (&with_alias, alices(), (Added, "owning_resource"), ""),
    ] {
        let case = Case { owners, ..created(OPERATOR, text(given)) };
        // No list makes a difference.
        for keys in [&[][..], &[(EXTERNAL_USERS, ".*")], &[(EXTERNAL_GROUPS, "^devs$")]] {
            let decision = case.decision(keys);
            assert_eq!((decision.outcome, decision.clause), expected, "{given} {:?}", case.owners);
            assert!(decision.reason.contains(reason), "{}", decision.reason);
        }
    }
    let forged = Case { owners: alices(), ..created(OPERATOR, text(&with_alias)) };
    assert_eq!(forged.at_the_end().decided(&[]), (Refused, "alias"));
    let own = Case { owners: Owners::Read(Vec::new()), ..created(OPERATOR, text(&own.write())) };
    assert_eq!(own.at_the_end().decided(&[]).1, "own");
    let any = [(EXTERNAL_USERS, ".*")];
    for (old, given, expected) in [
        (text(BOB), text(ALICE), (Kept, "owning_resource")),
        (text(ALICE), text(BOB), is_refused),
        (text(ALICE), Given::Absent, is_refused),
        (text(BOB), text(BOB), (Unchanged, "unchanged")),
    ] {
        let case = Case { owners: alices(), ..updated(OPERATOR, old, given) };
        assert_eq!(case.decided(&any), expected, "{:?}", case.site);
    }
    // The name of the operator's own pod must not be used for others.
    let mut pod = Case { owners: alices(), ..created(OPERATOR, text(BOB)) };
    pod.site.location.clear();
    pod.running = running(Vec::new(), Some(member("ray", BOB)));
    assert_eq!(pod.decided(&[]), is_refused);
}

#[test]
fn placeholder_runs_with_the_name_of_its_owner() {
    use Outcome::{Added, Kept, Refused};
    const SCHEDULER: &str = "system:serviceaccount:yunikorn:yunikorn-admin";
    let own = UserInfo { user: SCHEDULER.to_owned(), groups: created("", Given::Absent).groups }.write();
    let placeholder = |user: &'static str, given: Given, moment: Moment, first: &str| {
        let case = created(user, given);
        let owner = OwnerPod { name: "p0".to_owned(), uid: String::new() };
        let site = Site {
            location: String::new(),
            application: "a".to_owned(),
            placeholder: Some(vec![owner]),
            ..case.site
        };
        Case { site, moment, running: running(vec![member(first, ALICE)], None), ..case }
    };
    let keys = [(EXTERNAL_USERS, "^system:serviceaccount:yunikorn:yunikorn-admin$")];
    let other = r#"{"groups":["system:authenticated","devs"],"user":"alice"}"#;
    let refused = (Refused, "placeholder");
    for (user, given, mutating, last) in [
        (SCHEDULER, Given::Absent, (Added, "placeholder"), refused),
        (SCHEDULER, text(&own), (Added, "placeholder"), refused),
        (SCHEDULER, text(ALICE), (Kept, "placeholder"), (Kept, "placeholder")),
        (SCHEDULER, text(other), (Kept, "placeholder"), (Kept, "placeholder")),
        // Names from the task groups, which a user writes.
        (SCHEDULER, text(BOB), refused, refused),
        (SCHEDULER, text(r#"{"user":"alice"}"#), refused, refused),
        ("bob", Given::Absent, (Refused, "application"), (Refused, "missing")),
        ("bob", text(ALICE), refused, refused),
    ] {
        for (moment, expected) in [(Moment::Mutating, mutating), (Moment::Final, last)] {
            let case = placeholder(user, given.clone(), moment, "a");
            assert_eq!(case.decided(&keys), expected, "{user} {given:?} {moment:?}");
        }
    }
    let added = placeholder(SCHEDULER, Given::Absent, Moment::Mutating, "a").decision(&keys).additions;
    assert_eq!(added.iter().map(|addition| &*addition.text).collect::<Vec<_>>(), [ALICE]);
    // Without a list, the account is an ordinary user.
    let unlisted = placeholder(SCHEDULER, Given::Absent, Moment::Mutating, "a");
    assert_eq!(unlisted.decided(&[]), (Refused, "application"));
    // No pod of the application owns it.
    for (given, expected) in
        [(Given::Absent, (Added, "missing")), (text(ALICE), refused), (text(BOB), refused)]
    {
        let unowned = placeholder(SCHEDULER, given, Moment::Mutating, "b");
        assert_eq!(unowned.decided(&keys), expected);
    }
}

#[test]
fn unknown_list_is_a_refusal() {
    let deep = format!("{}a{}", "(".repeat(40), ")".repeat(40));
    let decision = created("alice", text(BOB)).decision(&[(EXTERNAL_USERS, &deep)]);
    assert_eq!((decision.outcome, decision.clause), (Outcome::Refused, "configuration"));
    assert!(decision.reason.contains("externalUsers"), "{}", decision.reason);
    assert_eq!(created("alice", text(ALICE)).decided(&[(EXTERNAL_USERS, &deep)]), (Outcome::Kept, "own"));
}

#[test]
fn object_without_sites_is_reported_only_if_templates_are_configured() {
    let running = Running::default();
    let request = |operation, has_templates| Request {
        operation,
        namespace: "jobs",
        running: &running,
        owners: &Owners::Irrelevant,
        granted: &NO_ALIAS,
        kind: "SparkApplication",
        is_replica_set: false,
        user: "alice",
        groups: &[],
        has_templates,
        sites: &[],
        moment: Moment::Mutating,
    };
    let decided = |operation, has_templates| decide(&request(operation, has_templates), &access(&[]));
    assert_eq!(decided(Operation::Create, false), decided(Operation::Other, true));
    for (operation, has_templates) in
        [(Operation::Create, false), (Operation::Update, true), (Operation::Other, true)]
    {
        let decision = decided(operation, has_templates);
        assert!(decision.warnings.is_empty(), "{operation:?} {has_templates}: {decision:?}");
    }
    let nowhere = decided(Operation::Create, true);
    assert_eq!(nowhere.outcome, Outcome::NotApplicable);
    assert!(nowhere.warnings[0].contains("spec.userInfo.templates"), "{nowhere:?}");
}

fn given() -> impl Strategy<Value = Given> {
    prop_oneof![
        3 => Just(Given::Absent),
        2 => Just(text(ALICE)),
        2 => Just(text(BOB)),
        1 => Just(text(r#"{"user":"alice"}"#)),
        1 => Just(text(r#"{"User":"bob"}"#)),
        1 => r#"\{"user":"(alice|bob|)","groups":\["(devs|ops)"(,"system:authenticated")?\]\}"#.prop_map(Given::Text),
        3 => aliased().prop_map(Given::Text),
        1 => r"\PC{0,12}".prop_map(Given::Text),
        1 => Just(Given::Odd("a number".to_owned())),
    ]
}

/// Names that need aliases, and other names that are mixed with them.
const NAMES: [&str; 5] = ["alice", "CN=Ann", "devs", "team.a", "system:authenticated"];

/// Generates a text with its own aliases or others.
fn aliased() -> impl Strategy<Value = String> {
    let name = || prop::sample::select(&NAMES[..]);
    let kind = prop_oneof![Just(Kind::User), Just(Kind::Group)];
    let aliases = prop::collection::vec((kind, name()).prop_map(|(kind, name)| alias(kind, name)), 0..3);
    let user = prop_oneof![name().prop_map(str::to_owned), Just("qw-user:CN#3dAnn".to_owned())];
    (user, prop::collection::vec(name().prop_map(str::to_owned), 0..3), aliases)
        .prop_map(|(user, groups, aliases)| UserInfo { user, groups: [groups, aliases].concat() }.write())
}

/// Returns the names in a text as the specification reads them: the user, the groups, and the aliases.
fn parts(text: &str) -> (String, BTreeSet<String>, BTreeSet<String>) {
    let UserInfo { user, groups } = UserInfo::read(text).unwrap();
    let (aliases, groups) = groups.into_iter().partition(|group| is_alias(group));
    (if user == "qw-user:CN#3dAnn" { "CN=Ann".to_owned() } else { user }, groups, aliases)
}

/// Returns whether each alias in a text follows from one of its names.
fn aliases_follow(text: &str) -> bool {
    let (user, groups, aliases) = parts(text);
    let mut own: BTreeSet<String> = groups.iter().map(|group| alias(Kind::Group, group)).collect();
    own.insert(alias(Kind::User, &user));
    aliases.is_subset(&own)
}

fn site() -> impl Strategy<Value = Site> {
    (given(), given(), any::<bool>(), prop_oneof![Just(""), Just("carol")]).prop_map(
        |(given, old, changed, username)| Site {
            location: "spec.template".to_owned(),
            changed: changed || given != old,
            username: username.to_owned(),
            given,
            old,
            ..Site::default()
        },
    )
}

prop_compose! {
    fn keys()(
        bypass in prop::option::weighted(0.2, Just((BYPASS_AUTH, "true"))),
        trust in prop::option::of(Just((TRUST_CONTROLLERS, "false"))),
        users in prop::option::weighted(0.3, prop_oneof![Just("^alice$"), Just("^airflow$"), Just("(")]),
        groups in prop::option::weighted(0.3, prop_oneof![Just("^devs$"), Just("^ops$")]),
    ) -> Vec<(&'static str, &'static str)> {
        let users = users.map(|text| (EXTERNAL_USERS, text));
        let groups = groups.map(|text| (EXTERNAL_GROUPS, text));
        [bypass, trust, users, groups].into_iter().flatten().collect()
    }
}

fn who() -> impl Strategy<Value = (&'static str, Vec<String>)> {
    let groups = prop::sample::select(&["devs", "ops", "system:authenticated", "team.a", OF_BOSS][..]);
    let groups = prop::collection::vec(groups, 0..3);
    let users = prop_oneof![
        4 => Just("alice"), 2 => Just("bob"), 2 => Just(CONTROLLER), 2 => Just("CN=Ann"), 1 => Just("")
    ];
    (users, groups).prop_map(|(user, groups)| (user, groups.into_iter().map(str::to_owned).collect()))
}

fn job<'a>(
    operation: Operation,
    is_replica_set: bool,
    (user, groups): (&'a str, &'a [String]),
    sites: &'a [Site],
    moment: Moment,
) -> Request<'a> {
    static NOTHING: LazyLock<Running> = LazyLock::new(Running::default);
    Request {
        operation,
        kind: "Job",
        is_replica_set,
        user,
        groups,
        has_templates: true,
        sites,
        namespace: "jobs",
        running: &NOTHING,
        owners: &Owners::Irrelevant,
        granted: &NO_ALIAS,
        moment,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// An annotation that passes at the end either names the requester, or was there before, or is a name
    /// that the requester may set. Only users who may set it can remove it.
    #[test]
    fn accepted_name_is_the_requesters_own_or_permitted(
        sites in prop::collection::vec(site(), 1..4), keys in keys(), (user, groups) in who(),
        create in any::<bool>(), is_replica_set in any::<bool>(),
    ) {
        let operation = if create { Operation::Create } else { Operation::Update };
        let sites: Vec<Site> =
            sites.into_iter().map(|site| if create { Site { old: Given::Absent, ..site } } else { site }).collect();
        let access = access(&keys);
        let request = job(operation, is_replica_set, (user, &groups), &sites, Moment::Final);
        if decide(&request, &access).outcome == Outcome::Refused {
            return Ok(());
        }
        let may_set = access.bypass_auth
            || matches!(access.is_annotation_allowed(user, &groups), yunikorn::admission::Access::Allowed(_));
        let real: BTreeSet<String> = groups.iter().filter(|group| !is_alias(group)).cloned().collect();
        for site in &sites {
            let same = site.given == site.old;
            match &site.given {
                Given::Text(_) if !create && same => {}
                Given::Text(text) => {
                    // The scheduler's parser, which is not strict.
                    let (named, groups, _) = parts(text);
                    let is_own = named == user && groups == real;
                    let is_same = |old: &str| {
                        let (before, before_groups, _) = parts(old);
                        (&before, &before_groups) == (&named, &groups)
                    };
                    let is_same = matches!(&site.old, Given::Text(old) if UserInfo::read(old).is_ok() && is_same(old));
                    prop_assert!(may_set || is_own || is_same, "{text} of {user}");
                    prop_assert!(aliases_follow(text), "{text}");
                }
                Given::Absent => prop_assert!(may_set || same, "{site:?} of {user}"),
                Given::Odd(_) => prop_assert!(!create && same),
            }
        }
    }

    /// After the patch there is nothing else to patch, and the last webhook accepts everything that the first
    /// one accepts.
    #[test]
    fn added_annotations_are_final(
        sites in prop::collection::vec(site(), 1..4), keys in keys(), (user, groups) in who(),
        create in any::<bool>(), is_replica_set in any::<bool>(),
    ) {
        let operation = if create { Operation::Create } else { Operation::Update };
        let mut sites: Vec<Site> =
            sites.into_iter().map(|site| if create { Site { old: Given::Absent, ..site } } else { site }).collect();
        let access = access(&keys);
        let first = decide(&job(operation, is_replica_set, (user, &groups), &sites, Moment::Mutating), &access);
        prop_assert!(first.outcome != Outcome::Refused || (first.additions.is_empty() && !first.reason.is_empty()));
        prop_assert_eq!(first.outcome == Outcome::Added, !first.additions.is_empty());
        if first.outcome == Outcome::Refused {
            return Ok(());
        }
        let mut seen = BTreeSet::new();
        for addition in &first.additions {
            let site = &sites[addition.site];
            match &site.given {
                Given::Text(text) => prop_assert_eq!(&parts(text).0, &parts(&addition.text).0),
                given => prop_assert_eq!(given, &Given::Absent),
            }
            prop_assert!(aliases_follow(&addition.text) && seen.insert(addition.site));
            sites[addition.site].given = Given::Text(addition.text.clone());
        }
        for moment in [Moment::Mutating, Moment::Final] {
            let again = decide(&job(operation, is_replica_set, (user, &groups), &sites, moment), &access);
            prop_assert!(again.additions.is_empty() && again.outcome != Outcome::Refused, "{:?}", again);
        }
    }
}

/// Returns the annotation of this user with these groups.
fn info(user: &str, groups: &[&str]) -> String {
    UserInfo { user: user.into(), groups: groups.iter().map(ToString::to_string).collect() }.write()
}

/// Returns the text that a case writes, or `None` if it writes none. The case must not be refused.
fn rewritten(case: &Case, keys: &[(&str, &str)]) -> Option<String> {
    let decision = case.decision(keys);
    assert_ne!(decision.outcome, Outcome::Refused, "{}", decision.reason);
    decision.additions.first().map(|addition| addition.text.clone())
}

const ACCOUNT: &str = "system:serviceaccount:jobs:spark";
const OF_ACCOUNT: &str = "system:serviceaccounts:jobs";

fn of_account(more: &[&str]) -> String {
    let aliases = [alias(Kind::User, ACCOUNT), alias(Kind::Group, OF_ACCOUNT)];
    let aliases = aliases.iter().map(String::as_str);
    info(ACCOUNT, &[OF_ACCOUNT].into_iter().chain(aliases).chain(more.iter().copied()).collect::<Vec<_>>())
}

fn by_account(mut case: Case) -> Case {
    case.groups = vec![OF_ACCOUNT.to_owned()];
    case
}

#[test]
fn aliases_are_replaced_by_the_aliases_of_the_names() {
    let lists = &[(EXTERNAL_USERS, "^airflow$")][..];
    let plain = info(ACCOUNT, &[OF_ACCOUNT]);
    let forged = info(ACCOUNT, &[OF_ACCOUNT, OF_BOSS]);
    let other = info("airflow", &[]);
    let canonical = of_account(&[]);
    for (user, given, expected) in [
        (ACCOUNT, Given::Absent, Some(&canonical)),
        (ACCOUNT, text(&plain), Some(&canonical)),
        (ACCOUNT, text(&forged), Some(&canonical)),
        (ACCOUNT, text(&of_account(&[OF_BOSS])), Some(&canonical)),
        (ACCOUNT, text(&canonical), None),
        // Users who may name others, and controllers that copy templates.
        ("airflow", text(&plain), Some(&canonical)),
        ("airflow", text(&forged), Some(&canonical)),
        ("airflow", text(&canonical), None),
        (CONTROLLER, text(&plain), Some(&canonical)),
        (CONTROLLER, text(&forged), Some(&canonical)),
        ("airflow", text(&info("airflow", &[OF_BOSS])), Some(&other)),
    ] {
        let case = by_account(created(user, given.clone()));
        assert_eq!(rewritten(&case, lists).as_ref(), expected, "{user} {given:?}");
    }
}

#[test]
fn foreign_alias_is_refused_at_the_end() {
    let lists = &[(EXTERNAL_USERS, "^airflow$")][..];
    let forged = of_account(&[OF_BOSS]);
    for case in [
        created(ACCOUNT, text(&forged)),
        created("airflow", text(&forged)),
        created(CONTROLLER, text(&forged)),
        updated(ACCOUNT, text(&of_account(&[])), text(&forged)),
        Case { is_replica_set: true, ..created(CONTROLLER, text(&forged)) },
    ] {
        let decision = by_account(case).at_the_end().decision(lists);
        assert_eq!((decision.outcome, decision.clause), (Outcome::Refused, "alias"));
        assert!(
            decision.reason.contains(&format!("its group `{OF_BOSS}` is an alias of none of its names"))
                && decision.reason.ends_with("leave the group out"),
            "{}",
            decision.reason
        );
    }
    for (given, clause) in [(of_account(&[]), "own"), (info(ACCOUNT, &[OF_ACCOUNT]), "own")] {
        let case = by_account(created(ACCOUNT, text(&given))).at_the_end();
        assert_eq!(case.decided(&[]), (Outcome::Kept, clause), "{given}");
    }
}

#[test]
fn change_of_aliases_is_not_a_change_of_the_name() {
    let (plain, canonical) = (info(ACCOUNT, &[OF_ACCOUNT]), of_account(&[]));
    for (old, given, written) in [
        (&plain, &canonical, None),
        (&canonical, &plain, Some(canonical.clone())),
        (&plain, &of_account(&[OF_BOSS]), Some(canonical.clone())),
    ] {
        let case = updated("alice", text(old), text(given));
        assert_eq!(rewritten(&case, &[]), written, "{given}");
        assert_eq!(case.decision(&[]).clause, "aliases");
    }
    let case = updated("alice", text(&canonical), text(&info(ACCOUNT, &[OF_ACCOUNT, "ops"])));
    assert_eq!(case.decided(&[]), (Outcome::Refused, "immutable"));
    // Old texts stay if nobody changes them; rewritten texts lose aliases that do not follow from the names.
    let forged = of_account(&[OF_BOSS]);
    let kept = updated("alice", text(&forged), text(&forged));
    assert_eq!(kept.decided(&[]), (Outcome::Unchanged, "unchanged"));
    let removed = by_account(updated(ACCOUNT, text(&forged), Given::Absent));
    assert_eq!(rewritten(&removed, &[]), Some(canonical));
}

#[test]
fn replica_set_of_a_deployment_keeps_a_text_without_aliases() {
    let plain = info(ACCOUNT, &[OF_ACCOUNT]);
    let case = Case { is_replica_set: true, ..created(CONTROLLER, text(&plain)) };
    assert_eq!(rewritten(&case, &[]), None);
    assert_eq!(case.at_the_end().decided(&[]), (Outcome::Kept, "system_users"));
}

#[test]
fn group_in_alias_form_is_dropped_with_a_warning() {
    let mut case = created("alice", Given::Absent);
    case.groups = ["devs", OF_BOSS].map(str::to_owned).to_vec();
    assert_eq!(rewritten(&case, &[]), Some(info("alice", &["devs"])));
    let warnings = case.decision(&[]).warnings;
    assert!(warnings[0].contains(&format!("the groups [{OF_BOSS}] of user `alice`")), "{warnings:?}");
    case.site.given = text(&info("alice", &["devs", OF_BOSS]));
    assert_eq!(rewritten(&case, &[]), Some(info("alice", &["devs"])));
    assert_eq!(case.at_the_end().decided(&[]), (Outcome::Refused, "alias"));
}

#[test]
fn user_that_yunikorn_refuses_is_escaped() {
    let named = info("qw-user:CN#3dAnn", &["devs", &alias(Kind::User, "CN=Ann")]);
    let case = |given| Case { groups: vec!["devs".to_owned()], ..created("CN=Ann", given) };
    for given in [Given::Absent, text(&info("CN=Ann", &["devs"])), text(&info("qw-user:CN#3dAnn", &["devs"]))]
    {
        assert_eq!(rewritten(&case(given.clone()), &[]), Some(named.clone()), "{given:?}");
    }
    assert_eq!(case(text(&named)).decided(&[]), (Outcome::Kept, "own"));
    // Nobody can be authenticated with an escaped name.
    let eve = created("qw-user:CN#3dAnn", text(&named));
    assert_eq!(eve.decided(&[]), (Outcome::Refused, "not_allowed"));
}

#[test]
fn alias_of_all_users_is_written_if_granted() {
    let everybody = alias(Kind::Group, "system:authenticated");
    let granted = BTreeSet::from([everybody.clone()]);
    let names = super::names::Names::authenticated("alice", &["system:authenticated".to_owned()]);
    assert_eq!(names.write(&granted).text, info("alice", &["system:authenticated", &everybody]));
    assert_eq!(names.write(&NO_ALIAS).text, info("alice", &["system:authenticated"]));
}

#[test]
fn many_names_get_the_granted_aliases_and_a_warning() {
    let mut case = created(ACCOUNT, Given::Absent);
    case.groups = (0..MAX_ALIASES).map(|number| format!("team.{number}")).collect();
    let decision = case.decision(&[]);
    let text = &decision.additions[0].text;
    assert_eq!(parts(text).2.len(), MAX_ALIASES);
    assert!(decision.warnings[0].contains("more than 32 of its names need an alias"), "{decision:?}");
    // The longest names that Kubernetes gives accounts and namespaces.
    let long = format!("system:serviceaccount:{}:{}", "n".repeat(63), "a".repeat(253));
    let groups: Vec<String> =
        (0..MAX_ALIASES).map(|number| format!("{}.{number}", "g".repeat(253))).collect();
    let longest = super::names::Names::authenticated(&long, &groups).write(&NO_ALIAS);
    let aliases: usize = parts(&longest.text).2.iter().map(|alias| alias.len() + 3).sum();
    assert!(aliases <= 2400, "{aliases} bytes of aliases");
    case.groups.pop();
    assert!(case.decision(&[]).warnings.is_empty());
}

#[test]
fn missing_and_foreign_aliases_are_reported() {
    let [of_account, of_team, of_other] =
        [(Kind::User, ACCOUNT), (Kind::Group, "team.a"), (Kind::Group, "team.b")]
            .map(|(kind, name)| alias(kind, name));
    let granted = BTreeSet::from([of_account.clone(), of_team.clone(), of_other]);
    let old = info(ACCOUNT, &["team.a", "devs"]);
    let found = wrong_aliases(&old, &granted).unwrap();
    assert_eq!((&*found.user, found.lacks.len()), (ACCOUNT, 2));
    assert_eq!(found.lacks, [format!("user {ACCOUNT}"), "group team.a".to_owned()]);
    assert_eq!(found.text, info(ACCOUNT, &["team.a", "devs", &of_account, &of_team]));
    assert_eq!(wrong_aliases(&found.text, &granted), None);
    let half = info(ACCOUNT, &["team.a", &of_account]);
    assert_eq!(wrong_aliases(&half, &granted).unwrap().lacks, ["group team.a"]);
    let forged = info("mallory", &["devs", &of_account]);
    let found = wrong_aliases(&forged, &granted).unwrap();
    assert_eq!((found.lacks.len(), &*found.foreign), (0, &[of_account.clone()][..]));
    assert_eq!(found.text, info("mallory", &["devs"]));
    // The granted alias is written, although there are too many.
    let many: Vec<String> = (0..MAX_ALIASES).map(|number| format!("team.{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).chain(["team.a"]).collect();
    let found = wrong_aliases(&info("alice", &many), &granted).unwrap();
    assert!(parts(&found.text).2.contains(&of_team), "{found:?}");
    for (text, granted) in [
        (&*old, BTreeSet::new()),
        (&*info("alice", &["devs"]), granted.clone()),
        (&*info(ACCOUNT, &[]), BTreeSet::from([of_team])),
        ("no JSON", granted),
    ] {
        assert_eq!(wrong_aliases(text, &granted), None, "{text}");
    }
}

#[test]
fn requests_without_pods_or_a_name_have_their_own_labels() {
    let decided = |user, sites: &[Site]| {
        let request = job(Operation::Create, false, (user, &[]), sites, Moment::Mutating);
        decide(&request, &access(&[])).clause
    };
    assert_eq!(decided("alice", &[]), "no_pods");
    let absent = Site { changed: true, ..template(Given::Absent, Given::Absent) };
    assert_eq!(decided("", &[absent]), "nobody");
    assert_eq!(Decision::unreadable("no JSON", "alice").clause, "unreadable");
}
