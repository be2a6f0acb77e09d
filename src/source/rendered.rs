//! The text that `YuniKorn` has, or that the operator would make of a base and queuewarden's objects, and
//! the origin of each part of it.

use std::sync::Arc;

use super::configuration::{ClusterContext, RenderedText, Text};
use crate::output::findings::plural;
use crate::output::{Failure, statuses};
use queuewarden_plan::simulate::{Settled, enforced, settle};
use queuewarden_plan::snapshot::{ConfigSpec, Mode, PolicyEntry, QueueAclEntry, Snapshot};
use queuewarden_plan::{ObjectRef, ResourceKind, config_map_of, grants, merged_alone};
use yunikorn::config::{BUILT_IN, Flattened};
use yunikorn::identity::Identity;
use yunikorn::right::Right;

/// Returns the text in the ConfigMaps that merge to `flat`, or else `YuniKorn`'s own configuration, which is
/// in force then. `located` returns a text with its location, by the names of its ConfigMap and key.
///
/// # Errors
/// When the text is ambiguous.
pub fn current(
    flat: &Flattened,
    located: impl FnOnce(&str, &str, String) -> Text,
    notes: &mut Vec<String>,
) -> Result<Text, Failure> {
    let key = flat.queues_key();
    if flat.is_ambiguous(&key) {
        return Err(Failure::Undecided(format!(
            "several keys of one binaryData give {key} different values, of which YuniKorn takes one at \
            random"
        )));
    }
    let queues = flat.queues(&key);
    if let Some(origin) = queues.origin.filter(|_| !queues.text.is_empty()) {
        return Ok(located(config_map_of(origin.source), &origin.key, queues.text.to_owned()));
    }
    notes.push(format!(
        "no ConfigMap has {key}: YuniKorn runs its built-in configuration, in which everyone may submit \
        everywhere"
    ));
    Ok(Text::made("YuniKorn's built-in configuration", BUILT_IN.to_owned()))
}

/// Returns what the operator would write. `located` returns a text with its location, by the names of its
/// ConfigMap and key.
///
/// # Errors
/// When it would write nothing.
pub fn written(
    snapshot: &Snapshot,
    spec: &ConfigSpec,
    located: impl FnOnce(&str, &str, String) -> Text,
    notes: &mut Vec<String>,
) -> Result<RenderedText, Failure> {
    let settled = settle(enforced(snapshot));
    let Some(rendered) = settled.plan.rendered.as_ref().filter(|_| settled.applied()) else {
        let observed = settle(snapshot.clone());
        return Err(not_applied(if observed.only_observes() { &settled } else { &observed }));
    };
    if settled.written && spec.mode == Mode::Observe {
        notes.push("mode Observe: this is about what the operator would write with mode Enforce".to_owned());
    }
    let base = base(&settled.snapshot, spec, &rendered.key, located);
    let name = base.as_ref().map_or("the built-in configuration", Text::name);
    let name = match snapshot.queue_acls.len() {
        0 => name.to_owned(),
        count => format!("{name} with {}", plural(count, "QueueAcl")),
    };
    let attributions = Arc::clone(&settled.plan.contributions);
    let text = Text::made(name, rendered.text.clone());
    let context = ClusterContext { read: Arc::new(snapshot.clone()), settled: Arc::new(settled.snapshot) };
    context.note_refused(notes);
    let over_time = Some(Arc::clone(&context.settled));
    Ok(RenderedText { text, base, attributions, context, over_time, cache: settled.cache })
}

/// Returns the text of the base.
pub fn base(
    snapshot: &Snapshot,
    spec: &ConfigSpec,
    key: &str,
    located: impl FnOnce(&str, &str, String) -> Text,
) -> Option<Text> {
    let map = snapshot.base.as_deref()?;
    let alone = merged_alone(map);
    let value = alone.get(spec.base_key.as_deref().unwrap_or(key)).filter(|value| !value.text.is_empty())?;
    Some(located(&map.name, &value.origin.key, value.text.clone()))
}

