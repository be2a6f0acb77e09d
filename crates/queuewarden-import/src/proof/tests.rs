use super::*;
use crate::names::NameMap;
use crate::translate::{Options, translate};
use crate::yarn::Files;
use proptest::prelude::*;
use yunikorn::application::Reading;
use yunikorn_access::decide::decide;

fn source(queues: &str, site: Option<&str>, reading: Reading) -> Source {
    let text = format!("<allocations>{queues}</allocations>");
    let site = site.map(|admin| {
        site_of(&format!("<property><name>yarn.admin.acl</name><value>{admin}</value></property>"))
    });
    let wanted = Files {
        reading,
        scheduler: (0, &text),
        site: site.as_deref().map(|text| (1, text)),
        defined: &[],
        mapred: None,
        core: &[],
        name: "",
    };
    let mut findings = Vec::new();
    Source::fair(wanted, &mut findings).unwrap_or_else(|| panic!("{queues}: {findings:?}"))
}

/// Returns a yarn-site.xml with ACLs enabled, for a cluster with the fair scheduler.
fn site_of(properties: &str) -> String {
    let property =
        |name: &str, value: &str| format!("<property><name>{name}</name><value>{value}</value></property>");
    let scheduler = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler";
    let settings = [("yarn.acl.enable", "true"), ("yarn.resourcemanager.scheduler.class", scheduler)];
    let settings: String = settings.iter().map(|(name, value)| property(name, value)).collect();
    format!("<configuration>{settings}{properties}</configuration>")
}

fn options(users: &str, to_root: bool) -> Options {
    let users = NameMap::default().with_pairs(users).expect("pairs");
    Options { names: Names { users, groups: NameMap::default() }, administrators_to_root: to_root }
}

/// Returns direction, subject, right, code and number of queues of each difference.
fn differences(source: &Source, options: &Options) -> Vec<(Direction, String, &'static str, Code, usize)> {
    let imported = translate(source, options, &mut Vec::new());
    let proof = prove(source, &imported, &options.names, |_, _| {}).expect("comparable");
    let row =
        |found: Difference| (found.direction, found.subject.to_string(), found.verb, found.code, found.count);
    proof.differences.into_iter().map(row).collect()
}

const CLOSED: &str = "<aclSubmitApps> </aclSubmitApps><aclAdministerApps> </aclAdministerApps>";

fn closed(queues: &str) -> String {
    format!("<queue name=\"root\">{CLOSED}{queues}</queue>")
}

#[test]
fn what_can_be_carried_over_is_the_same() {
    let cases = [
        String::new(),
        "<queue name=\"a\"/>".to_owned(),
        closed(
            "<queue name=\"a\"><aclSubmitApps>alice,bob dev,ops</aclSubmitApps><queue name=\"b\"><aclAdministerApps> ops</aclAdministerApps></queue></queue>",
        ),
        closed(
            "<queue name=\"a\"><aclSubmitApps>alice *</aclSubmitApps></queue><queue name=\"b\"><aclAdministerApps>*</aclAdministerApps></queue>",
        ),
        closed("<queue name=\"a\"><aclSubmitApps>\n  alice dev\n</aclSubmitApps></queue>")
            .replace("alice dev", "alice"),
    ];
    for queues in cases {
        assert_eq!(differences(&source(&queues, None, Reading::Hadoop), &Options::default()), [], "{queues}");
    }
}

