//! What a reader should know about a configuration, beyond the one error `YuniKorn` tells.

use super::activate::{self, Hazard};
use super::codes::{ACL_PARTS, ACL_STRICT, FILTER_NAME, FILTER_TYPE, NESTED_ROOT, RESOLVER};
use super::names::{is_expression, is_group, is_user, to_lower};
use super::schema::{Filter, PartitionConfig, PlacementRule, QueueConfig, SchedulerConfig};
use super::validate::{ROOT, at};
use crate::model::acl;
use crate::text::diag::{Diagnostic, Span};
use crate::text::yaml::decode::{Spanned, items};

/// Adds a finding, unless the same is there already in other words: an ACL's own findings say more than the validator's.
pub(super) fn add(findings: &mut Vec<Diagnostic>, finding: Diagnostic) {
    let about_acl = finding.code == ACL_PARTS || finding.code == ACL_STRICT;
    let within = |other: &Diagnostic| match (finding.span, other.span) {
        (Some(whole), Some(part)) => whole.start <= part.start && part.end <= whole.end,
        _ => false,
    };
    let told = findings.iter().any(|other| {
        other.is_error()
            && within(other)
            && (about_acl || (other.code, &other.message) == (finding.code, &finding.message))
    });
    if !told {
        findings.push(finding);
    }
}

/// All findings about single values.
pub(super) fn findings(text: &str, config: &SchedulerConfig) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for partition in items(&config.partitions) {
        partition_findings(text, partition, &mut findings);
    }
    findings
}

fn partition_findings(text: &str, partition: &PartitionConfig, findings: &mut Vec<Diagnostic>) {
    let resolver = &partition.user_group_resolver.kind;
    if !matches!(resolver.as_str(), "" | "os" | "ldap" | "test") {
        let message = format!(
            "the user group resolver `{}` is not known, so there is none",
            resolver.value
        );
        let diagnostic = Diagnostic::warning(RESOLVER, message).help("write `os` or `ldap`, or remove it");
        findings.push(at(diagnostic, resolver));
    }
    for rule in items(&partition.placement_rules) {
        findings.extend(activate::check_rule(rule).err());
        findings.extend(activate::panics(rule));
        for rule in std::iter::successors(Some(rule), |rule| rule.parent.as_deref()) {
            filter_findings(&rule.filter, findings);
        }
    }
    for queue in items(&partition.queues) {
        queue_findings(text, queue, true, findings);
    }
}

fn filter_findings(filter: &Filter, findings: &mut Vec<Diagnostic>) {
    let kind = &filter.kind;
    if kind.as_str() != "deny" && kind.as_str().eq_ignore_ascii_case("deny") {
        let message = format!("the filter type `{}` acts as `allow`", kind.value);
        findings.push(at(
            Diagnostic::warning(FILTER_TYPE, message).help("write `deny` in lower case"),
            kind,
        ));
    }
    list_findings(items(&filter.users), "user", is_user, findings);
    list_findings(items(&filter.groups), "group", is_group, findings);
}

/// Of several names, those that are none are ignored: also regular expressions (`filter.go:160`).
fn list_findings(
    names: &[Spanned],
    kind: &str,
    is_name: impl Fn(&str) -> bool,
    findings: &mut Vec<Diagnostic>,
) {
    if names.len() < 2 {
        return;
    }
    for name in names.iter().filter(|name| !is_name(name.as_str())) {
        let message = format!("the filter ignores `{}`, which is no {kind} name", name.value);
        let diagnostic = Diagnostic::warning(FILTER_NAME, message);
        let diagnostic = if is_expression(name.as_str()) {
            diagnostic.help("a regular expression works only when it is alone in the list")
        } else {
            diagnostic
        };
        findings.push(at(diagnostic, name));
    }
}

fn queue_findings(text: &str, queue: &QueueConfig, is_top: bool, findings: &mut Vec<Diagnostic>) {
    for acl in [&queue.submit_acl, &queue.admin_acl] {
        findings.extend(
            acl::parse(acl.as_str())
                .err()
                .map(|error| inside(text, acl, Diagnostic::error(ACL_STRICT, error.to_string()))),
        );
    }
    if queue.parent || !queue.children().is_empty() {
        findings.extend(activate::check_template(&queue.child_template).err());
    }
    let has_resources = queue.resources.guaranteed.is_some() || queue.resources.max.is_some();
    if !is_top && has_resources && to_lower(queue.name.as_str()) == ROOT {
        let message = "the resources of a queue named `root` are not read, wherever it stands";
        findings.push(
            Diagnostic::warning(NESTED_ROOT, message)
                .at(queue.head())
                .help("rename the queue"),
        );
    }
    for child in queue.children() {
        queue_findings(text, child, false, findings);
    }
}

/// A finding about an ACL as one about the whole text. Where quotes or line ends hide which character is which, the place is the
/// whole value.
fn inside(text: &str, acl: &Spanned, mut finding: Diagnostic) -> Diagnostic {
    let Some(whole) = acl.span else { return finding };
    let written = text.get(whole.start..whole.end).unwrap_or_default();
    let quoted = written.get(1..written.len().saturating_sub(1));
    let offset = if written == acl.as_str() {
        Some(whole.start)
    } else if quoted == Some(acl.as_str()) {
        Some(whole.start + 1)
    } else {
        None
    };
    finding.span = Some(match (offset, finding.span) {
        (Some(offset), Some(span)) => span.shifted(offset),
        _ => Span::new(whole.start, whole.end),
    });
    finding
}

/// What hurts without being refused.
pub(super) fn hazards(config: &SchedulerConfig) -> Vec<Hazard> {
    items(&config.partitions)
        .iter()
        .flat_map(partition_hazards)
        .collect()
}

fn partition_hazards(partition: &PartitionConfig) -> Vec<Hazard> {
    let name = &partition.name.value;
    // Without rules none of them can crash anything.
    if let Err(error) = activate::check_rules(partition) {
        return vec![Hazard::StartsWithoutRules {
            partition: name.clone(),
            reason: error.message,
        }];
    }
    let rules: &[PlacementRule] = items(&partition.placement_rules);
    let panicking = rules
        .iter()
        .enumerate()
        .filter(|(_, rule)| activate::panics(rule).is_some());
    panicking
        .map(|(rule, _)| Hazard::RulePanics {
            partition: name.clone(),
            rule,
        })
        .collect()
}
