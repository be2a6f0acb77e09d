//! What would turn a denial into a yes, the smallest change first.
//!
//! Small is what opens least: a person before a group, one queue before a tree, and joining a group that has access already
//! before writing anything new only where nobody else gains.

use std::fmt;

use super::check::{Decision, Denial, Outcome, Subject};
use super::tree::{Origin, QueueId, Tree};
use crate::model::acl::{group_name_ok, user_name_ok};
use crate::model::queue::{QueuePath, nearest};
use crate::model::right::Right;

/// The most groups and objects that are offered, so that an answer stays readable.
const MOST: usize = 3;

/// One way to get what was denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// An ACL of the queue names someone more.
    Grant {
        /// The queue.
        queue: QueuePath,
        /// Which of its ACLs.
        right: Right,
        /// Whom.
        subject: Subject,
        /// Where to write it.
        how: How,
        /// How many queues it opens: this one and those below it.
        opens: usize,
    },
    /// The user joins a group that has access.
    Join {
        /// The group.
        group: String,
        /// The queue whose ACL names it.
        queue: QueuePath,
        /// Which of its ACLs.
        right: Right,
    },
    /// The path is written another way.
    Ask {
        /// A queue that exists.
        queue: QueuePath,
    },
    /// Neither the user nor a group can be named in an ACL.
    Unnameable,
}

/// Where a grant is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// One of these objects grants this right on this queue already; another entry in it will do.
    Edit(Vec<Origin>),
    /// Nobody manages this ACL yet; the new object must extend what the text says, if that grants anything.
    New {
        /// Whether the text has grants that a new object would replace.
        extend: bool,
    },
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grant { queue, right, subject, how, opens } => {
                write!(f, "name {subject} in the {} of queue {queue}, ", right.key())?;
                match how {
                    How::Edit(objects) => {
                        let names: Vec<String> = objects.iter().map(ToString::to_string).collect();
                        write!(f, "in {}", names.join(" or "))?;
                    }
                    How::New { extend: false } => f.write_str("by a QueueAcl")?,
                    How::New { extend: true } => f.write_str("by a QueueAcl with `baseAcl: Extend`")?,
                }
                match opens {
                    0 | 1 => Ok(()),
                    2 => f.write_str("; it opens the queue below, too"),
                    more => write!(f, "; it opens the {} queues below, too", more - 1),
                }
            }
            Self::Join { group, queue, right } => {
                write!(f, "become a member of group {group}, which the {} of queue {queue} names", right.key())
            }
            Self::Ask { queue } => write!(f, "ask for queue {queue}"),
            Self::Unnameable => f.write_str(
                "no ACL of YuniKorn can name this user or one of the groups: let user.info carry a group that matches the ACLs' expression",
            ),
        }
    }
}

/// What would grant it; nothing for a decision that does, and for the recovery queue, which nothing opens.
pub fn remedies(tree: &Tree, decision: &Decision) -> Vec<Remedy> {
    match decision.outcome {
        Outcome::Allowed | Outcome::Denied(Denial::Recovery) => Vec::new(),
        Outcome::Denied(Denial::NoQueue) => like(tree, &decision.asked).into_iter().collect(),
        Outcome::Denied(Denial::NotGranted) => {
            decision.located.decides().map(|queue| grants(tree, decision, queue)).unwrap_or_default()
        }
    }
}

/// A queue that was perhaps meant.
fn like(tree: &Tree, asked: &str) -> Option<Remedy> {
    let full = format!("root.{asked}");
    let paths = || tree.queues().map(|(_, node)| &node.path);
    let queue = paths().find(|path| path.as_str().eq_ignore_ascii_case(&full)).or_else(|| {
        nearest(paths().map(QueuePath::as_str), &full)
            .and_then(|found| QueuePath::parse(found).ok())
            .as_ref()
            .and_then(|found| paths().find(|path| *path == found))
    })?;
    Some(Remedy::Ask { queue: queue.clone() })
}

fn grants(tree: &Tree, decision: &Decision, queue: QueueId) -> Vec<Remedy> {
    let Some(node) = tree.node(queue) else { return Vec::new() };
    let (right, identity) = (decision.right, &decision.identity);
    let grants = node.grants(right);
    let objects: Vec<Origin> = grants
        .parts
        .iter()
        .map(|(origin, _)| origin)
        .filter(|origin| matches!(origin, Origin::Object { .. }))
        .take(MOST)
        .cloned()
        .collect();
    let how =
        if objects.is_empty() { How::New { extend: !grants.acl.is_nobody() } } else { How::Edit(objects) };
    let user = Some(Subject::User(identity.user.clone())).filter(|_| user_name_ok(&identity.user));
    let groups = identity.groups.iter().filter(|group| group_name_ok(group) && **group != identity.user);
    let named = user.into_iter().chain(groups.cloned().map(Subject::Group).take(MOST));
    let opens = tree.subtree(queue).len();
    let mut found: Vec<Remedy> = named
        .map(|subject| Remedy::Grant { queue: node.path.clone(), right, subject, how: how.clone(), opens })
        .collect();
    if found.is_empty() {
        found.push(Remedy::Unnameable);
    }
    found.extend(joins(decision));
    found
}

