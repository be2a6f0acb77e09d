//! Tests the state machine with a small cluster: the order of its actions, and the state it keeps.

use std::collections::VecDeque;

use jiff::SignedDuration;

use super::*;
use crate::conditions::Type;
use crate::effective::ParseCache;
use crate::machine::{Action, Event, FailingWatch, State, WriteOutcome, step};
use crate::write::Write;
use yunikorn::config::checksum;

const URL: &str = "http://yunikorn:9080";

/// A cluster, a process in it, and the actions of that process.
struct Process {
    cluster: Snapshot,
    state: State,
    now: Timestamp,
    /// The outcomes of the next writes; later ones succeed.
    outcomes: VecDeque<WriteOutcome>,
    /// The scheduler's answer; `None` means the checksum of the output.
    scheduler: Option<Result<String, String>>,
    /// The release that it reports.
    release: Option<String>,
    base: Option<LastBase>,
    /// The actions, but for `Wait`.
    done: Vec<&'static str>,
    writes: Vec<Write>,
    /// The snapshot of the last plan, and the plan.
    published: Option<(Arc<Snapshot>, Arc<Plan>)>,
    until: Timestamp,
}

impl Process {
    fn new(cluster: Snapshot) -> Self {
        Self {
            cluster,
            state: State::new(7),
            now: now(),
            outcomes: VecDeque::new(),
            scheduler: None,
            release: Some("1.8.0".to_owned()),
            base: None,
            done: Vec::new(),
            writes: Vec::new(),
            published: None,
            until: now(),
        }
    }

    /// Returns a process that leads, has read everything, and has no writes left to make.
    fn leading(cluster: Snapshot) -> Self {
        let mut process = Self::new(cluster);
        process.feed(Event::LeadershipWon);
        process.feed(Event::Relisted);
        process.forget();
        process
    }

    fn forget(&mut self) {
        self.done.clear();
        self.writes.clear();
    }

    fn step(&mut self, event: Event) -> Vec<Action> {
        let (state, actions) = step(self.state.clone(), self.now, event, &mut ParseCache::new(Version::V1_8));
        self.state = state;
        actions
    }

    /// Feeds an event, and performs the resulting actions.
    fn feed(&mut self, event: Event) {
        let mut actions = VecDeque::from(self.step(event));
        while let Some(action) = actions.pop_front() {
            if let Some(answer) = self.perform(action) {
                actions.extend(self.step(answer));
            }
        }
    }

    fn perform(&mut self, action: Action) -> Option<Event> {
        let (name, answer) = match action {
            Action::Wait(until) => {
                self.until = until;
                return None;
            }
            Action::Relist => ("relist", None),
            Action::ReadBase => ("read base", Some(Event::BaseRead(Ok(self.base.clone())))),
            Action::StoreBase(base) => {
                self.base = Some(base);
                ("store base", Some(Event::BaseStored(Ok(()))))
            }
            Action::ReadScheduler(_) | Action::ReadUntilLoaded { .. } => {
                let runs = self.scheduler.clone().unwrap_or_else(|| Ok(checksum(text(&self.cluster))));
                let release = self.release.clone();
                let runs = runs.map_err(|why| NoChecksum::unreachable(&why));
                ("ask", Some(Event::Answered(runs.map(|checksum| SchedulerAnswer { checksum, release }))))
            }
            Action::Observe => ("observe", Some(Event::Observed(Box::new(self.cluster.clone())))),
            Action::Create { map: new, .. } => {
                if new.name == YUNIKORN_CONFIGS {
                    self.cluster.output.get_or_insert_with(|| map(YUNIKORN_CONFIGS, &[]));
                }
                ("create", Some(Event::Created(Ok(()))))
            }
            Action::Write { write, .. } => {
                let outcome = self.outcomes.pop_front().unwrap_or(WriteOutcome::Done);
                if outcome == WriteOutcome::Done {
                    self.land(&write);
                }
                self.writes.push(write);
                ("write", Some(Event::Written(outcome)))
            }
            Action::Reread { .. } => ("reread", Some(Event::Reread(Ok(())))),
            Action::Mirror(_) => ("mirror", Some(Event::Mirrored { failure: None, conflict: false })),
            Action::ReadQueues { .. } => ("ask queues", Some(Event::Queues(BTreeMap::new()))),
            Action::Publish(snapshot, plan) => {
                self.published = Some((snapshot, plan));
                ("publish", Some(Event::Published(true)))
            }
            Action::Report(..) => {
                let reported = Event::Reported { written: true, failed: false, unfinished: false };
                ("report", Some(reported))
            }
        };
        self.done.push(name);
        answer
    }

