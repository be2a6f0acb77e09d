//! Attacks on `/authorize` and `/apis/authorization.k8s.io`: fabricated callers, reviews about others, and
//! leaks in answers about oneself.

use serde_json::{Value, json};

use super::Expected::{Refused, Without};
use super::{Attack, NOTHING, Who, get, post};
use crate::user_info::merged;

const HOOK: &str = "/authorize";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const OWN: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const LOCAL: &str = "/apis/authorization.k8s.io/v1/namespaces/jobs/localsubjectaccessreviews";
/// Names from the ACLs.
const SECRETS: &[&str] = &["ann", "devs", "sue", "ops", "boss", "QueueAcl", "adminacl"];

/// Returns a review about a user in root.prod, with other fields of its spec.
fn about(user: &str, fields: &Value) -> Value {
    let spec = json!({"user": user, "groups": [], "resourceAttributes":
        {"verb": "submit", "group": "queuewarden.dev", "resource": "queues", "name": "root.prod"}});
    json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": merged(spec, fields)})
}

/// Returns the same review about the caller.
fn own(attributes: &Value) -> Value {
    let question = about("", &json!({"resourceAttributes": attributes}));
    merged(question, &json!({"kind": "SelfSubjectAccessReview"}))
}

pub(super) fn attacks() -> Vec<Attack> {
    [callers(), others(), oneself(), questions()].concat()
}

fn callers() -> Vec<Attack> {
    let ann = || about("ann", &json!({}));
    vec![
        Attack::one(
            "asking without credentials",
            Who::Stranger,
            post(HOOK, ann()),
            Refused(401, &["authenticate with a client certificate"]),
        ),
        Attack::one(
            "a token that is none, as authorizer",
            Who::Garbage,
            post(HOOK, ann()),
            Refused(401, &["the token is not accepted here"]),
        ),
        Attack::one(
            "queuewarden's name by another signature",
            Who::Forged,
            post(REVIEWS, ann()),
            Refused(401, &["the token is not accepted here"]),
        ),
        Attack::one(
            "the token of an account that is gone",
            Who::Gone,
            post(REVIEWS, ann()),
            Refused(401, &["the token is not accepted here"]),
        ),
        Attack::one(
            "a token for somebody else",
            Who::OtherAudience,
            post(REVIEWS, ann()),
            Refused(401, &["the token is not accepted here"]),
        ),
        Attack::one(
            "a certificate of others, as authorizer",
            Who::Foreign,
            post(HOOK, ann()),
            Refused(401, &["the client certificate is not accepted here"]),
        ),
        Attack::one(
            "the API server's certificate for another purpose",
            Who::FrontProxy,
            post(HOOK, ann()).header("X-Remote-User", "admin").header("X-Remote-Group", "system:masters"),
            Refused(401, &["the client certificate is not accepted here"]),
        ),
        Attack::one(
            "headers of a front proxy, as authorizer",
            Who::Stranger,
            post(REVIEWS, ann()).header("X-Remote-User", "admin").header("X-Remote-Group", "system:masters"),
            Refused(401, &["authenticate with a client certificate"]),
        ),
        Attack::one(
            "headers of impersonation",
            Who::Tenant,
            post(REVIEWS, ann())
                .header("Impersonate-User", "admin")
                .header("Impersonate-Group", "system:masters"),
            Refused(403, &["only administrators of the queue"]),
        ),
        Attack::one(
            "a name and a word in a header",
            Who::Stranger,
            post(HOOK, ann()).header("authorization", "Basic YWRtaW46YWRtaW4="),
            Refused(401, &["authenticate with a client certificate"]),
        ),
        Attack::one(
            "a token without letters",
            Who::Stranger,
            post(HOOK, ann()).header("authorization", "Bearer "),
            Refused(401, &["authenticate with a client certificate"]),
        ),
    ]
}

fn others() -> Vec<Attack> {
    let asked = |name, who, review: Value| {
        Attack::one(
            name,
            who,
            post(REVIEWS, review),
            Refused(403, &["only administrators of the queue", "SelfSubjectAccessReview"]),
        )
    };
    let twice = about("mallory", &json!({}))
        .to_string()
        .replace("\"user\":\"mallory\"", "\"user\":\"mallory\",\"user\":\"ann\"");
    let local = json!({"kind": "LocalSubjectAccessReview", "metadata": {"namespace": "jobs"}, "spec": {"resourceAttributes": {"namespace": "jobs"}}});
    vec![
        asked("about another user", Who::Tenant, about("ann", &json!({}))),
        asked(
            "about oneself in another's group",
            Who::Mallory,
            about("mallory", &json!({"groups": ["devs"]})),
        ),
        asked(
            "about oneself as a master",
            Who::Mallory,
            about("mallory", &json!({"groups": ["system:masters"]})),
        ),
        asked("about one's own name in capitals", Who::Mallory, about("MALLORY", &json!({}))),
        asked("about nobody", Who::Mallory, about("", &json!({}))),
        asked(
            "about oneself and then about another",
            Who::Mallory,
            serde_json::from_str(&twice).unwrap_or_default(),
        ),
        asked(
            "about another in a queue above one's own",
            Who::Delegate,
            about("ann", &json!({"resourceAttributes": {"name": "root"}})),
        ),
        asked(
            "about another in all queues",
            Who::Delegate,
            about("ann", &json!({"resourceAttributes": {"name": null}})),
        ),
        asked(
            "about another and an application that there is not",
            Who::Delegate,
            about(
                "ann",
                &json!({"resourceAttributes": {"verb": "kill", "resource": "applications", "name": "a"}}),
            ),
        ),
        Attack::one(
            "about another, as the API server does",
            Who::Tenant,
            post(HOOK, about("ann", &json!({}))),
            Refused(403, &["only administrators of the queue"]),
        ),
        Attack::one(
            "about another in a namespace",
            Who::Tenant,
            post(LOCAL, merged(about("ann", &json!({})), &local)),
            Refused(403, &["only administrators of the queue"]),
        ),
        Attack::one(
            "about another by queuewarden's own token",
            Who::Keeper,
            post(REVIEWS, about("ann", &json!({}))),
            Refused(403, &["only administrators of the queue"]),
        ),
    ]
}

