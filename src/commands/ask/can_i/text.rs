//! Every step of a decision, for `explain`.

use crate::output::explanation::{WEBHOOK, cells, groups, location, page, visible_lines};
use crate::output::format::{Table, UNTIL};
use crate::source::request;
use queuewarden_api::answer::{Answers, DecisionAnswer};
use yunikorn_access::decide::Decision;
use yunikorn_access::remedy::{Remedy, RemedyKind};

/// Formats the answer for people: the reason, the question, each ACL, and changes that would allow it. The
/// groups of the user were named, or `resolved`.
pub(super) fn text(
    answers: &Answers<'_>,
    decision: &Decision,
    (answer, resolved): (&DecisionAnswer, bool),
    width: Option<usize>,
) -> String {
    let verdict = if answer.allowed { "yes" } else { "no" };
    let reason = visible_lines(&format!("{verdict}: {}", answer.reason), 0, width);
    let remedies = answer.remedies.iter().map(|remedy| &remedy.message);
    let page = page(&reason, &facts(answers, answer, resolved), &steps(answers, decision), remedies, width);
    page + &command(&answer.remedies).unwrap_or_default()
}

/// Names the command that makes the first grant among the remedies, and those that a name needs which no ACL
/// can hold.
fn command(remedies: &[Remedy]) -> Option<String> {
    let (number, grant) = (1..).zip(remedies).find(|(_, remedy)| remedy.kind == RemedyKind::Grant)?;
    let mut text = format!("\n`{}` does number {number}.\n", grant.command()?);
    if grant.needs_webhook() {
        text.push_str(WEBHOOK);
    }
    Some(text)
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
