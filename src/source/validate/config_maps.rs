//! Checks ConfigMaps of `YuniKorn`: the queue tree, the settings, and the admission controller's keys, in
//! `data` and compressed in `binaryData`.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use serde::Deserialize;

use crate::output::findings::MAX_FINDINGS;
use crate::output::text::SourceDiagnostic;
use crate::source::files::FileSource;
use crate::source::input::Inputs;
use crate::source::input::object::{Document, Kind, Object, token};
use crate::source::input::ours::is_read;
use go_compat::diag::Diagnostic;
use go_compat::lines::Lines;
use go_compat::yaml::MAX_TEXT;
use queuewarden_api::config_map;
use queuewarden_plan::snapshot::{ConfigMapState, Snapshot, YUNIKORN_DEFAULTS};
use queuewarden_plan::{history, merged};
use yunikorn::config::codes::{HIDES, NOT_UNPACKED};
use yunikorn::config::flatten::{Origin, Source, Value, is_packed, target};
use yunikorn::config::{Flattened, keys, verdict};
use yunikorn::version::Version;
use yunikorn_access::alias;

/// The partitions of a scheduler on Kubernetes: the shim knows no other (k8shim `utils.go`,
/// `GetNormalizedPartitionName`). A text without it hangs a scheduler on reload.
const ACTIVE: &[&str] = &["default"];

/// The ConfigMaps of one namespace that `YuniKorn` merges.
#[derive(Debug)]
pub struct Pair<'i> {
    /// True if they are in the namespace that the other objects are for.
    pub here: bool,
    /// False if other files may hold the rest, such as the base of an overlay.
    is_whole: bool,
    /// Only the given ones of the two.
    pub snapshot: Snapshot,
    /// Their keys and values.
    pub flat: Flattened,
    defaults: Option<&'i Object>,
    configs: Option<&'i Object>,
}

impl<'i> Pair<'i> {
    /// Returns the ConfigMaps that `YuniKorn` merges, by their namespaces.
    pub fn all(given: &'i FileSource) -> Vec<Self> {
        let (inputs, here) = (&given.inputs, given.spec.namespace.as_str());
        // A manifest without a namespace goes wherever it is applied.
        let namespace = |object: &'i Object| match object.namespace.as_str() {
            "" => here,
            namespace => namespace,
        };
        let known =
            inputs.objects.iter().filter(|object| object.kind == Kind::ConfigMap && is_read(&object.name));
        let ambiguous = inputs.ambiguous();
        let mut counts: BTreeMap<_, usize> = BTreeMap::new();
        let mut objects: BTreeMap<_, [Option<&Object>; 2]> = BTreeMap::new();
        for object in known {
            // A repository may hold the ConfigMaps of several clusters: each file then has those of one, and
            // a file with several has them in the same order.
            let is_one = ambiguous.contains(object.label().as_str());
            let file = is_one.then_some(object.document.source);
            let count = counts.entry((namespace(object), file, object.name.as_str())).or_default();
            let [defaults, configs] = objects.entry((namespace(object), file, *count)).or_default();
            let role = if object.name == YUNIKORN_DEFAULTS { defaults } else { configs };
            *role = Some(object);
            *count = count.saturating_add(1);
        }
        let mut pairs = Vec::new();
        for ((namespace, file, _), [defaults, configs]) in objects {
            let state = |object: Option<&Object>| Some(Arc::new(state(object?)?));
            let (first, second) = (state(defaults), state(configs));
            let empty = Snapshot::empty(Timestamp::UNIX_EPOCH);
            let snapshot = Snapshot { defaults: first, output: second, ..empty };
            let is_whole = file.is_none();
            let here = is_whole && namespace == here;
            pairs.push(Self { here, is_whole, flat: merged(&snapshot), snapshot, defaults, configs });
        }
        pairs
    }

    /// Returns the ConfigMap that a value is from.
    pub fn object(&self, origin: &Origin) -> Option<&'i Object> {
        match origin.source {
            Source::Defaults => self.defaults,
            Source::Configs => self.configs,
        }
    }

    /// Returns a finding at the affected key or value.
    pub fn placed(&self, inputs: &Inputs, key: &str, found: Diagnostic) -> Option<SourceDiagnostic> {
        let value = self.flat.get(key)?;
        Some(place(inputs, self.object(&value.origin)?, &value.origin, &value.text, found))
    }

    /// Returns all findings about both together.
    fn check(&self, given: &FileSource, version: Version) -> Vec<SourceDiagnostic> {
        let (inputs, base) = (&given.inputs, self.here && has_other_base(given));
        let mut found = Vec::new();
        for keys::KeyFinding { origin, diagnostic } in keys::findings(&self.flat, version) {
            let missing =
                !diagnostic.is_error() && diagnostic.code == yunikorn::config::codes::DEFAULT_CONFIG;
            let object = origin.map_or(self.configs.or(self.defaults), |origin| self.object(origin));
            let Some(object) = object.filter(|_| !missing || (self.is_whole && !base)) else { continue };
            found.push(match origin {
                Some(origin) => {
                    let text = self.flat.get(target_of(origin)).map_or("", |value| value.text.as_str());
                    place(inputs, object, origin, text, diagnostic)
                }
                None => object.finding(diagnostic.at(object.document.span("/metadata/name"))),
            });
        }
        let queues_key = self.flat.queues_key();
        if let Some(value) = self.flat.get(&queues_key)
            && let Some(object) = self.object(&value.origin)
        {
            let of_text = of_queues(&value.text, &queues_key, version).into_iter();
            found.extend(of_text.map(|of_text| place(inputs, object, &value.origin, &value.text, of_text)));
        }
        found
    }
}

