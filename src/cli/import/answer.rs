//! Output of `import` for programs.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::cli::Failure;
use crate::cli::ask::output::{self, AnswerFormat};
use crate::cli::console::Console;
use crate::cli::input::source::Source as Text;
use go_compat::diag::Code;
use queuewarden_api::answer::{Named, VERSION};
use queuewarden_import::proof::{self, Direction};
use queuewarden_import::{Finding, Place, Source, spark};
use yunikorn_access::check::Subject;

/// The answer to `import`; from files of Hadoop or Spark also if the import is refused.
#[derive(Debug, Clone, Serialize, JsonSchema)]
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
    /// The text of a queues.yaml with the queues and their ACLs; null for Spark, and if the import is
    /// refused.
    pub queues: Option<String>,
    /// The settings for spark-defaults.conf, in their order; only for Spark, and none if the import is
    /// refused.
    pub settings: Vec<SparkSetting>,
    /// The steps from the current configuration to one that queuewarden writes, for people; only for a
    /// queues.yaml.
    pub way: Option<String>,
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
    pub written_in: Option<FilePlace>,
}

/// A location in one of the files.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FilePlace {
    /// The file as it was given.
    pub file: String,
    /// The line in it, from 1.
    pub line: usize,
    /// The column in it in characters, from 1.
    pub column: usize,
}

/// The extent of a comparison.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Compared {
    /// The number of queues; null for Spark.
    pub queues: Option<usize>,
    /// The number of users and groups, with everyone else.
    pub names: usize,
    /// The number of questions that were evaluated on either side.
    pub questions: usize,
}

/// A difference for one subject.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportDifference {
    /// Wider or narrower access.
    pub access: AccessChange,
    /// The subject as the files name it.
    pub subject: Named,
    /// The subject as Kubernetes names it.
    pub identity: Named,
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
    pub written_in: Option<FilePlace>,
}

/// Direction of a difference.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub enum AccessChange {
    /// More access than before.
    Wider,
    /// Less access than before.
    Narrower,
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
    /// Creates an answer with these findings. [`Self::of_queues`] and [`Self::of_spark`] add the comparison
    /// and the output.
    pub(super) fn of(texts: &[Text], findings: &[Finding]) -> Self {
        Self {
            version: VERSION,
            imported: false,
            findings: findings.iter().map(|finding| ImportFinding::of(texts, finding)).collect(),
            compared: None,
            differences: Vec::new(),
            unacknowledged: Vec::new(),
            manifests: Vec::new(),
            queues: None,
            settings: Vec::new(),
            way: None,
        }
    }

    /// Adds the comparison of a scheduler's queues.
    #[must_use]
    pub(super) fn of_queues(self, texts: &[Text], source: &Source, proof: &proof::Proof) -> Self {
        let compared =
            Compared { queues: Some(proof.queues), names: proof.subjects, questions: proof.questions() };
        let path = |at: &usize| source.queues.get(*at).map(|queue| queue.path.clone());
        let differences = proof.differences.iter().map(|found| ImportDifference {
            queues: found.queues.iter().filter_map(path).collect(),
            queue_count: found.count,
            ..difference(
                found.direction,
                (&found.subject, &found.identity),
                found.right.verb(),
                found.code,
                written_in(texts, found.place),
            )
        });
        Self { compared: Some(compared), differences: differences.collect(), ..self }
    }

    /// Adds the comparison of Spark's lists.
    #[must_use]
    pub(super) fn of_spark(self, texts: &[Text], proof: &spark::Proof) -> Self {
        let compared = Compared { queues: None, names: proof.subjects, questions: proof.questions() };
        let differences = proof.differences.iter().map(|found| {
            difference(
                found.direction,
                (&found.subject, &found.identity),
                found.asked.verb(),
                found.code,
                written_in(texts, found.place),
            )
        });
        Self { compared: Some(compared), differences: differences.collect(), ..self }
    }

    /// Prints the answer, unless the format is text.
    pub(super) fn print(&self, format: AnswerFormat, console: Console) -> Result<(), Failure> {
        match format {
            AnswerFormat::Text => {}
            AnswerFormat::Json => console.out(&output::json(self)?)?,
            AnswerFormat::Yaml => console.out(&output::yaml(self)?)?,
        }
        Ok(())
    }

    /// Adds the codes that are not acknowledged.
    #[must_use]
    pub(super) fn refused_for(self, leaks: &BTreeSet<Code>) -> Self {
        Self { unacknowledged: leaks.iter().map(ToString::to_string).collect(), ..self }
    }
}

fn difference(
    direction: Direction,
    (subject, identity): (&Subject, &Subject),
    verb: &'static str,
    code: Code,
    written_in: Option<FilePlace>,
) -> ImportDifference {
    ImportDifference {
        access: match direction {
            Direction::Wider => AccessChange::Wider,
            Direction::Narrower => AccessChange::Narrower,
        },
        subject: Named::from(subject),
        identity: Named::from(identity),
        verb,
        queues: Vec::new(),
        queue_count: 0,
        code: code.to_string(),
        title: code.title.to_owned(),
        written_in,
    }
}

impl ImportFinding {
    fn of(texts: &[Text], finding: &Finding) -> Self {
        let diagnostic = &finding.diagnostic;
        let place = finding.file.zip(diagnostic.span).map(|(file, span)| Place { file, span });
        Self {
            code: diagnostic.code.to_string(),
            title: diagnostic.code.title.to_owned(),
            is_error: diagnostic.is_error(),
            message: diagnostic.message.clone(),
            help: diagnostic.help.clone(),
            written_in: written_in(texts, place),
        }
    }
}

fn written_in(texts: &[Text], place: Option<Place>) -> Option<FilePlace> {
    let place = place?;
    let text = texts.get(place.file)?;
    let (line, column) = text.position(place.span.start);
    Some(FilePlace { file: text.name.clone(), line, column })
}
