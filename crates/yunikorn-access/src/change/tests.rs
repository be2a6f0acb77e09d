//! Every remedy turns its denial into a grant. For random queues, rules, users and requests, the test writes
//! the configuration with the remedy as a text, parses it like `YuniKorn` does, and repeats the decision.
//!
//! `QUEUEWARDEN_DENIALS` sets the number of denials of each kind, 500 by default.

use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::*;
use crate::application::{self, Request, Verb};
use crate::decide::{decide, explain};
use crate::placement::advice::Question;
use crate::placement::{Live, LiveQueue, Outcome, Placement, Placer, Submission};
use crate::remedy::remedies;
use go_compat::yaml::decode::items;
use yunikorn::application::settings::KEYS;
use yunikorn::application::{Dialect, Rules};
use yunikorn::config::names::is_user;
use yunikorn::config::verdict;
use yunikorn::version::Version;

/// Names that ACLs can contain, names that they drop, names that `YuniKorn` refuses, and a name too long for
/// a queue.
const USERS: [&str; 9] = [
    "ann",
    "Bob",
    "carl.x",
    "eve@example.com",
    "system:serviceaccount:etl:runner",
    "https://issuer.example.com#7",
    "auth0|9",
    "CN=Ann Smith",
    "a_user_with_a_very_long_name_which_no_queue_can_have_because_it_has_more_than_64",
];
const GROUPS: [&str; 5] = ["devs", "Ops", "team.x", "system:serviceaccounts:etl", "qa"];
const PATHS: [&str; 10] = [
    "root.a",
    "root.a.b",
    "root.a.b.c",
    "root.d",
    "root.default",
    "root.people",
    "root.people.ann",
    "root.tenants",
    "root.@recovery@",
    "root.deep",
];

fn denials() -> usize {
    std::env::var("QUEUEWARDEN_DENIALS").ok().and_then(|text| text.parse().ok()).unwrap_or(500)
}

/// Generates values until enough denials were checked, and prints the number of remedies.
fn check<T: std::fmt::Debug>(
    what: &str,
    any: impl Strategy<Value = T>,
    mut remedies_of: impl FnMut(&T) -> Option<usize>,
) {
    let mut runner = TestRunner::deterministic();
    let (mut denied, mut with, mut offered) = (0, 0, 0);
    while denied < denials() {
        let value = any.new_tree(&mut runner).expect("a value").current();
        let Some(remedies) = remedies_of(&value) else { continue };
        denied += 1;
        with += usize::from(remedies > 0);
        offered += remedies;
    }
    println!("{what}: {denied} denials, {with} with remedies, {offered} remedies");
    assert!(with * 3 > denied, "{with} of {denied} denials have a remedy");
}

fn any_acl() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        "",
        "",
        "",
        "ann",
        " devs",
        "Bob Ops",
        "*",
        "ann,Bob devs",
        "system:serviceaccount:etl:runner",
        " team.x",
    ])
}

fn any_filter() -> impl Strategy<Value = String> {
    let list =
        |names: Vec<&'static str>| prop::sample::subsequence(names, 0..3).prop_map(|names| names.join(", "));
    let users = list(vec!["ann", "Bob", "carl.x", "^a", "b.*"]);
    let groups = list(vec!["devs", "Ops", "^d"]);
    (prop::sample::select(vec!["", "allow", "deny"]), users, groups).prop_map(|(kind, users, groups)| {
        format!(
            ", filter: {{type: \"{kind}\", users: [{}], groups: [{}]}}",
            quoted_list(&users),
            quoted_list(&groups)
        )
    })
}

fn quoted_list(names: &str) -> String {
    let names: Vec<String> =
        names.split(", ").filter(|name| !name.is_empty()).map(|name| format!("\"{name}\"")).collect();
    names.join(", ")
}

fn any_rule() -> impl Strategy<Value = String> {
    let plain = || {
        let kind = prop::sample::select(vec![
            "name: provided",
            "name: user",
            "name: tag, value: namespace",
            "name: tag, value: namespace.parentqueue",
            "name: fixed, value: root.a",
            "name: fixed, value: root.people",
            "name: fixed, value: tenants",
            "name: fixed, value: root.new.leaf",
            "name: fixed, value: rootfoo",
            "name: fixed, value: root.a.b.c",
        ]);
        (kind, any::<bool>(), prop::option::weighted(0.3, any_filter())).prop_map(|(kind, create, filter)| {
            format!("{kind}, create: {create}{}", filter.unwrap_or_default())
        })
    };
    (plain(), prop::option::weighted(0.4, plain())).prop_filter_map(
        "a fixed rule with a full path has no parent",
        |(rule, parent)| {
            let is_full = |rule: &str| rule.contains("value: root");
            match parent {
                Some(parent) if is_full(&rule) || parent.contains("rootfoo") => {
                    let _ = parent;
                    None
                }
                Some(parent) => Some(format!("{{{rule}, parent: {{{parent}}}}}")),
                None => Some(format!("{{{rule}}}")),
            }
        },
    )
}

