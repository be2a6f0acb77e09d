//! Finds the reason why an ACL that seems to name a user does not.
//!
//! Many users who are denied find their name in the ACL: it is spelled in another case, it is in the list of
//! groups, or `YuniKorn` drops it in silence.

use std::fmt;

use super::check::Step;
use go_compat::diag::quoted;
use yunikorn::acl::{self, group_name_ok, user_name_ok};
use yunikorn::identity::Identity;

/// An entry of an ACL that nearly matches the identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NearMiss {
    /// It names the user in another case.
    UserCase {
        /// The name as the ACL has it.
        listed: String,
    },
    /// It names one of the groups in another case.
    GroupCase {
        /// The group as the ACL has it.
        listed: String,
        /// The group as the user has it.
        given: String,
    },
    /// The user's name is in the list of groups.
    UserAmongGroups(String),
    /// A group of the user is in the list of users.
    GroupAmongUsers(String),
    /// The text contains the name, and `YuniKorn` drops it.
    Dropped(String),
}

impl fmt::Display for NearMiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UserCase { listed } => {
                write!(f, "it names the user {}; case matters", quoted(listed))
            }
            Self::GroupCase { listed, given } => {
                write!(f, "it names the group {}, not {}; case matters", quoted(listed), quoted(given))
            }
            Self::UserAmongGroups(name) => {
                write!(f, "{} is named as a group, behind the blank, not as a user", quoted(name))
            }
            Self::GroupAmongUsers(name) => {
                write!(f, "{} is named as a user, not as a group behind the blank", quoted(name))
            }
            Self::Dropped(name) => {
                write!(f, "{} stands in the text, but YuniKorn drops names of this form", quoted(name))
            }
        }
    }
}

/// The entries in the ACL of a step that nearly match the identity; none when it granted access.
pub fn near_misses(step: &Step, identity: &Identity) -> Vec<NearMiss> {
    if step.entry.is_some() || step.acl.is_empty() {
        return Vec::new();
    }
    let acl = acl::parse(&step.acl).unwrap_or_default();
    let Identity { user, groups } = identity;
    let mut found = Vec::new();
    let same = |listed: &&str, given: &str| listed.eq_ignore_ascii_case(given);
    if let Some(listed) = acl.users().iter().find(|listed| same(listed, user)) {
        found.push(NearMiss::UserCase { listed: listed.to_owned() });
    }
    for given in groups {
        if let Some(listed) = acl.groups().iter().find(|listed| same(listed, given)) {
            found.push(NearMiss::GroupCase { listed: listed.to_owned(), given: given.clone() });
        }
        if given != user && acl.users().contains(given) {
            found.push(NearMiss::GroupAmongUsers(given.clone()));
        }
    }
    if acl.groups().contains(user) {
        found.push(NearMiss::UserAmongGroups(user.clone()));
    }
    let (users, groups_written) = step.acl.split_once(' ').unwrap_or((&step.acl, ""));
    if !user.is_empty() && !user_name_ok(user) && users.split(',').any(|name| name == user) {
        found.push(NearMiss::Dropped(user.clone()));
    }
    let dropped = groups.iter().filter(|group| !group.is_empty() && !group_name_ok(group));
    found.extend(
        dropped
            .filter(|group| groups_written.split(',').any(|name| name == group.as_str()))
            .map(|group| NearMiss::Dropped(group.clone())),
    );
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::explain;
    use crate::testing::tree;
    use yunikorn::right::Right;

    fn person(user: &str, groups: &[&str]) -> Identity {
        Identity { user: user.to_owned(), groups: groups.iter().map(ToString::to_string).collect() }
    }

    #[test]
    fn what_nearly_matched_is_told() {
        let cases: [(&str, Identity, &[&str]); 11] = [
            ("Sue", person("sue", &[]), &["it names the user `Sue`; case matters"]),
            (" Devs", person("sue", &["devs"]), &["it names the group `Devs`, not `devs`; case matters"]),
            (
                " sue",
                person("sue", &["devs"]),
                &["`sue` is named as a group, behind the blank, not as a user"],
            ),
            (
                "devs",
                person("sue", &["devs"]),
                &["`devs` is named as a user, not as a group behind the blank"],
            ),
            (
                "sue:x",
                person("sue:x", &["devs"]),
                &["`sue:x` stands in the text, but YuniKorn drops names of this form"],
            ),
            (
                "a team.a",
                person("sue", &["team.a"]),
                &["`team.a` stands in the text, but YuniKorn drops names of this form"],
            ),
            ("bob ops", person("sue", &["devs"]), &[]),
            // The step grants access.
            ("Sue devs", person("sue", &["devs"]), &[]),
            // Names that would be dropped, but are not in the ACL.
            ("bob", person("sue:x", &["team.a"]), &[]),
            ("bob", person("sue", &[""]), &[]),
            (" devs", person("", &["ops"]), &[]),
        ];
        for (acl, identity, expected) in cases {
            let tree = tree(&[("root", acl, "")]);
            let decision = explain(&tree, Right::Submit, "root", &identity);
            let told: Vec<String> = decision
                .steps
                .iter()
                .flat_map(|step| near_misses(step, &identity))
                .map(|miss| miss.to_string())
                .collect();
            assert_eq!(told, expected, "{acl}");
        }
    }
}
