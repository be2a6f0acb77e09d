mod over_time;

use std::fmt::Write as _;

use super::*;
use crate::decide::decide;
use crate::testing::{Queue, any_identity, any_tree, each_tree, tree};
use proptest::prelude::*;
use yunikorn::version::Version;

/// Formats each change in one line: `+ user sue submit: root.a +2 but root.a.x`.
fn reported(section: &Section) -> Vec<String> {
    let name = |subject: &Subject| match subject {
        Subject::Everyone => "everyone".to_owned(),
        Subject::User(user) => format!("user {user}"),
        Subject::Group(group) => format!("group {group}"),
    };
    let extent = |extent: &Extent| {
        let mut reported = extent.queue.to_string();
        if extent.below > 0 {
            write!(reported, " +{}", extent.below).unwrap();
        }
        if !extent.except.is_empty() {
            let except: Vec<&str> = extent.except.iter().map(QueuePath::as_str).collect();
            write!(reported, " but {}", except.join(" ")).unwrap();
        }
        reported
    };
    let line = |change: &Change| {
        let sign = if change.direction == Direction::Gains { '+' } else { '-' };
        let extents: Vec<String> = change.extents.iter().map(|reached| extent(&reached.extent)).collect();
        let mut reported =
            format!("{sign} {} {}: {}", name(&change.subject), change.right.verb(), extents.join(", "));
        for Unchanged { subject, subtrees, .. } in &change.unchanged {
            let extents: Vec<String> = subtrees.iter().map(extent).collect();
            write!(reported, "; not {} on {}", name(subject), extents.join(", ")).unwrap();
        }
        reported
    };
    section.changes.iter().map(line).collect()
}

#[test]
fn names_gain_and_lose_on_whole_subtrees() {
    let old = tree(&[
        ("root", "", ""),
        ("root.a", "sue,bob", ""),
        ("root.a.x", "zoe", ""),
        ("root.a.y", "", ""),
        ("root.b", "", " ops"),
    ]);
    let new = tree(&[
        ("root", "", "ann"),
        ("root.a", "sue,zoe", ""),
        ("root.a.x", "bob", ""),
        ("root.a.y", "", ""),
        ("root.b", " devs", ""),
    ]);
    assert_eq!(
        reported(&diff(&old, &new).kept),
        [
            "+ user ann submit: root +4",
            "+ user ann administer: root +4",
            "+ user zoe submit: root.a +1 but root.a.x",
            "+ group devs submit: root.b",
            "- user bob submit: root.a +1 but root.a.x",
            "- group ops submit: root.b",
            "- group ops administer: root.b",
        ]
    );
}

#[test]
fn change_of_everyone_is_reported_once_with_unchanged_names() {
    let open = tree(&[("root", "", ""), ("root.a", "*", ""), ("root.a.x", "bob", ""), ("root.a.y", "", "")]);
    let closed =
        tree(&[("root", "", ""), ("root.a", "sue", ""), ("root.a.x", "bob", ""), ("root.a.y", "*", "")]);
    assert_eq!(
        reported(&diff(&open, &closed).kept),
        ["- everyone submit: root.a +1 but root.a.y; not user bob on root.a.x; not user sue on root.a +1 \
             but root.a.y"]
    );
    assert_eq!(
        reported(&diff(&closed, &open).kept),
        ["+ everyone submit: root.a +1 but root.a.y; not user bob on root.a.x; not user sue on root.a +1 \
             but root.a.y"]
    );
}

