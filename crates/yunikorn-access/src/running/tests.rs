use proptest::prelude::*;

use super::joins::Wanted;
use super::*;
use crate::application::Verb;
use crate::review::request::ResourceAttributes;
use crate::review::{AccessAction, AccessRequest, Answer, Opinion, answer};
use crate::testing::{known, later, parsed, tree};
use yunikorn::admission::request::{QUEUE, SPARK_APP_SELECTOR as SPARK, USER_INFO, USERNAME};
use yunikorn::identity::{Identity, ResolverKind};
use yunikorn::version::Version;

fn queues() -> Tree {
    tree(&[("root", "", ""), ("root.prod", "sue bob", "ann"), ("root.mallory", "mallory", "mallory")])
}

fn pod(name: &str, user: &str, queue: &str, second: i64) -> Pod {
    let mut pod = Pod { name: name.to_owned(), ..Pod::default() };
    pod.workload.namespace = "jobs".to_owned();
    pod.workload.pod.uid = format!("uid-{name}");
    pod.workload.pod.labels =
        [(SPARK.to_owned(), "spark-1".to_owned()), (QUEUE.to_owned(), queue.to_owned())].into();
    let info = format!(r#"{{"user":"{user}","groups":["staff"]}}"#);
    pod.workload.pod.annotations = [(USER_INFO.to_owned(), info)].into();
    pod.application = "spark-1".to_owned();
    pod.created = Timestamp::from_second(second).unwrap();
    pod
}

fn scheduler(tree: &Tree) -> Scheduler<'_> {
    Scheduler { tree, resolver: &ResolverKind::None, version: Version::V1_8 }
}

fn decided(pod: &Pod, spark: &[(String, String)]) -> Application {
    let tree = queues();
    match application(pod, spark, scheduler(&tree)) {
        Lookup::Application(application) => *application,
        other => panic!("{other:?}"),
    }
}

fn found(pods: Vec<Pod>, namespace: &str) -> Result<Option<String>, String> {
    known(pods).first(namespace, "spark-1").map(|pod| pod.map(|pod| pod.name.clone()))
}

#[test]
fn new_pod_joins_only_applications_of_its_user_and_namespace() {
    let named = ["spark-1", "spark-2"].into();
    let wanted = Wanted { applications: named, ..Wanted::default() };
    let objection = |pods: Vec<Pod>, id: &str, user: &str| {
        known(pods).running(&wanted, later()).objection(id, "jobs", user)
    };
    let sues = || pod("driver", "sue", "root.prod", 5);
    let mut elsewhere = pod("a", "eve", "root.prod", 1);
    "other".clone_into(&mut elsewhere.workload.namespace);
    let ended = Pod { ended: true, ..elsewhere.clone() };
    let mut nobodys = sues();
    nobodys.workload.pod.annotations.clear();
    for (pods, user, expected) in [
        (vec![], "eve", None),
        (vec![sues()], "sue", None),
        (vec![sues()], "eve", Some("another user runs")),
        (vec![sues()], "", Some("another user runs")),
        (vec![sues(), pod("later", "eve", "", 6)], "eve", Some("another user runs")),
        (vec![sues(), elsewhere.clone()], "sue", Some("runs in another namespace")),
        (vec![elsewhere], "eve", Some("runs in another namespace")),
        (vec![sues(), ended], "sue", None),
        (vec![nobodys], "eve", None),
    ] {
        let objection = objection(pods.clone(), "spark-1", user);
        assert_eq!(objection.is_some(), expected.is_some(), "{user} {pods:?}: {objection:?}");
        assert!(expected.is_none_or(|why| objection.unwrap().application.ends_with(why)), "{user} {pods:?}");
    }
    assert_eq!(objection(vec![sues()], "spark-2", "eve"), None);
}

