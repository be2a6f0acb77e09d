//! Everything that was decided, before any status is made of it.

use std::sync::Arc;

use crate::conditions::Finding;
use crate::effective::{ParseCache, ReadState};
use crate::grants::{Attribution, Combined, ResolvedObjects, attribution};
use crate::rbac_mirror::{self, MirrorChanges};
use crate::write::decide::decide;
use crate::write::{WriteContext, WriteDecision};
use yunikorn::config::Config;

/// Everything that was decided.
pub(crate) struct Evaluation<'a> {
    /// What it was decided from.
    pub context: WriteContext<'a>,
    /// The decision about the output.
    pub output: WriteDecision,
    /// The changes of the RBAC mirror, and condition `Mirrored`.
    pub mirror: (MirrorChanges, Option<Finding>),
}

/// Decides what is written.
pub(crate) fn write<'a>(
    read: ReadState<'a>,
    resolved: ResolvedObjects<'a>,
    combined: Combined,
    cache: &mut ParseCache,
) -> Evaluation<'a> {
    let context = WriteContext { read, resolved, combined };
    let output = decide(&context, cache);
    let mirror = rbac_mirror::plan(&context.read, &context.resolved.aliased, cache);
    Evaluation { context, output, mirror }
}

impl Evaluation<'_> {
    /// Condition `BaseResolved`.
    pub(crate) fn base(&self) -> &Finding {
        self.context.base().map_or_else(|finding| finding, |base| &base.finding)
    }

    /// Returns the desired queues, or if nothing is desired the queues in force.
    pub(crate) fn queues(&self) -> Option<&Config> {
        self.context.combined.desired.as_deref().or(self.context.read.env.tree.as_deref())
    }

    /// Attributes the ACLs of the desired text to the objects.
    pub(crate) fn contributions(&self) -> Arc<[Attribution]> {
        let Combined { decisions, by_object, .. } = &self.context.combined;
        attribution::desired(&self.context.resolved.queue_acls, decisions, by_object)
    }
}
