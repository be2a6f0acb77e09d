//! Attacks on `/configmaps`: texts in YuniKorn's ConfigMaps that open queues, hide content or make the
//! scheduler hang.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::Expected::{Denied, Refused, Without};
use super::{Attack, as_sent, get, post, review, with};
use crate::operator::{KEY, gzip};

const PATH: &str = "/configmaps";

/// Returns a change of `yunikorn-configs` by a cluster administrator who was given a file.
fn change(object: &Value) -> Value {
    let map = review(("", "ConfigMap", "configmaps"), object);
    with(map, &json!({"namespace": "yunikorn", "name": "yunikorn-configs", "operation": "UPDATE"}))
}

fn text(name: &'static str, text: &str, words: &'static [&'static str]) -> Attack {
    Attack::by_stranger(name, post(PATH, change(&json!({"data": {KEY: text}}))), Denied(words))
}

fn binary(name: &'static str, key: &str, bytes: Vec<u8>, words: &'static [&'static str]) -> Attack {
    let data = BTreeMap::from([(key, ByteString(bytes))]);
    Attack::by_stranger(name, post(PATH, change(&json!({"binaryData": data}))), Denied(words))
}

/// Returns a tree with this queue below the root.
fn queue(fields: &str) -> String {
    format!(
        "partitions:\n  - name: default\n    queues:\n      - name: root\n        queues:\n          - {{{fields}}}\n"
    )
}

pub(super) fn attacks() -> Vec<Attack> {
    [trees(), bombs(), hidden(), requests()].concat()
}

fn trees() -> Vec<Attack> {
    vec![
        text(
            "no partition that pods are in",
            "partitions: [{name: gpu, queues: [{name: root}]}]",
            &["the active partition `default` is missing"],
        ),
        text(
            "an ACL that stops the scheduler",
            &queue("name: prod, submitacl: 'ann  devs'"),
            &["more than one consecutive space"],
        ),
        text(
            "an ACL with a third part",
            &queue("name: prod, submitacl: 'ann devs ops'"),
            &["more than two lists"],
        ),
        text(
            "a key of a queue in another case",
            &queue("name: prod, submitAcl: '*'"),
            &["has no field `submitAcl`"],
        ),
        text(
            "a key twice",
            &queue("name: prod, submitacl: 'ann', submitacl: '*'"),
            &["`submitacl` appears twice"],
        ),
        text(
            "a queue twice",
            &queue("name: prod}\n          - {name: prod"),
            &["duplicate child name found with name 'prod'"],
        ),
        text("a queue whose name has a dot", &queue("name: prod.etl"), &["invalid queue name"]),
        text("a queue whose name has a space", &queue("name: 'a b'"), &["invalid queue name"]),
        text(
            "two partitions of one name",
            "partitions: [{name: default, queues: [{name: root}]}, {name: default, queues: [{name: root}]}]",
            &["duplicate partition name"],
        ),
        text("a list instead of a tree", "- partitions", &["expected a configuration, found a list"]),
        text("a tab", "partitions:\n\t- name: default\n", &["line 2", "this line is indented with a tab"]),
        text(
            "a rule of placement that there is not",
            "partitions: [{name: default, placementrules: [{name: root.boss}], queues: [{name: root}]}]",
            &["invalid rule name root.boss"],
        ),
        text(
            "a limit for nobody",
            &queue("name: prod, limits: [{limit: x, maxapplications: 1}]"),
            &["empty user and group lists"],
        ),
        text(
            "a reference to nothing",
            &queue("name: prod, submitacl: *boss"),
            &["the anchor `boss` is not defined above"],
        ),
    ]
}

/// Returns attacks with small texts that expand to large ones.
fn bombs() -> Vec<Attack> {
    let laughs = (1..=9).fold("a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned(), |text, level| {
        let below = format!("*a{}", level - 1);
        format!("{text}a{level}: &a{level} [{}]\n", vec![below; 9].join(", "))
    });
    let merges = "partitions: &p\n  - &q {name: default, queues: [{name: root}], <<: *q}\n";
    let deep = format!("partitions: {}1{}", "[".repeat(2000), "]".repeat(2000));
    let nodes = gzip("- a\n".repeat(999_990)).unwrap_or_default();
    vec![
        text("anchors of anchors", &laughs, &["expanding this alias makes the text too deep or too large"]),
        text("an anchor in itself", merges, &["an alias inside its own anchor"]),
        text("a tree deeper than can be read", &deep, &["nests deeper than 256 levels"]),
        binary("a million nodes, packed", "queues.yaml.gz", nodes, &["the text has more than 150000 nodes"]),
        Attack::by_stranger(
            "more keys than are read",
            post(
                PATH,
                change(
                    &json!({"data": (0..50_001).map(|number| (format!("k{number}"), "")).collect::<BTreeMap<_, _>>()}),
                ),
            ),
            Denied(&["more than 50000 values"]),
        ),
    ]
}

/// Returns attacks with keys of `binaryData` and settings that hide the text.
fn hidden() -> Vec<Attack> {
    let open = gzip(queue("name: prod, submitacl: '*'")).unwrap_or_default();
    let setting = |name, key: &str, value: &str, words| {
        Attack::by_stranger(name, post(PATH, change(&json!({"data": {key: value}}))), Denied(words))
    };
    vec![
        binary(
            "a packed text over the text",
            "queues.yaml.gz",
            open,
            &["binaryData key `queues.yaml.gz`", "hides or empties"],
        ),
        binary(
            "a key that begins like the text's",
            "queues.yaml.bak",
            vec![b'a'],
            &["binaryData key `queues.yaml.bak`"],
        ),
        binary(
            "a key like the text's and a suffix that there is not",
            "queues.yaml.",
            vec![b'a'],
            &["binaryData key `queues.yaml.`"],
        ),
        setting(
            "an interval that is none",
            "service.schedulingInterval",
            "soon",
            &["`soon` is not a valid duration"],
        ),
        setting(
            "a truth that is none",
            "service.enableConfigHotRefresh",
            "perhaps",
            &["`perhaps` is not a valid boolean"],
        ),
        Attack::by_stranger(
            "binaryData that are no bytes",
            post(PATH, change(&json!({"binaryData": {"queues.yaml": "*"}}))),
            Denied(&["cannot be read at binaryData.queues.yaml"]),
        ),
        Attack::by_stranger(
            "data that are a list",
            post(PATH, change(&json!({"data": ["queues.yaml"]}))),
            Denied(&["cannot be read at data", "expected a map"]),
        ),
    ]
}

fn requests() -> Vec<Attack> {
    let large = "x".repeat(7 * 1024 * 1024);
    vec![
        Attack::by_stranger(
            "a ConfigMap of 7 MiB",
            post(PATH, as_sent(&change(&json!({"data": {KEY: large}})))),
            Denied(&["more than 6291456 bytes of JSON"]),
        ),
        Attack::by_stranger("a ConfigMap that is read", get(PATH), Refused(405, &["\"allow\": \"POST\""])),
        Attack::by_stranger(
            "no tree at all",
            post(
                PATH,
                with(
                    change(&json!({})),
                    &json!({"name": "yunikorn-defaults", "operation": "DELETE", "object": null}),
                ),
            ),
            Without(200, &["\"allowed\":true", "warnings"], &["devs", "boss"]),
        ),
    ]
}
