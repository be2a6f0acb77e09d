//! Activates a validated configuration, which can still fail.
//!
//! Activation happens when the scheduler starts and when a running scheduler reloads. The two fail
//! differently (yunikorn-core v1.8.0 `context.go:360-405`, `partition.go:79-204`, `objects/queue.go:118`,
//! `placement/`):
//!
//! * An ACL that only activation refuses prevents both; at the start the process exits.
//! * An invalid placement rule prevents a reload; a start continues without any rule.
//! * A reload without one of the active partitions never returns.

use std::collections::BTreeMap;

use super::codes::{ACL_STRICT, PARTITION_MISSING, ROOT_CASE, RULE_INACTIVE, RULE_PANICS, TEMPLATE};
use super::names::to_lower;
use super::quantity::Amounts;
use super::schema::{ChildTemplate, PartitionConfig, PlacementRule, QueueConfig, SchedulerConfig};
use super::validate::{NAME_REFUSED, ROOT, RULE_NAMES, check_placement};
use crate::queue::QueuePath;
use crate::{acl, queue};
use go_compat::diag::{Diagnostic, Replacement};
use go_compat::yaml::decode::{Map, Spanned, items};

/// The prefix of the scheduler's message about a queue that it cannot create (`queue.go:140`).
const CREATION_FAILED: &str = "configured queue creation failed: \n";

/// The reason why a reload does not activate the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReloadError {
    /// The scheduler refuses the text with this message of `YuniKorn`. It keeps its configuration, except for
    /// the partitions before the invalid one, because reloads are not atomic.
    #[error("{0}")]
    Refused(String),
    /// The scheduler hangs until it is restarted.
    #[error("the scheduler would hang: active partitions are missing: {}", .missing.join(", "))]
    Hangs {
        /// The active partitions that are missing in the text.
        missing: Vec<String>,
    },
}

/// Activates a validated configuration at the start of the scheduler.
///
/// # Errors
/// The first queue that cannot be created, and why. The process would exit.
pub fn start(config: &SchedulerConfig) -> Result<(), Diagnostic> {
    items(&config.partitions).iter().try_for_each(create)
}

/// Activates a validated configuration in a scheduler that runs the partitions `active`. An empty list means
/// that they are unknown; the partitions of the configuration are then assumed. `started` is the result of
/// [`start`].
///
/// # Errors
/// The first refusal, or that the scheduler hangs.
pub fn reload(
    config: &SchedulerConfig,
    active: &[&str],
    started: &Result<(), Diagnostic>,
) -> Result<(), ReloadError> {
    // A reload creates each partition from scratch, just as a start does.
    let create = |partition| if started.is_ok() { Ok(()) } else { create(partition) };
    // `buildRules` (`placement/placement.go:223`).
    let check_rules =
        |partition: &PartitionConfig| items(&partition.placement_rules).iter().try_for_each(check_rule);
    let partitions = items(&config.partitions);
    for partition in partitions {
        let is_active = active.is_empty() || active.contains(&partition.name.as_str());
        create(partition)
            .and_then(|()| if is_active { check_rules(partition) } else { Ok(()) })
            .map_err(|error| ReloadError::Refused(error.message))?;
    }
    let removed = active.iter().filter(|name| partitions.iter().all(|has| has.name.as_str() != **name));
    let missing: Vec<String> = removed.map(|name| (*name).to_owned()).collect();
    if missing.is_empty() { Ok(()) } else { Err(ReloadError::Hangs { missing }) }
}

/// Reports an active partition that is missing in the configuration.
pub(super) fn missing_partition(name: &String) -> Diagnostic {
    Diagnostic::error(PARTITION_MISSING, format!("the active partition `{name}` is missing"))
        .help("keep it in the text; removing a partition makes the scheduler hang until it is restarted")
}

/// `newPartitionContext` (`partition.go:79`), reduced to the steps that can fail.
fn create(partition: &PartitionConfig) -> Result<(), Diagnostic> {
    match items(&partition.queues).first() {
        Some(root) if root.name.as_str() == ROOT => create_queue(root),
        root => Err(Diagnostic::error(ROOT_CASE, "partition cannot be created without root queue")
            .at(root.map(QueueConfig::head))
            .help("write `name: root` in lower case")
            .replace(root.and_then(|root| Replacement::in_case(root.name.as_str(), ROOT)))),
    }
}

/// `NewConfiguredQueue` (`objects/queue.go:118`) for the queue, then for its children.
fn create_queue(queue: &QueueConfig) -> Result<(), Diagnostic> {
    let is_parent = queue.parent || !queue.children().is_empty();
    check_acl(&queue.submit_acl)
        .and_then(|()| check_acl(&queue.admin_acl))
        .and_then(|()| if is_parent { check_template(&queue.child_template) } else { Ok(()) })
        .map_err(|error| Diagnostic { message: format!("{CREATION_FAILED}{}", error.message), ..error })?;
    queue.children().iter().try_for_each(create_queue)
}

fn check_acl(acl: &Spanned) -> Result<(), Diagnostic> {
    acl::activates(acl.as_str())
        .map_err(|error| Diagnostic::error(ACL_STRICT, error.to_string()).at(acl.span))
}

