//! Decides whether a user may submit to, or administer, a queue.
//!
//! The order of the steps is `YuniKorn`'s: at each queue the submit ACL, then the admin ACL, then the same at
//! the queue above (`CheckSubmitAccess` and `CheckAdminAccess`, yunikorn-core
//! `pkg/scheduler/objects/queue.go:798-822`). Grants only add up: no queue can remove what one above it
//! grants. So a right ends with the last of the grants that give it.
//!
//! Many users who are denied find their name in the ACL: it is spelled in another case, it is in the list of
//! groups, or `YuniKorn` drops it in silence. These are the near misses of a step.

mod sentence;

pub use sentence::sentence;
pub(crate) use sentence::{below_leaf, visible, yes};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::reach::checked;
use super::subject::Subject;
use super::tree::{GrantingEntry, Grants, Located, Origin, QueueId, Tree, latest};
use go_compat::diag::quoted;
use yunikorn::acl::{Names, group_name_ok, user_name_ok};
use yunikorn::identity::Identity;
use yunikorn::queue::QueuePath;
use yunikorn::right::{AclKey, Right};

/// The answer to one query, with the steps that led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The requested right.
    pub right: Right,
    /// The queue as requested.
    pub path: String,
    /// The identity that requests access.
    pub identity: Identity,
    /// The queue that the path leads to, if any.
    pub located: Located,
    /// The reason for a denial; `None` when the last step grants the right.
    pub denial: Option<Denial>,
    /// Each ACL that was checked, in order; the last one grants access if any does.
    pub steps: Vec<Step>,
}

/// The reason for a denial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "DenialKind")]
pub enum Denial {
    /// No ACL on the way to the root names the user or a group.
    NotGranted,
    /// Nobody may submit to the recovery queue.
    // Whatever its ACLs and those above grant (`queue.go:800`).
    Recovery,
    /// There can be no such queue.
    // The path does not begin with the root, or leads below a leaf.
    NoQueue,
}

/// One ACL that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TraceStep")]
pub struct Step {
    /// The queue.
    #[schemars(with = "String")]
    pub queue: QueuePath,
    /// The ACL of the queue that was checked.
    #[serde(serialize_with = "Right::serialize_key")]
    #[schemars(with = "AclKey")]
    pub acl: Right,
    /// The ACL as written; empty when there is none.
    pub text: String,
    /// The entry that grants it; null when none does.
    pub entry: Option<Subject>,
    /// The locations of that entry; more than one object may grant the same.
    pub origins: Vec<Origin>,
    /// Names in the ACL that nearly match the user.
    pub near_misses: Vec<NearMiss>,
}

impl Decision {
    /// Returns whether access is allowed.
    pub fn allowed(&self) -> bool {
        self.denial.is_none()
    }

    /// Returns the step that grants access.
    pub fn granted_by(&self) -> Option<&Step> {
        self.steps.last().filter(|step| step.entry.is_some())
    }

    /// Returns a short label for the deciding rule, for metrics: the ACL that grants access, or why nothing
    /// does.
    pub fn clause(&self) -> &'static str {
        match self.denial {
            None => self.granted_by().map_or("acl", |step| step.acl.key()),
            Some(Denial::NotGranted) => "acl",
            Some(Denial::Recovery) => "recovery",
            Some(Denial::NoQueue) => "no_queue",
        }
    }
}

/// The answer to one query, without the steps that led to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict<'t> {
    /// The queue that the path leads to.
    pub located: Located,
    /// The entry that grants access.
    pub granting: Option<GrantingEntry<'t>>,
}

impl Verdict<'_> {
    /// Returns whether access is allowed.
    pub fn allowed(&self) -> bool {
        self.granting.is_some()
    }
}

/// Decides, without allocation if the queue is spelled as it is stored.
pub fn decide<'t>(tree: &'t Tree, right: Right, queue: &str, identity: &Identity) -> Verdict<'t> {
    let located = tree.locate(queue);
    Verdict {
        located,
        granting: located.decides().and_then(|id| GrantingEntry::find(tree, right, id, identity)),
    }
}

/// Decides, and returns the steps.
pub fn explain(tree: &Tree, right: Right, queue: &str, identity: &Identity) -> Decision {
    explain_at(tree, right, queue, tree.locate(queue), identity)
}

/// Decides about a queue that exists, in the configuration or beside it.
pub fn explain_existing(tree: &Tree, right: Right, queue: &str, identity: &Identity) -> Decision {
    explain_at(tree, right, queue, tree.locate_existing(queue), identity)
}

fn explain_at(tree: &Tree, right: Right, queue: &str, located: Located, identity: &Identity) -> Decision {
    let granting = located.decides().and_then(|id| GrantingEntry::find(tree, right, id, identity));
    Decision {
        right,
        path: queue.to_owned(),
        identity: identity.clone(),
        located,
        denial: granting.is_none().then(|| denial(tree, right, located)),
        steps: located.decides().map(|id| steps(tree, right, id, granting, identity)).unwrap_or_default(),
    }
}

