//! Attacks on `access.queuewarden.dev`: queues and reviews that bypass the API server, under another name,
//! and answers to callers who may not read.

use serde_json::{Value, json};

use super::Expected::{Refused, Without};
use super::{Attack, NOTHING, Step, To, Who, get, post};

const GROUP: &str = "/apis/access.queuewarden.dev/v1alpha1";
const QUEUES: &str = "/apis/access.queuewarden.dev/v1alpha1/queues";
const NAMED: &str = "/apis/access.queuewarden.dev/v1alpha1/queueaccessreviews";
const OWN: &str = "/apis/access.queuewarden.dev/v1alpha1/selfqueueaccessreviews";
/// Names from the ACLs.
const SECRETS: &[&str] = &["ann", "devs", "sue", "ops", "boss", "QueueAcl", "adminacl", "trace", "remedies"];

/// Returns a review about oneself.
fn own(spec: &Value) -> Value {
    json!({"apiVersion": "access.queuewarden.dev/v1alpha1", "kind": "SelfQueueAccessReview", "spec": spec})
}

/// Returns a review of another user's access.
fn named(spec: &Value) -> Value {
    json!({"apiVersion": "access.queuewarden.dev/v1alpha1", "kind": "QueueAccessReview", "spec": spec})
}

fn prod() -> Value {
    json!({"verb": "submit", "queue": "root.prod"})
}

pub(super) fn attacks() -> Vec<Attack> {
    [callers(), reading(), oneself(), others(), shapes()].concat()
}

fn callers() -> Vec<Attack> {
    let master =
        |step: Step| step.header("X-Remote-User", "admin").header("X-Remote-Group", "system:masters");
    vec![
        Attack::one(
            "queues without credentials",
            Who::Stranger,
            get(QUEUES),
            Refused(401, &["authenticate with a client certificate"]),
        ),
        Attack::one(
            "queues by headers of a front proxy alone",
            Who::Stranger,
            master(get(QUEUES)),
            Refused(401, &["authenticate with a client certificate"]),
        ),
        Attack::one(
            "queues by a certificate of others",
            Who::Foreign,
            master(get(QUEUES)),
            Refused(401, &["\"Unauthorized\""]),
        ),
        Attack::one(
            "queues by another's certificate that counts",
            Who::WebhookClient,
            master(get(QUEUES)),
            Refused(403, &["User \\\"apiserver\\\" cannot list"]),
        ),
        Attack::one(
            "queues by the API server for nobody",
            Who::FrontProxy,
            get(QUEUES),
            Refused(401, &["the client certificate is not accepted here"]),
        ),
        Attack::one(
            "queues for a name without letters",
            Who::FrontProxy,
            get(QUEUES).header("X-Remote-User", ""),
            Refused(401, &["the client certificate is not accepted here"]),
        ),
        Attack::one(
            "queues for two names",
            Who::FrontProxy,
            get(QUEUES).header("X-Remote-User", "mallory").header("X-Remote-User", "admin"),
            Refused(403, &["User \\\"mallory\\\" cannot list"]),
        ),
        Attack::one(
            "queues with a group in the wrong header",
            Who::FrontProxy,
            get(QUEUES)
                .header("X-Remote-User", "mallory")
                .header("X-Remote-Groups", "system:masters")
                .header("Impersonate-Group", "system:masters"),
            Refused(403, &["User \\\"mallory\\\" cannot list"]),
        ),
        Attack::one(
            "queues by a token that is none",
            Who::Garbage,
            get(QUEUES),
            Refused(401, &["the token is not accepted here"]),
        ),
        Attack::one(
            "queues by a forged token",
            Who::Forged,
            master(get(QUEUES)),
            Refused(401, &["the token is not accepted here"]),
        ),
    ]
}

