//! Tests access tests against the configuration in force and against changes of it.

use std::sync::Arc;

use super::admit::{created, quiet, review};
use super::delegation::who;
use super::*;
use crate::access_tests::{broken, trouble};
use crate::admit::{Change, Review, Versions, admit};
use crate::snapshot::AccessTestEntry;
use go_compat::diag::{Code, Diagnostic};
use yunikorn::config::verdict;
use yunikorn::identity::Identity;
use yunikorn_access::expect::{Case, Expectations, Queues};

fn queues(submit: &[&str]) -> Queues {
    Queues { submit: submit.iter().map(ToString::to_string).collect(), administer: Vec::new() }
}

/// A test that sue may submit to `allow` but not to `deny`.
fn test(name: &str, enforcement: Enforcement, allow: &[&str], deny: &[&str]) -> AccessTestEntry {
    let subjects = vec![Identity { user: "sue".to_owned(), groups: Vec::new() }];
    let case = Case { subjects, allow: queues(allow), deny: queues(deny), ..Case::default() };
    let expectations = Expectations { partition: "default".to_owned(), cases: vec![case] };
    entry(name, AccessTestSpec { expectations, enforcement })
}

fn conditions(plan: &Plan, name: &str) -> Vec<String> {
    let conditions = plan.access_tests[name].conditions.iter();
    conditions.map(|c| format!("{}={}/{}", c.type_, c.status.as_str(), c.reason)).collect()
}

fn message(plan: &Plan, name: &str, type_: &str) -> String {
    let mut conditions = plan.access_tests[name].conditions.iter();
    conditions.find(|condition| condition.type_ == type_).unwrap().message.clone()
}

#[test]
fn a_test_is_decided_by_what_is_in_force() {
    let mut snapshot = cluster(BASE);
    let unreadable = Diagnostic::error(Code::new(5101, "x"), "cases: missing");
    snapshot.access_tests = vec![
        test("good", Enforcement::Block, &["root.prod"], &["root.test"]),
        test("bad", Enforcement::Report, &["root.test", "root.prod"], &["root.prod.etl"]),
        AccessTestEntry { spec: Err(vec![unreadable]), ..test("ugly", Enforcement::Report, &[], &[]) },
    ];
    let done = settled(&snapshot);
    assert_eq!(
        conditions(&done.plan, "good"),
        ["Accepted=True/Accepted", "Passing=True/Passing", "Ready=True/Ready"]
    );
    assert_eq!(
        conditions(&done.plan, "bad"),
        ["Accepted=True/Accepted", "Passing=False/Failing", "Ready=False/Failing"]
    );
    assert_eq!(conditions(&done.plan, "ugly"), ["Accepted=False/Invalid", "Ready=False/Invalid"]);
    assert_eq!(
        message(&done.plan, "bad", "Passing"),
        "2 of 3 checks fail: case 1: expected: user sue may submit to root.test; but no ACL from root.test up to root names user sue or group sue"
    );
    let rest = &done.plan.access_tests["bad"].rest;
    assert_eq!(
        (rest.checks, rest.passed, rest.failed, rest.undecided, rest.failures.len()),
        (Some(3), Some(1), Some(2), Some(0), 2)
    );
    assert!(message(&done.plan, "good", "Accepted").contains("refuses changes"));
    assert_at_rest(&done);

    // A text that is not rendered yet does not count; a rendered one does.
    let mut changed = done.snapshot.clone();
    changed.queue_acls = vec![submit("a", "root.prod", "bob")];
    let pending = plan(&changed);
    assert!(pending.write.is_some());
    assert_eq!(conditions(&pending, "good")[1], "Passing=True/Passing");
    let written = settled(&changed);
    assert_eq!(conditions(&written.plan, "good")[1], "Passing=False/Failing");
    assert!(written.plan.events.iter().any(|event| event.reason == "Failing"), "{:?}", written.plan.events);
}

#[test]
fn a_transition_is_an_event() {
    let mut snapshot = cluster(BASE);
    snapshot.access_tests = vec![test("good", Enforcement::Report, &["root.prod"], &[])];
    let mut calm = settled(&snapshot).snapshot;
    Arc::make_mut(calm.output.as_mut().unwrap()).data.insert(KEY.into(), BASE.replace("sue dev", "bob"));
    let events = plan(&calm).events;
    let reported =
        events.iter().find(|event| event.object == crate::ResourceKind::QueueAccessTest.object("good"));
    let reported = reported.expect("an event");
    assert!(
        reported.warning && reported.reason == "Failing" && reported.note.contains("sue"),
        "{reported:?}"
    );
}

