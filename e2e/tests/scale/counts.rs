//! Counts requests, with as many objects as the ordinary run has time for: many objects at once cause few
//! writes, one change causes a few requests, and nothing is sent while nothing changes.

use anyhow::{Result, ensure};
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{Capability, Kind, Operator, TestCluster};

use super::calls::Calls;
use super::followed::Followed;
use super::size::Size;
use crate::operator::{config_is, live};

const SIZE: Size = Size { teams: 5, queues: 100 };
const BURST: usize = 200;
const CHANGES: usize = 5;

#[tokio::test]
async fn many_objects_cause_few_writes() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::Audit])? {
            return Ok(());
        }
        SIZE.prepare(cluster).await?;
        let _operator = Operator::start(cluster).await?;
        config_is(cluster, is_true("Ready"), PATIENCE).await?;
        let followed = Followed::start(cluster)?;

        let mark = cluster.audit()?.mark()?;
        SIZE.create(cluster).await?;
        followed.until("all to be ready", LONG, |objects| objects.ready() == SIZE.grants()).await?;
        let text = live(cluster).await?;
        ensure!(
            (0..SIZE.grants())
                .all(|number| text.contains(&format!("{}\"", Size::acl(number, &format!("user{number}")))))
        );
        let calls = Calls::since(cluster, mark)?;
        eprintln!("{} new objects: {calls:?}", SIZE.grants());
        ensure!(calls.maps <= 25 && calls.statuses <= 3 * SIZE.grants(), "{calls:?}");

        let mark = cluster.audit()?.mark()?;
        SIZE.apply(cluster, 0..BURST, "burst").await?;
        followed.until("the burst", LONG, |objects| Size::holds(objects, 0..BURST, "burst")).await?;
        let calls = Calls::since(cluster, mark)?;
        eprintln!("{BURST} applies: {calls:?}");
        ensure!(calls.maps <= 10, "{calls:?}");

        config_is(cluster, is_true("Ready"), PATIENCE).await?;
        let mark = cluster.audit()?.mark()?;
        let objects = cluster.objects(Kind::QueueAcl)?;
        for number in 0..CHANGES {
            SIZE.apply_one(&objects, number, "later").await?;
            followed
                .until("one change", LONG, |objects| Size::holds(objects, number..=number, "later"))
                .await?;
        }
        config_is(cluster, is_true("Ready"), PATIENCE).await?;
        let calls = Calls::since(cluster, mark)?;
        eprintln!("{CHANGES} changes: {calls:?}");
        ensure!(calls.maps == CHANGES, "{calls:?}");
        // The object's, and the YuniKornConfig's with the new checksum; twice if the scheduler takes longer
        // than the operator waits.
        ensure!(calls.statuses <= 4 * CHANGES && calls.reads <= 2 * CHANGES, "{calls:?}");
        Ok(())
    })
    .await
}
