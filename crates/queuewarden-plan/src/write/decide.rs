//! Decides what to write to the output ConfigMap, and whether it may be written: ownership, reasons to hold
//! it back, size, mode and the rate limit of repairs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use crate::budget;
use crate::conditions::{Finding, Reason};
use crate::effective::{
    KeyClaim, ParseCache, ParsedConfig, ReadState, header, is_queues_key, managed_keys, missing_partition,
};
use crate::grants::{Attribution, Combined, ResolvedObjects, attribution, contribution};
use crate::planted::{PlantedFault, is_planted};
use crate::rbac_mirror::{self, MirrorChanges};
use crate::snapshot::{ConfigSpec, EPOCH, MANAGED_KEYS, Mode, OBJECTS, OutputText, QUEUES_KEY};
use crate::write::adoption::{self, Adopted};
use crate::write::applied::{
    applied, contended, live_text, not_rendered, observed_only, oversized, pending, repairs, shadowed,
    to_narrow, unproven_key,
};
use crate::write::history::causes;
use crate::write::hold::{self, Hold};
use crate::write::{NewConfigMap, Write, WriteContext};
use yunikorn::config::checksum;
use yunikorn::{Config, admission};

/// The decision about the output ConfigMap.
pub(crate) struct WriteDecision {
    pub import: Option<NewConfigMap>,
    pub backup: Option<NewConfigMap>,
    pub write: Option<Write>,
    pub rendered: Option<OutputText>,
    /// Condition `Applied`.
    pub applied: Finding,
    /// The time to plan again.
    pub wake_at: Option<Timestamp>,
    /// True if the output holds the text that was rendered from the base.
    pub full: bool,
}

/// A queue tree that may be written.
struct Candidate {
    rendered: OutputText,
    tree: Option<Arc<Config>>,
    /// True if it is the current text with only withdrawals applied.
    partial: bool,
}

/// The result of writing one candidate.
struct Attempt {
    adopted: Adopted,
    changes: BTreeMap<String, Option<String>>,
    /// The keys that are ours after the changes.
    keys: BTreeSet<String>,
}

/// Decides: the full text if it may be written, else the current text with the withdrawals applied.
pub(crate) fn decide(context: &WriteContext<'_>, cache: &mut ParseCache) -> WriteDecision {
    let mut hold = hold::find(context);
    let mut candidate = match hold {
        None => context.combined.body.as_deref().and_then(|body| full(context, body)),
        Some(_) => partial(context, cache),
    };
    let mut attempt = attempt(context, candidate.as_ref());
    if hold.is_none()
        && let Some(too_large) = oversized(context, &attempt.changes)
    {
        hold = Some(Hold::new(too_large));
        candidate = partial(context, cache);
        attempt = self::attempt(context, candidate.as_ref());
    }
    let Attempt { adopted, changes, keys } = attempt;
    let nothing = candidate.is_none() && hold.is_none();
    let left =
        nothing.then(|| adoption::first_import(context).unwrap_or_else(|| (not_rendered(context), None)));
    let (not_rendered, first) = left.unzip();
    let full = hold.is_none() && candidate.is_some() && adopted.tree_conflict.is_none();
    // The text is known to include the objects' contributions if it is the desired text, or if nothing may be
    // added to it.
    let known = full || hold.is_some();
    let (wake_at, because) = hold.map_or((None, None), |hold| (hold.until, Some(hold.applied)));
    let partial = candidate.as_ref().is_some_and(|candidate| candidate.partial);
    let (rendered, tree) = candidate.map_or((None, None), |it| (Some(it.rendered), it.tree));
    let mut decision = WriteDecision {
        rendered,
        wake_at,
        import: first.flatten().or(adopted.import),
        backup: None,
        write: None,
        applied: applied(context),
        full: false,
    };
    if let Some(finding) = oversized(context, &changes) {
        decision.applied = finding;
        return decision;
    }
    if changes.is_empty() {
        decision.full = full;
        decision.write = touch(context, full, known);
        if let Some(until) =
            budget::contended_until(&context.read.snapshot.observed.repairs, context.read.snapshot.now)
        {
            decision.applied = contended(context);
            decision.wake_at = Some(until);
        }
    } else if context.read.spec.mode == Mode::Observe {
        decision.applied = observed_only(context, &changes);
    } else {
        propose(context, changes, &keys, adopted.replaced, (tree.as_deref(), partial), &mut decision);
    }
    // A policy key that someone else owns must not hide why nothing else is written.
    let written = matches!(decision.applied.reason, Reason::Applied | Reason::Pending);
    let conflict = adopted.conflict.filter(|_| written);
    let blocked = because.filter(|_| written).or(not_rendered);
    if let Some(finding) = blocked
        .or(adopted.tree_conflict)
        .or_else(|| shadowed(context))
        .or_else(|| unproven_key(context))
        .or(conflict)
    {
        decision.applied = finding;
    }
    decision
}

