//! The context of the decision about the output ConfigMap.

use std::sync::Arc;

use crate::conditions::Finding;
use crate::effective::{Base, ParsedConfig, ReadState};
use crate::grants::{Combined, ResolvedObjects};

/// The results of the steps before: what the decision is made from.
pub(crate) struct WriteContext<'a> {
    pub read: ReadState<'a>,
    pub resolved: ResolvedObjects<'a>,
    pub combined: Combined,
}

impl WriteContext<'_> {
    /// Returns the base, or condition `BaseResolved` when there is none, or nothing can be rendered into it.
    pub(crate) fn base(&self) -> Result<&Base, &Finding> {
        self.combined.unrendered.as_ref().map_or(self.read.base.as_ref(), Err)
    }

    /// Returns the number of objects that the body was rendered from.
    pub(crate) fn count(&self) -> usize {
        self.resolved.queue_acls.iter().filter(|object| object.contribution().is_some()).count()
    }

    /// Returns whether the scheduler should have loaded the text and did not: the text is written again.
    pub(crate) fn reasserts(&self) -> bool {
        self.read.reassert_at.is_some_and(|due| due <= self.read.snapshot.now)
    }
}

/// Returns the text that withdrawals are applied to: the text in the output, unless the scheduler refuses it
/// or somebody else wrote it.
pub(crate) fn to_narrow<'q>(context: &'q WriteContext<'_>) -> Option<&'q Arc<ParsedConfig>> {
    let current = context.read.current.as_ref();
    if context.read.snapshot.observed.refused.is_some() && context.read.proven.is_some() {
        return context.read.proven.as_ref();
    }
    if repairs(context) { context.read.written.as_ref().or(current) } else { current }
}

pub(crate) fn live_text<'a>(context: &'a WriteContext<'_>) -> Option<&'a str> {
    context.read.snapshot.output_text(&context.read.env.key).map(String::as_str)
}

/// Returns whether writing the queue tree puts back someone else's change, rather than adding something new.
pub(crate) fn repairs(context: &WriteContext<'_>) -> bool {
    let last = context
        .read
        .snapshot
        .observed
        .last_written
        .as_ref()
        .or_else(|| context.read.snapshot.config_status()?.config_hash.as_ref());
    let live = live_text(context).map(|text| context.read.env.checksum_of(text));
    last.is_some() && live.as_ref() != last
}
