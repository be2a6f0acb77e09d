//! Tests the answers to changes of the other kinds before they are stored.

use super::admit::quiet;
use super::delegation::{by, teams, who};
use super::*;
use crate::admit::{Change, Response, Review, Versions, admit};
use crate::snapshot::AccessTestEntry;
use go_compat::diag::{Code, Diagnostic};
use yunikorn::right::Right;
use yunikorn_access::{submission, user_info};

fn by_root(snapshot: &Snapshot, change: Change) -> Response {
    admit(snapshot, &Review { by: who("root", &[]), may_escalate: true, change, promised: Vec::new() })
}

#[test]
fn policies_say_which_keys_change() {
    let mut snapshot = cluster(BASE);
    quiet(&mut snapshot);
    let policy = |users: &str| {
        entry(
            "p",
            AdmissionPolicySpec {
                external_users: Some(vec![users.into()]),
                ..AdmissionPolicySpec::default()
            },
        )
    };
    let create = |snapshot: &Snapshot, new| {
        let change = Change::AdmissionPolicy(Box::new(Versions { old: None, new: Some(new) }));
        by_root(snapshot, change)
    };
    let answer = create(&snapshot, policy("^airflow$"));
    let set = "sets admissionController.accessControl.externalUsers to \"^airflow$\"";
    assert_eq!((answer.refusal, answer.warnings.last().unwrap().as_str()), (None, set));
    let bypassing = AdmissionPolicySpec { bypass_auth: Some(true), ..AdmissionPolicySpec::default() };
    let answer = create(&snapshot, entry("p", bypassing));
    assert!(answer.warnings[0].starts_with("QW4117: bypassAuth: every user can set"), "{answer:?}");
    let answer = create(&snapshot, policy("(airflow"));
    assert!(answer.refusal.is_some(), "{answer:?}");
    snapshot.policies = vec![policy("^a$")];
    snapshot.policies[0].meta.name = "first".into();
    quiet(&mut snapshot);
    let answer = create(&snapshot, policy("^b$"));
    let [conflict] = answer.warnings.as_slice() else { panic!("{answer:?}") };
    assert!(
        conflict.starts_with("Conflicted: AdmissionPolicy `first` is in force and goes on counting"),
        "{answer:?}"
    );
}

#[test]
fn keys_that_a_policy_leaves_as_they_were_are_not_said() {
    let mut snapshot = cluster(BASE);
    quiet(&mut snapshot);
    let policy = |trust_controllers| {
        let external_users = Some(vec!["^airflow$".into()]);
        entry(
            "p",
            AdmissionPolicySpec { trust_controllers, external_users, ..AdmissionPolicySpec::default() },
        )
    };
    snapshot.policies = vec![policy(None)];
    let warnings = |old, new| {
        let change = Change::AdmissionPolicy(Box::new(Versions { old: Some(old), new }));
        by_root(&snapshot, change).warnings
    };
    assert_eq!(warnings(policy(None), Some(policy(None))), Vec::<String>::new());
    assert_eq!(
        warnings(policy(None), Some(policy(Some(false)))),
        ["sets admissionController.accessControl.trustControllers to \"false\""]
    );
    assert_eq!(
        warnings(policy(None), None),
        [
            "no longer sets admissionController.accessControl.externalUsers, so YuniKorn's default or the value in another ConfigMap applies"
        ]
    );
}

