//! Finds the subjects with a right on a queue.
//!
//! The answer consists of the names in the ACLs: users, groups and the wildcard. The members of a group are
//! unknown.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::decide::Denial;
use super::reach::{GrantedBy, checked};
use super::subject::Subject;
use super::tree::{Grants, QueueId, Tree, latest};
use yunikorn::acl::Match;
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;

/// All subjects with a right on one queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhoCan {
    /// The right in question.
    pub verb: Right,
    /// The queue in question.
    pub queue: String,
    /// The configured queue whose ACLs are checked first: the queue itself, or the nearest queue above.
    #[schemars(with = "Option<String>")]
    pub nearest_queue: Option<QueuePath>,
    /// The reason why nobody has the right, regardless of the ACLs; null if the ACLs decide.
    pub denial: Option<Denial>,
    /// All subjects that have the right.
    // Subjects named by the nearest queue come first, and there the wildcard, then users and groups by name.
    #[serde(rename = "subjects")]
    pub grantees: Vec<Grantee>,
}

/// A subject that has the right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Grantee {
    /// The user, the group, or everyone.
    #[serde(flatten)]
    pub subject: Subject,
    /// All entries that grant the right, the nearest first. Each of them is sufficient.
    pub grants: Vec<GrantedBy>,
    /// The time at which the right ends, which is the end of the last grant to the name or to everyone. Null
    /// if a grant has no end.
    pub until: Option<Timestamp>,
}

/// Returns all subjects with a right on a queue. For a path below the existing queues, the nearest queue
/// decides.
pub fn who_can(tree: &Tree, right: Right, queue: &str) -> WhoCan {
    let located = tree.locate(queue);
    let denial = match located.decides().and_then(|id| tree.node(id)) {
        None => Some(Denial::NoQueue),
        Some(node) if node.stops(right) => Some(Denial::Recovery),
        Some(_) => None,
    };
    WhoCan {
        verb: right,
        queue: queue.to_owned(),
        nearest_queue: located.nearest().map(|id| tree.path(id)),
        denial,
        grantees: located.decides().map(|id| grantees(tree, right, id)).unwrap_or_default(),
    }
}

fn grantees(tree: &Tree, right: Right, id: QueueId) -> Vec<Grantee> {
    let mut found: HashMap<Match<'_>, Found, RandomState> = HashMap::default();
    let steps =
        checked(tree, right, id).flat_map(|(_, node)| right.acls().iter().map(move |acl| (node, *acl)));
    for (step, (node, acl)) in steps.enumerate() {
        let Grants { acl: in_force, parts, .. } = node.grants(acl);
        for (origin, part) in parts {
            // Next to a wildcard of another origin, the names of this part have no effect until the wildcard
            // ends.
            let is_in_force = part.is_everyone() || !in_force.is_everyone();
            for entry in part.entries() {
                let Found { nearest, grants, ends } = found.entry(entry).or_default();
                ends.push(origin.until());
                if !is_in_force {
                    continue;
                }
                nearest.get_or_insert(step);
                match grants.last_mut().filter(|last| (&last.queue, last.acl) == (&node.path, acl)) {
                    Some(grant) => grant.origins.push(origin.clone()),
                    None => grants.push(GrantedBy {
                        queue: node.path.clone(),
                        acl,
                        origins: vec![origin.clone()],
                    }),
                }
            }
        }
    }
    let of_everyone = found.get(&Match::Everyone).map(|everyone| latest(everyone.ends.iter().copied()));
    let mut grantees: Vec<_> = found.into_iter().filter(|(_, found)| found.nearest.is_some()).collect();
    grantees.sort_unstable_by_key(|(subject, found)| (found.nearest, *subject));
    let grantee = |(subject, Found { grants, ends, .. })| {
        let until = latest(ends.into_iter().chain(of_everyone));
        Grantee { subject: tree.real(subject).into(), grants, until }
    };
    grantees.into_iter().map(grantee).collect()
}

