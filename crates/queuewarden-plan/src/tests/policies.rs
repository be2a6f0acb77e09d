//! Tests `AdmissionPolicy` objects.

use super::*;
use crate::grants::policy::{admission_settings, risks, shared_application, submission, trusts, user_info};
use crate::snapshot;
use yunikorn::admission::keys::GENERATE_UNIQUE_APP_ID;
use yunikorn::admission::{BYPASS_AUTH, EXTERNAL_GROUPS, EXTERNAL_USERS, TRUST_CONTROLLERS};
use yunikorn_access::Origin;
use yunikorn_access::user_info::{self, Settings};

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

fn groups(groups: &[&str]) -> AdmissionPolicySpec {
    let groups = groups.iter().map(ToString::to_string).collect();
    AdmissionPolicySpec { external_groups: Some(groups), ..AdmissionPolicySpec::default() }
}

fn condition(plan: &Plan, name: &str, type_: &str) -> String {
    shown(find(&plan.policies[name].conditions, type_))
}

/// Returns the message of condition `Accepted`.
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
    let sets = "sets bypassAuth, externalUsers; warning QW4117: bypassAuth: every user can set";
    assert!(said(&settled.plan, "p").starts_with(sets), "{}", said(&settled.plan, "p"));
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

fn accepted(plan: &Plan, names: &[&str]) -> Vec<String> {
    names.iter().map(|name| condition(plan, name, "Accepted")).collect()
}

/// Returns type and note of the events about a change of policy.
fn changes(plan: &Plan) -> Vec<(bool, &str)> {
    let events = plan.events.iter().filter(|event| event.reason == "AdmissionPolicyChanged");
    events.map(|event| (event.warning, event.note.as_str())).collect()
}

/// A cluster with `a` in force, and with `b`, which is less strict, claims to be older, and was added later.
fn contested() -> Snapshot {
    let mut snapshot = cluster(BASE);
    snapshot.output = Some(map(YUNIKORN_CONFIGS, &[]));
    snapshot.policies = vec![policy("a", 9, bypass(false))];
    let mut snapshot = settled(&snapshot).snapshot;
    snapshot.policies.push(policy("b", 1, bypass(true)));
    snapshot
}

#[test]
fn the_policy_in_force_stays_whenever_it_was_created() {
    let settled = settled(&contested());
    assert_eq!(value(&settled.snapshot, BYPASS_AUTH), Some("false"));
    assert_eq!(accepted(&settled.plan, &["a", "b"]), ["True/Accepted", "False/Conflicted"]);
    let conflict = "AdmissionPolicy `a` is in force and goes on counting; merge this one into it, delete one of them, or name the \
                    one that counts in YuniKornConfig spec.admissionPolicy";
    assert_eq!(said(&settled.plan, "b"), conflict);
    assert_eq!(changes(&settled.plan), []);
    assert_at_rest(&settled);
}

#[test]
fn the_policy_in_force_is_found_without_status() {
    let forget: [fn(&mut Snapshot); 2] = [
        |snapshot| snapshot.config.as_mut().unwrap().in_force = None,
        |snapshot| {
            snapshot.config.as_mut().unwrap().in_force = None;
            snapshot.policies.iter_mut().for_each(|entry| entry.in_force = None);
        },
    ];
    for forget in forget {
        let mut snapshot = settled(&contested()).snapshot;
        forget(&mut snapshot);
        let settled = settled(&snapshot);
        assert_eq!(value(&settled.snapshot, BYPASS_AUTH), Some("false"));
        assert_eq!(accepted(&settled.plan, &["a", "b"]), ["True/Accepted", "False/Conflicted"]);
        assert_at_rest(&settled);
    }
}

#[test]
fn a_policy_that_is_named_takes_over_and_one_that_is_left_alone_does_with_a_warning() {
    let mut named = contested();
    spec(&mut named).admission_policy = Some("b".into());
    assert_eq!(changes(&plan(&named)), [(false, "AdmissionPolicy `b` counts instead of `a`")]);
    let named = settled(&named);
    assert_eq!(value(&named.snapshot, BYPASS_AUTH), Some("true"));
    assert_eq!(accepted(&named.plan, &["a", "b"]), ["False/Conflicted", "True/Accepted"]);
    assert_at_rest(&named);

    let mut alone = contested();
    alone.policies.remove(0);
    assert_eq!(changes(&plan(&alone)), [(true, "AdmissionPolicy `b` counts instead of `a`")]);
    alone.policies.clear();
    let none = "AdmissionPolicy `a`, which counted, does not exist any more, and no other one";
    assert_eq!(changes(&plan(&alone)), [(true, none)]);
    let none = settled(&alone);
    assert_eq!(value(&none.snapshot, BYPASS_AUTH), None);
    assert_at_rest(&none);
}

