//! Attacks on the API server: with stolen tokens of queuewarden, by tenants, and by queue administrators,
//! with all webhooks and policies installed.

use queuewarden_e2e::operator;
use queuewarden_e2e::test_cluster::NAMESPACE;
use serde_json::{Value, json};

use super::Expected::Refused;
use super::{Attack, Who, api, nest};
use crate::operator::mirror::{binding, role};
use crate::user_info::claim;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const HOOKS: &str = "/apis/admissionregistration.k8s.io/v1";
const OURS: &str = "/apis/queuewarden.dev/v1alpha1";
const SYSTEM: &str = "/api/v1/namespaces/queuewarden-system";
const YUNIKORN: &str = "/api/v1/namespaces/yunikorn";

fn forbidden(
    name: &'static str,
    who: Who,
    method: &'static str,
    path: &str,
    body: &Value,
    words: &'static [&'static str],
) -> Attack {
    Attack::one(name, who, api(method, path, body), Refused(403, words))
}

pub(super) fn attacks() -> Vec<Attack> {
    [stolen(), roles(), keepers(), tenants(), workloads(), delegates()].concat()
}

fn path(namespaced: &str) -> String {
    format!("/apis/{}", namespaced.replace("NAMESPACE", NAMESPACE))
}

/// Returns attacks with the token of the listening pods.
#[expect(clippy::too_many_lines, reason = "a table")]
fn stolen() -> Vec<Attack> {
    let own = |name, method, path: &str, body: Value, words| {
        forbidden(name, Who::Operator, method, path, &body, words)
    };
    let none = || Value::Null;
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let account = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": null}});
    let revision = json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "queuewarden-x"}, "revision": 1,
        "data": {"spec": {"template": {"spec": {"serviceAccountName": "admin"}}}}});
    let hook = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "x"}, "webhooks": []});
    let event = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "x"}});
    let user = json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "x"},
        "spec": {"request": "YQ==", "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]}});
    let policy = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "AdmissionPolicy", "metadata": {"name": "x"}, "spec": {"bypassAuth": true}});
    vec![
        own(
            "sending all objects elsewhere",
            "PATCH",
            &format!("{HOOKS}/mutatingwebhookconfigurations/zz-queuewarden-user-info"),
            json!({"webhooks": null}),
            &["cannot patch resource \"mutatingwebhookconfigurations\""],
        ),
        own(
            "a webhook of one's own",
            "POST",
            &format!("{HOOKS}/validatingwebhookconfigurations"),
            hook,
            &["cannot create resource \"validatingwebhookconfigurations\""],
        ),
        own(
            "removing the policy of names",
            "DELETE",
            &format!("{HOOKS}/validatingadmissionpolicies/queuewarden-own-names"),
            none(),
            &["cannot delete resource \"validatingadmissionpolicies\""],
        ),
        own(
            "unbinding the policy of the mirror",
            "DELETE",
            &format!("{HOOKS}/validatingadmissionpolicybindings/queuewarden-rbac-mirror-policy"),
            none(),
            &["cannot delete resource \"validatingadmissionpolicybindings\""],
        ),
        own("all secrets", "GET", "/api/v1/secrets", none(), &["cannot list resource \"secrets\""]),
        own(
            "the secrets beside one's own",
            "GET",
            &format!("{SYSTEM}/secrets"),
            none(),
            &["cannot list resource \"secrets\""],
        ),
        own(
            "YuniKorn's secret",
            "GET",
            &format!("{YUNIKORN}/secrets/admission-controller-secrets"),
            none(),
            &["cannot get resource \"secrets\""],
        ),
        own(
            "another key for one's own secret",
            "PATCH",
            &format!("{SYSTEM}/secrets/queuewarden-tls"),
            json!({"data": {}}),
            &["cannot patch resource \"secrets\""],
        ),
        own(
            "a pod beside one's own",
            "POST",
            &format!("{SYSTEM}/pods"),
            pod,
            &["cannot create resource \"pods\""],
        ),
        own(
            "a program in a pod",
            "POST",
            &format!("{SYSTEM}/pods/queuewarden/exec?command=sh"),
            none(),
            &["cannot create resource \"pods/exec\""],
        ),
        own(
            "another image for one's Deployment",
            "PATCH",
            "/apis/apps/v1/namespaces/queuewarden-system/deployments/queuewarden",
            json!({}),
            &["cannot patch resource \"deployments\""],
        ),
        own(
            "a token of the other account",
            "POST",
            &format!("{SYSTEM}/serviceaccounts/queuewarden-certificates/token"),
            account,
            &["cannot create resource \"serviceaccounts/token\""],
        ),
        own(
            "a certificate for an administrator",
            "POST",
            "/apis/certificates.k8s.io/v1/certificatesigningrequests",
            user,
            &["cannot create resource \"certificatesigningrequests\""],
        ),
        own(
            "a grant in one's own name",
            "PATCH",
            &format!("{OURS}/queueacls/x"),
            json!({"spec": {}}),
            &["cannot patch resource \"queueacls\""],
        ),
        own(
            "a policy by which everybody sets names",
            "POST",
            &format!("{OURS}/admissionpolicies"),
            policy,
            &["cannot create resource \"admissionpolicies\""],
        ),
        own(
            "switching delegation",
            "PATCH",
            &format!("{OURS}/yunikornconfigs/default"),
            json!({"spec": {"delegation": "Disabled"}}),
            &["cannot patch resource \"yunikornconfigs\""],
        ),
        own(
            "the base",
            "PATCH",
            &format!("{YUNIKORN}/configmaps/yunikorn-defaults"),
            json!({"data": {}}),
            &["cannot patch resource \"configmaps\""],
        ),
        own(
            "no output any more",
            "DELETE",
            &format!("{YUNIKORN}/configmaps/yunikorn-configs"),
            none(),
            &["cannot delete resource \"configmaps\""],
        ),
        own(
            "other ConfigMaps",
            "GET",
            &format!("{YUNIKORN}/configmaps"),
            none(),
            &["cannot list resource \"configmaps\""],
        ),
        own(
            "who may speak for others",
            "PATCH",
            "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication",
            json!({"data": {}}),
            &["cannot patch resource \"configmaps\""],
        ),
        own(
            "a definition of its kinds",
            "PATCH",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/queueacls.queuewarden.dev",
            json!({}),
            &["cannot patch resource \"customresourcedefinitions\""],
        ),
        own(
            "a group of the API",
            "PATCH",
            "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.access.queuewarden.dev",
            json!({}),
            &["cannot patch resource \"apiservices\""],
        ),
        own(
            "a revision of which pods are made",
            "POST",
            "/apis/apps/v1/namespaces/yunikorn/controllerrevisions",
            revision,
            &["may only write ControllerRevisions of its history, with nothing"],
        ),
        own("nodes", "GET", "/api/v1/nodes", none(), &["cannot list resource \"nodes\""]),
        own(
            "ending a namespace",
            "DELETE",
            "/api/v1/namespaces/yunikorn",
            none(),
            &["cannot delete resource \"namespaces\""],
        ),
        own(
            "ending somebody's pod",
            "DELETE",
            "/api/v1/namespaces/jobs/pods/x",
            none(),
            &["cannot delete resource \"pods\""],
        ),
        own(
            "events of the system",
            "POST",
            "/apis/events.k8s.io/v1/namespaces/kube-system/events",
            event,
            &["cannot create resource \"events\""],
        ),
    ]
}