/// The entries of a subject.
#[derive(Default)]
struct Found {
    /// The number of the first step with an effective entry.
    nearest: Option<usize>,
    /// The effective entries.
    grants: Vec<GrantedBy>,
    /// The ends of all entries, including ineffective ones.
    ends: Vec<Option<Timestamp>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::{Step, explain};
    use crate::reach::all_named;
    use crate::testing::{QUEUES, any_identity, any_tree, each_tree, people, tree};
    use crate::tree::{GrantingEntry, Origin, TextLocation};
    use proptest::prelude::*;
    use yunikorn::acl;
    use yunikorn::identity::Identity;

    fn is(identity: &Identity, subject: Match<'_>) -> bool {
        match subject {
            Match::Everyone => true,
            Match::User(user) => identity.user == user,
            Match::Group(group) => identity.groups.iter().any(|of| of == group),
        }
    }

    /// Returns the granting entry with its origins.
    fn entry_of(step: &Step) -> Option<(Subject, Vec<Origin>)> {
        Some((step.entry.clone()?, step.origins.clone()))
    }

    /// Checks that all ways to ask about a queue agree.
    fn agree(tree: &Tree, right: Right, queue: &str, identity: &Identity) -> Result<(), String> {
        let decision = explain(tree, right, queue, identity);
        let who = who_can(tree, right, queue);
        let ours: Vec<_> =
            who.grantees.iter().filter(|grantee| is(identity, grantee.subject.entry())).collect();
        let same = |holds: bool, what: &str| {
            let reported =
                || format!("{what}: {right:?} {queue} {identity:?}\n{tree:?}\n{decision:?}\n{who:?}");
            if holds { Ok(()) } else { Err(reported()) }
        };
        same(decision.allowed() != ours.is_empty(), "who-can and can-i")?;
        same(who.denial.is_none() || !decision.allowed(), "a denial")?;
        if decision.denial == Some(Denial::NoQueue) {
            same(who.denial == decision.denial, "the denial")?;
        }
        let Some(id) = tree.locate(queue).decides() else { return Ok(()) };
        let granting = GrantingEntry::find(tree, right, id, identity);
        same(granting.is_some() == decision.allowed(), "the granting entry and can-i")?;
        let step = decision.granted_by();
        let entry = granting.map(|granting| (granting.subject(tree), granting.origins(tree)));
        same(entry == step.and_then(entry_of), "the entry")?;
        let Some(granting) = granting else { return Ok(()) };
        let granted = |grant: &GrantedBy| *grant == granting.location(tree);
        same(
            step.is_some_and(|step| Some(&step.queue) == tree.node(granting.queue).map(|node| &node.path)),
            "where",
        )?;
        // The nearest grant to any name of this person is the granting entry.
        let of_granting = ours
            .iter()
            .find(|grantee| grantee.subject.entry() == granting.entry)
            .and_then(|of| of.grants.first());
        same(of_granting.is_some_and(granted), "the nearest")
    }

    #[test]
    fn all_questions_agree_on_small_trees() {
        let shapes = [
            ["root", "root.a", "root.a.b"],
            ["root", "root.a", "root.b"],
            ["root", "root.@recovery@", "root.@recovery@.a"],
        ];
        for queues in shapes {
            let paths = [queues[0], queues[1], queues[2], "ROOT.A.new", "other"];
            let mut trees = 0;
            each_tree(&queues, |tree| {
                trees += 1;
                for identity in people() {
                    for right in Right::ALL {
                        for queue in paths {
                            agree(tree, right, queue, &identity).unwrap();
                        }
                    }
                }
            });
            assert_eq!(trees, 12 * 12 * 12);
        }
    }

    proptest! {
        #[test]
        fn all_questions_agree_on_random_trees(
            tree in any_tree(), identity in any_identity(), queue in prop::sample::select(QUEUES.to_vec()),
        ) {
            for right in Right::ALL {
                agree(&tree, right, queue, &identity).map_err(TestCaseError::fail)?;
            }
        }

        #[test]
        fn matrix_equals_can_i_for_each_subject(tree in any_tree()) {
            for subject in all_named(&tree) {
                for (id, node, right) in tree.queues().flat_map(|(id, node)| Right::ALL.map(|right| (id, node, right))) {
                    let granting = GrantingEntry::of_name(&tree, right, id, subject.entry());
                    let decision = explain(&tree, right, node.path.as_str(), &subject.identity());
                    let step = decision.granted_by();
                    prop_assert_eq!(
                        granting.map(|granting| (granting.subject(&tree), granting.origins(&tree))),
                        step.and_then(entry_of)
                    );
                    let place = granting.map(|granting| (&tree.node(granting.queue).unwrap().path, granting.acl));
                    prop_assert_eq!(place, step.map(|step| (&step.queue, step.acl)));
                }
            }
        }
    }

