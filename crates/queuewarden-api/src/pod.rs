//! Converts a pod into the evaluator's plain data ([`yunikorn_access::running`]).
//!
//! The amount of data kept for a pod is bounded, because anyone who may create pods controls how much they
//! contain.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use kube::Resource;
use serde::{Deserialize, Deserializer};

use yunikorn::admission::request::{
    APP_ID, APPLICATION_ID, OLD_QUEUE, QUEUE, SPARK_APP_SELECTOR, USER_INFO, USERNAME,
};
use yunikorn::admission::{self, UserInfo};
use yunikorn::application::settings::{MODIFY_ACL, VIEW_ACL};
use yunikorn_access::placement::Workload;
use yunikorn_access::placement::workload::Naming;
use yunikorn_access::running::{Pod, id_of};

/// The labels and annotations that describe an application. No others are read.
const RETAINED: [&str; 9] =
    [QUEUE, OLD_QUEUE, APP_ID, APPLICATION_ID, SPARK_APP_SELECTOR, USER_INFO, USERNAME, VIEW_ACL, MODIFY_ACL];
/// The volume of a Spark driver's configuration (spark-kubernetes 3.5 `Constants.SPARK_CONF_VOLUME_DRIVER`).
const SPARK_VOLUME: &str = "spark-conf-volume-driver";
/// Maximum bytes kept of one text.
pub const MAX_TEXT: usize = 16 << 10;
/// Maximum bytes of a Kubernetes name.
const MAX_NAME: usize = 253;
/// Maximum number of owner pods kept for a pod: an executor has one.
const MAX_OWNERS: usize = 16;

/// A pod with the fields that are read. The other fields are not decoded, because anyone who may create pods
/// controls how large they are.
#[derive(Debug, Clone, Default, Deserialize, Resource)]
#[resource(inherit = "core::Pod")]
pub struct Decoded {
    #[serde(deserialize_with = "metadata")]
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Spec,
    status: Option<Status>,
}

/// The part of `metadata` that is read here or by kube's watcher. It excludes `managedFields`: an API server
/// stores up to a megabyte that a client writes there, which takes fifteen times as much memory when decoded.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    creation_timestamp: Option<Time>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
}

fn metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    let read = Metadata::deserialize(deserializer)?;
    Ok(ObjectMeta {
        name: read.name,
        namespace: read.namespace,
        uid: read.uid,
        resource_version: read.resource_version,
        creation_timestamp: read.creation_timestamp,
        labels: read.labels,
        annotations: read.annotations,
        owner_references: read.owner_references,
        ..ObjectMeta::default()
    })
}

/// The part of `spec` that is read.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Spec {
    volumes: Option<Vec<Volume>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Volume {
    name: String,
    config_map: Option<ConfigMapSource>,
}

#[derive(Debug, Clone, Deserialize)]
struct ConfigMapSource {
    name: Option<String>,
}

/// The part of `status` that is read.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Status {
    phase: Option<String>,
}

/// Reads the metadata that identifies a pod's application.
pub fn read(object: &Decoded) -> Pod {
    let metadata = &object.metadata;
    let kept = |texts: &Option<BTreeMap<String, String>>| {
        let texts = texts.iter().flatten().filter(|(key, _)| RETAINED.contains(&key.as_str()));
        texts.filter_map(|(key, value)| Some((key.clone(), bounded(key, value)?))).collect()
    };
    let phase = object.status.as_ref().and_then(|status| status.phase.as_deref());
    let owners = metadata.owner_references.iter().flatten();
    let owners = owners.filter(|owner| owner.kind == "Pod" && owner.uid.len() <= MAX_NAME).take(MAX_OWNERS);
    let workload = Workload {
        namespace: metadata.namespace.clone().unwrap_or_default(),
        pod: admission::request::Pod {
            labels: kept(&metadata.labels),
            annotations: kept(&metadata.annotations),
            uid: metadata.uid.clone().unwrap_or_default(),
            ..admission::request::Pod::default()
        },
        ..Workload::default()
    };
    // The ID is computed from the whole text, because a part of it would be another ID.
    let whole = metadata.annotations.as_ref().and_then(|annotations| annotations.get(APP_ID));
    let id = match whole.filter(|id| id.len() > MAX_TEXT && workload.pod.label(APP_ID).is_empty()) {
        Some(id) => id_of(id).into_owned(),
        None => id_of(&workload.application_id(Naming::default())).into_owned(),
    };
    Pod {
        name: metadata.name.clone().unwrap_or_default(),
        application: id,
        created: metadata.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        ended: phase.is_some_and(|phase| matches!(phase, "Succeeded" | "Failed")),
        owners: owners.map(|owner| owner.uid.clone()).collect(),
        spark_conf: spark_conf(&object.spec),
        workload,
    }
}

