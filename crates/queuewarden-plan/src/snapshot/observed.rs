//! The memory and the observations of the operator beside the objects.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::conditions::Reason;
use yunikorn::config::checksum;

/// The base from which the last full text was rendered: it is used while the base is missing or invalid.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct LastBase {
    /// The base as the header of the output names it.
    pub source: String,
    /// The text.
    pub text: String,
    /// The text that the scheduler ran when it refused another one: withdrawals are applied to it.
    pub loaded: Option<String>,
}

/// The operator's observations since it started. All empty for `render`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Observed {
    /// The last read-back of the scheduler.
    pub read_back: Option<ReadBack>,
    /// The release that the scheduler reported last.
    pub release: Option<String>,
    /// The time when the text in force was first observed, if the scheduler does not run it yet.
    pub pending_since: Option<Timestamp>,
    /// The text that was last proven to run.
    pub loaded_text: Option<String>,
    /// The number of times that the current text was written again, with a new revision, because the
    /// scheduler did not run it.
    pub reasserts: u32,
    /// The failure of the last write, if it failed, for the text that is still desired.
    pub write_failure: Option<WriteFailure>,
    /// The failure of the last write of the RBAC mirror, if it failed.
    pub mirror_failure: Option<WriteFailure>,
    /// Our repairs of other people's edits, oldest first; bounded.
    pub repairs: Vec<Timestamp>,
    /// The manager that made the edit we last repaired.
    pub other_writer: Option<String>,
    /// Checksum of the text we wrote last, to distinguish a new intent from a repair.
    pub last_written: Option<String>,
    /// The text that this process wrote last, also where the outcome of that write is unknown.
    pub written: Option<OutputText>,
    /// The resource version of the output that a late write may still name, a former leader's or one of
    /// unknown outcome. While the output has it, that write may still be accepted: the version has to change
    /// first.
    pub fence: Option<String>,
    /// The writes that widened access, oldest first; bounded.
    pub widened: Vec<Timestamp>,
    /// The refusal of a full text by an admission webhook or by the scheduler, until another full text is
    /// proven to run.
    pub refused: Option<RefusedText>,
    /// A watch of our own kinds or of the ConfigMaps that has failed for minutes, and why.
    pub watch_failure: Option<String>,
    /// Success if the user-info webhook is registered so that it writes the aliases of all pods, or the
    /// reason why not. `None`: not observed, as for files.
    pub identity_webhook: Option<Result<(), String>>,
    /// Queues that the scheduler has at run time, per partition: path and whether it comes from the
    /// configuration.
    pub live_queues: BTreeMap<String, BTreeMap<String, bool>>,
}

impl Observed {
    /// Returns the checksum that the scheduler reports, if it answered the last request.
    pub(crate) fn reported(&self) -> Option<&String> {
        self.read_back.as_ref()?.checksum.as_ref().ok()
    }

    /// Returns whether the scheduler reports the text that it was last observed to run.
    pub(crate) fn reports_loaded_text(&self) -> bool {
        let both = self.reported().zip(self.loaded_text.as_ref());
        both.is_some_and(|(reported, text)| checksum(text) == *reported)
    }
}

/// A text with a queue tree in the output ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OutputText {
    /// The key, `<service.policyGroup>.yaml`.
    pub key: String,
    /// The whole text, header included.
    pub text: String,
}

/// The refusal of a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RefusedText {
    /// Checksum of the text's body, without the header that names the revision.
    pub body: String,
    /// The time of the last refusal.
    pub at: Timestamp,
    /// The number of refusals of this body.
    pub times: u32,
    /// True if the scheduler refused it, and not the API server.
    pub by_scheduler: bool,
}

/// One answer of `GET /ws/v1/config`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReadBack {
    /// The time of the request.
    pub at: Timestamp,
    /// The checksum, or why none is usable (stable text).
    pub checksum: Result<String, NoChecksum>,
}

/// The reason why there is no usable checksum, as condition `Loaded` reports it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NoChecksum {
    /// The reason: [`Reason::VersionUnproven`] if the scheduler answers, and a checksum of its version proves
    /// nothing.
    pub reason: Reason,
    /// The message, which is the same in the same situation.
    pub message: String,
}

impl NoChecksum {
    /// Returns the error of a scheduler that gives no usable response.
    pub fn unreachable(why: &str) -> Self {
        let message = format!("the scheduler does not answer: {why}");
        Self { reason: Reason::SchedulerUnreachable, message }
    }
}

/// The scheduler's answer about what it runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SchedulerAnswer {
    /// The checksum of the text that it runs.
    pub checksum: String,
    /// Its release; `None`: it reports none.
    pub release: Option<String>,
}

#[cfg(test)]
impl SchedulerAnswer {
    /// Returns the answer of a scheduler of version 1.8 that runs this text.
    pub(crate) fn running(text: &str) -> Self {
        Self { checksum: checksum(text), release: Some("1.8.0".to_owned()) }
    }
}

/// The reason why a write failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WriteFailure {
    /// 403 by RBAC; the message of the API server.
    Forbidden(String),
    /// An admission webhook (`YuniKorn`'s own among them), a policy or a rule of the API server refused it,
    /// and will again.
    Rejected(String),
    /// Anything that passes by itself: a conflict, a time-out.
    Transient(String),
}
