//! Tests looking ahead: what only becomes true later is not found now.

use super::*;
use crate::conditions::Reason;
use crate::time::{Ahead, MAX_MOMENTS, ahead};

fn at(minutes: i64) -> Timestamp {
    now() + jiff::SignedDuration::from_mins(minutes)
}

fn window(name: &str, begin: Option<i64>, end: Option<i64>) -> Arc<QueueAclEntry> {
    with(submit(name, "root.prod", "ann"), |spec| {
        spec.base_acl = BaseAcl::Extend;
        spec.not_before = begin.map(at);
        spec.expires_at = end.map(at);
    })
}

/// Looks for objects that have expired.
fn expired(snapshot: &Snapshot, until: Timestamp) -> Ahead<String> {
    let find = |now| -> Result<Vec<String>, ()> {
        let plan = settle(Snapshot { now, ..snapshot.clone() }).plan;
        let is_late = |status: &[Condition]| status.iter().any(|of| of.has(Reason::Expired));
        let late = plan.queue_acls.iter().filter(|(_, status)| is_late(&status.conditions));
        Ok(late.map(|(name, _)| name.to_string()).collect())
    };
    ahead(snapshot, until, find).unwrap()
}

#[test]
fn what_is_new_is_reported_at_the_moment_that_brings_it() {
    let mut snapshot = cluster(BASE);
    snapshot.queue_acls = vec![
        window("past", None, Some(-1)),
        window("a", Some(10), Some(20)),
        window("b", Some(5), Some(20)),
        window("later", None, Some(31)),
    ];
    let broken = || Entry { spec: Err(Vec::new()), ..Entry::clone(&submit("kept", "root.prod", "ann")) };
    let kept = QueueAclInForce {
        partition: "default".into(),
        queue: "root.prod".into(),
        submit: Some("ann".into()),
        admin: None,
        base_acl: BaseAcl::Extend,
        expires_at: Some(at(30)),
        delegated_by: None,
    };
    snapshot.queue_acls.push(Arc::new(Entry { in_force: Some(Arc::new(kept)), ..broken() }));
    let ahead = expired(&snapshot, at(30));
    let reported = ahead
        .moments
        .iter()
        .map(|moment| (moment.at, moment.begin.join(" "), moment.end.join(" "), moment.findings.join(" ")));
    let reported: Vec<_> = reported.collect();
    let row = |minutes, begin: &str, end: &str, found: &str| {
        (at(minutes), begin.to_owned(), end.to_owned(), found.to_owned())
    };
    let expected =
        [row(5, "b", "", ""), row(10, "a", "", ""), row(20, "", "a b", "a b"), row(30, "", "kept", "")];
    assert_eq!(reported, expected);
    assert_eq!(ahead.more, 0);
}

#[test]
fn so_many_moments_are_looked_at_and_the_others_counted() {
    let mut snapshot = cluster(BASE);
    let ends = 1..=i64::try_from(MAX_MOMENTS).unwrap() + 7;
    snapshot.queue_acls = ends.map(|end| window(&format!("a{end}"), None, Some(end))).collect();
    let ahead = ahead(&snapshot, at(1000), |at| Ok::<_, ()>(vec![at])).unwrap();
    assert_eq!((ahead.moments.len(), ahead.more), (MAX_MOMENTS, 7));
    assert_eq!(ahead.findings().last(), Some(&at(100)));
}
