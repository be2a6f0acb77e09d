//! `AdmissionPolicy` objects: which one decides, and what it writes into `admissionController.accessControl.*`.
//!
//! Single values cannot be joined as ACLs can, so one object wins: the oldest, then the first by name. The others are told.

use std::collections::BTreeMap;

use super::conditions::Reason;
use super::resolve::Refusal;
use super::snapshot::{self, AdmissionPolicySpec, Entry, Snapshot};
use crate::access::guard;
use crate::access::submission::Mode;
use crate::model::admission;
use crate::text::diag::Diagnostic;

/// The keys of one policy with their texts.
pub(super) type Keys = BTreeMap<&'static str, String>;

/// What is done about workloads that `YuniKorn` would reject: what the policy says that decides, or its last valid version. While the
/// `YuniKornConfig` only observes, nothing is enforced: nobody is refused, and who would be is told.
pub fn submission(snapshot: &Snapshot) -> Mode {
    let said = in_force(snapshot).and_then(|policy| policy.submission).unwrap_or_default();
    if observes(snapshot) { said.min(Mode::Warn) } else { said }
}

/// What is done about `user.info`, by the same policy; whether the `YuniKornConfig` only observes does not matter, since to look at a
/// change of queues must not open the way into other people's names.
pub fn user_info(snapshot: &Snapshot) -> guard::Settings {
    in_force(snapshot).and_then(|policy| policy.user_info.clone()).unwrap_or_default()
}

/// What the policy says that decides, or its last valid version.
pub(super) fn in_force(snapshot: &Snapshot) -> Option<&AdmissionPolicySpec> {
    let entries = &snapshot.policies;
    let decides = entries.iter().zip(resolve(entries)).find(|(_, policy)| policy.keys().is_some());
    decides.and_then(|(entry, policy)| match (&policy.outcome, &entry.spec) {
        (Ok(_), Ok(spec)) => Some(spec),
        _ => entry.in_force.as_ref(),
    })
}

fn observes(snapshot: &Snapshot) -> bool {
    let config = snapshot.config.as_ref().and_then(|config| config.spec.as_ref().ok());
    config.is_some_and(|spec| spec.mode == snapshot::Mode::Observe)
}

/// What became of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResolvedPolicy {
    /// `metadata.name`
    pub name: String,
    /// The keys it wants, or why it is refused.
    pub outcome: Result<Keys, Refusal>,
    /// The keys of its last valid version, which stay because the object is invalid now and decides.
    pub kept: Option<Keys>,
    /// What there is to say about an accepted object.
    pub warnings: Vec<Diagnostic>,
}

impl ResolvedPolicy {
    /// What it puts into the plan.
    pub(super) fn keys(&self) -> Option<&Keys> {
        self.outcome.as_ref().ok().or(self.kept.as_ref())
    }
}

/// Resolves all policies; the result is in the order of `entries`.
pub(super) fn resolve(entries: &[Entry<AdmissionPolicySpec, AdmissionPolicySpec>]) -> Vec<ResolvedPolicy> {
    let mut resolved: Vec<_> = entries.iter().map(alone).collect();
    let winner = (0..entries.len())
        .filter(|index| resolved.get(*index).is_some_and(|r| r.keys().is_some()))
        .min_by_key(|index| {
            entries.get(*index).map(|e| (e.meta.created.is_none(), e.meta.created, &e.meta.name))
        });
    let Some(winner) = winner else { return resolved };
    let name = entries.get(winner).map(|e| e.meta.name.clone()).unwrap_or_default();
    for (index, policy) in resolved.iter_mut().enumerate() {
        if index == winner {
            continue;
        }
        policy.kept = None;
        if policy.outcome.is_ok() {
            let message = format!(
                "AdmissionPolicy `{name}` is older and decides; merge this one into it, or delete one of them"
            );
            policy.outcome = Err(Refusal { reason: Reason::Conflicted, message });
        }
    }
    resolved
}

fn alone(entry: &Entry<AdmissionPolicySpec, AdmissionPolicySpec>) -> ResolvedPolicy {
    let mut warnings = Vec::new();
    let outcome = match &entry.spec {
        Err(diagnostics) => Err(diagnostics.clone()),
        Ok(spec) => keys(spec).map(|(keys, found)| {
            warnings = found;
            keys
        }),
    };
    let kept = match &outcome {
        Err(_) => former(entry.in_force.as_ref()),
        Ok(_) => None,
    };
    let outcome = outcome.map_err(|diagnostics| {
        let texts: Vec<_> = diagnostics.iter().map(ToString::to_string).collect();
        Refusal { reason: Reason::Invalid, message: texts.join("; ") }
    });
    ResolvedPolicy { name: entry.meta.name.clone(), outcome, kept, warnings }
}

/// The keys of the version that a status remembers.
pub(super) fn former(before: Option<&AdmissionPolicySpec>) -> Option<Keys> {
    before.and_then(|old| keys(old).ok()).map(|(keys, _)| keys)
}

/// The keys that a spec sets, and the warnings about them; all errors when there is one.
fn keys(spec: &AdmissionPolicySpec) -> Result<(Keys, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut keys = Keys::new();
    let mut errors = Vec::new();
    let mut warnings = Vec::new();
    let flags =
        [(admission::BYPASS_AUTH, spec.bypass_auth), (admission::TRUST_CONTROLLERS, spec.trust_controllers)];
    for (key, value) in flags {
        if let Some(value) = value {
            keys.insert(key, value.to_string());
        }
    }
    let lists = [
        ("systemUsers", admission::SYSTEM_USERS, &spec.system_users),
        ("externalUsers", admission::EXTERNAL_USERS, &spec.external_users),
        ("externalGroups", admission::EXTERNAL_GROUPS, &spec.external_groups),
    ];
    for (field, key, list) in lists {
        let Some(list) = list else { continue };
        let (text, found) = admission::render_list(list);
        for mut diagnostic in found {
            diagnostic.message = format!("{field}: {}", diagnostic.message);
            if diagnostic.is_error() { errors.push(diagnostic) } else { warnings.push(diagnostic) }
        }
        if let Some(text) = text {
            keys.insert(key, text);
        }
    }
    if errors.is_empty() { Ok((keys, warnings)) } else { Err(errors) }
}
