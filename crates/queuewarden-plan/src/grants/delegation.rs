//! Decides which objects written by queue administrators are in effect (delegation).
//!
//! Such an object counts while ACLs that do not depend on it make its writer administrator of its queue, or
//! of one above. It is evaluated again in each round, regardless of any webhook: rights end, and a webhook
//! can be missing. It only adds (`baseAcl: Extend`), so that nobody can take away what cluster administrators
//! grant. Therefore the result does not depend on an order. An administrator made by a delegated object may
//! delegate in turn, as long as the chain begins with a cluster administrator's grant.

use std::collections::BTreeMap;

use crate::conditions::Reason;
use crate::effective::{AclDecisions, acl_of};
use crate::grants::contribution::Acls;
use crate::grants::{Contribution, ObjectRefusal, Resolved, combine};
use crate::planted::{PlantedFault, is_planted};
use crate::snapshot::BaseAcl;
use go_compat::diag::quoted;
use yunikorn::{Acl, Config, Identity, QueuePath, Right};
use yunikorn_access::alias;

/// The longest chain of administrators in which each one's right comes from an object of the previous one.
pub(crate) const MAX_CHAIN: usize = 16;
/// Bytes of ACLs that one writer's objects may add, because all ACLs share a ConfigMap of 1 MiB.
pub(crate) const MAX_BYTES_OF_ONE: usize = 32 * 1024;
/// Maximum bytes of ACLs that all delegated objects may add. The limit is lower if the base, other keys and
/// the cluster administrators' objects leave less of the ConfigMap.
pub(crate) const MAX_BYTES: usize = 256 * 1024;

/// Maximum number of objects of one writer, including objects that grant nothing now, because each takes
/// memory in the operator.
pub(crate) const MAX_OBJECTS_OF_ONE: usize = 200;
/// Maximum number of delegated objects whose writers administer their queue.
pub(crate) const MAX_OBJECTS: usize = 2000;
/// Maximum stored bytes of one writer's objects ([`Meta::stored`](crate::snapshot::Meta::stored)), in force
/// or not. With all 200 objects, each may have 655: a grant to five names takes 200, and `kubectl apply` adds
/// the same again as an annotation.
pub(crate) const MAX_STORED_OF_ONE: usize = 128 * 1024;
/// Maximum stored bytes of all delegated objects.
pub(crate) const MAX_STORED: usize = 1024 * 1024;

/// The administrators of all queues, according to the objects in effect.
pub(crate) struct Administrators<'a> {
    grants: AclDecisions,
    tree: &'a Config,
}

impl<'a> Administrators<'a> {
    /// Collects the administrators from these objects and the base.
    pub(crate) fn new<'o>(objects: impl IntoIterator<Item = &'o Resolved<'o>>, tree: &'a Config) -> Self {
        Self { grants: combine::decide(objects, tree), tree }
    }

    /// Returns whether `identity` administers a queue, through the ACLs of the queue or those above. The
    /// queue need not exist.
    pub(crate) fn contain(&self, identity: &Identity, partition: &str, queue: &QueuePath) -> bool {
        self.queues(identity, partition, queue).next().is_some()
    }

    /// Returns the highest queue whose ACL makes `identity` administrator of `queue`.
    pub(crate) fn highest(
        &self,
        identity: &Identity,
        partition: &str,
        queue: &QueuePath,
    ) -> Option<QueuePath> {
        self.queues(identity, partition, queue).last()
    }

    /// Returns each queue, from this one upwards, whose ACL names `identity`.
    fn queues(
        &self,
        identity: &Identity,
        partition: &str,
        queue: &QueuePath,
    ) -> impl Iterator<Item = QueuePath> {
        let identity = alias::presented(identity, |_| true);
        let allows = move |acl: &Acl| acl.allows(&identity.user, &identity.groups);
        let partition = self.tree.partition(partition);
        let lineage =
            partition.into_iter().flat_map(|partition| queue.lineage().map(move |path| (partition, path)));
        let named = lineage.filter(move |(partition, path)| {
            match (self.grants.get(&partition.name, path, Right::Admin), partition.queue(path)) {
                (Some(decided), _) => allows(&decided.acl),
                (None, Some(queue)) => allows(&acl_of(queue, Right::Admin)),
                (None, None) => false,
            }
        });
        named.map(|(_, path)| path)
    }
}

