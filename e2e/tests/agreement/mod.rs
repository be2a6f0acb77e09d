//! Compares queuewarden's model of `YuniKorn` with `YuniKorn` itself on the same inputs, and its model of
//! YARN with Hadoop itself.
//!
//! Each test generates random inputs, sends all of them to the oracle of each version of `YuniKorn`, and
//! compares the answers. `QUEUEWARDEN_E2E_CASES` is the number of inputs per test and version, and
//! `QUEUEWARDEN_E2E_SEED` generates the same inputs again. A failure reports both, and the smallest input it
//! could find.

mod access;
mod acl;
mod admission;
mod aliases;
mod between;
mod config;
mod fixture;
mod flatten;
mod identity;
pub(crate) mod mutate;
mod placement;
mod placement_vectors;
mod regex;
mod render;
mod samples;
mod spark_files;
mod vectors;
mod yaml;
mod yarn;
mod yarn_queues;

use std::fmt::Debug;
use std::hash::{BuildHasher as _, RandomState};

use anyhow::{Context as _, Result, bail};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use queuewarden_e2e::Oracle;
use yunikorn::version::Version;

pub(crate) const CASES: &str = "QUEUEWARDEN_E2E_CASES";
pub(crate) const SEED: &str = "QUEUEWARDEN_E2E_SEED";
/// Number of inputs generated before the oracle is queried.
const BATCH: usize = 2_000;
/// Most differences that are printed.
const SHOWN: usize = 5;

/// The number of inputs, and the source of randomness.
pub(crate) struct Draw {
    /// The number of inputs.
    pub(crate) cases: usize,
    /// The seed that generates the same inputs again.
    pub(crate) seed: u64,
    /// The runner that draws the inputs.
    pub(crate) runner: TestRunner,
}

impl Draw {
    /// Reads the environment, with `usual` as the default number of inputs.
    pub(crate) fn of(usual: usize) -> Result<Self> {
        let cases = number(CASES)?.map_or(Ok(usual), usize::try_from)?;
        let seed = number(SEED)?.unwrap_or_else(|| RandomState::new().hash_one(std::process::id()));
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        Ok(Self { cases, seed, runner: TestRunner::new_with_rng(Config::default(), rng) })
    }
}

/// Generates `usual` inputs (or as many as the environment sets) and uses `compare` to find inputs where the
/// model and the oracle differ; it returns the difference for each input.
fn agree<S>(
    usual: usize,
    inputs: &S,
    compare: impl Fn(&[S::Value]) -> Result<Vec<Option<String>>>,
) -> Result<()>
where
    S: Strategy,
    S::Value: Clone + Debug,
{
    let Draw { cases, seed, mut runner } = Draw::of(usual)?;
    let mut done = 0;
    let mut differences = Vec::new();
    while done < cases && differences.len() < SHOWN {
        let trees =
            (0..BATCH.min(cases - done)).map(|_| inputs.new_tree(&mut runner)).collect::<Result<Vec<_>, _>>();
        let mut trees = trees.map_err(|reason| anyhow::anyhow!("no input: {reason}"))?;
        let values: Vec<S::Value> = trees.iter().map(ValueTree::current).collect();
        for (tree, difference) in trees.iter_mut().zip(compare(&values)?) {
            if difference.is_some() && differences.len() < SHOWN {
                differences.push(smallest(tree, &compare)?);
            }
        }
        done += values.len();
    }
    if differences.is_empty() {
        println!("{done} inputs, seed {seed}");
        return Ok(());
    }
    bail!("model and oracle differ ({SEED}={seed} {CASES}={cases}):\n{}", differences.join("\n"))
}

/// Returns the oracle of each version.
fn oracles() -> Result<Vec<(Version, &'static Oracle)>> {
    Version::PROVEN.into_iter().map(|version| Ok((version, Oracle::of(version)?))).collect()
}

/// Compares the model of each version with its oracle.
fn agree_in_each<S>(
    usual: usize,
    inputs: &S,
    compare: impl Fn(&Oracle, Version, &[S::Value]) -> Result<Vec<Option<String>>>,
) -> Result<()>
where
    S: Strategy,
    S::Value: Clone + Debug,
{
    let oracles = oracles()?;
    agree(usual, inputs, |values| {
        let mut found = vec![None; values.len()];
        for (version, oracle) in &oracles {
            let differences = compare(oracle, *version, values)?;
            for (found, difference) in found.iter_mut().zip(differences) {
                *found = found.take().or_else(|| Some(format!("{version}: {}", difference?)));
            }
        }
        Ok(found)
    })
}

/// Shrinks an input as long as the answers differ.
fn smallest<T>(tree: &mut T, compare: &impl Fn(&[T::Value]) -> Result<Vec<Option<String>>>) -> Result<String>
where
    T: ValueTree,
    T::Value: Clone + Debug,
{
    let differs = |value: T::Value| Ok::<_, anyhow::Error>(compare(&[value])?.pop().flatten());
    let mut value = tree.current();
    let mut difference =
        differs(value.clone())?.with_context(|| format!("the difference has gone: {value:?}"))?;
    let mut moving = tree.simplify();
    for _ in 0..1_000 {
        if !moving {
            break;
        }
        let candidate = tree.current();
        moving = match differs(candidate.clone())? {
            Some(smaller) => {
                (value, difference) = (candidate, smaller);
                tree.simplify()
            }
            None => tree.complicate(),
        };
    }
    Ok(format!("  {value:?}\n    {difference}"))
}

/// Returns the number in a variable of the environment.
pub(crate) fn number(variable: &str) -> Result<Option<u64>> {
    match std::env::var(variable) {
        Ok(text) => Ok(Some(text.parse().with_context(|| format!("{variable}={text} is no number"))?)),
        Err(_) => Ok(None),
    }
}
