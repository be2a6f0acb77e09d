//! Watches the objects, the output and the scheduler continuously, and compares them with the model.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DynamicObject, ListParams};
use queuewarden_e2e::yunikorn::{CONFIGS, DEFAULTS, NAMESPACE, Rest};
use queuewarden_e2e::{Kind, TestCluster};
use serde_json::Value;
use tokio::time::timeout;

use super::access::{Access, Entry};
use super::model::{KEY, Model};
use super::now;

/// Seconds within which a withdrawal must reach the output, and then the scheduler, while an operator can
/// write it.
const BOUND: f64 = 5.0;
/// Time between two observations.
const PERIOD: Duration = Duration::from_millis(120);
/// Longest wait for a response; a later one is ignored.
const ANSWER: Duration = Duration::from_secs(4);
/// The same for the scheduler.
const SCHEDULER: Duration = Duration::from_secs(1);

/// The state that the steps and the watch share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) model: Model,
    /// The number of changes; odd while a step makes a change that is not in the model yet.
    changes: u64,
    /// Since when an operator can write and has had time to take over; `None` while no operator can.
    pub(super) writes_from: Option<f64>,
    /// Since when the scheduler has been running the output's text; `None` while it does not.
    pub(super) runs_from: Option<f64>,
    /// Since when no fault has excused a late status.
    pub(super) status_from: f64,
    /// The start of the last observation without anything withdrawn in the output.
    pub(super) clean_at: f64,
}

#[derive(Debug)]
pub(super) struct Common(Mutex<Shared>);

impl Common {
    pub(super) fn new(model: Model) -> Self {
        let (writes_from, runs_from) = (None, Some(now()));
        Self(Mutex::new(Shared {
            model,
            changes: 0,
            writes_from,
            runs_from,
            status_from: 0.0,
            clean_at: 0.0,
        }))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces a change.
    pub(super) fn begin(&self) {
        let mut shared = self.lock();
        shared.model.advance(now());
        shared.changes += 1;
    }

    /// Records the change that has been made.
    pub(super) fn end(&self, note: impl FnOnce(&mut Shared)) {
        let mut shared = self.lock();
        note(&mut shared);
        shared.changes += 1;
    }
}

pub(super) struct Watch<'a> {
    objects: Api<DynamicObject>,
    maps: Api<ConfigMap>,
    rest: Rest,
    common: &'a Common,
    /// Entries that are in the output but should not be, and since when.
    written: BTreeMap<Entry, f64>,
    /// Entries that the scheduler grants but should not, and since when.
    running: BTreeMap<Entry, f64>,
}

/// One observation.
struct Look {
    objects: Vec<DynamicObject>,
    revision: u64,
    output: Option<ConfigMap>,
    defaults: Option<ConfigMap>,
    running: Option<Access>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(cluster: &TestCluster, common: &'a Common) -> Result<Self> {
        let maps = Api::namespaced(cluster.client()?, NAMESPACE);
        let (objects, rest) = (cluster.objects(Kind::QueueAcl)?, cluster.yunikorn()?);
        let (written, running) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { objects, maps, rest, common, written, running })
    }

    /// Runs until the first disagreement.
    pub(super) async fn forever(mut self) -> Result<Infallible> {
        let mut ticks = tokio::time::interval(PERIOD);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let (changes, begin) = {
                let mut shared = self.common.lock();
                if shared.changes % 2 == 1 {
                    continue;
                }
                shared.model.advance(now());
                (shared.changes, now())
            };
            // A server that does not answer is stopped or hangs, so there is nothing to compare.
            let Ok(Ok(look)) = timeout(ANSWER, self.look()).await else { continue };
            let common = self.common;
            let mut shared = common.lock();
            if shared.changes == changes {
                // States up to now are older than the observation.
                shared.model.advance(now());
                shared.model.revision = shared.model.revision.max(look.revision);
                self.compare(&mut shared, &look, begin)?;
            }
        }
    }

    /// Reads the objects before and after everything else; objects that changed in between are ignored.
    async fn look(&self) -> Result<Look> {
        let before = self.objects.list(&ListParams::default()).await?;
        let output = self.maps.get_opt(CONFIGS).await?;
        let defaults = self.maps.get_opt(DEFAULTS).await?;
        let running = match timeout(SCHEDULER, self.rest.config_json()).await {
            Ok(Ok(config)) => Some(Access::of_config(&config)?),
            Ok(Err(_)) | Err(_) => None,
        };
        let after = self.objects.list(&ListParams::default()).await?;
        let same = |object: &DynamicObject| {
            let mut earlier = before.items.iter();
            earlier.any(|it| {
                it.metadata.uid == object.metadata.uid
                    && it.metadata.resource_version == object.metadata.resource_version
            })
        };
        let revision = before.metadata.resource_version.as_deref().unwrap_or_default().parse()?;
        let objects = after.items.iter().filter(|object| same(object)).cloned().collect();
        Ok(Look { objects, revision, output, defaults, running })
    }

    fn compare(&mut self, shared: &mut Shared, look: &Look, begin: f64) -> Result<()> {
        let end = now();
        let allowed = [shared.model.kept(begin), shared.model.kept(end)];
        let beyond = |access: &Access| allowed.iter().fold(access.clone(), |rest, it| rest.beyond(it));
        let written = in_force(look)?;
        let excess = beyond(&written);
        if excess.0.is_empty() {
            shared.clean_at = begin;
            if shared.model.required(end).without(&written).0.is_empty()
                && look.objects.len() == shared.model.objects.len()
                && look.objects.iter().all(is_current)
            {
                shared.model.written(look.revision);
            }
        }
        let late = note(&mut self.written, &excess, end, shared.writes_from);
        if let Some((entry, since)) = late {
            bail!(
                "for {:.1} s ConfigMap {CONFIGS} (or what is in force without it) gives {entry}, which nothing \
                 grants.\nGranted is: {}\nWritten is: {written}",
                end - since,
                shared.model.granted(end)
            );
        }
        let Some(running) = &look.running else { return Ok(()) };
        let both = shared.writes_from.zip(shared.runs_from).map(|(writes, runs)| writes.max(runs) + BOUND);
        let late = note(&mut self.running, &beyond(running), end, both);
        if let Some((entry, since)) = late {
            bail!(
                "for {:.1} s the scheduler gives {entry}, which nothing grants.\nGranted is: {}\nIt runs: {running}",
                end - since,
                shared.model.granted(end)
            );
        }
        for object in &look.objects {
            status(shared, object, running, (begin, end))?;
        }
        Ok(())
    }
}

