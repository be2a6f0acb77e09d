//! Decides whether a user may submit to or administer a queue.
//!
//! The steps are in `YuniKorn`'s order: the submit ACL of a queue, then its admin ACL, then the same at its
//! parent (`CheckSubmitAccess` and `CheckAdminAccess`, yunikorn-core
//! `pkg/scheduler/objects/queue.go:798-822`). Grants only add up, and no queue can remove access that a queue
//! above it grants. A right therefore lasts until the last of its grants ends.
//!
//! Many users who are denied do find their name in the ACL: in another case, in the list of groups, or in a
//! form that `YuniKorn` silently drops. These are the near misses of a step.

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

/// The decision about a query, with its steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The requested right.
    pub right: Right,
    /// The queue as requested.
    pub path: String,
    /// The identity that requests access.
    pub identity: Identity,
    /// The queue at the path, if any.
    pub located: Located,
    /// The reason for a denial; `None` if the last step grants the right.
    pub denial: Option<Denial>,
    /// The checked ACLs in order. If access is granted, the last one grants it.
    pub steps: Vec<Step>,
}

/// The reason for a denial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "DenialKind")]
pub enum Denial {
    /// No ACL from the queue up to the root names the user or a group.
    NotGranted,
    /// Nobody may submit to the recovery queue.
    // Regardless of its ACLs and the ACLs above (`queue.go:800`).
    Recovery,
    /// Such a queue cannot exist.
    // The path does not begin with the root, or is below a leaf.
    NoQueue,
}

/// A checked ACL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TraceStep")]
pub struct Step {
    /// The queue.
    #[schemars(with = "String")]
    pub queue: QueuePath,
    /// The kind of ACL.
    #[serde(serialize_with = "Right::serialize_key")]
    #[schemars(with = "AclKey")]
    pub acl: Right,
    /// The ACL as written, or an empty text.
    pub text: String,
    /// The entry that grants access, or null.
    pub entry: Option<Subject>,
    /// The locations of that entry. Several objects may grant the same.
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

    /// Returns a short label for metrics: the ACL that grants access, or the reason for the denial.
    pub fn clause(&self) -> &'static str {
        match self.denial {
            None => self.granted_by().map_or("acl", |step| step.acl.key()),
            Some(Denial::NotGranted) => "acl",
            Some(Denial::Recovery) => "recovery",
            Some(Denial::NoQueue) => "no_queue",
        }
    }
}

/// The decision about a query, without its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict<'t> {
    /// The queue at the path.
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

/// Decides without allocating memory, if the queue is spelled in lower case.
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

/// Decides about an existing queue, which need not be in the configuration.
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

/// Returns the reason for a denial.
fn denial(tree: &Tree, right: Right, located: Located) -> Denial {
    match located.decides() {
        None => Denial::NoQueue,
        Some(id) if tree.lineage(id).any(|(_, node)| node.stops(right)) => Denial::Recovery,
        Some(_) => Denial::NotGranted,
    }
}

/// Returns the checked ACLs, up to the ACL that grants the right.
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

/// Returns the latest end of all entries that grant the right to the user, a group of the user or everyone.
/// Returns `None` if one of them has no end or no entry grants it.
pub fn until(tree: &Tree, right: Right, id: QueueId, identity: &Identity) -> Option<Timestamp> {
    let acls =
        checked(tree, right, id).flat_map(|(_, node)| right.acls().iter().map(|acl| node.grants(*acl)));
    // Names next to a wildcard have no effect, but they do once the wildcard has ended.
    let parts = acls.flat_map(|grants| &grants.parts);
    let identity = tree.presented(identity);
    let granting = parts.filter(|(_, part)| part.allows(&identity.user, &identity.groups));
    latest(granting.map(|(origin, _)| origin.until()))
}

/// Formats a time with seconds, as in `2026-12-01T18:00:00Z`. Kubernetes does not store fractions.
pub fn in_words(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap_or(at).to_string()
}

/// A name in an ACL that nearly matches the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "NearMissAnswer")]
pub struct NearMiss {
    /// The kind of near miss.
    pub kind: NearMissKind,
    /// A sentence for people.
    pub message: String,
}

/// How an ACL almost names someone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum NearMissKind {
    /// The ACL names the user in another case.
    UserCase,
    /// The ACL names one of the groups in another case.
    GroupCase,
    /// The user's name is among the groups.
    UserAmongGroups,
    /// A group of the user is among the users.
    GroupAmongUsers,
    /// The text contains the name, but `YuniKorn` drops it.
    Dropped,
}

