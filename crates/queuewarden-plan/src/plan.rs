//! The plan: everything that is written and reported.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::effective::KeyClaim;
use crate::grants::Attribution;
use crate::rbac_mirror;
use crate::snapshot::{ConfigStatus, LastBase, Mode, OutputText, Snapshot};
use crate::status::{AccessTestStatus, AdmissionPolicyStatus, Event, ObjectStatus, QueueAclStatus};
use crate::write::history::{keys, number};
use crate::write::{NewConfigMap, Revision, Write};

/// The writes to make and the statuses and events to publish. Apply the steps in the order of the fields.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// A ConfigMap to create first (`adoption: Import`): the base, with the current text of the output.
    pub import: Option<NewConfigMap>,
    /// A ConfigMap to create first (`adoption: Force`): a copy of what is about to be replaced.
    pub backup: Option<NewConfigMap>,
    /// The change of the output ConfigMap; `None` when nothing is to be written.
    pub write: Option<Write>,
    /// The base to store as the last good one; `None` when the stored one stays.
    pub last_base: Option<LastBase>,
    /// The changes of the RBAC mirror, which follows the ACLs now in force.
    pub mirror: rbac_mirror::MirrorChanges,
    /// The text that should be in force, whether it may be written or not; `None` when the base gives none.
    pub rendered: Option<OutputText>,
    /// Which objects decide which ACLs of `rendered`, by partition, queue and right.
    pub contributions: Arc<[Attribution]>,
    /// Status of each `QueueAcl`, by name.
    pub queue_acls: BTreeMap<Arc<str>, ObjectStatus<QueueAclStatus>>,
    /// Status of each `AdmissionPolicy`, by name.
    pub policies: BTreeMap<Arc<str>, ObjectStatus<AdmissionPolicyStatus>>,
    /// Status of each `QueueAccessTest`, by name.
    pub access_tests: BTreeMap<Arc<str>, ObjectStatus<AccessTestStatus>>,
    /// Status of the `YuniKornConfig`, if there is one.
    pub config: Option<ObjectStatus<ConfigStatus>>,
    /// Events to publish once the statuses are written, in a stable order. Only transitions: none when
    /// nothing changed.
    pub events: Vec<Event>,
    /// The time to plan again although nothing changed: a window opens or closes, or a retry is due.
    pub wake_at: Option<Timestamp>,
}

/// The cause of a revision whose write was not recorded.
const FOUND: &str = "found in the ConfigMap: its write was not recorded";

impl Revision {
    /// Makes the revision of the text in the output, if queuewarden wrote it and it stays.
    pub fn found(snapshot: &Snapshot, plan: &Plan) -> Option<Self> {
        let enforces = snapshot.spec().is_some_and(|spec| spec.mode == Mode::Enforce);
        let key = &plan.rendered.as_ref()?.key;
        let stays = enforces && plan.write.is_none() && snapshot.claim(key) == KeyClaim::Ours;
        let text = snapshot.output_text(key).filter(|_| stays)?;
        let causes = vec![FOUND.to_owned()];
        let admission = snapshot.output.as_deref().map(|output| keys(&output.data)).unwrap_or_default();
        let (number, at) = (number(text)?, snapshot.now);
        Some(Self { number, at, causes, access: None, text: text.clone(), admission })
    }
}