/// Returns the form in which a text is kept. If the text is too long, an ACL admits nobody, a `user.info`
/// names the user without groups, and anything else refers to nothing that exists.
fn bounded(key: &str, text: &str) -> Option<String> {
    if text.len() <= MAX_TEXT {
        return Some(text.to_owned());
    }
    match key {
        VIEW_ACL | MODIFY_ACL => None,
        USER_INFO => {
            let user = UserInfo::read(text).ok().map(|info| info.user).filter(|user| user.len() <= MAX_NAME);
            // Invalid JSON names no user, and the label is ignored.
            Some(user.map_or_else(|| "{".to_owned(), |user| UserInfo { user, groups: Vec::new() }.write()))
        }
        _ => Some(text.chars().take(MAX_NAME + 1).collect()),
    }
}

/// Returns the name of the `ConfigMap` in the volume of a Spark driver's configuration.
fn spark_conf(spec: &Spec) -> Option<String> {
    let volume = spec.volumes.iter().flatten().find(|volume| volume.name == SPARK_VOLUME)?;
    let name = volume.config_map.as_ref()?.name.as_ref()?;
    (name.len() <= MAX_NAME).then(|| name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn what_says_something_is_kept_and_nothing_else() {
        let pod: Decoded = serde_json::from_value(json!({
            "metadata": {"name": "spark-pi-driver", "namespace": "jobs", "uid": "u1", "creationTimestamp": "2026-06-01T12:00:00Z",
                "labels": {"queue": "root.prod", "spark-app-selector": "spark-1", "team": "x"},
                "annotations": {"queuewarden.dev/view-acl": "ann", "secret": "x"},
                "ownerReferences": [{"kind": "Pod", "uid": "u0", "name": "p", "apiVersion": "v1"},
                                    {"kind": "Job", "uid": "u9", "name": "j", "apiVersion": "batch/v1"}]},
            "spec": {"schedulerName": "yunikorn", "containers": [{"args": ["x"]}],
                "volumes": [{"name": "spark-conf-volume-driver", "configMap": {"name": "spark-drv-conf-map"}}]},
            "status": {"phase": "Succeeded"},
        }))
        .unwrap();
        let read = read(&pod);
        assert_eq!((read.application.as_str(), read.workload.queue()), ("spark-1", "root.prod"));
        assert_eq!((&*read.owners, read.ended), (&["u0".to_owned()][..], true));
        assert_eq!(read.spark_conf.as_deref(), Some("spark-drv-conf-map"));
        assert_eq!((read.workload.pod.labels.len(), read.workload.pod.annotations.len()), (2, 1));
    }

    #[test]
    fn managed_fields_are_not_decoded() {
        let pod: Decoded = serde_json::from_value(json!({"metadata": {"name": "p",
            "managedFields": [{"manager": "m", "fieldsV1": {"f:a": {}}}], "uid": "u1", "labels": {"queue": "root.prod"}}}))
        .unwrap();
        assert!(pod.metadata.managed_fields.is_none());
        let read = read(&pod);
        assert_eq!((&*read.name, &*read.workload.pod.uid, read.workload.queue()), ("p", "u1", "root.prod"));
    }

    #[test]
    fn a_pod_takes_little_memory_whatever_it_holds() {
        let long = "a".repeat(250_000);
        let info = json!({"user": "sue", "groups": [&long]}).to_string();
        let owner = |uid: &str| json!({"kind": "Pod", "uid": uid, "name": "p", "apiVersion": "v1"});
        let owners: Vec<Value> = [&long]
            .into_iter()
            .cloned()
            .chain((0..100).map(|n| n.to_string()))
            .map(|uid| owner(&uid))
            .collect();
        let pod = |annotations: Value| -> Pod {
            let pod = json!({
                "metadata": {"name": "p", "namespace": "jobs", "ownerReferences": owners, "annotations": annotations},
                "spec": {"volumes": [{"name": "spark-conf-volume-driver", "configMap": {"name": long}}]},
            });
            read(&serde_json::from_value(pod).unwrap())
        };
        let held =
            pod(json!({VIEW_ACL: long, MODIFY_ACL: "ann", USER_INFO: info, APP_ID: long, QUEUE: long}));
        let bytes = serde_json::to_string(&held.workload.pod.annotations).unwrap().len();
        assert!(
            bytes < 2000 && held.owners.len() == 16 && held.spark_conf.is_none(),
            "{bytes} {:?}",
            held.owners
        );
        assert_eq!(held.workload.pod.annotation(VIEW_ACL), "", "nobody");
        assert_eq!(held.workload.pod.annotation(MODIFY_ACL), "ann");
        assert_eq!(held.workload.pod.annotation(USER_INFO), r#"{"user":"sue"}"#);
        assert!(held.application.starts_with("sha256:"));
        let other = pod(json!({APP_ID: format!("{long}b")}));
        assert!(other.application.starts_with("sha256:") && other.application != held.application);
        for nobodys in [long.clone(), json!({"user": long}).to_string()] {
            assert_eq!(pod(json!({USER_INFO: nobodys})).workload.pod.annotation(USER_INFO), "{");
        }
        // A text within the limit does not change.
        let fits = "a".repeat(MAX_TEXT);
        assert_eq!(pod(json!({VIEW_ACL: fits})).workload.pod.annotation(VIEW_ACL), fits);
    }
}
