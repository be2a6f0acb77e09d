use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::decide::decide;
use crate::running;
use crate::running::joins::Wanted;
use crate::testing::{any_identity, any_tree, known, later, parsed, tree};
use yunikorn::admission::request::{QUEUE, Texts, Workload as Workloads};
use yunikorn::admission::{EXTERNAL_USERS, Request};
use yunikorn::identity::ResolverKind;
use yunikorn::right::Right;
use yunikorn::version::Version;

const JOB: Kind = Kind::Workload(Workloads::Job);
const DEPLOYMENT: Kind = Kind::Workload(Workloads::Deployment);
const CONTROLLER: &str = "system:serviceaccount:kube-system:job-controller";

fn texts(pairs: &[(&str, &str)]) -> Texts {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn request(kind: Kind, user: &str, queue: &str) -> Request {
    let labels = if queue.is_empty() { Texts::new() } else { texts(&[(QUEUE, queue)]) };
    Request {
        operation: Operation::Create,
        kind,
        namespace: "jobs".to_owned(),
        user: user.to_owned(),
        groups: vec!["staff".to_owned()],
        pod: Pod { labels, ..Pod::default() },
        old_pod: Pod::default(),
    }
}

fn info(user: &str) -> String {
    UserInfo { user: user.to_owned(), groups: vec!["staff".to_owned()] }.write()
}

fn with_info(mut request: Request, user: &str) -> Request {
    request.pod.annotations.insert(USER_INFO.to_owned(), info(user));
    request
}

fn conf() -> Conf {
    let keys = texts(&[(EXTERNAL_USERS, "^airflow$")]);
    Conf::from_keys(&keys, Version::V1_8).0
}

fn applied<'a>(request: &'a Request, surroundings: &'a Surroundings) -> Applied<'a> {
    Applied { request, surroundings, owned: false, node_name: "", image_pull_secrets: &[] }
}

fn decided_in(tree: &Tree, request: &Request) -> Decision {
    let surroundings = Surroundings::default();
    let world = World { conf: &conf(), tree, resolver: &ResolverKind::None, running: &Running::default() };
    evaluate(&applied(request, &surroundings), world)
}

#[test]
fn workload_that_names_an_application_of_others_is_refused() {
    let mut first = running::Pod { application: "app-1".to_owned(), ..running::Pod::default() };
    first.workload.namespace = "jobs".to_owned();
    first.workload.pod.annotations.insert(USER_INFO.to_owned(), info("sue"));
    let wanted = Wanted { applications: ["app-1"].into(), ..Wanted::default() };
    let running = known([first]).running(&wanted, later());
    let (tree, conf) = (prod(), conf());
    let world = World { conf: &conf, tree: &tree, resolver: &ResolverKind::None, running: &running };
    let named = |kind, user: &str| {
        let mut request = request(kind, user, "root.dev");
        request.pod.labels.insert("applicationId".to_owned(), "app-1".to_owned());
        request
    };
    let refused = (Outcome::Refused, "application");
    let nobodys = with_info(named(DEPLOYMENT, CONTROLLER), "");
    let mut updated = Request { operation: Operation::Update, ..named(DEPLOYMENT, "bob") };
    updated.old_pod = Pod { labels: texts(&[(QUEUE, "root.dev")]), ..Pod::default() };
    for (request, expected) in [
        (named(Kind::Pod, "sue"), (Outcome::Placed, "acl")),
        (named(JOB, "sue"), (Outcome::Placed, "acl")),
        (with_info(named(Kind::Pod, "airflow"), "sue"), (Outcome::Placed, "acl")),
        (named(Kind::Pod, "bob"), refused),
        (named(JOB, "bob"), refused),
        (named(DEPLOYMENT, CONTROLLER), refused),
        (nobodys, refused),
        (updated, refused),
        (Request { namespace: "other".to_owned(), ..named(Kind::Pod, "sue") }, refused),
    ] {
        let decision = evaluate(&applied(&request, &Surroundings::default()), world);
        assert_eq!((decision.outcome, decision.clause), expected, "{request:?}: {decision:?}");
    }
    // A workload that names a controller as its owner is checked nevertheless.
    let (bobs, sues) = (named(Kind::Pod, "bob"), named(Kind::Pod, "sue"));
    for (request, expected) in [(bobs, refused), (sues, (Outcome::NotApplicable, "owned"))] {
        let surroundings = Surroundings::default();
        let decision = evaluate(&Applied { owned: true, ..applied(&request, &surroundings) }, world);
        assert_eq!((decision.outcome, decision.clause), expected, "{decision:?}");
    }
}

fn prod() -> Tree {
    tree(&[("root", "", ""), ("root.prod", "sue", "ann"), ("root.dev", "*", "")])
}

fn decided(request: &Request) -> Decision {
    decided_in(&prod(), request)
}

#[test]
fn workload_is_placed_or_refused_with_the_reason() {
    for kind in [Kind::Pod, JOB, DEPLOYMENT, Kind::Workload(Workloads::CronJob)] {
        for (user, queue, outcome, clause) in [
            ("sue", "root.prod", Outcome::Placed, "acl"),
            ("ann", "root.prod", Outcome::Placed, "acl"),
            ("bob", "root.prod", Outcome::Refused, "acl"),
            ("bob", "root.dev", Outcome::Placed, "acl"),
            ("bob", "", Outcome::Refused, "queue"),
            ("b*b", "root.dev", Outcome::Refused, "user"),
        ] {
            let decision = decided(&request(kind.clone(), user, queue));
            assert_eq!((decision.outcome, decision.clause), (outcome, clause), "{kind} {user} {queue}");
            assert_eq!(decision.user, user);
        }
    }
    let decision = decided(&request(JOB, "bob", "root.prod"));
    assert_eq!(
        decision.reason,
        "YuniKorn would reject this Job of user `bob`: they may not submit to `root.prod`: no ACL from root.prod up to root \
         names user bob or group staff (what would help: name user bob in the submitacl of queue root.prod, using a QueueAcl with `baseAcl: Extend`)"
    );
}

#[test]
fn name_from_the_admission_controller_is_the_users_own() {
    for user in ["sue", "bob"] {
        let bare = decided(&request(Kind::Pod, user, "root.prod"));
        let mut injected = with_info(request(Kind::Pod, user, "root.prod"), user);
        injected.pod.scheduler_name = YUNIKORN.to_owned();
        assert_eq!(decided(&injected), bare);
    }
}

#[test]
fn name_from_the_user_info_webhook_is_the_users_own() {
    for (user, outcome) in [
        ("a:b", Outcome::Placed),
        ("b*b", Outcome::Placed),
        ("a:c", Outcome::Refused),
        ("c*c", Outcome::Refused),
    ] {
        let acl = ["a:b", "b*b"].map(|user| alias::alias(alias::Kind::User, user)).join(",");
        let tree = tree(&[("root", "", ""), ("root.prod", &format!(" {acl}"), "")]);
        for kind in [Kind::Pod, JOB, DEPLOYMENT] {
            let mut request = request(kind, user, "root.prod");
            let identity = Identity { user: user.to_owned(), groups: request.groups.clone() };
            let Identity { user: named, groups } = alias::presented(&identity, |_| true);
            let info = UserInfo { user: named, groups }.write();
            request.pod.annotations.insert(USER_INFO.to_owned(), info);
            let decision = decided_in(&tree, &request);
            assert_eq!((decision.outcome, decision.user.as_str()), (outcome, user), "{decision:?}");
            request.user = "mallory".to_owned();
            assert_eq!(decided_in(&tree, &request).clause, "user_info");
        }
    }
}

#[test]
fn only_listed_users_may_submit_for_others() {
    for kind in [Kind::Pod, JOB] {
        for (by, outcome, clause) in [
            ("airflow", Outcome::Placed, "acl"),
            (CONTROLLER, Outcome::Placed, "acl"),
            ("bob", Outcome::Refused, "user_info"),
        ] {
            let decision = decided(&with_info(request(kind.clone(), by, "root.prod"), "sue"));
            assert_eq!((decision.outcome, decision.clause), (outcome, clause), "{kind} {by}");
        }
        let decision = decided(&with_info(request(kind, "airflow", "root.prod"), "bob"));
        assert_eq!((decision.outcome, decision.user.as_str()), (Outcome::Refused, "bob"));
    }
}

/// Updates a Deployment of `sue`.
fn update(by: &str, change: impl Fn(&mut Pod)) -> Decision {
    let mut request = with_info(request(DEPLOYMENT, by, "root.prod"), "sue");
    request.operation = Operation::Update;
    request.old_pod = request.pod.clone();
    change(&mut request.pod);
    decided(&request)
}

#[test]
fn update_is_checked_if_it_requests_something_else() {
    let label =
        |value: &'static str| move |pod: &mut Pod| drop(pod.labels.insert(QUEUE.into(), value.into()));
    let name = |user: &'static str| {
        move |pod: &mut Pod| drop(pod.annotations.insert(USER_INFO.to_owned(), info(user)))
    };
    let untouched = update("bob", |pod| drop(pod.labels.insert("version".into(), "2".into())));
    assert_eq!((untouched.outcome, untouched.clause), (Outcome::NotApplicable, "unchanged"));
    assert_eq!(update("bob", label("root.dev")).outcome, Outcome::Placed);
    assert_eq!(update("bob", label("root.none")).outcome, Outcome::Refused);
    assert_eq!(update("bob", name("ann")).clause, "user_info");
    assert_eq!(update("airflow", name("ann")).outcome, Outcome::Placed);
    assert_eq!(update("bob", name("bob")).outcome, Outcome::Refused);
    let nobodys = update("bob", |pod| pod.annotations.clear());
    assert_eq!((nobodys.outcome, nobodys.clause), (Outcome::NotApplicable, "controller"));
}

