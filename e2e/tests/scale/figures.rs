//! Measures the table of `docs/scale.md`: ten thousand grants on ten thousand queues.

#![expect(clippy::cast_precision_loss, reason = "figures for people, with two digits behind the point")]

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use queuewarden_e2e::usage::machine;
use queuewarden_e2e::wait::eventually;
use queuewarden_e2e::{Kind, Operator, TestCluster};

use super::calls::Calls;
use super::followed::Followed;
use super::size::{Size, bytes};

const SIZE: Size = Size { teams: 100, queues: 100 };
/// Objects that are applied at once.
const BURST: usize = 1000;
/// Single changes, one after the other.
const CHANGES: usize = 20;
/// Timeout for work on all objects.
const LONGEST: Duration = Duration::from_mins(5);
/// Duration of the observation without changes.
const IDLE: Duration = Duration::from_mins(1);
/// How long nothing is written after the last event.
const QUIET: Duration = Duration::from_secs(2);

const MIB: f64 = 1024.0 * 1024.0;

/// The table, row by row, printed as it grows.
#[derive(Debug, Default)]
struct Table {
    missed: Vec<String>,
}

impl Table {
    fn begin() -> Result<Self> {
        println!("\n{}.\n\n| What | Goal | Measured |\n|---|---|---|", machine()?);
        Ok(Self::default())
    }

    fn tell(what: &str, measured: &str) {
        println!("| {what} | | {measured} |");
    }

    /// Adds a figure that should be at most this.
    fn at_most(&mut self, what: &str, goal: f64, measured: f64, unit: &str) {
        println!("| {what} | {goal} {unit} | {measured:.2} {unit} |");
        if measured > goal {
            self.missed.push(format!("{what}: {measured:.2} instead of {goal} {unit}"));
        }
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB
}

#[tokio::test]
#[ignore = "a measurement of some minutes, for a release build"]
async fn ten_thousand() -> Result<()> {
    TestCluster::with(async |cluster| {
        SIZE.prepare(cluster).await?;
        SIZE.create(cluster).await?;
        let followed = Followed::start(cluster)?;
        followed.until("all to be seen", LONGEST, |objects| objects.all().count() == SIZE.grants()).await?;
        let mut table = Table::begin()?;

        let operator = cold(cluster, &followed).await?;
        changes(cluster, &followed, &mut table).await?;
        idle(cluster, &operator, &mut table).await?;
        burst(cluster, &followed, &operator, &mut table).await?;
        let taken = operator.usage()?;
        table.at_most("memory at the end, resident", 150.0, mib(taken.resident), "MiB");
        table.at_most("memory at its highest, resident", 150.0, mib(taken.peak), "MiB");
        drop(operator);
        warm(cluster).await?;
        ensure!(table.missed.is_empty(), "{}", table.missed.join("\n"));
        Ok(())
    })
    .await
}

/// Measures a start in a cluster whose objects have no status.
async fn cold<'cluster>(cluster: &'cluster TestCluster, followed: &Followed) -> Result<Operator<'cluster>> {
    let (mark, begin) = (cluster.audit()?.mark()?, Instant::now());
    let operator = Operator::start(cluster).await?;
    followed.until("the first to be ready", LONGEST, |objects| objects.ready() > 0).await?;
    let first = begin.elapsed();
    followed.until("all to be ready", LONGEST, |objects| objects.ready() == SIZE.grants()).await?;
    let all = begin.elapsed();
    let calls = Calls::since(cluster, mark)?;
    Table::tell("queues and grants", &format!("{} and {}", SIZE.grants() + SIZE.teams + 1, SIZE.grants()));
    Table::tell("the ConfigMap", &format!("{} bytes", bytes(cluster).await?));
    Table::tell(
        "from start to the scheduler's proof that all grants are in force",
        &format!("{:.1} s", first.as_secs_f64()),
    );
    Table::tell("from start until every object says so", &format!("{:.1} s", all.as_secs_f64()));
    Table::tell(
        "writes for that",
        &format!(
            "{} of the ConfigMap, {} of others, {} of statuses",
            calls.live,
            calls.maps - calls.live,
            calls.statuses
        ),
    );
    Table::tell("memory after that, resident", &format!("{:.0} MiB", mib(operator.usage()?.resident)));
    Ok(operator)
}

