//! Reports every difference between an ACL text as written and the effective ACL.
//!
//! `YuniKorn` reports little: it refuses with one message for all mistakes, or accepts the text and silently
//! drops names.

use std::collections::{BTreeMap, BTreeSet};

use super::dropped::{Form, List, is_quote, space_name, why_dropped};
use super::names::Iter;
use super::{Acl, codes, parse};
use go_compat::diag::{Diagnostic, Replacement, Span, is_cut, quoted, unlisted};

/// Maximum number of findings; the others are only counted. Errors come first.
pub const MAX_FINDINGS: usize = 100;

/// The analysis of an ACL text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Analysis {
    /// The effective ACL, or `None` if activation refuses the text.
    pub acl: Option<Acl>,
    /// The ACL that was probably intended, if it is obvious and differs from the text.
    pub suggestion: Option<Acl>,
    /// The findings, ordered by their spans in the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Analysis {
    /// Returns whether `YuniKorn` refuses the text at validation or activation.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Returns the first reason why a queuewarden object cannot contain the text: an error, or a name that
    /// would be dropped ([`codes::DROPS`]). Such objects must not contain anything that `YuniKorn` silently
    /// ignores.
    pub fn refusal(&self) -> Option<&Diagnostic> {
        let drops = |diagnostic: &&Diagnostic| codes::DROPS.contains(&diagnostic.code);
        self.diagnostics
            .iter()
            .find(|diagnostic| diagnostic.is_error())
            .or_else(|| self.diagnostics.iter().find(drops))
    }
}

/// Returns all findings about a text. There is an error exactly if one of `YuniKorn`'s parsers refuses it.
pub fn lint(text: &str) -> Analysis {
    let acl = parse(text).ok();
    let meant = meant(text);
    let mut findings = Findings::default();
    refusals(text, meant.as_ref(), &mut findings);
    match &acl {
        None => unclear_names(text, &mut findings),
        Some(acl) if acl.is_everyone() => wildcard(text, &mut findings),
        Some(acl) => names(text, acl, &mut findings),
    }
    let diagnostics = findings.sorted();
    let suggestion = meant.filter(|acl| !diagnostics.is_empty() && acl.canonical() != text);
    Analysis { acl, suggestion, diagnostics }
}

/// Returns the findings of [`lint`]. For an ACL without findings, the common case, this only checks the names
/// once.
pub fn findings(text: &str) -> Vec<Diagnostic> {
    if is_clean(text) { Vec::new() } else { lint(text).diagnostics }
}

/// Maximum length of a list whose names are compared with each other; a longer list gets the full analysis.
const FEW_NAMES: usize = 32;

/// Returns whether there is certainly nothing to report: at most one space, only valid names, no two names
/// that are equal ignoring case, and no single name that could be a keyword.
fn is_clean(text: &str) -> bool {
    let (users, groups) = halves(text);
    let groups = groups.map(|(groups, _)| groups);
    let lists = match (users, groups) {
        ("", None) => return true,
        ("", Some(groups)) => [None, Some((List::Groups, groups))],
        (users, groups) => [Some((List::Users, users)), groups.map(|groups| (List::Groups, groups))],
    };
    let lone = lists.iter().flatten().count() == 1 && !text.contains(',');
    lists
        .into_iter()
        .flatten()
        .all(|(list, names)| distinct(list, names) && !(lone && keyword_help(names).is_some()))
}

/// Returns whether the names are valid, few but at least one, and different even when ignoring case.
fn distinct(list: List, names: &str) -> bool {
    if names.is_empty() {
        return false;
    }
    let mut seen = [""; FEW_NAMES];
    Iter::new(names).enumerate().all(|(index, name)| {
        let before = seen.get(..index).unwrap_or_default();
        let new = !before.iter().any(|other| other.eq_ignore_ascii_case(name));
        let place = seen.get_mut(index).map(|place| *place = name);
        new && place.is_some() && list.accepts(name)
    })
}

/// The findings so far, limited in number.
#[derive(Default)]
pub(crate) struct Findings {
    listed: Vec<Diagnostic>,
    hidden: usize,
    hidden_at: Option<Span>,
}

impl Findings {
    pub(crate) fn push(&mut self, at: Span, finding: impl FnOnce() -> Diagnostic) {
        if self.listed.len() < MAX_FINDINGS {
            self.listed.push(finding().at(at));
        } else {
            self.hidden += 1;
            let seen = self.hidden_at.unwrap_or(at);
            self.hidden_at = Some(Span::new(seen.start.min(at.start), seen.end.max(at.end)));
        }
    }

    pub(crate) fn sorted(mut self) -> Vec<Diagnostic> {
        // A finding about the whole text comes after the findings that cause it.
        self.listed.sort_by_key(|diagnostic| (diagnostic.code == codes::NOBODY, diagnostic.span));
        if let Some(at) = self.hidden_at {
            let more = Diagnostic::warning(codes::MORE, unlisted(self.hidden));
            self.listed.push(more.at(at).help("fix the findings above first"));
        }
        self.listed
    }
}

/// An element of a list with its span in the text.
#[derive(Clone, Copy)]
struct Element<'a> {
    list: List,
    name: &'a str,
    at: Span,
}