    /// Changes the output as a write does.
    fn land(&mut self, write: &Write) {
        let version =
            self.cluster.output.as_ref().map_or(0, |output| output.resource_version.parse().unwrap());
        let output = Arc::make_mut(self.cluster.output.get_or_insert_default());
        output.name.clone_from(&write.name);
        output.resource_version = (version + 1).to_string();
        output.annotations.extend(write.annotations.clone());
        for (key, value) in &write.data {
            match value {
                Some(value) => output.data.insert(key.clone(), value.clone()),
                None => output.data.remove(key),
            };
        }
    }

    /// Lets another writer change a part of the output that is not ours.
    fn touch(&mut self) {
        let output = Arc::make_mut(self.cluster.output.as_mut().unwrap());
        output.resource_version = (output.resource_version.parse::<u64>().unwrap() + 1).to_string();
    }

    fn grant(&mut self, acl: &str) {
        self.cluster.queue_acls = vec![submit("a", "root.prod", acl)];
    }

    fn wait(&mut self, span: SignedDuration) {
        self.now += span;
    }

    /// Returns whether the output grants this within ten minutes.
    fn comes_to(&mut self, acl: &str) -> bool {
        (0..600).any(|_| {
            self.wait(SignedDuration::from_secs(1));
            self.feed(Event::Due);
            submit_of(&self.cluster, "root.prod") == acl
        })
    }

    /// Returns the status and reason of a condition of the `YuniKornConfig`.
    fn condition(&self, type_: Type) -> (&'static str, String) {
        let (_, plan) = self.published.as_ref().unwrap();
        let conditions = &plan.config.as_ref().unwrap().conditions;
        let found = crate::conditions::find(conditions, type_).unwrap();
        (found.status.as_str(), found.reason.to_string())
    }

    fn observed(&self) -> &Observed {
        &self.published.as_ref().unwrap().0.observed
    }
}

fn granting(acl: &str) -> Snapshot {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![submit("a", "root.prod", acl)];
    snapshot
}

fn snapshot_with(acl: &str) -> Snapshot {
    let mut snapshot = granting(acl);
    spec(&mut snapshot).scheduler = Some(URL.into());
    snapshot
}

#[test]
fn a_run_reads_the_base_plans_writes_plans_again_and_reports() {
    let mut process = Process::leading(granting("ann"));
    process.grant("bob");
    process.feed(Event::Changed);
    assert_eq!(process.done, ["observe", "write", "observe", "publish", "report"]);
    process.forget();
    process.wait(SignedDuration::from_secs(1));
    process.feed(Event::Due);
    assert_eq!(process.done, [""; 0], "nothing is due");
    assert_eq!(process.until, now() + SignedDuration::from_mins(10));
    process.now = process.until;
    process.feed(Event::Due);
    assert_eq!(process.done, ["observe", "publish", "report"]);
}

#[test]
fn a_follower_publishes_and_writes_nothing() {
    let mut process = Process::new(granting("ann"));
    process.feed(Event::Due);
    assert_eq!(process.done, ["read base", "observe", "publish"]);
    assert!(process.published.as_ref().unwrap().1.write.is_some(), "though there is something to write");
}

#[test]
fn a_new_leader_writes_nothing_before_everything_was_read_anew() {
    let mut process = Process::new(granting("ann"));
    process.feed(Event::Due);
    process.forget();
    process.feed(Event::LeadershipWon);
    process.feed(Event::Changed);
    assert_eq!(process.done, ["relist", "read base", "observe", "publish"]);
    process.forget();
    process.grant("bob");
    process.feed(Event::Relisted);
    let rest = ["observe", "write", "observe", "store base", "observe", "publish", "report"];
    assert_eq!(process.done, [&["observe", "create", "reread"], &rest[..]].concat());
    assert_eq!(submit_of(&process.cluster, "root.prod"), "bob");
}

