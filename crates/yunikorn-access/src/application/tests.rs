use super::*;
use proptest::prelude::*;
use std::sync::LazyLock;
use yunikorn::application::Rules;
use yunikorn::application::settings::{YARN_ADMIN, YARN_MODIFY, YARN_VIEW};
use yunikorn::config::verdict;
use yunikorn::right::Right;
use yunikorn::version::Version;

/// Otto runs applications below Engineering, which Ines administers. She also administers two other queues.
const QUEUES: &str = r#"
partitions:
  - name: default
    queues:
      - name: root
        queues:
          - name: Engineering
            adminacl: ines
            queues:
              - name: Simulation
                submitacl: otto
              - name: Beta
                submitacl: otto
          - name: Warehouse
            adminacl: ines
            submitacl: " warehouse"
          - name: Lab
            adminacl: ines
"#;
/// The same, without her list at Engineering.
const WITHOUT_ENGINEERING: (&str, &str) =
    ("            adminacl: ines\n            queues", "            queues");
const SIMULATION: &str = "root.Engineering.Simulation";
const BETA: &str = "root.Engineering.Beta";
const WAREHOUSE: &str = "root.Warehouse";

const YARN: [Dialect; 2] = [Dialect::YarnHadoop, Dialect::YarnCloudera];
const ON: (&str, &str) = ("yarn.acl.enable", "true");
const VIEW: (Verb, &str) = (Verb::View, "");
const MODIFY: (Verb, &str) = (Verb::Modify, "");
const KILL: (Verb, &str) = (Verb::Kill, "");
const LOGS: (Verb, &str) = (Verb::Logs, "");
const BOB: (&str, &str) = ("yarn.admin.acl", "bob");

fn tree_of(text: &str) -> Tree {
    let verdict = verdict(text, &[], Version::V1_8);
    Tree::new(verdict.config.expect("valid").partition("default").expect("default")).expect("active")
}

fn tree() -> &'static Tree {
    static TREE: LazyLock<Tree> = LazyLock::new(|| tree_of(QUEUES));
    &TREE
}

fn person(text: &str) -> Identity {
    let (user, groups) = text.split_once(' ').unwrap_or((text, ""));
    let groups = groups.split(',').filter(|group| !group.is_empty()).map(str::to_owned).collect();
    Identity { user: user.to_owned(), groups }
}

fn application(dialect: Dialect, settings: &[(&str, &str)]) -> ApplicationAcl {
    let (rules, findings) = Rules::read(dialect, settings.iter().copied());
    assert!(!findings.iter().any(go_compat::diag::Diagnostic::is_error), "{findings:?}");
    ApplicationAcl { owner: "otto".to_owned(), rules }
}

fn ask(
    tree: &Tree,
    application: &ApplicationAcl,
    (verb, target): (Verb, &str),
    queue: &str,
    who: &str,
) -> Decision {
    decide(Request { tree, identity: &person(who), verb, target, application, queue })
}

/// Returns the clause that grants access, or the unmet need, in a short form for tables.
fn why(decision: &Decision) -> String {
    match (decision.unmet(), decision.requirements.last().and_then(|last| last.steps.last())) {
        (Some(unmet), _) => format!("no: {:?}", unmet.need),
        (None, Some(step)) => match step.clause {
            ClauseKind::Switch => format!("{} is off", step.setting.expect("a key")),
            ClauseKind::Owner => "owner".to_owned(),
            ClauseKind::ClusterAdministrators | ClauseKind::ApplicationAcl => {
                step.setting.expect("a key").to_owned()
            }
            ClauseKind::Queue => {
                let step = step.decision.as_ref().and_then(decide::Decision::granted_by).expect("granted");
                format!("{} of {}", step.acl.key(), step.queue)
            }
            ClauseKind::NoQueue => "no queue".to_owned(),
        },
        (None, None) => "nothing needed".to_owned(),
    }
}

#[test]
fn killing_an_application_in_production() {
    let cases = [
        ("otto", "owner"),
        ("ines", "adminacl of root.engineering"),
        ("bob", YARN_ADMIN),
        ("ann", "no: Modify"),
    ];
    for dialect in YARN {
        let application = application(dialect, &[ON, BOB]);
        for (who, expected) in cases {
            let decision = ask(tree(), &application, KILL, SIMULATION, who);
            assert_eq!(why(&decision), expected, "{dialect} {who}");
            assert_eq!(decision.allowed(), !expected.starts_with("no"));
        }
    }
}

