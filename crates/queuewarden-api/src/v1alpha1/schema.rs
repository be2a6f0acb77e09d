//! Builds schemas that several fields share or that derive cannot express, such as rules on list elements and
//! ConfigMap names.
//!
//! Users read a rule's message after `kubectl apply`. It quotes the offending text (the API server shows only
//! its type), explains why YuniKorn does not accept it, and suggests what to write instead.

use kube::core::{Message, Rule};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use queuewarden_plan::snapshot::LEFT_EMPTY;
use yunikorn_access::expect::QUEUE_PATTERN;

/// Maximum number of users, and of groups, in one grant. The QueueAcls of a queue add up, so this does not
/// limit queues.
pub const MAX_NAMES: usize = 256;
/// Longest user or group name, in characters; an e-mail address has at most 254.
pub const MAX_NAME_LENGTH: usize = 256;
/// Longest raw ACL, in characters.
pub const MAX_RAW_ACL_LENGTH: usize = 16_384;
/// Longest queue path, in characters: fifteen levels of the longest names.
pub const MAX_QUEUE_LENGTH: usize = 1024;
/// Maximum number of regular expressions in one list of an AdmissionPolicy.
pub const MAX_PATTERNS: usize = 64;
/// Longest regular expression, in characters.
pub const MAX_PATTERN_LENGTH: usize = 512;
/// Maximum number of cases in one QueueAccessTest.
pub const MAX_CASES: usize = 64;
/// Maximum number of subjects in one case.
pub const MAX_SUBJECTS: usize = 64;
/// Maximum number of placements in one case.
pub const MAX_PLACEMENTS: usize = 32;
/// Longest bundle of certificates, in characters of base64.
pub const MAX_BUNDLE_LENGTH: usize = 131_072;
/// Maximum number of labels or annotations of an expected placement.
pub const MAX_TEXTS: usize = 32;

/// A DNS subdomain.
const SUBDOMAIN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// A full queue path; the allowed characters of a name come from yunikorn-core's `configvalidator.go:81`.
pub(super) fn queue_path(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "maxLength": MAX_QUEUE_LENGTH,
        "x-kubernetes-validations": [
            {
                "rule": "self.matches('^(?i)root([.]|$)')",
                "message": "must be the full path from root, e.g. root.prod.etl",
                "messageExpression":
                    "self == '' ? '' : \"must be the full path from root: write 'root.\" + self + \"'\"",
            },
            rule(
                "!self.matches('^(?i)root([.]|$)') || self.matches('^[^.]+([.][a-zA-Z0-9_:#/@-]{1,64})*$')",
                "each name below root needs 1 to 64 characters out of letters, digits and - _ # @ / : with \
                 one dot between names, e.g. root.prod.etl; YuniKorn accepts no other queue names",
            ),
        ],
    })
}

/// Maximum number of groups that the writer of a delegated object may name.
pub const MAX_CLAIMED_GROUPS: usize = 32;

/// `groups` of `delegatedBy`: any name that Kubernetes allows, even if it cannot be in an ACL.
pub(super) fn claimed_groups(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": MAX_CLAIMED_GROUPS,
        "x-kubernetes-list-type": "set",
        "items": { "type": "string", "minLength": 1, "maxLength": MAX_NAME_LENGTH },
    })
}

/// A queue that a test names.
pub(super) fn expected_queue(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "maxLength": MAX_QUEUE_LENGTH, "pattern": QUEUE_PATTERN })
}

/// Labels or annotations.
pub(super) fn texts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": MAX_TEXTS,
        "additionalProperties": { "type": "string", "maxLength": 1024 },
    })
}

/// `users` of a grant.
pub(super) fn user_names(_: &mut SchemaGenerator) -> Schema {
    names("user", "")
}

/// `groups` of a grant. No group may be named like an alias.
pub(super) fn group_names(_: &mut SchemaGenerator) -> Schema {
    names("group", " && !self.matches('^qw-[ug]-[a-z0-9_]*-[0-9a-f]{32}$')")
}

/// A list of names that Kubernetes can authenticate.
///
/// The API server ignores a message that contains a line break, so the message expression has a constant
/// message to fall back on.
fn names(what: &str, but: &str) -> Schema {
    let message = format!(
        "self == '*' ? \"'*' is not a {what}: to grant the right to everyone, write everyone: true instead \
         of lists\" : self == '' ? 'a {what} without a name cannot be granted anything: remove the entry' : \
         \"'\" + self + \"' is not a valid {what} name: write a {what} as Kubernetes authenticates it, \
         without control characters or spaces at either end; aliases of queuewarden are not allowed\""
    );
    json_schema!({
        "type": "array",
        "maxItems": MAX_NAMES,
        "x-kubernetes-list-type": "set",
        "items": {
            "type": "string",
            "maxLength": MAX_NAME_LENGTH,
            "x-kubernetes-validations": [{
                "rule": format!(
                    r"self != '' && self != '*' && !self.matches('^\\s|\\s$|[\\x00-\\x1f\\x7f]'){but}"
                ),
                "message": format!("not a valid {what} name: it contains control characters, or begins or ends with a space"),
                "messageExpression": message,
            }],
        },
    })
}

/// All fields of the spec of a QueueAcl.
const FIELDS: [&str; 9] =
    ["partition", "queue", "submit", "admin", "baseAcl", "notBefore", "expiresAt", "suspend", "delegatedBy"];

