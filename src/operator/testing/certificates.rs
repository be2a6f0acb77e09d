//! The certificate of the doors, when the API server does not do what it should.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::api_server::{ApiServer, Fault, Wrong};
use crate::operator::clock;
use crate::operator::health::Health;
use crate::operator::leader::election::Timing;
use crate::operator::leader::{Candidate, Leadership};
use crate::server::certificates::keeper::Keeper;
use crate::server::certificates::material::{Material, Terms};
use crate::server::certificates::secret;
use crate::server::tls::Identity;

const SECRETS: &str = "/api/v1/namespaces/queuewarden-system/secrets";
const SECRET: &str = "/api/v1/namespaces/queuewarden-system/secrets/queuewarden-doors";
const WEBHOOK: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/queuewarden";
const PATIENCE: Duration = Duration::from_mins(5);

struct Bed {
    api: ApiServer,
    identity: Identity,
    keeping: JoinHandle<()>,
}

fn cluster() -> ApiServer {
    let api = ApiServer::new();
    api.put(SECRET, &json!({"apiVersion": "v1", "kind": "Secret"}), "kubectl");
    api.put(
        WEBHOOK,
        &json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                "webhooks": [{"name": "validate.queuewarden.dev", "clientConfig": {"service": {"name": "queuewarden"}}}]}),
        "kubectl",
    );
    api
}

fn terms() -> Terms {
    Terms {
        authority: SignedDuration::from_hours(600),
        certificate: SignedDuration::from_hours(6),
        names: BTreeSet::from(["queuewarden.queuewarden-system.svc".to_owned()]),
    }
}

fn ago(hours: i64) -> Timestamp {
    clock::now() - SignedDuration::from_hours(hours)
}

fn follower(api: &ApiServer) -> Leadership {
    let leases: Api<Lease> = Api::default_namespaced(api.client());
    Candidate::new(leases, "queuewarden", "follower", Timing::default()).1
}

impl Bed {
    fn start(api: &ApiServer, leadership: Leadership) -> Self {
        let identity = Identity::default();
        let secret = ("queuewarden-system", "queuewarden-doors");
        let health = Arc::new(Health::default());
        let keeper = Keeper::new(&api.client(), secret, terms(), identity.clone(), leadership, health);
        Self { api: api.clone(), identity, keeping: tokio::spawn(keeper.run()) }
    }

    async fn until(&self, what: &str, so: impl Fn(&Self) -> bool) {
        let waiting = async {
            while !so(self) {
                sleep(Duration::from_millis(100)).await;
            }
        };
        assert!(timeout(PATIENCE, waiting).await.is_ok(), "not so: {what}");
    }

    fn material(&self) -> Material {
        let kept: Secret = serde_json::from_value(self.api.get(SECRET)).unwrap_or_default();
        secret::read(&kept).unwrap_or_default()
    }

    fn told(&self) -> bool {
        let bundle = ByteString(self.material().bundle().into_bytes());
        self.api.get(WEBHOOK)["webhooks"][0]["clientConfig"]["caBundle"] == json!(bundle)
    }

    /// Which authority signed what is shown.
    fn signer(&self) -> Option<usize> {
        self.material().view(&terms(), true, |view| view.shown.and_then(|shown| shown.signer))
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.keeping.abort();
    }
}

fn keep(api: &ApiServer, material: &Material) {
    api.put(SECRET, &json!({"data": secret::data(material)}), "kubectl");
}

#[tokio::test(start_paused = true)]
async fn the_leader_makes_it_and_the_others_show_it() {
    let api = cluster();
    let other = Bed::start(&api, follower(&api));
    sleep(PATIENCE).await;
    assert!(!other.identity.is_ready() && api.writes().is_empty(), "{:?}", api.writes());
    let leader = Bed::start(&api, Leadership::unconditional());
    leader.until("it is shown and told", |bed| bed.identity.is_ready() && bed.told()).await;
    other.until("it is shown", |bed| bed.identity.is_ready()).await;
    let writes = api.writes();
    sleep(PATIENCE).await;
    assert_eq!(api.writes(), writes, "nothing is due");
}

#[tokio::test(start_paused = true)]
async fn refusals_races_and_silence_are_outlasted() {
    let api = cluster();
    let race = Wrong::Race(SECRET, json!({"metadata": {"labels": {"by": "a rival"}}}));
    let faults = [
        (Method::GET, SECRETS, 3, Wrong::Refuse(500, "not now")),
        (Method::GET, SECRETS, 1, Wrong::Hang),
        (Method::PUT, SECRETS, 2, race),
        (Method::PUT, SECRETS, 2, Wrong::Refuse(403, "no")),
        (Method::PATCH, WEBHOOK, 2, Wrong::Refuse(503, "not now")),
    ];
    for (method, path, times, what) in faults {
        api.fault(Fault { method, path, watch: false, times, what });
    }
    let bed = Bed::start(&api, Leadership::unconditional());
    bed.until("it is shown and told", |bed| bed.identity.is_ready() && bed.told()).await;
    assert_eq!(bed.api.get(SECRET)["metadata"]["labels"]["by"], "a rival");
}

#[tokio::test(start_paused = true)]
async fn a_new_authority_does_not_sign_before_callers_were_told() {
    let api = cluster();
    let mut material = Material::default();
    material.add_authority(ago(500), &terms()).unwrap();
    material.add_authority(ago(120), &terms()).unwrap();
    material.sign(clock::now(), &terms(), 0).unwrap();
    keep(&api, &material);
    let deaf = Wrong::Refuse(403, "no");
    api.fault(Fault { method: Method::PATCH, path: WEBHOOK, watch: false, times: usize::MAX, what: deaf });
    let bed = Bed::start(&api, Leadership::unconditional());
    bed.until("the old one is shown", |bed| bed.identity.is_ready()).await;
    sleep(PATIENCE).await;
    assert_eq!((bed.signer(), bed.material() == material), (Some(0), true));
    api.heal();
    bed.until("the new one signs", |bed| bed.signer() == Some(1) && bed.told()).await;
    let versions = api.versions(SECRET).len();
    sleep(PATIENCE).await;
    assert_eq!(api.versions(SECRET).len(), versions);
}

#[tokio::test(start_paused = true)]
async fn what_was_removed_is_put_back() {
    let api = cluster();
    let bed = Bed::start(&api, Leadership::unconditional());
    bed.until("it is shown and told", |bed| bed.identity.is_ready() && bed.told()).await;
    let before = bed.material();
    api.delete(SECRET);
    bed.until("it is back", |bed| bed.material() == before).await;
    assert!(bed.told());
}
