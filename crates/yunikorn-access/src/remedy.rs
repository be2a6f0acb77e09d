//! Finds the changes that would turn a denial into a yes, the smallest first. Each is made and evaluated
//! before it is offered.
//!
//! The smallest change is the one that opens least: nothing when another queue or name was meant, then one
//! person on the queue, then one person on all queues that a group has, and last the members of a group, who
//! are not counted here. Groups that administer least come first. Never `*`.

use std::borrow::Cow;
use std::{fmt, iter};

use super::alias::{self, Kind};
use super::change::{Case, Change};
use super::decide::in_another_case;
use super::decide::{Decision, Step};
use super::reach::{granted_on, reached_by};
use super::subject::Subject;
use super::tree::GrantingEntry;
use super::tree::{Grants, Located, Node, Origin, QueueId, Tree};
use yunikorn::acl::Match;
use yunikorn::queue::{QueuePath, lowered, nearest};
use yunikorn::right::Right;

/// The most groups and objects that are offered, so that an answer stays readable.
const MOST: usize = 3;
/// The most groups that are examined, the nearest first.
const MOST_WEIGHED: usize = 16;

/// One way to get what was denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// An ACL of the queue gets another entry.
    Grant {
        /// The queue.
        queue: QueuePath,
        /// The ACL of the queue.
        right: Right,
        /// The subject of the new entry.
        subject: Subject,
        /// The object or text to write it in.
        how: How,
        /// The number of queues it opens: this one and those below it.
        opens: usize,
    },
    /// The user joins a group that has access.
    Join {
        /// The group.
        group: String,
        /// The queue whose ACL names it.
        queue: QueuePath,
        /// The ACL of the queue.
        right: Right,
    },
    /// The path is written another way.
    Ask {
        /// A queue that exists.
        queue: QueuePath,
    },
    /// The user's name is written as an ACL has it.
    Rename {
        /// The name in the ACL, which differs in case.
        name: String,
        /// The queue whose ACL names it.
        queue: QueuePath,
        /// The ACL of the queue.
        right: Right,
    },
}

/// The object in which a grant must be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// One of these objects, which have no end, grants this right on this queue already; add an entry to it.
    Edit(Vec<Origin>),
    /// Nobody manages this ACL yet; the new object must include the grants of the text, if there are any.
    New {
        /// True if the text has grants that a new object would replace.
        extend: bool,
    },
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grant { queue, right, subject, how, opens } => {
                match account(subject) {
                    Some((namespace, name)) => {
                        let account = alias::shown(&format!("{namespace}:{name}")).into_owned();
                        write!(f, "let service account {account} {} queue {queue}, ", may(*right))?;
                    }
                    None if subject.is_plain() => {
                        write!(f, "name {subject} in the {} of queue {queue}, ", right.key())?;
                    }
                    None => write!(f, "let {subject} {} queue {queue}, ", may(*right))?,
                }
                match how {
                    How::Edit(objects) => {
                        let names: Vec<String> = objects.iter().map(ToString::to_string).collect();
                        write!(f, "in {}", names.join(" or "))?;
                    }
                    How::New { extend: false } => f.write_str("by a QueueAcl")?,
                    How::New { extend: true } => f.write_str("by a QueueAcl with `baseAcl: Extend`")?,
                }
                if account(subject).is_some() {
                    f.write_str(" that names it under `serviceAccounts:`")?;
                }
                match opens {
                    0 | 1 => {}
                    2 => f.write_str("; it opens the queue below, too")?,
                    more => write!(f, "; it opens the {} queues below, too", more - 1)?,
                }
                if subject.is_plain() { Ok(()) } else { f.write_str("; it needs the user-info webhook") }
            }
            Self::Join { group, queue, right } => {
                write!(f, "add the user to group {group}, which the {} of queue {queue} names", right.key())
            }
            Self::Rename { name, queue, right } => {
                write!(f, "use the name {name}, which the {} of queue {queue} has", right.key())
            }
            Self::Ask { queue } => write!(f, "ask for queue {queue}"),
        }
    }
}

