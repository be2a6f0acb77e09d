//! Kubernetes objects from documents, with the location of every field.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::iter;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::split::{Syntax, split};
use super::wrapped::{self, Inside, MASK};
use super::{BAD_NAME, DUPLICATE_OBJECT, Inputs, NOT_AN_OBJECT, TOO_MANY_DOCUMENTS, UNKNOWN_KIND, ours};
use crate::output::text::{SourceDiagnostic, TEMPLATE};
use go_compat::diag::{Diagnostic, Replacement, Span, quoted};
use go_compat::yaml::{self, DUPLICATE_KEY, NOT_JSON, Node, json};
use queuewarden_api::{GROUP, VERSION};
use queuewarden_plan::ResourceKind;
use yunikorn::queue::nearest;

/// Escapes the name of a field for a JSON pointer, such as `/spec/submit/users/0`.
pub fn token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// One document: its value, and the tree it was made from.
#[derive(Debug, Clone)]
pub struct Document {
    /// Index of the text in [`Inputs::sources`].
    pub source: usize,
    /// The bytes of the text that `node` was parsed from; spans in `node` count from its start.
    pub range: Span,
    /// The value as JSON; `null` for a bare queues.yaml, which is read by other rules.
    pub value: Value,
    /// The tree; `None` for JSON that is not valid YAML.
    pub node: Option<Node>,
    /// The text in the file that the range is in; `None` if it is in the file.
    pub inside: Option<Arc<Inside>>,
    /// The numbers of the pairs in large mappings by their names, by where the mapping begins.
    large: OnceLock<HashMap<usize, HashMap<String, usize>>>,
}

/// Minimum number of pairs for a mapping to be indexed.
const LARGE: usize = 32;

impl Document {
    /// Reads one of the documents that [`split`] finds in a text; `None` if it is empty. YAML has no value
    /// before it is [decoded](Self::decoded).
    ///
    /// # Errors
    /// When it is not valid JSON or YAML.
    pub fn read(text: &str, source: usize, syntax: Syntax, range: Span) -> Result<Option<Self>, Diagnostic> {
        let part = text.get(range.start..range.end).unwrap_or_default();
        let parsed = yaml::parse(part);
        let (value, node) = match syntax {
            // Only for the spans: most JSON is YAML.
            Syntax::Json => {
                let value = serde_json::from_str(part).map_err(|error| unreadable(part, range, &error))?;
                (value, parsed.ok().flatten())
            }
            Syntax::Yaml => match parsed.map_err(|diagnostic| in_file(diagnostic, range))? {
                Some(node) => (Value::Null, Some(node)),
                None => return Ok(None),
            },
        };
        Ok(Some(Self::new(source, range, value, node)))
    }

    /// Creates a document.
    pub fn new(source: usize, range: Span, value: Value, node: Option<Node>) -> Self {
        Self { source, range, value, node, inside: None, large: OnceLock::new() }
    }

    /// Creates a document from a part of this one, or from a derived value.
    #[must_use]
    pub fn part(&self, value: Value, node: Option<Node>) -> Self {
        Self { inside: self.inside.clone(), ..Self::new(self.source, self.range, value, node) }
    }

    /// Returns the part of the file that messages may quote with the whole document, if it is known.
    pub fn quotable_whole(&self) -> Option<Span> {
        self.quotable(self.node.as_ref()?.span)
    }

    /// Adds the value of YAML.
    ///
    /// # Errors
    /// When it has no value in JSON. In JSON only a key that occurs twice is an error, which readers accept
    /// and interpret differently.
    pub fn decoded(mut self) -> Result<Self, Diagnostic> {
        let decoded = self.node.as_ref().map(json::to_json);
        match decoded {
            Some(Ok(value)) if self.value.is_null() => self.value = value,
            Some(Err(diagnostic)) if self.value.is_null() || diagnostic.code == DUPLICATE_KEY => {
                return Err(in_file(diagnostic, self.range));
            }
            _ => {}
        }
        Ok(self)
    }

    /// Returns the node at a JSON pointer.
    pub fn node_at(&self, pointer: &str) -> Option<&Node> {
        pointer.split('/').skip(1).try_fold(self.node.as_ref()?, |node, token| match node.as_sequence() {
            Some(items) => items.get(token.parse::<usize>().ok()?),
            None => Some(&self.pair(node, &unescaped(token))?.1),
        })
    }

    /// Returns the node of the name of the field at a JSON pointer.
    pub fn key_at(&self, pointer: &str) -> Option<&Node> {
        let (parent, token) = pointer.rsplit_once('/')?;
        Some(&self.pair(self.node_at(parent)?, &unescaped(token))?.0)
    }