/// Returns the result of writing the candidate and the policy's keys.
fn attempt(context: &WriteContext<'_>, candidate: Option<&Candidate>) -> Attempt {
    let policy = context.resolved.policies.keys.iter().flatten();
    let mut values: BTreeMap<String, String> =
        policy.map(|(key, value)| ((*key).to_string(), value.clone())).collect();
    values.extend(candidate.map(|it| (it.rendered.key.clone(), it.rendered.text.clone())));
    let mut adopted = adoption::adopt(context, values);
    let wants = std::mem::take(&mut adopted.wants);
    let changes = changes(context, &wants);
    let keys = owned_after(context, &wants, &changes);
    Attempt { adopted, changes, keys }
}

/// Returns the full text: the rendered body under a header.
fn full(context: &WriteContext<'_>, body: &ParsedConfig) -> Option<Candidate> {
    let origin = header::origin(&context.read.from.as_ref()?.source);
    let rendered = revise(context, &body.text, &origin);
    Some(Candidate { rendered, tree: body.tree.clone(), partial: false })
}

/// Returns the current text with only withdrawals applied; `None` if there is nothing to write.
fn partial(context: &WriteContext<'_>, cache: &mut ParseCache) -> Option<Candidate> {
    if is_planted(PlantedFault::WithdrawalsWait)
        || context.read.snapshot.claim(&context.read.env.key) != KeyClaim::Ours
    {
        return None;
    }
    let desired = context.combined.desired.as_deref()?;
    let source = to_narrow(context)?;
    let withdrawn = hold::withdraw(source, desired, cache);
    // If nothing is withdrawn, another client's change to the text is still reverted.
    let restored = || context.read.written.as_ref().filter(|_| repairs(context));
    // A text that the scheduler did not load is written again: the scheduler may have refused it, and
    // withdrawals must not wait for that.
    let again = || context.read.current.as_ref().filter(|_| context.reasserts());
    let body = withdrawn.as_ref().or_else(restored).or_else(again)?;
    if missing_partition(body.tree.as_deref()?, &context.read.env).is_some() {
        return None;
    }
    let origin = live_text(context)
        .and_then(header::split)
        .map(|parts| parts.origin.to_owned())
        .or_else(|| Some(header::origin(&context.read.from.as_ref()?.source)))?;
    let rendered = revise(context, &body.text, &origin);
    Some(Candidate { rendered, tree: body.tree.clone(), partial: true })
}

/// Puts the body under a header: with the live revision if that would change nothing, else with the next one.
fn revise(context: &WriteContext<'_>, body: &str, origin: &str) -> OutputText {
    let live = live_text(context).and_then(header::split);
    let plain = body.strip_prefix(header::BOM).unwrap_or(body);
    let same = live.filter(|live| live.body == plain && live.origin == origin);
    let known = live
        .map(|live| live.revision)
        .max(context.read.snapshot.config_status().and_then(|status| status.revision))
        .unwrap_or(0);
    let revision = match same {
        Some(live) if !context.reasserts() => live.revision,
        _ => known.saturating_add(1),
    };
    OutputText { key: context.read.env.key.clone(), text: header::join(origin, revision, body) }
}