#[test]
fn a_snapshot_from_before_the_relist_is_not_written_from() {
    let mut process = Process::new(granting("ann"));
    process.feed(Event::Due);
    process.feed(Event::LeadershipWon);
    let actions = process.step(Event::Changed);
    assert!(matches!(actions.as_slice(), [Action::Observe]), "{actions:?}");
    let old = Event::Observed(Box::new(process.cluster.clone()));
    process.grant("bob");
    assert!(process.step(Event::Relisted).is_empty());
    process.forget();
    process.feed(old);
    assert_eq!(process.done, ["publish"]);
    process.now = process.until;
    process.feed(Event::Due);
    assert_eq!(submit_of(&process.cluster, "root.prod"), "bob");
}

#[test]
fn a_takeover_fences_the_output_until_its_version_changes() {
    let cluster = settled(&granting("ann")).snapshot;
    let mut process = Process::new(cluster);
    Arc::make_mut(process.cluster.output.as_mut().unwrap()).resource_version = "5".into();
    process.feed(Event::Due);
    assert_eq!(process.observed().fence, None, "a follower has none");
    process.outcomes = [WriteOutcome::Unknown("no answer".into())].into();
    process.feed(Event::LeadershipWon);
    process.feed(Event::Relisted);
    assert_eq!(process.observed().fence.as_deref(), Some("5"));
    let write = process.writes.last().unwrap();
    assert_eq!((write.data.len(), write.annotations.keys().next().map(String::as_str)), (0, Some(EPOCH)));
    process.touch();
    process.feed(Event::Changed);
    assert_eq!(process.observed().fence, None);
    process.feed(Event::LeadershipLost);
    process.feed(Event::LeadershipWon);
    process.outcomes = [WriteOutcome::Unknown("no answer".into())].into();
    process.feed(Event::Relisted);
    assert_eq!(process.observed().fence.as_deref(), Some("6"), "again with each win");
}

#[test]
fn a_takeover_without_an_output_fences_nothing() {
    let mut process = Process::new(granting("ann"));
    process.cluster.base = None;
    process.cluster.defaults = None;
    spec(&mut process.cluster).mode = Mode::Observe;
    process.feed(Event::LeadershipWon);
    process.feed(Event::Relisted);
    assert_eq!(process.observed().fence, None);
}

#[test]
fn a_write_of_unknown_outcome_fences_the_version_that_it_named() {
    let mut process = Process::leading(granting("ann"));
    process.outcomes = [WriteOutcome::Unknown("no answer".into())].into();
    process.grant("bob");
    process.feed(Event::Changed);
    let observed = process.observed();
    assert_eq!(observed.fence.as_deref(), Some("2"));
    assert_eq!(observed.write_failure, Some(WriteFailure::Transient("no answer".into())));
    let lost = process.writes[0].data[KEY].clone().unwrap();
    assert_eq!(observed.written, Some(OutputText { key: KEY.into(), text: lost.clone() }));
    assert_ne!(observed.last_written, Some(checksum(&lost)));

    process.land(&process.writes[0].clone());
    process.feed(Event::Changed);
    let observed = process.observed();
    assert_eq!((&observed.fence, &observed.last_written), (&None, &Some(checksum(&lost))), "it has arrived");
    process.forget();
    process.grant("eve");
    process.feed(Event::Changed);
    assert!(!process.writes[0].repair, "what arrived was ours");
}

