//! Findings about a configuration beyond the single error that `YuniKorn` reports.

use super::activate;
use super::codes::{
    ACL_PARTS, ACL_STRICT, FILTER_EXPRESSION, FILTER_NAME, FILTER_TYPE, NESTED_ROOT, PROPERTY_RENAMED,
    RESOLVER, RESOLVER_UNASKED, RULE_DEAD,
};
use super::names::{is_expression, is_group, is_user, to_lower};
use super::schema::{Filter, PartitionConfig, PlacementRule, QueueConfig, SchedulerConfig};
use super::validate::{ROOT, check_rule_name};
use crate::acl;
use crate::admission::request::{POLICY, TASK_GROUPS};
use crate::version::Version;
use go_compat::diag::{Diagnostic, Replacement, Severity, Span, quoted};
use go_compat::go_regex::{GoRegex, is_undecided};
use go_compat::yaml::decode::{Spanned, items};

/// Adds the error that `YuniKorn` reports, unless a finding with a narrower span, or a better message about
/// an ACL, already covers it.
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

/// Returns all findings about single values.
pub(super) fn findings(text: &str, config: &SchedulerConfig, version: Version) -> Vec<Diagnostic> {
    let of_partition = |partition| partition_findings(text, partition, version);
    items(&config.partitions).iter().flat_map(of_partition).collect()
}

fn partition_findings(text: &str, partition: &PartitionConfig, version: Version) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    let resolver = &partition.user_group_resolver.kind;
    if matches!(resolver.as_str(), "os" | "ldap") {
        let message = format!(
            "the user group resolver `{}` is asked for pods without groups only, and YuniKorn's admission controller \
             writes groups into each pod that it handles",
            resolver.value
        );
        let help = "grant access to the groups that `kubectl auth whoami` shows, and remove the resolver";
        findings.push(Diagnostic::warning(RESOLVER_UNASKED, message).at(resolver.span).help(help));
    } else if !matches!(resolver.as_str(), "" | "test") {
        let message = format!("unknown user group resolver `{}`, so no resolver is used", resolver.value);
        let help = "write `os` or `ldap`, or remove it";
        findings.push(Diagnostic::warning(RESOLVER, message).at(resolver.span).help(help));
    }
    let before = findings.len();
    for rule in items(&partition.placement_rules) {
        let chain = || std::iter::successors(Some(rule), |rule| rule.parent.as_deref());
        // A name that the validator refuses is also unknown at activation; report it once.
        let named = chain().try_for_each(check_rule_name);
        findings.extend(named.and_then(|()| activate::check_rule(rule)).err());
        findings.extend(activate::panics(rule));
    }
    // Rules are tried only if all of them can be built.
    if findings.len() == before {
        findings.extend(dead_rules(partition));
    }
    for rule in items(&partition.placement_rules) {
        for rule in std::iter::successors(Some(rule), |rule| rule.parent.as_deref()) {
            filter_findings(&rule.filter, &mut findings);
        }
    }
    for queue in items(&partition.queues) {
        queue_findings(text, queue, version, &mut findings);
    }
    findings
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
    findings.extend(list_findings(items(&filter.users), "user", is_user));
    findings.extend(list_findings(items(&filter.groups), "group", is_group));
}

fn list_findings(names: &[Spanned], kind: &str, is_name: impl Fn(&str) -> bool) -> Vec<Diagnostic> {
    if let [only] = names {
        return only_finding(only, is_name).map(|finding| finding.at(only.span)).into_iter().collect();
    }
    let ignored = names.iter().filter(|name| !is_name(name.as_str()));
    ignored.map(|name| ignored_finding(name.as_str(), kind).at(name.span)).collect()
}

/// Reports problems with the only name in a list. One special character makes it a regular expression
/// (`filter.go:145`).
fn only_finding(only: &Spanned, is_name: impl Fn(&str) -> bool) -> Option<Diagnostic> {
    let text = only.as_str();
    if !is_expression(text) {
        return None;
    }
    if is_name(text) {
        let message = format!("`{text}` is a regular expression, which does not match the name itself");
        let help = format!("write `^{}[$]$`", text.trim_end_matches('$'));
        return Some(Diagnostic::warning(FILTER_EXPRESSION, message).help(help));
    }
    let error = GoRegex::new(text).err().filter(is_undecided)?;
    Some(Diagnostic { severity: Severity::Warning, ..error })
}

