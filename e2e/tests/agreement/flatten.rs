//! Compares the merge of two `ConfigMap`s into one map of values.

use std::collections::BTreeMap;
use std::io::Read as _;

use anyhow::Result;
use k8s_openapi::ByteString;
use proptest::collection::btree_map;
use proptest::prelude::*;
use queuewarden_api::config_map::gzip;
use queuewarden_e2e::oracle::{ConfigMapData, ConfigMaps};
use yunikorn::config::{self, flatten};

use super::agree_in_each;

#[test]
fn config_maps_are_merged_as_in_the_shim() -> Result<()> {
    agree_in_each(2_500, &(maps(), maps()), |oracle, _, inputs| {
        let questions: Vec<ConfigMaps> = inputs
            .iter()
            .map(|(defaults, configs)| ConfigMaps {
                defaults: Some(defaults.clone()),
                configs: Some(configs.clone()),
            })
            .collect();
        let answers = oracle.flatten(&questions)?;
        Ok(inputs
            .iter()
            .zip(&answers)
            .map(|((defaults, configs), answer)| difference(defaults, configs, answer))
            .collect())
    })
}

fn difference(
    defaults: &ConfigMapData,
    configs: &ConfigMapData,
    answer: &BTreeMap<String, String>,
) -> Option<String> {
    let flattened = flatten(&model(defaults), &model(configs));
    let keys = || answer.keys().map(String::as_str).chain(flattened.values().map(|(key, _)| key));
    // Two binary keys that end up as the same key are merged in the iteration order of a Go map, which is
    // random. A gz that cannot be unpacked sets the key "", which nothing reads; the model reports it as
    // corrupt instead.
    let settled = keys().filter(|key| !key.is_empty() && !flattened.is_ambiguous(key));
    let mut differing = settled.filter(|key| flattened.get(key).map(|value| &value.text) != answer.get(*key));
    differing
        .next()
        .map(|key| format!("{key}: the model says {:?}, the shim {:?}", flattened.get(key), answer.get(key)))
}

fn model(map: &ConfigMapData) -> config::ConfigMapData {
    config::ConfigMapData {
        data: map.data.clone(),
        binary_data: map.binary_data.iter().map(|(key, value)| (key.clone(), gunzip(&value.0))).collect(),
    }
}

fn gunzip(bytes: &[u8]) -> Option<String> {
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut unpacked).ok()?;
    String::from_utf8(unpacked).ok()
}

fn maps() -> impl Strategy<Value = ConfigMapData> {
    let keys = [
        "queues.yaml",
        "queues.yaml.gz",
        "queues.yaml.GZ",
        "queues.yaml.bak",
        "queues",
        "a",
        "a.gz",
        "gz",
        ".gz",
        "a.b.c",
    ];
    let key = || prop::sample::select(keys.to_vec()).prop_map(str::to_owned);
    let bytes = prop_oneof![
        "[a-c]{0,3}".prop_map(String::into_bytes),
        "[a-c]{0,3}".prop_map(|text| gzip(text).unwrap_or_default()),
        "[a-c]{0,3}".prop_map(|text| gzip(text)
            .unwrap_or_default()
            .split_last()
            .map(|(_, rest)| rest.to_vec())
            .unwrap_or_default()),
    ];
    (btree_map(key(), "[a-c]{0,3}", 0..4), btree_map(key(), bytes.prop_map(ByteString), 0..4))
        .prop_map(|(data, binary_data)| ConfigMapData { data, binary_data })
}