#[test]
fn what_a_policy_does_at_the_endpoints_is_reported() {
    let mut snapshot = cluster(BASE);
    quiet(&mut snapshot);
    let policy = |submission, user_info| {
        let trust_controllers = Some(false);
        entry(
            "p",
            AdmissionPolicySpec {
                trust_controllers,
                submission,
                user_info,
                ..AdmissionPolicySpec::default()
            },
        )
    };
    let settings = |mode| Some(user_info::Settings { mode, ..user_info::Settings::default() });
    let submission = Some(submission::Mode::Deny);
    let full = policy(submission, settings(user_info::Mode::Enforce));
    snapshot.policies = vec![full.clone()];
    let warnings = |new: Option<crate::snapshot::PolicyEntry>| {
        let versions = Versions { old: Some(full.clone()), new };
        by_root(&snapshot, Change::AdmissionPolicy(Box::new(versions))).warnings
    };
    let shared = "QW4116: the pods of a namespace that name no application share one, with the user and the queue of the first of them; help: \
                  set admissionController.filtering.generateUniqueAppId to \"true\" in ConfigMap yunikorn-defaults";
    assert_eq!(
        warnings(Some(policy(None, settings(user_info::Mode::Enforce)))),
        [shared, "changes submission from Deny to Off"]
    );
    let user_info = "changes userInfo to mode Audit, profile Strict, templates: 0, operators: 0";
    assert_eq!(warnings(Some(policy(submission, settings(user_info::Mode::Audit)))), [shared, user_info]);
    let nothing_checked = warnings(Some(policy(None, settings(user_info::Mode::Audit))));
    assert_eq!(nothing_checked, ["changes submission from Deny to Off", user_info]);
    let gone = warnings(None);
    assert_eq!(gone.len(), 3, "{gone:?}");
    assert!(gone[0].starts_with("no longer sets "), "{gone:?}");
}

/// A cluster administrator changes the `YuniKornConfig`.
fn configured(snapshot: &Snapshot, new: Option<ConfigEntry>) -> Response {
    let versions = Versions { old: snapshot.config.clone(), new };
    let change = Change::YuniKornConfig(Box::new(versions));
    by_root(snapshot, change)
}

fn edited(snapshot: &Snapshot, edit: impl FnOnce(&mut ConfigSpec)) -> Option<ConfigEntry> {
    let mut new = snapshot.config.clone()?;
    edit(new.spec.as_mut().unwrap());
    Some(new)
}

#[test]
fn a_configuration_that_changes_says_what_that_does() {
    let sue = who("sue", &[]);
    let granted = vec![by(&sue, "d", "root.prod", Right::Submit, "ann")];
    let mut snapshot = teams(true, granted);
    quiet(&mut snapshot);
    let off = configured(&snapshot, edited(&snapshot, |spec| spec.delegation = false));
    let taken = "takes submit on root.prod and 3 queues below from user ann; nobody gains access";
    assert_eq!(off, Response { warnings: vec![taken.into()], ..Response::default() });
    let gone = configured(&snapshot, None);
    assert_eq!(gone.refusal, None);
    assert!(gone.warnings[0].starts_with("nothing is managed any more"), "{gone:?}");

    // Changes to metadata such as labels cause no warnings, even if the configuration has problems.
    let labelled = |snapshot: &Snapshot| {
        let mut new = snapshot.config.clone().unwrap();
        new.meta.generation += 1;
        configured(snapshot, Some(new))
    };
    assert_eq!(labelled(&snapshot), Response::default());
    let mut observed = snapshot.clone();
    spec(&mut observed).mode = Mode::Observe;
    assert_eq!(labelled(&observed), Response::default());
}

#[test]
fn a_configuration_that_names_another_policy_says_what_that_does() {
    let mut snapshot = cluster(BASE);
    let policy = |name: &str, value| {
        entry(name, AdmissionPolicySpec { bypass_auth: Some(value), ..AdmissionPolicySpec::default() })
    };
    snapshot.policies = vec![policy("a", false)];
    quiet(&mut snapshot);
    snapshot.policies.push(policy("b", true));
    quiet(&mut snapshot);
    let named = |name: &str| {
        configured(&snapshot, edited(&snapshot, |spec| spec.admission_policy = Some(name.into()))).warnings
    };
    let set = "sets admissionController.accessControl.bypassAuth to \"true\"";
    assert_eq!(named("b")[1..], ["AdmissionPolicy `b` takes effect instead of `a`", set]);
    let missing = named("c");
    assert!(missing[1].starts_with("AdmissionPolicyMissing: there is no AdmissionPolicy `c`"), "{missing:?}");
}