/// Everything that entries are looked for in.
#[derive(Debug)]
pub struct Evidence {
    /// The settings.
    pub spec: ConfigSpec,
    /// The objects and ConfigMaps.
    pub snapshot: Snapshot,
    /// The text of the base.
    pub base: Option<Text>,
}

/// Objects that are applied to those that are there, and objects that are deleted.
#[derive(Debug, Clone, Default)]
pub struct ObjectChange {
    /// The `QueueAcl`s to apply.
    pub queue_acls: Vec<Arc<QueueAclEntry>>,
    /// The `AdmissionPolicy` objects to apply.
    pub policies: Vec<PolicyEntry>,
    /// The objects to delete.
    pub deleted: Vec<ObjectRef>,
}

impl ObjectChange {
    /// Returns the objects to apply, as messages name them.
    pub fn applied(&self) -> impl Iterator<Item = String> {
        let acls = self.queue_acls.iter().map(|entry| (ResourceKind::QueueAcl, &entry.meta));
        let policies = self.policies.iter().map(|entry| (ResourceKind::AdmissionPolicy, &entry.meta));
        acls.chain(policies).map(|(kind, meta)| kind.object(meta.name.clone()).to_string())
    }

    /// Returns the rights on queues of a partition that the objects to apply are to give a user.
    pub fn naming(&self, partition: &str, who: &Identity) -> impl Iterator<Item = (String, Right)> {
        let specs = self.queue_acls.iter().filter_map(|entry| entry.spec.as_ref().ok());
        let here = specs.filter(move |spec| spec.partition.eq_ignore_ascii_case(partition));
        let rights = here.flat_map(|spec| {
            [(Right::Submit, &spec.submit), (Right::Admin, &spec.admin)]
                .map(|(right, grant)| (spec, right, grant))
        });
        let named = rights.filter(|(_, _, grant)| grant.as_ref().is_some_and(|grant| grants(grant, who)));
        named.filter_map(|(spec, right, _)| Some((spec.target()?.1.to_string(), right)))
    }

    /// Makes the change. An object of the same name is replaced, but keeps its memory of what was in force.
    ///
    /// # Errors
    /// When there is no object that is to be deleted.
    pub fn apply(&self, snapshot: &mut Snapshot) -> Result<(), Failure> {
        let Snapshot { queue_acls, policies, .. } = snapshot;
        for object in &self.deleted {
            let name = &object.name;
            let count = queue_acls.len() + policies.len();
            match object.kind {
                ResourceKind::QueueAcl => queue_acls.retain(|entry| entry.meta.name != *name),
                _ => policies.retain(|entry| entry.meta.name != *name),
            }
            if queue_acls.len() + policies.len() == count {
                return Err(Failure::Usage(format!("there is no {object} to delete")));
            }
        }
        for entry in &self.queue_acls {
            match queue_acls.iter_mut().find(|other| other.meta.name == entry.meta.name) {
                Some(other) => {
                    let in_force = other.in_force.clone();
                    *other = Arc::new(QueueAclEntry { in_force, ..(**entry).clone() });
                }
                None => queue_acls.push(Arc::clone(entry)),
            }
        }
        for entry in &self.policies {
            match policies.iter_mut().find(|other| other.meta.name == entry.meta.name) {
                Some(other) => *other = PolicyEntry { in_force: other.in_force.take(), ..entry.clone() },
                None => policies.push(entry.clone()),
            }
        }
        Ok(())
    }
}

fn not_applied(settled: &Settled) -> Failure {
    let objects = statuses::objects(&settled.plan);
    let config = objects.iter().filter(|object| object.kind == ResourceKind::YuniKornConfig);
    let why =
        config.flat_map(|object| object.problems().map(|(condition, _)| condition.message.clone())).next();
    Failure::Undecided(format!(
        "the operator would not write the ConfigMap: {}",
        why.unwrap_or_else(|| "its plan gives no text".to_owned())
    ))
}
