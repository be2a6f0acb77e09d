//! Finds queues that nobody can submit to, or that no application reaches.

use super::reachable::Reachable;
use super::{Findings, LocatedAcl, codes};
use crate::tree::{Node, QueueId, Tree};
use go_compat::diag::{Code, plural, quoted};
use yunikorn::right::Right;

pub(super) fn find(tree: &Tree, findings: &mut Findings) {
    let reachable = Reachable::new(tree);
    let used = used(tree, &reachable);
    let is_used = |id: QueueId| used.get(id.index()).copied().unwrap_or(true);
    for acl in LocatedAcl::each(tree).filter(|acl| !is_used(acl.id) && !acl.node.path.is_recovery()) {
        unusable(tree, acl, &reachable, findings);
    }
    let silent = silent(tree);
    for (id, node) in tree.queues().filter(|(id, _)| is_used(*id)) {
        nobody_submits(tree, &silent, id, node, findings);
    }
}

/// For each queue, true if an application can be in it or below it.
fn used(tree: &Tree, reachable: &Reachable) -> Vec<bool> {
    let by_itself = tree.queues().map(|(_, node)| {
        if node.is_leaf { reachable.leaf(&node.path) } else { reachable.creates_below(&node.path) }
    });
    any_below(tree, by_itself.collect())
}

fn unusable(tree: &Tree, acl: LocatedAcl<'_>, reachable: &Reachable, findings: &mut Findings) {
    let mut subtree = tree.queues().skip(acl.id.index()).take(tree.subtree(acl.id).len());
    let (code, why, help) = if subtree.any(|(_, node)| node.is_leaf) {
        unreachable(acl.node)
    } else {
        no_leaf(acl.node, reachable)
    };
    findings.about_parts(acl, code, &format!("{acl} helps nobody: {why}"), help);
}

/// The code, the reason why nobody can use the queue, and the help.
type Message = (Code, String, &'static str);

fn unreachable(node: &Node) -> Message {
    let below = if node.is_leaf { "" } else { " or below it" };
    let why = format!("no placement rule leads to the queue{below}");
    let help = "add a placement rule that leads there, such as `provided`, or remove the queue";
    (codes::UNREACHABLE, why, help)
}

fn no_leaf(node: &Node, reachable: &Reachable) -> Message {
    let creates = if reachable.creates() { "creates one there" } else { "creates queues" };
    let why = format!("the queue is a parent without a leaf below it, and no placement rule {creates}");
    let help = if node.path.is_root() {
        "add a queue below it, or a placement rule with `create: true`"
    } else {
        "remove `parent: true`, or add a queue below it, or a placement rule with `create: true`"
    };
    (codes::NO_LEAF, why, help)
}

/// Reports the topmost queue when nobody may submit to it nor to any queue below it.
fn nobody_submits(tree: &Tree, silent: &[bool], id: QueueId, node: &Node, findings: &mut Findings) {
    let is_silent = |id: QueueId| silent.get(id.index()).copied().unwrap_or_default();
    if node.stops(Right::Submit) || !is_silent(id) || node.parent.is_some_and(is_silent) {
        return;
    }
    let below = tree.subtree(id).len().saturating_sub(1);
    let (below, they) = match below {
        0 => (String::new(), "it nor"),
        _ => (format!(" and {} below it", plural(below, "queue")), "they nor"),
    };
    let message = format!(
        "nobody may submit to {}{below}: neither {they} the queues above grant it to anyone",
        quoted(node.path.as_str())
    );
    let help = "grant it to someone, or say that it is on purpose with `submitacl: \" \"`";
    // A root that the text does not have is in the text by the first queue below it.
    let mut subtree = tree.queues().skip(id.index()).take(tree.subtree(id).len());
    let head = subtree.find_map(|(_, node)| node.head.as_ref());
    findings.about_queue(id, head, codes::NOBODY_SUBMITS, message, help);
}

/// For each queue, true if no ACL is written at it, nor at any queue above or below it. An ACL that grants
/// nobody anything is on purpose, or reported elsewhere.
fn silent(tree: &Tree) -> Vec<bool> {
    let written = |node: &Node| Right::ALL.iter().any(|right| !node.grants(*right).text.is_empty());
    let mut above: Vec<bool> = Vec::with_capacity(tree.queues().len());
    for (_, node) in tree.queues() {
        let parent = node.parent.and_then(|parent| above.get(parent.index()).copied());
        above.push(parent.unwrap_or_default() || written(node));
    }
    let below = any_below(tree, tree.queues().map(|(_, node)| written(node)).collect());
    above.iter().zip(below).map(|(above, below)| !above && !below).collect()
}

/// For each queue, true if `holds` is true of it or of any queue below it.
fn any_below(tree: &Tree, mut holds: Vec<bool>) -> Vec<bool> {
    // Queues come after the one above them.
    for (id, node) in tree.queues().rev() {
        if holds.get(id.index()).copied().unwrap_or_default()
            && let Some(above) = node.parent.and_then(|parent| holds.get_mut(parent.index()))
        {
            *above = true;
        }
    }
    holds
}
