//! What people read: one line, or every clause with what it says.

use super::answer::Context;
use crate::access::application::{Clause, List, Need, Requirement, Step};
use crate::access::check;
use crate::cli::ask::answers::Named;
use crate::cli::ask::output::{Table, visible};
use crate::cli::ask::question;
use crate::cli::explain;

/// `yes`, or `no` and why.
pub fn line(context: &Context<'_>) -> String {
    if context.decision.allowed() {
        return "yes\n".to_owned();
    }
    format!("no - {}\n", visible(&context.reason()))
}

/// The answer, what was asked, every clause, and for a denial what would help.
pub fn everything(context: &Context<'_>) -> String {
    let verdict = if context.decision.allowed() { "yes" } else { "no" };
    let mut shown = format!("{verdict}: {}\n\n", visible(&context.reason()));
    shown.push_str(&facts(context));
    let clauses = clauses(context);
    if !clauses.is_empty() {
        shown.push('\n');
        shown.push_str(&clauses.text(true));
    }
    let remedies = context.decision.remedies(context.answers.tree);
    if !remedies.is_empty() {
        shown.push_str("\nit would take one of\n");
        for remedy in &remedies {
            shown.extend(["  ", &visible(&remedy.to_string()), "\n"]);
        }
    }
    shown
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
    table.row(["in", &explain::place(context.answers.configuration.name(), context.answers.tree)]);
    table.text(false)
}

/// A row for each clause, and for each ACL of a queue that a clause looks at.
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

/// The text in quotes, because its blanks matter.
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

impl Context<'_> {
    /// Why, in one sentence.
    pub fn reason(&self) -> String {
        match self.decision.unmet() {
            None => {
                let granted = self.decision.requirements.iter().filter_map(Requirement::granted_by);
                joined(granted.map(|step| self.granted(step)))
            }
            Some(unmet) if unmet.need == Need::Impossible => {
                format!("{} moves no application from queue to queue", self.decision.dialect)
            }
            Some(unmet) => {
                let missing = joined(unmet.steps.iter().filter_map(|step| self.missing(step)));
                format!("{} may not {}: {missing}", self.decision.identity.user, self.denied(unmet.need))
            }
        }
    }

    /// What of the verb is denied.
    fn denied(&self, need: Need) -> String {
        match need {
            Need::Source => format!("take the application from {}", self.queue),
            Need::Target => format!("move the application to {}", self.to.unwrap_or_default()),
            Need::View | Need::Logs | Need::Modify | Need::Impossible => self.action.words().to_owned(),
        }
    }

    fn granted(&self, step: &Step) -> String {
        let user = &self.decision.identity.user;
        let who =
            |list: &List| list.entry.as_ref().map(|entry| Named::from(entry).words()).unwrap_or_default();
        match &step.clause {
            Clause::Switch { key } => format!("{key} is off, so that everybody may do everything"),
            Clause::Owner { .. } => format!("{user} owns the application"),
            Clause::ClusterAdministrators(list) => {
                format!("{} administers the cluster by {}", who(list), list.key)
            }
            Clause::ApplicationAcl(list) => format!("{} is let in by {}", who(list), list.key),
            Clause::Queue(decision) => self.answers.reason(decision),
            Clause::NoQueue { queue } => format!("there is no queue {queue}"),
        }
    }

    /// Why a clause does not let in; that ACLs are switched on is no reason.
    fn missing(&self, step: &Step) -> Option<String> {
        Some(match &step.clause {
            Clause::Switch { .. } => return None,
            Clause::Owner { owner } => format!("{owner} owns it"),
            Clause::ClusterAdministrators(list) | Clause::ApplicationAcl(list) => {
                format!("no match in {}", list.key)
            }
            Clause::Queue(decision) => self.answers.reason(decision),
            Clause::NoQueue { queue } => format!("there is no queue {queue}"),
        })
    }
}

/// One sentence of several; what lets in twice is said once.
fn joined(parts: impl Iterator<Item = String>) -> String {
    let mut parts: Vec<String> = parts.collect();
    parts.dedup();
    parts.join("; ")
}
