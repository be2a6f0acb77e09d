//! The reader beside what Go answered (`tests/vectors/go-yaml-parse.json`), its refusals, its spans and its
//! bounds.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    KindIn, MAX_DEPTH, MAX_NODES, MAX_TEXT, NodeIn, SYNTAX, Style, TOO_LARGE, UNSURE, parse, parse_in,
};
use crate::diag::{Code, Span};

/// The tree as the vectors have it.
fn shown(node: &NodeIn<'_>) -> Value {
    if let Some(name) = node.alias() {
        return json!({ "alias": name });
    }
    let mut shown = match &node.kind {
        KindIn::Scalar { value, style } => {
            let style = match style {
                Style::Plain => "plain",
                Style::SingleQuoted => "single",
                Style::DoubleQuoted => "double",
                Style::Literal => "literal",
                Style::Folded => "folded",
            };
            json!({ style: value })
        }
        KindIn::Sequence(items) => json!({ "list": items.iter().map(shown).collect::<Vec<_>>() }),
        KindIn::Mapping(pairs) => {
            let nodes = pairs.iter().flat_map(|(key, value)| [shown(key), shown(value)]);
            json!({ "mapping": nodes.collect::<Vec<_>>() })
        }
    };
    if let Some(name) = node.anchor() {
        shown["anchor"] = json!(name);
    }
    shown
}

fn code(text: &str) -> Option<Code> {
    parse_in(text).err().map(|problem| problem.code)
}

#[test]
fn reads_as_go_reads_or_refuses() {
    let rows: Vec<Value> =
        serde_json::from_str(include_str!("../../../../tests/vectors/go-yaml-parse.json")).unwrap();
    let mut unsure = 0;
    for row in &rows {
        let text = row["text"].as_str().unwrap();
        match parse_in(text) {
            Ok(root) => assert_eq!(root.as_ref().map_or(Value::Null, shown), row["tree"], "{text:?}"),
            Err(problem) if problem.code == UNSURE => unsure += 1,
            Err(problem) => assert!(row["error"].is_string(), "{text:?}: {problem}"),
        }
    }
    assert!(rows.len() > 170 && unsure < 15, "{unsure} of {}", rows.len());
}

/// One text at least for each construct in the list of the module.
#[test]
fn what_libraries_read_differently_is_refused_as_unsure() {
    let long = format!("{}: a", "k".repeat(1_025));
    for text in [
        "a: !!str b",
        "%YAML 1.1\n---\na",
        "? a\n: b",
        ": a",
        "{: a}",
        "- : a",
        "[a]: b",
        "{a: b}: c",
        "a: &x b\n*x : c",
        "&x a: b",
        "- &x a: b",
        "{[a]: b}",
        "{&x a: b}",
        "a: b\n|\n  c",
        "a: \0",
        "a: \u{7f}",
        "a: \u{feff}b",
        "a: \u{85}",
        "a: b\u{2028}",
        "a: b\rc: d",
        "a: 'b'\n\t\nc: d",
        "a: b\n\t# c\nd: e",
        "a: b\n  \tc",
        "-\ta",
        "a: 'b\n\tc'",
        "[a\n\tb]",
        "a: |\n\tb",
        "a: \"\\'\"",
        "a: \"b\\\n\n c\"",
        "a: |\n    \n  b",
        "[?a]",
        "[a?b]",
        "{a:}",
        "[a:]",
        "[-]",
        "[\n---\n]",
        "'\n---\n'",
        "a: &a.b c",
        "a: *x:",
        "[&x , a]",
        "&x [*x]",
        "a: &x\n  &y b: c",
        "a:\n  &x\n- b",
        "[a] b",
        "a: b\n---\n@",
        "...\na",
        long.as_str(),
    ] {
        let problem = parse_in(text).unwrap_err();
        assert!(problem.code == UNSURE && problem.help.is_some(), "{text:?}: {problem}");
    }
}

