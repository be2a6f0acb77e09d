use super::*;
use crate::testing::parsed;
use yunikorn::identity::Identity;

const QUEUES: &str = "    queues:
      - name: root
        queues:
          - name: prod
            submitacl: bob
          - name: team
            submitacl: sue
            queues: [{name: etl}]
          - name: open
            submitacl: sue
";

/// Returns the remedies for an application of this user that requests this queue.
fn remedies_of(text: &str, user: &str, queue: &str) -> Vec<String> {
    let tree = parsed(text);
    let submission = Submission {
        application_id: "app".to_owned(),
        identity: Identity { user: user.to_owned(), groups: Vec::new() },
        queue: queue.to_owned(),
        tags: [("namespace".to_owned(), "etl".to_owned())].into(),
    };
    let placement = Placer::new(&tree).place(&submission);
    let live = Live::default();
    let question = Question::new(&tree, &live, &submission, &placement);
    let advice = question.advice();
    for advice in &advice {
        assert!(advice.alternatives.iter().all(|changes| question.helps(changes)), "{advice:?}");
    }
    advice.into_iter().map(|advice| advice.words).collect()
}

/// Returns the remedies for an application of sue that requests this queue, under these rules.
fn reported(rules: &str, queue: &str) -> Vec<String> {
    let rules = if rules.is_empty() { String::new() } else { format!("    placementrules: [{rules}]\n") };
    remedies_of(&format!("partitions:\n  - name: default\n{rules}{QUEUES}"), "sue", queue)
}

fn says(reported: &[String], beginning: &str) -> bool {
    reported.iter().any(|remedy| remedy.starts_with(beginning))
}

#[test]
fn similar_queue_is_offered_only_if_the_application_would_run_there() {
    assert!(says(&reported("", "root.opne"), "did you mean root.open?"));
    // A parent queue, and a queue of others.
    for queue in ["root.tem", "root.prdo"] {
        let reported = reported("", queue);
        assert!(!says(&reported, "did you mean"), "{reported:?}");
        let add = format!("add queue {queue} to the configuration, and name user sue in its submitacl");
        assert!(reported.contains(&add), "{reported:?}");
    }
}

#[test]
fn queue_above_is_offered_only_if_the_application_would_run_there() {
    assert!(says(
        &reported("", "root.open.below"),
        "request root.open itself, because it has no queues below it"
    ));
    assert!(!says(&reported("", "root.prod.below"), "request root.prod itself"));
    let create = reported("{name: provided, create: true}", "root.open.below");
    assert!(
        says(&create, "request root.open itself") && says(&create, "make root.open a parent queue"),
        "{create:?}"
    );
}

#[test]
fn rule_provided_is_offered_only_if_it_would_help() {
    for (rules, queue, helps) in [
        ("{name: fixed, value: root.prod}", "root.open", true),
        ("{name: fixed, value: root.prod}", "open", true),
        ("{name: tag, value: namespace}", "root.team.etl", true),
        ("{name: fixed, value: root.team.etl}", "root.open", true),
        // With another requested queue.
        ("{name: fixed, value: root.prod}", "root.none", true),
        ("{name: fixed, value: root.prod}", "", true),
        // It already runs there, or would not even then.
        ("{name: fixed, value: root.open}", "root.open", false),
        ("{name: fixed, value: root.open}", "root.none", false),
        ("{name: provided}", "root.prod", false),
    ] {
        let reported = reported(rules, queue);
        assert_eq!(says(&reported, "add the rule `provided`"), helps, "{rules} {queue}: {reported:?}");
    }
}

#[test]
fn recovery_queue_has_no_remedies() {
    for rules in ["", "{name: provided, create: true}", "{name: fixed, value: root.prod}"] {
        for queue in ["root.@recovery@", "root.@Recovery@", "root.@recovery@.x"] {
            let reported = reported(rules, queue);
            let recovery = reported.iter().find(|remedy| remedy.to_lowercase().contains("@recovery@"));
            assert_eq!(recovery, None, "{rules} {queue}");
            assert!(!says(&reported, "add queue"), "{rules} {queue}: {reported:?}");
            let root = reported.iter().find(|remedy| remedy.contains("of queue root,"));
            assert_eq!(root, None, "{rules} {queue}");
        }
    }
}

