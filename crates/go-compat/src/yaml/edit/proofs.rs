//! Properties of all edits, tested on the samples and on random texts and edits.

use std::collections::HashMap;

use proptest::prelude::*;

use super::change::content;
use super::written::texts;
use super::{EDIT, Edit, Step, apply};
use crate::yaml::samples::samples;
use crate::yaml::{Kind, Node, Style, parse};

/// Returns the paths of all mappings in the tree.
fn mappings(node: &Node) -> Vec<(Vec<Step>, &Node)> {
    let mut found = Vec::new();
    let mut open = vec![(Vec::new(), node)];
    while let Some((path, node)) = open.pop() {
        let child = |step| path.iter().cloned().chain([step]).collect::<Vec<_>>();
        match &node.kind {
            Kind::Scalar { .. } => {}
            Kind::Sequence(items) => {
                open.extend(items.iter().enumerate().map(|(index, item)| (child(Step::Index(index)), item)));
            }
            Kind::Mapping(pairs) => {
                let keyed = pairs.iter().filter_map(|(key, value)| Some((key.as_scalar()?, value)));
                open.extend(keyed.map(|(key, value)| (child(Step::Key(key.to_owned().into())), value)));
                found.push((path, node));
            }
        }
    }
    found
}

/// Collects the path and content of every leaf in order. Shares no code with the module under test.
fn leaves(node: &Node, path: &str, found: &mut Vec<(String, String)>) {
    match &node.kind {
        Kind::Scalar { value, style } => found.push((path.to_owned(), format!("{style:?} {value}"))),
        Kind::Sequence(items) => {
            found.push((path.to_owned(), "list".to_owned()));
            for (index, item) in items.iter().enumerate() {
                leaves(item, &format!("{path}/[{index}]"), found);
            }
        }
        Kind::Mapping(pairs) => {
            found.push((path.to_owned(), "mapping".to_owned()));
            for (key, value) in pairs {
                leaves(value, &format!("{path}/{}", key.as_scalar().unwrap_or("?")), found);
            }
        }
    }
}

fn shown(path: &[Step], key: &str) -> String {
    let step = |step: &Step| match step {
        Step::Key(key) => format!("/{key}"),
        Step::Index(index) => format!("/[{index}]"),
    };
    path.iter().map(step).collect::<String>() + "/" + key
}

/// Checks that the edits set their values and changed nothing else.
fn check(text: &str, edits: &[Edit], result: &str) {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    leaves(&parse(text).unwrap().unwrap(), "", &mut before);
    leaves(&parse(result).unwrap().unwrap(), "", &mut after);
    let wanted: HashMap<_, _> =
        edits.iter().map(|edit| (shown(&edit.path, &edit.key), &edit.value)).collect();
    for (path, value) in &wanted {
        let found: Vec<_> = after.iter().filter(|(found, _)| found == path).map(|(_, leaf)| leaf).collect();
        let [leaf] = found.as_slice() else {
            panic!("expected {value:?} at {path}, found {found:?} in\n{result}")
        };
        let found = leaf.split_once(' ').map(|(_, found)| found);
        assert_eq!(found, Some(value.as_str()), "{path}\n{result}");
    }
    before.retain(|(path, _)| !wanted.contains_key(path));
    after.retain(|(path, _)| !wanted.contains_key(path));
    assert_eq!(before, after, "{edits:?}\n{text}\n--\n{result}");
}

/// Returns the numbers of lines removed and added between the first and the last difference.
fn changed_lines(text: &str, result: &str) -> (usize, usize) {
    let [old, new] =
        [text, result].map(|text| text.trim_start_matches('\u{feff}').lines().collect::<Vec<_>>());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) = (old.get(same..).unwrap(), new.get(same..).unwrap());
    let same = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    (old.len() - same, new.len() - same)
}

fn starts_line(text: &str, at: usize) -> bool {
    text.get(..at).unwrap().trim_end_matches(' ').ends_with('\n')
}

/// Sets or adds each ACL in each mapping of the text.
fn edit_everywhere(text: &str) -> usize {
    let tree = parse(text).unwrap().unwrap();
    let mut made = 0;
    for (path, node) in mappings(&tree) {
        for key in ["submitacl", "adminacl"] {
            let pair = node.as_mapping().unwrap().iter().find(|(found, _)| found.as_scalar() == Some(key));
            let set = [Edit { path: path.clone(), key: key.to_owned(), value: "it's new".to_owned() }];
            let result = match apply(text, &set) {
                Ok(result) => result,
                Err(refusal) => {
                    let known =
                        ["appears twice", "is not a scalar"].iter().any(|end| refusal.message.ends_with(end));
                    let known = known || text.contains('&');
                    assert!(refusal.code == EDIT && known, "{refusal}\n{text}");
                    continue;
                }
            };
            made += 1;
            check(text, &set, &result);
            assert_eq!(apply(&result, &set).as_deref(), Ok(&*result), "twice is once");
            let flow = text.get(content(text, node.span)..).unwrap().starts_with('{');
            let written = pair
                .map_or(0, |(key, value)| text.get(key.span.start..value.span.end).unwrap().lines().count());
            let (lost, won) = changed_lines(text, &result);
            if flow {
                assert!(lost <= 2 && won <= 2, "{text}\n--\n{result}");
            } else {
                // Before `- queues:` the new key takes the line of the dash.
                let moved = (lost, won) == (written + 1, 2) && !starts_line(text, node.span.start);
                assert!((lost, won) == (written, 1) || moved, "{text}\n--\n{result}");
            }
        }
    }
    made
}