/// Returns whether the queue tree of the ConfigMaps is given in another way.
fn has_other_base(FileSource { inputs, spec, snapshot, .. }: &FileSource) -> bool {
    inputs.base.is_some() || (!is_read(&spec.base_config_map) && snapshot.base.is_some())
}

/// Returns the contents of a ConfigMap; `None` for an invalid one, e.g. with broken base64, which is reported
/// when the snapshot is assembled.
fn state(object: &Object) -> Option<ConfigMapState> {
    ConfigMap::deserialize(&object.document.value).ok().map(|map| config_map::state(&map))
}

/// Returns the key that an entry sets.
fn target_of(origin: &Origin) -> &str {
    if origin.binary { target(&origin.key) } else { &origin.key }
}

/// Returns all findings on the ConfigMaps, or more than are listed. A ConfigMap of another name may be the
/// base: in it, a value counts that looks like a queue tree.
pub fn check(given: &FileSource) -> Vec<SourceDiagnostic> {
    let (inputs, version) = (&given.inputs, given.snapshot.version());
    let mut found = Vec::new();
    for pair in Pair::all(given) {
        if found.len() > MAX_FINDINGS {
            break;
        }
        found.extend(pair.check(given, version));
        let key = pair.flat.queues_key();
        for object in [pair.defaults, pair.configs].into_iter().flatten() {
            let of_binary = of_binary(object, &key, version).into_iter();
            found.extend(of_binary.map(|diagnostic| object.finding(diagnostic)));
        }
    }
    for (object, key, tree) in other_trees(inputs) {
        if found.len() > MAX_FINDINGS {
            break;
        }
        let of_text = of_queues(&tree.text, &key, version).into_iter();
        found.extend(of_text.map(|found| place(inputs, object, &tree.origin, &tree.text, found)));
    }
    found
}

/// Returns the queue trees in ConfigMaps that `YuniKorn` does not read by their names, each with its key.
pub fn other_trees(inputs: &Inputs) -> impl Iterator<Item = (&Object, String, Value)> {
    inputs.of_kind(Kind::ConfigMap).filter(|object| !is_read(&object.name)).flat_map(|object| {
        let flat = state(object).map(|state| queuewarden_plan::merged_alone(&state)).unwrap_or_default();
        let trees = flat.values().filter(|(key, value)| is_queues(key) && has_partitions(&value.text));
        trees.map(|(key, value)| (object, key.to_owned(), value.clone())).collect::<Vec<_>>()
    })
}

