//! Renders the decided ACLs into the base text, and proves that nothing else changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::effective::{AclDecision, AclDecisions, AclLocation, Base, ParseCache, ParsedConfig};
use go_compat::diag::{Code, Diagnostic};
use go_compat::yaml::edit::{self, Edit};
use yunikorn::config::Config;

/// The text that would be written does not grant what was decided. It is not written.
pub(crate) const NOT_AS_MEANT: Code = Code::new(5401, "render-not-as-meant");

/// Renders the ACLs into the base's text (without a header), and reads the result.
///
/// # Errors
/// Fails when the text cannot be edited in those locations alone, or when the result would not activate or
/// not grant what was decided.
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

/// Returns the ACLs that cannot be written into this base, because of its notation at those locations, each
/// with the reason.
pub(crate) fn refused<'g>(base: &Base, grants: &'g AclDecisions) -> BTreeMap<&'g AclLocation, Diagnostic> {
    let (locations, edits): (Vec<_>, Vec<_>) = edits(base, grants).into_iter().unzip();
    // A text that cannot be read is refused as a whole.
    let refused = edit::refused(&base.read.text, &edits).unwrap_or_default();
    refused.into_iter().filter_map(|(index, why)| Some((*locations.get(index)?, why))).collect()
}

/// Returns the edits: none where the base grants the same already, so that its bytes stay.
fn edits<'g>(base: &Base, grants: &'g AclDecisions) -> Vec<(&'g AclLocation, Edit)> {
    let edit = |(key, decided): &'g (AclLocation, AclDecision)| {
        let queue = decided.queue_in(&base.tree, key).filter(|queue| !decided.is_acl_of(queue, key.2))?;
        Some((key, queue.edit(key.2, &decided.acl)?))
    };
    grants.iter().filter_map(edit).collect()
}

/// Compares what the scheduler will read with what was decided.
fn prove(read: &ParsedConfig, grants: &AclDecisions) -> Result<(), Diagnostic> {
    let refused = |why: String| Err(Diagnostic::error(NOT_AS_MEANT, why));
    if let Some(refusal) = &read.refusal {
        return refused(format!("YuniKorn would not take the rendered text: {refusal}"));
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

#[cfg(test)]
mod tests {
    use super::*;
    use yunikorn::acl;
    use yunikorn::queue::QueuePath;
    use yunikorn::right::Right;
    use yunikorn::version::Version;

    /// Checks the last step before a text is written: whatever made it, it must load and grant what was
    /// decided.
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
