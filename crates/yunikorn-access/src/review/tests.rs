use proptest::prelude::*;

use super::request::{PathAttributes, ResourceAttributes};
use super::*;
use crate::testing::tree;
use crate::tree::{Origin, Scheduler, Tree};
use yunikorn::application::{ApplicationAcl, OwnRules, Rules};
use yunikorn::identity::{Identity, ResolverKind};
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;
use yunikorn::version::Version;

/// The content of a `SubjectAccessReview`.
#[derive(Debug, Clone, Default)]
struct Review {
    identity: Identity,
    resource: Option<ResourceAttributes>,
    path: Option<PathAttributes>,
}

fn read(review: &Review) -> Result<AccessAction<'_>, Answer> {
    AccessAction::read(review.resource.as_ref(), review.path.as_ref(), false)
}

fn queues() -> Tree {
    let mut tree = tree(&[
        ("root", "", " ops"),
        ("root.prod", "sue devs,prod-devs", ""),
        ("root.prod.etl", "", ""),
        ("root.test", "*", ""),
    ]);
    let object = Origin::Object { kind: "QueueAcl", name: "prod".to_owned(), until: None };
    let granted = yunikorn::acl::parse("sue").expect("acl");
    tree.attribute(&QueuePath::parse("root.prod").expect("path"), Right::Submit, object, &granted);
    tree
}

/// Returns sue's application in root.prod, in namespace `jobs`, or nothing for other names.
fn application(namespace: &str, id: &str) -> Lookup {
    if id != "spark-1" || !["", "jobs"].contains(&namespace) {
        return Lookup::Unknown;
    }
    let acl = ApplicationAcl { owner: "sue".to_owned(), rules: Rules::YuniKorn(OwnRules::default()) };
    Lookup::Application(Box::new(Application { acl, queue: "root.prod".to_owned() }))
}

fn asked(review: &Review) -> Answer {
    let tree = queues();
    let action = match read(review) {
        Ok(action) => action,
        Err(answer) => return answer,
    };
    let found = match action {
        AccessAction::Application { namespace, id, .. } => Some(application(namespace, id)),
        _ => None,
    };
    let request = AccessRequest { partition: "default", user: &review.identity, action };
    let scheduler = Scheduler { tree: &tree, resolver: &ResolverKind::None, version: Version::V1_8 };
    answer(&request, found.as_ref(), scheduler)
}

fn review(user: &str, groups: &[&str]) -> Review {
    let groups = groups.iter().chain(&["system:authenticated"]).map(ToString::to_string).collect();
    Review { identity: Identity { user: user.to_owned(), groups }, ..Review::default() }
}

fn about(verb: &str, group: &str, resource: &str, name: &str) -> ResourceAttributes {
    ResourceAttributes {
        namespace: "default".to_owned(),
        verb: verb.to_owned(),
        group: group.to_owned(),
        version: "*".to_owned(),
        resource: resource.to_owned(),
        name: name.to_owned(),
        ..ResourceAttributes::default()
    }
}

fn with(review: Review, resource: ResourceAttributes) -> Review {
    Review { resource: Some(resource), ..review }
}

#[test]
fn every_spelling_of_kubectl_is_parsed() {
    for (group, resource) in [
        ("queuewarden.dev", "queues"),
        ("access.queuewarden.dev", "queues"),
        ("", "queues.queuewarden.dev"),
        ("", "queues.access.queuewarden.dev"),
        ("", "Queues.QueueWarden.dev"),
        ("", "queue.queuewarden.dev"),
        ("", "queues.v1alpha1.access.queuewarden.dev"),
    ] {
        for (verb, right) in [("submit", Right::Submit), ("use", Right::Submit), ("administer", Right::Admin)]
        {
            let review = with(review("sue", &[]), about(verb, group, resource, "ROOT.Prod"));
            assert_eq!(
                read(&review),
                Ok(AccessAction::Queue { right, queue: "ROOT.Prod" }),
                "{group} {resource}"
            );
        }
    }
    let path = PathAttributes { path: "/yunikorn/queues/root.prod".to_owned(), verb: "submit".to_owned() };
    let by_path = Review { path: Some(path), ..review("sue", &[]) };
    assert_eq!(read(&by_path), Ok(AccessAction::Queue { right: Right::Submit, queue: "root.prod" }));
}

