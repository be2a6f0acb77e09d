//! Finds reasons to hold back the full text. While one applies, only withdrawals are applied: the current
//! text without the access that the desired text does not grant.
//!
//! This text is written when the desired text cannot be: an expiry, a deletion or a narrowed grant must not
//! wait for a broken base, for space in the ConfigMap or for a scheduler that refuses the desired text. An
//! entry of an ACL stays if the desired text grants its subject the same right on that queue or on one above
//! it, because access only adds up towards the root. The result therefore grants nothing that the current or
//! the desired text does not grant. The rule that an administrator may submit as well preserves no entry,
//! because statuses treat each right separately.

use std::sync::Arc;

use jiff::Timestamp;

use crate::budget;
use crate::conditions::{Finding, Reason, Type};
use crate::effective::{ParseCache, ParsedConfig, acl_of, header, missing_partition, text_of};
use crate::snapshot::{CONFIRM_REMOVAL, OBJECTS};
use crate::write::WriteContext;
use crate::write::applied::{live_text, repairs, to_narrow};
use go_compat::yaml::edit::{self, Edit};
use yunikorn::config::{Partition, Queue, checksum};
use yunikorn::{Acl, Config, QueuePath, Right};

/// Applies the withdrawals to the current text (without a header). Returns `None` if there are no
/// withdrawals, or if they cannot be written into it.
pub(crate) fn withdraw(
    current: &Arc<ParsedConfig>,
    desired: &Config,
    cache: &mut ParseCache,
) -> Option<Arc<ParsedConfig>> {
    let tree = current.tree.as_deref()?;
    let edits: Vec<Edit> = withdrawals(tree, desired).collect();
    if edits.is_empty() {
        return None;
    }
    let refused: Vec<usize> =
        edit::refused(&current.text, &edits).ok()?.into_iter().map(|(index, _)| index).collect();
    let kept = edits.into_iter().enumerate().filter(|(index, _)| !refused.contains(index));
    let edits: Vec<Edit> = kept.map(|(_, edit)| edit).collect();
    let result = cache.edited(&current.text, &edits).ok()?;
    let narrower = result.tree.as_deref().is_some_and(|result| !widens(tree, result));
    (result.refusal.is_none() && narrower && result.text != current.text).then_some(result)
}

/// Returns whether `to` grants anything that `from` does not grant.
pub(crate) fn widens(from: &Config, to: &Config) -> bool {
    acls(to).any(|(partition, queue, right)| {
        let Some(before) = from.partition(&partition.name) else {
            return !acl_of(queue, right).is_nobody();
        };
        !same_text(before, queue, right)
            && !granted(before, &queue.path, right.acls()).contains(&acl_of(queue, right))
    })
}

fn withdrawals(current: &Config, desired: &Config) -> impl Iterator<Item = Edit> {
    acls(current).filter_map(|(partition, queue, right)| {
        let after = desired.partition(&partition.name);
        if after.is_some_and(|after| same_text(after, queue, right)) {
            return None;
        }
        let acl = acl_of(queue, right);
        let left =
            after.map_or_else(Acl::nobody, |after| granted(after, &queue.path, &[right]).intersection(&acl));
        if left == acl { None } else { queue.edit(right, &left) }
    })
}

/// Iterates over all ACLs that grant anything.
fn acls(tree: &Config) -> impl Iterator<Item = (&Partition, &Queue, Right)> {
    let queues = tree.partitions.iter().flat_map(|partition| partition.queues().map(move |q| (partition, q)));
    let all =
        queues.flat_map(|(partition, queue)| Right::ALL.into_iter().map(move |r| (partition, queue, r)));
    all.filter(|(_, queue, right)| text_of(queue, *right).is_some())
}