/// The service account that a subject is.
fn account(subject: &Subject) -> Option<(&str, &str)> {
    match subject {
        Subject::User(name) => alias::service_account(name),
        _ => None,
    }
}

/// What a right lets its holder do with a queue.
fn may(right: Right) -> &'static str {
    match right {
        Right::Submit => "submit to",
        Right::Admin => "administer",
    }
}

/// A word of a command as a shell reads it.
fn shell(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@,+=%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
    }
}

impl Remedy {
    /// The change that it is.
    pub fn change(&self) -> Change {
        match self {
            Self::Grant { queue, right, subject, .. } => {
                Change::Grant { queue: queue.clone(), right: *right, subject: subject.clone() }
            }
            Self::Join { group, .. } => Change::Join { group: group.clone() },
            Self::Ask { queue } => Change::Ask { queue: queue.to_string() },
            Self::Rename { name, .. } => Change::Rename { user: name.clone() },
        }
    }

    /// The command that makes a grant; `None` for other remedies.
    pub fn command(&self) -> Option<String> {
        let Self::Grant { queue, right, subject, .. } = self else { return None };
        let whom = match (account(subject), subject) {
            (Some((namespace, name)), _) => {
                format!("--serviceaccount {}", shell(&format!("{namespace}:{name}")))
            }
            (None, Subject::User(name)) => format!("--user {}", shell(name)),
            (None, Subject::Group(name)) => format!("--group {}", shell(name)),
            (None, Subject::Everyone) => return None,
        };
        Some(format!("queuewarden grant {} {queue} {whom}", right.verb()))
    }

    /// Returns whether it grants a name that no ACL can hold, and so needs the user-info webhook.
    pub fn needs_webhook(&self) -> bool {
        matches!(self, Self::Grant { subject, .. } if !subject.is_plain())
    }

    /// Returns whether it turns the denial into a yes.
    fn helps(&self, tree: &Tree, decision: &Decision) -> bool {
        // A grant is tried without a copy of the whole tree: an authorizer offers one with each denial.
        let way = match self {
            Self::Grant { .. } => decision.located.decides().map(|id| tree.bare_way(id)),
            _ => None,
        };
        let case = Case::new(way.map_or(Cow::Borrowed(tree), Cow::Owned), &decision.identity, &decision.path);
        let is_existing = matches!(
            (decision.located, tree.locate(&decision.path)),
            (Located::Below(_), Located::BelowLeaf(_))
        );
        case.after(&[self.change()]).is_some_and(|case| {
            let located = if is_existing && case.queue == decision.path {
                case.tree.locate_existing(&case.queue)
            } else {
                case.tree.locate(&case.queue)
            };
            let entry = |id| GrantingEntry::find(&case.tree, decision.right, id, &case.identity);
            located.decides().is_some_and(|id| entry(id).is_some())
        })
    }
}

/// The changes that would grant it; none for a decision that grants it, and for the recovery queue, which
/// nothing opens.
pub fn remedies(tree: &Tree, decision: &Decision) -> Vec<Remedy> {
    offered(tree, decision).collect()
}

/// The first of the [`remedies`], without the cost of finding the others.
pub fn first_remedy(tree: &Tree, decision: &Decision) -> Option<Remedy> {
    offered(tree, decision).next()
}

/// The remedies, each computed only when it is read: a denied user may try again and again, and reads only
/// the first.
fn offered<'a>(tree: &'a Tree, decision: &'a Decision) -> impl Iterator<Item = Remedy> + 'a {
    candidates(tree, decision).filter(move |remedy| remedy.helps(tree, decision))
}

fn candidates<'a>(tree: &'a Tree, decision: &'a Decision) -> Box<dyn Iterator<Item = Remedy> + 'a> {
    let decides = decision.located.decides().and_then(|id| Some((id, tree.node(id)?)));
    match decides {
        _ if decision.allowed() => Box::new(iter::empty()),
        None => Box::new(instead(tree, decision).into_iter()),
        Some((_, node)) if node.stops(decision.right) => Box::new(iter::empty()),
        Some((id, node)) => {
            let meant = meant(tree, decision).into_iter().chain(renamed(tree, decision));
            Box::new(meant.chain(grants(tree, decision, id, node)))
        }
    }
}

