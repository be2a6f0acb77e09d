//! The shape of the queue tree, its names and its ACLs.

use std::borrow::Cow;
use std::collections::HashSet;

use super::super::codes::{ACL_PARTS, QUEUE_DUPLICATE, QUEUE_NAME, QUEUES_MISSING, ROOT_RESOURCES};
use super::super::names::to_lower;
use super::super::schema::{PartitionConfig, QueueConfig};
use super::{ROOT, limits};
use crate::{acl, queue};
use go_compat::diag::Diagnostic;
use go_compat::yaml::decode::{Spanned, items};

/// The message for a queue name that is refused (yunikorn-core `common/errors.go:25`).
pub const NAME_REFUSED: &str = "invalid queue name, max 64 characters consisting of alphanumeric characters \
    and '-', '_', '#', '@', '/', ':' allowed";

/// `checkQueuesStructure` (`configvalidator.go:694`): one root queue, inserted where it is missing.
pub(super) fn insert_root(partition: &mut PartitionConfig) -> Result<(), Diagnostic> {
    let head = partition.head();
    let Some(queues) = partition.queues.as_mut() else {
        return Err(Diagnostic::error(QUEUES_MISSING, "queue config is not set")
            .at(head)
            .help("write `queues: [{name: root}]`, or the queues that should be there"));
    };
    match queues.as_mut_slice() {
        [root] if to_lower(root.name.as_str()) == ROOT => root.parent = true,
        _ => {
            let queues = std::mem::take(queues);
            let root = QueueConfig {
                name: ROOT.into(),
                parent: true,
                queues: Some(queues),
                ..QueueConfig::default()
            };
            partition.queues = Some(vec![root]);
        }
    }
    match items(&partition.queues).first() {
        Some(root) if root.resources.guaranteed.is_some() || root.resources.max.is_some() => {
            Err(Diagnostic::error(ROOT_RESOURCES, "root queue must not have resource limits set")
                .at(root.head())
                .help("remove `resources` from the root queue: it has what the nodes have"))
        }
        _ => Ok(()),
    }
}

/// `checkQueues` (`configvalidator.go:645`): ACLs and limits of this queue, the names of its children, then
/// each of them.
pub(super) fn check(queue: &QueueConfig, level: usize) -> Result<(), Diagnostic> {
    check_acl(&queue.admin_acl)?;
    check_acl(&queue.submit_acl)?;
    limits::check(queue)?;
    let mut seen = HashSet::with_capacity(queue.children().len());
    for child in queue.children() {
        let name = child.name.as_str();
        if !queue::name_ok(name) {
            return Err(Diagnostic::error(QUEUE_NAME, NAME_REFUSED).at(child.head()));
        }
        if !seen.insert(lowered(name)) {
            let message = format!("duplicate child name found with name '{name}', level {level}");
            return Err(Diagnostic::error(QUEUE_DUPLICATE, message)
                .at(child.head())
                .help("rename one of the two: queue names are compared without case"));
        }
    }
    queue.children().iter().try_for_each(|child| check(child, level + 1))
}

/// The name in lower case. It is a valid queue name, and so ASCII.
fn lowered(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

/// `checkACL` (`configvalidator.go:109`).
fn check_acl(acl: &Spanned) -> Result<(), Diagnostic> {
    acl::validates(acl.as_str()).map_err(|error| {
        Diagnostic::error(ACL_PARTS, error.to_string())
            .at(acl.span)
            .help("write the users separated by commas, one space, then the groups separated by commas")
    })
}
