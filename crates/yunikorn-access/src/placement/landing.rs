//! Evaluates the queue that a rule has selected: whether it exists, whether the user may submit to it, and
//! whether it can be created (yunikorn-core `placement.go:139-205`, `partition.go:332-350`,
//! `partition.go:526-563`).

use std::collections::BTreeMap;

use super::Submission;
use super::trace::{Created, Landing, LandingEnd, Target};
use crate::decide::{Decision, Denial, explain_existing};
use crate::tree::{Tree, levels};
use yunikorn::config::NAME_REFUSED;
use yunikorn::identity::Identity;
use yunikorn::queue::{RECOVERY, ROOT, in_recovery, name_ok};
use yunikorn::right::Right;

/// The recovery queue's own name, which no created queue may have (`objects/queue.go:201`).
const RECOVERY_NAME: &str = "@recovery@";

/// The queues that exist.
#[derive(Debug, Clone)]
pub(super) struct Existing<'a> {
    pub(super) tree: &'a Tree,
    pub(super) live: Live,
}

/// A queue that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExistingQueue {
    pub(super) leaf: bool,
    draining: bool,
    configured: bool,
}

impl Existing<'_> {
    /// Returns the queue with this path, ignoring case.
    pub(super) fn find(&self, path: &str) -> Option<ExistingQueue> {
        let path = path.to_ascii_lowercase();
        if let Some(node) = self.tree.find_exact(&path).and_then(|id| self.tree.node(id)) {
            return Some(ExistingQueue { leaf: node.is_leaf, draining: false, configured: true });
        }
        let LiveQueue { leaf, draining } = self.live.get(&path)?;
        Some(ExistingQueue { leaf, draining, configured: false })
    }

    /// Returns the longest prefix of a path that is a queue. The search starts at the top, because a queue
    /// can exist only below an existing one.
    fn nearest<'p>(&self, path: &'p str) -> Option<(&'p str, ExistingQueue)> {
        levels(path).map_while(|above| self.find(above).map(|found| (above, found))).last()
    }

    /// Evaluates the queue with this name.
    pub(super) fn land(&self, queue: &str, submission: &Submission) -> Landing {
        let land = |target, decision, end| Landing { queue: queue.to_owned(), target, decision, end };
        let Some((near, found)) = self.nearest(queue) else {
            return land(Target::Nowhere, None, LandingEnd::Crashes);
        };
        let exists = near.len() == queue.len();
        let target = if exists {
            Target::Exists { configured: found.configured }
        } else {
            Target::New { above: near.to_ascii_lowercase() }
        };
        // The exact path that the recovery rule uses is not checked at all (`placement.go:145`).
        if queue == RECOVERY && submission.forced() {
            return land(target, None, recovered(exists, found, submission));
        }
        if exists && !found.leaf {
            return land(target, None, LandingEnd::NotALeaf);
        }
        let decision = self.may_submit(near, &submission.identity);
        let end = match (decision.allowed(), exists) {
            (false, _) => self.denied(near, exists && found.draining),
            (true, false) => create(queue, near, found, submission),
            (true, true) if found.draining => LandingEnd::Draining,
            (true, true) => LandingEnd::Placed(None),
        };
        land(target, Some(decision), end)
    }

    /// Returns a denial if the ACLs are known. A draining queue is skipped in any case.
    fn denied(&self, path: &str, draining: bool) -> LandingEnd {
        match self.forgotten(path) {
            Some(_) if draining => LandingEnd::Draining,
            Some(queue) => {
                let queue = queue.to_ascii_lowercase();
                let reason = format!("queue {queue} is draining, and its former ACLs are unknown");
                LandingEnd::Undecided(reason)
            }
            None => LandingEnd::Denied,
        }
    }

    /// `CheckSubmitAccess` of an existing queue. Queues outside the configuration have no ACLs. Nobody may
    /// submit to the recovery queue or the queues below it.
    fn may_submit(&self, path: &str, identity: &Identity) -> Decision {
        let mut decision = explain_existing(self.tree, Right::Submit, path, identity);
        if in_recovery(path) && self.tree.find_exact(RECOVERY).is_none() {
            decision.denial = Some(Denial::Recovery);
            decision.steps.clear();
        }
        decision
    }

    /// Returns a queue between this one and the root whose ACLs are unknown.
    fn forgotten<'p>(&self, path: &'p str) -> Option<&'p str> {
        levels(path).find(|above| self.find(above).is_some_and(|found| found.draining))
    }
}