#[test]
fn foreign_question_is_left_to_others() {
    let cases = [
        about("get", "", "pods", "a"),
        about("submit", "", "queues", "root.prod"),
        about("submit", "queuewarden.dev", "queueacls", "root.prod"),
        about("submit", "scheduling.volcano.sh", "queues", "root.prod"),
        about("submit", "scheduling.volcano.sh", "queues.queuewarden.dev", "root.prod"),
        about("submit", "", "queues.queuewarden.dev.example.com", "root.prod"),
        about("submit", "", "queues.example.queuewarden.dev", "root.prod"),
        about("get", "queuewarden.dev", "queues", "root.prod"),
        about("*", "queuewarden.dev", "queues", "root.prod"),
        about("submit", "*", "*", "root.prod"),
        about("submit", "queuewarden.dev", "applications", "spark-1"),
        about("kill", "queuewarden.dev", "queues", "root.prod"),
    ];
    for resource in cases {
        let answer = asked(&with(review("sue", &["ops"]), resource.clone()));
        assert_eq!(answer.opinion, Opinion::NoOpinion, "{resource:?}: {answer:?}");
        assert_eq!(answer.evaluation_error, None);
        assert!(answer.reason.starts_with("queuewarden answers"), "{}", answer.reason);
    }
    for path in ["/yunikorn", "/yunikorn/queuesroot.prod", "/healthz", ""] {
        let attributes = PathAttributes { path: path.to_owned(), verb: "submit".to_owned() };
        let review = Review { path: Some(attributes), ..review("sue", &["ops"]) };
        assert_eq!(asked(&review).opinion, Opinion::NoOpinion, "{path}");
    }
}

#[test]
fn misspelled_verbs_are_distinguished_from_foreign_ones() {
    let near = |verb: &str, resource: &str| {
        let review = with(review("sue", &[]), about(verb, "queuewarden.dev", resource, "x"));
        read(&review).unwrap_err()
    };
    let of_queues = "queuewarden answers submit, use and administer for queues, not";
    let of_applications = "queuewarden answers view, modify, kill, logs and move for applications, not";
    for (verb, resource, start, end) in [
        ("sumbit", "queues", of_queues, "`sumbit`; did you mean `submit`?"),
        ("Submit", "queues", of_queues, "`Submit`; did you mean `submit`?"),
        ("vieww", "applications", of_applications, "`vieww`; did you mean `view`?"),
        ("list", "queues", of_queues, "`list`"),
        ("delete", "applications", of_applications, "`delete`"),
    ] {
        let reported = near(verb, resource);
        assert_eq!(reported.reason, format!("{start} {end}"));
    }
}

#[test]
fn question_has_the_verb_of_its_right() {
    for (resource, name, verb, expected) in [
        ("queues", "root.prod", "submit", "submit"),
        ("queues", "root.prod", "use", "submit"),
        ("queues", "", "administer", "administer"),
        ("applications", "spark-1", "kill", "kill"),
    ] {
        let review = with(review("sue", &[]), about(verb, "queuewarden.dev", resource, name));
        assert_eq!(read(&review).map(AccessAction::verb), Ok(expected), "{verb} {resource} {name}");
    }
}

