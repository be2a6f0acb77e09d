//! Known findings: a former output of `-o sarif`, given with `--baseline`. A warning in it is not reported
//! again, wherever it is in its file now.

use crate::output::text;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::output::text::{Source, SourceDiagnostic};
use crate::output::{Console, Failure, sarif};
use crate::source::input::source;
use go_compat::diag::{Severity, plural};

/// The option for known findings.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct BaselineArgs {
    /// Leave out the warnings of a former run, whose output with -o sarif this file is
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
}

/// The identity of a finding: its code, the object or else the file that it is about, and its message.
type Key = [String; 3];

/// The number of equal findings: of the former run, and the most in one list of this run.
type Counts = [usize; 2];

impl BaselineArgs {
    /// Removes the warnings that are known from each list, and notes what is no longer found. Returns the part
    /// of a summary that counts them: `, 2 in the baseline`.
    ///
    /// # Errors
    /// When the file cannot be read, or is no SARIF.
    pub fn apply<'l>(
        &self,
        sources: &[Source],
        lists: impl IntoIterator<Item = &'l mut Vec<SourceDiagnostic>>,
        console: Console,
    ) -> Result<String, Failure> {
        let Some(path) = &self.baseline else { return Ok(String::new()) };
        let (mut known, folder) = (read(path)?, sarif::folder()?);
        let mut removed = 0_usize;
        for list in lists {
            let (all, mut counts) = (list.len(), BTreeMap::<Key, usize>::new());
            list.retain(|finding| {
                let key = key(&sarif::result(sources, finding, &folder));
                let Some([before, now]) = known.get_mut(&key) else { return true };
                let count = counts.entry(key).or_default();
                *count = count.saturating_add(1);
                *now = (*now).max(*count);
                *count > *before || finding.diagnostic.severity == Severity::Error
            });
            removed = removed.saturating_add(all.saturating_sub(list.len()));
        }
        if let Some(note) = stale(&known) {
            console.note(&note);
        }
        Ok(if removed == 0 { String::new() } else { format!(", {removed} in the baseline") })
    }
}

fn read(path: &Path) -> Result<BTreeMap<Key, Counts>, Failure> {
    let text = source::read_one(path)?.text;
    let log = serde_json::from_str::<Value>(&text).ok();
    let results = log.as_ref().and_then(|log| log.pointer("/runs/0/results")?.as_array());
    let results = results.ok_or_else(|| {
        Failure::Usage(format!("{} is no SARIF: write it with -o sarif", text::shown(path)))
    })?;
    let mut known = BTreeMap::<Key, Counts>::new();
    for result in results {
        let [before, _] = known.entry(key(result)).or_default();
        *before = before.saturating_add(1);
    }
    Ok(known)
}

/// Returns a note about the findings of the former run that are no longer there.
fn stale(known: &BTreeMap<Key, Counts>) -> Option<String> {
    let gone = known.iter().map(|(key, [before, now])| (key, before.saturating_sub(*now)));
    let gone: Vec<(&Key, usize)> = gone.filter(|(_, count)| *count > 0).collect();
    let ([code, location, message], _) = gone.first()?;
    let count = plural(gone.iter().map(|(_, count)| count).sum(), "finding");
    Some(format!(
        "{count} of the baseline no longer there, first {code} in {location}: {message}; write the file anew with \
        -o sarif, without --baseline"
    ))
}

/// Returns the identity of a result.
fn key(result: &Value) -> Key {
    let text = |pointer| result.pointer(pointer).and_then(Value::as_str);
    let object = text("/locations/0/logicalLocations/0/fullyQualifiedName");
    let location = object.or_else(|| text("/locations/0/physicalLocation/artifactLocation/uri"));
    [text("/ruleId"), location, text("/message/text")].map(|text| text.unwrap_or_default().to_owned())
}
