//! ConfigMaps of `YuniKorn`: the queue tree inside, and the admission controller's keys.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cli::input::Inputs;
use crate::cli::input::object::{Document, Object, Step, path};
use crate::cli::input::scalar::Places;
use crate::model::admission::{self, AccessControl};
use crate::model::config::verdict;
use crate::plan::snapshot::{YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS};
use crate::text::diag::Diagnostic;

/// The partitions that a scheduler on Kubernetes runs: the shim knows no other (k8shim `utils.go`, `GetNormalizedPartitionName`). A text without
/// it hangs a scheduler that reloads.
const ACTIVE: &[&str] = &["default"];

/// Everything wrong with the texts in a ConfigMap. Of a ConfigMap that `YuniKorn` reads every `*.yaml` key counts, of any other one only
/// what looks like a queue tree: it may be the base under another name.
pub fn check(inputs: &Inputs, object: &Object) -> Vec<Diagnostic> {
    let known = [YUNIKORN_DEFAULTS, YUNIKORN_CONFIGS].contains(&object.name.as_str());
    let data = object.document.value.get("data").and_then(Value::as_object);
    let mut found = Vec::new();
    for (key, value) in data.into_iter().flatten() {
        let Some(text) = value.as_str() else { continue };
        let steps = path(&["data", key]);
        if known && admission::KEYS.contains(&key.as_str()) {
            let keys = BTreeMap::from([(key.clone(), text.to_string())]);
            let (_, diagnostics) = AccessControl::from_keys(&keys);
            found.extend(within(inputs, &object.document, &steps, diagnostics));
        }
        if key.strip_suffix(".yaml").is_some() && (known || has_partitions(text)) {
            found.extend(within(inputs, &object.document, &steps, verdict(text, ACTIVE).diagnostics));
        }
    }
    found
}

/// Everything wrong with a file that is a queues.yaml.
pub fn check_bare(inputs: &Inputs, document: &Document) -> Vec<Diagnostic> {
    verdict(inputs.bare_text(document), ACTIVE).diagnostics
}

fn has_partitions(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("partitions:"))
}

/// Findings about the string at `steps`, with places in the file.
pub(super) fn within(
    inputs: &Inputs,
    document: &Document,
    steps: &[Step],
    diagnostics: Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    if diagnostics.is_empty() {
        return diagnostics;
    }
    let text = inputs.sources.get(document.source).map_or("", |source| source.text.as_str());
    let part = text.get(document.range.start..document.range.end).unwrap_or_default();
    let places = document.node_at(steps).map(|node| Places::trace(part, node));
    let key = document.place_of_key(steps);
    diagnostics
        .into_iter()
        .map(|diagnostic| {
            // What is about the whole text is shown at its key rather than over all of its lines.
            let at = match (diagnostic.span, &places) {
                (Some(span), Some(places)) => document.in_text(places.span(span)),
                _ => key,
            };
            Diagnostic { span: Some(at), ..diagnostic }
        })
        .collect()
}
