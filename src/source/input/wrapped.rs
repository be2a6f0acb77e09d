//! Finds `YuniKorn`'s configuration and queuewarden's objects inside other documents.
//!
//! A wrapper is a path inside a document at which a queue tree, the data of a ConfigMap or an object is kept:
//! Helm values with `yunikornDefaults` at any depth, a fragment of a ConfigMap, values or parameters of Helm
//! in a resource of Argo CD or Flux, a patch or generator of kustomize. The path may lead through texts that
//! are YAML themselves. What is found becomes an object whose spans are in the file.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::object::{self, Document, Kind, Object, token};
use super::scalar::ContentSpans;
use super::split::split;
use super::{Inputs, NOT_TEXT, ours};
use crate::output::text::TEMPLATE;
use go_compat::diag::{Diagnostic, Span, quoted};
use go_compat::yaml::{self, Kind as NodeKind, MAX_TEXT, Node, Style};
use queuewarden_plan::snapshot::{YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS};

/// The Helm values that become ConfigMaps, and the names of these.
pub(super) const VALUES: [(&str, &str); 2] =
    [("yunikornDefaults", YUNIKORN_DEFAULTS), ("yunikornConfigs", YUNIKORN_CONFIGS)];
/// Maximum number of texts within texts.
const MAX_NESTED: usize = 3;

/// A text in a file that a document was read from.
#[derive(Debug)]
pub struct Inside {
    /// The text.
    pub text: String,
    /// The location of each of its bytes in the file.
    pub spans: ContentSpans,
    /// The number of texts that it is in.
    nested: usize,
}

/// An entry of the data of a ConfigMap.
struct Entry {
    key: String,
    value: Value,
    /// The nodes of both; `None` for JSON that is not valid YAML.
    nodes: Option<(Node, Node)>,
}

/// Adds the objects and queue trees inside a document. Returns whether it has any.
pub(super) fn collect(inputs: &mut Inputs, document: &Document) -> bool {
    let before = inputs.count();
    inputs.add_patches(document.source, patches(&document.value));
    Search { inputs, document }.visit(&document.value, "", &mut String::new());
    inputs.count() > before
}

struct Search<'a> {
    inputs: &'a mut Inputs,
    document: &'a Document,
}

