//! Tests an output that is deleted, shadowed, filled up by others, or persistently overwritten by another
//! writer.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams};
use queuewarden_e2e::conditions::{Expected, is_false};
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{TestCluster, eventually, yunikorn};
use serde_json::{Value, json};

use super::{Chaos, full};
use crate::operator::{config_is, live, open_base, output_writes};

/// Merges this into the output, as another client.
async fn merge(cluster: &TestCluster, change: &Value) -> Result<()> {
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client()?, yunikorn::NAMESPACE);
    let params = PatchParams { field_manager: Some("other-writer".into()), ..PatchParams::default() };
    maps.patch(yunikorn::CONFIGS, &params, &Patch::Merge(change)).await?;
    Ok(())
}

#[tokio::test]
async fn the_output_is_deleted_and_shadowed() -> Result<()> {
    Chaos::with(async |mut chaos| {
        let cluster = chaos.cluster;
        let operator = chaos.running().await?;
        // From the fourth time on, a missing text is restored at least every second.
        for _ in 0..if full() { 4 } else { 2 } {
            chaos.change().await?;
            cluster.delete_config_map(yunikorn::CONFIGS).await?;
            chaos.grant_history.converged(LONG).await?;
        }
        let shadow = ByteString(open_base().into_bytes());
        merge(cluster, &json!({"binaryData": {"queues.yaml.x": shadow}})).await?;
        let shadowed = Expected { r#type: "Ready", status: "False", reason: Some("ShadowedByBinaryData") };
        config_is(cluster, shadowed, PATIENCE).await?;
        chaos.change().await?;
        merge(cluster, &json!({"binaryData": null})).await?;
        chaos.recovers(&operator, LONG).await
    })
    .await
}

/// Others fill the ConfigMap up to its limit of 1 MiB, so that the queue tree no longer fits.
#[tokio::test]
async fn there_is_no_room_left_in_the_output() -> Result<()> {
    Chaos::with(async |mut chaos| {
        let cluster = chaos.cluster;
        let operator = chaos.running().await?;
        let data: BTreeMap<String, String> =
            cluster.config_map(yunikorn::CONFIGS).await?.and_then(|map| map.data).unwrap_or_default();
        let used: usize = data.iter().map(|(key, value)| key.len() + value.len()).sum();
        let filler = "x".repeat((1 << 20) - used - "filler".len() - 20);
        merge(cluster, &json!({"data": {"filler": filler}})).await?;
        // The withdrawal fits, but the new grant does not.
        chaos
            .grant_history
            .grant("prod", "root.prod", &["a-user-whose-name-is-longer-than-the-room-that-is-left"])
            .await?;
        let reported = config_is(cluster, is_false("Applied", "TooLarge"), PATIENCE).await?;
        ensure!(
            reported.message.contains("1 MiB") || reported.message.contains("1048576"),
            "{}",
            reported.message
        );
        eventually("the withdrawal", PATIENCE, || async {
            Ok((!live(cluster).await?.contains("alice")).then_some(()))
        })
        .await?;
        merge(cluster, &json!({"data": {"filler": null}})).await?;
        chaos.recovers(&operator, LONG).await
    })
    .await
}

/// Each of the other's writes creates a new version, so our write may be based on an outdated one.
#[tokio::test]
async fn changes_are_written_despite_frequent_writes_of_another_key() -> Result<()> {
    Chaos::with(async |mut chaos| {
        let cluster = chaos.cluster;
        let operator = chaos.running().await?;
        let mark = cluster.audit()?.mark()?;
        let other_writer = async {
            let mut ticks = tokio::time::interval(Duration::from_millis(100));
            for number in 0_u64.. {
                ticks.tick().await;
                merge(cluster, &json!({"data": {"counter": number.to_string()}})).await?;
            }
            anyhow::Ok(())
        };
        let rounds = if full() { 30 } else { 3 };
        let changes = async {
            for _ in 0..rounds {
                chaos.change().await?;
                chaos.grant_history.converged(PATIENCE).await?;
            }
            anyhow::Ok(())
        };
        tokio::select! {
            ended = other_writer => ended?,
            done = changes => done?,
        }
        let writes = output_writes(cluster, mark)?;
        ensure!(writes <= rounds * 3, "{writes} writes for {rounds} times three changes");
        chaos.recovers(&operator, LONG).await
    })
    .await
}

#[tokio::test]
#[ignore = "four minutes; `operator::writers` has a slower writer"]
async fn another_writer_opens_the_text_ten_times_a_second() -> Result<()> {
    Chaos::with(async |mut chaos| {
        let cluster = chaos.cluster;
        let operator = chaos.running().await?;
        let open = open_base();
        chaos.grant_history.expect_foreign(&open);
        let mark = cluster.audit()?.mark()?;
        let (begin, mut ticks) = (Instant::now(), tokio::time::interval(Duration::from_millis(100)));
        while begin.elapsed() < Duration::from_mins(2) {
            ticks.tick().await;
            merge(cluster, &json!({"data": {"queues.yaml": open}})).await?;
        }
        config_is(cluster, is_false("Applied", "Contended"), PATIENCE).await?;
        let writes = output_writes(cluster, mark)?;
        ensure!((60..=130).contains(&writes), "{writes} writes in two minutes against the other writer");
        chaos.recovers(&operator, LONG * 3).await
    })
    .await
}

/// How long others keep opening the text.
const HOSTILE: Duration = Duration::from_mins(10);
/// The time between two of their changes.
const GAP: Duration = Duration::from_secs(5);

#[tokio::test]
#[ignore = "ten minutes"]
async fn another_writer_opens_and_deletes_the_text_every_five_seconds_for_ten_minutes() -> Result<()> {
    Chaos::with(async |mut chaos| {
        let cluster = chaos.cluster;
        let operator = chaos.running().await?;
        let (open, scheduler) = (open_base(), cluster.yunikorn()?);
        chaos.grant_history.expect_foreign(&open);
        let (mark, begin) = (cluster.audit()?.mark()?, Instant::now());
        let other_writer = async {
            let mut ticks = tokio::time::interval(GAP);
            let mut rounds = 0_usize;
            while begin.elapsed() < HOSTILE {
                ticks.tick().await;
                rounds += 1;
                if rounds.is_multiple_of(12) {
                    // The API server keeps five minutes of versions.
                    chaos.grant_history.check().await?;
                }
                if rounds.is_multiple_of(3) {
                    cluster.delete_config_map(yunikorn::CONFIGS).await?;
                } else {
                    merge(cluster, &json!({"data": {"queues.yaml": open}})).await?;
                }
            }
            anyhow::Ok(rounds)
        };
        let (mut text, mut run) = (Opened::default(), Opened::default());
        let mut looks = async || -> Result<Infallible> {
            let mut ticks = tokio::time::interval(Duration::from_millis(50));
            let foreign = yunikorn::checksum(&open);
            loop {
                ticks.tick().await;
                let current = cluster.config_value(yunikorn::CONFIGS, "queues.yaml").await?;
                text.look(current.is_none_or(|current| current == open));
                run.look(scheduler.config_checksum().await? == foreign);
            }
        };
        let rounds = tokio::select! {
            ended = looks() => match ended? {},
            rounds = other_writer => rounds?,
        };
        let writes = output_writes(cluster, mark)?;
        println!("{rounds} changes of the other writer, {writes} of the operator");
        println!("open text: {text}\nopen scheduler: {run}");
        ensure!(text.longest < Duration::from_secs(2), "the text was open for {:?}", text.longest);
        ensure!(text.share() < 0.05, "the text was open in {:.1} % of looks", 100.0 * text.share());
        ensure!(writes <= 2 * rounds, "{writes} writes against {rounds} of the other");
        chaos.recovers(&operator, LONG * 3).await
    })
    .await
}

/// Watches what may be open.
#[derive(Default)]
struct Opened {
    looks: u32,
    open: u32,
    since: Option<Instant>,
    longest: Duration,
}

impl Opened {
    fn look(&mut self, open: bool) {
        self.looks += 1;
        self.open += u32::from(open);
        let since = open.then(|| self.since.unwrap_or_else(Instant::now));
        self.longest = self.longest.max(since.or(self.since).map_or(Duration::ZERO, |since| since.elapsed()));
        self.since = since;
    }

    fn share(&self) -> f64 {
        f64::from(self.open) / f64::from(self.looks)
    }
}

impl std::fmt::Display for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { looks, open, longest, .. } = self;
        write!(f, "{open} of {looks} looks ({:.2} %), {longest:?} at the longest", 100.0 * self.share())
    }
}