#[test]
fn answers_follow_the_acls_with_reasons() {
    let cases = [
        (
            "sue",
            &[][..],
            "submit",
            "root.prod",
            Opinion::Allow,
            "user sue may submit to root.prod (QueueAcl/prod)",
        ),
        ("bob", &["devs"], "use", "Root.PROD.Etl", Opinion::Allow, "group devs may submit to root.prod"),
        ("bob", &["devs"], "administer", "root.prod", Opinion::Deny, "no adminacl from root.prod up to root"),
        (
            "ann",
            &["ops"],
            "administer",
            "root.prod.new",
            Opinion::Allow,
            "`root.prod.new` is not configured, so root.prod decides",
        ),
        (
            "ann",
            &[],
            "submit",
            "root.prod",
            Opinion::Deny,
            "what would help: name user ann in the submitacl of queue root.prod, in QueueAcl/prod",
        ),
        (
            "Sue",
            &[],
            "submit",
            "root.prod",
            Opinion::Deny,
            "about the submitacl of root.prod: it names the user `sue`; names are case-sensitive",
        ),
        ("sue", &[], "submit", "prod", Opinion::Deny, "write the full path from the root: `root.prod`"),
        ("sue", &["ops"], "submit", "root.a b", Opinion::Deny, "`root.a b` is not a queue"),
        (
            "a b",
            &["ops"],
            "submit",
            "root.test",
            Opinion::Deny,
            "YuniKorn refuses every request of user `a b`: invalid username",
        ),
        ("", &["ops"], "submit", "root.test", Opinion::Deny, "empty user cannot resolve"),
        (
            "ann",
            &["ops"],
            "submit",
            "",
            Opinion::Allow,
            "in all queues: group ops may administer root, and so may submit",
        ),
        (
            "sue",
            &[],
            "submit",
            "",
            Opinion::NoOpinion,
            "to ask about one queue: submit queues.queuewarden.dev/root.prod",
        ),
    ];
    for (user, groups, verb, name, opinion, part) in cases {
        let answer = asked(&with(review(user, groups), about(verb, "queuewarden.dev", "queues", name)));
        assert_eq!(answer.opinion, opinion, "{user} {verb} {name}: {}", answer.reason);
        assert!(answer.reason.contains(part), "{user} {verb} {name}: {}", answer.reason);
        assert_eq!(answer.evaluation_error, None);
        assert_eq!(
            (answer.allowed(), answer.denied()),
            (opinion == Opinion::Allow, opinion == Opinion::Deny)
        );
        let word = match opinion {
            Opinion::Allow => "allowed",
            Opinion::NoOpinion => "no_opinion",
            Opinion::Deny => "denied",
        };
        assert_eq!(answer.decision(), word, "{user} {verb} {name}");
    }
}

#[test]
fn known_applications_are_decided() {
    let ask = |user: &str, groups: &[&str], verb: &str, namespace: &str, id: &str, subresource: &str| {
        let resource = ResourceAttributes {
            namespace: namespace.to_owned(),
            subresource: subresource.to_owned(),
            ..about(verb, "", "applications.queuewarden.dev", id)
        };
        asked(&with(review(user, groups), resource))
    };
    let cases = [
        (ask("sue", &[], "kill", "jobs", "spark-1", ""), Opinion::Allow, "sue owns it"),
        (ask("ann", &["ops"], "logs", "", "spark-1", ""), Opinion::Allow, "group ops may administer root"),
        (
            ask("bob", &["devs"], "view", "jobs", "spark-1", ""),
            Opinion::Deny,
            "user bob may not view it: sue owns it",
        ),
        (
            ask("sue", &[], "move", "jobs", "spark-1", "root.test"),
            Opinion::Allow,
            "sue owns it; everyone may submit to root.test",
        ),
        (ask("sue", &[], "move", "jobs", "spark-1", ""), Opinion::NoOpinion, "--subresource=root.prod"),
        (ask("sue", &[], "kill", "jobs", "", ""), Opinion::NoOpinion, "names no application"),
        (ask("sue", &[], "view", "jobs", "spark-1", "log"), Opinion::NoOpinion, "no subresource `log`"),
    ];
    for (answer, opinion, part) in cases {
        assert_eq!(answer.opinion, opinion, "{}", answer.reason);
        assert!(answer.reason.contains(part), "{part}: {}", answer.reason);
    }
    let unknown = ask("sue", &[], "kill", "other", "spark-1", "");
    assert_eq!(unknown.opinion, Opinion::NoOpinion);
    assert_eq!(
        unknown.evaluation_error.as_deref(),
        Some("there is no application `spark-1` in namespace `other`")
    );
}

