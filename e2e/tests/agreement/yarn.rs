//! Compares YARN's ACL texts, and access to applications of YARN and Spark: the model with their own classes.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use proptest::collection::vec;
use proptest::prelude::*;
use queuewarden_e2e::Hadoop;
use queuewarden_e2e::hadoop::{
    ApplicationAnswer, ApplicationQuestion, SparkAnswer, SparkQuestion, YarnAclAnswer, YarnAclQuestion,
    YarnQueue,
};
use queuewarden_e2e::oracle::Subject;
use serde_json::{Value, json};
use yunikorn::application::{ApplicationAcl, Dialect, Reading, Rules, YarnAcl};
use yunikorn::config::verdict;
use yunikorn::identity::Identity;
use yunikorn::version::Version;
use yunikorn_access::Tree;
use yunikorn_access::application::{self, Request, Verb};

use super::agree;

/// Names, YARN's separators, and characters that only Java treats as white space, or that only Java does not.
const PIECES: [&str; 40] = [
    "alice",
    "bob",
    "devs",
    "ops",
    "é",
    "\u{1f600}",
    "~knox",
    "!x",
    "DOM\\u",
    "'*'",
    "a:b",
    "1",
    " ",
    " ",
    " ",
    " ",
    ",",
    ",",
    ",",
    ",",
    "*",
    "*",
    "*",
    "\n",
    "\n",
    "\t",
    "\r",
    "\u{b}",
    "\u{c}",
    "\u{1}",
    "\u{1c}",
    "\u{1f}",
    "\u{7f}",
    "\u{85}",
    "\u{a0}",
    "\u{2003}",
    "\u{2028}",
    "\u{3000}",
    "\u{feff}",
    "\0",
];
/// The number of pieces that are possible names.
const NAMES: usize = 12;

fn acls() -> impl Strategy<Value = String> {
    let pieces = vec(prop::sample::select(&PIECES[..]), 0..10).prop_map(|pieces| pieces.concat());
    prop_oneof![8 => pieces, 1 => any::<String>(), 1 => "[ -~]{0,12}"]
}

fn subjects() -> impl Strategy<Value = Vec<Subject>> {
    let name = || prop::sample::select(&PIECES[..NAMES]).prop_map(str::to_owned);
    vec((name(), vec(name(), 0..3)).prop_map(|(user, groups)| Subject { user, groups }), 0..4)
}

fn identity(subject: &Subject) -> Identity {
    Identity { user: subject.user.clone(), groups: subject.groups.clone() }
}

fn model(question: &YarnAclQuestion) -> YarnAclAnswer {
    let acl = YarnAcl::parse(&question.acl, Reading::Hadoop);
    YarnAclAnswer {
        all_allowed: acl.is_everyone(),
        users: acl.users().to_vec(),
        groups: acl.groups().to_vec(),
        canonical: acl.canonical(),
        access: question.subjects.iter().map(|subject| acl.matched(&identity(subject)).is_some()).collect(),
        exception: String::new(),
    }
}

#[test]
fn acls_are_parsed_as_in_hadoop() -> Result<()> {
    agree(40_000, &(acls(), subjects()), |inputs| {
        let questions: Vec<YarnAclQuestion> = inputs
            .iter()
            .map(|(acl, subjects)| YarnAclQuestion { acl: acl.clone(), subjects: subjects.clone() })
            .collect();
        let answers = Hadoop::get()?.acl(&questions)?;
        let differences = questions.iter().map(model).zip(answers).map(|(model, hadoop)| {
            (model != hadoop).then(|| format!("the model says {model:?}, Hadoop {hadoop:?}"))
        });
        Ok(differences.collect())
    })
}

const QUEUES: [&str; 4] = ["root", "root.a", "root.a.b", "root.c"];

/// Generates ACLs that YARN and `YuniKorn` parse the same way, because the model's queues are `YuniKorn`'s.
fn queue_acls() -> impl Strategy<Value = String> {
    prop_oneof![3 => Just(" ".to_owned()), 4 => "[a-d]", 4 => " [f-h]", 2 => "[a-d],[a-d] [f-h],[f-h]", 1 => Just("*".to_owned())]
}

