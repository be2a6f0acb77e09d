//! Finds reasons to hold the full text back. While one applies, nothing but withdrawals is written.

use jiff::Timestamp;

use crate::budget;
use crate::conditions::{Finding, Reason, Type};
use crate::effective::{header, missing_partition};
use crate::snapshot::{CONFIRM_REMOVAL, OBJECTS};
use crate::write::context::{WriteContext, live_text, repairs, to_narrow};
use crate::write::withdraw;
use yunikorn::config::checksum;

/// The fewest objects that have to disappear at once to count as an accident.
const FEWEST: usize = 3;

/// A reason, and its end if that is known.
pub(crate) struct Hold {
    /// Condition `Applied`.
    pub applied: Finding,
    /// The time to try the full text.
    pub until: Option<Timestamp>,
}

impl Hold {
    /// Makes a reason that ends with a change of its cause.
    pub(crate) fn new(applied: Finding) -> Self {
        Self { applied, until: None }
    }
}

/// Returns the first reason that applies. None does while the output has no text of its own: then the
/// scheduler falls back to a text that is wider than what is rendered from the last good base.
pub(crate) fn find(context: &WriteContext<'_>) -> Option<Hold> {
    if context.combined.desired.is_none() || live_text(context).is_none() {
        return None;
    }
    base(context)
        .map(Hold::new)
        .or_else(|| refused(context))
        .or_else(|| removal(context).map(Hold::new))
        .or_else(|| pace(context))
}

fn base(context: &WriteContext<'_>) -> Option<Finding> {
    match context.base() {
        Ok(base) => missing_partition(&base.tree, &context.read.env),
        Err(finding) => {
            let message = format!("only withdrawals are written, new grants wait: {}", finding.message);
            Some(Finding::no(Type::Applied, Reason::ConfigNotReady, message))
        }
    }
}

/// Returns a reason if the full text was refused, by the API server or by the scheduler. Withdrawals come
/// first, and the text that the scheduler runs stays until the full text is tried again, at growing
/// intervals.
fn refused(context: &WriteContext<'_>) -> Option<Hold> {
    let snapshot = context.read.snapshot;
    let refused = snapshot.observed.refused.as_ref()?;
    let until = budget::retry_at(refused.at, refused.times);
    let (source, body) = (to_narrow(context)?, context.combined.body.as_ref()?);
    let withdraws = source.tree.as_deref().zip(context.combined.desired.as_deref());
    let withdraws = withdraws.is_some_and(|(source, desired)| withdraw::widens(desired, source));
    let runs = || {
        let proven = context.read.proven.as_ref().map(|proven| &proven.text);
        refused.by_scheduler
            && proven == context.read.current.as_ref().map(|current| &current.text)
            && refused.body == checksum(&body.text)
    };
    (until > snapshot.now && (withdraws || runs())).then(|| {
        let by = if refused.by_scheduler { "scheduler" } else { "API server" };
        let message = format!(
            "the {by} refused the configuration, so only withdrawals are written; all of it is tried again at {until}"
        );
        Hold { applied: Finding::no(Type::Applied, Reason::Rejected, message), until: Some(until) }
    })
}

/// Returns a reason if more than half of the objects disappeared at once and access would widen: a definition
/// was made anew, or a list is empty by accident.
fn removal(context: &WriteContext<'_>) -> Option<Finding> {
    let output = context.read.snapshot.output.as_deref()?;
    let before: usize = output.annotations.get(OBJECTS)?.parse().ok()?;
    let lost = before.checked_sub(context.count())?;
    let revision = live_text(context).and_then(header::split).map(|parts| parts.revision);
    let confirmed = revision.is_some() && context.read.spec.confirmed_removal == revision;
    if lost < FEWEST || lost.saturating_mul(2) <= before || confirmed || !widens(context) {
        return None;
    }
    let revision = revision.map_or_else(|| "REVISION".to_owned(), |revision| revision.to_string());
    let message = format!(
        "{lost} of {before} objects are gone at once: access that nothing grants any more is withdrawn, and nobody gains any before this is \
         confirmed: kubectl annotate --overwrite yunikornconfig default {CONFIRM_REMOVAL}={revision}"
    );
    Some(Finding::no(Type::Applied, Reason::RemovalUnconfirmed, message))
}

/// Returns a reason if access was widened too often within a short time.
fn pace(context: &WriteContext<'_>) -> Option<Hold> {
    let snapshot = context.read.snapshot;
    let until = budget::widening_at(&snapshot.observed.widened, snapshot.now)?;
    if repairs(context) || !widens(context) {
        return None;
    }
    let message = format!(
        "access was widened {} times within a short time: new grants wait until {until}, withdrawals do not",
        budget::WIDENINGS
    );
    Some(Hold { applied: Finding::no(Type::Applied, Reason::Pending, message), until: Some(until) })
}

/// Returns whether the full text grants anything that the current one does not.
fn widens(context: &WriteContext<'_>) -> bool {
    context
        .read
        .current_tree()
        .zip(context.combined.desired.as_deref())
        .is_some_and(|(current, desired)| withdraw::widens(current, desired))
}
