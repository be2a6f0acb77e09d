//! Attacks on `/validate`: objects that inject text into the queue tree, writers with a false identity, and
//! objects that cannot be decided.

use serde_json::{Value, json};

use super::Expected::{Denied, Refused, Without};
use super::stage::acl;
use super::{Attack, as_sent, get, post, with};

const PATH: &str = "/validate";

/// Returns the review under the name of a cluster administrator, so that nothing is refused because of its
/// writer.
fn trusted(review: Value) -> Value {
    with(review, &json!({"userInfo": {"username": "root", "groups": ["system:masters"]}}))
}

/// Returns a change of another of our kinds, by a cluster administrator.
fn of(kind: &str, spec: &Value) -> Value {
    let object = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": kind, "metadata": {"name": "default"}, "spec": spec});
    let none = with(acl("ann"), &json!({"kind": {"kind": kind}, "object": null}));
    trusted(with(none, &json!({"object": object})))
}

pub(super) fn attacks() -> Vec<Attack> {
    [names(), writers(), kinds(), requests()].concat()
}

/// Returns attacks with names and paths that contain syntax of the rendered text.
fn names() -> Vec<Attack> {
    let granted = |name, spec: &Value, expected| {
        let spec = json!({"object": {"spec": spec}});
        Attack::by_stranger(name, post(PATH, trusted(with(acl("ann"), &spec))), expected)
    };
    // No one gains anything through such a name, because it is not written.
    let dropped = |words| Without(200, words, &["may submit", "gains submit", "grants submit"]);
    let user = |name, user: &str, words| granted(name, &json!({"submit": {"users": [user]}}), dropped(words));
    // A grant of such a name applies to a user with exactly this name and to no one else.
    let exactly = |words| Without(200, words, &["to everyone", "user ann", "user eve", "group devs"]);
    let odd = |name, user: &str, words| granted(name, &json!({"submit": {"users": [user]}}), exactly(words));
    let groups = |group: &str| json!({"submit": {"users": null, "groups": [group]}});
    let group = |name, group: &str, words| granted(name, &groups(group), dropped(words));
    let queue = |name, queue: &str, words| granted(name, &json!({"queue": queue}), Denied(words));
    let acl =
        |name, acl: &str, expected| granted(name, &json!({"submit": {"users": null, "acl": acl}}), expected);
    vec![
        user(
            "a line break in a user",
            "ann\n    adminacl: '*'",
            &["the user `ann\\\\n    adminacl: '*'` is dropped"],
        ),
        user("a quote in a user", "ann' # ", &["the user `ann' # ` is dropped"]),
        odd("a quote and a comment in a user", "ann' # x", &["to user `ann' # x`"]),
        user(
            "everybody as a user",
            "*",
            &["the user `*` is dropped", "`*` is not a wildcard in a list of names"],
        ),
        odd("two users in one", "ann,eve", &["to user `ann,eve`", "granted literally"]),
        user("a user of one space", " ", &["the user ` ` is dropped"]),
        user("an escape sequence in a user", "ann\u{1b}[2J", &["the user `ann\\\\u{1b}[2J` is dropped"]),
        odd("a tag of YAML as a user", "!!python/object", &["to user `!!python/object`"]),
        odd("an anchor of YAML as a user", "&a", &["to user `&a`"]),
        granted("a space in a group", &groups("devs *"), exactly(&["to group `devs *`"])),
        group("a line break in a group", "devs\n", &["the group `devs\\\\n` is dropped"]),
        group("everybody as a group", "*", &["the group `*` is dropped"]),
        acl("an ACL with a line break", "ann\n*", dropped(&["the user `ann\\\\n*` is dropped"])),
        acl("an ACL with two spaces", "ann  devs", Denied(&["more than one consecutive space"])),
        granted("a user without letters", &json!({"submit": {"users": [""]}}), Denied(&["it is empty"])),
        queue(
            "a queue with a line break",
            "root.prod\n      submitacl: '*'",
            &["`\\n` is not allowed in a queue name"],
        ),
        queue("a queue that begins a mapping", "root.prod: {a: b}", &["` ` is not allowed in a queue name"]),
        queue("a queue that climbs", "root.prod/../test", &["root.prod/../test"]),
        queue("a queue that ends in a space", "root.prod ", &["` ` is not allowed in a queue name"]),
        queue("a queue beside the root", "prod", &["`prod`"]),
    ]
}

