//! Removes secrets from a bundle: tokens, private keys, passwords, and the values of environment variables.
//! It removes too much rather than too little, because readers of the bundle need to know that something is
//! set, but not its value.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

/// Replacement for removed text.
const LEFT_OUT: &str = "<left-out>";
/// Annotations that repeat an applied object in a form that is not searched for secrets.
const REPEATED: [&str; 2] =
    ["kubectl.kubernetes.io/last-applied-configuration", "meta.helm.sh/release-values"];

/// Pattern for the end of a name whose value is a secret.
const NAMES: &str = r"(?:passwords?|passwd|passphrase|pwd|[-_.]pass|token|credentials?|(?:secret|api|access|private|signing|encryption)[-_.]?key|(?:client|shared|signing|webhook)[-_.]?secret)";
/// Pattern for names inside a value, as in `credentials: {"password": …`: the value comes after them.
const INSIDE: &str = r#"(?:(?:[^\s"'\\\[]\S*)?[:=]\s*|\\*["'][^"'\\]*\\*["']\s*[:=]\s*)*"#;
/// Pattern for a value: in quotes up to their end, also if the whole is itself in quotes; a list; a block of
/// YAML; or up to a space or line break.
const VALUE: &str = r#"(?:(\\*')(?:[^']|'')*(?:(')|\z)|(\\+")(?:[^"\\]|\\\\(?:\\.)?|\\[^"\\])*(?:(\\?")|\\?\z)|(")(?:[^"\\]|\\.)*(?:(")|\\?\z)|\[[^\]]*\]?\S*|[|>][-+0-9]*[ \t]*(?:\r?\n[ \t][^\n]*)+|\S+)"#;

/// Names of fields, flags and headers whose values are removed.
static NAMED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!("(?i)(?:{NAMES}|^pass|authorization|cookie)$")).ok());

/// Patterns with their replacements.
static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    // A flag, or a name with the separator before its value.
    let named = format!(
        r#"(?is)((?:^|[\s"'])--?[a-z0-9_.-]*{NAMES}\s+|\b[a-z0-9_.-]*{NAMES}\\*["']?\s*[:=]\s*){INSIDE}{VALUE}"#
    );
    let patterns = [
        (
            r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)",
            "<left-out>",
        ),
        // Tokens of service accounts and of OpenID Connect; also without their signature.
        (r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?", "<left-out>"),
        (r"(?i)\b(bearer|basic)\s+[A-Za-z0-9+/=._~-]{6,}", "$1 <left-out>"),
        (named.as_str(), "${1}${2}${4}${6}<left-out>${3}${5}${7}"),
        // Matches up to the last @, because some passwords contain an @ and a /.
        (r#"(://)[^/\s:@"]*:[^\s"]*@"#, "${1}<left-out>@"),
    ];
    // These are constants, and a test compiles each.
    patterns.into_iter().filter_map(|(pattern, by)| Some((Regex::new(pattern).ok()?, by))).collect()
});

/// Returns a text without secrets.
pub fn text(text: &str) -> String {
    let mut shown = Cow::Borrowed(text);
    for (pattern, by) in PATTERNS.iter() {
        if let Cow::Owned(replaced) = pattern.replace_all(&shown, *by) {
            shown = Cow::Owned(replaced);
        }
    }
    shown.into_owned()
}