/// Go's reader looks three tokens ahead.
#[test]
fn what_stands_behind_the_document_need_not_be_yaml_to_its_end() {
    for text in
        ["[a],\nb: c\n", "[a]}\n]\n}\n@", "[a], }\nb: [", "[a]\n}}}@", " [a]\n'b' : [", " [a]\n- -b: ["]
    {
        assert_eq!(parse_in(text).unwrap().unwrap().as_sequence().map(<[_]>::len), Some(1), "{text:?}");
    }
    for text in ["[a] ]\nb\nc: d", "[a] }\n}\n@", "[a], ]b: c: d", "[a]\n'b"] {
        assert_eq!(code(text), Some(UNSURE), "{text:?}");
    }
}

/// The mistakes of every day, each with the span that is shown.
#[test]
fn what_go_refuses_is_reported_with_its_place() {
    for (text, fragment, message) in [
        ("a:\n  b: 1\n c: 2\n", "c: 2", "this line has 1 spaces in front of it, the keys above have 0"),
        ("a:\n\tb: 1\n", "\t", "a tab indents this line, and YAML allows only spaces there"),
        ("a: 'b\nc: d\n", "'", "this quote is never closed"),
        ("a: [b, c\n", "[", "this `[` is never closed"),
        ("{Σ:", "{", "this `{` is never closed"),
        ("a: [b, Σ:\n", "[", "this `[` is never closed"),
        ("a: [b\nc: d\n", "b\nc", "a key of more than one line"),
        ("a: ['b'\nc: d\n", "c: d", "a comma or the end of the `[` is missing in front of this"),
        ("a: 1\nb:2\n", "b:2", "a key with a colon and a space is expected here"),
        ("a: 1\nb\n", "b", "a key with a colon and a space is expected here"),
        ("a: b: c\n", ":", "a second `:` makes no key here"),
        ("a: 'b' c\n", "c", "this stands behind a complete value"),
        ("a: - b\n", "-", "a list cannot begin on the line of its key"),
        ("a: 1\n- b\n", "-", "a list item stands where a key is expected"),
        ("- a\nb: c\n", "b: c", "this line is no item of the list above"),
        ("a: *\n", "*", "`*` has no name behind it"),
        ("a: *dev\n", "*dev", "nothing above has the anchor `dev`"),
        ("a: @b\n", "@", "a value cannot begin with `@`"),
        ("a: \"\\q\"\n", "\\", "YAML has no such escape"),
        ("a: |x\n  b\n", "x", "this stands behind the `|` or `>` of a block"),
        ("[- a]", "-", "a list with dashes within brackets"),
    ] {
        let problem = parse_in(text).unwrap_err();
        let span = problem.span.unwrap();
        assert_eq!((problem.code, &*problem.message), (SYNTAX, message), "{text:?}");
        assert_eq!(text.get(span.start..span.end), Some(fragment), "{text:?}");
        assert!(problem.help.is_some(), "{text:?}");
    }
}

#[test]
fn a_comment_needs_no_space_in_front_of_it() {
    for (text, expected) in [
        ("'a'#b", json!({ "single": "a" })),
        ("[a,#b\n]", json!({ "list": [{ "plain": "a" }] })),
        ("a: |#b\n  c", json!({ "mapping": [{ "plain": "a" }, { "literal": "c" }] })),
    ] {
        assert_eq!(shown(&parse_in(text).unwrap().unwrap()), expected, "{text:?}");
    }
}

#[test]
fn spans_cover_what_was_written() {
    let text = "\u{feff}a: &x 'b' # c\nd:\n- e\n  f\n- {g: [h]}\ni: |\n  j\n\nk:\nl: *x\n";
    let root = parse_in(text).unwrap().unwrap();
    let pairs = root.as_mapping().unwrap();
    let written = |node: &NodeIn<'_>| text.get(node.span.start..node.span.end).unwrap().to_owned();
    let values: Vec<_> = pairs.iter().map(|(_, value)| written(value)).collect();
    assert_eq!(values, ["&x 'b'", "- e\n  f\n- {g: [h]}", "|\n  j", "", "*x"]);
    assert_eq!(written(&root), text.trim_start_matches('\u{feff}').trim_end());
    let items = pairs[1].1.as_sequence().unwrap();
    assert_eq!(written(&items[0]), "e\n  f");
}

