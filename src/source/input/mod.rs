//! Reads paths of the command line into objects with locations: files, folders and standard input are split
//! into documents and decoded as kubectl decodes them, and every field knows where in its file it was
//! written.
//!
//! * [`source`]: the files and their text.
//! * [`split`]: the start and end of each document of a text.
//! * [`scalar`]: spans inside a string as spans in the file, for texts within texts (an ACL, a queues.yaml).
//! * [`object`]: Kubernetes objects from documents and lists.
//! * [`wrapped`]: objects and queue trees inside other documents, such as Helm values.
//! * [`ours`]: the documents that messages may quote.
//! * [`environments`]: the objects of each cluster, if a repository holds several.

pub mod environments;
pub mod object;
pub mod ours;
pub mod scalar;
pub mod source;
pub mod split;
pub mod wrapped;

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::output::findings::TOO_MANY_FINDINGS;
use crate::output::text::{SourceDiagnostic, TEMPLATE};
use go_compat::diag::{Code, Diagnostic, Span};
use go_compat::yaml::MAX_TEXT;

use crate::output::text::Source;
use object::{Document, Object};
use scalar::ContentSpans;
use yunikorn::version::Version;

/// The document is no Kubernetes object and no queues.yaml.
pub const NOT_AN_OBJECT: Code = Code::new(6001, "not-an-object");
/// The API group is ours, but it has no such kind or version.
pub const UNKNOWN_KIND: Code = Code::new(6002, "unknown-kind");
/// `metadata.name` is missing or not a Kubernetes name.
pub const BAD_NAME: Code = Code::new(6003, "bad-object-name");
/// The same object occurs twice in the input.
pub const DUPLICATE_OBJECT: Code = Code::new(6004, "duplicate-object");

/// The file has more documents than are read of one.
///
/// The documents up to the limit are checked.
pub const TOO_MANY_DOCUMENTS: Code = Code::new(6008, "too-many-documents");

/// A value of Helm, or of a key of a ConfigMap inside another document, is not the text that it must be.
pub const NOT_TEXT: Code = Code::new(6010, "not-text");

/// All codes of this module.
pub const CODES: &[Code] = &[
    NOT_AN_OBJECT,
    UNKNOWN_KIND,
    BAD_NAME,
    DUPLICATE_OBJECT,
    TOO_MANY_DOCUMENTS,
    TOO_MANY_FINDINGS,
    NOT_TEXT,
];

/// Maximum number of notes about skipped templates.
const MAX_NOTES: usize = 20;

/// Advice on templates.
const RENDER: &str = "check the result instead, such as the output of `helm template`";

/// Everything that was read.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// The texts, in the order they were read.
    pub sources: Vec<Source>,
    /// The objects, in the order of the texts.
    pub objects: Vec<Object>,
    /// Documents that are a bare queues.yaml.
    pub bare: Vec<Document>,
    /// Index of the text with the queue tree that replaces the base ConfigMap's tree.
    pub base: Option<usize>,
    /// Number of objects of other kinds.
    pub ignored: usize,
    /// Number of files in folders that hold nothing of queuewarden's or `YuniKorn`'s.
    pub skipped: usize,
    /// Notes about skipped templates.
    pub notes: Vec<String>,
    /// Findings on objects with the same name in several environments. They are errors if one configuration
    /// is needed.
    pub alternatives: Vec<SourceDiagnostic>,
    /// `YuniKorn`'s namespace, if the command line names it.
    pub namespace: Option<String>,
    /// Findings on the texts themselves.
    pub findings: Vec<SourceDiagnostic>,
    /// The version of `YuniKorn` that is to read them, if the command line names one.
    pub version: Option<Version>,
    /// Number of templates that are skipped.
    pub templates: usize,
    /// The files that kustomizations apply as patches.
    pub patches: BTreeSet<PathBuf>,
    /// Number of bytes in the texts inside the file that is read.
    pub nested: usize,
}

