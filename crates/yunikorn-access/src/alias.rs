//! Aliases: groups that stand in `YuniKorn`'s ACLs for the names that its ACL expressions drop, such as those
//! of service accounts (yunikorn-core `acl.go:34-35`).
//!
//! An alias is a function of the kind and the name alone, the same in every version of queuewarden:
//!
//! ```text
//! qw-KIND-READABLE-HASH
//! KIND      u for a user, g for a group
//! READABLE  the last 32 characters of the name, in small letters; each that is no ASCII letter or digit is _
//! HASH      the first 128 bits of SHA-256("queuewarden alias/KIND/NAME"), as 32 hexadecimal digits
//! ```
//!
//! The user-info webhook writes the aliases of a user, and of the groups that need one, behind the groups in
//! the annotation `yunikorn.apache.org/user.info`. So no group of that form can be real: nothing takes one
//! from a requester, an ACL or a base.
//!
//! `YuniKorn` also refuses users whose names `UserRegExp` does not match (`configvalidator.go:87`), such as
//! `CN=Ann Smith`. These are written with escapes: see [`escaped`].

use std::borrow::Cow;
use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use yunikorn::acl::{group_name_ok, user_name_ok};
use yunikorn::config::names::is_user;
use yunikorn::identity::Identity;

/// The most aliases that the annotation of one user has.
pub const MAX_ALIASES: usize = 32;
/// The most characters of a name in its alias.
const READABLE: usize = 32;
/// The hexadecimal digits of the hash.
const DIGITS: usize = 32;
/// The beginning of a user name with escapes.
const ESCAPED: &str = "qw-user:";

/// The kinds of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A user.
    User,
    /// A group.
    Group,
}

impl Kind {
    /// Returns whether an ACL can hold this name as it is.
    pub fn is_plain(self, name: &str) -> bool {
        match self {
            Self::User => user_name_ok(name),
            Self::Group => group_name_ok(name) && !is_alias(name),
        }
    }

    fn letter(self) -> char {
        match self {
            Self::User => 'u',
            Self::Group => 'g',
        }
    }
}

/// Returns the alias of a name.
pub fn alias(kind: Kind, name: &str) -> String {
    let letter = kind.letter();
    let digest =
        Sha256::new().chain_update(format!("queuewarden alias/{letter}/")).chain_update(name).finalize();
    let skipped = name.chars().count().saturating_sub(READABLE);
    let readable = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let mut text = format!("qw-{letter}-");
    text.extend(name.chars().skip(skipped).map(readable));
    text.push('-');
    text.extend(digest.iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}")));
    text
}