#[test]
fn of_several_new_policies_none_counts_until_one_is_named() {
    let mut snapshot = cluster(BASE);
    snapshot.policies = vec![policy("a", 1, bypass(false)), policy("b", 2, bypass(true))];
    let undecided = settled(&snapshot);
    assert_eq!(value(&undecided.snapshot, BYPASS_AUTH), None);
    assert_eq!(accepted(&undecided.plan, &["a", "b"]), ["False/Conflicted", "False/Conflicted"]);
    assert!(said(&undecided.plan, "a").contains("spec.admissionPolicy"));
    assert_eq!(config_condition(&undecided.plan, "Ready"), "True/NotVerified");
    assert_at_rest(&undecided);
    snapshot = undecided.snapshot;
    spec(&mut snapshot).admission_policy = Some("b".into());
    assert_eq!(value(&settled(&snapshot).snapshot, BYPASS_AUTH), Some("true"));
}

#[test]
fn while_the_named_policy_is_missing_the_keys_in_force_stay() {
    let missing = "there is no AdmissionPolicy `c`, which spec.admissionPolicy names; ";
    let mut snapshot = settled(&contested()).snapshot;
    spec(&mut snapshot).admission_policy = Some("c".into());
    let other = settled(&snapshot);
    assert_eq!(value(&other.snapshot, BYPASS_AUTH), Some("false"));
    assert_eq!(accepted(&other.plan, &["a", "b"]), ["True/Accepted", "False/Conflicted"]);
    assert_eq!(config_condition(&other.plan, "Applied"), "False/AdmissionPolicyMissing");
    assert!(config_message(&other.plan, "Applied").starts_with(missing));
    assert_at_rest(&other);
    for names in [&["b"][..], &[]] {
        let mut without = other.snapshot.clone();
        without.policies.retain(|entry| names.contains(&&*entry.meta.name));
        let without = settled(&without);
        assert_eq!(value(&without.snapshot, BYPASS_AUTH), Some("false"), "{names:?}");
        assert_eq!(config_condition(&without.plan, "Ready"), "False/AdmissionPolicyMissing");
        assert_eq!(accepted(&without.plan, names), vec!["False/Conflicted"; names.len()]);
        assert_eq!(changes(&without.plan), []);
        assert_at_rest(&without);
    }
}

