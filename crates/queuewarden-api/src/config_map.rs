//! Converts a `ConfigMap` for the plan: plain values, `binaryData` unpacked, and the owners of its keys.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read, Write as _},
};

use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};
use k8s_openapi::{
    ByteString,
    api::core::v1::ConfigMap,
    apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry},
};

use super::touches::{named, touches};
use go_compat::diag::Code;
use go_compat::yaml::MAX_TEXT;
use queuewarden_plan::{
    Write,
    snapshot::{BinaryValue, ConfigMapState, IN_FORCE, KeyOwner},
};
use yunikorn::config::flatten::is_packed;

/// The operator lacks permission to read a ConfigMap that the `YuniKornConfig` names.
pub const FORBIDDEN: Code = Code::new(5201, "config-map-forbidden");

/// All codes of this module.
pub const CODES: &[Code] = &[FORBIDDEN];

/// Returns the parts of a `ConfigMap` that the plan reads.
pub fn state(config_map: &ConfigMap) -> ConfigMapState {
    let meta = &config_map.metadata;
    let annotation = meta.annotations.as_ref().and_then(|annotations| annotations.get(IN_FORCE));
    ConfigMapState {
        name: meta.name.clone().unwrap_or_default(),
        uid: meta.uid.clone().unwrap_or_default(),
        resource_version: meta.resource_version.clone().unwrap_or_default(),
        annotations: meta.annotations.clone().unwrap_or_default(),
        data: config_map.data.clone().unwrap_or_default(),
        binary: binary(config_map),
        // A damaged annotation is treated as absent. The grants in the text then limit what stays in force.
        in_force: annotation.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default(),
        owners: owners(config_map),
        touches: touches(meta),
    }
}

/// Returns the annotations that a write sets.
pub fn annotations(write: &Write) -> BTreeMap<String, String> {
    let noted = write.in_force.as_ref().and_then(|noted| serde_json::to_string(noted).ok());
    let noted = noted.map(|text| (IN_FORCE.to_owned(), text));
    write.annotations.clone().into_iter().chain(noted).collect()
}

/// Unpacks `binaryData` for the keys that `YuniKorn` reads. The unpacked texts share the size limit of one
/// text, because a small gzip file can hold a great many spaces.
fn binary(config_map: &ConfigMap) -> BTreeMap<String, BinaryValue> {
    let mut room = MAX_TEXT;
    let values = config_map.binary_data.iter().flatten().map(|(key, ByteString(bytes))| {
        let gunzipped = if is_packed(key) { gunzip(bytes, room) } else { None };
        room = room.saturating_sub(gunzipped.as_ref().map_or(0, String::len));
        (key.clone(), BinaryValue { len: bytes.len(), gunzipped })
    });
    values.collect()
}

/// Returns the writers of each key of `data` and `binaryData`, from `metadata.managedFields`, sorted and
/// without duplicates. A key that no manager owns is left out; this happens in files, or if the entry was
/// removed.
///
/// Two managers share a key when both applied the same value; a manager that writes with `Update` takes a key
/// from every other.
pub fn owners(config_map: &ConfigMap) -> BTreeMap<String, Vec<KeyOwner>> {
    let mut owners: BTreeMap<String, BTreeSet<KeyOwner>> = BTreeMap::new();
    for entry in config_map.metadata.managed_fields.iter().flatten() {
        let owner = KeyOwner {
            manager: entry.manager.clone().unwrap_or_default(),
            operation: entry.operation.clone().unwrap_or_default(),
        };
        for key in keys(entry) {
            owners.entry(key.to_owned()).or_default().insert(owner.clone());
        }
    }
    owners.into_iter().map(|(key, owners)| (key, owners.into_iter().collect())).collect()
}

/// Returns the keys of `data` and `binaryData` that one entry claims: `{"f:data": {"f:queues.yaml": {}}}`.
fn keys(entry: &ManagedFieldsEntry) -> impl Iterator<Item = &str> {
    let sections = entry.fields_v1.iter().flat_map(|FieldsV1(fields)| named(fields));
    let maps = sections.filter(|(section, _)| ["data", "binaryData"].contains(section));
    maps.flat_map(|(_, keys)| named(keys)).map(|(key, _)| key)
}

/// Packs bytes for `binaryData`.
///
/// # Errors
/// None: writing into memory does not fail.
pub fn gzip(bytes: impl AsRef<[u8]>) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes.as_ref())?;
    encoder.finish()
}

