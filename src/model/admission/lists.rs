//! Lists of regular expressions in one text: separated by commas that cannot be escaped, blanks around elements cut off, empty ones
//! left out, and **all** of them discarded when one does not compile (`am_conf.go:364-411`). Matched anywhere in a name.

use super::{COMMA, EMPTY, LIST_DISCARDED, MATCHES_ALL, OUTER_BLANK, UNANCHORED};
use crate::text::diag::{Diagnostic, Span, quoted};
use crate::text::go_regex::GoRegex;

/// A list as the admission controller holds it.
#[derive(Debug, Clone, Default)]
pub struct PatternList(Vec<GoRegex>);

impl PatternList {
    /// Reads a key's text.
    ///
    /// # Errors
    /// The first expression that does not compile, or whose meaning in Go is not known here, with its place in `text`.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        let mut at = 0;
        let mut patterns = Vec::new();
        for element in text.split(',') {
            let trimmed = element.trim();
            let start = at + element.len() - element.trim_start().len();
            if !trimmed.is_empty() {
                patterns.push(GoRegex::new(trimmed).map_err(|error| discarded(error, start))?);
            }
            at += element.len() + 1;
        }
        Ok(Self(patterns))
    }

    /// The first expression that matches somewhere in `name`.
    pub fn matching(&self, name: &str) -> Option<&GoRegex> {
        self.0.iter().find(|pattern| pattern.is_match(name))
    }

    /// The expressions in order.
    pub fn patterns(&self) -> &[GoRegex] {
        &self.0
    }
}

fn discarded(error: Diagnostic, start: usize) -> Diagnostic {
    let message = format!("{}; the whole list is discarded for its default", error.message);
    Diagnostic {
        code: LIST_DISCARDED,
        message,
        span: error.span.map(|span| span.shifted(start)),
        ..error
    }
}

/// The text for a list of expressions, and what there is to say about each: `None` when there is an error among it. Spans are within
/// the element. What is returned reads back as exactly the same list.
pub fn render_list(elements: &[String]) -> (Option<String>, Vec<Diagnostic>) {
    let found: Vec<_> = elements.iter().flat_map(|element| judge(element)).collect();
    let text = (!found.iter().any(Diagnostic::is_error)).then(|| elements.join(","));
    (text, found)
}

/// What is wrong or odd with one element.
fn judge(element: &str) -> Vec<Diagnostic> {
    if element.trim().is_empty() {
        let message = format!("the expression {} is empty, and would be left out", quoted(element));
        return vec![Diagnostic::error(EMPTY, message).help("remove it; an empty list is `[]`")];
    }
    let mut found = Vec::new();
    if element.trim() != element {
        let message = format!("the blanks around the expression {} would be cut off", quoted(element));
        found.push(Diagnostic::error(OUTER_BLANK, message).help("remove them; a blank that is meant is `[ ]`"));
    }
    if let Some(at) = element.find(',') {
        let message = format!("the expression {} contains a comma, which would split it in two", quoted(element));
        found.push(Diagnostic::error(COMMA, message).at(Span::new(at, at + 1)).help(comma_help(element)));
        return found;
    }
    match GoRegex::new(element) {
        Err(error) => found.push(error),
        Ok(regex) => found.extend(too_wide(element, &regex)),
    }
    found
}

fn comma_help(element: &str) -> &'static str {
    if element.contains('{') {
        "write a count as alternatives, `(a|aa|aaa)` for `a{1,3}`; a comma itself is `\\x2c`"
    } else {
        "write two elements; a comma that is meant is `\\x2c`"
    }
}

/// Expressions that match more than they seem to.
fn too_wide(element: &str, regex: &GoRegex) -> Option<Diagnostic> {
    if regex.is_match("") {
        let message = format!("the expression {} matches every name", quoted(element));
        return Some(Diagnostic::warning(MATCHES_ALL, message).help("name those that are meant, from `^` to `$`"));
    }
    let plain = element.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'@' | b':'));
    plain.then(|| {
        let message = format!("the expression {} matches anywhere in a name, `not-{element}-either` too", quoted(element));
        Diagnostic::warning(UNANCHORED, message).help(format!("write `^{element}$`"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn render(elements: &[&str]) -> (Option<String>, Vec<u16>) {
        let elements: Vec<_> = elements.iter().map(ToString::to_string).collect();
        let (text, found) = render_list(&elements);
        (text, found.iter().map(|diagnostic| diagnostic.code.number).collect())
    }

    #[test]
    fn elements_that_would_not_come_back_are_refused() {
        assert_eq!(render(&[]), (Some(String::new()), vec![]));
        assert_eq!(render(&["^a$", "^b$"]), (Some("^a$,^b$".into()), vec![]));
        assert_eq!(render(&["^a{1,3}$"]), (None, vec![4103]));
        assert_eq!(render(&["a,b"]), (None, vec![4103]));
        assert_eq!(render(&[""]), (None, vec![4105]));
        assert_eq!(render(&["  "]), (None, vec![4105]));
        assert_eq!(render(&[" ^a$"]), (None, vec![4104]));
        assert_eq!(render(&["("]), (None, vec![4008]));
        assert_eq!(render(&["a**"]), (None, vec![4005]));
    }

    #[test]
    fn wide_expressions_are_told() {
        assert_eq!(render(&["admin"]), (Some("admin".into()), vec![4106]));
        assert_eq!(render(&[".*"]), (Some(".*".into()), vec![4107]));
        assert_eq!(render(&["^admin"]), (Some("^admin".into()), vec![]));
    }

    #[test]
    fn one_bad_expression_discards_the_list() {
        let error = PatternList::parse("^a$, (b").unwrap_err();
        assert_eq!((error.code, error.span), (LIST_DISCARDED, Some(Span::new(5, 6))));
        assert!(error.message.contains("missing closing )"), "{}", error.message);
    }

    #[test]
    fn a_comma_in_a_count_splits_it_in_two_literals() {
        let list = PatternList::parse("^a{1,3}$").unwrap();
        assert!(list.matching("a{1").is_some() && list.matching("aa").is_none());
    }

    proptest! {
        #[test]
        fn what_is_rendered_reads_back_the_same(elements in prop::collection::vec("[ab^$.,(*{} ]{0,5}", 0..4)) {
            if let (Some(text), _) = render_list(&elements) {
                let list = PatternList::parse(&text).unwrap();
                let back: Vec<_> = list.patterns().iter().map(|pattern| pattern.as_str().to_string()).collect();
                prop_assert_eq!(back, elements);
            }
        }

        #[test]
        fn reading_never_panics(text in any::<String>()) {
            let _ = PatternList::parse(&text);
        }
    }
}
