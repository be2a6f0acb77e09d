//! Edits of single scalars that leave every other byte unchanged.
//!
//! People maintain the scheduler's configuration, and their comments, order and quoting must survive when an
//! ACL changes. A YAML emitter cannot preserve them, so the edit splices the text at the positions of the
//! tree. It then proves that nothing else changed: it parses the result and refuses the edit unless the new
//! tree equals the old one with exactly the requested changes.

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
    /// The value of this key of a mapping (the key's scalar content).
    Key(Cow<'static, str>),
    /// The item of a list at this index.
    Index(usize),
}

/// One edit: sets (replaces or adds) the scalar `key` in the mapping at `path` in the first document.
///
/// * An edit that sets the current value leaves the bytes unchanged, including the quotes.
/// * A replaced value keeps its double quotes. All other values are written in single quotes, or in double
///   quotes with escapes if a single line cannot hold them.
/// * A new key is added after the first run of scalars, before nested lists, or at the start if the
///   mapping begins with a list or mapping. In a JSON document it is written as JSON.
/// * An edit does not create mappings. It cannot set a key of a queue that is not in the text, such as the
///   `root` that yunikorn-core adds above the other queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Path from the root of the document to the mapping.
    pub path: Vec<Step>,
    /// The key in that mapping.
    pub key: String,
    /// The new value.
    pub value: String,
}

/// Applies the edits, and proves that only the requested values changed.
///
/// All paths refer to the original text; edits do not see each other. Two edits of the same key must agree.
/// The time is linear in the size of the text plus the number of edits.
///
/// # Errors
/// [`super::EDIT`] if an edit cannot be made in isolation: the path does not exist, the value is not a
/// scalar, the key appears twice, or an anchor or alias shares the node. Also the errors of [`parse_in`].
pub fn apply(text: &str, edits: &[Edit]) -> Result<String, Diagnostic> {
    if edits.is_empty() {
        return Ok(text.to_owned());
    }
    let (result, proof) = draft(text, edits)?;
    proof.read(&result)?;
    Ok(result)
}

/// The expected tree of an edited text.
#[derive(Debug)]
pub struct Proof<'t> {
    expected: NodeIn<'t>,
}

/// Applies the edits without proving anything yet. The caller parses the result through the returned proof,
/// and so parses it only once.
///
/// # Errors
/// The errors of [`apply`], except for a failed proof.
pub fn draft<'t>(text: &'t str, edits: &[Edit]) -> Result<(String, Proof<'t>), Diagnostic> {
    let Some(mut expected) = parse_in(text)? else {
        return Err(refuse("the text contains no YAML document").help("write at least `partitions: []`"));
    };
    let mut splices = Vec::new();
    for change in changes(text, &expected, edits, &mut splices)? {
        change.make(&mut expected);
    }
    Ok((spliced(text, splices), Proof { expected }))
}

/// Returns the indexes of the edits that cannot be made, each tried alone, and the reasons.
///
/// # Errors
/// The errors of [`parse_in`].
pub fn refused(text: &str, edits: &[Edit]) -> Result<Vec<(usize, Diagnostic)>, Diagnostic> {
    Ok(parse_in(text)?.map_or_else(Vec::new, |tree| change::refused(text, &tree, edits)))
}

impl Proof<'_> {
    /// Parses the result, proves that only the requested values changed, and returns the new tree.
    ///
    /// # Errors
    /// [`super::EDIT`] if something else has changed.
    pub fn read(self, result: &str) -> Result<NodeIn<'_>, Diagnostic> {
        let found = parse_in(result).map_err(|error| error.message);
        let refusal = match found {
            Ok(Some(found)) => match difference(&self.expected, &found) {
                None => return Ok(found),
                Some(node) => refuse("the edit would change more than it should").at(node.span),
            },
            Ok(None) => refuse("the edit would leave an empty document"),
            Err(message) => refuse(format!("the edit would make the text invalid ({message})")),
        };
        Err(refusal.help("make this change by hand, or simplify this part of the text"))
    }
}

fn refuse(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(EDIT, message)
}

/// A key with its value.
type Pair<'t> = (NodeIn<'t>, NodeIn<'t>);

/// A part of the text and its replacement.
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

/// Applies the splices. Insertions at the same position keep their order.
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

/// Returns the first node of `expected` that differs from `found` in kind, content or style. Spans are
/// ignored.
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

/// Formats a path as in `partitions[0].queues[1]`.
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
            // The value is already set.
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
    fn adds_after_an_empty_value_in_braces() {
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
    fn shared_or_unclear_place_is_refused() {
        for (text, path, message) in [
            ("", "", "the text contains no YAML document"),
            ("a: [", "", "this `[` is never closed"),
            ("a: [x]", "", "`a` in the document is not a scalar"),
            ("a: x\na: y", "", "the key `a` appears twice"),
            ("b:", "b", "`b` is not a mapping that can be edited"),
            ("b: {}", "c", "`c` is not a mapping that can be edited"),
            ("b: [{}]", "b/1", "`b[1]` is not a mapping that can be edited"),
            ("b: {}", "b/1", "`b[1]` is not a mapping that can be edited"),
            ("[b: x]", "0", "`[0]` is not a mapping that can be edited"),
            ("a: &x y\nb: *x", "", "the value of `a` in the document has an anchor"),
            ("b: &x {c: d}\ne: *x", "b", "`b` is in a part of the text that an alias repeats"),
            ("b: &x {c: d}\ne: *x", "e", "`e` is in a part of the text that an alias repeats"),
            ("b: &x {c: {d: e}}\nf: {<<: *x}", "f/c", "`f.c` is not a mapping that can be edited"),
        ] {
            assert_eq!(edited(text, &[(path, "a", "n")]).unwrap_err(), message, "{text:?}");
        }
        let disagree = edited("a: x", &[("", "a", "1"), ("", "a", "2")]).unwrap_err();
        assert_eq!(disagree, "two edits disagree about `a` in the document");
    }
}
