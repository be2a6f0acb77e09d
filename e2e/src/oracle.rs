//! The oracle: gives the answers of the real `YuniKorn`.
//!
//! It is a program of this project (`e2e/oracle`, Go), linked with yunikorn-core and yunikorn-k8shim, that
//! runs their own functions on our inputs. [`Oracle`] runs one process of it and speaks its protocol. Send
//! requests in batches: a hundred thousand ACLs take some seconds.

mod identity;
mod mutate;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Result, bail};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::assets;
use crate::line_program::LineProgram;
use ::yunikorn::version::Version;
pub use identity::{ClaimQuestion, IdentityAnswer, IdentityQuestion};
pub use mutate::{MutateAnswer, MutateQuestion, PodFacts, without_wording};

/// A running oracle.
#[derive(Debug)]
pub struct Oracle {
    program: LineProgram,
}

/// A user who submits or administers. If there are no groups, `YuniKorn` resolves them: without a resolver,
/// to the user's own name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// User name.
    pub user: String,
    /// Groups, in the order given.
    pub groups: Vec<String>,
}

/// An ACL string, and the subjects to check against it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AclQuestion {
    /// The text of a `submitacl` or `adminacl`.
    pub acl: String,
    /// Checked with the groups as given, unresolved.
    pub subjects: Vec<Subject>,
}

/// `YuniKorn`'s interpretation of an ACL string. Empty errors mean that there was no error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AclAnswer {
    /// The error of `configs.ParseAndValidateConfig` for a configuration with this ACL, which is the
    /// admission webhook's result.
    pub validate_error: String,
    /// The error of `security.NewACL`, which is the result of activation.
    pub newacl_error: String,
    /// Names in force, sorted.
    pub users: Vec<String>,
    /// Names in force, sorted.
    pub groups: Vec<String>,
    /// The wildcard is in force.
    pub all_allowed: bool,
    /// One per subject.
    pub access: Vec<bool>,
    /// `YuniKorn` panicked; everything else is meaningless.
    pub panic: String,
}

/// A `queues.yaml` text.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ConfigQuestion {
    /// The text.
    pub text: String,
    /// The text that runs before it; `YuniKorn`'s built-in one if empty.
    pub from: String,
}

/// `YuniKorn`'s interpretation of a `queues.yaml` text. Empty errors mean that there was no error.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ConfigAnswer {
    /// The error of validate-conf and the admission webhook.
    pub validate_error: String,
    /// Why a scheduler does not start with it.
    pub start_error: String,
    /// Why a running scheduler does not load it; [`DEADLOCK`] if it hangs forever.
    pub reload_error: String,
    /// The checksum as `/ws/v1/config` shows it; empty if invalid.
    pub checksum: String,
    /// The configuration, parsed and normalized, in `YuniKorn`'s JSON (capitalized keys, empty values left
    /// out); null if invalid.
    pub config: Value,
    /// Names of the active placement rules after a start, by partition (`[oracle]default`). `YuniKorn`
    /// appends `recovery`.
    pub rules: BTreeMap<String, Vec<String>>,
    /// `YuniKorn` panicked; everything else is meaningless.
    pub panic: String,
}

/// The [`ConfigAnswer::reload_error`] of a text without the active partition.
pub const DEADLOCK: &str = "deadlock";

/// Access questions on one configuration.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AccessQuestion {
    /// The `queues.yaml` text the scheduler starts with.
    pub text: String,
    /// The queries, answered in order, each by a scheduler that has not resolved any users yet. Applications
    /// that were placed stay.
    pub queries: Vec<AccessQuery>,
}

/// A subject and a queue.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AccessQuery {
    /// The subject.
    #[serde(flatten)]
    pub subject: Subject,
    /// Full path, as in a pod's label.
    pub queue: String,
    /// Application tags; the shim sets `namespace`.
    pub tags: BTreeMap<String, String>,
}

/// Access decisions on one configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AccessAnswer {
    /// Why the scheduler does not start; there are no decisions in that case.
    pub start_error: String,
    /// One per query.
    pub decisions: Vec<Decision>,
    /// `YuniKorn` panicked; everything else is meaningless.
    pub panic: String,
}

