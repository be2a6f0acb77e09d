//! Compares the identities of requesters in the model's and in `YuniKorn`'s user cache, over whole histories.

use anyhow::{Result, ensure};
use jiff::Timestamp;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use queuewarden::source::identity::OsAccounts;
use queuewarden_e2e::Oracle;
use queuewarden_e2e::oracle::{ClaimQuestion, IdentityAnswer, IdentityQuestion, Subject};
use serde_json::json;
use yunikorn::identity::{Claim, GroupResolver, ResolverKind, TestAccounts, UserCache};
use yunikorn::version::Version;

use super::{agree_in_each, fixture, oracles};

fn claims() -> impl Strategy<Value = Vec<ClaimQuestion>> {
    let user = prop_oneof![
        8 => select(vec![
            "alice", "bob", "", "bad user", "1abc", "a/b#c@d.e$", "https://idp/#alice", "été", "sue\n",
            "system:serviceaccount:ns:sa", "testuser1", "testuser2", "testuser3", "testuser4", "testuser5",
            "invalid-gid-user", "nobody",
        ])
        .prop_map(str::to_owned),
        1 => r"\PC{0,6}",
    ];
    let group = select(vec!["dev", "ops", "", "system:authenticated", "a b", "é"]).prop_map(str::to_owned);
    let groups = prop_oneof![Just(Vec::new()), vec(group, 1..3)];
    let claim = (user, groups, prop::bool::weighted(0.2))
        .prop_map(|(user, groups, force)| ClaimQuestion { subject: Subject { user, groups }, force });
    vec(claim, 1..12)
}

pub(super) fn questions_drawn() -> impl Strategy<Value = IdentityQuestion> {
    let resolver = select(vec!["", "test", "TEST", "none"]).prop_map(str::to_owned);
    (resolver, claims()).prop_map(|(resolver, claims)| IdentityQuestion { resolver, claims })
}

fn answers(question: &IdentityQuestion, version: Version) -> Vec<IdentityAnswer> {
    let resolver: &dyn GroupResolver = match ResolverKind::parse(&question.resolver) {
        ResolverKind::Test => &TestAccounts,
        ResolverKind::Os => &OsAccounts,
        _ => &ResolverKind::None,
    };
    let mut cache = UserCache::new(version, Timestamp::UNIX_EPOCH);
    let claims = question.claims.iter().zip(0_i64..);
    claims
        .map(|(ClaimQuestion { subject, force }, hour)| {
            let claim = Claim { user: &subject.user, groups: &subject.groups, forced: *force };
            // The oracle answers at once; version 1.8 ignores how much time has passed.
            let passed = if version == Version::V1_8 { hour * 3600 } else { 0 };
            let now = Timestamp::from_second(passed).unwrap_or(Timestamp::UNIX_EPOCH);
            match cache.identify(claim, resolver, now) {
                Ok(identity) => {
                    IdentityAnswer { user: identity.user, groups: identity.groups, error: String::new() }
                }
                Err(refusal) => IdentityAnswer { error: refusal.to_string(), ..IdentityAnswer::default() },
            }
        })
        .collect()
}

/// Removes the time of a failure from its message, because 1.9 reports the actual time.
pub(super) fn timeless(mut answers: Vec<IdentityAnswer>) -> Vec<IdentityAnswer> {
    for answer in &mut answers {
        if let Some((message, _)) = answer.error.split_once("cached data returned: ") {
            answer.error = message.to_owned();
        }
    }
    answers
}

#[test]
fn user_cache_matches_yunikorn() -> Result<()> {
    agree_in_each(2_000, &questions_drawn(), |oracle, version, questions| {
        let theirs = oracle.identity(questions)?;
        let differences = questions.iter().zip(theirs).map(|(question, theirs)| {
            let (ours, theirs) = (timeless(answers(question, version)), timeless(theirs));
            (ours != theirs).then(|| format!("the model says {ours:?}\n    YuniKorn {theirs:?}"))
        });
        Ok(differences.collect())
    })
}

/// Returns a history that demonstrates the rules one after another.
fn reported() -> IdentityQuestion {
    let claims: [(&str, &[&str], bool); 19] = [
        ("alice", &[], false),
        ("alice", &["dev"], false),
        ("alice", &[], false),
        ("alice", &["ops", "ops"], false),
        ("alice", &[], false),
        ("bob", &["a"], false),
        ("bob", &[], false),
        ("bob", &[""], false),
        ("bob", &[], false),
        ("bad user", &[], false),
        ("bad user", &["g"], false),
        ("bad user", &["g"], true),
        ("", &["g"], false),
        ("", &["g"], true),
        ("system:serviceaccount:ns:sa", &["system:serviceaccounts"], false),
        ("a/b#c@d.e$", &["x"], false),
        ("https://idp/#alice", &["x"], false),
        ("1abc", &["x"], false),
        ("user@example.com", &["x"], false),
    ];
    let claims = claims.into_iter().map(|(user, groups, force)| ClaimQuestion {
        subject: Subject { user: user.to_owned(), groups: groups.iter().map(ToString::to_string).collect() },
        force,
    });
    IdentityQuestion { resolver: String::new(), claims: claims.collect() }
}

pub(super) fn recorded() -> Result<Vec<IdentityQuestion>> {
    let mut questions = vec![reported()];
    questions.extend(fixture::draw(60, &questions_drawn())?);
    Ok(questions)
}

/// The fixture of the unit tests: that history and some generated ones, always the same, with the answers of
/// 1.8, whose clock never advances.
#[test]
fn fixture_matches_yunikorn() -> Result<()> {
    let questions = recorded()?;
    let answers = Oracle::get()?.identity(&questions)?;
    let errors = answers.iter().flatten().filter(|answer| !answer.error.is_empty()).count();
    ensure!(errors > 50, "{errors} refusals");
    let rows = questions
        .iter()
        .zip(&answers)
        .map(|(question, answers)| json!({"asked": question, "answers": answers}));
    fixture::hold("yunikorn-user-cache.jsonl", rows)
}

/// The accounts of this machine, as found by Go's `os/user`.
#[test]
fn local_accounts_are_resolved_as_in_yunikorn() -> Result<()> {
    let passwd = std::fs::read_to_string("/etc/passwd")?;
    let users = passwd.lines().filter_map(|line| line.split(':').next()).chain(["no-such-user-here"]);
    let questions: Vec<IdentityQuestion> = users
        .map(|user| {
            let subject = Subject { user: user.to_owned(), groups: Vec::new() };
            IdentityQuestion {
                resolver: "os".to_owned(),
                claims: vec![ClaimQuestion { subject, force: false }],
            }
        })
        .collect();
    for (version, oracle) in oracles()? {
        for (question, theirs) in questions.iter().zip(oracle.identity(&questions)?) {
            let ours = answers(question, version);
            ensure!(ours == theirs, "{question:?}: the model says {ours:?}, YuniKorn {theirs:?}");
        }
    }
    Ok(())
}
