//! Condition types and reasons: the vocabulary of `status`, and the merge of new conditions into old ones.
//!
//! Shapes are `metav1.Condition`'s. Messages are stable: the same situation gives the same bytes (lists
//! sorted, no counters, no clock), or every run would write a status. `lastTransitionTime` moves only when
//! `status` flips.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;

/// Longer messages are cut: the schema allows 32 KiB, but nobody reads that, and every status write carries
/// it.
pub const MAX_MESSAGE: usize = 2048;

macro_rules! vocabulary {
    ($(#[$outer:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident,)* }) => {
        $(#[$outer])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, strum::Display, strum::IntoStaticStr,
        )]
        pub enum $name { $($(#[$inner])* $variant,)* }

        impl $name {
            /// Every word, in the order of declaration.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// A word of a status, shared where it is one of these.
            pub fn shared(word: String) -> Cow<'static, str> {
                let known = Self::ALL.iter().map(|known| known.as_str()).find(|known| *known == word);
                known.map_or(Cow::Owned(word), Cow::Borrowed)
            }

            /// Returns the word as a condition spells it.
            pub fn as_str(self) -> &'static str {
                self.into()
            }
        }
    };
}

vocabulary! {
    /// `status` of a condition.
    Status {
        /// It holds.
        True,
        /// It does not hold.
        False,
        /// It is unknown now.
        Unknown,
    }
}

impl Status {
    /// `True` or `False`.
    pub(super) fn of(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }

    /// From Kubernetes' spelling; anything else is `Unknown`.
    pub fn parse(text: &str) -> Self {
        Self::ALL.iter().copied().find(|known| known.as_str() == text).unwrap_or(Self::Unknown)
    }
}

vocabulary! {
    /// `type` of a condition.
    Type {
        /// The object is valid and in its time window.
        Accepted,
        /// The grants of the object are in the ConfigMap.
        Programmed,
        /// It changes a decision.
        Effective,
        /// The base text was found and is valid.
        BaseResolved,
        /// The output ConfigMap holds the rendered text.
        Applied,
        /// The scheduler runs the text of the ConfigMaps.
        Loaded,
        /// Access is open to everyone.
        FailOpen,
        /// Kubernetes' RBAC mirrors the ACLs; present only while it is to, or did.
        Mirrored,
        /// Every check of a `QueueAccessTest` holds.
        Passing,
        /// The summary of all other conditions.
        Ready,
    }
}

vocabulary! {
    /// `reason` of a condition. A positive condition's reason is its type's name unless there is more to
    /// report.
    Reason {
        /// `Accepted=True`
        Accepted,
        /// `Programmed=True`
        Programmed,
        /// `Programmed=True`: the object is invalid now, and its last valid version stays in force.
        LastValidKept,
        /// `Effective=True`
        Effective,
        /// `BaseResolved=True`
        BaseResolved,
        /// `BaseResolved=True`: there is no base, so `YuniKorn`'s built-in default is used.
        BuiltInDefault,
        /// `Applied=True`
        Applied,
        /// `Loaded=True`
        Loaded,
        /// `Mirrored=True`
        Mirrored,
        /// `Passing=True`
        Passing,
        /// `Ready=True`
        Ready,
        /// The spec cannot be read, or names something `YuniKorn` would drop.
        Invalid,
        /// The base has no such queue.
        QueueNotFound,
        /// The base has no such partition.
        PartitionNotFound,
        /// `notBefore` lies ahead.
        NotYetValid,
        /// `expiresAt` has passed.
        Expired,
        /// `spec.suspend`: it is switched off.
        Suspended,
        /// A grant that the object no longer makes is still written, or the scheduler may still run it.
        WithdrawalPending,
        /// `Accepted=False` or `Effective=False`: it names users or groups that only an alias can name, and
        /// the user-info webhook does not write aliases. Refused if it names no others and was never in
        /// force.
        IdentityWebhookMissing,
        /// It is in the name of someone who may not write it: delegation is off, or they do not administer
        /// the queue.
        NotDelegated,
        /// Another `AdmissionPolicy` counts, or none while there are several.
        Conflicted,
        /// Not written or not confirmed yet.
        Pending,
        /// `mode: Observe`, so nothing is written.
        ObserveMode,
        /// The `YuniKornConfig` is missing, or its base or output is not in order.
        ConfigNotReady,
        /// An ancestor, or another entry of the queue, allows everyone already.
        AncestorAllowsEveryone,
        /// `YuniKorn`'s built-in default is active, which allows everyone.
        DefaultConfigActive,
        /// The base text is not what `YuniKorn` activates.
        BaseInvalid,
        /// The base ConfigMap or its key is missing.
        BaseNotFound,
        /// The output would exceed 1 MiB.
        TooLarge,
        /// Someone else owns the output key.
        FieldConflict,
        /// Someone else keeps changing the output key back.
        Contended,
        /// RBAC does not let us write.
        Forbidden,
        /// An admission webhook refused the write.
        RejectedByAdmission,
        /// The API server or the scheduler refuses the text.
        Rejected,
        /// `service.policyGroup` names another key than the one the scheduler is proven to read.
        PolicyGroupPending,
        /// Most of the objects were removed at once, without a confirmation.
        RemovalUnconfirmed,
        /// A `binaryData` key hides the output key.
        ShadowedByBinaryData,
        /// The text lacks a partition that is active: the scheduler would hang.
        PartitionMissing,
        /// There is no `schedulerUrl`, so it is unknown what the scheduler runs.
        NotVerified,
        /// `YuniKorn` does not read the written text.
        NotRead,
        /// No object has the name in `spec.admissionPolicy`.
        AdmissionPolicyMissing,
        /// Written, not yet read back.
        LoadPending,
        /// The scheduler is of a version whose checksums prove nothing.
        VersionUnproven,
        /// The scheduler does not answer.
        SchedulerUnreachable,
        /// The scheduler's certificate is not trusted, or is for another name.
        SchedulerCertificateInvalid,
        /// The scheduler's certificate has expired.
        SchedulerCertificateExpired,
        /// The scheduler takes the credentials for nobody's (401), or refuses the client certificate.
        SchedulerUnauthorized,
        /// The scheduler does not let the credentials' owner read (403).
        SchedulerForbidden,
        /// The Secret with the credentials for the scheduler is missing, cannot be read or is not in order.
        SchedulerSecretInvalid,
        /// The scheduler answers, but does not take the text.
        SchedulerRejected,
        /// A check does not hold.
        Failing,
        /// A check cannot be decided.
        Undecided,
        /// `service.enableConfigHotRefresh` is off.
        HotRefreshDisabled,
        /// `FailOpen=False`
        Closed,
        /// The root queue allows everyone.
        RootAllowsEveryone,
        /// The output key is missing and what `YuniKorn` falls back to allows everyone.
        OutputMissing,
        /// A watch fails, so changes of the objects may have been missed.
        WatchFailing,
    }
}

impl Reason {
    /// Returns the reason of a lasting refusal. A refusal by an admission webhook is recognised by the words
    /// that the API server puts before the webhook's own (apiserver `plugin/webhook/errors/statuserror.go`).
    pub(super) fn of_rejection(message: &str) -> Self {
        let webhook = message.contains("admission webhook") && message.contains("denied the request");
        if webhook { Self::RejectedByAdmission } else { Self::Rejected }
    }
}

/// One condition of one object, as read from or written to its status.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Condition {
    /// `type`; nearly always a [`Type`], so thousands of conditions share the string.
    pub type_: Cow<'static, str>,
    /// `status`
    pub status: Status,
    /// `reason`; nearly always a [`Reason`].
    pub reason: Cow<'static, str>,
    /// `message`
    pub message: String,
    /// `observedGeneration`
    pub observed_generation: i64,
    /// `lastTransitionTime`
    pub last_transition: Timestamp,
}