/// Places an application that must be accepted in the recovery queue.
fn recovered(exists: bool, found: ExistingQueue, submission: &Submission) -> LandingEnd {
    if !exists {
        return LandingEnd::Placed(Some(made(ROOT, RECOVERY, true)));
    }
    if found.leaf {
        return LandingEnd::Placed(None);
    }
    let message = format!("failed to find queue {RECOVERY} for application {}", submission.application_id);
    LandingEnd::Fails { message, created: None }
}

/// `createQueue` (`partition.go:526`) below the nearest existing queue.
fn create(queue: &str, near: &str, found: ExistingQueue, submission: &Submission) -> LandingEnd {
    let fails = |reason: String, created| {
        let id = &submission.application_id;
        // Go joins errors with a line break.
        let message = format!("failed to create rule based queue {queue} for application {id}\n{reason}");
        LandingEnd::Fails { message, created }
    };
    // Another function checks this before anything else (`partition.go:334`).
    if queue.eq_ignore_ascii_case(RECOVERY) {
        return LandingEnd::Placed(Some(made(near, queue, true)));
    }
    if found.leaf {
        return fails(format!("creation of queue {queue} failed parent is already a leaf: {near}"), None);
    }
    let mut so_far = near;
    for path in levels(queue).filter(|path| path.len() > near.len()) {
        let name = path.rsplit_once('.').map_or(path, |(_, name)| name);
        if let Some(reason) = refusal(name, so_far, found.draining && so_far == near) {
            let created = (so_far != near).then(|| made(near, so_far, false));
            return fails(reason, created);
        }
        so_far = path;
    }
    LandingEnd::Placed(Some(made(near, queue, true)))
}

/// Returns why a queue cannot be created (`NewDynamicQueue`, `objects/queue.go:191`;
/// `addChildQueue`, `objects/queue.go:1061`).
fn refusal(name: &str, parent: &str, draining: bool) -> Option<String> {
    if !name_ok(name) {
        return Some(NAME_REFUSED.to_owned());
    }
    if name == RECOVERY_NAME {
        return Some("dynamic queue cannot be root.@recovery@".to_owned());
    }
    draining.then(|| {
        format!(
            "dynamic queue creation failed: \ncannot add a child queue when queue is marked for deletion: {}",
            parent.to_ascii_lowercase()
        )
    })
}

fn made(above: &str, queue: &str, leaf: bool) -> Created {
    Created { above: above.to_ascii_lowercase(), queue: queue.to_ascii_lowercase(), leaf }
}

/// A queue of a running scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveQueue {
    /// True if applications run in it and not in queues below it.
    pub leaf: bool,
    /// True if it was removed from the configuration and waits to become empty (`Draining`). It then still
    /// has its old ACLs, which are unknown. Other queues of this kind have no ACLs.
    pub draining: bool,
}

/// Queues of a running scheduler outside its configuration: queues that placement created, and queues that
/// were removed from the configuration while applications run in them. The scheduler lists them at
/// `/ws/v1/partition/default/queues`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Live {
    queues: BTreeMap<String, LiveQueue>,
}

impl Live {
    /// Adds a queue by its full path, and its missing ancestors as parents. If the queue is also in the
    /// configuration, this has no effect, because the configuration takes precedence.
    pub fn insert(&mut self, path: &str, queue: LiveQueue) {
        let path = path.to_ascii_lowercase();
        for above in levels(&path).filter(|above| *above != path) {
            let parent = LiveQueue { leaf: false, draining: false };
            self.queues.entry(above.to_owned()).or_insert(parent);
        }
        self.queues.insert(path, queue);
    }

    /// Returns the queue with this path in lower case.
    pub fn get(&self, path: &str) -> Option<LiveQueue> {
        self.queues.get(path).copied()
    }

    /// Iterates over all queues with their paths in lower case, each before its descendants.
    pub fn iter(&self) -> impl Iterator<Item = (&str, LiveQueue)> {
        self.queues.iter().map(|(path, queue)| (path.as_str(), *queue))
    }

    /// Adds the queues that a placement created.
    pub fn create(&mut self, created: &Created) {
        for path in created.paths() {
            let leaf = created.leaf && path == created.queue;
            self.insert(path, LiveQueue { leaf, draining: false });
        }
    }
}