    /// Returns the pair with this name in a mapping.
    fn pair<'a>(&self, node: &'a Node, name: &str) -> Option<&'a (Node, Node)> {
        let pairs = node.as_mapping()?;
        if pairs.len() < LARGE {
            return pair(node, name);
        }
        let large = self.large.get_or_init(|| {
            let mut large = HashMap::new();
            if let Some(root) = &self.node {
                index(root, &mut large);
            }
            large
        });
        pairs.get(*large.get(&node.span.start)?.get(name)?)
    }

    /// Returns the span of the value at a JSON pointer in the file, or of the deepest parent that exists.
    pub fn span(&self, pointer: &str) -> Span {
        let mut parents = iter::successors(Some(pointer), |pointer| Some(pointer.rsplit_once('/')?.0));
        let node = parents.find_map(|pointer| self.node_at(pointer));
        node.map_or_else(|| self.in_file(self.range), |node| self.in_text(node.span))
    }

    /// Returns the span of the name of the field at a JSON pointer; like [`Document::span`] if that is no
    /// field.
    pub fn span_of_key(&self, pointer: &str) -> Span {
        self.key_at(pointer).map_or_else(|| self.span(pointer), |name| self.in_text(name.span))
    }

    /// Converts a span in the tree to a span in the file.
    pub fn in_text(&self, span: Span) -> Span {
        self.in_file(span.shifted(self.range.start))
    }

    /// Converts a span in the tree to the part of the file that messages may quote with it; `None` if
    /// its location in the file is not exact.
    pub fn quotable(&self, span: Span) -> Option<Span> {
        let exact = self.inside.as_ref().is_none_or(|inside| inside.spans.is_exact());
        exact.then(|| self.in_text(span))
    }

    /// Converts a span in the text that it was read from to a span in the file.
    fn in_file(&self, span: Span) -> Span {
        self.inside.as_ref().map_or(span, |inside| inside.spans.span(span))
    }
}

/// Returns the name of a field in a JSON pointer.
pub(super) fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// Adds the pairs of all large mappings in a tree.
fn index(node: &Node, large: &mut HashMap<usize, HashMap<String, usize>>) {
    let pairs = node.as_mapping().unwrap_or_default();
    for below in node.as_sequence().into_iter().flatten().chain(pairs.iter().map(|(_, value)| value)) {
        index(below, large);
    }
    if pairs.len() >= LARGE {
        let names = pairs.iter().enumerate().rev();
        // Of equal names the first is found, as in a small mapping.
        let names = names.filter_map(|(number, (name, _))| Some((json::key(name).ok()?, number)));
        large.insert(node.span.start, names.collect());
    }
}

fn pair<'a>(node: &'a Node, name: &str) -> Option<&'a (Node, Node)> {
    node.as_mapping()?.iter().find(|(key, _)| json::key(key).is_ok_and(|key| key == name))
}

/// The kinds that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `v1` `ConfigMap`
    ConfigMap,
    /// A kind of `queuewarden.dev/v1alpha1`.
    Ours(ResourceKind),
}

impl From<ResourceKind> for Kind {
    fn from(kind: ResourceKind) -> Self {
        Self::Ours(kind)
    }
}

impl Kind {
    /// Returns the value of the field `kind`.
    pub fn name(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Ours(kind) => kind.name(),
        }
    }
}

/// One object.
#[derive(Debug, Clone)]
pub struct Object {
    /// The kind.
    pub kind: Kind,
    /// `metadata.name`
    pub name: String,
    /// `metadata.namespace`; empty when it is not given.
    pub namespace: String,
    /// True if it is not a manifest, but kept inside another document.
    pub wrapped: bool,
    /// The whole object.
    pub document: Document,
}

impl Object {
    /// Returns `Kind/name`, as used in messages.
    pub fn label(&self) -> String {
        format!("{}/{}", self.kind.name(), self.name)
    }

    /// Returns a finding on the object.
    pub fn finding(&self, diagnostic: Diagnostic) -> SourceDiagnostic {
        SourceDiagnostic {
            object: Some(self.label()),
            ..SourceDiagnostic::new(self.document.source, diagnostic)
        }
    }
}

/// Maximum number of documents in a file: more than a cluster has objects of our kinds.
const MAX_DOCUMENTS: usize = 10_000;

