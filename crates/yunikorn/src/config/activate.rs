//! Puts a validated configuration into force, which can still fail.
//!
//! This happens at the scheduler's start, and at the reload of a running one. They fail differently
//! (yunikorn-core v1.8.0 `context.go:360-405`, `partition.go:79-204`, `objects/queue.go:118`, `placement/`):
//!
//! * An ACL that only activation refuses stops both; a start then ends the process.
//! * A placement rule that is wrong stops a reload; a start continues without any rule.
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

/// The words with which the scheduler introduces a failure to make a queue (`queue.go:140`).
const CREATION_FAILED: &str = "configured queue creation failed: \n";

/// The reason why a reload does not put the text into force.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReloadError {
    /// The scheduler refuses with this reason, in `YuniKorn`'s words, and keeps what it has, but for the
    /// partitions that come before the wrong one: reloads are not atomic.
    #[error("{0}")]
    Refused(String),
    /// The scheduler blocks itself and does nothing more until it is restarted.
    #[error("the scheduler would hang: active partitions are missing: {}", .missing.join(", "))]
    Hangs {
        /// The active partitions that the text does not have.
        missing: Vec<String>,
    },
}

/// Puts a validated configuration into force at the scheduler's start.
///
/// # Errors
/// The reason why the first queue that fails cannot be made. The process would end.
pub fn start(config: &SchedulerConfig) -> Result<(), Diagnostic> {
    items(&config.partitions).iter().try_for_each(create)
}

/// Puts a validated configuration into force in a scheduler that runs with the partitions `active`. An empty
/// list means that they are not known; those of the configuration are then assumed. `started` is the result
/// of [`start`].
///
/// # Errors
/// The first refusal, or that the scheduler hangs.
pub fn reload(
    config: &SchedulerConfig,
    active: &[&str],
    started: &Result<(), Diagnostic>,
) -> Result<(), ReloadError> {
    // A reload makes each partition anew, just as a start does.
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

/// Reports that the configuration does not have an active partition.
pub(super) fn missing_partition(name: &String) -> Diagnostic {
    Diagnostic::error(PARTITION_MISSING, format!("the active partition `{name}` is missing"))
        .help("keep it in the text: a scheduler that has to remove a partition hangs until it is restarted")
}

/// `newPartitionContext` (`partition.go:79`), as far as it can fail.
fn create(partition: &PartitionConfig) -> Result<(), Diagnostic> {
    match items(&partition.queues).first() {
        Some(root) if root.name.as_str() == ROOT => create_queue(root),
        root => Err(Diagnostic::error(ROOT_CASE, "partition cannot be created without root queue")
            .at(root.map(QueueConfig::head))
            .help("write `name: root` in lower case")
            .replace(root.and_then(|root| Replacement::in_case(root.name.as_str(), ROOT)))),
    }
}

/// `NewConfiguredQueue` (`objects/queue.go:118`) for the queue, then for those below it.
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

/// `newRule` (`placement/rule.go:90`) and the rules' `initialise`.
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
            (message, "name a queue below that of the parent rule, or remove `parent`")
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
        "{correction}: until then a scheduler starts without any placement rule, and rejects every application"
    );
    Err(Diagnostic::error(RULE_INACTIVE, message).at(head.unwrap_or(rule.head())).help(help))
}

/// Returns whether `YuniKorn` accepts and activates rules with these queues, which come in pre-order, each
/// with whether it is declared a parent.
pub fn rules_fit<'q>(
    rules: &[PlacementRule],
    queues: impl DoubleEndedIterator<Item = (&'q QueuePath, bool)>,
) -> bool {
    // From the last to the first, the children of a queue are complete before it is reached.
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

/// Go's `%v` of a rule. Where Go prints the address of the parent, there is an ellipsis.
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

/// Reports that the first application that a rule places would crash the scheduler: the queue that the rule
/// names does not begin with `root`, so that the search for a queue above it runs out of text
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
                    "the queue `{value}` begins with `root`, but is not below it: the first application \
                     placed there crashes the scheduler"
                ),
                rule.value.span.unwrap_or(rule.head()),
                format!("write `root.{value}`"),
            )
        }
        "test" => (
            "the rule `test` crashes the scheduler with the first application".to_owned(),
            rule.head(),
            "remove it: it is for YuniKorn's own tests".to_owned(),
        ),
        _ => return None,
    };
    Some(Diagnostic::warning(RULE_PANICS, message).at(span).help(help))
}
