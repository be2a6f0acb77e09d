//! Both ConfigMaps of `YuniKorn`, merged as the shim merges them, and the key with the queue tree.

use std::collections::BTreeSet;

use super::claim::managed_keys;
use crate::planted::{PlantedFault, is_planted};
use crate::snapshot::{ConfigMapState, QUEUES_KEY, Snapshot, YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS};
use yunikorn::config::flatten::{self, ConfigMapData, Flattened, flatten};
use yunikorn::config::{BUILT_IN, checksum};

/// Merges both ConfigMaps of `YuniKorn` as it does.
pub fn merged(snapshot: &Snapshot) -> Flattened {
    flatten(&data(snapshot.defaults.as_deref()), &data(snapshot.output.as_deref()))
}

/// One ConfigMap as `YuniKorn` would read it alone, `binaryData` considered.
pub fn merged_alone(map: &ConfigMapState) -> Flattened {
    flatten(&ConfigMapData::default(), &data(Some(map)))
}

/// Returns the name of the ConfigMap that a source of [`merged`] is.
pub fn config_map_of(source: flatten::Source) -> &'static str {
    match source {
        flatten::Source::Defaults => YUNIKORN_DEFAULTS,
        flatten::Source::Configs => YUNIKORN_CONFIGS,
    }
}

/// The queue tree that `YuniKorn` should run now, no matter who wrote it; [`SchedulerText`](crate::Running)
/// is what it does run.
pub fn text_in_force(snapshot: &Snapshot) -> String {
    queues_text(snapshot, &merged(snapshot)).to_owned()
}

/// The same, in the merged ConfigMaps.
pub(crate) fn queues_text<'f>(snapshot: &Snapshot, flat: &'f Flattened) -> &'f str {
    flat.queues(&queues_key(snapshot, flat).0).map_or(BUILT_IN, |queues| &queues.text)
}

/// Returns the key that the scheduler reads its queues from, as far as that is proven, and the key that it
/// will read after a restart, if that is another one. It takes over a change of `service.policyGroup` only
/// when it starts (k8shim `schedulerconf.go`), so a change is followed once the scheduler reports the
/// checksum of what the new key holds.
pub(crate) fn queues_key(snapshot: &Snapshot, flat: &Flattened) -> (String, Option<String>) {
    let named = flat.queues_key();
    let sum = |key: &str| checksum(flat.queues(key).map_or(BUILT_IN, |queues| &queues.text));
    match managed_key(snapshot, &named) {
        Some(key) if key != named && !is_planted(PlantedFault::GroupAtOnce) => {
            let (now, then) = (sum(&key), sum(&named));
            // It runs the built-in default also where the key that it reads was missing for a moment, until
            // it loads what is there again.
            let restarted =
                then != checksum(BUILT_IN) || has_run(snapshot, &now) || snapshot.observed.reasserts > 0;
            if now != then && snapshot.observed.reported() == Some(&then) && restarted {
                (named, None)
            } else {
                (key, Some(named))
            }
        }
        _ => (named, None),
    }
}

/// Returns whether the scheduler is known to have run the text with this checksum.
fn has_run(snapshot: &Snapshot, sum: &str) -> bool {
    snapshot.loaded_hash().is_some_and(|seen| seen == sum)
        || snapshot.observed.loaded_text.as_ref().is_some_and(|text| checksum(text) == sum)
}

/// The key with the queue tree that was written last, if one was; of several, the one that the output names,
/// or else `named`.
fn managed_key(snapshot: &Snapshot, named: &str) -> Option<String> {
    let output = snapshot.output.as_deref();
    let status = snapshot.config_status().and_then(|status| status.output.as_ref());
    let noted = output.and_then(|output| output.annotations.get(QUEUES_KEY)).map(String::as_str);
    let written = output.into_iter().flat_map(managed_keys);
    let remembered = status.into_iter().flat_map(|output| &output.keys).map(String::as_str);
    let keys: BTreeSet<&str> = written.chain(remembered).filter(|key| is_queues_key(key)).collect();
    let key = [noted, Some(named)].into_iter().flatten().find(|key| keys.contains(key));
    key.or(keys.first().copied()).map(str::to_owned)
}

/// Returns whether a key of the output holds a queue tree.
#[expect(clippy::case_sensitive_file_extension_comparisons, reason = "YuniKorn tells `.YAML` from `.yaml`")]
pub(crate) fn is_queues_key(key: &str) -> bool {
    key.ends_with(".yaml")
}

/// The text of `key` in one ConfigMap alone, `binaryData` considered.
pub(crate) fn text_in(map: &ConfigMapState, key: &str) -> Option<String> {
    merged_alone(map).get(key).map(|value| value.text.clone()).filter(|text| !text.is_empty())
}

fn data(map: Option<&ConfigMapState>) -> ConfigMapData {
    let Some(map) = map else { return ConfigMapData::default() };
    ConfigMapData {
        data: map.data.clone(),
        binary_data: map.binary.iter().map(|(key, value)| (key.clone(), value.gunzipped.clone())).collect(),
    }
}
