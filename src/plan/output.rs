//! What is written to the output ConfigMap, and whether it may be: ownership, guards, size, mode and the ration of repairs.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::base::Base;
use super::budget::{self, Permit};
use super::conditions::{Finding, Reason, Type};
use super::environment::{Environment, config_map};
use super::ownership::{Claim, claim, ledger, ledger_text};
use super::policy::Keys;
use super::snapshot::{ConfigMapState, ConfigMemory, ConfigSpec, MANAGED_KEYS, Mode, Snapshot, WriteFailure};
use super::{NewConfigMap, Rendered, Write, adoption, header};
use crate::model::admission;
use crate::model::config::checksum;

/// Kubernetes' limit for the values of a ConfigMap together, in bytes.
pub const MAX_BYTES: usize = 1024 * 1024;
/// From here on the condition warns, in bytes.
pub const WARN_BYTES: usize = 900 * 1024;

/// What the decision depends on.
pub(super) struct Question<'a> {
    pub snapshot: &'a Snapshot,
    pub spec: &'a ConfigSpec,
    pub memory: Option<&'a ConfigMemory>,
    pub env: &'a Environment,
    /// The base, or condition `BaseResolved` when there is none.
    pub base: Result<&'a Base, &'a Finding>,
    /// The rendered body; an error when it cannot be rendered.
    pub body: Option<&'a str>,
    /// The keys of the policy that decides.
    pub policy: Option<&'a Keys>,
    /// Since when the scheduler should have taken the text, if it did not: write it again.
    pub reassert: bool,
}

/// What is decided.
pub(super) struct Decision {
    pub import: Option<NewConfigMap>,
    pub backup: Option<NewConfigMap>,
    pub write: Option<Write>,
    pub rendered: Option<Rendered>,
    /// Condition `Applied`.
    pub applied: Finding,
    /// When to look again.
    pub wake_at: Option<Timestamp>,
    /// The keys in the output that are ours once the write is done.
    pub keys: BTreeSet<String>,
}

impl Decision {
    fn nothing(applied: Finding) -> Self {
        Self {
            import: None,
            backup: None,
            write: None,
            rendered: None,
            applied,
            wake_at: None,
            keys: BTreeSet::new(),
        }
    }
}

/// Decides.
pub(super) fn decide(question: &Question<'_>) -> Decision {
    let rendered = question.body.and_then(|body| revise(question, body));
    let Wanted { values, blocked, import } = wanted(question, rendered.as_ref());
    let adopted = adoption::adopt(question, values);
    let wants = adopted.wants;
    let changes = changes(question, &wants);
    let keys = owned_after(question, &wants, &changes);
    let mut decision = Decision {
        rendered,
        keys,
        import: import.or(adopted.import),
        ..Decision::nothing(applied(question))
    };
    if let Some(finding) = oversized(question, &changes) {
        decision.applied = finding;
        return decision;
    }
    if !changes.is_empty() {
        if question.spec.mode == Mode::Observe {
            decision.applied = observed_only(question, &changes);
        } else {
            hand_out(question, changes, adopted.replaced, &mut decision);
        }
    } else if let Some(until) =
        budget::contended_until(&question.snapshot.observed.repairs, question.snapshot.now)
    {
        decision.applied = contended(question);
        decision.wake_at = Some(until);
    }
    // That a policy's key is another's must not hide why nothing else is written.
    let written = matches!(decision.applied.reason, Reason::Applied | Reason::Pending);
    let conflict = adopted.conflict.filter(|_| written);
    if let Some(finding) = blocked.or(adopted.tree_conflict).or_else(|| shadowed(question)).or(conflict) {
        decision.applied = finding;
    }
    decision
}

/// The keys that should be in the output, whoever owns them now.
struct Wanted {
    values: BTreeMap<String, String>,
    /// Condition `Applied`, when the queue tree is not among them.
    blocked: Option<Finding>,
    /// The base to create first, so that there can be a queue tree.
    import: Option<NewConfigMap>,
}

fn wanted(question: &Question<'_>, rendered: Option<&Rendered>) -> Wanted {
    let policy = question.policy.into_iter().flatten();
    let mut values: BTreeMap<String, String> =
        policy.map(|(key, value)| ((*key).to_string(), value.clone())).collect();
    let Some(rendered) = rendered else {
        let (import, finding) =
            adoption::first_import(question).unwrap_or_else(|| (None, not_rendered(question)));
        return Wanted { values, blocked: Some(finding), import };
    };
    let blocked = missing_partition(question);
    if blocked.is_none() {
        values.insert(rendered.key.clone(), rendered.text.clone());
    }
    Wanted { values, blocked, import: None }
}