impl Search<'_> {
    /// Searches a value at a JSON pointer. `name` is the field that holds it, or the list with it.
    fn visit(&mut self, value: &Value, name: &str, pointer: &mut String) {
        match value {
            Value::Object(map) => self.mapping(value, map, pointer),
            Value::Array(items) => {
                let taken = self.parameters(items, pointer);
                for (index, item) in items.iter().enumerate().filter(|(index, _)| !taken.contains(index)) {
                    below(pointer, &index.to_string(), |pointer| self.visit(item, name, pointer));
                }
            }
            Value::String(text) if holds_yaml(name) || ours::is_tree(text) => {
                self.text(text, pointer, None);
            }
            _ => {}
        }
    }

    fn mapping(&mut self, value: &Value, map: &Map<String, Value>, pointer: &mut String) {
        let word = |name: &str| map.get(name).and_then(Value::as_str);
        let is_object = word("apiVersion").is_some() && word("kind").is_some();
        if is_object && word("kind") == Some("Secret") {
            return;
        }
        if is_object && !pointer.is_empty() && ours::is_ours(value) {
            let document = self.document.part(value.clone(), self.document.node_at(pointer).cloned());
            let part = document.quotable_whole();
            object::sort(self.inputs, document, part);
            return;
        }
        if !is_object && ours::is_data(map, pointer.is_empty()) {
            self.data(YUNIKORN_DEFAULTS, map, pointer);
            return;
        }
        if self.patch(map, pointer) || self.literals(map, pointer) {
            return;
        }
        self.fields(map, if is_object { word("kind") } else { None }, pointer);
    }

    /// Searches the fields of a mapping, or of an object of this kind.
    fn fields(&mut self, map: &Map<String, Value>, kind: Option<&str>, pointer: &mut String) {
        for (key, child) in map {
            // They repeat the object or its past, or are not text.
            if kind.is_some() && ["metadata", "status", "operation", "binaryData"].contains(&key.as_str()) {
                continue;
            }
            below(pointer, &token(key), |pointer| {
                let known = VALUES.iter().find(|(name, _)| name == key);
                match (known, child) {
                    // It is the data of another ConfigMap.
                    (None, Value::Object(data)) if kind == Some("ConfigMap") => {
                        self.fields(data, None, pointer);
                    }
                    (Some((_, name)), Value::Object(data)) => self.data(name, data, pointer),
                    (Some(known), Value::String(text)) => self.text(text, pointer, Some(known)),
                    (Some(_), Value::Null) => {}
                    (Some(_), _) => self.no_mapping(key, pointer),
                    (None, child) => self.visit(child, key, pointer),
                }
            });
        }
    }

    /// Adds the mapping at a JSON pointer as the data of a ConfigMap. Numbers and booleans become text, as in
    /// the templates of `YuniKorn`'s chart.
    fn data(&mut self, name: &str, map: &Map<String, Value>, pointer: &mut String) {
        if is_schema(map) {
            return;
        }
        let mut entries = Vec::new();
        for (key, value) in map {
            let entry = below(pointer, &token(key), |pointer| self.entry(key.clone(), value, pointer, None));
            entries.extend(entry);
        }
        self.add(name, entries, self.document);
    }

    /// Returns the value at a JSON pointer as an entry; `None` for null, which deletes a key, and for
    /// lists and mappings, which are reported. The name of its field locates the key if nothing else does.
    fn entry(&mut self, key: String, value: &Value, pointer: &str, name: Option<&str>) -> Option<Entry> {
        let text = match value {
            Value::Null => return None,
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::Array(_) | Value::Object(_) => {
                let message = format!("{} must be text, as in a ConfigMap", quoted(&key));
                let help = format!("write `{key}: |`, and the lines below it with more spaces");
                self.not_text(pointer, &message, &help);
                return None;
            }
        };
        let node = self.document.node_at(pointer);
        let named = name.map_or_else(|| self.document.key_at(pointer), |name| self.document.node_at(name));
        let nodes =
            node.zip(named).map(|(node, named)| (Node { kind: plain(&key), ..named.clone() }, node.clone()));
        Some(Entry { key, value: Value::String(text), nodes })
    }

    /// Adds entries as the data of a ConfigMap. Their nodes are from the document `within`.
    fn add(&mut self, name: &str, entries: Vec<Entry>, within: &Document) {
        if entries.is_empty() {
            return;
        }
        let nodes: Option<Vec<(Node, Node)>> = entries.iter().map(|entry| entry.nodes.clone()).collect();
        for (key, value) in nodes.iter().flatten() {
            if let Some(part) = within.quotable(Span::new(key.span.start, value.span.end)) {
                self.inputs.quote(within.source, part);
            }
        }
        let node = nodes.and_then(|nodes| {
            let span = nodes.first()?.0.span;
            let node = |kind| Node { kind, mark: None, shared: false, span };
            let data = node(NodeKind::Mapping(nodes));
            Some(node(NodeKind::Mapping(vec![(node(plain("data")), data)])))
        });
        let data: Map<String, Value> = entries.into_iter().map(|entry| (entry.key, entry.value)).collect();
        let value =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
        let document = within.part(value, node);
        let object = |document| {
            let (kind, name) = (Kind::ConfigMap, name.to_owned());
            Ok(Object { kind, name, namespace: String::new(), wrapped: true, document })
        };
        if let Err(diagnostic) = object::add(self.inputs, document, object) {
            self.report(diagnostic);
        }
    }

    /// Reads the text at a JSON pointer: a queue tree, the data of one of [`VALUES`], or documents.
    fn text(&mut self, text: &str, pointer: &str, known: Option<&(&str, &str)>) {
        let nested = self.document.inside.as_ref().map_or(0, |inside| inside.nested).saturating_add(1);
        if nested > MAX_NESTED || known.is_none() && !ours::mentions(text) {
            return;
        }
        if ours::is_tree(text) {
            let value = Value::from(text);
            let entry = self.entry("queues.yaml".to_owned(), &value, pointer, None);
            return self.add(
                known.map_or(YUNIKORN_DEFAULTS, |(_, name)| name),
                entry.into_iter().collect(),
                self.document,
            );
        }
        let Document { source, .. } = *self.document;
        if !self.inputs.may_nest(text.len()) {
            let message = format!("the texts in this file have more than {} MiB", MAX_TEXT >> 20);
            let at = self.document.span(pointer);
            return self.report(Diagnostic::error(yaml::TOO_LARGE, message).at(at));
        }
        let spans = self.inputs.content_spans(self.document, pointer);
        let spans = spans.unwrap_or_else(|| ContentSpans::whole(self.document.span(pointer)));
        let masked = masked(text);
        let (syntax, ranges) = split(&masked);
        let inside = Arc::new(Inside { text: masked, spans, nested });
        for range in ranges {
            let part = text.get(range.start..range.end).unwrap_or_default();
            let document = Document::read(&inside.text, source, syntax, range)
                .and_then(|document| document.map(Document::decoded).transpose());
            match document {
                Ok(Some(mut document)) => {
                    document.inside = Some(Arc::clone(&inside));
                    match (&document.value, known) {
                        (Value::Object(map), Some((_, name))) => {
                            let mut search = Search { inputs: self.inputs, document: &document };
                            search.data(name, map, &mut String::new());
                        }
                        (_, Some((key, _))) => self.no_mapping(key, pointer),
                        (_, None) => {
                            let part = document.quotable_whole();
                            object::sort(self.inputs, document, part);
                        }
                    }
                }
                Err(diagnostic) if known.is_some() || ours::claims(part) => {
                    let at = diagnostic.span.map(|span| inside.spans.span(span));
                    self.inputs.unread(source, part, Diagnostic { span: at, ..diagnostic });
                }
                Ok(None) | Err(_) => {}
            }
        }
    }

    /// Adds the parameters that set values of Helm, such as `yunikornDefaults.queues\.yaml`. Returns their
    /// places in the list.
    fn parameters(&mut self, items: &[Value], pointer: &str) -> BTreeSet<usize> {
        let mut taken = BTreeSet::new();
        let mut all: BTreeMap<Vec<String>, Vec<Entry>> = BTreeMap::new();
        for (index, item) in items.iter().enumerate() {
            let (Some(name), Some(value)) = (item.get("name").and_then(Value::as_str), item.get("value"))
            else {
                continue;
            };
            let mut path = segments(name);
            let key = path.pop().unwrap_or_default();
            if path.last().is_some_and(|last| VALUES.iter().any(|(name, _)| name == last)) {
                let (at, name) = (format!("{pointer}/{index}/value"), format!("{pointer}/{index}/name"));
                all.entry(path).or_default().extend(self.entry(key, value, &at, Some(&name)));
                taken.insert(index);
            }
        }
        for (path, entries) in all {
            let name = VALUES.iter().find(|(name, _)| path.last().is_some_and(|last| last == name));
            self.add(name.map_or(YUNIKORN_DEFAULTS, |(_, name)| name), entries, self.document);
        }
        taken
    }

    /// Adds the value of a JSON patch of a ConfigMap. Returns whether it is one.
    fn patch(&mut self, map: &Map<String, Value>, pointer: &str) -> bool {
        let word = |name: &str| map.get(name).and_then(Value::as_str);
        let (Some("add" | "replace"), Some(path), Some(value)) = (word("op"), word("path"), map.get("value"))
        else {
            return false;
        };
        let Some(key) = path.strip_prefix("/data/").map(object::unescaped) else { return false };
        let data = Map::from_iter([(key.clone(), value.clone())]);
        if !ours::is_data(&data, true) {
            return false;
        }
        let (at, name) = (format!("{pointer}/value"), format!("{pointer}/path"));
        let entry = self.entry(key, value, &at, Some(&name));
        self.add(YUNIKORN_DEFAULTS, entry.into_iter().collect(), self.document);
        true
    }

    /// Adds the literals of a ConfigMap that kustomize generates. Returns whether it is one of `YuniKorn`'s.
    fn literals(&mut self, map: &Map<String, Value>, pointer: &str) -> bool {
        let name = map.get("name").and_then(Value::as_str).filter(|name| ours::is_read(name));
        let literals = map.get("literals").and_then(Value::as_array);
        let (Some(name), Some(literals)) = (name, literals) else { return false };
        let (mut text, mut spans, mut entries) = (String::new(), Vec::new(), Vec::new());
        for (index, literal) in literals.iter().enumerate() {
            let Some((key, value)) = literal.as_str().and_then(|literal| literal.split_once('=')) else {
                continue;
            };
            let at = format!("{pointer}/literals/{index}");
            let of_literal = self.inputs.content_spans(self.document, &at);
            let length = key.len().saturating_add(1).saturating_add(value.len());
            spans.push((length, of_literal.unwrap_or_else(|| ContentSpans::whole(self.document.span(&at)))));
            let scalar = |text: &str, start: usize| {
                let span = Span::new(start, start.saturating_add(text.len()));
                Node { kind: plain(text), mark: None, shared: false, span }
            };
            let start = text.len();
            let behind = start.saturating_add(key.len()).saturating_add(1);
            let nodes = Some((scalar(key, start), scalar(value, behind)));
            entries.push(Entry { key: key.to_owned(), value: Value::from(value), nodes });
            text.extend([key, "=", value, "\n"]);
        }
        let nested = self.document.inside.as_ref().map_or(0, |inside| inside.nested).saturating_add(1);
        let range = Span::new(0, text.len());
        let inside = Inside { text, spans: ContentSpans::joined(spans), nested };
        let mut within = Document::new(self.document.source, range, Value::Null, None);
        within.inside = Some(Arc::new(inside));
        self.add(name, entries, &within);
        true
    }

    fn no_mapping(&mut self, key: &str, pointer: &str) {
        let message = format!("`{key}` must be a mapping, with the keys of a ConfigMap");
        self.not_text(pointer, &message, "write the queue tree below it as `queues.yaml: |`");
    }

    /// Reports a field by its JSON pointer. Messages may quote its name.
    fn not_text(&mut self, pointer: &str, message: &str, help: &str) {
        let part = self.document.key_at(pointer).and_then(|key| self.document.quotable(key.span));
        if let Some(part) = part {
            self.inputs.quote(self.document.source, part);
        }
        let at = self.document.span_of_key(pointer);
        self.report(Diagnostic::error(NOT_TEXT, message).at(at).help(help));
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.inputs.report(self.document.source, diagnostic);
    }
}

