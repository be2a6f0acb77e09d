//! The names that `YuniKorn` accepts. Its regular expressions are all ASCII and anchored at both ends
//! (yunikorn-core `configvalidator.go:81-98`).

use crate::acl::is_name;

/// `UserRegExp`: `^[_a-zA-Z][a-zA-Z0-9:#/_.@-]*[$]?$`. Allows more than the names in an ACL.
pub fn is_user(name: &str) -> bool {
    let name = name.strip_suffix('$').unwrap_or(name);
    is_name(name, |byte| byte.is_ascii_alphanumeric() || b":#/_.@-".contains(&byte))
}

/// `GroupRegExp`: `^[_a-zA-Z][a-zA-Z0-9:_.-]*$`. Allows more than the names in an ACL.
pub fn is_group(name: &str) -> bool {
    is_name(name, |byte| byte.is_ascii_alphanumeric() || b":_.-".contains(&byte))
}

/// `RuleNameRegExp`: `^[_a-zA-Z][a-zA-Z0-9_]*$`.
pub(super) fn is_rule(name: &str) -> bool {
    is_name(name, |byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `SpecialRegExp`: `[\^$*+?()\[{}|]`, the characters that make the only name of a filter a regular
/// expression.
pub fn is_expression(name: &str) -> bool {
    name.contains(['^', '$', '*', '+', '?', '(', ')', '[', '{', '}', '|'])
}

/// Go's `strings.ToLower`, which converts each character separately.
pub fn to_lower(text: &str) -> String {
    text.chars().map(|c| c.to_lowercase().next().unwrap_or(c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the regular expressions themselves, in which `$` means the same here and in Go.
    #[test]
    fn names_match_like_the_expressions() {
        let expression = |text| regex::Regex::new(text).unwrap();
        let user = expression(r"^[_a-zA-Z][a-zA-Z0-9:#/_.@-]*[$]?$");
        let group = expression(r"^[_a-zA-Z][a-zA-Z0-9:_.-]*$");
        let rule = expression(r"^[_a-zA-Z][a-zA-Z0-9_]*$");
        let special = expression(r"[\^$*+?()\[{}|]");
        let ends = ["", "a", "Z", "_", "9", "-", "$", "$$", "a$", "a$a", "*", "é", " ", "\n", "a\n"];
        for (first, middle, last) in ends.iter().flat_map(|a| {
            ends.iter().flat_map(move |b| (0..=127_u8).map(move |last| (a, b, char::from(last))))
        }) {
            let name = format!("{first}{middle}{last}");
            assert_eq!(is_user(&name), user.is_match(&name), "{name:?}");
            assert_eq!(is_group(&name), group.is_match(&name), "{name:?}");
            assert_eq!(is_rule(&name), rule.is_match(&name), "{name:?}");
            assert_eq!(is_expression(&name), special.is_match(&name), "{name:?}");
        }
    }
}