#[test]
fn foreign_decision_is_not_applicable() {
    let request = request(JOB, "bob", "root.prod");
    let surroundings = Surroundings::default();
    let (conf, tree) = (conf(), prod());
    let world =
        World { conf: &conf, tree: &tree, resolver: &ResolverKind::None, running: &Running::default() };
    let owned = Applied { owned: true, ..applied(&request, &surroundings) };
    assert_eq!(evaluate(&owned, world).clause, "owned");
    for (operation, kind) in [
        (Operation::Other, Kind::Pod),
        (Operation::Update, Kind::Pod),
        (Operation::Create, Kind::Other("ReplicationController".to_owned())),
    ] {
        let other = Request { operation, kind, ..request.clone() };
        assert_eq!(decided(&other).clause, "kind");
    }
    let away = Surroundings {
        namespace_annotations: texts(&[("yunikorn.apache.org/namespace.enableYuniKorn", "false")]),
        ..Surroundings::default()
    };
    assert_eq!(evaluate(&applied(&request, &away), world).clause, "scheduler");
    let mut chosen = request.clone();
    chosen.pod.scheduler_name = YUNIKORN.to_owned();
    // Its pods will be created by a controller; a bare pod there has no user at all.
    assert_eq!(evaluate(&applied(&chosen, &away), world).clause, "controller");
    chosen.kind = Kind::Pod;
    let nobodys = evaluate(&applied(&chosen, &away), world);
    assert_eq!((nobodys.outcome, nobodys.user.as_str()), (Outcome::Refused, "nobody"));
    let own = Request { pod: Pod { labels: texts(&[(APP, YUNIKORN)]), ..Pod::default() }, ..request };
    assert_eq!(decided(&own).clause, "scheduler");
}

