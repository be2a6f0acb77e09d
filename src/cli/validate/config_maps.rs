//! Checks ConfigMaps of `YuniKorn`: the queue tree, the settings, and the admission controller's keys, in
//! `data` and compressed in `binaryData`.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use serde::Deserialize;
use serde_json::Value;

use crate::cli::input::object::{Document, Kind, Object, token};
use crate::cli::input::{Inputs, MAX_FINDINGS};
use go_compat::diag::Diagnostic;
use go_compat::lines::Lines;
use go_compat::yaml::MAX_TEXT;
use queuewarden_api::config_map;
use queuewarden_plan::history;
use queuewarden_plan::snapshot::{ConfigMapState, YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS};
use yunikorn::admission::{self, AccessControl};
use yunikorn::config::codes::{HIDES, NOT_UNPACKED};
use yunikorn::config::flatten::{is_packed, target};
use yunikorn::config::{settings, verdict};
use yunikorn::version::Version;
use yunikorn_access::alias;

/// The partitions of a scheduler on Kubernetes: the shim knows no other (k8shim `utils.go`,
/// `GetNormalizedPartitionName`). A text without it hangs a scheduler on reload.
const ACTIVE: &[&str] = &["default"];

/// Prefixes of the keys that the shim and the admission controller read, besides the queues (k8shim
/// `schedulerconf.go`).
const READ: [&str; 4] = ["service.", "log.", "kubernetes.", "admissionController."];

/// Returns all findings on the texts in a ConfigMap, or more than are listed. In a ConfigMap that `YuniKorn`
/// reads every `*.yaml` key counts, in any other one only a value that looks like a queue tree: it may be the
/// base under another name.
pub fn check(inputs: &Inputs, object: &Object, version: Version) -> Vec<Diagnostic> {
    let known = [YUNIKORN_DEFAULTS, YUNIKORN_CONFIGS].contains(&object.name.as_str());
    let data = object.document.value.get("data").and_then(Value::as_object);
    let mut findings = Vec::new();
    for (key, value) in data.into_iter().flatten() {
        if findings.len() > MAX_FINDINGS {
            break;
        }
        let Some(text) = value.as_str() else { continue };
        let mut of_key = of_value(known, key, text, version);
        let setting = settings::check(key, text, version);
        of_key.extend(setting.filter(|_| known && !is_outweighed(inputs, object, key, Within::Data)));
        findings.extend(within(inputs, &object.document, &format!("/data/{}", token(key)), of_key));
    }
    findings.extend(of_binary(inputs, object, known, version));
    findings
}

/// Part of a ConfigMap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Data,
    BinaryData,
}

/// Returns whether the value of a setting is never read because another value overrides it: `binaryData`
/// overrides `data`, and the second of `YuniKorn`'s ConfigMaps overrides the first (`schedulerconf.go`,
/// `FlattenConfigMaps`). This decompresses both of them, so it is called only for the few keys with a
/// finding.
fn is_outweighed(inputs: &Inputs, object: &Object, key: &str, within: Within) -> bool {
    let sets = |other: &Object, data: bool| {
        let Ok(map) = ConfigMap::deserialize(&other.document.value) else { return false };
        let map = config_map::state(&map);
        let mut binary = map.binary.keys();
        (data && map.data.contains_key(key))
            || binary.any(|packed| target(packed) == key && given(&map, packed).is_some())
    };
    let second = |other: &&Object| other.name == YUNIKORN_CONFIGS && other.namespace == object.namespace;
    (within == Within::Data && sets(object, false))
        || (object.name == YUNIKORN_DEFAULTS
            && inputs.of_kind(Kind::ConfigMap).filter(second).any(|other| sets(other, true)))
}

