//! Reviews a change to one of `YuniKorn`'s two ConfigMaps, or to the base.
//!
//! `YuniKorn`'s own webhook validates the text of the queues, but accepts texts that a scheduler does not
//! activate, or that make it hang. A change that adds such a problem is refused. A problem that existed
//! before is only reported, so that a partial repair is possible.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::admit::{ACTIVATION, Response, one_line};
use crate::effective::{
    EffectiveConfig, ParseCache, TextSource, base, config_map_of, merged, text_in, text_in_force,
};
use crate::snapshot::{ConfigMapState, Snapshot, YUNIKORN_DEFAULTS};
use go_compat::lines::Lines;
use go_compat::yaml::within;
use yunikorn::Version;
use yunikorn::config::codes::{DEFAULT_CONFIG, SETTING};
use yunikorn::config::flatten::Flattened;
use yunikorn::config::{keys, verdict};

/// Maximum number of nodes in a new text. A text of 10,000 queues has 60,000.
const MAX_NODES: usize = 150_000;

/// Returns whether `YuniKorn` or queuewarden reads a `ConfigMap`.
pub fn counts(snapshot: &Snapshot, namespace: &str, name: &str) -> bool {
    snapshot.spec().is_some_and(|spec| {
        spec.namespace == namespace
            && [YUNIKORN_DEFAULTS, &spec.base_config_map, &spec.output_config_map].contains(&name)
    })
}

/// Reviews the change. `new` is `None` if the ConfigMap called `name` is deleted.
pub fn admit(snapshot: &Snapshot, namespace: &str, name: &str, new: Option<&ConfigMapState>) -> Response {
    let Some(spec) = snapshot.spec().filter(|_| counts(snapshot, namespace, name)) else {
        return Response::default();
    };
    let mut after = snapshot.clone();
    for (role, location) in [
        (YUNIKORN_DEFAULTS, &mut after.defaults),
        (spec.base_config_map.as_str(), &mut after.base),
        (spec.output_config_map.as_str(), &mut after.output),
    ] {
        if role == name {
            *location = new.cloned().map(Arc::new);
        }
    }
    if let Some(why) = too_many_nodes(snapshot, &after) {
        return Response::refused(ACTIVATION, why);
    }
    let cache = &mut ParseCache::new(snapshot.version());
    let env = EffectiveConfig::new(snapshot, cache);
    let active = env.active_partitions();
    let active: Vec<&str> = active.iter().map(String::as_str).collect();
    let mut before = in_force(snapshot, &active);
    before.extend(of_base(snapshot, &active));
    let mut now = in_force(&after, &active);
    // If the text is the one in force, its problems are already listed.
    if base_text(&after).is_some_and(|(_, text)| text != text_in_force(&after)) {
        now.extend(of_base(&after, &active));
    }
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for trouble in &before {
        *left.entry(&trouble.what).or_default() += 1;
    }
    let (old, brought): (Vec<_>, Vec<_>) = now.into_iter().partition(|trouble| {
        let of_before = left.get_mut(trouble.what.as_str()).filter(|count| **count > 0);
        of_before.map(|count| *count -= 1).is_some()
    });
    if !brought.is_empty() {
        let messages: Vec<String> = brought.into_iter().map(|trouble| trouble.message).collect();
        return Response::refused(ACTIVATION, messages.join("; "));
    }
    let mut warnings: Vec<_> = old.into_iter().map(|trouble| format!("still: {}", trouble.message)).collect();
    let then = EffectiveConfig::new(&after, cache);
    if env.source != TextSource::BuiltIn && then.source == TextSource::BuiltIn {
        warnings.push(format!(
            "no ConfigMap has text in key `{}` any more, so YuniKorn runs its built-in default, which lets \
             everyone submit everywhere",
            then.key
        ));
    }
    if base::resolve(snapshot, spec, &env, cache).is_ok()
        && let Err(lost) = base::resolve(&after, spec, &then, cache)
    {
        warnings.push(format!("no new grants are written, only withdrawals: {}", lost.message));
    }
    warnings.extend(odd_keys(snapshot, &after));
    warnings.extend(put_back(snapshot, &env, name, new));
    Response::warned(&warnings)
}

/// Returns findings about keys that the change sets but no program reads, and about values that are not read
/// as they seem to be.
fn odd_keys(before: &Snapshot, after: &Snapshot) -> Vec<String> {
    let of = |snapshot: &Snapshot| -> Vec<String> {
        let flat = merged(snapshot);
        let found = keys::findings(&flat, snapshot.version()).into_iter();
        // These are reported in other words.
        let others = found.filter(|found| ![DEFAULT_CONFIG, SETTING].contains(&found.diagnostic.code));
        let line = |found: keys::KeyFinding<'_>| {
            Some(one_line(&format!("key {}: {}", found.origin?.key, found.diagnostic)))
        };
        others.filter_map(line).collect()
    };
    let known = of(before);
    of(after).into_iter().filter(|found| !known.contains(found)).collect()
}

