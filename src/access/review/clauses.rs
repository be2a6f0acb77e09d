//! The decision about an application in one sentence.

use super::Application;
use crate::access;
use crate::access::application::{Clause, Decision, List, Need, Requirement, Step};
use crate::access::tree::Tree;
use crate::text::diag::quoted;

/// What lets in, or everything that does not.
pub(super) fn sentence(tree: &Tree, decision: &Decision, application: &Application) -> String {
    let whom = &decision.identity.user;
    let what = format!("the application of {} in {}", application.acl.owner, application.queue);
    match decision.unmet() {
        None => {
            let by = decision.requirements.iter().filter_map(Requirement::granted_by);
            format!("{what}: {}", joined(by.filter_map(|step| clause(tree, step))))
        }
        Some(unmet) if unmet.need == Need::Impossible => {
            format!("{what} stays there: {} moves no application from queue to queue", decision.dialect)
        }
        Some(unmet) => {
            let why = joined(unmet.steps.iter().filter_map(|step| clause(tree, step)));
            format!("{what}: user {whom} may not {}: {why}", need(unmet.need))
        }
    }
}

fn need(need: Need) -> &'static str {
    match need {
        Need::View => "view it",
        Need::Logs => "read its logs",
        Need::Modify => "modify it",
        Need::Source => "take it from its queue",
        Need::Target => "put it into the other queue",
        Need::Impossible => "move it",
    }
}

/// What a clause says. That ACLs are switched on is no reason for anything.
fn clause(tree: &Tree, step: &Step) -> Option<String> {
    Some(match &step.clause {
        Clause::Switch { .. } if !step.granted => return None,
        Clause::Switch { key } => format!("{key} is off, so that everybody may do everything"),
        Clause::Owner { owner } => format!("{owner} owns it"),
        Clause::ClusterAdministrators(list) | Clause::ApplicationAcl(list) => listed(list),
        Clause::Queue(decision) => access::sentence(tree, decision),
        Clause::NoQueue { queue } => format!("there is no queue {}", quoted(queue)),
    })
}

fn listed(list: &List) -> String {
    match &list.entry {
        Some(subject) => format!("{} names {subject}", list.key),
        None => format!("{} names neither the user nor a group", list.key),
    }
}

/// What is said twice is said once.
fn joined(parts: impl Iterator<Item = String>) -> String {
    let mut parts: Vec<String> = parts.collect();
    parts.dedup();
    parts.join("; ")
}
