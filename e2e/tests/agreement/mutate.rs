//! Compares admission requests: the model's answer and the admission controller's, patch for patch, and the
//! resulting submitter.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use queuewarden_e2e::Oracle;
use queuewarden_e2e::oracle::{
    ConfigMapData, ConfigMaps, MutateAnswer, MutateQuestion, PodFacts, Subject, without_wording,
};
use serde_json::{Value, json};
use yunikorn::admission::keys::{
    BYPASS_NAMESPACES, GENERATE_UNIQUE_APP_ID, LABEL_NAMESPACES, NO_LABEL_NAMESPACES, PROCESS_NAMESPACES,
};
use yunikorn::admission::request::Value as PatchValue;
use yunikorn::admission::request::{
    ALLOW_PREEMPTION, APP, APP_ID, APPLICATION_ID, ENABLE_YUNIKORN, GENERATE_APP_ID, OLD_QUEUE, QUEUE,
    SPARK_APP_SELECTOR, USER_INFO, USERNAME,
};
use yunikorn::admission::{
    self, Conf, EXTERNAL_USERS, KEYS, Kind, Operation, Outcome, Pod, Request, Submitter, Surroundings,
};
use yunikorn::version::Version;

use super::{agree_in_each, fixture, oracles};
use crate::admission::texts;

type Texts = BTreeMap<String, String>;

const ACCESS_VALUES: [&str; 16] = [
    "true",
    "false",
    "T",
    "no",
    "",
    ".*",
    "[",
    "^ext$",
    "^ext$,[",
    "^alice$,^bob$",
    "^devs$",
    "dev",
    "^system:serviceaccount:spark:",
    "^system:",
    "(?i)ALICE",
    "é",
];
const NAMESPACE_VALUES: [&str; 11] =
    ["", "^ns$", "ns", "^kube-system$", "^other$,^ns$", "[", "^ns$,(", ".*", "^default$", "^$", "^n{1}s"];
const KINDS: [&str; 11] = [
    "Pod",
    "Pod",
    "Pod",
    "Deployment",
    "DaemonSet",
    "StatefulSet",
    "ReplicaSet",
    "Job",
    "CronJob",
    "ReplicationController",
    "pod",
];
const USERS: [&str; 10] = [
    "alice",
    "bob",
    "ext",
    "",
    "system:serviceaccount:kube-system:job-controller",
    "system:serviceaccount:spark:operator",
    "system:kube-controller-manager",
    "a<b>&\"c\u{2028}é\\\t\u{1}\u{7f}",
    "auth0|1",
    "😀",
];
const USER_INFOS: [&str; 14] = [
    "",
    "{}",
    "null",
    "[]",
    "xyz",
    "{\"user\":\"test\",\"groups\":[\"devops\"]}",
    "{\"groups\":[\"devops\"],\"user\":\"test\"}",
    "{\"user\":\"test2\"}",
    "{\"user\":\"\",\"groups\":[\"g\"]}",
    "{\"user\":\"a\\ud83d\\ude00\\ud800\"}",
    "{\"user\":1,\"groups\":2} x",
    "\u{feff}{}",
    "{\"groups\":[\"a\",\"b\"],\"groups\":[\"x\"],\"groups\":[null,null,null]}",
    "tru",
];

fn keys() -> impl Strategy<Value = Texts> {
    let access = (select(&KEYS[..]), select(&ACCESS_VALUES[..]));
    let lists = [PROCESS_NAMESPACES, BYPASS_NAMESPACES, LABEL_NAMESPACES, NO_LABEL_NAMESPACES];
    let lists = (select(lists.to_vec()), select(&NAMESPACE_VALUES[..]));
    let unique = (Just(GENERATE_UNIQUE_APP_ID), select(vec!["true", "false", "yes"]));
    let key = prop_oneof![4 => access, 3 => lists, 1 => unique];
    vec(key, 0..4).prop_map(|keys| texts(&keys))
}

