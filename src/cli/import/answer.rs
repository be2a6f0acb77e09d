//! What programs get from `import`.

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

/// The answer to `import`; from files of Hadoop or Spark also where it is refused.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportAnswer {
    /// The version of this format: 1.
    pub version: u32,
    /// Whether it is imported: no finding is an error, and nobody may do more than before who is not acknowledged.
    pub imported: bool,
    /// What was found in the files.
    pub findings: Vec<ImportFinding>,
    /// What was compared; null where nothing could be read, and for a queues.yaml, which is compared as a whole and is imported when nothing differs.
    pub compared: Option<Compared>,
    /// All differences: what is wider first.
    pub differences: Vec<ImportDifference>,
    /// The codes of access that is wider, which `--accept` does not name.
    pub unacknowledged: Vec<String>,
    /// The objects to apply; none where it is refused.
    pub manifests: Vec<Value>,
    /// The text of a queues.yaml with the queues and their ACLs; null for Spark, and where it is refused.
    pub queues: Option<String>,
    /// The settings for spark-defaults.conf, in their order; none but for Spark, and where it is refused.
    pub settings: Vec<SparkSetting>,
    /// The way from what is written now to what queuewarden writes, as steps for people; null but for a queues.yaml.
    pub way: Option<String>,
}

/// Something that was found.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportFinding {
    /// The code, which docs/codes.md explains: `QW7517`.
    pub code: String,
    /// Its name.
    pub title: String,
    /// Whether it stops the import: an error that is not acknowledged.
    pub is_error: bool,
    /// What is found.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
    /// Where; null when it is about no single place.
    pub written_in: Option<FilePlace>,
}

/// A place in one of the files.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FilePlace {
    /// The file as it was given.
    pub file: String,
    /// The line in it, from 1.
    pub line: usize,
    /// The column in it in characters, from 1.
    pub column: usize,
}

/// How much was compared.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Compared {
    /// How many queues; null for Spark.
    pub queues: Option<usize>,
    /// How many users and groups, with everyone else.
    pub names: usize,
    /// How many questions were asked of either side.
    pub questions: usize,
}

/// What differs for one of them.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportDifference {
    /// Which way.
    pub access: AccessChange,
    /// Who, as the files call them.
    pub subject: Named,
    /// The same in Kubernetes.
    pub identity: Named,
    /// What: `submit` or `administer` in queues, `view`, `modify`, `kill` and `submit` for Spark.
    pub verb: &'static str,
    /// The topmost of the queues, as the files call them; none for Spark.
    pub queues: Vec<String>,
    /// How many queues there are with those below; 0 for Spark.
    pub queue_count: usize,
    /// Why, by its code.
    pub code: String,
    /// The name of the code.
    pub title: String,
    /// Where it is written what let them in.
    pub written_in: Option<FilePlace>,
}

/// Whether somebody may do more than before, or less.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub enum AccessChange {
    /// More.
    Wider,
    /// Less.
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
    /// Of what was found. What is compared and what is printed come with [`Self::of_queues`] and [`Self::of_spark`].
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

    /// With the comparison of a scheduler's queues.
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

    /// With the comparison of Spark's lists.
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

    /// Prints it, if it is asked for.
    pub(super) fn print(&self, format: AnswerFormat, console: Console) -> Result<(), Failure> {
        match format {
            AnswerFormat::Text => {}
            AnswerFormat::Json => console.out(&output::json(self)?)?,
            AnswerFormat::Yaml => console.out(&output::yaml(self)?)?,
        }
        Ok(())
    }

    /// With what is not acknowledged.
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