fn elements(list: List, names: &str, from: usize) -> impl Iterator<Item = Element<'_>> {
    names.split(',').scan(from, move |start, name| {
        let at = Span::new(*start, *start + name.len());
        *start = at.end + 1;
        Some(Element { list, name, at })
    })
}

/// Returns the users, and the groups with their offset.
fn halves(text: &str) -> (&str, Option<(&str, usize)>) {
    match text.split_once(' ') {
        Some((users, groups)) => (users, Some((groups, users.len() + 1))),
        None => (text, None),
    }
}

/// Reports invalid names in a text that activation refuses. The lists are uncertain there, so only names that
/// are invalid in both lists are reported.
fn unclear_names(text: &str, findings: &mut Findings) {
    let mut at = 0;
    for (index, field) in text.split(' ').enumerate() {
        let list = if index == 0 { List::Users } else { List::Groups };
        for element in elements(list, field, at) {
            if !element.name.is_empty() && element.name != "*" && !List::Users.accepts(element.name) {
                dropped(element, at, findings);
            }
        }
        at += field.len() + 1;
    }
}

/// Reports names next to an effective wildcard, because they have no effect.
fn wildcard(text: &str, findings: &mut Findings) {
    let beside = |names: &str| {
        let message = format!("`*` grants access to everyone; {} has no effect", quoted(names));
        Diagnostic::warning(codes::WILDCARD_WITH_NAMES, message)
            .help("write only `*` to grant access to everyone, or remove the `*`")
    };
    match halves(text) {
        ("*", Some((groups, at))) if !groups.trim().is_empty() => {
            findings.push(Span::new(at, text.len()), || beside(groups));
        }
        (users, Some(("*", _))) if !users.trim().is_empty() => {
            findings.push(Span::new(0, users.len()), || beside(users));
        }
        _ => {}
    }
    // Activation ignores other white space around a single wildcard; next to a name, it would be part of the
    // name.
    if text.trim() == "*" {
        for (at, c) in text.char_indices().filter(|(_, c)| c.is_whitespace() && *c != ' ') {
            findings.push(Span::new(at, at + c.len_utf8()), || {
                let message = format!(
                    "{} next to the wildcard is ignored, but next to a name it would become part of the name",
                    space_name(c)
                );
                Diagnostic::warning(codes::ODD_SPACE, message).help("write `*`")
            });
        }
    }
}

/// Reports all findings about the names of a text that activates.
fn names(text: &str, acl: &Acl, findings: &mut Findings) {
    let (users, groups) = halves(text);
    let boundary = comma_at_space(users, groups);
    if let Some(at) = boundary {
        findings.push(at, || comma_space(users, groups.map_or("", |(groups, _)| groups)));
    }
    list_of_names(List::Users, users, 0, boundary, findings);
    if let Some((groups, at)) = groups {
        list_of_names(List::Groups, groups, at, boundary, findings);
    }
    let whole = Span::new(0, text.len());
    if acl.is_nobody() && !text.trim().is_empty() {
        findings.push(whole, || {
            Diagnostic::warning(codes::NOBODY, format!("{} grants access to nobody", quoted(text)))
                .help("to deliberately grant access to nobody, write `\" \"`")
        });
    }
    if let Some((list, name, help)) = keyword(acl) {
        findings.push(whole, || {
            let message = format!("{} is the name of a single {}, not a keyword", quoted(name), list.noun());
            Diagnostic::warning(codes::KEYWORD, message).help(help)
        });
    }
}

/// Returns the span of a comma and space (`sue, bob`) or space and comma (`sue ,bob`) if both lists contain
/// names.
fn comma_at_space(users: &str, groups: Option<(&str, usize)>) -> Option<Span> {
    let named = |list: &str| list.bytes().any(|byte| byte != b',');
    let (groups, at) = groups.filter(|(groups, _)| named(users) && named(groups))?;
    let (before, behind) = (users.ends_with(','), groups.starts_with(','));
    (before || behind).then(|| Span::new(at - 1 - usize::from(before), at + usize::from(behind)))
}

fn comma_space(users: &str, groups: &str) -> Diagnostic {
    let (users, groups) = (users.trim_end_matches(','), groups.trim_start_matches(','));
    let read = if groups.contains(',') { "are read as groups" } else { "is read as a group" };
    let message = format!("the space ends the users, so {} {read}", quoted(groups));
    Diagnostic::warning(codes::COMMA_SPACE, message).help(one_or_two_lists(users, groups))
}

/// Suggests the two texts that may be intended. A text is suggested only if it is short enough and grants
/// access to exactly the given names, so it contains no `*` among names and no name that would be dropped.
fn one_or_two_lists(users: &str, groups: &str) -> String {
    let [users, groups] = [users, groups].map(|list| list.split(',').filter(|name| !name.is_empty()));
    let [users, groups]: [Vec<&str>; 2] = [users.collect(), groups.collect()];
    let all = [users.as_slice(), &groups].concat();
    // Every valid group name is also a valid user name.
    if is_cut(&all.join(",")) || !all.iter().all(|name| List::Users.accepts(name)) {
        return "remove the space if all are users, or the comma if the names after it are groups".to_owned();
    }
    let all = format!("write {} for users", quoted(&all.join(",")));
    if !groups.iter().all(|name| List::Groups.accepts(name)) {
        return all;
    }
    format!("{all}, or {} for users and groups", quoted(&format!("{} {}", users.join(","), groups.join(","))))
}