#[test]
fn subject_with_another_granting_entry_has_no_change() {
    let cases: [(&[Queue<'_>], &[Queue<'_>]); 4] = [
        // The wildcard above.
        (&[("root", "*", ""), ("root.a", "sue", "")], &[("root", "*", ""), ("root.a", "bob", "")]),
        // The administrator.
        (&[("root", "sue", "sue"), ("root.a", "", "")], &[("root", "", "sue"), ("root.a", "", "")]),
        // The queue above.
        (&[("root", "sue", ""), ("root.a", "sue", "")], &[("root", "sue", ""), ("root.a", "", "")]),
        // Nothing above the recovery queue affects it.
        (
            &[("root", "*", ""), ("root.@recovery@", "sue", "")],
            &[("root", "*", ""), ("root.@recovery@", "", "")],
        ),
    ];
    for (old, new) in cases {
        assert!(diff(&tree(old), &tree(new)).is_empty(), "{old:?} {new:?}");
    }
}

#[test]
fn added_and_removed_queues_are_separate() {
    let old = tree(&[("root", "", ""), ("root.a", "sue", "")]);
    let new = tree(&[
        ("root", "", ""),
        ("root.a", "sue", ""),
        ("root.a.x", "", ""),
        ("root.a.y", "sue,bob", ""),
        ("root.b", "", " ops"),
        ("root.b.x", "*", ""),
    ]);
    let forth = diff(&old, &new);
    assert_eq!(reported(&forth.kept), [""; 0]);
    assert_eq!(
        reported(&forth.added),
        [
            "+ everyone submit: root.b.x",
            "+ user bob submit: root.a.y",
            "+ group ops submit: root.b +1",
            "+ group ops administer: root.b +1",
        ]
    );
    assert!(forth.widens() && !forth.is_empty());
    let back = diff(&new, &old);
    assert_eq!(reported(&back.removed).len(), 4);
    assert!(!back.widens() && back.removed.changes.iter().all(|change| change.direction == Direction::Loses));

    // A queue that only inherits is not a gain.
    let inherits = diff(&old, &tree(&[("root", "", ""), ("root.a", "sue", ""), ("root.a.x", "", "")]));
    assert!(!inherits.widens() && !inherits.is_empty());
}

#[test]
fn leaf_that_becomes_a_parent_is_reported() {
    let old = tree(&[("root", "sue", ""), ("root.a", "", ""), ("root.b", "", "")]);
    let new = tree(&[("root", "sue", ""), ("root.a", "", ""), ("root.a.x", "", ""), ("root.b", "", "")]);
    let turned = diff(&old, &new);
    assert_eq!(turned.now_parents, [QueuePath::parse("root.a").unwrap()]);
    assert!(turned.now_leaves.is_empty() && !turned.widens());
}

#[test]
fn added_or_removed_partition_is_reported_completely() {
    let one = tree(&[("root", "sue", ""), ("root.a", "bob", "")]);
    let added = between(&[], std::slice::from_ref(&one));
    assert_eq!(added.len(), 1);
    assert_eq!(added[0].presence, Presence::Added);
    assert_eq!(reported(&added[0].diff.added), ["+ user bob submit: root.a", "+ user sue submit: root +1"]);
    let removed = between(std::slice::from_ref(&one), &[]);
    assert_eq!(removed[0].presence, Presence::Removed);
    assert_eq!(removed[0].diff, mirrored(&added[0].diff));
    assert!(between(std::slice::from_ref(&one), std::slice::from_ref(&one)).is_empty());
}

#[test]
fn different_placement_rules_are_reported() {
    let with = |rules: &str, before: &str| {
        let text = format!(
            "{before}partitions:\n- name: default\n  placementrules: {rules}\n  queues: [{{name: root, \
             queues: [{{name: a, parent: true}}, {{name: b, parent: true}}]}}]\n"
        );
        crate::testing::parsed(&text)
    };
    let rules = "[{name: user, create: true, parent: {name: fixed, value: a}, filter: {type: allow, users: \
        [sue, bob]}}]";
    let old = with(rules, "");
    assert!(between(std::slice::from_ref(&old), &[with(rules, "# moved\n")]).is_empty());
    for other in [
        "[]",
        &rules.replace("create: true", "create: false"),
        &rules.replace("value: a", "value: b"),
        &rules.replace("allow", "deny"),
        &rules.replace("sue, bob", "sue"),
        &rules.replace("name: user", "name: provided"),
        &rules.replace("parent: {name: fixed, value: a}, ", ""),
    ] {
        let found = between(std::slice::from_ref(&old), &[with(other, "")]);
        assert!(found.len() == 1 && found[0].placement_differs && found[0].diff.is_empty(), "{other}");
    }
}

