//! The keys of `YuniKorn`'s ConfigMaps: which programs read each key, the type of its value, and keys that
//! nothing reads.
//!
//! The shim (yunikorn-k8shim `pkg/conf/schedulerconf.go`), the core (yunikorn-core
//! `pkg/common/configs/configs.go`) and the admission controller (yunikorn-k8shim
//! `pkg/admission/conf/am_conf.go`) all receive both ConfigMaps merged. Each looks up its keys by their exact
//! names, and none of them reports an unknown key.

use std::collections::BTreeMap;

use super::codes::{DEFAULT_CONFIG, KEY_UNREAD, NOT_UNPACKED, VALUE_DISCARDED};
use super::flatten::{Flattened, Origin, Value, is_packed, target};
use super::settings::{self, ADMISSION, KEYS, Kind, POLICY_GROUP, find};
use crate::admission::codes::MATCHES_ALL;
use crate::admission::{Conf, keys as admission};
use crate::queue::nearest;
use crate::version::Version;
use go_compat::diag::{Diagnostic, Span, quoted};

/// Keys of former releases: the first release that ignores the key, and what to do instead.
const GONE: [(&str, &str, &str); 2] = [
    (
        "admissionController.filtering.defaultQueue",
        "1.6",
        "remove it; an application that matches no placement rule goes to the queue `root.default`, if it exists",
    ),
    ("service.operatorPlugins", "1.5", "remove it; its plugins no longer exist"),
];

/// Prefixes of keys that are meant for `YuniKorn`.
const PREFIXES: [&str; 6] = ["service.", "kubernetes.", "health.", "event.", "log.", "admissioncontroller."];

/// The key of the queues if `service.policyGroup` is not set.
const QUEUES: &str = "queues.yaml";

/// The first bytes of a gzip file in base64.
const GZIP: &str = "H4sI";

/// Returns whether a `YuniKorn` program reads a key. `queues_key` is the key of the queues.
pub fn is_read(name: &str, queues_key: &str, version: Version) -> bool {
    name == queues_key || is_log(name) || find(name, version).is_some()
}

/// Returns whether a key sets a log level: `log.level` or `log.<name>.level` (`pkg/log/logger.go`).
pub fn is_log(name: &str) -> bool {
    let inner = name.strip_prefix("log.").is_some_and(|rest| rest.strip_suffix(".level").is_some());
    name == "log.level" || (inner && !name.contains(".."))
}

/// A finding about a key of the merged ConfigMaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFinding<'f> {
    /// The key, or `None` if it is missing.
    pub origin: Option<&'f Origin>,
    /// The finding. Its span is in the value; without a span it concerns the name.
    pub diagnostic: Diagnostic,
}

/// Returns all findings about the keys and settings of the merged ConfigMaps, except for the text of the
/// queues.
pub fn findings(flat: &Flattened, version: Version) -> Vec<KeyFinding<'_>> {
    let queues_key = flat.queues_key();
    let missing = missing_queues(flat);
    let cause = missing.as_ref().and_then(|missing| missing.origin);
    // Report each cause only once.
    let others = flat.values().filter(|(_, value)| cause != Some(&value.origin));
    let found = others.flat_map(|(name, value)| {
        let found = match of_name(name, value, &queues_key, version) {
            Some(unread) => vec![unread],
            None if name == queues_key => Vec::new(),
            None => of_value(name, &value.text, version),
        };
        found.into_iter().map(|diagnostic| KeyFinding { origin: Some(&value.origin), diagnostic })
    });
    let found: Vec<_> = found.collect();
    missing.into_iter().chain(found).collect()
}