/// Returns all findings on a text of queues.
fn of_queues(text: &str, key: &str, version: Version) -> Vec<Diagnostic> {
    if let Some(packed) = keys::packed_queues(text, key) {
        return vec![packed];
    }
    let read = verdict(text, ACTIVE, version);
    let mut found = read.diagnostics;
    // Only a text that queuewarden writes may have aliases.
    let base = read.config.as_ref().filter(|_| history::number(text).is_none());
    found.extend(base.map(alias::named_in).into_iter().flatten());
    found
}

/// Returns a finding at the key of an entry, or in its value. One about the text in `binaryData` is at the
/// key, because that text has no location in the file.
fn place(
    inputs: &Inputs,
    object: &Object,
    origin: &Origin,
    text: &str,
    diagnostic: Diagnostic,
) -> SourceDiagnostic {
    let document = &object.document;
    let key = token(&origin.key);
    if !origin.binary {
        let mut placed = within(inputs, document, &format!("/data/{key}"), [diagnostic]);
        return object.finding(placed.remove(0));
    }
    // A finding about an empty text is about the built-in configuration.
    let lines = (!text.is_empty()).then(|| Lines::new(text));
    let at = document.span_of_key(&format!("/binaryData/{key}"));
    object.finding(inside(lines.as_ref(), diagnostic).at(at))
}

/// Returns the findings on keys of `binaryData` that are not unpacked, and on keys that they hide.
fn of_binary(object: &Object, queues_key: &str, version: Version) -> Vec<Diagnostic> {
    let Some(state) = state(object) else { return Vec::new() };
    let mut findings = Vec::new();
    let mut first: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    for key in state.binary.keys().filter(|key| keys::is_read(target(key), queues_key, version)) {
        let mut of_key = Vec::new();
        if let Some(text) = given(&state, key) {
            of_key.extend(state.data.contains_key(target(key)).then(|| hides(key)));
            let (other, before) = *first.entry(target(key)).or_insert((key.as_str(), text));
            of_key.extend((before != text).then(|| contradicts(key, other)));
        } else {
            of_key.push(not_unpacked(key));
        }
        let at = object.document.span_of_key(&format!("/binaryData/{}", token(key)));
        findings.extend(of_key.into_iter().map(|diagnostic| diagnostic.at(at)));
    }
    findings
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
        "`{key}` cannot be unpacked: it is not gzip, which YuniKorn skips with a line in its log, or contains more than {most} MiB"
    );
    let help = "write the text into `data`, or write it with gzip and base64";
    Diagnostic::error(NOT_UNPACKED, message).help(help)
}

fn hides(key: &str) -> Diagnostic {
    let (does, sets) = (if is_packed(key) { "hides" } else { "empties" }, target(key));
    let message = format!("`{key}` in `binaryData` {does} `{sets}` in `data`, which YuniKorn does not read");
    let help =
        "remove one of them, or rename this one: YuniKorn drops the part of its name after the last dot";
    Diagnostic::warning(HIDES, message).help(help)
}

