//! Tests grants of names that only an alias can hold.

use super::*;
use yunikorn_access::alias::{Kind, alias};
use yunikorn_access::user_info;

const DRIVER: &str = "system:serviceaccount:spark:driver";

/// A change of a cluster, and the reason that is reported then.
type Change = (fn(&mut Snapshot), &'static str);

/// A cluster in which the user-info webhook writes aliases.
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
        (|snapshot| snapshot.policies.clear(), "no AdmissionPolicy in force sets spec.userInfo"),
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