/// Returns whether a group has the form of an alias.
pub fn is_alias(group: &str) -> bool {
    let rest = group.strip_prefix("qw-u-").or_else(|| group.strip_prefix("qw-g-"));
    rest.and_then(|rest| rest.rsplit_once('-')).is_some_and(|(readable, hash)| {
        readable.len() <= READABLE
            && readable.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
            && hash.len() == DIGITS
            && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Returns the aliases of a user and their groups, for the names that need one: the granted ones first, each
/// once, the user's before those of the groups in their order; and whether there are more than
/// [`MAX_ALIASES`].
pub fn aliases(identity: &Identity, granted: impl Fn(&str) -> bool) -> (Vec<String>, bool) {
    let user = Some((Kind::User, &identity.user));
    let names = user.into_iter().chain(identity.groups.iter().map(|group| (Kind::Group, group)));
    let mut seen = BTreeSet::new();
    let needed = names.filter(|(kind, name)| !kind.is_plain(name) && !name.is_empty() && !is_alias(name));
    let all = needed.filter(|name| seen.insert(*name)).map(|(kind, name)| alias(kind, name));
    let (mut first, others): (Vec<_>, Vec<_>) = all.partition(|alias| granted(alias));
    first.extend(others);
    let is_cut = first.len() > MAX_ALIASES;
    first.truncate(MAX_ALIASES);
    (first, is_cut)
}

/// Returns a user name as `YuniKorn` accepts it: as it is, or else behind `qw-user:` with each byte that is
/// no ASCII letter, digit, `_`, `.`, `@` or `-` as `#` and two hexadecimal digits. [`unescaped`] takes it
/// back.
pub fn escaped(user: &str) -> Cow<'_, str> {
    if user.is_empty() || (is_user(user) && !user.starts_with(ESCAPED)) {
        return Cow::Borrowed(user);
    }
    let mut text = ESCAPED.to_owned();
    for byte in user.bytes() {
        match byte {
            b'_' | b'.' | b'@' | b'-' => text.push(byte.into()),
            _ if byte.is_ascii_alphanumeric() => text.push(byte.into()),
            _ => text.extend(format!("#{byte:02x}").chars()),
        }
    }
    Cow::Owned(text)
}

/// Returns the user name that [`escaped`] gives this text for; the text itself if there is none.
pub fn unescaped(text: &str) -> Cow<'_, str> {
    let decoded = text.strip_prefix(ESCAPED).and_then(|rest| {
        let mut parts = rest.split('#');
        let mut bytes = parts.next()?.as_bytes().to_vec();
        for part in parts {
            let (digits, literal) = part.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            bytes.extend(literal.bytes());
        }
        String::from_utf8(bytes).ok()
    });
    match decoded {
        Some(user) if escaped(&user) == text => Cow::Owned(user),
        _ => Cow::Borrowed(text),
    }
}

/// Returns whether a name that Kubernetes can authenticate can be granted: it is not empty, is not `*`, has
/// no control characters, and no space at its ends; a group has not the form of an alias.
pub fn can_be_granted(kind: Kind, name: &str) -> bool {
    !name.is_empty()
        && name != "*"
        && name.trim() == name
        && !name.contains(char::is_control)
        && !(kind == Kind::Group && is_alias(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn identity(user: &str, groups: &[&str]) -> Identity {
        Identity { user: user.to_owned(), groups: groups.iter().map(ToString::to_string).collect() }
    }

    /// The same in docs/aliases.md: a change of one of these takes access away from all workloads.
    #[test]
    fn aliases_are_those_of_the_documentation() {
        for (kind, name, expected) in [
            (
                Kind::User,
                "system:serviceaccount:spark:driver",
                "qw-u-stem_serviceaccount_spark_driver-e45856e1b8c5779baa6f24b8431399e9",
            ),
            (
                Kind::Group,
                "system:serviceaccounts:spark",
                "qw-g-system_serviceaccounts_spark-e9f4f8e475630ad2643a40ebc342f6a2",
            ),
            (
                Kind::User,
                "https://issuer.example.com#1234",
                "qw-u-https___issuer_example_com_1234-57cc16970a8f7f8890194467a6b4dbf2",
            ),
            (Kind::Group, "team.a@corp.example", "qw-g-team_a_corp_example-4900e5f7b7e95fae589c70ea7731cc8b"),
            (
                Kind::User,
                "CN=Ann Smith,OU=Engineering",
                "qw-u-cn_ann_smith_ou_engineering-6dbbc7a874b5c8b5041e90489b80062a",
            ),
            (Kind::Group, "データ", "qw-g-___-73f33dc5749d660e620965d423244ec8"),
        ] {
            assert_eq!(alias(kind, name), expected, "{name}");
        }
    }

    #[test]
    fn names_that_an_acl_can_hold_need_no_alias() {
        let (all, is_cut) = aliases(&identity("sue@corp", &["devs", "a.b", "devs", "a.b", ""]), |_| false);
        assert_eq!((all, is_cut), (vec![alias(Kind::Group, "a.b")], false));
        let real = alias(Kind::Group, "a.b");
        assert_eq!(aliases(&identity("sue", &[&real]), |_| true).0, Vec::<String>::new());
    }

    #[test]
    fn of_many_aliases_the_granted_ones_stay() {
        let groups: Vec<String> = (0..40).map(|number| format!("g:{number}")).collect();
        let last = alias(Kind::Group, "g:39");
        let (all, is_cut) = aliases(&Identity { user: "u:1".to_owned(), groups }, |alias| alias == last);
        assert!(is_cut && all.len() == MAX_ALIASES);
        assert_eq!(all.get(..2), Some(&[last, alias(Kind::User, "u:1")][..]));
    }

    #[test]
    fn users_that_yunikorn_refuses_are_escaped() {
        for (user, text) in [
            ("", ""),
            ("sue", "sue"),
            ("system:serviceaccount:a:b", "system:serviceaccount:a:b"),
            ("CN=Ann Smith", "qw-user:CN#3dAnn#20Smith"),
            ("1é", "qw-user:1#c3#a9"),
            ("qw-user:a", "qw-user:qw-user#3aa"),
        ] {
            assert_eq!((&*escaped(user), &*unescaped(text)), (text, user));
        }
        for text in ["qw-user:a", "qw-user:#3D", "qw-user:#3", "qw-user:#+f", "qw-user:#ff", "qw-user:"] {
            assert_eq!(unescaped(text), text);
        }
    }

    proptest! {
        #[test]
        fn aliases_are_groups_that_acls_can_hold(name in r"\PC{0,80}") {
            let [user, group] = [Kind::User, Kind::Group].map(|kind| alias(kind, &name));
            prop_assert!(user != group);
            for alias in [user, group] {
                prop_assert!(group_name_ok(&alias) && is_alias(&alias) && !Kind::Group.is_plain(&alias), "{alias}");
            }
        }

        #[test]
        fn escaping_is_taken_back_and_makes_a_user(user in r"\PC{1,40}|[a-z:#=]{1,8}|qw-user:[a-z#0-9]{0,9}") {
            let text = escaped(&user);
            prop_assert!(is_user(&text), "{text}");
            prop_assert_eq!(unescaped(&text), user.as_str());
        }

        #[test]
        fn unescaping_is_total(text in r"qw-user:[#0-9a-fA-F+é]{0,12}") {
            let user = unescaped(&text);
            prop_assert!(user == text || escaped(&user) == text);
        }
    }
}
