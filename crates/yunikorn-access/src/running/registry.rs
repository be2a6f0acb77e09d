//! Remembers the pods that `YuniKorn` schedules, and whose each application is.
//!
//! `YuniKorn` makes an application of the first pod with its ID. Later pods join it and run with its owner,
//! queue and quota. After the last pod has ended, the application is `Completing` for 30 seconds, and a new
//! pod makes it `Running` again (core v1.8.0 `application.go:53`, `application_state.go:106`). So an ID stays
//! with the user and the namespace of its first pod while any pod has it, and for [`KEPT`] after that.
//!
//! Everyone who may patch a pod can change its labels and annotations. So the first version of a pod decides
//! about its application, its labels, and the ACLs in its annotations. A pod that is given another ID keeps
//! that ID from other users, too, but is never a member of that application.
//!
//! A list does not show the former labels of a pod, or the pods that were deleted before it. Therefore an ID
//! without a pod is known to be free only if the watch has run for [`KEPT`] since the last list.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::joins::{BoundPod, Running, Standing, Wanted};
use super::{Pod, first, id_of, starter};
use yunikorn::admission::request::USER_INFO;

/// The time that an ID stays its owner's after the last pod: twice as long as `YuniKorn` keeps the
/// application.
pub const KEPT: Duration = Duration::from_mins(1);
/// The bytes of applications without pods that are remembered. The oldest are forgotten first, and as long as
/// one of them may still exist, no ID without a pod is known to be free.
pub const MAX_BYTES: usize = 16 << 20;
/// The bytes of an application without any text.
const OVERHEAD: usize = 256;

/// The pods, and the applications that they have made.
#[derive(Debug, Default)]
pub struct Registry {
    /// The pods by namespace and name.
    pods: BTreeMap<String, Known>,
    /// The pods that the running list has returned so far, if one is running.
    listing: Option<BTreeMap<String, Arc<Pod>>>,
    applications: BTreeMap<String, Application>,
    /// The applications without pods, by the time at which they are forgotten.
    fading: BTreeSet<(Instant, String)>,
    /// Their bytes.
    fading_bytes: usize,
    /// An unknown ID is free after this time; `None` until the first list.
    complete_from: Option<Instant>,
}

/// A pod as it was first seen.
#[derive(Debug, Clone)]
struct Known {
    pod: Arc<Pod>,
    /// The application that its labels name now, if it is another one.
    renamed: Option<String>,
}

/// An application, by its first pod.
#[derive(Debug)]
struct Application {
    /// Empty: nobody's.
    owner: String,
    namespace: String,
    /// The number of its pods that run or wait.
    living: usize,
    /// The number of its pods that have ended.
    ended: usize,
    /// The time at which the last pod ended; without meaning while one lives.
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

    /// Returns whether `YuniKorn` certainly has it no more.
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
        // A pod that began in nobody's name gives nobody any right when it gets one.
        let is_renamed = before.is_some() && before != now;
        if later.ended == self.pod.ended && !is_renamed {
            return Self { pod: Arc::clone(&self.pod), renamed };
        }
        let mut pod = Pod { ended: later.ended, ..Pod::clone(&self.pod) };
        // It gets its aliases later, and only who may set any name changes it otherwise.
        let annotations = &mut pod.workload.pod.annotations;
        if is_renamed {
            match now {
                Some(text) => annotations.insert(USER_INFO.to_owned(), text),
                None => annotations.remove(USER_INFO),
            };
        }
        Self { pod: Arc::new(pod), renamed }
    }

    /// The IDs that nobody else may use while it lives.
    fn ids(&self) -> impl Iterator<Item = &str> {
        [Some(self.pod.application.as_str()), self.renamed.as_deref()].into_iter().flatten()
    }
}

impl Registry {
    /// Returns whether a first list was completed.
    pub fn synced(&self) -> bool {
        self.complete_from.is_some()
    }

    /// Returns the pods, by namespace and name.
    pub fn pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.values().map(|known| &known.pod)
    }

    /// Returns the pod of this name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Pod>> {
        self.pods.get(&key(namespace, name)).map(|known| &known.pod)
    }

    /// Returns what matters to a request of these pods and applications.
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
            None => Standing::Unknown("queuewarden has not watched the pods for a minute".to_owned()),
        }
    }

    /// Returns the pod that represents an application: the oldest of its owner in the namespace, or in any
    /// namespace if the argument is empty.
    ///
    /// # Errors
    /// An error when pods of several namespaces have the ID.
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

    /// Begins a list.
    pub fn list_begins(&mut self) {
        self.listing = Some(BTreeMap::new());
    }

    /// Adds a pod to the running list.
    pub fn listed(&mut self, pod: Pod) {
        let key = key(&pod.workload.namespace, &pod.name);
        self.listing.get_or_insert_default().insert(key, Arc::new(pod));
    }

    /// Ends the list: pods that are not in it no longer exist.
    pub fn list_ends(&mut self, now: Instant) {
        let listed = self.listing.take().unwrap_or_default();
        let gone: Vec<String> = self.pods.keys().filter(|key| !listed.contains_key(*key)).cloned().collect();
        let mut pods: Vec<_> = listed.into_values().collect();
        // Of the pods that live, the oldest was the first. If all have ended, the last application counts.
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

    /// Takes in a pod that is new or was changed.
    pub fn seen(&mut self, pod: Pod, now: Instant) {
        self.put(Arc::new(pod), now);
        self.tidy(now);
    }

    /// Takes in that a pod was deleted.
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
        // In this order, so that an application does not end in between.
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

    /// Counts a pod for an application. The first one decides whose it is.
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

    /// Forgets applications whose time is over, and the oldest of too many.
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

/// Sorts the oldest first. Pods of the same second also have an order, so that every evaluation takes the
/// same one.
fn age(pod: &Pod) -> (jiff::Timestamp, &str, &str) {
    (pod.created, &pod.workload.namespace, &pod.name)
}
