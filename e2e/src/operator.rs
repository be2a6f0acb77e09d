//! Runs the operator under test, with only the permissions of its own `ServiceAccount`.
//!
//! In a test cluster of our own it is a child process with a token of the shipped `ServiceAccount`. On an
//! existing cluster with the shipped Deployment it is that Deployment, which tests scale between zero and one
//! replica.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

use crate::process::Process;
use crate::session::Session;
use crate::test_cluster::{self, TestCluster};
use crate::usage::Usage;
use crate::wait::{PATIENCE, eventually};
use crate::{assets, control_plane};

/// The namespace into which `manifests/` installs.
pub const NAMESPACE: &str = "queuewarden-system";
/// Name of the `ServiceAccount`, the Deployment and the Lease of `manifests/`.
pub const NAME: &str = "queuewarden";
/// The operator's user name in the API server, as in the audit log.
pub const USER: &str = "system:serviceaccount:queuewarden-system:queuewarden";
/// The flag with the address of `/livez`, `/readyz` and `/metrics`.
const LISTEN: &str = "--listen";

/// A running replica of the operator. Dropping it kills it.
#[derive(Debug)]
pub struct Operator<'cluster> {
    cluster: &'cluster TestCluster,
    replica: Replica,
    /// The process that maintains its certificate.
    _keeper: Option<Process>,
}

#[derive(Debug)]
enum Replica {
    Process { process: Box<Process>, address: String, name: String },
    Deployment,
}

impl<'cluster> Operator<'cluster> {
    /// Starts one replica and waits until it is ready: it has read everything once.
    ///
    /// # Errors
    /// When it does not build, start or become ready.
    pub async fn start(cluster: &'cluster TestCluster) -> Result<Self> {
        Self::start_with(cluster, &[], &[]).await
    }

    /// Starts one replica with further arguments to `queuewarden run` and further environment variables.
    ///
    /// # Errors
    /// As [`Self::start`], and on a cluster whose operator is a Deployment.
    pub async fn start_with(
        cluster: &'cluster TestCluster,
        args: &[&str],
        env: &[(&str, &str)],
    ) -> Result<Self> {
        let operator = Self::launch(cluster, args, env).await?;
        operator.ready().await?;
        Ok(operator)
    }

    /// Starts one replica without waiting, for an operator that is not supposed to become ready.
    ///
    /// # Errors
    /// When it does not build or start.
    pub async fn launch(cluster: &'cluster TestCluster, args: &[&str], env: &[(&str, &str)]) -> Result<Self> {
        if cluster.operator_is_deployed() {
            ensure!(args.is_empty() && env.is_empty(), "a deployed operator takes no arguments from a test");
            cluster.scale_operator(1).await?;
            return Ok(Self { cluster, replica: Replica::Deployment, _keeper: None });
        }
        let program = tokio::task::spawn_blocking(assets::operator).await??;
        cluster.install().await?;
        let kubeconfig = cluster.sa_kubeconfig(NAMESPACE, NAME).await?;
        let name = replica_name();
        let address = format!("127.0.0.1:{}", control_plane::free_port()?);
        let mut process = Process::new(&name, &program, Session::get()?.directory())
            .args(["run", LISTEN, &address])
            .args(args)
            .env("KUBECONFIG", kubeconfig)
            .env("POD_NAME", &name)
            .env("POD_NAMESPACE", NAMESPACE);
        for (variable, value) in env {
            process = process.env(variable, value);
        }
        cluster.note_log(process.log_path());
        process.start()?;
        let process = Box::new(process);
        Ok(Self { cluster, replica: Replica::Process { process, address, name }, _keeper: None })
    }

    /// Stops the process that maintains its certificate together with it.
    pub(crate) fn kept_by(self, keeper: Option<Process>) -> Self {
        Self { _keeper: keeper, ..self }
    }

    /// Waits until `/readyz` reports that it is ready.
    ///
    /// # Errors
    /// When it is not ready within [`PATIENCE`], or the process ends.
    pub async fn ready(&self) -> Result<()> {
        match &self.replica {
            Replica::Process { process, .. } => {
                process
                    .until("the operator to be ready", PATIENCE, || async {
                        self.get("/readyz").await.map(|_| Some(()))
                    })
                    .await
            }
            Replica::Deployment => self.cluster.operator_rolled_out().await,
        }
    }

