//! Decides what is written to the output ConfigMap, and whether it may be written: ownership, reasons to hold
//! it back, size, mode and the rate limit of repairs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use crate::budget;
use crate::conditions::{Finding, Reason};
use crate::effective::claim::{KeyClaim, managed_keys};
use crate::effective::config::missing_partition;
use crate::effective::header;
use crate::effective::merged::is_queues_key;
use crate::effective::parse_cache::{ParseCache, ParsedConfig};
use crate::grants::record;
use crate::planted::{PlantedFault, is_planted};
use crate::snapshot::{ConfigSpec, EPOCH, MANAGED_KEYS, Mode, OBJECTS, OutputText, QUEUES_KEY};
use crate::write::adoption::{self, Adopted};
use crate::write::applied::{
    applied, contended, not_rendered, observed_only, oversized, pending, shadowed, unproven_key,
};
use crate::write::causes::causes;
use crate::write::context::{WriteContext, is_fenced, live_text, repairs, to_narrow};
use crate::write::hold::{self, Hold};
use crate::write::{NewConfigMap, Write, withdraw};
use yunikorn::admission;
use yunikorn::config::{Config, checksum};

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
    /// True if it is the current text with nothing but the withdrawals applied.
    partial: bool,
}

/// The result of writing one candidate.
struct Attempt {
    adopted: Adopted,
    changes: BTreeMap<String, Option<String>>,
    /// The keys that are ours once the changes are made.
    keys: BTreeSet<String>,
}

/// Decides: the full text where it may be written, else the current text with the withdrawals applied.
pub(crate) fn decide(inputs: &WriteContext<'_>, cache: &mut ParseCache) -> WriteDecision {
    let mut hold = hold::find(inputs);
    let mut candidate = match hold {
        None => inputs.body.as_deref().and_then(|body| full(inputs, body)),
        Some(_) => partial(inputs, cache),
    };
    let mut attempt = attempt(inputs, candidate.as_ref());
    if hold.is_none()
        && let Some(too_large) = oversized(inputs, &attempt.changes)
    {
        hold = Some(Hold::new(too_large));
        candidate = partial(inputs, cache);
        attempt = self::attempt(inputs, candidate.as_ref());
    }
    let Attempt { adopted, changes, keys } = attempt;
    let nothing = candidate.is_none() && hold.is_none();
    let left =
        nothing.then(|| adoption::first_import(inputs).unwrap_or_else(|| (not_rendered(inputs), None)));
    let (not_rendered, first) = left.unzip();
    let full = hold.is_none() && candidate.is_some() && adopted.tree_conflict.is_none();
    // The text is known to grant what the objects contribute if it is the desired text, or if nothing may be
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
        applied: applied(inputs),
        full: false,
    };
    if let Some(finding) = oversized(inputs, &changes) {
        decision.applied = finding;
        return decision;
    }
    if changes.is_empty() {
        decision.full = full;
        decision.write = touch(inputs, full, known);
        if let Some(until) = budget::contended_until(&inputs.snapshot.observed.repairs, inputs.snapshot.now) {
            decision.applied = contended(inputs);
            decision.wake_at = Some(until);
        }
    } else if inputs.spec.mode == Mode::Observe {
        decision.applied = observed_only(inputs, &changes);
    } else {
        propose(inputs, changes, &keys, adopted.replaced, (tree.as_deref(), partial), &mut decision);
    }
    // A policy key that someone else owns must not hide the reason why nothing else is written.
    let written = matches!(decision.applied.reason, Reason::Applied | Reason::Pending);
    let conflict = adopted.conflict.filter(|_| written);
    let blocked = because.filter(|_| written).or(not_rendered);
    if let Some(finding) = blocked
        .or(adopted.tree_conflict)
        .or_else(|| shadowed(inputs))
        .or_else(|| unproven_key(inputs))
        .or(conflict)
    {
        decision.applied = finding;
    }
    decision
}

/// Returns the result of writing the candidate and the keys of the policy.
fn attempt(inputs: &WriteContext<'_>, candidate: Option<&Candidate>) -> Attempt {
    let policy = inputs.policies.keys.iter().flatten();
    let mut values: BTreeMap<String, String> =
        policy.map(|(key, value)| ((*key).to_string(), value.clone())).collect();
    values.extend(candidate.map(|it| (it.rendered.key.clone(), it.rendered.text.clone())));
    let mut adopted = adoption::adopt(inputs, values);
    let wants = std::mem::take(&mut adopted.wants);
    let changes = changes(inputs, &wants);
    let keys = owned_after(inputs, &wants, &changes);
    Attempt { adopted, changes, keys }
}