#[test]
fn without_a_configuration_nothing_is_known() {
    let mut snapshot = cluster(BASE);
    snapshot.access_tests = vec![test("good", Enforcement::Block, &["root.prod"], &[])];
    let mut bare = snapshot.clone();
    bare.config = None;
    assert_eq!(conditions(&plan(&bare), "good")[1], "Passing=Unknown/ConfigNotReady");
    let mut refused = settled(&snapshot).snapshot;
    Arc::make_mut(refused.output.as_mut().unwrap())
        .data
        .insert(KEY.into(), BASE.replace("sue dev", "sue  dev"));
    assert_eq!(conditions(&plan(&refused), "good")[1], "Passing=Unknown/ConfigNotReady");
    refused.observed.loaded_text = Some(BASE.to_owned());
    assert_eq!(conditions(&plan(&refused), "good")[1], "Passing=True/Passing");
}

#[test]
fn a_change_that_breaks_a_blocking_test_is_refused_and_names_it() {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("a", "root.test", "bob")];
    snapshot.access_tests = vec![
        test("reported", Enforcement::Report, &["root.prod.etl"], &[]),
        test("stays", Enforcement::Block, &["root.prod"], &["root.test"]),
    ];
    quiet(&mut snapshot);
    let refused = |answer: crate::admit::Response| answer.refusal.unwrap_or_default();
    let locked_out = refused(created(&snapshot, submit("b", "root.prod", "ann")));
    let start = "QueueAccessTest/stays refuses this change because of case 1: expected: user sue may submit to root.prod; but no ACL";
    assert!(locked_out.starts_with(start), "{locked_out}");
    assert!(locked_out.ends_with("if the change is intended, update the test first"), "{locked_out}");
    let opened = refused(created(&snapshot, submit("b", "root.test", "*")));
    assert!(opened.contains("user sue may not submit to root.test; but everyone may submit"), "{opened}");

    // A deletion can remove access just as a change can.
    let mut granted = snapshot.clone();
    granted.access_tests = vec![test("bob", Enforcement::Block, &["root.test"], &[])];
    granted.queue_acls = vec![submit("a", "root.test", "sue")];
    quiet(&mut granted);
    let gone = granted.queue_acls.first().cloned();
    let answer = admit(&granted, &review(&who("root", &[]), true, gone, None));
    assert!(refused(answer).starts_with("QueueAccessTest/bob refuses this change because of "));

    // A change that breaks no test is accepted, and failures of reporting tests are only warnings.
    assert_eq!(created(&snapshot, submit("b", "root.prod", "sue")).refusal, None);
    let etl = created(&snapshot, submit("b", "root.prod.etl", "ann"));
    assert_eq!((etl.refusal, etl.warnings.len()), (None, 1));
    snapshot.access_tests.truncate(1);
    let warned = created(&snapshot, submit("b", "root.prod", "ann"));
    assert_eq!(warned.refusal, None);
    assert!(
        warned.warnings[1].starts_with("breaks QueueAccessTest/reported, case 1: expected"),
        "{warned:?}"
    );
}

#[test]
fn a_partition_that_is_not_active_hides_no_broken_check_of_another() {
    let config = |acl: &str| {
        let queues = format!("{{name: root, queues: [{{name: prod, submitacl: '{acl}'}}]}}");
        let other = "{name: root, submitacl: 'two  spaces'}";
        let text = format!(
            "partitions: [{{name: default, queues: [{queues}]}}, {{name: other, queues: [{other}]}}]"
        );
        verdict(&text, &[], Version::V1_8).config.unwrap()
    };
    let mut snapshot = cluster(BASE);
    snapshot.access_tests = vec![test("good", Enforcement::Block, &["root.prod"], &[])];
    let (was, is) = (config("sue"), config("tom"));
    let refusal = broken(&snapshot, Some(&was), Some(&is)).unwrap_err();
    assert!(refusal.starts_with("QueueAccessTest/good refuses this change"), "{refusal}");
    let expectations = &snapshot.access_tests[0].spec.as_ref().unwrap().expectations;
    assert!(trouble(expectations, &is, Version::V1_8).is_some());
    assert_eq!(trouble(expectations, &was, Version::V1_8), None);
}

#[test]
fn of_each_test_the_first_broken_check_is_said_and_the_others_are_counted() {
    for (more, expected) in [
        (&[][..], ""),
        (&["root.prod.etl"], "; and one more check"),
        (&["root.prod.etl", "root.prod.bi"], "; and 2 more checks"),
    ] {
        let allow: Vec<_> = std::iter::once("root.prod").chain(more.iter().copied()).collect();
        for enforcement in [Enforcement::Block, Enforcement::Report] {
            let mut snapshot = cluster(&BASE.replace("- name: etl", "- name: etl\n              - name: bi"));
            snapshot.access_tests = vec![test("t", enforcement, &allow, &[])];
            quiet(&mut snapshot);
            let answer = created(&snapshot, submit("b", "root.prod", "ann"));
            let said = answer.refusal.as_ref().unwrap_or_else(|| &answer.warnings[1]);
            let counted = said.split_once("more check").map(|_| said.rsplit_once("; and ").unwrap().1);
            assert_eq!(
                counted.map(|rest| format!("; and {rest}")).unwrap_or_default(),
                expected,
                "{answer:?}"
            );
            assert!(said.contains("sue may submit to root.prod; but"), "{answer:?}");
        }
    }
}