#[test]
fn a_conflict_is_read_planned_again_and_given_up_after_three() {
    let mut process = Process::leading(granting("ann"));
    process.outcomes = [WriteOutcome::Conflict].into();
    process.grant("bob");
    process.feed(Event::Changed);
    assert_eq!(
        process.done,
        ["observe", "write", "reread", "observe", "write", "observe", "publish", "report"]
    );
    process.forget();
    process.outcomes = [WriteOutcome::Conflict, WriteOutcome::Conflict, WriteOutcome::Conflict].into();
    process.grant("eve");
    process.feed(Event::Changed);
    assert_eq!(process.writes.len(), 3);
    let failure = process.observed().write_failure.clone();
    assert_eq!(failure, Some(WriteFailure::Transient("other writers were faster each time".into())));
    let wait = process.until.duration_since(process.now);
    assert!(wait >= SignedDuration::from_millis(800) && wait <= SignedDuration::from_millis(1200), "{wait}");
    process.forget();
    process.feed(Event::Changed);
    assert_eq!(process.writes.len(), 0, "it waits");
    process.now = process.until;
    process.feed(Event::Due);
    assert_eq!(process.writes.len(), 1);
    assert_eq!(process.observed().write_failure, None);
}

#[test]
fn a_write_that_failed_waits_and_another_one_does_not() {
    let mut process = Process::leading(granting("ann"));
    process.outcomes = [WriteOutcome::Refused(WriteFailure::Forbidden("no".into()))].into();
    process.grant("bob");
    process.feed(Event::Changed);
    assert_eq!(process.observed().write_failure, Some(WriteFailure::Forbidden("no".into())));
    process.forget();
    process.feed(Event::Changed);
    assert_eq!(process.writes.len(), 0);
    process.grant("eve");
    process.feed(Event::Changed);
    assert_eq!(process.writes.len(), 1);
    assert_eq!(process.observed().write_failure, None);
}

#[test]
fn a_refused_full_text_is_remembered_until_a_full_text_is_proven() {
    let mut process = Process::leading(snapshot_with("ann"));
    process.outcomes = [WriteOutcome::Refused(WriteFailure::Rejected("no".into()))].into();
    process.grant("bob");
    process.feed(Event::Changed);
    assert_eq!(process.observed().refused.as_ref().map(|refused| refused.times), Some(1));
    process.grant("ann");
    process.feed(Event::Changed);
    assert_eq!(process.observed().refused, None, "the scheduler runs the full text");
}

#[test]
fn a_text_that_the_scheduler_keeps_refusing_is_remembered_as_refused() {
    let mut process = Process::leading(snapshot_with("ann"));
    process.scheduler = Some(Ok(checksum(text(&process.cluster))));
    process.grant("bob");
    process.feed(Event::Changed);
    assert_eq!(process.observed().refused, None);
    for _ in 0..600 {
        process.wait(SignedDuration::from_secs(1));
        process.feed(Event::Due);
    }
    let refused = process.observed().refused.clone().unwrap();
    assert!(refused.times >= 2, "{refused:?}");
    process.scheduler = None;
    for _ in 0..60 {
        process.wait(SignedDuration::from_secs(10));
        process.feed(Event::Due);
    }
    assert_eq!(process.observed().refused, None, "the full text is tried again, and proven");
}

#[test]
fn a_withdrawal_gets_through_after_a_restart_while_the_scheduler_refuses_the_text() {
    let mut process = Process::leading(snapshot_with("bob,sue"));
    let runs = text(&process.cluster).to_owned();
    process.scheduler = Some(Ok(checksum(&runs)));
    process.grant("bob,eve,sue");
    process.feed(Event::Changed);
    for _ in 0..600 {
        process.wait(SignedDuration::from_secs(1));
        process.feed(Event::Due);
    }
    assert_eq!(process.base.as_ref().unwrap().loaded.as_ref(), Some(&runs));
    let Process { cluster, scheduler, base, now, .. } = process;
    let mut next = Process { now, scheduler, base, ..Process::new(cluster) };
    next.grant("eve,sue");
    next.feed(Event::LeadershipWon);
    next.feed(Event::Relisted);
    assert!(next.comes_to("sue"), "{}", text(&next.cluster));
}

