//! Tests faults of the API server and its store, the network between them, the operator itself, the
//! scheduler, and other writers. After each fault the grants are live, and every version of the output
//! matched the grants at some earlier moment: nothing was lost, and access was never wider (see
//! [`GrantHistory`]).
//!
//! The ordinary run includes each fault in a short form; `just chaos` runs all of them in full length and
//! number.

mod answers;
mod api_server;
mod definitions;
mod kills;
mod leaders;
mod output;
mod scheduler;
mod watches;
mod watchful;

use std::time::Duration;

use anyhow::{Result, ensure};
use queuewarden_e2e::wait::LONG;
use queuewarden_e2e::{Capability, FaultProxy, GrantHistory, Operator, TestCluster};

use crate::operator::configure;

/// The variable whose value `full` makes faults last and repeat in full.
const FORM: &str = "QUEUEWARDEN_E2E_CHAOS";

/// Returns whether this is the long form.
fn full() -> bool {
    std::env::var(FORM).is_ok_and(|form| form == "full")
}

/// Returns the length of a fault in the short and in the long form, in seconds.
fn length(short: u64, long: u64) -> Duration {
    Duration::from_secs(if full() { long } else { short })
}

/// Lets a fault last.
async fn last(time: Duration) {
    tokio::time::sleep(time).await;
}

/// A configured cluster, and a connection to its API server that can be disturbed. There are no grants, and
/// no operator runs.
struct Chaos<'cluster> {
    cluster: &'cluster TestCluster,
    proxy: FaultProxy,
    grant_history: GrantHistory<'cluster>,
    /// How many times it was shown to work.
    rounds: usize,
}

impl<'cluster> Chaos<'cluster> {
    /// Runs a test on a fresh cluster, if it has the required capabilities.
    async fn with(test: impl AsyncFnOnce(Chaos<'_>) -> Result<()>) -> Result<()> {
        TestCluster::with(async |cluster| {
            let needed =
                [Capability::OperatorProcess, Capability::ApiServerProcess, Capability::SchedulerProcess];
            if !cluster.can_run(&needed)? {
                return Ok(());
            }
            cluster.install().await?;
            configure(cluster, "").await?;
            let (proxy, grant_history) =
                (FaultProxy::start(cluster).await?, GrantHistory::begin(cluster).await?);
            test(Chaos { cluster, proxy, grant_history, rounds: 0 }).await
        })
        .await
    }

    /// Starts an operator behind the proxy without waiting until it is ready.
    async fn launch(&self) -> Result<Operator<'cluster>> {
        self.launch_behind(&self.proxy).await
    }

    /// Starts an operator behind this proxy.
    async fn launch_behind(&self, proxy: &FaultProxy) -> Result<Operator<'cluster>> {
        let kubeconfig = proxy.kubeconfig(self.cluster).await?;
        Operator::launch(self.cluster, &[], &[("KUBECONFIG", &kubeconfig.to_string_lossy())]).await
    }

    /// Returns an operator that has written two grants.
    async fn running(&mut self) -> Result<Operator<'cluster>> {
        self.grant_history.grant("prod", "root.prod", &["alice"]).await?;
        self.grant_history.grant("dev", "root.dev", &["bob", "carol"]).await?;
        let operator = self.launch().await?;
        self.grant_history.converged(LONG).await?;
        Ok(operator)
    }

    /// Creates one grant, withdraws another, and changes a third, with new values each time.
    async fn change(&mut self) -> Result<()> {
        self.rounds += 1;
        let round = self.rounds;
        let user = format!("user{round}");
        self.grant_history.grant("team", "root.team", &[&user]).await?;
        self.grant_history.grant(&format!("batch-{round}"), "root.team.batch", &[&user, "dora"]).await?;
        if round > 1 {
            self.grant_history.revoke(&format!("batch-{}", round - 1)).await?;
        }
        Ok(())
    }

    /// Checks that all grants are live again without intervention, that a further change works, and that the
    /// operator runs.
    async fn recovers(&mut self, operator: &Operator<'_>, timeout: Duration) -> Result<()> {
        self.grant_history.converged(timeout).await?;
        self.change().await?;
        self.grant_history.converged(timeout).await?;
        let process = operator.process()?;
        ensure!(process.running(), "the operator has ended: {}", process.log_tail(25));
        operator.get("/livez").await.map(drop)
    }
}

/// Terminates an operator, and waits for it to end: it releases the Lease.
async fn end(operator: Operator<'_>) -> Result<()> {
    operator.process()?.terminate()?;
    operator.process()?.exited(LONG).await.map(drop)
}
