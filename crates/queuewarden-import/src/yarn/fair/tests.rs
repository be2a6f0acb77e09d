use super::super::reported;
use super::*;
use proptest::prelude::*;

fn load(text: &str) -> (Option<Vec<Queue>>, Vec<FileDiagnostic>) {
    let mut findings = Vec::new();
    let read = read(0, &format!("<allocations>{text}</allocations>"), Reading::Hadoop, &mut findings);
    (reported(read, &mut findings), findings)
}

fn codes_of(findings: &[FileDiagnostic]) -> Vec<go_compat::diag::Code> {
    findings.iter().map(|finding| finding.diagnostic.code).collect()
}

/// Returns the path, submit ACL and admin ACL of each queue.
fn queues(text: &str) -> Vec<(String, String, String)> {
    let (queues, findings) = load(text);
    let queues = queues.unwrap_or_else(|| panic!("{text}: {findings:?}"));
    queues.into_iter().map(|queue| (queue.path, queue.acls.submit.text, queue.acls.admin.text)).collect()
}

fn row(path: &str, submit: &str, admin: &str) -> (String, String, String) {
    (path.to_owned(), submit.to_owned(), admin.to_owned())
}

#[test]
fn queues_and_acls_are_read_as_hadoop_does() {
    let open = row("root", "*", "*");
    let cases = [
        ("", vec![open.clone()]),
        ("<queue name=\"a\"/>", vec![open.clone(), row("root.a", " ", " ")]),
        (
            "<pool name=\" a \"><aclSubmitApps> x </aclSubmitApps></pool>",
            vec![open.clone(), row("root.a", " x ", " ")],
        ),
        (
            "<queue name=\"root\"><aclSubmitApps> </aclSubmitApps><queue name=\"b\"><pool name=\"c\"><aclAdministerApps>x</aclAdministerApps></pool></queue></queue>",
            vec![row("root", " ", "*"), row("root.b", " ", " "), row("root.b.c", " ", "x")],
        ),
        ("<queue name=\" root \"/>", vec![open.clone(), row("root.root", " ", " ")]),
        // A suffix of `queue` is a queue, including the last of these.
        (
            "<queue name=\"a\"><ue name=\"b\"/><e name=\"c\"/></queue>",
            vec![open.clone(), row("root.a", " ", " "), row("root.a.b", " ", " "), row("root.a.c", " ", " ")],
        ),
        (
            "<queue name=\"a\"><aclSubmitApps>x</aclSubmitApps></queue><queue name=\"a\"><aclAdministerApps>y</aclAdministerApps></queue>",
            vec![open.clone(), row("root.a", "x", "y")],
        ),
        (
            "<queue name=\"a\"><aclSubmitApps>x</aclSubmitApps><aclSubmitApps>y</aclSubmitApps></queue>",
            vec![open.clone(), row("root.a", "y", " ")],
        ),
        (
            "<queue name=\"a\"><aclSubmitApps><!-- x -->y<![CDATA[z]]></aclSubmitApps></queue>",
            vec![open.clone(), row("root.a", "y", " ")],
        ),
        ("<queue name=\"a\"><aclsubmitapps>x</aclsubmitapps></queue>", vec![open, row("root.a", " ", " ")]),
    ];
    for (text, expected) in cases {
        assert_eq!(queues(text), expected, "{text}");
    }
}

#[test]
fn what_hadoop_refuses_or_ignores_is_reported() {
    use codes::{CUT, HADOOP_REFUSES, IGNORED, PLACEMENT, ROOT_MISSPELT, ROOT_OPEN, TWICE, UNSUPPORTED};
    let inside = |field: &str| {
        format!(
            "<queue name=\"root\"><aclSubmitApps>x</aclSubmitApps><aclAdministerApps>x</aclAdministerApps>{field}</queue>"
        )
    };
    let cases = [
        (inside(""), vec![]),
        (String::new(), vec![ROOT_OPEN, ROOT_OPEN]),
        (inside("<queue name=\"a\"><aclSubmitApps/></queue>"), vec![HADOOP_REFUSES]),
        (inside("<queue name=\"a\"><aclSubmitApps><b/></aclSubmitApps></queue>"), vec![HADOOP_REFUSES]),
        (inside("<queue name=\"a\"><aclListReservations/></queue>"), vec![HADOOP_REFUSES]),
        (inside("<queue name=\"a.b\"/>"), vec![HADOOP_REFUSES]),
        (inside("<queue/>"), vec![HADOOP_REFUSES]),
        (inside("") + "<queue name=\"b\"/>", vec![HADOOP_REFUSES]),
        ("<queue name=\"Root\"/>".to_owned(), vec![ROOT_MISSPELT]),
        (inside("<aclSubmitApps>y</aclSubmitApps>"), vec![TWICE]),
        (inside("<queue name=\"a\"/><queue name=\"a\"/>"), vec![TWICE]),
        (inside("<queue name=\"a\"><aclsubmitapps>x</aclsubmitapps></queue>"), vec![IGNORED]),
        (inside("<aclListReservations>x</aclListReservations>"), vec![UNSUPPORTED]),
        (inside("<queue name=\"a\"><aclSubmitApps>y<![CDATA[z]]></aclSubmitApps></queue>"), vec![CUT]),
        (
            inside("") + "<queuePlacementPolicy><rule name=\"default\"/></queuePlacementPolicy>",
            vec![PLACEMENT],
        ),
        (inside("") + "<queuePlacementPolicy>\n</queuePlacementPolicy>", vec![]),
    ];
    for (text, expected) in cases {
        let (queues, findings) = load(&text);
        assert_eq!(codes_of(&findings), expected, "{text}");
        assert_eq!(queues.is_none(), findings.iter().any(|finding| finding.diagnostic.is_error()), "{text}");
        for finding in findings {
            assert!(finding.diagnostic.help.is_some(), "{finding:?}");
        }
    }
}

#[test]
fn the_file_must_be_the_allocation_file() {
    for (text, code) in
        [("<configuration/>", codes::NOT_THIS_FILE), ("<!DOCTYPE a><allocations/>", codes::EXTERNAL)]
    {
        let mut findings = Vec::new();
        assert!(reported(read(0, text, Reading::Hadoop, &mut findings), &mut findings).is_none());
        assert_eq!(codes_of(&findings), [code]);
    }
}

#[test]
fn a_deep_tree_is_refused_and_not_overflowed() {
    let text = format!("{}{}", "<queue name=\"a\">".repeat(10_000), "</queue>".repeat(10_000));
    let (queues, findings) = load(&text);
    assert!(queues.is_none());
    assert_eq!(codes_of(&findings), [codes::TOO_MANY]);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(<queue name=\"[a. ]{0,2}\">|</queue>|<aclSubmitApps>|</aclSubmitApps>|[ a,*]){0,8}") {
        let (queues, findings) = load(&text);
        let refused = findings.iter().any(|finding| finding.diagnostic.is_error());
        prop_assert_eq!(queues.is_none(), refused, "{:?}", findings);
    }
}
