//! What was seen of the outside world since the start: how each experience changes [`Observed`], the plan's memory of it.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::model::config::checksum;
use crate::plan::snapshot::{ConfigMapState, FIELD_MANAGER, Observed, ReadBack, Snapshot, WriteFailure};
use crate::plan::{Rendered, Write};

/// Repairs that are remembered; the plan rations by far fewer.
const MAX_REPAIRS: usize = 32;

/// The memory, and what is needed to keep it.
#[derive(Debug, Default)]
pub struct Memory {
    /// For the plan.
    pub observed: Observed,
    /// Checksum that `pending_since` is about.
    pending: Option<String>,
    /// The scheduler that `read_back` is about.
    url: Option<String>,
    /// The highest revision written so far. The status that remembers it is written later, and may fail to be.
    revision: Option<u64>,
}

impl Memory {
    /// The scheduler to ask is this one from now on; what another one said is void.
    pub fn asks(&mut self, url: Option<&str>) {
        if self.url.as_deref() != url {
            self.url = url.map(str::to_owned);
            self.observed.read_back = None;
            self.observed.pending_since = None;
            self.observed.loaded_text = None;
            self.pending = None;
        }
    }

    /// The scheduler was asked; whether its answer is another than before.
    pub fn answered(&mut self, at: Timestamp, checksum: Result<String, String>) -> bool {
        let before = self.observed.read_back.replace(ReadBack { at, checksum });
        before.map(|before| before.checksum).as_ref()
            != self.observed.read_back.as_ref().map(|now| &now.checksum)
    }

    /// Nothing that was seen is later than `now`: a clock that was set back would otherwise hold repairs up for as long as it was wrong.
    pub fn pass(&mut self, now: Timestamp) {
        let observed = &mut self.observed;
        for at in observed.repairs.iter_mut().chain(&mut observed.pending_since) {
            *at = now.min(*at);
        }
    }

