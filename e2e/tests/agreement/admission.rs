//! Compares the `accessControl` keys: the values that the admission controller uses, and the users that it
//! lets set another user's name.

use std::collections::BTreeMap;

use anyhow::Result;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use queuewarden_e2e::Oracle;
use queuewarden_e2e::oracle::{AdmissionAnswer, AdmissionQuestion, ConfigMapData, ConfigMaps, Subject};
use yunikorn::admission::{self, Access, AccessControl, KEYS, PatternList};

use super::agree_in_each;

/// Values of keys: booleans, lists, and others.
const VALUES: [&str; 26] = [
    "true",
    "false",
    "T",
    "0",
    "yes",
    "TRUE",
    "tRUE",
    " true",
    "",
    " ",
    ",",
    "^alice$",
    "alice",
    "^alice$,^bob$",
    " ^alice$ , bob ",
    "^a{1,3}$",
    "(",
    "^alice$,(",
    "a**",
    "^system:serviceaccount:",
    "kube-system",
    ".*",
    "(?i)ALICE",
    "^devs|ops$",
    "\u{a0}^alice$\u{3000}",
    "\\d",
];

fn keys() -> impl Strategy<Value = BTreeMap<String, String>> {
    let key = prop::sample::select(&KEYS[..]).prop_map(str::to_owned);
    btree_map(key, prop::sample::select(&VALUES[..]).prop_map(str::to_owned), 0..6)
}

fn subjects() -> impl Strategy<Value = Vec<Subject>> {
    let user = prop::sample::select(vec![
        "alice",
        "bob",
        "mallory",
        "not-alice",
        "ALICE",
        "3",
        "",
        "system:serviceaccount:kube-system:job-controller",
        "system:serviceaccount:default:default",
    ]);
    let group =
        prop::sample::select(vec!["devs", "ops", "alice", "system:authenticated"]).prop_map(str::to_owned);
    let subject =
        (user, vec(group, 0..3)).prop_map(|(user, groups)| Subject { user: user.to_owned(), groups });
    vec(subject, 1..5)
}

fn ask(
    oracle: &Oracle,
    inputs: impl Iterator<Item = (BTreeMap<String, String>, Vec<Subject>)>,
) -> Result<Vec<AdmissionAnswer>> {
    let questions: Vec<AdmissionQuestion> = inputs
        .map(|(data, subjects)| {
            let configs = Some(ConfigMapData { data, ..ConfigMapData::default() });
            AdmissionQuestion { maps: ConfigMaps { defaults: None, configs }, subjects }
        })
        .collect();
    oracle.admission(&questions)
}

#[test]
fn access_control_keys_match_the_admission_controller() -> Result<()> {
    agree_in_each(2_500, &(keys(), subjects()), |oracle, _, inputs| {
        let answers = ask(oracle, inputs.iter().cloned())?;
        let differences = inputs.iter().zip(answers).map(|((keys, subjects), answer)| {
            let model = hold(keys, subjects);
            (model != answer)
                .then(|| format!("the model says {model:?}, the admission controller {answer:?}"))
        });
        Ok(differences.collect())
    })
}

fn hold(keys: &BTreeMap<String, String>, subjects: &[Subject]) -> AdmissionAnswer {
    let (control, _) = AccessControl::from_keys(keys);
    let sources =
        |list: &PatternList| list.patterns().iter().map(|pattern| pattern.as_str().to_owned()).collect();
    let allowed = |subject: &Subject| {
        matches!(control.is_annotation_allowed(&subject.user, &subject.groups), Access::Allowed(_))
    };
    AdmissionAnswer {
        bypass_auth: control.bypass_auth,
        trust_controllers: control.trust_controllers,
        system_users: sources(&control.system_users),
        external_users: sources(&control.external_users),
        external_groups: sources(&control.external_groups),
        allowed: subjects.iter().map(allowed).collect(),
        panic: String::new(),
    }
}

/// The admission controller reads the lists that the model writes, element by element.
#[test]
fn written_lists_are_read_by_the_admission_controller() -> Result<()> {
    let element = prop_oneof![
        3 => prop::sample::select(&VALUES[..]).prop_map(str::to_owned),
        1 => "[a-c,^$ |*{}0-3]{0,6}",
    ];
    agree_in_each(2_500, &vec(element, 0..4), |oracle, _, lists| {
        let written: Vec<Option<String>> = lists.iter().map(|list| admission::render_list(list).0).collect();
        let keys = |text: &Option<String>| {
            let text = text.iter().map(|text| (admission::EXTERNAL_USERS.to_owned(), text.clone()));
            (text.collect(), Vec::new())
        };
        let answers = ask(oracle, written.iter().map(keys))?;
        let differences = lists.iter().zip(&written).zip(answers).map(|((list, text), answer)| {
            let text = text.as_ref()?;
            let held = answer.external_users;
            (held != *list).then(|| format!("was written as {text:?}, which is {held:?}"))
        });
        Ok(differences.collect())
    })
}