/// Returns queues for one person each, below a queue whose ACL names some of them.
fn of_people(create: bool) -> String {
    format!(
        "partitions:
  - name: default
    placementrules: [{{name: user, create: {create}, parent: {{name: fixed, value: root.people}}}}]
    queues: [{{name: root, queues: [{{name: people, parent: true, submitacl: \" staff\"}}]}}]
"
    )
}

#[test]
fn service_account_is_granted_with_a_queue_acl_and_never_joins_a_group() {
    let account = "system:serviceaccount:lab:notebook";
    for text in [
        of_people(true),
        of_people(false),
        "partitions: [{name: default, placementrules: [{name: provided, create: true}], queues: [{name: root, queues: [\
         {name: lab, parent: true, submitacl: \" lab\"}]}]}]"
            .to_owned(),
    ] {
        let reported = remedies_of(&text, account, "root.lab.x");
        assert!(!reported.is_empty(), "{text}");
        for remedy in &reported {
            assert!(
                remedy.contains("`serviceAccounts:`; it needs the user-info webhook: `queuewarden grant submit root.")
                    && remedy.contains("--serviceaccount lab:notebook`"),
                "{remedy}"
            );
            assert!(!remedy.contains("submitacl") && !remedy.contains("add the user to"), "{remedy}");
        }
    }
}

/// Nobody can choose the name that the rule `user` uses.
#[test]
fn invalid_queue_name_of_a_user_is_skipped() {
    let long = "a_person_whose_name_is_longer_than_the_64_characters_that_a_queue_may_have";
    let alone = remedies_of(&of_people(true), long, "");
    assert!(alone.iter().all(|remedy| remedy.starts_with("make rule 1 (user) skip user")), "{alone:?}");
    let text = of_people(true).replace(
        "}]\n    queues: [{name: root, queues: [",
        "}, {name: fixed, value: root.all}]\n    queues: [{name: root, queues: [{name: all, submitacl: \"*\"}, ",
    );
    let reported = remedies_of(&text, long, "");
    let skip = format!("make rule 1 (user) skip user {long} with a filter of type `deny`");
    assert!(reported.contains(&skip), "{reported:?}");
    assert!(!reported.iter().any(|remedy| remedy.contains("letters, digits")), "{reported:?}");
}

#[test]
fn several_changes_are_one_remedy() {
    let reported = reported("{name: user, create: false, filter: {users: [bob, ann]}}", "");
    let expected = "list user sue in the filter of rule 1 (user), and add queue root.sue to the configuration, \
                    and name user sue in its submitacl";
    assert!(reported.iter().any(|remedy| remedy == expected), "{reported:?}");
    // Unnecessary changes are omitted.
    let create = |remedy: &String| remedy.contains("create queues") && remedy.contains("add queue");
    assert!(!reported.iter().any(create), "{reported:?}");
}

#[test]
fn annotation_is_offered_with_a_queue_that_works() {
    let rules = "{name: user, create: true, parent: {name: tag, value: namespace.parentqueue}}";
    let reported = reported(rules, "");
    assert!(
        reported
            .contains(&"annotate namespace etl with yunikorn.apache.org/parentqueue: root.team".to_owned()),
        "{reported:?}"
    );
}

#[test]
fn queue_below_a_limit_of_applications_needs_one() {
    let text = "partitions: [{name: default, queues: [{name: root, queues: [{name: a, maxapplications: 3, submitacl: sue, parent: true}]}]}]";
    let first = remedies_of(text, "sue", "root.a.b").into_iter().next();
    assert_eq!(
        first.as_deref(),
        Some("add queue root.a.b to the configuration (with `maxapplications`, at most 3)")
    );
}