/// Returns attacks with the same token on roles, which are permissions of the mirror.
fn roles() -> Vec<Attack> {
    let mirrored = "queuewarden:mirror:submit:root.prod";
    let own = |name, method, path: &str, body: Value, words| {
        forbidden(name, Who::Operator, method, &format!("{RBAC}/{path}"), &body, words)
    };
    let rule = |name: &str, group: &str, resource: &str, verb: &str| {
        let rule = json!({"apiGroups": [group], "resources": [resource], "resourceNames": ["root.prod"], "verbs": [verb]});
        role(name, &json!([rule]), &json!({}))
    };
    let account = json!([{"kind": "ServiceAccount", "name": "attacks-tenant", "namespace": NAMESPACE}]);
    let local = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "queuewarden:mirror:x"}, "rules": []});
    let elsewhere = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "queuewarden:mirror:x"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "queuewarden-rbac-mirror"}, "subjects": []});
    vec![
        own(
            "every verb in a role of the mirror",
            "PUT",
            &format!("clusterroles/{mirrored}"),
            rule(mirrored, "queuewarden.dev", "queues", "*"),
            &["not currently held"],
        ),
        own(
            "secrets in a role of the mirror",
            "PUT",
            &format!("clusterroles/{mirrored}"),
            rule(mirrored, "", "secrets", "get"),
            &["not currently held"],
        ),
        own(
            "rights of its own in a role of the mirror",
            "PUT",
            &format!("clusterroles/{mirrored}"),
            rule(mirrored, "queuewarden.dev", "queueacls", "get"),
            &["of its RBAC mirror, with verbs"],
        ),
        own(
            "an account in a binding of the mirror",
            "PUT",
            &format!("clusterrolebindings/{mirrored}"),
            binding(mirrored, mirrored, &account),
            &["of its RBAC mirror, which give"],
        ),
        own(
            "a rule in another's role",
            "PUT",
            "clusterroles/system:discovery",
            rule("system:discovery", "queuewarden.dev", "queues", "submit"),
            &["names begin with queuewarden:mirror:"],
        ),
        own(
            "removing a role of the system",
            "DELETE",
            "clusterroles/system:node",
            Value::Null,
            &["names begin with queuewarden:mirror:"],
        ),
        own(
            "removing the binding of administrators",
            "DELETE",
            "clusterrolebindings/cluster-admin",
            Value::Null,
            &["names begin with queuewarden:mirror:"],
        ),
        own(
            "a role in a namespace",
            "POST",
            "namespaces/kube-system/roles",
            local,
            &["cannot create resource \"roles\""],
        ),
        own(
            "a binding in a namespace",
            "POST",
            "namespaces/kube-system/rolebindings",
            elsewhere,
            &["cannot create resource \"rolebindings\""],
        ),
    ]
}

