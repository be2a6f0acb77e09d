//! The matrix of subjects and queues: who may do what on which queue, on one page.

use std::collections::BTreeSet;

use super::check::Subject;
use super::reach::Way;
use super::tree::{QueueId, Tree};
use yunikorn::acl::Match;
use yunikorn::right::Right;

/// A matrix whose rows are computed as they are read.
#[derive(Debug, Clone)]
pub struct Matrix<'t> {
    tree: &'t Tree,
    subjects: Vec<Subject>,
    columns: Vec<(QueueId, Right)>,
}

/// The rights of one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row<'t> {
    /// The subject. A user is evaluated without the groups it may be in, a group without the names of its
    /// members.
    pub subject: Subject,
    /// One for each column: the nearest entry that grants it, or `None`.
    pub cells: Vec<Option<Way<'t>>>,
}

/// The way in which a cell is granted. More than one field may be true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct How {
    /// True if a queue above grants it.
    pub inherited: bool,
    /// True if the subject may submit as an administrator.
    pub through_admin: bool,
    /// True if the wildcard grants it, not the name.
    pub everyone: bool,
}

impl How {
    /// Describes how a way leads to a right on a queue.
    pub fn new(way: &Way<'_>, queue: QueueId, right: Right) -> Self {
        Self {
            inherited: way.queue != queue,
            through_admin: way.acl != right,
            everyone: way.entry == Match::Everyone,
        }
    }
}

/// The matrix of these subjects, queues and rights, in the order given. An empty list of subjects means all
/// that are named anywhere, and everyone else; an empty list of queues means all.
pub fn matrix<'t>(tree: &'t Tree, subjects: &[Subject], queues: &[QueueId], rights: &[Right]) -> Matrix<'t> {
    let subjects = if subjects.is_empty() { all_named(tree) } else { subjects.to_vec() };
    let queues = if queues.is_empty() { tree.queues().map(|(id, _)| id).collect() } else { queues.to_vec() };
    let columns = queues.iter().flat_map(|queue| rights.iter().map(move |right| (*queue, *right)));
    Matrix { tree, subjects, columns: columns.collect() }
}

/// Users, then groups, by name, then [`Subject::Everyone`] for anyone who is not named.
pub fn all_named(tree: &Tree) -> Vec<Subject> {
    let acls = tree.queues().flat_map(|(_, node)| Right::ALL.map(|right| &node.grants(right).acl));
    let entries: BTreeSet<Match<'_>> = acls.flat_map(yunikorn::acl::Acl::entries).collect();
    let names = entries.into_iter().filter(|entry| *entry != Match::Everyone);
    names.chain([Match::Everyone]).map(Subject::from).collect()
}

impl<'t> Matrix<'t> {
    /// The columns: each queue with each right.
    pub fn columns(&self) -> &[(QueueId, Right)] {
        &self.columns
    }

    /// The subjects of the rows.
    pub fn subjects(&self) -> &[Subject] {
        &self.subjects
    }

    /// The rows in the order of the subjects.
    pub fn rows(&self) -> impl Iterator<Item = Row<'t>> {
        self.subjects.iter().map(|subject| {
            let cell =
                |(queue, right): &(QueueId, Right)| Way::of_name(self.tree, *right, *queue, subject.entry());
            Row { subject: subject.clone(), cells: self.columns.iter().map(cell).collect() }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    #[test]
    fn who_is_named_anywhere_has_a_row_and_each_queue_its_columns() {
        let tree = tree(&[("root", "bob ops", "*"), ("root.a", "al devs,bob", "zed")]);
        let [al, bob, zed] = ["al", "bob", "zed"].map(|name| Subject::User(name.to_owned()));
        let groups = ["bob", "devs", "ops"].map(|name| Subject::Group(name.to_owned()));
        let users = [al.clone(), bob, zed];
        let named: Vec<Subject> = users.into_iter().chain(groups).chain([Subject::Everyone]).collect();
        assert_eq!(all_named(&tree), named);

        let [root, a] = [0, 1].map(QueueId::new);
        let all = matrix(&tree, &[], &[], &Right::ALL);
        assert_eq!(all.subjects(), named);
        let columns = [(root, Right::Submit), (root, Right::Admin), (a, Right::Submit), (a, Right::Admin)];
        assert_eq!(all.columns(), columns);
        assert!(all.rows().all(|row| row.cells.len() == columns.len()));

        let asked = matrix(&tree, std::slice::from_ref(&al), &[a, root], &[Right::Submit]);
        assert_eq!(
            (asked.subjects(), asked.columns()),
            (&[al][..], &[(a, Right::Submit), (root, Right::Submit)][..])
        );
    }

    #[test]
    fn without_names_there_is_everyone() {
        assert_eq!(all_named(&tree(&[("root", "*", "")])), [Subject::Everyone]);
        assert_eq!(all_named(&tree(&[("root", "", "")])), [Subject::Everyone]);
    }
}
