//! Attacks on endpoints that require the API server's certificate and an audience, and on endpoints that are
//! not served.

use serde_json::json;

use super::Expected::Refused;
use super::{Attack, Expected, Given, NOTHING, Step, Who, get, post, review};

fn attack(name: &'static str, who: Who, step: Step, expected: Expected) -> Attack {
    Attack { name, who, given: Given::Closed, steps: vec![step], expected }
}

pub(super) fn attacks() -> Vec<Attack> {
    let pod = || review(("", "Pod", "pods"), &json!({}));
    let access = "/apis/access.queuewarden.dev/v1alpha1/queues";
    vec![
        attack(
            "a webhook without a certificate",
            Who::Stranger,
            post("/user-info", pod()),
            Refused(401, &["authenticate with a client certificate"]),
        ),
        attack(
            "a webhook by a token",
            Who::Tenant,
            post("/configmaps", pod()),
            Refused(401, &["authenticate with a client certificate"]),
        ),
        attack(
            "a webhook by a name that is not the client's",
            Who::Mallory,
            post("/user-info/check", pod()),
            Refused(403, &["`mallory` may not call webhooks"]),
        ),
        attack(
            "a webhook by a certificate of others",
            Who::Foreign,
            post("/configmaps", pod()),
            Refused(401, &["the client certificate is not accepted here"]),
        ),
        attack(
            "a webhook by the certificate of the front proxy",
            Who::FrontProxy,
            post("/user-info", pod()),
            Refused(401, &["the client certificate is not accepted here"]),
        ),
        attack(
            "a webhook by a header with the client's name",
            Who::Stranger,
            post("/configmaps", pod()).header("X-Remote-User", "apiserver"),
            Refused(401, &["authenticate with a client certificate"]),
        ),
        attack(
            "an endpoint that is not served",
            Who::WebhookClient,
            post("/validate", pod()),
            Refused(404, NOTHING),
        ),
        attack(
            "another endpoint that is not served",
            Who::WebhookClient,
            post("/submission", pod()),
            Refused(404, NOTHING),
        ),
        attack(
            "a token for the API server where another audience is asked for",
            Who::Tenant,
            get(access),
            Refused(401, &["the token is not accepted here"]),
        ),
        attack(
            "a token for a third audience",
            Who::OtherAudience,
            get(access),
            Refused(401, &["the token is not accepted here"]),
        ),
        attack(
            "queuewarden's own token where another audience is asked for",
            Who::Operator,
            get(access),
            Refused(401, &["the token is not accepted here"]),
        ),
    ]
}