/// Splits the text with this index into objects.
pub(super) fn collect(inputs: &mut Inputs, source: usize) {
    let Some(text) = inputs.sources.get(source).map(|source| source.text.clone()) else {
        return;
    };
    let (syntax, ranges) = split(&text);
    if let Some(range) = ranges.get(MAX_DOCUMENTS) {
        let message = format!("the file has {} documents, but only {MAX_DOCUMENTS} are read", ranges.len());
        let found = Diagnostic::error(TOO_MANY_DOCUMENTS, message);
        let help = "split the file into smaller ones";
        inputs.report(source, found.at(Span::new(range.start, range.start)).help(help));
    }
    let found = inputs.is_found(source);
    for (index, range) in ranges.iter().enumerate().take(MAX_DOCUMENTS) {
        let part = text.get(range.start..range.end).unwrap_or_default();
        let sorted = match Document::read(&text, source, syntax, *range) {
            Ok(Some(document)) if index == 0 && is_bare(&document, found) => {
                let mut others = ranges.iter().skip(1);
                // JSON behind it that is no object is an error.
                let others_follow = match syntax {
                    Syntax::Json => others.len() > 0,
                    Syntax::Yaml => others.any(|range| is_object(&text, *range)),
                };
                let end = if others_follow { range.end } else { text.len() };
                inputs.quote(source, Span::new(0, end));
                if found && part.contains(TEMPLATE) {
                    inputs.skip_template(source, range.start);
                } else {
                    inputs.bare.push(Document { range: Span::new(0, end), ..document });
                }
                if !others_follow {
                    // The file is a queues.yaml, which YuniKorn receives completely.
                    return;
                }
                Ok(())
            }
            Ok(Some(document)) => document.decoded().map(|document| sort(inputs, document, Some(*range))),
            Ok(None) => Ok(()),
            Err(diagnostic) => Err(diagnostic),
        };
        if let Err(diagnostic) = sorted {
            if ours::looks_like_ours(part) {
                inputs.quote(source, *range);
            }
            if !found || ours::claims(part) {
                inputs.unread(source, part, diagnostic);
            }
        }
    }
}

/// Creates the finding for JSON that is well-formed, and yet cannot be read: half a surrogate pair, a number
/// out of range, too many levels.
fn unreadable(part: &str, range: Span, error: &serde_json::Error) -> Diagnostic {
    let lines = part.split_inclusive('\n').take(error.line().saturating_sub(1));
    let before: usize = lines.map(str::len).sum();
    // The column counts bytes, and is the last one that was read.
    let at = before.saturating_add(error.column().saturating_sub(1));
    let message = error.to_string();
    let why = message.rsplit_once(" at line ").map_or(message.as_str(), |(why, _)| why);
    Diagnostic::error(NOT_JSON, format!("this JSON cannot be read: {why}"))
        .at(Span::new(at, at).shifted(range.start))
}

/// Converts the span of a finding from the document to the file.
fn in_file(diagnostic: Diagnostic, range: Span) -> Diagnostic {
    let span = diagnostic.span.map(|span| span.shifted(range.start));
    Diagnostic { span, ..diagnostic }
}

/// Returns whether the document is a queues.yaml: it has `partitions` and is not an object. Other programs
/// have partitions, too, so if it was `found` in a folder, one of them must look like a partition of queues.
fn is_bare(document: &Document, found: bool) -> bool {
    let field = |name: &str| Some(&pair(document.node.as_ref()?, name)?.1);
    let Some(partitions) = field("partitions") else { return false };
    let mut names = partitions.as_sequence().into_iter().flatten().flat_map(|partition| {
        partition.as_mapping().into_iter().flatten().filter_map(|(name, _)| name.as_scalar())
    });
    let mut is_tree = || {
        names.any(|name| {
            let name = name.to_ascii_lowercase();
            ["queue", "placement", "nodesort", "preemption"].iter().any(|word| name.starts_with(word))
        })
    };
    field("kind").is_none() && field("apiVersion").is_none() && (!found || is_tree())
}

/// Returns whether a document is meant to be an object, valid or not.
fn is_object(text: &str, range: Span) -> bool {
    let part = text.get(range.start..range.end).unwrap_or_default();
    match yaml::parse(part) {
        Ok(node) => {
            node.is_some_and(|node| pair(&node, "kind").is_some() || pair(&node, "apiVersion").is_some())
        }
        Err(_) => part.lines().any(|line| line.starts_with("kind:") || line.starts_with("apiVersion:")),
    }
}