#[test]
fn what_reads_as_it_is_written_is_borrowed() {
    let root = parse_in("a: b\nc: 'd'\ne: \"f\"\n").unwrap().unwrap();
    let borrowed =
        |node: &NodeIn<'_>| matches!(node.kind, KindIn::Scalar { value: std::borrow::Cow::Borrowed(_), .. });
    assert!(root.as_mapping().unwrap().iter().all(|(key, value)| borrowed(key) && borrowed(value)));
}

#[test]
fn texts_beyond_the_bounds_are_too_large() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(code(&nested(MAX_DEPTH)), None);
    assert_eq!(code(&nested(MAX_DEPTH + 1)), Some(TOO_LARGE));
    assert_eq!(code(&"- ".repeat(MAX_DEPTH + 1)), Some(TOO_LARGE));
    assert_eq!(code(&format!("[{}]", "a,".repeat(MAX_NODES))), Some(TOO_LARGE));
    assert_eq!(code(&"a".repeat(MAX_TEXT + 1)), Some(TOO_LARGE));
    // Copies count as what they are copies of.
    let deep = format!("a: &a {}\nb: {}*a{}\n", nested(200), "[".repeat(100), "]".repeat(100));
    assert_eq!(code(&deep), Some(TOO_LARGE));
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        laughs = format!("{laughs}a{level}: &a{level} [{aliases}]\n");
    }
    assert_eq!(code(&laughs), Some(TOO_LARGE));
}

/// Each span lies within its parent's and within the text.
fn check_spans(text: &str, node: &NodeIn<'_>, parent: Span) {
    let span = node.span;
    assert!(parent.start <= span.start && span.end <= parent.end, "{text:?}: {node:?}");
    assert!(text.get(span.start..span.end).is_some(), "{text:?}: {node:?}");
    match &node.kind {
        _ if node.alias().is_some() => {}
        KindIn::Scalar { .. } => {}
        KindIn::Sequence(items) => items.iter().for_each(|item| check_spans(text, item, span)),
        KindIn::Mapping(pairs) => {
            for (key, value) in pairs {
                check_spans(text, key, span);
                check_spans(text, value, span);
            }
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[ \\-:?\\[\\]{},#&*!|>'\"%@\\\\a1\n\r\té\u{feff}]{0,60}") {
        match parse_in(&text) {
            Ok(Some(root)) => check_spans(&text, &root, Span::new(0, text.len())),
            Ok(None) => {}
            Err(problem) => {
                let span = problem.span.unwrap();
                prop_assert!(text.get(span.start..span.end).is_some(), "{:?}", problem);
            }
        }
        prop_assert_eq!(parse(&text), parse_in(&text).map(|root| root.map(NodeIn::into_owned)));
    }
}

#[test]
fn fewer_nodes_can_be_asked_for() {
    use super::within;

    // A list is a node, too.
    let text = format!("[{}]", "a,".repeat(9));
    assert!(within(&text, 10).is_ok());
    assert_eq!(within(&text, 9).unwrap_err().code, TOO_LARGE);
    let aliases = "a: &a [x, x, x, x]\nb: *a\n";
    assert!(within(aliases, 13).is_ok());
    assert_eq!(within(aliases, 12).unwrap_err().code, TOO_LARGE);
    assert!(within("{", 10).is_ok(), "it is no YAML, and not too large");
}

/// Of a large configuration there are tens of thousands, in two trees at once while it is changed.
#[test]
fn a_node_is_small() {
    assert!(size_of::<NodeIn<'_>>() <= 64);
}
