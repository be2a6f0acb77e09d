//! The test clusters of this process. Each is given to one test at a time and is reset before each test.

use std::fs::File;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use futures::FutureExt as _;
use futures::future::select_all;
use kube::Config;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{MappedMutexGuard, Mutex, MutexGuard};

use crate::assets::Servers;
use crate::control_plane::ControlPlane;
use crate::existing::Existing;
use crate::kubeconfig::Access;
use crate::network::{self, Network};
use crate::process::Process;
use crate::session::Session;
use crate::yunikorn;

/// `existing`: use the cluster of `KUBECONFIG` instead of starting one.
pub const MODE: &str = "QUEUEWARDEN_E2E";
/// The variable with the path of a file that collects the names of tests that this cluster cannot run.
/// Without it these tests fail, because a test has no other way to report that it did not run.
pub const NOT_RUN: &str = "QUEUEWARDEN_E2E_NOT_RUN";
/// The namespace of test pods.
pub const NAMESPACE: &str = "queuewarden-e2e";
/// The initial base of every test: a closed root and a few queues, with placement as requested. Without
/// further ACLs no one may submit.
pub const BASE: &str = include_str!("base.yaml");

/// A capability that existing clusters may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// Stop and start the scheduler.
    SchedulerProcess,
    /// Stop and start the API server.
    ApiServerProcess,
    /// Start and stop `YuniKorn`'s admission controller.
    AdmissionProcess,
    /// Start the operator with arguments, send it signals, run two.
    OperatorProcess,
    /// Start kube-controller-manager.
    ControllerManager,
    /// Count writes.
    Audit,
}

/// A running cluster with `YuniKorn`.
#[derive(Debug)]
pub struct TestCluster {
    pub(crate) admin: Config,
    /// Has the files of the cluster.
    pub(crate) directory: PathBuf,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) access: Access,
    pub(crate) kubectl: PathBuf,
    pub(crate) rest: String,
    pub(crate) cluster: Cluster,
    since_reset: std::sync::Mutex<SinceReset>,
}

/// The changes that the running test has made to the test cluster.
#[derive(Debug, Default)]
pub(crate) struct SinceReset {
    installed: bool,
    logs: Vec<PathBuf>,
}

#[derive(Debug)]
pub(crate) enum Cluster {
    Local(Box<Local>),
    Existing(Box<Existing>),
}

#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) scheduler: Process,
    pub(crate) admission: Process,
    pub(crate) plane: ControlPlane,
    pub(crate) forwarded: std::sync::Mutex<bool>,
    /// The network; the first cluster uses the process's network.
    network: Option<Network>,
}

/// A test cluster, held for the duration of one test. Holding it proves that no other test uses it.
pub type TestClusterGuard = MappedMutexGuard<'static, TestCluster>;

/// The test clusters. Each is started when all previous ones are in use. libtest runs as many tests at once
/// as the machine has processors.
static CLUSTERS: [Mutex<Option<TestCluster>>; 4] = [const { Mutex::const_new(None) }; 4];

impl TestCluster {
    /// Runs a test on the test cluster: exclusively, from the initial state. If it fails by an error or a
    /// panic, prints the cluster's state.
    ///
    /// # Errors
    /// Those of `test`, and when there is no test cluster.
    pub async fn with(test: impl AsyncFnOnce(&Self) -> Result<()>) -> Result<()> {
        let cluster = Self::lend().await?;
        cluster.run(test).await
    }

    /// Runs a test on an existing cluster with queuewarden as installed there. Only our objects and those of
    /// tests are removed beforehand; see [`Self::with`] for the rest.
    ///
    /// # Errors
    /// Those of `test`, and when queuewarden is not installed.
    pub async fn with_installed(test: impl AsyncFnOnce(&Self) -> Result<()>) -> Result<()> {
        ensure!(is_existing()?, "nodes are needed, which the test cluster lacks: see e2e/kind.sh");
        let cluster = Self::lend_as_it_is().await?;
        ensure!(cluster.operator_is_deployed(), "queuewarden is not installed");
        cluster.clean().await.context("cannot clean the cluster")?;
        cluster.run(test).await
    }