/// `template.FromConf` (`objects/template/template.go:38`).
pub(super) fn check_template(template: &ChildTemplate) -> Result<(), Diagnostic> {
    let is_empty =
        |map: &Map<Spanned>| map.iter().flatten().all(|(name, value)| name.is_empty() || value.is_empty());
    let resources = &template.resources;
    if template.max_applications == 0
        && is_empty(&template.properties)
        && is_empty(&resources.guaranteed)
        && is_empty(&resources.max)
    {
        return Ok(());
    }
    [&resources.max, &resources.guaranteed].into_iter().try_for_each(|quantities| {
        let read = Amounts::read(quantities).map(|_| ());
        read.map_err(|error| Diagnostic { code: TEMPLATE, ..error })
    })
}

/// `newRule` (`placement/rule.go:90`) and the `initialise` method of each rule.
///
/// # Errors
/// The reason why the scheduler would not start with the rule.
pub fn check_rule(rule: &PlacementRule) -> Result<(), Diagnostic> {
    let value = to_lower(rule.value.as_str());
    let (message, correction) = match to_lower(rule.name.as_str()).as_str() {
        "fixed" if value.is_empty() => {
            ("a fixed queue rule must have a queue name set".to_owned(), "write the queue as `value`")
        }
        "fixed" if !value.split('.').all(queue::name_ok) => {
            (NAME_REFUSED.to_owned(), "write a path of such names as `value`")
        }
        "fixed" if value.starts_with(ROOT) && rule.parent.is_some() => {
            let message = format!(
                "cannot have a fixed queue rule with qualified queue getName and a parent rule: {}",
                go_value(rule)
            );
            (message, "write a queue below the parent rule's queue, or remove `parent`")
        }
        "tag" if value.is_empty() => (
            "a tag queue rule must have a tag name set".to_owned(),
            "write the tag as `value`, for example `namespace`",
        ),
        "fixed" | "tag" | "user" | "provided" | "test" => {
            return rule.parent.as_deref().map_or(Ok(()), check_rule);
        }
        "recovery" => (
            "recovery rule cannot be part of the config, failing placement rule config".to_owned(),
            RULE_NAMES,
        ),
        _ => {
            let name = &rule.name.value;
            (format!("unknown rule name specified {name}, failing placement rule config"), RULE_NAMES)
        }
    };
    let head = if message == NAME_REFUSED { rule.value.span } else { None };
    let help = format!(
        "{correction}; until then a scheduler starts without any placement rule and rejects every application"
    );
    Err(Diagnostic::error(RULE_INACTIVE, message).at(head.unwrap_or(rule.head())).help(help))
}

/// Returns whether `YuniKorn` accepts and activates rules with these queues. The queues are in pre-order,
/// each with whether it is declared a parent.
pub fn rules_fit<'q>(
    rules: &[PlacementRule],
    queues: impl DoubleEndedIterator<Item = (&'q QueuePath, bool)>,
) -> bool {
    // From last to first, a queue comes after all its children.
    let mut below: BTreeMap<Option<QueuePath>, Vec<QueueConfig>> = BTreeMap::new();
    for (path, parent) in queues.rev() {
        let children = below.remove(&Some(path.clone()));
        let queue =
            QueueConfig { name: path.leaf().into(), parent, queues: children, ..QueueConfig::default() };
        below.entry(path.parent()).or_default().push(queue);
    }
    let partition = PartitionConfig {
        queues: below.remove(&None),
        placement_rules: Some(rules.to_vec()),
        ..PartitionConfig::default()
    };
    check_placement(&partition).is_ok() && rules.iter().all(|rule| check_rule(rule).is_ok())
}

/// Formats a rule like Go's `%v`, with an ellipsis where Go prints the address of the parent.
fn go_value(rule: &PlacementRule) -> String {
    let list = |names: &[Spanned]| names.iter().map(Spanned::as_str).collect::<Vec<_>>().join(" ");
    let filter = &rule.filter;
    format!(
        "{{{} {} {{{} [{}] [{}]}} … {}}}",
        rule.name.value,
        rule.create,
        filter.kind.value,
        list(items(&filter.users)),
        list(items(&filter.groups)),
        rule.value.value
    )
}

/// Reports a rule that would crash the scheduler when it places its first application: the queue does not
/// begin with `root`, so the search for its parent runs past the start of the text
/// (`placement/placement.go:156`).
pub(super) fn panics(rule: &PlacementRule) -> Option<Diagnostic> {
    let (message, span, help) = match to_lower(rule.name.as_str()).as_str() {
        "fixed" if rule.create => {
            let value = to_lower(rule.value.as_str());
            let first = value.split('.').next().unwrap_or_default();
            if !first.starts_with(ROOT) || first == ROOT {
                return None;
            }
            (
                format!(
                    "the queue `{value}` begins with `root` but is not below it: the first application \
                     placed there crashes the scheduler"
                ),
                rule.value.span.unwrap_or(rule.head()),
                format!("write `root.{value}`"),
            )
        }
        "test" => (
            "the rule `test` crashes the scheduler at the first application".to_owned(),
            rule.head(),
            "remove it; it is meant for YuniKorn's own tests".to_owned(),
        ),
        _ => return None,
    };
    Some(Diagnostic::warning(RULE_PANICS, message).at(span).help(help))
}