/// Returns whether the same ACL is written at the same queue. This is nearly always the case, and makes
/// parsing unnecessary.
fn same_text(partition: &Partition, queue: &Queue, right: Right) -> bool {
    let other = partition.queue_near(queue.position, &queue.path);
    other.is_some_and(|other| text_of(other, right) == text_of(queue, right))
}

/// Returns everyone who has one of the rights on the queue, through its ACLs or the ACLs of queues above it.
fn granted(partition: &Partition, queue: &QueuePath, rights: &[Right]) -> Acl {
    let lineage = queue.lineage().filter_map(|path| partition.queue(&path));
    let acls = lineage.flat_map(|queue| rights.iter().map(move |right| acl_of(queue, *right)));
    acls.fold(Acl::nobody(), |all, acl| all.union(&acl))
}

/// The minimum number of objects whose simultaneous disappearance is treated as an accident.
const FEWEST: usize = 3;

/// A reason, and its end if that is known.
pub(crate) struct Hold {
    /// Condition `Applied`.
    pub applied: Finding,
    /// The time to try the full text.
    pub until: Option<Timestamp>,
}

impl Hold {
    /// Creates a reason that ends when its cause changes.
    pub(crate) fn new(applied: Finding) -> Self {
        Self { applied, until: None }
    }
}

/// Returns the first reason that applies. No reason applies while the output has no text, because the
/// scheduler then falls back to a text that is wider than the text rendered from the last good base.
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

/// Returns a reason if the API server or the scheduler refused the full text. Withdrawals come first, and the
/// text that the scheduler runs stays until the full text is tried again, at growing intervals.
fn refused(context: &WriteContext<'_>) -> Option<Hold> {
    let snapshot = context.read.snapshot;
    let refused = snapshot.observed.refused.as_ref()?;
    let until = budget::retry_at(refused.at, refused.times);
    let (source, body) = (to_narrow(context)?, context.combined.body.as_ref()?);
    let withdraws = source.tree.as_deref().zip(context.combined.desired.as_deref());
    let withdraws = withdraws.is_some_and(|(source, desired)| widens(desired, source));
    let runs = || {
        let proven = context.read.proven.as_ref().map(|proven| &proven.text);
        refused.by_scheduler
            && proven == context.read.current.as_ref().map(|current| &current.text)
            && refused.body == checksum(&body.text)
    };
    (until > snapshot.now && (withdraws || runs())).then(|| {
        let by = if refused.by_scheduler { "scheduler" } else { "API server" };
        let message = format!(
            "the {by} refused the configuration, so only withdrawals are written; the full configuration is \
             tried again at {until}"
        );
        Hold { applied: Finding::no(Type::Applied, Reason::Rejected, message), until: Some(until) }
    })
}

/// Returns a reason if more than half of the objects disappeared at once and access would widen. This happens
/// when a CRD is recreated, or a list is empty by accident.
fn removal(context: &WriteContext<'_>) -> Option<Finding> {
    let output = context.read.snapshot.output.as_deref()?;
    let before: usize = output.annotations.get(OBJECTS)?.parse().ok()?;
    let lost = before.checked_sub(context.count())?;
    let revision = live_text(context).and_then(header::split).map(|parts| parts.revision);
    let confirmed = revision.is_some() && context.read.spec.confirmed_removal == revision;
    if lost < FEWEST || lost.saturating_mul(2) <= before || confirmed || !full_widens(context) {
        return None;
    }
    let revision = revision.map_or_else(|| "REVISION".to_owned(), |revision| revision.to_string());
    let message = format!(
        "{lost} of {before} objects disappeared at once: access that nothing grants any more is withdrawn, \
         and no one gains access until you confirm this: kubectl annotate --overwrite yunikornconfig default \
         {CONFIRM_REMOVAL}={revision}"
    );
    Some(Finding::no(Type::Applied, Reason::RemovalUnconfirmed, message))
}

