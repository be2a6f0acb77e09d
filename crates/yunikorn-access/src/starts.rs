//! Finds where rights begin: for each name the queues whose own ACLs grant it something. The queues below
//! inherit it.
//!
//! This is the whole matrix of subjects and queues in a few words: as many as the ACLs have entries, not as
//! many as it has cells. To show it, [`Starts::nearest`] is the only rule needed.

use super::check::implied_by;
use super::reach::{QueueSet, Way, granted_on, stops};
use super::tree::{QueueId, Tree};
use yunikorn::acl::Match;
use yunikorn::right::Right;

/// All entries with which one right begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Starts<'t> {
    /// The right.
    pub right: Right,
    /// Sorted by the subject, and for each in the order of the queues; each queue once. To submit is also
    /// granted to administrators, as the ACL tells.
    pub starts: Vec<Way<'t>>,
}

/// Finds where a right begins.
pub fn starts(tree: &Tree, right: Right) -> Starts<'_> {
    let mut starts = Vec::new();
    for (queue, node) in tree.queues().filter(|(_, node)| !stops(right, node)) {
        for (asked_before, acl) in implied_by(right).iter().enumerate() {
            let before = implied_by(right).get(..asked_before).unwrap_or_default();
            let entries = node.grants(*acl).acl.entries();
            // A subject to whom an earlier ACL grants the right, by name or by the wildcard, does not need
            // this one.
            let new = entries
                .filter(|entry| before.iter().all(|acl| node.grants(*acl).acl.entry_of(*entry).is_none()));
            starts.extend(new.map(|entry| Way { queue, acl: *acl, entry }));
        }
    }
    starts.sort_by_key(|start| (start.entry, start.queue));
    Starts { right, starts }
}

impl<'t> Starts<'t> {
    /// The starts of one subject, which name it and not everyone.
    pub fn get(&self, subject: Match<'_>) -> &[Way<'t>] {
        let from = self.starts.partition_point(|start| start.entry < subject);
        let behind = self.starts.get(from..).unwrap_or_default();
        let len = behind.partition_point(|start| start.entry <= subject);
        behind.get(..len).unwrap_or_default()
    }

    /// The queues on which a start grants the right, if nothing nearer to them does.
    pub fn reach(&self, tree: &Tree, start: &Way<'_>) -> QueueSet {
        granted_on(tree, self.right, start.queue)
    }

    /// The start that gives a subject the right on a queue. Among its own starts and those of everyone that
    /// reach the queue it is the one with the highest number, because queues above come before those below;
    /// of two at one queue it is the subject's own.
    pub fn nearest(&self, tree: &Tree, subject: Match<'_>, queue: QueueId) -> Option<&Way<'t>> {
        let nearest = |subject| {
            let reaches = |start: &&Way<'_>| self.reach(tree, start).contains(queue.number());
            self.get(subject).iter().rev().find(reaches)
        };
        let (own, everyone) = (nearest(subject), nearest(Match::Everyone));
        match (own, everyone) {
            (Some(own), Some(everyone)) if everyone.queue > own.queue => Some(everyone),
            (own, everyone) => own.or(everyone),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::matrix;
    use crate::testing::{any_tree, each_tree, tree};
    use proptest::prelude::*;

    /// Checks that the starts agree with every cell of the matrix.
    fn agree(tree: &Tree) -> Result<(), String> {
        let all = Right::ALL.map(|right| starts(tree, right));
        let matrix = matrix(tree, &[], &[], &Right::ALL);
        for row in matrix.rows() {
            for ((queue, right), cell) in matrix.columns().iter().zip(&row.cells) {
                let starts = all.iter().find(|starts| starts.right == *right).ok_or("no such right")?;
                let held = starts.nearest(tree, row.subject.entry(), *queue);
                if held != cell.as_ref() {
                    return Err(format!(
                        "{:?} {right:?} {queue:?}: {held:?}, not {cell:?}\n{tree:?}",
                        row.subject
                    ));
                }
            }
        }
        Ok(())
    }

    #[test]
    fn on_every_small_tree_they_are_the_matrix() {
        for shape in [["root", "root.a", "root.a.b"], ["root", "root.@recovery@", "root.@recovery@.a"]] {
            each_tree(&shape, |tree| agree(tree).unwrap());
        }
    }

    proptest! {
        #[test]
        fn on_random_trees_they_are_the_matrix(tree in any_tree()) {
            agree(&tree).map_err(TestCaseError::fail)?;
        }
    }

    #[test]
    fn who_is_let_in_already_does_not_start_at_the_admin_acl() {
        let tree = tree(&[("root", "*", "sue"), ("root.a", "sue", "sue,bob")]);
        let submit = starts(&tree, Right::Submit);
        let told: Vec<_> =
            submit.starts.iter().map(|start| (start.entry, start.queue.number(), start.acl)).collect();
        assert_eq!(
            told,
            [
                (Match::Everyone, 0, Right::Submit),
                (Match::User("bob"), 1, Right::Admin),
                (Match::User("sue"), 1, Right::Submit),
            ]
        );
        assert!(submit.get(Match::Group("sue")).is_empty());
    }
}
