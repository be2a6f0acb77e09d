//! The controller: a thin layer around [`queuewarden_plan`] that gathers a snapshot and carries a plan out.
//!
//! * [`clock`]: the time.
//! * [`cache`], [`metered`], [`watch`], [`current_object`]: the objects of one watch, and the memory they
//!   take.
//! * [`identity_webhook`], [`mirror`]: the registration of the user-info webhook, and the RBAC mirror.
//! * [`cluster_watches`]: all watches, and the snapshot made of them.
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
pub mod identity_webhook;

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

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kube::{Client, Config};
use tokio::signal::unix::{SignalKind, signal};

/// The reasons why a process cannot begin to work with a cluster.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No client for the API server could be created.
    #[error("no way to the API server: {0}")]
    Client(#[source] Box<kube::Error>),
    /// Neither a kubeconfig nor a service account.
    #[error("no way to the API server: {0}")]
    Config(#[from] kube::config::InferConfigError),
    /// The signals of the process cannot be received.
    #[error("cannot wait for signals: {0}")]
    Signal(#[source] io::Error),
}

/// Returns a client for the API server that the environment names.
///
/// # Errors
/// When it names none.
pub async fn connect() -> Result<Client, Error> {
    made(Client::try_from(config().await?))
}

pub(crate) fn made(client: Result<Client, kube::Error>) -> Result<Client, Error> {
    client.map_err(|error| Error::Client(Box::new(error)))
}

pub(crate) async fn config() -> Result<Config, Error> {
    // Two crates use rustls, so the cryptography provider must be chosen. This fails if it was chosen
    // already.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let mut config = Config::infer().await?;
    // Limits a response that begins and does not continue. The longest silence of a healthy response is that
    // of a watch without changes.
    config.read_timeout = Some(watch::SILENCE);
    // The time counts from the request, because the connection may have been idle before.
    config.reset_reader_on_write = true;
    Ok(config)
}

/// Returns a future that completes when the process receives a signal to end.
///
/// # Errors
/// When signals cannot be received.
pub fn terminated() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Locks a mutex, also after a holder of the lock panicked: the data in it must be valid then, too.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