#[test]
fn entry_that_causes_the_change_is_reported() {
    let old = tree(&[("root", "", ""), ("root.a", "", "sue")]);
    let new = tree(&[("root", "", ""), ("root.a", "", "")]);
    let diff = diff(&old, &new);
    let by: Vec<_> =
        diff.kept.changes.iter().map(|change| (change.right, change.extents[0].by.acl)).collect();
    assert_eq!(by, [(Right::Submit, Right::Admin), (Right::Admin, Right::Admin)]);
    assert_eq!(diff.kept.changes[0].extents[0].by.origins.len(), 1);
}

/// Returns the line about the difference between two trees.
fn in_one_line(old: &[Queue<'_>], new: &[Queue<'_>]) -> String {
    impact(&between(&[tree(old)], &[tree(new)]), Direction::Gains)
}

#[test]
fn line_has_the_number_of_added_and_removed_queues() {
    let few = [("root", "", ""), ("root.a", "sue", "")];
    let more = [("root", "", ""), ("root.a", "sue", ""), ("root.a.x", "", ""), ("root.b", "", "")];
    assert_eq!(in_one_line(&few, &few), "nobody gains or loses access");
    assert_eq!(in_one_line(&few, &more), "nobody gains or loses access; 2 queues new");
    assert_eq!(in_one_line(&more, &few), "nobody gains or loses access; 2 queues gone");
    assert_eq!(in_one_line(&more[..3], &more), "nobody gains or loses access; 1 queue new");
}

#[test]
fn line_has_the_grants_of_added_and_removed_queues() {
    let few = [("root", "", ""), ("root.a", "sue", "")];
    let more = [("root", "", ""), ("root.a", "sue", ""), ("root.a.x", "bob", ""), ("root.b", "*", " ops")];
    assert_eq!(
        in_one_line(&few, &more),
        "grants submit on root.a.x to user bob; grants admin on root.b to group ops; \
         grants submit on root.b to everyone; nobody loses access; 2 queues new"
    );
    assert_eq!(
        in_one_line(&more[..3], &few),
        "takes submit on root.a.x from user bob; nobody gains access; 1 queue gone"
    );
    assert_eq!(
        impact(&between(&[], &[tree(&few)]), Direction::Gains),
        "grants submit on root.a to user sue; nobody loses access; 2 queues new"
    );
}

#[test]
fn line_names_partitions_other_than_the_default() {
    let trees = |default: &str, gpu: &str| -> Vec<Tree> {
        let text = format!(
            "partitions: [{{name: default, queues: [{{name: root, queues: [{{name: a, submitacl: \
             '{default}'}}]}}]}}, {{name: gpu, queues: [{{name: root, queues: [{{name: b, submitacl: \
             '{gpu}'}}]}}]}}]"
        );
        let config = yunikorn::config::verdict(&text, &[], Version::V1_8).config.expect(&text);
        config.partitions.iter().map(|partition| Tree::new(partition).expect("active")).collect()
    };
    assert_eq!(
        impact(&between(&trees("ann", "bob"), &trees("ann,sue", " ")), Direction::Gains),
        "grants submit on root.a of partition default to user sue; takes submit on root.b of partition gpu \
         from user bob"
    );
    assert_eq!(
        impact(&between(&trees("ann", "bob"), &trees("ann", "bob,sue")), Direction::Gains),
        "grants submit on root.b of partition gpu to user sue; nobody loses access"
    );
    assert_eq!(
        impact(&between(&trees("ann", "bob"), &trees("ann", "bob")[..1]), Direction::Gains),
        "takes submit on root.b of partition gpu from user bob; nobody gains access; 2 queues gone in \
         partition gpu"
    );
}

