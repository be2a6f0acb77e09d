//! The context of the decision about the output ConfigMap, and condition `Applied`, which explains why the
//! output is not written.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::conditions::{Finding, Reason, Type};
use crate::effective::{Base, ParsedConfig, ReadState, queue_operator};
use crate::grants::{Combined, ResolvedObjects};
use crate::snapshot::WriteFailure;
use crate::write::change::{MAX_BYTES, WARN_BYTES, size_after};

/// The results of the previous steps, which the decision is based on.
pub(crate) struct WriteContext<'a> {
    pub read: ReadState<'a>,
    pub resolved: ResolvedObjects<'a>,
    pub combined: Combined,
}

impl WriteContext<'_> {
    /// Returns the base, or condition `BaseResolved` if there is no base or nothing can be rendered into it.
    pub(crate) fn base(&self) -> Result<&Base, &Finding> {
        self.combined.unrendered.as_ref().map_or(self.read.base.as_ref(), Err)
    }

    /// Returns the number of objects that the body was rendered from.
    pub(crate) fn count(&self) -> usize {
        self.resolved.queue_acls.iter().filter(|object| object.contribution().is_some()).count()
    }

    /// Returns whether the scheduler should have loaded the text but did not, so that the text is written
    /// again.
    pub(crate) fn reasserts(&self) -> bool {
        self.read.reassert_at.is_some_and(|due| due <= self.read.snapshot.now)
    }
}

/// Returns the text that withdrawals are applied to: the text in the output, unless the scheduler refuses it
/// or another client wrote it.
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

/// Returns whether writing the queue tree reverts someone else's change, rather than adding something new.
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

pub(crate) fn applied(context: &WriteContext<'_>) -> Finding {
    let map = context.read.spec.output_name();
    let mut message = format!("{map} holds the rendered text");
    let size = size_after(context.read.snapshot.output.as_deref(), &BTreeMap::new());
    if size >= WARN_BYTES {
        message.push_str(", and is close to the 1 MiB that Kubernetes allows");
    }
    Finding::yes(Type::Applied, Reason::Applied, message)
}

pub(crate) fn pending(context: &WriteContext<'_>) -> Finding {
    let map = context.read.spec.output_name();
    not_written(context, &map)
        .unwrap_or_else(|| Finding::no(Type::Applied, Reason::Pending, format!("{map} is being written")))
}

/// Explains why the last write, which was to `map`, did not succeed.
pub(crate) fn not_written(context: &WriteContext<'_>, map: &str) -> Option<Finding> {
    let (reason, message) = match context.read.snapshot.observed.write_failure.as_ref()? {
        WriteFailure::Forbidden(why) => {
            (Reason::Forbidden, format!("the API server does not let queuewarden write {map}: {why}"))
        }
        WriteFailure::Rejected(why) => {
            let reason = Reason::of_rejection(why);
            let message = if reason == Reason::RejectedByAdmission {
                format!("an admission webhook refused the write of {map}: {why}")
            } else {
                format!("the API server refuses the write of {map} until its cause is removed: {why}")
            };
            (reason, message)
        }
        WriteFailure::Transient(why) => {
            (Reason::Pending, format!("{map} could not be written and will be tried again: {why}"))
        }
    };
    Some(Finding::no(Type::Applied, reason, message))
}

pub(crate) fn not_rendered(context: &WriteContext<'_>) -> Finding {
    let message = match context.base() {
        Err(finding) => format!("nothing is written, and the live configuration stays: {}", finding.message),
        Ok(_) => {
            "nothing is written, and the live configuration stays: the ACLs cannot be rendered into the base"
                .to_string()
        }
    };
    Finding::no(Type::Applied, Reason::ConfigNotReady, message)
}

/// Refuses a write that is too large for the API server.
pub(crate) fn oversized(
    context: &WriteContext<'_>,
    changes: &BTreeMap<String, Option<String>>,
) -> Option<Finding> {
    let size = size_after(context.read.snapshot.output.as_deref(), changes);
    (size > MAX_BYTES).then(|| {
        let message = format!(
            "{} would have {size} bytes, more than the {MAX_BYTES} that Kubernetes allows; only withdrawals are written, new grants wait",
            context.read.spec.output_name()
        );
        Finding::no(Type::Applied, Reason::TooLarge, message)
    })
}

/// Returns condition `Applied` while `service.policyGroup` names a different key than the scheduler is proven
/// to read.
pub(crate) fn unproven_key(context: &WriteContext<'_>) -> Option<Finding> {
    let next = context.read.env.next_key.as_ref()?;
    let message = format!(
        "`service.policyGroup` now names key `{next}`, which YuniKorn reads only after a restart; key `{}` \
         is kept up to date until the scheduler is seen to run `{next}` (spec.schedulerUrl). Before the \
         restart, write the queue tree to key `{next}` of {}",
        context.read.env.key,
        context.read.spec.base_name()
    );
    Some(Finding::no(Type::Applied, Reason::PolicyGroupPending, message))
}

pub(crate) fn observed_only(
    context: &WriteContext<'_>,
    changes: &BTreeMap<String, Option<String>>,
) -> Finding {
    let keys: Vec<_> = changes.keys().map(|key| format!("`{key}`")).collect();
    let map = context.read.spec.output_name();
    let message = format!("in mode Enforce these keys of {map} would change: {}", keys.join(", "));
    Finding::no(Type::Applied, Reason::ObserveMode, message)
}

pub(crate) fn contended(context: &WriteContext<'_>) -> Finding {
    let names = context.read.snapshot.observed.other_writer.as_deref();
    let other_writer = names.map_or("another writer".to_string(), |names| format!("\"{names}\""));
    let operator = queue_operator(names.unwrap_or_default().split(", "));
    let message = format!(
        "{other_writer} keeps changing keys of queuewarden's in {}; keys that are missing or grant too much \
         are repaired every second, other changes at growing intervals. Remove these keys from the \
         configuration that it applies{operator}",
        context.read.spec.output_name()
    );
    Finding::no(Type::Applied, Reason::Contended, message)
}

pub(crate) fn shadowed(context: &WriteContext<'_>) -> Option<Finding> {
    let shadow = context.read.env.shadow.as_ref()?;
    let message = format!(
        "binaryData key `{shadow}` of {} hides key `{}` from the scheduler; remove it",
        context.read.spec.output_name(),
        context.read.env.key
    );
    Some(Finding::no(Type::Applied, Reason::ShadowedByBinaryData, message))
}