const RULES: &str = "\
partitions:
  - name: default
    placementrules:
      - {name: provided, create: false}
      - {name: tag, value: namespace, create: true}
    queues:
      - name: root
        queues:
          - {name: prod, submitacl: sue}
          - {name: jobs, submitacl: bob}
          - {name: open, parent: true, submitacl: '*'}
";

#[test]
fn placement_rules_are_applied() {
    let tree = parsed(RULES);
    let decided = |user, queue| decided_in(&tree, &request(JOB, user, queue));
    let elsewhere = decided("bob", "root.prod");
    assert_eq!((elsewhere.outcome, elsewhere.queue.as_str()), (Outcome::Elsewhere, "root.jobs"));
    assert!(
        elsewhere.reason.starts_with("YuniKorn will run this in root.jobs, not in `root.prod`"),
        "{elsewhere:?}"
    );
    assert_eq!(decided("bob", "").outcome, Outcome::Placed);
    assert_eq!(decided("eve", "root.prod").outcome, Outcome::Refused);
    // A queue below an open one may have been created at run time.
    assert_eq!(decided("eve", "root.open.x").outcome, Outcome::Doubtful);
    assert_eq!(decided("eve", "root.closed").outcome, Outcome::Refused);
}

#[test]
fn rejection_has_the_result_of_each_rule() {
    let rules = |rules: &str| parsed(&RULES.replace("      - {name: provided, create: false}\n", rules));
    let rejected = |tree: &Tree, user, queue| {
        let decision = decided_in(tree, &request(JOB, user, queue));
        assert_eq!(decision.outcome, Outcome::Refused, "{decision:?}");
        (decision.clause, decision.reason)
    };
    let would = |user: &str, why: &str| format!("YuniKorn would reject this Job of user `{user}`: {why}");
    // The queue that the last rule selects is not the queue that the workload named.
    let (clause, reason) = rejected(&prod(), "eve", "root.closed");
    assert_eq!((clause, reason), ("queue", would("eve", "there is no queue `root.closed`")));
    let creating = rules("      - {name: user}\n      - {name: provided, create: true}\n");
    let (clause, reason) = rejected(&creating, "eve", "root.a b");
    let refused = "there is no queue `root.eve`; invalid queue name, max 64 characters";
    assert_eq!(clause, "rule");
    assert!(reason.starts_with(&would("eve", refused)), "{reason}");
    let (clause, reason) = rejected(&creating, "sue", "root.prod.x");
    assert_eq!(clause, "queue");
    assert!(
        reason.starts_with(&would("sue", "there is no queue `root.sue`; failed to create rule based queue")),
        "{reason}"
    );
    let why = ": creation of queue root.prod.x failed parent is already a leaf: root.prod";
    assert!(reason.ends_with(why), "{reason}");
    // The last rule decides, even after an earlier denial.
    let below =
        "      - {name: provided}\n      - {name: fixed, value: root.open.@recovery@, create: true}\n";
    let (clause, reason) = rejected(&rules(below), "sue", "root.jobs");
    assert_eq!(clause, "queue");
    assert!(
        reason.starts_with(&would("sue", "they may not submit to `root.jobs`"))
            && reason.ends_with(": dynamic queue cannot be root.@recovery@"),
        "{reason}"
    );
    // Invalid rules are not in force.
    let (clause, reason) = rejected(&rules("      - {name: nope}\n"), "sue", "root.prod");
    assert_eq!(clause, "rule");
    assert!(reason.contains("no placement rule matched"), "{reason}");
}

