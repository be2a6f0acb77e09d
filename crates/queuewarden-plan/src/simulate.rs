//! Plans without a cluster: applies the operator's actions in memory until none are left, and returns the
//! resulting statuses.

use std::sync::Arc;

use crate::conditions::{Condition, Reason, Status, Type, find};
use crate::effective::{ParseCache, text_in_force};
use crate::plan::{Plan, plan_again};
use crate::snapshot::{
    ConfigMapState, FIELD_MANAGER, KeyOwner, Mode, OutputText, ReadBack, Snapshot, YUNIKORN_DEFAULTS,
};
use crate::write::{NewConfigMap, Write};
use yunikorn::config::checksum;

/// Maximum number of rounds: the plan writes once, and once more after an import. More would mean that plans
/// do not settle.
const MAX_ROUNDS: usize = 4;

/// The state after all actions have been applied.
#[derive(Debug, Clone)]
pub struct Settled {
    /// The snapshot with everything applied.
    pub snapshot: Snapshot,
    /// The plan for the final state, with the statuses that the objects would have.
    pub plan: Plan,
    /// ConfigMaps that were created.
    pub created: Vec<NewConfigMap>,
    /// True if the output ConfigMap was written.
    pub written: bool,
    /// The texts that were parsed.
    pub cache: ParseCache,
}

impl Settled {
    fn condition(&self) -> Option<&Condition> {
        find(&self.plan.config.as_ref()?.conditions, Type::Applied)
    }

    /// Returns whether the output holds the rendered text.
    pub fn applied(&self) -> bool {
        self.condition().is_some_and(|applied| applied.status == Status::True)
    }

    /// Returns whether the output is not written only because of `mode: Observe`.
    pub fn only_observes(&self) -> bool {
        self.condition().is_some_and(|applied| applied.has(Reason::ObserveMode))
    }
}

/// Plans and applies until nothing is left to do.
pub fn settle(mut snapshot: Snapshot) -> Settled {
    let mut created = Vec::new();
    let mut written = false;
    let mut cache = ParseCache::new(snapshot.version());
    let mut made = plan_again(&snapshot, &mut cache);
    for _ in 0..MAX_ROUNDS {
        if made.import.is_none() && made.write.is_none() && made.last_base.is_none() {
            break;
        }
        created.extend(made.import.clone());
        created.extend(made.backup.clone());
        written |= made.write.is_some();
        apply(&mut snapshot, &made);
        made = plan_again(&snapshot, &mut cache);
    }
    remember(&mut snapshot, &made);
    Settled { snapshot, plan: made, created, written, cache }
}

/// Continues after the scheduler has loaded the text, if a scheduler is configured.
pub fn loaded(mut settled: Settled) -> Settled {
    if settled.snapshot.spec().is_none_or(|spec| spec.scheduler.is_none()) {
        return settled;
    }
    let text = text_in_force(&settled.snapshot);
    let checksum = Ok(checksum(&text));
    settled.snapshot.observed.read_back = Some(ReadBack { at: settled.snapshot.now, checksum });
    settled.snapshot.observed.loaded_text = Some(text);
    settled.plan = plan_again(&settled.snapshot, &mut settled.cache);
    remember(&mut settled.snapshot, &settled.plan);
    settled
}

/// Returns the snapshot as if its mode were Enforce, to show what Observe only announces.
pub fn enforced(snapshot: &Snapshot) -> Snapshot {
    let mut snapshot = snapshot.clone();
    if let Some(Ok(spec)) = snapshot.config.as_mut().map(|config| config.spec.as_mut()) {
        spec.mode = Mode::Enforce;
    }
    snapshot
}

/// Changes the snapshot as the operator changes the cluster.
pub(super) fn apply(snapshot: &mut Snapshot, plan: &Plan) {
    if let Some(new) = &plan.import {
        import(snapshot, new);
    }
    if let Some(change) = &plan.write {
        write(snapshot, change);
        if let Some((key, text)) = change.queue_tree() {
            snapshot.observed.last_written = Some(checksum(text));
            snapshot.observed.written = Some(OutputText { key: key.clone(), text: text.clone() });
        }
    }
    if let Some(base) = &plan.last_base {
        snapshot.last_base = Some(base.clone());
    }
    remember(snapshot, plan);
}

fn import(snapshot: &mut Snapshot, new: &NewConfigMap) {
    let map = ConfigMapState {
        name: new.name.clone(),
        annotations: new.annotations.clone(),
        data: new.data.clone(),
        owners: new.data.keys().map(|key| (key.clone(), vec![us()])).collect(),
        ..ConfigMapState::default()
    };
    let map = Arc::new(map);
    if map.name == YUNIKORN_DEFAULTS {
        snapshot.defaults = Some(Arc::clone(&map));
    }
    snapshot.base = Some(map);
}

fn write(snapshot: &mut Snapshot, change: &Write) {
    let map = Arc::make_mut(snapshot.output.get_or_insert_default());
    map.name.clone_from(&change.name);
    for (key, value) in &change.data {
        if let Some(value) = value {
            map.data.insert(key.clone(), value.clone());
            map.owners.insert(key.clone(), vec![us()]);
        } else {
            map.data.remove(key);
            map.owners.remove(key);
        }
    }
    map.annotations.extend(change.annotations.clone());
    if let Some(in_force) = &change.in_force {
        map.in_force.clone_from(in_force);
    }
}

fn us() -> KeyOwner {
    KeyOwner { manager: FIELD_MANAGER.to_string(), operation: "Update".to_string() }
}

/// Stores the statuses of the plan in the objects.
fn remember(snapshot: &mut Snapshot, plan: &Plan) {
    for entry in &mut snapshot.queue_acls {
        if let Some(status) = plan.queue_acls.get(&entry.meta.name) {
            let entry = Arc::make_mut(entry);
            entry.meta.conditions.clone_from(&status.conditions);
            entry.in_force.clone_from(&status.rest.in_force);
        }
    }
    for entry in &mut snapshot.policies {
        if let Some(status) = plan.policies.get(&entry.meta.name) {
            entry.meta.conditions.clone_from(&status.conditions);
            entry.in_force.clone_from(&status.rest.in_force);
        }
    }
    for entry in &mut snapshot.access_tests {
        if let Some(status) = plan.access_tests.get(&entry.meta.name) {
            entry.meta.conditions.clone_from(&status.conditions);
        }
    }
    if let (Some(entry), Some(status)) = (&mut snapshot.config, &plan.config) {
        entry.meta.conditions.clone_from(&status.conditions);
        entry.in_force = Some(status.rest.clone());
    }
}
