//! `AdmissionPolicy` objects.

use super::*;
use crate::access::guard::{self, Settings};
use crate::model::admission::{BYPASS_AUTH, EXTERNAL_USERS, TRUST_CONTROLLERS};
use crate::plan::{snapshot, submission, user_info};

fn policy(
    name: &str,
    created: i64,
    spec: AdmissionPolicySpec,
) -> Entry<AdmissionPolicySpec, AdmissionPolicySpec> {
    let mut object = entry(name, spec);
    object.meta.created = Some(Timestamp::from_second(created).unwrap());
    object
}

fn bypass(value: bool) -> AdmissionPolicySpec {
    AdmissionPolicySpec { bypass_auth: Some(value), ..AdmissionPolicySpec::default() }
}

fn external(users: &[&str]) -> AdmissionPolicySpec {
    let users = users.iter().map(ToString::to_string).collect();
    AdmissionPolicySpec { external_users: Some(users), ..AdmissionPolicySpec::default() }
}

fn condition(plan: &Plan, name: &str, type_: &str) -> String {
    shown(find(&plan.policies[name].conditions, type_))
}

/// What the object is accepted for.
fn said<'a>(plan: &'a Plan, name: &str) -> &'a str {
    &find(&plan.policies[name].conditions, "Accepted").unwrap().message
}

fn value<'a>(snapshot: &'a Snapshot, key: &str) -> Option<&'a str> {
    snapshot.output.as_deref()?.data.get(key).map(String::as_str)
}

#[test]
fn set_fields_become_keys_and_others_are_left_alone() {
    let mut snapshot = cluster(BASE);
    snapshot.output = Some(owned_by(map(YUNIKORN_CONFIGS, &[(TRUST_CONTROLLERS, "false")]), "helm"));
    snapshot.policies =
        vec![policy("p", 1, AdmissionPolicySpec { bypass_auth: Some(true), ..external(&["^a$", "^b$"]) })];
    let settled = settled(&snapshot);
    assert_eq!(value(&settled.snapshot, BYPASS_AUTH), Some("true"));
    assert_eq!(value(&settled.snapshot, EXTERNAL_USERS), Some("^a$,^b$"));
    assert_eq!(value(&settled.snapshot, TRUST_CONTROLLERS), Some("false"));
    assert_eq!(condition(&settled.plan, "p", "Ready"), "True/NotVerified");
    assert_eq!(said(&settled.plan, "p"), format!("sets {BYPASS_AUTH}, {EXTERNAL_USERS}"));
    assert_at_rest(&settled);
}

#[test]
fn a_key_that_is_not_wanted_any_more_goes() {
    let mut snapshot = cluster(BASE);
    snapshot.policies =
        vec![policy("p", 1, AdmissionPolicySpec { bypass_auth: Some(true), ..external(&["^a$"]) })];
    let mut after = settled(&snapshot).snapshot;
    after.policies[0].spec = Ok(bypass(true));
    let after = settled(&after);
    assert_eq!(value(&after.snapshot, EXTERNAL_USERS), None);
    assert_eq!(value(&after.snapshot, BYPASS_AUTH), Some("true"));
    let mut gone = after.snapshot;
    gone.policies.clear();
    let gone = settled(&gone);
    assert_eq!(value(&gone.snapshot, BYPASS_AUTH), None);
    assert_at_rest(&gone);
}

#[test]
fn the_oldest_decides_then_the_first_by_name() {
    let mut snapshot = cluster(BASE);
    snapshot.policies =
        vec![policy("b", 5, bypass(true)), policy("a", 9, bypass(false)), policy("c", 5, bypass(false))];
    let settled = settled(&snapshot);
    assert_eq!(value(&settled.snapshot, BYPASS_AUTH), Some("true"));
    let ready: Vec<_> = ["a", "b", "c"].map(|name| condition(&settled.plan, name, "Ready")).into();
    assert_eq!(ready, ["False/Conflicted", "True/NotVerified", "False/Conflicted"]);
    let message = &find(&settled.plan.policies["a"].conditions, "Accepted").unwrap().message;
    assert!(message.contains("`b`"), "{message}");
}

#[test]
fn an_invalid_one_keeps_its_last_valid_version_and_never_says_something_else() {
    let mut snapshot = cluster(BASE);
    snapshot.policies = vec![policy("p", 1, external(&["^a$"]))];
    let mut broken = settled(&snapshot).snapshot;
    for wrong in [vec!["("], vec!["^a{1,3}$"], vec![""], vec![" ^a$"]] {
        broken.policies[0].spec = Ok(external(&wrong));
        let settled = settled(&broken);
        assert_eq!(value(&settled.snapshot, EXTERNAL_USERS), Some("^a$"), "{wrong:?}");
        assert_eq!(condition(&settled.plan, "p", "Accepted"), "False/Invalid", "{wrong:?}");
        assert_eq!(condition(&settled.plan, "p", "Programmed"), "True/LastValidKept");
        assert_at_rest(&settled);
    }
}

