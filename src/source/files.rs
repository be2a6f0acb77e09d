//! The configuration in files: a queue tree by itself or in `YuniKorn`'s ConfigMaps, and with objects of
//! ours the text that the operator would make of it. For that, files become a snapshot as the operator takes
//! it of a cluster.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::DynamicObject;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::configuration::{self, ClusterContext, Configuration, ObjectChange, RenderedText, Text};
use super::input::object::{Document, Kind, Object, token};
use super::input::{Inputs, ours, source};
use super::schema;
use super::times::clock;
use crate::output::findings::{self, plural};
use crate::output::text::SourceDiagnostic;
use crate::output::{Console, Failure};
use go_compat::diag::{Code, Diagnostic, quoted};
use queuewarden_api::{config_map, convert, v1alpha1};
use queuewarden_plan::simulate::{enforced, settle};
use queuewarden_plan::snapshot::{
    ConfigEntry, ConfigMapState, ConfigSpec, Entry, Meta, Observed, Snapshot, YUNIKORN_CONFIGS,
    YUNIKORN_DEFAULTS,
};
use queuewarden_plan::{ObjectRef, ResourceKind, merged};
use yunikorn::config::Flattened;

/// The object's `metadata`, or a ConfigMap's `data`, is not what Kubernetes takes.
pub const MALFORMED: Code = Code::new(6007, "malformed-object");

/// All codes of this module.
pub const CODES: &[Code] = &[MALFORMED];

/// The input files, and the snapshot that they make.
#[derive(Debug, Clone)]
pub struct FileSource {
    /// The inputs.
    pub inputs: Inputs,
    /// The snapshot for the plan.
    pub snapshot: Snapshot,
    /// The settings of the `YuniKornConfig`, or the defaults.
    pub spec: ConfigSpec,
    /// True if the input holds a queue tree; otherwise `YuniKorn`'s built-in default is used.
    pub has_tree: bool,
    /// The output ConfigMap as it was written.
    pub output: Option<Value>,
    /// Findings on the texts, and objects that Kubernetes itself would reject.
    pub findings: Vec<SourceDiagnostic>,
    /// ConfigMaps that `YuniKorn` does not read, by name.
    pub unused: Vec<String>,
}

impl FileSource {
    /// Assembles the snapshot at a time, or now.
    pub fn new(inputs: Inputs, now: Option<Timestamp>) -> Self {
        let mut findings = inputs.findings.clone();
        let mut config = config(&inputs, &mut findings);
        if let (Some(version), Ok(spec)) = (inputs.version, &mut config.spec) {
            spec.version = Some(version);
        }
        let spec = config.spec.clone().unwrap_or_default();
        let maps = inputs.of_kind(Kind::ConfigMap);
        let (here, elsewhere): (Vec<&Object>, Vec<&Object>) = maps.partition(|object| is_here(object, &spec));
        let maps: Vec<(&Object, Arc<ConfigMapState>)> = here
            .into_iter()
            .filter_map(|object| {
                let map: ConfigMap = typed(object, &mut findings)?;
                Some((object, Arc::new(config_map::state(&map))))
            })
            .collect();
        let find = |name: &str| maps.iter().find(|(object, _)| object.name == name);
        let state = |name: &str| find(name).map(|(_, state)| Arc::clone(state));
        let unread = maps.iter().map(|(object, _)| *object).filter(|object| !is_read(object, &spec));
        let unused = unread.chain(elsewhere).map(|object| match object.namespace.as_str() {
            "" => object.name.clone(),
            namespace => format!("{namespace}/{}", object.name),
        });
        let unused = unused.collect();
        let output = find(&spec.output_config_map).map(|(object, _)| object.document.value.clone());
        let mut objects = |kind| -> Vec<DynamicObject> {
            inputs.of_kind(kind).filter_map(|object| typed(object, &mut findings)).collect()
        };
        let queue_acls = objects(ResourceKind::QueueAcl);
        let policies = objects(ResourceKind::AdmissionPolicy);
        let access_tests = objects(ResourceKind::QueueAccessTest);
        let mut snapshot = Snapshot {
            now: now.unwrap_or_else(clock),
            config: Some(config),
            queue_acls: queue_acls.iter().map(convert::queue_acl).map(Arc::new).collect(),
            policies: policies.iter().map(convert::admission_policy).collect(),
            access_tests: access_tests.iter().map(convert::access_test).collect(),
            defaults: state(YUNIKORN_DEFAULTS),
            base: state(&spec.base_config_map),
            output: state(&spec.output_config_map),
            last_base: None,
            mirror: None,
            observed: Observed { release: inputs.version.map(|it| it.to_string()), ..Observed::default() },
        };
        if let Some(text) = inputs.base_text() {
            replace_base(&mut snapshot, &spec, text.to_owned());
        }
        let has_tree =
            [&snapshot.defaults, &snapshot.base, &snapshot.output].into_iter().any(Option::is_some);
        Self { inputs, snapshot, spec, has_tree, output, findings, unused }
    }

