//! Resolves all objects of a snapshot.

use std::sync::Arc;

use super::contribution::Resolved;
use super::policy::{self, Policies};
use super::record::InForceRecord;
use super::resolve;
use crate::effective::{KeyClaim, ReadState};
use crate::snapshot::QueueAclEntry;
use yunikorn::queue::QueuePath;
use yunikorn_access::alias::Aliased;

/// All objects, resolved.
pub(crate) struct ResolvedObjects<'a> {
    /// The `QueueAcl`s, in the order of the snapshot.
    pub queue_acls: Vec<Resolved<'a>>,
    /// The policies, with the keys of the one that decides.
    pub policies: Policies,
    /// The reason why pods get no aliases.
    pub no_aliases: Option<String>,
    /// The names of the objects by their aliases.
    pub aliased: Arc<Aliased>,
}

/// Resolves all objects, as far as there are queues to resolve them against.
pub(crate) fn resolve<'a>(read: &ReadState<'a>) -> ResolvedObjects<'a> {
    let snapshot = read.snapshot;
    let ours = read.current.as_deref().filter(|_| snapshot.claim(&read.env.key) == KeyClaim::Ours);
    // The text that this process wrote last; after another process wrote it, the one that is there now.
    let recorded = read.written.as_deref().or(ours).and_then(|text| text.tree.as_deref());
    let record = InForceRecord { output: snapshot.output.as_deref(), tree: recorded };
    let no_aliases = policy::aliases(snapshot).err();
    let dynamic = |partition: &str, queue: &QueuePath| {
        let live = &snapshot.observed.live_queues;
        live.get(partition).and_then(|queues| queues.get(queue.as_str())) == Some(&false)
    };
    let queues = read.queues();
    let resolve = |entry: &'a Arc<QueueAclEntry>| match queues {
        Ok(tree) => resolve::resolve(entry, tree, &record, snapshot.now, &dynamic, no_aliases.as_deref()),
        Err(why) => resolve::without_queues(entry, why),
    };
    ResolvedObjects {
        queue_acls: snapshot.queue_acls.iter().map(resolve).collect(),
        policies: policy::resolve(snapshot),
        no_aliases,
        aliased: Arc::new(snapshot.aliased()),
    }
}