/// Refuses the objects that are not in effect. `room` is the number of bytes in the ConfigMap that are free
/// without any object.
pub(crate) fn recheck(objects: &mut [Resolved<'_>], delegation: bool, tree: &Config, room: usize) {
    if objects.iter().all(|object| claim(object).is_none()) {
        return;
    }
    let (mut waiting, others): (Vec<_>, Vec<_>) =
        objects.iter_mut().partition(|object| claim(object).is_some());
    // Oldest first, so that new objects are refused for lack of space rather than old ones.
    waiting.sort_by_key(|object| {
        let meta = &object.entry.meta;
        (meta.created.is_none(), meta.created, &meta.name)
    });
    for object in &mut waiting {
        let deleting = object.entry.meta.deleting;
        if let Some(why) = object.contribution().and_then(|it| never(it, delegation, deleting)) {
            refuse(object, Reason::NotDelegated, why);
        }
    }
    if !delegation {
        return;
    }
    let mut counting: Vec<&Resolved<'_>> = others.into_iter().map(|object| &*object).collect();
    let others = counting.iter().filter_map(|object| object.contribution()).map(bytes);
    let room = others.fold(room, usize::saturating_sub);
    let mut room = DelegatedSize::new(room.min(MAX_BYTES));
    for _ in 0..MAX_CHAIN {
        let administrators = Administrators::new(counting.iter().copied(), tree);
        let (entitled, others): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|object| {
            claim(object).is_some_and(|(by, partition, queue)| administrators.contain(by, partition, &queue))
        });
        waiting = others;
        if entitled.is_empty() {
            break;
        }
        for object in entitled {
            let stored = object.entry.meta.stored;
            if let Some(message) = claim(object).and_then(|(by, ..)| room.count(&by.user, stored)) {
                // Even if it was refused for another reason.
                object.refuse(ObjectRefusal::new(Reason::TooLarge, message));
            } else if let Some(why) = object.contribution().and_then(|it| room.take(it)) {
                refuse(object, Reason::TooLarge, why);
            } else {
                counting.push(object);
            }
        }
    }
    for object in waiting {
        if is_planted(PlantedFault::DelegationLasts) {
            break;
        }
        if let Some(why) = object.contribution().map(no_administrator) {
            refuse(object, Reason::NotDelegated, why);
        }
    }
}

/// The space in the API server that a delegate's object takes once it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promise {
    /// The name of the object.
    pub name: String,
    /// The administrator who wrote it.
    pub writer: String,
    /// Its bytes.
    pub stored: usize,
}

/// Why a change does not fit.
pub(crate) enum NoSpace {
    /// Stored objects take it.
    Stored(String),
    /// The space is reserved for changes that may not be stored yet.
    Promised,
}

/// Checks that `wanted` fits within the limits together with the stored objects and with changes that were
/// already accepted.
pub(crate) fn check_space(
    objects: &[Resolved<'_>],
    wanted: &Promise,
    promised: &[Promise],
) -> Result<(), NoSpace> {
    // Objects whose writers do not administer their queue take no space.
    let counts =
        |object: &&Resolved<'_>| !matches!(&object.outcome, Err(why) if why.reason == Reason::NotDelegated);
    let stored = objects.iter().filter(counts).filter_map(|object| {
        let meta = &object.entry.meta;
        Some(((claim(object)?.0.user.as_str(), &*meta.name), meta.stored))
    });
    let mut stored: BTreeMap<_, _> = stored.filter(|((_, name), _)| *name != wanted.name).collect();
    let lacks = |stored: &BTreeMap<(&str, &str), usize>| {
        let mut size = DelegatedSize::default();
        for ((writer, _), bytes) in stored {
            size.add(writer, *bytes);
        }
        size.lacks(&wanted.writer, wanted.stored)
    };
    if let Some(message) = lacks(&stored) {
        return Err(NoSpace::Stored(message));
    }
    for Promise { name, writer, stored: bytes } in promised {
        let largest = stored.entry((writer, name)).or_default();
        *largest = (*bytes).max(*largest);
    }
    stored.remove(&(wanted.writer.as_str(), wanted.name.as_str()));
    lacks(&stored).map_or(Ok(()), |_| Err(NoSpace::Promised))
}

/// Returns the administrator who wrote an object, its partition and its queue. This includes objects that
/// grant nothing now, because they are stored too.
fn claim<'o>(object: &'o Resolved<'_>) -> Option<(&'o Identity, &'o str, QueuePath)> {
    if let Some(it) = object.contribution() {
        return Some((it.delegated_by.as_ref()?, &it.partition, it.queue.clone()));
    }
    let spec = object.entry.spec.as_ref().ok()?;
    Some((spec.delegated_by.as_ref()?, &spec.partition, QueuePath::parse(&spec.queue).ok()?))
}

