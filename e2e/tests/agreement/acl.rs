//! Compares ACL strings: the names in force after activation, and the texts that validation accepts.

use std::collections::BTreeSet;

use anyhow::Result;
use proptest::collection::vec;
use proptest::prelude::*;
use queuewarden_e2e::oracle::{AclAnswer, AclQuestion, Subject};
use yunikorn::acl::{self, Acl, Names};

use super::agree_in_each;

/// Pieces of ACLs: names that are valid, names that are not, separators, and lookalikes of these.
const PIECES: [&str; 36] = [
    "alice",
    "bob",
    "devs",
    "ops",
    "_x",
    "a.b@c-d_$",
    "svc$",
    "A",
    "1st",
    "-x",
    "$",
    "a$b",
    "g.h",
    "g:h",
    "system:masters",
    "été",
    "Ω",
    "\u{212a}",
    "\"*\"",
    "'",
    "#",
    " ",
    " ",
    " ",
    ",",
    ",",
    ",",
    "*",
    "*",
    "\t",
    "\n",
    "\r\n",
    "\u{a0}",
    "\u{85}",
    "\u{3000}",
    "\0",
];

fn acls() -> impl Strategy<Value = String> {
    let pieces = vec(prop::sample::select(&PIECES[..]), 0..9).prop_map(|pieces| pieces.concat());
    prop_oneof![8 => pieces, 1 => any::<String>(), 1 => "[ -~]{0,12}"]
}

fn subjects() -> impl Strategy<Value = Vec<Subject>> {
    let name = || prop::sample::select(&PIECES[..21]).prop_map(str::to_owned);
    let subject = (prop_oneof![Just(String::new()), name()], vec(name(), 0..3));
    vec(subject.prop_map(|(user, groups)| Subject { user, groups }), 0..4)
}

pub(super) fn questions() -> impl Strategy<Value = AclQuestion> {
    (acls(), subjects()).prop_map(|(acl, subjects)| AclQuestion { acl, subjects })
}

#[test]
fn acls_are_parsed_as_in_yunikorn() -> Result<()> {
    agree_in_each(20_000, &questions(), |oracle, _, questions| {
        let answers = oracle.acl(questions)?;
        Ok(questions.iter().zip(&answers).map(|(question, answer)| difference(question, answer)).collect())
    })
}

/// Both of `YuniKorn`'s parsers accept the printed text, which has the same meaning.
#[test]
fn printed_acls_are_accepted_by_yunikorn() -> Result<()> {
    agree_in_each(20_000, &acls(), |oracle, _, inputs| {
        let printed: Vec<Option<(Acl, String)>> = inputs
            .iter()
            .map(|text| acl::parse(text).ok().map(|acl| (acl.clone(), acl.canonical())))
            .collect();
        let questions: Vec<AclQuestion> = printed
            .iter()
            .map(|printed| AclQuestion {
                acl: printed.as_ref().map(|(_, text)| text.clone()).unwrap_or_default(),
                subjects: Vec::new(),
            })
            .collect();
        let answers = oracle.acl(&questions)?;
        let differences = printed.iter().zip(&answers).map(|(printed, answer)| {
            let (acl, text) = printed.as_ref()?;
            let accepted = answer.validate_error.is_empty() && answer.newacl_error.is_empty();
            (!accepted || read(acl) != in_force(answer))
                .then(|| format!("{acl:?} was printed as {text:?}, which is {answer:?}"))
        });
        Ok(differences.collect())
    })
}

fn difference(question: &AclQuestion, answer: &AclAnswer) -> Option<String> {
    let validates = acl::validates(&question.acl).err().map(|error| error.to_string()).unwrap_or_default();
    let model = match acl::parse(&question.acl) {
        Ok(acl) => {
            let access =
                question.subjects.iter().map(|subject| acl.allows(&subject.user, &subject.groups)).collect();
            (validates, String::new(), read(&acl), access)
        }
        Err(error) => {
            (validates, error.to_string(), read(&Acl::nobody()), vec![false; question.subjects.len()])
        }
    };
    let yunikorn =
        (answer.validate_error.clone(), answer.newacl_error.clone(), in_force(answer), answer.access.clone());
    (model != yunikorn).then(|| format!("the model says {model:?}, YuniKorn {yunikorn:?} {}", answer.panic))
}

type InForce = (bool, BTreeSet<String>, BTreeSet<String>);

fn read(acl: &Acl) -> InForce {
    let names = |names: &Names| names.iter().map(str::to_owned).collect();
    (acl.is_everyone(), names(acl.users()), names(acl.groups()))
}

fn in_force(answer: &AclAnswer) -> InForce {
    // With the wildcard, `YuniKorn` never reads its sets of names, so they do not matter.
    let names = |names: &[String]| {
        if answer.all_allowed { BTreeSet::new() } else { names.iter().cloned().collect() }
    };
    (answer.all_allowed, names(&answer.users), names(&answer.groups))
}
