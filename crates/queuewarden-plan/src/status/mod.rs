//! The conditions and statuses of all objects, derived from the decisions of the plan, and the events. There
//! is one event for each transition of a condition.

pub(crate) mod config;
pub(crate) mod policy;
pub(crate) mod queue_acl;

pub(crate) mod replacement;

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conditions::{self, Condition, Finding, Reason, Status, Type, merge};
use crate::effective::TextSource;
use crate::effective::read::ReadState;
use crate::grants::ObjectRefusal;
use crate::snapshot::{Meta, Mode, ObjectRef, ResourceKind, YUNIKORN_DEFAULTS, config_map};
use crate::write::{Evaluation, WriteContext};
use go_compat::diag::Diagnostic;

pub(crate) use queue_acl::{Report, without_effect};

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
    /// Builds the status of an object from its current `findings`.
    pub(crate) fn new(meta: &Meta, findings: &[Finding], rest: S, now: Timestamp) -> Self {
        let conditions = merge(&meta.conditions, findings, meta.generation, now);
        Self { uid: meta.uid.clone(), conditions, rest }
    }
}

/// The rest of a `QueueAccessTest`'s status. There are no numbers while the test is not evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessTestStatus {
    /// Number of checks in the cases. There is one check for each subject with each queue and each placement.
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
    /// What the output was decided from.
    pub context: &'a WriteContext<'a>,
    /// Condition `Applied`.
    pub applied: &'a Finding,
    /// `ConfigMap namespace/name` of the output.
    pub output: &'a str,
    /// Condition `Loaded`.
    pub loaded: &'a Finding,
}