/// Returns a write that only changes annotations: the number of objects, if the text is the desired one
/// (`full`); the version of each object in force, if the text shows it (`known`); and the epoch, which
/// changes the resource version, while an older write may still be accepted.
fn touch(context: &WriteContext<'_>, full: bool, known: bool) -> Option<Write> {
    let ReadState { snapshot, spec, .. } = &context.read;
    let output = snapshot.output.as_deref().filter(|_| spec.mode == Mode::Enforce)?;
    let mut annotations = BTreeMap::new();
    if snapshot.is_fenced() && !is_planted(PlantedFault::NoFence) {
        let epoch: u64 = output.annotations.get(EPOCH).and_then(|epoch| epoch.parse().ok()).unwrap_or(0);
        annotations.insert(EPOCH.to_string(), epoch.wrapping_add(1).to_string());
    }
    annotations.extend(object_count(context).filter(|_| full));
    let current = context.read.current_tree().filter(|_| !full);
    let in_force =
        known.then(|| contribution::corrected(current, &context.resolved.queue_acls, output)).flatten();
    (!annotations.is_empty() || in_force.is_some()).then(|| Write {
        name: spec.output_config_map.clone(),
        resource_version: Some(output.resource_version.clone()),
        annotations,
        in_force,
        ..Write::default()
    })
}

/// Returns the annotation with the number of objects of the full text, if it changes; it may be absent.
fn object_count(context: &WriteContext<'_>) -> Option<(String, String)> {
    let count = context.count().to_string();
    let output = context.read.snapshot.output.as_deref();
    let current = output.and_then(|output| output.annotations.get(OBJECTS)).map_or("0", String::as_str);
    (current != count).then(|| (OBJECTS.to_owned(), count))
}

/// Returns our keys that are present now.
fn ours<'a>(context: &'a WriteContext<'_>) -> impl Iterator<Item = &'a str> {
    let output = context.read.snapshot.output.as_deref();
    let keys = output.into_iter().flat_map(|output| output.data.keys());
    keys.map(String::as_str).filter(|key| context.read.snapshot.claim(key) == KeyClaim::Ours)
}

/// Returns the keys to change: desired values that differ, and keys of ours that are no longer desired. A key
/// with a queue tree is never removed, because without it the scheduler falls back to a default that lets
/// everyone in.
fn changes(context: &WriteContext<'_>, wants: &BTreeMap<String, String>) -> BTreeMap<String, Option<String>> {
    let current = |key: &str| context.read.snapshot.output_text(key);
    let set = wants
        .iter()
        .filter(|(key, value)| current(key) != Some(value))
        .map(|(k, v)| (k.clone(), Some(v.clone())));
    let unset = ours(context)
        .filter(|key| admission::KEYS.contains(key) && !wants.contains_key(*key))
        .map(|key| (key.to_string(), None));
    set.chain(unset).collect()
}

/// Returns the keys that are ours once `changes` are made.
fn owned_after(
    context: &WriteContext<'_>,
    wants: &BTreeMap<String, String>,
    changes: &BTreeMap<String, Option<String>>,
) -> BTreeSet<String> {
    let set = wants.keys().filter(|key| changes.contains_key(*key)).map(String::as_str);
    ours(context).filter(|key| changes.get(*key) != Some(&None)).chain(set).map(str::to_string).collect()
}

/// Adds the write to the decision, if the rate limit allows it. After the write, `keys` are ours. The text
/// has the queues `tree`, and may be a `partial` one.
fn propose(
    context: &WriteContext<'_>,
    changes: BTreeMap<String, Option<String>>,
    keys: &BTreeSet<String>,
    taken: BTreeMap<String, String>,
    (tree, partial): (Option<&Config>, bool),
    decision: &mut WriteDecision,
) {
    let ReadState { snapshot, spec, env, .. } = &context.read;
    let queue_tree = changes.contains_key(&env.key);
    // Keys that were present and correct were changed by others. They decide who may act as anyone, so they
    // are repaired at least every second, like a text that grants too much.
    let identity = changes.keys().any(|key| admission::KEYS.contains(&key.as_str())) && programmed(context);
    let repair = (queue_tree && repairs(context)) || identity;
    let (open, widens) = match (context.read.current_tree(), tree) {
        (Some(current), Some(tree)) if queue_tree => {
            (hold::widens(tree, current), hold::widens(current, tree))
        }
        _ => (queue_tree, false),
    };
    decision.applied = pending(context);
    if repair && let Some(due) = budget::repair_at(&snapshot.observed.repairs, open || identity, snapshot.now)
    {
        decision.applied = contended(context);
        decision.wake_at = Some(due);
        return;
    }
    if !taken.is_empty() {
        decision.backup = Some(backup(spec, taken));
    }
    let output = snapshot.output.as_deref();
    let in_force = queue_tree
        .then(|| contribution::changed(tree.filter(|_| partial), &context.resolved.queue_acls, output))
        .flatten();
    let mut write = Write {
        name: spec.output_config_map.clone(),
        resource_version: output.map(|output| output.resource_version.clone()),
        data: changes,
        annotations: annotations(context, queue_tree && !partial, keys),
        in_force,
        repair,
        reassert: queue_tree && context.reasserts(),
        widens: widens && !repair,
        partial,
        ..Write::default()
    };
    write.causes = causes(context, &write, tree.filter(|_| partial));
    decision.write = Some(write);
}

