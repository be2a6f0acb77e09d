//! What a bundle does not say: tokens, private keys, passwords, and the values of environment variables. It leaves out too much rather than
//! too little, for whoever reads the bundle needs to know that something is set, not to what.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

/// What stands in the place of what was left out.
const LEFT_OUT: &str = "<left-out>";
/// Annotations that repeat an object as it was applied, in a form that is not looked through.
const REPEATED: [&str; 2] =
    ["kubectl.kubernetes.io/last-applied-configuration", "meta.helm.sh/release-values"];

/// Each pattern with what takes its place.
static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let patterns = [
        (
            r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)",
            "<left-out>",
        ),
        // Tokens of service accounts and of OpenID Connect; also without their signature.
        (r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?", "<left-out>"),
        (r"(?i)\b(bearer|basic)\s+[A-Za-z0-9+/=._~-]{6,}", "$1 <left-out>"),
        (r"(?i)(://)[^/\s:@]+:[^/\s@]+@", "${1}<left-out>@"),
        (
            r#"(?i)\b([a-z0-9_.-]*(?:password|passwd|passphrase|secret[-_.]?key|client[-_.]?secret|api[-_.]?key|access[-_.]?key|private[-_.]?key|auth[-_.]?token|credentials?))(\\?["']?\s*[:=]\s*\\?["']?)[^\s"'\\,;}]+"#,
            "$1$2<left-out>",
        ),
    ];
    // They are constants, and a test compiles each.
    patterns.into_iter().filter_map(|(pattern, by)| Some((Regex::new(pattern).ok()?, by))).collect()
});

/// A text without what must not be said.
pub fn text(text: &str) -> String {
    let mut shown = Cow::Borrowed(text);
    for (pattern, by) in PATTERNS.iter() {
        if let Cow::Owned(replaced) = pattern.replace_all(&shown, *by) {
            shown = Cow::Owned(replaced);
        }
    }
    shown.into_owned()
}

/// An object without what must not be said: every text in it, the values of environment variables, and annotations that repeat the object.
pub fn object(value: Value) -> Value {
    match value {
        Value::String(content) => Value::String(text(&content)),
        Value::Array(items) => items.into_iter().map(object).collect(),
        Value::Object(fields) => Value::Object(fields.into_iter().filter_map(field).collect::<Map<_, _>>()),
        other => other,
    }
}

fn field((name, value): (String, Value)) -> Option<(String, Value)> {
    if REPEATED.contains(&name.as_str()) {
        return None;
    }
    let value = match (name.as_str(), value) {
        ("env", Value::Array(variables)) => variables.into_iter().map(variable).collect(),
        (_, value) => object(value),
    };
    Some((name, value))
}

/// An environment variable keeps its name, and where its value comes from.
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
    fn what_helps_stays() {
        for said in [
            "root.secret: user alice may submit",
            "system:serviceaccount:queuewarden-system:queuewarden",
            "secrets \"queuewarden-doors\" is forbidden",
            "3F79BB7B435B05321651DAEFD374CDC681DC06FAA65E374E38337B88CA046DEA",
            "submitacl: 'alice,bob devs'",
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

    proptest! {
        /// Wherever it stands and whatever stands around it.
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