#[test]
fn each_mode_warns_or_refuses_as_documented() {
    use Mode::{Audit, Deny, Off, Warn};
    use Outcome::{Doubtful, Elsewhere, NotApplicable, Placed, Refused, Undecided};
    for outcome in [NotApplicable, Placed, Elsewhere, Doubtful, Refused, Undecided] {
        let decision = Decision::new(outcome, "acl", "why");
        for mode in [Off, Audit, Warn, Deny] {
            let refuses = (outcome, mode) == (Refused, Deny);
            let warns = match outcome {
                Elsewhere | Doubtful => matches!(mode, Warn | Deny),
                Refused => mode == Warn,
                NotApplicable | Placed | Undecided => false,
            };
            let said = (decision.refusal(mode), decision.warning(mode));
            assert_eq!(said, (refuses.then_some("why"), warns.then_some("why")), "{outcome:?} {mode:?}");
        }
    }
}

#[test]
fn each_outcome_has_its_own_label() {
    for (outcome, word) in [
        (Outcome::NotApplicable, "not_applicable"),
        (Outcome::Placed, "placed"),
        (Outcome::Elsewhere, "elsewhere"),
        (Outcome::Doubtful, "doubtful"),
        (Outcome::Refused, "refused"),
        (Outcome::Undecided, "undecided"),
    ] {
        assert_eq!(outcome.as_str(), word);
    }
}