fn reading() -> Vec<Attack> {
    let tenant = |name, step, words| Attack::one(name, Who::Tenant, step, Refused(403, words));
    vec![
        tenant("all queues", get(QUEUES), &["cannot list resource"]),
        tenant("one queue", get(&format!("{QUEUES}/root.prod")), &["cannot get resource", "root.prod"]),
        tenant(
            "a queue that there is not",
            get(&format!("{QUEUES}/root.none")),
            &["cannot get resource", "root.none"],
        ),
        tenant(
            "queues of another partition",
            get(&format!("{QUEUES}?fieldSelector=status.partition%3Dgpu")),
            &["cannot list resource"],
        ),
        tenant(
            "a queue whose name climbs",
            get(&format!("{QUEUES}/root.prod%2F..%2F..%2Fqueues")),
            &["cannot get resource"],
        ),
        Attack::one(
            "a queue by queuewarden's own token",
            Who::Operator,
            get(QUEUES),
            Refused(403, &["queuewarden-system:queuewarden", "cannot list resource"]),
        ),
        Attack::one(
            "queues through the API server",
            Who::Tenant,
            Step::new(To::Cluster, "GET", QUEUES, ""),
            Refused(403, &["cannot list resource \"queues\" in API group \"access.queuewarden.dev\""]),
        ),
        Attack::one(
            "writing a queue",
            Who::Tenant,
            Step::new(To::Endpoints, "PUT", &format!("{QUEUES}/root.prod"), "{}"),
            Refused(405, &["does not allow this method"]),
        ),
        Attack::one(
            "removing all queues",
            Who::Tenant,
            Step::new(To::Endpoints, "DELETE", QUEUES, ""),
            Refused(405, &["does not allow this method"]),
        ),
        Attack::one(
            "making a queue",
            Who::Tenant,
            post(QUEUES, "{}"),
            Refused(405, &["does not allow this method"]),
        ),
        Attack::one(
            "reviews of others",
            Who::Tenant,
            get(NAMED),
            Refused(405, &["does not allow this method"]),
        ),
        Attack::one(
            "a review by its name",
            Who::Tenant,
            get(&format!("{OWN}/x")),
            Refused(405, &["does not allow this method"]),
        ),
        Attack::one(
            "a resource that there is not",
            Who::Tenant,
            get(&format!("{GROUP}/secrets")),
            Refused(404, &["could not find the requested resource"]),
        ),
        Attack::one(
            "a version that there is not",
            Who::Tenant,
            get("/apis/access.queuewarden.dev/v1/queues"),
            Refused(404, NOTHING),
        ),
        Attack::one(
            "the group without credentials",
            Who::Stranger,
            get(GROUP),
            Without(200, &["selfqueueaccessreviews"], &["root.prod", "boss"]),
        ),
        Attack::one(
            "its schema without credentials",
            Who::Stranger,
            get("/openapi/v2"),
            Without(200, &["QueueAccessReview"], &["boss", "devs"]),
        ),
        Attack::one(
            "another server's schema",
            Who::Stranger,
            get("/openapi/v3/apis/apps/v1"),
            Refused(404, NOTHING),
        ),
    ]
}

/// Returns attacks: answers about oneself must not contain anything from the ACLs.
fn oneself() -> Vec<Attack> {
    let asked = |name, spec: Value, words| {
        Attack::one(name, Who::Tenant, post(OWN, own(&spec)), Without(201, words, SECRETS))
    };
    vec![
        asked("why not root.prod", prod(), &["\"allowed\":false", "or there is no such queue"]),
        asked(
            "why not a queue that there is not",
            json!({"verb": "submit", "queue": "root.none"}),
            &["\"allowed\":false", "or there is no such queue"],
        ),
        asked(
            "why not in another partition",
            json!({"verb": "submit", "queue": "root.prod", "partition": "gpu"}),
            &["\"allowed\":false", "or there is no such queue"],
        ),
        asked(
            "why not in a queue that is none",
            json!({"verb": "administer", "queue": "root.a b"}),
            &["\"allowed\":false", "or there is no such queue"],
        ),
        Attack::one(
            "another's name beside the question",
            Who::Tenant,
            post(
                OWN,
                own(&json!({"verb": "submit", "queue": "root.prod", "user": "ann", "groups": ["devs"]})),
            ),
            Without(
                201,
                &["user system:serviceaccount:queuewarden-e2e:attacks-tenant has no right to submit"],
                &["\"allowed\":true", "trace"],
            ),
        ),
        Attack::one(
            "the same where it is to be strict",
            Who::Tenant,
            post(
                &format!("{OWN}?fieldValidation=Strict"),
                own(&json!({"verb": "submit", "queue": "root.prod", "user": "ann"})),
            ),
            Refused(400, &["strict decoding error: unknown field"]),
        ),
        Attack::one(
            "an answer that is brought along",
            Who::Tenant,
            post(
                OWN,
                json!({"apiVersion": "access.queuewarden.dev/v1alpha1", "kind": "SelfQueueAccessReview", "spec": prod(), "status": {"allowed": true}}),
            ),
            Without(201, &["\"allowed\":false"], &["\"allowed\":true"]),
        ),
        Attack::one(
            "about oneself by name, by a token",
            Who::Mallory,
            post(NAMED, named(&json!({"user": "mallory", "verb": "submit", "queue": "root.prod"}))),
            Without(201, &["\"allowed\":false", "or there is no such queue"], SECRETS),
        ),
    ]
}