fn application_acls() -> impl Strategy<Value = Option<String>> {
    prop::option::of(prop_oneof![4 => "[a-d]?(,[a-d])? ?[f-h]?", 2 => "[a-dfh ,*\n]{0,6}", 1 => acls()])
}

fn applications() -> impl Strategy<Value = ApplicationQuestion> {
    let queues = vec((queue_acls(), queue_acls()), QUEUES.len()).prop_map(|acls| {
        let queue = |(path, (submit, admin)): (&&str, (String, String))| YarnQueue {
            path: (*path).to_owned(),
            submit,
            admin,
        };
        QUEUES.iter().zip(acls).map(queue).collect::<Vec<_>>()
    });
    let switch = prop::sample::select(
        &[None, Some("true"), Some("true"), Some("true"), Some(" TRUE "), Some("false"), Some("yes")][..],
    );
    let admin = prop::option::weighted(
        0.8,
        prop_oneof!["[a-d]", " [f-h]", "[a-d], [f-h]", Just(" ".to_owned()), Just("*".to_owned())],
    );
    let place = || prop::sample::select(&QUEUES[..]).prop_map(str::to_owned);
    let target = prop_oneof![9 => place(), 1 => Just("root.x".to_owned())];
    let subject = ("[a-e]", vec("[f-i]", 0..3)).prop_map(|(user, groups)| Subject { user, groups });
    (
        queues,
        switch,
        admin,
        application_acls(),
        application_acls(),
        "[a-d]",
        place(),
        target,
        vec(subject, 1..4),
    )
        .prop_map(|(queues, switch, admin, view, modify, owner, queue, target, subjects)| {
            let settings = [("yarn.acl.enable", switch.map(str::to_owned)), ("yarn.admin.acl", admin)];
            let configuration =
                settings.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
            ApplicationQuestion { configuration, owner, view, modify, queues, queue, target, subjects }
        })
}

#[test]
fn application_access_matches_hadoop() -> Result<()> {
    agree(3_000, &applications(), |questions| {
        let answers = Hadoop::get()?.application(questions)?;
        questions
            .iter()
            .zip(answers)
            .map(|(question, hadoop)| {
                let model = decided(question)?;
                Ok((model != hadoop).then(|| format!("the model says {model:?}, Hadoop {hadoop:?}")))
            })
            .collect()
    })
}

fn decided(question: &ApplicationQuestion) -> Result<Vec<ApplicationAnswer>> {
    let [root, a, b, c] = &question.queues[..] else { anyhow::bail!("{:?}", question.queues) };
    let acls = |queue: &YarnQueue| format!("submitacl: {:?}, adminacl: {:?}", queue.submit, queue.admin);
    let text = format!(
        "partitions: [{{name: default, queues: [{{name: root, {}, queues: [{{name: a, {}, queues: [{{name: b, {}}}]}}, {{name: c, {}}}]}}]}}]",
        acls(root),
        acls(a),
        acls(b),
        acls(c)
    );
    let tree = tree_of(&text)?;
    let mut settings = question.configuration.clone();
    let own =
        [("mapreduce.job.acl-view-job", &question.view), ("mapreduce.job.acl-modify-job", &question.modify)];
    settings.extend(own.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value.clone()?))));
    let (rules, _) =
        Rules::read(Dialect::YarnHadoop, settings.iter().map(|(key, value)| (key.as_str(), value.as_str())));
    let application = ApplicationAcl { owner: question.owner.clone(), rules };
    let answer = |subject: &Subject| {
        let may = |verb, target| {
            let (tree, identity, queue) = (&tree, &identity(subject), &question.queue);
            let request = Request { tree, identity, verb, target, application: &application, queue };
            application::decide(request).allowed()
        };
        ApplicationAnswer {
            view: may(Verb::View, ""),
            modify: may(Verb::Modify, ""),
            logs: may(Verb::Logs, ""),
            moves: may(Verb::Move, &question.target),
        }
    };
    Ok(question.subjects.iter().map(answer).collect())
}

const SPARK_LISTS: [&str; 6] = [
    "spark.admin.acls",
    "spark.admin.acls.groups",
    "spark.ui.view.acls",
    "spark.ui.view.acls.groups",
    "spark.modify.acls",
    "spark.modify.acls.groups",
];

