//! Tests of single cases. `e2e` compares whole tables with the admission controller.

use std::collections::BTreeMap;

use super::*;
use crate::admission::request::{Texts, USERNAME, Workload};
use crate::testing::is_same_refusal;
use crate::version::Version;

fn conf(keys: &[(&str, &str)]) -> Conf {
    Conf::from_keys(&texts(keys), Version::V1_8).0
}

fn texts(pairs: &[(&str, &str)]) -> Texts {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn create(kind: Kind, annotations: &[(&str, &str)], labels: &[(&str, &str)]) -> Request {
    Request {
        operation: Operation::Create,
        kind,
        namespace: "ns".into(),
        user: "alice".into(),
        groups: vec!["devs".into(), "system:authenticated".into()],
        pod: Pod { labels: texts(labels), annotations: texts(annotations), ..Pod::default() },
        old_pod: Pod::default(),
    }
}

fn answer(request: &Request, keys: &[(&str, &str)]) -> Evaluation {
    evaluate(request, &Surroundings::default(), &conf(keys))
}

/// Returns the annotation [`USER_INFO`] after the changes.
fn user_info(evaluation: &Evaluation) -> Option<&str> {
    evaluation.pod.annotations.get(USER_INFO).map(String::as_str)
}

fn paths(evaluation: &Evaluation) -> Vec<&str> {
    evaluation.patches.iter().map(|patch| patch.path).collect()
}

const NO_LABEL: (&str, &str) = ("admissionController.filtering.noLabelNamespaces", "^ns$");

#[test]
fn pod_gets_the_requesters_name() {
    let evaluation = answer(&create(Kind::Pod, &[("a", "b")], &[]), &[]);
    assert_eq!(evaluation.outcome, Outcome::Allowed);
    assert_eq!(paths(&evaluation), [ANNOTATIONS, SCHEDULER_NAME, LABELS]);
    assert_eq!(user_info(&evaluation), Some(r#"{"user":"alice","groups":["devs","system:authenticated"]}"#));
    assert_eq!(
        evaluation.pod.labels,
        texts(&[
            ("applicationId", "yunikorn-ns-autogen"),
            ("yunikorn.apache.org/app-id", "yunikorn-ns-autogen")
        ])
    );
    assert_eq!(evaluation.pod.annotation("a"), "b");
    assert_eq!(evaluation.pod.annotation("yunikorn.apache.org/allow-preemption"), "true");
    assert_eq!(evaluation.pod.scheduler_name, "yunikorn");
    assert_eq!(evaluation.submitter.unwrap().user, "alice");
}

#[test]
fn remedies_of_a_refusal_allow_the_request() {
    let info = [(USER_INFO, r#"{"user":"bob"}"#)];
    let evaluation = answer(&create(Kind::Pod, &info, &[]), &[]);
    let message = "user alice with groups [devs,system:authenticated] is not allowed to set user annotation";
    assert_eq!(evaluation.outcome, Outcome::Denied(message.into()));
    assert_eq!(evaluation.submitter, None);
    assert_eq!(
        evaluation.remedies,
        [
            "omit yunikorn.apache.org/user.info, so that it is set to the requester's own name",
            "add `^alice$` to externalUsers",
            "add `^devs$` to externalGroups",
        ]
    );
    for user in ["alice", "a,b", "CN=x,O=(y)", "a.b*"] {
        let mut request = create(Kind::Pod, &info, &[]);
        request.user = user.into();
        let own = answer(&Request { pod: Pod::default(), ..request.clone() }, &[]);
        assert_eq!(own.outcome, Outcome::Allowed, "{user}");
        for remedy in answer(&request, &[]).remedies.iter().skip(1) {
            let added = remedy.strip_prefix("add `").and_then(|rest| rest.split_once("` to "));
            let (pattern, list) = added.expect(remedy);
            let list = format!("admissionController.accessControl.{list}");
            let allowed = answer(&request, &[(&list, pattern)]);
            assert_eq!(allowed.outcome, Outcome::Allowed, "{user}: {remedy}");
        }
    }
}

#[test]
fn untrusted_controller_gets_trust_as_a_remedy() {
    let mut request = create(Kind::Pod, &[(USER_INFO, "{}")], &[]);
    request.user = "system:serviceaccount:kube-system:job-controller".into();
    request.groups.clear();
    let distrust = [("admissionController.accessControl.trustControllers", "false")];
    let evaluation = answer(&request, &distrust);
    assert!(matches!(&evaluation.outcome, Outcome::Denied(message) if message.contains("groups []")));
    let trust =
        "set trustControllers to true; systemUsers already contains `^system:serviceaccount:kube-system:`";
    assert_eq!(evaluation.remedies[1], trust);
    assert_eq!(answer(&request, &[]).outcome, Outcome::Allowed);
}

#[test]
fn namespace_without_application_ids_loses_the_user_up_to_1_9() {
    let request = create(Kind::Pod, &[], &[(USERNAME, "carol")]);
    let old = answer(&request, &[NO_LABEL]);
    assert_eq!(paths(&old), [ANNOTATIONS, SCHEDULER_NAME, ANNOTATIONS]);
    assert_eq!(user_info(&old), None);
    let lost =
        "yunikorn.apache.org/user.info is lost because the annotations are written a second time without it";
    assert!(old.steps.iter().any(|step| step == lost), "{:?}", old.steps);
    assert_eq!(old.submitter.unwrap().user, "carol");
    let next = Conf { version: Version::V1_10, ..conf(&[NO_LABEL]) };
    let next = evaluate(&request, &Surroundings::default(), &next);
    assert_eq!(paths(&next), [ANNOTATIONS, SCHEDULER_NAME]);
    assert_eq!(next.submitter.unwrap().user, "alice");
}

#[test]
fn namespace_without_application_ids_keeps_a_given_user() {
    let info = r#"{"user":"bob"}"#;
    let request = create(Kind::Pod, &[(USER_INFO, info)], &[]);
    let users = ("admissionController.accessControl.externalUsers", "^alice$");
    let evaluation = answer(&request, &[NO_LABEL, users]);
    assert_eq!(paths(&evaluation), [SCHEDULER_NAME, ANNOTATIONS]);
    assert!(!evaluation.steps.iter().any(|step| step.contains("is lost")), "{:?}", evaluation.steps);
    assert_eq!(user_info(&evaluation), Some(info));
    assert_eq!(evaluation.submitter.unwrap().user, "bob");
}

#[test]
fn replica_set_of_a_system_user_is_not_changed() {
    let labels = [("applicationId", "x")];
    let mut request = create(Kind::Workload(Workload::ReplicaSet), &[(USER_INFO, "{}")], &labels);
    assert!(matches!(answer(&request, &[]).outcome, Outcome::Denied(_)));
    request.user = "system:serviceaccount:kube-system:deployment-controller".into();
    let left =
        "a ReplicaSet of a system user (matched by `^system:serviceaccount:kube-system:`) is not changed";
    for keys in [&[][..], &[("admissionController.accessControl.trustControllers", "false")]] {
        let evaluation = answer(&request, keys);
        assert_eq!((&evaluation.outcome, paths(&evaluation)), (&Outcome::Allowed, vec![]), "{keys:?}");
        assert_eq!(evaluation.steps, [left], "{keys:?}");
    }
    request.kind = Kind::Workload(Workload::Deployment);
    request.pod.annotations.clear();
    assert_eq!(paths(&answer(&request, &[])), ["/spec/template/metadata/annotations"]);

    request.kind = Kind::Workload(Workload::ReplicaSet);
    let users = "admissionController.accessControl.systemUsers";
    let deep = format!("{}a{}", "(".repeat(40), ")".repeat(40));
    assert_eq!(answer(&request, &[(users, &deep)]).outcome, Outcome::Unknown(users));
}

#[test]
fn update_is_checked_only_for_pods_and_for_every_user() {
    let mut request = create(Kind::Pod, &[(USER_INFO, r#"{"user":"bob"}"#)], &[]);
    request.operation = Operation::Update;
    let everyone = [("admissionController.accessControl.externalUsers", "^alice$")];
    let message = "user info annotation change is not allowed";
    assert_eq!(answer(&request, &everyone).outcome, Outcome::Denied(message.into()));
    request.old_pod = request.pod.clone();
    assert_eq!(answer(&request, &everyone).outcome, Outcome::Allowed);
    request.old_pod = Pod::default();
    request.kind = Kind::Workload(Workload::Deployment);
    let evaluation = answer(&request, &[]);
    let unseen = "updates of workloads are not checked, even if they change yunikorn.apache.org/user.info";
    assert_eq!(evaluation.outcome, Outcome::Allowed);
    assert_eq!(evaluation.steps, [unseen]);
}

#[test]
fn unknown_list_is_reported_and_changes_nothing() {
    let deep = format!("{}a{}", "(".repeat(40), ")".repeat(40));
    for key in
        ["admissionController.filtering.processNamespaces", "admissionController.filtering.noLabelNamespaces"]
    {
        let evaluation = answer(&create(Kind::Pod, &[], &[]), &[(key, &deep)]);
        assert_eq!(evaluation.outcome, Outcome::Unknown(key));
        assert!(evaluation.patches.is_empty() && evaluation.submitter.is_none());
    }
    let users = "admissionController.accessControl.externalUsers";
    let given = create(Kind::Pod, &[(USER_INFO, "{}")], &[]);
    assert_eq!(answer(&given, &[(users, &deep)]).outcome, Outcome::Unknown(users));
    assert_eq!(answer(&create(Kind::Pod, &[], &[]), &[(users, &deep)]).outcome, Outcome::Allowed);
}

#[test]
fn every_step_is_a_sentence() {
    let evaluation = answer(&create(Kind::Pod, &[], &[]), &[]);
    assert_eq!(
        evaluation.steps,
        [
            "yunikorn.apache.org/user.info is set to the requester: user `alice` in `devs`, \
             `system:authenticated`",
            "pods of the namespace go to YuniKorn: admissionController.filtering.processNamespaces is empty, \
             which means all",
            "pods of the namespace get an application ID: admissionController.filtering.labelNamespaces is \
             empty, which means all",
        ]
    );
}

#[test]
fn kinds_are_parsed_from_group_and_name() {
    assert_eq!(Kind::parse("", "Pod"), Kind::Pod);
    assert_eq!(Kind::parse("batch", "CronJob"), Kind::Workload(Workload::CronJob));
    let volcano = Kind::parse("batch.volcano.sh", "Job");
    assert_eq!(volcano, Kind::Other("Job".into()));
    let evaluation = answer(&create(volcano, &[(USER_INFO, "{}")], &[("applicationId", "x")]), &[]);
    assert_eq!(evaluation.outcome, Outcome::Allowed);
    let job = create(Kind::parse("batch", "CronJob"), &[], &[("applicationId", "x")]);
    assert_eq!(paths(&answer(&job, &[])), ["/spec/jobTemplate/spec/template/metadata/annotations"]);
}

#[test]
fn unique_application_ids_begin_with_the_namespace() {
    let keys = [("admissionController.filtering.generateUniqueAppId", "true")];
    let mut request = create(Kind::Pod, &[], &[]);
    request.namespace = "a-namespace-of-more-than-26-letters".into();
    let id = |request: &Request, keys: &[(&str, &str)]| {
        answer(request, keys).pod.labels["yunikorn.apache.org/app-id"].clone()
    };
    assert_eq!(id(&request, &keys), "a-namespace-of-more-than-2-uniqueautogen");
    request.pod.uid = "8f3b".into();
    assert_eq!(id(&request, &keys), "a-namespace-of-more-than-2-8f3b");
    request.namespace = "n".repeat(63);
    assert_eq!(id(&request, &[]), format!("yunikorn-{}", "n".repeat(54)));
    request.namespace.clear();
    assert_eq!(id(&request, &[]), "yunikorn-default-autogen");
}

#[test]
fn priority_class_can_forbid_preemption() {
    let request = create(Kind::Pod, &[(USER_INFO, "{}")], &[]);
    let forbid = BTreeMap::from([("yunikorn.apache.org/allow-preemption".to_owned(), "false".to_owned())]);
    let surroundings = Surroundings { priority_class_annotations: forbid, ..Surroundings::default() };
    let users = [("admissionController.accessControl.externalUsers", "^alice$")];
    let evaluation = evaluate(&request, &surroundings, &conf(&users));
    assert_eq!(paths(&evaluation), [SCHEDULER_NAME, LABELS, ANNOTATIONS]);
    assert_eq!(evaluation.pod.annotation("yunikorn.apache.org/allow-preemption"), "false");
    assert_eq!(user_info(&evaluation), Some("{}"));
}

/// Parses a pod of the fixture.
fn fixture_pod(row: &serde_json::Value) -> Pod {
    let texts = |value: &serde_json::Value| serde_json::from_value(value.clone()).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    Pod {
        labels: texts(&row["labels"]),
        annotations: texts(&row["annotations"]),
        uid: text(&row["uid"]),
        priority_class: text(&row["priorityClass"]),
        scheduler_name: text(&row["schedulerName"]),
    }
}

#[test]
fn recorded_requests_have_the_admission_controllers_answers() {
    let optional = |value: &serde_json::Value| {
        serde_json::from_value::<Option<Texts>>(value.clone()).unwrap().unwrap_or_default()
    };
    for line in include_str!("../../../../../tests/vectors/yunikorn-mutate.jsonl").lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let (asked, expected) = (&row["asked"], &row["answer"]);
        let text = |key: &str| asked[key].as_str().unwrap().to_owned();
        let kind = match text("kind").as_str() {
            name @ ("Job" | "CronJob") => Kind::parse("batch", name),
            name @ ("Pod" | "pod" | "ReplicationController") => Kind::parse("", name),
            name => Kind::parse("apps", name),
        };
        let request = Request {
            operation: Operation::parse(&text("operation")),
            kind,
            namespace: text("namespace"),
            user: text("user"),
            groups: serde_json::from_value(asked["groups"].clone()).unwrap(),
            pod: fixture_pod(&asked["pod"]),
            old_pod: fixture_pod(&asked["oldPod"]),
        };
        let surroundings = Surroundings {
            namespace_annotations: optional(&asked["namespaceAnnotations"]),
            priority_class_annotations: optional(&asked["priorityClassAnnotations"]),
        };
        let conf = Conf::from_keys(&optional(&asked["configs"]["data"]), Version::V1_8).0;
        let evaluation = evaluate(&request, &surroundings, &conf);
        let message = expected["message"].as_str().unwrap().to_owned();
        match &evaluation.outcome {
            Outcome::Denied(ours) => assert!(is_same_refusal(ours, &message), "{ours}: {line}"),
            other => assert_eq!(*other, Outcome::Allowed, "{line}"),
        }
        assert_eq!(evaluation.outcome == Outcome::Allowed, expected["allowed"] == true, "{line}");
        let patched: Vec<&str> = expected["patch"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|patch| patch["path"].as_str().unwrap())
            .collect();
        assert_eq!(paths(&evaluation), patched, "{line}");
        assert_eq!(evaluation.pod.labels, optional(&expected["labels"]), "{line}");
        assert_eq!(evaluation.pod.annotations, optional(&expected["annotations"]), "{line}");
        assert_eq!(evaluation.pod.scheduler_name, expected["schedulerName"].as_str().unwrap(), "{line}");
        let submitter = Submitter::from_pod(&evaluation.pod, Version::V1_8);
        let groups: Vec<String> = serde_json::from_value(expected["groups"].clone()).unwrap();
        assert_eq!(
            (submitter.user.as_str(), submitter.groups),
            (expected["user"].as_str().unwrap(), groups),
            "{line}"
        );
    }
}
