//! Checks trees of queues as a whole, and whom the admission settings let submit as others.

use std::collections::HashMap;

use super::config_maps::{Pair, other_trees};
use crate::output::findings::Found;
use crate::output::text::{Source, SourceDiagnostic};
use crate::source::configuration;
use crate::source::configuration::{ClusterContext, Configuration, RenderedText, Text};
use crate::source::files::FileSource;
use crate::source::input::Inputs;
use crate::source::input::object::{Kind, Object};
use go_compat::diag::Diagnostic;
use queuewarden_api::answer::Answers;
use queuewarden_plan::{admission_settings, field_of as setting_of, risks};
use queuewarden_report::trusted;
use yunikorn::admission;
use yunikorn::admission::pitfalls::CODES as TRUST;
use yunikorn_access::lint::codes::ROOT_EVERYONE;
use yunikorn_access::lint::{Finding, Known, lint};
use yunikorn_access::{Origin, Tree};

/// A configuration, and the ConfigMaps that its admission settings are from.
struct Configured<'i> {
    configuration: Configuration,
    pair: Option<usize>,
    objects: &'i HashMap<String, &'i Object>,
}

/// Returns all findings about the trees in files, and the number of their queues. A text that is not among
/// the sources is added to them.
pub fn of_files(given: &FileSource, known: &Known, sources: &mut Vec<Source>) -> (Vec<Found>, usize) {
    let inputs = &given.inputs;
    let pairs = Pair::all(inputs, &given.assembled);
    let objects = inputs.objects.iter().map(|object| (object.label(), object)).collect();
    let settled = given.settled();
    let mut found = Vec::new();
    for pair in &pairs {
        let of_pair = if pair.here { risks(&settled) } else { risks(&pair.snapshot) };
        found.extend(of_pair.into_iter().filter_map(|risk| of_config_map(inputs, pair, risk)));
    }
    let mut queues = 0_usize;
    for Configured { configuration, pair, objects } in configured(given, &pairs, &objects) {
        let admission = admission_settings(&configuration.rendered.context.settled);
        for tree in &configuration.view.trees {
            queues = queues.saturating_add(tree.queues().len());
            let answers = Answers { source: configuration.name(), tree };
            found.extend(linted(&configuration, tree, known).into_iter().map(|finding| {
                let shown = placed(objects, sources, &configuration, &finding);
                located(&answers, &finding, shown)
            }));
            for (origin, diagnostic) in trusted(tree, &admission) {
                let pair = pair.and_then(|pair| pairs.get(pair));
                let of_pair = pair.and_then(|pair| of_setting(inputs, pair, objects, &origin, diagnostic));
                found.extend(of_pair.map(Found::from));
            }
        }
    }
    (found, queues)
}

/// Returns all findings about the configuration of a cluster. `sources` gets the texts.
pub fn of_cluster(configuration: &Configuration, known: &Known, sources: &mut Vec<Source>) -> Vec<Found> {
    let (source, of_text) = configuration.drawn(configuration.diagnostics.iter().cloned());
    let of_text = of_text.collect::<Vec<_>>();
    let index = added(sources, source);
    let shown = |diagnostic| SourceDiagnostic { source: Some(index), object: None, diagnostic };
    let mut found: Vec<Found> = of_text.into_iter().map(shown).map(Found::from).collect();
    let (objects, settled) = (HashMap::new(), &configuration.rendered.context.settled);
    let admission = admission_settings(settled);
    for tree in &configuration.view.trees {
        let answers = Answers { source: configuration.name(), tree };
        found.extend(linted(configuration, tree, known).into_iter().map(|finding| {
            let shown = placed(&objects, sources, configuration, &finding);
            located(&answers, &finding, shown)
        }));
        found.extend(trusted(tree, &admission).into_iter().map(|risk| Found::from(of_settings(risk))));
    }
    let risks = risks(settled).into_iter().filter(|(_, risk)| TRUST.contains(&risk.code));
    found.extend(risks.map(of_settings).map(Found::from));
    found
}