/// Returns attacks by writers, as the review names them.
fn writers() -> Vec<Attack> {
    let by = |name, user: &Value, fields: &Value, words| {
        let review = with(with(acl("mallory"), &json!({"userInfo": user})), fields);
        Attack::by_stranger(name, post(PATH, review), Denied(words))
    };
    let cleaner =
        json!({"username": "system:serviceaccount:kube-system:generic-garbage-collector", "groups": []});
    let none = json!({});
    let old = acl("ann").pointer("/request/object").cloned();
    vec![
        by(
            "a writer without a name",
            &json!(null),
            &none,
            &["cannot check your permissions with Kubernetes"],
        ),
        by(
            "a writer in a group of masters by another case",
            &json!({"username": "eve", "groups": ["System:Masters"]}),
            &none,
            &["delegatedBy"],
        ),
        by("a housekeeper who creates", &cleaner, &none, &["delegatedBy"]),
        by(
            "a housekeeper who changes what is granted",
            &cleaner,
            &json!({"operation": "UPDATE", "oldObject": old}),
            &["cluster administrator"],
        ),
        by(
            "a writer who is the kubelet",
            &json!({"username": "system:node:node", "groups": ["system:nodes"]}),
            &none,
            &["delegatedBy"],
        ),
        by(
            "queuewarden's own name",
            &json!({"username": queuewarden_e2e::operator::USER, "groups": ["system:serviceaccounts"]}),
            &none,
            &["delegatedBy"],
        ),
    ]
}

/// Returns attacks with objects that nobody may write.
fn kinds() -> Vec<Attack> {
    let object = |name, object: Value, words| {
        Attack::by_stranger(
            name,
            post(PATH, trusted(with(acl("ann"), &json!({"object": object})))),
            Denied(words),
        )
    };
    let policy = |name, spec: Value, words| {
        Attack::by_stranger(name, post(PATH, of("AdmissionPolicy", &spec)), Denied(words))
    };
    vec![
        object(
            "a spec that is a list",
            json!({"spec": ["root.prod"]}),
            &["invalid length 1, expected struct"],
        ),
        object(
            "a queue that is a number",
            json!({"spec": {"queue": 7}}),
            &["queue: invalid type: integer `7`"],
        ),
        object("no object and no old one", Value::Null, &["no object and no oldObject"]),
        object(
            "users in one text",
            json!({"spec": {"submit": {"users": "ann"}}}),
            &["submit.users: invalid type: string"],
        ),
        object(
            "users who are null",
            json!({"spec": {"submit": {"users": [null]}}}),
            &["submit.users[0]: invalid type: null"],
        ),
        object(
            "more values than are read",
            json!({"spec": {"submit": {"users": vec!["ann"; 50_001]}}}),
            &["more than 50000 values"],
        ),
        Attack::by_stranger(
            "an object of another group",
            post(PATH, trusted(with(acl("ann"), &json!({"kind": {"group": "example.com"}})))),
            Denied(&["group \"example.com\" is not decided here"]),
        ),
        Attack::by_stranger(
            "an object of another kind",
            post(PATH, of("QueueMaster", &json!({}))),
            Denied(&["kind QueueMaster is not decided here"]),
        ),
        policy(
            "an expression that does not end",
            json!({"externalUsers": ["(boss"]}),
            &["externalUsers: `(` is not closed"],
        ),
        policy(
            "an expression that grows",
            json!({"externalUsers": ["((((a{100}){100}){100}){100})"]}),
            &["externalUsers: `{100}` is not a valid repetition count in Go"],
        ),
        policy(
            "a path of templates that is none",
            json!({"userInfo": {"mode": "Enforce", "templates": [{"group": "g", "resource": "r", "path": "spec..x"}]}}),
            &["userInfo.templates[0].path: `` is not a field"],
        ),
    ]
}

fn requests() -> Vec<Attack> {
    let large = "x".repeat(7 * 1024 * 1024);
    vec![
        Attack::by_stranger(
            "a grant of 7 MiB",
            post(PATH, as_sent(&trusted(acl(&large)))),
            Denied(&["more than 6291456 bytes of JSON"]),
        ),
        Attack::by_stranger(
            "a grant in another type",
            post(PATH, "queue: root.prod").header("content-type", "application/yaml"),
            Refused(400, &["the review cannot be read"]),
        ),
        Attack::by_stranger("a grant that is read", get(PATH), Refused(405, &["\"allow\": \"POST\""])),
        Attack::by_stranger(
            "who has what, by a change that is not made",
            post(PATH, acl("mallory")),
            Without(200, &["\"allowed\":false"], &["devs", "ops", "boss", "tom"]),
        ),
    ]
}