#[test]
fn a_policy_that_is_deleted_and_created_again_counts_among_others() {
    let mut snapshot = contested();
    snapshot.policies.push(policy("c", 2, bypass(true)));
    let mut snapshot = settled(&snapshot).snapshot;
    snapshot.policies.remove(0);
    let mut between = settled(&snapshot).snapshot;
    assert_eq!(value(&between, BYPASS_AUTH), Some("false"));
    between.policies.push(policy("a", 99, bypass(false)));
    let again = settled(&between);
    assert_eq!(
        accepted(&again.plan, &["a", "b", "c"]),
        ["True/Accepted", "False/Conflicted", "False/Conflicted"]
    );
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
fn the_policy_that_counts_says_what_is_done_about_submissions() {
    use yunikorn_access::submission::Mode;
    let saying = |mode, users: &[&str]| AdmissionPolicySpec { submission: Some(mode), ..external(users) };
    let mut snapshot = cluster(BASE);
    assert_eq!(submission(&snapshot), Mode::Off);
    snapshot.policies =
        vec![policy("b", 5, saying(Mode::Audit, &["^a$"])), policy("a", 9, saying(Mode::Deny, &["^a$"]))];
    assert_eq!(submission(&snapshot), Mode::Off, "of two none counts until one is named");
    spec(&mut snapshot).admission_policy = Some("b".into());
    assert_eq!(submission(&snapshot), Mode::Audit);
    let mut kept = settled(&snapshot).snapshot;
    kept.policies[0].spec = Ok(saying(Mode::Deny, &["("]));
    assert_eq!(submission(&kept), Mode::Audit, "what is invalid keeps its last valid version");
    kept.policies.remove(0);
    spec(&mut kept).admission_policy = None;
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
    spec(&mut snapshot).admission_policy = None;
    let alone = AdmissionPolicySpec { submission: Some(Mode::Warn), ..AdmissionPolicySpec::default() };
    snapshot.policies = vec![policy("p", 1, alone)];
    let settled = settled(&snapshot);
    assert_eq!(condition(&settled.plan, "p", "Ready"), "True/NotVerified");
    assert_eq!(submission(&settled.snapshot), Mode::Warn);
    assert_eq!(said(&settled.plan, "p"), "sets no key of YuniKorn's, so every key stays as it is");
    assert_at_rest(&settled);
}

#[test]
fn the_policy_that_counts_says_what_is_done_about_user_info() {
    let enforce = Settings { mode: user_info::Mode::Enforce, ..Settings::default() };
    let saying = |settings: &Settings, users: &[&str]| AdmissionPolicySpec {
        user_info: Some(settings.clone()),
        ..external(users)
    };
    let mut snapshot = cluster(BASE);
    assert_eq!(user_info(&snapshot), Settings::default());
    snapshot.policies =
        vec![policy("b", 5, saying(&enforce, &["^a$"])), policy("a", 9, saying(&Settings::default(), &[]))];
    spec(&mut snapshot).admission_policy = Some("b".into());
    let mut kept = settled(&snapshot).snapshot;
    assert_eq!(user_info(&kept), enforce);
    kept.policies[0].spec = Ok(saying(&Settings::default(), &["("]));
    assert_eq!(user_info(&kept), enforce, "what is invalid keeps its last valid version");
    spec(&mut kept).mode = snapshot::Mode::Observe;
    assert_eq!(user_info(&kept), enforce, "to look at a change of queues opens nothing");
    // Alone it writes no key.
    spec(&mut snapshot).admission_policy = None;
    let alone = AdmissionPolicySpec { user_info: Some(enforce.clone()), ..AdmissionPolicySpec::default() };
    snapshot.policies = vec![policy("p", 1, alone)];
    let settled = settled(&snapshot);
    assert_eq!(condition(&settled.plan, "p", "Ready"), "True/NotVerified");
    assert_eq!(user_info(&settled.snapshot), enforce);
    assert_at_rest(&settled);
}

#[test]
fn accounts_that_are_trusted_with_what_others_write_are_said() {
    let spark = "^system:serviceaccount:spark-operator:controller$";
    let operators = vec!["system:serviceaccount:spark-operator:controller".to_owned()];
    let strict = Settings { mode: user_info::Mode::Enforce, operators, ..Settings::default() };
    let spec = |change: &dyn Fn(&mut AdmissionPolicySpec)| {
        let mut spec = external(&["^airflow$", spark]);
        spec.system_users = Some(vec!["^system:serviceaccount:kube-system:".into()]);
        change(&mut spec);
        spec
    };
    let all = [("systemUsers", Some(0), 4115), ("externalUsers", Some(1), 4114)];
    let trusting = |user_info| AdmissionPolicySpec {
        trust_controllers: Some(true),
        user_info,
        ..AdmissionPolicySpec::default()
    };
    let guarded_by = |settings: Settings| spec(&|spec| spec.user_info = Some(settings.clone()));
    for (spec, expected) in [
        (spec(&|_| ()), &all[..]),
        (spec(&|spec| spec.trust_controllers = Some(false)), &all[1..]),
        (spec(&|spec| spec.bypass_auth = Some(true)), &[("bypassAuth", None, 4117)]),
        (trusting(None), &[("trustControllers", None, 4119)]),
        (trusting(Some(Settings { operators: Vec::new(), ..strict.clone() })), &[]),
        (groups(&["^devs$", "^system:"]), &[("externalGroups", Some(1), 4118)]),
        (guarded_by(strict.clone()), &all[..1]),
        (guarded_by(Settings { mode: user_info::Mode::Audit, ..strict.clone() }), &all[..]),
        (guarded_by(Settings { profile: user_info::Profile::YuniKorn, ..strict.clone() }), &all[..]),
        (guarded_by(Settings { operators: vec!["spark".to_owned()], ..strict.clone() }), &all[..]),
        (guarded_by(Settings { operators: Vec::new(), ..strict.clone() }), &all[..]),
    ] {
        let found = trusts(&spec);
        let found: Vec<_> = found.iter().map(|it| (it.field, it.index, it.found.code.number)).collect();
        assert_eq!(found, expected, "{spec:?}");
    }
    let mut snapshot = cluster(BASE);
    snapshot.policies = vec![policy("p", 1, spec(&|_| ()))];
    let settled = settled(&snapshot);
    assert!(said(&settled.plan, "p").contains(&format!("externalUsers: the expression `{spark}` trusts")));
    assert_at_rest(&settled);
}

/// Returns the location, code and field of each finding about the settings in force.
fn risks_of(snapshot: &Snapshot) -> Vec<(String, u16, String)> {
    let found = risks(snapshot).into_iter().map(|(origin, found)| {
        let Origin::Object { kind, name, .. } = origin else { panic!("{origin:?}") };
        let field = found.message.split_once(": ").map(|(field, _)| field.to_owned()).unwrap();
        (format!("{kind}/{name}"), found.code.number, field)
    });
    found.collect()
}

#[test]
fn what_the_admission_controller_reads_has_the_findings_of_the_object_that_wrote_it() {
    let mut snapshot = cluster(BASE);
    assert_eq!(risks_of(&snapshot), []);
    let keys = [(BYPASS_AUTH, "T"), (EXTERNAL_USERS, " .*,("), (EXTERNAL_GROUPS, ".*, ^ok$ ,platform")];
    let defaults = Arc::make_mut(snapshot.defaults.as_mut().unwrap());
    defaults.data.extend(keys.map(|(key, text)| (key.to_owned(), text.to_owned())));
    let found = |kind: &str, code, field: &str| (kind.to_owned(), code, field.to_owned());
    let base = "ConfigMap/yunikorn-defaults";
    let groups = [found(base, 4107, "externalGroups"), found(base, 4106, "externalGroups")];
    let [all, platform] = groups.clone();
    let settings = admission_settings(&snapshot).into_iter().map(|(key, value, _)| (key, value));
    assert_eq!(
        settings.collect::<Vec<_>>(),
        [
            (BYPASS_AUTH, "T".to_owned()),
            (EXTERNAL_GROUPS, keys[2].1.to_owned()),
            (EXTERNAL_USERS, keys[1].1.to_owned())
        ]
    );
    // Unreadable values have their defaults.
    assert_eq!(risks_of(&snapshot), [all.clone(), platform.clone(), found(base, 4117, "bypassAuth")]);
    let (closed, open) =
        (bypass(false), AdmissionPolicySpec { trust_controllers: Some(true), ..bypass(true) });
    let policy_alone = |spec: AdmissionPolicySpec| {
        let mut snapshot = snapshot.clone();
        snapshot.policies = vec![policy("p", 1, spec)];
        settled(&snapshot).snapshot
    };
    assert_eq!(risks_of(&policy_alone(closed)), groups);
    let by_policy = found("AdmissionPolicy/p", 4117, "bypassAuth");
    assert_eq!(risks_of(&policy_alone(open)), [all, platform, by_policy]);
    let strict = Settings { mode: user_info::Mode::Enforce, ..Settings::default() };
    let guarded =
        AdmissionPolicySpec { trust_controllers: Some(true), user_info: Some(strict), ..bypass(false) };
    assert_eq!(risks_of(&policy_alone(guarded)), groups);
}

#[test]
fn pods_share_an_application_unless_each_has_one_of_its_own() {
    let deciding = AdmissionPolicySpec {
        submission: Some(yunikorn_access::submission::Mode::Warn),
        ..AdmissionPolicySpec::default()
    };
    let mut snapshot = cluster(BASE);
    for (text, shared) in [("false", true), ("no", true), ("T", false)] {
        snapshot.output = Some(owned_by(map(YUNIKORN_CONFIGS, &[(GENERATE_UNIQUE_APP_ID, text)]), "helm"));
        assert_eq!(shared_application(&snapshot, &deciding).is_some(), shared, "{text}");
    }
    let audit =
        AdmissionPolicySpec { submission: Some(yunikorn_access::submission::Mode::Audit), ..deciding };
    assert_eq!(shared_application(&cluster(BASE), &audit), None);
}
