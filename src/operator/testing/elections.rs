//! Two replicas and one Lease: who leads, when the leader ends, is cut off, or was suspended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::client::Body;
use kube::{Api, Client};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, advance, sleep};

use super::api_server::ApiServer;
use crate::operator::leader::election::Timing;
use crate::operator::leader::{Candidate, Leadership};

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/queuewarden-system/leases/queuewarden";
const STEP: Duration = Duration::from_millis(100);

struct Replica {
    leadership: Leadership,
    /// Whether its requests are lost.
    cut_off: Arc<AtomicBool>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Replica {
    fn start(api: &ApiServer, name: &str) -> Self {
        Self::far_away(api, name, Duration::ZERO)
    }

    /// One whose answers take so long.
    fn far_away(api: &ApiServer, name: &str, answers_in: Duration) -> Self {
        let cut_off = Arc::new(AtomicBool::new(false));
        let leases: Api<Lease> = Api::default_namespaced(behind(api.client(), &cut_off, answers_in));
        let (candidate, leadership) = Candidate::new(leases, "queuewarden", name, Timing::default());
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(candidate.run(async {
            let _ = stopped.await;
        }));
        Self { leadership, cut_off, stop, task }
    }

    fn leads(&self) -> bool {
        self.leadership.holds()
    }

    async fn stop(self) {
        drop(self.stop);
        self.task.await.unwrap();
    }
}

/// `client` behind a long cable that can be cut: answers come late, or do not come any more.
fn behind(client: Client, cut_off: &Arc<AtomicBool>, answers_in: Duration) -> Client {
    let cut_off = Arc::clone(cut_off);
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (client, cut_off) = (client.clone(), Arc::clone(&cut_off));
        async move {
            if cut_off.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            sleep(answers_in).await;
            client.send(request).await
        }
    });
    Client::new(service, "queuewarden-system")
}

async fn until(found: impl Fn() -> bool) -> Duration {
    let begin = Instant::now();
    while !found() {
        assert!(begin.elapsed() < Duration::from_mins(1), "not so within a minute");
        sleep(STEP).await;
    }
    begin.elapsed()
}

fn holder(api: &ApiServer) -> String {
    api.get(LEASE)["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn of_two_that_begin_together_one_leads() {
    let api = ApiServer::new();
    let (a, b) = (Replica::start(&api, "a"), Replica::start(&api, "b"));
    until(|| a.leads() || b.leads()).await;
    for _ in 0..600 {
        assert!(a.leads() != b.leads());
        sleep(STEP).await;
    }
    assert_eq!(holder(&api), if a.leads() { "a" } else { "b" });
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_ends_hands_over_at_once() {
    let api = ApiServer::new();
    let a = Replica::start(&api, "a");
    until(|| a.leads()).await;
    let b = Replica::start(&api, "b");
    sleep(Duration::from_secs(5)).await;
    a.stop().await;
    assert_eq!(holder(&api), "", "given up");
    let waited = until(|| b.leads()).await;
    assert!(waited < Duration::from_secs(3), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_stops_before_another_begins_and_does_not_come_back() {
    let api = ApiServer::new();
    let a = Replica::start(&api, "a");
    until(|| a.leads()).await;
    let b = Replica::start(&api, "b");
    sleep(Duration::from_secs(30)).await;
    a.cut_off.store(true, Ordering::Relaxed);
    let stopped = until(|| !a.leads()).await;
    assert!(stopped <= Timing::default().deadline + STEP, "{stopped:?}");
    assert!(!b.leads());
    until(|| b.leads()).await;
    a.cut_off.store(false, Ordering::Relaxed);
    for _ in 0..300 {
        assert!(b.leads() && !a.leads());
        sleep(STEP).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_takes_four_seconds_has_a_leader() {
    let api = ApiServer::new();
    let slow = Duration::from_secs(4);
    let (a, b) = (Replica::far_away(&api, "a", slow), Replica::far_away(&api, "b", slow));
    until(|| a.leads() || b.leads()).await;
    let a_leads = a.leads();
    for _ in 0..3000 {
        assert_eq!((a.leads(), b.leads()), (a_leads, !a_leads));
        sleep(STEP).await;
    }
    let (leader, other) = if a_leads { (a, b) } else { (b, a) };
    leader.cut_off.store(true, Ordering::Relaxed);
    until(|| other.leads()).await;
    assert!(!leader.leads());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_was_suspended_knows_before_it_asks() {
    let api = ApiServer::new();
    let a = Replica::start(&api, "a");
    until(|| a.leads()).await;
    a.cut_off.store(true, Ordering::Relaxed);
    advance(Timing::default().deadline).await;
    assert!(!a.leads());
    a.cut_off.store(false, Ordering::Relaxed);
    until(|| a.leads()).await;
}

#[tokio::test(start_paused = true)]
async fn a_change_of_leadership_is_told_once_and_renewals_are_not() {
    let api = ApiServer::new();
    let mut a = Replica::start(&api, "a");
    a.leadership.changed().await;
    assert!(a.leads());
    let quiet = tokio::time::timeout(Duration::from_mins(5), a.leadership.changed()).await;
    assert!(quiet.is_err(), "renewed {} times", api.writes().len());
    assert!(api.writes().len() > 100);
    a.cut_off.store(true, Ordering::Relaxed);
    a.leadership.changed().await;
    assert!(!a.leads());
}
