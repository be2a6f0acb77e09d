//! The options of `validate` for what is reported: later findings, known ones, and unknown names.
//!
//! A baseline is a former output of `-o sarif`. A warning in it is not reported again, wherever it is in its file
//! now.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use crate::output::format::visible;
use crate::output::text::{self, Source, SourceDiagnostic};
use crate::output::{Console, Failure, sarif};
use crate::source::input::source;
use crate::source::times::Typed;
use go_compat::diag::{Severity, listed, plural};
use go_compat::go_regex::GoRegex;
use queuewarden_plan::ResourceKind;
use queuewarden_plan::ahead::{Ahead, Moment};
use yunikorn_access::decide::in_words;
use yunikorn_access::lint::Population;

/// Maximum number of objects that are listed at one moment; more are counted.
const MAX_LISTED: usize = 6;

/// Option to look ahead.
#[derive(Debug, Clone, clap::Args)]
pub struct AheadArgs {
    /// Look ahead to this time, too, such as 2026-12-01T18:00:00Z, 2026-12-01, friday or 7d: show what is
    /// found when a QueueAcl begins or ends
    #[arg(long, value_name = "TIME", value_parser = Typed::parse)]
    until: Option<Typed>,
}

impl AheadArgs {
    /// Looks ahead from a time, if that is wanted.
    ///
    /// # Errors
    /// When the end is no time after it, or `look` fails.
    pub fn look<T>(
        &self,
        now: Timestamp,
        look: impl FnOnce(Timestamp) -> Result<Ahead<T>, Failure>,
    ) -> Result<Ahead<T>, Failure> {
        let Some(until) = self.until else { return Ok(Ahead::default()) };
        look(until.end(now).map_err(|why| Failure::Usage(format!("--until: {why}")))?)
    }
}

/// Returns the number of later findings, behind that of the present ones; empty if there are none.
pub fn later<T>(ahead: &Ahead<T>) -> String {
    match ahead.findings().count() {
        0 => String::new(),
        count => format!(", {count} later"),
    }
}

/// Formats each moment with the objects that begin or end and what is found from then on.
pub fn text_ahead<T>(ahead: &Ahead<T>, draw: impl Fn(&[T]) -> String) -> String {
    let moment = |Moment { at, begin, end, findings }: &Moment<T>| {
        let reported = |names: &[String], what: &str| -> Vec<String> {
            names
                .iter()
                .map(|name| {
                    format!("{} {what}", visible(&ResourceKind::QueueAcl.object(&**name).to_string()))
                })
                .collect()
        };
        let reported = [reported(begin, "begins"), reported(end, "ends")].concat();
        format!(
            "from {}: {}\n\n{}",
            in_words(*at),
            listed(&reported, MAX_LISTED, reported.len()),
            draw(findings)
        )
    };
    let more = match ahead.more {
        0 => String::new(),
        more => format!("and {}, at which nothing is looked at\n", plural(more, "more moment")),
    };
    ahead.moments.iter().map(moment).collect::<String>() + &more
}

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
    /// Removes the warnings that are known from each list, and notes what is no longer found. Returns the
    /// part of a summary that counts them: `, 2 in the baseline`.
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
        let (mut known, folder) = (read_baseline(path)?, sarif::folder()?);
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

fn read_baseline(path: &Path) -> Result<BTreeMap<Key, Counts>, Failure> {
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

/// Maximum number of expressions in a file of names: each is tried on each name that is not listed.
const MAX_EXPRESSIONS: usize = 1000;

/// Reads the names in a file.
///
/// # Errors
/// When it cannot be read, or has an expression that Go does not compile.
pub fn population(path: Option<&Path>) -> Result<Option<Population>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let source = source::read_one(path)?;
    let mut population = Population::default();
    for (number, line) in source.text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        match line.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            Some(pattern) => {
                let expression = GoRegex::new(pattern).map_err(|error| {
                    Failure::Usage(format!("{}:{}: {}", source.name, number + 1, error.message))
                })?;
                population.patterns.push(expression);
                if population.patterns.len() > MAX_EXPRESSIONS {
                    let name = &source.name;
                    return Err(Failure::Usage(format!(
                        "{name}: more than {MAX_EXPRESSIONS} expressions; join some with `|`"
                    )));
                }
            }
            None if line.is_empty() => {}
            None => {
                population.names.insert(line.to_owned());
            }
        }
    }
    Ok(Some(population))
}
