//! What is written down and counted of each judgement.

use crate::access::guard::{Judgement, Mode, Verdict};
use crate::api::review::user_info::Asked;
use crate::server::Doors;
use crate::server::audit::{Audit, Decision};

/// Writes down and counts what was decided; nothing where nobody's name was in question.
pub(super) fn note(audit: &Audit, doors: &Doors, asked: &Asked, judgement: &Judgement, mode: Mode) {
    if judgement.verdict <= Verdict::Unchanged {
        return;
    }
    let reason = match judgement.reason.as_str() {
        "" => judgement.warnings.join("; "),
        reason => reason.to_owned(),
    };
    let decision = Decision {
        verb: "user_info",
        said: judgement.verdict.as_str(),
        clause: judgement.rule.as_str(),
        refused: judgement.refusal(mode).is_some(),
        by: &asked.user,
        user: &judgement.user,
        queue: "",
        object: &format!("{} {}/{}", asked.kind, asked.namespace, asked.name),
        reason: &reason,
    };
    audit.note(&doors.health, &decision);
}