impl Condition {
    /// Returns whether it is of a type.
    pub fn is(&self, type_: Type) -> bool {
        self.type_ == type_.as_str()
    }

    /// Returns whether it has a reason.
    pub fn has(&self, reason: Reason) -> bool {
        self.reason == reason.as_str()
    }
}

/// The desired content of a condition; [`merge`] adds time and generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// `type`
    pub type_: Type,
    /// `status`
    pub status: Status,
    /// `reason`
    pub reason: Reason,
    /// `message`
    pub message: Arc<str>,
}

impl Finding {
    /// A condition that holds.
    pub fn yes(type_: Type, reason: Reason, message: impl Into<Arc<str>>) -> Self {
        Self { type_, status: Status::True, reason, message: message.into() }
    }

    /// A condition that does not hold.
    pub fn no(type_: Type, reason: Reason, message: impl Into<Arc<str>>) -> Self {
        Self { status: Status::False, ..Self::yes(type_, reason, message) }
    }

    /// A condition that is unknown.
    pub fn unknown(type_: Type, reason: Reason, message: impl Into<Arc<str>>) -> Self {
        Self { status: Status::Unknown, ..Self::yes(type_, reason, message) }
    }

    /// The summary: the first finding that is not true, or else `ready`.
    pub fn summary<'a>(
        findings: impl IntoIterator<Item = &'a Finding>,
        ready: impl FnOnce() -> Self,
    ) -> Self {
        let failing = findings.into_iter().find(|finding| finding.status != Status::True);
        failing.map_or_else(ready, |first| Self { type_: Type::Ready, ..first.clone() })
    }
}

