//! Serves `queues`: the effective rights on each queue, who holds them, and where they are granted.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{API_VERSION, Metadata};
use yunikorn::right::Right;
use yunikorn_access::decide::Denial;
use yunikorn_access::placement::Live;
use yunikorn_access::subject::Subject;
use yunikorn_access::tree::{Located, QueueId, Tree};
use yunikorn_access::who_can;
use yunikorn_access::who_can::Grantee;

/// The kind.
pub const KIND: &str = "Queue";
/// Maximum number of holders listed for a right. The rest are only counted: a root that names thousands would
/// otherwise repeat them in every queue below it.
const MAX_SUBJECTS: usize = 256;
/// The same limit for a whole list, which is built in memory. Each queue may still list a few holders when
/// the other queues have used up the limit.
const MAX_LISTED: usize = 20_000;
const FEW: usize = 4;

/// A queue of the scheduler.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Queue {
    /// `access.queuewarden.dev/v1alpha1`
    pub api_version: &'static str,
    /// `Queue`
    pub kind: &'static str,
    /// The metadata, with the queue's full path as its name.
    pub metadata: Metadata,
    /// The current state.
    pub status: QueueStatus,
}

/// All queues of a partition.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueList {
    /// `access.queuewarden.dev/v1alpha1`
    pub api_version: &'static str,
    /// `QueueList`
    pub kind: &'static str,
    /// Empty, because the list has no versions.
    pub metadata: BTreeMap<String, String>,
    /// The queues, parents before children.
    pub items: Vec<Queue>,
}

/// A queue and the rights on it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct QueueStatus {
    /// The partition.
    pub partition: String,
    /// The parent queue. The root has no parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// True if applications run in it, false if it is a parent of other queues.
    pub leaf: bool,
    /// True when a placement rule created it, false when it is in the configuration. A dynamic queue has the
    /// ACLs of its parent.
    pub dynamic: bool,
    /// The right to submit.
    pub submit: Effective,
    /// The right to administer.
    pub admin: Effective,
}

/// Everyone who has a right on a queue.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Effective {
    /// The queue's own ACL as written; empty if it has no ACL.
    pub acl: String,
    /// Everyone who has the right, nearest grant first.
    pub subjects: Vec<Grantee>,
    /// The number of further subjects.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: usize,
    /// Why no one has the right, regardless of the ACLs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denial: Option<Denial>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A queue that exists now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurrentQueue<'a> {
    /// Its full path.
    pub path: &'a str,
    /// The configured queue whose ACLs apply: the queue itself, or its nearest configured ancestor.
    pub decides: QueueId,
    /// True when applications run in it.
    pub leaf: bool,
    /// True when a placement rule created it.
    pub dynamic: bool,
}

/// Returns all current queues of a partition, parents before children: queues in the configuration and queues
/// created by placement rules. A queue removed from the configuration is left out, because its former ACLs
/// are no longer known.
pub fn live_queues<'a>(tree: &'a Tree, live: &'a Live) -> Vec<CurrentQueue<'a>> {
    let configured = tree.queues().map(|(decides, node)| CurrentQueue {
        path: node.path.as_str(),
        decides,
        leaf: node.is_leaf,
        dynamic: false,
    });
    let dynamic = live.iter().filter(|(_, queue)| !queue.draining).filter_map(|(path, queue)| {
        let Located::Below(decides) = tree.locate_existing(path) else { return None };
        Some(CurrentQueue { path, decides, leaf: queue.leaf, dynamic: true })
    });
    let mut all: Vec<CurrentQueue<'a>> = configured.chain(dynamic).collect();
    // The sort groups dynamic queues below the configured queue that decides for them, and keeps the order of
    // the configuration.
    all.sort_by_key(|queue| (queue.decides, queue.dynamic, queue.path));
    all
}

