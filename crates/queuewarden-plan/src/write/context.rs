//! The context of the decision about the output ConfigMap.

use std::sync::Arc;

use crate::conditions::Finding;
use crate::effective::base::Base;
use crate::effective::config::EffectiveConfig;
use crate::effective::parse_cache::ParsedConfig;
use crate::grants::contribution::Resolved;
use crate::grants::policy::Policies;
use crate::snapshot::{ConfigSpec, Snapshot};
use yunikorn::config::Config;

/// The inputs of the decision.
pub(crate) struct WriteContext<'a> {
    pub snapshot: &'a Snapshot,
    pub spec: &'a ConfigSpec,
    pub env: EffectiveConfig,
    /// The base, or condition `BaseResolved` when there is none.
    pub base: Result<Base, Finding>,
    /// The base that the body was rendered from: the last good one where the current base is invalid.
    pub from: Option<Base>,
    /// The rendered body; `None` when it cannot be rendered.
    pub body: Option<Arc<ParsedConfig>>,
    /// Its queues, which are known even if they cannot be written as text.
    pub desired: Option<Arc<Config>>,
    /// The text in the output under the key; `None` when there is none.
    pub current: Option<Arc<ParsedConfig>>,
    /// The text that this process wrote last under the key.
    pub written: Option<Arc<ParsedConfig>>,
    /// The text that the scheduler was last proven to run.
    pub proven: Option<Arc<ParsedConfig>>,
    /// The objects, in the order of the snapshot.
    pub objects: Vec<Resolved<'a>>,
    /// The policies, with the keys of the one that decides.
    pub policies: Policies,
    /// True if the scheduler should have loaded the text and did not: the text is written again.
    pub reassert: bool,
}

impl WriteContext<'_> {
    /// Returns the number of objects that the body was rendered from.
    pub(crate) fn count(&self) -> usize {
        self.objects.iter().filter(|object| object.contribution().is_some()).count()
    }

    /// Returns the queues of the text in the output.
    pub(crate) fn current_tree(&self) -> Option<&Config> {
        self.current.as_ref()?.tree.as_deref()
    }
}

/// Returns the text that withdrawals are applied to: the text in the output, unless the scheduler refuses it
/// or somebody else wrote it.
pub(crate) fn to_narrow<'q>(inputs: &'q WriteContext<'_>) -> Option<&'q Arc<ParsedConfig>> {
    let current = inputs.current.as_ref();
    if inputs.snapshot.observed.refused.is_some() && inputs.proven.is_some() {
        return inputs.proven.as_ref();
    }
    if repairs(inputs) { inputs.written.as_ref().or(current) } else { current }
}

pub(crate) fn live_text<'a>(inputs: &'a WriteContext<'_>) -> Option<&'a str> {
    inputs.snapshot.output_text(&inputs.env.key).map(String::as_str)
}

/// Returns whether an older write may still be accepted, or was accepted and is not observed yet: then
/// another text may be in force.
pub(crate) fn is_fenced(snapshot: &Snapshot) -> bool {
    let version = snapshot.output.as_deref().map(|output| &output.resource_version);
    version.is_some() && snapshot.observed.fence.as_ref() == version
}

/// Returns whether writing the queue tree puts back someone else's change, rather than adding something new.
pub(crate) fn repairs(inputs: &WriteContext<'_>) -> bool {
    let last = inputs
        .snapshot
        .observed
        .last_written
        .as_ref()
        .or_else(|| inputs.snapshot.config_status()?.config_hash.as_ref());
    let live = live_text(inputs).map(|text| inputs.env.checksum_of(text));
    last.is_some() && live.as_ref() != last
}
