//! Properties of all trees: grants only add up, the order of a text does not matter, and each grant has an
//! origin.

use proptest::prelude::*;

use super::decide::decide;
use super::testing::{QUEUES, Queue, any_acl, any_identity, any_queues, any_tree, tree};
use super::tree::{Grants, Origin, Tree};
use super::who_can::who_can;
use yunikorn::acl::{self, Acl};
use yunikorn::identity::Identity;
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;

fn object(name: usize) -> Origin {
    Origin::Object { kind: "QueueAcl", name: format!("object-{name}"), until: None }
}

/// Returns every right of this person on each queue that one of these trees may have.
fn rights(tree: &Tree, identity: &Identity) -> Vec<bool> {
    let queries = QUEUES.iter().flat_map(|queue| Right::ALL.map(|right| (*queue, right)));
    queries.map(|(queue, right)| decide(tree, right, queue, identity).allowed()).collect()
}

/// Checks that the parts of an ACL add up to the ACL.
fn is_attributed(grants: &Grants) -> Result<(), TestCaseError> {
    for entry in grants.acl.entries() {
        let origins = grants.origins(entry);
        prop_assert!(!origins.is_empty(), "{:?} of {:?} is written nowhere", entry, grants);
    }
    for (origin, part) in &grants.parts {
        prop_assert!(grants.acl.contains(part), "{} grants more than is in force: {:?}", origin, grants);
        prop_assert!(!part.is_nobody(), "{} grants nothing: {:?}", origin, grants);
    }
    prop_assert!(grants.parts.is_sorted_by(|left, right| left.0 < right.0), "{:?}", grants);
    Ok(())
}

proptest! {
    #[test]
    fn additional_grant_removes_nothing(
        queues in any_queues(), at in any::<prop::sample::Index>(), added in any_acl(), admin in any::<bool>(), identity in any_identity(),
    ) {
        let union = |acl: &str| acl::parse(acl).expect(acl).union(&acl::parse(added).expect(added)).canonical();
        let at = at.index(queues.len());
        let more: Vec<(&str, String, String)> = queues
            .iter()
            .enumerate()
            .map(|(index, (path, submit, own))| match (index == at, admin) {
                (true, true) => (*path, (*submit).to_owned(), union(own)),
                (true, false) => (*path, union(submit), (*own).to_owned()),
                _ => (*path, (*submit).to_owned(), (*own).to_owned()),
            })
            .collect();
        let more: Vec<Queue<'_>> =
            more.iter().map(|(path, submit, admin)| (*path, submit.as_str(), admin.as_str())).collect();
        let (before, after) = (rights(&tree(&queues), &identity), rights(&tree(&more), &identity));
        for (before, after) in before.iter().zip(&after) {
            prop_assert!(before <= after, "{:?}\n{:?}", queues, more);
        }
    }

    #[test]
    fn order_of_the_text_has_no_effect(
        (queues, shuffled) in any_queues().prop_flat_map(|queues| (Just(queues.clone()), Just(queues).prop_shuffle())),
        identity in any_identity(),
    ) {
        let [written, other] = [tree(&queues), tree(&shuffled)];
        prop_assert_eq!(rights(&written, &identity), rights(&other, &identity));
        for (queue, _, _) in &queues {
            for right in Right::ALL {
                let who = |tree: &Tree| -> Vec<String> {
                    who_can(tree, right, queue).grantees.iter().map(|who| format!("{:?}", who.subject)).collect()
                };
                prop_assert_eq!(who(&written), who(&other), "{:?} {}", right, queue);
            }
        }
    }

    #[test]
    fn every_grant_has_an_origin(
        tree in any_tree(),
        objects in proptest::collection::vec((prop::sample::select(QUEUES.to_vec()), any_acl(), any::<bool>()), 0..5)
            .prop_flat_map(|objects| {
                let numbered: Vec<_> = objects.into_iter().enumerate().collect();
                (Just(numbered.clone()), Just(numbered).prop_shuffle())
            }),
        identity in any_identity(),
    ) {
        let attributed = |objects: &[(usize, (&str, &str, bool))]| {
            let mut tree = tree.clone();
            for (number, (queue, granted, admin)) in objects {
                let right = if *admin { Right::Admin } else { Right::Submit };
                let (path, granted) = (QueuePath::parse(queue).expect(queue), acl::parse(granted).expect(granted));
                tree.attribute(&path, right, object(*number), &granted);
            }
            tree
        };
        let [one, other] = [attributed(&objects.0), attributed(&objects.1)];
        prop_assert!(one.queues().eq(other.queues()), "the order of the objects");
        prop_assert_eq!(rights(&one, &identity), rights(&tree, &identity), "attribution changes no decision");
        for (_, node) in one.queues() {
            for right in Right::ALL {
                is_attributed(node.grants(right))?;
            }
        }
        for (number, (queue, granted, admin)) in &objects.0 {
            let right = if *admin { Right::Admin } else { Right::Submit };
            let Some(node) = one.find(&QueuePath::parse(queue).expect(queue)).and_then(|id| one.node(id)) else { continue };
            let grants = node.grants(right);
            let granted: Acl = acl::parse(granted).expect(granted);
            for entry in granted.entries().filter(|entry| grants.acl.has(*entry)) {
                let origins = grants.origins(entry);
                prop_assert!(origins.contains(&object(*number)), "{:?} is also object {}'s: {:?}", entry, number, grants);
                let text = origins.iter().any(|origin| matches!(origin, Origin::Text(_)));
                prop_assert!(!text, "{:?} is an object's, not the text's: {:?}", entry, grants);
            }
        }
    }
}