#[test]
fn oldest_pod_represents_the_application() {
    let pods = || {
        vec![pod("exec", "x", "root.prod", 9), pod("driver", "sue", "root.prod", 5), pod("late", "x", "", 7)]
    };
    assert_eq!(found(pods(), "jobs"), Ok(Some("driver".to_owned())));
    assert_eq!(found(pods(), ""), Ok(Some("driver".to_owned())));
    assert_eq!(found(pods(), "other"), Ok(None));
    let mut other = pod("driver", "eve", "root.prod", 1);
    other.workload.namespace = "other".to_owned();
    let both = [pods(), vec![other]].concat();
    assert_eq!(found(both.clone(), "jobs"), Ok(Some("driver".to_owned())));
    assert!(found(both, "").unwrap_err().contains("-n NAMESPACE"));
}

#[test]
fn owner_and_queue_equal_yunikorns() {
    let decided_as = |pod: &Pod| {
        let application = decided(pod, &[]);
        (application.acl.owner, application.queue)
    };
    let is = |owner: &str, queue: &str| (owner.to_owned(), queue.to_owned());
    assert_eq!(decided_as(&pod("a", "sue", "root.prod", 0)), is("sue", "root.prod"));
    assert_eq!(decided_as(&pod("a", "sue", "root.Prod", 0)), is("sue", "root.prod"));
    // Denied now, but the pod may have been running since before.
    assert_eq!(decided_as(&pod("a", "eve", "root.prod", 0)), is("eve", "root.prod"));
    // `nobody` is not a user who could claim the pod.
    let mut anonymous = pod("a", "", "root.prod", 0);
    assert_eq!(decided_as(&anonymous), is("", "root.prod"));
    anonymous.workload.pod.annotations.clear();
    assert_eq!(decided_as(&anonymous), is("", "root.prod"));
    // Without the annotation, the label names the user.
    anonymous.workload.pod.labels.insert(USERNAME.to_owned(), "sue".to_owned());
    assert_eq!(decided_as(&anonymous), is("sue", "root.prod"));
    // A running pod is not assigned to the recovery queue.
    let mut running = pod("a", "eve", "root.prod", 0);
    running.workload.node_name = "n1".to_owned();
    assert_eq!(decided_as(&running), is("eve", "root.prod"));
    running.workload.pod.labels.insert(QUEUE.to_owned(), "elsewhere".to_owned());
    let tree = queues();
    for lost in [pod("a", "eve", "elsewhere", 0), running] {
        let lost = application(&lost, &[], scheduler(&tree));
        assert!(matches!(lost, Lookup::Undecided(_)), "{lost:?}");
    }
}

/// Returns the queue of a pod of `sue` that names this queue, under these rules, or the reason why it is
/// unknown.
fn queue_under(rules: &[&str], asked: &str) -> Result<String, String> {
    let rules: Vec<String> = rules.iter().map(|rule| format!("      - {rule}\n")).collect();
    let rules = rules.concat();
    let text = crate::testing::text(&[
        ("root", "", ""),
        ("root.prod", "sue", ""),
        ("root.dev", "sue", ""),
        ("root.sue", "sue", ""),
        ("root.closed", "", ""),
        ("root.open", "sue", ""),
        ("root.open.a", "", ""),
    ]);
    let head = "  - name: default\n";
    let rules = if rules.is_empty() { rules } else { format!("    placementrules:\n{rules}") };
    let tree = parsed(&text.replacen(head, &format!("{head}{rules}"), 1));
    match application(&pod("a", "sue", asked, 0), &[], scheduler(&tree)) {
        Lookup::Application(application) => Ok(application.queue),
        Lookup::Undecided(why) => Err(why),
        Lookup::Unknown => panic!("nothing looks for it"),
    }
}

