//! Output for people: one line, or every clause with its text.

use super::answer::Context;
use crate::cli::ask::output::{Table, visible};
use crate::cli::ask::question;
use crate::cli::explain;
use queuewarden_api::answer::Named;
use yunikorn_access::application::{Clause, List, Need, Step, sentence};
use yunikorn_access::check;

/// Returns the answer, the question, every clause, and for a denial the changes that would help.
pub fn everything(context: &Context<'_>) -> String {
    let verdict = if context.decision.allowed() { "yes" } else { "no" };
    let mut shown = format!("{verdict}: {}\n\n", visible(&reason(context)));
    shown.push_str(&facts(context));
    let clauses = clauses(context);
    if !clauses.is_empty() {
        shown.push('\n');
        shown.push_str(&clauses.text(true));
    }
    shown.push_str(&explain::remedies(&context.decision.remedies(context.answers.tree)));
    shown
}

/// Returns the reason in one sentence.
pub fn reason(context: &Context<'_>) -> String {
    sentence(context.answers.tree, context.decision)
}

fn facts(context: &Context<'_>) -> String {
    let identity = &context.decision.identity;
    let mut table = Table::new(["", ""]);
    table.row(["user", &identity.user]);
    table.row(["groups", &explain::groups(identity)]);
    table.row(["asks to", context.action.words()]);
    if let Some(name) = context.name {
        table.row(["application", name]);
    }
    table.row(["owner", context.owner]);
    let queue =
        question::unknown(context.answers.tree, context.queue).unwrap_or_else(|| context.queue.to_owned());
    table.row(["queue", &queue]);
    if let Some(to) = context.to {
        table.row(["to", to]);
    }
    table.row(["dialect", context.decision.dialect.name()]);
    table
        .row(["in", &explain::place(context.answers.configuration.name(), context.answers.tree.partition())]);
    table.text(false)
}

/// Builds a row for each clause, and for each queue ACL that a clause looks at.
fn clauses(context: &Context<'_>) -> Table {
    let mut table = Table::new(["TO", "CLAUSE", "SAYS", "RESULT", "WRITTEN IN"]);
    for requirement in &context.decision.requirements {
        let mut need = needed(requirement.need);
        for step in &requirement.steps {
            for row in rows(context, step) {
                let [clause, says, result, written] = row;
                table.row([need, &clause, &says, &result, &written]);
                need = "";
            }
        }
    }
    table
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

fn rows(context: &Context<'_>, step: &Step) -> Vec<[String; 4]> {
    let row = |clause: &str, says: &str, result: &str| vec![[clause, says, result, ""].map(str::to_owned)];
    match &step.clause {
        Clause::Switch { key } if step.granted => row(key, "false", "grants everyone"),
        Clause::Switch { key } => row(key, "true", "ACLs are asked"),
        Clause::Owner { owner } if step.granted => row("owner", owner, "grants its owner"),
        Clause::Owner { owner } => row("owner", owner, "no match"),
        Clause::ClusterAdministrators(list) | Clause::ApplicationAcl(list) => {
            row(list.key, &says(list), &result(list))
        }
        Clause::NoQueue { queue } => row("queue", queue, "there is none"),
        Clause::Queue(decision) if decision.steps.is_empty() => {
            row(decision.right.verb(), &decision.asked, &context.answers.reason(decision))
        }
        Clause::Queue(decision) => decision.steps.iter().map(|step| queue_row(context, step)).collect(),
    }
}

fn queue_row(context: &Context<'_>, step: &check::Step) -> [String; 4] {
    let [says, result, written] = explain::cells(&context.answers, step, &context.decision.identity);
    [format!("{} of {}", step.right.key(), step.queue), says, result, written]
}

/// Quotes the text, because its spaces matter.
fn says(list: &List) -> String {
    let text = explain::quoted(&list.text);
    if list.set { text } else { format!("{text} (default)") }
}

fn result(list: &List) -> String {
    match &list.entry {
        Some(entry) => format!("grants {}", Named::from(entry).words()),
        None => "no match".to_owned(),
    }
}
