//! `queuewarden explain`: answers yes or no, with every step of the decision.

use std::fmt::Display;

use super::can_i::{RequestArgs, Show};
use crate::output::format::{self, Table, UNTIL};
use crate::output::{Console, Exit, Failure};
use crate::source::request;
use crate::source::session::{DEFAULT_PARTITION, EXIT_CODES};
use go_compat::diag::listed;
use queuewarden_api::answer::{About, Answers, DecisionAnswer, until};
use yunikorn_access::decide::{Decision, Step};
use yunikorn_access::{Origin, Remedy, Tree, remedies};

/// Maximum length of an ACL in the output, in characters; longer ones are cut.
const MAX_ACL: usize = 48;
/// Columns of a number before a change: `1. `.
const NUMBER: usize = 3;
/// Maximum number of groups that are listed; more are counted.
const MAX_GROUPS: usize = 8;

/// The commands that install the user-info webhook.
pub(crate) const WEBHOOK: &str = "
The user-info webhook has to write aliases. `queuewarden check` shows whether it does; this turns it on:
  helm upgrade queuewarden charts/queuewarden --namespace queuewarden-system --reuse-values --set webhooks.enabled=true,webhooks.userInfo=on
  kubectl patch admissionpolicy default --type=merge --patch='{\"spec\": {\"userInfo\": {\"mode\": \"Enforce\"}}}'
";

/// Explain why a user may, or may not, submit to a queue or administer it: every ACL that YuniKorn evaluates,
/// in order; or why a user may act on an application: every clause of the rules
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Args {
    #[command(flatten)]
    request: RequestArgs,
}

/// Runs the command.
///
/// # Errors
/// As [`RequestArgs::answer`].
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    args.request.answer(Show::Everything, console)
}

/// Formats the answer for people: the reason, the question, each ACL, and changes that would allow it. The
/// groups of the user were named, or `resolved`.
pub(crate) fn text(
    answers: &Answers<'_>,
    decision: &Decision,
    (answer, resolved): (&DecisionAnswer, bool),
    width: Option<usize>,
) -> String {
    let verdict = if answer.allowed { "yes" } else { "no" };
    let reason = visible_lines(&format!("{verdict}: {}", answer.reason), 0, width);
    let remedies = answer.remedies.iter().map(|remedy| &remedy.message);
    let page = page(&reason, &facts(answers, answer, resolved), &steps(answers, decision), remedies, width);
    page + &command(answers.tree, decision).unwrap_or_default()
}

/// Names the command that makes the first grant among the remedies, and those that a name needs which no ACL
/// can hold.
fn command(tree: &Tree, decision: &Decision) -> Option<String> {
    let remedies = remedies(tree, decision);
    let (number, grant) = (1..).zip(&remedies).find(|(_, remedy)| matches!(remedy, Remedy::Grant { .. }))?;
    let mut text = format!("\n`{}` does number {number}.\n", grant.command()?);
    if grant.needs_webhook() {
        text.push_str(WEBHOOK);
    }
    Some(text)
}

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
fn visible_lines(text: &str, indent: usize, width: Option<usize>) -> String {
    let line = |line| format::wrapped(&format::visible(line), indent, width) + "\n";
    text.lines().map(line).collect()
}

/// Formats the question: the user, the right and the queue.
fn facts(answers: &Answers<'_>, answer: &DecisionAnswer, resolved: bool) -> Table {
    let mut table = Table::new(["", ""]);
    table.row(["user", &answer.user]);
    let mut named = groups(&answer.groups);
    if resolved && answer.groups == [answer.user.as_str()] {
        named.push_str(" (YuniKorn's default: a group of the user's name)");
    }
    table.row(["groups", &named]);
    table.row(["asks to", answer.verb.verb()]);
    let unknown = request::unknown(answers.tree, &answer.queue);
    let note = unknown.or_else(|| request::parent(answers.tree, answer.verb, &answer.queue));
    table.row(["queue", note.as_ref().unwrap_or(&answer.queue)]);
    table.row(["in", &location(&answer.about)]);
    table
}

/// Names the configuration, and a partition that is not the default.
pub(crate) fn location(About { source, partition, .. }: &About) -> String {
    match partition.as_str() {
        DEFAULT_PARTITION => source.clone(),
        other => format!("{source}, partition {other}"),
    }
}

pub(crate) fn groups(groups: &[String]) -> String {
    if groups.is_empty() { "none".to_owned() } else { listed(groups, MAX_GROUPS, groups.len()) }
}

/// Builds a row for each ACL; each queue is named once.
fn steps(answers: &Answers<'_>, decision: &Decision) -> Table {
    let mut table = Table::new(["QUEUE", "ACL", "SAYS", "RESULT", "WRITTEN IN", UNTIL]);
    let mut named = None;
    for step in &decision.steps {
        let queue = if named == Some(&step.queue) { "" } else { step.queue.as_str() };
        named = Some(&step.queue);
        let [says, result, written, until] = cells(answers, step);
        table.row([queue, step.acl.key(), &says, &result, &written, &until]);
    }
    table
}

/// Returns the text of an ACL, its result, where it is written, and the end of the entry that grants.
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