#[test]
fn queue_is_unknown_if_rules_use_namespace_annotations() {
    const TO_PROD: &str = "{name: fixed, value: root.prod}";
    const PROVIDED: &str = "{name: provided}";
    for by_annotation in [
        "{name: tag, value: namespace.parentqueue}",
        "{name: Tag, value: Namespace.ParentQueue}",
        "{name: user, parent: {name: tag, value: namespace.parentqueue}}",
    ] {
        for (rules, asked, queue) in [
            (&[by_annotation, TO_PROD][..], "", "root.prod"),
            (&[by_annotation, TO_PROD], "dev", "root.prod"),
            // A named queue has no effect if no rule uses it.
            (&[by_annotation, TO_PROD], "root.dev", "root.prod"),
            (&[by_annotation, TO_PROD], "root.prod", "root.prod"),
            (&[by_annotation, PROVIDED], "root.dev", "root.dev"),
            (&[PROVIDED, by_annotation, TO_PROD], "root.none", "root.prod"),
        ] {
            let why = queue_under(rules, asked).unwrap_err();
            assert!(
                why.contains(&format!("may be in {queue}"))
                    && why.contains("annotations of namespace `jobs`"),
                "{by_annotation} {asked}: {why}"
            );
        }
        // The annotations are not used.
        let rules = [PROVIDED, by_annotation, TO_PROD];
        assert_eq!(queue_under(&rules, "root.dev").as_deref(), Ok("root.dev"), "{by_annotation}");
    }
}

#[test]
fn pod_placed_nowhere_is_in_its_requested_queue_if_no_other_rule_applies() {
    for rules in [&[][..], &["{name: provided}"], &["{name: Provided, filter: {type: allow, users: [ann]}}"]]
    {
        assert_eq!(queue_under(rules, "root.closed").as_deref(), Ok("root.closed"), "{rules:?}");
        for no_full_path in ["closed", "ROOT.closed"] {
            let why = queue_under(rules, no_full_path).unwrap_err();
            assert!(why.contains("the queue of its pod `a` is unknown"), "{rules:?}: {why}");
        }
    }
    for rules in [
        &["{name: fixed, value: root.closed}"][..],
        &["{name: provided}", "{name: fixed, value: root.closed}"],
        &["{name: provided}", "{name: tag, value: namespace.parentqueue}"],
        &["{name: user, parent: {name: provided}}"],
    ] {
        let why = queue_under(rules, "root.closed").unwrap_err();
        assert!(why.contains("the queue of its pod `a` is unknown"), "{rules:?}: {why}");
    }
}

/// Queues created by rules are in no configuration, and have the ACLs of their parents.
#[test]
fn queue_is_unknown_if_one_created_at_run_time_may_come_first() {
    const TO_PROD: &str = "{name: fixed, value: root.prod}";
    const MAKING: &str = "{name: tag, value: namespace, create: true}";
    let why = queue_under(&["{name: provided}", TO_PROD, MAKING], "root.open.made").unwrap_err();
    assert!(why.contains("may be in root.prod") && why.contains("created at run time"), "{why}");
    // Nobody may submit to the queues that would be created there.
    let closed = queue_under(&["{name: provided}", TO_PROD, MAKING], "root.closed.made");
    assert_eq!(closed.as_deref(), Ok("root.prod"));
    // No rule creates a queue.
    let none = queue_under(&["{name: provided}", TO_PROD], "root.open.made");
    assert_eq!(none.as_deref(), Ok("root.prod"));
}

#[test]
fn queue_is_reported_if_rules_use_only_known_data() {
    const TO_PROD: &str = "{name: fixed, value: root.prod}";
    for other in [
        "{name: tag, value: namespace}",
        "{name: Tag, value: Namespace}",
        "{name: tag, value: namespace, parent: {name: tag, value: namespace}}",
    ] {
        for asked in ["", "dev", "root.dev"] {
            assert_eq!(queue_under(&[other, TO_PROD], asked).as_deref(), Ok("root.prod"), "{other} {asked}");
        }
    }
    assert_eq!(queue_under(&["{name: user}", TO_PROD], "root.dev").as_deref(), Ok("root.sue"));
}