/// Measures changes in sequence, each until it is in force.
async fn changes(cluster: &TestCluster, followed: &Followed, table: &mut Table) -> Result<()> {
    let (objects, mark) = (cluster.objects(Kind::QueueAcl)?, cluster.audit()?.mark()?);
    let mut took = Vec::new();
    for round in 0..CHANGES {
        let number = round * 487 % SIZE.grants();
        let begin = Instant::now();
        SIZE.apply_one(&objects, number, "changed").await?;
        followed
            .until("one change", LONGEST, |objects| Size::holds(objects, std::iter::once(number), "changed"))
            .await?;
        took.push(begin.elapsed());
    }
    took.sort_unstable();
    let seconds = |place: usize| took.get(place).copied().unwrap_or_default().as_secs_f64();
    table.at_most("one change among them until it is Ready, median", 3.0, seconds(CHANGES / 2), "s");
    table.at_most("the same, slowest of twenty", 3.0, seconds(CHANGES - 1), "s");
    let Calls { maps, statuses, events, others, reads, .. } = Calls::since(cluster, mark)?;
    let each = |count: usize| count as f64 / CHANGES as f64;
    let calls = format!(
        "{:.1} writes of the ConfigMap, {:.1} of statuses, {:.1} events, {:.1} other writes, {:.1} reads",
        each(maps),
        each(statuses),
        each(events),
        each(others),
        each(reads)
    );
    Table::tell("requests to the API server for one change", &calls);
    Ok(())
}

async fn idle(cluster: &TestCluster, operator: &Operator<'_>, table: &mut Table) -> Result<()> {
    // Events of earlier changes are still published, at a limited rate.
    eventually("the last events to be published", LONGEST, || async {
        let mark = cluster.audit()?.mark()?;
        tokio::time::sleep(QUIET).await;
        ensure!(Calls::since(cluster, mark)?.nothing_written(), "writes");
        Ok(Some(()))
    })
    .await?;
    let (mark, before, begin) = (cluster.audit()?.mark()?, operator.usage()?, Instant::now());
    // The measurement is of a period without changes.
    tokio::time::sleep(IDLE).await;
    let cpu = operator.usage()?.cpu.saturating_sub(before.cpu);
    let percent = 100.0 * cpu.as_secs_f64() / begin.elapsed().as_secs_f64();
    table.at_most("processor while nothing changes", 1.0, percent, "%");
    let calls = Calls::since(cluster, mark)?;
    ensure!(calls.nothing_written(), "writes while nothing changes");
    Ok(())
}

async fn burst(
    cluster: &TestCluster,
    followed: &Followed,
    operator: &Operator<'_>,
    table: &mut Table,
) -> Result<()> {
    let (mark, cpu, begin) = (cluster.audit()?.mark()?, operator.usage()?.cpu, Instant::now());
    SIZE.apply(cluster, 0..BURST, "burst").await?;
    let applied = begin.elapsed();
    followed
        .until("the burst to be ready", LONGEST, |objects| Size::holds(objects, 0..BURST, "burst"))
        .await?;
    let calls = Calls::since(cluster, mark)?;
    table.at_most(&format!("the ConfigMap for {BURST} applies at once"), 10.0, calls.maps as f64, "");
    Table::tell("status writes for those", &calls.statuses.to_string());
    Table::tell(
        "those applies, and until all of them are Ready",
        &format!("{:.1} s, {:.1} s", applied.as_secs_f64(), begin.elapsed().as_secs_f64()),
    );
    let cpu = operator.usage()?.cpu.saturating_sub(cpu);
    Table::tell("processor time for those", &format!("{:.1} s", cpu.as_secs_f64()));
    Ok(())
}

/// Measures the start of a replica that finds everything in order.
async fn warm(cluster: &TestCluster) -> Result<()> {
    let (mark, begin) = (cluster.audit()?.mark()?, Instant::now());
    let operator = Operator::start(cluster).await?;
    Table::tell(
        "a replica that starts later, until it is ready",
        &format!("{:.1} s", begin.elapsed().as_secs_f64()),
    );
    Table::tell("its memory, resident", &format!("{:.0} MiB", mib(operator.usage()?.resident)));
    let calls = Calls::since(cluster, mark)?;
    ensure!(calls.nothing_written(), "writes although everything is in order");
    Ok(())
}