/// Generates JSON, nearly always of the right shape, and then sometimes with a character removed or added.
fn json_text() -> impl Strategy<Value = String> {
    let text = r#""([a-zé😀<&\x7f ]|\\["\\/bfnrt]|\\u00[0-9a-fA-F]{2}|\\u(d83d|DE00|2028)){0,4}""#;
    let scalar = prop_oneof![
        6 => text,
        1 => select(vec!["null", "true", "0", "-1.5e+3", "\"\""]).prop_map(str::to_owned),
    ];
    let value = scalar.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            4 => vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            1 => vec(inner, 0..3).prop_map(|items| {
                let fields: Vec<_> = items.iter().map(|item| format!("\"user\":{item}")).collect();
                format!("{{{}}}", fields.join(","))
            }),
        ]
    });
    let name = select(vec!["user", "groups", "User", "GROUPS", "u\u{17f}er", "group\\u0073", "x", ""]);
    let fields = vec((name, value), 0..5).prop_map(|fields| {
        let fields: Vec<_> = fields.iter().map(|(name, value)| format!("\"{name}\" :{value}")).collect();
        format!("{{{}}}", fields.join(",\n"))
    });
    let damage = option::weighted(0.3, (any::<prop::sample::Index>(), r#"[\[\]{}",:\\ue0x.\n -]?"#));
    (fields, damage).prop_map(|(text, damage)| {
        let Some((at, instead)) = damage else { return text };
        let at = at.index(text.chars().count());
        let chars = text.chars().enumerate();
        chars.map(|(place, char)| if place == at { instead.clone() } else { char.to_string() }).collect()
    })
}

fn user_info() -> impl Strategy<Value = Option<String>> {
    option::weighted(
        0.6,
        prop_oneof![
            3 => select(&USER_INFOS[..]).prop_map(str::to_owned),
            3 => json_text(),
            1 => r#"[\[\]{}",:\\a-f0-9\x00-\x20é.+-]{0,8}"#,
        ],
    )
}

fn pod() -> impl Strategy<Value = PodFacts> {
    let label = select(vec![APP_ID, APPLICATION_ID, SPARK_APP_SELECTOR, QUEUE, OLD_QUEUE, USERNAME, "x"]);
    let value = select(vec!["", "app-1", "root.a", "carol", "é"]);
    let app = option::weighted(0.2, select(vec!["yunikorn", "nginx", ""]));
    let labels = (vec((label, value), 0..3), app).prop_map(|(mut labels, app)| {
        labels.extend(app.map(|app| (APP, app)));
        texts(&labels)
    });
    let other = select(vec![
        (APP_ID, "app-2"),
        (APP_ID, ""),
        (ALLOW_PREEMPTION, "true"),
        (ALLOW_PREEMPTION, "false"),
        (ALLOW_PREEMPTION, "True"),
        ("note", "<é>"),
    ]);
    let annotations = (user_info(), vec(other, 0..3)).prop_map(|(user_info, others)| {
        let mut annotations = texts(&others);
        annotations.extend(user_info.map(|text| (USER_INFO.to_owned(), text)));
        annotations
    });
    let rest =
        (select(vec!["", "", "8f3b-1"]), select(vec!["", "high"]), select(vec!["", "default-scheduler"]));
    (labels, annotations, rest).prop_map(|(labels, annotations, (uid, class, scheduler))| PodFacts {
        labels,
        annotations,
        uid: uid.to_owned(),
        priority_class: class.to_owned(),
        scheduler_name: scheduler.to_owned(),
    })
}

/// Generates a pod and its state before an update, which are often the same.
fn pods() -> impl Strategy<Value = (PodFacts, PodFacts)> {
    prop_oneof![pod().prop_map(|pod| (pod.clone(), pod)), (pod(), pod())]
}

/// Generates requests for admission, with the keys that are in force.
pub(crate) fn questions() -> impl Strategy<Value = MutateQuestion> {
    let flags = select(vec!["true", "false", "True", ""]);
    let flag = (select(vec![ENABLE_YUNIKORN, GENERATE_APP_ID, "x"]), flags);
    let namespace_annotations = option::weighted(0.3, vec(flag, 0..3).prop_map(|flags| texts(&flags)));
    let class = vec((Just(ALLOW_PREEMPTION), select(vec!["true", "false", "no"])), 0..2);
    let class = option::weighted(0.3, class.prop_map(|annotations| texts(&annotations)));
    let namespace = prop_oneof![
        4 => Just("ns".to_owned()),
        2 => select(vec!["", "default", "kube-system", "other", "ns-1", "é"]).prop_map(str::to_owned),
        1 => "[a-zé]{20,70}",
    ];
    let group = select(vec!["devs", "ops", "system:authenticated", "", "g&h", "é"]).prop_map(str::to_owned);
    let user = prop_oneof![6 => select(&USERS[..]).prop_map(str::to_owned), 1 => r"\PC{1,8}"];
    let subject = (user, vec(group, 0..4)).prop_map(|(user, groups)| Subject { user, groups });
    let operation = prop_oneof![3 => Just("CREATE"), 1 => Just("UPDATE")];
    let what = (operation, select(&KINDS[..]), namespace, subject);
    (keys(), what, pods(), namespace_annotations, class).prop_map(
        |(keys, (operation, kind, namespace, subject), (pod, old_pod), namespace_annotations, class)| {
            MutateQuestion {
                maps: ConfigMaps {
                    defaults: None,
                    configs: Some(ConfigMapData { data: keys, ..ConfigMapData::default() }),
                },
                operation: operation.to_owned(),
                kind: kind.to_owned(),
                namespace,
                subject,
                pod,
                old_pod,
                namespace_annotations,
                priority_class_annotations: class,
            }
        },
    )
}

/// Returns the model's answer in the oracle's form.
fn answer(question: &MutateQuestion, version: Version) -> MutateAnswer {
    let keys = question.maps.configs.clone().unwrap_or_default().data;
    let group = match question.kind.as_str() {
        "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet" => "apps",
        "Job" | "CronJob" => "batch",
        _ => "",
    };
    let request = Request {
        operation: Operation::parse(&question.operation),
        kind: Kind::parse(group, &question.kind),
        namespace: question.namespace.clone(),
        user: question.subject.user.clone(),
        groups: question.subject.groups.clone(),
        pod: model_pod(&question.pod),
        old_pod: model_pod(&question.old_pod),
    };
    let surroundings = Surroundings {
        namespace_annotations: question.namespace_annotations.clone().unwrap_or_default(),
        priority_class_annotations: question.priority_class_annotations.clone().unwrap_or_default(),
    };
    let conf = Conf::from_keys(&keys, version).0;
    let evaluation = admission::evaluate(&request, &surroundings, &conf);
    let patch: Vec<Value> = evaluation
        .patches
        .iter()
        .map(|patch| match &patch.value {
            PatchValue::Text(text) => json!({"op": "add", "path": patch.path, "value": text}),
            PatchValue::Texts(texts) => json!({"op": "add", "path": patch.path, "value": texts}),
        })
        .collect();
    let message = match &evaluation.outcome {
        Outcome::Allowed => String::new(),
        Outcome::Denied(message) => message.clone(),
        Outcome::Unknown(key) => format!("{key} is not known"),
    };
    let Submitter { user, groups, .. } = Submitter::from_pod(&evaluation.pod, conf.version);
    MutateAnswer {
        allowed: evaluation.outcome == Outcome::Allowed,
        message: without_wording(message),
        patch: if patch.is_empty() { Value::Null } else { Value::Array(patch) },
        labels: evaluation.pod.labels,
        annotations: evaluation.pod.annotations,
        scheduler_name: evaluation.pod.scheduler_name,
        user,
        groups,
        panic: String::new(),
    }
}

fn model_pod(facts: &PodFacts) -> Pod {
    Pod {
        labels: facts.labels.clone(),
        annotations: facts.annotations.clone(),
        uid: facts.uid.clone(),
        priority_class: facts.priority_class.clone(),
        scheduler_name: facts.scheduler_name.clone(),
    }
}

/// Generates an unknown field, nested about as deeply as Go reads.
fn deep() -> impl Strategy<Value = String> {
    let brackets = select(vec![("[", "]"), ("{\"[\":", "}"), ("[\"\\\"[\",", "]")]);
    (brackets, 9_990_usize..10_010).prop_map(|((open, close), depth)| {
        format!("{{\"x\":{}1{},\"user\":\"a\"}}", open.repeat(depth), close.repeat(depth))
    })
}

/// Generates pods with odd values of `user.info`, whose requester may set any value.
fn odd_user_infos() -> impl Strategy<Value = MutateQuestion> {
    let string =
        r#""([a\x1f\x7f\u{fffd}\u{d7ff}é]|\\u(d8|DC)[0-9a-f]{2}|\\u00[01][0-9a-f]|\\[nux"\\]){0,5}""#;
    let value = prop_oneof![3 => string, 1 => select(vec!["null", "[]", "1e999", "-0", "01", "{}"]).prop_map(str::to_owned)];
    let list = vec(value.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(",")));
    let name =
        select(vec!["user", "USER", "u\\u017Fer", "u\\ud800er", "groups", "Groups", "group\u{17f}", "other"]);
    let field = (name, prop_oneof![value, list]).prop_map(|(name, value)| format!("\"{name}\":{value}"));
    let fields = vec(field, 0..5).prop_map(|fields| format!("{{{}}}", fields.join(",")));
    let text = prop_oneof![200 => fields, 100 => json_text(), 1 => deep()];
    text.prop_map(|text| MutateQuestion {
        maps: ConfigMaps {
            defaults: None,
            configs: Some(ConfigMapData {
                data: texts(&[(EXTERNAL_USERS, ".*")]),
                ..ConfigMapData::default()
            }),
        },
        operation: "CREATE".to_owned(),
        kind: "Pod".to_owned(),
        namespace: "ns".to_owned(),
        subject: Subject { user: "alice".to_owned(), groups: Vec::new() },
        pod: PodFacts { annotations: texts(&[(USER_INFO, &text)]), ..PodFacts::default() },
        ..MutateQuestion::default()
    })
}