#[test]
fn only_an_owner_in_the_same_application_names_the_user_of_a_pod() {
    let driver = pod("driver", "sue", "root.prod", 5);
    let mut executor = pod("exec", "spark", "root.prod", 9);
    executor.owners = vec![driver.workload.pod.uid.clone()];
    let stranger = pod("stranger", "mallory", "root.mallory", 1);
    let mut away = driver.clone();
    away.workload.namespace = "other".to_owned();
    let mut apart = driver.clone();
    apart.application = "spark-2".to_owned();
    let others = [stranger, away, apart].map(Arc::new);
    let [driver, executor] = [driver, executor].map(Arc::new);
    let spoken = |pods: &[&Arc<Pod>], pod| Arc::clone(speaker(pods.iter().copied(), pod));
    let [stranger, away, apart] = &others;
    assert_eq!(spoken(&[stranger, away, apart, &driver, &executor], &executor), driver);
    assert_eq!(spoken(&[stranger, away, apart, &executor], &executor), executor);
    assert_eq!(spoken(&[stranger, &executor, &driver], &driver), driver);
}

fn asks(
    user: &str,
    verb: &str,
    subresource: &str,
    pods: &[Arc<Pod>],
    target: usize,
    spark: &[(String, String)],
) -> Answer {
    let resource = ResourceAttributes {
        namespace: "jobs".to_owned(),
        verb: verb.to_owned(),
        resource: "pods".to_owned(),
        subresource: subresource.to_owned(),
        name: pods[target].name.clone(),
        ..ResourceAttributes::default()
    };
    let user = Identity { user: user.to_owned(), groups: vec!["system:authenticated".to_owned()] };
    let tree = queues();
    let action = AccessAction::read(Some(&resource), None, true).expect("a question about a pod");
    let application = decided(speaker(pods.iter(), &pods[target]), spark);
    let request = AccessRequest { partition: "default", user: &user, action };
    answer(&request, Some(&Lookup::Application(Box::new(application))), scheduler(&tree))
}

fn allowed(user: &str, pods: &[Arc<Pod>], target: usize) -> bool {
    let answer = asks(user, "delete", "", pods, target, &[]);
    assert!(answer.opinion != Opinion::Deny, "an authorizer of pods only adds: {answer:?}");
    answer.allowed()
}

#[test]
fn owners_and_queue_administrators_may_delete_and_executors_are_their_drivers() {
    let driver = pod("driver", "sue", "root.prod", 5);
    let mut executor = pod("exec", "system:serviceaccount:jobs:spark", "root.prod", 9);
    executor.owners = vec![driver.workload.pod.uid.clone()];
    let pods = [driver, executor].map(Arc::new);
    for target in [0, 1] {
        assert!(allowed("sue", &pods, target) && allowed("ann", &pods, target));
        assert!(!allowed("bob", &pods, target) && !allowed("mallory", &pods, target));
    }
}

#[test]
fn user_of_a_foreign_id_gets_no_access() {
    let sues = pod("driver", "sue", "root.prod", 5);
    let mut mallorys = pod("older", "mallory", "root.mallory", 1);
    mallorys.workload.pod.annotations.insert(MODIFY_ACL.to_owned(), "*".to_owned());
    let pods = [sues, mallorys].map(Arc::new);
    assert!(!allowed("mallory", &pods, 0) && !allowed("eve", &pods, 0));
    assert!(allowed("mallory", &pods, 1) && allowed("eve", &pods, 1), "her own pod is hers to give away");
    // A pod of another application does not decide for a pod that it owns.
    let mut other = pod("other", "mallory", "root.mallory", 1);
    other.application = "spark-2".to_owned();
    let mut owned = pod("driver", "sue", "root.prod", 5);
    owned.owners = vec![other.workload.pod.uid.clone()];
    assert!(!allowed("mallory", &[owned, other].map(Arc::new), 0));
}

