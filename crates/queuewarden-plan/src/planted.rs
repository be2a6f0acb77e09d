//! Plants faults that were found once: the model checker has to find each of them.
//!
//! In tests a thread can switch one on. Elsewhere none is, and the compiler removes the check.

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum PlantedFault {
    /// Withdrawals wait until the full text can be written.
    WithdrawalsWait,
    /// An invalid object keeps the version in its status, however old that is.
    KeptByStatusAlone,
    /// YuniKorn's built-in default replaces a base that is missing.
    BuiltInDefault,
    /// A new leader writes from stale observations.
    NoRelist,
    /// A write of unknown outcome, or of a former leader, may be accepted later.
    NoFence,
    /// An object becomes Ready without comparing the written text with the one that the scheduler runs.
    UnprovenReady,
    /// Statuses follow the ConfigMap's `data` even if the scheduler reads another text.
    DataAlone,
    /// A narrowed object is Ready if the text grants at least what the object grants.
    UnwrittenNarrowing,
    /// An end is reported without a check of the texts.
    UnprovenEnd,
    /// An object counts also when its writer administers nothing any more.
    DelegationLasts,
    /// `service.policyGroup` is followed before the scheduler does.
    GroupAtOnce,
    /// The operator does not notice that the scheduler refuses a text.
    RefusalUnnoticed,
    /// An object that only aliases would fill replaces the base's ACL although it was never in force.
    AliasesReplace,
    /// The base's ACL comes back when nothing writes aliases any more.
    AliasesForget,
}

#[cfg(test)]
thread_local! {
    static PLANTED: std::cell::Cell<Option<PlantedFault>> = const { std::cell::Cell::new(None) };
}

/// Switches a fault on, or all of them off, in this thread.
#[cfg(test)]
pub(super) fn plant(fault: Option<PlantedFault>) {
    PLANTED.with(|planted| planted.set(fault));
}

/// Returns whether a fault is switched on.
#[cfg(test)]
pub(super) fn is_planted(fault: PlantedFault) -> bool {
    PLANTED.with(|planted| planted.get() == Some(fault))
}

/// Returns whether a fault is switched on: never.
#[cfg(not(test))]
pub(super) const fn is_planted(_: PlantedFault) -> bool {
    false
}
