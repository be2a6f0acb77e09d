//! Compares two versions of `YuniKorn`'s core with each other, without the model: what a new release changes.
//! `just yunikorn-diff OLD NEW` runs it.

use std::fmt::Debug;

use anyhow::{Context as _, Result};
use proptest::strategy::Strategy;
use queuewarden_e2e::Oracle;
use queuewarden_e2e::oracle::{AclQuestion, ConfigQuestion};

use super::fixture::draw;
use super::{access, acl, config, identity, placement, samples};

/// Differences of one kind that are printed.
const SHOWN: usize = 3;
/// Drawn inputs of the most frequent kind; the others have a share of it.
const DRAWN: usize = 40_000;

/// Both versions.
struct Both {
    old: Oracle,
    new: Oracle,
}

impl Both {
    /// Prints the inputs that the versions answer differently.
    fn compare<Q: Debug, A: PartialEq + Debug>(
        &self,
        kind: &str,
        questions: &[Q],
        ask: impl Fn(&Oracle, &[Q]) -> Result<Vec<A>>,
    ) -> Result<()> {
        let (old, new) = (ask(&self.old, questions)?, ask(&self.new, questions)?);
        let answers = questions.iter().zip(old.iter().zip(&new));
        let apart: Vec<_> = answers.filter(|(_, (old, new))| old != new).collect();
        println!("{kind}: {} of {} differ", apart.len(), questions.len());
        for (question, (old, new)) in apart.iter().take(SHOWN) {
            println!("  {question:?}\n    old: {old:?}\n    new: {new:?}");
        }
        Ok(())
    }

    fn configurations(&self, kind: &str, texts: impl IntoIterator<Item = String>) -> Result<()> {
        let questions: Vec<ConfigQuestion> =
            texts.into_iter().map(|text| ConfigQuestion { text, from: String::new() }).collect();
        self.compare(kind, &questions, Oracle::config)
    }

    fn drawn(&self, kind: &str, count: usize, texts: &impl Strategy<Value = String>) -> Result<()> {
        self.configurations(kind, draw(count, texts)?)
    }
}

#[test]
#[ignore = "`just yunikorn-diff` runs it, with two versions"]
fn two_versions() -> Result<()> {
    let version =
        |name: &str| std::env::var(name).with_context(|| format!("{name} names a release, as 1.9.0"));
    let both = Both {
        old: Oracle::with_core(&version("QUEUEWARDEN_E2E_OLD")?)?,
        new: Oracle::with_core(&version("QUEUEWARDEN_E2E_NEW")?)?,
    };
    both.configurations("configurations of tests/samples", samples::texts().into_values())?;
    both.drawn("drawn configurations", DRAWN / 2, &config::configuration())?;
    both.drawn("damaged configurations", DRAWN / 4, &config::damaged())?;
    both.drawn("limits around queues named root", DRAWN / 4, &config::limits_below_root())?;
    let acls = draw(DRAWN, &(acl::acls(), acl::subjects()))?;
    let acls: Vec<_> = acls.into_iter().map(|(acl, subjects)| AclQuestion { acl, subjects }).collect();
    both.compare("ACLs", &acls, Oracle::acl)?;
    let ask_access = |oracle: &Oracle, questions: &[_]| oracle.access(questions);
    both.compare("access to queues", &draw(DRAWN / 4, &access::question())?, ask_access)?;
    both.compare("placements", &draw(DRAWN / 4, &placement::question())?, ask_access)?;
    both.compare("users", &draw(DRAWN / 4, &identity::questions_drawn())?, |oracle, questions| {
        Ok(oracle.identity(questions)?.into_iter().map(identity::timeless).collect())
    })
}
