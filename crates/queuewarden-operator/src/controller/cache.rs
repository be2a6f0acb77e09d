//! Caches the objects of one watch.
//!
//! This replaces kube's `reflector::Store`. A plan must see the results of our writes although the watch is
//! slower, and the cache must never go back to an older version, or to before a deletion. A store's writer
//! accepts any event at any time and does not expose its content. We would have to store the name and version
//! of each object, including the objects of a running list, a second time, and make all decisions of this
//! module anyway. We would also have to detect changes that matter to the plan, and sort, because a store has
//! no order.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;

use kube::runtime::watcher;

/// One object, converted.
#[derive(Debug)]
pub struct Cached<T> {
    /// `metadata.name`
    pub name: String,
    /// `metadata.resourceVersion`
    pub resource_version: String,
    /// A value that changes when a change matters to the plan. Our own status patches do not change it.
    pub stamp: String,
    /// The object.
    pub value: Arc<T>,
}

impl<T> Cached<T> {
    /// Creates an object whose every change matters.
    pub fn by_version(name: String, resource_version: String, value: T) -> Self {
        Self { name, stamp: resource_version.clone(), resource_version, value: Arc::new(value) }
    }
}

/// Objects by name.
#[derive(Debug)]
pub struct Cache<T> {
    objects: BTreeMap<String, Cached<T>>,
    /// The objects that the running list has returned so far, if one is running.
    listing: Option<BTreeMap<String, Cached<T>>>,
    /// The names of objects that we wrote since that list began, which may be newer than the list.
    written: BTreeSet<String>,
    /// The highest resource version seen in the watch. The watch preserves order, so every earlier write is
    /// known or was deleted.
    shown: String,
    /// The highest resource version in the running list.
    listed: String,
    /// The number of completed lists.
    lists: u64,
}

/// The time before one of our requests, as a number of completed lists.
#[derive(Debug, Clone, Copy)]
pub struct Moment(u64);

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self {
            objects: BTreeMap::new(),
            listing: None,
            written: BTreeSet::new(),
            shown: String::new(),
            listed: String::new(),
            lists: 0,
        }
    }
}

impl<T> Cache<T> {
    /// Returns whether the first list was completed.
    pub fn synced(&self) -> bool {
        self.lists > 0
    }

    /// Returns all objects, by name.
    pub fn objects(&self) -> impl Iterator<Item = &Arc<T>> {
        self.objects.values().map(|cached| &cached.value)
    }

    /// Returns one object.
    pub fn get(&self, name: &str) -> Option<&Cached<T>> {
        self.objects.get(name)
    }

    /// Applies an event of the watch; returns whether the plan may change because of it.
    pub fn observe(&mut self, event: watcher::Event<Cached<T>>) -> bool {
        match event {
            watcher::Event::Apply(object) => {
                raise(&mut self.shown, &object.resource_version);
                self.put(object)
            }
            watcher::Event::Delete(object) => {
                raise(&mut self.shown, &object.resource_version);
                self.remove(&object)
            }
            watcher::Event::Init => {
                self.listing = Some(BTreeMap::new());
                self.listed.clear();
                self.written.clear();
                false
            }
            watcher::Event::InitApply(object) => {
                raise(&mut self.listed, &object.resource_version);
                self.listing.get_or_insert_default().insert(object.name.clone(), object);
                false
            }
            watcher::Event::InitDone => self.relisted(),
        }
    }

    /// Returns the current moment. Call it before a request whose response will be stored.
    pub fn moment(&self) -> Moment {
        Moment(self.lists)
    }

    /// Stores an object that our request, made after `moment`, wrote, unless the watch was faster. An object
    /// that is missing from a list read in the meantime was deleted, or will arrive through the watch.
    pub fn learn(&mut self, object: Cached<T>, moment: Moment) {
        if moment.0 == self.lists || self.objects.contains_key(&object.name) {
            self.put_written(object);
        }
    }

    /// Stores an object whose status our request patched, unless someone else has changed it since the watch
    /// last delivered it. Together with objects that are as old as the watch, such a change would form a set
    /// of objects that never existed.
    pub fn learn_status(&mut self, object: Cached<T>) {
        if self.objects.get(&object.name).is_some_and(|known| known.stamp == object.stamp) {
            self.put_written(object);
        }
    }

    fn put_written(&mut self, object: Cached<T>) {
        if matches!(compare(&object.resource_version, &self.shown), Some(Ordering::Less | Ordering::Equal)) {
            return;
        }
        if self.listing.is_some() {
            self.written.insert(object.name.clone());
        }
        self.put(object);
    }

