//! Stores the pods that `YuniKorn` schedules, and the owner of each application.
//!
//! `YuniKorn` creates an application from the first pod with its ID. Later pods join it and run with its
//! owner, queue and quota. After the last pod has ended, the application is `Completing` for 30 seconds, and
//! a new pod makes it `Running` again (core v1.8.0 `application.go:53`, `application_state.go:106`). An ID
//! therefore belongs to the user and the namespace of its first pod while any pod has it, and for [`KEPT`]
//! after that.
//!
//! Everyone who may patch a pod can change its labels and annotations. Only the first version of a pod
//! therefore determines its application, its labels, and the ACLs in its annotations. A pod that gets another
//! ID also blocks that ID for other users, but it never becomes a member of that application.
//!
//! A list does not contain former labels of a pod, or pods deleted before it. Therefore an ID without a pod
//! is known to be free only if the watch has run for [`KEPT`] since the last list.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::joins::{BoundPod, Running, Standing, Wanted};
use super::{Pod, first, id_of, starter};
use yunikorn::admission::request::USER_INFO;

/// How long an ID still belongs to its owner after the last pod has ended: twice as long as `YuniKorn` keeps
/// the application.
pub const KEPT: Duration = Duration::from_mins(1);
/// Maximum size of the stored applications without pods, in bytes. The oldest are removed first. While a
/// removed one might still exist, no ID without a pod is known to be free.
pub const MAX_BYTES: usize = 16 << 20;
/// Size of an application without any text, in bytes.
const OVERHEAD: usize = 256;

/// The pods, and their applications.
#[derive(Debug, Default)]
pub struct Registry {
    /// Pods by namespace and name.
    pods: BTreeMap<String, Known>,
    /// The pods that a list in progress has returned so far.
    listing: Option<BTreeMap<String, Arc<Pod>>>,
    applications: BTreeMap<String, Application>,
    /// Applications without pods, by the time of their removal.
    fading: BTreeSet<(Instant, String)>,
    /// The size of these applications in bytes.
    fading_bytes: usize,
    /// An unknown ID is free after this time; `None` until the first list.
    complete_from: Option<Instant>,
}

/// A pod as first seen.
#[derive(Debug, Clone)]
struct Known {
    pod: Arc<Pod>,
    /// The application that its labels name now, if it differs.
    renamed: Option<String>,
}

/// An application, based on its first pod.
#[derive(Debug)]
struct Application {
    /// The owner; empty if it belongs to nobody.
    owner: String,
    namespace: String,
    /// The number of running or pending pods.
    living: usize,
    /// The number of ended pods.
    ended: usize,
    /// The time at which the last pod ended; unused while a pod is alive.
    last: Instant,
}

impl Application {
    fn new(pod: &Pod, now: Instant) -> Self {
        let (owner, namespace) = (starter(pod), pod.workload.namespace.clone());
        Self { owner, namespace, living: 0, ended: 0, last: now }
    }

    fn forgotten_at(&self) -> Instant {
        self.last + KEPT
    }

    /// Returns whether `YuniKorn` is certain to have removed it.
    fn is_over(&self, now: Instant) -> bool {
        self.living == 0 && self.forgotten_at() <= now
    }

    fn count(&mut self, ended: bool) -> &mut usize {
        if ended { &mut self.ended } else { &mut self.living }
    }

    fn has_pods(&self) -> bool {
        self.living + self.ended > 0
    }

    fn bytes(&self, id: &str) -> usize {
        OVERHEAD + 2 * id.len() + self.owner.len() + self.namespace.len()
    }
}

impl Known {
    /// Returns the pod after a later version of it was seen.
    fn updated(&self, later: &Pod) -> Self {
        let renamed = (later.application != self.pod.application).then(|| later.application.clone());
        let text = |pod: &Pod| pod.workload.pod.annotations.get(USER_INFO).cloned();
        let (before, now) = (text(&self.pod), text(later));
        // A pod that began without a user grants no rights when it gets one.
        let is_renamed = before.is_some() && before != now;
        if later.ended == self.pod.ended && !is_renamed {
            return Self { pod: Arc::clone(&self.pod), renamed };
        }
        let mut pod = Pod { ended: later.ended, ..Pod::clone(&self.pod) };
        // It gets its aliases later. Otherwise, only users who may set any name can change it.
        let annotations = &mut pod.workload.pod.annotations;
        if is_renamed {
            match now {
                Some(text) => annotations.insert(USER_INFO.to_owned(), text),
                None => annotations.remove(USER_INFO),
            };
        }
        Self { pod: Arc::new(pod), renamed }
    }

    /// Iterates over the IDs that nobody else may use while the pod is alive.
    fn ids(&self) -> impl Iterator<Item = &str> {
        [Some(self.pod.application.as_str()), self.renamed.as_deref()].into_iter().flatten()
    }
}

impl Registry {
    /// Returns whether a first list was completed.
    pub fn synced(&self) -> bool {
        self.complete_from.is_some()
    }

