//! Finds the changes that would allow an action on an application, the smallest first. Each was made, and the
//! question decided again, before it is offered.

use std::borrow::Cow;
use std::slice;

use super::{Clause, Decision, List, Remedy, RemedyKind, Request, Step, decide};
use crate::change::{Case, Change};
use crate::remedy;
use crate::subject::Subject;
use crate::tree::Tree;
use yunikorn::identity::Identity;
use yunikorn::queue::{QueuePath, lowered};

/// Maximum number of changes in one remedy. A verb has two requirements at most, and a queue that is missing
/// needs an entry, too.
const MAX_CHANGES: usize = 3;

/// A change that may help.
#[derive(Debug, Clone)]
struct Candidate {
    kind: RemedyKind,
    setting: Option<&'static str>,
    words: String,
    change: Change,
}

/// Returns the changes that would allow the action. Empty for a yes, and where nothing would help.
pub fn remedies(tree: &Tree, question: Request<'_>, identity: &Identity) -> Vec<Remedy> {
    let case = Case {
        application: Some(question.application.clone()),
        ..Case::new(Cow::Borrowed(tree), identity, question.target)
    };
    let decision = decide(tree, question, identity);
    let candidates = candidates(tree, question, &decision, identity);
    let mut remedies: Vec<Remedy> = Vec::new();
    for candidate in candidates {
        // One name is enough for each list.
        let is_known =
            candidate.setting.is_some() && remedies.iter().any(|known| known.setting == candidate.setting);
        if !is_known && let Some(found) = completed(&case, question, &[], candidate) {
            remedies.push(found);
        }
    }
    remedies.sort_by_key(|remedy| remedy.kind);
    remedies
}

/// Decides the question after changes; the case holds the queue to move to.
fn decided(case: &Case<'_>, question: Request<'_>) -> Option<Decision> {
    let application = case.application.as_ref()?;
    Some(decide(&case.tree, Request { application, target: &case.queue, ..question }, &case.identity))
}

/// Makes a change, and adds the changes for the next requirement.
fn completed(
    case: &Case<'_>,
    question: Request<'_>,
    made: &[Candidate],
    candidate: Candidate,
) -> Option<Remedy> {
    let case = case.after(slice::from_ref(&candidate.change))?;
    let decision = decided(&case, question)?;
    let made = [made, &[candidate]].concat();
    if decision.allowed() {
        return Some(Remedy {
            kind: made.iter().map(|made| made.kind).max()?,
            setting: made.iter().find_map(|made| made.setting),
            words: made.iter().map(|made| made.words.as_str()).collect::<Vec<_>>().join(", and "),
            changes: made.into_iter().map(|made| made.change).collect(),
        });
    }
    if made.len() == MAX_CHANGES {
        return None;
    }
    let is_new = |candidate: &Candidate| !made.iter().any(|made| made.change == candidate.change);
    let mut more = candidates(&case.tree, question, &decision, &case.identity);
    more.sort_by_key(|candidate| candidate.kind);
    more.into_iter().filter(is_new).find_map(|candidate| completed(&case, question, &made, candidate))
}

/// The changes for each clause of the requirement that is not met.
fn candidates(
    tree: &Tree,
    question: Request<'_>,
    decision: &Decision,
    identity: &Identity,
) -> Vec<Candidate> {
    let steps = decision.unmet().map(|unmet| unmet.steps.as_slice()).unwrap_or_default();
    steps.iter().flat_map(|step| of_step(tree, question, step, identity)).collect()
}

/// The changes that may make a clause grant access. There is none for an owner, who cannot be changed, nor
/// for a switch, which is for the whole cluster.
fn of_step(tree: &Tree, question: Request<'_>, step: &Step, identity: &Identity) -> Vec<Candidate> {
    match &step.clause {
        Clause::Switch(_) | Clause::Owner(_) => Vec::new(),
        Clause::ClusterAdministrators(list) => {
            entries(list, RemedyKind::ClusterAdministrators, "which is for all applications", identity)
        }
        Clause::ApplicationAcl(list) => entries(
            list,
            RemedyKind::ApplicationAcl,
            "which is set when the application is submitted",
            identity,
        ),
        Clause::NoQueue(queue) => {
            let path = QueuePath::parse(&lowered(queue));
            let add = path.map(|queue| Candidate {
                kind: RemedyKind::CreateQueue,
                setting: None,
                words: format!("make the queue {queue}"),
                change: Change::AddQueue { queue, leaf: true },
            });
            add.into_iter().collect()
        }
        Clause::Queue(decision) => {
            // The application stays in its queue, but can move to another one.
            let is_target = decision.path == question.target;
            let possible = remedy::remedies(tree, decision)
                .filter(|remedy| is_target || remedy.kind != remedy::RemedyKind::Ask);
            let candidate = |remedy: remedy::Remedy| Candidate {
                kind: RemedyKind::Queue,
                setting: None,
                words: remedy.message,
                change: remedy.change,
            };
            possible.map(candidate).collect()
        }
    }
}

/// An entry for the user, or else for one of the groups. YARN's settings list both, Spark has one setting for
/// each.
fn entries(list: &List, kind: RemedyKind, which: &str, identity: &Identity) -> Vec<Candidate> {
    let key = list.key;
    let (users, groups) = match (key.starts_with("spark."), key.ends_with(".groups")) {
        (true, is_groups) => (!is_groups, is_groups),
        (false, _) => (true, true),
    };
    let user = Some(Subject::User(identity.user.clone())).filter(|_| users);
    let groups = identity.groups.iter().filter(|_| groups).map(|group| Subject::Group(group.clone()));
    let candidate = |subject: Subject| Candidate {
        kind,
        setting: Some(key),
        words: format!("name {subject} in {key}, {which}"),
        change: Change::List { key, subject },
    };
    user.into_iter().chain(groups).map(candidate).collect()
}