/// The groups that have access, nearest first.
fn joins(decision: &Decision) -> impl Iterator<Item = Remedy> {
    let groups = decision.steps.iter().flat_map(|step| {
        let acl = crate::model::acl::parse(&step.acl).unwrap_or_default();
        let named: Vec<String> = acl.groups().iter().map(str::to_owned).collect();
        named.into_iter().map(|group| Remedy::Join { group, queue: step.queue.clone(), right: step.right })
    });
    groups.take(MOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::check::decide;
    use crate::access::testing::{any_identity, any_tree, text, tree};
    use crate::model::acl;
    use crate::model::config::verdict;
    use crate::model::identity::Identity;
    use proptest::prelude::*;

    fn told(tree: &Tree, right: Right, queue: &str, user: &str, groups: &[&str]) -> Vec<String> {
        let identity =
            Identity { user: user.to_owned(), groups: groups.iter().map(ToString::to_string).collect() };
        remedies(tree, &decide(tree, right, queue, &identity)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_smallest_change_comes_first() {
        let mut tree =
            tree(&[("root", "", " ops"), ("root.prod", "bob devs", ""), ("root.prod.etl", "", "")]);
        assert_eq!(
            told(&tree, Right::Submit, "root.prod", "sue", &["qa", "system:authenticated"]),
            [
                "name user sue in the submitacl of queue root.prod, by a QueueAcl with `baseAcl: Extend`; it opens the queue below, too",
                "name group qa in the submitacl of queue root.prod, by a QueueAcl with `baseAcl: Extend`; it opens the queue below, too",
                "become a member of group devs, which the submitacl of queue root.prod names",
                "become a member of group ops, which the adminacl of queue root names",
            ]
        );
        let prod = QueuePath::parse("root.prod").expect("path");
        let object = Origin::Object { kind: "QueueAcl", name: "prod".to_owned() };
        tree.attribute(&prod, Right::Submit, object, &acl::parse("bob devs").expect("acl"));
        assert_eq!(
            told(&tree, Right::Submit, "root.prod", "sue", &[]).first().map(String::as_str),
            Some(
                "name user sue in the submitacl of queue root.prod, in QueueAcl/prod; it opens the queue below, too"
            )
        );
        assert_eq!(
            told(
                &tree,
                Right::Admin,
                "root.prod.etl",
                "system:serviceaccount:a:b",
                &["system:serviceaccounts"]
            ),
            [
                "no ACL of YuniKorn can name this user or one of the groups: let user.info carry a group that matches the ACLs' expression",
                "become a member of group ops, which the adminacl of queue root names",
            ]
        );
        assert_eq!(told(&tree, Right::Submit, "prod", "sue", &[]), ["ask for queue root.prod"]);
        assert_eq!(told(&tree, Right::Submit, "root", "ann", &["ops"]), Vec::<String>::new());
    }

    proptest! {
        /// Whatever is offered does what it promises, when it is done.
        #[test]
        fn what_is_offered_helps(tree in any_tree(), identity in any_identity(), queue in "root(\\.(a|b|x)){0,3}") {
            for right in Right::ALL {
                let decision = decide(&tree, right, &queue, &identity);
                for remedy in remedies(&tree, &decision) {
                    match remedy {
                        Remedy::Join { group, .. } => {
                            let mut joined = identity.clone();
                            joined.groups.push(group);
                            prop_assert!(decide(&tree, right, &queue, &joined).allowed());
                        }
                        Remedy::Grant { queue: at, right: written, subject, .. } => {
                            let changed = with(&tree, &at, written, &subject);
                            prop_assert!(decide(&changed, right, &queue, &identity).allowed());
                        }
                        Remedy::Ask { .. } | Remedy::Unnameable => prop_assert!(false, "{:?}", decision),
                    }
                }
            }
        }
    }

    /// The tree with one more entry.
    fn with(tree: &Tree, at: &QueuePath, right: Right, subject: &Subject) -> Tree {
        let entry = match subject {
            Subject::User(user) => user.clone(),
            Subject::Group(group) => format!(" {group}"),
            Subject::Everyone => "*".to_owned(),
        };
        let entry = acl::parse(&entry).expect("entry");
        let acls: Vec<(String, [String; 2])> = tree
            .queues()
            .map(|(_, node)| {
                let acls = Right::ALL.map(|of| {
                    let own = &node.grants(of).acl;
                    if node.path == *at && of == right { own.union(&entry) } else { own.clone() }.canonical()
                });
                (node.path.to_string(), acls)
            })
            .collect();
        let queues: Vec<_> = acls
            .iter()
            .map(|(path, [submit, admin])| (path.as_str(), submit.as_str(), admin.as_str()))
            .collect();
        let verdict = verdict(&text(&queues), &[]);
        Tree::of(verdict.config.expect("valid").partition("default").expect("default")).expect("active")
    }
}
