//! One line in the log, and a count, for each decision.

use tokio::time::Instant;

use crate::access::guard::{Judgement, Mode, Verdict};
use crate::api::review::user_info::Asked;
use crate::server::Doors;
use crate::server::audit::Lines;

/// Writes them.
#[derive(Debug, Clone, Default)]
pub(super) struct Audit {
    lines: Lines,
}

impl Audit {
    /// Writes down and counts what was decided; nothing where nobody's name was in question.
    pub(super) fn note(&self, doors: &Doors, asked: &Asked, judgement: &Judgement, mode: Mode) {
        if judgement.verdict <= Verdict::Unchanged {
            return;
        }
        let (decision, clause) = (judgement.verdict.as_str(), judgement.rule.as_str());
        doors.health.metrics.doors.decided("user_info", decision, clause);
        let Some(left_out) = self.lines.next(Instant::now()) else { return };
        tracing::info!(
            target: "queuewarden::audit",
            verb = "user_info",
            decision,
            clause,
            enforced = mode == Mode::Enforce,
            user = judgement.user,
            by = asked.user,
            kind = asked.kind,
            namespace = asked.namespace,
            name = asked.name,
            reason = judgement.reason,
            warnings = judgement.warnings.join("; "),
            left_out,
            "It was judged in whose name a workload runs"
        );
    }
}
