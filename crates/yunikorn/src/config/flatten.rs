//! Merges two `ConfigMap`s as the shim does to get the text of the queues (yunikorn-k8shim v1.8.0
//! `pkg/conf/schedulerconf.go:445-485`, `pkg/common/utils/utils.go:391`).
//!
//! Per key, `yunikorn-configs` overrides `yunikorn-defaults`, and within each of them `binaryData` overrides
//! `data`. A key of `binaryData` loses its last suffix: with `.gz` the value is decompressed, with any other
//! suffix the value is empty. So `queues.yaml.gz` overrides `queues.yaml`, and `queues.yaml.bak` empties it.

use std::collections::{BTreeMap, BTreeSet};

use super::settings::{self, HOT_REFRESH, POLICY_GROUP};
use crate::version::Version;
use go_compat::diag::Diagnostic;
use go_compat::go_bool::go_bool;

/// The content of a `ConfigMap`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfigMapData {
    /// `data`.
    pub data: BTreeMap<String, String>,
    /// `binaryData`: the decompressed text, or `None` if it is not gzip. The reader of the `ConfigMap`
    /// decompresses it within limits, so that this layer needs no decompressor.
    pub binary_data: BTreeMap<String, Option<String>>,
}

/// One of the two `ConfigMap`s; the later one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// `yunikorn-defaults`.
    Defaults,
    /// `yunikorn-configs`.
    Configs,
}

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The `ConfigMap`.
    pub source: Source,
    /// True if it is in `binaryData`.
    pub binary: bool,
    /// The key as written in the `ConfigMap`, including the suffix.
    pub key: String,
}

/// A value with its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// The text that the shim reads.
    pub text: String,
    /// The origin of the text.
    pub origin: Origin,
}

/// The `ConfigMap`s as the shim sees them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flattened {
    values: BTreeMap<String, Value>,
    ambiguous: BTreeSet<String>,
}

/// Merges the two `ConfigMap`s. A missing one is treated as empty.
pub fn flatten(defaults: &ConfigMapData, configs: &ConfigMapData) -> Flattened {
    let mut flattened = Flattened::default();
    for (source, map) in [(Source::Defaults, defaults), (Source::Configs, configs)] {
        for (key, text) in &map.data {
            flattened.put(key, text.clone(), Origin { source, binary: false, key: key.clone() });
        }
        for (key, unpacked) in &map.binary_data {
            flattened.put_binary(unpacked.as_ref(), Origin { source, binary: true, key: key.clone() });
        }
    }
    flattened
}

impl Flattened {
    fn put(&mut self, key: &str, text: String, origin: Origin) {
        self.ambiguous.remove(key);
        self.values.insert(key.to_owned(), Value { text, origin });
    }

