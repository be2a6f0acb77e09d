use super::*;
use crate::decide::sentence;
use crate::testing::parsed;
use crate::tree::Tree;
use yunikorn::admission::Pod;
use yunikorn::identity::ResolverKind;
use yunikorn::testing::COMPARED;
use yunikorn::version::Version;

const QUEUES: &str = r#"
partitions:
  - name: default
    placementrules:
      - {name: provided, create: false}
      - {name: tag, value: namespace, create: true, parent: {name: fixed, value: root.spaces}}
    queues:
      - name: root
        adminacl: " ops"
        queues:
          - name: prod
            submitacl: "sue devs"
            queues: [{name: etl}]
          - name: spaces
            parent: true
            submitacl: " tenants"
"#;

fn person(user: &str, groups: &[&str]) -> Identity {
    Identity { user: user.to_owned(), groups: groups.iter().map(ToString::to_string).collect() }
}

fn owned(queues: &[&str]) -> Vec<String> {
    queues.iter().map(ToString::to_string).collect()
}

fn pod(namespace: &str, queue: &str) -> Workload {
    let labels = [("yunikorn.apache.org/queue".to_owned(), queue.to_owned())];
    let labels = labels.into_iter().filter(|(_, queue)| !queue.is_empty()).collect();
    let pod = Pod { labels, ..Pod::default() };
    Workload { namespace: namespace.to_owned(), pod, ..Workload::default() }
}

fn lines(case: Case) -> Vec<String> {
    decided(case, ResolverKind::None)
}

fn decided(case: Case, resolver: ResolverKind) -> Vec<String> {
    let trees = [parsed(QUEUES)];
    let expectations = Expectations { partition: "DEFAULT".to_owned(), cases: vec![case] };
    let checks = run(
        &expectations,
        World { trees: &trees, resolver: &resolver, version: Version::V1_8, explain: &sentence },
    );
    assert_eq!(checks.len(), expectations.size());
    checks.iter().map(Check::line).collect()
}

#[test]
fn met_expectation_passes_and_others_have_a_reason() {
    let case = Case {
        subjects: vec![person("sue", &[]), person("ann", &["devs", "qa"])],
        allow: Queues { submit: owned(&["root.prod.etl"]), administer: owned(&["root.prod"]) },
        deny: Queues { submit: owned(&["root.spaces", "root.PROD"]), administer: Vec::new() },
        ..Case::default()
    };
    assert_eq!(
        lines(case),
        [
            "user sue may submit to root.prod.etl",
            "expected: user sue may administer root.prod; but no adminacl from root.prod up to \
             root names user sue or group sue",
            "user sue may not submit to root.spaces",
            "expected: user sue may not submit to root.PROD; but user sue may submit to root.prod",
            "user ann in groups devs and qa may submit to root.prod.etl",
            "expected: user ann in groups devs and qa may administer root.prod; but no adminacl from root.prod up to root names user ann or any of 2 groups",
            "user ann in groups devs and qa may not submit to root.spaces",
            "expected: user ann in groups devs and qa may not submit to root.PROD; but group devs may submit \
             to root.prod",
        ]
    );
}

#[test]
fn check_on_a_missing_queue_fails() {
    let case = |dynamic| Case {
        subjects: vec![person("sue", &[])],
        deny: Queues { submit: owned(&["root.porod", "root.spaces.etl"]), administer: Vec::new() },
        dynamic,
        ..Case::default()
    };
    assert_eq!(
        lines(case(false)),
        [
            "expected: user sue may not submit to root.porod; but `root.porod` is not configured; did you \
             mean root.prod?",
            "expected: user sue may not submit to root.spaces.etl; but `root.spaces.etl` is not configured; \
             if placement rules create it, write `dynamic: true` in the case",
        ]
    );
    assert_eq!(
        lines(case(true)),
        ["user sue may not submit to root.porod", "user sue may not submit to root.spaces.etl"]
    );
}