fn contradicts(key: &str, other: &str) -> Diagnostic {
    let sets = target(key);
    let message = format!(
        "`{other}` and `{key}` in `binaryData` give `{sets}` different values, and YuniKorn chooses one at random"
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
    use crate::output::text::Source;
    use queuewarden_plan::snapshot::YUNIKORN_CONFIGS;
    use serde_json::Value;

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
        let tree = [("queues.yaml", GOOD)];
        let is_tree = |key: &str| key.starts_with("queues");
        let has_tree = data.iter().any(|(key, _)| is_tree(key)) || binary.iter().any(|(key, _)| is_tree(key));
        let needed = if has_tree || name == "base" { &[][..] } else { &tree[..] };
        let data: Vec<_> = data
            .iter()
            .chain(needed)
            .map(|(key, text)| format!("  {key}: {}\n", Value::from(*text)))
            .collect();
        let binary = binary.iter().map(|(key, bytes)| format!("  {key}: '{}'\n", STANDARD.encode(bytes)));
        let binary: Vec<_> = binary.collect();
        let text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: yunikorn}}\n\
             data:\n  other: x\n{}binaryData:\n  other.png: aGk=\n{}",
            data.concat(),
            binary.concat()
        );
        let shown = |found: SourceDiagnostic| {
            let at = found.diagnostic.span.unwrap();
            let at = text.get(at.start..at.end).unwrap().to_owned();
            (found.diagnostic.code.number, found.diagnostic.is_error(), found.diagnostic.message, at)
        };
        checked(&text).into_iter().map(shown).collect()
    }

    /// Returns all findings about a text.
    fn checked(text: &str) -> Vec<SourceDiagnostic> {
        let mut inputs = Inputs::new(vec![Source::new("x.yaml", text)]);
        inputs.version = Some(Version::V1_8);
        assert!(inputs.findings.is_empty(), "{:?}", inputs.findings);
        check(&FileSource::new(inputs, Some(Timestamp::UNIX_EPOCH)))
    }

    /// Returns the number of errors in a text.
    fn errors(text: &str) -> usize {
        checked(text).iter().filter(|found| found.diagnostic.is_error()).count()
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
        for (first, second, expected) in [("'5'", "5s", 0), ("5s", "'5'", 1), ("'5'", "'5'", 1)] {
            let text = map(YUNIKORN_DEFAULTS, "yunikorn", first) + &map(YUNIKORN_CONFIGS, "yunikorn", second);
            assert_eq!(errors(&text), expected, "{text}");
        }
        let elsewhere = map(YUNIKORN_DEFAULTS, "yunikorn", "'5'") + &map(YUNIKORN_CONFIGS, "other", "5s");
        assert_eq!(errors(&elsewhere), 1);
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
        // A text that is not a tree is only reported in ConfigMaps that YuniKorn reads.
        let text = [("queues.yaml.gz", gzip("a: b\n"))];
        assert!(!codes(YUNIKORN_CONFIGS, &[], &text).is_empty());
        assert!(codes("base", &[], &text).is_empty());
    }

    #[test]
    fn the_parser_of_yaml_counts_lines_once() {
        let packed = found(YUNIKORN_CONFIGS, &[], &[("queues.yaml.gz", gzip("partitions:\n\t- x\n"))]);
        let [(2001, true, message, _)] = packed.as_slice() else { panic!("{packed:?}") };
        assert!(message.starts_with("line 2 of the unpacked text: this line"), "{message}");
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
        // Without it, the built-in configuration is in force.
        assert_eq!(codes(YUNIKORN_DEFAULTS, &[], &plain), [(3035, false)]);
        assert_eq!(codes(YUNIKORN_DEFAULTS, &[("queues.yaml", GOOD)], &plain), [(3040, false)]);
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
        let setting = [("service.policyGroup", "prod")];
        assert_eq!(
            codes(YUNIKORN_CONFIGS, &setting, &[("service.policyGroup.gz", gzip("queues"))]),
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

    /// A `*.yaml` key that `service.policyGroup` does not name is no tree.
    #[test]
    fn keys_that_nothing_reads_are_no_trees() {
        let other = [("queues-old.yaml", BAD), ("notes.yaml", "owner: [ann]\n"), ("queues.yaml", GOOD)];
        assert_eq!(codes(YUNIKORN_CONFIGS, &other, &[]), []);
        assert_eq!(codes(YUNIKORN_CONFIGS, &other[2..], &[("queues-old.yaml.gz", gzip(BAD))]), []);
        let group = [("service.policyGroup", "prod"), ("prod.yaml", BAD), ("queues.yaml", "a: [")];
        assert!(codes(YUNIKORN_CONFIGS, &group, &[]).iter().all(|(number, _)| *number == 1001));
    }

    /// The keys of both ConfigMaps are combined, without keys of another namespace.
    #[test]
    fn config_maps_are_merged_by_namespace() {
        let map = |name: &str, namespace: &str, data: &str| {
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\ndata: {{{data}}}\n---\n"
            )
        };
        let tree = format!("queues.yaml: {}", Value::from(GOOD));
        let setting = "service.clusterId: x";
        for (namespace, expected) in [("yunikorn", 0), ("other", 1)] {
            let text = map(YUNIKORN_DEFAULTS, "yunikorn", &tree) + &map(YUNIKORN_CONFIGS, namespace, setting);
            let found = checked(&text);
            assert_eq!(found.len(), expected, "{found:?}");
            assert!(found.iter().all(|found| found.diagnostic.code.number == 3035), "{found:?}");
        }
    }
}