/// Returns whether the keys of the policy in effect were already in the output.
fn programmed(context: &WriteContext<'_>) -> bool {
    context.read.snapshot.policies.iter().zip(&context.resolved.policies.objects).any(|(entry, policy)| {
        policy.keys().is_some()
            && entry.in_force.is_some()
            && entry.in_force.as_ref() == entry.spec.as_ref().ok()
    })
}

/// Returns the annotations that change along with the keys. `full` means that the full text is written.
fn annotations(context: &WriteContext<'_>, full: bool, keys: &BTreeSet<String>) -> BTreeMap<String, String> {
    let output = context.read.snapshot.output.as_deref();
    let current = |name: &str| output.and_then(|output| output.annotations.get(name));
    let mut annotations = BTreeMap::new();
    if output.is_none_or(|output| !managed_keys(output).iter().eq(keys)) {
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        annotations.insert(MANAGED_KEYS.to_string(), keys.join(","));
    }
    annotations.extend(object_count(context).filter(|_| full));
    if current(QUEUES_KEY).is_some() || keys.iter().filter(|key| is_queues_key(key)).count() > 1 {
        annotations.insert(QUEUES_KEY.to_string(), context.read.env.key.clone());
    }
    annotations.retain(|name, value| current(name) != Some(value));
    annotations
}

fn backup(spec: &ConfigSpec, data: BTreeMap<String, String>) -> NewConfigMap {
    let all: Vec<_> = data.iter().map(|(key, text)| format!("{key}\n{text}")).collect();
    let hash = checksum(&all.join("\n")).to_ascii_lowercase();
    let short = hash.get(..12).unwrap_or(&hash);
    NewConfigMap {
        name: format!("{}-backup-{short}", spec.output_config_map),
        annotations: BTreeMap::new(),
        data,
    }
}

/// Everything that was decided.
pub(crate) struct Evaluation<'a> {
    /// What it was decided from.
    pub context: WriteContext<'a>,
    /// The decision about the output.
    pub output: WriteDecision,
    /// The changes of the RBAC mirror, and condition `Mirrored`.
    pub mirror: (MirrorChanges, Option<Finding>),
}

/// Decides what is written.
pub(crate) fn write<'a>(
    read: ReadState<'a>,
    resolved: ResolvedObjects<'a>,
    combined: Combined,
    cache: &mut ParseCache,
) -> Evaluation<'a> {
    let context = WriteContext { read, resolved, combined };
    let output = decide(&context, cache);
    let mirror = rbac_mirror::plan(&context.read, &context.resolved.aliased, cache);
    Evaluation { context, output, mirror }
}

impl Evaluation<'_> {
    /// Condition `BaseResolved`.
    pub(crate) fn base(&self) -> &Finding {
        self.context.base().map_or_else(|finding| finding, |base| &base.finding)
    }

    /// Returns the desired queues, or the queues in force if nothing is desired.
    pub(crate) fn queues(&self) -> Option<&Config> {
        self.context.combined.desired.as_deref().or(self.context.read.env.tree.as_deref())
    }

    /// Attributes the ACLs of the desired text to the objects.
    pub(crate) fn contributions(&self) -> Arc<[Attribution]> {
        let Combined { decisions, by_object, .. } = &self.context.combined;
        attribution::desired(&self.context.resolved.queue_acls, decisions, by_object)
    }
}
