//! Compares spark-defaults.conf: the importer with Spark's own parser, and the importer's output with Spark's
//! interpretation of it.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use queuewarden_e2e::Hadoop;
use queuewarden_e2e::hadoop::{SparkAnswer, SparkFileAnswer, SparkQuestion};
use queuewarden_e2e::oracle::Subject;
use queuewarden_import::spark::{Options, Spark, carry};
use queuewarden_import::{FileDiagnostic, codes};
use yunikorn::application::settings::SparkRules;
use yunikorn::application::{ApplicationAcl, Rules, codes as own};
use yunikorn::config::verdict;
use yunikorn::identity::Identity;
use yunikorn::version::Version;
use yunikorn_access::Tree;
use yunikorn_access::application::{self, Request, Verb};

use super::agree;

const KEYS: [&str; 14] = [
    "spark.acls.enable",
    "spark.acls.enable",
    "spark.admin.acls",
    "spark.admin.acls.groups",
    "spark.ui.view.acls",
    "spark.ui.view.acls",
    "spark.ui.view.acls.groups",
    "spark.modify.acls",
    "spark.modify.acls.groups",
    "spark.modify.acl\\u0073",
    "spark.ui.acls.enable",
    "Spark.admin.acls",
    "spark.view.acls",
    "acls",
];
const BETWEEN: [&str; 9] = [" ", "=", ":", " = ", "\t", "  ", "=:", " \u{c}:", "\\ "];
const PIECES: [&str; 22] = [
    "alice",
    "bob",
    "carl",
    "devs",
    "ops",
    ",",
    ",",
    ",",
    " ",
    "*",
    "\\\n  ",
    "\\\r\n",
    "\\u0062ob",
    "\\ ",
    "\\t",
    "\\n",
    "\\r",
    "\\\\",
    "#",
    "!",
    "é",
    "=",
];
const ENDS: [&str; 6] = ["\n", "\n", "\r\n", "\r", "\n\n", "\n# spark.modify.acls *\n"];

fn line() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        6 => vec(select(&PIECES[..]), 0..6).prop_map(|pieces| pieces.concat()),
        4 => select(&["true", "TRUE ", "false", "yes", "\\ true", "tru\\u0065"][..]).prop_map(str::to_owned),
    ];
    (select(&["", " ", "\t", "\u{c}"][..]), select(&KEYS[..]), select(&BETWEEN[..]), value, select(&ENDS[..]))
        .prop_map(|(before, key, between, value, end)| [before, key, between, &value, end].concat())
}

/// Generates files; the switch is on in most of them.
fn files() -> impl Strategy<Value = (String, Vec<Subject>)> {
    let switch = prop_oneof![4 => Just("spark.acls.enable true\n"), 1 => Just("")];
    let subject =
        (select(&["alice", "bob", "carl", "owner", "x"][..]), vec(select(&["devs", "ops", "qa"][..]), 0..2));
    let subject = subject.prop_map(|(user, groups)| Subject {
        user: user.to_owned(),
        groups: groups.into_iter().map(str::to_owned).collect(),
    });
    (switch, vec(line(), 0..7), vec(subject, 1..4))
        .prop_map(|(switch, lines, subjects)| ([switch, &lines.concat()].concat(), subjects))
}

fn question(file: String, subjects: &[Subject]) -> SparkQuestion {
    SparkQuestion {
        configuration: BTreeMap::new(),
        file: Some(file),
        owner: "owner".to_owned(),
        subjects: subjects.to_vec(),
    }
}

/// Returns the importer's reading; `None` when it refuses.
fn model(
    tree: &Tree,
    spark: Option<&Spark>,
    findings: &[FileDiagnostic],
    subjects: &[Subject],
) -> SparkFileAnswer {
    let has = |code| findings.iter().any(|finding| finding.diagnostic.code == code);
    let Some(spark) = spark else {
        return SparkFileAnswer::Refused { exception: String::new() };
    };
    let rules = SparkRules { enabled: !has(codes::SWITCHED_OFF), ..spark.rules.clone() };
    let application = ApplicationAcl { owner: "owner".to_owned(), rules: Rules::Spark(rules) };
    let may = |verb, subject: &Subject| {
        let identity = Identity { user: subject.user.clone(), groups: subject.groups.clone() };
        let (identity, application) = (&identity, &application);
        application::decide(Request { tree, identity, verb, target: "", application, queue: "root" })
            .allowed()
    };
    let answers = subjects
        .iter()
        .map(|subject| SparkAnswer { view: may(Verb::View, subject), modify: may(Verb::Modify, subject) });
    SparkFileAnswer::Subjects(answers.collect())
}

#[test]
fn spark_defaults_are_imported_as_in_spark() -> Result<()> {
    let text = "partitions: [{name: default, queues: [{name: root}]}]";
    let config = verdict(text, &[], Version::V1_8).config.context("no configuration")?;
    let tree = Tree::new(config.partition("default").context("no partition")?)?;
    agree(6_000, &files(), |inputs| {
        let mut questions = Vec::new();
        let mut models = Vec::new();
        for (file, subjects) in inputs {
            let mut findings = Vec::new();
            let spark = Spark::read(&[file], &mut findings);
            questions.push(question(file.clone(), subjects));
            models.push((model(&tree, spark.as_ref(), &findings, subjects), findings));
            // The importer's output is given to Spark again, switched on.
            let carried = spark.map(|spark| carry(&spark, &Options::default(), &mut Vec::new()).properties());
            questions.push(question(carried.unwrap_or_default(), subjects));
        }
        let answers = Hadoop::get()?.spark_files(&questions)?;
        let pairs = answers.chunks_exact(2).zip(models);
        Ok(pairs.map(|(answers, (model, findings))| compared(answers, &model, &findings)).collect())
    })
}

fn compared(
    answers: &[SparkFileAnswer],
    model: &SparkFileAnswer,
    findings: &[FileDiagnostic],
) -> Option<String> {
    let has = |code| findings.iter().any(|finding| finding.diagnostic.code == code);
    let [read, written] = answers else { return Some("no answer".to_owned()) };
    match (read, model) {
        (SparkFileAnswer::Refused { .. }, SparkFileAnswer::Refused { .. }) if has(own::NOT_A_SWITCH) => None,
        (read, model) if read != model => Some(format!("the importer says {model:?}, Spark {read:?}")),
        (read, _) if !has(codes::SWITCHED_OFF) && read != written => {
            Some(format!("Spark says {written:?} of what would be written, and {read:?} before"))
        }
        _ => None,
    }
}
