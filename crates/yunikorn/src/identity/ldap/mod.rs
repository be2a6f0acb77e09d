//! Groups from a directory service, for a scheduler whose `usergroupresolver` is `ldap` (yunikorn-core
//! v1.8.0 and v1.9.0 `pkg/common/security/usergroup_ldap_resolver.go`).
//!
//! `YuniKorn` reads ten files in [`DIRECTORY`], once, when it starts. For each user it connects, binds, and
//! searches the whole tree below `BaseDN` with the user's name in `Filter`. Then:
//!
//! * Every user exists, and is in the group of their own name, also where the search finds nobody.
//! * All entries that are found count, not just the first.
//! * Groups are the values of `memberOf`, spelled like that, whatever `GroupAttr` says. A server that leaves
//!   it out, because `ReturnAttr` does, gives no groups.
//! * A value is cut at its first comma, and the group is what follows `CN=` in that piece.
//!   `CN=ops\, day,OU=x` is the group `ops\`. Groups of groups do not count.
//! * A value without `CN=` in its first piece, such as `cn=devs,ou=groups`, crashes the scheduler.
//! * A failed connection, a refused bind and a refused search refuse the user.
//! * The name goes into the filter as it is: parentheses, asterisks and backslashes make another filter.
//!
//! This module has everything but the connection: it takes the bytes that a server sends, and gives those to
//! send. It refuses to decide where `YuniKorn` would crash or search for something else.
//!
//! * [`settings`]: the files.
//! * [`filter`]: the filter, with a gap for the name.
//! * [`exchange`]: the messages of one lookup (RFC 4511), as far as this resolver uses them.
//! * [`ber`]: their encoding.

mod ber;
mod exchange;
mod filter;
mod settings;

pub use exchange::{Exchange, Step};
pub use settings::{CODES, DIRECTORY, Finding, SETTINGS, Server, Settings};

use super::Refusal;
use go_compat::diag::quoted;

/// The attribute that holds a user's groups.
const MEMBER_OF: &str = "memberOf";

/// Characters with a meaning in filters. With U+FFFD `YuniKorn`'s client refuses the filter.
const SPECIAL: [char; 5] = ['(', ')', '*', '\\', char::REPLACEMENT_CHARACTER];

/// Refuses a name that would change the filter.
fn searchable(user: &str) -> Result<(), Refusal> {
    let Some(special) = user.chars().find(|c| SPECIAL.contains(c)) else { return Ok(()) };
    let (user, special) = (quoted(user), quoted(&special.to_string()));
    Err(Refusal::Undecided(format!(
        "YuniKorn puts the name {user} into its LDAP filter as it is, where {special} makes another filter: it is \
         not searched for"
    )))
}

/// The groups of a user whose entries have these values of `memberOf`: the one of the user's name first
/// (`usergroup.go:255-287`).
fn groups(user: &str, values: &[String]) -> Result<Vec<String>, Refusal> {
    let mut groups = vec![user.to_owned()];
    for value in values {
        let first = value.split(',').next().unwrap_or_default();
        let Some(group) = first.split("CN=").nth(1) else { return Err(crashes(user, value)) };
        if group != user {
            groups.push(group.to_owned());
        }
    }
    Ok(groups)
}

fn crashes(user: &str, value: &str) -> Refusal {
    let (user, value) = (quoted(user), quoted(value));
    Refusal::Undecided(format!(
        "{user} is a member of {value} in LDAP, which crashes YuniKorn's scheduler: it expects a name that \
         begins with `CN=`, in capitals"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups_of(user: &str, values: &[&str]) -> Result<Vec<String>, Refusal> {
        groups(user, &values.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn groups_are_what_follows_cn_before_the_first_comma() {
        for (values, expected) in [
            (&[][..], &["sue"][..]),
            (&["CN=devs,OU=groups,DC=example,DC=org"], &["sue", "devs"]),
            (&["CN=devs", "CN=devs,DC=x", "CN=ops"], &["sue", "devs", "devs", "ops"]),
            // The group of the user's name is there already.
            (&["CN=sue,DC=x", "CN=Sue,DC=x"], &["sue", "Sue"]),
            (&["CN=ops\\, day,DC=x"], &["sue", "ops\\"]),
            (&["CN=data science,DC=x", "CN=,DC=x"], &["sue", "data science", ""]),
            // Behind the first CN=, and before the next.
            (&["OU=1+CN=devs,DC=x", "CN=aCN=b,DC=x"], &["sue", "devs", "a"]),
        ] {
            let expected = expected.iter().map(ToString::to_string).collect();
            assert_eq!(groups_of("sue", values), Ok(expected), "{values:?}");
        }
    }

    #[test]
    fn value_without_cn_in_capitals_is_not_decided() {
        for value in ["cn=devs,ou=groups", "OU=devs,CN=groups", "", ",CN=devs", "devs"] {
            let Err(Refusal::Undecided(why)) = groups_of("sue", &["CN=ops", value]) else {
                panic!("{value}")
            };
            assert!(
                why.starts_with(&format!("`sue` is a member of `{value}` in LDAP, which crashes")),
                "{why}"
            );
        }
    }

    #[test]
    fn name_that_changes_the_filter_is_not_decided() {
        for name in ["sue", "sue smith", "été", "a=b", "a,b", "a%b", "a\0b", "DOMAIN/sue", "&|!"] {
            assert_eq!(searchable(name), Ok(()), "{name}");
        }
        for name in ["*", "sue*", "sue)(uid=*", "a\\2a", "a(b)", "\u{fffd}"] {
            assert!(matches!(searchable(name), Err(Refusal::Undecided(_))), "{name}");
        }
    }
}
