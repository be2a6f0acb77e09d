//! The memory of the machine since its start, which the plan receives as [`Observed`]: the effect of each
//! event on it.

use jiff::Timestamp;

use crate::conditions::{Reason, Type, find};
use crate::effective::header;
use crate::plan::Plan;
use crate::planted::{PlantedFault, is_planted};
use crate::snapshot::release::Release;
use crate::snapshot::{
    NoChecksum, Observed, OutputText, ReadBack, RefusedText, SchedulerAddress, SchedulerAnswer, Snapshot,
    WriteFailure,
};
use crate::write::Write;
use yunikorn::Version;
use yunikorn::config::checksum;

/// Times of repairs, and of widenings, that are remembered; the plan needs no more for its limits.
pub(super) const MAX_TIMES: usize = 64;

/// The observations for the plan, and the state that is needed to update them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Memory {
    /// The observations for the plan.
    pub(super) observed: Observed,
    /// The checksum of the text that `pending_since` refers to.
    pending: Option<String>,
    /// The scheduler that `read_back` refers to.
    pub(super) scheduler: Option<SchedulerAddress>,
    /// Its version according to the configuration.
    version: Option<Version>,
    /// The highest revision written so far. The status that remembers it is written later, and may fail to
    /// be.
    revision: Option<u64>,
    /// The output that the other fields refer to.
    output: Option<Output>,
    /// True if the output may be changed by a write of a former leader that is still under way.
    suspect: bool,
    /// True if it is unknown if the text in `written` was written.
    unsure: bool,
    /// True if the text in `written` is not the full one.
    partial: bool,
}

/// The ConfigMap that is written, and the `YuniKornConfig` that it is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Output {
    /// `metadata.uid` of the `YuniKornConfig`.
    uid: String,
    namespace: String,
    name: String,
}

impl Memory {
    /// Starts after a takeover: earlier writes of this process are treated like those of another one.
    pub(super) fn takes_over(&mut self) {
        let before = std::mem::take(&mut self.observed);
        self.observed = Observed {
            read_back: before.read_back,
            release: before.release,
            pending_since: before.pending_since,
            loaded_text: before.loaded_text,
            live_queues: before.live_queues,
            watch_failure: before.watch_failure,
            ..Observed::default()
        };
        self.unsure = false;
        self.partial = false;
        self.suspect = true;
    }

    /// Follows the output: which ConfigMap it is, and its content. Returns whether it is another ConfigMap
    /// than before.
    pub(super) fn follows(&mut self, snapshot: &Snapshot, leads: bool) -> bool {
        let Some((config, Ok(spec))) = snapshot.config.as_ref().map(|config| (config, &config.spec)) else {
            return false;
        };
        let now = Output {
            uid: config.meta.uid.to_string(),
            namespace: spec.namespace.clone(),
            name: spec.output_config_map.clone(),
        };
        let another = self.output.as_ref() != Some(&now);
        if another {
            self.output = Some(now);
            self.takes_over();
        }
        let output = snapshot.output.as_deref();
        let version = output.map(|output| output.resource_version.clone());
        if leads && std::mem::take(&mut self.suspect) {
            // Without an output, only a late creation can be accepted, which is noticed like any other edit.
            self.observed.fence = version;
        } else if self.observed.fence != version {
            // A write that names the former version is refused from now on.
            self.observed.fence = None;
        }
        if self.unsure
            && let Some(written) = &self.observed.written
            && output.and_then(|output| output.data.get(&written.key)) == Some(&written.text)
        {
            self.unsure = false;
            self.observed.last_written = Some(checksum(&written.text));
        }
        another
    }

    /// Sets the scheduler to query, and discards the answers of a scheduler with another address or
    /// configured version. Returns whether it is a different one.
    pub(super) fn has_scheduler(
        &mut self,
        scheduler: Option<&SchedulerAddress>,
        version: Option<Version>,
    ) -> bool {
        let another = self.scheduler.as_ref() != scheduler || self.version != version;
        if another {
            self.scheduler = scheduler.cloned();
            self.version = version;
            self.observed.read_back = None;
            self.observed.release = None;
            self.observed.pending_since = None;
            self.observed.loaded_text = None;
            self.pending = None;
        }
        another
    }

