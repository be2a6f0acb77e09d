//! Makes the plan while there is no usable `YuniKornConfig`: nothing is written, and every status reports
//! why.

use super::conditions::{self, Finding, Reason, Status, Type, current};
use super::snapshot::{Meta, Snapshot};
use super::{
    AdmissionPolicyStatus, ConfigStatus, ObjectStatus, Plan, QueueAclStatus, access_tests, policy, report,
    resolve,
};

/// Reports in every status why there is none.
pub(super) fn plan(snapshot: &Snapshot) -> Plan {
    let why: &str = match snapshot.config.as_ref().map(|config| &config.spec) {
        Some(Err(diagnostics)) => &resolve::joined(diagnostics),
        _ => "there is no YuniKornConfig named `default`",
    };
    let queue_acls = snapshot.queue_acls.iter().map(|entry| {
        let findings = findings(resolve::content(entry), why);
        let (submit, admin) = report::queue_acl::own_columns(entry, snapshot.now);
        let rest = QueueAclStatus { submit, admin, in_force: entry.in_force.clone() };
        (entry.meta.name.clone(), ObjectStatus::new(&entry.meta, &findings, rest, snapshot.now))
    });
    let resolved = policy::resolve(snapshot).objects;
    let policies = snapshot.policies.iter().zip(resolved).map(|(entry, policy)| {
        let findings = findings(policy.outcome.err(), why);
        let rest = AdmissionPolicyStatus { in_force: entry.in_force.clone() };
        (entry.meta.name.clone(), ObjectStatus::new(&entry.meta, &findings, rest, snapshot.now))
    });
    Plan {
        queue_acls: queue_acls.collect(),
        policies: policies.collect(),
        access_tests: access_tests::statuses(snapshot, Err(why), &mut Vec::new()),
        config: snapshot.config.as_ref().map(|entry| {
            let findings = config_findings(&entry.meta, why);
            ObjectStatus::new(&entry.meta, &findings, remembered(snapshot), snapshot.now)
        }),
        ..Plan::default()
    }
}

/// Returns the conditions of an object without a configuration.
fn findings(refusal: Option<resolve::Refusal>, why: &str) -> Vec<Finding> {
    let mut findings = vec![match refusal {
        Some(refusal) => Finding::no(Type::Accepted, refusal.reason, refusal.message),
        None => Finding::unknown(Type::Accepted, Reason::ConfigNotReady, why),
    }];
    let rest = [Type::Programmed, Type::Effective];
    findings.extend(rest.map(|type_| Finding::unknown(type_, Reason::ConfigNotReady, why)));
    let ready = Finding::ready(&findings, "");
    findings.push(ready);
    findings
}

/// Returns the conditions of the configuration itself. It keeps the condition that there is a mirror, because
/// the mirror has to be removed some day, and that a root is open, because nothing checks that now.
fn config_findings(meta: &Meta, why: &str) -> Vec<Finding> {
    let unknown = |type_| Finding::unknown(type_, Reason::Invalid, why);
    let mirrored = conditions::find(&meta.conditions, Type::Mirrored)
        .map(|_| Finding::unknown(Type::Mirrored, Reason::ConfigNotReady, "the RBAC mirror stays as it is"));
    let open = current(&meta.conditions, Type::FailOpen).filter(|was| was.status == Status::True);
    let open = open.unwrap_or_else(|| unknown(Type::FailOpen));
    let ready = Finding::no(Type::Ready, Reason::Invalid, why);
    let chain = [Type::BaseResolved, Type::Applied, Type::Loaded].map(unknown);
    chain.into_iter().chain(mirrored).chain([open, ready]).collect()
}

/// Returns the status with its previous content.
fn remembered(snapshot: &Snapshot) -> ConfigStatus {
    let status = snapshot.config_status().cloned().unwrap_or_default();
    ConfigStatus {
        loaded_hash: snapshot.loaded_hash().cloned(),
        output: status.output.filter(|output| !output.uid.is_empty()),
        ..status
    }
}
