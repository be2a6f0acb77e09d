//! Explains decisions for people: the ACLs that were evaluated, and where they are written.

use std::fmt::Display;

use super::console::wrapped;
use super::format::{self, Table, visible};
use super::manifest::DEFAULT_PARTITION;
use go_compat::diag;
use queuewarden_api::answer::{About, Answers, until};
use yunikorn::acl::Acl;
use yunikorn_access::Origin;
use yunikorn_access::decide::Step;

/// Maximum length of an ACL in the output, in characters; longer ones are cut.
const MAX_ACL: usize = 48;
/// Columns of a number before a change: `1. `.
const NUMBER: usize = 3;
/// Maximum number of groups that are listed; more are counted.
const MAX_GROUPS: usize = 8;

/// The commands that install the user-info webhook.
pub(crate) const WEBHOOK: &str = "
This requires aliases from the user-info webhook. Check it with `queuewarden check`. To enable it:
  helm upgrade queuewarden charts/queuewarden --namespace queuewarden-system --reuse-values --set webhooks.enabled=true,webhooks.userInfo=true
  kubectl patch admissionpolicy default --type=merge --patch='{\"spec\": {\"userInfo\": {\"mode\": \"Enforce\"}}}'
";

/// Steps after a grant. `YuniKorn` does not check a rejected application again while one of its pods exists,
/// and a Deployment replaces its pods immediately.
pub(crate) const AFTERWARDS: &str = "
A Deployment that was rejected stays Pending after that: scale it to 0, wait until its pods are gone, and scale it up.
";

/// Joins the reason, the question, every step of the decision, and the changes that would allow it.
pub(crate) fn page(
    reason: &str,
    facts: &Table,
    steps: &Table,
    remedies: impl IntoIterator<Item: Display>,
    width: Option<usize>,
) -> String {
    let steps = if steps.is_empty() { String::new() } else { format!("\n{}", steps.text(true, width)) };
    let numbered = remedies.into_iter().zip(1..).map(|(remedy, number)| format!("{number}. {remedy}\n"));
    let numbered = visible_lines(&numbered.collect::<String>(), NUMBER, width);
    let title = if numbered.is_empty() { "" } else { "\nTo allow it, the smallest change first:\n" };
    format!("{reason}\n{}{steps}{title}{numbered}", facts.text(false, width))
}

/// Escapes control characters in every line, and breaks it between words; what follows is indented.
pub(crate) fn visible_lines(text: &str, indent: usize, width: Option<usize>) -> String {
    let line = |line| wrapped(&format::visible(line), indent, width) + "\n";
    text.lines().map(line).collect()
}

/// Names the configuration, and a partition that is not the default.
pub(crate) fn location(About { source, partition, .. }: &About) -> String {
    match partition.as_str() {
        DEFAULT_PARTITION => source.clone(),
        other => format!("{source}, partition {other}"),
    }
}

pub(crate) fn groups(groups: &[String]) -> String {
    if groups.is_empty() { "none".to_owned() } else { diag::listed(groups, MAX_GROUPS, groups.len()) }
}

/// Returns the text of an ACL, its result, its location, and the end of the granting entry.
pub(crate) fn cells(answers: &Answers<'_>, step: &Step) -> [String; 4] {
    let says = if step.text.is_empty() { "-".to_owned() } else { quoted(&step.text) };
    if let Some(entry) = &step.entry {
        let end = until(Origin::last_end(&step.origins));
        return [says, format!("grants {entry}"), Origin::list(&step.origins), end];
    }
    let node = answers.tree.find(&step.queue).and_then(|id| answers.tree.node(id));
    let grants = node.map(|node| node.grants(step.acl));
    let near: Vec<&str> = step.near_misses.iter().map(|miss| miss.message.as_str()).collect();
    let result = match grants {
        _ if step.text.is_empty() => "not set".to_owned(),
        _ if !near.is_empty() => format!("no match: {}", near.join("; ")),
        Some(grants) if grants.acl.is_nobody() => "names nobody".to_owned(),
        _ => "no match".to_owned(),
    };
    let written = grants.map(|grants| Origin::list(&grants.all_origins())).unwrap_or_default();
    [says, result, written, String::new()]
}

/// Quotes an ACL as written, because its spaces matter; a long one is cut.
pub(crate) fn quoted(acl: &str) -> String {
    match acl.char_indices().nth(MAX_ACL).and_then(|(end, _)| acl.get(..end)) {
        Some(start) => format!("\"{start}… ({} characters)", acl.chars().count()),
        None => format!("\"{acl}\""),
    }
}

/// Lists users and groups: `users bob, sue; groups dev`.
pub(crate) fn grants(acl: &Acl) -> String {
    names(acl.is_everyone(), acl.users().iter(), acl.groups().iter())
}

/// Lists users and groups, as above, for any names.
pub(crate) fn names<'a>(
    everyone: bool,
    users: impl Iterator<Item = &'a str>,
    groups: impl Iterator<Item = &'a str>,
) -> String {
    if everyone {
        return "everyone".to_owned();
    }
    let lists = [listed("user", users), listed("group", groups)].into_iter().flatten().collect::<Vec<_>>();
    if lists.is_empty() { "nobody".to_owned() } else { lists.join("; ") }
}

fn listed<'a>(label: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let names: Vec<String> = names.map(plain).collect();
    let plural = if names.len() == 1 { "" } else { "s" };
    (!names.is_empty()).then(|| format!("{label}{plural} {}", names.join(", ")))
}

/// Quotes a name that contains a space; YARN accepts such names.
fn plain(name: &str) -> String {
    if name.contains(' ') { format!("`{}`", visible(name)) } else { visible(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_groups_are_counted() {
        let many = |count: usize| groups(&(0..count).map(|index| format!("g{index}")).collect::<Vec<_>>());
        assert_eq!(many(0), "none");
        assert_eq!(many(2), "g0, g1");
        assert!(many(8).ends_with("g6, g7"));
        assert!(many(20).ends_with("g7 and 12 more"));
    }
}