/// Returns all findings on the value of one key, with spans in it.
fn of_value(known: bool, key: &str, text: &str, version: Version) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    if known && admission::KEYS.contains(&key) {
        let keys = BTreeMap::from([(key.to_owned(), text.to_owned())]);
        let (_, diagnostics) = AccessControl::from_keys(&keys);
        findings.extend(diagnostics);
    }
    if is_queues(key) && (known || has_partitions(text)) {
        let read = verdict(text, ACTIVE, version);
        findings.extend(read.diagnostics);
        // Only a text that queuewarden writes may have aliases.
        let base = read.config.as_ref().filter(|_| history::number(text).is_none());
        findings.extend(base.map(alias::named_in).into_iter().flatten());
    }
    findings
}

/// Returns all findings on `binaryData`: on the texts inside, and on the keys that they hide. They are shown
/// at the key, because the text inside has no location in the file.
fn of_binary(inputs: &Inputs, object: &Object, known: bool, version: Version) -> Vec<Diagnostic> {
    let document = &object.document;
    if document.value.get("binaryData").is_none() {
        return Vec::new();
    }
    // An invalid ConfigMap, e.g. one with broken base64, is reported when the snapshot is assembled.
    let Ok(map) = ConfigMap::deserialize(&document.value) else { return Vec::new() };
    let state = config_map::state(&map);
    let mut findings = Vec::new();
    let mut first: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    for key in state.binary.keys() {
        let sets = target(key);
        let counts = known && is_read(sets);
        let mut of_key = Vec::new();
        if let Some(text) = given(&state, key) {
            let of_text = of_value(known, sets, text, version).into_iter();
            // A finding about an empty text is about the built-in configuration.
            let lines = (!text.is_empty()).then(|| Lines::new(text));
            of_key.extend(of_text.map(|diagnostic| inside(lines.as_ref(), diagnostic)));
            if counts {
                of_key.extend(state.data.contains_key(sets).then(|| hides(key)));
            } else if known && !is_packed(key) && is_queues(key) {
                of_key.push(not_packed(key));
            }
            let outweighed = || is_outweighed(inputs, object, sets, Within::BinaryData);
            let setting = settings::check(sets, text, version);
            of_key.extend(setting.filter(|_| known && !outweighed()));
            if counts {
                let (other, before) = *first.entry(sets).or_insert((key.as_str(), text));
                of_key.extend((before != text).then(|| contradicts(key, other)));
            }
        } else if counts {
            of_key.push(not_unpacked(key));
        }
        if !of_key.is_empty() {
            let at = document.span_of_key(&format!("/binaryData/{}", token(key)));
            findings.extend(of_key.into_iter().map(|diagnostic| diagnostic.at(at)));
        }
    }
    findings
}

/// Returns whether a program of `YuniKorn` may read the value of this key.
fn is_read(key: &str) -> bool {
    is_queues(key) || READ.iter().any(|prefix| key.starts_with(prefix))
}

/// Returns whether the value of this key may hold the queues: the first part of the name is the policy group.
fn is_queues(key: &str) -> bool {
    key.strip_suffix(".yaml").is_some()
}

/// Returns the text that a key of `binaryData` gives the scheduler: the decompressed text, or an empty one if
/// the key is none that is decompressed. `None` if decompression fails.
fn given<'a>(state: &'a ConfigMapState, key: &str) -> Option<&'a str> {
    if is_packed(key) { state.binary.get(key)?.gunzipped.as_deref() } else { Some("") }
}

/// Adds the line in the decompressed text to a finding, because that text has no location in the file.
fn inside(lines: Option<&Lines>, diagnostic: Diagnostic) -> Diagnostic {
    let Some((lines, span)) = lines.zip(diagnostic.span) else { return diagnostic };
    let line = lines.number(span.start);
    let message = format!("line {line} of the unpacked text: {}", diagnostic.message);
    Diagnostic { message, ..diagnostic }
}

fn not_unpacked(key: &str) -> Diagnostic {
    let most = MAX_TEXT / (1024 * 1024);
    let message = format!(
        "`{key}` cannot be unpacked: it is no gzip, which YuniKorn passes over with a line in its log, or \
        holds more than {most} MiB"
    );
    let help = "write the text into `data`, or pack it with gzip and then base64";
    Diagnostic::error(NOT_UNPACKED, message).help(help)
}

