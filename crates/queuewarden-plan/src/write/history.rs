//! The history of the output: the revision that records a write, and the old revisions to remove for it.
//!
//! A revision is a text written by queuewarden. Its number is in the text's header, so status, text and
//! history agree on it. A revision also has the access keys of the admission controller. If a write changes
//! only these, the revision has the number of the unchanged text. Its name contains a checksum of both and
//! the time, so recording it again, or twice at the same time, finds the existing one.
//!
//! A revision lists the causes of its write, and can be found by any time when it was in force.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::conditions::cut;
use crate::effective::{header, is_queues_key};
use crate::grants::InForceRecord;
use crate::write::{Write, WriteContext};
use go_compat::diag::{listed, quoted};
use yunikorn::config::checksum;
use yunikorn::{Config, admission};

/// The cause recorded for access keys that are removed.
const NO_POLICY: &str = "no AdmissionPolicy any more";

/// The suffix of the cause of a revision that reverted another program's change.
const PUT_BACK: &str = ", put back";

/// Maximum number of causes that a revision lists.
const MAX_CAUSES: usize = 20;

/// Returns the first causes, and the number of further ones.
pub(super) fn few(causes: Vec<String>) -> Vec<String> {
    let more = causes.len().saturating_sub(MAX_CAUSES);
    let more = (more > 0).then(|| format!("and {more} more"));
    causes.into_iter().take(MAX_CAUSES).chain(more).collect()
}

/// Lists the causes of the difference between the output and the output after `write`: objects whose part of
/// the text changes, a new base, the policy of changed keys, and reverted changes. A partial text has the
/// queues `partial`.
pub(crate) fn causes(context: &WriteContext<'_>, write: &Write, partial: Option<&Config>) -> Vec<String> {
    let output = context.read.snapshot.output.as_deref();
    let record = InForceRecord { output, tree: None };
    let tree = write.queue_tree().is_some();
    let objects = context.resolved.queue_acls.iter().filter(|object| tree && record.differs(partial, object));
    let mut causes: Vec<String> =
        objects.map(|object| format!("QueueAcl/{}", object.entry.meta.name)).collect();
    causes.sort_unstable();
    let last = context.read.snapshot.last_base.as_ref();
    let base = context.read.from.as_ref().filter(|base| tree && !write.partial && !base.is(last));
    causes.extend(base.map(|base| base.source.clone()));
    if write.admission().next().is_some() && !write.repair {
        let name = context.resolved.policies.counting.as_ref();
        causes.push(name.map_or_else(|| NO_POLICY.to_owned(), |name| format!("AdmissionPolicy/{name}")));
    }
    if write.repair {
        let others: Vec<String> = write.other_writers(output).iter().map(|other| quoted(other)).collect();
        let by = if others.is_empty() { "" } else { " by " };
        causes.push(format!("a change{by}{}{PUT_BACK}", listed(&others, 3, others.len())));
    }
    if write.reassert {
        causes.push("the scheduler did not load the text".to_owned());
    }
    few(causes)
}

/// Returns whether a revision with these causes reverted another program's change.
pub fn is_put_back(causes: &[String]) -> bool {
    causes.iter().any(|cause| cause.ends_with(PUT_BACK))
}

/// The most revisions that are stored.
pub const MAX_REVISIONS: usize = 100;
/// Maximum total bytes of all revisions, as stored: a five-hundredth of etcd's default limit of 2 GiB.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;
/// The beginning of the name of each revision.
pub const PREFIX: &str = "queuewarden-";
/// Maximum bytes of the sentence about access.
const MAX_ACCESS: usize = 1000;

/// A text that was written, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The number in the header of the text.
    pub number: u64,
    /// The time of the write, or when the text was found.
    pub at: Timestamp,
    /// The objects that made the difference, and other reasons; empty if unknown.
    pub causes: Vec<String>,
    /// A line on who gained and who lost access through it; `None` if unknown.
    pub access: Option<String>,
    /// The text.
    pub text: String,
    /// The access keys of the admission controller at the time.
    pub admission: BTreeMap<String, String>,
}