/// Returns a listed name that equals this one, or differs from it only in case.
pub(crate) fn in_another_case<'n>(listed: &'n Names, name: &str) -> Option<&'n str> {
    listed.iter().find(|listed| listed.eq_ignore_ascii_case(name))
}

/// Returns the names in an ACL that almost match the identity. The ACL must grant nothing to it.
fn near_misses(Grants { text, acl, .. }: &Grants, identity: &Identity) -> Vec<NearMiss> {
    if text.is_empty() {
        return Vec::new();
    }
    let Identity { user, groups } = identity;
    let mut found = Vec::new();
    let mut tell = |kind, message| found.push(NearMiss { kind, message });
    if let Some(listed) = in_another_case(acl.users(), user) {
        tell(
            NearMissKind::UserCase,
            format!("it names the user {}; names are case-sensitive", quoted(listed)),
        );
    }
    for given in groups {
        if let Some(listed) = in_another_case(acl.groups(), given) {
            let (listed, given) = (quoted(listed), quoted(given));
            let message = format!("it names the group {listed}, not {given}; names are case-sensitive");
            tell(NearMissKind::GroupCase, message);
        }
        if given != user && acl.users().contains(given) {
            let message = format!("it names {} as a user, not as a group after the space", quoted(given));
            tell(NearMissKind::GroupAmongUsers, message);
        }
    }
    if acl.groups().contains(user) {
        let message = format!("it names {} as a group after the space, not as a user", quoted(user));
        tell(NearMissKind::UserAmongGroups, message);
    }
    let (users, groups_written) = text.split_once(' ').unwrap_or((text.as_str(), ""));
    let is_in = |list: &str, name: &str| !name.is_empty() && list.split(',').any(|listed| listed == name);
    let user = Some(user).filter(|user| !user_name_ok(user) && is_in(users, user));
    let groups = groups.iter().filter(|group| !group_name_ok(group) && is_in(groups_written, group));
    for name in user.into_iter().chain(groups) {
        let message = format!("it contains {}, but YuniKorn drops names of this form", quoted(name));
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
    fn rights_are_checked_up_to_the_root() {
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
    fn invalid_queue_is_denied() {
        for queue in ["", "prod", "rootprod", ".root", "root.test.not.there", "ROOT.Test."] {
            for right in Right::ALL {
                let decision = explain(&tree(), right, queue, &person("ann", &["ops"]));
                assert_eq!(decision.denial, Some(Denial::NoQueue), "{queue}");
                assert!(!decide(&tree(), right, queue, &person("ann", &["ops"])).allowed(), "{queue}");
            }
        }
    }

    /// A leaf whose child queues were removed from the configuration keeps them while their applications run.
    #[test]
    fn leaf_above_an_existing_queue_decides() {
        let decision = explain_existing(&tree(), Right::Admin, "root.test.old", &person("ann", &["ops"]));
        assert!(decision.allowed());
    }

    #[test]
    fn deciding_clause_is_one_word() {
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
    fn entry_has_the_objects_that_wrote_it() {
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
    fn right_ends_with_its_last_grant() {
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
            // The right to administer the root has no end.
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
    fn near_misses_are_reported() {
        let cases: [(&str, Identity, &[&str]); 11] = [
            ("Sue", person("sue", &[]), &["it names the user `Sue`; names are case-sensitive"]),
            (
                " Devs",
                person("sue", &["devs"]),
                &["it names the group `Devs`, not `devs`; names are case-sensitive"],
            ),
            (" sue", person("sue", &["devs"]), &["it names `sue` as a group after the space, not as a user"]),
            (
                "devs",
                person("sue", &["devs"]),
                &["it names `devs` as a user, not as a group after the space"],
            ),
            (
                "sue:x",
                person("sue:x", &["devs"]),
                &["it contains `sue:x`, but YuniKorn drops names of this form"],
            ),
            (
                "a team.a",
                person("sue", &["team.a"]),
                &["it contains `team.a`, but YuniKorn drops names of this form"],
            ),
            ("bob ops", person("sue", &["devs"]), &[]),
            // The step grants access.
            ("Sue devs", person("sue", &["devs"]), &[]),
            // Names that would be dropped but are not in the ACL.
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
