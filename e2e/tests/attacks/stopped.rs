//! Attacks while queuewarden has stopped: requests that the API server's own policies refuse, and objects
//! that nobody can write.

use queuewarden_e2e::test_cluster::NAMESPACE;
use serde_json::{Value, json};

use super::Expected::Refused;
use super::{Attack, Expected, Given, Step, Who, api, merged, nest};
use crate::operator::mirror::binding;
use crate::user_info::{claim, controller};

const OURS: &str = "/apis/queuewarden.dev/v1alpha1";
const INFO: &str = "yunikorn.apache.org/user.info";
const POLICY: &[&str] = &["queuewarden-own-names", "user mallory may not set yunikorn.apache.org/user.info"];

fn attack(name: &'static str, who: Who, step: Step, expected: Expected) -> Attack {
    Attack { name, who, given: Given::Stopped, steps: vec![step], expected }
}

fn pod(annotations: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stolen", "annotations": annotations},
        "spec": {"containers": [{"name": "c", "image": "i"}]}})
}

pub(super) fn attacks() -> Vec<Attack> {
    [names(), pods(), writers()].concat()
}

/// Returns attacks on the policy of names.
fn names() -> Vec<Attack> {
    let pods = format!("/api/v1/namespaces/{NAMESPACE}/pods");
    let said = |name, text: &str| {
        attack(name, Who::Mallory, api("POST", &pods, &pod(&json!({INFO: text}))), Refused(403, POLICY))
    };
    let made = |name, group: &str, plural: &str, object: &Value| {
        let path = format!("/apis/{group}/v1/namespaces/{NAMESPACE}/{plural}");
        attack(name, Who::Mallory, api("POST", &path, object), Refused(403, POLICY))
    };
    let boss = claim("boss");
    let batch = |kind: &str| merged(controller(kind, "stolen", &boss), &json!({"apiVersion": "batch/v1"}));
    let job = merged(
        batch("Job"),
        &json!({"spec": {"replicas": null, "selector": null, "template": {"spec": {"restartPolicy": "Never"}}}}),
    );
    let deployments = format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments");
    let become_boss = nest("spec.template.metadata.annotations", boss.clone());
    vec![
        made(
            "a DaemonSet while nobody answers",
            "apps",
            "daemonsets",
            &merged(controller("DaemonSet", "stolen", &boss), &json!({"spec": {"replicas": null}})),
        ),
        made(
            "a ReplicaSet while nobody answers",
            "apps",
            "replicasets",
            &controller("ReplicaSet", "stolen", &boss),
        ),
        made("a Job while nobody answers", "batch", "jobs", &job),
        said("a key in another case while nobody answers", r#"{"User":"boss"}"#),
        said(
            "one's own name, and another behind it",
            r#"{"user":"mallory","groups":["people","system:authenticated"],"user":"boss"}"#,
        ),
        said(
            "one's own name with keys in another order",
            r#"{"groups":["people","system:authenticated"],"user":"mallory"}"#,
        ),
        said("one's own name in another's group", r#"{"user":"mallory","groups":["bosses"]}"#),
        said(
            "one's own name and a space",
            r#"{"user":"mallory ","groups":["people","system:authenticated"]}"#,
        ),
        said(
            "a Cyrillic letter while nobody answers",
            r#"{"user":"mаllory","groups":["people","system:authenticated"]}"#,
        ),
        said("no JSON at all", "boss"),
        attack(
            "a pod in a namespace of the system",
            Who::Mallory,
            api("POST", "/api/v1/namespaces/kube-node-lease/pods", &pod(&boss)),
            Refused(403, POLICY),
        ),
        Attack {
            steps: vec![
                api("POST", &deployments, &controller("Deployment", "late", &json!({}))),
                api("PATCH", &format!("{deployments}/late"), &become_boss),
            ],
            ..attack(
                "a Deployment that becomes the boss' while nobody answers",
                Who::Mallory,
                api("GET", "", &Value::Null),
                Refused(403, POLICY),
            )
        },
    ]
}

/// Returns attacks by labels, and by the token of a pod.
fn pods() -> Vec<Attack> {
    let pods = format!("/api/v1/namespaces/{NAMESPACE}/pods");
    let by_label = json!({"metadata": {"labels": {"yunikorn.apache.org/username": "boss"}}});
    let scheduled = |name: &str| {
        merged(
            pod(&json!({})),
            &json!({"metadata": {"name": name, "labels": {"applicationId": "own"}}, "spec": {"schedulerName": "yunikorn"}}),
        )
    };
    let of_boss = json!({"metadata": {"labels": {"applicationId": "bosses"}}});
    let bound = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": {"audiences": ["https://kubernetes.default.svc"], "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "bound"}}});
    vec![
        attack(
            "the label of another's name while nobody answers",
            Who::Mallory,
            api("POST", &pods, &merged(pod(&json!({})), &by_label)),
            Refused(403, &["queuewarden-own-names", "may not set the label yunikorn.apache.org/username"]),
        ),
        attack(
            "the label of another's name beside an empty annotation",
            Who::Mallory,
            api("POST", &pods, &merged(pod(&json!({INFO: ""})), &by_label)),
            Refused(403, &["queuewarden-own-names", "may not set the label yunikorn.apache.org/username"]),
        ),
        Attack {
            steps: vec![
                api("POST", &pods, &scheduled("moves")),
                api("PATCH", &format!("{pods}/moves"), &of_boss),
            ],
            ..attack(
                "a pod that moves to the boss' application while nobody answers",
                Who::Mallory,
                api("GET", "", &Value::Null),
                Refused(403, &["queuewarden-own-names", "may not change applicationId of this Pod"]),
            )
        },
        Attack {
            steps: vec![
                api("POST", &pods, &scheduled("bound")),
                api(
                    "POST",
                    &format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/attacks-tenant/token"),
                    &bound,
                ),
            ],
            ..attack(
                "the token of a pod while nobody answers",
                Who::Administrator,
                api("GET", "", &Value::Null),
                Refused(
                    403,
                    &["queuewarden-own-names", "only kubelets request tokens that are bound to a pod"],
                ),
            )
        },
    ]
}

/// Returns attacks on queuewarden's own objects.
fn writers() -> Vec<Attack> {
    let acls = format!("{OURS}/queueacls");
    let grant = |spec: Value| {
        let spec = merged(
            json!({"queue": "root.prod", "baseAcl": "Extend", "submit": {"users": ["mallory"]}}),
            &spec,
        );
        json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl", "metadata": {"name": "late"}, "spec": spec})
    };
    let policy = json!({"spec": {"bypassAuth": true}});
    let mirrored = "queuewarden:mirror:submit:root.prod";
    let by_policy = |name, spec: Value, words| {
        attack(name, Who::Delegate, api("POST", &acls, &grant(spec)), Refused(403, words))
    };
    let by_nobody = |name, who, step| {
        attack(name, who, step, Refused(500, &["failed calling webhook \"validate.queuewarden.dev\""]))
    };
    vec![
        by_policy(
            "a grant without a name while nobody answers",
            json!({}),
            &["queuewarden-delegation", "not a cluster administrator"],
        ),
        by_policy(
            "a grant in the boss' name while nobody answers",
            json!({"delegatedBy": {"user": "boss"}}),
            &["queuewarden-delegation", "delegatedBy"],
        ),
        by_nobody(
            "a grant for a queue that is not one's own",
            Who::Delegate,
            api("POST", &acls, &grant(json!({"queue": "root.test", "delegatedBy": {"user": "sue"}}))),
        ),
        by_nobody(
            "a policy by which everybody sets names, while nobody answers",
            Who::Administrator,
            api("PATCH", &format!("{OURS}/admissionpolicies/default"), &policy),
        ),
        attack(
            "removing what is granted while nobody answers",
            Who::Delegate,
            api("DELETE", &format!("{acls}/honest"), &Value::Null),
            Refused(403, &["queuewarden-delegation", "belongs to a cluster administrator"]),
        ),
        attack(
            "a role of the mirror for oneself while nobody answers",
            Who::Operator,
            api(
                "PUT",
                &format!("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{mirrored}"),
                &binding(
                    mirrored,
                    mirrored,
                    &json!([{"kind": "ServiceAccount", "name": "x", "namespace": "jobs"}]),
                ),
            ),
            Refused(403, &["of its RBAC mirror, which give"]),
        ),
    ]
}
