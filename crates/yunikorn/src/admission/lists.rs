//! Lists of regular expressions, parsed like the admission controller does (`am_conf.go:364-411`). Commas
//! separate the elements and cannot be escaped. White space around elements is removed, and empty elements
//! are ignored. If one element does not compile, the default replaces **all** of them. Expressions match
//! anywhere in a name.

use super::codes::{COMMA, COUNT_CUT, EMPTY, LIST_DISCARDED, LIST_UNDECIDED, OUTER_SPACE, TOO_MANY};
use super::keys::default_text;
use super::request::Texts;
use super::{MAX_EXPRESSIONS, pitfalls};
use go_compat::diag::{Code, Diagnostic, Replacement, Span, quoted};
use go_compat::go_regex::{GoRegex, is_undecided};

/// A list as the admission controller reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternList {
    /// The expressions, in order.
    Known(Vec<GoRegex>),
    /// The effect of the text is unknown: the admission controller uses either its expressions or the
    /// default.
    Unknown,
}

impl PatternList {
    /// Parses the text of a list (`None` if the key is missing) and reports findings. Spans are in the text;
    /// the message names the key.
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

    /// Parses the list of a key, and appends the findings.
    pub(super) fn of_key(keys: &Texts, key: &str, found: &mut Vec<Diagnostic>) -> Self {
        let (list, findings) = Self::read(key, keys.get(key).map(String::as_str));
        found.extend(findings);
        list
    }

    /// Returns the list that is in force if the key is missing.
    fn default_of(key: &str) -> Self {
        let compiled: Result<Vec<_>, _> =
            elements(default_text(key)).map(|element| GoRegex::new(element.text)).collect();
        compiled.map_or(Self::Unknown, Self::Known)
    }

    /// Returns the first expression that matches somewhere in `name`. An unknown list matches nothing.
    pub fn matching(&self, name: &str) -> Option<&GoRegex> {
        self.patterns().iter().find(|pattern| pattern.is_match(name))
    }

    /// Returns the expressions in order. An unknown list has none.
    pub fn patterns(&self) -> &[GoRegex] {
        match self {
            Self::Known(patterns) => patterns,
            Self::Unknown => &[],
        }
    }

    /// Returns the spans of a list's elements, in the order of its expressions.
    pub fn spans(text: &str) -> impl Iterator<Item = Span> {
        elements(text).map(|element| Span::new(element.at, element.at + element.text.len()))
    }

    /// Returns whether the effective list is known.
    pub fn is_known(&self) -> bool {
        matches!(self, Self::Known(_))
    }
}

/// A trimmed list element and its offset in the text of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Element<'t> {
    at: usize,
    text: &'t str,
}

/// Splits the text of a list into its elements, without the empty ones.
fn elements(text: &str) -> impl Iterator<Item = Element<'_>> {
    let mut at = 0;
    text.split(',').filter_map(move |part| {
        let text = part.trim();
        let start = at + (part.len() - part.trim_start().len());
        at += part.len() + 1;
        (!text.is_empty()).then_some(Element { at: start, text })
    })
}

const UNDECIDED: &str = "so it is unknown which list is in force";

fn discarded_text(key: &str) -> String {
    let default = match default_text(key) {
        "" => "an empty list".to_owned(),
        text => format!("the default {}", quoted(text)),
    };
    format!("so the whole list is ignored and {default} is in force")
}

/// Converts the refusal of an expression into a finding about the list.
fn not_in_force(key: &str, code: Code, effect: &str, refusal: Diagnostic, at: usize) -> Diagnostic {
    let message = format!("{}, {effect}", refusal.message);
    placed(key, Diagnostic { code, message, ..refusal }, at)
}

fn too_many(key: &str, span: Span) -> Diagnostic {
    let message = format!("there are more than {MAX_EXPRESSIONS} expressions, {UNDECIDED}");
    let finding = Diagnostic::error(LIST_UNDECIDED, message).help("join them, as in `^(a|b)$`").at(span);
    placed(key, finding, 0)
}

/// Converts a finding about the element at `at` into a finding about the list.
fn placed(key: &str, finding: Diagnostic, at: usize) -> Diagnostic {
    let span = finding.span.map(|span| span.shifted(at));
    finding.of_field(key).at(span)
}