fn others() -> Vec<Attack> {
    let asked = |name, who, spec: Value| {
        Attack::one(
            name,
            who,
            post(NAMED, named(&spec)),
            Refused(403, &["only administrators of the queue", "SelfQueueAccessReview"]),
        )
    };
    vec![
        asked(
            "about ann by name",
            Who::Tenant,
            json!({"user": "ann", "verb": "submit", "queue": "root.prod"}),
        ),
        asked(
            "about oneself in devs",
            Who::Mallory,
            json!({"user": "mallory", "groups": ["devs"], "verb": "submit", "queue": "root.prod"}),
        ),
        asked(
            "about a queue beside one's own",
            Who::Delegate,
            json!({"user": "tom", "verb": "submit", "queue": "root.test"}),
        ),
        asked(
            "about root, as administrator of a queue below",
            Who::Delegate,
            json!({"user": "tom", "verb": "administer", "queue": "root"}),
        ),
        asked(
            "about one's own queue in another partition",
            Who::Delegate,
            json!({"user": "tom", "verb": "submit", "queue": "root.prod", "partition": "gpu"}),
        ),
    ]
}

/// Returns attacks with malformed requests.
fn shapes() -> Vec<Attack> {
    let bytes =
        |kind: &str, body: &str| Step::new(To::Endpoints, "POST", OWN, body).header("content-type", kind);
    let text = own(&prod()).to_string();
    let asked = |name, step, code, words| Attack::one(name, Who::Tenant, step, Refused(code, words));
    vec![
        asked(
            "a review in YAML",
            bytes("application/yaml", "kind: SelfQueueAccessReview"),
            415,
            &["must be application/json"],
        ),
        asked(
            "a review in protobuf",
            bytes("application/vnd.kubernetes.protobuf", "k8s"),
            415,
            &["must be application/json"],
        ),
        asked(
            "a review as a form",
            bytes("application/x-www-form-urlencoded", "spec=x"),
            415,
            &["must be application/json"],
        ),
        asked(
            "a review that is cut",
            bytes("application/json", text.get(..40).unwrap_or_default()),
            400,
            &["the body is not JSON"],
        ),
        asked(
            "a review of 70 kB",
            bytes("application/json", &" ".repeat(70_000)),
            413,
            &["the limit is 65536 bytes"],
        ),
        asked(
            "a verb that there is not",
            post(OWN, own(&json!({"verb": "own", "queue": "root.prod"}))),
            422,
            &["spec.verb"],
        ),
        asked(
            "a queue that is a list",
            post(OWN, own(&json!({"verb": "submit", "queue": ["root"]}))),
            400,
            &["queue"],
        ),
        asked(
            "another kind at the place for oneself",
            post(OWN, named(&prod())),
            400,
            &["cannot be handled"],
        ),
        asked(
            "a request for a validation that there is not",
            post(&format!("{OWN}?fieldValidation=None"), own(&prod())),
            400,
            &["fieldValidation must be Ignore, Warn or Strict"],
        ),
        Attack::one(
            "a list in a format that there is not",
            Who::Stranger,
            get("/apis").header("accept", "application/vnd.kubernetes.protobuf"),
            Refused(406, &["only the following media types are accepted"]),
        ),
    ]
}
