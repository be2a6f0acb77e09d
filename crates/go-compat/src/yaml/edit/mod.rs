//! Changes of single scalars with everything else byte for byte as it was.
//!
//! The scheduler's configuration belongs to people: their comments, order and quoting must survive when an
//! ACL changes. No emitter gives that back, so the text itself is spliced at the positions the tree gives.
//! Then it is proved that nothing else changed: the result is read again and must equal the first tree with
//! exactly the desired changes, or the edit is refused.
//!
//! `find` leads to the mapping, `change` replaces values in it, `add` adds pairs, `place` knows the text
//! around a node, `quote` writes scalars.

mod change;
#[cfg(test)]
mod proofs;
#[cfg(test)]
mod written;

use std::borrow::Cow;
use std::fmt::Write as _;

use super::{EDIT, KindIn, NodeIn, parse_in};
use crate::diag::{Diagnostic, Span};
use change::changes;

/// One step from a node to a child.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Step {
    /// The value behind this key of a mapping (the key's scalar content).
    Key(Cow<'static, str>),
    /// The item with this index of a list.
    Index(usize),
}

/// One change: set (replace or add) the scalar `key` in the mapping that `path` leads to (in the first
/// document).
///
/// * Setting a key to the text it has already leaves its bytes alone, whatever its quotes.
/// * A replaced value in double quotes keeps them; any other is written in single quotes, or in double quotes
///   with escapes where a single line cannot carry it.
/// * An added key stands behind the first run of scalars, so in front of nested lists, and in front of
///   everything when the mapping starts with a list or mapping. In a JSON text it is written as JSON.
/// * No mapping is made: a queue that the text does not hold (such as a `root` that yunikorn-core would put
///   above the others) cannot be given a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// From the document's root to the mapping.
    pub path: Vec<Step>,
    /// The key in that mapping.
    pub key: String,
    /// The new value.
    pub value: String,
}

/// Applies the edits and reads the result again: only the named values differ, or it refuses.
///
/// Paths are followed in the text as given: edits do not see each other. Two edits of one key must agree. The
/// time taken grows with the text and with the edits, not with their product.
///
/// # Errors
/// [`super::EDIT`] when an edit cannot be made alone: the path leads nowhere, the value is no scalar, the key
/// stands twice, or an anchor or alias shares the place. And the errors of [`parse_in`].
pub fn apply(text: &str, edits: &[Edit]) -> Result<String, Diagnostic> {
    if edits.is_empty() {
        return Ok(text.to_owned());
    }
    let (result, proof) = draft(text, edits)?;
    proof.read(&result)?;
    Ok(result)
}

/// The tree that a text should have.
#[derive(Debug)]
pub struct Proof<'t> {
    expected: NodeIn<'t>,
}

/// Applies the edits for a caller that reads the result with the proof, and so reads it once. Nothing is
/// proven yet.
///
/// # Errors
/// As [`apply`], but for what the proof finds.
pub fn draft<'t>(text: &'t str, edits: &[Edit]) -> Result<(String, Proof<'t>), Diagnostic> {
    let Some(mut expected) = parse_in(text)? else {
        return Err(refuse("the text holds no YAML document").help("write at least `partitions: []`"));
    };
    let mut splices = Vec::new();
    for change in changes(text, &expected, edits, &mut splices)? {
        change.make(&mut expected);
    }
    Ok((spliced(text, splices), Proof { expected }))
}

/// Returns the edits that cannot be made, each looked at alone: their indexes, and why.
///
/// # Errors
/// Those of [`parse_in`].
pub fn refused(text: &str, edits: &[Edit]) -> Result<Vec<(usize, Diagnostic)>, Diagnostic> {
    Ok(parse_in(text)?.map_or_else(Vec::new, |tree| change::refused(text, &tree, edits)))
}

impl Proof<'_> {
    /// Reads the result: only the named values differ, or it refuses. Returns what was read.
    ///
    /// # Errors
    /// [`super::EDIT`] when something else has changed.
    pub fn read(self, result: &str) -> Result<NodeIn<'_>, Diagnostic> {
        let found = parse_in(result).map_err(|error| error.message);
        let refusal = match found {
            Ok(Some(found)) => match difference(&self.expected, &found) {
                None => return Ok(found),
                Some(node) => refuse("the edit would change more than it should").at(node.span),
            },
            Ok(None) => refuse("the edit would leave no YAML document"),
            Err(message) => refuse(format!("the edit would break the text ({message})")),
        };
        Err(refusal.help("make this change in the text by hand, or write this part of it more plainly"))
    }
}

fn refuse(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(EDIT, message)
}

/// A key with its value.
type Pair<'t> = (NodeIn<'t>, NodeIn<'t>);

/// A piece of the text and what stands there instead.
#[derive(Debug)]
struct Splice {
    span: Span,
    text: String,
}

impl Splice {
    fn insert(at: usize, text: String) -> Self {
        Self { span: Span::new(at, at), text }
    }
}

