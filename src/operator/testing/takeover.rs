//! A replica that takes over, what it finds, and what it keeps for its successor.

use std::time::Duration;

use http::Method;
use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use serde_json::json;
use tokio::time::Instant;

use super::api_server::{ApiServer, Fault, Wrong};
use super::bed::{Bed, OUTPUT, acl_path, acl_spec, cluster, put_acl, text};
use crate::operator::clock;
use crate::operator::last_base::Store;
use crate::operator::leader::Candidate;
use crate::operator::leader::election::Timing;
use crate::plan::snapshot::LastBase;

const OWN: &str = "/api/v1/namespaces/queuewarden-system/configmaps/queuewarden-last-base";

#[tokio::test(start_paused = true)]
async fn a_new_leader_whose_watches_are_dead_does_not_grant_again_what_was_withdrawn() {
    let former = Bed::start(&cluster());
    former.until_granted("prod", "sue").await;
    let api = former.api.clone();
    let leases: Api<Lease> = Api::default_namespaced(api.client());
    let (candidate, leadership) = Candidate::new(leases, "queuewarden", "new", Timing::default());
    let new = Bed::start_as(&api, leadership);
    let planned = "queuewarden_objects{kind=\"QueueAcl\",condition=\"Accepted\",status=\"True\"}";
    new.until("it has read everything", |_| new.counted(planned) == 1).await;
    former.stop().await;

    // What the former leader has done while nothing came by the watches of the new one.
    api.silence();
    api.delete(&acl_path("prod"));
    let withdrawn = text(&api).replace("submitacl: 'sue'", "submitacl: ''");
    api.put(OUTPUT, &json!({"data": {"queues.yaml": withdrawn}}), "queuewarden");
    let before = api.versions(OUTPUT).len();
    tokio::spawn(candidate.run(std::future::pending()));
    new.until("it leads", |_| new.counted("queuewarden_leader") == 1).await;
    new.writes_within(Duration::from_mins(3)).await;
    let after = api.versions(OUTPUT);
    let granted = after.iter().skip(before).any(|map| map["data"].to_string().contains("sue"));
    assert!(!granted, "{after:?}");
    put_acl(&api, "ml", &acl_spec("root.ml", "bob"));
    new.until_granted("ml", "bob").await;
}

/// The end of a grant is known without a watch.
#[tokio::test(start_paused = true)]
async fn an_output_that_was_deleted_unnoticed_is_created_when_a_write_finds_out() {
    let api = cluster();
    let mut spec = acl_spec("root.prod", "sue");
    spec["baseAcl"] = json!("Extend");
    spec["expiresAt"] = json!((clock::now() + SignedDuration::from_secs(20)).to_string());
    put_acl(&api, "prod", &spec);
    let bed = Bed::start(&api);
    bed.until_granted("prod", "sue").await;
    api.silence();
    api.delete(OUTPUT);
    let begin = Instant::now();
    bed.until("there is an output", |api| !text(api).is_empty()).await;
    assert!(begin.elapsed() < Duration::from_secs(30), "not by a watch: {:?}", begin.elapsed());
    assert!(!text(&api).contains("sue"));
}

#[tokio::test(start_paused = true)]
async fn the_last_base_is_created_replaced_and_done_without_where_it_is_forbidden() {
    let base = |text: &str| LastBase {
        source: "ConfigMap yunikorn/base, key queues.yaml".into(),
        text: text.into(),
    };
    let api = ApiServer::new();
    let store = Store::new(api.client(), None);
    assert_eq!(store.read().await.unwrap(), None);
    for text in ["a", "b"] {
        store.write(&base(text)).await.unwrap();
        assert_eq!(store.read().await.unwrap(), Some(base(text)));
    }
    assert_eq!(api.get(OWN)["data"]["queues.yaml"], "b");
    for method in [Method::GET, Method::PATCH, Method::POST] {
        let what = Wrong::Refuse(403, "configmaps is forbidden");
        api.fault(Fault { method, path: "/configmaps", watch: false, times: usize::MAX, what });
    }
    assert_eq!(store.read().await.unwrap(), None);
    store.write(&base("c")).await.unwrap();
    api.heal();
    assert_eq!(store.read().await.unwrap(), Some(base("b")));
}