/// Returns whether a mapping describes a value, as the JSON schema of a chart does. The keys of `YuniKorn`
/// have dots.
fn is_schema(map: &Map<String, Value>) -> bool {
    !map.keys().any(|key| key.contains('.'))
        && ["type", "$ref", "properties", "description"].iter().any(|word| map.contains_key(*word))
}

fn plain(text: &str) -> NodeKind {
    NodeKind::Scalar { value: text.to_owned().into(), style: Style::Plain }
}

/// Returns the files that a kustomization applies as patches.
fn patches(value: &Value) -> impl Iterator<Item = &str> {
    let lists = ["patches", "patchesStrategicMerge", "patchesJson6902"];
    let items = lists.into_iter().filter_map(|list| value.get(list)?.as_array()).flatten();
    items.filter_map(|item| item.as_str().or_else(|| item.get("path")?.as_str()))
}

/// Runs `then` with the JSON pointer of a field or item.
fn below<T>(pointer: &mut String, token: &str, then: impl FnOnce(&mut String) -> T) -> T {
    let end = pointer.len();
    pointer.push('/');
    pointer.push_str(token);
    let result = then(pointer);
    pointer.truncate(end);
    result
}

/// Returns whether a field of this name holds YAML as text: values for Helm, patches, files. Other texts,
/// such as scripts, may look like it.
fn holds_yaml(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    ["values", "patch", "manifest"].iter().any(|word| lower.contains(word))
        || [".yaml", ".yml", ".json"].iter().any(|end| lower.ends_with(end))
}