/// The name that an ACL on the way has in another case.
fn renamed(tree: &Tree, decision: &Decision) -> Option<Remedy> {
    decision.steps.iter().find_map(|step| {
        let node = tree.node(tree.find(&step.queue)?)?;
        let name = in_another_case(node.grants(step.acl).acl.users(), &decision.identity.user)?;
        Some(Remedy::Rename { name: name.to_owned(), queue: step.queue.clone(), right: step.acl })
    })
}

/// The queue that a misspelled path was perhaps meant to name, when the right is granted there.
fn meant(tree: &Tree, decision: &Decision) -> Option<Remedy> {
    let Located::Below(_) = decision.located else { return None };
    let path = lowered(&decision.path);
    request_access(tree, decision, near(tree, decision.right, &path)?)
}

/// Returns whether the right is of use on this queue: no application runs in a queue that has others below
/// it.
fn serves(right: Right, node: &Node) -> bool {
    right != Right::Submit || node.is_leaf
}

/// The queue that is most like a path, among those on which the right is of use.
fn near(tree: &Tree, right: Right, path: &str) -> Option<QueueId> {
    let candidates = tree.queues().filter(|(_, node)| serves(right, node));
    tree.find_exact(nearest(candidates.map(|(_, node)| node.path.as_str()), path)?)
}

/// The queue to ask for instead of one that cannot exist, when the right is granted there: the leaf above it,
/// or the one that a path without the root was perhaps meant to name.
fn instead(tree: &Tree, decision: &Decision) -> Option<Remedy> {
    if let Located::BelowLeaf(leaf) = decision.located {
        return request_access(tree, decision, leaf);
    }
    let full = format!("root.{}", decision.path);
    let queue = match tree.locate(&full) {
        Located::Queue(queue) => queue,
        _ => near(tree, decision.right, &full)?,
    };
    request_access(tree, decision, queue)
}

/// The advice to ask for this queue instead, when the right is granted there and of use.
fn request_access(tree: &Tree, decision: &Decision, queue: QueueId) -> Option<Remedy> {
    GrantingEntry::find(tree, decision.right, queue, &decision.identity)?;
    let node = tree.node(queue).filter(|node| serves(decision.right, node))?;
    Some(Remedy::Ask { queue: node.path.clone() })
}

fn grants<'a>(
    tree: &'a Tree,
    decision: &'a Decision,
    queue: QueueId,
    node: &'a Node,
) -> impl Iterator<Item = Remedy> + 'a {
    let (right, identity) = (decision.right, &decision.identity);
    let opens = granted_on(tree, right, queue).len();
    let how = how(node.grants(right));
    let grant =
        move |subject| Remedy::Grant { queue: node.path.clone(), right, subject, how: how.clone(), opens };
    let user = Some(&identity.user).filter(|user| alias::can_be_granted(Kind::User, user));
    let mut groups: Vec<&String> = Vec::new();
    for group in
        identity.groups.iter().filter(|group| Kind::Group.is_plain(group) && **group != identity.user)
    {
        if groups.len() < MOST && !groups.contains(&group) {
            groups.push(group);
        }
    }
    let user = user.cloned().map(Subject::User);
    let groups = groups.into_iter().cloned().map(Subject::Group);
    let joins = iter::once_with(move || joins(tree, decision)).flatten();
    user.map(grant.clone()).into_iter().chain(joins).chain(groups.map(grant))
}

fn how(grants: &Grants) -> How {
    let objects: Vec<Origin> = grants
        .parts
        .iter()
        .map(|(origin, _)| origin)
        .filter(|origin| matches!(origin, Origin::Object { until: None, .. }))
        .take(MOST)
        .cloned()
        .collect();
    if objects.is_empty() { How::New { extend: !grants.acl.is_nobody() } } else { How::Edit(objects) }
}

/// Returns whether someone can add this user to a group. Kubernetes gives its own users, such as service
/// accounts, their groups.
pub(crate) fn can_join(user: &str) -> bool {
    !is_of_kubernetes(user)
}

/// Returns whether only Kubernetes makes users or groups of this name.
pub(crate) fn is_of_kubernetes(name: &str) -> bool {
    name.starts_with("system:")
}