/// Reports an ignored name. In a list of several, `YuniKorn` ignores everything that is not a valid name,
/// including regular expressions (`filter.go:160`).
fn ignored_finding(name: &str, kind: &str) -> Diagnostic {
    let diagnostic = Diagnostic::warning(
        FILTER_NAME,
        format!("the filter ignores `{name}`, which is not a valid {kind} name"),
    );
    if is_expression(name) {
        diagnostic.help("a regular expression works only as the single entry of a list")
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
            let message = "YuniKorn ignores the resources of every queue named `root`";
            findings
                .push(Diagnostic::warning(NESTED_ROOT, message).at(child.head()).help("rename the queue"));
        }
        queue_findings(text, child, version, findings);
    }
}

/// Converts a finding about an ACL into a finding about the whole text. If quotes or line breaks hide which
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

// Placement rules that never place an application on Kubernetes (yunikorn-core `pkg/scheduler/placement`).

/// The tags of an application on Kubernetes. A rule may write them in any case (yunikorn-k8shim
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

/// The tag of the namespace, the only one whose value is never a full path.
const NAMESPACE: &str = "namespace";

/// Warns about rules that pass validation but never place an application. The validator already refuses rules
/// for queues that do not exist or accept no applications (`configvalidator.go:360`).
fn dead_rules(partition: &PartitionConfig) -> Vec<Diagnostic> {
    let rules = items(&partition.placement_rules);
    let below_root = match items(&partition.queues) {
        [only] if to_lower(only.name.as_str()) == ROOT => only.children(),
        all => all,
    };
    let of_rule = |(number, rule): (usize, &PlacementRule)| {
        let mut others = rules.iter().enumerate().filter(|(other, _)| *other != number);
        let queues = Queues { below_root, others_create: others.any(|(_, other)| other.create) };
        queues.dead(rule).map(|found| {
            let message = format!("this rule never places an application: {}", found.message);
            Diagnostic { message, ..found }
        })
    };
    rules.iter().enumerate().filter_map(of_rule).collect()
}

/// Reports why a rule never places an application.
fn dead(span: Option<Span>, rule: &PlacementRule, why: String, help: &str) -> Diagnostic {
    Diagnostic::warning(RULE_DEAD, why).at(span.unwrap_or_else(|| rule.head())).help(help)
}

/// The queues that a rule can find.
struct Queues<'c> {
    below_root: &'c [QueueConfig],
    /// True if another rule may create queues.
    others_create: bool,
}

impl<'c> Queues<'c> {
    /// Returns the children of a queue by its path in lower case, or `None` if the configuration has no such
    /// queue.
    fn below(&self, path: &str) -> Option<&'c [QueueConfig]> {
        path.split('.').skip(1).try_fold(self.below_root, |level, name| {
            Some(level.iter().find(|queue| to_lower(queue.name.as_str()) == name)?.children())
        })
    }

    /// Explains why a rule never places an application.
    fn dead(&self, rule: &PlacementRule) -> Option<Diagnostic> {
        if let Some(dead) = self.nameless(rule) {
            return Some(dead);
        }
        // The validator recognizes parents only by the field `parent`.
        if let Some(path) = fixed_path(rule)
            .filter(|path| path != ROOT && self.below(path).is_some_and(|queues| !queues.is_empty()))
        {
            let why =
                format!("{} has queues below it, but applications run only in leaf queues", quoted(&path));
            return Some(dead(rule.value.span, rule, why, "use a queue below it"));
        }
        let is_parent = |queue: &QueueConfig| queue.parent || !queue.children().is_empty();
        let parent = rule.parent.as_deref().filter(|_| is_one_name(rule) && !is(rule, "fixed"))?;
        let path = fixed_path(parent)?;
        let may_exist = rule.create || self.others_create || !self.below(&path)?.iter().all(is_parent);
        (!may_exist).then(|| {
            let why = format!(
                "there is no leaf queue directly below {}, and no rule creates queues",
                quoted(&path)
            );
            dead(None, rule, why, "add the queues, or `create: true`")
        })
    }

    /// Explains why a rule finds no queue name.
    fn nameless(&self, rule: &PlacementRule) -> Option<Diagnostic> {
        if denies_all(&rule.filter) {
            let why = "its filter has no names and denies everyone".to_owned();
            let help = "list the users or groups, or remove the filter";
            return Some(dead(rule.filter.kind.span, rule, why, help));
        }
        let tag = to_lower(rule.value.as_str());
        if is(rule, "tag") && !TAGS.iter().any(|known| to_lower(known) == tag) {
            let why = format!("applications on Kubernetes have no tag {}", quoted(rule.value.as_str()));
            let help = "use the rule `provided` for the queue that a pod names; the tags for queues are \
                        `namespace` and `namespace.parentqueue`";
            return Some(dead(rule.value.span, rule, why, help));
        }
        let parent = rule.parent.as_deref().filter(|_| is_one_name(rule))?;
        if let Some(found) = self.nameless(parent) {
            let message = format!("of its parent rule, {}", found.message);
            return Some(Diagnostic { message, ..found });
        }
        let path = fixed_path(parent)?;
        let may_exist = parent.create || self.others_create || self.below(&path).is_some();
        (!may_exist).then(|| {
            let why =
                format!("its parent rule uses {}, which does not exist and is not created", quoted(&path));
            dead(parent.value.span, parent, why, "add the queue, or `create: true` to the parent rule")
        })
    }
}