    /// Removes an object that our request deleted or did not find.
    pub fn forget(&mut self, name: &str) {
        self.written.remove(name);
        self.objects.remove(name);
    }

    fn put(&mut self, object: Cached<T>) -> bool {
        let known = self.objects.get(&object.name);
        // The watch delivers our own writes again; they are not stored twice.
        if known
            .is_some_and(|known| known.resource_version == object.resource_version || older(&object, known))
        {
            return false;
        }
        let matters = known.is_none_or(|known| known.stamp != object.stamp);
        self.objects.insert(object.name.clone(), object);
        matters
    }

    fn remove(&mut self, deleted: &Cached<T>) -> bool {
        if self.objects.get(&deleted.name).is_some_and(|known| older(deleted, known)) {
            return false;
        }
        self.written.remove(&deleted.name);
        self.objects.remove(&deleted.name).is_some()
    }

    fn relisted(&mut self) -> bool {
        let mut before = mem::replace(&mut self.objects, self.listing.take().unwrap_or_default());
        self.shown = mem::take(&mut self.listed);
        for name in mem::take(&mut self.written) {
            // An object that is not in the list was deleted, or will arrive through the watch.
            if let (Some(listed), Some(written)) = (self.objects.get_mut(&name), before.get_mut(&name))
                && !older(written, listed)
            {
                mem::swap(listed, written);
            }
        }
        let first = !self.synced();
        self.lists = self.lists.saturating_add(1);
        let same = before.len() == self.objects.len()
            && before
                .values()
                .zip(self.objects.values())
                .all(|(a, b)| a.name == b.name && a.stamp == b.stamp);
        first || !same
    }
}

/// Returns whether `this` is certainly older than `that`. By Kubernetes' rule (KEP-5504), resource versions
/// of one resource compare as decimal numbers of any length; anything else cannot be compared.
fn older<T>(this: &Cached<T>, that: &Cached<T>) -> bool {
    compare(&this.resource_version, &that.resource_version) == Some(Ordering::Less)
}

/// Sets `highest` to `version` if that is higher.
fn raise(highest: &mut String, version: &str) {
    if highest.is_empty() || compare(highest, version) == Some(Ordering::Less) {
        version.clone_into(highest);
    }
}