/// The conditions an object should carry: `findings` with the transition times of `old` where `status` did
/// not flip. Foreign condition types in `old` are kept; types of ours without a finding are removed. Where
/// nothing has changed, it is `old` itself.
pub fn merge(
    old: &Arc<[Condition]>,
    findings: &[Finding],
    generation: i64,
    now: Timestamp,
) -> Arc<[Condition]> {
    if are_current(old, findings, generation) {
        return Arc::clone(old);
    }
    let fresh = findings.iter().map(|finding| {
        let before = old.iter().find(|c| c.is(finding.type_) && c.status == finding.status);
        Condition {
            type_: finding.type_.as_str().into(),
            status: finding.status,
            reason: finding.reason.as_str().into(),
            message: cut(&finding.message, MAX_MESSAGE).into_owned(),
            observed_generation: generation,
            last_transition: before.map_or(now, |c| c.last_transition),
        }
    });
    old.iter().filter(|condition| !is_ours(condition)).cloned().chain(fresh).collect()
}

/// The condition of a type.
pub fn find(conditions: &[Condition], type_: Type) -> Option<&Condition> {
    conditions.iter().find(|condition| condition.is(type_))
}

/// Returns the current condition of a type as a finding, for use when nothing newer is known.
pub(super) fn current(conditions: &[Condition], type_: Type) -> Option<Finding> {
    let condition = find(conditions, type_)?;
    let reason = *Reason::ALL.iter().find(|reason| condition.has(**reason))?;
    Some(Finding { type_, status: condition.status, reason, message: condition.message.as_str().into() })
}

/// Returns whether a condition has one of our types.
pub fn is_ours(condition: &Condition) -> bool {
    Type::ALL.iter().any(|known| condition.is(*known))
}

/// Returns whether the conditions match the findings already, with foreign ones first.
fn are_current(conditions: &[Condition], findings: &[Finding], generation: i64) -> bool {
    let foreign = conditions.iter().take_while(|condition| !is_ours(condition)).count();
    let own = conditions.get(foreign..).unwrap_or_default();
    own.len() == findings.len()
        && own.iter().zip(findings).all(|(condition, finding)| {
            condition.is(finding.type_)
                && condition.status == finding.status
                && condition.has(finding.reason)
                && condition.message == cut(&finding.message, MAX_MESSAGE)
                && condition.observed_generation == generation
        })
}