/// Returns the text with all splices made. Insertions at one position keep their order.
fn spliced(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|splice| splice.span);
    let (mut result, mut done) = (String::with_capacity(text.len()), 0);
    for splice in splices {
        result.push_str(text.get(done..splice.span.start).unwrap_or_default());
        result.push_str(&splice.text);
        done = splice.span.end;
    }
    result + text.get(done..).unwrap_or_default()
}

/// Returns the first node of `expected` that reads differently in `found`: another kind, content or style.
/// Spans do not count.
fn difference<'e, 't>(expected: &'e NodeIn<'t>, found: &NodeIn<'_>) -> Option<&'e NodeIn<'t>> {
    match (&expected.kind, &found.kind) {
        (KindIn::Sequence(items), KindIn::Sequence(others)) if items.len() == others.len() => {
            items.iter().zip(others).find_map(|(item, other)| difference(item, other))
        }
        (KindIn::Mapping(pairs), KindIn::Mapping(others)) if pairs.len() == others.len() => {
            pairs.iter().zip(others).find_map(|((key, value), (other_key, other_value))| {
                difference(key, other_key).or_else(|| difference(value, other_value))
            })
        }
        (KindIn::Scalar { .. }, other) if expected.kind == *other => None,
        _ => Some(expected),
    }
}

