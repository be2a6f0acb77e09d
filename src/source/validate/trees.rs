//! Checks whole queue trees, and the users who can submit as others by the admission settings.

use std::collections::HashMap;

use super::config_maps::{Pair, other_trees};
use crate::output::text::{Source, SourceDiagnostic};
use crate::source::configuration;
use crate::source::configuration::{ClusterContext, Configuration, RenderedText, Text};
use crate::source::files::FileSource;
use crate::source::input::Inputs;
use crate::source::input::object::{Kind, Object};
use go_compat::diag::Diagnostic;
use queuewarden_plan::{admission_settings, field_of as setting_of, risks};
use queuewarden_report::trusted;
use yunikorn::admission;
use yunikorn::admission::pitfalls::CODES as TRUST;
use yunikorn_access::lint::codes::ROOT_EVERYONE;
use yunikorn_access::lint::{Finding, Known, lint};
use yunikorn_access::{Origin, Tree};

/// Objects by `Kind/name`.
type Objects<'i> = HashMap<String, &'i Object>;

/// Returns all findings about the trees in files, and the number of their queues. A text that is not among
/// the sources is added to them.
pub fn of_files(
    given: &FileSource,
    known: &Known,
    sources: &mut Vec<Source>,
) -> (Vec<SourceDiagnostic>, usize) {
    let inputs = &given.inputs;
    let pairs = Pair::all(given);
    let objects = inputs.objects.iter().map(|object| (object.label(), object)).collect();
    let settled = given.settled();
    let mut found = Vec::new();
    for pair in &pairs {
        let of_pair = if pair.here { risks(&settled) } else { risks(&pair.snapshot) };
        found.extend(of_pair.into_iter().filter_map(|risk| of_config_map(inputs, pair, risk)));
    }
    let mut queues = 0_usize;
    for (configuration, pair) in configured(given, &pairs) {
        let admission = admission_settings(&configuration.rendered.context.settled);
        for tree in &configuration.view.trees {
            queues = queues.saturating_add(tree.queues().len());
            found.extend(linted(&configuration, tree, known, &objects, sources));
            let trusted = trusted(tree, &admission).into_iter();
            found.extend(trusted.filter_map(|risk| of_setting(inputs, pair?, &objects, risk)));
        }
    }
    (found, queues)
}

/// Returns all findings about the configuration of a cluster. `sources` gets the texts.
pub fn of_cluster(
    configuration: &Configuration,
    known: &Known,
    sources: &mut Vec<Source>,
) -> Vec<SourceDiagnostic> {
    let (source, of_text) = configuration.drawn(configuration.diagnostics.iter().cloned());
    let index = added(sources, source);
    let mut found: Vec<_> = of_text.map(|diagnostic| SourceDiagnostic::new(index, diagnostic)).collect();
    let settled = &configuration.rendered.context.settled;
    let admission = admission_settings(settled);
    for tree in &configuration.view.trees {
        found.extend(linted(configuration, tree, known, &Objects::new(), sources));
        found.extend(trusted(tree, &admission).into_iter().map(of_settings));
    }
    let risks = risks(settled).into_iter().filter(|(_, risk)| TRUST.contains(&risk.code));
    found.extend(risks.map(of_settings));
    found
}

/// Returns the configurations in files: the operator's output, and each other text of queues
/// by itself. Each comes with the ConfigMaps that its admission settings are from.
fn configured<'p, 'i>(
    given: &'i FileSource,
    pairs: &'p [Pair<'i>],
) -> Vec<(Configuration, Option<&'p Pair<'i>>)> {
    let version = given.snapshot.version();
    let inputs = &given.inputs;
    let here = pairs.iter().find(|pair| pair.here);
    let located = |map: &str, key: &str, text| given.text_in(map, key, text);
    // If the operator would write nothing, the ConfigMaps are checked as they are.
    let as_it_is = || configuration::current(&given.merged(), located, &mut Vec::new());
    let main = given.written(&mut Vec::new()).or_else(|_| {
        let context = given.context();
        as_it_is().map(|text| RenderedText { context, ..RenderedText::alone(text, version) })
    });
    let main = main.ok().filter(|_| given.has_tree).map(|written| (written, here));
    let elsewhere = pairs.iter().filter(|pair| !pair.here).filter_map(|pair| {
        let located = |_: &str, key: &str, text| {
            let origin = pair.flat.get(&pair.flat.queues_key()).map(|value| &value.origin);
            let object = origin.and_then(|origin| pair.object(origin));
            object.map_or_else(
                || Text::made(key, String::new()),
                |object| Text::inside(inputs, &object.document, key, text),
            )
        };
        let text = configuration::current(&pair.flat, located, &mut Vec::new()).ok()?;
        let context = ClusterContext::unchanged(pair.snapshot.clone());
        Some((RenderedText { context, ..RenderedText::alone(text, version) }, Some(pair)))
    });
    let bare = inputs.bare.iter().filter(|document| inputs.base != Some(document.source));
    let bare = bare.filter_map(|document| {
        let source = inputs.sources.get(document.source)?;
        Some(Text::of(source, inputs.bare_text(document).to_owned()))
    });
    let base_name = given.spec.base_config_map.as_str();
    let others = other_trees(inputs).filter(|(object, ..)| object.name != base_name);
    let others =
        others.map(|(object, _, tree)| Text::inside(inputs, &object.document, &tree.origin.key, tree.text));
    let alone = bare.chain(others).map(|text| (RenderedText::alone(text, version), None));
    let all = main.into_iter().chain(elsewhere).chain(alone);
    // A text that cannot be read has been reported as such.
    all.filter_map(|(written, pair)| Some((Configuration::at_start(written).ok()?.0, pair))).collect()
}

