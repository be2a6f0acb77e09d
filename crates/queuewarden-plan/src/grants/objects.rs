//! Resolves all objects of a snapshot, combines them, and renders the decided ACLs into the base text, with a
//! proof that nothing else changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::conditions::{Finding, Reason, Type};
use crate::effective::{
    AclDecision, AclDecisions, AclLocation, Base, KeyClaim, ParseCache, ParsedConfig, ReadState, base,
};
use crate::grants::combine::{self, ByObject};
use crate::grants::policy::{self, Policies};
use crate::grants::{InForceRecord, Resolved, delegation, resolve};
use crate::snapshot::QueueAclEntry;
use go_compat::diag::{Code, Diagnostic};
use go_compat::yaml::edit::{self, Edit};
use yunikorn::{Config, QueuePath};
use yunikorn_access::alias::Aliased;

/// The rendered text does not match the decision, so it is not written.
pub(crate) const NOT_AS_MEANT: Code = Code::new(5401, "render-not-as-meant");

/// Renders the ACLs into the base's text (without a header), and parses the result.
///
/// # Errors
/// Fails when the text cannot be edited only in those places, or when the result would not activate or would
/// not match the decision.
pub(crate) fn body(
    base: &Base,
    grants: &Arc<AclDecisions>,
    cache: &mut ParseCache,
) -> Result<Arc<ParsedConfig>, Diagnostic> {
    if let Some(body) = cache.rendered(&base.read, grants) {
        return Ok(body);
    }
    let (_, edits): (Vec<_>, Vec<_>) = edits(base, grants).into_iter().unzip();
    let body = match edits.as_slice() {
        [] => Arc::clone(&base.read),
        edits => cache.edited(&base.read.text, edits)?,
    };
    prove(&body, grants)?;
    cache.remember(&base.read, grants, &body);
    Ok(body)
}

/// Returns the base's queues with the ACLs, for use when they cannot be written as text.
pub(crate) fn tree(base: &Base, grants: &AclDecisions) -> Config {
    let mut tree = Config::clone(&base.tree);
    for ((partition, path, right), decided) in grants.iter() {
        if let Some(partition) = tree.partitions.iter_mut().find(|it| it.name.eq_ignore_ascii_case(partition))
        {
            partition.set_acl(path, *right, decided.acl.explicit());
        }
    }
    tree
}

/// Returns the ACLs that cannot be written into this base because of its notation there, each with the
/// reason.
pub(crate) fn refused<'g>(base: &Base, grants: &'g AclDecisions) -> BTreeMap<&'g AclLocation, Diagnostic> {
    let (locations, edits): (Vec<_>, Vec<_>) = edits(base, grants).into_iter().unzip();
    // A text that cannot be parsed is refused as a whole.
    let refused = edit::refused(&base.read.text, &edits).unwrap_or_default();
    refused.into_iter().filter_map(|(index, why)| Some((*locations.get(index)?, why))).collect()
}

/// Returns the edits. An ACL that the base already grants is not edited, so that its bytes do not change.
fn edits<'g>(base: &Base, grants: &'g AclDecisions) -> Vec<(&'g AclLocation, Edit)> {
    let edit = |(key, decided): &'g (AclLocation, AclDecision)| {
        let queue = decided.queue_in(&base.tree, key).filter(|queue| !decided.is_acl_of(queue, key.2))?;
        Some((key, queue.edit(key.2, &decided.acl)?))
    };
    grants.iter().filter_map(edit).collect()
}

/// Compares the text as the scheduler will parse it with the decision.
fn prove(read: &ParsedConfig, grants: &AclDecisions) -> Result<(), Diagnostic> {
    let refused = |why: String| Err(Diagnostic::error(NOT_AS_MEANT, why));
    if let Some(refusal) = &read.refusal {
        return refused(format!("YuniKorn would refuse the rendered text: {refusal}"));
    }
    let Some(tree) = &read.tree else {
        return refused("the rendered text has no queues".into());
    };
    for (key @ (_, path, right), decided) in grants.iter() {
        let queue = decided.queue_in(tree, key);
        if !queue.is_some_and(|queue| decided.is_acl_of(queue, *right)) {
            return refused(format!("queue `{path}` would not get the {} that was decided", right.key()));
        }
    }
    Ok(())
}