#[test]
fn moving_the_application_and_viewing_the_log_in_test() {
    let tree = tree_of(&QUEUES.replace(WITHOUT_ENGINEERING.0, WITHOUT_ENGINEERING.1));
    let to_warehouse = (Verb::Move, WAREHOUSE);
    let cases = [
        (LOGS, "otto", ["owner", "owner"]),
        (to_warehouse, "ines", ["no: Modify", "no: Source"]),
        (KILL, "ines", ["no: Modify", "no: Modify"]),
        (LOGS, "ines", [YARN_VIEW, YARN_VIEW]),
        // In the source, Bob may modify the application but not submit to the other queue.
        (to_warehouse, "bob", ["no: Target", YARN_ADMIN]),
        (to_warehouse, "otto", ["no: Target", "no: Target"]),
        (to_warehouse, "otto warehouse", ["submitacl of root.warehouse", "submitacl of root.warehouse"]),
    ];
    for (verb, who, expected) in cases {
        for (dialect, expected) in YARN.into_iter().zip(expected) {
            let application = application(dialect, &[ON, BOB, (YARN_VIEW, "ines")]);
            assert_eq!(why(&ask(&tree, &application, verb, BETA, who)), expected, "{dialect} {verb:?} {who}");
        }
    }
}

/// The handbook and the source differ here, and each dialect follows its own.
#[test]
fn yarn_dialects_differ_like_their_sources() {
    let modify = (YARN_MODIFY, "mike");
    let cases = [
        // In the handbook, a user who may modify an application may also view it.
        (VIEW, "mike", ["no: View", YARN_MODIFY]),
        (LOGS, "mike", ["no: Logs", YARN_MODIFY]),
        (MODIFY, "mike", [YARN_MODIFY, YARN_MODIFY]),
        // The services that serve logs do not check queues.
        (VIEW, "ines", ["adminacl of root.engineering", "adminacl of root.engineering"]),
        (LOGS, "ines", ["no: Logs", "adminacl of root.engineering"]),
        // In the handbook, a user who may modify an application still needs the right to submit to its queue
        // to move it.
        ((Verb::Move, WAREHOUSE), "mike warehouse", ["submitacl of root.warehouse", "no: Source"]),
        ((Verb::Move, "root.nowhere"), "bob", ["no: Target", "no: Target"]),
    ];
    for (verb, who, expected) in cases {
        for (dialect, expected) in YARN.into_iter().zip(expected) {
            let application = application(dialect, &[ON, BOB, modify]);
            let decision = ask(tree(), &application, verb, SIMULATION, who);
            assert_eq!(why(&decision), expected, "{dialect} {verb:?} {who}");
        }
    }
    // In the source, only the switch grants access here; clusters set up according to the handbook have it
    // on.
    assert_eq!(
        why(&ask(tree(), &application(Dialect::YarnHadoop, &[]), KILL, BETA, "x")),
        "yarn.acl.enable is off"
    );
    assert_eq!(why(&ask(tree(), &application(Dialect::YarnCloudera, &[]), KILL, BETA, "x")), YARN_ADMIN);
}

#[test]
fn disabled_acls_allow_everything_except_moves_to_missing_queues() {
    for dialect in YARN {
        let off = application(dialect, &[("yarn.acl.enable", "FALSE "), BOB]);
        for verb in [VIEW, MODIFY, KILL, LOGS, (Verb::Move, WAREHOUSE)] {
            assert_eq!(why(&ask(tree(), &off, verb, SIMULATION, "x")), "yarn.acl.enable is off", "{verb:?}");
        }
        assert!(!ask(tree(), &off, (Verb::Move, "root.not"), SIMULATION, "x").allowed());
    }
}

#[test]
fn yunikorn_checks_the_owner_and_the_queues_administrators() {
    let application = application(Dialect::YuniKorn, &[]);
    let cases = [
        (KILL, "otto", "owner"),
        (LOGS, "ines", "adminacl of root.engineering"),
        (VIEW, "ann", "no: View"),
        ((Verb::Move, WAREHOUSE), "ines", "adminacl of root.warehouse"),
        ((Verb::Move, WAREHOUSE), "otto", "no: Target"),
        ((Verb::Move, "root.Lab.deeper"), "ines", "no: Target"),
    ];
    for (verb, who, expected) in cases {
        assert_eq!(why(&ask(tree(), &application, verb, BETA, who)), expected, "{verb:?} {who}");
    }
}

