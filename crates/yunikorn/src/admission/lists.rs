//! Lists of regular expressions as the admission controller reads them (`am_conf.go:364-411`): separated by
//! commas that cannot be escaped, white space around elements cut off, empty ones left out, and **all** of
//! them discarded for the default when one does not compile. They match anywhere in a name.

use super::codes::{COUNT_CUT, LIST_DISCARDED, LIST_UNDECIDED};
use super::keys::default_text;
use super::request::Texts;
use super::{MAX_EXPRESSIONS, pitfalls};
use go_compat::diag::{Code, Diagnostic, Span, quoted};
use go_compat::go_regex::{GoRegex, is_undecided};

/// A list as the admission controller reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternList {
    /// These expressions, in order.
    Known(Vec<GoRegex>),
    /// A text was given whose effect is not known here: the admission controller uses its expressions, or the
    /// default.
    Unknown,
}

impl PatternList {
    /// Reads the text of a list, `None` where its key is absent, and reports what is odd about it. Spans are
    /// in the text; the message names the key.
    pub fn read(key: &str, text: Option<&str>) -> (Self, Vec<Diagnostic>) {
        let Some(text) = text else { return (Self::default_of(key), Vec::new()) };
        let elements: Vec<_> = elements(text).take(MAX_EXPRESSIONS + 1).collect();
        if let Some(first_unchecked) = elements.get(MAX_EXPRESSIONS) {
            return (Self::Unknown, vec![too_many(key, Span::new(first_unchecked.at, text.len()))]);
        }
        let cut = cut_counts(key, &elements);
        let mut patterns = Vec::new();
        let (mut discarded, mut undecided) = (Vec::new(), Vec::new());
        for Element { at, text } in &elements {
            match GoRegex::new(text) {
                Ok(regex) => patterns.push((*at, regex)),
                Err(refusal) if is_undecided(&refusal) => {
                    undecided.push(not_in_force(key, LIST_UNDECIDED, UNDECIDED, refusal, *at));
                }
                Err(refusal) => {
                    discarded.push(not_in_force(key, LIST_DISCARDED, &discarded_text(key), refusal, *at));
                }
            }
        }
        if !discarded.is_empty() {
            return (Self::default_of(key), [discarded, cut].concat());
        }
        if !undecided.is_empty() {
            return (Self::Unknown, [undecided, cut].concat());
        }
        let pitfalls =
            patterns.iter().filter_map(|(at, regex)| Some(placed(key, pitfalls::check(regex)?, *at)));
        let found = cut.into_iter().chain(pitfalls).collect();
        (Self::Known(patterns.into_iter().map(|(_, regex)| regex).collect()), found)
    }

    /// Reads the list of a key, and adds what is odd about it.
    pub(super) fn of_key(keys: &Texts, key: &str, found: &mut Vec<Diagnostic>) -> Self {
        let (list, findings) = Self::read(key, keys.get(key).map(String::as_str));
        found.extend(findings);
        list
    }

    /// The list where its key is absent.
    fn default_of(key: &str) -> Self {
        let compiled: Result<Vec<_>, _> =
            elements(default_text(key)).map(|element| GoRegex::new(element.text)).collect();
        compiled.map_or(Self::Unknown, Self::Known)
    }

    /// The first expression that matches somewhere in `name`; none when the list is not known.
    pub fn matching(&self, name: &str) -> Option<&GoRegex> {
        self.patterns().iter().find(|pattern| pattern.is_match(name))
    }

    /// The expressions in order; none when the list is not known.
    pub fn patterns(&self) -> &[GoRegex] {
        match self {
            Self::Known(patterns) => patterns,
            Self::Unknown => &[],
        }
    }

    /// Returns the spans of the elements in the text of a list, in the order of its expressions.
    pub fn spans(text: &str) -> impl Iterator<Item = Span> {
        elements(text).map(|element| Span::new(element.at, element.at + element.text.len()))
    }

    /// Returns whether the list that the admission controller uses is known.
    pub fn is_known(&self) -> bool {
        matches!(self, Self::Known(_))
    }
}

