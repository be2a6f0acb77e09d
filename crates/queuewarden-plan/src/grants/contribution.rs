//! One `QueueAcl` after it was resolved: the ACLs that it contributes, or why it is refused; and which ACLs
//! change no decision: access only adds up towards the root, so a wildcard above makes the others redundant.
//!
//! An object that becomes invalid keeps its last valid version. Its status records that version, but a status
//! is written after the text, may be very late, and may be lost. A written text therefore carries the grants
//! of the objects whose status does not record them yet. Nothing that stays in force exceeds the text that
//! was written last, so withdrawn access does not come back.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::iter;
use std::sync::Arc;

use jiff::Timestamp;

use crate::conditions::Reason;
use crate::effective::{acl_of, text_of};
use crate::planted::{PlantedFault, is_planted};
use crate::snapshot::{BaseAcl, ConfigMapState, QueueAclEntry, QueueAclInForce};
use go_compat::diag::Diagnostic;
use yunikorn::config::Queue;
use yunikorn::{Acl, Config, Identity, QueuePath, Right};
use yunikorn_access::alias;

/// The ACLs that an object sets, by right, in the order of [`Right::ALL`].
pub(crate) type Acls = [Option<Acl>; Right::ALL.len()];

/// The ACLs that one object adds to one queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Contribution {
    /// Normalised partition name.
    pub partition: Arc<str>,
    /// The queue, which exists.
    pub queue: QueuePath,
    /// Its position in the tree that the object was resolved against.
    pub position: u32,
    /// The ACLs that the object sets.
    pub by_right: Acls,
    /// The choice of keeping or replacing the base's own ACL.
    pub base_acl: BaseAcl,
    /// When the grant ends.
    pub expires_at: Option<Timestamp>,
    /// The queue administrator who wrote it, for a delegated object.
    pub delegated_by: Option<Identity>,
    /// The aliases that are left out, because no webhook writes them into the pods.
    pub left_out: Acl,
}

impl Contribution {
    /// Returns the ACL that it sets for `right`.
    pub(crate) fn grant(&self, right: Right) -> Option<&Acl> {
        self.by_right.get(right as usize)?.as_ref()
    }

    /// Returns the ACLs that it sets.
    pub(crate) fn acls(&self) -> impl Iterator<Item = (Right, &Acl)> {
        Right::ALL.into_iter().filter_map(|right| Some((right, self.grant(right)?)))
    }

    /// Finds the queue in a tree.
    pub(crate) fn queue_in<'t>(&self, tree: &'t Config) -> Option<&'t Queue> {
        tree.partition(&self.partition)?.queue_near(self.position, &self.queue)
    }

    /// Returns the contribution with empty ACLs: an object that is suspended or being deleted grants nothing,
    /// but still replaces the base's ACLs.
    pub(crate) fn closing(self) -> Self {
        Self { by_right: self.by_right.map(|acl| acl.map(|_| Acl::nobody())), ..self }
    }

    /// Returns the contribution without aliases, after `before` was in force; `None` if nothing is left of
    /// it. A right that only aliases hold is left out, so that no one loses access to a grant that no one
    /// gets. If it was in force, it stays set, because the base's own ACL must not come back.
    pub(super) fn without_aliases(self, before: Option<&QueueAclInForce>) -> Option<Self> {
        if !self.acls().any(|(_, acl)| alias::may_name(acl.groups().as_str())) {
            return Some(self);
        }
        let before = before.filter(|before| {
            *self.partition == *before.partition
                && self.queue.as_str() == before.queue
                && (before.base_acl == BaseAcl::Replace || self.base_acl == BaseAcl::Extend)
        });
        let mut left_out = Acl::nobody();
        let by_right = Right::ALL.map(|right| {
            let acl = self.grant(right)?;
            let aliases: Vec<_> = acl.groups().iter().filter(|group| alias::is_alias(group)).collect();
            let aliases = Acl::named(&[""; 0], &aliases).unwrap_or_default();
            left_out = left_out.union(&aliases);
            let rest = acl.lost(&aliases);
            let was_set = before.is_some_and(|before| before.acl(right).is_some());
            let was_set = (was_set || is_planted(PlantedFault::AliasesReplace))
                && !is_planted(PlantedFault::AliasesForget);
            (aliases.is_nobody() || !rest.is_nobody() || was_set).then_some(rest)
        });
        by_right.iter().any(Option::is_some).then_some(Self { by_right, left_out, ..self })
    }

    /// Returns the contribution, limited to what `tree` grants at the queue.
    pub(crate) fn limited_to(self, tree: Option<&Config>) -> Self {
        let queue = tree.and_then(|tree| self.queue_in(tree));
        let by_right = Right::ALL.map(|right| {
            let acl = self.grant(right)?;
            Some(queue.map_or_else(Acl::nobody, |queue| acl_of(queue, right).intersection(acl)))
        });
        Self { by_right, ..self }
    }

    /// Returns whether the status records exactly this.
    pub(crate) fn is(&self, memory: &QueueAclInForce) -> bool {
        self.grants(memory)
            && self.expires_at == memory.expires_at
            && self.delegated_by == memory.delegated_by
    }

    /// Returns whether both grant the same on the same queue.
    pub(crate) fn grants(&self, memory: &QueueAclInForce) -> bool {
        let same = |right, text: &Option<String>| match (self.grant(right), text) {
            (Some(acl), Some(text)) => acl.is_explicit(text),
            (acl, text) => acl.is_none() && text.is_none(),
        };
        *self.partition == *memory.partition
            && self.queue.as_str() == memory.queue
            && same(Right::Submit, &memory.submit)
            && same(Right::Admin, &memory.admin)
            && self.base_acl == memory.base_acl
    }

    /// Returns its record for the status.
    pub(crate) fn in_force(&self) -> QueueAclInForce {
        let [submit, admin] = Right::ALL.map(|right| self.grant(right).map(Acl::explicit));
        QueueAclInForce {
            partition: self.partition.to_string(),
            queue: self.queue.to_string(),
            submit,
            admin,
            base_acl: self.base_acl,
            expires_at: self.expires_at,
            delegated_by: self.delegated_by.clone(),
        }
    }
}

