//! The conditions and statuses of all objects, derived from the decisions of the plan.

pub(crate) mod events;

pub(crate) mod config;
pub(crate) mod policy;
pub(crate) mod queue_acl;

pub(crate) mod replacement;

pub(crate) use queue_acl::{Report, without_effect};

use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conditions::{Condition, Finding, Reason, Type, merge};
use crate::effective::TextSource;
use crate::effective::read::ReadState;
use crate::evaluation::Evaluation;
use crate::grants::ObjectRefusal;
use crate::snapshot::{Meta, Mode, YUNIKORN_DEFAULTS, config_map};
use go_compat::diag::Diagnostic;

pub use events::Event;
pub use policy::AdmissionPolicyStatus;
pub use queue_acl::QueueAclStatus;

/// The status an object should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectStatus<S> {
    /// `metadata.uid`, so that a status is never written to another object of the same name.
    pub uid: Arc<str>,
    /// All conditions, foreign ones included.
    pub conditions: Arc<[Condition]>,
    /// The rest of the status.
    pub rest: S,
}

impl<S> ObjectStatus<S> {
    /// Makes the status of an object of which `findings` hold now.
    pub(crate) fn new(meta: &Meta, findings: &[Finding], rest: S, now: Timestamp) -> Self {
        let conditions = merge(&meta.conditions, findings, meta.generation, now);
        Self { uid: meta.uid.clone(), conditions, rest }
    }
}

/// The rest of a `QueueAccessTest`'s status. There are no numbers while the test is not evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessTestStatus {
    /// Number of checks in the cases: each subject with each queue and each placement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>", range(min = 0))]
    pub checks: Option<usize>,
    /// Number of checks that hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>", range(min = 0))]
    pub passed: Option<usize>,
    /// Number of checks that do not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>", range(min = 0))]
    pub failed: Option<usize>,
    /// Number of checks that cannot be decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>", range(min = 0))]
    pub undecided: Option<usize>,
    /// The first checks that do not hold or cannot be decided, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub failures: Vec<String>,
}

/// The output that objects are written to, and its conditions.
#[derive(Clone, Copy)]
pub(crate) struct OutputTarget<'a> {
    /// The mode, which determines whether the operator writes.
    pub mode: Mode,
    /// Condition `Applied`.
    pub applied: &'a Finding,
    /// `ConfigMap namespace/name` of the output.
    pub output: &'a str,
    /// Condition `Loaded`.
    pub loaded: &'a Finding,
}

impl OutputTarget<'_> {
    /// Condition `Programmed` of an object whose contribution is not in what `YuniKorn` reads.
    fn not_programmed(&self) -> Finding {
        let Self { mode, applied, output, .. } = self;
        let (reason, message) = match applied.reason {
            _ if *mode == Mode::Observe => (Reason::ObserveMode, self.why()),
            Reason::Pending | Reason::Applied => {
                (Reason::Pending, format!("{output} is being written").into())
            }
            Reason::ShadowedByBinaryData => (Reason::ShadowedByBinaryData, self.why()),
            _ => {
                let message = format!("YuniKornConfig `default` is not in order: {}", applied.message);
                (Reason::ConfigNotReady, message.into())
            }
        };
        Finding::no(Type::Programmed, reason, message)
    }

    /// Returns the reason why the desired text is not in the output.
    fn why(&self) -> Arc<str> {
        let Self { mode, applied, output, .. } = self;
        match applied.reason {
            _ if *mode == Mode::Observe => "nothing is written in mode Observe".into(),
            Reason::Applied => format!("{output} is being written").into(),
            _ => applied.message.clone(),
        }
    }

    /// Condition `Ready` where all other conditions are as they should be.
    pub(crate) fn ready(&self) -> Finding {
        let Self { output, loaded, .. } = self;
        if loaded.reason == Reason::NotVerified {
            let message = format!("in {output}; {}", loaded.message);
            return Finding::yes(Type::Ready, Reason::NotVerified, message);
        }
        Finding::yes(Type::Ready, Reason::Ready, "in force")
    }
}

/// Condition `Programmed` of an object that is valid now, or stays in its last valid version, where `source`
/// holds what it contributes.
pub(crate) fn programmed(source: &str, valid: bool) -> Finding {
    if valid {
        return Finding::yes(Type::Programmed, Reason::Programmed, format!("in {source}"));
    }
    let message = format!("the object is not valid now, so its last valid version stays in {source}");
    Finding::yes(Type::Programmed, Reason::LastValidKept, message)
}

/// Condition `Effective` of an object whose rights all count.
pub(crate) fn effective() -> Finding {
    Finding::yes(Type::Effective, Reason::Effective, "it decides access to the queue and those below")
}

/// The conditions of an object, accepted or refused, while there is nothing that it could be written to,
/// because of `why`.
pub(crate) fn waiting_conditions(refusal: Option<&ObjectRefusal>, why: &str) -> [Finding; 4] {
    let unknown = |type_| Finding::unknown(type_, Reason::ConfigNotReady, why);
    let accepted = match refusal {
        Some(ObjectRefusal { reason, message }) if *reason != Reason::ConfigNotReady => {
            Finding::no(Type::Accepted, *reason, message.clone())
        }
        refusal => Finding::unknown(
            Type::Accepted,
            Reason::ConfigNotReady,
            refusal.map_or(why, |refusal| &refusal.message),
        ),
    };
    let ready = Finding { type_: Type::Ready, ..accepted.clone() };
    [accepted, unknown(Type::Programmed), unknown(Type::Effective), ready]
}

/// Appends warnings to a message.
fn with_warnings(mut message: String, warnings: &[Diagnostic]) -> String {
    for warning in warnings {
        message.push_str("; warning ");
        message.push_str(&warning.to_string());
    }
    message
}

/// The output that objects are written to, called `output` in messages.
pub(crate) fn target<'a>(evaluation: &'a Evaluation<'_>, output: &'a str) -> OutputTarget<'a> {
    let ReadState { spec, loaded, uncertain, .. } = &evaluation.context.read;
    let loaded = uncertain.as_ref().unwrap_or(&loaded.finding);
    OutputTarget { mode: spec.mode, applied: &evaluation.output.applied, output, loaded }
}

/// The text in force, as messages name it.
pub(crate) fn source(ReadState { env, spec, .. }: &ReadState<'_>, output: &str) -> String {
    match (env.source, &env.shadow) {
        (TextSource::OutputBinary, Some(shadow)) => format!("binaryData key `{shadow}` of {output}"),
        (TextSource::Output | TextSource::OutputBinary, _) => output.to_owned(),
        (TextSource::Defaults, _) => config_map(spec, YUNIKORN_DEFAULTS),
        (TextSource::BuiltIn, _) => "YuniKorn's built-in default".to_owned(),
    }
}
