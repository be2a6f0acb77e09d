//! Aliases: groups that represent names that `YuniKorn` would drop from an ACL, such as service accounts
//! (yunikorn-core `acl.go:34-35`).
//!
//! An alias depends only on the kind and the name and is the same in every version of queuewarden:
//!
//! ```text
//! qw-KIND-READABLE-HASH
//! KIND      u for a user, g for a group
//! READABLE  the last 32 characters of the name in lower case, with _ for all but ASCII letters and digits
//! HASH      the first 128 bits of SHA-256("queuewarden alias/KIND/NAME"), as 32 hexadecimal digits
//! ```
//!
//! The user-info webhook appends the aliases of a user, and of the groups that need one, to the groups in the
//! annotation `yunikorn.apache.org/user.info`. Therefore a real group must not have this form: aliases are
//! never accepted from a requester, an ACL or a base.
//!
//! `YuniKorn` also refuses users whose names do not match `UserRegExp` (`configvalidator.go:87`), such as
//! `CN=Ann Smith`. These are written with escapes: see [`escaped`].

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use go_compat::diag::{Code, Diagnostic, Severity, quoted};
use go_compat::yaml::decode::Spanned;
use yunikorn::acl::{Acl, Match, codes, group_name_ok, user_name_ok};
use yunikorn::config::names::is_user;
use yunikorn::config::{Config, Partition};
use yunikorn::identity::Identity;
use yunikorn::right::Right;

go_compat::codes! {
    /// A group has the form of queuewarden's aliases. **Error.**
    ///
    /// Aliases are computed from the names of users and groups, and nobody is in such a group otherwise.
    /// Write the user or group itself.
    pub const ALIAS: Code = Code::new(6501, "alias-named");
    /// A name looks like a pattern, a quoted text, a denial, or a name with a prefix. It is granted exactly
    /// as written.
    ///
    /// Kubernetes could authenticate a user or group with this name, so it is accepted. ACLs support no
    /// patterns and no denials, and the list determines whether a name is a user or a group.
    pub const ODD: Code = Code::new(6502, "odd-name");
}

/// Maximum number of aliases in the annotation of a user.
pub const MAX_ALIASES: usize = 32;
/// The prefix of a service account's user name, before its namespace and name.
pub const SERVICE_ACCOUNT: &str = "system:serviceaccount:";
/// Maximum number of characters of a name in its alias.
const READABLE: usize = 32;
/// Number of hexadecimal digits of the hash.
const DIGITS: usize = 32;
/// The prefix of a user name with escapes.
const ESCAPED: &str = "qw-user:";

/// The kind of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    /// A user.
    User,
    /// A group.
    Group,
}

impl Kind {
    /// Returns whether an ACL can contain this name itself.
    pub fn is_plain(self, name: &str) -> bool {
        match self {
            Self::User => user_name_ok(name),
            Self::Group => group_name_ok(name) && !is_alias(name),
        }
    }

    fn letter(self) -> &'static str {
        match self {
            Self::User => "u",
            Self::Group => "g",
        }
    }
}

/// Returns the alias of a name.
pub fn alias(kind: Kind, name: &str) -> String {
    let letter = kind.letter();
    let hashed = ["queuewarden alias/", letter, "/", name].into_iter();
    let digest = hashed.fold(Sha256::new(), Sha256::chain_update).finalize();
    let hash = digest.first_chunk().copied().map(u128::from_be_bytes).unwrap_or_default();
    let skipped = name.chars().count().saturating_sub(READABLE);
    let readable = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let readable: String = name.chars().skip(skipped).map(readable).collect();
    format!("qw-{letter}-{readable}-{hash:0DIGITS$x}")
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

/// Returns the names of a user and their groups that need an alias: first the user, then the groups in order.
pub(crate) fn needing(identity: &Identity) -> impl Iterator<Item = (Kind, &str)> {
    let groups = identity.groups.iter().map(|group| (Kind::Group, group.as_str()));
    let names = std::iter::once((Kind::User, identity.user.as_str())).chain(groups);
    names.filter(|(kind, name)| !kind.is_plain(name) && !name.is_empty() && !is_alias(name))
}

/// Returns the aliases of a user and their groups for the names that need one, each once: granted aliases
/// first, and of these the user's before the groups' in order. Also returns whether there are more than
/// [`MAX_ALIASES`].
pub fn aliases(identity: &Identity, granted: impl Fn(&str) -> bool) -> (Vec<String>, bool) {
    aliases_of(needing(identity), granted)
}

/// Returns the aliases of these names, like [`aliases`].
pub(crate) fn aliases_of<'n>(
    names: impl Iterator<Item = (Kind, &'n str)>,
    granted: impl Fn(&str) -> bool,
) -> (Vec<String>, bool) {
    let mut seen = BTreeSet::new();
    let names = names.filter(|name| seen.insert(*name));
    let all = names.map(|(kind, name)| alias(kind, name));
    let (mut first, others): (Vec<_>, Vec<_>) = all.partition(|alias| granted(alias));
    first.extend(others);
    let is_cut = first.len() > MAX_ALIASES;
    first.truncate(MAX_ALIASES);
    (first, is_cut)
}

/// Returns a user name that `YuniKorn` accepts. If the name itself is not accepted, the result is `qw-user:`
/// followed by the name, in which every byte other than an ASCII letter, digit, `_`, `.`, `@` or `-` is
/// written as `#` and two hexadecimal digits. [`unescaped`] reverses this.
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

/// Returns the namespace and the name of a service account.
pub fn service_account(user: &str) -> Option<(&str, &str)> {
    user.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')
}

/// Formats a name for messages: in quotes if it contains characters other than letters, digits and the usual
/// separators within names. Spaces and commas, for example, need quotes.
pub fn shown(name: &str) -> Cow<'_, str> {
    let joins = |c: char| matches!(c, '_' | '.' | '@' | ':' | '/' | '#' | '=' | '+' | '-' | '$');
    if name.chars().all(|c| c.is_alphanumeric() || joins(c)) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(quoted(name))
    }
}