/// Why an object is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObjectRefusal {
    /// The reason of `Accepted=False`.
    pub reason: Reason,
    /// The message, which explains the cause.
    pub message: String,
}

/// The result of resolving one object.
#[derive(Debug)]
pub(crate) struct Resolved<'a> {
    /// The object.
    pub entry: &'a QueueAclEntry,
    /// The object's contribution, or why it is refused.
    pub outcome: Result<Contribution, ObjectRefusal>,
    /// The version that stays in force although the object is refused: the last valid version of an invalid
    /// object, or a suspended object's replacement of the base's ACLs.
    pub last_valid: Option<Box<Contribution>>,
    /// The grants of an object outside its time window that it would make within the window.
    pub lapsed: Option<Box<Contribution>>,
    /// Warnings about an object that is accepted nevertheless.
    pub warnings: Vec<Diagnostic>,
}

impl Resolved<'_> {
    /// Returns its contribution to the plan: from its current version, or else from its last valid one.
    pub(crate) fn contribution(&self) -> Option<&Contribution> {
        self.outcome.as_ref().ok().or(self.last_valid.as_deref())
    }

    /// Refuses it, so that nothing of it stays in force.
    pub(crate) fn refuse(&mut self, refusal: ObjectRefusal) {
        self.outcome = Err(refusal);
        self.last_valid = None;
    }
}

impl ObjectRefusal {
    /// Makes the refusal for a reason.
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

/// Refuses an object because of these errors in it.
pub(crate) fn invalid(diagnostics: &[Diagnostic]) -> ObjectRefusal {
    ObjectRefusal::new(Reason::Invalid, joined(diagnostics))
}

/// Returns the diagnostics as one message.
pub(crate) fn joined<'d>(diagnostics: impl IntoIterator<Item = &'d Diagnostic>) -> String {
    diagnostics.into_iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Returns the queue and the ACL that make `right` on the contribution's queue redundant in `tree`: an ACL
/// above it, or another ACL of the queue itself, admits everyone. `adminacl` grants submit as well
/// (yunikorn-core `queue.go:798-822`).
pub(crate) fn redundant(
    tree: &Config,
    contribution: &Contribution,
    right: Right,
) -> Option<(QueuePath, Right)> {
    let partition = tree.partition(&contribution.partition)?;
    let Contribution { position, queue: path, .. } = contribution;
    let nearest = partition.queue_near(*position, path).unwrap_or_else(|| partition.nearest(path));
    let own_everyone = contribution.grant(right).is_some_and(yunikorn::acl::Acl::is_everyone);
    let lineage = iter::successors(Some(nearest), |queue| partition.parent(queue));
    lineage.into_iter().find_map(|queue| {
        right
            .acls()
            .iter()
            .copied()
            .filter(|by| !(own_everyone && queue.path == contribution.queue && *by == right))
            .find(|by| everyone(queue, *by))
            .map(|through| (queue.path.clone(), through))
    })
}

fn everyone(queue: &Queue, right: Right) -> bool {
    // Very few ACLs admit everyone; this check avoids parsing the others.
    text_of(queue, right).is_some_and(|text| text.contains('*')) && acl_of(queue, right).is_everyone()
}

/// Returns the first partition whose root admits everyone, and through which ACL.
pub(crate) fn open_root(tree: &Config) -> Option<(&str, Right)> {
    tree.partitions.iter().find_map(|partition| {
        let right = Right::ALL.into_iter().find(|right| everyone(partition.root(), *right))?;
        Some((&*partition.name, right))
    })
}

/// Maximum bytes of ACLs and names in the notes, because an object's annotations are limited to 256 KiB in
/// total. For objects without a note, only the access that both their status and the text grant stays in
/// force.
const MAX_BYTES: usize = 96 * 1024;

/// The grants of a text, by the uids of the objects; `None` for an object that gets nothing from it.
type Notes = BTreeMap<String, Option<QueueAclInForce>>;

/// The text that was written last, and the notes on the same ConfigMap.
#[derive(Debug)]
pub(crate) struct InForceRecord<'a> {
    /// The output, which has the notes.
    pub output: Option<&'a ConfigMapState>,
    /// The queues of the text.
    pub tree: Option<&'a Config>,
}

