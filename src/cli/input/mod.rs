//! Reads paths of the command line into objects with locations: files, folders and standard input are split
//! into documents and decoded as kubectl decodes them, and every field knows where in its file it was
//! written.
//!
//! * [`source`]: the files and their text.
//! * [`split`]: the start and end of each document of a text.
//! * [`value`]: a YAML tree as the JSON that kubectl would send.
//! * [`scalar`]: spans inside a string as spans in the file, for texts within texts (an ACL, a queues.yaml).
//! * [`object`]: Kubernetes objects from documents and lists.
//! * [`ours`]: the documents that messages may quote.

pub mod object;
pub mod ours;
pub mod scalar;
pub mod source;
pub mod split;
pub mod value;

use std::path::Path;

use super::Failure;
use super::assemble::only_bare;
use go_compat::diag::{Code, Diagnostic, Span};

use object::{Document, Object};
use scalar::ContentSpans;
use source::Source;
use yunikorn::version::Version;

/// The document is no Kubernetes object and no queues.yaml.
pub const NOT_AN_OBJECT: Code = Code::new(6001, "not-an-object");
/// The API group is ours, but it has no such kind or version.
pub const UNKNOWN_KIND: Code = Code::new(6002, "unknown-kind");
/// `metadata.name` is missing or not a Kubernetes name.
pub const BAD_NAME: Code = Code::new(6003, "bad-object-name");
/// The same object stands twice in what was read.
pub const DUPLICATE_OBJECT: Code = Code::new(6004, "duplicate-object");
/// A key stands twice in one mapping.
pub const DUPLICATE_KEY: Code = Code::new(6005, "duplicate-key");
/// YAML that has no JSON counterpart, so that kubectl refuses it, or JSON that cannot be read.
pub const NOT_JSON: Code = Code::new(6006, "not-json");

/// The file has more documents than are read of one.
///
/// The documents up to the limit are checked.
pub const TOO_MANY_DOCUMENTS: Code = Code::new(6008, "too-many-documents");

/// More was found in the file than is listed of one.
///
/// It is an error if an unlisted finding is one.
pub const TOO_MANY_FINDINGS: Code = Code::new(6009, "too-many-findings");

/// All codes of this module.
pub const CODES: &[Code] = &[
    NOT_AN_OBJECT,
    UNKNOWN_KIND,
    BAD_NAME,
    DUPLICATE_OBJECT,
    DUPLICATE_KEY,
    NOT_JSON,
    TOO_MANY_DOCUMENTS,
    TOO_MANY_FINDINGS,
];

/// Maximum number of findings that are listed of a file.
pub const MAX_FINDINGS: usize = 1000;

/// A diagnostic with the text it is about. Its span is one of that text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceDiagnostic {
    /// Index into [`Inputs::sources`]; `None` when it is about no text in particular.
    pub source: Option<usize>,
    /// `Kind/name` of the object it is about, if there is one.
    pub object: Option<String>,
    /// The diagnostic.
    pub diagnostic: Diagnostic,
}

/// Everything that was read.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// The texts, in the order they were read.
    pub sources: Vec<Source>,
    /// The objects, in the order of the texts.
    pub objects: Vec<Object>,
    /// Documents that are a bare queues.yaml.
    pub bare: Vec<Document>,
    /// Index of the text with the queue tree that replaces that of the base ConfigMap.
    pub base: Option<usize>,
    /// Number of objects of other kinds.
    pub ignored: usize,
    /// Findings on the texts themselves.
    pub findings: Vec<SourceDiagnostic>,
    /// The version of `YuniKorn` that is to read them, if the command line names one.
    pub version: Option<Version>,
}

impl Inputs {
    /// Decodes texts that were read.
    pub fn new(sources: Vec<Source>) -> Self {
        let sources = sources.into_iter().map(Source::unquoted).collect();
        let mut inputs = Self { sources, ..Self::default() };
        for index in 0..inputs.sources.len() {
            object::collect(&mut inputs, index);
        }
        object::refuse_duplicates(&mut inputs);
        inputs
    }

    /// Returns the objects of one kind, in the order of the texts.
    pub fn of_kind(&self, kind: impl Into<object::Kind>) -> impl Iterator<Item = &Object> {
        let kind = kind.into();
        self.objects.iter().filter(move |object| object.kind == kind)
    }

    /// Reads the base from a file, or else takes the only bare queues.yaml, unless there is a ConfigMap that
    /// `YuniKorn` reads.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn choose_base(&mut self, path: Option<&Path>) -> Result<(), Failure> {
        match path {
            Some(path) => self.set_base(source::read_one(path)?),
            None => self.base = only_bare(self).map(|document| document.source),
        }
        Ok(())
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
        Some(ContentSpans::trace(self.text(document.source), document.range.start, node))
    }

    /// Adds a finding on a document, without its values if messages may not quote it.
    fn report(&mut self, source: usize, diagnostic: Diagnostic) {
        let at = diagnostic.span.unwrap_or_default().start;
        let may_quote = self.sources.get(source).is_some_and(|source| source.quotable(at).is_some());
        let diagnostic = if may_quote { diagnostic } else { ours::without_values(diagnostic) };
        self.findings.push(SourceDiagnostic { source: Some(source), object: None, diagnostic });
    }

    /// Lets messages quote a part of a text.
    fn quote(&mut self, source: usize, part: Span) {
        if let Some(source) = self.sources.get_mut(source) {
            source.quote(part);
        }
    }
}