/// Returns attacks with the token of the process that maintains the certificate.
fn keepers() -> Vec<Attack> {
    let own = |name, method, path: &str, body: Value, words| {
        forbidden(name, Who::Keeper, method, path, &body, words)
    };
    let hook = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": "x"}, "webhooks": []});
    vec![
        own(
            "another webhook",
            "POST",
            &format!("{HOOKS}/mutatingwebhookconfigurations"),
            hook,
            &["cannot create resource \"mutatingwebhookconfigurations\""],
        ),
        own(
            "somebody else's webhook",
            "PATCH",
            &format!("{HOOKS}/mutatingwebhookconfigurations/yunikorn-admission-controller-mutations"),
            json!({}),
            &["cannot patch resource \"mutatingwebhookconfigurations\""],
        ),
        own(
            "removing the guard",
            "DELETE",
            &format!("{HOOKS}/validatingwebhookconfigurations/queuewarden-configmaps"),
            Value::Null,
            &["cannot delete resource \"validatingwebhookconfigurations\""],
        ),
        own(
            "another secret",
            "GET",
            "/api/v1/namespaces/yunikorn/secrets/admission-controller-secrets",
            Value::Null,
            &["cannot get resource \"secrets\""],
        ),
        own(
            "secrets by a list",
            "GET",
            &format!("{SYSTEM}/secrets"),
            Value::Null,
            &["cannot list resource \"secrets\""],
        ),
        own(
            "removing its secret",
            "DELETE",
            &format!("{SYSTEM}/secrets/queuewarden-tls"),
            Value::Null,
            &["cannot delete resource \"secrets\""],
        ),
        own(
            "what is granted",
            "GET",
            &format!("{OURS}/queueacls"),
            Value::Null,
            &["cannot list resource \"queueacls\""],
        ),
        own(
            "the queues",
            "PATCH",
            &format!("{YUNIKORN}/configmaps/yunikorn-configs"),
            json!({"data": {}}),
            &["cannot patch resource \"configmaps\""],
        ),
        own(
            "another group of the API",
            "PATCH",
            "/apis/apiregistration.k8s.io/v1/apiservices/v1.apps",
            json!({}),
            &["cannot patch resource \"apiservices\""],
        ),
        own(
            "a role",
            "GET",
            &format!("{RBAC}/clusterroles"),
            Value::Null,
            &["cannot list resource \"clusterroles\""],
        ),
    ]
}