/// Converts queues to their served form.
pub fn queues(tree: &Tree, standing: &[CurrentQueue<'_>]) -> Vec<Queue> {
    let rights = standing.len().saturating_mul(Right::ALL.len()).max(1);
    let room = (MAX_LISTED / rights).clamp(FEW, MAX_SUBJECTS);
    standing.iter().map(|one| queue(tree, one, room)).collect()
}

/// Converts a queue, listing at most `room` holders of each right.
fn queue(tree: &Tree, standing: &CurrentQueue<'_>, room: usize) -> Queue {
    Queue {
        api_version: API_VERSION,
        kind: KIND,
        metadata: Metadata { name: standing.path.to_owned() },
        status: QueueStatus {
            partition: tree.partition().to_owned(),
            parent: standing.path.rsplit_once('.').map(|(parent, _)| parent.to_owned()),
            leaf: standing.leaf,
            dynamic: standing.dynamic,
            submit: effective(tree, standing, Right::Submit, room),
            admin: effective(tree, standing, Right::Admin, room),
        },
    }
}

fn effective(tree: &Tree, standing: &CurrentQueue<'_>, right: Right, room: usize) -> Effective {
    let own = tree.node(standing.decides).filter(|_| !standing.dynamic);
    let found = who_can(tree, right, tree.path(standing.decides).as_str());
    let more = found.grantees.len().saturating_sub(room);
    let mut subjects = found.grantees;
    // `everyone`, which makes all other names redundant, is listed even if it comes late because a distant
    // ancestor grants it.
    let everyone = subjects.iter().skip(room).find(|grantee| grantee.subject == Subject::Everyone).cloned();
    subjects.truncate(room);
    if let (Some(last), Some(everyone)) = (subjects.last_mut(), everyone) {
        *last = everyone;
    }
    Effective {
        acl: own.map(|node| node.grants(right).text.clone()).unwrap_or_default(),
        subjects,
        more,
        denial: found.denial,
    }
}

/// Returns the list of queues.
pub fn list(items: Vec<Queue>) -> QueueList {
    QueueList { api_version: API_VERSION, kind: "QueueList", metadata: BTreeMap::new(), items }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use yunikorn_access::decide::decide;
    use yunikorn_access::placement::LiveQueue;
    use yunikorn_access::subject::SubjectKind;
    use yunikorn_access::testing::{any_identity, any_tree, tree};

    fn live(queues: &[(&str, bool, bool)]) -> Live {
        let mut live = Live::default();
        for (path, leaf, draining) in queues {
            live.insert(path, LiveQueue { leaf: *leaf, draining: *draining });
        }
        live
    }

    #[test]
    fn queues_stand_before_those_below_them() {
        let tree =
            tree(&[("root", "", ""), ("root.team", "", ""), ("root.team.etl", "", ""), ("root.zoo", "", "")]);
        let live = live(&[
            ("root.team.new.sub", true, false),
            ("root.old", true, true),
            ("root.team.etl", false, false),
            ("root.zoo.x", true, false),
        ]);
        let standing = live_queues(&tree, &live);
        let found: Vec<_> = standing.iter().map(|queue| (queue.path, queue.leaf, queue.dynamic)).collect();
        assert_eq!(
            found,
            [
                ("root", false, false),
                ("root.team", false, false),
                ("root.team.new", false, true),
                ("root.team.new.sub", true, true),
                ("root.team.etl", true, false),
                ("root.zoo", true, false),
                ("root.zoo.x", true, true),
            ]
        );
    }

    #[test]
    fn a_dynamic_queue_has_what_is_above_it() {
        let tree = tree(&[("root", "", " ops"), ("root.team", "sue", "")]);
        let live = live(&[("root.team.new", true, false)]);
        let standing = live_queues(&tree, &live);
        let new = queues(&tree, &standing).pop().unwrap();
        assert_eq!(new.metadata.name, "root.team.new");
        assert_eq!(new.status.parent.as_deref(), Some("root.team"));
        assert_eq!((new.status.submit.acl.as_str(), new.status.admin.acl.as_str()), ("", ""));
        let names: Vec<_> =
            new.status.submit.subjects.iter().map(|subject| subject.subject.to_string()).collect();
        assert_eq!(names, ["user sue", "group ops"]);
    }

    #[test]
    fn many_are_counted() {
        let names: Vec<String> = (0..300).map(|number| format!("u{number:03}")).collect();
        let acl = names.join(",");
        let tree = tree(&[("root", &acl, "")]);
        let live = Live::default();
        let one = live_queues(&tree, &live);
        let listed = |standing: &[CurrentQueue<'_>]| {
            let submit = queues(&tree, standing).pop().unwrap().status.submit;
            (submit.subjects.len(), submit.more)
        };
        assert_eq!(listed(&one), (MAX_SUBJECTS, 300 - MAX_SUBJECTS));
        assert_eq!(listed(&[one[0]; 100]), (100, 200));
        assert_eq!(listed(&vec![one[0]; 10_000]), (FEW, 300 - FEW));
    }

    #[test]
    fn everyone_is_not_cut_off() {
        let names: Vec<String> = (0..300).map(|number| format!("u{number:03}")).collect();
        let acl = names.join(",");
        let tree = tree(&[("root", "*", ""), ("root.team", &acl, "")]);
        let live = Live::default();
        let submit = queues(&tree, &live_queues(&tree, &live)).pop().unwrap().status.submit;
        assert_eq!((submit.subjects.len(), submit.more), (MAX_SUBJECTS, 301 - MAX_SUBJECTS));
        let everyone: Vec<_> =
            submit.subjects.iter().map(|subject| subject.subject == Subject::Everyone).collect();
        assert_eq!(everyone.iter().position(|everyone| *everyone), Some(MAX_SUBJECTS - 1));
    }

    proptest! {
        /// Everyone listed for a queue has the right, and everyone with the right is listed: by name, through
        /// a group or as everyone.
        #[test]
        fn what_is_listed_is_what_is_decided(tree in any_tree(), identity in any_identity()) {
            let live = Live::default();
            let standing = live_queues(&tree, &live);
            for (standing, queue) in standing.iter().zip(queues(&tree, &standing)) {
                for (right, effective) in [(Right::Submit, &queue.status.submit), (Right::Admin, &queue.status.admin)] {
                    let listed = effective.denial.is_none() && effective.subjects.iter().any(|subject| {
                        let name = subject.subject.name().unwrap_or_default().to_owned();
                        match subject.subject.kind() {
                            SubjectKind::Everyone => true,
                            SubjectKind::User => name == identity.user,
                            SubjectKind::Group => identity.groups.contains(&name),
                        }
                    });
                    let decision = decide(&tree, right, standing.path, &identity);
                    prop_assert_eq!(listed, decision.allowed(), "{:?} {:?}", right, standing);
                }
            }
        }
    }
}
