//! Decides who may ask about whose access.
//!
//! Everyone may ask about themselves. An administrator of the queue may ask about others, as in YARN, where
//! `GET /ws/v1/cluster/queues/{queue}/access` requires `ADMINISTER_QUEUE` for questions about another user
//! (`RMWebServices`, `checkUserAccessToQueue`). So may users whom Kubernetes lets create
//! `subjectaccessreviews`, which is not known here.

use crate::decide::decide;
use crate::tree::Tree;
use yunikorn::identity::Identity;
use yunikorn::right::Right;

/// Returns whether somebody administers a queue. A path that leads to no queue has no administrator.
pub fn administers(tree: Option<&Tree>, who: &Identity, queue: &str) -> bool {
    tree.is_some_and(|tree| decide(tree, Right::Admin, queue, who).allowed())
}

/// Returns whether users ask about themselves. With an added group the question is what a member of it could
/// do. Without any groups `YuniKorn` resolves them, and nothing is made up.
pub fn is_self(asker: &Identity, about: &Identity) -> bool {
    asker.user == about.user && about.groups.iter().all(|group| asker.groups.contains(group))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    fn person(user: &str, groups: &[&str]) -> Identity {
        Identity { user: user.to_owned(), groups: groups.iter().map(ToString::to_string).collect() }
    }

    fn may_ask(tree: Option<&Tree>, asker: &Identity, about: &Identity, queue: &str) -> bool {
        is_self(asker, about) || administers(tree, asker, queue)
    }

    #[test]
    fn about_others_only_administrators_may_ask() {
        let tree = tree(&[("root", "*", ""), ("root.prod", "", "sue ops"), ("root.prod.etl", "", "bob")]);
        let cases = [
            (person("ann", &["devs", "qa"]), person("ann", &["devs"]), "root", true),
            (person("ann", &["devs"]), person("ann", &[]), "root", true),
            (person("ann", &["devs"]), person("ann", &["ops"]), "root", false),
            (person("ann", &["devs"]), person("Ann", &[]), "root", false),
            (person("ann", &["devs"]), person("bob", &[]), "root.prod", false),
            (person("sue", &[]), person("bob", &[]), "root.prod", true),
            (person("sue", &[]), person("bob", &["x"]), "root.prod.etl", true),
            (person("sue", &[]), person("bob", &[]), "root", false),
            (person("bob", &[]), person("sue", &[]), "root.prod", false),
            (person("eve", &["ops"]), person("sue", &["x"]), "ROOT.Prod.new", true),
            (person("sue", &[]), person("bob", &[]), "prod", false),
            (person("sue", &[]), person("bob", &[]), "", false),
        ];
        for (asker, about, queue, expected) in cases {
            assert_eq!(may_ask(Some(&tree), &asker, &about, queue), expected, "{asker:?} {about:?} {queue}");
        }
        assert!(!may_ask(None, &person("sue", &[]), &person("bob", &[]), "root.prod"));
        assert!(may_ask(None, &person("sue", &[]), &person("sue", &[]), "root.prod"));
    }
}