#[test]
fn line_counts_further_changes() {
    let names: Vec<String> = (0..8).map(|number| format!("u{number}")).collect();
    let paths: Vec<String> = (0..8).map(|number| format!("root.q{number}")).collect();
    // Each path with the ACL of its number.
    let with = |acl: &dyn Fn(usize) -> String| -> String {
        let acls: Vec<String> = (0..8).map(acl).collect();
        let queues = paths.iter().zip(&acls).map(|(path, acl)| (path.as_str(), acl.as_str(), ""));
        let new: Vec<Queue<'_>> = std::iter::once(("root", "", "")).chain(queues).collect();
        let old: Vec<Queue<'_>> = new.iter().map(|(path, _, _)| (*path, "", "")).collect();
        in_one_line(&old, &new)
    };
    let only_first = |number: usize, acl: String| if number == 0 { acl } else { String::new() };
    assert_eq!(
        with(&|number| only_first(number, names[..6].join(","))),
        "grants submit on root.q0 to user u0, user u1, user u2, user u3, user u4, user u5; nobody loses \
         access"
    );
    assert_eq!(
        with(&|number| only_first(number, names.join(","))),
        "grants submit on root.q0 to user u0, user u1, user u2, user u3, user u4, user u5 and 2 more; nobody \
         loses access"
    );
    assert_eq!(
        with(&|_| "sue".to_owned()),
        "grants submit on root.q0, root.q1, root.q2, root.q3, root.q4, root.q5, and 2 more subtrees to user \
         sue; nobody loses access"
    );
    assert_eq!(
        with(&|number| if number < 7 { "sue".to_owned() } else { String::new() }),
        "grants submit on root.q0, root.q1, root.q2, root.q3, root.q4, root.q5, and 1 more subtree to user \
         sue; nobody loses access"
    );
    let one_more = with(&|number| if number < 7 { names[number].clone() } else { String::new() });
    assert!(one_more.ends_with("; and 1 more change; nobody loses access"), "{one_more}");
    let apart = with(&|number| names[number].clone());
    assert!(apart.starts_with("grants submit on root.q0 to user u0; grants submit on root.q1"), "{apart}");
    assert!(
        apart.ends_with("grants submit on root.q5 to user u5; and 2 more changes; nobody loses access"),
        "{apart}"
    );
}

/// Returns the expected difference in the other direction.
fn mirrored(diff: &Diff) -> Diff {
    let section = |section: &Section| {
        let mut section = section.clone();
        for change in &mut section.changes {
            change.direction = match change.direction {
                Direction::Gains => Direction::Loses,
                Direction::Loses => Direction::Gains,
            };
            let Periods { before, after } = change.periods;
            change.periods = Periods { before: after, after: before };
            let gained = change.periods.after.filter(|_| change.direction == Direction::Gains);
            let until = gained.and_then(|after| after.until);
            change.extents.iter_mut().for_each(|reached| reached.until = until);
        }
        section.changes.sort_by(|left, right| left.order().cmp(&right.order()));
        section
    };
    Diff {
        kept: section(&diff.kept),
        added: section(&diff.removed),
        removed: section(&diff.added),
        now_parents: diff.now_leaves.clone(),
        now_leaves: diff.now_parents.clone(),
    }
}

/// Returns the changes for one user.
fn diff_of(old: &Tree, new: &Tree, who: &Identity) -> Diff {
    diff_for(&Course { times: Vec::new(), old: vec![old], new: vec![new] }, Some(who))
}

/// Returns the subjects in random trees, and another subject.
fn subjects() -> Vec<Subject> {
    let names = ["u", "v", "g", "h", "w"].map(str::to_owned);
    let both = names.iter().flat_map(|name| [Subject::User(name.clone()), Subject::Group(name.clone())]);
    both.chain([Subject::Everyone]).collect()
}

