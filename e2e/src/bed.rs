//! The bed itself: one cluster per test process, lent to one test at a time, fresh at the beginning of each.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use futures::FutureExt as _;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, Config, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::{MappedMutexGuard, Mutex, MutexGuard};

use crate::assets::Servers;
use crate::audit::Audit;
use crate::control_plane::ControlPlane;
use crate::existing::Existing;
use crate::forward::forward;
use crate::kubeconfig::{self, Access};
use crate::pods::{Outcome, Submission};
use crate::process::Process;
use crate::session::{Session, announce};
use crate::wait::{PATIENCE, eventually};
use crate::yunikorn::{self, Rest};

/// `existing`: use the cluster of `KUBECONFIG` instead of starting one.
pub const MODE: &str = "QUEUEWARDEN_E2E";
/// When set, a test that needs what the cluster cannot do fails instead of being reported as not run.
pub const STRICT: &str = "QUEUEWARDEN_E2E_STRICT";
/// Where test pods go.
pub const NAMESPACE: &str = "queuewarden-e2e";
/// The base every test begins with: a closed root and a few queues, placement as asked for. Without ACLs nobody may submit.
pub const BASE: &str = include_str!("base.yaml");

/// Fixed in the Service and in the forwarder; inside the API server's Service range, which is on loopback.
const ADMISSION_IP: std::net::Ipv4Addr = std::net::Ipv4Addr::new(127, 96, 0, 50);
const FIELD_MANAGER: &str = "queuewarden-e2e";

/// What only a cluster of our own can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// Stop and start the scheduler.
    SchedulerProcess,
    /// Stop and start the API server.
    ApiServerProcess,
    /// Start and stop `YuniKorn`'s admission controller.
    AdmissionProcess,
    /// Start kube-controller-manager.
    ControllerManager,
    /// Count writes.
    Audit,
}

/// A running cluster with `YuniKorn`.
#[derive(Debug)]
pub struct Bed {
    admin: Config,
    kubeconfig: PathBuf,
    access: Access,
    kubectl: PathBuf,
    rest: String,
    cluster: Cluster,
}

#[derive(Debug)]
enum Cluster {
    Local(Box<Local>),
    Existing(Existing),
}

#[derive(Debug)]
struct Local {
    scheduler: Process,
    admission: Process,
    plane: ControlPlane,
}

/// The bed, for as long as one test has it. Also proves that nobody else uses it.
pub type BedGuard = MappedMutexGuard<'static, Bed>;

static BED: Mutex<Option<Bed>> = Mutex::const_new(None);