/// Returns why an object is not in effect, regardless of who administers what.
fn never(contribution: &Contribution, delegation: bool, deleting: bool) -> Option<String> {
    if !delegation {
        return Some(
            "it is written in the name of a queue administrator (`delegatedBy`), but `delegation` of \
             YuniKornConfig `default` is Disabled"
                .to_owned(),
        );
    }
    let Contribution { queue, base_acl, by_right, .. } = contribution;
    let granted = || if deleting { None } else { granted(by_right) };
    content(queue, *base_acl).or_else(granted).map(str::to_owned)
}

/// Returns why a grant on this queue with this `baseAcl` can never be delegated, or `None` if it can.
pub(crate) fn content(queue: &QueuePath, base_acl: BaseAcl) -> Option<&'static str> {
    if queue.is_root() {
        return Some("queue `root` cannot be delegated: only cluster administrators can grant on it");
    }
    (base_acl != BaseAcl::Extend).then_some(
        "queue administrators can add to the access that cluster administrators grant, but not remove it: \
         write `baseAcl: Extend`",
    )
}

/// Returns why these ACLs can never be delegated, or `None` if they can.
pub(crate) fn granted(acls: &Acls) -> Option<&'static str> {
    let [_, admin] = acls;
    if admin.as_ref().is_some_and(Acl::is_everyone) {
        return Some(
            "it makes everyone an administrator: name users or groups, or ask a cluster administrator to \
             write `admin: {everyone: true}`",
        );
    }
    acls.iter().flatten().all(Acl::is_nobody).then_some(
        "it grants nothing, and queue administrators cannot remove access: name users or groups, or delete it",
    )
}

/// Returns the message that the contribution's writer does not administer its queue.
pub(crate) fn no_administrator(contribution: &Contribution) -> String {
    let who = contribution.delegated_by.as_ref().map(shown).unwrap_or_default();
    not_administered(&who, &contribution.queue)
}

/// Returns the message that `who` does not administer the queue.
pub(crate) fn not_administered(who: &str, queue: &QueuePath) -> String {
    format!("{who} does not administer queue `{queue}` or a queue above it through any other object's ACLs")
}

/// Formats an identity for a message: `user "sue" (groups "ops")`.
pub(crate) fn shown(by: &Identity) -> String {
    let groups: Vec<_> = by.groups.iter().take(8).map(|group| quoted(group)).collect();
    if groups.is_empty() {
        return format!("user {}", quoted(&by.user));
    }
    format!("user {} (groups {})", quoted(&by.user), groups.join(", "))
}

/// Refuses an object. An object that was refused earlier keeps its reason.
fn refuse(object: &mut Resolved<'_>, reason: Reason, message: String) {
    object.last_valid = None;
    if object.outcome.is_ok() {
        object.refuse(ObjectRefusal::new(reason, message));
    }
}

/// Returns the bytes of the ACLs of an object.
fn bytes(contribution: &Contribution) -> usize {
    contribution.acls().map(|(_, acl)| acl.canonical().len()).sum()
}

/// The space that objects take.
#[derive(Debug, Default)]
struct Space {
    objects: usize,
    /// Bytes in the API server.
    stored: usize,
    /// Bytes of ACLs in the ConfigMap.
    acls: usize,
}

/// The space that delegated objects take.
#[derive(Debug, Default)]
struct DelegatedSize {
    /// Most bytes of ACLs.
    most: usize,
    all: Space,
    of_one: BTreeMap<String, Space>,
}

impl DelegatedSize {
    fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// Adds a writer's object of `stored` bytes, or returns why it does not fit.
    fn count(&mut self, user: &str, stored: usize) -> Option<String> {
        let message = self.lacks(user, stored);
        if message.is_none() {
            self.add(user, stored);
        }
        message
    }

    /// Adds a stored object of a writer.
    fn add(&mut self, user: &str, stored: usize) {
        for space in [self.of_one.entry(user.to_owned()).or_default(), &mut self.all] {
            space.objects = space.objects.saturating_add(1);
            space.stored = space.stored.saturating_add(stored);
        }
    }