/// The groups that have access, those that administer the fewest queues first, and of these those that have
/// the right on the fewest.
fn joins(tree: &Tree, decision: &Decision) -> Vec<Remedy> {
    if !can_join(&decision.identity.user) {
        return Vec::new();
    }
    let mut groups: Vec<(&str, &Step)> = Vec::new();
    for step in &decision.steps {
        let Some(node) = tree.find(&step.queue).and_then(|id| tree.node(id)) else { continue };
        let groups_named = node.grants(step.acl).acl.groups().iter();
        for group in groups_named.filter_map(|group| tree.real(Match::Group(group)).group()) {
            if alias::is_alias(group) || is_of_kubernetes(group) {
                continue;
            }
            if groups.len() < MOST_WEIGHED && !groups.iter().any(|(known, _)| *known == group) {
                groups.push((group, step));
            }
        }
    }
    // A stable sort: of groups that open as much, the nearest comes first.
    groups.sort_by_cached_key(|(group, _)| widths(tree, decision.right, group));
    let join = |(group, step): (&str, &Step)| Remedy::Join {
        group: group.to_owned(),
        queue: step.queue.clone(),
        right: step.acl,
    };
    groups.into_iter().take(MOST).map(join).collect()
}

#[cfg(test)]
thread_local! {
    /// The number of groups this thread has examined, so that tests can bound the work.
    static WEIGHED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The numbers of queues that the members of a group administer, and on which they have the right.
fn widths(tree: &Tree, right: Right, group: &str) -> [usize; 2] {
    #[cfg(test)]
    WEIGHED.set(WEIGHED.get() + 1);
    [Right::Admin, right].map(|right| reached_by(tree, right, Match::Group(group)).len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::{decide, explain};
    use crate::testing::{any_identity, any_tree, text, tree};
    use proptest::prelude::*;
    use yunikorn::acl::{self, Acl};
    use yunikorn::config::verdict;
    use yunikorn::identity::Identity;
    use yunikorn::version::Version;

    fn reported(tree: &Tree, right: Right, queue: &str, user: &str, groups: &[&str]) -> Vec<String> {
        let identity =
            Identity { user: user.to_owned(), groups: groups.iter().map(ToString::to_string).collect() };
        remedies(tree, &explain(tree, right, queue, &identity)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_smallest_change_comes_first() {
        let mut tree =
            tree(&[("root", "", " ops"), ("root.prod", "bob devs", ""), ("root.prod.etl", "", "")]);
        assert_eq!(
            reported(&tree, Right::Submit, "root.prod", "sue", &["qa", "system:authenticated"]),
            [
                "name user sue in the submitacl of queue root.prod, by a QueueAcl with `baseAcl: Extend`; it \
                 opens the queue below, too",
                "add the user to group devs, which the submitacl of queue root.prod names",
                "add the user to group ops, which the adminacl of queue root names",
                "name group qa in the submitacl of queue root.prod, by a QueueAcl with `baseAcl: Extend`; it \
                 opens the queue below, too",
            ]
        );
        let prod = QueuePath::parse("root.prod").expect("path");
        let object = Origin::Object { kind: "QueueAcl", name: "prod".to_owned(), until: None };
        tree.attribute(&prod, Right::Submit, object, &acl::parse("bob devs").expect("acl"));
        assert_eq!(
            reported(&tree, Right::Submit, "root.prod", "sue", &[]).first().map(String::as_str),
            Some(
                "name user sue in the submitacl of queue root.prod, in QueueAcl/prod; it opens the queue \
                 below, too"
            )
        );
        // What is added to an object that ends would end with it.
        let end = Some(jiff::Timestamp::UNIX_EPOCH);
        let object = Origin::Object { kind: "QueueAcl", name: "friday".to_owned(), until: end };
        tree.attribute(&prod, Right::Admin, object, &acl::parse("bob").expect("acl"));
        assert_eq!(
            reported(&tree, Right::Admin, "root.prod", "sue", &[]).first().map(String::as_str),
            Some(
                "name user sue in the adminacl of queue root.prod, by a QueueAcl; it opens the queue below, too"
            )
        );
        assert_eq!(
            reported(
                &tree,
                Right::Admin,
                "root.prod.etl",
                "system:serviceaccount:a:b",
                &["system:serviceaccounts"]
            ),
            ["let service account a:b administer queue root.prod.etl, by a QueueAcl that names it under \
                 `serviceAccounts:`; it needs the user-info webhook",]
        );
        assert_eq!(reported(&tree, Right::Submit, "root", "ann", &["ops"]), Vec::<String>::new());
    }

    /// Names in another case open nothing, and a group that only submits less than one that administers.
    #[test]
    fn the_least_privilege_comes_first() {
        let tree = tree(&[("root", "", ""), ("root.a", "Sue devs", " ops"), ("root.b", " devs", "")]);
        assert_eq!(
            reported(&tree, Right::Submit, "root.a", "sue", &[]),
            [
                "use the name Sue, which the submitacl of queue root.a has",
                "name user sue in the submitacl of queue root.a, by a QueueAcl with `baseAcl: Extend`",
                "add the user to group devs, which the submitacl of queue root.a names",
                "add the user to group ops, which the adminacl of queue root.a names",
            ]
        );
    }

    #[test]
    fn the_queue_that_was_meant_is_offered_where_the_right_is_of_use() {
        let tree = tree(&[
            ("root", "", " ops"),
            ("root.prod", "bob", ""),
            ("root.team", "bob", ""),
            ("root.team.etl", "", ""),
        ]);
        let first = |right, queue, user, groups: &[&str]| {
            reported(&tree, right, queue, user, groups).first().cloned().unwrap_or_default()
        };
        for queue in ["prod", "Prod", "porod"] {
            assert_eq!(reported(&tree, Right::Submit, queue, "bob", &[]), ["ask for queue root.prod"]);
            assert_eq!(reported(&tree, Right::Submit, queue, "sue", &[]), Vec::<String>::new());
        }
        assert_eq!(first(Right::Submit, "root.Prdo", "bob", &[]), "ask for queue root.prod");
        // No application runs in a parent queue, but it can be administered.
        for queue in ["team", "Team", "taem"] {
            assert_eq!(reported(&tree, Right::Submit, queue, "bob", &[]), Vec::<String>::new(), "{queue}");
            assert_eq!(reported(&tree, Right::Admin, queue, "ann", &["ops"]), ["ask for queue root.team"]);
        }
        assert!(first(Right::Submit, "root.tem", "bob", &[]).starts_with("name user bob"));
    }

    #[test]
    fn the_first_costs_no_walk_through_the_tree() {
        let tree = tree(&[("root", "", " ops,qa"), ("root.prod", "bob devs,leads", "")]);
        let identity = Identity { user: "sue".to_owned(), groups: vec!["x".to_owned()] };
        let decision = explain(&tree, Right::Submit, "root.prod", &identity);
        WEIGHED.set(0);
        assert!(matches!(first_remedy(&tree, &decision), Some(Remedy::Grant { .. })));
        assert_eq!(WEIGHED.get(), 0);
        assert_eq!(remedies(&tree, &decision).len(), 5);
        assert_eq!(WEIGHED.get(), 4);
    }

    #[test]
    fn some_of_the_groups_are_offered_each_once() {
        let tree = tree(&[("root", "", ""), ("root.a", "", "")]);
        assert_eq!(
            reported(&tree, Right::Submit, "root.a", "sue", &["qa", "qa", "sue", "devs", "qa", "ops", "etl"]),
            ["user sue", "group qa", "group devs", "group ops"]
                .map(|whom| format!("name {whom} in the submitacl of queue root.a, by a QueueAcl"))
        );
    }

    #[test]
    fn a_group_that_has_access_twice_is_offered_once() {
        let tree = tree(&[("root", "", " ops"), ("root.a", " ops", " ops")]);
        let reported = reported(&tree, Right::Submit, "root.a", "sue", &[]);
        let joins: Vec<&String> = reported.iter().filter(|line| line.starts_with("add the user")).collect();
        assert_eq!(joins, ["add the user to group ops, which the submitacl of queue root.a names"]);
    }

    #[test]
    fn of_many_groups_that_have_access_the_nearest_are_weighed() {
        let many: Vec<String> = (0..20).map(|number| format!("g{number}")).collect();
        let near = format!(" {}", many.join(","));
        let tree = tree(&[("root", " far", ""), ("root.a", &near, "")]);
        let identity = Identity { user: "sue".to_owned(), groups: Vec::new() };
        let decision = explain(&tree, Right::Submit, "root.a", &identity);
        WEIGHED.set(0);
        assert_eq!(remedies(&tree, &decision).len(), 1 + MOST);
        assert_eq!(WEIGHED.get(), MOST_WEIGHED);
    }

    #[test]
    fn of_groups_the_one_with_the_fewest_queues_comes_first() {
        let tree = tree(&[
            ("root", " all", ""),
            ("root.a", " wide,narrow", ""),
            ("root.a.b", "", " near"),
            ("root.c", " wide,near", ""),
            ("root.c.d", "", ""),
        ]);
        let groups = |queue: &str| {
            let reported = reported(&tree, Right::Submit, queue, "sue", &[]);
            reported
                .iter()
                .filter_map(|line| {
                    line.strip_prefix("add the user to group ")?.split(',').next().map(str::to_owned)
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(groups("root.a"), ["narrow", "wide", "all"]);
        // Who administers one queue may do more than who submits to all.
        assert_eq!(groups("root.a.b"), ["narrow", "wide", "all"]);
    }

    #[test]
    fn a_grant_to_submit_does_not_open_the_recovery_queue() {
        let tree = tree(&[("root", "", ""), ("root.@recovery@", "", ""), ("root.a", "", "")]);
        let grants = |right, queue| reported(&tree, right, queue, "sue", &[]).concat();
        assert!(grants(Right::Submit, "root").ends_with("; it opens the queue below, too"));
        assert!(grants(Right::Admin, "root").ends_with("; it opens the 2 queues below, too"));
        assert!(grants(Right::Admin, "root.@recovery@").ends_with("by a QueueAcl"));
    }

    #[test]
    fn below_the_recovery_queue_a_grant_there_helps() {
        let tree = tree(&[("root", "*", ""), ("root.@recovery@", "*", ""), ("root.@recovery@.x", "", "")]);
        assert_eq!(
            reported(&tree, Right::Submit, "root.@recovery@.x", "sue", &[]),
            ["name user sue in the submitacl of queue root.@recovery@.x, by a QueueAcl"]
        );
        assert_eq!(reported(&tree, Right::Submit, "root.@recovery@", "sue", &[]), Vec::<String>::new());
    }

    proptest! {
        /// Every remedy does what it promises, once it is applied.
        #[test]
        fn what_is_offered_helps(tree in any_tree(), identity in any_identity(), queue in "root(\\.(a|b|x)){0,3}") {
            for right in Right::ALL {
                let decision = explain(&tree, right, &queue, &identity);
                let remedies = remedies(&tree, &decision);
                let first = first_remedy(&tree, &decision);
                prop_assert_eq!(first.as_ref(), remedies.first());
                for remedy in remedies {
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
                        Remedy::Ask { queue: meant } => {
                            prop_assert!(decide(&tree, right, meant.as_str(), &identity).allowed());
                        }
                        Remedy::Rename { name, .. } => {
                            let renamed = Identity { user: name, ..identity.clone() };
                            prop_assert!(decide(&tree, right, &queue, &renamed).allowed());
                        }
                    }
                }
            }
        }
    }

    /// The tree with one more entry.
    fn with(tree: &Tree, at: &QueuePath, right: Right, subject: &Subject) -> Tree {
        let none: &[&str] = &[];
        let entry = match subject {
            Subject::User(user) => alias::acl(&[user], none).expect("a user").0,
            Subject::Group(group) => alias::acl(none, &[group]).expect("a group").0,
            Subject::Everyone => Acl::everyone(),
        };
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
        let verdict = verdict(&text(&queues), &[], Version::V1_8);
        Tree::new(verdict.config.expect("valid").partition("default").expect("default")).expect("active")
    }
}
