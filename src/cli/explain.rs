//! `queuewarden explain`: answers yes or no, with every step of the decision.

use std::fmt::Display;

use super::ask::output::{self, Table};
use super::ask::{EXIT_CODES, question};
use super::can_i::{QuestionArgs, Show};
use super::console::Console;
use super::{Exit, Failure};
use queuewarden_api::answer::Answers;
use queuewarden_api::answer::{Named, WrittenIn};
use yunikorn::identity::Identity;
use yunikorn_access::check::{Decision, Step};
use yunikorn_access::tree::Tree;
use yunikorn_access::{self, near_misses};

/// Maximum length of an ACL in the output, in characters; longer ones are cut.
const MAX_ACL: usize = 48;
/// Maximum number of groups that are listed; more are counted.
const MAX_GROUPS: usize = 8;

/// Explain why a user may, or may not, submit to a queue or administer it: every ACL that YuniKorn evaluates,
/// in order; or why a user may act on an application: every clause of the rules
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Args {
    #[command(flatten)]
    question: QuestionArgs,
}

/// Runs the command.
///
/// # Errors
/// As [`QuestionArgs::answer`].
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    args.question.answer(Show::Everything, console)
}

/// Formats the answer for people: the reason, the question, each ACL, and changes that would allow it.
pub(super) fn text(answers: &Answers<'_>, decision: &Decision) -> String {
    let verdict = if decision.allowed() { "yes" } else { "no" };
    let mut shown = visible_lines(&format!("{verdict}: {}\n", answers.reason(decision)));
    shown.push('\n');
    shown.push_str(&facts(answers, decision));
    let steps = steps(answers, decision);
    if !steps.is_empty() {
        shown.push('\n');
        shown.push_str(&steps.text(true));
    }
    shown.push_str(&remedies(&yunikorn_access::remedies(answers.tree, decision)));
    shown
}

/// Formats the changes that would allow it.
pub(super) fn remedies(found: &[impl Display]) -> String {
    if found.is_empty() {
        return String::new();
    }
    let numbered = found.iter().zip(1..).map(|(remedy, number)| format!("{number}. {remedy}\n"));
    format!("\nTo allow it, the smallest change first:\n{}", visible_lines(&numbered.collect::<String>()))
}

/// Escapes control characters in every line.
fn visible_lines(text: &str) -> String {
    text.lines().flat_map(|line| [output::visible(line), "\n".to_owned()]).collect()
}

/// Formats the question: the user, the right and the queue.
fn facts(answers: &Answers<'_>, decision: &Decision) -> String {
    let mut table = Table::new(["", ""]);
    table.row(["user", &decision.identity.user]);
    table.row(["groups", &groups(&decision.identity)]);
    table.row(["asks to", decision.right.verb()]);
    let unknown = question::unknown(answers.tree, &decision.asked);
    let parent = || question::parent(answers.tree, decision.right, &decision.asked);
    let queue = unknown.or_else(parent).unwrap_or_else(|| decision.asked.clone());
    table.row(["queue", &queue]);
    table.row(["in", &place(answers.configuration.name(), answers.tree.partition())]);
    table.text(false)
}

/// Names the configuration, and a partition that is not the default.
pub(super) fn place(source: &str, partition: &str) -> String {
    match partition {
        "default" => source.to_owned(),
        other => format!("{source}, partition {other}"),
    }
}

pub(super) fn groups(identity: &Identity) -> String {
    match identity.groups.as_slice() {
        [] => "none".to_owned(),
        groups if groups.len() <= MAX_GROUPS => groups.join(", "),
        groups => {
            let first: Vec<&str> = groups.iter().take(MAX_GROUPS).map(String::as_str).collect();
            format!("{} and {} more", first.join(", "), groups.len().saturating_sub(MAX_GROUPS))
        }
    }
}

/// Builds a row for each ACL; each queue is named once.
fn steps(answers: &Answers<'_>, decision: &Decision) -> Table {
    let mut table = Table::new(["QUEUE", "ACL", "SAYS", "RESULT", "WRITTEN IN"]);
    let mut named = None;
    for step in &decision.steps {
        let queue = if named == Some(&step.queue) { "" } else { step.queue.as_str() };
        named = Some(&step.queue);
        let [says, result, written] = cells(answers, step, &decision.identity);
        table.row([queue, step.right.key(), &says, &result, &written]);
    }
    table
}

/// Returns the text of an ACL, its result, and where it is written.
pub(super) fn cells(answers: &Answers<'_>, step: &Step, identity: &Identity) -> [String; 3] {
    let (result, origins) = match &step.entry {
        Some(entry) => {
            (format!("grants {}", Named::from(&entry.subject).words()), answers.origins(&entry.origins))
        }
        None => (none(answers.tree, step, identity), own(answers, step)),
    };
    let says = if step.acl.is_empty() { "-".to_owned() } else { quoted(&step.acl) };
    [says, result, WrittenIn::list(&origins)]
}

/// Returns the reason why an ACL grants nothing here.
fn none(tree: &Tree, step: &Step, identity: &Identity) -> String {
    if step.acl.is_empty() {
        return "not set".to_owned();
    }
    let near: Vec<String> = near_misses(step, identity).into_iter().map(|miss| miss.message).collect();
    let acl = tree.find(&step.queue).and_then(|id| tree.node(id)).map(|node| &node.grants(step.right).acl);
    match acl {
        _ if !near.is_empty() => format!("no match: {}", near.join("; ")),
        Some(acl) if acl.is_nobody() => "names nobody".to_owned(),
        _ => "no match".to_owned(),
    }
}

/// Returns the writers of the whole ACL.
fn own(answers: &Answers<'_>, step: &Step) -> Vec<WrittenIn> {
    let node = answers.tree.find(&step.queue).and_then(|id| answers.tree.node(id));
    let parts = node.iter().flat_map(|node| &node.grants(step.right).parts);
    answers.origins(parts.map(|(origin, _)| origin))
}

/// Quotes an ACL as written, because its spaces matter; a long one is cut.
pub(super) fn quoted(acl: &str) -> String {
    let count = acl.chars().count();
    if count <= MAX_ACL {
        return format!("\"{acl}\"");
    }
    let start: String = acl.chars().take(MAX_ACL).collect();
    format!("\"{start}… ({count} characters)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_groups_are_counted() {
        let identity = |count: usize| Identity {
            user: "sue".to_owned(),
            groups: (0..count).map(|index| format!("g{index}")).collect(),
        };
        assert_eq!(groups(&identity(0)), "none");
        assert_eq!(groups(&identity(2)), "g0, g1");
        assert!(groups(&identity(20)).ends_with("g7 and 12 more"));
    }
}
