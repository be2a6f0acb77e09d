use std::collections::BTreeSet;

use super::*;
use crate::alias::{Aliased, Kind, alias};
use crate::testing::{Queue, any_tree, each_tree, parsed, text, tree};
use crate::tree::GrantingEntry;
use go_compat::go_regex::GoRegex;
use names::Population;
use proptest::prelude::*;
use yunikorn::acl;

fn path(tree: &Tree, finding: &Finding) -> String {
    tree.node(finding.queue.expect("a queue")).expect("of the tree").path.to_string()
}

/// Returns the findings as `code queue acl`, with the messages.
fn reported<'f>(tree: &Tree, findings: &'f [Finding]) -> Vec<(String, &'f str)> {
    let location = |finding: &Finding| {
        let right = finding.right.map_or("queue", Right::key);
        format!("{} {} {right}", finding.diagnostic.code.number, path(tree, finding))
    };
    findings.iter().map(|finding| (location(finding), finding.diagnostic.message.as_str())).collect()
}

fn nothing_known(tree: &Tree) -> Vec<Finding> {
    lint(tree, &Known::default())
}

/// Checks that there are exactly these findings.
fn finds(queues: &[Queue<'_>], expected: &[(&str, &str)]) {
    let tree = tree(queues);
    let findings = nothing_known(&tree);
    let reported = reported(&tree, &findings);
    let reported: Vec<(&str, &str)> =
        reported.iter().map(|(location, message)| (location.as_str(), *message)).collect();
    assert_eq!(reported, expected, "{queues:?}");
}

#[test]
fn alias_in_a_text_is_reported_and_in_an_object_shown_as_its_name() {
    let spark = alias(Kind::User, "system:serviceaccount:spark:driver");
    let submit = format!("sue devs,{spark}");
    let mut tree = tree(&[("root", "", "boss"), ("root.prod", &submit, "")]);
    let known = Known {
        users: Some(Population { names: ["sue", "boss"].map(str::to_owned).into(), patterns: Vec::new() }),
        groups: Some(Population { names: ["devs".to_owned()].into(), patterns: Vec::new() }),
    };
    let numbers = |tree: &Tree| -> Vec<(u16, bool)> {
        let about = |finding: &Finding| finding.diagnostic.message.contains(&spark);
        lint(tree, &known).iter().map(|finding| (finding.diagnostic.code.number, about(finding))).collect()
    };
    assert_eq!(numbers(&tree), [(6501, true)]);
    let mut aliased = Aliased::default();
    aliased.add(&["system:serviceaccount:spark:driver".to_owned()], &[]);
    tree.name_aliases(aliased.into());
    // The account is not a known user.
    assert_eq!(numbers(&tree), [(7210, false)]);
}

#[test]
fn alias_granted_above_is_shown_as_its_name() {
    let name = "system:serviceaccount:spark:driver";
    let submit = format!("sue {}", alias(Kind::User, name));
    let mut tree = tree(&[("root", &submit, ""), ("root.prod", &submit, "")]);
    let mut aliased = Aliased::default();
    aliased.add(&[name.to_owned()], &[]);
    tree.name_aliases(aliased.into());
    let findings = nothing_known(&tree);
    let found = findings.iter().find(|finding| finding.diagnostic.code == codes::GRANTED_ABOVE).unwrap();
    let message = &found.diagnostic.message;
    assert!(message.contains(name) && !message.contains("qw-"), "{message}");
}

#[test]
fn wildcard_above_makes_an_acl_redundant() {
    finds(
        &[("root", "*", ""), ("root.a", "sue", " devs"), ("root.a.x", " ", "")],
        &[
            (
                "7201 root submitacl",
                "everyone may submit everywhere because of the `*` of the root; one ACL below it has no effect",
            ),
            (
                "7202 root.a submitacl",
                "`submitacl` of `root.a` has no effect: everyone may submit because of the `*` in `submitacl` of \
                 `root`",
            ),
            (
                "7205 root.a adminacl",
                "in YuniKorn `adminacl` of `root.a` adds nothing: they may already submit, group `devs` through \
                 the `*` in `submitacl` of `root`",
            ),
            (
                "7204 root.a.x submitacl",
                "`submitacl` of `root.a.x` has no names but does not close the queue: others may submit because of \
                 `submitacl` of `root.a`",
            ),
        ],
    );
    finds(
        &[("root", " ", ""), ("root.a", "sue", "*")],
        &[(
            "7202 root.a submitacl",
            "`submitacl` of `root.a` has no effect: everyone may submit because of the `*` in `adminacl` of \
             `root.a`",
        )],
    );
    finds(&[("root", " ", ""), ("root.a", "*", "")], &[]);
}

#[test]
fn wildcard_at_the_root_is_reported_with_acls_without_effect() {
    let everyone = "everyone may submit everywhere because of the `*` of the root";
    finds(&[("root", "*", ""), ("root.a", "", ""), ("root.b", "", "")], &[("7201 root submitacl", everyone)]);
    finds(
        &[("root", "*", ""), ("root.a", "sue", ""), ("root.b", "", "")],
        &[
            ("7201 root submitacl", &format!("{everyone}; one ACL below it has no effect")),
            (
                "7202 root.a submitacl",
                "`submitacl` of `root.a` has no effect: everyone may submit because of the `*` in `submitacl` of \
                 `root`",
            ),
        ],
    );
}

#[test]
fn wildcard_at_the_root_is_reported_without_effective_acls() {
    let reported = |queues: &[Queue<'_>]| {
        let mut found = nothing_known(&tree(queues)).into_iter();
        let found = found.find(|finding| finding.diagnostic.code == codes::ROOT_EVERYONE);
        found.map(|finding| finding.diagnostic.message).expect("a wildcard at the root")
    };
    let submit = "everyone may submit everywhere because of the `*` of the root";
    let administer = "everyone may administer everywhere because of the `*` of the root";
    // The right to submit does not include administering.
    assert_eq!(reported(&[("root", "*", ""), ("root.a", "", "ann"), ("root.b", "", "bob")]), submit);
    // Grants above the recovery queue do not reach the queues below it.
    assert_eq!(
        reported(&[("root", "*", ""), ("root.@recovery@", "", ""), ("root.@recovery@.a", "sue", "")]),
        submit
    );
    assert_eq!(
        reported(&[("root", "", "*"), ("root.a", "sue", "ann")]),
        format!("{administer}; 2 ACLs below it have no effect")
    );
}

#[test]
fn help_depends_on_the_queue_of_the_wildcard() {
    let help = |queues: &[Queue<'_>]| {
        let findings = nothing_known(&tree(queues));
        let about = findings.iter().find(|finding| finding.diagnostic.code == codes::EVERYONE_ABOVE);
        about.and_then(|finding| finding.diagnostic.help.clone())
    };
    assert_eq!(
        help(&[("root", " ", ""), ("root.a", "sue", "*")]).as_deref(),
        Some("remove one of them; administrators may submit")
    );
    assert_eq!(
        help(&[("root", "*", ""), ("root.a", "sue", "")]).as_deref(),
        Some("an ACL cannot remove access granted by a queue above; remove the `*` there, or the ACL here")
    );
}

#[test]
fn object_with_the_wildcard_is_reported() {
    let mut tree = tree(&[("root", "*", ""), ("root.a", "", "")]);
    let object = Origin::Object { kind: "QueueAcl", name: "sue".to_owned(), until: None };
    tree.attribute(&QueuePath::root(), Right::Submit, object, &acl::parse("sue").unwrap());
    let findings = nothing_known(&tree);
    let origins: Vec<_> =
        findings.iter().map(|finding| (finding.diagnostic.code, finding.origin.clone())).collect();
    assert!(matches!(origins[..], [(codes::ROOT_EVERYONE, Some(Origin::Text(_)))]), "{origins:?}");
}

#[test]
fn names_granted_above_add_nothing() {
    finds(
        &[
            ("root", " ", " ops"),
            ("root.a", "sue,bob devs", "bob,al"),
            ("root.a.x", "zoe,sue devs,ops", ""),
            ("root.a.y", "bob", ""),
        ],
        &[
            (
                "7205 root.a adminacl",
                "in YuniKorn `adminacl` of `root.a` adds nothing for some: they may already submit, user \
                 `bob` through `submitacl` of `root.a`",
            ),
            (
                "7203 root.a.x submitacl",
                "`submitacl` of `root.a.x` adds nothing for some: queues above already let them submit, \
                 group `ops` through `adminacl` of `root`; user `sue` and group `devs` through `submitacl` of `root.a`",
            ),
            (
                "7203 root.a.y submitacl",
                "`submitacl` of `root.a.y` adds nothing: queues above already let them submit, user `bob` through `submitacl` of `root.a`",
            ),
        ],
    );
}

#[test]
fn findings_have_the_location_of_the_entry() {
    let queues = [("root", "sue", ""), ("root.a", "sue,bob", "")];
    let text = text(&queues);
    let findings = nothing_known(&tree(&queues));
    let span = findings[0].diagnostic.span.expect("a span");
    assert_eq!(text.get(span.start..span.end), Some("\"sue,bob\""));

    let mut tree = tree(&queues);
    let object = Origin::Object { kind: "QueueAcl", name: "a".to_owned(), until: None };
    let path = QueuePath::parse("root.a").unwrap();
    tree.attribute(&path, Right::Submit, object.clone(), &acl::parse("sue").unwrap());
    let findings = nothing_known(&tree);
    assert_eq!(findings.len(), 1);
    assert_eq!((&findings[0].origin, findings[0].diagnostic.span), (&Some(object), None));
}

#[test]
fn acl_of_the_recovery_queue_is_reported() {
    finds(
        &[("root", "sue", ""), ("root.@recovery@", "*", "sue")],
        &[
            (
                "7208 root.@recovery@ submitacl",
                "nobody may submit to the recovery queue, regardless of its ACLs",
            ),
            (
                "7208 root.@recovery@ adminacl",
                "the scheduler never checks who administers the recovery queue, and its administrators may not \
                 submit to it",
            ),
        ],
    );
}

#[test]
fn subtree_without_submitters_is_reported_at_its_top() {
    let nobody = "no ACL there or above grants submit to anyone";
    let whole = format!("nobody may submit to `root` and 2 queues below it: {nobody}");
    finds(&[("root", "", ""), ("root.a", "", ""), ("root.b", "", "")], &[("7209 root queue", &whole)]);
    let part = format!("nobody may submit to `root.a` and 1 queue below it: {nobody}");
    finds(
        &[
            ("root", "", ""),
            ("root.a", "", ""),
            ("root.a.x", "", ""),
            ("root.b", "", "sue"),
            ("root.c", " ", ""),
        ],
        &[("7209 root.a queue", &part)],
    );
    let leaf = "nobody may submit to `root.a`: no ACL there or above grants submit to anyone";
    finds(&[("root", "", ""), ("root.a", "", ""), ("root.b", "sue", "")], &[("7209 root.a queue", leaf)]);
    finds(&[("root", " ", ""), ("root.a", "", "")], &[]);
}

/// An object without an effect is reported, unless it lasts longer than the other.
#[test]
fn object_covered_by_another_is_reported() {
    let found = |objects: &[(&str, &str, Option<i64>)]| {
        let mut tree = tree(&[("root", "", ""), ("root.a", "sue,bob devs", "")]);
        for (name, granted, until) in objects {
            let until = until.map(|second| jiff::Timestamp::from_second(second).unwrap());
            let object = Origin::Object { kind: "QueueAcl", name: (*name).to_owned(), until };
            let path = QueuePath::parse("root.a").unwrap();
            tree.attribute(&path, Right::Submit, object, &acl::parse(granted).unwrap());
        }
        let found = nothing_known(&tree).into_iter();
        let found = found.filter(|finding| finding.diagnostic.code == codes::GRANTED_TWICE);
        found.map(|finding| finding.diagnostic.message).collect::<Vec<_>>()
    };
    let adds = |one: &str, other: &str| {
        vec![format!(
            "QueueAcl/{one} adds nothing to `submitacl` of `root.a`: QueueAcl/{other} grants the same"
        )]
    };
    let none = Vec::<String>::new();
    assert_eq!(found(&[("a", "sue devs", None), ("b", "sue devs", None)]), adds("b", "a"));
    assert_eq!(found(&[("a", "sue", None), ("b", "sue devs", None)]), adds("a", "b"));
    assert_eq!(found(&[("a", "sue", None), ("b", "bob devs", None)]), none);
    assert_eq!(found(&[("a", "sue devs", None), ("b", "sue,bob", None)]), none);
    assert_eq!(found(&[("a", "sue", None), ("b", "sue devs", Some(9))]), none);
    assert_eq!(found(&[("a", "sue", Some(9)), ("b", "sue", Some(8))]), adds("b", "a"));
    assert_eq!(found(&[("a", "sue", Some(8)), ("b", "sue", Some(9))]), adds("a", "b"));
    assert_eq!(found(&[("a", "sue", Some(9)), ("b", "sue", None)]), adds("a", "b"));
}

#[test]
fn queue_without_acls_is_reported_at_its_name() {
    for (text, expected) in [
        ("[{name: root, queues: [{submitacl: sue, name: a}, {name: b}]}]", "b"),
        // Without a root in the text, the finding is at the first queue.
        ("[{name: a}, {name: b}]", "a"),
    ] {
        let text = format!("partitions: [{{name: default, queues: {text}}}]");
        let tree = parsed(&text);
        let found = nothing_known(&tree);
        let [finding] = found.as_slice() else { panic!("{found:?}") };
        let span = finding.diagnostic.span.unwrap();
        assert!(matches!(&finding.origin, Some(Origin::Text(location)) if location.span == Some(span)));
        assert_eq!(text.get(span.start..span.end), Some(expected));
    }
}

/// Returns the findings about queues with these rules.
fn found_with_rules(rules: &str, queues: &str) -> (Tree, Vec<Finding>) {
    let text = format!(
        "partitions: [{{name: default, placementrules: {rules}, queues: [{{name: root, submitacl: ' ', \
         queues: {queues}}}]}}]"
    );
    let tree = parsed(&text);
    let findings = nothing_known(&tree);
    (tree, findings)
}

/// Returns these findings as code and queue.
fn with_rules(rules: &str, queues: &str) -> Vec<(u16, String)> {
    let (tree, findings) = found_with_rules(rules, queues);
    findings.iter().map(|finding| (finding.diagnostic.code.number, path(&tree, finding))).collect()
}

#[test]
fn parent_without_a_leaf_is_reported_unless_a_rule_creates_one() {
    let queues = "[{name: a, parent: true, submitacl: sue, queues: [{name: x, parent: true, adminacl: \
        bob}]}, {name: b, submitacl: bob}]";
    let both = [(7206, "root.a".to_owned()), (7206, "root.a.x".to_owned())];
    let cases: [(&str, &[(u16, String)]); 8] = [
        ("[]", &both),
        ("[{name: provided}]", &both),
        ("[{name: provided, create: true}]", &[]),
        ("[{name: tag, value: queue, create: true}, {name: provided}]", &[]),
        // Creates queues only below the root.
        ("[{name: provided}, {name: tag, value: namespace, create: true}]", &both),
        ("[{name: provided}, {name: fixed, value: root.c, create: true}]", &both),
        ("[{name: provided}, {name: fixed, value: root.a.new, create: true}]", &both[1..]),
        ("[{name: provided}, {name: user, create: true, parent: {name: fixed, value: a.x}}]", &[]),
    ];
    for (rules, expected) in cases {
        assert_eq!(with_rules(rules, queues), expected, "{rules}");
    }
}

#[test]
fn message_about_a_parent_without_a_leaf_depends_on_rules_that_create_queues() {
    let queues = "[{name: a, parent: true, submitacl: sue}, {name: b, submitacl: bob}]";
    for (rules, end) in [
        ("[]", "no placement rule creates queues"),
        ("[{name: provided}]", "no placement rule creates queues"),
        (
            "[{name: provided}, {name: fixed, value: root.c, create: true}]",
            "no placement rule creates one there",
        ),
    ] {
        let message = format!(
            "`submitacl` of `root.a` has no effect: the queue is a parent without a leaf below it, and {end}"
        );
        let (tree, findings) = found_with_rules(rules, queues);
        assert_eq!(
            reported(&tree, &findings),
            [("7206 root.a submitacl".to_owned(), message.as_str())],
            "{rules}"
        );
    }
}

#[test]
fn queue_that_no_rule_reaches_is_reported() {
    let queues = "[{name: A, parent: true, submitacl: sue, queues: [{name: x, submitacl: bob}]}, {name: b, \
        submitacl: bob}, {name: default, submitacl: al}]";
    let of = |queues: &[&str]| queues.iter().map(|queue| (7207, (*queue).to_owned())).collect::<Vec<_>>();
    let cases: [(&str, &[&str]); 9] = [
        ("[{name: provided}]", &[]),
        ("[{name: tag, value: namespace.parentqueue}]", &[]),
        // One name below the root, for any user or namespace.
        ("[{name: user}]", &["root.a", "root.a.x"]),
        ("[{name: TAG, value: Namespace}]", &["root.a", "root.a.x"]),
        ("[{name: fixed, value: b}]", &["root.a", "root.a.x"]),
        ("[{name: fixed, value: root.a.x, create: true}]", &["root.b"]),
        ("[{name: user, create: true, parent: {name: fixed, value: a}}]", &["root.b"]),
        ("[{name: user, parent: {name: provided, create: true}}]", &[]),
        // The value looks like a full path, but the next rule puts the root before it.
        ("[{name: user, create: true, parent: {name: fixed, value: rooty, create: true}}]", &[]),
    ];
    for (rules, expected) in cases {
        assert_eq!(with_rules(rules, queues), of(expected), "{rules}");
    }
}

#[test]
fn suspicious_names_are_reported_with_their_location() {
    finds(
        &[
            ("root", " ", ""),
            ("root.b", " data-science", ""),
            ("root.c", " data-sciense", ""),
            ("root.d", "data-science", ""),
            ("root.e", " data-science,Data-Science", ""),
        ],
        &[
            (
                "7212 root.c submitacl",
                "the group `data-sciense` is only in `submitacl` of `root.c`, but `data-science` is in 2 \
                 ACLs",
            ),
            (
                "7211 root.d submitacl",
                "`data-science` is a user in `submitacl` of `root.d`, but a group in `submitacl` of `root.b` \
                 and 1 more ACL",
            ),
            (
                "7212 root.e submitacl",
                "the group `Data-Science` is only in `submitacl` of `root.e`, but `data-science` is in 2 \
                 ACLs; names are case-sensitive",
            ),
        ],
    );
    // If two names have one use each, the user is reported, otherwise the rarer one.
    finds(
        &[("root", " ", ""), ("root.a", "devs", ""), ("root.b", " devs", "")],
        &[(
            "7211 root.a submitacl",
            "`devs` is a user in `submitacl` of `root.a`, but a group in `submitacl` of `root.b`",
        )],
    );
    finds(
        &[("root", " ", ""), ("root.a", "sue", ""), ("root.b", "sue", ""), ("root.c", " sue", "")],
        &[(
            "7211 root.c submitacl",
            "`sue` is a group in `submitacl` of `root.c`, but a user in `submitacl` of `root.a` and 1 more \
             ACL",
        )],
    );
    // One ACL contains both, so they are different names.
    finds(&[("root", " ", ""), ("root.a", "admin admin", ""), ("root.b", "admin", "")], &[]);
}

#[test]
fn names_that_differ_on_purpose_are_not_typos() {
    let cases = [
        ("team-a", "team-b", false),
        ("dev1", "dev2", false),
        ("batch", "batch2", false),
        ("developers", "develpoers", true),
        ("developers", "developer", true),
        ("data-eng", "dataeng", true),
        ("x-analytics", "x-analytcis", true),
        ("ml", "nl", false),
        ("team-dev", "team-devs", false),
        ("east", "west", false),
    ];
    for (often, once, expected) in cases {
        let (often, once) = (format!(" {often}"), format!(" {once}"));
        let queues =
            [("root", " ", ""), ("root.a", &*often, ""), ("root.b", &*often, ""), ("root.c", &*once, "")];
        let found = nothing_known(&tree(&queues));
        assert_eq!(
            found.iter().map(|finding| finding.diagnostic.code).collect::<Vec<_>>(),
            vec![codes::NAME_SLIP; usize::from(expected)],
            "{often} {once}"
        );
    }
}

#[test]
fn acl_of_several_objects_is_counted_once() {
    let mut tree = tree(&[("root", " ", ""), ("root.a", "devs", ""), ("root.b", " devs", "")]);
    let path = QueuePath::parse("root.b").expect("path");
    for name in ["one", "two"] {
        let object = Origin::Object { kind: "QueueAcl", name: name.to_owned(), until: None };
        tree.attribute(&path, Right::Submit, object, &acl::parse(" devs").expect("acl"));
    }
    let findings = nothing_known(&tree);
    let about_names = |finding: &&Finding| finding.diagnostic.code == codes::USER_OR_GROUP;
    let found = findings.iter().find(about_names).expect("a finding");
    assert_eq!(
        found.diagnostic.message,
        "`devs` is a user in `submitacl` of `root.a`, but a group in `submitacl` of `root.b`"
    );
}

#[test]
fn unknown_name_is_reported_with_the_nearest_known_one() {
    let queues = [("root", " ", ""), ("root.a", "sue,bot-7 devs", ""), ("root.b", "seu devs,ops", "")];
    let population = |names: &[&str], patterns: &[&str]| Population {
        names: names.iter().map(ToString::to_string).collect::<BTreeSet<_>>(),
        patterns: patterns.iter().map(|pattern| GoRegex::new(pattern).expect("an expression")).collect(),
    };
    let known = Known { users: Some(population(&["sue"], &["^bot-"])), groups: None };
    let of_queues = tree(&queues);
    let findings = lint(&of_queues, &known);
    assert_eq!(
        reported(&of_queues, &findings),
        [("7210 root.b submitacl".to_owned(), "`submitacl` of `root.b` names the unknown user `seu`")]
    );
    assert_eq!(findings[0].diagnostic.help.as_deref(), Some("did you mean `sue`?"));
    let queues = [("root", " ", ""), ("root.a", " sue,qa", "")];
    let known = Known { users: Some(population(&["sue"], &[])), groups: None };
    let of_queues = tree(&queues);
    let findings = lint(&of_queues, &known);
    assert_eq!(
        reported(&of_queues, &findings),
        [(
            "7211 root.a submitacl".to_owned(),
            "`sue` is a group in `submitacl` of `root.a`, but the known name is a user"
        )]
    );
    let help = findings[0].diagnostic.help.as_deref();
    assert!(help.is_some_and(|help| help.starts_with("write the user before the space")), "{help:?}");
    let known = Known { users: None, groups: Some(population(&["devs"], &[])) };
    let of_queues = tree(&[("root", " ", ""), ("root.a", "devs", "")]);
    let findings = lint(&of_queues, &known);
    assert_eq!(
        reported(&of_queues, &findings),
        [(
            "7211 root.a submitacl".to_owned(),
            "`devs` is a user in `submitacl` of `root.a`, but the known name is a group"
        )]
    );
    assert_eq!(findings[0].diagnostic.help.as_deref(), Some("write the group after the space"));
    // An entry of the same name in the other list is a better hint than a similar name.
    let known = Known { users: Some(population(&["opt"], &[])), groups: None };
    let of_queues = tree(&[("root", " ", ""), ("root.a", "ops", ""), ("root.b", " ops", "")]);
    let findings = lint(&of_queues, &known);
    assert_eq!(
        reported(&of_queues, &findings),
        [("7210 root.a submitacl".to_owned(), "`submitacl` of `root.a` names the unknown user `ops`")]
    );
    assert_eq!(
        findings[0].diagnostic.help.as_deref(),
        Some("other ACLs contain it in the other list; users come before the space, groups after it")
    );
    let queues = [("root", " ", ""), ("root.a", "sue,bot-7 devs", ""), ("root.b", "seu devs,ops", "")];
    let known = Known { users: None, groups: Some(population(&[], &["ops"])) };
    assert_eq!(lint(&tree(&queues), &known).len(), 2);
}

#[test]
fn many_names_and_many_findings_are_counted() {
    let names: Vec<String> = (0..20).map(|number| format!("u{}x", "a".repeat(number))).collect();
    let names = names.join(",");
    let mut queues = vec![("root".to_owned(), names.clone())];
    queues.extend((0..1200).map(|number| (format!("root.q{number}"), names.clone())));
    let queues: Vec<Queue<'_>> = queues.iter().map(|(path, acl)| (path.as_str(), acl.as_str(), "")).collect();
    let findings = nothing_known(&tree(&queues));
    assert_eq!(findings.len(), MAX_FINDINGS + 1);
    assert!(
        findings[0].diagnostic.message.contains(" and 14 more through"),
        "{}",
        findings[0].diagnostic.message
    );
    assert_eq!(findings[MAX_FINDINGS].diagnostic.code.number, 7213);
    assert_eq!(findings[MAX_FINDINGS].diagnostic.message, "and 200 more findings, not shown");
}

fn without(tree: &Tree, taken: &[(&QueuePath, Right)]) -> Tree {
    let mut tree = tree.clone();
    for (queue, right) in taken {
        tree.clear(queue, *right);
    }
    tree
}

/// Returns whether removing ACLs changes who may submit, and who may administer.
fn changes(tree: &Tree, taken: &[(&QueuePath, Right)]) -> (bool, bool) {
    let less = without(tree, taken);
    let names = [Match::Everyone, Match::User("u"), Match::Group("g")];
    let differs = |right: Right| {
        let may = |tree: &Tree, id, name| GrantingEntry::of_name(tree, right, id, name).is_some();
        tree.queues().any(|(id, _)| names.iter().any(|name| may(tree, id, *name) != may(&less, id, *name)))
    };
    (differs(Right::Submit), differs(Right::Admin))
}

/// On trees whose ACLs have one entry each, exactly the ACLs without an effect are reported.
#[test]
fn reported_acls_are_exactly_the_ones_without_effect() {
    let without_effect =
        [codes::EVERYONE_ABOVE, codes::GRANTED_ABOVE, codes::ADMIN_WITHOUT_EFFECT, codes::RECOVERY_ACL];
    for shape in [["root", "root.a", "root.a.b"], ["root", "root.@recovery@", "root.@recovery@.a"]] {
        each_tree(&shape, |tree| {
            let findings = nothing_known(tree);
            let mut taken = Vec::new();
            for acl in LocatedAcl::each(tree).filter(|acl| !acl.grants().acl.is_nobody()) {
                let here =
                    |finding: &&Finding| (finding.queue, finding.right) == (Some(acl.id), Some(acl.right));
                let codes: Vec<Code> =
                    findings.iter().filter(here).map(|finding| finding.diagnostic.code).collect();
                let said = codes.iter().any(|code| without_effect.contains(code));
                let (submit, admin) = changes(tree, &[(&acl.node.path, acl.right)]);
                let other = if acl.right == Right::Submit { Right::Admin } else { Right::Submit };
                // Of two equal ACLs of a queue, only one is reported.
                if acl.grants().acl != acl.node.grants(other).acl {
                    assert_eq!(said, !submit, "{:?} {} {codes:?} {tree:?}", acl.right, acl.node.path);
                }
                if codes.contains(&codes::EVERYONE_ABOVE) || codes.contains(&codes::GRANTED_ABOVE) {
                    assert!(!admin, "{codes:?} {tree:?}");
                }
                if said {
                    taken.push((&acl.node.path, acl.right));
                }
            }
            // Following all advice at once removes nobody's access.
            assert!(!changes(tree, &taken).0, "{taken:?} {tree:?}");
        });
    }
}

proptest! {
    #[test]
    fn any_tree_is_checked_with_spans_within_the_text(tree in any_tree()) {
        for finding in nothing_known(&tree) {
            prop_assert!(finding.queue.is_some_and(|queue| tree.node(queue).is_some()));
            prop_assert!(!finding.diagnostic.is_error());
            prop_assert!(CODES.contains(&finding.diagnostic.code));
        }
    }
}
