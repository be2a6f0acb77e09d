//! The log lines of decisions about `user.info`.

use crate::server::ServerState;
use crate::server::audit::{Audit, Decision};
use queuewarden_api::review::envelope::Request;
use yunikorn_access::user_info::{Judgement, Mode, Verdict};

/// Logs the decision, unless it changes nothing and has no warnings.
pub(super) fn note(audit: &Audit, state: &ServerState, request: &Request, judgement: &Judgement, mode: Mode) {
    if judgement.verdict <= Verdict::Unchanged && judgement.warnings.is_empty() {
        return;
    }
    let warnings = judgement.warnings.join("; ");
    let decision = Decision {
        verb: "user_info",
        said: judgement.verdict.as_str(),
        clause: judgement.clause,
        refused: judgement.refusal(mode).is_some(),
        by: &request.by.user,
        user: &judgement.user,
        queue: "",
        object: &format!("{} {}/{}", request.kind, request.namespace, request.name),
        reason: if judgement.reason.is_empty() { &warnings } else { &judgement.reason },
    };
    audit.note(&state.health, &decision);
}
