//! Names the causes of a write, for the history.

use super::change::Write;
use super::context::WriteContext;
use crate::grants::InForceRecord;
use go_compat::diag::{listed, quoted};
use yunikorn::config::Config;

/// The cause of access keys that go.
const NO_POLICY: &str = "no AdmissionPolicy any more";

/// The end of the cause of a revision that put back what another program had changed.
const PUT_BACK: &str = ", put back";

/// The most causes of a revision that are named.
const MAX_CAUSES: usize = 20;

/// Returns the first causes, and how many there are besides.
pub(super) fn few(causes: Vec<String>) -> Vec<String> {
    let more = causes.len().saturating_sub(MAX_CAUSES);
    let more = (more > 0).then(|| format!("and {more} more"));
    causes.into_iter().take(MAX_CAUSES).chain(more).collect()
}

/// Names what makes the difference between the output and that of `write`: the objects whose part in the
/// text changes, another base, the policy of changed keys, and what is put back. A partial text has the
/// queues `partial`.
pub(crate) fn causes(context: &WriteContext<'_>, write: &Write, partial: Option<&Config>) -> Vec<String> {
    let output = context.read.snapshot.output.as_deref();
    let record = InForceRecord { output, tree: None };
    let tree = write.queue_tree().is_some();
    let objects = context.resolved.queue_acls.iter().filter(|object| tree && record.differs(partial, object));
    let mut causes: Vec<String> =
        objects.map(|object| format!("QueueAcl/{}", object.entry.meta.name)).collect();
    causes.sort_unstable();
    let last = context.read.snapshot.last_base.as_ref();
    let base = context.read.from.as_ref().filter(|base| tree && !write.partial && !base.is(last));
    causes.extend(base.map(|base| base.source.clone()));
    if write.admission().next().is_some() && !write.repair {
        let name = context.resolved.policies.counting.as_ref();
        causes.push(name.map_or_else(|| NO_POLICY.to_owned(), |name| format!("AdmissionPolicy/{name}")));
    }
    if write.repair {
        let others: Vec<String> = write.other_writers(output).iter().map(|other| quoted(other)).collect();
        let by = if others.is_empty() { "" } else { " by " };
        causes.push(format!("a change{by}{}{PUT_BACK}", listed(&others, 3, others.len())));
    }
    if write.reassert {
        causes.push("the scheduler did not load the text".to_owned());
    }
    few(causes)
}

/// Returns whether a revision with these causes put back what another program had changed.
pub fn is_put_back(causes: &[String]) -> bool {
    causes.iter().any(|cause| cause.ends_with(PUT_BACK))
}
