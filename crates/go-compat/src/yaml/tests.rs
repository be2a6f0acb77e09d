//! The parser compared with Go (`tests/vectors/go-yaml-parse.json`), its errors, spans and limits.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    KindIn, MAX_DEPTH, MAX_NODES, MAX_TEXT, NodeIn, SYNTAX, Style, TOO_LARGE, UNSURE, parse, parse_in,
};
use crate::diag::{Code, Span};

/// Formats the tree as in the vectors.
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
fn parses_like_go_or_refuses() {
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

/// Covers each construct in the module's list with at least one text.
#[test]
fn construct_that_libraries_read_differently_is_unsure() {
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

/// Go's parser looks three tokens ahead.
#[test]
fn text_after_the_document_need_not_be_valid_to_its_end() {
    for text in
        ["[a],\nb: c\n", "[a]}\n]\n}\n@", "[a], }\nb: [", "[a]\n}}}@", " [a]\n'b' : [", " [a]\n- -b: ["]
    {
        assert_eq!(parse_in(text).unwrap().unwrap().as_sequence().map(<[_]>::len), Some(1), "{text:?}");
    }
    for text in ["[a] ]\nb\nc: d", "[a] }\n}\n@", "[a], ]b: c: d", "[a]\n'b"] {
        assert_eq!(code(text), Some(UNSURE), "{text:?}");
    }
}

/// Common mistakes, each with the reported span.
#[test]
fn text_that_go_refuses_is_reported_with_a_span() {
    for (text, fragment, message) in [
        ("a:\n  b: 1\n c: 2\n", "c: 2", "this line is indented by 1 space, the keys above by 0"),
        ("a:\n\tb: 1\n", "\t", "this line is indented with a tab, but YAML allows only spaces"),
        ("a: 'b\nc: d\n", "'", "this quote is never closed"),
        ("a: [b, c\n", "[", "this `[` is never closed"),
        ("{Σ:", "{", "this `{` is never closed"),
        ("a: [b, Σ:\n", "[", "this `[` is never closed"),
        ("a: [b\nc: d\n", "b\nc", "a key spans more than one line"),
        ("a: ['b'\nc: d\n", "c: d", "expected a comma or the end of the `[`"),
        ("a: 1\nb:2\n", "b:2", "expected a key followed by a colon and a space"),
        ("a: 1\nb\n", "b", "expected a key followed by a colon and a space"),
        ("a: b: c\n", ":", "a second `:` is not allowed here"),
        ("a: 'b' c\n", "c", "unexpected text after a complete value"),
        ("a: - b\n", "-", "a list cannot begin on the line of its key"),
        ("a: 1\n- b\n", "-", "expected a key, found a list item"),
        ("- a\nb: c\n", "b: c", "this line is not an item of the list above"),
        ("a: *\n", "*", "`*` is not followed by a name"),
        ("a: *dev\n", "*dev", "the anchor `dev` is not defined above"),
        ("a: @b\n", "@", "a value cannot begin with `@`"),
        ("a: \"\\q\"\n", "\\", "not a valid YAML escape"),
        ("a: |x\n  b\n", "x", "unexpected text after the `|` or `>` of a block"),
        ("[- a]", "-", "a list with dashes inside brackets"),
    ] {
        let problem = parse_in(text).unwrap_err();
        let span = problem.span.unwrap();
        assert_eq!((problem.code, &*problem.message), (SYNTAX, message), "{text:?}");
        assert_eq!(text.get(span.start..span.end), Some(fragment), "{text:?}");
        assert!(problem.help.is_some(), "{text:?}");
    }
}

#[test]
fn comment_needs_no_space_before_it() {
    for (text, expected) in [
        ("'a'#b", json!({ "single": "a" })),
        ("[a,#b\n]", json!({ "list": [{ "plain": "a" }] })),
        ("a: |#b\n  c", json!({ "mapping": [{ "plain": "a" }, { "literal": "c" }] })),
    ] {
        assert_eq!(shown(&parse_in(text).unwrap().unwrap()), expected, "{text:?}");
    }
}

#[test]
fn spans_cover_the_written_text() {
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
fn text_without_escapes_is_borrowed() {
    let root = parse_in("a: b\nc: 'd'\ne: \"f\"\n").unwrap().unwrap();
    let borrowed =
        |node: &NodeIn<'_>| matches!(node.kind, KindIn::Scalar { value: std::borrow::Cow::Borrowed(_), .. });
    assert!(root.as_mapping().unwrap().iter().all(|(key, value)| borrowed(key) && borrowed(value)));
}

#[test]
fn text_beyond_a_limit_is_too_large() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(code(&nested(MAX_DEPTH)), None);
    assert_eq!(code(&nested(MAX_DEPTH + 1)), Some(TOO_LARGE));
    assert_eq!(code(&"- ".repeat(MAX_DEPTH + 1)), Some(TOO_LARGE));
    assert_eq!(code(&format!("[{}]", "a,".repeat(MAX_NODES))), Some(TOO_LARGE));
    assert_eq!(code(&"a".repeat(MAX_TEXT + 1)), Some(TOO_LARGE));
    // Copies are as large as the original.
    let deep = format!("a: &a {}\nb: {}*a{}\n", nested(200), "[".repeat(100), "]".repeat(100));
    assert_eq!(code(&deep), Some(TOO_LARGE));
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        laughs = format!("{laughs}a{level}: &a{level} [{aliases}]\n");
    }
    assert_eq!(code(&laughs), Some(TOO_LARGE));
}

/// Checks that each span lies within its parent's span and within the text.
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
    fn any_text_parses_or_is_refused(text in "[ \\-:?\\[\\]{},#&*!|>'\"%@\\\\a1\n\r\té\u{feff}]{0,60}") {
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
fn node_limit_can_be_lowered() {
    use super::within;

    // The list itself is a node, too.
    let text = format!("[{}]", "a,".repeat(9));
    assert!(within(&text, 10).is_ok());
    assert_eq!(within(&text, 9).unwrap_err().code, TOO_LARGE);
    let aliases = "a: &a [x, x, x, x]\nb: *a\n";
    assert!(within(aliases, 13).is_ok());
    assert_eq!(within(aliases, 12).unwrap_err().code, TOO_LARGE);
    assert!(within("{", 10).is_ok(), "invalid YAML is not too large");
}

/// A large configuration has tens of thousands of nodes, and an edit keeps two trees of it.
#[test]
fn node_is_small() {
    assert!(size_of::<NodeIn<'_>>() <= 64);
}