    /// Compares the last answer with the text in force.
    pub fn compare(&mut self, text: &str, now: Timestamp) {
        let Some(ReadBack { checksum: Ok(actual), .. }) = &self.observed.read_back else {
            return;
        };
        let expected = checksum(text);
        if *actual == expected {
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
    }

    /// A write succeeded. `before` is the ConfigMap that it replaced.
    pub fn written(
        &mut self,
        now: Timestamp,
        write: &Write,
        rendered: Option<&Rendered>,
        before: Option<&ConfigMapState>,
    ) {
        let observed = &mut self.observed;
        observed.write_failure = None;
        let Some(rendered) = rendered.filter(|rendered| write.data.contains_key(&rendered.key)) else {
            return;
        };
        self.revision = self.revision.max(Some(rendered.revision));
        observed.last_written = Some(rendered.checksum.clone());
        observed.reasserts = if write.reassert { observed.reasserts.saturating_add(1) } else { 0 };
        if write.repair {
            observed.rival = rival(before, &rendered.key);
            observed.repairs.push(now);
            let surplus = observed.repairs.len().saturating_sub(MAX_REPAIRS);
            observed.repairs.drain(..surplus);
        }
    }

    /// Adds to a snapshot what was seen, so that no revision is used twice: the scheduler skips a text that it knows.
    pub fn fill(&self, snapshot: &mut Snapshot) {
        snapshot.observed = self.observed.clone();
        if let Some(memory) = snapshot.config.as_mut().and_then(|config| config.in_force.as_mut()) {
            memory.revision = memory.revision.max(self.revision);
        }
    }

    /// A write failed.
    pub fn failed(&mut self, failure: WriteFailure) {
        self.observed.write_failure = Some(failure);
    }

    /// Nothing is to be written.
    pub fn settled(&mut self) {
        self.observed.write_failure = None;
    }
}

/// Who owns `key` beside us.
fn rival(map: Option<&ConfigMapState>, key: &str) -> Option<String> {
    let owners = map?.owners.get(key)?;
    let names: BTreeSet<_> =
        owners.iter().map(|owner| owner.manager.as_str()).filter(|name| *name != FIELD_MANAGER).collect();
    (!names.is_empty()).then(|| names.into_iter().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::plan::snapshot::Owner;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn rendered(text: &str) -> Rendered {
        Rendered { key: "queues.yaml".into(), text: text.into(), checksum: checksum(text), revision: 1 }
    }

    fn write(text: &str) -> Write {
        Write {
            name: "yunikorn-configs".into(),
            resource_version: Some("1".into()),
            data: BTreeMap::from([("queues.yaml".into(), Some(text.into()))]),
            annotations: BTreeMap::new(),
            in_force: None,
            repair: false,
            reassert: false,
            widens: false,
            partial: false,
        }
    }

    #[test]
    fn a_text_is_pending_from_when_it_was_first_seen_and_until_it_is_proven() {
        let mut memory = Memory::default();
        memory.compare("a", at(1));
        assert_eq!(memory.observed.pending_since, None, "nobody was asked");
        assert!(memory.answered(at(1), Ok(checksum("old"))));
        memory.compare("a", at(2));
        memory.compare("a", at(3));
        assert_eq!(memory.observed.pending_since, Some(at(2)));
        memory.compare("b", at(4));
        assert_eq!(memory.observed.pending_since, Some(at(4)), "another text, another wait");
        assert!(memory.answered(at(5), Err("no answer".into())));
        memory.compare("b", at(5));
        assert_eq!(memory.observed.pending_since, Some(at(4)), "no answer proves nothing");
        assert!(memory.answered(at(6), Ok(checksum("b"))));
        assert!(!memory.answered(at(7), Ok(checksum("b"))), "the same answer later is no news");
        memory.compare("b", at(7));
        assert_eq!(
            (memory.observed.pending_since, memory.observed.loaded_text.as_deref()),
            (None, Some("b"))
        );
    }

    #[test]
    fn another_scheduler_has_said_nothing_yet() {
        let mut memory = Memory::default();
        memory.asks(Some("http://a"));
        memory.answered(at(1), Ok(checksum("a")));
        memory.asks(Some("http://a"));
        assert!(memory.observed.read_back.is_some());
        memory.asks(Some("http://b"));
        assert_eq!(memory.observed, Observed::default());
    }

    #[test]
    fn reassertions_are_counted_until_a_new_text_or_a_proof() {
        let mut memory = Memory::default();
        let again = Write { reassert: true, ..write("a") };
        memory.written(at(1), &write("a"), Some(&rendered("a")), None);
        memory.written(at(2), &again, Some(&rendered("a")), None);
        memory.written(at(3), &again, Some(&rendered("a")), None);
        assert_eq!(memory.observed.reasserts, 2);
        memory.written(at(4), &write("b"), Some(&rendered("b")), None);
        assert_eq!(memory.observed.reasserts, 0);
        memory.written(at(5), &again, Some(&rendered("a")), None);
        memory.answered(at(6), Ok(checksum("a")));
        memory.compare("a", at(6));
        assert_eq!(memory.observed.reasserts, 0);
    }

    #[test]
    fn repairs_are_remembered_with_their_cause_and_bounded() {
        let owner = |manager: &str| Owner { manager: manager.into(), operation: "Update".into() };
        let foreign = ConfigMapState {
            owners: BTreeMap::from([("queues.yaml".into(), vec![owner("helm"), owner(FIELD_MANAGER)])]),
            ..ConfigMapState::default()
        };
        let mut memory = Memory::default();
        let repair = Write { repair: true, ..write("a") };
        for second in 0..40 {
            memory.written(at(second), &repair, Some(&rendered("a")), Some(&foreign));
        }
        assert_eq!(memory.observed.repairs.len(), MAX_REPAIRS);
        assert_eq!(
            (memory.observed.repairs.first(), memory.observed.repairs.last()),
            (Some(&at(8)), Some(&at(39)))
        );
        assert_eq!(memory.observed.rival.as_deref(), Some("helm"));
        memory.written(at(41), &repair, Some(&rendered("a")), None);
        assert_eq!(memory.observed.rival, None, "a deletion has no owner");
    }

    #[test]
    fn a_clock_that_is_set_back_leaves_nothing_in_the_future() {
        let repair = Write { repair: true, ..write("a") };
        let mut memory = Memory::default();
        for second in [10, 4000, 4001] {
            memory.written(at(second), &repair, Some(&rendered("a")), None);
        }
        memory.answered(at(4000), Ok(checksum("old")));
        memory.compare("a", at(4000));
        memory.pass(at(100));
        assert_eq!(memory.observed.repairs, [at(10), at(100), at(100)]);
        assert_eq!(memory.observed.pending_since, Some(at(100)));
        memory.pass(at(200));
        assert_eq!(memory.observed.pending_since, Some(at(100)), "what is past stays as it is");
    }

    #[test]
    fn a_failure_lasts_until_a_success_or_until_nothing_is_wanted() {
        let failure = WriteFailure::Forbidden("no".into());
        let mut memory = Memory::default();
        memory.failed(failure.clone());
        assert_eq!(memory.observed.write_failure, Some(failure.clone()));
        memory.written(at(1), &write("a"), Some(&rendered("a")), None);
        assert_eq!(memory.observed.write_failure, None);
        memory.failed(failure);
        memory.settled();
        assert_eq!(memory.observed.write_failure, None);
    }
}
