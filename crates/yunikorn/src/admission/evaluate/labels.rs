//! The application's ID in the labels of a pod (k8shim `pkg/admission/util.go:32-69`).

use crate::admission::request::{APP_ID, APPLICATION_ID, OLD_QUEUE, Pod, QUEUE, SPARK_APP_SELECTOR, Texts};

/// The first label that gives the pod an application ID (`admission_controller.go:326`).
pub(super) fn application_label(pod: &Pod) -> Option<&'static str> {
    [APP_ID, APPLICATION_ID, SPARK_APP_SELECTOR].into_iter().find(|label| !pod.label(label).is_empty())
}

/// The labels of a pod that is admitted in this namespace.
pub(super) fn updated(pod: &Pod, namespace: &str, unique: bool) -> Texts {
    let mut labels = pod.labels.clone();
    let mut set = |key: &str, value: &str| labels.insert(key.to_owned(), value.to_owned());
    if application_label(pod).is_none() && pod.annotation(APP_ID).is_empty() {
        let generated = generated_id(namespace, unique, &pod.uid);
        set(APP_ID, &generated);
        set(APPLICATION_ID, &generated);
    } else if !pod.label(APP_ID).is_empty() {
        set(APPLICATION_ID, pod.label(APP_ID));
    }
    if !pod.label(QUEUE).is_empty() {
        set(OLD_QUEUE, pod.label(QUEUE));
    }
    labels
}

/// An application's ID where none is given (`GenerateApplicationID`, `pkg/common/utils/utils.go:132-146`):
/// that of the namespace, or one for the pod alone. An empty namespace is not read as `default`.
pub fn generated_id(namespace: &str, unique: bool, uid: &str) -> String {
    let short: String = namespace.chars().take(26).collect();
    let id = match (unique, uid) {
        (false, _) => format!("yunikorn-{namespace}-autogen"),
        (true, "") => format!("{short}-uniqueautogen"),
        (true, uid) => format!("{short}-{uid}"),
    };
    id.chars().take(63).collect()
}
