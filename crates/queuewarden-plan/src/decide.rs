//! Makes the plan, in five steps.

use jiff::Timestamp;

use crate::conditions::Reason;
use crate::effective::loaded::PATIENCE;
use crate::effective::read::read;
use crate::effective::scheduler::LOADING;
use crate::effective::{Base, ParseCache};
use crate::evaluation::{Evaluation, write};
use crate::grants::agreement::combine;
use crate::grants::objects::resolve;
use crate::plan::Plan;
use crate::snapshot::Snapshot;
use crate::status::{config, policy, queue_acl};
use crate::write::size::room;
use crate::write::{Write, WriteDecision};
use crate::{access_tests, waiting};

/// Makes the plan.
pub fn plan(snapshot: &Snapshot) -> Plan {
    plan_again(snapshot, &mut ParseCache::new(snapshot.version()))
}

/// Makes the same plan for a caller that plans repeatedly: texts in the cache are not parsed again.
pub fn plan_again(snapshot: &Snapshot, cache: &mut ParseCache) -> Plan {
    cache.set_version(snapshot.version());
    let plan = evaluate(snapshot, cache).map_or_else(|| waiting::plan(snapshot), report);
    cache.forget_unused();
    plan
}

/// Decides everything, without making statuses yet; `None` without a `YuniKornConfig` that can be read.
pub(crate) fn evaluate<'a>(snapshot: &'a Snapshot, cache: &mut ParseCache) -> Option<Evaluation<'a>> {
    let state = read(snapshot, cache)?;
    let mut resolved = resolve(&state);
    let room = room(snapshot.output.as_deref(), &state.env.key);
    let combined = combine(&state, &mut resolved, room, cache);
    Some(write(state, resolved, combined, cache))
}

/// Makes the plan of what was decided, with all statuses.
fn report(evaluation: Evaluation<'_>) -> Plan {
    let mut events = Vec::new();
    let contributions = evaluation.contributions();
    let queue_acls = queue_acl::statuses(&evaluation, &contributions, &mut events);
    let policies = policy::statuses(&evaluation, &mut events);
    let config = config::status_of(&evaluation, &contributions, &mut events);
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

/// The next moment at which the same snapshot would give another plan.
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
    // From then on the scheduler counts as running an unknown text, and no longer as loading one.
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