impl OutputTarget<'_> {
    /// Returns whether the mode keeps the operator from writing.
    fn only_observes(&self) -> bool {
        self.context.read.spec.mode == Mode::Observe
    }

    /// Condition `Programmed` of an object whose contribution is not in what `YuniKorn` reads.
    fn not_programmed(&self) -> Finding {
        let Self { applied, output, .. } = self;
        let (reason, message) = match applied.reason {
            _ if self.only_observes() => (Reason::ObserveMode, self.why()),
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

    /// Explains why the desired text is not in the output.
    fn why(&self) -> Arc<str> {
        let Self { applied, output, .. } = self;
        match applied.reason {
            _ if self.only_observes() => "nothing is written in mode Observe".into(),
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

/// Condition `Programmed` of an object that is valid now or stays in its last valid version; `source` holds
/// its contribution.
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
    let ReadState { loaded, uncertain, .. } = &evaluation.context.read;
    let loaded = uncertain.as_ref().unwrap_or(&loaded.finding);
    OutputTarget { context: &evaluation.context, applied: &evaluation.output.applied, output, loaded }
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

/// An event to publish.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// The object of the event.
    pub object: ObjectRef,
    /// `Warning` instead of `Normal`.
    pub warning: bool,
    /// `reason`, a word of [`Reason`] or another one of the page about events.
    pub reason: String,
    /// `note`, at most 1000 bytes.
    pub note: String,
}

/// Maximum length of a note in bytes. Longer notes are truncated, because Kubernetes refuses more than 1024.
const MAX_NOTE: usize = 1000;
/// Reason of the event that lists who lost access.
pub(crate) const ACCESS_REMOVED: &str = "AccessRemoved";
/// Reason of the event that lists who gains and who loses by another version of an object.
pub(crate) const ACCESS_CHANGED: &str = "AccessChanged";
/// Reason of the event that lists who loses access within an hour, because a grant ends.
pub(crate) const EXPIRING: &str = "Expiring";
/// Reason of the event for a change of the output by another client, which is reverted.
pub(crate) const OUTPUT_EDITED: &str = "OutputEdited";
/// Reason of the event for the end of `FailOpen`: not everyone may submit any more.
const FAIL_OPEN_ENDED: &str = "FailOpenEnded";
/// Reason of the event that reports that another `AdmissionPolicy` counts.
const ADMISSION_POLICY_CHANGED: &str = "AdmissionPolicyChanged";
/// The conditions of a `YuniKornConfig` that have events. `Ready` has no events, because it would only repeat
/// the first of these.
const OF_CONFIG: &[Type] = &[Type::BaseResolved, Type::Applied, Type::Loaded, Type::Mirrored, Type::FailOpen];
/// The conditions of all other objects that have events.
const OF_OBJECTS: &[Type] = &[Type::Ready];
/// The reasons that need no action: the state passes by itself, or was chosen.
const CALM: [Reason; 3] = [Reason::Pending, Reason::LoadPending, Reason::ObserveMode];

/// Returns an event for each finding that differs in status or reason from the object's condition `before`,
/// if its type has events. `FailOpen` has one event when it becomes true, and another one when it ends.
pub(crate) fn transitions(object: &ObjectRef, before: &[Condition], findings: &[Finding]) -> Vec<Event> {
    let types = if object.kind == ResourceKind::YuniKornConfig { OF_CONFIG } else { OF_OBJECTS };
    let transition = |finding: &Finding| {
        let before = conditions::find(before, finding.type_);
        if before.is_some_and(|c| c.status == finding.status && c.has(finding.reason)) {
            return None;
        }
        let fail_open = finding.type_ == Type::FailOpen;
        if fail_open && finding.status != Status::True {
            let was = before.is_some_and(|before| before.status == Status::True);
            let ended = was && finding.status == Status::False;
            let note = "no root queue admits everyone any more";
            return ended.then(|| event(object, false, FAIL_OPEN_ENDED, note));
        }
        let bad = (finding.status == Status::True) == fail_open;
        let warning = bad && !CALM.contains(&finding.reason);
        Some(event(object, warning, finding.reason.as_str(), &note(finding, findings)))
    };
    findings.iter().filter(|finding| types.contains(&finding.type_)).filter_map(transition).collect()
}

/// Returns the message of a condition as a stand-alone text: for "in force", it adds which access is in
/// force.
fn note<'a>(finding: &'a Finding, all: &[Finding]) -> Cow<'a, str> {
    let ready = finding.type_ == Type::Ready && finding.status == Status::True;
    let accepted = all.iter().find(|other| ready && other.type_ == Type::Accepted);
    accepted.map_or(Cow::Borrowed(&finding.message), |accepted| {
        Cow::Owned(format!("{}: {}", finding.message, accepted.message))
    })
}

/// An event for a different `AdmissionPolicy` in effect than before: normal if `named` names it, otherwise a
/// warning. The first policy in effect has no event.
pub(crate) fn policy_changed(
    object: &ObjectRef,
    before: Option<&str>,
    now: Option<&str>,
    named: Option<&str>,
) -> Option<Event> {
    let before = before.filter(|before| now != Some(before))?;
    let note = match now {
        Some(now) => format!("AdmissionPolicy `{now}` counts instead of `{before}`"),
        None => {
            format!("AdmissionPolicy `{before}`, which counted, does not exist any more, and no other one")
        }
    };
    let chosen = now.is_some() && now == named;
    Some(event(object, !chosen, ADMISSION_POLICY_CHANGED, &note))
}

/// An event with a note that fits.
pub(crate) fn event(object: &ObjectRef, warning: bool, reason: &str, note: &str) -> Event {
    let note = conditions::cut(note, MAX_NOTE).into_owned();
    Event { object: object.clone(), warning, reason: reason.into(), note }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../../docs/events.md");

    fn object() -> ObjectRef {
        ResourceKind::QueueAcl.object("a")
    }

    fn published(before: &[Condition], findings: &[Finding]) -> Vec<Event> {
        transitions(&object(), before, findings)
    }

    #[test]
    fn notes_fit_and_say_when_they_are_cut() {
        for letter in ["a", "é", "€", "🦀"] {
            for count in [1, 249, 250, 251, 333, 334, 500, 501, 1000, 1001, 5000] {
                let text = letter.repeat(count);
                let note = event(&object(), true, "Invalid", &text).note;
                assert!(
                    note.len() <= MAX_NOTE && note.len() + 8 > text.len().min(MAX_NOTE),
                    "{count} {letter}"
                );
                assert_eq!(note == text, text.len() <= MAX_NOTE, "{count} {letter}");
                assert_eq!(note.ends_with('…'), note != text, "{count} {letter}");
            }
        }
    }

    #[test]
    fn a_note_says_what_is_in_force() {
        let accepted = Finding::yes(Type::Accepted, Reason::Accepted, "grants submit to user sue");
        let notes = |ready: Finding| -> Vec<String> {
            published(&[], &[accepted.clone(), ready]).into_iter().map(|event| event.note).collect()
        };
        let ready = Finding::yes(Type::Ready, Reason::Ready, "in force");
        assert_eq!(notes(ready), ["in force: grants submit to user sue"]);
        assert_eq!(
            notes(Finding::no(Type::Ready, Reason::Pending, "is being written")),
            ["is being written"]
        );
    }

    #[test]
    fn what_passes_by_itself_is_no_warning() {
        for reason in Reason::ALL {
            let finding = Finding::no(Type::Ready, *reason, "why");
            let reported = published(&[], &[finding]);
            assert_eq!(reported.len(), 1);
            assert_eq!(reported[0].warning, !CALM.contains(reason), "{reported:?}");
        }
    }

    /// The table of the page names the conditions with events, and every reason that belongs to no condition.
    #[test]
    fn the_page_has_all_events() {
        let rows: Vec<Vec<&str>> = PAGE
            .split("<!-- events:")
            .nth(1)
            .unwrap()
            .lines()
            .skip_while(|line| !line.starts_with("|---"))
            .skip(1)
            .take_while(|line| line.starts_with('|'))
            .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
            .collect();
        let conditions = |types: &[Type]| {
            types.iter().map(|type_| format!("`{}`", type_.as_str())).collect::<Vec<_>>().join(", ")
        };
        let reported: Vec<(&str, &str)> = rows.iter().map(|row| (row[0], row[1])).collect();
        let (config, objects) = (conditions(OF_CONFIG), conditions(OF_OBJECTS));
        let [ended, policy, edited, changed, removed, expiring] = [
            FAIL_OPEN_ENDED,
            ADMISSION_POLICY_CHANGED,
            OUTPUT_EDITED,
            ACCESS_CHANGED,
            ACCESS_REMOVED,
            EXPIRING,
        ]
        .map(|reason| format!("`{reason}`"));
        let expected = [
            ("QueueAcl, AdmissionPolicy, QueueAccessTest", &objects),
            ("YuniKornConfig", &config),
            ("YuniKornConfig", &ended),
            ("YuniKornConfig", &policy),
            ("YuniKornConfig", &edited),
            ("QueueAcl", &changed),
            ("QueueAcl", &removed),
            ("QueueAcl", &expiring),
        ];
        assert_eq!(reported, expected.map(|(kind, of)| (kind, of.as_str())));
        for reason in CALM {
            assert!(
                rows[0][2].contains(reason.as_str()) || rows[1][2].contains(reason.as_str()),
                "{}",
                reason.as_str()
            );
        }
    }

    #[test]
    fn another_status_is_reported_and_another_reason_as_well() {
        for (status, reason, reported) in [
            (Status::False, Reason::Pending, 0),
            (Status::False, Reason::Invalid, 1),
            (Status::Unknown, Reason::Pending, 1),
            (Status::True, Reason::Ready, 1),
        ] {
            let before = Condition {
                type_: Type::Ready.as_str().into(),
                status,
                reason: reason.as_str().into(),
                message: "before".into(),
                observed_generation: 1,
                last_transition: jiff::Timestamp::UNIX_EPOCH,
            };
            let now = Finding::no(Type::Ready, Reason::Pending, "is being written");
            assert_eq!(published(&[before], &[now]).len(), reported, "{status:?} {reason}");
        }
    }
}
