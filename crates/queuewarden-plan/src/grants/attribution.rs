//! Describes the users and groups of an ACL in words, and attributes each ACL of the text to the objects that
//! write it, to show where a grant comes from.
//!
//! Two texts can be queried: the desired text of a plan ([`desired`]), and the current text in the output,
//! for which the objects' statuses record the contributions ([`in_force`]).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use jiff::Timestamp;

use crate::effective::{AclDecisions, AclLocation, acl_of};
use crate::grants::Resolved;
use crate::grants::combine::ByObject;
use crate::snapshot::{BaseAcl, Meta, QueueAclEntry};
use yunikorn::{Acl, Config, QueuePath, Right};
use yunikorn_access::alias::{Aliased, shown};
use yunikorn_access::{Origin, Tree};

/// The maximal number of names that a message lists.
const SHOWN: usize = 10;

/// Returns an ACL in words: `users sue, bob and groups dev`, `everyone`, `nobody`.
pub(crate) fn people(acl: &Acl, aliased: &Aliased) -> String {
    // Enough space for most messages, so that the text is not reallocated for each name.
    let mut text = String::with_capacity(64);
    push_people(&mut text, acl, aliased);
    text
}

/// Appends an ACL in words to a text. This avoids formatting macros, which take several times as long,
/// because there may be ten thousand ACLs.
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

/// The objects that write one ACL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Attribution {
    /// Partition name.
    pub partition: Arc<str>,
    /// The queue.
    pub queue: QueuePath,
    /// The right that the ACL grants.
    pub right: Right,
    /// The grants of each `QueueAcl` in it, sorted by name.
    pub objects: Vec<Part>,
    /// True if the base's own ACL remains in force, which it does if all objects set `Extend`.
    pub base_stays: bool,
}

impl Attribution {
    /// Creates the attribution of an ACL that no object writes yet.
    fn new((partition, queue, right): AclLocation) -> Self {
        Self { partition, queue, right, objects: Vec::with_capacity(1), base_stays: true }
    }

    /// Adds the grant of one object.
    fn add(&mut self, object: &Meta, acl: Acl, until: Option<Timestamp>, base_acl: BaseAcl) {
        self.objects.push(Part { name: object.name.clone(), acl, until });
        self.base_stays &= base_acl == BaseAcl::Extend;
    }

    /// Returns the base's own ACL if it stays in force. Returns nobody if it is replaced or the base is
    /// unknown.
    pub fn of_base(&self, base: Option<&Config>) -> Acl {
        base.filter(|_| self.base_stays).map(|base| self.acl_in(base)).unwrap_or_default()
    }

    /// Returns the ACL in these queues.
    fn acl_in(&self, queues: &Config) -> Acl {
        let partition = queues.partition(&self.partition);
        let queue = partition.and_then(|partition| partition.queue(&self.queue));
        queue.map(|queue| acl_of(queue, self.right)).unwrap_or_default()
    }
}

/// The grant of one object in an ACL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Part {
    /// The object's name.
    pub name: Arc<str>,
    /// The users and groups that have the right by it.
    pub acl: Acl,
    /// When the grant ends.
    pub until: Option<Timestamp>,
}

