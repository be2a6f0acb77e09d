//! One line in the log for each decision.

use tokio::time::Instant;

use crate::access::submission::{Judgement, Mode, Verdict};
use crate::api::review::submission::Asked;
use crate::model::admission::Request;
use crate::server::audit::Lines;

/// Writes them.
#[derive(Debug, Clone, Default)]
pub(super) struct Audit {
    lines: Lines,
}

impl Audit {
    /// Writes down what was decided; nothing where nobody asked.
    pub(super) fn note(&self, asked: &Asked, judgement: &Judgement, mode: Mode) {
        if judgement.verdict == Verdict::NotAsked {
            return;
        }
        let Some(left_out) = self.lines.next(Instant::now()) else { return };
        let Request { kind, user: by, .. } = &asked.request;
        tracing::info!(
            target: "queuewarden::audit",
            verb = "submit",
            decision = judgement.verdict.as_str(),
            clause = judgement.clause,
            refused = judgement.refusal(mode).is_some(),
            user = judgement.user,
            by,
            queue = judgement.queue,
            %kind,
            namespace = asked.request.namespace(),
            name = asked.name,
            reason = judgement.reason,
            left_out,
            "A workload was judged"
        );
    }
}