impl Revision {
    /// Creates the revision of a write that leaves `data` in the output. `gone` are the objects that the
    /// previous text was made from and that no longer exist. Returns `None` if the write did not set queues
    /// or access keys, or the text is not queuewarden's.
    pub fn of_write(
        write: &Write,
        data: &BTreeMap<String, String>,
        at: Timestamp,
        access: Option<&str>,
        gone: &[Arc<str>],
    ) -> Option<Self> {
        let is_text = |(key, text): &(&String, &String)| is_queues_key(key) && number(text).is_some();
        let beside = || data.iter().find(is_text).filter(|_| write.admission().next().is_some());
        let tree = write.queue_tree();
        let (_, text) = tree.or_else(beside)?;
        let gone = gone.iter().filter(|_| tree.is_some());
        let gone = few(gone.map(|name| format!("QueueAcl/{name} deleted")).collect());
        let causes = write.causes.iter().cloned().chain(gone).collect();
        let access = access.map(|access| cut(access, MAX_ACCESS).into_owned());
        Some(Self { number: number(text)?, at, causes, access, text: text.clone(), admission: keys(data) })
    }

    /// Returns its name in the store: its number, its checksum, and its time in milliseconds.
    pub fn name(&self) -> String {
        let keys = self.admission.iter().map(|(key, value)| format!("{key}\n{value}\n"));
        let hash = checksum(&std::iter::once(self.text.clone()).chain(keys).collect::<String>());
        let hash = hash.to_ascii_lowercase();
        let time = self.at.as_millisecond();
        format!("{PREFIX}{}-{}-{time}", self.number, hash.get(..10).unwrap_or(&hash))
    }
}

/// Splits the name of a revision into its content part and its time.
fn parts(name: &str) -> (&str, i64) {
    let (what, time) = name.rsplit_once('-').unwrap_or((name, ""));
    (what, time.parse().unwrap_or_default())
}

/// Returns the number in the header of a text written by queuewarden.
pub fn number(text: &str) -> Option<u64> {
    header::split(text).map(|parts| parts.revision)
}

/// Returns the access keys of the admission controller in the output.
pub(crate) fn keys(data: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let set = data.iter().filter(|(key, _)| admission::KEYS.contains(&key.as_str()));
    set.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The facts about a stored revision that are needed to make room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its name.
    pub name: String,
    /// Its uid, so that no other object with the same name is removed.
    pub uid: String,
    /// The time of its creation, by the API server's clock.
    pub created: Option<Timestamp>,
    /// Its number.
    pub number: u64,
    /// Its size in bytes.
    pub bytes: usize,
}

/// The changes that record a revision, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryChanges {
    /// The revisions to remove first.
    pub remove: Vec<Stored>,
    /// True if the revision needs to be created because it does not exist yet.
    pub create: bool,
}