/// Returns why nothing grants a right.
fn denial(tree: &Tree, right: Right, located: Located) -> Denial {
    match located.decides() {
        None => Denial::NoQueue,
        Some(id) if tree.lineage(id).any(|(_, node)| node.stops(right)) => Denial::Recovery,
        Some(_) => Denial::NotGranted,
    }
}

/// Returns each ACL that is checked, up to the one that grants the right.
fn steps(
    tree: &Tree,
    right: Right,
    id: QueueId,
    granting: Option<GrantingEntry<'_>>,
    identity: &Identity,
) -> Vec<Step> {
    let mut steps = Vec::new();
    for (id, node) in checked(tree, right, id) {
        for acl in right.acls() {
            let granting = granting.filter(|granting| (granting.queue, granting.acl) == (id, *acl));
            let grants = node.grants(*acl);
            steps.push(Step {
                queue: node.path.clone(),
                acl: *acl,
                text: grants.text.clone(),
                entry: granting.map(|granting| granting.subject(tree)),
                origins: granting.map(|granting| granting.origins(tree)).unwrap_or_default(),
                near_misses: if granting.is_some() { Vec::new() } else { near_misses(grants, identity) },
            });
            if granting.is_some() {
                return steps;
            }
        }
    }
    steps
}

/// Returns the end of a right: the latest end of all entries that grant it to the user, to a group of the
/// user or to everyone. `None` if one of them has no end, and if nothing grants it.
pub fn until(tree: &Tree, right: Right, id: QueueId, identity: &Identity) -> Option<Timestamp> {
    let acls =
        checked(tree, right, id).flat_map(|(_, node)| right.acls().iter().map(|acl| node.grants(*acl)));
    // Beside a wildcard the names are not in force, but they are again once it has ended.
    let parts = acls.flat_map(|grants| &grants.parts);
    let identity = tree.presented(identity);
    let granting = parts.filter(|(_, part)| part.allows(&identity.user, &identity.groups));
    latest(granting.map(|(origin, _)| origin.until()))
}

/// Returns a moment to the second, as in `2026-12-01T18:00:00Z`: Kubernetes keeps no fractions.
pub fn in_words(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap_or(at).to_string()
}

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
fn near_misses(Grants { text, acl, .. }: &Grants, identity: &Identity) -> Vec<NearMiss> {
    if text.is_empty() {
        return Vec::new();
    }
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
    let (users, groups_written) = text.split_once(' ').unwrap_or((text.as_str(), ""));
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
    use crate::tree::TextLocation;
    use yunikorn::config::verdict;
    use yunikorn::version::Version;

    const QUEUES: &str = r#"
partitions:
  - name: default
    queues:
      - name: root
        adminacl: " ops"
        queues:
          - name: prod
            submitacl: "sue devs"
            queues: [{name: etl}]
          - name: test
            submitacl: "*"
          - name: "@recovery@"
"#;

    fn tree() -> Tree {
        let verdict = verdict(QUEUES, &[], Version::V1_8);
        Tree::new(verdict.config.expect("valid").partition("default").expect("default")).expect("active")
    }

    fn person(user: &str, groups: &[&str]) -> Identity {
        Identity { user: user.to_owned(), groups: groups.iter().map(ToString::to_string).collect() }
    }

    #[test]
    fn rights_are_looked_for_up_to_the_root() {
        let cases = [
            (Right::Submit, "root.prod.etl", person("sue", &[]), Some(("root.prod", Right::Submit))),
            (
                Right::Submit,
                "ROOT.Prod.ETL",
                person("bob", &["x", "devs"]),
                Some(("root.prod", Right::Submit)),
            ),
            (Right::Submit, "root.prod", person("ann", &["ops"]), Some(("root", Right::Admin))),
            (Right::Submit, "root.prod", person("ann", &["qa"]), None),
            (Right::Submit, "root.prod.not.there", person("sue", &[]), Some(("root.prod", Right::Submit))),
            (Right::Admin, "root.test", person("ann", &[]), None),
            (Right::Admin, "root.prod", person("ann", &["ops"]), Some(("root", Right::Admin))),
        ];
        for (right, queue, identity, expected) in cases {
            let decision = explain(&tree(), right, queue, &identity);
            let by = decision.granted_by().map(|step| (step.queue.as_str(), step.acl));
            assert_eq!(by, expected, "{right:?} {queue} {identity:?}");
            assert_eq!(decision.allowed(), expected.is_some());
            assert_eq!(decide(&tree(), right, queue, &identity).allowed(), expected.is_some());
        }
    }

    #[test]
    fn what_is_no_queue_is_denied() {
        for queue in ["", "prod", "rootprod", ".root", "root.test.not.there", "ROOT.Test."] {
            for right in Right::ALL {
                let decision = explain(&tree(), right, queue, &person("ann", &["ops"]));
                assert_eq!(decision.denial, Some(Denial::NoQueue), "{queue}");
                assert!(!decide(&tree(), right, queue, &person("ann", &["ops"])).allowed(), "{queue}");
            }
        }
    }

    /// A leaf whose queues were removed from the configuration has them while their applications run.
    #[test]
    fn above_a_queue_that_exists_a_leaf_decides() {
        let decision = explain_existing(&tree(), Right::Admin, "root.test.old", &person("ann", &["ops"]));
        assert!(decision.allowed());
    }

    #[test]
    fn what_decided_has_one_word() {
        let cases = [
            ("root.prod", person("sue", &[]), "submitacl"),
            ("root.prod", person("ann", &["ops"]), "adminacl"),
            ("root.prod", person("ann", &[]), "acl"),
            ("root.@recovery@", person("ann", &["ops"]), "recovery"),
            ("prod", person("sue", &[]), "no_queue"),
        ];
        for (queue, identity, expected) in cases {
            assert_eq!(
                explain(&tree(), Right::Submit, queue, &identity).clause(),
                expected,
                "{queue} {identity:?}"
            );
        }
    }

    #[test]
    fn an_entry_knows_the_objects_that_wrote_it() {
        let mut tree = tree();
        let object = |name: &str| Origin::Object { kind: "QueueAcl", name: name.to_owned(), until: None };
        let prod = QueuePath::parse("root.prod").expect("path");
        let devs = yunikorn::acl::parse(" devs").expect("acl");
        tree.attribute(&prod, Right::Submit, object("b"), &devs);
        tree.attribute(&prod, Right::Submit, object("a"), &devs);
        let origins = |user: &str, groups: &[&str]| {
            let decision = explain(&tree, Right::Submit, "root.prod", &person(user, groups));
            decision.granted_by().expect("granted").origins.clone()
        };
        assert_eq!(origins("bob", &["devs"]), [object("a"), object("b")]);
        assert!(matches!(origins("sue", &[]).as_slice(), [Origin::Text(TextLocation { span: Some(_), .. })]));
    }
}