#[test]
fn spark_checks_its_lists() {
    let settings = [
        ("spark.acls.enable", "true"),
        ("spark.admin.acls", "adam"),
        ("spark.admin.acls.groups", "admins"),
        ("spark.ui.view.acls", " vera , mona"),
        ("spark.ui.view.acls.groups", "viewers"),
        ("spark.modify.acls", "mike,mona"),
    ];
    let application = application(Dialect::Spark, &settings);
    let cases = [
        (VIEW, "otto", "owner"),
        (KILL, "adam", "spark.admin.acls"),
        (KILL, "x admins", "spark.admin.acls.groups"),
        (LOGS, "x viewers", "spark.ui.view.acls.groups"),
        (MODIFY, "vera", "no: Modify"),
        // The page with the kill button must be viewed.
        (MODIFY, "mike", "spark.modify.acls"),
        (KILL, "mike", "no: View"),
        (KILL, "mona", "spark.modify.acls"),
        // Spark does not check queues.
        (KILL, "ines", "no: View"),
        ((Verb::Move, WAREHOUSE), "adam", "no: Impossible"),
    ];
    for (verb, who, expected) in cases {
        assert_eq!(why(&ask(tree(), &application, verb, BETA, who)), expected, "{verb:?} {who}");
    }
}

#[test]
fn sparks_wildcard_works_anywhere_in_a_list() {
    let with = |key, text| application(Dialect::Spark, &[("spark.acls.enable", "true"), (key, text)]);
    for (key, text) in [("spark.modify.acls", "alice,*"), ("spark.admin.acls.groups", "a, * ,b")] {
        assert_eq!(why(&ask(tree(), &with(key, text), MODIFY, BETA, "x")), key, "{text}");
    }
    assert!(!ask(tree(), &with("spark.modify.acls", "**"), MODIFY, BETA, "x").allowed());
    assert_eq!(
        why(&ask(tree(), &application(Dialect::Spark, &[]), KILL, BETA, "x")),
        "spark.acls.enable is off"
    );
}

#[test]
fn missing_queue_grants_nothing() {
    for dialect in [Dialect::YuniKorn, Dialect::YarnHadoop, Dialect::YarnCloudera] {
        let settings: &[_] = if dialect == Dialect::YuniKorn { &[] } else { &[ON, BOB] };
        let application = application(dialect, settings);
        for queue in ["", "production", "gone.queue", "root.gone", "root.gone.deeper"] {
            assert!(!ask(tree(), &application, KILL, queue, "ann").allowed(), "{dialect} {queue}");
            assert!(ask(tree(), &application, KILL, queue, "otto").allowed(), "{dialect} {queue}");
        }
        // A queue created below an existing one has the administrators of that one.
        assert!(ask(tree(), &application, KILL, "root.engineering.otto", "ines").allowed());
    }
}

#[test]
fn application_without_owner_belongs_to_nobody() {
    let mut application = application(Dialect::YarnHadoop, &[ON, BOB]);
    application.owner = String::new();
    assert!(!ask(tree(), &application, VIEW, BETA, "").allowed());
}

