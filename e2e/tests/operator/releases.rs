//! Tests that a scheduler's checksum is trusted only if queuewarden was compared with its release.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::{Json, Router};
use queuewarden_e2e::conditions::{Expected, is_true};
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::yunikorn::Rest;
use queuewarden_e2e::{Capability, Kind, Operator, TestCluster, assets, yunikorn};
use serde_json::{Value, json};

use super::{apply, config_is, configure, grant, other_version, running};

/// The time within which an upgrade of the scheduler must be noticed.
const NOTICE: Duration = Duration::from_mins(1);
const UNPROVEN: Expected<'_> =
    Expected { r#type: "Loaded", status: "Unknown", reason: Some("VersionUnproven") };

/// A server that answers like the real scheduler, but reports a different release.
#[derive(Debug, Clone)]
struct MadeUp {
    real: Rest,
    release: Arc<Mutex<&'static str>>,
}

impl MadeUp {
    /// Returns the server, and its URL.
    async fn start(cluster: &TestCluster, release: &'static str) -> Result<(Self, String)> {
        let made_up = Self { real: cluster.yunikorn()?, release: Arc::new(Mutex::new(release)) };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let router = Router::new().fallback(answer).with_state(made_up.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok((made_up, url))
    }

    fn report(&self, release: &'static str) {
        *self.release.lock().unwrap_or_else(PoisonError::into_inner) = release;
    }
}

async fn answer(State(made_up): State<MadeUp>, uri: Uri) -> Result<Json<Value>, StatusCode> {
    let mut answer = made_up.real.get(uri.path()).await.map_err(|_| StatusCode::BAD_GATEWAY)?;
    if uri.path() == "/ws/v1/clusters" {
        let release = *made_up.release.lock().unwrap_or_else(PoisonError::into_inner);
        answer = json!([{"rmBuildInformation": [{"buildVersion": release}]}]);
    }
    Ok(Json(answer))
}

async fn version(cluster: &TestCluster) -> Result<Value> {
    let config = cluster.objects(Kind::YuniKornConfig)?.get("default").await?;
    config.data.pointer("/status/version").cloned().context("no status.version")
}

#[tokio::test]
async fn untested_release_is_never_loaded() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        cluster.install().await?;
        let (made_up, url) = MadeUp::start(cluster, "1.10.0").await?;
        let config = format!(
            "apiVersion: queuewarden.dev/v1alpha1\nkind: YuniKornConfig\nmetadata: {{name: default}}\nspec:\n  schedulerUrl: {url}\n"
        );
        apply(cluster, &config).await?;
        let _operator = Operator::start(cluster).await?;
        config_is(cluster, UNPROVEN, PATIENCE).await?;
        let expected = json!({"version": "1.10", "source": "Scheduler", "reported": "1.10.0"});
        ensure!(version(cluster).await? == expected, "{}", version(cluster).await?);

        // An upgrade to a release that queuewarden was compared with, and back.
        for (release, wanted) in [("1.9.0", is_true("Loaded")), ("1.10.0", UNPROVEN), ("1.9.1", is_true("Loaded"))] {
            made_up.report(release);
            let begin = Instant::now();
            config_is(cluster, wanted, NOTICE).await?;
            println!("release {release} was noticed after {:?}", begin.elapsed());
        }
        grant(cluster, "prod", "root.prod", "submit: {users: [sue]}").await?;

        // A build without a release is only trusted because of the version in the spec ...
        made_up.report("");
        config_is(cluster, UNPROVEN, NOTICE).await?;
        apply(cluster, &format!("{config}  version: \"1.9\"\n")).await?;
        config_is(cluster, is_true("Loaded"), PATIENCE).await?;
        ensure!(version(cluster).await? == json!({"version": "1.9", "source": "Spec"}));
        // ... but not a scheduler that reports a different one.
        made_up.report("1.8.0");
        config_is(cluster, UNPROVEN, NOTICE).await?;
        let expected = json!({"version": "unknown", "source": "None", "reported": "1.8.0"});
        ensure!(version(cluster).await? == expected, "{}", version(cluster).await?);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn release_of_the_real_scheduler_is_queried() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let _operator = running(cluster).await?;
        let ours = yunikorn::version()?;
        let expected = json!({"version": ours, "source": "Scheduler", "reported": assets::release(ours)?});
        ensure!(version(cluster).await? == expected, "{}", version(cluster).await?);
        configure(cluster, &format!("  version: \"{}\"\n", other_version()?)).await?;
        config_is(cluster, UNPROVEN, PATIENCE).await?;
        configure(cluster, &format!("  version: \"{ours}\"\n")).await?;
        config_is(cluster, is_true("Loaded"), PATIENCE).await?;
        Ok(())
    })
    .await
}