/// Reports that the queues are missing, at the key that was probably meant to contain them.
pub fn missing_queues(flat: &Flattened) -> Option<KeyFinding<'_>> {
    let queues_key = flat.queues_key();
    if flat.get(&queues_key).is_some() {
        return None;
    }
    let is_near = |name: &str| {
        let (stem, wanted) = (stem(name), stem(&queues_key));
        !is_setting(name) && (alike(stem, wanted) || nearest([wanted], stem).is_some())
    };
    let packed = |(name, value): &(&str, &Value)| is_unpacked(name, value) && is_near(target(name));
    let plain = |(_, value): &(&str, &Value)| is_emptied(value) && is_near(&value.origin.key);
    let near = |(name, value): &(&str, &Value)| !is_unpacked(name, value) && is_near(name);
    let tree = |(_, value): &(&str, &Value)| holds_queues(&value.text);
    let gz = quoted(&format!("{queues_key}.gz"));
    let (origin, help) = if let Some((name, value)) = flat.values().find(packed) {
        let why = "values of `data` are not decompressed";
        (Some(&value.origin), format!("move {} to `binaryData` as {gz}; {why}", quoted(name)))
    } else if let Some((_, value)) = flat.values().find(plain) {
        (Some(&value.origin), format!("write the text into `data`, or write it with gzip and base64 as {gz}"))
    } else if let Some((_, value)) = flat.values().find(near) {
        let wanted = if value.origin.binary { gz } else { quoted(&queues_key) };
        (Some(&value.origin), format!("rename {} to {wanted}", quoted(&value.origin.key)))
    } else if let Some(group) = flat.get(POLICY_GROUP).filter(|_| queues_key != QUEUES) {
        let other = flat.values().find(tree);
        let rename = other.map_or_else(String::new, |(_, value)| {
            format!("rename {} to {}, or ", quoted(&value.origin.key), quoted(&queues_key))
        });
        let help = format!("{rename}set `service.policyGroup` to the key of the queues, without `.yaml`");
        (Some(&group.origin), help)
    } else if let Some((name, value)) = flat.values().find(tree) {
        (Some(&value.origin), format!("rename {} to {}", quoted(name), quoted(&queues_key)))
    } else {
        (None, format!("add the partition and its queues under the key {}", quoted(&queues_key)))
    };
    let named = if queues_key == QUEUES { "" } else { ", which `service.policyGroup` names" };
    let message = format!(
        "no ConfigMap has the key {}{named}, so the built-in configuration is in force: everyone may submit everywhere",
        quoted(&queues_key)
    );
    Some(KeyFinding { origin, diagnostic: Diagnostic::warning(DEFAULT_CONFIG, message).help(help) })
}

/// Returns the error for a compressed text of queues in `data`.
pub fn packed_queues(text: &str, queues_key: &str) -> Option<Diagnostic> {
    text.trim_start().starts_with(GZIP).then(|| {
        let message = "this text is compressed, but YuniKorn decompresses only values of `binaryData`";
        let help = format!("move it to `binaryData` as {}", quoted(&format!("{queues_key}.gz")));
        Diagnostic::error(NOT_UNPACKED, message).help(help)
    })
}

/// Returns the finding about a key that nothing reads but that is meant for `YuniKorn`.
fn of_name(name: &str, value: &Value, queues_key: &str, version: Version) -> Option<Diagnostic> {
    if is_read(name, queues_key, version) {
        return None;
    }
    let shown = quoted(name);
    if is_unpacked(name, value) && is_read(target(name), queues_key, version) {
        let message = format!("{shown} is ignored: YuniKorn decompresses only values of `binaryData`");
        let help = format!("move it to `binaryData`, or write the text into {}", quoted(target(name)));
        return Some(Diagnostic::warning(NOT_UNPACKED, message).help(help));
    }
    if is_emptied(value) && is_read(&value.origin.key, queues_key, version) {
        let key = &value.origin.key;
        let message = format!(
            "YuniKorn ignores {} in `binaryData`, because its name does not end in `.gz`",
            quoted(key)
        );
        let gz = quoted(&format!("{key}.gz"));
        let help = format!("write the text into `data`, or write it with gzip and base64 as {gz}");
        return Some(Diagnostic::warning(NOT_UNPACKED, message).help(help));
    }
    let unread = |message: String, help: String| Some(Diagnostic::warning(KEY_UNREAD, message).help(help));
    if let Some((_, release, help)) = GONE.iter().find(|(gone, ..)| name.eq_ignore_ascii_case(gone)) {
        return unread(format!("{shown} is ignored since YuniKorn {release}"), (*help).to_owned());
    }
    if let Some(since) = KEYS.iter().find(|key| key.name == name).and_then(|key| key.since) {
        let message = format!("YuniKorn {version} ignores {shown}, which was introduced in {since}");
        return unread(message, "remove it, or upgrade YuniKorn".to_owned());
    }
    if let Some(meant) = meant(name, queues_key) {
        let message = format!("no YuniKorn program reads {shown}");
        return unread(message, format!("did you mean {}? Otherwise remove it", quoted(meant)));
    }
    if is_setting(name) && !is_tree(name) {
        return unread(format!("no YuniKorn program reads {shown}"), "remove it".to_owned());
    }
    None
}