    /// `Decompress` (`schedulerconf.go:445`).
    fn put_binary(&mut self, unpacked: Option<&String>, origin: Origin) {
        let key = target(&origin.key).to_owned();
        let text = if is_packed(&origin.key) { unpacked.cloned() } else { Some(String::new()) };
        let Some(text) = text else {
            // The shim logs an error and sets the key "" instead, which nothing reads.
            return;
        };
        let conflicting =
            self.values.get(&key).filter(|value| value.origin.binary && value.origin.source == origin.source);
        // Two of three keys may agree.
        let contested =
            conflicting.is_some_and(|conflicting| conflicting.text != text || self.is_ambiguous(&key));
        self.put(&key, text, origin);
        if contested {
            self.ambiguous.insert(key);
        }
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    /// Iterates over all values by key.
    pub fn values(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Returns whether several keys of one `binaryData` give this key different values. The shim picks one of
    /// them at random.
    pub fn is_ambiguous(&self, key: &str) -> bool {
        self.ambiguous.contains(key)
    }

    /// Returns the key of the queues for a scheduler that starts now. A running one keeps its own
    /// `service.policyGroup` (`schedulerconf.go:205`).
    pub fn queues_key(&self) -> String {
        format!("{}.yaml", self.get(POLICY_GROUP).map_or("queues", |value| &value.text))
    }

    /// Returns the text of the queues under this key, or `None` if it is missing or empty. The scheduler then
    /// uses its built-in configuration.
    pub fn queues(&self, key: &str) -> Option<&Value> {
        self.get(key).filter(|value| !value.text.is_empty())
    }

    /// Returns the origin of the value that overrides this key in `data` of the given `ConfigMap`, if there
    /// is one.
    pub fn shadows(&self, source: Source, key: &str) -> Option<&Origin> {
        let origin = &self.get(key)?.origin;
        // A value of lower precedence does not override the one in question.
        ((origin.source, origin.binary) > (source, false)).then_some(origin)
    }

    /// Returns whether a running scheduler applies changes: `service.enableConfigHotRefresh`, true by
    /// default. Once a scheduler has read it as false, it stays off until a restart.
    pub fn hot_refresh(&self) -> bool {
        self.get(HOT_REFRESH).and_then(|value| go_bool(&value.text)).unwrap_or(true)
    }

    /// Returns the invalid settings and the reasons. Any of them makes a running shim ignore all changes, and
    /// a starting one exit (`schedulerconf.go:157`).
    pub fn unreadable(&self, version: Version) -> impl Iterator<Item = (&str, Diagnostic)> {
        self.values().filter_map(move |(key, value)| Some((key, settings::check(key, &value.text, version)?)))
    }
}

/// Returns the key that a key of `binaryData` sets, which is the key without its last suffix
/// (`schedulerconf.go:445`).
pub fn target(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(target, _)| target)
}

/// Returns whether a `binaryData` key is decompressed, that is, its name ends in or equals `.gz` in any case
/// (`schedulerconf.go:445`). All other keys have an empty text.
pub fn is_packed(key: &str) -> bool {
    key.rsplit('.').next().is_some_and(|suffix| suffix.eq_ignore_ascii_case("gz"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(data: &[(&str, &str)], binary: &[(&str, &str)]) -> ConfigMapData {
        ConfigMapData {
            data: data.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect(),
            binary_data: binary
                .iter()
                .map(|(key, bytes)| ((*key).to_owned(), bytes.strip_prefix('z').map(str::to_owned)))
                .collect(),
        }
    }

    /// In these tests "gzip" is a leading `z`.
    fn flat(defaults: &ConfigMapData, configs: &ConfigMapData) -> Flattened {
        flatten(defaults, configs)
    }

    fn queues(flattened: &Flattened) -> (&str, Option<(Source, &str)>) {
        let queues = flattened.get("queues.yaml");
        let origin = queues.map(|queues| (queues.origin.source, queues.origin.key.as_str()));
        (queues.map_or("", |queues| &queues.text), origin)
    }

    #[test]
    fn later_map_and_binary_data_win() {
        use Source::{Configs, Defaults};
        let d = "queues.yaml";
        let gz = "queues.yaml.gz";
        let none = map(&[], &[]);
        for (defaults, configs, expected) in [
            (none.clone(), none.clone(), ("", None)),
            (map(&[(d, "a")], &[]), none.clone(), ("a", Some((Defaults, d)))),
            (map(&[(d, "a")], &[]), map(&[(d, "b")], &[]), ("b", Some((Configs, d)))),
            (map(&[], &[(gz, "za")]), map(&[(d, "b")], &[]), ("b", Some((Configs, d)))),
            (map(&[], &[]), map(&[(d, "b")], &[(gz, "zc")]), ("c", Some((Configs, gz)))),
            (
                map(&[], &[]),
                map(&[(d, "b")], &[("queues.yaml.GZ", "zc")]),
                ("c", Some((Configs, "queues.yaml.GZ"))),
            ),
            (
                map(&[], &[]),
                map(&[(d, "b")], &[("queues.yaml.bak", "x")]),
                ("", Some((Configs, "queues.yaml.bak"))),
            ),
            (map(&[], &[]), map(&[(d, "b")], &[(d, "x")]), ("b", Some((Configs, d)))),
            (map(&[(d, "a")], &[]), map(&[], &[(gz, "broken")]), ("a", Some((Defaults, d)))),
        ] {
            assert_eq!(queues(&flat(&defaults, &configs)), expected, "{defaults:?} {configs:?}");
        }
    }

    #[test]
    fn shadowing_origin_is_returned() {
        let configs = map(&[("queues.yaml", "b")], &[("queues.yaml.bak", "")]);
        let flattened = flat(&map(&[("queues.yaml", "a"), ("only", "c")], &[]), &configs);
        let winner = flattened.shadows(Source::Configs, "queues.yaml").unwrap();
        assert_eq!((winner.binary, winner.key.as_str()), (true, "queues.yaml.bak"));
        assert_eq!(flattened.shadows(Source::Defaults, "queues.yaml"), Some(winner));
        assert_eq!(flattened.shadows(Source::Defaults, "only"), None);
        assert_eq!(flattened.shadows(Source::Configs, "only"), None);
        assert_eq!(flattened.shadows(Source::Configs, "absent"), None);
    }

    #[test]
    fn data_of_the_later_map_shadows_only_the_earlier_map() {
        let one = map(&[("queues.yaml", "a")], &[]);
        let both = flat(&one, &one);
        assert_eq!(
            both.shadows(Source::Defaults, "queues.yaml"),
            Some(&Origin { source: Source::Configs, binary: false, key: "queues.yaml".to_owned() })
        );
        assert_eq!(both.shadows(Source::Configs, "queues.yaml"), None);
        let packed = flat(&map(&[("queues.yaml", "a")], &[("queues.yaml.gz", "zb")]), &map(&[], &[]));
        let winner = packed.shadows(Source::Defaults, "queues.yaml").unwrap();
        assert_eq!((winner.source, winner.binary), (Source::Defaults, true));
        assert_eq!(packed.shadows(Source::Configs, "queues.yaml"), None);
    }

    #[test]
    fn corrupt_and_ambiguous_keys_are_reported() {
        let two = map(&[], &[("queues.yaml.bak", ""), ("queues.yaml.gz", "zc"), ("x.gz", "broken")]);
        let flattened = flat(&map(&[], &[]), &two);
        assert!(flattened.is_ambiguous("queues.yaml"));
        assert_eq!(flattened.get("x"), None);
        let settled = flat(&two, &map(&[("queues.yaml", "b")], &[]));
        assert!(!settled.is_ambiguous("queues.yaml"));
        // Go takes them in any order, even if the last two agree.
        let three = map(&[], &[("queues.yaml.GZ", "zc"), ("queues.yaml.bak", ""), ("queues.yaml.gz", "z")]);
        assert!(flat(&map(&[], &[]), &three).is_ambiguous("queues.yaml"));
    }

    #[test]
    fn value_that_always_wins_is_not_ambiguous() {
        let none = map(&[], &[]);
        let packed = |text| map(&[], &[("queues.yaml.gz", text)]);
        for (defaults, configs) in [
            // It overrides `data` in the same map, the earlier map, and a value with the same text.
            (none.clone(), map(&[("queues.yaml", "a")], &[("queues.yaml.gz", "zb")])),
            (packed("za"), packed("zb")),
            (none.clone(), map(&[], &[("queues.yaml.GZ", "zb"), ("queues.yaml.gz", "zb")])),
        ] {
            let flattened = flat(&defaults, &configs);
            assert_eq!(queues(&flattened).0, "b", "{defaults:?} {configs:?}");
            assert!(!flattened.is_ambiguous("queues.yaml"), "{defaults:?} {configs:?}");
        }
    }

    #[test]
    fn reads_the_settings_of_the_service() {
        let flattened =
            flat(&map(&[("service.policyGroup", "prod"), (HOT_REFRESH, "F")], &[]), &map(&[], &[]));
        assert_eq!((flattened.queues_key().as_str(), flattened.hot_refresh()), ("prod.yaml", false));
        assert_eq!(
            (Flattened::default().queues_key().as_str(), Flattened::default().hot_refresh()),
            ("queues.yaml", true)
        );
    }

    #[test]
    fn setting_that_prevents_reloads_is_reported() {
        for (key, good, bad) in [
            (HOT_REFRESH, "true", "yes"),
            ("kubernetes.qps", "+5", "5 "),
            ("kubernetes.burst", "-1", "2147483648"),
            ("service.dispatchTimeout", "1h1.5m.5s", "5"),
            ("service.schedulingInterval", "0", ""),
            ("service.volumeBindTimeout", "-9223372036854775808ns", "9223372036854775808ns"),
            ("service.volumeBindTimeout", "1.00000000000000000000001us", "1 s"),
            ("service.volumeBindTimeout", "5µs", ".s"),
            ("service.volumeBindTimeout", "100ms", "100Ms"),
            ("service.volumeBindTimeout", "9223372036.854775807s", "9223372036.854775808s"),
            ("service.volumeBindTimeout", "2562047h47m16s854ms775us807ns", "2562047h47m16s854ms775us808ns"),
            ("service.volumeBindTimeout", "-9223372036.854775808s", "-9223372036.854775809s"),
        ] {
            for (text, count) in [(good, 0), (bad, 1)] {
                assert_eq!(
                    flat(&map(&[(key, text)], &[]), &map(&[], &[])).unreadable(Version::V1_8).count(),
                    count,
                    "{key}: {text}"
                );
            }
        }
    }
}
