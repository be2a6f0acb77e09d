//! Converts a `QueueAccessTest` into the plan's input.
//!
//! As with the other kinds nothing here fails: a test that cannot be read, or that the CRD's rules would
//! refuse, becomes an entry that says what is wrong with it. The bounds of the schema are checked here again,
//! because no API server reads files.

use kube::core::DynamicObject;

use super::convert::{collect, meta, spec};
use super::v1alpha1 as api;
use go_compat::diag::{Code, Diagnostic};
use queuewarden_plan::snapshot::{AccessTestSpec, Entry};
use yunikorn::admission::request::{Pod, QUEUE};
use yunikorn::{Identity, QueuePath};
use yunikorn_access::expect::{Case, Expectations, ExpectedPlacement, MAX_CHECKS, Placing, Queues};
use yunikorn_access::placement::Workload;

go_compat::codes! {
    /// A case that checks nothing: without subjects, or without queues and placements. It would pass
    /// whatever access is.
    pub const EMPTY_CASE: Code = Code::new(5151, "empty-case");
    /// A placement without `runsIn` or `rejected`, or with both.
    pub const NO_OUTCOME: Code = Code::new(5152, "placement-without-outcome");
    /// More checks than one test may make: 10,000, each subject with each queue and each placement of its
    /// case.
    pub const TOO_MANY_CHECKS: Code = Code::new(5153, "too-many-checks");
    /// A queue that no configuration can have.
    pub const BAD_EXPECTED_QUEUE: Code = Code::new(5154, "bad-expected-queue");
    /// A subject without a user.
    pub const NO_USER: Code = Code::new(5155, "subject-without-user");
}

/// Converts a `QueueAccessTest` for the plan.
pub fn access_test(object: &DynamicObject) -> Entry<AccessTestSpec, ()> {
    Entry { meta: meta(object), spec: spec(object).and_then(test), in_force: None }
}

fn test(spec: api::QueueAccessTestSpec) -> Result<AccessTestSpec, Vec<Diagnostic>> {
    let api::QueueAccessTestSpec { partition, enforcement, cases } = spec;
    let mut wrong = Vec::new();
    if cases.is_empty() {
        wrong.push(Diagnostic::error(EMPTY_CASE, "spec.cases: there is no case, so nothing is checked"));
    }
    let read = |(index, case)| self::case(&format!("spec.cases[{index}]"), case, &mut wrong);
    let cases: Vec<Case> = cases.into_iter().enumerate().map(read).collect();
    let expectations = Expectations { partition, cases };
    let size = expectations.size();
    if size > MAX_CHECKS {
        let message = format!("spec.cases: {size} checks, and {MAX_CHECKS} are the most of one test");
        let help = "make several tests of it, or name fewer subjects: one of each group says as much";
        wrong.push(Diagnostic::error(TOO_MANY_CHECKS, message).help(help));
    }
    if wrong.is_empty() { Ok(AccessTestSpec { expectations, enforcement }) } else { Err(wrong) }
}

fn case(at: &str, case: api::AccessCase, wrong: &mut Vec<Diagnostic>) -> Case {
    let api::AccessCase { name, subjects, allow, deny, placements, dynamic } = case;
    for (index, subject) in subjects.iter().enumerate().filter(|(_, subject)| subject.user.is_empty()) {
        let location = format!("{at}.subjects[{index}]");
        let groups = subject.groups.join(", ");
        let message = format!("{location}: the user is empty, and YuniKorn takes nothing from nobody");
        let help = format!("name a user, any who is not named otherwise, with groups: [{groups}]");
        wrong.push(Diagnostic::error(NO_USER, message).help(help));
    }
    let mut queues = |field: &str, rights: Option<Queues>| {
        let rights = rights.unwrap_or_default();
        for (list, queues) in [("submit", &rights.submit), ("administer", &rights.administer)] {
            for (index, queue) in queues.iter().enumerate() {
                wrong.extend(check_queue(&format!("{at}.{field}.{list}[{index}]"), queue).err());
            }
        }
        rights
    };
    let (allow, deny) = (queues("allow", allow), queues("deny", deny));
    let subjects = subjects.into_iter().map(|api::AccessSubject { user, groups }| Identity { user, groups });
    let placed = placements.into_iter().enumerate().filter_map(|(index, placement)| {
        collect(placing(&format!("{at}.placements[{index}]"), placement), wrong)
    });
    let placements = placed.collect();
    let case = Case { name, subjects: subjects.collect(), allow, deny, placements, dynamic };
    if case.size() == 0 && wrong.is_empty() {
        let message = format!("{at}: the case checks nothing, so it would pass whatever access is");
        let help = "name subjects, and queues in `allow` or `deny`, or `placements`";
        wrong.push(Diagnostic::error(EMPTY_CASE, message).help(help));
    }
    case
}

fn check_queue(at: &str, queue: &str) -> Result<(), Diagnostic> {
    let refused = |Diagnostic { message, help, .. }| {
        let error = Diagnostic::error(BAD_EXPECTED_QUEUE, format!("{at}: {message}"));
        Diagnostic { help, ..error }
    };
    QueuePath::parse(queue).map(drop).map_err(refused)
}

