//! Many objects at once are few writes.

use anyhow::{Result, ensure};
use kube::api::{DynamicObject, ListParams};
use queuewarden_e2e::wait::LONG;
use queuewarden_e2e::{Bed, Capability, Kind, eventually};

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
            acl(
                &format!("grant-{i}"),
                queue,
                &format!("submit: {{users: [user{i}], groups: [group{}]}}", i % 50),
            )
        });
        let all = objects.collect::<Vec<_>>().join("---\n");
        bed.kubectl_with_input(&["create", "-f", "-"], &all).await?;
        let objects = bed.objects(Kind::QueueAcl)?;
        eventually("all to be ready", LONG, || async {
            let list = objects.list(&ListParams::default()).await?;
            let ready = list.iter().filter(|object| is_ready(object)).count();
            ensure!(ready == 500, "{ready} of 500 are ready");
            Ok(Some(()))
        })
        .await?;
        let text = live(bed).await?;
        ensure!((0..500).all(|i| text.contains(&format!("user{i}"))));
        let (maps, statuses) =
            (writes(bed, mark, "configmaps", "")?, writes(bed, mark, "queueacls", "status")?);
        eprintln!("500 QueueAcls: {maps} writes of the ConfigMap, {statuses} of statuses");
        ensure!(maps <= 25, "{maps} writes of the ConfigMap");
        ensure!(statuses <= 1500, "{statuses} writes of statuses");
        Ok(())
    })
    .await
}

fn is_ready(object: &DynamicObject) -> bool {
    let conditions = object.data.pointer("/status/conditions").and_then(|list| list.as_array());
    conditions.into_iter().flatten().any(|condition| {
        condition.pointer("/type").is_some_and(|word| word == "Ready")
            && condition.pointer("/status").is_some_and(|word| word == "True")
    })
}