#[test]
fn samples_keep_all_but_the_edited_lines() {
    let mut made = 0;
    for text in samples() {
        let Ok(Some(tree)) = parse(&text) else { continue };
        made += edit_everywhere(&text);
        for crlf in [text.replace('\n', "\r\n"), text.trim_end().to_owned(), format!("\u{feff}{text}")] {
            if parse(&crlf).is_ok_and(|tree| tree.is_some()) {
                made += edit_everywhere(&crlf);
            }
        }
        // A ConfigMap holds the configuration as a string.
        let mut found = Vec::new();
        leaves(&tree, "", &mut found);
        let held = found.iter().filter_map(|(_, leaf)| leaf.strip_prefix("Literal "));
        for held in held.filter(|held| held.contains("partitions:")) {
            made += edit_everywhere(held);
        }
    }
    assert!(made > 2_000, "the samples hold more mappings than {made}");
}

/// A mapping, a key and a value, resolved against the tree of the text.
type Choice = (prop::sample::Index, prop::sample::Index, String);

fn choices() -> impl Strategy<Value = Vec<Choice>> {
    let value = prop_oneof![
        3 => "[a-z*]{0,4} ?[a-z',]{0,6}",
        1 => "\\PC{0,8}",
        1 => any::<String>(),
    ];
    prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), value), 1..5)
}

fn edits(tree: &Node, choices: Vec<Choice>) -> Vec<Edit> {
    let mappings = mappings(tree);
    let mut edits: Vec<Edit> = Vec::new();
    for (mapping, key, value) in choices {
        let (path, node) = mapping.get(&mappings);
        // Keys of scalars, and two that are usually new.
        let pairs = node.as_mapping().unwrap().iter();
        let scalars = pairs.filter(|(_, value)| matches!(value.kind, Kind::Scalar { .. }));
        let mut keys: Vec<_> = scalars.filter_map(|(key, _)| key.as_scalar()).collect();
        keys.extend(["submitacl", "it's new: \u{2028}"]);
        let key = (*key.get(&keys)).to_owned();
        if edits.iter().all(|edit| edit.path != *path || edit.key != key) {
            edits.push(Edit { path: path.clone(), key, value });
        }
    }
    edits
}

fn is_scalar(tree: &Node, edit: &Edit) -> bool {
    let mappings = mappings(tree);
    let (_, node) = mappings.iter().find(|(path, _)| *path == edit.path).unwrap();
    let pair = node.as_mapping().unwrap().iter().find(|(key, _)| key.as_scalar() == Some(&edit.key));
    pair.is_none_or(|(_, value)| matches!(value.kind, Kind::Scalar { .. }))
}

proptest! {
    /// Without anchors and explicit keys, every edit of a scalar succeeds.
    #[test]
    fn plain_texts_take_every_edit(text in texts(false), choices in choices()) {
        let tree = parse(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assume!(tree.is_some());
        let tree = tree.unwrap();
        let edits = edits(&tree, choices);
        prop_assume!(edits.iter().all(|edit| is_scalar(&tree, edit)));
        let result = apply(&text, &edits).map_err(|error| TestCaseError::fail(format!("{error}\n{edits:?}\n{text}")))?;
        check(&text, &edits, &result);
        prop_assert_eq!(apply(&result, &edits), Ok(result));
    }

    /// With them, an edit succeeds or is refused, but is never partially applied.
    #[test]
    fn shared_texts_are_edited_or_refused(text in texts(true), choices in choices()) {
        let Ok(Some(tree)) = parse(&text) else { return Err(TestCaseError::reject("not YAML")) };
        let edits = edits(&tree, choices);
        match apply(&text, &edits) {
            Ok(result) => check(&text, &edits, &result),
            Err(refusal) => prop_assert_eq!(refusal.code, EDIT),
        }
    }

    /// Any input gives a text or an error.
    #[test]
    fn any_text_gives_a_result(text in "[ \\-:?\\[\\]{},#&*!|>'\"%@a\n\r\t\u{85}\u{feff}]{0,40}", key in "[ab]") {
        let edit = Edit { path: vec![], key, value: "x".to_owned() };
        if let Ok(result) = apply(&text, std::slice::from_ref(&edit)) {
            check(&text, &[edit], &result);
        }
    }
}

#[test]
fn only_double_quotes_are_kept() {
    for (text, style) in
        [("a: \"x\"", Style::DoubleQuoted), ("a: x", Style::SingleQuoted), ("a: |\n  x", Style::SingleQuoted)]
    {
        let edit = Edit { path: vec![], key: "a".to_owned(), value: "y".to_owned() };
        let tree = parse(&apply(text, &[edit]).unwrap()).unwrap().unwrap();
        let kind = &tree.as_mapping().unwrap().first().unwrap().1.kind;
        assert_eq!(*kind, Kind::Scalar { value: "y".into(), style });
    }
}