    /// Iterates over the pods, ordered by namespace and name.
    pub fn pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.values().map(|known| &known.pod)
    }

    /// Returns the pod of this name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Pod>> {
        self.pods.get(&key(namespace, name)).map(|known| &known.pod)
    }

    /// Returns the state that a request with these pods and applications needs.
    pub fn running(&self, wanted: &Wanted<'_>, now: Instant) -> Running {
        let find = |bound: &BoundPod<'_>| {
            self.get(bound.namespace, bound.name).filter(|pod| pod.workload.pod.uid == bound.uid).cloned()
        };
        let named = wanted.applications.iter().map(|id| id_of(id));
        let named = named.map(|id| (id.clone().into_owned(), self.standing(&id, now)));
        Running {
            creator: wanted.creator.as_ref().and_then(find),
            owners: wanted.owners.iter().filter_map(find).collect(),
            named: named.collect(),
        }
    }

    fn standing(&self, id: &str, now: Instant) -> Standing {
        match self.applications.get(id).filter(|application| !application.is_over(now)) {
            Some(Application { owner, namespace, living, .. }) => Standing::Taken {
                owner: owner.clone(),
                namespace: Some(namespace.clone()),
                ended: *living == 0,
            },
            None if self.complete_from.is_some_and(|from| from <= now) => Standing::Free,
            None => Standing::Unknown("queuewarden has watched the pods for less than a minute".to_owned()),
        }
    }

    /// Returns the pod that represents an application: the oldest pod of its owner in the namespace, or in
    /// any namespace if the argument is empty.
    ///
    /// # Errors
    /// Pods of several namespaces have the ID.
    pub fn first(&self, namespace: &str, id: &str) -> Result<Option<Arc<Pod>>, String> {
        let id = id_of(id);
        let started = self.applications.get(&*id);
        let is_its_owners = |pod: &&Arc<Pod>| {
            started.is_none_or(|started| {
                started.namespace != pod.workload.namespace || started.owner == starter(pod)
            })
        };
        first(self.pods().filter(is_its_owners), namespace, &id)
    }

    /// Starts a list.
    pub fn list_begins(&mut self) {
        self.listing = Some(BTreeMap::new());
    }

    /// Adds a pod to the list in progress.
    pub fn listed(&mut self, pod: Pod) {
        let key = key(&pod.workload.namespace, &pod.name);
        self.listing.get_or_insert_default().insert(key, Arc::new(pod));
    }

    /// Ends the list. Pods that are not in it no longer exist.
    pub fn list_ends(&mut self, now: Instant) {
        let listed = self.listing.take().unwrap_or_default();
        let gone: Vec<String> = self.pods.keys().filter(|key| !listed.contains_key(*key)).cloned().collect();
        let mut pods: Vec<_> = listed.into_values().collect();
        // If pods are alive, the oldest of them was the first. If all have ended, the last application is
        // used.
        pods.sort_by(|a, b| {
            let by_age = age(a).cmp(&age(b));
            a.ended.cmp(&b.ended).then(if a.ended { by_age.reverse() } else { by_age })
        });
        for pod in pods {
            self.put(pod, now);
        }
        for key in gone {
            self.remove(&key, now);
        }
        self.complete_from = Some(now + KEPT);
        self.tidy(now);
    }

    /// Records a new or changed pod.
    pub fn seen(&mut self, pod: Pod, now: Instant) {
        self.put(Arc::new(pod), now);
        self.tidy(now);
    }

    /// Records that a pod was deleted.
    pub fn gone(&mut self, pod: &Pod, now: Instant) {
        self.remove(&key(&pod.workload.namespace, &pod.name), now);
        self.tidy(now);
    }

    fn put(&mut self, pod: Arc<Pod>, now: Instant) {
        let key = key(&pod.workload.namespace, &pod.name);
        let before = self.pods.remove(&key);
        let same = before.as_ref().filter(|known| known.pod.workload.pod.uid == pod.workload.pod.uid);
        let known = match same {
            Some(known) => known.updated(&pod),
            None => Known { pod, renamed: None },
        };
        // This order prevents an application from ending in between.
        for id in known.ids() {
            self.hold(id, &known.pod, now);
        }
        if let Some(before) = before {
            self.let_go(&before, now);
        }
        self.pods.insert(key, known);
    }

    fn remove(&mut self, key: &str, now: Instant) {
        if let Some(known) = self.pods.remove(key) {
            self.let_go(&known, now);
        }
    }

    /// Adds a pod to an application. The first pod determines the owner.
    fn hold(&mut self, id: &str, pod: &Pod, now: Instant) {
        let Some(application) = self.applications.get_mut(id) else {
            let mut application = Application::new(pod, now);
            *application.count(pod.ended) += 1;
            self.applications.insert(id.to_owned(), application);
            return;
        };
        if !application.has_pods() {
            self.fading.remove(&(application.forgotten_at(), id.to_owned()));
            self.fading_bytes = self.fading_bytes.saturating_sub(application.bytes(id));
        }
        if application.is_over(now) && !pod.ended {
            *application = Application { ended: application.ended, ..Application::new(pod, now) };
        }
        *application.count(pod.ended) += 1;
    }

    fn let_go(&mut self, known: &Known, now: Instant) {
        for id in known.ids() {
            let Some(application) = self.applications.get_mut(id) else { continue };
            let count = application.count(known.pod.ended);
            *count = count.saturating_sub(1);
            if !known.pod.ended && application.living == 0 {
                application.last = now;
            }
            if application.has_pods() {
                continue;
            }
            self.fading_bytes += application.bytes(id);
            self.fading.insert((application.forgotten_at(), id.to_owned()));
        }
    }

    /// Removes applications whose time is over, and the oldest ones if there are too many.
    fn tidy(&mut self, now: Instant) {
        while let Some((until, id)) = self.fading.first().cloned() {
            if until > now && self.fading_bytes <= MAX_BYTES {
                return;
            }
            self.complete_from = self.complete_from.map(|from| from.max(until));
            self.fading.remove(&(until, id.clone()));
            if let Some(application) = self.applications.remove(&id) {
                self.fading_bytes = self.fading_bytes.saturating_sub(application.bytes(&id));
            }
        }
    }
}

fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

/// Orders pods by age, the oldest first. Pods of the same second are ordered by name, so that every
/// evaluation uses the same pod.
fn age(pod: &Pod) -> (jiff::Timestamp, &str, &str) {
    (pod.created, &pod.workload.namespace, &pod.name)
}
