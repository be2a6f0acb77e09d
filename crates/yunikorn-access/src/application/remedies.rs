//! Finds the changes that would allow an action on an application, the smallest first. Each was made, and the
//! question decided again, before it is offered.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::{ClauseKind, Decision, Request, Step, decide};
use crate::change::{Case, Change};
use crate::remedy;
use crate::subject::Subject;
use yunikorn::queue::{QueuePath, lowered};

/// Maximum number of changes in one remedy. A verb has two requirements at most, and a queue that is missing
/// needs an entry, too.
const MAX_CHANGES: usize = 3;

/// Changes that together would allow the action.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RemedyAnswer")]
pub struct Remedy {
    /// The kind of change.
    pub kind: RemedyKind,
    /// The setting that an entry is missing in; null for other kinds.
    pub setting: Option<&'static str>,
    /// The changes in one sentence.
    pub words: String,
    /// The changes.
    #[serde(skip)]
    pub changes: Vec<Change>,
}

/// Kind of change.
// In the order of their size: one application, one queue, everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum RemedyKind {
    /// An entry in a list that comes with the application when it is submitted.
    ApplicationAcl,
    /// A right in a queue.
    Queue,
    /// A queue that does not exist.
    CreateQueue,
    /// An entry in the list of cluster administrators.
    ClusterAdministrators,
}

impl Remedy {
    /// A change that may help.
    fn new(kind: RemedyKind, setting: Option<&'static str>, words: String, change: Change) -> Self {
        Self { kind, setting, words, changes: vec![change] }
    }

    /// Returns the changes of both.
    fn and(&self, other: &Self) -> Self {
        Self {
            kind: self.kind.max(other.kind),
            setting: self.setting.or(other.setting),
            words: format!("{}, and {}", self.words, other.words),
            changes: [self.changes.as_slice(), &other.changes].concat(),
        }
    }
}

/// Returns the changes that would allow the action. Empty for a yes, and where nothing would help.
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

/// Makes a change after those `made`, and adds the changes for the next requirement. The case holds the queue
/// to move to.
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

/// The changes for each clause of the requirement that is not met.
fn candidates(request: Request<'_>, decision: &Decision) -> Vec<Remedy> {
    let steps = decision.unmet().map(|unmet| unmet.steps.as_slice()).unwrap_or_default();
    steps.iter().flat_map(|step| of_step(request, step)).collect()
}

/// The changes that may make a clause grant access. There is none for an owner, who cannot be changed, nor
/// for a switch, which is for the whole cluster.
fn of_step(request: Request<'_>, step: &Step) -> Vec<Remedy> {
    match step.clause {
        ClauseKind::Switch | ClauseKind::Owner => Vec::new(),
        ClauseKind::ClusterAdministrators => {
            entries(request, step, RemedyKind::ClusterAdministrators, "which is for all applications")
        }
        ClauseKind::ApplicationAcl => {
            let which = "which is set when the application is submitted";
            entries(request, step, RemedyKind::ApplicationAcl, which)
        }
        ClauseKind::NoQueue => {
            let path = step.queue.as_ref().and_then(|queue| QueuePath::parse(&lowered(queue)).ok());
            let add = path.map(|queue| {
                let words = format!("make the queue {queue}");
                Remedy::new(RemedyKind::CreateQueue, None, words, Change::AddQueue { queue, leaf: true })
            });
            add.into_iter().collect()
        }
        ClauseKind::Queue => {
            // The application stays in its queue, but can move to another one.
            let is_target = step.queue.as_deref() == Some(request.target);
            let remedies = step.decision.iter().flat_map(|decision| remedy::remedies(request.tree, decision));
            let possible = remedies.filter(|remedy| is_target || remedy.kind != remedy::RemedyKind::Ask);
            possible.map(|of| Remedy::new(RemedyKind::Queue, None, of.message, of.change)).collect()
        }
    }
}

/// An entry for the user, or else for one of the groups. YARN's settings list both, Spark has one setting for
/// each.
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
