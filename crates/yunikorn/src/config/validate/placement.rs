//! Placement rules: their names and filters, and whether applications can be placed into their queues.

use super::super::codes::{FILTER, RULE};
use super::super::names::{is_expression, is_group, is_rule, is_user, to_lower};
use super::super::schema::{Filter, PartitionConfig, PlacementRule, QueueConfig};
use super::ROOT;
use go_compat::diag::{Diagnostic, Span};
use go_compat::go_regex::{GoRegex, is_undecided};
use go_compat::yaml::decode::{Spanned, items};

/// The help for an invalid rule name.
pub(in super::super) const RULE_NAMES: &str = "write `provided`, `user`, `fixed` or `tag`";

/// `checkPlacementRules` (`configvalidator.go:316`).
pub(in super::super) fn check(partition: &PartitionConfig) -> Result<(), Diagnostic> {
    let rules = items(&partition.placement_rules);
    rules.iter().try_for_each(check_rule)?;
    // Go collects the paths of all rules before it looks up the first one.
    let paths = rules.iter().map(StaticPath::new).collect::<Result<Vec<_>, _>>()?;
    for (number, path) in paths.iter().enumerate().filter(|(_, path)| path.path.starts_with(ROOT)) {
        let lower = to_lower(&path.path);
        let parts: Vec<&str> = lower.split('.').collect();
        check_path(path, &parts, items(&partition.queues), None).map_err(|reason| {
            let message = format!("placement rule no. #{number} ({}) references {reason}", path.chain);
            Diagnostic::error(RULE, message).at(path.span)
        })?;
    }
    Ok(())
}

/// `checkPlacementRule` (`configvalidator.go:431`).
fn check_rule(rule: &PlacementRule) -> Result<(), Diagnostic> {
    check_rule_name(rule)?;
    if let Some(parent) = &rule.parent {
        check_rule(parent)?;
    }
    check_filter(&rule.filter)
}

/// Checks that the name of a rule is an identifier. Activation checks that the rule exists.
pub(in super::super) fn check_rule_name(rule: &PlacementRule) -> Result<(), Diagnostic> {
    let name = rule.name.as_str();
    if is_rule(name) {
        return Ok(());
    }
    let message = format!("invalid rule name {name}, a name must be a valid identifier");
    Err(Diagnostic::error(RULE, message).at(rule.head()).help(RULE_NAMES))
}

/// `checkPlacementFilter` (`configvalidator.go:460`).
fn check_filter(filter: &Filter) -> Result<(), Diagnostic> {
    let kind = filter.kind.as_str();
    if !kind.is_empty() && !kind.eq_ignore_ascii_case("allow") && !kind.eq_ignore_ascii_case("deny") {
        let message =
            format!("invalid rule filter type {kind}, filter type  must be either '', allow or deny");
        return Err(Diagnostic::error(FILTER, message).at(filter.kind.span));
    }
    check_filter_list(items(&filter.users), "user", is_user)?;
    check_filter_list(items(&filter.groups), "group", is_group)
}

/// Checks one list of a filter. A single entry must be a name or a regular expression; in a longer list,
/// invalid names are ignored. If it is unknown whether Go compiles an expression, it is accepted, because
/// this validator must not be stricter than `YuniKorn`'s.
fn check_filter_list(list: &[Spanned], kind: &str, is_name: impl Fn(&str) -> bool) -> Result<(), Diagnostic> {
    let [only] = list else { return Ok(()) };
    let text = only.as_str();
    let help = match GoRegex::new(text) {
        _ if is_name(text) => return Ok(()),
        _ if !is_expression(text) => format!("write the name of a {kind}, or a regular expression"),
        Err(error) if !is_undecided(&error) => error.message,
        _ => return Ok(()),
    };
    let message = format!("invalid rule filter {kind} list is not a proper list or regexp: [{text}]");
    Err(Diagnostic::error(FILTER, message).at(only.span).help(help))
}

/// The part of a rule's queue that does not depend on the application (`configvalidator.go:817-889`).
struct StaticPath {
    /// Begins with `root` if anything is known.
    path: String,
    /// The names of the rules, from the topmost parent.
    chain: String,
    create: bool,
    /// True if the rules continue after the path.
    dynamic: bool,
    span: Span,
}

impl StaticPath {
    /// `getLongestStaticPath` (`configvalidator.go:845`).
    fn new(rule: &PlacementRule) -> Result<Self, Diagnostic> {
        let mut rules: Vec<&PlacementRule> =
            std::iter::successors(Some(rule), |rule| rule.parent.as_deref()).collect();
        rules.reverse();
        let chain = rules.iter().map(|rule| rule.name.as_str()).collect::<Vec<_>>().join("->");
        let (mut path, mut dynamic) = (String::new(), false);
        for step in rules {
            if step.name.as_str() != "fixed" {
                if path.is_empty() {
                    "<dynamic>".clone_into(&mut path);
                }
                dynamic = true;
                break;
            }
            let queue = step.value.as_str();
            if !queue.starts_with(ROOT) {
                let above = if path.is_empty() { ROOT } else { &path };
                path = format!("{above}.{queue}");
            } else if path.is_empty() {
                queue.clone_into(&mut path);
            } else {
                let message = format!("illegal fully qualified 'fixed' rule with value {queue}");
                return Err(Diagnostic::error(RULE, message)
                    .at(step.value.span)
                    .help("only the topmost parent rule can use a path that begins with `root`"));
            }
        }
        Ok(Self { path, chain, create: rule.create, dynamic, span: rule.head() })
    }
}

/// `checkQueueHierarchyForPlacement` (`configvalidator.go:360`). Like Go, it compares names case-sensitively
/// although the path is in lower case.
///
/// # Errors
/// The reason why no application can be placed there.
fn check_path(
    rule: &StaticPath,
    path: &[&str],
    queues: &[QueueConfig],
    parent: Option<&QueueConfig>,
) -> Result<(), String> {
    let missing = || {
        let reason = || format!("non-existing queues ({}) and create is 'false'", rule.path);
        if rule.create { Ok(()) } else { Err(reason()) }
    };
    let Some((name, rest)) = path.split_first() else {
        return Ok(());
    };
    if queues.is_empty() {
        return match parent {
            Some(leaf) if !leaf.parent => Err(format!(
                "non-existing queues ({}) which cannot be created because the last queue ({}) in the hierarchy is \
                 a leaf",
                rule.path, leaf.name.value
            )),
            _ => missing(),
        };
    }
    let Some(queue) = queues.iter().find(|queue| queue.name.as_str() == *name) else {
        return missing();
    };
    if rest.is_empty() {
        // If rules follow it, the queue must be a parent, otherwise a leaf.
        let reason = || format!("a queue ({}) which is not a leaf", rule.path);
        return if queue.parent == rule.dynamic { Ok(()) } else { Err(reason()) };
    }
    check_path(rule, rest, queue.children(), Some(queue))
}
