//! The decision about an application in one sentence, for a line of output and for a webhook's `reason`.

use super::{Clause, Decision, List, Need, Requirement, Step};
use crate::tree::Tree;
use go_compat::diag::quoted;

/// The clauses that grant access, or all those that do not; the application is `it`. The tree must be the one
/// of the decision.
pub fn sentence(tree: &Tree, decision: &Decision) -> String {
    match decision.unmet() {
        None => {
            let by = decision.requirements.iter().filter_map(Requirement::granted_by);
            joined(by.filter_map(|step| clause(tree, step)))
        }
        Some(unmet) if unmet.need == Need::Impossible => {
            format!("{} moves no application from queue to queue", decision.dialect)
        }
        Some(unmet) => {
            let others = unmet.steps.iter().filter(|step| list(step).is_none());
            let why = joined(others.filter_map(|step| clause(tree, step)).chain(unnamed(&unmet.steps)));
            format!("user {} may not {}: {why}", decision.identity.user, need(unmet.need))
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

/// Describes a clause. ACLs that are switched on are no reason for anything, so they are left out.
fn clause(tree: &Tree, step: &Step) -> Option<String> {
    Some(match &step.clause {
        Clause::Switch(_) if !step.granted => return None,
        Clause::Switch(key) => format!("{key} is off, so that everybody may do everything"),
        Clause::Owner(owner) => format!("{owner} owns it"),
        Clause::ClusterAdministrators(list) | Clause::ApplicationAcl(list) => return listed(list),
        Clause::Queue(decision) => crate::sentence(tree, decision),
        Clause::NoQueue(queue) => format!("there is no queue {}", quoted(queue)),
    })
}

fn listed(list: &List) -> Option<String> {
    list.entry.as_ref().map(|subject| format!("{} names {subject}", list.key))
}

fn list(step: &Step) -> Option<&List> {
    match &step.clause {
        Clause::ClusterAdministrators(list) | Clause::ApplicationAcl(list) => Some(list),
        Clause::Switch(_) | Clause::Owner(_) | Clause::Queue(_) | Clause::NoQueue(_) => None,
    }
}

/// The settings that do not name the user, in one phrase.
fn unnamed(steps: &[Step]) -> Option<String> {
    let keys: Vec<&str> = steps.iter().filter_map(list).map(|list| list.key).collect();
    match keys.as_slice() {
        [] => None,
        [one] => Some(format!("{one} names neither the user nor a group")),
        [one, two] => Some(format!("neither {one} nor {two} names the user or a group")),
        more => Some(format!("none of {} names the user or a group", more.join(", "))),
    }
}

/// Joins the parts and drops repeated ones.
fn joined(parts: impl Iterator<Item = String>) -> String {
    let mut parts: Vec<String> = parts.collect();
    parts.dedup();
    parts.join("; ")
}