type Decisions = BTreeMap<(QueuePath, Right, Subject), bool>;

/// Returns the decision for each queue, right and subject.
fn decisions(tree: &Tree) -> Decisions {
    let queues = tree.queues().flat_map(|(_, node)| Right::ALL.map(|right| (node.path.clone(), right)));
    let query =
        queues.flat_map(|(queue, right)| subjects().into_iter().map(move |who| (queue.clone(), right, who)));
    query
        .map(|query| {
            let allowed = decide(tree, query.1, query.0.as_str(), &query.2.identity()).allowed();
            (query, allowed)
        })
        .collect()
}

/// Returns the number of a queue.
fn find(queues: &Shape, path: &QueuePath) -> Option<u32> {
    queues.all().iter().find(|number| queues.path(*number) == Some(path))
}

/// Returns the change for one subject on a queue that both trees have, or `None` if nothing changes or there
/// is no such queue.
fn direction(diff: &Diff, right: Right, queue: &QueuePath, subject: &Subject) -> Option<Direction> {
    let queue = find(&diff.kept.queues, queue)?;
    let here = |change: &&Change| {
        change.right == right
            && change.queues.contains(queue)
            && (change.subject == *subject || change.subject == Subject::Everyone)
            && !change.unchanged.iter().any(|same| same.subject == *subject && same.queues.contains(queue))
    };
    diff.kept.changes.iter().find(here).map(|change| change.direction)
}

/// Checks that the difference agrees with the decisions on both trees, for each subject on each queue.
fn holds(old: (&Tree, &Decisions), new: (&Tree, &Decisions)) -> Result<(), String> {
    let diff = diff(old.0, new.0);
    for (query, before) in old.1 {
        let Some(after) = new.1.get(query) else { continue };
        let expected = match (before, after) {
            (false, true) => Some(Direction::Gains),
            (true, false) => Some(Direction::Loses),
            _ => None,
        };
        if direction(&diff, query.1, &query.0, &query.2) != expected {
            return Err(format!("{expected:?} {query:?}\n{old:?}\n{new:?}\n{diff:?}"));
        }
    }
    Ok(())
}

#[test]
fn difference_equals_that_of_the_decisions_on_small_trees() {
    let mut trees = Vec::new();
    each_tree(&["root", "root.a"], |tree| trees.push((tree.clone(), decisions(tree))));
    for (old, before) in &trees {
        for (new, after) in &trees {
            holds((old, before), (new, after)).unwrap();
        }
    }
}

