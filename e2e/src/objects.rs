//! Reads and writes the cluster's objects, as a user would.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionCondition,
};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::discovery::{self, Scope};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::fixtures::FIELD_MANAGER;
use crate::helm;
use crate::session::Session;
use crate::test_cluster::{Cluster, TestCluster};
use crate::wait::{PATIENCE, eventually};
use crate::yunikorn;

impl TestCluster {
    /// Runs kubectl as administrator and returns its output.
    ///
    /// # Errors
    /// With its standard error, when it fails.
    pub async fn kubectl(&self, args: &[&str]) -> Result<String> {
        self.kubectl_with_input(args, "").await
    }

    /// Runs kubectl with text on its standard input (`-f -`).
    ///
    /// # Errors
    /// As [`Self::kubectl`].
    pub async fn kubectl_with_input(&self, args: &[&str], input: &str) -> Result<String> {
        self.kubectl_as(&self.kubeconfig, args, input).await
    }

    /// Runs kubectl with text on its standard input and with this kubeconfig.
    ///
    /// # Errors
    /// As [`Self::kubectl`].
    pub async fn kubectl_as(&self, kubeconfig: &Path, args: &[&str], input: &str) -> Result<String> {
        let mut child = tokio::process::Command::new(&self.kubectl)
            .args(args)
            .env("KUBECONFIG", kubeconfig)
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
        ensure!(output.status.success(), "kubectl {}: {}", args.join(" "), errors.trim());
        written.context("kubectl did not read its input")?;
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Runs shell lines as administrator in this directory, with kubectl and queuewarden in `PATH`, and
    /// returns their output.
    ///
    /// # Errors
    /// With standard error, when one fails; later lines are not run.
    pub async fn shell(&self, directory: &Path, lines: &str) -> Result<String> {
        let queuewarden = tokio::task::spawn_blocking(crate::assets::operator).await??;
        let output = self
            .bash(directory, &[&queuewarden], lines)?
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", Session::get()?.directory().join("kubectl-cache"))
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .context("cannot run bash")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{lines}: {}", errors.trim());
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Returns a command for shell lines in this directory, with these programs and kubectl in its `PATH`.
    pub(crate) fn bash(
        &self,
        directory: &Path,
        programs: &[&Path],
        lines: &str,
    ) -> Result<tokio::process::Command> {
        let all = std::iter::once(self.kubectl.as_path()).chain(programs.iter().copied());
        let folders = all.filter_map(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = folders.map(Path::to_path_buf).chain(std::env::split_paths(&path));
        let mut command = tokio::process::Command::new("bash");
        command
            .args(["-euxo", "pipefail", "-c", lines])
            .current_dir(directory)
            .env("PATH", std::env::join_paths(folders)?);
        Ok(command)
    }

    /// Applies a YAML file of the repository, server-side, as administrator and by force. It may contain
    /// several documents.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn apply_file(&self, path: &str) -> Result<()> {
        self.apply(helm::objects(&std::fs::read_to_string(repository(path))?)?).await
    }

    /// Applies a kustomization of the repository, server-side, e.g. `manifests`.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn apply_kustomization(&self, path: &str) -> Result<()> {
        self.apply(self.kustomized(path).await?).await
    }

    /// Returns the objects of a kustomization of the repository. An operator that is deployed stays as it
    /// is: its Deployment names an image that the cluster has.
    pub(crate) async fn kustomized(&self, path: &str) -> Result<Vec<Value>> {
        let mut objects = helm::objects(&self.kubectl(&["kustomize", &repository(path)]).await?)?;
        let deployed = self.operator_is_deployed();
        objects.retain(|object| !deployed || object.get("kind").is_some_and(|kind| kind != "Deployment"));
        Ok(objects)
    }

    /// Applies objects in order. Nearly every test does this, and `kubectl apply` takes a second longer,
    /// because it reads the schemas of all groups.
    pub(crate) async fn apply(&self, objects: Vec<Value>) -> Result<()> {
        let client = self.client()?;
        for object in objects {
            let object: DynamicObject = serde_json::from_value(object)?;
            let kind = object.types.as_ref().context("an object without a kind")?.try_into()?;
            let (resource, capabilities) = discovery::pinned_kind(&client, &kind).await?;
            let api: Api<DynamicObject> = match (capabilities.scope, &object.metadata.namespace) {
                (Scope::Cluster, _) => Api::all_with(client.clone(), &resource),
                (Scope::Namespaced, Some(namespace)) => {
                    Api::namespaced_with(client.clone(), namespace, &resource)
                }
                (Scope::Namespaced, None) => Api::default_namespaced_with(client.clone(), &resource),
            };
            let apply = PatchParams::apply(FIELD_MANAGER).force();
            let name = object.name_any();
            api.patch(&name, &apply, &Patch::Apply(&object)).await.with_context(|| name.clone())?;
        }
        Ok(())
    }

    /// Applies YAML text, server-side, as administrator and without force, under the given field manager.
    ///
    /// # Errors
    /// When the API server refuses, also for a conflict.
    pub async fn apply_text(&self, yaml: &str, field_manager: &str) -> Result<()> {
        self.kubectl_with_input(
            &["apply", "--server-side", "--field-manager", field_manager, "-f", "-"],
            yaml,
        )
        .await?;
        Ok(())
    }

    /// Waits until the API server serves all custom resources.
    ///
    /// # Errors
    /// When it does not within thirty seconds.
    pub async fn crds_established(&self) -> Result<()> {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.client()?);
        let established = |definition: &CustomResourceDefinition| {
            let conditions = definition.status.as_ref().and_then(|status| status.conditions.as_deref());
            let mut conditions = conditions.unwrap_or_default().iter();
            conditions.any(|one| one.type_ == "Established" && one.status == "True")
        };
        eventually("the custom resources to be served", PATIENCE, || async {
            let all = definitions.list(&ListParams::default()).await?;
            Ok(all.iter().all(established).then_some(()))
        })
        .await
    }