/// Reports repetition counts such as `{1,3}` that are split at their comma. Go matches the pieces literally.
fn cut_counts(key: &str, elements: &[Element<'_>]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for [left, right] in elements.array_windows() {
        let (Some(before), Some(behind)) = (open_count(left.text), closed_count(right.text)) else {
            continue;
        };
        let message = format!(
            "the comma splits {} into {} and {}, which match literally",
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

/// Returns the unclosed count at the end of the text: `{1`.
fn open_count(text: &str) -> Option<&str> {
    let (_, digits) = text.rsplit_once('{')?;
    let is_count = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_count.then(|| text.get(text.len() - digits.len() - 1..)).flatten()
}

/// Returns the rest of a count at the start of the text: `3}` or `}`.
fn closed_count(text: &str) -> Option<&str> {
    let (digits, _) = text.split_once('}')?;
    let is_count = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_count.then(|| text.get(..=digits.len())).flatten()
}

// Lists of regular expressions, rendered so that the admission controller reads them as intended.

/// Renders the text of a list of expressions, with the findings about each. Returns `None` for the text if a
/// finding is an error. Spans are within the element that the message quotes. Parsing the text gives exactly
/// the same list.
pub fn render_list(elements: &[String]) -> (Option<String>, Vec<Diagnostic>) {
    if elements.len() > MAX_EXPRESSIONS {
        let message =
            format!("the list has {} expressions; the maximum is {MAX_EXPRESSIONS}", elements.len());
        return (None, vec![Diagnostic::error(TOO_MANY, message).help("join them, as in `^(a|b)$`")]);
    }
    let found: Vec<_> = elements.iter().flat_map(|element| check(element)).collect();
    let text = (!found.iter().any(Diagnostic::is_error)).then(|| elements.join(","));
    (text, found)
}

/// Reports errors and likely mistakes in one element.
fn check(element: &str) -> Vec<Diagnostic> {
    let whole = Span::new(0, element.len());
    let trimmed = element.trim();
    if trimmed.is_empty() {
        let message = format!("the expression {} is empty and would be ignored", quoted(element));
        return vec![Diagnostic::error(EMPTY, message).at(whole).help("remove it; an empty list is `[]`")];
    }
    let mut found = Vec::new();
    if trimmed != element {
        let message = format!("the spaces around the expression {} would be removed", quoted(element));
        let help = "remove them, or write a literal space as `[ ]`";
        let at = trailing_space(element);
        let replacement = element.get(at.start..at.end).map(|space| Replacement::new(space, ""));
        found.push(Diagnostic::error(OUTER_SPACE, message).at(at).help(help).replace(replacement));
    }
    if element.contains(',') {
        found.push(comma(element));
        return found;
    }
    match GoRegex::new(element) {
        Err(error) => found.push(error),
        Ok(regex) => found.extend(pitfalls::check(&regex)),
    }
    found
}

/// Returns the span of the leading white space, or else of the trailing white space.
fn trailing_space(element: &str) -> Span {
    match element.len() - element.trim_start().len() {
        0 => Span::new(element.trim_end().len(), element.len()),
        leading => Span::new(0, leading),
    }
}

fn comma(element: &str) -> Diagnostic {
    let message = format!("the expression {} contains a comma, which would split it in two", quoted(element));
    let (span, help) = if let Some(count) = count_with_comma(element) {
        (count.span, format!("write {} without a comma: `{}`", quoted(&count.written), count.instead))
    } else {
        let at = element.find(',').unwrap_or_default();
        let help = "write two elements, or write a literal comma as `\\x2C`, even inside `[…]`".to_owned();
        (Span::new(at, at + 1), help)
    };
    Diagnostic::error(COMMA, message).at(span).help(help)
}

/// A count that contains a comma, with the atom it repeats.
struct Count {
    span: Span,
    written: String,
    instead: String,
}

/// Returns the first count of an element, if the first comma is in it and the repeated atom is certain. The
/// element stays valid and keeps its meaning if `instead` replaces `written`.
fn count_with_comma(element: &str) -> Option<Count> {
    let (before, behind) = element.split_once(',')?;
    let (counted, min) = before.rsplit_once('{')?;
    let (max, rest) = behind.split_once('}')?;
    let atom = last_atom(counted)?;
    let instead = without_comma(atom, limit(min)?, max)?;
    let (start, end) = (counted.len() - atom.len(), element.len() - rest.len());
    let whole = format!("{}{instead}{rest}", element.get(..start)?);
    // A `?` makes a count lazy; after the suggestion it would mean something else.
    let offered = !rest.starts_with('?') && [element, &whole].iter().all(|text| GoRegex::new(text).is_ok());
    let written = element.get(start..end)?.to_owned();
    offered.then(|| Count { span: Span::new(counted.len(), end), written, instead })
}

/// Returns `atom{min,max}` without its comma. An empty `max` means no limit.
fn without_comma(atom: &str, min: u32, max: &str) -> Option<String> {
    if max.is_empty() {
        return Some(format!("{}{atom}*", copies(atom, min)));
    }
    Some(match limit(max)?.checked_sub(min)? {
        0 => format!("{atom}{{{min}}}"),
        optional => format!("{}{}", copies(atom, min), copies(&format!("(?:{atom}?)"), optional)),
    })
}

/// Parses a limit of a count. With a sign or a leading zero it is not a limit, and the braces are literals
/// (Go `regexp/syntax/parse.go` `parseInt`).
fn limit(text: &str) -> Option<u32> {
    let limit: u32 = text.parse().ok()?;
    (limit.to_string() == text).then_some(limit)
}

/// Returns a number of copies of an expression, written without a comma.
fn copies(expression: &str, count: u32) -> String {
    match count {
        0 => String::new(),
        1 => expression.to_owned(),
        more => format!("{expression}{{{more}}}"),
    }
}

/// Returns the atom that a count after `text` would repeat: the last group, class, escape or character.
/// Returns `None` if this is hard to determine.
fn last_atom(text: &str) -> Option<&str> {
    let last = text.chars().next_back()?;
    let start = match last {
        ')' => text.rfind('(')?,
        ']' => text.rfind('[')?,
        // An open class has no end here, and a lone brace has no start.
        '}' | '[' => return None,
        _ => text.len() - last.len_utf8(),
    };
    let (before, atom) = text.split_at_checked(start)?;
    // It may be in a class or quoted.
    if before.contains('[') || before.contains("\\Q") {
        return None;
    }
    if matches!(last, ')' | ']') {
        return (!before.ends_with('\\') && is_plain(atom)).then_some(atom);
    }
    // An odd number of backslashes makes it an escape. An escape may also begin earlier, as in `\x2C`, `\101`
    // and `\pN`.
    let escapes = before.chars().rev().take_while(|c| *c == '\\').count();
    match escapes % 2 {
        // After `\Q` everything is literal.
        1 => text.get(start - 1..).filter(|_| last != 'Q'),
        _ => (!before.chars().rev().take(3).any(|c| c == '\\')).then_some(atom),
    }
}

/// Returns whether a group or class begins and ends where it seems to and can be repeated in the text. A
/// named group cannot, and flags repeat nothing.
fn is_plain(atom: &str) -> bool {
    let inside = atom.get(1..atom.len() - 1).unwrap_or_default();
    let flagged = atom.starts_with("(?") && !atom.starts_with("(?:");
    !flagged && !matches!(inside, "" | "^") && !inside.contains(['(', ')', '[', ']', '\\'])
}

#[cfg(test)]
mod tests {
    use super::super::keys::{EXTERNAL_USERS, SYSTEM_USERS};
    use super::*;
    use crate::admission::PatternList;
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
    fn list_is_split_at_commas_and_trimmed() {
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
    fn missing_key_is_the_default_and_empty_key_an_empty_list() {
        let default = PatternList::read(SYSTEM_USERS, None).0;
        assert_eq!(
            default.patterns().first().map(GoRegex::as_str),
            Some("^system:serviceaccount:kube-system:")
        );
        assert_eq!(PatternList::read(SYSTEM_USERS, Some("")).0, PatternList::Known(vec![]));
        assert_eq!(PatternList::read(EXTERNAL_USERS, None).0, PatternList::Known(vec![]));
    }

    #[test]
    fn invalid_expressions_discard_the_list_and_are_all_reported() {
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
             ignored and the default `^system:serviceaccount:kube-system:` is in force"
        );
    }

    #[test]
    fn undecided_expression_makes_the_list_unknown_unless_discarded() {
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
    fn count_split_at_its_comma_is_reported() {
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
    fn pitfalls_have_spans() {
        let text = "^a$, admin";
        let (_, found) = read(text);
        assert_eq!(found.iter().map(|finding| place(text, finding)).collect::<Vec<_>>(), ["admin"]);
    }

    proptest! {
        #[test]
        fn every_text_parses_with_spans_inside_it(text in r"[a-c,{}()\[\]\\^$*é0-9 ]{0,20}|\PC{0,20}") {
            let (_, found) = PatternList::read(EXTERNAL_USERS, Some(&text));
            for finding in found {
                let span = finding.span.unwrap();
                prop_assert!(text.get(span.start..span.end).is_some());
            }
        }
    }

    fn render(elements: &[&str]) -> (Option<String>, Vec<u16>) {
        let elements: Vec<_> = elements.iter().map(ToString::to_string).collect();
        let (text, found) = render_list(&elements);
        (text, found.iter().map(|diagnostic| diagnostic.code.number).collect())
    }

    #[test]
    fn element_that_would_change_is_refused() {
        assert_eq!(render(&[]), (Some(String::new()), vec![]));
        assert_eq!(render(&["^a$", "^b$"]), (Some("^a$,^b$".into()), vec![]));
        assert_eq!(render(&["^a b$"]), (Some("^a b$".into()), vec![]));
        assert_eq!(render(&["^a{1,3}$"]), (None, vec![4103]));
        assert_eq!(render(&["a,b"]), (None, vec![4103]));
        assert_eq!(render(&[""]), (None, vec![4105]));
        assert_eq!(render(&["  "]), (None, vec![4105]));
        assert_eq!(render(&[" ^a$"]), (None, vec![4104]));
        assert_eq!(render(&["^a$\u{a0}"]), (None, vec![4104]));
        assert_eq!(render(&[" ^a,b$"]), (None, vec![4104, 4103]));
        assert_eq!(render(&["("]), (None, vec![4008]));
        assert_eq!(render(&["^a$", "a**"]), (None, vec![4005]));
        assert_eq!(render(&[&format!("{}a{}", "(".repeat(40), ")".repeat(40))]), (None, vec![4052]));
        assert_eq!(render(&vec!["^a$"; MAX_EXPRESSIONS + 1]), (None, vec![4113]));
        let most = vec!["^a$"; MAX_EXPRESSIONS];
        assert_eq!(render(&most), (Some(most.join(",")), vec![]));
    }

    #[test]
    fn wide_expressions_are_reported() {
        assert_eq!(render(&["admin"]), (Some("admin".into()), vec![4106]));
        assert_eq!(render(&[".*"]), (Some(".*".into()), vec![4107]));
        assert_eq!(render(&["^admin"]), (Some("^admin".into()), vec![]));
    }

    #[test]
    fn surplus_text_is_reported_with_a_span() {
        for (element, places) in [
            ("  ^a$", &[(0, 2)][..]),
            ("^a$ ", &[(3, 4)]),
            ("^a$ \u{a0}", &[(3, 6)]),
            // One white-space character at a time.
            (" ^a$ ", &[(0, 1)]),
            ("ab,c", &[(2, 3)]),
            (" ^a,b$", &[(0, 1), (3, 4)]),
        ] {
            let found = check(element);
            let spans: Vec<_> = found.iter().filter_map(|finding| finding.span).collect();
            let spans: Vec<_> = spans.into_iter().map(|span| (span.start, span.end)).collect();
            assert_eq!(spans, places, "{element:?} {found:?}");
        }
    }

    #[test]
    fn count_is_rewritten_without_its_comma() {
        for (element, counted, place, instead) in [
            ("^a{1,3}$", "a", "{1,3}", "a(?:a?){2}"),
            ("^a{0,1}$", "a", "{0,1}", "(?:a?)"),
            ("^[a-z]{2,}$", "[a-z]", "{2,}", "[a-z]{2}[a-z]*"),
            (r"^\d{3,3}$", r"\d", "{3,3}", r"\d{3}"),
            ("^a{1,1}$", "a", "{1,1}", "a{1}"),
            ("^(?:a|b){0,2}$", "(?:a|b)", "{0,2}", "(?:(?:a|b)?){2}"),
            (r"^\\{1,2}$", r"\\", "{1,2}", r"\\(?:\\?)"),
            ("^(ab|c){2,4}$", "(ab|c)", "{2,4}", "(ab|c){2}(?:(ab|c)?){2}"),
            (r"^\.{1,2}$", r"\.", "{1,2}", r"\.(?:\.?)"),
            ("^é{1,}$", "é", "{1,}", "éé*"),
            ("^ab{1,10}c$", "b", "{1,10}", "b(?:b?){9}"),
        ] {
            let found = check(element);
            let [finding] = found.as_slice() else { panic!("{found:?}") };
            let span = finding.span.unwrap();
            assert_eq!(element.get(span.start..span.end), Some(place), "{element}");
            let help = finding.help.as_ref().unwrap();
            assert_eq!(*help, format!("write `{counted}{place}` without a comma: `{instead}`"), "{element}");
        }
    }

    #[test]
    fn uncertain_atom_is_not_rewritten() {
        for element in
            ["a,b", "{1,2}", "a{x,2}", "a{2,1}", "[,;]", "a{2}{1,2}", "a{+1,2}", "a{01,2}", "a(b{1,2}"]
                .into_iter()
                .chain([r"\){1,2}", r"\(a\){1,2}", r"\(a){1,2}", r"\[a]{1,2}"])
                .chain([
                    r"^((a)(b)){1,2}$",
                    r"^(a\){1,2})$",
                    "^[[:alpha:]]{1,2}$",
                    "^[a[]{1,2}$",
                    "^([(]){1,2}$",
                    "^[{1,2}]$",
                    r"^\Q{1,2}\E$",
                ])
                .chain([r"^\pN{1,2}$", r"^\x2C{1,2}$", r"^\x61{0,1}$", r"^\101{1,2}$", "^a{1,1}?$"])
                .chain(["^[a[b]{1,2}$", "^[a{1,2}]$", "^[^[^]{1,2}$", r"^\Qa{1,2}\E$", r"^\Qa\E{1,2}$"])
                .chain(["^(?P<n>a){1,2}$", "^a(?i){1,2}$", "^(?i:a){1,2}$"])
        {
            let found = check(element);
            assert!(found[0].help.as_ref().unwrap().contains("`\\x2C`"), "{element}: {found:?}");
        }
    }

    /// Returns the element with the suggested change applied.
    fn rewritten(element: &str) -> Option<String> {
        let count = count_with_comma(element)?;
        let start = count.span.end - count.written.len();
        Some(format!("{}{}{}", element.get(..start)?, count.instead, element.get(count.span.end..)?))
    }

    #[test]
    fn count_of_a_quoted_brace_is_not_a_count() {
        assert_eq!(rewritten("^a{{1,1}2}$").as_deref(), Some("^a{{1}2}$"));
    }

    proptest! {
        #[test]
        fn rewritten_count_is_equivalent(
            before in r"(\\[dQx1p\\(\[]|[ab1N{|]|\(\?:|[\[\]()^]){0,4}",
            atom in r"a|1|\{|\\d|\\0|\\.|\[ab\]|\[\^a\]|\(a\)|\(a\|b1\)|\(\?:a1\|b\)",
            count in r"\{([012],[0123]?|1,1)\}",
            behind in r"(\\[dE]|[ab1}?+|]|[\[\]()]){0,3}",
            texts in prop::collection::vec("[ab1{}N]{0,6}", 0..40),
        ) {
            let element = format!("^(?:{before}{atom}{count}{behind})$");
            if let Some(rewritten) = rewritten(&element) {
                let (meant, offered) = (GoRegex::new(&element).unwrap(), GoRegex::new(&rewritten).unwrap());
                for text in texts.iter().map(String::as_str).chain(["", "a", "aa", "aaa", "aaaa", "ab", "b"]) {
                    prop_assert_eq!(meant.is_match(text), offered.is_match(text), "{} {}", rewritten, text);
                }
            }
        }

        #[test]
        fn rendered_list_parses_as_the_same_list(
            elements in prop::collection::vec(r"[ab^$.,(*{} \u{a0}é1-3]{0,5}|\PC{0,6}", 0..4)
        ) {
            if let (Some(text), _) = render_list(&elements) {
                let (list, found) = PatternList::read(SYSTEM_USERS, Some(&text));
                let back: Vec<_> = list.patterns().iter().map(|pattern| pattern.as_str().to_owned()).collect();
                prop_assert_eq!(back, elements);
                prop_assert!(!found.iter().any(Diagnostic::is_error));
            }
        }

        #[test]
        fn every_element_parses_with_spans_inside_it(element in r"[ab^$.,(*{}\[\]\\ é0-9]{0,9}|\PC{0,9}") {
            for finding in check(&element) {
                let span = finding.span.unwrap();
                prop_assert!(element.get(span.start..span.end).is_some());
                prop_assert!(finding.help.is_some());
            }
        }
    }
}