/// The body under a header: with the live revision if that would change nothing, else with the next one.
fn revise(question: &Question<'_>, body: &str) -> Option<Rendered> {
    let origin = header::origin(&question.base.ok()?.source);
    let live = live_text(question).and_then(header::split);
    let wanted = header::join(&origin, 0, body);
    let same = live.filter(|live| {
        header::split(&wanted).is_some_and(|w| w.body == live.body && w.origin == live.origin)
    });
    let known =
        live.map(|live| live.revision).max(question.memory.and_then(|memory| memory.revision)).unwrap_or(0);
    let revision = match same {
        Some(live) if !question.reassert => live.revision,
        _ => known.saturating_add(1),
    };
    let text = header::join(&origin, revision, body);
    Some(Rendered { key: question.env.key.clone(), checksum: checksum(&text), revision, text })
}

pub(super) fn live_text<'a>(question: &'a Question<'_>) -> Option<&'a str> {
    question.snapshot.output.as_deref()?.data.get(&question.env.key).map(String::as_str)
}

fn not_rendered(question: &Question<'_>) -> Finding {
    let message = match question.base {
        Err(finding) => format!("nothing is written, what is live stays: {}", finding.message),
        Ok(_) => {
            "nothing is written, what is live stays: the ACLs cannot be rendered into the base".to_string()
        }
    };
    Finding::no(Type::Applied, Reason::ConfigNotReady, message)
}

/// A text without a partition that is active now hangs the scheduler until it is restarted.
fn missing_partition(question: &Question<'_>) -> Option<Finding> {
    let tree = &question.base.ok()?.tree;
    // The scheduler tells names apart by case (`GetNormalizedPartitionName`, yunikorn-core `common/utils.go`); the validator does not.
    let has = |name: &&String| tree.partitions.iter().any(|partition| partition.name == **name);
    let active = question.env.active_partitions();
    let missing: Vec<_> = active.iter().filter(|name| !has(name)).map(|n| format!("`{n}`")).collect();
    if missing.is_empty() {
        return None;
    }
    let message = format!(
        "the base lacks partition {}, which is active: the scheduler would hang on such a text. Bring it back; to remove \
         it for good, stop the scheduler first",
        missing.join(", ")
    );
    Some(Finding::no(Type::Applied, Reason::PartitionMissing, message))
}

/// The keys that are ours and present now.
fn ours<'a>(question: &'a Question<'_>) -> impl Iterator<Item = &'a str> {
    let output = question.snapshot.output.as_deref();
    let keys = output.into_iter().flat_map(|output| output.data.keys());
    keys.map(String::as_str).filter(move |key| claim(output, question.memory, key) == Claim::Ours)
}

/// What has to change: wanted values that differ, and keys of ours that nobody wants any more. A key with a queue tree is never
/// removed: without it the scheduler falls back to a default that lets everyone in.
fn changes(question: &Question<'_>, wants: &BTreeMap<String, String>) -> BTreeMap<String, Option<String>> {
    let output = question.snapshot.output.as_deref();
    let current = |key: &str| output.and_then(|output| output.data.get(key));
    let set = wants
        .iter()
        .filter(|(key, value)| current(key) != Some(value))
        .map(|(k, v)| (k.clone(), Some(v.clone())));
    let unset = ours(question)
        .filter(|key| admission::KEYS.contains(key) && !wants.contains_key(*key))
        .map(|key| (key.to_string(), None));
    set.chain(unset).collect()
}

/// The keys that are ours when `changes` are made.
fn owned_after(
    question: &Question<'_>,
    wants: &BTreeMap<String, String>,
    changes: &BTreeMap<String, Option<String>>,
) -> BTreeSet<String> {
    let set = wants.keys().filter(|key| changes.contains_key(*key)).map(String::as_str);
    ours(question).filter(|key| changes.get(*key) != Some(&None)).chain(set).map(str::to_string).collect()
}

/// Refuses what the API server would refuse.
fn oversized(question: &Question<'_>, changes: &BTreeMap<String, Option<String>>) -> Option<Finding> {
    let size = size_after(question.snapshot.output.as_deref(), changes);
    (size > MAX_BYTES).then(|| {
        let message = format!(
            "{} would have {size} bytes, more than the {MAX_BYTES} that Kubernetes allows; nothing is written, what is live stays",
            config_map(question.spec, &question.spec.output_config_map)
        );
        Finding::no(Type::Applied, Reason::TooLarge, message)
    })
}

/// Bytes of all values of the output ConfigMap when `changes` are made: what [`MAX_BYTES`] limits.
pub fn size_after(output: Option<&ConfigMapState>, changes: &BTreeMap<String, Option<String>>) -> usize {
    let kept = output
        .into_iter()
        .flat_map(|o| &o.data)
        .filter(|(key, _)| !changes.contains_key(*key))
        .map(|(_, v)| v.len());
    let binary = output.into_iter().flat_map(|o| o.binary.values()).map(|value| value.len);
    let new = changes.values().flatten().map(String::len);
    kept.chain(binary).chain(new).sum()
}

