//! Output for people: every clause with its text.

use crate::output::explanation;
use std::iter;

use super::ApplicationAnswer;
use crate::output::format::{Table, UNTIL, visible};
use crate::source::request;
use queuewarden_api::answer::Answers;
use yunikorn_access::application::{ClauseKind, Need, Step, Verb};
use yunikorn_access::decide;

/// Returns the answer, the question, every clause, and for a denial the changes that would help.
pub(super) fn everything(answers: &Answers<'_>, answer: &ApplicationAnswer, width: Option<usize>) -> String {
    let verdict = if answer.allowed { "yes" } else { "no" };
    let reason = format!("{verdict}: {}\n", visible(&answer.reason));
    let remedies = answer.remedies.iter().map(|remedy| &remedy.words);
    explanation::page(&reason, &facts(answers, answer), &clauses(answers, answer), remedies, width)
}

fn facts(answers: &Answers<'_>, answer: &ApplicationAnswer) -> Table {
    let mut table = Table::new(["", ""]);
    table.row(["user", &answer.user]);
    table.row(["groups", &explanation::groups(&answer.groups)]);
    table.row(["asks to", act(answer.verb)]);
    answer.application.iter().for_each(|name| table.row(["application", name]));
    table.row(["owner", &answer.owner]);
    let queue = request::unknown(answers.tree, &answer.queue);
    table.row(["queue", queue.as_ref().unwrap_or(&answer.queue)]);
    answer.target.iter().for_each(|to| table.row(["to", to]));
    table.row(["dialect", &answer.dialect]);
    table.row(["in", &explanation::location(&answer.about)]);
    table
}

/// Builds a row for each clause, and for each queue ACL that a clause looks at.
fn clauses(answers: &Answers<'_>, answer: &ApplicationAnswer) -> Table {
    let mut table = Table::new(["TO", "CLAUSE", "SAYS", "RESULT", "WRITTEN IN", UNTIL]);
    for requirement in &answer.requirements {
        let mut need = needed(requirement.need);
        for cells in requirement.steps.iter().flat_map(|step| rows(answers, &answer.owner, step)) {
            table.row(iter::once(need).chain(cells.iter().map(String::as_str)));
            need = "";
        }
    }
    table
}

/// Returns an action in words.
fn act(verb: Verb) -> &'static str {
    match verb {
        Verb::View => "view the application",
        Verb::Modify => "modify the application",
        Verb::Kill => "kill the application",
        Verb::Logs => "read the application's logs",
        Verb::Move => "move the application",
    }
}

fn needed(need: Need) -> &'static str {
    match need {
        Need::View => "view",
        Need::Logs => "read logs",
        Need::Modify => "modify",
        Need::Source => "take from its queue",
        Need::Target => "put into the other",
        Need::Impossible => "move",
    }
}

fn rows(answers: &Answers<'_>, owner: &str, step: &Step) -> Vec<[String; 5]> {
    let row =
        |clause: &str, says: &str, result: &str| vec![[clause, says, result, "", ""].map(str::to_owned)];
    let (key, text) = (step.setting.unwrap_or_default(), step.text.as_deref().unwrap_or_default());
    let queue = step.queue.as_deref().unwrap_or_default();
    match (step.clause, &step.decision) {
        (ClauseKind::Switch, _) if step.granted => row(key, text, "grants everyone"),
        (ClauseKind::Switch, _) => row(key, text, "ACLs are asked"),
        (ClauseKind::Owner, _) if step.granted => row("owner", owner, "grants its owner"),
        (ClauseKind::Owner, _) => row("owner", owner, "no match"),
        (ClauseKind::ClusterAdministrators | ClauseKind::ApplicationAcl, _) => {
            // Quoted, because its spaces matter.
            let default = if step.set == Some(true) { "" } else { " (default)" };
            let result = step.entry.as_ref().map(|entry| format!("grants {entry}"));
            let says = explanation::quoted(text) + default;
            row(key, &says, result.as_deref().unwrap_or("no match"))
        }
        (_, Some(decision)) if decision.steps.is_empty() => {
            row(decision.right.verb(), queue, &answers.reason(decision))
        }
        (_, Some(decision)) => {
            let row = |step: &decide::Step| {
                let [says, result, written, until] = explanation::cells(answers, step);
                [format!("{} of {}", step.acl.key(), step.queue), says, result, written, until]
            };
            decision.steps.iter().map(row).collect()
        }
        (_, None) => row("queue", queue, "there is none"),
    }
}
