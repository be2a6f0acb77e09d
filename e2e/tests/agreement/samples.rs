//! Compares configurations as people write them, in `tests/samples` of the repository.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use serde_json::json;
use yunikorn::config::{checksum, verdict};

use super::config::{ask, worded};
use super::fixture::hold;
use super::oracles;

/// Returns every sample by its name below `tests/samples`.
pub(crate) fn texts() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/samples");
    let mut texts = BTreeMap::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path: PathBuf = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "yaml") {
                let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
                texts.insert(name, std::fs::read_to_string(&path).unwrap_or_default());
            }
        }
    }
    texts
}

#[test]
fn samples_match_yunikorn() -> Result<()> {
    let texts = texts();
    ensure!(texts.len() > 50, "{} samples", texts.len());
    let questions: Vec<String> = texts.values().cloned().collect();
    for (version, oracle) in oracles()? {
        for ((name, text), answer) in texts.iter().zip(ask(oracle, &questions)?) {
            let verdict = verdict(text, &["default"], version);
            let worded = |error: Result<(), String>| worded(&error.err().unwrap_or_default());
            if verdict.unsure {
                ensure!(self::worded(&answer.validate_error) == "yaml", "{name}: {:?}", verdict.diagnostics);
                continue;
            }
            ensure!(worded(verdict.validates) == self::worded(&answer.validate_error), "{name}: {answer:?}");
            ensure!(worded(verdict.starts) == self::worded(&answer.start_error), "{name}: {answer:?}");
            ensure!(verdict.reloads.is_ok() == answer.reload_error.is_empty(), "{name}: {answer:?}");
            let hashed = !answer.checksum.is_empty() && !text.is_empty();
            ensure!(!hashed || answer.checksum == checksum(text), "{name}");
        }
    }
    Ok(())
}

/// `tests/vectors/yunikorn-samples.jsonl`, used by the unit tests: the verdict on every sample, and its
/// checksum.
#[test]
fn verdicts_on_the_samples_are_recorded() -> Result<()> {
    let texts = texts();
    let questions: Vec<String> = texts.values().cloned().collect();
    for (_, oracle) in oracles()? {
        let answers = ask(oracle, &questions)?.into_iter().zip(oracle.checksum(&questions)?);
        let rows = texts.keys().zip(answers).map(|(name, (answer, checksum))| {
            json!({
                "file": name,
                "validate": answer.validate_error,
                "start": answer.start_error,
                "reload": answer.reload_error,
                "checksum": checksum,
            })
        });
        hold("yunikorn-samples.jsonl", rows)?;
    }
    Ok(())
}