/// The text of a configuration.
fn any_text() -> impl Strategy<Value = String> {
    let queues = proptest::collection::vec((any::<bool>(), any::<bool>(), any_acl(), any_acl()), PATHS.len());
    let rules = proptest::collection::vec(any_rule(), 0..4);
    (queues, rules, any_acl(), prop::option::of(Just(20u64))).prop_filter_map(
        "an active text",
        |(queues, rules, root, limit)| {
            let mut chosen: Vec<Written> = vec![Written {
                path: "root".to_owned(),
                parent: false,
                submit: root.replace('*', ""),
                admin: String::new(),
                limit: limit.unwrap_or(0),
            }];
            for (path, (present, parent, submit, admin)) in PATHS.iter().zip(queues) {
                let above = path.rsplit_once('.').map_or("", |(above, _)| above);
                if present && chosen.iter().any(|queue| queue.path == above) {
                    chosen.push(Written {
                        path: (*path).to_owned(),
                        parent,
                        submit: submit.to_owned(),
                        admin: admin.to_owned(),
                        limit: limit.unwrap_or(0),
                    });
                }
            }
            let text = text_of(&rules, &chosen);
            verdict(&text, &[], Version::V1_8).reloads.is_ok().then_some(text)
        },
    )
}

/// A queue as text.
#[derive(Debug)]
struct Written {
    path: String,
    parent: bool,
    submit: String,
    admin: String,
    limit: u64,
}

fn text_of(rules: &[String], queues: &[Written]) -> String {
    let mut text = "partitions:\n  - name: default\n".to_owned();
    if !rules.is_empty() {
        text.push_str("    placementrules:\n");
        for rule in rules {
            writeln!(text, "      - {rule}").expect("text");
        }
    }
    text.push_str("    queues:\n");
    write_below(&mut text, "", queues);
    text
}

fn write_below(text: &mut String, above: &str, queues: &[Written]) {
    let children = |of: &str| {
        queues.iter().any(|queue| queue.path.rsplit_once('.').is_some_and(|(above, _)| above == of))
    };
    for queue in
        queues.iter().filter(|queue| queue.path.rsplit_once('.').map_or("", |(above, _)| above) == above)
    {
        let pad = "    ".repeat(queue.path.split('.').count() + 1);
        let name = queue.path.rsplit('.').next().expect("a name");
        writeln!(
            text,
            "{pad}- name: \"{name}\"\n{pad}  parent: {}\n{pad}  maxapplications: {}",
            queue.parent, queue.limit
        )
        .expect("text");
        writeln!(text, "{pad}  submitacl: \"{}\"\n{pad}  adminacl: \"{}\"", queue.submit, queue.admin)
            .expect("text");
        if children(&queue.path) {
            writeln!(text, "{pad}  queues:").expect("text");
            write_below(text, &queue.path, queues);
        }
    }
}

/// Writes a tree as text, as a person would after applying a remedy.
fn text_of_tree(tree: &Tree) -> String {
    let queues: Vec<Written> = tree
        .queues()
        .map(|(_, node)| Written {
            path: node.path.to_string(),
            parent: node.is_declared_parent,
            submit: node.grants(Right::Submit).text.clone(),
            admin: node.grants(Right::Admin).text.clone(),
            limit: node.max_applications,
        })
        .collect();
    let rules: Vec<String> = tree.placement_rules().iter().map(rule_text).collect();
    text_of(&rules, &queues)
}

fn rule_text(rule: &PlacementRule) -> String {
    let list = |names: &go_compat::yaml::decode::List<go_compat::yaml::decode::Spanned>| {
        let names: Vec<String> = items(names).iter().map(|name| format!("\"{}\"", name.as_str())).collect();
        names.join(", ")
    };
    let filter = &rule.filter;
    let filter = format!(
        "{{type: \"{}\", users: [{}], groups: [{}]}}",
        filter.kind.as_str(),
        list(&filter.users),
        list(&filter.groups)
    );
    let value =
        if rule.value.is_empty() { String::new() } else { format!(", value: \"{}\"", rule.value.as_str()) };
    let parent =
        rule.parent.as_deref().map(|parent| format!(", parent: {}", rule_text(parent))).unwrap_or_default();
    format!("{{name: {}, create: {}, filter: {filter}{value}{parent}}}", rule.name.as_str(), rule.create)
}

