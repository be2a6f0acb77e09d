//! Many objects at once are few writes.

use anyhow::{Result, ensure};
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::wait::LONG;
use queuewarden_e2e::{Bed, Capability, Kind};

use super::{acl, live, running, writes};

#[tokio::test]
async fn five_hundred_objects_at_once_are_few_writes() -> Result<()> {
    Bed::with(async |bed| {
        if !bed.can_run(&[Capability::Audit])? {
            return Ok(());
        }
        let _operator = running(bed).await?;
        let mark = bed.audit()?.mark()?;
        let queues = ["root.prod", "root.dev", "root.team", "root.team.batch", "root.team.adhoc"];
        let objects = (0..500).map(|i| {
            let queue = queues[i % queues.len()];
            acl(&format!("grant-{i}"), queue, &format!("submit: {{users: [user{i}], groups: [group{}]}}", i % 50))
        });
        let all = objects.collect::<Vec<_>>().join("---\n");
        bed.kubectl_with_input(&["create", "-f", "-"], &all).await?;
        for i in [0, 499, 250] {
            bed.wait_for(Kind::QueueAcl, &format!("grant-{i}"), is_true("Ready"), LONG).await?;
        }
        bed.kubectl(&["wait", "queueacl", "--all", "--for=condition=Ready", "--timeout=60s"]).await?;
        let text = live(bed).await?;
        ensure!((0..500).all(|i| text.contains(&format!("user{i}"))));
        let (maps, statuses) = (writes(bed, mark, "configmaps", "")?, writes(bed, mark, "queueacls", "status")?);
        eprintln!("500 QueueAcls: {maps} writes of the ConfigMap, {statuses} of statuses");
        ensure!(maps <= 25, "{maps} writes of the ConfigMap");
        ensure!(statuses <= 1500, "{statuses} writes of statuses");
        Ok(())
    })
    .await
}