/// One access decision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "four independent answers")]
pub struct Decision {
    /// Why this user cannot submit anywhere; nothing else is reported in that case.
    pub user_error: String,
    /// The groups as resolved.
    #[serde(deserialize_with = "null_is_empty")]
    pub groups: Vec<String>,
    /// The queue, or its nearest existing ancestor.
    pub nearest: String,
    /// True if it is the queue itself.
    pub exists: bool,
    /// True if the nearest queue takes applications.
    pub leaf: bool,
    /// `CheckSubmitAccess` of the nearest queue.
    pub submit: bool,
    /// `CheckAdminAccess` of the nearest queue.
    pub admin: bool,
    /// The queue of an application that requests this queue; empty if it was refused.
    pub placed: String,
    /// The reason for a refusal.
    pub placed_error: String,
}

/// A comma-separated list of regular expressions, as in the `accessControl` keys.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RegexQuestion {
    /// The list.
    pub patterns: String,
    /// The texts to match.
    pub subjects: Vec<String>,
}

/// The admission controller's interpretation of such a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RegexAnswer {
    /// Go's message for the first pattern that does not compile.
    pub error: String,
    /// The patterns, split and trimmed; empty after an error.
    pub parts: Vec<String>,
    /// One per subject: any pattern matches.
    #[serde(rename = "match")]
    pub matches: Vec<bool>,
    /// One list per pattern, one element per subject.
    pub each: Vec<Vec<bool>>,
    /// Go panicked; everything else is meaningless.
    pub panic: String,
}

/// One regular expression.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PatternQuestion {
    /// The pattern.
    pub pattern: String,
    /// The texts to match.
    pub subjects: Vec<String>,
}

/// Go's reading of a pattern.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PatternAnswer {
    /// Go's message.
    pub error: String,
    /// One result per subject; empty after an error.
    #[serde(rename = "match", deserialize_with = "null_is_empty")]
    pub matches: Vec<bool>,
    /// Go panicked; everything else is meaningless.
    pub panic: String,
}

/// The two `ConfigMap`s; `None` if one does not exist.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ConfigMaps {
    /// `yunikorn-defaults`.
    pub defaults: Option<ConfigMapData>,
    /// `yunikorn-configs`.
    pub configs: Option<ConfigMapData>,
}

/// The values of a `ConfigMap` that `YuniKorn` reads.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigMapData {
    /// Text values.
    pub data: BTreeMap<String, String>,
    /// Binary values.
    pub binary_data: BTreeMap<String, k8s_openapi::ByteString>,
}

/// The `ConfigMap`s, and the subjects to check against them.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AdmissionQuestion {
    /// The `ConfigMap`s with the `admissionController.accessControl.*` keys.
    #[serde(flatten)]
    pub maps: ConfigMaps,
    /// The subjects that try to set another user's name.
    pub subjects: Vec<Subject>,
}

/// The admission controller's access control as it is in force.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AdmissionAnswer {
    /// `bypassAuth`.
    pub bypass_auth: bool,
    /// `trustControllers`.
    pub trust_controllers: bool,
    /// `systemUsers`, the patterns in force.
    pub system_users: Vec<String>,
    /// `externalUsers`, the patterns in force.
    pub external_users: Vec<String>,
    /// `externalGroups`, the patterns in force.
    pub external_groups: Vec<String>,
    /// For each subject, whether it may set the user annotation.
    pub allowed: Vec<bool>,
    /// The admission controller panicked; everything else is meaningless.
    pub panic: String,
}

/// The type to decode YAML into.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum YamlTarget {
    /// The first document as a tree of `{kind, value, style, anchor, children}`.
    #[default]
    Nodes,
    /// `configs.SchedulerConfig`, strictly, not validated.
    Config,
    /// `configs.QueueConfig`, strictly, not validated.
    Queue,
    /// A struct with a field of each kind of type: `name`, `acl` (string), `parent` (bool), `maxapps`
    /// (uint64), `props` (map of strings), `w` (map of floats), `l` (list of strings), `p` (optional bool),
    /// `q` (list of the same), `s` (optional same).
    Typed,
}

/// A YAML text.
#[derive(Debug, Clone, Default, Serialize)]
pub struct YamlQuestion {
    /// The text.
    pub text: String,
    /// The type to decode it into.
    pub into: YamlTarget,
}

/// The result of `YuniKorn`'s YAML decoder for a text.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct YamlAnswer {
    /// The decoder's message.
    pub error: String,
    /// True if there is no document, which `YuniKorn` treats as an empty configuration.
    pub empty: bool,
    /// The decoded value in Go's JSON; `{"unspeakable": …}` if it holds floats that JSON cannot express.
    pub value: Value,
    /// The decoder panicked; everything else is meaningless.
    pub panic: String,
}