/// Returns the unpacked text, or `None` if it is not gzip, is damaged, or unpacks to more than `room` bytes.
pub(super) fn gunzip(bytes: &[u8], room: usize) -> Option<String> {
    let mut unpacked = Vec::new();
    let limit = u64::try_from(room).ok()?.checked_add(1)?;
    MultiGzDecoder::new(bytes).take(limit).read_to_end(&mut unpacked).ok()?;
    (unpacked.len() <= room).then(|| String::from_utf8_lossy(&unpacked).into_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn owner(manager: &str, operation: &str) -> KeyOwner {
        KeyOwner { manager: manager.into(), operation: operation.into() }
    }

    #[test]
    fn owners_come_from_managed_fields() {
        // The API server's response after an apply by helm, a kubectl edit and an apply of ours.
        let config_map: ConfigMap = serde_json::from_value(json!({
            "metadata": {"name": "yunikorn-configs", "managedFields": [
                {"manager": "queuewarden", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
                 "fieldsV1": {"f:data": {"f:queues.yaml": {}}, "f:metadata": {"f:annotations": {"f:data": {}}}}},
                {"manager": "helm", "operation": "Apply", "fieldsV1": {"f:data": {"f:queues.yaml": {}, "f:log.level": {}}}},
                {"manager": "kubectl-edit", "operation": "Update", "fieldsV1":
                    {"f:data": {".": {}, "f:service.policyGroup": {}}, "f:binaryData": {"f:queues.yaml.gz": {}}}},
                {"manager": "kubectl-edit", "operation": "Update", "fieldsV1": {"f:data": {"f:service.policyGroup": {}}}},
                {"operation": "Update"}
            ]}
        }))
        .unwrap();
        let expected = BTreeMap::from([
            ("queues.yaml".into(), vec![owner("helm", "Apply"), owner("queuewarden", "Apply")]),
            ("log.level".into(), vec![owner("helm", "Apply")]),
            ("service.policyGroup".into(), vec![owner("kubectl-edit", "Update")]),
            ("queues.yaml.gz".into(), vec![owner("kubectl-edit", "Update")]),
        ]);
        assert_eq!(owners(&config_map), expected);
    }

    #[test]
    fn odd_managed_fields_claim_nothing() {
        for fields in [
            json!(null),
            json!(5),
            json!({"f:data": null}),
            json!({"f:data": ["f:x"]}),
            json!({"f:data": {"x": {}, ".": {}}}),
        ] {
            let config_map: ConfigMap = serde_json::from_value(json!({
                "metadata": {"managedFields": [{"manager": "m", "operation": "Update", "fieldsV1": fields}]}
            }))
            .unwrap();
            assert!(owners(&config_map).is_empty(), "{fields}");
        }
    }

    #[test]
    fn binary_data_is_unpacked_when_it_is_gzip() {
        let two_members = [gzip(b"partitions:\n").unwrap(), gzip(b"- name: default\n").unwrap()].concat();
        let cut = gzip(b"partitions: []\n")
            .unwrap()
            .split_last_chunk::<6>()
            .map(|(head, _)| head.to_vec())
            .unwrap();
        let cases = [
            (gzip(b"partitions: []\n").unwrap(), Some("partitions: []\n".to_owned())),
            (two_members, Some("partitions:\n- name: default\n".to_owned())),
            (gzip(b"a: \xff").unwrap(), Some("a: \u{fffd}".to_owned())),
            (gzip(b"").unwrap(), Some(String::new())),
            (b"partitions: []\n".to_vec(), None),
            (cut, None),
            (gzip(vec![b' '; MAX_TEXT]).unwrap(), Some(" ".repeat(MAX_TEXT))),
            (gzip(vec![b' '; MAX_TEXT + 1]).unwrap(), None),
        ];
        for (bytes, expected) in cases {
            let len = bytes.len();
            let config_map = ConfigMap {
                binary_data: Some(BTreeMap::from([("queues.yaml.gz".to_owned(), ByteString(bytes))])),
                ..ConfigMap::default()
            };
            assert_eq!(state(&config_map).binary["queues.yaml.gz"], BinaryValue { len, gunzipped: expected });
        }
    }

    #[test]
    fn only_what_is_read_is_unpacked_and_all_of_it_has_a_bound() {
        let spaces = ByteString(gzip(vec![b' '; MAX_TEXT / 2]).unwrap());
        let keys = ["a.gz", "b.GZ", "c.gz", "d.gzip", "gz"];
        let binary_data = keys.map(|key| (key.to_owned(), spaces.clone())).into();
        let state = state(&ConfigMap { binary_data: Some(binary_data), ..ConfigMap::default() });
        let unpacked = keys.map(|key| state.binary[key].gunzipped.is_some());
        assert_eq!(unpacked, [true, true, false, false, false]);
    }

    #[test]
    fn an_empty_config_map_is_an_empty_state() {
        assert_eq!(state(&ConfigMap::default()), ConfigMapState::default());
    }
}