/// Returns `text`, cut at a character boundary so that it has at most `most` bytes.
pub(super) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return text.into();
    }
    let end = text.floor_char_boundary(most.saturating_sub('…'.len_utf8()));
    let head = text.split_at_checked(end).map_or("", |(head, _)| head);
    format!("{head}…").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn condition(type_: &'static str, status: Status, second: i64) -> Condition {
        Condition {
            type_: type_.into(),
            status,
            reason: "Old".into(),
            message: "old".into(),
            observed_generation: 1,
            last_transition: at(second),
        }
    }

    #[test]
    fn transition_time_moves_only_when_the_status_flips() {
        let old = [condition("Accepted", Status::True, 5), condition("Ready", Status::False, 5)];
        let found = [
            Finding::yes(Type::Accepted, Reason::Accepted, "new words"),
            Finding::yes(Type::Ready, Reason::Ready, "in force"),
        ];
        let merged = merge(&old.into(), &found, 2, at(9));
        let times: Vec<_> = merged.iter().map(|c| (&*c.type_, c.last_transition)).collect();
        assert_eq!(times, [("Accepted", at(5)), ("Ready", at(9))]);
        assert!(merged.iter().all(|c| c.observed_generation == 2));
    }

    #[test]
    fn foreign_conditions_stay_and_our_outdated_ones_go() {
        let old = [condition("example.com/Audited", Status::True, 1), condition("FailOpen", Status::True, 1)];
        let merged = merge(&old.into(), &[Finding::yes(Type::Ready, Reason::Ready, "")], 1, at(2));
        let types: Vec<_> = merged.iter().map(|c| &*c.type_).collect();
        assert_eq!(types, ["example.com/Audited", "Ready"]);
    }

    #[test]
    fn merging_twice_changes_nothing() {
        let found = [Finding::no(Type::Accepted, Reason::Invalid, "é".repeat(3000))];
        let once = merge(&Arc::default(), &found, 3, at(1));
        assert_eq!(once[0].message, format!("{}…", "é".repeat(1022)));
        assert!(Arc::ptr_eq(&merge(&once, &found, 3, at(99)), &once));
    }

    #[test]
    fn conditions_that_say_something_else_are_not_left_as_they_are() {
        let found = |message: &str| [Finding::yes(Type::Ready, Reason::Ready, message)];
        let foreign: Arc<[_]> = [condition("example.com/Audited", Status::True, 1)].into();
        let once = merge(&foreign, &found("in force"), 3, at(1));
        assert!(Arc::ptr_eq(&merge(&once, &found("in force"), 3, at(9)), &once));
        let rejected = [Finding::yes(Type::Ready, Reason::Invalid, "in force")];
        let failing = [Finding::no(Type::Ready, Reason::Ready, "in force")];
        let other = [Finding::yes(Type::Accepted, Reason::Ready, "in force")];
        for (findings, generation) in
            [(&found("soon"), 3), (&found("in force"), 4), (&rejected, 3), (&failing, 3), (&other, 3)]
        {
            let merged = merge(&once, findings, generation, at(1));
            assert_eq!(merged[0], foreign[0]);
            assert_eq!(merged.len(), 2);
            assert_ne!(merged[1], once[1]);
        }
        assert_eq!(merge(&once, &[], 3, at(1)), foreign);
        let behind: Arc<[_]> = once.iter().rev().cloned().collect();
        assert_eq!(merge(&behind, &found("in force"), 3, at(9)), once, "foreign ones come first");
    }

    #[test]
    fn ready_mirrors_the_first_failure() {
        let findings = [
            Finding::yes(Type::Accepted, Reason::Accepted, ""),
            Finding::unknown(Type::Loaded, Reason::SchedulerUnreachable, "no answer"),
            Finding::no(Type::Effective, Reason::DefaultConfigActive, "redundant"),
        ];
        let ready = Finding::summary(&findings, || Finding::yes(Type::Ready, Reason::Ready, "in force"));
        assert_eq!((ready.status, ready.reason), (Status::Unknown, Reason::SchedulerUnreachable));
    }

    #[test]
    fn a_status_is_read_as_it_is_written() {
        for status in [Status::True, Status::False, Status::Unknown] {
            assert_eq!(Status::parse(status.as_str()), status);
        }
        for text in ["", "true", "FALSE", "Maybe"] {
            assert_eq!(Status::parse(text), Status::Unknown, "{text}");
        }
    }
}
