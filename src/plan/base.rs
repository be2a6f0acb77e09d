//! The base: the text with the queue tree, into which ACLs are rendered.

use std::fmt::Write as _;
use std::sync::Arc;

use super::conditions::{Finding, Reason, Type};
use super::environment::{Environment, config_map, text_in};
use super::header;
use super::readings::{Reading, Readings};
use super::snapshot::{ConfigSpec, Snapshot, YUNIKORN_DEFAULTS};
use crate::model::config::{BUILT_IN, Config, contains_checksum_marker};
use crate::text::diag::Diagnostic;

/// How many diagnostics of a base a condition shows.
const SHOWN: usize = 3;

/// A base that ACLs can be rendered into.
#[derive(Debug, Clone)]
pub(super) struct Base {
    /// Its text, without a header of ours, and its queues.
    pub read: Arc<Reading>,
    /// Where it comes from, for the header: `ConfigMap yunikorn/yunikorn-defaults, key queues.yaml`.
    pub source: String,
    /// Its queues.
    pub tree: Arc<Config>,
    /// Condition `BaseResolved`.
    pub finding: Finding,
}

/// Finds and reads the base; the error is condition `BaseResolved`.
pub(super) fn resolve(
    snapshot: &Snapshot,
    spec: &ConfigSpec,
    env: &Environment,
    known: &mut Readings,
) -> Result<Base, Finding> {
    let key = spec.base_key.as_deref().unwrap_or(&env.key);
    let map = config_map(spec, &spec.base_config_map);
    if let Some(text) = snapshot.base.as_deref().and_then(|base| text_in(base, key)) {
        return read(header::strip(&text), format!("{map}, key {key}"), None, known);
    }
    let missing = match &snapshot.base {
        None => format!("{map} does not exist"),
        Some(_) => format!("{map} has no key `{key}`"),
    };
    let text = stand_in(snapshot, spec, env, &missing)?;
    read(text, "YuniKorn's built-in default".into(), Some(&missing), known)
}

/// The built-in default stands in for a base that was never there. For one that has gone it must not: the default has no queues
/// and lets everyone in.
fn stand_in(
    snapshot: &Snapshot,
    spec: &ConfigSpec,
    env: &Environment,
    missing: &str,
) -> Result<&'static str, Finding> {
    let no =
        |why: &str| Err(Finding::no(Type::BaseResolved, Reason::BaseNotFound, format!("{missing}; {why}")));
    if spec.base_config_map != YUNIKORN_DEFAULTS {
        return no("create it, or set spec.base to where the queue tree is");
    }
    let written_from_a_base = snapshot
        .output
        .as_ref()
        .and_then(|output| output.data.get(&env.key))
        .and_then(|text| header::split(text))
        .is_some_and(|parts| parts.origin != header::origin("YuniKorn's built-in default"));
    if written_from_a_base {
        return no(
            "it was there before, so what is live stays; bring it back, or write the tree you want into it",
        );
    }
    Ok(BUILT_IN)
}

/// Reads the text of the base, or what stands in for it because of what is `missing`.
fn read(text: &str, source: String, missing: Option<&str>, known: &mut Readings) -> Result<Base, Finding> {
    let invalid = |message: String| Finding::no(Type::BaseResolved, Reason::BaseInvalid, message);
    if contains_checksum_marker(text) {
        let message = format!(
            "{source} contains the text `checksum: `, which hides what follows it from the scheduler's comparison of \
             configurations; remove it, also from comments"
        );
        return Err(invalid(message));
    }
    let read = known.of(text);
    let findings =
        |errors: bool| -> Vec<_> { read.diagnostics.iter().filter(|d| d.is_error() == errors).collect() };
    let tree = match (&read.tree, &read.refusal) {
        (Some(tree), None) => Arc::clone(tree),
        (_, refusal) => {
            let errors = findings(true);
            let why = if errors.is_empty() { refusal.clone().unwrap_or_default() } else { shown(&errors) };
            return Err(invalid(format!("{source}: {why}")));
        }
    };
    let warnings = findings(false);
    let mut message = format!("the queue tree comes from {source}");
    if let Some(missing) = missing {
        let _ = write!(message, ", because {missing}");
    }
    if !warnings.is_empty() {
        message.push_str("; ");
        message.push_str(&shown(&warnings));
    }
    let reason = if missing.is_some() { Reason::BuiltInDefault } else { Reason::BaseResolved };
    Ok(Base { read, source, tree, finding: Finding::yes(Type::BaseResolved, reason, message) })
}

/// The first few diagnostics in one line.
fn shown(diagnostics: &[&Diagnostic]) -> String {
    let mut text = diagnostics.iter().take(SHOWN).map(ToString::to_string).collect::<Vec<_>>().join("; ");
    if let Some(more) = diagnostics.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let _ = write!(text, "; and {more} more (`queuewarden validate` shows all)");
    }
    text
}