    /// Makes the API server retry every three seconds to delete CRDs whose objects it could not list because
    /// their storage was being set up. Without this it only retries when it processes all CRDs again, every
    /// five minutes (`k8s.io/apiextensions-apiserver/pkg/controller/finalizer/crd_finalizer.go`).
    pub(crate) async fn retry_deletions(&self) -> Infallible {
        let mut ticks = tokio::time::interval(Duration::from_secs(3));
        loop {
            ticks.tick().await;
            // The API server may be stopped at the moment.
            _ = self.retry_failed_deletions().await;
        }
    }

    async fn retry_failed_deletions(&self) -> Result<()> {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.client()?);
        for definition in definitions.list(&ListParams::default()).await? {
            let conditions = definition.status.as_ref().and_then(|status| status.conditions.as_deref());
            let failed = |one: &CustomResourceDefinitionCondition| {
                one.type_ == "Terminating" && one.reason.as_deref() == Some("InstanceDeletionFailed")
            };
            if conditions.unwrap_or_default().iter().any(failed) {
                // The value differs each time, because a patch that changes nothing causes no event.
                let version = definition.resource_version();
                let retry = json!({"metadata": {"annotations": {"e2e.queuewarden.dev/retried": version}}});
                definitions
                    .patch(&definition.name_any(), &PatchParams::default(), &Patch::Merge(retry))
                    .await?;
            }
        }
        Ok(())
    }

    /// Returns a `ConfigMap` of `YuniKorn`'s namespace.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn config_map(&self, name: &str) -> Result<Option<ConfigMap>> {
        Ok(self.config_maps()?.get_opt(name).await?)
    }

    /// Returns one `data` value of a `ConfigMap` of `YuniKorn`'s namespace.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn config_value(&self, name: &str, key: &str) -> Result<Option<String>> {
        Ok(self.config_map(name).await?.and_then(|map| map.data?.remove(key)))
    }

    /// Writes `data` (and nothing else) to a `ConfigMap` of `YuniKorn`'s namespace, as an administrator's
    /// `replace` would.
    ///
    /// # Errors
    /// When the API server, or `YuniKorn`'s webhook, refuses.
    pub async fn write_config_map(&self, name: &str, data: BTreeMap<String, String>) -> Result<()> {
        let mut map = ConfigMap { data: Some(data), ..ConfigMap::default() };
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
    /// When it does not exist.
    pub async fn delete_config_map(&self, name: &str) -> Result<()> {
        self.config_maps()?.delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// Writes `yunikorn-defaults` with this `queues.yaml` and the keys that the test cluster needs.
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

    /// Returns the keys that `YuniKorn` needs in order to work here.
    pub fn needed_defaults(&self) -> BTreeMap<String, String> {
        match &self.cluster {
            Cluster::Local(_) => BTreeMap::from([
                (
                    "admissionController.webHook.schedulerServiceAddress".to_owned(),
                    yunikorn::REST.to_string(),
                ),
                // The shim processes new pods once per interval, three times per pod; its default is a
                // second.
                ("service.schedulingInterval".to_owned(), "50ms".to_owned()),
            ]),
            Cluster::Existing(existing) => existing.defaults.clone(),
        }
    }

    pub(crate) fn config_maps(&self) -> Result<Api<ConfigMap>> {
        Ok(Api::namespaced(self.client()?, yunikorn::NAMESPACE))
    }
}

/// Returns the absolute path of a file of the repository.
fn repository(path: &str) -> String {
    format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))
}