#[test]
fn review_with_no_or_two_questions_is_an_error() {
    let path = PathAttributes { path: "/yunikorn/queues".to_owned(), verb: "submit".to_owned() };
    let both = Review {
        path: Some(path),
        ..with(review("ann", &["ops"]), about("submit", "queuewarden.dev", "queues", "root"))
    };
    for malformed in [review("sue", &["ops"]), both] {
        let answer = asked(&malformed);
        assert_eq!(answer.opinion, Opinion::NoOpinion);
        assert!(answer.evaluation_error.is_some());
        assert_eq!(answer.decision(), "undecided");
    }
}

#[test]
fn groups_are_resolved_only_if_none_are_given() {
    let resource = about("submit", "queuewarden.dev", "queues", "root.prod");
    let nobody =
        Review { identity: Identity { user: "devs".to_owned(), groups: Vec::new() }, ..Review::default() };
    assert!(asked(&with(nobody, resource.clone())).allowed(), "its own group");
    assert!(asked(&with(review("devs", &[]), resource)).denied(), "only system:authenticated");
}

#[test]
fn reasons_are_one_bounded_line() {
    let groups = vec!["g\n\u{1b}[31m".to_owned()];
    let review = Review { identity: Identity { user: "ann".repeat(5000), groups }, ..Review::default() };
    let answer = asked(&with(review, about("submit", "queuewarden.dev", "queues", "root.prod")));
    assert!(answer.denied());
    assert!(answer.reason.ends_with('…') && !answer.reason.contains(['\n', '\u{1b}']), "{}", answer.reason);
    assert!(answer.reason.len() < 10_000);
}

fn person(user: &str, groups: &[&str]) -> Identity {
    Identity { user: user.to_owned(), groups: groups.iter().map(ToString::to_string).collect() }
}

fn may_ask(tree: Option<&Tree>, caller: &Identity, about: &Identity, queue: &str) -> bool {
    let action = AccessAction::Queue { right: Right::Submit, queue };
    AccessRequest { partition: "default", user: about, action }.is_about(caller)
        || administers(tree, caller, queue)
}

#[test]
fn only_administrators_may_ask_about_others() {
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
    for (caller, about, queue, expected) in cases {
        assert_eq!(may_ask(Some(&tree), &caller, &about, queue), expected, "{caller:?} {about:?} {queue}");
    }
    assert!(!may_ask(None, &person("sue", &[]), &person("bob", &[]), "root.prod"));
    assert!(may_ask(None, &person("sue", &[]), &person("sue", &[]), "root.prod"));
}

proptest! {
    #[test]
    fn any_review_is_answered_and_administrators_may_submit(
        user in ".{0,12}", groups in proptest::collection::vec("ops|devs|.{0,8}", 0..4),
        verb in "submit|use|administer|move|kill|.{0,8}", group in "queuewarden.dev|.{0,8}",
        resource in "queues|applications|queues.queuewarden.dev|.{0,12}", subresource in "|.{0,4}",
        name in "root(.prod|.test|.x){0,2}|.{0,12}",
    ) {
        let resource = ResourceAttributes { verb, group, resource, subresource, name, ..ResourceAttributes::default() };
        let review = Review { identity: Identity { user, groups }, ..Review::default() };
        let asked_verb = |verb: &str| {
            asked(&with(review.clone(), ResourceAttributes { verb: verb.to_owned(), ..resource.clone() }))
        };
        let first = asked_verb(&resource.verb);
        prop_assert!(first.reason.chars().all(|c| !c.is_control()));
        if asked_verb("administer").allowed() && !resource.name.to_lowercase().contains("@recovery@") {
            prop_assert!(asked_verb("submit").allowed());
        }
        prop_assert_eq!(asked_verb("submit").opinion, asked_verb("use").opinion);
    }
}