/// Returns the key that a misspelled name was probably meant to be.
fn meant<'k>(name: &str, queues_key: &'k str) -> Option<&'k str> {
    if alike(stem(name), stem(queues_key)) {
        return Some(queues_key);
    }
    if is_tree(name) {
        return None;
    }
    let names = || KEYS.iter().map(|key| key.name).chain(["log.level"]);
    let last = |name: &'_ str| squeezed(name.rsplit('.').next().unwrap_or(name));
    let same = names().find(|known| squeezed(known) == squeezed(name));
    // The part after the last dot is different in each key.
    let same_end = || names().find(|known| last(known) == last(name));
    let near = || if name.contains('.') { nearest(names(), name) } else { None };
    same.or_else(same_end).or_else(near)
}

/// Returns the findings about the value of a known key, except for the queues.
fn of_value(name: &str, text: &str, version: Version) -> Vec<Diagnostic> {
    if let Some(refused) = settings::check(name, text, version) {
        return vec![refused];
    }
    let Some(key) = find(name, version) else {
        let level = is_log(name) && !Kind::Level.parses(text);
        return level.then(|| discarded(Kind::Level, text)).into_iter().collect();
    };
    match key.kind {
        Kind::Bool | Kind::List if key.readers == ADMISSION => {
            let keys = BTreeMap::from([(name.to_owned(), text.to_owned())]);
            let found = Conf::from_keys(&keys, version).1.into_iter();
            // The purpose of the other lists includes selecting every namespace.
            found.filter(|found| found.code != MATCHES_ALL || admission::KEYS.contains(&name)).collect()
        }
        kind if kind.parses(text) => Vec::new(),
        kind => vec![discarded(kind, text)],
    }
}

fn discarded(kind: Kind, text: &str) -> Diagnostic {
    let (what, help) = kind.words();
    let message = format!("{} is not a valid {what} for YuniKorn, so the default is in force", quoted(text));
    Diagnostic::error(VALUE_DISCARDED, message).at(Span::new(0, text.len())).help(help)
}

/// Returns whether a value looks compressed but is in `data`.
fn is_unpacked(name: &str, value: &Value) -> bool {
    !value.origin.binary && is_packed(name)
}

/// Returns whether a value is empty because its key in `binaryData` is not decompressed.
fn is_emptied(value: &Value) -> bool {
    value.origin.binary && !is_packed(&value.origin.key)
}

/// Returns whether a name has the prefix of a setting.
fn is_setting(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.to_ascii_lowercase().starts_with(prefix))
}

/// Returns whether a text has the field that every text of queues has.
fn holds_queues(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("partitions:"))
}

/// Returns the name without the extension of a YAML file, in any spelling.
fn stem(name: &str) -> &str {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, "yaml"));
    if ["yaml", "yml", "json"].iter().any(|known| extension.eq_ignore_ascii_case(known)) {
        stem
    } else {
        name
    }
}

/// Returns whether a key is named like a text of queues.
fn is_tree(name: &str) -> bool {
    stem(name) != name
}

/// Returns whether two names differ only in case, in separators, or in the plural.
fn alike(left: &str, right: &str) -> bool {
    let singular = |name: &str| squeezed(name).trim_end_matches('s').to_owned();
    singular(left) == singular(right)
}