#[test]
fn denial_has_remedies_with_the_smallest_change_first() {
    let remedies = |dialect, settings: &[_], verb: (Verb, &str), who| -> Vec<String> {
        let application = application(dialect, settings);
        let (identity, (verb, target)) = (&person(who), verb);
        let request =
            Request { tree: tree(), identity, verb, target, application: &application, queue: BETA };
        super::remedies(request).into_iter().map(|remedy| remedy.words).collect()
    };
    let in_queue = |right, queue| -> Vec<String> {
        let decision = decide::explain(tree(), right, queue, &person("ann"));
        crate::remedy::remedies(tree(), &decision).map(|remedy| remedy.message).collect()
    };
    let kill = remedies(Dialect::YarnHadoop, &[ON, BOB], KILL, "ann");
    let first =
        "name user ann in mapreduce.job.acl-modify-job, which is set when the application is submitted";
    let last = "name user ann in yarn.admin.acl, which applies to all applications";
    let queues = in_queue(Right::Admin, BETA);
    assert!(!queues.is_empty());
    assert_eq!(kill, [&[first.to_owned()], queues.as_slice(), &[last.to_owned()]].concat());
    assert_eq!(remedies(Dialect::YuniKorn, &[], KILL, "ann"), queues);
    let moving = remedies(Dialect::YarnCloudera, &[ON, BOB], (Verb::Move, WAREHOUSE), "otto");
    let last = last.replace("ann", "otto");
    assert!(moving.len() > 1 && moving.last().is_some_and(|remedy| *remedy == last), "{moving:?}");
    let nowhere = remedies(Dialect::YuniKorn, &[], (Verb::Move, "root.x"), "otto");
    assert_eq!(
        nowhere,
        ["create the queue root.x, and name user otto in the submitacl of queue root.x, using a QueueAcl"]
    );
    let spark = |settings: &[_], who| remedies(Dialect::Spark, settings, KILL, who);
    let on = ("spark.acls.enable", "true");
    // Killing happens on the application's page, so the user must be able to view it.
    assert!(spark(&[on], "ann").contains(
        &"name user ann in spark.ui.view.acls, which is set when the application is submitted, and name user \
          ann in spark.modify.acls, which is set when the application is submitted"
            .to_owned()
    ));
    // A user without groups gets no advice about groups.
    let of_user: Vec<String> = spark(&[on], "ann,x");
    assert!(!of_user.iter().any(|words| words.contains("groups")), "{of_user:?}");
    let none: [String; 0] = [];
    assert_eq!(remedies(Dialect::Spark, &[("spark.acls.enable", "true")], (Verb::Move, BETA), "otto"), none);
    assert_eq!(remedies(Dialect::YuniKorn, &[], KILL, "otto"), none);
}

#[test]
fn decision_is_one_sentence() {
    let say = |dialect, settings: &[_], verb, who| {
        sentence(tree(), &ask(tree(), &application(dialect, settings), verb, BETA, who))
    };
    let hadoop = Dialect::YarnHadoop;
    assert_eq!(say(hadoop, &[], KILL, "x"), "yarn.acl.enable is off, so everyone can do everything");
    assert_eq!(say(hadoop, &[ON, BOB], KILL, "bob"), "yarn.admin.acl names user bob");
    assert_eq!(
        say(hadoop, &[ON, BOB], LOGS, "ann"),
        "user ann may not read its logs: otto owns it; yarn.admin.acl and mapreduce.job.acl-view-job \
         do not name the user or a group"
    );
    let moving = say(Dialect::YarnCloudera, &[ON, BOB], (Verb::Move, "root.x"), "bob");
    assert_eq!(moving, "user bob may not move it into the other queue: there is no queue `root.x`");
    let spark = say(Dialect::Spark, &[("spark.acls.enable", "true")], KILL, "ann");
    assert!(
        spark.ends_with(
            "none of spark.admin.acls, spark.admin.acls.groups, spark.ui.view.acls, \
        spark.ui.view.acls.groups names the user or a group"
        ),
        "{spark}"
    );
    assert_eq!(
        say(Dialect::Spark, &[("spark.acls.enable", "true")], (Verb::Move, WAREHOUSE), "ann"),
        "spark cannot move applications between queues"
    );
    assert_eq!(
        say(Dialect::YuniKorn, &[], (Verb::Move, WAREHOUSE), "ines"),
        "user ines may administer root.engineering; user ines may administer root.warehouse, and so may \
         submit"
    );
}

