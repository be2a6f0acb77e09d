//! Reports what is notable about a configuration, beyond the one error that `YuniKorn` reports.

use super::activate;
use super::codes::{
    ACL_PARTS, ACL_STRICT, FILTER_EXPRESSION, FILTER_NAME, FILTER_TYPE, NESTED_ROOT, PROPERTY_RENAMED,
    RESOLVER, RESOLVER_UNASKED,
};
use super::dead;
use super::names::{is_expression, is_group, is_user, to_lower};
use super::schema::{Filter, PartitionConfig, QueueConfig, SchedulerConfig};
use super::validate::{ROOT, check_rule_name};
use crate::acl;
use crate::version::Version;
use go_compat::diag::{Diagnostic, Replacement, Severity, Span};
use go_compat::go_regex::{GoRegex, is_undecided};
use go_compat::yaml::decode::{Spanned, items};

/// Adds the one error that `YuniKorn` reports, unless it is among the findings already: with a narrower span,
/// or, about an ACL, in better words.
pub(super) fn add(findings: &mut Vec<Diagnostic>, error: Diagnostic) {
    let about_acl = error.code == ACL_PARTS || error.code == ACL_STRICT;
    let within = |other: &Diagnostic| match (error.span, other.span) {
        (Some(whole), Some(part)) => whole.start <= part.start && part.end <= whole.end,
        _ => false,
    };
    let same = |other: &Diagnostic| other.code == error.code && error.message.ends_with(&other.message);
    if !findings.iter().any(|other| other.is_error() && within(other) && (about_acl || same(other))) {
        findings.push(error);
    }
}

/// All findings about single values.
pub(super) fn findings(text: &str, config: &SchedulerConfig, version: Version) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for partition in items(&config.partitions) {
        partition_findings(text, partition, version, &mut findings);
    }
    findings
}

fn partition_findings(
    text: &str,
    partition: &PartitionConfig,
    version: Version,
    findings: &mut Vec<Diagnostic>,
) {
    let resolver = &partition.user_group_resolver.kind;
    if matches!(resolver.as_str(), "os" | "ldap") {
        let message = format!(
            "the user group resolver `{}` is asked for pods without groups only, and YuniKorn's admission controller \
             writes groups into each pod that it handles",
            resolver.value
        );
        let help = "grant groups that Kubernetes knows, as `kubectl auth whoami` shows them, and remove the resolver";
        findings.push(Diagnostic::warning(RESOLVER_UNASKED, message).at(resolver.span).help(help));
    } else if !matches!(resolver.as_str(), "" | "test") {
        let message = format!("the user group resolver `{}` is not known, so there is none", resolver.value);
        let help = "write `os` or `ldap`, or remove it";
        findings.push(Diagnostic::warning(RESOLVER, message).at(resolver.span).help(help));
    }
    let before = findings.len();
    for rule in items(&partition.placement_rules) {
        let chain = || std::iter::successors(Some(rule), |rule| rule.parent.as_deref());
        // A name that the validator refuses is also unknown at activation, but reported once.
        let named = chain().try_for_each(check_rule_name);
        findings.extend(named.and_then(|()| activate::check_rule(rule)).err());
        findings.extend(activate::panics(rule));
    }
    // Rules are tried only where all of them can be built.
    if findings.len() == before {
        findings.extend(dead::rules(partition));
    }
    for rule in items(&partition.placement_rules) {
        for rule in std::iter::successors(Some(rule), |rule| rule.parent.as_deref()) {
            filter_findings(&rule.filter, findings);
        }
    }
    for queue in items(&partition.queues) {
        queue_findings(text, queue, version, findings);
    }
}

fn filter_findings(filter: &Filter, findings: &mut Vec<Diagnostic>) {
    let kind = &filter.kind;
    if kind.as_str() != "deny" && kind.as_str().eq_ignore_ascii_case("deny") {
        let message = format!("the filter type `{}` acts as `allow`", kind.value);
        let help = "write `deny` in lower case";
        let replacement = Replacement::in_case(kind.as_str(), "deny");
        findings
            .push(Diagnostic::warning(FILTER_TYPE, message).at(kind.span).help(help).replace(replacement));
    }
    list_findings(items(&filter.users), "user", is_user, findings);
    list_findings(items(&filter.groups), "group", is_group, findings);
}

fn list_findings(
    names: &[Spanned],
    kind: &str,
    is_name: impl Fn(&str) -> bool,
    findings: &mut Vec<Diagnostic>,
) {
    match names {
        [] => {}
        [only] => findings.extend(only_finding(only, is_name).map(|finding| finding.at(only.span))),
        names => {
            let ignored = names.iter().filter(|name| !is_name(name.as_str()));
            findings.extend(ignored.map(|name| ignored_finding(name.as_str(), kind).at(name.span)));
        }
    }
}

/// Reports on the only name in a list. It is an expression if it has one of the characters that make one
/// (`filter.go:145`).
fn only_finding(only: &Spanned, is_name: impl Fn(&str) -> bool) -> Option<Diagnostic> {
    let text = only.as_str();
    if !is_expression(text) {
        return None;
    }
    if is_name(text) {
        let message = format!("`{text}` is read as a regular expression, which does not match this name");
        let help = format!("write `^{}[$]$`", text.trim_end_matches('$'));
        return Some(Diagnostic::warning(FILTER_EXPRESSION, message).help(help));
    }
    let error = GoRegex::new(text).err().filter(is_undecided)?;
    Some(Diagnostic { severity: Severity::Warning, ..error })
}

/// Reports a name that is ignored: in a list of several, those that are not valid names are, also regular
/// expressions (`filter.go:160`).
fn ignored_finding(name: &str, kind: &str) -> Diagnostic {
    let diagnostic =
        Diagnostic::warning(FILTER_NAME, format!("the filter ignores `{name}`, which is no {kind} name"));
    if is_expression(name) {
        diagnostic.help("a regular expression works only when it is alone in the list")
    } else {
        diagnostic
    }
}

fn queue_findings(text: &str, queue: &QueueConfig, version: Version, findings: &mut Vec<Diagnostic>) {
    for acl in [&queue.submit_acl, &queue.admin_acl] {
        let found = acl::findings(acl.as_str());
        findings.extend(found.into_iter().map(|finding| inside(text, acl, finding)));
    }
    if queue.parent || !queue.children().is_empty() {
        findings.extend(activate::check_template(&queue.child_template).err());
    }
    let of_queue = queue.properties.iter().flatten().map(|(name, _)| name.as_str());
    let of_template = queue.child_template.properties.iter().flatten().map(|(name, _)| name.as_str());
    let renamed = of_queue.chain(of_template).find_map(|name| version.renamed(name));
    findings.extend(
        renamed.map(|(message, help)| {
            Diagnostic::warning(PROPERTY_RENAMED, message).at(queue.head()).help(help)
        }),
    );
    for child in queue.children() {
        let has_resources = child.resources.guaranteed.is_some() || child.resources.max.is_some();
        if has_resources && to_lower(child.name.as_str()) == ROOT {
            let message = "the resources of a queue named `root` are not read, wherever it stands";
            findings
                .push(Diagnostic::warning(NESTED_ROOT, message).at(child.head()).help("rename the queue"));
        }
        queue_findings(text, child, version, findings);
    }
}

/// Turns a finding about an ACL into one about the whole text. Where quotes or line breaks hide which
/// character is which, the span is the whole value.
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