/// Adds a document to the inputs by its kind, or a finding. `part` is its part of the file, if that is known.
pub(super) fn sort(inputs: &mut Inputs, document: Document, part: Option<Span>) {
    let source = document.source;
    let is_ours = listed(&document.value).is_none() && ours::is_ours(&document.value);
    if let Some(part) = part.filter(|_| is_ours) {
        inputs.quote(source, part);
    }
    if let Err(diagnostic) = sorted(inputs, document) {
        inputs.report(source, diagnostic);
    }
}

fn sorted(inputs: &mut Inputs, document: Document) -> Result<(), Diagnostic> {
    let text =
        |field: &str| document.value.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    let (api_version, kind) = match (&document.value, text("apiVersion"), text("kind")) {
        (Value::Null, _, _) => return Ok(()),
        (Value::Object(_), Some(api_version), Some(kind)) => (api_version, kind),
        _ if wrapped::collect(inputs, &document) => return Ok(()),
        _ => return no_object(inputs, &document),
    };
    if let Some(values) = listed(&document.value) {
        items(inputs, &document, api_version, kind, values);
        return Ok(());
    }
    match kind_of(&document, api_version, kind)? {
        Some(Kind::ConfigMap) if !ours::is_ours(&document.value) && wrapped::collect(inputs, &document) => {}
        Some(Kind::ConfigMap) if inputs.is_found(document.source) && !ours::may_hold(&document.value) => {
            ignore(inputs, &document);
        }
        Some(kind) => add(inputs, document, |document| named(kind, document))?,
        None if wrapped::collect(inputs, &document) => {}
        None => ignore(inputs, &document),
    }
    Ok(())
}

/// Adds the object in a document. A template is skipped if it was found in a folder, or is inside another
/// document.
pub(super) fn add(
    inputs: &mut Inputs,
    document: Document,
    object: impl FnOnce(Document) -> Result<Object, Diagnostic>,
) -> Result<(), Diagnostic> {
    let may_skip = inputs.is_found(document.source) || document.inside.is_some();
    if may_skip && has_placeholder(&document.value) {
        inputs.skip_template(document.source, document.span("").start);
    } else {
        inputs.objects.push(object(document)?);
    }
    Ok(())
}

fn has_placeholder(value: &Value) -> bool {
    let is_one = |text: &str| text.contains(TEMPLATE) || text.contains(MASK);
    match value {
        Value::String(text) => is_one(text),
        Value::Array(items) => items.iter().any(has_placeholder),
        Value::Object(map) => map.iter().any(|(key, value)| is_one(key) || has_placeholder(value)),
        _ => false,
    }
}

/// Counts a document that is not read. A text in a document is part of it.
fn ignore(inputs: &mut Inputs, document: &Document) {
    if document.inside.is_none() {
        inputs.ignored = inputs.ignored.saturating_add(1);
    }
}

/// Returns the kind of an object, if this program reads it. Fails if our API group has no such kind or
/// version.
fn kind_of(document: &Document, api_version: &str, kind: &str) -> Result<Option<Kind>, Diagnostic> {
    let mut replacement = None;
    let (field, message, help) = match api_version.split_once('/') {
        None if api_version == "v1" && kind == "ConfigMap" => return Ok(Some(Kind::ConfigMap)),
        Some((GROUP, version)) => match ResourceKind::ALL.into_iter().find(|known| known.name() == kind) {
            Some(known) if version == VERSION => return Ok(Some(known.into())),
            Some(_) => {
                let message = format!("{} is not a version that is served", quoted(api_version));
                ("/apiVersion", message, format!("write `{GROUP}/{VERSION}`"))
            }
            None => {
                let known = ResourceKind::ALL.map(ResourceKind::name);
                let message = format!("the API group `{GROUP}` has no kind {}", quoted(kind));
                let all = || format!("its kinds are {}", known.join(", "));
                let near = nearest(known, kind);
                let help = near.map_or_else(all, |near| format!("did you mean `{near}`?"));
                replacement = near.and_then(|near| Replacement::in_case(kind, near));
                ("/kind", message, help)
            }
        },
        _ => return Ok(None),
    };
    Err(Diagnostic::error(UNKNOWN_KIND, message).at(document.span(field)).help(help).replace(replacement))
}

/// Returns the objects of a list; `None` if it is no list.
pub fn listed(value: &Value) -> Option<&[Value]> {
    let kind = value.get("kind").and_then(Value::as_str)?;
    let items = value.get("items").and_then(Value::as_array)?;
    kind.ends_with("List").then_some(items.as_slice())
}