#[test]
fn application_grants_access_to_others() {
    let mut driver = pod("driver", "sue", "root.prod", 5);
    driver.workload.pod.annotations.insert(VIEW_ACL.to_owned(), "eve".to_owned());
    let pods = [Arc::new(driver)];
    assert!(asks("eve", "get", "log", &pods, 0, &[]).allowed());
    assert!(!asks("eve", "delete", "", &pods, 0, &[]).allowed());
    let spark = |enable: &str| {
        [("spark.acls.enable", enable), ("spark.modify.acls", "bob")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
    };
    assert!(asks("bob", "delete", "", &pods, 0, &spark("true")).allowed());
    assert!(!asks("bob", "delete", "", &pods, 0, &spark("false")).allowed());
    assert!(
        !asks("mallory", "delete", "", &pods, 0, &spark("false")).allowed(),
        "a switch of Spark's pages gives no access to pods"
    );
}

#[test]
fn denial_about_a_pod_names_the_queue_with_an_escaped_owner() {
    let pods = [Arc::new(pod("driver", &"\u{200b}".repeat(200), "root.prod", 5))];
    let answer = asks("bob", "get", "log", &pods, 0, &[]);
    assert_eq!(answer.opinion, Opinion::NoOpinion);
    assert!(answer.reason.contains("root.prod"), "{}", answer.reason);
}

#[test]
fn only_logs_and_deletion_of_one_pod_concern_applications() {
    let about = |verb: &str, resource: &str, subresource: &str, name: &str, namespace: &str| {
        let resource = ResourceAttributes {
            namespace: namespace.to_owned(),
            verb: verb.to_owned(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            name: name.to_owned(),
            ..ResourceAttributes::default()
        };
        match AccessAction::read(Some(&resource), None, true) {
            Ok(AccessAction::Pod { verb, .. }) => Some(verb),
            _ => None,
        }
    };
    assert_eq!(about("get", "pods", "log", "a", "jobs"), Some(Verb::Logs));
    assert_eq!(about("delete", "pods", "", "a", "jobs"), Some(Verb::Kill));
    for (verb, resource, subresource, name, namespace) in [
        ("deletecollection", "pods", "", "", "jobs"),
        ("delete", "pods", "", "", "jobs"),
        ("delete", "pods", "", "a", ""),
        ("get", "pods", "", "a", "jobs"),
        ("create", "pods", "exec", "a", "jobs"),
        ("get", "pods", "exec", "a", "jobs"),
        ("delete", "secrets", "", "a", "jobs"),
        ("*", "pods", "log", "a", "jobs"),
    ] {
        assert_eq!(
            about(verb, resource, subresource, name, namespace),
            None,
            "{verb} {resource}/{subresource}"
        );
    }
}

proptest! {
    /// Whatever pods claim, nobody gets access to one unless its owner, its queue or the pod itself grants
    /// it.
    #[test]
    fn nobody_gets_more_access_than_granted(
        users in proptest::collection::vec("sue|bob|mallory|eve", 3),
        queues in proptest::collection::vec("root[.]prod|root[.]mallory|prod", 3),
        ids in proptest::collection::vec("spark-[12]", 3),
        times in proptest::collection::vec(0_i64..3, 3),
        asker in "ann|bob|mallory|eve",
    ) {
        let pods: Vec<Arc<Pod>> = (0..3).map(|n| {
            let mut one = pod(&format!("p{n}"), &users[n], &queues[n], times[n]);
            one.application.clone_from(&ids[n]);
            Arc::new(one)
        }).collect();
        let tree = self::queues();
        for target in &pods {
            let Lookup::Application(application) = super::application(speaker(pods.iter(), target), &[], scheduler(&tree)) else { continue };
            let target_index = pods.iter().position(|pod| pod.name == target.name).unwrap_or_default();
            if allowed(&asker, &pods, target_index) {
                let administers = (asker == "ann" && application.queue == "root.prod") || (asker == "mallory" && application.queue == "root.mallory");
                prop_assert!(application.acl.owner == asker || administers);
                prop_assert_eq!(&application.acl.owner, &users[target_index]);
            }
        }
    }
}