#[test]
fn deciding_clause_is_a_label() {
    use Dialect::{Spark, YarnHadoop, YuniKorn};
    let cases: [(_, &[_], _, _, _, _); 11] = [
        (YarnHadoop, &[], KILL, BETA, "x", "switch"),
        (YarnHadoop, &[ON, BOB], KILL, BETA, "bob", "cluster_administrators"),
        (YuniKorn, &[], KILL, BETA, "otto", "owner"),
        (YarnHadoop, &[ON, BOB, (YARN_VIEW, "ines")], LOGS, BETA, "ines", "application_acl"),
        (YuniKorn, &[], KILL, BETA, "ines", "adminacl"),
        (YarnHadoop, &[ON, BOB], (Verb::Move, WAREHOUSE), BETA, "otto warehouse", "submitacl"),
        (YuniKorn, &[], KILL, BETA, "ann", "acl"),
        (YarnHadoop, &[ON, BOB], LOGS, BETA, "ann", "acl"),
        // The current queue of the application, and the target queue.
        (YuniKorn, &[], KILL, "production", "ann", "no_queue"),
        (YuniKorn, &[], (Verb::Move, "root.x"), BETA, "otto", "no_queue"),
        (Spark, &[("spark.acls.enable", "true")], (Verb::Move, BETA), BETA, "otto", "impossible"),
    ];
    for (dialect, settings, verb, queue, who, expected) in cases {
        let decision = ask(tree(), &application(dialect, settings), verb, queue, who);
        assert_eq!(decision.clause(), expected, "{dialect} {verb:?} {queue} {who}");
    }
}

fn any_settings(keys: &'static [&'static str]) -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let text = "[abc ,*]{0,5}|true|false";
    proptest::collection::vec((proptest::sample::select(keys), text), 0..5)
}

fn any_application() -> impl Strategy<Value = ApplicationAcl> {
    use yunikorn::application::settings::KEYS;
    let of = |(dialect, keys): (Dialect, &'static [&'static str])| {
        any_settings(keys).prop_map(move |settings| {
            let read = settings.iter().map(|(key, value)| (*key, value.as_str()));
            ApplicationAcl { owner: "otto".to_owned(), rules: Rules::read(dialect, read).0 }
        })
    };
    let [own, hadoop, cloudera, spark] = KEYS;
    prop_oneof![of(own), of(hadoop), of(cloudera), of(spark)]
}

proptest! {
    /// Another group never removes access.
    #[test]
    fn additional_group_never_removes_access(
        application in any_application(),
        who in "(otto|ines|a|b) [abc]",
        more in "[abc*]",
    ) {
        for verb in [VIEW, MODIFY, KILL, LOGS, (Verb::Move, WAREHOUSE)] {
            let before = ask(tree(), &application, verb, BETA, &who);
            let after = ask(tree(), &application, verb, BETA, &format!("{who},{more}"));
            prop_assert!(!before.allowed() || after.allowed(), "{:?}", verb);
        }
    }

    /// The trace ends with the deciding clause, and only denials have remedies.
    #[test]
    fn trace_ends_with_the_decision(application in any_application(), who in "(otto|ines|a|b) [abc]") {
        for verb in [VIEW, MODIFY, KILL, LOGS, (Verb::Move, WAREHOUSE)] {
            let decision = ask(tree(), &application, verb, BETA, &who);
            for requirement in &decision.requirements {
                let granted = requirement.steps.iter().filter(|step| step.granted).count();
                prop_assert_eq!(granted, usize::from(requirement.met));
            }
            let last = decision.requirements.last().expect("something is needed");
            prop_assert_eq!(decision.allowed(), last.met);
            let (identity, (verb, target)) = (&person(&who), verb);
            let request =
                Request { tree: tree(), identity, verb, target, application: &application, queue: BETA };
            let remedies = super::remedies(request);
            prop_assert!(!decision.allowed() || remedies.is_empty());
        }
    }

    /// The handbook grants access to every user that the source allows to view and modify, because its list
    /// of clauses is longer.
    #[test]
    fn handbook_is_wider_than_the_source(settings in any_settings(&[YARN_VIEW, YARN_MODIFY, YARN_ADMIN]), who in "[ab]") {
        // Not with a second space, after which the handbook ignores everything.
        prop_assume!(settings.iter().all(|(_, text)| text.matches(' ').count() < 2));
        let read = |dialect| {
            let settings = settings.iter().map(|(key, value)| (*key, value.as_str())).chain([ON]);
            ApplicationAcl { owner: "otto".to_owned(), rules: Rules::read(dialect, settings).0 }
        };
        for verb in [VIEW, MODIFY, KILL, LOGS] {
            let source = ask(tree(), &read(Dialect::YarnHadoop), verb, BETA, &who).allowed();
            prop_assert!(!source || ask(tree(), &read(Dialect::YarnCloudera), verb, BETA, &who).allowed());
        }
    }
}