/// Returns the letters and digits of a name in lower case.
fn squeezed(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::flatten::{ConfigMapData, flatten};
    use super::*;

    fn merged(data: &[(&str, &str)], binary: &[(&str, &str)]) -> Flattened {
        let owned = |(key, text): &(&str, &str)| ((*key).to_owned(), (*text).to_owned());
        let binary = binary.iter().map(owned).map(|(key, text)| (key, Some(text)));
        let configs = ConfigMapData { data: data.iter().map(owned).collect(), binary_data: binary.collect() };
        flatten(&ConfigMapData::default(), &configs)
    }

    /// Returns the findings about keys next to a text of queues: the key, the code, and the help.
    fn beside_queues(key: &str, text: &str, version: Version) -> Vec<(u16, String)> {
        let flat = merged(&[(key, text), ("queues.yaml", "partitions: []\n")], &[]);
        let found = findings(&flat, version).into_iter().map(|found| {
            assert_eq!(found.origin.map(|origin| origin.key.as_str()), Some(key), "{found:?}");
            let span = found.diagnostic.span.unwrap_or_default();
            assert!(text.get(span.start..span.end).is_some(), "{found:?}");
            (found.diagnostic.code.number, found.diagnostic.help.unwrap_or_default())
        });
        found.collect()
    }

    #[test]
    fn names_are_in_order_and_used_once() {
        let names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
        assert!(names.is_sorted() && names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        let ends: std::collections::BTreeSet<_> =
            names.iter().map(|name| squeezed(name.rsplit('.').next().unwrap())).collect();
        assert_eq!(ends.len(), names.len());
    }

    #[test]
    fn known_and_foreign_keys_are_not_reported() {
        for key in KEYS {
            let good = match key.kind {
                Kind::Text => "queues",
                Kind::Bool => "true",
                Kind::Int | Kind::Int64 | Kind::Uint | Kind::Level => "1",
                Kind::Duration => "1s",
                Kind::List => "^a$",
            };
            assert_eq!(beside_queues(key.name, good, Version::V1_9), [], "{}", key.name);
        }
        for key in [
            "notes.yaml",
            "queues-old.yaml",
            "group-b.yaml",
            "README",
            "app.conf",
            "data.gz",
            "owner",
            "a.b.c",
        ] {
            assert_eq!(beside_queues(key, "partitions: []\n", Version::V1_9), [], "{key}");
        }
        for (key, text) in
            [("log.level", "DEBUG"), ("log.core.scheduler.level", "-1"), ("log.shim.level", "Warn")]
        {
            assert_eq!(beside_queues(key, text, Version::V1_8), [], "{key}");
        }
    }

    #[test]
    fn unread_key_is_reported_with_the_intended_key() {
        for (key, help) in [
            (
                "admissionController.accessControl.systemUser",
                "did you mean `admissionController.accessControl.systemUsers`?",
            ),
            (
                "admissionController.AccessControl.externalGroups",
                "did you mean `admissionController.accessControl.externalGroups`?",
            ),
            (
                "admissioncontroller.filtering.bypassNamespaces",
                "did you mean `admissionController.filtering.bypassNamespaces`?",
            ),
            (
                "admissionController.accessControl.extrenalUsers",
                "did you mean `admissionController.accessControl.externalUsers`?",
            ),
            (
                "accessControl.trustControllers",
                "did you mean `admissionController.accessControl.trustControllers`?",
            ),
            (
                "admission-controller.access-control.bypass-auth",
                "did you mean `admissionController.accessControl.bypassAuth`?",
            ),
            ("services.clusterId", "did you mean `service.clusterId`?"),
            ("service.policygroup", "did you mean `service.policyGroup`?"),
            ("service.instanceTypeNodeLabelKey", "did you mean `service.nodeInstanceTypeNodeLabelKey`?"),
            ("placeHolderImage", "did you mean `service.placeholderImage`?"),
            ("Kubernetes.QPS", "did you mean `kubernetes.qps`?"),
            ("log.Level", "did you mean `log.level`?"),
            ("queue.yaml", "did you mean `queues.yaml`?"),
            ("queues.yml", "did you mean `queues.yaml`?"),
            ("Queues.YAML", "did you mean `queues.yaml`?"),
            ("queues", "did you mean `queues.yaml`?"),
            (
                "admissionController.filtering.defaultQueue",
                "remove it; an application that matches no placement rule",
            ),
            ("service.operatorPlugins", "remove it; its plugins"),
            ("service.somethingElse", "remove it"),
        ] {
            let found = beside_queues(key, "x", Version::V1_8);
            let [(3045, said)] = found.as_slice() else { panic!("{key}: {found:?}") };
            assert!(said.starts_with(help), "{key}: {said}");
        }
        let found = beside_queues("service.placeholderFsGroup", "x", Version::V1_8);
        assert_eq!(found, [(3045, "remove it, or upgrade YuniKorn".to_owned())]);
        let found = beside_queues("service.policyGroup.gz", "H4sIAAAA", Version::V1_8);
        assert!(matches!(found.as_slice(), [(3040, _)]), "{found:?}");
    }

    #[test]
    fn value_replaced_by_the_default_is_reported() {
        for (key, text, code) in [
            ("health.checkInterval", "30", 3046),
            ("event.trackingEnabled", "yes", 3046),
            ("event.maxStreams", "-1", 3046),
            ("event.requestCapacity", "+1", 3046),
            ("log.level", "verbose", 3046),
            ("log.core.level", "", 0),
            ("service.schedulingInterval", "1", 3042),
            ("admissionController.filtering.generateUniqueAppId", "yes", 3042),
            ("admissionController.accessControl.bypassAuth", "no", 4101),
            ("admissionController.filtering.processNamespaces", "^(a", 4102),
            ("admissionController.filtering.bypassNamespaces", "kube-system", 4106),
            ("admissionController.filtering.processNamespaces", ".*", 0),
        ] {
            let codes: Vec<u16> =
                beside_queues(key, text, Version::V1_8).into_iter().map(|(code, _)| code).collect();
            assert_eq!(codes, if code == 0 { vec![] } else { vec![code] }, "{key}: {text}");
        }
    }

    /// In all cases there is exactly one finding: everyone may submit, and where the queues should be.
    #[test]
    fn missing_queues_are_reported_at_the_intended_key() {
        const TREE: &str = "partitions:\n- name: default\n  queues: [{name: root}]\n";
        let group = ("service.policyGroup", "prod");
        for (data, binary, at, help) in [
            (
                &[("queue.yaml", TREE)][..],
                &[][..],
                Some("queue.yaml"),
                "rename `queue.yaml` to `queues.yaml`",
            ),
            (&[("qeues.yml", TREE)], &[], Some("qeues.yml"), "rename `qeues.yml` to `queues.yaml`"),
            (
                &[("yunikorn.yaml", TREE)],
                &[],
                Some("yunikorn.yaml"),
                "rename `yunikorn.yaml` to `queues.yaml`",
            ),
            (
                &[group, ("queues.yaml", TREE)],
                &[],
                Some("service.policyGroup"),
                "rename `queues.yaml` to `prod.yaml`, or ",
            ),
            (&[group, ("PROD.yaml", TREE)], &[], Some("PROD.yaml"), "rename `PROD.yaml` to `prod.yaml`"),
            (
                &[group],
                &[],
                Some("service.policyGroup"),
                "set `service.policyGroup` to the key of the queues",
            ),
            (
                &[("queues.yaml.gz", "H4sIAAAA")],
                &[],
                Some("queues.yaml.gz"),
                "move `queues.yaml.gz` to `binaryData`",
            ),
            (
                &[],
                &[("queues.yaml", TREE)],
                Some("queues.yaml"),
                "write the text into `data`, or write it with gzip",
            ),
            (
                &[],
                &[("queue.yaml.gz", TREE)],
                Some("queue.yaml.gz"),
                "rename `queue.yaml.gz` to `queues.yaml.gz`",
            ),
            (
                &[("service.clusterId", "x")],
                &[],
                None,
                "add the partition and its queues under the key `queues.yaml`",
            ),
            (&[], &[], None, "add the partition and its queues under the key `queues.yaml`"),
        ] {
            let flat = merged(data, binary);
            let found = findings(&flat, Version::V1_8);
            let [KeyFinding { origin, diagnostic }] = found.as_slice() else { panic!("{data:?}: {found:?}") };
            assert_eq!(
                (diagnostic.code.number, origin.map(|origin| origin.key.as_str())),
                (3035, at),
                "{data:?}"
            );
            assert!(diagnostic.message.contains("everyone may submit everywhere"), "{diagnostic}");
            let said = diagnostic.help.as_deref().unwrap_or_default();
            assert!(said.starts_with(help), "{data:?}: {said}");
        }
        assert_eq!(missing_queues(&merged(&[("queues.yaml", "")], &[])), None);
        assert!(packed_queues("H4sIAAAA\n", "queues.yaml").is_some_and(|found| found.is_error()));
        assert_eq!(packed_queues(TREE, "queues.yaml"), None);
    }
}