fn spark_applications() -> impl Strategy<Value = SparkQuestion> {
    let switch =
        prop::sample::select(&["true", "true", "true", " TRUE\n", "false"][..]).prop_map(str::to_owned);
    let list = (
        prop::sample::select(&SPARK_LISTS[..]),
        prop_oneof![4 => "([a-df-h],){0,2}[a-df-h]", 2 => "[a-dfh ,*\t\u{1}\u{a0}]{0,6}", 1 => acls()],
    );
    let lists = vec(list.prop_map(|(key, text)| (key.to_owned(), text)), 0..5);
    let subject = ("[a-e]", vec("[f-i]", 0..3)).prop_map(|(user, groups)| Subject { user, groups });
    (prop::option::weighted(0.9, switch), lists, "[a-d]", vec(subject, 1..4)).prop_map(
        |(switch, lists, owner, subjects)| {
            let switch = switch.map(|switch| ("spark.acls.enable".to_owned(), switch));
            // `${` is a variable to Spark, and an error to the model.
            let lists = lists.into_iter().filter(|(_, text)| !text.contains("${"));
            SparkQuestion { configuration: lists.chain(switch).collect(), file: None, owner, subjects }
        },
    )
}

#[test]
fn application_access_matches_spark() -> Result<()> {
    let tree = tree_of("partitions: [{name: default, queues: [{name: root}]}]")?;
    agree(3_000, &spark_applications(), |questions| {
        let answers = Hadoop::get()?.spark(questions)?;
        let differences = questions.iter().zip(answers).map(|(question, spark)| {
            let settings = question.configuration.iter().map(|(key, value)| (key.as_str(), value.as_str()));
            let (rules, _) = Rules::read(Dialect::Spark, settings);
            let application = ApplicationAcl { owner: question.owner.clone(), rules };
            let may = |verb, subject: &Subject| {
                let (tree, identity, application) = (&tree, &identity(subject), &application);
                let request = Request { tree, identity, verb, target: "", application, queue: "root" };
                application::decide(request).allowed()
            };
            let model: Vec<SparkAnswer> = question
                .subjects
                .iter()
                .map(|subject| SparkAnswer {
                    view: may(Verb::View, subject),
                    modify: may(Verb::Modify, subject),
                })
                .collect();
            (model != spark).then(|| format!("the model says {model:?}, Spark {spark:?}"))
        });
        Ok(differences.collect())
    })
}

fn tree_of(text: &str) -> Result<Tree> {
    let config = verdict(text, &[], Version::V1_8).config.with_context(|| text.to_owned())?;
    Ok(Tree::new(config.partition("default").context("no partition")?)?)
}

/// `tests/vectors/yarn-acl.json`, used by the unit tests, has Hadoop's answers. `UPDATE=1` writes the answers
/// for its texts again.
#[test]
fn vectors() -> Result<()> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors/yarn-acl.json");
    let written = std::fs::read_to_string(&path)?;
    let vectors: Value = serde_json::from_str(&written)?;
    let subjects: Vec<Subject> = serde_json::from_value(vectors["people"].clone())?;
    let cases = vectors["cases"].as_array().context("no cases")?;
    let questions: Vec<YarnAclQuestion> = cases
        .iter()
        .map(|case| YarnAclQuestion {
            acl: case["acl"].as_str().unwrap_or_default().to_owned(),
            subjects: subjects.clone(),
        })
        .collect();
    ensure!(questions.len() > 50 && subjects.len() > 5);
    let answers = Hadoop::get()?.acl(&questions)?;
    let rows: Vec<String> = questions
        .iter()
        .zip(answers)
        .map(|(question, answer)| format!("  {}", row(question, &answer)))
        .collect();
    let anew = format!(
        "{{\n \"source\": {},\n \"people\": {},\n \"cases\": [\n{}\n ]\n}}\n",
        vectors["source"],
        vectors["people"],
        rows.join(",\n")
    );
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &anew)?;
    }
    ensure!(std::fs::read_to_string(&path)? == anew, "yarn-acl.json is out of date: UPDATE=1");
    Ok(())
}

fn row(question: &YarnAclQuestion, answer: &YarnAclAnswer) -> Value {
    json!({
        "acl": question.acl,
        "allAllowed": answer.all_allowed,
        "users": answer.users,
        "groups": answer.groups,
        "canonical": answer.canonical,
        "access": answer.access,
    })
}