fn list_of_names(list: List, names: &str, from: usize, boundary: Option<Span>, findings: &mut Findings) {
    if names.is_empty() {
        return;
    }
    let mut seen = BTreeSet::new();
    let mut spellings = BTreeMap::new();
    for element in elements(list, names, from) {
        if element.name.is_empty() {
            empty_element(element, from, boundary, findings);
        } else if !list.accepts(element.name) {
            dropped(element, from, findings);
        } else if !seen.insert(element.name) {
            findings.push(element.at, || {
                let message = format!("the {} {} appears twice", list.noun(), quoted(element.name));
                Diagnostic::warning(codes::DUPLICATE, message).help("write it once")
            });
        } else if let Some(other) = spellings.insert(element.name.to_ascii_lowercase(), element.name) {
            findings.push(element.at, || {
                let names = (quoted(other), quoted(element.name));
                let message = format!(
                    "{} and {} are two different {}s because names are case-sensitive",
                    names.0,
                    names.1,
                    list.noun()
                );
                Diagnostic::warning(codes::CASE, message)
                    .help("write the name that the identity provider sends")
            });
        }
    }
}

fn empty_element(element: Element<'_>, from: usize, boundary: Option<Span>, findings: &mut Findings) {
    // Without a name, the span is an adjacent comma: the one before or, at the beginning, the one after.
    let before = element.at.start > from;
    let comma = Span::new(element.at.start - usize::from(before), element.at.start + usize::from(!before));
    let within = |at: Span| at.start <= comma.start && comma.end <= at.end;
    let reported = |last: &Diagnostic| last.code == codes::EMPTY_ELEMENT && last.span == Some(comma);
    if boundary.is_some_and(within) || findings.listed.last().is_some_and(reported) {
        return;
    }
    findings.push(comma, || {
        Diagnostic::warning(codes::EMPTY_ELEMENT, format!("an empty {} in the list", element.list.noun()))
            .help("remove the comma, or add the missing name")
    });
}

/// Reports a dropped name in a list that begins at `from`.
fn dropped(element: Element<'_>, from: usize, findings: &mut Findings) {
    if let Some(last) = findings.listed.last_mut()
        && element.at.start > from
        && last.code == codes::LDAP_DN
        && element.name.contains('=')
        && let Some(at) = last.span.as_mut().filter(|at| at.end + 1 == element.at.start)
    {
        // A distinguished name that is split at its commas is a single finding.
        at.end = element.at.end;
        return;
    }
    findings.push(element.at, || why_dropped(element.list, Form::Text, element.name));
}

/// Returns the only name of an ACL if it looks like a keyword, with the help.
fn keyword(acl: &Acl) -> Option<(List, &str, &'static str)> {
    let users = acl.users().iter().map(|name| (List::Users, name));
    let mut names = users.chain(acl.groups().iter().map(|name| (List::Groups, name)));
    let (list, name) = names.next().filter(|_| names.next().is_none())?;
    Some((list, name, keyword_help(name)?))
}

fn keyword_help(name: &str) -> Option<&'static str> {
    match name.to_ascii_lowercase().as_str() {
        "all" | "any" | "anyone" | "everybody" | "everyone" | "public" | "true" | "yes" => {
            Some("to grant access to everyone, write `*`")
        }
        "deny" | "none" | "nil" | "null" | "no" | "false" | "nothing" => {
            Some("to grant access to nobody, write `\" \"`")
        }
        "nobody" => Some(
            "to grant access to nobody, write `\" \"`; `nobody` is the user of pods without user information",
        ),
        _ => None,
    }
}

// White space that makes `YuniKorn` refuse an ACL text. It refuses texts for no other reason.
//
// Activation allows one U+0020. The validator allows two fields, separated by any white space.

/// Adds at least one error for a text that activation or the validator refuses, and none for any other text.
/// `meant` is the suggested ACL.
fn refusals(text: &str, meant: Option<&Acl>, findings: &mut Findings) {
    let help = || how_to_write(text, meant);
    let third = third_field(text);
    let refusal = if third.is_none() {
        "YuniKorn's validator accepts it, but a reload is refused and the next start fails"
    } else {
        "YuniKorn refuses it"
    };
    let leading = leading_space_belongs(text, meant);
    let first = if meant.is_some_and(is_of_groups) { " " } else { "" };
    let runs = surplus_spaces(text);
    // Each run can be replaced separately if together they give the suggested ACL.
    let lists: Vec<&str> = text.split(' ').filter(|list| !list.is_empty()).collect();
    let is_exact = !runs.is_empty()
        && meant.is_some()
        && parse(&(first.to_owned() + &lists.join(" "))).ok().as_ref() == meant;
    let mut inner = usize::from(leading);
    for run in runs.into_iter().skip(inner) {
        let outer = run.start == 0 || run.end == text.len();
        inner += usize::from(!outer);
        let (code, what) = match run.end - run.start {
            _ if run.start == 0 => (codes::OUTER_SPACE, "unexpected leading space"),
            _ if outer => (codes::OUTER_SPACE, "unexpected trailing space"),
            1 if inner == 2 && third.is_none() => {
                (codes::TOO_MANY_LISTS, "a second space begins a third list")
            }
            1 => continue,
            _ => (codes::MULTIPLE_SPACES, "more than one consecutive space"),
        };
        let instead = match (run.start, outer) {
            (0, _) => first,
            (_, true) => "",
            _ => " ",
        };
        let written = text.get(run.start..run.end).unwrap_or_default();
        findings.push(run, || {
            let replacement = is_exact.then(|| Replacement::new(written, instead));
            Diagnostic::error(code, format!("{what}: {refusal}")).help(help()).replace(replacement)
        });
    }
    if let Some(field) = third {
        let message = if parse(text).is_ok() {
            "more than two lists: YuniKorn's validator, which splits at all white space and not only U+0020, \
             refuses it"
        } else {
            "more than two lists, but an ACL has only users and groups: YuniKorn refuses it"
        };
        findings.push(field, || Diagnostic::error(codes::TOO_MANY_LISTS, message).help(help()));
    }
}

