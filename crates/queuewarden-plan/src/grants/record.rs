//! Records which version of each object is in force, next to the text that grants it.
//!
//! An object that becomes invalid keeps its last valid version. Its status records that version, but a status
//! is written after the text, may be late for long, and may be lost. So a written text carries the grants of
//! the objects whose status does not record them yet. Nothing that stays in force exceeds the text that was
//! written last: withdrawn access does not come back.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::grants::{Contribution, Resolved};
use crate::planted::{PlantedFault, is_planted};
use crate::snapshot::{ConfigMapState, QueueAclEntry, QueueAclInForce};
use yunikorn::Config;

/// Most bytes of ACLs and names that are noted: the annotations of an object have 256 KiB together. Of the
/// other objects, only the access that their status and the text both grant stays in force.
const MAX_BYTES: usize = 96 * 1024;

/// The grants of a text, by the uids of the objects; `None` for an object that it grants nothing.
type Notes = BTreeMap<String, Option<QueueAclInForce>>;

/// The text that was written last, and the notes beside it.
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

    /// Returns whether a text grants something else of an object than is in force. A partial text adds
    /// nothing.
    pub(crate) fn differs(&self, partial: Option<&Config>, object: &Resolved<'_>) -> bool {
        let was = self.in_force(object.entry);
        (partial.is_none() || was.is_some()) && !remembers(was, granted(partial, object).as_deref())
    }
}

/// Returns what the output notes about an object. Objects from files have no uid, and so share one note.
pub(crate) fn noted<'o>(
    output: Option<&'o ConfigMapState>,
    entry: &QueueAclEntry,
) -> Option<&'o Option<QueueAclInForce>> {
    let output = output.filter(|_| !is_planted(PlantedFault::KeptByStatusAlone))?;
    output.in_force.get(&*entry.meta.uid).filter(|_| !entry.meta.uid.is_empty())
}

/// Returns what a text grants of the objects whose status does not record it; `None` where the output notes
/// that already. A full text grants all that they contribute, a `partial` one what its queues contain.
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

/// Returns new notes if one of them is no longer true although the text stays: an object gave up access that
/// another one, or the base, still grants. That access must not come back through this object.
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

/// Returns what a text grants of an object.
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

/// Returns roughly the bytes that one object takes.
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
