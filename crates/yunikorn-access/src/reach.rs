//! The queues that a grant reaches, the subjects of a tree, and the queues where their rights begin.
//!
//! A right begins at the queues whose own ACLs grant it, and the queues below inherit it. The whole matrix of
//! subjects and queues therefore has only as many starts as the ACLs have entries. A subject has a right on a
//! queue through its own starts and the starts of everyone that reach the queue ([`granted_on`]). The start
//! with the highest number decides, because parents come before their children; of two at the same queue, the
//! subject's own decides.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::queue_set::{QueueSet, reach};
use super::subject::Subject;
use super::tree::{GrantingEntry, Node, Origin, QueueId, Tree};
use yunikorn::acl::{Acl, Match};
use yunikorn::identity::Identity;
use yunikorn::queue::QueuePath;
use yunikorn::right::{AclKey, Right};

/// Returns the queues where a subject in an ACL of this queue holds a right, if that ACL grants it.
pub fn granted_on(tree: &Tree, right: Right, id: QueueId) -> QueueSet {
    QueueSet::new(reach(right, tree.subtree(id), tree.recovery().as_ref()).to_vec())
}

/// Returns the queues where a single entry grants a right.
pub fn reached_by(tree: &Tree, right: Right, entry: Match<'_>) -> QueueSet {
    tree.named().reach(right, entry)
}

/// Iterates over the queues whose ACLs are checked for a right on a queue: the queue itself, then its
/// ancestors up to where the check ends.
pub fn checked(tree: &Tree, right: Right, id: QueueId) -> impl Iterator<Item = (QueueId, &Node)> {
    tree.lineage(id).take_while(move |(_, node)| !node.stops(right))
}

impl<'t> GrantingEntry<'t> {
    /// Returns the entry through which a user has a right on a queue, or `None` if nothing grants it. Every
    /// access decision uses this function.
    #[inline]
    pub fn find(tree: &'t Tree, right: Right, id: QueueId, identity: &Identity) -> Option<Self> {
        let named = tree.named();
        let identity = named.presented(identity);
        named.granting_entry(right, id, &identity.user, &identity.groups)
    }

    /// Returns the same for an alias, or a subject known only by name ([`Subject::identity`]).
    pub fn of_name(tree: &'t Tree, right: Right, id: QueueId, name: Match<'_>) -> Option<Self> {
        tree.named().granting_entry_of(right, id, name)
    }

    /// Returns the subject that the entry names.
    pub fn subject(&self, tree: &Tree) -> Subject {
        tree.real(self.entry).into()
    }

    /// Returns the origins of the entry. Several objects may grant the same.
    pub fn origins(&self, tree: &Tree) -> Vec<Origin> {
        let grants = tree.node(self.queue).map(|node| node.grants(self.acl));
        grants.map(|grants| grants.origins(self.entry)).unwrap_or_default()
    }

    /// Returns the location of the entry.
    pub fn location(&self, tree: &Tree) -> GrantedBy {
        GrantedBy { queue: tree.path(self.queue), acl: self.acl, origins: self.origins(tree) }
    }
}

/// An entry that grants something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GrantedBy {
    /// The queue whose ACL contains the entry.
    #[schemars(with = "String")]
    pub queue: QueuePath,
    /// The kind of ACL.
    #[serde(serialize_with = "Right::serialize_key")]
    #[schemars(with = "AclKey")]
    pub acl: Right,
    /// The locations of the entry. Several objects may grant the same.
    pub origins: Vec<Origin>,
}

/// Lists the subjects in the ACLs: users, then groups, ordered by name, then [`Subject::Everyone`] for anyone
/// else.
pub fn all_named(tree: &Tree) -> Vec<Subject> {
    let acls = tree.queues().flat_map(|(_, node)| Right::ALL.map(|right| &node.grants(right).acl));
    let entries: BTreeSet<Match<'_>> = acls.flat_map(Acl::entries).map(|entry| tree.real(entry)).collect();
    let names = entries.into_iter().filter(|entry| *entry != Match::Everyone);
    names.chain([Match::Everyone]).map(Subject::from).collect()
}

/// Iterates over the queues where a right of a subject begins, by entries that name the subject and not
/// everyone. The queues are in order and unique. Administrators may also submit; the ACL of the entry shows
/// which right it is.
pub fn starts<'t>(
    tree: &'t Tree,
    right: Right,
    subject: Match<'t>,
) -> impl Iterator<Item = GrantingEntry<'t>> {
    // Next to a wildcard in the ACL that is checked first, a name in the other ACL is not needed.
    let is_needed = move |granting: &GrantingEntry<'_>| {
        granting.acl == right
            || tree.node(granting.queue).is_some_and(|node| !node.grants(right).acl.is_everyone())
    };
    tree.named().granting_entries(right, subject).filter(is_needed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alias::{Kind, alias};
    use crate::testing::{any_tree, each_tree, tree};
    use proptest::prelude::*;

    /// An alias that someone claims as a group has no effect.
    #[test]
    fn aliases_are_found_by_name_and_by_entry() {
        let driver = "system:serviceaccount:spark:driver";
        let alias = alias(Kind::User, driver);
        let tree = tree(&[("root", &format!(" {alias}"), "")]);
        let of_name = |name| GrantingEntry::of_name(&tree, Right::Submit, QueueId::ROOT, name);
        let expected =
            GrantingEntry { queue: QueueId::ROOT, acl: Right::Submit, entry: Match::Group(&alias) };
        assert_eq!(of_name(Match::User(driver)), Some(expected));
        assert_eq!(of_name(Match::Group(&alias)), Some(expected));
        assert_eq!((of_name(Match::Group(driver)), of_name(Match::Everyone)), (None, None));
        let find = |user: &str, group: &str| {
            let identity = Identity { user: user.to_owned(), groups: vec![group.to_owned()] };
            GrantingEntry::find(&tree, Right::Submit, QueueId::ROOT, &identity)
        };
        assert_eq!((find(driver, "devs"), find("mallory", &alias)), (Some(expected), None));
    }

    /// Returns the start that gives a subject the right on a queue.
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
    fn starts_equal_the_matrix_on_small_trees() {
        for shape in [["root", "root.a", "root.a.b"], ["root", "root.@recovery@", "root.@recovery@.a"]] {
            each_tree(&shape, |tree| agree(tree).unwrap());
        }
    }

    proptest! {
        #[test]
        fn starts_equal_the_matrix_on_random_trees(tree in any_tree()) {
            agree(&tree).map_err(TestCaseError::fail)?;
        }
    }

    #[test]
    fn redundant_admin_acl_is_not_a_start() {
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
    fn all_named_subjects_and_everyone_are_listed() {
        let of_tree = tree(&[("root", "bob ops", "*"), ("root.a", "al devs,bob", "zed")]);
        let users = ["al", "bob", "zed"].map(|name| Subject::User(name.to_owned()));
        let groups = ["bob", "devs", "ops"].map(|name| Subject::Group(name.to_owned()));
        let named: Vec<Subject> = users.into_iter().chain(groups).chain([Subject::Everyone]).collect();
        assert_eq!(all_named(&of_tree), named);
        assert_eq!(all_named(&tree(&[("root", "*", "")])), [Subject::Everyone]);
        assert_eq!(all_named(&tree(&[("root", "", "")])), [Subject::Everyone]);
    }
}