#[cfg(test)]
mod until_tests {
    use super::*;
    use crate::testing::tree;
    use crate::tree::Origin;
    use crate::who_can::who_can;
    use yunikorn::queue::QueuePath;

    #[test]
    fn a_right_ends_with_the_last_grant_of_it() {
        let end =
            |day: i8| jiff::civil::date(2026, 11, day).to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp();
        let mut tree = tree(&[
            ("root", "", "kim,boss"),
            ("root.a", "ann,bob,cid,kim devs", ""),
            ("root.a.b", "*", "ann"),
            ("root.@recovery@", "", ""),
        ]);
        for (name, queue, right, acl, until) in [
            ("friday", "root.a", Right::Submit, "ann,bob,kim devs", Some(end(27))),
            ("saturday", "root.a", Right::Submit, "bob", Some(end(28))),
            ("open", "root.a.b", Right::Submit, "*", Some(end(26))),
            ("staying", "root.a.b", Right::Submit, "eve", None),
            ("sunday", "root.a.b", Right::Admin, "ann", Some(end(29))),
        ] {
            let object = Origin::Object { kind: "QueueAcl", name: name.to_owned(), until };
            tree.attribute(
                &QueuePath::parse(queue).unwrap(),
                right,
                object,
                &yunikorn::acl::parse(acl).unwrap(),
            );
        }
        let (submit, admin) = (Right::Submit, Right::Admin);
        for (right, queue, user, groups, expected) in [
            (submit, "root.a", "ann", vec![], Some(end(27))),
            // Two objects grant it.
            (submit, "root.a", "bob", vec![], Some(end(28))),
            // The text grants it.
            (submit, "root.a", "cid", vec![], None),
            // The right to administer at the root has no end.
            (submit, "root.a", "kim", vec![], None),
            (submit, "root.a", "zoe", vec!["devs"], Some(end(27))),
            (submit, "root.a", "bob", vec!["devs"], Some(end(28))),
            (submit, "root.a", "cid", vec!["devs"], None),
            // Nothing grants it.
            (submit, "root.a", "zoe", vec![], None),
            // By everyone alone, and by everyone and an earlier, a later and an endless grant.
            (submit, "root.a.b", "zoe", vec![], Some(end(26))),
            (submit, "root.a.b", "zoe", vec!["devs"], Some(end(27))),
            (submit, "root.a.b", "ann", vec![], Some(end(29))),
            (submit, "root.a.b", "eve", vec![], None),
            (admin, "root.a.b", "ann", vec![], Some(end(29))),
            (admin, "root.a.b", "boss", vec![], None),
            (submit, "root.@recovery@", "kim", vec![], None),
        ] {
            let identity =
                Identity { user: user.to_owned(), groups: groups.iter().map(ToString::to_string).collect() };
            let id = tree.find(&QueuePath::parse(queue).unwrap()).unwrap();
            assert_eq!(until(&tree, right, id, &identity), expected, "{right:?} {queue} {user} {groups:?}");
        }
        for (id, node) in tree.queues() {
            for right in Right::ALL {
                for grantee in who_can(&tree, right, node.path.as_str()).grantees {
                    let identity = grantee.subject.identity();
                    assert_eq!(grantee.until, until(&tree, right, id, &identity), "{node:?} {grantee:?}");
                }
            }
        }
    }
}

#[cfg(test)]
mod near_miss_tests {
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
