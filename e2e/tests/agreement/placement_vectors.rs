//! Checks that `tests/vectors/yunikorn-placement.json`, which the placement unit tests use, still has
//! `YuniKorn`'s answers.
//!
//! With `UPDATE=1` the answers are written to it. New rows only need their question.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::oracle::{AccessAnswer, AccessQuery, AccessQuestion, Decision, Subject};
use serde::{Deserialize, Serialize};

use super::oracles;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors/yunikorn-placement.json");

#[derive(Debug, Serialize, Deserialize)]
struct Vectors {
    source: String,
    configurations: Vec<Configuration>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Configuration {
    name: String,
    yaml: String,
    rows: Vec<Row>,
}

/// One application, evaluated in a scheduler without other applications.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Row {
    user: String,
    groups: Vec<String>,
    queue: String,
    tags: BTreeMap<String, String>,
    #[serde(default)]
    answer: Answer,
}

/// The answer. Fields that are false are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Answer {
    #[serde(skip_serializing_if = "String::is_empty")]
    panic: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    user_error: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resolved: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    nearest: String,
    /// The facts about the nearest queue: `exact`, `leaf`, `submit`, `admin`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    is: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    placed: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    error: String,
}

#[test]
fn placements() -> Result<()> {
    let (mut vectors, questions) = (Vectors::read()?, recorded()?);
    ensure!(questions.len() > 200, "{} rows", questions.len());
    let mut wrong = Vec::new();
    for (version, oracle) in oracles()? {
        let mut answers = oracle.access(&questions)?.into_iter();
        for configuration in &mut vectors.configurations {
            for row in &mut configuration.rows {
                let answer = Answer::of(answers.next().context("too few answers")?)
                    .with_context(|| configuration.name.clone())?;
                if row.answer != answer {
                    wrong.push(format!("{}: {row:?}\n    {version} says {answer:?}", configuration.name));
                    row.answer = answer;
                }
            }
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        return Ok(std::fs::write(PATH, vectors.text()?)?);
    }
    ensure!(wrong.is_empty(), "UPDATE=1 writes the answers:\n{}", wrong.join("\n"));
    Ok(())
}

pub(super) fn recorded() -> Result<Vec<AccessQuestion>> {
    Ok(Vectors::read()?.configurations.iter().flat_map(questions).collect())
}

fn questions(configuration: &Configuration) -> impl Iterator<Item = AccessQuestion> {
    configuration.rows.iter().map(|row| {
        let subject = Subject { user: row.user.clone(), groups: row.groups.clone() };
        let query = AccessQuery { subject, queue: row.queue.clone(), tags: row.tags.clone() };
        AccessQuestion { text: configuration.yaml.clone(), queries: vec![query] }
    })
}

impl Answer {
    fn of(answer: AccessAnswer) -> Result<Self> {
        if !answer.panic.is_empty() {
            return Ok(Self { panic: answer.panic, ..Self::default() });
        }
        ensure!(answer.start_error.is_empty(), "{}", answer.start_error);
        let decision: Decision = answer.decisions.into_iter().next().context("no decision")?;
        let is = [
            ("exact", decision.exists),
            ("leaf", decision.leaf),
            ("submit", decision.submit),
            ("admin", decision.admin),
        ];
        Ok(Self {
            panic: String::new(),
            user_error: decision.user_error,
            resolved: decision.groups,
            nearest: decision.nearest,
            is: is.into_iter().filter(|(_, so)| *so).map(|(what, _)| what.to_owned()).collect(),
            placed: decision.placed,
            error: decision.placed_error,
        })
    }
}

impl Vectors {
    fn read() -> Result<Self> {
        let written = std::fs::read_to_string(PATH).context(PATH)?;
        serde_json::from_str(&written).context(PATH)
    }

    /// Returns one line for each row.
    fn text(&self) -> Result<String> {
        let mut text =
            format!("{{\n\"source\": {},\n\"configurations\": [", serde_json::to_string(&self.source)?);
        for (number, configuration) in self.configurations.iter().enumerate() {
            let [name, yaml] = [&configuration.name, &configuration.yaml].map(serde_json::to_string);
            let rows = configuration.rows.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
            let comma = if number == 0 { "" } else { "," };
            let rows = rows.join(",\n");
            write!(text, "{comma}\n{{\"name\": {}, \"yaml\": {}, \"rows\": [\n{rows}\n]}}", name?, yaml?)?;
        }
        Ok(text + "\n]}\n")
    }
}
