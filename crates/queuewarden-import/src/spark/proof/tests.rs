use super::*;
use crate::FileDiagnostic;
use crate::spark::carry;
use go_compat::diag::Code;
use proptest::prelude::*;

/// The findings, the text that would be written, and each difference as `direction who verb code`.
struct Outcome {
    found: Vec<Code>,
    settings: Vec<(&'static str, String)>,
    differences: Vec<String>,
}

const LOGGED_IN: &str = "spark.ui.filters f\nspark.acls.enable true\n";

fn options(queue: Option<&str>, users: &str) -> Options {
    let users = crate::NameMap::default().with_pairs(users).expect("pairs");
    let names = Names { users, ..Names::default() };
    Options { names, queue: queue.map(|path| QueuePath::parse(path).expect("a path")) }
}

fn import(text: &str, options: &Options) -> Outcome {
    let mut findings: Vec<FileDiagnostic> = Vec::new();
    let spark = Spark::read(&[text], &mut findings).unwrap_or_else(|| panic!("{findings:?}"));
    let carried = carry(&spark, options, &mut findings);
    let proof = prove(&spark, &carried, options).expect("a comparison");
    let differences = proof.differences.iter().map(|found| {
        let direction = if found.direction == Direction::Wider { "wider" } else { "narrower" };
        format!("{direction} {} {} {}", found.subject, found.verb, found.code.title)
    });
    let found = findings.iter().map(|finding| finding.diagnostic.code).collect();
    Outcome { found, settings: carried.settings, differences: differences.collect() }
}

#[test]
fn lists_stay_what_they_are() {
    let text = format!(
        "{LOGGED_IN}spark.admin.acls adam, eve\nspark.ui.view.acls.groups qa\nspark.modify.acls vera,*\n"
    );
    let outcome = import(&text, &Options::default());
    let expected = [
        ("spark.acls.enable", "true"),
        ("spark.admin.acls", "adam,eve"),
        ("spark.ui.view.acls.groups", "qa"),
        ("spark.modify.acls", "*"),
    ];
    assert_eq!(outcome.settings, expected.map(|(key, value)| (key, value.to_owned())));
    assert_eq!(outcome.found, [yunikorn::application::codes::WILDCARD_BESIDE]);
    // Everyone may modify applications, but only some may view them. In Spark, the others cannot end any.
    let alone = |who: &str| format!("wider {who} kill import-spark-modify-alone");
    assert_eq!(outcome.differences, [alone("everyone"), alone("user vera")]);
}

#[test]
fn administrators_of_a_queue_may_submit_to_it() {
    let text = format!("{LOGGED_IN}spark.admin.acls adam,system:x\nspark.admin.acls.groups ops\n");
    let outcome = import(&text, &options(Some("root.spark.prod"), ""));
    let submit = |who: &str| format!("wider {who} submit import-spark-admins-submit");
    assert_eq!(outcome.differences, [submit("user adam"), submit("group ops")]);
    assert_eq!(outcome.found, [codes::UNMAPPED], "an ACL cannot hold system:x");
}

#[test]
fn a_queue_that_nobody_is_to_administer_gets_no_acl() {
    let cases = [
        ("spark.modify.acls adam\n", "", false),
        ("spark.admin.acls adam\n", "adam=\n", false),
        ("spark.admin.acls system:x\n", "", false),
        ("spark.admin.acls adam,system:x\n", "", true),
        ("spark.admin.acls.groups *\n", "", true),
    ];
    for (lines, users, administered) in cases {
        let (text, mut findings) = (format!("{LOGGED_IN}{lines}"), Vec::new());
        let spark = Spark::read(&[text.as_str()], &mut findings).expect(lines);
        let carried = carry(&spark, &options(Some("root.spark"), users), &mut findings);
        assert_eq!(carried.administrators.is_some(), administered, "{lines}");
    }
}

#[test]
fn names_are_mapped_and_what_that_changes_is_reported() {
    let text = format!("{LOGGED_IN}spark.ui.view.acls ann,bob,carl,dora\n");
    let outcome = import(&text, &options(None, "ann=zoe\nbob=\ncarl=*\ndora=x,y\n"));
    assert_eq!(outcome.settings.last(), Some(&("spark.ui.view.acls", "zoe".to_owned())));
    assert_eq!(outcome.found, [codes::UNMAPPED; 3]);
    let expected = [
        "wider user zoe view import-name-taken",
        "narrower user bob view import-unmapped",
        "narrower user carl view import-unmapped",
        "narrower user dora view import-unmapped",
    ];
    assert_eq!(outcome.differences, expected);
}

#[test]
fn what_spark_reads_otherwise_is_reported() {
    use yunikorn::application::codes as own;
    let cases: [(&str, &[Code]); 12] = [
        ("spark.acls.enable true", &[codes::SPARK_PAGES_OPEN]),
        ("spark.ui.filters f", &[codes::SWITCHED_OFF]),
        ("spark.ui.filters f\nspark.acls.enable false", &[codes::SWITCHED_OFF]),
        ("spark.ui.filters f\nspark.acls.enable true\nspark.acls.enable true", &[codes::TWICE]),
        ("spark.ui.filters f\nspark.acls.enable true\nspark.view.acls a", &[codes::IGNORED]),
        ("spark.ui.filters f\nspark.acls.enable true\nspark.ui.acls.enable true", &[codes::IGNORED]),
        ("spark.ui.filters f\nspark.acls.enable true\nspark.history.ui.admin.acls a", &[codes::UNSUPPORTED]),
        ("spark.ui.filters f\nspark.acls.enable true\nspark.user.groups.mapping x.Y", &[codes::UNSUPPORTED]),
        ("spark.ui.filters f\nspark.acls.enable true\nspark.yarn.queue root.a", &[codes::PLACEMENT]),
        ("spark.ui.filters f\nspark.acls.enable true\nspark.modify.acls a dev", &[codes::SPARK_SPACE]),
        (
            "spark.ui.filters f\nspark.acls.enable true\nspark.modify.acls !a,**",
            &[own::DENY, own::LITERAL_WILDCARD],
        ),
        (
            "spark.ui.filters f\nspark.acls.enable true\nspark.admin.acls.groups *",
            &[own::EVERYONE_ADMINISTERS],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(import(text, &Options::default()).found, expected, "{text}");
    }
}

#[test]
fn what_spark_does_not_start_with_is_refused() {
    use yunikorn::application::codes as own;
    for (line, code) in
        [("spark.acls.enable yes", own::NOT_A_SWITCH), ("spark.modify.acls ${x}", own::VARIABLE)]
    {
        let mut findings = Vec::new();
        assert!(Spark::read(&[LOGGED_IN, line], &mut findings).is_none(), "{line}");
        let refusal = findings.iter().find(|finding| finding.diagnostic.is_error()).expect("an error");
        assert_eq!((refusal.diagnostic.code, refusal.file), (code, Some(1)), "{line}");
    }
}

#[test]
fn a_later_file_counts_before_an_earlier_one() {
    let mut findings = Vec::new();
    let files = [LOGGED_IN, "spark.admin.acls a\nspark.modify.acls b", "spark.admin.acls c\r\n"];
    let spark = Spark::read(&files, &mut findings).expect("read");
    assert_eq!((spark.rules.admin.users.text.as_str(), spark.rules.modify.users.text.as_str()), ("c", "b"));
    assert_eq!(
        spark.location("spark.admin.acls").map(|location| (location.file, location.span.start)),
        Some((2, 0))
    );
    assert!(findings.is_empty(), "{findings:?}");
}

proptest! {
    /// Every difference has an explanation. Without a queue and name maps, only subjects that may modify but
    /// not view gain access.
    #[test]
    fn whatever_the_lists_say_is_compared(
        lists in proptest::collection::vec((0..6_usize, "([a-c]|[*]| |,|system:x|é|!){0,6}"), 0..6),
        queue in proptest::option::of(Just("root.a.b")),
        pairs in "((a|b|c)=(a|b|x|[*])?\n)?",
    ) {
        const KEYS: [&str; 6] = ["spark.admin.acls", "spark.admin.acls.groups", "spark.ui.view.acls", "spark.ui.view.acls.groups", "spark.modify.acls", "spark.modify.acls.groups"];
        let lines: String = lists.iter().flat_map(|(key, value)| [KEYS[*key], " ", value, "\n"]).collect();
        let plain = pairs.is_empty() && queue.is_none();
        let outcome = import(&format!("{LOGGED_IN}{lines}"), &options(queue, &pairs));
        for difference in &outcome.differences {
            prop_assert!(!difference.contains(codes::UNEXPLAINED.title), "{difference}");
            prop_assert!(!plain || difference.ends_with(codes::SPARK_MODIFY_ALONE.title), "{difference}");
        }
    }

    #[test]
    fn any_text_is_read(text in any::<String>(), keys in "(spark.acls.enable|spark.modify.acls|acls|[ =:*,\n]){0,12}") {
        Spark::read(&[&text, &keys], &mut Vec::new());
    }
}