#[test]
fn a_configuration_says_nothing_of_queues_that_have_not_been_read() {
    // Before there is a configuration, it is not known which ConfigMaps to read.
    let queue_acls = vec![submit("a", "root.test", "bob")];
    let snapshot = Snapshot { queue_acls, ..Snapshot::empty(now()) };
    assert_eq!(configured(&snapshot, cluster(BASE).config), Response::default());

    let mut snapshot = cluster(BASE);
    quiet(&mut snapshot);
    let elsewhere: [fn(&mut ConfigSpec); 3] = [
        |spec| spec.base_config_map = "acme-queues".into(),
        |spec| spec.output_config_map = "acme-out".into(),
        |spec| spec.namespace = "acme".into(),
    ];
    for edit in elsewhere {
        assert_eq!(configured(&snapshot, edited(&snapshot, edit)), Response::default());
        // The same applies while the existing one is unreadable or absent.
        let new = edited(&snapshot, edit);
        let mut unreadable = Snapshot { defaults: None, base: None, output: None, ..snapshot.clone() };
        unreadable.config.as_mut().unwrap().spec = Err(Vec::new());
        assert_eq!(configured(&unreadable, new.clone()), Response::default());
        unreadable.config = None;
        assert_eq!(configured(&unreadable, new), Response::default());
    }
}

#[test]
fn a_configuration_is_repaired_without_a_word_about_queues() {
    let mut snapshot = cluster(BASE);
    quiet(&mut snapshot);
    let good = snapshot.config.clone();
    snapshot.config.as_mut().unwrap().spec = Err(Vec::new());
    assert_eq!(configured(&snapshot, good), Response::default());
}

#[test]
fn what_stands_against_a_configuration_comes_after_what_it_does() {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("a", "root.test", "bob")];
    quiet(&mut snapshot);
    let new = edited(&snapshot, |spec| spec.base_key = Some("absent.yaml".into()));
    let warnings = configured(&snapshot, new).warnings;
    assert_eq!(warnings[0], "nobody gains or loses access");
    assert!(warnings[1].starts_with("YuniKornConfig/default is BaseNotFound: "), "{warnings:?}");
}

#[test]
fn what_became_invalid_can_still_be_labelled() {
    fn same<T: Clone>(object: T) -> Versions<T> {
        Versions { old: Some(object.clone()), new: Some(object) }
    }
    let faults = || vec![Diagnostic::error(Code::new(5101, "x"), "spec: wrong")];
    let snapshot = cluster(BASE);
    let mut config = snapshot.config.clone().unwrap();
    config.spec = Err(faults());
    let mut policy = entry("p", AdmissionPolicySpec::default());
    policy.spec = Err(faults());
    let mut test: AccessTestEntry = entry("t", AccessTestSpec::default());
    test.spec = Err(faults());
    for change in [
        Change::YuniKornConfig(Box::new(same(config))),
        Change::AdmissionPolicy(Box::new(same(policy))),
        Change::QueueAccessTest(Box::new(same(test))),
    ] {
        assert_eq!(by_root(&snapshot, change.clone()), Response::default(), "{change:?}");
    }
    // This one can be decoded, and breaks a rule.
    let wrong = AdmissionPolicySpec {
        external_users: Some(vec!["(airflow".into()]),
        ..AdmissionPolicySpec::default()
    };
    let change = Change::AdmissionPolicy(Box::new(same(entry("p", wrong))));
    assert_eq!(by_root(&snapshot, change), Response::default());
}

#[test]
fn a_configuration_that_cannot_be_read_is_refused() {
    let snapshot = cluster(BASE);
    let mut new = snapshot.config.clone().unwrap();
    new.spec = Err(vec![Diagnostic::error(Code::new(5101, "x"), "spec.namespace: missing")]);
    let answer = configured(&snapshot, Some(new));
    assert!(answer.refusal.is_some_and(|why| why.contains("spec.namespace: missing")));
}