/// Returns the contributions of the resolved objects to the text of a plan. `by_object` records each object's
/// part in `grants`.
pub(crate) fn desired(
    objects: &[Resolved<'_>],
    grants: &AclDecisions,
    by_object: &ByObject,
) -> Arc<[Attribution]> {
    let mut found: Vec<_> = grants.iter().map(|(key, _)| Attribution::new(key.clone())).collect();
    for (index, object) in objects.iter().enumerate() {
        let Some(contribution) = object.contribution() else { continue };
        for position in by_object.positions(index) {
            let one = found.get_mut(position);
            if let Some((acl, one)) = one.and_then(|one| Some((contribution.grant(one.right)?, one))) {
                one.add(&object.entry.meta, acl.clone(), contribution.expires_at, contribution.base_acl);
            }
        }
    }
    by_name(found)
}

fn by_name(mut found: Vec<Attribution>) -> Arc<[Attribution]> {
    for one in &mut found {
        one.objects.sort_unstable_by(|left, right| left.name.cmp(&right.name));
    }
    found.into()
}

/// Returns the contributions of the objects to the output when their statuses were written. Texts that cannot
/// be parsed contribute nothing.
pub fn in_force(entries: &[Arc<QueueAclEntry>]) -> Arc<[Attribution]> {
    let mut found: BTreeMap<(&str, QueuePath, Right), Attribution> = BTreeMap::new();
    for entry in entries {
        let Some(memory) = &entry.in_force else { continue };
        let Ok(queue) = QueuePath::parse(&memory.queue) else { continue };
        for right in Right::ALL {
            let Some(acl) = memory.acl(right) else { continue };
            let key = (memory.partition.as_str(), queue.clone(), right);
            let one = found.entry(key).or_insert_with(|| {
                Attribution::new((memory.partition.as_str().into(), queue.clone(), right))
            });
            one.add(&entry.meta, acl, memory.expires_at, memory.base_acl);
        }
    }
    by_name(found.into_values().collect())
}

/// Describes each ACL of the base that objects replaced before but no object replaces afterwards.
pub fn returning(before: &[Attribution], after: &[Attribution], base: &Config) -> Vec<String> {
    let key = |part: &Attribution| (Arc::clone(&part.partition), part.queue.clone(), part.right);
    let replaced: BTreeSet<_> = after.iter().filter(|part| !part.base_stays).map(key).collect();
    let free = before.iter().filter(|part| !part.base_stays && !replaced.contains(&key(part)));
    let returning = free.map(|part| (part, part.acl_in(base))).filter(|(_, acl)| !acl.is_nobody());
    let described = returning.map(|(Attribution { queue, right, .. }, acl)| {
        format!(
            "the base's own {} of queue `{queue}` is in force again and gives access to {}: to keep the \
             queue closed, change the base first",
            right.key(),
            people(&acl, &Aliased::default())
        )
    });
    described.collect()
}

/// Returns the people who have a right on a queue, through its ACLs and those above, from `end` on: without
/// the grants that end by then.
pub(crate) fn left(
    attributions: &[Attribution],
    base: Option<&Config>,
    (partition, queue, right): (&str, &QueuePath, Right),
    end: Timestamp,
) -> Acl {
    let own = |path: QueuePath| {
        let key = (partition, &path, right);
        let found = attributions.binary_search_by(|it| (&*it.partition, &it.queue, it.right).cmp(&key));
        let Some(one) = found.ok().and_then(|index| attributions.get(index)) else {
            let queue = base.and_then(|base| base.partition(partition)?.queue(&path));
            return queue.map(|queue| acl_of(queue, right)).unwrap_or_default();
        };
        let lasting = one.objects.iter().filter(|part| part.until.is_none_or(|until| until > end));
        lasting.fold(one.of_base(base), |all, part| all.union(&part.acl))
    };
    queue.lineage().map(own).fold(Acl::nobody(), |all, acl| all.union(&acl))
}

/// Returns the names of the objects that let everyone in at a root queue, each once.
pub(crate) fn opens_root(attributions: &[Attribution]) -> BTreeSet<&str> {
    let objects = attributions.iter().filter(|part| part.queue.is_root()).flat_map(|part| &part.objects);
    objects.filter(|part| part.acl.is_everyone()).map(|part| &*part.name).collect()
}

/// Returns the partitions of a configuration.
pub(crate) fn trees(config: Option<&Config>, aliased: &Arc<Aliased>) -> Vec<Tree> {
    let partitions = config.into_iter().flat_map(|config| &config.partitions);
    let named = |mut tree: Tree| {
        tree.name_aliases(Arc::clone(aliased));
        tree
    };
    partitions.filter_map(|partition| Tree::new(partition).ok().map(named)).collect()
}

/// Marks each entry of a partition's ACLs with the objects that wrote it.
pub(crate) fn mark(tree: &mut Tree, attributions: &[Attribution]) {
    let partition = tree.partition().to_owned();
    for part in attributions.iter().filter(|part| part.partition.eq_ignore_ascii_case(&partition)) {
        for Part { name, acl, until } in &part.objects {
            let object = Origin::Object { kind: "QueueAcl", name: name.to_string(), until: *until };
            tree.attribute(&part.queue, part.right, object, acl);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{Entry, QueueAclInForce};
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

    fn entry(name: &str, submit: Option<&str>, base_acl: BaseAcl) -> Arc<QueueAclEntry> {
        let in_force = QueueAclInForce {
            partition: "default".to_owned(),
            queue: "root.a".to_owned(),
            submit: submit.map(str::to_owned),
            admin: None,
            base_acl,
            expires_at: None,
            delegated_by: None,
        };
        let meta = Meta { name: name.into(), ..Meta::default() };
        Arc::new(Entry { meta, spec: Err(Vec::new()), in_force: Some(in_force.into()) })
    }

    #[test]
    fn the_base_stays_when_every_object_says_so() {
        let cases = [
            (BaseAcl::Extend, BaseAcl::Extend, true),
            (BaseAcl::Extend, BaseAcl::Replace, false),
            (BaseAcl::Replace, BaseAcl::Replace, false),
        ];
        for (first, second, stays) in cases {
            let found = in_force(&[entry("b", Some("sue"), first), entry("a", Some(" dev"), second)]);
            let [one] = &*found else { panic!("{found:?}") };
            assert_eq!(one.base_stays, stays, "{first:?} {second:?}");
            let names: Vec<_> = one.objects.iter().map(|part| (&*part.name, part.acl.canonical())).collect();
            assert_eq!(names, [("a", " dev".to_owned()), ("b", "sue".to_owned())]);
        }
    }

    #[test]
    fn a_right_that_no_object_sets_is_nobodys() {
        assert_eq!(
            *in_force(&[entry("a", None, BaseAcl::Replace), entry("b", Some("a  b"), BaseAcl::Replace)]),
            []
        );
    }

    #[test]
    fn acls_of_other_partitions_queues_and_rights_stand_apart() {
        let at = |name: &str, partition: &str, queue: &str, admin: Option<&str>| {
            let mut object = entry(name, Some("sue"), BaseAcl::Replace);
            let in_force = Arc::make_mut(Arc::make_mut(&mut object).in_force.as_mut().unwrap());
            in_force.partition = partition.to_owned();
            in_force.queue = queue.to_owned();
            in_force.admin = admin.map(str::to_owned);
            object
        };
        let entries = [
            at("d", "gpu", "root.a", None),
            at("c", "default", "root.b", None),
            at("b", "default", "root.a", Some(" ops")),
            at("a", "default", "root.a", None),
        ];
        let found = in_force(&entries);
        let places: Vec<_> = found
            .iter()
            .map(|one| {
                let names: Vec<_> = one.objects.iter().map(|part| &*part.name).collect();
                (&*one.partition, one.queue.as_str(), one.right, names.join(","))
            })
            .collect();
        let expected = [
            ("default", "root.a", Right::Submit, "a,b"),
            ("default", "root.a", Right::Admin, "b"),
            ("default", "root.b", Right::Submit, "c"),
            ("gpu", "root.a", Right::Submit, "d"),
        ];
        assert_eq!(places, expected.map(|(at, queue, right, names)| (at, queue, right, names.to_owned())));
        assert_eq!(found[1].objects[0].acl.canonical(), " ops");
    }
}
