//! The plan: everything that is written and reported, made in five steps.
//!
//! While there is no usable `YuniKornConfig`, nothing is written, and every status explains why.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::conditions::{self, Finding, Reason, Status, Type, current};
use crate::effective::config::LOADING;
use crate::effective::read::{PATIENCE, read};
use crate::effective::{Base, KeyClaim, ParseCache};
use crate::grants::objects::{combine, resolve};
use crate::grants::{Attribution, joined, policy, resolve};
use crate::snapshot::{ConfigStatus, LastBase, Meta, Mode, OutputText, Snapshot};
use crate::status::{
    self, AccessTestStatus, AdmissionPolicyStatus, Event, ObjectStatus, QueueAclStatus, Report, queue_acl,
};
use crate::write::change::room;
use crate::write::decide::write;
use crate::write::history::{keys, number};
use crate::write::{Evaluation, NewConfigMap, Revision, Write, WriteDecision};
use crate::{access_tests, rbac_mirror};

/// The writes to make, and the statuses and events to publish. Apply the steps in the order of the fields.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// A ConfigMap to create first (`adoption: Import`): the base, with the current text of the output.
    pub import: Option<NewConfigMap>,
    /// A ConfigMap to create first (`adoption: Force`): a copy of the text to be replaced.
    pub backup: Option<NewConfigMap>,
    /// The change of the output ConfigMap, or `None` if nothing is to be written.
    pub write: Option<Write>,
    /// The base to store as the last good one, or `None` to keep the stored one.
    pub last_base: Option<LastBase>,
    /// The changes of the RBAC mirror, which follows the ACLs now in force.
    pub mirror: rbac_mirror::MirrorChanges,
    /// The text that should be in force, even if it may not be written; `None` if the base does not give one.
    pub rendered: Option<OutputText>,
    /// Which objects decide which ACLs of `rendered`, by partition, queue and right.
    pub contributions: Arc<[Attribution]>,
    /// Status of each `QueueAcl`, by name.
    pub queue_acls: BTreeMap<Arc<str>, ObjectStatus<QueueAclStatus>>,
    /// Status of each `AdmissionPolicy`, by name.
    pub policies: BTreeMap<Arc<str>, ObjectStatus<AdmissionPolicyStatus>>,
    /// Status of each `QueueAccessTest`, by name.
    pub access_tests: BTreeMap<Arc<str>, ObjectStatus<AccessTestStatus>>,
    /// Status of the `YuniKornConfig`, if there is one.
    pub config: Option<ObjectStatus<ConfigStatus>>,
    /// Events to publish once the statuses are written, in a stable order. They only report transitions, so
    /// the list is empty if nothing changed.
    pub events: Vec<Event>,
    /// When to plan again although nothing changed: a window opens or closes, or a retry is due.
    pub wake_at: Option<Timestamp>,
}

/// The cause of a revision whose write was not recorded.
const FOUND: &str = "found in the ConfigMap: its write was not recorded";

impl Revision {
    /// Creates the revision of the text in the output, if queuewarden wrote it and it stays.
    pub fn found(snapshot: &Snapshot, plan: &Plan) -> Option<Self> {
        let enforces = snapshot.spec().is_some_and(|spec| spec.mode == Mode::Enforce);
        let key = &plan.rendered.as_ref()?.key;
        let stays = enforces && plan.write.is_none() && snapshot.claim(key) == KeyClaim::Ours;
        let text = snapshot.output_text(key).filter(|_| stays)?;
        let causes = vec![FOUND.to_owned()];
        let admission = snapshot.output.as_deref().map(|output| keys(&output.data)).unwrap_or_default();
        let (number, at) = (number(text)?, snapshot.now);
        Some(Self { number, at, causes, access: None, text: text.clone(), admission })
    }
}

