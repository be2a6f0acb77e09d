//! Tests grants of names that only an alias can hold.

use super::*;
use yunikorn_access::alias::{Kind, alias};
use yunikorn_access::user_info;

const DRIVER: &str = "system:serviceaccount:spark:driver";

/// A change of an object.
type Edit = fn(&mut QueueAclSpec);
/// A change of a cluster, and the reason that it causes.
type Change = (fn(&mut Snapshot), &'static str);

/// A cluster whose user-info webhook writes aliases.
fn guarded(base: &str) -> Snapshot {
    let settings = user_info::Settings { mode: user_info::Mode::Enforce, ..user_info::Settings::default() };
    let spec = AdmissionPolicySpec { user_info: Some(settings), ..AdmissionPolicySpec::default() };
    let mut snapshot = Snapshot { policies: vec![entry("p", spec)], ..cluster(base) };
    snapshot.observed.identity_webhook = Some(Ok(()));
    snapshot
}

fn lists(users: &[&str], groups: &[&str]) -> Arc<QueueAclEntry> {
    let own = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    let grant = Grant::Lists { users: own(users), groups: own(groups) };
    with(submit("a", "root.prod", ""), |spec| spec.submit = Some(grant))
}

#[test]
fn names_that_an_acl_cannot_hold_are_rendered_by_their_aliases() {
    let mut snapshot = guarded(BASE);
    snapshot.queue_acls = vec![lists(&["ann", DRIVER], &["devs", "team.a@corp"])];
    let settled = settled(&snapshot);
    let [driver, team] = [alias(Kind::User, DRIVER), alias(Kind::Group, "team.a@corp")];
    assert_eq!(submit_of(&settled.snapshot, "root.prod"), format!("ann devs,{team},{driver}"));
    assert_eq!(acl_condition(&settled.plan, "a", "Ready"), "True/NotVerified");
    let shown = format!("users ann, {DRIVER} and groups devs, team.a@corp");
    assert_eq!(settled.plan.queue_acls["a"].rest.submit, shown);
    assert!(acl_message(&settled.plan, "a", "Accepted").contains(&shown));
    assert_at_rest(&settled);
}

#[test]
fn while_no_webhook_writes_aliases_none_is_rendered_and_the_object_is_not_ready() {
    let mut snapshot = guarded(BASE);
    snapshot.queue_acls = vec![lists(&["ann", DRIVER], &[])];
    let granted = settled(&snapshot).snapshot;
    assert!(submit_of(&granted, "root.prod").contains("qw-u-"));
    let changes: [Change; 2] = [
        (|snapshot| snapshot.observed.identity_webhook = Some(Err("install it".to_owned())), "install it"),
        (|snapshot| snapshot.policies.clear(), "it also needs an AdmissionPolicy in force"),
    ];
    for (change, why) in changes {
        let mut without = granted.clone();
        change(&mut without);
        let settled = settled(&without);
        assert_eq!(submit_of(&settled.snapshot, "root.prod"), "ann", "{why}");
        assert_eq!(acl_condition(&settled.plan, "a", "Programmed"), "True/Programmed");
        for condition in ["Effective", "Ready"] {
            assert_eq!(acl_condition(&settled.plan, "a", condition), "False/IdentityWebhookMissing");
        }
        let message = acl_message(&settled.plan, "a", "Effective");
        assert!(message.contains(&format!("user {DRIVER}")) && message.contains(why), "{message}");
        assert_at_rest(&settled);
    }
}

/// The group of the tests below.
const TEAM: &str = "data.eng";

/// A cluster without aliases, with this object `a`.
fn lacking(object: Arc<QueueAclEntry>) -> Snapshot {
    Snapshot { queue_acls: vec![object], ..cluster(BASE) }
}

/// Takes the aliases away.
fn without_aliases(mut granted: Snapshot) -> Snapshot {
    granted.observed.identity_webhook = Some(Err("it is gone".to_owned()));
    granted
}

#[test]
fn an_object_of_names_that_cannot_be_written_takes_access_from_nobody() {
    let suspended = |object| with(object, |spec| spec.suspend = true);
    let extends = |object| with(object, |spec| spec.base_acl = BaseAcl::Extend);
    let planned = |object| {
        with(extends(object), |spec| spec.not_before = Some("2026-07-01T00:00:00Z".parse().unwrap()))
    };
    let both = with(lists(&[], &[TEAM]), |spec| spec.admin.clone_from(&spec.submit));
    let team = lists(&[], &[TEAM]);
    for object in [team.clone(), both, suspended(team.clone()), extends(team.clone()), planned(team)] {
        let settled = settled(&lacking(object.clone()));
        assert_eq!(submit_of(&settled.snapshot, "root.prod"), "sue dev", "{object:?}");
        for condition in ["Accepted", "Programmed", "Effective", "Ready"] {
            assert_eq!(acl_condition(&settled.plan, "a", condition), "False/IdentityWebhookMissing");
        }
        let (config, status) = (&settled.snapshot.queue_acls[0], &settled.plan.queue_acls["a"]);
        assert_eq!((&config.in_force, &status.rest.in_force), (&None, &None));
        assert_at_rest(&settled);
    }
}

#[test]
fn what_yunikorn_drops_is_named_with_the_command() {
    let command = "install the user-info webhook: kubectl apply -k manifests/user-info (it also needs an AdmissionPolicy in force with spec.userInfo.mode: Enforce and profile: strict)";
    let users = |users: &[&str], groups: &[&str]| {
        let settled = settled(&lacking(lists(users, groups)));
        acl_message(&settled.plan, "a", "Ready").to_owned()
    };
    assert_eq!(
        users(&[], &[TEAM]),
        format!("group data.eng has a dot, which YuniKorn drops. Rename it, or {command}")
    );
    assert_eq!(
        users(&[DRIVER], &[]),
        format!(
            "user {DRIVER} has a colon, which YuniKorn drops. {}",
            command.replacen("install", "Install", 1)
        )
    );
    assert_eq!(
        users(&["CN=Ann"], &[TEAM, "1a"]),
        format!(
            "user CN=Ann has an equals sign, group 1a begins with `1`, group data.eng has a dot; YuniKorn drops such names. Rename them, or {command}"
        )
    );
    assert_eq!(
        users(&["ann"], &[TEAM]),
        format!("group data.eng has a dot, which YuniKorn drops. Rename it, or {command}"),
        "names that can be written are granted"
    );
    let many: Vec<String> = (0..8).map(|number| format!("a.{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(users(&[], &many).contains("group a.4 has a dot, and 3 more; YuniKorn drops such names"));
}

#[test]
fn once_in_force_the_base_stays_replaced_while_no_alias_is_written() {
    let mut snapshot = guarded(BASE);
    snapshot.queue_acls = vec![lists(&[], &[TEAM])];
    let granted = settled(&snapshot).snapshot;
    assert_eq!(submit_of(&granted, "root.prod"), format!(" {}", alias(Kind::Group, TEAM)));
    let lost = settled(&without_aliases(granted));
    assert_eq!(submit_of(&lost.snapshot, "root.prod"), " ");
    assert_eq!(acl_condition(&lost.plan, "a", "Accepted"), "True/Accepted");
    assert_eq!(acl_condition(&lost.plan, "a", "Ready"), "False/IdentityWebhookMissing");
    assert_at_rest(&lost);
    // This does not change while the operator writes for other reasons, or after it was suspended and
    // resumed.
    let mut suspended = lost.snapshot;
    spec_of(&mut suspended.queue_acls[0]).suspend = true;
    let mut resumed = settled(&suspended).snapshot;
    assert_eq!(submit_of(&resumed, "root.prod"), " ");
    spec_of(&mut resumed.queue_acls[0]).suspend = false;
    assert_eq!(submit_of(&settled(&resumed).snapshot, "root.prod"), " ");
}

#[test]
fn what_was_in_force_before_an_edit_decides_whether_the_base_stays_replaced() {
    let cases: [(&str, Edit, &str); 4] = [
        ("the same queue, replaced", |_| (), " "),
        ("another queue", |spec| spec.queue = "root.test".into(), "sue dev"),
        ("the base was kept", |spec| spec.base_acl = BaseAcl::Extend, "sue dev"),
        (
            "another right",
            |spec| {
                spec.admin = spec.submit.take();
            },
            "sue dev",
        ),
    ];
    for (case, before, submit) in cases {
        let first = with(lists(&["ann"], &[]), before);
        let mut snapshot = settled(&lacking(first)).snapshot;
        snapshot.queue_acls[0] = {
            let in_force = snapshot.queue_acls[0].in_force.clone();
            let mut edited = lists(&[], &[TEAM]);
            Arc::make_mut(&mut edited).in_force = in_force;
            edited
        };
        let settled = settled(&snapshot);
        assert_eq!(submit_of(&settled.snapshot, "root.prod"), submit, "{case}");
        let accepted = if submit == " " { "True/Accepted" } else { "False/IdentityWebhookMissing" };
        assert_eq!(acl_condition(&settled.plan, "a", "Accepted"), accepted, "{case}");
    }
}

#[test]
fn each_right_is_left_alone_by_itself() {
    let admin = Grant::Lists { users: vec!["ann".into()], groups: Vec::new() };
    let object = with(lists(&[], &[TEAM]), |spec| spec.admin = Some(admin));
    let settled = settled(&lacking(object));
    assert_eq!(submit_of(&settled.snapshot, "root.prod"), "sue dev");
    assert_eq!(acl_condition(&settled.plan, "a", "Accepted"), "True/Accepted");
    assert_eq!(acl_condition(&settled.plan, "a", "Effective"), "False/IdentityWebhookMissing");
    assert!(acl_message(&settled.plan, "a", "Accepted").starts_with("grants admin to user ann on"));
    assert_at_rest(&settled);
}

#[test]
fn aliases_are_nobodys_names() {
    let forged = alias(Kind::User, DRIVER);
    let mut snapshot = guarded(BASE);
    snapshot.queue_acls = vec![lists(&[], &[&forged]), submit("b", "root.prod", &format!(" {forged}"))];
    let settled = settled(&snapshot);
    for name in ["a", "b"] {
        assert_eq!(acl_condition(&settled.plan, name, "Accepted"), "False/Invalid");
        assert!(acl_message(&settled.plan, name, "Accepted").contains("QW6501"));
    }
    let settled = super::settled(&guarded(&BASE.replace("sue dev", &format!("sue {forged}"))));
    assert_eq!(config_condition(&settled.plan, "BaseResolved"), "False/BaseInvalid");
}