/// Returns attacks that use permissions which every authenticated user might get from the installed
/// manifests.
fn tenants() -> Vec<Attack> {
    let own = |name, method, path: &str, body: Value, words| {
        forbidden(name, Who::Tenant, method, path, &body, words)
    };
    let grant = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl", "metadata": {"name": "x"}, "spec": {"queue": "root.prod"}});
    let review = json!({"apiVersion": "access.queuewarden.dev/v1alpha1", "kind": "QueueAccessReview", "spec": {"user": "ann", "verb": "submit", "queue": "root.prod"}});
    let about = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": "ann"}});
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "x"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "queuewarden-editor"}, "subjects": []});
    let token = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": null}});
    let account = operator::NAME;
    vec![
        own(
            "a grant by a tenant",
            "POST",
            &format!("{OURS}/queueacls"),
            grant,
            &["cannot create resource \"queueacls\""],
        ),
        own(
            "the grants of all",
            "GET",
            &format!("{OURS}/queueacls"),
            Value::Null,
            &["cannot list resource \"queueacls\""],
        ),
        own(
            "tests of access",
            "GET",
            &format!("{OURS}/queueaccesstests"),
            Value::Null,
            &["cannot list resource \"queueaccesstests\""],
        ),
        own(
            "the key of the endpoints",
            "GET",
            &format!("{SYSTEM}/secrets/queuewarden-tls"),
            Value::Null,
            &["cannot get resource \"secrets\""],
        ),
        own(
            "queuewarden's token",
            "POST",
            &format!("{SYSTEM}/serviceaccounts/{account}/token"),
            token,
            &["cannot create resource \"serviceaccounts/token\""],
        ),
        own(
            "the text of the queues",
            "GET",
            &format!("{YUNIKORN}/configmaps/yunikorn-configs"),
            Value::Null,
            &["cannot get resource \"configmaps\""],
        ),
        own(
            "the editor's role in one's namespace",
            "POST",
            &path("rbac.authorization.k8s.io/v1/namespaces/NAMESPACE/rolebindings"),
            binding,
            &["cannot create resource \"rolebindings\""],
        ),
        own(
            "about ann through the API server",
            "POST",
            "/apis/access.queuewarden.dev/v1alpha1/queueaccessreviews",
            review,
            &["only administrators of the queue"],
        ),
        own(
            "about ann by Kubernetes itself",
            "POST",
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            about,
            &["cannot create resource \"subjectaccessreviews\""],
        ),
        own(
            "port 8080 through the API server",
            "GET",
            &format!("{SYSTEM}/services/queuewarden:8080/proxy/metrics"),
            Value::Null,
            &["cannot get resource \"services/proxy\""],
        ),
    ]
}

fn workload(kind: &str, name: &str, annotations: &Value) -> Value {
    crate::user_info::controller(kind, name, annotations)
}