/// Returns an error if a change sets a text with too many nodes. Each node takes memory, and the change may
/// be malicious.
fn too_many_nodes(before: &Snapshot, after: &Snapshot) -> Option<String> {
    let texts = |snapshot| {
        let base = base_text(snapshot).map(|(_, text)| text);
        [Some(text_in_force(snapshot)), base].into_iter().flatten()
    };
    let known: Vec<String> = texts(before).collect();
    let brought = texts(after).filter(|text| !known.contains(text));
    brought.filter_map(|text| within(&text, MAX_NODES).err()).map(|why| one_line(&why.to_string())).next()
}

/// A problem that prevents the scheduler from running a text.
struct Trouble {
    /// The problem without its line number, which changes when an earlier line is added or removed.
    what: String,
    /// The problem with its line.
    message: String,
}

impl Trouble {
    /// Makes one without a line.
    fn new(what: String) -> Self {
        Self { message: what.clone(), what }
    }
}

/// Returns the problems that prevent the scheduler from running the written configuration.
fn in_force(snapshot: &Snapshot, active: &[&str]) -> Vec<Trouble> {
    let flat = merged(snapshot);
    let key = flat.queues_key();
    let mut troubles: Vec<Trouble> = shadowed(&flat, &key).into_iter().collect();
    let settings = flat.unreadable(snapshot.version());
    troubles.extend(settings.map(|(key, why)| Trouble::new(one_line(&format!("key {key}: {why}")))));
    // The built-in default activates.
    if let Some(queues) = flat.queues(&key) {
        troubles.extend(refused(&queues.text, active, &format!("key {key}"), snapshot.version()));
    }
    troubles
}

/// Returns the problems that would prevent it from running the base.
fn of_base(snapshot: &Snapshot, active: &[&str]) -> Vec<Trouble> {
    base_text(snapshot)
        .map(|(location, text)| refused(&text, active, &location, snapshot.version()))
        .unwrap_or_default()
}

/// Returns the base's own text and its location, or `None` if it has no text.
fn base_text(snapshot: &Snapshot) -> Option<(String, String)> {
    let spec = snapshot.spec()?;
    let base = snapshot.base.as_deref()?;
    let key = spec.base_key.clone().unwrap_or_else(|| merged(snapshot).queues_key());
    Some((format!("key {key} of ConfigMap {}", base.name), text_in(base, &key)?))
}

/// Returns the problem if `binaryData` hides or empties the queues.
fn shadowed(flat: &Flattened, key: &str) -> Option<Trouble> {
    // It is intended that data of the second ConfigMap overrides the first.
    let origin = flat.get(key).map(|value| &value.origin).filter(|origin| origin.binary)?;
    let map = config_map_of(origin.source);
    Some(Trouble::new(format!(
        "binaryData key `{}` of ConfigMap {map} hides or empties key `{key}` for the scheduler: write the \
         queues to data, and use keys that do not begin with `{key}` for other content",
        origin.key
    )))
}

/// Returns all reasons why the text is refused, makes the scheduler hang, or differs from the text that runs
/// after a restart.
fn refused(text: &str, active: &[&str], location: &str, version: Version) -> Vec<Trouble> {
    let (verdict, lines) = (verdict(text, active, version), Lines::new(text));
    let errors = verdict.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
    let mut found: Vec<Trouble> = errors
        .map(|diagnostic| {
            let line = diagnostic.span.map(|span| lines.number(span.start));
            let line = line.map(|line| format!(", line {line}")).unwrap_or_default();
            Trouble {
                what: one_line(&format!("{location}: {diagnostic}")),
                message: one_line(&format!("{location}{line}: {diagnostic}")),
            }
        })
        .collect();
    if found.is_empty() {
        let what = verdict.refusal().map(|why| one_line(&format!("{location}: {why}")));
        found.extend(what.map(Trouble::new));
    }
    found
}

/// Warns if queuewarden will undo the change.
fn put_back(
    snapshot: &Snapshot,
    env: &EffectiveConfig,
    name: &str,
    new: Option<&ConfigMapState>,
) -> Option<String> {
    let spec = snapshot.spec()?;
    let remembered = snapshot.config_status().and_then(|status| status.output.as_ref());
    let ours = remembered.is_some_and(|output| output.keys.contains(&env.key));
    if name != spec.output_config_map || !ours {
        return None;
    }
    let was = snapshot.output_text(&env.key)?;
    let text = new.and_then(|new| new.data.get(&env.key));
    let header = |text: &str| crate::effective::header::split(text).map(|parts| parts.revision);
    // The operator's own writes have the next revision.
    let own = text.and_then(|text| header(text)) > header(was);
    (text != Some(was) && !own).then(|| {
        format!(
            "queuewarden renders key `{}` and reverts this change: change ConfigMap {} or QueueAcl objects \
             instead",
            env.key, spec.base_config_map
        )
    })
}