fn compare(a: &str, b: &str) -> Option<Ordering> {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (number(a) && number(b)).then(|| {
        let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
        a.len().cmp(&b.len()).then_with(|| a.cmp(b))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use watcher::Event;

    fn object(name: &str, version: u64, stamp: &str) -> Cached<u64> {
        Cached {
            name: name.into(),
            resource_version: version.to_string(),
            stamp: stamp.into(),
            value: Arc::new(version),
        }
    }

    fn listed(objects: impl IntoIterator<Item = Cached<u64>>) -> Cache<u64> {
        let mut cache = Cache::default();
        cache.observe(Event::Init);
        for object in objects {
            cache.observe(Event::InitApply(object));
        }
        assert!(cache.observe(Event::InitDone), "the first list always matters");
        cache
    }

    fn versions(cache: &Cache<u64>) -> Vec<u64> {
        cache.objects().map(|value| **value).collect()
    }

    #[test]
    fn nothing_is_shown_before_the_list_is_complete() {
        let mut cache = Cache::default();
        cache.observe(Event::Init);
        cache.observe(Event::InitApply(object("a", 1, "x")));
        assert!(!cache.synced() && versions(&cache).is_empty());
        cache.observe(Event::InitDone);
        assert!(cache.synced() && versions(&cache) == [1]);
    }

    #[test]
    fn only_changes_of_the_stamp_matter_and_deletes_always_do() {
        let mut cache = listed([object("a", 1, "gen1")]);
        assert!(!cache.observe(Event::Apply(object("a", 2, "gen1"))), "a status patch");
        assert!(cache.observe(Event::Apply(object("a", 3, "gen2"))));
        assert!(cache.observe(Event::Delete(object("a", 4, "gen2"))), "a delete carries the same generation");
        assert!(versions(&cache).is_empty());
        assert!(!cache.observe(Event::Delete(object("a", 4, "gen2"))));
    }

    #[test]
    fn a_list_that_brings_nothing_new_does_not_matter() {
        let mut cache = listed([object("a", 1, "x"), object("b", 1, "x")]);
        for (name, version) in [("a", 1), ("b", 9)] {
            cache.observe(Event::InitApply(object(name, version, "x")));
        }
        assert!(!cache.observe(Event::InitDone));
        cache.observe(Event::Init);
        cache.observe(Event::InitApply(object("a", 1, "x")));
        assert!(cache.observe(Event::InitDone), "b was deleted while nobody watched");
        assert_eq!(versions(&cache), [1]);
    }

    #[test]
    fn a_lagging_watch_does_not_take_back_what_a_write_returned() {
        let mut cache = listed([object("a", 5, "5")]);
        cache.learn(object("a", 10, "10"), cache.moment());
        assert!(!cache.observe(Event::Apply(object("a", 9, "9"))));
        assert!(!cache.observe(Event::Delete(object("a", 8, "8"))), "deleted before we created it again");
        assert!(!cache.observe(Event::Apply(object("a", 10, "10"))), "our own write comes by");
        assert_eq!(versions(&cache), [10]);
        assert!(cache.observe(Event::Apply(object("a", 11, "11"))));
    }

    #[test]
    fn a_list_that_was_read_before_our_write_does_not_take_it_back() {
        let mut cache = listed([object("a", 5, "5")]);
        cache.observe(Event::Init);
        cache.observe(Event::InitApply(object("a", 5, "5")));
        cache.learn(object("a", 10, "10"), cache.moment());
        cache.learn(object("b", 11, "11"), cache.moment());
        cache.observe(Event::InitDone);
        assert_eq!(versions(&cache), [10], "b was deleted again, or comes by the watch");
        assert!(cache.observe(Event::Apply(object("b", 11, "11"))));
        cache.observe(Event::Init);
        cache.observe(Event::InitDone);
        assert!(versions(&cache).is_empty(), "a list that began later is the truth");
    }

    #[test]
    fn an_answer_that_is_taken_in_after_the_deletion_brings_nothing_back() {
        let mut cache = listed([object("a", 5, "5"), object("b", 6, "6")]);
        assert!(cache.observe(Event::Delete(object("a", 11, "5"))));
        cache.learn(object("a", 10, "5"), cache.moment());
        assert_eq!(versions(&cache), [6], "patched at 10, deleted at 11");
        cache.learn(object("b", 12, "6"), cache.moment());
        assert_eq!(versions(&cache), [12], "the watch has not come so far");
        cache.learn(object("a", 13, "13"), cache.moment());
        assert_eq!(versions(&cache), [13, 12], "made anew");

        cache.observe(Event::Init);
        cache.learn(object("a", 14, "14"), cache.moment());
        cache.observe(Event::InitApply(object("b", 12, "6")));
        cache.observe(Event::InitDone);
        assert_eq!(versions(&cache), [12], "deleted before the list");
    }

    #[test]
    fn an_answer_that_is_taken_in_after_a_list_without_the_object_brings_nothing_back() {
        let mut cache = listed([object("a", 5, "5"), object("b", 90, "90")]);
        cache.observe(Event::Init);
        cache.observe(Event::InitApply(object("b", 90, "90")));
        assert!(cache.observe(Event::InitDone), "a was patched at 95, and deleted at 100");
        cache.learn_status(object("a", 95, "5"));
        assert_eq!(versions(&cache), [90]);
        cache.learn_status(object("b", 96, "90"));
        assert_eq!(versions(&cache), [96]);
    }

    #[test]
    fn a_patched_status_does_not_show_a_change_before_the_watch_does() {
        let mut cache = listed([object("a", 5, "5"), object("b", 6, "6")]);
        // While the watch is down, b is deleted at 7 and a is changed at 8; its status is patched at 9.
        cache.learn_status(object("a", 9, "8"));
        assert_eq!(versions(&cache), [5, 6], "there was never a new a together with b");
        assert!(cache.observe(Event::Delete(object("b", 7, "6"))));
        assert!(cache.observe(Event::Apply(object("a", 8, "8"))));
        cache.learn_status(object("a", 9, "8"));
        assert_eq!(versions(&cache), [9]);
    }

    #[test]
    fn an_answer_to_a_request_older_than_a_list_without_the_object_is_dropped() {
        let mut cache = listed([object("a", 5, "5")]);
        let moment = cache.moment();
        cache.observe(Event::Init);
        cache.observe(Event::InitDone);
        cache.learn(object("a", 95, "95"), moment);
        assert!(versions(&cache).is_empty(), "written at 95, deleted at 98, listed at 100");
        cache.learn(object("a", 105, "105"), cache.moment());
        assert_eq!(versions(&cache), [105], "written after the list");
    }

    #[test]
    fn versions_are_compared_as_numbers_of_any_length_or_not_at_all() {
        assert_eq!(compare("9", "10"), Some(Ordering::Less));
        assert_eq!(compare("18446744073709551616", "18446744073709551615"), Some(Ordering::Greater));
        assert_eq!(compare("7", "7"), Some(Ordering::Equal));
        assert_eq!(compare("abc", "10"), None);
        assert_eq!(compare("", "10"), None);
    }
}