impl Oracle {
    /// Returns the oracle of `YuniKorn` 1.8, which is built and started on the first call.
    ///
    /// # Errors
    /// When it cannot be built or started.
    pub fn get() -> Result<&'static Self> {
        Self::of(Version::V1_8)
    }

    /// Returns the oracle for the core of this version, which is built and started on the first call.
    ///
    /// # Errors
    /// When it cannot be built or started, or does not exist for this version.
    pub fn of(version: Version) -> Result<&'static Self> {
        static OLD: OnceLock<std::result::Result<Oracle, String>> = OnceLock::new();
        static NEW: OnceLock<std::result::Result<Oracle, String>> = OnceLock::new();
        let oracle = if version == Version::V1_8 { &OLD } else { &NEW };
        match oracle.get_or_init(|| {
            assets::release(version).and_then(Self::with_core).map_err(|error| format!("{error:#}"))
        }) {
            Ok(oracle) => Ok(oracle),
            Err(message) => bail!("no oracle: {message}"),
        }
    }

    /// Starts an oracle with this release of yunikorn-core.
    ///
    /// # Errors
    /// When it cannot be built or started.
    pub fn with_core(release: &str) -> Result<Self> {
        Ok(Self { program: LineProgram::start(&mut Command::new(assets::oracle(release)?))? })
    }

    /// Starts another oracle of this version, which trusts these certificate authorities instead of the
    /// machine's.
    ///
    /// # Errors
    /// When it cannot be built or started.
    pub fn trusting(version: Version, authorities: &Path) -> Result<Self> {
        let mut command = Command::new(assets::oracle(assets::release(version)?)?);
        Ok(Self { program: LineProgram::start(command.env("SSL_CERT_FILE", authorities))? })
    }

    /// Evaluates ACL strings.
    ///
    /// # Errors
    /// When the oracle does not answer; the same for all questions below.
    pub fn acl(&self, questions: &[AclQuestion]) -> Result<Vec<AclAnswer>> {
        self.ask("acl", questions)
    }

    /// Evaluates `queues.yaml` texts.
    #[expect(clippy::missing_errors_doc, reason = "see `acl`")]
    pub fn config(&self, questions: &[ConfigQuestion]) -> Result<Vec<ConfigAnswer>> {
        self.ask("config", questions)
    }

    /// Returns checksums of texts, valid or not.
    #[expect(clippy::missing_errors_doc, reason = "see `acl`")]
    pub fn checksum(&self, texts: &[String]) -> Result<Vec<String>> {
        self.ask("checksum", texts)
    }

    /// Decides access and placement.
    #[expect(clippy::missing_errors_doc, reason = "see `acl`")]
    pub fn access(&self, questions: &[AccessQuestion]) -> Result<Vec<AccessAnswer>> {
        self.ask("access", questions)
    }

    /// Evaluates lists of regular expressions.
    #[expect(clippy::missing_errors_doc, reason = "see `acl`")]
    pub fn regex(&self, questions: &[RegexQuestion]) -> Result<Vec<RegexAnswer>> {
        self.ask("regex", questions)
    }

    /// Evaluates single regular expressions.
    #[expect(clippy::missing_errors_doc, reason = "see `acl`")]
    pub fn pattern(&self, questions: &[PatternQuestion]) -> Result<Vec<PatternAnswer>> {
        self.ask("pattern", questions)
    }

    /// Decodes YAML texts.
    #[expect(clippy::missing_errors_doc, reason = "see `acl`")]
    pub fn yaml(&self, questions: &[YamlQuestion]) -> Result<Vec<YamlAnswer>> {
        self.ask("yaml", questions)
    }

    /// Merges `ConfigMap`s: binary over text, `yunikorn-configs` over `yunikorn-defaults`, key by key.
    #[expect(clippy::missing_errors_doc, reason = "see `acl`")]
    pub fn flatten(&self, questions: &[ConfigMaps]) -> Result<Vec<BTreeMap<String, String>>> {
        self.ask("flatten", questions)
    }

    /// Evaluates the admission controller's access control.
    #[expect(clippy::missing_errors_doc, reason = "see `acl`")]
    pub fn admission(&self, questions: &[AdmissionQuestion]) -> Result<Vec<AdmissionAnswer>> {
        self.ask("admission", questions)
    }

    fn ask<Question: Serialize, Answer: DeserializeOwned>(
        &self,
        operation: &str,
        questions: &[Question],
    ) -> Result<Vec<Answer>> {
        self.program.ask(operation, questions)
    }
}

/// Reads a list; Go writes a nil slice as `null`.
fn null_is_empty<'de, D, T>(deserializer: D) -> std::result::Result<Vec<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
