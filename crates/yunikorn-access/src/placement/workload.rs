//! A pod and its namespace, and the application that `YuniKorn`'s shim submits for them (yunikorn-k8shim
//! v1.8.0 `pkg/cache/metadata.go:56-155`, `pkg/cache/context.go:917-952`,
//! `pkg/common/utils/utils.go:111-214`).
//!
//! The identity of the user must already be resolved ([`yunikorn::admission`]).

use std::collections::BTreeMap;

use super::{FORCE_TAG, Submission};
use yunikorn::admission::generated_id;
use yunikorn::admission::request::YUNIKORN;
use yunikorn::admission::request::{
    APP_ID, APPLICATION_ID, MAX_APPS, OLD_QUEUE, PARENT_QUEUE, POLICY, Pod, QUEUE, SPARK_APP_SELECTOR,
    TASK_GROUPS, Texts,
};
use yunikorn::identity::Identity;

/// The end of an application ID that contains the pod's UID.
const UNIQUE: &str = "-uniqueautogen";

/// The relevant parts of a pod. Only the first pod of an application determines it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workload {
    /// `metadata.namespace`; empty means `default`.
    pub namespace: String,
    /// The annotations of that namespace.
    pub namespace_annotations: Texts,
    /// The metadata and the scheduler. `YuniKorn`'s admission controller sets the scheduler, so it may still
    /// be missing.
    pub pod: Pod,
    /// `spec.nodeName`. If it is set, the application must be accepted.
    pub node_name: String,
    /// The names in `spec.imagePullSecrets`.
    pub image_pull_secrets: Vec<String>,
}

/// How an application is named if its pod names none (`admissionController.filtering.generateUniqueAppId`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Naming {
    /// One application for all such pods of a namespace.
    #[default]
    PerNamespace,
    /// One application for each pod.
    PerPod,
}

impl Workload {
    /// Returns the application that the shim submits.
    pub fn submission(&self, identity: Identity, naming: Naming) -> Submission {
        Submission {
            application_id: self.application_id(naming),
            identity,
            queue: self.queue().to_owned(),
            tags: self.tags(),
        }
    }

    /// Returns whether the pod names another scheduler, so that `YuniKorn` ignores it.
    pub fn is_foreign(&self) -> bool {
        !self.pod.scheduler_name.is_empty() && self.pod.scheduler_name != YUNIKORN
    }

    /// Returns the queue that it names, or an empty text (`GetQueueNameFromPod`).
    pub fn queue(&self) -> &str {
        let pod = &self.pod;
        first(&[pod.label(QUEUE), pod.annotation(QUEUE), pod.label(OLD_QUEUE)])
    }

    /// Returns the ID that the pod gives its application, or an empty text.
    pub fn given_id(&self) -> &str {
        let pod = &self.pod;
        first(&[
            pod.label(APP_ID),
            pod.annotation(APP_ID),
            pod.label(APPLICATION_ID),
            pod.label(SPARK_APP_SELECTOR),
        ])
    }

    /// Returns the application's ID (`GetApplicationIDFromPod`).
    pub fn application_id(&self, naming: Naming) -> String {
        match self.given_id() {
            "" => self.generated_id(naming),
            id => match id.strip_suffix(UNIQUE) {
                Some(start) => format!("{start}-{}", self.pod.uid),
                None => id.to_owned(),
            },
        }
    }

    /// Returns the application that it names and that others may share, or an empty text. The shared
    /// application of all pods that name none belongs to nobody, and an ID with the pod's UID is new.
    pub fn named_application(&self) -> &str {
        let given = self.given_id();
        let is_its_own = given.ends_with(UNIQUE) || given == self.generated_id(Naming::PerNamespace);
        if is_its_own { "" } else { given }
    }

    /// `GenerateApplicationID`, which does not replace an empty namespace by `default`.
    fn generated_id(&self, naming: Naming) -> String {
        generated_id(&self.namespace, naming == Naming::PerPod, &self.pod.uid)
    }