#[test]
fn forced_pod_is_accepted() {
    let bobs = request(Kind::Pod, "bob", "root.prod");
    let surroundings = Surroundings::default();
    let world =
        World { conf: &conf(), tree: &prod(), resolver: &ResolverKind::None, running: &Running::default() };
    let running = Applied { node_name: "n1", ..applied(&bobs, &surroundings) };
    let decision = evaluate(&running, world);
    assert_eq!((decision.outcome, decision.queue.as_str()), (Outcome::Elsewhere, "root.@recovery@"));
    // Even from a user whose groups are not found, and who would otherwise be refused.
    let stranger = Request { groups: Vec::new(), ..request(Kind::Pod, "stranger", "root.prod") };
    let world = World { resolver: &ResolverKind::Test, ..world };
    for (node_name, outcome, clause, queue) in
        [("n1", Outcome::Elsewhere, "acl", "root.@recovery@"), ("", Outcome::Refused, "user", "root.prod")]
    {
        let request = Applied { node_name, ..applied(&stranger, &surroundings) };
        let decision = evaluate(&request, world);
        assert_eq!((decision.outcome, decision.clause), (outcome, clause), "{node_name}: {decision:?}");
        assert_eq!((decision.user.as_str(), decision.queue.as_str()), ("stranger", queue));
    }
}

#[test]
fn reasons_are_bounded_and_visible() {
    let long = format!("root.{}\u{1b}", "x".repeat(100_000));
    let decision = decided(&request(JOB, "bob", &long));
    assert!(decision.reason.chars().count() < 2000 && !decision.reason.contains('\u{1b}'));
    assert!(decision.queue.chars().count() < 2000 && !decision.queue.contains('\u{1b}'));
}

#[test]
fn user_of_a_refusal_is_bounded_and_visible() {
    let user = format!("eve\u{1b}{}", "x".repeat(100_000));
    let named = with_info(request(Kind::Pod, &user, "root.prod"), "sue");
    for (request, clause) in [(request(Kind::Pod, &user, "root.prod"), "user"), (named, "user_info")] {
        let decision = decided(&request);
        assert_eq!((decision.outcome, decision.clause), (Outcome::Refused, clause));
        let shown = &decision.user;
        assert!(
            shown.chars().count() < 2000 && shown.starts_with("eve") && !shown.contains('\u{1b}'),
            "{clause}"
        );
    }
}

proptest! {
    /// A user who may submit to the requested leaf is never refused, and the workload of any other user is
    /// never reported as running there.
    #[test]
    fn decision_agrees_with_the_acls(tree in any_tree(), identity in any_identity(), pick in 0..9usize) {
        let queue = crate::testing::QUEUES[pick];
        let leaf = tree.queues().any(|(_, node)| node.path.as_str() == queue && node.is_leaf);
        let mut request = request(JOB, &identity.user, queue);
        request.groups.clone_from(&identity.groups);
        let decision = decided_in(&tree, &request);
        let groups = if identity.groups.is_empty() { vec![identity.user.clone()] } else { identity.groups };
        let identity = Identity { user: identity.user, groups };
        let may = decide(&tree, Right::Submit, queue, &identity).allowed();
        if leaf && may {
            prop_assert_eq!(decision.outcome, Outcome::Placed, "{:?}", decision);
        }
        if decision.outcome == Outcome::Placed && decision.queue == queue {
            prop_assert!(may, "{decision:?}");
        }
    }

    #[test]
    fn any_request_is_decided(user in "\\PC{0,6}", queue in "\\PC{0,12}", note in "\\PC{0,20}", update in any::<bool>()) {
        let mut request = request(DEPLOYMENT, &user, &queue);
        request.pod.annotations = BTreeMap::from([(USER_INFO.to_owned(), note)]);
        if update {
            request.operation = Operation::Update;
        }
        let decision = decided(&request);
        for mode in [Mode::Off, Mode::Audit, Mode::Warn, Mode::Deny] {
            prop_assert!(decision.refusal(mode).is_none() || mode == Mode::Deny);
            prop_assert!(decision.refusal(mode).is_none() || decision.warning(mode).is_none());
        }
    }
}
