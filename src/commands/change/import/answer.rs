//! Output of `import` for programs.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::arguments::Accepted;
use crate::output::text::Source as Text;
use queuewarden_api::answer::VERSION;
use queuewarden_import::{Compared, Difference, Direction, FileDiagnostic, Location, Proof};
use yunikorn_access::subject::Subject;

/// The answer to `import`; from files of Hadoop or Spark also if the import is refused.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportAnswer {
    /// The version of this format: 1.
    pub version: u32,
    /// True if it is imported: no finding is an error, and nobody gains access that is not acknowledged.
    pub imported: bool,
    /// The findings on the files.
    pub findings: Vec<ImportFinding>,
    /// The extent of the comparison; null where nothing could be read, and for a queues.yaml, which is
    /// compared as a whole and is imported when nothing differs.
    pub compared: Option<Compared>,
    /// All differences: wider access first.
    pub differences: Vec<ImportDifference>,
    /// The codes of wider access that `--accept` does not name.
    pub unacknowledged: Vec<String>,
    /// The objects to apply; none if the import is refused.
    pub manifests: Vec<Value>,
    /// The text of a queues.yaml with the queues and their ACLs, from `YuniKorn` without the ACLs that
    /// became objects; null for Spark, and if the import is refused.
    pub queues: Option<String>,
    /// The settings for spark-defaults.conf, in their order; only for Spark, and none if the import is
    /// refused.
    pub settings: Vec<SparkSetting>,
    /// The steps from the current configuration to one that queuewarden writes, for people; only for a
    /// queues.yaml.
    pub steps: Option<String>,
}

/// A finding on a file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportFinding {
    /// The code, which docs/codes.md explains: `QW7517`.
    pub code: String,
    /// Its name.
    pub title: String,
    /// True if it stops the import: an error that is not acknowledged.
    pub is_error: bool,
    /// The message.
    pub message: String,
    /// The fix.
    pub help: Option<String>,
    /// The location; null when it is about no single one.
    pub written_in: Option<FileLocation>,
}

/// A location in one of the files.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FileLocation {
    /// The file as it was given.
    pub file: String,
    /// The line in it, from 1.
    pub line: usize,
    /// The column in it in characters, from 1.
    pub column: usize,
}

/// A difference for one subject.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportDifference {
    /// Wider or narrower access.
    pub access: Direction,
    /// The subject as the files name it.
    pub subject: Subject,
    /// The subject as Kubernetes names it.
    pub identity: Subject,
    /// The action: `submit` or `administer` in queues, `view`, `modify`, `kill` and `submit` for Spark.
    pub verb: &'static str,
    /// The topmost of the queues, as the files name them; none for Spark.
    pub queues: Vec<String>,
    /// The number of queues including those below; 0 for Spark.
    pub queue_count: usize,
    /// The code of the reason.
    pub code: String,
    /// The title of the code.
    pub title: String,
    /// The location of the entry that granted access before.
    pub written_in: Option<FileLocation>,
}

/// A setting of Spark.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SparkSetting {
    /// Its key.
    pub key: &'static str,
    /// Its value.
    pub value: String,
}

impl ImportAnswer {
    /// Creates an answer with these findings, and the comparison if there is one.
    pub(super) fn new(
        texts: &[Text],
        findings: &[FileDiagnostic],
        proof: Option<&Proof>,
        accepted: &Accepted,
    ) -> Self {
        let differences = || proof.iter().flat_map(|proof| &proof.differences);
        Self {
            version: VERSION,
            findings: findings.iter().map(|finding| ImportFinding::new(texts, finding)).collect(),
            compared: proof.map(|proof| proof.compared),
            differences: differences().map(|difference| ImportDifference::new(texts, difference)).collect(),
            unacknowledged: accepted.leaks(differences()),
            ..Self::default()
        }
    }

    /// Returns whether the import is refused.
    pub(super) fn is_refused(&self) -> bool {
        !self.unacknowledged.is_empty() || self.findings.iter().any(|finding| finding.is_error)
    }
}

impl ImportFinding {
    fn new(texts: &[Text], FileDiagnostic { file, diagnostic }: &FileDiagnostic) -> Self {
        let location = file.zip(diagnostic.span).map(|(file, span)| Location { file, span });
        Self {
            code: diagnostic.code.to_string(),
            title: diagnostic.code.title.to_owned(),
            is_error: diagnostic.is_error(),
            message: diagnostic.message.clone(),
            help: diagnostic.help.clone(),
            written_in: written_in(texts, location),
        }
    }
}

impl ImportDifference {
    fn new(texts: &[Text], difference: &Difference) -> Self {
        Self {
            access: difference.direction,
            subject: difference.subject.clone(),
            identity: difference.identity.clone(),
            verb: difference.verb,
            queues: difference.queues.clone(),
            queue_count: difference.count,
            code: difference.code.to_string(),
            title: difference.code.title.to_owned(),
            written_in: written_in(texts, difference.location),
        }
    }
}

fn written_in(texts: &[Text], location: Option<Location>) -> Option<FileLocation> {
    let location = location?;
    let text = texts.get(location.file)?;
    let (line, column) = text.position(location.span.start);
    Some(FileLocation { file: text.name.clone(), line, column })
}
