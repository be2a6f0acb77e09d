//! Finds changes that turn a denial into a grant, the smallest first. Each is applied and evaluated before it
//! is offered.
//!
//! The smallest change grants the least. First come changes that grant nothing, if another
//! queue or name was intended, then a user on the queue, then a user on all queues of a group, and finally
//! the members of a group, whose number is unknown. Groups that administer the fewest queues come first. `*`
//! is never suggested.

use std::borrow::Cow;
use std::collections::HashSet;
use std::{iter, slice};

use schemars::JsonSchema;
use serde::Serialize;

use super::alias::{self, Kind};
use super::change::{Case, Change};
use super::decide::{Decision, Step, in_another_case};
use super::reach::{granted_on, reached_by};
use super::subject::Subject;
use super::tree::{GrantingEntry, Grants, Located, Node, Origin, QueueId, Tree};
use yunikorn::acl::Match;
use yunikorn::queue::{QueuePath, lowered, nearest};
use yunikorn::right::{AclKey, Right};

/// Maximum number of offered groups and objects, which keeps the answer readable.
const MOST: usize = 3;
/// Maximum number of examined groups, the nearest first.
const MOST_WEIGHED: usize = 16;

/// A change that would grant the denied access.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RemedyAnswer")]
pub struct Remedy {
    /// The kind of change.
    pub kind: RemedyKind,
    /// A sentence for people.
    pub message: String,
    /// The queue whose ACL must change, or the queue to use instead.
    #[schemars(with = "Option<String>")]
    pub queue: QueuePath,
    /// The kind of ACL that must change.
    pub acl: Option<AclKey>,
    /// The subject to add, or the group to join.
    pub subject: Option<Subject>,
    /// The objects that already set this ACL and can be edited. If empty, a new object is needed.
    // Objects with an end are excluded, because an added entry would end with them.
    pub objects: Vec<Origin>,
    /// True if a new object must set `baseAcl: Extend` so that nobody loses access.
    pub extend: bool,
    /// The number of queues that the grant opens; 0 if nothing is granted.
    pub opens: usize,
    /// The change.
    #[serde(skip)]
    pub change: Change,
}

/// The kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum RemedyKind {
    /// An ACL gets another subject.
    Grant,
    /// The user joins a group that has access.
    Join,
    /// Another queue is used.
    Ask,
    /// The user's name is written in the case that the ACL uses.
    Rename,
}

/// Describes a grant of a right on a queue, with one of these objects or a new one.
fn grant_message(
    (queue, right): (&QueuePath, Right),
    subject: &Subject,
    (objects, extend): (&[Origin], bool),
    opens: usize,
) -> String {
    let grant = match account(subject) {
        Some((namespace, name)) => {
            let account = format!("{namespace}:{name}");
            format!("let service account {} {} queue {queue}", alias::shown(&account), right.act())
        }
        None if subject.is_plain() => format!("name {subject} in the {} of queue {queue}", right.key()),
        None => format!("let {subject} {} queue {queue}", right.act()),
    };
    let names: Vec<String> = objects.iter().map(ToString::to_string).collect();
    let how = match (names.as_slice(), extend) {
        ([], false) => "using a QueueAcl".to_owned(),
        ([], true) => "using a QueueAcl with `baseAcl: Extend`".to_owned(),
        (names, _) => format!("in {}", names.join(" or ")),
    };
    let field = if account(subject).is_some() { " that names it under `serviceAccounts:`" } else { "" };
    let below = match opens {
        0 | 1 => String::new(),
        2 => "; this also opens the queue below".to_owned(),
        more => format!("; this also opens the {} queues below", more - 1),
    };
    let webhook = if subject.is_plain() { "" } else { "; it needs the user-info webhook" };
    format!("{grant}, {how}{field}{below}{webhook}")
}

/// Returns the namespace and name of a service account, if the subject is one.
fn account(subject: &Subject) -> Option<(&str, &str)> {
    match subject {
        Subject::User(name) => alias::service_account(name),
        _ => None,
    }
}

/// Quotes a word of a command for a shell.
fn shell(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@,+=%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
    }
}

