//! Checks that the fixtures in `tests/vectors`, which the unit tests use, still have `YuniKorn`'s answers.

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::oracle::{
    AclQuestion, AdmissionQuestion, ConfigAnswer, ConfigMapData, ConfigMaps, DEADLOCK, PatternQuestion,
    RegexQuestion, Subject, YamlAnswer, YamlQuestion, YamlTarget,
};
use serde_json::{Value, json};

use super::config::ask;
use super::oracles;

fn vectors(name: &str) -> Result<Value> {
    let path = format!("{}/../tests/vectors/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).with_context(|| path.clone())?;
    serde_json::from_str(&text).context(path)
}

fn rows<'a>(vectors: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    let rows = if key.is_empty() { vectors.as_array() } else { vectors[key].as_array() };
    rows.filter(|rows| !rows.is_empty()).with_context(|| format!("no rows `{key}`"))
}

fn text(row: &Value, key: &str) -> String {
    row[key].as_str().unwrap_or_default().to_owned()
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn subject(person: &Value) -> Subject {
    Subject { user: text(person, "user"), groups: texts(&person["groups"]) }
}

pub(super) fn acl_questions() -> Result<Vec<AclQuestion>> {
    let vectors = vectors("yunikorn-acl")?;
    let subjects: Vec<Subject> = rows(&vectors, "people")?.iter().map(subject).collect();
    let question = |row| AclQuestion { acl: text(row, "acl"), subjects: subjects.clone() };
    Ok(rows(&vectors, "rows")?.iter().map(question).collect())
}

#[test]
fn acls() -> Result<()> {
    let (vectors, questions) = (vectors("yunikorn-acl")?, acl_questions()?);
    for (version, oracle) in oracles()? {
        for (row, answer) in rows(&vectors, "rows")?.iter().zip(oracle.acl(&questions)?) {
            ensure!(answer.validate_error == text(row, "validate_error"), "{version}: {row}: {answer:?}");
            ensure!(answer.newacl_error == text(row, "newacl_error"), "{version}: {row}: {answer:?}");
            let same = row["access"].is_null() || json!(answer.access) == row["access"];
            ensure!(same, "{version}: {row}: {answer:?}");
        }
    }
    Ok(())
}

/// A recorded text with its errors (validation, start, reload), and its checksum.
type Configuration = (String, [String; 3], Option<String>);

fn configurations(name: &str) -> Result<Vec<Configuration>> {
    let (key, errors) = match name {
        "yunikorn-verdicts" => ("rows", ["validate", "start", "reload"]),
        _ => ("", ["validate_error", "initial_activation_error", "update_activation_error"]),
    };
    let vectors = vectors(name)?;
    let configurations = rows(&vectors, key)?.iter().map(|row| {
        let checksum = row["checksum"].as_str().map(str::to_owned);
        (text(row, "yaml"), errors.map(|key| text(row, key)), checksum)
    });
    // The fixtures are below the level where an empty text becomes the built-in one; the oracle is above it.
    Ok(configurations.filter(|(text, ..)| !text.is_empty()).collect())
}

pub(super) fn configuration_texts(name: &str) -> Result<Vec<String>> {
    Ok(configurations(name)?.into_iter().map(|(text, ..)| text).collect())
}

#[test]
fn short_configurations() -> Result<()> {
    verdicts("yunikorn-config")
}

#[test]
fn long_configurations() -> Result<()> {
    verdicts("yunikorn-verdicts")
}

fn verdicts(name: &str) -> Result<()> {
    let (expected, texts) = (configurations(name)?, configuration_texts(name)?);
    for (version, oracle) in oracles()? {
        let both = ask(oracle, &texts)?.into_iter().zip(oracle.checksum(&texts)?);
        for ((text, errors, checksum), (answer, sum)) in expected.iter().zip(both) {
            ensure!(
                errors.clone().map(|error| hang(&error)).map(settled) == answers(&answer).map(settled),
                "{version}: {text}\n{errors:?}\n{answer:?}"
            );
            ensure!(
                checksum.as_ref().is_none_or(|checksum| checksum.is_empty() || *checksum == sum),
                "{version}: {text}: {sum}"
            );
        }
    }
    Ok(())
}

/// Removes random differences: of several invalid quantities, Go reports the first one in its random map
/// order.
fn settled(error: String) -> String {
    if error.starts_with("invalid quantity") { "invalid quantity".to_owned() } else { error }
}

fn answers(answer: &ConfigAnswer) -> [String; 3] {
    [&answer.validate_error, &answer.start_error, &answer.reload_error].map(Clone::clone)
}

/// Translates the oracle's term for a reload that never ends to the fixtures' term.
fn hang(error: &str) -> String {
    if error == "HANG" || error.starts_with("!!! DEADLOCK") { DEADLOCK.to_owned() } else { error.to_owned() }
}

pub(super) fn checksum_texts() -> Result<Vec<String>> {
    let vectors = vectors("yunikorn-checksum")?;
    Ok(rows(&vectors, "rows")?.iter().map(|row| text(row, "text")).collect())
}

#[test]
fn checksums() -> Result<()> {
    let (vectors, texts) = (vectors("yunikorn-checksum")?, checksum_texts()?);
    for (version, oracle) in oracles()? {
        for (row, checksum) in rows(&vectors, "rows")?.iter().zip(oracle.checksum(&texts)?) {
            ensure!(text(row, "checksum") == checksum, "{version}: {row}: {checksum}");
        }
    }
    Ok(())
}

pub(super) fn yaml_questions(name: &str, into: YamlTarget) -> Result<Vec<YamlQuestion>> {
    let vectors = vectors(name)?;
    Ok(rows(&vectors, "")?.iter().map(|row| YamlQuestion { text: text(row, "text"), into }).collect())
}

#[test]
fn decoded_yaml() -> Result<()> {
    let (vectors, questions) =
        (vectors("go-yaml-typed")?, yaml_questions("go-yaml-typed", YamlTarget::Typed)?);
    for (version, oracle) in oracles()? {
        for (row, answer) in rows(&vectors, "")?.iter().zip(oracle.yaml(&questions)?) {
            let infinite = answer.value.get("unspeakable").is_some();
            ensure!(infinite == (row["infinite"] == true), "{version}: {row}: {answer:?}");
            ensure!(answer.error.is_empty() != (row["error"] == true), "{version}: {row}: {answer:?}");
            let value = if answer.value.is_null() { &json!({}) } else { &answer.value };
            let compared = answer.error.is_empty() && !infinite;
            ensure!(!compared || same(&row["value"], value), "{version}: {row}: {answer:?}");
        }
    }
    Ok(())
}

#[test]
fn parsed_yaml() -> Result<()> {
    let (vectors, questions) =
        (vectors("go-yaml-parse")?, yaml_questions("go-yaml-parse", YamlTarget::Nodes)?);
    for (version, oracle) in oracles()? {
        for (row, answer) in rows(&vectors, "")?.iter().zip(oracle.yaml(&questions)?) {
            ensure!(answer.error == text(row, "error"), "{version}: {row}: {answer:?}");
            if answer.error.is_empty() {
                let tree = tree_of(&answer);
                ensure!(tree == row["tree"], "{version}: {row}: {tree}");
            }
        }
    }
    Ok(())
}

pub(super) fn list_questions() -> Result<Vec<RegexQuestion>> {
    let vectors = &vectors("go-regex")?;
    let subjects = texts(&vectors["subjects"]);
    let question = |row| RegexQuestion { patterns: text(row, "pattern"), subjects: subjects.clone() };
    Ok(rows(vectors, "rows")?.iter().map(question).collect())
}

#[test]
fn lists_of_patterns() -> Result<()> {
    let (vectors, questions) = (vectors("go-regex")?, list_questions()?);
    for (version, oracle) in oracles()? {
        let asked = rows(&vectors, "rows")?.iter().zip(&questions);
        for ((row, question), answer) in asked.zip(oracle.regex(&questions)?) {
            let matched = question.subjects.iter().zip(&answer.matches).filter(|(_, matches)| **matches);
            let matched: Vec<_> = matched.map(|(subject, _)| subject).collect();
            let read = (answer.error.as_str(), json!(answer.parts), json!(matched));
            let error = text(row, "error");
            let expected = if error.is_empty() {
                ("", row["parts"].clone(), row["matches"].clone())
            } else {
                (error.as_str(), json!([]), json!([]))
            };
            ensure!(read == expected, "{version}: {row}: {answer:?}");
        }
    }
    Ok(())
}

pub(super) fn pattern_questions() -> Result<Vec<PatternQuestion>> {
    let vectors = vectors("go-regex-random")?;
    let subjects = |row: &Value| [texts(&row["matches"]), texts(&row["others"])].concat();
    let question = |row| PatternQuestion { pattern: text(row, "pattern"), subjects: subjects(row) };
    Ok(rows(&vectors, "rows")?.iter().map(question).collect())
}

#[test]
fn random_patterns() -> Result<()> {
    let (vectors, questions) = (vectors("go-regex-random")?, pattern_questions()?);
    for (version, oracle) in oracles()? {
        for (row, answer) in rows(&vectors, "rows")?.iter().zip(oracle.pattern(&questions)?) {
            let count = texts(&row["matches"]).len();
            let same = answer.matches.iter().enumerate().all(|(at, matches)| *matches == (at < count));
            ensure!(answer.error == text(row, "error") && same, "{version}: {row}: {answer:?}");
        }
    }
    Ok(())
}

pub(super) fn access_control_questions() -> Result<Vec<AdmissionQuestion>> {
    let vectors = vectors("yunikorn-access-control")?;
    let question = |row: &Value| {
        let data = serde_json::from_value(row["keys"].clone())?;
        let configs = Some(ConfigMapData { data, ..ConfigMapData::default() });
        Ok(AdmissionQuestion { maps: ConfigMaps { defaults: None, configs }, subjects: vec![subject(row)] })
    };
    rows(&vectors, "rows")?.iter().map(question).collect()
}

#[test]
fn access_control() -> Result<()> {
    let (vectors, questions) = (vectors("yunikorn-access-control")?, access_control_questions()?);
    for (version, oracle) in oracles()? {
        for (row, answer) in rows(&vectors, "rows")?.iter().zip(oracle.admission(&questions)?) {
            ensure!(json!(answer.allowed) == json!([row["allowed"]]), "{version}: {row}: {answer:?}");
        }
    }
    Ok(())
}

/// Returns the tree of a text; null when there is no document.
pub(super) fn tree_of(answer: &YamlAnswer) -> Value {
    answer.value.pointer("/children/0").map_or(Value::Null, tree)
}

/// Returns the oracle's tree in the form of the fixtures: the style and text of a scalar, the name of an
/// alias, or the content of a collection.
fn tree(node: &Value) -> Value {
    let children = || node["children"].as_array().into_iter().flatten().map(tree).collect::<Vec<_>>();
    let mut shown = match node["kind"].as_str() {
        Some("alias") => return json!({ "alias": node["value"] }),
        Some("mapping") => json!({ "mapping": children() }),
        Some("sequence") => json!({ "list": children() }),
        _ => json!({ node["style"].as_str().unwrap_or_default(): text(node, "value") }),
    };
    let anchor = node["anchor"].as_str().filter(|anchor| !anchor.is_empty());
    if let Some((anchor, shown)) = anchor.zip(shown.as_object_mut()) {
        shown.insert("anchor".to_owned(), json!(anchor));
    }
    shown
}

/// Compares numbers by value: Go writes large floats without an exponent.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        _ => left == right,
    }
}