/// Returns the configurations in files: the one that the operator would write, and each other text of queues
/// by itself.
fn configured<'i>(
    given: &'i FileSource,
    pairs: &[Pair<'i>],
    objects: &'i HashMap<String, &'i Object>,
) -> Vec<Configured<'i>> {
    let version = given.version();
    let inputs = &given.inputs;
    let here = pairs.iter().position(|pair| pair.here);
    let located = |map: &str, key: &str, text| given.text_in(map, key, text);
    // If the operator would write nothing, the ConfigMaps are checked as they are.
    let as_it_is = || configuration::current(&given.merged(), located, &mut Vec::new());
    let main = given.written(&mut Vec::new()).or_else(|_| {
        let context = given.context();
        as_it_is().map(|text| RenderedText { context, ..RenderedText::alone(text, version) })
    });
    let main = main.ok().filter(|_| given.assembled.has_tree).map(|written| (written, here));
    let elsewhere = pairs.iter().enumerate().filter(|(_, pair)| !pair.here).filter_map(|(number, pair)| {
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
        Some((RenderedText { context, ..RenderedText::alone(text, version) }, Some(number)))
    });
    let bare = inputs.bare.iter().filter(|document| inputs.base != Some(document.source));
    let bare = bare.filter_map(|document| {
        let source = inputs.sources.get(document.source)?;
        Some(Text::of(source, inputs.bare_text(document).to_owned()))
    });
    let base_name = given.assembled.spec.base_config_map.as_str();
    let others = other_trees(inputs).filter(|tree| tree.object.name != base_name);
    let others = others
        .map(|tree| Text::inside(inputs, &tree.object.document, tree.written_key(), tree.text().to_owned()));
    let alone = bare.chain(others).map(|text| (RenderedText::alone(text, version), None));
    let all = main.into_iter().chain(elsewhere).chain(alone);
    // A text that cannot be read has been reported as such.
    let read = all.filter_map(|(written, pair)| {
        let (configuration, _) = Configuration::at_start(written).ok()?;
        Some(Configured { configuration, pair, objects })
    });
    read.collect()
}

/// Returns the findings about a tree, without that on the built-in configuration, which is reported where it
/// should have been replaced.
fn linted(configuration: &Configuration, tree: &Tree, known: &Known) -> Vec<Finding> {
    let built_in = configuration.is_built_in();
    let mut found = lint(tree, known);
    found.retain(|finding| !(built_in && finding.diagnostic.code == ROOT_EVERYONE));
    found
}

fn located(answers: &Answers<'_>, finding: &Finding, shown: SourceDiagnostic) -> Found {
    let queue = finding.queue.map(|queue| answers.tree.path(queue).to_string());
    Found { shown, queue, acl: finding.right.map(Into::into) }
}

/// Finds the text that a finding is about: a queues.yaml, or the file with the object that wrote it. A text
/// that is not among the sources is added to them.
fn placed(
    objects: &HashMap<String, &Object>,
    sources: &mut Vec<Source>,
    configuration: &Configuration,
    finding: &Finding,
) -> SourceDiagnostic {
    let diagnostic = finding.diagnostic.clone().at(None);
    let mut shown = SourceDiagnostic { source: None, object: None, diagnostic };
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
fn of_config_map(inputs: &Inputs, pair: &Pair<'_>, (origin, risk): (Origin, Diagnostic)) -> Option<Found> {
    let is_here = matches!(origin, Origin::Object { kind: "ConfigMap", .. }) && TRUST.contains(&risk.code);
    let key = key_of(&risk).filter(|_| is_here)?;
    pair.placed(inputs, key, risk).map(Found::from)
}

/// Returns a finding about an expression of an admission setting, at the expression.
fn of_setting(
    inputs: &Inputs,
    pair: &Pair<'_>,
    objects: &HashMap<String, &Object>,
    origin: &Origin,
    diagnostic: Diagnostic,
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
    SourceDiagnostic { source: None, object, diagnostic: diagnostic.at(None) }
}