/// Refuses `submit` and `admin` that are null. They are the only fields whose null the API server keeps
/// ([`crate::crd`]).
///
/// CEL treats a null as an absent field (apiserver `pkg/cel/common/valuesunstructured.go`, `Find`), but the
/// size of the object includes it. An object with more fields than CEL finds therefore contains a null.
pub(super) fn nothing_left_empty() -> Rule {
    let found = FIELDS.map(|field| format!("has(self.{field})")).join(", ");
    let rule = format!("size(dyn(self)) == [{found}].filter(found, found).size()");
    Rule::new(rule).message(Message::Message(format!("submit or admin {LEFT_EMPTY}")))
}

/// A list of regular expressions, which YuniKorn reads from one comma-separated string (yunikorn-k8shim
/// `am_conf.go:364`).
pub(super) fn patterns(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": MAX_PATTERNS,
        // With `set`, server-side apply joins lists from several files, as in examples/operators.
        "x-kubernetes-list-type": "set",
        "items": {
            "type": "string",
            "maxLength": MAX_PATTERN_LENGTH,
            "x-kubernetes-validations": [
                {
                    "rule": "self != ''",
                    "message": "must not be empty: YuniKorn drops empty elements. To match every name, write \
                                '.*'; to match no name, remove the element",
                },
                {
                    "rule": "!self.contains(',')",
                    "message": "must not contain a comma: YuniKorn would split it there into two regular \
                                expressions",
                    "messageExpression": one_line(
                        "\"'\" + self + \"' contains a comma: YuniKorn would split it there into two regular \
                         expressions. Write them as two elements; write a repetition such as a{1,3} without \
                         its comma (aa?a?)\"",
                    ),
                },
                {
                    "rule": "self == self.trim()",
                    "message": "must not begin or end with white space, which YuniKorn removes",
                    "messageExpression":
                        "\"'\" + self + \"' begins or ends with white space, which YuniKorn removes: write \
                         '\" + self.trim() + \"'\"",
                },
            ],
        },
    })
}

/// The name of a ConfigMap: a DNS subdomain.
pub(super) fn config_map_name(_: &mut SchemaGenerator) -> Schema {
    dns_name(253, SUBDOMAIN, "a ConfigMap's name: lower-case letters, digits, '-' and '.'")
}

/// The name of a Secret: a DNS subdomain.
pub(super) fn secret_name(_: &mut SchemaGenerator) -> Schema {
    dns_name(253, SUBDOMAIN, "a Secret's name: lower-case letters, digits, '-' and '.'")
}

/// A PEM text in base64, up to a maximum length.
pub(super) fn pem_bundle(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "byte", "minLength": 1, "maxLength": MAX_BUNDLE_LENGTH})
}

/// The name of a namespace: a DNS label.
pub(super) fn namespace_name(_: &mut SchemaGenerator) -> Schema {
    dns_name(63, "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "a namespace's name: lower-case letters, digits and '-'")
}

fn dns_name(max: usize, pattern: &str, what: &str) -> Schema {
    json_schema!({
        "type": "string",
        "maxLength": max,
        "x-kubernetes-validations": [{
            "rule": format!("self.matches(r'{pattern}')"),
            "message": format!("must be {what}, beginning and ending with a letter or digit"),
        }],
    })
}

/// `status.conditions`: `metav1.Condition`, merged by type, with the same bounds as in Kubernetes.
pub(super) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 16,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "description": "One aspect of the object's state.",
            "required": ["type", "status", "lastTransitionTime", "reason", "message"],
            "properties": {
                "type": {
                    "type": "string",
                    "description": "The aspect: Accepted, Programmed, Effective, Ready, and so on.",
                    "maxLength": 316,
                    "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                },
                "status": {
                    "type": "string",
                    "description": "True, False or Unknown.",
                    "enum": ["True", "False", "Unknown"],
                },
                "observedGeneration": {
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0,
                    "description": "The metadata.generation that this condition was computed from; if it is \
                                    older than the object's, the condition is out of date.",
                },
                "lastTransitionTime": {
                    "type": "string",
                    "format": "date-time",
                    "description": "When status last changed.",
                },
                "reason": {
                    "type": "string",
                    "description": "The cause as one CamelCase word, for use by programs.",
                    "minLength": 1,
                    "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                },
                "message": {
                    "type": "string",
                    "description": "The cause for human readers: what is wrong, why, and what to do. May be \
                                    empty.",
                    "maxLength": 32_768,
                },
            },
        },
    })
}

/// One rule with a fixed message, for `x-kubernetes-validations`.
fn rule(rule: &str, message: &str) -> Value {
    json!({ "rule": one_line(rule), "message": one_line(message) })
}

/// Joins the lines of a CEL rule or a message, which must not contain line breaks: each run of white space
/// becomes one space.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::FIELDS;
    use crate::crds;

    #[test]
    fn fields_of_a_queue_acl_are_all_looked_at_for_null() {
        let crd = crds().into_iter().find(|crd| crd.spec.names.kind == "QueueAcl").unwrap();
        let schema = crd.spec.versions[0].schema.clone().unwrap().open_api_v3_schema.unwrap();
        let fields = schema.properties.unwrap()["spec"].properties.clone().unwrap();
        assert_eq!(fields.keys().map(String::as_str).collect::<BTreeSet<_>>(), BTreeSet::from(FIELDS));
        let kept = fields.iter().filter(|(_, field)| field.nullable == Some(true));
        assert_eq!(kept.map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["admin", "submit"]);
    }
}
