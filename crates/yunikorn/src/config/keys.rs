//! The keys of `YuniKorn`'s ConfigMaps: the programs that read each of them, the type of its value, and the
//! keys that nothing reads.
//!
//! The shim (yunikorn-k8shim `pkg/conf/schedulerconf.go`), the core (yunikorn-core
//! `pkg/common/configs/configs.go`) and the admission controller (yunikorn-k8shim
//! `pkg/admission/conf/am_conf.go`) all get both ConfigMaps merged. Each looks up its keys by their exact
//! names, and none reports a key that it does not know.

use std::collections::BTreeMap;

use super::codes::{DEFAULT_CONFIG, KEY_UNREAD, NOT_UNPACKED, VALUE_DISCARDED};
use super::flatten::{Flattened, Origin, Value, is_packed, target};
use super::settings::{self, ADMISSION, KEYS, Kind, POLICY_GROUP, find};
use crate::admission::codes::MATCHES_ALL;
use crate::admission::{Conf, keys as admission};
use crate::queue::nearest;
use crate::version::Version;
use go_compat::diag::{Diagnostic, Span, quoted};

/// Keys that former releases read: the first release that no longer does, and what to do instead.
const GONE: [(&str, &str, &str); 2] = [
    (
        "admissionController.filtering.defaultQueue",
        "1.6",
        "remove it; an application that no placement rule places goes to the queue `root.default`, if there is one",
    ),
    ("service.operatorPlugins", "1.5", "remove it; the plugins it chose are gone"),
];

/// Beginnings of the names of keys that are meant for `YuniKorn`.
const PREFIXES: [&str; 6] = ["service.", "kubernetes.", "health.", "event.", "log.", "admissioncontroller."];

/// The key of the queues if `service.policyGroup` is not set.
const QUEUES: &str = "queues.yaml";

/// The beginning of a gzip file in base64.
const GZIP: &str = "H4sI";

/// Returns whether a program of `YuniKorn` reads a key while the queues are in `queues_key`.
pub fn is_read(name: &str, queues_key: &str, version: Version) -> bool {
    name == queues_key || is_log(name) || find(name, version).is_some()
}

/// Returns whether a key sets the level of loggers: `log.level` or `log.<name>.level` (`pkg/log/logger.go`).
pub fn is_log(name: &str) -> bool {
    let inner = name.strip_prefix("log.").is_some_and(|rest| rest.strip_suffix(".level").is_some());
    name == "log.level" || (inner && !name.contains(".."))
}

/// A finding about a key of the merged ConfigMaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFinding<'f> {
    /// The key in question; `None` if it is missing.
    pub origin: Option<&'f Origin>,
    /// The finding. Its span is in the value; without a span the name is wrong.
    pub diagnostic: Diagnostic,
}

/// Returns all findings about the keys and settings of the merged ConfigMaps, except for the text of the
/// queues.
pub fn findings(flat: &Flattened, version: Version) -> Vec<KeyFinding<'_>> {
    let queues_key = flat.queues_key();
    let missing = missing_queues(flat);
    let cause = missing.as_ref().and_then(|missing| missing.origin);
    // One cause, one finding.
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

/// Returns the finding that no key has the queues, at the key that was likely meant to have them.
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
        let why = "values of `data` are not unpacked";
        (Some(&value.origin), format!("move {} to `binaryData`, as {gz}: {why}", quoted(name)))
    } else if let Some((_, value)) = flat.values().find(plain) {
        (
            Some(&value.origin),
            format!("write the text into `data`, or pack it with gzip and then base64 as {gz}"),
        )
    } else if let Some((_, value)) = flat.values().find(near) {
        let wanted = if value.origin.binary { gz } else { quoted(&queues_key) };
        (Some(&value.origin), format!("rename {} to {wanted}", quoted(&value.origin.key)))
    } else if let Some(group) = flat.get(POLICY_GROUP).filter(|_| queues_key != QUEUES) {
        let other = flat.values().find(tree);
        let rename = other.map_or_else(String::new, |(_, value)| {
            format!("rename {} to {}, or ", quoted(&value.origin.key), quoted(&queues_key))
        });
        let help =
            format!("{rename}name the key that has the queues in `service.policyGroup`, without `.yaml`");
        (Some(&group.origin), help)
    } else if let Some((name, value)) = flat.values().find(tree) {
        (Some(&value.origin), format!("rename {} to {}", quoted(name), quoted(&queues_key)))
    } else {
        (None, format!("write the partition and its queues into key {}", quoted(&queues_key)))
    };
    let named = if queues_key == QUEUES { "" } else { ", which `service.policyGroup` names" };
    let message = format!(
        "no ConfigMap has key {}{named}, so the built-in configuration is in force: everyone may submit everywhere",
        quoted(&queues_key)
    );
    Some(KeyFinding { origin, diagnostic: Diagnostic::warning(DEFAULT_CONFIG, message).help(help) })
}