/// Adds the items of a list. In a typed list they may omit `apiVersion` and `kind`, as for kubectl
/// (`apimachinery`, `decodeToList`).
fn items(inputs: &mut Inputs, document: &Document, api_version: &str, kind: &str, values: &[Value]) {
    let kind = kind.strip_suffix("List").filter(|kind| !kind.is_empty());
    for (index, value) in values.iter().enumerate() {
        let node = document.node_at(&format!("/items/{index}")).cloned();
        let part = node.as_ref().map(|node| document.in_text(node.span));
        let mut value = value.clone();
        if let (Some(kind), Some(fields)) = (kind, value.as_object_mut()) {
            fields.entry("apiVersion").or_insert_with(|| api_version.into());
            fields.entry("kind").or_insert_with(|| kind.into());
        }
        sort(inputs, document.part(value, node), part);
    }
}

fn no_object(inputs: &mut Inputs, document: &Document) -> Result<(), Diagnostic> {
    // Kustomize does not require apiVersion and kind in its own file.
    let file = Path::new(inputs.name(document.source)).file_name().and_then(OsStr::to_str);
    let is_kustomize = matches!(file, Some("kustomization.yaml" | "kustomization.yml"));
    let has = |field: &str| document.value.get(field).is_some_and(Value::is_string);
    let is_named = !inputs.is_found(document.source) && document.inside.is_none();
    if is_kustomize || !(is_named || ours::is_meant(&document.value)) {
        ignore(inputs, document);
        return Ok(());
    }
    let lacks = match (has("apiVersion"), has("kind")) {
        (true, _) => "`kind`",
        (_, true) => "`apiVersion`",
        _ => "`apiVersion` and `kind`",
    };
    let message = format!("this is not a Kubernetes object: it has no {lacks}");
    let help = "a queues.yaml by itself begins with `partitions:`, and comes first in its file; Helm values \
        have the queue tree below `yunikornDefaults`; everything else needs both fields";
    Err(Diagnostic::error(NOT_AN_OBJECT, message).at(document.span("")).help(help))
}

