//! Finds the white space for which `YuniKorn` refuses an ACL text. Nothing else makes it refuse one.
//!
//! Activation counts single U+0020 and accepts one; the validator counts fields between white space of any
//! kind and accepts two.

use super::lint::Findings;
use super::{Acl, codes, parse, suggest};
use go_compat::diag::{Diagnostic, Replacement, Span};

/// Adds at least one error for a text that activation or the validator refuses, and none for any other text.
/// `meant` is what to write instead.
pub(super) fn refusals(text: &str, meant: Option<&Acl>, findings: &mut Findings) {
    let help = || how_to_write(text, meant);
    let third = third_field(text);
    let refusal = if third.is_none() {
        "YuniKorn's validator accepts it, but a reload is refused, and the next start fails"
    } else {
        "YuniKorn refuses it"
    };
    let leading = leading_space_belongs(text, meant);
    let first = if meant.is_some_and(is_of_groups) { " " } else { "" };
    let runs = surplus_spaces(text);
    // Each run can be replaced by itself if all of them together make what is meant.
    let lists: Vec<&str> = text.split(' ').filter(|list| !list.is_empty()).collect();
    let is_exact = !runs.is_empty()
        && meant.is_some()
        && parse(&(first.to_owned() + &lists.join(" "))).ok().as_ref() == meant;
    let mut inner = usize::from(leading);
    for run in runs.into_iter().skip(inner) {
        let outer = run.start == 0 || run.end == text.len();
        inner += usize::from(!outer);
        let (code, what) = match run.end - run.start {
            _ if run.start == 0 => (codes::OUTER_SPACE, "a space too many at the beginning"),
            _ if outer => (codes::OUTER_SPACE, "a space too many at the end"),
            1 if inner == 2 && third.is_none() => {
                (codes::TOO_MANY_LISTS, "a second space begins a third list")
            }
            1 => continue,
            _ => (codes::MULTIPLE_SPACES, "more than one space in a row"),
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
            "more than two lists to YuniKorn's validator, to which any space separates, not only U+0020: it \
             refuses"
        } else {
            "more than two lists, and an ACL has users and groups only: YuniKorn refuses it"
        };
        findings.push(field, || Diagnostic::error(codes::TOO_MANY_LISTS, message).help(help()));
    }
}

/// The runs of U+0020 in a text that has too many for activation; none in any other text.
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

/// Returns whether the text begins with the one space that belongs before groups without users. It is not one
/// of those too many.
fn leading_space_belongs(text: &str, meant: Option<&Acl>) -> bool {
    text.starts_with(' ') && !text.starts_with("  ") && meant.is_some_and(is_of_groups)
}

fn is_of_groups(acl: &Acl) -> bool {
    acl.users().is_empty() && !acl.groups().is_empty()
}

/// The third of the fields that the validator counts.
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
    match (meant, suggest::readings(text)) {
        (Some(acl), _) => format!("write `{}`", bounded(&acl.yaml())),
        (None, Some((users, user))) => format!(
            "write `{}` if all are users, `{}` if only the first is",
            bounded(&users.yaml()),
            bounded(&user.yaml())
        ),
        (None, None) => {
            "write users, one space, groups, with commas within each: `sue,bob dev,ops`".to_owned()
        }
    }
}

/// A corrected ACL, or its general form when it is too long for a message.
fn bounded(acl: &str) -> &str {
    if acl.len() <= 200 { acl } else { "sue,bob dev,ops" }
}
