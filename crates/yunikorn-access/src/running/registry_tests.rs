//! Tests how pods determine the owner of an application.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::joins::{BoundPod, OwnerPod, Running, Wanted};
use super::registry::{KEPT, Registry};
use super::*;
use crate::testing::{later, start};
use yunikorn::admission::request::USER_INFO;

/// Returns a pod of this user and application.
fn pod(name: &str, namespace: &str, user: &str, id: &str) -> Pod {
    let mut pod = Pod { name: name.to_owned(), application: id.to_owned(), ..Pod::default() };
    namespace.clone_into(&mut pod.workload.namespace);
    pod.workload.pod.uid = format!("uid-{name}");
    let info = format!(r#"{{"user":"{user}"}}"#);
    pod.workload.pod.annotations = [(USER_INFO.to_owned(), info)].into();
    pod
}

fn ended(pod: &Pod) -> Pod {
    Pod { ended: true, ..pod.clone() }
}

fn renamed(pod: &Pod, id: &str) -> Pod {
    Pod { application: id.to_owned(), ..pod.clone() }
}

/// Returns a registry that has watched these pods for a while, and the time.
fn watching(pods: &[&Pod]) -> (Registry, Instant) {
    let mut registry = Registry::default();
    registry.list_begins();
    registry.list_ends(start());
    for pod in pods {
        registry.seen(Pod::clone(pod), later());
    }
    (registry, later())
}

fn listed(pods: &[&Pod]) -> Registry {
    let mut registry = Registry::default();
    list(&mut registry, pods, start());
    registry
}

fn list(registry: &mut Registry, pods: &[&Pod], now: Instant) {
    registry.list_begins();
    for pod in pods {
        registry.listed(Pod::clone(pod));
    }
    registry.list_ends(now);
}

fn running(registry: &Registry, id: &str, now: Instant, creator: Option<&Pod>) -> Running {
    let creator = creator.map(|pod| BoundPod {
        namespace: &pod.workload.namespace,
        name: &pod.name,
        uid: &pod.workload.pod.uid,
    });
    registry.running(&Wanted { applications: [id].into(), creator, ..Wanted::default() }, now)
}

/// Returns whether this user may create a new pod of the application `spark-1` in the namespace `jobs`.
fn joins(registry: &Registry, user: &str, now: Instant) -> bool {
    running(registry, "spark-1", now, None).objection("spark-1", "jobs", user).is_none()
}

#[test]
fn pod_stays_in_its_first_application() {
    let sues = pod("driver", "jobs", "sue", "spark-1");
    let older = pod("older", "jobs", "eve", "eves");
    let (mut registry, now) = watching(&[&older, &sues]);
    let taken = renamed(&older, "spark-1");
    registry.seen(taken.clone(), now);
    assert!(joins(&registry, "sue", now) && !joins(&registry, "eve", now));
    assert_eq!(registry.get("jobs", "older").unwrap().application, "eves");
    assert_eq!(registry.first("jobs", "spark-1"), Ok(Some(Arc::new(sues.clone()))));
    // Eve's own application stays hers, and the pods that her pod creates do not join the other one.
    assert_eq!(running(&registry, "eves", now, None).objection("eves", "jobs", "eve"), None);
    assert!(running(&registry, "eves", now, None).objection("eves", "jobs", "sue").is_some());
    let creator = running(&registry, "spark-1", now, Some(&taken));
    assert!(creator.objection("spark-1", "jobs", "eve").is_some());
    // The scheduler has Eve's pod in Sue's application, which therefore continues without Sue's pods.
    registry.gone(&sues, now);
    let now = now + 2 * KEPT;
    registry.seen(pod("x", "jobs", "eve", "other"), now);
    assert!(joins(&registry, "sue", now) && !joins(&registry, "eve", now));
    // A new pod with the same name is a different pod.
    let mut again = pod("older", "jobs", "eve", "spark-2");
    "uid-again".clone_into(&mut again.workload.pod.uid);
    registry.seen(again, now);
    assert_eq!(registry.get("jobs", "older").unwrap().application, "spark-2");
}

#[test]
fn pod_keeps_its_first_lists() {
    let mut sues = pod("driver", "jobs", "sue", "spark-1");
    sues.workload.pod.annotations.insert(VIEW_ACL.to_owned(), "ann".to_owned());
    let (mut registry, now) = watching(&[&sues]);
    let mut changed = sues.clone();
    changed.workload.pod.annotations.insert(VIEW_ACL.to_owned(), "*".to_owned());
    changed.workload.pod.annotations.insert(MODIFY_ACL.to_owned(), "*".to_owned());
    let with_alias = r#"{"user":"sue","groups":["qw-u-x"]}"#;
    changed.workload.pod.annotations.insert(USER_INFO.to_owned(), with_alias.to_owned());
    registry.seen(ended(&changed), now);
    let known = registry.get("jobs", "driver").unwrap();
    let annotation = |key| known.workload.pod.annotation(key);
    assert_eq!([VIEW_ACL, MODIFY_ACL, USER_INFO].map(annotation), ["ann", "", with_alias]);
    assert!(known.ended);
}

#[test]
fn pod_that_began_without_a_user_gets_no_owner() {
    let mut nobodys = pod("driver", "jobs", "x", "spark-1");
    nobodys.workload.pod.annotations.clear();
    let (mut registry, now) = watching(&[&nobodys]);
    registry.seen(pod("driver", "jobs", "mallory", "spark-1"), now);
    let known = registry.get("jobs", "driver").unwrap();
    assert_eq!(known.workload.pod.annotation(USER_INFO), "");
}

#[test]
fn application_keeps_its_owner_twice_as_long_as_yunikorn_keeps_it() {
    let sues = pod("driver", "jobs", "sue", "spark-1");
    let almost = Duration::from_secs(59);
    let ends: [fn(&mut Registry, &Pod, Instant); 3] = [
        |registry, pod, now| registry.gone(pod, now),
        |registry, pod, now| registry.seen(ended(pod), now),
        |registry, _, now| list(registry, &[], now),
    ];
    for end in ends {
        let (mut registry, now) = watching(&[&sues]);
        end(&mut registry, &sues, now);
        for (since, free) in [(Duration::ZERO, false), (almost, false), (KEPT, true)] {
            let now = now + since;
            assert!(joins(&registry, "sue", now), "{since:?}");
            assert_eq!(joins(&registry, "eve", now), free, "{since:?}");
        }
        let why = running(&registry, "spark-1", now, None).objection("spark-1", "jobs", "eve").unwrap();
        assert!(why.application.ends_with("which another user ran less than a minute ago"), "{why:?}");
        let why = running(&registry, "spark-1", now, None).objection("spark-1", "prod", "sue").unwrap();
        assert!(
            why.application.ends_with("which ran in another namespace less than a minute ago"),
            "{why:?}"
        );
        // Within that time, a new pod resumes the application.
        let mut again = pod("again", "jobs", "sue", "spark-1");
        again.ended = false;
        registry.seen(again, now + almost);
        assert!(!joins(&registry, "eve", now + 2 * KEPT));
    }
}

#[test]
fn id_of_a_completed_application_belongs_to_the_next_user() {
    let [sues, eves] = ["sue", "eve"].map(|user| pod(user, "jobs", user, "spark-1"));
    let (mut registry, now) = watching(&[&sues]);
    registry.seen(ended(&sues), now);
    registry.seen(eves.clone(), now + KEPT);
    assert!(joins(&registry, "eve", now + KEPT) && !joins(&registry, "sue", now + KEPT));
    assert_eq!(registry.first("jobs", "spark-1"), Ok(Some(Arc::new(eves))));
    // A change of the old pod does not reclaim the ID.
    registry.seen(ended(&sues), now + KEPT);
    registry.gone(&sues, now + KEPT);
    assert!(joins(&registry, "eve", now + KEPT) && !joins(&registry, "sue", now + KEPT));
}

#[test]
fn oldest_living_pod_is_the_first_after_a_list_and_unknown_ids_are_not_free() {
    let at = |mut pod: Pod, second: i64| {
        pod.created = Timestamp::from_second(second).unwrap();
        pod
    };
    let sues = at(pod("a", "jobs", "sue", "spark-1"), 5);
    let eves = at(pod("b", "jobs", "eve", "spark-1"), 7);
    for (pods, owner) in [
        (vec![&sues, &eves], "sue"),
        (vec![&ended(&sues), &eves], "eve"),
        (vec![&ended(&sues), &ended(&eves)], "eve"),
        (vec![&ended(&sues)], "sue"),
    ] {
        let registry = listed(&pods);
        for user in ["sue", "eve"] {
            assert_eq!(joins(&registry, user, start()), user == owner, "{user} {pods:?}");
        }
    }
    let registry = listed(&[]);
    let unknown = |now| running(&registry, "spark-1", now, None);
    assert!(unknown(start()).objection("spark-1", "jobs", "sue").is_some_and(|of| !of.is_certain));
    assert_eq!(unknown(start() + KEPT).objection("spark-1", "jobs", "sue"), None);
    // The scheduler knows. Only at first, nobody gets an ID without the scheduler's answer.
    for (answer, user, free) in [
        (Ok(None), "eve", [true, true]),
        (Ok(Some("sue")), "sue", [true, true]),
        (Ok(Some("sue")), "eve", [false, false]),
        (Err("no answer"), "sue", [false, true]),
    ] {
        for (now, free) in [start(), start() + KEPT].into_iter().zip(free) {
            let mut asked = unknown(now);
            assert_eq!(asked.unsettled(), ["spark-1"]);
            asked.learn("spark-1", answer);
            let objection = asked.objection("spark-1", "jobs", user);
            assert_eq!(objection.is_none(), free, "{answer:?} {user}: {objection:?}");
        }
    }
    let taken = running(&listed(&[&sues]), "spark-1", start(), None);
    assert!(taken.unsettled().is_empty(), "pods show whose it is");
}

#[test]
fn placeholder_belongs_to_the_application_of_its_owner() {
    let sues = pod("driver", "jobs", "sue", "spark-1");
    let eves = pod("eves", "jobs", "eve", "spark-2");
    let moved = renamed(&eves, "spark-1");
    let (mut registry, now) = watching(&[&sues, &eves]);
    registry.seen(moved, now);
    let named = |name: &str, uid: &str, id: &str| {
        let owner = OwnerPod { name: name.to_owned(), uid: uid.to_owned() };
        let owners = vec![owner.within("jobs")];
        let wanted = Wanted { applications: [id].into(), owners, ..Wanted::default() };
        let running = registry.running(&wanted, now);
        running.originators_user_info(id, "jobs").map(str::to_owned)
    };
    assert_eq!(named("driver", "uid-driver", "spark-1").as_deref(), Some(r#"{"user":"sue"}"#));
    assert_eq!(named("eves", "uid-eves", "spark-2").as_deref(), Some(r#"{"user":"eve"}"#));
    for (name, uid, id) in [
        ("driver", "uid-other", "spark-1"),
        ("other", "uid-driver", "spark-1"),
        ("driver", "uid-driver", "spark-2"),
        ("driver", "uid-driver", "spark-3"),
        ("eves", "uid-eves", "spark-1"),
    ] {
        assert_eq!(named(name, uid, id), None, "{name} {uid} {id}");
    }
}

#[test]
fn no_id_is_known_to_be_free_after_too_many_ended_applications() {
    let (mut registry, now) = watching(&[]);
    let user = "u".repeat(10_000);
    let mut made = 0;
    let is_free = |registry: &Registry, now| {
        running(registry, "new", now, None).objection("new", "jobs", "eve").is_none()
    };
    while is_free(&registry, now) {
        let one = pod("p", "jobs", &user, &format!("app-{made}"));
        registry.seen(one.clone(), now);
        registry.gone(&one, now);
        made += 1;
        assert!(made < 10_000, "it is bounded");
    }
    assert!(made > 1000, "{made}");
    let kept = |now| {
        let ids = (0..made).map(|n| format!("app-{n}"));
        let is_kept = |id: &String| running(&registry, id, now, None).objection(id, "jobs", "eve").is_some();
        ids.filter(is_kept).count()
    };
    assert_eq!(kept(now), made, "the forgotten ones are not free");
    assert_eq!(kept(now + KEPT), 0);
    assert!(is_free(&registry, now + KEPT));
}

#[test]
fn long_id_is_stored_as_its_hash() {
    let long = "a".repeat(100_000);
    let sues = pod("driver", "jobs", "sue", &id_of(&long));
    let (registry, now) = watching(&[&sues]);
    assert!(running(&registry, &long, now, None).objection(&long, "jobs", "eve").is_some());
    assert_eq!(running(&registry, &long, now, None).objection(&long, "jobs", "sue"), None);
    assert_eq!(registry.first("", &long), Ok(Some(Arc::new(sues))));
}

/// An event of a pod.
#[derive(Debug, Clone)]
enum Event {
    Create { name: usize, user: usize, namespace: usize, id: usize },
    Relabel { name: usize, id: usize },
    End { name: usize },
    Delete { name: usize },
    Relist,
    Wait { seconds: u64 },
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..6_usize, 0..3_usize, 0..2_usize, 0..3_usize)
            .prop_map(|(name, user, namespace, id)| Event::Create { name, user, namespace, id }),
        2 => (0..6_usize, 0..3_usize).prop_map(|(name, id)| Event::Relabel { name, id }),
        1 => (0..6_usize).prop_map(|name| Event::End { name }),
        2 => (0..6_usize).prop_map(|name| Event::Delete { name }),
        1 => Just(Event::Relist),
        2 => (1..80_u64).prop_map(|seconds| Event::Wait { seconds }),
    ]
}

const USERS: [&str; 3] = ["sue", "eve", "bob"];
const NAMESPACES: [&str; 2] = ["jobs", "prod"];
const IDS: [&str; 3] = ["spark-1", "spark-2", "spark-3"];

/// A cluster, and the time until which the owner of each ID may not change.
struct Cluster {
    registry: Registry,
    now: Instant,
    pods: Vec<Option<Pod>>,
    made: usize,
    bound: [Option<(String, String)>; 3],
    until: [Option<Instant>; 3],
}

impl Cluster {
    fn new() -> Self {
        let (registry, now) = watching(&[]);
        Self { registry, now, pods: vec![None; 6], made: 0, bound: [const { None }; 3], until: [None; 3] }
    }

    /// Applies an event; if `guarded`, only if the webhook and the policy allow it.
    fn happens(&mut self, event: &Event, guarded: bool) {
        match *event {
            Event::Create { name, user, namespace, id } if self.pods[name].is_none() => {
                let (user, namespace, id) = (USERS[user], NAMESPACES[namespace], IDS[id]);
                let running = running(&self.registry, id, self.now, None);
                if guarded && running.objection(id, namespace, user).is_some() {
                    return;
                }
                self.made += 1;
                let mut pod = pod(&format!("p{name}"), namespace, user, id);
                pod.workload.pod.uid = format!("uid-{}", self.made);
                self.put(name, pod);
            }
            Event::Relabel { name, id } if !guarded => {
                if let Some(pod) = self.pods[name].clone().filter(|pod| !pod.ended) {
                    self.put(name, renamed(&pod, IDS[id]));
                }
            }
            Event::End { name } => {
                if let Some(pod) = self.pods[name].clone() {
                    self.put(name, ended(&pod));
                }
            }
            Event::Delete { name } => {
                if let Some(pod) = self.pods[name].take() {
                    self.registry.gone(&pod, self.now);
                }
            }
            Event::Relist => {
                let pods: Vec<&Pod> = self.pods.iter().flatten().collect();
                list(&mut self.registry, &pods, self.now);
            }
            Event::Wait { seconds } => self.now += Duration::from_secs(seconds),
            Event::Create { .. } | Event::Relabel { .. } => {}
        }
    }

    fn put(&mut self, name: usize, pod: Pod) {
        self.registry.seen(pod.clone(), self.now);
        self.pods[name] = Some(pod);
    }

    /// Returns whether a living pod names the ID.
    fn lives(&self, id: &str) -> bool {
        self.pods.iter().flatten().any(|pod| pod.application == id && !pod.ended)
    }

    /// Returns the owner and namespace whose pods may join, if unique.
    fn owner(&self, id: &str) -> Option<(String, String)> {
        let running = running(&self.registry, id, self.now, None);
        let lets = |(user, namespace): &(&str, &str)| running.objection(id, namespace, user).is_none();
        let all = USERS.iter().flat_map(|user| NAMESPACES.iter().map(move |namespace| (*user, *namespace)));
        let let_in: Vec<_> = all.filter(lets).collect();
        assert!(let_in.len() <= 1 || let_in.len() == 6, "{let_in:?}");
        match let_in.as_slice() {
            [(user, namespace)] => Some(((*user).to_owned(), (*namespace).to_owned())),
            _ => None,
        }
    }
}

proptest! {
    /// Holds for all events, even events that bypass the webhook and the policy.
    #[test]
    fn owner_never_changes_while_a_pod_is_alive_or_shortly_after(events in proptest::collection::vec(any_event(), 1..60)) {
        let mut cluster = Cluster::new();
        for event in &events {
            cluster.happens(event, false);
            for (n, id) in IDS.into_iter().enumerate() {
                let owner = cluster.owner(id);
                let lives = cluster.lives(id);
                if cluster.until[n].is_some_and(|until| cluster.now < until) || (lives && cluster.bound[n].is_some()) {
                    prop_assert_eq!(&owner, &cluster.bound[n], "{:?} {}", event, id);
                }
                prop_assert!(!lives || owner.is_some(), "{:?} {} is nobody's", event, id);
                if lives {
                    cluster.until[n] = Some(cluster.now + KEPT);
                    cluster.bound[n] = owner;
                } else if cluster.until[n].is_none_or(|until| until <= cluster.now) {
                    cluster.bound[n] = None;
                }
            }
            // A pod that may join no application cannot let other pods join one.
            for pod in cluster.pods.iter().flatten() {
                let running = running(&cluster.registry, &pod.application, cluster.now, Some(pod));
                let (namespace, user) = (&pod.workload.namespace, starter(pod));
                let is_owners = cluster.owner(&pod.application).is_some_and(|owner| owner == (user.clone(), namespace.clone()));
                let free = cluster.owner(&pod.application).is_none() && running.objection(&pod.application, namespace, &user).is_none();
                prop_assert_eq!(running.objection(&pod.application, namespace, &user).is_none(), is_owners || free);
            }
        }
    }

    /// While the webhook and the policy are in force, all living pods of an application have the user and
    /// namespace of its first pod.
    #[test]
    fn living_pods_of_an_application_have_the_same_owner(events in proptest::collection::vec(any_event(), 1..60)) {
        let mut cluster = Cluster::new();
        for event in &events {
            cluster.happens(event, true);
            for id in IDS {
                let living = cluster.pods.iter().flatten().filter(|pod| pod.application == id && !pod.ended);
                let owners: std::collections::BTreeSet<_> =
                    living.map(|pod| (starter(pod), pod.workload.namespace.clone())).collect();
                prop_assert!(owners.len() <= 1, "{:?} {}: {:?}", event, id, owners);
                if let (Some(owner), Ok(Some(first))) = (owners.first(), cluster.registry.first("", id)) {
                    prop_assert_eq!(&starter(&first), &owner.0);
                }
            }
        }
    }
}