    /// Returns the address of `/livez`, `/readyz` and `/metrics` of its process, `host:port`.
    ///
    /// # Errors
    /// When it is not a process on this machine.
    pub fn address(&self) -> Result<String> {
        match &self.replica {
            Replica::Process { address, .. } => Ok(address.clone()),
            Replica::Deployment => bail!("the operator is no process of this machine"),
        }
    }

    /// Returns the body of a GET of the operator's own HTTP server: `/livez`, `/readyz`, `/metrics`.
    ///
    /// # Errors
    /// When it does not answer with a status of success.
    pub async fn get(&self, path: &str) -> Result<String> {
        match &self.replica {
            Replica::Process { address, .. } => {
                let client = reqwest::Client::builder().timeout(Duration::from_secs(5)).no_proxy().build()?;
                let response = client.get(format!("http://{address}{path}")).send().await?;
                let status = response.status();
                let body = response.text().await?;
                ensure!(status.is_success(), "{path}: {status}: {body}");
                Ok(body)
            }
            Replica::Deployment => {
                let proxy = format!("/api/v1/namespaces/{NAMESPACE}/services/{NAME}:8080/proxy{path}");
                self.cluster.kubectl(&["get", "--raw", &proxy]).await
            }
        }
    }

    /// Returns the sum of all series of a metric whose labels contain `labels`, e.g. `metric("x_total",
    /// "result=\"ok\"")`.
    ///
    /// # Errors
    /// When `/metrics` does not answer.
    pub async fn metric(&self, name: &str, labels: &str) -> Result<f64> {
        let metrics = self.get("/metrics").await?;
        let values = metrics.lines().filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let rest = series.strip_prefix(name)?;
            ((rest.is_empty() || rest.starts_with('{')) && rest.contains(labels))
                .then(|| value.parse::<f64>().ok())?
        });
        Ok(values.sum())
    }

    /// Returns the replica's name, which is its identity in the Lease.
    ///
    /// # Errors
    /// When it is a Deployment, whose pods have generated names.
    pub fn name(&self) -> Result<&str> {
        match &self.replica {
            Replica::Process { name, .. } => Ok(name),
            Replica::Deployment => anyhow::bail!("the operator is a Deployment"),
        }
    }

    /// Returns the process, for signals.
    ///
    /// # Errors
    /// When it is a Deployment.
    pub fn process(&self) -> Result<&Process> {
        match &self.replica {
            Replica::Process { process, .. } => Ok(process),
            Replica::Deployment => anyhow::bail!("the operator is a Deployment"),
        }
    }

    /// Returns the resource usage of the operator's process.
    ///
    /// # Errors
    /// When it does not run, or is a Deployment.
    pub fn usage(&self) -> Result<Usage> {
        Usage::of(self.process()?.pid().context("the operator does not run")?)
    }

    /// Kills the operator without giving it a chance to clean up.
    ///
    /// # Errors
    /// When the operating system, or the API server, refuses.
    pub async fn kill(&self) -> Result<()> {
        match &self.replica {
            Replica::Process { process, .. } => process.kill(),
            Replica::Deployment => self.cluster.scale_operator(0).await,
        }
    }

    /// Returns everything it has logged.
    ///
    /// # Errors
    /// When the logs cannot be read.
    pub async fn log(&self) -> Result<String> {
        match &self.replica {
            Replica::Process { process, .. } => Ok(process.log()),
            Replica::Deployment => {
                let selector = format!("app.kubernetes.io/name={NAME}");
                self.cluster.kubectl(&["logs", "-n", NAMESPACE, "-l", &selector, "--tail=-1"]).await
            }
        }
    }
}