#[test]
fn someone_elses_key_does_not_hold_up_the_queues() {
    let mut snapshot = cluster(BASE);
    snapshot.output = Some(owned_by(map(YUNIKORN_CONFIGS, &[(BYPASS_AUTH, "true")]), "helm"));
    snapshot.policies = vec![policy("p", 1, bypass(false))];
    snapshot.queue_acls = vec![submit("a", "root.prod", "ann")];
    let settled = settled(&snapshot);
    assert_eq!(value(&settled.snapshot, BYPASS_AUTH), Some("true"));
    assert_eq!(submit_of(&settled.snapshot, "root.prod"), "ann");
    assert_eq!(config_condition(&settled.plan, "Applied"), "False/FieldConflict");
    assert_eq!(condition(&settled.plan, "p", "Ready"), "False/ConfigNotReady");
    assert_at_rest(&settled);
}

#[test]
fn the_policy_that_decides_says_what_is_done_about_submissions() {
    use crate::access::submission::Mode;
    let saying = |mode, users: &[&str]| AdmissionPolicySpec { submission: Some(mode), ..external(users) };
    let mut snapshot = cluster(BASE);
    assert_eq!(submission(&snapshot), Mode::Off);
    snapshot.policies =
        vec![policy("b", 5, saying(Mode::Audit, &["^a$"])), policy("a", 9, saying(Mode::Deny, &["^a$"]))];
    assert_eq!(submission(&snapshot), Mode::Audit);
    let mut kept = settled(&snapshot).snapshot;
    kept.policies[0].spec = Ok(saying(Mode::Deny, &["("]));
    assert_eq!(submission(&kept), Mode::Audit, "what is invalid keeps its last valid version");
    kept.policies.remove(0);
    assert_eq!(submission(&kept), Mode::Deny);
    // Nothing is enforced while the configuration only observes.
    for (mode, submissions, expected) in [
        (snapshot::Mode::Observe, Mode::Deny, Mode::Warn),
        (snapshot::Mode::Observe, Mode::Audit, Mode::Audit),
        (snapshot::Mode::Enforce, Mode::Deny, Mode::Deny),
    ] {
        let mut observed = kept.clone();
        spec(&mut observed).mode = mode;
        observed.policies = vec![policy("p", 1, saying(submissions, &["^a$"]))];
        assert_eq!(submission(&observed), expected, "{mode:?}");
    }
    // Alone it writes no key.
    let alone = AdmissionPolicySpec { submission: Some(Mode::Warn), ..AdmissionPolicySpec::default() };
    snapshot.policies = vec![policy("p", 1, alone)];
    let settled = settled(&snapshot);
    assert_eq!(condition(&settled.plan, "p", "Ready"), "True/NotVerified");
    assert_eq!(submission(&settled.snapshot), Mode::Warn);
    assert_eq!(said(&settled.plan, "p"), "sets no key of YuniKorn's, so every key stays as it is");
    assert_at_rest(&settled);
}

#[test]
fn the_policy_that_decides_says_what_is_done_about_user_info() {
    let enforce = Settings { mode: guard::Mode::Enforce, ..Settings::default() };
    let saying = |settings: &Settings, users: &[&str]| AdmissionPolicySpec {
        user_info: Some(settings.clone()),
        ..external(users)
    };
    let mut snapshot = cluster(BASE);
    assert_eq!(user_info(&snapshot), Settings::default());
    snapshot.policies =
        vec![policy("b", 5, saying(&enforce, &["^a$"])), policy("a", 9, saying(&Settings::default(), &[]))];
    let mut kept = settled(&snapshot).snapshot;
    assert_eq!(user_info(&kept), enforce);
    kept.policies[0].spec = Ok(saying(&Settings::default(), &["("]));
    assert_eq!(user_info(&kept), enforce, "what is invalid keeps its last valid version");
    spec(&mut kept).mode = snapshot::Mode::Observe;
    assert_eq!(user_info(&kept), enforce, "to look at a change of queues opens nothing");
    // Alone it writes no key.
    let alone = AdmissionPolicySpec { user_info: Some(enforce.clone()), ..AdmissionPolicySpec::default() };
    snapshot.policies = vec![policy("p", 1, alone)];
    let settled = settled(&snapshot);
    assert_eq!(condition(&settled.plan, "p", "Ready"), "True/NotVerified");
    assert_eq!(user_info(&settled.snapshot), enforce);
    assert_at_rest(&settled);
}