#[test]
fn a_refusal_is_noticed_while_the_base_is_invalid() {
    let mut process = Process::leading(snapshot_with("bob,sue"));
    process.scheduler = Some(Ok(checksum(text(&process.cluster))));
    process.grant("bob,eve,sue");
    process.feed(Event::Changed);
    let base = map(YUNIKORN_DEFAULTS, &[(KEY, "partitions: 1\n")]);
    process.cluster.base = Some(Arc::clone(&base));
    process.cluster.defaults = Some(base);
    process.grant("eve,sue");
    assert!(process.comes_to("sue"), "{}", text(&process.cluster));
}

#[test]
fn a_change_during_a_write_is_written_at_once_whatever_else_the_run_does() {
    let acls = |acl: &str| vec![submit("a", "root.prod", acl), submit("b", "root.nowhere", "ann")];
    let mut process = Process::leading(snapshot_with("ann"));
    process.cluster.queue_acls = acls("bob");
    process.step(Event::Changed);
    let observed = Event::Observed(Box::new(process.cluster.clone()));
    let actions = process.step(observed);
    let [Action::Write { write, .. }] = actions.as_slice() else { panic!("{actions:?}") };
    process.land(write);
    process.cluster.queue_acls = acls("eve");
    process.step(Event::Changed);
    process.feed(Event::Written(WriteOutcome::Done));
    assert_eq!(process.done, ["ask", "observe", "ask queues", "observe", "publish", "report"]);
    process.wait(SignedDuration::from_millis(100));
    process.feed(Event::Due);
    assert_eq!(submit_of(&process.cluster, "root.prod"), "eve");
}

#[test]
fn lost_leadership_ends_what_is_under_way_and_its_answer_changes_nothing() {
    let mut process = Process::leading(granting("ann"));
    process.grant("bob");
    process.step(Event::Changed);
    let observed = Event::Observed(Box::new(process.cluster.clone()));
    let actions = process.step(observed);
    assert!(matches!(actions.as_slice(), [Action::Write { .. }]), "{actions:?}");
    process.feed(Event::LeadershipLost);
    assert_eq!(process.done, ["observe", "publish"]);
    let state = process.state.clone();
    assert!(process.step(Event::Written(WriteOutcome::Done)).is_empty());
    assert_eq!(process.state, state);
}

#[test]
fn a_config_that_is_made_anew_or_names_another_output_is_met_without_memories() {
    type Change = fn(&mut Snapshot);
    let changes: [(&str, Change); 3] = [
        ("uid", |snapshot| snapshot.config.as_mut().unwrap().meta.uid = "another".into()),
        ("namespace", |snapshot| spec(snapshot).namespace = "elsewhere".into()),
        ("output", |snapshot| spec(snapshot).output_config_map = "other".into()),
    ];
    for (what, change) in changes {
        let mut process = Process::leading(granting("ann"));
        process.outcomes = [WriteOutcome::Refused(WriteFailure::Rejected("no".into()))].into();
        process.grant("bob");
        process.feed(Event::Changed);
        assert!(process.observed().refused.is_some());
        change(&mut process.cluster);
        process.forget();
        spec(&mut process.cluster).mode = Mode::Observe;
        process.feed(Event::Changed);
        let fence = process.cluster.output.as_ref().map(|output| output.resource_version.clone());
        assert_eq!(process.observed(), &Observed { fence, ..Observed::default() }, "{what}");
    }
}

#[test]
fn the_scheduler_is_asked_before_the_first_plan_and_then_at_intervals() {
    let mut process = Process::new(snapshot_with("ann"));
    process.scheduler = Some(Ok("OTHER".into()));
    process.feed(Event::Due);
    assert_eq!(process.done, ["read base", "observe", "ask", "observe", "publish"]);
    assert!(process.observed().read_back.is_some());
    process.forget();
    for _ in 0..5 {
        process.wait(SignedDuration::from_secs(1));
        process.feed(Event::Due);
    }
    assert_eq!(process.done, ["ask"; 5], "each second while it is behind, and the same answer is no cause");
    process.wait(SignedDuration::from_secs(60));
    process.feed(Event::Due);
    process.forget();
    assert_eq!(process.until, process.now + SignedDuration::from_secs(10), "it is not expected any more");
    process.scheduler = Some(Ok("ANOTHER".into()));
    process.now = process.until;
    process.feed(Event::Due);
    assert_eq!(process.done, ["ask", "observe", "publish"]);
}

