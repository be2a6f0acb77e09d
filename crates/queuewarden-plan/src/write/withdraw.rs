//! Applies the withdrawals alone: the current text without the access that the desired text does not grant.
//!
//! This text is written where the desired text cannot be: an end, a deletion or a narrowed grant must not
//! wait for a broken base, for space in the ConfigMap or for a scheduler that refuses the desired text. An
//! entry of an ACL stays if the desired text grants its subject the same right on that queue or on one above
//! it, because access only adds up towards the root. So the result grants nothing that the current text or
//! the desired one does not grant. The rule that an administrator may submit as well preserves no entry,
//! because statuses go by each right.

use std::sync::Arc;

use crate::effective::{ParseCache, ParsedConfig, acl_of, text_of};
use go_compat::yaml::edit::{self, Edit};
use yunikorn::acl::Acl;
use yunikorn::config::{Config, Partition, Queue};
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;

/// Applies the withdrawals to the current text (without a header); `None` when there are none, or when none
/// can be written into it.
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

/// Returns whether the same ACL is written at the same queue: nearly always, and then nothing needs to be
/// parsed.
fn same_text(partition: &Partition, queue: &Queue, right: Right) -> bool {
    let other = partition.queue_near(queue.position, &queue.path);
    other.is_some_and(|other| text_of(other, right) == text_of(queue, right))
}

/// Returns everyone who has one of the rights on the queue, by its ACLs and by those of the queues above it.
fn granted(partition: &Partition, queue: &QueuePath, rights: &[Right]) -> Acl {
    let lineage = queue.lineage().filter_map(|path| partition.queue(&path));
    let acls = lineage.flat_map(|queue| rights.iter().map(move |right| acl_of(queue, *right)));
    acls.fold(Acl::nobody(), |all, acl| all.union(&acl))
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
