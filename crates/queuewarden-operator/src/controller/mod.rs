//! The controller: a thin layer around [`queuewarden_plan`] that gathers a snapshot and executes a plan.
//!
//! * [`clock`]: the time.
//! * [`cache`], [`metered`], [`watch`], [`current_object`]: the objects of one watch, and the memory they
//!   take.
//! * [`mirror`]: the RBAC mirror.
//! * [`cluster_watches`]: the watches, also of the user-info webhook's registration, and the snapshot built
//!   from them.
//! * [`metrics`], [`health`]: the state of the operator.
//! * [`read_back`]: the configuration that the scheduler runs.
//! * [`apply`], [`last_base`], [`history`], [`status`], [`events`]: the writes.
//! * [`leader`]: the election of the replica that writes.
//! * [`published`]: the state that the endpoints answer from.
//! * [`reconcile`]: the controller, on `kube::runtime`, around the state machine
//!   [`queuewarden_plan::machine`].

pub mod clock;

pub mod cache;
pub mod metered;
pub mod watch;

pub mod current_object;

pub mod apply;
pub mod mirror;

pub mod cluster_watches;

pub mod published;

pub mod metrics;

pub mod health;

pub mod events;
pub mod history;
pub mod last_base;
pub mod leader;
pub mod read_back;
pub mod status;

pub mod reconcile;

#[cfg(test)]
pub(crate) mod testing;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex even if a holder of the lock has panicked. The data must be valid in that case too.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