impl Bed {
    /// Runs a test on the bed: alone, from the initial state. On failure, by error or by panic, prints the cluster's state.
    ///
    /// # Errors
    /// Those of `test`, and when there is no bed.
    pub async fn with(test: impl AsyncFnOnce(&Self) -> Result<()>) -> Result<()> {
        let bed = Self::lend().await?;
        let outcome = AssertUnwindSafe(test(&bed)).catch_unwind().await;
        if !matches!(outcome, Ok(Ok(()))) {
            eprintln!("{}", bed.diagnose().await);
        }
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// The bed of this process, started at the first call, in its initial state: see [`Self::reset`].
    ///
    /// # Errors
    /// When the cluster cannot be started or reset.
    pub async fn lend() -> Result<BedGuard> {
        let mut slot = BED.lock().await;
        if slot.is_none() {
            *slot = Some(Self::start().await?);
        }
        let bed = MutexGuard::try_map(slot, Option::as_mut)
            .ok()
            .context("the bed is gone")?;
        bed.reset().await.context("cannot reset the bed")?;
        Ok(bed)
    }

    async fn start() -> Result<Self> {
        match std::env::var(MODE) {
            Err(_) => Self::start_local().await,
            Ok(mode) if mode.is_empty() || mode == "bed" => Self::start_local().await,
            Ok(mode) if mode == "existing" => Self::connect().await,
            Ok(mode) => bail!("{MODE}={mode}: neither `bed` nor `existing`"),
        }
    }

    async fn start_local() -> Result<Self> {
        let servers = tokio::task::spawn_blocking(Servers::get).await??;
        let session = tokio::task::spawn_blocking(Session::get).await??;
        yunikorn::check_ports()?;
        let directory = session.directory();
        let plane = ControlPlane::start(&servers, directory).await?;
        let bed = Self {
            admin: plane.admin.clone(),
            kubeconfig: plane.admin_kubeconfig.clone(),
            access: plane.access.clone(),
            kubectl: servers.kubectl(),
            rest: format!("http://{}", yunikorn::REST),
            cluster: Cluster::Local(Box::new(Local {
                scheduler: yunikorn::scheduler(&servers, directory, &plane.admin_kubeconfig),
                admission: yunikorn::admission_controller(&servers, directory, &plane.admin_kubeconfig),
                plane,
            })),
        };
        bed.furnish().await.context("cannot set up the cluster")?;
        Ok(bed)
    }

    async fn connect() -> Result<Self> {
        let existing = Existing::connect().await?;
        let bed = Self {
            admin: existing.admin.clone(),
            kubeconfig: existing.kubeconfig.clone(),
            access: existing.access.clone(),
            kubectl: "kubectl".into(),
            rest: existing.rest.clone(),
            cluster: Cluster::Existing(existing),
        };
        bed.create_namespace(NAMESPACE).await?;
        bed.let_everyone_submit().await?;
        Ok(bed)
    }

    /// What a cluster has before anybody uses it: a node, namespaces, the admission controller's Service.
    async fn furnish(&self) -> Result<()> {
        self.create_namespace(yunikorn::NAMESPACE).await?;
        self.create_namespace(NAMESPACE).await?;
        self.let_everyone_submit().await?;
        let nodes: Api<k8s_openapi::api::core::v1::Node> = Api::all(self.client()?);
        let node = serde_json::from_value(json!({
            "metadata": {"name": "node", "labels": {"kubernetes.io/hostname": "node", "kubernetes.io/os": "linux"}},
        }))?;
        nodes.create(&PostParams::default(), &node).await?;
        let room = json!({"cpu": "1000", "memory": "1Ti", "pods": "10000"});
        let ready = json!({"type": "Ready", "status": "True", "reason": "Bed", "message": "", "lastHeartbeatTime": null,
                           "lastTransitionTime": null});
        let status = json!({"status": {"capacity": room, "allocatable": room, "conditions": [ready]}});
        nodes
            .patch_status("node", &PatchParams::default(), &Patch::Merge(status))
            .await?;
        let untainted = json!({"spec": {"taints": null}});
        nodes
            .patch("node", &PatchParams::default(), &Patch::Merge(untainted))
            .await?;

        let services: Api<Service> = Api::namespaced(self.client()?, yunikorn::NAMESPACE);
        let service = serde_json::from_value(json!({
            "metadata": {"name": yunikorn::ADMISSION_SERVICE},
            "spec": {"clusterIP": ADMISSION_IP, "ports": [{"port": 443, "targetPort": yunikorn::ADMISSION.port()}]},
        }))?;
        services.create(&PostParams::default(), &service).await?;
        let secrets: Api<k8s_openapi::api::core::v1::Secret> =
            Api::namespaced(self.client()?, yunikorn::NAMESPACE);
        let secret = serde_json::from_value(json!({"metadata": {"name": yunikorn::ADMISSION_SECRET}}))?;
        secrets.create(&PostParams::default(), &secret).await?;
        Ok(())
    }

    /// Back to the initial state: all servers run, no object of ours, no test pod, [`BASE`] in `yunikorn-defaults`, no
    /// `yunikorn-configs`, the admission controller off, the scheduler restarted with nothing in its memory.
    ///
    /// # Errors
    /// When the cluster does not get there.
    pub async fn reset(&self) -> Result<()> {
        if let Cluster::Local(local) = &self.cluster {
            local.plane.ensure().await?;
            local.plane.controller_manager.kill()?;
            self.stop_admission_controller().await?;
        }
        self.delete_own_objects().await?;
        let pods: Api<Pod> = Api::namespaced(self.client()?, NAMESPACE);
        pods.delete_collection(&DeleteParams::default().grace_period(0), &ListParams::default())
            .await?;
        self.reset_config_maps().await?;
        if let Cluster::Local(local) = &self.cluster {
            local.scheduler.kill()?;
            self.start_scheduler().await?;
        }
        self.yunikorn()?.wait_for_text(BASE, PATIENCE).await
    }

    /// Deletes every object of every kind of group `queuewarden.dev` and the leases of the operator.
    async fn delete_own_objects(&self) -> Result<()> {
        let kinds = self
            .kubectl(&[
                "api-resources",
                "--api-group=queuewarden.dev",
                "-o",
                "name",
                "--cached=false",
            ])
            .await?;
        for kind in kinds.lines() {
            self.kubectl(&["delete", kind, "--all", "--wait=false"]).await?;
        }
        self.kubectl(&[
            "delete",
            "leases",
            "-n",
            crate::operator::NAMESPACE,
            "--all",
            "--ignore-not-found",
        ])
        .await?;
        Ok(())
    }

    async fn reset_config_maps(&self) -> Result<()> {
        let maps: Api<ConfigMap> = Api::namespaced(self.client()?, yunikorn::NAMESPACE);
        for map in maps.list(&ListParams::default()).await? {
            let name = map.name_any();
            if name != yunikorn::DEFAULTS && name != "kube-root-ca.crt" {
                maps.delete(&name, &DeleteParams::default()).await?;
            }
        }
        self.set_base(BASE).await
    }

    // --- Identities ---

    /// A client as cluster administrator. Make one per test: a client belongs to the Tokio runtime that made it.
    ///
    /// # Errors
    /// When the kubeconfig is unusable.
    pub fn client(&self) -> Result<Client> {
        kubeconfig::client(&self.admin)
    }

    /// A client that acts as `user` in `groups` (and `system:authenticated`).
    ///
    /// # Errors
    /// When the kubeconfig is unusable.
    pub fn as_user(&self, user: &str, groups: &[&str]) -> Result<Client> {
        let mut groups = groups.to_vec();
        groups.push("system:authenticated");
        kubeconfig::client(&kubeconfig::impersonating(&self.admin, user, &groups))
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A kubeconfig with a fresh token of a `ServiceAccount`, valid for an hour. The account must exist.
    ///
    /// # Errors
    /// When the API server gives no token.
    pub async fn sa_kubeconfig(&self, namespace: &str, name: &str) -> Result<PathBuf> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client()?, namespace);
        let request = TokenRequest {
            spec: TokenRequestSpec {
                expiration_seconds: Some(3600),
                ..TokenRequestSpec::default()
            },
            ..TokenRequest::default()
        };
        let answer = accounts
            .create_token_request(name, &PostParams::default(), &request)
            .await?;
        let token = answer.status.context("the API server gave no token")?.token;
        let path = Session::get()?
            .directory()
            .join(format!("{namespace}-{name}.kubeconfig"));
        Access {
            token,
            ..self.access.clone()
        }
        .write(&path)
    }