/// All objects, resolved.
pub(crate) struct ResolvedObjects<'a> {
    /// The `QueueAcl`s, in the order of the snapshot.
    pub queue_acls: Vec<Resolved<'a>>,
    /// The policies, with the keys of the one in effect.
    pub policies: Policies,
    /// Why pods get no aliases, if they do not.
    pub no_aliases: Option<String>,
    /// The names of the objects by their aliases.
    pub aliased: Arc<Aliased>,
}

/// Resolves all objects, if there are queues to resolve them against.
pub(crate) fn resolve<'a>(read: &ReadState<'a>) -> ResolvedObjects<'a> {
    let snapshot = read.snapshot;
    let ours = read.current.as_deref().filter(|_| snapshot.claim(&read.env.key) == KeyClaim::Ours);
    // The text that this process wrote last or, if another process has written since, the current one.
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

/// Maximum number of rounds that refuse objects because their ACLs cannot be written, before the base is
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

/// Combines the objects. Refuses objects that are not in effect or whose ACLs cannot be written into the
/// base, so that they do not delay the others. `room` is the number of bytes in the ConfigMap that are free
/// without any object.
pub(crate) fn combine(
    read: &ReadState<'_>,
    resolved: &mut ResolvedObjects<'_>,
    room: usize,
    cache: &mut ParseCache,
) -> Combined {
    let Ok(queues) = read.queues() else { return Combined::default() };
    let objects = &mut resolved.queue_acls;
    let base = read.from.as_ref();
    let room = room.saturating_sub(base.map_or(0, |base| base.read.text.len()));
    let mut round = |objects: &mut [Resolved<'_>]| {
        delegation::recheck(objects, read.spec.delegation, queues, room);
        let (decisions, by_object) = combine::decide_by_object(&*objects, queues);
        let decisions = Arc::new(decisions);
        let body = base.map(|base| render_into(base, &decisions, cache));
        (decisions, by_object, body)
    };
    let (mut decisions, mut by_object, mut body) = round(objects);
    for _ in 0..MAX_ROUNDS {
        let (Some(base), Some(Err(_))) = (base, &body) else { break };
        let refused = refused(base, &decisions);
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
            let desired = Some(Arc::new(tree(base, &decisions)));
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
    body(base, decisions, cache).map_err(|diagnostic| {
        let located = base::located(&diagnostic, &base.read.text, base.above);
        let message = format!("the ACLs cannot be rendered into {}: {located}", base.source);
        Finding::no(Type::BaseResolved, Reason::BaseInvalid, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use yunikorn::acl;
    use yunikorn::queue::QueuePath;
    use yunikorn::right::Right;
    use yunikorn::version::Version;

    /// Checks the last step before a text is written: regardless of what produced it, it must load and match
    /// the decision.
    #[test]
    fn a_text_that_is_not_as_meant_is_refused() {
        let acl = acl::parse("sue").unwrap();
        let location = ("default".into(), QueuePath::parse("root.a").unwrap(), Right::Submit);
        let grants = AclDecisions::from([(
            location,
            AclDecision { acl, taken: acl::parse(" ").unwrap(), position: 1 },
        )]);
        let prove =
            |text: &str, grants: &AclDecisions| prove(&ParseCache::new(Version::V1_8).read(text), grants);
        let text = |queue: &str| {
            format!("partitions: [{{name: default, queues: [{{name: root, queues: [{queue}]}}]}}]")
        };
        assert!(prove(&text("{name: a, submitacl: sue}"), &grants).is_ok());
        let wrong = [
            "{name: a, submitacl: bob}",
            "{name: a, adminacl: sue}",
            "{name: b, submitacl: sue}",
            "{name: a, submitacl: s  e}",
        ];
        for queue in wrong {
            let refusal = prove(&text(queue), &grants).unwrap_err();
            assert_eq!(refusal.code, NOT_AS_MEANT, "{queue}");
        }
    }
}