/// Replaces a placeholder in a text. It is for private use, so no program writes it.
pub(super) const MASK: char = '\u{e000}';

/// Replaces the placeholders of a template by as many bytes, so that the text around them can be read. Argo
/// CD completes such texts.
fn masked(text: &str) -> String {
    let (mut masked, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, behind)) = rest.split_once(TEMPLATE) {
        masked.push_str(before);
        let end = behind.find("}}").filter(|end| !behind.get(..*end).unwrap_or_default().contains('\n'));
        let length = end.map_or(0, |end| end.saturating_add("}}".len()));
        if length == 0 {
            masked.push_str(TEMPLATE);
        } else {
            let bytes = length.saturating_add(TEMPLATE.len());
            masked.extend(std::iter::repeat_n(MASK, bytes / MASK.len_utf8()));
            masked.extend(std::iter::repeat_n('x', bytes % MASK.len_utf8()));
        }
        rest = behind.get(length..).unwrap_or_default();
    }
    masked.push_str(rest);
    masked
}

/// Splits the path of a value as `helm --set` does: at dots without a backslash.
fn segments(path: &str) -> Vec<String> {
    let mut segments = vec![String::new()];
    let mut chars = path.chars();
    while let Some(c) = chars.next() {
        let c = if c == '\\' { chars.next() } else { Some(c).filter(|c| *c != '.') };
        match (c, segments.last_mut()) {
            (Some(c), Some(last)) => last.push(c),
            _ => segments.push(String::new()),
        }
    }
    segments
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::output::console::Look;
    use crate::output::findings;
    use crate::output::text::Source;

    /// Documents that hold a tree, each in another way.
    const SEED: &str = "a: &t\n  yunikornDefaults:\n    queues.yaml: |\n      partitions: [{queues: []}]\nb: *t\n---\n\
        spec: {helm: {values: \"yunikornDefaults:\\n  queues.yaml: |\\n    partitions:\\n    - queues: []\\n\", parameters: [{name: 'yunikornDefaults.queues\\.yaml', value: 'partitions: [{queues}]'}]}}\n---\n\
        configMapGenerator:\n- name: yunikorn-configs\n  literals: ['queues.yaml=partitions: [{queues: 1}]', 'log.level={{ x }}']\n---\n\
        patches:\n- patch: |-\n    - op: add\n      path: /data/queues.yaml\n      value: >\n        partitions: [{queues: []}]\n---\n\
        apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: values}\n  data:\n    values.yaml: |\n      yunikornConfigs: {a.b: [1]}\n";

    fn check(text: &str, found: bool) -> Result<(), TestCaseError> {
        let source = Source::new("x.yaml", text);
        let inputs = Inputs::new(vec![if found { source.found() } else { source }]);
        for object in &inputs.objects {
            for pointer in ["", "/data", "/data/queues.yaml", "/metadata/name", "/data/log.level"] {
                for span in [object.document.span(pointer), object.document.span_of_key(pointer)] {
                    prop_assert!(text.get(span.start..span.end).is_some(), "{pointer} {span:?}");
                }
                if let Some(spans) = inputs.content_spans(&object.document, pointer) {
                    let part = spans.span(Span::new(1, 9));
                    prop_assert!(text.get(part.start..part.end).is_some() || !text.is_ascii(), "{part:?}");
                    prop_assert!(part.end <= text.len(), "{part:?}");
                }
            }
        }
        findings::text(&inputs.sources, &inputs.findings, Look { color: true, width: Some(80) });
        prop_assert!(!found || inputs.sources.is_empty() || inputs.held() > 0);
        Ok(())
    }

    proptest! {
        #[test]
        fn every_text_is_searched(
            changes in prop::collection::vec(
                (0..SEED.len(), 0_usize..6, "[ \\n\\t:#'\"{}\\[\\],*&|>-]{0,3}|ü|\\{\\{|\\}\\}|\\\\"),
                0..6,
            ),
            found: bool,
        ) {
            let text = changes.into_iter().fold(SEED.to_owned(), |text, (at, cut, put)| {
                let at = text.floor_char_boundary(at);
                let end = text.ceil_char_boundary(at.saturating_add(cut));
                let (head, rest) = text.split_at(at);
                format!("{head}{put}{}", rest.split_at(end - at).1)
            });
            check(&text, found)?;
        }
    }

    #[test]
    fn paths_of_values_are_split_as_by_helm() {
        for (path, expected) in [
            ("yunikornDefaults.queues\\.yaml", &["yunikornDefaults", "queues.yaml"][..]),
            ("a.b", &["a", "b"]),
            ("a\\\\.b\\", &["a\\", "b", ""]),
            ("", &[""]),
        ] {
            assert_eq!(segments(path), expected, "{path}");
        }
    }

    #[test]
    fn placeholders_are_masked_in_place() {
        for text in ["a: {{name}}", "{{", "{{ a\n }}", "{{a}} }} {{ü}}", "x {{}} y"] {
            let masked = masked(text);
            assert_eq!(masked.len(), text.len(), "{text:?}");
            assert_eq!(masked.contains(TEMPLATE), text == "{{" || text.contains('\n'), "{masked:?}");
        }
    }

    #[test]
    fn texts_inside_are_bounded() {
        let text = format!("yunikornDefaults: {{a.b: '{}'}}", "x".repeat(MAX_TEXT / 3));
        let text = format!("---\nvalues: {}\n", Value::from(text.as_str())).repeat(4);
        // A file of this size is not read by the command line.
        let inputs = Inputs::new(vec![Source::new("x.json", text)]);
        let codes: Vec<_> = inputs.findings.iter().map(|found| found.diagnostic.code).collect();
        assert!(codes.contains(&yaml::TOO_LARGE), "{codes:?}");
        let deep = (0..9).fold("yunikornDefaults: {a.b: c}".to_owned(), |text, _| {
            format!("values: {}", Value::from(text))
        });
        let inputs = Inputs::new(vec![Source::new("x.yaml", deep)]);
        assert!(inputs.objects.is_empty() && inputs.findings.len() == 1);
    }
}