#[test]
fn each_difference_has_its_reason() {
    use yunikorn::application::codes::{DROPPED, GROUP_SPACE, PRINCIPAL};
    let (wider, narrower, submit, admin) =
        (Direction::Wider, Direction::Narrower, Right::Submit.verb(), Right::Admin.verb());
    let queues = closed(
        "<queue name=\"a\"><aclSubmitApps>DOM\\x,alice@R dev.s</aclSubmitApps><queue name=\"b\"/></queue><queue name=\"c\"><aclAdministerApps> Domain Users</aclAdministerApps></queue>",
    );
    let expected = [
        (narrower, "user `DOM\\x`".to_owned(), submit, DROPPED, 2),
        (narrower, "user alice@R".to_owned(), submit, PRINCIPAL, 2),
        (narrower, "group `Domain Users`".to_owned(), submit, GROUP_SPACE, 1),
        (narrower, "group `Domain Users`".to_owned(), admin, GROUP_SPACE, 1),
        (narrower, "group dev.s".to_owned(), submit, DROPPED, 2),
    ];
    assert_eq!(differences(&source(&queues, None, Reading::Hadoop), &Options::default()), expected);

    let clash = closed(
        "<queue name=\"a\"><aclSubmitApps>alice</aclSubmitApps></queue><queue name=\"b\"><aclAdministerApps>bob</aclAdministerApps></queue>",
    );
    let found = differences(&source(&clash, None, Reading::Hadoop), &options("alice=x\nbob=x", false));
    let expected = [
        (wider, "user alice".to_owned(), submit, codes::NAME_CLASH, 1),
        (wider, "user alice".to_owned(), admin, codes::NAME_CLASH, 1),
        (wider, "user bob".to_owned(), submit, codes::NAME_CLASH, 1),
        (wider, "user x".to_owned(), submit, codes::NAME_TAKEN, 2),
        (wider, "user x".to_owned(), admin, codes::NAME_TAKEN, 1),
    ];
    assert_eq!(found, expected);

    let twins = closed(
        "<queue name=\"a\"><aclSubmitApps>x</aclSubmitApps></queue><queue name=\"A\"><aclSubmitApps>y</aclSubmitApps></queue>",
    );
    assert_eq!(
        differences(&source(&twins, None, Reading::Hadoop), &Options::default()),
        [(narrower, "user y".to_owned(), submit, codes::QUEUE_CASE, 1)]
    );
}

#[test]
fn administrators_of_the_cluster_are_lost_or_gain() {
    let (ops, queues) = ("user ops".to_owned(), closed("<queue name=\"a\"/>"));
    let cases = [
        (
            Reading::Hadoop,
            false,
            vec![(Direction::Narrower, ops.clone(), Right::Admin.verb(), codes::CLUSTER_ADMINS, 2)],
        ),
        (
            Reading::Hadoop,
            true,
            vec![(Direction::Wider, ops.clone(), Right::Submit.verb(), codes::CLUSTER_ADMINS_SUBMIT, 2)],
        ),
        (Reading::Cloudera, true, vec![]),
        (
            Reading::Cloudera,
            false,
            vec![
                (Direction::Narrower, ops.clone(), Right::Submit.verb(), codes::CLUSTER_ADMINS, 2),
                (Direction::Narrower, ops, Right::Admin.verb(), codes::CLUSTER_ADMINS, 2),
            ],
        ),
    ];
    for (reading, to_root, expected) in cases {
        let found = differences(&source(&queues, Some("ops"), reading), &options("", to_root));
        assert_eq!(found, expected, "{reading:?} {to_root}");
    }
}

/// `YarnConfiguration.DEFAULT_YARN_ADMIN_ACL`; a property without a value is not set.
#[test]
fn where_nobody_is_said_to_administer_the_cluster_everyone_does() {
    let scheduler = format!("<allocations>{}</allocations>", closed("<queue name=\"a\"/>"));
    let reported = |properties: &str, reading, to_root| {
        let site = site_of(properties);
        let wanted = Files {
            reading,
            scheduler: (0, &scheduler),
            site: Some((1, &site)),
            defined: &[],
            mapred: None,
            core: &[],
            name: "",
        };
        let mut findings = Vec::new();
        let source = Source::fair(wanted, &mut findings).expect("a source");
        translate(&source, &options("", to_root), &mut findings);
        let rows =
            findings.into_iter().map(|found| (found.file, found.diagnostic.code, found.diagnostic.message));
        (rows.collect::<Vec<_>>(), differences(&source, &options("", to_root)))
    };
    let written = "<property><name>yarn.admin.acl</name><value>*</value></property>";
    let unset = ["", "<property><name>yarn.admin.acl</name><value/></property>"];
    for reading in [Reading::Hadoop, Reading::Cloudera] {
        for to_root in [false, true] {
            let (star, differ) = reported(written, reading, to_root);
            let named = "`yarn.admin.acl` names cluster administrators, `*`";
            let default = "`yarn.admin.acl` is not set, so everyone administers the cluster";
            let replaced =
                |(file, code, message): (_, _, String)| (file, code, message.replace(named, default));
            let expected: Vec<_> = star.into_iter().map(replaced).collect();
            for properties in unset {
                let found = reported(properties, reading, to_root);
                assert_eq!(found, (expected.clone(), differ.clone()), "{reading:?} {to_root}");
            }
        }
    }
    let (found, differ) = reported("", Reading::Hadoop, false);
    assert!(matches!(found.as_slice(), [(Some(1), code, _)] if *code == codes::CLUSTER_ADMINS), "{found:?}");
    let everyone =
        (Direction::Narrower, "everyone".to_owned(), Right::Admin.verb(), codes::CLUSTER_ADMINS, 2);
    assert_eq!(differ, [everyone]);
}