fn not_packed(key: &str) -> Diagnostic {
    let message =
        format!("YuniKorn does not read `{key}` in `binaryData`: only what ends in `.gz` is unpacked");
    let help = format!("write the text into `data`, or pack it with gzip and then base64 as `{key}.gz`");
    Diagnostic::warning(NOT_UNPACKED, message).help(help)
}

fn hides(key: &str) -> Diagnostic {
    let (does, sets) = (if is_packed(key) { "hides" } else { "empties" }, target(key));
    let message = format!("`{key}` in `binaryData` {does} `{sets}` in `data`, which YuniKorn does not read");
    let help =
        "remove one of them, or rename this one: YuniKorn drops what is behind the last dot of its name";
    Diagnostic::warning(HIDES, message).help(help)
}

fn contradicts(key: &str, other: &str) -> Diagnostic {
    let sets = target(key);
    let message = format!(
        "`{other}` and `{key}` in `binaryData` give `{sets}` different values, of which YuniKorn takes one \
        at random"
    );
    Diagnostic::warning(HIDES, message).help("leave one of them")
}

/// Returns all findings on a file that is a queues.yaml.
pub fn check_bare(inputs: &Inputs, document: &Document, version: Version) -> Vec<Diagnostic> {
    verdict(inputs.bare_text(document), ACTIVE, version).diagnostics
}

fn has_partitions(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("partitions:"))
}