#[test]
fn a_written_text_is_asked_for_until_it_is_loaded() {
    let mut process = Process::leading(snapshot_with("ann"));
    process.grant("bob");
    process.feed(Event::Changed);
    assert_eq!(process.done, ["observe", "write", "ask", "observe", "publish", "report"]);
    assert_eq!(config_condition(&process.published.as_ref().unwrap().1, "Loaded"), "True/Loaded");
}

#[test]
fn a_failing_watch_is_reported_after_two_minutes_and_not_before() {
    let mut process = Process::leading(granting("ann"));
    let failing = FailingWatch { since: process.now, message: "queueacls: forbidden".into() };
    process.feed(Event::Watches(Some(failing.clone())));
    assert_eq!(process.done, [""; 0]);
    assert_eq!(process.until, now() + SignedDuration::from_mins(2));
    process.now = process.until;
    process.feed(Event::Due);
    assert_eq!(process.observed().watch_failure.as_deref(), Some("queueacls: forbidden"));
    process.feed(Event::Watches(None));
    assert_eq!(process.observed().watch_failure, None);
}

#[test]
fn a_plan_that_cannot_be_made_is_tried_at_growing_intervals() {
    let mut process = Process::leading(granting("ann"));
    let mut waits = Vec::new();
    for _ in 0..4 {
        process.step(Event::Changed);
        process.feed(Event::PlanFailed);
        waits.push(process.until.duration_since(process.now).as_millis());
    }
    assert!(waits.windows(2).all(|pair| pair[0] * 5 < pair[1] * 4), "{waits:?}");
    process.feed(Event::Changed);
    assert_eq!(process.until, process.now + SignedDuration::from_mins(10));
}

#[test]
fn statuses_that_are_unfinished_are_gone_on_with_at_once_and_failed_ones_later() {
    let mut process = Process::leading(granting("ann"));
    let mut waits = |written, failed, unfinished| {
        let mut actions = process.step(Event::Changed);
        while !actions.iter().any(|action| matches!(action, Action::Report(..))) {
            let observed = Event::Observed(Box::new(process.cluster.clone()));
            actions = process.step(observed);
        }
        process.feed(Event::Reported { written, failed, unfinished });
        process.until.duration_since(process.now)
    };
    assert_eq!(waits(true, false, true), SignedDuration::ZERO);
    assert_eq!(waits(true, true, true), SignedDuration::ZERO);
    assert!(waits(false, true, true) > SignedDuration::from_secs(1), "all of them failed");
    assert_eq!(waits(true, false, false), SignedDuration::from_mins(10));
}

#[test]
fn the_base_is_read_at_the_start_and_with_each_takeover_and_an_error_is_tried_again() {
    let mut process = Process::new(granting("ann"));
    let base = LastBase { source: "ConfigMap yunikorn/b".into(), text: BASE.into(), loaded: None };
    assert!(matches!(process.step(Event::Due).as_slice(), [Action::ReadBase]));
    process.feed(Event::BaseRead(Err("down".into())));
    assert_eq!(process.done, ["observe", "publish"], "nothing waits for it");
    process.base = Some(base.clone());
    process.forget();
    process.now = process.until;
    process.feed(Event::Due);
    assert_eq!(process.done, ["read base", "observe", "publish"]);
    assert_eq!(process.published.as_ref().unwrap().0.last_base, Some(base));
    process.forget();
    process.feed(Event::LeadershipWon);
    assert_eq!(process.done, ["relist", "read base"]);
}