/// Returns the path as people write it: `partitions[0].queues[1]`.
fn shown(path: &[Step]) -> String {
    let mut shown = String::new();
    for step in path {
        match step {
            Step::Key(key) if shown.is_empty() => shown.push_str(key),
            Step::Key(key) => _ = write!(shown, ".{key}"),
            Step::Index(index) => _ = write!(shown, "[{index}]"),
        }
    }
    if shown.is_empty() { "the document".to_owned() } else { format!("`{shown}`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path: &str) -> Vec<Step> {
        let steps = path.split('/').filter(|step| !step.is_empty());
        steps
            .map(|step| step.parse().map_or_else(|_| Step::Key(step.to_owned().into()), Step::Index))
            .collect()
    }

    fn edit(path_to: &str, key: &str, value: &str) -> Edit {
        Edit { path: path(path_to), key: key.to_owned(), value: value.to_owned() }
    }

    fn edited(text: &str, edits: &[(&str, &str, &str)]) -> Result<String, String> {
        let edits: Vec<_> = edits.iter().map(|(path, key, value)| edit(path, key, value)).collect();
        apply(text, &edits).map_err(|refusal| {
            assert!(refusal.code == EDIT || refusal.code == super::super::SYNTAX);
            refusal.message
        })
    }

    #[test]
    fn sets_in_place() {
        for (text, expected) in [
            ("a: x\n", "a: 'n'\n"),
            ("a: x # why\n", "a: 'n' # why\n"),
            ("a:   'x'  # why\nb: 1\n", "a:   'n'  # why\nb: 1\n"),
            ("a: \"x\"\n", "a: \"n\"\n"),
            ("a:\nb: 1\n", "a: 'n'\nb: 1\n"),
            ("a: # why\n  # more\nb: 1\n", "a: 'n' # why\n  # more\nb: 1\n"),
            ("a: ~\n", "a: 'n'\n"),
            ("\"a\": x", "\"a\": 'n'"),
            ("'a' : x", "'a' : 'n'"),
            ("a: multi\n  line\n  text # c\nb: 1\n", "a: 'n' # c\nb: 1\n"),
            ("a: 'multi\n\n  line'\nb: 1\n", "a: 'n'\nb: 1\n"),
            ("a: | # why\n  x\n  y\n\n# c\nb: 1\n", "a: 'n' # why\n\n# c\nb: 1\n"),
            ("a: >-\n  x\n\n  y", "a: 'n'"),
            ("a: |+\n\n  x\n\nb: |\n  z", "a: 'n'\n\nb: |\n  z"),
            ("b: &b x\na: *b\nc: *b\n", "b: &b x\na: 'n'\nc: *b\n"),
            ("<<: {a: x}\na: y\n", "<<: {a: x}\na: 'n'\n"),
            ("\u{feff}a: x\r\nb: 1\r\n", "\u{feff}a: 'n'\r\nb: 1\r\n"),
            ("---\na: x\n---\na: x\n", "---\na: 'n'\n---\na: x\n"),
            ("{a: x, b: 1}", "{a: 'n', b: 1}"),
            ("{a: , b: 1}", "{a: 'n' , b: 1}"),
            ("{a, b: 1}", "{a: 'n', b: 1}"),
            ("{\"a\":\"x\"}", "{\"a\":\"n\"}"),
            ("{\"a\":1}", "{\"a\":\"n\"}"),
            // It is that text already.
            ("a: n # c\n", "a: n # c\n"),
            ("a: \"n\"\n", "a: \"n\"\n"),
            ("a: &x n\nb: *x\n", "a: &x n\nb: *x\n"),
        ] {
            assert_eq!(edited(text, &[("", "a", "n")]).as_deref(), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn adds() {
        for (text, path, expected) in [
            ("name: x\n", "", "name: x\na: 'n'\n"),
            ("name: x", "", "name: x\na: 'n'"),
            ("name: x # c\r\nqueues: []\r\n", "", "name: x # c\r\na: 'n'\r\nqueues: []\r\n"),
            (
                "q:\n- name: x\n  # about l\n  l: []\n- name: y\n",
                "q/0",
                "q:\n- name: x\n  a: 'n'\n  # about l\n  l: []\n- name: y\n",
            ),
            ("q:\n  - l: []\n    name: y\n", "q/0", "q:\n  - a: 'n'\n    l: []\n    name: y\n"),
            ("q:\n    -   name: y", "q/0", "q:\n    -   name: y\n        a: 'n'"),
            ("-\n  name: y\n  z:\n", "0", "-\n  name: y\n  z:\n  a: 'n'\n"),
            ("- - name: y\n", "0/0", "- - name: y\n    a: 'n'\n"),
            ("name: >\n  x\n\n", "", "a: 'n'\nname: >\n  x\n\n"),
            ("name: x\n   y\nb: 1\n...\nname: z\n", "", "name: x\n   y\nb: 1\na: 'n'\n...\nname: z\n"),
            ("<<: &m {b: x}\n", "", "a: 'n'\n<<: &m {b: x}\n"),
            ("m: &m {b: x}\nq:\n  <<: *m\n  l: []\n", "q", "m: &m {b: x}\nq:\n  <<: *m\n  a: 'n'\n  l: []\n"),
            ("q: {}\n", "q", "q: {a: 'n'}\n"),
            ("q: {name: x}\n", "q", "q: {name: x, a: 'n'}\n"),
            ("q: {name: x, l: [], b: y}\n", "q", "q: {name: x, a: 'n', l: [], b: y}\n"),
            ("q: {l: [], b: y}\n", "q", "q: {a: 'n', l: [], b: y}\n"),
            (
                "{\n  \"name\": \"x\", # c\n  \"l\": []\n}\n",
                "",
                "{\n  \"name\": \"x\", # c\n  \"a\": \"n\",\n  \"l\": []\n}\n",
            ),
            ("{\n  \"name\": \"x\" # c\n}\n", "", "{\n  \"name\": \"x\", # c\n  \"a\": \"n\"\n}\n"),
            ("{\"q\": {}}", "q", "{\"q\": {\"a\": \"n\"}}"),
        ] {
            assert_eq!(edited(text, &[(path, "a", "n")]).as_deref(), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn adds_behind_an_empty_value_in_braces() {
        for (text, expected) in
            [("{b: }", "{b: , a: 'n' }"), ("{b}", "{b , a: 'n'}"), ("{b: , l: []}", "{b: , a: 'n' , l: []}")]
        {
            assert_eq!(edited(text, &[("", "a", "n")]).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn several_edits_in_one_mapping() {
        let cases = [
            ("name: x\nl: []\n", &[("", "a", "1"), ("", "b", "2")][..], "name: x\na: '1'\nb: '2'\nl: []\n"),
            ("{}", &[("", "a", "1"), ("", "b", "2")], r#"{"a": "1", "b": "2"}"#),
            ("{\n a: 1,\n b: []\n}", &[("", "c", "3"), ("", "a", "2")], "{\n a: '2',\n c: '3',\n b: []\n}"),
            (
                "- a: 1\n- l: []\n",
                &[("1", "b", "3"), ("0", "b", "2")],
                "- a: 1\n  b: '2'\n- b: '3'\n  l: []\n",
            ),
            ("a: 1", &[("", "a", "2"), ("", "a", "2")], "a: '2'"),
        ];
        for (text, edits, expected) in cases {
            assert_eq!(edited(text, edits).as_deref(), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn refuses_what_is_shared_or_unclear() {
        for (text, path, message) in [
            ("", "", "the text holds no YAML document"),
            ("a: [", "", "this `[` is never closed"),
            ("a: [x]", "", "`a` in the document is not a scalar"),
            ("a: x\na: y", "", "the key `a` stands twice"),
            ("b:", "b", "`b` is no mapping that can be edited"),
            ("b: {}", "c", "`c` is no mapping that can be edited"),
            ("b: [{}]", "b/1", "`b[1]` is no mapping that can be edited"),
            ("b: {}", "b/1", "`b[1]` is no mapping that can be edited"),
            ("[b: x]", "0", "`[0]` is no mapping that can be edited"),
            ("a: &x y\nb: *x", "", "the value of `a` in the document carries an anchor"),
            ("b: &x {c: d}\ne: *x", "b", "`b` is in a part of the text that is used in several places"),
            ("b: &x {c: d}\ne: *x", "e", "`e` is in a part of the text that is used in several places"),
            ("b: &x {c: {d: e}}\nf: {<<: *x}", "f/c", "`f.c` is no mapping that can be edited"),
        ] {
            assert_eq!(edited(text, &[(path, "a", "n")]).unwrap_err(), message, "{text:?}");
        }
        let disagree = edited("a: x", &[("", "a", "1"), ("", "a", "2")]).unwrap_err();
        assert_eq!(disagree, "two edits disagree about `a` in the document");
    }
}
