//! JSON as Go's `encoding/json` reads and writes it.
//!
//! `YuniKorn` takes users from JSON in annotations, and shows Go's messages to whoever is refused. Other readers differ: in the messages, in
//! lone surrogates, in keys without case, in what a repeated key leaves behind. Here are the parts that all values have in common; who
//! decodes into a struct walks the [`Token`]s.
//!
//! * `scan`: whether a text is JSON, and Go's message if not.
//! * `token`: what a valid text consists of.
//! * `write`: strings as `json.Marshal` writes them.

mod scan;
mod token;
mod write;

pub use token::{Token, Tokens};
pub use write::push_string;

/// The deepest nesting that Go reads (`scanner.go`, `maxNestingDepth`).
pub const MAX_DEPTH: usize = 10_000;

/// Go's message for a text it does not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(pub String);

/// Whether Go takes a key of JSON for the struct field of this name (`fold.go`): without case, as Unicode folds it. `field` is ASCII.
pub fn is_field(key: &str, field: &str) -> bool {
    let mut wanted = field.chars();
    let fits =
        key.chars().all(|c| wanted.next().is_some_and(|wanted| folded(c).eq_ignore_ascii_case(&wanted)));
    fits && wanted.next().is_none()
}

/// The two letters outside ASCII that fold to one inside it.
fn folded(c: char) -> char {
    match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_compared_without_case() {
        for key in ["user", "User", "USER", "u\u{17f}er", "U\u{17f}eR"] {
            assert!(is_field(key, "user"), "{key}");
        }
        for key in ["", "use", "users", "user ", "u\u{df}er", "\u{fc}ser"] {
            assert!(!is_field(key, "user"), "{key}");
        }
        assert!(is_field("\u{212a}ind", "kind"));
    }
}
