//! The part of a run that brings the RBAC mirror after what is in force.

use super::Reconciler;
use super::planning::NoPlan;
use crate::operator::mirror::{self, Answer};
use crate::plan::Plan;
use crate::plan::snapshot::{Snapshot, WriteFailure};

/// Rounds of steps towards the RBAC mirror in one run; the rest waits for the next, which begins at once.
const MIRROR_ROUNDS: usize = 4;

/// What came of steps towards the RBAC mirror.
#[derive(Default)]
struct Mirrored {
    /// The first failure.
    failure: Option<WriteFailure>,
    /// Whether somebody else was faster.
    outrun: bool,
}

impl Reconciler {
    /// Brings the RBAC mirror after what is in force, a bounded way; whether all went well.
    pub(super) async fn mirror_all(
        &mut self,
        mut snapshot: Snapshot,
        mut plan: Plan,
    ) -> Result<(Snapshot, Plan, bool), NoPlan> {
        let mut outrun = 0;
        for _ in 0..MIRROR_ROUNDS {
            if plan.mirror.steps.is_empty() {
                break;
            }
            let done = self.mirror(&plan).await;
            let (failed, lost) = (done.failure.is_some(), done.outrun);
            self.memory.observed.mirror_failure = done.failure;
            (snapshot, plan) = self.plan().await?;
            if failed {
                return Ok((snapshot, plan, false));
            }
            outrun += usize::from(lost);
        }
        if plan.mirror.steps.is_empty() {
            self.memory.observed.mirror_failure = None;
        } else if outrun == MIRROR_ROUNDS {
            let why = "other writers were faster each time".into();
            self.memory.observed.mirror_failure = Some(WriteFailure::Transient(why));
            let (snapshot, plan) = self.plan().await?;
            return Ok((snapshot, plan, false));
        } else {
            // The rest is not left to the next cause.
            self.changed.notify_one();
        }
        Ok((snapshot, plan, true))
    }

    /// Carries out the next steps.
    async fn mirror(&self, plan: &Plan) -> Mirrored {
        let leadership = self.leadership.clone();
        let mut done = Mirrored::default();
        for answer in mirror::carry_out(&self.client, plan.mirror.clone(), move || leadership.holds()).await {
            let result = match &answer {
                Answer::Failed(failure) => {
                    done.failure.get_or_insert_with(|| failure.clone());
                    "error"
                }
                Answer::Outrun(..) => {
                    done.outrun = true;
                    "conflict"
                }
                Answer::Stands(..) | Answer::Gone(..) => "written",
            };
            self.health.metrics.mirrored(result);
            self.world.learn_mirror(answer);
        }
        if let Some(failure) = &done.failure {
            tracing::warn!(?failure, "Could not write the RBAC mirror");
        } else {
            tracing::info!(steps = plan.mirror.steps.len(), "Wrote the RBAC mirror");
        }
        done
    }
}
