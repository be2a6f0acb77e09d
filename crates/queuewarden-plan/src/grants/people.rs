//! Names the users and groups of an ACL in words.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use yunikorn::acl::Acl;
use yunikorn_access::alias::{Aliased, shown};

/// The maximal number of names that a message lists.
const SHOWN: usize = 10;

/// Returns an ACL in words: `users sue, bob and groups dev`, `everyone`, `nobody`.
pub(crate) fn people(acl: &Acl, aliased: &Aliased) -> String {
    // Room for most, so that the text is not moved name by name.
    let mut text = String::with_capacity(64);
    push_people(&mut text, acl, aliased);
    text
}

/// Appends an ACL for people to a text. There may be ten thousand ACLs, and formatting takes several times as
/// long.
pub(crate) fn push_people(text: &mut String, acl: &Acl, aliased: &Aliased) {
    if acl.is_everyone() || acl.is_nobody() {
        return text.push_str(if acl.is_everyone() { "everyone" } else { "nobody" });
    }
    if aliased.is_empty() {
        return push_lists(text, acl.users().iter(), acl.groups().iter());
    }
    let entries: BTreeSet<_> = acl.entries().map(|entry| aliased.real(entry)).collect();
    let users: Vec<_> = entries.iter().filter_map(|entry| entry.user()).collect();
    let groups: Vec<_> = entries.iter().filter_map(|entry| entry.group()).collect();
    push_lists(text, users.into_iter(), groups.into_iter());
}

fn push_lists<'n>(
    text: &mut String,
    users: impl ExactSizeIterator<Item = &'n str>,
    groups: impl ExactSizeIterator<Item = &'n str>,
) {
    let both = users.len() > 0 && groups.len() > 0;
    push_names(text, "user", users);
    if both {
        text.push_str(" and ");
    }
    push_names(text, "group", groups);
}

fn push_names<'n>(text: &mut String, kind: &str, names: impl ExactSizeIterator<Item = &'n str>) {
    let count = names.len();
    if count == 0 {
        return;
    }
    push(text, &[kind, if count == 1 { "" } else { "s" }]);
    for (index, name) in names.take(SHOWN).enumerate() {
        push(text, &[if index == 0 { " " } else { ", " }, &shown(name)]);
    }
    if count > SHOWN {
        let _ = write!(text, " and {} more", count - SHOWN);
    }
}

pub(crate) fn push(text: &mut String, parts: &[&str]) {
    for part in parts {
        text.push_str(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use yunikorn::acl;

    #[test]
    fn people_are_named_and_of_many_some() {
        let many = |count| (0..count).map(|n| format!("u{n}")).collect::<Vec<_>>().join(",");
        let ten = "u0, u1, u2, u3, u4, u5, u6, u7, u8, u9";
        for (text, expected) in [
            ("", "nobody".to_owned()),
            ("*", "everyone".to_owned()),
            ("sue", "user sue".to_owned()),
            ("sue,bob", "users bob, sue".to_owned()),
            (" dev", "group dev".to_owned()),
            ("sue dev,qa", "user sue and groups dev, qa".to_owned()),
            (&many(10), format!("users {ten}")),
            (&format!("{},v", many(10)), format!("users {ten} and 1 more")),
        ] {
            assert_eq!(people(&acl::parse(text).unwrap(), &Aliased::default()), expected, "{text}");
        }
    }
}