/// Parses a text like `YuniKorn` does, which must accept it.
fn read(text: &str) -> Tree {
    let verdict = verdict(text, &[], Version::V1_8);
    assert!(verdict.reloads.is_ok(), "{text}\n{:?}", verdict.diagnostics);
    Tree::new(verdict.config.expect("valid").partition("default").expect("default")).expect("active")
}

fn any_person() -> impl Strategy<Value = Identity> {
    let groups = prop::sample::subsequence(GROUPS.to_vec(), 0..3);
    (prop::sample::select(USERS.to_vec()), groups).prop_map(|(user, groups)| Identity {
        user: user.to_owned(),
        groups: groups.into_iter().map(str::to_owned).collect(),
    })
}

fn any_queue() -> impl Strategy<Value = String> {
    let odd = [
        "",
        "root",
        "a",
        "rot.a",
        "root.A.B",
        "root.ab",
        "root.a.b.c.x",
        "root.new.leaf",
        "root.x y",
        "prod",
        "root.@recovery@",
        "root.@recovery@.x",
    ];
    prop::sample::select(PATHS.iter().chain(&odd).map(ToString::to_string).collect::<Vec<_>>())
}

/// Checks that no advice asks a person for something impossible.
fn check_changes(changes: &[Change], identity: &Identity) {
    for change in changes {
        match change {
            Change::Join { group } => {
                assert!(
                    !identity.user.starts_with("system:") && !group.starts_with("system:"),
                    "{changes:?}"
                );
            }
            Change::Rename { user } => assert!(user.eq_ignore_ascii_case(&identity.user), "{changes:?}"),
            _ => {}
        }
    }
}

fn check_words(words: &str, user: &str) {
    if !yunikorn::acl::user_name_ok(user) {
        let named = [
            format!("name {user} in"),
            format!("name user {user} in the submitacl"),
            format!("name user {user} in the adminacl"),
            format!("name user {user} in its"),
        ];
        assert!(!named.iter().any(|named| words.contains(named.as_str())), "{words}");
    }
}

#[test]
fn every_remedy_of_an_access_question_helps() {
    let any = (any_text(), any_person(), any_queue(), prop::sample::select(Right::ALL.to_vec()));
    check("access", any, |(text, identity, queue, right)| {
        let tree = read(text);
        let decision = explain(&tree, *right, queue, identity);
        if decision.allowed() {
            return None;
        }
        let remedies: Vec<_> = remedies(&tree, &decision).collect();
        for remedy in &remedies {
            let changes = [remedy.change.clone()];
            check_changes(&changes, identity);
            check_words(&remedy.message, &identity.user);
            let case = Case::new(Cow::Borrowed(&tree), identity, queue).after(&changes).expect("possible");
            let after = read(&text_of_tree(&case.tree));
            assert!(
                decide(&after, *right, &case.queue, &case.identity).allowed(),
                "{text}\n{decision:?}\n{remedy:?}"
            );
        }
        Some(remedies.len())
    });
}

/// Places an application like the scheduler does with this configuration. If the case has the user-info
/// webhook, it writes the names.
fn placed(tree: &Tree, live: &Live, case: &Case<'_>, is_refused: bool) -> Option<String> {
    if is_refused && !case.webhook {
        return None;
    }
    let mut submission = Submission {
        application_id: "app".to_owned(),
        identity: case.identity.clone(),
        queue: case.queue.clone(),
        tags: case.tags.clone(),
    };
    if case.webhook && !tree.has_aliases() {
        submission.identity.user = alias::escaped(&submission.identity.user).into_owned();
        assert!(is_user(&submission.identity.user));
    }
    Placer::with_live(tree, live.clone()).place(&submission).queue().map(str::to_owned)
}