/// Returns the runs of U+0020 if the text has too many for activation, otherwise none.
fn surplus_spaces(text: &str) -> Vec<Span> {
    if text.bytes().filter(|byte| *byte == b' ').nth(1).is_none() {
        return Vec::new();
    }
    let mut runs: Vec<Span> = Vec::new();
    for (at, _) in text.match_indices(' ') {
        match runs.last_mut().filter(|run| run.end == at) {
            Some(run) => run.end = at + 1,
            None => runs.push(Span::new(at, at + 1)),
        }
    }
    runs
}

/// Returns whether the text begins with the one space that belongs before groups without users, which is not
/// a surplus space.
fn leading_space_belongs(text: &str, meant: Option<&Acl>) -> bool {
    text.starts_with(' ') && !text.starts_with("  ") && meant.is_some_and(is_of_groups)
}

fn is_of_groups(acl: &Acl) -> bool {
    acl.users().is_empty() && !acl.groups().is_empty()
}

/// Returns the third of the fields that the validator counts.
fn third_field(text: &str) -> Option<Span> {
    let mut third = text.trim_start();
    for _ in 0..2 {
        third = third.trim_start_matches(|c: char| !c.is_whitespace()).trim_start();
    }
    let start = text.len() - third.len();
    let end = third.find(char::is_whitespace).map_or(text.len(), |length| start + length);
    (!third.is_empty()).then(|| Span::new(start, end))
}

fn how_to_write(text: &str, meant: Option<&Acl>) -> String {
    match (meant, readings(text)) {
        (Some(acl), _) => format!("write `{}`", bounded(&acl.yaml())),
        (None, Some((users, user))) => format!(
            "write `{}` if all are users, or `{}` if only the first is a user",
            bounded(&users.yaml()),
            bounded(&user.yaml())
        ),
        (None, None) => {
            "write users, one space and groups, with commas within each list: `sue,bob dev,ops`".to_owned()
        }
    }
}

/// Returns a corrected ACL, or an example if it is too long for a message.
fn bounded(acl: &str) -> &str {
    if acl.len() <= 200 { acl } else { "sue,bob dev,ops" }
}

// Suggestions for the ACL that was probably intended.
//
// A suggestion corrects only white space, quotes and empty elements, which have one obvious reading. It never
// changes or removes a name and never turns a list into a wildcard: the author decides who gets access.

/// Returns the ACL that `text` seems to mean, or `None` if that is unclear because there are too many lists
/// or invalid names.
fn meant(text: &str) -> Option<Acl> {
    let bare = unquoted(text);
    if names_on_lines(text) || begins_with_lost_users(&bare) {
        return None;
    }
    let lists = lists(&bare);
    let corrected = match lists.as_slice() {
        [] => String::new(),
        [only] if starts_with_space(&bare) => format!(" {only}"),
        [only] => only.clone(),
        [users, groups] => format!("{users} {groups}"),
        _ => return None,
    };
    parse(&corrected).ok().filter(|acl| names_all(acl, &lists))
}

/// Returns the two readings of a text with three or more lists of plain names that keep every name.
fn readings(text: &str) -> Option<(Acl, Acl)> {
    let lists = lists(text);
    let (first, rest) = lists.split_first().filter(|(_, rest)| rest.len() > 1)?;
    let all_users = parse(&lists.join(",")).ok()?;
    let one_user = parse(&format!("{first} {}", rest.join(","))).ok()?;
    (names_all(&all_users, &lists) && names_all(&one_user, &lists)).then_some((all_users, one_user))
}

/// Removes quotes around names. A quote inside a name is kept, because the name without it may belong to
/// someone else.
fn unquoted(text: &str) -> String {
    let separates = |c: char| c == ',' || c.is_whitespace();
    text.split_inclusive(separates)
        .flat_map(|piece| {
            let name = piece.trim_end_matches(separates);
            [name.trim_matches(is_quote), piece.strip_prefix(name).unwrap_or_default()]
        })
        .collect()
}

/// Returns whether line breaks separate names. It is then unclear whether all of them are users, or some are
/// groups.
fn names_on_lines(text: &str) -> bool {
    let lines: Vec<&str> = text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.iter().zip(lines.iter().skip(1)).any(|(line, next)| !line.ends_with(',') && !next.starts_with(','))
}

