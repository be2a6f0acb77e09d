//! What is made of faults of ours: what computes panics.

use std::time::Duration;

use super::bed::{Bed, acl_path, acl_spec, cluster, put_acl};
use crate::operator::reconcile::Functions;
use crate::plan::machine::{Event, step};

const ERRORS: &str = "queuewarden_reconcile_total{result=\"error\"}";
const IN_SYNC: &str = "queuewarden_config_in_sync";

#[tokio::test(start_paused = true)]
async fn a_plan_with_a_fault_is_an_error_and_made_again() {
    let api = cluster();
    let fatal = Functions {
        step: |state, now, event, known| {
            if let Event::Observed(snapshot) = &event {
                assert!(snapshot.queue_acls.iter().all(|acl| acl.meta.name != "fatal"), "an internal error");
            }
            step(state, now, event, known)
        },
        ..Functions::default()
    };
    let bed = Bed::start_computing(&api, fatal);
    bed.until_granted("prod", "sue").await;
    bed.until("it is in sync", |_| bed.counted(IN_SYNC) == 1).await;
    assert_eq!(bed.counted(ERRORS), 0);
    put_acl(&api, "fatal", &acl_spec("root.ml", "bob"));
    bed.until("a run has failed", |_| bed.counted(ERRORS) > 0).await;
    assert_eq!(bed.counted(IN_SYNC), 0, "nobody knows");
    bed.writes_within(Duration::from_mins(10)).await;
    let errors = bed.counted(ERRORS);
    assert!((10..30).contains(&errors), "at growing intervals, and often enough for the alert: {errors}");
    assert_eq!(bed.counted(IN_SYNC), 0);
    api.delete(&acl_path("fatal"));
    put_acl(&api, "ml", &acl_spec("root.ml", "eve"));
    bed.until_granted("ml", "eve").await;
    bed.until("it is in sync again", |_| bed.counted(IN_SYNC) == 1).await;
    let errors = bed.counted(ERRORS);
    bed.writes_within(Duration::from_mins(10)).await;
    assert_eq!(bed.counted(ERRORS), errors);
}

#[tokio::test(start_paused = true)]
async fn a_fault_in_what_the_doors_answer_by_is_an_error_and_holds_nothing_up() {
    let api = cluster();
    let fatal = Functions { know: |_, _, _, _| panic!("an internal error"), ..Functions::default() };
    let bed = Bed::start_computing(&api, fatal);
    bed.until_granted("prod", "sue").await;
    bed.until("it is in sync", |_| bed.counted(IN_SYNC) == 1).await;
    bed.writes_within(Duration::from_mins(10)).await;
    let errors = bed.counted(ERRORS);
    assert!((10..30).contains(&errors), "{errors}");
    put_acl(&api, "ml", &acl_spec("root.ml", "eve"));
    bed.until_granted("ml", "eve").await;
}
