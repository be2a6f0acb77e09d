//! Finds placement rules that place no application on Kubernetes (yunikorn-core `pkg/scheduler/placement`).

use super::codes::RULE_DEAD;
use super::names::to_lower;
use super::schema::{Filter, PartitionConfig, PlacementRule, QueueConfig};
use super::validate::ROOT;
use crate::admission::request::{POLICY, TASK_GROUPS};
use go_compat::diag::{Diagnostic, Span, quoted};
use go_compat::yaml::decode::items;

/// The tags of an application on Kubernetes. A rule may name them in any case (yunikorn-k8shim
/// `pkg/cache/metadata.go:70-134`, `pkg/cache/context.go:917-952` and `1005`).
const TAGS: [&str; 10] = [
    "namespace",
    "namespace.parentqueue",
    "namespace.resourcequota",
    "namespace.resourceguaranteed",
    "namespace.resourcemaxapps",
    "application.create.force",
    "imagePullSecrets",
    TASK_GROUPS,
    POLICY,
    "yunikorn.apache.org/creationTime",
];

/// The tag with the namespace, the only one of these whose value is never a full path.
const NAMESPACE: &str = "namespace";

/// Returns a warning about each rule that places no application, of rules that the validator accepts: it
/// refuses rules for queues that do not exist, or take no applications (`configvalidator.go:360`).
pub(super) fn rules(partition: &PartitionConfig) -> Vec<Diagnostic> {
    let rules = items(&partition.placement_rules);
    let below_root = match items(&partition.queues) {
        [only] if to_lower(only.name.as_str()) == ROOT => only.children(),
        all => all,
    };
    let dead = |(number, rule): (usize, &PlacementRule)| {
        let mut others = rules.iter().enumerate().filter(|(other, _)| *other != number);
        let queues = Queues { below_root, others_create: others.any(|(_, other)| other.create) };
        queues.dead(rule).map(Dead::warning)
    };
    rules.iter().enumerate().filter_map(dead).collect()
}

/// The reason why a rule places no application.
struct Dead {
    span: Span,
    why: String,
    help: &'static str,
}

impl Dead {
    fn new(span: Option<Span>, rule: &PlacementRule, why: String, help: &'static str) -> Self {
        Self { span: span.unwrap_or_else(|| rule.head()), why, help }
    }

    fn warning(self) -> Diagnostic {
        let message = format!("this rule places no application: {}", self.why);
        Diagnostic::warning(RULE_DEAD, message).at(self.span).help(self.help)
    }
}

/// The queues that a rule finds.
struct Queues<'c> {
    below_root: &'c [QueueConfig],
    /// True if another rule may create queues.
    others_create: bool,
}

impl<'c> Queues<'c> {
    /// Returns the queues right below a path in lower case; `None` if it is no queue of the configuration.
    fn below(&self, path: &str) -> Option<&'c [QueueConfig]> {
        path.split('.').skip(1).try_fold(self.below_root, |level, name| {
            Some(level.iter().find(|queue| to_lower(queue.name.as_str()) == name)?.children())
        })
    }

    /// Explains why a rule places no application.
    fn dead(&self, rule: &PlacementRule) -> Option<Dead> {
        if let Some(dead) = self.nameless(rule) {
            return Some(dead);
        }
        // The validator knows parents by the field `parent` alone.
        if let Some(path) =
            fixed_path(rule).filter(|path| path != ROOT && self.below(path).is_some_and(has_queues))
        {
            let why = format!("{} has queues below it, and applications run in leaves", quoted(&path));
            return Some(Dead::new(rule.value.span, rule, why, "name a queue below it"));
        }
        let is_parent = |queue: &QueueConfig| queue.parent || !queue.children().is_empty();
        let parent = rule.parent.as_deref().filter(|_| is_one_name(rule) && !is(rule, "fixed"))?;
        let path = fixed_path(parent)?;
        let may_exist = rule.create || self.others_create || !self.below(&path)?.iter().all(is_parent);
        (!may_exist).then(|| {
            let why = format!("there is no leaf right below {}, and no rule creates queues", quoted(&path));
            Dead::new(None, rule, why, "add the queues, or `create: true`")
        })
    }

    /// Explains why a rule names no queue.
    fn nameless(&self, rule: &PlacementRule) -> Option<Dead> {
        if denies_all(&rule.filter) {
            let why = "its filter denies everyone, because it lists no names".to_owned();
            let help = "list the users or groups, or remove the filter";
            return Some(Dead::new(rule.filter.kind.span, rule, why, help));
        }
        let tag = to_lower(rule.value.as_str());
        if is(rule, "tag") && !TAGS.iter().any(|known| to_lower(known) == tag) {
            let why = format!("applications on Kubernetes have no tag {}", quoted(rule.value.as_str()));
            let help = "use the rule `provided` for the queue that a pod names; the tags for queues are \
                        `namespace` and `namespace.parentqueue`";
            return Some(Dead::new(rule.value.span, rule, why, help));
        }
        let parent = rule.parent.as_deref().filter(|_| is_one_name(rule))?;
        if let Some(dead) = self.nameless(parent) {
            return Some(Dead { why: format!("of its parent rule, {}", dead.why), ..dead });
        }
        let path = fixed_path(parent)?;
        let may_exist = parent.create || self.others_create || self.below(&path).is_some();
        (!may_exist).then(|| {
            let why = format!(
                "its parent rule names {}, which does not exist, and does not create it",
                quoted(&path)
            );
            Dead::new(parent.value.span, parent, why, "add the queue, or `create: true` to the parent rule")
        })
    }
}