fn any_acl() -> impl Strategy<Value = String> {
    let piece = "[ab]{1,2}|[ ,*~!@.:\t\n\u{a0}-]|dev|Dev|NOUSERS";
    prop_oneof![
        3 => Just(" ".to_owned()),
        4 => "[a-d](,[a-d])?( [e-h])?",
        3 => proptest::collection::vec(piece, 1..8).prop_map(|pieces| pieces.concat()),
    ]
}

fn with_acls((name, submit, admin): &(&str, String, String), below: &str) -> String {
    format!(
        "<queue name=\"{name}\"><aclSubmitApps>{submit}</aclSubmitApps><aclAdministerApps>{admin}</aclAdministerApps>{below}</queue>"
    )
}

fn any_queues() -> impl Strategy<Value = String> {
    let queue =
        || (prop::sample::select(&["a", "b", "A", "a b", "\u{e9}", "@recovery@"][..]), any_acl(), any_acl());
    let level = proptest::collection::vec((queue(), proptest::collection::vec(queue(), 0..3)), 0..4);
    (any_acl(), any_acl(), level).prop_map(|(submit, admin, queues): (String, String, Vec<_>)| {
        let below: String = queues
            .iter()
            .map(|(queue, below)| {
                with_acls(queue, &below.iter().map(|queue| with_acls(queue, "")).collect::<String>())
            })
            .collect();
        with_acls(&("root", submit, admin), &below)
    })
}

proptest! {
    /// For any source, no access is wider if there are no maps, and every narrower difference has a reason.
    #[test]
    fn no_import_is_wider(queues in any_queues(), admin in proptest::option::of(any_acl()), cloudera: bool) {
        let reading = if cloudera { Reading::Cloudera } else { Reading::Hadoop };
        let source = source(&queues, admin.as_deref(), reading);
        for found in differences(&source, &Options::default()) {
            prop_assert_eq!(found.0, Direction::Narrower);
            prop_assert_ne!(found.3, codes::UNEXPLAINED);
        }
    }

    /// Maps and administrators may widen access. Every such case is found and has a reason. Everyone who has
    /// access by the written text but not by the source is among the differences.
    #[test]
    fn a_leak_is_found(queues in any_queues(), admin in any_acl(), users in "([a-d]=[a-f]?\n){0,3}", user in "[a-g]") {
        let Ok(map) = NameMap::default().with_pairs(&users) else { return Ok(()) };
        let names = Names { users: map, groups: NameMap::default() };
        let options = Options { names, administrators_to_root: true };
        let source = source(&queues, Some(&admin), Reading::Hadoop);
        let imported = translate(&source, &options, &mut Vec::new());
        let proof = prove(&source, &imported, &options.names, |_, _| {}).expect("comparable");
        for found in &proof.differences {
            prop_assert_ne!(found.code, codes::UNEXPLAINED, "{:?}", found);
        }
        let who = Subject::User(user.clone());
        let before = Holders::new(&source).reach(Right::Submit, &who);
        let tree = tree_of(&imported.queues_yaml()).expect("a tree");
        let Some(name) = options.names.users.identity(&user) else { return Ok(()) };
        for (at, queue) in source.queues.iter().enumerate() {
            let Some(Ok(target)) = imported.of_source.get(at) else { continue };
            let path = imported.queues[*target].path.as_str();
            let identity = Subject::User(name.clone()).identity();
            let after = decide(&tree, Right::Submit, path, &identity).allowed();
            if after && before[at].is_none() {
                let reported = proof.differences.iter().any(|found| {
                    let about = found.subject == who || found.subject == Subject::Everyone;
                    found.direction == Direction::Wider && found.verb == Right::Submit.verb() && about
                });
                prop_assert!(reported, "{} {:?}", queue.path, proof.differences);
            }
        }
    }
}