/// Returns an object without secrets: redacts every text in it, removes the values of secret names, flags and
/// headers and of environment variables, and removes annotations that repeat the object.
pub fn object(value: Value) -> Value {
    match value {
        Value::String(content) => Value::String(text(&content)),
        Value::Array(items) => {
            let mut flagged = false;
            let item = |item: Value| {
                let flag = item.as_str().is_some_and(|item| item.starts_with('-') && is_secret(item));
                if std::mem::replace(&mut flagged, flag) { hidden(item) } else { object(item) }
            };
            items.into_iter().map(item).collect()
        }
        Value::Object(fields) => {
            let named = fields.get("name").and_then(Value::as_str).is_some_and(is_secret);
            let fields = fields.into_iter().filter_map(|(name, value)| field(name, value, named));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        other => other,
    }
}

/// Redacts a field. `named` is true if the enclosing object has a `name` that makes its `value` a secret.
fn field(name: String, value: Value, named: bool) -> Option<(String, Value)> {
    if REPEATED.contains(&name.as_str()) {
        return None;
    }
    let value = match (name.as_str(), value) {
        ("env", Value::Array(variables)) => variables.into_iter().map(variable).collect(),
        ("value", value) if named => hidden(value),
        (name, value) if is_secret(name) => hidden(value),
        (_, value) => object(value),
    };
    Some((name, value))
}

fn is_secret(name: &str) -> bool {
    NAMED.as_ref().is_none_or(|named| named.is_match(name))
}

/// Removes every text from the value of a secret name. Other values only say how it is used.
fn hidden(value: Value) -> Value {
    match value {
        Value::String(_) => LEFT_OUT.into(),
        Value::Array(items) => items.into_iter().map(hidden).collect(),
        other => object(other),
    }
}

/// Redacts an environment variable; its name and the source of its value stay.
fn variable(variable: Value) -> Value {
    let Value::Object(mut fields) = variable else { return object(variable) };
    if let Some(value) = fields.get_mut("value") {
        *value = LEFT_OUT.into();
    }
    object(Value::Object(fields))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const TOKEN: &str = "eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJl-_x";
    const PEM: &str = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIH\nabc=\n-----END EC PRIVATE KEY-----";

    #[test]
    fn every_pattern_is_one() {
        assert_eq!(PATTERNS.len(), 5);
        assert!(NAMED.is_some());
    }

    #[test]
    fn secrets_in_texts_are_left_out() {
        for (said, shown) in [
            (format!("token {TOKEN} was refused"), "token <left-out> was refused".to_owned()),
            (format!("key:\n{PEM}\nend"), "key:\n<left-out>\nend".to_owned()),
            ("-----BEGIN PRIVATE KEY-----\nMIIE".to_owned(), "<left-out>".to_owned()),
            ("Authorization: Bearer abc.def-1".to_owned(), "Authorization: Bearer <left-out>".to_owned()),
            ("https://sue:hunter2@host/x".to_owned(), "https://<left-out>@host/x".to_owned()),
            ("db.password=hunter2 user=sue".to_owned(), "db.password=<left-out> user=sue".to_owned()),
            (
                r#"{"clientSecret": "hunter2", "a": 1}"#.to_owned(),
                r#"{"clientSecret": "<left-out>", "a": 1}"#.to_owned(),
            ),
            (r#"{\"api_key\":\"hunter2\"}"#.to_owned(), r#"{\"api_key\":\"<left-out>\"}"#.to_owned()),
        ] {
            assert_eq!(text(&said), shown);
        }
    }

    #[test]
    fn a_value_is_left_out_up_to_its_end() {
        for (said, shown) in [
            ("--token=s3cret --https", "--token=<left-out> --https"),
            ("run --password hunter2 --user sue", "run --password <left-out> --user sue"),
            ("refresh_token: s3cret\nuser: sue", "refresh_token: <left-out>\nuser: sue"),
            (r#"password: "correct \" horse" x"#, r#"password: "<left-out>" x"#),
            ("password: 'it''s a horse' x", "password: '<left-out>' x"),
            (r#"{\"password\":\"a \\\" b\", \"c\":1}"#, r#"{\"password\":\"<left-out>\", \"c\":1}"#),
            (r#"password: "correct horse"#, r#"password: "<left-out>"#),
            ("password=hunter,2;x} user=sue", "password=<left-out> user=sue"),
            ("password: |\n  correct\n  horse\nuser: sue", "password: <left-out>\nuser: sue"),
            ("token: password: hunter2", "token: <left-out>"),
            (r#"{"credentials":{"u":"a","password":"a b"}}"#, r#"{"credentials":"<left-out>"}}"#),
            ("redis://:pw@host/0", "redis://<left-out>@host/0"),
            ("https://sue:a/b@c@host/x", "https://<left-out>@host/x"),
        ] {
            assert_eq!(text(said), shown);
            assert_eq!(text(shown), shown);
        }
    }

    #[test]
    fn what_helps_stays() {
        for said in [
            "root.secret: user alice may submit",
            "system:serviceaccount:queuewarden-system:queuewarden",
            "secrets \"queuewarden-doors\" is forbidden",
            "3F79BB7B435B05321651DAEFD374CDC681DC06FAA65E374E38337B88CA046DEA",
            "submitacl: 'alice,bob devs'",
            "tokenReview: no answer",
            "tokenreviews.authentication.k8s.io is forbidden",
            "the token is not valid",
            r#"{"url":"https://10.0.0.1:443","user":"sue@example.com"}"#,
        ] {
            assert_eq!(text(said), said);
        }
    }

    #[test]
    fn objects_lose_the_values_of_variables_and_their_repetition() {
        let pod = json!({
            "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{\"env\":\"hunter2\"}", "a": TOKEN}},
            "spec": {"containers": [{"env": [
                {"name": "A", "value": "hunter2"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}, "odd",
            ]}]},
        });
        let expected = json!({
            "metadata": {"annotations": {"a": "<left-out>"}},
            "spec": {"containers": [{"env": [
                {"name": "A", "value": "<left-out>"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}, "odd",
            ]}]},
        });
        assert_eq!(object(pod), expected);
    }

    #[test]
    fn objects_lose_what_a_name_says_is_secret() {
        let given = json!({
            "data": {"ldap.password": "correct horse", "queues.yaml": "partitions: []"},
            "args": ["--https", "--password", "hunter2", "--token", "-x", "root"],
            "httpHeaders": [{"name": "X-Api-Key", "value": "hunter2"}, {"name": "Authorization", "value": "hunter2"}, {"name": "Accept", "value": "a/b"}],
            "accessToken": ["hunter2"], "automountServiceAccountToken": false,
            "serviceAccountToken": {"path": "t"}, "imagePullSecrets": [{"name": "pull"}], "secretName": "s",
        });
        let expected = json!({
            "data": {"ldap.password": "<left-out>", "queues.yaml": "partitions: []"},
            "args": ["--https", "--password", "<left-out>", "--token", "<left-out>", "root"],
            "httpHeaders": [{"name": "X-Api-Key", "value": "<left-out>"}, {"name": "Authorization", "value": "<left-out>"}, {"name": "Accept", "value": "a/b"}],
            "accessToken": ["<left-out>"], "automountServiceAccountToken": false,
            "serviceAccountToken": {"path": "t"}, "imagePullSecrets": [{"name": "pull"}], "secretName": "s",
        });
        assert_eq!(object(given), expected);
    }

    proptest! {
        /// The token is removed in any surroundings.
        #[test]
        fn no_token_gets_through(before in r"[ -~\n]{0,40}", after in "[^A-Za-z0-9_.-][ -~\n]{0,40}") {
            let said = text(&format!("{before} {TOKEN}{after}"));
            prop_assert!(!said.contains("c2lnbmF0dXJl"), "{}", said);
            let said = text(&format!("{before}{PEM}{after}"));
            prop_assert!(!said.contains("MHcCAQEEIH"), "{}", said);
        }

        #[test]
        fn what_was_left_out_once_is_left_out(said in r"[ -~\n]{0,200}") {
            let once = text(&said);
            prop_assert_eq!(text(&once), once.clone());
        }
    }
}
