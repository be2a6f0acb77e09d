//! Converts a pod into the evaluator's plain data ([`yunikorn_access::running`]).

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::api::DynamicObject;
use serde_json::Value;

use yunikorn::admission;
use yunikorn::admission::request::{
    APP_ID, APPLICATION_ID, OLD_QUEUE, QUEUE, SPARK_APP_SELECTOR, USER_INFO, USERNAME,
};
use yunikorn::application::own::{MODIFY_ACL, VIEW_ACL};
use yunikorn_access::placement::Workload;
use yunikorn_access::placement::workload::Naming;
use yunikorn_access::running::Pod;

/// The labels and annotations that describe an application; the others are not read.
const RETAINED: [&str; 9] =
    [QUEUE, OLD_QUEUE, APP_ID, APPLICATION_ID, SPARK_APP_SELECTOR, USER_INFO, USERNAME, VIEW_ACL, MODIFY_ACL];
/// The volume of a Spark driver's configuration (spark-kubernetes 3.5 `Constants.SPARK_CONF_VOLUME_DRIVER`).
const SPARK_VOLUME: &str = "spark-conf-volume-driver";

/// Returns what a pod reveals of its application.
pub fn read(object: &DynamicObject) -> Pod {
    let metadata = &object.metadata;
    let kept = |texts: &Option<BTreeMap<String, String>>| {
        let texts = texts.iter().flatten().filter(|(key, _)| RETAINED.contains(&key.as_str()));
        texts.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let phase = object.data.pointer("/status/phase").and_then(Value::as_str);
    let owners = metadata.owner_references.iter().flatten().filter(|owner| owner.kind == "Pod");
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
    Pod {
        name: metadata.name.clone().unwrap_or_default(),
        application: workload.application_id(Naming::default()),
        created: metadata.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        ended: phase.is_some_and(|phase| matches!(phase, "Succeeded" | "Failed")),
        owners: owners.map(|owner| owner.uid.clone()).collect(),
        spark_conf: spark_conf(&object.data),
        workload,
    }
}

/// Returns the name of the `ConfigMap` in the volume of a Spark driver's configuration.
fn spark_conf(pod: &Value) -> Option<String> {
    let mut volumes = pod.pointer("/spec/volumes")?.as_array()?.iter();
    let volume = volumes.find(|volume| volume.get("name").is_some_and(|name| name == SPARK_VOLUME))?;
    Some(volume.pointer("/configMap/name")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_says_something_is_kept_and_nothing_else() {
        let pod: DynamicObject = serde_json::from_value(json!({
            "metadata": {"name": "spark-pi-driver", "namespace": "jobs", "uid": "u1", "creationTimestamp": "2026-06-01T12:00:00Z",
                "labels": {"queue": "root.prod", "spark-app-selector": "spark-1", "team": "x"},
                "annotations": {"queuewarden.dev/view-acl": "ann", "secret": "x"},
                "ownerReferences": [{"kind": "Pod", "uid": "u0", "name": "p", "apiVersion": "v1"},
                                    {"kind": "Job", "uid": "u9", "name": "j", "apiVersion": "batch/v1"}]},
            "spec": {"schedulerName": "yunikorn", "containers": [],
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
}
