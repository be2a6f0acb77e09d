//! Reads the configuration from files: a queue tree by itself or in `YuniKorn`'s ConfigMaps, and with objects
//! of ours the text that the operator would make of it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::configuration::{
    ClusterContext, Configuration, Evidence, ObjectChange, Refused, RenderedText, Text,
};
use super::{configuration, schema};
use crate::output::findings::{self, plural};
use crate::output::text::SourceDiagnostic;
use crate::output::{Console, Failure, diagnostic};
use crate::source::assemble::{Assembled, assemble, namespaces};
use crate::source::input::Inputs;
use crate::source::input::object::{Kind, Object};
use crate::source::times::clock;
use go_compat::diag::Diagnostic;
use queuewarden_plan::simulate::{enforced, settle};
use queuewarden_plan::snapshot::{Snapshot, YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS};
use queuewarden_plan::{ObjectRef, ResourceKind, merged};
use yunikorn::config::Flattened;
use yunikorn::version::Version;

/// Prints the errors of a text, and returns the failure that follows.
pub fn refuse(refused: &Refused, console: Console) -> Failure {
    let Refused { text, starts, .. } = refused;
    let why = show(refused, console);
    let unless = if *starts { ", unless it is started anew with it" } else { "" };
    Failure::Undecided(format!("YuniKorn does not take the configuration in {}{why}{unless}", text.name()))
}

/// Prints the errors of a text. Returns the reason if there was none to print, without its line breaks.
fn show(refused: &Refused, console: Console) -> String {
    let errors = refused.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
    let draw = |diagnostic: &Diagnostic| {
        let (source, span) = refused.text.shown(diagnostic.span);
        diagnostic::draw(&Diagnostic { span, ..diagnostic.clone() }, Some(source), None, console.look_err())
    };
    let shown: String = errors.map(draw).collect();
    console.err(&shown);
    let reason = refused.reason.split_whitespace().collect::<Vec<_>>().join(" ");
    if shown.is_empty() { format!(": {reason}") } else { String::new() }
}

/// Warns that the answers are those of a scheduler that was started with the text.
fn warn(refused: &Refused, console: Console) {
    let why = show(refused, console);
    console.err(&format!(
        "warning: a running YuniKorn does not take {} over{why}; the answer is that of one which starts with \
        it, and so without placement rules\n",
        refused.text.name()
    ));
}

/// The input files, read and assembled.
#[derive(Debug, Clone)]
pub struct FileSource {
    /// The inputs.
    pub inputs: Inputs,
    /// What the operator would read.
    pub assembled: Assembled,
}

impl FileSource {
    /// Assembles what was read, and prints everything that is wrong with it.
    ///
    /// # Errors
    /// When a part of them cannot be read.
    pub fn from_inputs(inputs: Inputs, now: Option<Timestamp>, console: Console) -> Result<Self, Failure> {
        let assembled = assemble(&inputs, now.unwrap_or_else(clock));
        let found = unreadable(&inputs, &assembled);
        console.err(&findings::text(&inputs.sources, &found, console.look_err()));
        let mut unread = assembled.findings.iter().chain(&inputs.alternatives);
        if unread.any(|finding| finding.diagnostic.is_error()) {
            return Err(Failure::Undecided("some of the input cannot be read".to_owned()));
        }
        Ok(Self { inputs, assembled })
    }

    /// Returns the configuration that the files make; its notes are printed only if there is none.
    ///
    /// # Errors
    /// When `YuniKorn`'s configuration cannot be determined.
    pub fn configuration(&self, console: Console) -> Result<Configuration, Failure> {
        let mut notes = Vec::new();
        let written = self.written(&mut notes)?;
        let (configuration, refused) = Configuration::at_start(written).map_err(|refused| {
            console.notes(&notes);
            refuse(&refused, console)
        })?;
        if let Some(refused) = refused {
            warn(&refused, console);
        }
        Ok(configuration.with_notes(notes))
    }

    /// Returns the keys and values of both ConfigMaps as `YuniKorn` merges them, with what the operator would
    /// write there for `AdmissionPolicy` objects.
    pub fn keys(&self) -> BTreeMap<String, String> {
        self.merged().values().map(|(key, value)| (key.to_owned(), value.text.clone())).collect()
    }

    /// Returns the version of `YuniKorn` that reads the files.
    pub fn version(&self) -> Version {
        self.assembled.snapshot.version()
    }

    /// Returns the same with the origin of each value.
    pub fn merged(&self) -> Flattened {
        merged(&self.settled())
    }