impl InForceRecord<'_> {
    /// Returns the version of an object that is in force, by the output or else by the object's status.
    pub(crate) fn in_force<'e>(&'e self, entry: &'e QueueAclEntry) -> Option<&'e QueueAclInForce> {
        match noted(self.output, entry) {
            Some(noted) => noted.as_ref(),
            None => entry.in_force.as_deref(),
        }
    }

    /// Returns whether a text grants something other than the version of an object in force. A partial text
    /// adds nothing.
    pub(crate) fn differs(&self, partial: Option<&Config>, object: &Resolved<'_>) -> bool {
        let was = self.in_force(object.entry);
        (partial.is_none() || was.is_some()) && !remembers(was, granted(partial, object).as_deref())
    }
}

/// Returns the output's note about an object. Objects from files have no uid, so they would share one note.
pub(crate) fn noted<'o>(
    output: Option<&'o ConfigMapState>,
    entry: &QueueAclEntry,
) -> Option<&'o Option<QueueAclInForce>> {
    let output = output.filter(|_| !is_planted(PlantedFault::KeptByStatusAlone))?;
    output.in_force.get(&*entry.meta.uid).filter(|_| !entry.meta.uid.is_empty())
}

/// Returns notes about objects whose status does not record their grants in a text, or `None` if the output
/// already has these notes. A full text grants everything that they contribute; a `partial` one grants what
/// its queues contain.
pub(crate) fn changed(
    partial: Option<&Config>,
    objects: &[Resolved<'_>],
    output: Option<&ConfigMapState>,
) -> Option<Notes> {
    let noted = objects.iter().filter_map(|object| {
        let granted = granted(partial, object);
        let granted = granted.as_deref();
        let noted = || (object.entry.meta.uid.to_string(), granted.map(Contribution::in_force));
        (!remembers(object.entry.in_force.as_deref(), granted)).then(noted)
    });
    let mut bytes = 0_usize;
    let fits = |(uid, granted): &(String, Option<QueueAclInForce>)| {
        bytes = bytes.saturating_add(uid.len()).saturating_add(granted.as_ref().map_or(0, size));
        bytes <= MAX_BYTES
    };
    let noted: Notes = noted.take_while(fits).collect();
    let before = output.map(|output| &output.in_force);
    (before.map_or(!noted.is_empty(), |before| *before != noted)).then_some(noted)
}

/// Returns new notes if one of them is no longer true although the text is unchanged: an object has given up
/// access that another one, or the base, still grants. That access must not come back through this object.
pub(crate) fn corrected(
    partial: Option<&Config>,
    objects: &[Resolved<'_>],
    output: &ConfigMapState,
) -> Option<Notes> {
    let untrue = |object: &Resolved<'_>| {
        let noted = noted(Some(output), object.entry);
        noted.is_some_and(|noted| !remembers(noted.as_ref(), granted(partial, object).as_deref()))
    };
    objects.iter().any(untrue).then(|| changed(partial, objects, Some(output))).flatten()
}

/// Returns the part of an object's contribution that a text grants.
fn granted<'o>(partial: Option<&Config>, object: &'o Resolved<'_>) -> Option<Cow<'o, Contribution>> {
    let contribution = object.contribution()?;
    Some(match partial {
        None => Cow::Borrowed(contribution),
        Some(_) => Cow::Owned(contribution.clone().limited_to(partial)),
    })
}

/// Returns whether `memory` records exactly this grant.
fn remembers(memory: Option<&QueueAclInForce>, granted: Option<&Contribution>) -> bool {
    match (memory, granted) {
        (Some(memory), Some(granted)) => granted.is(memory),
        (memory, granted) => memory.is_none() && granted.is_none(),
    }
}

/// Returns the approximate number of bytes that one object takes.
fn size(granted: &QueueAclInForce) -> usize {
    let acls = [&granted.submit, &granted.admin].into_iter().flatten().map(String::len);
    let by = granted.delegated_by.iter().flat_map(|by| by.groups.iter().chain([&by.user]).map(String::len));
    [granted.partition.len(), granted.queue.len()]
        .into_iter()
        .chain(acls)
        .chain(by)
        .sum::<usize>()
        .saturating_add(128)
}
