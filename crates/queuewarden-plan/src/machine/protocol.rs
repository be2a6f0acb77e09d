//! The events that the machine takes in, and the actions that the operator performs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use crate::plan::Plan;
use crate::rbac_mirror;
use crate::snapshot::{LastBase, NoChecksum, SchedulerAddress, SchedulerAnswer, Snapshot, WriteFailure};
use crate::write::{NewConfigMap, Write};

/// An event that the state machine takes in.
#[derive(Debug, Clone)]
pub enum Event {
    /// This replica won the Lease, or writes without one.
    LeadershipWon,
    /// This replica does not lead any more.
    LeadershipLost,
    /// All own kinds and the ConfigMaps were read from the API server by requests sent after
    /// [`Action::Relist`], and what is observed from now on is not older.
    Relisted,
    /// Something that is watched has changed.
    Changed,
    /// The time that [`Action::Wait`] named has come.
    Due,
    /// The watch that has failed for longest of those whose objects are needed; `None`: all work.
    Watches(Option<FailingWatch>),
    /// Answers [`Action::ReadBase`]; an error is worth another try.
    BaseRead(Result<Option<LastBase>, String>),
    /// Answers [`Action::ReadScheduler`] and [`Action::ReadUntilLoaded`].
    Answered(Result<SchedulerAnswer, NoChecksum>),
    /// Answers [`Action::Observe`]: everything that is watched. What was observed since the start is added
    /// here.
    Observed(Box<Snapshot>),
    /// Answers [`Action::Observe`]: not everything was read yet.
    Unready,
    /// Answers [`Action::Observe`]: the plan could not be made, because of an internal error.
    PlanFailed,
    /// Answers [`Action::Create`]: it exists now, or existed.
    Created(Result<(), WriteFailure>),
    /// Answers [`Action::Write`].
    Written(WriteOutcome),
    /// Answers [`Action::Reread`].
    Reread(Result<(), String>),
    /// Answers [`Action::StoreBase`]; an error is worth another try.
    BaseStored(Result<(), String>),
    /// Answers [`Action::Mirror`].
    Mirrored {
        /// The first failure.
        failure: Option<WriteFailure>,
        /// True if another writer was faster.
        conflict: bool,
    },
    /// Answers [`Action::ReadQueues`]: queues by partition, and whether they come from the configuration.
    Queues(BTreeMap<String, BTreeMap<String, bool>>),
    /// Answers [`Action::Publish`]: whether the endpoints answer by the plan now. Comes before the answer to
    /// [`Action::Report`].
    Published(bool),
    /// Answers [`Action::Report`].
    Reported {
        /// Some statuses were written.
        written: bool,
        /// Some could not be written.
        failed: bool,
        /// There was no time for some.
        unfinished: bool,
    },
}

/// The outcome of a write.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WriteOutcome {
    /// It was made.
    Done,
    /// It was not made: the ConfigMap does not meet the precondition.
    Conflict,
    /// It was not made, for this reason.
    Refused(WriteFailure),
    /// It may have been made, or may be made later: there was no answer, or an unclear one.
    Unknown(String),
}

/// A watch that fails.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FailingWatch {
    /// The time since which it fails.
    pub since: Timestamp,
    /// The watched objects, and why the watch fails.
    pub message: String,
}

/// An action for the operator to perform.
#[derive(Debug, Clone)]
pub enum Action {
    /// Read all own kinds and the ConfigMaps anew; [`Event::Relisted`] reports when that is done, and is no
    /// answer.
    Relist,
    /// Read the last good base.
    ReadBase,
    /// Store the last good base.
    StoreBase(LastBase),
    /// Request the checksum from the scheduler at this address.
    ReadScheduler(SchedulerAddress),
    /// Take a snapshot.
    Observe,
    /// Create a ConfigMap; one that exists is left alone.
    Create {
        /// `metadata.namespace`
        namespace: String,
        /// The ConfigMap.
        map: NewConfigMap,
    },
    /// Write the output ConfigMap.
    Write {
        /// `metadata.namespace`
        namespace: String,
        /// The change.
        write: Write,
    },
    /// Read the output ConfigMap past every cache, for the next snapshot.
    Reread {
        /// `metadata.namespace`
        namespace: String,
        /// `metadata.name`
        name: String,
    },
    /// Query the scheduler until it runs the text with this checksum, or does not answer, or takes too long.
    /// A change of what is watched shortens the wait.
    ReadUntilLoaded {
        /// The scheduler's address.
        scheduler: SchedulerAddress,
        /// The checksum.
        checksum: String,
    },
    /// Take the next steps of the RBAC mirror.
    Mirror(rbac_mirror::MirrorChanges),
    /// Request the queues of these partitions from the scheduler.
    ReadQueues {
        /// The scheduler's address.
        scheduler: SchedulerAddress,
        /// The partitions.
        partitions: BTreeSet<String>,
    },
    /// From now on the endpoints and metrics go by this plan.
    Publish(Arc<Snapshot>, Arc<Plan>),
    /// Write the statuses that differ, and publish the events.
    Report(Arc<Snapshot>, Arc<Plan>),
    /// Feed [`Event::Due`] at this moment.
    Wait(Timestamp),
}
