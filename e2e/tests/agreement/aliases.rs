//! Compares access through names that only an alias can grant: the model evaluates the names themselves, and
//! `YuniKorn` evaluates the aliases that the user-info webhook writes for them.

use std::collections::{BTreeMap, HashSet};

use anyhow::{Result, ensure};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use queuewarden_e2e::oracle::{AccessQuery, AccessQuestion, Subject};
use serde_json::{Value, json};
use yunikorn::config::verdict;
use yunikorn::identity::{Identity, ResolverKind};
use yunikorn::right::Right;
use yunikorn::version::Version;
use yunikorn_access::Tree;
use yunikorn_access::alias::{self, Kind};
use yunikorn_access::decide::decide;

use super::{Draw, agree_in_each};

/// The queues of each tree.
const QUEUES: [&str; 4] = ["root", "root.a", "root.a.b", "root.c"];

/// A tree, the users and groups of each ACL, and identities that ask about one of the queues.
#[derive(Debug, Clone)]
struct Case {
    acls: Vec<(Vec<String>, Vec<String>)>,
    asked: Vec<(Identity, &'static str)>,
}

#[test]
fn real_names_have_the_access_of_their_aliases_in_yunikorn() -> Result<()> {
    agree_in_each(2_000, &case(), |oracle, version, cases| {
        let questions: Vec<AccessQuestion> = cases.iter().map(Case::question).collect();
        let answers = oracle.access(&questions)?;
        let all = cases.iter().zip(&questions).zip(&answers);
        Ok(all
            .map(|((case, question), answer)| {
                let Some(tree) = tree(&question.text, version) else {
                    return Some(format!("it does not start: {}", question.text));
                };
                let wrong = case.asked.iter().zip(&answer.decisions).find_map(|((who, queue), decision)| {
                    let ours = tree.identify(who, &ResolverKind::None, version);
                    let may =
                        |right| ours.as_ref().is_ok_and(|who| decide(&tree, right, queue, who).allowed());
                    let (ours, theirs) = (Right::ALL.map(may), [decision.submit, decision.admin]);
                    (ours != theirs).then(|| format!("{who:?} {queue}: {ours:?}, YuniKorn {decision:?}"))
                });
                wrong.map(|wrong| format!("{wrong}\n{}", question.text))
            })
            .collect())
    })
}

#[test]
fn distinct_names_have_distinct_aliases() -> Result<()> {
    let mut seen = HashSet::new();
    for number in 0..Draw::of(200_000)?.cases {
        let (kind, name) = match number % 4 {
            0 => (Kind::User, format!("system:serviceaccount:team-{}:driver-{}", number % 1000, number)),
            1 => (Kind::Group, format!("system:serviceaccounts:team-{number}")),
            2 => (Kind::User, format!("https://issuer.example.com#{number:x}")),
            _ => (Kind::Group, format!("cn=team {number},ou=groups,dc=example")),
        };
        let alias = alias::alias(kind, &name);
        let hash = alias.rsplit_once('-').and_then(|(_, hash)| u128::from_str_radix(hash, 16).ok());
        ensure!(hash.is_some_and(|hash| seen.insert(hash)), "{name}: {alias} is another's");
    }
    Ok(())
}

impl Case {
    fn question(&self) -> AccessQuestion {
        let acl = |index: usize| {
            let (users, groups) = self.acls.get(index).cloned().unwrap_or_default();
            // All names are generated so that they can be granted.
            alias::acl(&users, &groups).map(|(acl, _)| acl.canonical()).unwrap_or_default()
        };
        let queue = |name: &str, index: usize, below: Value| json!({"name": name, "submitacl": acl(index), "adminacl": acl(index + QUEUES.len()), "queues": below});
        let a = queue("a", 1, json!([queue("b", 2, json!([]))]));
        // Ensures that there is an alias in each tree.
        let c = queue(
            "c",
            3,
            json!([{"name": "d", "submitacl": format!(" {}", alias::alias(Kind::User, "a:b"))}]),
        );
        let root = queue("root", 0, json!([a, c]));
        let queries = self.asked.iter().map(|(who, queue)| {
            let Identity { user, groups } = alias::presented(who, |_| true);
            let subject = Subject { user, groups };
            AccessQuery { subject, queue: (*queue).to_owned(), tags: BTreeMap::new() }
        });
        AccessQuestion {
            text: json!({"partitions": [{"name": "default", "queues": [root]}]}).to_string(),
            queries: queries.collect(),
        }
    }
}

fn tree(text: &str, version: Version) -> Option<Tree> {
    Tree::new(verdict(text, &[], version).config?.partition("default")?).ok()
}

fn case() -> impl Strategy<Value = Case> {
    let names = || vec(name(), 0..3);
    let identity = (name(), vec(name(), 0..6)).prop_map(|(user, mut groups)| {
        groups.push("system:authenticated".to_owned());
        Identity { user, groups }
    });
    (vec((names(), names()), 2 * QUEUES.len()), vec((identity, select(QUEUES.to_vec())), 8))
        .prop_map(|(acls, asked)| Case { acls, asked })
}

/// Returns a name that Kubernetes can authenticate, for a user or a group.
pub(super) fn name() -> impl Strategy<Value = String> {
    const NAMES: [&str; 16] = [
        "system:serviceaccount:spark:driver",
        "system:serviceaccount:spark:other",
        "system:serviceaccounts:spark",
        "system:authenticated",
        "https://issuer.example.com#1234",
        "oidc:ann",
        "CN=Ann Smith,OU=Engineering,O=Example",
        "cn=devs,ou=groups,dc=example",
        "team.a@corp.example",
        "team.b@corp.example",
        "データ基盤",
        "Zoë",
        "1st",
        "ann",
        "devs",
        "qw-user:ann",
    ];
    let drawn = r"[a-zA-Z0-9:/#@=,. é_-]{1,24}".prop_map(|name| name.trim().to_owned());
    let drawn = drawn.prop_filter("a name", |name| alias::can_be_granted(Kind::Group, name));
    prop_oneof![8 => select(NAMES.to_vec()).prop_map(str::to_owned), 1 => drawn]
}