#[test]
fn application_runs_where_the_rules_place_it() {
    let placing = |namespace: &str, queue: &str, expected: &str| Placing {
        workload: pod(namespace, queue),
        expected: if expected.is_empty() {
            ExpectedPlacement::Nowhere
        } else {
            ExpectedPlacement::In(expected.to_owned())
        },
    };
    let case = Case {
        subjects: vec![person("sue", &["tenants"])],
        placements: vec![
            placing("etl", "root.prod.etl", "root.Prod.Etl"),
            placing("etl", "", "root.spaces.etl"),
            placing("etl", "root.spaces", "root.spaces"),
            placing("etl", "", ""),
        ],
        ..Case::default()
    };
    assert_eq!(
        lines(case),
        [
            "an application of user sue in group tenants in namespace etl, asking for root.prod.etl, runs in \
             root.Prod.Etl",
            "an application of user sue in group tenants in namespace etl runs in root.spaces.etl",
            "expected: an application of user sue in group tenants in namespace etl, asking for root.spaces, \
             runs in root.spaces; but it runs in root.spaces.etl: `root.spaces` is not a leaf; applications run \
             in the queues below it",
            "expected: an application of user sue in group tenants in namespace etl is rejected; but it runs \
             in root.spaces.etl",
        ]
    );
    let outsider = Case {
        subjects: vec![person("bob", &["qa"])],
        placements: vec![placing("etl", "root.prod.etl", ""), placing("etl", "", "root.spaces.etl")],
        ..Case::default()
    };
    let lines = lines(outsider);
    assert!(!lines[0].starts_with("expected"), "{lines:?}");
    let start = "expected: an application of user bob in group qa in namespace etl runs in root.spaces.etl; \
        but it is rejected: they may not submit to `root.spaces.etl`";
    assert!(lines[1].starts_with(start), "{lines:?}");
}

#[test]
fn unknown_groups_are_undecided_and_refused_users_denied() {
    let case = |user: &str, groups: &[&str]| Case {
        subjects: vec![person(user, groups)],
        allow: Queues { submit: owned(&["root.prod"]), administer: Vec::new() },
        deny: Queues { submit: owned(&["root.spaces"]), administer: Vec::new() },
        placements: [ExpectedPlacement::Nowhere, ExpectedPlacement::In("root.spaces.etl".to_owned())]
            .map(|expected| Placing { workload: pod("etl", ""), expected })
            .into(),
        ..Case::default()
    };
    let unknown = decided(case("sue", &[]), ResolverKind::Ldap);
    assert!(unknown.iter().all(|line| line.ends_with("write the groups of the subject")), "{unknown:?}");
    assert_eq!(decided(case("sue", &["x"]), ResolverKind::Ldap).len(), 4);
    let refused = lines(case("su e", &["devs"]));
    assert!(refused[0].contains("YuniKorn refuses every request of user `su e`"), "{refused:?}");
    assert_eq!(refused[1], "user su e in group devs may not submit to root.spaces");
    assert_eq!(refused[2], "an application of user su e in group devs in namespace etl is rejected");
    let start = "expected: an application of user su e in group devs in namespace etl runs in \
        root.spaces.etl; but YuniKorn refuses every request of user `su e`";
    assert!(refused[3].starts_with(start), "{refused:?}");
}

/// A hint compares every queue, and a status lists only a few of many failures.
#[test]
fn intended_queue_is_searched_only_when_the_reason_is_read() {
    let names: Vec<String> = (0..40).map(|number| format!("{{name: team-{number:02}}}")).collect();
    let root = format!("{{name: root, queues: [{}]}}", names.join(", "));
    let trees = [parsed(&format!("partitions: [{{name: default, queues: [{root}]}}]"))];
    // Each is a misspelled queue.
    let slips = (0..40).map(|number| format!("root.taem-{number:02}")).collect();
    let expectations = Expectations {
        partition: "default".to_owned(),
        cases: vec![Case {
            subjects: vec![person("x", &[]), person("y", &[])],
            deny: Queues { submit: slips, administer: Vec::new() },
            ..Case::default()
        }],
    };
    COMPARED.set(0);
    let checks = run(
        &expectations,
        World { trees: &trees, resolver: &ResolverKind::None, version: Version::V1_8, explain: &sentence },
    );
    assert_eq!(Tally::new(&checks), Tally { passed: 0, failed: 80, undecided: 0 });
    assert_eq!(COMPARED.get(), 0, "nobody has read anything");
    let line = checks[47].line();
    assert!(line.ends_with("`root.taem-07` is not configured; did you mean root.team-07?"), "{line}");
    assert!((1..=40).contains(&COMPARED.get()), "{} comparisons", COMPARED.get());
}

#[test]
fn undecided_and_failed_checks_are_counted_separately() {
    let trees: [Tree; 0] = [];
    let expectations = Expectations {
        partition: "gpu".to_owned(),
        cases: vec![Case {
            subjects: vec![person("a", &[]), person("b", &[])],
            deny: Queues { submit: owned(&["root"]), administer: owned(&["root"]) },
            ..Case::default()
        }],
    };
    let checks = run(
        &expectations,
        World { trees: &trees, resolver: &ResolverKind::None, version: Version::V1_8, explain: &sentence },
    );
    assert_eq!(Tally::new(&checks), Tally { passed: 0, failed: 4, undecided: 0 });
    assert_eq!(checks[0].verdict.reason().as_deref(), Some("there is no partition `gpu`"));
    assert_eq!((checks[0].location(), Tally::new(&checks).all()), ("case 1".to_owned(), 4));
}
