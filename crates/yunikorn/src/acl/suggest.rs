//! Suggests the ACL that the writer of a text most likely meant.
//!
//! Only white space, quotes and empty elements are corrected, because they have one obvious reading. A name
//! is never changed or left out, and a list never becomes a wildcard: the writer decides who gets access.

use super::dropped::is_quote;
use super::{Acl, parse};

/// The ACL that `text` seems to mean, or `None` when that is not clear: too many lists, or names that cannot
/// be granted.
pub(super) fn meant(text: &str) -> Option<Acl> {
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

/// Returns two ACLs for a text of three or more lists of plain names: the two readings that would keep every
/// name.
pub(super) fn readings(text: &str) -> Option<(Acl, Acl)> {
    let lists = lists(text);
    let (first, rest) = lists.split_first().filter(|(_, rest)| rest.len() > 1)?;
    let all_users = parse(&lists.join(",")).ok()?;
    let one_user = parse(&format!("{first} {}", rest.join(","))).ok()?;
    (names_all(&all_users, &lists) && names_all(&one_user, &lists)).then_some((all_users, one_user))
}

/// The text without quotes around names. A quote within a name is part of it: without it, it would be someone
/// else's.
fn unquoted(text: &str) -> String {
    let separates = |c: char| c == ',' || c.is_whitespace();
    text.split_inclusive(separates)
        .flat_map(|piece| {
            let name = piece.trim_end_matches(separates);
            [name.trim_matches(is_quote), piece.strip_prefix(name).unwrap_or_default()]
        })
        .collect()
}

/// Returns whether line breaks separate names. It is then unclear whether they are a list of users, or users
/// and groups.
fn names_on_lines(text: &str) -> bool {
    let lines: Vec<&str> = text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.iter().zip(lines.iter().skip(1)).any(|(line, next)| !line.ends_with(',') && !next.starts_with(','))
}

/// The text cut at white space of any kind and length, except beside commas; in each list the elements that
/// are not empty.
fn lists(text: &str) -> Vec<String> {
    let fields = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let joined = fields.replace(" ,", ",").replace(", ", ",");
    joined
        .split(' ')
        .map(|list| list.split(',').filter(|name| !name.is_empty()).collect::<Vec<_>>().join(","))
        .filter(|list| !list.is_empty())
        .collect()
}

/// Returns whether the text begins with a comma followed by a space: the first name is then a group, and
/// users may be missing.
fn begins_with_lost_users(text: &str) -> bool {
    let names = text.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
    let lead = text.strip_suffix(names).unwrap_or_default();
    // Other white space does not end the users, so a comma after it is still among them.
    let lead = lead.trim_start_matches(|c: char| c.is_whitespace() && c != ' ');
    !names.is_empty() && lead.starts_with(',') && lead.contains(char::is_whitespace)
}

/// Returns whether the first list is empty because a space comes before the first name.
fn starts_with_space(text: &str) -> bool {
    text.chars().take_while(|c| c.is_whitespace()).any(|c| c == ' ')
}

/// Returns whether `acl` grants what the lists name, all of it and nothing else.
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
    use crate::acl::parse::tests::any_text;
    use proptest::prelude::*;

    #[test]
    fn spaces_quotes_and_commas_are_put_right() {
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
        fn it_never_takes_away_a_name_in_force(text in any_text()) {
            if let (Ok(acl), Some(meant)) = (parse(&text), meant(&text)) {
                let kept = |name: &str| meant.users().contains(name) || meant.groups().contains(name);
                prop_assert!(acl.users().iter().chain(acl.groups().iter()).all(kept), "{acl} {meant}");
                prop_assert!(!acl.is_everyone() || meant.is_everyone());
            }
        }
    }
}