fn named(kind: Kind, mut document: Document) -> Result<Object, Diagnostic> {
    let meta = |pointer: &str| {
        document.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let (name, namespace) = (meta("/metadata/name"), meta("/metadata/namespace"));
    if is_name(&name) {
        if kind == Kind::ConfigMap {
            join_base64(&mut document.value);
        }
        return Ok(Object { kind, name, namespace, wrapped: false, document });
    }
    if name.is_empty() {
        let message = format!("this {} has no `metadata.name`", kind.name());
        return Err(Diagnostic::error(BAD_NAME, message).at(document.span("/metadata")));
    }
    let message = format!("{} is not a valid name in Kubernetes", quoted(&name));
    let help =
        "write lower-case letters, digits, `-` and `.`, at most 253, with a letter or digit at both ends";
    Err(Diagnostic::error(BAD_NAME, message).at(document.span("/metadata/name")).help(help))
}

/// Removes the line breaks in the `binaryData` of a ConfigMap, which Go's decoder skips (`encoding/base64`).
fn join_base64(value: &mut Value) {
    let data = value.get_mut("binaryData").and_then(Value::as_object_mut);
    for (_, value) in data.into_iter().flatten() {
        if let Value::String(text) = value {
            text.retain(|c| !matches!(c, '\r' | '\n'));
        }
    }
}

/// Returns whether the name is an RFC 1123 subdomain, which Kubernetes requires for names of objects.
pub fn is_name(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let part = |part: &str| {
        !part.is_empty() && !part.starts_with('-') && !part.ends_with('-') && part.chars().all(inner)
    };
    name.len() <= 253 && name.split('.').all(part)
}

/// Reports every duplicate object, and keeps the first. Duplicates inside other documents or in different
/// subfolders are kept, because they may be of different environments.
pub(super) fn refuse_duplicates(inputs: &mut Inputs) {
    let mut first: BTreeMap<(Kind, String, String), usize> = BTreeMap::new();
    for object in std::mem::take(&mut inputs.objects) {
        // Objects of ours are cluster-scoped: a namespace in the manifest does not distinguish them.
        let namespace = if object.kind == Kind::ConfigMap { object.namespace.clone() } else { String::new() };
        let span = object.document.span("/metadata/name");
        let before = match first.entry((object.kind, namespace, object.name.clone())) {
            Entry::Vacant(entry) => {
                entry.insert(inputs.objects.len());
                inputs.objects.push(object);
                continue;
            }
            Entry::Occupied(entry) => *entry.get(),
        };
        let Some(other) = inputs.objects.get(before) else { continue };
        let location = inputs.location(other.document.source, other.document.span("/metadata/name").start);
        let message = format!("`{}` was defined before, in {location}", object.label());
        let wrapped = object.wrapped || other.wrapped;
        let is_shared = |object: &Object| {
            let queues = object.document.node_at("/data/queues.yaml");
            object.wrapped && queues.is_some_and(|node| node.shared)
        };
        let same =
            object.document.source == other.document.source && object.document.value == other.document.value;
        if same && is_shared(&object) && is_shared(other) {
            // It is an anchor with its alias.
            continue;
        }
        let folders = [&object, other].map(|object| inputs.folder(object.document.source));
        let apart = matches!(folders, [Some(one), Some(other)] if one != other);
        if wrapped || apart {
            let help = "pass the file or folder of one environment, or select the tree with --base";
            let diagnostic = Diagnostic::error(DUPLICATE_OBJECT, message).at(span).help(help);
            inputs.alternatives.push(object.finding(diagnostic));
            inputs.objects.push(object);
        } else {
            let help = "remove one of them, or give it another name";
            let diagnostic = Diagnostic::error(DUPLICATE_OBJECT, message).at(span).help(help);
            inputs.findings.push(object.finding(diagnostic));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::NOT_TEXT;
    use super::*;
    use crate::output::console::Look;
    use crate::output::findings;
    use crate::output::text::Source;

    fn read(text: &str) -> Inputs {
        let source = Source::new("x.yaml", text);
        Inputs::new(vec![source])
    }

    fn labels(inputs: &Inputs) -> Vec<String> {
        inputs.objects.iter().map(Object::label).collect()
    }

    fn codes(inputs: &Inputs) -> Vec<u16> {
        inputs.findings.iter().map(|finding| finding.diagnostic.code.number).collect()
    }

    const ACL: &str =
        "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {name: a}\nspec: {queue: root.a}\n";

    #[test]
    fn documents_lists_and_foreign_kinds() {
        let text = format!(
            "{ACL}---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: c, namespace: n}}\n\
             - apiVersion: apps/v1\n  kind: Deployment\n  metadata: {{name: d}}\n---\n# nothing\n"
        );
        let inputs = read(&text);
        assert_eq!(labels(&inputs), ["QueueAcl/a", "ConfigMap/c"]);
        assert_eq!((inputs.ignored, codes(&inputs)), (1, vec![]));
        let span = inputs.objects[1].document.span("/metadata/name");
        assert_eq!(text.get(span.start..span.end).unwrap(), "c");
    }

    #[test]
    fn fields_of_large_mappings_have_places() {
        let fields: Vec<String> = (0..100).map(|n| format!("  a/{n}: [x{n}, {{'on': {n}}}]\n")).collect();
        let text = format!("{ACL}data:\n{}  a/7: y\n", fields.concat());
        let parsed = yaml::parse(&text).unwrap();
        let document = Document::new(0, Span::new(0, text.len()), Value::Null, parsed);
        let shown = |span: Span| text.get(span.start..span.end).unwrap();
        assert_eq!(shown(document.span("/data/a~17/1/on")), "7");
        assert_eq!(shown(document.span_of_key("/data/a~199")), "a/99");
        assert_eq!(document.node_at("/data/a"), None);
    }

    #[test]
    fn json_objects_have_places_too() {
        let text = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}"#;
        let inputs = read(text);
        assert_eq!(labels(&inputs), ["ConfigMap/c"]);
        let span = inputs.objects[0].document.span("/metadata/name");
        assert_eq!(text.get(span.start..span.end).unwrap(), "\"c\"");
    }

    #[test]
    fn json_that_cannot_be_read_is_reported_at_its_place() {
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(200), "]".repeat(200));
        let before = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"}}\n";
        let cases = [
            ("{\n\"a\": \"é \\ud83d.\"}", "."),
            ("{\n\"a\": \"\\ud83d\\u0041\"}", "1"),
            ("{\n\"a\": [1e999]}", "9"),
            (deep.as_str(), "["),
        ];
        for (text, location) in cases {
            let whole = format!("{before}{text}\n{}", before.replace("\"c\"", "\"d\""));
            let inputs = read(&whole);
            assert_eq!(labels(&inputs), ["ConfigMap/c", "ConfigMap/d"], "{text:?}");
            assert_eq!(codes(&inputs), [NOT_JSON.number], "{text:?}");
            let Diagnostic { message, span, .. } = &inputs.findings[0].diagnostic;
            let shown = whole.get(span.unwrap().start..).unwrap();
            assert!(shown.starts_with(location), "{text:?} shows {shown:?}");
            assert!(!message.contains("line"), "{message:?}");
        }
    }

    #[test]
    fn a_json_key_that_stands_twice_is_refused() {
        let text =
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"1","a":"2"}}"#;
        let inputs = read(text);
        assert_eq!((labels(&inputs).len(), codes(&inputs)), (0, vec![DUPLICATE_KEY.number]));
        // Only JSON has surrogate pairs: such a text has a value, and no spans.
        let inputs = read(&text.replace(r#""a":"2""#, r#""b":"\ud83d\ude00""#));
        assert_eq!(labels(&inputs), ["ConfigMap/c"]);
        assert_eq!(inputs.objects[0].document.value["data"]["b"], "\u{1f600}");
    }

    #[test]
    fn a_bare_queues_yaml_is_taken_whole() {
        let inputs = read("# x\npartitions:\n  - name: default\n---\nrest\n");
        assert_eq!((inputs.bare.len(), codes(&inputs)), (1, vec![]));
        assert_eq!(inputs.bare[0].range, Span::new(0, inputs.sources[0].text.len()));
        let json = "\n{\"partitions\": [{\"name\": \"default\"}]}\n";
        let inputs = read(json);
        assert_eq!((inputs.bare.len(), codes(&inputs)), (1, vec![]));
        assert_eq!(inputs.bare_text(&inputs.bare[0]), json);
        let object = r#"{"apiVersion":"queuewarden.dev/v1alpha1","kind":"QueueAcl","metadata":{"name":"a"}}"#;
        let inputs = read(&format!("{json}{object}"));
        assert_eq!((inputs.bare.len(), labels(&inputs).len(), codes(&inputs)), (1, 1, vec![]));
        assert_eq!(inputs.bare_text(&inputs.bare[0]), json.trim_end());
    }

    #[test]
    fn objects_behind_a_bare_queues_yaml_are_not_lost() {
        let tree = "# x\npartitions:\n  - name: default\n";
        let object = "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {name: a}\n";
        let inputs = Inputs { base: Some(0), ..read(&format!("{tree}---\n{object}")) };
        assert_eq!(
            (inputs.bare.len(), labels(&inputs), codes(&inputs)),
            (1, vec!["QueueAcl/a".to_owned()], vec![])
        );
        assert_eq!(inputs.bare_text(&inputs.bare[0]), tree);
        assert_eq!(inputs.base_text(), Some(tree));
        let json = "{\"partitions\": []}\n[1]\n";
        assert_eq!(
            codes(&read(json)),
            vec![NOT_AN_OBJECT.number],
            "JSON behind it is an object, or an error"
        );
        let broken = read(&format!("{tree}---\nkind: [\n"));
        assert_eq!((broken.bare.len(), codes(&broken)), (1, vec![yaml::SYNTAX.number]));
    }

    #[test]
    fn mistakes_are_reported_where_they_are() {
        let cases = [
            ("a: [", yaml::SYNTAX.number, "["),
            ("- 1\n", NOT_AN_OBJECT.number, "- 1"),
            ("x: 1\n", NOT_AN_OBJECT.number, "x: 1"),
            ("yunikornDefaults: [1]\n", NOT_TEXT.number, "yunikornDefaults"),
            ("yunikornDefaults:\n  a.b: [1]\n", NOT_TEXT.number, "a.b"),
            ("apiVersion: queuewarden.dev/v1alpha1\nkind: QueueACL\n", UNKNOWN_KIND.number, "QueueACL"),
            ("apiVersion: queuewarden.dev/v1\nkind: QueueAcl\n", UNKNOWN_KIND.number, "queuewarden.dev/v1"),
            ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A_B}\n", BAD_NAME.number, "A_B"),
            ("apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n", BAD_NAME.number, "{}"),
        ];
        for (text, code, fragment) in cases {
            let prefix = "# first\n---\nz: {kind: x}\napiVersion: apps/v1\nkind: D\n---\n";
            let inputs = read(&format!("{prefix}{text}"));
            assert_eq!(codes(&inputs), [code], "{text:?}");
            let span = inputs.findings[0].diagnostic.span.unwrap();
            let shown = inputs.sources[0].text.get(span.start..span.end).unwrap();
            assert!(span.start >= prefix.len() && shown.trim_end() == fragment, "{text:?} shows {shown:?}");
        }
    }

    #[test]
    fn documents_are_bounded() {
        let text = |count: usize| format!("{}---\n{ACL}", "---\n".repeat(count));
        assert_eq!(codes(&read(&text(MAX_DOCUMENTS - 1))), Vec::<u16>::new());
        let inputs = read(&text(MAX_DOCUMENTS));
        assert_eq!((labels(&inputs).len(), codes(&inputs)), (0, vec![TOO_MANY_DOCUMENTS.number]));
        assert_eq!(
            inputs.sources[0].position(inputs.findings[0].diagnostic.span.unwrap().start),
            (10_001, 1)
        );
    }

    /// Returns the lines of the findings, and the text that they may quote.
    fn quoted_lines(text: &str) -> String {
        let inputs = read(text);
        findings::text(&inputs.sources, &inputs.findings, Look::default())
    }

    #[test]
    fn only_what_is_ours_is_quoted() {
        let secret =
            "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {x: hunter2, x: hunter2}\n";
        let json = r#"{"apiVersion":"v1","kind":"Secret","x":{"hunter2":1,"hunter2":2}}"#;
        let acl = r#"{"apiVersion":"queuewarden.dev/v1alpha1","kind":"QueueACL"}"#;
        for text in [
            r#"{"auths":{"ghcr.io":{"auth":"hunter2"}}}"#.to_owned(),
            "hunter2\n".to_owned(),
            "password: hunter2\n".to_owned(),
            "a: *hunter2\n".to_owned(),
            "a: hunter2: b\n".to_owned(),
            "a: hunter2\nyunikornDefaults: [hunter2]\nb: hunter2\n".to_owned(),
            "yunikornDefaults: {a.b: [hunter2], x: hunter2}\n".to_owned(),
            "a: {values: >-\n    yunikornDefaults: {a.b: []}\n    password: hunter2}\n".to_owned(),
            "values: \"yunikornDefaults: {a.b: []}\\npassword: hunter2\"\n".to_owned(),
            "values: |\n  password: hunter2\n  yunikornDefaults: [\n".to_owned(),
            "values: >-\n  {yunikornDefaults: {a.b: []}, password: hunter2}\n".to_owned(),
            "values: >-\n  {yunikornDefaults: [], password: hunter2}\n".to_owned(),
            "a: 0x1hunter2\nb: [-.inf]\nhunter2: .nan\n".to_owned(),
            secret.to_owned(),
            format!("{ACL}---\n{secret}"),
            format!("{secret}---\n{ACL}"),
            format!("{secret}{ACL}"),
            json.to_owned(),
            format!("{json}{acl}"),
            format!("{acl}{json}"),
            format!(
                r#"{{"apiVersion":"v1","kind":"List","items":[{{"hunter2":"x"}},{acl},{{"x":"hunter2"}}]}}"#
            ),
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, hunter2: [}\n".to_owned(),
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A_B, labels: {x: hunter2}}\n".to_owned(),
        ] {
            let shown = quoted_lines(&text);
            assert!(shown.contains("--> x.yaml:") && !shown.contains("hunter2"), "{text}\n{shown}");
        }
        for (text, quoted) in [
            (acl.to_owned(), "QueueACL"),
            (format!("{json}{acl}"), "1 | {\"apiVersion\":\"queuewarden.dev/v1alpha1\""),
            (format!("{secret}---\n{}", ACL.replace("name: a", "name: A_B")), "metadata: {name: A_B}"),
            (ACL.replace("{name: a}", "[}"), "metadata: [}"),
        ] {
            let shown = quoted_lines(&text);
            assert!(shown.contains(quoted), "{text}\n{shown}");
        }
    }

    #[test]
    fn a_syntax_error_spares_the_other_documents() {
        let inputs =
            read(&format!("{ACL}---\na: [\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\n"));
        assert_eq!(labels(&inputs), ["QueueAcl/a", "ConfigMap/c"]);
        assert_eq!(codes(&inputs), [yaml::SYNTAX.number]);
        assert!(!inputs.findings[0].diagnostic.message.contains("line"), "{:?}", inputs.findings);
    }

    #[test]
    fn the_second_of_the_same_name_is_refused() {
        let inputs = read(&format!("{ACL}---\n{ACL}"));
        assert_eq!((labels(&inputs).len(), codes(&inputs)), (1, vec![DUPLICATE_OBJECT.number]));
        assert!(inputs.findings[0].diagnostic.message.ends_with("x.yaml:3:18"), "{:?}", inputs.findings);
    }

    #[test]
    fn names_are_rfc_1123_subdomains() {
        for (name, ok) in
            [("a", true), ("a-b.c9", true), ("A", false), ("-a", false), ("a..b", false), ("", false)]
        {
            assert_eq!(is_name(name), ok, "{name:?}");
        }
    }
}
