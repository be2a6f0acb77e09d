//! The base: the text with the queue tree that ACLs are rendered into.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::conditions::{Finding, Reason, Type};
use crate::effective::merged::queues_key;
use crate::effective::{
    EffectiveConfig, ParseCache, ParsedConfig, header, is_queues_key, managed_keys, text_in,
};
use crate::planted::{PlantedFault, is_planted};
use crate::snapshot::{ConfigSpec, LastBase, Snapshot, YUNIKORN_DEFAULTS};
use go_compat::diag::Diagnostic;
use yunikorn::Config;
use yunikorn::config::{BUILT_IN, Flattened, contains_checksum_marker};
use yunikorn_access::alias;

/// Maximum number of the base's diagnostics in a condition.
const SHOWN: usize = 3;
/// The source of the built-in base.
const BUILT_IN_SOURCE: &str = "YuniKorn's built-in default";

/// A base that ACLs can be rendered into.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    /// Its text, without a header of ours, and its queues.
    pub read: Arc<ParsedConfig>,
    /// Its source, for the header: `ConfigMap yunikorn/yunikorn-defaults, key queues.yaml`.
    pub source: String,
    /// Its queues.
    pub tree: Arc<Config>,
    /// The number of lines above the text: its header.
    pub above: usize,
    /// Condition `BaseResolved`.
    pub finding: Finding,
}

/// Finds and reads the base; the error is condition `BaseResolved`.
pub(crate) fn resolve(
    snapshot: &Snapshot,
    spec: &ConfigSpec,
    env: &EffectiveConfig,
    cache: &mut ParseCache,
) -> Result<Base, Finding> {
    let key = spec.base_key.as_deref().unwrap_or(&env.key);
    let map = spec.base_name();
    if let Some(text) = snapshot.base.as_deref().and_then(|base| text_in(base, key)) {
        let body = header::strip(&text);
        let above = text.strip_suffix(body).map_or(0, |header| header.matches('\n').count());
        return read((body, above), format!("{map}, key {key}"), None, cache);
    }
    let missing = match &snapshot.base {
        None => format!("{map} does not exist"),
        Some(_) => format!("{map} has no key `{key}`"),
    };
    let no =
        |why: &str| Err(Finding::no(Type::BaseResolved, Reason::BaseNotFound, format!("{missing}; {why}")));
    if spec.base_config_map != YUNIKORN_DEFAULTS {
        return no("create it, or set spec.base to the location of the queue tree");
    }
    if had_another(snapshot) {
        return no(
            "it existed before, so no new grants are written; restore it, or write the queue tree that you \
             want into it",
        );
    }
    read((BUILT_IN, 0), BUILT_IN_SOURCE.into(), Some(&missing), cache)
}

/// Returns the queues of the current base, without a fallback. `flat` contains the merged ConfigMaps.
pub fn base_tree(snapshot: &Snapshot, flat: &Flattened, cache: &mut ParseCache) -> Option<Arc<Config>> {
    let spec = snapshot.spec()?;
    let (key, _) = queues_key(snapshot, flat);
    let text = text_in(snapshot.base.as_deref()?, spec.base_key.as_deref().unwrap_or(&key))?;
    cache.parse_live(&text).tree.clone()
}

/// Reads the base of the last full text, for use when no other base is available.
pub(crate) fn last(snapshot: &Snapshot, cache: &mut ParseCache) -> Option<Base> {
    let LastBase { source, text, .. } = snapshot.last_base.as_ref()?;
    read((text, 0), source.clone(), None, cache).ok()
}

/// Returns whether, as far as is known, anything was ever written from a base that someone wrote. The
/// built-in default must not replace such a base, because it has no queues and lets everyone in.
fn had_another(snapshot: &Snapshot) -> bool {
    if is_planted(PlantedFault::BuiltInDefault) {
        return false;
    }
    if let Some(last) = &snapshot.last_base {
        return last.source != BUILT_IN_SOURCE;
    }
    let output = snapshot.output.as_deref();
    let texts = output.into_iter().flat_map(|output| output.data.values());
    let origins: Vec<&str> = texts.filter_map(|text| header::split(text)).map(|parts| parts.origin).collect();
    if !origins.is_empty() {
        return origins.iter().any(|origin| *origin != header::origin(BUILT_IN_SOURCE));
    }
    snapshot.config_status().is_some_and(|status| status.revision.is_some())
        || output.is_some_and(|output| managed_keys(output).iter().any(|key| is_queues_key(key)))
}

impl Base {
    /// Returns whether it equals the stored base. Each plan calls this, so it compares the text without
    /// copying it.
    pub(crate) fn is(&self, kept: Option<&LastBase>) -> bool {
        kept.is_some_and(|kept| kept.source == self.source && kept.text == self.read.text)
    }

    /// Returns the base in the form stored for [`last`].
    pub(crate) fn to_last(&self) -> LastBase {
        LastBase { source: self.source.clone(), text: self.read.text.clone(), loaded: None }
    }
}

/// Parses the text of the base, which has `above` lines before it, or its substitute while the base is
/// `missing`.
fn read(
    (text, above): (&str, usize),
    source: String,
    missing: Option<&str>,
    cache: &mut ParseCache,
) -> Result<Base, Finding> {
    let invalid = |message: String| Finding::no(Type::BaseResolved, Reason::BaseInvalid, message);
    if contains_checksum_marker(text) {
        let message = format!(
            "{source} contains the text `checksum: `, after which the scheduler ignores everything when it \
             compares configurations; remove it, also from comments"
        );
        return Err(invalid(message));
    }
    let read = cache.read(text);
    let located = |diagnostic: &Diagnostic| located(diagnostic, text, above);
    let (errors, warnings): (Vec<_>, Vec<_>) = read.diagnostics.iter().partition(|d| d.is_error());
    let tree = match (&read.tree, &read.refusal) {
        (Some(tree), None) => Arc::clone(tree),
        (_, refusal) => {
            let why =
                if errors.is_empty() { refusal.clone().unwrap_or_default() } else { shown(&errors, located) };
            return Err(invalid(format!("{source}: {why}")));
        }
    };
    if let Some(found) = alias::named_in(&tree).first() {
        return Err(invalid(format!("{source}: {}", located(found))));
    }
    let mut message = format!("the queue tree comes from {source}");
    if let Some(missing) = missing {
        let _ = write!(message, ", because {missing}");
    }
    if !warnings.is_empty() {
        message.push_str("; ");
        message.push_str(&shown(&warnings, located));
    }
    let reason = if missing.is_some() { Reason::BuiltInDefault } else { Reason::BaseResolved };
    Ok(Base { read, above, source, tree, finding: Finding::yes(Type::BaseResolved, reason, message) })
}

/// Formats a diagnostic with its line in the base, which has `above` lines before this text.
pub(crate) fn located(diagnostic: &Diagnostic, text: &str, above: usize) -> String {
    let line = diagnostic.span.and_then(|span| span.line_in(text));
    line.map_or_else(
        || diagnostic.to_string(),
        |line| format!("line {}: {diagnostic}", line.saturating_add(above)),
    )
}

/// Formats the first few diagnostics in one line.
fn shown(diagnostics: &[&Diagnostic], located: impl Fn(&Diagnostic) -> String) -> String {
    let shown = diagnostics.iter().take(SHOWN).map(|diagnostic| located(diagnostic));
    let mut text = shown.collect::<Vec<_>>().join("; ");
    if let Some(more) = diagnostics.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let _ = write!(text, "; and {more} more (`queuewarden validate` shows all)");
    }
    text
}
