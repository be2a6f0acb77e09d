//! Changes of single scalars with everything else byte for byte as it was.
//!
//! The scheduler's configuration belongs to people: their comments, order and quoting must survive when an ACL changes. No
//! emitter gives that back, so the text itself is spliced at the places the tree tells. What the splices did is then proved:
//! the result is read again and must equal the first tree with exactly the wanted changes, or the edit is refused.
//!
//! `find` leads to the mapping, `change` collects what happens to it, `block` and `flow` splice the two ways a mapping is
//! written, `place` knows the text around a node, `quote` writes scalars.

mod block;
mod change;
mod find;
mod flow;
mod place;
#[cfg(test)]
mod proofs;
mod quote;
#[cfg(test)]
mod written;

use super::parse::parse_in;
use super::{EDIT, KindIn, NodeIn};
use crate::diag::{Diagnostic, Span};
use change::{Change, changes};

/// One step from a node to a child.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Step {
    /// The value behind this key of a mapping (the key's scalar content).
    Key(String),
    /// The item with this index of a list.
    Index(usize),
}

/// One change: set (replace or add) or remove the scalar `key` in the mapping that `path` leads to (in the first document).
///
/// * Setting a key to the text it has already leaves its bytes alone, whatever its quotes.
/// * A replaced value in double quotes keeps them; any other is written in single quotes, or in double quotes with escapes
///   where a single line cannot carry it.
/// * An added key stands behind the first run of scalars, so in front of nested lists, and in front of everything when the
///   mapping starts with a list or mapping. In a JSON text it is written as JSON.
/// * Removing a key that is not there changes nothing. Removing the only key leaves `{}`.
/// * No mapping is made: a queue that the text does not hold (such as a `root` that yunikorn-core would put above the others)
///   cannot be given a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// From the document's root to the mapping.
    pub path: Vec<Step>,
    /// The key in that mapping.
    pub key: String,
    /// The new value; `None` removes the key.
    pub value: Option<String>,
}

/// Applies the edits and re-reads the result: only the named values differ, or it refuses.
///
/// Paths are followed in the text as given: edits do not see each other. Two edits of one key must agree. The time taken grows
/// with the text and with the edits, not with their product.
///
/// # Errors
/// [`super::EDIT`] when an edit cannot be made alone: the path leads nowhere, the value is no scalar, the key stands twice
/// or would still come through a merge key after its removal, or an anchor or alias shares the place. And
/// the errors of [`parse_in`].
pub fn apply(text: &str, edits: &[Edit]) -> Result<String, Diagnostic> {
    if edits.is_empty() {
        return Ok(text.to_owned());
    }
    let (result, proof) = draft(text, edits)?;
    proof.of(&result)?;
    Ok(result)
}

/// How a text should read.
#[derive(Debug)]
pub struct Proof<'t> {
    expected: NodeIn<'t>,
}

/// As [`apply`], for who reads the result themselves: the proof has to, and so it is read once. Nothing is proven yet.
///
/// # Errors
/// As [`apply`], but for what the proof finds.
pub fn draft<'t>(text: &'t str, edits: &[Edit]) -> Result<(String, Proof<'t>), Diagnostic> {
    let Some(mut tree) = parse_in(text)? else {
        return Err(refuse("the text holds no YAML document").help("write at least `partitions: []`"));
    };
    let changes = changes(text, &tree, edits)?;
    let mut splices = Vec::new();
    for change in &changes {
        change.splice(text, &mut splices)?;
    }
    let expected: Vec<_> = changes.into_iter().map(Change::into_expected).collect();
    for change in expected {
        change.make(&mut tree);
    }
    Ok((spliced(text, splices)?, Proof { expected: tree }))
}

/// Which of the edits cannot be made, each looked at alone: their indexes, and why.
///
/// # Errors
/// Those of [`parse_in`].
pub fn refused(text: &str, edits: &[Edit]) -> Result<Vec<(usize, Diagnostic)>, Diagnostic> {
    let Some(tree) = parse_in(text)? else { return Ok(Vec::new()) };
    Ok(change::refused(text, &tree, edits))
}

impl Proof<'_> {
    /// Reads the result: only the named values differ, or it refuses. Gives what was read.
    ///
    /// # Errors
    /// [`super::EDIT`] when something else than was asked for has changed.
    pub fn of(self, result: &str) -> Result<NodeIn<'_>, Diagnostic> {
        verify(&self.expected, result)
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

    fn delete(start: usize, end: usize) -> Self {
        Self { span: Span::new(start, end), text: String::new() }
    }
}

