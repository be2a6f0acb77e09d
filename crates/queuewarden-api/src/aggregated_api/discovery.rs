//! Builds the discovery documents of the aggregated API.
//!
//! They are the same for every caller and change only with the program. Current API servers request `/apis`
//! as a list of groups with all their resources (aggregated discovery, `apidiscovery.k8s.io/v2`). Older ones
//! request each version separately.

use serde_json::{Value, json};

use super::{API_VERSION, GROUP, VERSION, queue};
use crate::extended;

/// All resources: plural, singular, kind and verbs. They are cluster-scoped and in no category, because
/// `kubectl get yunikorn` would then fail against this server.
const RESOURCES: [(&str, &str, &str, &[&str]); 3] = [
    ("queues", "queue", queue::KIND, &["get", "list"]),
    ("queueaccessreviews", "queueaccessreview", "QueueAccessReview", &["create"]),
    ("selfqueueaccessreviews", "selfqueueaccessreview", "SelfQueueAccessReview", &["create"]),
];

/// `/apis`, aggregated; `version` is `v2` or `v2beta1`.
pub fn aggregated(version: &str) -> Value {
    let resources = RESOURCES.map(|(plural, singular, kind, verbs)| {
        json!({
            "resource": plural,
            "responseKind": {"group": GROUP, "version": VERSION, "kind": kind},
            "scope": "Cluster",
            "singularResource": singular,
            "verbs": verbs,
        })
    });
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {},
        "items": [{
            "metadata": {"name": GROUP, "creationTimestamp": null},
            "versions": [{"version": VERSION, "resources": resources, "freshness": "Current"}],
        }],
    })
}

/// `/apis` for clients without aggregated discovery.
pub fn groups() -> Value {
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": [group_fields()]})
}

/// `/apis/GROUP`
pub fn group() -> Value {
    extended(group_fields(), json!({"kind": "APIGroup", "apiVersion": "v1"}))
}

fn group_fields() -> Value {
    let version = json!({"groupVersion": API_VERSION, "version": VERSION});
    json!({"name": GROUP, "versions": [version], "preferredVersion": version})
}

/// `/apis/GROUP/VERSION`
pub fn resources() -> Value {
    let resources = RESOURCES.map(|(plural, singular, kind, verbs)| {
        json!({
            "name": plural,
            "singularName": singular,
            "namespaced": false,
            "kind": kind,
            "verbs": verbs,
        })
    });
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": API_VERSION,
        "resources": resources,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregated_api::review;

    #[test]
    fn reviews_are_named_as_they_are_read() {
        for kind in [review::QueueAccessReviewKind::Named, review::QueueAccessReviewKind::Own] {
            let found = RESOURCES.iter().find(|(plural, ..)| *plural == kind.plural());
            let names = found.map(|(_, singular, name, _)| (*name, (*singular).to_owned()));
            assert_eq!(names, Some((kind.name(), kind.name().to_lowercase())));
        }
    }

    #[test]
    fn both_ways_of_discovery_tell_the_same() {
        let (aggregated, resources) = (aggregated("v2"), resources());
        let new = aggregated.pointer("/items/0/versions/0/resources").and_then(Value::as_array).unwrap();
        let old = resources["resources"].as_array().unwrap();
        assert_eq!(new.len(), old.len());
        for (new, old) in new.iter().zip(old) {
            assert_eq!((&new["resource"], &new["verbs"]), (&old["name"], &old["verbs"]));
            assert_eq!(new["responseKind"]["kind"], old["kind"]);
            assert_eq!(new["scope"] == "Cluster", old["namespaced"] == false);
        }
    }
}