proptest! {
    #[test]
    fn difference_equals_that_of_the_decisions_on_random_trees(old in any_tree(), new in any_tree()) {
        holds((&old, &decisions(&old)), (&new, &decisions(&new))).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn difference_is_empty_to_itself_and_mirrored_backwards(old in any_tree(), new in any_tree()) {
        prop_assert!(diff(&old, &old).is_empty());
        let (forth, back) = (diff(&old, &new), diff(&new, &old));
        prop_assert_eq!(mirrored(&forth), back);
    }

    #[test]
    fn extents_cover_the_set_with_an_entry_at_each_top(old in any_tree(), new in any_tree()) {
        let diff = diff(&old, &new);
        for (section, gained, lost) in
            [(&diff.kept, &new, &old), (&diff.added, &new, &old), (&diff.removed, &new, &old)]
        {
            for change in &section.changes {
                let tree = if change.direction == Direction::Gains { gained } else { lost };
                let mut listed = 0;
                for Reached { extent, by: GrantedBy { acl, origins, .. }, .. } in &change.extents {
                    listed += 1 + extent.below;
                    let node = tree.node(tree.find(&extent.queue).unwrap()).unwrap();
                    prop_assert!(node.grants(*acl).acl.has(change.subject.entry()), "{:?}", change);
                    prop_assert!(!origins.is_empty());
                    prop_assert!(change.queues.contains(find(&section.queues, &extent.queue).unwrap()));
                    for except in &extent.except {
                        prop_assert!(extent.queue.is_ancestor_of(except));
                        prop_assert!(!change.queues.contains(find(&section.queues, except).unwrap()));
                    }
                }
                prop_assert_eq!(listed, change.queues.len(), "{:?}", change);
            }
        }
    }

    #[test]
    fn difference_for_one_user_equals_that_of_the_decisions(
        old in any_tree(), new in any_tree(), who in any_identity(),
    ) {
        let Diff { kept, added, removed, .. } = diff_of(&old, &new, &who);
        let may = |tree: &Tree, path: &QueuePath, right| decide(tree, right, path.as_str(), &who).allowed();
        for (queue, right) in kept.queues.all().iter().flat_map(|queue| Right::ALL.map(|right| (queue, right))) {
            let path = kept.queues.path(queue).unwrap();
            let expected = match (may(&old, path, right), may(&new, path, right)) {
                (false, true) => vec![Direction::Gains],
                (true, false) => vec![Direction::Loses],
                _ => vec![],
            };
            let here = |change: &&Change| change.right == right && change.queues.contains(queue);
            let found: Vec<_> = kept.changes.iter().filter(here).map(|change| change.direction).collect();
            prop_assert_eq!(found, expected, "{} {:?}", path, right);
        }
        for change in [&kept, &added, &removed].into_iter().flat_map(|section| &section.changes) {
            prop_assert!(change.extents.iter().all(|reached| !reached.by.origins.is_empty()), "{:?}", change);
        }
        for (section, tree) in [(&added, &new), (&removed, &old)] {
            for path in section.queues.paths(&section.queues.all()) {
                prop_assert!(Right::ALL.into_iter().any(|right| may(tree, path, right)), "{}", path);
            }
        }
        for (path, right) in unmoved(&old, &new, &who) {
            prop_assert_eq!(may(&old, path, right), may(&new, path, right));
        }
    }
}

#[test]
fn entries_of_one_user_are_equivalent() {
    let old =
        tree(&[("root", "", " ops"), ("root.a", " devs", ""), ("root.b", "", ""), ("root.c", "sue", "")]);
    let new = tree(&[
        ("root", "", " ops"),
        ("root.a", "bob", ""),
        ("root.b", " devs", ""),
        ("root.c", "", ""),
        ("root.c.d", "bob", ""),
        ("root.c.e", "sue", ""),
    ]);
    let who = |user: &str, group: &str| Identity { user: user.to_owned(), groups: vec![group.to_owned()] };
    let of = |who: &Identity| {
        let diff = diff_of(&old, &new, who);
        let unmoved: Vec<String> =
            unmoved(&old, &new, who).map(|(path, right)| format!("{path} {}", right.verb())).collect();
        (reported(&diff.kept), reported(&diff.added), diff.now_parents.len(), unmoved)
    };
    // The group's entry becomes the user's: no change for the user, although it is a change of the user's
    // entries.
    let gains = ["+ user bob submit: root.b".to_owned()];
    let added = ["+ user bob submit: root.c.d".to_owned()];
    assert_eq!(of(&who("bob", "devs")), (gains.into(), added.into(), 0, vec!["root.a submit".to_owned()]));
    let lost = ["- user sue submit: root.c".to_owned()];
    let own = ["+ user sue submit: root.c.e".to_owned()];
    assert_eq!(of(&who("sue", "qa")), (lost.into(), own.into(), 1, vec![]));
    let still = vec!["root.b submit".to_owned()];
    assert_eq!(of(&who("zoe", "ops")), (vec![], vec![], 1, vec![]));
    let ops = Identity { user: "zoe".to_owned(), groups: vec!["ops".to_owned(), "devs".to_owned()] };
    assert_eq!(of(&ops).3, [&["root.a submit".to_owned()][..], &still].concat());
}
