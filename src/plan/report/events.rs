//! Events: one for each transition of a condition, none when nothing changed.

use crate::plan::conditions::{Condition, Finding, Status, Type};
use crate::plan::{Event, Subject};

/// Kubernetes refuses longer notes, in bytes.
const MAX_NOTE: usize = 1000;
/// Reason of the event that says who lost access.
pub(in crate::plan) const ACCESS_REMOVED: &str = "AccessRemoved";

/// An event for each finding of the given types that differs from `old` in status or reason. A condition that is new and as it
/// should be is no news, except for `Ready`.
pub(in crate::plan) fn transitions(
    subject: &Subject,
    old: &[Condition],
    findings: &[Finding],
    types: &[Type],
) -> Vec<Event> {
    findings
        .iter()
        .filter(|finding| types.contains(&finding.type_))
        .filter(|finding| {
            let before = old.iter().find(|c| c.type_ == finding.type_.as_str());
            before.map_or(true, |c| {
                c.status != finding.status || c.reason != finding.reason.as_str()
            })
        })
        .map(|finding| {
            let bad = (finding.status == Status::True) == (finding.type_ == Type::FailOpen);
            event(subject, bad, finding.reason.as_str(), &finding.message)
        })
        .collect()
}

/// An event for a negative condition that has gone.
pub(in crate::plan) fn closed(subject: &Subject, old: &[Condition], findings: &[Finding]) -> Option<Event> {
    let name = Type::FailOpen.as_str();
    let was = old.iter().any(|c| c.type_ == name && c.status == Status::True);
    let is = findings.iter().any(|finding| finding.type_ == Type::FailOpen);
    (was && !is).then(|| {
        event(
            subject,
            false,
            "FailOpenEnded",
            "no root queue admits everyone any more",
        )
    })
}

/// An event with a note that fits.
pub(in crate::plan) fn event(subject: &Subject, warning: bool, reason: &str, note: &str) -> Event {
    let mut end = note.len().min(MAX_NOTE);
    while !note.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    let note = note.split_at_checked(end).map_or(note, |(head, _)| head);
    Event {
        subject: subject.clone(),
        warning,
        reason: reason.into(),
        note: note.into(),
    }
}
