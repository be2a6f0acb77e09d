//! Why an ACL that seems to name someone does not.
//!
//! Most people who are denied find their name in the ACL and do not understand: it is spelled in another case, it stands in the
//! list of groups, or `YuniKorn` drops it without a word.

use std::fmt;

use super::check::{Decision, Denial, Outcome, Step};
use super::tree::{Located, Tree};
use crate::model::acl::{self, group_name_ok, user_name_ok};
use crate::model::identity::Identity;
use crate::model::queue::RECOVERY;
use crate::model::right::Right;
use crate::text::diag::quoted;

/// Something in an ACL that was nearly the asker's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NearMiss {
    /// It names the user in another case.
    UserCase {
        /// As the ACL has it.
        listed: String,
    },
    /// It names one of the groups in another case.
    GroupCase {
        /// As the ACL has it.
        listed: String,
        /// As the user has it.
        given: String,
    },
    /// The user's name stands in the list of groups.
    UserAmongGroups(String),
    /// A group of the user stands in the list of users.
    GroupAmongUsers(String),
    /// The text has the name, and `YuniKorn` drops it.
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

/// What in the ACL of a step nearly was the asker's; nothing when it granted access.
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
    if !user_name_ok(user) && users.split(',').any(|name| name == user) {
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

/// The decision in one sentence, for a line of output, a webhook's `reason`, or an event.
pub fn sentence(tree: &Tree, decision: &Decision) -> String {
    let Decision { right, asked, located, outcome, .. } = decision;
    let queue =
        located.decides().and_then(|id| tree.node(id)).map_or(asked.as_str(), |node| node.path.as_str());
    let of = if matches!(located, Located::Below(_)) {
        format!("{} is not configured, so queue {queue} decides: ", quoted(asked))
    } else {
        String::new()
    };
    match outcome {
        Outcome::Allowed => {
            let Some((step, entry)) =
                decision.granted_by().and_then(|step| Some((step, step.entry.as_ref()?)))
            else {
                return format!("{of}allowed");
            };
            let through =
                if step.right == *right { "" } else { "; who administers a queue may submit to it" };
            let where_ =
                if step.queue.as_str() == queue { String::new() } else { format!(", above {queue},") };
            format!(
                "{of}the {} of queue {}{where_} names {}{through}",
                step.right.key(),
                step.queue,
                entry.subject
            )
        }
        Outcome::Denied(Denial::Recovery) if queue == RECOVERY => {
            format!("{of}nobody may submit to the recovery queue; YuniKorn itself puts applications there")
        }
        Outcome::Denied(Denial::Recovery) => format!(
            "{of}{}; what that queue and those above it grant does not reach below it",
            not_granted(decision, queue, "the recovery queue")
        ),
        Outcome::Denied(Denial::NoQueue) => {
            format!("{} is no queue: a queue path begins with `root`", quoted(asked))
        }
        Outcome::Denied(Denial::NotGranted) => format!("{of}{}", not_granted(decision, queue, "the root")),
    }
}

/// That nothing from a queue up to some other grants it.
fn not_granted(decision: &Decision, queue: &str, up_to: &str) -> String {
    let Decision { right, identity, .. } = decision;
    let verb = right.verb();
    let groups = match identity.groups.as_slice() {
        [] => "no groups".to_owned(),
        [one] => format!("group {one}"),
        more => format!("groups {}", more.join(", ")),
    };
    let acls = match right {
        Right::Submit => "neither a submitacl nor an adminacl",
        Right::Admin => "no adminacl",
    };
    let whom = if identity.groups.is_empty() { "the user" } else { "the user or a group" };
    let to = if *right == Right::Submit { " to" } else { "" };
    let user = &identity.user;
    format!("user {user} ({groups}) may not {verb}{to} {queue}: {acls} from there up to {up_to} names {whom}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::check::decide;
    use crate::access::testing::tree;

    fn person(user: &str, groups: &[&str]) -> Identity {
        Identity { user: user.to_owned(), groups: groups.iter().map(ToString::to_string).collect() }
    }

    #[test]
    fn what_nearly_matched_is_told() {
        let cases: [(&str, Identity, &[&str]); 7] = [
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
        ];
        for (acl, identity, expected) in cases {
            let tree = tree(&[("root", acl, "")]);
            let decision = decide(&tree, Right::Submit, "root", &identity);
            let told: Vec<String> = decision
                .steps
                .iter()
                .flat_map(|step| near_misses(step, &identity))
                .map(|miss| miss.to_string())
                .collect();
            assert_eq!(told, expected, "{acl}");
        }
    }

    #[test]
    fn a_decision_is_one_sentence() {
        let tree = tree(&[
            ("root", "", " ops"),
            ("root.prod", "sue devs", ""),
            ("root.@recovery@", "*", ""),
            ("root.@recovery@.x", "", ""),
        ]);
        let cases = [
            ("root.prod", person("sue", &[]), "the submitacl of queue root.prod names user sue"),
            (
                "root.prod.etl",
                person("bob", &["devs"]),
                "`root.prod.etl` is not configured, so queue root.prod decides: the submitacl of queue root.prod names group devs",
            ),
            (
                "root.prod",
                person("ann", &["ops"]),
                "the adminacl of queue root, above root.prod, names group ops; who administers a queue may submit to it",
            ),
            (
                "root.prod",
                person("ann", &["qa", "x"]),
                "user ann (groups qa, x) may not submit to root.prod: neither a submitacl nor an adminacl from there up to the root names the user or a group",
            ),
            (
                "root.@recovery@",
                person("ann", &["ops"]),
                "nobody may submit to the recovery queue; YuniKorn itself puts applications there",
            ),
            (
                "root.@recovery@.x",
                person("ann", &["ops"]),
                "user ann (group ops) may not submit to root.@recovery@.x: neither a submitacl nor an adminacl from there up to the recovery queue names the user or a group; what that queue and those above it grant does not reach below it",
            ),
            ("prod", person("ann", &[]), "`prod` is no queue: a queue path begins with `root`"),
        ];
        for (queue, identity, expected) in cases {
            let decision = decide(&tree, Right::Submit, queue, &identity);
            assert_eq!(sentence(&tree, &decision), expected);
        }
    }
}
