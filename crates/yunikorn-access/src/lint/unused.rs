//! Finds queues that nobody can submit to, or that no application reaches.

use super::{Findings, LocatedAcl, codes};
use crate::placement::DEFAULT_QUEUE;
use crate::tree::{Node, QueueId, Tree};
use go_compat::diag::{Code, plural, quoted};
use yunikorn::config::schema::PlacementRule;
use yunikorn::queue::{QueuePath, ROOT};
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

/// For each queue, returns whether an application can be in it or below it.
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
    findings.about_parts(acl, code, &format!("{acl} has no effect: {why}"), help);
}

/// The code, the reason, and the help.
type Message = (Code, String, &'static str);

fn unreachable(node: &Node) -> Message {
    let below = if node.is_leaf { "" } else { " or below it" };
    let why = format!("no placement rule reaches the queue{below}");
    let help = "add a placement rule that reaches it, such as `provided`, or remove the queue";
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

/// Reports the topmost queue of a subtree that nobody may submit to.
fn nobody_submits(tree: &Tree, silent: &[bool], id: QueueId, node: &Node, findings: &mut Findings) {
    let is_silent = |id: QueueId| silent.get(id.index()).copied().unwrap_or_default();
    if node.stops(Right::Submit) || !is_silent(id) || node.parent.is_some_and(is_silent) {
        return;
    }
    let below = tree.subtree(id).len().saturating_sub(1);
    let below = match below {
        0 => String::new(),
        _ => format!(" and {} below it", plural(below, "queue")),
    };
    let message = format!(
        "nobody may submit to {}{below}: no ACL there or above grants submit to anyone",
        quoted(node.path.as_str())
    );
    let help = "grant submit to someone, or write `submitacl: \" \"` if this is intended";
    // A root that is missing in the text is located at its first child.
    let mut subtree = tree.queues().skip(id.index()).take(tree.subtree(id).len());
    let head = subtree.find_map(|(_, node)| node.head.as_ref());
    findings.about_queue(id, head, codes::NOBODY_SUBMITS, message, help);
}

/// For each queue, returns whether no ACL is written at it, above it or below it. An ACL that grants access
/// to nobody is either intended or reported elsewhere.
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

/// For each queue, returns whether `holds` is true for it or for a queue below it.
fn any_below(tree: &Tree, mut holds: Vec<bool>) -> Vec<bool> {
    // Queues come after their parents.
    for (id, node) in tree.queues().rev() {
        if holds.get(id.index()).copied().unwrap_or_default()
            && let Some(above) = node.parent.and_then(|parent| holds.get_mut(parent.index()))
        {
            *above = true;
        }
    }
    holds
}

/// The tag with the application's namespace, which contains no dots (yunikorn-k8shim
/// `pkg/cache/metadata.go:74`).
const NAMESPACE: &str = "namespace";

/// The queues that the placement rules can reach. Filters and resolved names are ignored: a queue reported as
/// reachable may be reached by nobody, but a queue reported as unreachable is never reached (yunikorn-core
/// `pkg/scheduler/placement`).
#[derive(Debug)]
struct Reachable {
    targets: Vec<Target>,
}

/// The queues that one rule can reach.
#[derive(Debug)]
struct Target {
    /// The names in the path from the root, `None` for any name. The path itself is `None` if the rule can
    /// reach any queue.
    path: Option<Vec<Option<String>>>,
    /// True if the rule creates missing queues.
    create: bool,
}

impl Reachable {
    fn new(tree: &Tree) -> Self {
        let rules = tree.placement_rules();
        // Without rules, applications name their queue, which must exist (`placement.go:223`).
        let provided = rules.is_empty().then_some(Target { path: None, create: false });
        let targets = rules.iter().map(|rule| Target { path: path(rule), create: rule.create });
        Self { targets: provided.into_iter().chain(targets).collect() }
    }

    /// Returns whether an application can be placed in this leaf.
    fn leaf(&self, queue: &QueuePath) -> bool {
        queue.as_str() == DEFAULT_QUEUE || self.targets.iter().any(|target| target.leads_to(queue, usize::eq))
    }

    /// Returns whether a queue can be created below this parent, on any level.
    fn creates_below(&self, queue: &QueuePath) -> bool {
        self.targets.iter().any(|target| target.create && target.leads_to(queue, usize::lt))
    }

    /// Returns whether any rule creates queues.
    fn creates(&self) -> bool {
        self.targets.iter().any(|target| target.create)
    }
}

impl Target {
    /// Returns whether the path begins with the names of `queue`, and `fits` accepts the two lengths.
    fn leads_to(&self, queue: &QueuePath, fits: impl Fn(&usize, &usize) -> bool) -> bool {
        let Some(path) = &self.path else { return true };
        let same = |(name, part): (&Option<String>, &str)| name.as_deref().is_none_or(|name| name == part);
        fits(&queue.parts().count(), &path.len()) && path.iter().zip(queue.parts()).all(same)
    }
}

/// Returns the names of the queue that a rule reaches, or `None` if it can be any queue.
fn path(rule: &PlacementRule) -> Option<Vec<Option<String>>> {
    let value = rule.value.as_str().to_ascii_lowercase();
    match rule.name.as_str().to_ascii_lowercase().as_str() {
        "fixed" => {
            let names = value.split('.').map(|name| Some(name.to_owned()));
            match value.strip_prefix(ROOT) {
                Some(rest) if rest.starts_with('.') => Some(names.collect()),
                // The value looks like a full path, but is not valid.
                Some(_) => None,
                None => Some(above(rule)?.into_iter().chain(names).collect()),
            }
        }
        "user" => below_parent(rule),
        "tag" if value == NAMESPACE => below_parent(rule),
        // An application that names a full path gets it, regardless of the parent rule.
        _ => None,
    }
}

/// Returns a queue of any name directly below the parent rule's queue.
fn below_parent(rule: &PlacementRule) -> Option<Vec<Option<String>>> {
    above(rule).map(|above| above.into_iter().chain([None]).collect())
}

fn above(rule: &PlacementRule) -> Option<Vec<Option<String>>> {
    match &rule.parent {
        Some(parent) => path(parent),
        None => Some(vec![Some(ROOT.to_owned())]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::{Outcome, Submission, place};
    use crate::testing::parsed;
    use crate::tree::Located;
    use proptest::prelude::*;
    use yunikorn::identity::Identity;

    const QUEUES: &str = "[{name: a, queues: [{name: a}, {name: b, parent: true}]}, {name: b}, {name: c, \
        parent: true}, {name: default}]";

    fn any_rule() -> impl Strategy<Value = String> {
        let kind = prop_oneof![
            Just("name: user".to_owned()),
            Just("name: provided".to_owned()),
            Just("name: tag, value: namespace".to_owned()),
            Just("name: tag, value: Other".to_owned()),
            "(root\\.)?[a-c](\\.[a-c])?".prop_map(|value| format!("name: fixed, value: {value}")),
        ];
        let rule = (kind, any::<bool>()).prop_map(|(kind, create)| format!("{kind}, create: {create}"));
        proptest::collection::vec(rule, 1..4).prop_map(|chain| {
            let nested = chain.into_iter().reduce(|above, rule| format!("{rule}, parent: {{{above}}}"));
            format!("{{{}}}", nested.unwrap_or_default())
        })
    }

    proptest! {
        /// An application is only placed in a reachable queue, so reports of unreachable queues are correct.
        #[test]
        fn queue_of_a_placed_application_is_reachable(
            rules in proptest::collection::vec(any_rule(), 0..3),
            user in "[a-c]", namespace in "[a-c]", other in "(root\\.)?[a-c](\\.[a-c])?", queue in "((root\\.)?[a-c](\\.[a-c])?)?",
        ) {
            let text = format!(
                "partitions: [{{name: default, placementrules: [{}], queues: [{{name: root, submitacl: '*', \
                 queues: {QUEUES}}}]}}]",
                rules.join(", ")
            );
            // The validator refuses some rules because of the queues in the text.
            if yunikorn::config::verdict(&text, &[], yunikorn::version::Version::V1_8).starts.is_err() {
                return Ok(());
            }
            let tree = parsed(&text);
            let tags = [("namespace", namespace), ("other", other)].map(|(name, value)| (name.to_owned(), value));
            let identity = Identity { user, groups: vec!["g".to_owned()] };
            let submission =
                Submission { application_id: "app".to_owned(), identity, queue, tags: tags.into() };
            if let Outcome::Placed(queue) = place(&tree, &submission).outcome {
                let reachable = Reachable::new(&tree);
                match tree.locate(&queue) {
                    Located::Queue(id) => prop_assert!(reachable.leaf(&tree.node(id).unwrap().path), "{queue} {text}"),
                    Located::Below(id) => prop_assert!(reachable.creates_below(&tree.node(id).unwrap().path), "{queue} {text}"),
                    Located::BelowLeaf(_) | Located::Nowhere => prop_assert!(false, "{queue}"),
                }
            }
        }
    }
}
