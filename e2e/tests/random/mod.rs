//! Makes random changes and faults on a real cluster, and compares it with a model that shares no code with
//! queuewarden.
//!
//! * [`schedule`]: the steps, generated from a seed.
//! * [`model`]: the access that the objects give at each moment.
//! * [`access`]: the access that a text, or the scheduler, gives.
//! * [`steps`]: applies a step to the cluster and to the model.
//! * [`watch`]: compares them continuously.
//!
//! A disagreement prints the seed, the steps so far and both sides. `QUEUEWARDEN_E2E_SEED` reproduces a
//! schedule; `QUEUEWARDEN_E2E_SCHEDULE` names a file with the printed steps, which may be reduced. `just
//! random SECONDS` runs one seed after another.

mod access;
mod model;
mod schedule;
mod steps;
mod watch;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use queuewarden_e2e::{Capability, TestCluster};

use schedule::{Fault, Maker, Step};
use steps::World;
use watch::Watch;

/// The one seed that is tried.
const SEED: &str = "QUEUEWARDEN_E2E_SEED";
/// A file with steps.
const SCHEDULE: &str = "QUEUEWARDEN_E2E_SCHEDULE";
/// The variable that selects the faults: see [`Fault::read`].
const FAULTS: &str = "QUEUEWARDEN_E2E_FAULTS";
/// The variable with the duration of [`seed_after_seed_agrees_with_the_model`] in seconds; the default is an
/// hour.
const SECONDS: &str = "QUEUEWARDEN_E2E_RANDOM";
/// Seeds that CI tries each time; `just random` tries new ones.
const FIXED: [u64; 3] = [1, 2, 3];
/// Steps of a schedule.
const SHORT: usize = 36;
const LONG: usize = 120;

#[tokio::test]
async fn a_few_schedules_agree_with_the_model() -> Result<()> {
    for seed in given()?.map_or_else(|| FIXED.to_vec(), |seed| vec![seed]) {
        run(seed, SHORT).await?;
    }
    Ok(())
}

#[tokio::test]
#[ignore = "an hour: just random"]
async fn seed_after_seed_agrees_with_the_model() -> Result<()> {
    let seconds = std::env::var(SECONDS).map_or(Ok(3600), |seconds| seconds.parse())?;
    let (begin, mut rounds) = (Instant::now(), 0_u32);
    while begin.elapsed() < Duration::from_secs(seconds) {
        let seed = given()?.unwrap_or_else(|| fastrand::u64(..));
        run(seed, LONG).await?;
        rounds += 1;
    }
    println!("{rounds} schedules of {LONG} steps in {} s", begin.elapsed().as_secs());
    Ok(())
}

fn given() -> Result<Option<u64>> {
    std::env::var(SEED).ok().map(|seed| seed.parse().context(SEED)).transpose()
}

/// Runs one schedule on a fresh cluster.
async fn run(seed: u64, length: usize) -> Result<()> {
    let faults = Fault::read(&std::env::var(FAULTS).unwrap_or_else(|_| "all".to_owned()))?;
    let schedule = match std::env::var(SCHEDULE) {
        Ok(path) => schedule::read(&std::fs::read_to_string(&path).context(path)?)?,
        Err(_) => Maker::schedule(seed, &faults, length),
    };
    TestCluster::with(async |cluster| {
        let needed = [
            Capability::OperatorProcess,
            Capability::ApiServerProcess,
            Capability::SchedulerProcess,
            Capability::Audit,
        ];
        if !cluster.can_run(&needed)? {
            return Ok(());
        }
        println!("random: {SEED}={seed}, {} steps, faults {faults:?}", schedule.len());
        let begin = Instant::now();
        let world = World::start(cluster).await?;
        let mut done = 0;
        let outcome = tokio::select! {
            found = Watch::new(cluster, world.common())?.forever() => found.map(drop),
            ended = follow(&world, &schedule, &mut done) => ended,
        };
        println!("random: {SEED}={seed}: {done} steps in {} s", begin.elapsed().as_secs());
        outcome.with_context(|| history(seed, &schedule, done))
    })
    .await
}

async fn follow(world: &World<'_>, schedule: &[Step], done: &mut usize) -> Result<()> {
    for step in schedule {
        *done += 1;
        world.step(step, *done).await?;
    }
    Ok(())
}

/// Returns the seed and the steps so far, in a form that can be read back.
fn history(seed: u64, schedule: &[Step], done: usize) -> String {
    let mut text = format!("{SEED}={seed}, step {done} of these, which {SCHEDULE} reads from a file:\n");
    for step in schedule.iter().take(done) {
        let line = serde_json::to_string(step).unwrap_or_else(|error| error.to_string());
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Returns seconds since 1970.
#[expect(clippy::disallowed_methods, reason = "objects begin and end by the clock")]
fn now() -> f64 {
    jiff::Timestamp::now().as_duration().as_secs_f64()
}