    /// Returns why a writer's object of `stored` bytes does not fit.
    fn lacks(&self, user: &str, stored: usize) -> Option<String> {
        let (all, none) = (&self.all, Space::default());
        let one = self.of_one.get(user).unwrap_or(&none);
        if one.objects >= MAX_OBJECTS_OF_ONE {
            return Some(format!(
                "this writer already has {MAX_OBJECTS_OF_ONE} objects: delete some, combine several users \
                 and groups in one object, or ask a cluster administrator"
            ));
        }
        if all.objects >= MAX_OBJECTS {
            return Some(format!("there are already {MAX_OBJECTS} delegated objects: delete some"));
        }
        if one.stored.saturating_add(stored) > MAX_STORED_OF_ONE {
            return Some(format!(
                "the objects of this writer would take more than {MAX_STORED_OF_ONE} bytes, with labels and annotations, in force or not: \
                 delete some, grant groups instead of users, or ask a cluster administrator"
            ));
        }
        if all.stored.saturating_add(stored) > MAX_STORED {
            return Some(format!(
                "all delegated objects together would take more than {MAX_STORED} bytes, with labels and annotations, in force or not: \
                 delete some"
            ));
        }
        None
    }

    /// Reserves the bytes that an object needs, or returns why there are too few.
    fn take(&mut self, contribution: &Contribution) -> Option<String> {
        let needs = bytes(contribution);
        let user = contribution.delegated_by.as_ref().map(|by| by.user.clone()).unwrap_or_default();
        let one = self.of_one.entry(user).or_default();
        if one.acls.saturating_add(needs) > MAX_BYTES_OF_ONE {
            return Some(format!(
                "the objects of this writer would add more than {MAX_BYTES_OF_ONE} bytes of ACLs: grant groups instead of users, or ask a \
                 cluster administrator"
            ));
        }
        let most = self.most;
        if self.all.acls.saturating_add(needs) > most {
            return Some(format!("all delegated objects together would add more than {most} bytes of ACLs"));
        }
        one.acls = one.acls.saturating_add(needs);
        self.all.acls = self.all.acls.saturating_add(needs);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use yunikorn::acl::Acl;

    /// Returns an object of `writer` that adds this many names of 63 bytes, each with its comma except the
    /// last, or one of a single byte.
    fn adds(writer: usize, names: usize) -> Contribution {
        let name = |number| if names == 1 { "a".to_owned() } else { format!("u{number:062}") };
        let users: Vec<_> = (0..names).map(name).collect();
        Contribution {
            left_out: Acl::nobody(),
            partition: "default".into(),
            queue: QueuePath::parse("root.a").unwrap(),
            position: 1,
            by_right: [Some(Acl::named(&users, &Vec::<String>::new()).unwrap()), None],
            base_acl: BaseAcl::Extend,
            expires_at: None,
            delegated_by: Some(Identity { user: format!("writer{writer}"), groups: Vec::new() }),
        }
    }

    #[test]
    fn objects_of_one_writer_and_of_all_together_are_counted() {
        let mut room = DelegatedSize::new(MAX_BYTES);
        for writer in 0..MAX_OBJECTS / MAX_OBJECTS_OF_ONE {
            for _ in 0..MAX_OBJECTS_OF_ONE {
                assert_eq!(room.count(&format!("writer{writer}"), 1), None);
            }
            let one = room.count(&format!("writer{writer}"), 1).unwrap();
            assert!(one.contains("this writer already has 200 objects"), "{one}");
        }
        let all = room.count("another", 1).unwrap();
        assert!(all.contains("2000 delegated objects"), "{all}");
    }

    #[test]
    fn bytes_that_objects_of_one_writer_and_of_all_take_are_bounded_to_the_byte() {
        let mut room = DelegatedSize::new(MAX_BYTES);
        for writer in 0..MAX_STORED / MAX_STORED_OF_ONE {
            let writer = format!("writer{writer}");
            assert_eq!(room.count(&writer, MAX_STORED_OF_ONE - 1), None);
            let one = room.count(&writer, 2).unwrap();
            assert!(one.contains("this writer would take more than 131072 bytes"), "{one}");
            assert_eq!(room.count(&writer, 1), None, "a refused object takes nothing");
        }
        let all = room.count("another", 1).unwrap();
        assert!(all.contains("all delegated objects together would take more than 1048576 bytes"), "{all}");
    }

    #[test]
    fn what_one_writer_and_all_together_add_is_bounded_to_the_byte() {
        let mut room = DelegatedSize::new(MAX_BYTES);
        for writer in 0..MAX_BYTES / MAX_BYTES_OF_ONE {
            assert_eq!(room.take(&adds(writer, MAX_BYTES_OF_ONE / 64)), None, "all but one byte");
            assert_eq!(room.take(&adds(writer, 1)), None, "the last byte");
        }
        let one = room.take(&adds(0, 1)).unwrap();
        assert!(one.contains("this writer would add more than 32768 bytes"), "{one}");
        let all = room.take(&adds(usize::MAX, 1)).unwrap();
        assert!(all.contains("all delegated objects together would add more than 262144 bytes"), "{all}");
    }
}