    /// Returns the tags that a rule can use. Tags that can never be a queue name are omitted: quotas in JSON,
    /// and the creation time.
    fn tags(&self) -> BTreeMap<String, String> {
        let namespace = if self.namespace.is_empty() { "default" } else { &self.namespace };
        let forced = if self.node_name.is_empty() { "false" } else { "true" };
        let mut tags = BTreeMap::from([
            ("namespace".to_owned(), namespace.to_owned()),
            (FORCE_TAG.to_owned(), forced.to_owned()),
            (TASK_GROUPS.to_owned(), self.pod.annotation(TASK_GROUPS).to_owned()),
            (POLICY.to_owned(), self.pod.annotation(POLICY).to_owned()),
        ]);
        let of_namespace = |key| self.namespace_annotations.get(key).cloned().unwrap_or_default();
        let optional = [
            ("imagePullSecrets", self.image_pull_secrets.join(",")),
            ("namespace.parentqueue", of_namespace(PARENT_QUEUE)),
            ("namespace.resourcemaxapps", of_namespace(MAX_APPS)),
        ];
        let given = optional.into_iter().filter(|(_, value)| !value.is_empty());
        tags.extend(given.map(|(tag, value)| (tag.to_owned(), value)));
        tags
    }
}

fn first<'a>(candidates: &[&'a str]) -> &'a str {
    candidates.iter().find(|candidate| !candidate.is_empty()).unwrap_or(&"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use yunikorn::admission::Submitter;
    use yunikorn::admission::request::{
        ALLOW_PREEMPTION, DECIDING_ANNOTATIONS, DECIDING_LABELS, IGNORE_APPLICATION, OLD_PLACEHOLDER,
        PLACEHOLDER, PLACEHOLDER_LABEL, USER_INFO,
    };
    use yunikorn::version::Version;

    type Entries = &'static [(&'static str, &'static str)];

    fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
        entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn pod(labels: &[(&str, &str)], annotations: &[(&str, &str)]) -> Workload {
        let [labels, annotations] = [map(labels), map(annotations)];
        let pod = Pod { uid: "u-1".to_owned(), labels, annotations, ..Pod::default() };
        Workload { namespace: "etl".to_owned(), pod, ..Workload::default() }
    }

    #[test]
    fn queue_label_has_precedence() {
        let cases: [(Entries, Entries, &str); 5] = [
            (&[(QUEUE, "a"), (OLD_QUEUE, "b")], &[(QUEUE, "c")], "a"),
            (&[(OLD_QUEUE, "b")], &[(QUEUE, "c")], "c"),
            (&[(QUEUE, ""), (OLD_QUEUE, "b")], &[(OLD_QUEUE, "d")], "b"),
            (&[], &[(OLD_QUEUE, "d")], ""),
            (&[], &[], ""),
        ];
        for (labels, annotations, expected) in cases {
            assert_eq!(pod(labels, annotations).queue(), expected, "{labels:?} {annotations:?}");
        }
    }

    /// The keys that the model reads from a pod must equal the list in the policy `queuewarden-own-names`.
    #[test]
    fn user_application_and_queue_depend_only_on_the_deciding_labels_and_annotations() {
        let all = [DECIDING_LABELS.as_slice(), &DECIDING_ANNOTATIONS].concat();
        let others = [ALLOW_PREEMPTION, "app", "yunikorn.apache.org/task-group-name", "run"];
        let derived = |pod: &Workload, version| {
            let submitter = Submitter::from_pod(&pod.pod, version);
            (submitter, pod.submission(Identity::default(), Naming::default()))
        };
        for (key, is_label) in all.into_iter().chain(others).flat_map(|key| [(key, true), (key, false)]) {
            let entries = [(key, "x")];
            let changed = if is_label { pod(&entries, &[]) } else { pod(&[], &entries) };
            let is_listed = changed.pod.decides_otherwise(&pod(&[], &[]).pod) == Some(key)
                || !is_label && key == USER_INFO;
            let keys = if is_label { &DECIDING_LABELS[..] } else { &DECIDING_ANNOTATIONS };
            assert_eq!(is_listed, keys.contains(&key), "{key} {is_label}");
            let decides = derived(&changed, Version::V1_9) != derived(&pod(&[], &[]), Version::V1_9);
            // Gangs and the Kubernetes scheduler plugin are not modelled.
            let unmodelled = [PLACEHOLDER_LABEL, PLACEHOLDER, OLD_PLACEHOLDER, IGNORE_APPLICATION];
            assert_eq!(decides, is_listed && !unmodelled.contains(&key), "{key} {is_label}");
        }
    }

    #[test]
    fn application_id_is_named_or_generated() {
        let cases: [(Entries, Entries, &str); 6] = [
            (&[(APP_ID, "a"), (SPARK_APP_SELECTOR, "s")], &[(APP_ID, "n")], "a"),
            (&[(APPLICATION_ID, "o"), (SPARK_APP_SELECTOR, "s")], &[(APP_ID, "n")], "n"),
            (&[(APPLICATION_ID, "o"), (SPARK_APP_SELECTOR, "s")], &[], "o"),
            (&[(SPARK_APP_SELECTOR, "s")], &[], "s"),
            (&[(APP_ID, "etl-uniqueautogen")], &[], "etl-u-1"),
            (&[], &[(APPLICATION_ID, "o")], "yunikorn-etl-autogen"),
        ];
        for (labels, annotations, expected) in cases {
            assert_eq!(pod(labels, annotations).application_id(Naming::PerNamespace), expected, "{labels:?}");
        }
        assert_eq!(pod(&[], &[]).application_id(Naming::PerPod), "etl-u-1");
        let long = Workload { namespace: "n".repeat(63), ..Workload::default() };
        assert_eq!(long.application_id(Naming::PerNamespace).len(), 63);
        assert_eq!(long.application_id(Naming::PerPod), format!("{}-uniqueautogen", "n".repeat(26)));
    }

    #[test]
    fn named_application_may_be_shared() {
        for (id, expected) in [
            ("spark-1", "spark-1"),
            ("yunikorn-prod-autogen", "yunikorn-prod-autogen"),
            ("yunikorn-etl-autogen", ""),
            ("etl-uniqueautogen", ""),
            ("", ""),
        ] {
            for key in [APP_ID, APPLICATION_ID, SPARK_APP_SELECTOR] {
                assert_eq!(pod(&[(key, id)], &[]).named_application(), expected, "{key}: {id}");
            }
            assert_eq!(pod(&[], &[(APP_ID, id)]).named_application(), expected, "{id}");
        }
    }

    #[test]
    fn tags_contain_the_namespace_and_its_annotations() {
        let mut workload = pod(&[], &[]);
        workload.namespace_annotations = map(&[(PARENT_QUEUE, "root.tenants"), (MAX_APPS, "3"), ("x", "y")]);
        let submission = workload.submission(Identity::default(), Naming::default());
        assert_eq!(submission.tag("Namespace"), "etl");
        assert_eq!(submission.tag("namespace.parentqueue"), "root.tenants");
        assert_eq!(submission.tag("namespace.resourcemaxapps"), "3");
        assert!(!submission.forced());
        assert_eq!(
            Workload::default().submission(Identity::default(), Naming::default()).tag("namespace"),
            "default"
        );
    }

    #[test]
    fn pod_of_another_scheduler_is_foreign() {
        for (scheduler, foreign) in [("", false), (YUNIKORN, false), ("default-scheduler", true)] {
            let mut workload = pod(&[], &[]);
            workload.pod.scheduler_name = scheduler.to_owned();
            assert_eq!(workload.is_foreign(), foreign, "{scheduler}");
        }
    }

    #[test]
    fn pod_with_a_node_must_be_accepted() {
        let workload = Workload { node_name: "n1".to_owned(), ..pod(&[], &[]) };
        assert!(workload.submission(Identity::default(), Naming::default()).forced());
    }
}