    /// Takes in an answer of the scheduler. Returns whether it differs from the last one.
    pub(super) fn answered(&mut self, at: Timestamp, answer: Result<SchedulerAnswer, NoChecksum>) -> bool {
        let observed = &mut self.observed;
        let release = answer.as_ref().map_or_else(|_| observed.release.clone(), |now| now.release.clone());
        let unproven = Release::unproven(self.version, release.as_deref());
        let checksum = answer.and_then(|SchedulerAnswer { checksum, .. }| {
            unproven
                .map_or(Ok(checksum), |message| Err(NoChecksum { reason: Reason::VersionUnproven, message }))
        });
        let another = observed.release != release
            || observed.read_back.as_ref().map(|before| &before.checksum) != Some(&checksum);
        observed.release = release;
        observed.read_back = Some(ReadBack { at, checksum });
        another
    }

    /// Moves times after `now` back to `now`: after the clock was set back, they would otherwise delay
    /// repairs for as long as it was wrong.
    pub(super) fn pass(&mut self, now: Timestamp) {
        let observed = &mut self.observed;
        let read_back = observed.read_back.as_mut().map(|read_back| &mut read_back.at);
        let refused = observed.refused.as_mut().map(|refused| &mut refused.at);
        let times = observed.repairs.iter_mut().chain(&mut observed.widened);
        for at in times.chain(&mut observed.pending_since).chain(read_back).chain(refused) {
            *at = now.min(*at);
        }
    }

    /// Compares the last answer with the text in force. Returns whether that text is proven to run.
    pub(super) fn compare(&mut self, text: &str, now: Timestamp) -> bool {
        let Some(actual) = self.observed.reported() else { return false };
        let expected = checksum(text);
        let proven = *actual == expected;
        if proven {
            self.pending = None;
            self.observed.pending_since = None;
            self.observed.reasserts = 0;
            if self.observed.loaded_text.as_deref() != Some(text) {
                self.observed.loaded_text = Some(text.to_owned());
            }
        } else if self.pending.as_ref() != Some(&expected) {
            self.pending = Some(expected);
            self.observed.pending_since = Some(now);
        }
        proven
    }

    /// Accepts a text that an earlier process stored as the scheduler's running text, if the scheduler
    /// reports its checksum.
    pub(super) fn recall(&mut self, stored: &str) {
        let observed = &mut self.observed;
        if observed.loaded_text.is_none() && observed.reported() == Some(&checksum(stored)) {
            observed.loaded_text = Some(stored.to_owned());
        }
    }

    /// Returns the text that the scheduler runs while it refuses a newer one.
    pub(super) fn left(&self) -> Option<&String> {
        let refused = self.observed.refused.as_ref().is_some_and(|refused| refused.by_scheduler);
        self.observed.loaded_text.as_ref().filter(|_| refused)
    }

    /// Concludes from a plan whether the scheduler refused the written text, or proved the full text; returns
    /// whether that changes the input of the plan.
    pub(super) fn concludes(&mut self, text: &str, proven: bool, plan: &Plan, now: Timestamp) -> bool {
        let body = header::strip(text);
        let ours = self.observed.written.as_ref().is_some_and(|written| written.text == text);
        if plan.rendered.as_ref().is_none_or(|rendered| header::strip(&rendered.text) != body) {
            return false;
        }
        if proven {
            let full = !(ours && self.partial);
            return full && self.observed.refused.take().is_some();
        }
        let loaded = plan.config.as_ref().and_then(|config| find(&config.conditions, Type::Loaded));
        let rejected = loaded.is_some_and(|it| it.has(Reason::SchedulerRejected));
        let times = self.observed.reasserts.max(1);
        let body = checksum(body);
        let known = |refused: &RefusedText| refused.body == body && refused.times >= times;
        if !rejected
            || is_planted(PlantedFault::RefusalUnnoticed)
            || self.observed.refused.as_ref().is_some_and(known)
        {
            return false;
        }
        self.observed.refused = Some(RefusedText { body, at: now, times, by_scheduler: true });
        true
    }

    /// Records a successful write; `other_writers` are the previous writers of the keys it replaced.
    pub(super) fn written(&mut self, now: Timestamp, write: &Write, other_writers: &[String]) {
        self.observed.write_failure = None;
        if write.repair {
            let names = other_writers.join(", ");
            self.observed.other_writer = Some(names).filter(|names| !names.is_empty());
            remember(&mut self.observed.repairs, now);
        }
        let Some(text) = self.sent(now, write) else { return };
        let observed = &mut self.observed;
        observed.last_written = Some(checksum(text));
        observed.reasserts = if write.reassert { observed.reasserts.saturating_add(1) } else { 0 };
        self.unsure = false;
    }

