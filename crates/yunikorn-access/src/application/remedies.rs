//! Finds the changes that would allow an action on an application, the smallest first. Each suggested change
//! has been applied, and the decision repeated with it.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::{ClauseKind, Decision, Request, Step, decide};
use crate::change::{Case, Change};
use crate::remedy;
use crate::subject::Subject;
use yunikorn::queue::{QueuePath, lowered};

/// Maximum number of changes in one remedy. A verb has at most two requirements, and a missing queue also
/// needs an entry.
const MAX_CHANGES: usize = 3;

/// Changes that together would allow the action.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RemedyAnswer")]
pub struct Remedy {
    /// The kind of change.
    pub kind: RemedyKind,
    /// The setting that needs an entry; null for other kinds.
    pub setting: Option<&'static str>,
    /// The changes in one sentence.
    pub words: String,
    /// The changes.
    #[serde(skip)]
    pub changes: Vec<Change>,
}

/// Kind of change.
// Ordered by extent, from one application to everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum RemedyKind {
    /// An entry in a list that is submitted with the application.
    ApplicationAcl,
    /// A right on a queue.
    Queue,
    /// A queue that does not exist.
    CreateQueue,
    /// An entry in the list of cluster administrators.
    ClusterAdministrators,
}

impl Remedy {
    /// Returns a change that may help.
    fn new(kind: RemedyKind, setting: Option<&'static str>, words: String, change: Change) -> Self {
        Self { kind, setting, words, changes: vec![change] }
    }

    /// Combines the changes of both.
    fn and(&self, other: &Self) -> Self {
        Self {
            kind: self.kind.max(other.kind),
            setting: self.setting.or(other.setting),
            words: format!("{}, and {}", self.words, other.words),
            changes: [self.changes.as_slice(), &other.changes].concat(),
        }
    }
}

/// Returns the changes that would allow the action, or none if it is allowed or nothing would help.
pub fn remedies(request: Request<'_>) -> Vec<Remedy> {
    let case = Case {
        application: Some(request.application.clone()),
        ..Case::new(Cow::Borrowed(request.tree), request.identity, request.target)
    };
    let mut remedies: Vec<Remedy> = Vec::new();
    for candidate in candidates(request, &decide(request)) {
        // One name is enough for each list.
        let is_known =
            candidate.setting.is_some() && remedies.iter().any(|known| known.setting == candidate.setting);
        if !is_known {
            remedies.extend(completed(&case, request, None, &candidate));
        }
    }
    remedies.sort_by_key(|remedy| remedy.kind);
    remedies
}

/// Applies a change after the changes in `made`, and adds the changes for the next requirement. The case
/// contains the target queue of a move.
fn completed(
    case: &Case<'_>,
    request: Request<'_>,
    made: Option<&Remedy>,
    candidate: &Remedy,
) -> Option<Remedy> {
    let case = case.after(&candidate.changes)?;
    let Case { tree, identity, queue: target, application, .. } = &case;
    let request = Request { tree, identity, target, application: application.as_ref()?, ..request };
    let decision = decide(request);
    let made = made.map_or_else(|| candidate.clone(), |made| made.and(candidate));
    if decision.allowed() {
        return Some(made);
    }
    if made.changes.len() == MAX_CHANGES {
        return None;
    }
    let mut more = candidates(request, &decision);
    more.retain(|candidate| !candidate.changes.iter().any(|change| made.changes.contains(change)));
    more.sort_by_key(|candidate| candidate.kind);
    more.iter().find_map(|candidate| completed(&case, request, Some(&made), candidate))
}

/// Returns the changes for each clause of the unmet requirement.
fn candidates(request: Request<'_>, decision: &Decision) -> Vec<Remedy> {
    let steps = decision.unmet().map(|unmet| unmet.steps.as_slice()).unwrap_or_default();
    steps.iter().flat_map(|step| of_step(request, step)).collect()
}

/// Returns the changes that could make a clause grant access. An owner cannot be changed, and a switch
/// affects the whole cluster, so there are none for these.
fn of_step(request: Request<'_>, step: &Step) -> Vec<Remedy> {
    match step.clause {
        ClauseKind::Switch | ClauseKind::Owner => Vec::new(),
        ClauseKind::ClusterAdministrators => {
            entries(request, step, RemedyKind::ClusterAdministrators, "which applies to all applications")
        }
        ClauseKind::ApplicationAcl => {
            let which = "which is set when the application is submitted";
            entries(request, step, RemedyKind::ApplicationAcl, which)
        }
        ClauseKind::NoQueue => {
            let path = step.queue.as_ref().and_then(|queue| QueuePath::parse(&lowered(queue)).ok());
            let add = path.map(|queue| {
                let words = format!("create the queue {queue}");
                Remedy::new(RemedyKind::CreateQueue, None, words, Change::AddQueue { queue, leaf: true })
            });
            add.into_iter().collect()
        }
        ClauseKind::Queue => {
            // The application stays in its queue, but it can move to another one.
            let is_target = step.queue.as_deref() == Some(request.target);
            let remedies = step.decision.iter().flat_map(|decision| remedy::remedies(request.tree, decision));
            let possible = remedies.filter(|remedy| is_target || remedy.kind != remedy::RemedyKind::Ask);
            possible.map(|of| Remedy::new(RemedyKind::Queue, None, of.message, of.change)).collect()
        }
    }
}

/// Returns an entry for the user, followed by entries for the groups. YARN's settings list both, Spark has
/// one setting for each.
fn entries(request: Request<'_>, step: &Step, kind: RemedyKind, which: &str) -> Vec<Remedy> {
    let Some(key) = step.setting else { return Vec::new() };
    let (users, groups) = match (key.starts_with("spark."), key.ends_with(".groups")) {
        (true, is_groups) => (!is_groups, is_groups),
        (false, _) => (true, true),
    };
    let user = Some(Subject::User(request.identity.user.clone())).filter(|_| users);
    let groups = request.identity.groups.iter().filter(|_| groups);
    let candidate = |subject: Subject| {
        let words = format!("name {subject} in {key}, {which}");
        Remedy::new(kind, Some(key), words, Change::List { key, subject })
    };
    user.into_iter().chain(groups.cloned().map(Subject::Group)).map(candidate).collect()
}
