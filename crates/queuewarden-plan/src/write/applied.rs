//! Condition `Applied`: what keeps the output from being written, in words.

use std::collections::BTreeMap;

use crate::conditions::{Finding, Reason, Type};
use crate::effective::queue_operator;
use crate::snapshot::WriteFailure;
use crate::write::context::WriteContext;
use crate::write::size::{MAX_BYTES, WARN_BYTES, size_after};

pub(crate) fn applied(context: &WriteContext<'_>) -> Finding {
    let map = context.read.spec.output_name();
    let mut message = format!("{map} holds what was rendered");
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

/// Returns the reason why the last write, which was to `map`, was not made.
pub(crate) fn not_written(context: &WriteContext<'_>, map: &str) -> Option<Finding> {
    let (reason, message) = match context.read.snapshot.observed.write_failure.as_ref()? {
        WriteFailure::Forbidden(why) => {
            (Reason::Forbidden, format!("the API server does not let queuewarden write {map}: {why}"))
        }
        WriteFailure::Rejected(why) => {
            let reason = rejection(why);
            let message = if reason == Reason::RejectedByAdmission {
                format!("an admission webhook refused the write of {map}: {why}")
            } else {
                format!("the API server refuses the write of {map} until its cause is removed: {why}")
            };
            (reason, message)
        }
        WriteFailure::Transient(why) => {
            (Reason::Pending, format!("{map} could not be written, and is tried again: {why}"))
        }
    };
    Some(Finding::no(Type::Applied, reason, message))
}

/// Returns the reason of a lasting refusal. A refusal by an admission webhook is recognised by the words that
/// the API server puts before the webhook's own (apiserver `plugin/webhook/errors/statuserror.go`).
pub(crate) fn rejection(message: &str) -> Reason {
    let webhook = message.contains("admission webhook") && message.contains("denied the request");
    if webhook { Reason::RejectedByAdmission } else { Reason::Rejected }
}

pub(crate) fn not_rendered(context: &WriteContext<'_>) -> Finding {
    let message = match context.base() {
        Err(finding) => format!("nothing is written, what is live stays: {}", finding.message),
        Ok(_) => {
            "nothing is written, what is live stays: the ACLs cannot be rendered into the base".to_string()
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

/// Returns condition `Applied` while `service.policyGroup` names another key than the one that the scheduler
/// is proven to read.
pub(crate) fn unproven_key(context: &WriteContext<'_>) -> Option<Finding> {
    let next = context.read.env.next_key.as_ref()?;
    let message = format!(
        "`service.policyGroup` names key `{next}` now, which YuniKorn reads only after a restart; key `{}` is kept up until the scheduler \
         is seen to run `{next}` (spec.schedulerUrl). Before the restart, put the queue tree into key `{next}` of {}",
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
        "{other_writer} keeps changing keys of queuewarden's in {}; what is missing or grants too much is put right every second, other \
         changes at growing intervals. Take these keys out of what that writer applies{operator}",
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