    /// Prints everything that is wrong with the files.
    ///
    /// # Errors
    /// When a part of them cannot be read.
    pub fn checked(self, console: Console) -> Result<Self, Failure> {
        console.err(&findings::text(&self.inputs.sources, &self.unreadable(), console.look_err()));
        let mut unread = self.findings.iter().chain(&self.inputs.alternatives);
        if unread.any(|finding| finding.diagnostic.is_error()) {
            return Err(Failure::Undecided("part of the input cannot be read".to_owned()));
        }
        Ok(self)
    }

    /// Returns findings on the files as such; problems of the objects are in their conditions.
    pub fn unreadable(&self) -> Vec<SourceDiagnostic> {
        let mut found = [self.findings.as_slice(), &self.inputs.alternatives].concat();
        for object in self.inputs.objects.iter().filter(|object| object.kind != Kind::ConfigMap) {
            found.extend(schema::check(object).into_iter().map(|diagnostic| object.finding(diagnostic)));
        }
        findings::sort(&mut found);
        found
    }

    /// Returns the configuration in the files. Its notes are only printed on failure.
    ///
    /// # Errors
    /// When `YuniKorn`'s configuration cannot be determined.
    pub fn configuration(&self, console: Console) -> Result<Configuration, Failure> {
        let mut notes = Vec::new();
        let written = self.written(&mut notes)?;
        Configuration::read(written, notes, true, console)
    }

    /// Returns both ConfigMaps as `YuniKorn` merges them, with the operator's output for
    /// `AdmissionPolicy` objects.
    pub fn merged(&self) -> Flattened {
        merged(&self.settled())
    }

    /// Returns the configuration with the operator's output for `AdmissionPolicy` objects.
    pub fn settled(&self) -> Cow<'_, Snapshot> {
        let snapshot = &self.snapshot;
        if snapshot.policies.is_empty() {
            return Cow::Borrowed(snapshot);
        }
        Cow::Owned(settle(enforced(snapshot)).snapshot)
    }

    /// Returns the objects and settings, with the operator's output for `AdmissionPolicy` objects.
    pub fn context(&self) -> ClusterContext {
        let settled = Arc::new(self.settled().into_owned());
        ClusterContext { read: Arc::new(self.snapshot.clone()), settled }
    }

    /// Returns the `QueueAcl`s and `AdmissionPolicy` objects, if there is nothing else: then the files are no
    /// configuration, but a change to one.
    pub fn change(&self) -> Option<ObjectChange> {
        let Snapshot { queue_acls, policies, .. } = &self.snapshot;
        let count = queue_acls.len() + policies.len();
        let others = self.inputs.objects.len() != count || !self.inputs.bare.is_empty();
        let (queue_acls, policies) = (queue_acls.clone(), policies.clone());
        (!others && count > 0).then(|| ObjectChange { queue_acls, policies, deleted: Vec::new() })
    }

    /// Returns the manifest of an object; `None` if it is not in the files.
    pub fn find(&self, object: &ObjectRef) -> Option<Value> {
        let found = self.inputs.of_kind(object.kind).find(|found| *found.name == *object.name);
        found.map(|object| object.document.value.clone())
    }

    /// Returns the same with another snapshot.
    #[must_use]
    pub fn with(&self, snapshot: Snapshot) -> Self {
        Self { snapshot, ..self.clone() }
    }

    /// Returns the text that the questions are about.
    ///
    /// # Errors
    /// When it cannot be determined.
    pub fn written(&self, notes: &mut Vec<String>) -> Result<RenderedText, Failure> {
        self.one_tree(notes)?;
        let snapshot = &self.snapshot;
        let located = |map: &str, key: &str, text| self.text_in(map, key, text);
        if snapshot.queue_acls.is_empty()
            && self.inputs.of_kind(ResourceKind::YuniKornConfig).next().is_none()
        {
            return self.current(notes);
        }
        match configuration::written(snapshot, located, notes) {
            // Without objects to write, the ConfigMaps decide.
            Err(Failure::Undecided(why))
                if snapshot.queue_acls.is_empty() && snapshot.policies.is_empty() =>
            {
                notes.push(format!("{why}; the answer is for the text in the ConfigMaps"));
                self.current(notes)
            }
            written => written,
        }
    }

    /// Returns the text in the ConfigMaps.
    fn current(&self, notes: &mut Vec<String>) -> Result<RenderedText, Failure> {
        let snapshot = &self.snapshot;
        let text =
            configuration::current(&merged(snapshot), |map, key, text| self.text_in(map, key, text), notes)?;
        let context = self.context();
        context.note_refused(notes);
        Ok(RenderedText { context, ..RenderedText::alone(text, snapshot.version()) })
    }

    /// Requires that there is one queue tree, and adds a note for each input that is not used.
    fn one_tree(&self, notes: &mut Vec<String>) -> Result<(), Failure> {
        let bare: Vec<&str> = self.inputs.unused_bare().collect();
        if bare.len() > 1 && self.inputs.base.is_none() {
            return Err(Failure::Usage(format!(
                "{} are several queues.yaml files, but a question requires exactly one: omit the others, or select one with --base",
                bare.join(" and ")
            )));
        }
        let unused = &self.unused;
        let unused =
            (!unused.is_empty()).then(|| format!("YuniKorn does not read ConfigMap {}", unused.join(", ")));
        let namespaces = namespaces(&self.inputs);
        if !self.has_tree && namespaces.len() > 1 {
            return Err(Failure::Usage(format!(
                "the ConfigMaps are in the namespaces {}: name YuniKorn's with --cluster-namespace",
                namespaces.join(" and ")
            )));
        }
        if !self.has_tree {
            let read = unused.unwrap_or_else(|| {
                let objects = plural(self.inputs.objects.len(), "object");
                format!("there is no queue tree among the {objects} that were read")
            });
            let namespace = &self.spec.namespace;
            let elsewhere = match namespaces.as_slice() {
                [other] => format!(" in namespace {namespace}, or give --cluster-namespace {other}"),
                _ => String::new(),
            };
            return Err(Failure::Undecided(format!(
                "{read}: add a queues.yaml, or the ConfigMap {YUNIKORN_DEFAULTS} or {YUNIKORN_CONFIGS} that \
                holds it{elsewhere}"
            )));
        }
        notes.extend(bare.iter().map(|name| {
            format!(
                "{name} is a bare queues.yaml and is ignored, because there are also ConfigMaps: to use it as the base, pass --base {name}"
            )
        }));
        notes.extend(unused);
        Ok(())
    }

    /// Returns a text of a ConfigMap with its location.
    pub fn text_in(&self, map: &str, key: &str, text: String) -> Text {
        let base = self.inputs.base.and_then(|base| self.inputs.sources.get(base));
        if let Some(base) = base.filter(|_| self.inputs.base_text() == Some(text.as_str())) {
            return Text::of(base, text);
        }
        let namespace = &self.spec.namespace;
        let is_it = |object: &&Object| {
            object.name == map && (object.namespace.is_empty() || object.namespace == *namespace)
        };
        match self.inputs.of_kind(Kind::ConfigMap).find(is_it) {
            Some(object) => Text::inside(&self.inputs, &object.document, key, text),
            None => Text::whole(format!("{map}/{key}"), text),
        }
    }
}

