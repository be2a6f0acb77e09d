//! Reintroduces faults that were found in the past, to prove that the model checker finds each of them.
//!
//! A test can activate a fault in its thread. Outside of tests no fault is active, and the compiler removes
//! the check.

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum PlantedFault {
    /// Withdrawals wait until the full text can be written.
    WithdrawalsWait,
    /// An invalid object keeps the version in its status, however old it is.
    KeptByStatusAlone,
    /// YuniKorn's built-in default replaces a missing base.
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
    /// An end is reported without checking the texts.
    UnprovenEnd,
    /// An object is in effect even if its writer no longer administers anything.
    DelegationLasts,
    /// `service.policyGroup` is followed before the scheduler follows it.
    GroupAtOnce,
    /// The operator does not notice that the scheduler refuses a text.
    RefusalUnnoticed,
    /// An object that contains only aliases replaces the base's ACL although it was never in force.
    AliasesReplace,
    /// The base's ACL comes back when aliases are no longer written.
    AliasesForget,
}

#[cfg(test)]
thread_local! {
    static PLANTED: std::cell::Cell<Option<PlantedFault>> = const { std::cell::Cell::new(None) };
}

/// Activates a fault, or deactivates all of them, in this thread.
#[cfg(test)]
pub(super) fn plant(fault: Option<PlantedFault>) {
    PLANTED.with(|planted| planted.set(fault));
}

/// Returns whether a fault is active.
#[cfg(test)]
pub(super) fn is_planted(fault: PlantedFault) -> bool {
    PLANTED.with(|planted| planted.get() == Some(fault))
}

/// Returns whether a fault is active, which is never the case outside of tests.
#[cfg(not(test))]
pub(super) const fn is_planted(_: PlantedFault) -> bool {
    false
}