    /// Returns what was read with what the operator would write for `AdmissionPolicy` objects.
    pub fn settled(&self) -> Cow<'_, Snapshot> {
        let snapshot = &self.assembled.snapshot;
        if snapshot.policies.is_empty() {
            return Cow::Borrowed(snapshot);
        }
        Cow::Owned(settle(enforced(snapshot)).snapshot)
    }

    /// Returns the objects and settings, with what the operator would write for `AdmissionPolicy` objects.
    pub fn context(&self) -> ClusterContext {
        let settled = Arc::new(self.settled().into_owned());
        ClusterContext { read: Arc::new(self.assembled.snapshot.clone()), settled }
    }

    /// Returns the `QueueAcl`s and `AdmissionPolicy` objects, if there is nothing else: then the files are no
    /// configuration, but a change to one.
    pub fn change(&self) -> Option<ObjectChange> {
        let Snapshot { queue_acls, policies, .. } = &self.assembled.snapshot;
        let count = queue_acls.len() + policies.len();
        let others = self.inputs.objects.len() != count || !self.inputs.bare.is_empty();
        let (queue_acls, policies) = (queue_acls.clone(), policies.clone());
        (!others && count > 0).then(|| ObjectChange { queue_acls, policies, deleted: Vec::new() })
    }

    /// Returns everything that entries are looked for in, with the statuses that the objects would have.
    pub fn evidence(&self) -> Evidence {
        let snapshot = settle(enforced(&self.assembled.snapshot)).snapshot;
        let spec = self.assembled.spec.clone();
        let located = |map: &str, key: &str, text| self.text_in(map, key, text);
        let base = configuration::base(&snapshot, &spec, &merged(&snapshot).queues_key(), located);
        Evidence { spec, snapshot, base }
    }

    /// Returns the manifest of an object; `None` if it is not in the files.
    pub fn find(&self, object: &ObjectRef) -> Option<Value> {
        let found = self.inputs.of_kind(object.kind).find(|found| *found.name == *object.name);
        found.map(|object| object.document.value.clone())
    }

    /// Returns what was read.
    pub fn snapshot(&self) -> &Snapshot {
        &self.assembled.snapshot
    }

    /// Returns the same at another time.
    #[must_use]
    pub fn at(&self, now: Timestamp) -> Self {
        let mut given = self.clone();
        given.assembled.snapshot.now = now;
        given
    }

    /// Applies a change.
    ///
    /// # Errors
    /// When there is no object that is to be deleted.
    pub fn changed(mut self, change: &ObjectChange) -> Result<Self, Failure> {
        change.apply(&mut self.assembled.snapshot)?;
        Ok(self)
    }

    /// Returns the text that the questions are about.
    ///
    /// # Errors
    /// When it cannot be determined.
    pub fn written(&self, notes: &mut Vec<String>) -> Result<RenderedText, Failure> {
        self.one_tree(notes)?;
        let snapshot = &self.assembled.snapshot;
        let located = |map: &str, key: &str, text| self.text_in(map, key, text);
        if snapshot.queue_acls.is_empty()
            && self.inputs.of_kind(ResourceKind::YuniKornConfig).next().is_none()
        {
            return self.current(notes);
        }
        match configuration::written(snapshot, &self.assembled.spec, located, notes) {
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
        let snapshot = &self.assembled.snapshot;
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
                "{} are each a queues.yaml, and a question is asked about one: leave the others out, or give \
                the one that is meant with --base",
                bare.join(" and ")
            )));
        }
        let unused = &self.assembled.unused;
        let unused =
            (!unused.is_empty()).then(|| format!("YuniKorn does not read ConfigMap {}", unused.join(", ")));
        let namespaces = namespaces(&self.inputs);
        if !self.assembled.has_tree && namespaces.len() > 1 {
            return Err(Failure::Usage(format!(
                "the ConfigMaps are in the namespaces {}: name YuniKorn's with --cluster-namespace",
                namespaces.join(" and ")
            )));
        }
        if !self.assembled.has_tree {
            let read = unused.unwrap_or_else(|| {
                let objects = plural(self.inputs.objects.len(), "object");
                format!("there is no queue tree among the {objects} that were read")
            });
            let namespace = &self.assembled.spec.namespace;
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
                "{name} is a bare queues.yaml and not used: ConfigMaps were given, too; --base {name} makes \
                it the base"
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
        let namespace = &self.assembled.spec.namespace;
        let is_it = |object: &&Object| {
            object.name == map && (object.namespace.is_empty() || object.namespace == *namespace)
        };
        match self.inputs.of_kind(Kind::ConfigMap).find(is_it) {
            Some(object) => Text::inside(&self.inputs, &object.document, key, text),
            None => Text::whole(format!("{map}/{key}"), text),
        }
    }
}

/// Returns findings on the files as such; problems of the objects are in their conditions.
pub(crate) fn unreadable(inputs: &Inputs, assembled: &Assembled) -> Vec<SourceDiagnostic> {
    let mut found = assembled.findings.clone();
    found.extend(inputs.alternatives.iter().cloned());
    for object in inputs.objects.iter().filter(|object| object.kind != Kind::ConfigMap) {
        found.extend(schema::check(object).into_iter().map(|diagnostic| object.finding(diagnostic)));
    }
    findings::sort(&mut found);
    found
}