/// Returns a reason if access was widened too often within a short time.
fn pace(context: &WriteContext<'_>) -> Option<Hold> {
    let snapshot = context.read.snapshot;
    let until = budget::widening_at(&snapshot.observed.widened, snapshot.now)?;
    if repairs(context) || !full_widens(context) {
        return None;
    }
    let message = format!(
        "access was widened {} times within a short time: new grants wait until {until}, withdrawals do not",
        budget::WIDENINGS
    );
    Some(Hold { applied: Finding::no(Type::Applied, Reason::Pending, message), until: Some(until) })
}

/// Returns whether the full text grants anything that the current one does not.
fn full_widens(context: &WriteContext<'_>) -> bool {
    context
        .read
        .current_tree()
        .zip(context.combined.desired.as_deref())
        .is_some_and(|(current, desired)| widens(current, desired))
}

#[cfg(test)]
mod tests {
    use super::*;
    use yunikorn::version::Version;

    fn text(queues: &str) -> String {
        format!("partitions: [{{name: default, queues: [{{name: root, {queues}}}]}}]")
    }

    fn left(current: &str, desired: &str) -> Option<String> {
        let mut cache = ParseCache::new(Version::V1_8);
        let (current, desired) = (cache.read(&text(current)), cache.read(&text(desired)));
        withdraw(&current, desired.tree.as_deref().unwrap(), &mut cache).map(|result| result.text.clone())
    }

    #[test]
    fn withdraw_takes_what_is_not_desired_and_adds_nothing() {
        let prod = |root: &str, acls: &str| format!("{root} queues: [{{name: prod, {acls}}}]");
        for (current, desired, expected) in [
            ("submitacl: 'sue,bob dev'", "submitacl: 'sue,ann ops'", Some("submitacl: 'sue'")),
            ("submitacl: '*'", "submitacl: 'sue dev'", Some("submitacl: 'sue dev'")),
            ("submitacl: 'sue'", "submitacl: '*'", None),
            ("submitacl: 'sue'", "adminacl: 'sue'", Some("submitacl: ' '")),
            ("adminacl: 'sue'", "submitacl: 'sue'", Some("adminacl: ' '")),
        ] {
            let expected = expected.map(|acls| text(&prod("", acls)));
            assert_eq!(left(&prod("", current), &prod("", desired)), expected, "{current} {desired}");
        }
        let moved = prod("submitacl: sue,", "parent: false");
        assert_eq!(left(&prod("", "submitacl: sue"), &moved), None, "granted above");
        assert_eq!(
            left(&moved, &prod("", "submitacl: sue")),
            Some(text(&prod("submitacl: ' ',", "parent: false")))
        );
        assert_eq!(
            left(&prod("", "submitacl: sue"), "parent: true"),
            Some(text(&prod("", "submitacl: ' '"))),
            "a queue that is not desired any more"
        );
    }

    #[test]
    fn a_text_that_cannot_be_read_is_left_alone() {
        let mut cache = ParseCache::new(Version::V1_8);
        let (current, desired) = (cache.read("partitions: ["), cache.read(&text("parent: true")));
        assert!(withdraw(&current, desired.tree.as_deref().unwrap(), &mut cache).is_none());
    }

    #[test]
    fn widens_compares_access_and_not_texts() {
        let mut cache = ParseCache::new(Version::V1_8);
        let mut widens = |from: &str, to: &str| {
            let (from, to) = (cache.read(&text(from)), cache.read(&text(to)));
            super::widens(from.tree.as_deref().unwrap(), to.tree.as_deref().unwrap())
        };
        assert!(!widens("submitacl: sue", "submitacl: 'sue '"));
        assert!(!widens("adminacl: sue", "adminacl: sue, submitacl: sue"));
        assert!(widens("submitacl: sue", "adminacl: sue"));
        assert!(!widens("submitacl: sue", "queues: [{name: a, submitacl: sue}]"));
        assert!(widens("queues: [{name: a, submitacl: sue}]", "submitacl: sue"));
    }
}