#[test]
fn every_remedy_of_a_placement_helps() {
    let tags = prop_oneof![
        Just(vec![]),
        Just(vec![("namespace.parentqueue", "root.a")]),
        Just(vec![("namespace.parentqueue", "root.tenants")])
    ];
    let live = prop_oneof![3 => Just(None), 1 => (any_queue(), any::<bool>(), any::<bool>()).prop_map(Some)];
    let any = (any_text(), any_person(), any_queue(), tags, live);
    check("placements", any, |(text, identity, queue, tags, live)| {
        let tree = read(text);
        let tags = tags
            .iter()
            .copied()
            .chain([("namespace", "etl")])
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let submission = Submission {
            application_id: "app".to_owned(),
            identity: identity.clone(),
            queue: queue.clone(),
            tags,
        };
        let mut queues = Live::default();
        if let Some((path, leaf, draining)) = live
            && path.starts_with("root.")
            && !path.contains(' ')
        {
            queues.insert(path, LiveQueue { leaf: *leaf || *draining, draining: *draining });
        }
        let placer = Placer::with_live(&tree, queues.clone());
        let is_refused = !is_user(&identity.user);
        let placement =
            if is_refused { Placement::rejected("refused".to_owned()) } else { placer.place(&submission) };
        let asked = placer.only_provided().place(&submission);
        let is_elsewhere = matches!((&placement.outcome, asked.queue()), (Outcome::Placed(queue), asked) if asked != Some(queue));
        if matches!(placement.outcome, Outcome::Undecided(_)) || placement.queue().is_some() && !is_elsewhere
        {
            return None;
        }
        let question = Question::new(&tree, &queues, &submission, &placement);
        let question = if is_refused { question.of_refused_user() } else { question };
        let advice = question.advice();
        let of_steps = (0..placement.steps.len()).filter_map(|at| question.first_of(at));
        let of_steps: Vec<_> = if is_refused { Vec::new() } else { of_steps.collect() };
        for advice in advice.iter().chain(&of_steps) {
            check_words(&advice.words, &identity.user);
            assert!(!advice.alternatives.is_empty());
            for changes in &advice.alternatives {
                check_changes(changes, identity);
                let case = Case {
                    tags: submission.tags.clone(),
                    ..Case::new(Cow::Borrowed(&tree), identity, queue)
                };
                let case = case.after(changes).expect("possible");
                let changed = read(&text_of_tree(&case.tree));
                let runs_in = placed(&changed, &queues, &case, is_refused);
                assert!(
                    runs_in.is_some(),
                    "{text}\n{submission:?}\n{placement:#?}\n{advice:?}\n{}",
                    text_of_tree(&case.tree)
                );
                if let Outcome::Placed(now) = &placement.outcome {
                    assert_ne!(runs_in.as_ref(), Some(now), "{text}\n{submission:?}\n{advice:?}");
                }
            }
        }
        Some(advice.len())
    });
}

fn any_application() -> impl Strategy<Value = (Dialect, Vec<(&'static str, &'static str)>)> {
    let value = || prop::sample::select(vec!["", " ", "true", "ann", "ann devs", "Bob", " Ops", "x,y z"]);
    let of = move |(dialect, keys): (Dialect, &'static [&'static str])| {
        let settings = proptest::collection::vec((prop::sample::select(keys), value()), 0..4);
        settings.prop_map(move |settings| (dialect, settings))
    };
    let [own, hadoop, cloudera, spark] = KEYS;
    prop_oneof![of(own), of(hadoop), of(cloudera), of(spark)]
}

#[test]
fn every_remedy_of_an_application_helps() {
    let verbs = prop::sample::select(Verb::ALL.to_vec());
    let any = (any_text(), any_person(), any_queue(), any_queue(), any_application(), verbs);
    check("applications", any, |(text, identity, queue, target, (dialect, settings), verb)| {
        let tree = read(text);
        let on = match dialect {
            Dialect::YuniKorn => None,
            Dialect::Spark => Some(("spark.acls.enable", "true")),
            _ => Some(("yarn.acl.enable", "true")),
        };
        let admin = matches!(dialect, Dialect::YarnHadoop | Dialect::YarnCloudera)
            .then_some(("yarn.admin.acl", "root"));
        let settings = admin.into_iter().chain(settings.iter().copied()).chain(on);
        let acl = ApplicationAcl { owner: "otto".to_owned(), rules: Rules::read(*dialect, settings).0 };
        let target = if *verb == Verb::Move { target.as_str() } else { "" };
        let question = Request { tree: &tree, identity, verb: *verb, target, application: &acl, queue };
        if application::decide(question).allowed() {
            return None;
        }
        let remedies = application::remedies(question);
        for remedy in &remedies {
            check_changes(&remedy.changes, identity);
            check_words(&remedy.words, &identity.user);
            let case =
                Case { application: Some(acl.clone()), ..Case::new(Cow::Borrowed(&tree), identity, target) };
            let case = case.after(&remedy.changes).expect("possible");
            let changed = read(&text_of_tree(&case.tree));
            let application = case.application.as_ref().expect("one");
            let (tree, identity) = (&changed, &case.identity);
            let question = Request { tree, identity, application, target: &case.queue, ..question };
            assert!(application::decide(question).allowed(), "{text}\n{question:?}\n{remedy:?}");
        }
        Some(remedies.len())
    });
}
