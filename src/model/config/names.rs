//! The names `YuniKorn` accepts: its regular expressions, all of them ASCII and anchored at both ends
//! (yunikorn-core `configvalidator.go:81-98`).

/// `UserRegExp`: `^[_a-zA-Z][a-zA-Z0-9:#/_.@-]*[$]?$`. Wider than what an ACL may name.
pub fn is_user(name: &str) -> bool {
    let name = name.strip_suffix('$').unwrap_or(name);
    is_name(name, |byte| {
        byte.is_ascii_alphanumeric() || b":#/_.@-".contains(&byte)
    })
}

/// `GroupRegExp`: `^[_a-zA-Z][a-zA-Z0-9:_.-]*$`. Wider than what an ACL may name.
pub fn is_group(name: &str) -> bool {
    is_name(name, |byte| {
        byte.is_ascii_alphanumeric() || b":_.-".contains(&byte)
    })
}

/// `RuleNameRegExp`: `^[_a-zA-Z][a-zA-Z0-9_]*$`.
pub(super) fn is_rule(name: &str) -> bool {
    is_name(name, |byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `SpecialRegExp`: `[\^$*+?()\[{}|]`, the characters that make one name of a filter a regular expression.
pub fn is_expression(name: &str) -> bool {
    name.contains(['^', '$', '*', '+', '?', '(', ')', '[', '{', '}', '|'])
}

/// A letter or underscore, then any number of `more`.
fn is_name(name: &str, more: impl Fn(u8) -> bool) -> bool {
    match name.as_bytes() {
        [first, rest @ ..] => {
            (first.is_ascii_alphabetic() || *first == b'_') && rest.iter().all(|byte| more(*byte))
        }
        [] => false,
    }
}

/// Go's `strings.ToLower`: each character by itself.
pub(super) fn to_lower(text: &str) -> String {
    text.chars()
        .map(|c| c.to_lowercase().next().unwrap_or(c))
        .collect()
}
