//! Conditions and status of an `AdmissionPolicy`.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conditions::{Finding, Reason, Status, Type};
use crate::effective::{KeyClaim, ReadState};
use crate::grants::{Keys, ResolvedPolicy, field_of, former};
use crate::snapshot::{AdmissionPolicySpec, PolicyEntry, ResourceKind, YUNIKORN_CONFIGS};
use crate::status::{Event, ObjectStatus, OutputTarget, target, transitions, with_warnings};
use crate::write::Evaluation;
use yunikorn::admission;

/// The rest of an `AdmissionPolicy`'s status.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdmissionPolicyStatus {
    /// The last version of this object that went into the ConfigMap. It stays in force while the object is
    /// Invalid. Absent when nothing of this object is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_force: Option<AdmissionPolicySpec>,
}

/// Returns the status of every `AdmissionPolicy`.
pub(crate) fn statuses(
    evaluation: &Evaluation<'_>,
    events: &mut Vec<Event>,
) -> BTreeMap<Arc<str>, ObjectStatus<AdmissionPolicyStatus>> {
    let ReadState { snapshot, spec, .. } = &evaluation.context.read;
    let policies = &evaluation.context.resolved.policies;
    let name = spec.output_name();
    let unset = unset_keys(evaluation);
    let target = target(evaluation, &name);
    let objects = snapshot.policies.iter().zip(&policies.objects);
    objects
        .map(|(entry, object)| {
            let meta = &entry.meta;
            let (findings, in_force) = report(object, entry, &target, &unset);
            let about = ResourceKind::AdmissionPolicy.object(meta.name.clone());
            events.extend(transitions(&about, &meta.conditions, &findings));
            let rest = AdmissionPolicyStatus { in_force };
            (meta.name.clone(), ObjectStatus::new(meta, &findings, rest, snapshot.now))
        })
        .collect()
}

/// Our keys in the output that no policy sets any more.
fn unset_keys(evaluation: &Evaluation<'_>) -> Vec<&'static str> {
    let set = evaluation.context.resolved.policies.keys.as_ref();
    let unset = admission::KEYS.iter().filter(|key| set.is_none_or(|set| !set.contains_key(*key)));
    unset.copied().filter(|key| evaluation.context.read.snapshot.claim(key) == KeyClaim::Ours).collect()
}

/// Reports one object: returns its conditions, and what its status should remember.
pub(crate) fn report(
    object: &ResolvedPolicy,
    entry: &PolicyEntry,
    target: &OutputTarget<'_>,
    unset: &[&'static str],
) -> (Vec<Finding>, Option<AdmissionPolicySpec>) {
    let former = former(entry.in_force.as_ref());
    let left: Vec<_> =
        unset.iter().filter(|key| former.as_ref().is_some_and(|it| it.contains_key(*key))).collect();
    let programmed = match (object.keys(), &object.outcome) {
        _ if !left.is_empty() => withdrawn(&left, target),
        (Some(keys), outcome) => programmed(keys, outcome.is_ok(), target),
        (None, Err(refusal)) => Finding::no(Type::Programmed, refusal.reason, nothing(target)),
        (None, Ok(_)) => Finding::no(Type::Programmed, Reason::Pending, nothing(target)),
    };
    let effective = match &object.outcome {
        Err(refusal) if object.last_valid.is_none() => {
            Finding::no(Type::Effective, refusal.reason, nothing(target))
        }
        _ => effective(target),
    };
    let in_force = match (&object.outcome, programmed.status) {
        (Ok(_), Status::True) => entry.spec.as_ref().ok().cloned(),
        _ if object.keys().is_some() || !left.is_empty() => entry.in_force.clone(),
        _ => None,
    };
    let pending = (!left.is_empty()).then(|| Finding { type_: Type::Ready, ..programmed.clone() });
    let chain = [accepted(object), programmed, effective];
    let ready = pending.unwrap_or_else(|| Finding::summary(&chain, || target.ready()));
    (chain.into_iter().chain([ready]).collect(), in_force)
}

fn nothing(target: &OutputTarget<'_>) -> String {
    format!("nothing of it is in {}", target.output)
}

/// Condition `Programmed` while `left` is still in the output.
fn withdrawn(left: &[&&'static str], target: &OutputTarget<'_>) -> Finding {
    let keys: Vec<_> = left.iter().map(|key| format!("`{key}`")).collect();
    let message = format!(
        "it no longer sets {}, still in {}, because {}",
        keys.join(", "),
        target.output,
        target.why()
    );
    Finding::no(Type::Programmed, Reason::WithdrawalPending, message)
}

/// Condition `Programmed` of the object that decides: `YuniKorn` must read each of its keys as it is meant.
fn programmed(keys: &Keys, valid: bool, target: &OutputTarget<'_>) -> Finding {
    let flat = &target.context.read.env.flat;
    let mut wrong = keys.iter().filter(|(key, value)| {
        flat.get(key).is_none_or(|setting| setting.text != **value || flat.is_ambiguous(key))
    });
    let Some((key, _)) = wrong.next() else {
        return super::programmed(target.output, valid);
    };
    let packed = flat.get(key).map(|setting| &setting.origin).filter(|origin| origin.binary);
    let Some(packed) = packed else { return target.not_programmed() };
    let message = format!("a binaryData key `{}` hides key `{key}` from YuniKorn; remove it", packed.key);
    Finding::no(Type::Programmed, Reason::ShadowedByBinaryData, message)
}

/// Condition `Effective`: whether `YuniKorn`'s admission controller follows the keys.
fn effective(target: &OutputTarget<'_>) -> Finding {
    if target.context.read.spec.output_config_map != YUNIKORN_CONFIGS {
        let message = format!(
            "YuniKorn does not read ConfigMap `{}`, which spec.output names",
            target.context.read.spec.output_config_map
        );
        return Finding::no(Type::Effective, Reason::NotRead, message);
    }
    if !target.context.read.env.flat.hot_refresh() {
        let message = "`service.enableConfigHotRefresh` is off, so YuniKorn's admission controller reads the keys only when it \
                       starts; set it to \"true\" and restart the admission controller";
        return Finding::unknown(Type::Effective, Reason::HotRefreshDisabled, message);
    }
    Finding::yes(
        Type::Effective,
        Reason::Effective,
        "YuniKorn's admission controller reads these keys as they change; it does not report what it read",
    )
}

fn accepted(object: &ResolvedPolicy) -> Finding {
    match &object.outcome {
        Err(refusal) => Finding::no(Type::Accepted, refusal.reason, refusal.message.clone()),
        Ok(keys) if keys.is_empty() => Finding::yes(
            Type::Accepted,
            Reason::Accepted,
            "sets no key of YuniKorn's, so every key stays as it is",
        ),
        Ok(keys) => {
            let names: Vec<&str> = keys.keys().map(|key| field_of(key)).collect();
            let message = format!("sets {}", names.join(", "));
            Finding::yes(Type::Accepted, Reason::Accepted, with_warnings(message, &object.warnings))
        }
    }
}
