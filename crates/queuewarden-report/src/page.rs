//! Builds the page: a single file that makes no network requests.
//!
//! `page/` holds the parts; `index.html` has a placeholder for each. The data is JSON in a script element
//! that browsers do not run. Nothing in the data can end that element, because `<`, `>` and `&` are escaped
//! as JSON allows. A policy lists the hashes of the page's script and style, so a browser runs nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use go_compat::go_json::{escaped_json, is_of_html};
use sha2::{Digest as _, Sha256};

const INDEX: &str = include_str!("page/index.html");
const STYLE: &str = include_str!("page/style.css");
/// The scripts, in dependency order.
const SCRIPTS: &[&str] = &[
    include_str!("page/dom.js"),
    include_str!("page/model.js"),
    include_str!("page/tree.js"),
    include_str!("page/grid.js"),
    include_str!("page/queues.js"),
    include_str!("page/panel.js"),
    include_str!("page/lists.js"),
    include_str!("page/app.js"),
];

/// The placeholders of the page's parts. The data comes last, because it may contain anything.
const PLACEHOLDERS: [&str; 4] = ["{{policy}}", "{{style}}", "{{report}}", "{{script}}"];

/// Returns the page with a report in JSON.
pub fn page(report: &str) -> String {
    let script = SCRIPTS.concat();
    // Because the report is escaped, it cannot end the script element or begin a comment there
    // (<https://html.spec.whatwg.org/multipage/scripting.html#restrictions-for-contents-of-script-elements>).
    let parts = [&policy(), STYLE, &escaped_json(report, is_of_html), &script];
    let mut page = String::with_capacity(INDEX.len() + parts.iter().map(|part| part.len()).sum::<usize>());
    let mut rest = INDEX;
    for (place, part) in PLACEHOLDERS.iter().zip(parts) {
        // The placeholders appear in this order in the page; a test checks it.
        let (before, behind) = rest.split_once(place).unwrap_or((rest, ""));
        page.push_str(before);
        page.push_str(part);
        rest = behind;
    }
    page.push_str(rest);
    page
}

/// Returns the page's `Content-Security-Policy`, which allows only its own script and style.
fn policy() -> String {
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; \
         form-action 'none'",
        hash(&SCRIPTS.concat()),
        hash(STYLE)
    )
}

/// Returns the hash of an element's text in the form used in policies.
fn hash(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_part_has_its_place_once_and_in_order() {
        let at: Vec<_> = PLACEHOLDERS
            .iter()
            .map(|place| INDEX.match_indices(place).map(|(at, _)| at).collect::<Vec<_>>())
            .collect();
        assert!(at.iter().all(|at| at.len() == 1) && at.is_sorted(), "{at:?}");
    }

    #[test]
    fn our_own_parts_stay_in_their_elements() {
        let script = SCRIPTS.concat().to_lowercase();
        assert!(!script.contains("</script") && !script.contains("<!--"));
        assert!(!STYLE.to_lowercase().contains("</style"));
        // They make no network request.
        let page = page("{}");
        for outside in ["src=\"http", "href=\"http", "url(http", "@import", "src=\"//"] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn the_policy_names_what_is_in_the_page() {
        let page = page("{}");
        let between = |from: &str, to: &str| {
            let (_, behind) = page.split_once(from).unwrap();
            behind.split_once(to).unwrap().0.to_owned()
        };
        let policy = policy();
        assert!(policy.contains(&hash(&between("<style>", "</style>"))));
        assert!(policy.contains(&hash(&between("<script type=\"module\">", "</script>"))));
        assert_eq!(between("http-equiv=\"Content-Security-Policy\" content=\"", "\""), policy);
    }

    proptest! {
        #[test]
        fn no_data_ends_its_element_and_all_of_it_is_read_back(text in "(</script|<!--|<script|\\]\\]>|&amp;|[\"'<>&\\\\\u{2028}\u{202e}a-z {}%$]){0,12}") {
            let json = serde_json::json!({ "name": text, "report": "{{script}}" }).to_string();
            let page = page(&json);
            let (_, behind) = page.split_once("id=\"report\">").unwrap();
            let (data, _) = behind.split_once("</script>").unwrap();
            prop_assert!(!data.contains(['<', '>', '&']));
            let read: serde_json::Value = serde_json::from_str(data).unwrap();
            prop_assert_eq!(read, serde_json::from_str::<serde_json::Value>(&json).unwrap());
        }
    }
}
