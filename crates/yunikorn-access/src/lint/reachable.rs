//! Finds the queues that the placement rules can lead to at all.
//!
//! Filters and resolved names are not considered: a queue that counts as reachable may be reached by nobody,
//! but one that counts as unreachable is never reached (yunikorn-core `pkg/scheduler/placement`).

use crate::placement::DEFAULT_QUEUE;
use crate::tree::Tree;
use yunikorn::config::schema::PlacementRule;
use yunikorn::queue::{QueuePath, ROOT};

/// The tag that holds an application's namespace, which has no dots in it (yunikorn-k8shim
/// `pkg/cache/metadata.go:74`).
const NAMESPACE: &str = "namespace";

/// The queues that the rules lead to.
#[derive(Debug)]
pub(super) struct Reachable {
    targets: Vec<Target>,
}

/// The queues that one rule leads to.
#[derive(Debug)]
struct Target {
    /// The names of the queue from the root, each `None` if it can be any; the whole is `None` if the rule
    /// can lead to any queue.
    path: Option<Vec<Option<String>>>,
    /// True if missing queues are created.
    create: bool,
}

impl Reachable {
    pub(super) fn new(tree: &Tree) -> Self {
        let rules = tree.placement_rules();
        // Without rules applications name their queue, which must exist (`placement.go:223`).
        let provided = rules.is_empty().then_some(Target { path: None, create: false });
        let targets = rules.iter().map(|rule| Target { path: path(rule), create: rule.create });
        Self { targets: provided.into_iter().chain(targets).collect() }
    }

    /// Returns whether an application may be placed in this leaf.
    pub(super) fn leaf(&self, queue: &QueuePath) -> bool {
        queue.as_str() == DEFAULT_QUEUE || self.targets.iter().any(|target| target.leads_to(queue, usize::eq))
    }

    /// Returns whether a queue may be created right below this parent, or further down.
    pub(super) fn creates_below(&self, queue: &QueuePath) -> bool {
        self.targets.iter().any(|target| target.create && target.leads_to(queue, usize::lt))
    }

    /// Returns whether any rule creates queues.
    pub(super) fn creates(&self) -> bool {
        self.targets.iter().any(|target| target.create)
    }
}

impl Target {
    /// Returns whether the path begins with the names of `queue`, and its length relates to the queue's as
    /// `fits` requires.
    fn leads_to(&self, queue: &QueuePath, fits: impl Fn(&usize, &usize) -> bool) -> bool {
        let Some(path) = &self.path else { return true };
        let same = |(name, part): (&Option<String>, &str)| name.as_deref().is_none_or(|name| name == part);
        fits(&queue.parts().count(), &path.len()) && path.iter().zip(queue.parts()).all(same)
    }
}

/// The names of the queue that a rule leads to; `None` when it may be any.
fn path(rule: &PlacementRule) -> Option<Vec<Option<String>>> {
    let value = rule.value.as_str().to_ascii_lowercase();
    match rule.name.as_str().to_ascii_lowercase().as_str() {
        "fixed" => {
            let names = value.split('.').map(|name| Some(name.to_owned()));
            match value.strip_prefix(ROOT) {
                Some(rest) if rest.starts_with('.') => Some(names.collect()),
                // The value is taken for a full path, but is not one.
                Some(_) => None,
                None => Some(above(rule)?.into_iter().chain(names).collect()),
            }
        }
        "user" => below_parent(rule),
        "tag" if value == NAMESPACE => below_parent(rule),
        // An application that names a full path gets it, whatever the parent rule says.
        _ => None,
    }
}

/// A queue of any name, right below the one that the parent rule leads to.
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
        /// A queue that an application lands in counts as reachable: so what counts as unreachable is.
        #[test]
        fn wherever_an_application_lands_is_reachable(
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