/// The text with all splices made. Deletions may overlap each other. At one place insertions come first, in their order.
fn spliced(text: &str, mut splices: Vec<Splice>) -> Result<String, Diagnostic> {
    splices.sort_by_key(|splice| (splice.span.start, splice.span.start != splice.span.end));
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for splice in splices {
        if splice.span.start < done && !splice.text.is_empty() {
            return Err(refuse("two edits touch the same place").at(splice.span));
        }
        result.push_str(text.get(done..splice.span.start).unwrap_or_default());
        result.push_str(&splice.text);
        done = done.max(splice.span.end);
    }
    result.push_str(text.get(done..).unwrap_or_default());
    Ok(result)
}

/// Reads the result and compares it with what the edits mean.
fn verify<'r>(expected: &NodeIn<'_>, result: &'r str) -> Result<NodeIn<'r>, Diagnostic> {
    let help = "make this change in the text by hand, or write this part of it more plainly";
    let found = match parse_in(result) {
        Ok(Some(found)) => found,
        Ok(None) => return Err(refuse("the edit would leave no YAML document").help(help)),
        Err(error) => {
            return Err(refuse(format!("the edit would break the text ({})", error.message)).help(help));
        }
    };
    match difference(expected, &found) {
        Some(place) => Err(refuse("the edit would change more than was asked for").at(place.span).help(help)),
        None => Ok(found),
    }
}