/// Fails if a status reports something false.
fn status(
    shared: &mut Shared,
    object: &DynamicObject,
    running: &Access,
    (begin, end): (f64, f64),
) -> Result<()> {
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let Some(known) = shared.model.objects.get(name).cloned() else { return Ok(()) };
    let generation = object.metadata.generation;
    let Some(ready) = condition(object, "Ready") else { return Ok(()) };
    let observed = ready.get("observedGeneration").and_then(Value::as_i64);
    if generation != Some(known.generation) || observed != generation {
        return Ok(());
    }
    let word = |field: &str| ready.get(field).and_then(Value::as_str).unwrap_or_default();
    let in_force = word("status") == "True" && word("reason") == "Ready";
    let runs = known.valid().is_some_and(|spec| {
        spec.has_begun(begin) && !spec.has_ended(end) && spec.own().without(running).0.is_empty()
    });
    if in_force && runs {
        shared.model.prove(name);
    }
    if begin < shared.status_from {
        return Ok(());
    }
    let message = || {
        format!(
            "QueueAcl {name} says Ready={} {}: {} (generation {generation:?})",
            word("status"),
            word("reason"),
            word("message")
        )
    };
    // At the moment of its end, a status still describes the time before. The scheduler's answer shows that
    // the access does not stay.
    let inside = known.valid().is_some_and(|spec| spec.has_begun(begin) && !spec.has_ended(end));
    let ended = word("reason") == "Expired" && known.valid().is_some_and(|spec| spec.has_ended(begin));
    let taken = shared.model.taken_by(name);
    if ((in_force && inside) || ended)
        && let Some(entry) = taken.0.iter().find(|entry| running.has(entry))
    {
        bail!("{}. It took {entry} away, which the scheduler still gives: {running}", message());
    }
    match known.valid() {
        None if word("status") == "True" => bail!("{}. Its spec is mistyped", message()),
        Some(spec) if in_force && inside => {
            let missing = spec.own().without(running);
            ensure!(missing.0.is_empty(), "{}. The scheduler does not give {missing}: {running}", message());
        }
        _ => {}
    }
    Ok(())
}

/// Returns true if the status describes the object's current spec.
fn is_current(object: &DynamicObject) -> bool {
    let observed = condition(object, "Ready").and_then(|it| it.get("observedGeneration"));
    object.metadata.generation.is_some() && observed.and_then(Value::as_i64) == object.metadata.generation
}

/// Returns the access by the `ConfigMaps` without `binaryData`: by the output, else the base, else YuniKorn's
/// built-in default.
fn in_force(look: &Look) -> Result<Access> {
    let text = |map: &Option<ConfigMap>| map.as_ref()?.data.as_ref()?.get(KEY).cloned();
    match text(&look.output).or_else(|| text(&look.defaults)) {
        Some(text) => Access::of_text(&text).with_context(|| text.clone()),
        None => Ok(Access::open()),
    }
}

/// Records entries that should not exist; returns entries that have existed for too long, and since when.
fn note(
    noted: &mut BTreeMap<Entry, f64>,
    excess: &Access,
    now: f64,
    from: Option<f64>,
) -> Option<(Entry, f64)> {
    noted.retain(|entry, _| excess.0.contains(entry));
    for entry in &excess.0 {
        noted.entry(entry.clone()).or_insert(now);
    }
    let from = from?;
    let late = noted.iter().find(|(_, since)| now - since.max(from) > BOUND);
    late.map(|(entry, since)| (entry.clone(), *since))
}

/// Returns a condition of an object.
pub(super) fn condition<'a>(object: &'a DynamicObject, kind: &str) -> Option<&'a Value> {
    let conditions = object.data.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|it| it.get("type").is_some_and(|own| own == kind))
}