/// Returns the bare queues.yaml, if there is exactly one and no ConfigMap that `YuniKorn` reads.
fn only_bare(inputs: &Inputs) -> Option<&Document> {
    let [document] = inputs.bare.as_slice() else { return None };
    let spec = config(inputs, &mut Vec::new()).spec.unwrap_or_default();
    let read = inputs.of_kind(Kind::ConfigMap).any(|object| is_here(object, &spec) && is_read(object, &spec));
    (!read).then_some(document)
}

/// Returns the name of the ConfigMap with the base.
fn base_name(inputs: &Inputs) -> String {
    config(inputs, &mut Vec::new()).spec.unwrap_or_default().base_config_map
}

/// Reads the base from a file, or else takes the only bare queues.yaml, unless there is a ConfigMap that
/// `YuniKorn` reads.
///
/// # Errors
/// When the file cannot be read, or holds several queue trees.
pub fn choose_base(inputs: &mut Inputs, path: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = path else {
        inputs.base = only_bare(inputs).map(|document| document.source);
        return Ok(());
    };
    let source = source::read_one(path)?;
    let own = Inputs::new(vec![source.clone()]);
    let maps = || own.objects.iter().filter(|object| object.kind == Kind::ConfigMap);
    if !own.bare.is_empty() || maps().next().is_none() {
        inputs.set_base(source);
        return Ok(());
    }
    let name = base_name(inputs);
    let trees: Vec<&Object> = maps().filter(|object| ours::is_ours(&object.document.value)).collect();
    let [tree] = trees.as_slice() else {
        return Err(Failure::Usage(format!(
            "`{}` contains {} ConfigMaps with queues, but --base requires a file with one",
            source.name,
            trees.len()
        )));
    };
    // It replaces the base ConfigMap, whichever name it has here.
    let mut tree = (*tree).clone();
    tree.document.source =
        inputs.sources.iter().position(|known| *known == source).unwrap_or(inputs.sources.len());
    if tree.document.source == inputs.sources.len() {
        inputs.sources.extend(own.sources);
    }
    tree.document.value = renamed(std::mem::take(&mut tree.document.value), &name);
    (tree.name, tree.namespace) = (name, String::new());
    let replaced = |object: &Object| object.kind == tree.kind && object.name == tree.name;
    let of_file = tree.document.source;
    inputs.objects.retain(|object| {
        !replaced(object) && (object.kind != tree.kind || object.document.source != of_file)
    });
    let label = tree.label();
    inputs.alternatives.retain(|finding| finding.object.as_ref() != Some(&label));
    inputs.objects.push(tree);
    Ok(())
}

