use super::*;
use crate::access::check::decide;
use crate::access::reach::asked;
use crate::access::testing::{QUEUES, any_identity, any_tree, each_tree, parsed, people, tree};
use crate::access::tree::Node;
use crate::model::identity::Identity;
use proptest::prelude::*;
use serde_json::Value;

/// That the index tells what the walk tells.
fn agree(index: &Index, tree: &Tree, queue: &str, identity: &Identity) {
    assert_eq!(index.locate(queue), tree.locate(queue), "{queue:?}\n{tree:?}");
    let Identity { user, groups } = identity;
    for right in Right::ALL {
        let decision = decide(tree, right, queue, identity);
        let told = index.allows(right, queue, user, groups);
        assert_eq!(told, decision.allowed(), "{right:?} {queue} {identity:?}\n{tree:?}");
        let holder = index.holder(user, groups);
        let held = decision.located.decides().is_some_and(|id| holder.holds(right, id));
        assert_eq!(held, told, "{right:?} {queue} {identity:?}\n{tree:?}");
    }
}

#[test]
fn on_every_small_tree_the_index_decides_as_the_walk() {
    let shapes = [
        ["root", "root.a", "root.a.b"],
        ["root", "root.a", "root.b"],
        ["root", "root.@recovery@", "root.@recovery@.a"],
    ];
    for queues in shapes {
        each_tree(&queues, |tree| {
            let index = Index::of(tree);
            for identity in people() {
                for queue in [queues[0], queues[1], queues[2], "ROOT.A.new", "other"] {
                    agree(&index, tree, queue, &identity);
                }
            }
        });
    }
}

/// `tests/vectors/yunikorn-access.jsonl`: what yunikorn-core v1.8.0 answered about drawn trees.
#[test]
fn everything_yunikorn_answered_is_answered_alike() {
    let mut asked = 0;
    for line in include_str!("../../../tests/vectors/yunikorn-access.jsonl").lines() {
        let vector: Value = serde_json::from_str(line).expect(line);
        let tree = parsed(vector["yaml"].as_str().expect("a text"));
        let index = Index::of(&tree);
        for row in vector["rows"].as_array().expect("rows") {
            asked += 1;
            let queue = row["queue"].as_str().expect("a path");
            let identity = Identity {
                user: row["user"].as_str().expect("a user").to_owned(),
                groups: serde_json::from_value(row["groups"].clone()).expect("groups"),
            };
            agree(&index, &tree, queue, &identity);
            let located = index.locate(queue);
            let nearest = located.decides().and_then(|id| tree.node(id));
            assert_eq!(nearest.map_or("", |node| node.path.as_str()), row["nearest"], "{row}");
            let may = |right| index.allows(right, queue, &identity.user, &identity.groups);
            let is = [
                ("exact", matches!(located, Located::Queue(_))),
                ("leaf", nearest.is_some_and(|node| node.is_leaf)),
                ("submit", may(Right::Submit)),
                ("admin", may(Right::Admin)),
            ];
            let is: Vec<&str> = is.into_iter().filter(|(_, so)| *so).map(|(what, _)| what).collect();
            assert_eq!(serde_json::json!(is), row["is"], "{row}");
        }
    }
    assert!(asked > 400, "{asked} rows");
}

#[test]
fn odd_paths_lead_where_yunikorn_finds_them() {
    let queues = [("root", "", ""), ("root.kit", "u", ""), ("root.kit.iki", "v", ""), ("root.a", "", "")];
    let tree = tree(&queues);
    let index = Index::of(&tree);
    let at = |path: &str| match index.locate(path) {
        Located::Queue(id) => tree.node(id).map(|node| node.path.to_string()),
        Located::Below(id) => tree.node(id).map(|node| format!("below {}", node.path)),
        Located::Nowhere => None,
    };
    let long = format!("root.kit.{}", "x.".repeat(1_000_000));
    let cases = [
        ("root", Some("root")),
        ("ROOT", Some("root")),
        ("root.", Some("below root")),
        ("root..kit", Some("below root")),
        ("root.kit.", Some("below root.kit")),
        ("root.kit..iki", Some("below root.kit")),
        ("Root.KIT.Iki", Some("root.kit.iki")),
        ("root.\u{212a}\u{130}t", Some("root.kit")),
        ("root.\u{212a}it.\u{130}ki.x", Some("below root.kit.iki")),
        ("root.kit.\u{e9}", Some("below root.kit")),
        ("root.kit .iki", Some("below root")),
        ("root.kitt", Some("below root")),
        (&long, Some("below root.kit")),
        ("", None),
        (".", None),
        (".root", None),
        (" root", None),
        ("rootx", None),
        ("roo", None),
        ("kit.iki", None),
    ];
    for (path, expected) in cases {
        assert_eq!(at(path).as_deref(), expected, "{path:.40}");
        assert_eq!(index.locate(path), tree.locate(path), "{path:.40}");
    }
}

#[test]
fn long_paths_that_end_alike_are_told_apart() {
    let path = |number: usize| format!("root.{number:03}-and-the-same-for-all");
    let paths: Vec<String> = (0..200).map(path).collect();
    let queues = paths.iter().map(|path| (path.as_str(), "", ""));
    let tree = tree(&std::iter::once(("root", "", "")).chain(queues).collect::<Vec<_>>());
    let index = Index::of(&tree);
    for number in 0..400 {
        for path in [path(number), path(number).to_uppercase()] {
            let expected = match u32::try_from(number + 1) {
                Ok(queue) if number < 200 => Located::Queue(QueueId::new(queue)),
                _ => Located::Below(QueueId::ROOT),
            };
            assert_eq!((index.locate(&path), tree.locate(&path)), (expected, expected), "{path}");
        }
    }
}

proptest! {
    #[test]
    fn on_random_trees_the_index_decides_as_the_walk(
        tree in any_tree(), people in proptest::collection::vec(any_identity(), 4),
        new in "(?i:root)?[.abxAB@\u{212a}]{0,8}",
    ) {
        let index = Index::of(&tree);
        for identity in people {
            for queue in QUEUES.into_iter().chain([new.as_str()]) {
                agree(&index, &tree, queue, &identity);
            }
        }
    }

    #[test]
    fn each_holder_holds_what_its_name_alone_grants(tree in any_tree()) {
        let index = Index::of(&tree);
        for right in Right::ALL {
            for (entry, queues) in index.holders(right) {
                prop_assert_eq!(index.reach(right, entry), Some(queues));
                for (id, _) in tree.queues() {
                    let grants = |node: &Node| {
                        implied_by(right).iter().any(|acl| node.grants(*acl).acl.has(entry))
                    };
                    let granted = asked(&tree, right, id).any(|(_, node)| grants(node));
                    prop_assert_eq!(queues.contains(id.number()), granted, "{:?} {:?}", entry, id);
                }
            }
        }
    }
}