/// Returns the findings about a tree, without that on the built-in configuration, which is reported where it
/// should have been replaced.
fn linted(
    configuration: &Configuration,
    tree: &Tree,
    known: &Known,
    objects: &Objects<'_>,
    sources: &mut Vec<Source>,
) -> Vec<SourceDiagnostic> {
    let built_in = configuration.is_built_in();
    let findings = lint(tree, known).into_iter();
    let findings = findings.filter(|finding| !(built_in && finding.diagnostic.code == ROOT_EVERYONE));
    findings.map(|finding| placed(objects, sources, configuration, tree, finding)).collect()
}

/// Finds the text that a finding is about: a queues.yaml, or the file with the object that wrote it. A text
/// that is not among the sources is added to them.
fn placed(
    objects: &Objects<'_>,
    sources: &mut Vec<Source>,
    configuration: &Configuration,
    tree: &Tree,
    finding: Finding,
) -> SourceDiagnostic {
    let queue = finding.queue.map(|queue| tree.path(queue).to_string());
    let acl = finding.right.map(Into::into);
    let unplaced = SourceDiagnostic::new(None, finding.diagnostic.at(None));
    let mut shown = SourceDiagnostic { queue, acl, ..unplaced };
    match &finding.origin {
        Some(Origin::Object { kind, name, .. }) => {
            let label = format!("{kind}/{name}");
            if let Some((object, right)) = objects.get(&label).zip(finding.right) {
                let document = &object.document;
                shown.source = Some(document.source);
                let field = format!("/spec/{}", right.field());
                shown.diagnostic.span = Some(document.span_of_key(&field));
            }
            shown.object = Some(label);
        }
        Some(origin) => {
            if let Some((source, span)) = configuration.shown(origin) {
                shown.source = Some(added(sources, source));
                shown.diagnostic.span = span;
            }
        }
        None => {}
    }
    shown
}

/// Returns the number of a source, which is added if it is not among them.
pub fn added(sources: &mut Vec<Source>, source: &Source) -> usize {
    let known = sources.iter().position(|known| known.name == source.name);
    known.unwrap_or_else(|| {
        sources.push(source.clone());
        sources.len().saturating_sub(1)
    })
}

/// Returns the key whose field a message begins with.
fn key_of(diagnostic: &Diagnostic) -> Option<&'static str> {
    let (field, _) = diagnostic.message.split_once(": ")?;
    admission::KEYS.into_iter().find(|key| setting_of(key) == field)
}

/// Returns a finding about an admission setting that is written in a ConfigMap. Findings about single
/// expressions are left out, because those of all keys are found together, and findings about an
/// `AdmissionPolicy` are found with the object.
fn of_config_map(
    inputs: &Inputs,
    pair: &Pair<'_>,
    (origin, risk): (Origin, Diagnostic),
) -> Option<SourceDiagnostic> {
    let is_here = matches!(origin, Origin::Object { kind: "ConfigMap", .. }) && TRUST.contains(&risk.code);
    let key = key_of(&risk).filter(|_| is_here)?;
    pair.placed(inputs, key, risk)
}

/// Returns a finding about an expression of an admission setting, at the expression.
fn of_setting(
    inputs: &Inputs,
    pair: &Pair<'_>,
    objects: &Objects<'_>,
    (origin, diagnostic): (Origin, Diagnostic),
) -> Option<SourceDiagnostic> {
    let key = key_of(&diagnostic)?;
    let Origin::Object { kind, name, .. } = origin else { return None };
    let object = objects.get(&format!("{kind}/{name}"))?;
    if object.kind == Kind::ConfigMap {
        return pair.placed(inputs, key, diagnostic);
    }
    let at = object.document.span(&format!("/spec/{}", setting_of(key)));
    Some(object.finding(diagnostic.at(at)))
}

/// Returns a finding about an admission setting of a cluster, which has no location in a text.
fn of_settings((origin, diagnostic): (Origin, Diagnostic)) -> SourceDiagnostic {
    let object = match origin {
        Origin::Object { kind, name, .. } => Some(format!("{kind}/{name}")),
        Origin::Text(_) => None,
    };
    SourceDiagnostic { object, ..SourceDiagnostic::new(None, diagnostic.at(None)) }
}