impl Inputs {
    /// Decodes texts that were read. Those that were found in a folder and hold nothing are counted only.
    pub fn new(sources: Vec<Source>) -> Self {
        let mut inputs = Self::default();
        for source in sources {
            let (before, ignored) = (inputs.held(), inputs.ignored);
            let (found, template, index) = (source.is_found(), source.is_template(), inputs.sources.len());
            inputs.sources.push(source.unquoted());
            inputs.nested = 0;
            if template {
                inputs.skip_template(index, 0);
            } else {
                object::collect(&mut inputs, index);
            }
            if found && inputs.held() == before {
                inputs.sources.pop();
                inputs.skipped = inputs.skipped.saturating_add(1);
                inputs.ignored = ignored;
            }
        }
        inputs.skip_patches();
        object::refuse_duplicates(&mut inputs);
        inputs
    }

    /// Adds files that the kustomization in a text applies as patches.
    fn add_patches<'a>(&mut self, source: usize, paths: impl Iterator<Item = &'a str>) {
        let Some(folder) = self.folder(source).map(Path::to_path_buf) else { return };
        self.patches.extend(paths.map(|path| joined(&folder, path)));
    }

    /// Removes objects of ours that are patches: they have only the fields that kustomize changes.
    fn skip_patches(&mut self) {
        let Self { objects, sources, patches, notes, skipped, .. } = self;
        objects.retain(|object| {
            let source = sources.get(object.document.source);
            let path = source.filter(|source| source.is_found()).and_then(Source::path);
            let is_patch =
                object.kind != object::Kind::ConfigMap && path.is_some_and(|path| patches.contains(path));
            if is_patch {
                let name = source.map_or("", |source| source.name.as_str());
                if notes.len() < MAX_NOTES {
                    let check = "check the output of `kustomize build`";
                    notes.push(format!("{name} is a patch and not checked: {check}"));
                }
                *skipped = skipped.saturating_add(1);
            }
            !is_patch
        });
    }

    /// Returns the number of objects, queue trees and findings.
    fn held(&self) -> usize {
        self.objects.len().saturating_add(self.bare.len()).saturating_add(self.findings.len())
    }

    /// Returns the number of objects, queue trees, findings and templates.
    fn count(&self) -> usize {
        self.held().saturating_add(self.templates)
    }

    /// Returns the objects of one kind, in the order of the texts, without alternatives: which of these is
    /// meant is not known.
    pub fn of_kind(&self, kind: impl Into<object::Kind>) -> impl Iterator<Item = &Object> {
        let kind = kind.into();
        let labels = self.ambiguous();
        let is_one = move |object: &Object| labels.is_empty() || !labels.contains(object.label().as_str());
        self.objects.iter().filter(move |object| object.kind == kind && is_one(object))
    }

    /// Makes a text the base, without checking its contents. If it is among the texts already, it counts
    /// once.
    pub fn set_base(&mut self, source: Source) {
        let index = self.sources.iter().position(|known| *known == source).unwrap_or(self.sources.len());
        if index == self.sources.len() {
            let range = Span::new(0, source.text.len());
            self.bare.push(Document::new(index, range, serde_json::Value::Null, None));
            let quotable = ours::has_queues(&source.text);
            self.sources.push(if quotable { source } else { source.unquoted() });
        }
        self.base = Some(index);
    }

    /// Returns the text of the base.
    pub fn base_text(&self) -> Option<&str> {
        let source = self.base?;
        let bare = self.bare.iter().find(|document| document.source == source);
        Some(bare.map_or_else(|| self.text(source), |document| self.bare_text(document)))
    }

    /// Returns the names of the bare queues.yaml that are not the base.
    pub fn unused_bare(&self) -> impl Iterator<Item = &str> {
        let unused = self.bare.iter().filter(|document| self.base != Some(document.source));
        unused.map(|document| self.name(document.source))
    }

    /// Returns the name of a text.
    pub fn name(&self, source: usize) -> &str {
        self.sources.get(source).map_or("", |source| source.name.as_str())
    }

    /// Returns a text.
    pub fn text(&self, source: usize) -> &str {
        self.sources.get(source).map_or("", |source| source.text.as_str())
    }

    /// Returns the text of a bare queues.yaml: from the start of its file, so that spans are those of the
    /// file, to the first object.
    pub fn bare_text(&self, document: &Document) -> &str {
        self.text(document.source).get(..document.range.end).unwrap_or_default()
    }

    /// Returns the spans in the text of the content of the string at a JSON pointer; `None` if there is
    /// nothing.
    pub fn content_spans(&self, document: &Document, pointer: &str) -> Option<ContentSpans> {
        let node = document.node_at(pointer)?;
        let spans = |text: &str| ContentSpans::trace(text, document.range.start, node);
        Some(match &document.inside {
            Some(inside) => spans(&inside.text).through(&inside.spans),
            None => spans(self.text(document.source)),
        })
    }

    /// Returns `name:line:column` of a byte in a text.
    fn location(&self, source: usize, offset: usize) -> String {
        self.sources.get(source).map(|source| source.at(offset)).unwrap_or_default()
    }

    /// Returns whether a text was found in a folder.
    fn is_found(&self, source: usize) -> bool {
        self.sources.get(source).is_some_and(Source::is_found)
    }

    /// Returns the labels of the objects that several environments have: which one is meant is not known.
    pub fn ambiguous(&self) -> BTreeSet<&str> {
        self.alternatives.iter().filter_map(|finding| finding.object.as_deref()).collect()
    }

    /// Returns the folder of a text that was found in a folder.
    fn folder(&self, source: usize) -> Option<&Path> {
        self.sources.get(source).filter(|source| source.is_found())?.path()?.parent()
    }

    /// Skips a template, which another tool completes, and adds a note.
    fn skip_template(&mut self, source: usize, at: usize) {
        self.templates = self.templates.saturating_add(1);
        if ours::claims(self.text(source)) && self.notes.len() < MAX_NOTES {
            let location = self.location(source, at);
            self.notes.push(format!("{location} is a template and not checked: {RENDER}"));
        }
    }

    /// Reports a part of a text that cannot be read; a template in a folder is skipped.
    fn unread(&mut self, source: usize, part: &str, diagnostic: Diagnostic) {
        let is_template = part.contains(TEMPLATE);
        if is_template && self.is_found(source) {
            self.skip_template(source, diagnostic.span.unwrap_or_default().start);
        } else if is_template {
            self.report(source, diagnostic.help(format!("if this is a template, {RENDER}")));
        } else {
            self.report(source, diagnostic);
        }
    }

    /// Returns whether a text of this length inside the file may be read.
    fn may_nest(&mut self, length: usize) -> bool {
        self.nested = self.nested.saturating_add(length);
        self.nested <= MAX_TEXT
    }

    /// Adds a finding on a document, without its values if messages may not quote it.
    fn report(&mut self, source: usize, diagnostic: Diagnostic) {
        let at = diagnostic.span.unwrap_or_default().start;
        let may_quote = self.sources.get(source).is_some_and(|source| source.quotable(at).is_some());
        let diagnostic = if may_quote { diagnostic } else { ours::without_values(diagnostic) };
        self.findings.push(SourceDiagnostic::new(source, diagnostic));
    }

    /// Lets messages quote a part of a text.
    fn quote(&mut self, source: usize, part: Span) {
        if let Some(source) = self.sources.get_mut(source) {
            source.quote(part);
        }
    }
}

/// Returns a path below a folder, without the steps up in it.
fn joined(folder: &Path, path: &str) -> PathBuf {
    let mut joined = folder.to_path_buf();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => {
                joined.pop();
            }
            Component::Normal(name) => joined.push(name),
            _ => {}
        }
    }
    joined
}