/// Converts findings about the string at a JSON pointer to findings with spans in the file.
pub(super) fn within(
    inputs: &Inputs,
    document: &Document,
    pointer: &str,
    diagnostics: impl IntoIterator<Item = Diagnostic>,
) -> Vec<Diagnostic> {
    let mut diagnostics = diagnostics.into_iter().peekable();
    if diagnostics.peek().is_none() {
        return Vec::new();
    }
    let content = inputs.content_spans(document, pointer);
    let key = document.span_of_key(pointer);
    let located = diagnostics.map(|diagnostic| {
        // A finding about the whole text is shown at its key rather than over all of its lines.
        let at = match (diagnostic.span, &content) {
            (Some(span), Some(content)) => content.span(span),
            _ => key,
        };
        diagnostic.at(at)
    });
    located.collect()
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use queuewarden_api::config_map;

    use super::*;
    use crate::cli::input::source::Source;

    const GOOD: &str = "partitions:\n  - name: default\n    queues:\n      - name: root\n";
    const BAD: &str =
        "partitions:\n  - name: default\n    queues:\n      - name: root\n        submitacl: \"a  b\"\n";

    fn gzip(text: &str) -> Vec<u8> {
        config_map::gzip(text).unwrap()
    }

    /// Returns each finding as its code, true for an error, its message, and the text at its span.
    fn found(
        name: &str,
        data: &[(&str, &str)],
        binary: &[(&str, Vec<u8>)],
    ) -> Vec<(u16, bool, String, String)> {
        let data: Vec<_> =
            data.iter().map(|(key, text)| format!("  {key}: {}\n", Value::from(*text))).collect();
        let binary = binary.iter().map(|(key, bytes)| format!("  {key}: '{}'\n", STANDARD.encode(bytes)));
        let binary: Vec<_> = binary.collect();
        let text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: yunikorn}}\n\
             data:\n  other: x\n{}binaryData:\n  other.png: aGk=\n{}",
            data.concat(),
            binary.concat()
        );
        let source = Source::new("x.yaml", text);
        let inputs = Inputs::new(vec![source]);
        assert!(inputs.findings.is_empty(), "{:?}", inputs.findings);
        let shown = |diagnostic: Diagnostic| {
            let at = diagnostic.span.unwrap();
            let at = inputs.sources[0].text.get(at.start..at.end).unwrap().to_owned();
            (diagnostic.code.number, diagnostic.is_error(), diagnostic.message, at)
        };
        inputs.objects.iter().flat_map(|object| check(&inputs, object, Version::V1_8)).map(shown).collect()
    }

    fn codes(name: &str, data: &[(&str, &str)], binary: &[(&str, Vec<u8>)]) -> Vec<(u16, bool)> {
        found(name, data, binary).into_iter().map(|(number, error, ..)| (number, error)).collect()
    }

    #[test]
    fn a_setting_that_another_value_wins_over_is_not_decided() {
        const KEY: &str = "service.schedulingInterval";
        let unreadable = |name, data: &[(&str, &str)], binary: &[(&str, Vec<u8>)]| {
            codes(name, data, binary).contains(&(3042, true))
        };
        let packed = |text: &str| [("service.schedulingInterval.gz", gzip(text))];
        assert!(unreadable(YUNIKORN_CONFIGS, &[(KEY, "5")], &[]));
        assert!(unreadable(YUNIKORN_CONFIGS, &[(KEY, "5s")], &packed("5")));
        assert!(!unreadable(YUNIKORN_CONFIGS, &[(KEY, "5")], &packed("5s")));
        let map = |name: &str, namespace: &str, value: &str| {
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\ndata:\n  {KEY}: {value}\n---\n"
            )
        };
        for (first, second, errors) in [("'5'", "5s", 0), ("5s", "'5'", 1), ("'5'", "'5'", 1)] {
            let text = map(YUNIKORN_DEFAULTS, "yunikorn", first) + &map(YUNIKORN_CONFIGS, "yunikorn", second);
            assert_eq!(checked(&text), errors, "{text}");
        }
        let elsewhere = map(YUNIKORN_DEFAULTS, "yunikorn", "'5'") + &map(YUNIKORN_CONFIGS, "other", "5s");
        assert_eq!(checked(&elsewhere), 1);
    }

    /// Returns the number of findings in all objects of a text.
    fn checked(text: &str) -> usize {
        let source = Source::new("x.yaml", text);
        let inputs = Inputs::new(vec![source]);
        inputs.objects.iter().flat_map(|object| check(&inputs, object, Version::V1_8)).count()
    }

    #[test]
    fn a_packed_text_is_decided_as_one_in_data() {
        for name in [YUNIKORN_DEFAULTS, YUNIKORN_CONFIGS, "base"] {
            let plain = codes(name, &[("queues.yaml", BAD)], &[]);
            assert!(plain.contains(&(1001, true)), "{name}: {plain:?}");
            let bad = [("queues.yaml.gz", gzip(BAD))];
            assert_eq!(codes(name, &[], &bad), plain, "{name}");
            for (_, _, message, at) in found(name, &[], &bad) {
                assert!(message.starts_with("line 5 of the unpacked text: "), "{message}");
                assert_eq!(at, "queues.yaml.gz");
            }
            assert!(codes(name, &[], &[("queues.yaml.GZ", gzip(GOOD))]).is_empty(), "{name}");
        }
        // A text that is no tree counts only in ConfigMaps that YuniKorn reads.
        let text = [("queues.yaml.gz", gzip("a: b\n"))];
        assert!(!codes(YUNIKORN_CONFIGS, &[], &text).is_empty());
        assert!(codes("base", &[], &text).is_empty());
    }

    #[test]
    fn the_parser_of_yaml_counts_lines_once() {
        let packed = found(YUNIKORN_CONFIGS, &[], &[("queues.yaml.gz", gzip("partitions:\n\t- x\n"))]);
        let [(2001, true, message, _)] = packed.as_slice() else { panic!("{packed:?}") };
        assert_eq!(message.matches("line ").count(), 1, "{message}");
    }

    #[test]
    fn what_cannot_be_unpacked_is_an_error() {
        let cut = gzip(GOOD).split_last_chunk::<6>().map(|(head, _)| head.to_vec()).unwrap();
        for bytes in [GOOD.as_bytes().to_vec(), cut, Vec::new()] {
            let packed =
                found(YUNIKORN_DEFAULTS, &[("queues.yaml", GOOD)], &[("queues.yaml.gz", bytes.clone())]);
            let [(3040, true, _, at)] = packed.as_slice() else { panic!("{packed:?}") };
            assert_eq!(at, "queues.yaml.gz");
            assert_eq!(
                codes(YUNIKORN_CONFIGS, &[], &[("service.policyGroup.gz", bytes.clone())]),
                [(3040, true)]
            );
            // Nobody reads these keys.
            assert!(codes(YUNIKORN_CONFIGS, &[], &[("notes.gz", bytes.clone())]).is_empty());
            assert!(codes("base", &[], &[("queues.yaml.gz", bytes)]).is_empty());
        }
    }

    #[test]
    fn a_text_that_is_not_packed_is_not_read() {
        let plain = [("queues.yaml", GOOD.as_bytes().to_vec())];
        assert_eq!(codes(YUNIKORN_DEFAULTS, &[], &plain), [(3040, false)]);
        assert!(codes("base", &[], &plain).is_empty());
    }

    #[test]
    fn what_hides_data_is_reported() {
        let data = [("queues.yaml", GOOD)];
        let hidden = found(YUNIKORN_DEFAULTS, &data, &[("queues.yaml.gz", gzip(GOOD))]);
        let [(3041, false, message, at)] = hidden.as_slice() else { panic!("{hidden:?}") };
        assert!(message.contains("hides `queues.yaml`") && at == "queues.yaml.gz", "{message} at {at}");
        // An empty text means the built-in configuration.
        let blanked = [("queues.yaml.bak", b"x".to_vec())];
        for (count, expected) in [(1, true), (0, false)] {
            let reported = codes(YUNIKORN_CONFIGS, &data[..count], &blanked);
            assert!(reported.contains(&(3035, false)), "{reported:?}");
            assert_eq!(reported.contains(&(3041, false)), expected, "{reported:?}");
        }
        assert!(codes("base", &data, &blanked).is_empty());
        let setting = [("service.policyGroup", "queues")];
        assert_eq!(
            codes(YUNIKORN_CONFIGS, &setting, &[("service.policyGroup.gz", gzip("prod"))]),
            [(3041, false)]
        );
    }

    #[test]
    fn keys_that_contradict_each_other_are_reported_once() {
        let other = format!("{GOOD}        parent: true\n");
        let two = |second: &str| [("queues.yaml.GZ", gzip(GOOD)), ("queues.yaml.gz", gzip(second))];
        assert!(codes(YUNIKORN_CONFIGS, &[], &two(GOOD)).is_empty());
        let reported = found(YUNIKORN_CONFIGS, &[], &two(&other));
        let [(3041, false, message, at)] = reported.as_slice() else { panic!("{reported:?}") };
        assert!(message.contains("at random") && at == "queues.yaml.gz", "{message} at {at}");
    }

    #[test]
    fn settings_are_read_as_the_shim_reads_them() {
        for (key, bad, good) in [
            ("service.schedulingInterval", "abc", "1s"),
            ("service.enableConfigHotRefresh", "nope", "true"),
            ("kubernetes.qps", "x", "1000"),
        ] {
            for name in [YUNIKORN_DEFAULTS, YUNIKORN_CONFIGS] {
                let reported = found(name, &[(key, bad)], &[]);
                let [(3042, true, message, at)] = reported.as_slice() else { panic!("{reported:?}") };
                assert!(message.contains(&format!("`{bad}` is no")) && at == bad, "{message} at {at}");
                assert!(codes(name, &[(key, good)], &[]).is_empty());
                let packed = format!("{key}.gz");
                assert_eq!(codes(name, &[], &[(packed.as_str(), gzip(bad))]), [(3042, true)]);
                assert!(codes(name, &[], &[(packed.as_str(), gzip(good))]).is_empty());
            }
            assert!(codes("base", &[(key, bad)], &[]).is_empty());
        }
    }

    #[test]
    fn keys_of_the_admission_controller_are_decided_packed_too() {
        let key = "admissionController.accessControl.bypassAuth";
        let packed = format!("{key}.gz");
        let plain = codes(YUNIKORN_CONFIGS, &[(key, "yes")], &[]);
        assert_eq!(plain.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [4101]);
        assert_eq!(codes(YUNIKORN_CONFIGS, &[], &[(packed.as_str(), gzip("yes"))]), plain);
    }
}