/// Returns the manifest of a ConfigMap under another name, without its namespace.
fn renamed(mut value: Value, name: &str) -> Value {
    if let Some(fields) = value.as_object_mut() {
        fields.insert("metadata".to_owned(), json!({"name": name}));
    }
    value
}

/// Returns the given settings, or else the defaults. The command line may name `YuniKorn`'s namespace.
/// Without a `YuniKornConfig` it is the namespace of the ConfigMaps if they agree.
fn config(inputs: &Inputs, findings: &mut Vec<SourceDiagnostic>) -> ConfigEntry {
    let given = written_config(inputs, findings);
    let is_given = given.is_some();
    let mut config = given.unwrap_or_else(|| {
        let meta = Meta { name: v1alpha1::SINGLETON.into(), ..Meta::default() };
        Entry { meta, spec: Ok(ConfigSpec::default()), in_force: None }
    });
    if let Ok(spec) = &mut config.spec {
        let of_maps = || match namespaces(inputs).as_slice() {
            [only] if !is_given => Some((*only).to_owned()),
            _ => None,
        };
        spec.namespace = inputs.namespace.clone().or_else(of_maps).unwrap_or_else(|| spec.namespace.clone());
    }
    config
}

/// Returns the namespaces of the ConfigMaps with the names that `YuniKorn` reads.
pub fn namespaces(inputs: &Inputs) -> Vec<&str> {
    let maps = inputs.objects.iter().filter(|object| object.kind == Kind::ConfigMap);
    let read = maps.filter(|object| ours::is_read(&object.name) && !object.namespace.is_empty());
    let names: BTreeSet<&str> = read.map(|object| object.namespace.as_str()).collect();
    names.into_iter().collect()
}

fn written_config(inputs: &Inputs, findings: &mut Vec<SourceDiagnostic>) -> Option<ConfigEntry> {
    inputs
        .of_kind(ResourceKind::YuniKornConfig)
        .find(|object| object.name == v1alpha1::SINGLETON)
        .and_then(|object| typed(object, findings))
        .map(|object| convert::yunikorn_config(&object))
}

/// Returns whether a ConfigMap is in `YuniKorn`'s namespace. A manifest without a namespace goes wherever it
/// is applied.
fn is_here(object: &Object, spec: &ConfigSpec) -> bool {
    object.namespace.is_empty() || object.namespace == spec.namespace
}

/// Returns whether a ConfigMap with this name is read.
fn is_read(object: &Object, spec: &ConfigSpec) -> bool {
    [YUNIKORN_DEFAULTS, &spec.base_config_map, &spec.output_config_map].contains(&object.name.as_str())
}

fn replace_base(snapshot: &mut Snapshot, spec: &ConfigSpec, text: String) {
    let key = spec.base_key.clone().unwrap_or_else(|| merged(snapshot).queues_key());
    let named = || ConfigMapState { name: spec.base_config_map.clone(), ..ConfigMapState::default() };
    let base = snapshot.base.get_or_insert_with(|| Arc::new(named()));
    let map = Arc::make_mut(base);
    map.binary.remove(&format!("{key}.gz"));
    map.data.insert(key, text);
    if map.name == YUNIKORN_DEFAULTS {
        snapshot.defaults = Some(Arc::clone(base));
    }
}

/// Deserializes an object, or adds a finding with the cause of the failure.
fn typed<T: DeserializeOwned>(object: &Object, findings: &mut Vec<SourceDiagnostic>) -> Option<T> {
    match serde_path_to_error::deserialize(&object.document.value) {
        Ok(typed) => Some(typed),
        Err(error) => {
            let path = error.path().to_string();
            let message = if ours::is_ours(&object.document.value) {
                format!("{} in {}", error.inner(), quoted(&path))
            } else {
                // The reason may quote a value.
                format!("Kubernetes does not accept this in {}", quoted(&path))
            };
            let steps = error.path().iter().map(|step| format!("/{}", token(&step.to_string())));
            let at = object.document.span(&steps.collect::<String>());
            findings.push(object.finding(Diagnostic::error(MALFORMED, message).at(at)));
            None
        }
    }
}
