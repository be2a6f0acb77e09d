//! Checks that pods have the aliases which grants need, and no others.

use kube::Client;

use super::{Line, NAMED, list};
use crate::source::aliases::{StalePod, granted, pods_with_wrong_aliases};
use crate::source::cluster::Cluster;
use queuewarden_plan::snapshot::Snapshot;

const ALIASES: &str = "aliases";

/// Returns the line about the pods of a cluster; `None` where no grant needs an alias.
pub(super) async fn check(cluster: &Cluster, client: &Client, snapshot: Option<&Snapshot>) -> Option<Line> {
    let granted = granted(snapshot?);
    if granted.is_empty() {
        return None;
    }
    Some(match pods_with_wrong_aliases(cluster, client, &granted, None).await {
        Err(failure) => Line::unread(ALIASES, "which pods have wrong aliases", &failure),
        Ok(pods) if pods.is_empty() => {
            Line::ok(ALIASES, "all pods have those that grants need, and no others")
        }
        Ok(pods) => {
            // A missing alias takes access away; one that is not theirs gives it.
            let line = if pods.iter().any(StalePod::has_foreign) { Line::fail } else { Line::warn };
            let names: Vec<_> = pods.into_iter().map(|pod| pod.name).collect();
            let (count, names) = (names.len(), list(&names, ", ", NAMED));
            let found = format!(
                "pods that lack an alias which a grant needs, or have one that is not theirs: {count}: {names}"
            );
            let remedy = "`queuewarden user-info refresh -A` shows them; --apply writes the right aliases";
            line(ALIASES, found, remedy)
        }
    })
}
