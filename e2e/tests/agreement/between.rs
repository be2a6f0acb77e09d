//! Compares two versions of `YuniKorn`'s core with each other, without the model, to see what a new release
//! changes. Run it with `just yunikorn-diff OLD NEW`.

use std::collections::BTreeSet;
use std::fmt::Debug;

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::Oracle;
use queuewarden_e2e::oracle::{IdentityAnswer, IdentityQuestion, YamlTarget};

use super::fixture::draw;
use super::vectors::{self, yaml_questions};
use super::{access, acl, config, identity, mutate, placement, placement_vectors, samples};

/// Maximum number of printed differences of one kind.
const SHOWN: usize = 3;
/// Number of generated inputs of the most frequent kinds; the others have half of it. Together they are
/// 100,000.
const DRAWN: usize = 25_000;

type Comparison = fn(&Both, &str) -> Result<()>;

/// The files of `tests/vectors`.
const RECORDED: [(&str, Comparison); 14] = [
    ("go-regex-random.json", |both, kind| {
        both.compare(kind, &vectors::pattern_questions()?, Oracle::pattern)
    }),
    ("go-regex.json", |both, kind| both.compare(kind, &vectors::list_questions()?, Oracle::regex)),
    ("go-yaml-parse.json", |both, kind| {
        both.compare(kind, &yaml_questions("go-yaml-parse", YamlTarget::Nodes)?, Oracle::yaml)
    }),
    ("go-yaml-typed.json", |both, kind| {
        both.compare(kind, &yaml_questions("go-yaml-typed", YamlTarget::Typed)?, Oracle::yaml)
    }),
    ("yunikorn-access-control.json", |both, kind| {
        both.compare(kind, &vectors::access_control_questions()?, Oracle::admission)
    }),
    ("yunikorn-access.jsonl", |both, kind| both.compare(kind, &access::recorded()?, Oracle::access)),
    ("yunikorn-acl.json", |both, kind| both.compare(kind, &vectors::acl_questions()?, Oracle::acl)),
    ("yunikorn-checksum.json", |both, kind| {
        both.compare(kind, &vectors::checksum_texts()?, Oracle::checksum)
    }),
    ("yunikorn-config.json", |both, kind| {
        both.compare(kind, &vectors::configuration_texts("yunikorn-config")?, config::ask)
    }),
    ("yunikorn-mutate.jsonl", |both, kind| both.compare(kind, &mutate::recorded()?, Oracle::mutate)),
    ("yunikorn-placement.json", |both, kind| {
        both.compare(kind, &placement_vectors::recorded()?, Oracle::access)
    }),
    ("yunikorn-samples.jsonl", |both, kind| {
        both.compare(kind, &samples::texts().into_values().collect::<Vec<_>>(), config::ask)
    }),
    ("yunikorn-user-cache.jsonl", |both, kind| both.compare(kind, &identity::recorded()?, users)),
    ("yunikorn-verdicts.json", |both, kind| {
        both.compare(kind, &vectors::configuration_texts("yunikorn-verdicts")?, config::ask)
    }),
];

/// The generated inputs, 100,000 in total. Inputs that are read without the core (patterns, YAML, admission)
/// are left out.
const RANDOM: [(&str, Comparison); 6] = [
    ("drawn configurations", |both, kind| {
        both.compare(kind, &draw(DRAWN, &config::configuration())?, config::ask)
    }),
    ("damaged configurations", |both, kind| {
        both.compare(kind, &draw(DRAWN / 2, &config::damaged())?, config::ask)
    }),
    ("ACLs", |both, kind| both.compare(kind, &draw(DRAWN, &acl::questions())?, Oracle::acl)),
    ("access to queues", |both, kind| {
        both.compare(kind, &draw(DRAWN / 2, &access::question())?, Oracle::access)
    }),
    ("placements", |both, kind| {
        both.compare(kind, &draw(DRAWN / 2, &placement::question())?, Oracle::access)
    }),
    ("users", |both, kind| both.compare(kind, &draw(DRAWN / 2, &identity::questions_drawn())?, users)),
];

fn users(oracle: &Oracle, questions: &[IdentityQuestion]) -> Result<Vec<Vec<IdentityAnswer>>> {
    Ok(oracle.identity(questions)?.into_iter().map(identity::timeless).collect())
}

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
}

#[test]
#[ignore = "`just yunikorn-diff` runs it, with two versions"]
fn two_yunikorn_versions_are_compared() -> Result<()> {
    let version =
        |name: &str| std::env::var(name).with_context(|| format!("{name} names a release, as 1.9.0"));
    let both = Both {
        old: Oracle::with_core(&version("QUEUEWARDEN_E2E_OLD")?)?,
        new: Oracle::with_core(&version("QUEUEWARDEN_E2E_NEW")?)?,
    };
    RECORDED.iter().chain(&RANDOM).try_for_each(|(kind, compare)| compare(&both, kind))
}

#[test]
fn all_yunikorn_vectors_are_compared() -> Result<()> {
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors"))?;
    let names = folder.map(|file| Ok(file?.file_name().to_string_lossy().into_owned()));
    let files = names.collect::<Result<BTreeSet<String>>>()?;
    // The YARN fixture does not depend on YuniKorn.
    let compared = RECORDED.iter().map(|(name, _)| *name).chain(["yarn-acl.json"]);
    ensure!(files == compared.map(str::to_owned).collect(), "{files:?}");
    Ok(())
}