/// Compares the model's answers with the admission controller's.
fn differences(
    oracle: &Oracle,
    version: Version,
    questions: &[MutateQuestion],
) -> Result<Vec<Option<String>>> {
    let answers = oracle.mutate(questions)?;
    let differences = questions.iter().zip(answers).map(|(question, mut theirs)| {
        theirs.message = without_wording(theirs.message);
        let ours = answer(question, version);
        (ours != theirs).then(|| format!("the model says {ours:?}\n    the admission controller {theirs:?}"))
    });
    Ok(differences.collect())
}

#[test]
fn odd_user_infos_are_read_as_in_the_admission_controller() -> Result<()> {
    agree_in_each(2_500, &odd_user_infos(), differences)
}

#[test]
fn admission_requests_match_the_admission_controller() -> Result<()> {
    agree_in_each(1_000, &questions(), differences)
}

/// The fixture of the unit tests: some of these requests, always the same, with the admission controller's
/// answers.
#[test]
fn fixture_matches_the_admission_controller() -> Result<()> {
    let questions = recorded()?;
    for (_, oracle) in oracles()? {
        let answers = oracle.mutate(&questions)?;
        let allowed = answers.iter().filter(|answer| answer.allowed).count();
        ensure!((100..250).contains(&allowed), "{allowed} of 300 are allowed");
        let rows = questions.iter().zip(&answers);
        let rows = rows.map(|(question, answer)| json!({"asked": question, "answer": answer}));
        fixture::hold("yunikorn-mutate.jsonl", rows)?;
    }
    Ok(())
}

pub(super) fn recorded() -> Result<Vec<MutateQuestion>> {
    fixture::draw(300, &questions())
}