/// Returns the groups of the service accounts in a namespace.
pub fn groups_of_account(namespace: &str) -> Vec<String> {
    let of_namespace = format!("system:serviceaccounts:{namespace}");
    vec!["system:serviceaccounts".to_owned(), of_namespace, "system:authenticated".to_owned()]
}

/// Returns the user name that [`escaped`] converts to this text, or the text itself if no such name exists.
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

/// Returns the user that the annotation of their pods names: the escaped user, and the groups without groups
/// in alias form but with the aliases.
pub fn presented(identity: &Identity, granted: impl Fn(&str) -> bool) -> Identity {
    let mut groups: Vec<_> = identity.groups.iter().filter(|group| !is_alias(group)).cloned().collect();
    groups.extend(aliases(identity, granted).0);
    Identity { user: escaped(&identity.user).into_owned(), groups }
}

/// Returns the identity of a pod's annotation, with the user name unescaped.
#[must_use]
pub fn of_pod(identity: Identity) -> Identity {
    match unescaped(&identity.user) {
        Cow::Owned(user) => Identity { user, ..identity },
        Cow::Borrowed(_) => identity,
    }
}

/// Returns the ACL of these users and groups, with warnings. Names that an ACL cannot contain are replaced by
/// their aliases.
///
/// # Errors
/// A diagnostic for each name that cannot be granted because Kubernetes never authenticates such a name: it
/// is empty or `*`, has control characters or leading or trailing white space, or is a group in alias form.
pub fn acl<U: AsRef<str>, G: AsRef<str>>(
    users: &[U],
    groups: &[G],
) -> Result<(Acl, Vec<Diagnostic>), Vec<Diagnostic>> {
    let users = users.iter().map(|name| (Kind::User, name.as_ref()));
    let names = users.chain(groups.iter().map(|name| (Kind::Group, name.as_ref())));
    let wrong: Vec<_> = names.clone().filter_map(|(kind, name)| problem(kind, name)).collect();
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let (plain, others): (Vec<_>, Vec<_>) = names.partition(|(kind, name)| kind.is_plain(name));
    let of = |of: Kind| plain.iter().filter(move |(kind, _)| *kind == of).map(|(_, name)| *name);
    let (users, mut groups): (Vec<_>, Vec<_>) = (of(Kind::User).collect(), of(Kind::Group).collect());
    let aliases: Vec<_> = others.iter().map(|(kind, name)| alias(*kind, name)).collect();
    groups.extend(aliases.iter().map(String::as_str));
    let odd = others.iter().filter_map(|(kind, name)| oddity(*kind, name)).collect();
    Acl::named(&users, &groups).map(|acl| (acl, odd))
}

/// Names of users and groups by their aliases, for messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Aliased(BTreeMap<String, (Kind, String)>);

impl Aliased {
    /// Adds the users and groups that need an alias.
    pub fn add(&mut self, users: &[String], groups: &[String]) {
        let users = users.iter().map(|name| (Kind::User, name));
        let names = users.chain(groups.iter().map(|name| (Kind::Group, name)));
        let needed = names.filter(|(kind, name)| !kind.is_plain(name));
        self.0.extend(needed.map(|(kind, name)| (alias(kind, name), (kind, name.clone()))));
    }