#[test]
fn warnings_beyond_the_eighth_are_counted() {
    for (tests, more) in [(7, None), (8, Some("and 1 more")), (10, Some("and 3 more"))] {
        let mut snapshot = cluster(BASE);
        let names = (0..tests).map(|n| format!("t{n}"));
        snapshot.access_tests =
            names.map(|name| test(&name, Enforcement::Report, &["root.prod"], &[])).collect();
        quiet(&mut snapshot);
        // The warnings list each test that breaks, and the changes of access.
        let warnings = created(&snapshot, submit("b", "root.prod", "ann")).warnings;
        assert_eq!(warnings.get(8).map(String::as_str), more, "{warnings:?}");
        assert!(
            warnings[0].contains("submit on root.prod"),
            "each change of access is reported: {warnings:?}"
        );
        assert_eq!(warnings.len(), if more.is_some() { 9 } else { 8 }, "{warnings:?}");
        let broken = warnings.iter().filter(|warning| warning.starts_with("breaks QueueAccessTest/t"));
        assert!(broken.count() >= 7, "{warnings:?}");
    }
}

#[test]
fn a_check_that_fails_already_is_in_nobodys_way() {
    let mut snapshot = cluster(BASE);
    snapshot.access_tests = vec![test("bad", Enforcement::Block, &["root.test", "root.prod"], &[])];
    quiet(&mut snapshot);
    assert_eq!(created(&snapshot, submit("a", "root.test", "bob")).refusal, None);
    assert!(created(&snapshot, submit("a", "root.prod", "bob")).refusal.is_some());
}

#[test]
fn a_test_is_written_whether_it_holds_or_not_unless_it_is_none() {
    let mut snapshot = cluster(BASE);
    quiet(&mut snapshot);
    let ask = |new: AccessTestEntry| {
        let change = Change::QueueAccessTest(Box::new(Versions { old: None, new: Some(new) }));
        admit(&snapshot, &Review { by: who("root", &[]), may_escalate: true, change, promised: Vec::new() })
    };
    assert_eq!(ask(test("a", Enforcement::Block, &["root.prod"], &[])).warnings.len(), 0);
    let failing = ask(test("a", Enforcement::Block, &["root.test"], &[]));
    assert_eq!(failing.refusal, None);
    assert!(failing.warnings[0].starts_with("1 of 1 checks fail: case 1"), "{failing:?}");
    let wrong = vec![Diagnostic::error(Code::new(5151, "x"), "spec.cases: none")];
    let invalid = ask(AccessTestEntry { spec: Err(wrong), ..test("a", Enforcement::Block, &[], &[]) });
    assert!(invalid.refusal.is_some());
}

#[test]
fn what_cannot_be_decided_is_no_failure_and_comes_after_those() {
    // The groups that LDAP assigns are unknown here.
    let ldap = BASE.replace("name: default\n", "name: default\n    usergroupresolver: {type: ldap}\n");
    let mut snapshot = cluster(&ldap);
    snapshot.access_tests = vec![
        test("unknown", Enforcement::Report, &["root.prod"], &["root.test"]),
        test("both", Enforcement::Report, &["root.prod", "root.gone"], &[]),
    ];
    let plan = settled(&snapshot).plan;
    assert_eq!(
        conditions(&plan, "unknown"),
        ["Accepted=True/Accepted", "Passing=Unknown/Undecided", "Ready=Unknown/Undecided"]
    );
    let unknown = message(&plan, "unknown", "Passing");
    assert!(unknown.starts_with("2 of 2 checks cannot be decided: case 1: "), "{unknown}");
    assert!(
        unknown.contains("root.prod") && unknown.ends_with("write the groups of the subject"),
        "{unknown}"
    );
    assert_eq!(conditions(&plan, "both")[1], "Passing=False/Failing");
    let both = message(&plan, "both", "Passing");
    assert!(both.starts_with("1 of 2 checks fail: case 1: ") && both.contains("root.gone"), "{both}");
    let failures = &plan.access_tests["both"].rest.failures;
    assert!(failures[0].contains("root.gone") && failures[1].contains("root.prod"), "{failures:?}");
}