/// Splits the text at white space of any kind and length, except next to commas, and removes empty elements.
fn lists(text: &str) -> Vec<String> {
    let fields = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let joined = fields.replace(" ,", ",").replace(", ", ",");
    joined
        .split(' ')
        .map(|list| list.split(',').filter(|name| !name.is_empty()).collect::<Vec<_>>().join(","))
        .filter(|list| !list.is_empty())
        .collect()
}

/// Returns whether the text begins with a comma followed by a space. The first name is then a group, and
/// users may be missing.
fn begins_with_lost_users(text: &str) -> bool {
    let names = text.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
    let lead = text.strip_suffix(names).unwrap_or_default();
    // Other white space does not end the users, so a comma after it still belongs to them.
    let lead = lead.trim_start_matches(|c: char| c.is_whitespace() && c != ' ');
    !names.is_empty() && lead.starts_with(',') && lead.contains(char::is_whitespace)
}

/// Returns whether the first list is empty because a space comes before the first name.
fn starts_with_space(text: &str) -> bool {
    text.chars().take_while(|c| c.is_whitespace()).any(|c| c == ' ')
}

/// Returns whether `acl` grants access to exactly the names in the lists.
fn names_all(acl: &Acl, lists: &[String]) -> bool {
    if acl.is_everyone() {
        return lists == ["*"];
    }
    let mut names = lists.iter().flat_map(|list| list.split(','));
    names.all(|name| acl.users().contains(name) || acl.groups().contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acl::tests::{any_text, vectors};
    use crate::acl::validates;
    use go_compat::diag::Severity;
    use proptest::prelude::*;

    /// Returns the findings as code and text of the span, and the suggestion.
    fn reported(text: &str) -> (Vec<(u16, String)>, Option<String>) {
        let analysis = lint(text);
        let places = analysis.diagnostics.iter().map(|diagnostic| {
            let at = diagnostic.span.expect("a span");
            (diagnostic.code.number, text.get(at.start..at.end).expect("within the text").to_owned())
        });
        (places.collect(), analysis.suggestion.map(|acl| acl.canonical()))
    }

    proptest! {
        #[test]
        fn clean_text_has_no_findings(text in any_text()) {
            prop_assert_eq!(findings(&text), lint(&text).diagnostics);
        }

        #[test]
        fn clean_names_and_keywords_have_no_findings(
            text in "(a|A|b|bob|all|None|x\\.y|\\$|b\\$|,| ){0,7}"
        ) {
            prop_assert_eq!(findings(&text), lint(&text).diagnostics);
        }
    }

    #[test]
    fn common_acls_are_clean() {
        for text in ["", "sue", "sue,bob dev,ops", " dev", "sue dev", "a.b@c$ dev_-"] {
            assert!(is_clean(text), "{text:?}");
        }
        for text in ["nobody nogroup", "all,sue", " none,dev"] {
            assert!(is_clean(text), "not a keyword next to another name: {text:?}");
        }
    }

    #[test]
    fn quick_check_agrees_with_the_full_analysis() {
        for (text, reported, _) in REPORTED {
            assert_eq!(findings(text), lint(text).diagnostics, "{text:?}");
            assert_eq!(findings(text).len(), reported.len(), "{text:?}");
        }
        let many: Vec<String> = (0..2 * FEW_NAMES).map(|number| format!("u{number}")).collect();
        let many = many.join(",");
        assert_eq!(findings(&many), []);
        for (name, code) in [("u1", codes::DUPLICATE), ("U63", codes::CASE), ("1", codes::FIRST_CHARACTER)] {
            let found: Vec<_> =
                findings(&format!("{many},{name}")).iter().map(|finding| finding.code).collect();
            assert_eq!(found, [code], "{name}");
        }
        let twice_at_the_end = findings(&format!("{many},sue,sue"));
        assert_eq!(twice_at_the_end.len(), 1);
    }

    /// A text, the findings as code and text of the span, and the suggestion.
    type Reported = (&'static str, &'static [(u16, &'static str)], Option<&'static str>);

    #[rustfmt::skip]
    const REPORTED: &[Reported] = &[
        // Refused.
        ("sue  dev", &[(1001, "  ")], Some("sue dev")),
        ("*  dev", &[(1001, "  ")], None),
        (" sue ", &[(1002, " ")], Some(" sue")),
        (" sue dev", &[(1002, " ")], Some("sue dev")),
        ("sue dev ", &[(1002, " ")], Some("sue dev")),
        ("  dev", &[(1002, "  ")], Some(" dev")),
        ("  *  ", &[(1002, "  "), (1002, "  ")], Some("*")),
        ("  ", &[(1002, "  ")], Some("")),
        (" , a", &[(1003, " ")], Some(" a")),
        ("a b c", &[(1003, "c")], None),
        ("a b c d", &[(1003, "c")], None),
        ("a  b c", &[(1001, "  "), (1003, "c")], None),
        ("\t a b", &[(1004, "\t"), (1003, " ")], Some("a b")),
        ("sue, bob dev", &[(1003, "dev")], Some("bob,sue dev")),
        ("alice,bob\tdev ops", &[(1004, "bob\tdev"), (1003, "ops")], None),
        ("sue  system:x", &[(1001, "  "), (1017, "system:x")], None),
        // Accepted, but with another meaning than intended.
        (
            "sue\tdev",
            &[(1004, "sue\tdev"), (1024, "sue\tdev")],
            Some("sue dev"),
        ),
        ("sue dev\n", &[(1004, "dev\n")], Some("sue dev")),
        (
            "sue\u{a0}dev",
            &[(1004, "sue\u{a0}dev"), (1024, "sue\u{a0}dev")],
            Some("sue dev"),
        ),
        ("\t*\n", &[(1004, "\t"), (1004, "\n")], Some("*")),
        ("\u{3000}", &[(1004, "\u{3000}")], Some("")),
        ("sue, bob", &[(1005, ", ")], Some("bob,sue")),
        ("sue ,bob", &[(1005, " ,")], Some("bob,sue")),
        ("sue,, bob", &[(1006, ","), (1005, ", ")], Some("bob,sue")),
        ("*, dev", &[(1009, "*"), (1005, ", ")], None),
        ("a,,b", &[(1006, ",")], Some("a,b")),
        ("a,,b,,c", &[(1006, ","), (1006, ",")], Some("a,b,c")),
        (",a", &[(1006, ",")], Some("a")),
        ("a,", &[(1006, ",")], Some("a")),
        ("sue, ", &[(1006, ",")], Some("sue")),
        (" ,dev", &[(1006, ",")], Some(" dev")),
        (" ,", &[(1024, " ,"), (1006, ",")], Some("")),
        ("a,a b,b,b", &[(1007, "a"), (1007, "b"), (1007, "b")], Some("a b")),
        ("sue,Sue", &[(1008, "Sue")], Some("Sue,sue")),
        ("*,alice", &[(1009, "*")], None),
        (" *,dev", &[(1009, "*")], None),
        ("alice *", &[(1010, "alice")], None),
        ("* dev", &[(1010, "dev")], None),
        ("* *", &[(1010, "*")], None),
        ("\t *", &[(1004, "\t")], Some("*")),
        ("* \t", &[(1004, "\t")], Some("*")),
        (", dev", &[(1006, ",")], None),
        ("CN=a CN=b", &[(1022, "CN=a"), (1022, "CN=b"), (1024, "CN=a CN=b")], None),
        ("team-*", &[(1011, "team-*"), (1024, "team-*")], None),
        ("\"*\"", &[(1012, "\"*\""), (1024, "\"*\"")], Some("*")),
        (
            "'sue dev'",
            &[(1012, "'sue"), (1024, "'sue dev'"), (1012, "dev'")],
            Some("sue dev"),
        ),
        ("sue,!bob", &[(1013, "!bob")], None),
        ("deny", &[(1014, "deny")], None),
        (" all", &[(1014, " all")], None),
        ("nobody", &[(1014, "nobody")], None),
        ("nobody nogroup", &[], None),
        ("sue,group:dev", &[(1015, "group:dev")], None),
        (
            "system:serviceaccount:a:b dev",
            &[(1016, "system:serviceaccount:a:b")],
            None,
        ),
        (
            "sue system:authenticated",
            &[(1017, "system:authenticated")],
            None,
        ),
        ("sue,oidc:bob", &[(1018, "oidc:bob")], None),
        ("sue g.h", &[(1019, "g.h")], None),
        ("sue,1bob", &[(1020, "1bob")], None),
        ("sue,été", &[(1021, "été")], None),
        ("sue,CN=bob,OU=x,DC=y dev", &[(1022, "CN=bob,OU=x,DC=y")], None),
        ("sue,bob;eve", &[(1023, "bob;eve")], None),
        // No findings.
        ("", &[], None),
        (" ", &[], None),
        ("*", &[], None),
        (" *", &[], None),
        ("* ", &[], None),
        ("sue", &[], None),
        ("sue ", &[], None),
        ("dev,sue ops,dev", &[], None),
        (" dev", &[], None),
        ("a.b@c-d_$", &[], None),
    ];

    #[test]
    fn each_surprise_is_reported_with_a_span_and_help() {
        for (text, expected, suggestion) in REPORTED {
            let (found, suggested) = reported(text);
            let expected: Vec<(u16, String)> =
                expected.iter().map(|(code, at)| (*code, (*at).to_owned())).collect();
            assert_eq!(
                found.iter().collect::<BTreeSet<_>>(),
                expected.iter().collect::<BTreeSet<_>>(),
                "{text:?}"
            );
            assert_eq!(found.len(), expected.len(), "{text:?}");
            assert_eq!(suggested.as_deref(), *suggestion, "{text:?}");
        }
        let reported: BTreeSet<u16> =
            REPORTED.iter().flat_map(|(_, found, _)| found.iter().map(|(code, _)| *code)).collect();
        let all = codes::CODES.iter().filter(|code| **code != codes::MORE).map(|code| code.number);
        assert_eq!(reported, all.collect(), "every code is shown above");
    }

    #[test]
    fn help_is_a_text_to_paste() {
        let cases = [
            ("sue  dev", "write `\"sue dev\"`"),
            ("  dev", "write `\" dev\"`"),
            ("  ", "write `\" \"`"),
            ("a b c", "write `\"a,b,c\"` if all are users, or `\"a b,c\"` if only the first is a user"),
            ("a b g.h", "`sue,bob dev,ops`"),
            ("sue, bob", "write `sue,bob` for users, or `sue bob` for users and groups"),
        ];
        for (text, help) in cases {
            let diagnostics = lint(text).diagnostics;
            let reported =
                diagnostics.first().and_then(|diagnostic| diagnostic.help.clone()).unwrap_or_default();
            assert!(reported.contains(help), "{text:?}: {reported}");
        }
    }

    #[test]
    fn help_never_suggests_a_new_wildcard_or_a_dropped_name() {
        let cases = [
            ("*, dev", "remove the space if all are users, or the comma if the names after it are groups"),
            ("sue ,*", "remove the space if all are users, or the comma if the names after it are groups"),
            ("1a, dev", "remove the space if all are users, or the comma if the names after it are groups"),
            ("sue, g.h", "write `sue,g.h` for users"),
            ("a,,b ,,c", "write `a,b,c` for users, or `a,b c` for users and groups"),
        ];
        for (text, help) in cases {
            let reported =
                lint(text).diagnostics.into_iter().find(|reported| reported.code == codes::COMMA_SPACE);
            assert_eq!(reported.and_then(|reported| reported.help).as_deref(), Some(help), "{text:?}");
        }
    }

    #[test]
    fn keyword_is_reported_despite_dropped_names() {
        for text in ["all", " all", "all,", "all,1bob", "all,all"] {
            let diagnostics = lint(text).diagnostics;
            let reported =
                diagnostics.iter().find(|reported| reported.code == codes::KEYWORD).expect("a keyword");
            assert!(reported.message.starts_with("`all` is the name of a single "), "{text:?}: {reported}");
        }
    }

    #[test]
    fn refusal_names_the_surplus_and_the_parser() {
        let reload = "YuniKorn's validator accepts it, but a reload is refused and the next start fails";
        let cases = [
            ("  dev", format!("unexpected leading space: {reload}")),
            ("sue dev ", format!("unexpected trailing space: {reload}")),
            ("sue  dev", format!("more than one consecutive space: {reload}")),
            (" , a", format!("a second space begins a third list: {reload}")),
            (" a b c", "unexpected leading space: YuniKorn refuses it".to_owned()),
            ("a  b c", "more than one consecutive space: YuniKorn refuses it".to_owned()),
        ];
        for (text, message) in cases {
            let first = lint(text).diagnostics.into_iter().next().expect("a finding");
            assert_eq!((first.message, first.severity), (message, Severity::Error), "{text:?}");
        }
        let ends: Vec<String> =
            lint("  *  ").diagnostics.into_iter().map(|diagnostic| diagnostic.message).collect();
        assert!(ends[0].starts_with("unexpected leading space"), "{ends:?}");
        assert!(ends[1].starts_with("unexpected trailing space"), "{ends:?}");
    }

    #[test]
    fn names_in_a_refused_text_are_users_then_groups() {
        let reported: Vec<String> = lint("1a,2b system:x 3c")
            .diagnostics
            .into_iter()
            .filter(|diagnostic| codes::DROPS.contains(&diagnostic.code))
            .map(|diagnostic| diagnostic.message)
            .collect();
        let expected = ["the user `1a` ", "the user `2b` ", "the group `system:x` ", "the group `3c` "];
        assert_eq!(reported.len(), expected.len(), "{reported:?}");
        for (message, beginning) in reported.iter().zip(expected) {
            assert!(message.starts_with(beginning), "{message}");
        }
    }

    #[test]
    fn dropped_or_refused_text_is_not_allowed_in_objects() {
        for text in ["sue  dev", "sue,1bob", "alice,bob\tdev ops", "sue,CN=x", "\"*\""] {
            assert!(lint(text).refusal().is_some(), "{text:?}");
        }
        for text in ["", "sue dev", "a,,a", "sue *", "sue, bob", "nobody"] {
            assert_eq!(lint(text).refusal(), None, "{text:?}");
        }
        let both = lint("sue,1bob  dev");
        assert_eq!(both.refusal().map(|diagnostic| diagnostic.code), Some(codes::MULTIPLE_SPACES));
    }

    #[test]
    fn findings_are_bounded_and_the_rest_is_counted() {
        let analysis = lint(&format!("x{}", ",1".repeat(100_000)));
        assert_eq!(analysis.diagnostics.len(), MAX_FINDINGS + 1);
        let last = analysis.diagnostics.last().expect("a finding");
        assert_eq!(last.code, codes::MORE);
        assert!(last.message.contains(&(100_000 - MAX_FINDINGS).to_string()), "{last}");
        let refused = lint(&format!("{} a b", ",1".repeat(100_000)));
        assert!(refused.has_errors());
        assert!(refused.diagnostics.iter().all(|diagnostic| diagnostic.to_string().len() < 1000));
    }

    /// The findings about the recorded texts must agree with `YuniKorn`'s answers.
    #[test]
    fn recorded_refusals_and_dropped_names_are_reported() {
        for row in vectors()["rows"].as_array().expect("rows") {
            let text = row["acl"].as_str().expect("an ACL");
            let refused = row["validate_error"] != "" || row["activate_error"] != "";
            let analysis = lint(text);
            assert_eq!(analysis.has_errors(), refused, "{text:?}");
        }
    }

    fn check_laws(text: &str) -> Result<(), TestCaseError> {
        let analysis = lint(text);
        let acl = parse(text).ok();
        prop_assert_eq!(&analysis.acl, &acl);
        prop_assert_eq!(analysis.has_errors(), validates(text).is_err() || acl.is_none());
        for diagnostic in &analysis.diagnostics {
            let at = diagnostic.span.expect("a span");
            prop_assert!(text.get(at.start..at.end).is_some(), "{}", diagnostic);
            prop_assert!(diagnostic.help.is_some() && codes::CODES.contains(&diagnostic.code));
        }
        if let Some(acl) = acl {
            every_name_is_in_force_or_reported(text, &acl, &analysis.diagnostics)?;
        }
        if let Some(suggested) = analysis.suggestion {
            prop_assert!(lint(&suggested.canonical()).refusal().is_none(), "{:?}", suggested);
        }
        Ok(())
    }

    fn every_name_is_in_force_or_reported(
        text: &str,
        acl: &Acl,
        reported: &[Diagnostic],
    ) -> Result<(), TestCaseError> {
        let (users, groups) = halves(text);
        let groups = groups.into_iter().flat_map(|(groups, at)| elements(List::Groups, groups, at));
        for element in elements(List::Users, users, 0).chain(groups) {
            let held = match element.list {
                List::Users => acl.users().contains(element.name),
                List::Groups => acl.groups().contains(element.name),
            };
            let wildcard = acl.is_everyone() && element.name == "*";
            let covered = reported
                .iter()
                .filter_map(|diagnostic| diagnostic.span)
                .any(|at| at.start < element.at.end && element.at.start < at.end);
            prop_assert!(
                element.name.is_empty() || held || wildcard || covered,
                "{:?} in {:?}",
                element.name,
                text
            );
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn replacements_give_the_suggestion(text in "(a|b|,| |  |\t|\\*){0,7}") {
            let diagnostics = lint(&text).diagnostics;
            let replaced = diagnostics.iter().rev().filter_map(|found| Some((found.span?, found.replacement.as_deref()?)));
            let fixed = replaced.fold(text.clone(), |mut text, (at, replacement)| {
                assert_eq!(text.get(at.start..at.end), Some(replacement.written.as_str()));
                text.replace_range(at.start..at.end, &replacement.instead);
                text
            });
            prop_assert!(fixed == text || parse(&fixed).ok() == meant(&text), "{fixed:?}");
        }

        #[test]
        fn laws_hold_for_acl_like_texts(text in any_text()) {
            check_laws(&text)?;
        }

        #[test]
        fn laws_hold_for_any_text(text in any::<String>()) {
            check_laws(&text)?;
        }
    }

    #[test]
    fn spaces_quotes_and_commas_are_corrected() {
        let cases = [
            ("sue  dev", Some("sue dev")),
            ("  dev", Some(" dev")),
            (" dev ", Some(" dev")),
            (" sue dev", Some("sue dev")),
            ("sue dev ", Some("sue dev")),
            ("sue\tdev", Some("sue dev")),
            ("sue dev\n", Some("sue dev")),
            ("\n  dev\n", Some(" dev")),
            ("\tsue", Some("sue")),
            ("sue\nbob\n", None),
            ("sue,\n  bob\n", Some("bob,sue")),
            ("sue, bob", Some("bob,sue")),
            ("sue ,bob", Some("bob,sue")),
            ("sue , bob dev", Some("bob,sue dev")),
            ("sue, bob dev, ops", Some("bob,sue dev,ops")),
            ("sue,,bob,", Some("bob,sue")),
            ("\"sue dev\"", Some("sue dev")),
            ("\"*\"", Some("*")),
            ("\" dev\"", Some(" dev")),
            ("'sue','bob' 'dev'", Some("bob,sue dev")),
            ("o'brien", None),
            ("  *  ", Some("*")),
            ("sue *", None),
            ("  ", Some("")),
            (" ,", Some("")),
            (", dev", None),
            (",,  dev", None),
            ("\t, dev", None),
            ("\n\u{a0}, dev", None),
            (" ,dev", Some(" dev")),
            (",sue", Some("sue")),
            ("sue ,", Some("sue")),
            ("*,sue", None),
            ("sue, *", None),
            ("a b c", None),
            ("!bob", None),
            ("sue  g.h", None),
        ];
        for (text, expected) in cases {
            assert_eq!(meant(text).map(|acl| acl.canonical()).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn three_lists_have_two_readings() {
        let (users, user) = readings("a b c,d").expect("plain names");
        assert_eq!((users.canonical().as_str(), user.canonical().as_str()), ("a,b,c,d", "a b,c,d"));
        assert_eq!(readings("a b g.h"), None);
        assert_eq!(readings("a b"), None);
        assert_eq!(readings("a * c"), None);
    }

    proptest! {
        #[test]
        fn suggestion_never_removes_an_effective_name(text in any_text()) {
            if let (Ok(acl), Some(meant)) = (parse(&text), meant(&text)) {
                let kept = |name: &str| meant.users().contains(name) || meant.groups().contains(name);
                prop_assert!(acl.users().iter().chain(acl.groups().iter()).all(kept), "{acl} {meant}");
                prop_assert!(!acl.is_everyone() || meant.is_everyone());
            }
        }
    }
}