/// Returns the error about a text of queues in `data` that is packed.
pub fn packed_queues(text: &str, queues_key: &str) -> Option<Diagnostic> {
    text.trim_start().starts_with(GZIP).then(|| {
        let message = "this text is packed, and YuniKorn unpacks values of `binaryData` only";
        let help = format!("move it to `binaryData`, as {}", quoted(&format!("{queues_key}.gz")));
        Diagnostic::error(NOT_UNPACKED, message).help(help)
    })
}

/// Returns the finding about a key that nothing reads, if it is meant for `YuniKorn`.
fn of_name(name: &str, value: &Value, queues_key: &str, version: Version) -> Option<Diagnostic> {
    if is_read(name, queues_key, version) {
        return None;
    }
    let shown = quoted(name);
    if is_unpacked(name, value) && is_read(target(name), queues_key, version) {
        let message = format!("{shown} is not read: YuniKorn unpacks values of `binaryData` only");
        let help = format!("move it to `binaryData`, or write the text into {}", quoted(target(name)));
        return Some(Diagnostic::warning(NOT_UNPACKED, message).help(help));
    }
    if is_emptied(value) && is_read(&value.origin.key, queues_key, version) {
        let key = &value.origin.key;
        let message = format!(
            "YuniKorn does not read {} in `binaryData`: only what ends in `.gz` is unpacked",
            quoted(key)
        );
        let gz = quoted(&format!("{key}.gz"));
        let help = format!("write the text into `data`, or pack it with gzip and then base64 as {gz}");
        return Some(Diagnostic::warning(NOT_UNPACKED, message).help(help));
    }
    let unread = |message: String, help: String| Some(Diagnostic::warning(KEY_UNREAD, message).help(help));
    if let Some((_, release, help)) = GONE.iter().find(|(gone, ..)| name.eq_ignore_ascii_case(gone)) {
        return unread(format!("{shown} is not read since YuniKorn {release}"), (*help).to_owned());
    }
    if let Some(since) = KEYS.iter().find(|key| key.name == name).and_then(|key| key.since) {
        let message = format!("YuniKorn {version} does not read {shown}, which {since} introduced");
        return unread(message, "remove it, or upgrade YuniKorn".to_owned());
    }
    if let Some(meant) = meant(name, queues_key) {
        let message = format!("no program of YuniKorn reads {shown}");
        return unread(message, format!("did you mean {}? Otherwise remove it", quoted(meant)));
    }
    if is_setting(name) && !is_tree(name) {
        return unread(format!("no program of YuniKorn reads {shown}"), "remove it".to_owned());
    }
    None
}

/// Returns the key that a name was likely meant to be.
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

/// Returns the findings about the value of a key that is read, except for the queues.
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
            // To select every namespace is what the other lists are for.
            found.filter(|found| found.code != MATCHES_ALL || admission::KEYS.contains(&name)).collect()
        }
        kind if kind.parses(text) => Vec::new(),
        kind => vec![discarded(kind, text)],
    }
}

fn discarded(kind: Kind, text: &str) -> Diagnostic {
    let (what, help) = kind.words();
    let message = format!("{} is no {what} to YuniKorn, so the default is in force", quoted(text));
    Diagnostic::error(VALUE_DISCARDED, message).at(Span::new(0, text.len())).help(help)
}

/// Returns whether a value looks packed, but is in `data`.
fn is_unpacked(name: &str, value: &Value) -> bool {
    !value.origin.binary && is_packed(name)
}

/// Returns whether a value is empty because its key in `binaryData` is none that is unpacked.
fn is_emptied(value: &Value) -> bool {
    value.origin.binary && !is_packed(&value.origin.key)
}

/// Returns whether a name begins as those of settings do.
fn is_setting(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.to_ascii_lowercase().starts_with(prefix))
}

/// Returns whether a text has the field that every text of queues has.
fn holds_queues(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("partitions:"))
}

/// The name without the extension of a text of queues, in any spelling.
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

/// The letters and digits of a name in lower case.
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

    /// The findings about keys beside a text of queues: the key, the code, and the help.
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
    fn keys_that_are_read_and_keys_of_others_are_not_reported() {
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
    fn a_key_that_nothing_reads_is_reported_with_the_key_that_was_meant() {
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
                "remove it; an application that no placement rule",
            ),
            ("service.operatorPlugins", "remove it; the plugins"),
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
    fn values_that_are_replaced_by_the_default_are_reported() {
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

    /// Whatever the cause, one finding says that everyone may submit, and where the queues were meant to be.
    #[test]
    fn missing_queues_are_found_where_they_were_meant_to_be() {
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
            (&[group], &[], Some("service.policyGroup"), "name the key that has the queues"),
            (
                &[("queues.yaml.gz", "H4sIAAAA")],
                &[],
                Some("queues.yaml.gz"),
                "move `queues.yaml.gz` to `binaryData`",
            ),
            (&[], &[("queues.yaml", TREE)], Some("queues.yaml"), "write the text into `data`, or pack it"),
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
                "write the partition and its queues into key `queues.yaml`",
            ),
            (&[], &[], None, "write the partition and its queues into key `queues.yaml`"),
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