/// An element of a list without the white space around it, and its offset in the list's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Element<'t> {
    at: usize,
    text: &'t str,
}

/// The elements of a list's text that are not empty.
fn elements(text: &str) -> impl Iterator<Item = Element<'_>> {
    let mut at = 0;
    text.split(',').filter_map(move |part| {
        let text = part.trim();
        let start = at + (part.len() - part.trim_start().len());
        at += part.len() + 1;
        (!text.is_empty()).then_some(Element { at: start, text })
    })
}

const UNDECIDED: &str = "so it is not known which list is in force";

fn discarded_text(key: &str) -> String {
    let default = match default_text(key) {
        "" => "an empty list".to_owned(),
        text => format!("the default {}", quoted(text)),
    };
    format!("so the whole list is discarded and {default} is in force")
}

/// A refused expression as a finding about the list.
fn not_in_force(key: &str, code: Code, effect: &str, refusal: Diagnostic, at: usize) -> Diagnostic {
    let message = format!("{}, {effect}", refusal.message);
    placed(key, Diagnostic { code, message, ..refusal }, at)
}

fn too_many(key: &str, span: Span) -> Diagnostic {
    let message = format!("there are more than {MAX_EXPRESSIONS} expressions, {UNDECIDED}");
    let finding = Diagnostic::error(LIST_UNDECIDED, message).help("join them, as in `^(a|b)$`").at(span);
    placed(key, finding, 0)
}

/// A finding about the element at `at` as one about the list.
fn placed(key: &str, finding: Diagnostic, at: usize) -> Diagnostic {
    let span = finding.span.map(|span| span.shifted(at));
    finding.of_field(key).at(span)
}

/// Counts like `{1,3}` that the comma in them has cut in two. What is left is literal text to Go.
fn cut_counts(key: &str, elements: &[Element<'_>]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for [left, right] in elements.array_windows() {
        let (Some(before), Some(behind)) = (open_count(left.text), closed_count(right.text)) else {
            continue;
        };
        let message = format!(
            "the comma cuts {} in two: {} and {}, which match these characters literally",
            quoted(&format!("{before},{behind}")),
            quoted(left.text),
            quoted(right.text),
        );
        let span = Span::new(left.at + left.text.len() - before.len(), right.at + behind.len());
        let help = "write the count without a comma: `a{1}(?:a?){2}` for `a{1,3}`, `a{2}a*` for `a{2,}`";
        found.push(placed(key, Diagnostic::warning(COUNT_CUT, message).at(span).help(help), 0));
    }
    found
}

/// A count that is open at the end of the text: `{1`.
fn open_count(text: &str) -> Option<&str> {
    let (_, digits) = text.rsplit_once('{')?;
    let is_count = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_count.then(|| text.get(text.len() - digits.len() - 1..)).flatten()
}

/// A count that is closed at the start of the text: `3}` or `}`.
fn closed_count(text: &str) -> Option<&str> {
    let (digits, _) = text.split_once('}')?;
    let is_count = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_count.then(|| text.get(..=digits.len())).flatten()
}

#[cfg(test)]
mod tests {
    use super::super::keys::{EXTERNAL_USERS, SYSTEM_USERS};
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> (Vec<String>, Vec<Diagnostic>) {
        let (list, found) = PatternList::read(SYSTEM_USERS, Some(text));
        (list.patterns().iter().map(|pattern| pattern.as_str().to_owned()).collect(), found)
    }

