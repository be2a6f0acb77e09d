//! Attacks on `/submission`: workloads that YuniKorn would reject, in forms that disguise it.

use serde_json::{Value, json};

use super::Expected::{Denied, Refused, Without};
use super::{Attack, as_sent, get, post, review, with};
use crate::user_info::claim;

const PATH: &str = "/submission";

/// Returns a pod of mallory's that requests a queue.
fn pod(metadata: &Value) -> Value {
    review(("", "Pod", "pods"), &json!({"metadata": metadata, "spec": {"schedulerName": "yunikorn"}}))
}

fn denied(name: &'static str, review: &Value, words: &'static [&'static str]) -> Attack {
    Attack::by_stranger(name, post(PATH, review), Denied(words))
}

pub(super) fn attacks() -> Vec<Attack> {
    let label = |queue: &str| json!({"labels": {"queue": queue}});
    let job = json!({"spec": {"template": {"metadata": label("root.prod"), "spec": {}}}});
    let cron = json!({"spec": {"jobTemplate": job}});
    let owned = json!({"labels": {"queue": "root.prod"}, "ownerReferences": [
        {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "0", "controller": "true"}]});
    let mut of_boss = label("root.prod");
    if let Some(fields) = of_boss.as_object_mut() {
        fields.insert("annotations".to_owned(), claim("boss"));
    }
    vec![
        denied(
            "a pod into another's queue",
            &pod(&label("root.prod")),
            &["they may not submit to `root.prod`"],
        ),
        denied(
            "the same in capitals",
            &pod(&label("ROOT.Prod")),
            &["there is no queue `root.ROOT_dot_Prod`"],
        ),
        denied(
            "by the other label",
            &pod(&json!({"labels": {"yunikorn.apache.org/queue": "root.prod"}})),
            &["they may not submit to `root.prod`"],
        ),
        denied(
            "by an annotation",
            &pod(&json!({"annotations": {"yunikorn.apache.org/queue": "root.prod"}})),
            &["they may not submit to `root.prod`"],
        ),
        denied(
            "a Job into another's queue",
            &review(("batch", "Job", "jobs"), &job),
            &["YuniKorn would reject this Job"],
        ),
        denied(
            "a CronJob into another's queue",
            &review(("batch", "CronJob", "cronjobs"), &cron),
            &["YuniKorn would reject this CronJob"],
        ),
        denied("a pod in the boss' name", &pod(&of_boss), &["is not allowed to set user annotation"]),
        denied("a pod that says a Job has made it", &pod(&owned), &["they may not submit to `root.prod`"]),
        denied(
            "labels that are a list",
            &pod(&json!({"labels": ["queue"]})),
            &["a list in place of an object"],
        ),
        denied("a label that is a number", &pod(&json!({"labels": {"queue": 7}})), &["7"]),
        denied(
            "a queue with a line of a log",
            &pod(&label("root.prod\n{\"level\":\"INFO\"}")),
            &["invalid queue name"],
        ),
        Attack::by_stranger(
            "a pod of 7 MiB",
            post(PATH, as_sent(&pod(&json!({"annotations": {"a": "x".repeat(7 * 1024 * 1024)}})))),
            Denied(&["more than 6291456 bytes of JSON"]),
        ),
        Attack::by_stranger(
            "a pod without a uid of its review",
            post(PATH, with(pod(&label("root.prod")), &json!({"uid": ""}))),
            Without(200, &["allowed"], &["devs"]),
        ),
        Attack::by_stranger("a pod that is read", get(PATH), Refused(405, &["\"allow\": \"POST\""])),
    ]
}