impl TestCluster {
    /// Installs CRDs and `manifests/` as shipped, and waits until the `ServiceAccount`'s permissions are in
    /// force. [`Operator::start`] calls it; it is called again after [`TestCluster::reset`], so that a test
    /// may remove permissions.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn install(&self) -> Result<()> {
        if self.installed() {
            return Ok(());
        }
        self.apply_kustomization("manifests").await?;
        self.crds_established().await?;
        eventually("the operator's rights", PATIENCE, || async {
            let may = self.may(USER, "list", "queuewarden.dev", "queueacls", None).await?
                && self
                    .may(
                        USER,
                        "get",
                        "",
                        "configmaps",
                        Some((crate::yunikorn::NAMESPACE, crate::yunikorn::CONFIGS)),
                    )
                    .await?;
            Ok(may.then_some(()))
        })
        .await?;
        self.set_installed(true);
        Ok(())
    }

    /// Removes `manifests/`, including the webhook server's part, and all CRDs, but not the namespace.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn remove_installation(&self) -> Result<()> {
        let mut objects = self.kustomized("examples/https").await?;
        objects.retain(|object| object.get("kind").is_some_and(|kind| kind != "Namespace"));
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
        self.kubectl_with_input(&["delete", "--ignore-not-found", "-f", "-"], &list).await?;
        self.set_installed(false);
        Ok(())
    }

    /// Removes the permissions that queuewarden's roles give, including those from `manifests/` that other
    /// tests have installed.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn take_rights_away(&self) -> Result<()> {
        for kind in ["clusterrolebindings", "rolebindings"] {
            let list: Value = serde_json::from_str(&self.kubectl(&["get", kind, "-A", "-o", "json"]).await?)?;
            for binding in list.get("items").and_then(Value::as_array).into_iter().flatten() {
                let word =
                    |pointer: &str| binding.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
                let (name, namespace) = (word("/metadata/name"), word("/metadata/namespace"));
                if name.starts_with(NAME) && namespace != test_cluster::NAMESPACE {
                    self.kubectl(&["delete", kind, name, "-n", namespace]).await?;
                }
            }
        }
        Ok(())
    }

    /// Returns whether RBAC lets `user` do that: to all objects of the cluster, or to one `(namespace,
    /// name)`.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn may(
        &self,
        user: &str,
        verb: &str,
        group: &str,
        resource: &str,
        object: Option<(&str, &str)>,
    ) -> Result<bool> {
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(user.to_owned()),
                resource_attributes: Some(ResourceAttributes {
                    verb: Some(verb.to_owned()),
                    group: Some(group.to_owned()),
                    resource: Some(resource.to_owned()),
                    namespace: object.map(|(namespace, _)| namespace.to_owned()),
                    name: object.map(|(_, name)| name.to_owned()),
                    ..ResourceAttributes::default()
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client()?);
        let review = reviews.create(&PostParams::default(), &review).await?;
        Ok(review.status.is_some_and(|status| status.allowed))
    }

    /// Returns the holder of the operator's Lease, or `None` if it has no holder.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn leader(&self) -> Result<Option<String>> {
        let leases: Api<Lease> = Api::namespaced(self.client()?, NAMESPACE);
        let holder = leases.get_opt(NAME).await?.and_then(|lease| lease.spec?.holder_identity);
        Ok(holder.filter(|holder| !holder.is_empty()))
    }

    pub(crate) async fn scale_operator(&self, replicas: u32) -> Result<()> {
        let deployment = format!("deployment/{NAME}");
        self.kubectl(&["scale", "-n", NAMESPACE, &deployment, &format!("--replicas={replicas}")]).await?;
        if replicas == 0 {
            let selector = format!("app.kubernetes.io/name={NAME}");
            self.kubectl(&[
                "delete",
                "pods",
                "-n",
                NAMESPACE,
                "-l",
                &selector,
                "--force",
                "--grace-period=0",
            ])
            .await?;
        }
        Ok(())
    }

    async fn operator_rolled_out(&self) -> Result<()> {
        let deployment = format!("deployment/{NAME}");
        self.kubectl(&["rollout", "status", "-n", NAMESPACE, &deployment, "--timeout=120s"])
            .await
            .context("the operator's Deployment")?;
        Ok(())
    }
}

/// Returns a name that is unique within this process, because a Lease outlives its holder.
pub(crate) fn replica_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("operator-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}