/// Returns the full text: the rendered body under a header.
fn full(inputs: &WriteContext<'_>, body: &ParsedConfig) -> Option<Candidate> {
    let origin = header::origin(&inputs.from.as_ref()?.source);
    let rendered = revise(inputs, &body.text, &origin);
    Some(Candidate { rendered, tree: body.tree.clone(), partial: false })
}

/// Returns the current text with nothing but the withdrawals applied; `None` when there is nothing to write.
fn partial(inputs: &WriteContext<'_>, cache: &mut ParseCache) -> Option<Candidate> {
    if is_planted(PlantedFault::WithdrawalsWait) || inputs.snapshot.claim(&inputs.env.key) != KeyClaim::Ours {
        return None;
    }
    let desired = inputs.desired.as_deref()?;
    let source = to_narrow(inputs)?;
    let withdrawn = withdraw::withdraw(source, desired, cache);
    // If nothing is withdrawn, somebody else's change of the text is still put back.
    let restored = || inputs.written.as_ref().filter(|_| repairs(inputs));
    // A text that the scheduler did not load is written again: the scheduler may have refused it, and
    // withdrawals must not wait for that.
    let again = || inputs.current.as_ref().filter(|_| inputs.reassert);
    let body = withdrawn.as_ref().or_else(restored).or_else(again)?;
    if missing_partition(body.tree.as_deref()?, &inputs.env).is_some() {
        return None;
    }
    let origin = live_text(inputs)
        .and_then(header::split)
        .map(|parts| parts.origin.to_owned())
        .or_else(|| Some(header::origin(&inputs.from.as_ref()?.source)))?;
    let rendered = revise(inputs, &body.text, &origin);
    Some(Candidate { rendered, tree: body.tree.clone(), partial: true })
}

/// Puts the body under a header: with the live revision if that would change nothing, else with the next one.
fn revise(inputs: &WriteContext<'_>, body: &str, origin: &str) -> OutputText {
    let live = live_text(inputs).and_then(header::split);
    let plain = body.strip_prefix(header::BOM).unwrap_or(body);
    let same = live.filter(|live| live.body == plain && live.origin == origin);
    let known = live
        .map(|live| live.revision)
        .max(inputs.snapshot.config_status().and_then(|status| status.revision))
        .unwrap_or(0);
    let revision = match same {
        Some(live) if !inputs.reassert => live.revision,
        _ => known.saturating_add(1),
    };
    OutputText { key: inputs.env.key.clone(), text: header::join(origin, revision, body) }
}

/// Returns a write that changes annotations alone: the number of objects, if the text is the desired one
/// (`full`); the version of each object that is in force, if the text shows it (`known`); and the resource
/// version, while an older write may still be accepted.
fn touch(inputs: &WriteContext<'_>, full: bool, known: bool) -> Option<Write> {
    let WriteContext { snapshot, spec, .. } = inputs;
    let output = snapshot.output.as_deref().filter(|_| spec.mode == Mode::Enforce)?;
    let mut annotations = BTreeMap::new();
    if is_fenced(snapshot) && !is_planted(PlantedFault::NoFence) {
        let epoch: u64 = output.annotations.get(EPOCH).and_then(|epoch| epoch.parse().ok()).unwrap_or(0);
        annotations.insert(EPOCH.to_string(), epoch.wrapping_add(1).to_string());
    }
    annotations.extend(object_count(inputs).filter(|_| full));
    let current = inputs.current_tree().filter(|_| !full);
    let in_force = known.then(|| record::corrected(current, &inputs.objects, output)).flatten();
    (!annotations.is_empty() || in_force.is_some()).then(|| Write {
        name: spec.output_config_map.clone(),
        resource_version: Some(output.resource_version.clone()),
        annotations,
        in_force,
        ..Write::default()
    })
}

/// Returns the annotation with the number of objects of the full text, if that changes; absent means none.
fn object_count(inputs: &WriteContext<'_>) -> Option<(String, String)> {
    let count = inputs.count().to_string();
    let output = inputs.snapshot.output.as_deref();
    let current = output.and_then(|output| output.annotations.get(OBJECTS)).map_or("0", String::as_str);
    (current != count).then(|| (OBJECTS.to_owned(), count))
}

/// Returns our keys that are present now.
fn ours<'a>(inputs: &'a WriteContext<'_>) -> impl Iterator<Item = &'a str> {
    let output = inputs.snapshot.output.as_deref();
    let keys = output.into_iter().flat_map(|output| output.data.keys());
    keys.map(String::as_str).filter(|key| inputs.snapshot.claim(key) == KeyClaim::Ours)
}