    /// Takes in a write of unknown outcome: it may have been made, or may be made later.
    pub(super) fn lost(&mut self, now: Timestamp, write: &Write) {
        if let Some(version) = &write.resource_version {
            self.observed.fence = Some(version.clone());
        }
        self.unsure |= self.sent(now, write).is_some();
    }

    /// Takes in a write that may have been made, and returns the queue tree in it.
    fn sent<'w>(&mut self, now: Timestamp, write: &'w Write) -> Option<&'w String> {
        if write.widens {
            remember(&mut self.observed.widened, now);
        }
        let (key, text) = write.queue_tree()?;
        self.revision = self.revision.max(header::split(text).map(|parts| parts.revision));
        self.observed.written = Some(OutputText { key: key.clone(), text: text.clone() });
        self.partial = write.partial;
        Some(text)
    }

    /// Takes in a refused write.
    pub(super) fn refused(&mut self, now: Timestamp, write: &Write, failure: &WriteFailure) {
        let (Some((_, text)), WriteFailure::Rejected(_), false) =
            (write.queue_tree(), failure, write.partial)
        else {
            return;
        };
        let body = checksum(header::strip(text));
        let before = self.observed.refused.take().filter(|refused| refused.body == body);
        let times = before.map_or(1, |refused| refused.times.saturating_add(1));
        self.observed.refused = Some(RefusedText { body, at: now, times, by_scheduler: false });
    }

    /// Adds the observations to a snapshot, and ensures that no revision is used twice, because the scheduler
    /// skips a text that it knows.
    pub(super) fn fill(&self, snapshot: &mut Snapshot) {
        let identity_webhook = snapshot.observed.identity_webhook.take();
        snapshot.observed = Observed { identity_webhook, ..self.observed.clone() };
        if let Some(memory) = snapshot.config.as_mut().and_then(|config| config.in_force.as_mut()) {
            memory.revision = memory.revision.max(self.revision);
        }
    }
}