/// Returns attacks: answers about oneself must not contain anything from the ACLs.
fn oneself() -> Vec<Attack> {
    let asked = |name, attributes: Value, words| {
        Attack::one(name, Who::Mallory, post(OWN, own(&attributes)), Without(201, words, SECRETS))
    };
    vec![
        asked(
            "why one may not",
            json!({}),
            &["user mallory has no right to submit to `root.prod`, or there is no such queue"],
        ),
        asked(
            "whether there is a queue",
            json!({"name": "root.none"}),
            &["user mallory has no right to submit to `root.none`, or there is no such queue"],
        ),
        asked(
            "who administers",
            json!({"verb": "administer", "name": "root"}),
            &["user mallory has no right to administer `root`, or there is no such queue"],
        ),
        asked(
            "who may everything",
            json!({"name": null}),
            &["user mallory has no right to submit to all queues"],
        ),
        asked("a name nearly right", json!({"name": "root.prd"}), &["or there is no such queue"]),
        asked(
            "whether there is an application",
            json!({"verb": "kill", "resource": "applications", "name": "spark-1"}),
            &["or there is no such application"],
        ),
        asked(
            "where an application may be moved to",
            json!({"verb": "move", "resource": "applications", "name": "spark-1", "subresource": "root.prod"}),
            &["or there is no such application"],
        ),
        asked("a queue with an escape sequence", json!({"name": "root.\u{1b}[2J"}), &["\\\\u{1b}"]),
        Attack::one(
            "about oneself by name",
            Who::Mallory,
            post(REVIEWS, about("mallory", &json!({}))),
            Without(201, &["user mallory has no right to submit"], SECRETS),
        ),
        Attack::one(
            "about oneself as the API server asks",
            Who::Mallory,
            post(HOOK, about("mallory", &json!({}))),
            Without(200, &["user mallory has no right to submit"], SECRETS),
        ),
        Attack::one(
            "a queue of 100 kB",
            Who::Mallory,
            post(OWN, own(&json!({"name": format!("root.{}", "x".repeat(100_000))}))),
            Without(201, &["…"], SECRETS),
        ),
    ]
}

/// Returns attacks with malformed reviews.
fn questions() -> Vec<Attack> {
    let asked =
        |name, review: Value, words| Attack::one(name, Who::Mallory, post(OWN, review), Refused(400, words));
    let both =
        json!({"spec": {"nonResourceAttributes": {"verb": "submit", "path": "/yunikorn/queues/root.prod"}}});
    let elsewhere = json!({"metadata": {"namespace": "kube-system"}, "kind": "LocalSubjectAccessReview"});
    vec![
        asked(
            "another kind of review",
            merged(own(&json!({})), &json!({"kind": "SelfSubjectRulesReview"})),
            &["is not a supported review", "what-can"],
        ),
        asked(
            "another version",
            merged(own(&json!({})), &json!({"apiVersion": "authorization.k8s.io/v2"})),
            &["is not a supported review"],
        ),
        asked(
            "a review for others at the place for oneself",
            about("ann", &json!({})),
            &["the body is not a SelfSubjectAccessReview"],
        ),
        asked("a list of reviews", json!([own(&json!({}))]), &["the body is not a SelfSubjectAccessReview"]),
        asked(
            "a review without a spec",
            merged(own(&json!({})), &json!({"spec": null})),
            &["the review has no spec"],
        ),
        asked(
            "a verb that is a list",
            own(&json!({"verb": ["submit"]})),
            &["cannot be read at spec.resourceAttributes.verb"],
        ),
        Attack::one(
            "a resource and a path",
            Who::Mallory,
            post(OWN, merged(own(&json!({})), &both)),
            Without(201, &["\"allowed\":false", "only one of them is allowed"], SECRETS),
        ),
        Attack::one(
            "every verb",
            Who::Mallory,
            post(OWN, own(&json!({"verb": "*"}))),
            Without(201, &["\"allowed\":false", "queuewarden answers submit, use and administer"], SECRETS),
        ),
        Attack::one(
            "every resource",
            Who::Mallory,
            post(OWN, own(&json!({"resource": "*"}))),
            Without(201, &["\"allowed\":false", "not for `*.queuewarden.dev`"], SECRETS),
        ),
        Attack::one(
            "a namespace in the path and another one in the review",
            Who::Mallory,
            post(LOCAL, merged(about("mallory", &json!({})), &elsewhere)),
            Refused(400, &["the namespace in the path is `jobs`"]),
        ),
        Attack::one(
            "a review of 300 kB",
            Who::Mallory,
            post(REVIEWS, "x".repeat(300_000)),
            Refused(413, &["the limit is 262144 bytes"]),
        ),
        Attack::one(
            "a review nested too deeply",
            Who::Mallory,
            post(HOOK, "[".repeat(1000)),
            Refused(400, &["recursion limit exceeded"]),
        ),
        Attack::one("a review that is got", Who::Mallory, get(HOOK), Refused(405, &["\"allow\": \"POST\""])),
        Attack::one(
            "a version of the group that there is not",
            Who::Mallory,
            post("/apis/authorization.k8s.io/v2/subjectaccessreviews", about("ann", &json!({}))),
            Refused(404, NOTHING),
        ),
    ]
}