fn placing(at: &str, placement: api::ExpectedPlacement) -> Result<Placing, Diagnostic> {
    let api::ExpectedPlacement {
        namespace,
        queue,
        mut labels,
        annotations,
        namespace_annotations,
        runs_in,
        rejected,
    } = placement;
    let expected = match (runs_in, rejected) {
        (Some(queue), None) => {
            check_queue(&format!("{at}.runsIn"), &queue)?;
            ExpectedPlacement::In(queue)
        }
        (None, Some(true)) => ExpectedPlacement::Nowhere,
        _ => {
            let message = format!("{at}: exactly one of `runsIn` and `rejected` says what is expected");
            let help = "write `runsIn: root.prod`, or `rejected: true`";
            return Err(Diagnostic::error(NO_OUTCOME, message).help(help));
        }
    };
    if let Some(queue) = queue {
        labels.insert(QUEUE.to_owned(), queue);
    }
    let pod = Pod { labels, annotations, ..Pod::default() };
    let workload = Workload { namespace, namespace_annotations, pod, ..Workload::default() };
    Ok(Placing { workload, expected })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;
    use queuewarden_plan::snapshot::Enforcement;

    fn read(spec: &Value) -> Result<AccessTestSpec, Vec<Diagnostic>> {
        let object = json!({"metadata": {"name": "x"}, "spec": spec});
        access_test(&serde_json::from_value(object).unwrap()).spec
    }

    #[test]
    fn a_whole_test_is_read() {
        let spec = read(&json!({
            "partition": "gpu", "enforcement": "Block",
            "cases": [{
                "name": "n", "subjects": [{"user": "sue", "groups": ["devs"]}], "dynamic": true,
                "allow": {"submit": ["root.a"]}, "deny": {"administer": ["root.b"]},
                "placements": [
                    {"queue": "q", "labels": {"l": "1"}, "annotations": {"a": "2"}, "namespaceAnnotations": {"n": "3"}, "runsIn": "root.a"},
                    {"namespace": "etl", "rejected": true},
                ],
            }],
        }))
        .unwrap();
        assert_eq!((spec.enforcement, spec.expectations.partition.as_str()), (Enforcement::Block, "gpu"));
        let [case] = spec.expectations.cases.as_slice() else { panic!("{spec:?}") };
        assert_eq!((case.size(), case.dynamic, case.name.as_str()), (4, true, "n"));
        let [first, second] = case.placements.as_slice() else { panic!("{case:?}") };
        assert_eq!((first.workload.queue(), first.workload.namespace.as_str()), ("q", "default"));
        assert_eq!(first.workload.pod.labels["l"], "1");
        assert_eq!(first.workload.pod.annotations, BTreeMap::from([("a".to_owned(), "2".to_owned())]));
        assert_eq!(first.workload.namespace_annotations["n"], "3");
        assert_eq!((&second.expected, second.workload.queue()), (&ExpectedPlacement::Nowhere, ""));
    }

    #[test]
    fn what_would_check_nothing_or_too_much_is_refused() {
        let sue = json!([{"user": "sue"}]);
        let many: Vec<Value> = (0..101).map(|n| json!({"user": format!("u{n}")})).collect();
        let queues: Vec<String> = (0..100).map(|n| format!("root.q{n}")).collect();
        let cases = [
            (json!([]), EMPTY_CASE, "spec.cases: "),
            (json!([{"subjects": sue}]), EMPTY_CASE, "spec.cases[0]: "),
            (json!([{"subjects": [], "allow": {"submit": ["root"]}}]), EMPTY_CASE, "spec.cases[0]: "),
            (json!([{"subjects": sue, "allow": {}}]), EMPTY_CASE, "spec.cases[0]: "),
            (json!([{"subjects": sue, "placements": [{}]}]), NO_OUTCOME, "spec.cases[0].placements[0]: "),
            (
                json!([{"subjects": sue, "placements": [{"runsIn": "root", "rejected": true}]}]),
                NO_OUTCOME,
                "spec.cases[0].placements[0]: ",
            ),
            (
                json!([{"subjects": sue, "placements": [{"runsIn": "prod"}]}]),
                BAD_EXPECTED_QUEUE,
                "spec.cases[0].placements[0].runsIn: ",
            ),
            (
                json!([{"subjects": sue, "deny": {"administer": ["root", "a.b"]}}]),
                BAD_EXPECTED_QUEUE,
                "spec.cases[0].deny.administer[1]: ",
            ),
            (
                json!([{"subjects": [{"user": ""}], "allow": {"submit": ["root"]}}]),
                NO_USER,
                "spec.cases[0].subjects[0]: ",
            ),
            (json!([{"subjects": many, "deny": {"submit": queues}}]), TOO_MANY_CHECKS, "spec.cases: 10100"),
        ];
        for (cases, code, start) in cases {
            let wrong = read(&json!({ "cases": cases })).unwrap_err();
            let [diagnostic] = wrong.as_slice() else { panic!("{wrong:?}") };
            assert_eq!(diagnostic.code, code, "{diagnostic}");
            assert!(diagnostic.message.starts_with(start), "{diagnostic}");
        }
        for spec in [json!({}), json!({"cases": [{}]}), json!({"cases": [{"subjects": [{"users": "a"}]}]})] {
            assert_eq!(read(&spec).unwrap_err().first().unwrap().code, super::super::convert::UNREADABLE);
        }
    }
}