/// Returns the keys to change: desired values that differ, and keys of ours that are no longer desired. A key
/// with a queue tree is never removed: without it the scheduler falls back to a default that lets everyone
/// in.
fn changes(inputs: &WriteContext<'_>, wants: &BTreeMap<String, String>) -> BTreeMap<String, Option<String>> {
    let current = |key: &str| inputs.snapshot.output_text(key);
    let set = wants
        .iter()
        .filter(|(key, value)| current(key) != Some(value))
        .map(|(k, v)| (k.clone(), Some(v.clone())));
    let unset = ours(inputs)
        .filter(|key| admission::KEYS.contains(key) && !wants.contains_key(*key))
        .map(|key| (key.to_string(), None));
    set.chain(unset).collect()
}

/// Returns the keys that are ours once `changes` are made.
fn owned_after(
    inputs: &WriteContext<'_>,
    wants: &BTreeMap<String, String>,
    changes: &BTreeMap<String, Option<String>>,
) -> BTreeSet<String> {
    let set = wants.keys().filter(|key| changes.contains_key(*key)).map(String::as_str);
    ours(inputs).filter(|key| changes.get(*key) != Some(&None)).chain(set).map(str::to_string).collect()
}

/// Adds the write to the decision, if the rate limit allows it; with it, `keys` are ours. The text has the
/// queues `tree`, and may be a `partial` one.
fn propose(
    inputs: &WriteContext<'_>,
    changes: BTreeMap<String, Option<String>>,
    keys: &BTreeSet<String>,
    taken: BTreeMap<String, String>,
    (tree, partial): (Option<&Config>, bool),
    decision: &mut WriteDecision,
) {
    let WriteContext { snapshot, spec, env, .. } = inputs;
    let queue_tree = changes.contains_key(&env.key);
    // Keys that were present and correct have been changed by others. They decide who may act as anyone, so
    // they are repaired at least every second, like a text that grants too much.
    let identity = changes.keys().any(|key| admission::KEYS.contains(&key.as_str())) && programmed(inputs);
    let repair = (queue_tree && repairs(inputs)) || identity;
    let (open, widens) = match (inputs.current_tree(), tree) {
        (Some(current), Some(tree)) if queue_tree => {
            (withdraw::widens(tree, current), withdraw::widens(current, tree))
        }
        _ => (queue_tree, false),
    };
    decision.applied = pending(inputs);
    if repair && let Some(due) = budget::repair_at(&snapshot.observed.repairs, open || identity, snapshot.now)
    {
        decision.applied = contended(inputs);
        decision.wake_at = Some(due);
        return;
    }
    if !taken.is_empty() {
        decision.backup = Some(backup(spec, taken));
    }
    let output = snapshot.output.as_deref();
    let in_force =
        queue_tree.then(|| record::changed(tree.filter(|_| partial), &inputs.objects, output)).flatten();
    let mut write = Write {
        name: spec.output_config_map.clone(),
        resource_version: output.map(|output| output.resource_version.clone()),
        data: changes,
        annotations: annotations(inputs, queue_tree && !partial, keys),
        in_force,
        repair,
        reassert: queue_tree && inputs.reassert,
        widens: widens && !repair,
        partial,
        ..Write::default()
    };
    write.causes = causes(inputs, &write, tree.filter(|_| partial));
    decision.write = Some(write);
}

/// Returns whether the keys of the policy that counts were in the output before.
fn programmed(inputs: &WriteContext<'_>) -> bool {
    inputs.snapshot.policies.iter().zip(&inputs.policies.objects).any(|(entry, policy)| {
        policy.keys().is_some()
            && entry.in_force.is_some()
            && entry.in_force.as_ref() == entry.spec.as_ref().ok()
    })
}

/// Returns the annotations that change along with the keys. `full`: the full text is written.
fn annotations(inputs: &WriteContext<'_>, full: bool, keys: &BTreeSet<String>) -> BTreeMap<String, String> {
    let output = inputs.snapshot.output.as_deref();
    let current = |name: &str| output.and_then(|output| output.annotations.get(name));
    let mut annotations = BTreeMap::new();
    if output.is_none_or(|output| !managed_keys(output).iter().eq(keys)) {
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        annotations.insert(MANAGED_KEYS.to_string(), keys.join(","));
    }
    annotations.extend(object_count(inputs).filter(|_| full));
    if current(QUEUES_KEY).is_some() || keys.iter().filter(|key| is_queues_key(key)).count() > 1 {
        annotations.insert(QUEUES_KEY.to_string(), inputs.env.key.clone());
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