/// Adds a time, and forgets the oldest ones.
fn remember(times: &mut Vec<Timestamp>, now: Timestamp) {
    times.push(now);
    let surplus = times.len().saturating_sub(MAX_TIMES);
    times.drain(..surplus);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::snapshot::{ConfigMapState, FIELD_MANAGER, KeyOwner};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn write(text: &str) -> Write {
        Write {
            name: "yunikorn-configs".into(),
            resource_version: Some("1".into()),
            data: BTreeMap::from([("queues.yaml".into(), Some(text.into()))]),
            ..Write::default()
        }
    }

    #[test]
    fn a_text_is_pending_from_when_it_was_first_observed_and_until_it_is_proven() {
        let mut memory = Memory::default();
        assert!(!memory.compare("a", at(1)));
        assert_eq!(memory.observed.pending_since, None, "nobody was asked");
        assert!(memory.answered(at(1), Ok(SchedulerAnswer::running("old"))));
        memory.compare("a", at(2));
        memory.compare("a", at(3));
        assert_eq!(memory.observed.pending_since, Some(at(2)));
        memory.compare("b", at(4));
        assert_eq!(memory.observed.pending_since, Some(at(4)), "another text, another wait");
        assert!(memory.answered(at(5), Err(NoChecksum::unreachable("no answer"))));
        memory.compare("b", at(5));
        assert_eq!(memory.observed.pending_since, Some(at(4)), "no answer proves nothing");
        assert!(memory.answered(at(6), Ok(SchedulerAnswer::running("b"))));
        assert!(
            !memory.answered(at(7), Ok(SchedulerAnswer::running("b"))),
            "the same answer later is no news"
        );
        assert!(memory.compare("b", at(7)));
        let loaded = memory.observed.loaded_text.as_deref();
        assert_eq!((memory.observed.pending_since, loaded), (None, Some("b")));
    }

    #[test]
    fn another_scheduler_has_answered_nothing_yet() {
        let mut memory = Memory::default();
        memory.has_scheduler(Some(&"http://a".into()), None);
        memory.answered(at(1), Ok(SchedulerAnswer::running("a")));
        assert!(!memory.has_scheduler(Some(&"http://a".into()), None));
        assert!(memory.observed.read_back.is_some());
        assert!(memory.has_scheduler(Some(&"http://b".into()), None));
        assert_eq!(memory.observed, Observed::default());
    }

    #[test]
    fn reassertions_are_counted_until_a_new_text_or_a_proof() {
        let mut memory = Memory::default();
        let again = Write { reassert: true, ..write("a") };
        memory.written(at(1), &write("a"), &[]);
        memory.written(at(2), &again, &[]);
        memory.written(at(3), &again, &[]);
        assert_eq!(memory.observed.reasserts, 2);
        memory.written(at(4), &write("b"), &[]);
        assert_eq!(memory.observed.reasserts, 0);
        memory.written(at(5), &again, &[]);
        memory.answered(at(6), Ok(SchedulerAnswer::running("a")));
        memory.compare("a", at(6));
        assert_eq!(memory.observed.reasserts, 0);
    }

    #[test]
    fn repairs_and_widenings_are_remembered_and_bounded() {
        let owner = |manager: &str| KeyOwner { manager: manager.into(), operation: "Update".into() };
        let foreign = ConfigMapState {
            owners: BTreeMap::from([("queues.yaml".into(), vec![owner("helm"), owner(FIELD_MANAGER)])]),
            ..ConfigMapState::default()
        };
        let mut memory = Memory::default();
        let repair = Write { repair: true, widens: true, ..write("a") };
        for second in 0..72 {
            memory.written(at(second), &repair, &repair.other_writers(Some(&foreign)));
        }
        for times in [&memory.observed.repairs, &memory.observed.widened] {
            assert_eq!(times.len(), MAX_TIMES);
            assert_eq!((times.first(), times.last()), (Some(&at(8)), Some(&at(71))));
        }
        assert_eq!(memory.observed.other_writer.as_deref(), Some("helm"));
        memory.written(at(73), &repair, &repair.other_writers(None));
        assert_eq!(memory.observed.other_writer, None, "a deletion has no owner");
        memory.lost(at(74), &Write { widens: true, ..write("b") });
        assert_eq!(memory.observed.widened.last(), Some(&at(74)), "it may have been written");
        assert_eq!(memory.observed.repairs.last(), Some(&at(73)));
    }

    #[test]
    fn a_clock_that_is_set_back_leaves_nothing_in_the_future() {
        let repair = Write { repair: true, ..write("a") };
        let mut memory = Memory::default();
        for second in [10, 4000, 4001] {
            memory.written(at(second), &repair, &[]);
        }
        memory.answered(at(4000), Ok(SchedulerAnswer::running("old")));
        memory.compare("a", at(4000));
        memory.pass(at(100));
        assert_eq!(memory.observed.repairs, [at(10), at(100), at(100)]);
        assert_eq!(memory.observed.pending_since, Some(at(100)));
        assert_eq!(memory.observed.read_back.as_ref().map(|read_back| read_back.at), Some(at(100)));
        memory.pass(at(200));
        assert_eq!(memory.observed.pending_since, Some(at(100)), "what is past stays as it is");
    }

    #[test]
    fn a_refusal_of_the_same_body_is_counted_and_one_of_a_partial_text_is_not() {
        let text = |revision: u64, body: &str| header::join(&header::origin("ConfigMap a/b"), revision, body);
        let no = WriteFailure::Rejected("no".into());
        let mut memory = Memory::default();
        memory.refused(at(1), &Write { partial: true, ..write(&text(1, "a")) }, &no);
        memory.refused(at(1), &write(&text(1, "a")), &WriteFailure::Transient("later".into()));
        assert_eq!(memory.observed.refused, None);
        memory.refused(at(2), &write(&text(2, "a")), &no);
        memory.refused(at(3), &write(&text(3, "a")), &no);
        let refused = RefusedText { body: checksum("a"), at: at(3), times: 2, by_scheduler: false };
        assert_eq!(memory.observed.refused, Some(refused), "under another revision it is the same");
        memory.refused(at(4), &write(&text(4, "b")), &no);
        assert_eq!(
            memory.observed.refused,
            Some(RefusedText { body: checksum("b"), at: at(4), times: 1, by_scheduler: false })
        );
    }
}
