//! Combines the objects: joins their grants, and renders them into the base.

use std::sync::Arc;

use super::combine::{self, ByObject};
use super::contribution::Resolved;
use super::objects::ResolvedObjects;
use super::{delegation, render, resolve};
use crate::conditions::{Finding, Reason, Type};
use crate::effective::{AclDecisions, Base, ParseCache, ParsedConfig, ReadState, base};
use yunikorn::config::Config;

/// The most rounds in which objects are refused because their ACLs cannot be written, before the base is
/// refused. Without the refused objects, others may become writable.
const MAX_ROUNDS: usize = 4;

/// The joint result of all objects.
#[derive(Default)]
pub(crate) struct Combined {
    pub decisions: Arc<AclDecisions>,
    pub by_object: ByObject,
    /// The base with the grants in it; `None` when it cannot be rendered.
    pub body: Option<Arc<ParsedConfig>>,
    /// Its queues, which are known even if they cannot be written as text.
    pub desired: Option<Arc<Config>>,
    /// Condition `BaseResolved` if the grants cannot be rendered into the base.
    pub unrendered: Option<Finding>,
}

/// Combines the objects, and refuses those that do not count, or whose ACLs cannot be written into the base,
/// so that they do not delay the others. Without any object, `room` bytes of the ConfigMap are left.
pub(crate) fn combine(
    read: &ReadState<'_>,
    resolved: &mut ResolvedObjects<'_>,
    room: usize,
    cache: &mut ParseCache,
) -> Combined {
    let Ok(tree) = read.queues() else { return Combined::default() };
    let objects = &mut resolved.queue_acls;
    let base = read.from.as_ref();
    let room = room.saturating_sub(base.map_or(0, |base| base.read.text.len()));
    let mut round = |objects: &mut [Resolved<'_>]| {
        delegation::recheck(objects, read.spec.delegation, tree, room);
        let (decisions, by_object) = combine::decide_by_object(&*objects, tree);
        let decisions = Arc::new(decisions);
        let body = base.map(|base| render_into(base, &decisions, cache));
        (decisions, by_object, body)
    };
    let (mut decisions, mut by_object, mut body) = round(objects);
    for _ in 0..MAX_ROUNDS {
        let (Some(base), Some(Err(_))) = (base, &body) else { break };
        let refused = render::refused(base, &decisions);
        if refused.is_empty() {
            break;
        }
        resolve::withdraw(objects, &refused);
        (decisions, by_object, body) = round(objects);
    }
    match (body, base) {
        (Some(Ok(body)), _) => {
            let desired = body.tree.clone();
            Combined { decisions, by_object, body: Some(body), desired, unrendered: None }
        }
        (Some(Err(finding)), Some(base)) => {
            let desired = Some(Arc::new(render::tree(base, &decisions)));
            Combined { decisions, by_object, body: None, desired, unrendered: Some(finding) }
        }
        _ => Combined { decisions, by_object, ..Combined::default() },
    }
}

/// Renders the ACLs into the base; the error is condition `BaseResolved`.
fn render_into(
    base: &Base,
    decisions: &Arc<AclDecisions>,
    cache: &mut ParseCache,
) -> Result<Arc<ParsedConfig>, Finding> {
    render::body(base, decisions, cache).map_err(|diagnostic| {
        let located = base::located(&diagnostic, &base.read.text, base.above);
        let message = format!("the ACLs cannot be rendered into {}: {located}", base.source);
        Finding::no(Type::BaseResolved, Reason::BaseInvalid, message)
    })
}
