//! The codes of all diagnostics.

use crate::source;
use std::sync::LazyLock;

use super::{files, input, validate};
use crate::output::codes::reason;
use crate::output::format::suggestion;
use go_compat::diag::{Code, quoted};

go_compat::codes! {
    /// A comment `queuewarden:ignore` without a code, or without a reason after it, which ignores nothing.
    pub const BAD_SUPPRESSION: Code = Code::new(6301, "bad-suppression");
    /// A comment `queuewarden:ignore` for a warning that does not occur, or for an error.
    ///
    /// Errors cannot be ignored: YuniKorn or queuewarden refuses them.
    pub const UNUSED_SUPPRESSION: Code = Code::new(6302, "unused-suppression");
}

/// Returns every code, in the order of the numbers.
pub fn all() -> Vec<Code> {
    let lists: &[&[Code]] = &[
        yunikorn::acl::codes::CODES,
        go_compat::yaml::CODES,
        yunikorn::config::CODES,
        go_compat::go_regex::CODES,
        yunikorn::admission::CODES,
        yunikorn::queue::CODES,
        yunikorn::identity::CODES,
        yunikorn::application::CODES,
        yunikorn_access::alias::CODES,
        yunikorn_access::lint::CODES,
        #[cfg(feature = "import")]
        queuewarden_import::CODES,
        queuewarden_api::convert::CODES,
        queuewarden_api::review::CODES,
        queuewarden_api::config_map::CODES,
        queuewarden_plan::CODES,
        input::CODES,
        files::CODES,
        CODES,
        source::schema::CODES,
        validate::objects::CODES,
    ];
    let mut codes = lists.concat();
    codes.sort();
    codes
}

/// All codes, in their order.
static SORTED: LazyLock<Vec<Code>> = LazyLock::new(all);

/// Parses a code by its number or its title, for clap.
pub(crate) fn code(text: &str) -> Result<Code, String> {
    let digits = text.strip_prefix("QW").or_else(|| text.strip_prefix("qw")).unwrap_or(text);
    let wanted = digits.parse().ok().filter(|_| digits.len() == 4);
    let named = |code: &&Code| Some(code.number) == wanted || code.title.eq_ignore_ascii_case(text);
    SORTED.iter().find(named).copied().ok_or_else(|| {
        if let Some(reason) = reason(text) {
            return format!(
                "{reason} is the reason of a condition: `queuewarden codes {reason}` explains it"
            );
        }
        let hint = suggestion(SORTED.iter().map(|code| code.title), text);
        format!("there is no code {}{hint}", quoted(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_titles_are_used_once() {
        let codes = all();
        for pair in codes.windows(2) {
            assert_ne!(pair[0].number, pair[1].number, "{} and {}", pair[0].title, pair[1].title);
        }
        let titles: std::collections::BTreeSet<_> = codes.iter().map(|code| code.title).collect();
        assert_eq!(titles.len(), codes.len());
    }

    #[test]
    fn codes_have_several_names() {
        for text in ["QW1003", "qw1003", "1003", "too-many-lists", "Too-Many-Lists"] {
            assert_eq!(code(text).map(|code| code.number), Ok(1003), "{text}");
        }
        assert!(code("to-many-lists").unwrap_err().ends_with("did you mean `too-many-lists`?"));
        let reason = code("forbidden").unwrap_err();
        assert!(reason.contains("`queuewarden codes Forbidden` explains it"), "{reason}");
        for text in ["", "QW", "QW9999", "QW01003", "+1003"] {
            assert!(code(text).is_err(), "{text}");
        }
    }
}