impl Remedy {
    /// Returns a change that grants nothing.
    fn new(
        kind: RemedyKind,
        queue: &QueuePath,
        entry: Option<(Right, Subject)>,
        change: Change,
        message: String,
    ) -> Self {
        let (right, subject) = entry.unzip();
        Self {
            kind,
            message,
            queue: queue.clone(),
            acl: right.map(Into::into),
            subject,
            objects: Vec::new(),
            extend: false,
            opens: 0,
            change,
        }
    }

    /// Returns the command for a grant; `None` for other remedies.
    pub fn command(&self) -> Option<String> {
        let Change::Grant { queue, right, subject } = &self.change else { return None };
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

    /// Returns whether it grants a name that an ACL cannot contain, and so needs the user-info webhook.
    pub fn needs_webhook(&self) -> bool {
        matches!(&self.change, Change::Grant { subject, .. } if !subject.is_plain())
    }

    /// Returns whether it turns the denial into a grant.
    fn helps(&self, tree: &Tree, decision: &Decision) -> bool {
        // Test a grant without copying the whole tree, because an authorizer offers one with each denial.
        let way = decision.located.decides().filter(|_| self.kind == RemedyKind::Grant);
        let way = way.map(|id| tree.bare_way(id));
        let case = Case::new(way.map_or(Cow::Borrowed(tree), Cow::Owned), &decision.identity, &decision.path);
        let is_existing = matches!(
            (decision.located, tree.locate(&decision.path)),
            (Located::Below(_), Located::BelowLeaf(_))
        );
        case.after(slice::from_ref(&self.change)).is_some_and(|case| {
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

/// Iterates over changes that would grant the right. It is empty if the right is already granted, and for
/// the recovery queue, which cannot be opened. Each is computed only when it is read, because a denied user
/// may retry often and reads only the first.
pub fn remedies<'a>(tree: &'a Tree, decision: &'a Decision) -> impl Iterator<Item = Remedy> + 'a {
    let decides = decision.located.decides().and_then(|id| Some((id, tree.node(id)?)));
    let candidates: Box<dyn Iterator<Item = Remedy>> = match decides {
        _ if decision.allowed() => Box::new(iter::empty()),
        None => Box::new(instead(tree, decision).into_iter()),
        Some((_, node)) if node.stops(decision.right) => Box::new(iter::empty()),
        Some((id, node)) => {
            let meant = meant(tree, decision).into_iter().chain(renamed(tree, decision));
            Box::new(meant.chain(grants(tree, decision, id, node)))
        }
    };
    candidates.filter(|remedy| remedy.helps(tree, decision))
}

/// Suggests the name that an ACL contains in another case.
fn renamed(tree: &Tree, decision: &Decision) -> Option<Remedy> {
    decision.steps.iter().find_map(|step| {
        let node = tree.node(tree.find(&step.queue)?)?;
        let name = in_another_case(node.grants(step.acl).acl.users(), &decision.identity.user)?;
        let message = format!("use the name {name}, as in the {} of queue {}", step.acl.key(), step.queue);
        let change = Change::Rename { user: name.to_owned() };
        let entry = (step.acl, Subject::User(name.to_owned()));
        Some(Remedy::new(RemedyKind::Rename, &step.queue, Some(entry), change, message))
    })
}

/// Suggests the intended queue for a misspelled path, if the right is granted there.
fn meant(tree: &Tree, decision: &Decision) -> Option<Remedy> {
    let Located::Below(_) = decision.located else { return None };
    let path = lowered(&decision.path);
    request_access(tree, decision, near(tree, decision.right, &path)?)
}

/// Returns whether the right is useful on this queue. Applications cannot run in a queue that has children.
fn serves(right: Right, node: &Node) -> bool {
    right != Right::Submit || node.is_leaf
}

/// Returns, of the queues where the right is useful, the one most similar to a path.
fn near(tree: &Tree, right: Right, path: &str) -> Option<QueueId> {
    let candidates = tree.queues().filter(|(_, node)| serves(right, node));
    tree.find_exact(nearest(candidates.map(|(_, node)| node.path.as_str()), path)?)
}

/// Suggests a queue in place of a nonexistent one, if the right is granted there: the leaf above it, or
/// the queue that a path without the root probably means.
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

/// Suggests requesting this queue instead, if the right is granted there and useful.
fn request_access(tree: &Tree, decision: &Decision, queue: QueueId) -> Option<Remedy> {
    GrantingEntry::find(tree, decision.right, queue, &decision.identity)?;
    let node = tree.node(queue).filter(|node| serves(decision.right, node))?;
    let change = Change::Ask { queue: node.path.to_string() };
    Some(Remedy::new(RemedyKind::Ask, &node.path, None, change, format!("request queue {}", node.path)))
}

fn grants<'a>(
    tree: &'a Tree,
    decision: &'a Decision,
    queue: QueueId,
    node: &'a Node,
) -> impl Iterator<Item = Remedy> + 'a {
    let (right, identity) = (decision.right, &decision.identity);
    let opens = granted_on(tree, right, queue).len();
    let Grants { acl, parts, .. } = node.grants(right);
    let objects = parts.iter().map(|(origin, _)| origin);
    let objects = objects.filter(|origin| matches!(origin, Origin::Object { until: None, .. }));
    let objects: Vec<Origin> = objects.take(MOST).cloned().collect();
    let extend = objects.is_empty() && !acl.is_nobody();
    let grant = move |subject: Subject| {
        let change = Change::Grant { queue: node.path.clone(), right, subject: subject.clone() };
        let message = grant_message((&node.path, right), &subject, (&objects, extend), opens);
        let remedy = Remedy::new(RemedyKind::Grant, &node.path, Some((right, subject)), change, message);
        Remedy { objects: objects.clone(), extend, opens, ..remedy }
    };
    let user = Some(&identity.user).filter(|user| alias::can_be_granted(Kind::User, user));
    let user = user.cloned().map(Subject::User);
    let mut known = HashSet::new();
    let is_offered = |group: &&String| Kind::Group.is_plain(group) && **group != identity.user;
    let groups = identity.groups.iter().filter(is_offered).filter(move |group| known.insert(*group));
    let groups = groups.take(MOST).cloned().map(Subject::Group);
    let joins = iter::once_with(move || joins(tree, decision)).flatten();
    user.map(grant.clone()).into_iter().chain(joins).chain(groups.map(grant))
}

/// Returns whether someone can add this user to a group. Kubernetes determines the groups of its own users,
/// such as service accounts.
pub(crate) fn can_join(user: &str) -> bool {
    !is_of_kubernetes(user)
}

/// Returns whether only Kubernetes creates users or groups with this name.
pub(crate) fn is_of_kubernetes(name: &str) -> bool {
    name.starts_with("system:")
}

/// Returns the groups that have access, ordered by the number of queues they administer, then by the number
/// of queues on which they have the right.
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
    // A stable sort keeps the nearest of equal groups first.
    groups.sort_by_cached_key(|(group, _)| widths(tree, decision.right, group));
    let join = |(group, step): (&str, &Step)| {
        let (key, queue) = (step.acl.key(), &step.queue);
        let message = format!("add the user to group {group}, which the {key} of queue {queue} names");
        let entry = (step.acl, Subject::Group(group.to_owned()));
        let change = Change::Join { group: group.to_owned() };
        Remedy::new(RemedyKind::Join, queue, Some(entry), change, message)
    };
    groups.into_iter().take(MOST).map(join).collect()
}

#[cfg(test)]
thread_local! {
    /// The number of groups that this thread has examined, so that tests can bound the work.
    static WEIGHED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Returns the numbers of queues that the members of a group administer, and on which they have the right.
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
        let decision = explain(tree, right, queue, &identity);
        remedies(tree, &decision).map(|remedy| remedy.message).collect()
    }

    #[test]
    fn smallest_change_comes_first() {
        let mut tree =
            tree(&[("root", "", " ops"), ("root.prod", "bob devs", ""), ("root.prod.etl", "", "")]);
        assert_eq!(
            reported(&tree, Right::Submit, "root.prod", "sue", &["qa", "system:authenticated"]),
            [
                "name user sue in the submitacl of queue root.prod, using a QueueAcl with `baseAcl: Extend`; \
                 this also opens the queue below",
                "add the user to group devs, which the submitacl of queue root.prod names",
                "add the user to group ops, which the adminacl of queue root names",
                "name group qa in the submitacl of queue root.prod, using a QueueAcl with `baseAcl: Extend`; \
                 this also opens the queue below",
            ]
        );
        let prod = QueuePath::parse("root.prod").expect("path");
        let object = Origin::Object { kind: "QueueAcl", name: "prod".to_owned(), until: None };
        tree.attribute(&prod, Right::Submit, object, &acl::parse("bob devs").expect("acl"));
        assert_eq!(
            reported(&tree, Right::Submit, "root.prod", "sue", &[]).first().map(String::as_str),
            Some(
                "name user sue in the submitacl of queue root.prod, in QueueAcl/prod; this also opens the \
                 queue below"
            )
        );
        // An entry added to an object with an end would end with it.
        let end = Some(jiff::Timestamp::UNIX_EPOCH);
        let object = Origin::Object { kind: "QueueAcl", name: "friday".to_owned(), until: end };
        tree.attribute(&prod, Right::Admin, object, &acl::parse("bob").expect("acl"));
        assert_eq!(
            reported(&tree, Right::Admin, "root.prod", "sue", &[]).first().map(String::as_str),
            Some(
                "name user sue in the adminacl of queue root.prod, using a QueueAcl; this also opens the queue below"
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
            ["let service account a:b administer queue root.prod.etl, using a QueueAcl that names it under \
                 `serviceAccounts:`; it needs the user-info webhook",]
        );
        assert_eq!(reported(&tree, Right::Submit, "root", "ann", &["ops"]), Vec::<String>::new());
    }

    /// Names in another case grant nothing, and a group that only submits grants less than one that
    /// administers.
    #[test]
    fn least_privilege_comes_first() {
        let tree = tree(&[("root", "", ""), ("root.a", "Sue devs", " ops"), ("root.b", " devs", "")]);
        assert_eq!(
            reported(&tree, Right::Submit, "root.a", "sue", &[]),
            [
                "use the name Sue, as in the submitacl of queue root.a",
                "name user sue in the submitacl of queue root.a, using a QueueAcl with `baseAcl: Extend`",
                "add the user to group devs, which the submitacl of queue root.a names",
                "add the user to group ops, which the adminacl of queue root.a names",
            ]
        );
    }

    #[test]
    fn intended_queue_is_offered_if_the_right_is_useful() {
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
            assert_eq!(reported(&tree, Right::Submit, queue, "bob", &[]), ["request queue root.prod"]);
            assert_eq!(reported(&tree, Right::Submit, queue, "sue", &[]), Vec::<String>::new());
        }
        assert_eq!(first(Right::Submit, "root.Prdo", "bob", &[]), "request queue root.prod");
        // Applications cannot run in a parent queue, but it can be administered.
        for queue in ["team", "Team", "taem"] {
            assert_eq!(reported(&tree, Right::Submit, queue, "bob", &[]), Vec::<String>::new(), "{queue}");
            assert_eq!(reported(&tree, Right::Admin, queue, "ann", &["ops"]), ["request queue root.team"]);
        }
        assert!(first(Right::Submit, "root.tem", "bob", &[]).starts_with("name user bob"));
    }

    #[test]
    fn first_remedy_needs_no_walk_through_the_tree() {
        let tree = tree(&[("root", "", " ops,qa"), ("root.prod", "bob devs,leads", "")]);
        let identity = Identity { user: "sue".to_owned(), groups: vec!["x".to_owned()] };
        let decision = explain(&tree, Right::Submit, "root.prod", &identity);
        WEIGHED.set(0);
        let first = remedies(&tree, &decision).next().map(|remedy| remedy.kind);
        assert_eq!((first, WEIGHED.get()), (Some(RemedyKind::Grant), 0));
        assert_eq!(remedies(&tree, &decision).count(), 5);
        assert_eq!(WEIGHED.get(), 4);
    }

    #[test]
    fn groups_are_bounded_and_unique() {
        let tree = tree(&[("root", "", ""), ("root.a", "", "")]);
        assert_eq!(
            reported(&tree, Right::Submit, "root.a", "sue", &["qa", "qa", "sue", "devs", "qa", "ops", "etl"]),
            ["user sue", "group qa", "group devs", "group ops"]
                .map(|whom| format!("name {whom} in the submitacl of queue root.a, using a QueueAcl"))
        );
    }

    #[test]
    fn group_with_access_through_two_entries_is_offered_once() {
        let tree = tree(&[("root", "", " ops"), ("root.a", " ops", " ops")]);
        let reported = reported(&tree, Right::Submit, "root.a", "sue", &[]);
        let joins: Vec<&String> = reported.iter().filter(|line| line.starts_with("add the user")).collect();
        assert_eq!(joins, ["add the user to group ops, which the submitacl of queue root.a names"]);
    }

    #[test]
    fn only_the_nearest_groups_are_examined() {
        let many: Vec<String> = (0..20).map(|number| format!("g{number}")).collect();
        let near = format!(" {}", many.join(","));
        let tree = tree(&[("root", " far", ""), ("root.a", &near, "")]);
        let identity = Identity { user: "sue".to_owned(), groups: Vec::new() };
        let decision = explain(&tree, Right::Submit, "root.a", &identity);
        WEIGHED.set(0);
        assert_eq!(remedies(&tree, &decision).count(), 1 + MOST);
        assert_eq!(WEIGHED.get(), MOST_WEIGHED);
    }

    #[test]
    fn group_with_the_fewest_queues_comes_first() {
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
        // An administrator of one queue may do more than a user who submits to all.
        assert_eq!(groups("root.a.b"), ["narrow", "wide", "all"]);
    }

    #[test]
    fn grant_to_submit_does_not_open_the_recovery_queue() {
        let tree = tree(&[("root", "", ""), ("root.@recovery@", "", ""), ("root.a", "", "")]);
        let grants = |right, queue| reported(&tree, right, queue, "sue", &[]).concat();
        assert!(grants(Right::Submit, "root").ends_with("; this also opens the queue below"));
        assert!(grants(Right::Admin, "root").ends_with("; this also opens the 2 queues below"));
        assert!(grants(Right::Admin, "root.@recovery@").ends_with("using a QueueAcl"));
    }

    #[test]
    fn grant_below_the_recovery_queue_helps() {
        let tree = tree(&[("root", "*", ""), ("root.@recovery@", "*", ""), ("root.@recovery@.x", "", "")]);
        assert_eq!(
            reported(&tree, Right::Submit, "root.@recovery@.x", "sue", &[]),
            ["name user sue in the submitacl of queue root.@recovery@.x, using a QueueAcl"]
        );
        assert_eq!(reported(&tree, Right::Submit, "root.@recovery@", "sue", &[]), Vec::<String>::new());
    }

    proptest! {
        /// Every remedy has the promised effect once it is applied.
        #[test]
        fn offered_remedies_help(tree in any_tree(), identity in any_identity(), queue in "root(\\.(a|b|x)){0,3}") {
            for right in Right::ALL {
                let decision = explain(&tree, right, &queue, &identity);
                for remedy in remedies(&tree, &decision) {
                    match remedy.change {
                        Change::Join { group } => {
                            let mut joined = identity.clone();
                            joined.groups.push(group);
                            prop_assert!(decide(&tree, right, &queue, &joined).allowed());
                        }
                        Change::Grant { queue: at, right: written, subject } => {
                            let changed = with(&tree, &at, written, &subject);
                            prop_assert!(decide(&changed, right, &queue, &identity).allowed());
                        }
                        Change::Ask { queue: meant } => {
                            prop_assert!(decide(&tree, right, &meant, &identity).allowed());
                        }
                        Change::Rename { user } => {
                            let renamed = Identity { user, ..identity.clone() };
                            prop_assert!(decide(&tree, right, &queue, &renamed).allowed());
                        }
                        other => prop_assert!(false, "{:?}", other),
                    }
                }
            }
        }
    }

    /// Returns the tree with one more entry.
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