    /// Adds the names of another map.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Returns the user or group that an ACL entry represents, or the entry itself if it is not a known
    /// alias.
    pub fn real<'n>(&'n self, entry: Match<'n>) -> Match<'n> {
        match entry {
            Match::Group(group) if !self.0.is_empty() => match self.0.get(group) {
                Some((Kind::User, user)) => Match::User(user),
                Some((Kind::Group, group)) => Match::Group(group),
                None => entry,
            },
            _ => entry,
        }
    }

    /// Returns whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Returns an error for each ACL of a configuration that names a group in alias form. Only ACLs rendered by
/// queuewarden may do so.
pub fn named_in(config: &Config) -> Vec<Diagnostic> {
    let found = acls_with_aliases(config).filter_map(|text| {
        let found = named(&yunikorn::acl::parse(&text.value).ok()?)?;
        Some(Diagnostic { span: text.span, ..found })
    });
    found.collect()
}

/// Returns the aliases that the ACLs of a configuration name.
pub fn granted(config: &Config) -> BTreeSet<String> {
    let acls = acls_with_aliases(config).filter_map(|text| yunikorn::acl::parse(&text.value).ok());
    let of_acl = |acl: Acl| {
        let aliases = acl.groups().iter().filter(|group| is_alias(group));
        aliases.map(str::to_owned).collect::<Vec<_>>()
    };
    acls.flat_map(of_acl).collect()
}

/// Returns the texts of ACLs that may contain an alias.
fn acls_with_aliases(config: &Config) -> impl Iterator<Item = &Spanned> {
    let queues = config.partitions.iter().flat_map(Partition::queues);
    let texts = queues.flat_map(|queue| Right::ALL.map(|right| queue.acl(right)));
    texts.filter(|text| may_name(&text.value))
}

/// Returns whether an ACL, or the text of its groups, may contain an alias. Most do not, and this avoids
/// parsing them.
pub fn may_name(text: &str) -> bool {
    text.contains("qw-")
}

/// Returns an error for an ACL that names a group in alias form.
pub fn named(acl: &Acl) -> Option<Diagnostic> {
    acl.groups().iter().filter(|group| is_alias(group)).find_map(|group| problem(Kind::Group, group))
}

/// Returns the finding about a name that looks like something else.
fn oddity(kind: Kind, name: &str) -> Option<Diagnostic> {
    const ODDITIES: [Code; 4] = [codes::PATTERN, codes::QUOTES, codes::DENY, codes::PREFIX];
    // A distinguished name contains commas, too.
    let is_list = name.contains(',') && !name.contains('=');
    let found = dropped(kind, name).filter(|found| is_list || ODDITIES.contains(&found.code))?;
    let message = format!("{} is granted literally, as the name of a {kind}", quoted(name));
    Some(Diagnostic { code: ODD, severity: Severity::Warning, message, ..found })
}

/// Returns why an ACL cannot contain a name.
fn dropped(kind: Kind, name: &str) -> Option<Diagnostic> {
    let (users, groups): (&[_], &[_]) = match kind {
        Kind::User => (&[name], &[]),
        Kind::Group => (&[], &[name]),
    };
    Acl::named(users, groups).err()?.into_iter().next()
}

/// Returns why an ACL cannot contain a name, as words that follow the name: `has a dot`. Returns `None` if it
/// can.
pub fn obstacle(kind: Kind, name: &str) -> Option<String> {
    if kind.is_plain(name) {
        return None;
    }
    // A character may be invalid only at the start or before the end.
    let wrong = name.chars().find(|c| !kind.is_plain(&format!("a{c}")));
    Some(match wrong {
        Some('.') => "has a dot".to_owned(),
        Some(':') => "has a colon".to_owned(),
        Some('@') => "has an at sign".to_owned(),
        Some('/') => "has a slash".to_owned(),
        Some(',') => "has a comma".to_owned(),
        Some('=') => "has an equals sign".to_owned(),
        Some(' ') => "has a space".to_owned(),
        Some(c) => format!("has the character {}", quoted(&c.to_string())),
        None => match name.chars().next() {
            Some(c) if !kind.is_plain(&c.to_string()) => format!("begins with {}", quoted(&c.to_string())),
            Some(_) => "has a dollar sign before its end".to_owned(),
            None => "is empty".to_owned(),
        },
    })
}

/// Returns whether a name can be granted, that is, Kubernetes can authenticate such a name.
pub fn can_be_granted(kind: Kind, name: &str) -> bool {
    problem(kind, name).is_none()
}

/// Returns why a name cannot be granted.
fn problem(kind: Kind, name: &str) -> Option<Diagnostic> {
    if kind == Kind::Group && is_alias(name) {
        let message = format!("the group {} has the form of an alias, so it has no members", quoted(name));
        let help = "write the name of the user or group itself, under `users` or `groups`";
        return Some(Diagnostic::error(ALIAS, message).help(help));
    }
    let odd = name.is_empty() || name == "*" || name.trim() != name || name.contains(char::is_control);
    if odd { dropped(kind, name) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn identity(user: &str, groups: &[&str]) -> Identity {
        Identity { user: user.to_owned(), groups: groups.iter().map(ToString::to_string).collect() }
    }

    /// Also listed in docs/service-accounts.md. Changing one of these aliases would revoke the access of all
    /// workloads that use it.
    #[test]
    fn aliases_equal_the_documented_ones() {
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
    fn valid_acl_name_needs_no_alias() {
        let (all, is_cut) = aliases(&identity("sue@corp", &["devs", "a.b", "devs", "a.b", ""]), |_| false);
        assert_eq!((all, is_cut), (vec![alias(Kind::Group, "a.b")], false));
        let real = alias(Kind::Group, "a.b");
        assert_eq!(aliases(&identity("sue", &[&real]), |_| true).0, Vec::<String>::new());
    }

    #[test]
    fn obstacle_of_a_name_is_described() {
        let cases = [
            (Kind::Group, "data.eng", Some("has a dot")),
            (Kind::User, "system:serviceaccount:spark:driver", Some("has a colon")),
            (Kind::User, "CN=Ann Smith", Some("has an equals sign")),
            (Kind::Group, "a@corp", Some("has an at sign")),
            (Kind::Group, "1team", Some("begins with `1`")),
            (Kind::User, "a$b", Some("has a dollar sign before its end")),
            (Kind::Group, "データ", Some("has the character `デ`")),
            (Kind::Group, "", Some("is empty")),
            (Kind::User, "bob@example.com", None),
            (Kind::User, "host$", None),
            (Kind::Group, "data-eng", None),
        ];
        for (kind, name, expected) in cases {
            assert_eq!(obstacle(kind, name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn granted_aliases_are_kept_if_there_are_too_many() {
        let groups: Vec<String> = (0..40).map(|number| format!("g:{number}")).collect();
        let last = alias(Kind::Group, "g:39");
        let (all, is_cut) = aliases(&Identity { user: "u:1".to_owned(), groups }, |alias| alias == last);
        assert!(is_cut && all.len() == MAX_ALIASES);
        assert_eq!(all.get(..2), Some(&[last, alias(Kind::User, "u:1")][..]));
    }

    #[test]
    fn name_that_looks_like_something_else_is_granted_with_a_warning() {
        let none: &[&str] = &[];
        for (name, is_odd) in [("!bob", true), ("a,b", true), ("user:bob", true), ("'a'", true), ("a*", true)]
            .into_iter()
            .chain(
                ["CN=a,OU=b", "oidc:ann", "system:serviceaccount:a:b", "O'Brien x"].map(|name| (name, false)),
            )
        {
            let (acl, odd) = acl(&[name], none).unwrap();
            assert_eq!((acl.groups().as_str(), odd.len()), (&*alias(Kind::User, name), usize::from(is_odd)));
        }
        for name in ["", "*", " a", "a\n", "a\u{7f}b"] {
            assert_eq!(acl(&[name], none).unwrap_err().len(), 1, "{name:?}");
        }
        let real = alias(Kind::Group, "a.b");
        assert_eq!(acl(none, &[real]).unwrap_err()[0].code, ALIAS);
    }

    #[test]
    fn shown_names_are_unambiguous() {
        for (name, expected) in [
            ("system:serviceaccount:a:b", "system:serviceaccount:a:b"),
            ("データ", "データ"),
            ("ann,eve", "`ann,eve`"),
            ("CN=Ann Smith", "`CN=Ann Smith`"),
            ("\u{202e}ssob", "`\\u{202e}ssob`"),
        ] {
            assert_eq!(shown(name), expected);
        }
    }

    #[test]
    fn refused_user_name_is_escaped() {
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
        fn aliases_are_valid_groups(name in r"\PC{0,80}") {
            let [user, group] = [Kind::User, Kind::Group].map(|kind| alias(kind, &name));
            prop_assert!(user != group);
            for alias in [user, group] {
                prop_assert!(group_name_ok(&alias) && is_alias(&alias) && !Kind::Group.is_plain(&alias), "{alias}");
            }
        }

        #[test]
        fn escaping_is_reversible_and_gives_a_valid_user(user in r"\PC{1,40}|[a-z:#=]{1,8}|qw-user:[a-z#0-9]{0,9}") {
            let text = escaped(&user);
            prop_assert!(is_user(&text), "{text}");
            prop_assert_eq!(unescaped(&text), user.as_str());
        }

        #[test]
        fn any_text_is_unescaped(text in r"qw-user:[#0-9a-fA-F+é]{0,12}") {
            let user = unescaped(&text);
            prop_assert!(user == text || escaped(&user) == text);
        }
    }
}