/// Checks that for any sequence of events only a leader that has read everything again writes, and that
/// nothing panics.
#[test]
fn events_in_any_order_give_no_write_before_everything_was_read_anew() {
    let mut random = 88_172_645_463_325_252_u64;
    let mut next = move |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % 1_000_003).unwrap() % below
    };
    let mut process = Process::new(snapshot_with("ann"));
    let (mut leads, mut fresh, mut writes) = (false, false, 0);
    let mut actions = VecDeque::new();
    for _ in 0..3000 {
        process.grant(["ann", "bob", "eve", "a  b"][next(4)]);
        process.wait(SignedDuration::from_millis(i64::try_from(next(3000)).unwrap()));
        let lost = WriteOutcome::Unknown("lost".into());
        let refused = WriteOutcome::Refused(WriteFailure::Rejected("no".into()));
        process.outcomes =
            [[WriteOutcome::Done, WriteOutcome::Conflict, lost, refused][next(4)].clone()].into();
        let answer = actions.pop_front().filter(|_| next(8) != 0).and_then(|action| {
            writes += usize::from(matches!(action, Action::Write { .. }));
            assert!(
                match action {
                    Action::Write { ref write, .. } => fresh && write.resource_version.is_some(),
                    Action::Create { .. } | Action::StoreBase(_) => fresh,
                    Action::Report(..) => leads,
                    _ => true,
                },
                "{action:?}"
            );
            process.perform(action)
        });
        let event = answer.unwrap_or_else(|| match next(24) {
            0 => Event::LeadershipLost,
            1 => Event::LeadershipWon,
            2..=4 => Event::Relisted,
            5 => Event::Written(process.outcomes[0].clone()),
            6 => Event::Reread(Ok(())),
            7 => Event::BaseRead(Ok(None)),
            8 => Event::Observed(Box::new(process.cluster.clone())),
            9 => Event::Unready,
            10 => Event::PlanFailed,
            11 => Event::Published(false),
            12 => Event::Reported { written: true, failed: next(2) == 0, unfinished: next(2) == 0 },
            13 => Event::Answered(Err(NoChecksum::unreachable("down"))),
            14..=18 => Event::Changed,
            _ => Event::Due,
        });
        match event {
            Event::LeadershipWon => (leads, fresh) = (true, false),
            Event::LeadershipLost => (leads, fresh) = (false, false),
            Event::Relisted => fresh = leads,
            _ => {}
        }
        if matches!(event, Event::LeadershipLost) {
            actions.clear();
        }
        actions.extend(process.step(event));
    }
    assert!(writes > 20, "{writes}");
}

#[test]
fn a_checksum_of_an_unproven_version_proves_nothing() {
    for (chosen, release, proven) in [
        (None, Some("1.8.0"), true),
        (None, Some("1.9.1"), true),
        (None, Some("1.10.0"), false),
        (None, Some("1.9.0-SNAPSHOT"), false),
        (None, None, false),
        (Some(Version::V1_9), None, true),
        (Some(Version::V1_9), Some("1.9.0-SNAPSHOT"), true),
        (Some(Version::V1_9), Some("1.8.0"), false),
        (Some(Version::V1_8), Some("2.0.0"), false),
    ] {
        let mut cluster = snapshot_with("ann");
        spec(&mut cluster).version = chosen;
        let mut process = Process::new(cluster);
        process.release = release.map(str::to_owned);
        process.feed(Event::LeadershipWon);
        process.feed(Event::Relisted);
        let loaded = process.condition(Type::Loaded);
        let expected = if proven { ("True", "Loaded") } else { ("Unknown", "VersionUnproven") };
        assert_eq!((loaded.0, &*loaded.1), expected, "{chosen:?} {release:?}");
        assert_eq!(process.observed().loaded_text.is_some(), proven, "{chosen:?} {release:?}");
    }
}

#[test]
fn an_upgrade_of_the_scheduler_is_noticed() {
    let mut process = Process::leading(snapshot_with("ann"));
    assert_eq!(process.condition(Type::Loaded).1, "Loaded");
    process.release = Some("1.10.0".to_owned());
    let begin = process.now;
    while process.condition(Type::Loaded).1 == "Loaded" {
        assert!(process.now.duration_since(begin) < SignedDuration::from_mins(1), "not noticed");
        process.wait(SignedDuration::from_secs(1));
        process.feed(Event::Due);
    }
    assert_eq!(process.condition(Type::Loaded), ("Unknown", "VersionUnproven".to_owned()));
}
