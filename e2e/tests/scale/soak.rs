//! Makes endless changes: grants are created, changed and deleted, some of them invalid, with idle breaks.
//! Memory and open files stay stable, nothing is written unnecessarily, and at the end exactly the objects'
//! grants are in force.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::usage::machine;
use queuewarden_e2e::wait::{LONG, eventually};
use queuewarden_e2e::yunikorn::checksum;
use queuewarden_e2e::{Capability, Operator, TestCluster};
use yunikorn::acl;
use yunikorn::config::verdict;
use yunikorn::queue::QueuePath;
use yunikorn::version::Version;

use super::calls::Calls;
use super::churn::{Churn, LAST};
use super::followed::Followed;
use super::samples::Samples;
use super::size::Size;
use super::versions::Versions;
use crate::operator::{config_is, hashes, live};

/// The variable with the duration of [`long`] in seconds; the default is half an hour.
const SECONDS: &str = "QUEUEWARDEN_E2E_SOAK";
/// Duration of the changes before a break.
const CHURN: Duration = Duration::from_secs(20);
/// The ACL that the base gives each queue.
const BASE: &str = " ops";
/// Time without a write in a break.
const BREAK: Duration = Duration::from_secs(5);

/// Time without a write before a break begins.
const QUIET: Duration = Duration::from_millis(500);

#[tokio::test]
async fn a_minute_of_changes() -> Result<()> {
    soak(Size { teams: 5, queues: 40 }, Duration::from_secs(40)).await
}

#[tokio::test]
#[ignore = "half an hour, for a release build"]
async fn long() -> Result<()> {
    let seconds = std::env::var(SECONDS).map_or(Ok(1800), |seconds| seconds.parse())?;
    soak(Size { teams: 20, queues: 50 }, Duration::from_secs(seconds)).await
}

async fn soak(size: Size, length: Duration) -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::Audit, Capability::OperatorProcess])? {
            return Ok(());
        }
        size.prepare(cluster).await?;
        let operator = Operator::start(cluster).await?;
        config_is(cluster, is_true("Ready"), LONG).await?;
        let (followed, versions) = (Followed::start(cluster)?, Versions::start(cluster)?);
        let (mark, begin) = (cluster.audit()?.mark()?, Instant::now());
        let (mut churn, mut samples, mut breaks) = (Churn::new(cluster, size)?, Samples::new(), 0);
        while begin.elapsed() < length {
            let until = Instant::now() + CHURN;
            while Instant::now() < until {
                churn.step().await?;
                samples.take(|| operator.usage())?;
            }
            rest(cluster, size, &churn, &followed).await?;
            breaks += 1;
        }
        churn.settle(cluster).await?;
        followed
            .until("the last changes", LONG, |objects| Size::holds(objects, churn.granted(), LAST))
            .await?;
        in_force(cluster, size, &churn).await?;

        let (calls, stray) = (Calls::since(cluster, mark)?, versions.stray());
        println!("{}, {} s", machine()?, begin.elapsed().as_secs());
        println!("{} queues, {churn}, {breaks} breaks", size.grants());
        println!("{calls:?}\n{samples}");
        ensure!(stray.is_empty(), "writes that change nothing: {stray:?}");
        ensure!(calls.maps <= churn.effective, "{calls:?}, but {churn}");
        ensure!(calls.statuses <= 4 * churn.changes + 2 * calls.maps, "{calls:?}, but {churn}");
        samples.are_flat()
    })
    .await
}

/// Waits until everything has a status and is in force soon after the last change, and then checks that
/// nothing is written.
async fn rest(cluster: &TestCluster, size: Size, churn: &Churn, followed: &Followed) -> Result<()> {
    followed
        .until("the valid to be in force, and the others to be refused", LONG, |objects| {
            objects.all().count() == churn.count()
                && objects.all().all(|(name, seen)| seen.decided && seen.ready == churn.is_valid(name))
        })
        .await?;
    eventually("what is deleted to be withdrawn, and all of it to be proven", LONG, || async {
        let text = live(cluster).await?;
        let deleted = (0..size.grants()).filter(|number| !churn.has(*number));
        queues_have(&text, size, deleted.map(|number| (number, BASE.to_owned())))?;
        let wanted = checksum(&text);
        Ok((hashes(cluster).await? == (wanted.clone(), wanted)).then_some(()))
    })
    .await?;
    eventually("the last statuses", LONG, || async {
        let mark = cluster.audit()?.mark()?;
        tokio::time::sleep(QUIET).await;
        Ok(Calls::since(cluster, mark)?.nothing_written().then_some(()))
    })
    .await?;
    config_is(cluster, is_true("Ready"), LONG).await?;
    let mark = cluster.audit()?.mark()?;
    // This checks that nothing happens.
    tokio::time::sleep(BREAK).await;
    let calls = Calls::since(cluster, mark)?;
    // Events are queued, so the last ones may arrive late.
    ensure!(calls.maps + calls.statuses + calls.others == 0, "written while nothing changes: {calls:?}");
    Ok(())
}

/// Checks that the ConfigMap has the ACLs of the queues with a grant, and the base's own for the others, and
/// that the scheduler runs it.
async fn in_force(cluster: &TestCluster, size: Size, churn: &Churn) -> Result<()> {
    let text = live(cluster).await?;
    cluster.yunikorn()?.wait_for_text(&text, LONG).await?;
    let wanted = |number| {
        if churn.has(number) { Size::acl(number, &format!("{LAST}{number}")) } else { BASE.to_owned() }
    };
    queues_have(&text, size, (0..size.grants()).map(|number| (number, wanted(number))))
}

/// Checks that these queues, by their numbers, have these ACLs for submit.
fn queues_have(text: &str, size: Size, wanted: impl Iterator<Item = (usize, String)>) -> Result<()> {
    let config = verdict(text, &[], Version::V1_8).config.context("a text without queues")?;
    let partition = config.partition("default").context("no partition")?;
    for (number, wanted) in wanted {
        let path = size.queue(number);
        let queue = QueuePath::parse(&path).ok().and_then(|path| partition.queue(&path));
        let queue = queue.with_context(|| format!("no queue {path}"))?;
        let same = acl::parse(&queue.submit_acl.value).ok() == acl::parse(&wanted).ok();
        ensure!(same, "{path} has `{}` instead of `{wanted}`", queue.submit_acl.value);
    }
    Ok(())
}
