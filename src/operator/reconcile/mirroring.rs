//! The part of a run that brings the RBAC mirror after what is in force.

use super::Reconciler;
use super::planning::NoPlan;
use crate::operator::mirror::{self, Answer, Wish};
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
    /// Brings the RBAC mirror after what is in force, a bounded way; the steps that could not be done, if one failed.
    pub(super) async fn mirror_all(
        &mut self,
        mut snapshot: Snapshot,
        mut plan: Plan,
    ) -> Result<(Snapshot, Plan, Result<(), Vec<Wish>>), NoPlan> {
        let (mut outrun, mut tried) = (0, Vec::new());
        for _ in 0..MIRROR_ROUNDS {
            if plan.mirror.steps.is_empty() {
                break;
            }
            tried = mirror::wishes(&plan.mirror);
            let done = self.mirror(&plan).await;
            let (failed, lost) = (done.failure.is_some(), done.outrun);
            self.memory.observed.mirror_failure = done.failure;
            (snapshot, plan) = self.plan().await?;
            if failed {
                let left = undone(tried, &plan);
                if mirror::wishes(&plan.mirror).iter().any(|wish| !left.contains(wish)) {
                    // There is more than one run does at a time, and the rest has not failed.
                    self.changed.notify_one();
                }
                return Ok((snapshot, plan, Err(left)));
            }
            outrun += usize::from(lost);
        }
        if plan.mirror.steps.is_empty() {
            self.memory.observed.mirror_failure = None;
        } else if outrun == MIRROR_ROUNDS {
            let why = "other writers were faster each time".into();
            self.memory.observed.mirror_failure = Some(WriteFailure::Transient(why));
            let (snapshot, plan) = self.plan().await?;
            let left = undone(tried, &plan);
            return Ok((snapshot, plan, Err(left)));
        } else {
            // The rest is not left to the next cause.
            self.changed.notify_one();
        }
        Ok((snapshot, plan, Ok(())))
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

/// Those of the steps tried that are wanted still. Others that are wanted by now were not tried.
fn undone(mut tried: Vec<Wish>, plan: &Plan) -> Vec<Wish> {
    let wanted = mirror::wishes(&plan.mirror);
    tried.retain(|wish| wanted.contains(wish));
    tried
}