    fn place<'t>(text: &'t str, finding: &Diagnostic) -> &'t str {
        let span = finding.span.unwrap();
        text.get(span.start..span.end).unwrap()
    }

    #[test]
    fn commas_separate_and_spaces_and_empty_elements_go() {
        let rows: [(&str, &[&str]); 8] = [
            ("", &[]),
            (" , ,,", &[]),
            ("^a$", &["^a$"]),
            (" ^a$ ,^b$,", &["^a$", "^b$"]),
            ("^a b$,\t^c$\n", &["^a b$", "^c$"]),
            ("\u{a0}^a$\u{3000},\u{85}^b$\u{2028}", &["^a$", "^b$"]),
            ("\u{200b}^a$", &["\u{200b}^a$"]),
            ("^a{1,3}$", &["^a{1", "3}$"]),
        ];
        for (text, expected) in rows {
            assert_eq!(read(text).0, expected, "{text:?}");
        }
    }

    #[test]
    fn an_absent_key_is_the_default_and_an_empty_one_an_empty_list() {
        let default = PatternList::read(SYSTEM_USERS, None).0;
        assert_eq!(
            default.patterns().first().map(GoRegex::as_str),
            Some("^system:serviceaccount:kube-system:")
        );
        assert_eq!(PatternList::read(SYSTEM_USERS, Some("")).0, PatternList::Known(vec![]));
        assert_eq!(PatternList::read(EXTERNAL_USERS, None).0, PatternList::Known(vec![]));
    }

    #[test]
    fn one_bad_expression_discards_the_list_and_every_bad_one_is_reported() {
        let text = "^a$, (b , c**";
        let (list, found) = read(text);
        assert_eq!(list, ["^system:serviceaccount:kube-system:"]);
        assert_eq!(
            found.iter().map(|finding| (finding.code, place(text, finding))).collect::<Vec<_>>(),
            [(LIST_DISCARDED, "("), (LIST_DISCARDED, "**")]
        );
        assert_eq!(
            found[0].message,
            "admissionController.accessControl.systemUsers: `(` is not closed with `)`, so the whole list is \
             discarded and the default `^system:serviceaccount:kube-system:` is in force"
        );
    }

    #[test]
    fn what_is_not_decided_makes_the_list_unknown_unless_go_discards_it() {
        let deep = format!("{}a{}", "(".repeat(40), ")".repeat(40));
        let many = vec!["^a$"; MAX_EXPRESSIONS + 1].join(",");
        for text in [deep.clone(), format!("^a$,{deep}"), many] {
            let (list, found) = PatternList::read(EXTERNAL_USERS, Some(&text));
            assert!(!list.is_known() && list.matching("a").is_none(), "{text}");
            assert!(
                found.iter().all(|finding| finding.code == LIST_UNDECIDED && finding.is_error()),
                "{found:?}"
            );
            assert_eq!(found.len(), 1, "{text}");
        }
        let (list, found) = PatternList::read(EXTERNAL_USERS, Some(&format!("{deep},[")));
        assert_eq!(list, PatternList::Known(vec![]));
        assert_eq!(found.iter().map(|finding| finding.code).collect::<Vec<_>>(), [LIST_DISCARDED]);
        assert!(
            PatternList::read(EXTERNAL_USERS, Some(&vec!["^a$"; MAX_EXPRESSIONS].join(","))).0.is_known()
        );
    }

    #[test]
    fn a_count_that_a_comma_cuts_is_reported() {
        for (text, expected) in [
            ("^a{1,3}$", Some("{1,3}")),
            ("x, ^a{1, 3}$", Some("{1, 3}")),
            ("^a{2,}b$", Some("{2,}")),
            ("^a{1},^b$", None),
            ("^a{,3}$", None),
            ("^a{1,b}$", None),
            ("^a,3}$", None),
        ] {
            let (_, found) = read(text);
            let cut: Vec<_> = found.iter().filter(|finding| finding.code == COUNT_CUT).collect();
            assert_eq!(cut.first().map(|finding| place(text, finding)), expected, "{text}");
        }
    }

    #[test]
    fn pitfalls_are_reported_at_their_place() {
        let text = "^a$, admin";
        let (_, found) = read(text);
        assert_eq!(found.iter().map(|finding| place(text, finding)).collect::<Vec<_>>(), ["admin"]);
    }

    proptest! {
        #[test]
        fn reading_is_total_and_places_are_in_the_text(text in r"[a-c,{}()\[\]\\^$*é0-9 ]{0,20}|\PC{0,20}") {
            let (_, found) = PatternList::read(EXTERNAL_USERS, Some(&text));
            for finding in found {
                let span = finding.span.unwrap();
                prop_assert!(text.get(span.start..span.end).is_some());
            }
        }
    }
}
