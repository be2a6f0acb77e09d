//! Finds the subjects that are named in a tree, and where their rights begin: the queues whose own ACLs grant
//! them something. The queues below inherit it.
//!
//! This is the whole matrix of subjects and queues in a few words: as many as the ACLs have entries, not as
//! many as it has cells. A subject has a right on a queue by its own starts and those of everyone that reach
//! the queue ([`granted_on`](super::reach::granted_on)). The one that counts is the one with the highest
//! number, because queues above come before those below; of two at one queue it is the subject's own.

use std::collections::BTreeSet;

use super::check::Subject;
use super::reach::GrantingEntry;
use super::tree::Tree;
use yunikorn::acl::{Acl, Match};
use yunikorn::right::Right;

/// Lists the subjects that are named in the ACLs: users, then groups, by name, then [`Subject::Everyone`] for
/// anyone who is not named.
pub fn all_named(tree: &Tree) -> Vec<Subject> {
    let acls = tree.queues().flat_map(|(_, node)| Right::ALL.map(|right| &node.grants(right).acl));
    let entries: BTreeSet<Match<'_>> = acls.flat_map(Acl::entries).map(|entry| tree.real(entry)).collect();
    let names = entries.into_iter().filter(|entry| *entry != Match::Everyone);
    names.chain([Match::Everyone]).map(Subject::from).collect()
}

/// Finds where a right of a subject begins, by entries that name it and not everyone: in the order of the
/// queues, and each queue once. To submit is also granted to administrators, as the ACL of the entry shows.
pub fn starts<'t>(
    tree: &'t Tree,
    right: Right,
    subject: Match<'t>,
) -> impl Iterator<Item = GrantingEntry<'t>> {
    // Beside a wildcard in the ACL that is read first, a name in the other is not needed.
    let is_needed = move |granting: &GrantingEntry<'_>| {
        granting.acl == right
            || tree.node(granting.queue).is_some_and(|node| !node.grants(right).acl.is_everyone())
    };
    tree.named().granting_entries(right, subject).filter(is_needed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach::granted_on;
    use crate::testing::{any_tree, each_tree, tree};
    use crate::tree::QueueId;
    use proptest::prelude::*;

    /// The start that gives a subject the right on a queue.
    fn nearest<'t>(
        tree: &'t Tree,
        right: Right,
        subject: Match<'t>,
        queue: QueueId,
    ) -> Option<GrantingEntry<'t>> {
        let nearest = |subject| {
            let reaches =
                |start: &GrantingEntry<'_>| granted_on(tree, right, start.queue).contains(queue.number());
            starts(tree, right, subject).filter(reaches).last()
        };
        let (own, everyone) = (nearest(subject), nearest(Match::Everyone));
        match (own, everyone) {
            (Some(own), Some(everyone)) if everyone.queue > own.queue => Some(everyone),
            (own, everyone) => own.or(everyone),
        }
    }

    /// Checks that the starts agree with every cell of the matrix.
    fn agree(tree: &Tree) -> Result<(), String> {
        for subject in all_named(tree) {
            for (queue, _) in tree.queues() {
                for right in Right::ALL {
                    let cell = GrantingEntry::of_name(tree, right, queue, subject.entry());
                    let held = nearest(tree, right, subject.entry(), queue);
                    if held != cell {
                        return Err(format!(
                            "{subject:?} {right:?} {queue:?}: {held:?}, not {cell:?}\n{tree:?}"
                        ));
                    }
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
        let submit = |subject| {
            let starts = starts(&tree, Right::Submit, subject);
            starts.map(|start| (start.queue.number(), start.acl)).collect::<Vec<_>>()
        };
        assert_eq!(submit(Match::Everyone), [(0, Right::Submit)]);
        assert_eq!(submit(Match::User("bob")), [(1, Right::Admin)]);
        assert_eq!(submit(Match::User("sue")), [(1, Right::Submit)]);
        assert_eq!(submit(Match::Group("sue")), []);
    }

    #[test]
    fn who_is_named_anywhere_is_listed_and_everyone() {
        let of_tree = tree(&[("root", "bob ops", "*"), ("root.a", "al devs,bob", "zed")]);
        let users = ["al", "bob", "zed"].map(|name| Subject::User(name.to_owned()));
        let groups = ["bob", "devs", "ops"].map(|name| Subject::Group(name.to_owned()));
        let named: Vec<Subject> = users.into_iter().chain(groups).chain([Subject::Everyone]).collect();
        assert_eq!(all_named(&of_tree), named);
        assert_eq!(all_named(&tree(&[("root", "*", "")])), [Subject::Everyone]);
        assert_eq!(all_named(&tree(&[("root", "", "")])), [Subject::Everyone]);
    }
}