fn has_queues(queues: &[QueueConfig]) -> bool {
    !queues.is_empty()
}

fn is(rule: &PlacementRule, name: &str) -> bool {
    to_lower(rule.name.as_str()) == name
}

/// Returns whether the rule gives one name, which its parent rule completes, and never a full path.
fn is_one_name(rule: &PlacementRule) -> bool {
    let value = to_lower(rule.value.as_str());
    is(rule, "user")
        || (is(rule, "tag") && value == NAMESPACE)
        || (is(rule, "fixed") && !value.starts_with(ROOT))
}

/// Returns the path that a rule names for every application.
fn fixed_path(rule: &PlacementRule) -> Option<String> {
    if !is(rule, "fixed") {
        return None;
    }
    let value = to_lower(rule.value.as_str());
    if let Some(rest) = value.strip_prefix(ROOT) {
        // Another rest is not a path: YuniKorn crashes, which is reported elsewhere.
        return (rest.starts_with('.') || rest.is_empty()).then_some(value);
    }
    let above = rule.parent.as_deref().map_or(Some(ROOT.to_owned()), fixed_path)?;
    Some(format!("{above}.{value}"))
}

/// Returns whether a filter denies everyone: `deny` without names (`filter.go:50`).
fn denies_all(filter: &Filter) -> bool {
    filter.kind.as_str() == "deny" && items(&filter.users).is_empty() && items(&filter.groups).is_empty()
}

#[cfg(test)]
mod tests {
    use super::super::verdict;
    use super::*;
    use crate::version::Version;

    /// The reasons why rules are dead, of a text with the parents `teams` and `open`, an empty parent `new`,
    /// and a leaf `lab`.
    fn dead(rules: &str) -> Vec<String> {
        let text = format!(
            "partitions:\n- name: default\n  placementrules: [{rules}]\n  queues:\n  - name: root\n    queues:\n    \
             - {{name: teams, parent: true, queues: [{{name: a}}]}}\n    - {{name: open, queues: [{{name: a}}]}}\n    - {{name: new, parent: true}}\n    - {{name: lab}}\n"
        );
        let verdict = verdict(&text, &[], Version::V1_8);
        assert_eq!(verdict.refusal(), None, "{text}");
        let found = verdict.diagnostics.into_iter().filter(|found| found.code == RULE_DEAD);
        found
            .map(|found| {
                let span = found.span.unwrap();
                assert!(text.get(span.start..span.end).is_some_and(|at| !at.is_empty()));
                found.message.strip_prefix("this rule places no application: ").unwrap().to_owned()
            })
            .collect()
    }

    #[test]
    fn rules_that_place_nothing_are_reported_with_the_reason() {
        for (rule, why) in [
            ("{name: tag, value: queue}", "applications on Kubernetes have no tag `queue`"),
            ("{name: Tag, value: Queue, create: true}", "applications on Kubernetes have no tag `Queue`"),
            ("{name: tag, value: yunikorn.apache.org/queue}", "no tag `yunikorn.apache.org/queue`"),
            (
                "{name: user, create: true, parent: {name: tag, value: team}}",
                "of its parent rule, applications on",
            ),
            ("{name: user, create: true, filter: {type: deny}}", "its filter denies everyone"),
            ("{name: provided, filter: {type: deny}}", "its filter denies everyone"),
            ("{name: fixed, value: Open}", "`root.open` has queues below it"),
            ("{name: user, parent: {name: fixed, value: new}}", "there is no leaf right below `root.new`"),
            (
                "{name: user, create: true, parent: {name: fixed, value: other}}",
                "its parent rule names `root.other`, which does not",
            ),
        ] {
            let found = dead(rule);
            assert!(matches!(found.as_slice(), [said] if said.contains(why)), "{rule}: {found:?}");
        }
    }

    #[test]
    fn rules_that_may_place_something_are_not() {
        for rules in [
            "",
            "{name: provided}",
            "{name: user}",
            "{name: tag, value: namespace}, {name: tag, value: Namespace.ParentQueue}",
            "{name: tag, value: namespace, create: true, parent: {name: tag, value: namespace.parentqueue}}",
            "{name: fixed, value: lab}, {name: fixed, value: root.teams.a}",
            "{name: fixed, value: root.typo, create: true}",
            // The first rule may have created the queue that the parent rule of the second names.
            "{name: provided, create: true}, {name: user, create: true, parent: {name: fixed, value: other}}",
            "{name: user, parent: {name: fixed, value: teams}}",
            "{name: user, create: true, parent: {name: fixed, value: new}}",
            "{name: user, filter: {type: deny, users: [eve]}}, {name: user, filter: {type: allow}}",
            // An application may name a full path, which needs no parent rule.
            "{name: provided, parent: {name: tag, value: team}}",
        ] {
            assert_eq!(dead(rules), Vec::<String>::new(), "{rules}");
        }
    }
}
