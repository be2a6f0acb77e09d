//! Controls the test cluster's servers, for tests that start, stop and disturb them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::PoisonError;

use anyhow::{Context as _, Result, bail, ensure};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::api::{Api, DeleteParams, PostParams};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::audit::Audit;
use crate::fixtures::gone;
use crate::forward::forward;
use crate::process::Process;
use crate::test_cluster::{Cluster, Local, NAMESPACE, TestCluster};
use crate::wait::{PATIENCE, eventually};
use crate::yunikorn::{self, Rest};

/// The address of the admission controller's Service, fixed in the Service and in the forwarder. It is inside
/// the API server's Service range, which is on loopback.
pub(crate) const ADMISSION_IP: Ipv4Addr = Ipv4Addr::new(127, 96, 0, 50);

impl TestCluster {
    /// Returns the scheduler's REST interface. Create one per test, as with [`Self::client`].
    ///
    /// # Errors
    /// When no HTTP client can be created.
    pub fn yunikorn(&self) -> Result<Rest> {
        Rest::new(&self.rest)
    }

    /// Returns the base URL of the scheduler's REST interface as the operator sees it:
    /// `YuniKornConfig.spec.schedulerUrl`.
    pub fn scheduler_url(&self) -> &str {
        if self.operator_is_deployed() { "http://yunikorn-service.yunikorn:9080" } else { &self.rest }
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
            .until("the scheduler to answer", PATIENCE, || async { rest.config_checksum().await.map(Some) })
            .await?;
        Ok(())
    }

    /// Starts `YuniKorn`'s admission controller and waits until its webhooks work.
    ///
    /// # Errors
    /// When that fails.
    pub async fn start_admission_controller(&self) -> Result<()> {
        let Cluster::Local(local) = &self.cluster else {
            ensure!(self.admission_controller_runs(), "this cluster has no YuniKorn admission controller");
            return Ok(());
        };
        local.forward_admission()?;
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

    /// Returns whether the webhooks work. They have `failurePolicy: Ignore`, so until they work, everything
    /// is let through. This therefore sends a request that they must refuse.
    async fn webhook_answers(&self) -> Result<Option<()>> {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(yunikorn::CONFIGS.to_owned());
        map.data = Some(BTreeMap::from([("queues.yaml".to_owned(), "nonsense: true\n".to_owned())]));
        let maps = self.config_maps()?;
        let dry = PostParams { dry_run: true, ..PostParams::default() };
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
        let now = DeleteParams::default();
        let [validating, mutating] = yunikorn::ADMISSION_WEBHOOKS.map(|(_, name)| name);
        let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(self.client()?);
        gone(webhooks.delete(validating, &now).await.map(drop))?;
        let webhooks: Api<MutatingWebhookConfiguration> = Api::all(self.client()?);
        gone(webhooks.delete(mutating, &now).await.map(drop))
    }

    pub(crate) fn admission_controller_runs(&self) -> bool {
        match &self.cluster {
            Cluster::Local(local) => local.admission.running(),
            Cluster::Existing(existing) => existing.admission_controller,
        }
    }

    /// Returns the scheduler's process. [`Self::start_scheduler`] starts and waits.
    ///
    /// # Errors
    /// When it is not ours.
    pub fn scheduler(&self) -> Result<&Process> {
        Ok(&self.local()?.scheduler)
    }

    /// Returns the admission controller's process. [`Self::start_admission_controller`] starts and waits.
    ///
    /// # Errors
    /// When it is not ours.
    pub fn admission_controller(&self) -> Result<&Process> {
        Ok(&self.local()?.admission)
    }

    /// Returns the API server's process. [`Self::start_apiserver`] starts and waits.
    ///
    /// # Errors
    /// When it is not ours.
    pub fn apiserver(&self) -> Result<&Process> {
        Ok(&self.local()?.plane.apiserver)
    }

    /// Returns the process of the API server's store, etcd. [`Self::start_apiserver`] starts both and waits.
    ///
    /// # Errors
    /// When it is not ours.
    pub fn store(&self) -> Result<&Process> {
        Ok(&self.local()?.plane.etcd)
    }

    /// Discards everything before this revision: an older watch has to read everything again.
    ///
    /// # Errors
    /// When the store is not ours, or does not know the revision.
    pub async fn compact(&self, revision: u64) -> Result<()> {
        let request = json!({"revision": revision.to_string(), "physical": true});
        self.ask_store("compaction", &request).await.map(drop)
    }

    /// Returns an object of ours in the version that is stored.
    ///
    /// # Errors
    /// When the store is not ours, or does not have it.
    pub async fn stored(&self, plural: &str, name: &str) -> Result<Value> {
        let key = ByteString(format!("/registry/queuewarden.dev/{plural}/{name}").into_bytes());
        let answer = self.ask_store("range", &json!({"key": key})).await?;
        let value = answer.pointer("/kvs/0/value").context("the store does not have it")?;
        Ok(serde_json::from_slice(&ByteString::deserialize(value)?.0)?)
    }

    async fn ask_store(&self, operation: &str, request: &Value) -> Result<Value> {
        let url = format!("{}/v3/kv/{operation}", self.local()?.plane.store_url);
        let http = reqwest::Client::builder().timeout(PATIENCE).no_proxy().build()?;
        let answer = http.post(url).body(request.to_string()).send().await?.error_for_status()?;
        Ok(serde_json::from_str(&answer.text().await?)?)
    }

    /// Starts the API server again, on its old port, and waits until it is ready. Resumes paused processes.
    ///
    /// # Errors
    /// When that fails.
    pub async fn start_apiserver(&self) -> Result<()> {
        self.local()?.plane.ensure().await
    }

    /// Starts kube-controller-manager (without the node lifecycle controller), for tests with Deployments or
    /// Jobs.
    ///
    /// # Errors
    /// When it is not ours or does not start.
    pub async fn start_controller_manager(&self) -> Result<()> {
        let plane = &self.local()?.plane;
        plane.controller_manager.start()?;
        eventually("kube-controller-manager to make the namespace's ServiceAccount", PATIENCE, || async {
            ensure!(plane.controller_manager.running(), plane.controller_manager.log_tail(25));
            let accounts: Api<ServiceAccount> = Api::namespaced(self.client()?, NAMESPACE);
            Ok(accounts.get_opt("default").await?.map(|_| ()))
        })
        .await
    }

    /// Returns the API server's audit log, with every write and its author.
    ///
    /// # Errors
    /// When the API server is not ours.
    pub fn audit(&self) -> Result<&Audit> {
        Ok(&self.local()?.plane.audit)
    }
}

impl Local {
    /// Starts the forwarder only once, because it lives as long as the process.
    fn forward_admission(&self) -> Result<()> {
        let mut forwarded = self.forwarded.lock().unwrap_or_else(PoisonError::into_inner);
        if !*forwarded {
            forward((ADMISSION_IP, 443).into(), yunikorn::ADMISSION)?;
            *forwarded = true;
        }
        Ok(())
    }
}