/// Returns attacks with another user's name on workloads, in the API server's requests to webhooks.
fn workloads() -> Vec<Attack> {
    const REFUSED: &[&str] = &["user-info.queuewarden.dev", "it names user `boss`"];
    let made = |name, kind: &str, at: &str, object: Value| {
        let object = super::merged(
            json!({"kind": kind, "metadata": {"name": "stolen", "namespace": NAMESPACE}}),
            &object,
        );
        Attack::one(name, Who::Mallory, api("POST", &path(at), &object), Refused(403, REFUSED))
    };
    let group = json!({"template": {"metadata": {"annotations": claim("boss")}}});
    let rays = path("ray.io/v1/namespaces/NAMESPACE/rayclusters");
    let many = json!({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "many"}, "spec": {"workerGroupSpecs": vec![group; 257]}});
    let deployments = path("apps/v1/namespaces/NAMESPACE/deployments");
    let become_boss = nest("spec.template.metadata.annotations", claim("boss"));
    let nobody = nest("spec.template.metadata.annotations", json!({"yunikorn.apache.org/user.info": null}));
    let status = format!("/api/v1/namespaces/{NAMESPACE}/pods/watched/status");
    let pods = format!("/api/v1/namespaces/{NAMESPACE}/pods");
    let watched = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "watched"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let changed = |name, object: &str, patch: &Value, words| Attack {
        steps: vec![
            api("POST", &deployments, &workload("Deployment", object, &json!({}))),
            api("PATCH", &format!("{deployments}/{object}"), patch),
        ],
        ..Attack::one(name, Who::Mallory, api("GET", "", &Value::Null), Refused(403, words))
    };
    vec![
        made(
            "a SparkApplication through the API server",
            "SparkApplication",
            "sparkoperator.k8s.io/v1beta2/namespaces/NAMESPACE/sparkapplications",
            super::merged(
                json!({"apiVersion": "sparkoperator.k8s.io/v1beta2"}),
                &nest("spec.driver.annotations", claim("boss")),
            ),
        ),
        Attack::one(
            "a RayCluster of 257 groups",
            Who::Mallory,
            api("POST", &rays, &many),
            Refused(403, &["user-info.queuewarden.dev", "more than 256 pod templates"]),
        ),
        changed(
            "a Deployment that becomes the boss'",
            "becomes",
            &become_boss,
            &["user-info.queuewarden.dev", "it was set before and would be changed"],
        ),
        changed(
            "a Deployment that becomes another's by its second change",
            "twice",
            &super::merged(nobody, &become_boss),
            &["user-info.queuewarden.dev", "it was set before and would be changed"],
        ),
        Attack {
            who: Who::Administrator,
            steps: vec![
                api("POST", &pods, &watched),
                api("PATCH", &status, &nest("metadata.annotations", claim("boss"))),
            ],
            ..Attack::one(
                "a name that comes with a pod's status",
                Who::Administrator,
                api("GET", "", &Value::Null),
                Refused(403, &["may not", "user.info"]),
            )
        },
    ]
}

/// Returns attacks by a queue administrator; `validating::delegation` has the others.
fn delegates() -> Vec<Attack> {
    let acls = format!("{OURS}/queueacls");
    let grant = |spec: Value| {
        let spec = super::merged(
            json!({"queue": "root.prod", "baseAcl": "Extend", "delegatedBy": {"user": "sue"}, "submit": {"users": ["mallory"]}}),
            &spec,
        );
        json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl", "metadata": {"name": "delegated"}, "spec": spec})
    };
    let made = |name, spec: Value, words| {
        Attack::one(name, Who::Delegate, api("POST", &acls, &grant(spec)), Refused(403, words))
    };
    vec![
        made(
            "in the name of one's own in capitals",
            json!({"delegatedBy": {"user": "SUE"}}),
            &["queuewarden-delegation", "delegatedBy"],
        ),
        made(
            "as a master",
            json!({"delegatedBy": {"user": "sue", "groups": ["system:masters"]}}),
            &["queuewarden-delegation", "a group that you are not in"],
        ),
        Attack::one(
            "a scheduler that is a file",
            Who::Administrator,
            api(
                "PATCH",
                &format!("{OURS}/yunikornconfigs/default"),
                &json!({"spec": {"schedulerUrl": "file:///etc/shadow"}}),
            ),
            Refused(422, &["spec.schedulerUrl: Invalid value"]),
        ),
        Attack::one(
            "a line break in a name that is granted",
            Who::Delegate,
            api("POST", &acls, &grant(json!({"submit": {"users": ["ann\n    adminacl: '*'"]}}))),
            Refused(422, &["not a valid user name"]),
        ),
        made(
            "administration for everybody of a queue below",
            json!({"queue": "root.prod.x", "admin": {"everyone": true}}),
            &["everyone an administrator"],
        ),
        forbidden(
            "a QueueAccessTest that tells what others may",
            Who::Delegate,
            "POST",
            &format!("{OURS}/queueaccesstests"),
            &json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAccessTest", "metadata": {"name": "x"}}),
            &["cannot create resource \"queueaccesstests\""],
        ),
    ]
}