fn is(rule: &PlacementRule, name: &str) -> bool {
    to_lower(rule.name.as_str()) == name
}

/// Returns whether the rule gives a single name, which its parent rule completes, and never a full path.
fn is_one_name(rule: &PlacementRule) -> bool {
    let value = to_lower(rule.value.as_str());
    is(rule, "user")
        || (is(rule, "tag") && value == NAMESPACE)
        || (is(rule, "fixed") && !value.starts_with(ROOT))
}

/// Returns the path that a rule gives for every application.
fn fixed_path(rule: &PlacementRule) -> Option<String> {
    if !is(rule, "fixed") {
        return None;
    }
    let value = to_lower(rule.value.as_str());
    if let Some(rest) = value.strip_prefix(ROOT) {
        // Any other text is not a path: YuniKorn crashes, which is reported elsewhere.
        return (rest.starts_with('.') || rest.is_empty()).then_some(value);
    }
    let above = rule.parent.as_deref().map_or(Some(ROOT.to_owned()), fixed_path)?;
    Some(format!("{above}.{value}"))
}

/// Returns whether a filter excludes everyone: `deny` without names (`filter.go:50`).
fn denies_all(filter: &Filter) -> bool {
    filter.kind.as_str() == "deny" && items(&filter.users).is_empty() && items(&filter.groups).is_empty()
}

#[cfg(test)]
mod tests {
    use super::super::verdict;
    use super::*;
    use crate::version::Version;

    /// Returns the reasons why rules never place an application, for a text with the parents `teams` and
    /// `open`, an empty parent `new`, and a leaf `lab`.
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
                found.message.strip_prefix("this rule never places an application: ").unwrap().to_owned()
            })
            .collect()
    }

    #[test]
    fn rule_that_never_places_is_reported_with_the_reason() {
        for (rule, why) in [
            ("{name: tag, value: queue}", "applications on Kubernetes have no tag `queue`"),
            ("{name: Tag, value: Queue, create: true}", "applications on Kubernetes have no tag `Queue`"),
            ("{name: tag, value: yunikorn.apache.org/queue}", "no tag `yunikorn.apache.org/queue`"),
            (
                "{name: user, create: true, parent: {name: tag, value: team}}",
                "of its parent rule, applications on",
            ),
            ("{name: user, create: true, filter: {type: deny}}", "its filter has no names"),
            ("{name: provided, filter: {type: deny}}", "its filter has no names"),
            ("{name: fixed, value: Open}", "`root.open` has queues below it"),
            (
                "{name: user, parent: {name: fixed, value: new}}",
                "there is no leaf queue directly below `root.new`",
            ),
            (
                "{name: user, create: true, parent: {name: fixed, value: other}}",
                "its parent rule uses `root.other`, which does not",
            ),
        ] {
            let found = dead(rule);
            assert!(matches!(found.as_slice(), [said] if said.contains(why)), "{rule}: {found:?}");
        }
    }

    #[test]
    fn rule_that_may_place_an_application_is_not_reported() {
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
