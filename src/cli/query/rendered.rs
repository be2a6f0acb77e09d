//! The text that the operator would make of a base and objects of ours, and who wrote which part of it.

use std::sync::Arc;

use super::Notes;
use super::configuration::Written;
use super::texts::Text;
use crate::cli::findings::plural;
use crate::cli::input::object::Kind;
use crate::cli::{Failure, statuses};
use queuewarden_plan::conditions::{Status, Type};
use queuewarden_plan::simulate::{Settled, enforced, settle};
use queuewarden_plan::snapshot::{ConfigSpec, QueueAclEntry, Snapshot};
use queuewarden_plan::{merged_alone, risks};
use queuewarden_report::{changes, outside};

/// Returns what the operator would write. `located` returns a text with its location, by the names of its
/// ConfigMap and key.
///
/// # Errors
/// When it would write nothing.
pub fn written(
    snapshot: &Snapshot,
    spec: &ConfigSpec,
    located: impl FnOnce(&str, &str, String) -> Text,
    notes: &mut Notes,
) -> Result<Written, Failure> {
    let settled = settle(snapshot.clone());
    let settled = if settled.only_observes() {
        notes.add("mode Observe: asked is about what the operator would write if it wrote".to_owned());
        settle(enforced(&settled.snapshot))
    } else {
        settled
    };
    let Some(rendered) = settled.plan.rendered.as_ref().filter(|_| settled.applied()) else {
        return Err(not_applied(&settled));
    };
    excluded(&settled, notes);
    let base = base(&settled.snapshot, spec, &rendered.key, located);
    let name = base.as_ref().map_or("the built-in configuration", |base| base.name.as_str());
    let name = match snapshot.queue_acls.len() {
        0 => name.to_owned(),
        count => format!("{name} with {}", plural(count, "QueueAcl")),
    };
    let attributions = Arc::clone(&settled.plan.contributions);
    let (changes, outside, version) = (changes(snapshot), outside(snapshot), snapshot.version());
    let (text, risks) = (Text::made(name, rendered.text.clone()), risks(&settled.snapshot));
    Ok(Written { text, base, attributions, changes, outside, risks, version })
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

/// Applies `QueueAcl`s to the current ones: one of the same name replaces the other, but keeps its memory of
/// what was in force.
pub fn apply(there: &mut Vec<Arc<QueueAclEntry>>, more: &[Arc<QueueAclEntry>]) {
    for entry in more {
        match there.iter_mut().find(|other| other.meta.name == entry.meta.name) {
            Some(other) => {
                let in_force = other.in_force.clone();
                *other = Arc::new(QueueAclEntry { in_force, ..(**entry).clone() });
            }
            None => there.push(Arc::clone(entry)),
        }
    }
}

/// Adds a note for each object that contributes nothing to the text.
fn excluded(settled: &Settled, notes: &mut Notes) {
    for object in statuses::objects(&settled.plan) {
        let accepted = object.get(Type::Accepted).filter(|_| object.kind == Kind::QueueAcl);
        if let Some(condition) = accepted.filter(|condition| condition.status != Status::True) {
            notes.add(format!("{} grants nothing: {}", object.label(), condition.message));
        }
    }
}

fn not_applied(settled: &Settled) -> Failure {
    let objects = statuses::objects(&settled.plan);
    let config = objects.iter().filter(|object| object.kind == Kind::YuniKornConfig);
    let why =
        config.flat_map(|object| object.problems().map(|(condition, _)| condition.message.clone())).next();
    Failure::Undecided(format!(
        "the operator would not write the ConfigMap: {}",
        why.unwrap_or_else(|| "its plan gives no text".to_owned())
    ))
}
