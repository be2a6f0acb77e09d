//! The end of a right. Grants add up, so a right ends with the last of the grants that give it.

use jiff::Timestamp;

use crate::reach::checked;
use crate::tree::{QueueId, Tree, latest};
use yunikorn::identity::Identity;
use yunikorn::right::Right;

/// Returns the end of a right: the latest end of all entries that grant it to the user, to a group of the
/// user or to everyone. `None` if one of them has no end, and if nothing grants it.
pub fn until(tree: &Tree, right: Right, id: QueueId, identity: &Identity) -> Option<Timestamp> {
    let acls =
        checked(tree, right, id).flat_map(|(_, node)| right.acls().iter().map(|acl| node.grants(*acl)));
    // Beside a wildcard the names are not in force, but they are again once it has ended.
    let parts = acls.flat_map(|grants| &grants.parts);
    let identity = tree.presented(identity);
    let granting = parts.filter(|(_, part)| part.allows(&identity.user, &identity.groups));
    latest(granting.map(|(origin, _)| origin.until()))
}

/// Returns a moment to the second, as in `2026-12-01T18:00:00Z`: Kubernetes keeps no fractions.
pub fn in_words(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap_or(at).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;
    use crate::tree::Origin;
    use crate::who_can::who_can;
    use yunikorn::acl;
    use yunikorn::queue::QueuePath;

    #[test]
    fn a_right_ends_with_the_last_grant_of_it() {
        let end =
            |day: i8| jiff::civil::date(2026, 11, day).to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp();
        let mut tree = tree(&[
            ("root", "", "kim,boss"),
            ("root.a", "ann,bob,cid,kim devs", ""),
            ("root.a.b", "*", "ann"),
            ("root.@recovery@", "", ""),
        ]);
        for (name, queue, right, acl, until) in [
            ("friday", "root.a", Right::Submit, "ann,bob,kim devs", Some(end(27))),
            ("saturday", "root.a", Right::Submit, "bob", Some(end(28))),
            ("open", "root.a.b", Right::Submit, "*", Some(end(26))),
            ("staying", "root.a.b", Right::Submit, "eve", None),
            ("sunday", "root.a.b", Right::Admin, "ann", Some(end(29))),
        ] {
            let object = Origin::Object { kind: "QueueAcl", name: name.to_owned(), until };
            tree.attribute(&QueuePath::parse(queue).unwrap(), right, object, &acl::parse(acl).unwrap());
        }
        let (submit, admin) = (Right::Submit, Right::Admin);
        for (right, queue, user, groups, expected) in [
            (submit, "root.a", "ann", vec![], Some(end(27))),
            // Two objects grant it.
            (submit, "root.a", "bob", vec![], Some(end(28))),
            // The text grants it.
            (submit, "root.a", "cid", vec![], None),
            // The right to administer at the root has no end.
            (submit, "root.a", "kim", vec![], None),
            (submit, "root.a", "zoe", vec!["devs"], Some(end(27))),
            (submit, "root.a", "bob", vec!["devs"], Some(end(28))),
            (submit, "root.a", "cid", vec!["devs"], None),
            // Nothing grants it.
            (submit, "root.a", "zoe", vec![], None),
            // By everyone alone, and by everyone and an earlier, a later and an endless grant.
            (submit, "root.a.b", "zoe", vec![], Some(end(26))),
            (submit, "root.a.b", "zoe", vec!["devs"], Some(end(27))),
            (submit, "root.a.b", "ann", vec![], Some(end(29))),
            (submit, "root.a.b", "eve", vec![], None),
            (admin, "root.a.b", "ann", vec![], Some(end(29))),
            (admin, "root.a.b", "boss", vec![], None),
            (submit, "root.@recovery@", "kim", vec![], None),
        ] {
            let identity =
                Identity { user: user.to_owned(), groups: groups.iter().map(ToString::to_string).collect() };
            let id = tree.find(&QueuePath::parse(queue).unwrap()).unwrap();
            assert_eq!(until(&tree, right, id, &identity), expected, "{right:?} {queue} {user} {groups:?}");
        }
        for (id, node) in tree.queues() {
            for right in Right::ALL {
                for grantee in who_can(&tree, right, node.path.as_str()).grantees {
                    let identity = grantee.subject.identity();
                    assert_eq!(grantee.until, until(&tree, right, id, &identity), "{node:?} {grantee:?}");
                }
            }
        }
    }
}
