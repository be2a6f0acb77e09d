//! Finds the reason why an ACL that seems to name a user does not.
//!
//! Many users who are denied find their name in the ACL: it is spelled in another case, it is in the list of
//! groups, or `YuniKorn` drops it in silence.

use schemars::JsonSchema;
use serde::Serialize;

use go_compat::diag::quoted;
use yunikorn::acl::{self, Names, group_name_ok, user_name_ok};
use yunikorn::identity::Identity;

/// A name in an ACL that nearly matches the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "NearMissAnswer")]
pub struct NearMiss {
    /// The kind of near miss.
    pub kind: NearMissKind,
    /// The same, as a sentence for people.
    pub message: String,
}

/// The way in which an ACL seems to name someone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum NearMissKind {
    /// It names the user in another case.
    UserCase,
    /// It names one of the groups in another case.
    GroupCase,
    /// The user's name is among the groups.
    UserAmongGroups,
    /// A group of the user is among the users.
    GroupAmongUsers,
    /// The name is in the text, but `YuniKorn` drops it.
    Dropped,
}

/// The name in a list that differs from this one at most in case.
pub(crate) fn in_another_case<'n>(listed: &'n Names, name: &str) -> Option<&'n str> {
    listed.iter().find(|listed| listed.eq_ignore_ascii_case(name))
}

/// Returns the names in an ACL that grants nothing and nearly match the identity.
pub(super) fn near_misses(text: &str, identity: &Identity) -> Vec<NearMiss> {
    let acl = acl::parse(text).unwrap_or_default();
    let Identity { user, groups } = identity;
    let mut found = Vec::new();
    let mut tell = |kind, message| found.push(NearMiss { kind, message });
    if let Some(listed) = in_another_case(acl.users(), user) {
        tell(NearMissKind::UserCase, format!("it names the user {}; case matters", quoted(listed)));
    }
    for given in groups {
        if let Some(listed) = in_another_case(acl.groups(), given) {
            let (listed, given) = (quoted(listed), quoted(given));
            let message = format!("it names the group {listed}, not {given}; case matters");
            tell(NearMissKind::GroupCase, message);
        }
        if given != user && acl.users().contains(given) {
            let message = format!("{} is named as a user, not as a group behind the space", quoted(given));
            tell(NearMissKind::GroupAmongUsers, message);
        }
    }
    if acl.groups().contains(user) {
        let message = format!("{} is named as a group, behind the space, not as a user", quoted(user));
        tell(NearMissKind::UserAmongGroups, message);
    }
    let (users, groups_written) = text.split_once(' ').unwrap_or((text, ""));
    let is_in = |list: &str, name: &str| !name.is_empty() && list.split(',').any(|listed| listed == name);
    let user = Some(user).filter(|user| !user_name_ok(user) && is_in(users, user));
    let groups = groups.iter().filter(|group| !group_name_ok(group) && is_in(groups_written, group));
    for name in user.into_iter().chain(groups) {
        let message = format!("{} stands in the text, but YuniKorn drops names of this form", quoted(name));
        tell(NearMissKind::Dropped, message);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::explain;
    use crate::testing::tree;
    use yunikorn::right::Right;

    fn person(user: &str, groups: &[&str]) -> Identity {
        Identity { user: user.to_owned(), groups: groups.iter().map(ToString::to_string).collect() }
    }

    #[test]
    fn what_nearly_matched_is_reported() {
        let cases: [(&str, Identity, &[&str]); 11] = [
            ("Sue", person("sue", &[]), &["it names the user `Sue`; case matters"]),
            (" Devs", person("sue", &["devs"]), &["it names the group `Devs`, not `devs`; case matters"]),
            (
                " sue",
                person("sue", &["devs"]),
                &["`sue` is named as a group, behind the space, not as a user"],
            ),
            (
                "devs",
                person("sue", &["devs"]),
                &["`devs` is named as a user, not as a group behind the space"],
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
            let reported: Vec<String> = decision
                .steps
                .iter()
                .flat_map(|step| &step.near_misses)
                .map(|miss| miss.message.clone())
                .collect();
            assert_eq!(reported, expected, "{acl}");
        }
    }
}
