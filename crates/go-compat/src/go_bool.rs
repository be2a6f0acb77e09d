//! Go's conversion of text to booleans.

/// Converts a text as Go's `strconv.ParseBool` does. Returns `None` for an error in Go, which includes `yes`,
/// `on`, the empty text and any text with spaces.
pub fn go_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_gos_words_are_booleans() {
        for text in ["1", "t", "T", "true", "TRUE", "True"] {
            assert_eq!(go_bool(text), Some(true), "{text}");
        }
        for text in ["0", "f", "F", "false", "FALSE", "False"] {
            assert_eq!(go_bool(text), Some(false), "{text}");
        }
        for text in ["", "yes", "no", "on", "off", "y", "n", "tRUE", " true", "true\n", "2", "-1"] {
            assert_eq!(go_bool(text), None, "{text:?}");
        }
    }
}