    #[test]
    fn every_entry_is_reported_with_the_nearest_queue_first() {
        let mut tree = tree(&[
            ("root", "", " ops"),
            ("root.prod", "zoe,sue devs", "sue"),
            ("root.prod.etl", "*", " ops"),
        ]);
        let object = Origin::Object { kind: "QueueAcl", name: "prod".to_owned(), until: None };
        let path = QueuePath::parse("root.prod").unwrap();
        tree.attribute(&path, Right::Submit, object.clone(), &acl::parse(" devs").unwrap());
        let who = who_can(&tree, Right::Submit, "root.prod.etl");
        let reported: Vec<_> = who
            .grantees
            .iter()
            .map(|grantee| {
                let grants = grantee.grants.iter();
                let grants = grants.map(|grant| (grant.queue.as_str(), grant.acl));
                (grantee.subject.entry(), grants.collect::<Vec<_>>())
            })
            .collect();
        let (submit, admin) = (Right::Submit, Right::Admin);
        assert_eq!(
            reported,
            [
                (Match::Everyone, vec![("root.prod.etl", submit)]),
                (Match::Group("ops"), vec![("root.prod.etl", admin), ("root", admin)]),
                (Match::User("sue"), vec![("root.prod", submit), ("root.prod", admin)]),
                (Match::User("zoe"), vec![("root.prod", submit)]),
                (Match::Group("devs"), vec![("root.prod", submit)]),
            ]
        );
        assert_eq!(who.grantees[4].grants[0].origins, [object]);
        assert!(matches!(
            who.grantees[2].grants[0].origins[..],
            [Origin::Text(TextLocation { span: Some(_), .. })]
        ));
        assert_eq!(who_can(&tree, admin, "root.prod").grantees.len(), 2);
    }

    #[test]
    fn names_covered_by_a_wildcard_of_another_object_have_no_effect() {
        let mut tree = tree(&[("root", "*", "")]);
        let object = |name: &str| Origin::Object { kind: "QueueAcl", name: name.to_owned(), until: None };
        tree.attribute(&QueuePath::root(), Right::Submit, object("all"), &acl::parse("*").unwrap());
        tree.attribute(&QueuePath::root(), Right::Submit, object("one"), &acl::parse("sue").unwrap());
        let who = who_can(&tree, Right::Submit, "root");
        assert_eq!(
            who.grantees.iter().map(|grantee| grantee.subject.entry()).collect::<Vec<_>>(),
            [Match::Everyone]
        );
        assert_eq!(who.grantees[0].grants[0].origins, [object("all")]);
    }

    #[test]
    fn recovery_queue_admits_nobody_and_blocks_grants_from_above() {
        let tree = tree(&[
            ("root", "*", " ops"),
            ("root.@recovery@", "sue", "bob"),
            ("root.@recovery@.sub", "zoe", ""),
        ]);
        for queue in ["root.@recovery@", "Root.@Recovery@.new"] {
            let who = who_can(&tree, Right::Submit, queue);
            assert_eq!((who.denial, who.grantees.len()), (Some(Denial::Recovery), 0), "{queue}");
            assert_eq!(who_can(&tree, Right::Admin, queue).grantees.len(), 2, "{queue}");
        }
        let who = who_can(&tree, Right::Submit, "root.@recovery@.sub");
        assert_eq!(
            who.grantees.iter().map(|of| of.subject.entry()).collect::<Vec<_>>(),
            [Match::User("zoe")]
        );
        assert_eq!(who_can(&tree, Right::Submit, "prod").denial, Some(Denial::NoQueue));
    }
}