    // --- Objects ---

    /// Creates the namespace if need be.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn create_namespace(&self, name: &str) -> Result<()> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let api: Api<Namespace> = Api::all(self.client()?);
        api.patch(name, &PatchParams::apply(FIELD_MANAGER), &Patch::Apply(namespace))
            .await?;
        Ok(())
    }

    /// Kubernetes' RBAC is not under test: in [`NAMESPACE`] every authenticated user may handle pods, so that the queue's ACL
    /// decides. A role of our own, because the built-in `edit` is filled by kube-controller-manager, which may not run.
    async fn let_everyone_submit(&self) -> Result<()> {
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": FIELD_MANAGER},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]},
                      {"apiGroups": ["apps", "batch"], "resources": ["*"], "verbs": ["*"]}],
        });
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": FIELD_MANAGER},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": FIELD_MANAGER},
        });
        let apply = PatchParams::apply(FIELD_MANAGER).force();
        let roles: Api<Role> = Api::namespaced(self.client()?, NAMESPACE);
        roles.patch(FIELD_MANAGER, &apply, &Patch::Apply(role)).await?;
        let bindings: Api<RoleBinding> = Api::namespaced(self.client()?, NAMESPACE);
        bindings
            .patch(FIELD_MANAGER, &apply, &Patch::Apply(binding))
            .await?;
        Ok(())
    }

    /// Runs kubectl as administrator and returns what it printed.
    ///
    /// # Errors
    /// With what it printed to standard error, when it fails.
    pub async fn kubectl(&self, args: &[&str]) -> Result<String> {
        self.kubectl_with_input(args, "").await
    }

    /// As [`Self::kubectl`], with text on its standard input (`-f -`).
    ///
    /// # Errors
    /// As [`Self::kubectl`].
    pub async fn kubectl_with_input(&self, args: &[&str], input: &str) -> Result<String> {
        let mut child = tokio::process::Command::new(&self.kubectl)
            .args(args)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", Session::get()?.directory().join("kubectl-cache"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("cannot run kubectl")?;
        let mut stdin = child.stdin.take().context("kubectl has no input")?;
        let (written, output) = tokio::join!(
            async move {
                stdin.write_all(input.as_bytes()).await?;
                stdin.shutdown().await
            },
            child.wait_with_output()
        );
        let output = output?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "kubectl {}: {}",
            args.join(" "),
            errors.trim()
        );
        written.context("kubectl did not read its input")?;
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Server-side apply of a YAML file of the repository, as administrator and by force. Many documents are fine.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn apply_file(&self, path: &str) -> Result<()> {
        self.apply(&["-f", &repository(path)]).await
    }

    /// Server-side apply of a kustomization of the repository, e.g. `manifests`.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn apply_kustomization(&self, path: &str) -> Result<()> {
        self.apply(&["-k", &repository(path)]).await
    }

    async fn apply(&self, what: &[&str]) -> Result<()> {
        let apply = [
            "apply",
            "--server-side",
            "--force-conflicts",
            "--field-manager",
            FIELD_MANAGER,
        ];
        self.kubectl(&[&apply, what].concat()).await?;
        Ok(())
    }

    /// Waits until the API server serves all custom resources.
    ///
    /// # Errors
    /// When it does not within [`PATIENCE`].
    pub async fn crds_established(&self) -> Result<()> {
        self.kubectl(&[
            "wait",
            "--for=condition=Established",
            "crd",
            "--all",
            "--timeout=30s",
        ])
        .await?;
        Ok(())
    }

    /// A `ConfigMap` of `YuniKorn`'s namespace.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn config_map(&self, name: &str) -> Result<Option<ConfigMap>> {
        Ok(self.config_maps()?.get_opt(name).await?)
    }

    /// One `data` value of a `ConfigMap` of `YuniKorn`'s namespace.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn config_value(&self, name: &str, key: &str) -> Result<Option<String>> {
        Ok(self.config_map(name).await?.and_then(|map| map.data?.remove(key)))
    }

    /// Puts `data` (and nothing else) into a `ConfigMap` of `YuniKorn`'s namespace, as an administrator's `replace` would.
    ///
    /// # Errors
    /// When the API server, or `YuniKorn`'s webhook, refuses.
    pub async fn write_config_map(&self, name: &str, data: BTreeMap<String, String>) -> Result<()> {
        let mut map = ConfigMap {
            data: Some(data),
            ..ConfigMap::default()
        };
        map.metadata.name = Some(name.to_owned());
        let maps = self.config_maps()?;
        if maps.get_opt(name).await?.is_some() {
            maps.replace(name, &PostParams::default(), &map).await?;
        } else {
            maps.create(&PostParams::default(), &map).await?;
        }
        Ok(())
    }

    /// Deletes a `ConfigMap` of `YuniKorn`'s namespace.
    ///
    /// # Errors
    /// When it is not there.
    pub async fn delete_config_map(&self, name: &str) -> Result<()> {
        self.config_maps()?.delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// Writes `yunikorn-defaults` with this `queues.yaml` and what the bed needs.
    ///
    /// # Errors
    /// When the API server, or `YuniKorn`'s webhook, refuses.
    pub async fn set_base(&self, queues: &str) -> Result<()> {
        let mut data = self.needed_defaults();
        data.insert("queues.yaml".to_owned(), queues.to_owned());
        self.write_config_map(yunikorn::DEFAULTS, data).await
    }

    /// Writes `yunikorn-configs` with only this `queues.yaml`: a hand edit.
    ///
    /// # Errors
    /// When the API server, or `YuniKorn`'s webhook, refuses.
    pub async fn set_configs(&self, queues: &str) -> Result<()> {
        self.write_config_map(
            yunikorn::CONFIGS,
            BTreeMap::from([("queues.yaml".to_owned(), queues.to_owned())]),
        )
        .await
    }

    /// The keys without which `YuniKorn` does not work here.
    pub fn needed_defaults(&self) -> BTreeMap<String, String> {
        match &self.cluster {
            Cluster::Local(_) => BTreeMap::from([(
                "admissionController.webHook.schedulerServiceAddress".to_owned(),
                yunikorn::REST.to_string(),
            )]),
            Cluster::Existing(existing) => existing.defaults.clone(),
        }
    }

    fn config_maps(&self) -> Result<Api<ConfigMap>> {
        Ok(Api::namespaced(self.client()?, yunikorn::NAMESPACE))
    }

    /// The custom object `kind/name` as JSON, e.g. `object("queueacl", "prod")`.
    ///
    /// # Errors
    /// When it is not there.
    pub async fn object(&self, kind: &str, name: &str) -> Result<Value> {
        self.get(&["get", kind, name, "-o", "json"]).await
    }

    async fn get<T: DeserializeOwned>(&self, args: &[&str]) -> Result<T> {
        Ok(serde_json::from_str(&self.kubectl(args).await?)?)
    }

    // --- YuniKorn ---

    /// The scheduler's REST interface. Make one per test, as with [`Self::client`].
    ///
    /// # Errors
    /// When no HTTP client can be made.
    pub fn yunikorn(&self) -> Result<Rest> {
        Rest::new(&self.rest)
    }

    /// The base URL of the scheduler's REST interface as a process on this machine sees it: `YuniKornConfig.spec.schedulerUrl`.
    pub fn scheduler_url(&self) -> &str {
        &self.rest
    }

    /// Submits one pod as `user` in `groups` to `queue` and waits for the decision.
    ///
    /// Without the admission controller the pod carries `user` and `groups` as annotation; with it, the pod is created *by*
    /// that user, who gets group `system:authenticated` in addition, and the admission controller writes the annotation.
    ///
    /// # Errors
    /// When there is no decision.
    pub async fn submit(&self, user: &str, groups: &[&str], queue: &str) -> Result<Outcome> {
        let annotate = !self.admission_controller_runs();
        let submission = Submission {
            namespace: NAMESPACE,
            user,
            groups,
            queue,
            annotate,
        };
        submission
            .run(self.as_user(user, groups)?, self.client()?, &self.yunikorn()?)
            .await
    }

    /// Submits one pod that *claims* (in its annotation) to be of `user` in `groups`, created by somebody else.
    ///
    /// # Errors
    /// When there is no decision.
    pub async fn submit_by(
        &self,
        creator: (&str, &[&str]),
        user: &str,
        groups: &[&str],
        queue: &str,
    ) -> Result<Outcome> {
        let submission = Submission {
            namespace: NAMESPACE,
            user,
            groups,
            queue,
            annotate: true,
        };
        submission
            .run(
                self.as_user(creator.0, creator.1)?,
                self.client()?,
                &self.yunikorn()?,
            )
            .await
    }

    /// Starts the scheduler and waits until its REST interface answers.
    ///
    /// # Errors
    /// When it runs already, ends, or does not answer.
    pub async fn start_scheduler(&self) -> Result<()> {
        let scheduler = self.scheduler()?;
        scheduler.start()?;
        let rest = self.yunikorn()?;
        scheduler
            .until("the scheduler to answer", PATIENCE, || async {
                rest.config_checksum().await.map(Some)
            })
            .await?;
        Ok(())
    }

    /// Starts `YuniKorn`'s admission controller and waits until its webhooks work.
    ///
    /// # Errors
    /// When it does not get there.
    pub async fn start_admission_controller(&self) -> Result<()> {
        let Cluster::Local(local) = &self.cluster else {
            ensure!(
                self.admission_controller_runs(),
                "this cluster has no YuniKorn admission controller"
            );
            return Ok(());
        };
        forward_admission()?;
        local.admission.start()?;
        local
            .admission
            .until("YuniKorn's webhooks to answer", PATIENCE, || async {
                for (kind, name) in yunikorn::ADMISSION_WEBHOOKS {
                    self.kubectl(&["get", kind, name]).await?;
                }
                self.webhook_answers().await
            })
            .await
    }

    /// The webhooks have `failurePolicy: Ignore`: until they work, everything is let through. So ask what they must refuse.
    async fn webhook_answers(&self) -> Result<Option<()>> {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(yunikorn::CONFIGS.to_owned());
        map.data = Some(BTreeMap::from([(
            "queues.yaml".to_owned(),
            "nonsense: true\n".to_owned(),
        )]));
        let maps = self.config_maps()?;
        let dry = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let answer = if maps.get_opt(yunikorn::CONFIGS).await?.is_some() {
            maps.replace(yunikorn::CONFIGS, &dry, &map).await
        } else {
            maps.create(&dry, &map).await
        };
        match answer {
            Ok(_) => Ok(None),
            Err(kube::Error::Api(status)) if status.message.contains("denied the request") => Ok(Some(())),
            Err(error) => Err(error.into()),
        }
    }

    /// Stops the admission controller and removes its webhooks.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn stop_admission_controller(&self) -> Result<()> {
        let Cluster::Local(local) = &self.cluster else {
            bail!("the admission controller is not ours to stop")
        };
        local.admission.kill()?;
        for (kind, name) in yunikorn::ADMISSION_WEBHOOKS {
            self.kubectl(&["delete", kind, name, "--ignore-not-found"])
                .await?;
        }
        Ok(())
    }

    fn admission_controller_runs(&self) -> bool {
        match &self.cluster {
            Cluster::Local(local) => local.admission.running(),
            Cluster::Existing(existing) => existing.admission_controller,
        }
    }

    // --- Processes ---

    /// Whether this cluster can do that.
    pub fn has(&self, capability: Capability) -> bool {
        match (&self.cluster, capability) {
            (Cluster::Local(_), _) => true,
            (Cluster::Existing(existing), Capability::AdmissionProcess) => existing.admission_controller,
            (Cluster::Existing(_), _) => false,
        }
    }

    /// Whether this cluster can do all of that; else says, past libtest's capture, that the running test was not run.
    /// A test returns when the answer is `false`.
    ///
    /// # Errors
    /// Instead of `false`, when [`STRICT`] is set.
    pub fn can_run(&self, needed: &[Capability]) -> Result<bool> {
        let missing: Vec<Capability> = needed
            .iter()
            .copied()
            .filter(|&capability| !self.has(capability))
            .collect();
        if missing.is_empty() {
            return Ok(true);
        }
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("a test");
        ensure!(
            std::env::var_os(STRICT).is_none(),
            "{test} needs {missing:?}, which this cluster cannot do"
        );
        announce(&format!("NOT RUN: {test} needs {missing:?}"));
        Ok(false)
    }

    /// The scheduler's process. [`Self::start_scheduler`] starts and waits.
    ///
    /// # Errors
    /// When it is not ours.
    pub fn scheduler(&self) -> Result<&Process> {
        Ok(&self.local()?.scheduler)
    }

    /// The admission controller's process. [`Self::start_admission_controller`] starts and waits.
    ///
    /// # Errors
    /// When it is not ours.
    pub fn admission_controller(&self) -> Result<&Process> {
        Ok(&self.local()?.admission)
    }

    /// The API server's process. [`Self::start_apiserver`] starts and waits.
    ///
    /// # Errors
    /// When it is not ours.
    pub fn apiserver(&self) -> Result<&Process> {
        Ok(&self.local()?.plane.apiserver)
    }

    /// Starts the API server again, on its old port, and waits until it is ready.
    ///
    /// # Errors
    /// When it does not get there.
    pub async fn start_apiserver(&self) -> Result<()> {
        self.local()?.plane.ensure().await
    }

    /// Starts kube-controller-manager (without the node lifecycle controller), for tests with Deployments or Jobs.
    ///
    /// # Errors
    /// When it is not ours or does not start.
    pub async fn start_controller_manager(&self) -> Result<()> {
        let plane = &self.local()?.plane;
        plane.controller_manager.start()?;
        eventually(
            "kube-controller-manager to make the namespace's ServiceAccount",
            PATIENCE,
            || async {
                ensure!(
                    plane.controller_manager.running(),
                    plane.controller_manager.log_tail(25)
                );
                let accounts: Api<ServiceAccount> = Api::namespaced(self.client()?, NAMESPACE);
                Ok(accounts.get_opt("default").await?.map(|_| ()))
            },
        )
        .await
    }

    /// The API server's audit log: who wrote what.
    ///
    /// # Errors
    /// When the API server is not ours.
    pub fn audit(&self) -> Result<&Audit> {
        Ok(&self.local()?.plane.audit)
    }

    /// The processes of this bed, in the order in which they were started.
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

    fn local(&self) -> Result<&Local> {
        match &self.cluster {
            Cluster::Local(local) => Ok(local),
            Cluster::Existing(_) => bail!("this cluster's processes are not ours"),
        }
    }
}

/// Once per process: the forwarder lives as long as that.
fn forward_admission() -> Result<()> {
    static FORWARDED: std::sync::Mutex<bool> = std::sync::Mutex::new(false);
    let mut forwarded = FORWARDED
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if !*forwarded {
        forward((ADMISSION_IP, 443).into(), yunikorn::ADMISSION)?;
        *forwarded = true;
    }
    Ok(())
}

/// The absolute path of a file of the repository.
fn repository(path: &str) -> String {
    format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))
}

/// How long the longest expected wait may be; tests use it for their own conditions.
pub const LONG: Duration = Duration::from_secs(60);