/// The first node of `expected` that reads differently in `found`: another kind, content or style. Places do not count.
fn difference<'e, 't>(expected: &'e NodeIn<'t>, found: &NodeIn<'_>) -> Option<&'e NodeIn<'t>> {
    let differs = match (&expected.kind, &found.kind) {
        (KindIn::Scalar { value, style }, KindIn::Scalar { value: other, style: other_style }) => {
            value != other || style != other_style
        }
        (KindIn::Sequence(items), KindIn::Sequence(others)) if items.len() == others.len() => {
            return items.iter().zip(others).find_map(|(item, other)| difference(item, other));
        }
        (KindIn::Mapping(pairs), KindIn::Mapping(others)) if pairs.len() == others.len() => {
            return pairs.iter().zip(others).find_map(|((key, value), (other_key, other_value))| {
                difference(key, other_key).or_else(|| difference(value, other_value))
            });
        }
        _ => true,
    };
    differs.then_some(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path: &str) -> Vec<Step> {
        let steps = path.split('/').filter(|step| !step.is_empty());
        steps.map(|step| step.parse().map_or_else(|_| Step::Key(step.to_owned()), Step::Index)).collect()
    }

    fn edit(path_to: &str, key: &str, value: Option<&str>) -> Edit {
        Edit { path: path(path_to), key: key.to_owned(), value: value.map(str::to_owned) }
    }

    fn edited(text: &str, edits: &[(&str, &str, Option<&str>)]) -> Result<String, String> {
        let edits: Vec<_> = edits.iter().map(|(path, key, value)| edit(path, key, *value)).collect();
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
            assert_eq!(edited(text, &[("", "a", Some("n"))]).as_deref(), Ok(expected), "{text:?}");
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
            assert_eq!(edited(text, &[(path, "a", Some("n"))]).as_deref(), Ok(expected), "{text:?}");
            assert_eq!(edited(expected, &[(path, "a", None)]).as_deref(), Ok(text), "{text:?} and back");
        }
    }

    #[test]
    fn adds_behind_an_empty_value_in_braces() {
        for (text, expected) in
            [("{b: }", "{b: , a: 'n' }"), ("{b}", "{b , a: 'n'}"), ("{b: , l: []}", "{b: , a: 'n' , l: []}")]
        {
            assert_eq!(edited(text, &[("", "a", Some("n"))]).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn removes() {
        for (text, path, expected) in [
            ("a: x\nb: 1\n", "", "b: 1\n"),
            ("b: 1\na: x # c\n", "", "b: 1\n"),
            ("b: 1\n# above\na: x\n# below\nc: 2\n", "", "b: 1\n# above\n# below\nc: 2\n"),
            ("b: 1\na: |\n  x\n\n  y\nc: 2\n", "", "b: 1\nc: 2\n"),
            ("b: 1\na:\nc: 2\n", "", "b: 1\nc: 2\n"),
            ("b: 1\na: x\n  y\n  z", "", "b: 1"),
            ("b: |\n  1\na: x", "", "b: |\n  1\n"),
            ("b: |+\n  1\n\na: x # c\n  \n\nc: d", "", "b: |+\n  1\n\nc: d"),
            ("b: |\n  1\n\na: x\n\nc: d", "", "b: |\n  1\n\n\nc: d"),
            ("- a: x\n  name: y\n", "0", "- name: y\n"),
            ("- a: x # c\n\n  name: y\n", "0", "- name: y\n"),
            ("- a: x # c\n  # the name\n  name: y\n", "0", "-\n  # the name\n  name: y\n"),
            ("q:\n- a: x # c\n- a: y\n", "q/0", "q:\n- {} # c\n- a: y\n"),
            ("q:\n  a: x\n", "q", "q:\n  {}\n"),
            ("{a: x}", "", "{}"),
            ("{ a: x }", "", "{ }"),
            ("{a: x, b: 1}", "", "{b: 1}"),
            ("{b: 1, a: x}", "", "{b: 1}"),
            ("{b: 1, a: x,}", "", "{b: 1,}"),
            ("{\n  b: 1, # one\n  a: x # two\n}", "", "{\n  b: 1 # one\n}"),
            ("b: 1\n", "", "b: 1\n"),
        ] {
            assert_eq!(edited(text, &[(path, "a", None)]).as_deref(), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn several_edits_in_one_mapping() {
        type Edits<'a> = &'a [(&'a str, &'a str, Option<&'a str>)];
        let cases: &[(&str, Edits<'_>, &str)] = &[
            (
                "name: x\nl: []\n",
                &[("", "a", Some("1")), ("", "b", Some("2"))],
                "name: x\na: '1'\nb: '2'\nl: []\n",
            ),
            ("{}", &[("", "a", Some("1")), ("", "b", Some("2"))], r#"{"a": "1", "b": "2"}"#),
            ("- a: 1\n  b: 2\n  c: 3\n", &[("0", "a", None), ("0", "b", None)], "- c: 3\n"),
            ("- a: 1\n  b: 2\n", &[("0", "a", None), ("0", "b", None)], "- {}\n"),
            ("c: 3\na: 1\nb: 2", &[("", "a", None), ("", "b", None)], "c: 3"),
            ("a: 1\nb: 2", &[("", "a", None), ("", "c", Some("3"))], "b: 2\nc: '3'"),
            ("- a: 1\n  l: []\n", &[("0", "a", None), ("0", "c", Some("3"))], "- c: '3'\n  l: []\n"),
            (
                "- a: 1 # c\n",
                &[("0", "a", None), ("0", "c", Some("3")), ("0", "d", Some("4"))],
                "- c: '3'\n  d: '4' # c\n",
            ),
            ("{a: 1, b: 2, c: 3}", &[("", "b", None), ("", "c", None)], "{a: 1}"),
            (
                "{a: 1, b: 2, c: 3}",
                &[("", "b", None), ("", "c", None), ("", "d", Some("4"))],
                "{a: 1, d: '4'}",
            ),
            ("{\n a: 1,\n b: 2\n}", &[("", "b", None), ("", "c", Some("3"))], "{\n a: 1,\n c: '3'\n}"),
            ("{\n a: 1, # x\n b: 2\n}", &[("", "b", None)], "{\n a: 1 # x\n}"),
            ("{a: 1}", &[("", "a", None), ("", "c", Some("3"))], "{c: '3'}"),
            ("a: 1", &[("", "a", Some("2")), ("", "a", Some("2"))], "a: '2'"),
        ];
        for (text, edits, expected) in cases {
            assert_eq!(edited(text, edits).as_deref(), Ok(*expected), "{text:?}");
        }
    }

    #[test]
    fn refuses_what_is_shared_or_unclear() {
        for (text, path, key, value, message) in [
            ("", "", "a", Some("n"), "the text holds no YAML document"),
            ("a: [", "", "a", Some("n"), "this `[` is never closed"),
            ("a: [x]", "", "a", Some("n"), "`a` in the document is not a scalar"),
            ("a: x\na: y", "", "a", Some("n"), "the key `a` stands twice"),
            ("b:", "b", "a", Some("n"), "`b` is not a mapping"),
            ("b: {}", "c", "a", Some("n"), "the document has no key `c`"),
            ("b: [{}]", "b/1", "a", Some("n"), "`b` has no item 1"),
            ("b: {}", "b/1", "a", Some("n"), "`b` is not a list"),
            ("[b: x]", "0", "a", Some("n"), "`[0]` is a single pair without braces in a list"),
            ("a: &x y\nb: *x", "", "a", Some("n"), "the value of `a` in the document carries an anchor"),
            (
                "b: &x {c: d}\ne: *x",
                "b",
                "a",
                Some("n"),
                "`b` is also used in other places, through its anchor `&x`",
            ),
            ("b: &x {c: d}\ne: *x", "e", "a", Some("n"), "`e` is an alias"),
            ("b: &x {c: {d: e}}\nf: {<<: *x}", "f/c", "a", Some("n"), "`f` has no key `c`"),
            (
                "<<: {a: x}\na: y",
                "",
                "a",
                None,
                "`a` in the document comes through `<<` and cannot be removed here",
            ),
            (
                "<<: {a: x}",
                "",
                "a",
                None,
                "`a` in the document comes through `<<` and cannot be removed here",
            ),
        ] {
            assert_eq!(edited(text, &[(path, key, value)]).unwrap_err(), message, "{text:?}");
        }
        let disagree = edited("a: x", &[("", "a", Some("1")), ("", "a", None)]).unwrap_err();
        assert_eq!(disagree, "two edits disagree about `a` in the document");
    }
}