    async fn run(&self, test: impl AsyncFnOnce(&Self) -> Result<()>) -> Result<()> {
        let outcome = Box::pin(AssertUnwindSafe(test(self)).catch_unwind());
        let outcome = tokio::select! {
            outcome = outcome => outcome,
            never = Box::pin(self.retry_deletions()) => match never {},
        };
        if !matches!(outcome, Ok(Ok(()))) {
            eprintln!("{}", self.diagnose().await);
        }
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Returns a test cluster that no other test uses, in its initial state (see [`Self::reset`]), starting
    /// it if necessary. The calling thread is then in the cluster's network.
    ///
    /// # Errors
    /// When the cluster cannot be started or reset.
    pub async fn lend() -> Result<TestClusterGuard> {
        let cluster = Self::lend_as_it_is().await?;
        cluster.reset().await.context("cannot reset the cluster")?;
        Ok(cluster)
    }

    async fn lend_as_it_is() -> Result<TestClusterGuard> {
        let existing = is_existing()?;
        // The other threads of a runtime stay in the network of the process, and so does the first cluster.
        let one_thread = Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread;
        let usable = if !existing && one_thread && network::is_possible() { CLUSTERS.len() } else { 1 };
        let free = CLUSTERS.iter().take(usable).map(|slot| Box::pin(slot.lock()));
        let (mut slot, number, _) = select_all(free).await;
        match &mut *slot {
            Some(Self { cluster: Cluster::Local(local), .. }) => network::enter(local.network.as_ref())?,
            Some(_) => {}
            none if existing => *none = Some(Self::connect().await?),
            none => *none = Some(Self::start(number).await?),
        }
        MutexGuard::try_map(slot, Option::as_mut).ok().context("the cluster is gone")
    }

    async fn start(number: usize) -> Result<Self> {
        let servers = tokio::task::spawn_blocking(Servers::get).await??;
        let session = tokio::task::spawn_blocking(Session::get).await??;
        let directory = session.directory().join(format!("cluster-{number}"));
        std::fs::create_dir_all(&directory)?;
        let network = if number == 0 { None } else { Some(Network::new(&directory).await?) };
        network::enter(network.as_ref())?;
        yunikorn::check_ports()?;
        let plane = ControlPlane::start(&servers, &directory).await?;
        let account = plane.access.write_as(
            &directory.join("scheduler.kubeconfig"),
            yunikorn::SCHEDULER,
            &["system:serviceaccounts", "system:authenticated", "system:masters"],
        )?;
        let cluster = Self {
            admin: plane.admin.clone(),
            kubeconfig: plane.admin_kubeconfig.clone(),
            access: plane.access.clone(),
            kubectl: servers.kubectl(),
            rest: format!("http://{}", yunikorn::REST),
            cluster: Cluster::Local(Box::new(Local {
                scheduler: yunikorn::scheduler(&servers, &directory, &account),
                admission: yunikorn::admission_controller(&servers, &directory, &plane.admin_kubeconfig),
                plane,
                forwarded: std::sync::Mutex::default(),
                network,
            })),
            directory,
            since_reset: std::sync::Mutex::default(),
        };
        cluster.create_fixtures().await.context("cannot set up the cluster")?;
        Ok(cluster)
    }

    async fn connect() -> Result<Self> {
        let existing = Existing::connect().await?;
        let cluster = Self {
            admin: existing.admin.clone(),
            kubeconfig: existing.kubeconfig.clone(),
            access: existing.access.clone(),
            kubectl: "kubectl".into(),
            rest: existing.rest.clone(),
            cluster: Cluster::Existing(Box::new(existing)),
            directory: Session::get()?.directory().to_owned(),
            since_reset: std::sync::Mutex::default(),
        };
        cluster.create_namespace(NAMESPACE).await?;
        cluster.let_everyone_submit().await?;
        Ok(cluster)
    }

    /// Returns whether this cluster has the ability.
    pub fn has(&self, capability: Capability) -> bool {
        match (&self.cluster, capability) {
            (Cluster::Local(_), _) => true,
            (Cluster::Existing(existing), Capability::AdmissionProcess) => existing.admission_controller,
            (Cluster::Existing(existing), Capability::OperatorProcess) => !existing.operator,
            (Cluster::Existing(_), _) => false,
        }
    }

    /// Returns whether this cluster has all these capabilities; if not, writes the name of the running test
    /// to [`NOT_RUN`]. A test returns if the answer is `false`.
    ///
    /// # Errors
    /// Instead of `false`, when [`NOT_RUN`] is not set.
    pub fn can_run(&self, needed: &[Capability]) -> Result<bool> {
        let missing: Vec<Capability> =
            needed.iter().copied().filter(|&capability| !self.has(capability)).collect();
        if missing.is_empty() {
            return Ok(true);
        }
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("a test");
        let file = std::env::var_os(NOT_RUN)
            .with_context(|| format!("not run: {missing:?} is needed, which this cluster cannot do"))?;
        // A single write, so that lines of tests that end at the same time are not interleaved.
        File::options().create(true).append(true).open(file)?.write_all(format!("{test}\n").as_bytes())?;
        Ok(false)
    }

    /// Returns the processes of this test cluster in start order.
    pub(crate) fn processes(&self) -> Vec<&Process> {
        match &self.cluster {
            Cluster::Local(local) => {
                let plane = &local.plane;
                vec![
                    &plane.etcd,
                    &plane.apiserver,
                    &plane.controller_manager,
                    &local.scheduler,
                    &local.admission,
                ]
            }
            Cluster::Existing(_) => Vec::new(),
        }
    }

    pub(crate) fn operator_is_deployed(&self) -> bool {
        matches!(&self.cluster, Cluster::Existing(existing) if existing.operator)
    }

    pub(crate) fn installed(&self) -> bool {
        self.since_reset().installed
    }

    pub(crate) fn set_installed(&self, installed: bool) {
        self.since_reset().installed = installed;
    }

    /// Registers a log for [`Self::diagnose`], which runs after the test and its processes have ended.
    pub(crate) fn note_log(&self, path: &Path) {
        self.since_reset().logs.push(path.to_owned());
    }

    pub(crate) fn noted_logs(&self) -> Vec<PathBuf> {
        self.since_reset().logs.clone()
    }

    pub(crate) fn since_reset(&self) -> std::sync::MutexGuard<'_, SinceReset> {
        self.since_reset.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn local(&self) -> Result<&Local> {
        match &self.cluster {
            Cluster::Local(local) => Ok(local),
            Cluster::Existing(_) => bail!("this cluster's processes are not ours"),
        }
    }
}

fn is_existing() -> Result<bool> {
    match std::env::var(MODE) {
        Err(_) => Ok(false),
        Ok(mode) if mode.is_empty() || mode == "cluster" => Ok(false),
        Ok(mode) if mode == "existing" => Ok(true),
        Ok(mode) => bail!("{MODE}={mode}: neither `cluster` nor `existing`"),
    }
}
