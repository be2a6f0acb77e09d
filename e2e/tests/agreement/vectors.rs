//! Checks that the fixtures in `tests/vectors`, on which the unit tests rely, still have `YuniKorn`'s
//! answers.

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::Oracle;
use queuewarden_e2e::oracle::{
    AclQuestion, ConfigAnswer, ConfigQuestion, DEADLOCK, Subject, YamlAnswer, YamlQuestion, YamlTarget,
};
use serde_json::{Value, json};

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

#[test]
fn acls() -> Result<()> {
    let vectors = vectors("yunikorn-acl")?;
    let subject = |person: &Value| Subject {
        user: text(person, "user"),
        groups: serde_json::from_value(person["groups"].clone()).unwrap_or_default(),
    };
    let subjects: Vec<Subject> = rows(&vectors, "people")?.iter().map(subject).collect();
    let rows = rows(&vectors, "rows")?;
    let questions: Vec<AclQuestion> =
        rows.iter().map(|row| AclQuestion { acl: text(row, "acl"), subjects: subjects.clone() }).collect();
    for (row, answer) in rows.iter().zip(Oracle::get()?.acl(&questions)?) {
        ensure!(answer.validate_error == text(row, "validate_error"), "{row}: {answer:?}");
        ensure!(answer.newacl_error == text(row, "newacl_error"), "{row}: {answer:?}");
        ensure!(row["access"].is_null() || json!(answer.access) == row["access"], "{row}: {answer:?}");
    }
    Ok(())
}

#[test]
fn configurations() -> Result<()> {
    let [short, long] = [vectors("yunikorn-config")?, vectors("yunikorn-verdicts")?];
    let mut expected: Vec<(String, [String; 3], Option<String>)> = Vec::new();
    for row in rows(&short, "")? {
        let errors = ["validate_error", "initial_activation_error", "update_activation_error"]
            .map(|key| text(row, key));
        expected.push((text(row, "yaml"), errors, row["checksum"].as_str().map(str::to_owned)));
    }
    for row in rows(&long, "rows")? {
        expected.push((text(row, "yaml"), ["validate", "start", "reload"].map(|key| text(row, key)), None));
    }
    // The fixtures are below the level where an empty text becomes the built-in one; the oracle is above.
    expected.retain(|(text, ..)| !text.is_empty());

    let questions: Vec<ConfigQuestion> = expected
        .iter()
        .map(|(text, ..)| ConfigQuestion { text: text.clone(), from: String::new() })
        .collect();
    let oracle = Oracle::get()?;
    let sums =
        oracle.checksum(&questions.iter().map(|question| question.text.clone()).collect::<Vec<_>>())?;
    for (((text, errors, checksum), answer), sum) in expected.iter().zip(oracle.config(&questions)?).zip(sums)
    {
        ensure!(
            errors.clone().map(|error| hang(&error)).map(settled) == answers(&answer).map(settled),
            "{text}\n{errors:?}\n{answer:?}"
        );
        ensure!(
            checksum.as_ref().is_none_or(|checksum| checksum.is_empty() || *checksum == sum),
            "{text}: {sum}"
        );
    }
    Ok(())
}

/// Removes what depends on chance: of several wrong quantities Go reports the first in its random order of
/// maps.
fn settled(error: String) -> String {
    if error.starts_with("invalid quantity") { "invalid quantity".to_owned() } else { error }
}

fn answers(answer: &ConfigAnswer) -> [String; 3] {
    [&answer.validate_error, &answer.start_error, &answer.reload_error].map(Clone::clone)
}

/// Translates the oracle's word for a reload that never ends to that of the fixtures.
fn hang(error: &str) -> String {
    if error == "HANG" || error.starts_with("!!! DEADLOCK") { DEADLOCK.to_owned() } else { error.to_owned() }
}

#[test]
fn checksums() -> Result<()> {
    let vectors = vectors("yunikorn-checksum")?;
    let rows = rows(&vectors, "rows")?;
    let texts: Vec<String> = rows.iter().map(|row| text(row, "text")).collect();
    for (row, checksum) in rows.iter().zip(Oracle::get()?.checksum(&texts)?) {
        ensure!(text(row, "checksum") == checksum, "{row}: {checksum}");
    }
    Ok(())
}

#[test]
fn decoded_yaml() -> Result<()> {
    let vectors = vectors("go-yaml-typed")?;
    let rows = rows(&vectors, "")?;
    for (row, answer) in rows.iter().zip(decode(rows, YamlTarget::Typed)?) {
        let infinite = answer.value.get("unspeakable").is_some();
        ensure!(infinite == (row["infinite"] == true), "{row}: {answer:?}");
        ensure!(answer.error.is_empty() != (row["error"] == true), "{row}: {answer:?}");
        let value = if answer.value.is_null() { &json!({}) } else { &answer.value };
        let compared = answer.error.is_empty() && !infinite;
        ensure!(!compared || same(&row["value"], value), "{row}: {answer:?}");
    }
    Ok(())
}

#[test]
fn parsed_yaml() -> Result<()> {
    let vectors = vectors("go-yaml-parse")?;
    let rows = rows(&vectors, "")?;
    for (row, answer) in rows.iter().zip(decode(rows, YamlTarget::Nodes)?) {
        ensure!(answer.error == text(row, "error"), "{row}: {answer:?}");
        if answer.error.is_empty() {
            let tree = tree_of(&answer);
            ensure!(tree == row["tree"], "{row}: {tree}");
        }
    }
    Ok(())
}

fn decode(rows: &[Value], into: YamlTarget) -> Result<Vec<YamlAnswer>> {
    let questions: Vec<YamlQuestion> =
        rows.iter().map(|row| YamlQuestion { text: text(row, "text"), into }).collect();
    Oracle::get()?.yaml(&questions)
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