/// Decides which revisions to remove for one with this name and size: the oldest ones. They are removed
/// before it is created, so that there is space even if one of the two keeps failing. If the newest revision
/// has the same content, no revision is created.
pub fn changes(mut stored: Vec<Stored>, name: &str, bytes: usize) -> HistoryChanges {
    stored.retain(|revision| revision.name.starts_with(PREFIX));
    // Revisions are sorted by the API server's creation time, because numbers may start over and anyone can
    // choose one.
    stored
        .sort_by_cached_key(|revision| Reverse((revision.created, revision.number, parts(&revision.name).1)));
    let newest = stored.first().map(|revision| parts(&revision.name).0);
    let create = newest != Some(parts(name).0) && !stored.iter().any(|revision| revision.name == name);
    let (mut count, mut sum) = if create { (1_usize, bytes) } else { (0, 0) };
    let fits = |revision: &&Stored| {
        count = count.saturating_add(1);
        sum = sum.saturating_add(revision.bytes);
        count <= MAX_REVISIONS && sum <= MAX_BYTES
    };
    let fitting = stored.iter().take_while(fits).count();
    let mut remove = stored.split_off(fitting);
    // The newly recorded revision is not removed for having been created before others.
    remove.retain(|revision| revision.name != name);
    remove.reverse();
    HistoryChanges { remove, create }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Revisions from 1 to `count`, each of this size.
    fn stored(count: u64, bytes: usize) -> Vec<Stored> {
        (1..=count)
            .map(|number| Stored {
                name: format!("{PREFIX}{number}-x"),
                uid: format!("uid-{number}"),
                created: Timestamp::from_second(i64::try_from(number).unwrap()).ok(),
                number,
                bytes,
            })
            .collect()
    }

    /// The numbers of the revisions that are removed for a new revision of this size.
    fn removed(stored: Vec<Stored>, bytes: usize) -> Vec<u64> {
        let changes = changes(stored, "queuewarden-999-x", bytes);
        assert!(changes.create);
        changes.remove.into_iter().map(|revision| revision.number).collect()
    }

    #[test]
    fn a_hundredth_revision_has_room_and_the_next_one_takes_that_of_the_oldest() {
        assert_eq!(removed(stored(99, 10), 10), [0_u64; 0]);
        assert_eq!(removed(stored(100, 10), 10), [1]);
        assert_eq!(removed(stored(103, 10), 10), [1, 2, 3, 4]);
    }

    #[test]
    fn bytes_of_all_together_are_bounded_and_the_oldest_go_first() {
        const MIB: usize = 1024 * 1024;
        assert_eq!(removed(stored(3, MIB), MIB), [0_u64; 0]);
        assert_eq!(removed(stored(4, MIB), MIB), [1]);
        assert_eq!(removed(stored(4, MIB), MIB + 1), [1, 2]);
        assert_eq!(removed(stored(4, usize::MAX), 1), [1, 2, 3, 4]);
        let mut with_a_large_one = stored(6, 10);
        with_a_large_one[2].bytes = MAX_BYTES;
        assert_eq!(removed(with_a_large_one, 10), [1, 2, 3], "none is skipped");
    }

    #[test]
    fn a_text_that_is_there_adds_nothing_and_is_not_removed() {
        let changes = |count, number: u64| changes(stored(count, 10), &format!("{PREFIX}{number}-x"), 10);
        assert_eq!(changes(3, 3), HistoryChanges { remove: Vec::new(), create: false });
        assert_eq!(changes(3, 1), HistoryChanges { remove: Vec::new(), create: false });
        let over = changes(101, 1);
        assert_eq!((over.create, over.remove), (false, Vec::new()));
    }

    /// The API server's clock does not distinguish revisions within the same second.
    #[test]
    fn keys_that_change_and_change_back_are_three_revisions() {
        let mut all = stored(2, 10);
        for (revision, name) in all.iter_mut().zip(["queuewarden-1-aa-5", "queuewarden-1-bb-6"]) {
            *revision = Stored { name: name.to_owned(), number: 1, created: None, ..revision.clone() };
        }
        assert!(changes(all.clone(), "queuewarden-1-aa-7", 10).create);
        assert!(!changes(all, "queuewarden-1-bb-7", 10).create, "it is the newest already");
    }

    /// The API server's clock decides, because anyone can choose a number.
    #[test]
    fn a_number_does_not_keep_a_revision() {
        let mut all = stored(100, 10);
        all[0].number = u64::MAX;
        let made = changes(all, "queuewarden-999-x", 10);
        assert_eq!(made.remove.first().map(|revision| revision.uid.as_str()), Some("uid-1"));
    }

    #[test]
    fn an_object_of_another_name_is_not_touched() {
        let mut all = stored(100, MAX_BYTES);
        for object in &mut all {
            object.name = format!("web-{}", object.number);
        }
        assert_eq!(removed(all, 10), [0_u64; 0]);
    }
}
