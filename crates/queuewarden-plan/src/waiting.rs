//! Makes the plan while there is no usable `YuniKornConfig`: nothing is written, and every status reports
//! why.

use crate::access_tests;
use crate::conditions::{self, Finding, Reason, Status, Type, current};
use crate::grants::{joined, policy, resolve};
use crate::plan::Plan;
use crate::snapshot::{ConfigStatus, Meta, Snapshot};
use crate::status::{self, AdmissionPolicyStatus, ObjectStatus, Report};

/// Reports in every status why there is none.
pub(crate) fn plan(snapshot: &Snapshot) -> Plan {
    let why: &str = match snapshot.config.as_ref().map(|config| &config.spec) {
        Some(Err(diagnostics)) => &joined(diagnostics),
        _ => "there is no YuniKornConfig named `default`",
    };
    let aliased = snapshot.aliased();
    let queue_acls = snapshot.queue_acls.iter().map(|entry| {
        let object = resolve::without_queues(entry, why);
        let Report { findings, status, .. } = status::queue_acl::waiting(&object, why, &aliased);
        (entry.meta.name.clone(), ObjectStatus::new(&entry.meta, &findings, status, snapshot.now))
    });
    let resolved = policy::resolve(snapshot).objects;
    let policies = snapshot.policies.iter().zip(resolved).map(|(entry, policy)| {
        let findings = status::waiting_conditions(policy.outcome.as_ref().err(), why);
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
