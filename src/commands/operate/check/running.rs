//! Checks the replicas, which of them is the leader, and the aliases in pods.

use kube::Client;

use crate::source::aliases::{StalePod, granted, pods_with_wrong_aliases};
use crate::source::checks::{AGAIN, Level, Line, NAMED, ROLE, list};
use crate::source::cluster::Cluster;
use crate::source::installed::OperatorState;
use queuewarden_plan::snapshot::Snapshot;

const REPLICAS: &str = "replicas";
const LEADER: &str = "leader";
const VERSION: &str = "version";
const ALIASES: &str = "aliases";

pub(super) fn check(state: &OperatorState) -> Vec<Line> {
    let mut lines = vec![replicas(state), leader(state)];
    lines.extend(state.image.as_deref().map(version));
    lines
}

fn replicas(state: &OperatorState) -> Line {
    let namespace = &state.namespace;
    let Some(wanted) = state.replicas else {
        let found = state.problems.first().cloned().unwrap_or_default();
        if state.unread {
            return unread(REPLICAS, found, state);
        }
        return Line::warn(REPLICAS, found, "set its namespace with --operator-namespace");
    };
    let ready = state.ready_replicas.unwrap_or_default();
    let found = format!("{ready} of {wanted} ready in {namespace}");
    let look = format!("see kubectl -n {namespace} describe pods, and their logs, for the cause");
    match ready {
        0 => Line::fail(REPLICAS, found, look),
        _ if ready < wanted => Line::warn(REPLICAS, found, look),
        _ => Line::ok(REPLICAS, found),
    }
}

fn unread(check: &'static str, found: String, state: &OperatorState) -> Line {
    let remedy = if state.forbidden { ROLE } else { AGAIN };
    Line { level: Level::Unknown, ..Line::warn(check, found, remedy) }
}

fn leader(state: &OperatorState) -> Line {
    if let Some(leader) = &state.leader {
        return Line::ok(LEADER, format!("{leader} writes"));
    }
    let found = state.problems.last().cloned().unwrap_or_default();
    if state.unknown {
        return unread(LEADER, found, state);
    }
    let what = format!(
        "a replica that runs takes the Lease within 15 seconds, if it may: kubectl -n {} get lease \
        queuewarden -o yaml",
        state.namespace
    );
    Line::fail(LEADER, found, what)
}

/// Compares the tag of the image with this program's version; an image that is named by its digest has no
/// version.
fn version(image: &str) -> Line {
    let ours = env!("CARGO_PKG_VERSION");
    let name = image.rsplit_once('/').map_or(image, |(_, name)| name);
    match name.split_once('@').map_or(name, |(name, _)| name).split_once(':') {
        Some((_, tag)) if tag.trim_start_matches('v') != ours => Line::warn(
            VERSION,
            format!("the operator is {tag}, and this program {ours}"),
            "use the program of the same version, because the checks may differ",
        ),
        _ => Line::ok(VERSION, format!("{image}, and this program {ours}")),
    }
}

/// Returns the line about the pods of a cluster; `None` where no grant needs an alias.
pub(super) async fn pods(cluster: &Cluster, client: &Client, snapshot: Option<&Snapshot>) -> Option<Line> {
    let granted = granted(snapshot?);
    if granted.is_empty() {
        return None;
    }
    Some(match pods_with_wrong_aliases(cluster, client, &granted, None).await {
        Err(failure) => Line::unread(ALIASES, "which pods have wrong aliases", &failure),
        Ok(pods) if pods.is_empty() => {
            Line::ok(ALIASES, "all pods have exactly the aliases that grants need")
        }
        Ok(pods) => {
            // A missing alias removes access, and a foreign alias gives access.
            let line = if pods.iter().any(StalePod::has_foreign) { Line::fail } else { Line::warn };
            let names: Vec<_> = pods.into_iter().map(|pod| pod.name).collect();
            let (count, names) = (names.len(), list(&names, ", ", NAMED));
            let found = format!("{count} pods with missing or foreign aliases: {names}");
            let remedy = "`queuewarden user-info refresh -A` lists them; --apply corrects the aliases";
            line(ALIASES, found, remedy)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(wanted: Option<i32>, ready: i32, leader: Option<&str>) -> OperatorState {
        OperatorState {
            namespace: "ops".into(),
            replicas: wanted,
            ready_replicas: Some(ready),
            image: None,
            mounted_certificate: None,
            leader: leader.map(str::to_owned),
            problems: vec!["why".into()],
            unknown: false,
            ..OperatorState::default()
        }
    }

    #[test]
    fn one_ready_replica_is_enough_to_work_and_none_is_not() {
        let levels = |state: &OperatorState| check(state).iter().map(|line| line.level).collect::<Vec<_>>();
        assert_eq!(levels(&state(Some(2), 2, Some("a"))), [Level::Ok, Level::Ok]);
        assert_eq!(levels(&state(Some(2), 1, Some("a"))), [Level::Warn, Level::Ok]);
        assert_eq!(levels(&state(Some(2), 0, None)), [Level::Fail, Level::Fail]);
        assert_eq!(levels(&state(None, 0, Some("a"))), [Level::Warn, Level::Ok], "it may run elsewhere");
        let unknown = OperatorState { unknown: true, ..state(Some(2), 2, None) };
        assert_eq!(levels(&unknown), [Level::Ok, Level::Unknown], "what may not be read is not broken");
        let unread = OperatorState { unknown: true, unread: true, ..state(None, 0, None) };
        assert_eq!(levels(&unread), [Level::Unknown, Level::Unknown]);
    }

    #[test]
    fn the_tag_is_compared() {
        let ours = env!("CARGO_PKG_VERSION");
        for (image, level) in [
            (format!("ghcr.io/queuewarden/queuewarden:{ours}"), Level::Ok),
            (format!("localhost:5000/queuewarden:v{ours}"), Level::Ok),
            (format!("queuewarden:{ours}@sha256:00"), Level::Ok),
            ("localhost:5000/queuewarden".to_owned(), Level::Ok),
            ("queuewarden@sha256:00".to_owned(), Level::Ok),
            ("queuewarden:0.0.1".to_owned(), Level::Warn),
        ] {
            assert_eq!(version(&image).level, level, "{image}");
        }
    }
}