/// Writes, if the ration allows it.
fn hand_out(
    question: &Question<'_>,
    changes: BTreeMap<String, Option<String>>,
    taken: BTreeMap<String, String>,
    decision: &mut Decision,
) {
    let Question { snapshot, spec, env, .. } = question;
    let queue_tree = changes.contains_key(&env.key);
    let repair = queue_tree && repairs(question);
    decision.applied = pending(question);
    if repair && let Permit::At(due) = budget::permit(&snapshot.observed.repairs, snapshot.now) {
        decision.applied = contended(question);
        decision.wake_at = Some(due);
        return;
    }
    if !taken.is_empty() {
        decision.backup = Some(backup(spec, taken));
    }
    let ledger_after = ledger_text(decision.keys.iter().map(String::as_str));
    let annotations = match snapshot.output.as_deref() {
        Some(output)
            if ledger(output).iter().eq(decision
                .keys
                .iter()
                .map(String::as_str)
                .collect::<BTreeSet<_>>()
                .iter()) =>
        {
            BTreeMap::new()
        }
        _ => [(MANAGED_KEYS.to_string(), ledger_after)].into(),
    };
    decision.write = Some(Write {
        name: spec.output_config_map.clone(),
        resource_version: snapshot.output.as_deref().map(|output| output.resource_version.clone()),
        data: changes,
        annotations,
        repair,
        reassert: queue_tree && question.reassert,
        widens: false,
        partial: false,
    });
}

/// Whether writing the queue tree puts back what someone else changed, rather than bringing something new.
fn repairs(question: &Question<'_>) -> bool {
    let last = question
        .snapshot
        .observed
        .last_written
        .as_ref()
        .or_else(|| question.memory.and_then(|memory| memory.config_hash.as_ref()));
    let live = live_text(question).map(checksum);
    last.is_some() && live.as_ref() != last
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

fn applied(question: &Question<'_>) -> Finding {
    let map = config_map(question.spec, &question.spec.output_config_map);
    let mut message = format!("{map} holds what was rendered");
    let size = size_after(question.snapshot.output.as_deref(), &BTreeMap::new());
    if size >= WARN_BYTES {
        message.push_str(", and is close to the 1 MiB that Kubernetes allows");
    }
    Finding::yes(Type::Applied, Reason::Applied, message)
}

fn pending(question: &Question<'_>) -> Finding {
    let map = config_map(question.spec, &question.spec.output_config_map);
    not_written(question, &map)
        .unwrap_or_else(|| Finding::no(Type::Applied, Reason::Pending, format!("{map} is being written")))
}

/// Why the last write, which was to `map`, was not made.
pub(super) fn not_written(question: &Question<'_>, map: &str) -> Option<Finding> {
    Some(match question.snapshot.observed.write_failure.as_ref()? {
        WriteFailure::Forbidden(message) => Finding::no(
            Type::Applied,
            Reason::Forbidden,
            format!("the API server does not let queuewarden write {map}: {message}"),
        ),
        WriteFailure::Rejected(message) => match rejection(message) {
            Reason::RejectedByAdmission => Finding::no(
                Type::Applied,
                Reason::RejectedByAdmission,
                format!("an admission webhook refused the write of {map}: {message}"),
            ),
            reason => Finding::no(
                Type::Applied,
                reason,
                format!("the API server refuses the write of {map} until its cause is removed: {message}"),
            ),
        },
        WriteFailure::Transient(message) => Finding::no(
            Type::Applied,
            Reason::Pending,
            format!("{map} could not be written, and is tried again: {message}"),
        ),
    })
}

/// The reason of a refusal that lasts: an admission webhook is known by the words that the API server puts before its own (apiserver
/// `plugin/webhook/errors/statuserror.go`).
pub(super) fn rejection(message: &str) -> Reason {
    let webhook = message.contains("admission webhook") && message.contains("denied the request");
    if webhook { Reason::RejectedByAdmission } else { Reason::Rejected }
}

fn observed_only(question: &Question<'_>, changes: &BTreeMap<String, Option<String>>) -> Finding {
    let keys: Vec<_> = changes.keys().map(|key| format!("`{key}`")).collect();
    let map = config_map(question.spec, &question.spec.output_config_map);
    let message = format!("in mode Enforce these keys of {map} would change: {}", keys.join(", "));
    Finding::no(Type::Applied, Reason::ObserveMode, message)
}

fn contended(question: &Question<'_>) -> Finding {
    let rival = question
        .snapshot
        .observed
        .rival
        .as_deref()
        .map_or("another writer".to_string(), |name| format!("\"{name}\""));
    let message = format!(
        "{rival} keeps changing key `{}` of {}; it is put back at growing intervals, so what is live may not be what is wanted. \
         Take the key out of what that writer applies",
        question.env.key,
        config_map(question.spec, &question.spec.output_config_map)
    );
    Finding::no(Type::Applied, Reason::Contended, message)
}

fn shadowed(question: &Question<'_>) -> Option<Finding> {
    let shadow = question.env.shadow.as_ref()?;
    let message = format!(
        "binaryData key `{shadow}` of {} hides key `{}` from the scheduler; remove it",
        config_map(question.spec, &question.spec.output_config_map),
        question.env.key
    );
    Some(Finding::no(Type::Applied, Reason::ShadowedByBinaryData, message))
}