/// Reports in every status why there is no plan.
fn waiting(snapshot: &Snapshot) -> Plan {
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

/// Returns the conditions of the configuration itself. It keeps the condition of the mirror, because the
/// mirror has to be removed at some point, and the condition that a root is open, because nothing checks that
/// now.
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

/// Makes the plan.
pub fn plan(snapshot: &Snapshot) -> Plan {
    plan_again(snapshot, &mut ParseCache::new(snapshot.version()))
}

/// Makes the same plan for a caller that plans repeatedly: cached texts are not parsed again.
pub fn plan_again(snapshot: &Snapshot, cache: &mut ParseCache) -> Plan {
    cache.set_version(snapshot.version());
    let plan = evaluate(snapshot, cache).map_or_else(|| waiting(snapshot), report);
    cache.forget_unused();
    plan
}

/// Decides everything except the statuses; `None` without a readable `YuniKornConfig`.
pub(crate) fn evaluate<'a>(snapshot: &'a Snapshot, cache: &mut ParseCache) -> Option<Evaluation<'a>> {
    let state = read(snapshot, cache)?;
    let mut resolved = resolve(&state);
    let room = room(snapshot.output.as_deref(), &state.env.key);
    let combined = combine(&state, &mut resolved, room, cache);
    Some(write(state, resolved, combined, cache))
}

/// Creates the plan from the decisions, with all statuses.
fn report(evaluation: Evaluation<'_>) -> Plan {
    let mut events = Vec::new();
    let contributions = evaluation.contributions();
    let queue_acls = queue_acl::statuses(&evaluation, &contributions, &mut events);
    let policies = status::policy::statuses(&evaluation, &mut events);
    let config = status::config::status_of(&evaluation, &contributions, &mut events);
    let state = &evaluation.context.read;
    let runs = state.env.runs.as_deref().map_err(String::as_str);
    let access_tests = access_tests::statuses(state.snapshot, runs, &mut events);
    let wake_at = wake_at(&evaluation);
    events.sort();
    let full = evaluation.output.full;
    let base = evaluation.context.base().ok();
    let last_base =
        base.filter(|base| full && !base.is(state.snapshot.last_base.as_ref())).map(Base::to_last);
    let WriteDecision { import, backup, write, rendered, .. } = evaluation.output;
    let write = write.map(|write| Write { contributions: contributions.clone(), ..write });
    Plan {
        import,
        backup,
        write,
        last_base,
        mirror: evaluation.mirror.0,
        contributions,
        rendered,
        queue_acls,
        policies,
        access_tests,
        config: Some(config),
        events,
        wake_at,
    }
}

/// The next time when the same snapshot would give a different plan.
fn wake_at(evaluation: &Evaluation<'_>) -> Option<Timestamp> {
    let snapshot = evaluation.context.read.snapshot;
    let observed = &snapshot.observed;
    let specs = snapshot.queue_acls.iter().filter_map(|entry| entry.spec.as_ref().ok());
    let windows = specs.flat_map(|spec| {
        let near = spec.expires_at.and_then(|end| end.checked_sub(queue_acl::NEAR).ok());
        [spec.not_before, near, spec.expires_at].into_iter().flatten()
    });
    let kept = evaluation
        .context
        .resolved
        .queue_acls
        .iter()
        .filter_map(|object| object.last_valid.as_ref()?.expires_at);
    let patience = observed
        .pending_since
        .filter(|_| evaluation.context.read.loaded.reassert_at.is_some())
        .and_then(|since| since.checked_add(PATIENCE).ok());
    // From then on, the scheduler is considered to run an unknown text rather than to be loading one.
    let unseen = observed.loaded_text.is_some()
        && evaluation.context.read.loaded.finding.reason == Reason::LoadPending
        && !observed.reports_loaded_text();
    let loading = observed.pending_since.filter(|_| unseen || !snapshot.access_tests.is_empty());
    let loading = loading.and_then(|since| since.checked_add(LOADING).ok());
    windows
        .chain(kept)
        .chain(evaluation.context.read.reassert_at)
        .chain(patience)
        .chain(loading)
        .chain(evaluation.output.wake_at)
        .filter(|at| *at > snapshot.now)
        .min()
}
